"""Run times as mixtures of normal distributions: the modes of a program, how often each is taken, and how wide it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from perfarray._apply import Output, apply, is_chunked
from perfarray._options import engine
from perfarray._resampling import Rng, cell_numbers, key_of
from perfarray._results import Result
from perfarray._samples import describe_value, value_place
from perfarray._timings import Data, over_metrics, resolve
from perfarray._validation import check_choice, check_count, check_names, check_number, warn
from perfarray.conventions import EXECUTION, UNKNOWN
from perfarray.numerics.levels import Floats
from perfarray.numerics.mixture import EQUAL, MOST_COMPONENTS, UNEQUAL, Fits, fit_mixtures, samples_of_cells
from perfarray.numerics.mixture_em import FLOOR
from perfarray.numerics.mixture_functions import Mixture, classes, density, distribution, draw, in_order, modes, quantiles

COMPONENT = "component"
MODE = "mode"
MODELS = (EQUAL, UNEQUAL)
PARAMETERS = ("weight", "mean", "standard_deviation")

SUM = 1e-6
"""How far given weights may be from a sum of 1; they are scaled to it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class GaussianMixture(Result):
    """Mixtures of normal distributions, one for every cell of a Dataset: what `fit_mixture` answers.

    Parameters
    ----------
    dataset : Dataset
        What `to_dataset` gives: `weight`, `mean` and `standard_deviation` along `component`, and what `fit_mixture` says of the fits.

    Examples
    --------
    >>> import perfarray
    >>> mixture = perfarray.GaussianMixture.from_parameters([0.25, 0.75], [1.0, 3.0], [0.1, 0.2])
    >>> mixture.cdf(2.0).round(6).item(), mixture.n_modes().item(), mixture.assign([0.9, 3.3]).values.tolist()
    (0.25, 2.0, [1.0, 2.0])
    """

    @classmethod
    def from_parameters(cls, weights: Any, means: Any, standard_deviations: Any, *, units: str | None = None) -> "GaussianMixture":
        """Make mixtures from their parameters.

        Parameters
        ----------
        weights, means, standard_deviations : array-like or DataArray
            Along `component`: the last axis of array-likes of one dimension, a dim of DataArrays. Weight 0 means that the component is
            absent; the weights of a cell sum to 1, standard deviations are positive.
        units : str, optional
            The unit of means and standard deviations; default: that of `means`, else "s".

        Returns
        -------
        GaussianMixture
            Components in ascending order of their means, those absent last.

        Raises
        ------
        ValueError
            Parameters of different length, without a dim `component`, or that are no mixture.

        Examples
        --------
        >>> import perfarray
        >>> perfarray.GaussianMixture.from_parameters([0.5, 0.5], [3.0, 1.0], [0.1, 0.2]).to_dataset()["mean"].values.tolist()
        [1.0, 3.0]
        """
        given = (("weights", weights), ("means", means), ("standard_deviations", standard_deviations))
        arrays = [_along_component(values, name) for name, values in given]
        number = {array.sizes[COMPONENT] for array in arrays}
        if len(number) > 1:
            raise ValueError(f"weights, means and standard_deviations have {', '.join(str(a.sizes[COMPONENT]) for a in arrays)} components")
        if units is None:
            units = str(arrays[1].attrs.get("units", "s"))
        outputs = {
            "weight": Output((COMPONENT,), "1"),
            "mean": Output((COMPONENT,), units),
            "standard_deviation": Output((COMPONENT,), units),
        }
        dataset = apply(
            _checked_parameters,
            *arrays,
            core=[(COMPONENT,)] * 3,
            outputs=outputs | {"n_components": Output((), "1")},
            coords={COMPONENT: range(1, number.pop() + 1)},
            attrs={"result": "mixture", "units": units},
        )
        return cls(dataset=dataset)

    def sel(self, indexers: Mapping[Any, Any] | None = None, **labels: Any) -> "GaussianMixture":
        """Select cells by label, as `Dataset.sel` does.

        Parameters
        ----------
        indexers : mapping, optional
            Labels by dim.
        **labels
            The same as keywords.

        Returns
        -------
        GaussianMixture
        """
        return GaussianMixture(dataset=self.dataset.sel(_cells(indexers, labels)))

    def isel(self, indexers: Mapping[Any, Any] | None = None, **places: Any) -> "GaussianMixture":
        """Select cells by place, as `Dataset.isel` does.

        Parameters
        ----------
        indexers : mapping, optional
            Places by dim.
        **places
            The same as keywords.

        Returns
        -------
        GaussianMixture
        """
        return GaussianMixture(dataset=self.dataset.isel(_cells(indexers, places)))

    def pdf(self, x: Any) -> xr.DataArray:
        """Return the density.

        Parameters
        ----------
        x : float, array-like or DataArray
            Where; an array-like gets the dim `x`, a DataArray keeps its dims.

        Returns
        -------
        DataArray
            One over the units of the data; infinite where a sample was constant.
        """
        return self._evaluated(density, _points(x, "x"), "density", f"1/{self._units()}")

    def cdf(self, x: Any) -> xr.DataArray:
        """Return the probability of values up to x.

        Parameters
        ----------
        x : float, array-like or DataArray
            Where; an array-like gets the dim `x`, a DataArray keeps its dims.

        Returns
        -------
        DataArray
        """
        return self._evaluated(distribution, _points(x, "x"), "probability", "1")

    def quantile(self, q: Any) -> xr.DataArray:
        """Return where the distribution reaches a probability.

        Parameters
        ----------
        q : float, array-like or DataArray
            Probabilities from 0 to 1; an array-like gets the dim `quantile`, a DataArray keeps its dims.

        Returns
        -------
        DataArray
            In the units of the data.

        Raises
        ------
        ValueError
            A probability outside 0 to 1.
        """
        points = _points(q, "quantile")
        if bool(((points < 0) | (points > 1)).any()):
            raise ValueError(f"q={q!r}: probabilities lie between 0 and 1")
        return self._evaluated(quantiles, points, "quantile", self._units())

    def modes(self) -> xr.DataArray:
        """Return the modes: the local maxima of the density, which may be fewer than the components.

        Returns
        -------
        DataArray
            Along `mode`, ascending, in the units of the data; NaN past a cell's last mode.
        """
        number = self.dataset.sizes[COMPONENT]

        def kernel(*parts: Floats) -> tuple[Floats, ...]:
            return (modes(Mixture(*parts)),)

        return self._computed(
            kernel, Output((MODE,), self._units(), long_name="local maximum of the density"), {MODE: range(1, number + 1)}
        )

    def n_modes(self) -> xr.DataArray:
        """Return the number of modes: local maxima of the density.

        Returns
        -------
        DataArray
            NaN in cells without data.
        """

        def kernel(*parts: Floats) -> tuple[Floats, ...]:
            known = (parts[0] > 0).any(axis=-1)
            return (np.where(known, (~np.isnan(modes(Mixture(*parts)))).sum(axis=-1), np.nan),)

        return self._computed(kernel, Output((), "1", long_name="modes"), {})

    def assign(self, times: Any) -> xr.DataArray:
        """Say which component each value most probably comes from.

        Parameters
        ----------
        times : float, array-like, DataArray or Dataset
            Values; an array-like gets the dim `x`. Of a Dataset the metric that was fitted is taken.

        Returns
        -------
        DataArray
            Labels of `component` (from 1, ascending means), in the shape of the values; NaN where there is no value.
        """
        if isinstance(times, xr.Dataset):
            times = resolve(times, str(self.dataset.attrs["metric"]) if "metric" in self.dataset.attrs else None).array
        return self._evaluated(classes, _points(times, "x"), "component", "1")

    def sample(self, n: int, *, rng: Rng = None) -> xr.DataArray:
        """Draw runs.

        Parameters
        ----------
        n : int
            How many for each cell.
        rng : int, numpy.random.Generator, optional
            Seed. Every cell has random numbers of its own, which do not depend on the order of the dims.

        Returns
        -------
        DataArray
            Along `execution`, in the units of the data: timings like any others.
        """
        number, key = check_count(n, "n"), key_of(rng)
        cells = cell_numbers([self.dataset["weight"]], (COMPONENT,))

        def kernel(*parts: Any) -> tuple[Floats, ...]:
            return (draw(Mixture(*parts[:3]), parts[3], number, key),)

        output = {"time": Output((EXECUTION,), self._units())}
        arrays = [self.dataset[name] for name in PARAMETERS]
        found = apply(kernel, *arrays, cells, core=[(COMPONENT,)] * 3 + [()], outputs=output, coords={EXECUTION: range(number)})["time"]
        found.name = str(self.dataset.attrs.get("metric", "time"))
        return found

    def _units(self) -> str:
        """Return the unit of the data."""
        return str(self.dataset["mean"].attrs.get("units", "1"))

    def _evaluated(self, function: Any, points: xr.DataArray, name: str, units: str) -> xr.DataArray:
        """Evaluate a function of parameters and points."""

        def kernel(*parts: Floats) -> tuple[Floats, ...]:
            return (function(Mixture(*parts[:3]), parts[3]),)

        # A cell that was selected may be asked about points that lie along the dim it was selected from.
        selected = [dim for dim in points.dims if dim in self.dataset.coords and dim not in self.dataset.dims]
        arrays = [self.dataset[part].drop_vars(selected) for part in PARAMETERS]
        found = apply(kernel, *arrays, points, core=[(COMPONENT,)] * 3 + [()], outputs={"value": Output((), units)})["value"]
        found.name = name
        return found

    def _computed(self, kernel: Any, output: Output, coords: Mapping[str, Any]) -> xr.DataArray:
        """Apply a function of the parameters alone."""
        arrays = [self.dataset[part] for part in PARAMETERS]
        name = "n_modes" if not output.dims else "location"
        return apply(kernel, *arrays, core=[(COMPONENT,)] * 3, outputs={name: output}, coords=coords)[name]


