"""Formulas over labelled arrays: large ones are worked on in blocks."""

import numpy as np
import pytest
import xarray as xr

import perfarray
from method_calls import ask
from perfarray.numerics.types import same_text
from perfarray.timings import apply
from perfarray.timings.apply import Output

FIRST = {"baseline": "machine0"}
METHODS = {
    "compare": FIRST | {"threshold": 0.01},
    "compare, corrected": FIRST | {"correction": "holm"},
    "compare, percentile": FIRST | {"method": "percentile", "n_resamples": 20, "rng": 1},
    "variance_components": {},
    "suite_score": {},
    "five_number_summary": {"rng": 1},
    "machine_table": lambda times: xr.Dataset.from_dataframe(times.perf.machine_table()),
}


@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
@pytest.mark.parametrize("name", METHODS)
def test_blocks_change_no_number(name, monkeypatch):
    """What is worked on in blocks of some cells is what it is at once, along whichever dim is the
    longest."""
    times = perfarray.simulate(
        sizes={"execution": 3, "iteration": 2},
        variances={"execution": 1e-4, "iteration": 1e-4},
        dims={"machine": 7, "benchmark": 3},
        rng=1,
    )
    times = times.where(times > times.min())
    at_once = ask(times, name, METHODS[name])
    monkeypatch.setattr(apply, "BLOCK", 200)
    xr.testing.assert_identical(ask(times, name, METHODS[name]), at_once)


def test_a_formula_of_much_gets_a_little_at_a_time(monkeypatch):
    """Blocks are no larger than they may be where there is a dim to split; inputs without that dim
    come whole."""
    monkeypatch.setattr(apply, "BLOCK", 800)
    shapes = []

    def kernel(values, weights):
        shapes.append((values.shape, weights.shape))
        return ((values * weights).sum(axis=-1),)

    values = xr.DataArray(
        np.arange(300.0).reshape(3, 20, 5), dims=("machine", "benchmark", "execution")
    )
    weights = xr.DataArray([[1.0], [2.0], [3.0]], dims=("machine", "execution"))
    result = apply.apply(
        kernel, values, weights, core=[("execution",), ("execution",)], outputs={"sum": Output()}
    )
    assert shapes == [((3, size, 5), (3, 1, 1)) for size in (5, 5, 5, 5)]
    np.testing.assert_array_equal(
        result["sum"], (values * weights.isel(execution=0)).sum("execution")
    )


def test_a_text_for_every_cell_is_one_text():
    """An array of one text holds it once: a copy for every cell takes 60 bytes each."""
    texts = same_text("inconclusive", (2, 3))
    assert texts.shape == (2, 3)
    assert texts.dtype == object
    assert len(set(map(id, texts.ravel()))) == 1


def test_memory_that_is_not_there_is_named_with_a_remedy():
    """Before anything is computed."""
    times = xr.DataArray(np.ones((2, 3)), dims=("benchmark", "execution"), name="time")
    with pytest.raises(MemoryError, match=r"Unable to allocate .*n_resamples=.*times\.chunk"):
        times.perf.bootstrap_distribution(n_resamples=10**13)
