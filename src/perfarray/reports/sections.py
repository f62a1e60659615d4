"""The sections of a report: each is a call of a public function, its answer as a table, a picture, and notes."""

import base64
import warnings
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, Final, NamedTuple

import xarray as xr

import perfarray
from perfarray.conventions import HISTORY, LEVELS, plural
from perfarray.results.rows import Table

HALF_WIDTH: Final = 0.01  # of the intervals of the next experiment
FEW: Final = 6  # labels of a dim that are described one by one
SEED: Final = {"rng": 1}  # the same timings give the same report
RULES: Final = ("perfarray", "pooled_t", "means_5_percent")  # the quick ones, which are calibrated on the timings
ENOUGH: Final = 10  # repetitions whose order has information
FEWEST: Final = 8  # commits in which a change can be detected
MOST: Final = 300  # rows of a table
LARGEST: Final = 150_000  # bytes of a picture as SVG; larger ones are PNG

UNDRAWN: Final = "Pictures are left out: matplotlib, which draws them, is not installed; install perfarray[plots]."
ONE_SIDED: Final = "nothing was measured on both sides."
FEW_OR_ALIKE: Final = "too little was measured, or nothing varies."


class Question(NamedTuple):
    """A call of a method of the accessor; the title asks, and `about` explains how to read the answer."""

    title: str
    about: str
    method: str
    choices: Mapping[str, Any]
    baseline: tuple[object, ...] = ()


class Section(NamedTuple):
    """A question and its answer: the call, its table, notes (or why there is no answer), a picture as data URI, and all numbers."""

    title: str
    about: str
    code: str = ""
    table: Table | None = None
    notes: tuple[str, ...] = ()
    picture: str | None = None
    result: xr.Dataset | None = None


class Content(NamedTuple):
    """The texts of a report, in whatever form."""

    title: str
    summary: tuple[str, ...]
    described: Mapping[str, str]
    sections: Sequence[Section]
    code: str


def content_of(
    times: xr.DataArray | xr.Dataset,
    baseline: object,
    *,
    nest: Mapping[str, Any],
    judged: Mapping[str, Any],
    priced: Mapping[str, Any],
    order: Mapping[str, Any],
    dim: str | None,
    pictures: bool,
) -> Content:
    """Ask all questions of timings; warnings of a method become notes of its section.

    Without a baseline nothing is compared. `nest`, `judged`, `priced` and `order` are the options of every method, of verdicts,
    of plans, and of histories, as far as they were given.
    """
    pair = () if baseline is None else (baseline,)
    compared = dict(nest) if dim is None else {**nest, "dim": dim}
    questions = list(_questions(times, pair, nest, compared, judged, priced, order))
    sections = [_section(times, question, pictures) for question in questions]
    judging = [section for question, section in zip(questions, sections, strict=True) if question.method in ("compare", "change_points")]
    verdicts = [_verdicts(section) for section in judging if section.result is not None]
    missing = [UNDRAWN] if pictures and find_spec("matplotlib") is None else []
    code = ["import perfarray", "", f"times = ...  # what this report is about{_reading(times, dim)}"]
    code += [f"print(perfarray.table({section.code}))" for section in sections]
    counts = next(section.result for question, section in zip(questions, sections, strict=True) if question.method == "counts")
    summary = (*verdicts, *_measured(times, counts), *missing)
    return Content("Timings report", summary, _described(times, dim), sections, "\n".join(code))