def fit_mixture(
    times: Data,
    *,
    max_components: int = MOST_COMPONENTS,
    n_components: int | None = None,
    covariance: str | Sequence[str] = MODELS,
    tolerance: float | None = None,
    value: str | None = None,
    levels: str | tuple[str, ...] | None = None,
    metric: str | list[str] | None = None,
) -> GaussianMixture:
    """Describe the runs of every cell as a mixture of normal distributions.

    Mixtures of 1 to `max_components` components are fitted by maximum likelihood (EM), with one common variance and with a variance for
    each component, and the one with the largest BIC is kept.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings; dims that are not levels broadcast, each cell with a fit of its own.
    max_components : int
        The most components tried.
    n_components : int, optional
        This number of components and no other; in cells with fewer distinct values, as many as there are.
    covariance : {"equal", "unequal"} or both
        Models tried: components with one common variance, or each with its own.
    tolerance : float, optional
        The relative change of the log-likelihood at which EM stops; 1e-5 is what mclust does and the paper's examples were made with.
        Default: EM goes on, accelerated, to the maximum.
    value : str, optional
        The level whose repetitions are runs; lower levels are averaged first. Default: `execution`, else the lowest level.
    levels : str or tuple of str, optional
        The nest from the outside in; default: the repetition dims present.
    metric : str or list of str, optional
        Variable(s) of a Dataset.

    Returns
    -------
    GaussianMixture
        One object for all cells, with `pdf`, `cdf`, `quantile`, `modes`, `n_modes`, `assign`, `sample`, `sel` and `isel`.
        `.to_dataset()` has along `component` `weight`, `mean` and `standard_deviation` (units of the data; means ascending; weight 0 and
        NaN where a cell has fewer components), and for each cell `n_components`, `covariance` ("equal" or "unequal"; one component
        counts as equal), `loglik`, `bic` (the larger the better), `n` (runs), `n_iterations`, `converged`, `floored` (a component lies at
        the variance floor) and `n_floored` (fits that did).

    Raises
    ------
    ValueError
        Unknown levels, value or covariance; a number of components that is not a whole number; a tolerance that is not positive.

    See Also
    --------
    goodness_of_fit : whether the mixture describes the runs

    Notes
    -----
    The likelihood of a mixture has no bound: a component that shrinks onto ties or onto one value makes it as large as one likes. A
    component's variance therefore has a floor, 1e-12 of the sample's variance (attr `variance_floor`), and a fit with a component there
    does not compete in BIC; with `n_components` it is what you get where there is no other, and `floored` says so. A constant sample is
    one component with standard deviation 0 and infinite likelihood: nothing is fitted.

    Runs count alike where every unit has as many; otherwise every outermost unit has equal weight, and the weights of the runs sum to
    their number. The likelihood takes runs as independent: with several runs in a unit that resemble each other, BIC finds too many
    components.

    EM starts from the classes between quantiles that mclust starts from. Likelihoods of mixtures have several maxima; this is the one
    reached from there. Where BIC chooses, all fits run until mclust would stop, and those within 20 of the best BIC go on to their maximum.
    With `tolerance`, the fit that BIC chooses gets mclust's last step, which moves the parameters and not `loglik`; a single fit asked
    for (one model, `n_components`) does not.

    References
    ----------
    J. Worms, S. Touati, "Parametric and non-parametric statistics for program performance analysis and comparison", 2016, section 4;
    L. Scrucca et al., "mclust 5", The R Journal 2016; R. Varadhan, C. Roland, "Simple and globally convergent methods for accelerating
    the convergence of any EM algorithm", 2008.

    Examples
    --------
    >>> import numpy as np, perfarray
    >>> rng = np.random.default_rng(1)
    >>> runs = np.concatenate([rng.normal(1.0, 0.01, 60), rng.normal(1.2, 0.01, 40)])
    >>> fit = perfarray.from_samples({"fft": runs}, dim="benchmark").perf.fit_mixture().to_dataset().sel(benchmark="fft")
    >>> fit["weight"].round(2).values.tolist(), fit["mean"].round(2).values.tolist(), fit["covariance"].item()
    ([0.6, 0.4], [1.0, 1.2], 'equal')
    """
    return GaussianMixture(
        dataset=_fitted(
            times,
            max_components=max_components,
            n_components=n_components,
            covariance=covariance,
            tolerance=tolerance,
            value=value,
            levels=levels,
            metric=metric,
        )
    )


