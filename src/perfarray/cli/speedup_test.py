"""`perfarray speedup-test`: run the Speedup-Test on its tool's files; print its report, and which way each benchmark went."""

from pathlib import Path
from typing import Annotated, Literal

import typer

import perfarray
from perfarray.cli import options
from perfarray.cli.console import screen_width, show, table_lines
from perfarray.cli.grid import grid_of
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
    tested = result.sel(statistic=["mean", "median"]).assign_attrs(result="speedup_test")  # of the least time there is no test
    show([text, *table_lines(grid_of(perfarray.table(tested)), screen_width())])
