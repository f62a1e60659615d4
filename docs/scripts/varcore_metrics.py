"""How well the metrics of single runs are estimated: the study of Worms and Touati (2016), section 6.5, and their metrics on real samples.

    python docs/scripts/varcore_metrics.py [--frameworks 40] [--experiments 50] [--models 300] [--archives ARCHIVES]

The paper has 40 frameworks of 1,000 experiments, 30 for the third metric, and 2,000 models for the fourth. Mixtures are fitted by EM that
stops where the paper's software stops. The tables printed here are those in `docs/papers/worms_touati.md`.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from real_samples import samples

from perfarray.mixtures.numerics import empirical, parametric
from perfarray.mixtures.numerics.empirical import Drawing
from perfarray.mixtures.numerics.fit import STOPPED, FitRequest, fit_mixtures
from perfarray.mixtures.numerics.normal import Mixture, draw, modes

ONCE = Drawing(0, (1, 2), False, 0.95)
MOST = 12
"""Components a random mixture has room for."""


def random_mixture(rng: np.random.Generator) -> Mixture:
    """Return a mixture of 1 + Poisson(2) components; the paper leaves the ranges of means and deviations open."""
    number = min(1 + rng.poisson(2.0), MOST)
    weights, means, deviations = np.zeros(MOST), np.zeros(MOST), np.ones(MOST)
    weights[:number] = rng.dirichlet(np.ones(number))
    means[:number], deviations[:number] = rng.uniform(10, 60, number), rng.uniform(0.3, 4.0, number)
    return Mixture(weights, means, deviations)


def fit(values: np.ndarray) -> Mixture:
    """Fit samples (experiment, run)."""
    found = fit_mixtures(values, None, FitRequest(tolerance=STOPPED))
    return Mixture(*found[:3])


def study(metric: str, systems: int, runs: int, frameworks: int, experiments: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return mean squared and mean absolute percentage errors of both estimators, one row per framework."""
    on_runs: Callable = {"I1": empirical.difference, "I2": empirical.less(0.0, 0.0), "I3": empirical.least(False)}[metric]
    on_mixtures: Callable = {
        "I1": lambda all_: parametric.difference(*all_),
        "I2": lambda all_: parametric.less(*all_),
        "I3": lambda all_: parametric.least(parametric.beside(all_))[..., 0],
    }[metric]
    rows = []
    for _ in range(frameworks):
        truths = [random_mixture(rng) for _ in range(systems)]
        truth = float(on_mixtures(truths))
        drawn = [np.stack([draw(own, (runs,), rng) for _ in range(experiments)]) for own in truths]
        cells = np.arange(experiments)
        plain = empirical.resampled([own[..., None] for own in drawn], cells, on_runs, ONCE, each=metric == "I3").estimate
        found = {"empirical": plain[..., 0] if metric == "I3" else plain, "mixture": on_mixtures([fit(own) for own in drawn])}
        errors = {name: values - truth for name, values in found.items()}
        rows.append(
            {f"mse {name}": (error**2).mean() for name, error in errors.items()}
            | {f"mape {name}": 100 * np.abs(error / truth).mean() if truth > 1e-3 else np.nan for name, error in errors.items()}
        )
    return pd.DataFrame(rows)


def modes_found(runs: int, models: int, rng: np.random.Generator) -> pd.Series:
    """Return how often the number of modes is right, off by at most one, and not too large: table 4."""
    truths = [random_mixture(rng) for _ in range(models)]
    true = count(Mixture(*(np.stack(part) for part in zip(*truths, strict=True))))
    found = count(fit(np.stack([draw(own, (runs,), rng) for own in truths])))
    shares = {"exact": found == true, "off by at most 1": abs(found - true) <= 1, "not too many": found <= true}
    return pd.Series({name: 100 * right.mean() for name, right in shares.items()})


def count(mixture: Mixture) -> np.ndarray:
    """Count modes."""
    return (~np.isnan(modes(mixture))).sum(axis=-1)


def summaries(frameworks: int, experiments: int, rng: np.random.Generator) -> None:
    """Print quartiles of the ratios of mean squared errors, and of percentage errors: figures 15 to 17, tables 1 to 3."""
    cases = [("I1", 2, 30), ("I1", 2, 100), ("I2", 2, 30), ("I2", 2, 200), ("I3", 3, 30), ("I3", 4, 30), ("I3", 5, 30), ("I3", 5, 100)]
    for metric, systems, runs in cases:
        found = study(metric, systems, runs, frameworks, experiments, rng)
        ratio = (found["mse mixture"] / found["mse empirical"]).where(found["mse empirical"] > 0)
        columns = {"mse ratio": ratio, "mape empirical": found["mape empirical"], "mape mixture": found["mape mixture"]}
        print(f"{metric}, {systems} systems, {runs} runs")
        print(pd.DataFrame(columns).quantile([0, 0.25, 0.5, 0.75, 1]).round(2).T.to_string(), flush=True)


def real(archives: Path) -> pd.DataFrame:
    """Return the share of samples by number of modes, and of those whose mixture is accepted at 5 %, by source."""
    rows = {}
    for name, times in samples(archives).items():
        values = times.transpose("benchmark", "execution").values
        number = count(fit(values))
        rows[name] = {"samples": len(number)} | {label: 100 * (number == level).mean() for level, label in ((1, "1"), (2, "2"), (3, "3"))}
        rows[name]["4 and more"] = 100 * (number >= 4).mean()
        rows[name]["accepted"] = 100 * float((times.perf.goodness_of_fit(n_resamples=99, rng=1)["pvalue"] >= 0.05).mean())
    return pd.DataFrame(rows).T


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frameworks", type=int, default=40)
    parser.add_argument("--experiments", type=int, default=50)
    parser.add_argument("--models", type=int, default=300)
    parser.add_argument("--archives", type=Path)
    given = parser.parse_args()
    generator = np.random.default_rng(8875)
    if given.archives:
        print(real(given.archives).round(0).to_string(), flush=True)
    print(pd.DataFrame({runs: modes_found(runs, given.models, generator) for runs in (30, 200)}).round(1).to_string(), flush=True)
    summaries(given.frameworks, given.experiments, generator)
