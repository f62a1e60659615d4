"""`perfarray speedup-test`: run the Speedup-Test on its tool's files; print its report, and which way each benchmark went."""

from pathlib import Path
from typing import Annotated, Literal

import typer
import xarray as xr
from rich.box import SIMPLE
from rich.table import Table

import perfarray
from perfarray.cli import options
from perfarray.cli.console import console
from perfarray.cli.problems import SHOWN, reporting


def speedup_test(
    config: Annotated[str, typer.Argument(help="The configuration: CSV with Name,Sample1,Sample2,ConfLevel,Coef.", show_default=False)],
    conf_level: Annotated[
        float | None, typer.Option(parser=options.fraction, metavar="SHARE", help="For benchmarks without one. Default: searched for.")
    ] = None,
    weight: Annotated[Literal["custom", "equal", "fraction"], typer.Option(help="The weights of the benchmarks.")] = "custom",
    precision: Annotated[
        float | None, typer.Option(parser=options.fraction, metavar="SHARE", help="Of the proportion, for the number needed: 5% (default).")
    ] = None,
    output: Annotated[str | None, typer.Option("-o", "--output", help="What the names of the files begin with.")] = None,
) -> None:
    """Run the Speedup-Test on its tool's files: which speedups are significant, and those of the whole suite.

    Writes CONFIG.out, CONFIG.report, CONFIG.warning and CONFIG.error.

    Exit code 0: there is a report.
    Exit code 2: no answer; the configuration cannot be read, no benchmark has both samples, a wrong option.
    """
    choices = options.given(confidence_level=conf_level, weights=weight, precision=precision, output=output)
    with reporting(own_words=SHOWN):
        result = perfarray.speedup_report(config, **choices)
        text = Path(f"{result.attrs['files']}.report").read_text(encoding="utf-8")
    out = console()
    out.print(text, soft_wrap=True)
    out.print(_benchmark_table(result))


def _benchmark_table(result: xr.Dataset) -> Table:
    """Return a row per benchmark: its speedups, and whether they are significant."""
    table = Table(box=SIMPLE, pad_edge=False)
    table.add_column("benchmark")
    for statistic in ("mean", "median"):
        table.add_column(f"speedup ({statistic})", justify="right")
        table.add_column("significant at", justify="right")
        table.add_column("by")
    for benchmark in result["benchmark"].values.tolist():
        cells = [str(benchmark)]
        for statistic in ("mean", "median"):
            one = result.sel(benchmark=benchmark, statistic=statistic)
            no = "no (slower)" if one["speedup"].item() < 1 else "no"
            found = f"{100 * one['confidence_level'].item():g} %" if one["significant"].item() else no
            cells += [f"{one['speedup'].item():.3f}", found, str(one["test"].item())]
        table.add_row(*cells)
    return table
