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
from tests.method_calls import CALLS, ELSEWHERE, METHODS, OF_ANSWERS, answer, given, timings

import perfarray
from perfarray.results.answer_names import ANSWER_NAMES
from perfarray.results.public import EVERY_NAME, INPUTS
from strategies import MANY

UNTOUCHED = ("drop_warmup", "merge_level", "to_frame")
"""Methods that give timings back, with the names that they have."""

DRAWN = ("against", "lagged", "overlaid", "sequence", "violins")
"""What says what a picture draws, and is no public function."""

each = pytest.mark.parametrize("name", sorted(CALLS))


def names_of(found):
    """Return the names of all variables and dims of an answer; of a table, its columns."""
    if isinstance(found, pd.DataFrame):
        return {str(name) for name in found.columns}
    return {*found.dims, *found.coords, *getattr(found, "data_vars", ())}


def values_of(found):
    """Return the variables of an answer that are its own."""
    if isinstance(found, xr.Dataset):
        return dict(found.data_vars)
    return (
        {name: found[name] for name in found if name in EVERY_NAME}
        if isinstance(found, pd.DataFrame)
        else {"": found}
    )


def test_every_method_is_called():
    assert sorted([*CALLS, *OF_ANSWERS, *ELSEWHERE]) == METHODS
    assert {*ANSWER_NAMES} == {*CALLS, "report", *DRAWN} - {*UNTOUCHED}


plain_answer = cache(lambda name: answer(name, given(name)))


@each
def test_names_of_answers_are_listed(name):
    """Every variable and dim that an answer has of its own is in the list by which labels of the
    data make room."""
    times = given(name)
    own = names_of(plain_answer(name)) - {*times.dims, *times.coords, "time"}
    assert own - {*ANSWER_NAMES.get(name, "").split()} <= {
        "execution",
        "iteration",
        "confidence_level",
    }


@cache
def described(shift):
    """Return timings with descriptors of benchmarks, of machines and of the whole, in turn, with
    all names that answers have."""
    times = timings()
    places = [*((dim, np.arange(times.sizes[dim])) for dim in ("benchmark", "machine")), 7]
    meant = {"units", "warmup", "confidence_level"}  # what these say of the data counts
    names = sorted(EVERY_NAME - {*times.dims, *times.coords, *meant, "iteration"})
    return times.assign_coords(dict(zip(names, islice(cycle(places), shift, None), strict=False)))


@pytest.mark.parametrize("shift", range(3 if MANY else 1))
@pytest.mark.parametrize(
    "name", sorted({*CALLS} - {"explain_variation"})
)  # it explains by whatever is said of machines
def test_descriptors_called_as_any_variable_of_any_answer(name, shift):
    """No number changes, and each answer has its table."""
    plain, found = plain_answer(name), answer(name, given(name, described(shift)))
    for variable, values in values_of(plain).items():
        np.testing.assert_array_equal(np.asarray(values_of(found)[variable]), np.asarray(values))
    if "result" in plain.attrs and not isinstance(plain, pd.DataFrame):
        assert perfarray.table(found).equals(perfarray.table(plain))


@each
def test_dims_called_as_a_variable_of_the_answer(name):
    """Dims of one label with all names that the answer has: no number changes, and each is there as
    `data_<name>`."""
    times = given(name)
    reserved = sorted({*ANSWER_NAMES.get(name, "").split()} - {*times.dims, *times.coords} - INPUTS)
    plain = plain_answer(name)
    for start in range(0, len(reserved), 20):  # NumPy has 64 dims
        dims = reserved[start : start + 20]
        found = answer(name, times.expand_dims({dim: ["x"] for dim in dims}))
        for variable, values in values_of(plain).items():
            own = np.asarray(values_of(found)[variable])
            if (
                own.size == values.size and own.dtype.kind == "f" and "rng" not in CALLS[name]
            ):  # more labels, other random numbers
                np.testing.assert_allclose(
                    np.squeeze(own), np.squeeze(np.asarray(values)), rtol=1e-9
                )
        if (
            isinstance(found, xr.Dataset)
            and "machine" in found.dims
            and name != "explain_variation"
        ):
            assert {f"data_{dim}" for dim in dims} & {*found.dims}
        if "result" in plain.attrs and not isinstance(plain, pd.DataFrame):
            perfarray.table(found)


