"""Arguments of everything that redraws the nest: which levels, how often, from which random numbers."""

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from perfarray.numerics.intervals import BOOTSTRAP_METHODS
from perfarray.timings.apply import is_chunked
from perfarray.timings.notes import Note, check
from perfarray.timings.options import engine
from perfarray.timings.resolve import Timings, check_names
from perfarray.timings.validation import check_count, listed

FEW = 30
"""Units below which percentile and BCa intervals are too narrow to be used."""

Resample = str | tuple[str, ...] | None
Rng = int | np.random.Generator | None


class Resampling(NamedTuple):
    """What is drawn with replacement, how often, from which key, by which engine."""

    levels: tuple[str, ...]
    drawn: tuple[bool, ...]
    flat: bool
    n_resamples: int
    key: tuple[int, int]
    engine: str

    def describe(self) -> dict[str, Hashable]:
        """Attrs of a result made from replicates."""
        drawn = [level for level, is_drawn in zip(self.levels, self.drawn, strict=False) if is_drawn]
        attrs: dict[str, Hashable] = {"resample": "flat" if self.flat else " ".join(drawn)}
        if self.flat:
            attrs["unit"] = self.levels[-1]
        return attrs | {"n_resamples": self.n_resamples, "engine": self.engine}


def check_resampling(
    data: Timings, resample: Resample | Sequence[str], n_resamples: int, rng: Rng, *, joint: bool = False, compiled: bool = True
) -> Resampling:
    """Check what is to be drawn; units drawn jointly (shared or paired) must be drawn, and a flat draw knows no units."""
    levels = data.levels
    drawn: tuple[bool, ...]
    number = check_count(n_resamples, "n_resamples", 2)
    if isinstance(resample, str) and resample == "flat":
        if joint:
            raise ValueError("resample='flat' ignores the nest, so units cannot be shared or paired; name the levels to draw")
        drawn, flat = (True,), True
    else:
        asked = levels[:1] if resample is None else levels if resample == "all" else check_names(resample, "resample")
        unknown = [name for name in asked if name not in levels]
        if unknown:
            raise ValueError(
                f"resample={listed(unknown)}: not among the levels {levels}; name those to draw, or give 'all', 'flat' or None"
            )
        drawn, flat = tuple(level in asked for level in levels), False
    if joint and not drawn[0]:
        raise ValueError(f"resample={resample!r} leaves out {levels[0]!r}, whose units are shared or paired; name it too")
    # The compiled kernel redraws what lies inside units; the units themselves are quickly drawn, and jointly only by NumPy.
    return Resampling(levels, drawn, flat, number, key_of(rng), engine() if compiled and not joint and any(drawn[1:]) else "numpy")


def check_no_resampling(method: str, resample: object) -> None:
    """Raise where levels to draw are named for a method that draws nothing."""
    if resample is not None:
        raise ValueError(
            f"resample={resample!r} was given with method={method!r}, which draws nothing; choose one of {listed(BOOTSTRAP_METHODS)}"
        )


def key_of(rng: Rng) -> tuple[int, int]:
    """Draw the one key all streams of a call begin with."""
    if (
        rng is not None
        and not isinstance(rng, np.random.Generator)
        and (isinstance(rng, bool) or not isinstance(rng, int | np.integer) or rng < 0)
    ):
        raise ValueError(f"rng={rng!r}: give a whole number that is not negative, a numpy.random.Generator, or None")
    first, second = np.random.default_rng(rng).integers(0, 2**63, 2).tolist()
    return first, second


def cell_numbers(arrays: Sequence[xr.DataArray], levels: Sequence[str], apart: str | Sequence[str] | None = None) -> xr.DataArray:
    """Number the cells of some arrays in an order of dims that does not depend on theirs (by name), `apart` from some dims if asked.

    Streams of random numbers belong to these numbers; chunks are those of the arrays.
    """
    left_out = (apart,) if isinstance(apart, str) else tuple(apart or ())
    sizes: dict[str, int] = {}
    chunks: dict[str, Any] = {}
    for array in arrays:
        own = array.variable.chunksizes if is_chunked(array) else {}
        for dim in array.dims:
            if dim not in levels and dim not in left_out:
                sizes[str(dim)] = array.sizes[dim]
                chunks |= {str(dim): own[dim]} if dim in own else {}
    dims = sorted(sizes)
    lazy = any(is_chunked(array) for array in arrays)
    numbers = xr.DataArray(np.zeros((), dtype=np.int64))
    for dim in dims:  # a sum of short vectors, so that a lazy archive's cells are numbered chunk by chunk
        places = xr.DataArray(np.arange(sizes[dim]), dims=dim)
        numbers = numbers * sizes[dim] + (places.chunk({dim: chunks.get(dim, -1)}) if lazy else places)
    for array in arrays:
        numbers = numbers.assign_coords({dim: array[dim].variable for dim in dims if dim in array.dims and dim in array.coords})
    return numbers.chunk() if lazy else numbers


@check("resampling")
def resampling_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Say where there are too few units for the method, or too few replicates for the confidence level."""
    attrs = result.attrs
    method, unit = str(attrs["method"]), "values" if attrs["resample"] == "flat" else f"units ({attrs['unit']})"
    level = float(result["interval_level"].max()) if "interval_level" in result else float(attrs["confidence_level"])
    mean = attrs.get("statistic", "mean") == "mean"
    return few_units(result["n"], method, unit, studentize=mean), few_replicates(int(attrs["n_resamples"]), method, level)


def few_replicates(number: int, method: str, level: float) -> Note | None:
    """Say when the limits at a level would be the extreme replicates."""
    tail = 1 - level if method == "studentized" else (1 - level) / 2
    needed = int(np.ceil(1 / tail - 1e-9)) - 1
    if number >= needed:
        return None
    limits = f"limits at {100 * level:.4g} %"
    text = f"n_resamples={number} is too few for {limits}: they are the extreme replicates; {needed} or more are needed"
    return Note("few_replicates", text, {"n_resamples": number, "needed": needed})


def few_units(n: xr.DataArray, method: str, units: str, *, studentize: bool) -> Note | None:
    """Count the cells with too few units for a method; `studentize` says whether that method is a remedy."""
    if is_chunked(n):
        return None
    studentized = method == "studentized"
    few = int((n == 2).sum()) if studentized else int(((n > 1) & (n < FEW)).sum())
    if not few:
        return None
    if studentized:
        text = f"{few} of {n.size} cells rest on two {units}: method='studentized' needs three, their limits are NaN"
    else:
        text = f"{few} of {n.size} cells rest on fewer than {FEW} {units}: {method} limits are too narrow (84 to 93 % at 5 to 10 units)"
        text += "; method='studentized' is not" if studentize else ""
    return Note("few_units", text, {"cells": few, "of": n.size})
