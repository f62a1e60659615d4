"""Whether two sides were measured one after the other, and when, by the dates in their files."""

from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from perfarray.conventions import LOOPS, SECONDS
from perfarray.timings.apply import is_chunked
from perfarray.timings.crossed import unit_labels
from perfarray.timings.dates import earliest_dates
from perfarray.timings.labels import labels_along
from perfarray.timings.notes import Note
from perfarray.timings.pairs import Pair
from perfarray.timings.resolve import Data

IN_SEQUENCE = "measured_in_sequence"
DATE = "date"  # the coordinate that readers set: when a file, a session or a run began


def sequence_note(times: Data, baseline: object, pair: Pair) -> Note | None:
    """Return a note where all runs of one side were measured before those of the other.

    None where no dates say so.
    """
    if pair.baselines:
        labels = pair.candidate.array[pair.dim].values.tolist() if DATE in times.coords else []
        notes = (sequence_note(times, label, pair.against(n)) for n, label in enumerate(labels))
        return next((note for note in notes if note), None)
    sides = _dates(times, baseline, pair)
    if sides is None or any(dates.empty for dates in sides):
        return None
    (first, last), (next_first, next_last) = ((dates.min(), dates.max()) for dates in sides)
    new_is_first = bool(first < next_first)
    gap = next_first - last if new_is_first else first - next_last
    if max(dates.nunique() for dates in sides) == 1:
        # Each side has one date, its beginning. Measured in turns, both would begin together.
        array = pair.candidate.array if new_is_first else pair.baseline.array
        if is_chunked(array) or array.attrs.get("units") != SECONDS:
            return None
        apart = gap > pd.Timedelta(seconds=float((array * array.coords.get(LOOPS, 1.0)).sum()) / 2)
    else:
        apart = gap > pd.Timedelta(0)
    if not apart:
        return None
    names = ("candidate", "baseline") if new_is_first else ("baseline", "candidate")
    text = (
        f"By their dates, all runs of the {names[0]} came before those of the {names[1]}. A "
        "machine that became slower or faster meanwhile looks like a change. Measure both in "
        "turns."
    )
    return Note(
        IN_SEQUENCE,
        text,
        {"first": names[0], "seconds_apart": gap.total_seconds()},
        aside=True,
    )


def _dates(
    times: Data, baseline: object, pair: Pair
) -> "tuple[pd.Series[Any], pd.Series[Any]] | None":
    """Return the dates of the candidate's and of the baseline's runs."""
    if DATE not in times.coords or DATE in times.dims:
        return None
    stamps = times.coords[DATE]
    if isinstance(baseline, xr.DataArray | xr.Dataset):
        return (
            (_parsed(stamps), _parsed(baseline.coords[DATE])) if DATE in baseline.coords else None
        )
    if pair.dim not in stamps.dims or pair.dim not in stamps.coords:
        return None
    is_baseline = stamps[pair.dim].values == baseline
    places = [np.flatnonzero(mask) for mask in (~is_baseline, is_baseline)]
    candidate, reference = (_parsed(stamps.isel({pair.dim: place})) for place in places)
    return candidate, reference


def _parsed(stamps: xr.DataArray) -> "pd.Series[Any]":
    texts = pd.Series(np.ravel(stamps.values).astype(str))
    return pd.to_datetime(texts, errors="coerce", utc=True, format="ISO8601").dropna()


def unit_dates(data: Data, level: str, dim: str | None, label: object) -> "pd.Series[pd.Timestamp]":
    """Return when the units of a level began, by their labels, of one label of a dim.

    The series is empty where no dates say so.
    """
    nothing: pd.Series[Any] = pd.Series([], dtype="datetime64[ns, UTC]")
    labels = unit_labels(data, level)
    if labels is None or DATE not in data.coords:
        return nothing
    stamps = data.coords[DATE]
    if level not in stamps.dims:  # all units have one date
        stamps = stamps.drop_vars(level, errors="ignore").expand_dims({level: data.sizes[level]})
    if dim is not None and dim in data.dims and label is not None:
        place = labels_along(data, dim).index(label)
        stamps, labels = (
            array.isel({dim: place}) if dim in array.dims else array for array in (stamps, labels)
        )
    if labels.dims != (level,):
        return nothing
    with suppress(ValueError):  # dates that can be read in two ways
        dates = earliest_dates(stamps, level)
        by_label: pd.Series[Any] = dates.groupby(labels.values.tolist(), sort=False).min()
        return by_label
    return nothing
