"""The command line: a thin door over the public functions."""

import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from re import compile as pattern
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import typer

if TYPE_CHECKING:
    import xarray as xr

    from perfarray.cli.tables import Comparison

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)

NOTHING_SLOWER, SOMETHING_SLOWER, NO_ANSWER = 0, 1, 2

PROBLEMS = (ValueError, OSError, ImportError)
"""What the library raises when data or arguments are at fault."""

SAID_IN_OWN_WORDS = pattern(r"^\d+ of \d+ cells( \(.*?\))? (rest on one|have no measured value)")
"""Warnings whose remedy is written in Python; the command line has its own text for them."""

MORE = {"jmh": "JMH: more forks, -f 10", "pyperf": "pyperf: more processes, -p 20"}
"""How a harness is told to repeat its outermost level."""


def main() -> None:
    """Run the command line; whatever goes wrong exits 2, because 1 means that something is slower."""
    try:
        app(prog_name="perfarray")
    except Exception:
        traceback.print_exc()
        print("error: this is a defect of perfarray, not of your data; please report the lines above", file=sys.stderr)
        raise SystemExit(NO_ANSWER) from None


def _print_version(wanted: bool) -> None:
    """Print the version and leave."""
    if wanted:
        import perfarray

        typer.echo(f"perfarray {perfarray.__version__}")
        raise typer.Exit


@app.callback()
def _perfarray(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Benchmark timings: where the variation comes from, what is faster, by how much, and how sure.

    Begin with: perfarray demo
    """


def _fraction(text: str) -> float:
    """Read `2%` or `0.02`."""
    try:
        number = float(text.strip().removesuffix("%"))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number; write a percentage (2%) or a fraction (0.02)") from None
    if text.strip().endswith("%"):
        return number / 100
    if number >= 1:
        raise typer.BadParameter(f"{text!r} would be {100 * number:g} %; write a percentage ({text.strip()}%) or a fraction below 1")
    return number


def _names(text: str | None) -> tuple[str, ...] | None:
    """Read `execution,iteration`."""
    return None if text is None else tuple(text.replace(",", " ").split())


Side = Annotated[str, typer.Argument(help="A file, a folder or a quoted glob pattern.", show_default=False)]
Share = Annotated[
    float | None,
    typer.Option(parser=_fraction, metavar="SHARE", help="A change that does not matter: 2% or 0.02. Default: every change matters."),
]


@app.command()
def compare(
    old: Side,
    new: Side,
    threshold: Share = None,
    confidence: Annotated[float | None, typer.Option(parser=_fraction, metavar="SHARE", help="Of the intervals: 95% (default).")] = None,
    correction: Annotated[
        Literal["holm", "bh"] | None,
        typer.Option(help="For many benchmarks at once: holm bounds the chance of any false verdict, bh the share of false verdicts."),
    ] = None,
    levels: Annotated[str | None, typer.Option(help="The nest of repetitions from the outside in, as in execution,iteration.")] = None,
    metric: Annotated[str | None, typer.Option(help="The variable compared, where files hold several (time, throughput, ...).")] = None,
    format: Annotated[str | None, typer.Option(help="The format of the files; default: recognised by content.")] = None,
    layout: Annotated[str | None, typer.Option(help='What the path of a file says, as in "{machine}/{session}.json".')] = None,
    files_are: Annotated[
        Literal["session", "execution", "separate"] | None,
        typer.Option(
            help="What several files of one side are: runs of the whole harness (session), single executions, or separate experiments, "
            "each compared with the file of the same name."
        ),
    ] = None,
    shared: Annotated[str | None, typer.Option(help="Levels whose units serve all benchmarks, as in binary.")] = None,
    paired: Annotated[str | None, typer.Option(help="The outermost level, when its units match between the sides.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object (NaN is null, infinite limits are texts).")] = False,
) -> None:
    """Say of every benchmark in NEW whether it is faster or slower than in OLD, by how much, and how sure that is.

    Exit code 0: nothing is slower.
    Exit code 1: a benchmark or the suite is slower.
    Exit code 2: no answer; a file cannot be read, no benchmark is on both sides, a single execution shows no spread, a wrong option.

    Example: perfarray compare old.json new.json --threshold 2% --correction holm
    """
    options = {
        "threshold": threshold, "confidence_level": confidence, "correction": correction, "levels": _names(levels), "metric": metric,
        "shared": _names(shared), "paired": paired,
    }  # fmt: skip
    said: list[str] = []
    places = {"old": old, "new": new}
    try:
        with _gathered(said):
            found = _compare(
                _read(places, layout, format, files_are), {name: value for name, value in options.items() if value is not None}
            )
    except PROBLEMS as error:
        _give_up(error, said, json, places)
    said += _single_units(found)
    code, reason = _outcome(found)
    _complain(said)
    if json:
        _print_json({**places, "benchmarks": found.rows, "suites": found.suites, "attrs": found.attrs}, said, code, reason)
    else:
        _print_comparison(found, places, reason)
    raise typer.Exit(code)


@contextmanager
def _gathered(said: list[str]) -> Iterator[None]:
    """Gather warnings, each once, as lines."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", category=UserWarning)
        try:
            yield
        finally:
            parts = [getattr(warning.message, "notes", (warning.message,)) for warning in caught]
            texts = [" ".join(str(getattr(part, "message", part)).split()) for note in parts for part in note]
            said += [text for text in dict.fromkeys(texts) if not SAID_IN_OWN_WORDS.match(text)]


