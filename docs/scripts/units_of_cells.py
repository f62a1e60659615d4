"""How often a comparison is wrong in an archive whose rows repeat different levels: the table of
`docs/how-to/one_session.md`.

    python docs/scripts/units_of_cells.py [experiments]

A program is compared with itself, eight benchmarks a suite, in one archive of all kinds of sides:
five sessions of three executions, one session of three or ten. The variance between sessions is
four times that of executions, or nothing. Each number is that of the worst pair of kinds: false
verdicts of rows and of suites in percent, nominally 5; `between=` is five earlier sessions of three
executions. It takes a minute.
"""

import sys
import warnings
from collections.abc import Mapping, Sequence
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import xarray as xr

import perfarray

EXPERIMENTS, BENCHMARKS, SESSION, EXECUTION = 2000, 8, 0.02, 0.01

Kind = tuple[int, int, bool]
"""Sessions, executions in each, and whether sessions vary."""

SEVERAL: Kind = (5, 3, True)
SINGLE: tuple[Kind, ...] = ((1, 3, False), (1, 10, False))
UNSEEN: tuple[Kind, ...] = ((1, 3, True), (1, 10, True))

PAIRS: Mapping[str, Sequence[tuple[Kind, Kind]]] = {
    "five sessions on both sides": [(SEVERAL, SEVERAL)],
    "one session on both sides, sessions do not vary": [*combinations_with_replacement(SINGLE, 2)],
    "five sessions against one, which does not vary": [(SEVERAL, kind) for kind in SINGLE],
    "one session on both sides, sessions vary": [*combinations_with_replacement(UNSEEN, 2)],
    "five sessions against one, sessions vary": [(SEVERAL, kind) for kind in UNSEEN],
}


def draw(rng: np.random.Generator, experiments: int, kind: Kind) -> np.ndarray:
    """Draw times (experiment, benchmark, session, execution) of a side, NaN where its kind has no
    execution."""
    sessions, executions, vary = kind
    values = np.full((experiments, BENCHMARKS, 5, 10), np.nan)
    logs = EXECUTION * rng.standard_normal((experiments, BENCHMARKS, sessions, executions))
    values[:, :, :sessions, :executions] = np.exp(
        logs + vary * SESSION * rng.standard_normal((*logs.shape[:3], 1))
    )
    return values


def archive(
    rng: np.random.Generator, experiments: int, pairs: Sequence[tuple[Kind, Kind]]
) -> xr.DataArray:
    """Draw an archive whose machines are pairs of kinds; on the last ones every second benchmark
    has five sessions, and the others one."""
    machines = [[draw(rng, experiments, kind) for kind in pair] for pair in pairs]
    half = np.arange(BENCHMARKS)[:, None, None] % 2 == 0
    for kinds in (SINGLE, UNSEEN):
        machines += [
            [
                np.where(half, draw(rng, experiments, SEVERAL), draw(rng, experiments, kind))
                for _ in range(2)
            ]
            for kind in kinds
        ]
    dims = ("machine", "version", "experiment", "benchmark", "session", "execution")
    coords = {"version": ["old", "new"], "benchmark": [f"b{i}" for i in range(BENCHMARKS)]}
    return xr.DataArray(np.array(machines), coords, dims, "time", {"units": "s"})


def false_verdicts(result: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Return the shares of rows and of suites whose limits exclude 1, by machine, in percent."""
    rows, suites = (
        ((result[f"{of}lower"] > 1) | (result[f"{of}upper"] < 1)).mean(
            [dim for dim in result[f"{of}lower"].dims if dim != "machine"]
        )
        for of in ("", "suite_")
    )
    return 100 * rows.values, 100 * suites.values


def main(experiments: int) -> None:
    """Print the worst level of each group of pairs, without `between=` and with it."""
    rng = np.random.default_rng(1)
    pairs = [pair for group in PAIRS.values() for pair in group]
    times = archive(rng, experiments, pairs)
    earlier = xr.DataArray(
        draw(rng, experiments, SEVERAL)[..., :3],
        dims=("experiment", *times.dims[3:]),
        attrs=times.attrs,
    )
    earlier = earlier.assign_coords(benchmark=times["benchmark"])
    options: tuple[dict[str, Any], ...] = ({}, {"between": earlier})
    levels = [
        false_verdicts(perfarray.compare(times, "old", shared=(), **more)) for more in options
    ]
    print("| sides | rows | suites | rows, `between` | suites, `between` |")
    print("| --- | ---: | ---: | ---: | ---: |")
    start = 0
    groups = {name: len(group) for name, group in PAIRS.items()}
    groups |= {
        f"every second benchmark with five sessions, the others with one{which}": 2
        for which in ("", ", sessions vary")
    }
    for name, number in groups.items():
        numbers = [share[start : start + number].max() for level in levels for share in level]
        print(f"| {name} |", " | ".join(f"{number:.1f}" for number in numbers), "|")
        start += number


if __name__ == "__main__":
    with warnings.catch_warnings(action="ignore"):
        main(int(sys.argv[1]) if len(sys.argv) > 1 else EXPERIMENTS)
