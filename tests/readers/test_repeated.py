"""One measurement that lies in a folder twice is not two."""

import json
import os
import shutil

import pytest

import perfarray
from perfarray.readers.repeated import STAMP
from readers.files_of_our_own import bench, run, suite, write

DATED = json.dumps(suite(bench("fft", run(1.0, 2.0, date="2026-01-02 03:04:05.6"))))
PLAIN = json.dumps(suite(bench("fft", run(1.0, 2.0))))


def codes(call):
    """Return the codes of the notes of a call, and its answer."""
    with pytest.warns(perfarray.PerfarrayWarning) as caught:
        times = call()
    return [note.code for note in caught[0].message.notes], times


def copied(path, copy):
    shutil.copy(path, copy)


def packed(path, copy):
    write(copy.with_suffix(".json.gz"), path.read_bytes())


@pytest.mark.parametrize("layout", [None, "{session}.json"])
@pytest.mark.parametrize(
    ("repeat", "content"),
    [
        (copied, DATED),
        (packed, DATED),
        *((link, content) for link in (os.symlink, os.link) for content in (DATED, PLAIN)),
    ],
)
def test_a_copy_or_a_link_is_left_out(tmp_path, repeat, content, layout):
    """A copy adds no file and no session; the original stays even if the copy sorts first."""
    path = write(tmp_path / "b.json", content)
    repeat(path, tmp_path / "a.json")
    repeat(path, tmp_path / ".c.json")
    codes_of_notes, times = codes(lambda: perfarray.read_archive(tmp_path, layout=layout))
    assert (codes_of_notes, times["time"].size, times.attrs["n_files"]) == (
        ["repeated_files"],
        2,
        1,
    )
    if layout is None and repeat is not copied:
        assert times["file"].values.tolist() == (
            ["a.json.gz"] if repeat is packed else ["a.json" if repeat is os.link else "b.json"]
        )


def test_equal_files_without_a_stamp_may_be_two(tmp_path):
    for name in ("a.json", "b.json"):
        write(tmp_path / name, PLAIN)
    assert perfarray.read_archive(tmp_path).sizes["file"] == 2


def test_labels_of_what_is_compared_are_kept(tmp_path):
    """Equal files under different labels are kept, with a note; under one label they are not."""
    for name in ("old_1", "old_2", "new_1"):
        write(tmp_path / f"{name}.json", DATED)
    codes_of_notes, times = codes(
        lambda: perfarray.read_archive(tmp_path, layout="{version}_{session}.json")
    )
    assert codes_of_notes == ["repeated_files", "repeated_labels"]
    assert dict(times.sizes) == {
        "benchmark": 1,
        "version": 2,
        "session": 1,
        "execution": 1,
        "iteration": 2,
    }
    old, new = tmp_path / "old_1.json", tmp_path / "new_1.json"
    for paths in ({"a": old, "b": new}, [old, new]):
        codes_of_notes, times = codes(
            lambda paths=paths: perfarray.read_archive(paths, dim="version")
        )
        assert codes_of_notes == ["repeated_labels"]
        assert times.sizes["version"] == 2


def test_a_path_written_in_two_ways(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path / "a.json", PLAIN)
    codes_of_notes, times = codes(lambda: perfarray.read_archive(["a.json", path, "./a.json"]))
    assert (codes_of_notes, times["time"].size) == (["repeated_files"], 2)


@pytest.mark.parametrize(
    ("text", "stamped"),
    [
        ("2026-01-02T03:04", True),
        ("2026-01-02 03:04:05", True),
        ("Fri Jan  2 03:04:05 2026", True),
        ('"timestamp": 1760000000123', True),
        ("0f0e0d0c-aaaa-bbbb-cccc-0123456789ab", True),
        ("run_id = 1234567890", True),
        ("2026-01-02", False),
        ("times: 1760000000", False),
        ('"ns": 1760000000123', False),
        ("1.5,2.5", False),
    ],
)
def test_stamps(text, stamped):
    """Times of day and ids of runs are stamps; days and measured values are not."""
    assert (STAMP.search(text) is not None) is stamped
