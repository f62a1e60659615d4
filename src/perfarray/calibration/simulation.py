"""Simulated nested timings with chosen true means and variances."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from perfarray.calibration.numerics.experiments import DISTRIBUTIONS, Draw, autocorrelated
from perfarray.conventions import LOWER, METRIC, SECONDS, SIMULATED, TIME
from perfarray.timings.validation import check_choice, check_count, check_number, listed


def simulate(
    *,
    sizes: Mapping[str, int | tuple[int, int]],
    variances: Mapping[str, float],
    mean: Any = 1.0,
    distribution: str | Draw = "normal",
    dims: Mapping[str, int | Sequence[Any]] | None = None,
    shared: Mapping[str, float] | None = None,
    autocorrelation: Mapping[str, float] | None = None,
    rng: int | np.random.Generator | None = None,
) -> xr.Dataset:
    """Draw nested timings: the mean plus an effect of every level.

    Parameters
    ----------
    sizes : mapping
        Repetitions per level, outermost first; a pair (fewest, most) makes the level ragged.
    variances : mapping
        The variance each level contributes (true :math:`T_i^2`), in squared units of the mean.
        Default: 0.
    mean : float or DataArray
        The true mean (s); an array broadcasts over `dims`.
    distribution : {"normal", "lognormal", "exponential", "bimodal"} or callable
        Of the effects of every level; `f(generator, shape)` gives draws with mean 0 and variance 1.
    dims : mapping, optional
        Other dims, as `{"benchmark": ["fft", "sort"], "version": 2}`: labels, or how many.
    shared : mapping, optional
        Correlation of a level's effects between benchmarks, as `{"binary": 0.8}`.
    autocorrelation : mapping, optional
        Correlation of neighbouring effects inside a parent, as `{"execution": 0.3}`: a stationary
        AR(1).
    rng : int or numpy.random.Generator, optional
        Seed.

    Returns
    -------
    Dataset
        `time` (s) over `dims` and the levels. The attr `simulated` names the distribution: values
        below 0 are taken as they are. `shared_levels` names shared levels.

    Raises
    ------
    ValueError
        Sizes, variances or correlations out of range; levels named in one place only.

    Examples
    --------
    >>> import perfarray
    >>> sizes, variances = {"execution": 20, "iteration": 3}, {"execution": 0.04, "iteration": 0.01}
    >>> times = perfarray.simulate(sizes=sizes, variances=variances, mean=10.0, rng=1)
    >>> times["time"].shape, round(float(times["time"].mean()), 1)
    ((20, 3), 10.0)
    """
    draw, generator = check_distribution(distribution), np.random.default_rng(rng)
    levels = list(sizes)
    spans = {level: check_span(sizes[level], f"sizes[{level!r}]") for level in levels}
    common, neighbours = dict(shared or {}), dict(autocorrelation or {})
    check_named((*variances, *common, *neighbours), levels)
    labels = {name: check_labels(value, name) for name, value in (dims or {}).items()}
    outer = {name: len(values) for name, values in labels.items()}
    shape: dict[str, int] = dict(outer)
    total = xr.DataArray(np.zeros(tuple(outer.values())), dims=tuple(outer), coords=labels) + mean
    measured = xr.DataArray(np.ones(tuple(outer.values()), dtype=bool), dims=tuple(outer))
    for level in levels:
        low, high = spans[level]
        shape[level] = high
        variance = variances.get(level, 0.0)
        if check_number(variance, f"variances[{level!r}]") < 0:
            raise ValueError(f"variances[{level!r}]={variance!r} is negative")
        scale = np.sqrt(float(variance))
        effects = _effects(
            draw, generator, shape, check_correlation(common.get(level, 0.0), f"shared[{level!r}]")
        )
        neighbour = check_correlation(
            neighbours.get(level, 0.0), f"autocorrelation[{level!r}]", lowest=-1.0
        )
        total = total + scale * effects.copy(data=autocorrelated(effects.values, neighbour))
        if low < high:
            parents = {name: n for name, n in shape.items() if name != level}
            counts = xr.DataArray(
                generator.integers(low, high + 1, tuple(parents.values())), dims=tuple(parents)
            )
            measured = measured & (xr.DataArray(np.arange(high), dims=level) < counts)
    total = (
        total.where(measured)
        .transpose(*shape)
        .assign_coords({level: np.arange(shape[level]) for level in levels})
    )
    law = distribution if isinstance(distribution, str) else "other"
    total.attrs = {"units": SECONDS, "better": LOWER, SIMULATED: law} | (
        {"shared_levels": " ".join(common)} if common else {}
    )
    return xr.Dataset({TIME: total}, attrs={METRIC: TIME})


def check_distribution(distribution: str | Draw) -> Draw:
    """Return the function that draws effects."""
    if callable(distribution):
        return distribution
    check_choice(distribution, "distribution", tuple(DISTRIBUTIONS))
    return DISTRIBUTIONS[distribution]


def check_named(names: Iterable[str], levels: Sequence[str]) -> None:
    """Raise for names that are not levels with sizes."""
    for name in names:
        if name not in levels:
            raise ValueError(f"{name!r} is not one of the levels in sizes: {listed(levels)}")


def check_span(size: Any, name: str) -> tuple[int, int]:
    """Return the fewest and most repetitions of a level."""
    low, high = size if isinstance(size, tuple) else (size, size)
    minimum = check_count(low, name)
    return minimum, check_count(high, name, minimum)


def check_labels(value: int | Sequence[Any], name: str) -> npt.NDArray[Any]:
    """Return the labels of a dim: those given, or `name0`, `name1`, ..."""
    if isinstance(value, int):
        return np.array(
            [f"{name}{i}" for i in range(check_count(value, f"dims[{name!r}]"))], dtype=object
        )
    array = np.asarray(value)
    return array.astype(object) if array.dtype.kind in "US" else array


def check_correlation(value: Any, name: str, lowest: float = 0.0) -> float:
    """Return a correlation from `lowest` to 1; an autocorrelation is below 1 and above -1."""
    number = check_number(value, name)
    if not lowest <= number <= 1.0 or (lowest < 0 and abs(number) == 1):
        raise ValueError(f"{name}={value!r} is not a correlation between {lowest:g} and 1")
    return number


def _effects(
    draw: Draw, rng: np.random.Generator, shape: Mapping[str, int], correlation: float
) -> xr.DataArray:
    effects = xr.DataArray(draw(rng, tuple(shape.values())), dims=tuple(shape))
    if not correlation:
        return effects
    shared_shape = {name: n for name, n in shape.items() if name != "benchmark"}
    joint = xr.DataArray(draw(rng, tuple(shared_shape.values())), dims=tuple(shared_shape))
    combined: xr.DataArray = (
        float(np.sqrt(correlation)) * joint + float(np.sqrt(1 - correlation)) * effects
    )
    return combined.transpose(*shape)
