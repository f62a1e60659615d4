"""All verdicts of a call: those of several metrics are corrected together, and the results put side by side."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import xarray as xr

from perfarray.comparisons.engines import Measured
from perfarray.comparisons.findings import as_given, checks
from perfarray.comparisons.request import Request
from perfarray.comparisons.verdicts import decide
from perfarray.conventions import METRIC, RNG_KEY
from perfarray.timings.metrics import metrics_beside, only
from perfarray.timings.notes import Note, collecting, noted
from perfarray.timings.pairs import Pair
from perfarray.timings.resolve import Data, check_names
from perfarray.timings.streams import describe_key, key_of


class Found(NamedTuple):
    """What was measured of one metric, of which systems, and what there is to say of it."""

    measured: Measured
    pair: Pair
    attrs: Mapping[str, Hashable]
    notes: list[Note | None]
    pairs: tuple[str, ...] = ()
    coords: Mapping[Any, xr.DataArray] | None = None


def over_family(gather: Callable[[Data, object, Request], Found], times: Data, baseline: object, request: Request) -> xr.Dataset:
    """Gather evidence of every metric asked for, and decide on all of it at once."""
    if request.metric is None or isinstance(request.metric, str):
        found = gather(times, baseline, request)
        return _finish(decide([found.measured], request, found.pairs)[0], found, request)
    names = check_names(request.metric, METRIC)
    own = replace(request, rng=str(describe_key(key_of(request.rng))[RNG_KEY])) if request.draws else request
    with collecting() as notes:
        parts = [gather(only(times, name), only(baseline, name), replace(own, metric=name)) for name in names]
        decided = decide([part.measured for part in parts], request, parts[0].pairs, metrics=True)
        results = [_finish(result, part, request) for result, part in zip(decided, parts, strict=True)]
    return noted(metrics_beside(results, names, times), *notes)


def _finish(result: xr.Dataset, found: Found, request: Request) -> xr.Dataset:
    """Label the verdicts as the data are, and say what there is to say."""
    result = as_given(result, found.pair, request.across, found.coords)
    return noted(result.assign_attrs({**found.attrs, **result.attrs}), *found.notes, checks=checks(request, found.pair))
