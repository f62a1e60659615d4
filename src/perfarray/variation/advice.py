"""What section 6.1 of Kalibera and Jones (2012) advises of a plan, in words, beyond the numbers."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from perfarray.numerics.types import Floats
from perfarray.timings.validation import listed

NO_PLAN = "no plan: the pilot has one unit, or no variation at any level"
NO_GOAL = "no plan: nothing lies inside one {level}. Give half_width= or budget=."
# Where equation 14 has no finite count.
NO_OUTER = (
    "the pilot shows no variation between {level}s beyond that inside them. "
    "Give half_width= or budget=."
)
FEW = 5  # counts below this are small, says section 6.1
CHEAP = 0.1  # a share of the price that is small enough to advise spending it again
MANY = 10  # units, of which a pilot with fewer knows the variation poorly


# What one repetition says of the variation between several.
UNSEEN = "whether more would help, a pilot with one cannot say: measure two or more"


@lru_cache(maxsize=1024)
def advice_on_nest(
    counts: tuple[float, ...],
    already: tuple[float, ...],
    merged: tuple[bool, ...],
    share: float,
    n: float,
    levels: tuple[str, ...],
) -> str:
    """Return the remarks on the plan of one nest, from a pilot of n units.

    Its lowest level takes this share of the price.

    The first three are of the levels below the outermost; `already` are the pilot's repetitions.
    """
    once, little_to_see = [], []
    for parent, level, count, n_seen, without in zip(
        levels, levels[1:], counts, already, merged, strict=False
    ):
        if without:
            reason = (
                UNSEEN if n_seen <= 1 else "the pilot shows no variation of its own between them"
            )
            once.append(f"one {level} in each {parent}: {reason}")
        elif count < FEW:
            little_to_see.append(
                f"a count of {count:.0f} per {parent} at the level {level} is little to see "
                "unusual behaviour by"
            )
    return _written([*once, *little_to_see], share, n, levels[-1])


def advice_on_suite(
    counts: Floats,
    already: Floats,
    share: float,
    n: float,
    levels: tuple[str, ...],
    names: Sequence[str],
) -> str:
    """Return the remarks on the counts (systems, benchmarks, L) of a suite.

    Benchmarks with the same remark are named together.
    """
    once, little_to_see, labels = [], [], np.array(names)
    for level in range(1, len(levels)):
        level_counts, unseen = counts[:, :, level], already[:, :, level] <= 1
        run_once, small = (
            labels[((level_counts == 1) & ~unseen).any(axis=0)],
            labels[((level_counts > 1) & (level_counts < FEW)).any(axis=0)],
        )
        alone = labels[((level_counts == 1) & unseen).any(axis=0)]
        if len(run_once):
            once.append(
                f"one {levels[level]} in each {levels[level - 1]} is best for {listed(run_once, 3)}"
            )
        if len(alone):
            once.append(
                f"one {levels[level]} in each {levels[level - 1]} for {listed(alone, 3)}: {UNSEEN}"
            )
        if len(small):
            little_to_see.append(
                f"counts below {FEW} per {levels[level - 1]} at the level {levels[level]} "
                f"({listed(small, 3)}) are little to see unusual "
                "behaviour by"
            )
    return _written([*once, *little_to_see], share, n, levels[-1])


def _written(remarks: list[str], share: float, n: float, lowest: str) -> str:
    """Write the remarks on counts, then those on a cheap lowest level and on a small pilot."""
    if share <= CHEAP:
        remarks.append(
            f"more at the level {lowest} cost little: twice as many add {100 * share:.1g} % to "
            "the price"
        )
    if n < MANY:
        remarks.append(
            f"the pilot's {n:.0f} units know the variation between them poorly: plan again "
            "when there are more"
        )
    return "; ".join(remarks)
