"""`perfarray compare`: whether each benchmark is faster or slower.

The exit code says whether anything is slower.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import product, takewhile
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import perfarray
from perfarray.cli import options
from perfarray.cli.comparison import (
    Comparison,
    comparison,
    legend,
    row_dims,
    verdict_counts,
)
from perfarray.cli.forms import TABLE, Answer, Row, Target, answering, described, give
from perfarray.cli.problems import (
    NO_ANSWER,
    NOTHING_SLOWER,
    SOMETHING_SLOWER,
    WITHOUT_ANSWER,
    in_line,
    quoted,
)
from perfarray.cli.reading import (
    Sides,
    numbered_runs,
    paths_read,
    read_sessions,
    read_sides,
    with_metrics,
)
from perfarray.cli.remedies import remedies, with_variation
from perfarray.cli.reruns import PlanFile, check_file, undecided, write_plan
from perfarray.cli.several_files import SESSION_LABEL
from perfarray.cli.tails import with_percentiles
from perfarray.cli.thresholds import benchmarks_of, read_thresholds, with_given
from perfarray.conventions import (
    BENCHMARK,
    EXACT,
    METRIC,
    OF_MACHINES,
    SESSION,
    TUNING,
    plural,
    singular,
)
from perfarray.timings.processes import PROCESSES

if TYPE_CHECKING:
    import xarray as xr

    from perfarray.results.rows import Table
    from perfarray.timings.notes import Note

MOST = 30  # rows that are shown where none has an answer

MAX_ROWS = 60  # of benchmarks, beyond which the screen shows the largest changes
LARGEST_CHANGES = 20
LARGEST_ALONE = (
    f"The {LARGEST_CHANGES} largest of {{:,}} changes. --all, json and csv have every row."
)

MOST_NAMES = 10  # names that are shown of the benchmarks that one side alone has

MOST_SETTINGS = 6  # settings that the heading names

SETTINGS = ("different_machines", "settings_differ")  # codes of the notes on what sides differ in

SINGLE_UNIT = "single_unit"  # code of the notes on cells that show no spread
OWN_WORDS = (*WITHOUT_ANSWER, SINGLE_UNIT)

# Codes of the notes that propose pairs
PROPOSALS = ("dated_rounds", "undated_rounds", "measured_in_rounds")

OPTIONS = options.spoken(
    "threshold correction statistic value method prior shared paired by", controls="--control"
)


def compare(
    inputs: options.Places,
    *,
    selected: options.Selected,
    threshold: options.Thresholds = None,
    thresholds: options.ThresholdFile = None,
    confidence: options.Confidence = None,
    correction: options.Correction = None,
    statistic: Annotated[
        str,
        typer.Option(
            help=(
                "Compare the mean or the median. Or of each execution's iterations: min, max, "
                "or a percentile such as p99."
            )
        ),
    ] = "mean",
    value: Annotated[
        str | None,
        typer.Option(help="Take the median over repetitions of this level. Default: execution."),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            help=(
                "Choose the method of intervals and p-values. Default: fieller for means, "
                "order_statistics for medians. Others: studentized (bootstrap, always the same "
                "draws), rank (medians, if both sides have one shape), ..."
            )
        ),
    ] = None,
    nest: options.Nest,
    prior: Annotated[
        Literal["suite"] | None,
        typer.Option(
            help=(
                "Estimate variances from all benchmarks together. This gives more answers with "
                "3 to 5 runs of 8 benchmarks or more."
            )
        ),
    ] = None,
    between: Annotated[
        str | None,
        typer.Option(
            metavar="PLACE|SD,DF",
            help=(
                "Include the variation between sessions where each side is one session. Give a "
                "folder with several sessions of the same benchmarks. Or give their relative "
                "standard deviation and its degrees of freedom: 1%,5."
            ),
        ),
    ] = None,
    control: options.Controls = None,
    shared: options.Shared = None,
    paired: options.Paired = None,
    unpaired: Annotated[
        bool,
        typer.Option(
            "--unpaired",
            help=(
                "Make no pairs of files of one name; default with --files-are session: pairs, "
                "where their dates show rounds."
            ),
        ),
    ] = False,
    by: options.By = None,
    sort: options.Sort = None,
    same_machine: Annotated[
        bool,
        typer.Option(
            "--same-machine",
            help=(
                "Give no verdict (exit code 2) if the sides were measured on different machines."
            ),
        ),
    ] = False,
    plan: PlanFile = None,
    only_changes: Annotated[
        bool,
        typer.Option(
            "--only-changes", help=("Leave out benchmarks that are equivalent or inconclusive.")
        ),
    ] = False,
    show_all: Annotated[
        bool,
        typer.Option(
            "--all",
            help=(
                f"Print every row. Default: of more than {MAX_ROWS} rows, the {LARGEST_CHANGES} "
                "largest changes."
            ),
        ),
    ] = False,
    target: Target,
) -> None:
    """Say which benchmarks are faster or slower in NEW than in OLD, by how much, how surely.

    With one input, compare the labels of a dim inside it:
    perfarray compare results/ --dim machine --baseline laptop

    --explain says how to read the answer. `perfarray explain` finds hardware and software that
    explain performance.

    Exit code 0: nothing is slower.
    Exit code 1: a benchmark or the suite is slower.
    Exit code 2: no answer: a file cannot be read, no benchmark is on both sides, a single execution
    shows no spread, an option is wrong, or machines differ with --same-machine.

    Example: perfarray compare old.json new.json --threshold 2% --correction holm
    """
    from perfarray.results.answers import select_rows

    choices = options.given(
        threshold=options.thresholds(threshold),
        confidence_level=confidence,
        correction=correction,
        value=value,
        prior=prior,
        controls=control or None,
        shared=options.names(shared),
        paired=paired,
        by=by,
        method=method,
        rng=None if method is None else options.SEED,
    )
    inputs = inputs if selected.files_are in (None, "separate") else numbered_runs(inputs)
    paths, keys = paths_read(inputs), ("benchmarks", "suites", "attrs", "notes")
    with answering(target, paths, *keys, own_words=OWN_WORDS, options=OPTIONS) as sentences:
        check_file(plan, target, inputs)
        sides = read_sides(inputs, selected, sentences)
        times, choices["statistic"], sample = with_percentiles(sides.times, statistic)
        sides = sides._replace(times=times, heading=[*sides.heading, *sample])
        choices |= _from_files(sides, selected, thresholds, choices.get("threshold"), between)
        if METRIC not in nest:
            sides, metrics = with_metrics(sides)
            nest = nest | metrics
        result, rounds = _compared(sides, nest | choices, selected.families, unpaired=unpaired)
        verdicts = comparison(result)
        _check_both_sides(verdicts)
        if same_machine:
            _check_machines(sides.times, perfarray.notes(result), sentences)
        reruns = undecided(result, sides, nest) if plan else None
        ways_on = _ways_on(inputs, sides, verdicts, selected) if target.is_for_people else []
        sentences += _of_single_units(result, shorten=bool(ways_on))
    sort = sort or ("effect" if target.kind == "markdown" else None)
    limited = target.kind == TABLE and not show_all
    lines = [*_without_pair(inputs, verdicts, result), *write_plan(plan, reruns, sides, selected)]
    rows_of = partial(select_rows, result, only_changes=only_changes)
    table = rows_of(sort=sort, limit=MAX_ROWS if limited else None)
    code, outcome = _outcome(verdicts, verdict_counts(verdicts, table))
    explanation = legend(verdicts)
    if sort or only_changes:
        verdicts = verdicts.in_order_of(table.places.positions, only=only_changes)
    has_no_answer = code == NO_ANSWER and not show_all
    table, left_out = _of_screen(table, rows_of, sort, has_no_answer=has_no_answer)
    table = with_variation(table, result, sides, nest) if ways_on else table
    remarks = described(result, without=PROPOSALS if unpaired else ())
    content = paths | {"benchmarks": verdicts.rows, "suites": verdicts.suites, **remarks}
    answer = Answer(
        table=table,
        rows=verdicts.with_suites(),
        content=content,
        outcome=outcome,
        code=code,
        heading=[*sides.heading, *rounds, *_settings(perfarray.notes(result))],
        lines=[*left_out, *lines],
        legend=explanation,
        ways_on=ways_on,
    )
    give(answer, target, sentences, OPTIONS)


def _of_screen(
    table: "Table", rows_of: "Callable[..., Table]", sort: str | None, *, has_no_answer: bool
) -> "tuple[Table, list[str]]":
    """Return of many rows the first or the largest changes, and a line that says so."""
    n_rows = table.places.positions.size + table.places.n_left_out
    if has_no_answer and n_rows > MOST:
        line = f"and {n_rows - MOST} more benchmarks without an answer (see --output csv)"
        return table.of_rows(slice(MOST)), [line]
    if table.places.n_left_out:
        largest = rows_of(sort=sort or "effect", limit=LARGEST_CHANGES, largest=True)
        return largest, [LARGEST_ALONE.format(n_rows)]
    return table, []


def _ways_on(
    inputs: Sequence[str], sides: Sides, verdicts: Comparison, selected: options.Selection
) -> list[str]:
    """Return lines on what to measure where no row has more than one unit a side."""
    rows = (*verdicts.rows, *verdicts.suites)
    if verdicts.is_exact or any(row["n"] > 1 or not math.isnan(row["lower"]) for row in rows):
        return []
    return remedies(inputs, sides, verdicts.attrs, selected)


def _of_single_units(result: "xr.Dataset", *, shorten: bool) -> list[str]:
    """Return the notes on cells with one unit, without the remedy where lines have it."""
    return [
        in_line(note.message.partition(f". {PROCESSES}")[0] if shorten else note.message, OPTIONS)
        for note in perfarray.notes(result)
        if note.code == SINGLE_UNIT
    ]


def _compared(
    sides: Sides, arguments: dict[str, Any], families: str | None, *, unpaired: bool
) -> "tuple[xr.Dataset, list[str]]":
    """Compare both sides, in pairs where the files are rounds by their names and dates.

    A line for the heading says so.
    """
    from perfarray.timings.notes import collecting_notes, emit

    if unpaired and "paired" in arguments:
        raise ValueError("--paired and --unpaired contradict each other. Give one of them")
    compared = partial(perfarray.compare, sides.times, sides.baseline, dim=sides.dim, **arguments)
    if unpaired or SESSION_LABEL not in sides.times.coords or "paired" in arguments:
        return compared(), []
    with collecting_notes() as notes:
        result = compared()
    if not any(note.code == "dated_rounds" for note in notes):
        emit(*notes)
        return result, []
    files = "Files of one name are" if families is None else "Each file with all families is"
    line = f"{files} one round, by their dates: compared in pairs (else --unpaired)."
    return compared(paired=SESSION), [line]


def _from_files(
    sides: Sides,
    selected: options.Selection,
    thresholds: str | None,
    threshold: "float | dict[Any, float] | None",
    between: str | None,
) -> "dict[str, Any]":
    """Return the arguments that further files hold: thresholds, and what sessions vary by."""
    choices: dict[str, Any] = {}
    if thresholds is not None:
        labels = benchmarks_of(sides.times)
        choices["threshold"] = with_given(read_thresholds(thresholds), threshold, labels)
    if between is not None:
        choices["between"] = read_sessions(between, selected.reading)
    return choices


def _check_machines(times: "xr.Dataset", notes: "Sequence[Note]", sentences: list[str]) -> None:
    """Raise where the sides are of different machines; say where no machine is recorded."""
    if machines := _differing(notes, "different_machines"):
        raise ValueError(
            f"no verdict: the sides are of different machines ({machines}), and "
            "--same-machine was given"
        )
    if not any(name in times.coords for name in OF_MACHINES):
        sentences.append(
            "--same-machine: the files do not say on which machine they were measured, so "
            "that nothing was compared"
        )


def _check_both_sides(verdicts: Comparison) -> None:
    if not verdicts.named():
        if copies := [*verdicts.copies(same=True), *verdicts.copies(same=False)]:
            raise ValueError(
                "nothing was measured on both sides: one of them has copies of other results "
                f"alone ({quoted(copies, 3)})"
            )
        names = list(verdicts.named(new=False)), list(verdicts.named(old=False))
        old, new = (quoted(of_side, 3) or "nothing" for of_side in names)
        first, second = verdicts.labels
        metric = verdicts.attrs.get(METRIC, "one of the metrics")
        raise ValueError(
            f"no benchmark has {metric!r} on both sides: {first} has {old}; {second} has "
            f"{new}{_beginnings(*names)}"
        )


def _settings(notes: "Sequence[Note]") -> list[str]:
    """Name the recorded settings in which the sides differ, in a line."""
    settings = _differing(notes, *SETTINGS)
    return [f"The sides differ in {settings}."] if settings else []


def _differing(notes: "Sequence[Note]", *codes: str) -> str:
    """Write the recorded settings in which the sides differ, with both values."""
    values = [note.values for note in notes if note.code in codes]
    columns = [
        [text for of_note in values for text in of_note[key]]
        for key in ("settings", "baseline", "candidate")
    ]
    texts = [f"{name} {old} -> {new}" for name, old, new in zip(*columns, strict=True)]
    return "; ".join(
        [
            *texts[:MOST_SETTINGS],
            *([f"and {len(texts) - MOST_SETTINGS} more"] if len(texts) > MOST_SETTINGS else []),
        ]
    )


def _beginnings(old: list[str], new: list[str]) -> str:
    """Name the prefixes by which names of both sides differ, such as folders; "" otherwise."""
    for baseline, candidate in product(old[:1], new):
        folders = zip(reversed(baseline.split("/")), reversed(candidate.split("/")), strict=False)
        end = "/".join(
            reversed([folder for folder, _ in takewhile(lambda pair: pair[0] == pair[1], folders)])
        )
        if not end:
            continue
        beginnings = baseline.removesuffix(end), candidate.removesuffix(end)
        ends = [
            {name[len(head) :] for name in names if name.startswith(head)}
            for names, head in zip((old, new), beginnings, strict=True)
        ]
        if len(ends[0] & ends[1]) == min(len(old), len(new)):
            depths = [beginning.count("/") for beginning in beginnings]
            names = ["{root}", *(f"{{root_{depth}}}" for depth in range(2, depths[0] + 1))]
            return (
                f". Their names differ by their beginning: {beginnings[0]!r} and "
                f"{beginnings[1]!r}. Run both from folders of one name, or "
                + (
                    f"compare what follows: --families '{'/'.join(names)}/*'"
                    if depths[0] == depths[1]
                    else "replace one beginning by the other in its file"
                )
            )
    return ""


def _outcome(verdicts: Comparison, counts: str) -> tuple[int, str]:
    rows = list(verdicts.named().values())
    all_rows = (*rows, *verdicts.suites)
    if all(math.isnan(row["lower"]) and row.get("kind") != EXACT for row in all_rows):
        needed = (
            f"more {plural(verdicts.unit)}"
            if any(row["n"] > 1 for row in rows)
            else f"at least two {plural(verdicts.unit)}"
        )
        return NO_ANSWER, f"no answer: there are no intervals. Each side needs {needed}"
    if all(math.isnan(row["estimate"]) for row in all_rows):
        return NO_ANSWER, "no answer: nothing is known of any ratio, since runs were stopped"
    words = [
        row["verdict"]
        for row in (*rows, *(row for row in verdicts.suites if row["benchmarks"] > 1))
    ]
    return (SOMETHING_SLOWER if "slower" in words else NOTHING_SLOWER), counts


def _without_pair(inputs: Sequence[str], verdicts: Comparison, result: "xr.Dataset") -> list[str]:
    """Return lines on results that one side alone has: numbers of a large archive, else names."""
    has_many = len(inputs) == 1 and result.sizes[result.attrs["dim"]] > 1
    return _unmatched(verdicts) if has_many else _one_sided(verdicts, result)


def _unmatched(verdicts: Comparison) -> list[str]:
    """Return how many results of one archive have no other side."""
    dim = str(verdicts.attrs["dim"])

    def cells_of(rows: Iterable[Row]) -> set[tuple[object, ...]]:
        return {tuple(row[name] for name in row_dims(verdicts.rows) if name != dim) for row in rows}

    baseline, candidates = verdicts.named(new=False).values(), verdicts.named(old=False)
    lonely = cells_of(baseline) - cells_of(verdicts.named().values())
    numbers = {
        f"{len(lonely):,} of {verdicts.labels[0]}": lonely,
        f"{len(candidates):,} of another {singular(dim)}": candidates,
    }
    lines = []
    if texts := [text for text, of_side in numbers.items() if of_side]:
        without = ", ".join(texts)
        lines.append(f"Results without the other side: {without} (--output json names all).")
    if copies := len(verdicts.copies(same=True)) + len(verdicts.copies(same=False)):
        counted_in = "they count in the suite, and are not tested"
        lines.append(f"Copies of other results: {copies} ({counted_in}).")
    return lines


def _one_sided(verdicts: Comparison, result: "xr.Dataset") -> list[str]:
    """Name the benchmarks that were not measured on both sides, of many the first."""
    lines = []
    old, new = verdicts.labels
    tunings = verdicts.attrs["dim"] == TUNING and new != TUNING
    copies = f"{new} is its {old}" if tunings else f"copies of {old}"
    groups = {
        f"measured only in {old}": list(verdicts.named(new=False)),
        f"measured only in {new}": list(verdicts.named(old=False)),
        f"{copies} (counts in the suite, not tested)": verdicts.copies(same=True),
        "copies of other results (count in the suite, not tested)": verdicts.copies(same=False),
    }
    for text, names in groups.items():
        lines += (
            [f"{text}, {len(names)}:", *(f"    {name}" for name in names[:MOST_NAMES])]
            if names
            else []
        )
        lines += (
            [f"    and {len(names) - MOST_NAMES} more (--output json names all)"]
            if len(names) > MOST_NAMES
            else []
        )
    # A benchmark without one of several metrics has another one.
    neither = (
        max(0, result.sizes.get(BENCHMARK, 0) - len({row.get(BENCHMARK) for row in verdicts.rows}))
        if METRIC in verdicts.attrs
        else 0
    )
    return lines + ([f"no {verdicts.attrs[METRIC]} on either side: {neither}"] if neither else [])
