"""How often the interval of a ratio of 99th percentiles holds, and how far it is off where
iterations are few.

    python docs/scripts/tails.py

The 99th percentile of the iterations of each execution is one value of that execution; the
executions are compared by Fieller's interval, as `times.quantile(0.99,
"iteration").perf.compare("old")` does it. Executions differ by a factor (lognormal, sigma .02). The
candidate is 5 % slower throughout, or has one slow iteration in 50 where the baseline has one in
200. The tables are those of `docs/how-to/tails.md`.
"""

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
import xarray as xr

import perfarray

Floats = npt.NDArray[np.float64]

EXPERIMENTS, EXECUTIONS, ITERATIONS, QUANTILE, BETWEEN = (
    4000,
    (5, 10, 30),
    (20, 100, 1000),
    0.99,
    0.02,
)


def skewed(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Draw lognormal iterations."""
    return rng.lognormal(sigma=0.3, size=shape)


def with_pauses(share: float) -> Callable[[np.random.Generator, tuple[int, ...]], Floats]:
    """Return a law of iterations of which a share is interrupted, and takes three to four times as
    long."""
    return lambda rng, shape: (
        rng.normal(1, 0.02, shape) + (rng.random(shape) < share) * rng.uniform(2, 3, shape)
    )


# By name, the laws of the baseline and of the candidate
CHANGES: Mapping[str, tuple[Callable[..., Floats], Callable[..., Floats]]] = {
    "lognormal, all 5 % slower": (skewed, lambda rng, shape: 1.05 * skewed(rng, shape)),
    "pauses in 2 %, all 5 % slower": (
        with_pauses(0.02),
        lambda rng, shape: 1.05 * with_pauses(0.02)(rng, shape),
    ),
    "pauses in 0.5 %, then in 2 %": (with_pauses(0.005), with_pauses(0.02)),
}


def main() -> None:
    """Print the coverage of 95 % intervals, and in brackets the median estimate over the true
    ratio."""
    rng = np.random.default_rng(1)
    print("| iterations | ratio |", " | ".join(f"{n} executions" for n in EXECUTIONS), "|")
    print("| --- | ---: |", " | ".join("---:" for _ in EXECUTIONS), "|")
    for name, laws in CHANGES.items():
        truth = np.divide(*[np.quantile(law(rng, (4_000_000,)), QUANTILE) for law in laws[::-1]])
        for n_iterations in ITERATIONS:
            cells = []
            for n_executions in EXECUTIONS:
                sides = []
                for law in laws:
                    shape = (EXPERIMENTS, n_executions, n_iterations)
                    tails = np.concatenate(
                        [
                            np.quantile(law(rng, (100, *shape[1:])), QUANTILE, axis=-1)
                            for _ in range(EXPERIMENTS // 100)
                        ]
                    )
                    sides.append(tails * rng.lognormal(sigma=BETWEEN, size=tails.shape))
                times = xr.DataArray(
                    sides,
                    dims=("version", "experiment", "execution"),
                    coords={"version": ["old", "new"]},
                    name="time",
                )
                interval = perfarray.ratio_interval(times, "old")
                covered = 100 * float(
                    ((interval["lower"] <= truth) & (interval["upper"] >= truth)).mean()
                )
                cells.append(f"{covered:.0f} ({float(interval['estimate'].median()) / truth:.2f})")
            print(f"| {name}, {n_iterations} an execution | {truth:.3f} |", " | ".join(cells), "|")


if __name__ == "__main__":
    main()
