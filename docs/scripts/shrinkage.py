"""How often the signs of `compare(shrink=True)` are wrong, beside verdicts without a correction and with one.

    python docs/scripts/shrinkage.py

Of 29 or 100 benchmarks, five or ten runs a side at 1 % noise, a share has changed, by a normal law of 3 %. The table is that of
`docs/how-to/few_runs.md`.
"""

from itertools import product

import numpy as np
import xarray as xr

import perfarray

SUITES, NOISE, CHANGE, CERTAIN = 200, 0.01, 0.03, 0.05
BENCHMARKS, RUNS, SHARES = (29, 100), (5, 10), (0.0, 0.1, 0.5)


def percent(mask: np.ndarray, among: np.ndarray) -> str:
    """Write the share of a mask among some cells."""
    return f"{100 * mask[among].mean():.1f}" if among.any() else "-"


def main() -> None:
    """Print how many changes are named, how many of them are wrong or none, and the errors of the estimates."""
    rng = np.random.default_rng(1)
    print("| changed | benchmarks, runs | named | wrong | verdicts | wrong | with Holm | wrong | error, % | shrunken |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for share, benchmarks, runs in product(SHARES, BENCHMARKS, RUNS):
        shape = (SUITES, benchmarks)
        truth = np.where(rng.random(shape) < share, CHANGE * rng.standard_normal(shape), 0.0)
        sides = NOISE * rng.standard_normal((2, *shape, runs)) + np.stack([0 * truth, truth])[..., None]
        dims, coords = ("version", "suite", "benchmark", "execution"), {"version": ["old", "new"]}
        times = xr.DataArray(np.exp(sides), dims=dims, coords=coords, name="time")
        options = {"shrink": True, "family": "benchmark"}
        result, holm = (perfarray.compare(times, "old", correction=each, **options).squeeze() for each in (None, "holm"))
        cells, logs = [], {name: np.log(result[name].values) for name in ("estimate", "shrunken_estimate")}
        for sign, named in (
            (np.sign(logs["shrunken_estimate"]), result["false_sign_rate"].values < CERTAIN),
            (np.sign(logs["estimate"]), result["verdict"].values != "inconclusive"),
            (np.sign(logs["estimate"]), holm["verdict"].values != "inconclusive"),
        ):
            cells += [f"{100 * named.mean():.1f}", percent(sign != np.sign(truth), named)]
        cells += [f"{100 * np.sqrt(((log - truth) ** 2).mean()):.2f}" for log in logs.values()]
        print(f"| {100 * share:.0f} % | {benchmarks} of {runs} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    main()
