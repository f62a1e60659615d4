"""`perfarray stop`: whether enough was measured, and how many more units to run if not.

The exit code says which, for a loop.
"""

import math
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

import perfarray
from perfarray.cli import options
from perfarray.cli.forms import Answer, Row, Target, answering, described, give
from perfarray.cli.options import percent
from perfarray.cli.problems import NO_ANSWER, counted
from perfarray.cli.reading import paths_read, read
from perfarray.cli.reruns import PlanFile, check_file, unfinished, write_plan
from perfarray.conventions import plural

if TYPE_CHECKING:
    import xarray as xr

ENOUGH: Final = 0
GO_ON: Final = 1

OPTIONS = options.spoken("rule start paired baseline half_width")


def stop(
    inputs: options.Places,
    *,
    half_width: options.HalfWidth = None,
    rule: Annotated[
        Literal["stein", "t", "always_valid", "cv"] | None,
        typer.Option(
            help=(
                "Choose the rule. stein (default): the first units say how many. t: the usual "
                "interval, checked after each unit. always_valid: valid at every unit."
            )
        ),
    ] = None,
    start: Annotated[
        int | None, typer.Option(help="Begin with this many units. Default: 10; 30 is better.")
    ] = None,
    selected: options.Selected,
    paired: options.Paired = None,
    confidence: options.Confidence = None,
    nest: options.Nest,
    plan: PlanFile = None,
    sort: options.Sort = None,
    target: Target,
) -> None:
    """Say for every benchmark whether to go on measuring, and how many more executions it needs.

    Exit code 0: every benchmark has enough executions.
    Exit code 1: a benchmark needs more.
    Exit code 2: no answer: a file cannot be read, nothing was measured, or an option is wrong.

    Example: perfarray stop old/ new/ --half-width 1% --rule always_valid
    """
    from perfarray.results.rows import records

    choices = options.given(rule=rule, start=start, paired=paired, confidence_level=confidence)
    paths, own_words = paths_read(inputs), ("few_units", "no_goal")
    with answering(
        target, paths, "rows", "attrs", "notes", own_words=own_words, options=OPTIONS
    ) as sentences:
        if half_width is None:
            raise ValueError("say how narrow the interval has to be: --half-width 1%")
        check_file(plan, target, inputs)
        sides = read(inputs, selected, sentences)
        result = perfarray.stopping(
            sides.times, sides.baseline, dim=sides.dim, half_width=half_width, **nest, **choices
        )
        reruns = unfinished(result) if plan else None
    per_cell = result.drop_dims("runs")
    table = perfarray.table(result, sort=sort)
    rows = records(per_cell, table.places.dims, table.places.positions)
    for row in rows:
        n_missing = row.pop("remaining")
        row["more"] = int(n_missing) if math.isfinite(n_missing) else n_missing
    code, outcome = _outcome(result, rows)
    ratio = "candidate / baseline" if "baseline" in result.attrs else "the mean"
    legend = [
        f"{table.attrs['about']}; then: {ratio}, with its interval, where the rule stops.",
        "? stands behind what would do if further ones vary as these.",
    ]
    answer = Answer(
        table=table,
        rows=rows,
        content={**paths, "rows": rows, **described(result)},
        outcome=outcome,
        code=code,
        lines=write_plan(plan, reruns, sides, selected),
        legend=legend,
    )
    give(answer, target, sentences)


def _outcome(result: "xr.Dataset", rows: list[Row]) -> tuple[int, str]:
    measured = [row for row in rows if row["n"] > 0]
    if not measured:
        return NO_ANSWER, "no answer: nothing was measured"
    missing = [row["more"] for row in measured if row["more"] != 0]
    cells, width = counted(len(measured), "cell"), f"±{percent(result.attrs['half_width_wanted'])}"
    if not missing:
        return (
            ENOUGH,
            (
                f"stop: {f'all {cells} are' if len(measured) > 1 else 'the one cell is'} within "
                f"{width}"
            ),
        )
    finite = sorted({number for number in missing if math.isfinite(number)})
    n_missing = (
        f"{finite[0]:,}"
        if len(finite) == 1
        else f"{finite[0]:,} to {finite[-1]:,}"
        if finite
        else "an unknown number of"
    )
    unit, are = str(result.attrs["unit"]), "is" if len(missing) == 1 else "are"
    units = unit if finite == [1] else plural(unit)
    return (
        GO_ON,
        f"go on: {len(missing)} of {cells} {are} not within {width} yet; "
        f"{n_missing} more {units} each",
    )
