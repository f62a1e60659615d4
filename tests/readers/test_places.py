"""Many files: where they are found, and what their places say."""

import numpy as np
import pytest

import perfarray
from readers.files_of_our_own import (
    NAN,
    bench,
    check,
    read_placed,
    readings,
    run,
    small_suite,
    suite,
    write,
)

SAME = (
    "the same measurement stands under version='a' and version='b'; both are kept, and to "
    "compare them .*: 'm1_9.json'"
)


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
        """Files are labelled by their path below what they have in common; a file meant twice is
        read once; paths may be relative."""
        assert perfarray.read_archive(str(folder / "*" / "m1_9.json"))["file"].values.tolist() == [
            "new/m1_9.json",
            "old/m1_9.json",
        ]
        assert perfarray.read_archive(str(folder / "**" / "m2*.json")).sizes["file"] == 4
        times = perfarray.read_archive(
            [folder / "new", str(folder / "old" / "m?_9.json"), folder / "old" / "m1_9.json"]
        )
        assert times.sizes["file"] == 6
        assert perfarray.read_archive([folder / "new" / "m1_9.json"])["file"].values.tolist() == [
            "m1_9.json"
        ]
        monkeypatch.chdir(folder)
        assert perfarray.read_archive("new")["file"].values.tolist()[0] == "m1_10.json"
        assert perfarray.read_archive("new/*_9.json").sizes["file"] == 2
        assert (
            perfarray.read_archive(["new/m1_9.json", folder / "old" / "m1_9.json"]).sizes["file"]
            == 2
        )

    @pytest.mark.parametrize(
        ("path_in", "files"),
        [
            (lambda folder: folder / "m1_9.json", 1),
            (lambda folder: str(folder / "m1_9*"), 1),
            (lambda folder: folder, 4),
            (lambda folder: [folder / "m1_9.json", folder / "m2_9.json"], 2),
        ],
    )
    def test_mapping(self, folder, path_in, files):
        """Keys are labels of `dim`; values are any of these."""
        times = perfarray.read_archive(
            {1: path_in(folder / "old"), "two": path_in(folder / "new")}, dim="version"
        )
        check(times, version=["1", "two"])
        assert times.sizes.get("file", 1) == files

    def test_the_same_files_under_two_labels(self, folder):
        """A file may be compared with itself; a note says so."""
        with pytest.warns(perfarray.PerfarrayWarning, match=SAME) as caught:
            times = perfarray.read_archive(
                {"a": folder / "new" / "m1_9.json", "b": folder / "new" / "m1_9.json"},
                dim="version",
            )
        assert [note.code for note in caught[0].message.notes] == ["repeated_labels"]
        np.testing.assert_array_equal(
            times["time"].sel(version="a"), times["time"].sel(version="b")
        )

    @pytest.mark.parametrize(
        ("paths", "error", "message"),
        [
            ("nothing/*.json", FileNotFoundError, r"no files found in 'nothing/\*\.json'"),
            ([], ValueError, "no files found in "),
            ({}, ValueError, "the mapping of labels to paths is empty"),
            (
                {"old": "nothing/*.json"},
                FileNotFoundError,
                r"no files found for 'old' in 'nothing/\*\.json'",
            ),
            ("nothing.json", FileNotFoundError, r"nothing\.json: there is no such file"),
            (
                3,
                TypeError,
                (
                    "paths is int. Give a folder, a glob pattern, a list of files, or a mapping "
                    "of labels to those"
                ),
            ),
            ([3], TypeError, "a path must be text or path-like; got 3"),
        ],
    )
    def test_nothing_there(self, paths, error, message):
        with pytest.raises(error, match=message):
            perfarray.read_archive(paths)

    def test_a_mistyped_name(self, tmp_path, monkeypatch):
        """The error proposes a similar name in the folder, and not on_error."""
        monkeypatch.chdir(tmp_path)
        (tmp_path / "results.json").write_text("{}")
        for read in (perfarray.read, perfarray.read_archive):
            for name, hints in (
                ("reslts.json", ["there is 'results.json'"]),
                ("others.json", []),
                ("nowhere/results.json", []),
            ):
                with pytest.raises(FileNotFoundError, match="there is no such file") as caught:
                    read(name)
                assert getattr(caught.value, "__notes__", []) == hints

    @pytest.mark.parametrize("read", [perfarray.read, perfarray.read_archive])
    def test_an_empty_folder(self, tmp_path, read):
        with pytest.raises(ValueError, match="no files found in"):
            read(tmp_path)


