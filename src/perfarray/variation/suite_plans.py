"""How many repetitions for a whole suite, when one build (or boot, or session) serves every benchmark."""

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from perfarray.conventions import BENCHMARK, SECONDS
from perfarray.numerics.types import Floats
from perfarray.timings.apply import LEVEL, Output, apply, is_chunked
from perfarray.timings.metrics import over_metrics
from perfarray.timings.notes import warn
from perfarray.timings.resolve import Data, Timings, check_dim, check_names, check_positive_values, shared_levels
from perfarray.timings.validation import check_choice, check_number, listed
from perfarray.variation.costs import BUDGET_FACTOR, FACTORS, FEW, PRICE, Asked, Systems, advice_on, check_asked, systems
from perfarray.variation.numerics.allocation import ROUNDING
from perfarray.variation.numerics.suite_pilot import Sharing, SuitePilot, paired_pilot, pilot_limits, suite_pilot, units_to_add
from perfarray.variation.numerics.suite_plans import SuitePlan, half_width_by_budget, least_price, one_level_half_width, plan_stars
from perfarray.variation.numerics.suite_star import Star, continuous
from perfarray.variation.repetition_plan import RepetitionPlan


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
    shared: str | tuple[str, ...] = "binary",
    correlation: float | None = None,
    paired: str | None = None,
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
    shared : str or tuple of str
        The outermost level: its units serve every benchmark. Levels right inside it may be named too, from the outside in: with
        `("binary", "session")` a session also runs all benchmarks, and its price is paid once.
    correlation : float, optional
        Of a unit's effects between benchmarks, 0 to 1. Default: what the pilot says, where its units are shared by the benchmarks
        (`attrs["shared_levels"]`); else 0, and the attr `benchmarks` of the result says that independence was assumed.
    paired : str, optional
        The outermost level, where unit j of the candidate and unit j of the baseline are a pair (built or run side by side): both
        systems get the same units, planned by the variance of the pairs' difference. A pair costs what both its units cost.
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
        `to_dataset()` holds along `across` and `level`: `repetitions` (inside one parent; those shared the same for all), `unrounded`
        (the continuous solution), `merged` (there one repetition is best); `already`, the pilot's repetitions, and `more`: the units
        still to be run, with their lower counts, if the pilot's data count towards the experiment and its budget; `seconds` along
        `across` (the benchmark's own part of the cost); with a baseline, its `baseline_repetitions`, `baseline_already` and
        `baseline_more`. Per cell: `cost`; `half_width` of the geometric mean, relative, by t with the outermost count less 1 degrees of
        freedom; `half_width_lower` and `half_width_upper`, what it becomes at either limit of the outermost component (chi-square);
        `more_half_width`, together with the pilot's data; `default_half_width`, of the experiment that runs every benchmark once on each
        build, one iteration, at the same cost; both again along `budget_factor`, at so many times the cost; `least_budget`, which buys
        `min_units`; `n`, the pilot's units; `advice` in words.

    Raises
    ------
    ValueError
        As `plan_repetitions`; `shared` levels that are not the outermost, or whose price differs between benchmarks; no dim `across`;
        `paired` without a baseline, or with several shared levels.

    See Also
    --------
    plan_repetitions : each benchmark by itself

    Notes
    -----
    The variance of the log geometric mean is a sum over the shared units and each benchmark's levels of component / repetitions in all,
    the cost a sum of price x repetitions in all: the least variance for a cost is explicit (every total proportional to the square root
    of component / price), up to totals that may not fall below their parent's. Whole counts are then searched around it, with
    Student's t for the number of shared units: against all whole plans of small suites the half-width was at most 0.2 % above the best,
    mostly equal to it. Shared builds never lose to builds for each benchmark; they are equal when build effects are perfectly
    correlated. Of two systems that are not paired, the degrees of freedom are those of the one with fewer units. In `more`, the pilot's
    units count as shared by all benchmarks.

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
    asked = Asked(dim, costs, levels, budget, half_width, SECONDS, min_units, confidence_level, negative)
    suite = _Suite(across, shared, correlation, paired)
    return RepetitionPlan(dataset=_planned(times, baseline, asked=asked, suite=suite, metric=metric))


class _Suite(NamedTuple):
    """What makes it a suite: where its benchmarks lie, what they share, and what two systems share."""

    across: str
    shared: str | tuple[str, ...]
    correlation: float | None
    paired: str | None


class _Rules(NamedTuple):
    """What is asked of every suite; the sharing seen is that of each system's pilot."""

    asked: Asked
    levels: tuple[str, ...]
    sharing: tuple[Sharing, ...]
    paired: bool
    names: tuple[str, ...]


ALONG = ("repetitions", "unrounded", "already", "more", "baseline_repetitions", "baseline_already", "baseline_more")
SCALARS = (
    "cost", "least_budget", "half_width", "half_width_lower", "half_width_upper", "more_half_width", "default_half_width", "n"
)  # fmt: skip


class _Found(NamedTuple):
    """Answers of all suites: counts (`ALONG`, benchmarks, levels), seconds (benchmarks), `SCALARS`, curves."""

    counts: Floats
    seconds: Floats
    scalars: Floats
    curves: Floats


@over_metrics
def _planned(times: Data, baseline: object, *, asked: Asked, suite: _Suite, metric: str | list[str] | None) -> xr.Dataset:
    """Check, plan every suite, and say what is amiss."""
    asked = check_asked(asked)
    if suite.correlation is not None and not 0 <= check_number(suite.correlation, "correlation") <= 1:
        raise ValueError(f"correlation={suite.correlation!r} is out of range; give a number from 0 to 1")
    found = systems(times, baseline, asked, metric, suite.paired)
    sides, across = found.sides, suite.across
    nest, shared = sides[0].levels, _check_shared(sides[0], suite)
    for side in sides:
        check_positive_values(side, "a geometric mean")
    dear = _prices(found, asked, across, shared)
    seen = [shared_levels(side, None) for side in sides]
    sharing = tuple(Sharing(len(shared), _leading(shared, own), suite.correlation) for own in seen)
    names = tuple(str(name) for name in sides[0].array[across].values.tolist())
    rules = _Rules(asked, nest, sharing, suite.paired is not None, names)
    core = [across, *nest]
    result = apply(
        lambda *arrays: _plan_suites(arrays, rules),
        *(side.array for side in sides),
        *dear,
        core=[*[core] * len(sides), *[[across, PRICE]] * len(sides)],
        outputs=_outputs(across, len(sides)),
        coords={across: sides[0].array[across].values.tolist(), LEVEL: list(nest), BUDGET_FACTOR: FACTORS},
        attrs=found.attrs | asked.describe("plan_suite", baseline) | _attrs(rules, shared, suite),
    )
    if any(is_chunked(side.array) for side in sides):
        return result
    _check_affordable(result, rules)
    warn(*found.notes, *_cells_in_trouble(result, nest[0]))
    return result


def _check_shared(data: Timings, suite: _Suite) -> tuple[str, ...]:
    """Return the shared levels; raise unless there are benchmarks to plan together and the levels are the outermost."""
    check_dim(data.array, suite.across)
    if suite.across in data.levels:
        raise ValueError(f"across={suite.across!r} is a level of the nest {data.levels}; benchmarks lie along a dim that is not")
    shared = check_names(suite.shared, "shared")
    for name in shared:
        check_choice(name, "shared", data.levels)
    if shared != data.levels[: len(shared)]:
        raise ValueError(
            f"shared={listed(shared)} is not the outermost level {data.levels[0]!r} (or several, from the outside in): units inside one of "
            f"those cannot serve every benchmark unless it does too; name it, or choose levels= that start at {shared[0]!r}"
        )
    if suite.paired is not None and len(shared) > 1:
        raise ValueError(
            f"paired={suite.paired!r} with several shared levels ({listed(shared)}) has no plan yet; share {shared[0]!r} alone"
        )
    return shared


def _leading(shared: tuple[str, ...], seen: Sequence[str]) -> int:
    """Return how many of the shared levels, from the outside in, are shared in the pilot too."""
    number = 0
    while number < len(shared) and shared[number] in seen:
        number += 1
    return number


def _prices(found: Systems, asked: Asked, across: str, shared: tuple[str, ...]) -> list[xr.DataArray]:
    """Return the prices of every benchmark; a shared unit has one price."""
    priced = []
    for side, dear in zip(found.sides, found.prices(asked), strict=True):
        if across not in dear.dims:
            priced.append(dear.expand_dims({across: side.array.sizes[across]}).assign_coords({across: side.array[across]}))
            continue
        for place, level in enumerate(shared):
            one = dear.isel({PRICE: place})
            if not bool((one == one.isel({across: 0})).all()):
                raise ValueError(f"costs[{level!r}] differs between benchmarks; one {level} serves them all and has one price")
        priced.append(dear)
    return priced


def _attrs(rules: _Rules, shared: tuple[str, ...], suite: _Suite) -> dict[str, Hashable]:
    """Return what the result says of the suite."""
    attrs: dict[str, Hashable] = {"shared": " ".join(shared), "across": suite.across}
    attrs |= {"paired": suite.paired} if suite.paired is not None else {}
    if suite.correlation is not None:
        return attrs | {"correlation": suite.correlation}
    seen = min(own.seen for own in rules.sharing)
    return attrs | {"benchmarks": f"shared: {' '.join(shared[:seen])}" if seen else "independent (assumed)"}


def _outputs(across: str, systems: int) -> dict[str, Output]:
    """Return the variables of a plan, in the order `_plan_suites` returns them."""
    along = {
        "repetitions": "repetitions inside one parent",
        "unrounded": "continuous solution",
        "already": "repetitions inside one parent in the pilot",
        "more": "units to add to the pilot, and the counts inside each",
        "baseline_repetitions": "the baseline's repetitions inside one parent",
        "baseline_already": "the baseline's repetitions inside one parent in the pilot",
        "baseline_more": "units to add to the baseline's pilot, and the counts inside each",
    }
    counts = {name: Output((across, LEVEL), "1", long_name=along[name]) for name in (ALONG if systems > 1 else ALONG[:4])}
    relative = {name: Output((), "1", long_name="relative, of the geometric mean") for name in SCALARS[2:-1]}
    return (
        counts
        | {"merged": Output((across, LEVEL), "", bool, "one repetition is best")}
        | {"seconds": Output((across,), SECONDS, long_name="the benchmark's own part of the cost")}
        | {"cost": Output((), SECONDS), "least_budget": Output((), SECONDS)}
        | relative
        | {"n": Output((), "1", long_name="independent units of the pilot")}
        | {"half_width_by_budget": Output((BUDGET_FACTOR,), "1", long_name="at so many times the cost, before rounding")}
        | {"default_half_width_by_budget": Output((BUDGET_FACTOR,), "1", long_name="at so many times the cost")}
        | {"advice": Output((), "", object)}
    )


def _plan_suites(arrays: tuple[Floats, ...], rules: _Rules) -> tuple[np.ndarray, ...]:
    """Plan suite by suite: a plan is a search, and suites are few."""
    number, levels = len(arrays) // 2, len(rules.levels)
    inner = [levels + 1] * number + [2] * number
    outer = np.broadcast_shapes(*(array.shape[: array.ndim - own] for array, own in zip(arrays, inner, strict=True)))
    whole = [np.broadcast_to(array, (*outer, *array.shape[array.ndim - own :])) for array, own in zip(arrays, inner, strict=True)]
    benchmarks = arrays[0].shape[-levels - 1]
    found = _Found(
        np.full((*outer, len(ALONG), benchmarks, levels), np.nan),
        np.full((*outer, benchmarks), np.nan),
        np.full((*outer, len(SCALARS)), np.nan),
        np.full((*outer, 2, len(FACTORS)), np.nan),
    )
    advice = np.full(outer, "no plan: the pilot has one unit, no variation at any level, or too little to spend", dtype=object)
    for cell in np.ndindex(*outer):
        pilots = _pilots([array[cell] for array in whole[:number]], [array[cell] for array in whole[number:]], rules)
        stars, asked = [pilot.star for pilot in pilots], rules.asked
        here = _Found(*(part[cell] for part in found))
        units = here.scalars[SCALARS.index("n")] = min(pilot.n for pilot in pilots)
        if units < 2 or not _some_variation(stars):
            continue
        least = here.scalars[SCALARS.index("least_budget")] = least_price(stars, asked.min_units)
        if asked.budget is None or least <= asked.budget:
            advice[cell] = _plan_one(pilots, rules, here)
    merged = found.counts[..., 1, :, :] <= 1 + ROUNDING
    merged[..., 0] = False
    along = [found.counts[..., i, :, :] for i in range(len(ALONG) if number > 1 else 4)]
    scalars = [found.scalars[..., i] for i in range(len(SCALARS))]
    return *along, merged, found.seconds, *scalars, found.curves[..., 0, :], found.curves[..., 1, :], advice


def _pilots(values: list[Floats], dear: list[Floats], rules: _Rules) -> list[SuitePilot]:
    """Estimate the systems of one suite, or their pairs; a benchmark that one of them lacks is left out of both."""
    if len(values) > 1:
        absent = np.any([_unmeasured(own) for own in values], axis=0)
        values = [np.where(absent.reshape(-1, *[1] * len(rules.levels)), np.nan, own) for own in values]
    negative = rules.asked.negative
    if rules.paired:
        sharing = rules.sharing[0]._replace(seen=min(own.seen for own in rules.sharing))
        return [paired_pilot(values[0], values[1], (dear[0], dear[1]), sharing, negative)]
    return [suite_pilot(own, price, how, negative) for own, price, how in zip(values, dear, rules.sharing, strict=True)]


def _unmeasured(values: Floats) -> np.ndarray:
    """Say which benchmarks hold no value."""
    return np.asarray(np.isnan(values).all(axis=tuple(range(1, values.ndim))))


def _some_variation(stars: list[Star]) -> bool:
    """Say whether there is anything to plan from."""
    return all(not np.isnan(star.root) for star in stars) and sum(
        star.root + star.inner[:, 0].sum() + star.variance.sum() for star in stars
    ) > 0  # fmt: skip


def _plan_one(pilots: list[SuitePilot], rules: _Rules, found: _Found) -> str:
    """Write the plan of one suite into its place; return the advice on it."""
    asked, stars = rules.asked, [pilot.star for pilot in pilots]
    level, least = asked.confidence_level, asked.min_units
    plan = plan_stars(stars, budget=asked.budget, half_width=asked.half_width, min_units=least, confidence_level=level)
    smooth = continuous(stars, min(plan.units), budget=plan.cost)
    more = units_to_add(pilots, plan, asked.budget, asked.half_width, level)
    benchmarks = len(found.seconds)
    counts, seconds = [], []
    for pilot, own, *rest in zip(pilots, plan.counts, plan.units, smooth.root, smooth.lower, more.units, strict=True):
        counts.append(_counts(pilot, own, *rest))
        below = np.cumprod(own, axis=1)[:, len(pilot.star.inner) :]
        seconds.append(rest[0] * (below * pilot.star.cost).sum(axis=1))
    joined = np.concatenate(counts, axis=1)  # two systems one after the other, as the rows of a pair are
    found.counts[:4] = joined[:, :benchmarks]
    if joined.shape[1] > benchmarks:
        found.counts[4:] = joined[[0, 2, 3], benchmarks:]
    found.seconds[:] = np.concatenate(seconds).reshape(-1, benchmarks).sum(axis=0)
    default = one_level_half_width(stars, plan.cost if asked.budget is None else asked.budget, level)
    found.scalars[0] = plan.cost
    found.scalars[2:7] = plan.half_width, *pilot_limits(pilots, plan, level), more.half_width, default
    found.curves[:] = half_width_by_budget(stars, plan.cost * np.array(FACTORS), min_units=least, confidence_level=level)
    return _advice(found, plan, stars, rules)


def _counts(pilot: SuitePilot, own: Floats, units: float, root: float, lower: Floats, added: float) -> Floats:
    """Return (4, benchmarks, L) of one system: repetitions, the continuous ones, those of the pilot, and those still to be run."""
    number = len(own)
    totals = np.column_stack([np.full(number, root), lower])
    with np.errstate(invalid="ignore"):
        already = pilot.total / np.column_stack([np.ones(number), pilot.total[:, :-1]])
    counts = np.stack(
        [
            np.column_stack([np.full(number, units), own]),
            totals / np.column_stack([np.ones(number), totals[:, :-1]]),
            already,
            np.column_stack([np.full(number, added), own * (added > 0)]),
        ]
    )
    counts[:, pilot.total[:, 0] == 0] = np.nan
    return counts


def _advice(found: _Found, plan: SuitePlan, stars: list[Star], rules: _Rules) -> str:
    """Say what section 6.1 advises of one suite's plan; benchmarks with the same remark are named together."""
    levels, names = rules.levels, np.array(rules.names)
    once, few = [], []
    for level in range(1, len(levels)):
        counts = found.counts[[0, 4], :, level]
        single, small = names[(counts == 1).any(axis=0)], names[((counts > 1) & (counts < FEW)).any(axis=0)]
        if len(single):
            once.append(f"one {levels[level]} in each {levels[level - 1]} is best for {listed(single, 3)}")
        if len(small):
            few.append(
                f"counts below {FEW} per {levels[level - 1]} at the level {levels[level]} ({listed(small, 3)}) are little to see unusual "
                "behaviour by"
            )
    share = 1.0
    if stars[0].cost.shape[1]:
        last = [n * (own.prod(axis=1) * star.cost[:, -1]).sum() for n, own, star in zip(plan.units, plan.counts, stars, strict=True)]
        share = float(sum(last)) / plan.cost
    return advice_on(float(found.scalars[-1]), once, few, (levels[-1], share))


def _check_affordable(result: xr.Dataset, rules: _Rules) -> None:
    """Raise where the budget does not buy the fewest units; the message says what would."""
    least, budget = result["least_budget"], rules.asked.budget
    if budget is None or not bool((least > budget).any()):
        return
    raise ValueError(
        f"budget={budget:g} s does not buy {rules.asked.min_units} repetitions of {rules.levels[0]!r} with one of everything in each; the "
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
