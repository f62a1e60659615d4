"""Histograms and percentiles of replicates, for the picture of a bootstrap distribution."""

import numpy as np
import xarray as xr

from perfarray.comparisons.bootstrap import OBSERVED, REPLICATE
from perfarray.numerics.curves import histogram
from perfarray.numerics.types import Floats
from perfarray.timings.apply import apply, outputs
from perfarray.timings.labels import find_dim
from perfarray.timings.validation import check_confidence_level, check_count


def histograms(
    distribution: xr.DataArray,
    *,
    baseline: object = None,
    confidence_level: float = 0.95,
    bins: int = 40,
) -> xr.Dataset:
    """Count the replicates of a distribution, or of ratios to a baseline, in bins.

    Returns
    -------
    Dataset
        `edges` along `edge` (units of the data), `counts` along `bin` (NaN where all replicates are
        one value), and the plain percentiles `lower` and `upper`, beside the coordinates and attrs
        of the distribution.
    """
    level, number = check_confidence_level(confidence_level), check_count(bins, "bins")
    distribution = distribution if baseline is None else _ratios(distribution, baseline)
    units = str(distribution.attrs.get("units", "1"))

    def kernel(replicates: Floats) -> tuple[Floats, ...]:
        measured = np.where(np.isfinite(replicates), replicates, np.nan)
        rows = ~np.isnan(measured).all(axis=-1)
        limits = np.full((2, *rows.shape), np.nan)
        limits[:, rows] = np.nanquantile(
            measured[rows], [(1 - level) / 2, (1 + level) / 2], axis=-1
        )
        return *histogram(measured, number), *limits

    named = (
        outputs(units, ("edge",), edges="")
        | outputs("1", ("bin",), counts="")
        | outputs(units, lower="", upper="")
    )
    attrs = distribution.attrs | {
        "confidence_level": level,
        "n_resamples": distribution.sizes[REPLICATE],
    }
    return apply(
        kernel,
        distribution,
        core=[[REPLICATE]],
        outputs=named,
        coords={"edge": range(number + 1), "bin": range(number)},
        attrs=attrs,
    )


def _ratios(distribution: xr.DataArray, baseline: object) -> xr.DataArray:
    """Divide replicates, and the statistic of the data, of every label by those of one."""
    dim, labels = find_dim(distribution, baseline, (REPLICATE,))
    is_baseline = np.array([label == baseline for label in labels])
    if is_baseline.all():
        raise ValueError(f"nothing to compare with: {baseline!r} is the only label along {dim!r}")
    new, old = (
        distribution.isel({dim: ~is_baseline}),
        distribution.isel({dim: int(is_baseline.argmax())}),
    )
    observed = (
        {OBSERVED: new[OBSERVED].variable / old[OBSERVED].variable}
        if OBSERVED in new.coords
        else {}
    )
    ratio = new.copy(data=(new.variable / old.variable).data).assign_coords(observed)
    return ratio.assign_attrs(units="1", dim=dim, baseline=str(baseline))
