"""An answer in the form that was asked for: on the screen, as Markdown, CSV, JSON or HTML, on stdout or in a file."""

import json as json_format
import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from perfarray.cli import console
from perfarray.cli.grid import CHANGED, VERDICT, Grid, grid_of
from perfarray.cli.options import SPOKEN, Group
from perfarray.cli.problems import NO_ANSWER, in_line, reporting

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from perfarray.cli.console import Renderable

Row = dict[str, Any]

TABLE: Final = "table"
SUFFIXES: Final = {
    ".html": "html",
    ".htm": "html",
    ".md": "markdown",
    ".csv": "csv",
    ".json": "json",
}

# Codes of notes that stand below a table whatever is explained: on a mark in it, on its suite row,
# on an option that pays
OF_MARKS: Final = ("by_pvalue", "common_shift", "rows_differ", "measured_in_rounds")

MOST_REMARKS: Final = 2  # lines of the legend that are shown without --explain

MOST: Final = 200  # rows of a table in Markdown: the length of comments on a change is limited


@dataclass(frozen=True, slots=True)
class Form:
    """The form of an answer, and the file it is written to; None is stdout."""

    kind: str
    file: Path | None
    explain: bool = False

    def refuse(self, *paths: str | None) -> None:
        """Raise where the answer would be written to one of the paths that are read."""
        file = self.file
        if (
            file is not None
            and file.exists()
            and any(path and Path(path).exists() and file.samefile(path) for path in paths)
        ):
            raise ValueError(f"-o {self.file}: this is what would be read; give another name")


Output = Annotated[
    Literal["table", "markdown", "csv", "json", "html"] | None,
    typer.Option(
        help=(
            "The form of the answer: table (default), or csv and json in full precision, "
            "markdown, html."
        )
    ),
]
Json = Annotated[
    bool,
    typer.Option(
        "--json", help="As --output json: one object (NaN is null, infinite limits are texts)."
    ),
]


def form(
    output: Output = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "-o",
            metavar="FILE",
            help=(
                "Write the answer there, and print its outcome; .md, .csv, .json and .html say "
                "the form."
            ),
        ),
    ] = None,
    json: Json = False,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain", help="Say how to read the answer, and all that should be known of it."
        ),
    ] = False,
) -> Form:
    """Return the form that was asked for, by name or by the suffix of the file.

    Exit where it cannot be written.
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
    by_suffix = SUFFIXES.get(file.suffix.lower(), TABLE) if file is not None else TABLE
    return Form(output or ("json" if json else by_suffix), file, explain)


def printed(output: Output = None, json: Json = False) -> Form:
    """Return the form of an answer that is printed."""
    return form(output, None, json)


Target = Annotated[Form, Group(form)]
Printed = Annotated[Form, Group(printed)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer of a command.

    `table` holds texts, as `perfarray.table` makes them, and `rows` the same in full precision, one
    for each row of CSV. `content` is what JSON holds besides warnings and the outcome. `heading`
    stands above the table, `lines` and `legend` below it. A page has the picture of `result`.
    """

    table: "pd.DataFrame"
    rows: Sequence[Mapping[Any, Any]]
    content: Mapping[str, Any]
    outcome: str
    code: int
    heading: Sequence[str] = ()
    lines: Sequence[str] = ()
    legend: Sequence[str] = ()
    result: "xr.Dataset | None" = None

    @property
    def sentence(self) -> str:
        """The outcome with a capital letter, unless it begins with a name such as `cpu_mhz`."""
        return (
            self.outcome[:1].upper() + self.outcome[1:]
            if self.outcome.partition(" ")[0].strip(":,").isalpha()
            else self.outcome
        )


@contextmanager
def answering(
    target: Form,
    paths: Mapping[str, str],
    *keys: str,
    own_words: tuple[str, ...] = (),
    options: Mapping[str, str] = SPOKEN,
) -> Iterator[list[str]]:
    """Report problems as `reporting` does.

    Where JSON was asked for, print an error as an object that has nothing under `keys`.

    `paths` are those that are read, by the names that they have in JSON.
    """

    def give_error(warned: Sequence[str], error: str) -> None:
        if (target.kind, target.file) == ("json", None):
            console.show(
                [
                    _json(
                        {**paths, **{key: {} if key == "attrs" else [] for key in keys}},
                        warned,
                        NO_ANSWER,
                        error,
                    )
                ]
            )

    with reporting(give_error, own_words=own_words, options=options) as sentences:
        target.refuse(*paths.values())
        yield sentences