@over_metrics
def _fitted(
    times: Data,
    *,
    max_components: int,
    n_components: int | None,
    covariance: str | Sequence[str],
    tolerance: float | None,
    value: str | None,
    levels: str | tuple[str, ...] | None,
    metric: str | list[str] | None,
) -> xr.Dataset:
    """Fit every cell."""
    most = check_count(max_components, "max_components")
    forced = None if n_components is None else check_count(n_components, "n_components")
    numbers = range(1, most + 1) if forced is None else [forced]
    models = check_models(covariance)
    limit = None if tolerance is None else check_number(tolerance, "tolerance")
    if limit is not None and limit <= 0:
        raise ValueError(f"tolerance={tolerance!r}: give a positive number such as 1e-5, or None for the maximum")
    data = resolve(times, metric, levels)
    place = value_place(data, value)
    compiled = engine()

    def kernel(values: Floats) -> tuple[Any, ...]:
        batch, sample, weights = samples_of_cells(values, len(data.levels), place)
        found = fit_mixtures(sample, weights, numbers, models, tolerance=limit, forced=forced is not None, engine=compiled)
        return tuple(part.reshape((*batch, *part.shape[1:])) for part in _named(found))

    result = apply(
        kernel,
        data.array,
        core=[data.levels],
        outputs=_outputs(data.units),
        coords={COMPONENT: range(1, max(numbers) + 1)},
        attrs=describe_value(data, place)
        | {
            "result": "fit_mixture",
            "units": data.units,
            "variance_floor": FLOOR,
            "models": " ".join(models),
            "max_components": max(numbers),
            "engine": compiled,
        }
        | ({"tolerance": limit} if limit is not None else {})
        | ({"n_components": forced} if forced is not None else {}),
    )
    result = _trimmed(result)
    warn(data.note, _troubles(result))
    return result


