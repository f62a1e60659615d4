"""Where the variation comes from: variance components of a nest of repetitions."""

from dataclasses import replace
from functools import lru_cache

import numpy as np
import xarray as xr

from perfarray.conventions import plural, square_units
from perfarray.numerics.nested_anova import Components, nested_anova
from perfarray.numerics.types import Floats, Mask, Texts
from perfarray.timings.apply import LEVEL, Output, apply, outputs
from perfarray.timings.labels import labels_along
from perfarray.timings.metrics import for_each_metric
from perfarray.timings.notes import Note, check, count_note, with_notes
from perfarray.timings.resolve import Data, resolve
from perfarray.timings.units import NOT_MEASURED, more_units
from perfarray.timings.validation import check_choice, check_confidence_level
from perfarray.timings.zeros import cell_names
from perfarray.variation.numerics.carriers import carriers
from perfarray.variation.numerics.component_intervals import ComponentLimits, anova_limits
from perfarray.variation.numerics.jackknife import jackknife_limits, unevenness
from perfarray.variation.numerics.reml import RemlFit, nested_reml

# What the attr `interval_method` of a result says.
INTERVALS = {
    "anova": (
        "chi-square and modified large sample; ragged cells: of unweighted means, with "
        "effective degrees of freedom"
    ),
    "reml": "profile likelihood",
    "ml": "profile likelihood",
}

LIMITS = ("normal", "jackknife")
JACKKNIFE = (
    "as of normal values, with the degrees of freedom that the jackknife of the outermost "
    "units shows"
)
# cells of a block (2 MB) in which normal effects are doubted: to look costs more than the analysis
LOOKED_AT = 64
UNEVEN, SELDOM = (
    3.0,
    0.1,
)  # the unevenness that a note speaks of, and the share of cells that may show it by chance
# How often, at most, a call with normal effects names units that carry a level; and in how many
# cells they are named.
CHANCE, EXAMPLES = 0.001, 3


