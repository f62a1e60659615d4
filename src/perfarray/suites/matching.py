"""Which benchmarks count: of one system those that every cell has, of two those measured on both sides; and what is said of the others."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
import xarray as xr

from perfarray.numerics.suite import Sides, common_movement, suite_units
from perfarray.numerics.types import Floats
from perfarray.timings.across import MOVEMENT, UNMATCHED, check_across, name_suites, suites_hint
from perfarray.timings.apply import Output, apply, is_chunked, outputs
from perfarray.timings.best import slow_end_note
from perfarray.timings.censored import ONLY_WORSE, Bounds, bound_interval
from perfarray.timings.chunks import evenly_chunked
from perfarray.timings.notes import Note, check, count_note, noted
from perfarray.timings.pairs import Pair, resolve_pair
from perfarray.timings.resolve import Data, Timings
from perfarray.timings.streams import cell_keys, order_of_labels
from perfarray.timings.units import unit_place
from perfarray.timings.validation import listed

Result = TypeVar("Result", xr.Dataset, xr.DataArray)
Kernel = Callable[[Floats, Floats, Any], tuple[np.ndarray, ...]]

INDEPENDENT = "independent (assumed)"
"""What the attr `benchmarks` says where no level is known to be shared."""

REPLICATE = "replicate"
"""The dim of redrawn scores, and of ratios of scores."""


class OneSystem(NamedTuple):
    """The suite of one system: which benchmarks every cell has, and the names of the others."""

    data: Timings
    across: str
    complete: xr.DataArray
    unmatched: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Which units of which benchmarks of two systems are compared: what the caller of a comparison chose."""

    dim: str | None
    metric: str | list[str] | None
    levels: str | tuple[str, ...] | None
    across: str
    unit: str | None
    shared: str | tuple[str, ...] | None = None
    paired: str | None = None
    censored: str = "drop"


class TwoSystems(NamedTuple):
    """The suites of two systems, side by side: the place of the units in the nest, and whether benchmarks share them."""

    pair: Pair
    across: str
    depth: int
    paired: str | None

    @property
    def better(self) -> str:
        """`lower` for times, `higher` for throughput and scores."""
        return self.pair.candidate.better

    @property
    def shared(self) -> bool:
        """Whether a unit is the same for every benchmark."""
        return set(self.pair.candidate.levels[: self.depth + 1]) <= set(self.pair.shared)

    def labels(self, *, in_key_order: bool) -> np.ndarray:
        """Return the benchmarks in the order in which a formula of `over_suites` gets them."""
        labels = along(self.pair.candidate, self.across)[self.across].values
        return np.asarray(labels[order_of_labels(labels)] if in_key_order else labels)

    @property
    def benchmarks(self) -> str:
        """What the attrs say of the benchmarks."""
        jointly = f"paired: {self.paired}" if self.paired else INDEPENDENT
        return f"shared: {' '.join(self.pair.shared)}" if self.shared else jointly


def match_cells(data: Timings, across: str) -> OneSystem:
    """Find the benchmarks that every cell has; cells without any value do not count."""
    array = along(data, across)
    present = array.notnull().any(data.levels).reset_coords(drop=True)
    further_dims = [dim for dim in present.dims if dim != across]
    complete = (present | ~present.any(across)).all(further_dims)
    if is_chunked(complete):
        return OneSystem(_read_again(data, complete), across, complete.chunk({across: -1}), ())
    if not complete.any() and bool(present.any()):
        raise ValueError(
            f"no label of {across!r} was measured in every cell, so no suite is the same for all; select cells that have benchmarks in "
            f"common (dims {tuple(str(dim) for dim in further_dims)}){suites_hint(array, across)}"
        )
    return OneSystem(data, across, complete, tuple(str(label) for label in complete[across].values[~complete.values]))


def _read_again(data: Timings, complete: xr.DataArray) -> Timings:
    """Return lazy timings that are read once more after it is known which benchmarks count: else all chunks would wait for it in memory."""
    from dask.graph_manipulation import bind

    return data._replace(array=data.array.copy(data=bind(data.array.data, complete.data)))


def describe_one(
    result: Result, system: OneSystem, attrs: dict[str, Hashable], *notes: Note | None, checks: tuple[str, ...] = ()
) -> Result:
    """Write the attrs of a result on one system's suite, and what there is to say of it."""
    attrs = attrs | {"across": system.across} | ({} if is_chunked(system.complete) else {"n_benchmarks": int(system.complete.sum())})
    result = _bounded_scores(result, system) if system.data.bounded else result
    result = result.assign_attrs(attrs | _unmatched(system.unmatched))
    notes = (*notes, system.data.stopped_note("a score of theirs is a bound, and its spread NaN"))
    suites = name_suites(result, system.data.array, system.complete, system.across, by=True)
    slow = slow_end_note([attrs.get("statistic")], system.data.better)
    return noted(result, *system.data.notes, slow, *notes, suites, _left_out(system), checks=checks)