def _read(places: dict[str, str], layout: str | None, format: str | None, files_are: str | None) -> "xr.Dataset":
    """Read both sides; several files of the same benchmarks become what `files_are` says."""
    import numpy as np

    from perfarray import read_archive
    from perfarray.timings.notes import warn
    from perfarray.timings.validation import listed

    times = read_archive(places, dim="version", layout=layout, format=format)
    if "file" not in times.dims or "{file}" in (layout or ""):
        if files_are is not None:
            warn(f"--files-are {files_are} changes nothing: no two files of one side hold the same benchmark")
        return times
    if files_are is None:
        raise ValueError(
            f"several files of one side hold the same benchmarks ({listed(times['file'].values.tolist(), 3)}); say what a file is: "
            "--files-are session (one run of the whole harness: the files are the independent repetitions), --files-are execution (one "
            "of several executions of the same build), or --files-are separate (compare each with the file of the same name)"
        )
    if files_are == "separate":
        return times
    if "session" in times.dims:
        raise ValueError(
            f"the files hold sessions of their own: --files-are {files_are} would nest them twice; name the dims with --layout"
        )
    times = times.rename(file="session").assign_coords(session=np.arange(times.sizes["file"]))
    if files_are == "execution":
        times = times.perf.merge_level("session")
    return times


def _compare(times: "xr.Dataset", options: dict[str, Any]) -> "Comparison":
    """Compare the sides, and refuse where that says nothing at all."""
    from perfarray import compare, counts
    from perfarray.cli.tables import comparison
    from perfarray.timings.validation import listed

    result = compare(times, "old", dim="version", **options)
    counted = counts(times, **{name: options[name] for name in ("levels", "metric") if name in options})
    found = comparison(result, counted, "version", "old")
    found.attrs["format"] = times.attrs.get("format", "several")
    if not found.named():
        old, new = (listed(rows, 3) or "nothing" for rows in (found.named(new=False), found.named(old=False)))
        raise ValueError(f"no benchmark has {found.attrs['metric']!r} on both sides: old has {old}; new has {new}")
    return found


def _single_units(found: "Comparison") -> list[str]:
    """Say which benchmarks show no spread, and what can be done."""
    from perfarray.cli.tables import plural
    from perfarray.timings.validation import listed

    rows = found.named()
    single = [name for name, row in rows.items() if row["n"] == 1]
    if not single:
        return []
    which = f"{'all ' if len(single) == len(rows) else ''}{len(single)} benchmarks rest" if len(single) > 1 else f"{listed(single)} rests"
    which = which if len(single) in (1, len(rows)) else f"{which} ({listed(single, 4)})"
    more = MORE.get(str(found.attrs["format"]), "") if found.unit == "execution" else ""
    lower = str(found.attrs["levels"]).split()[1:]
    other = f"; or, if {plural(lower[0])} are independent of each other (they seldom are), --levels {','.join(lower)}" if lower else ""
    return [
        f"{which} on one {found.unit} on a side: one {found.unit} shows no spread between {plural(found.unit)}, so there is no interval "
        f"and no verdict; measure several{f' ({more})' if more else ''}{other}"
    ]


def _outcome(found: "Comparison") -> tuple[int, str]:
    """Return the exit code and its reason."""
    from perfarray.cli.tables import sentence

    measured = list(found.named().values())
    verdicts = [row["verdict"] for row in measured]
    if all(row["lower"] != row["lower"] for row in (*measured, *found.suites)):
        return NO_ANSWER, f"no answer: nothing has an interval, for want of more than one {found.unit} on each side"
    numbers = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in ("slower", "faster", "equivalent", "inconclusive"))
    suites = [row for row in found.suites if row["benchmarks"] > 1]
    whole = f"; suite: {sentence(suites[0], found.attrs)}" if len(suites) == 1 else ""
    slower = "slower" in verdicts or any(row["verdict"] == "slower" for row in suites)
    return (SOMETHING_SLOWER if slower else NOTHING_SLOWER), f"{len(measured)} compared: {numbers}{whole}"


