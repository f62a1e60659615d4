"""Mixtures of normal distributions of several metrics: EM with full covariances, and BIC."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from perfarray.mixtures.numerics.fit import EQUAL, MARGIN, STOPPED, FitRequest, Fits, unfitted
from perfarray.mixtures.numerics.normal import draw_components
from perfarray.mixtures.numerics.pool import FLOOR, LOG_2PI
from perfarray.numerics.types import Floats, Integers

# Most runs that are clustered for a start; of more, as many evenly along the first principal
# component, and the rest go to the nearest.
CLUSTERED = 1000

# Relative change of the log-likelihood at which EM stops if no tolerance is given.
CONVERGED = 1e-10

MOST_STEPS = 5000


class JointFit(NamedTuple):
    """A mixture of k metrics, with covariances (component, k, k), and how EM ended."""

    weights: Floats
    means: Floats
    covariances: Floats
    equal: bool
    loglik: float
    n_iterations: int
    converged: bool
    floored: bool

    def bic(self, n: float) -> float:
        """Return the BIC of a sample of n."""
        number, k = self.means.shape
        parameters = number - 1 + number * k + k * (k + 1) // 2 * (1 if self.equal else number)
        return float(2 * self.loglik - parameters * np.log(n))


def fit_joint_samples(
    samples: Floats, weights: Floats | None, request: FitRequest
) -> tuple[Fits, Floats]:
    """Fit samples (sample, run, metric).

    Return means and deviations (sample, component, metric) among the fits, and the correlations.
    """
    size, _, k = samples.shape
    fits = unfitted(size, max(request.numbers), k)
    correlations = np.full((*fits.means.shape, k), np.nan)
    fits.weights[:], fits.n[:] = 0.0, (~np.isnan(samples[..., 0])).sum(axis=-1)
    for row, points in enumerate(
        samples
    ):  # one after the other: EM takes all components of one at once
        complete = ~np.isnan(points[:, 0])
        shares = np.ones(int(fits.n[row])) if weights is None else weights[row, complete]
        answer = fit_joint(points[complete], shares, request) if fits.n[row] > 1 else None
        if request.progress is not None:
            request.progress(1)
        if answer is None:
            continue
        fit, fits.n_floored[row] = answer
        number, spread = len(fit.weights), np.sqrt(np.diagonal(fit.covariances, axis1=1, axis2=2))
        fits.weights[row, :number], fits.means[row, :number], fits.deviations[row, :number] = (
            fit.weights,
            fit.means,
            spread,
        )
        correlations[row, :number] = fit.covariances / (spread[:, :, None] * spread[:, None])
        fits.n_components[row], fits.equal[row], fits.n_iterations[row] = (
            number,
            fit.equal,
            fit.n_iterations,
        )
        fits.loglik[row], fits.bic[row] = fit.loglik, fit.bic(shares.sum())
        fits.converged[row], fits.floored[row] = fit.converged, fit.floored
    return fits, correlations


def fit_joint(points: Floats, weights: Floats, request: FitRequest) -> tuple[JointFit, int] | None:
    """Fit mixtures to points (run, metric), and keep the one with the largest BIC.

    The weights of the runs sum to their number. Returns components in ascending order of their
    means of the first metric, in the units of the data, and of how many numbers and models every
    fit has a component at the floor; None where no fit competes.
    """
    n = weights.sum()
    center = weights @ points / n
    scale = np.sqrt(weights @ (points - center) ** 2 / n)
    if not (scale > 0).all():
        return None
    x = (points - center) / scale
    candidates = _candidates(
        x, weights, request, STOPPED if request.tolerance is None else request.tolerance
    )
    fits = [fit for starts in candidates for fit in starts]
    competing = [fit for fit in fits if not fit.floored] or (fits if request.forced else [])
    if not competing:
        return None
    if request.tolerance is None:
        best = max(fit.bic(n) for fit in competing)
        finished = [
            _em(x, weights, fit, CONVERGED) for fit in competing if fit.bic(n) >= best - MARGIN
        ]
        competing = [fit for fit in finished if not fit.floored] or finished
    winner = max(competing, key=lambda fit: fit.bic(n))
    order = np.argsort(winner.means[:, 0], kind="stable")
    return winner._replace(
        weights=winner.weights[order],
        means=center + scale * winner.means[order],
        covariances=winner.covariances[order] * scale[:, None] * scale,
        loglik=float(winner.loglik - n * np.log(scale).sum()),
    ), sum(all(fit.floored for fit in starts) for starts in candidates)


def _candidates(
    x: Floats, weights: Floats, request: FitRequest, limit: float
) -> list[list[JointFit]]:
    """Fit every number of components and model, each from all its starts.

    Smaller numbers as well, to start from.
    """
    distinct = len(np.unique(x, axis=0))
    numbers = {min(number, distinct) if request.forced else number for number in request.numbers}
    candidates, largest = [], dict[bool, JointFit]()
    for number, classes in _starts(x, weights, min(max(numbers), distinct)):
        for equal in [True] if number == 1 else [model == EQUAL for model in request.models]:
            smaller = largest.get(equal)
            splits = (
                _splits(x, smaller)
                if smaller is not None and len(smaller.weights) == number - 1
                else ()
            )
            fits = []
            for labels in (*classes, *splits):
                shares = (labels[:, None] == np.arange(number)).astype(float)
                parameters = _maximised(x, weights, shares, equal)
                start = JointFit(*parameters, equal, -np.inf, 0, False, False)
                fits.append(_em(x, weights, start, limit))
            best = max(fits, key=lambda fit: fit.loglik)
            largest |= (
                {}
                if best.floored
                else dict.fromkeys((True, False), best)
                if number == 1
                else {equal: best}
            )
            candidates += [fits] if number in numbers else []
    return candidates


def _starts(x: Floats, weights: Floats, max_number: int) -> Iterator[tuple[int, list[Integers]]]:
    """Yield classes to start from, for every number of them.

    Between quantiles of the first principal component, and Ward's clusters.
    """
    from scipy.cluster.hierarchy import fcluster, linkage

    values, vectors = np.linalg.eigh((weights[:, None] * x).T @ x)
    sphered = x @ vectors[:, ::-1] / np.sqrt(np.maximum(values[::-1], FLOOR * values[-1]))
    order = np.argsort(sphered[:, 0], kind="stable")
    clustered = order[np.unique(np.linspace(0, len(x) - 1, min(CLUSTERED, len(x))).astype(int))]
    tree = linkage(sphered[clustered], "ward") if len(x) > 2 else None
    for number in range(1, max_number + 1):
        ranks = np.empty(len(x), int)
        ranks[order] = np.arange(len(x)) * number // len(x)
        starts = [ranks]
        if number > 1 and tree is not None:
            labels = fcluster(tree, number, "maxclust") - 1
            if len(clustered) < len(x):
                centers = np.stack(
                    [
                        sphered[clustered][labels == label].mean(axis=0)
                        for label in range(labels.max() + 1)
                    ]
                )
                starts.append(((sphered[:, None] - centers) ** 2).sum(axis=-1).argmin(axis=1))
            else:
                starts.append(labels[np.argsort(clustered)])
        yield number, starts


def _splits(x: Floats, fit: JointFit) -> Iterator[Integers]:
    """Yield classes of one more than a fit has: a component is cut along its principal axis."""
    nearest = log_densities(x, *fit[:3]).argmax(axis=-1)
    for number, (mean, covariance) in enumerate(zip(fit.means, fit.covariances, strict=True)):
        members = np.flatnonzero(nearest == number)
        if len(members) < 2 * (x.shape[-1] + 1):
            continue
        along = (x[members] - mean) @ np.linalg.eigh(covariance)[1][:, -1]
        labels = nearest.copy()
        labels[members[along > np.median(along)]] = len(fit.weights)
        yield labels


def _maximised(
    x: Floats, weights: Floats, shares: Floats, equal: bool
) -> tuple[Floats, Floats, Floats]:
    """Return the most likely parameters, given each component's share of every run."""
    weighted = weights[:, None] * shares
    mass = np.maximum(weighted.sum(axis=0), np.finfo(float).tiny)
    means = weighted.T @ x / mass[:, None]
    deviations = x - means[:, None]
    squares = np.swapaxes(deviations * weighted.T[..., None], 1, 2) @ deviations
    covariances = (
        np.broadcast_to(squares.sum(axis=0) / weights.sum(), squares.shape)
        if equal
        else squares / mass[:, None, None]
    )
    return mass / weights.sum(), means, covariances


