"""How often the limits of `trend` hold, without and with steps of 3 to 10 standard deviations of a
commit, and what is called a slope."""

import sys
import warnings

import numpy as np
import xarray as xr

import perfarray  # noqa: F401  (registers .perf)

NOISE, SLOPE = 0.01, 0.1
STEPS = {0: {}, 1: {2 / 3: 0.05}, 3: {1 / 4: 0.05, 1 / 2: -0.03, 3 / 4: 0.1}}


def noise(kind, shape, rng):
    """Return noise of standard deviation 1: independent, correlated, or with days of five commits
    that share half the variance."""
    own = rng.normal(size=shape)
    if kind == "days":
        return (np.repeat(rng.normal(size=shape), 5, axis=1)[:, : shape[1]] + own) / 2**0.5
    rho = float(kind)
    for place in range(1, shape[1]):
        own[:, place] = rho * own[:, place - 1] + (1 - rho**2) ** 0.5 * own[:, place]
    return own


def main(number):
    """Print the share of slopes inside their limits."""
    rng = np.random.default_rng(1)
    print("| commits | noise | no step | one | three |\n| --- | --- | --- | --- | --- |")
    for size in (10, 30, 100, 300):
        for kind in ("0", "0.3", "0.6", "days"):
            shares = []
            for steps in STEPS.values():
                logs = NOISE * noise(kind, (number, size), rng) + SLOPE / size * np.arange(size)
                for share, height in steps.items():
                    logs[:, int(share * size) :] += height
                found = xr.DataArray(
                    np.exp(logs)[..., None], dims=("series", "commit", "execution")
                ).perf.trend()
                shares.append(
                    float(
                        (
                            (found["lower"] <= np.exp(SLOPE / size))
                            & (np.exp(SLOPE / size) <= found["upper"])
                        ).mean()
                    )
                )
            print(
                f"| {size} | {kind} | "
                + " | ".join(f"{100 * share:.0f}" for share in shares)
                + " |",
                flush=True,
            )


def claimed(number):
    """Print the share of series with slopes, or with one or two steps of 1.5 % noise, of which a
    slope is claimed."""
    print(
        "| commits | one step of 1, 2, 3 % | two | slope of 4, 8, 12 SD |\n| --- | --- | --- | "
        "--- |"
    )
    for size in (20, 30, 60, 100):
        logs, place = (
            0.015 * np.random.default_rng(size).normal(size=(number, size)),
            np.arange(size) / size,
        )
        rows = [height * (place >= 1 / 2) for height in (0.01, 0.02, 0.03)]
        rows += [
            height * ((place >= 1 / 3) * 1.0 + (place >= 2 / 3)) for height in (0.01, 0.02, 0.03)
        ]
        rows += [0.015 * total * place for total in (4, 8, 12)]
        results = [
            xr.DataArray(
                np.exp(logs + row)[..., None], dims=("series", "commit", "execution")
            ).perf.trend()
            for row in rows
        ]
        shares = [
            f"{100 * float((result['verdict'] != 'inconclusive').mean()):.0f}" for result in results
        ]
        print(
            f"| {size} | "
            f"{' | '.join(', '.join(shares[start : start + 3]) for start in (0, 3, 6))} |",
            flush=True,
        )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
    claimed(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
