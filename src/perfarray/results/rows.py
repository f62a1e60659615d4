"""Results as rows: a table for people with the places of its rows, and records for files."""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from perfarray.numerics.types import Integers, Mask
from perfarray.results.pages import escape_html, html_table
from perfarray.results.printed import grid_of, markdown_table, quoted_lines
from perfarray.results.words import own_name
from perfarray.timings.validation import number_of


class Places(NamedTuple):
    """Positions of a table's rows along the dims of its result's cells, the last varying fastest.

    `n_left_out` is the number of further cells that would have a row.
    """

    dims: list[str]
    positions: Integers
    n_left_out: int = 0


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

    def of_rows(self, rows: Mask | Integers | slice) -> "Table":
        """Return the table with some rows of cells, in the order given, and those of suites."""
        n_cells = self.places.positions.size
        frame = self.iloc[[*np.arange(n_cells)[rows], *range(n_cells, len(self))]]
        positions = self.places.positions[rows]
        n_left_out = self.places.n_left_out + n_cells - positions.size
        return Table.of_cells(frame, self.attrs, Places(self.places.dims, positions, n_left_out))

    def __repr__(self) -> str:
        """Write all columns, as many rows as pandas is set to show, and the sentences below."""
        is_labelled = any(name is not None for name in self.index.names)
        names: Any = {name: own_name(str(name)) for name in self.index.names if name is not None}
        frame = pd.DataFrame(self).rename_axis(index=names)
        rows = frame.to_string(index=is_labelled, max_rows=pd.get_option("display.max_rows"))
        return "\n".join([rows, *self.sentences()])

    def _repr_html_(self) -> str:
        """Write the same for notebooks, and folded below it the notes that a warning told."""
        grid = grid_of(self)
        lines = [*grid.remarks, *self.sentences()]
        warned = [note for note in self.attrs.get("notes", ()) if note not in lines]
        below, folded = (
            "".join(f"<div>{escape_html(line)}</div>" for line in part) for part in (lines, warned)
        )
        title = f"<summary>{number_of(len(warned), 'note')}</summary>"
        return html_table(grid) + below + (f"<details>{title}{folded}</details>" if folded else "")

    def to_markdown(self, buf: Any = None, **keywords: Any) -> Any:
        """Write Markdown, with the sentences and notes below.

        Parameters
        ----------
        buf : path or file, optional
            Where to write; default: the text is returned.
        **keywords
            With any, pandas writes the table alone, for which it needs `tabulate`.

        Returns
        -------
        str or None
        """
        if keywords:
            return super().to_markdown(buf, **keywords)
        grid = grid_of(self)
        lines = [*grid.remarks, *self.sentences()]
        lines += [note for note in self.attrs.get("notes", ()) if note not in lines]
        text = "\n\n".join([markdown_table(grid), *quoted_lines(lines)])
        if buf is None:
            return text
        if hasattr(buf, "write"):
            buf.write(text)
        else:
            Path(buf).write_text(text, encoding="utf-8")
        return None

    def to_latex(self, buf: Any = None, **keywords: Any) -> Any:
        """Write LaTeX as pandas does, with `%` and other special characters escaped."""
        return super().to_latex(buf, **({"escape": True} | keywords))

    def sentences(self) -> list[str]:
        """Return what stands below the table: of the notes those that no warning told."""
        lines = (*self.attrs.get("findings", ()), self.attrs.get("about", ""))
        return [line for line in (*lines, *self.attrs.get("asides", ())) if line]


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
    data: xr.Dataset, dims: Iterable[str], positions: Integers | None = None
) -> list[dict[str, Any]]:
    """Return a mapping for each cell along some dims: its labels and every variable.

    Variables with further dims are nested mappings.

    `positions` are those of the cells (the last dim varies fastest); default: all.
    """
    labels = {str(dim): data[dim].values.tolist() for dim in data.dims}
    sizes = {dim: len(labels[dim]) for dim in dims}
    positions = np.arange(math.prod(sizes.values())) if positions is None else positions
    indices = np.unravel_index(positions, tuple(sizes.values())) if sizes else ()
    columns: dict[str, list[Any]] = {
        dim: [labels[dim][index] for index in along.tolist()]
        for dim, along in zip(sizes, indices, strict=True)
    }
    for name, array in data.data_vars.items():
        inner = [str(dim) for dim in array.dims if dim not in sizes]
        broadcast = array.variable.set_dims({**sizes, **{dim: data.sizes[dim] for dim in inner}})
        values = broadcast.transpose(*sizes, *inner).values
        values = values.reshape(-1, *values.shape[len(sizes) :])[positions]
        columns[str(name)] = [_nested(cell, inner, labels) for cell in values.tolist()]
    return [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]


def _nested(values: Any, dims: list[str], labels: Mapping[str, list[Any]]) -> Any:
    """Return a value, or a mapping from labels to values along the inner dims."""
    if not dims:
        return values
    return {
        str(label): _nested(inner, dims[1:], labels)
        for label, inner in zip(labels[dims[0]], values, strict=True)
    }
