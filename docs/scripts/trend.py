"""How often the limits of `trend` hold: simulated histories without and with steps of 3 to 10 standard deviations of a commit."""

import sys

import numpy as np
import xarray as xr

import perfarray  # noqa: F401  (registers .perf)

NOISE, SLOPE = 0.01, 0.1
STEPS = {0: {}, 1: {2 / 3: 0.05}, 3: {1 / 4: 0.05, 1 / 2: -0.03, 3 / 4: 0.1}}


def noise(kind, shape, rng):
    """Return noise of standard deviation 1: independent, correlated, or with days of five commits that share half the variance."""
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
                found = xr.DataArray(np.exp(logs)[..., None], dims=("series", "commit", "execution")).perf.trend()
                shares.append(float(((found["lower"] <= np.exp(SLOPE / size)) & (np.exp(SLOPE / size) <= found["upper"])).mean()))
            print(f"| {size} | {kind} | " + " | ".join(f"{100 * share:.0f}" for share in shares) + " |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
