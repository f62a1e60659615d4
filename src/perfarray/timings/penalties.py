"""Runs without an answer: stopped at a limit, or failed. They count as a multiple of the limit."""

import numpy as np
import xarray as xr

from perfarray.conventions import (
    BETTER,
    CENSORED,
    CENSORED_AT,
    FAILED,
    HIGHER,
    MARKS,
    TIME,
    seconds_factor,
)
from perfarray.timings.apply import is_chunked
from perfarray.timings.censored import with_limits, without_limit
from perfarray.timings.marks import as_mark
from perfarray.timings.notes import Note
from perfarray.timings.resolve import Data, Timings, choose_metric
from perfarray.timings.validation import number_of
from perfarray.timings.values import check_limits

# The factor of a run that never ends
NEVER = np.inf

# The coordinate in which BenchExec says what an answer was, and its word for one that is not right
CATEGORY, WRONG = "category", "wrong"

# The value of the attr `censored` of answers in which such runs count as a multiple of their limit
PENALISED = "penalised"


def check_times(times: Data, metric: str | None, subject: str) -> None:
    """Raise unless a metric is a time, of which less is better."""
    array = choose_metric(times, metric)
    units = str(array.attrs.get("units", ""))
    if array.attrs.get(BETTER) == HIGHER or (
        units not in ("", "1") and seconds_factor(units) is None
    ):
        raise ValueError(
            f"{subject} is of times, and {array.name or 'the data'} is in {units or '1'!r}. "
            "Choose a time with metric=, or leave this choice out."
        )


def unsolved_as_stopped(
    times: Data,
    metric: str | None = None,
    *,
    limit: float | None = None,
    placeholder: float = np.nan,
) -> Data:
    """Return timings in which failed runs, and wrong answers, count as stopped.

    Parameters
    ----------
    times, metric
        As every public method takes them.
    limit : float, optional
        The limit of all runs, in the units of the values: that of every run that was stopped or
        failed, and runs above it were stopped. Default: the `censored_at` of each, or of a stopped
        run its value.
    placeholder : float
        What stands for the limit of a run that has none, where limits do not matter.
    """
    array = choose_metric(times, metric)
    marks = {
        mark: as_mark(array.coords[mark]).drop_vars((*MARKS, CENSORED_AT), errors="ignore")
        for mark in (CENSORED, FAILED)
        if mark in array.coords
    }
    if CATEGORY in array.coords:
        wrong = (array.coords[CATEGORY] == WRONG).drop_vars((*MARKS, CENSORED_AT), errors="ignore")
        if wrong.any():
            marks[FAILED] = marks[FAILED] | wrong if FAILED in marks else wrong
    if not marks and limit is None:
        return times
    unsolved = xr.zeros_like(array, dtype=bool).drop_vars((*MARKS, CENSORED_AT), errors="ignore")
    for mark in marks.values():
        unsolved = (unsolved | mark).transpose(*array.dims)
    # What a failed run took until it failed is not its limit.
    bounds = array.where(~marks[FAILED]).assign_attrs(array.attrs) if FAILED in marks else array
    if limit is not None:
        unsolved = unsolved | (bounds > limit).drop_vars((*MARKS, CENSORED_AT), errors="ignore")
        bounds = bounds.where(~unsolved, limit).drop_vars(CENSORED_AT, errors="ignore")
    elif CENSORED_AT in bounds.coords:
        check_limits(bounds.coords[CENSORED_AT].reset_coords(drop=True), unsolved, array.name)
    stopped = with_limits(bounds.drop_vars(FAILED, errors="ignore"), unsolved)
    stopped = stopped.where(stopped.notnull() | ~unsolved, placeholder).assign_attrs(array.attrs)
    if isinstance(times, xr.DataArray):
        return stopped
    others = times.drop_vars((CENSORED, FAILED, CENSORED_AT), errors="ignore")
    return others.assign({array.name or TIME: stopped})


def penalised(data: Timings, factor: float) -> Timings:
    """Return timings whose stopped runs count as `factor` times their limit.

    Of lazy data a run without a limit is infinite.
    """
    if not data.bounded:
        return data
    number = without_limit(data.array) if factor != NEVER else 0
    if number:
        raise ValueError(
            f"{number_of(number, 'run')} that did not end {'has' if number == 1 else 'have'} no "
            f"limit, and should count as {factor:g} times it. Give limit=, or the limits as "
            "'censored_at'."
        )
    array, mark = data.array, data.array.coords[CENSORED].reset_coords(drop=True)
    values = (array * factor).fillna(NEVER)
    penalties = array.where(~mark, values).transpose(*array.dims).assign_attrs(array.attrs)
    return data._replace(array=penalties.drop_vars(CENSORED), bounded=False)


def penalties_note(runs: int, factor: float, *, lazy: bool) -> Note | None:
    """Return the note on the runs that count as a multiple of their limit."""
    if not runs and not lazy:
        return None
    subject = number_of(runs, "run") if not lazy else "Runs"
    verb = "counts" if runs == 1 and not lazy else "count"
    text = (
        f"{subject} that did not end (stopped or failed) {verb} as {factor:g} times the limit."
        if factor != NEVER
        else f"{subject} that did not end (stopped or failed) {verb} as not solved."
    )
    return Note(CENSORED, text, {"runs": runs, "factor": factor}, aside=True)


def number_unsolved(data: Timings) -> tuple[int, bool]:
    """Return the number of stopped runs, and whether it is not known because marks are lazy."""
    is_lazy = data.bounded and is_chunked(data.array.coords[CENSORED])
    return data.n_stopped, is_lazy
