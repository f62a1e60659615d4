"""Whether both sides were measured in rounds, so that pairs of their units have narrower limits."""

from typing import Final

import numpy as np

from perfarray.comparisons.numerics.rounds import round_correlation
from perfarray.conventions import ITERATION, plural
from perfarray.numerics.levels import unit_means
from perfarray.numerics.types import Floats
from perfarray.timings.apply import is_chunked
from perfarray.timings.labels import labels_along
from perfarray.timings.notes import Note
from perfarray.timings.pairs import Pair
from perfarray.timings.resolve import Timings

MEASURED_IN_ROUNDS: Final = "measured_in_rounds"
LEVEL: Final = 0.005
LEAST: Final = 0.3  # With ten units, pairs have narrower limits from this correlation on.


def rounds_note(pair: Pair) -> Note | None:
    """Return the note that equal labels of the outermost level move together on both sides.

    None where pairs would not pay.
    """
    new, old = pair.candidate.array, pair.baseline.array
    level = pair.candidate.levels[0]
    # Iterations of a process share its warm-up, and are no rounds.
    if level == ITERATION or pair.baselines or pair.bounded or is_chunked(new) or is_chunked(old):
        return None
    if labels_along(new, level) != labels_along(old, level):
        return None
    sides = _rows(pair.candidate, pair), _rows(pair.baseline, pair)
    answers = [round_correlation(candidate, sides[1][0]) for candidate in sides[0]]
    correlation, pvalue = min(answers, key=lambda answer: (np.isnan(answer[1]), answer[1]))
    if not (pvalue * len(answers) <= LEVEL and correlation >= LEAST):
        return None
    units = plural(level)
    text = (
        f"{units.capitalize()} of one label move together on both sides (mean correlation "
        f"{correlation:.2f}, p {pvalue:.2g}). Rounds of measurements look like this. If they are "
        f"rounds, paired={level!r} compares inside each, with narrower limits."
    )
    return Note(
        MEASURED_IN_ROUNDS,
        text,
        {"level": level, "correlation": correlation, "pvalue": pvalue},
        aside=True,
    )


def _rows(side: Timings, pair: Pair) -> Floats:
    """Return the unit means of a side, (labels compared, all other cells, units).

    A dim that this side lacks is that of the other.
    """
    sizes = {**pair.baseline.array.sizes, **pair.candidate.array.sizes}
    outer = {name: size for name, size in sizes.items() if name not in (pair.dim, *side.levels)}
    along = [pair.dim] if pair.dim in side.array.dims else []
    variable = side.array.variable.set_dims({**outer, **side.array.sizes}).transpose(
        *along, *outer, *side.levels
    )
    means = unit_means(np.asarray(variable.values), len(side.levels))
    return np.asarray(means.reshape(means.shape[0] if along else 1, -1, means.shape[-1]))
