"""What a comparison says of itself: its attrs, its labels, its notes."""

import xarray as xr

from perfarray.comparisons.engines import Computed
from perfarray.comparisons.request import Request
from perfarray.timings.across import UNMATCHED, name_suites
from perfarray.timings.apply import data_label, is_chunked
from perfarray.timings.censored import ONLY_WORSE
from perfarray.timings.notes import Note, noted
from perfarray.timings.pairs import Pair
from perfarray.timings.units import UNITS


def describe(computed: Computed, pair: Pair, request: Request) -> xr.Dataset:
    """Return the result as the data were given, with what there is to say of it."""
    across, nest = request.across, pair.candidate.levels
    result = _as_given(computed.result, pair, across)
    attrs = pair.describe() | {"result": "compare", "method": request.method, "confidence_level": request.confidence_level}
    attrs |= {"threshold": request.threshold, "band": request.band, "correction": request.correction or "none"}
    attrs |= {"benchmarks": f"shared: {' '.join(pair.shared)}" if pair.jointly else "independent (assumed)"}
    attrs |= {"paired": request.paired} if request.paired else {}
    result.attrs = attrs | result.attrs
    notes = [*pair.notes, pair.candidate.selected, pair.stopped_note(ONLY_WORSE)]
    if across in result["estimate"].dims:
        if not is_chunked(result["estimate"]):
            unmatched = dict.fromkeys([*pair.unmatched, *_absent(result["n"], across)])
            result.attrs |= {UNMATCHED: ", ".join(unmatched)} if unmatched else {}
        # An attribute says it, and no note: who compares benchmark by benchmark has not asked for the suite row.
        name_suites(result, pair.candidate, result["n"] > 0, across)
    if computed.incomplete:
        result.attrs["n_incomplete_units"] = computed.incomplete
        text = f"{computed.incomplete} shared units ({nest[0]}) lack some benchmarks and are left out of the suite row"
        notes.append(Note("incomplete_units", text, {"units": computed.incomplete}))
    return noted(result, *notes, checks=(UNITS, "resampling") if request.draws else (UNITS,))


def _as_given(result: xr.Dataset, pair: Pair, across: str) -> xr.Dataset:
    """Put dims in the order of the data and give back the coordinates of the dim averaged over; drop it where it was not there."""
    array = pair.candidate.array
    if across not in array.dims:
        return result.isel({across: 0}, drop=True)
    kept = {
        name: coordinate
        for name, coordinate in array.coords.items()
        if across in coordinate.dims and not set(coordinate.dims) & set(pair.candidate.levels)
    }
    if across not in array.coords:
        result = result.drop_vars(across)
    dims = [*(dim for dim in array.dims if dim in result.dims), *(dim for dim in result.dims if dim not in array.dims)]
    labels = {data_label(name, result.data_vars): c.variable for name, c in kept.items() if set(c.dims) <= set(result.dims)}
    return result.assign_coords(labels).transpose(*dims)


def _absent(n: xr.DataArray, across: str) -> list[str]:
    """Return the benchmarks that some candidate or the baseline lacks."""
    absent = (n.values == 0).any(axis=tuple(i for i, dim in enumerate(n.dims) if dim != across))
    return [str(label) for label in n[across].values[absent]]
