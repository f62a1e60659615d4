"""Results as rows: tables, records, JSON and Markdown, for reports, the command line and files."""

import math
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from perfarray.numerics.types import Integers, Mask
from perfarray.timings.notes import escape_controls


def escape_markdown(text: str) -> str:
    """Return a text on one line with all markup and control characters escaped."""
    return re.sub(r"([\\`*_\[\]|~<&#])", r"\\\1", escape_controls(" ".join(text.split())))


def escape_html(text: str) -> str:
    """Return a text with all markup and control characters escaped, as it may stand in attributes, too."""
    return escape(escape_controls(text))


class Places(NamedTuple):
    """Where the rows of a table are in its result: positions along the dims of its cells, the last varying fastest, of `size` cells."""

    dims: list[str]
    positions: Integers
    size: int


class Table(pd.DataFrame):
    """A table for people, printed whole with its sentences below.

    Selections of it are ordinary DataFrames.

    `places` says which cells its rows show. The last rows are those of suites, which have no place.
    """

    _metadata: ClassVar = ["places"]
    places: Places

    @classmethod
    def of_cells(cls, frame: pd.DataFrame, attrs: Mapping[Any, Any], places: Places) -> "Table":
        """Return a table with its attrs, and the places of its rows."""
        table = cls(frame)
        table.attrs, table.places = dict(attrs), places
        return table

    def of_rows(self, rows: Mask | Integers) -> "Table":
        """Return the table with some rows of cells only, in the order given, and those of suites."""
        n_cells = self.places.positions.size
        frame = self.iloc[[*np.arange(n_cells)[rows], *range(n_cells, len(self))]]
        return Table.of_cells(
            frame, self.attrs, self.places._replace(positions=self.places.positions[rows])
        )

    def first(self, most: int) -> "Table":
        """Return the table with the first rows of cells only, and those of suites."""
        return self.of_rows(np.arange(self.places.positions.size) < most)

    def has_labels(self) -> bool:
        """Return whether the rows have labels."""
        return any(name is not None for name in self.index.names)

    def __repr__(self) -> str:
        """Write all columns, as many rows as pandas is set to show, and the sentences below."""
        rows = self.to_string(index=self.has_labels(), max_rows=pd.get_option("display.max_rows"))
        return "\n".join([rows, *self._sentences()])

    def _repr_html_(self) -> str:
        """Write the same for notebooks."""
        rows = self.to_html(
            border=0, index=self.has_labels(), max_rows=pd.get_option("display.max_rows")
        )
        return rows + "".join(f"<div>{escape_html(line)}</div>" for line in self._sentences())

    def _sentences(self) -> list[str]:
        return [
            line
            for line in (
                *self.attrs.get("findings", ()),
                self.attrs.get("about", ""),
                *self.attrs.get("notes", ()),
            )
            if line
        ]


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


def records(
    data: xr.Dataset, dims: Sequence[str], positions: Integers | None = None
) -> list[dict[str, Any]]:
    """Return one mapping for each cell along some dims: its labels and every variable, as nested mappings along further dims.

    `positions` are those of the cells (the last dim varies fastest); default: all.
    """
    labels = {str(dim): data[dim].values.tolist() for dim in data.dims}
    sizes = {dim: len(labels[dim]) for dim in dims}
    positions = np.arange(math.prod(sizes.values())) if positions is None else positions
    columns = [
        _cell_values(array.variable, sizes, labels, positions) for array in data.data_vars.values()
    ]
    indices = np.unravel_index(positions, tuple(sizes.values())) if sizes else ()
    columns[:0] = [
        [labels[dim][index] for index in along.tolist()]
        for dim, along in zip(dims, indices, strict=True)
    ]
    titles = [*dims, *map(str, data.data_vars)]
    return [dict(zip(titles, values, strict=True)) for values in zip(*columns, strict=True)]


def _cell_values(
    variable: xr.Variable,
    sizes: Mapping[str, int],
    labels: Mapping[str, list[Any]],
    positions: Integers,
) -> list[Any]:
    inner = [str(dim) for dim in variable.dims if dim not in sizes]
    all_sizes: dict[Any, int] = {**sizes, **{dim: variable.sizes[dim] for dim in inner}}
    whole = variable.set_dims(all_sizes).transpose(*all_sizes)
    values = whole.values.reshape(-1, *(whole.sizes[dim] for dim in inner))[positions]
    if not inner and values.dtype != object:
        return list(values.tolist())
    return [_nested(cell, inner, labels) for cell in values]


def _nested(values: Any, dims: Sequence[str], labels: Mapping[str, list[Any]]) -> Any:
    """Return a value, or a mapping from labels to values along the inner dims."""
    if not dims:
        return values.item() if hasattr(values, "item") else values
    return {
        str(label): _nested(inner, dims[1:], labels)
        for label, inner in zip(labels[dims[0]], values, strict=True)
    }
