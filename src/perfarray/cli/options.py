"""The options of the commands: each is declared here once.

Several that belong together are one argument of a command.
"""

import csv
import inspect
import shlex
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from functools import wraps
from operator import itemgetter
from typing import Annotated, Any, Final, Literal, NamedTuple

import typer
from typer.models import ArgumentInfo

SEED: Final = 1  # of what a command draws: the same files give the same answer


def fraction(text: str) -> float:
    """Read `2%` or `0.02`."""
    try:
        number = float(text.strip().removesuffix("%"))
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is not a number. Write a percentage (2%) or a fraction (0.02)"
        ) from None
    if text.strip().endswith("%"):
        return number / 100
    if number >= 1:
        raise typer.BadParameter(
            f"{text!r} would be {100 * number:g} %. Write a percentage ({text.strip()}%) or a "
            "fraction below 1"
        )
    return number


def names(text: str | None) -> tuple[str, ...] | None:
    """Read `execution,iteration`."""
    return None if text is None else tuple(text.replace(",", " ").split())


def columns(text: str) -> dict[str, str | int]:
    """Read `benchmark=program,time_ms=duration`; numbers are positions of columns."""
    pairs = [pair.partition("=") for pair in text.split(",")]
    if not all(dim.strip() and name.strip() for dim, _, name in pairs):
        raise typer.BadParameter(
            f"{text!r} names no dims and columns. Write benchmark=program,time_ms=duration"
        )
    return {
        dim.strip(): int(name) if name.isascii() and name.isdigit() else name.strip()
        for dim, _, name in pairs
    }


def given(**options: Any) -> dict[str, Any]:
    """Return the options that were given; for the others the defaults of the library hold."""
    return {name: value for name, value in options.items() if value is not None}


def reading_options(reading: dict[str, Any]) -> str:
    """Write how files are read as options of a command, with a blank before each."""
    options = ""
    for name, value in reading.items():
        text = (
            ",".join(f"{dim}={column}" for dim, column in value.items())
            if isinstance(value, dict)
            else str(value)
        )
        option = f" --{name.replace('_', '-')}"
        options += option if value is True else f"{option} {shlex.quote(text)}"
    return options


def format_names(incomplete: str) -> list[str]:
    """Return the formats that begin so, for the completion of the shell."""
    import perfarray

    return [name for name in perfarray.formats().index if name.startswith(incomplete)]


def percent(share: float) -> str:
    """Write a share as a percentage."""
    return f"{100 * share:.4g} %"


def share(help: str) -> Any:
    """Declare an option that is a percentage or a fraction."""
    return typer.Option(parser=fraction, metavar="SHARE", help=help)


