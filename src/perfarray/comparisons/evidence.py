"""The evidence on one metric: two systems are resolved, an engine gives evidence, and attrs and notes describe it."""

from collections.abc import Hashable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr

from perfarray.comparisons.engines import CompareOptions, Engine, along_suite, choose_engine
from perfarray.comparisons.medians import MEDIAN, STOPPED, check_runs
from perfarray.comparisons.noise import ADJUSTED, NOISE_OUTPUTS
from perfarray.comparisons.rounds import rounds_note
from perfarray.comparisons.sessions import Sessions, cells_of_one, noise_between, single_session
from perfarray.comparisons.spread import spread_note
from perfarray.comparisons.thresholds import SUITE_THRESHOLD, THRESHOLD, thresholds_of
from perfarray.comparisons.turns import sequence_note
from perfarray.conventions import BINARY, COPIED, SESSION, SUITE
from perfarray.numerics.dependence import dependence_pvalue
from perfarray.numerics.levels import summarise_units, unit_means
from perfarray.numerics.rank_sums import RANK
from perfarray.numerics.skewness import noisier_side
from perfarray.numerics.suite import movement
from perfarray.numerics.types import Floats, Mask
from perfarray.numerics.verdicts import Evidence, Known, Rules, Suite, Tests
from perfarray.timings import copies
from perfarray.timings.across import UNMATCHED, check_across
from perfarray.timings.apply import Labels, Output, apply, apply_to_variables, is_chunked
from perfarray.timings.censored import ONLY_WORSE
from perfarray.timings.dependence import ORDER_OUTPUTS
from perfarray.timings.movement import MOVES
from perfarray.timings.notes import Note, first_of_each_code
from perfarray.timings.pairs import Pair, resolve_pair
from perfarray.timings.resolve import Data, Timings
from perfarray.timings.suite_labels import SUITES, several_suites
from perfarray.timings.units import ONE_PROCESS

UNITS_DIM = "_unit"  # a dim that no result has

# The units of each side, of which `n` is the smaller number.
UNITS_OF_SIDES = {
    f"n_{side}": Output((), "1", long_name=f"independent units of the {side}")
    for side in ("candidate", "baseline")
}

# Notes on methods whose suite row is made in another way.
SUITE_ROWS = {
    ADJUSTED: "the suite row is not adjusted for skewness, which averages out over benchmarks: its "
    "limits are those of t on the log "
    "ratios; method='studentized' draws them",
    RANK: "the suite row does not rest on ranks: it is the geometric mean of the ratios of "
    "medians, with their standard errors, as with "
    "method='order_statistics'",
}


class Measured(NamedTuple):
    """The evidence on one metric along the dim of the suite, with its labels, the engine that gave it, and its description.

    `checks` are the variables that are part of the result as they are; `coords` the labels of the
    data.
    """

    pair: Pair
    rules: Rules
    engine: Engine
    evidence: dict[Hashable, xr.Variable]
    labels: Labels
    checks: tuple[str, ...]
    attrs: dict[str, Hashable]
    notes: list[Note | None]
    coords: xr.Coordinates


