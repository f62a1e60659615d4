"""Whether both sides were measured in rounds, so that pairs of their units have narrower limits.

The labels and dates of units show rounds; where there are none, units that move together do.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from perfarray.comparisons.numerics.rounds import round_correlation
from perfarray.comparisons.turns import unit_dates
from perfarray.conventions import ITERATION, SESSION, plural
from perfarray.numerics.levels import unit_means
from perfarray.numerics.types import Floats
from perfarray.timings.apply import is_chunked
from perfarray.timings.crossed import by_label, measured_labels, unit_labels
from perfarray.timings.labels import labels_along
from perfarray.timings.notes import Note
from perfarray.timings.pairs import Pair
from perfarray.timings.resolve import Data, Timings

MEASURED_IN_ROUNDS: Final = "measured_in_rounds"
LEVEL: Final = 0.005
LEAST: Final = 0.3  # With ten units, pairs have narrower limits from this correlation on.


# Codes of the notes that propose pairs, and of the one on their order
DATED_ROUNDS: Final = "dated_rounds"
UNDATED_ROUNDS: Final = "undated_rounds"
FIXED_ORDER: Final = "fixed_order"

MIN_ROUNDS: Final = 2


class Rounds(NamedTuple):
    """Units of one label on both sides.

    `interleaved` says whether their dates show rounds (None: no dates, or equal ones), and `first`
    which side was measured first in all of them ("": neither).
    """

    number: int
    interleaved: bool | None
    first: str


def rounds_notes(times: Data, baseline: object, pair: Pair, *, propose: bool) -> list[Note | None]:
    """Return the notes on rounds: their order, and, to propose pairs, the argument for them."""
    rounds = labelled_rounds(times, baseline, pair)
    if rounds is None:
        return [moving_note(pair)] if propose else []
    level = pair.candidate.levels[0]
    units, number = plural(level), rounds.number
    remedy = f"paired={level!r} compares inside each round."
    numbers = {"level": level, "rounds": number}
    notes: list[Note | None] = []
    if rounds.interleaved and rounds.first:
        text = (
            f"In all {number} rounds the {rounds.first} was measured first, by the dates. If the "
            "second place is 5 % slower, every verdict on equal programs is false. Alternate the "
            "order: old new, new old."
        )
        notes.append(Note(FIXED_ORDER, text, numbers | {"first": rounds.first}, aside=True))
    if not propose:
        return notes
    if rounds.interleaved:
        text = (
            f"Both sides were measured in {number} rounds, by the labels and dates of their "
            f"{units}. What a round adds widens these limits. {remedy}"
        )
        return [*notes, Note(DATED_ROUNDS, text, numbers, aside=True)]
    # Sides that drift alike look like rounds, and dates can show that they are none.
    moving = None if rounds.interleaved is False else moving_note(pair)
    if moving is not None or rounds.interleaved is not None or level != SESSION:
        return [*notes, moving]
    text = (
        f"Both sides have {units} of the same labels, without dates that show their order. If "
        f"{units} of one label are one round of measurements, {remedy}"
    )
    return [*notes, Note(UNDATED_ROUNDS, text, numbers, aside=True)]


def labelled_rounds(times: Data, baseline: object, pair: Pair) -> Rounds | None:
    """Return the units of one label on both sides, with what their dates show.

    None without labels, and where more than half of the units of a side have no partner.
    """
    new, old, dim = pair.candidate.array, pair.baseline.array, pair.dim
    level, reference = pair.candidate.levels[0], baseline
    if level == ITERATION or pair.baselines or is_chunked(new) or is_chunked(old):
        return None
    labels = labels_along(new, dim) if dim in new.dims else [None]
    old_label = None
    if not isinstance(reference, xr.DataArray | xr.Dataset):
        reference = times
        old_label = next((name for name in labels_along(times, dim) if name not in labels), None)
    if unit_labels(times, level) is None or unit_labels(reference, level) is None:
        return None
    old_units = measured_labels(by_label(old, level), level)
    old_dates = unit_dates(reference, level, dim, old_label)
    rounds = []
    for position, label in enumerate(labels):
        side = new.isel({dim: position}) if dim in new.dims else new
        units = measured_labels(by_label(side, level), level)
        in_old = set(old_units)
        common = [unit for unit in units if unit in in_old]
        if len(common) < MIN_ROUNDS or 2 * len(common) <= max(len(units), len(old_units)):
            return None
        new_dates = unit_dates(times, level, dim, label)
        rounds.append(_order(new_dates.reindex(common), old_dates.reindex(common)))
    orders, first = {side.interleaved for side in rounds}, {side.first for side in rounds}
    return Rounds(
        min(side.number for side in rounds),
        None if None in orders else orders == {True},
        first.pop() if len(first) == 1 else "",
    )


def _order(new: "pd.Series[Any]", old: "pd.Series[Any]") -> Rounds:
    """Return what the dates of units of one label show: rounds lie one after the other."""
    if new.isna().any() or old.isna().any():
        return Rounds(len(new), None, "")
    spans = pd.DataFrame({"start": np.minimum(new, old), "end": np.maximum(new, old)})
    starts, ends = spans.sort_values(["start", "end"]).to_numpy().T
    # Dates in whole seconds may end a round when the next begins.
    interleaved = bool((ends[:-1] <= starts[1:]).all())
    if interleaved and not (starts[:-1] < starts[1:]).all():
        return Rounds(len(new), None, "")
    first = "candidate" if (new < old).all() else "baseline" if (old < new).all() else ""
    return Rounds(len(new), interleaved, first)


def moving_note(pair: Pair) -> Note | None:
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
