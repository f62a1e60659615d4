"""What goes wrong, and what is warned of: lines on stderr, in the order they came, and an exit code that says so."""

import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType
from typing import Any, Final

import typer

NOTHING_SLOWER: Final = 0
SOMETHING_SLOWER: Final = 1
NO_ANSWER: Final = 2

PROBLEMS: Final = (ValueError, OSError, ImportError)
"""What the library raises when data or arguments are at fault."""

QUOTED: Final = re.compile(r"((?<!\w)'[^']*'(?!\w)|\"[^\"]*\")")
"""What a message quotes."""

MERGING: Final = re.compile(r'merge_level\("\w+"\)(?: or|,) (--levels [\w,]+)(?: or unit="\w+")? take')
"""What takes the inside of a level as independent: of the ways that a message names, the one that is an option."""

SELECTED: Final = re.compile(r"\.sel\((\w+='[^']*'(?:, \w+='[^']*')*)\)")
"""Labels that a message says to select."""

SHARES: Final = ("threshold", "confidence_level", "half_width", "precision", "assurance")
"""Arguments of the library that options give as percentages."""

SHOWN: Final = ("single_unit", "no_value", "copied")
"""Codes of notes on cells without an answer, for commands that name those cells themselves: the remedies are written in Python."""


@contextmanager
def reporting(
    failing: Callable[[list[str], str], None] | None = None,
    *,
    own_words: tuple[str, ...] = (),
    options: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[list[str]]:
    """Gather what the block warns of and print it on stderr, a line each; where it fails, print one line of error and exit with 2.

    Parameters
    ----------
    failing : callable, optional
        Takes the warnings and the error where there is one; default: nothing is printed on stdout.
    own_words : tuple of str
        Codes of notes that the command has a text or a column of its own for.
    options : mapping
        Arguments of the library that the library's sentences may name, and the options of the command that stand for them.

    Yields
    ------
    list of str
        For sentences of the command's own; after the block it holds all that was printed.
    """
    sentences: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", category=UserWarning)
        try:
            yield sentences
            failed = None
        except PROBLEMS as error:
            failed = f"error: {in_line('; '.join([str(error), *getattr(error, '__notes__', [])]), options)}"
    warned = [text for warning in caught for text in _texts(warning.message, own_words, options)]
    sentences[:] = dict.fromkeys([*warned, *sentences])
    for text in sentences:
        typer.echo(f"warning: {text}", err=True)
    if failed is not None:
        typer.echo(failed, err=True)
        if failing is not None:
            failing(sentences, failed)
        raise typer.Exit(NO_ANSWER)


def _texts(warning: Warning | str, own_words: tuple[str, ...], options: Mapping[str, str]) -> list[str]:
    """Return the sentences of a warning: those of its notes, but for some, or its text."""
    notes = getattr(warning, "notes", None)
    return (
        [in_line(warning, options)] if notes is None else [in_line(note.message, options) for note in notes if note.code not in own_words]
    )


def in_line(text: object, options: Mapping[str, str] = MappingProxyType({})) -> str:
    """Write a text in one line, with options of the command in the places of the library's arguments."""
    line = re.sub(r"[\x00-\x1f\x7f-\x9f]", "?", " ".join(str(text).split()))
    by = r'times\.groupby\("suite"\)( or by="suite")?'
    line = re.sub(by, "--by suite", line) if "by" in options else re.sub(rf"; {by} gives each its own", "", line)
    line = re.sub(r"\bdims=\{([^{}]*)\}", lambda match: f"dims={_as_option(match[1])}", line) if "dims" in options else line
    line = re.sub(r"autocorrelation\(dim='\w+'\)", "perfarray plot run-sequence", line)
    line = line.replace('on_error="warn"', "perfarray convert --on-error warn")
    line = SELECTED.sub(_selecting, line) if "select" in options else line
    for argument in options:
        line = re.sub(rf"\b{argument}=\([^()]*\)", _with_names, line)
    pieces = QUOTED.split(line)  # a name that the message quotes may hold what looks like an argument
    line = "".join(piece if index % 2 else _with_options(piece, options, index < len(pieces) - 1) for index, piece in enumerate(pieces))
    return MERGING.sub(r"\1 takes", line)


def _selecting(match: re.Match[str]) -> str:
    """Write `.sel(benchmark='fft', version='old')` as options have it."""
    return re.sub(r"\b(\w+)='([^']*)'(, )?", lambda pair: f"--select '{pair[1]}={pair[2]}'{' ' if pair[3] else ''}", match[1])


def _with_options(text: str, options: Mapping[str, str], quoted: bool) -> str:
    """Write options of the command in the places of arguments, in a text in which nothing is quoted; perhaps something after it is."""
    for argument, option in options.items():
        if argument in SHARES:
            text = re.sub(rf"\b{argument}=(-?[0-9.]+(?:e-?[0-9]+)?)(?![\w.])", partial(_percent, option), text)
        text = re.sub(rf"\b{argument}=(?=[\w\[-]{'|$' if quoted else ''})", f"{option} ", text)
        text = re.sub(rf"\b{argument}=", option, text)
    return text


def _percent(option: str, match: re.Match[str]) -> str:
    """Write a share as an option has it: `--threshold -1%`."""
    return f"{option} {100 * float(match[1]):.6g}%"


def _as_option(pairs: str) -> str:
    """Write `'benchmark': 0, 'time_ms': 1` as an option has it."""
    return re.sub("['\"]", "", pairs).replace(": ", "=").replace(", ", ",")


def _with_names(match: re.Match[str]) -> str:
    """Write `levels=('execution', 'iteration')` with the names as an option has them; of none, an empty text."""
    argument, _, names = match[0][:-1].partition("=(")
    plain = ",".join(name.strip(" '") for name in names.split(",") if name.strip())
    return f"{argument}={plain}" if plain else f"{argument}=''"


def quoted(names: Sequence[Any], most: int) -> str:
    """Write a few names of many: `'a', 'b' and 3 more`."""
    text = ", ".join(map(repr, names[:most]))
    return f"{text} and {len(names) - most} more" if len(names) > most else text
