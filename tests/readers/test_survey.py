"""The table of an archive: what was read of each file, and why a file is left out."""

import json
import tarfile

import pytest

import perfarray
from readers.files_of_our_own import bench, entry, run, small_suite, suite, write


@pytest.fixture
def mixed(tmp_path):
    """Return a folder with a file of each fate."""
    stamped, cut = (
        suite(bench("fft", run(1.0, date="2026-01-02 03:04:05.123456"))),
        json.dumps(small_suite(1.0))[:-30],
    )
    contents = {
        "a.json": stamped,
        "b.json": [entry(), entry()],
        "c.json": stamped,
        "cut.json": cut,
        "README.md": "# Results\n",
    }
    for name, content in contents.items():
        write(tmp_path / name, content)
    return tmp_path


def test_each_file_has_a_row(mixed):
    """What was read, skipped, broken and repeated, with the reason, in the order of the paths."""
    table = perfarray.archive_table(mixed).set_index("file")
    assert table.index.tolist() == ["README.md", "a.json", "b.json", "c.json", "cut.json"]
    assert table["status"].tolist() == ["skipped", "read", "read", "repeated", "broken"]
    assert table["format"].tolist() == ["", "pyperf", "jmh", "pyperf", ""]
    reasons = table["reason"]
    assert reasons["README.md"] == "no reader recognises its content"
    assert reasons["c.json"] == "holds the measurement of a.json"
    assert "cut.json: is not valid JSON: the file is cut off" in reasons["cut.json"]
    assert (reasons[["a.json", "b.json"]] == "").all()
    assert "1 benchmark names occur more than once" in table.loc["b.json", "notes"]


@pytest.mark.parametrize("format", [None, "pyperf"])
def test_an_empty_file_is_called_empty(tmp_path, format):
    write(tmp_path / "a.json", small_suite(1.0))
    empty = write(tmp_path / "empty.json", " \n")
    row = perfarray.archive_table(tmp_path, format=format).set_index("file").loc["empty.json"]
    assert (row["status"], row["reason"]) == ("skipped", "is empty")
    row = perfarray.archive_table([tmp_path / "a.json", empty], format=format).iloc[1]
    assert row["status"] == "broken"
    assert row["reason"].endswith("empty.json: is empty")


def test_it_says_what_the_dataset_has(mixed):
    """Counts of the files that are read add up to the values of the archive, and those of the
    others to what its attrs say."""
    with pytest.warns(perfarray.PerfarrayWarning):
        times = perfarray.read_archive(mixed, on_error="skip")
    table = perfarray.archive_table(mixed)
    read = table[table["status"] == "read"]
    assert read["values"].sum() == int(sum(times[name].count() for name in times.data_vars))
    counts = table["status"].value_counts()
    attrs = {"read": "n_files", "skipped": "n_files_skipped", "broken": "n_files_broken"}
    assert {status: counts[status] for status in attrs} == {
        status: times.attrs[name] for status, name in attrs.items()
    }


def test_members_of_an_archive_have_rows(tmp_path):
    with tarfile.open(tmp_path / "all.tar", "w") as pack:
        pack.add(write(tmp_path / "a.json", small_suite(1.0)), "runs/a.json")
    assert perfarray.archive_table(tmp_path / "all.tar")["file"].tolist() == ["all.tar/runs/a.json"]


def test_a_path_beside_the_layout_and_a_file_that_was_named(mixed):
    """What `read_archive` would refuse is broken here, and nothing is raised."""
    table = perfarray.archive_table(
        [mixed / "README.md", mixed / "a.json"], layout="{version}_{session}.json"
    )
    assert table["status"].tolist() == ["broken", "broken"]
    assert "no reader recognises its content" in table["reason"][0]
    assert "its path does not match layout" in table["reason"][1]
