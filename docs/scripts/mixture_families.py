"""How often `fit_mixture(distribution="best")` finds the family and the number of components that
samples were drawn from.

Prints, for samples of 50, 200 and 1,000 runs: the share with the right family, with the right
number of components, and with both; and for normal samples the share that is not called normal.
Arguments: the number of samples of each kind (60), sizes (50 200 1000).
"""

import sys

import numpy as np
import xarray as xr

import perfarray  # noqa: F401, registers .perf

PLACES = (1.0, 4.0)
"""Scales of two components, which are 2 to 10 of their own spreads apart."""


def laws(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    """Return samples of every family, of one component and of two as heavy as each other."""
    second = rng.random(n) < 0.5
    one = {
        "normal, 1 %": ("normal", rng.normal(1, 0.01, n)),
        "normal, 20 %": ("normal", rng.normal(1, 0.2, n)),
        "lognormal": ("lognormal", rng.lognormal(0, 0.5, n)),
        "gamma": ("gamma", rng.gamma(3, 1, n)),
        "weibull": ("weibull", rng.weibull(1.5, n)),
        "exponential": ("exponential", rng.exponential(1, n)),
        "pareto": ("pareto", 1 + rng.pareto(3, n)),
        "extreme": ("extreme", rng.gumbel(10, 1, n)),
    }
    two = {
        "normal": rng.normal(np.where(second, 1.0, 1.6), 0.1),
        "lognormal": rng.lognormal(0, 0.3, n),
        "gamma": rng.gamma(10, 0.1, n),
        "weibull": rng.weibull(4, n),
        "exponential": rng.exponential(1, n) * np.where(second, 1.0, 5.0),
        "pareto": 1 + rng.pareto(6, n),
        "extreme": rng.gumbel(np.where(second, 10.0, 18.0), 1, n),
    }
    scaled = {
        name: (
            name,
            x
            * np.where(second & (name not in ("normal", "exponential", "extreme")), *PLACES[::-1]),
        )
        for name, x in two.items()
    }
    return {f"{name}; 1": found for name, found in one.items()} | {
        f"{name}; 2": found for name, found in scaled.items()
    }


def main(number: int, sizes: tuple[int, ...]) -> None:
    """Draw, fit, print."""
    for n in sizes:
        rng = np.random.default_rng(n)
        drawn = [laws(rng, n) for _ in range(number)]
        print(f"{n} runs, {number} samples: family, components, both; the families chosen")
        for name, (family, _) in drawn[0].items():
            values = np.stack([one[name][1] for one in drawn])
            times = xr.DataArray(
                values, dims=("benchmark", "execution"), name="time", attrs={"units": "s"}
            )
            found = times.perf.fit_mixture(
                distribution="best", max_components=3, tolerance=1e-5
            ).to_dataset()
            right, k = (
                (found["family"] == family).values,
                (found["n_components"] == int(name[-1])).values,
            )
            chosen, counts = np.unique(found["family"].values.astype(str), return_counts=True)
            share = ", ".join(
                f"{own} {100 * count / number:.0f}"
                for own, count in zip(chosen, counts, strict=True)
            )
            print(
                f"  {name:18s} {100 * right.mean():4.0f} {100 * k.mean():4.0f} "
                f"{100 * (right & k).mean():4.0f}   {share}",
                flush=True,
            )


if __name__ == "__main__":
    main(int((sys.argv[1:] or ["60"])[0]), tuple(map(int, sys.argv[2:])) or (50, 200, 1000))
