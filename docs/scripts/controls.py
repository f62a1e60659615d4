"""How often `compare` calls unchanged benchmarks changed, with `controls=` and without.

    python docs/scripts/controls.py

Ten runs a side of ten controls and of twenty other benchmarks vary by 1 %. A new build moves every
benchmark by its own layout (0.5 %), and the machine moves all of them by a common shift. "One row"
is a benchmark that is less noisy or noisier than the controls. False is the worst row of 2,000
experiments, and the mean over the rows. Seen is a change of 2, 3 or 5 % of one row. The tables are
those of `docs/how-to/controls.md`.
"""

import warnings
from itertools import product

import numpy as np
import xarray as xr

import perfarray

EXPERIMENTS, OTHERS, NOISE, LAYOUT = 2000, 20, 0.01, 0.005


def timings(
    rng: np.random.Generator,
    *,
    controls: int = 10,
    runs: int = 10,
    shift: float = 0.0,
    layout: float = LAYOUT,
    changes: tuple[float, ...] = (),
    relative_noise: float = 1.0,
    experiments: int = EXPERIMENTS,
) -> tuple[xr.DataArray, xr.DataArray]:
    """Return both sides of experiments; the first other benchmarks have the changes.

    The last other benchmark has so many times the noise.
    """
    noise = np.full(controls + OTHERS, NOISE)
    noise[-1] *= relative_noise
    names = [
        *(f"control_{number}" for number in range(controls)),
        *(f"b{number}" for number in range(OTHERS)),
    ]
    shape = (2, experiments, len(names), runs)
    logs = noise[:, None] * rng.standard_normal(shape)
    logs[1] += shift + layout * rng.standard_normal((*shape[1:-1], 1))
    logs[1, :, controls : controls + len(changes)] += np.log1p(changes)[:, None]
    old, new = (
        xr.DataArray(
            np.exp(side),
            dims=("experiment", "benchmark", "execution"),
            coords={"benchmark": names},
            name="time",
        )
        for side in logs
    )
    return old, new


def changed(old: xr.DataArray, new: xr.DataArray, **options: object) -> xr.DataArray:
    """Return how often each other benchmark is called faster or slower."""
    with warnings.catch_warnings(action="ignore"):
        result = perfarray.compare(new, old, **options)
    others = ~result["benchmark"].astype(str).str.startswith("control")
    return result["verdict"].isin(["faster", "slower"]).mean("experiment").sel(benchmark=others)


def suites_changed(old: xr.DataArray, new: xr.DataArray, **options: object) -> float:
    """Return how often the suite is called faster or slower."""
    with warnings.catch_warnings(action="ignore"):
        result = perfarray.compare(new, old, **options)
    return float(result["suite_verdict"].isin(["faster", "slower"]).mean())


def false_rates(rng: np.random.Generator, **design: float) -> tuple[float, float]:
    """Return the false verdicts of the worst row and of all rows, with controls."""
    rates = changed(*timings(rng, **design), controls="control_*")
    return float(rates.max()), float(rates.mean())


def main() -> None:
    """Print the tables."""
    rng = np.random.default_rng(1)
    print("| layout | shift | without: all rows | controls: all rows | worst row | suite |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    for layout, shift in product((0.0, LAYOUT, 0.02), (0.0, 0.03)):
        sides = timings(rng, layout=layout, shift=shift)
        plain, rates = changed(*sides), changed(*sides, controls="control_*")
        suite = suites_changed(*sides, controls="control_*")
        numbers = (plain.mean(), rates.mean(), rates.max(), suite)
        texts = " | ".join(f"{100 * float(number):.1f}" for number in numbers)
        print(f"| {100 * layout:g} % | {100 * shift:g} % | {texts} |")
    print("\n| change | 2 % | 3 % | 5 % |")
    print("| --- | ---: | ---: | ---: |")
    sides = timings(rng, shift=0.03, changes=(0.02, 0.03, 0.05))
    seen = changed(*sides, controls="control_*").values[:3]
    print(f"| seen, % | {' | '.join(f'{100 * share:.1f}' for share in seen)} |")
    print("\n| controls | runs a side | row of .2x the noise | rows of 1x | row of 4x |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    for controls, runs in product((2, 3, 5, 10, 30), (3, 10, 30)):
        rates = []
        for relative_noise in (0.2, 1.0, 4.0):
            worst = []
            for layout in (0.0, 0.002, LAYOUT, 0.02):
                sides = timings(
                    rng, controls=controls, runs=runs, layout=layout, relative_noise=relative_noise
                )
                rows = changed(*sides, controls="control_*")
                worst.append(float(rows[-1] if relative_noise != 1 else rows.mean()))
            rates.append(100 * max(worst))
        print(f"| {controls} | {runs} | {' | '.join(f'{rate:.1f}' for rate in rates)} |")


if __name__ == "__main__":
    main()
