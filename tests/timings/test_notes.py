"""Notes: what a result has to say travels as data, and is told once."""

import json
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import perfarray
from perfarray import Note, PerfarrayWarning
from perfarray.timings.notes import collecting_notes, emit, first_of_each_code, with_notes

ONE_EACH = {"old": [10.0], "new": [9.0]}


def verdicts_and_warnings(times):
    with warnings.catch_warnings(record=True, action="always") as caught:
        result = perfarray.compare(times, "old", dim="version")
    return result, caught


PAIR = perfarray.from_samples({"old": [10.0, 11.0], "new": [9.0]})
METRICS = xr.Dataset(
    {
        "time": perfarray.from_samples(ONE_EACH)["time"],
        "energy": 2 * perfarray.from_samples(ONE_EACH)["time"],
    }
)


@pytest.mark.parametrize(
    ("call", "codes"),
    [
        (lambda: METRICS.perf.compare("old", metric=["time", "energy"]), ["single_unit"]),
        (
            lambda: perfarray.from_samples({"a": [1.0], "b": [2.0], "c": [3.0]}).perf.pairwise(
                dim="version"
            ),
            ["single_unit"],
        ),
        (
            lambda: (
                PAIR.sel(version=["new"])
                .isel(execution=[0])
                .perf.compare(PAIR.sel(version="old", drop=True), paired="execution")
            ),
            ["no_partner", "single_unit"],
        ),
    ],
    ids=["metrics", "pairs of labels", "paired units"],
)
def test_one_warning_per_call(call, codes):
    """What metrics or baselines have in common is said once; several notes are lines of one
    warning."""
    with pytest.warns(PerfarrayWarning) as caught:
        result = call()
    assert [note.code for note in result.perf.notes()] == codes
    assert [(str(warning.message).count("\n"), warning.filename) for warning in caught] == [
        (len(codes) - 1, __file__)
    ]


def test_a_warning_has_its_notes_as_data():
    """Notes have a code, a sentence and its numbers; the warning points at the caller; an ordinary
    result has no notes."""
    result, (caught,) = verdicts_and_warnings(perfarray.from_samples(ONE_EACH))
    assert (caught.category, caught.filename) == (PerfarrayWarning, __file__)
    (note,) = caught.message.notes
    assert (note.code, note.values["cells"], note.values["of"]) == ("single_unit", 1, 1)
    assert result.perf.notes() == (note,)
    assert json.loads(result.attrs["notes"])[0]["code"] == "single_unit"  # text, which files keep
    result, caught = verdicts_and_warnings(
        perfarray.from_samples({"old": [1.0, 1.1, 0.9], "new": [2.0, 2.1, 1.9]})
    )
    assert (caught, result.perf.notes(), "notes" in result.attrs) == ([], (), False)


class TestKept:
    def test_a_lazy_result_counts_after_computing(self):
        """What cannot be counted without computing is not warned of at the call, and there
        afterwards."""
        pytest.importorskip("dask")
        times = perfarray.from_samples(ONE_EACH)
        result, caught = verdicts_and_warnings(times.chunk())
        assert not caught
        assert result.perf.notes() == ()
        direct, _ = verdicts_and_warnings(times)
        assert result.compute().perf.notes() == direct.perf.notes()

    @pytest.mark.parametrize("result", [xr.Dataset(), pd.DataFrame({"a": [1]})])
    def test_datasets_and_tables_keep_them(self, result):
        """Numbers of NumPy, which JSON does not know, are written as the numbers they are."""
        with pytest.warns(PerfarrayWarning, match="b"):
            with_note = with_notes(result, Note("a", "b", {"n": np.int64(3)}))
        assert with_note.perf.notes() == (Note("a", "b", {"n": 3}),)


class TestGathered:
    def test_collecting_hands_notes_to_the_caller(self):
        """Inside the block nothing is emitted."""
        with warnings.catch_warnings(action="error"), collecting_notes() as gathered:
            emit(Note("a", "first"), None, Note("a", "first"), Note("a", "second"))
        assert [note.message for note in gathered] == ["first", "second"]
        assert first_of_each_code(gathered) == [Note("a", "first")]

    def test_collecting_is_local_to_a_thread(self):

        def notes_of_thread():
            with warnings.catch_warnings(record=True, action="always") as caught:
                emit(Note("b", "elsewhere"))
            return caught

        with collecting_notes() as gathered, ThreadPoolExecutor(1) as thread:
            assert len(thread.submit(notes_of_thread).result()) == 1
        assert not gathered
