"""How well the metrics of single runs are estimated: the study of Worms and Touati (2016), section
6.5, and their metrics on real samples.

    python docs/scripts/varcore_metrics.py [--frameworks 40] [--experiments 50] [--models 2000]
    [--engine numba] [--archives ARCHIVES]

The paper has 40 frameworks of 1,000 experiments, 30 for the third metric, and 2,000 models for the
fourth. Mixtures are fitted by EM that stops where the paper's software stops, one framework or some
models in each process. The tables printed here are those in `docs/papers/worms_touati.md`; `--cases
I1:2:30` runs one of the studies, and `--picture FILE` draws their boxes: figures 15 to 17.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from real_samples import samples

from perfarray.mixtures.numerics import integrals, parametric, placements
from perfarray.mixtures.numerics.comparison import MetricComparison
from perfarray.mixtures.numerics.fit import STOPPED, FitRequest, fit_mixtures
from perfarray.mixtures.numerics.normal import NormalMixture, draw, modes
from perfarray.mixtures.numerics.scale import Scaled

CASES = [
    ("I1", 2, 30),
    ("I1", 2, 100),
    ("I2", 2, 30),
    ("I2", 2, 200),
    ("I3", 3, 30),
    ("I3", 4, 30),
    ("I3", 5, 30),
    ("I3", 5, 100),
]
"""Metric, systems and runs of each study of figures 15 to 17."""

PART = 100
"""Models that a process is given at a time."""

MOST = 12
"""Components a random mixture has room for."""


def random_mixture(rng: np.random.Generator) -> NormalMixture:
    """Return a mixture of 1 + Poisson(2) components; the paper leaves the ranges of means and
    deviations open."""
    number = min(1 + rng.poisson(2.0), MOST)
    weights, means, deviations = np.zeros(MOST), np.zeros(MOST), np.ones(MOST)
    weights[:number] = rng.dirichlet(np.ones(number))
    means[:number], deviations[:number] = rng.uniform(10, 60, number), rng.uniform(0.3, 4.0, number)
    return NormalMixture(weights, means, deviations)


def fit(values: np.ndarray, engine: str) -> NormalMixture:
    """Fit samples (experiment, run)."""
    found = fit_mixtures(values, None, FitRequest(tolerance=STOPPED, engine=engine))
    return NormalMixture(*found[:3])


def framework(
    seed: np.random.SeedSequence, case: tuple[str, int, int], experiments: int, engine: str
) -> dict[str, float]:
    """Return mean squared and mean absolute percentage errors of both estimators for random
    mixtures."""
    metric, systems, runs = case
    rng = np.random.default_rng(seed)
    on_runs: Callable = {
        "I1": lambda all_: placements.mean_differences(all_, (experiments,), MetricComparison()),
        "I2": lambda all_: placements.probabilities_less(
            all_, (experiments,), MetricComparison(), shift=0.0, ties=0.0
        )[0],
        "I3": lambda all_: placements.probabilities_least(
            all_, (experiments,), MetricComparison(), ties=False
        )[0],
    }[metric]
    on_mixtures: Callable = {
        "I1": lambda all_: parametric.difference(*all_),
        "I2": lambda all_: parametric.less(*all_),
        "I3": lambda all_: integrals.best(
            [Scaled(one, np.zeros(one.weights.shape[:-1], int)) for one in all_], False
        )[..., 0],
    }[metric]
    truths = [random_mixture(rng) for _ in range(systems)]
    truth = float(on_mixtures(truths))
    drawn = [draw(own, (experiments, runs), rng) for own in truths]
    plain = on_runs([own[..., None] for own in drawn]).estimate
    found = {
        "empirical": plain[..., 0] if metric == "I3" else plain,
        "mixture": on_mixtures([fit(own, engine) for own in drawn]),
    }
    errors = {name: values - truth for name, values in found.items()}
    return {f"mse {name}": (error**2).mean() for name, error in errors.items()} | {
        f"mape {name}": 100 * np.abs(error / truth).mean() if truth > 1e-3 else np.nan
        for name, error in errors.items()
    }


def modes_found(
    seed: np.random.SeedSequence, runs: int, models: int, engine: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return the modes of random mixtures, and of those fitted to one sample of each."""
    rng = np.random.default_rng(seed)
    truths = [random_mixture(rng) for _ in range(models)]
    found = count(fit(np.stack([draw(own, (runs,), rng) for own in truths]), engine))
    return count(NormalMixture(*(np.stack(part) for part in zip(*truths, strict=True)))), found


def right_numbers(true: np.ndarray, found: np.ndarray) -> pd.Series:
    """Return how often the number of modes is right, off by at most one, and not too large: table
    4."""
    shares = {
        "exact": found == true,
        "off by at most 1": abs(found - true) <= 1,
        "not too many": found <= true,
    }
    return pd.Series({name: 100 * right.mean() for name, right in shares.items()})


