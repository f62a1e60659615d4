"""Mixtures of normal distributions of several metrics together: EM with full covariances, one for all or one for each, and BIC."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage

from perfarray.mixtures.numerics.fit import EQUAL, MARGIN, STOPPED, FitRequest
from perfarray.mixtures.numerics.stops import FLOOR, LOG_2PI
from perfarray.numerics.types import Floats, Integers

CLUSTERED = 1000
"""Most runs that are clustered for a start; of more as many, evenly along their first principal component, and the rest to the nearest."""

ARRIVED = 1e-10
"""Relative change of the log-likelihood at which EM stops where no tolerance is given."""

MOST_STEPS = 5000
"""Most steps of EM."""


class JointFit(NamedTuple):
    """A mixture of k metrics: weights (component,), means (component, k), covariances (component, k, k), and how EM ended."""

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


def fit_joint(points: Floats, weights: Floats, request: FitRequest) -> tuple[JointFit, int] | None:
    """Fit mixtures of every number of components and both models, and keep the one with the largest BIC.

    Parameters
    ----------
    points : array, shape (run, metric)
        Without gaps.
    weights : array, shape (run,)
        What each run counts; they sum to their number.
    request : FitRequest
        What is tried.

    Returns
    -------
    JointFit and int, or None
        Components in ascending order of their means of the first metric, in the units of the data, and of how many numbers and models
        every fit has a component at the floor; None where no fit competes.
    """
    n = weights.sum()
    center = weights @ points / n
    scale = np.sqrt(weights @ (points - center) ** 2 / n)
    if not (scale > 0).all():
        return None
    x = (points - center) / scale
    limit = STOPPED if request.tolerance is None else request.tolerance
    candidates = _candidates(x, weights, request, limit)
    fits = [fit for every in candidates for fit in every]
    competing = [fit for fit in fits if not fit.floored] or (fits if request.forced else [])
    if not competing:
        return None
    if request.tolerance is None:
        best = max(fit.bic(n) for fit in competing)
        near = [fit for fit in competing if fit.bic(n) >= best - MARGIN]
        competing = [_em(x, weights, fit, ARRIVED) for fit in near]
        competing = [fit for fit in competing if not fit.floored] or competing
    chosen = max(competing, key=lambda fit: fit.bic(n))
    order = np.argsort(chosen.means[:, 0], kind="stable")
    return chosen._replace(
        weights=chosen.weights[order],
        means=center + scale * chosen.means[order],
        covariances=chosen.covariances[order] * scale[:, None] * scale,
        loglik=float(chosen.loglik - n * np.log(scale).sum()),
    ), sum(all(fit.floored for fit in every) for every in candidates)


def _candidates(x: Floats, weights: Floats, request: FitRequest, limit: float) -> list[list[JointFit]]:
    """Fit every number of components and model, each from all its starts; fewer components than asked for as well, to start from."""
    distinct = len(np.unique(x, axis=0))
    asked = {min(number, distinct) if request.forced else number for number in request.numbers}
    found, largest = [], dict[bool, JointFit]()
    for number, starts in _starts(x, weights, min(max(asked), distinct)):
        for equal in [True] if number == 1 else [model == EQUAL for model in request.models]:
            fewer = largest.get(equal)
            every = [*starts, *(_splits(x, fewer) if fewer is not None and len(fewer.weights) == number - 1 else ())]
            own = [_of_start(x, weights, classes, number, equal, limit) for classes in every]
            best = max(own, key=lambda fit: fit.loglik)
            largest |= {} if best.floored else dict.fromkeys((True, False), best) if number == 1 else {equal: best}
            found += [own] if number in asked else []
    return found


def _starts(x: Floats, weights: Floats, most: int) -> Iterator[tuple[int, list[Integers]]]:
    """Return classes to start from, for every number of them: between quantiles of the first principal component, and Ward's clusters."""
    values, vectors = np.linalg.eigh((weights[:, None] * x).T @ x)
    sphered = x @ vectors[:, ::-1] / np.sqrt(np.maximum(values[::-1], FLOOR * values[-1]))
    order = np.argsort(sphered[:, 0], kind="stable")
    some = order[np.unique(np.linspace(0, len(x) - 1, min(CLUSTERED, len(x))).astype(int))]
    tree = linkage(sphered[some], "ward") if len(x) > 2 else None
    for number in range(1, most + 1):
        ranks = np.empty(len(x), int)
        ranks[order] = np.arange(len(x)) * number // len(x)
        starts = [ranks]
        if number > 1 and tree is not None:
            found = fcluster(tree, number, "maxclust") - 1
            if len(some) < len(x):
                centers = np.stack([sphered[some][found == own].mean(axis=0) for own in range(found.max() + 1)])
                starts.append(((sphered[:, None] - centers) ** 2).sum(axis=-1).argmin(axis=1))
            else:
                starts.append(found[np.argsort(some)])
        yield number, starts


def _splits(x: Floats, fit: JointFit) -> Iterator[Integers]:
    """Return classes of one more than a fit has: those of the fit, one after the other cut in half along its principal axis."""
    classes = log_densities(x, *fit[:3]).argmax(axis=-1)
    for number, (mean, covariance) in enumerate(zip(fit.means, fit.covariances, strict=True)):
        own = np.flatnonzero(classes == number)
        if len(own) < 2 * (x.shape[-1] + 1):
            continue
        along = (x[own] - mean) @ np.linalg.eigh(covariance)[1][:, -1]
        cut = classes.copy()
        cut[own[along > np.median(along)]] = len(fit.weights)
        yield cut


