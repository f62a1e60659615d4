"""What is compared: sides of one suite, and other numbers of copies or threads are named."""

import numpy as np
import pytest
import xarray as xr

import perfarray
from method_calls import CALLS

COMPARISONS = {
    name: {key: value for key, value in call.items() if key != "baseline"}
    for name, call in CALLS.items()
    if "baseline" in call
}
COMPARISONS |= {"compare": {}, "plan_repetitions": {"half_width": 0.01}}


def scores(**coords):
    """Return three machines of two benchmarks, five executions each."""
    dims = {"benchmark": ["a", "b"], "machine": ["x", "y", "z"]}
    times = perfarray.simulate(
        sizes={"execution": 5}, variances={"execution": 1e-4}, dims=dims, rng=1
    )["time"]
    times = times.assign_attrs(units="1", better="higher").rename("ratio")
    machine_coords = {
        name: (
            ("benchmark", "machine"),
            np.array(values, dtype=None if name != "suite" else object),
        )
        for name, values in coords.items()
    }
    return times.assign_coords(machine_coords)


MIXED = {"suite": [["rate", "speed", "rate"]] * 2}


@pytest.mark.parametrize(("name", "choices"), COMPARISONS.items())
def test_sides_of_different_suites_are_never_compared(name, choices):
    """Every comparison names both suites and what to do instead, of a label and of another object,
    in memory and lazy."""
    times, message = (
        scores(**MIXED),
        "different suites are not compared: 'speed' against 'rate' in the baseline",
    )
    with pytest.raises(
        ValueError,
        match=rf"{message}.*times.sel\(machine=\[...\]\) with the baseline and 'z', which have",
    ):
        getattr(times.perf, name)("x", dim="machine", **choices)
    with pytest.raises(ValueError, match=message):
        getattr(times.sel(machine="y").perf, name)(times.sel(machine="x"), **choices)
    pytest.importorskip("dask")
    with pytest.raises(ValueError, match=message):
        getattr(times.chunk({"machine": 1}).perf, name)("x", dim="machine", **choices)


def test_all_pairs_are_of_one_suite():
    """`pairwise` and `prob_fastest` compare every label with every other, in whatever order they
    lie."""
    times = scores(**MIXED)
    for call in (times.perf.pairwise, times.perf.prob_fastest):
        with pytest.raises(ValueError, match="different suites are not compared"):
            call(dim="machine")
    comparable = times.sel(machine=["x", "z"])  # as the message says
    assert comparable.perf.prob_fastest(dim="machine", rng=1)["estimate"].notnull().all()
    plain = times.drop_vars("suite").perf.ratio_interval("x", dim="machine")["estimate"]
    np.testing.assert_array_equal(
        comparable.perf.ratio_interval("x", dim="machine")["estimate"].sel(machine="z"),
        plain.sel(machine="z"),
    )


def test_what_is_not_stated_or_not_measured_differs_from_nothing():
    """A machine whose file says nothing, and cells that one side lacks, are compared as before."""
    unstated = scores(suite=[["rate", "unknown", "rate"], ["rate", "rate", "rate"]])
    assert unstated.perf.ratio_interval("x", dim="machine")["estimate"].notnull().all()
    partly = scores(suite=[["rate", "speed", "rate"], ["rate", "rate", "rate"]])
    with_gap = partly.where((partly["benchmark"] != "a") | (partly["machine"] != "y")).assign_attrs(
        partly.attrs
    )
    with pytest.warns(perfarray.PerfarrayWarning, match="no measured value"):
        estimates = with_gap.perf.ratio_interval("x", dim="machine")["estimate"]
    assert estimates.notnull().transpose("benchmark", "machine").values.tolist() == [
        [False, True],
        [True, True],
    ]


@pytest.mark.parametrize("name", ["copies", "threads"])
def test_other_numbers_of_copies_get_a_note(name):
    """One note says how many ran on either side, also between machines; equal numbers are quiet;
    times do not count copies."""
    times = scores(**{name: [[2, 24, 2]] * 2})
    with pytest.warns(
        perfarray.PerfarrayWarning,
        match=rf"settings \(candidate against baseline\): {name} 24 against 2\. ",
    ) as caught:
        interval = times.perf.ratio_interval("x", dim="machine")
    assert len(caught) == 1
    note = next(note for note in interval.perf.notes() if note.code == "settings_differ")
    assert note.values == {"settings": [name], "candidate": ["24"], "baseline": ["2"]}
    with pytest.warns(perfarray.PerfarrayWarning, match=f"{name} 24 against 2"):
        times.sel(machine="y").perf.ratio_interval(times.sel(machine="x"))
    times.sel(machine=["x", "z"]).perf.ratio_interval("x", dim="machine")
    end = "A time does not count copies" if name == "copies" else r"programs together\.$"
    with pytest.warns(perfarray.PerfarrayWarning, match=end):
        times.assign_attrs(units="s", better="lower").perf.ratio_interval("x", dim="machine")


def test_labels_of_several_dims_are_matched_before_they_are_compared():
    """Machines in another order, and one that the baseline lacks, are no difference; a suite along
    the benchmarks counts as well."""
    times = scores(**MIXED)
    with pytest.warns(perfarray.PerfarrayWarning, match="1 labels are on one side only"):
        interval = times.perf.ratio_interval(times.sel(machine=["z", "y"]))
    np.testing.assert_allclose(interval["estimate"], 1.0)
    unlabelled = times.assign_coords(
        suite=("benchmark", np.array(["speed", "speed"], dtype=object))
    )
    with pytest.raises(ValueError, match="'rate' against 'speed' in the baseline, of 4 cells"):
        times.perf.ratio_interval(unlabelled)


