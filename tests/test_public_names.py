"""The public names: what `perfarray` offers, and that a method is its function."""

import inspect

import numpy as np
import pytest
import xarray as xr

import perfarray
from perfarray.accessor import FrameAccessor, TimingsAccessor

METHODS = [
    "accelerated_proportion",
    "agreement",
    "biplot",
    "bootstrap_distribution",
    "bootstrap_interval",
    "cluster_machines",
    "compare",
    "counts",
    "drop_warmup",
    "estimator_stability",
    "explain_variation",
    "fit_mixture",
    "five_number_summary",
    "goodness_of_fit",
    "hierarchical_performance_test",
    "machine_table",
    "mean_difference",
    "mean_interval",
    "merge_level",
    "normality",
    "overall_speedup",
    "pairwise",
    "plan_repetitions",
    "plan_suite",
    "principal_components",
    "prob_faster",
    "prob_fastest",
    "randomization_test",
    "ratio_interval",
    "relative_variation",
    "required_runs",
    "run_estimate",
    "score_distribution",
    "score_ratio_interval",
    "speedup",
    "speedup_test",
    "suite_score",
    "to_frame",
    "variability_level",
    "variance_components",
]


def test_every_public_name_loads():
    """`__all__` is what there is, sorted, and every name has a docstring with an example."""
    assert perfarray.__all__ == sorted(perfarray.__all__)
    assert set(perfarray.__all__) <= set(dir(perfarray))
    for name in perfarray.__all__:
        documented = getattr(perfarray, name).__doc__
        assert ">>>" in documented, name
        assert "Parameters" in documented, name


def test_unknown_names_raise_attribute_error():
    """A typo is an AttributeError that names it."""
    with pytest.raises(AttributeError, match=r"perfarray.*comparre"):
        perfarray.comparre  # noqa: B018


def test_dir_lists_lazy_names():
    """Completion sees names that are not loaded yet."""
    assert set(perfarray.__all__) <= set(dir(perfarray))


@pytest.mark.parametrize("name", METHODS)
def test_method_is_its_function(name):
    """An accessor method has the function's docstring, and its signature without the data."""
    function = getattr(perfarray, name)
    times = xr.DataArray(np.ones((2, 3)), dims=("execution", "iteration"))
    method = getattr(times.perf, name)
    assert method.__doc__ == function.__doc__
    parameters = list(inspect.signature(function).parameters.values())
    assert list(inspect.signature(method).parameters.values()) == parameters[1:]
    assert getattr(TimingsAccessor, name) is function


def test_frame_method_is_its_function():
    """to_timings as well."""
    assert FrameAccessor.to_timings is perfarray.to_timings


def test_arguments_after_the_data_are_keywords():
    """Nothing is positional but the data, the baseline, a level, a mixture, a number of iterations or clusters."""
    positional = {"baseline", "level", "mixture", "n", "n_clusters"}
    for name in METHODS:
        parameters = list(inspect.signature(getattr(perfarray, name)).parameters.values())[1:]
        assert all(p.kind in (p.KEYWORD_ONLY, p.VAR_KEYWORD) or p.name in positional for p in parameters), name


def test_accessor_never_raises_when_made():
    """`.perf` exists on anything; what is wrong is said at the call."""
    strange = xr.Dataset({"a": ("x", ["text"])})
    assert strange.perf is not None
    with pytest.raises(ValueError, match="which variable holds the measurements"):
        strange.perf.counts()
