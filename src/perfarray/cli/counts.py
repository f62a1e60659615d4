"""`perfarray counts`: how many repetitions an archive holds, level by level."""

from typing import TYPE_CHECKING

import perfarray
from perfarray.cli import options
from perfarray.cli.forms import form
from perfarray.cli.problems import NO_ANSWER, NOTHING_SLOWER
from perfarray.cli.reading import answer_one

if TYPE_CHECKING:
    import xarray as xr


def counts(
    archive: options.Archive,
    levels: options.Levels = None,
    metric: options.Metric = None,
    format: options.Format = None,
    layout: options.Layout = None,
    dims: options.Dims = None,
    pattern: options.Pattern = None,
    encoding: options.Encoding = None,
    files_are: options.FilesAre = None,
    sort: options.Sort = None,
    output: options.Output = None,
    file: options.File = None,
    json: options.Json = False,
) -> None:
    """Count what was measured: builds, executions in each, iterations in each; what is marked (warm-up, stopped) is not counted.

    Exit code 0: something was measured.
    Exit code 2: nothing, a file cannot be read, a wrong option.

    Example: perfarray counts results/
    """
    reading = options.given(layout=layout, format=format, dims=dims, pattern=pattern, encoding=encoding)
    nest = options.given(levels=options.names(levels), metric=metric)
    answer_one(
        archive, reading, form(output, file, archive, json=json), lambda times: perfarray.counts(times, **nest), _outcome, sort, files_are
    )


def _outcome(result: "xr.Dataset") -> "tuple[str, int]":
    """Return how many values were measured in how many cells, and whether the nest is the same everywhere."""
    values = result["total"].isel(level=-1)
    cells, total = int((values > 0).sum()), int(values.sum())
    if not total:
        return "no answer: nothing was measured", NO_ANSWER
    dims = [str(dim) for dim in values.dims]
    balanced = bool((result["minimum"].min(dims) == result["maximum"].max(dims)).all())
    many = "of one cell" if cells == 1 else f"of {cells} cells"
    number_text = f"{total} {'value' if total == 1 else 'values'} {many}"
    return f"{number_text}; {'' if balanced else 'not '}as many repetitions everywhere", NOTHING_SLOWER
