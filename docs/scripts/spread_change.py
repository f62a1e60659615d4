"""The level and the power of the change of spread that `compare` gives, and of its mark.

    python docs/scripts/spread_change.py

Two systems of one mean, units of several laws. `spread_pvalue` is Brown and Forsythe's; Bonett's
(normal quantile) stands beside it. "Marked" is the rate of calls in which any cell has the mark
`spread_changed`, of one benchmark and of 100. "Covered" is the share of limits that hold a ratio of 2.
"""

import numpy as np
from scipy.special import ndtr

from perfarray.comparisons.spread import FALSE
from perfarray.numerics.spread import spread_change

EXPERIMENTS = 20000
SIZES = (10, 20, 50)
LAWS = ("normal", "lognormal", "t4", "modes 70 : 30", "modes 90 : 10", "modes 50 : 50")


def units(
    law: str, rng: np.random.Generator, shape: tuple[int, ...], factor: float = 1.0
) -> np.ndarray:
    """Return units whose logarithms vary `factor` times as much."""
    if law.startswith("modes"):
        share = float(law.rpartition(" ")[2]) / 100
        values = 0.02 * (rng.random(shape) < share) + 0.0033 * rng.standard_normal(shape)
        values -= 0.02 * share
    elif law == "t4":
        values = 0.01 * rng.standard_t(4, shape)
    elif law == "lognormal":
        values = 0.5 * rng.standard_normal(shape)
    else:
        values = np.log1p(np.clip(0.02 * rng.standard_normal(shape), -0.5, None))
    return np.exp(factor * values)


def bonett(new: np.ndarray, old: np.ndarray) -> np.ndarray:
    """Return Bonett's p-values, of logarithms."""
    logs, n = [np.sort(np.log(side), axis=-1) for side in (new, old)], new.shape[-1]
    trim = int(n / (2 * np.sqrt(n - 4)))
    squares = [(n - 1) * side.var(axis=-1, ddof=1) for side in logs]
    fourth = sum(
        ((side - side[..., trim : n - trim].mean(axis=-1, keepdims=True)) ** 4).sum(axis=-1)
        for side in logs
    )
    kurtosis = 2 * n * fourth / (squares[0] + squares[1]) ** 2
    error = np.sqrt(2 * (kurtosis - (n - 3) / n) / (n - 1))
    return 2 * ndtr(-np.abs(np.log(squares[0] / squares[1])) / error)


def marks(new: np.ndarray, old: np.ndarray, benchmarks: int) -> float:
    """Return the rate of calls with a mark; a call has so many neighbouring comparisons."""
    answer = spread_change(new, old)
    least = answer.cautious_pvalue.reshape(-1, benchmarks).min(axis=-1)
    return float((least * benchmarks <= FALSE).mean())


def main() -> None:
    rng = np.random.default_rng(1)
    print(
        "| law | units | level | Bonett | covered | marked, 1 | marked, 100 | x5 seen | x5 marked |"
    )
    print("| --- |" + " ---: |" * 8)
    for law in LAWS:
        for size in SIZES:
            shape = (EXPERIMENTS, size)
            new, old = (units(law, rng, shape) for _ in range(2))
            level = (spread_change(new, old).pvalue <= 0.05).mean()
            of_bonett = (bonett(new, old) <= 0.05).mean()
            double = spread_change(units(law, rng, shape, 2.0), old)
            covered = ((double.lower <= 2) & (double.upper >= 2)).mean()
            wide = units(law, rng, shape, 5.0)
            seen = (spread_change(wide, old).pvalue <= 0.05).mean()
            rates = (level, of_bonett, covered, marks(new, old, 1), marks(new, old, 100))
            cells = [f"{100 * rate:.1f}" for rate in rates]
            powers = [f"{100 * rate:.0f}" for rate in (seen, marks(wide, old, 1))]
            print(f"| {law} | {size} | {' | '.join([*cells, *powers])} |", flush=True)


if __name__ == "__main__":
    main()