def _print_comparison(found: "Comparison", places: dict[str, str], reason: str) -> None:
    """Print the table, what it means, and the outcome."""
    from perfarray.cli.tables import WIDE, comparison_table, console, legend, lines_of_one_side

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


def _print_json(content: dict[str, Any], said: list[str], code: int, reason: str) -> None:
    """Print one JSON object."""
    from perfarray.cli.tables import as_json, console

    console().out(as_json(content | {"warnings": said, "exit_code": code, "exit_reason": reason}))


def _complain(said: list[str]) -> None:
    """Print warnings to stderr, a line each."""
    for text in said:
        typer.echo(f"warning: {text}", err=True)


def _give_up(error: Exception, said: list[str], json: bool, places: dict[str, str]) -> NoReturn:
    """Print one line of error and leave with 2."""
    text = " ".join(str(error).split())
    _complain(said)
    typer.echo(f"error: {text}", err=True)
    if json:
        _print_json({**places, "benchmarks": [], "suites": [], "attrs": {}}, said, NO_ANSWER, f"error: {text}")
    raise typer.Exit(NO_ANSWER)


@app.command()
def plan(
    path: Annotated[
        str, typer.Argument(help="Timings of a pilot experiment: a file, a folder or a quoted glob pattern.", show_default=False)
    ],
    cost: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LEVEL=PRICE", help="What starting one more of a level costs: execution=0.8, binary=95s. Asked for if not given."
        ),
    ] = None,
    budget: Annotated[str | None, typer.Option(help="What the experiment may cost: 8h, 30min, or a number. Never exceeded.")] = None,
    half_width: Annotated[
        float | None, typer.Option(parser=_fraction, metavar="SHARE", help="The half-width to reach, relative: 1% or 0.01.")
    ] = None,
    units: Annotated[Literal["s", "iterations"], typer.Option(help="The unit of prices and budget.")] = "s",
    suite: Annotated[bool, typer.Option("--suite", help="One build (or session) serves every benchmark: plan them together.")] = False,
    baseline: Annotated[str | None, typer.Option(help="The label of the system to compare with: plan the ratio.")] = None,
    min_units: Annotated[int, typer.Option(help="The fewest repetitions of the outermost level.")] = 5,
    confidence: Annotated[float | None, typer.Option(parser=_fraction, metavar="SHARE", help="Of the interval: 95% (default).")] = None,
    levels: Annotated[str | None, typer.Option(help="The nest of repetitions from the outside in, as in execution,iteration.")] = None,
    metric: Annotated[str | None, typer.Option(help="The variable planned for, where files hold several.")] = None,
    format: Annotated[str | None, typer.Option(help="The format of the files; default: recognised by content.")] = None,
    layout: Annotated[str | None, typer.Option(help='What the path of a file says, as in "{session}.json".')] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object (NaN is null).")] = False,
) -> None:
    """Say how many builds, executions and iterations to run, for a budget or for a half-width.

    Exit code 0: there is a plan.
    Exit code 2: no answer; a file cannot be read, the budget is too small, a single execution shows no spread, a wrong option.

    Example: perfarray plan pilot.csv --cost execution=0.8 --cost binary=95 --budget 8h
    """
    from perfarray import read_archive
    from perfarray.cli.plan import plan_rows, plan_table, sentences
    from perfarray.cli.tables import console

    said: list[str] = []
    options = {"levels": _names(levels), "metric": metric, "confidence_level": confidence, "baseline": baseline, "half_width": half_width}
    known = {name: value for name, value in options.items() if value is not None}
    try:
        with _gathered(said):
            times = read_archive(path, format=format, layout=layout)
            found = _plan(times, cost or [], budget, units, suite, {**known, "min_units": min_units})
    except PROBLEMS as error:
        if json:
            reason = f"error: {' '.join(str(error).split())}"
            _print_json({"pilot": path, "plans": [], "attrs": {}}, said, NO_ANSWER, reason)
        _give_up(error, said, False, {})
    _complain(said)
    code, answer = (NOTHING_SLOWER if bool(found["cost"].notnull().any()) else NO_ANSWER), sentences(found)
    if json:
        _print_json({"pilot": path, "plans": plan_rows(found), "attrs": dict(found.attrs)}, said, code, " ".join(answer))
        raise typer.Exit(code)
    out = console()
    out.print(plan_table(found))
    out.print()
    for line in answer:
        out.print(line, soft_wrap=True)
    raise typer.Exit(code)


