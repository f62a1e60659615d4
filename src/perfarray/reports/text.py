"""A report as Markdown, and as JSON."""

import json
from typing import Any

import pandas as pd
import xarray as xr

import perfarray
from perfarray.reports.sections import Content, Section
from perfarray.timings.writing import plain, plain_markdown, rows_of

SUITE = "suite_"
"""How the variables of suite rows begin."""


def rows(frame: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Return the titles and the texts of a table, the labels of its rows first."""
    full = frame.reset_index() if any(name is not None for name in frame.index.names) else frame
    return [str(title) for title in full.columns], [[str(text) for text in row] for row in full.to_numpy(object).tolist()]


def as_markdown(content: Content) -> str:
    """Return the report as Markdown."""
    blocks = [f"# {content.title}", "\n".join(f"- {plain_markdown(line)}" for line in content.summary)]
    blocks += [_table(["descriptor", "value"], [list(pair) for pair in content.described.items()])] if content.described else []
    for section in content.sections:
        blocks += [f"## {section.title}", plain_markdown(section.about)]
        blocks += [_table(*rows(section.table))] if section.table is not None else []
        blocks += ["\n".join(f"> {plain_markdown(note)}" for note in section.notes)] if section.notes else []
    return "\n\n".join([*blocks, "## The code", f"````python\n{content.code}\n````"]) + "\n"


def _table(titles: list[str], lines: list[list[str]]) -> str:
    ruled = [titles, ["---"] * len(titles), *lines]
    return "\n".join(f"| {' | '.join(text if line is ruled[1] else plain_markdown(text) for text in line)} |" for line in ruled)


def as_json(content: Content) -> str:
    """Return the report as JSON: texts, and all numbers of each result."""
    sections = [_section(section) for section in content.sections]
    document: dict[str, Any] = {"title": content.title, "perfarray_version": perfarray.__version__, "summary": content.summary}
    document |= {"described": content.described, "sections": sections, "code": content.code}
    return json.dumps(plain(document), ensure_ascii=False, indent=1, allow_nan=False)


def _section(section: Section) -> dict[str, Any]:
    texts_of_section = {"title": section.title, "about": section.about, "code": section.code, "notes": section.notes}
    if section.table is None or section.result is None:
        return texts_of_section | {"rows": [], "result": None}
    return texts_of_section | {"rows": _rows(section.table, section.result), "result": _numbers(section.result)}


def _rows(table: pd.DataFrame, result: xr.Dataset) -> list[dict[str, Any]]:
    """Return the rows of a table: labels, the numbers of each by their variables, and as `text` the columns that people read."""
    titles, lines = rows(table)
    named = [str(name) for name in table.index.names if name is not None]
    dims = [*named, *(str(dim) for dim, size in result.sizes.items() if size == 1 and dim not in named)]
    suite = {name: str(name).removeprefix(SUITE) for name in result.data_vars if str(name).startswith(SUITE)}
    cells = {tuple(row[dim] for dim in named): row for row in _cells(result.drop_vars(list(suite)), dims)}
    ends = len(lines) - int(table.attrs["suites"])
    keys = [key if len(named) > 1 else (key,) for key in table.index.tolist()[:ends]] if named else [()] * ends
    suites = [row for row in _cells(result[list(suite)].rename(suite), dims) if row["benchmarks"] > 1] if ends < len(lines) else []
    collected = []
    for row, line in zip([*(cells[key] for key in keys), *suites], lines, strict=True):
        labels, texts = line[: len(named)], line[len(named) :]
        collected.append(dict(zip(named, labels, strict=True)) | row | {"text": dict(zip(titles[len(named) :], texts, strict=True))})
    return collected


def _cells(data: xr.Dataset, dims: list[str]) -> list[dict[str, Any]]:
    """Return one row for each cell along those dims that the data have; variables along none of them are of no row."""
    dims_present = [dim for dim in dims if dim in data.dims]
    return rows_of(data[[name for name, array in data.items() if not dims_present or set(dims_present) & set(array.dims)]], dims_present)


def _numbers(data: xr.Dataset) -> Any:
    """Return a result as nested lists."""
    return {"attrs": data.attrs} | {
        kind: {str(name): {"dims": array.dims, "values": array.values} for name, array in variables.items()}
        for kind, variables in (("coords", data.coords), ("variables", data.data_vars))
    }
