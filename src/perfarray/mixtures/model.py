"""Mixtures as labelled objects, one for every cell."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from perfarray.conventions import EXECUTION, METRIC, UNKNOWN
from perfarray.mixtures.joint import (
    COMPONENT,
    CORRELATION,
    METRIC_2,
    assign_jointly,
    is_joint,
    sample_jointly,
)
from perfarray.mixtures.numerics import scale
from perfarray.mixtures.numerics.normal import NormalMixture
from perfarray.mixtures.numerics.scale import NAMES, Scaled
from perfarray.numerics.random import Streams
from perfarray.numerics.types import Floats
from perfarray.results.models import FittedModel
from perfarray.results.public import flat
from perfarray.timings.apply import Output, apply, outputs
from perfarray.timings.resolve import resolve
from perfarray.timings.streams import Rng, cell_keys, describe_key, key_of
from perfarray.timings.validation import check_choice, check_count

MODE = "mode"
FAMILY = "family"
NORMAL, LOGNORMAL = NAMES[:2]
PARAMETERS = ("weight", "mean", "standard_deviation")
SCIPY_PARAMETERS = ("shape_parameter", "location", "scale")

# How far given weights may be from a sum of 1; they are scaled to it.
SUM = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class GaussianMixture(FittedModel):
    """Mixtures of one family for every cell of a Dataset, as `fit_mixture` returns them.

    Parameters
    ----------
    dataset : Dataset
        The result of `to_dataset`, in the units of the data: `weight`, `mean` and
        `standard_deviation` along `component`, `family`, SciPy's parameters of families other than
        the normal (`shape_parameter`, `location` and `scale`), `correlation` of metrics fitted
        together, and the variables of `fit_mixture`. For metrics fitted together `assign` and
        `sample` take and return all metrics; the other methods treat each metric by itself, along
        `metric`.

    References
    ----------
    J. Worms, S. Touati, "Parametric and non-parametric statistics for program performance analysis
    and comparison", 2016, section 4.

    Examples
    --------
    >>> import perfarray
    >>> mixture = perfarray.GaussianMixture.from_parameters([0.25, 0.75], [1.0, 3.0], [0.1, 0.2])
    >>> mixture.cdf(2.0).round(6).item(), mixture.assign([0.9, 3.3]).values.tolist()
    (0.25, [1.0, 2.0])
    >>> mixture.mean().item(), mixture.std().round(3).item(), mixture.n_modes().item()
    (2.5, 0.885, 2.0)
    >>> mixture.quantile([0.125, 0.625]).round(3).values.tolist()
    [1.0, 3.0]
    >>> mixture.sample(3, rng=1).dims
    ('execution',)
    """

    WHOLE: ClassVar[tuple[str, ...]] = (COMPONENT,)

    @classmethod
    def from_parameters(
        cls,
        weights: Any,
        means: Any,
        standard_deviations: Any,
        *,
        units: str | None = None,
        distribution: str = NORMAL,
    ) -> "GaussianMixture":
        """Create mixtures from their parameters.

        Parameters
        ----------
        weights, means, standard_deviations : array-like or DataArray
            Along `component`: the last axis of array-likes of one dimension, a dim of DataArrays.
            Weight 0 means that the component is absent; the weights of a cell sum to 1, standard
            deviations are positive.
        units : str, optional
            The unit of the data; default: that of `means`, else "s".
        distribution : {"normal", "lognormal"}
            Of the components, which have these means and standard deviations.

        Returns
        -------
        GaussianMixture
            Components in ascending order of their means, those absent last.

        Raises
        ------
        ValueError
            Parameters of different length, without a dim `component`, or that are no mixture;
            lognormal components without a positive mean.

        Examples
        --------
        >>> import perfarray
        >>> mixture = perfarray.GaussianMixture.from_parameters([0.5, 0.5], [3.0, 1.0], [0.1, 0.2])
        >>> mixture.to_dataset()["mean"].values.tolist()
        [1.0, 3.0]
        """
        arguments = {"weights": weights, "means": means, "standard_deviations": standard_deviations}
        arrays = [_along_component(values, name) for name, values in arguments.items()]
        number = {array.sizes[COMPONENT] for array in arrays}
        if len(number) > 1:
            raise ValueError(
                "weights, means and standard_deviations have "
                f"{', '.join(str(a.sizes[COMPONENT]) for a in arrays)} components"
            )
        if units is None:
            units = str(arrays[1].attrs.get("units", "s"))
        check_choice(distribution, "distribution", (NORMAL, LOGNORMAL))
        dataset = apply(
            partial(_checked_parameters, distribution == LOGNORMAL),
            *arrays,
            core=[(COMPONENT,)] * 3,
            outputs=parameter_outputs(units, (distribution,)) | {"n_components": Output((), "1")},
            coords={COMPONENT: range(1, number.pop() + 1)},
            attrs={"result": "mixture", "units": units, "distribution": distribution},
        )
        return cls(dataset=dataset)

    def mean(self) -> xr.DataArray:
        """Return the mean of the runs.

        Returns
        -------
        DataArray
            In the units of the data; NaN in cells without data.
        """
        return self._apply(scale.mean, Output((), self._units()), "mean")

    def std(self) -> xr.DataArray:
        """Return the standard deviation of the runs, inside the components and between them.

        Returns
        -------
        DataArray
            In the units of the data; NaN in cells without data.
        """
        return self._apply(scale.deviation, Output((), self._units()), "standard_deviation")

    def pdf(self, x: Any) -> xr.DataArray:
        """Return the density.

        Parameters
        ----------
        x : float, array-like or DataArray
            Where, in the units of the data; an array-like gets the dim `x`, a DataArray keeps its
            dims.

        Returns
        -------
        DataArray
            One over the units of the data; infinite where a sample was constant.
        """
        return self._apply(
            scale.density, Output((), f"1/{self._units()}"), "density", _points(x, "x")
        )

    def cdf(self, x: Any) -> xr.DataArray:
        """Return the probability of values up to x.

        Parameters
        ----------
        x : float, array-like or DataArray
            Where, in the units of the data; an array-like gets the dim `x`, a DataArray keeps its
            dims.

        Returns
        -------
        DataArray
            From 0 to 1, along the dims of the cells and of x.
        """
        return self._apply(scale.distribution, Output((), "1"), "probability", _points(x, "x"))

    def quantile(self, q: Any) -> xr.DataArray:
        """Return where the distribution reaches a probability.

        Parameters
        ----------
        q : float, array-like or DataArray
            Probabilities from 0 to 1; an array-like gets the dim `quantile`, a DataArray keeps its
            dims.

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
        return self._apply(scale.quantiles, Output((), self._units()), "quantile", points)

    def modes(self) -> xr.DataArray:
        """Return the modes: the local maxima of the density, which may be fewer than components.

        Returns
        -------
        DataArray
            Along `mode`, ascending, in the units of the data; NaN past a cell's last mode.
        """
        output = Output((MODE,), self._units(), long_name="local maximum of the density")
        return self._apply(
            scale.modes,
            output,
            "location",
            coords={MODE: range(1, self.dataset.sizes[COMPONENT] + 1)},
        )

    def n_modes(self) -> xr.DataArray:
        """Return the number of modes: local maxima of the density.

        Returns
        -------
        DataArray
            NaN in cells without data.
        """
        return self._apply(scale.number_of_modes, Output((), "1", long_name="modes"), "n_modes")

    def assign(self, times: Any) -> xr.DataArray:
        """Return the component each value most probably comes from.

        Parameters
        ----------
        times : float, array-like, DataArray or Dataset
            Values; an array-like gets the dim `x`. Of a Dataset the metric that was fitted is
            taken, or the metrics fitted together.

        Returns
        -------
        DataArray
            Labels of `component` (from 1, ascending means), in the shape of the values; NaN if
            there is no value.

        Raises
        ------
        ValueError
            A Dataset without the metric that was fitted.
        """
        times = flat(times)
        if is_joint(self.dataset):
            return assign_jointly(self.dataset, times)
        if isinstance(times, xr.Dataset):
            times = resolve(
                times,
                str(self.dataset.attrs["metric"]) if "metric" in self.dataset.attrs else None,
                any_size=True,
            ).array
        return self._apply(scale.classes, Output((), "1"), "component", _points(times, "x"))

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
            Along `execution`, in the units of the data: timings like any others; of metrics fitted
            together, along `metric` as well.

        Raises
        ------
        ValueError
            A number below 1, or something that is no seed.
        """
        number, key = check_count(n, "n"), key_of(rng)
        cells = cell_keys([self.dataset["weight"]], (COMPONENT,))
        if is_joint(self.dataset):
            return sample_jointly(self.dataset, number, cells, key).assign_attrs(describe_key(key))
        metric, labels = str(self.dataset.attrs.get("metric", "time")), {EXECUTION: range(number)}
        runs = self._apply(
            lambda scaled, keys: scale.draw(scaled, number, keys, Streams(key)),
            Output((EXECUTION,), self._units()),
            metric,
            cells,
            coords=labels,
        )
        better = {"better": self.dataset.attrs["better"]} if "better" in self.dataset.attrs else {}
        return runs.assign_attrs(better | describe_key(key))

    def _units(self) -> str:
        return str(self.dataset.attrs.get("units", self.dataset["mean"].attrs.get("units", "1")))

    def _apply(
        self,
        function: Callable[..., Floats],
        output: Output,
        name: str,
        *arrays: xr.DataArray,
        coords: Mapping[str, Any] | None = None,
    ) -> xr.DataArray:
        """Apply a function of the mixtures, and of other arrays that broadcast against them."""
        # A selected cell may be evaluated at points that lie along the dim it was selected from.
        selected = [
            dim
            for array in arrays
            for dim in array.dims
            if dim in self.dataset.coords and dim not in self.dataset.dims
        ]
        parameters = [
            array.drop_vars(selected, errors="ignore") for array in parameters_of(self.dataset)
        ]

        def kernel(*values: Any) -> tuple[Floats, ...]:
            return (
                function(scaled_mixture(*values[: len(parameters)]), *values[len(parameters) :]),
            )

        core = parameter_dims(parameters) + [()] * len(arrays)
        return apply(
            kernel, *parameters, *arrays, core=core, outputs={"value": output}, coords=coords
        )["value"].rename(name)


def parameters_of(dataset: xr.Dataset) -> list[xr.DataArray]:
    """Return weights, means, standard deviations, family, and SciPy's parameters if needed."""
    weights, means, deviations = (dataset[name] for name in PARAMETERS)
    if is_joint(dataset):  # of each metric by itself
        weights = weights.broadcast_like(means)
    if FAMILY not in dataset:
        return [
            weights,
            means,
            deviations,
            xr.full_like(weights.isel({COMPONENT: 0}, drop=True), NORMAL, dtype=object),
        ]
    return [
        weights,
        means,
        deviations,
        dataset[FAMILY],
        *(dataset[name] for name in SCIPY_PARAMETERS if name in dataset),
    ]


