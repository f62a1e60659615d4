"""Since when: the commits of a history at which a metric changed, for every benchmark and machine."""

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from perfarray.conventions import BENCHMARK, plural
from perfarray.history.numerics.causes import common_changes
from perfarray.history.numerics.law import fewest
from perfarray.history.numerics.results import Question, chances, describe
from perfarray.history.numerics.watch import KNOWN, RATES
from perfarray.history.order import history_labels
from perfarray.numerics.types import Floats
from perfarray.numerics.verdicts import adjust
from perfarray.timings.apply import Output, apply, is_chunked, outputs
from perfarray.timings.metrics import over_metrics
from perfarray.timings.notes import Note, check, count_note, noted
from perfarray.timings.resolve import Data, resolve
from perfarray.timings.validation import (
    check_choice,
    check_confidence_level,
    check_count,
    check_number,
    check_share,
    check_threshold,
    listed,
)

HOST = "host"
"""The coordinate along the commits that says where they were measured."""

FALSE = 0.05
"""The share of series without dependence in which chance makes some."""

UNEVEN = 0.1
"""The share of series in which chance makes a change of spread, where noise has long tails."""

FEW = 5
"""Common changes, and series whose spread changes, that are named."""

ONLY_WORSE = "no change in favour of the stopped side is called one, and the limit towards what is not known is open"


