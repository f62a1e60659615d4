"""`perfarray history`: at which commits of an archive performance changed.

The exit code says whether a benchmark became slower.
"""

from typing import TYPE_CHECKING, Annotated, Any

import typer

import perfarray
from perfarray.cli import options
from perfarray.cli.commits import changes_in_order, commit_index, history_dim, in_words
from perfarray.cli.forms import Answer, Row, Target, answering, described, give
from perfarray.cli.options import percent
from perfarray.cli.problems import NO_ANSWER, NOTHING_SLOWER, SOMETHING_SLOWER, counted
from perfarray.cli.reading import read_one
from perfarray.conventions import BENCHMARK, HIGHER, plural

if TYPE_CHECKING:
    import xarray as xr

HOST, DRIFT = "host", "drift"  # causes other than a change of the code

SHOWN = (
    "estimate",
    "lower",
    "upper",
    "pvalue",
    "verdict",
    "earliest",
    "latest",
    "n_segment",
    "cause",
    "common",
)

OPTIONS = options.spoken("threshold alpha correction order")


def history(
    archive: options.Archive,
    *,
    dim: options.HistoryDim = None,
    order: options.Order = None,
    from_commit: Annotated[
        str | None,
        typer.Option(
            "--since",
            metavar="COMMIT",
            help="Report only changes from this commit on. All commits are analysed.",
        ),
    ] = None,
    online: Annotated[
        bool,
        typer.Option(
            "--online",
            help=(
                "Judge each commit by it and earlier ones only, as a job after each commit "
                "does. 1 false alarm in 1,000."
            ),
        ),
    ] = False,
    alpha: options.Alpha = None,
    threshold: options.Threshold = None,
    confidence: options.Confidence = None,
    correction: options.Correction = None,
    nest: options.Nest,
    reading: options.Reading,
    select: options.Select = None,
    families: options.Families = None,
    sort: options.Sort = None,
    target: Target,
) -> None:
    """Say at which commits a benchmark became slower or faster, by how much, and how sure that is.

    Exit code 0: no benchmark became slower (with --since: since that commit).
    Exit code 1: one did, at a commit or in a drift.
    Exit code 2: no answer: a file cannot be read, there are too few commits, or an option is wrong.

    Example: git log --format=%H | perfarray history results/ --order - --since v2.1
    """
    from perfarray.results.rows import records

    choices = options.given(
        alpha=alpha,
        threshold=threshold,
        confidence_level=confidence,
        correction=correction,
        online=True if online else None,
    )
    with answering(
        target,
        {"archive": archive},
        "changes",
        "attrs",
        "notes",
        own_words=("assumed_order",),
        options=OPTIONS,
    ) as sentences:
        times = read_one(archive, reading, None, sentences, select, families)
        along = history_dim(times, dim)
        changes, _ = changes_in_order(archive, times, along, order, sentences, **nest, **choices)
        start = 0 if from_commit is None else commit_index(changes, along, from_commit)
        recent = changes.isel({along: slice(start, None)})
        table = perfarray.table(recent, sort=sort)
    rows = records(recent[list(SHOWN)], table.places.dims, table.places.positions)
    code, outcome = _outcome(changes, rows, along)
    answer = Answer(
        table=table,
        rows=rows,
        content={"archive": archive, "changes": rows, **described(changes)},
        outcome=outcome
        if from_commit is None or code == NO_ANSWER
        else f"{outcome} since {recent[along].values[0]}",
        code=code,
        legend=_legend(recent, along),
        result=changes,
    )
    give(answer, target, sentences)


def _outcome(changes: "xr.Dataset", rows: list[Row], dim: str) -> tuple[int, str]:
    n_series = int(changes["pvalue_any"].notnull().sum())
    if not n_series:
        return NO_ANSWER, f"no answer: too few {plural(dim)}, or nothing was measured"
    judged = [row["verdict"] for row in rows if row["cause"] != HOST]
    n_drifts = [row["cause"] for row in rows].count(DRIFT)
    counts = counted(len(rows) - n_drifts, "change") + (
        f" and {counted(n_drifts, 'drift')}" if n_drifts else ""
    )
    text = f"{counts} in {n_series} series of up to {int(changes['n'].max())} {plural(dim)}"
    if rows:
        text += ": " + ", ".join(
            f"{judged.count(verdict)} {verdict}"
            for verdict in ("slower", "faster", "equivalent", "inconclusive")
        )
    if len(judged) < len(rows):
        text += f"; {len(rows) - len(judged)} with another host"
    return (SOMETHING_SLOWER if "slower" in judged else NOTHING_SLOWER), text


def _legend(changes: "xr.Dataset", dim: str) -> list[str]:
    attrs: dict[Any, Any] = dict(changes.attrs)
    commits, better = plural(dim), "more" if attrs["better"] == HIGHER else "less"
    chance = (
        f"{attrs['false_alarms']:g} per 1,000 {commits} of"
        if "alpha" not in attrs
        else f"alpha = {percent(attrs['alpha'])} for"
    )
    correction = {"bh": "Benjamini and Hochberg", "holm": "Holm"}.get(str(attrs.get("correction")))
    corrected = (
        f", corrected for the number of series ({correction})"
        if correction and BENCHMARK in changes.dims
        else ""
    )
    lines = [
        f"change: of the mean {attrs['metric']} after / before, of which {better} is faster, "
        f"with its {percent(attrs['confidence_level'])} interval. It was found at {chance} a "
        f"stable history{corrected}.",
        f"The {dim} named is the most likely. The range holds it at 95 %. The noise between "
        f"{commits} is estimated from the history.",
        in_words(changes, dim),
    ]
    if (changes["cause"] == DRIFT).any():
        lines.append(
            f"drifts by: along a line over the {commits} in the range. No {dim} of them made "
            "it alone."
        )
    if (changes["cause"] == HOST).any():
        lines.append(
            "cause: host where another host measured from there on: such a change is not judged."
        )
    if changes["common"].any():
        lines.append(f"common: yes where benchmarks changed together, by one {dim}.")
    if attrs["threshold"]:
        lines.append(f"equivalent: wholly within {percent(float(attrs['threshold']))}.")
    return lines