@for_each_metric
def variance_components(
    times: Data,
    *,
    levels: str | tuple[str, ...] | None = None,
    method: str = "anova",
    negative: str = "keep",
    limits: str = "normal",
    confidence_level: float = 0.95,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    r"""Split the variation of timings among the levels of repetition.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings; dims that are not levels broadcast.
    levels, metric : str or sequence of str, optional
        The nest, outermost first (default: the levels present); the variables (default: `time`).
    method : {"anova", "reml", "ml"}
        Nested analysis of variance, unbiased; restricted maximum likelihood, more precise on ragged
        data and never negative; maximum likelihood.
    negative : {"keep", "zero", "merge"}
        Keep a negative component of an analysis of variance, set it to zero, or merge its level
        into the level below.
    limits : {"normal", "jackknife"}
        Of an analysis of variance: for normal effects, or with the degrees of freedom that the data
        show.
    confidence_level : float
        Of the intervals.

    Returns
    -------
    Dataset
        Along `level`, outermost first: `variance` (component :math:`T_i^2`, squared units) with
        `lower`, `upper` and `variance_standard_error`; `level_variance` (:math:`S_i^2`, which
        contains the levels below); `share`; `coefficient_of_variation` and
        `level_coefficient_of_variation`; `repetitions` in one parent; `merged`; `carried_by`,
        `carried_share`, `carried_pvalue`: units that cause most of the spread; `unevenness`. Per
        cell: `mean`, its `standard_error` and `df`; `total_coefficient_of_variation`; by likelihood
        `criterion`.

    Raises
    ------
    ValueError
        Unknown names; a confidence level outside 0 to 1; a level split over chunks.

    Notes
    -----
    A level with a single repetition everywhere is NaN: the level above contains it. Limits assume
    normal effects; :doc:`/how-to/variance_components` has their coverage.

    References
    ----------
    T. Kalibera, R. Jones, "Quantifying performance changes with effect size confidence intervals",
    2012, section 6.1, tables III and IV. S. R. Searle, G. Casella, C. E. McCulloch, "Variance
    Components", 1992. R. K. Burdick, F. A. Graybill, "Confidence Intervals on Variance Components",
    1992.

    Examples
    --------
    Table III of Kalibera and Jones.

    >>> import xarray as xr, perfarray
    >>> table = [[[9, 5], [8, 3]], [[10, 6], [7, 11]], [[1, 12], [2, 4]]]
    >>> times = xr.DataArray(table, dims=("binary", "execution", "iteration"), name="time")
    >>> times.perf.variance_components()["variance"].round(1).to_series().to_dict()
    {'binary': 2.3, 'execution': -5.7, 'iteration': 16.5}
    """
    check_choice(method, "method", tuple(INTERVALS))
    check_choice(negative, "negative", ("keep", "zero", "merge"))
    check_choice(limits, "limits", LIMITS)
    if limits != "normal" and method != "anova":
        raise ValueError(
            f"limits={limits!r} are those of method='anova'; method={method!r} has the limits "
            "of its likelihood"
        )
    confidence = check_confidence_level(confidence_level)
    data = resolve(times, metric, levels, as_nested=True)
    units = np.append(
        [str(label) for label in labels_along(data.array, data.levels[0])], ""
    ).astype(object)
    result = apply(
        lambda values: _split(
            values, len(data.levels), units, method, negative, limits, confidence
        ),
        data.array,
        core=[data.levels],
        outputs=_outputs(data.units, method),
        coords={LEVEL: list(data.levels)},
        attrs=data.describe()
        | {
            "result": "variance_components",
            "method": method,
            "negative": negative,
            "limits": limits,
        }
        | {
            "confidence_level": confidence,
            "interval_method": JACKKNIFE if limits == "jackknife" else INTERVALS[method],
        },
    )
    return with_notes(result, *data.notes, *data.crossed, checks=("components",))


@lru_cache(maxsize=32)
def _outputs(units: str, method: str) -> dict[str, Output]:
    squares = {
        "variance": "variance component",
        "lower": "lower limit of the variance component",
        "upper": "upper limit of the variance component",
        "variance_standard_error": "standard error of the variance component",
        "level_variance": "variance of the level's means",
    }
    relative = {
        "share": "share of the variance",
        "coefficient_of_variation": "relative standard deviation contributed by the level",
        "level_coefficient_of_variation": "relative standard deviation of the level's means",
        "repetitions": "repetitions inside one parent",
    }
    carried = {
        "carried_share": "share of the level's sum of squares that these units take away",
        "carried_pvalue": "how often units of normal values carry as much, at most",
    }
    return (
        outputs(square_units(units), (LEVEL,), **squares)
        | outputs("1", (LEVEL,), **relative)
        | {"merged": Output((LEVEL,), "", bool, "merged into the level below")}
        | outputs(units, mean="", standard_error="")
        | outputs(
            total_coefficient_of_variation="relative standard deviation of a single measurement",
            df="",
        )
        | {
            "carried_by": Output(
                (LEVEL,),
                "",
                object,
                "one or two units without which the level's mean square is less than half",
            )
        }
        | outputs("1", (LEVEL,), **carried)
        | (
            outputs(
                "1",
                (LEVEL,),
                unevenness="variance of the log mean square, over that of normal values",
            )
            if method == "anova"
            else outputs(
                criterion="-2 log likelihood" + (", restricted" if method == "reml" else "")
            )
        )
    )


def _split(
    values: Floats,
    levels: int,
    units: Texts,
    method: str,
    negative: str,
    limits: str,
    confidence_level: float,
) -> tuple[np.ndarray, ...]:
    """Return the variables of `_outputs`.

    Those that describe the data are of the analysis of variance, whatever the method.
    """
    components = nested_anova(values, levels, negative if method == "anova" else "keep")
    estimate: Components | RemlFit = components
    interval: ComponentLimits | RemlFit
    if method == "anova":
        interval = anova_limits(values, components, confidence_level)
        error = interval.standard_error
        if negative == "zero":
            error = np.where(components.variance == 0, np.nan, error)
        if limits == "jackknife":
            wider = jackknife_limits(values, components, confidence_level)
            interval = interval._replace(
                lower=np.fmin(wider.lower, interval.lower),
                upper=np.fmax(wider.upper, interval.upper),
            )
        last = unevenness(values, components, LOOKED_AT if limits == "normal" else None)
    else:
        estimate = interval = fit = nested_reml(
            values, levels, components, method == "reml", confidence_level
        )
        error, last = fit.variance_standard_error, fit.criterion
    variance, mean = estimate.variance, estimate.mean
    positive = np.maximum(variance, 0.0)
    total = np.where(np.isnan(variance).all(axis=-1), np.nan, np.nansum(positive, axis=-1))
    with np.errstate(divide="ignore", invalid="ignore"):
        share, total_relative = positive / total[..., None], np.sqrt(total) / mean
        relative, level_relative = (
            np.sqrt(squares) / mean[..., None] for squares in (positive, components.level_variance)
        )
    carried = carriers(values, components)
    first, second = units[carried.first], units[carried.second]
    carried_by = first + np.where(second == "", "", " and ").astype(object) + second
    return (
        variance,
        interval.lower,
        interval.upper,
        error,
        components.level_variance,
        share,
        relative,
        level_relative,
        components.repetitions,
        components.merged,
        mean,
        estimate.standard_error,
        total_relative,
        estimate.df,
        carried_by,
        carried.share,
        carried.pvalue,
        last,
    )


@check("components")
def component_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Count the cells without an answer, or without limits, and name what dominates."""
    counts, squares = (result.variables[name].values for name in ("repetitions", "level_variance"))
    one_unit, empty = counts[..., 0] == 1, np.isnan(counts[..., -1])
    outermost = str(result.attrs["levels"]).split()[0]
    alone = (
        f"{{cells}} rest on one {outermost}: its component and the standard error are NaN. "
        f"{more_units(result.attrs)}"
    )
    cases = (
        count_note("single_unit", alone, one_unit),
        count_note("no_value", NOT_MEASURED, empty),
        _carriers_note(result, outermost),
    )
    if result.attrs["method"] == "anova":
        return *cases, _normal_limits_note(result, counts[..., 0] == 2, plural(outermost))
    limits = (result.variables[name].values for name in ("lower", "upper"))
    open_ended = np.logical_or(*map(np.isnan, limits)) & ~np.isnan(squares)
    text = (
        "{cells} have no maximum of the likelihood, or no limits of its profile: these are NaN. "
        "method='anova' has an answer."
    )
    return *cases, count_note("no_limit", text, open_ended.any(axis=-1))


def _carriers_note(result: xr.Dataset, unit: str) -> Note | None:
    """Name the units that carry a level, at an error rate of `CHANCE` in all cells."""
    pvalue = result.variables["carried_pvalue"].values
    carried = pvalue * np.count_nonzero(~np.isnan(pvalue)) <= CHANCE
    if not carried.any():
        return None
    where = result["carried_pvalue"].copy(data=carried)
    cells = where.any(LEVEL)
    names, examples = cell_names(cells) if cells.ndim else [""], []
    for index, name in list(zip(np.argwhere(cells.values), names, strict=True))[:EXAMPLES]:
        cell = result.isel(dict(zip(cells.dims, index, strict=True)))
        row = cell.isel({LEVEL: int(np.nanargmin(cell["carried_pvalue"].values))})
        label = row["carried_by"].item()
        text = (
            f"{plural(unit) if ' and ' in label else unit} {label} with "
            f"{100 * row['carried_share'].item():.0f} % of the squares of "
        )
        examples.append((f"{name}: " if name else "") + text + row[LEVEL].item())
    listing = "; ".join(examples) + ("; ..." if len(names) > EXAMPLES else "")
    text = (
        f"In {{cells}} one or two {plural(unit)} cause most of the spread ({listing}). "
        f"Estimate and limits say little of the others. Inspect or exclude these {plural(unit)}."
    )
    return count_note(
        "carried",
        text,
        cells.values,
        units=sorted({str(label) for label in result["carried_by"].values[where.values]}),
    )


def _normal_limits_note(result: xr.Dataset, two: Mask, units: str) -> Note | None:
    """Say where limits rest on normal effects though they were not to, or are far from them.

    Nearly all timings are uneven, and few who ask for components ask for their limits: unless more
    cells are than chance would make, nothing is said, and then without a warning.
    """
    if result.attrs["interval_method"] == JACKKNIFE:
        text = (
            f"{{cells}} rest on two {units}: leaving out one leaves no variance. Their limits are "
            "those of normal effects. Measure more."
        )
        return count_note("uneven", text, two)
    values = result.variables["unevenness"].values
    is_uneven = np.asarray((values >= UNEVEN).any(axis=-1))
    looked_at = np.asarray((~np.isnan(values)).any(axis=-1))
    n = int(looked_at.sum())
    if is_uneven.sum() <= SELDOM * n + 2 * np.sqrt(SELDOM * (1 - SELDOM) * n):
        return None
    text = (
        "In {cells} a few extreme values dominate. The nominal 95 % limits may hold the truth only "
        "30 to 80 % of the time. limits='jackknife' covers more."
    )
    note = count_note("uneven", text, is_uneven[looked_at])
    return replace(note, aside=True) if note else None
