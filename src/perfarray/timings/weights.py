"""Weights of the benchmarks of a suite: checked and normalised."""

import json
import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from perfarray.numerics.types import Floats
from perfarray.timings.notes import Note
from perfarray.timings.resolve import Data, check_dim
from perfarray.timings.validation import listed

# Weights of benchmarks, by label or in the order of the labels; only their ratios matter
Weights = xr.DataArray | pd.Series | Mapping[Any, float] | Sequence[float]

# Attr: the share of each benchmark by label, as JSON
WEIGHTS = "weights"

# Similarity from which an unknown label counts as misspelt: two of four letters swapped
NEAR = 0.75


class Weighing(NamedTuple):
    """The dim of the suite, the share of each benchmark, and the benchmarks with weight 0.

    No shares where all weigh the same.
    """

    across: str
    shares: dict[Hashable, float]
    without: tuple[Hashable, ...] = ()
    notes: tuple[Note, ...] = ()

    def select(self, data: Any) -> Any:
        """Return timings without the benchmarks of weight 0; other arguments unchanged."""
        if (
            not self.without
            or not isinstance(data, xr.DataArray | xr.Dataset)
            or self.across not in data.dims
        ):
            return data
        return data.isel(
            {
                self.across: [
                    label not in self.without for label in data[self.across].values.tolist()
                ]
            }
        )

    def shares_of(self, labels: Any) -> Floats | None:
        """Return the shares of benchmarks in the order of the labels, None if equal.

        A benchmark that only the other system has counts nowhere.
        """
        shares = [self.shares[label] for label in labels.tolist() if label in self.shares]
        equal = len(set(shares)) < 2
        return (
            None if equal else np.array([self.shares.get(label, 1.0) for label in labels.tolist()])
        )

    @property
    def attrs(self) -> dict[str, Hashable]:
        """The attrs of a weighted result."""
        return (
            {WEIGHTS: json.dumps({str(label): share for label, share in self.shares.items()})}
            if self.shares
            else {}
        )

    def name(self, mean: str) -> str:
        """Return the name of a mean."""
        return f"weighted {mean}" if self.shares else mean


def weigh(times: Data, across: str, weights: Weights | None) -> Weighing:
    """Return the weights of the benchmarks.

    Raise for missing, negative, infinite or all-zero weights.
    """
    if weights is None:
        return Weighing(across, {})
    check_dim(times, across, "across")
    labels = times[across].reset_coords(drop=True)
    array = as_weights(weights, labels).reset_coords(drop=True)
    if array.dims != (across,):
        raise ValueError(
            f"weights lie along {array.dims}; a score takes one number for each label of {across!r}"
        )
    if across not in array.coords:
        array = as_weights(array.values.tolist(), labels)
    numbers = check_weights(array.reindex({across: labels}), across).values
    shares = dict(zip(labels.values.tolist(), (numbers / numbers.sum()).tolist(), strict=True))
    counts = {label: share for label, share in shares.items() if share > 0}
    left_out = tuple(label for label in shares if label not in counts)
    return Weighing(across, counts, left_out, _misspelt(weights, labels.values.tolist(), across))


def _misspelt(weights: Weights, labels: list[Any], across: str) -> tuple[Note, ...]:
    """Return a note on weights of unknown labels that resemble a label.

    Weights of a whole suite may be given for a part.

    Names that differ in their digits alone are of several benchmarks.
    """
    from difflib import get_close_matches

    if isinstance(weights, xr.DataArray):
        weights = weights.to_series() if across in weights.coords else []
    names = list(weights.keys()) if isinstance(weights, Mapping | pd.Series) else []
    pairs = []
    for label in (str(name) for name in names if name not in labels):
        matches = get_close_matches(
            label, [str(name_of_label) for name_of_label in labels], n=1, cutoff=NEAR
        )
        pairs += [
            f"{label!r} (there is {name_of_label!r})"
            for name_of_label in matches
            if re.sub(r"\d", "", name_of_label) != re.sub(r"\d", "", label)
        ]
    text = f"Weights for what is no label of {across!r} are left out: {', '.join(pairs[:5])}"
    return (Note("unused", text, {"labels": pairs}, aside=True),) if pairs else ()


def as_weights(weights: Weights, labels: xr.DataArray) -> xr.DataArray:
    """Return weights as an array along the dim of the labels, NaN for labels without a weight."""
    across = str(labels.dims[0])
    if isinstance(weights, Mapping | pd.Series):
        names, weighted = labels.values.tolist(), list(weights.keys())
        unknown, missing = (
            listed([label for label in weighted if label not in names], 5),
            listed([label for label in names if label not in weighted], 5),
        )
        if unknown and missing:  # weights of a whole suite may be given for a part of it
            raise ValueError(
                f"weights are missing for {missing}, and given for what is no label of "
                f"{across!r}: {unknown}"
            )
        weights = [weights.get(label, np.nan) for label in names]
    if isinstance(weights, xr.DataArray):
        check_dim(weights, across, "dim of weights")
        return weights
    try:
        numbers = np.asarray(weights, dtype=float)
    except (TypeError, ValueError):  # text, or lists of unequal length
        numbers = np.empty(())
    if numbers.ndim != 1:
        raise ValueError(
            f"weights={weights!r}: give a mapping of labels of {across!r} to numbers, or a "
            "number for each"
        )
    if len(numbers) != labels.size:
        raise ValueError(
            f"weights has {len(numbers)} numbers for {labels.size} labels of {across!r}"
        )
    return xr.DataArray(numbers, dims=across, coords={across: labels})


def check_weights(weights: xr.DataArray, across: str) -> xr.DataArray:
    """Return the weights; raise where one is missing or negative, or all are zero."""
    rows = weights.transpose(across, ...).values.astype(float)
    bad = [
        label
        for label, row in zip(weights[across].values.tolist(), rows, strict=True)
        if not np.all(row >= 0)
    ]
    if bad or not 0 < rows.sum() < np.inf:
        fault = (
            f"missing or negative for {listed(bad, 5)}"
            if bad
            else "infinite"
            if rows.any()
            else "all zero"
        )
        raise ValueError(
            f"weights are {fault}; give every label of {across!r} a number that is not "
            "negative, and one above zero"
        )
    return weights.astype(float)
