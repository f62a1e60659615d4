"""A test of fit: the Kolmogorov-Smirnov distance, calibrated by samples fitted anew."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from perfarray.mixtures.numerics.fit import FitRequest
from perfarray.mixtures.numerics.grid import steps_of
from perfarray.mixtures.numerics.normal import NormalMixture
from perfarray.mixtures.numerics.scale import Scaled, distribution, draw_from, fit_on_scale
from perfarray.numerics.random import SAMPLES, Streams
from perfarray.numerics.types import Floats, Integers, Mask

AUTO = "auto"

# Values drawn at a time.
VALUES = 1 << 20

# Values of small samples that are fitted at once, in half to two thirds of the time; fewer for
# several families, where cells are counted.
TOGETHER = 1 << 16


def ks_distance(values: Floats, weights: Floats | None, scaled: Scaled) -> Floats:
    """Return the largest distance between samples (sample, value) and mixtures.

    It is looked for on both sides of every step.
    """
    order = np.argsort(values, axis=-1)
    ordered = np.take_along_axis(values, order, axis=-1)
    measured = ~np.isnan(ordered)
    shares = (
        measured.astype(float)
        if weights is None
        else np.where(measured, np.take_along_axis(weights, order, axis=-1), 0.0)
    )
    steps = np.cumsum(shares, axis=-1)
    total = steps[:, -1:]
    fit = distribution(scaled.at_points(), ordered)
    with np.errstate(invalid="ignore"):
        below, above = fit - (steps - shares) / total, steps / total - fit
    distance = np.where(measured, np.maximum(below, above), -np.inf).max(axis=-1, initial=-np.inf)
    # A constant sample is its own distribution: both have their step at the same value.
    point = (scaled.mixture.deviations == 0).any(axis=-1)
    return np.where(np.isfinite(distance), np.where(point, 0.0, distance), np.nan)


def fitted(values: Floats, weights: Floats | None, request: FitRequest) -> Scaled:
    """Fit samples, shape (sample, value)."""
    fits, family = fit_on_scale(values, weights, request)
    return Scaled(NormalMixture(*fits[:3]), family)


def calibrated_fit(
    values: Floats,
    weights: Floats | None,
    scaled: Scaled,
    cells: Integers,
    *,
    request: FitRequest,
    n_samples: int,
    undersample: float,
    resolution: float | str | None,
    alpha: float,
    key: tuple[int, int],
) -> tuple[Floats, ...]:
    """Calibrate the distance of every sample by samples drawn from its mixture.

    The number of components is chosen anew for each. `undersample` is their size as a share of the
    sample's, `resolution` the step of drawn values ("auto": that of the sample, if it has one).

    `cells` are the keys of the streams of random numbers. Returns the distance, the critical value,
    the p-value and its Monte Carlo error, the step that drawn values were rounded to (0: none), and
    their distances (sample, replicate).
    """
    mixture = scaled.mixture
    refit = replace(request, grouped=True, progress=None)
    progress = request.progress or (lambda _number: None)
    n = (~np.isnan(values)).sum(axis=-1)
    if resolution == AUTO:
        steps = np.nan_to_num(steps_of(values))
        first = np.where(n > 0, np.nanmin(values, axis=-1, initial=np.inf), 0.0)
    else:
        steps, first = np.full(len(values), float(resolution or 0.0)), np.zeros(len(values))
    replicates = np.full((len(values), n_samples), np.nan)
    statistic = ks_distance(values, weights, scaled)
    testable = ((mixture.weights > 0) & (mixture.deviations > 0)).any(axis=-1) & (n > 0)
    streams = Streams(key)
    sizes = np.maximum(1, np.floor(undersample * n + 0.5).astype(int))
    for rows in _equal_sizes(testable, sizes, n_samples * len(request.families)):
        generators = [streams.generator(int(cells[row]), SAMPLES) for row in rows]
        size = int(sizes[rows[0]])
        block = max(1, VALUES // size)
        for start in range(0, n_samples, block):
            shape = (min(block, n_samples - start), size)
            samples = np.concatenate(
                [
                    _sample(scaled.take(row), generator, steps[row], first[row], shape)
                    for row, generator in zip(rows, generators, strict=True)
                ]
            )
            distances = ks_distance(samples, None, fitted(samples, None, refit))
            replicates[rows, start : start + block] = distances.reshape(len(rows), -1)
        progress(len(rows))
    progress(int((~testable).sum()))
    critical = np.sort(replicates, axis=-1)[:, critical_index(n_samples, alpha)]
    exceeding = np.where(testable, (replicates > statistic[:, None]).sum(axis=-1), np.nan)
    # If none or all exceed, the error of p is that of one that does or does not.
    ends = n_samples / (n_samples + 1), n_samples**2 / (n_samples + 1)
    inside = np.clip(exceeding, *ends) / n_samples
    return (
        statistic,
        critical,
        exceeding / n_samples,
        np.sqrt(inside * (1 - inside) / n_samples),
        steps,
        replicates,
    )


def _equal_sizes(testable: Mask, sizes: Integers, fits: int) -> Iterator[Integers]:
    """Yield cells whose samples are fitted at once: of one size, and not too many values.

    The cost of a step of EM on small samples is that of calling it, and all samples take the steps
    of the slowest.
    """
    for size in np.unique(sizes[testable]):
        rows = np.flatnonzero(testable & (sizes == size))
        step = max(1, TOGETHER // (int(size) * fits))
        yield from (rows[start : start + step] for start in range(0, len(rows), step))


def critical_index(number: int, alpha: float) -> int:
    """Return the index of the critical value: the integer part of N (1 - alpha), less one."""
    return max(0, int(np.floor(number * (1 - alpha) + 1e-9)) - 1)


def _sample(
    scaled: Scaled,
    generator: np.random.Generator,
    step: float,
    first: float,
    shape: tuple[int, int],
) -> Floats:
    """Draw samples, and round them to the grid of the data; positive values do not become 0."""
    values = draw_from(scaled, shape, generator)
    if step > 0:
        values = first + np.round((values - first) / step) * step
        values = np.where(scaled.positive, np.maximum(values, step), values)
    return values
