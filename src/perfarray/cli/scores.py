"""`perfarray scores`: what suites score, in five numbers, and how much that varies."""

import math
from typing import Annotated, Final, Literal

import typer

import perfarray
from perfarray.cli import options
from perfarray.cli.forms import Answer, Row, Target, answering, described, give
from perfarray.cli.problems import NO_ANSWER, NOTHING_SLOWER, counted
from perfarray.cli.reading import read_one
from perfarray.conventions import FORMAT, SUITE, mean_title, published_median

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

PASSES: Final = (
    "minimum to maximum: of single passes, one run of every benchmark; relative variation: of the "
    "score, if all were repeated."
)

MEANS: Final = ("geometric", "harmonic", "arithmetic")  # of which passes and variation are known

OPTIONS: Final = options.spoken("statistic mean limit by shared")


def scores(
    archive: options.Archive,
    *,
    statistic: Annotated[
        Literal["median", "slower_median", "mean", "geometric", "min", "best"] | None,
        typer.Option(
            help=(
                "Choose the statistic of the runs of each benchmark, of which the score is the "
                "mean. Default: median; for SPEC, as it publishes."
            )
        ),
    ] = None,
    mean: Annotated[
        Literal["geometric", "harmonic", "arithmetic", "par2", "par10", "shifted_geometric"],
        typer.Option(
            help=(
                "Choose the mean over benchmarks. par2 (par10): a run that was stopped or failed "
                "counts as twice (ten times) its limit. Of these and shifted_geometric the score "
                "is shown alone."
            )
        ),
    ] = "geometric",
    limit: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="The time limit of all runs, for par2 and par10."),
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
        of_runs = statistic or published
        penalties = options.given(limit=limit)
        score = perfarray.suite_score(times, statistic=of_runs, mean=mean, **penalties, **choices)
        parts, five = {"score": score}, None
        if mean in MEANS:
            five = perfarray.five_number_summary(
                times, method="exact", mean=mean, **choices, **runs
            )
            parts["five"] = five
            parts["variation"] = perfarray.relative_variation(
                times,
                statistic=MEDIAN if of_runs == SLOWER_MEDIAN else of_runs,
                mean=mean,
                rng=options.SEED,
                **choices,
                **runs,
            )
        result = perfarray.combine(parts)
        # Scores of two suites have no common scale: each suite has its rows together.
        suites = next((dim for dim in (by, SUITE) if dim in result["score_estimate"].dims), None)
        columns = {title: of for title, of in COLUMNS.items() if of[0] in parts}
        table = select_rows(result, sort=sort, together=suites, columns=columns)
    variables = {name: title for title, name in VARIABLES.items() if name in result}
    cells = result[list(variables)].rename(variables)
    rows = records(cells, table.places.dims, table.places.positions)
    rows = [row | ({"n": int(row["n"])} if "n" in row else {}) for row in rows]
    code, outcome = _outcome(rows)
    answer = Answer(
        table=table,
        rows=rows,
        content={"archive": archive, "rows": rows, **described(result)},
        outcome=outcome,
        code=code,
        legend=[
            (
                f"score: the {mean_title(mean)} over benchmarks, of the "
                f"{of_runs.replace('_', ' ')} of the runs of each."
            ),
            *([PASSES] if five is not None else []),
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

    variations = [row.get("relative_variation", math.nan) for row in rows]
    variations = [variation for variation in variations if not math.isnan(variation)]
    between = (
        f"; relative variation {percent(min(variations))} to {percent(max(variations))}"
        if variations
        else ""
    )
    return NOTHING_SLOWER, f"{counted(n_scores, 'score')}{between}"