def parameter_dims(parameters: Sequence[xr.DataArray]) -> list[tuple[str, ...]]:
    """Return the core dims of each parameter."""
    return [(COMPONENT,) if COMPONENT in array.dims else () for array in parameters]


def scaled_mixture(
    weights: Floats, means: Floats, deviations: Floats, family: Any, *scipy_parameters: Floats
) -> Scaled:
    """Return mixtures from the values of their parameters."""
    codes = np.zeros(np.shape(family), int)
    for code, name in enumerate(NAMES):
        codes[np.asarray(family) == name] = code
    return scale.from_scipy(NormalMixture(weights, means, deviations), codes, *scipy_parameters)


def parameter_outputs(
    units: str, families: Sequence[str], *, joint: bool = False
) -> dict[str, Output]:
    """Return the variables of a mixture of some families, or a joint one of several metrics."""
    along, of_means = (COMPONENT,), (COMPONENT, METRIC) if joint else (COMPONENT,)
    variables = outputs("1", along, weight="share of the runs") | outputs(
        units, of_means, mean="", standard_deviation=""
    )
    if joint:
        variables[CORRELATION] = Output(
            (*of_means, METRIC_2), "1", long_name="of two metrics inside a component"
        )
    variables[FAMILY] = Output((), "", object, "distribution of a component")
    if tuple(families) != (NORMAL,):
        variables |= outputs("1", along, shape_parameter="SciPy's first parameter") | outputs(
            units, along, location="", scale=""
        )
    return variables