def _plan(times: "xr.Dataset", cost: list[str], budget: str | None, units: str, suite: bool, options: dict[str, Any]) -> "xr.Dataset":
    """Ask for what is missing, and plan."""
    from perfarray import counts, plan_repetitions, plan_suite
    from perfarray.cli.plan import amount, ask, asked_costs, check_planned, given_costs

    prices = given_costs(cost, units)
    check_planned(times, options.get("baseline"))
    counted = counts(times, **{name: options[name] for name in ("levels", "metric") if name in options})
    prices = asked_costs(prices, counted["level"].values.tolist(), units)
    if budget is not None:
        options["budget"] = amount(budget, units)
    elif "half_width" not in options:
        options["budget"] = ask(f"What may the experiment cost ({'a number, or 8h' if units == 's' else units})?", units)
    if not suite:
        return plan_repetitions(times, costs=prices, cost_units=units, **options).to_dataset()
    if units != "s":
        raise ValueError("--suite plans in seconds: leave --units out")
    return plan_suite(times, costs=prices, shared=counted["level"].values.tolist()[0], **options).to_dataset()


@app.command()
def convert(
    archive: Annotated[str, typer.Argument(help="A file, a folder or a quoted glob pattern.", show_default=False)],
    output: Annotated[Path, typer.Argument(help="What to write: a name that ends in .nc (netCDF) or .zarr (Zarr 3).", show_default=False)],
    layout: Annotated[str | None, typer.Option(help='What the path of a file says, as in "{machine}/{session}.json".')] = None,
    format: Annotated[str | None, typer.Option(help="The format of the files; default: recognised by content.")] = None,
    on_error: Annotated[Literal["raise", "warn", "skip"], typer.Option(help="What a broken file does.")] = "raise",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")] = False,
    progress: Annotated[bool, typer.Option("--progress", help="Show a progress bar.")] = False,
) -> None:
    """Read an archive of result files and write it as one netCDF file or Zarr store, to be opened with xarray.

    Exit code 0: it is written.
    Exit code 2: it is not; a file cannot be read, the output exists or cannot be written, a wrong option.

    Example: perfarray convert results/ results.zarr --layout "{machine}/{session}.json"
    """
    from perfarray import read_archive
    from perfarray.cli.convert import check_output, summary, write

    said: list[str] = []
    try:
        with _gathered(said):
            check_output(output, overwrite)
            times = read_archive(archive, layout=layout, format=format, on_error=on_error, progress=progress)
            write(times, output)
    except PROBLEMS as error:
        _give_up(error, said, False, {})
    _complain(said)
    typer.echo(summary(times, output))


@app.command("speedup-test")
def speedup_test(
    config: Annotated[str, typer.Argument(help="The configuration: CSV with Name,Sample1,Sample2,ConfLevel,Coef.", show_default=False)],
    conf_level: Annotated[
        float | None, typer.Option(parser=_fraction, metavar="SHARE", help="For benchmarks without one. Default: searched for.")
    ] = None,
    weight: Annotated[Literal["custom", "equal", "fraction"], typer.Option(help="The weights of the benchmarks.")] = "custom",
    precision: Annotated[
        float | None, typer.Option(parser=_fraction, metavar="SHARE", help="Of the proportion, for the number needed: 5% (default).")
    ] = None,
    output: Annotated[str | None, typer.Option("-o", "--output", help="What the names of the files begin with.")] = None,
) -> None:
    """Run the Speedup-Test on its tool's files: which speedups are significant, and those of the whole suite.

    Writes CONFIG.out, CONFIG.report, CONFIG.warning and CONFIG.error.

    Exit code 0: there is a report.
    Exit code 2: no answer; the configuration cannot be read, no benchmark has both samples, a wrong option.
    """
    from perfarray.cli.speedup_test import benchmark_table, run
    from perfarray.cli.tables import console

    options = {"confidence_level": conf_level, "weights": weight, "precision": precision, "output": output}
    said: list[str] = []
    try:
        with _gathered(said):
            text, found = run(config, {name: value for name, value in options.items() if value is not None})
    except PROBLEMS as error:
        _give_up(error, said, False, {})
    _complain(said)
    out = console()
    out.print(text, soft_wrap=True)
    out.print(benchmark_table(found))


@app.command()
def demo() -> None:
    """Show what perfarray answers, on timings that come with it: five C benchmarks, compiled with -O2 and with -O3."""
    from perfarray.cli.demo import tell

    tell()
