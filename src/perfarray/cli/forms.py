"""An answer on the screen, as Markdown, CSV, JSON or HTML, on stdout or in a file."""

import json as json_format
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from perfarray.cli import console
from perfarray.cli.options import SPOKEN, Group
from perfarray.cli.problems import NO_ANSWER, in_line, reporting

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

Row = dict[str, Any]

TABLE: Final = "table"
SUFFIXES: Final = {
    ".html": "html",
    ".htm": "html",
    ".md": "markdown",
    ".csv": "csv",
    ".json": "json",
    ".xml": "junit",
}

PICTURES: Final = (".svg", ".png", ".pdf")

FOR_PROGRAMS: Final = ("json", "github", "junit")  # forms in which errors are printed, too

# Codes of notes that stand below a table whatever is explained: on a mark in it, on its suite row,
# on an option that pays, on the order of measurement, on what ratios are relative to
OF_MARKS: Final = (
    "by_pvalue",
    "common_shift",
    "rows_differ",
    "measured_in_rounds",
    "dated_rounds",
    "undated_rounds",
    "fixed_order",
    "controls",
    "spread_changed",
)

MOST_REMARKS: Final = 2  # lines of the legend that are shown without --explain

MAX_MARKDOWN_ROWS: Final = 200  # the length of comments on a change is limited


@dataclass(frozen=True, slots=True)
class Form:
    """The form of an answer, and the file it is written to; None is stdout."""

    kind: str
    file: Path | None
    explain: bool = False
    command: str = ""

    @property
    def is_for_people(self) -> bool:
        """Whether lines stand beside the table."""
        return self.kind in (TABLE, "markdown", "html")

    def refuse(self, *paths: str | None) -> None:
        """Raise where the answer would be written to one of the paths that are read."""
        file = self.file
        if (
            file is not None
            and file.exists()
            and any(path and Path(path).exists() and file.samefile(path) for path in paths)
        ):
            raise ValueError(f"-o {self.file}: this is what would be read. Give another name")


Output = Annotated[
    Literal["table", "markdown", "csv", "json", "html", "github", "junit"] | None,
    typer.Option(
        help=(
            "Choose the form of the answer. csv and json have full precision; github "
            "(annotations) and junit (XML) are for build servers. Default: table."
        )
    ),
]
Json = Annotated[
    bool,
    typer.Option(
        "--json",
        help=(
            "Print one JSON object (NaN is null, infinite limits are texts), as --output json does."
        ),
    ),
]


def form(
    context: typer.Context,
    output: Output = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "-o",
            metavar="FILE",
            help=(
                "Write the answer to FILE, and print only its outcome. .md, .csv, .json, .html "
                "and .xml (junit) set the form."
            ),
        ),
    ] = None,
    json: Json = False,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Explain how to read the answer, with all notes."),
    ] = False,
) -> Form:
    """Return the form that was asked for, by name or by the suffix of the file.

    Exit where it cannot be written.
    """
    with reporting():
        if json and output not in (None, "json"):
            raise ValueError(f"--json and --output {output} ask for two forms. Give one of them")
        if file is not None and str(file) in WRITERS:
            raise ValueError(f"-o {file} names a file. --output {file} says the form")
        if file is not None and file.is_dir():
            raise ValueError(f"-o {file}: this is a folder. Name a file")
        if file is not None and not file.parent.is_dir():
            raise ValueError(f"-o {file}: there is no folder {str(file.parent)!r} to write to")
    by_suffix = SUFFIXES.get(file.suffix.lower(), TABLE) if file is not None else TABLE
    kind = output or ("json" if json else by_suffix)
    return Form(kind, file, explain, context.info_name or "")


def printed(context: typer.Context, output: Output = None, json: Json = False) -> Form:
    """Return the form of an answer that is printed."""
    return form(context, output, None, json)