def measure(times: Data, baseline: object, options: CompareOptions) -> Measured:
    """Resolve two systems, and gather and describe the evidence on their ratios."""
    if options.between is not None:
        times = single_session(times, options.between, options.levels)
        if isinstance(baseline, xr.DataArray | xr.Dataset):
            baseline = single_session(baseline, options.between, options.levels)
            missing = [
                {*other.dims} & {BINARY, SESSION} - {*side.dims}
                for side, other in ((times, baseline), (baseline, times))
            ]
            times, baseline = (
                times.expand_dims(list(missing[0])),
                baseline.expand_dims(list(missing[1])),
            )
    resolve = partial(
        resolve_pair,
        times,
        baseline,
        dim=options.dim,
        metric=options.metric,
        levels=options.levels,
        paired=options.paired,
        shared=options.shared,
        positive=options.positive,
        censored=options.censored,
    )
    pair = resolve()
    check_across(options.across, pair.candidate.array, pair.candidate.levels, pair.dim)
    depth = 0
    if options.medians:
        depth, pair = check_runs(pair, options.value, options.rules.method, options.paired)
    rules = options.rules._replace(
        better=pair.candidate.better, paired=options.paired is not None, shared=pair.jointly
    )
    sessions = None
    if options.between is not None:
        sessions = noise_between(
            options.between, pair, options.metric, options.across, learn=rules.prior is not None
        )
        rules = rules._replace(between=True)
        if (
            sessions.level == pair.candidate.levels[0]
        ):  # some cells have several sessions, and need no others
            lacking, added = cells_of_one(resolve(unit=sessions.level), sessions.level)
            sessions = sessions._replace(
                lacking=tuple(along_suite(options.across, *lacking)), notes=(*sessions.notes, added)
            )
        pair = pair._replace(
            notes=(
                *(note for note in pair.notes if note.code not in ("one_session", ONE_PROCESS)),
                *sessions.notes,
            )
        )
    whole = resolve(with_copies=True) if copies.has_copies(pair) else pair
    options = options if whole is pair and options.thresholds is None else options.seeded()
    rules, engine, evidence, labels, checks = _gather_by_band(pair, options, rules, depth, sessions)
    estimate = evidence["_estimate"]
    if whole is not pair:
        estimate, counted = _count_copies(whole, evidence, options, rules, depth, sessions)
        evidence |= counted
        pair_notes = (
            *(note for note in pair.notes if note.code != COPIED),
            copies.copies_note(whole),
        )
        whole = whole._replace(attrs=pair.attrs, notes=tuple(note for note in pair_notes if note))
    attrs, notes = _describe(whole, options, rules, evidence | {"_estimate": estimate})
    notes += (
        [sequence_note(times, baseline, pair), rounds_note(pair)] if options.paired is None else []
    )
    notes.append(spread_note(pair))
    notes = list[Note | None](first_of_each_code([note for note in notes if note]))
    return Measured(
        pair=pair,
        rules=rules,
        engine=engine,
        evidence=evidence,
        labels=labels,
        checks=checks,
        attrs=attrs | engine.attrs,
        notes=notes,
        coords=pair.candidate.array.coords,
    )


def _gather(
    pair: Pair, options: CompareOptions, rules: Rules, engine: Engine
) -> tuple[dict[Hashable, xr.Variable], Labels, tuple[str, ...]]:
    """Return evidence, its labels, and the names of the checks beside it: of noise, of order, and whether benchmarks move together."""
    across, levels = options.across, pair.candidate.levels
    sides, bounds = (
        along_suite(across, *each)
        for each in (
            (pair.candidate.array, pair.baseline.array),
            pair.bounds if pair.bounded else (),
        )
    )
    if any(is_chunked(side) for side in (*sides, *bounds)):
        if engine.of_units:
            sides, levels = [_lazy_means(side, levels) for side in sides], (UNITS_DIM,)
        sides, bounds = ([side.chunk({across: -1}) for side in each] for each in (sides, bounds))
    same = () if pair.baselines is None else (pair.itself,)
    noisy = not (rules.paired or pair.bounded or options.medians)
    row_checks = (NOISE_OUTPUTS if noisy else {}) | ORDER_OUTPUTS | UNITS_OF_SIDES
    outputs = MOVES | {name: output._replace(dims=(across,)) for name, output in row_checks.items()}

    def kernel(new: Floats, old: Floats, *arrays: Any) -> list[npt.NDArray[Any]]:
        # Sums over other layouts are rounded otherwise.
        means = [np.ascontiguousarray(unit_means(side, len(levels))) for side in (new, old)]
        summaries = [] if rules.paired else [summarise_units(side) for side in means]
        noise = noisier_side(*means, summaries=summaries) if noisy else ()
        checks = [
            *movement(*means, paired=rules.paired, summaries=summaries),
            *noise,
            dependence_pvalue(*means, paired=rules.paired),
        ]
        checks += np.broadcast_arrays(
            *((~np.isnan(side)).sum(axis=-1).astype(float) for side in means)
        )
        sides, keywords = (means, {"summaries": summaries}) if engine.of_units else ([new, old], {})
        numbers = [
            *engine.evidence(*sides, *arrays[: len(arrays) - len(same)], **keywords),
            *checks,
        ]
        return (
            list(map(partial(_without_itself, arrays[-1]), numbers, returned.values()))
            if same
            else numbers
        )

    rows = {
        f"_{name}": Output((across,), "", bool if name in Known._fields else float)
        for name in Evidence._fields
    }
    suite = {f"_suite_{name}": Output() for name in Suite._fields}
    material = {name: Output((across, *dims)) for name, dims in engine.material.items()}
    returned = rows | suite | material | {**engine.further} | outputs
    evidence, labels = apply_to_variables(
        kernel,
        *sides,
        *engine.inputs,
        *bounds,
        *same,
        core=[[across, *levels]] * 2 + [*engine.core] + [[across]] * len(bounds) + [[]] * len(same),
        outputs=returned,
        coords=engine.coords,
    )
    return evidence, labels, (*engine.further, *outputs)


