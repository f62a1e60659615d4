"""How often intervals of a ratio of PAR2 scores, and bands of profiles, hold the truth.

Two solvers on a sample of instances, one run of each; hardness is lognormal (sigma 2), a solver's
time on an instance varies by a factor of exp(0.7) about it, and a fifth of the runs are stopped.
The truth is that of a million instances.

    python docs/scripts/time_outs.py
"""

import warnings

import numpy as np
import xarray as xr

import perfarray
from perfarray.suites.curves import profile

LIMIT, EXPERIMENTS, TRUTH = 100.0, 1000, 1_000_000
SPEEDS = np.array([1.0, 1.25])
DIMS = ("experiment", "benchmark", "solver", "execution")


def draw(rng, shape):
    """Return times (..., benchmark, solver), NaN where stopped."""
    hardness = rng.lognormal(3.0, 2.0, shape)[..., np.newaxis]
    seconds = hardness * rng.lognormal(0.0, 0.7, (*shape, 2)) / SPEEDS
    return np.where(seconds > LIMIT, np.nan, seconds)


def labelled(seconds):
    """Return times as timings."""
    array = xr.DataArray(
        seconds[..., np.newaxis], {"solver": ["old", "new"]}, DIMS, "time", {"units": "s"}
    )
    return array.assign_coords(censored=(DIMS, np.isnan(array.values)))


def main() -> None:
    """Print the coverage of both, in percent."""
    warnings.simplefilter("ignore", perfarray.PerfarrayWarning)
    rng = np.random.default_rng(1)
    seconds = draw(rng, (TRUTH,))
    means = np.where(np.isnan(seconds), 2 * LIMIT, seconds).mean(axis=0)
    truth = means[1] / means[0]
    print(f"stopped {100 * np.isnan(seconds).mean():.0f} %, ratio of PAR2 {truth:.3f}")
    fastest = np.fmin.reduce(seconds, axis=1)
    factors = seconds[:, 1] / fastest
    for n in (10, 30, 60, 200):
        times = labelled(draw(rng, (EXPERIMENTS, n)))
        coverages = []
        for method in ("t", "percentile", "bca"):
            ratio = times.perf.score_ratio_interval(
                "old",
                mean="par2",
                limit=LIMIT,
                method=method,
                random_benchmarks=True,
                n_resamples=1000,
                rng=2,
            )
            holds = (ratio["lower"] <= truth) & (truth <= ratio["upper"])
            coverages.append(f"{method} {100 * float(holds.mean()):.1f}")
        curves = profile(times, dim="solver").sel(solver="new")
        for factor in (1.0, 2.0):
            share = np.mean(factors <= factor)
            # The place of the last step up to this factor.
            place = (curves["value"] <= factor).sum("place") - 1
            cell = curves.isel(place=place)
            holds = (cell["lower"] <= share) & (share <= cell["upper"])
            coverages.append(f"band at {factor:g}x {100 * float(holds.mean()):.1f}")
        print(f"{n} instances: {', '.join(coverages)}")


if __name__ == "__main__":
    main()
