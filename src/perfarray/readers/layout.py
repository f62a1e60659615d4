"""Dims named in paths: `{version}/{machine}_{session}.json`."""

import re
from typing import NamedTuple

from perfarray.timings.validation import listed

COMPRESSED = (".gz", ".bz2", ".xz")
BRACES = re.compile(r"\{([^{}]*)\}")


class PathLayout(NamedTuple):
    """A layout as it was given, as a regular expression, and how many parts of a path it covers."""

    text: str
    pattern: re.Pattern[str]
    depth: int

    def labels(self, path: str) -> dict[str, str] | None:
        """Return the labels of dims in the last parts of a path, None where it does not match.

        A suffix of compression may be left out.

        >>> read_layout("{version}/{machine}_{session}.json").labels("results/gcc13/epyc_2.json.gz")
        {'version': 'gcc13', 'machine': 'epyc', 'session': '2'}
        """
        components = path.split("/")
        tail = "/".join(components[-self.depth :])
        for candidate in [
            tail,
            *(tail.removesuffix(suffix) for suffix in COMPRESSED if tail.endswith(suffix)),
        ]:
            match = self.pattern.fullmatch(candidate)
            if match and len(components) >= self.depth:
                return match.groupdict()
        return None


def read_layout(text: str, argument: str = "layout") -> PathLayout:
    """Return a layout, given as text with the names of dims in braces.

    `argument` is for messages.
    """
    names = BRACES.findall(text)
    if lone := re.search(r"[{}]", BRACES.sub("", text)):
        brace = "}" if lone[0] == "{" else "{"
        raise ValueError(
            f"{argument}={text!r} has a {lone[0]!r} whose {brace!r} is missing; dims stand in "
            f"braces, as in '{{version}}.json'"
        )
    if not names or not all(map(str.isidentifier, names)) or len(set(names)) != len(names):
        got = listed(names) or "none"
        raise ValueError(
            f"{argument}={text!r} must name dims in braces, each once, as in "
            f"'{{version}}/{{machine}}.json'; it names {got}"
        )
    # Plain text and names take turns.
    pieces = [
        f"(?P<{piece}>[^/]+?)" if index % 2 else re.escape(piece)
        for index, piece in enumerate(BRACES.split(text))
    ]
    return PathLayout(text, re.compile("".join(pieces)), text.count("/") + 1)
