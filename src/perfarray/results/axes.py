"""Tables of machines: principal components, and the samples that these place."""

from collections.abc import Callable

import numpy as np
import xarray as xr

from perfarray.results.words import (
    NOTHING,
    Cell,
    Columns,
    digits_of,
    percent,
    quantity_between,
    ratio,
)

COMPONENT = "principal_component"

# Components whose scores are shown, as in a biplot
SHOWN = 2

# Samples named in a cell of the table
NAMED = 5


def components(_: xr.Dataset) -> Columns:
    """Show how much of the variance each principal component explains."""
    return {
        "explains": lambda cell: percent(cell["explained_variance_ratio"]),
        "so far": lambda cell: percent(cell["cumulative_variance_ratio"]),
    }


def places(data: xr.Dataset) -> Columns:
    """Show the place of each sample with limits, and the samples that it may be equal to."""
    unit = str(data["score"].attrs["units"])
    shares = data["explained_variance_ratio"]

    names = ("score", "score_lower", "score_upper")

    def place(number: int) -> Callable[[Cell], str]:
        column = (data[name].isel({COMPONENT: number}).values for name in names)
        digits = digits_of(*column)

        def text(cell: Cell) -> str:
            value, lower, upper = (cell[name][number] for name in names)
            return quantity_between(value, lower, upper, unit, digits)

        return text

    def title(number: int) -> str:
        explained = f" ({percent(float(shares[number]))})" if shares.ndim == 1 else ""
        return f"component {data[COMPONENT].values[number]}{explained}"

    columns: Columns = {
        title(number): place(number) for number in range(min(SHOWN, data.sizes[COMPONENT]))
    }
    return columns | (
        {"not apart from": lambda cell: _alike(cell, data)} if "apart_pvalue" in data else {}
    )


def ratios(data: xr.Dataset) -> Columns:
    """Show the ratio of every row to the median machine: its mean, and each feature."""

    def column(position: int) -> Callable[[Cell], str]:
        return lambda cell: ratio(cell["ratio"][position])

    features = str(data.attrs["features"])
    is_measured = (
        data["ratio"].notnull().any([dim for dim in data["ratio"].dims if dim != features]).values
    )
    columns: Columns = {"mean": lambda cell: ratio(cell["mean_ratio"])}
    return columns | {
        str(data[features].values[position]): column(position)
        for position in np.flatnonzero(is_measured).tolist()
    }


def clusters(_: xr.Dataset) -> Columns:
    """Show the cluster of each sample."""
    return {"cluster": lambda cell: f"{cell['cluster']}"}


def _alike(cell: Cell, data: xr.Dataset) -> str:
    """Name the samples that may be equal to one at the level of the regions, nearest first."""
    samples, pvalues = str(data.attrs["samples"]), np.asarray(cell["apart_pvalue"])
    labels = data[f"{samples}_2"].values
    is_other = labels != cell["coords"].get(samples)
    if np.isnan(pvalues[is_other]).all():
        return NOTHING
    not_apart = np.flatnonzero(is_other & (pvalues > 1 - float(data.attrs["confidence_level"])))
    names = [
        str(labels[position])
        for position in not_apart[
            np.argsort(np.asarray(cell["distance"])[not_apart], kind="stable")
        ]
    ]
    remainder = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + remainder or "none"
