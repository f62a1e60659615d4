"""How often modes are found and supported: in samples of one mode, where more are chance, and of
two.

    python docs/scripts/mode_support.py --experiments 2000

`docs/how-to/mixtures.md` quotes the table printed here.
"""

import argparse
import warnings

import numpy as np
import pandas as pd
import xarray as xr

import perfarray

SIZES = (5, 8, 10, 15, 30, 100)


def two(distance: float, share: float = 0.5):
    """Return what draws runs of two normal modes, so many standard deviations apart, with a share
    of the runs in the second."""
    return lambda rng, shape: rng.standard_normal(shape) + distance * (rng.random(shape) < share)


KINDS = {
    "one, normal": lambda rng, shape: rng.standard_normal(shape),
    "one, lognormal": lambda rng, shape: rng.lognormal(0, 0.25, shape),
    "one, flat": lambda rng, shape: rng.random(shape),
    "two, 4 apart": two(4.0),
    "two, 6 apart": two(6.0),
    "two, 10 apart": two(10.0),
    "two, 10 apart, 80/20": two(10.0, 0.2),
}


def found(kind: str, n: int, experiments: int) -> dict[str, float]:
    """Return the per cent of samples of a kind whose density shows more than one mode, and whose
    runs support more than one, or all."""
    values = KINDS[kind](np.random.default_rng(n), (experiments, n))
    times = xr.DataArray(
        values,
        dims=("benchmark", "execution"),
        coords={"benchmark": np.arange(experiments)},
        name="time",
    )
    level = times.perf.variability_level(rng=n)
    several, supported = level["estimate"] > 1, level["n_supported"] > 1
    shares = {
        "shown": several,
        "supported": supported,
        "as many as shown": several & level["supported"],
    }
    return {name: 100 * float(share.mean()) for name, share in shares.items()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--experiments", type=int, default=2000)
    parser.add_argument("--engine", default="numpy", choices=["numpy", "numba"])
    arguments = parser.parse_args()
    perfarray.set_options(engine=arguments.engine)
    warnings.simplefilter("ignore", perfarray.PerfarrayWarning)
    for kind in KINDS:
        rows = pd.DataFrame({n: found(kind, n, arguments.experiments) for n in SIZES})
        print(kind, rows.round(1).to_string(), sep="\n", flush=True)
