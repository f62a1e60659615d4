"""Dims named in paths: `{version}/{machine}_{session}.json`."""

import re
from typing import NamedTuple

from perfarray.timings.labels import expression_with_dims

COMPRESSED = (".gz", ".bz2", ".xz")


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
    pattern = expression_with_dims(text, re.escape, argument, "{version}/{machine}.json")
    return PathLayout(text, pattern, text.count("/") + 1)
