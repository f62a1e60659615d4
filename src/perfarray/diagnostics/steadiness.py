"""Whether executions reach a steady state, and from which repetition on."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from perfarray.conventions import HIGHER, plural
from perfarray.diagnostics.numerics.steady import (
    ABSENT,
    LEAST,
    SHORT,
    UNSTEADY,
    steady,
)
from perfarray.diagnostics.ordering import in_order
from perfarray.numerics.levels import unit_means
from perfarray.numerics.types import Floats
from perfarray.timings.apply import Output, apply, outputs
from perfarray.timings.marks import as_mark
from perfarray.timings.metrics import for_each_metric
from perfarray.timings.notes import Note, check, count_note, with_notes
from perfarray.timings.resolve import Data
from perfarray.timings.validation import check_number, check_share

INCONSISTENT = "inconsistent"  # the kind of a cell whose series are of different kinds


@for_each_metric
def steady_state(
    times: Data,
    *,
    dim: str | None = None,
    tolerance: float = 0.01,
    share: float = 0.25,
    penalty: float = 10.0,
    levels: str | tuple[str, ...] | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Find for every execution whether and when it becomes steady.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings; levels inside `dim` are averaged, repetitions outside it are series.
    dim : str, optional
        The repetitions, in the order of a time stamp, else as stored; default: `iteration`, else
        the only level.
    tolerance : float
        The largest relative difference from the last segment's mean.
    share : float
        The share that must be steady at the end.
    penalty : float
        For each change, in log(n).
    levels, metric : str or sequence of str, optional
        The nest, outermost first (default: the levels present); the variables (default: `time`).

    Returns
    -------
    Dataset
        By series: `kind`: `flat`, `warmup` (slower before), `slowdown` (faster before),
        `no_steady_state`, `unknown` (fewer than 10 values), or ""; `start`, the label of the first
        steady repetition; `steady_mean` (units of the data), `n_segments`. Along `dim`: the mark
        `warmup` before `start`, `segment`, `segment_mean`. By cell: `kind_of_all`, or
        `inconsistent`.

    Raises
    ------
    ValueError
        Unknown names; numbers out of range.

    Notes
    -----
    `times.assign_coords(warmup=steady["warmup"])` leaves out, everywhere, what comes before. See
    :doc:`/how-to/steady_state`.

    References
    ----------
    E. Barrett et al., "Virtual machine warmup blows hot and cold", OOPSLA 2017, section 4.

    Examples
    --------
    >>> import perfarray
    >>> runs = [[20.0, 20.1, 19.9] * 4 + [10.0, 10.1, 9.9] * 20]
    >>> nest = {"dim": "benchmark", "level": ("execution", "iteration")}
    >>> steady = perfarray.from_samples({"fft": runs}, **nest).perf.steady_state()
    >>> steady["kind"].item(), steady["start"].item()
    ('warmup', 12.0)
    """
    tolerance, share = check_number(tolerance, "tolerance"), check_share(share, "share", "0.25")
    if tolerance < 0 or check_number(penalty, "penalty") <= 0:
        raise ValueError(
            f"tolerance={tolerance!r} and penalty={penalty!r}: give a share from 0 up, and a "
            "number above 0"
        )
    series = in_order(times, dim, levels, metric, None)
    data, dim, outer = series.data, series.dim, series.outer
    labels = (
        data.array[dim].values
        if data.array[dim].dtype.kind in "iuf"
        else np.arange(data.array.sizes[dim])
    )
    along = (*outer, dim)
    classify = partial(
        steady, tolerance=tolerance, share=share, penalty=penalty, higher=data.better == HIGHER
    )
    result = apply(
        partial(
            _describe, classify=classify, labels=labels, inner=len(series.inner), outer=len(outer)
        ),
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
        | {"result": "steady_state", "dim": dim, "order": series.order}
        | {"tolerance": tolerance, "share": share},
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
    values: Floats, *, classify: Callable[[Floats], Any], labels: Any, inner: int, outer: int
) -> tuple[Any, ...]:
    """Return the variables of every series and of every cell.

    Timings are (..., outer levels, n, inner levels).
    """
    ordered = unit_means(values, inner + 1)
    kind, first, mean, number, segment, segment_mean = classify(ordered)
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
        "{cells} reach no steady state. Nothing of them is marked, and their mean is not that of a "
        "longer run. Measure longer, or leave them out with "
        "times.where(steady['kind'] != 'no_steady_state')."
    )
    short = f"{{cells}} have fewer than {LEAST} {plural(dim)}, too few to see a steady state."
    return (
        count_note("no_steady_state", unsteady, kind == UNSTEADY, "series"),
        count_note("not_tested", short, kind == SHORT, "series"),
    )
