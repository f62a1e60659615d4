"""How often equal programs get a verdict from iterations of one process a side, and from what the
message names instead.

    python docs/scripts/one_process.py

A program is compared with itself: 90 iterations in each process, which vary by 1 %. The rows are
what processes vary by. The table is that of `docs/how-to/one_session.md`.
"""

import warnings

import numpy as np
import xarray as xr

import perfarray

EXPERIMENTS, ITERATIONS, NOISE, PROCESSES, VARIATIONS = (
    2000,
    90,
    0.01,
    5,
    (0.0, 0.002, 0.005, 0.01, 0.02),
)


def draw(
    rng: np.random.Generator, experiments: int, processes: int, variation: float
) -> xr.DataArray:
    """Draw the timings of experiments."""
    means = np.exp(variation * rng.standard_normal((experiments, processes, 1)))
    values = means * np.exp(NOISE * rng.standard_normal((experiments, processes, ITERATIONS)))
    return xr.DataArray(values, dims=("experiment", "execution", "iteration"), name="time")


def risks(variation: float, experiments: int = EXPERIMENTS, rng: int = 1) -> dict[str, float]:
    """Return the shares of false verdicts in percent."""
    generator = np.random.default_rng(rng)
    new, old, earlier = (draw(generator, experiments, PROCESSES, variation) for _ in range(3))
    one = [side.isel(execution=[0]) for side in (new, old)]
    sessions = earlier.rename(execution="session").expand_dims(execution=1)
    with warnings.catch_warnings(action="ignore", category=perfarray.PerfarrayWarning):
        verdicts = {
            'levels="iteration"': perfarray.compare(*one, levels="iteration"),
            "five processes a side": perfarray.compare(new, old),
            "one, and between= of five": perfarray.compare(*one, between=sessions),
        }
    return {
        name: 100 * float((result["verdict"] != "inconclusive").mean())
        for name, result in verdicts.items()
    }


def main() -> None:
    """Print the table."""
    rows = {variation: risks(variation) for variation in VARIATIONS}
    print(f"| processes vary by | {' | '.join(rows[0.0])} |")
    print("| ---: " * (1 + len(rows[0.0])) + "|")
    for variation, row in rows.items():
        print(f"| {100 * variation:g} % | {' | '.join(f'{rate:.1f}' for rate in row.values())} |")


if __name__ == "__main__":
    main()
