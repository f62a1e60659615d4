"""The Speedup-Test of Touati, Worms and Briais (2010), section 4: significant speedups."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np
import xarray as xr

from perfarray.conventions import LOWER
from perfarray.numerics.levels import one_value_per_unit
from perfarray.numerics.suite import run_statistic
from perfarray.numerics.types import Floats, Integers, Mask
from perfarray.numerics.verdicts import adjust
from perfarray.speedups.numerics import tests
from perfarray.speedups.numerics.protocols import NO_ANSWER, STEPS, WARNINGS, describe
from perfarray.speedups.observed import along_cells
from perfarray.timings.apply import Output, apply, is_chunked, outputs
from perfarray.timings.metrics import for_each_metric
from perfarray.timings.notes import Note, check, with_notes
from perfarray.timings.pairs import FAR, Pair, resolve_pair, without_zeros_of_both, worst_case
from perfarray.timings.resolve import Data
from perfarray.timings.units import single_unit_note, unit_depth
from perfarray.timings.validation import check_choice, check_confidence_level, listed
from perfarray.timings.zeros import Positive

TESTED = ("mean", "median")
SEARCHES = ("exhaustive", "tool")
CORRECTIONS = (None, "holm", "bh")
TIES = ("limit", "exact")
LEVEL: Final = "confidence_level"  # the coordinate with the level of each benchmark
USUAL_LEVEL: Final = (
    0.95  # for `required` where no level was given, since any speedup is significant at some level
)

SURELY: Final = (
    "A speedup is significant only if it is so whatever they would have taken. The mean of a "
    "candidate with stopped runs cannot conclude. Ranks take its stopped runs as the slowest"
)
STOPPED: Final = "Runs were stopped, and what they would have taken decides: no conclusion."


@for_each_metric
def speedup_test(
    times: Data,
    baseline: object,
    *,
    dim: str | None = None,
    statistic: str = "mean",
    confidence_level: float | xr.DataArray | None = None,
    search: str = SEARCHES[0],
    ties: str = TIES[0],
    correction: str | None = None,
    levels: str | tuple[str, ...] | None = None,
    unit: str | None = None,
    censored: str = "bound",
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Test whether each candidate is faster than the baseline, by the Speedup-Test's protocols.

    Mean: Shapiro and Wilk's test of each sample, an F test, then Student's t or Welch's. Median:
    Kolmogorov and Smirnov's test, then Mann and Whitney's. The last test is one-sided. A small
    sample (30 or fewer) that fails a condition has no conclusion.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings; dims that are not levels broadcast. A coordinate `confidence_level` overrides the
        argument.
    baseline, dim, levels, unit, metric
        As for `speedup`; repetitions of `unit` count as independent.
    statistic : {"mean", "median"}
        Which speedup is tested.
    confidence_level : float or DataArray, optional
        Of every test, or one for each cell. None, or NaN in an array, searches for the highest
        level from 50 to 99 % with a significant speedup.
    search : {"exhaustive", "tool"}
        Find that level, or bisect like the original tool, which misses some.
    ties : {"limit", "exact"}
        Kolmogorov and Smirnov's p-value for equal values: of the limit law, as in the tool, or
        exact.
    correction : {None, "holm", "bh"}
        Over all cells at given levels: Holm bounds the chance of any false speedup, "bh" the share
        of false ones.
    censored : {"bound", "drop"}
        "bound": a speedup is significant only if it is so whatever stopped runs would have taken.
        "drop" leaves them out.

    Returns
    -------
    Dataset
        For every cell `speedup`; `significant` (bool); `confidence_level` (given or found);
        `pvalue` and `test` of the last step ("Student t", "Welch t", "Mann-Whitney" or "cannot
        conclude"); `pvalue_adjusted` with a correction; `warnings` of the original tool, whose
        Sample1 is the baseline; `prob_faster` = P[X > Y] (of medians); `n_baseline`, `n_candidate`,
        `n`; `searched` (bool); `judged_level` of the steps; `protocol` as text; along `step`,
        `step_pvalue` and `step_outcome`. `required`, where a speedup is not significant: the runs a
        side with which one of this size would be in 80 % of experiments.

    Raises
    ------
    ValueError
        Unknown names; levels outside 0 to 1; a correction without a level.

    Notes
    -----
    A level that was searched for is no confidence, since the data chose it. `unit="iteration"`
    raises false alarms where executions differ. `required_units` plans for a change that matters.
    See :doc:`/how-to/speedup_test`.

    References
    ----------
    S. Touati, J. Worms, S. Briais, "The Speedup Test", 2010, sections 4.1 and 4.2 (figures 1 and
    2), 6.2.2. G. E. Noether, "Sample size determination for some common nonparametric tests", 1987.

    Examples
    --------
    Example 1 of the paper: t = 2.8238, p = 0.01118.

    >>> import perfarray
    >>> old, new = [2.799, 2.046, 1.259, 1.877, 2.244], [1.046, 0.259, 0.877, 1.244, 1.799]
    >>> times = perfarray.from_samples({"old": old, "new": new})
    >>> result = times.perf.speedup_test("old", confidence_level=0.95).squeeze()
    >>> result["significant"].item(), result["test"].item(), round(result["pvalue"].item(), 5)
    (True, 'Student t', 0.01118)
    """
    pair = resolve_pair(
        times, baseline, dim=dim, metric=metric, levels=levels, unit=unit, censored=censored
    )
    check_correction(correction, confidence_level, pair.candidate.array)
    pair = without_zeros_of_both(
        pair, Positive("a speedup", statistic, unit_depth(pair.candidate, unit))
    )
    # Ranks can take the candidate's stopped runs at their worst; a mean of those is not a number.
    sides = worst_case(pair) if statistic == "median" else pair
    result = tested(sides, unit, statistic, confidence_level, search, ties=ties).drop_dims(
        "warning"
    )
    result = _without_claims(result, pair, statistic) if pair.bounded else result
    result = result if correction is None else corrected(result, correction)
    result = _with_required(result, sides, unit, statistic)
    return with_notes(
        result, *pair.notes, pair.stopped_note(SURELY), checks=("one_side", "single_units")
    )


