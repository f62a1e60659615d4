"""Results as records, JSON and Markdown: for reports, the command line and files."""

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import xarray as xr

from perfarray.timings.notes import escape_controls


def escape_markdown(text: str) -> str:
    """Return a text on one line with all markup and control characters escaped."""
    return re.sub(r"([\\`*_\[\]|~<&#])", r"\\\1", escape_controls(" ".join(text.split())))


def escape_html(text: str) -> str:
    """Return a text with all markup and control characters escaped, as it may stand in attributes, too."""
    return escape(escape_controls(text))


def json_value(value: Any) -> Any:
    """Return a value that JSON can hold: NaN becomes null, infinite limits become text."""
    if isinstance(value, Mapping):
        return {str(key): json_value(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(inner) for inner in value]
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return json_value(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def records(data: xr.Dataset, dims: Sequence[str]) -> list[dict[str, Any]]:
    """Return one mapping for each cell along some dims: its labels and every variable, as nested mappings along further dims."""
    labels = {str(dim): data[dim].values.tolist() for dim in data.dims}
    sizes = {dim: len(labels[dim]) for dim in dims}
    columns = [_cell_values(array.variable, sizes, labels) for array in data.data_vars.values()]
    titles = [*dims, *map(str, data.data_vars)]
    cells = itertools.product(*(labels[dim] for dim in dims))
    return [dict(zip(titles, (*cell, *values), strict=True)) for cell, *values in zip(cells, *columns, strict=True)]


def _cell_values(variable: xr.Variable, sizes: Mapping[str, int], labels: Mapping[str, list[Any]]) -> list[Any]:
    inner = [str(dim) for dim in variable.dims if dim not in sizes]
    all_sizes: dict[Any, int] = {**sizes, **{dim: variable.sizes[dim] for dim in inner}}
    whole = variable.set_dims(all_sizes).transpose(*all_sizes)
    values = whole.values.reshape(-1, *(whole.sizes[dim] for dim in inner))
    if not inner and values.dtype != object:
        return list(values.tolist())
    return [_nested(cell, inner, labels) for cell in values]


def _nested(values: Any, dims: Sequence[str], labels: Mapping[str, list[Any]]) -> Any:
    """Return a value, or a mapping from labels to values along the inner dims."""
    if not dims:
        return values.item() if hasattr(values, "item") else values
    return {str(label): _nested(inner, dims[1:], labels) for label, inner in zip(labels[dims[0]], values, strict=True)}
