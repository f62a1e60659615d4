"""The sections of a report: calls of public functions, with tables, pictures and notes."""

import base64
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import xarray as xr

import perfarray
from perfarray.conventions import plural
from perfarray.results.rows import Table

SEED: Final = {"rng": 1}  # the same timings give the same report
LARGEST: Final = 150_000  # bytes of a picture as SVG; larger ones are PNG

ONE_SIDED: Final = "nothing was measured on both sides."
FEW_OR_ALIKE: Final = "too little was measured, or nothing varies."


class SectionOptions(NamedTuple):
    """What methods are given, as far as it was said: every method, verdicts, plans and histories.

    The dim of the baseline; sections.
    """

    nest: Mapping[str, Any] = {}
    judged: Mapping[str, Any] = {}
    priced: Mapping[str, Any] = {}
    order: Mapping[str, Any] = {}
    dim: str | None = None
    # A coordinate of the benchmarks whose values are the suites
    by: str | None = None
    # The methods whose sections are written; None for those that the kind of report chooses
    sections: tuple[str, ...] | None = None

    def asks(self, method: str) -> bool:
        """Return whether a section is written."""
        return self.sections is None or method in self.sections


class Question(NamedTuple):
    """A call of a method of the accessor.

    The title asks, and `explanation` says how to read the answer.
    """

    title: str
    explanation: str
    method: str
    choices: Mapping[str, Any]
    baseline: tuple[object, ...] = ()
    # The code of the timings that are asked
    source: str = "times"


class Section(NamedTuple):
    """A question and its answer: the call, its table, notes, a picture as data URI, all numbers."""

    title: str
    explanation: str
    code: str = ""
    table: Table | None = None
    notes: tuple[str, ...] = ()
    picture: str | None = None
    result: xr.Dataset | None = None
    # The table with all rows, for JSON; None where `table` has them
    whole: Table | None = None


class Content(NamedTuple):
    """The texts of a report, in whatever form."""

    title: str
    summary: tuple[str, ...]
    described: Mapping[str, str]
    sections: Sequence[Section]
    code: str


def answered(times: xr.DataArray | xr.Dataset, question: Question, pictures: bool) -> Section:
    """Make one call; where it has no answer, say why. Warnings of the method become notes."""
    arguments = [
        *map(repr, question.baseline),
        *(f"{name}={value!r}" for name, value in question.choices.items()),
    ]
    section = Section(
        question.title,
        question.explanation,
        f"{question.source}.perf.{question.method}({', '.join(arguments)})",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", perfarray.PerfarrayWarning)
        try:
            answer = getattr(times.perf, question.method)(*question.baseline, **question.choices)
        except ValueError as error:
            if question.method in ("compare", "mean_interval"):
                raise
            return section._replace(notes=(f"No answer: {error}",))
        result: xr.Dataset = answer if isinstance(answer, xr.Dataset) else answer.to_dataset()
        table = perfarray.table(result, sort="effect" if question.method == "compare" else None)
        remarks = (_reason(question.method, result),) if table.empty else ()
        is_drawable = pictures and remarks != (f"No answer: {FEW_OR_ALIKE}",) and not _alike(result)
        return section._replace(
            explanation=" ".join(
                filter(
                    None,
                    [
                        question.explanation,
                        *table.attrs["findings"],
                        sentence(table.attrs["about"]),
                    ],
                )
            ),
            table=table,
            notes=(*table.attrs["notes"], *remarks),
            picture=picture_of(result) if is_drawable else None,
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
        return (
            f"No change in {judged} series along the {plural(str(result.attrs['dim']))}: none "
            "is larger than chance makes it."
        )
    return f"No answer: {ONE_SIDED if method in ('compare', 'agreement') else FEW_OR_ALIKE}"


def picture_of(result: xr.Dataset, **drawing: Any) -> str | None:
    """Draw a result that has a picture with room for all labels, where matplotlib is installed."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="constrained_layout not applied")
        try:
            svg = result.perf.plot.svg(**drawing).encode()
            media, content = (
                ("svg+xml", svg)
                if len(svg) <= LARGEST
                else ("png", result.perf.plot.png(**drawing))
            )
        except (ValueError, ImportError, UserWarning):
            return None
    return f"data:image/{media};base64,{base64.b64encode(content).decode()}"


def sentence(text: str) -> str:
    """Return a clause as a sentence; `n` stays what the column is called."""
    return f"{text[0] if text.startswith('n ') else text[0].upper()}{text[1:]}." if text else ""