def parameter_values(scaled: Scaled, families: Sequence[str]) -> tuple[Any, ...]:
    """Return the values of the variables of mixtures, components by ascending means."""
    weights, means, deviations = scale.moments(scaled)
    order = np.argsort(
        np.where(weights > 0, means, np.nan), axis=-1, kind="stable"
    )  # NaN goes last, behind means that are infinite
    columns = [
        scaled.mixture.weights,
        *(np.where(weights > 0, column, np.nan) for column in (means, deviations)),
    ]
    columns += scale.scipy_parameters(scaled) if tuple(families) != (NORMAL,) else ()
    weight, mean, deviation, *scipy_columns = (
        np.take_along_axis(column, order, axis=-1) for column in columns
    )
    names = np.array(NAMES, dtype=object)[np.asarray(scaled.family, int)]
    family = np.where((weights > 0).any(axis=-1), names, UNKNOWN).astype(object)
    return weight, mean, deviation, family, *scipy_columns


def _along_component(values: Any, name: str) -> xr.DataArray:
    """Return parameters as an array along `component`."""
    if isinstance(values, xr.DataArray):
        if COMPONENT not in values.dims:
            raise ValueError(f"{name} has dims {values.dims}; it needs the dim {COMPONENT!r}")
        return values.astype(float).drop_vars(COMPONENT, errors="ignore")
    array = np.asarray(values, float)
    if array.ndim != 1 or not array.size:
        raise ValueError(
            f"{name} has shape {array.shape}: give one number per component, or a DataArray "
            f"along {COMPONENT!r}"
        )
    return xr.DataArray(array, dims=COMPONENT)


