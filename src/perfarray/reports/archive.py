"""The report of an archive of machines: scores, likeness, variation and explanations."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import xarray as xr

import perfarray
from perfarray.conventions import (
    BETTER,
    ESTIMATED,
    FORMAT,
    LOWER,
    MACHINE,
    METRIC,
    SUITE,
    VALID,
    plural,
    published_median,
)
from perfarray.reports.sections import (
    SEED,
    Question,
    Section,
    SectionOptions,
    answered,
    picture_of,
    sentence,
)
from perfarray.results.rows import Table

SCORES: Final = "five_number_summary"
AXES: Final = "principal_components"
RATIOS: Final = "machine_ratios"
VARIATION: Final = "relative_variation"
EXPLAINED: Final = "explain_variation"
METHODS: Final = (SCORES, AXES, RATIOS, VARIATION, EXPLAINED)
# The variable that sorts the rows of a table
RANKED: Final = {SCORES: "score", RATIOS: "mean_ratio", VARIATION: "relative_variation"}

ROWS: Final = 10  # of a table that shows extremes
LEAST_ROWS: Final = 6  # of each of several suites
DRAWN_ROWS: Final = 16  # of a picture
FEWEST_MACHINES: Final = 3  # two machines lie on a line
SUITES_NAMED: Final = 8  # in the summary
RESULTS, INVALID = "results", "invalid"


def sections(
    times: xr.DataArray | xr.Dataset, options: SectionOptions, pictures: bool
) -> Iterator[Section]:
    """Yield the sections of the report in their order; those without an answer have no result.

    Without scores there are none.
    """
    nest = options.nest
    scores = _scores(times, nest)
    if scores.result is None:
        return
    medians = scores.result["score"]
    states = _states(times, medians.reset_coords(drop=True))
    notes = tuple(note.message for note in perfarray.notes(times))
    yield _read(states)._replace(notes=notes)
    if options.asks(SCORES):
        yield _ranked(scores, pictures)
    if options.asks(AXES) or options.asks(RATIOS):
        yield from _machines(times, medians.assign_attrs(scores.result.attrs), options, pictures)
    if options.asks(VARIATION):
        explanation = (
            "The standard deviation of a score over repeated experiments, relative to the score."
        )
        question = Question("Which machines vary most", explanation, VARIATION, nest)
        yield _ranked(answered(times, question, pictures=False), pictures, order="variation")
    if options.asks(EXPLAINED):
        yield from _explained(times, _largest_suite(medians), options, pictures)
    yield from _stated(states)


def _scores(times: xr.DataArray | xr.Dataset, nest: Mapping[str, Any]) -> Section:
    """Return the section of scores, as they are published, beside the five numbers."""
    statistic = published_median(str(times.attrs.get(FORMAT, "")))
    explanation = (
        "The score is the geometric mean over a suite's benchmarks, of the "
        f"{statistic.replace('_', ' ')} of the runs of each. "
        "The five numbers are those of the scores that single runs of the suite have."
    )
    section = answered(
        times, Question("Scores", explanation, SCORES, {**nest, "method": "exact"}), pictures=False
    )
    published = answered(
        times, Question("", "", "suite_score", {**nest, "statistic": statistic}), pictures=False
    )
    if (
        section.table is None
        or section.result is None
        or published.table is None
        or published.result is None
    ):
        return section._replace(result=None)
    section.table.insert(0, "score", published.table["estimate"].reindex(section.table.index))
    result = section.result.assign(score=published.result["estimate"].reset_coords(drop=True))
    code = f"perfarray.combine({{'score': {published.code}, 'runs': {section.code}}})"
    return section._replace(
        code=code, notes=tuple(dict.fromkeys((*section.notes, *published.notes))), result=result
    )


def _largest_suite(scores: xr.DataArray) -> str | None:
    """Return the suite with most results; None where all are of one."""
    return (
        scores.count([dim for dim in scores.dims if dim != SUITE]).idxmax(SUITE).item()
        if SUITE in scores.dims
        else None
    )


def _of_suite(times: Any, data: Any, suite: str, source: str) -> tuple[Any, str]:
    """Return a suite's part of some timings, and its code."""
    return data.where(
        times[SUITE] == suite, drop=True
    ), f"{source}.where(times['suite'] == {suite!r}, drop=True)"


