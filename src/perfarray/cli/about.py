"""`perfarray ARCHIVE`: what is in it, and commands that have an answer."""

import shlex
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import perfarray
from perfarray.cli import options
from perfarray.cli.console import paragraph, program, screen_width, show, table_lines
from perfarray.cli.prices import without_price
from perfarray.cli.problems import counted, in_line, quoted, reporting
from perfarray.cli.reading import comparable_cells, read_archive
from perfarray.cli.selecting import FEW, compared_parameter, parameters
from perfarray.cli.stores import STORES, open_store
from perfarray.conventions import (
    BENCHMARK,
    BETTER,
    ESTIMATED,
    EXECUTION,
    HISTORY,
    LEVELS,
    MACHINE,
    METRIC,
    SUITE,
    UNKNOWN,
    VALID,
    plural,
)
from perfarray.results.words import labels_of, own_name

if TYPE_CHECKING:
    import xarray as xr

MOST: Final = 12  # descriptors that are shown

SHORTEST: Final = 8  # the fewest commits in which a change can be found

MIN_BIPLOT: Final = 3  # machines: two lie on a line
MIN_MODEL: Final = 6  # machines for a regression

LONGEST: Final = 90  # characters of the longest command that the texts are aligned with


def about(archive: options.Archive, *, reading: options.Reading) -> None:
    """Say what is in a file or folder and what can be asked of it.

    `perfarray ARCHIVE` does the same.

    Exit code 0: the input was read.
    Exit code 2: it cannot be read.

    Example: perfarray results.json
    """
    skipping = (
        {"on_error": "warn"} if Path(archive).is_dir() and not archive.endswith(STORES) else {}
    )
    with reporting(options=options.SPOKEN):
        if archive.endswith(STORES) and "result" in (times := open_store(archive, reading)).attrs:
            show(_answer(archive, times))
            return
        times = read_archive(archive, reading | skipping)
        scores = _scores(times)
    show(
        [
            *_content(archive, times, scores),
            "",
            "What can be asked:",
            *_questions(archive, times, scores, reading),
        ]
    )


def _answer(archive: str, result: "xr.Dataset") -> Iterator[str]:
    """Yield the table of an answer that was stored, and how to go on with it."""
    from perfarray.results.printed import grid_of

    table = perfarray.table(result)
    yield from (f"{archive}: an answer of {result.attrs['result']}", "")
    yield from table_lines(grid_of(table), screen_width())
    yield from (
        "",
        *(line for text in table.sentences() for line in paragraph(text, screen_width())),
    )
    yield f"in Python: answer = xarray.load_dataset({archive!r}); answer.perf.table()"


def _scores(times: "xr.Dataset") -> "xr.DataArray | None":
    """Return which machines, with all else that is compared, have a score in which suite.

    None where these are no machines or suites.
    """
    suites = BENCHMARK in getattr(times.coords.get(SUITE), "dims", ())
    if (
        times.sizes.get(BENCHMARK, 1) < 2
        or not (SUITE in times.coords or times.sizes.get(MACHINE, 1) > 1)
        or _has_history(times)
    ):
        return None
    with warnings.catch_warnings(action="ignore", category=perfarray.PerfarrayWarning):
        try:
            return perfarray.suite_score(times, by=SUITE if suites else None)["estimate"].notnull()
        except ValueError:
            return None


def _content(archive: str, times: "xr.Dataset", scores: "xr.DataArray | None") -> Iterator[str]:
    """Yield what an archive holds."""
    yield f"{archive}: {times.attrs.get('format', 'timings')}"
    for dim in (str(dim) for dim in times.dims if dim not in LEVELS):
        labels = quoted(times[dim].values.tolist(), 4) if dim in times.coords else ""
        yield f"  {labels_of(dim, times.sizes[dim])}: {labels}"
    for name, values in parameters(times).items():
        yield f"  parameter {name}: {quoted(values, 4)} (--dims {name}={name} makes it a dim)"
    if parameter := compared_parameter(times):
        option = f"--dims {parameter}={parameter} --dim {parameter}"
        yield f"  compare the labels of a parameter: {option}"
    nest = [counted(times.sizes[dim], dim) for dim in LEVELS if dim in times.sizes]
    yield f"  repetitions: at most {' x '.join(nest)}" if nest else "  no repetitions"
    if SUITE in times.coords and times.coords[SUITE].size > 1:
        suites = list(
            dict.fromkeys(
                label for label in times[SUITE].values.ravel().tolist() if label != UNKNOWN
            )
        )
        yield f"  {counted(len(suites), SUITE)}: {quoted(suites)}"
    if scores is not None:
        yield from _configurations(times, scores)
    for name, value, state in (
        (VALID, 0, "not valid"),
        (ESTIMATED, 1, "estimated, not reportable"),
    ):
        if name in times.coords and (times.coords[name] == value).any():
            yield f"  {state}: {'all' if (times.coords[name] == value).all() else 'in part'}"
    for metric_name, metric in sorted(
        times.data_vars.items(), key=lambda item: item[0] != times.attrs.get(METRIC)
    ):
        units, better = metric.attrs.get("units", "1"), metric.attrs.get(BETTER)
        direction = (
            "which direction is good is not said (--better)"
            if better is None
            else f"{better} is better"
        )
        yield f"  measured: {metric_name}{'' if units == '1' else f' in {units}'}, {direction}"
    shared = [f"{name} {label.item()}" for name, label in times.coords.items() if not label.dims]
    yield from (f"  all of it: {text}" for text in shared[:MOST])
    if len(shared) > MOST:
        yield f"  and {len(shared) - MOST} more descriptors"
    yield from (f"  {note.message}" for note in perfarray.notes(times) if note.aside)


