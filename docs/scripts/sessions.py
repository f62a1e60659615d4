"""How often `compare(between=)` is wrong where each side is one session, beside `compare` without it.

    python docs/scripts/sessions.py

A program is compared with itself: eight benchmarks, five executions, one session a side. Earlier sessions of it say what sessions vary by;
half of the variance between sessions moves all benchmarks together. The share is that of sessions in the variance of an execution. The
table is that of `docs/how-to/one_session.md`.
"""

from itertools import product

import numpy as np
import xarray as xr

import perfarray

EXPERIMENTS, BENCHMARKS, EXECUTIONS, NOISE, COMMON = 1000, 8, 5, 0.02, 0.5
SHARES, SESSIONS = (0.1, 0.5, 0.9), (2, 3, 5, 10, 30)


def draw(rng: np.random.Generator, share: float, sessions: int) -> xr.DataArray:
    """Draw timings of sessions."""
    shape = (EXPERIMENTS, BENCHMARKS, sessions, 1)
    moves = np.sqrt(COMMON) * rng.standard_normal((shape[0], 1, *shape[2:])) + np.sqrt(1 - COMMON) * rng.standard_normal(shape)
    runs = rng.standard_normal((*shape[:3], EXECUTIONS))
    values = np.exp(NOISE * (np.sqrt(share) * moves + np.sqrt(1 - share) * runs))
    return xr.DataArray(values, dims=("experiment", "benchmark", "session", "execution"), name="time")


def main() -> None:
    """Print the shares of false verdicts, of benchmarks and of suites."""
    rng = np.random.default_rng(1)
    print("| sessions' share | earlier sessions | without | between= | and prior= | suite without | suite |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for share, sessions in product(SHARES, SESSIONS):
        new, old = (draw(rng, share, 1).isel(session=0) for _ in range(2))
        earlier = draw(rng, share, sessions)
        options = ({}, {"between": earlier}, {"between": earlier, "prior": "suite"})
        results = [perfarray.compare(new, old, **each) for each in options]
        rows = [float((result["verdict"] != "inconclusive").mean()) for result in results]
        suites = [float((result["suite_verdict"] != "inconclusive").mean()) for result in results[:2]]
        print(f"| {100 * share:.0f} % | {sessions} |", " | ".join(f"{100 * each:.1f}" for each in (*rows, *suites)), "|", flush=True)


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    main()
