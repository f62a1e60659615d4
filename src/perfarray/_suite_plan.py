"""How many repetitions for a whole suite, when one build (or boot, or session) serves every benchmark."""

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from perfarray._apply import LEVEL, Output, apply, is_chunked
from perfarray._costs import BUDGET_FACTOR, FACTORS, PRICE, check_target, prices
from perfarray._results import RepetitionPlan
from perfarray._timings import Data, Timings, check_positive_values, over_metrics, resolve, resolve_pair, shared_levels
from perfarray._validation import check_choice, check_confidence_level, check_count, check_dim, check_number, warn
from perfarray.conventions import BENCHMARK, SECONDS
from perfarray.numerics.allocation import ROUNDING
from perfarray.numerics.levels import Floats, count_repetitions
from perfarray.numerics.suite_plan import half_width_by_budget, least_price, one_level_half_width, plan_stars
from perfarray.numerics.suite_star import Star, continuous, star_of


def plan_suite(
    times: Data,
    baseline: object = None,
    *,
    dim: str | None = None,
    costs: Any,
    levels: str | tuple[str, ...] | None = None,
    budget: float | None = None,
    half_width: float | None = None,
    across: str = BENCHMARK,
    shared: str = "binary",
    correlation: float | None = None,
    min_units: int = 5,
    confidence_level: float = 0.95,
    negative: str = "merge",
    metric: str | list[str] | None = None,
) -> RepetitionPlan:
    """Say how many builds to make, and how often to run each benchmark on every one of them, for the suite's geometric mean.

    One build serves all benchmarks: a benchmark that varies a lot between executions gets more of them, one that is dear gets fewer.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings of a pilot experiment. Dims that are neither levels nor `across` get plans of their own.
    baseline : label, DataArray or Dataset, optional
        With one, the plan is for the ratio of geometric means; each system gets its own counts, and both share the budget.
    dim : str, optional
        The dim compared; default: the one dim, not a level, that holds the baseline's label.
    costs : mapping of str to float, array or DataArray
        Seconds it takes to start one more repetition of a level: a build for `binary` (one number), start and warm-up for `execution`
        (a number, or one per benchmark). An iteration takes its mean time unless it is named.
    levels : str or tuple of str, optional
        The nest from the outside in; default: the repetition dims present.
    budget, half_width : float
        Exactly one: the seconds the experiment may take, never exceeded; or the relative half-width to reach (0.01 for 1 %).
    across : str
        The dim of the benchmarks.
    shared : str
        The outermost level: its units serve every benchmark.
    correlation : float, optional
        Of a unit's effects between benchmarks, 0 to 1. Default: what the pilot says, where its units are shared by the benchmarks
        (`attrs["shared_levels"]`); else 0, and the attr `benchmarks` of the result says that independence was assumed.
    min_units : int
        The fewest repetitions of the outermost level, at least 2.
    confidence_level : float
        Of the interval that is promised.
    negative : {"merge", "zero"}
        What becomes of negative components, as for `plan_repetitions`.
    metric : str or list of str, optional
        Variable(s) of a Dataset.

    Returns
    -------
    RepetitionPlan
        `to_dataset()` holds along `across` and `level`: `repetitions` (inside one parent; the outermost the same for all), `unrounded`
        (the continuous solution), `merged` (there one repetition is best), `seconds` along `across` (the benchmark's own part of the
        cost); with a baseline, its `baseline_repetitions`. Per cell: `cost`; `half_width` of the geometric mean, relative, by t with the
        outermost count less 1 degrees of freedom; `default_half_width`, of the experiment that runs every benchmark once on each build,
        one iteration, at the same cost; both again along `budget_factor`, at so many times the cost; `least_budget`, which
        buys `min_units`; `n`, the pilot's units.

    Raises
    ------
    ValueError
        As `plan_repetitions`; a `shared` that is not the outermost level, or whose price differs between benchmarks; no dim `across`.

    See Also
    --------
    plan_repetitions : each benchmark by itself

    Notes
    -----
    The variance of the log geometric mean is a sum over the shared units and each benchmark's levels of component / repetitions in all,
    the cost a sum of price x repetitions in all: the least variance for a cost is explicit (every total proportional to the square root
    of component / price), up to totals that may not fall below their parent's. The number of shared units is searched with Student's t,
    counts are rounded down, and what remains is spent where it gains most. Shared builds never lose to builds for each benchmark; they are
    equal when build effects are perfectly correlated. A half-width is reached at little more than the least price, found by halving.

    References
    ----------
    T. Kalibera, R. Jones, "Quantifying performance changes with effect size confidence intervals", 2012, end of section 8.5, where this
    extension is asked for.

    Examples
    --------
    >>> import perfarray
    >>> sizes, variances = {"binary": 15, "execution": 5, "iteration": 5}, {"binary": 4e-4, "execution": 1e-4, "iteration": 1e-4}
    >>> times = perfarray.simulate(sizes=sizes, variances=variances, dims={"benchmark": ["fft", "sort"]}, shared={"binary": 0.5}, rng=1)
    >>> plan = times.perf.plan_suite(costs={"binary": 60.0, "execution": 2.0}, budget=3600.0).to_dataset()
    >>> bool(plan["cost"] <= 3600), bool(plan["half_width"] < plan["default_half_width"])
    (True, True)
    """
    keywords: dict[str, Any] = {
        "dim": dim, "costs": costs, "levels": levels, "budget": budget, "half_width": half_width, "across": across, "shared": shared,
        "correlation": correlation, "min_units": min_units, "confidence_level": confidence_level, "negative": negative, "metric": metric,
    }  # fmt: skip
    return RepetitionPlan(dataset=_planned(times, baseline, **keywords))


