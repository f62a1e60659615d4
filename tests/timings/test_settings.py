"""Which recorded settings differ between two sides, and what the notes on them say."""

import warnings

import numpy as np
import pytest
import xarray as xr

import perfarray
from perfarray.timings.settings import MAX_NAMED, is_condition


def sides(dim="version", benchmarks=("a", "b"), sessions=0, **coords):
    """Return two sides of equal times, with coordinates along the dim compared, or with dims of
    their own."""
    dims = {"benchmark": list(benchmarks), dim: ["old", "new"]}
    sizes = ({"session": sessions} if sessions else {}) | {"execution": 5}
    times = perfarray.simulate(sizes=sizes, variances=dict.fromkeys(sizes, 1e-4), dims=dims, rng=1)[
        "time"
    ]
    return times.assign_coords(
        {
            name: value if isinstance(value, tuple) else (dim, value)
            for name, value in coords.items()
        }
    )


def notes_on(times, dim="version", baseline="old"):
    """Return the notes on settings of a comparison, by code."""
    with warnings.catch_warnings(action="ignore"):
        notes = times.perf.compare(baseline, dim=dim).perf.notes()
    return {
        note.code: note
        for note in notes
        if note.code in ("different_machines", "settings_differ", "never_together")
    }


@pytest.mark.parametrize(
    ("name", "setting"),
    {
        "cpu": True,
        "os": True,
        "dirty": True,
        "commit_dirty": True,
        "library_build_type": True,
        "elements": True,
        "goVersion": True,
        "warmup_time": True,
        "governor": True,
        "date": False,
        "commit_date": False,
        "runId": False,
        "load_avg": False,
        "boot_time": False,
        "cpu-temp": False,
        "python_hash_seed": False,
        "execution_seconds": False,
        "loops": False,
        "session_label": False,
        "build": False,
    }.items(),
)
def test_records_of_a_run_are_no_settings(name, setting):
    """What differs whenever something is measured again says nothing of the sides: dates, commits,
    identities, loads, temperatures."""
    assert is_condition(name) is setting


def test_machines_come_first_and_other_settings_after():
    """Two notes, each a warning, name what differs with both values, the model of the processor
    first."""
    times = sides(
        os=["Linux 5", "Linux 6"],
        host=["h1", "h2"],
        processor=["P1", "P2"],
        date=["2026-01-01", "2026-01-02"],
        cores=[4, 4],
    )
    with pytest.warns(perfarray.PerfarrayWarning) as caught:
        notes = times.perf.compare("old").perf.notes()
    assert [note.code for note in notes[:2]] == ["different_machines", "settings_differ"]
    assert "processor P2 against P1; host h2 against h1. " in notes[0].message
    assert "os Linux 6 against Linux 5. " in notes[1].message
    assert notes[0].values == {
        "settings": ["processor", "host"],
        "candidate": ["P2", "h2"],
        "baseline": ["P1", "h1"],
    }
    assert [note.code for note in caught[0].message.notes] == [
        "different_machines",
        "settings_differ",
    ]


def test_a_host_alone_is_said_to_be_alone():
    """The recorded hardware is the same: the note says so; a clock alone is a setting, and one
    within 2 % is none."""
    only_host = notes_on(sides(machine=["c1", "c2"], cpu=["P", "P"], cores=[4, 4]))[
        "different_machines"
    ]
    assert "only the names of the hosts differ" in only_host.message
    assert (
        "only the names" not in notes_on(sides(machine=["c1", "c2"]))["different_machines"].message
    )
    assert list(notes_on(sides(cpu=["P", "P"], cpu_mhz=[3000, 2000]))) == ["settings_differ"]
    assert list(notes_on(sides(cpu_mhz=[3000, 2000]))) == ["different_machines"]
    assert not notes_on(sides(cpu_mhz=[3000.0, 2990.0], memory_gb=[15.6, 15.5]))


