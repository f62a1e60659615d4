"""Many files: where they are found, and what their places say."""

import numpy as np
import pytest

import perfarray
from readers.files_of_our_own import bench, check, run, small_suite, suite, write

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
        counts = {"n_calibration_runs": 8, "n_files": 8, "n_files_skipped": 0, "n_files_broken": 0}
        assert times.attrs == {"format": "pyperf", "metric": "time", **counts}

    def test_glob_and_list(self, folder, monkeypatch):
        """Files are labelled by their path below what they have in common; a file meant twice is read once; paths may be relative."""
        assert perfarray.read_archive(str(folder / "*" / "m1_9.json"))["file"].values.tolist() == ["new/m1_9.json", "old/m1_9.json"]
        assert perfarray.read_archive(str(folder / "**" / "m2*.json")).sizes["file"] == 4
        several = perfarray.read_archive([folder / "new", str(folder / "old" / "m?_9.json"), folder / "old" / "m1_9.json"])
        assert several.sizes["file"] == 6
        assert perfarray.read_archive([folder / "new" / "m1_9.json"])["file"].values.tolist() == ["m1_9.json"]
        monkeypatch.chdir(folder)
        assert perfarray.read_archive("new")["file"].values.tolist()[0] == "m1_10.json"
        assert perfarray.read_archive("new/*_9.json").sizes["file"] == 2
        assert perfarray.read_archive(["new/m1_9.json", folder / "old" / "m1_9.json"]).sizes["file"] == 2

    @pytest.mark.parametrize(("given", "files"), [
        (lambda folder: folder / "m1_9.json", 1),
        (lambda folder: str(folder / "m1_9*"), 1),
        (lambda folder: folder, 4),
        (lambda folder: [folder / "m1_9.json", folder / "m2_9.json"], 2),
    ])  # fmt: skip
    def test_mapping(self, folder, given, files):
        """Keys are labels of `dim`; values are any of these."""
        times = perfarray.read_archive({1: given(folder / "old"), "two": given(folder / "new")}, dim="version")
        check(times, version=["1", "two"])
        assert times.sizes.get("file", 1) == files

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

    @pytest.mark.parametrize("read", [perfarray.read, perfarray.read_archive])
    def test_an_empty_folder(self, tmp_path, read):
        with pytest.raises(ValueError, match="no files found in"):
            read(tmp_path)


def csv_files(folder, *names):
    """Write tables of one time, which is 1 and the last figure of the file's name; a folder names the benchmark."""
    for name in names:
        write(folder / f"{name}.csv", f"benchmark,time\n{name.partition('/')[0] if '/' in name else 'fft'},{1 + int(name[-1])}\n")