@pytest.mark.parametrize("dim", [{}, {"dim": "version"}])
def test_a_dim_called_as_what_a_method_reads(dim):
    """A coordinate `confidence_level` says at which level each benchmark is tested; a dim of that
    name has labels like any other."""
    times = timings().isel(machine=slice(3))
    plain = times.perf.speedup_test("old", **dim)
    renamed = times.rename(machine="confidence_level").perf.speedup_test("old", **dim)
    assert renamed["data_confidence_level"].values.tolist() == ["m0", "m1", "m2"]
    np.testing.assert_array_equal(
        renamed["confidence_level"].values, plain["confidence_level"].values
    )
    levels = times.assign_coords(confidence_level=("benchmark", [0.6, 0.8, 0.9])).perf.speedup_test(
        "old", **dim
    )
    assert levels["confidence_level"].isel(machine=0, version=0).values.tolist() == [0.6, 0.8, 0.9]
    compared = times.rename(version="confidence_level").perf.speedup_test(
        "old", dim="confidence_level"
    )
    np.testing.assert_array_equal(compared["pvalue"].values, plain["pvalue"].values)


@each
@pytest.mark.parametrize("levels", [("execution",), ("execution", "iteration")])
def test_a_dim_without_labels(name, levels):
    """Every method answers about timings without labels along some dim, or raises an error that
    names the dim."""
    times = given(name)
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


@pytest.mark.parametrize(
    "name",
    ["estimate", "n", "lower", "pvalue", "verdict", "change", "candidate", "required", "gain"],
)
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


def test_what_labels_are_called_is_noted():
    """The note is kept and shown below the table; nobody is warned, and the data keep their
    names."""
    times = timings().rename(machine="n").assign_coords(lower=("benchmark", [1, 2, 3]), cpu="x")
    found = times.perf.compare("old")
    note = found.perf.notes()[-1]
    assert (note.code, note.aside) == ("data_names", True)
    assert note.message == (
        "the data's 'lower', 'n' are called 'data_lower', 'data_n' here: variables of the "
        "answer have those names"
    )
    assert note.values["names"] == {"data_lower": "lower", "data_n": "n"}
    assert note.message in found.perf.table().attrs["notes"]
    assert found["data_lower"].values.tolist() == [1, 2, 3]
    assert {*found["n"].dims} == {"benchmark", "data_n", "version"}
    assert "n" in times.dims
    assert times.perf.mean_interval(levels=("execution",))["estimate"].sizes["data_n"] == 4


def test_arguments_name_what_the_data_name():
    """`dim=`, `across=`, `by=`, `levels=` and `family=` take the names of the data."""
    plain = timings().assign_coords(group=("benchmark", ["x", "x", "y"]))
    named = plain.rename(version="kind", benchmark="estimate", execution="df", group="verdict")
    options = {
        "dim": "kind",
        "across": "estimate",
        "levels": ("df",),
        "by": "verdict",
        "correction": "holm",
    }
    found = named.perf.compare("old", **options, family="estimate")
    expected = plain.perf.compare(
        "old", dim="version", by="group", correction="holm", family="benchmark"
    )
    assert found.attrs["dim"] == "data_kind"
    assert found["suite_estimate"].dims[0] == "data_verdict"
    for name in ("pvalue_adjusted", "suite_upper"):
        np.testing.assert_allclose(found[name], expected[name])


