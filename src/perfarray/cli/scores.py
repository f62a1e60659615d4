"""`perfarray scores`: what suites score, in five numbers, and how much that varies."""

import math
from typing import Annotated, Final, Literal

import typer

import perfarray
from perfarray.cli import options
from perfarray.cli.forms import Answer, Row, Target, answering, described, give
from perfarray.cli.problems import NO_ANSWER, NOTHING_SLOWER, counted
from perfarray.cli.reading import read_one
from perfarray.conventions import FORMAT, SUITE, published_median

MEDIAN: Final = "median"
SLOWER_MEDIAN: Final = "slower_median"

FIVE: Final = ("minimum", "q1", "median", "q3", "maximum")

# Columns of the table: of which result, under which title there
COLUMNS: Final = {
    "score": ("score", "estimate"),
    **{name: ("five", name) for name in FIVE},
    "relative variation": ("variation", "relative variation"),
    "n": ("variation", "n"),
}

# The same in full precision
VARIABLES: Final = {
    "score": "score_estimate",
    **{name: f"five_{name}" for name in FIVE},
    "standard_deviation": "variation_standard_deviation",
    "relative_variation": "variation_relative_variation",
    "n": "variation_n",
}

OPTIONS: Final = options.spoken("statistic by shared")


def scores(
    archive: options.Archive,
    *,
    statistic: Annotated[
        Literal["median", "slower_median", "mean", "geometric", "min", "best"] | None,
        typer.Option(
            help=(
                "Choose the statistic of the runs of each benchmark. The score is its geometric "
                "mean. Default: median; for SPEC, as it publishes."
            )
        ),
    ] = None,
    by: options.By = None,
    shared: options.Shared = None,
    select: options.Select = None,
    nest: options.Nest,
    reading: options.Reading,
    files_are: options.FilesAre = None,
    sort: options.Sort = None,
    target: Target,
) -> None:
    """Show the score of each machine in each suite, its five-number summary, and its variation.

    The five numbers describe single passes through the suite: scores of one random run of every
    benchmark.

    Exit code 0: there is a score.
    Exit code 2: no score: a file cannot be read, or an option is wrong.

    Example: perfarray scores results/ --select "machine=AMD*" --sort effect
    """
    from perfarray.results.answers import select_rows
    from perfarray.results.rows import records

    choices, runs = nest | options.given(by=by), options.given(shared=options.names(shared))
    with answering(
        target, {"archive": archive}, "rows", "attrs", "notes", options=OPTIONS
    ) as sentences:
        times = read_one(archive, reading, files_are, sentences, select)
        published = published_median(str(times.attrs.get(FORMAT, "")))
        five = perfarray.five_number_summary(times, method="exact", **choices, **runs)
        result = perfarray.combine(
            {
                "score": perfarray.suite_score(times, statistic=statistic or published, **choices),
                "five": five,
                "variation": perfarray.relative_variation(
                    times,
                    statistic=MEDIAN if statistic in (None, SLOWER_MEDIAN) else statistic,
                    rng=options.SEED,
                    **choices,
                    **runs,
                ),
            }
        )
        # Scores of two suites have no common scale: each suite has its rows together.
        suites = next((dim for dim in (by, SUITE) if dim in result["score_estimate"].dims), None)
        table = select_rows(result, sort=sort, together=suites, columns=COLUMNS)
    cells = result[list(VARIABLES.values())].rename(
        {name: title for title, name in VARIABLES.items()}
    )
    rows = records(cells, table.places.dims, table.places.positions)
    rows = [row | {"n": int(row["n"])} for row in rows]
    code, outcome = _outcome(rows)
    answer = Answer(
        table=table,
        rows=rows,
        content={"archive": archive, "rows": rows, **described(result)},
        outcome=outcome,
        code=code,
        legend=[
            (
                "score: the geometric mean over benchmarks, of the "
                f"{(statistic or published).replace('_', ' ')} of the runs of each."
            ),
            (
                "minimum to maximum: of single passes, one run of every benchmark; relative "
                "variation: of the score, if all were repeated."
            ),
            *(f"{text}." for text in [table.attrs["about"]] if text),
        ],
        result=five,
    )
    give(answer, target, sentences, OPTIONS)


def _outcome(rows: list[Row]) -> tuple[int, str]:
    """Return how many scores there are, and the largest and smallest relative variation."""
    n_scores = sum(not math.isnan(row["score"]) for row in rows)
    if not n_scores:
        return NO_ANSWER, "no answer: no suite has a score"
    from perfarray.results.words import percent

    variations = [
        row["relative_variation"] for row in rows if not math.isnan(row["relative_variation"])
    ]
    between = (
        f"; relative variation {percent(min(variations))} to {percent(max(variations))}"
        if variations
        else ""
    )
    return NOTHING_SLOWER, f"{counted(n_scores, 'score')}{between}"
