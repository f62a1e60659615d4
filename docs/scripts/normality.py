"""How often real samples of run times, and means of such runs, are not normal.

    python docs/scripts/normality.py ARCHIVES

The tables printed here are in `docs/papers/worms_touati.md` and `docs/papers/speedup_test.md`.
"""

import argparse
from pathlib import Path

import pandas as pd
import xarray as xr
from real_samples import samples

import perfarray

SIZES = (1, 5, 10, 20, 30, 50, 100)
"""Runs in a group."""


def shares(archives: Path) -> pd.DataFrame:
    """Return the share of samples rejected, by source."""
    rows = {
        name: {
            f"alpha {alpha}": float(times.perf.normality(alpha=alpha)["share_rejected"].item())
            for alpha in (0.05, 0.1)
        }
        for name, times in samples(archives).items()
    }
    return pd.DataFrame(rows).T


def long_samples(archives: Path) -> dict[str, xr.Dataset]:
    """Return samples of a thousand and more values in the order they were taken."""
    folder = archives / "research_csv"
    fft = pd.read_csv(folder / "kalibera_fft" / "fft-10.csv.xz")
    mpi = pd.read_csv(folder / "hunold_mpi" / "mpi_data_fig1.csv.xz", sep=";")
    clocks = pd.read_csv(folder / "chen_hpt" / "office_rsynth.gcc.basetime.csv.xz")["clocks"]
    found = {
        "kalibera_fft": {str(name): fft[name].dropna() for name in fft},
        "hunold_mpi": {str(name): rows["time"] for name, rows in mpi.groupby("test")},
        "chen_hpt": {"all": clocks},
    }
    return {name: perfarray.from_samples(values, dim="benchmark") for name, values in found.items()}


def means(archives: Path) -> pd.DataFrame:
    """Return the number of samples whose means of so many values are rejected at 5 %."""
    found = {
        name: times.perf.normality(group_sizes=SIZES)["rejected"]
        for name, times in long_samples(archives).items()
    }
    return pd.DataFrame(
        {name: rejected.sum("benchmark").to_series() for name, rejected in found.items()}
    ).T


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("archives", type=Path)
    given = parser.parse_args().archives
    print(shares(given).round(3))
    print(means(given))