def _of_start(x: Floats, weights: Floats, classes: Integers, number: int, equal: bool, limit: float) -> JointFit:
    """Fit one model from some classes."""
    shares = (classes[:, None] == np.arange(number)).astype(float)
    return _em(x, weights, JointFit(*_maximised(x, weights, shares, equal), equal, -np.inf, 0, False, False), limit)


def _maximised(x: Floats, weights: Floats, shares: Floats, equal: bool) -> tuple[Floats, Floats, Floats]:
    """Return the most likely weights, means and covariances, of what each component takes of every run."""
    own = weights[:, None] * shares
    heavy = np.maximum(own.sum(axis=0), np.finfo(float).tiny)
    means = own.T @ x / heavy[:, None]
    deviations = x - means[:, None]
    squares = np.swapaxes(deviations * own.T[..., None], 1, 2) @ deviations
    covariances = np.broadcast_to(squares.sum(axis=0) / weights.sum(), squares.shape) if equal else squares / heavy[:, None, None]
    return heavy / weights.sum(), means, covariances


def log_densities(x: Floats, weights: Floats, means: Floats, covariances: Floats) -> Floats:
    """Return log(weight times density) of every component at x (..., metric), shape (..., component)."""
    roots = np.linalg.cholesky(covariances)
    scores = (x.reshape(-1, x.shape[-1]) - means[:, None]) @ np.swapaxes(np.linalg.inv(roots), 1, 2)
    heights = np.log(weights) - np.log(np.diagonal(roots, axis1=-2, axis2=-1)).sum(axis=-1) - 0.5 * means.shape[-1] * LOG_2PI
    found = heights - 0.5 * np.einsum("cnk,cnk->nc", scores, scores)
    return np.asarray(found.reshape(*x.shape[:-1], len(weights)))


def _em(x: Floats, weights: Floats, fit: JointFit, limit: float) -> JointFit:
    """Run EM until |change of l| / (1 + |l|) is at most the limit, or a component lies at the floor."""
    parameters, before = fit[:3], np.inf
    for step in range(1, MOST_STEPS + 1):
        if parameters[0].min() <= FLOOR or np.linalg.eigvalsh(parameters[2]).min() <= FLOOR:
            return fit._replace(floored=True, loglik=-np.inf, n_iterations=fit.n_iterations + step - 1)
        joint = log_densities(x, *parameters)
        largest = joint.max(axis=-1, keepdims=True)
        shares = np.exp(joint - largest)
        total = shares.sum(axis=-1, keepdims=True)
        each = (largest + np.log(total))[:, 0]
        loglik = float(weights @ each)
        arrived = abs(before - loglik) <= limit * (1 + abs(loglik))
        if arrived or step == MOST_STEPS:
            break
        before = loglik
        parameters = _maximised(x, weights, shares / total, fit.equal)
    return JointFit(*parameters, fit.equal, loglik, fit.n_iterations + step, arrived, False)


def present(weights: Floats, means: Floats, deviations: Floats, correlations: Floats) -> tuple[Floats, Floats, Floats]:
    """Return weights, means and covariances of one mixture (component, ...), without components that are absent."""
    there = weights > 0
    spread = deviations[there]
    return weights[there], means[there], correlations[there] * spread[:, :, None] * spread[:, None]


def classes(mixture: Sequence[Floats], x: Floats) -> Floats:
    """Return the number (from 1) of the component a run x (..., metric) most probably comes from; NaN where a metric is missing."""
    batch = mixture[0].shape[:-1]
    shape = np.broadcast_shapes(batch, x.shape[:-1])
    found = np.full(shape, np.nan)
    for place in np.ndindex(batch):  # mixture by mixture
        own = present(*(part[place] for part in mixture))
        if len(own[0]):
            here = tuple(slice(None) if size == 1 else at for at, size in zip(place, batch, strict=True))
            points = np.broadcast_to(x, (*shape, x.shape[-1]))[here]
            nearest = log_densities(points, *own).argmax(axis=-1) + 1.0
            found[here] = np.where(np.isnan(points).any(axis=-1), np.nan, nearest)
    return found


def draw(mixture: tuple[Floats, Floats, Floats], number: int, generator: np.random.Generator) -> Floats:
    """Draw runs from one mixture, weights, means and covariances of components that are present; shape (metric, run)."""
    shares, centers, covariances = mixture
    edges = np.cumsum(shares)
    chosen = np.searchsorted(edges / edges[-1], generator.random(number), side="right")
    scores = generator.standard_normal((number, centers.shape[-1]))
    return np.asarray((centers[chosen] + np.einsum("nij,nj->ni", np.linalg.cholesky(covariances)[chosen], scores)).T)


def ellipse(center: Floats, covariance: Floats, probability: float, places: int = 100) -> Floats:
    """Return the ellipse that holds a probability of a component of two metrics, shape (metric, place)."""
    angles = np.linspace(0, 2 * np.pi, places)
    radius = np.sqrt(-2 * np.log1p(-probability))
    return np.asarray(center[:, None] + radius * np.linalg.cholesky(covariance) @ np.stack([np.cos(angles), np.sin(angles)]))