def check_correction(correction: str | None, confidence_level: object, times: xr.DataArray) -> None:
    """Raise where a correction is not known, or corrected p-values would lack a level."""
    check_choice(correction, "correction", CORRECTIONS)
    if correction is None or confidence_level is not None:
        return
    cell_levels = times.coords.get(LEVEL)
    if cell_levels is None or not (is_chunked(cell_levels) or cell_levels.notnull().any()):
        raise ValueError(
            f"correction={correction!r} adjusts p-values at a level, and levels are searched "
            "for; give confidence_level=0.95"
        )


def tested(
    pair: Pair,
    unit: str | None,
    statistic: str,
    confidence_level: float | xr.DataArray | None,
    search: str,
    *,
    ties: str,
) -> xr.Dataset:
    """Return what `speedup_test` returns, and `warned`.

    That says along `warning` which of the original tool's sentences apply.
    """
    check_choice(statistic, "statistic", TESTED)
    check_choice(search, "search", SEARCHES)
    check_choice(ties, "ties", TIES)
    depth, nest = unit_depth(pair.candidate, unit), pair.candidate.levels
    arrays = (pair.candidate.array, pair.baseline.array, _level_of_cells(pair, confidence_level))
    variables = _outputs(statistic)

    def kernel(new: Floats, old: Floats, level: Floats) -> list[Any]:
        sign = 1.0 if pair.candidate.better == LOWER else -1.0
        x, y = (sign * one_value_per_unit(side, len(nest), depth) for side in (old, new))
        answers = _test(x, y, level, statistic, search, ties=ties, times=sign > 0)
        return [answers[name] for name in variables]

    return apply(
        kernel,
        *(
            array.drop_vars(LEVEL, errors="ignore") for array in arrays
        ),  # it is a variable of the result
        core=[nest, nest, ()],
        outputs=variables,
        coords={"step": list(STEPS[statistic]), "warning": list(WARNINGS[statistic])},
        attrs={**pair.attrs}
        | {
            "result": "speedup_test",
            "method": "speedup-test",
            "statistic": statistic,
            "unit": nest[depth],
            "search": search,
            "ties": ties,
        },
    )