class TestLayout:
    def test_dims_and_levels(self, folder):
        """Levels are numbered inside their parent, 9 before 10; what the file says of a dim lies beside it."""
        times = perfarray.read_archive(folder, layout="{version}/{machine}_{session}.json")
        assert times["time"].sizes == {"benchmark": 1, "version": 2, "machine": 2, "session": 2, "execution": 1, "iteration": 3}
        check(times, session=[0, 1], machine_recorded=["host0", "host1"])
        assert [value(times, version="old", machine="m2", session=session) for session in (0, 1)] == [119.0, 120.0]
        assert (times["machine_recorded"].dims, times["cpu"].dims) == (("machine",), ())

    def test_levels_are_numbered_inside_their_parent(self, tmp_path):
        """In the order of the numbers in them, which labels give a coordinate if they are others; the array does not grow by them."""
        csv_files(tmp_path / "a", "a_1", "a_2", "b_run7", "b_run30")
        times = perfarray.read_archive(tmp_path / "a", layout="{machine}_{session}.csv")
        assert times["session_label"].dims == ("machine", "session")
        check(times, session_label=[["1", "2"], ["run7", "run30"]])
        check(times.squeeze(), time=[[2.0, 3.0], [8.0, 1.0]])
        csv_files(tmp_path / "b", "a_1", "a_0")
        assert "session_label" not in perfarray.read_archive(tmp_path / "b", layout="{machine}_{session}.csv").coords

    @pytest.mark.parametrize("given", [False, True])
    def test_a_session_two_versions_share_is_one_number(self, tmp_path, given):
        """A session of two versions has one number, so that `paired` can match it."""
        for version, day, mean in (("old", "05-01", 1.0), ("old", "05-02", 2.0), ("new", "05-02", 3.0), ("new", "05-10", 4.0)):
            row = f"benchmark,version,time\nfft,{version},{mean}\n" if given else f"benchmark,time\nfft,{mean}\n"
            write(tmp_path / version / f"{day}.csv", row)
        times = perfarray.read_archive(tmp_path, layout="{version}/{session}.csv")
        assert times["session_label"].dims == ("session",)
        check(times, session_label=["05-01", "05-02", "05-10"])
        check(times.sel(version=["old", "new"]).squeeze(), time=[[1.0, 2.0, np.nan], [np.nan, 3.0, 4.0]])

    def test_a_session_is_one_number_for_every_benchmark(self, tmp_path):
        """A benchmark that was not measured in a session is NaN there, even if the two have none in common."""
        csv_files(tmp_path, "fft/05-01", "sort/05-02", "sort/05-03")
        times = perfarray.read_archive(tmp_path, layout="{benchmark}/{session}.csv")
        check(times, session_label=["05-01", "05-02", "05-03"])
        check(times.sel(benchmark="sort").squeeze(), time=[np.nan, 3.0, 4.0])

    def test_sessions_that_would_leave_most_of_the_array_empty(self, tmp_path):
        """They are numbered inside each machine, with a note."""
        csv_files(tmp_path, *(f"m{machine}_{day}" for machine in range(6) for day in (machine, machine + 1)))
        message = r"name 7 different labels of 'session', .* 2 of them in one place: .* inside 'machine'"
        with pytest.warns(UserWarning, match=message) as told:
            times = perfarray.read_archive(tmp_path, layout="{machine}_{session}.csv")
        assert [note.code for note in told[0].message.notes] == ["numbered_apart"]
        assert times.sizes["session"] == 2
        check(times.sel(machine="m3"), session_label=["3", "4"])

    def test_a_level_inside_one_that_is_numbered_apart(self, tmp_path):
        """Sessions of different builds differ, even if their names are equal."""
        csv_files(tmp_path, "a_1_1", "a_1_2", "b_7_2", "b_7_3")
        times = perfarray.read_archive(tmp_path, layout="{machine}_{binary}_{session}.csv")
        assert times.sizes["session"] == 2
        check(times.sel(machine="b", binary=0).squeeze(), time=[3.0, 4.0])

    def test_binary_above_session(self, tmp_path):
        for binary, session in ((1, 1), (1, 2), (2, 1)):
            write(tmp_path / f"s{session}_b{binary}.json", small_suite(10.0 * binary + session))
        times = perfarray.read_archive(tmp_path, layout="s{session}_b{binary}.json")
        assert times["time"].dims == ("benchmark", "binary", "session", "execution", "iteration")
        assert value(times, binary=1, session=0) == 21.0

    def test_files_of_one_cell_get_a_dim_and_never_a_level(self, folder):
        assert "run" in perfarray.read_archive(folder, layout="{version}/{machine}_{run}.json").dims
        times = perfarray.read_archive({"all": folder}, dim="version")
        assert times["time"].dims == ("benchmark", "version", "file", "execution", "iteration")

    def test_folders_tell_files_apart_if_they_can(self, tmp_path):
        for day in ("monday", "tuesday"):
            write(tmp_path / day / "fft.json", small_suite(1.0))
        times = perfarray.read_archive(tmp_path, layout="{what}.json")
        check(times, file=["monday", "tuesday"])

    def test_files_of_other_benchmarks_share_a_cell_of_their_place(self, tmp_path):
        """Files that share no cell get no dim `file`."""
        for name in ("a", "b"):
            write(tmp_path / "old" / f"{name}.json", suite(bench(name, run(1.0))))
        times = perfarray.read_archive({"old": tmp_path / "old"}, dim="version")["time"]
        assert times.sizes == {"benchmark": 2, "version": 1, "execution": 1, "iteration": 1}

    @pytest.mark.parametrize(("options", "message"), [
        ({}, "several files of one label of dim 'file' hold the same benchmarks.*dim='version'"),
        ({"dim": "version", "layout": "{version}/{file}.json"}, "dim 'version' is named both by the mapping and by layout"),
    ])  # fmt: skip
    def test_labels_of_a_mapping_that_do_not_fit(self, folder, options, message):
        """A mapping with dim `file` cannot label files that share a cell; mapping and layout must not name the same dim."""
        with pytest.raises(ValueError, match=message):
            perfarray.read_archive({"old": folder / "old"}, **options)

    def test_a_benchmark_named_by_its_path(self, tmp_path):
        """The path gives the label; the name in the file is a coordinate."""
        for name in ("fft", "sort"):
            write(tmp_path / f"{name}.json", suite(bench("main", run(1.0), cpu_model_name=name)))
        times = perfarray.read_archive(tmp_path, layout="{benchmark}.json")
        check(times, benchmark=["fft", "sort"], cpu=["fft", "sort"], benchmark_recorded="main")

    def test_a_dim_some_files_have_themselves(self, tmp_path):
        """The path gives the dim to files that lack it."""
        write(tmp_path / "old.csv", "benchmark,version,time\nfft,v1,1\n")
        write(tmp_path / "new.csv", "benchmark,time\nfft,2\n")
        times = perfarray.read_archive(tmp_path, layout="{version}.csv")
        check(times.sel(version="old"), time=1.0, version_recorded="v1")
        check(times.sel(version="new"), time=2.0)

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