def _without_itself(same: Mask, array: npt.NDArray[Any], output: Output) -> npt.NDArray[Any]:
    """Return evidence on all pairs of labels with NaN, or False, for a label with itself."""
    return np.where(
        same.reshape(*same.shape, *(1,) * len(output.dims)),
        False if output.dtype is bool else np.nan,
        array,
    )


def _gather_by_band(
    pair: Pair, options: CompareOptions, rules: Rules, depth: int, sessions: Sessions | None
) -> tuple[Rules, Engine, dict[Hashable, xr.Variable], Labels, tuple[str, ...]]:
    """Return the evidence, also where thresholds differ, on which the tests alone depend, with rules that have the suite's threshold."""
    if options.thresholds is None:
        engine = choose_engine(pair, options, rules, depth, sessions)
        return rules, engine, *_gather(pair, options, rules, engine)
    rows, suite = thresholds_of(options.thresholds, pair.candidate.array, options.across)
    evidence: dict[Hashable, xr.Variable] = {}
    for threshold in np.unique([*rows.values.ravel(), *suite.values.ravel()]).tolist():
        band = rules._replace(threshold=threshold)
        engine = choose_engine(pair, options, band, depth, sessions)
        gathered, labels, checks = _gather(pair, options, band, engine)
        evidence = evidence or gathered
        for name in Tests._fields:
            for field, mask in (
                (f"_{name}", rows == threshold),
                (f"_suite_{name}", suite == threshold),
            ):
                evidence[field] = gathered[field].where(mask, evidence[field])
    rules = rules._replace(threshold=float(suite.mean()))
    if pair.baselines:
        rows, suite = (each.where(~pair.itself.variable) for each in (rows, suite))
    return (
        rules,
        engine,
        evidence | {THRESHOLD: rows, SUITE_THRESHOLD: suite},
        labels,
        (*checks, THRESHOLD, SUITE_THRESHOLD),
    )


def _count_copies(
    pair: Pair,
    evidence: dict[Hashable, xr.Variable],
    options: CompareOptions,
    rules: Rules,
    depth: int,
    sessions: Sessions | None,
) -> tuple[xr.Variable, dict[Hashable, xr.Variable]]:
    """Return the ratio of every cell of a pair in which copies count, and what they change of the evidence: means and suite row.

    A copy of the other side adds a log ratio of 0 to the suite and nothing to its error, since both
    scores are one number.
    """
    same, across = copies.same_runs(pair), options.across
    if same is None:
        return evidence["_estimate"], {}
    constant, plain = (
        copies.without_variation(pair, same, options.statistic),
        rules._replace(prior=None),
    )
    gathered = _gather_by_band(constant, options, plain, depth, sessions)[2]
    # Where a suite has nothing but copies of the other side, nothing was measured twice: its ratio
    # is 1, without a test.
    tested = (gathered["_estimate"].notnull() & ~same.variable).any(across)
    tested_fields = (*(f"_suite_{field}" for field in Suite._fields), *MOVES)
    counted: dict[Hashable, xr.Variable] = {
        name: gathered[name].where(tested, evidence[name]) for name in tested_fields
    }
    for name in ("_suite_estimate", "_suite_benchmarks", "_candidate_mean", "_baseline_mean"):
        counted[name] = gathered[name]
    return gathered["_estimate"], counted


