"""`perfarray demo`: four steps on timings that come with the package, and what to do next."""

import math
from collections.abc import Sequence

import numpy as np
import xarray as xr
from rich.console import Console
from rich.table import Table

import perfarray
from perfarray.cli.comparison import comparison, comparison_table, legend
from perfarray.cli.console import WIDE, blank_table, console

WHAT = """Five small C programs compiled with gcc -O2 and -O3. Each suite was built 15 times, its object files linked in random order and
its environment of random size (binary); each build was started 10 times per benchmark (execution) and timed 20 times in each
(iteration), after 3 warm-up passes that are left out."""

WHERE = """The share of the variance of one timing that appears between binaries, between executions of one binary, between iterations of
one execution (0 %: too small to be seen here); and the variation of one timing, its standard deviation as a percentage of the mean."""

FASTER = """A change below 2 % shall not matter. The sample of a side are its 15 builds, not its 3000 timings: those of one build are alike,
and counting them as independent would claim more than was measured."""


def demo() -> None:
    """Show what perfarray answers, on timings that come with it: five C benchmarks, compiled with -O2 and with -O3."""
    times = perfarray.load_dataset("c_suite")
    counted, components = perfarray.counts(times), perfarray.variance_components(times)
    found = comparison(perfarray.compare(times, "O2", dim="flags", threshold=0.02), counted, "flags", "O2")
    out = console()
    _story(out, "1. What was measured", WHAT, _counts_table(counted))
    _story(out, "2. Where does the variation come from?", WHERE, _variance_table(components), [_widest(components)])
    _story(out, "3. Is -O3 faster than -O2, by how much, how sure?", FASTER, comparison_table(found, wide=out.width >= WIDE), legend(found))
    out.print("4. What to do next", style="bold")
    out.print()
    for line in _next_steps():
        out.print(line, soft_wrap=True)


def _story(out: Console, title: str, text: str, table: Table, after: Sequence[str] = ()) -> None:
    """Print one step of the demonstration: what it asks, the answer, and how to read it."""
    out.print(title, style="bold")
    out.print(" ".join(text.split()))
    out.print()
    out.print(table)
    out.print()
    for line in after:
        out.print(line, style="dim")
    out.print()


def _variance_table(components: xr.Dataset) -> Table:
    """Return each level's share of the variance of one measured value, and the total coefficient of variation."""
    variance = components["variance"].clip(min=0).where(components["variance"].notnull())
    total = variance.sum("level")
    shares = (variance / total).transpose(..., "level")
    variation = (total**0.5 / components["mean"]).transpose(*total.dims)
    dims = list(map(str, total.dims))
    table = blank_table()
    for dim in dims:
        table.add_column(dim, overflow="fold")
    for level in components["level"].values.tolist():
        table.add_column(level, justify="right")
    table.add_column("variation", justify="right")
    for index in np.ndindex(*total.shape):
        labels = [str(total[dim].values[i]) for dim, i in zip(dims, index, strict=True)]
        own = ["-" if math.isnan(share) else f"{100 * share:.0f} %" for share in shares.values[index]]
        table.add_row(*labels, *own, f"{100 * variation.values[index]:.1f} %")
    return table


def _counts_table(counted: xr.Dataset) -> Table:
    """Return what was measured, level by level: repetitions inside one parent, and in one cell."""
    table = blank_table()
    table.add_column("level")
    table.add_column("repetitions", justify="right")
    table.add_column("of every")
    table.add_column("in all per cell", justify="right")
    parent = ", ".join(str(dim) for dim in counted["total"].dims if dim != "level")
    for level in counted["level"].values.tolist():
        one = counted.sel(level=level)
        table.add_row(level, _range(one["minimum"], one["maximum"]), parent, _range(one["total"], one["total"]))
        parent = level
    return table


def _range(low: xr.DataArray, high: xr.DataArray) -> str:
    """Write the smallest and the largest count, or the one that all have."""
    least, most = int(low.min()), int(high.max())
    return f"{least}" if least == most else f"{least} to {most}"


def _widest(components: xr.Dataset) -> str:
    """Return what it means for the benchmark whose builds differ most."""
    variance = components["variance"].clip(min=0)
    share = (variance / variance.sum("level")).sel(level="binary")
    cell = share.isel(share.argmax(...))
    return (
        f"In {cell['benchmark'].item()} at -{cell['flags'].item()}, {100 * cell.item():.0f} % of the variance lies between builds: "
        "timing one build again and again cannot show it, and averages to the number of that build, with great precision."
    )


def _next_steps() -> list[str]:
    """Return three things to try, each complete."""
    folder = perfarray.dataset_path("aa_sessions")
    return [
        "Compare two result files (pyperf or JMH JSON, CSV; folders and globs too). Here, the same Python in two sessions: nothing",
        "changed, so whatever is called faster or slower shows what one session cannot see:",
        f"    perfarray compare {folder / 'first.json'} {folder / 'second.json'} --threshold 2%",
        "",
        "Bring your own timings as a table, one row per measured value:",
        "    benchmark,version,execution,iteration,time_ms",
        "    parse,1.0,0,0,12.31",
        "    then: perfarray compare old.csv new.csv          (perfarray compare --help says what else)",
        "",
        "Go on in Python, with every dimension at hand:",
        "    import perfarray",
        '    times = perfarray.load_dataset("c_suite")    # or perfarray.read_archive({"old": "old/", "new": "new/"}, dim="version")',
        "    times.perf.variance_components()",
        '    times.perf.compare("O2", dim="flags", threshold=0.02)',
    ]