@over_metrics
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
    confidence_level: float = 0.95,
    levels: str | tuple[str, ...] | None = None,
    censored: str = "bound",
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Find the commits at which a metric changed, with the set of commits it may have been, how much it changed, and how sure that is.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings. The repetitions of one commit are averaged, inner levels first (logs of the outermost level's means, where all are
        positive); every other dim broadcasts: machines and benchmarks are series of their own.
    dim : str
        What runs along a history, in the order stored: commits, dates, builds. Its labels are unique; commits that were not measured are
        NaN.
    alpha : float
        The chance of any change in a stable history of one benchmark.
    threshold : float
        A relative change that does not matter: 0.02 for 2 %. Changes are found all the same; the verdict says whether they matter.
    min_size : int
        The fewest commits of a segment: with 2, a single outlying commit is no change.
    host : str, optional
        A coordinate along `dim`. Changes that coincide with another host have the cause `host`. Default: `host`, where there is one.
    correction : {"bh", "holm", None}
        Over all series of the call: the share of stable ones among those said to change is at most `alpha` (Benjamini and Hochberg), or
        the chance of any (Holm); None: `alpha` holds for each.
    across : str
        The dim along which changes at one commit may be one.
    online : bool
        Whether every commit is judged by those up to it alone, as by one who looks whenever one was measured: is the last one different,
        and since when? The last True of `change` says since when, `alarm` where it was seen.
    false_alarms : float
        How many alarms per 1,000 commits a stable history of one benchmark may have, with `online`; `alpha` and `correction` are then not
        used.
    confidence_level : float
        Of the limits of a change, and 1 minus the error rate of its verdict.
    levels, metric : str or sequence of str, optional
        The nest inside one commit, outermost first (default: the repetition dims present); the variable(s) of a Dataset (default: its
        `time`).
    censored : {"bound", "drop"}
        Runs stopped at a limit count as that limit, and no verdict is in their favour; or they are left out, which flatters.

    Returns
    -------
    Dataset
        Along `dim`: `value`, that of the commit, with `value_lower` and `value_upper` (what its noise makes of it, at the confidence
        level), and `segment_mean`, that of its segment, in the units of the data; `n_units` behind it; `relative_noise`, its spread by
        that of the whole history (1 where the spread does not change); `segment`, its number
        from 0; `change`, the first commit of a new segment; `probability`, that of a change at this commit. Where `change`: `estimate`
        (after / before), `lower`, `upper`; `pvalue`, the chance that a stable history shows such a step anywhere; `verdict`, `faster`,
        `slower`, `equivalent` or `inconclusive` in the sense of `better` and `threshold`; `earliest` and `latest`, the labels of the first
        and last commit that may have made it (95 %); `cause`, `code` or `host`; `common`, whether benchmarks along `across` changed
        with it; elsewhere NaN, "" or False. For every series: `n`, the commits measured; `pvalue_any`, the chance of what its largest
        change shows in a stable history; `noise`, the relative standard deviation of a commit's value about its segment, of which
        `within` is what the repetitions inside a commit explain; `correlation` of one commit's noise with the next one's; `drifting`,
        whether a straight line says more than the steps. For every commit: `n_common`, how many benchmarks changed together.

        Online there is along `dim` also `alarm`, the commits at which a change was first seen.

    Raises
    ------
    ValueError
        Unknown dims, coordinates or levels; labels that repeat, or hashes in the order of their names without dates; numbers out of range.

    See Also
    --------
    compare : two versions, when it is known which
    steady_state : the same question inside one execution

    Notes
    -----
    What differs from commit to commit though nothing changed (days, hosts, links) is taken from the series itself, so that more
    executions inside one day do not make the day's noise a change, and one execution a commit is enough. Tests are those of normal scores
    of ranks, for one step and for a bump, in every stretch: `alpha` holds whatever the noise, outliers, modes and long tails included,
    as long as one commit's noise does not depend on the one before. Where neighbours are alike beyond chance, that is taken out and
    told; where the spread changes along the history, commits count by their own, and a note names the series: the level then holds from
    100 commits on, and for fewer up to 11 % of stable series show a change (docs/how-to/change_points.md). Fewer than 8 commits can show no
    change at 5 %. Sizes are Huber's estimates, which single days hardly move, with Student's t; selected as the largest, small
    changes look larger than they are. A slow drift is cut into steps: `drifting` says so.

    Online, scores are those of ranks among the commits before; their sums over the last commits, of which the largest is watched, have
    one limit for all noise too. Nothing is strange before 8 commits are known. What neighbours have in common is estimated from all
    commits at hand: where it becomes known later, alarms before may move. Asked after every commit, a change of spread costs two to three
    times the alarms that are meant, since the first commits with a larger spread look like a step.

    References
    ----------
    A. B. Olshen, E. S. Venkatraman, R. Lucito, M. Wigler, "Circular binary segmentation for the analysis of array-based DNA copy number
    data", Biostatistics 5, 2004. Y. Benjamini, M. Bogomolov, "Selective inference on multiple families of hypotheses", JRSS B 76, 2014:
    the level inside the series selected.

    Examples
    --------
    >>> import numpy as np, xarray as xr, perfarray
    >>> noise = np.random.default_rng(1).normal(0, 0.01, size=(40, 3))
    >>> slower = np.where(np.arange(40) < 25, 10.0, 10.6)[:, None]
    >>> times = xr.DataArray(slower * (1 + noise), dims=("commit", "execution"), coords={"commit": [f"c{i}" for i in range(40)]})
    >>> found = times.perf.change_points()
    >>> found["commit"].values[found["change"]].tolist(), found["verdict"].sel(commit="c25").item()
    (['c25'], 'slower')
    >>> found["estimate"].sel(commit="c25").item().__round__(2), found["earliest"].sel(commit="c25").item()
    (1.06, 'c25')
    """
    level, sure = check_share(alpha, "alpha", "0.05"), check_confidence_level(confidence_level)
    margin, least = check_threshold(threshold), check_count(min_size, "min_size", 2)
    check_choice(correction, "correction", ("bh", "holm", None))
    rate = _rate(false_alarms) if online else 0.0
    data = resolve(times, metric, levels, censored=censored)
    labels = history_labels(data.array, dim, data.levels)
    hosts = _hosts(data.array, dim, host, data.levels)
    question = Question(len(data.levels), least, margin, sure, data.better, labels, rate)
    rules = {"result": "change_points", "unit": dim, "dim": dim, "better": data.better, "threshold": margin}
    rules |= {"false_alarms": 1000 * rate} if online else {"alpha": level, "correction": correction or "none"}
    rules |= {"min_size": least, "across": across, "confidence_level": sure}
    core = [dim, *data.levels]
    first = apply(partial(chances, question=question), data.array, core=[core], outputs={"pvalue_any": Output()})["pvalue_any"]
    no_bound = xr.zeros_like(data.array.isel(dict.fromkeys(data.levels, 0), drop=True), dtype=bool)
    at_least, at_most = (bound | no_bound for bound in data.bounds)  # a mark may lie along the runs alone
    result = apply(
        partial(describe, question=question),
        data.array,
        _levels(first, level, correction),
        hosts,
        at_least,
        at_most,
        core=[core, [], [dim], [dim], [dim]],
        outputs=_outputs(dim, data.units, labels),
        coords={dim: labels},
        attrs=data.describe() | rules,
    )
    if dim not in data.array.coords:
        result = result.drop_vars(dim)
    result["pvalue_any"] = first
    result = result.assign(_together(result, dim, across)).drop_vars(["_first", "_last"] if online else ["_first", "_last", "alarm"])
    limit_note = data.stopped_note(ONLY_WORSE) if data.n_stopped else None
    return noted(result, *data.notes, limit_note, checks=("changes",))


def _rate(false_alarms: float) -> float:
    """Return the rate of false alarms per commit, within those that are known."""
    rate, (low, high) = check_number(false_alarms, "false_alarms") / 1000, (RATES[-1], RATES[0])
    if not low <= rate <= high:
        raise ValueError(f"false_alarms={false_alarms!r} per 1,000 commits: give a number from {1000 * low:.2g} to {1000 * high:.2g}")
    return rate


def _hosts(array: xr.DataArray, dim: str, host: str | None, levels: tuple[str, ...]) -> xr.DataArray:
    """Return a number for the host of every commit, the same for all where nothing says otherwise."""
    name = HOST if host is None else host
    if name not in array.coords or dim not in array.coords[name].dims:
        if host is not None:
            along = [str(key) for key, coord in array.coords.items() if dim in coord.dims and key != dim]
            raise ValueError(f"host={host!r} is no coordinate along {dim!r}; there is {listed(along) if along else 'none'}")
        return xr.zeros_like(array[dim].reset_coords(drop=True), dtype=int)
    hosts = array.coords[name].reset_coords(drop=True)
    inside = [level for level in levels if level in hosts.dims]
    hosts = hosts.isel(dict.fromkeys(inside, 0))
    codes: xr.DataArray = hosts.copy(data=pd.factorize(np.ravel(hosts.values).astype(str))[0].reshape(hosts.shape))
    return codes


def _levels(pvalues: xr.DataArray, alpha: float, correction: str | None) -> xr.DataArray:
    """Return the level at which each series is searched: 0 where the correction leaves it without a change."""
    dims = [str(dim) for dim in pvalues.dims]
    if is_chunked(pvalues):
        pvalues = pvalues.chunk(dict.fromkeys(dims, -1))
    kernel = partial(_corrected, axes=len(dims), alpha=alpha, correction=correction)
    search_levels: xr.DataArray = apply(kernel, pvalues, core=[dims], outputs={"level": Output(tuple(dims))})["level"]
    return search_levels


def _corrected(pvalues: Floats, *, axes: int, alpha: float, correction: str | None) -> tuple[Floats]:
    """Return levels of series from the p-values of all."""
    flat = pvalues.reshape(*pvalues.shape[: pvalues.ndim - axes], -1)
    selected = adjust(flat, correction) <= alpha
    members = np.maximum(np.sum(~np.isnan(flat), axis=-1, keepdims=True), 1)
    share = 1.0 if correction is None else 1.0 / members if correction == "holm" else selected.sum(axis=-1, keepdims=True) / members
    return (np.where(selected, alpha * share, 0.0).reshape(pvalues.shape),)


def _outputs(dim: str, units: str, labels: npt.NDArray[Any]) -> dict[str, Output]:
    """Return the variables of a result, in the order of `describe`."""
    along = (dim,)
    label = object if labels.dtype.kind == "O" else labels.dtype if labels.dtype.kind in "mM" else float
    texts = {"verdict": "", "cause": "what made the change"}
    return (
        {"change": Output(along, "", bool, "first of a new segment"), "segment": Output(along, "", int, "number of the segment")}
        | outputs("1", along, estimate="after / before", lower="", upper="", pvalue="")
        | {name: Output(along, "", object, text) for name, text in texts.items()}
        | {name: Output(along, "", label, f"{name} {dim} that may have made the change") for name in ("earliest", "latest")}
        | outputs("1", along, probability="probability of a change here")
        | outputs(units, along, value=f"mean of the {dim}", value_lower="", value_upper="", segment_mean="mean of the segment")
        | outputs("1", along, n_units=f"independent units of the {dim}", relative_noise=f"of the {dim}, by the whole history's")
        | {"_first": Output(along, "", int), "_last": Output(along, "", int)}
        | outputs("1", n=f"{plural(dim)} measured", noise=f"standard deviation of a {dim} / mean")
        | outputs("1", within=f"of it, from repetitions inside a {dim}", correlation="of neighbours' noise")
        | {"alarm": Output(along, "", bool, "a change was first seen here")}
        | {"drifting": Output((), "", bool, "a line says more than the steps")}
    )


def _together(result: xr.Dataset, dim: str, across: str) -> dict[str, xr.DataArray]:
    """Return which changes are common to many benchmarks, and how many of these there are at each commit."""
    arrays = [result[name] for name in ("change", "_first", "_last")]
    single = across not in result["change"].dims
    if single:
        arrays = [array.expand_dims(across) for array in arrays]
    elif is_chunked(arrays[0]):
        arrays = [array.chunk({across: -1}) for array in arrays]
    plane = [across, dim]
    joint = apply(
        _each_common,
        *arrays,
        core=[plane] * 3,
        outputs={"common": Output((across, dim), "", bool, "with other benchmarks"), "n_common": Output((dim,), "", int)},
    )
    common = joint["common"].isel({across: 0}, drop=True) if single else joint["common"]
    return {"common": common.transpose(*result["change"].dims), "n_common": joint["n_common"]}


def _each_common(change: Any, first: Any, last: Any) -> tuple[Any, Any]:
    """Ask every cell of arrays (..., series, n) which changes are common."""
    common, numbers = np.zeros(change.shape, dtype=bool), np.zeros(change.shape[:-2] + change.shape[-1:], dtype=int)
    for cell in np.ndindex(change.shape[:-2]):  # machines
        common[cell], numbers[cell] = common_changes(change[cell], first[cell], last[cell])
    return common, numbers


@check("changes")
def change_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Count series that are too short for any change, whose noise depends on the commit before, and that drift."""
    dim, alpha = str(result.attrs["dim"]), float(result.attrs.get("alpha", 0.0))
    needed, n = fewest(alpha) if alpha else max(KNOWN, int(result.attrs["min_size"])) + int(result.attrs["min_size"]), result["n"].values
    many = plural(dim)
    at = f" at alpha={alpha:g}" if alpha else ""
    short = (
        f"{{cells}} have fewer than {needed} {many} with data: no change can be found in them{at}; measure more {many}, or compare two"
        if needed
        else f"at alpha={alpha:g}, below what these series can show, no change can be found in {{cells}}; give a larger alpha"
    )
    dependent = (
        f"in {{cells}} the noise of one {dim} is like that of the one before (the variable correlation): this was taken out before looking "
        "for changes, and slow swings may be called changes all the same; measure a stable program beside, or on several hosts"
    )
    drift = "{cells} are described better by a straight line than by the changes found: a drift, not steps"
    ratio = (
        "{cells} follow a mean that is not positive: a ratio says nothing of them, and the verdict is that of the difference; where values "
        "may be negative, read segment_mean"
    )
    correlated = result["correlation"].values > 0
    by_chance = correlated.size > 1 and correlated.sum() < FALSE * correlated.size + 2 * np.sqrt(FALSE * correlated.size)
    return (
        count_note("few_commits", short, (n < needed) if needed else n > 0, "series", needed=needed),
        None if by_chance else count_note("dependent", dependent, correlated, "series"),
        count_note("drift", drift, result["drifting"].values.astype(bool), "series"),
        count_note("no_ratio", ratio, np.isnan(result["estimate"].values[result["change"].values]), "changes"),
        _common_note(result, dim),
        _spread_note(result, dim),
    )


