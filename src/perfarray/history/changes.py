"""The commits of a history at which a metric changed, for every benchmark and machine."""

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from perfarray.conventions import BENCHMARK, plural
from perfarray.history.alternation import succession_notes
from perfarray.history.numerics.law import fewest
from perfarray.history.numerics.results import Search, chances, common_changes, describe
from perfarray.history.numerics.watch import MIN_COMMITS, RATES
from perfarray.history.order import resolve_history
from perfarray.numerics.types import Floats, Mask
from perfarray.numerics.verdicts import adjust
from perfarray.timings.apply import Output, apply, is_chunked, outputs
from perfarray.timings.metrics import for_each_metric
from perfarray.timings.notes import Note, check, count_note, with_notes
from perfarray.timings.resolve import Data
from perfarray.timings.validation import (
    check_choice,
    check_confidence_level,
    check_count,
    check_number,
    check_share,
    check_threshold,
    listed,
)

# The coordinate along the commits that names the machine that measured them.
HOST = "host"

# The share of independent series that seem dependent by chance.
DEPENDENT_SHARE = 0.05

# The share of series with long tails whose spread seems to change by chance.
UNEVEN_SHARE = 0.1

# The number of common changes, and of series whose spread changes, that a note names.
MAX_EXAMPLES = 5


