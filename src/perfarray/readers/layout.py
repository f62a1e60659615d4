"""Dims named in paths: `{version}/{machine}_{session}.json`."""

import re
from pathlib import PurePosixPath
from typing import NamedTuple

from perfarray.timings.validation import listed

COMPRESSED = (".gz", ".bz2", ".xz")


class Layout(NamedTuple):
    """A layout as it was given, as a regular expression, and how many parts of a path it covers."""

    text: str
    pattern: re.Pattern[str]
    depth: int

    def labels(self, path: str) -> dict[str, str] | None:
        """Return the labels of dims in a path, or None where it does not match.

        The last parts of the path are looked at, as many as the layout has; a compression suffix of the file may be left out of it.

        Parameters
        ----------
        path : str
            A path with forward slashes.

        Returns
        -------
        dict or None
            Dim to label.

        Examples
        --------
        >>> read_layout("{version}/{machine}_{session}.json").labels("results/gcc13/epyc_2.json.gz")
        {'version': 'gcc13', 'machine': 'epyc', 'session': '2'}
        """
        parts = PurePosixPath(path).parts
        tail = "/".join(parts[-self.depth :])
        for candidate in [tail, *(tail.removesuffix(suffix) for suffix in COMPRESSED if tail.endswith(suffix))]:
            match = self.pattern.fullmatch(candidate)
            if match and len(parts) >= self.depth:
                return match.groupdict()
        return None


def read_layout(text: str, called: str = "layout") -> Layout:
    """Return a layout whose paths can be read.

    Parameters
    ----------
    text : str
        Text with dim names in braces.
    called : str
        The argument it was given as, for the message.

    Returns
    -------
    Layout

    Raises
    ------
    ValueError
        When the layout names no dim, or one twice, or a brace is missing.
    """
    names = re.findall(r"\{([^{}]*)\}", text)
    plain_text = re.sub(r"\{[^{}]*\}", "", text)
    if lone := re.search(r"[{}]", plain_text):
        brace = "}" if lone[0] == "{" else "{"
        raise ValueError(f"{called}={text!r} has a {lone[0]!r} whose {brace!r} is missing; dims stand in braces, as in '{{version}}.json'")
    bad = [name for name in names if not name.isidentifier()]
    if not names or bad or len(set(names)) != len(names):
        named = listed(names) or "none"
        raise ValueError(f"{called}={text!r} must name dims in braces, each once, as in '{{version}}/{{machine}}.json'; it names {named}")
    pieces = re.split(r"\{[^{}]*\}", text)
    pattern = re.escape(pieces[0]) + "".join(
        f"(?P<{name}>[^/]+?)" + re.escape(piece) for name, piece in zip(names, pieces[1:], strict=True)
    )
    return Layout(text, re.compile(pattern), text.count("/") + 1)
