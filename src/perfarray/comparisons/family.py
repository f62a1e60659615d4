"""All verdicts of a call: those of several metrics are corrected together, and the results put side by side."""

from collections.abc import Sequence

import xarray as xr

from perfarray.comparisons.findings import as_given, checks
from perfarray.comparisons.gathering import Found
from perfarray.comparisons.request import Request
from perfarray.comparisons.verdicts import decide
from perfarray.timings.metrics import metrics_beside
from perfarray.timings.notes import collecting, noted


def conclude(parts: Sequence[Found], request: Request) -> xr.Dataset:
    """Decide on what was found of every metric asked for, all at once; label it as the data are, and say what there is to say."""
    decided, family = decide([part.measured for part in parts], request, parts[0].pairs)
    attrs = {"family": " ".join(sorted(family))} if request.correction else {}
    with collecting() as notes:
        results = []
        for part, found in zip(parts, decided, strict=True):
            counted = checks(request, part.pair)
            result = as_given(part.measured, found, part.pair, request.across, part.coords, {**part.attrs, **attrs})
            results.append(noted(result, *part.notes, checks=counted))
    if isinstance(request.metric, str | None):
        return noted(results[0], *notes)
    return noted(metrics_beside(results, request.metric, [part.pair.candidate.array for part in parts]), *notes)
