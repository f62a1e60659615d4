"""All verdicts of a call: those of several metrics are corrected together, and the results put side by side."""

from collections.abc import Sequence

import xarray as xr

from perfarray.comparisons.findings import as_given, checks
from perfarray.comparisons.gathering import Found
from perfarray.comparisons.request import Request
from perfarray.comparisons.verdicts import decide
from perfarray.timings.metrics import metrics_beside
from perfarray.timings.notes import collecting, noted


def conclude(findings: Sequence[Found], request: Request) -> xr.Dataset:
    """Decide on what was found of every metric asked for, all at once; label it as the data are, and say what there is to say."""
    decided, family = decide([finding.measured for finding in findings], request, findings[0].pairs)
    attrs = {"family": " ".join(sorted(family))} if request.correction else {}
    with collecting() as notes:
        results = []
        for finding, variables in zip(findings, decided, strict=True):
            counted = checks(request, finding.pair)
            result = as_given(finding.measured, variables, finding.pair, request.across, finding.coords, {**finding.attrs, **attrs})
            results.append(noted(result, *finding.notes, checks=counted))
    if isinstance(request.metric, str | None):
        return noted(results[0], *notes)
    return noted(metrics_beside(results, request.metric, [finding.pair.candidate.array for finding in findings]), *notes)