def described(result: "xr.Dataset | pd.DataFrame") -> dict[str, Any]:
    """Return the attrs and the notes of a result as data."""
    import perfarray
    from perfarray.timings.notes import note_as_dict

    attrs = {str(name): value for name, value in result.attrs.items() if name != "notes"}
    return {"attrs": attrs, "notes": [note_as_dict(note) for note in perfarray.notes(result)]}


def give(
    answer: Answer, target: Form, warned: Sequence[str], options: Mapping[str, str] = SPOKEN
) -> None:
    """Print an answer, or write it to a file and print its outcome; exit with its code.

    Notes that are no warnings stand below the legend; without any answer there is no legend.
    """
    asides = [
        (note["code"], in_line(note["message"], options))
        for note in answer.content.get("notes", ())
        if note.get("aside")
    ]
    # What a mark in the table means stands below it whatever is explained.
    marks = [text for code, text in asides if code in OF_MARKS]
    legend = (*answer.legend, *(text for code, text in asides if code not in OF_MARKS))
    answer = replace(
        answer,
        lines=(*answer.lines, *marks),
        legend=() if answer.code == NO_ANSWER and answer.table.empty else legend,
    )
    if target.kind == TABLE and not target.explain and len(answer.legend) > MOST_REMARKS + 1:
        more = f"--explain says how to read this ({len(answer.legend) - MOST_REMARKS} more lines)."
        answer = replace(answer, legend=(*answer.legend[:MOST_REMARKS], more))
    if target.file is None:
        console.show(
            _screen(answer, console.screen_width())
            if target.kind == TABLE
            else [WRITERS[target.kind](answer, warned)]
        )
    else:
        from perfarray.tables.replacing import write_text

        with reporting():
            write_text(target.file, WRITERS[target.kind](answer, warned) + "\n")
        console.show([answer.outcome, f"{target.file}: {target.kind}"])
    raise typer.Exit(answer.code)


def _screen(answer: Answer, width: int) -> "list[Renderable]":
    """Return what a screen shows: blocks with blank lines between them."""
    grid = grid_of(answer.table)
    legend = [console.styled(line, "dim") for line in (*grid.remarks(), *answer.legend)]
    table = [*console.table(grid, width)] if grid.rows else []
    blocks: list[list[Renderable]] = [
        [*answer.heading],
        table,
        [*answer.lines, *legend],
        [console.styled(answer.sentence, "bold", no_wrap=True)],
    ]
    return [line for block in blocks if block for line in ("", *block)][1:]


def _as_markdown(answer: Answer, warned: Sequence[str]) -> str:
    """Return the outcome, a table of what has changed, a folded table of what has not, and the legend."""
    from perfarray.results.rows import escape_markdown

    grid = grid_of(answer.table)
    changed, unchanged = grid.split()
    blocks = [f"**{escape_markdown(answer.sentence)}**"]
    blocks += [_markdown_table(changed)] if changed.rows else []
    if unchanged.rows:
        column = unchanged.titles.index(VERDICT)
        verdicts = [row[column] for row in unchanged.rows]
        counts = ", ".join(
            f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(verdicts)
        )
        blocks.append(
            "<details><summary>No change shown: "
            f"{counts}</summary>\n\n{_markdown_table(unchanged)}\n\n</details>"
        )
    blocks += ["\n".join(f"> {escape_markdown(text)}" for text in warned)] if warned else []
    note = "<br>\n".join(map(escape_markdown, _remarks(answer, grid)))
    return "\n\n".join([*blocks, f"<sub>{note}</sub>"] if note else blocks)


def _markdown_table(grid: Grid) -> str:
    """Return a table in Markdown, of many rows the first.

    Labels are code, so that nothing in them is markup.
    """
    from perfarray.results.rows import escape_markdown

    end = len(grid.benchmark_rows)
    lines = [[escape_markdown(title) for title in grid.titles]]
    lines.append([":--" if side == "left" else "--:" for side in grid.sides])
    for number, row in enumerate(grid.rows):
        if end > number >= MOST:
            continue
        labels = [
            _code(text) if number < end else f"**{escape_markdown(text)}**" if text else ""
            for text in row[: grid.n_labels]
        ]
        lines.append(
            labels
            + [
                f"**{text}**" if text in CHANGED else escape_markdown(text)
                for text in row[grid.n_labels :]
            ]
        )
    more = f"\n\nand {end - MOST} more (`--output csv` has all)" if end > MOST else ""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + more