def test_what_is_compared_is_no_setting():
    """Machines that are compared differ in all that describes them; so do processors, and the
    labels of a dim in what has its name."""
    coords = {"os": ["L", "W"], "cpu_mhz": [1, 2], "cores": [4, 8]}
    assert not notes_on(sides("machine", **coords), "machine")
    assert not notes_on(sides("cpu", **coords), "cpu")
    assert not notes_on(sides("jdk", jdk_version=["21", "23"]), "jdk")
    assert list(notes_on(sides("machine", threads=[1, 2], **coords), "machine")) == [
        "settings_differ"
    ]


def test_sides_that_state_nothing_differ_in_nothing():
    """Unknown values, and cells that only one side has, are compared as before."""
    assert not notes_on(sides(cpu=np.array(["unknown", "P"], dtype=object)))
    along = (("benchmark", "version"), np.array([["1", "1"], ["2", "3"]], dtype=object))
    times = sides(input_size=along)
    assert "input_size 3 against 2 ('b')" in notes_on(times)["settings_differ"].message
    with_gap = times.where((times["benchmark"] != "b") | (times["version"] != "new")).assign_attrs(
        times.attrs
    )
    assert not notes_on(with_gap)


def test_sessions_of_several_machines_are_compared_as_sets():
    """Both sides ran on the same two machines: nothing differs; another set does."""
    hosts = np.array([["m1", "m2", "m1", "m2"], ["m2", "m1", "m1", "m2"]], dtype=object)
    assert not notes_on(sides(sessions=4, machine=(("version", "session"), hosts)))
    hosts[1] = "m1"
    assert (
        "machine m1 against m1, m2"
        in notes_on(sides(sessions=4, machine=(("version", "session"), hosts)))[
            "different_machines"
        ].message
    )


def test_counters_are_no_settings():
    """Numbers that were measured beside the times differ in any two sides; texts of repetitions may
    be settings."""
    times = sides(sessions=3)
    counter = (("version", "session"), np.arange(6).reshape(2, 3))
    along = (("benchmark", "version"), np.array([[10.5, 11.5], [7.25, 7.0]]))
    assert not notes_on(times.assign_coords(faults=counter, rss_mb=along))
    kernels = (("version", "session"), np.array([["6.1"] * 3, ["6.8"] * 3], dtype=object))
    assert (
        "kernel 6.8 against 6.1"
        in notes_on(times.assign_coords(kernel=kernels))["settings_differ"].message
    )


def test_many_settings_are_counted():
    """Six are named; what is not known to matter is no warning."""
    note = notes_on(sides(**{f"knob{number}": [0, 1] for number in range(9)}))["settings_differ"]
    assert note.message.count(" against ") == MAX_NAMED + 1  # one is "candidate against baseline"
    assert "; and 3 more. " in note.message
    assert len(note.values["settings"]) == 9
    assert note.aside


def test_benchmarks_that_never_meet_are_named():
    """The old version of `b` was measured on one machine, the new one on another: no ratio, and a
    way on."""
    times = sides(benchmarks=("a", "b")).expand_dims(machine=["m1", "m2"]).copy()
    machines = xr.DataArray([["m1", "m1"], ["m1", "m2"]], dims=("version", "benchmark"))
    measured = (times["benchmark"] == "a") | (
        times["machine"] == machines.assign_coords(version=["old", "new"], benchmark=["a", "b"])
    )
    note = notes_on(times.where(measured).assign_attrs(times.attrs))["never_together"]
    assert note.values == {"labels": ["b"], "dims": ["machine"]}
    assert "select a label for each side" in note.message


def test_labels_that_never_meet_the_baseline_are_named():
    """One version was measured on another machine throughout: it is named, and the benchmarks that
    others have a ratio of are not."""
    times = sides(benchmarks=("a", "b"))
    times = xr.concat(
        [times, times.sel(version=["new"]).assign_coords(version=["newer"])], "version"
    )
    times = times.expand_dims(machine=["m1", "m2", "m3"])
    is_paired = (times["version"] == "newer") == (times["machine"] == "m3")
    note = notes_on(times.where(is_paired).assign_attrs(times.attrs))["never_together"]
    assert note.values["labels"] == ["newer"]
    assert note.message.startswith(
        "1 of 2 labels of 'version' and the baseline were never at one label of 'machine': 'newer'."
    )
