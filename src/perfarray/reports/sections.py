"""The sections of a report: each is a call of a public function, what it answered as a table, a picture, and notes."""

import warnings
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

import pandas as pd
import xarray as xr

import perfarray
from perfarray.conventions import HISTORY, LEVELS, plural


class Section(NamedTuple):
    """One question and its answer.

    Attributes
    ----------
    title, about : str
        The question, and how to read the answer.
    code : str
        The call that was made.
    table : DataFrame or None
        Texts for people.
    notes : tuple of str
        What there is to say beside the numbers; why there is no answer, if there is none.
    picture : str or None
        SVG.
    result : Dataset or None
        All numbers.
    """

    title: str
    about: str
    code: str = ""
    table: pd.DataFrame | None = None
    notes: tuple[str, ...] = ()
    picture: str | None = None
    result: xr.Dataset | None = None


class Content(NamedTuple):
    """What a report says, whatever its form."""

    title: str
    summary: tuple[str, ...]
    described: Mapping[str, str]
    sections: Sequence[Section]
    code: str


class Question(NamedTuple):
    """A call of a method of the accessor, and what it is good for."""

    title: str
    about: str
    method: str
    choices: Mapping[str, Any]
    sort: str | None = None

    def call(self, baseline: tuple[object, ...]) -> str:
        """Return the call as code."""
        arguments = [repr(label) for label in baseline] + [f"{name}={value!r}" for name, value in self.choices.items()]
        return f"times.perf.{self.method}({', '.join(arguments)})"


HALF_WIDTH = 0.01
"""What the next experiment should reach: intervals of +- 1 %."""

FEW = 6
"""Labels of a dim that are described one by one."""

SEED = {"rng": 1}
"""The same timings give the same report."""

SEEN_RULES = ("perfarray", "pooled_t", "means_5_percent")
"""Rules that are tried on the timings: quick ones."""

UNDRAWN = "Pictures are left out: matplotlib, which draws them, is not installed; install perfarray[plots]."

ONE_SIDED = "nothing was measured on both sides."
FEW_OR_ALIKE = "too little was measured, or nothing varies."

VERDICTS = ("compare", "change_points")
"""The results whose verdicts the summary counts."""

ENOUGH = 10
"""Repetitions whose order says something."""

FEWEST = 8
"""Commits of a history: of fewer, no change can be told."""

MOST = 300
"""Rows of a table."""


def gathered(
    times: xr.DataArray | xr.Dataset,
    baseline: object,
    *,
    nest: Mapping[str, Any],
    judged: Mapping[str, Any],
    priced: Mapping[str, Any],
    dim: str | None,
    pictures: bool,
) -> Content:
    """Ask every question; what a method warns of is a note of its section.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings.
    baseline : label or None
        None compares nothing.
    given, judged, priced : mapping
        The choices of every method, those of verdicts, and those of plans, as far as they were given.
    dim : str or None
        Where the baseline lies.
    drawn : bool
        Whether there are pictures.

    Returns
    -------
    Content
    """
    nest = dict(nest)
    compared = nest if dim is None else nest | {"dim": dim}
    bound = {name: value for name, value in judged.items() if name == "threshold"}
    pair = () if baseline is None else (baseline,)
    questions = [Question("How much was measured", "Repetitions that answers rest on, of each level inside the one above.", "counts", nest)]
    if pair:
        about = f"Against {baseline}; the larger change first. Intervals and verdicts count independent units, never single values."
        about += f" A change below {100 * judged['threshold']:.4g} % does not matter." if "threshold" in judged else ""
        about += f" Verdicts are corrected for their number ({judged['correction']})." if "correction" in judged else ""
        questions.append(Question("What changed", about, "compare", compared | dict(judged), "effect"))
        about = "The same question asked of every method of the papers: where they disagree, look at the runs."
        questions.append(Question("Do the methods agree", about, "agreement", compared | bound | SEED))
    else:
        questions.append(Question("How long it takes", "Means, and how sure they are by their independent units.", "mean_interval", nest))
    questions += [
        Question(
            "Where the variation comes from",
            "More repetitions of a level average away what varies at it and below it, never what varies above.",
            "variance_components",
            nest,
        ),
        Question("Are the values normal", "Shapiro and Wilk's test of the units: few of them, or long tails.", "normality", nest),
        Question("Is there more than one mode", "Clusters of runs, where a mean describes none of them.", "variability_level", nest | SEED),
        *_in_order(times, nest),
        *_since_when(times, nest | {name: value for name, value in judged.items() if name in ("threshold", "correction")}),
        Question(
            "Can such answers be trusted",
            "Halves of the same timings compared, where nothing differs: how often rules see a difference.",
            "calibrate",
            nest | bound | SEED | {"rules": SEEN_RULES, "n_splits": 40},
        ),
        Question(
            "How many repetitions next time",
            f"The cheapest experiment whose intervals are ± {HALF_WIDTH:.0%}{' of the ratio' if pair else ''}.",
            "plan_repetitions",
            (compared if pair else nest) | dict(priced) | {"half_width": HALF_WIDTH},
        ),
    ]
    with_baseline = ("compare", "agreement", "plan_repetitions")
    sections = [_answered(times, question, pair if question.method in with_baseline else (), pictures) for question in questions]
    verdicts = [
        _changed(question) for question in sections if question.result is not None and question.result.attrs.get("result") in VERDICTS
    ]
    missing = [UNDRAWN] if pictures and find_spec("matplotlib") is None else []
    code = ["import perfarray", "", f"times = ...  # what this report is about{_reading(times, dim)}"]
    code += [f"print(perfarray.table({question.code}))" for question in sections if question.code]
    return Content(
        "Timings report", (*_counts(times, sections[0].result), *verdicts, *missing), _described(times, dim), sections, "\n".join(code)
    )


