"""An answer in the form that was asked for: on the screen, as Markdown, CSV, JSON or HTML, on stdout or in a file."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from perfarray.cli.console import BOLD, DIM, WIDTH, screen_width, show, styled, table_lines, unstyled, wrapped
from perfarray.cli.grid import CHANGED, VERDICT, Grid, grid_of
from perfarray.cli.options import SPOKEN
from perfarray.cli.problems import NO_ANSWER, in_line, reporting

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

Row = dict[str, Any]

TABLE: Final = "table"
SUFFIXES: Final = {".html": "html", ".htm": "html", ".md": "markdown", ".csv": "csv", ".json": "json"}
"""The forms that the end of a file's name stands for."""


MOST: Final = 200
"""Rows of a table in Markdown: what comments on a change may hold is limited."""


@dataclass(frozen=True, slots=True)
class Form:
    """In which form an answer is given, and to which file; None is stdout."""

    kind: str
    file: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a command has to say.

    Parameters
    ----------
    table : DataFrame
        Texts, as `perfarray.table` makes them.
    rows : sequence of dict
        The same in full precision: one for each row of CSV.
    content : mapping
        What JSON holds besides warnings and the outcome.
    outcome : str
        The answer in a sentence.
    code : int
        The exit code.
    heading, lines, legend : sequence of str
        What stands above the table, below it, and how to read it.
    """

    table: "pd.DataFrame"
    rows: Sequence[Row]
    content: Mapping[str, Any]
    outcome: str
    code: int
    heading: Sequence[str] = ()
    lines: Sequence[str] = ()
    legend: Sequence[str] = ()


def form(output: str | None, file: Path | None, *reads: str | None, json: bool = False) -> Form:
    """Return the form that was asked for, by name or by the end of the file's name; leave where that cannot be, before anything is read.

    `reads` are the places that are read, none of which is written to.
    """
    with reporting():
        if json and output not in (None, "json"):
            raise ValueError(f"--json and --output {output} ask for two forms; give one of them")
        if file is not None and str(file) in WRITERS:
            raise ValueError(f"-o {file} names a file; --output {file} says the form")
        if file is not None and file.is_dir():
            raise ValueError(f"-o {file}: this is a folder; name a file")
        if file is not None and not file.parent.is_dir():
            raise ValueError(f"-o {file}: there is no folder {str(file.parent)!r} to write to")
        if file is not None and file.exists() and any(path and Path(path).exists() and file.samefile(path) for path in reads):
            raise ValueError(f"-o {file}: this is what would be read; give another name")
    by_suffix = SUFFIXES.get(file.suffix.lower(), TABLE) if file is not None else TABLE
    return Form(output or ("json" if json else by_suffix), file)


def give(answer: Answer, target: Form, warned: Sequence[str]) -> None:
    """Print an answer, or write it to a file and print its outcome; leave with its exit code. Without any answer no column is explained.

    Notes that are not warned of stand below what explains the columns.
    """
    aside = [in_line(note["message"], SPOKEN) for note in answer.content.get("notes", ()) if note.get("aside")]
    answer = replace(answer, legend=() if answer.code == NO_ANSWER and answer.table.empty else (*answer.legend, *aside))
    if target.file is None:
        show(_lines(answer, screen_width()) if target.kind == TABLE else [WRITERS[target.kind](answer, warned).removesuffix("\n")])
    else:
        with reporting():
            _write(target.file, WRITERS[target.kind](answer, warned))
        show([answer.outcome, f"{target.file}: {target.kind}"])
    raise typer.Exit(answer.code)


def give_failure(empty: Mapping[str, Any], target: Form, warned: Sequence[str], reason: str) -> None:
    """Print why there is no answer as JSON, where JSON was asked for; a file stays as it was."""
    if target == Form("json", None):
        show([_json(empty, warned, NO_ANSWER, reason).removesuffix("\n")])


def _write(file: Path, text: str) -> None:
    """Write a file as a whole; what is no file (a pipe, a device) is written to."""
    if file.exists() and not file.is_file():
        file.write_text(text, encoding="utf-8")
        return
    from perfarray.timings.writing import replacing

    with replacing(file) as (fresh,):
        fresh.write_text(text, encoding="utf-8")


def _lines(answer: Answer, width: int) -> list[str]:
    """Return what is shown on a screen."""
    grid = grid_of(answer.table)
    legend = [line for text in (*_package(grid), *answer.legend) for line in wrapped(text, width, DIM)]
    blocks = [answer.heading, table_lines(grid, width) if grid.rows else (), [*answer.lines, *legend], [styled(_outcome(answer), BOLD)]]
    return [line for block in map(list, blocks) if block for line in ("", *block)][1:]


def _outcome(answer: Answer) -> str:
    """Return the outcome as a sentence begins."""
    return answer.outcome[:1].upper() + answer.outcome[1:]


def _package(grid: Grid) -> list[str]:
    """Return the lines on what all names begin with, and which settings all have."""
    lines = [f"Names of benchmarks begin with {grid.package}"] if grid.package else []
    return lines + ([f"All benchmarks have {grid.settings}"] if grid.settings else [])


def _as_text(answer: Answer, _: Sequence[str]) -> str:
    """Return what a screen of the usual width shows."""
    return unstyled("\n".join(_lines(answer, WIDTH))) + "\n"


def _as_markdown(answer: Answer, warned: Sequence[str]) -> str:
    """Return the outcome, a table of what has changed, what has not folded below it, and a note."""
    from perfarray.timings.writing import plain_markdown

    grid = grid_of(answer.table)
    changed, unchanged = grid.split()
    blocks = [f"**{plain_markdown(_outcome(answer))}**"]
    blocks += [_markdown_table(changed)] if changed.rows else []
    if unchanged.rows:
        column = unchanged.titles.index(VERDICT)
        verdicts = [row[column] for row in unchanged.rows]
        counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(verdicts))
        blocks.append(f"<details><summary>No change shown: {counts}</summary>\n\n{_markdown_table(unchanged)}\n\n</details>")
    blocks += ["\n".join(f"> {plain_markdown(text)}" for text in warned)] if warned else []
    lines = [line.strip() for line in (*answer.heading, *answer.lines, *_package(grid), *answer.legend)]
    note = "<br>\n".join(plain_markdown(line) for line in lines if line)
    return "\n\n".join([*blocks, f"<sub>{note}</sub>"] if note else blocks) + "\n"


def _markdown_table(grid: Grid) -> str:
    """Return a table in Markdown: labels as code, so that nothing in them is markup; of many rows the first."""
    from perfarray.timings.writing import plain_markdown

    end = len(grid.rows) - grid.suites
    n_left_out = max(0, end - MOST)
    lines = [[plain_markdown(title) for title in grid.titles]]
    lines.append([":--" if side == "left" else "--:" for side in grid.sides])
    for number, row in enumerate(grid.rows):
        if end > number >= MOST:
            continue
        labels = [_code(text) if number < end else f"**{plain_markdown(text)}**" if text else "" for text in row[: grid.labels]]
        lines.append(labels + [f"**{text}**" if text in CHANGED else plain_markdown(text) for text in row[grid.labels :]])
    more = f"\n\nand {n_left_out} more (`--output csv` has all)" if n_left_out else ""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + more


def _code(text: str) -> str:
    """Return a text as code; a bar would end the cell even there."""
    text = " ".join(text.split()).replace("|", "\\|")
    fence = "`" * (1 + max((len(ticks) for ticks in re.findall("`+", text)), default=0))
    return f"{fence} {text} {fence}" if "`" in text else f"`{text}`" if text else ""


def _as_csv(answer: Answer, _: Sequence[str]) -> str:
    """Return a line for each row, in full precision; what lies along levels has columns `variable.level`."""
    import pandas as pd

    from perfarray.timings.writing import plain

    return str(pd.json_normalize([plain(row) for row in answer.rows]).to_csv(index=False))


def _as_json(answer: Answer, warned: Sequence[str]) -> str:
    return _json(answer.content, warned, answer.code, answer.outcome)


def _json(content: Mapping[str, Any], warned: Sequence[str], code: int, reason: str) -> str:
    """Return one JSON object: the answer, the warnings, and the exit code with its reason."""
    from perfarray.timings.writing import plain

    return json.dumps(plain({**content, "warnings": warned, "exit_code": code, "exit_reason": reason}), indent=2, allow_nan=False) + "\n"


PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em; color-scheme: light dark }}
div {{ overflow-x: auto }} table {{ border-collapse: collapse }} th, td {{ padding: .2em .8em; text-align: right; white-space: nowrap }}
.left {{ text-align: left }} tr:nth-child(even) td {{ background: #8881 }} .suite td {{ font-weight: bold; border-top: 1px solid #888 }}
.slower {{ color: #c22 }} .faster {{ color: #292 }} h1 {{ font-size: 1.3em }} p.note {{ font-size: 85%; margin: .4em 0; opacity: .8 }}
</style>
<h1>{title}</h1>
<div>{table}</div>
{below}
</html>
"""


