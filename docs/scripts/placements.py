"""Coverage of limits of single runs by placements, and by redrawing units: `python
docs/scripts/placements.py`.

Nominal 95 % limits of P[X < Y], of E|X - Y|, and of the probability that the first of four is the
fastest, a line for each law and number of runs a side. The standard error is 0.3 % for placements
(5,000 experiments) and 1.1 % for redrawn units (400, of 400 replicates).
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from perfarray.mixtures.numerics import placements
from perfarray.mixtures.numerics.empirical import (
    Drawing,
    Limits,
    difference,
    least,
    less,
    resampled,
)

EXPERIMENTS, REDRAWN = 5000, 400
NUMBERS = (2, 3, 5, 7, 10, 20, 50, 100)
DRAWING = Drawing(400, (1, 2), False, 0.95)

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


def main() -> None:
    """Print the table."""
    shares, pair = partial(placements.less_shares, shift=0.0, ties=0.0), placements.two_systems
    print(
        "law, runs a side: P[X < Y] placed, redrawn; E|X - Y| placed, redrawn; fastest of four "
        "placed, redrawn"
    )
    for name, (new, old) in LAWS.items():
        rng = np.random.default_rng(1)
        large = [law(rng, (1, 1_000_000, 1)) for law in (new, old, old, old)]
        alone = DRAWING._replace(n_resamples=0)
        truths = [
            float(pair(large[:2], (1,), shares, alone, score=True)[0].estimate[0]),
            float(
                pair(large[:2], (1,), placements.difference_shares, alone, score=False)[0].estimate[
                    0
                ]
            ),
            float(placements.several_systems(large, (1,), False, alone)[0].estimate[0, 0]),
        ]
        for number in NUMBERS:
            runs = [law(rng, (EXPERIMENTS, number, 1)) for law in (new, old, old, old)]
            some = [values[:REDRAWN] for values in runs]
            cells = np.arange(REDRAWN)
            answers = [
                covered(pair(runs[:2], (EXPERIMENTS,), shares, alone, score=True)[0], truths[0]),
                covered(resampled(some[:2], cells, less(0.0, 0.0), DRAWING, score=1), truths[0]),
                covered(
                    pair(
                        runs[:2], (EXPERIMENTS,), placements.difference_shares, alone, score=False
                    )[0],
                    truths[1],
                ),
                covered(resampled(some[:2], cells, difference, DRAWING), truths[1]),
                covered(
                    _first(placements.several_systems(runs, (EXPERIMENTS,), False, alone)[0]),
                    truths[2],
                ),
                covered(
                    _first(resampled(some, cells, least(False), DRAWING, each=True, score=1)),
                    truths[2],
                ),
            ]
            print(f"{name:<26}{number:>4} ", " ".join(answers), flush=True)


def _first(limits: Limits) -> Limits:
    return Limits(*(values[..., 0] for values in limits))


if __name__ == "__main__":
    main()
