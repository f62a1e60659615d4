"""`perfarray next`: which commit to measure next, to find the ones that made changes."""

from typing import TYPE_CHECKING, Annotated, Any

import perfarray
from perfarray.cli import options
from perfarray.cli.commits import changes_in_order, history_dim, in_words
from perfarray.cli.forms import Answer, Row, Target, answering, described, give
from perfarray.cli.options import percent
from perfarray.cli.problems import NO_ANSWER, NOTHING_SLOWER, counted
from perfarray.cli.reading import read_one
from perfarray.conventions import plural

if TYPE_CHECKING:
    import xarray as xr

CHANGE = "change"  # the dim of the commits at which changes were found

OPTIONS = options.spoken("threshold alpha correction order commits probability")


def next_(
    archive: options.Archive,
    *,
    dim: options.HistoryDim = None,
    order: options.Order = None,
    probability: Annotated[
        float | None, options.share("The probability at which the search ends: 95% (default).")
    ] = None,
    alpha: options.Alpha = None,
    threshold: options.Threshold = None,
    correction: options.Correction = None,
    nest: options.Nest,
    reading: options.Reading,
    select: options.Select = None,
    families: options.Families = None,
    sort: options.Sort = None,
    target: Target,
) -> None:
    """Say for each change in a history which commit to measure next, and how often.

    With --order FILE, the list of `git log --format=%H`, commits that were never measured are
    searched too. Measure the commit, add its results, and ask again.

    Exit code 0: there is a commit to measure, or no change is left to look into.
    Exit code 2: no answer: a file cannot be read, there are too few commits, or an option is wrong.

    Example: git log --format=%H | perfarray next nightly/ --order -
    """
    from perfarray.results.rows import records

    choices = options.given(alpha=alpha, threshold=threshold, correction=correction)
    search = options.given(probability=probability)
    with answering(
        target,
        {"archive": archive},
        "next",
        "attrs",
        "notes",
        own_words=("assumed_order", "no_value"),
        options=OPTIONS,
    ) as sentences:
        times = read_one(archive, reading, None, sentences, select, families)
        along = history_dim(times, dim)
        changes, commits = changes_in_order(
            archive, times, along, order, sentences, **nest, **choices
        )
        advice = _of_every_change(changes, along, commits, search)
        table = perfarray.table(advice, sort=sort)
    per_change = advice.drop_vars(["posterior", along])
    rows = records(per_change, table.places.dims, table.places.positions)
    for row in rows:
        row["runs"] = int(row["runs"]) if row["runs"] > 0 else 0
    code, outcome = _outcome(changes, rows, along)
    remarks = described(advice, without=("no_value",))
    answer = Answer(
        table=table,
        rows=rows,
        content={"archive": archive, "next": rows, **remarks},
        outcome=outcome,
        code=code,
        lines=_advice(rows, along, listed=commits is not None),
        legend=[*_legend(advice, along), in_words(changes, along)] if rows else (),
    )
    give(answer, target, sentences, OPTIONS)


def _of_every_change(
    changes: "xr.Dataset", dim: str, commits: list[Any] | None, search: dict[str, float]
) -> "xr.Dataset":
    """Return what `next_measurement` says of each change, along the commits that begin them."""
    import xarray as xr

    series = [name for name in changes["change"].dims if name != dim]
    is_change = changes["change"].any(series)
    starts = changes[dim].values[is_change.values]
    results = [
        perfarray.next_measurement(changes, commits=commits, change=label, **search)
        for label in starts.tolist()
    ]
    if not results:  # the same variables, without a row
        nothing = perfarray.next_measurement(changes, commits=commits, **search)
        return nothing.expand_dims({CHANGE: [""]})
    by_change = xr.concat(
        results, dim=xr.Variable(CHANGE, starts), coords="minimal", compat="override", join="exact"
    )
    return by_change.transpose(*series, CHANGE, ...)


def _outcome(changes: "xr.Dataset", rows: list[Row], dim: str) -> tuple[int, str]:
    n_series = int(changes["pvalue_any"].notnull().sum())
    if not n_series:
        return NO_ANSWER, f"no answer: too few {plural(dim)}, or nothing was measured"
    if not rows:
        return NOTHING_SLOWER, (
            f"nothing to look into: no change in {n_series} series of up to "
            f"{int(changes['n'].max())} {plural(dim)}"
        )
    open_changes = _open(rows)
    if not open_changes:
        return NOTHING_SLOWER, (
            f"nothing more to measure: {counted(len(rows), 'change')}, each made by one {dim}"
        )
    first, *others = dict.fromkeys(row["next"] for row in open_changes)
    runs = max(row["runs"] for row in open_changes if row["next"] == first)
    more = f", and {counted(len(others), dim)} more" if others else ""
    return NOTHING_SLOWER, (
        f"measure {first} next ({counted(runs, 'run')}){more}: {len(open_changes)} of "
        f"{counted(len(rows), 'change')} {'is' if len(open_changes) == 1 else 'are'} not "
        f"traced to one {dim} yet"
    )


def _open(rows: list[Row]) -> list[Row]:
    """Return the changes whose search goes on: those with runs to measure."""
    return [row for row in rows if row["runs"] > 0]


def _advice(rows: list[Row], dim: str, *, listed: bool) -> list[str]:
    """Write what to do."""
    lines = []
    if _open(rows):
        lines.append(f"Measure each {dim} so often, add the results to the archive, and ask again.")
    if rows and not listed:
        lines.append(
            f"Only {plural(dim)} in the archive are considered. --order FILE, the list of "
            "git log --format=%H, adds those that were never measured."
        )
    return lines


def _legend(advice: "xr.Dataset", dim: str) -> list[str]:
    share = percent(float(advice.attrs["probability"]))
    return [
        f"change: the {dim} from which on the values are others. measure next: the {dim} that "
        "halves the probability.",
        f"{share} set: the {plural(dim)} that made the change with this probability, before the "
        f"next measurement. The search ends when one {dim} has it alone.",
    ]