def _as_html(answer: Answer, warned: Sequence[str]) -> str:
    """Return one page that needs nothing else."""
    grid = grid_of(answer.table)
    sides = grid.sides
    head = "".join(f'<th class="{side}">{escape(title)}' for side, title in zip(sides, grid.titles, strict=True))
    body = "\n".join(
        f"<tr{' class=suite' if number >= len(grid.rows) - grid.suites else ''}>"
        + "".join(f'<td class="{side} {text if text in CHANGED else ""}">{escape(text)}' for side, text in zip(sides, row, strict=True))
        for number, row in enumerate(grid.rows)
    )
    lines = [*answer.heading, *answer.lines, *_package(grid), *answer.legend]
    below = [f"<p>{escape(text)}</p>" for text in warned] + [f'<p class="note">{escape(line)}</p>' for line in lines if line.strip()]
    outcome = _outcome(answer)
    table = f"<table>\n<tr>{head}\n{body}\n</table>" if grid.rows else ""
    return PAGE.format(title=escape(outcome), table=table, below="\n".join(below))


WRITERS: Final[Mapping[str, Callable[[Answer, Sequence[str]], str]]] = {
    TABLE: _as_text, "markdown": _as_markdown, "csv": _as_csv, "json": _as_json, "html": _as_html
}  # fmt: skip


def noted(result: "xr.Dataset") -> tuple[dict[str, Any], list[Row]]:
    """Return the attrs of a result, and what it has to say beside its numbers, as data."""
    import perfarray
    from perfarray.timings.notes import as_data

    attrs = {str(name): value for name, value in result.attrs.items() if name != "notes"}
    return attrs, [as_data(note) for note in perfarray.notes(result)]