@for_each_metric
def change_points(
    times: Data,
    *,
    dim: str = "commit",
    alpha: float = 0.05,
    threshold: float = 0.0,
    min_size: int = 2,
    host: str | None = None,
    correction: str | None = "bh",
    across: str = BENCHMARK,
    online: bool = False,
    false_alarms: float = 1.0,
    order: Any = None,
    confidence_level: float = 0.95,
    levels: str | tuple[str, ...] | None = None,
    censored: str = "bound",
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Find the commits at which a metric changed, with the size and p-value of each change.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings; repetitions of a commit are averaged, other dims broadcast.
    dim : str
        The history: commits, dates or builds.
    alpha : float
        The chance of any change in a stable history.
    threshold : float
        A relative change that does not matter: 0.02 for 2 %.
    min_size : int
        The fewest commits in a segment.
    host : str, optional
        A coordinate along `dim`; a change that comes with another host has the cause `host`.
    correction : {"bh", "holm", None}
        Over all series of the call.
    across : str
        The dim whose labels may change at one commit.
    online : bool
        Judge every commit by those up to it alone.
    false_alarms : float
        With `online`, instead of `alpha`: alarms per 1,000 commits of a stable history.
    order : str or array, optional
        What sorts the labels, oldest first: a coordinate, numbers, dates, `"stored"` or
        `"reversed"`. Default: dates, numbers, versions, else as stored.
    confidence_level : float
        Of limits and verdicts.
    levels, metric : str or sequence of str, optional
        The nest, outermost first (default: the levels present); the variables (default: `time`).
    censored : {"bound", "drop"}
        Count stopped runs as at least their limit, or leave them out.

    Returns
    -------
    Dataset
        Along `dim`, with the coordinate `position` (order in time): `value`, `value_lower`,
        `value_upper`, `segment_mean` (units of the data); `n_units`; `relative_noise`; `segment`
        (from 0) and `n_segment`, its commits; `change`, True where a segment begins, and its
        `probability`; with `online`, `alarm`.

        Where `change`: `estimate` (after / before), `lower`, `upper`, `pvalue`, `verdict`;
        `earliest` and `latest` possible commit (95 %); `cause` (`code`, `host`, or `drift` where a
        drift ends); `common` (with other benchmarks).

        By series: `n` commits; `pvalue_any`; `noise` of commits and `within` of repetitions,
        relative; `correlation` of neighbours; `drifting`. By commit: `n_common`.

    Raises
    ------
    ValueError
        Unknown names; labels that repeat or have no order; numbers out of range.

    Notes
    -----
    One execution a commit is enough. At 5 %, and with `online`, 8 commits are needed. Correlated
    commits give more false changes; a note names the correlation. Small changes that are found look
    larger than they are. See :doc:`/how-to/change_points`.

    References
    ----------
    A. B. Olshen et al., "Circular binary segmentation for the analysis of array-based DNA copy
    number data", Biostatistics 5, 2004. Y. Benjamini, M. Bogomolov, "Selective inference on
    multiple families of hypotheses", JRSS B 76, 2014.

    Examples
    --------
    >>> import numpy as np, xarray as xr, perfarray
    >>> runs = np.random.default_rng(1).normal(10.0, 0.1, size=(40, 3))
    >>> runs[25:] += 0.6
    >>> times = xr.DataArray(runs, dims=("commit", "execution"))
    >>> change = times.perf.change_points().isel(commit=25)
    >>> change["change"].item(), change["verdict"].item(), round(change["estimate"].item(), 2)
    (True, 'slower', 1.06)
    """
    level = check_share(alpha, "alpha", "0.05")
    confidence_level = check_confidence_level(confidence_level)
    margin, min_size = check_threshold(threshold), check_count(min_size, "min_size", 2)
    check_choice(correction, "correction", ("bh", "holm", None))
    rate = check_number(false_alarms, "false_alarms") / 1000 if online else 0.0
    if online and not RATES[-1] <= rate <= RATES[0]:
        raise ValueError(
            f"false_alarms={false_alarms!r} per 1,000 commits is out of range. Give a number from "
            f"{1000 * RATES[-1]:.2g} to {1000 * RATES[0]:.2g}."
        )
    data, labels, in_time = resolve_history(times, dim, metric, levels, order, censored)
    array, core = data.array, [dim, *data.levels]
    search = Search(
        len(data.levels), min_size, margin, confidence_level, data.verdict_direction(), labels, rate
    )
    pvalues = apply(
        partial(chances, search=search), array, core=[core], outputs={"pvalue_any": Output()}
    )["pvalue_any"]
    # A mark of a stopped run may lie along the runs alone.
    no_bound = xr.zeros_like(array.isel(dict.fromkeys(data.levels, 0), drop=True), dtype=bool)
    error_rate = {"alpha": level, "correction": correction or "none"}
    result = apply(
        partial(describe, search=search),
        array,
        _search_levels(pvalues, level, correction),
        _hosts(array, dim, host, data.levels),
        *(bound | no_bound for bound in data.bounds),
        core=[core, [], [dim], [dim], [dim]],
        outputs=_outputs(dim, data.units, labels),
        coords={dim: labels},
        attrs=data.describe()
        | {"result": "change_points", "unit": dim, "dim": dim, "better": data.better}
        | {"threshold": margin}
        | ({"false_alarms": 1000 * rate} if online else error_rate)
        | {"order": in_time.by, "min_size": min_size, "across": across}
        | {"confidence_level": confidence_level},
    )
    if dim not in array.coords:
        result = result.drop_vars(dim)
    result = result.assign({"pvalue_any": pvalues} | _common(result, dim, across))
    result = result.drop_vars(["_first", "_last"] if online else ["_first", "_last", "alarm"])
    position = xr.Variable(
        dim, np.arange(len(labels)), {"long_name": f"place of the {dim} in time"}
    )
    result = result.assign_coords(position=position).isel({dim: in_time.ranks})
    notes: list[Note | None] = [*in_time.notes, *succession_notes(array, dim, data.levels)]
    if data.n_stopped:
        consequence = (
            "No change in favour of the stopped side is called one. The limit towards the "
            "unknown is open"
        )
        notes.append(data.stopped_note(consequence))
    return with_notes(result, *data.notes, *notes, checks=("changes",))


def _hosts(
    array: xr.DataArray, dim: str, host: str | None, levels: tuple[str, ...]
) -> xr.DataArray:
    """Return a number for the host of every commit, the same for all without this coordinate."""
    name = HOST if host is None else host
    if name not in array.coords or dim not in array.coords[name].dims:
        if host is not None:
            along = [
                str(key) for key, coord in array.coords.items() if dim in coord.dims and key != dim
            ]
            raise ValueError(
                f"host={host!r} is no coordinate along {dim!r}. There is "
                f"{listed(along) if along else 'none'}."
            )
        return xr.zeros_like(array[dim].reset_coords(drop=True), dtype=int)
    hosts = array.coords[name].reset_coords(drop=True)
    hosts = hosts.isel(dict.fromkeys(levels, 0), missing_dims="ignore")
    codes: xr.DataArray = hosts.copy(
        data=pd.factorize(np.ravel(hosts.values).astype(str))[0].reshape(hosts.shape)
    )
    return codes


def _search_levels(pvalues: xr.DataArray, alpha: float, correction: str | None) -> xr.DataArray:
    """Return the level at which each series is searched: 0 where it counts as stable."""
    dims = [str(dim) for dim in pvalues.dims]
    if is_chunked(pvalues):
        pvalues = pvalues.chunk(dict.fromkeys(dims, -1))

    def kernel(values: Floats) -> tuple[Floats]:
        # All dims of the p-values are core dims: the series are one family.
        flat = values.reshape(-1)
        selected = adjust(flat, correction) <= alpha
        members = max(np.sum(~np.isnan(flat)), 1)
        share = (
            1.0
            if correction is None
            else 1.0 / members
            if correction == "holm"
            else selected.sum() / members
        )
        return (np.where(selected, alpha * share, 0.0).reshape(values.shape),)

    levels: xr.DataArray = apply(
        kernel, pvalues, core=[dims], outputs={"level": Output(tuple(dims))}
    )["level"]
    return levels


def _outputs(dim: str, units: str, labels: npt.NDArray[Any]) -> dict[str, Output]:
    """Return the variables of a result, in the order of `describe`."""
    along = (dim,)
    label = (
        object if labels.dtype.kind == "O" else labels.dtype if labels.dtype.kind in "mM" else float
    )
    texts = {"verdict": "", "cause": "what made the change"}
    return (
        {
            "change": Output(along, "", bool, "first of a new segment"),
            "segment": Output(along, "", int, "number of the segment"),
        }
        | outputs("1", along, estimate="after / before", lower="", upper="", pvalue="")
        | {name: Output(along, "", object, text) for name, text in texts.items()}
        | {
            name: Output(along, "", label, f"{name} {dim} that may have made the change")
            for name in ("earliest", "latest")
        }
        | outputs("1", along, probability="probability of a change here")
        | outputs(
            units,
            along,
            value=f"mean of the {dim}",
            value_lower="",
            value_upper="",
            segment_mean="mean of the segment",
        )
        | outputs(
            "1",
            along,
            n_units=f"independent units of the {dim}",
            relative_noise=f"of the {dim}, by the whole history's",
        )
        | outputs("1", along, n_segment=f"{plural(dim)} measured in the segment")
        | {"_first": Output(along, "", int), "_last": Output(along, "", int)}
        | outputs("1", n=f"{plural(dim)} measured", noise=f"standard deviation of a {dim} / mean")
        | outputs(
            "1",
            within=f"of it, from repetitions inside a {dim}",
            correlation="of neighbours' noise",
        )
        | {"alarm": Output(along, "", bool, "a change was first seen here")}
        | {"drifting": Output((), "", bool, "a segment drifts")}
    )


def _common(result: xr.Dataset, dim: str, across: str) -> dict[str, xr.DataArray]:
    arrays = [result[name] for name in ("change", "_first", "_last")]
    has_no_across = across not in result["change"].dims
    if has_no_across:
        arrays = [array.expand_dims(across) for array in arrays]
    elif is_chunked(arrays[0]):
        arrays = [array.chunk({across: -1}) for array in arrays]
    variables = {
        "common": Output((across, dim), "", bool, "with other benchmarks"),
        "n_common": Output((dim,), "", int),
    }
    changes = apply(common_changes, *arrays, core=[[across, dim]] * 3, outputs=variables)
    common = changes["common"].isel({across: 0}, drop=True) if has_no_across else changes["common"]
    return {"common": common.transpose(*result["change"].dims), "n_common": changes["n_common"]}


def _more_than_chance(where: Mask, share: float) -> bool:
    """Return whether a mask holds in more series than chance explains, or in the only one."""
    expected = share * where.size
    return bool(where.any()) and (
        where.size == 1 or where.sum() >= expected + 2 * np.sqrt(expected)
    )


@check("changes")
def change_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Count series that are too short, that drift, and whose noise is uneven."""
    result = result.sortby("position")
    dim, alpha = str(result.attrs["dim"]), float(result.attrs.get("alpha", 0.0))
    min_size, n = int(result.attrs["min_size"]), result["n"].values
    needed = fewest(alpha) if alpha else max(MIN_COMMITS, min_size) + min_size
    commits = plural(dim)
    at = f" at alpha={alpha:g}" if alpha else ""
    short = (
        f"{{cells}} have fewer than {needed} {commits} with data. No change can be found in "
        f"them{at}. Measure more {commits}, or compare two."
    )
    if not needed:
        short = f"At alpha={alpha:g} no change can be found in {{cells}}. Give a larger alpha."
    dependent = (
        f"In {{cells}} the noise of one {dim} is like that of the one before (variable "
        "correlation). It was removed, but slow swings may still be called changes. "
        "Measure a stable program beside, or on several hosts."
    )
    drift = (
        f"In {{cells}} a straight line describes some {commits} better than steps. "
        f"This drift was made by no single {dim}. trend() estimates the slope."
    )
    ratio = (
        "{cells} follow a mean that is not positive. They have no ratio, and their verdict is that "
        "of the difference. Read segment_mean instead."
    )
    correlated = result["correlation"].values > 0
    return (
        count_note(
            "few_commits", short, (n < needed) if needed else n > 0, "series", needed=needed
        ),
        count_note("noise", dependent, correlated, "series")
        if _more_than_chance(correlated, DEPENDENT_SHARE)
        else None,
        count_note("drift", drift, result["drifting"].values.astype(bool), "series"),
        count_note(
            "zero_means",
            ratio,
            np.isnan(result["estimate"].values[result["change"].values]),
            "changes",
        ),
        _common_note(result, dim),
        _spread_note(result, dim),
    )


def _spread_note(result: xr.Dataset, dim: str) -> Note | None:
    """Name the series whose spread changes, unless chance explains their number."""
    spreads = result["relative_noise"].transpose(..., dim)
    uneven = (spreads.max(dim) > spreads.min(dim)).values
    if not _more_than_chance(uneven, UNEVEN_SHARE):
        return None
    examples = []
    for cell in np.argwhere(uneven)[:MAX_EXAMPLES]:
        series = spreads[tuple(cell)].dropna(dim)
        large = series.values**2 > float(series.max() * series.min())
        position = int(np.flatnonzero(large != large[0])[0])
        name = "".join(
            f"{series[dim_of_cell].item()} "
            for dim_of_cell in spreads.dims[:-1]
            if dim_of_cell in series.coords
        )
        label = series[dim].values[position] if dim in series.coords else position
        size = "larger" if large[position] else "smaller"
        examples.append(
            f"{name}from about {label} on, {float(series.max() / series.min()):.2g} times {size}"
        )
    text = (
        f"In {{cells}} the spread of one {dim} about the next changes (variable relative_noise): "
        f"{', '.join(examples)}. Each {dim} was judged by its own estimated spread. "
        "Below 100 commits, false alarms are more frequent than alpha."
    )
    return count_note("noise", text, uneven, "series")


def _common_note(result: xr.Dataset, dim: str) -> Note | None:
    numbers = result["n_common"].transpose(dim, ...)
    indices = np.argwhere(numbers.values)
    if not len(indices) or dim not in numbers.coords:
        return None
    examples = []
    for index in indices[:MAX_EXAMPLES]:
        cell = numbers[tuple(index)]
        where = "".join(
            f", {name} {cell[name].item()}" for name in numbers.dims[1:] if name in cell.coords
        )
        examples.append(f"{cell.item()} at {cell[dim].item()}{where}")
    hidden = f" and {len(indices) - MAX_EXAMPLES} more" if len(indices) > MAX_EXAMPLES else ""
    text = (
        f"Several benchmarks changed together: {', '.join(examples)}{hidden}. "
        "They probably have one cause."
    )
    return Note("common", text, {"commits": len(indices)}, aside=True)
