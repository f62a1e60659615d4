"""`perfarray report`: one page about an archive."""

from pathlib import Path
from typing import Annotated, Literal

import typer

import perfarray
from perfarray.cli import options
from perfarray.cli.commits import history_dim, in_order
from perfarray.cli.console import show
from perfarray.cli.forms import SUFFIXES, form
from perfarray.cli.prices import costs_by_level, given_costs, named_levels, without_price
from perfarray.cli.problems import reporting
from perfarray.cli.reading import read
from perfarray.conventions import SECONDS

FORMS = ("html", "markdown", "json")

# The call of the section with a plan, which a report of an archive of machines has only where it is
# asked for
PLAN = "times.perf.plan_repetitions("

OPTIONS = options.spoken(
    "threshold correction order by", costs="--cost", cost_units="--units", sections="--section"
)


def report(
    context: typer.Context,
    inputs: options.Places,
    *,
    file: Annotated[
        Path | None,
        typer.Option(
            "-o",
            metavar="FILE",
            help=(
                "Write the report to this file. .html, .md and .json set the form. Default: "
                "report.html."
            ),
        ),
    ] = None,
    output: Annotated[
        Literal["html", "markdown", "json"] | None,
        typer.Option(help="Choose the form. Without -o the report is printed."),
    ] = None,
    selected: options.Selected,
    order: options.Order = None,
    threshold: options.Threshold = None,
    correction: options.Correction = None,
    by: options.By = None,
    costs: options.Costs = None,
    units: options.CostUnits = "s",
    sections: Annotated[
        list[str] | None,
        typer.Option(
            "--section",
            metavar="METHOD",
            help=(
                "Write only the sections of some methods, such as five_number_summary. Repeat "
                "it for several."
            ),
        ),
    ] = None,
    nest: options.Nest,
    redact: Annotated[
        bool,
        typer.Option(
            "--redact",
            help="Replace names of machines and files by numbers, and leave out users and paths.",
        ),
    ] = False,
) -> None:
    """Write a report: what changed, how sure that is, where it varies, how much to run next.

    With one input, --baseline says what in it is compared; without it the report shows means. For
    suites or several machines without versions, the report has scores, machines that are alike,
    machines that vary most, and what explains it. The page is one file.

    Exit code 0: the report is written.
    Exit code 2: it is not: a file cannot be read, or the output cannot be written.

    Example: perfarray report old.json new.json --cost execution=0.8 -o report.html
    """
    path = Path("report.html") if file is None and output is None else file
    target = form(context, output, path)
    with reporting(options=OPTIONS, doing="report") as sentences:
        target.refuse(*inputs)
        if target.kind not in FORMS:
            suffixes = ", ".join(suffix for suffix, kind in SUFFIXES.items() if kind in FORMS)
            raise ValueError(
                f"-o {file}: the suffix says the form, and {Path(file or '').suffix!r} is none "
                f"of {suffixes}; or say --output"
            )
        prices = given_costs(costs or (), units, named_levels(nest.get("levels"), selected.reading))
        sides = read(inputs, selected, sentences)
        times, sorted_by = (
            (sides.times, None)
            if order is None
            else in_order(sides.times, history_dim(sides.times, None), order, sentences)[:2]
        )
        prices = costs_by_level(prices, str(times.attrs.get("format", "")))
        missing = [
            level for level in without_price(times, nest.get("levels")) if level not in prices
        ]
        text = perfarray.report(
            times,
            **options.given(
                baseline=sides.baseline, dim=sides.dim, threshold=threshold, correction=correction
            ),
            **nest,
            **options.given(order=sorted_by, by=by),
            costs=prices or None,
            cost_units=units,
            sections=sections,
            path=target.file,
            format=target.kind,
            redact=redact,
        )
        if units == SECONDS and missing and PLAN in text:
            flags = " ".join(f"--cost {level}=SECONDS" for level in missing)
            sentences.append(
                f"the report has no plan of the next experiment: what one more {missing[0]} "
                f"costs is not known. Say {flags}"
            )
    size = len(text.encode(errors="backslashreplace"))
    show([text.removesuffix("\n")] if target.file is None else [f"{target.file}: {size:,} bytes"])