def count(mixture: NormalMixture) -> np.ndarray:
    """Count modes."""
    return (~np.isnan(modes(mixture))).sum(axis=-1)


def summaries(
    pool: ProcessPoolExecutor, cases: Iterable[tuple[str, int, int]], given: Any
) -> dict[str, pd.DataFrame]:
    """Print quartiles of the ratios of mean squared errors, and of percentage errors: figures 15 to
    17, tables 1 to 3; return both."""
    every = {}
    for number, case in enumerate(cases):
        start = time.perf_counter()
        seeds = np.random.SeedSequence((8875, number)).spawn(given.frameworks)
        found = pd.DataFrame(
            pool.map(
                framework, seeds, repeat(case), repeat(given.experiments), repeat(given.engine)
            )
        )
        ratio = (found["mse mixture"] / found["mse empirical"]).where(found["mse empirical"] > 0)
        columns = {
            "mse ratio": ratio,
            "mape empirical": found["mape empirical"],
            "mape mixture": found["mape mixture"],
        }
        name = f"{case[0]}, {case[1]} systems, {case[2]} runs"
        every[name] = pd.DataFrame(columns)
        print(f"{name}: {time.perf_counter() - start:.0f} s")
        print(every[name].quantile([0, 0.25, 0.5, 0.75, 1]).round(2).T.to_string(), flush=True)
    return every


def boxes(every: dict[str, pd.DataFrame], path: Path) -> None:
    """Draw a box of every study: the ratios of mean squared errors, and the percentage errors of
    both estimators."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        1, 3, figsize=(14, 1.5 + 0.4 * len(every)), sharey=True, layout="constrained"
    )
    for ax, column in zip(axes, next(iter(every.values())), strict=True):
        values = [found[column].dropna() for found in every.values()]
        ax.boxplot(
            values, orientation="horizontal", tick_labels=list(every), showfliers=False
        )  # one ratio in a hundred may be thousands
        ax.set_xlabel(
            column.replace("mse ratio", "MSE, mixture / empirical").replace(
                "mape", "percentage error,"
            )
        )
    axes[0].axvline(1.0, color="grey", linestyle="--", linewidth=0.8)
    axes[0].invert_yaxis()
    figure.savefig(path, dpi=120)


def numbers_of_modes(pool: ProcessPoolExecutor, given: Any) -> None:
    """Print tables 4 and 5: the modes of so many models, and those found."""
    for runs in (30, 200):
        start = time.perf_counter()
        parts = -(-given.models // PART)
        sizes = [len(part) for part in np.array_split(np.arange(given.models), parts)]
        seeds = np.random.SeedSequence((8875, runs)).spawn(parts)
        found = list(pool.map(modes_found, seeds, repeat(runs), sizes, repeat(given.engine)))
        true, estimated = (np.concatenate(part) for part in zip(*found, strict=True))
        print(f"{runs} runs: {time.perf_counter() - start:.0f} s")
        print(right_numbers(true, estimated).round(1).to_string())
        print(
            pd.crosstab(
                pd.Series(estimated, name="found"), pd.Series(true, name="modes")
            ).to_string(),
            flush=True,
        )


def real(archives: Path) -> pd.DataFrame:
    """Return the share of samples by number of modes, and of those whose mixture is accepted at 5
    %, by source."""
    rows = {}
    for name, times in samples(archives).items():
        values = times.transpose("benchmark", "execution").values
        number = count(fit(values, "numpy"))
        rows[name] = {"samples": len(number)} | {
            label: 100 * (number == level).mean() for level, label in ((1, "1"), (2, "2"), (3, "3"))
        }
        rows[name]["4 and more"] = 100 * (number >= 4).mean()
        rows[name]["accepted"] = 100 * float(
            (times.perf.goodness_of_fit(n_resamples=99, rng=1)["pvalue"] >= 0.05).mean()
        )
    return pd.DataFrame(rows).T


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frameworks", type=int, default=40)
    parser.add_argument("--experiments", type=int, default=50)
    parser.add_argument("--models", type=int, default=2000)
    parser.add_argument("--engine", default="numba", choices=("numpy", "numba"))
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--cases", nargs="*")
    parser.add_argument("--archives", type=Path)
    parser.add_argument("--picture", type=Path)
    given = parser.parse_args()
    if given.archives:
        print(real(given.archives).round(0).to_string(), flush=True)
    asked = (
        CASES
        if given.cases is None
        else [
            (metric, int(systems), int(runs))
            for metric, systems, runs in (case.split(":") for case in given.cases)
        ]
    )
    with ProcessPoolExecutor(given.processes) as workers:
        if given.models:
            numbers_of_modes(workers, given)
        found = summaries(workers, asked, given)
    if given.picture:
        boxes(found, given.picture)
