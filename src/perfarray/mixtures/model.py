"""Mixtures of normal distributions as labelled objects: what the runs of every cell look like, and what can be asked of that."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from perfarray.conventions import EXECUTION
from perfarray.mixtures.numerics import scale as scaled
from perfarray.mixtures.numerics.fit import AUTO, PLAIN
from perfarray.mixtures.numerics.fit import LOG as LOG_SCALE
from perfarray.mixtures.numerics.normal import Mixture, in_order
from perfarray.mixtures.numerics.scale import Scaled
from perfarray.numerics.random import Streams
from perfarray.numerics.types import Floats
from perfarray.timings.apply import Output, apply
from perfarray.timings.resolve import resolve
from perfarray.timings.results import CellResult
from perfarray.timings.streams import Rng, cell_keys, describe_key, key_of
from perfarray.timings.validation import check_count

COMPONENT = "component"
MODE = "mode"
LOG = "log"
PARAMETERS = ("weight", "mean", "standard_deviation")

SUM = 1e-6
"""How far given weights may be from a sum of 1; they are scaled to it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class GaussianMixture(CellResult):
    """Mixtures of normal distributions, one for every cell of a Dataset: what `fit_mixture` answers.

    Parameters
    ----------
    dataset : Dataset
        What `to_dataset` gives: `weight`, `mean` and `standard_deviation` along `component`, `log` (whether means and standard deviations
        are those of the logarithms: components are then lognormal), and what `fit_mixture` says of the fits. Whatever is asked of the
        object is asked and answered in the units of the data.

    References
    ----------
    J. Worms, S. Touati, "Parametric and non-parametric statistics for program performance analysis and comparison", 2016, section 4.

    Examples
    --------
    >>> import perfarray
    >>> mixture = perfarray.GaussianMixture.from_parameters([0.25, 0.75], [1.0, 3.0], [0.1, 0.2])
    >>> mixture.cdf(2.0).round(6).item(), mixture.n_modes().item(), mixture.assign([0.9, 3.3]).values.tolist()
    (0.25, 2.0, [1.0, 2.0])
    >>> mixture.mean().item(), mixture.std().round(3).item(), mixture.modes().round(3).values.tolist()
    (2.5, 0.885, [1.0, 3.0])
    >>> mixture.pdf([1.0, 3.0]).round(3).values.tolist(), mixture.quantile([0.125, 0.625]).round(3).values.tolist()
    ([0.997, 1.496], [1.0, 3.0])
    >>> mixture.sample(3, rng=1).dims
    ('execution',)
    """

    WHOLE: ClassVar[tuple[str, ...]] = (COMPONENT,)

    @classmethod
    def from_parameters(
        cls, weights: Any, means: Any, standard_deviations: Any, *, units: str | None = None, log: bool = False
    ) -> "GaussianMixture":
        """Make mixtures from their parameters.

        Parameters
        ----------
        weights, means, standard_deviations : array-like or DataArray
            Along `component`: the last axis of array-likes of one dimension, a dim of DataArrays. Weight 0 means that the component is
            absent; the weights of a cell sum to 1, standard deviations are positive.
        units : str, optional
            The unit of the data; default: that of `means`, else "s".
        log : bool
            Whether means and standard deviations are those of the logarithms of the data.

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
        scale = LOG_SCALE if log else PLAIN
        outputs = parameter_outputs(units, scale)
        dataset = apply(
            partial(_checked_parameters, bool(log)),
            *arrays,
            core=[(COMPONENT,)] * 3,
            outputs=outputs | {"n_components": Output((), "1")},
            coords={COMPONENT: range(1, number.pop() + 1)},
            attrs={"result": "mixture", "units": units, "scale": scale},
        )
        return cls(dataset=dataset)

    def mean(self) -> xr.DataArray:
        """Return the mean of the runs.

        Returns
        -------
        DataArray
            In the units of the data; NaN in cells without data.
        """
        return self._apply(scaled.mean, Output((), self._units()), "mean")

    def std(self) -> xr.DataArray:
        """Return the standard deviation of the runs, inside the components and between them.

        Returns
        -------
        DataArray
            In the units of the data; NaN in cells without data.
        """
        return self._apply(scaled.deviation, Output((), self._units()), "standard_deviation")

    def pdf(self, x: Any) -> xr.DataArray:
        """Return the density.

        Parameters
        ----------
        x : float, array-like or DataArray
            Where, in the units of the data; an array-like gets the dim `x`, a DataArray keeps its dims.

        Returns
        -------
        DataArray
            One over the units of the data; infinite where a sample was constant.
        """
        return self._apply(scaled.density, Output((), f"1/{self._units()}"), "density", _points(x, "x"))

    def cdf(self, x: Any) -> xr.DataArray:
        """Return the probability of values up to x.

        Parameters
        ----------
        x : float, array-like or DataArray
            Where, in the units of the data; an array-like gets the dim `x`, a DataArray keeps its dims.

        Returns
        -------
        DataArray
            From 0 to 1, along the dims of the cells and of x.
        """
        return self._apply(scaled.distribution, Output((), "1"), "probability", _points(x, "x"))

    def quantile(self, q: Any) -> xr.DataArray:
        """Return where the distribution reaches a probability.

        Parameters
        ----------
        q : float, array-like or DataArray
            Probabilities from 0 to 1; an array-like gets the dim `quantile`, a DataArray keeps its dims.

        Returns
        -------
        DataArray
            In the units of the data, along the dims of the cells and of q.

        Raises
        ------
        ValueError
            A probability outside 0 to 1.
        """
        points = _points(q, "quantile")
        if bool(((points < 0) | (points > 1)).any()):
            raise ValueError(f"q={q!r}: probabilities lie between 0 and 1")
        return self._apply(scaled.quantiles, Output((), self._units()), "quantile", points)

    def modes(self) -> xr.DataArray:
        """Return the modes: the local maxima of the density, which may be fewer than the components.

        Returns
        -------
        DataArray
            Along `mode`, ascending, in the units of the data; NaN past a cell's last mode.
        """
        output = Output((MODE,), self._units(), long_name="local maximum of the density")
        return self._apply(scaled.modes, output, "location", coords={MODE: range(1, self.dataset.sizes[COMPONENT] + 1)})

    def n_modes(self) -> xr.DataArray:
        """Return the number of modes: local maxima of the density.

        Returns
        -------
        DataArray
            NaN in cells without data.
        """
        return self._apply(_number_of_modes, Output((), "1", long_name="modes"), "n_modes")

    def assign(self, times: Any) -> xr.DataArray:
        """Return the component each value most probably comes from.

        Parameters
        ----------
        times : float, array-like, DataArray or Dataset
            Values; an array-like gets the dim `x`. Of a Dataset the metric that was fitted is taken.

        Returns
        -------
        DataArray
            Labels of `component` (from 1, ascending means), in the shape of the values; NaN where there is no value.

        Raises
        ------
        ValueError
            A Dataset without the metric that was fitted.
        """
        if isinstance(times, xr.Dataset):
            times = resolve(times, str(self.dataset.attrs["metric"]) if "metric" in self.dataset.attrs else None).array
        return self._apply(scaled.classes, Output((), "1"), "component", _points(times, "x"))

    def sample(self, n: int, *, rng: Rng = None) -> xr.DataArray:
        """Draw runs.

        Parameters
        ----------
        n : int
            How many for each cell.
        rng : optional
            Seed, as for `mean_difference`.

        Returns
        -------
        DataArray
            Along `execution`, in the units of the data: timings like any others.

        Raises
        ------
        ValueError
            A number below 1, or something that is no seed.
        """
        number, key = check_count(n, "n"), key_of(rng)
        cells = cell_keys([self.dataset["weight"]], (COMPONENT,))
        found = self._apply(
            lambda own, keys: scaled.draw(own, number, keys, Streams(key)),
            Output((EXECUTION,), self._units()),
            str(self.dataset.attrs.get("metric", "time")),
            cells,
            coords={EXECUTION: range(number)},
        )
        return found.assign_attrs(describe_key(key))

    def _units(self) -> str:
        """Return the unit of the data."""
        return str(self.dataset.attrs.get("units", self.dataset["mean"].attrs.get("units", "1")))

    def _apply(
        self, function: Callable[..., Floats], output: Output, name: str, *others: xr.DataArray, coords: Mapping[str, Any] | None = None
    ) -> xr.DataArray:
        """Apply a function of the mixtures, and of other arrays that broadcast against them."""

        def kernel(weights: Floats, means: Floats, deviations: Floats, log: Any, *more: Any) -> tuple[Floats, ...]:
            return (function(Scaled(Mixture(weights, means, deviations), np.asarray(log, bool)), *more),)

        # A cell that was selected may be asked about points that lie along the dim it was selected from.
        selected = [dim for other in others for dim in other.dims if dim in self.dataset.coords and dim not in self.dataset.dims]
        own = [part.drop_vars(selected, errors="ignore") for part in parameters(self.dataset)]
        core = [(COMPONENT,)] * 3 + [()] * (1 + len(others))
        found = apply(kernel, *own, *others, core=core, outputs={"value": output}, coords=coords)["value"]
        found.name = name
        return found


def parameters(dataset: xr.Dataset) -> list[xr.DataArray]:
    """Return weights, means and standard deviations of mixtures, and whether they are those of logarithms (False where nothing says so)."""
    parts = [dataset[name] for name in PARAMETERS]
    blank = xr.zeros_like(parts[0].isel({COMPONENT: 0}, drop=True), dtype=bool)
    return [*parts, dataset[LOG].astype(bool) if LOG in dataset else blank]


def parameter_outputs(units: str, scale: str) -> dict[str, Output]:
    """Return the variables that describe a mixture: of the values ("plain"), of their logarithms ("log"), or of either ("auto")."""
    own = {PLAIN: units, LOG_SCALE: f"log({units})", AUTO: f"{units} or log({units})"}[scale]
    return {
        "weight": Output((COMPONENT,), "1", long_name="share of the runs"),
        "mean": Output((COMPONENT,), own),
        "standard_deviation": Output((COMPONENT,), own),
        LOG: Output((), "", bool, "parameters are those of logarithms"),
    }


def _number_of_modes(own: Scaled) -> Floats:
    """Count the modes; NaN without components."""
    known = (own.mixture.weights > 0).any(axis=-1)
    return np.where(known, (~np.isnan(scaled.modes(own))).sum(axis=-1), np.nan)


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


def _checked_parameters(log: bool, weights: Floats, means: Floats, deviations: Floats) -> tuple[Any, ...]:
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
    return (*in_order(weights, means, deviations), np.full(known.shape, log), np.where(known, present.sum(axis=-1), np.nan))


def _points(values: Any, dim: str) -> xr.DataArray:
    """Return points as an array: a number without dims, an array-like along `dim`."""
    if isinstance(values, xr.DataArray):
        return values.astype(float)
    array = np.asarray(values, float)
    if array.ndim > 1:
        raise ValueError(f"{dim} has shape {array.shape}: give a number, one dimension, or a DataArray")
    return xr.DataArray(array) if array.ndim == 0 else xr.DataArray(array, dims=dim, coords={dim: array})