SPREADS = ("range", "interquartile_range", "standard_deviation", "relative_variation")
"""Variables of which a bound of the runs is no bound."""


def _bounded_scores(result: Result, system: OneSystem) -> Result:
    """Take back what is no bound: spreads of suites with stopped runs, and everything where a run's limit is not known."""
    at_least, at_most = system.data.bounds.over(system.across)
    one_sided, spread = ~(at_least & at_most), ~(at_least | at_most)
    if isinstance(result, xr.DataArray):
        return result.where(one_sided).transpose(*result.dims).assign_attrs(result.attrs)
    conditions = {name: one_sided if name not in SPREADS else spread for name in result.data_vars if name != "n"}
    changed = {name: result[name].where(where).transpose(*result[name].dims) for name, where in conditions.items()}
    return result.assign({name: variable.assign_attrs(result[name].attrs) for name, variable in changed.items()})


def resolve_systems(times: Data, baseline: object, request: Request) -> TwoSystems:
    """Choose metric, nest and units, and bring both systems side by side."""
    pair = resolve_pair(
        times,
        baseline,
        dim=request.dim,
        metric=request.metric,
        levels=request.levels,
        paired=request.paired,
        shared=request.shared,
        positive="a ratio of suite scores",
        positive_at=request.unit or 0,
        censored=request.censored,
    )
    check_across(request.across, pair.candidate.array, pair.candidate.levels, pair.dim)
    depth = unit_place(pair.candidate, request.unit)
    if request.paired is not None and depth:
        conflict = f"paired={request.paired!r} matches the outermost units, and unit={request.unit!r} takes others as independent"
        raise ValueError(f"{conflict}; give one of them")
    return TwoSystems(pair, request.across, depth, request.paired)


def over_suites(
    kernel: Kernel, systems: TwoSystems, outputs: dict[str, Output], coords: dict[str, Any] | None = None, *, in_key_order: bool = False
) -> xr.Dataset:
    """Give a formula the units (suites, benchmarks, units) of both systems and the keys of the suites, and label what it returns.

    Where random numbers are `drawn`, benchmarks come in an order that depends on their labels alone, not on that of the data.
    """
    across, levels, depth = systems.across, systems.pair.candidate.levels, systems.depth
    sides = [along(side, across) for side in (systems.pair.candidate, systems.pair.baseline)]
    labels = sides[0][across].values
    order = order_of_labels(labels) if in_key_order else np.arange(len(labels))
    back = np.argsort(order)

    def unfolded(new: Floats, old: Floats, cells: Any) -> tuple[np.ndarray, ...]:
        units = [suite_units(side, cells.shape, len(levels), depth)[:, order] for side in (new, old)]
        answers = kernel(units[0], units[1], cells.ravel())
        arrays = [array.reshape((*cells.shape, *array.shape[1:])) for array in answers]
        return tuple(array[..., back] if across in output.dims else array for array, output in zip(arrays, outputs.values(), strict=True))

    core = [[across, *levels], [across, *levels], []]
    names = (coords or {}) | {across: labels.tolist()}
    return apply(unfolded, *sides, cell_keys(sides, levels, across), core=core, outputs=outputs, coords=names)


def bounded_result(result: xr.Dataset, systems: TwoSystems, *, null: float = 1.0, alternative: str = "two-sided") -> xr.Dataset:
    """Open the limits, and take back the p-values, towards what stopped runs leave unknown of ratios over the matched benchmarks."""
    if not systems.pair.bounded:
        return result
    return bound_interval(result, bounds_within(result, systems).over(systems.across), lowest=0.0, null=null, alternative=alternative)


def bounds_within(result: xr.Dataset, systems: TwoSystems) -> Bounds:
    """Return what stopped runs leave unknown of the benchmarks that count, or would if the limit of their runs were known."""
    bounds = systems.pair.bounds
    counts = result["_matched"].reset_coords(drop=True) | (bounds.at_least & bounds.at_most)
    return Bounds(*(side & counts for side in bounds))


def counted(across: str) -> dict[str, Output]:
    """Return the variables that `count` gives; those that begin with an underscore are taken out when the result is described."""
    return outputs(suite_benchmarks="benchmarks measured on both sides", _incomplete="") | {"_matched": Output((across,), "", bool)}


def count(sides: Sides) -> tuple[np.ndarray, ...]:
    """Return how many benchmarks count, how many shared units lack one, and which benchmarks count."""
    return sides.matched.sum(axis=-1).astype(float), sides.incomplete.astype(float), sides.matched


def moved() -> dict[str, Output]:
    """Return the variables that `movement` gives."""
    correlation, pvalue = "mean correlation between benchmarks of their units", "p-value of units of benchmarks that move together"
    return outputs(suite_correlation=correlation, suite_correlation_pvalue=pvalue)


