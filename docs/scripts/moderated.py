"""How often `compare(prior="suite")` is wrong, and what it sees, beside `compare` without a prior.

    python docs/scripts/moderated.py

A program is compared with itself, and with one that is 2 % slower; the standard deviation of a benchmark is 1 %, times a lognormal factor
whose spread is that of the suite. The tables are those of `docs/how-to/few_runs.md`.
"""

from collections.abc import Callable
from itertools import product

import numpy as np
import numpy.typing as npt
import xarray as xr

import perfarray

Floats = npt.NDArray[np.float64]

COMPARISONS, NOISE, CHANGE = 30_000, 0.01, 1.02
BENCHMARKS, RUNS, SPREADS = (8, 29, 100), (3, 5, 10), (0.0, 0.3, 0.7)


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Draw normal values."""
    return rng.standard_normal(shape)


def lognormal(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Draw skewed values with mean 0 and standard deviation 1."""
    sigma = 0.6
    return (rng.lognormal(0, sigma, shape) - np.exp(sigma**2 / 2)) / np.sqrt(np.expm1(sigma**2) * np.exp(sigma**2))


def two_modes(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Draw values of which three in ten lie in a second mode, with mean 0 and standard deviation 1."""
    return ((rng.random(shape) < 0.3) - 0.3 + 0.2 * rng.standard_normal(shape)) / np.sqrt(0.25)


def shares(
    rng: np.random.Generator,
    benchmarks: int,
    runs: int,
    spread: float,
    law: Callable[..., Floats],
    *,
    alike: bool = True,
    scale: float = 1.0,
) -> list[str]:
    """Return the shares of verdicts, in percent, of a program with itself and of one that is slower, without a prior and with it."""
    suites = COMPARISONS // benchmarks
    noise = NOISE * np.exp(spread * rng.standard_normal((2, suites, benchmarks, 1)))
    old = 1 + noise[0] * law(rng, (suites, benchmarks, runs))
    new = 1 + scale * noise[0 if alike else 1] * law(rng, (suites, benchmarks, runs))
    cells = []
    for change in (1.0, CHANGE):
        dims, coords = ("version", "suite", "benchmark", "execution"), {"version": ["old", "new"]}
        times = xr.DataArray([old, change * new], dims=dims, coords=coords, name="time")
        verdicts = [perfarray.compare(times, "old", prior=prior)["verdict"] for prior in (None, "suite")]
        cells.append(" -> ".join(f"{100 * float((verdict != 'inconclusive').mean()):.1f}" for verdict in verdicts))
    return cells


def main() -> None:
    """Print both tables."""
    rng = np.random.default_rng(1)
    print("| benchmarks, runs a side | spread | false verdicts, % | 2 % seen, % |\n| --- | ---: | ---: | ---: |")
    for runs, benchmarks, spread in product(RUNS, BENCHMARKS, SPREADS):
        print(f"| {benchmarks} of {runs} | {spread} |", " | ".join(shares(rng, benchmarks, runs, spread, normal)), "|", flush=True)
    others = {
        "each side its own spread": (normal, {"alike": False}),
        "candidate three times as noisy": (normal, {"scale": 3.0}),
        "lognormal runs": (lognormal, {}),
        "two modes": (two_modes, {}),
    }
    print("\n| 29 benchmarks of 3 runs | spread | false verdicts, % | 2 % seen, % |\n| --- | ---: | ---: | ---: |")
    for (name, (law, options)), spread in product(others.items(), SPREADS):
        print(f"| {name} | {spread} |", " | ".join(shares(rng, 29, 3, spread, law, **options)), "|", flush=True)


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    main()
