"""Laws that hold for any timings: times x 1000, shuffled executions, transposed, chunked, function
= method, a system against itself."""

import warnings

import numpy as np
import pytest
import xarray as xr
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import perfarray
from perfarray.conventions import LEVELS
from strategies import MANY, timings

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*cells.* (rest on (one|two)|have no measured value|show no spread|have most of "
    "their error|rest on fewer):UserWarning"
)

METHODS = {
    "counts": {},
    "variance_components": {"negative": "merge"},
    "mean_interval": {},
    "ratio_interval": {"baseline": "old"},
    "compare": {"baseline": "old", "threshold": 0.02, "correction": "holm"},
    "pairwise": {"dim": "version"},
}

law = settings(
    max_examples=50 if MANY else 3, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
each_method = pytest.mark.parametrize("name", METHODS)


def ask(times, name):
    """Call a method by name."""
    return getattr(times.perf, name)(**METHODS[name])


UNITS = ("carried_by",)
"""Variables that name units: other names where these change places."""


def assert_same(found: xr.Dataset, expected: xr.Dataset, rtol: float = 1e-9) -> None:
    """Assert that two results are alike, text exactly and numbers closely; dim order is part of the
    answer, attrs too."""
    assert set(found.data_vars) == set(expected.data_vars)
    for name, variable in expected.data_vars.items():
        assert found[name].dims == variable.dims, name
        if name in UNITS:
            continue
        if variable.dtype == object:
            assert (found[name].values == variable.values).all(), name
        else:
            np.testing.assert_allclose(
                found[name].values,
                variable.values,
                rtol=rtol,
                atol=1e-12,
                equal_nan=True,
                err_msg=str(name),
            )
    counted = (
        "notes",
        "unchecked",
    )  # of a lazy result, what has to be counted is there after computing
    own, other = (
        {key: value for key, value in each.attrs.items() if key not in counted}
        for each in (found, expected)
    )
    assert own == other
    assert [note.code for note in found.perf.notes()] == [
        note.code for note in expected.perf.notes()
    ]


@each_method
@given(times=timings())
@law
def test_times_thousand(times, name):
    """Another unit scales what has a unit and leaves ratios, verdicts and counts alone."""
    found, expected = ask((times * 1000).assign_attrs(times.attrs), name), ask(times, name)
    scaled = expected.copy()
    for variable in scaled.data_vars:
        power = {"s": 1, "s2": 2}.get(scaled[variable].attrs.get("units"), 0)
        scaled[variable] = scaled[variable] * 1000.0**power if power else scaled[variable]
    assert_same(found, scaled, rtol=1e-6)


@each_method
@given(times=timings(), seed=st.integers(0, 1000))
@law
def test_order_of_repetitions_is_irrelevant(times, name, seed):
    """Shuffling the units and what is inside them changes nothing."""
    rng = np.random.default_rng(seed)
    shuffled = times
    for level in LEVELS:
        if level in times.dims:
            shuffled = shuffled.isel({level: rng.permutation(times.sizes[level])})
    assert_same(ask(shuffled, name), ask(times, name), rtol=1e-7)


@each_method
@given(times=timings(), seed=st.integers(0, 1000))
@law
def test_transposed(times, name, seed):
    """The order of dims in memory is the order of dims in the answer, and nothing else."""
    dims = np.random.default_rng(seed).permutation(list(times.dims))
    found, expected = ask(times.transpose(*dims), name), ask(times, name)
    assert_same(
        xr.Dataset(
            {n: v.transpose(*expected[n].dims) for n, v in found.data_vars.items()},
            attrs=found.attrs,
        ),
        expected,
    )


@each_method
@given(times=timings())
@law
def test_chunked(times, name):
    """A lazy array gives a lazy answer with the same numbers, chunked along any dim that is not a
    level."""
    pytest.importorskip("dask.array")
    lazy = ask(times.chunk({"benchmark": 1, "version": 2}), name)
    assert all(variable.chunks is not None for variable in lazy.data_vars.values())
    computed = lazy.compute(scheduler="synchronous")
    if name in ("compare", "pairwise"):
        computed.attrs.pop("unmatched", None)
    expected = ask(times, name)
    expected.attrs.pop("unmatched", None)
    assert_same(computed, expected)


@each_method
@given(times=timings())
@law
def test_function_is_method(times, name):
    """`perfarray.f(times)` is `times.perf.f()`, on the array and on its Dataset."""
    keywords = METHODS[name]
    assert_same(getattr(perfarray, name)(times, **keywords), ask(times, name))
    assert_same(ask(times.to_dataset(name="time"), name), ask(times, name))


@given(times=timings(compared=False))
@law
def test_a_system_against_itself_contains_one(times):
    """Whatever the data, the set of the ratio of a system to itself holds 1, and no verdict is
    given."""
    with warnings.catch_warnings(action="ignore"):
        for method in ("fieller", "delta", "log_delta"):
            found = times.perf.ratio_interval(times, method=method)
            if np.isnan(found["lower"]):
                continue
            inside = found["lower"] <= 1 <= found["upper"]
            assert (
                inside if found["kind"] != "exclusive" else not found["lower"] < 1 < found["upper"]
            )
        assert times.perf.compare(times)["verdict"] in ("inconclusive", "equivalent")


@given(times=timings(ragged=False))
@law
def test_swapping_the_systems_inverts_the_ratio(times):
    """Bounded Fieller sets of new/old and old/new are reciprocal."""
    forth = times.perf.ratio_interval("old", df="conservative").squeeze("version")
    back = times.perf.ratio_interval("new", df="conservative").squeeze("version")
    bounded = (
        (forth["kind"] == "bounded") & (back["kind"] == "bounded") & (forth["lower"] > 0)
    ).values
    np.testing.assert_allclose(
        forth["lower"].values[bounded], 1 / back["upper"].values[bounded], rtol=1e-6
    )


@given(times=timings(compared=False, ragged=False))
@law
def test_components_add_up_to_the_variance_of_the_mean(times):
    """SE^2 of the mean is the sum over levels of T^2 over the product of the counts from that level
    up."""
    parts = times.perf.variance_components()
    product = np.cumprod(parts["repetitions"].values)
    np.testing.assert_allclose(
        (parts["variance"].values / product).sum(), parts["standard_error"].item() ** 2, rtol=1e-6
    )


@given(times=timings(compared=False))
@law
def test_long_table_and_back(times):
    """to_frame and to_timings are inverse up to where the gaps of ragged data stand."""
    assume(bool(times.notnull().any()))
    back = times.perf.to_frame().perf.to_timings()
    assert_same(
        back.perf.variance_components(),
        times.to_dataset(name="time").perf.variance_components(),
        rtol=1e-7,
    )
