"""`perfarray compare`: read two sides, compare them, print verdicts; the exit code says whether anything is slower."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import typer
import xarray as xr

import perfarray
from perfarray.cli import options
from perfarray.cli.comparison import Comparison, comparison, comparison_table, legend, lines_of_one_side, sentence
from perfarray.cli.console import WIDE, console, plural, print_json
from perfarray.cli.problems import NO_ANSWER, NOTHING_SLOWER, SHOWN, SOMETHING_SLOWER, quoted, reporting

MORE = {"jmh": "JMH: more forks, -f 10", "pyperf": "pyperf: more processes, -p 20"}
"""How a harness is told to repeat its outermost level."""

OPTIONS = options.SPOKEN | {name: f"--{name}" for name in ("levels", "metric", "shared", "paired", "threshold", "correction")}
OPTIONS["confidence_level"] = "--confidence"
"""The options that stand for arguments of the comparison."""

Side = Annotated[str, typer.Argument(help="A file, a folder or a quoted glob pattern.", show_default=False)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """What is read: the place of each side, what is said of the files, and what several files of one side are."""

    places: dict[str, str]
    said: dict[str, Any]
    files_are: str | None


def compare(
    old: Side,
    new: Side,
    threshold: Annotated[
        float | None,
        typer.Option(
            parser=options.fraction, metavar="SHARE", help="A change that does not matter: 2% or 0.02. Default: every change matters."
        ),
    ] = None,
    confidence: options.Confidence = None,
    correction: Annotated[
        Literal["holm", "bh"] | None,
        typer.Option(help="For many benchmarks at once: holm bounds the chance of any false verdict, bh the share of false verdicts."),
    ] = None,
    levels: options.Levels = None,
    metric: options.Metric = None,
    format: options.Format = None,
    layout: options.Layout = None,
    dims: options.Dims = None,
    pattern: options.Pattern = None,
    encoding: options.Encoding = None,
    files_are: Annotated[
        Literal["session", "execution", "separate"] | None,
        typer.Option(
            help="What several files of one side are: runs of the whole harness (session), single executions, or separate experiments, "
            "each compared with the file of the same name."
        ),
    ] = None,
    shared: Annotated[str | None, typer.Option(help="Levels whose units serve all benchmarks, as in binary.")] = None,
    paired: Annotated[str | None, typer.Option(help="The outermost level, when its units match between the sides.")] = None,
    json: options.Json = False,
) -> None:
    """Compare every benchmark in NEW with OLD: whether it is faster or slower, by how much, and how sure that is.

    Exit code 0: nothing is slower.
    Exit code 1: a benchmark or the suite is slower.
    Exit code 2: no answer; a file cannot be read, no benchmark is on both sides, a single execution shows no spread, a wrong option.

    Example: perfarray compare old.json new.json --threshold 2% --correction holm
    """
    said = options.given(layout=layout, format=format, dims=dims, pattern=pattern, encoding=encoding)
    files = Files(places={"old": old, "new": new}, said=said, files_are=files_are)
    nest = options.given(levels=options.names(levels), metric=metric)
    choices = options.given(
        threshold=threshold, confidence_level=confidence, correction=correction, shared=options.names(shared), paired=paired
    )
    empty = {**files.places, "benchmarks": [], "suites": [], "attrs": {}}
    with reporting(empty if json else None, own_words=SHOWN, options=OPTIONS) as sentences:
        times = _read(files, sentences)
        counted = perfarray.counts(times, censored="bound", **nest)
        found = comparison(perfarray.compare(times, "old", dim="version", **nest, **choices), counted, "version", "old")
        _check_both_sides(found)
        sentences += _single_units(found, str(times.attrs.get("format", "several")))
    code, reason = _outcome(found)
    if json:
        attrs = found.attrs | {"format": times.attrs.get("format", "several")}
        print_json({**files.places, "benchmarks": found.rows, "suites": found.suites, "attrs": attrs}, sentences, code, reason)
    else:
        _print(found, files.places, reason)
    raise typer.Exit(code)


def _read(files: Files, sentences: list[str]) -> xr.DataArray | xr.Dataset:
    """Read both sides; several files of the same benchmarks become what `files_are` says."""
    times = perfarray.read_archive(files.places, dim="version", **files.said)
    if "file" not in times.dims or "{file}" in files.said.get("layout", ""):
        if files.files_are is not None:
            sentences.append(f"--files-are {files.files_are} changes nothing: no two files of one side hold the same benchmark")
        return times
    if files.files_are is None:
        raise ValueError(
            f"several files of one side hold the same benchmarks ({quoted(times['file'].values.tolist(), 3)}); say what a file is: "
            "--files-are session (one run of the whole harness: the files are the independent repetitions), --files-are execution (one "
            "of several executions of the same build), or --files-are separate (compare each with the file of the same name)"
        )
    if files.files_are == "separate":
        return times
    if "session" in times.dims:
        raise ValueError(
            f"the files hold sessions of their own: --files-are {files.files_are} would nest them twice; name the dims with --layout"
        )
    times = times.rename(file="session").assign_coords(session=np.arange(times.sizes["file"]))
    if files.files_are == "execution":
        return perfarray.merge_level(times, "session")
    return times


def _check_both_sides(found: Comparison) -> None:
    """Raise where no benchmark is on both sides."""
    if not found.named():
        old, new = (quoted(list(rows), 3) or "nothing" for rows in (found.named(new=False), found.named(old=False)))
        raise ValueError(f"no benchmark has {found.attrs['metric']!r} on both sides: old has {old}; new has {new}")


def _single_units(found: Comparison, format: str) -> list[str]:
    """Name the benchmarks that show no spread, and what can be done."""
    rows = found.named()
    single = [name for name, row in rows.items() if row["n"] == 1]
    if not single:
        return []
    which = f"{'all ' if len(single) == len(rows) else ''}{len(single)} benchmarks rest" if len(single) > 1 else f"{single[0]!r} rests"
    which = which if len(single) in (1, len(rows)) else f"{which} ({quoted(single, 4)})"
    more = MORE.get(format, "") if found.unit == "execution" else ""
    lower = str(found.attrs["levels"]).split()[1:]
    other = f"; or, if {plural(lower[0])} are independent of each other (they seldom are), --levels {','.join(lower)}" if lower else ""
    return [
        f"{which} on one {found.unit} on a side: one {found.unit} shows no spread between {plural(found.unit)}, so there is no interval "
        f"and no verdict; measure several{f' ({more})' if more else ''}{other}"
    ]


def _outcome(found: Comparison) -> tuple[int, str]:
    """Return the exit code and its reason."""
    measured = list(found.named().values())
    verdicts = [row["verdict"] for row in measured]
    every = (*measured, *found.suites)
    if all(np.isnan(row["lower"]) for row in every):
        return NO_ANSWER, f"no answer: nothing has an interval, for want of more than one {found.unit} on each side"
    if all(np.isnan(row["estimate"]) for row in every):
        return NO_ANSWER, "no answer: nothing is known of any ratio, since runs were stopped"
    numbers = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in ("slower", "faster", "equivalent", "inconclusive"))
    suites = [row for row in found.suites if row["benchmarks"] > 1]
    whole = f"; suite: {sentence(suites[0], found.attrs)}" if len(suites) == 1 else ""
    slower = "slower" in verdicts or any(row["verdict"] == "slower" for row in suites)
    return (SOMETHING_SLOWER if slower else NOTHING_SLOWER), f"{len(measured)} compared: {numbers}{whole}"


def _print(found: Comparison, places: dict[str, str], reason: str) -> None:
    """Print the table, what it means, and the outcome."""
    out = console()
    for label, place in places.items():
        out.print(f"{label}  {place}", soft_wrap=True)
    out.print()
    out.print(comparison_table(found, wide=out.width >= WIDE))
    out.print()
    for line in lines_of_one_side(found):
        out.print(line, soft_wrap=True)
    for line in legend(found):
        out.print(line, style="dim")
    out.print()
    out.print(reason[0].upper() + reason[1:], style="bold")
