"""What the picture of a bootstrap distribution shows: histograms of the replicates, and their percentiles."""

import numpy as np
import xarray as xr

from perfarray.comparisons.bootstrap import REPLICATE
from perfarray.numerics.curves import histogram
from perfarray.numerics.types import Floats
from perfarray.timings.apply import apply, outputs
from perfarray.timings.validation import check_confidence_level, check_count


def histograms(distribution: xr.DataArray, *, confidence_level: float = 0.95, bins: int = 40) -> xr.Dataset:
    """Count the replicates of every cell in bins.

    Parameters
    ----------
    distribution : DataArray
        What `bootstrap_distribution` returned, or a selection of it.
    confidence_level : float
        Share of the replicates between `lower` and `upper`.
    bins : int
        Bins of a histogram.

    Returns
    -------
    Dataset
        `edges` along `edge` (units of the data), `counts` along `bin` (NaN where all replicates are one value), `lower` and `upper`, the
        plain percentiles, beside what coordinates and attrs the distribution has.
    """
    level, number = check_confidence_level(confidence_level), check_count(bins, "bins")
    units = str(distribution.attrs.get("units", "1"))

    def kernel(replicates: Floats) -> tuple[Floats, ...]:
        measured = np.where(np.isfinite(replicates), replicates, np.nan)
        known = ~np.isnan(measured).all(axis=-1)
        limits = np.full((2, *known.shape), np.nan)
        limits[:, known] = np.nanquantile(measured[known], [(1 - level) / 2, (1 + level) / 2], axis=-1)
        return *histogram(measured, number), *limits

    named = outputs(units, ("edge",), edges="") | outputs("1", ("bin",), counts="") | outputs(units, lower="", upper="")
    attrs = distribution.attrs | {"confidence_level": level, "n_resamples": distribution.sizes[REPLICATE]}
    return apply(
        kernel, distribution, core=[[REPLICATE]], outputs=named, coords={"edge": range(number + 1), "bin": range(number)}, attrs=attrs
    )
