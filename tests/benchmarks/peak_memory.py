"""Peak memory of public functions on many small cells and on one large cell: `python
tests/benchmarks/peak_memory.py [NAME ...]`.

What Python and NumPy allocate while a function runs (`tracemalloc`), the input not counted, for
10,000 machines of 12 benchmarks of 3 runs on two sides, and for one cell of a million values on two
sides; in histories, the machines are commits, and the runs of one cell 1,000 commits. A call on
little data goes before, so that what it imports is not counted. The aim is four times the input
plus 64 MB.
"""

import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

import perfarray

SHAPES = {
    "10,000 x 12 x 3": ((10_000, 12, 3), (20, 4, 3)),
    "one cell of 1,000,000": ((1, 1, 1_000_000), (1, 1, 1_000)),
}
"""By name, what is measured, and what goes before it."""

WHY_NOT = {
    "given numbers or texts": (
        "coverage dataset_path false_alarm_rate formats load_dataset power required_benchmarks "
        "set_options simulate"
    ),
    "given files (the benchmark `import` has those)": "archive_table convert_table read read_archive speedup_report",
    "draws what principal_components returns": "biplot",
    "sets attrs": "declare",
    "runs commands": "measure_rounds",
    "cuts labels": "split_labels",
    "a class": "GaussianMixture Note PerfarrayWarning VariabilityModel",
}
"""Public names that are not measured."""

HALF, FEW = {"half_width": 0.02}, {"n_resamples": 200, "rng": 1}
DRAWN, MEDIAN, SEED = FEW | {"method": "percentile"}, {"statistic": "median"}, {"rng": 1}

CALLS: dict[str, dict[str, list[dict[str, Any]]]] = {
    "one": {
        "mean_interval": [{}, DRAWN],
        "bootstrap_interval": [MEDIAN | FEW],
        "bootstrap_distribution": [FEW],
        "variance_components": [{}],
        "suite_score": [{}],
        "score_distribution": [SEED],
        "five_number_summary": [{}],
        "relative_variation": [{}, {"method": "monte_carlo"} | SEED],
        "run_estimate": [{}],
        "estimator_stability": [{}],
        "counts": [{}],
        "to_frame": [{}],
        "normality": [{}],
        "autocorrelation": [{"dim": "execution"}],
        "steady_state": [{"dim": "execution"}],
        "plan_repetitions": [HALF],
        "plan_suite": [HALF],
        "principal_components": [{}],
        "cluster_machines": [{"n_clusters": 4}],
        "machine_ratios": [{}],
        "fit_mixture": [{}],
        "variability_level": [{"n_resamples": 0}, {}],
    },
    "described": {"machine_table": [{}], "explain_variation": [SEED], "modes_by": [SEED]},
    "nested": {"drop_warmup": [{"n": 1}]},
    "level": {"merge_level": [{}]},
    "sides": {
        "ratio_interval": [{}, DRAWN, MEDIAN],
        "compare": [{}, DRAWN, MEDIAN],
        "speedup": [{}],
        "speedup_test": [{}],
        "overall_speedup": [{}],
        "score_ratio_interval": [{}, {"method": "percentile"} | SEED],
        "randomization_test": [SEED],
        "hierarchical_performance_test": [{}],
        "required_units": [{}],
        "required_runs": [{"width": 0.02}],
        "stopping": [HALF],
        "ordering_stability": [{}],
        "agreement": [SEED],
        "prob_faster": [{"n_resamples": 0}, FEW],
        "mean_difference": [{"n_resamples": 0}, FEW],
    },
    "both": {
        "pairwise": [{"dim": "version"}],
        "prob_fastest": [{"dim": "version", "n_resamples": 0}],
        "report": [{}],
        "calibrate": [{"n_splits": 20} | SEED],
    },
    "commits": {"change_points": [{}, {"online": True}], "trend": [{}]},
    "changes": {"next_measurement": [{}]},
    "apart": {"join": [{}]},
    "samples": {"from_samples": [{}]},
    "frame": {"to_timings": [{}]},
    "result": {"table": [{}], "notes": [{}]},
    "results": {"combine": [{}]},
    "components": {"from_components": [{}]},
    "tested": {"accelerated_proportion": [{}]},
    "mixture": {"goodness_of_fit": [{"n_resamples": 20} | SEED], "GaussianMixture.assign": [{}]},
    "points": {
        "GaussianMixture.pdf": [{}],
        "GaussianMixture.cdf": [{}],
        "GaussianMixture.quantile": [{}],
    },
}
"""By what a function is given, its name and options."""


def new(times: xr.DataArray) -> xr.DataArray:
    """Return the timings of the new version."""
    return times.sel(version="new")


def nested(times: xr.DataArray) -> xr.DataArray:
    """Return the new runs as executions of iterations: 2 or 1,000 in each."""
    inside = 1_000 if times.shape[-1] == 1_000_000 else 10 if times.shape[-1] == 1_000 else 1
    samples = (
        np.concatenate([times.values, times.values], axis=-1)[1] if inside == 1 else times.values[1]
    )
    return xr.DataArray(
        samples.reshape(*times.shape[1:3], -1, max(inside, 2)),
        dims=(*times.dims[1:], "iteration"),
        name="time",
    )


