"""`perfarray report`: one page about an archive that can be sent."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import perfarray
from perfarray.cli import options
from perfarray.cli.console import show
from perfarray.cli.forms import SUFFIXES, form
from perfarray.cli.ordering import history_dim, in_order
from perfarray.cli.prices import by_level, given_costs, named_levels, without_price
from perfarray.cli.problems import reporting
from perfarray.cli.reading import read_one
from perfarray.cli.sides import Sources, read_sides
from perfarray.conventions import SECONDS

DEFAULT = Path("report.html")
"""What is written where nothing is said."""

FORMS = ("html", "markdown", "json")

OPTIONS = options.SPOKEN | {"threshold": "--threshold", "correction": "--correction", "costs": "--cost", "cost_units": "--units"}
"""The options that stand for arguments of the report."""


def report(
    old: Annotated[str, typer.Argument(help="A file, a folder or a quoted glob pattern: all of it, or the old ones.", show_default=False)],
    new: Annotated[str | None, typer.Argument(help="The new ones, to be compared with the old.", show_default=False)] = None,
    file: Annotated[
        Path | None,
        typer.Option("-o", metavar="FILE", help="Write it there; .html, .md and .json say the form. Default: report.html."),
    ] = None,
    output: Annotated[
        Literal["html", "markdown", "json"] | None, typer.Option("--output", help="The form; without -o it is printed.")
    ] = None,
    dim: options.Dim = None,
    baseline: options.Baseline = None,
    files_are: options.FilesAre = None,
    order: options.Order = None,
    threshold: options.Threshold = None,
    correction: options.Correction = None,
    cost: options.Cost = None,
    units: options.CostUnits = "s",
    levels: options.Levels = None,
    metric: options.Metric = None,
    redact: Annotated[
        bool, typer.Option("--redact", help="Number machines and files instead of naming them; leave out users and paths.")
    ] = False,
    format: options.Format = None,
    layout: options.Layout = None,
    dims: options.Dims = None,
    pattern: options.Pattern = None,
    encoding: options.Encoding = None,
) -> None:
    """Write a report: what was measured, what changed, how sure that is, where it varies, how many repetitions to run next.

    Of one place, what lies in it is compared if a baseline is named; else its means are shown. The page needs nothing beside it.

    Exit code 0: it is written.
    Exit code 2: it is not; a file cannot be read, or the output not be written.

    Example: perfarray report old.json new.json --cost execution=0.8 -o report.html
    """
    target = form(output, DEFAULT if file is None and output is None else file, old, new)
    reading = options.given(layout=layout, format=format, dims=dims, pattern=pattern, encoding=encoding)
    judged = options.given(levels=options.names(levels), metric=metric, threshold=threshold, correction=correction)
    with reporting(options=OPTIONS) as sentences:
        if target.kind not in FORMS:
            ends = [end for end, kind in SUFFIXES.items() if kind in FORMS]
            end = "" if file is None else file.suffix
            raise ValueError(f"-o {file}: the end of the name says the form, and {end!r} is none of {', '.join(ends)}; or say --output")
        prices = given_costs(cost or (), units, named_levels(options.names(levels), dims, layout, pattern))
        if new is None and dim is None and baseline is None:
            times, compared = read_one(old, reading, files_are, sentences), dict[str, Any]()
        else:
            sides = read_sides(Sources(old=old, new=new, reading=reading, files_are=files_are, dim=dim, baseline=baseline), sentences)
            times, compared = sides.times, {"baseline": sides.baseline, "dim": sides.dim}
        times = times if order is None else in_order(times, history_dim(times, None), order, sentences)
        costs = by_level(prices, str(times.attrs.get("format", ""))) or None
        if units == SECONDS and (missing := [level for level in without_price(times, judged.get("levels")) if level not in (costs or {})]):
            flags = " ".join(f"--cost {level}=SECONDS" for level in missing)
            sentences.append(f"the report has no plan of the next experiment: what one more {missing[0]} costs is not known; say {flags}")
        text = perfarray.report(
            times, **compared, **judged, costs=costs, cost_units=units, path=target.file, format=target.kind, redact=redact
        )
    show([text.removesuffix("\n")] if target.file is None else [f"{target.file}: {target.file.stat().st_size:,} bytes"])