class _Rules(NamedTuple):
    """What is asked of every suite; joint and correlation one per system."""

    levels: tuple[str, ...]
    budget: float | None
    half_width: float | None
    min_units: int
    confidence_level: float
    negative: str
    joint: tuple[bool, ...]
    correlation: float | None


class _Found(NamedTuple):
    """Answers of all suites: counts (repetitions, unrounded, the baseline's; benchmarks; levels), seconds, scalars, curves."""

    counts: Floats
    seconds: Floats
    scalars: Floats
    curves: Floats


@over_metrics
def _planned(
    times: Data,
    baseline: object,
    *,
    dim: str | None,
    costs: Any,
    levels: str | tuple[str, ...] | None,
    budget: float | None,
    half_width: float | None,
    across: str,
    shared: str,
    correlation: float | None,
    min_units: int,
    confidence_level: float,
    negative: str,
    metric: str | list[str] | None,
) -> xr.Dataset:
    """Check, plan every suite, and say what is amiss."""
    check_choice(negative, "negative", ("merge", "zero"))
    money, width = check_target(budget, half_width)
    least, level = check_count(min_units, "min_units", 2), check_confidence_level(confidence_level)
    if correlation is not None and not 0 <= check_number(correlation, "correlation") <= 1:
        raise ValueError(f"correlation={correlation!r} is out of range; give a number from 0 to 1")
    pair = None if baseline is None else resolve_pair(times, baseline, dim=dim, metric=metric, levels=levels)
    sides = (resolve(times, metric, levels),) if pair is None else (pair.candidate, pair.baseline)
    nest = sides[0].levels
    _check_suite(sides[0], across, shared)
    for side in sides:
        check_positive_values(side, "a geometric mean")
    chosen = {} if pair is None or pair.dim is None or isinstance(baseline, xr.DataArray | xr.Dataset) else {pair.dim: baseline}
    dear = [_prices(costs, side, across, shared, chosen if i else {}) for i, side in enumerate(sides)]
    joint = tuple(shared in shared_levels(side, None) for side in sides)
    rules = _Rules(nest, money, width, least, level, negative, joint, correlation)
    core = [across, *nest]
    result = apply(
        lambda *arrays: _plan_suites(arrays, rules),
        *(side.array for side in sides),
        *dear,
        core=[*[core] * len(sides), *[[across, PRICE]] * len(sides)],
        outputs=_outputs(across, len(sides)),
        coords={across: sides[0].array[across].values.tolist(), LEVEL: list(nest), BUDGET_FACTOR: FACTORS},
        attrs=(sides[0].describe() if pair is None else pair.describe()) | _attrs(rules, shared, across, baseline),
    )
    if any(is_chunked(side.array) for side in sides):
        return result
    _check_affordable(result, rules)
    warn(*((sides[0].note,) if pair is None else pair.notes), *_cells_in_trouble(result, nest[0]))
    return result


