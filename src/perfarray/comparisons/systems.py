"""The two systems of a comparison: their rules and method, and what describes them."""

from collections.abc import Hashable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from perfarray.comparisons.controls import which_are_controls, with_controls
from perfarray.comparisons.medians import STOPPED, check_runs
from perfarray.comparisons.methods import Method, Options, choose_method
from perfarray.comparisons.noise import ADJUSTED
from perfarray.comparisons.sessions import cells_of_one, noise_between, single_session
from perfarray.conventions import BINARY, COPIED, SESSION, SUITE
from perfarray.numerics.intervals import FIELLER
from perfarray.numerics.rank_sums import RANK
from perfarray.numerics.verdicts import Rules
from perfarray.timings import copies
from perfarray.timings.across import UNMATCHED, check_across
from perfarray.timings.apply import is_chunked
from perfarray.timings.censored import ONLY_WORSE
from perfarray.timings.notes import Note
from perfarray.timings.pairs import Pair, resolve_pair
from perfarray.timings.resolve import Data, Timings
from perfarray.timings.suite_labels import SUITES, several_suites
from perfarray.timings.units import ONE_PROCESS
from perfarray.timings.zeros import Positive

# Notes on methods whose suite row is made in another way
SUITE_ROWS = {
    ADJUSTED: "The suite row is not adjusted for skewness, which averages out over benchmarks. Its "
    "limits are those of t on the log ratios. method='studentized' draws them.",
    RANK: "The suite row does not rest on ranks. It is the geometric mean of the ratios of "
    "medians, with their standard errors, as with method='order_statistics'.",
}


class Systems(NamedTuple):
    """Both systems of one metric, their rules and their method.

    `whole` has copies that count, `scored` the same without variation, and `scoring` compares
    these. `same` says which cells have the same runs on both sides, `controls` which benchmarks the
    change cannot touch.
    """

    pair: Pair
    rules: Rules
    method: Method
    whole: Pair
    scored: Pair | None
    scoring: Method | None
    same: xr.DataArray | None
    controls: xr.DataArray | None = None


def resolve_systems(times: Data, baseline: object, options: Options, metric: Any) -> Systems:
    """Resolve both systems of a comparison, and choose its method."""
    if options.between is not None:
        times, baseline = _single_sessions(times, baseline, options)
    resolve = partial(
        resolve_pair,
        times,
        baseline,
        dim=options.dim,
        metric=metric,
        levels=options.levels,
        paired=options.paired,
        shared=options.shared,
        positive=_positive(options),
        censored=options.censored,
    )
    pair, depth = resolve(), 0
    check_across(options.across, pair.candidate.array, pair.candidate.levels, pair.dim)
    if options.medians:
        depth, pair = check_runs(pair, options.value, options.method, options.paired)
    rules = options.rules(pair.candidate.better, shared=pair.jointly)
    sessions = None
    if options.between is not None:
        sessions = noise_between(options.between, pair, metric, options.across, learn=rules.prior)
        # Where some cells have several sessions, these need no others.
        if sessions.level == pair.candidate.levels[0]:
            lacking, added = cells_of_one(resolve(unit=sessions.level), sessions.level)
            sessions = sessions._replace(lacking=tuple(lacking), notes=(*sessions.notes, added))
        told = [note for note in pair.notes if note.code not in ("one_session", ONE_PROCESS)]
        pair = pair._replace(notes=(*told, *sessions.notes))
    across = (options.across,)
    method = choose_method(pair, options, rules, depth, sessions, across)
    controls = None if options.controls is None else which_are_controls(pair, options)
    if controls is not None:
        method = with_controls(method, controls, pair, options.across)
    whole = resolve(with_copies=True) if copies.has_copies(pair) else pair
    same = None if whole is pair else copies.same_runs(whole)
    if same is None:
        return Systems(pair, rules, method, whole, None, None, None, controls=controls)
    scored = copies.without_variation(whole, same, options.statistic)
    plain = rules._replace(prior=False)
    scoring = choose_method(scored, options, plain, depth, sessions, across)
    if controls is not None:
        scoring = with_controls(scoring, controls, scored, options.across)
    return Systems(pair, rules, method, whole, scored, scoring, same, controls=controls)


def _single_sessions(times: Data, baseline: object, options: Options) -> tuple[Data, object]:
    """Return both sides, each of one session, of a comparison with `between=`."""
    times = single_session(times, options.between, options.levels)
    if not isinstance(baseline, xr.DataArray | xr.Dataset):
        return times, baseline
    baseline = single_session(baseline, options.between, options.levels)
    new_lacks, old_lacks = (
        [*({*other.dims} & {BINARY, SESSION} - {*side.dims})]
        for side, other in ((times, baseline), (baseline, times))
    )
    return times.expand_dims(new_lacks), baseline.expand_dims(old_lacks)


