"""Mixtures of 1 to 9 components, both models, of 40 samples of 30 to 1,000 values, against
scikit-learn: as ratios.

scikit-learn takes one sample at a time (part of them, its time scaled to all), from its own start
(k-means) and with its own stopping rule, and, as a second peer, from the start and with about the
stopping rule of ours. "Worse" counts fits of ours whose log-likelihood is lower than scikit-learn's
by more than 1e-6 times its size, where no component of either has collapsed.
"""

import itertools

import numpy as np
from interleaved import measured, print_ratio, ratio
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
        component = rng.choice(number, n, p=rng.dirichlet(np.ones(number)))
        row[:n] = rng.normal(means[component], deviations[component])
    return values


def theirs(values: np.ndarray, same_start: bool = False) -> np.ndarray:
    """Fit every sample, number of components and model with scikit-learn; return the
    log-likelihoods."""
    criteria = np.full((len(values), len(NUMBERS), len(MODELS)), np.nan)
    for row, padded in enumerate(values):
        sample = np.sort(padded[~np.isnan(padded)])
        for index, number in enumerate(NUMBERS):
            for column, model in enumerate(("tied", "full")):
                start = _start(sample, number, model) if same_start else {"random_state": 0}
                fit = GaussianMixture(number, covariance_type=model, **start).fit(sample[:, None])
                narrow = np.sqrt(fit.covariances_).min() < 1e-2
                criteria[row, index, column] = (
                    np.nan if narrow else fit.score(sample[:, None]) * len(sample)
                )
    return criteria


def _start(sample: np.ndarray, number: int, model: str) -> dict:
    """Return scikit-learn's arguments for our start, and a stopping rule as strict as ours."""
    edges = quantile_classes(sample[None], np.array([len(sample)]), number)[0]
    groups = [sample[low:high] for low, high in itertools.pairwise(edges)]
    variances = np.maximum([group.var() for group in groups], 1e-6)
    pooled = np.average(variances, weights=[len(group) for group in groups])
    precisions = np.array([[1 / pooled]]) if model == "tied" else (1 / variances)[:, None, None]
    weights, means = (
        np.array([len(group) for group in groups]) / len(sample),
        np.array([[group.mean()] for group in groups]),
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
    count = n_compared = 0
    for index, number in enumerate(NUMBERS):
        for column, model in enumerate(MODELS):
            fits = fit_mixtures(values, None, FitRequest(numbers=[number], models=[model]))
            finite = np.isfinite(peer[:, index, column]) & np.isfinite(fits.loglik)
            n_compared += int(finite.sum())
            count += int(
                (fits.loglik < peer[:, index, column] - 1e-6 * np.abs(fits.loglik))[finite].sum()
            )
    return f"{count} of {n_compared} worse"


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
    subset = values[:: SAMPLES // PART]
    variants = {
        "scikit-learn, part": lambda: theirs(subset),
        "scikit-learn, our start, part": lambda: theirs(subset, same_start=True),
        "numpy": lambda: ours(values, "numpy"),
        "numba": lambda: ours(values, "numba"),
        "numpy to the maximum": lambda: ours(values, "numpy", None),
        "numba to the maximum": lambda: ours(values, "numba", None),
    }
    seconds = measured(f"{SAMPLES} samples", variants, rounds=3)
    for name in ("numpy", "numba", "numpy to the maximum", "numba to the maximum"):
        scale = SAMPLES / PART
        own_start_ratio, same_start_ratio = (
            scale * ratio(seconds, peer, name)
            for peer in ("scikit-learn, part", "scikit-learn, our start, part")
        )
        print_ratio("scikit-learn, its own start", f"mixtures, {name}", own_start_ratio)
        print_ratio("scikit-learn, our start", f"mixtures, {name}", same_start_ratio)
    print(
        f"  to the maximum, against scikit-learn from k-means: {worse(subset, False)}, from our "
        f"start: {worse(subset, True)}"
    )
    sample = values[(~np.isnan(values)).sum(axis=-1) >= SIZE][:1, :SIZE]
    resampled = np.random.default_rng(1).choice(sample[0], (REFITTED, SIZE))
    resampled = resampled + np.random.default_rng(2).normal(0, 0.3, resampled.shape)
    variants = {
        "scikit-learn, part": lambda: theirs(resampled),
        "numpy": lambda: refits(sample, "numpy"),
        "numba": lambda: refits(sample, "numba"),
    }
    seconds = measured(f"{REFITS} refits of a sample of {SIZE}", variants, rounds=3)
    for name in ("numpy", "numba"):
        print_ratio(
            "scikit-learn",
            f"refits, {name}",
            REFITS / REFITTED * ratio(seconds, "scikit-learn, part", name),
        )