def movement(sides: Sides, *, joint: bool, paired: bool) -> tuple[Floats, Floats]:
    """Return how the units of different benchmarks move together, of pairs their ratios; NaN where they are treated jointly anyway."""
    if joint:
        return np.full(sides.matched.shape[:-1], np.nan), np.full(sides.matched.shape[:-1], np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        return common_movement(sides.new / sides.old) if paired else common_movement(sides.new, sides.old)


def moving(request: Request, joint: bool) -> tuple[str, ...]:
    """Return the check of units that move together, where nobody said whether benchmarks share them."""
    return () if joint or request.shared is not None else (MOVEMENT,)


def describe_two(
    answers: xr.Dataset, systems: TwoSystems, attrs: dict[str, Hashable], *notes: Note | None, checks: tuple[str, ...] = ()
) -> xr.Dataset:
    """Write the attrs of a comparison, and what there is to say of it; of a lazy result, what can be said without computing."""
    pair, across, matched = systems.pair, systems.across, answers["_matched"]
    result = answers.drop_vars(["_matched", "_incomplete"])
    if not any(across in variable.dims for variable in result.data_vars.values()):
        result = result.drop_vars(across, errors="ignore")
    unit = pair.candidate.levels[systems.depth]
    attrs = {**pair.attrs, "unit": unit, "across": across, "benchmarks": systems.benchmarks} | attrs
    attrs |= {"paired": systems.paired} if systems.paired else {}
    lacking = [] if is_chunked(matched) else _lacking(matched, across)
    result = result.assign_attrs(attrs | _unmatched((*pair.unmatched, *map(str, lacking))))
    suites = name_suites(result, pair.candidate.array, matched, across, by=True)
    left_out = 0 if is_chunked(matched) else int(answers["_incomplete"].sum())
    incomplete = None
    if left_out:
        result.attrs["n_incomplete_units"] = left_out
        text = f"{left_out} shared units ({unit}) lack some benchmarks and are left out"
        incomplete = Note("incomplete_units", text, {"units": left_out})
    hint = suites_hint(pair.candidate.array, across) if suites is None else ""
    missing = _missing(lacking, matched.sizes[across], across, hint)
    slow = slow_end_note([attrs.get("statistic")], systems.better)
    remarks = (*pair.notes, slow, pair.candidate.selected, pair.stopped_note(ONLY_WORSE))
    return noted(result, *remarks, suites, missing, incomplete, *notes, checks=checks)


def along(side: Timings, across: str) -> xr.DataArray:
    """Return the timings with the dim of the suite in one chunk; a single benchmark gets one."""
    check_across(across, side.array, side.levels)
    array = side.array if across in side.array.dims else side.array.expand_dims({across: 1})
    return evenly_chunked(array, {across: array.sizes[across]})


def _unmatched(labels: tuple[str, ...]) -> dict[str, Hashable]:
    """Return the attr that names, for people, the benchmarks that do not count everywhere."""
    return {UNMATCHED: ", ".join(dict.fromkeys(labels))} if labels else {}


def _left_out(system: OneSystem) -> Note | None:
    """Name the benchmarks that are left out of every cell."""
    labels, number, across = system.unmatched, system.complete.size, system.across
    if not labels:
        return None
    text = f"{len(labels)} of {number} labels of {across!r} were not measured in every cell and are left out of all, so that all cells "
    text += f"have the same suite: {listed(labels)}{suites_hint(system.data.array, across)}"
    return Note("unmatched", text, {"labels": list(labels), "dim": across})


def _lacking(matched: xr.DataArray, across: str) -> list[Hashable]:
    """Return the benchmarks that some pair lacks; pairs without any data lack nothing: they are counted apart."""
    pairs = np.moveaxis(matched.values, matched.get_axis_num(across), -1).reshape(-1, matched.sizes[across])
    return list(matched[across].values[~pairs[pairs.any(axis=1)].all(axis=0)].tolist())


def _missing(labels: list[Hashable], number: int, across: str, hint: str) -> Note | None:
    """Name the benchmarks that some pair lacks."""
    if not labels:
        return None
    text = f"{len(labels)} of {number} along {across!r} are missing in some cells: {listed(labels)}"
    text += f"; each ratio is over the benchmarks measured on both sides{hint}"
    return Note("unmatched", text, {"labels": [str(label) for label in labels], "dim": across})


def count_empty(empty: xr.DataArray, reason: str) -> Note | None:
    """Count the cells that have nothing to go by."""
    return count_note("no_value", f"{{cells}} have {reason}; their answers are NaN", empty)


@check("suite_benchmarks")
def without_benchmarks(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Count the cells in which no benchmark was measured on both sides."""
    return (count_empty(result["suite_benchmarks"] == 0, "no benchmark measured on both sides"),)
