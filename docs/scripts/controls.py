"""How often `compare` calls unchanged benchmarks changed, with `controls=` and without.

    python docs/scripts/controls.py

Runs of ten controls and of twenty other benchmarks vary by 1 %. A new build moves every benchmark
by its own layout, and the machine moves all of them by a common shift. The first table has the
false verdicts of ten runs a side. The second has how often changes are seen, with a layout of 0.5 %
and a shift of 3 %. The third has the false verdicts of a benchmark that is less noisy or noisier
than the controls, at the worst of four layouts. They are those of `docs/how-to/controls.md`.
"""

import warnings
from collections.abc import Sequence
from itertools import product

import numpy as np
import xarray as xr

import perfarray

EXPERIMENTS, OTHERS, NOISE, LAYOUT, SHIFT = 2000, 20, 0.01, 0.005, 0.03
CHANGES = (0.02, 0.03, 0.05)
LAYOUTS = (0.0, 0.002, LAYOUT, 0.02)
QUIET, NOISY = 0.2, 4.0  # times the noise of the controls


def timings(
    rng: np.random.Generator,
    *,
    controls: int = 10,
    runs: int = 10,
    shift: float = 0.0,
    layout: float = LAYOUT,
    changes: Sequence[float] = (),
    noises: Sequence[float] = (),
    experiments: int = EXPERIMENTS,
) -> tuple[xr.DataArray, xr.DataArray]:
    """Return the candidate and the baseline of experiments.

    The first other benchmarks have the changes, the last ones so many times the noise.
    """
    names = [
        *(f"control_{number}" for number in range(controls)),
        *(f"b{number}" for number in range(OTHERS)),
    ]
    noise = np.full(len(names), NOISE)
    noise[len(names) - len(noises) :] *= noises
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
    return new, old


def shares_of_changed(
    new: xr.DataArray, old: xr.DataArray, controls: str | None = "control_*"
) -> tuple[np.ndarray, float]:
    """Return how often each other benchmark, and the suite, is called faster or slower."""
    with warnings.catch_warnings(action="ignore"):
        result = perfarray.compare(new, old, controls=controls)
    rows, suite = (
        result[name].isin(["faster", "slower"]).mean("experiment")
        for name in ("verdict", "suite_verdict")
    )
    return rows.values[-OTHERS:], float(suite)


def row(*cells: object) -> str:
    """Return a row of a table, with shares in percent."""
    texts = [f"{100 * cell:.1f}" if isinstance(cell, float) else str(cell) for cell in cells]
    return f"| {' | '.join(texts)} |"


def main() -> None:
    """Print the tables."""
    rng = np.random.default_rng(1)
    print(row("layout", "common shift", "without", "controls", "worst row", "suite"))
    print("| ---: " * 6 + "|")
    for layout, shift in product((0.0, LAYOUT, 0.02), (0.0, SHIFT)):
        sides = timings(rng, layout=layout, shift=shift)
        plain, _ = shares_of_changed(*sides, controls=None)
        rows, suite = shares_of_changed(*sides)
        numbers = map(float, (plain.mean(), rows.mean(), rows.max(), suite))
        print(row(f"{100 * layout:g} %", f"{100 * shift:g} %", *numbers))
    print(f"\n{row('change', *(f'{100 * change:g} %' for change in CHANGES))}")
    print("| --- " + "| ---: " * len(CHANGES) + "|")
    rows, _ = shares_of_changed(*timings(rng, shift=SHIFT, changes=CHANGES))
    print(row("seen, %", *map(float, rows[: len(CHANGES)])))
    print(
        f"\n{row('controls', 'runs a side', f'{QUIET:g} times', 'like them', f'{NOISY:g} times')}"
    )
    print("| ---: " * 5 + "|")
    for controls, runs in product((2, 3, 5, 10, 30), (3, 10, 30)):
        rates = []
        for layout in LAYOUTS:
            sides = timings(rng, controls=controls, runs=runs, layout=layout, noises=(QUIET, NOISY))
            rows, _ = shares_of_changed(*sides)
            rates.append([rows[-2], rows[:-2].mean(), rows[-1]])
        print(row(controls, runs, *map(float, np.max(rates, axis=0))), flush=True)


if __name__ == "__main__":
    main()
