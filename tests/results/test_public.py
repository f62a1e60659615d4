"""The public face: labels of the data that are called as a variable of the answer have another name
there, by one rule."""

import pickle
import re
import warnings
from functools import cache
from itertools import cycle, islice

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from tests.method_calls import CALLS, ELSEWHERE, METHODS, OF_ANSWERS, answer, timings, timings_for

import perfarray
from perfarray.results.kinds import KINDS
from perfarray.results.reserved import ANSWERS, INPUTS
from strategies import MANY

each_method = pytest.mark.parametrize("name", sorted(CALLS))


def names_of(result):
    """Return the names of all variables and dims of an answer; of a table, its columns."""
    if isinstance(result, pd.DataFrame):
        return {str(name) for name in result.columns}
    return {*result.dims, *result.coords, *getattr(result, "data_vars", ())}


def values_of(result):
    """Return the variables of an answer that are its own."""
    if isinstance(result, xr.Dataset):
        return dict(result.data_vars)
    return (
        {name: result[name] for name in result if name in ANSWERS}
        if isinstance(result, pd.DataFrame)
        else {"": result}
    )


def test_every_method_is_called():
    assert sorted([*CALLS, *OF_ANSWERS, *ELSEWHERE]) == METHODS


plain_answer = cache(lambda name: answer(name, timings_for(name)))


@each_method
def test_names_of_answers_are_listed(name):
    """Every variable and dim that an answer has of its own is in the list by which labels of the
    data make room."""
    times = timings_for(name)
    names = names_of(plain_answer(name)) - {*times.dims, *times.coords, "time"}
    assert names - {*KINDS[name].names.split()} <= {
        "execution",
        "iteration",
        "confidence_level",
    }


@cache
def with_descriptors(shift):
    """Return timings with descriptors of benchmarks, of machines and of the whole, in turn, with
    all names that answers have."""
    times = timings()
    dims_and_values = [*((dim, np.arange(times.sizes[dim])) for dim in ("benchmark", "machine")), 7]
    meant = {"units", "warmup", "confidence_level"}  # what these say of the data counts
    names = sorted(ANSWERS - {*times.dims, *times.coords, *meant, "iteration"})
    return times.assign_coords(
        dict(zip(names, islice(cycle(dims_and_values), shift, None), strict=False))
    )


@pytest.mark.parametrize("shift", range(3 if MANY else 1))
@pytest.mark.parametrize(
    "name", sorted({*CALLS} - {"explain_variation"})
)  # it explains by whatever is said of machines
def test_descriptors_called_as_any_variable_of_any_answer(name, shift):
    """No number changes, and each answer has its table."""
    plain, result = plain_answer(name), answer(name, timings_for(name, with_descriptors(shift)))
    for variable, values in values_of(plain).items():
        np.testing.assert_array_equal(np.asarray(values_of(result)[variable]), np.asarray(values))
    if "result" in plain.attrs and not isinstance(plain, pd.DataFrame):
        assert perfarray.table(result).equals(perfarray.table(plain))


@each_method
def test_dims_called_as_a_variable_of_the_answer_are_refused(name):
    """The error has the call that renames them: after it there is an answer."""
    times = timings_for(name)
    reserved = {*KINDS[name].names.split()} - {*times.dims, *times.coords} - INPUTS
    for variable in sorted(reserved)[:3]:
        with_dim = times.expand_dims({variable: ["x"]})
        with pytest.raises(ValueError, match=f"'{variable}'.*the answer") as refusal:
            answer(name, with_dim)
        call = re.search(r"times\.rename\((.*)\)", str(refusal.value))
        assert eval(call[1]) == {variable: f"data_{variable}"}
        assert f"data_{variable}" in with_dim.rename(eval(call[1])).dims


def test_descriptors_called_as_a_variable_have_another_name_in_the_answer():
    """The note is kept, nobody is warned, the data keep their names, and arguments take these."""
    times = timings().assign_coords(lower=("benchmark", ["x", "x", "y"]), cpu="x")
    result = times.perf.compare("old", by="lower")
    (note,) = [note for note in result.perf.notes() if note.code == "renamed"]
    assert note.aside
    assert note.values == {"names": {"data_lower": "lower"}}
    assert result["benchmark_data_lower"].values.tolist() == ["x", "x", "y"]
    assert "lower" in times.coords


def test_dims_called_as_what_a_method_reads():
    """A coordinate `confidence_level` says at which level each benchmark is tested; a dim of that
    name is refused."""
    times = timings().isel(machine=slice(3))
    levels = times.assign_coords(confidence_level=("benchmark", [0.6, 0.8, 0.9])).perf.speedup_test(
        "old"
    )
    assert levels["confidence_level"].isel(machine=0, version=0).values.tolist() == [0.6, 0.8, 0.9]
    with pytest.raises(ValueError, match="data_confidence_level"):
        times.rename(machine="confidence_level").perf.speedup_test("old", dim="version")


