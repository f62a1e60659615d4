"""Peak memory of public functions on many small cells and on one large cell: `python tests/benchmarks/peak_memory.py [NAME ...]`.

What Python and NumPy allocate while a function runs (`tracemalloc`), the input not counted, for 10,000 machines of 12 benchmarks of 3 runs
on two sides, and for one cell of a million values on two sides. The aim is four times the input plus 64 MB.
"""

import sys
import time
import tracemalloc
import warnings

import numpy as np
import xarray as xr

import perfarray

ONE = ["mean_interval", "variance_components", "suite_score", "five_number_summary", "relative_variation", "run_estimate", "counts"]
ONE += ["score_distribution", "variability_level", "bootstrap_distribution", "estimator_stability", "normality", "autocorrelation"]
ONE += ["steady_state", "plan_repetitions", "plan_suite", "machine_table", "principal_components", "to_frame", "table"]
TWO = ["ratio_interval", "compare", "speedup", "speedup_test", "score_ratio_interval", "randomization_test"]
TWO += ["hierarchical_performance_test", "prob_faster", "mean_difference", "overall_speedup", "ordering_stability", "required_units"]
TWO += ["required_runs", "stopping"]
BOTH = ["pairwise", "prob_fastest"]
GIVEN: dict[str, dict[str, object]] = {
    "required_runs": {"width": 0.02},
    "stopping": {"half_width": 0.02},
    "plan_repetitions": {"half_width": 0.02},
}
GIVEN |= {"plan_suite": {"half_width": 0.02}, "autocorrelation": {"dim": "execution"}, "steady_state": {"dim": "execution"}}
GIVEN |= {"pairwise": {"dim": "version"}, "prob_fastest": {"dim": "version"}}
DRAWN = {name: {"method": "percentile", "n_resamples": 200, "rng": 1} for name in ("mean_interval", "ratio_interval", "compare")}
DRAWN |= {"score_ratio_interval": {"method": "percentile", "rng": 1}, "relative_variation": {"method": "monte_carlo", "rng": 1}}


def timings(shape: tuple[int, int, int]) -> xr.DataArray:
    """Return timings of two versions: machines, benchmarks, executions."""
    values = np.random.default_rng(0).lognormal(0, 0.02, (2, *shape))
    labels = {"version": ["old", "new"], "machine": np.arange(shape[0]), "benchmark": [f"b{place}" for place in range(shape[1])]}
    return xr.DataArray(values, labels, ("version", "machine", "benchmark", "execution"), "time", {"units": "s"})


def peak(name: str, times: xr.DataArray, options: dict[str, object]) -> tuple[float, float]:
    """Return the peak in bytes, and the seconds it took."""
    function = getattr(perfarray, name)
    given = (times, "old") if name in TWO else (times,) if name in BOTH else (times.sel(version="new"),)
    tracemalloc.start()
    start = time.process_time()
    function(*given, **options)
    found = tracemalloc.get_traced_memory()[1], time.process_time() - start
    tracemalloc.stop()
    return found


def main(names: list[str]) -> None:
    """Print a line for every function, way and shape."""
    warnings.simplefilter("ignore")
    shapes = {"10,000 x 12 x 3": (10_000, 12, 3), "one cell of 1,000,000": (1, 1, 1_000_000)}
    for shape, sizes in shapes.items():
        times = timings(sizes)
        for name in names or [*ONE, *TWO, *BOTH]:
            for options in (GIVEN.get(name, {}), DRAWN[name]) if name in DRAWN else (GIVEN.get(name, {}),):
                size = times.nbytes / (2 if name in ONE else 1)
                what = f"{shape:<22} {name + (' ' + str(options['method']) if 'method' in options else ''):<36}"
                try:
                    bytes_, seconds = peak(name, times, dict(options))
                except ValueError as error:
                    print(f"{what} {str(error)[:60]}", flush=True)
                    continue
                over = "" if bytes_ <= 4 * size + 64e6 else "  over the aim"
                print(f"{what} {bytes_ / 1e6:8.0f} MB of {size / 1e6:5.1f} MB  {seconds:6.1f} s{over}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
