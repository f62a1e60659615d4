"""What `compare --plan` is worth: verdicts after the first look, and after the reruns it asks for.

2,000 benchmarks of normal executions, 10 a side, noise of 2 %, changed or not. Those that are
inconclusive get the executions of the plan, at most 300, and are compared once more with all.
"""

import math
import warnings

import numpy as np
import xarray as xr

import perfarray
from perfarray.cli.reading import Sides
from perfarray.cli.reruns import undecided

BENCHMARKS, NOISE, PILOT, MOST = 2000, 0.02, 10, 300


def timings(change: float, further: dict[str, float], rng: np.random.Generator) -> xr.Dataset:
    """Simulate a pilot, with so many further executions of some benchmarks."""
    sizes = [PILOT + int(further.get(str(name), 0)) for name in range(BENCHMARKS)]
    values = np.exp(NOISE * rng.standard_normal((2, BENCHMARKS, max(sizes))))
    values[1] *= 1 + change
    values[:, np.arange(max(sizes)) >= np.array(sizes)[:, None]] = np.nan
    return xr.Dataset(
        {"time": (("version", "benchmark", "execution"), values)},
        {"version": ["old", "new"], "benchmark": list(map(str, range(BENCHMARKS)))},
    )


def shares(result: xr.Dataset) -> str:
    verdict = result["verdict"].values.ravel()
    names = ("slower", "faster", "equivalent", "inconclusive")
    return "  ".join(f"{name} {100 * np.mean(verdict == name):.1f} %" for name in names)


def main() -> None:
    warnings.simplefilter("ignore", perfarray.PerfarrayWarning)
    for threshold in (0.0, 0.01, 0.02):
        for change in (0.0, 0.02, 0.04):
            rng = np.random.default_rng(1)
            pilot = timings(change, {}, rng)
            first = perfarray.compare(pilot, "old", threshold=threshold)
            plan = undecided(first, Sides(pilot, "version", "old"), {}).units
            further = {
                name: number
                for name, number in plan.items()
                if 0 < number <= MOST and math.isfinite(number)
            }
            more = timings(change, further, rng).isel(execution=slice(PILOT, None))
            second = perfarray.compare(
                xr.concat([pilot, more], dim="execution", join="outer"), "old", threshold=threshold
            )
            print(f"threshold {threshold:.0%}, change {change:.0%}: ", shares(first))
            rerun = np.mean(list(further.values())) if further else 0
            print(f"    {len(further)} rerun, {rerun:.0f} executions on average:", shares(second))


if __name__ == "__main__":
    main()
