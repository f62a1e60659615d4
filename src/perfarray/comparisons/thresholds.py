"""Thresholds that differ by benchmark, or along other dims of the verdicts."""

import math
from collections.abc import Hashable, Mapping
from types import EllipsisType
from typing import Any, cast

import numpy as np
import pandas as pd
import xarray as xr

from perfarray.conventions import plural
from perfarray.timings.apply import is_chunked
from perfarray.timings.notes import Note
from perfarray.timings.resolve import check_dim
from perfarray.timings.validation import check_threshold, listed, nearest, number_of

# The variables of an answer whose thresholds differ
THRESHOLD, SUITE_THRESHOLD = "threshold", "suite_threshold"

# What a caller gives: one change for all; by label of `across`, `...` being the others; along any
# dims of the verdicts; or what `calibrate` returned
Threshold = float | Mapping[str | EllipsisType, float] | xr.DataArray | xr.Dataset

EXAMPLES = 5  # labels that a message names
NO_RATE = "Their rate of false alarms does not hold here."


def varies(threshold: Any) -> bool:
    """Return whether a threshold may differ between verdicts."""
    return isinstance(threshold, Mapping | pd.Series | xr.Dataset) or (
        isinstance(threshold, xr.DataArray) and threshold.ndim > 0
    )


def check_thresholds(threshold: Threshold) -> Threshold:
    """Return a threshold that differs between verdicts as it is, and one number checked."""
    if isinstance(threshold, xr.Dataset) and THRESHOLD not in threshold.data_vars:
        raise ValueError(
            f"threshold= has no variable {THRESHOLD!r}; it has {listed(threshold.data_vars)}. "
            "Give what calibrate returned for several sessions"
        )
    return threshold if varies(threshold) else check_threshold(cast(float, threshold))


def thresholds_of(
    threshold: Any, array: xr.DataArray, across: str
) -> tuple[xr.Variable, xr.Variable]:
    """Return the thresholds of the benchmarks, along `across` and other dims, and of the suite.

    The suite's is what `calibrate` found of the suite itself. In a mapping it is that of the labels
    without one of their own. Else it is the mean over the benchmarks: where each may change so
    much, so may their geometric mean; and no noise of theirs makes it vary by more.
    """
    labels = array[across].values.tolist() if across in array.dims else []
    if isinstance(threshold, xr.Dataset):
        return _of_calibration(threshold, array, across)
    if isinstance(threshold, xr.DataArray):
        for dim in threshold.dims:
            check_dim(array, dim, "threshold: dim")
        aligned = threshold.reindex(
            {dim: array[dim] for dim in threshold.dims if dim in threshold.indexes}
        )
        if bool(aligned.isnull().any()):
            raise ValueError(
                "threshold is missing for some labels of the timings; give one for each, as "
                "with threshold.fillna(0.02)"
            )
        rows = aligned.variable.copy(
            data=np.vectorize(check_threshold, otypes=[float])(aligned.values)
        )
        if across in rows.dims:
            return rows, rows.mean(across)
        return xr.Variable(
            (across, *rows.dims), np.broadcast_to(rows.values, (max(len(labels), 1), *rows.shape))
        ), rows
    given: dict[Hashable, float] = {
        label: check_threshold(value) for label, value in dict(threshold).items()
    }
    rest = given.pop(..., 0.0)
    if unknown := [label for label in given if label not in labels]:
        raise ValueError(
            f"threshold names {listed(unknown)}, not found along {across!r}: "
            f"{listed(labels, 5)}; `...` stands for all others{nearest(unknown[0], labels)}"
        )
    return xr.Variable(
        (across,), [given.get(label, rest) for label in labels] or [rest]
    ), xr.Variable((), rest)


def _of_calibration(
    calibrated: xr.Dataset, array: xr.DataArray, across: str
) -> tuple[xr.Variable, xr.Variable]:
    """Return the thresholds of `calibrate`; labels without one take the median of the others."""
    thresholds = calibrated[THRESHOLD]
    if not bool(thresholds.notnull().any()):
        raise ValueError(
            "threshold= has no number: calibrate() had too few sessions. Measure more, or give one "
            "number"
        )
    if across in thresholds.dims and across in array.coords:
        labels = np.atleast_1d(array[across].values)
        known = thresholds[across].values
        if across in thresholds.coords and not np.isin(labels, known).any():
            raise ValueError(
                f"threshold= is of other labels along {across!r} "
                f"({listed(known.tolist(), EXAMPLES)}), not of "
                f"{listed(labels.tolist(), EXAMPLES)}. Calibrate with these, or give one number"
            )
        thresholds = thresholds.reindex({across: labels})
        if array[across].ndim == 0:
            thresholds = thresholds.isel({across: 0})
    filled = thresholds.fillna(float(calibrated[THRESHOLD].median()))
    rows, suite = thresholds_of(filled, array, across)
    if SUITE_THRESHOLD in calibrated.data_vars and not calibrated[SUITE_THRESHOLD].ndim:
        value = float(calibrated[SUITE_THRESHOLD])
        if not np.isnan(value):
            suite = xr.full_like(suite, check_threshold(value), dtype=float)
    return rows, suite