def _code(text: str) -> str:
    """Return a text as code; a bar would end the cell even there."""
    from perfarray.timings.notes import escape_controls

    text = escape_controls(" ".join(text.split())).replace("|", "\\|")
    fence = "`" * (1 + max((len(ticks) for ticks in re.findall("`+", text)), default=0))
    return f"{fence} {text} {fence}" if "`" in text else f"`{text}`" if text else ""


def _remarks(answer: Answer, grid: Grid) -> list[str]:
    lines = [
        line.strip() for line in (*answer.heading, *answer.lines, *grid.remarks(), *answer.legend)
    ]
    return [line for line in lines if line]


def _as_csv(answer: Answer, _: Sequence[str]) -> str:
    """Return a line for each row, in full precision.

    A variable along levels has columns `variable.level`.
    """
    import pandas as pd

    from perfarray.results.rows import json_value

    return str(
        pd.json_normalize([json_value(row) for row in answer.rows]).to_csv(index=False)
    ).removesuffix("\n")


def _json(content: Mapping[str, Any], warned: Sequence[str], code: int, reason: str) -> str:
    """Return one JSON object: the answer, the warnings, and the exit code with its reason."""
    from perfarray.results.rows import json_value

    answer = json_value({**content, "warnings": warned, "exit_code": code, "exit_reason": reason})
    return json_format.dumps(answer, indent=2, allow_nan=False)


PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em; color-scheme: light dark;
  overflow-wrap: anywhere }}
div {{ overflow-x: auto }} table {{ border-collapse: collapse }} th, td {{ padding: .2em .8em; text-align: right }}
@media (min-width: 601px) {{ img {{ max-width: 100% }} }} img {{ background: white }}
@media (max-width: 600px) {{ table, tbody, tr, td {{ display: block; text-align: left }} th {{ display: none }} tr {{ padding: .4em 0 }} }}
.left {{ text-align: left }} tr:nth-child(even) td {{ background: #8881 }} .suite td {{ font-weight: bold; border-top: 1px solid #888 }}
.slower {{ color: #c22 }} .faster {{ color: #292 }} h1 {{ font-size: 1.3em }} p.note {{ font-size: 85%; margin: .4em 0; opacity: .8 }}
</style>
<h1>{title}</h1>
<div>{picture}</div>
<div>{table}</div>
{below}
</html>"""


def _as_html(answer: Answer, warned: Sequence[str]) -> str:
    from perfarray.results.rows import escape_html

    grid = grid_of(answer.table)
    sides, end = grid.sides, len(grid.benchmark_rows)
    rows = [
        "<tr>"
        + "".join(
            f'<th class="{side}">{escape_html(title)}'
            for side, title in zip(sides, grid.titles, strict=True)
        )
    ]
    for number, row in enumerate(grid.rows):
        classes = [
            f"{side} {text if text in CHANGED else ''}"
            for side, text in zip(sides, row, strict=True)
        ]
        cells = [
            f'<td class="{names}">{escape_html(text)}'
            for names, text in zip(classes, row, strict=True)
        ]
        rows.append("".join([f"<tr{'' if number < end else ' class=suite'}>", *cells]))
    below = [f"<p>{escape_html(text)}</p>" for text in warned] + [
        f'<p class="note">{escape_html(line)}</p>' for line in _remarks(answer, grid)
    ]
    table = "\n".join(["<table>", *rows, "</table>"]) if grid.rows else ""
    return PAGE.format(
        title=escape_html(answer.sentence),
        picture=_picture(answer.result),
        table=table,
        below="\n".join(below),
    )


def _picture(result: "xr.Dataset | None") -> str:
    """Return the picture of a result; nothing where it has none, or matplotlib is not installed."""
    try:
        content = "" if result is None else b64encode(result.perf.plot.svg().encode()).decode()
    except (ValueError, ImportError):
        content = ""
    return (
        f'<img alt="the numbers are in the table below" src="data:image/svg+xml;base64,{content}">'
        if content
        else ""
    )


WRITERS: Final[Mapping[str, Callable[[Answer, Sequence[str]], str]]] = {
    TABLE: lambda answer, _: console.render(_screen(answer, console.WIDTH)),
    "markdown": _as_markdown,
    "csv": _as_csv,
    "json": lambda answer, warned: _json(answer.content, warned, answer.code, answer.outcome),
    "html": _as_html,
}