def _questions(
    times: xr.DataArray | xr.Dataset,
    pair: tuple[object, ...],
    nest: Mapping[str, Any],
    compared: Mapping[str, Any],
    judged: Mapping[str, Any],
    priced: Mapping[str, Any],
    order: Mapping[str, Any],
) -> Iterator[Question]:
    """Yield the questions in the order of the report: the outcome, then how it was measured and whether to trust it."""
    bound = {name: value for name, value in judged.items() if name == "threshold"}
    if pair:
        about = f"Against {pair[0]}; the larger change first. Intervals and verdicts count independent units, never single values."
        about += f" A change below {100 * judged['threshold']:.4g} % does not matter." if "threshold" in judged else ""
        about += f" Verdicts are corrected for their number ({judged['correction']})." if "correction" in judged else ""
        yield Question("What changed", about, "compare", {**compared, **judged}, pair)
    else:
        yield Question("How long it takes", "Means, and how sure they are by their independent units.", "mean_interval", nest)
    for dim in HISTORY:
        if times.sizes.get(dim, 0) >= FEWEST and dim not in nest.get("levels", ()):
            causes = f"with the set of {plural(dim)} that may have made it; what these differ by anyway is no change"
            about = f"Where a benchmark became slower or faster, {causes}."
            yield Question("Since when", about, "change_points", {**nest, **judged, **order, "dim": dim})
    yield Question("How much was measured", "Repetitions that answers rest on, of each level inside the one above.", "counts", nest)
    if pair:
        about = "The same question asked of every method of the papers: where they disagree, look at the runs."
        yield Question("Do the methods agree", about, "agreement", {**compared, **bound, **SEED}, pair)
    about = "More repetitions of a level average away what varies at it and below it, never what varies above."
    yield Question("Where the variation comes from", about, "variance_components", nest)
    yield Question("Are the values normal", "Shapiro and Wilk's test of the units: few of them, or long tails.", "normality", nest)
    about = "Clusters of runs, where a mean describes none of them."
    yield Question("Is there more than one mode", about, "variability_level", {**nest, **SEED})
    yield from _of_order(times, nest)
    about = "Halves of the same timings compared, where nothing differs: how often rules see a difference."
    yield Question("Can such answers be trusted", about, "calibrate", {**nest, **bound, **SEED, "rules": RULES, "n_splits": 40})
    about = f"The cheapest experiment whose intervals are ± {HALF_WIDTH:.0%}{' of the ratio' if pair else ''}."
    options = {**(compared if pair else nest), **priced, "half_width": HALF_WIDTH}
    yield Question("How many repetitions next time", about, "plan_repetitions", options, pair)


def _of_order(times: xr.DataArray | xr.Dataset, nest: Mapping[str, Any]) -> Iterator[Question]:
    """Yield the questions about the order of repetitions, as far as there are enough of them."""
    levels = nest.get("levels") or [dim for dim in LEVELS if dim in times.dims]
    levels = [levels] if isinstance(levels, str) else [*levels]
    if levels and times.sizes.get(levels[0], 0) >= ENOUGH:
        worth = "how alike neighbours are, and how many independent ones they are worth"
        about = f"{plural(levels[0]).capitalize()} in the order measured: {worth}."
        yield Question("Do they depend on those before them", about, "autocorrelation", {**nest, "dim": levels[0]})
    if len(set(levels)) > 1 and times.sizes.get(levels[-1], 0) >= ENOUGH:
        about = f"How many series of {plural(levels[-1])} are steady, and from where on."
        yield Question("Is there a warm-up left", about, "steady_state", {**nest, "dim": levels[-1]})


def _section(times: xr.DataArray | xr.Dataset, question: Question, pictures: bool) -> Section:
    """Make one call; where it has no answer, say why."""
    arguments = [*map(repr, question.baseline), *(f"{name}={value!r}" for name, value in question.choices.items())]
    section = Section(question.title, question.about, f"times.perf.{question.method}({', '.join(arguments)})")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", perfarray.PerfarrayWarning)
        try:
            result: xr.Dataset = getattr(times.perf, question.method)(*question.baseline, **question.choices)
        except ValueError as error:
            if question.method in ("compare", "mean_interval"):
                raise
            return section._replace(notes=(f"No answer: {error}",))
        table = perfarray.table(result, sort="effect" if question.method == "compare" else None)
        n_left_out = max(0, table.places.positions.size - MOST)
        remarks = (f"{n_left_out} more rows are left out of the table.",) if n_left_out else ()
        remarks = (_reason(question.method, result),) if table.empty else remarks
        is_drawable = pictures and remarks != (f"No answer: {FEW_OR_ALIKE}",) and not _alike(result)
        return section._replace(
            about=" ".join(filter(None, [question.about, _sentence(table.attrs["about"])])),
            table=table.first(MOST),
            notes=(*table.attrs["notes"], *remarks),
            picture=_picture(result) if is_drawable else None,
            result=result.compute(),
        )


def _alike(result: xr.Dataset) -> bool:
    """Return whether counts are the same in all cells, so that a picture of them shows nothing."""
    if result.attrs["result"] != "counts":
        return False
    totals = result["total"]
    return bool((totals == totals.isel({dim: 0 for dim in totals.dims if dim != "level"})).all())


