"""What `times.perf` shows of itself: what the array holds, and the methods by question."""

from collections.abc import Collection, Mapping

import pandas as pd
import xarray as xr

from perfarray.conventions import BETTER, EXACT, LEVELS, LOWER, METRIC, plural
from perfarray.results.kinds import functions_by_question
from perfarray.results.words import labels_of
from perfarray.timings.resolve import metrics_of
from perfarray.timings.validation import listed


def overview(data: xr.DataArray | xr.Dataset | pd.DataFrame, methods: Collection[str]) -> str:
    """Return what timings, a result or a table hold, and the methods by question."""
    if isinstance(data, pd.DataFrame):
        return (
            f"a table of {len(data)} rows: df.perf.to_timings(...) makes timings of it; its "
            f"columns: {listed(data.columns, 30)}"
        )
    if "result" in data.attrs:
        lines = [f"a result of {data.attrs['result']}", *_dims(data)]
        return "\n".join([*lines, *_columns({"its methods": ["table", "plot", "notes"]})])
    return "\n".join(
        [
            *_metrics(data),
            *_dims(data),
            "What can be asked, as times.perf.compare(...):",
            *_columns(functions_by_question(methods)),
        ]
    )


def _metrics(data: xr.DataArray | xr.Dataset) -> list[str]:
    """Write the metrics, the main one first, with units and direction."""
    arrays = [data] if isinstance(data, xr.DataArray) else [data[name] for name in metrics_of(data)]
    arrays.sort(key=lambda array: array.name != data.attrs.get(METRIC))
    if not arrays:
        return [
            (
                "no measurements: no variable of numbers has a dim of repetitions; levels= names "
                "the dims that are repetitions"
            )
        ]
    units = [str(array.attrs.get("units", "1")) for array in arrays]
    return [
        f"{array.name or 'timings'}{'' if unit == '1' else f' in {unit}'}, "
        f"{array.attrs.get(BETTER, LOWER)} is better{', exact' if array.attrs.get(EXACT) else ''}"
        for array, unit in zip(arrays, units, strict=True)
    ]


def _dims(data: xr.DataArray | xr.Dataset) -> list[str]:
    """Write the dims with their labels, and the nest of repetitions."""
    dims = [str(dim) for dim in data.dims if dim not in LEVELS]
    lines = [
        f"  {labels_of(dim, data.sizes[dim])}: {listed(data[dim].values.tolist(), 4)}"
        for dim in dims
    ]
    nest = [
        f"{data.sizes[dim]} {_noun(dim, data.sizes[dim])}" for dim in LEVELS if dim in data.dims
    ]
    return [*lines, f"  repetitions: {' x '.join(nest)}"] if nest else lines


def _noun(dim: str, size: int) -> str:
    return dim if size == 1 else plural(dim)


def _columns(methods: Mapping[str, list[str]]) -> list[str]:
    """Write the methods behind their questions."""
    width = max(map(len, methods))
    return [f"  {question:<{width}}  {', '.join(names)}" for question, names in methods.items()]
