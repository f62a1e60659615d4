"""What is declared of a public function and of its results."""

from collections.abc import Callable
from typing import Final, NamedTuple

import xarray as xr

from perfarray.results import diagnoses, layouts, sentences
from perfarray.results.layouts import PLAIN, Layout

# The questions of users, in the order in which pages and `times.perf` list them
DATA: Final = "how are timings read, cleaned and joined?"
VARIATION: Final = "where does the variation come from?"
REPETITIONS: Final = "how many repetitions?"
FASTER: Final = "is it faster, by how much, how sure?"
SUITE: Final = "how did the suite do?"
SPEEDUP_TEST: Final = "what does the Speedup-Test say?"
MODES: Final = "are there several modes?"
NUMBER: Final = "which single number?"
MACHINES: Final = "which machines behave alike, and why?"
HISTORY: Final = "since when?"
TRUST: Final = "can the answer be trusted?"
PEOPLE: Final = "how is it shown and sent?"

# Tables that several kinds share
CHANGES: Final = Layout(layouts.changes_columns, ratio=True)
INTERVALS: Final = Layout(layouts.intervals_columns)
RATES: Final = Layout(diagnoses.rates_columns, zero=True)
TESTS: Final = Layout(layouts.tests_columns, "statistic")


class Kind(NamedTuple):
    """One function of the package: the question it answers, and how its answer is shown."""

    # What a user asks; "" for what only pictures draw
    question: str = ""
    # The variables and dims that its answers have, which no dim or coordinate of the data may be
    # called
    names: str = ""
    # Arguments of a call that is tested on timings of two versions, `old` and `new`; None: there is
    # none
    example: str | None = None
    layout: Layout = PLAIN
    # The function of `perfarray.plots` that draws it; "" for a kind without a picture
    picture: str = ""
    # The function, as topic.curves.name, that computes what the picture draws, where the result
    # does not hold it
    curves: str = ""
    # Writes what the limits are, where this is more than the confidence level
    precision: Callable[[xr.Dataset], list[str]] | None = None
    # Writes what was found, in sentences for a report, which stand below the table
    findings: Callable[[xr.Dataset], list[str]] = sentences.no_remarks
    # Writes further remarks below the table
    remarks: Callable[[xr.Dataset], list[str]] = sentences.no_remarks
    # Writes the sentence of a table without rows
    empty: Callable[[xr.Dataset], str] | None = None