def _test(
    x: Floats, y: Floats, level: Floats, statistic: str, search: str, *, ties: str, times: bool
) -> dict[str, Any]:
    """Test whether x, of the baseline, is larger than y; rates come with a negative sign."""
    steps: tests.MeanSteps | tests.MedianSteps
    verdict_at: Callable[[Floats], Integers]
    turns: tuple[Floats, ...]
    if statistic == "mean":
        steps = tests.mean_steps(x, y)
        verdict_at, turns = (
            partial(tests.mean_verdict, steps),
            (steps.student, steps.welch, steps.equal_variances),
        )
    else:
        steps = tests.median_steps(
            x, y, exact_ties=ties == "exact", as_tool=(search, ties) == ("tool", "limit")
        )
        verdict_at, turns = partial(tests.median_verdict, steps), (steps.mann_whitney,)
    slow, fast = (run_statistic(side, statistic) for side in ((x, y) if times else (y, x)))
    with np.errstate(divide="ignore", invalid="ignore"):
        speedup = np.asarray(slow / fast)
    risk = np.broadcast_to(
        np.round(1 - level, 12), steps.n.shape
    )  # 1 - 0.9 is below 0.1, which few runs may reach
    conclusion = tests.conclude(verdict_at, risk, None if search == "tool" else turns)
    level_found = np.where(np.isnan(level), np.round(1 - conclusion.risk, 10), level)
    return describe(steps, conclusion, speedup < 1) | {
        "speedup": speedup,
        "significant": conclusion.verdict == tests.YES,
        "confidence_level": np.where((steps.n > 0) & (steps.m > 0), level_found, np.nan),
        "prob_faster": getattr(steps, "prob_greater", None),
        "n_baseline": steps.n,
        "n_candidate": steps.m,
        "n": np.minimum(steps.n, steps.m),
        "searched": np.isnan(risk),
        "judged_level": np.round(1 - conclusion.described_risk, 10),
    }


def _outputs(statistic: str) -> dict[str, Output]:
    """Return the variables of the test."""
    probability = outputs(prob_faster="pairs of runs in which the candidate's is the faster one")
    return {
        **outputs(speedup=f"speedup of the {statistic}"),
        "significant": Output((), "", bool),
        **outputs(confidence_level="", pvalue=""),
        "test": Output((), "", object),
        "warnings": Output((), "", object),
        **(probability if statistic == "median" else {}),
        **outputs(n_baseline="", n_candidate="", n="independent units on the smaller side"),
        "searched": Output((), "", bool),
        **outputs(judged_level="level at which the steps were judged"),
        "protocol": Output((), "", object),
        **outputs("1", ("step",), step_pvalue=""),
        "step_outcome": Output(("step",), "", object),
        "warned": Output(("warning",), "", bool),
    }


def _level_of_cells(pair: Pair, confidence_level: float | xr.DataArray | None) -> xr.DataArray:
    """Return the level of every cell, NaN where it is searched for: its own, else the call's."""
    array = pair.candidate.array
    call = (
        np.nan
        if confidence_level is None or isinstance(confidence_level, xr.DataArray)
        else check_confidence_level(confidence_level)
    )
    cell_levels = (
        confidence_level if isinstance(confidence_level, xr.DataArray) else array.coords.get(LEVEL)
    )
    if cell_levels is None:
        return xr.DataArray(call)
    cell_levels = along_cells(cell_levels, array, pair.candidate.levels, "confidence_level").astype(
        float
    )
    wrong = cell_levels.values[
        ~np.isnan(cell_levels.values) & ~((cell_levels.values > 0) & (cell_levels.values < 1))
    ]
    if wrong.size:
        raise ValueError(
            f"confidence_level holds {listed(wrong, 3)}; give numbers between 0 and 1, or NaN "
            "to search for a level"
        )
    return cell_levels.where(cell_levels.notnull(), call)