def _configurations(times: "xr.Dataset", scores: "xr.DataArray") -> Iterator[str]:
    """Yield the scores of each suite by configuration, and what describes machines."""
    dims = [str(dim) for dim in scores.dims if dim != SUITE and scores.sizes[dim] > 1]
    nesting = (
        f" (each {' with its '.join([dims[0], ' and '.join(dims[1:])])})" if len(dims) > 1 else ""
    )
    by_suite = scores.sum([dim for dim in scores.dims if dim != SUITE])
    if by_suite.ndim:
        texts = [f"{name} {number}" for name, number in by_suite.to_series().items() if number]
        yield f"  {counted(int(by_suite.sum()), 'score')}{nesting}: {', '.join(texts)}"
    elif dims:
        yield f"  {counted(int(by_suite), 'score')}{nesting}"
    descriptors = [
        str(name)
        for name, coordinate in times.coords.items()
        if coordinate.dims == (MACHINE,)
        and name != MACHINE
        and (coordinate.notnull() & (coordinate != UNKNOWN)).any()
    ]
    if descriptors:
        n_more = f" and {len(descriptors) - MOST} more" if len(descriptors) > MOST else ""
        yield f"  descriptors of machines: {', '.join(descriptors[:MOST])}{n_more}"


def _questions(
    archive: str, times: "xr.Dataset", scores: "xr.DataArray | None", reading: dict[str, Any]
) -> Iterator[str]:
    """Yield commands that have an answer for these timings.

    Where nothing is repeated, what is missing.
    """
    counts = _counts(times)
    # A cell that repeats any level down to executions has a unit that it repeats.
    levels = [] if counts is None else counts["level"].values.tolist()
    units = (
        None
        if counts is None
        else counts["total"].isel(level=levels.index(EXECUTION) if EXECUTION in levels else 0)
    )
    several_files = times.sizes.get("file", 1) > 1
    commands = _commands(archive, times, scores, units, reading, several_files=several_files)
    width = max((len(command) for command in commands if len(command) <= LONGEST), default=0)
    yield from (f"  {program()} {command:<{width}}  {text}" for command, text in commands.items())
    arguments = ", ".join(
        [repr(archive), *(f"{argument}={value!r}" for argument, value in reading.items())]
    )
    reader = "xarray.load_dataset" if archive.endswith(STORES) else "perfarray.read_archive"
    yield f"  in Python: times = {reader}({arguments}); times.perf.<TAB>"
    if counts is None or _has_history(times):
        return
    for dim in HISTORY:
        if (number := times.sizes.get(dim, 1)) > 1:
            yield f"history needs {SHORTEST} {plural(dim)} or more. Here are {number}."
    remedies = [
        f"{in_line(note.message, options.SPOKEN)}."
        for note in perfarray.notes(counts)
        if note.aside
    ]
    yield from remedies
    if remedies and several_files:
        yield (
            "Where each file is a run of the same thing, --files-are session makes the files "
            "the repetitions."
        )


def _has_history(times: "xr.Dataset") -> bool:
    """Return whether there are enough commits to find a change."""
    return any(times.sizes.get(dim, 1) >= SHORTEST for dim in HISTORY)


