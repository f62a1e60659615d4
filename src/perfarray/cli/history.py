"""`perfarray history`: what changed along the commits of an archive, when, by how much; the exit code says whether anything is slower."""

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

import perfarray
from perfarray.cli import options
from perfarray.cli.forms import Answer, Row, form, give, give_failure, noted
from perfarray.cli.options import percent
from perfarray.cli.ordering import history_dim, in_order, since
from perfarray.cli.problems import NO_ANSWER, NOTHING_SLOWER, SOMETHING_SLOWER, reporting
from perfarray.cli.reading import read_one
from perfarray.conventions import BENCHMARK, HIGHER, plural

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

CODE = "code"
"""The cause of a change that is not another host's."""

SAID = ("estimate", "lower", "upper", "pvalue", "verdict", "earliest", "latest", "cause", "common")
"""What a row says of a change."""

OPTIONS = options.SPOKEN | {name: f"--{name}" for name in ("threshold", "alpha", "correction")}


def history(
    archive: options.Archive,
    dim: Annotated[str | None, typer.Option(help="What the history is along; default: commit, date or build.")] = None,
    order: options.Order = None,
    from_commit: Annotated[
        str | None, typer.Option("--since", metavar="COMMIT", help="Show, and judge by, changes from this commit on; all are looked at.")
    ] = None,
    online: Annotated[
        bool, typer.Option("--online", help="Judge commits by those up to them alone, as a job after each does: 1 false alarm in 1,000.")
    ] = False,
    alpha: Annotated[
        float | None,
        typer.Option(parser=options.fraction, metavar="SHARE", help="The chance of any change in a stable history: 5% (default)."),
    ] = None,
    threshold: options.Threshold = None,
    confidence: options.Confidence = None,
    correction: options.Correction = None,
    levels: options.Levels = None,
    metric: options.Metric = None,
    format: options.Format = None,
    layout: options.Layout = None,
    dims: options.Dims = None,
    pattern: options.Pattern = None,
    encoding: options.Encoding = None,
    sort: options.Sort = None,
    output: options.Output = None,
    file: options.File = None,
    json: options.Json = False,
) -> None:
    """Say since when a benchmark is slower or faster: at which commits it changed, by how much, and how sure that is.

    Exit code 0: no benchmark became slower (since a commit: --since).
    Exit code 1: one did.
    Exit code 2: no answer; a file cannot be read, too few commits, a wrong option.

    Example: git log --format=%H | perfarray history results/ --order - --since v2.1
    """
    target = form(output, file, archive, json=json)
    reading = options.given(layout=layout, format=format, dims=dims, pattern=pattern, encoding=encoding)
    choices = options.given(
        alpha=alpha, threshold=threshold, confidence_level=confidence, correction=correction, levels=options.names(levels), metric=metric
    )
    choices |= {"online": True} if online else {}
    failing = partial(give_failure, {"archive": archive, "changes": [], "attrs": {}, "notes": []}, target)
    with reporting(failing, options=OPTIONS) as sentences:
        times = read_one(archive, reading)
        along = history_dim(times, dim)
        times = in_order(times, along, order, sentences)
        start = 0 if from_commit is None else since(times, along, from_commit)
        changes = perfarray.change_points(times, dim=along, **choices)
        recent = changes.isel({along: slice(start, None)})
    rows = _rows(recent, along)
    table, (attrs, notes) = _labelled(perfarray.table(recent, sort=sort), rows, recent), noted(changes)
    code, outcome = _outcome(changes, rows, along)
    outcome += "" if from_commit is None or code == NO_ANSWER else f" since {recent[along].values[0]}"
    content = {"archive": archive, "changes": rows, "attrs": attrs, "notes": notes}
    give(Answer(table=table, rows=rows, content=content, outcome=outcome, code=code, legend=_legend(recent, along)), target, sentences)


def _rows(changes: "xr.Dataset", dim: str) -> list[Row]:
    """Return a row for each change: its labels, the commit last."""
    from perfarray.timings.writing import rows_of

    dims = [*(str(name) for name in changes["change"].dims if name != dim), dim]
    rows = rows_of(changes[["change", *SAID]], dims)
    return [{name: value for name, value in row.items() if name != "change"} for row in rows if row["change"]]


def _labelled(table: "pd.DataFrame", rows: list[Row], changes: "xr.Dataset") -> "pd.DataFrame":
    """Put back the labels that all rows share, where there were others to be found: a table of one change says of which benchmark."""
    dims = [str(dim) for dim in changes["change"].dims if rows and changes.sizes[dim] > 1]
    plain = table.reset_index(drop=table.index.names == [None])
    absent = {dim: rows[0][dim] for dim in dims if dim not in plain}
    return plain.assign(**absent).set_index(dims) if absent else table


def _outcome(changes: "xr.Dataset", rows: list[Row], dim: str) -> tuple[int, str]:
    """Return the exit code and its reason."""
    n_series = int(changes["pvalue_any"].notnull().sum())
    if not n_series:
        return NO_ANSWER, f"no answer: too few {plural(dim)}, or nothing was measured"
    judged = [row["verdict"] for row in rows if row["cause"] == CODE]
    counts = ", ".join(f"{judged.count(verdict)} {verdict}" for verdict in ("slower", "faster", "equivalent", "inconclusive"))
    hosts = len(rows) - len(judged)
    words = f"{len(rows)} {'change' if len(rows) == 1 else 'changes'} in {n_series} series of up to {int(changes['n'].max())} {plural(dim)}"
    words += f": {counts}" if rows else ""
    words += f"; {hosts} with another host" if hosts else ""
    return (SOMETHING_SLOWER if "slower" in judged else NOTHING_SLOWER), words


def _legend(changes: "xr.Dataset", dim: str) -> list[str]:
    """Write what the columns mean and what changes rest on."""
    attrs: dict[Any, Any] = dict(changes.attrs)
    many, good = plural(dim), "more" if attrs["better"] == HIGHER else "less"
    threshold, name = float(attrs["threshold"]), {"bh": "Benjamini and Hochberg", "holm": "Holm"}.get(str(attrs.get("correction")))
    stable = (
        f"alpha = {percent(attrs['alpha'])} for a stable history"
        if "alpha" in attrs
        else f"{attrs['false_alarms']:g} per 1,000 {many} of a stable history"
    )
    over = f", corrected for the number of series ({name})" if name and BENCHMARK in changes.dims else ""
    return [
        f"change: of the mean {attrs['metric']} after / before, of which {good} is faster, with its {percent(attrs['confidence_level'])} "
        f"interval; found at {stable}{over}.",
        f"The {dim} named is the most likely; the range holds it at 95 %. What {many} differ by though nothing changed is taken from the "
        "history itself.",
        f"{many.capitalize()} from {changes[dim].values[0]} to {changes[dim].values[-1]}, the oldest first.",
        *(
            ["cause: host where another host measured from there on: such a change is not judged."]
            if (changes["cause"] == "host").any()
            else []
        ),
        *([f"common: yes where benchmarks changed together, by one {dim}."] if changes["common"].any() else []),
        *([f"equivalent: wholly within {percent(threshold)}."] if threshold else []),
    ]
