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
    "compare": FIRST | {"threshold": 0.01}, "compare, corrected": FIRST | {"correction": "holm"},
    "compare, percentile": FIRST | {"method": "percentile", "n_resamples": 20, "rng": 1}, "variance_components": {}, "suite_score": {},
    "five_number_summary": {"rng": 1}, "machine_table": lambda times: xr.Dataset.from_dataframe(times.perf.machine_table()),
}  # fmt: skip


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
    seen = []

    def kernel(values, weights):
        seen.append((values.shape, weights.shape))
        return ((values * weights).sum(axis=-1),)

    values = xr.DataArray(
        np.arange(300.0).reshape(3, 20, 5), dims=("machine", "benchmark", "execution")
    )
    weights = xr.DataArray([[1.0], [2.0], [3.0]], dims=("machine", "execution"))
    found = apply.apply(
        kernel, values, weights, core=[("execution",), ("execution",)], outputs={"sum": Output()}
    )
    assert seen == [((3, size, 5), (3, 1, 1)) for size in (5, 5, 5, 5)]
    np.testing.assert_array_equal(
        found["sum"], (values * weights.isel(execution=0)).sum("execution")
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


class TestDataset:
    """`Labels.dataset` puts an answer together without the checks of `xr.Dataset`, and with the
    same result."""

    data = xr.DataArray(
        np.arange(6.0).reshape(2, 3),
        {"machine": ["a", "b"], "cores": ("machine", [4, 8]), "run": [1, 2, 3], "harness": "h"},
        ("machine", "run"),
    )
    labels = apply.Labels(dict(data.coords.variables), dict(data.xindexes))
    variables = {  # noqa: RUF012
        "mean": xr.Variable("machine", [1.0, 4.0], {"units": "s"}),
        "total": xr.Variable(("machine", "run"), data.values),
    }

    @pytest.mark.parametrize("private_name", [True, False])
    def test_it_is_what_xarray_builds(self, private_name, monkeypatch):
        """Variables, coordinates, indexes, sizes and attrs are those of the public constructor,
        which serves if the private one is gone."""
        if not private_name:
            monkeypatch.setattr(apply, "CONSTRUCT", None)
        built = self.labels.dataset(self.variables, {"result": "x"})
        xr.testing.assert_identical(
            built, xr.Dataset(self.variables, self.data.coords, {"result": "x"})
        )
        assert dict(built.sizes) == {"machine": 2, "run": 3}
        xr.testing.assert_identical(built.sel(machine="b"), built.isel(machine=1))

    @pytest.mark.parametrize("private_name", [True, False])
    def test_an_array_is_what_xarray_builds(self, private_name, monkeypatch):
        """It is that of the public constructor, which serves if the private argument is gone."""
        monkeypatch.setattr(apply, "FASTPATH", private_name)
        built = self.labels.array(self.variables["total"], "total")
        xr.testing.assert_identical(
            built, xr.DataArray(self.variables["total"], self.data.coords, name="total")
        )
        xr.testing.assert_identical(built.sel(machine="b"), built.isel(machine=1))

    def test_changing_an_answer_leaves_the_data(self):
        """Attrs of an answer's coordinates, and the attrs given, are its own."""
        attrs = {"result": "x"}
        built = self.labels.dataset(self.variables, attrs)
        built.coords["machine"].attrs["long_name"] = built.attrs["more"] = "host"
        assert (attrs, self.data["machine"].attrs) == ({"result": "x"}, {})

    def test_a_variable_and_a_coordinate_of_one_name_are_refused(self):
        """What xarray would say is said: nothing is overwritten."""
        with pytest.raises(ValueError, match=r"cores"):
            self.labels.dataset({"cores": xr.Variable("machine", [1.0, 2.0])})

    def test_other_sizes_are_refused(self):
        """A variable of another length than its labels raises."""
        with pytest.raises(ValueError, match=r"machine"):
            self.labels.dataset({"mean": xr.Variable("machine", [1.0, 2.0, 3.0])})


def test_a_single_value_without_its_dim_is_an_array():
    """A variable that loses its only dim is an array without dims, which is not taken for a lazy
    one."""
    variable = apply.cut(xr.Variable("machine", [4.0], {"units": "s"}), "machine", 0)
    assert isinstance(variable.data, np.ndarray)
    assert (variable.dims, variable.item(), variable.attrs) == ((), 4.0, {"units": "s"})


@pytest.mark.parametrize("positions", [1, np.int64(-1), slice(1, 3), np.array([2, 0])])
@pytest.mark.parametrize("dim", ["version", "machine", "run"])
@pytest.mark.parametrize("form", ["labels", "no index", "two indexes", "MultiIndex", "lazy"])
def test_positions_are_taken_as_xarray_does(positions, dim, form):
    """`take` returns what `isel` does, labels, descriptors, indexes, attrs and encodings included,
    and leaves the data alone."""
    coords = {
        "version": ["a", "b", "c"],
        "machine": [1, 2, 3],
        "cores": ("machine", [4, 8, 4]),
        "harness": "h",
    }
    coords["lane"] = (("version", "machine"), np.arange(9).reshape(3, 3))
    array = xr.DataArray(
        np.arange(36.0).reshape(3, 4, 3),
        coords,
        ("version", "run", "machine"),
        "time",
        {"units": "s"},
    )
    array.coords["version"].attrs["long_name"], array.coords["cores"].encoding["dtype"] = (
        "build",
        "int8",
    )
    if form == "no index":
        array = array.drop_indexes("version")
    elif form == "two indexes":
        array = array.set_xindex("cores")
    elif form == "MultiIndex":
        array, dim = array.stack(at=("version", "machine")), "run" if dim == "run" else "at"
    elif form == "lazy":
        array = array.chunk({"machine": 1})
    before = array.copy(deep=True)
    expected, taken = array.isel({dim: positions}, drop=True), apply.take(array, dim, positions)
    xr.testing.assert_identical(taken.compute(), expected.compute())
    assert (taken.chunks, set(taken.xindexes)) == (expected.chunks, set(expected.xindexes))
    assert all(
        taken.coords[name].encoding == label.encoding for name, label in expected.coords.items()
    )
    xr.testing.assert_identical(array, before)
