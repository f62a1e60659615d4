"""Many files: where they are found, and what their places say."""

import numpy as np
import pytest

import perfarray
from readers.files_of_our_own import bench, run, small_suite, suite, write

SAME = "the same measurement stands under version='a' and version='b'; both are kept, and to compare them .*: 'm1_9.json'"


def value(times, **labels):
    """Return the first value that is no warm-up."""
    return times["time"].sel(labels).where(~times["warmup"]).dropna("iteration").values.ravel()[0]


class TestPaths:
    def test_folder(self, folder):
        """Files are labelled by their path inside it."""
        times = perfarray.read_archive(folder)
        assert times["file"].values[:2].tolist() == ["new/m1_10.json", "new/m1_9.json"]
        assert times["time"].sizes == {"benchmark": 1, "file": 8, "execution": 1, "iteration": 3}
        assert times.attrs == {
            "format": "pyperf", "metric": "time", "n_calibration_runs": 8, "n_files": 8, "n_files_skipped": 0, "n_files_broken": 0,
        }  # fmt: skip

    def test_glob_and_list(self, folder):
        """Files are labelled by their path below what they have in common; a file meant twice is read once."""
        assert perfarray.read_archive(str(folder / "*" / "m1_9.json"))["file"].values.tolist() == ["new/m1_9.json", "old/m1_9.json"]
        assert perfarray.read_archive(str(folder / "**" / "m2*.json")).sizes["file"] == 4
        several = perfarray.read_archive([folder / "new", str(folder / "old" / "m?_9.json"), folder / "old" / "m1_9.json"])
        assert several.sizes["file"] == 6
        assert perfarray.read_archive([folder / "new" / "m1_9.json"])["file"].values.tolist() == ["m1_9.json"]

    def test_relative_paths(self, folder, monkeypatch):
        """Paths may be relative, or of both kinds."""
        monkeypatch.chdir(folder)
        assert perfarray.read_archive("new")["file"].values.tolist()[0] == "m1_10.json"
        assert perfarray.read_archive("new/*_9.json").sizes["file"] == 2
        assert perfarray.read_archive(["new/m1_9.json", folder / "old" / "m1_9.json"]).sizes["file"] == 2

    @pytest.mark.parametrize("inner", ["file", "glob", "folder", "list"])
    def test_mapping(self, folder, inner):
        """Keys are labels of `dim`; values are any of these."""
        given = {
            "file": lambda version: folder / version / "m1_9.json",
            "glob": lambda version: str(folder / version / "m1_9*"),
            "folder": lambda version: folder / version,
            "list": lambda version: [folder / version / "m1_9.json", folder / version / "m2_9.json"],
        }[inner]
        times = perfarray.read_archive({1: given("old"), "two": given("new")}, dim="version")
        assert times["version"].values.tolist() == ["1", "two"]
        assert times.sizes.get("file", 1) == {"file": 1, "glob": 1, "folder": 4, "list": 2}[inner]

    def test_the_same_files_under_two_labels(self, folder):
        """A file may be compared with itself; a note says so."""
        with pytest.warns(perfarray.PerfarrayWarning, match=SAME) as caught:
            times = perfarray.read_archive({"a": folder / "new" / "m1_9.json", "b": folder / "new" / "m1_9.json"}, dim="version")
        assert [note.code for note in caught[0].message.notes] == ["repeated_labels"]
        np.testing.assert_array_equal(times["time"].sel(version="a"), times["time"].sel(version="b"))

    @pytest.mark.parametrize(("paths", "error", "message"), [
        ("nothing/*.json", FileNotFoundError, r"no files found in 'nothing/\*\.json'"),
        ([], ValueError, "no files found in "),
        ({}, ValueError, "the mapping of labels to paths is empty"),
        ({"old": "nothing/*.json"}, FileNotFoundError, r"no files found for 'old' in 'nothing/\*\.json'"),
        ("nothing.json", FileNotFoundError, r"nothing\.json: there is no such file"),
        (3, TypeError, "paths must be a folder, a glob pattern, a list of files or a mapping of labels to those; got int"),
        ([3], TypeError, "a path must be text or path-like; got 3"),
    ])  # fmt: skip
    def test_nothing_there(self, paths, error, message):
        with pytest.raises(error, match=message):
            perfarray.read_archive(paths)

    def test_a_mistyped_name(self, tmp_path, monkeypatch):
        """The error proposes a similar name in the folder, and not on_error."""
        monkeypatch.chdir(tmp_path)
        (tmp_path / "results.json").write_text("{}")
        for read in (perfarray.read, perfarray.read_archive):
            for name, near in (("reslts.json", ["there is 'results.json'"]), ("others.json", []), ("nowhere/results.json", [])):
                with pytest.raises(FileNotFoundError, match="there is no such file") as caught:
                    read(name)
                assert getattr(caught.value, "__notes__", []) == near

    def test_an_empty_folder(self, tmp_path):
        for read in (perfarray.read_archive, perfarray.read):
            with pytest.raises(ValueError, match="no files found in"):
                read(tmp_path)


