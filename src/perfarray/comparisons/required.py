"""How many units a verdict needs to see a change, from a pilot."""

from collections.abc import Hashable
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from perfarray.conventions import BENCHMARK, plural
from perfarray.numerics.intervals import ratio_df, ratio_of, welch_df
from perfarray.numerics.levels import unit_means
from perfarray.numerics.moderated import fit_prior, moderated_ratio
from perfarray.numerics.power import Spread, beyond, distance_seen, fewest_units
from perfarray.numerics.types import Floats
from perfarray.timings.across import PRIORS, apply_over_suite
from perfarray.timings.apply import apply, outputs
from perfarray.timings.metrics import for_each_metric
from perfarray.timings.notes import Note, check, count_note, with_notes
from perfarray.timings.pairs import resolve_pair
from perfarray.timings.resolve import Data, check_names
from perfarray.timings.validation import (
    check_choice,
    check_confidence_level,
    check_number,
    check_share,
    check_threshold,
)
from perfarray.timings.zeros import Positive

GRID = (
    2,
    3,
    5,
    7,
    10,
    15,
    20,
    30,
    50,
    70,
    100,
    150,
    200,
    300,
    500,
    700,
    1000,
)  # units a side with a smallest change
ROUNDING = (
    float(np.finfo(float).eps) ** 2
)  # relative variance up to which means of equal values differ by rounding
UNITS_DIM = "units"
LARGEST = 1e6  # degrees of freedom of a pilot beyond which more change nothing


