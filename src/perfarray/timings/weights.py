"""Weights of the benchmarks of a suite: checked and normalised."""

import json
import re
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from perfarray.numerics.types import Floats
from perfarray.timings.across import Weights, as_weights, check_weights
from perfarray.timings.notes import Note
from perfarray.timings.resolve import Data, check_dim

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
        near = get_close_matches(
            label, [str(name_of_label) for name_of_label in labels], n=1, cutoff=NEAR
        )
        pairs += [
            f"{label!r} (there is {name_of_label!r})"
            for name_of_label in near
            if re.sub(r"\d", "", name_of_label) != re.sub(r"\d", "", label)
        ]
    text = f"weights for what is no label of {across!r} are left out: {', '.join(pairs[:5])}"
    return (Note("unused_weights", text, {"labels": pairs}, aside=True),) if pairs else ()
