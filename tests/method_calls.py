"""A call of every method of timings on little data: what the tests of names and of misuse go
through."""

import warnings
from typing import Any

import numpy as np
import xarray as xr

import perfarray
from perfarray.accessor import Method, TimingsAccessor
from perfarray.results.kinds import KINDS

METHODS = sorted(name for name, value in vars(TimingsAccessor).items() if isinstance(value, Method))

FEW: dict[str, Any] = {"n_resamples": 19, "rng": 1}
OLD: dict[str, Any] = {"baseline": "old"}
VERSIONS: dict[str, Any] = {"dim": "version"}
RUNS: dict[str, Any] = {"dim": "execution"}


def arguments(*positional: Any, **keywords: Any) -> dict[str, Any]:
    """Return the arguments of an example: what is positional is the baseline."""
    return dict(zip(("baseline",), positional, strict=False)) | keywords


CALLS: dict[str, dict[str, Any]] = {
    name: eval(f"arguments({KINDS[name].example})")
    for name in METHODS
    if KINDS[name].example is not None
}
"""By method, the arguments of its example."""

OF_ANSWERS = ("accelerated_proportion", "biplot", "next_measurement", "notes", "table")
"""Methods that are given an answer."""

ELSEWHERE = ("declare", "join", "report", "split_labels")
"""Methods with tests of their own: they compute nothing, are given timings twice, take seconds."""

ONE_SYSTEM = (
    "bootstrap_interval",
    "cluster_machines",
    "explain_variation",
    "five_number_summary",
    "fit_mixture",
    "goodness_of_fit",
    "machine_table",
    "mean_interval",
    "plan_suite",
    "principal_components",
    "relative_variation",
)
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
        "machine": [f"m{number}" for number in range(machines)],
    }
    array = xr.DataArray(
        values, labels, ("version", "benchmark", "machine", "execution"), "time", {"units": "s"}
    )
    return array.assign_coords(cores=("machine", np.arange(machines) * 7 % 5 + 1))


def timings_for(name: str, times: xr.DataArray | None = None) -> xr.DataArray:
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
        result = getattr(times.perf, name)(**CALLS[name])
    return getattr(result, "dataset", result)
