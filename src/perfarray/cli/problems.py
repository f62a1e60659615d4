"""Errors and warnings: lines on stderr, in the order in which they arose, and the exit code."""

import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from types import MappingProxyType
from typing import Any, Final

import typer

from perfarray.cli.console import program
from perfarray.conventions import plural, singular

NOTHING_SLOWER: Final = 0
SOMETHING_SLOWER: Final = 1
NO_ANSWER: Final = 2

PROBLEMS: Final = (
    ValueError,
    OSError,
    ImportError,
)  # what the library raises when data or arguments are at fault

# Notes on cells without an answer, for commands that name those cells themselves
WITHOUT_ANSWER: Final = ("no_value", "copied")

SHARES: Final = (
    "threshold",
    "confidence_level",
    "half_width",
    "precision",
    "assurance",
)  # arguments that options give as percentages

QUOTED: Final = re.compile(r"((?<!\w)'[^']*'(?!\w)|\"[^\"]*\")")
# Of the ways in which a message proposes to take the inside of a level as independent, the one that
# is an option.
MERGING: Final = re.compile(
    r'merge_level\("\w+"\)(?: or|,) (--levels [\w,]+)(?: or unit="\w+")? take'
)
SELECTING: Final = re.compile(r"\.sel\((\w+='[^']*'(?:, \w+='[^']*')*)\)")
WITH_SUITE: Final = re.compile(
    r"(?:times\.where\(times|table\[table)\['(\w+)'\] == '?([^'\])]*)'?[\])]"
    r"(?: of table = times\.perf\.machine_table\(\))?"
)
CONTROLS: Final = re.compile(
    r"\bcontrols=\[((?:'[^']*'|\"[^\"]*\")(?:, (?:'[^']*'|\"[^\"]*\"))*)\]"
)
# No option stands for it
AS_GROUPS: Final = re.compile(
    r" Or give another column as groups=, or groups=None, .* by itself\.?$"
)
AS_BY: Final = r", as by='\w+' gives it"
SHARED: Final = r" If one \w+ serves all benchmarks, say shared='\w+'; else shared=\(\)\."
BY_SUITE: Final = r'times\.groupby\("suite"\)( or by="suite")?'


@contextmanager
def reporting(
    failing: Callable[[list[str], str], None] | None = None,
    *,
    own_words: tuple[str, ...] = (),
    options: Mapping[str, str] = MappingProxyType({}),
    doing: str = "",
) -> Iterator[list[str]]:
    """Print the warnings of a block on stderr, a line each.

    Where it fails, print one line of error and exit with 2.

    The block appends warnings of its own to the list that it is given; after it the list holds all
    that were printed. Notes with the codes in `own_words` have a text or a column of the command's.
    `options` stand for arguments of the library, by argument. `failing` is told the warnings and
    the error. `doing` is what a terminal shows while the block takes long.
    """
    from perfarray.timings.progress import telling_time

    sentences: list[str] = []
    error = None
    patience = telling_time(doing) if doing else nullcontext()
    with warnings.catch_warnings(record=True) as caught, patience:
        warnings.filterwarnings("always", category=UserWarning)
        try:
            yield sentences
        except PROBLEMS as problem:
            error = (
                "error: "
                f"{in_line('; '.join([str(problem), *getattr(problem, '__notes__', [])]), options)}"
            )
    messages: list[object] = []
    for warning in caught:
        notes = getattr(warning.message, "notes", None)
        messages += (
            [warning.message]
            if notes is None
            else [note.message for note in notes if note.code not in own_words]
        )
    sentences[:] = dict.fromkeys([*(in_line(message, options) for message in messages), *sentences])
    for text in sentences:
        typer.echo(f"warning: {text}", err=True)
    if error is not None:
        typer.echo(error, err=True)
        if failing is not None:
            failing(sentences, error)
        raise typer.Exit(NO_ANSWER)