class TestLayout:
    def test_dims_and_levels(self, folder):
        """Levels are numbered inside their parent, 9 before 10."""
        times = perfarray.read_archive(folder, layout="{version}/{machine}_{session}.json")
        assert times["time"].sizes == {"benchmark": 1, "version": 2, "machine": 2, "session": 2, "execution": 1, "iteration": 3}
        assert times["session"].values.tolist() == [0, 1]
        assert value(times, version="old", machine="m2", session=0) == 119.0
        assert value(times, version="old", machine="m2", session=1) == 120.0

    def test_levels_are_numbered_inside_their_parent(self, tmp_path):
        """Other labels on another machine do not make the array larger."""
        for name in ("a_1", "a_2", "b_7", "b_30"):
            write(tmp_path / f"{name}.json", small_suite(float(name[2:])))
        times = perfarray.read_archive(tmp_path, layout="{machine}_{session}.json")
        assert times.sizes["session"] == 2
        assert value(times, machine="b", session=1) == 30.0
        assert times["session_label"].dims == ("machine", "session")
        assert times["session_label"].values.tolist() == [["1", "2"], ["7", "30"]]

    @pytest.mark.parametrize("given", [False, True])
    def test_a_session_two_versions_share_is_one_number(self, tmp_path, given):
        """A session of two versions has one number, so that `paired` can match it."""
        for version, day, mean in (("old", "05-01", 1.0), ("old", "05-02", 2.0), ("new", "05-02", 3.0), ("new", "05-10", 4.0)):
            row = f"benchmark,version,time\nfft,{version},{mean}\n" if given else f"benchmark,time\nfft,{mean}\n"
            write(tmp_path / version / f"{day}.csv", row)
        times = perfarray.read_archive(tmp_path, layout="{version}/{session}.csv")
        assert times["session_label"].dims == ("session",)
        assert times["session_label"].values.tolist() == ["05-01", "05-02", "05-10"]
        assert times["time"].sel(benchmark="fft", version=["old", "new"]).values[..., 0].tolist() == [
            pytest.approx([1.0, 2.0, np.nan], nan_ok=True),
            pytest.approx([np.nan, 3.0, 4.0], nan_ok=True),
        ]

    def test_a_session_is_one_number_for_every_benchmark(self, tmp_path):
        """A benchmark that was not measured in a session is NaN there, even if the two have none in common."""
        for name in ("fft/05-01", "sort/05-02", "sort/05-03"):
            write(tmp_path / f"{name}.csv", f"benchmark,time\n{name[:-6]},{name[-1]}\n")
        times = perfarray.read_archive(tmp_path, layout="{benchmark}/{session}.csv")
        assert times["session_label"].values.tolist() == ["05-01", "05-02", "05-03"]
        assert times["time"].sel(benchmark="sort").values[:, 0].tolist() == pytest.approx([np.nan, 2.0, 3.0], nan_ok=True)

    def test_sessions_that_would_leave_most_of_the_array_empty(self, tmp_path):
        """They are numbered inside each machine, with a note."""
        for machine in range(6):
            for day in (machine, machine + 1):
                write(tmp_path / f"m{machine}_{day}.csv", f"benchmark,time\nfft,{1 + day}\n")
        with pytest.warns(
            UserWarning, match=r"name 7 different labels of 'session', .* 2 of them in one place: .* inside 'machine'"
        ) as told:
            times = perfarray.read_archive(tmp_path, layout="{machine}_{session}.csv")
        assert [note.code for note in told[0].message.notes] == ["numbered_apart"]
        assert times.sizes["session"] == 2
        assert times["session_label"].sel(machine="m3").values.tolist() == ["3", "4"]

    def test_a_level_inside_one_that_is_numbered_apart(self, tmp_path):
        """Sessions of different builds differ, even if their names are equal."""
        for name in ("a_1_1", "a_1_2", "b_7_2", "b_7_3"):
            write(tmp_path / f"{name}.csv", f"benchmark,time\nfft,{name[-1]}\n")
        times = perfarray.read_archive(tmp_path, layout="{machine}_{binary}_{session}.csv")
        assert times.sizes["session"] == 2
        assert times["time"].sel(machine="b", binary=0).values.ravel().tolist() == [2.0, 3.0]

    def test_numbers_that_are_the_labels_need_no_second_name(self, tmp_path):
        """Labels that equal their numbers give no coordinate."""
        for session in range(2):
            write(tmp_path / f"a_{session}.csv", "benchmark,time\nfft,1\n")
        assert "session_label" not in perfarray.read_archive(tmp_path, layout="{machine}_{session}.csv").coords

    def test_numbers_in_labels_sort_by_value(self, tmp_path):
        for name in ("run10", "run9"):
            write(tmp_path / f"{name}.json", small_suite(float(name[3:])))
        assert value(perfarray.read_archive(tmp_path, layout="{session}.json"), session=0) == 9.0

    def test_binary_above_session(self, tmp_path):
        """Levels nest in the usual order wherever they stand in the path."""
        for binary, session in ((1, 1), (1, 2), (2, 1)):
            write(tmp_path / f"s{session}_b{binary}.json", small_suite(10.0 * binary + session))
        times = perfarray.read_archive(tmp_path, layout="s{session}_b{binary}.json")
        assert times["time"].dims == ("benchmark", "binary", "session", "execution", "iteration")
        assert value(times, binary=1, session=0) == 21.0

    def test_what_the_file_says_of_a_dim_stays(self, folder):
        """The host name lies beside the machine the path names."""
        times = perfarray.read_archive(folder, layout="{version}/{machine}_{session}.json")
        assert times["machine_recorded"].dims == ("machine",)
        assert times["machine_recorded"].values.tolist() == ["host0", "host1"]
        assert times["cpu"].dims == ()

    def test_files_of_one_cell_get_a_dim_and_never_a_level(self, folder):
        times = perfarray.read_archive(folder, layout="{version}/{machine}_*.json".replace("*", "{run}"))
        assert "run" in times.dims
        times = perfarray.read_archive({"all": folder}, dim="version")
        assert times["time"].dims == ("benchmark", "version", "file", "execution", "iteration")

    def test_folders_tell_files_apart_if_they_can(self, tmp_path):
        """The shorter label is taken."""
        for day in ("monday", "tuesday"):
            write(tmp_path / day / "fft.json", small_suite(1.0))
        times = perfarray.read_archive(tmp_path, layout="{what}.json")
        assert times["file"].values.tolist() == ["monday", "tuesday"]

    def test_files_of_other_benchmarks_share_a_cell_of_their_place(self, tmp_path):
        """Files that share no cell get no dim `file`."""
        for name in ("a", "b"):
            write(tmp_path / "old" / f"{name}.json", suite(bench(name, run(1.0))))
        assert perfarray.read_archive({"old": tmp_path / "old"}, dim="version")["time"].sizes == {
            "benchmark": 2, "version": 1, "execution": 1, "iteration": 1,
        }  # fmt: skip

    def test_keys_along_file_that_collide(self, folder):
        """A mapping with dim `file` cannot label files that share a cell."""
        with pytest.raises(ValueError, match=r"several files of one label of dim 'file' hold the same benchmarks.*dim='version'"):
            perfarray.read_archive({"old": folder / "old"})

    def test_a_benchmark_named_by_its_path(self, tmp_path):
        """The path gives the label; the name in the file is a coordinate."""
        for name in ("fft", "sort"):
            write(tmp_path / f"{name}.json", suite(bench("main", run(1.0), cpu_model_name=name)))
        times = perfarray.read_archive(tmp_path, layout="{benchmark}.json")
        assert times["benchmark"].values.tolist() == ["fft", "sort"]
        assert times["cpu"].values.tolist() == ["fft", "sort"]
        assert times["benchmark_recorded"].item() == "main"

    def test_a_dim_some_files_have_themselves(self, tmp_path):
        """The path gives the dim to files that lack it."""
        write(tmp_path / "old.csv", "benchmark,version,time\nfft,v1,1\n")
        write(tmp_path / "new.csv", "benchmark,time\nfft,2\n")
        times = perfarray.read_archive(tmp_path, layout="{version}.csv")
        assert times["time"].sel(version="old").item() == 1.0
        assert times["time"].sel(version="new").item() == 2.0
        assert times["version_recorded"].sel(version="old").item() == "v1"

    @pytest.mark.parametrize(("layout", "message"), [
        ("{a}/{b}_{c}_{d}.json", "its path does not match layout="),
        ("results.json", "must name dims in braces, each once"),
        ("{machine/{session}.json", "has a '{' whose '}' is missing"),
        ("machine}/{session}.json", "has a '}' whose '{' is missing"),
        ("{a}/{a}.json", "must name dims in braces, each once"),
        ("{execution}.json", "the layout names the level 'execution', but the file holds several of its own"),
        ("{iteration}.json", "the layout names the level 'iteration', but the file holds several of its own"),
        ("{time}.json", "its place names 'time', which is a variable of the file"),
        ("{benchmark}.json", "its place says benchmark='two', but the file holds several: 'a', 'b'"),
    ])  # fmt: skip
    def test_what_is_wrong_is_said(self, tmp_path, layout, message):
        path = write(tmp_path / "two.json", suite(bench("a", run(1.0), run(2.0, 3.0)), bench("b", run(1.0))))
        with pytest.raises(ValueError, match=message):
            perfarray.read_archive([path], layout=layout)

    def test_on_error_decides_about_places_too(self, tmp_path):
        """A file that contradicts its path is left out like a broken one."""
        write(tmp_path / "a.json", suite(bench("a", run(1.0))))
        write(tmp_path / "b.json", suite(bench("a", run(1.0), run(2.0))))
        with pytest.warns(UserWarning, match=r"of 2 files, 1 is broken and left out: .*b\.json: the layout names the level 'execution'"):
            assert perfarray.read_archive(tmp_path, layout="{execution}.json", on_error="warn").sizes["execution"] == 1

    def test_dim_named_twice(self, folder):
        """Mapping and layout must not name the same dim."""
        with pytest.raises(ValueError, match="dim 'version' is named both by the mapping and by layout"):
            perfarray.read_archive({"old": folder / "old"}, dim="version", layout="{version}/{file}.json")
