"""A test of fit: whether a mixture describes the runs of a program."""

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from perfarray.mixtures.fit import check_positive, families_of, request_of
from perfarray.mixtures.joint import is_joint
from perfarray.mixtures.model import PARAMETERS, parameter_dims, parameters_of, scaled_mixture
from perfarray.mixtures.numerics.fit import STOPPED, FitRequest, weighted_samples
from perfarray.mixtures.numerics.goodness_of_fit import AUTO, Calibration, calibrated_fit, fitted
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

    The statistic is the Kolmogorov-Smirnov distance between the runs and their mixture. Samples of
    as many runs are drawn from the mixture, a mixture is fitted to each, number of components and
    model chosen anew, and p is the share of them that lie further from their own mixture than the
    data from theirs.

    Parameters
    ----------
    mixture : GaussianMixture, optional
        The mixture to test, with the labels of the data: the samples drawn are fitted as it was
        (models, tolerance, families, a number of components given as `n_components`). Default: the
        mixture that `fit_mixture` finds at `tolerance`.
    n_resamples, rng : int; int, str or numpy.random.Generator, optional
        Samples drawn for each cell, and their seed or the `rng_key` of an earlier result.
    undersample : float
        Their size as a share of the data's. The paper advises 0.9 for some hundreds of runs, where
        the test rejects a little too often, and 1 for few.
    resolution : {"auto"}, float or None
        The step that the data are rounded to, in their units: drawn values are rounded likewise,
        since the test would reject ties. "auto" finds it in each cell: the step of which all
        differences are multiples, if that is at least a millionth of the range. None takes the data
        as continuous.
    alpha : float
        The risk that the critical value belongs to.
    distribution : bool
        Keep the distances of the samples drawn.
    tolerance : float, optional
        Without `mixture`: the relative change of the log-likelihood at which EM stops, for the data
        and the samples drawn; None goes on to the maximum, which takes several times as long.
    progress : bool, optional
        Show a progress bar that counts cells; a lazy result has none. Default: in a terminal or a
        notebook, after a second.
    times, value, levels, metric
        As for `fit_mixture`.

    Returns
    -------
    Dataset
        For each cell, without a unit: `statistic` (the distance), `critical_value` (the N (1 -
        alpha)-th of the N distances drawn, rounded down), `pvalue`, `pvalue_error` (its Monte Carlo
        standard error) and `n` (runs); and in the units of the data `resolution`, the step drawn
        values were rounded to, 0 if they were not. With `distribution`, along `replicate`,
        `null_distance`, the distances of the samples from their own mixtures, which `.perf.plot()`
        draws (figure 9). Constant samples and those without a mixture have NaN.

    Raises
    ------
    ValueError
        Unknown levels or value; an undersampling outside 0 to 1; a resolution or tolerance that is
        not positive; something that is no mixture.

    Notes
    -----
    Runs are taken as independent. If units have unequal numbers of runs, the distance weights units
    alike, and the samples drawn have runs of equal weight. A large p-value says that the runs do
    not contradict the mixture; 30 runs contradict little. With hundreds of runs the test also
    rejects mixtures whose smallest components hold too few runs for BIC to keep them; see
    :doc:`/papers/worms_touati` in the documentation.

    A cell of 60 runs takes 0.4 s per 100 samples drawn, 8 s with
    `fit_mixture(distribution="best")`; `n_resamples=99` tells a p of 0.05 to within 0.02. Samples
    of 1,200 runs or more are fitted with neighbouring values grouped, which changes distances by
    less than 1 %.

    References
    ----------
    J. Worms, S. Touati, "Parametric and non-parametric statistics for program performance analysis
    and comparison", 2016, section 5.

    Examples
    --------
    Two modes are described by a mixture of two components and not by one.

    >>> import numpy as np, perfarray
    >>> runs = np.random.default_rng(1).normal(np.repeat([1.0, 1.2], 40), 0.01)
    >>> times = perfarray.from_samples({"fft": runs}, dim="benchmark")
    >>> fits = [times.perf.fit_mixture(), times.perf.fit_mixture(n_components=1)]
    >>> [times.perf.goodness_of_fit(fit, n_resamples=50, rng=1)["pvalue"].item() < 0.05 for fit in fits]
    [False, True]
    """
    share = check_number(undersample, "undersample")
    if not 0 < share <= 1:
        raise ValueError(
            f"undersample={undersample!r} is out of range; give a share of the runs above 0 "
            "and up to 1, such as 0.9"
        )
    calibration = Calibration(
        n_resamples=check_count(n_resamples, "n_resamples", 2),
        undersample=share,
        resolution=_check_resolution(resolution),
        alpha=check_share(alpha, "alpha", example="0.05"),
        key=key_of(rng),
    )
    default = FitRequest(
        tolerance=None if tolerance is None else check_positive(tolerance, "tolerance"),
        engine=engine(),
    )
    parameters, request = (
        ([], default) if mixture is None else _parameters_and_request(mixture, default)
    )
    data = resolve(times, metric, levels, any_size=True)
    n_levels, depth, keys = (
        len(data.levels),
        value_depth(data, value),
        cell_keys([data.array], data.levels),
    )
    bar = cells_bar(keys, "testing fits", show=progress)
    reporting = request if bar is None else replace(request, progress=bar.update)

    def kernel(values: Floats, cells: Integers, *parameters: Any) -> tuple[Floats, ...]:
        """Test every cell, against the mixtures of the given parameters or those fitted to it.

        Return the distances drawn on request.
        """
        runs = values_by_unit(values, n_levels, depth)
        batch, (sample, weights) = runs.shape[:-2], weighted_samples(runs)
        scaled = (
            scaled_mixture(*parameters).rows(batch)
            if parameters
            else fitted(sample, weights, request)
        )
        *columns, replicates = calibrated_fit(
            sample, weights, scaled, np.broadcast_to(cells, batch).ravel(), reporting, calibration
        )
        n = (~np.isnan(sample)).sum(axis=-1).astype(float)
        return tuple(
            column.reshape((*batch, *column.shape[1:]))
            for column in (*columns, n, *([replicates] * distribution))
        )

    variables = outputs(
        statistic="Kolmogorov-Smirnov distance",
        critical_value=f"critical value at {calibration.alpha:.3g}",
        pvalue="",
    )
    variables |= outputs(pvalue_error="Monte Carlo standard error of the p-value")
    variables |= outputs(
        data.units, resolution="what drawn values were rounded to, 0 where they were not"
    ) | outputs(n="runs")
    coords = {}
    if distribution:
        variables |= outputs(
            "1", (REPLICATE,), null_distance="Kolmogorov-Smirnov distance of a sample drawn"
        )
        coords = {REPLICATE: range(calibration.n_resamples)}
    core = [data.levels, (), *parameter_dims(parameters)]
    attrs = (
        describe_value(data, depth)
        | {"result": "goodness_of_fit"}
        | _describe(request, calibration)
    )
    result = apply(
        kernel,
        data.array,
        keys,
        *parameters,
        core=core,
        outputs=variables,
        coords=coords,
        attrs=attrs,
    )
    if bar is not None:
        bar.close()
    return with_notes(result, *data.notes, checks=("goodness_of_fit",))


def _describe(request: FitRequest, calibration: Calibration) -> dict[str, Hashable]:
    attrs: dict[str, Hashable] = {
        "alpha": calibration.alpha,
        "n_resamples": calibration.n_resamples,
        "undersample": calibration.undersample,
        "engine": request.engine,
        "resolution": "none" if calibration.resolution is None else calibration.resolution,
    }
    attrs |= {"tolerance": request.tolerance} if request.tolerance is not None else {}
    return attrs | describe_key(calibration.key)


def _check_resolution(resolution: Any) -> float | str | None:
    if resolution is None or (isinstance(resolution, str) and resolution == AUTO):
        return resolution
    return check_positive(resolution, "resolution", f"a positive number, {AUTO!r} or None")


def _parameters_and_request(
    mixture: object, default: FitRequest
) -> tuple[list[xr.DataArray], FitRequest]:
    """Return the parameters of a mixture, and how drawn samples are fitted: as the mixture was."""
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
    """Name the cells without a test: those without a mixture, which have no distance either, and constant ones."""
    n, bare = result["n"], result["statistic"].isnull()
    untested = result["pvalue"].isnull() & (n > 0)
    return (
        cells_note("no_value", "{cells} have no measured value, and no test", n, (n == 0).values),
        cells_note(
            "no_mixture", "{cells} have no mixture, and no test", n, (untested & bare).values
        ),
        cells_note(
            "constant", "{cells} are constant and have no test", n, (untested & ~bare).values
        ),
    )