def _lazy_means(side: xr.DataArray, nest: tuple[str, ...]) -> xr.DataArray:
    """Average the lower levels of lazy timings chunk by chunk, so that not all benchmarks are in memory at once."""
    outputs, coords = {"_mean": Output((UNITS_DIM,))}, {UNITS_DIM: range(side.sizes[nest[0]])}
    means = apply(
        lambda values: (unit_means(values, len(nest)),),
        side,
        core=[nest],
        outputs=outputs,
        coords=coords,
    )
    return means["_mean"].chunk({UNITS_DIM: -1})


def _describe(
    pair: Pair, options: CompareOptions, rules: Rules, evidence: dict[Hashable, xr.Variable]
) -> tuple[dict[str, Hashable], list[Note | None]]:
    """Return the attrs of a comparison, and the notes that need no result."""
    estimate, baseline_mean = evidence["_estimate"], evidence["_baseline_mean"]
    across, array = options.across, pair.candidate.array
    attrs = {
        **pair.attrs,
        "result": "pairwise" if pair.baselines else "compare",
        "method": rules.method,
        "confidence_level": rules.confidence_level,
    }
    attrs |= {"statistic": MEDIAN} if options.medians else {}
    attrs |= {
        "threshold": rules.threshold,
        "band": rules.band,
        "correction": rules.correction or "none",
    }
    attrs |= {
        "benchmarks": f"shared: {' '.join(pair.shared)}"
        if pair.jointly
        else "independent (assumed)"
    }
    attrs |= {"paired": options.paired} if options.paired else {}
    attrs |= (
        {"equivalence_risk": rules.equivalence_risk} if rules.equivalence_risk is not None else {}
    )
    consequence = STOPPED if options.medians else ONLY_WORSE
    notes = [*pair.notes, *pair.unit_notes, pair.stopped_note(consequence)]
    lazy = is_chunked(estimate)
    if across in array.dims:
        estimate = estimate.where(~pair.itself.variable, 1.0) if pair.baselines else estimate
        if not lazy:
            without_ratio = np.isnan(estimate.values) & (
                baseline_mean.values != 0
            )  # a baseline of 0 was measured
            absent = without_ratio.any(
                axis=tuple(i for i, dim in enumerate(estimate.dims) if dim != across)
            )
            missing = array[across].values[absent] if absent.any() else ()
            unmatched = dict.fromkeys([*pair.unmatched, *map(str, missing)])
            attrs |= {UNMATCHED: ", ".join(unmatched)} if unmatched else {}
        # An attr and no note: a caller who compares benchmark by benchmark did not ask for the
        # suite row.
        several = (
            several_suites(array, estimate.copy(data=~np.isnan(estimate.data)), across)
            if SUITE in array.coords
            else None
        )
        attrs |= {SUITES: ", ".join(several.values["suites"])} if several else {}
    if rules.method in SUITE_ROWS and array.sizes.get(across, 1) > 1:
        notes.append(Note("suite_unadjusted", SUITE_ROWS[rules.method], {}, aside=True))
    if (options.paired or pair.jointly) and not lazy:
        sides = (pair.candidate,) if pair.baselines else (pair.candidate, pair.baseline)
        incomplete = sum(_incomplete_units(side, across) for side in sides)
        if incomplete:
            attrs["n_incomplete_units"] = incomplete
            how = "shared" if pair.jointly else "paired"
            text = (
                f"{incomplete} {how} units ({pair.candidate.levels[0]}) lack some benchmarks "
                "and are left out of the suite row"
            )
            notes.append(Note("incomplete_units", text, {"units": incomplete}))
    return attrs, notes


def _incomplete_units(side: Timings, across: str) -> int:
    """Count the units that lack some of the benchmarks that were measured at all."""
    if across not in side.array.dims:
        return 0
    values = side.array.variable.transpose(..., across, *side.levels).values
    measured = ~np.isnan(values).all(axis=tuple(range(1 - len(side.levels), 0)))
    benchmarks = measured.any(axis=-1, keepdims=True)
    present, complete = (measured & benchmarks).any(axis=-2), (measured | ~benchmarks).all(axis=-2)
    return int((present & ~complete).sum())