def log_densities(x: Floats, weights: Floats, means: Floats, covariances: Floats) -> Floats:
    """Return log(weight times density) at x (..., metric), shape (..., component)."""
    roots = np.linalg.cholesky(covariances)
    scores = (x.reshape(-1, x.shape[-1]) - means[:, None]) @ np.swapaxes(np.linalg.inv(roots), 1, 2)
    heights = (
        np.log(weights)
        - np.log(np.diagonal(roots, axis1=-2, axis2=-1)).sum(axis=-1)
        - 0.5 * means.shape[-1] * LOG_2PI
    )
    terms = heights - 0.5 * np.einsum("cnk,cnk->nc", scores, scores)
    return np.asarray(terms.reshape(*x.shape[:-1], len(weights)))


def _em(x: Floats, weights: Floats, fit: JointFit, limit: float) -> JointFit:
    """Run EM to a relative change of the log-likelihood, or until a component is at the floor."""
    parameters, previous = fit[:3], np.inf
    for step in range(1, MOST_STEPS + 1):
        if parameters[0].min() <= FLOOR or np.linalg.eigvalsh(parameters[2]).min() <= FLOOR:
            return fit._replace(
                floored=True, loglik=-np.inf, n_iterations=fit.n_iterations + step - 1
            )
        joint = log_densities(x, *parameters)
        largest = joint.max(axis=-1, keepdims=True)
        shares = np.exp(joint - largest)
        total = shares.sum(axis=-1, keepdims=True)
        loglik = float(weights @ (largest + np.log(total))[:, 0])
        converged = abs(previous - loglik) <= limit * (1 + abs(loglik))
        if converged or step == MOST_STEPS:
            break
        previous = loglik
        parameters = _maximised(x, weights, shares / total, fit.equal)
    return JointFit(*parameters, fit.equal, loglik, fit.n_iterations + step, converged, False)


