"""What a comparison says of itself: its attrs, its labels, its notes."""

from collections.abc import Hashable, Mapping

import numpy as np
import xarray as xr

from perfarray.comparisons.engines import PART, REPLICATE, SIDE, Measured
from perfarray.comparisons.medians import BEYOND, MEDIAN, STOPPED
from perfarray.comparisons.noise import ADJUSTED, NOISE
from perfarray.comparisons.request import Request
from perfarray.comparisons.verdicts import DECIDING
from perfarray.numerics.rank_sums import RANK
from perfarray.timings.across import MOVEMENT, SUITES, UNMATCHED, several_suites
from perfarray.timings.apply import in_order, is_chunked
from perfarray.timings.censored import ONLY_WORSE
from perfarray.timings.dependence import DEPENDENCE
from perfarray.timings.notes import Note
from perfarray.timings.pairs import Pair
from perfarray.timings.units import UNITS

SUITE_ROWS = {
    ADJUSTED: "the suite row is not adjusted for skewness, which averages out over benchmarks: its limits are those of t on the log "
    "ratios; method='studentized' draws them",
    RANK: "the suite row does not rest on ranks: it is the geometric mean of the ratios of medians, with their standard errors, as with "
    "method='order_statistics'",
}
"""What methods whose suite row is made in another way say of it."""

INNER = (PART, REPLICATE, SIDE)
"""Dims of evidence that no result has."""


def describe(measured: Measured, pair: Pair, request: Request) -> tuple[dict[str, Hashable], list[Note | None]]:
    """Return the attrs of a comparison, and what there is to say of it but for what is counted in the result."""
    across, nest, estimate = request.across, pair.candidate.levels, measured.evidence["_estimate"]
    attrs = {**pair.attrs, "result": "compare", "method": request.method, "confidence_level": request.confidence_level}
    attrs |= {"statistic": MEDIAN} if request.medians else {}
    attrs |= {"threshold": request.threshold, "band": request.band, "correction": request.correction or "none"}
    attrs |= {"benchmarks": f"shared: {' '.join(pair.shared)}" if pair.jointly else "independent (assumed)"}
    attrs |= {"paired": request.paired} if request.paired else {}
    attrs |= {"equivalence_risk": request.equivalence_risk} if request.equivalence_risk is not None else {}
    notes = [*pair.notes, pair.candidate.selected, pair.stopped_note(STOPPED if request.medians and not request.draws else ONLY_WORSE)]
    if across in pair.candidate.array.dims:
        if not is_chunked(estimate):
            unmatched = dict.fromkeys([*pair.unmatched, *_absent(estimate, pair.candidate.array, across)])
            attrs |= {UNMATCHED: ", ".join(unmatched)} if unmatched else {}
        # An attribute says it, and no note: who compares benchmark by benchmark has not asked for the suite row.
        several = several_suites(pair.candidate.array, estimate.copy(data=~np.isnan(estimate.data)), across)
        attrs |= {SUITES: ", ".join(several.values["suites"])} if several else {}
    if request.method in SUITE_ROWS and pair.candidate.array.sizes.get(across, 1) > 1:
        notes.append(Note("suite_unadjusted", SUITE_ROWS[request.method], {}, aside=True))
    if measured.incomplete:
        attrs["n_incomplete_units"] = measured.incomplete
        how = "shared" if pair.jointly else "paired"
        text = f"{measured.incomplete} {how} units ({nest[0]}) lack some benchmarks and are left out of the suite row"
        notes.append(Note("incomplete_units", text, {"units": measured.incomplete}))
    return attrs | measured.engine.attrs, notes


def checks(request: Request, pair: Pair) -> tuple[str, ...]:
    """Return what is counted in the result."""
    declared = request.shared is not None or pair.jointly or request.paired is not None
    specific = "resampling" if request.draws else BEYOND if request.medians else NOISE
    return (UNITS, DEPENDENCE, specific, DECIDING, *(() if declared else (MOVEMENT,)))


def as_given(
    measured: Measured,
    variables: Mapping[Hashable, xr.Variable],
    pair: Pair,
    across: str,
    coords: xr.Coordinates,
    attrs: Mapping[str, Hashable],
) -> xr.Dataset:
    """Put dims in the order of the data and give back the coordinates of the dims averaged over and compared; drop what was not there."""
    array, about = pair.candidate.array, {across, pair.dim}
    if across not in array.dims:
        variables = {name: variable.isel({across: 0}) if across in variable.dims else variable for name, variable in variables.items()}
    present = dict.fromkeys(dim for variable in variables.values() for dim in variable.dims)
    dims = tuple(dict.fromkeys((*(dim for dim in array.dims if dim in present), *present)))
    labels = {name: label for name, label in measured.labels.variables.items() if not {across, *INNER} & set(label.dims)}
    labels |= {name: label for name, label in coords.variables.items() if about & set(label.dims) and set(label.dims) <= set(dims)}
    xindexes = {**measured.labels.xindexes, **coords.xindexes}
    indexes = {name: index for name, index in xindexes.items() if name in labels}
    return xr.Dataset({name: in_order(variable, dims) for name, variable in variables.items()}, xr.Coordinates(labels, indexes), attrs)


def _absent(estimate: xr.Variable, array: xr.DataArray, across: str) -> list[str]:
    """Return the benchmarks that some candidate or the baseline lacks."""
    absent = np.isnan(estimate.values).any(axis=tuple(i for i, dim in enumerate(estimate.dims) if dim != across))
    return [str(label) for label in array[across].values[absent]] if absent.any() else []
