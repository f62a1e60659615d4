"""Haveraaen and Hundvebakke's advice, three to five runs and the minimum, on real samples of 30 or
more executions.

    python docs/scripts/estimators.py ARCHIVES

The table printed here is the one in `docs/papers/haveraaen_hundvebakke.md`.
"""

import argparse
from pathlib import Path

import pandas as pd
import xarray as xr
from real_samples import samples

import perfarray  # noqa: F401, registers .perf

SIZE = 5
"""Runs in a group: the largest number the paper advises."""


def summary(times: xr.DataArray) -> dict[str, float]:
    """Return how the estimators of five runs do on the samples of one source."""
    found = times.perf.estimator_stability(group_sizes=(1, 3, SIZE))
    spread = found["adjusted_standard_deviation"].sel(group_size=SIZE)
    least = spread.sel(statistic="min")
    skew = (times.mean("execution") > times.median("execution")).mean()
    return {
        "samples": float(times.sizes["benchmark"]),
        "mean, %": 100 * float(spread.sel(statistic="mean").median()),
        "median, %": 100 * float(spread.sel(statistic="median").median()),
        "minimum, %": 100 * float(least.median()),
        "minimum is the most stable, % of samples": 100
        * float((least <= spread.min("statistic")).mean()),
        "minimum below 1 %, % of samples": 100 * float((least < 0.01).mean()),
        "mean above median, % of samples": 100 * float(skew),
    }


def table(archives: Path) -> pd.DataFrame:
    """Return one row per source."""
    return pd.DataFrame({name: summary(times) for name, times in samples(archives).items()}).T


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("archives", type=Path)
    pd.set_option("display.width", 200, "display.max_columns", 20)
    print(table(parser.parse_args().archives).round(2))
