"""`perfarray ARCHIVE`: what is in it, and what can be asked of it."""

import shlex
from typing import TYPE_CHECKING

from perfarray.cli import options
from perfarray.cli.console import show
from perfarray.cli.problems import quoted, reporting
from perfarray.cli.reading import read_one
from perfarray.conventions import BENCHMARK, BETTER, LEVELS, plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    import xarray as xr

MOST = 12
"""Descriptors that are shown."""


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
    said = options.given(layout=layout, format=format, dims=dims, pattern=pattern, encoding=encoding)
    with reporting(options=options.SPOKEN):
        times = read_one(archive, said)
    show([*_content(archive, times), "", "What can be asked:", *_questions(archive, times)])


def _content(archive: str, times: "xr.Dataset") -> "Iterator[str]":
    """Yield what an archive holds: labels, repetitions, metrics, what all of it shares."""
    yield f"{archive}: {times.attrs.get('format', 'timings')}"
    for dim in (str(dim) for dim in times.dims if dim not in LEVELS):
        labels = quoted(times[dim].values.tolist(), 4) if dim in times.coords else ""
        yield f"  {times.sizes[dim]} {dim if times.sizes[dim] == 1 else plural(dim)}: {labels}"
    nest = [f"{times.sizes[dim]} {dim if times.sizes[dim] == 1 else plural(dim)}" for dim in LEVELS if dim in times.sizes]
    yield f"  repetitions: at most {' x '.join(nest)}" if nest else "  no repetitions"
    for name, metric in times.data_vars.items():
        unit = metric.attrs.get("units", "1")
        yield f"  measured: {name}{'' if unit == '1' else f' in {unit}'}, {metric.attrs.get(BETTER, 'lower')} is better"
    shared = [f"{name} {label.item()}" for name, label in times.coords.items() if not label.dims]
    yield from (f"  all of it: {text}" for text in shared[:MOST])
    if len(shared) > MOST:
        yield f"  and {len(shared) - MOST} more descriptors"


def _questions(archive: str, times: "xr.Dataset") -> "Iterator[str]":
    """Yield commands that have an answer for these timings."""
    name = shlex.quote(archive)
    asked = {f"components {name}": "where the variation comes from"} if any(dim in times.sizes for dim in LEVELS) else {}
    asked[f"counts {name}"] = "how much was measured"
    for dim, size in times.sizes.items():
        if dim not in (BENCHMARK, *LEVELS) and size > 1 and dim in times.coords:
            label = shlex.quote(str(times[dim].values[0]))
            asked[f"compare {name} --dim {dim} --baseline {label}"] = f"which {dim} is faster, by how much, how sure"
    asked[f"compare {name} OTHER"] = "whether other timings are faster"
    asked[f"report {name} -o report.html"] = "all of it on one page"
    asked[f"convert {name} timings.nc"] = "a file for xarray"
    width = max(map(len, asked))
    yield from (f"  perfarray {command:<{width}}  {question}" for command, question in asked.items())
    yield f"  in Python: times = perfarray.read_archive({archive!r}); times.perf.<TAB>"
