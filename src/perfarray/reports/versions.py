"""The report of versions: what changed, whether to trust it, what to run next."""

from collections.abc import Iterator
from typing import Final

import xarray as xr

import perfarray
from perfarray.conventions import HISTORY, LEVELS, METRIC, SECONDS, TIME, plural
from perfarray.reports.sections import ONE_SIDED, SEED, Question, Section, SectionOptions, sentence

HALF_WIDTH: Final = 0.01  # of the intervals of the next experiment
RULES: Final = (
    "perfarray",
    "pooled_t",
    "means_5_percent",
)  # the quick ones, which are calibrated on the timings
ENOUGH: Final = 10  # repetitions whose order has information
FEWEST: Final = 8  # commits in which a change can be detected


def questions(
    times: xr.DataArray | xr.Dataset, pair: tuple[object, ...], options: SectionOptions
) -> Iterator[Question]:
    """Yield the questions in the order of the report.

    `pair` holds the baseline, or nothing.
    """
    nest, judged = options.nest, options.judged
    comparison = dict(nest) if options.dim is None else {**nest, "dim": options.dim}
    if pair:
        explanation = (
            f"Against {pair[0]}; the larger change first. Intervals and verdicts count "
            "independent units, never single values."
        )
        explanation += (
            f" A change below {100 * judged['threshold']:.4g} % does not matter."
            if "threshold" in judged
            else ""
        )
        explanation += (
            f" Verdicts are corrected for their number ({judged['correction']})."
            if "correction" in judged
            else ""
        )
        yield Question("What changed", explanation, "compare", {**comparison, **judged}, pair)
    else:
        yield Question(
            "How long it takes",
            "Means, and how sure they are by their independent units.",
            "mean_interval",
            nest,
        )
    for dim in HISTORY:
        if times.sizes.get(dim, 0) >= FEWEST and dim not in nest.get("levels", ()):
            causes = (
                f"with the set of {plural(dim)} that may have made it; what these differ by "
                "anyway is no change"
            )
            explanation = f"Where a benchmark became slower or faster, {causes}."
            yield Question(
                "Since when",
                explanation,
                "change_points",
                {**nest, **judged, **options.order, "dim": dim},
            )
    yield from _of_trust(times, pair, options)


def _of_trust(
    times: xr.DataArray | xr.Dataset, pair: tuple[object, ...], options: SectionOptions
) -> Iterator[Question]:
    """Yield the questions how it was measured, whether to trust it, and what to run next."""
    nest = options.nest
    comparison = dict(nest) if options.dim is None else {**nest, "dim": options.dim}
    bound = {name: value for name, value in options.judged.items() if name == "threshold"}
    yield Question(
        "How much was measured",
        "Repetitions that answers rest on, of each level inside the one above.",
        "counts",
        nest,
    )
    if pair:
        explanation = (
            "The same question asked of every method of the papers: where they disagree, look "
            "at the runs."
        )
        yield Question(
            "Do the methods agree", explanation, "agreement", {**comparison, **bound, **SEED}, pair
        )
    explanation = (
        "More iterations reduce iteration noise only. Differences between processes and builds "
        "stay."
    )
    yield Question("Where the variation comes from", explanation, "variance_components", nest)
    yield Question(
        "Are the values normal",
        "Shapiro and Wilk's test of the units: few of them, or long tails.",
        "normality",
        nest,
    )
    explanation = "Clusters of runs, where a mean describes none of them."
    yield Question(
        "Is there more than one mode", explanation, "variability_level", {**nest, **SEED}
    )
    yield from _of_order(times, options)
    explanation = (
        "Halves of the same timings compared, where nothing differs: how often rules see a "
        "difference."
    )
    yield Question(
        "Can such answers be trusted",
        explanation,
        "calibrate",
        {**nest, **bound, **SEED, "rules": RULES, "n_splits": 40},
    )
    explanation = (
        "The cheapest experiment whose intervals are ± "
        f"{HALF_WIDTH:.0%}{' of the ratio' if pair else ''}."
    )
    planned = {**(comparison if pair else nest), **options.priced, "half_width": HALF_WIDTH}
    yield Question("How many repetitions next time", explanation, "plan_repetitions", planned, pair)


def _of_order(times: xr.DataArray | xr.Dataset, options: SectionOptions) -> Iterator[Question]:
    """Yield the questions about the order of repetitions, as far as there are enough of them."""
    nest = options.nest
    levels = nest.get("levels") or [dim for dim in LEVELS if dim in times.dims]
    levels = [levels] if isinstance(levels, str) else [*levels]
    if levels and times.sizes.get(levels[0], 0) >= ENOUGH:
        worth = "how alike neighbours are, and how many independent ones they are worth"
        explanation = f"{plural(levels[0]).capitalize()} in the order measured: {worth}."
        yield Question(
            "Do they depend on those before them",
            explanation,
            "autocorrelation",
            {**nest, "dim": levels[0]},
        )
    if len(set(levels)) > 1 and times.sizes.get(levels[-1], 0) >= ENOUGH:
        explanation = f"How many series of {plural(levels[-1])} are steady, and from where on."
        yield Question(
            "Is there a warm-up left", explanation, "steady_state", {**nest, "dim": levels[-1]}
        )


def titled(section: Section) -> Section:
    """Return the section of means with a title that names what is no time."""
    result = section.result
    if result is None or result.attrs["result"] != "mean_interval":
        return section
    metric, units = str(result.attrs.get(METRIC, TIME)), result["estimate"].attrs.get("units", "1")
    return (
        section
        if units == SECONDS or metric == TIME
        else section._replace(title=f"The mean {metric}")
    )


def verdicts(section: Section) -> list[str]:
    """Return how many verdicts there are of each kind, and the changes of suites.

    Nothing where the section has none.
    """
    table, result = section.table, section.result
    if (
        table is None
        or result is None
        or result.attrs["result"] not in ("compare", "change_points")
    ):
        return []
    end = table.places.positions.size
    is_history = result.attrs["result"] == "change_points"
    if not end:
        return [section.notes[-1] if is_history else sentence(ONE_SIDED.removesuffix("."))]
    counts = ", ".join(
        f"{number} {verdict}"
        for verdict, number in table["verdict"].iloc[:end].value_counts(sort=False).items()
    )
    if is_history:
        assumed = any(note.code == "assumed_order" for note in perfarray.notes(result))
        counts = (
            f"Changes along the {plural(str(result.attrs['dim']))}"
            f"{', if the first is the oldest' if assumed else ''}: {counts}"
        )
    labels = [
        " ".join(map(str, label)) if isinstance(label, tuple) else str(label)
        for label in table.index[end:]
    ]
    suites = [
        f"{label} together {change}"
        for label, change in zip(labels, table["change"].iloc[end:], strict=True)
    ]
    return ["; ".join([counts, *suites]) + "."]
