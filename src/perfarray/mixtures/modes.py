"""How many modes a system has, and at which level of the nest they live."""

from functools import partial

import xarray as xr

from perfarray.mixtures.numerics.metrics import MIXTURE, numbers_of_modes, numbers_of_modes_by_level
from perfarray.mixtures.systems import Request, Runs, resolve_systems
from perfarray.timings.apply import LEVEL, Output, apply
from perfarray.timings.metrics import over_metrics
from perfarray.timings.notes import noted
from perfarray.timings.resolve import Timings, resolve
from perfarray.timings.results import Result
from perfarray.timings.streams import Rng


@over_metrics
def variability_level(
    times: Runs,
    *,
    by_level: bool = False,
    confidence_level: float = 0.95,
    n_resamples: int = 0,
    rng: Rng = None,
    value: str | None = None,
    levels: str | tuple[str, ...] | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Count the modes of the run times: the different values around which they gather, in the density of a fitted mixture.

    Parameters
    ----------
    times : DataArray, Dataset or GaussianMixture
        Timings; dims that are not levels broadcast. Or mixtures, such as `fit_mixture` gives.
    by_level : bool
        Ask where the modes live: for every level, the means of its repetitions, centred on the mean they lie inside (those of the
        outermost as they are), are fitted on their own.
    confidence_level : float
        Between 0 and 1.
    n_resamples : int
        Samples drawn from the fit and fitted again, to see how stable the number is; 0 for none. Not by level.
    rng, value, levels, metric : optional
        As for `mean_difference`.

    Returns
    -------
    Dataset
        `estimate`, the number of modes; `lower`, `upper`, percentiles of the number over refitted samples, and `stability`, the share
        of them with the same number (NaN where none are drawn); `n`, units. By level: `estimate` and `n` (values fitted) along `level`.

    Raises
    ------
    ValueError
        Unknown levels; `by_level` with a mixture or with n_resamples.

    Notes
    -----
    From 20 runs on the number tends to be too small, where there are several modes: BIC prefers fewer components (section 6.5.6: exact in
    45.5 % of samples of 30 runs and 63.9 % of 200). Below, it is too large: of samples of one normal mode it is 1 in 20 % at 5 runs, 38 %
    at 10, 80 % at 20. By level, means of few repetitions blur what lies below, and deviations from the mean of few spread a mode: two
    modes inside executions show as one or three where an execution has two or three iterations.

    References
    ----------
    J. Worms, S. Touati, "Parametric and non-parametric statistics for program performance analysis and comparison", 2016, equation 14.

    Examples
    --------
    >>> import numpy as np, perfarray
    >>> rng = np.random.default_rng(1)
    >>> runs = np.concatenate([rng.normal(1.0, 0.01, 60), rng.normal(1.2, 0.01, 40)])
    >>> perfarray.from_samples({"old": runs}).perf.variability_level()["estimate"].values.tolist()
    [2.0]
    """
    if by_level:
        if isinstance(times, Result) or n_resamples:
            raise ValueError("by_level=True fits every level of timings once: give timings, and no n_resamples")
        return _modes_by_level(resolve(times, metric, levels))
    request = Request(
        method=MIXTURE, confidence_level=confidence_level, n_resamples=n_resamples, rng=rng, value=value, levels=levels, metric=metric
    )
    systems = resolve_systems(times, request)
    outputs = {name: Output((), "1") for name in ("estimate", "lower", "upper")} | {
        "stability": Output((), "1", long_name="share of refitted samples with the same number of modes"),
        "n": Output((), "1", long_name="independent units"),
    }
    checks = ("run_units", "run_percentiles") if n_resamples else ()
    return systems.compute(numbers_of_modes, outputs, {"result": "variability_level"}, checks)


def _modes_by_level(data: Timings) -> xr.Dataset:
    """Fit the means of every level, centred on the mean they lie inside."""
    outputs = {"estimate": Output((LEVEL,), "1", long_name="modes"), "n": Output((LEVEL,), "1", long_name="values fitted")}
    attrs = data.describe() | {"result": "variability_level", "method": "mixture"}
    kernel = partial(numbers_of_modes_by_level, levels=len(data.levels))
    result = apply(kernel, data.array, core=[data.levels], outputs=outputs, coords={LEVEL: list(data.levels)}, attrs=attrs)
    return noted(result, *data.notes)
