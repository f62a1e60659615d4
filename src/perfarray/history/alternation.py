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
    """Return a note on each coordinate of a history whose labels alternate.

    It is an aside where the labels make no difference.
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
        label_codes = codes[codes >= 0]
        # A label that comes once, as a new runner does, is a change. Labels that come back are
        # mixed.
        if len(labels) < 2 or np.count_nonzero(np.diff(label_codes)) < len(labels):
            continue
        values = None
        if not is_chunked(array):
            values = array.transpose(dim, ..., *levels).mean(levels).values.reshape(len(codes), -1)
        counts = np.bincount(label_codes)
        frequent = np.argsort(-counts, kind="stable")[:LISTED].tolist()
        examples = [f"{labels[code]} ({counts[code]}" for code in frequent]
        if values is not None and values.shape[1] == 1:
            means = [np.nanmean(values[codes == code]) for code in frequent]
            examples = [
                f"{text}, mean {mean:.4g}" for text, mean in zip(examples, means, strict=True)
            ]
        n_hidden = len(labels) - len(frequent)
        text = (
            f"{name!r} alternates along the {plural(dim)}, which are one series: "
            f"{', '.join(f'{example})' for example in examples)}"
            f"{f' and {n_hidden} more' if n_hidden else ''}. "
            "Changes may be hidden, or turns be called changes. "
            f"Read them with dims={{{str(name)!r}: {str(name)!r}}}, or select one."
        )
        values_of_note = {"coordinate": str(name), "labels": len(labels)}
        aside = values is not None and not has_effect(values, codes)
        notes.append(Note("mixed_series", text, values_of_note, aside=aside))
    return tuple(notes)


def succession_notes(array: xr.DataArray, dim: str, levels: tuple[str, ...]) -> tuple[Note, ...]:
    """Return a note on each dim whose labels follow each other along a history, as compilers do.

    No series has the step between two of them.
    """
    if is_chunked(array):
        return ()
    measured, notes = array.notnull().any(levels), []
    for name in measured.dims:
        if name in (dim, BENCHMARK) or measured.sizes[name] < 2:
            continue
        measured_labels = measured.any(set(measured.dims) - {dim, name}).transpose(dim, name).values
        measured_labels = measured_labels[:, measured_labels.any(axis=0)]
        n_labels = measured_labels.shape[1]
        if n_labels < 2 or (measured_labels.sum(axis=-1) > 1).any():
            continue
        in_time = measured_labels[measured_labels.any(axis=-1)].argmax(axis=-1)
        if np.count_nonzero(np.diff(in_time)) != n_labels - 1:
            continue
        labels = f"{n_labels} labels"
        if name in array.coords:
            labels = listed(array[name].values.tolist(), LISTED)
        text = (
            f"The labels of {str(name)!r} follow each other along the {plural(dim)}: {labels}. "
            "Each is a series, so no change from one to the next can be found. "
            f"To find it, leave {str(name)!r} out where the timings are read."
        )
        notes.append(Note("mixed_series", text, {"coordinate": str(name), "labels": n_labels}))
    return tuple(notes)


def has_effect(values: Floats, codes: Integers) -> bool:
    """Return whether the labels of commits (n,) explain differences between neighbours (F test).

    `values` (n, series) are compared with those before and after. A step of the series is an
    outlier of two such differences, not an effect of alternating labels.
    """
    inside = codes[1:-1]
    differences = (values[1:-1] - (values[:-2] + values[2:]) / 2)[inside >= 0]
    groups = np.eye(codes.max() + 1)[inside[inside >= 0]]
    counts = groups.T @ ~np.isnan(differences)
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
