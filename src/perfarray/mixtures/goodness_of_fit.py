"""A test of fit: whether a mixture describes the runs of a program."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from perfarray.mixtures.fit import check_positive, families_of, request_of
from perfarray.mixtures.joint import is_joint
from perfarray.mixtures.model import PARAMETERS, parameter_dims, parameters_of, scaled_mixture
from perfarray.mixtures.numerics.fit import STOPPED, FitRequest, weighted_samples
from perfarray.mixtures.numerics.goodness_of_fit import AUTO, calibrated_fit, fitted
from perfarray.numerics.levels import values_by_unit
from perfarray.numerics.types import Floats, Integers
from perfarray.results.models import FittedModel
from perfarray.timings.apply import apply, outputs
from perfarray.timings.metrics import for_each_metric
from perfarray.timings.notes import Note, check, with_notes
from perfarray.timings.options import engine
from perfarray.timings.progress import cells_bar
from perfarray.timings.resolve import Data, resolve
from perfarray.timings.streams import Rng, cell_keys, describe_key, key_of
from perfarray.timings.units import cells_note, describe_value, value_depth
from perfarray.timings.validation import check_count, check_number, check_share

REPLICATE = "replicate"

DISTANCE = "Kolmogorov-Smirnov distance"
ROUNDED = "what drawn values were rounded to, 0 where they were not"


@for_each_metric
def goodness_of_fit(
    times: Data,
    mixture: FittedModel | None = None,
    *,
    n_resamples: int = 200,
    undersample: float = 1.0,
    resolution: float | str | None = AUTO,
    rng: Rng = None,
    alpha: float = 0.05,
    distribution: bool = False,
    tolerance: float | None = STOPPED,
    progress: bool | None = None,
    value: str | None = None,
    levels: str | tuple[str, ...] | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Test whether a mixture describes the runs of every cell.

    The statistic is the Kolmogorov-Smirnov distance between the runs and their mixture, compared
    with the distances of samples drawn from it.

    Parameters
    ----------
    mixture : GaussianMixture, optional
        The mixture to test, with the labels of the data. Default: that of `fit_mixture`.
    n_resamples, rng : int; int, str or numpy.random.Generator, optional
        Samples drawn for each cell; their seed, or the `rng_key` of a result.
    undersample : float
        Their size as a share of the data's.
    resolution : {"auto"}, float or None
        The step that the data are rounded to, in their units; "auto" finds it, None: not rounded.
    alpha : float
        The risk of the critical value.
    distribution : bool
        Keep the distances of the samples drawn.
    tolerance : float, optional
        Without `mixture`: where EM stops, as in `fit_mixture`.
    times, progress, value, levels, metric
        As for `fit_mixture`.

    Returns
    -------
    Dataset
        For each cell `statistic` (the distance), `critical_value`, `pvalue`, `pvalue_error` (Monte
        Carlo), `n` (runs), and in the units of the data `resolution` (0: not rounded). With
        `distribution`, along `replicate`, `null_distance`. Constant samples have NaN.

    Raises
    ------
    ValueError
        Unknown levels or value; numbers out of range; something that is no mixture.

    Notes
    -----
    Runs are taken as independent. A large p does not prove the mixture: 30 runs contradict little.
    See :doc:`/papers/worms_touati`.

    References
    ----------
    J. Worms, S. Touati, "Parametric and non-parametric statistics for program performance analysis
    and comparison", 2016, section 5.

    Examples
    --------
    One normal component does not describe two modes.

    >>> import numpy as np, perfarray
    >>> runs = np.random.default_rng(1).normal(np.repeat([1.0, 1.2], 40), 0.01)
    >>> times = perfarray.from_samples({"fft": runs}, dim="benchmark")
    >>> fit = times.perf.fit_mixture(n_components=1)
    >>> times.perf.goodness_of_fit(fit, n_resamples=50, rng=1)["pvalue"].item() < 0.05
    True
    """
    share = check_number(undersample, "undersample")
    if not 0 < share <= 1:
        raise ValueError(
            f"undersample={undersample!r} is out of range; give one above 0 and up to 1"
        )
    if resolution is not None and not (isinstance(resolution, str) and resolution == AUTO):
        number: Any = resolution
        resolution = check_positive(number, "resolution", f"a positive number, {AUTO!r} or None")
    n_samples, key = check_count(n_resamples, "n_resamples", 2), key_of(rng)
    risk = check_share(alpha, "alpha", example="0.05")
    parameters, request = _parameters_and_request(mixture, tolerance)
    data = resolve(times, metric, levels, any_size=True)
    depth, keys = value_depth(data, value), cell_keys([data.array], data.levels)
    bar = cells_bar(keys, "testing fits", show=progress)
    kernel = partial(
        _test_cells,
        levels=len(data.levels),
        depth=depth,
        request=request,
        reporting=request if bar is None else replace(request, progress=bar.update),
        with_replicates=distribution,
        n_samples=n_samples,
        undersample=share,
        resolution=resolution,
        alpha=risk,
        key=key,
    )
    variables = outputs(
        statistic=DISTANCE,
        critical_value=f"critical value at {risk:.3g}",
        pvalue="",
        pvalue_error="Monte Carlo standard error of the p-value",
    )
    variables |= outputs(data.units, resolution=ROUNDED)
    variables |= outputs(n="runs")
    if distribution:
        variables |= outputs("1", (REPLICATE,), null_distance=f"{DISTANCE} of a sample drawn")
    result = apply(
        kernel,
        data.array,
        keys,
        *parameters,
        core=[data.levels, (), *parameter_dims(parameters)],
        outputs=variables,
        coords={REPLICATE: range(n_samples)} if distribution else {},
        attrs={
            **describe_value(data, depth),
            "result": "goodness_of_fit",
            "alpha": risk,
            "n_resamples": n_samples,
            "undersample": share,
            "engine": request.engine,
            "resolution": "none" if resolution is None else resolution,
            **({} if request.tolerance is None else {"tolerance": request.tolerance}),
            **describe_key(key),
        },
    )
    if bar is not None:
        bar.close()
    return with_notes(result, *data.notes, checks=("goodness_of_fit",))


