"""What the picture of a suite's scores shows: their densities."""

import xarray as xr

from perfarray.numerics.curves import kernel_density
from perfarray.suites.distributions import REPLICATE
from perfarray.timings.apply import apply, outputs

PLACES = 400
"""Places at which a density is estimated."""

BEYOND = 3.0
"""How far a density reaches beyond the scores, in standard deviations of its kernel."""


def densities(scores: xr.DataArray) -> xr.Dataset:
    """Estimate the density of every cell's scores.

    Parameters
    ----------
    scores : DataArray
        What `score_distribution` returned, or a selection of it.

    Returns
    -------
    Dataset
        Along `place`: `score` (units of the scores) and `density`, NaN where the score never varies: Gaussian kernels by Scott's rule.
        Coordinates and attrs are those of the scores.
    """
    units = str(scores.attrs.get("units", "1"))
    named = outputs(units, ("place",), score="") | outputs("", ("place",), density="")
    return apply(
        lambda values: kernel_density(values, PLACES, beyond=BEYOND),
        scores,
        core=[[REPLICATE]],
        outputs=named,
        coords={"place": range(PLACES)},
        attrs=scores.attrs,
    )
