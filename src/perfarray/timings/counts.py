"""The nest: counts at every level, merging a level, removing warm-up."""

import numpy as np
import xarray as xr

from perfarray.conventions import (
    CENSORED,
    CENSORED_AT,
    EXACT,
    ITERATION,
    LEVELS,
    MARKS,
    SESSION,
    SEVERAL_SESSIONS,
    plural,
)
from perfarray.numerics.levels import count_repetitions
from perfarray.timings.apply import LEVEL, Output, apply, is_chunked, outputs
from perfarray.timings.chunks import storable
from perfarray.timings.marks import as_mark
from perfarray.timings.metrics import for_each_metric
from perfarray.timings.notes import Note, check, with_notes
from perfarray.timings.resolve import Data, check_dim, check_levels, check_not_empty, resolve
from perfarray.timings.units import more_units
from perfarray.timings.validation import check_count


@for_each_metric
def counts(
    times: Data,
    *,
    levels: str | tuple[str, ...] | None = None,
    censored: str = "drop",
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Count the repetitions at every level of the nest.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings: any array with at least one repetition dim.
    levels, metric : str or sequence of str, optional
        The nest, outermost first (default: the levels present); the variables (default: `time`).
    censored : {"drop", "bound"}
        Whether runs stopped at a limit are left out, or count as they do in a comparison.

    Returns
    -------
    Dataset
        Along the new dim `level` (outermost first), for every cell: `minimum` and `maximum`
        repetitions inside one parent that has data (NaN where the cell has none), `total`
        repetitions with data (at the lowest level: measured values), and `balanced`, whether
        minimum and maximum are equal. Marked values (warm-up, ...) do not count; the attrs say how
        many were left out.

    Raises
    ------
    ValueError
        When there is no repetition dim, or `levels` names one that is not there.

    Examples
    --------
    >>> import perfarray
    >>> samples = {"old": [[1.0, 1.1], [1.2, 1.1]], "new": [[1.0, 0.9], [1.1]]}
    >>> times = perfarray.from_samples(samples, level=("execution", "iteration"))
    >>> times.perf.counts()["total"].sel(level="iteration").to_series().to_dict()
    {'old': 4.0, 'new': 3.0}
    """
    data = resolve(times, metric, levels, censored=censored, as_nested=True)
    minimum_text, maximum_text = (
        f"{extreme} repetitions inside one parent" for extreme in ("fewest", "most")
    )
    variables = outputs(
        "1", (LEVEL,), minimum=minimum_text, maximum=maximum_text, total="repetitions with data"
    )
    result = apply(
        lambda values: count_repetitions(values, len(data.levels)),
        data.array,
        core=[data.levels],
        outputs=variables
        | {
            "balanced": Output(
                (LEVEL,), "", bool, "the same number of repetitions inside every parent"
            )
        },
        coords={LEVEL: list(data.levels)},
        attrs=data.describe() | {"result": "counts"},
    )
    notes = (note for note in data.notes if note.code != CENSORED)  # counts() compares nothing
    # What is exact has a verdict without an interval.
    checks = () if data.array.attrs.get(EXACT) else ("unit_of_each",)
    return with_notes(result, *notes, checks=checks)


@check("unit_of_each")
def unit_of_each_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Return a note where no cell has two units, with the remedy."""
    if result["total"].isel({LEVEL: 0}).max() != 1:
        return ()
    unit = str(result.attrs["unit"])
    text = (
        f"One {unit} of each shows no spread between {plural(unit)}: there is no interval and "
        f"no verdict. {more_units(result.attrs)}"
    )
    return (Note("single_unit", text, {"unit": unit}, aside=True),)


def merge_level(times: Data, level: str) -> Data:
    """Merge a level into the one below it: its repetitions become repetitions of that level.

    Nothing is averaged or dropped: 3 sessions of 10 executions become 30 executions (Table IV of
    Kalibera and Jones 2012 pools the repetitions; its text speaks of dropping them). Positions that
    are empty everywhere are removed, but for lazy arrays.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings.
    level : str
        The level to merge; the next lower level present takes its repetitions.

    Returns
    -------
    DataArray or Dataset
        The kind that was given, with all its metrics, without the dim `level`.

    Raises
    ------
    ValueError
        When `level` is not a dim, no level lies below it, or a dim has no labels.

    Examples
    --------
    >>> import numpy as np, xarray as xr, perfarray
    >>> times = xr.DataArray(np.ones((3, 10)), dims=("session", "execution"), name="time")
    >>> times.perf.merge_level("session").sizes
    Frozen({'execution': 30})
    """
    check_dim(times, level, "level")
    check_not_empty(times)
    nest = check_levels(
        times,
        None if level in LEVELS else (level, *(name for name in LEVELS if name in times.dims)),
    )
    lower = nest[nest.index(level) + 1 :]
    if not lower:
        raise ValueError(
            f"{level!r} is the lowest level of the nest {nest}: there is none below to take "
            "its repetitions"
        )
    below = lower[0]
    order = [dim for dim in times.dims if dim != level]
    bare = times.drop_vars([level, below], errors="ignore")
    if isinstance(bare, xr.Dataset):
        narrow = [
            name
            for name, array in bare.data_vars.items()
            if level in array.dims and below not in array.dims and name != CENSORED_AT
        ]
        first = xr.DataArray(np.arange(times.sizes[below]) == 0, dims=below)
        bare = bare.assign(
            {name: bare[name].where(first).assign_attrs(bare[name].attrs) for name in narrow}
        )
    merged = (
        bare.stack({"_merged": (level, below)}, create_index=False)
        .rename({"_merged": below})
        .transpose(*order)
    )
    merged = _without_empty_positions(merged, below)
    several_sessions = level == SESSION and times.sizes[level] > 1
    merged = merged.assign_coords({below: np.arange(merged.sizes[below])})
    return storable(merged.assign_attrs({SEVERAL_SESSIONS: below} if several_sessions else {}))


def _without_empty_positions(times: Data, dim: str) -> Data:
    """Drop the positions along `dim` without a measurement or a mark.

    Lazy data are returned unchanged.
    """
    arrays = list(times.data_vars.values()) if isinstance(times, xr.Dataset) else [times]
    if any(is_chunked(array) for array in arrays):
        return times
    used = np.zeros(times.sizes[dim], dtype=bool)
    for array in [
        *arrays,
        *(as_mark(times.coords[mark]) for mark in MARKS if mark in times.coords),
    ]:
        if dim in array.dims:
            measured = array if array.dtype == bool else array.notnull()
            used |= measured.any([name for name in array.dims if name != dim]).values
    return times if used.all() else times.isel({dim: np.flatnonzero(used)})


def drop_warmup(times: Data, n: int | None = None) -> Data:
    """Remove warm-up: marked values, and on request the first iterations of executions.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings.
    n : int, optional
        Remove the first `n` positions along `iteration` as well, marked or not.

    Returns
    -------
    DataArray or Dataset
        The kind that was given, with all its metrics and without the coordinate `warmup`.
        Iterations are counted from 0 again.

    Raises
    ------
    ValueError
        When `n` is given and there is no dim `iteration`, or `n` is not below its length.

    Examples
    --------
    >>> import numpy as np, xarray as xr, perfarray
    >>> times = xr.DataArray(np.ones((3, 10)), dims=("execution", "iteration"), name="time")
    >>> times.perf.drop_warmup(4).sizes["iteration"]
    6
    """
    if "warmup" in times.coords:
        cold = as_mark(times.coords["warmup"]).drop_vars("warmup")
        attrs = times.attrs
        if isinstance(times, xr.Dataset):
            bare = times.drop_vars("warmup")
            levels = set(cold.dims)
            measured = {
                n: bare[n].where(~cold).assign_attrs(bare[n].attrs)
                for n in bare.data_vars
                if levels <= set(bare[n].dims)
            }
            times = bare.assign(
                {name: array.transpose(*bare[name].dims) for name, array in measured.items()}
            )
        else:
            times = (
                times.drop_vars("warmup").where(~cold).transpose(*times.dims).assign_attrs(attrs)
            )
        for dim in [dim for dim in cold.dims if dim == ITERATION]:
            times = _without_empty_positions(times, str(dim))
    if n is not None:
        check_dim(times, ITERATION)
        first = check_count(n, "n", 0)
        size = times.sizes[ITERATION]
        if first >= size:
            raise ValueError(f"n={n} would remove all {size} iterations; give a number below that")
        times = times.isel({ITERATION: slice(first, None)})
    if ITERATION in times.dims:
        times = times.assign_coords({ITERATION: np.arange(times.sizes[ITERATION])})
    return storable(times)
