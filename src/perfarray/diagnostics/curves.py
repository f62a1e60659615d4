"""Data for pictures of single measurements: sequences, lags, and against a coordinate."""

import xarray as xr

from perfarray.diagnostics.autocorrelation import autocorrelation
from perfarray.diagnostics.ordering import in_order
from perfarray.diagnostics.steadiness import steady_state
from perfarray.timings.notes import collecting_notes
from perfarray.timings.resolve import Data, check_levels, choose_metric, resolve
from perfarray.timings.validation import check_count, listed


def sequence(times: Data, *, metric: str | None = None, steady: bool = False) -> xr.Dataset:
    """Return measurements (`value`), those that answers use (`counted`), and their `mean`.

    The mean is over the lowest level. With `steady`, repetitions before the steady state are marked
    as warm-up, and the `segment_mean` of every execution is given.
    """
    segments = {}
    if steady:
        with collecting_notes():
            steadiness = steady_state(
                times, dim=check_levels(choose_metric(times, metric), None)[-1], metric=metric
            )
        times, segments = (
            times.assign_coords(warmup=steadiness["warmup"].variable),
            {"segment_mean": steadiness["segment_mean"]},
        )
    array, data = choose_metric(times, metric), resolve(times, metric, as_nested=True)
    arrays = {
        "value": array,
        "counted": data.array,
        "mean": data.array.mean(data.levels[-1]),
    } | segments
    attrs = array.attrs | {"metric": str(array.name or "time"), "levels": " ".join(data.levels)}
    return xr.Dataset(
        {name: values.variable for name, values in arrays.items()}, array.coords, attrs
    )


def lagged(
    times: Data,
    *,
    dim: str | None = None,
    lag: int = 1,
    order: str | None = None,
    metric: str | None = None,
) -> xr.Dataset:
    """Pair every `value` with the one `lag` repetitions before it (`earlier`).

    Their pooled `correlation` is that inside the series.
    """
    series, distance = in_order(times, dim, None, metric, order), check_count(lag, "lag")
    dim = series.dim
    array = (
        series.data.array.mean(series.inner, keep_attrs=True) if series.inner else series.data.array
    )
    if distance >= array.sizes[dim]:
        raise ValueError(
            f"lag={lag} needs more than {lag} repetitions along {dim!r}; there are "
            f"{array.sizes[dim]}"
        )
    with collecting_notes():
        correlations = autocorrelation(
            times, dim=dim, max_lag=distance, order=order, metric=metric
        )["pooled_autocorrelation"]
    arrays = {
        "value": array,
        "earlier": array.shift({dim: distance}),
        "correlation": correlations.isel(lag=-1, drop=True),
    }
    attrs: dict[str, str | int] = {
        "metric": str(array.name or "time"),
        "units": series.data.units,
        "outer": " ".join(series.outer),
    }
    attrs |= {"dim": dim, "lag": distance, "result": "lag"}
    return xr.Dataset(
        {name: values.variable for name, values in arrays.items()}, array.coords, attrs
    )


def against(
    times: Data,
    coordinate: str,
    *,
    levels: str | tuple[str, ...] | None = None,
    metric: str | None = None,
) -> xr.Dataset:
    """Pair every measurement (`value`) with a number recorded beside it (`beside`), such as a load.

    The number is a coordinate along the repetition dims.
    """
    data = resolve(times, metric, levels, as_nested=True)
    array = data.array
    numeric = [
        str(name)
        for name, label in array.coords.items()
        if label.dtype.kind in "iuf" and set(label.dims) & set(data.levels)
    ]
    if coordinate not in numeric:
        raise ValueError(
            f"coordinate {coordinate!r} holds no numbers along {data.levels}; these do: "
            f"{listed(numeric)}"
        )
    recorded = array.coords[coordinate].astype(float).broadcast_like(array).transpose(*array.dims)
    value = array.where(recorded.notnull())
    attrs = {
        "metric": str(array.name or "time"),
        "units": data.units,
        "levels": " ".join(data.levels),
        "result": "against",
    }
    attrs |= {
        "coordinate": coordinate,
        "coordinate_units": str(array.coords[coordinate].attrs.get("units", "1")),
    }
    labels = {
        name: label for name, label in array.coords.items() if name in array.dims or not label.dims
    }
    return xr.Dataset({"value": value.variable, "beside": recorded.variable}, {**labels}, attrs)
