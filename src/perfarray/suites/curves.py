"""What the pictures of a suite's scores show: their densities, and histograms of ratios."""

from typing import Final

import numpy as np
import xarray as xr

from perfarray.numerics.curves import histogram, kernel_density
from perfarray.numerics.types import Floats
from perfarray.suites.matching import REPLICATE
from perfarray.timings.apply import apply, outputs
from perfarray.timings.validation import check_count

PLACES = 400  # places at which a density is estimated
QUARTILES = (0.25, 0.5, 0.75)
BEYOND = 3.0  # how far a density reaches beyond the scores, in standard deviations of its kernel

# By the variable that holds ratios of redrawn scores, that of the observed ratio.
OBSERVED: Final = {"null_distribution": "statistic", "distribution": "estimate"}


def densities(scores: xr.DataArray) -> xr.Dataset:
    """Estimate the density of every cell's scores, and their quartiles.

    Parameters
    ----------
    scores : DataArray
        What `score_distribution` returned, or a selection of it.

    Returns
    -------
    Dataset
        Along `place`: `score` (units of the scores) and `density`, NaN where the score never
        varies: Gaussian kernels by Scott's rule. Along `quartile`: `quartiles` (units of the
        scores). Coordinates and attrs are those of the scores.
    """
    units = str(scores.attrs.get("units", "1"))
    variables = (
        outputs(units, ("place",), score="")
        | outputs("", ("place",), density="")
        | outputs(units, ("quartile",), quartiles="")
    )
    labels = {"place": range(PLACES), "quartile": QUARTILES}

    def density_and_quartiles(values: Floats) -> tuple[Floats, ...]:
        quartiles = np.moveaxis(np.quantile(values, QUARTILES, axis=-1), 0, -1)
        return *kernel_density(values, points=PLACES, beyond=BEYOND), quartiles

    return apply(
        density_and_quartiles,
        scores,
        core=[[REPLICATE]],
        outputs=variables,
        coords=labels,
        attrs=scores.attrs,
    )


def ratio_histograms(result: xr.Dataset, *, bins: int = 40) -> xr.Dataset:
    """Count the ratios of every cell in bins.

    Parameters
    ----------
    result : Dataset
        What `randomization_test` or `score_ratio_interval` returned with `distribution=True`, or a
        selection of it.
    bins : int
        Bins of a histogram.

    Returns
    -------
    Dataset
        `edges` along `edge`, `counts` along `bin` (NaN where all ratios are one value), `observed`,
        and what the result has: `pvalue`, or `lower` and `upper`. The attr `result` is the name of
        the variable that was counted.
    """
    number = check_count(bins, "bins")
    name = next(name for name in OBSERVED if name in result)
    variables = outputs("1", ("edge",), edges="") | outputs("1", ("bin",), counts="")
    labels = {"edge": range(number + 1), "bin": range(number)}
    histograms = apply(
        lambda ratios: histogram(ratios, number),
        result[name],
        core=[[REPLICATE]],
        outputs=variables,
        coords=labels,
    )
    return (
        result.drop_dims(REPLICATE)
        .rename({OBSERVED[name]: "observed"})
        .assign(histograms)
        .assign_attrs(result=name)
    )
