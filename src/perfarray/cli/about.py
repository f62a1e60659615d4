"""`perfarray ARCHIVE`: what is in it, and what can be asked of it."""

import shlex
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfarray.cli import options
from perfarray.cli.console import show
from perfarray.cli.prices import without_price
from perfarray.cli.problems import quoted, reporting
from perfarray.cli.reading import read_one
from perfarray.conventions import BENCHMARK, BETTER, EXECUTION, LEVELS, METRIC, SUITE, UNKNOWN, plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    import xarray as xr

MOST = 12
"""Descriptors that are shown."""

FEW = 9
"""Benchmarks that somebody may want to compare with each other."""

WIDE = 90
"""Columns of the longest command that questions are aligned with."""

MORE = {"jmh": "JMH: more forks, -f 10", "pyperf": "pyperf: more processes, -p 20"}
"""How a harness is told to repeat its outermost level."""


def about(
    archive: options.Archive,
    format: options.Format = None,
    layout: options.Layout = None,
    dims: options.Dims = None,
    pattern: options.Pattern = None,
    encoding: options.Encoding = None,
) -> None:
    """Say what is in a file or folder and what can be asked of it; `perfarray ARCHIVE` is short for it.

    Exit code 0: it was read.
    Exit code 2: it cannot be read.

    Example: perfarray results.json
    """
    reading = options.given(layout=layout, format=format, dims=dims, pattern=pattern, encoding=encoding)
    with reporting(options=options.SPOKEN):
        times = read_one(archive, reading | ({"on_error": "warn"} if Path(archive).is_dir() else {}))  # skips what cannot be read
    show([*_content(archive, times), "", "What can be asked:", *_questions(archive, times, reading)])


def _content(archive: str, times: "xr.Dataset") -> "Iterator[str]":
    """Yield what an archive holds: labels, repetitions, metrics, what all of it shares."""
    yield f"{archive}: {times.attrs.get('format', 'timings')}"
    for dim in (str(dim) for dim in times.dims if dim not in LEVELS):
        labels = quoted(times[dim].values.tolist(), 4) if dim in times.coords else ""
        yield f"  {times.sizes[dim]} {dim if times.sizes[dim] == 1 else plural(dim)}: {labels}"
    nest = [f"{times.sizes[dim]} {dim if times.sizes[dim] == 1 else plural(dim)}" for dim in LEVELS if dim in times.sizes]
    yield f"  repetitions: at most {' x '.join(nest)}" if nest else "  no repetitions"
    if SUITE in times.coords and times.coords[SUITE].size > 1:
        suites = list(dict.fromkeys(label for label in times[SUITE].values.ravel().tolist() if label != UNKNOWN))
        yield f"  {len(suites)} {SUITE if len(suites) == 1 else plural(SUITE)}: {quoted(suites, 9)}"
    for name, metric in sorted(times.data_vars.items(), key=lambda item: item[0] != times.attrs.get(METRIC)):
        unit = metric.attrs.get("units", "1")
        yield f"  measured: {name}{'' if unit == '1' else f' in {unit}'}, {metric.attrs.get(BETTER, 'lower')} is better"
    shared = [f"{name} {label.item()}" for name, label in times.coords.items() if not label.dims]
    yield from (f"  all of it: {text}" for text in shared[:MOST])
    if len(shared) > MOST:
        yield f"  and {len(shared) - MOST} more descriptors"


