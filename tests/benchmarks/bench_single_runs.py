"""What comparisons of single runs cost: 30,000 runs a side, 100 versions, and 100,000 benchmarks,
against lines of NumPy and SciPy.

The lines sort both sides and take the variance of placements; they know no labels, gaps, units,
ties or notes. The 30,000 runs are read from a file, as users read theirs. A process that has not
yet freed an array of a megabyte gives memory back after every call, and the page faults of the next
call take a third more time.
"""

import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr
from interleaved import add_to_page, ranked
from scipy import stats

import perfarray

RUNS, VERSIONS, FEW, CELLS = 30_000, 100, 10, 100_000


def timings(values: np.ndarray) -> xr.DataArray:
    """Return timings of shape (version, execution) or (benchmark, version, execution)."""
    dims = ("benchmark", "version", "execution")[-values.ndim :]
    labels = {
        dim: [f"{dim}{number}" for number in range(size)]
        for dim, size in zip(dims[:-1], values.shape, strict=False)
    }
    return xr.DataArray(values, labels, dims=dims, name="time", attrs={"units": "s"})


def read_runs(values: np.ndarray) -> xr.DataArray:
    """Return timings of two versions (version, run), read from a CSV file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "runs.csv")
        pd.DataFrame(
            {"version": np.repeat(["version0", "version1"], RUNS), "seconds": values.ravel()}
        ).to_csv(path, index=False)
        return perfarray.read(path)["time"]


def limits_of(new: np.ndarray, old: np.ndarray, quantile: float) -> tuple[np.ndarray, np.ndarray]:
    """Return limits of the mean of placements."""
    half = quantile * np.sqrt(
        new.var(axis=-1, ddof=1) / new.shape[-1] + old.var(axis=-1, ddof=1) / old.shape[-1]
    )
    return new.mean(axis=-1) - half, new.mean(axis=-1) + half


def faster_lines(new: np.ndarray, old: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return limits of P[X < Y] (DeLong)."""
    new, old = np.sort(new), np.sort(old)
    beaten = 1 - np.searchsorted(old, new, side="right") / len(old)
    return limits_of(beaten, np.searchsorted(new, old) / len(new), 1.96)


def distances(values: np.ndarray, baseline: np.ndarray) -> np.ndarray:
    """Return the mean difference of every value from the others, in ascending order."""
    rank, sums = (
        np.searchsorted(baseline, values, side="right"),
        np.concatenate([[0.0], np.cumsum(baseline)]),
    )
    return (values * (2 * rank - len(baseline)) + sums[-1] - 2 * sums[rank]) / len(baseline)


def difference_lines(new: np.ndarray, old: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return limits of E|X - Y|, and that of two runs of the baseline."""
    new, old = np.sort(new), np.sort(old)
    quantile = float(stats.t.ppf(0.975, len(new) + len(old) - 2))
    return *limits_of(distances(new, old), distances(old, new), quantile), distances(
        old, old
    ).mean()


def fastest_lines(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return limits of the probability of every version to be the fastest."""
    ordered, answers = np.sort(values, axis=-1), []
    for number, runs in enumerate(ordered):
        above = np.stack(
            [1 - np.searchsorted(rival, runs, side="right") / FEW for rival in ordered]
        )
        above[number] = 1.0
        survival = np.ones_like(above)
        survival[1:] *= np.cumprod(above[:-1], axis=0)
        survival[:-1] *= np.cumprod(above[:0:-1], axis=0)[::-1]
        sums = np.cumsum(np.pad(survival, ((0, 0), (1, 0))), axis=-1) / FEW
        placements = np.take_along_axis(
            sums, np.searchsorted(runs, ordered.ravel()).reshape(ordered.shape), axis=-1
        )
        placements[number] = above.prod(axis=0)
        answers.append(
            (
                placements[number].mean(),
                1.96 * np.sqrt((placements.var(axis=-1, ddof=1) / FEW).sum()),
            )
        )
    estimate, half = np.array(answers).T
    return estimate - half, estimate + half


def pairs_lines(pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return limits of the mean of all pairs of runs (benchmark, run, run)."""
    return limits_of(pairs.mean(axis=-1), pairs.mean(axis=-2), 1.96)


def main() -> None:
    """Print times and ratios."""
    rng = np.random.default_rng(1)
    values, n_machines, cells = (
        rng.normal(10, 1, (2, RUNS)),
        rng.normal(10, 1, (VERSIONS, FEW)),
        rng.normal(10, 1, (CELLS, 2, 3)),
    )
    pair, versions, archive, old = (
        read_runs(values),
        timings(n_machines),
        timings(cells),
        "version0",
    )
    calls = {
        "prob_faster": (
            lambda: pair.perf.prob_faster(old),
            lambda: faster_lines(values[1], values[0]),
        ),
        "mean_difference": (
            lambda: pair.perf.mean_difference(old),
            lambda: difference_lines(values[1], values[0]),
        ),
        "prob_fastest, 100 versions": (
            lambda: versions.perf.prob_fastest(dim="version"),
            lambda: fastest_lines(n_machines),
        ),
        "prob_faster, 100,000 x 2 x 3": (
            lambda: archive.perf.prob_faster(old),
            lambda: pairs_lines(cells[:, 1, :, None] < cells[:, 0, None]),
        ),
        "mean_difference, 100,000 x 2 x 3": (
            lambda: archive.perf.mean_difference(old),
            lambda: pairs_lines(np.abs(cells[:, 1, :, None] - cells[:, 0, None])),
        ),
    }
    for name, (ours, lines) in calls.items():
        seconds = ranked(
            "comparisons of single runs, time of the processor",
            {name: ours, f"{name}: lines": lines},
            name,
            clock=time.process_time,
        )
        if name == "prob_faster":
            peer = "the variance of placements by hand"
            add_to_page(seconds, name, f"{name}: lines", f"`{name}`", "30,000 runs a side", peer)