def _positive(options: Options) -> Positive:
    """Return which values of a cell must be above 0.

    Fieller's theorem takes zeros. Ratios that are drawn, and logs, do not.
    """
    if options.medians:
        return Positive("a ratio of medians", "")  # `check_runs` knows the runs
    if options.prior:
        return Positive(f"a comparison with prior={options.prior!r}")
    if options.method in FIELLER:
        return Positive("a comparison", "")
    needs = f"a comparison with method={options.method!r}"
    if options.drawn:
        return Positive(needs, level=0 if options.resample is None else -1)
    return Positive(needs, "mean")


def describe_systems(
    systems: Systems, result: xr.Dataset, options: Options
) -> tuple[dict[str, Hashable], list[Note | None]]:
    """Return the attrs of a comparison, and the notes that need no verdicts."""
    pair, whole, across = systems.pair, systems.whole, options.across
    attrs = {
        **pair.attrs,
        "result": "pairwise" if pair.baselines else "compare",
        **options.attrs,
        "threshold": systems.rules.threshold,
        "correction": options.correction or "none",
        "benchmarks": f"shared: {' '.join(pair.shared)}"
        if pair.jointly
        else "independent (assumed)",
    }
    notes: list[Note | None] = [*pair.notes]
    if whole is not pair:
        notes = [note for note in notes if note and note.code != COPIED]
        notes.append(copies.copies_note(whole))
    notes += [*whole.unit_notes, whole.stopped_note(STOPPED if options.medians else ONLY_WORSE)]
    if across in pair.candidate.array.dims:
        attrs |= _incomplete_suites(whole, result, options)
    if options.method in SUITE_ROWS and pair.candidate.array.sizes.get(across, 1) > 1:
        notes.append(Note("suite_unadjusted", SUITE_ROWS[options.method], {}, aside=True))
    if (options.paired or pair.jointly) and not is_chunked(result["estimate"]):
        sides = (whole.candidate,) if pair.baselines else (whole.candidate, whole.baseline)
        counts = [_incomplete_units(side, across) for side in sides]
        if incomplete := sum(counts):
            attrs["n_incomplete_units"] = incomplete
            of_sides = ""
            if len(counts) > 1 and all(counts):
                of_sides = f": {counts[1]} of the baseline, {counts[0]} of the candidate"
            text = (
                f"{incomplete} {'shared' if pair.jointly else 'paired'} units "
                f"({pair.candidate.levels[0]}{of_sides}) lack some benchmarks. "
                "The suite row leaves them out."
            )
            notes.append(Note("incomplete_units", text, {"units": incomplete}))
    return attrs | systems.method.attrs, notes


def _incomplete_suites(pair: Pair, result: xr.Dataset, options: Options) -> dict[str, Hashable]:
    """Return the attrs that name benchmarks without a ratio, and several suites in one row."""
    array, across = pair.candidate.array, options.across
    candidate, baseline = (
        result.variables[f"{side}_{options.statistic}"] for side in ("candidate", "baseline")
    )
    # A baseline of 0 was measured.
    lacks = (candidate.isnull() | baseline.isnull()) & (baseline != 0)
    unmatched = dict.fromkeys(pair.unmatched)
    if pair.baselines:
        lacks = lacks & ~pair.itself.variable
    if not is_chunked(lacks):
        missing = lacks.any([dim for dim in lacks.dims if dim != across])
        unmatched |= dict.fromkeys(map(str, array[across].values[missing.values]))
    attrs: dict[str, Hashable] = {UNMATCHED: ", ".join(unmatched)} if unmatched else {}
    # An attr and no note: a caller who compares benchmark by benchmark did not ask for the suite
    # row.
    if SUITE in array.coords:
        several = several_suites(array, ~lacks & (baseline != 0), across)
        attrs |= {SUITES: ", ".join(several.values["suites"])} if several else {}
    return attrs


def _incomplete_units(side: Timings, across: str) -> int:
    """Count the units that lack some of the benchmarks that were measured at all."""
    if across not in side.array.dims:
        return 0
    values = side.array.variable.transpose(..., across, *side.levels).values
    measured = ~np.isnan(values).all(axis=tuple(range(1 - len(side.levels), 0)))
    benchmarks = measured.any(axis=-1, keepdims=True)
    present, complete = (measured & benchmarks).any(axis=-2), (measured | ~benchmarks).all(axis=-2)
    return int((present & ~complete).sum())