def in_line(text: object, options: Mapping[str, str] = MappingProxyType({})) -> str:
    """Write a message in one line, with options in the places of the library's arguments."""
    line = re.sub(r"[\x00-\x1f\x7f-\x9f]", "?", " ".join(str(text).split()))
    line = (
        re.sub(BY_SUITE, "--by suite", line)
        if "by" in options
        else re.sub(rf"[;.] {BY_SUITE} gives each its own|{AS_BY}", "", line)
    )
    line = line if "shared" in options else re.sub(SHARED, "", line)
    if "dims" in options:  # dims={'benchmark': 0, 'time_ms': 1} becomes dims=benchmark=0,time_ms=1
        line = re.sub(
            r"\bdims=\{([^{}]*)\}",
            lambda match: (
                "dims=" + re.sub("['\"]", "", match[1]).replace(": ", "=").replace(", ", ",")
            ),
            line,
        )
    if "controls" in options:  # controls=['a', 'b'] becomes --control 'a' --control 'b'
        line = CONTROLS.sub(
            lambda match: " ".join(
                f"{options['controls']} {label}" for label in QUOTED.findall(match[1])
            ),
            line,
        )
    line = re.sub(r"autocorrelation\(dim='\w+'\)", f"{program()} plot run-sequence", line)
    line = AS_GROUPS.sub("", line)
    line = line.replace('rename(file="session")', "--files-are session")
    line = line.replace('on_error="warn"', f"{program()} convert --on-error warn")
    if (
        "select" in options
        # From .sel(benchmark='fft', version='old') to
        # --select 'benchmark=fft' --select 'version=old'
    ):
        line = SELECTING.sub(
            lambda match: re.sub(r"\b(\w+)='([^']*)',?", r"--select '\1=\2'", match[1]), line
        )
        line = WITH_SUITE.sub(r"--select '\1=\2'", line)
    for argument in options:
        line = re.sub(rf"\b{argument}=\([^()]*\)", _comma_separated, line)
    pieces = QUOTED.split(
        line
    )  # a name that the message quotes may hold what looks like an argument
    pieces = [
        piece if index % 2 else _with_options(piece, options, index < len(pieces) - 1)
        for index, piece in enumerate(pieces)
    ]
    return MERGING.sub(r"\1 takes", "".join(pieces))


def _with_options(text: str, options: Mapping[str, str], quote_follows: bool) -> str:
    """Write options in the places of arguments, in a text without quotes."""
    for argument, option in options.items():
        if argument in SHARES:
            text = re.sub(
                rf"\b{argument}=(-?[0-9]*\.?[0-9]+(?:e-?[0-9]+)?)(?!\w|\.\w)",
                partial(_percentage, option),
                text,
            )
        text = re.sub(rf"\b{argument}=True\b", option, text)
        text = re.sub(
            rf"\b{argument}=(?=[\w\[-]{'|$' if quote_follows else ''})", f"{option} ", text
        )
        text = re.sub(rf"\b{argument}=", option, text)
    return text


def _percentage(option: str, match: re.Match[str]) -> str:
    """Write a share as an option: `--threshold -1%`."""
    return f"{option} {100 * float(match[1]):.6g}%"


def _comma_separated(match: re.Match[str]) -> str:
    """Write `levels=('execution', 'iteration')` as `levels=execution,iteration`.

    Of no names, an empty text.
    """
    argument, _, names = match[0][:-1].partition("=(")
    plain = ",".join(name.strip(" '") for name in names.split(",") if name.strip())
    return f"{argument}={plain}" if plain else f"{argument}=''"


def quoted(names: Sequence[Any], most: int = 9) -> str:
    """Write the first names of many: `'a', 'b' and 3 more`."""
    text = ", ".join(map(repr, names[:most]))
    return f"{text} and {len(names) - most} more" if len(names) > most else text


def counted(number: float, noun: str) -> str:
    """Write a number with its noun: `1 file`, `3 binaries`."""
    return f"{number:.0f} {singular(noun) if number == 1 else plural(noun)}"
