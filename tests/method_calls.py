"""A call of every method of timings on little data: what the tests of names and of misuse go
through."""

import warnings
from typing import Any

import numpy as np
import xarray as xr

import perfarray
from perfarray.accessor import Method, TimingsAccessor

METHODS = sorted(name for name, value in vars(TimingsAccessor).items() if isinstance(value, Method))

FEW: dict[str, Any] = {"n_resamples": 19, "rng": 1}
OLD: dict[str, Any] = {"baseline": "old"}
VERSIONS: dict[str, Any] = {"dim": "version"}
RUNS: dict[str, Any] = {"dim": "execution"}
COMMITS: dict[str, Any] = {"dim": "machine"}

CALLS: dict[str, dict[str, Any]] = {
    "agreement": OLD | {"rng": 1}, "autocorrelation": RUNS, "bootstrap_distribution": FEW, "bootstrap_interval": FEW,
    "calibrate": {"n_splits": 20, "rng": 1}, "change_points": COMMITS, "cluster_machines": {"n_clusters": 2},
    "compare": OLD | {"statistic": "median"}, "counts": {}, "drop_warmup": {}, "estimator_stability": {},
    "explain_variation": {"rng": 1, "splits": 2}, "fit_mixture": {"n_components": 1}, "five_number_summary": FEW,
    "goodness_of_fit": FEW | {"distribution": True}, "hierarchical_performance_test": OLD, "machine_ratios": {}, "machine_table": {},
    "mean_difference": OLD | FEW, "mean_interval": {}, "merge_level": {"level": "execution"},
    "modes_by": {"by": "execution_order"} | FEW, "normality": {}, "ordering_stability": OLD, "overall_speedup": OLD, "pairwise": VERSIONS,
    "plan_repetitions": {"half_width": 0.02}, "plan_suite": {"half_width": 0.02}, "principal_components": FEW | {"n_resamples": 29},
    "prob_faster": OLD | FEW, "prob_fastest": VERSIONS | FEW, "randomization_test": OLD | {"rng": 1, "distribution": True},
    "ratio_interval": OLD, "relative_variation": {}, "required_runs": OLD | {"width": 0.02}, "required_units": OLD, "run_estimate": {},
    "score_distribution": FEW, "score_ratio_interval": OLD | {"sensitivity": True}, "speedup": OLD | {"confidence_level": 0.9},
    "speedup_test": OLD | {"correction": "holm", "confidence_level": 0.9},
    "steady_state": RUNS, "stopping": OLD | {"half_width": 0.02}, "suite_score": {},
    "to_frame": {}, "trend": COMMITS, "variability_level": {"n_resamples": 0}, "variance_components": {},
}  # fmt: skip
"""By method, what it is asked besides."""

OF_ANSWERS = ("accelerated_proportion", "biplot", "next_measurement", "notes", "table")
"""Methods that are given an answer."""

ELSEWHERE = ("join", "report")
"""Methods with tests of their own here: one is given timings twice, the other takes seconds."""

ONE_SYSTEM = (
    "bootstrap_interval", "cluster_machines", "explain_variation", "five_number_summary", "fit_mixture", "goodness_of_fit",
    "machine_table", "mean_interval", "plan_suite", "principal_components", "relative_variation",
)  # fmt: skip
"""Methods that are asked about the new version alone."""

NESTED = ("drop_warmup", "merge_level", "modes_by")
"""Methods that are given iterations as well."""


def timings(machines: int = 4) -> xr.DataArray:
    """Return timings of two versions of three benchmarks."""
    factors = [np.array([1.0, 2.0, 3.0])[:, None, None], np.arange(1.0, 1 + machines)[:, None]]
    values = (
        np.random.default_rng(1).lognormal(0, 0.02, (2, 3, machines, 6)) * factors[0] * factors[1]
    )
    labels = {
        "version": ["old", "new"],
        "benchmark": list("abc"),
        "machine": [f"m{place}" for place in range(machines)],
    }
    array = xr.DataArray(
        values, labels, ("version", "benchmark", "machine", "execution"), "time", {"units": "s"}
    )
    return array.assign_coords(cores=("machine", np.arange(machines) * 7 % 5 + 1))


def given(name: str, times: xr.DataArray | None = None) -> xr.DataArray:
    """Return the timings that a method is given in its call."""
    times = timings(8 if name == "explain_variation" else 4) if times is None else times
    times = times.sel(version="new") if name in ONE_SYSTEM else times
    return times.expand_dims(iteration=3, axis=-1) if name in NESTED else times


def ask(times: Any, name: str, call: Any) -> Any:
    """Return what a call of a table gives: keywords of a method, whose name may go on behind a
    comma, or a function of the timings."""
    return call(times) if callable(call) else getattr(times.perf, name.partition(", ")[0])(**call)


def answer(name: str, times: xr.DataArray) -> Any:
    """Return the answer of a method, as a Dataset where it is one."""
    with warnings.catch_warnings(action="ignore", category=perfarray.PerfarrayWarning):
        found = getattr(times.perf, name)(**CALLS[name])
    return getattr(found, "dataset", found)
