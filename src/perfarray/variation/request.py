"""What a plan is asked for, checked once, and the systems it is for."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import xarray as xr

from perfarray.conventions import ITERATION, LOOPS, SCORES, SECONDS, TIME, price_of
from perfarray.timings.notes import Note
from perfarray.timings.pairs import resolve_pair
from perfarray.timings.resolve import Data, Timings, choose_metric, resolve
from perfarray.timings.validation import check_choice, check_confidence_level, check_count, check_number, check_share, listed
from perfarray.variation.costs import price_note, prices

BUDGET_FACTOR = "budget_factor"
FACTORS = tuple(2.0 ** (step / 2) for step in range(-6, 7))
"""Multiples of a plan's cost at which a result says what half-width they give."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What both planners are asked for; their docstrings say what each choice means."""

    dim: str | None
    costs: Any
    levels: str | tuple[str, ...] | None
    budget: float | None
    half_width: float | None
    assurance: float | None
    cost_units: str
    min_units: int
    confidence_level: float
    negative: str
    biased: bool = False
    paired: str | None = None
    limits: str = "normal"
    baseline_costs: Any = None

    def checked(self) -> Self:
        """Return the request with numbers of the right kind.

        Raises
        ------
        ValueError
            A choice that is unknown or out of range, or both of budget and half-width.
        """
        check_choice(self.negative, "negative", ("merge", "zero"))
        budget, half_width = _target(self.budget, self.half_width)
        if self.assurance is not None:
            check_share(self.assurance, "assurance", example="0.9")
        least, level = check_count(self.min_units, "min_units", 2), check_confidence_level(self.confidence_level)
        return replace(self, budget=budget, half_width=half_width, min_units=least, confidence_level=level)

    def describe(self, result: str) -> dict[str, Hashable]:
        """Return what the attrs of a plan say of the request."""
        attrs: dict[str, Hashable] = {"result": result, "confidence_level": self.confidence_level, "cost_units": self.cost_units}
        attrs |= {"min_units": self.min_units, "negative": self.negative}
        attrs |= {"assurance": self.assurance} if self.assurance is not None else {}
        goals = {"budget": self.budget, "half_width_wanted": self.half_width}
        return attrs | {name: value for name, value in goals.items() if value is not None}


class Systems(NamedTuple):
    """The timings planned for, the candidate's before the baseline's, with the attrs, the notes and the labels of a baseline.

    `absent` names for each the levels it does not have: they cost nothing there.
    """

    sides: tuple[Timings, ...]
    attrs: dict[str, Hashable]
    notes: tuple[Note, ...]
    chosen: dict[str, object]
    absent: tuple[tuple[str, ...], ...] = ((), ())

    def prices(self, request: Request) -> tuple[list[xr.DataArray], Note | None]:
        """Return the prices of every system, and a note on those that `costs` does not name."""
        costs = request.costs, _costs_of_baseline(request, self.absent[-1], single=len(self.sides) == 1)
        priced = [
            prices({**(level_costs or {}), **dict.fromkeys(gone, 0.0)} if gone else level_costs, side, request.cost_units, chosen_label)
            for side, gone, chosen_label, level_costs in zip(self.sides, self.absent, (None, self.chosen), costs, strict=False)
        ]
        return [side.prices for side in priced], price_note(priced, request.cost_units)


def _costs_of_baseline(request: Request, absent: Sequence[str], *, single: bool) -> Any:
    """Return the prices of the baseline: its own, and for what they do not name those of the candidate."""
    costs, named = request.costs, request.baseline_costs
    if named is None:
        return costs
    if single:
        raise ValueError(f"baseline_costs={named!r} are the prices of a baseline; name the baseline too")
    if not isinstance(named, Mapping):
        raise ValueError(f"baseline_costs={named!r}: give a mapping of levels to prices, as in {{'execution': 19, 'binary': 5343}}")
    lacking = [name for name in named if name in absent]
    if lacking:
        raise ValueError(f"baseline_costs= names {listed(lacking)}, which the baseline does not have: it costs nothing there")
    return {**costs, **named} if isinstance(costs, Mapping) else named if costs is None else costs


def systems(times: Data, baseline: object, request: Request, metric: str | Sequence[str] | None, positive: str = "") -> Systems:
    """Resolve the timings, and those of a baseline beside them; `positive` says what needs positive values."""
    times, baseline = (_timed(side, metric, request.levels) for side in (times, baseline))
    if baseline is None:
        if request.paired is not None:
            raise ValueError(f"paired={request.paired!r} matches the units of two systems; name the baseline too")
        timings = resolve(times, metric, request.levels, positive=positive)
        return Systems((timings,), timings.describe(), timings.notes, {})
    dim, levels, paired = request.dim, request.levels, request.paired
    if levels is None and isinstance(baseline, xr.DataArray | xr.Dataset):
        nests = [resolve(side, metric, None).levels for side in (times, baseline)]
        if nests[0] != nests[1]:
            raise ValueError(
                f"the timings have the levels {nests[0]}, the baseline {nests[1]}; plan from the components of both, "
                "times.perf.variance_components() and baseline.perf.variance_components()"
            )
    stated = (LOOPS, price_of(ITERATION), *(price_of(str(name)) for name in times.dims))
    pair = resolve_pair(times, baseline, dim=dim, metric=metric, levels=levels, paired=paired, positive=positive, keep=stated)
    by_label = pair.dim is not None and not isinstance(baseline, xr.DataArray | xr.Dataset)
    return Systems((pair.candidate, pair.baseline), dict(pair.attrs), pair.notes, {str(pair.dim): baseline} if by_label else {})


def _timed(times: Any, metric: str | Sequence[str] | None, levels: str | Sequence[str] | None) -> Any:
    """Return a Dataset that is asked about scores with the times beside them as what taking a value takes, unless it says so itself."""
    name = price_of(ITERATION)
    if not isinstance(times, xr.Dataset) or TIME not in times or name in times.coords or times[TIME].attrs.get("units") != SECONDS:
        return times
    scores = choose_metric(times, metric, levels)
    computed = scores.name in SCORES and scores.dims == times[TIME].dims  # a score is computed from the time of the same run
    return times.assign_coords({name: times[TIME].variable}) if computed else times


def _target(budget: Any, half_width: Any) -> tuple[float | None, float | None]:
    """Return the budget or the half-width wanted, positive: one of them, or none."""
    if budget is not None and half_width is not None:
        raise ValueError("both of budget= and half_width= came; give one: what may be spent, or the relative half-width to reach")
    if budget is not None:
        if check_number(budget, "budget") <= 0:
            raise ValueError(f"budget={budget!r}: give what may be spent, above zero")
        return float(budget), None
    if half_width is not None and not 0 < check_number(half_width, "half_width") < 1:
        raise ValueError(f"half_width={half_width!r} is out of range; give a relative half-width between 0 and 1, such as 0.01 for 1 %")
    return None, None if half_width is None else float(half_width)
