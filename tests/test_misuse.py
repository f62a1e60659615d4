"""Misuse: whatever comes, a method answers or raises in our words; no exception and no warning of
NumPy, pandas or xarray gets out."""

import datetime
import inspect
import re
import traceback
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import perfarray
from method_calls import (
    CALLS,
    ELSEWHERE,
    METHODS,
    OF_ANSWERS,
    OLD,
    ONE_SYSTEM,
    timings,
    timings_for,
)
from strategies import MANY

ROOT = Path(perfarray.__file__).parent
TIMES = timings()

OBJECTS = [
    None,
    5,
    1.5,
    True,
    1j,
    "old.json",
    b"old",
    Path("old.json"),
    [1.0, 2.0],
    [[1.0], [2.0]],
    (1.0,),
    {1.0},
    {"old": [1.0]},
    len,
    object(),
    np.ones(3),
    np.float64(1),
    pd.Series([1.0]),
    pd.Index([1.0]),
    pd.DataFrame({"time": [1.0]}),
    xr.Variable("execution", [1.0]),
    datetime.date(2026, 1, 1),
    xr.DataArray,
    TIMES.groupby("machine"),
    (number for number in [1.0]),
]
"""What is no timings, no answer, and (of tables) no table of machines."""

DATA = {
    "true and false": TIMES > 1,
    "texts": TIMES.astype(str),
    "objects": TIMES.astype(object),
    "durations": (TIMES * 1e9).astype("timedelta64[ns]"),
    "dates": (TIMES * 1e9).astype("datetime64[ns]"),
    "complex numbers": TIMES.astype(complex),
    "small whole numbers": (TIMES * 10).astype("uint8"),
    "nothing measured": TIMES * np.nan,
    "zeros": TIMES * 0,
    "negative": -TIMES,
    "one run": TIMES.isel(execution=[0]),
    "one number": TIMES.isel(execution=0, version=0, benchmark=0, machine=0),
    "no benchmark": TIMES.isel(benchmark=[]),
    "no run": TIMES.isel(execution=[]),
    "no version": TIMES.isel(version=[]),
    "nothing": xr.Dataset(),
    "texts in a Dataset": xr.Dataset({"time": TIMES.astype(str)}),
    "two metrics": xr.Dataset({"a": TIMES, "b": TIMES}),
    "labels alone": TIMES.coords.to_dataset(),
    "units that are a list": TIMES.assign_attrs(units=["s"]),
    "units that are None": TIMES.assign_attrs(units=None),
    "attrs of several kinds": TIMES.assign_attrs(
        hosts=["a", "b"], sizes=np.ones(2), nested={"a": 1}
    ),
    "attrs of other kinds": TIMES.to_dataset().assign_attrs(metric=5, shared_levels=5, units=["s"]),
    "marks that are texts": TIMES.assign_coords(warmup=("execution", list("abcdef"))),
    "loops that are texts": TIMES.assign_coords(loops="many"),
    "a run that was stopped": TIMES.assign_coords(censored=("execution", [True, *[False] * 5])),
    "dates as labels": TIMES.assign_coords(execution=pd.date_range("2026", periods=6)),
    "labels of all kinds": TIMES.assign_coords(machine=np.array([1, "a", None, 2.5], dtype=object)),
    "an answer": TIMES.perf.counts(),
}

ARGUMENTS = [
    None,
    5,
    5.5,
    float("nan"),
    "x",
    b"a",
    {"a": 1},
    {1},
    [1.0, "a"],
    [["a"]],
    [object()],
    np.ones(2),
    pd.DataFrame({"time": [1.0]}),
    TIMES,
    object(),
    len,
    lambda: None,
    TIMES.groupby("machine"),
    "",
    -1,
    float("inf"),
]
"""What no argument takes; where one does, it is answered."""

FOREIGN = re.compile(
    "unhashable|not iterable|ambiguous|not supported between|must be a string|object has "
    "no|object is not|ufunc|broadcast"
)
"""How Python and NumPy speak."""

