"""Whether executions reach a steady state, and from which repetition on."""

from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from perfarray.conventions import HIGHER, ITERATION, plural
from perfarray.diagnostics.numerics.steady import (
    ABSENT,
    LEAST,
    SHORT,
    UNSTEADY,
    SteadyRules,
    steady,
)
from perfarray.diagnostics.ordering import in_order
from perfarray.numerics.levels import unit_means
from perfarray.numerics.types import Floats
from perfarray.timings.apply import Output, apply, outputs
from perfarray.timings.metrics import for_each_metric
from perfarray.timings.notes import Note, check, count_note, with_notes
from perfarray.timings.resolve import Data, as_mark
from perfarray.timings.validation import check_number, check_share

INCONSISTENT = "inconsistent"  # the kind of a cell whose series are of different kinds


@for_each_metric
def steady_state(
    times: Data,
    *,
    dim: str = ITERATION,
    tolerance: float = 0.01,
    share: float = 0.25,
    penalty: float = 10.0,
    levels: str | tuple[str, ...] | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Find for every execution whether it becomes steady, from which iteration on, and whether it was slower or faster before.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings. Levels inside `dim` are averaged; each repetition of those outside it is a series;
        other dims broadcast.
    dim : str
        The repetitions, in the order of a time stamp along them where there is one, else as stored.
    tolerance : float
        The largest relative difference of a segment's mean from that of the last segment.
    share : float
        The share of a series that has to be steady at its end.
    penalty : float
        The penalty for each change of mean or variance, in log(n): a larger one gives fewer
        changes.
    levels, metric : str or sequence of str, optional
        The nest, outermost first (default: the repetition dims present); the variable(s) of a
        Dataset (default: its `time`).

    Returns
    -------
    Dataset
        For every series: `kind`, `flat`, `warmup` (slower before), `slowdown` (faster at some time
        before), `no_steady_state`, `unknown` (fewer than 10 values), or "" (none); `start`, the
        label of the first steady repetition (its position where labels are no numbers; NaN where
        there is none), `steady_mean`, and `n_segments`. Along `dim`: the mark `warmup` of
        repetitions before `start` or marked before, and `segment`, `segment_mean`. For every cell:
        `kind_of_all`, the kind that all its series have, or `inconsistent`.

    Raises
    ------
    ValueError
        Unknown dims or levels; numbers out of range.

    See Also
    --------
    drop_warmup : removes what is marked

    Notes
    -----
    `times.assign_coords(warmup=steady["warmup"])` leaves out, in every method, the repetitions
    before the steady state. Executions without one are not marked, though their mean is not that of
    a longer run.

    Segments are found by optimal partitioning (normal values with a mean and a variance each) after
    single outliers were clipped. The rules are those of Barrett and others, made relative to the
    mean and the length of the series (:doc:`/how-to/steady_state`).

    References
    ----------
    E. Barrett, C. F. Bolz-Tereick, R. Killick, S. Mount, L. Tratt, "Virtual machine warmup blows
    hot and cold", OOPSLA 2017, section 4.

    Examples
    --------
    >>> import numpy as np, perfarray
    >>> noise = np.random.default_rng(1).normal(size=100)
    >>> slow = np.where(np.arange(100) < 12, 2.0, 1.0) * (10 + 0.1 * noise)
    >>> times = perfarray.from_samples({"fft": [slow]}, dim="benchmark", level=("execution", "iteration"))
    >>> steady = times.perf.steady_state()
    >>> steady["kind"].item(), steady["start"].item(), steady["warmup"].sum().item()
    ('warmup', 12.0, 12)
    """
    least, least_share = check_number(tolerance, "tolerance"), check_share(share, "share", "0.25")
    cost = check_number(penalty, "penalty")
    if least < 0 or cost <= 0:
        raise ValueError(
            f"tolerance={tolerance!r} and penalty={penalty!r}: give a share from 0 up, and a "
            "number above 0"
        )
    series = in_order(times, dim, levels, metric, None)
    data, outer = series.data, series.outer
    labels = (
        data.array[dim].values
        if data.array[dim].dtype.kind in "iuf"
        else np.arange(data.array.sizes[dim])
    )
    along, rules = (*outer, dim), SteadyRules(least, least_share, cost, data.better == HIGHER)
    result = apply(
        partial(_describe, inner=len(series.inner), outer=len(outer), rules=rules, labels=labels),
        data.array.drop_vars("warmup", errors="ignore"),  # the answer has a mark of this name
        core=[data.levels],
        outputs={
            "kind": Output(outer, "", object, "how repetitions become steady"),
            "start": Output(outer, "", float, f"first steady {dim}"),
            "steady_mean": Output(outer, data.units),
            **outputs("1", outer, n_segments=""),
            "warmup": Output(along, "", bool, "before the steady state"),
            "segment": Output(along, "", float, "number of the segment"),
            "segment_mean": Output(along, data.units),
            "kind_of_all": Output((), "", object, "the kind of all series"),
        },
        coords={name: data.array[name].values for name in along},
        attrs=data.describe()
        | {
            "result": "steady_state",
            "dim": dim,
            "order": series.order,
            "tolerance": least,
            "share": least_share,
        },
    )
    if "warmup" in data.array.coords:
        marked = as_mark(data.array.coords["warmup"]).drop_vars("warmup")
        inside = [name for name in marked.dims if name in series.inner]
        warmup_attrs = result["warmup"].attrs
        result["warmup"] = (
            (result["warmup"] | marked.all(inside))
            .transpose(*result["warmup"].dims)
            .assign_attrs(warmup_attrs)
        )
    return with_notes(
        result.isel({dim: np.argsort(series.positions)}), *data.notes, checks=("steady",)
    )


def _describe(
    values: Floats, *, inner: int, outer: int, rules: SteadyRules, labels: Any
) -> tuple[Any, ...]:
    """Return the variables of every series and of every cell, from timings (..., outer levels, n, inner levels)."""
    ordered = unit_means(values, inner + 1)
    kind, first, mean, number, segment, segment_mean = steady(ordered, rules)
    position = np.nan_to_num(first).astype(int)
    is_warmup = np.arange(ordered.shape[-1]) < position[..., None]
    start = np.where(np.isnan(first), np.nan, np.asarray(labels, dtype=float)[position])
    kinds = kind.reshape(*kind.shape[: kind.ndim - outer], -1)
    common = np.empty(kinds.shape[:-1], dtype=object)
    for cell in np.ndindex(common.shape):
        kinds_of_cell = set(kinds[cell]) - {ABSENT} or {ABSENT}
        kinds_present = sorted(kinds_of_cell - {SHORT}) or [SHORT]
        common[cell] = kinds_present[0] if len(kinds_present) == 1 else INCONSISTENT
    return kind, start, mean, number, is_warmup, segment, segment_mean, common


@check("steady")
def steady_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Count the series without a steady state, and those that are too short."""
    dim, kind = str(result.attrs["dim"]), result["kind"].values
    kind = kind[kind != ABSENT]
    unsteady = (
        "{cells} reach no steady state: nothing of them is marked, and their mean is not what "
        "a longer run would give; leave them out with "
        "times.where(found['kind'] != 'no_steady_state'), or measure longer"
    )
    short = (
        f"{{cells}} have fewer than {LEAST} {plural(dim)}: whether they become steady cannot "
        "be said"
    )
    return (
        count_note("no_steady_state", unsteady, kind == UNSTEADY, "series"),
        count_note("short", short, kind == SHORT, "series"),
    )