Target = Annotated[Form, Group(form)]
Printed = Annotated[Form, Group(printed)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer of a command.

    `table` holds texts, as `perfarray.table` makes them, and `rows` the same in full precision, one
    for each row of CSV. `content` is what JSON holds besides warnings and the outcome. `heading`
    stands above the table, `lines` and `legend` below it, and `ways_on`, with commands to copy,
    last. A page has the picture of `result`.
    """

    table: "pd.DataFrame"
    rows: Sequence[Mapping[Any, Any]]
    content: Mapping[str, Any]
    outcome: str
    code: int
    heading: Sequence[str] = ()
    lines: Sequence[str] = ()
    legend: Sequence[str] = ()
    ways_on: Sequence[str] = ()
    result: "xr.Dataset | None" = None
    command: str = ""

    @property
    def sentence(self) -> str:
        """The outcome with a capital letter, unless it begins with a name such as `cpu_mhz`."""
        return (
            self.outcome[:1].upper() + self.outcome[1:]
            if self.outcome.partition(" ")[0].strip(":,").isalpha()
            else self.outcome
        )

    def remarks(self, of_table: Sequence[str]) -> list[str]:
        """Return all lines that stand beside the table."""
        lines = (*self.heading, *self.lines, *of_table, *self.legend)
        return [line.strip() for line in lines if line.strip()]


@contextmanager
def answering(
    target: Form,
    paths: Mapping[str, str],
    *keys: str,
    own_words: tuple[str, ...] = (),
    options: Mapping[str, str] = SPOKEN,
    tells_time: bool = True,
) -> Iterator[list[str]]:
    """Report problems as `reporting` does.

    Where a form for programs was asked for, an error is given in it, in place of the answer; in
    JSON, as an object that has nothing under `keys`. An older file in another form stays.

    `paths` are those that are read, by the names that they have in JSON. `tells_time` says whether
    a terminal shows how long the block takes.
    """

    def give_error(warned: Sequence[str], error: str) -> None:
        import pandas as pd

        if target.kind not in FOR_PROGRAMS:
            return  # what the file holds stays
        nothing: dict[str, Any] = {key: {} if key == "attrs" else [] for key in keys}
        content = {**paths, **nothing}
        answer = Answer(
            table=pd.DataFrame(), rows=(), content=content, outcome=error, code=NO_ANSWER
        )
        _write(answer, target, warned)

    with reporting():
        file = target.file
        if file is not None and target.kind == TABLE and file.suffix.lower() in PICTURES:
            raise ValueError(f"-o {file}: this answer is no picture. `perfarray plot` draws one")
        target.refuse(*paths.values())
    doing = target.command if tells_time else ""
    with reporting(give_error, own_words=own_words, options=options, doing=doing) as sentences:
        yield sentences


def described(result: "xr.Dataset | pd.DataFrame", without: Sequence[str] = ()) -> dict[str, Any]:
    """Return the attrs and the notes of a result as data, without the notes of some codes."""
    import perfarray
    from perfarray.timings.notes import note_as_dict

    attrs = {str(name): value for name, value in result.attrs.items() if name != "notes"}
    notes = [note_as_dict(note) for note in perfarray.notes(result) if note.code not in without]
    return {"attrs": attrs, "notes": notes}


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
    # The meaning of a mark stands below the table, with --explain or without.
    marks = [text for code, text in asides if code in OF_MARKS]
    legend = (*answer.legend, *(text for code, text in asides if code not in OF_MARKS))
    answer = replace(
        answer,
        lines=(*answer.lines, *marks),
        legend=() if answer.code == NO_ANSWER and answer.table.empty else legend,
    )
    if target.kind == TABLE and not target.explain and len(answer.legend) > MOST_REMARKS + 1:
        advice = (
            f"--explain says how to read this ({len(answer.legend) - MOST_REMARKS} more lines)."
        )
        answer = replace(answer, legend=(*answer.legend[:MOST_REMARKS], advice))
    if target.file is None and target.kind == TABLE:
        console.show(_screen(answer, console.screen_width()))
    else:
        _write(answer, target, warned)
    if target.file is not None:
        console.show([answer.outcome, f"{target.file}: {target.kind}"])
    raise typer.Exit(answer.code)


def _write(answer: Answer, target: Form, warned: Sequence[str]) -> None:
    """Print an answer in its form, or write it to its file."""
    text = WRITERS[target.kind](replace(answer, command=target.command), warned)
    if target.file is None:
        console.show([text])
        return
    from perfarray.tables.replacing import write_text

    with reporting():
        write_text(target.file, text + "\n")


def _screen(answer: Answer, width: int) -> list[str]:
    """Return what a screen shows: blocks with blank lines between them."""
    from perfarray.results.printed import grid_of

    grid = grid_of(answer.table)
    blocks = [
        [*answer.heading],
        [*console.table_lines(grid, width)] if grid.rows else [],
        [
            *(
                line
                for text in answer.lines
                for line in ([text] if text.startswith(" ") else console.paragraph(text, width))
            ),
            *(
                line
                for text in (*grid.remarks, *answer.legend)
                for line in console.paragraph(text, width, dim=True)
            ),
        ],
        [*answer.ways_on],
        [console.styled(answer.sentence, bold=True)],
    ]
    return [line for block in blocks if block for line in ("", *block)][1:]


def _as_markdown(answer: Answer, warned: Sequence[str]) -> str:
    """Return the outcome, a table of changes, a folded one of the other rows, and the legend."""
    from perfarray.results import printed

    grid = printed.grid_of(answer.table)
    changed, unchanged = grid.split()
    blocks = [f"**{printed.escape_markdown(answer.sentence)}**"]
    blocks += [printed.markdown_table(changed, MAX_MARKDOWN_ROWS)] if changed.rows else []
    if unchanged.rows:
        column = unchanged.titles.index("verdict")
        verdicts = Counter(row[column] for row in unchanged.rows)
        counts = ", ".join(f"{number} {verdict}" for verdict, number in verdicts.items())
        blocks.append(
            f"<details><summary>No change shown: {counts}</summary>\n\n"
            f"{printed.markdown_table(unchanged, MAX_MARKDOWN_ROWS)}\n\n</details>"
        )
    note = "<br>\n".join(map(printed.escape_markdown, answer.remarks(grid.remarks)))
    blocks += printed.quoted_lines(warned)
    blocks += ["\n".join(["```text", *answer.ways_on, "```"])] if answer.ways_on else []
    return "\n\n".join([*blocks, f"<sub>{note}</sub>"] if note else blocks)


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


def _as_html(answer: Answer, warned: Sequence[str]) -> str:
    from perfarray.results import pages
    from perfarray.results.printed import grid_of

    grid = grid_of(answer.table)
    return pages.page(
        answer.sentence,
        [
            pages.picture_block(_picture(answer.result), answer.sentence),
            pages.table_block(grid),
            *pages.note_blocks(
                [*warned, *answer.remarks(grid.remarks), *filter(None, answer.ways_on)]
            ),
        ],
    ).removesuffix("\n")


def _as_workflow_commands(answer: Answer, warned: Sequence[str]) -> str:
    from perfarray.results import builds
    from perfarray.results.printed import grid_of

    grid = grid_of(answer.table, shorten=False)
    return builds.workflow_commands(
        grid, answer.sentence, warned, has_answer=answer.code != NO_ANSWER
    )


def _as_junit(answer: Answer, warned: Sequence[str]) -> str:
    """Return JUnit's XML; the suite is called as the command."""
    from perfarray.results import builds
    from perfarray.results.printed import grid_of

    grid, has_answer = grid_of(answer.table, shorten=False), answer.code != NO_ANSWER
    return builds.junit(grid, answer.sentence, warned, answer.command, has_answer=has_answer)


def _picture(result: "xr.Dataset | None") -> str | None:
    """Return the picture of a result as a data URI; None where there is none."""
    if result is None:
        return None
    try:
        content = b64encode(result.perf.plot.svg().encode()).decode()
    except (ValueError, ImportError):
        return None
    return f"data:image/svg+xml;base64,{content}"


WRITERS: Final[Mapping[str, Callable[[Answer, Sequence[str]], str]]] = {
    TABLE: lambda answer, _: console.plain("\n".join(_screen(answer, console.WIDTH))),
    "markdown": _as_markdown,
    "csv": _as_csv,
    "json": lambda answer, warned: _json(answer.content, warned, answer.code, answer.outcome),
    "html": _as_html,
    "github": _as_workflow_commands,
    "junit": _as_junit,
}