each_function = pytest.mark.parametrize(
    "name", sorted({*CALLS, *OF_ANSWERS, "join"} - {"agreement"})
)


def error_of(name, times, *operands, **options):
    """Ask a method; return what it raises, if that is in our words, and nothing where it
    answers."""
    keywords = {**CALLS.get(name, {}), **(OLD if name == "compare" else {}), **options}
    keywords.pop("statistic", None) if name == "compare" and "statistic" not in options else None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", perfarray.PerfarrayWarning)
        try:
            getattr(perfarray, name)(times, *operands, **keywords)
        except (TypeError, ValueError, OSError) as refusal:
            error = refusal
        else:
            return None
    last = traceback.extract_tb(error.__traceback__)[-1]
    assert Path(last.filename).is_relative_to(ROOT), (last.filename, str(error))
    assert not FOREIGN.search(str(error)), str(error)
    return error


def test_every_method_is_tried():
    """But for those with tests of their own: they compute nothing, are given timings twice, or
    gather answers of others."""
    assert {*CALLS, *OF_ANSWERS, *ELSEWHERE} == {*METHODS}


@each_function
def test_what_is_no_timings(name):
    """A TypeError says what came, what is expected, and what makes timings of it."""
    for value in OBJECTS:
        if isinstance(value, pd.DataFrame) and name in ("explain_variation", "notes"):
            continue
        if isinstance(value, np.ndarray) and name == "bootstrap_interval":  # it takes replicates
            continue
        error = error_of(name, value, *([TIMES] if name == "join" else []))
        assert isinstance(error, TypeError), (value, error)
        assert re.match("expected .*, got .*; ", str(error)), value
        if name == "join":
            assert isinstance(error_of(name, TIMES, value), TypeError)
        if "baseline" in CALLS.get(name, {}) and (
            value is not None or name != "stopping"
        ):  # without one it is asked about each system
            assert error_of(name, TIMES, baseline=value)


@each_function
def test_odd_timings(name):
    """Numbers that are none, labels of other kinds, nothing at all."""
    for data in DATA.values():
        baseline = (
            data.sel(version="new")
            if name in ONE_SYSTEM and "version" in data.dims and data.sizes["version"]
            else data
        )
        error_of(
            name,
            baseline,
            *([TIMES] if name == "join" else []),
            **({"along": "session"} if name == "join" else {}),
        )


@pytest.mark.parametrize("name", METHODS)
def test_odd_arguments(name, tmp_path, monkeypatch):
    """Every argument of every method, in CI with all values and else with a third of them, from
    parameter to parameter another; a page with pictures takes longer than a report without, and is
    written as that is.
    """
    monkeypatch.chdir(tmp_path)  # a text is a good path of a report
    usual = {"format": "json"} if name == "report" else {}
    parameters = list(inspect.signature(getattr(perfarray, name)).parameters.values())[1:]
    times = timings_for(name) if name in CALLS else TIMES.isel(benchmark=[0], machine=[0])
    for number, parameter in enumerate(parameters):
        if parameter.name in ("second", "others", "ax"):
            continue
        for value in ARGUMENTS if MANY else ARGUMENTS[number % 3 :: 3]:
            error_of(
                name, times, *([TIMES] if name == "join" else []), **usual | {parameter.name: value}
            )


