"""Dims named in paths: `{version}/{machine}_{session}.json`."""

import re
from functools import lru_cache
from pathlib import PurePosixPath

from perfarray.timings.validation import listed

COMPRESSED = (".gz", ".bz2", ".xz")


def parse_layout(layout: str, path: str) -> dict[str, str] | None:
    """Read labels of dims from a path.

    The layout is matched against the last parts of the path, as many as it has itself; a compression suffix of the file may be left
    out of it.

    Parameters
    ----------
    layout : str
        Text with dim names in braces.
    path : str
        A path with forward slashes.

    Returns
    -------
    dict or None
        Dim to label, or None when the path does not match.

    Raises
    ------
    ValueError
        When the layout names no dim, or one twice.

    Examples
    --------
    >>> parse_layout("{version}/{machine}_{session}.json", "results/gcc13/epyc_2.json.gz")
    {'version': 'gcc13', 'machine': 'epyc', 'session': '2'}
    """
    pattern, depth = _compile(layout)
    parts = PurePosixPath(path).parts
    tail = "/".join(parts[-depth:])
    candidates = [tail, *(tail.removesuffix(suffix) for suffix in COMPRESSED if tail.endswith(suffix))]
    for candidate in candidates:
        match = pattern.fullmatch(candidate)
        if match and len(parts) >= depth:
            return match.groupdict()
    return None


@lru_cache(maxsize=32)
def _compile(layout: str) -> tuple[re.Pattern[str], int]:
    """Turn a layout into a regular expression and the number of path parts it covers."""
    names = re.findall(r"\{([^{}]*)\}", layout)
    bad = [name for name in names if not name.isidentifier()]
    if not names or bad or len(set(names)) != len(names):
        said = listed(names) or "none"
        raise ValueError(f"layout={layout!r} must name dims in braces, each once, as in '{{version}}/{{machine}}.json'; it names {said}")
    pieces = re.split(r"\{[^{}]*\}", layout)
    pattern = re.escape(pieces[0]) + "".join(
        f"(?P<{name}>[^/]+?)" + re.escape(piece) for name, piece in zip(names, pieces[1:], strict=True)
    )
    return re.compile(pattern), layout.count("/") + 1
