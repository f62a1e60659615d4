"""Nested run times whose true variances and means you choose: what every method can be tested on."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from perfarray.conventions import LOWER, METRIC, SECONDS, TIME
from perfarray.numerics.types import Floats
from perfarray.timings.validation import check_choice, check_count, check_number, listed

Draw = Callable[[np.random.Generator, tuple[int, ...]], Floats]


def _lognormal(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Lognormal with sigma 1, standardised: skewness 6.2."""
    return np.asarray((rng.lognormal(0.0, 1.0, shape) - np.exp(0.5)) / np.sqrt(np.expm1(1.0) * np.exp(1.0)))


def _bimodal(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Two narrow modes, the slower one in a fifth of the draws: standardised."""
    slow = rng.random(shape) < 0.2
    return np.asarray((5.0 * slow + rng.normal(size=shape) - 1.0) / np.sqrt(25 * 0.16 + 1.0))


DISTRIBUTIONS: dict[str, Draw] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "lognormal": _lognormal,
    "exponential": lambda rng, shape: rng.exponential(size=shape) - 1.0,
    "bimodal": _bimodal,
}
"""Draws with mean 0 and variance 1."""


def simulate(
    *,
    sizes: Mapping[str, int | tuple[int, int]],
    variances: Mapping[str, float],
    mean: Any = 1.0,
    distribution: str = "normal",
    dims: Mapping[str, int | Sequence[Any]] | None = None,
    shared: Mapping[str, float] | None = None,
    rng: int | np.random.Generator | None = None,
) -> xr.Dataset:
    """Draw nested timings: the mean plus an effect of every level.

    Parameters
    ----------
    sizes : mapping
        Repetitions per level, outermost first; a pair (fewest, most) makes the level ragged: each parent draws its own number.
    variances : mapping
        The variance each level contributes (true :math:`T_i^2`), in squared units of the mean; a level not named contributes 0.
    mean : float or DataArray
        The true mean; an array broadcasts over `dims` by name.
    distribution : {"normal", "lognormal", "exponential", "bimodal"}
        Of the effects of every level, standardised to mean 0.
    dims : mapping, optional
        Other dims, as `{"benchmark": ["fft", "sort"], "version": 2}`: labels, or how many.
    shared : mapping, optional
        Correlation of a level's effects between benchmarks, as `{"binary": 0.8}`: unit j is the same unit for all of them.
    rng : int or numpy.random.Generator, optional
        Seed.

    Returns
    -------
    Dataset
        `time` (seconds) over `dims` and the levels; `attrs["shared_levels"]` of it where levels are shared.

    Raises
    ------
    ValueError
        For sizes, variances or correlations that are out of range, or levels named in one place only.

    Examples
    --------
    >>> import perfarray
    >>> sizes, variances = {"execution": 20, "iteration": 3}, {"execution": 0.04, "iteration": 0.01}
    >>> times = perfarray.simulate(sizes=sizes, variances=variances, mean=10.0, rng=1)
    >>> times["time"].shape, round(float(times["time"].mean()), 1)
    ((20, 3), 10.0)
    """
    check_choice(distribution, "distribution", tuple(DISTRIBUTIONS))
    levels = list(sizes)
    spans = {level: _span(sizes[level], level) for level in levels}
    common = dict(shared or {})
    for name in (*variances, *common):
        if name not in levels:
            raise ValueError(f"{name!r} is not one of the levels in sizes: {listed(levels)}")
    labels = {name: _labels(value, name) for name, value in (dims or {}).items()}
    draw, generator = DISTRIBUTIONS[distribution], np.random.default_rng(rng)
    outer = {name: len(values) for name, values in labels.items()}
    shape: dict[str, int] = dict(outer)
    total = xr.DataArray(np.zeros(tuple(outer.values())), dims=tuple(outer), coords=labels) + mean
    measured = xr.DataArray(np.ones(tuple(outer.values()), dtype=bool), dims=tuple(outer))
    for level in levels:
        low, high = spans[level]
        shape[level] = high
        scale = np.sqrt(_variance(variances.get(level, 0.0), level))
        total = total + scale * _effects(draw, generator, shape, common.get(level, 0.0), level)
        if low < high:
            counts = xr.DataArray(
                generator.integers(low, high + 1, tuple(n for name, n in shape.items() if name != level)),
                dims=tuple(n for n in shape if n != level),
            )
            measured = measured & (xr.DataArray(np.arange(high), dims=level) < counts)
    total = total.where(measured).transpose(*shape).assign_coords({level: np.arange(shape[level]) for level in levels})
    total.attrs = {"units": SECONDS, "better": LOWER} | ({"shared_levels": " ".join(common)} if common else {})
    return xr.Dataset({TIME: total}, attrs={METRIC: TIME})


def _span(size: int | tuple[int, int], level: str) -> tuple[int, int]:
    """Return the fewest and most repetitions of a level."""
    low, high = size if isinstance(size, tuple) else (size, size)
    least = check_count(low, f"sizes[{level!r}]")
    return least, check_count(high, f"sizes[{level!r}]", least)


def _variance(value: float, level: str) -> float:
    """Return a variance that is not negative."""
    if check_number(value, f"variances[{level!r}]") < 0:
        raise ValueError(f"variances[{level!r}]={value!r} is negative")
    return float(value)


def _labels(value: int | Sequence[Any], name: str) -> npt.NDArray[Any]:
    """Return the labels of a dim: those given, or `name0`, `name1`, ..."""
    if isinstance(value, int):
        return np.array([f"{name}{i}" for i in range(check_count(value, f"dims[{name!r}]"))], dtype=object)
    array = np.asarray(value)
    return array.astype(object) if array.dtype.kind in "US" else array


def _effects(draw: Draw, rng: np.random.Generator, shape: Mapping[str, int], correlation: float, level: str) -> xr.DataArray:
    """Draw a level's effects for every unit; a correlated part is common to the benchmarks."""
    if not 0.0 <= check_number(correlation, f"shared[{level!r}]") <= 1.0:
        raise ValueError(f"shared[{level!r}]={correlation!r} is not a correlation between 0 and 1")
    own = xr.DataArray(draw(rng, tuple(shape.values())), dims=tuple(shape))
    if not correlation:
        return own
    apart = {name: n for name, n in shape.items() if name != "benchmark"}
    joint = xr.DataArray(draw(rng, tuple(apart.values())), dims=tuple(apart))
    combined: xr.DataArray = float(np.sqrt(correlation)) * joint + float(np.sqrt(1 - correlation)) * own
    return combined
