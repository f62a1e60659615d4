"""`perfarray ARCHIVE`: what is in it, and commands that have an answer."""

import shlex
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import perfarray
from perfarray.cli import options
from perfarray.cli.console import program, show
from perfarray.cli.prices import without_price
from perfarray.cli.problems import counted, in_line, quoted, reporting
from perfarray.cli.reading import STORES, read_archive
from perfarray.conventions import BENCHMARK, BETTER, ESTIMATED, HISTORY, LEVELS, METRIC, SUITE, UNKNOWN, VALID, plural

if TYPE_CHECKING:
    import xarray as xr

MOST: Final = 12  # descriptors that are shown

FEW: Final = 9  # benchmarks that may be alternatives of each other

SHORTEST: Final = 8  # commits in which a change can be found

UNNAMED: Final = ("benchmark_name", "group", SUITE)  # coordinates along benchmarks that are no parameters of these

LONGEST: Final = 90  # characters of the longest command that the texts are aligned with


def about(archive: options.Archive, *, reading: options.Reading) -> None:
    """Say what is in a file or folder and what can be asked of it; `perfarray ARCHIVE` is short for it.

    Exit code 0: it was read.
    Exit code 2: it cannot be read.

    Example: perfarray results.json
    """
    skipping = {"on_error": "warn"} if Path(archive).is_dir() and not archive.endswith(STORES) else {}
    with reporting(options=options.SPOKEN):
        times = read_archive(archive, reading | skipping)
    show([*_content(archive, times), "", "What can be asked:", *_questions(archive, times, reading)])


def _content(archive: str, times: "xr.Dataset") -> Iterator[str]:
    """Yield what an archive holds: labels, repetitions, metrics, descriptors of all of it."""
    yield f"{archive}: {times.attrs.get('format', 'timings')}"
    for dim in (str(dim) for dim in times.dims if dim not in LEVELS):
        labels = quoted(times[dim].values.tolist(), 4) if dim in times.coords else ""
        yield f"  {counted(times.sizes[dim], dim)}: {labels}"
    for name, values in _parameters(times).items():
        yield f"  parameter {name}: {quoted(values, 4)} (--dims {name}={name} makes it a dim)"
    nest = [counted(times.sizes[dim], dim) for dim in LEVELS if dim in times.sizes]
    yield f"  repetitions: at most {' x '.join(nest)}" if nest else "  no repetitions"
    if SUITE in times.coords and times.coords[SUITE].size > 1:
        suites = list(dict.fromkeys(label for label in times[SUITE].values.ravel().tolist() if label != UNKNOWN))
        yield f"  {counted(len(suites), SUITE)}: {quoted(suites)}"
    for name, value, state in ((VALID, 0, "not valid"), (ESTIMATED, 1, "estimated, not reportable")):
        if name in times.coords and (times.coords[name] == value).any():
            yield f"  {state}: {'all' if (times.coords[name] == value).all() else 'in part'}"
    for metric_name, metric in sorted(times.data_vars.items(), key=lambda item: item[0] != times.attrs.get(METRIC)):
        units, better = metric.attrs.get("units", "1"), metric.attrs.get(BETTER)
        direction = "which direction is good is not said (--better)" if better is None else f"{better} is better"
        yield f"  measured: {metric_name}{'' if units == '1' else f' in {units}'}, {direction}"
    shared = [f"{name} {label.item()}" for name, label in times.coords.items() if not label.dims]
    yield from (f"  all of it: {text}" for text in shared[:MOST])
    if len(shared) > MOST:
        yield f"  and {len(shared) - MOST} more descriptors"
    yield from (f"  {note.message}" for note in perfarray.notes(times) if note.aside)


def _parameters(times: "xr.Dataset") -> dict[str, list[Any]]:
    """Return the settings that several benchmarks share and others have otherwise, with their values."""
    values = {
        str(name): list(dict.fromkeys(coordinate.values.tolist()))
        for name, coordinate in times.coords.items()
        if coordinate.dims == (BENCHMARK,) and name not in (BENCHMARK, *UNNAMED)
    }
    return {name: labels for name, labels in values.items() if 1 < len(labels) < times.sizes[BENCHMARK]}