def check_models(covariance: str | Sequence[str]) -> tuple[str, ...]:
    """Return the models to be tried, the one with equal variances first."""
    names = check_names(covariance, "covariance")
    for name in names:
        check_choice(name, "covariance", MODELS)
    return tuple(model for model in MODELS if model in names)


def _named(found: Fits) -> tuple[Any, ...]:
    """Return the parts of the fits in the order of the outputs."""
    model = np.where(np.isnan(found.n), UNKNOWN, np.where(found.equal, EQUAL, UNEQUAL)).astype(object)
    return (*found[:4], model, *found[5:])


def _outputs(units: str) -> dict[str, Output]:
    """Return the variables of the result."""
    along = (COMPONENT,)
    return {
        "weight": Output(along, "1", long_name="share of the runs"),
        "mean": Output(along, units),
        "standard_deviation": Output(along, units),
        "n_components": Output((), "1"),
        "covariance": Output((), "", object, "variances of the components"),
        "loglik": Output((), "1", long_name="log-likelihood"),
        "bic": Output((), "1", long_name="2 log-likelihood - parameters log n"),
        "n": Output((), "1", long_name="runs"),
        "n_iterations": Output((), "1", long_name="steps of EM"),
        "converged": Output((), "", bool),
        "floored": Output((), "", bool, "a component lies at the variance floor"),
        "n_floored": Output((), "1", long_name="fits with a component at the variance floor"),
    }


