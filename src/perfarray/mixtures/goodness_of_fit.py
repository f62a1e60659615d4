"""Whether a mixture of normal distributions describes the runs of a program."""

from collections.abc import Hashable
from typing import Any

import numpy as np
import xarray as xr

from perfarray.mixtures.model import COMPONENT, PARAMETERS, scales
from perfarray.mixtures.numerics.fit import EQUAL, MOST_COMPONENTS, STOPPED, UNEQUAL, samples_of_cells
from perfarray.mixtures.numerics.functions import Mixture
from perfarray.mixtures.numerics.goodness_of_fit import Refit, calibrated_fit
from perfarray.mixtures.numerics.scale import PLAIN, Scaled
from perfarray.numerics.types import Floats
from perfarray.timings.apply import Output, apply, is_chunked
from perfarray.timings.metrics import over_metrics
from perfarray.timings.notes import warn
from perfarray.timings.options import engine
from perfarray.timings.resampling import Rng, cell_numbers, key_of
from perfarray.timings.resolve import Data, resolve
from perfarray.timings.results import Result
from perfarray.timings.units import describe_value, value_place
from perfarray.timings.validation import check_between, check_count, check_number


@over_metrics
def goodness_of_fit(
    times: Data,
    mixture: Result | None = None,
    *,
    n_resamples: int = 200,
    undersample: float = 1.0,
    resolution: float | None = None,
    rng: Rng = None,
    alpha: float = 0.05,
    tolerance: float | None = STOPPED,
    progress: bool = False,
    value: str | None = None,
    levels: str | tuple[str, ...] | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Test whether a mixture of normal distributions describes the runs of every cell.

    The statistic is the Kolmogorov-Smirnov distance between the runs and their mixture. Samples of as many runs are drawn from the
    mixture, a mixture is fitted to each, number of components and model chosen anew, and p is the share of them that lie further from
    their own mixture than the data from theirs.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings; dims that are not levels broadcast.
    mixture : GaussianMixture, optional
        What to test, with the labels of the data: the samples drawn are fitted as it was (models, tolerance, and a number of components
        given as `n_components`, logarithms). Default: the mixture that `fit_mixture` finds at `tolerance`.
    n_resamples : int
        Samples drawn for each cell.
    undersample : float
        Their size as a share of the data's. The paper advises 0.9 for some hundreds of runs, where the test rejects a little too often,
        and 1 for few.
    resolution : float, optional
        What the data are rounded to, in their units: drawn values are rounded likewise. Without it the test rejects rounded data too
        often, since they have ties and what is drawn has none.
    rng : int, numpy.random.Generator, optional
        Seed. Every cell has random numbers of its own, which do not depend on the order of dims or on chunks.
    alpha : float
        The risk that the critical value belongs to.
    tolerance : float, optional
        Where no mixture is given: the relative change of the log-likelihood at which EM stops, for the data and for what is drawn; None
        goes on to the maximum, which takes several times as long.
    progress : bool
        Show a progress bar that counts cells; a lazy result has none.
    value : str, optional
        The level whose repetitions are runs; lower levels are averaged first. Default: `execution`, else the lowest level.
    levels : str or tuple of str, optional
        The nest from the outside in; default: the repetition dims present.
    metric : str or list of str, optional
        Variable(s) of a Dataset.

    Returns
    -------
    Dataset
        `statistic` (the distance), `critical_value` (of the distances drawn, the one numbered N (1 - alpha), cut to a whole number),
        `pvalue`, `pvalue_error` (its Monte Carlo standard error) and `n` (runs). Constant samples and those without a mixture have no
        test: NaN.

    Raises
    ------
    ValueError
        Unknown levels or value; an undersampling outside 0 to 1; a resolution or tolerance that is not positive; something that is no
        mixture.

    Notes
    -----
    Runs are taken as independent. Where units have unequal numbers of runs, the distance weights units alike, and what is drawn is of
    runs that count alike. A p-value that is large says that the runs do not contradict the mixture; with 30 runs they contradict little.

    With hundreds of runs the test also rejects mixtures whose smallest components hold too few runs for BIC to keep them: what is drawn
    has no such components. Of samples of 500 runs it rejected 5.0 % where BIC finds all components, 14.7 % with one of 2 % left out.

    References
    ----------
    J. Worms, S. Touati, "Parametric and non-parametric statistics for program performance analysis and comparison", 2016, section 5.

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
    number, risk = check_count(n_resamples, "n_resamples", 2), check_between(alpha, "alpha", 0.0, 1.0, example="0.05")
    share = check_number(undersample, "undersample")
    if not 0 < share <= 1:
        raise ValueError(f"undersample={undersample!r} is out of range; give a share of the runs above 0 and up to 1, such as 0.9")
    step = None if resolution is None else _positive(resolution, "resolution")
    limit = None if tolerance is None else _positive(tolerance, "tolerance")
    data = resolve(times, metric, levels)
    place, key = value_place(data, value), key_of(rng)
    parameters = [] if mixture is None else _parameters(mixture)
    refit = _refit(mixture, limit)
    arrays = [data.array, cell_numbers([data.array], data.levels), *parameters]
    bar = _progress_bar(arrays[1].size) if progress and not is_chunked(data.array) else None

    def kernel(values: Floats, cells: Any, *given: Any) -> tuple[Floats, ...]:
        batch, sample, weights = samples_of_cells(values, len(data.levels), place)
        own = _rows(batch, *given) if given else refit.fit(sample, weights)
        places = np.broadcast_to(cells, batch).ravel()
        found = calibrated_fit(
            sample,
            weights,
            own,
            places,
            refit,
            n_resamples=number,
            undersample=share,
            resolution=step,
            alpha=risk,
            key=key,
            after_each=bar.update if bar is not None else None,
        )
        n = (~np.isnan(sample)).sum(axis=-1).astype(float)
        return tuple(part.reshape(batch) for part in (*found, n))

    attrs: dict[str, Hashable] = {"result": "goodness_of_fit", "alpha": risk, "n_resamples": number, "undersample": share}
    attrs |= {"engine": refit.engine} | ({"resolution": step} if step is not None else {})
    attrs |= {"tolerance": refit.tolerance} if refit.tolerance is not None else {}
    result = apply(
        kernel,
        *arrays,
        core=[data.levels, (), *([*[(COMPONENT,)] * 3, ()] if parameters else [])],
        outputs={
            "statistic": Output((), "1", long_name="Kolmogorov-Smirnov distance"),
            "critical_value": Output((), "1", long_name=f"critical value at {risk:.3g}"),
            "pvalue": Output((), "1"),
            "pvalue_error": Output((), "1", long_name="Monte Carlo standard error of the p-value"),
            "n": Output((), "1", long_name="runs"),
        },
        attrs=describe_value(data, place) | attrs,
    )
    if bar is not None:
        bar.close()
    warn(*data.notes, _untested(result, parameters))
    return result


def _progress_bar(cells: int) -> Any:
    """Return a bar that counts cells."""
    from tqdm.auto import tqdm

    return tqdm(total=cells, desc="testing fits", unit="cell")


def _positive(value: float, name: str) -> float:
    """Return a positive number."""
    number = check_number(value, name)
    if number <= 0:
        raise ValueError(f"{name}={value!r} must be positive")
    return number


def _rows(batch: tuple[int, ...], *given: Any) -> Scaled:
    """Return given mixtures, one for each sample."""
    *parameters, log = given
    parts = [np.broadcast_to(part, (*batch, part.shape[-1])).reshape(-1, part.shape[-1]) for part in parameters]
    return Scaled(Mixture(*parts), np.broadcast_to(log, batch).ravel())


def _parameters(mixture: Result) -> list[xr.DataArray]:
    """Return the parameters of a mixture, and their scale."""
    dataset = mixture.to_dataset() if isinstance(mixture, Result) else xr.Dataset()
    if not set(PARAMETERS) <= set(dataset.data_vars):
        raise ValueError(f"mixture is a {type(mixture).__name__}; give what fit_mixture or GaussianMixture.from_parameters returns")
    return [part.reset_coords(drop=True) for part in (*(dataset[name] for name in PARAMETERS), scales(dataset))]


def _refit(mixture: Result | None, tolerance: float | None) -> Refit:
    """Say how drawn samples are fitted: as the mixture was."""
    attrs = {} if mixture is None else mixture.to_dataset().attrs
    scale = str(attrs.get("scale", PLAIN))
    if "max_components" not in attrs:
        return Refit(range(1, MOST_COMPONENTS + 1), (EQUAL, UNEQUAL), tolerance, False, engine(), scale)
    forced = "n_components" in attrs
    numbers = [int(attrs["n_components"])] if forced else range(1, int(attrs["max_components"]) + 1)
    fitted = attrs.get("tolerance")
    models, limit = tuple(str(attrs["models"]).split()), None if fitted is None else float(fitted)
    return Refit(numbers, models, limit, forced, engine(), scale)


def _untested(result: xr.Dataset, parameters: list[xr.DataArray]) -> str:
    """Count the cells without a test; a lazy result is not looked at."""
    if is_chunked(result.variables["n"]):
        return ""
    untested = result["pvalue"].isnull() & (result["n"] > 0)
    bare = untested & ~(parameters[0] > 0).any(COMPONENT) if parameters else xr.zeros_like(untested)
    said = []
    for number, text in (
        (int(bare.sum()), "have no mixture, and no test"),
        (int((untested & ~bare).sum()), "are constant and have no test"),
    ):
        if number:
            said.append(f"{number} of {result['n'].size} cells {text}")
    return "; ".join(said)
