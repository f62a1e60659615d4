"""Notes: what a result has to say travels as data, and is told once."""

import json
import threading
import warnings

import numpy as np
import pytest
import xarray as xr

import perfarray
from perfarray import Note, PerfarrayWarning
from perfarray.timings.notes import collecting_notes, emit, first_of_each_code, with_notes

ONE_EACH = {"old": [10.0], "new": [9.0]}


def compared(times):
    """Compare and return the result with its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = perfarray.compare(times, "old", dim="version")
    return result, caught


class TestOneWarningPerCall:
    def test_a_call_emits_one_warning_with_its_notes_as_data(self):
        """Notes have a code, a sentence and its numbers; the warning points at the caller."""
        result, (caught,) = compared(perfarray.from_samples(ONE_EACH))
        assert caught.category is PerfarrayWarning
        assert caught.filename == __file__
        (note,) = caught.message.notes
        assert (note.code, note.values["cells"], note.values["of"]) == ("single_unit", 1, 1)
        assert result.perf.notes() == (note,)

    def test_several_notes_are_lines_of_one_warning(self):
        """A paired comparison with a unit alone and a single pair says both."""
        times = perfarray.from_samples({"old": [10.0, 11.0], "new": [9.0]})
        other = times.sel(version=["new"]).isel(execution=[0])
        old = times.sel(version="old", drop=True)
        with pytest.warns(PerfarrayWarning) as caught:
            result = perfarray.compare(other, old, paired="execution")
        assert len(caught) == 1
        assert [note.code for note in result.perf.notes()] == ["no_partner", "single_unit"]
        assert str(caught[0].message).count("\n") == 1

    def test_nothing_to_say_is_no_attr(self):
        """An ordinary result has no notes."""
        result, caught = compared(perfarray.from_samples({"old": [1.0, 1.1, 0.9], "new": [2.0, 2.1, 1.9]}))
        assert not caught
        assert "notes" not in result.attrs
        assert result.perf.notes() == ()

    def test_several_metrics_say_it_once(self):
        """What two metrics have in common is one note of one warning."""
        one = perfarray.from_samples(ONE_EACH)["time"]
        times = xr.Dataset({"time": one, "energy": one * 2})
        with pytest.warns(PerfarrayWarning) as caught:
            result = times.perf.compare("old", metric=["time", "energy"])
        assert len(caught) == 1
        assert [note.code for note in result.perf.notes()] == ["single_unit"]

    def test_pairwise_says_a_sentence_once(self):
        """Every baseline finds the same; it is said once."""
        with pytest.warns(PerfarrayWarning) as caught:
            result = perfarray.from_samples({"a": [1.0], "b": [2.0], "c": [3.0]}).perf.pairwise(dim="version")
        assert len(caught) == 1
        assert [note.code for note in result.perf.notes()] == ["single_unit"]


class TestKept:
    def test_they_survive_files(self, tmp_path):
        """The attr is JSON text: netCDF keeps it."""
        pytest.importorskip("h5netcdf")
        result, _ = compared(perfarray.from_samples(ONE_EACH))
        result.drop_vars(["kind", "verdict", "suite_verdict"]).to_netcdf(tmp_path / "a.nc")
        with xr.open_dataset(tmp_path / "a.nc") as stored:
            assert stored.perf.notes() == result.perf.notes()
        assert json.loads(result.attrs["notes"])[0]["code"] == "single_unit"

    def test_a_lazy_result_counts_after_computing(self):
        """What cannot be counted without computing is not warned of at the call, and there afterwards."""
        pytest.importorskip("dask")
        times = perfarray.from_samples(ONE_EACH)
        result, caught = compared(times.chunk())
        assert not caught
        assert result.perf.notes() == ()
        direct, _ = compared(times)
        assert result.compute().perf.notes() == direct.perf.notes()

    def test_numbers_of_numpy_become_numbers(self):
        """What JSON does not know is written as the number it is."""
        with pytest.warns(PerfarrayWarning):
            result = with_notes(xr.Dataset(), Note("a", "b", {"n": np.int64(3)}))
        assert perfarray.notes(result)[0].values == {"n": 3}

    def test_a_table_keeps_them_too(self):
        """DataFrames have attrs and an accessor."""
        pd = pytest.importorskip("pandas")
        with pytest.warns(PerfarrayWarning, match="b"):
            frame = with_notes(pd.DataFrame({"a": [1]}), Note("a", "b"))
        assert frame.perf.notes() == (Note("a", "b"),)


class TestGathered:
    def test_collecting_hands_notes_to_the_caller(self):
        """Inside the block nothing is emitted."""
        with warnings.catch_warnings(), collecting_notes() as gathered:
            warnings.simplefilter("error")
            emit(Note("a", "first"), None, Note("a", "first"), Note("a", "second"))
        assert [note.message for note in gathered] == ["first", "second"]
        assert first_of_each_code(gathered) == [Note("a", "first")]

    def test_collecting_is_local_to_a_thread(self):
        """Another thread's notes are its own."""
        seen = []

        def other():
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                emit(Note("b", "elsewhere"))
            seen.extend(caught)

        with collecting_notes() as gathered:
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()
        assert not gathered
        assert len(seen) == 1