def _states(times: xr.DataArray | xr.Dataset, scores: xr.DataArray) -> xr.Dataset:
    """Return which cells hold results, and which of these are invalid or estimated."""
    suites = scores[SUITE].values.tolist() if SUITE in scores.dims else [None]
    states = {RESULTS: scores.notnull()}
    for name, state, value in ((VALID, INVALID, 0), (ESTIMATED, ESTIMATED, 1)):
        if name in times.coords and times[name].dtype.kind in "biuf":
            cells = (times[name] == value).reset_coords(drop=True)
            members = [
                cells if suite is None else cells & (times[SUITE] == suite).reset_coords(drop=True)
                for suite in suites
            ]
            members = [
                member.any([dim for dim in member.dims if dim not in scores.dims])
                for member in members
            ]
            states[state] = states[RESULTS] & (
                xr.concat(members, scores[SUITE]) if SUITE in scores.dims else members[0]
            )
    return xr.Dataset(states).transpose(*scores.dims)


def _read(states: xr.Dataset) -> Section:
    """Return the section that counts the results of each suite."""
    measured = states[RESULTS]
    dims = [str(dim) for dim in measured.dims if dim != SUITE]
    counts = {RESULTS: measured.sum(dims)}
    counts |= {
        plural(dim): measured.any([*{*dims} - {dim}]).sum(dim)
        for dim in dims
        if measured.sizes[dim] > 1
    }
    counts |= {
        str(state): cells.sum(dims) for state, cells in states.data_vars.items() if state != RESULTS
    }
    result = xr.Dataset(counts).assign_attrs(result="read")
    explanation = "A result is a score of one machine with all that it was measured with."
    return Section("What was read", explanation, table=perfarray.table(result), result=result)


