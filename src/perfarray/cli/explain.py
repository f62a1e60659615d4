"""`perfarray explain`: which hardware, software and flags explain performance or its variation."""

import csv
from typing import Annotated, Any, Final, Literal

import typer

import perfarray
from perfarray.cli import options
from perfarray.cli.forms import Answer, Target, answering, described, give
from perfarray.cli.problems import NOTHING_SLOWER
from perfarray.cli.reading import read_one

OPTIONS: Final = options.spoken("shared predictors response model")


def explain(
    archive: options.Archive,
    *,
    response: Annotated[
        str,
        typer.Option(
            help=(
                "Explain this column of `perfarray machines`: performance, or "
                "relative_variation (default)."
            )
        ),
    ] = "relative_variation",
    predictors: Annotated[
        str | None,
        typer.Option(
            help=(
                "Explain it by these columns, such as cpu_mhz,l3_kb. environment: all but "
                "flags. flags: only flags. Default: all."
            )
        ),
    ] = None,
    model: Annotated[
        Literal["boosting", "ols", "mixed"] | None,
        typer.Option(
            help=(
                "Choose the model: boosted trees (default), least squares with coefficients, or "
                "a random effect of the machine."
            )
        ),
    ] = None,
    shared: options.Shared = None,
    select: options.Select = None,
    nest: options.Nest,
    reading: options.Reading,
    sort: options.Sort = None,
    target: Target,
) -> None:
    """Say which hardware, software and flags explain performance, or its variation.

    The model is tested on machines that it was not fitted to. `perfarray compare --explain` says
    how to read a comparison.

    Exit code 0: there is an answer, even if nothing explains it.
    Exit code 2: no answer: a file cannot be read, there are too few machines or no such column, or
    an option is wrong.

    Example: perfarray explain results/ --response performance --predictors cpu_mhz,l3_kb,memory_gb
    -o explained.html
    """
    from perfarray.results.rows import records

    columns = (
        None
        if predictors is None
        else [name.strip() for name in next(csv.reader([predictors], skipinitialspace=True), [])]
    )
    choices: dict[str, Any] = options.given(
        predictors=columns[0] if columns in (["environment"], ["flags"]) else columns, model=model
    )
    with answering(
        target, {"archive": archive}, "rows", "attrs", "notes", options=OPTIONS
    ) as sentences:
        times = read_one(archive, reading, None, sentences, select)
        choices |= nest | options.given(shared=options.names(shared))
        result = perfarray.explain_variation(
            times, response=response, rng=options.SEED, **choices
        ).to_dataset()
        table = perfarray.table(result, sort=sort)
    findings = table.attrs["findings"]
    row_places = table.places
    cells = result[
        [
            name
            for name, array in result.data_vars.items()
            if set(array.dims) == set(row_places.dims)
        ]
    ]
    rows = records(cells, row_places.dims, row_places.positions)
    model_values = {
        str(name): array.item() for name, array in result.data_vars.items() if not array.dims
    }
    answer = Answer(
        table=table,
        rows=rows,
        content={
            "archive": archive,
            "findings": findings,
            "rows": rows,
            "model": model_values,
            **described(result),
        },
        outcome=" ".join(findings).removesuffix("."),
        code=NOTHING_SLOWER,
        legend=[f"{table.attrs['about']}."],
        result=result,
    )
    give(answer, target, sentences, OPTIONS)
