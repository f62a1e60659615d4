"""What dependence costs: coverage of the intervals, false alarms and power of the note, and what
real measurements in order show.

    python docs/scripts/dependence.py [ARCHIVES]

The tables printed here are in `docs/how-to/dependence.md`.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr
from scipy.signal import lfilter

import perfarray

CORRELATIONS = (0.0, 0.3, 0.6, 0.8)
"""Of neighbours; that of values further apart is a power of it."""

SHAPES = {
    "normal": np.asarray,
    "lognormal": np.exp,
    "two modes": lambda x: np.where(x > 0.84, 20 + x, x),
}
"""What becomes of normal values."""


def series(
    correlation: float, size: tuple[int, ...], rng: np.random.Generator, shape: str = "normal"
) -> np.ndarray:
    """Return series of values along the last axis."""
    noise = rng.normal(size=(*size[:-1], size[-1] + 60)) * np.sqrt(1 - correlation**2)
    return SHAPES[shape](lfilter([1], [1, -correlation], noise, axis=-1)[..., 60:])


def timings(values: np.ndarray, *dims: str) -> xr.DataArray:
    """Return positive timings with independent executions last."""
    return xr.DataArray(100 + values, dims=(*dims, "execution"), name="time", attrs={"units": "s"})


def coverage(rng: np.random.Generator, experiments: int = 4000) -> pd.DataFrame:
    """Return the percent of intervals of a mean that contain it, and how wide batch means are
    beside t."""
    rows = []
    for n in (30, 50, 100, 300):
        for correlation in CORRELATIONS:
            times = timings(series(correlation, (experiments, n), rng), "benchmark")
            found = {
                method: times.perf.mean_interval(method=method) for method in ("t", "batch_means")
            }
            row = {
                name: 100 * float(((each["lower"] <= 100) & (each["upper"] >= 100)).mean())
                for name, each in found.items()
            }
            width = {
                name: float((each["upper"] - each["lower"]).mean()) for name, each in found.items()
            }
            rows.append(
                {
                    "n": n,
                    "correlation": correlation,
                    **row,
                    "width": width["batch_means"] / width["t"],
                }
            )
    return pd.DataFrame(rows).set_index(["n", "correlation"])


def told(rng: np.random.Generator, calls: int = 500) -> pd.DataFrame:
    """Return the percent of comparisons, of one benchmark and of 29, that come with the note."""
    rows = []
    for shape in SHAPES:
        for n in (10, 30, 100):
            for benchmarks in (1, 29):
                row = {"values": shape, "n": n, "benchmarks": benchmarks}
                for correlation in CORRELATIONS[:3]:
                    values = series(correlation, (calls, benchmarks, 2, n), rng, shape)
                    found = [
                        timings(each, "benchmark", "version").assign_coords(version=["old", "new"])
                        for each in values
                    ]
                    notes = [each.perf.ratio_interval("old").perf.notes() for each in found]
                    row[correlation] = 100 * np.mean(
                        [any(note.code == "dependent_units" for note in each) for each in notes]
                    )
                rows.append(row)
    return pd.DataFrame(rows).set_index(["values", "n", "benchmarks"])


def real(archives: Path) -> pd.DataFrame:
    """Return what measurements in their order show: each file, its longest series."""
    folder = archives / "research_csv"
    fft = (
        pd.read_csv(folder / "kalibera_fft" / "fft-10.csv.xz", skipinitialspace=True).to_numpy().T
        / 1000
    )
    mpi = pd.read_csv(folder / "hunold_mpi" / "mpi_data_fig1.csv.xz", sep=";")
    krun = perfarray.read(archives / "krun" / "ESEUR_warmup" / "1602-00602.json.xz")[
        "time"
    ].squeeze(drop=True)
    dims = ("execution", "iteration")
    sources = {
        "kalibera_fft": xr.DataArray(fft, dims=dims),
        **{
            f"hunold_mpi {name}": xr.DataArray(
                rows["time"].to_numpy()[None], dims=("execution", "iteration")
            )
            for name, rows in mpi.groupby("test")
        },
        "krun binarytrees V8": krun,
    }
    rows = {}
    for name, times in sources.items():
        found = times.perf.autocorrelation(max_lag=10)
        pool = found["pooled_autocorrelation"]
        rows[name] = {
            "series": times.sizes["execution"],
            "n": times.sizes["iteration"],
            "lag 1": pool.sel(lag=1).item(),
            "lag 10": pool.sel(lag=10).item(),
            "worth": float((found["effective_n"] / found["n"]).median()),
            "p": found["dependence_pvalue"].item(),
            "drift, % in all": 100 * float((abs(found["drift"]) * found["n"]).median()),
            "drifting": int((found["drift_pvalue"] <= 0.05).sum()),
        }
    return pd.DataFrame(rows).T


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("archives", type=Path, nargs="?")
    given = parser.parse_args().archives
    print(coverage(np.random.default_rng(1)).round(2).to_string())
    print(told(np.random.default_rng(2)).round(1).to_string())
    if given:
        print(real(given).round(3).to_string())
