"""Coefficients of the log of an expected variance, of which mean squares with a known noise are measured."""

import numpy as np

from perfarray.numerics.types import Floats

VANISHED = 1e-6
"""Share of a mean square below which the variance runs towards zero."""

STEPS, SMALLEST, ROUNDING = 200, 1e-9, 1e-5
"""Steps at most; the gradient per row at which they end; and that, of columns up to 1, below which no further fall is rounding."""

NEAR = 0.1
"""Gradient per row below which a step takes the curvature that the deviance has there; further away a larger one is safe."""


def log_linear(design: Floats, measured: Floats, noise: Floats, start: Floats) -> Floats | None:
    """Minimise the gamma deviance of `measured` from `exp(design @ coefficients) + noise`.

    Newton's steps with a damping that grows until the deviance falls (Levenberg's), since the usual scoring without damping runs in circles
    where some measured values are many times what is expected.

    Parameters
    ----------
    design : array, shape (n, p)
        Columns of the model.
    measured, noise : array, shape (n,)
        Mean squares, and what is expected of them where the variance is zero.
    start : array, shape (p,)
        Coefficients to begin with.

    Returns
    -------
    array, shape (p,), or None
        None where there is no minimum: the variance is then zero, as far as one can see, for some values of the predictors.

    Examples
    --------
    >>> import numpy as np
    >>> design = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    >>> np.exp(log_linear(design, np.array([1.0, 3.0, 6.0]), np.zeros(3), np.zeros(2))).round(6).tolist()  # 2, and 3 times as much
    [2.0, 3.0]
    """
    coefficients, damping = start, 1e-3
    value = _deviance(design, measured, noise, coefficients)
    for _ in range(STEPS):
        expected = np.exp(np.minimum(design @ coefficients, 700.0))
        mean = expected + noise
        share = expected / mean
        gradient = design.T @ (share * (1 - measured / mean))
        steepest = np.abs(gradient).max() / len(measured)
        if steepest < SMALLEST:
            break
        ratio = measured / mean
        curved = np.maximum(share * (1 - ratio) + share**2 * (2 * ratio - 1), 0.0) if steepest < NEAR else share**2 * np.maximum(ratio, 1.0)
        curvature = (design * curved[:, None]).T @ design
        while damping < 1e12:
            step = np.linalg.lstsq(curvature + damping * np.diag(np.diag(curvature)), gradient, rcond=None)[0]
            tried = _deviance(design, measured, noise, coefficients - step)
            if tried <= value:
                break
            damping *= 10
        else:
            break
        coefficients, value, damping = coefficients - step, tried, max(damping / 10, 1e-9)
    flat = (np.abs(gradient) / np.maximum(np.abs(design).max(axis=0), 1.0)).max() / len(measured) < ROUNDING
    return coefficients if flat and share.min() > VANISHED else None


def _deviance(design: Floats, measured: Floats, noise: Floats, coefficients: Floats) -> float:
    """Return half of the gamma deviance, up to a constant."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        mean = np.exp(design @ coefficients) + noise
        value = float((measured / mean + np.log(mean)).sum())
    return value if np.isfinite(value) else np.inf