def _questions(archive: str, times: "xr.Dataset", reading: dict[str, Any]) -> "Iterator[str]":
    """Yield commands that have an answer for these timings; where nothing is repeated, what is missing."""
    name, units = f"{shlex.quote(archive)}{''.join(map(_option, reading, reading.values()))}", _units(times)
    commands = {}
    if units is not None and int(units.max()) > 1:
        commands[f"components {name}"] = "where the variation comes from"
        commands |= {f"compare {name} --dim {dim} --baseline {shlex.quote(label)}": text for dim, label, text in _comparisons(units)}
    several = times.sizes.get("file", 1) > 1
    commands[
        f"compare {shlex.quote(archive)} OTHER{name.removeprefix(shlex.quote(archive))}{' --files-are session' if several else ''}"
    ] = "whether other timings are faster"
    if units is not None and int(units.max()) > 1:
        prices = "".join(f" --cost {level}=SECONDS" for level in without_price(times))
        commands |= {} if several else {f"plan {name} --half-width 1%{prices}": "how many repetitions to run next"}
        commands[f"plot violin {name} -o violin.svg"] = "a picture of what was measured"
    commands[f"counts {name}"] = "how much was measured"
    commands[f"report {name} -o report.html"] = "all of it on one page"
    commands[f"convert {name} timings.nc"] = "a file for xarray"
    width = max((len(command) for command in commands if len(command) <= WIDE), default=0)
    yield from (f"  perfarray {command:<{width}}  {text}" for command, text in commands.items())
    arguments = ", ".join([repr(archive), *(f"{argument}={value!r}" for argument, value in reading.items())])
    yield f"  in Python: times = perfarray.read_archive({arguments}); times.perf.<TAB>"
    if units is not None and int(units.max()) == 1:
        unit = str(units["level"].item())
        more = f" ({MORE[str(times.attrs['format'])]})" if unit == EXECUTION and times.attrs.get("format") in MORE else ""
        inside = [dim for dim in LEVELS[LEVELS.index(unit) + 1 :] if times.sizes.get(dim, 1) > 1] if unit in LEVELS else []
        alternative = f", or take {plural(inside[0])} as independent, if they are: --levels {','.join(inside)}" if inside else ""
        none = "there is no interval and no verdict"
        yield f"One {unit} of each shows no spread between {plural(unit)}: {none}; measure several{more}{alternative}."
        if several:
            yield "Where each file is a run of the same thing, --files-are session makes the files the repetitions."


def _option(name: str, value: Any) -> str:
    """Write what was said of the files as it was typed."""
    text = ",".join(f"{dim}={column}" for dim, column in value.items()) if isinstance(value, dict) else str(value)
    return f" --{name} {shlex.quote(text)}"


def _units(times: "xr.Dataset") -> "xr.DataArray | None":
    """Return how many independent units each cell has; None where nothing is repeated, or it is not said what was measured."""
    import perfarray

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", perfarray.PerfarrayWarning)  # each command says itself what it leaves out
        try:
            return perfarray.counts(times)["total"].isel(level=0)
        except ValueError:
            return None


def _comparisons(units: "xr.DataArray") -> "Iterator[tuple[str, str, str]]":
    """Yield the dims along which cells were measured more than once, and a baseline that has partners; benchmarks, if nothing else."""
    several = [str(dim) for dim, size in units.sizes.items() if size > 1 and dim in units.coords and not _suites_along(units, str(dim))]
    further_dims = [dim for dim in several if dim != BENCHMARK]
    for dim in further_dims or [dim for dim in several if units.sizes[dim] <= FEW]:
        measured = (units > 1).transpose(dim, ...)
        alone = measured.any([name for name in measured.dims if name != dim])
        on_both_sides = measured.isel({dim: int(alone.argmax(dim))}) & (measured.sum(dim) > 1)
        if bool(on_both_sides.any()):
            label = str(units[dim].values[int(alone.argmax(dim))])
            yield dim, label, f"which {dim} {'are' if plural(dim) == dim else 'is'} faster, by how much, how sure"


def _suites_along(units: "xr.DataArray", dim: str) -> bool:
    """Return whether labels of a dim are of different suites, which are not compared."""
    if SUITE not in units.coords or dim not in units.coords[SUITE].dims:
        return False
    labels = units.coords[SUITE].transpose(dim, ...).values.reshape(units.sizes[dim], -1)
    return any(len(set(column) - {UNKNOWN}) > 1 for column in labels.T.tolist())