def median_runs(verdicts: xr.Dataset) -> float:
    """Return the median number of units of a comparison; NaN of a lazy one."""
    n = verdicts["n"]
    return math.nan if is_chunked(n) else float(n.where(n > 0).median())


def settings_notes(threshold: Any, attrs: Mapping[Any, Any], verdicts: xr.Dataset) -> list[Note]:
    """Return notes where thresholds were calibrated for comparisons made in another way.

    `attrs` are those of the comparison.
    """
    if not isinstance(threshold, xr.Dataset):
        return []
    calibrated, notes = threshold.attrs, []
    level = float(attrs["confidence_level"])
    calibrated_level = float(calibrated.get("confidence_level", level))
    if not math.isclose(calibrated_level, level):
        text = (
            f"The thresholds were calibrated for {100 * calibrated_level:.4g} % intervals, and "
            f"these are {100 * level:.4g} %. {NO_RATE} Calibrate with "
            f"confidence_level={level:.4g}."
        )
        values = {"calibrated": calibrated_level, "confidence_level": level}
        notes.append(Note("thresholds_level", text, values))
    settings = {"statistic": "mean", "method": "", "prior": "none"}
    here = {name: str(attrs.get(name, default)) for name, default in settings.items()}
    differing = [name for name in settings if calibrated.get(name, here[name]) != here[name]]
    if differing:
        then, now = (
            ", ".join(f"{name} {source[name]}" for name in differing)
            for source in (calibrated, here)
        )
        text = f"The thresholds were calibrated with {then}, and this is with {now}. {NO_RATE}"
        pairs = {name: [calibrated[name], here[name]] for name in differing}
        notes.append(Note("thresholds_settings", text, pairs))
    n, runs = float(calibrated.get("runs", math.nan)), median_runs(verdicts)
    if abs(n - runs) >= 1:
        text = (
            f"The thresholds were calibrated for {n:.4g} {plural(str(attrs['unit']))} a side, and "
            f"most rows have {runs:.4g}. {'Fewer' if runs < n else 'More'} runs vary "
            f"{'more' if runs < n else 'less'}: expect {'more' if runs < n else 'fewer'} false "
            "alarms."
        )
        notes.append(Note("thresholds_runs", text, {"calibrated": n, "runs": runs}))
    own = threshold.get(SUITE_THRESHOLD, xr.DataArray(math.nan))
    if threshold[THRESHOLD].size > 1 and not own.ndim and bool(own.isnull()):
        taken = float(attrs["threshold"])
        text = (
            f"The thresholds have none of the suite, whose row takes their mean, {100 * taken:.3g} "
            "%. It needs so much only if all benchmarks vary together. Calibrate with sessions "
            "that have every benchmark."
        )
        notes.append(Note("thresholds_suite", text, {"threshold": taken}, aside=True))
    return notes


def threshold_note(threshold: Any, array: xr.DataArray, across: str) -> Note | None:
    """Return a note on the labels that calibrated thresholds lack, and on those they have beyond.

    None where both are the same.
    """
    if not isinstance(threshold, xr.Dataset) or across not in threshold[THRESHOLD].dims:
        return None
    rows = threshold[THRESHOLD]
    with_one = rows.notnull().any([dim for dim in rows.dims if dim != across])
    known = rows[across].values[with_one.values].tolist()
    labels = np.atleast_1d(array[across].values).tolist() if across in array.coords else known
    missing = [label for label in labels if label not in set(known)]
    unused = [label for label in known if label not in set(labels)]
    sentences = []
    if missing:
        have, take = ("has", "takes") if len(missing) == 1 else ("have", "take")
        sentences.append(
            f"{number_of(len(missing), across)} ({listed(missing, EXAMPLES)}) {have} no calibrated "
            f"threshold and {take} the median of the others, {100 * float(rows.median()):.3g} %."
        )
    if unused:
        are = "is" if len(unused) == 1 else "are"
        sentences.append(
            f"{number_of(len(unused), across)} with a threshold {are} not in the data "
            f"({listed(unused, EXAMPLES)})."
        )
    if not sentences:
        return None
    values = {"missing": missing, "unused": unused}
    return Note("thresholds_differ", " ".join([*sentences, "Calibrate anew."]), values)