def test_names_are_settled_where_timings_are_made():
    """Dims called as a variable of comparisons are `data_<name>`, with a note; others stay."""
    table = pd.DataFrame(
        {
            "benchmark": ["fft", "fft", "sort", "sort"] * 3,
            "estimate": ["x", "y"] * 6,
            "time": np.arange(1.0, 13.0),
        }
    )
    times = table.perf.to_timings(level="execution")
    assert {*times.dims} == {"benchmark", "data_estimate", "execution"}
    (note,) = [note for note in times.perf.notes() if note.code == "renamed"]
    assert (note.code, note.aside) == ("renamed", True)
    assert note.values == {"names": {"data_estimate": "estimate"}}
    assert "data_estimate" in times.perf.mean_interval()["estimate"].dims
    with pytest.raises(ValueError, match="'data_estimate'"):
        times.perf.compare("x", dim="estimate")
    assert perfarray.from_samples({"old": [1.0, 2.0]}, dim="n").sizes == {
        "data_n": 1,
        "execution": 2,
    }
    assert perfarray.from_samples({"old": [1.0]}, dim="mode").sizes == {"mode": 1, "execution": 1}


@each_method
@pytest.mark.parametrize("levels", [("execution",), ("execution", "iteration")])
def test_a_dim_without_labels(name, levels):
    """Every method answers about timings without labels along some dim, or raises an error that
    names the dim."""
    times = timings_for(name)
    times = (
        times.expand_dims(iteration=2, axis=-1)
        if "iteration" in levels and "iteration" not in times.dims
        else times
    )
    for dim in times.dims:
        refusal = f"{dim!r}|lowest level"
        with warnings.catch_warnings(action="ignore", category=perfarray.PerfarrayWarning):
            try:
                getattr(times.isel({dim: slice(0)}).perf, name)(**CALLS[name])
            except ValueError as error:
                refusal = re.search(refusal, str(error)) or f"{dim}: {error}"
        assert not isinstance(refusal, str) or refusal == f"{dim!r}|lowest level"


@pytest.mark.parametrize("name", ["required", "gain", "modes", "trend"])
@pytest.mark.parametrize(
    "method",
    [
        "ratio_interval",
        "compare",
        "suite_score",
        "score_distribution",
        "score_ratio_interval",
        "speedup",
    ],
)
def test_tables_of_dims_called_as_a_variable_of_another_answer(method, name):
    """A table looks for variables, and not for a dim of that name."""
    dims = {"benchmark": ["a", "b"], "version": ["old", "new"], name: ["x", "y"]}
    times = perfarray.simulate(
        sizes={"execution": 5}, variances={"execution": 1e-4}, dims=dims, rng=1
    )
    options = (
        {}
        if method in ("suite_score", "score_distribution")
        else {"baseline": "old", "dim": "version"}
    )
    table = str(getattr(times.perf, method)(**options).perf.table())
    assert {"x", "y"} <= {*table.split()}


def test_labels_that_are_several_in_one():
    """Stacked dims are answered with a text for each label, and its parts beside it; a baseline may
    be a tuple."""
    times = timings()
    stacked = times.stack(case=("benchmark", "machine"))
    verdicts = stacked.perf.compare("old")
    np.testing.assert_array_equal(
        np.ravel(verdicts["estimate"]),
        np.ravel(
            times.perf.compare("old")["estimate"].transpose("version", "benchmark", "machine")
        ),
    )
    assert verdicts["case"].values[:2].tolist() == ["a, m0", "a, m1"]
    assert verdicts["machine"].values[:2].tolist() == ["m0", "m1"]
    assert {note.code for note in verdicts.perf.notes() if note.aside} == {
        "stacked_labels",
        "renamed",
    }
    builds = times.expand_dims(size=[3]).stack(build=("version", "size"))
    assert builds.perf.compare(("old", 3))["build"].values.tolist() == ["new, 3"]
    runs = times.expand_dims(session=2).rename(execution="run").stack(execution=("session", "run"))
    assert runs.perf.counts()["total"].values.max() == 12
    assert len(stacked.perf.to_frame()) == times.size


ODD_LABELS = {
    "missing": lambda times: times.assign_coords(benchmark=["a", None, "c"]),
    "stacked": lambda times: times.stack(case=("benchmark", "machine")),
    "the same twice": lambda times: times.assign_coords(machine=list("aabc")),
    "none at all": lambda times: times.drop_vars(["machine", "benchmark", "cores"]),
}


@pytest.mark.parametrize("labels", ODD_LABELS)
def test_odd_labels(labels):
    """Each method answers, or says in our words why it does not; the answer has a table."""
    for name in sorted({*CALLS} - {"explain_variation", "report"}):
        times = timings_for(name, ODD_LABELS[labels](timings()))
        try:
            result = answer(name, times)
        except ValueError as error:
            refusals = "not found; the array has dims|no such dim|holds 'a' more than once"
            assert re.search(refusals, str(error)), (name, str(error))  # noqa: PT017
            continue
        if "result" in result.attrs and not isinstance(result, pd.DataFrame):
            perfarray.table(result)


def test_functions_travel():
    """Other processes find a public function where users do."""
    assert pickle.loads(pickle.dumps(perfarray.compare)) is perfarray.compare
    assert perfarray.compare.__module__ == "perfarray"
