"""Print the map of docs/how-to/skewed_timings.md: coverage of a nominal 95 % by case, with the
misses beyond each end, and widths.

    python docs/scripts/skew_coverage.py [experiments]

A minute for 4,000 experiments on one core. Monte Carlo errors are some 0.4 points.
"""

import sys
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

import perfarray

Draw = Callable[[np.random.Generator, tuple[int, ...]], npt.NDArray[np.float64]]

SD = 0.04


def lognormal(sigma: float) -> Draw:
    """Return what draws standardised lognormal effects."""
    return lambda rng, shape: (
        (np.exp(sigma * rng.standard_normal(shape)) - np.exp(sigma**2 / 2))
        / np.sqrt(np.expm1(sigma**2) * np.exp(sigma**2))
    )


def modes(share: float) -> Draw:
    """Return what draws standardised effects of two narrow modes, `share` of them in the slower, 20
    of their deviations away."""
    scale = np.sqrt(400 * share * (1 - share) + 1)
    return lambda rng, shape: (
        (20 * ((rng.random(shape) < share) - share) + rng.standard_normal(shape)) / scale
    )


def interval(
    times: xr.DataArray, baseline: xr.DataArray, *, spread: float, **options: Any
) -> xr.Dataset:
    """Return the interval of a ratio whose baseline has so many times less spread."""
    return times.perf.ratio_interval(1 + (baseline - 1) / spread, **options)


CASES = {
    "normal": "normal",
    "lognormal, sigma 0.5": lognormal(0.5),
    "lognormal, sigma 1": lognormal(1.0),
    "exponential": "exponential",
    "two modes, 80/20": modes(0.2),
    "two modes, 60/40": modes(0.4),
}
METHODS = {"fieller": {}, "skew_adjusted": {}, "studentized": {"n_resamples": 199}}


def main(experiments: int) -> None:
    """Print a row for each case, ratio of standard deviations, and number of units."""
    print("| units | SD | n | `fieller` | `skew_adjusted` | width | `studentized` | width |")
    print("| --- | --- | ---: | --- | --- | ---: | --- | ---: |")
    for name, distribution in CASES.items():
        for spread in (1, 4):
            for n in (3, 4, 5, 10, 30):
                nest = {"sizes": {"execution": n}, "variances": {"execution": SD**2}}
                found = {
                    method: perfarray.coverage(
                        partial(interval, spread=spread, method=method, **more),
                        **nest,
                        ratio=1.0,
                        distribution=distribution,
                        n_experiments=experiments,
                        rng=n,
                    )
                    for method, more in METHODS.items()
                }
                shown = {
                    method: (
                        f"{100 * own['estimate'].item():.1f} ({100 * own['below'].item():.1f} "
                        f"+ {100 * own['above'].item():.1f})"
                    )
                    for method, own in found.items()
                }
                width = {
                    method: f"{(own['width'] / found['fieller']['width']).item():.2f}"
                    for method, own in found.items()
                }
                others = (
                    f"{shown[method]} | {width[method]}"
                    for method in ("skew_adjusted", "studentized")
                )
                print(
                    f"| {name} | 1:{spread} | {n} | {shown['fieller']} | {' | '.join(others)} |",
                    flush=True,
                )


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 4000)
