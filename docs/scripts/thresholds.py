"""False alarms at the thresholds of `calibrate`, between sessions that it has not seen.

    python docs/scripts/thresholds.py            # the simulation of `docs/how-to/thresholds.md`
    python docs/scripts/thresholds.py PLACE ...  # histories: the first half, checked on the second

Benchmarks differ in the noise of their sessions by a lognormal law (sigma .5, about 1 %); ten
executions a session vary by 1 %. A history is calibrated, and compared on pairs of new sessions.
"Worst benchmark" is the rate of the worst one over all histories of a design; "worst of a call" the
mean over histories of the largest rate of a benchmark. The fences are Q3 + 3 IQR of the earlier
differences of neighbours, with their signs and without.
"""

import sys
import warnings

import numpy as np
import xarray as xr

import perfarray

RUNS, NOISE, SPREAD, PAIRS = 10, 0.01, 0.5, 500
DESIGNS = ((1, 30, 60), (20, 6, 12), (20, 12, 12), (20, 30, 12), (20, 100, 12), (20, 300, 6))
LAWS = ("normal", "t4", "lognormal", "two modes")


def noise_of_law(law: str, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Return values of a law with mean 0 and variance 1."""
    if law == "normal":
        return rng.standard_normal(shape)
    if law == "t4":
        return rng.standard_t(4, shape) / np.sqrt(2)
    if law == "lognormal":
        values = np.exp(0.5 * rng.standard_normal(shape))
        return (values - np.exp(0.125)) / (np.exp(0.125) * np.sqrt(np.expm1(0.25)))
    return ((rng.random(shape) < 0.3) - 0.3) / np.sqrt(0.21)


def sessions(
    law: str, rng: np.random.Generator, deviations: np.ndarray, number: int
) -> xr.DataArray:
    """Return sessions of benchmarks whose means vary by `deviations`."""
    shape = (len(deviations), number)
    means = deviations[:, None] * noise_of_law(law, rng, shape)
    runs = NOISE * rng.standard_normal((*shape, RUNS))
    labels = [f"b{index}" for index in range(len(deviations))]
    return xr.DataArray(
        np.exp(means[..., None] + runs),
        dims=("benchmark", "session", "execution"),
        coords={"benchmark": labels},
        name="time",
    )


def false_alarms(times: xr.DataArray, thresholds: xr.Dataset) -> tuple[np.ndarray, float]:
    """Return the rate of every benchmark and of the suite, of sessions compared in pairs."""
    half = times.sizes["session"] // 2
    pairs = [
        times.isel(session=slice(start, start + half)).rename(session="pair") for start in (0, half)
    ]
    result = perfarray.compare(*pairs, threshold=thresholds)
    changed = result["verdict"].isin(["faster", "slower"])
    suite = result["suite_verdict"].isin(["faster", "slower"])
    return changed.mean("pair").values, float(suite.mean())


def fences(times: xr.DataArray) -> list[np.ndarray]:
    """Return Q3 + 3 IQR of the differences of neighbours, with and without their signs."""
    changes = np.diff(np.log(times.mean("execution").values), axis=-1)
    quartiles = [np.quantile(values, [0.25, 0.75], axis=-1) for values in (changes, abs(changes))]
    return [high + 3 * (high - low) for low, high in quartiles]


def simulate() -> None:
    rng = np.random.default_rng(1)
    print(
        "| law | benchmarks | sessions | false alarms | worst benchmark | worst of a call | suite "
        "| of the fence | without signs |\n| --- |" + " ---: |" * 8
    )
    for law in LAWS:
        for benchmarks, number, histories in DESIGNS:
            deviations = NOISE * np.exp(SPREAD * rng.standard_normal(benchmarks))
            rates, suites, shares = [], [], []
            for _ in range(histories):
                times = sessions(law, rng, deviations, number)
                result = perfarray.calibrate(times, rules=None)
                rate, suite = false_alarms(sessions(law, rng, deviations, 2 * PAIRS), result)
                rates.append(rate)
                suites.append(suite)
                shares.append([np.median(result["threshold"] / fence) for fence in fences(times)])
            table = 100 * np.array(rates)
            of_fence = np.median(shares, axis=0)
            print(
                f"| {law} | {benchmarks} | {number} | {table.mean():.2f} | "
                f"{table.mean(axis=0).max():.1f} | {table.max(axis=1).mean():.1f} | "
                f"{100 * np.mean(suites):.2f} | {of_fence[0]:.2f} | {of_fence[1]:.2f} |",
                flush=True,
            )


def check_archive(place: str) -> None:
    """Calibrate on the first half of a history; print the rate in its second half."""
    data = perfarray.read_archive(place)
    array = data[data.attrs.get("metric", "time")]
    dim = next(
        name for name in ("commit", "date", "build", "session", "file") if name in array.dims
    )
    array = array if dim in ("commit", "date", "build") else array.rename({dim: "session"})
    dim = dim if dim in array.dims else "session"
    half = array.sizes[dim] // 2
    first, second = array.isel({dim: slice(None, half)}), array.isel({dim: slice(half, None)})
    between = {} if array.sizes.get("execution", 1) > 1 else {"between": first}
    result = perfarray.calibrate(first, rules=None, **between)
    pairs = [
        second.isel({dim: slice(*ends)}).drop_vars(dim, errors="ignore").rename({dim: "pair"})
        for ends in ((1, None), (None, -1))
    ]
    verdicts = perfarray.compare(*pairs, threshold=result, **between)["verdict"]
    judged = verdicts != ""
    rate = (verdicts.isin(["faster", "slower"]) & judged).mean("pair")
    print(
        f"{place}: {100 * float(rate.mean()):.2f} % of comparisons of neighbours, "
        f"{rate.size} series of {array.sizes[dim]}; worst {100 * float(rate.max()):.1f} %"
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore", perfarray.PerfarrayWarning)
    if len(sys.argv) > 1:
        for path in sys.argv[1:]:
            check_archive(path)
    else:
        simulate()