def with_descriptors(times: xr.DataArray) -> xr.DataArray:
    """Return the new runs of machines that texts describe."""
    numbers = np.arange(times.sizes["machine"])
    texts = {
        "cpu": [f"Xeon E5-{number}" for number in numbers % 50],
        "memory": [f"{1 << number} GB" for number in numbers % 8],
    }
    return new(times).assign_coords(
        cores=("machine", 1 + numbers % 64),
        **{name: ("machine", labels) for name, labels in texts.items()},
    )


def commits(times: xr.DataArray) -> xr.DataArray:
    """Return the new runs as a history."""
    if times.sizes["machine"] > 1:
        return new(times).rename(machine="commit")
    return xr.DataArray(
        times.values[1].reshape(-1, times.shape[-1] // 1000 or 1),
        dims=("commit", "execution"),
        name="time",
    )


GIVEN: dict[str, Callable[[xr.DataArray], tuple[Any, ...]]] = {
    "one": lambda times: (new(times),),
    "sides": lambda times: (times, "old"),
    "both": lambda times: (times,),
    "described": lambda times: (with_descriptors(times),),
    "nested": lambda times: (nested(times),),
    "level": lambda times: (nested(times), "execution"),
    "commits": lambda times: (commits(times),),
    "changes": lambda times: (perfarray.change_points(commits(times)),),
    "apart": lambda times: (times.isel(version=[0]), times.isel(version=[1])),
    "samples": lambda times: (
        {version: times.sel(version=version).values.ravel() for version in ("old", "new")},
    ),
    "frame": lambda times: (perfarray.to_frame(times),),
    "result": lambda times: (perfarray.compare(times, "old"),),
    "results": lambda times: (
        {"mean": perfarray.mean_interval(times), "parts": perfarray.variance_components(times)},
    ),
    "components": lambda times: ([perfarray.variance_components(nested(times))],),
    "tested": lambda times: (perfarray.speedup_test(times, "old"),),
    "mixture": lambda times: (perfarray.fit_mixture(new(times), n_components=2), new(times)),
    "points": lambda times: (
        perfarray.fit_mixture(new(times), n_components=2),
        np.linspace(0.1, 0.9, 9),
    ),
}
"""What functions are given, made of timings of two versions."""


def timings(shape: tuple[int, int, int]) -> xr.DataArray:
    """Return timings of two versions: machines, benchmarks, executions."""
    values = np.random.default_rng(0).lognormal(0, 0.02, (2, *shape))
    labels = {
        "version": ["old", "new"],
        "machine": np.arange(shape[0]),
        "benchmark": [f"b{number}" for number in range(shape[1])],
    }
    return xr.DataArray(
        values, labels, ("version", "machine", "benchmark", "execution"), "time", {"units": "s"}
    )


def size_of(data: Any) -> int:
    """Return the bytes of what a function is given."""
    if isinstance(data, Mapping | tuple | list) and not hasattr(data, "nbytes"):
        return sum(
            size_of(member) for member in (data.values() if isinstance(data, Mapping) else data)
        )
    if isinstance(data, pd.DataFrame):
        return int(data.memory_usage().sum())
    return int(getattr(getattr(data, "dataset", data), "nbytes", 0))


def peak(
    name: str, arguments: tuple[Any, ...], options: Mapping[str, Any]
) -> tuple[float, float, float]:
    """Return the peak and what is held after it, in bytes, and the seconds it took."""
    function = attrgetter(name)(perfarray)
    tracemalloc.start()
    start = time.process_time()
    answer = function(*arguments, **options)
    seconds = time.process_time() - start
    remaining, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del answer
    return peak_bytes, remaining, seconds


def unmeasured() -> set[str]:
    """Return the public names that are neither measured nor said not to be."""
    excluded = {name for names in WHY_NOT.values() for name in names.split()}
    return {*perfarray.__all__} - excluded - {name for names in CALLS.values() for name in names}


def main(names: list[str]) -> None:
    """Print a line for every function, way and shape."""
    warnings.simplefilter("ignore")
    for shape, (sizes, small) in SHAPES.items():
        rows = [
            (kind, name, data)
            for kind, calls in CALLS.items()
            for name, ways in calls.items()
            for data in ways
        ]
        for kind, name, options in rows:
            if names and name not in names:
                continue
            title = f"{shape:<22} {name + ''.join(f' {value}' for value in options.values()):<48}"
            try:
                peak(name, GIVEN[kind](timings(small)), options)
                data = GIVEN[kind](timings(sizes))
                peak_bytes, remaining, seconds = peak(name, data, options)
            except (ValueError, MemoryError) as error:
                tracemalloc.stop()
                print(f"{title} {str(error)[:60]}", flush=True)
                continue
            over = "" if peak_bytes <= 4 * size_of(data) + 64e6 else "  over the aim"
            print(
                f"{title} {peak_bytes / 1e6:8.0f} MB, {remaining / 1e6:5.0f} held, of "
                f"{size_of(data) / 1e6:5.1f} MB  {seconds:6.1f} s{over}",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