def _reason(method: str, result: xr.Dataset) -> str:
    if method == "change_points" and (judged := int(result["pvalue_any"].notnull().sum())):
        return f"No change in {judged} series along the {plural(str(result.attrs['dim']))}: none is larger than chance makes it."
    return f"No answer: {ONE_SIDED if method in ('compare', 'agreement') else FEW_OR_ALIKE}"


def _picture(result: xr.Dataset) -> str | None:
    """Draw a result, where it has a picture, the picture has room for all labels, and matplotlib is installed."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="constrained_layout not applied")
        try:
            svg = result.perf.plot.svg().encode()
            media, content = ("svg+xml", svg) if len(svg) <= LARGEST else ("png", result.perf.plot.png())
        except (ValueError, ImportError, UserWarning):
            return None
    return f"data:image/{media};base64,{base64.b64encode(content).decode()}"


def _verdicts(section: Section) -> str:
    """Return how many verdicts there are of each kind, and the changes of suites."""
    table, result = section.table, section.result
    assert table is not None
    assert result is not None
    end = table.places.positions.size
    is_history = result.attrs["result"] == "change_points"
    if not end:
        return section.notes[-1] if is_history else _sentence(ONE_SIDED.removesuffix("."))
    counts = ", ".join(f"{number} {verdict}" for verdict, number in table["verdict"].iloc[:end].value_counts(sort=False).items())
    if is_history:
        assumed = any(note.code == "assumed_order" for note in perfarray.notes(result))
        counts = f"Changes along the {plural(str(result.attrs['dim']))}{', if the first is the oldest' if assumed else ''}: {counts}"
    labels = [" ".join(map(str, label)) if isinstance(label, tuple) else str(label) for label in table.index[end:]]
    suites = [f"{label} together {change}" for label, change in zip(labels, table["change"].iloc[end:], strict=True)]
    return "; ".join([counts, *suites]) + "."


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _measured(times: xr.DataArray | xr.Dataset, counts: xr.Dataset | None) -> list[str]:
    phrases = [", ".join(f"{size} {dim if size == 1 else plural(str(dim))}" for dim, size in times.sizes.items() if dim not in LEVELS)]
    attrs = times.attrs if counts is None else times.attrs | counts.attrs
    if counts is not None:
        most = counts["maximum"].max([dim for dim in counts["maximum"].dims if dim != "level"])
        numbers = zip(most["level"].values.tolist(), most.values.tolist(), strict=True)
        nest = [f"{number:.0f} {level if number == 1 else plural(level)}" for level, number in numbers]
        phrases.append(f"at most {' of '.join(reversed(nest))}" if nest else "")
    sentences = [f"{'; '.join(filter(None, phrases)) or 'one value'}."]
    if "format" in attrs:
        sentences.append(f"Read as {attrs['format']}, files: {attrs.get('n_files', 1)}.")
    for name, description in {
        "n_files_skipped": "Files skipped", "n_files_broken": "Broken files", "n_warmup": "Values of warm-up left out",
        "n_failed": "Values of failed runs left out", "n_copied": "Copied values left out", "n_censored": "Runs stopped at a limit",
    }.items():  # fmt: skip
        if attrs.get(name):
            sentences.append(f"{description}: {attrs[name]}.")
    return sentences


def _reading(times: xr.DataArray | xr.Dataset, dim: str | None) -> str:
    """Return how several inputs are read as labels of a dim."""
    if dim is None or dim not in times.coords or times.sizes[dim] > FEW:
        return ""
    return f"; of several places: perfarray.read_archive({ {str(label): '...' for label in times[dim].values.tolist()} }, dim={dim!r})"


def _described(times: xr.DataArray | xr.Dataset, dim: str | None) -> dict[str, str]:
    """Return the descriptors that all timings share (machine, versions, options), and those in which a few compared labels differ."""
    descriptors = {str(name): str(label.values[()]) for name, label in times.coords.items() if not label.dims}
    if dim is None or dim not in times.coords or times.sizes[dim] > FEW:
        return descriptors
    labels = times[dim].values.tolist()
    for name, values in times.coords.items():
        if values.dims == (dim,) and name != dim:
            descriptors[str(name)] = ", ".join(f"{label}: {value}" for label, value in zip(labels, values.values.tolist(), strict=True))
    return descriptors
