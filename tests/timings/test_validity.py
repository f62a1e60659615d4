"""Invalid and estimated results of SPEC: a comparison names the sides that are, and its numbers
stay."""

import warnings

import numpy as np
import pytest
import xarray as xr

import perfarray
from readers.files_of_our_own import SPEC_HARDWARE, spec_pair, spec_result, write


def result(path, *, valid=1, est="", machine="Box 1", slower=1.0):
    """Write and read the result of one machine, with base and peak."""
    rows = [
        spec_pair(name, 4, slower * (50 + k), slower * (48 + k), k)
        for name in ("400.alpha", "401.beta")
        for k in (1, 2, 3)
    ]
    hardware = SPEC_HARDWARE.replace("Box 1 (Model 7, 2.10 GHz)", machine)
    return perfarray.read(write(path, spec_result(rows, valid=valid, est=est, after=hardware)))


def notes_of(comparison):
    """Return the notes on validity of a result, and the codes that were warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        notes = [
            note
            for note in comparison().perf.notes()
            if note.code in ("invalid_side", "estimated_side")
        ]
    return notes, {note.code for warning in caught for note in warning.message.notes}


@pytest.mark.parametrize(
    ("new", "old", "code", "sides", "subject"),
    [
        (
            {},
            {"valid": 0},
            "invalid_side",
            ["baseline"],
            "the baseline is not valid, as the file says. Do not publish the ratio",
        ),
        ({"valid": 0}, {}, "invalid_side", ["candidate"], "the candidate is not valid"),
        (
            {"valid": 0},
            {"valid": 0},
            "invalid_side",
            ["candidate", "baseline"],
            "the candidate and the baseline are not valid",
        ),
        (
            {"est": "Est. "},
            {},
            "estimated_side",
            ["candidate"],
            "the candidate is estimated, not reportable",
        ),
        (
            {},
            {"est": "Est. "},
            "estimated_side",
            ["baseline"],
            "the baseline is estimated, not reportable",
        ),
    ],
)
def test_the_side_is_named(tmp_path, new, old, code, sides, subject):
    """One note says which side it is, and warns; limits and verdicts are those of the numbers."""
    times = [
        result(tmp_path / f"{name}.csv", slower=1.1 + number, **state)
        .sel(tuning="base")
        .squeeze("machine")
        for number, (name, state) in enumerate((("new", new), ("old", old)))
    ]
    methods = ("compare", "ratio_interval", "score_ratio_interval")
    for method in methods:
        (note,), codes = notes_of(lambda method=method: getattr(times[0].perf, method)(times[1]))
        assert (note.code, note.values["sides"]) == (code, sides)
        assert note.message.startswith(subject)
        assert code in codes
    states = ["valid", "estimated"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        upper = times[0].perf.compare(times[1])["upper"]
        plain = times[0].drop_vars(states).perf.compare(times[1].drop_vars(states))["upper"]
    xr.testing.assert_equal(upper.drop_vars(states), plain)


def test_labels_are_named(tmp_path):
    """Of labels of one dim those are named that are invalid; of tunings of one invalid run both
    sides are."""
    machines = [
        result(tmp_path / f"{name}.csv", machine=name, valid=int(name != "B"), slower=1 + k)
        for k, name in enumerate("ABC")
    ]
    times = xr.concat(machines, "machine")
    (note,), _ = notes_of(lambda: times.sel(tuning="base").perf.compare("A", dim="machine"))
    assert note.message.startswith("the candidate ('B') is not valid")
    assert note.values == {"sides": ["candidate"], "labels": ["B"]}
    (note,), _ = notes_of(lambda: times.sel(tuning="base").perf.compare("B", dim="machine"))
    assert note.message.startswith("the baseline ('B') is not valid")
    (note,), _ = notes_of(lambda: times.sel(machine=["B"]).perf.compare("base", dim="tuning"))
    assert note.values["sides"] == ["candidate", "baseline"]
    (note,), _ = notes_of(lambda: times.sel(tuning="base").perf.pairwise(dim="machine"))
    assert note.values["labels"] == ["B"]
    assert (
        notes_of(
            lambda: times.sel(machine=["A", "C"], tuning="base").perf.compare("A", dim="machine")
        )[0]
        == []
    )


def test_two_estimates_do_not_warn(tmp_path):
    """Archives of estimates are compared: the note stays with the result."""
    times = result(tmp_path / "a.csv", est="Est. ")
    notes, codes = notes_of(lambda: times.perf.compare("base", dim="tuning"))
    assert [note.code for note in notes] == ["estimated_side"]
    assert "estimated_side" not in codes


def test_unknown_states_say_nothing(tmp_path):
    """A fragment does not say whether it is valid; cells that were not measured count for nothing,
    and lazy values count."""
    times = result(tmp_path / "a.csv").assign_coords(valid=("machine", [np.nan]))
    assert notes_of(lambda: times.perf.compare("base", dim="tuning"))[0] == []
    empty = result(tmp_path / "b.csv", machine="B", valid=0)
    machines = xr.concat([times, empty.where(False)], "machine").assign_coords(
        valid=("machine", [1, 0])
    )
    assert notes_of(lambda: machines.perf.compare("base", dim="tuning"))[0] == []
    lazy = result(tmp_path / "c.csv", valid=0).chunk()
    assert [note.code for note in notes_of(lambda: lazy.perf.compare("base", dim="tuning"))[0]] == [
        "invalid_side"
    ]


def test_results_that_are_not_compared_are_not_named():
    """An invalid machine that lacks a side is in no row, and no warning names it."""
    dims = {"benchmark": ["a", "b"], "version": ["old", "new"], "machine": ["m1", "m2"]}
    times = perfarray.simulate(
        sizes={"execution": 4}, variances={"execution": 1e-4}, dims=dims, rng=1
    )["time"]
    times = times.where((times["machine"] == "m1") | (times["version"] == "old")).assign_coords(
        valid=("machine", [1, 0])
    )
    notes, _ = notes_of(lambda: times.assign_attrs(units="s").perf.compare("old"))
    assert notes == []
