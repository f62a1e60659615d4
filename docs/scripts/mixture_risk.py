"""Why the test of a fit rejects true mixtures too often when there are hundreds of runs: BIC leaves
out small components.

    python docs/scripts/mixture_risk.py [--experiments 200] [--refits 99] [--runs 500]

Four kinds of samples: of mixtures at random (those of `mixture_fit_study.py`, well separated); of
the mixtures fitted to these; of three components that BIC always finds; and of the same with a
fourth one that it leaves out, also with four and five components forced. Then the power against
shifted exponentials, by the most components allowed. The tables printed here are like those in
`docs/papers/worms_touati.md`.
"""

import argparse

import numpy as np
import xarray as xr
from mixture_fit_study import sample

import perfarray

VISIBLE = ([0.5, 0.3, 0.2], [10.0, 14.0, 20.0], [0.5, 0.8, 0.6])
HIDDEN = ([0.49, 0.29, 0.2, 0.02], [10.0, 14.0, 20.0, 11.6], [0.5, 0.8, 0.6, 0.4])


def drawn(experiments: int, runs: int, *, exponential: bool = False) -> xr.DataArray:
    """Draw samples of mixtures at random."""
    rng = np.random.default_rng([runs, int(exponential)])
    values = np.stack([sample(runs, 2.0, exponential, rng) for _ in range(experiments)])
    return xr.DataArray(
        values, dims=("benchmark", "execution"), coords={"benchmark": np.arange(experiments)}
    )


def of_one(parameters: tuple[list[float], ...], experiments: int, runs: int) -> xr.DataArray:
    """Draw samples of one mixture."""
    whole = (
        perfarray.GaussianMixture.from_parameters(*parameters)
        .sample(experiments * runs, rng=1)
        .values
    )
    return xr.DataArray(
        whole.reshape(experiments, runs),
        dims=("benchmark", "execution"),
        coords={"benchmark": np.arange(experiments)},
    )


def rejected(times: xr.DataArray, refits: int, most: int = 9, forced: int | None = None) -> str:
    """Test every sample; return how often p is below 5 %."""
    fit = perfarray.fit_mixture(times, tolerance=1e-5, max_components=most, n_components=forced)
    pvalue = perfarray.goodness_of_fit(times, fit, n_resamples=refits, rng=1)["pvalue"]
    return f"{float((pvalue < 0.05).mean()):.1%}"


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--experiments", type=int, default=200)
    parser.add_argument("--refits", type=int, default=99)
    parser.add_argument("--runs", type=int, default=500)
    given = parser.parse_args()
    experiments, runs = given.experiments, given.runs
    with perfarray.set_options(engine="numba"):
        random = drawn(experiments, runs)
        cases = {
            "mixtures at random": random,
            "the mixtures fitted to them": perfarray.fit_mixture(random, tolerance=1e-5).sample(
                runs, rng=2
            ),
            "three components": of_one(VISIBLE, experiments, runs),
            "three and a small one": of_one(HIDDEN, experiments, runs),
        }
        for name, times in cases.items():
            print(f"{name}: p < 5 % in {rejected(times, given.refits)}", flush=True)
        for forced in (4, 5):
            found = rejected(cases["three and a small one"], given.refits, forced=forced)
            print(
                f"three and a small one, {forced} components forced: p < 5 % in {found}", flush=True
            )
        exponentials = drawn(experiments, runs, exponential=True)
        for most in (9, 7, 5):
            print(
                f"shifted exponentials, up to {most} components: p < 5 % in "
                f"{rejected(exponentials, given.refits, most)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