def _check_suite(data: Timings, across: str, shared: str) -> None:
    """Raise unless there are benchmarks to plan together and the shared level is the outermost."""
    check_dim(data.array, across)
    if across in data.levels:
        raise ValueError(f"across={across!r} is a level of the nest {data.levels}; benchmarks lie along a dim that is not")
    check_choice(shared, "shared", data.levels)
    if shared != data.levels[0]:
        raise ValueError(
            f"shared={shared!r} is not the outermost level {data.levels[0]!r}: units inside one of those cannot serve every "
            f"benchmark unless it does too; name it, or choose levels= that start at {shared!r}"
        )


def _prices(costs: Any, side: Timings, across: str, shared: str, chosen: dict[str, object]) -> xr.DataArray:
    """Return the prices of every benchmark; a shared unit has one price."""
    dear = prices(costs, side, SECONDS, chosen)
    if across not in dear.dims:
        return dear.expand_dims({across: side.array.sizes[across]}).assign_coords({across: side.array[across]})
    top = dear.isel({PRICE: 0})
    if not bool((top == top.isel({across: 0})).all()):
        raise ValueError(f"costs[{shared!r}] differs between benchmarks; one {shared} serves them all and has one price")
    return dear


def _attrs(rules: _Rules, shared: str, across: str, baseline: object) -> dict[str, Hashable]:
    """Return what the result says of the question."""
    attrs: dict[str, Hashable] = {"result": "plan_suite", "confidence_level": rules.confidence_level, "cost_units": SECONDS}
    attrs |= {"min_units": rules.min_units, "negative": rules.negative, "shared": shared, "across": across}
    attrs |= {"budget": rules.budget} if rules.budget is not None else {"half_width_wanted": rules.half_width}
    if baseline is not None:
        attrs["baseline"] = "other timings" if isinstance(baseline, xr.DataArray | xr.Dataset) else str(baseline)
    if rules.correlation is not None:
        return attrs | {"correlation": rules.correlation}
    return attrs | {"benchmarks": f"shared: {shared}" if all(rules.joint) else "independent (assumed)"}


def _outputs(across: str, systems: int) -> dict[str, Output]:
    """Return the variables of a plan, in the order `_plan_suites` returns them."""
    counts = {
        "repetitions": Output((across, LEVEL), "1", long_name="repetitions inside one parent"),
        "unrounded": Output((across, LEVEL), "1", long_name="continuous solution"),
        "merged": Output((across, LEVEL), "", bool, "one repetition is best"),
        "seconds": Output((across,), SECONDS, long_name="the benchmark's own part of the cost"),
    }
    if systems > 1:
        counts["baseline_repetitions"] = Output((across, LEVEL), "1", long_name="the baseline's repetitions inside one parent")
    return counts | {
        "cost": Output((), SECONDS),
        "least_budget": Output((), SECONDS),
        "half_width": Output((), "1", long_name="relative, of the geometric mean"),
        "default_half_width": Output((), "1", long_name="relative, of the geometric mean"),
        "n": Output((), "1", long_name="independent units of the pilot"),
        "half_width_by_budget": Output((BUDGET_FACTOR,), "1", long_name="at so many times the cost, before rounding"),
        "default_half_width_by_budget": Output((BUDGET_FACTOR,), "1", long_name="at so many times the cost"),
    }