def tables(*names, benchmark="fft"):
    """Return tables of one time, which is 1 and the last figure of the name of the file."""
    return {f"{name}.csv": f"benchmark,time\n{benchmark},{1 + int(name[-1])}\n" for name in names}


DAYS = {("old", "05-01"): 1, ("old", "05-02"): 2, ("new", "05-02"): 3, ("new", "05-10"): 4}
SHARED = {
    "version": ["new", "old"],
    "session_label": ["05-01", "05-02", "05-10"],
    "session_label.dims": ("session",),
}
TIMES = [[[NAN], [3], [4]], [[1], [2], [NAN]]]
MAIN = {
    f"{name}.json": suite(bench("main", run(1.0), cpu_model_name=name)) for name in ("fft", "sort")
}
BUILDS = {
    f"s{session}_b{binary}.json": small_suite(10.0 * binary + session)
    for binary, session in ((1, 1), (1, 2), (2, 1))
}

test_layouts = readings(
    read_placed,
    [
        (
            "levels are numbered inside their parent, in the order of the numbers in their labels",
            ("{machine}_{session}.csv", tables("a_1", "a_2", "b_run7", "b_run30")),
            {
                "session_label.dims": ("machine", "session"),
                "session_label": [["1", "2"], ["run7", "run30"]],
                "time": [[[[2], [3]], [[8], [1]]]],
            },
        ),
        (
            "labels that equal their numbers give no coordinate",
            ("{machine}_{session}.csv", tables("a_1", "a_0")),
            {"time": [[[[1], [2]]]], "absent": ["session_label"]},
        ),
        (
            "a session two versions share is one number, so that `paired` can match it",
            (
                "{version}/{session}.csv",
                {
                    f"{version}/{day}.csv": f"benchmark,time\nfft,{mean}\n"
                    for (version, day), mean in DAYS.items()
                },
            ),
            SHARED | {"time": [TIMES]},
        ),
        (
            "a session two versions share is one number where the files say their version",
            (
                "{version}/{session}.csv",
                {
                    f"{version}/{day}.csv": f"benchmark,version,time\nfft,{version},{mean}\n"
                    for (version, day), mean in DAYS.items()
                },
            ),
            SHARED | {"time": [TIMES]},
        ),
        (
            (
                "a benchmark that was not measured in a session is NaN there, even if the two have "
                "none in common"
            ),
            (
                "{benchmark}/{session}.csv",
                tables("fft/05-01") | tables("sort/05-02", "sort/05-03", benchmark="sort"),
            ),
            {
                "session_label": ["05-01", "05-02", "05-03"],
                "time": [[[2], [NAN], [NAN]], [[NAN], [3], [4]]],
            },
        ),
        (
            "sessions that would leave most of the array empty are numbered inside each machine",
            (
                "{machine}_{session}.csv",
                tables(
                    *(f"m{machine}_{day}" for machine in range(6) for day in (machine, machine + 1))
                ),
            ),
            {
                "session_label": [[str(day), str(day + 1)] for day in range(6)],
                "notes": ["numbering"],
            },
            r"name 7 different labels of 'session', .* 2 of them together.* inside 'machine'",
        ),
        (
            "sessions of different builds differ, even if their names are equal",
            ("{machine}_{binary}_{session}.csv", tables("a_1_1", "a_1_2", "b_7_2", "b_7_3")),
            {"time": [[[[[2], [3]]], [[[3], [4]]]]]},
        ),
        (
            "binaries lie above sessions wherever they stand",
            ("s{session}_b{binary}.json", BUILDS),
            {
                "time.dims": ("benchmark", "binary", "session", "execution", "iteration"),
                "time": [[[[[13, 11, 12]], [[14, 12, 13]]], [[[23, 21, 22]], [[NAN] * 3]]]],
            },
        ),
        (
            "folders tell files apart if they can",
            ("{what}.json", {f"{day}/fft.json": small_suite(1.0) for day in ("monday", "tuesday")}),
            {"file": ["monday", "tuesday"]},
        ),
        (
            "the path gives the label of a benchmark; the name in the file is a coordinate",
            ("{benchmark}.json", MAIN),
            {"benchmark": ["fft", "sort"], "cpu": ["fft", "sort"], "benchmark_recorded": "main"},
        ),
        (
            "the path gives a dim to files that lack it",
            (
                "{version}.csv",
                {
                    "old.csv": "benchmark,version,time\nfft,v1,1\n",
                    "new.csv": "benchmark,time\nfft,2\n",
                },
            ),
            {
                "version": ["new", "old"],
                "time": [[[2], [1]]],
                "version_recorded": ["unknown", "v1"],
            },
        ),
    ],
)