def _in_order(times: xr.DataArray | xr.Dataset, nest_options: Mapping[str, Any]) -> list[Question]:
    """Return what is asked of the order of repetitions, as far as there are enough of them."""
    nest = nest_options.get("levels") or [dim for dim in LEVELS if dim in times.dims]
    outer, inner = (nest if isinstance(nest, str) else nest[index] for index in (0, -1)) if nest else ("", "")
    questions = []
    if times.sizes.get(outer, 0) >= ENOUGH:
        about = (
            f"{plural(outer).capitalize()} in the order measured: how alike neighbours are, and how many independent ones they are worth."
        )
        questions.append(Question("Do they depend on those before them", about, "autocorrelation", {**nest_options, "dim": outer}))
    if inner != outer and times.sizes.get(inner, 0) >= ENOUGH:
        about = f"How many series of {plural(inner)} are steady, and from where on."
        questions.append(Question("Is there a warm-up left", about, "steady_state", {**nest_options, "dim": inner}))
    return questions


def _since_when(times: xr.DataArray | xr.Dataset, nest_options: Mapping[str, Any]) -> list[Question]:
    """Return what is asked of a history, where there is one that is long enough."""
    along = [dim for dim in HISTORY if times.sizes.get(dim, 0) >= FEWEST and dim not in nest_options.get("levels", ())]
    about = "Where a benchmark became slower or faster, with the set of {} that may have made it; what these differ by anyway is no change."
    return [Question("Since when", about.format(plural(dim)), "change_points", {**nest_options, "dim": dim}) for dim in along]


def _answered(times: xr.DataArray | xr.Dataset, question: Question, pair: tuple[object, ...], pictures: bool) -> Section:
    """Make one call; where it cannot answer, say why."""
    call = question.call(pair)
    empty = Section(question.title, question.about, call)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", perfarray.PerfarrayWarning)
        try:
            answer = getattr(times.perf, question.method)(*pair, **question.choices)
        except ValueError as error:
            if question.method in ("compare", "mean_interval"):
                raise
            return empty._replace(notes=(f"No answer: {error}",))
        result: xr.Dataset = answer.to_dataset() if hasattr(answer, "to_dataset") else answer
        table, remarks = _shown(perfarray.table(result, sort=question.sort))
        if table.empty:
            remarks = (_reason(question.method, result),)
        return empty._replace(
            about=" ".join(filter(None, [question.about, _sentence(table.attrs["about"])])),
            table=table,
            notes=(*table.attrs["notes"], *remarks),
            picture=_picture(result) if pictures and remarks != (f"No answer: {FEW_OR_ALIKE}",) else None,
            result=result.compute(),
        )


def _reason(method: str, result: xr.Dataset) -> str:
    """Return why a table has no rows."""
    if method == "change_points" and (judged := int(result["pvalue_any"].notnull().sum())):
        return f"No change in {judged} series along the {plural(str(result.attrs['dim']))}: none is larger than chance makes it."
    return f"No answer: {ONE_SIDED if method in ('compare', 'agreement') else FEW_OR_ALIKE}"


