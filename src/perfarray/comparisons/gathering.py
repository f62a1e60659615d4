"""What is measured of one metric: the systems are resolved, an engine gives evidence, and what there is to say of both is found."""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import xarray as xr

from perfarray.comparisons.engines import Measured, measure
from perfarray.comparisons.findings import describe
from perfarray.comparisons.medians import check_runs
from perfarray.comparisons.request import Request
from perfarray.conventions import METRIC, RNG_KEY
from perfarray.timings.across import check_across
from perfarray.timings.metrics import only
from perfarray.timings.notes import Note
from perfarray.timings.pairs import Pair, resolve_pair
from perfarray.timings.resolve import Data, check_names
from perfarray.timings.streams import describe_key, key_of


class Found(NamedTuple):
    """What was measured of one metric, of which systems, and what there is to say of it; `coords` are the labels of the data."""

    measured: Measured
    pair: Pair
    attrs: Mapping[str, Hashable]
    notes: list[Note | None]
    coords: xr.Coordinates
    pairs: tuple[str, ...] = ()


def gather(times: Data, baseline: object, request: Request) -> Found:
    """Resolve two systems, measure, and describe what was found."""
    pair = resolve_pair(
        times,
        baseline,
        dim=request.dim,
        metric=request.metric,
        levels=request.levels,
        paired=request.paired,
        shared=request.shared,
        positive="" if request.medians else "a comparison",
        positive_at=0 if request.resample is None else -1,
        censored=request.censored,
    )
    check_across(request.across, pair.candidate.array, pair.candidate.levels, pair.dim)
    depth, zeros = check_runs(pair, request.value, request.method, request.paired) if request.medians else (0, [])
    measured = measure(pair, request, depth)
    attrs, notes = describe(measured, pair, request)
    return Found(measured, pair, attrs, [*zeros, *notes], pair.candidate.array.coords)


def of_metrics(times: Data, baseline: object, request: Request) -> Iterator[tuple[Data, object, Request]]:
    """Yield what is asked of every metric: of several, each in data of its own, all from one key of random numbers."""
    if isinstance(request.metric, str | None):
        yield times, baseline, request
        return
    seeded = replace(request, rng=str(describe_key(key_of(request.rng))[RNG_KEY])) if request.draws else request
    for name in check_names(request.metric, METRIC):
        yield only(times, name), only(baseline, name), replace(seeded, metric=name)
