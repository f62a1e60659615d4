"""What the SPEC formats share: names of suites, and hardware and software as numbers where the text is plain.

Text is kept beside the numbers made from it (`l3_cache` beside `l3_kb`). Sizes are in kB of 1,024 bytes and GB; what a report does not
say is None, which becomes `unknown` or NaN.
"""

import re
from functools import lru_cache

SUITE_WORDS = (
    re.compile(r"SPEC(?P<kind>rate|speed)(?:\(R\))?(?P<year>\d{4})_(?P<part>int|fp)_(?:base|energy_base)"),
    re.compile(r"SPEC(?P<part>int|fp)(?:\(R\))?(?P<kind>_rate)?_base(?P<year>\d{4})"),
)
"""How the line of the score writes the suite: CPU2017 and later, CPU2006."""

NOT_SAID = frozenset({"", "-", "--", "Multiple", "Not Applicable", "unknown"})
"""What stands where a report says nothing."""

KILOBYTES = {"KB": 1.0, "KIB": 1.0, "MB": 1024.0, "MIB": 1024.0, "GB": 1024.0**2, "GIB": 1024.0**2, "TB": 1024.0**3, "TIB": 1024.0**3}

SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]I?B)\b", re.I)
ENABLED = {
    "cores": re.compile(r"(-?\d+) cores?\b(?!/)"),
    "chips": re.compile(r"(-?\d+) chips?\b"),
    "cores_per_chip": re.compile(r"(-?\d+) cores?/chip"),
    "threads_per_core": re.compile(r"(-?\d+) threads?/core"),
}


def suite_name(score: str, copies: int | None = None) -> str:
    """Return the suite that a line such as `SPECrate(R)2017_int_base` names; what is not known by its words is named by its first word.

    Parameters
    ----------
    score : str
        The name of the score.
    copies : int, optional
        How many copies ran: one copy is a suite of its own (`rate1`).

    Returns
    -------
    str

    Examples
    --------
    >>> suite_name("SPECrate(R)2017_int_base", 1), suite_name("SPECfp_rate_base2006", 24), suite_name("SPECint_base2006")
    ('int2017_rate1', 'fp2006_rate', 'int2006_speed')
    """
    for pattern in SUITE_WORDS:
        match = pattern.search(score)
        if match:
            rate = (match["kind"] or "speed").strip("_") == "rate"
            kind = f"rate{1 if copies == 1 else ''}" if rate else "speed"
            return f"{match['part']}{match['year']}_{kind}"
    return score.split()[0] if score.split() else "unknown"


def said(text: str) -> str | None:
    """Return a text with single blanks, or None where it says nothing."""
    plain = " ".join(text.split())
    return None if plain in NOT_SAID else plain


def number(text: str) -> float | None:
    """Return a plain number, or None."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 < value < float("inf") else None


@lru_cache(maxsize=4096)
def enabled(text: str) -> dict[str, int | None]:
    """Count cores, chips and threads in `12 cores, 2 chips, 6 cores/chip, 2 threads/core`; -1 and question marks are not counts.

    Parameters
    ----------
    text : str
        The field `Enabled`.

    Returns
    -------
    dict
        `cores`, `chips`, `cores_per_chip`, `threads_per_core`; None where the text does not say.

    Examples
    --------
    >>> enabled("384 cores, 16 chips, 2 threads/core")
    {'cores': 384, 'chips': 16, 'cores_per_chip': None, 'threads_per_core': 2}
    """
    found = {}
    for name, pattern in ENABLED.items():
        match = pattern.search(text)
        found[name] = int(match[1]) if match and 0 < int(match[1]) < 2**31 else None
    return found


def kilobytes(text: str | None) -> float | None:
    """Return the first size in a text, in kB; a part that is not there has none, and 0.

    Parameters
    ----------
    text : str or None
        The field of a cache.

    Returns
    -------
    float or None

    Examples
    --------
    >>> kilobytes("15 MB I+D on chip per chip"), kilobytes("None"), kilobytes("on request")
    (15360.0, 0.0, None)
    """
    if text is None:
        return None
    if text.lower() in ("none", "n/a"):
        return 0.0
    match = SIZE.search(text)
    return float(match[1]) * KILOBYTES[match[2].upper()] if match else None


def gigabytes(text: str | None) -> float | None:
    """Return the size of a memory in GB.

    Parameters
    ----------
    text : str or None
        The field `Memory`: a total first, or a number of modules, their name and the size of one.

    Returns
    -------
    float or None

    Examples
    --------
    >>> gigabytes("4 TB (128 x 32 GB 2Rx4)"), gigabytes("16x Vendor AB32D4-32 32 GB 2 rank 3200"), gigabytes("fast")
    (4096.0, 512.0, None)
    """
    if text is None:
        return None
    modules = re.match(r"(\d{1,6})x\s(?:.*\s)?(\d{1,9}(?:\.\d+)?\s[KMGT]I?B)\b", text, re.I)
    size = kilobytes(modules[2] if modules else text)
    return size * (int(modules[1]) if modules else 1) / KILOBYTES["GB"] if size else None
