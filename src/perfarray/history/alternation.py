"""Labels that alternate along a history, as branches do, and so are mixed into one series."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr
from scipy.special import fdtrc

from perfarray.conventions import BENCHMARK, HISTORY, UNKNOWN, plural
from perfarray.numerics.types import Floats, Integers
from perfarray.timings.apply import is_chunked
from perfarray.timings.notes import Note
from perfarray.timings.quantities import is_setting
from perfarray.timings.validation import listed

# The chance of a label's effect by chance, in any of the series.
CHANCE = 0.001

# Labels that a note names.
LISTED = 4


def alternation_notes(array: xr.DataArray, dim: str, levels: tuple[str, ...]) -> tuple[Note, ...]:
    """Return a note on each coordinate of a history in time whose labels alternate.

    An aside where they make no difference.
    """
    notes = []
    for name, coord in array.coords.items():
        if (
            name == dim
            or name in HISTORY
            or coord.dims != (dim,)
            or not (coord.dtype.kind in "OUTb" or is_setting(str(name)))
        ):
            continue
        names: npt.NDArray[Any] = np.asarray(np.where(coord.values == UNKNOWN, None, coord.values))
        codes, labels = pd.factorize(names)
        known = codes[codes >= 0]
        # A label that comes once, as a new runner does, is a change. Labels that come back are
        # mixed.
        if len(labels) < 2 or np.count_nonzero(np.diff(known)) < len(labels):
            continue
        values = (
            None
            if is_chunked(array)
            else array.transpose(dim, ..., *levels).mean(levels).values.reshape(len(codes), -1)
        )
        text = (
            f"{name!r} alternates along the {plural(dim)}, which are one series: "
            f"{_counts(codes, labels, values)}. Changes of one of them "
            "may be hidden, or its turns be called changes. Keep them apart with "
            f"dims={{{str(name)!r}: {str(name)!r}}} where they are "
            "read, or select one"
        )
        differ = values is None or has_effect(values, codes)
        notes.append(
            Note(
                "mixed_series",
                text,
                {"coordinate": str(name), "labels": len(labels)},
                aside=not differ,
            )
        )
    return tuple(notes)


def succession_notes(array: xr.DataArray, dim: str, levels: tuple[str, ...]) -> tuple[Note, ...]:
    """Return a note on each other dim whose labels follow each other along a history, as compilers do: no series has the step between."""
    if is_chunked(array):
        return ()
    measured, notes = array.notnull().any(levels), []
    for name in measured.dims:
        if name in (dim, BENCHMARK) or measured.sizes[name] < 2:
            continue
        present = (
            measured.any([other for other in measured.dims if other not in (dim, name)])
            .transpose(dim, name)
            .values
        )
        present = present[:, present.any(axis=0)]
        if present.shape[1] < 2 or (present.sum(axis=-1) > 1).any():
            continue
        turns = np.count_nonzero(np.diff(present[present.any(axis=-1)].argmax(axis=-1)))
        if turns != present.shape[1] - 1:
            continue
        labels = (
            listed(array[name].values.tolist(), LISTED)
            if name in array.coords
            else f"{present.shape[1]} labels"
        )
        text = (
            f"the labels of {str(name)!r} follow each other along the {plural(dim)}: {labels}. "
            "Each is a series of its own, and a change "
            f"from one to the next is not looked for. Leave {str(name)!r} out where the "
            "timings are read, and it is"
        )
        notes.append(Note("succession", text, {"dim": str(name), "labels": present.shape[1]}))
    return tuple(notes)


def _counts(codes: Integers, labels: npt.NDArray[Any], values: Floats | None) -> str:
    """Write the most frequent labels with their numbers, and with their means where there is one series."""
    numbers = np.bincount(codes[codes >= 0])
    texts = []
    for code in np.argsort(-numbers, kind="stable")[:LISTED].tolist():
        mean = (
            f", mean {np.nanmean(values[codes == code]):.4g}"
            if values is not None and values.shape[1] == 1
            else ""
        )
        texts.append(f"{labels[code]} ({numbers[code]}{mean})")
    more = len(labels) - len(texts)
    return ", ".join(texts) + (f" and {more} more" if more > 0 else "")


def has_effect(values: Floats, codes: Integers) -> bool:
    """Return whether the labels of commits (n,) explain how the values (n, series) differ from those before and after (F test).

    A step of the series is an outlier of two such differences, not an effect of alternating labels.
    """
    inside = codes[1:-1]
    differences = (values[1:-1] - (values[:-2] + values[2:]) / 2)[inside >= 0]
    groups = np.eye(codes.max() + 1)[inside[inside >= 0]]
    present = ~np.isnan(differences)
    counts = groups.T @ present
    sums = groups.T @ np.nan_to_num(differences)
    n, k = counts.sum(axis=0), (counts > 0).sum(axis=0)
    centre = sums.sum(axis=0) / np.maximum(n, 1)
    between = (
        np.maximum(counts, 1) * (sums / np.maximum(counts, 1) - centre) ** 2 * (counts > 0)
    ).sum(axis=0)
    total = np.nansum((differences - centre) ** 2, axis=0)
    df = np.maximum(n - k, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        pvalues = np.where(
            (n > k) & (k > 1),
            fdtrc(np.maximum(k - 1, 1), df, between / (k - 1) / ((total - between) / df)),
            1.0,
        )
    return bool(np.nanmin(pvalues, initial=1.0) * values.shape[1] < CHANCE)