Archive = Annotated[
    str, typer.Argument(help="Read a file, a folder or a quoted glob pattern.", show_default=False)
]
Places = Annotated[
    list[str],
    typer.Argument(
        metavar="OLD [NEW]...",
        help=(
            "Compare files, folders or quoted glob patterns. The first is the baseline. With "
            "one input, --dim says what in it is compared."
        ),
        show_default=False,
    ),
]
Baseline = Annotated[
    str | None,
    typer.Option(
        metavar="LABEL",
        help=(
            "Compare the others with this one: the beginning of a label or input name, or a git "
            "ref among commits. Default: the first input."
        ),
    ),
]
Confidence = Annotated[
    float | None, share("Set the confidence level of the intervals. Default: 95%.")
]
Controls = Annotated[
    list[str] | None,
    typer.Option(
        "--control",
        metavar="PATTERN",
        help="A benchmark, or a pattern of several ('io_*'), that the change cannot touch: the "
        "others are judged relative to these. Repeat it for several.",
    ),
]
Correction = Annotated[
    Literal["holm", "bh"] | None,
    typer.Option(
        help=(
            "Correct for many benchmarks at once. holm bounds the probability of any false "
            "verdict, bh the share of false verdicts. Default: none."
        )
    ),
]
Costs = Annotated[
    list[str] | None,
    typer.Option(
        "--cost",
        metavar="LEVEL=PRICE",
        help=(
            "Say what one more repetition of a level costs: execution=0.8 or binary=95s. The "
            "format's own word also works: fork=3. Repeat it for several levels. Default: what "
            "the files say."
        ),
    ),
]
CostUnits = Annotated[
    Literal["s", "iterations"],
    typer.Option("--units", help="Set the unit of prices and of the plan."),
]
Dim = Annotated[
    str | None,
    typer.Option(
        help=("Compare the labels of this dim in one file or folder: machine, tuning, version, ...")
    ),
]
Families = Annotated[
    str | None,
    typer.Option(
        metavar="PATTERN",
        help="What part of the names of benchmarks is compared: 'BM_{version}_sort/*' compares "
        "BM_std_sort/8 with BM_mine_sort/8 in one file; --baseline std.",
    ),
]
FilesAre = Annotated[
    Literal["session", "execution", "separate"] | None,
    typer.Option(
        help=(
            "Say what several files of one side are. session: runs of the whole harness. "
            "execution: single executions. separate: experiments, each compared with the file "
            "of the same name."
        )
    ),
]
HalfWidth = Annotated[float | None, share("Plan for this relative half-width: 1% or 0.01.")]
HistoryDim = Annotated[
    str | None,
    typer.Option("--dim", help="Name the dim of the history. Default: commit, date or build."),
]
Alpha = Annotated[
    float | None, share("The chance of any change in a stable history: 5% (default).")
]
Order = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help=(
            "Give the order in time: a file of commits, newest first, as git log --format=%H "
            "prints them (- is stdin). Or name a coordinate (commit_date), or say stored or "
            "reversed. Default: by dates, numbers or versions."
        ),
    ),
]
Paired = Annotated[
    str | None,
    typer.Option(
        help=(
            "Match the units of this outermost level between the sides. Default: independent sides."
        )
    ),
]
Progress = Annotated[
    bool,
    typer.Option(
        "--progress",
        help="Show a progress bar at once. Default: in a terminal, after one second.",
    ),
]
Select = Annotated[
    list[str] | None,
    typer.Option(
        "--select",
        metavar="DIM=PATTERN",
        help=(
            "Keep only some labels of a dim or coordinate: machine=AMD*, suite=int2017_rate1. "
            "The end of a label works if it is unique. Repeat it to add labels or dims."
        ),
    ),
]
By = Annotated[
    str | None,
    typer.Option(
        help="Give an answer for each value of a coordinate of the benchmarks, such as suite."
    ),
]
Shared = Annotated[
    str | None,
    typer.Option(help=("Name the levels whose units serve all benchmarks, such as binary.")),
]
Sort = Annotated[
    Literal["effect", "name"] | None,
    typer.Option(help="Sort rows by the size of the effect, or by name. Default: as in the files."),
]
Threshold = Annotated[
    float | None,
    share("Ignore changes below this size: 2% or 0.02. Default: every change matters."),
]


def thresholds(texts: list[str] | None) -> "float | dict[Any, float] | None":
    """Read `2%`, or `2%` and `parse=5%`, the first for all benchmarks without one of their own."""
    if not texts:
        return None
    pairs = [text.rpartition("=") for text in texts]
    numbers = {name or ...: fraction(number) for name, _, number in pairs}
    if len(numbers) < len(pairs):
        raise typer.BadParameter(f"{' '.join(texts)} gives two thresholds to the same benchmarks")
    return numbers[...] if set(numbers) == {...} else numbers


Thresholds = Annotated[
    list[str] | None,
    typer.Option(
        "--threshold",
        metavar="SHARE",
        help=(
            "Ignore changes below this size: 2% or 0.02. For one benchmark: parse=5%. Repeat it "
            "for several. Default: every change matters."
        ),
    ),
]


ThresholdFile = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Thresholds by benchmark, as perfarray calibrate -o FILE wrote them.",
    ),
]


# Panels of the help, in their order, and the parameters in them; those of no other are the question
QUESTION: Final = "Question"
PANELS: Final[Mapping[str, str]] = {
    QUESTION: "",
    "Data": "format layout dims pattern encoding better keep_failed files_are select metric order "
    "on_error streamed old new git setup warmup timeout",
    "Statistics": "levels confidence conf_level correction statistic value method prior shared "
    "paired unpaired mean limit alpha model rule start assurance weight seed min_units",
    "Output": "output file json explain sort only_changes show_all plan progress redact sections "
    "folder prefix overwrite add",
}


class Group(NamedTuple):
    """Options of which a function makes one argument: `name: Annotated[type, Group(function)]`."""

    make: Callable[..., Any]


