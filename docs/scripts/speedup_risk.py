"""How often the Speedup-Test declares a speedup where there is none, and how often it does not
conclude.

    python docs/scripts/speedup_risk.py [--experiments 4000] [--seed 1]

Both sides of every experiment have the same mean (and, but for the last row, the same
distribution), so each "significant" is a false alarm; at a confidence level of 95 % there should be
5 % of them. The tables printed here are those in `docs/papers/speedup_test.md`.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import xarray as xr

import perfarray

SIZES = (5, 10, 20, 30, 31, 50, 100)
"""Runs a side."""

LEVEL = 0.95

SEARCHES = ("exhaustive", "tool")

DESIGNS = ((20, 3), (10, 10), (5, 20), (3, 100))
"""Executions a side, iterations in each."""

SHARE = 0.37
"""Part of the variance of a single measurement that lies between executions."""

Samples = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, int]], tuple[Samples, Samples]]


def normal(rng: np.random.Generator, shape: tuple[int, int]) -> tuple[Samples, Samples]:
    """Both sides normal, 5 % of the mean."""
    return rng.normal(1.0, 0.05, shape), rng.normal(1.0, 0.05, shape)


def skewed(rng: np.random.Generator, shape: tuple[int, int]) -> tuple[Samples, Samples]:
    """Both sides 1 s plus a lognormal delay (skewness 1.75)."""
    return 1 + 0.05 * rng.lognormal(0.0, 0.5, shape), 1 + 0.05 * rng.lognormal(0.0, 0.5, shape)


def two_modes(rng: np.random.Generator, shape: tuple[int, int]) -> tuple[Samples, Samples]:
    """Both sides normal around 1 s in seven of ten runs, around 1.2 s in the others."""
    one, two = (rng.normal(1.0, 0.02, shape) + 0.2 * (rng.random(shape) < 0.3) for _ in range(2))
    return one, two


def unequal_spreads(rng: np.random.Generator, shape: tuple[int, int]) -> tuple[Samples, Samples]:
    """Both sides normal with one mean and median, the candidate three times as noisy."""
    return rng.normal(1.0, 0.03, shape), rng.normal(1.0, 0.09, shape)


DISTRIBUTIONS: Mapping[str, Draw] = {
    "normal": normal,
    "skewed": skewed,
    "two modes": two_modes,
    "normal, spreads 1 to 3": unequal_spreads,
}


def risks(
    distributions: Sequence[str] = tuple(DISTRIBUTIONS),
    sizes: Sequence[int] = SIZES,
    *,
    experiments: int = 4000,
    confidence_level: float | None = LEVEL,
    search: str = "exhaustive",
    rng: int | np.random.Generator | None = None,
) -> xr.Dataset:
    """Return the share of experiments with a false alarm, at `LEVEL` or more, and with no
    conclusion: (distribution, n, statistic)."""
    generator = np.random.default_rng(rng)
    rows = []
    for name in distributions:
        for n in sizes:
            old, new = DISTRIBUTIONS[name](generator, (experiments, n))
            rows.append(
                _rates(
                    _as_timings(old[..., None]),
                    _as_timings(new[..., None]),
                    confidence_level,
                    search=search,
                )
            )
    joined = xr.concat(rows, "row").coarsen(row=len(sizes)).construct(row=("distribution", "n"))
    return joined.assign_coords(distribution=list(distributions), n=list(sizes)).assign_attrs(
        experiments=experiments
    )


def nested_risks(
    designs: Sequence[tuple[int, int]] = DESIGNS, *, experiments: int = 4000, rng: int | None = None
) -> xr.Dataset:
    """Return the same for nested normal data: (design, unit, statistic), with executions or pooled
    iterations as the sample."""
    generator = np.random.default_rng(rng)
    rows = []
    for executions, iterations in designs:
        shape = (experiments, executions, iterations)
        one, two = (
            1
            + 0.02
            * (
                SHARE**0.5 * generator.normal(size=(*shape[:2], 1))
                + (1 - SHARE) ** 0.5 * generator.normal(size=shape)
            )
            for _ in range(2)
        )
        units = [
            _rates(_as_timings(one), _as_timings(two), LEVEL, unit)
            for unit in ("execution", "iteration")
        ]
        rows.append(xr.concat(units, "unit"))
    labels = [f"{executions} x {iterations}" for executions, iterations in designs]
    return (
        xr.concat(rows, "design")
        .assign_coords(design=labels, unit=["execution", "iteration"])
        .assign_attrs(experiments=experiments)
    )


def _as_timings(values: Samples) -> xr.DataArray:
    """Label experiments, executions and iterations."""
    return xr.DataArray(
        values,
        dims=("experiment", "execution", "iteration"),
        name="time",
        attrs={"units": "s", "better": "lower"},
    )


def _rates(
    old: xr.DataArray,
    new: xr.DataArray,
    confidence_level: float | None,
    unit: str = "execution",
    search: str = "exhaustive",
) -> xr.Dataset:
    """Return the rates of one case, along statistic."""
    found = []
    for statistic in ("mean", "median"):
        result = perfarray.speedup_test(
            new,
            old,
            statistic=statistic,
            confidence_level=confidence_level,
            search=search,
            unit=unit,
        )
        rates = {
            "false_alarms": result["significant"].mean(),
            "no_conclusion": (result["test"] == "cannot conclude").mean(),
        }
        rates["at_level"] = (result["significant"] & (result["confidence_level"] >= LEVEL)).mean()
        found.append(xr.Dataset(rates))
    return xr.concat(found, "statistic").assign_coords(statistic=["mean", "median"])


def markdown(rates: xr.DataArray, rows: str, columns: str) -> str:
    """Write rates as a table, in percent."""
    head = [f"{rows}", *(str(label) for label in rates[columns].values)]
    lines = [head, ["---", *["---:"] * (len(head) - 1)]]
    for label in rates[rows].values.tolist():
        lines.append(
            [
                label,
                *(
                    f"{100 * rate:.1f}"
                    for rate in rates.sel({rows: label}).transpose(columns).values
                ),
            ]
        )
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--experiments", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    known = risks(experiments=arguments.experiments, rng=arguments.seed)
    searches = {
        name: risks(
            experiments=arguments.experiments,
            confidence_level=None,
            search=name,
            rng=arguments.seed,
        )
        for name in SEARCHES
    }
    nested = nested_risks(experiments=arguments.experiments, rng=arguments.seed)
    for statistic in ("mean", "median"):
        for what in ("false_alarms", "no_conclusion"):
            print(f"\n{statistic}, {what}, level 95 %\n")
            print(markdown(known[what].sel(statistic=statistic), "distribution", "n"))
        for name, rates in searches.items():
            for what in ("false_alarms", "at_level"):
                print(f"\n{statistic}, {what}, {name} search\n")
                print(markdown(rates[what].sel(statistic=statistic), "distribution", "n"))
        print(f"\n{statistic}, nested\n")
        print(markdown(nested["false_alarms"].sel(statistic=statistic), "design", "unit"))


if __name__ == "__main__":
    main()