def _plan_suites(arrays: tuple[Floats, ...], rules: _Rules) -> tuple[np.ndarray, ...]:
    """Plan suite by suite: a plan is a search, and suites are few."""
    systems, levels = len(arrays) // 2, len(rules.levels)
    inner = [levels + 1] * systems + [2] * systems
    outer = np.broadcast_shapes(*(array.shape[: array.ndim - own] for array, own in zip(arrays, inner, strict=True)))
    whole = [np.broadcast_to(array, (*outer, *array.shape[array.ndim - own :])) for array, own in zip(arrays, inner, strict=True)]
    found = _Found(
        np.full((*outer, 3, arrays[0].shape[-levels - 1], levels), np.nan),
        np.full((*outer, arrays[0].shape[-levels - 1]), np.nan),
        np.full((*outer, 5), np.nan),
        np.full((*outer, 2, len(FACTORS)), np.nan),
    )
    for cell in np.ndindex(*outer):
        values, dear = ([array[cell] for array in part] for part in (whole[:systems], whole[systems:]))
        stars = [
            star_of(one, price, joint=joint, correlation=rules.correlation, negative=rules.negative)
            for one, price, joint in zip(values, dear, rules.joint, strict=True)
        ]
        here = _Found(*(part[cell] for part in found))
        here.scalars[4] = min(_units(one, levels) for one in values)
        if here.scalars[4] < 2 or not _some_variation(stars):
            continue
        here.scalars[1] = least_price(stars, rules.min_units)
        if rules.budget is None or here.scalars[1] <= rules.budget:
            _plan_one(stars, rules, here, [_unmeasured(one) for one in values])
    repetitions, unrounded, old = (found.counts[..., i, :, :] for i in range(3))
    merged = unrounded <= 1 + ROUNDING
    merged[..., 0] = False
    parts = [repetitions, unrounded, merged, found.seconds, *([old] if systems > 1 else [])]
    return (*parts, *(found.scalars[..., i] for i in range(5)), found.curves[..., 0, :], found.curves[..., 1, :])


def _units(values: Floats, levels: int) -> float:
    """Return the outermost units that any benchmark has; of the benchmark with the fewest, where it was measured."""
    totals = count_repetitions(values, levels).total[:, 0]
    return float(totals[totals > 0].min(initial=np.inf)) if (totals > 0).any() else 0.0


def _unmeasured(values: Floats) -> np.ndarray:
    """Say which benchmarks hold no value."""
    return np.asarray(np.isnan(values).all(axis=tuple(range(1, values.ndim))))


def _some_variation(stars: list[Star]) -> bool:
    """Say whether there is anything to plan from."""
    return all(not np.isnan(star.root) for star in stars) and sum(star.root + star.variance.sum() for star in stars) > 0


def _plan_one(stars: list[Star], rules: _Rules, found: _Found, absent: list[np.ndarray]) -> None:
    """Write the plan of one suite into its place."""
    units, level = rules.min_units, rules.confidence_level
    plan = plan_stars(stars, budget=rules.budget, half_width=rules.half_width, min_units=units, confidence_level=level)
    smooth = continuous(stars, min(plan.units), budget=plan.cost)
    for system, place in ((0, 0), (1, 2))[: len(stars)]:
        found.counts[place, :, 0], found.counts[place, :, 1:] = plan.units[system], plan.counts[system]
        found.counts[place, absent[system]] = np.nan
    totals = np.column_stack([np.full(len(smooth.lower[0]), smooth.root[0]), smooth.lower[0]])
    found.counts[1, :, 0], found.counts[1, :, 1:] = totals[:, 0], totals[:, 1:] / totals[:, :-1]
    found.counts[1, absent[0]] = np.nan
    own = [n * (np.cumprod(each, axis=1) * star.cost).sum(axis=1) for n, each, star in zip(plan.units, plan.counts, stars, strict=True)]
    found.seconds[:] = np.sum(own, axis=0)
    found.scalars[0], found.scalars[2] = plan.cost, plan.half_width
    found.scalars[3] = one_level_half_width(stars, plan.cost if rules.budget is None else rules.budget, level)
    found.curves[:] = half_width_by_budget(stars, plan.cost * np.array(FACTORS), min_units=units, confidence_level=level)


def _check_affordable(result: xr.Dataset, rules: _Rules) -> None:
    """Raise where the budget does not buy the fewest units; the message says what would."""
    least = result["least_budget"]
    if rules.budget is None or not bool((least > rules.budget).any()):
        return
    raise ValueError(
        f"budget={rules.budget:g} s does not buy {rules.min_units} repetitions of {rules.levels[0]!r} with one of everything in each; the "
        f"least budget is {float(least.max()):.6g}, or lower min_units= (at least 2)"
    )


def _cells_in_trouble(result: xr.Dataset, outermost: str) -> tuple[str, ...]:
    """Count the suites without a plan, by reason."""
    n, cost = result["n"].values, result["cost"].values
    few, still = int((n < 2).sum()), int((np.isnan(cost) & (n > 1)).sum())
    return (
        f"{few} of {n.size} suites have a benchmark with fewer than two units ({outermost}) and have no plan: one shows no spread"
        if few
        else "",
        f"{still} of {n.size} suites show no variation at any level and have no plan" if still else "",
    )