def required_units(
    times: Data,
    baseline: object,
    *,
    dim: str | None = None,
    change: float = 0.02,
    threshold: float = 0.0,
    power: float = 0.8,
    confidence_level: float = 0.95,
    correction: str | None = None,
    assurance: float = 0.5,
    levels: str | tuple[str, ...] | None = None,
    paired: str | None = None,
    across: str = BENCHMARK,
    prior: str | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Find how many units a side `compare` needs for a verdict, from a pilot of both systems.

    Parameters
    ----------
    times, baseline, dim, levels, metric : as for `compare`
        The pilot: two outermost units a side or more.
    change : float
        The relative change to see: 0.02 for 2 % slower, -0.02 for 2 % faster.
    threshold : float
        A relative change that does not matter.
    power : float
        The chance of the verdict, if the truth is so.
    confidence_level : float
        Of the comparison.
    correction : {None, "holm"}
        With "holm", for all cells and metrics together.
    assurance : float
        The chance that the number is enough, given the uncertain spread of the pilot.
    paired : str, optional
        The outermost level, if its units match between the two systems.
    across, prior : str; {None, "suite"}
        "suite" shrinks the variance of each benchmark (dim `across`), in the pilot only.

    Returns
    -------
    Dataset
        `required` (units a side; infinite beyond ten million, NaN without spread), `n` (of the
        pilot, the smaller side), `power` with n, `pilot_change`, the relative change that n show,
        and along `units` `smallest_change`, that which so many a side show.

    Raises
    ------
    ValueError
        As `compare`; a change that is not beyond the threshold.

    Notes
    -----
    Units have as many repetitions inside as those of the pilot. Log ratios of means with Welch's
    df; power by the noncentral t. See :doc:`/evidence/intervals`.

    Examples
    --------
    >>> import perfarray
    >>> sizes, variances = {"execution": 10, "iteration": 5}, {"execution": 4e-4, "iteration": 1e-4}
    >>> dims = {"version": ["old", "new"]}
    >>> pilot = perfarray.simulate(sizes=sizes, variances=variances, dims=dims, rng=1)
    >>> pilot.perf.required_units("old", change=0.02)["required"].item()
    7.0
    """
    check_choice(correction, "correction", (None, "holm"))
    check_choice(prior, "prior", PRIORS)
    level = check_confidence_level(confidence_level)
    threshold, change = check_threshold(threshold), check_number(change, "change")
    if not abs(change) > threshold:
        raise ValueError(
            f"change={change!r} does not lie beyond threshold={threshold!r}: no number of "
            "units shows it"
        )
    metrics = 1 if metric is None else len(check_names(metric, "metric"))
    attrs: dict[str, Hashable] = {
        "result": "required_units",
        "change": change,
        "threshold": threshold,
        "confidence_level": level,
        "planned_power": check_share(power, "power", "0.8"),
        "assurance": check_share(assurance, "assurance", "0.8"),
        "correction": correction or "none",
    }
    attrs |= {name: text for name, text in (("paired", paired), ("prior", prior)) if text}
    return _required_of_metric(
        times,
        baseline,
        dim=dim,
        levels=levels,
        across=across,
        risk=(1 - level) / 2 / (metrics if correction else 1),
        attrs=attrs,
        metric=metric,
    )


@for_each_metric
def _required_of_metric(
    times: Data,
    baseline: object,
    *,
    dim: str | None,
    levels: str | tuple[str, ...] | None,
    across: str,
    risk: float,
    attrs: dict[str, Any],
    metric: str | list[str] | None,
) -> xr.Dataset:
    """Plan one metric as the attrs describe; `risk` holds for all its cells together."""
    learn, paired = "prior" in attrs, attrs.get("paired")
    pair = resolve_pair(
        times,
        baseline,
        dim=dim,
        levels=levels,
        paired=paired,
        metric=metric,
        positive=Positive("the log of a ratio", "min" if learn else "mean"),
    )
    nest, array = pair.candidate.levels, pair.candidate.array
    if attrs["correction"] != "none":
        risk /= np.prod([size for name, size in array.sizes.items() if name not in nest])
    plan = partial(
        _plan,
        paired=paired is not None,
        learn=learn,
        distance=planned_distance(attrs["change"], attrs["threshold"], pair.candidate.better),
        risk=risk,
        power=attrs["planned_power"],
        assurance=attrs["assurance"],
        threshold=attrs["threshold"],
    )
    variables = outputs(
        required="units a side",
        n="units of the pilot on the smaller side",
        power="chance of the verdict with those",
        pilot_change="relative change seen with those",
    ) | outputs("1", (UNITS_DIM,), smallest_change="relative change seen with so many units a side")
    result = (partial(apply_over_suite, across=across) if learn else apply)(
        lambda new, old: plan(unit_means(new, len(nest)), unit_means(old, len(nest))),
        array,
        pair.baseline.array,
        core=[nest, nest],
        outputs=variables,
        coords={UNITS_DIM: list(GRID)},
        attrs={**pair.attrs, **attrs},
    )
    return with_notes(result, *pair.notes, *pair.unit_notes, checks=("required_units",))


def planned_distance(change: float, threshold: float, better: str) -> float:
    """Return the distance on the log scale of a change from the threshold beyond which it lies."""
    if change <= -1 if better == "lower" else change >= 1:
        quantity, limit = ("time", "above -1") if better == "lower" else ("rate", "below 1")
        raise ValueError(
            f"change={change!r} of a {quantity} leaves nothing of it: give a fraction {limit}"
        )
    change = change if better == "lower" else -change
    return float(abs(np.log1p(change) - np.log1p(threshold if change > 0 else -threshold)))


def _plan(
    new: Floats,
    old: Floats,
    *,
    paired: bool,
    learn: bool,
    distance: float,
    risk: float,
    power: float,
    assurance: float,
    threshold: float,
) -> tuple[Floats, ...]:
    from scipy.special import chdtri

    moderated = partial(moderated_ratio, paired=paired, df_rule="satterthwaite", fit=fit_prior)
    ratio = moderated(new, old)[0] if learn else ratio_of(new, old, paired)
    n, m = ratio.numerator.n, ratio.denominator.n
    with np.errstate(divide="ignore", invalid="ignore"):
        if paired:
            spread = Spread(ratio.residual * n / ratio.numerator.mean**2, np.zeros(n.shape))
        else:
            sides = (ratio.numerator, ratio.denominator)
            spread = Spread(*(side.variance * side.n / side.mean**2 for side in sides))
        varies = spread.new + spread.old > ROUNDING
        if learn:
            pilot_df = np.minimum(ratio_df(ratio, "satterthwaite"), LARGEST)
        else:
            pilot_df = np.asarray(welch_df(spread.new / n, spread.old / m, n - 1, m - 1))
        known = varies & (pilot_df > 0)
        larger = np.where(
            known, pilot_df / chdtri(np.where(known, pilot_df, 1.0), assurance), np.nan
        )
        spread = Spread(spread.new * larger, spread.old * larger)
        required = fewest_units(spread, np.asarray(distance), risk, power)
        fewest = np.where(ratio.n > 1, ratio.n, np.nan)
        error, df = spread.error(fewest), spread.df(fewest)
        missed = 1 - beyond(np.asarray(distance), error, df, risk)
        grid = Spread(spread.new[..., None], spread.old[..., None])
        sizes = np.array(GRID, dtype=float)
        changes = (
            (1 + threshold) * np.exp(distance_seen(error, df, 1 - risk, power)) - 1
            for error, df in ((error, df), (grid.error(sizes), grid.df(sizes)))
        )
    return required, ratio.n, np.maximum(1 - missed, 0.0), *changes


@check("required_units")
def required_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Name cells without a number, and pilots that know little of the spread."""
    required, n = (result.variables[name].values for name in ("required", "n"))
    units = plural(str(result.attrs["unit"]))
    alone = (
        f"{{cells}} have fewer than two {units} on a side, so that their spread is not known. "
        "Measure two or more, better ten."
    )
    constant = (
        f"{{cells}} have {units} that do not differ: no number is known. Measure with a finer "
        "clock, or more iterations in each."
    )
    never = f"{{cells}} would need more than ten million {units} a side."
    few = (
        f"{{cells}} rest on fewer than five {units} on a side. The number may be off by a factor "
        "of two or more. assurance=0.8 is safer."
    )
    return (
        count_note("single_unit", alone, n < 2),
        count_note("no_spread", constant, (n >= 2) & np.isnan(required)),
        count_note("no_goal", never, np.isinf(required)),
        count_note("few_units", few, (n >= 2) & (n < 5) & ~np.isnan(required))
        if float(result.attrs["assurance"]) < 0.8
        else None,
    )