def _changed(section: Section) -> str:
    """Return how many verdicts there are of each kind, and what became of suites; of a history, since when."""
    table, result = section.table, section.result
    assert table is not None
    assert result is not None
    suites = int(table.attrs["suites"])
    cells, suite_rows = table.iloc[: len(table) - suites], table.iloc[len(table) - suites :]
    history = result.attrs["result"] == "change_points"
    if cells.empty:
        return section.notes[-1] if history else _sentence(ONE_SIDED.removesuffix("."))
    counts = ", ".join(f"{number} {verdict}" for verdict, number in cells["verdict"].value_counts(sort=False).items())
    counts = f"Changes along the {plural(str(result.attrs['dim']))}: {counts}" if history else counts
    named = [" ".join(map(str, label)) if isinstance(label, tuple) else str(label) for label in suite_rows.index]
    return "; ".join([counts, *(f"{label} together {change}" for label, change in zip(named, suite_rows["change"], strict=True))]) + "."


def _shown(table: pd.DataFrame) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Leave out rows that nobody reads, and say how many."""
    suites, rows = int(table.attrs["suites"]), len(table)
    if rows <= MOST:
        return table, ()
    shortened = pd.concat([table.iloc[: MOST - suites], table.iloc[rows - suites :]])
    shortened.attrs = table.attrs
    return shortened, (f"{rows - len(shortened)} more rows are left out of the table.",)


def _picture(result: xr.Dataset) -> str | None:
    """Draw a result, where there is a picture of it that has room for all it shows, and what draws it is installed."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="constrained_layout not applied")
        try:
            return str(result.perf.plot.svg())
        except (ValueError, ImportError, UserWarning):
            return None


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _counts(times: xr.DataArray | xr.Dataset, counted: xr.Dataset | None) -> tuple[str, ...]:
    """Return what was measured, in sentences."""
    lines = [", ".join(f"{size} {dim if size == 1 else plural(str(dim))}" for dim, size in times.sizes.items() if dim not in LEVELS)]
    attrs = times.attrs | ({} if counted is None else counted.attrs)
    if counted is not None:
        most = counted["maximum"].max([dim for dim in counted["maximum"].dims if dim != "level"])
        inside = zip(most["level"].values.tolist(), most.values.tolist(), strict=True)
        nest = [f"{number:.0f} {level if number == 1 else plural(level)}" for level, number in inside]
        lines.append(f"at most {' of '.join(reversed(nest))}" if nest else "")
    lines = [f"{'; '.join(filter(None, lines)) or 'one value'}."]
    if "format" in attrs:
        lines.append(f"Read as {attrs['format']}, files: {attrs.get('n_files', 1)}.")
    for name, description in {
        "n_files_skipped": "files skipped", "n_files_broken": "broken files", "n_warmup": "values of warm-up left out",
        "n_failed": "values of failed runs left out", "n_copied": "copied values left out", "n_censored": "runs stopped at a limit",
    }.items():  # fmt: skip
        if attrs.get(name):
            lines.append(f"{description[0].upper()}{description[1:]}: {attrs[name]}.")
    return tuple(lines)


def _reading(times: xr.DataArray | xr.Dataset, dim: str | None) -> str:
    """Return how several places are read as labels of a dim."""
    if dim is None or dim not in times.coords or times.sizes[dim] > FEW:
        return ""
    return f"; of several places: perfarray.read_archive({ {str(label): '...' for label in times[dim].values.tolist()} }, dim={dim!r})"


def _described(times: xr.DataArray | xr.Dataset, dim: str | None) -> dict[str, str]:
    """Return what all timings share, machine, versions, options; and in what the labels that are compared differ, if they are few."""
    shared = {str(name): str(label.values[()]) for name, label in times.coords.items() if not label.dims}
    if dim is None or dim not in times.coords or times.sizes[dim] > FEW:
        return shared
    labels = list(map(str, times[dim].values.tolist()))
    differing = {str(name): label.values.tolist() for name, label in times.coords.items() if label.dims == (dim,) and name != dim}
    return shared | {
        name: ", ".join(f"{label}: {value}" for label, value in zip(labels, values_of_labels, strict=True))
        for name, values_of_labels in differing.items()
    }
