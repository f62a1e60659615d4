"""Two suites side by side: the benchmarks of both sides count; attrs and notes on the others."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import xarray as xr

from perfarray.numerics.bootstrap import Draws
from perfarray.numerics.suite import (
    MEANS,
    SuiteSides,
    match_sides,
    movement,
    run_statistic,
    suite_units,
)
from perfarray.numerics.types import Floats, Mask
from perfarray.timings.across import UNMATCHED, check_across
from perfarray.timings.apply import Output, apply, is_chunked, outputs
from perfarray.timings.best import SUMMARIES, slow_end_note
from perfarray.timings.censored import ONLY_WORSE, Bounds, bound_interval
from perfarray.timings.chunks import evenly_chunked
from perfarray.timings.copies import copies_note, same_runs
from perfarray.timings.labels import label_values
from perfarray.timings.movement import MOVEMENT, MOVES
from perfarray.timings.notes import Note, check, count_note, with_notes
from perfarray.timings.pairs import Pair, resolve_pair
from perfarray.timings.resolve import Data, Timings
from perfarray.timings.streams import Rng, cell_keys, describe_key, key_of, order_of_labels
from perfarray.timings.suite_labels import measured_along, name_suites, suites_hint
from perfarray.timings.units import (
    describe_unit,
    one_sided_note,
    unit_depth,
)
from perfarray.timings.validation import check_choice, check_count, listed
from perfarray.timings.weights import Weighing, Weights, weigh
from perfarray.timings.zeros import Positive

Result = TypeVar("Result", xr.Dataset, xr.DataArray)
Names = str | Sequence[str] | None
Kernel = Callable[[SuiteSides, Any], tuple[np.ndarray, ...]]

ALTERNATIVES = ("two-sided", "less", "greater")
INDEPENDENT = (
    "independent (assumed)"  # what the attr `benchmarks` says where no level is known to be shared
)
REPLICATE = "replicate"  # the dim of redrawn scores, and of ratios of scores


class TwoSystems(NamedTuple):
    """The suites of two systems: the place of the units in the nest, and the weights."""

    pair: Pair
    across: str
    depth: int
    paired: str | None
    shared_named: bool  # whether the caller said which levels are shared
    weighing: Weighing

    @property
    def better(self) -> str:
        """`lower` for times, `higher` for throughput and scores."""
        return self.pair.candidate.better

    @property
    def shared(self) -> bool:
        """Whether a unit is the same for every benchmark."""
        return set(self.pair.candidate.levels[: self.depth + 1]) <= set(self.pair.shared)

    def weights(self, *, in_key_order: bool) -> Floats | None:
        """Return the weights in the order of `over_suites`; None if all count alike."""
        labels = along(self.pair.candidate, self.across)[self.across].values
        return self.weighing.shares_of(labels[order_of_labels(labels)] if in_key_order else labels)

    def movement_checks(self, joint: bool) -> tuple[str, ...]:
        """Return the check of units that move together, unless the caller said so."""
        return () if joint or self.shared_named else (MOVEMENT,)


def check_choices(
    mean: str, statistic: str, alternative: str, method: str, methods: tuple[str, ...]
) -> None:
    """Check what the comparisons of two suites choose."""
    check_choice(mean, "mean", MEANS)
    check_choice(statistic, "statistic", SUMMARIES)
    check_choice(alternative, "alternative", ALTERNATIVES)
    check_choice(method, "method", methods)


def draws_of(n_resamples: int, rng: Rng) -> Draws:
    """Return what the bootstrap of a ratio draws: the outermost units."""
    return Draws((True,), check_count(n_resamples, "n_resamples", 2), key_of(rng))


def describe_draws(draws: Draws | None) -> dict[str, Hashable]:
    """Return the attrs of what was drawn."""
    if draws is None:
        return {}
    return {"n_resamples": draws.n_resamples, "engine": "numpy"} | describe_key(draws.key)


def resolve_systems(
    times: Data,
    baseline: object,
    across: str,
    weights: Weights | None = None,
    *,
    unit: str | None,
    shared: str | tuple[str, ...] | None = None,
    paired: str | None = None,
    positive_of: str = "min",
    **choices: Any,
) -> TwoSystems:
    """Choose metric, nest, weights and units, and match both systems.

    Further choices are those of `resolve_pair`.
    """
    weighing = weigh(times, across, weights)
    pair = resolve_pair(
        weighing.select(times),
        weighing.select(baseline),
        paired=paired,
        shared=shared,
        unit=unit,
        positive=Positive("a ratio of suite scores", positive_of, unit or 0),
        **choices,
    )
    check_across(across, pair.candidate.array, pair.candidate.levels, pair.dim)
    depth = unit_depth(pair.candidate, unit)
    if paired is not None and depth:
        conflict = (
            f"paired={paired!r} matches the outermost units, and unit={unit!r} takes others as "
            "independent"
        )
        raise ValueError(f"{conflict}; give one of them")
    return TwoSystems(pair, across, depth, paired, shared is not None, weighing)


def over_suites(
    kernel: Kernel,
    systems: TwoSystems,
    variables: dict[str, Output],
    coords: dict[str, Any] | None = None,
    *,
    shared: bool = False,
    paired: bool = False,
    tested: bool = True,
    in_key_order: bool = False,
    statistic: str = "mean",
) -> xr.Dataset:
    """Give a formula the matched units of both systems, and label its answer.

    The result also counts the benchmarks, and with `tested` says whether the units of different
    benchmarks move together: NaN where they are treated jointly. Where random numbers are drawn,
    benchmarks come in an order that depends on their labels alone. A copy of the other side has its
    score, the `statistic` of its runs, in place of every run: both scores are one number, and their
    ratio does not vary.
    """
    across, levels, depth = systems.across, systems.pair.candidate.levels, systems.depth
    arrays = [along(side, across) for side in (systems.pair.candidate, systems.pair.baseline)]
    labels = label_values(arrays[0], across)
    order = order_of_labels(labels) if in_key_order else np.arange(len(labels))
    original_order = np.argsort(order)
    variables = variables | outputs(
        suite_benchmarks="benchmarks measured on both sides", _incomplete=""
    )
    variables |= {"_matched": Output((across,), "", bool)} | (MOVES if tested else {})
    by_label = [across in output.dims for output in variables.values()]
    tied = same_runs(systems.pair)
    copies = (
        [] if tied is None else [tied if across in tied.dims else tied.expand_dims({across: 1})]
    )
    copies = [mask.chunk({across: -1}) if is_chunked(mask) else mask for mask in copies]

    def unfolded(new: Floats, old: Floats, cells: Any, *copies: Mask) -> tuple[np.ndarray, ...]:
        units = [
            suite_units(side, cells.shape, len(levels), depth)[:, order] for side in (new, old)
        ]
        for mask in copies:
            constant = np.broadcast_to(mask, (*cells.shape, len(labels))).reshape(-1, len(labels))[
                :, order, None
            ]
            units = [
                np.where(
                    constant & ~np.isnan(side), run_statistic(side, statistic)[..., None], side
                )
                for side in units
            ]
        sides = match_sides(*units, shared=shared, paired=paired)
        counts = (
            sides.matched.sum(axis=-1).astype(float),
            sides.incomplete.astype(float),
            sides.matched,
        )
        joint = (
            (np.full(cells.size, np.nan),) * 2
            if shared or not tested
            else movement(sides.new, sides.old, paired=paired)
        )
        answers = *kernel(sides, cells.ravel()), *counts, *(joint if tested else ())
        answers = tuple(answer.reshape((*cells.shape, *answer.shape[1:])) for answer in answers)
        return tuple(
            answer[..., original_order] if labelled else answer
            for answer, labelled in zip(answers, by_label, strict=True)
        )

    core = [[across, *levels], [across, *levels], [], *([across] for _ in copies)]
    names = (coords or {}) | {across: labels.tolist()}
    return apply(
        unfolded,
        *arrays,
        cell_keys(arrays, levels, across),
        *copies,
        core=core,
        outputs=variables,
        coords=names,
    )


def bounded_result(result: xr.Dataset, systems: TwoSystems, alternative: str) -> xr.Dataset:
    """Open the limits, and set p-values to NaN, towards what stopped runs leave unknown."""
    if not systems.pair.bounded:
        return result
    bounds = matched_bounds(result, systems).over(systems.across)
    return bound_interval(result, bounds, lowest=0.0, null=1.0, alternative=alternative)


def matched_bounds(result: xr.Dataset, systems: TwoSystems) -> Bounds:
    """Return what stopped runs leave unknown of the benchmarks that count."""
    bounds = systems.pair.bounds
    counts = result["_matched"].reset_coords(drop=True) | (bounds.at_least & bounds.at_most)
    return Bounds(*(side & counts for side in bounds))


def describe_two(
    answers: xr.Dataset,
    systems: TwoSystems,
    attrs: dict[str, Hashable],
    *notes: Note | None,
    checks: tuple[str, ...] = (),
) -> xr.Dataset:
    """Write the attrs of a comparison, and its notes.

    Of a lazy result, those that need no computing.
    """
    pair, across, paired, matched = (
        systems.pair,
        systems.across,
        systems.paired,
        answers["_matched"],
    )
    result = answers.drop_vars(["_matched", "_incomplete"])
    if not any(across in variable.dims for variable in result.data_vars.values()):
        result = result.drop_vars(across, errors="ignore")
    unit, array = describe_unit(pair.candidate, systems.depth)["unit"], pair.candidate.array
    jointly = (
        f"shared: {' '.join(pair.shared)}"
        if systems.shared
        else f"paired: {paired}"
        if paired
        else INDEPENDENT
    )
    attrs = (
        {**pair.attrs, "unit": unit, "across": across, "benchmarks": jointly}
        | systems.weighing.attrs
        | attrs
    )
    attrs |= {"paired": paired} if paired else {}
    missing, n_left_out = _lacking_labels(answers, systems)
    attrs |= {"n_incomplete_units": n_left_out} if n_left_out else {}
    result = result.assign_attrs(attrs | unmatched_attr((*pair.unmatched, *map(str, missing))))
    suites = name_suites(result, array, matched, across, by=True)
    remarks: list[Note | None] = [
        *pair.notes,
        copies_note(pair),
        slow_end_note([attrs.get("statistic")], systems.better),
        *pair.unit_notes,
        pair.stopped_note(ONLY_WORSE),
        suites,
    ]
    if missing:
        hint = suites_hint(array, across) if suites is None else ""
        text = (
            f"{len(missing)} of {matched.sizes[across]} along {across!r} are missing in some "
            f"cells: {listed(missing)}. Each ratio is over the benchmarks measured on both "
            f"sides{hint}"
        )
        remarks.append(Note("unmatched", text, {"labels": list(map(str, missing)), "dim": across}))
    if n_left_out:
        text = f"{n_left_out} shared units ({unit}) lack some benchmarks and are left out."
        remarks.append(Note("incomplete_units", text, {"units": n_left_out}))
    if "suite_benchmarks" in result and not is_chunked(array):
        remarks.append(_one_sided_note(result["suite_benchmarks"], pair, across))
    return with_notes(result, *remarks, *notes, *systems.weighing.notes, checks=checks)


def _lacking_labels(answers: xr.Dataset, systems: TwoSystems) -> tuple[list[Hashable], int]:
    """Return the labels that some pair lacks, and the number of shared units that lack some.

    Pairs without any data lack no benchmark: they are counted by a check.
    """
    matched, across = answers["_matched"], systems.across
    if is_chunked(matched):
        return [], 0
    axis = matched.get_axis_num(across)
    pairs = np.moveaxis(matched.values, axis, -1).reshape(-1, matched.sizes[across])
    sides = (systems.pair.candidate.array, systems.pair.baseline.array)
    either = measured_along(sides[0], across) | measured_along(sides[1], across)
    incomplete = ~pairs[pairs.any(axis=1)].all(axis=0) & either
    return matched[across].values[incomplete].tolist(), int(answers["_incomplete"].sum())


def measured_on_a_side(pair: Pair, across: str) -> xr.Variable:
    """Return in which cells any benchmark of either side was measured."""
    inner = {*pair.candidate.levels, across}
    sides = [side.array.variable for side in (pair.candidate, pair.baseline)]
    new, old = (side.notnull().any([dim for dim in side.dims if dim in inner]) for side in sides)
    either: xr.Variable = new | old
    return either


def _one_sided_note(benchmarks: xr.DataArray, pair: Pair, across: str) -> Note | None:
    """Return the note on the cells without a benchmark that was measured on both sides."""
    measured = measured_on_a_side(pair, across).set_dims(dict(benchmarks.sizes))
    without = (benchmarks.variable == 0) & measured
    if not without.any() or not (benchmarks > 0).any():
        return None
    numbers = int(without.sum()), int(measured.sum())
    return one_sided_note(*numbers, missing="benchmark measured on both sides")


def along(side: Timings, across: str) -> xr.DataArray:
    """Return the timings with the dim of the suite in one chunk; a single benchmark gets one."""
    check_across(across, side.array, side.levels)
    array = side.array if across in side.array.dims else side.array.expand_dims({across: 1})
    return evenly_chunked(array, {across: array.sizes[across]})


def unmatched_attr(labels: tuple[str, ...]) -> dict[str, Hashable]:
    """Return the attr that names, for people, the benchmarks that do not count everywhere."""
    return {UNMATCHED: ", ".join(dict.fromkeys(labels))} if labels else {}


def count_empty(empty: xr.DataArray, reason: str) -> Note | None:
    """Count the cells without an answer, if all are so: a cell that nobody measured is no cell."""
    if not empty.all():
        return None
    return count_note("no_value", f"{{cells}} have {reason}. Their answers are NaN.", empty)


@check("suite_benchmarks")
def without_benchmarks(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Count the cells in which no benchmark was measured on both sides."""
    return (count_empty(result["suite_benchmarks"] == 0, "no benchmark measured on both sides"),)