def present(
    weights: Floats, means: Floats, deviations: Floats, correlations: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return weights, means and covariances of the components of one mixture that are present."""
    index = weights > 0
    spread = deviations[index]
    return weights[index], means[index], correlations[index] * spread[:, :, None] * spread[:, None]


def classes(mixture: Sequence[Floats], x: Floats) -> Floats:
    """Return the number (from 1) of the component a run x (..., metric) most probably comes from.

    NaN where a metric is missing.
    """
    batch = mixture[0].shape[:-1]
    shape = np.broadcast_shapes(batch, x.shape[:-1])
    numbers = np.full(shape, np.nan)
    for index in np.ndindex(batch):  # mixture by mixture
        parameters = present(*(column[index] for column in mixture))
        if len(parameters[0]):
            cells = tuple(
                slice(None) if size == 1 else at for at, size in zip(index, batch, strict=True)
            )
            points = np.broadcast_to(x, (*shape, x.shape[-1]))[cells]
            nearest = log_densities(points, *parameters).argmax(axis=-1) + 1.0
            numbers[cells] = np.where(np.isnan(points).any(axis=-1), np.nan, nearest)
    return numbers


def draw(
    mixture: tuple[Floats, Floats, Floats], number: int, generator: np.random.Generator
) -> Floats:
    """Draw runs from one mixture, weights, means and covariances of components that are present.

    Shape (metric, run).
    """
    weights, means, covariances = mixture
    components = draw_components(weights, number, generator)
    scores = generator.standard_normal((number, means.shape[-1]))
    return np.asarray(
        (
            means[components]
            + np.einsum("nij,nj->ni", np.linalg.cholesky(covariances)[components], scores)
        ).T
    )


def ellipse(center: Floats, covariance: Floats, probability: float, points: int = 100) -> Floats:
    """Return the ellipse (metric, point) that holds a probability of a component."""
    angles = np.linspace(0, 2 * np.pi, points)
    radius = np.sqrt(-2 * np.log1p(-probability))
    return np.asarray(
        center[:, None]
        + radius * np.linalg.cholesky(covariance) @ np.stack([np.cos(angles), np.sin(angles)])
    )