class TestLayout:
    def test_dims_and_levels(self, folder):
        """Levels are numbered inside their parent, 9 before 10; what the file says of a dim lies
        beside it."""
        times = perfarray.read_archive(folder, layout="{version}/{machine}_{session}.json")
        assert times["time"].sizes == {
            "benchmark": 1,
            "version": 2,
            "machine": 2,
            "session": 2,
            "execution": 1,
            "iteration": 3,
        }
        check(times, session=[0, 1], machine_recorded=["host0", "host1"])
        assert [
            value(times, version="old", machine="m2", session=session) for session in (0, 1)
        ] == [119.0, 120.0]
        assert (times["machine_recorded"].dims, times["cpu"].dims) == (("machine",), ())

    def test_files_of_one_cell_get_a_dim_and_never_a_level(self, folder):
        assert "run" in perfarray.read_archive(folder, layout="{version}/{machine}_{run}.json").dims
        times = perfarray.read_archive({"all": folder}, dim="version")
        assert times["time"].dims == ("benchmark", "version", "file", "execution", "iteration")

    def test_files_of_other_benchmarks_share_a_cell_of_their_place(self, tmp_path):
        """Files that share no cell get no dim `file`."""
        for name in ("a", "b"):
            write(tmp_path / "old" / f"{name}.json", suite(bench(name, run(1.0))))
        times = perfarray.read_archive({"old": tmp_path / "old"}, dim="version")["time"]
        assert times.sizes == {"benchmark": 2, "version": 1, "execution": 1, "iteration": 1}

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (
                {},
                "several files of one label of dim 'file' hold the same benchmarks.*dim='version'",
            ),
            (
                {"dim": "version", "layout": "{version}/{file}.json"},
                "dim 'version' is named both by the mapping and by layout",
            ),
        ],
    )
    def test_labels_of_a_mapping_that_do_not_fit(self, folder, options, message):
        """A mapping with dim `file` cannot label files that share a cell; mapping and layout must
        not name the same dim."""
        with pytest.raises(ValueError, match=message):
            perfarray.read_archive({"old": folder / "old"}, **options)

    @pytest.mark.parametrize(
        ("layout", "message"),
        [
            ("{a}/{b}_{c}_{d}.json", "its path does not match layout="),
            ("results.json", "must name dims in braces, each once"),
            ("{machine/{session}.json", "has a '{' whose '}' is missing"),
            ("machine}/{session}.json", "has a '}' whose '{' is missing"),
            ("{a}/{a}.json", "must name dims in braces, each once"),
            (
                "{execution}.json",
                "the layout names the level 'execution', but the file holds several of its own",
            ),
            (
                "{iteration}.json",
                "the layout names the level 'iteration', but the file holds several of its own",
            ),
            ("{time}.json", "its place names 'time', which is a variable of the file"),
            (
                "{benchmark}.json",
                "its place says benchmark='two', but the file holds several: 'a', 'b'",
            ),
        ],
    )
    def test_what_is_wrong_is_said(self, tmp_path, layout, message):
        path = write(
            tmp_path / "two.json", suite(bench("a", run(1.0), run(2.0, 3.0)), bench("b", run(1.0)))
        )
        with pytest.raises(ValueError, match=message):
            perfarray.read_archive([path], layout=layout)

    def test_on_error_decides_about_places_too(self, tmp_path):
        """A file that contradicts its path is left out like a broken one."""
        write(tmp_path / "a.json", suite(bench("a", run(1.0))))
        write(tmp_path / "b.json", suite(bench("a", run(1.0), run(2.0))))
        with pytest.warns(
            UserWarning,
            match=(
                r"of 2 files, 1 is broken and left out: .*b\.json: the layout names the level "
                r"'execution'"
            ),
        ):
            assert (
                perfarray.read_archive(tmp_path, layout="{execution}.json", on_error="warn").sizes[
                    "execution"
                ]
                == 1
            )
