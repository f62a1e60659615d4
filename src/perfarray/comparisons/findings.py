"""What a comparison says of itself: its attrs, its labels, its notes."""

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from perfarray.comparisons.engines import Measured
from perfarray.comparisons.noise import NOISE
from perfarray.comparisons.request import Request
from perfarray.timings.across import MOVEMENT, UNMATCHED, name_suites
from perfarray.timings.apply import data_label, is_chunked
from perfarray.timings.censored import ONLY_WORSE
from perfarray.timings.notes import Note
from perfarray.timings.pairs import Pair
from perfarray.timings.units import UNITS


def describe(measured: Measured, pair: Pair, request: Request) -> tuple[dict[str, Hashable], list[Note | None]]:
    """Return the attrs of a comparison, and what there is to say of it but for what is counted in the result."""
    across, nest, estimate = request.across, pair.candidate.levels, measured.evidence["_estimate"]
    attrs = pair.describe() | {"result": "compare", "method": request.method, "confidence_level": request.confidence_level}
    attrs |= {"threshold": request.threshold, "band": request.band, "correction": request.correction or "none"}
    attrs |= {"benchmarks": f"shared: {' '.join(pair.shared)}" if pair.jointly else "independent (assumed)"}
    attrs |= {"paired": request.paired} if request.paired else {}
    notes = [*pair.notes, pair.candidate.selected, pair.stopped_note(ONLY_WORSE)]
    if across in pair.candidate.array.dims:
        if not is_chunked(estimate):
            unmatched = dict.fromkeys([*pair.unmatched, *_absent(estimate, across)])
            attrs |= {UNMATCHED: ", ".join(unmatched)} if unmatched else {}
        # An attribute says it, and no note: who compares benchmark by benchmark has not asked for the suite row.
        name_suites(measured.evidence, pair.candidate.array, estimate.notnull(), across)
    if measured.incomplete:
        attrs["n_incomplete_units"] = measured.incomplete
        how = "shared" if pair.jointly else "paired"
        text = f"{measured.incomplete} {how} units ({nest[0]}) lack some benchmarks and are left out of the suite row"
        notes.append(Note("incomplete_units", text, {"units": measured.incomplete}))
    return attrs | dict(measured.evidence.attrs), notes


def checks(request: Request, pair: Pair) -> tuple[str, ...]:
    """Return what is counted in the result."""
    declared = request.shared is not None or pair.jointly or request.paired is not None
    return (UNITS, *(("resampling",) if request.draws else (NOISE,)), *(() if declared else (MOVEMENT,)))


def as_given(result: xr.Dataset, pair: Pair, across: str, coords: Mapping[Any, xr.DataArray] | None = None) -> xr.Dataset:
    """Put dims in the order of the data and give back the coordinates of the dims averaged over and compared; drop what was not there."""
    array = pair.candidate.array
    kept = {
        name: coordinate
        for name, coordinate in (array.coords if coords is None else coords).items()
        if {across, pair.dim} & set(coordinate.dims) and not set(coordinate.dims) & set(pair.candidate.levels)
    }
    if across not in array.dims:
        result = result.isel({across: 0}, drop=True)
    elif across not in array.coords:
        result = result.drop_vars(across)
    dims = [*(dim for dim in array.dims if dim in result.dims), *(dim for dim in result.dims if dim not in array.dims)]
    labels = {data_label(name, result.data_vars): c.variable for name, c in kept.items() if set(c.dims) <= set(result.dims)}
    return result.assign_coords(labels).transpose(*dims)


def _absent(estimate: xr.DataArray, across: str) -> list[str]:
    """Return the benchmarks that some candidate or the baseline lacks."""
    absent = np.isnan(estimate.values).any(axis=tuple(i for i, dim in enumerate(estimate.dims) if dim != across))
    return [str(label) for label in estimate[across].values[absent]]