def _ranked(section: Section, pictures: bool, **drawing: Any) -> Section:
    """Return a section with a sorted table, of a long one the extremes, and a picture.

    Of variation the largest are shown, of scores the best and the worst, suite by suite.
    """
    table, result = section.table, section.result
    if table is None or result is None:
        return section
    kind = result.attrs["result"]
    values = (
        result[RANKED[kind]].transpose(*table.places.dims).values.ravel()[table.places.positions]
    )
    if np.isnan(values).all():
        return section._replace(table=None, result=None)
    is_ascending = kind != VARIATION and result.attrs.get(BETTER, LOWER) == LOWER
    order = np.argsort(values if is_ascending else -values, kind="stable")
    table, values = table.of_rows(order), values[order]
    suites = _rows_by_suite(table, result)
    largest = max(suites, key=lambda suite: suites[suite].size)
    picture_data = result.sel({SUITE: [largest]}) if SUITE in result.dims else result
    if kind == VARIATION:
        picture_data = picture_data.where(
            picture_data[kind] >= np.nanmin(values[suites[largest][:DRAWN_ROWS]])
        )
        rows, extremes = np.arange(values.size)[:ROWS], f"the {ROWS} largest"
    else:
        n_ends = max(LEAST_ROWS, ROWS // len(suites)) // 2
        extremes = (
            f"the {n_ends} best and the {n_ends} worst{' of each suite' if len(suites) > 1 else ''}"
        )
        table = table.of_rows(np.concatenate([*suites.values()]))
        ends = [
            rows if rows.size <= 2 * n_ends else rows[np.r_[:n_ends, -n_ends:0]]
            for rows in _rows_by_suite(table, result).values()
        ]
        rows = np.concatenate(ends)
    picture = picture_of(picture_data, max_rows=DRAWN_ROWS, **drawing) if pictures else None
    explanation = f"{section.explanation}{_rest(rows.size, table, extremes)}"
    explanation += (
        f" The picture is of {largest}, the suite with most results."
        if picture and len(suites) > 1
        else ""
    )
    return section._replace(
        explanation=explanation, table=table.of_rows(rows), whole=table, picture=picture
    )


def _rows_by_suite(table: Table, result: xr.Dataset) -> dict[str, Any]:
    """Return the positions of the rows of each suite, in the order of the suites."""
    places = table.places
    if SUITE not in places.dims:
        return {"": np.arange(places.positions.size)}
    suites = np.unravel_index(places.positions, [result.sizes[dim] for dim in places.dims])[
        places.dims.index(SUITE)
    ]
    return {
        str(suite): np.flatnonzero(suites == number)
        for number, suite in enumerate(result[SUITE].values.tolist())
    }


def _rest(n_shown: int, table: Table, extremes: str) -> str:
    """Return the sentence that says which rows are shown, and how to have all."""
    return (
        f" The table shows {n_shown} of {len(table)} rows, {extremes}. This report as JSON has all."
        if n_shown < len(table)
        else ""
    )


def _first_rows(section: Section, table: Table, extremes: str) -> Section:
    """Return a section with the first rows of a table."""
    head = table.of_rows(slice(ROWS))
    return section._replace(
        explanation=f"{section.explanation}{_rest(len(head), table, extremes)}",
        table=head,
        whole=table,
    )


def _machines(
    times: xr.DataArray | xr.Dataset, scores: xr.DataArray, options: SectionOptions, pictures: bool
) -> Iterator[Section]:
    """Yield the sections about machines, of the suite that most of them were measured with."""
    if MACHINE not in scores.dims:
        return
    other_dims = [dim for dim in scores.dims if dim != MACHINE]
    n_machines = scores.notnull().sum(MACHINE)
    cell_machines = n_machines.isel(n_machines.argmax(other_dims)) if other_dims else n_machines
    if int(cell_machines) < FEWEST_MACHINES:
        return
    array, source = (
        (times, "times")
        if isinstance(times, xr.DataArray)
        else (times[scores.attrs[METRIC]], f"times[{scores.attrs[METRIC]!r}]")
    )
    labels = {
        str(dim): cell_machines[dim].item()
        for dim in other_dims
        if dim != SUITE and scores.sizes[dim] > 1
    }
    names = [*labels.values()]
    if labels:
        array, source = (
            array.sel(labels),
            f"{source}.sel({', '.join(f'{dim}={label!r}' for dim, label in labels.items())})",
        )
    if SUITE in other_dims:
        suite = cell_machines[SUITE].item()
        (array, source), names = _of_suite(times, array, suite, source), [suite, *names]
    if int(cell_machines) < array.sizes[MACHINE]:
        array, source = array.dropna(MACHINE, how="all"), f"{source}.dropna('machine', how='all')"
    nest = {name: value for name, value in options.nest.items() if name != METRIC}
    condition = (
        f"Of {', '.join(map(str, names))}, with which most machines were measured. "
        if names
        else ""
    )
    if options.asks(AXES):
        explanation = (
            f"{condition}Machines that lie together are fast at the same benchmarks. Arrows that "
            "point together are benchmarks that are alike."
        )
        yield answered(
            array,
            Question(
                "Which machines are alike",
                explanation,
                AXES,
                {**nest, "n_components": 2},
                source=source,
            ),
            pictures,
        )
    if options.asks(RATIOS):
        explanation = (
            f"{condition}A machine's value in a benchmark, over that of the median machine."
        )
        question = Question(
            "Machines against the median machine", explanation, RATIOS, nest, source=source
        )
        yield _ranked(answered(array, question, pictures=False), pictures)


def _explained(
    times: xr.DataArray | xr.Dataset, suite: str | None, options: SectionOptions, pictures: bool
) -> Iterator[Section]:
    """Yield the sections about what explains scores of a suite and their variation.

    A model that predicts nothing is a sentence.
    """
    times, source = (times, "times") if suite is None else _of_suite(times, times, suite, "times")
    explanation = "" if suite is None else f"Of {suite}, the suite with most results."
    for response, title in (
        ("performance", "What explains the scores"),
        (VARIATION, "What explains the variation"),
    ):
        choices = {
            **{name: value for name, value in options.nest.items() if name == METRIC},
            "response": response,
            **SEED,
        }
        section = answered(
            times, Question(title, explanation, EXPLAINED, choices, source=source), pictures
        )
        table, result = section.table, section.result
        if table is None or result is None:
            yield section
            continue
        findings = table.attrs["findings"]
        if result.attrs["better_than_mean"]:
            section = _first_rows(section, table, "the strongest predictors")
        else:
            section = section._replace(
                explanation=" ".join(filter(None, [explanation, *findings])),
                table=None,
                whole=table,
                notes=(),
                picture=None,
            )
        # The summary names their suite.
        table.attrs["findings"] = (
            findings if suite is None else [f"{suite}: {finding}" for finding in findings]
        )
        yield section


def _stated(states: xr.Dataset) -> Iterator[Section]:
    """Yield the section that names invalid and estimated results, where there are any."""
    measured = states[RESULTS]
    n_results, counts = (
        int(measured.sum()),
        {state: int(states[state].sum()) for state in (INVALID, ESTIMATED) if state in states},
    )
    if not any(counts.values()):
        return
    cells_by_state = {INVALID: states[INVALID]} if counts.get(INVALID) else {}
    if counts.get(ESTIMATED):
        is_rare = counts[ESTIMATED] <= n_results / 2
        cells_by_state |= (
            {ESTIMATED: states[ESTIMATED]}
            if is_rare
            else {f"not {ESTIMATED}": measured & ~states[ESTIMATED]}
        )
    texts = np.full(measured.shape, "", dtype=object)
    for state, cells in cells_by_state.items():
        texts[cells.values] += np.where(texts[cells.values] == "", state, f", {state}").astype(
            object
        )
    result = measured.copy(data=texts).to_dataset(name="stated").assign_attrs(result="stated")
    clauses = [
        f"{number} of {n_results} results are {state}, as their files say"
        for state, number in counts.items()
        if number
    ]
    section = Section(
        "Invalid and estimated results",
        f"{'; '.join(clauses)}. Do not publish such scores as valid results.",
        result=result,
    )
    table = perfarray.table(result)
    yield section if table.empty else _first_rows(section, table, "the first")


def summary(sections: Sequence[Section]) -> list[str]:
    """Return scores of each suite, what varies most, and what explains the scores."""
    lines: list[str] = []
    for section in sections:
        table, result = section.whole, section.result
        if table is None or result is None:
            continue
        if result.attrs["result"] == SCORES:
            suites = [
                (suite, rows) for suite, rows in _rows_by_suite(table, result).items() if rows.size
            ][:SUITES_NAMED]
            for suite, rows in suites:
                first, last = (
                    f"{table['score'].iloc[row]}{_name(table, row, suite)}"
                    for row in (rows[0], rows[-1])
                )
                scores = (
                    f"score {first}"
                    if rows.size == 1
                    else f"{rows.size} results, scores from {last} to {first}"
                )
                lines.append(f"{suite}: {scores}." if suite else sentence(scores))
        elif result.attrs["result"] == VARIATION:
            lines.append(f"Most variation: {table.iloc[0]['relative variation']}{_name(table, 0)}.")
        lines += table.attrs["findings"]
    return lines


def _name(table: Table, row: int, suite: str = "") -> str:
    """Return the labels of a row in brackets, without its suite; "" where it has no others."""
    label = table.index[row]
    labels = label if isinstance(label, tuple) else () if table.index.name is None else (label,)
    text = ", ".join(str(name) for name in labels if str(name) != suite)
    return f" ({text})" if text else ""