def _commands(
    archive: str,
    times: "xr.Dataset",
    scores: "xr.DataArray | None",
    units: "xr.DataArray | None",
    reading: dict[str, Any],
    *,
    several_files: bool,
) -> dict[str, str]:
    """Return commands, and the question that each answers."""
    path, read_as = shlex.quote(archive), options.reading_options(reading)
    repeated = units is not None and int(units.max()) > 1
    commands = {}
    if units is not None and _has_history(times):
        commands[f"history {path}{read_as}"] = "at which commits performance changed"
    if scores is not None:
        commands |= _of_suites(f"{path}{read_as}", scores, repeated=repeated)
    of_machines = (
        scores is not None and MACHINE in scores.dims
    )  # Published results need no plan of a next experiment.
    if units is not None and repeated:
        commands |= (
            {} if of_machines else {f"components {path}{read_as}": "where the variation comes from"}
        )
        for dim, label in _comparisons(units):
            name = own_name(dim)
            question = (
                f"which {name} {'are' if plural(dim) == dim else 'is'} faster, by how much, "
                "how sure"
            )
            baseline = f"--baseline {shlex.quote(label)}"
            commands[f"compare {path}{read_as} --dim {name} {baseline}"] = question
        if parameter := compared_parameter(times):
            label = shlex.quote(str(parameters(times)[parameter][0]))
            dims = options.reading_options(
                reading | {"dims": {**(reading.get("dims") or {}), parameter: parameter}}
            )
            commands[f"compare {path}{dims} --dim {parameter} --baseline {label}"] = (
                f"which {parameter} is faster"
            )
    files_are = " --files-are session" if several_files else ""
    commands[f"compare {path} OTHER{read_as}{files_are}"] = "whether other timings are faster"
    if repeated and not of_machines:
        prices = "".join(f" --cost {level}=SECONDS" for level in without_price(times))
        if not several_files:
            commands[f"plan {path}{read_as} --half-width 1%{prices}"] = (
                "how many repetitions to run next"
            )
        commands[f"plot violin {path}{read_as} -o violin.svg"] = "a picture of what was measured"
    commands[f"counts {path}{read_as}"] = "how much was measured"
    commands[f"report {path}{read_as} -o report.html"] = "all of it on one page"
    commands[f"convert {path}{read_as} timings.nc"] = "a file for xarray"
    return commands


def _of_suites(archive: str, scores: "xr.DataArray", *, repeated: bool) -> dict[str, str]:
    """Return commands about the scores of suites, and the question that each answers."""
    other_dims = [dim for dim in scores.dims if dim != MACHINE]
    commands = {
        f"scores {archive}": "scores in each suite, in five numbers, and how much they vary"
    }
    if repeated:
        commands[f"plot five-numbers {archive} -o five_numbers.svg"] = (
            "a picture of the five numbers"
        )
    if MACHINE not in scores.dims:
        return commands
    n_machines = scores.sum(MACHINE)
    if int(n_machines.max()) >= MIN_BIPLOT:
        cell = n_machines.isel(n_machines.argmax(other_dims)) if other_dims else n_machines
        labels = [
            shlex.quote(f"{dim}={cell[dim].item()}") for dim in other_dims if scores.sizes[dim] > 1
        ]
        selected = "".join(f" --select {label}" for label in labels)
        commands[f"plot biplot {archive}{selected} -o biplot.svg"] = (
            "which machines are alike, and at which benchmarks"
        )
    commands[f"machines {archive} -o machines.csv"] = (
        "a table of machines: scores, and every descriptor as a column"
    )
    if int(scores.any([dim for dim in other_dims if dim != SUITE]).sum(MACHINE).max()) >= MIN_MODEL:
        commands[f"explain {archive} --response performance"] = (
            "which hardware and software explain it; without --response, the variation"
        )
    return commands


def _counts(times: "xr.Dataset") -> "xr.Dataset | None":
    """Count what each cell repeats.

    None where nothing is repeated, or several metrics leave open what is meant.
    """
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", perfarray.PerfarrayWarning
        )  # Each command names what it leaves out.
        try:
            return perfarray.counts(times)
        except ValueError:
            return None


def _comparisons(units: "xr.DataArray") -> Iterator[tuple[str, str]]:
    """Yield the dims along which cells were measured more than once, and a baseline for each.

    Benchmarks, if there is no other.
    """
    dims = [
        str(dim)
        for dim, size in units.sizes.items()
        if size > 1 and dim in units.coords and not _separates_suites(units, str(dim))
    ]
    for dim in [dim for dim in dims if dim != BENCHMARK] or [
        dim for dim in dims if units.sizes[dim] <= FEW
    ]:
        cells = comparable_cells(units > 1, dim).values
        if cells.any():
            yield dim, str(units[dim].values[cells.argmax()])


def _separates_suites(units: "xr.DataArray", dim: str) -> bool:
    """Return whether labels of a dim are of different suites, which are not compared."""
    if SUITE not in units.coords or dim not in units.coords[SUITE].dims:
        return False
    labels = units.coords[SUITE].transpose(dim, ...).values.reshape(units.sizes[dim], -1)
    return any(len(set(column) - {UNKNOWN}) > 1 for column in labels.T.tolist())