def _test_cells(
    values: Floats,
    cells: Integers,
    *parameters: Any,
    levels: int,
    depth: int,
    request: FitRequest,
    reporting: FitRequest,
    with_replicates: bool,
    **calibration: Any,
) -> tuple[Floats, ...]:
    """Test every cell, against the mixtures of the given parameters or those fitted to it."""
    runs = values_by_unit(values, levels, depth)
    batch, (sample, weights) = runs.shape[:-2], weighted_samples(runs)
    mixtures = scaled_mixture(*parameters).rows(batch) if parameters else None
    *columns, replicates = calibrated_fit(
        sample,
        weights,
        fitted(sample, weights, request) if mixtures is None else mixtures,
        np.broadcast_to(cells, batch).ravel(),
        request=reporting,
        **calibration,
    )
    n = (~np.isnan(sample)).sum(axis=-1).astype(float)
    answers = (*columns, n, *([replicates] * with_replicates))
    return tuple(answer.reshape((*batch, *answer.shape[1:])) for answer in answers)


def _parameters_and_request(
    mixture: object, tolerance: float | None
) -> tuple[list[xr.DataArray], FitRequest]:
    """Return the parameters of a mixture, and how drawn samples are fitted: as the mixture was."""
    default = FitRequest(
        tolerance=None if tolerance is None else check_positive(tolerance, "tolerance"),
        engine=engine(),
    )
    if mixture is None:
        return [], default
    dataset = mixture.to_dataset() if isinstance(mixture, FittedModel) else xr.Dataset()
    if not set(PARAMETERS) <= set(dataset.data_vars):
        raise ValueError(
            f"mixture is a {type(mixture).__name__}; give what fit_mixture or "
            "GaussianMixture.from_parameters returns"
        )
    if is_joint(dataset):
        raise ValueError(
            "a mixture of several metrics together has no test of fit; test each metric's own, "
            "fitted without joint=True"
        )
    arrays = [array.reset_coords(drop=True) for array in parameters_of(dataset)]
    return arrays, request_of(dataset) or replace(default, families=families_of(dataset))


@check("goodness_of_fit")
def untested_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Name the cells without a test: those without a mixture have no distance either."""
    n, bare = result["n"], result["statistic"].isnull()
    untested = result["pvalue"].isnull() & (n > 0)
    cases = (
        ("no_value", "{cells} have no measured value, and no test", n == 0),
        ("no_mixture", "{cells} have no mixture, and no test", untested & bare),
        ("constant", "{cells} are constant and have no test", untested & ~bare),
    )
    return tuple(cells_note(code, text, n, where.values) for code, text, where in cases)
