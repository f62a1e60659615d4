"""How often answers are wrong where sessions are crossed with builds but analysed as nested in
them, and with the remedy of the note.

    python docs/scripts/crossed_nests.py

Builds of one program run in the same sessions, whose labels they share: unit means are exp(build +
session + noise). Both sides have other sessions. Prints, in percent: false verdicts of `compare`,
means covered by `mean_interval`, for builds as units (as nested) and for sessions as units
(`levels=("session", "binary")`), and calls with the note `crossed_levels`. In the nested rows
labels mean nothing: every build has sessions of its own under the same labels, and the note is a
false alarm. `docs/how-to/trust.md` has the table.
"""

import sys
import warnings
from itertools import product

import numpy as np
import xarray as xr

import perfarray  # noqa: F401  (registers .perf)

SPREAD = 0.02
# Builds, sessions; standard deviations of builds, of sessions, and of noise, over `SPREAD`
SIZES = ((3, 5), (5, 5), (10, 5), (5, 20), (10, 10))
LAWS = {
    "sessions": (0.0, 1.0, 0.5),
    "half": (0.0, 0.5, 1.0),
    "both": (0.7, 0.7, 0.5),
    "nested": (0.5, 0.0, 1.0),
    "skewed": (0.5, 0.0, 1.0),
}
AS_NESTED, REMEDY = ("binary", "session"), ("session", "binary")


def draw(
    rng: np.random.Generator, law: str, sizes: tuple[int, int], shape: tuple[int, ...]
) -> xr.DataArray:
    """Draw times of both versions."""
    builds, sessions, noise = LAWS[law]
    effects = [
        builds * rng.standard_normal((*shape, 2, sizes[0], 1)),
        sessions * rng.standard_normal((*shape, 2, 1, sizes[1])),
        noise * rng.standard_normal((*shape, 2, *sizes)),
    ]
    logs = SPREAD * sum(effects)
    values = 1 + SPREAD * np.exp(sum(effects)) if law == "skewed" else np.exp(logs)
    dims = ("experiment", "benchmark", "version", "binary", "session")
    labels = {
        "version": ["old", "new"],
        "session_label": ("session", [f"day {number}" for number in range(sizes[1])]),
    }
    return xr.DataArray(values, dims=dims, coords=labels, name="time", attrs={"units": "s"})


def wrong(times: xr.DataArray, levels: tuple[str, str], truth: float) -> tuple[float, float]:
    """Return the shares of false verdicts and of covered means."""
    verdicts = times.perf.compare("old", levels=levels)["verdict"]
    interval = times.perf.mean_interval(levels=levels)
    covered = (interval["lower"] <= truth) & (truth <= interval["upper"])
    return float((verdicts != "inconclusive").mean()), float(covered.mean())


def noted(times: xr.DataArray) -> float:
    """Return the share of experiments whose comparison has the note on crossed levels."""
    results = (
        times.isel(experiment=number).perf.compare("old")
        for number in range(times.sizes["experiment"])
    )
    return float(
        np.mean(
            ["crossed_levels" in [note.code for note in result.perf.notes()] for result in results]
        )
    )


def main(experiments: int) -> None:
    """Print a row for each design."""
    rng = np.random.default_rng(1)
    print(
        "| law | builds | sessions | false nested | false remedy | covered nested | covered "
        "remedy | noted, 1 benchmark | noted, 100 |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for law, sizes in product(LAWS, SIZES):
        times = draw(rng, law, sizes, (experiments, 1))
        truth = float(times.mean()) if law == "skewed" else 1.0
        rates = [wrong(times, levels, truth) for levels in (AS_NESTED, REMEDY)]
        noted_rates = noted(times), noted(draw(rng, law, sizes, (experiments // 4, 100)))
        cells = (*(rate[0] for rate in rates), *(rate[1] for rate in rates), *noted_rates)
        print(
            f"| {law} | {sizes[0]} | {sizes[1]} |",
            " | ".join(f"{100 * cell:.1f}" for cell in cells),
            "|",
            flush=True,
        )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
