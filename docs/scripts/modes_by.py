"""How often `modes_by` finds that modes go with something they do not go with, and how often it
finds what they do go with."""

import sys

import numpy as np
import xarray as xr

import perfarray

EXECUTIONS = 4
CLOSE = 0.03
"""The standard deviation of a mode, in distances between the two."""


def timings(
    binaries: int, experiments: int, slow: np.ndarray, rng: np.random.Generator
) -> xr.DataArray:
    """Return runs in two modes, and descriptors that know nothing of them."""
    shape = (experiments, binaries, EXECUTIONS)
    runs = 1 + slow + CLOSE * rng.standard_normal(shape)
    array = xr.DataArray(
        runs, dims=("benchmark", "binary", "execution"), name="time", attrs={"units": "s"}
    )
    return array.assign_coords(
        benchmark=np.arange(experiments),
        compiler=("binary", np.array(["gcc", "clang"], dtype=object)[np.arange(binaries) % 2]),
        core=("execution", np.array(["0", "1"], dtype=object)[np.arange(EXECUTIONS) % 2]),
        misses=(("benchmark", "binary", "execution"), rng.standard_normal(shape)),
    )


def rates(array: xr.DataArray, name: str) -> None:
    """Print the share of experiments with p below 5 %, factor by factor, and of those with any
    finding."""
    found = perfarray.modes_by(array, rng=1, n_resamples=199)
    modes = found["n_modes"] > 1
    shares = (found["pvalue"] <= 0.05).where(modes).mean("benchmark").to_series()
    seen = (found["smallest_pvalue"] <= 0.05).where(modes).mean("benchmark").to_series()
    any_finding = (found["pvalue_adjusted"] <= 0.05).any("factor").where(modes).mean().item()
    texts = ", ".join(
        f"{factor} {100 * share:.1f} ({100 * seen[factor]:.0f})" for factor, share in shares.items()
    )
    print(
        f"{name}: {texts}; any {100 * any_finding:.1f}; several modes in {int(modes.sum())}",
        flush=True,
    )


def study(binaries: int, experiments: int) -> None:
    """Let modes be chance execution by execution, then let them go with the binary, with the order,
    with the compiler."""
    rng = np.random.default_rng(binaries)
    shape = (experiments, binaries, EXECUTIONS)
    kinds = {
        "chance": rng.random(shape) < 0.35,
        "binary": (rng.random((experiments, binaries, 1)) < 0.35) ^ (rng.random(shape) < 0.1),
        "order": rng.random(shape) < 0.05 + 0.9 * (np.arange(EXECUTIONS) >= EXECUTIONS / 2),
        "compiler": rng.random(shape) < 0.1 + 0.8 * (np.arange(binaries) % 2)[:, None],
    }
    for name, slow in kinds.items():
        rates(timings(binaries, experiments, slow, rng), f"{binaries} binaries, modes by {name}")


if __name__ == "__main__":
    for binaries in (3, 5, 10, 30):
        study(binaries, int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
