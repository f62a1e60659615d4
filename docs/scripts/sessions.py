"""How often `compare(between=)` is wrong where each side is one session: the tables of
`docs/how-to/one_session.md`.

    python docs/scripts/sessions.py [experiments]

A program is compared with itself; earlier sessions of it say what sessions vary by; half of the
variance between sessions moves all benchmarks together. The first table has eight benchmarks and
five executions, beside `compare` without it; the share is that of sessions in the variance of an
execution. The second has in each row the worst of 72 designs, for each form that `between=` takes:
5, 10 and 20 earlier sessions of 1, 3 and 10 executions, sessions that vary 0, 0.5, 1 and 2 times as
executions do, 1 and 8 benchmarks. It takes ten minutes.
"""

import sys
import warnings
from collections.abc import Iterable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

import perfarray

EXPERIMENTS, BENCHMARKS, EXECUTIONS, NOISE, COMMON = 1000, 8, 5, 0.02, 0.5
SHARES, SESSIONS = (0.1, 0.5, 0.9), (2, 3, 5, 10, 30)

EXECUTION = 0.01
"""The relative standard deviation of executions in the second table."""

FORMS = ("timings", "components", "(sd, df)")
SIDES = ((1, 1), (1, 10), (3, 3), (10, 3), (10, 10))


class Design(NamedTuple):
    """Benchmarks; earlier sessions and executions in each; executions of both sides; the SD of
    sessions over that of executions."""

    benchmarks: int
    sessions: int
    executions: int
    sides: tuple[int, int]
    spread: float


def draw(
    rng: np.random.Generator, shape: tuple[int, int, int, int], between: float, within: float
) -> xr.DataArray:
    """Draw timings (experiment, benchmark, session, execution) of sessions."""
    above = (*shape[:3], 1)
    moves = np.sqrt(COMMON) * rng.standard_normal((above[0], 1, *above[2:])) + np.sqrt(
        1 - COMMON
    ) * rng.standard_normal(above)
    values = np.exp(between * moves + within * rng.standard_normal(shape))
    return xr.DataArray(
        values, dims=("experiment", "benchmark", "session", "execution"), name="time"
    )


def false_verdicts(result: xr.Dataset) -> tuple[float, float]:
    """Return the share of false verdicts of benchmarks and of suites in percent, NaN without
    limits."""
    verdicts = [("verdict", "lower"), ("suite_verdict", "suite_lower")]
    shares = [100 * float((result[verdict] != "inconclusive").mean()) for verdict, _ in verdicts]
    row, suite = (
        share if bool(result[lower].notnull().any()) else np.nan
        for share, (_, lower) in zip(shares, verdicts, strict=True)
    )
    return row, suite


def of_design(
    rng: np.random.Generator, experiments: int, design: Design, forms: Iterable[str] = FORMS
) -> dict[str, tuple[float, float]]:
    """Return the false verdicts of a design by the form of `between=`; NaN for a stated standard
    deviation of 0, which is refused."""
    benchmarks, sessions, executions, sides, spread = design
    between = spread * EXECUTION
    new, old = (
        draw(rng, (experiments, benchmarks, 1, size), between, EXECUTION).isel(session=0)
        for size in sides
    )
    earlier = draw(rng, (experiments, benchmarks, sessions, executions), between, EXECUTION)
    stated = between * np.sqrt(rng.chisquare(sessions - 1, experiments) / (sessions - 1))
    given: dict[str, Any] = {
        "timings": earlier,
        "components": earlier.perf.variance_components(),
        "(sd, df)": (xr.DataArray(stated, dims="experiment"), sessions - 1) if spread else None,
    }
    return {
        form: (np.nan, np.nan)
        if given[form] is None
        else false_verdicts(perfarray.compare(new, old, between=given[form]))
        for form in forms
    }


def beside_compare(experiments: int) -> None:
    """Print the shares of false verdicts, of benchmarks and of suites, with `between=` and
    without."""
    rng = np.random.default_rng(1)
    print(
        "| sessions' share | earlier sessions | without | `between` | and `prior` | suite "
        "without | suite |"
    )
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for share, sessions in product(SHARES, SESSIONS):
        deviations = NOISE * np.sqrt([share, 1 - share])
        new, old = (
            draw(rng, (experiments, BENCHMARKS, 1, EXECUTIONS), *deviations).isel(session=0)
            for _ in range(2)
        )
        earlier = draw(rng, (experiments, BENCHMARKS, sessions, EXECUTIONS), *deviations)
        options: tuple[dict[str, Any], ...] = (
            {},
            {"between": earlier},
            {"between": earlier, "prior": "suite"},
        )
        levels = [false_verdicts(perfarray.compare(new, old, **each)) for each in options]
        numbers = [*(row for row, _ in levels), *(suite for _, suite in levels[:2])]
        print(
            f"| {100 * share:.0f} % | {sessions} |",
            " | ".join(f"{number:.1f}" for number in numbers),
            "|",
            flush=True,
        )


def worst_designs(experiments: int) -> None:
    """Print the largest share of false verdicts over all designs of a number of executions a side,
    of benchmarks and of suites."""
    rng = np.random.default_rng(2)
    print(
        "\n| executions of both sides | " + " | ".join(f"{form} | suite" for form in FORMS) + " |"
    )
    print("| --- |" + " ---: | ---: |" * len(FORMS))
    for sides in SIDES:
        designs = [
            Design(*sizes, sides, spread)
            for *sizes, spread in product((1, 8), (5, 10, 20), (1, 3, 10), (0.0, 0.5, 1.0, 2.0))
        ]
        levels = [of_design(rng, experiments, design) for design in designs]
        with warnings.catch_warnings(action="ignore"):
            worst = [np.nanmax([level[form] for level in levels], axis=0) for form in FORMS]
        cells = (
            "no limits" if np.isnan(share) else f"{share:.1f}"
            for shares in worst
            for share in shares
        )
        print(f"| {sides[0]}, {sides[1]} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        number = int(sys.argv[1]) if len(sys.argv) > 1 else EXPERIMENTS
        beside_compare(number)
        worst_designs(8 * number)