def test_names_that_are_taken():
    """Where the data have `data_n`, too, the name is longer; a dim `metric` makes room for that of
    the answer."""
    found = timings().assign_coords(n=("benchmark", [1, 2, 3]), data_n="x").perf.mean_interval()
    assert (found["data_data_n"].values.tolist(), found["data_n"].item()) == ([1, 2, 3], "x")
    both = (
        xr.Dataset({"time": timings(), "energy": 2 * timings()})
        .expand_dims(metric=["a"])
        .assign_coords(units="old")
    )
    found = both.perf.mean_interval(metric=["time", "energy"])
    assert found["metric"].values.tolist() == ["time", "energy"]
    assert {"data_metric", "data_units"} <= {*found.coords}


def test_two_answers_side_by_side():
    """What was called otherwise in one answer alone does not keep them apart."""
    times = timings().assign_coords(lower=("benchmark", [1, 2, 3]))
    both = perfarray.combine({"mean": times.perf.mean_interval(), "runs": times.perf.counts()})
    assert {"lower", "data_lower", "mean_lower"} <= {*both.variables}
    perfarray.table(
        perfarray.combine({"mean": times.perf.mean_interval(), "run": times.perf.run_estimate()})
    )


def test_mixtures_of_timings_with_such_names():
    """Whoever has a mixture of renamed cells assigns the runs of the same data."""
    times = timings().sel(version="new").rename(machine="mean")
    mixture = times.perf.fit_mixture(n_components=1)
    assert mixture.assign(times).sizes == {"benchmark": 3, "data_mean": 4, "execution": 6}


def test_labels_that_are_several_in_one():
    """Stacked dims are answered with a text for each label, and its parts beside it; a baseline may
    be a tuple."""
    times = timings()
    stacked = times.stack(case=("benchmark", "machine"))
    found = stacked.perf.compare("old")
    np.testing.assert_array_equal(
        np.ravel(found["estimate"]),
        np.ravel(
            times.perf.compare("old")["estimate"].transpose("version", "benchmark", "machine")
        ),
    )
    assert found["case"].values[:2].tolist() == ["a, m0", "a, m1"]
    assert found["machine"].values[:2].tolist() == ["m0", "m1"]
    assert [note.code for note in found.perf.notes() if note.aside] == [
        "data_names",
        "stacked_labels",
    ]
    builds = times.expand_dims(level=[3]).stack(build=("version", "level"))
    assert builds.perf.compare(("old", 3))["build"].values.tolist() == ["new, 3"]
    runs = times.expand_dims(session=2).rename(execution="run").stack(execution=("session", "run"))
    assert runs.perf.counts()["total"].values.max() == 12
    assert len(stacked.perf.to_frame()) == times.size


def odd_names(times):
    """Return timings with a dim `level`, a dim, a coordinate and a variable whose names are
    numbers, and labels that are missing."""
    named = (
        times.drop_vars(["machine", "cores"])
        .rename(machine="m")
        .swap_dims(m=5)
        .expand_dims(level=[np.nan])
    )
    return (
        named.assign_coords({6: ("benchmark", [1, 2, 3]), "benchmark": ["a", None, "c"]})
        .to_dataset(name="7")
        .rename({"7": 7})
    )


ODD_LABELS = {
    "names": odd_names,
    "stacked": lambda times: times.stack(case=("benchmark", "machine")),
    "the same twice": lambda times: times.assign_coords(machine=list("aabc")),
    "none at all": lambda times: times.drop_vars(["machine", "benchmark", "cores"]),
}


@pytest.mark.parametrize("labels", ODD_LABELS)
def test_odd_labels(labels):
    """Each method answers, or says in our words why it does not; the answer has a table."""
    for name in sorted({*CALLS} - {"explain_variation", "report"}):
        times = given(name, ODD_LABELS[labels](timings()))
        try:
            found = answer(name, times)
        except ValueError as error:
            refusals = "not found; the array has dims|no such dim|holds 'a' more than once"
            assert re.search(refusals, str(error)), (name, str(error))  # noqa: PT017
            continue
        if "result" in found.attrs and not isinstance(found, pd.DataFrame):
            perfarray.table(found)


def test_functions_travel():
    """Other processes find a public function where users do."""
    assert pickle.loads(pickle.dumps(perfarray.compare)) is perfarray.compare
    assert perfarray.compare.__module__ == "perfarray"
