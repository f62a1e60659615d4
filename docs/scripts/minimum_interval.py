"""How often limits of the least possible time hold: Robson and Whitlock's, and de Haan's with an
estimated index of the tail.

    python docs/scripts/minimum_interval.py

Near its lower end a distribution rises like (x - end)**a. The two smallest of n values then give a
lower limit of the end, as the ratio of their distances from it is U**(1/a) with a uniform U; the
least value is the upper limit. Robson and Whitlock take a = 1 (a density that begins above zero),
de Haan estimates a from the smallest values. The table printed here is that in
`docs/how-to/which_number.md`.
"""

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, ...]], Floats]

LEVEL, EXPERIMENTS, SIZES = 0.95, 20000, (5, 10, 30, 100)

RUNS: Mapping[str, Draw] = {
    "shifted exponential": lambda rng, shape: 10 + rng.exponential(size=shape),
    "shifted gamma, shape 3": lambda rng, shape: 10 + rng.gamma(3, size=shape),
    "shifted lognormal, sigma 0.5": lambda rng, shape: 10 + rng.lognormal(sigma=0.5, size=shape),
    "shifted lognormal, sigma 1": lambda rng, shape: 10 + rng.lognormal(sigma=1, size=shape),
    "two modes, the fast one in 5 %": lambda rng, shape: (
        10 + rng.exponential(size=shape) + 5 * (rng.random(shape) > 0.05)
    ),
    "exponential in steps of 0.1": lambda rng, shape: (
        10 + np.floor(rng.exponential(size=shape) * 10) / 10
    ),
}


def limit(ordered: Floats, index: Floats) -> Floats:
    """Return the lower limit of the end from values in ascending order."""
    share = LEVEL ** (1 / index)
    return ordered[:, 0] - (ordered[:, 1] - ordered[:, 0]) * share / (1 - share)


def estimated_index(ordered: Floats) -> Floats:
    """Return de Haan's estimate of the index from the m smallest values, m about 2 sqrt(n), four at
    least."""
    m = min(ordered.shape[1], max(4, round(2 * np.sqrt(ordered.shape[1]))))
    with np.errstate(divide="ignore", invalid="ignore"):
        far, near = ordered[:, m - 1] - ordered[:, 2], ordered[:, 2] - ordered[:, 1]
        return np.where((far > near) & (near > 0), np.log(m) / np.log(far / near), 50.0)


def main() -> None:
    """Print coverage in percent, and in brackets the median distance of the limit from the least
    value, in standard deviations."""
    rng = np.random.default_rng(1)
    print("| runs | limit |", " | ".join(map(str, SIZES)), "|")
    print("| --- | --- |", " | ".join("---:" for _ in SIZES), "|")
    for name, draw in RUNS.items():
        deviation = draw(rng, (100000,)).std()
        cells: dict[str, list[str]] = {"Robson and Whitlock": [], "de Haan": []}
        for n in SIZES:
            ordered = np.sort(draw(rng, (EXPERIMENTS, n)), axis=1)
            for method, index in (
                ("Robson and Whitlock", np.ones(len(ordered))),
                ("de Haan", estimated_index(ordered)),
            ):
                lower = limit(ordered, index)
                covered, width = (
                    100 * (lower <= 10).mean(),
                    np.median(ordered[:, 0] - lower) / deviation,
                )
                cells[method].append(f"{covered:.0f} ({width:.2g})")
        for method, row in cells.items():
            print(f"| {name} | {method} |", " | ".join(row), "|")


if __name__ == "__main__":
    main()