REMEDIES = [
    (
        TypeError,
        r"expected a DataArray or a Dataset of timings, got list; perfarray\.from_samples",
        lambda: perfarray.compare([1.0], [2.0]),
    ),
    (
        TypeError,
        r"baseline is a list: give a label of the data, or other timings; perfarray\.from_samples",
        lambda: TIMES.perf.compare([2.0]),
    ),
    (
        TypeError,
        r"got DataFrame; \.perf\.to_timings\(\) makes timings",
        lambda: perfarray.compare(pd.DataFrame({"a": [1.0]}), "old"),
    ),
    (
        TypeError,
        r"got str; perfarray\.read makes timings of a file",
        lambda: perfarray.counts("old.json"),
    ),
    (
        TypeError,
        r"got GaussianMixture; it is an answer",
        lambda: perfarray.counts(TIMES.perf.fit_mixture(n_components=1)),
    ),
    (
        AttributeError,
        r"no 'compare'; it is a method of timings: df\.perf\.to_timings\(\)\.perf\.compare",
        lambda: pd.DataFrame({"a": [1.0]}).perf.compare,
    ),
    (ValueError, r"levels=5: give a name or a tuple of names", lambda: TIMES.perf.counts(levels=5)),
    (ValueError, r"metric=5: give a name or a tuple of names", lambda: TIMES.perf.counts(metric=5)),
    (
        ValueError,
        r"no measurements to join: it holds 'time \(bool\)'; timings are numbers",
        lambda: perfarray.join(TIMES > 1, TIMES),
    ),
    (
        TypeError,
        r"""attrs\["units"\] is \['s'\]: give a text, such as "s" or "1", or none""",
        lambda: perfarray.join(TIMES.assign_attrs(units=["s"]), TIMES, along="session"),
    ),
    (
        ValueError,
        "baseline has the labels 'old', 'new' along 'version' and the data are of one of them",
        lambda: TIMES.sel(version="new").perf.compare(TIMES),
    ),
    (
        TypeError,
        "significant is a list; it must be DataArray",
        lambda: TIMES.perf.overall_speedup("old", significant=[True]),
    ),
    (
        ValueError,
        "plus_one=nan: give True or False",
        lambda: TIMES.perf.randomization_test("old", plus_one=float("nan")),
    ),
    (
        ValueError,
        r"statistic '<lambda>' takes no array and axis=; give a function f\(x, axis=-1\)",
        lambda: TIMES.perf.bootstrap_interval(statistic=lambda: None),
    ),
    (
        TypeError,
        "required_units\\(\\) has no argument 'equivalence_risk' any more",
        lambda: TIMES.perf.required_units("old", equivalence_risk="x"),
    ),
    (
        ValueError,
        "there are no dims",
        lambda: TIMES.isel(dict.fromkeys(TIMES.dims, 0)).perf.to_frame(),
    ),
]


@pytest.mark.parametrize(("error", "message", "call"), REMEDIES)
def test_remedies(error, message, call):
    """Each says the way from what came."""
    with pytest.raises(error, match=message):
        call()


SAYS_ELSEWHERE = {
    "agreement": "a variable with remarks",
    "counts": "counts of 0",
    "trend": "the slope of the others",
}


@pytest.mark.parametrize(
    "gap", [{"benchmark": "b"}, {"machine": "m1"}], ids=["benchmark", "machine"]
)
@pytest.mark.parametrize("name", sorted(CALLS.keys() - SAYS_ELSEWHERE.keys()))
def test_what_was_never_measured_is_said(name, gap):
    """An answer is NaN for a benchmark or a machine without values, and for no other, only with a
    note, or no table has a row of it."""
    ((dim, label),) = gap.items()
    times = timings_for(name)
    with warnings.catch_warnings(action="ignore"):
        try:
            result = getattr(times.where(times[dim] != label).perf, name)(**CALLS[name])
        except ValueError:
            return
    if (
        isinstance(result, xr.Dataset | xr.DataArray)
        and "result" in result.attrs
        and label in result.coords.get(dim, [])
    ):
        arrays = [
            array
            for array in (
                [result] if isinstance(result, xr.DataArray) else result.data_vars.values()
            )
            if dim in array.dims
        ]
        is_empty = any(array.sel(gap).isnull().all() and array.notnull().any() for array in arrays)
        assert (
            not is_empty
            or result.perf.notes()
            or label not in perfarray.table(result).reset_index().get(dim, pd.Series()).tolist()
        )