def corrected(result: xr.Dataset, correction: str) -> xr.Dataset:
    """Decide by adjusted p-values what is significant.

    A cell whose level was searched for is no member of the family.
    """
    dims = tuple(str(dim) for dim in result["pvalue"].dims)

    def kernel(
        pvalue: Floats, significant: Mask, level: Floats, searched: Mask
    ) -> tuple[np.ndarray, ...]:
        adjusted = adjust(np.where(searched, np.nan, pvalue).reshape(-1), correction).reshape(
            pvalue.shape
        )
        return adjusted, significant & (searched | (adjusted <= np.round(1 - level, 12)))

    names = ("pvalue", "significant", "confidence_level", "searched")
    inputs = [
        result[name].chunk(-1) if is_chunked(result[name]) else result[name] for name in names
    ]
    adjusted = Output(dims, "1", long_name=f"p-value, adjusted for many tests ({correction})")
    answers = apply(
        kernel,
        *inputs,
        core=[dims] * len(names),
        outputs={"pvalue_adjusted": adjusted, "significant": Output(dims, "", bool)},
    )
    changed = {str(name): variable.variable for name, variable in answers.data_vars.items()}
    return result.assign(changed).assign_attrs(correction=correction)


def _without_claims(result: xr.Dataset, pair: Pair, statistic: str) -> xr.Dataset:
    """Conclude nothing where stopped runs would decide.

    They are those of the candidate, and those without a limit.
    """
    candidate, baseline = pair.candidate.bounds, pair.baseline.bounds
    undecidable = (candidate.at_least & candidate.at_most) | (baseline.at_least & baseline.at_most)
    undecided = (
        candidate.at_least | candidate.at_most
        if statistic == "mean"
        else result["speedup"] < 1 / FAR
    )
    undecidable = (undecidable | undecided) & (result["n"] > 0)
    blanks: dict[str, Any] = {
        "significant": False,
        "pvalue": np.nan,
        "test": NO_ANSWER,
        "protocol": STOPPED,
        "speedup": np.nan,
    }
    changed = {name: result[name].where(~undecidable, blank) for name, blank in blanks.items()}
    changed["confidence_level"] = result["confidence_level"].where(
        ~(undecidable & result["searched"])
    )
    for name, variable in changed.items():
        old = result[name]
        result = result.assign(
            {name: variable.transpose(*old.dims).astype(old.dtype).assign_attrs(old.attrs)}
        )
    return result


def _with_required(result: xr.Dataset, pair: Pair, unit: str | None, statistic: str) -> xr.Dataset:
    """Add the runs a side with which the last test would see the observed speedup.

    NaN where the speedup is significant, where there is none, and where one run shows no spread. A
    small sample whose conditions fail is tested from `LARGE` runs on.
    """
    nest, sign = pair.candidate.levels, 1.0 if pair.candidate.better == LOWER else -1.0
    depth = unit_depth(pair.candidate, unit)
    undecided = result["speedup"].where(
        (result["speedup"] > 1) & ~result["significant"] & (result["n"] > 1)
    )

    def kernel(
        new: Floats,
        old: Floats,
        speedup: Floats,
        level: Floats,
        failed: Floats,
        *prob_faster: Floats,
    ) -> tuple[Floats]:
        runs, cells = np.full(speedup.shape, np.nan), ~np.isnan(speedup)
        risk = 1 - np.where(np.isnan(level), USUAL_LEVEL, level)[cells]
        if statistic == "mean":
            sides = [sign * one_value_per_unit(side, len(nest), depth) for side in (old, new)]
            x, y = (np.broadcast_to(side, (*cells.shape, side.shape[-1]))[cells] for side in sides)
            needed = tests.runs_for_t(x, y, risk)
        else:
            needed = tests.runs_for_ranks(prob_faster[0][cells], risk)
        runs[cells] = np.where(failed[cells] > 0, np.maximum(needed, tests.LARGE), needed)
        return (runs,)

    inputs = [undecided, result["confidence_level"], (result["test"] == NO_ANSWER).astype(float)]
    inputs += [result["prob_faster"]] if statistic == "median" else []
    answer = apply(
        kernel,
        pair.candidate.array,
        pair.baseline.array,
        *inputs,
        core=[nest, nest, *[()] * len(inputs)],
        outputs=outputs(
            required="runs a side that would make it significant in 80 % of experiments"
        ),
    )
    return result.assign(required=answer["required"].variable)


@check("single_units")
def single_unit_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Count the cells that rest on one unit."""
    return (single_unit_note(result, "it shows no spread"),)