def expand_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose groups are replaced by their options, as typer reads them."""

    @wraps(command)
    def expanded(**options: Any) -> None:
        command(**_arguments(command, options))

    parameters = sorted(map(_in_panel, _options(command)), key=itemgetter(0))
    signature = inspect.Signature([parameter for _, parameter in parameters])
    expanded.__signature__ = signature  # type: ignore[attr-defined]
    return expanded


def _in_panel(parameter: inspect.Parameter) -> tuple[int, inspect.Parameter]:
    """Return the number of the panel of a parameter, and its option in it; arguments are first.

    A switch takes no value, and shows none.
    """
    kind, marks = parameter.annotation, getattr(parameter.annotation, "__metadata__", ())
    if not marks or isinstance(marks[0], ArgumentInfo):
        return -1, parameter
    of_name = (panel for panel, names in PANELS.items() if parameter.name in names.split())
    option, panel = copy(marks[0]), next(of_name, QUESTION)
    option.rich_help_panel = panel
    option.metavar = "" if kind.__origin__ is bool else option.metavar
    annotation = Annotated[kind.__origin__, option]  # type: ignore[name-defined]
    return [*PANELS].index(panel), parameter.replace(annotation=annotation)


def _options(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters of a function, with the options of groups in their places."""
    parameters = []
    for parameter in inspect.signature(function).parameters.values():
        group = _group(parameter)
        parameters += (
            [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)]
            if group is None
            else _options(group.make)
        )
    return parameters


def _arguments(function: Callable[..., Any], options: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments that a function takes, made of options."""
    groups = {
        name: _group(parameter)
        for name, parameter in inspect.signature(function).parameters.items()
    }
    return {
        name: options[name] if group is None else group.make(**_arguments(group.make, options))
        for name, group in groups.items()
    }


def _group(parameter: inspect.Parameter) -> Group | None:
    return next(
        (
            mark
            for mark in getattr(parameter.annotation, "__metadata__", ())
            if isinstance(mark, Group)
        ),
        None,
    )


def _reading(
    format: Annotated[
        str | None,
        typer.Option(
            autocompletion=format_names,
            help="Name the format of the files. Default: recognised by content.",
        ),
    ] = None,
    layout: Annotated[
        str | None,
        typer.Option(help='Say what the path of a file means, as in "{machine}/{session}.json".'),
    ] = None,
    dims: Annotated[
        dict[str, Any] | None,
        typer.Option(
            parser=columns,
            metavar="DIM=COLUMN,...",
            help="Make dims of settings or columns, by name or by position from 0.",
        ),
    ] = None,
    pattern: Annotated[
        str | None,
        typer.Option(
            help=(
                'Say where your own JSON or CSV holds its numbers, as in "{version}/{iteration} '
                '= time_ms".'
            )
        ),
    ] = None,
    encoding: Annotated[
        str | None,
        typer.Option(help="Set the text encoding of the files, such as latin-1. Default: UTF-8."),
    ] = None,
    better: Annotated[
        Literal["lower", "higher"] | None,
        typer.Option(
            help=("Say whether lower or higher is better, where file and unit do not say it.")
        ),
    ] = None,
    keep_failed: Annotated[
        bool,
        typer.Option(
            "--keep-failed",
            help=(
                "Keep the times of runs that failed. For grep and diff, exit code 1 is an "
                "answer. Default: left out."
            ),
        ),
    ] = False,
) -> dict[str, Any]:
    return given(
        layout=layout,
        format=format,
        dims=dims,
        pattern=pattern,
        encoding=encoding,
        better=better,
        keep_failed=keep_failed or None,
    )


Reading = Annotated[dict[str, Any], Group(_reading)]


def _nest(
    levels: Annotated[
        str | None,
        typer.Option(
            help="Name the levels of repetition, outermost first, as in execution,iteration."
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            help=(
                "Choose the variables where files hold several: throughput, or time,throughput. "
                "Quote a comma in a name."
            )
        ),
    ] = None,
) -> dict[str, Any]:
    metrics = (
        None
        if metric is None
        else [name.strip() for name in next(csv.reader([metric], skipinitialspace=True), [])]
    )
    return given(
        levels=names(levels),
        metric=metrics[0] if metrics is not None and len(metrics) == 1 else metrics,
    )


Nest = Annotated[dict[str, Any], Group(_nest)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """How files are read, what several of them are, and what is compared in one place."""

    dim: Dim = None
    baseline: Baseline = None
    files_are: FilesAre = None
    select: Select = None
    families: Families = None
    reading: Reading


Selected = Annotated[Selection, Group(Selection)]


def spoken(arguments: str = "", **options: str) -> dict[str, str]:
    """Return the options that stand for arguments of the library in its messages."""
    names = (
        "dims pattern encoding better keep_failed format layout levels metric dim select "
        f"families between {arguments}"
    ).split()
    return (
        {name: f"--{name.replace('_', '-')}" for name in names}
        | {"confidence_level": "--confidence"}
        | options
    )


SPOKEN: Final = spoken()