def test_a_dim_of_that_name_may_be_compared():
    """Who compares threads, or suites, along a dim of their own asks for it; numbers that a table
    gives as text are named as written."""
    times = scores()
    for name in ("threads", "suite"):
        interval = times.rename(machine=name).perf.ratio_interval("x", dim=name)
        np.testing.assert_array_equal(
            interval["estimate"].values,
            times.perf.ratio_interval("x", dim="machine")["estimate"].values,
        )
    texts = times.assign_coords(copies=("machine", ["2", "24 (HT)", "2"]))
    with pytest.warns(perfarray.PerfarrayWarning, match=r"copies 24 \(HT\) against 2\."):
        texts.perf.ratio_interval("x", dim="machine")
    numbers = times.assign_coords(copies=("machine", [2, 2, 2])).sel(machine="y")
    with pytest.warns(perfarray.PerfarrayWarning, match="copies 2 against 24"):
        numbers.perf.ratio_interval(times.sel(machine="x").assign_coords(copies="24"))


def test_answers_by_keyword():
    """The timings may be named, with suites and without."""
    times = scores(suite=[["rate", "speed", "rate"], ["rate", "rate", "rate"]])
    with pytest.warns(
        perfarray.PerfarrayWarning, match="rate: 1 of 3 cells lack benchmarks of their suite"
    ):
        assert set(perfarray.suite_score(times=times)["suite"].values) == {"rate", "speed"}


def on_own_machines(**sides):
    """Return versions that were measured on the machine named, as several reports read at once give
    them."""
    machines = list(dict.fromkeys(sides.values()))
    dims = {"benchmark": ["a", "b"], "version": list(sides), "machine": machines}
    times = perfarray.simulate(
        sizes={"execution": 5}, variances={"execution": 1e-4}, dims=dims, rng=1
    )["time"]
    measured = xr.DataArray(
        [[machine == at for machine in machines] for at in sides.values()],
        dims=("version", "machine"),
    )
    return times.where(measured).assign_attrs(times.attrs)


@pytest.mark.parametrize(("sides", "message"), [
    ({"old": "x", "new": "y"}, "machine y against x"),
    ({"old": "x", "new": "x", "newer": "y"}, "machine y against x"),
    (dict(zip("ABCDEFGH", "stuvwxyz", strict=True)), "machine t, u, v and 4 more against s"),
])  # fmt: skip
def test_versions_of_different_machines_are_compared_with_one_note(sides, message):
    """Reports of several machines are compared as they stand: the machine is a descriptor of the
    version, and one note names them."""
    times, first = on_own_machines(**sides), next(iter(sides))
    with pytest.warns(perfarray.PerfarrayWarning, match=message) as warned:
        ratios = times.perf.ratio_interval(first)
    assert len(warned) == 1
    assert dict(ratios.sizes) == {"benchmark": 2, "version": len(sides) - 1}
    assert (
        ratios["machine"].sel(version=list(sides)[1:]).values.tolist() == list(sides.values())[1:]
    )
    last, machine = list(sides.items())[-1]
    new, old = (
        times.sel(version=last, machine=machine, drop=True),
        times.sel(version=first, machine=sides[first], drop=True),
    )
    xr.testing.assert_allclose(
        ratios["estimate"].sel(version=last, drop=True),
        new.perf.ratio_interval(old)["estimate"].drop_vars("machine", errors="ignore"),
    )
    with pytest.warns(perfarray.PerfarrayWarning, match="different machines"):
        pairs = times.perf.pairwise(dim="version")
    np.testing.assert_array_equal(
        pairs["estimate"].sel(baseline=first).isel(version=slice(1, None)), ratios["estimate"]
    )


def test_machines_that_meet_the_baseline_remain_rows():
    """Where a version was measured on two machines, each machine keeps its row."""
    times = scores().isel(benchmark=[0, 1]).rename(benchmark="version")
    alone = times.where((times["version"] == "a") | (times["machine"] != "y")).assign_attrs(
        times.attrs
    )
    with pytest.warns(
        perfarray.PerfarrayWarning, match=r"1 of 3 cells \('b, y'\) have no measured value"
    ):
        ratios = alone.perf.ratio_interval("a", dim="version")
    assert ratios["estimate"].notnull().transpose("version", "machine").values.tolist() == [
        [True, False, True]
    ]


def test_objects_of_one_machine_each_are_compared_with_one_note():
    """Two reports read one by one are compared, too; benchmarks of different names are not."""
    times = on_own_machines(old="x", new="y")
    new, old = (
        times.sel(version="new", machine=["y"], drop=True),
        times.sel(version="old", machine=["x"], drop=True),
    )
    with pytest.warns(perfarray.PerfarrayWarning, match="different machines .*machine y against x"):
        ratios = new.perf.ratio_interval(old)
    assert dict(ratios.sizes) == {"benchmark": 2}
    assert ratios["estimate"].notnull().all()
    with pytest.raises(ValueError, match="no label in common along 'benchmark': 'a' against 'b'"):
        new.sel(benchmark=["a"]).perf.ratio_interval(old.sel(benchmark=["b"]))


def test_tags_that_one_side_states():
    """A benchmark of several tags counts in each of their suites where only one side states
    them."""
    times = scores().isel(machine=[0, 1]).rename(machine="version")
    tags = np.array([["unknown", "fast, math"], ["unknown", "math"]], dtype=object)
    suites = times.assign_coords(tags=(("benchmark", "version"), tags)).perf.compare("x", by="tags")
    assert suites["suite_benchmarks"].isel(version=0).to_series().to_dict() == {
        "fast": 1,
        "math": 2,
    }
