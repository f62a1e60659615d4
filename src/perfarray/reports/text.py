"""A report as Markdown, and as JSON."""

import json
from typing import Any, Final

import pandas as pd
import xarray as xr

import perfarray
from perfarray.reports.sections import Content, Section
from perfarray.results.printed import escape_markdown, grid_of, markdown_table, quoted_lines
from perfarray.results.rows import Table, json_value, records

SUITE: Final = "suite_"  # the prefix of variables of suites


def as_markdown(content: Content) -> str:
    """Return the report as Markdown."""
    blocks = [
        f"# {content.title}",
        "\n".join(f"- {escape_markdown(line)}" for line in content.summary),
    ]
    if content.described:
        descriptors = (
            pd.Series(content.described, name="value").rename_axis("descriptor").to_frame()
        )
        blocks.append(markdown_table(grid_of(descriptors)))
    for section in content.sections:
        blocks += [f"## {section.title}", escape_markdown(section.explanation)]
        remarks: list[str] = []
        if section.table is not None:
            grid = grid_of(section.table)
            remarks = grid.remarks
            blocks.append(markdown_table(grid))
        blocks += quoted_lines([*remarks, *section.notes])
    return "\n\n".join([*blocks, "## The code", f"````python\n{content.code}\n````"]) + "\n"


def as_json(content: Content) -> str:
    """Return the report as JSON: texts, and all numbers of each result."""
    document: dict[str, Any] = {
        "title": content.title,
        "perfarray_version": perfarray.__version__,
        "summary": content.summary,
        "described": content.described,
        "sections": list(map(_section, content.sections)),
        "code": content.code,
    }
    return json.dumps(json_value(document), ensure_ascii=False, indent=1, allow_nan=False)


def _section(section: Section) -> dict[str, Any]:
    texts = {
        "title": section.title,
        "about": section.explanation,
        "code": section.code,
        "notes": section.notes,
    }
    table = section.table if section.whole is None else section.whole
    if table is None or section.result is None:
        return texts | {"rows": [], "result": None}
    result: dict[str, Any] = {"attrs": section.result.attrs}
    for kind, variables in (
        ("coords", section.result.coords),
        ("variables", section.result.data_vars),
    ):
        result[kind] = {
            str(name): {"dims": array.dims, "values": array.values}
            for name, array in variables.items()
        }
    return texts | {"rows": _rows(table, section.result), "result": result}


def _rows(table: Table, result: xr.Dataset) -> list[dict[str, Any]]:
    """Return the rows of a table: labels, numbers by variable, and as `text` what people read."""
    suite_names = {
        name: str(name).removeprefix(SUITE)
        for name in result.data_vars
        if str(name).startswith(SUITE)
    }
    numbers = _cells(result.drop_vars(list(suite_names)), table.places.dims, table.places.positions)
    if table.attrs["suites"]:
        suites = result[list(suite_names)].rename(suite_names)
        numbers += [
            row
            for row in _cells(suites, list(map(str, suites["benchmarks"].dims)))
            if row["benchmarks"] > 1
        ]
    texts = table.map(str).to_dict("records")
    labels = (
        table.index.to_frame().map(str).to_dict("records")
        if table.index.name or table.index.nlevels > 1
        else [{}] * len(table)
    )
    # A suite row has no label of its own in the result.
    return [
        {str(dim): label for dim, label in labels_of_row.items()}
        | row
        | {"text": {str(title): text for title, text in texts_of_row.items()}}
        for row, labels_of_row, texts_of_row in zip(numbers, labels, texts, strict=True)
    ]


def _cells(data: xr.Dataset, dims: list[str], positions: Any = None) -> list[dict[str, Any]]:
    """Return one row for each cell along the dims that the data have, or at some positions."""
    row_dims = [dim for dim in dims if dim in data.dims]
    return records(
        data[
            [
                name
                for name, array in data.items()
                if not row_dims or set(row_dims) & set(array.dims)
            ]
        ],
        row_dims,
        positions,
    )
