"""Names of the suites of SPEC CPU, and the measure that SPEC publishes."""

import re
from collections.abc import Iterable

from perfarray.conventions import TIME

# Reference time / time, of rates x copies: what SPEC publishes. A time does not say how many copies
# ran
RATIO = "ratio"

# How the line of the score writes the suite: CPU2017 and later, CPU2006
SUITE_WORDS = (
    re.compile(
        r"SPEC(?P<kind>rate|speed)(?:\(R\))?(?P<year>\d{4})_(?P<part>int|fp)_(?:base|energy_base)"
    ),
    re.compile(r"SPEC(?P<part>int|fp)(?:\(R\))?(?P<kind>_rate)?_base(?P<year>\d{4})"),
)


def suite_name(score: str, copies: int | None = None) -> str:
    """Return the suite that the name of a score states, else the first word.

    One copy is a suite of its own (`rate1`).

    >>> suite_name("SPECrate(R)2017_int_base", 1), suite_name("SPECfp_rate_base2006", 24)
    ('int2017_rate1', 'fp2006_rate')
    >>> suite_name("SPECint_base2006")
    'int2006_speed'
    """
    for pattern in SUITE_WORDS:
        if match := pattern.search(score):
            rate = (match["kind"] or "speed").strip("_") == "rate"
            kind = f"rate{1 if copies == 1 else ''}" if rate else "speed"
            return f"{match['part']}{match['year']}_{kind}"
    return next(iter(score.split()), "unknown")


def published_metric(ratios: Iterable[float]) -> str:
    """Return the main metric of a result: the ratio, or the time where every ratio is NaN."""
    return RATIO if any(ratio == ratio for ratio in ratios) else TIME
