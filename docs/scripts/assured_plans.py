"""How often experiments run as planned reach the half-width planned: by size of pilot, share of
variance at the top, and assurance.

Run `python docs/scripts/assured_plans.py 5` for pilots of 5 executions of 10 iterations (and 10,
and 30): plans by the public function, experiments drawn apart from the package (their variance
among units is chi-square about the true one). Prints percents, and their Monte Carlo errors;
docs/how-to/how_many_repetitions.md quotes the table. `python docs/scripts/assured_plans.py skewed`
does so for pilots of skewed executions, with what is known of their variance taken from normal ones
and from the jackknife.
"""

import sys
import warnings

import numpy as np
import xarray as xr
from scipy.stats import t

import perfarray  # noqa: F401  (registers .perf)

PILOTS, SKEWED, ITERATIONS, PRICE, SPREAD = 600, 400, 10, 5.0, 0.03
SHARES, ASSURANCES, SIZES = (0.2, 0.5, 0.9), (None, 0.5, 0.9), (12, 40)


def pilots(units: int, share: float, rng: np.random.Generator) -> xr.DataArray:
    """Draw pilots with this share of the variance between executions."""
    top = rng.normal(0, SPREAD * share**0.5, (PILOTS, units, 1))
    values = 1 + top + rng.normal(0, SPREAD * (1 - share) ** 0.5, (PILOTS, units, ITERATIONS))
    return xr.DataArray(
        values, dims=("benchmark", "execution", "iteration"), name="time", attrs={"units": "s"}
    )


def reached(
    times: xr.DataArray, share: float, size: int, assurance: float | None, rng: np.random.Generator
) -> tuple[float, float]:
    """Return the share of experiments that reach the half-width wanted, and the median of the
    executions planned."""
    unit = SPREAD**2 * (share + (1 - share) / 3)
    wanted = float(t.ppf(0.975, size - 1)) * (unit / size) ** 0.5
    plan = times.perf.plan_repetitions(
        costs={"execution": PRICE}, half_width=wanted, assurance=assurance
    )
    executions, iterations = plan["repetitions"].values.T
    true = SPREAD**2 * (share + (1 - share) / iterations)
    found = true * rng.chisquare(executions - 1) / (executions - 1)
    half = t.ppf(0.975, executions - 1) * np.sqrt(found / executions)
    return float((half <= wanted).mean()), float(np.median(executions))


def main(units: int) -> None:
    """Print one row for each share and assurance."""
    rng = np.random.default_rng(units)
    for share in SHARES:
        times = pilots(units, share, rng)
        for assurance in ASSURANCES:
            cells = []
            for size in SIZES:
                part, median = reached(times, share, size, assurance, rng)
                cells.append(
                    f"{100 * part:5.1f} +- {100 * (part * (1 - part) / PILOTS) ** 0.5:.1f} % "
                    f"(median {median:.0f})"
                )
            print(
                f"{units} units, share {share}, assurance {assurance}: {', '.join(cells)}",
                flush=True,
            )


def effects(
    sigma: float | None, shape: int | tuple[int, ...], rng: np.random.Generator
) -> np.ndarray:
    """Draw standardised effects: lognormal, normal with sigma 0, exponential without."""
    if sigma is None:
        return rng.exponential(size=shape) - 1
    normal = rng.standard_normal(shape)
    if sigma == 0:
        return normal
    return (np.exp(sigma * normal) - np.exp(sigma**2 / 2)) / np.sqrt(
        np.expm1(sigma**2) * np.exp(sigma**2)
    )


def skewed() -> None:
    """Print a row for each distribution and size of pilot: what share keeps its word, and the
    median of the executions planned."""
    rng = np.random.default_rng(1)
    wanted = 1.96 * SPREAD / 40**0.5
    for name, sigma in (
        ("normal", 0.0),
        ("exponential", None),
        ("lognormal, sigma 0.5", 0.5),
        ("lognormal, sigma 1", 1.0),
    ):
        for units in (5, 10, 30):
            values = 1 + SPREAD * effects(sigma, (SKEWED, units), rng)
            times = xr.DataArray(
                values, dims=("benchmark", "execution"), name="time", attrs={"units": "s"}
            )
            cells = []
            for assurance in ASSURANCES[1:]:
                for limits in ("normal", "jackknife"):
                    asked = {
                        "half_width": wanted,
                        "assurance": assurance,
                        "limits": limits,
                        "min_units": 2,
                    }
                    planned = times.perf.plan_repetitions(costs={}, **asked)["repetitions"].values[
                        :, 0
                    ]
                    drawn = [1 + SPREAD * effects(sigma, int(min(n, 20_000)), rng) for n in planned]
                    reached = [
                        t.ppf(0.975, len(x) - 1) * x.std(ddof=1) / len(x) ** 0.5
                        <= wanted * x.mean()
                        for x in drawn
                    ]
                    cells.append(f"{100 * np.mean(reached):.0f} ({np.median(planned):.0f})")
            print(f"| {name} | {units} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    skewed() if sys.argv[1] == "skewed" else main(int(sys.argv[1]))
