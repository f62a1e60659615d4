"""Coverage of limits of single runs by placements: `python docs/scripts/placements.py`.

Nominal 95 % limits of P[X < Y], of E|X - Y|, and of the probability that the first of four is the
fastest, a line for each law and number of runs a side. The standard error is 0.3 %.
"""

from collections.abc import Callable

import numpy as np

from perfarray.mixtures.numerics.comparison import Limits, MetricComparison
from perfarray.mixtures.numerics.placements import (
    mean_differences,
    probabilities_least,
    probabilities_less,
)

EXPERIMENTS = 5000
NUMBERS = (2, 3, 5, 7, 10, 20, 50, 100)

Law = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def normal(mean: float, deviation: float) -> Law:
    """Return a normal law."""
    return lambda rng, size: rng.normal(mean, deviation, size)


def skewed(mean: float, deviation: float) -> Law:
    """Return a lognormal law."""
    return lambda rng, size: rng.lognormal(mean, deviation, size)


def rounded(mean: float, deviation: float) -> Law:
    """Return a law with ties: a few different values."""
    return lambda rng, size: np.round(rng.normal(mean, deviation, size))


def two_modes(share: float) -> Law:
    """Return a law with a slow mode."""
    return lambda rng, size: rng.normal(0, 1, size) + 8 * (rng.random(size) < share)


LAWS: dict[str, tuple[Law, Law]] = {
    "normal, alike": (normal(0, 1), normal(0, 1)),
    "normal, 76 % faster": (normal(-1, 1), normal(0, 1)),
    "normal, 98 % faster": (normal(-3, 1), normal(0, 1)),
    "normal, unequal spread": (normal(0, 0.2), normal(0, 1)),
    "skewed, alike": (skewed(0, 1), skewed(0, 1)),
    "skewed, 76 % faster": (skewed(-1, 1), skewed(0, 1)),
    "few values, alike": (rounded(0, 0.7), rounded(0, 0.7)),
    "few values, shifted": (rounded(-0.7, 0.7), rounded(0, 0.7)),
    "a slow mode, 20 and 10 %": (two_modes(0.2), two_modes(0.1)),
}


def covered(limits: Limits, truth: float) -> str:
    """Return the share of limits that hold the truth, in percent."""
    return (
        f"{100 * np.mean((limits.lower <= truth + 1e-12) & (truth - 1e-12 <= limits.upper)):5.1f}"
    )


def metrics(runs: list[np.ndarray]) -> list[Limits]:
    """Return P[X < Y], E|X - Y| and the probability of the first of four, of (cell, run, 1)."""
    shape, comparison = (len(runs[0]),), MetricComparison()
    less, _ = probabilities_less(runs[:2], shape, comparison, shift=0.0, ties=0.0)
    least, _ = probabilities_least(runs, shape, comparison, ties=False)
    first = Limits(*(values[..., 0] for values in least))
    return [less, mean_differences(runs[:2], shape, comparison), first]


def main() -> None:
    """Print the table."""
    print("law, runs a side: P[X < Y]; E|X - Y|; fastest of four")
    for name, (new, old) in LAWS.items():
        rng = np.random.default_rng(1)
        laws = (new, old, old, old)
        truths = [
            float(limits.estimate[0])
            for limits in metrics([law(rng, (1, 1_000_000, 1)) for law in laws])
        ]
        for number in NUMBERS:
            limits = metrics([law(rng, (EXPERIMENTS, number, 1)) for law in laws])
            shares = [covered(*pair) for pair in zip(limits, truths, strict=True)]
            print(f"{name:<26}{number:>4} ", " ".join(shares), flush=True)


if __name__ == "__main__":
    main()
