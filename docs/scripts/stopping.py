"""What intervals are worth where one stops measuring because they are narrow enough: the tables of
docs/how-to/stopping.md.

    python docs/scripts/stopping.py {mean,ratio,paired,targets,suite,plans} [experiments]

One to three minutes each for 4,000 experiments on one core. Monte Carlo errors are 0.3 points at 95
%, 0.5 at 90, 0.7 at 75.
"""

import sys
import warnings

import numpy as np
import xarray as xr

import perfarray  # noqa: F401  (registers .perf)

SPREAD = 0.02
"""Standard deviation of a unit, relative to the mean."""

COMMON = 0.8
"""Share of its variance that a unit of the candidate has in common with its partner, where they are pairs."""

FIXED = 40
"""Units that would be enough if the standard deviation were known."""

BATCH = 250
"""Experiments at once."""

STARTS = (3, 5, 10, 30)

ROOM = {"t": 5, "stein": 12, "always_valid": 10, "cv": 8}
"""How many times `FIXED` units an experiment has; Stein's rule has five times as many for a start of three, twice for one of five."""


def effects(distribution: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Return effects with mean 0 and standard deviation 1."""
    if distribution == "normal":
        return rng.standard_normal(shape)
    if distribution == "exponential":
        return rng.exponential(size=shape) - 1
    if distribution == "lognormal":
        return (np.exp(rng.standard_normal(shape)) - np.exp(0.5)) / np.sqrt(np.expm1(1) * np.e)
    return (20 * ((rng.random(shape) < 0.2) - 0.2) + rng.standard_normal(shape)) / np.sqrt(
        400 * 0.2 * 0.8 + 1
    )


def experiments(
    what: str, distribution: str, units: int, number: int, rng: np.random.Generator
) -> xr.DataArray:
    """Return timings of experiments, of one system or two, whose means are 1."""
    sides = ["old", "new"] if what != "mean" else ["new"]
    own = effects(distribution, (number, len(sides), units), rng)
    if what == "paired":
        own = (
            np.sqrt(COMMON) * effects(distribution, (number, 1, units), rng)
            + np.sqrt(1 - COMMON) * own
        )
    coords = {"version": sides}
    return xr.DataArray(
        1 + SPREAD * own,
        dims=("experiment", "version", "execution"),
        coords=coords,
        attrs={"units": "s"},
        name="time",
    )


def judged(
    what: str,
    distribution: str,
    rule: str,
    start: int,
    fixed: int,
    number: int,
    rng: np.random.Generator,
) -> str:
    """Return coverage where a rule stops, the mean number of units, and the share of experiments
    without a stop."""
    more = {3: 5, 5: 2}.get(start, 1) if rule == "stein" else 1
    half_width = 1.96 * SPREAD / fixed**0.5 * (1 if what == "mean" else 2**0.5)
    asked = {"half_width": SPREAD if rule == "cv" else half_width, "rule": rule, "start": start}
    asked |= {} if what == "mean" else {"baseline": "old", "dim": "version"}
    asked |= {"paired": "execution"} if what == "paired" else {}
    covered, units = [], []
    for _ in range(-(-number // BATCH)):
        found = experiments(
            what, distribution, max(ROOM[rule] * more * fixed, 4 * start), BATCH, rng
        ).perf.stopping(**asked)
        stopped = found["required"].notnull().values
        held = (found["lower_at_stop"] <= 1) & (found["upper_at_stop"] >= 1)
        covered.append(held.values[stopped])
        units.append(found["required"].values)
    held, taken = np.concatenate(covered), np.concatenate(units)
    never = np.isnan(taken).mean()
    return f"{100 * held.mean():.1f} ({np.nanmean(taken):.0f})" + (
        f" *{100 * never:.1f} never*" if never > 0.002 else ""
    )


def table(what: str, number: int, rng: np.random.Generator) -> None:
    """Print a row for each distribution and start: coverage, and in brackets the mean number of
    units, of every rule."""
    print(
        "| units | start | `t` | `stein` | `always_valid` | `cv` |\n| --- | ---: | --- | --- | "
        "--- | --- |"
    )
    for distribution in ("normal", "exponential", "lognormal", "two modes"):
        for start in STARTS:
            shown = [judged(what, distribution, rule, start, FIXED, number, rng) for rule in ROOM]
            print(f"| {distribution} | {start} | {' | '.join(shown)} |", flush=True)


def targets(number: int, rng: np.random.Generator) -> None:
    """Print what the usual interval covers by start and by the units that a known standard
    deviation would take."""
    sizes = (6, 12, 25, 50, 100, 200)
    print(
        f"| units | start | {' | '.join(map(str, sizes))} |\n| --- | ---: |{' --- |' * len(sizes)}"
    )
    for distribution in ("normal", "exponential"):
        for start in (2, *STARTS):
            shown = [
                judged("mean", distribution, "t", start, fixed, number, rng) for fixed in sizes
            ]
            print(f"| {distribution} | {start} | {' | '.join(shown)} |", flush=True)


def plans(number: int, rng: np.random.Generator) -> None:
    """Print what plans carried out once are worth: pilots, and what they say is still to be run,
    put together."""
    wanted = 1.96 * SPREAD / FIXED**0.5
    print(
        "| units | pilot | assurance | covered | as narrow as planned | units |\n| --- | ---: "
        "| ---: | ---: | ---: | ---: |"
    )
    for distribution in ("normal", "exponential", "lognormal"):
        for pilot in STARTS:
            for assurance in (0.5, 0.9):
                times = experiments("mean", distribution, 4000, number // 4, rng).squeeze(
                    "version", drop=True
                )
                first = times.isel(execution=slice(pilot))
                plan = first.perf.plan_repetitions(
                    costs={}, half_width=wanted, assurance=assurance, min_units=2
                )
                total = pilot + plan["more"].sel(level="execution", drop=True)
                whole = times.where(times["execution"] < total).perf.mean_interval()
                held = (whole["lower"] <= 1) & (whole["upper"] >= 1)
                narrow = (whole["upper"] - whole["lower"]) / 2 <= wanted * whole["estimate"]
                shares = (f"{100 * float(part.mean()):.1f}" for part in (held, narrow))
                print(
                    f"| {distribution} | {pilot} | {assurance} | {' | '.join(shares)} | "
                    f"{float(total.mean()):.0f} |",
                    flush=True,
                )


def suite(number: int, rng: np.random.Generator) -> None:
    """Print what `required_runs` covers where it stops, by start and benchmarks."""
    print("| benchmarks | start | covered (runs) |\n| ---: | ---: | --- |")
    for benchmarks in (1, 4, 13):
        for start in STARTS:
            own = 1 + SPREAD * rng.standard_normal((number // 4, 2, benchmarks, 4 * FIXED))
            dims = ("experiment", "version", "benchmark", "execution")
            times = xr.DataArray(
                own,
                dims=dims,
                coords={"version": ["old", "new"]},
                attrs={"units": "s"},
                name="time",
            )
            width = 2 * 1.96 * SPREAD * (2 / benchmarks / (FIXED / 2)) ** 0.5
            found = times.perf.required_runs("old", width=width, start=start)
            at = found.sel(runs=found["required"].fillna(start))
            held = ((at["lower"] <= 1) & (at["upper"] >= 1)).where(found["required"].notnull())
            print(
                f"| {benchmarks} | {start} | {100 * float(held.mean()):.1f} "
                f"({float(found['required'].mean()):.0f}) |",
                flush=True,
            )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    asked, size = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 4000
    studies = {"targets": targets, "plans": plans, "suite": suite}
    if asked in studies:
        studies[asked](size, np.random.default_rng(1))
    else:
        table(asked, size, np.random.default_rng(2))
