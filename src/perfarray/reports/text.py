"""A report as Markdown, and as JSON."""

import json
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

import perfarray
from perfarray.reports.sections import Content, Section
from perfarray.timings.writing import plain_markdown


def rows(frame: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Return the titles and the texts of a table, the labels of its rows first."""
    whole = frame.reset_index() if any(name is not None for name in frame.index.names) else frame
    return [str(title) for title in whole.columns], [[str(text) for text in row] for row in whole.to_numpy(object).tolist()]


def as_markdown(content: Content) -> str:
    """Return the report as Markdown."""
    parts = [f"# {content.title}", "\n".join(f"- {plain_markdown(line)}" for line in content.summary)]
    parts += [_table(["descriptor", "value"], [list(pair) for pair in content.described.items()])] if content.described else []
    for section in content.sections:
        parts += [f"## {section.title}", plain_markdown(section.about)]
        parts += [_table(*rows(section.table))] if section.table is not None else []
        parts += ["\n".join(f"> {plain_markdown(note)}" for note in section.notes)] if section.notes else []
    return "\n\n".join([*parts, "## The code", f"````python\n{content.code}\n````"]) + "\n"


def _table(titles: list[str], lines: list[list[str]]) -> str:
    ruled = [titles, ["---"] * len(titles), *lines]
    return "\n".join(f"| {' | '.join(text if line is ruled[1] else plain_markdown(text) for text in line)} |" for line in ruled)


def as_json(content: Content) -> str:
    """Return the report as JSON: texts, and all numbers of each result."""
    sections = [_section(section) for section in content.sections]
    whole = {"title": content.title, "perfarray_version": perfarray.__version__, "summary": content.summary}
    return json.dumps({**whole, "described": content.described, "sections": sections, "code": content.code}, ensure_ascii=False, indent=1)


def _section(section: Section) -> dict[str, Any]:
    titles, lines = rows(section.table) if section.table is not None else ([], [])
    texts = [dict(zip(titles, line, strict=True)) for line in lines]
    said = {"title": section.title, "about": section.about, "code": section.code, "notes": section.notes}
    return said | {"rows": texts, "result": None if section.result is None else _numbers(section.result)}


def _numbers(data: xr.Dataset) -> Any:
    """Return a result as nested lists; what is not known, or not finite, is null."""
    arrays = {
        kind: {str(name): {"dims": array.dims, "values": _known(array.values)} for name, array in some.items()}
        for kind, some in (("coords", data.coords), ("variables", data.data_vars))
    }
    return {"attrs": {str(name): _known(np.asarray(value, object)) for name, value in data.attrs.items()}, **arrays}


def _known(values: Any) -> Any:
    if isinstance(values, np.ndarray):
        return [_known(one) for one in values] if values.ndim else _known(values.item())
    if isinstance(values, np.generic):
        values = values.item()
    if isinstance(values, float) and not np.isfinite(values):
        return None
    return values if isinstance(values, bool | int | float | None) else str(values)