def _checked_parameters(
    log: bool, weights: Floats, means: Floats, deviations: Floats
) -> tuple[Any, ...]:
    """Check parameters, and sort the components."""
    weights, means, deviations = (
        np.array(column) for column in np.broadcast_arrays(weights, means, deviations)
    )
    weights = np.where(
        np.isnan(weights) & ~np.isnan(weights).all(axis=-1, keepdims=True), 0.0, weights
    )
    if (weights < 0).any():
        raise ValueError(f"weights must not be negative; the least is {np.nanmin(weights):g}")
    total = weights.sum(axis=-1, keepdims=True)
    if (np.abs(total - 1) > SUM).any():
        wrong = total[np.abs(total - 1) > SUM].ravel()[0]
        raise ValueError(f"the weights of a mixture sum to 1; these sum to {wrong:.9g}")
    has_weight = weights > 0
    if not np.isfinite(means[has_weight]).all():
        raise ValueError("means must be finite where the weight is positive")
    if not ((deviations[has_weight] > 0) & np.isfinite(deviations[has_weight])).all():
        raise ValueError("standard_deviations must be positive where the weight is")
    if log and (means[has_weight] <= 0).any():
        raise ValueError(
            "means of lognormal components must be positive; the least is "
            f"{means[has_weight].min():g}"
        )
    measured = ~np.isnan(weights).all(axis=-1)
    order = np.argsort(
        np.where(has_weight, means, np.inf), axis=-1, kind="stable"
    )  # absent components go last
    columns = (
        weights / total,
        np.where(has_weight, means, np.nan),
        np.where(has_weight, deviations, np.nan),
    )
    mixture = NormalMixture(*(np.take_along_axis(column, order, axis=-1) for column in columns))
    if log:
        spreads = np.sqrt(np.log1p((mixture.deviations / mixture.means) ** 2))
        mixture = NormalMixture(mixture.weights, np.log(mixture.means) - 0.5 * spreads**2, spreads)
    values = parameter_values(Scaled(mixture, np.full(measured.shape, int(log))), (NAMES[log],))
    return (*values, np.where(measured, has_weight.sum(axis=-1), np.nan))


def _points(values: Any, dim: str) -> xr.DataArray:
    """Return points as an array: a number without dims, an array-like along `dim`."""
    if isinstance(values, xr.DataArray):
        return values.astype(float)
    array = np.asarray(values, float)
    if array.ndim > 1:
        raise ValueError(
            f"{dim} has shape {array.shape}: give a number, one dimension, or a DataArray"
        )
    return (
        xr.DataArray(array)
        if array.ndim == 0
        else xr.DataArray(array, dims=dim, coords={dim: array})
    )