def _questions(archive: str, times: "xr.Dataset", reading: dict[str, Any]) -> Iterator[str]:
    """Yield commands that have an answer for these timings; where nothing is repeated, what is missing."""
    counts = _counts(times)
    units = None if counts is None else counts["total"].isel(level=0)
    several_files = times.sizes.get("file", 1) > 1
    commands = _commands(archive, times, units, reading, several_files=several_files)
    width = max((len(command) for command in commands if len(command) <= LONGEST), default=0)
    yield from (f"  {program()} {command:<{width}}  {text}" for command, text in commands.items())
    arguments = ", ".join([repr(archive), *(f"{argument}={value!r}" for argument, value in reading.items())])
    yield f"  in Python: times = perfarray.read_archive({arguments}); times.perf.<TAB>"
    if counts is None or _has_history(times):
        return
    remedies = [f"{in_line(note.message, options.SPOKEN)}." for note in perfarray.notes(counts) if note.aside]
    yield from remedies
    if remedies and several_files:
        yield "Where each file is a run of the same thing, --files-are session makes the files the repetitions."


def _has_history(times: "xr.Dataset") -> bool:
    """Return whether there are commits enough for a change to be found, of which one value each will do."""
    return any(times.sizes.get(dim, 1) >= SHORTEST for dim in HISTORY)


def _commands(
    archive: str, times: "xr.Dataset", units: "xr.DataArray | None", reading: dict[str, Any], *, several_files: bool
) -> dict[str, str]:
    """Return commands, and the question that each answers."""
    path, read_as = shlex.quote(archive), ""
    for name, value in reading.items():
        text = ",".join(f"{dim}={column}" for dim, column in value.items()) if isinstance(value, dict) else str(value)
        option = f"--{name.replace('_', '-')}"
        read_as += f" {option}" if value is True else f" {option} {shlex.quote(text)}"
    repeated = units is not None and int(units.max()) > 1
    commands = {}
    if units is not None and _has_history(times):
        commands[f"history {path}{read_as}"] = "at which commits performance changed"
    if units is not None and repeated:
        commands[f"components {path}{read_as}"] = "where the variation comes from"
        for dim, label in _comparisons(units):
            question = f"which {dim} {'are' if plural(dim) == dim else 'is'} faster, by how much, how sure"
            commands[f"compare {path}{read_as} --dim {dim} --baseline {shlex.quote(label)}"] = question
    files_are = " --files-are session" if several_files else ""
    commands[f"compare {path} OTHER{read_as}{files_are}"] = "whether other timings are faster"
    if repeated:
        prices = "".join(f" --cost {level}=SECONDS" for level in without_price(times))
        if not several_files:
            commands[f"plan {path}{read_as} --half-width 1%{prices}"] = "how many repetitions to run next"
        commands[f"plot violin {path}{read_as} -o violin.svg"] = "a picture of what was measured"
    commands[f"counts {path}{read_as}"] = "how much was measured"
    commands[f"report {path}{read_as} -o report.html"] = "all of it on one page"
    commands[f"convert {path}{read_as} timings.nc"] = "a file for xarray"
    return commands


def _counts(times: "xr.Dataset") -> "xr.Dataset | None":
    """Count what each cell repeats; None where nothing is repeated, or several metrics leave open what is meant."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", perfarray.PerfarrayWarning)  # each command says itself what it leaves out
        try:
            return perfarray.counts(times)
        except ValueError:
            return None


def _comparisons(units: "xr.DataArray") -> Iterator[tuple[str, str]]:
    """Yield the dims along which cells were measured more than once, and a baseline for each; benchmarks, if there is no other."""
    dims = [str(dim) for dim, size in units.sizes.items() if size > 1 and dim in units.coords and not _separates_suites(units, str(dim))]
    for dim in [dim for dim in dims if dim != BENCHMARK] or [dim for dim in dims if units.sizes[dim] <= FEW]:
        measured = (units > 1).transpose(dim, ...)
        first = int(measured.any([name for name in measured.dims if name != dim]).argmax(dim))
        if bool((measured.isel({dim: first}) & (measured.sum(dim) > 1)).any()):  # another label was measured in the same cell
            yield dim, str(units[dim].values[first])


def _separates_suites(units: "xr.DataArray", dim: str) -> bool:
    """Return whether labels of a dim are of different suites, which are not compared."""
    if SUITE not in units.coords or dim not in units.coords[SUITE].dims:
        return False
    labels = units.coords[SUITE].transpose(dim, ...).values.reshape(units.sizes[dim], -1)
    return any(len(set(column) - {UNKNOWN}) > 1 for column in labels.T.tolist())
