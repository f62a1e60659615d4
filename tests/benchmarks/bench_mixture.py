"""Mixtures of 1 to 9 components, both models, of 40 samples of 30 to 1,000 values, against
scikit-learn: as ratios.

scikit-learn takes one sample at a time (part of them, its time scaled to all), from its own start
(k-means) and with its own stopping rule, and, as a second peer, from the start and with about the
stopping rule of ours. "Worse" counts fits of ours whose log-likelihood is lower than scikit-learn's
by more than 1e-6 times its size, where no component of either has collapsed.
"""

import itertools

import numpy as np
from interleaved import compared, measured, ratio
from sklearn.mixture import GaussianMixture

from perfarray.mixtures.numerics.fit import FitRequest, fit_mixtures
from perfarray.mixtures.numerics.goodness_of_fit import calibrated_fit, fitted
from perfarray.mixtures.numerics.start import quantile_classes

SAMPLES, PART, NUMBERS, MODELS = 40, 5, range(1, 10), ("equal", "unequal")
REFITS, REFITTED, SIZE = 200, 5, 100


def samples() -> np.ndarray:
    """Return samples of the paper's mixtures (section 5.2.1), with sizes from 30 to 1,000."""
    rng = np.random.default_rng(0)
    values = np.full((SAMPLES, 1000), np.nan)
    for row in values:
        n, number = int(np.exp(rng.uniform(np.log(30), np.log(1000)))), 1 + rng.poisson(3.5)
        means, deviations = rng.uniform(10, 60, number), 0.3 + 2 * rng.beta(3, 2, number)
        chosen = rng.choice(number, n, p=rng.dirichlet(np.ones(number)))
        row[:n] = rng.normal(means[chosen], deviations[chosen])
    return values


def theirs(values: np.ndarray, same_start: bool = False) -> np.ndarray:
    """Fit every sample, number of components and model with scikit-learn; return the
    log-likelihoods."""
    found = np.full((len(values), len(NUMBERS), len(MODELS)), np.nan)
    for row, padded in enumerate(values):
        sample = np.sort(padded[~np.isnan(padded)])
        for place, number in enumerate(NUMBERS):
            for column, model in enumerate(("tied", "full")):
                start = _start(sample, number, model) if same_start else {"random_state": 0}
                fit = GaussianMixture(number, covariance_type=model, **start).fit(sample[:, None])
                narrow = np.sqrt(fit.covariances_).min() < 1e-2
                found[row, place, column] = (
                    np.nan if narrow else fit.score(sample[:, None]) * len(sample)
                )
    return found


def _start(sample: np.ndarray, number: int, model: str) -> dict:
    """Return scikit-learn's arguments for our start, and a stopping rule as strict as ours."""
    edges = quantile_classes(sample[None], np.array([len(sample)]), number)[0]
    parts = [sample[low:high] for low, high in itertools.pairwise(edges)]
    variances = np.maximum([part.var() for part in parts], 1e-6)
    pooled = np.average(variances, weights=[len(part) for part in parts])
    precisions = np.array([[1 / pooled]]) if model == "tied" else (1 / variances)[:, None, None]
    weights, means = (
        np.array([len(part) for part in parts]) / len(sample),
        np.array([[part.mean()] for part in parts]),
    )
    start = {
        "weights_init": weights,
        "means_init": means,
        "precisions_init": precisions,
        "init_params": "random_from_data",
    }
    return start | {"tol": 3e-5, "max_iter": 2000, "random_state": 0}


def ours(values: np.ndarray, engine: str, tolerance: float | None = 1e-5) -> None:
    """Fit all samples."""
    fit_mixtures(
        values, None, FitRequest(numbers=NUMBERS, models=MODELS, tolerance=tolerance, engine=engine)
    )


def worse(values: np.ndarray, same_start: bool) -> str:
    """Count the fits to the maximum that are worse than scikit-learn's."""
    peer = theirs(values, same_start)
    count = compared = 0
    for place, number in enumerate(NUMBERS):
        for column, model in enumerate(MODELS):
            fits = fit_mixtures(values, None, FitRequest(numbers=[number], models=[model]))
            known = np.isfinite(peer[:, place, column]) & np.isfinite(fits.loglik)
            compared += int(known.sum())
            count += int(
                (fits.loglik < peer[:, place, column] - 1e-6 * np.abs(fits.loglik))[known].sum()
            )
    return f"{count} of {compared} worse"


def refits(sample: np.ndarray, engine: str) -> None:
    """Test the fit of one sample with 200 refits."""
    request = FitRequest(numbers=NUMBERS, models=MODELS, tolerance=1e-5, engine=engine)
    calibrated_fit(
        sample,
        None,
        fitted(sample, None, request),
        np.array([0]),
        request=request,
        n_samples=REFITS,
        undersample=1.0,
        resolution=None,
        alpha=0.05,
        key=(1, 2),
    )


def main() -> None:
    """Print the times and the ratios."""
    values = samples()
    part = values[:: SAMPLES // PART]
    variants = {
        "scikit-learn, part": lambda: theirs(part),
        "scikit-learn, our start, part": lambda: theirs(part, same_start=True),
        "numpy": lambda: ours(values, "numpy"),
        "numba": lambda: ours(values, "numba"),
        "numpy to the maximum": lambda: ours(values, "numpy", None),
        "numba to the maximum": lambda: ours(values, "numba", None),
    }
    found = measured(f"{SAMPLES} samples", variants, rounds=3)
    for name in ("numpy", "numba", "numpy to the maximum", "numba to the maximum"):
        scale = SAMPLES / PART
        own, same = (
            scale * ratio(found, peer, name)
            for peer in ("scikit-learn, part", "scikit-learn, our start, part")
        )
        compared("scikit-learn, its own start", f"mixtures, {name}", own)
        compared("scikit-learn, our start", f"mixtures, {name}", same)
    print(
        f"  to the maximum, against scikit-learn from k-means: {worse(part, False)}, from our "
        f"start: {worse(part, True)}"
    )
    sample = values[(~np.isnan(values)).sum(axis=-1) >= SIZE][:1, :SIZE]
    drawn = np.random.default_rng(1).choice(sample[0], (REFITTED, SIZE))
    drawn = drawn + np.random.default_rng(2).normal(0, 0.3, drawn.shape)
    variants = {
        "scikit-learn, part": lambda: theirs(drawn),
        "numpy": lambda: refits(sample, "numpy"),
        "numba": lambda: refits(sample, "numba"),
    }
    found = measured(f"{REFITS} refits of a sample of {SIZE}", variants, rounds=3)
    for name in ("numpy", "numba"):
        compared(
            "scikit-learn",
            f"refits, {name}",
            REFITS / REFITTED * ratio(found, "scikit-learn, part", name),
        )