def _trimmed(result: xr.Dataset) -> xr.Dataset:
    """Leave out components that no cell has; a lazy result keeps them."""
    if is_chunked(result.variables["n_components"]):
        return result
    used = result["n_components"].max()
    return result.isel({COMPONENT: slice(0, max(1, int(used)) if np.isfinite(used) else 1)})


def _troubles(result: xr.Dataset) -> str:
    """Count constant and floored cells and those EM could not finish; a lazy result is not looked at."""
    if is_chunked(result.variables["n_components"]):
        return ""
    said = []
    for number, text in (
        (int(np.isposinf(result["loglik"]).sum()), "are constant: one component with standard deviation 0, nothing fitted"),
        (int(result["floored"].sum()), "have a component at the variance floor (ties, or too few values for n_components)"),
        (int((~result["converged"] & result["n"].notnull()).sum()), "have not converged"),
    ):
        if number:
            said.append(f"{number} of {result['n'].size} cells {text}")
    return "; ".join(said)


def _along_component(values: Any, name: str) -> xr.DataArray:
    """Return parameters as an array along `component`."""
    if isinstance(values, xr.DataArray):
        if COMPONENT not in values.dims:
            raise ValueError(f"{name} has dims {values.dims}; it needs the dim {COMPONENT!r}")
        return values.astype(float).drop_vars(COMPONENT, errors="ignore")
    array = np.asarray(values, float)
    if array.ndim != 1 or not array.size:
        raise ValueError(f"{name} has shape {array.shape}: give one number per component, or a DataArray along {COMPONENT!r}")
    return xr.DataArray(array, dims=COMPONENT)


def _checked_parameters(weights: Floats, means: Floats, deviations: Floats) -> tuple[Floats, ...]:
    """Check parameters, and put the components in order."""
    weights, means, deviations = (np.array(part) for part in np.broadcast_arrays(weights, means, deviations))
    weights = np.where(np.isnan(weights) & ~np.isnan(weights).all(axis=-1, keepdims=True), 0.0, weights)
    if (weights < 0).any():
        raise ValueError(f"weights must not be negative; the least is {np.nanmin(weights):g}")
    total = weights.sum(axis=-1, keepdims=True)
    if (np.abs(total - 1) > SUM).any():
        wrong = total[np.abs(total - 1) > SUM].ravel()[0]
        raise ValueError(f"the weights of a mixture sum to 1; these sum to {wrong:.9g}")
    present = weights > 0
    if not np.isfinite(means[present]).all():
        raise ValueError("means must be finite where the weight is positive")
    if not ((deviations[present] > 0) & np.isfinite(deviations[present])).all():
        raise ValueError("standard_deviations must be positive where the weight is")
    known = ~np.isnan(weights).all(axis=-1)
    return (*in_order(weights, means, deviations), np.where(known, present.sum(axis=-1), np.nan))


def _cells(indexers: Mapping[Any, Any] | None, keywords: Mapping[str, Any]) -> dict[Any, Any]:
    """Return what is selected; components belong together."""
    chosen = dict(indexers or {}) | dict(keywords)
    if COMPONENT in chosen:
        raise ValueError(f"the components of a mixture belong together; select them in to_dataset(), not by {COMPONENT!r} here")
    return chosen


def _points(values: Any, dim: str) -> xr.DataArray:
    """Return points as an array: a number without dims, an array-like along `dim`."""
    if isinstance(values, xr.DataArray):
        return values.astype(float)
    array = np.asarray(values, float)
    if array.ndim > 1:
        raise ValueError(f"{dim} has shape {array.shape}: give a number, one dimension, or a DataArray")
    return xr.DataArray(array) if array.ndim == 0 else xr.DataArray(array, dims=dim, coords={dim: array})
