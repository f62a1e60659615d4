"""How often the classifier is right: simulated executions whose truth is known, by our rules and by
the published ones.

    python docs/scripts/steady_state.py [KRUN_FILE]

The tables printed here are in `docs/how-to/steady_state.md`.
"""

import sys
import warnings

import numpy as np
import pandas as pd
import xarray as xr
from scipy.signal import lfilter

import perfarray

RULES = {"ours": {}, "published": {"tolerance": 0.001, "penalty": 15.0}}
"""Of executions whose iterations take about a second, 0.001 s is a share of 0.001."""

KINDS = ("flat", "warmup", "slowdown", "no_steady_state")


def truth(
    kind: str, change: float, size: tuple[int, int], rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return the levels of executions (rows, iterations) of one kind, and where they become
    steady."""
    rows, n = size
    place, at = np.arange(n), rng.integers(max(n // 50, 1), n // 2, (rows, 1))
    if kind == "flat":
        return np.ones(size), np.zeros(rows)
    if kind == "no_steady_state":
        at = rng.integers(int(0.8 * n), int(0.95 * n), (rows, 1))
    levels = np.where(place < at, 1 - change if kind == "slowdown" else 1 + change, 1.0)
    return levels, at[:, 0].astype(float)


def noisy(
    levels: np.ndarray, correlation: float, spikes: float, rng: np.random.Generator
) -> np.ndarray:
    """Return levels with noise of 1 %, neighbours of which have a correlation, and a share of
    spikes of 10 to 50 %."""
    noise = lfilter(
        [1], [1, -correlation], rng.normal(size=(levels.shape[0], levels.shape[1] + 50))
    )[:, 50:]
    spike = np.where(rng.random(levels.shape) < spikes, rng.uniform(0.1, 0.5, levels.shape), 0.0)
    return levels * (1 + 0.01 * noise * np.sqrt(1 - correlation**2) + spike)


def confusion(rng: np.random.Generator, executions: int = 60) -> pd.DataFrame:
    """Return the percent of executions of every kind that are called so, by length, change, noise
    and rules."""
    rows = []
    for n in (50, 200, 2000):
        for change in (0.02, 0.05, 0.2):
            for name, correlation, spikes in (
                ("independent", 0.0, 0.0),
                ("correlation 0.5", 0.5, 0.0),
                ("2 % spikes", 0.0, 0.02),
            ):
                row: dict[str, object] = {"n": n, "change": change, "noise": name}
                for kind in KINDS:
                    levels, at = truth(kind, change, (executions, n), rng)
                    times = xr.DataArray(
                        noisy(levels, correlation, spikes, rng), dims=("execution", "iteration")
                    )
                    for rules, keywords in RULES.items():
                        found = times.perf.steady_state(**keywords)
                        right = found["kind"].values == kind
                        row[f"{kind}, {rules}"] = 100 * right.mean()
                        if kind == "warmup" and rules == "ours":
                            row["start off by"] = (
                                np.median(abs(found["start"].values - at)[right])
                                if right.any()
                                else np.nan
                            )
                rows.append(row)
    return pd.DataFrame(rows).set_index(["n", "change", "noise"])


def real(path: str) -> None:
    """Print what a Krun file says, by rules, and its mean with all iterations, without warm-up, and
    of steady executions alone."""
    times = perfarray.read(path)
    for rules, keywords in RULES.items():
        print(
            rules,
            pd.Series(times.perf.steady_state(**keywords)["kind"].values.ravel())
            .value_counts()
            .to_dict(),
        )
    found = times.perf.steady_state()
    marked = times.assign_coords(warmup=found["warmup"])
    for name, each in {
        "all": times,
        "marked": marked,
        "steady": marked.where(found["kind"] != "no_steady_state"),
    }.items():
        interval = each.perf.mean_interval().squeeze()
        print(
            name, *(round(interval[part].item(), 5) for part in ("estimate", "lower", "upper", "n"))
        )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with pd.option_context("display.width", 250, "display.max_columns", 20):
        print(confusion(np.random.default_rng(1)).round(0).to_string())
    if sys.argv[1:]:
        real(sys.argv[1])
