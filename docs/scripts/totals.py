"""How often the limits of `prob_faster(runs=k)` hold the truth: normal runs of two versions, alike
or some standard deviations apart."""

import sys

import numpy as np
import xarray as xr
from scipy.special import ndtr

import perfarray

APART = {1: (0.0, 0.5), 2: (0.0, 0.5), 5: (0.0, 0.5, 1.0), 20: (0.0, 0.5)}
"""How far versions are apart, by the number of runs of a total."""


def timings(values: np.ndarray) -> xr.DataArray:
    """Return samples as timings, one experiment a benchmark."""
    coords = {"benchmark": np.arange(len(values))}
    return xr.DataArray(
        50 + values,
        dims=("benchmark", "execution"),
        coords=coords,
        name="time",
        attrs={"units": "s"},
    )


def main(experiments: int) -> None:
    """Print the share of experiments whose limits hold the truth."""
    rng = np.random.default_rng(5)
    for units in (5, 10, 30):
        for runs, distances in APART.items():
            for apart in distances:
                new, old = (
                    rng.standard_normal((experiments, units)),
                    apart + rng.standard_normal((experiments, units)),
                )
                found = perfarray.prob_faster(timings(new), timings(old), runs=runs)
                truth = ndtr(runs * apart / np.sqrt(2 * runs))
                covered = ((found["lower"] <= truth) & (truth <= found["upper"])).mean().item()
                print(
                    f"{units} units, {runs} runs, truth {truth:.3f}: {100 * covered:.1f} % covered",
                    flush=True,
                )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1500)