def _spread_note(result: xr.Dataset, dim: str) -> Note | None:
    """Name the series whose spread changes, unless there are no more of them than chance makes."""
    spreads = result["relative_noise"].transpose(..., dim)
    least, most = spreads.min(dim), spreads.max(dim)
    uneven = (most > least).values
    if not uneven.any() or (uneven.size > 1 and uneven.sum() < UNEVEN * uneven.size + 2 * np.sqrt(UNEVEN * uneven.size)):
        return None
    examples = []
    for cell in np.argwhere(uneven)[:FEW]:
        series = spreads[tuple(cell)].dropna(dim)
        large = series.values**2 > float(series.max() * series.min())
        position = int(np.flatnonzero(large != large[0])[0])
        name = "".join(f"{series[dim_of_cell].item()} " for dim_of_cell in spreads.dims[:-1] if dim_of_cell in series.coords)
        label = series[dim].values[position] if dim in series.coords else position
        words = "larger" if large[position] else "smaller"
        examples.append(f"{name}from about {label} on, {float(series.max() / series.min()):.2g} times {words}")
    text = (
        f"in {{cells}} the spread of one {dim} about the next changes along the history (the variable relative_noise): "
        f"{'; '.join(examples)}; each {dim} was judged by its own spread, which is estimated"
    )
    return count_note("spread", text, uneven, "series")


def _common_note(result: xr.Dataset, dim: str) -> Note | None:
    """Say which changes are one: many benchmarks at one commit."""
    numbers = result["n_common"].transpose(dim, ...)
    indices = np.argwhere(numbers.values)
    if not len(indices) or dim not in numbers.coords:
        return None
    examples = []
    for index in indices[:FEW]:
        cell = numbers[tuple(index)]
        where = "".join(f", {name} {cell[name].item()}" for name in numbers.dims[1:] if name in cell.coords)
        examples.append(f"{cell.item()} at {cell[dim].item()}{where}")
    more = f", and {len(indices) - FEW} more" if len(indices) > FEW else ""
    text = f"benchmarks that changed together, by one cause rather than each by itself: {'; '.join(examples)}{more}"
    return Note("common", text, {"commits": len(indices)}, aside=True)
