"""Means of times that solvers are judged by: penalised averages, and the shifted geometric mean."""

from collections.abc import Hashable
from typing import Any, Final, NamedTuple

import xarray as xr

from perfarray.conventions import CENSORED
from perfarray.numerics.suite import MEANS
from perfarray.suites.matching import TwoSystems
from perfarray.timings.notes import Note
from perfarray.timings.penalties import (
    PENALISED,
    check_times,
    number_unsolved,
    penalised,
    penalties_note,
    unsolved_as_stopped,
)
from perfarray.timings.resolve import Timings
from perfarray.timings.validation import check_choice, check_number

# By the name of a mean, how many times its limit a run counts that did not end
PENALTIES: Final = {"par2": 2.0, "par10": 10.0}
SHIFTED: Final = "shifted_geometric"
SHIFT: Final = 1.0  # as SCIP reports it, in units of the values: seconds


class SuiteMean(NamedTuple):
    """A mean over benchmarks: the formula, and what is done to times before it is taken."""

    name: str
    formula: str
    shift: float = 0.0
    factor: float | None = None
    limit: float | None = None

    @property
    def above_zero(self) -> bool:
        """Whether values must be above 0, since logs or reciprocals of them are taken."""
        return self.formula != "arithmetic" and not self.shift

    def marked(self, times: Any, metric: Any) -> Any:
        """Return timings in which what did not end is marked with its limit, labels unchanged."""
        if self.name in MEANS or not isinstance(times, xr.DataArray | xr.Dataset):
            return times
        check_times(times, metric, f"mean={self.name!r}")
        if self.factor is None:
            return times
        return unsolved_as_stopped(times, metric, limit=self.limit)

    def penalised(self, data: Timings) -> Timings:
        """Return timings with penalties in place of limits."""
        return data if self.factor is None else penalised(data, self.factor)

    def note(self, *sides: Timings) -> Note | None:
        """Return the note on the penalties, of timings before they were penalised."""
        if self.factor is None:
            return None
        counts = [number_unsolved(side) for side in sides]
        lazy = any(is_lazy for _, is_lazy in counts)
        return penalties_note(sum(number for number, _ in counts), self.factor, lazy=lazy)

    def penalised_systems(self, systems: TwoSystems) -> TwoSystems:
        """Return both systems with penalties in place of limits, and the note on these."""
        if self.factor is None:
            return systems
        sides = systems.pair.candidate, systems.pair.baseline
        note = self.note(*sides)
        candidate, baseline = map(self.penalised, sides)
        notes = (*systems.pair.notes, *((note,) if note else ()))
        pair = systems.pair._replace(candidate=candidate, baseline=baseline, notes=notes)
        return systems._replace(pair=pair)

    @property
    def attrs(self) -> dict[str, Hashable]:
        """The attrs of a result."""
        attrs: dict[str, Hashable] = {"mean": self.name}
        attrs |= {"shift": self.shift} if self.shift else {}
        attrs |= {"limit": self.limit} if self.limit is not None else {}
        return attrs | ({CENSORED: PENALISED} if self.factor is not None else {})


def suite_mean_of(
    mean: str, *, shift: float | None = None, limit: float | None = None
) -> SuiteMean:
    """Return the mean of a name; raise for an unknown one, and for numbers of another."""
    check_choice(mean, "mean", (*MEANS, *PENALTIES, SHIFTED))
    numbers = {"shift": shift, "limit": limit}
    for name, number in numbers.items():
        if number is not None and check_number(number, name) <= 0:
            raise ValueError(f"{name}={number!r}: give seconds above 0")
    if shift is not None and mean != SHIFTED:
        raise ValueError(f"shift={shift!r} is for mean={SHIFTED!r}, not for mean={mean!r}")
    if limit is not None and mean not in PENALTIES:
        raise ValueError(f"limit={limit!r} is for mean='par2' or 'par10', not for mean={mean!r}")
    if mean == SHIFTED:
        return SuiteMean(mean, "geometric", SHIFT if shift is None else float(shift))
    if mean in PENALTIES:
        limit = None if limit is None else float(limit)
        return SuiteMean(mean, "arithmetic", factor=PENALTIES[mean], limit=limit)
    return SuiteMean(mean, mean)


def ratio_mean_of(mean: str, limit: float | None, censored: str) -> SuiteMean:
    """Return the mean of which ratios have limits; raise for the shifted geometric mean."""
    over = suite_mean_of(mean, limit=limit)
    if over.shift:
        raise ValueError(
            f"mean={mean!r} has no interval of a ratio. Use mean='geometric' or 'par2', or give "
            "the scores alone with suite_score."
        )
    if over.factor is not None and censored == "drop":
        raise ValueError(f"censored='drop' does not go with mean={mean!r}, which counts these runs")
    return over
