"""Many files become one Dataset: what is left out, and what differs between files."""

import gc
import json

import pytest

import perfarray
from readers.files_of_our_own import (
    NAN,
    bench,
    check,
    entry,
    readings,
    run,
    small_suite,
    suite,
    write,
)

CUT_OFF = json.dumps(small_suite(1.0))[:-30]


class TestWhatIsLeftOut:
    """Files of no known format, broken files, and how they are reported."""

    @pytest.fixture
    def mixed(self, tmp_path):
        """Return a folder with one good file and some of other kinds: binary, empty, text and
        JSON."""
        contents = {
            "README.md": "# Results\n",
            "other.json": {"a": 1},
            "plot.png": b"\x89PNG\r\n\x1a\n\xff\xfe",
            "empty.json": b"",
        }
        for name, content in {"good.json": small_suite(1.0), **contents}.items():
            write(tmp_path / name, content)
        return tmp_path

    def test_other_files_are_counted_in_one_warning(self, mixed):
        with pytest.warns(UserWarning, match="of 5 files") as caught:
            times = perfarray.read_archive(mixed)
        assert [str(warning.message) for warning in caught] == [
            (
                "of 5 files, 4 are of no known format and left out: 'README.md', 'empty.json', "
                "'other.json', 'plot.png'"
            )
        ]
        assert caught[0].filename == __file__
        assert times.attrs["n_files_skipped"] == 4

    @pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
    @pytest.mark.parametrize("enabled", [True, False])
    def test_the_collector_is_as_it_was(self, mixed, enabled):
        """The search for cyclic garbage pauses while files are read, whether that ends well or
        not."""
        try:
            (gc.enable if enabled else gc.disable)()
            perfarray.read_archive(mixed)
            assert gc.isenabled() == enabled
            with pytest.raises(ValueError, match="none of the 1 files"):
                perfarray.read_archive(mixed / "README.m*")
            assert gc.isenabled() == enabled
        finally:
            gc.enable()

    def test_broken_files(self, mixed):
        """A file that began as a known format is an error with the place and a remedy, or part of
        one warning, or only counted."""
        write(mixed / "cut.json", CUT_OFF)
        message = r"cut\.json: is not valid JSON: the file is cut off at line 1, column \d+"
        with pytest.raises(ValueError, match=message) as caught:
            perfarray.read_archive(mixed)
        assert caught.value.__notes__ == ['on_error="warn" leaves such files out, and names them']
        with pytest.raises(ValueError, match="is not valid JSON") as caught:
            perfarray.read_archive(mixed / "cut.json")
        assert not hasattr(caught.value, "__notes__")
        with pytest.warns(UserWarning, match="^of 6 files, 4 are of no known format"):
            assert perfarray.read_archive(mixed, on_error="skip").attrs["n_files_broken"] == 1
        write(mixed / "nothing.json", suite(bench("a")))
        broken = (
            rf"^of 7 files, 2 are broken and left out: .*{message}.*nothing\.json: benchmark 'a'"
        )
        with pytest.warns(
            UserWarning, match=rf"(?s){broken}.*\nof 7 files, 4 are of no known format"
        ) as caught:
            times = perfarray.read_archive(mixed, on_error="warn")
        (notes,) = [warning.message.notes for warning in caught]
        assert [(note.code, note.values["files"], note.values["of"]) for note in notes] == [
            ("broken_files", 2, 7),
            ("unknown_format", 4, 7),
        ]
        assert times.perf.notes() == notes
        assert times.attrs["n_files_broken"] == 2

    def test_a_file_that_was_named_must_be_read(self, mixed):
        """`on_error` applies to every file of a list."""
        files = [mixed / "good.json", mixed / "other.json"]
        message = r"other\.json: no reader recognises its content, .*; formats that are known: asv, .*jmh, .*pyperf"
        with pytest.raises(ValueError, match=message):
            perfarray.read_archive(files)
        with pytest.warns(UserWarning, match="1 is broken and left out: "):
            assert perfarray.read_archive(files, on_error="warn").attrs["n_files"] == 1
        assert perfarray.read_archive(files, on_error="skip").attrs["n_files_broken"] == 1

    @pytest.mark.parametrize(
        ("files", "options", "message"),
        [
            (
                lambda mixed: str(mixed / "*.md"),
                {},
                (
                    "none of the 1 files in .* could be read: 1 is of no known format.*known: "
                    "asv, .*jmh, "
                    ".*pyperf"
                ),
            ),
            (
                lambda mixed: [mixed / "other.json"],
                {"on_error": "skip"},
                (
                    "none of the 1 files in .* could be read: 1 is broken and left out: .*no "
                    "reader "
                    "recognises"
                ),
            ),
            (
                lambda mixed: mixed,
                {"on_error": "ignore"},
                "on_error='ignore' is not known; choose one of 'raise', 'warn', 'skip'",
            ),
            (
                lambda mixed: mixed,
                {"format": "perf"},
                (
                    "format='perf' is not known; choose one of: .*jmh, .*pyperf, .*spec_csv, "
                    ".*speedup_test, tidy_csv"
                ),
            ),
            (
                lambda mixed: [mixed / "good.json"],
                {"format": "jmh"},
                r"good\.json: is not as jmh writes it: the document is .*; expected a list",
            ),
            (
                lambda mixed: mixed,
                {"layout": "run.json", "on_error": "skip"},
                "layout='run.json' must name dims in braces",
            ),
        ],
    )
    def test_what_is_refused(self, mixed, files, options, message):
        with pytest.raises(ValueError, match=message):
            perfarray.read_archive(files(mixed), **options)

    def test_a_path_beside_the_layout_is_broken(self, mixed):
        write(mixed / "a_1.json", small_suite(1.0))
        with pytest.warns(
            UserWarning,
            match=r"1 is broken and left out: .*good\.json: its path does not match layout",
        ):
            times = perfarray.read_archive(
                str(mixed / "*.json"), layout="{version}_{session}.json", on_error="warn"
            )
        assert times.attrs["n_files"] == 1

    def test_what_readers_notice_is_one_warning_too(self, tmp_path):
        """Notes of readers and files left out come in one warning; a result keeps five notes of a
        kind and counts the rest."""
        for number in range(2):
            write(tmp_path / f"{number}.json", [entry(), entry()])
        write(tmp_path / "c.txt", "nothing")
        with pytest.warns(
            UserWarning,
            match=r"(?s)of 3 files, 1 is.*0\.json: 1 benchmark names.*1\.json: 1 benchmark names",
        ) as caught:
            perfarray.read_archive(tmp_path)
        assert len(caught) == 1
        for number in range(2, 9):
            write(tmp_path / f"{number}.json", [entry(), entry()])
        with pytest.warns(
            UserWarning, match=r"4\.json: .*\nand 4 more of the kind 'repeated_names'$"
        ):
            perfarray.read_archive(tmp_path)

    def test_a_format_forced_on_a_folder(self, tmp_path):
        """A file that cannot have the format is skipped; one that can is read although it is not
        recognised."""
        write(tmp_path / "a.csv", "# metric: cycles\nprogram,cycles\nfft,5\n")
        write(tmp_path / "b.md", "# Results\n")
        with pytest.warns(
            UserWarning, match=r"of 2 files, 1 is of no known format and left out: 'b\.md'"
        ):
            assert list(perfarray.read_archive(tmp_path, format="tidy_csv")) == ["cycles"]


def archive(folder, contents, **options):
    """Write a, b, c, of text or JSON, and read the folder."""
    for name, content in zip("abc", contents, strict=False):
        write(folder / f"{name}.{'csv' if isinstance(content, str) else 'json'}", content)
    return perfarray.read_archive(folder, **options)


FFT = suite(bench("fft", run(1.0)))
TWO_HOSTS = suite(bench("fft", run(1.0, hostname="h1"), run(2.0, hostname="h2")))


LINUX = [
    small_suite(1.0, python_version="3.13", platform="Linux", cpu_count=4),
    small_suite(1.0, python_version="3.14", platform="Linux"),
]
OPS_PER_MS, OPS_PER_US = ([entry(unit=unit, mode="thrpt")] for unit in ("ops/ms", "ops/us"))
FOUR_HOSTS = suite(
    bench("fft", run(1.0), run(2.0)), bench("sort", run(1.0), hostname="h4"), hostname="h3"
)

test_joins = readings(
    archive,
    [
        (
            "a mark that a file lacks is False there",
            [
                suite(bench("fft", run(1.0, warmups=[(1, 2.0)]))),
                "benchmark,failed,time\nfft,1,3\nfft,0,4\n",
            ],
            {
                "time": [[[[2.0, 1.0], [NAN, NAN]], [[3.0, NAN], [4.0, NAN]]]],
                "warmup": [[[[True, False], [False] * 2], [[False] * 2] * 2]],
                "failed": [[[[False] * 2] * 2, [[True, False], [False] * 2]]],
            },
        ),
        (
            "a benchmark one file lacks is NaN",
            [suite(bench("fft", run(1.0)), bench("sort", run(1.0))), FFT],
            {"file": ["a.json", "b.json"], "time": [[[[1.0]], [[1.0]]], [[[1.0]], [[NAN]]]]},
        ),
        (
            "descriptors lie on as few dims as they need",
            LINUX,
            {
                "os.dims": (),
                "os": "Linux",
                "python_version.dims": ("file",),
                "logical_cores": [4.0, NAN],
            },
        ),
        (
            "missing descriptors are unknown",
            [*LINUX, small_suite(1.0)],
            {"python_version": ["3.13", "3.14", "unknown"], "os": ["Linux", "Linux", "unknown"]},
        ),
        ("a single unit of rates stays", [OPS_PER_MS], {"throughput.units": "ops/ms"}),
        (
            "rates of several units are per second",
            [OPS_PER_MS, OPS_PER_US],
            {
                "throughput.attrs": {"units": "ops/s", "better": "higher"},
                "throughput": [[[[1e3, 2e3]], [[1e6, 2e6]]]],
            },
        ),
        (
            "rates of other things are other variables",
            [f"# units: {unit}\nbenchmark,throughput\nfft,1\n" for unit in ("MB/s", "ops/ms")],
            {
                "metrics": ["throughput_MB_s", "throughput"],
                "throughput_MB_s.units": "MB/s",
                "throughput.units": "ops/s",
                "metric": "throughput",
            },
        ),
        (
            "a host name and a column `machine` are the same dim",
            [small_suite(1.0, hostname="h1"), FFT, "benchmark,machine,time\nfft,h1,1\nfft,h2,1\n"],
            {
                "machine": ["h1", "unknown", "h2"],
                "time.dims": ("benchmark", "machine", "file", "execution", "iteration"),
                "time": [
                    [
                        [[[3.0, 1.0, 2.0]], [[NAN] * 3], [[1.0, NAN, NAN]]],
                        [[[NAN] * 3], [[1.0, NAN, NAN]], [[NAN] * 3]],
                        [[[NAN] * 3], [[NAN] * 3], [[1.0, NAN, NAN]]],
                    ]
                ],
            },
        ),
        (
            "a descriptor of executions can not become a dim",
            [TWO_HOSTS, "benchmark,machine,time\nfft,h1,1\n"],
            {"machine": ["unknown", "h1"]},
        ),
    ],
)


def test_metrics_of_several_files(tmp_path):
    """Each file's metric is NaN in the others; time is the main one."""
    times = archive(
        tmp_path,
        [
            FFT,
            suite(bench("fft", run(4096.0)), unit="byte"),
            [entry("fft", unit="ops/s", mode="thrpt")],
        ],
    )
    assert (times.attrs["metric"], "format" in times.attrs) == ("time", False)
    assert {name: int(variable.count()) for name, variable in times.items()} == {
        "time": 1,
        "memory": 1,
        "throughput": 2,
    }


def test_a_column_named_like_a_dim_of_the_place(tmp_path):
    times = archive(tmp_path, ["benchmark,site,time\nfft,x,1\nsort,y,1\n"], layout="{site}.csv")
    check(times, site=["a"])
    check(times.sel(benchmark="sort"), site_recorded="y")


def test_files_of_one_place_may_complete_each_other(tmp_path):
    """Files that share no cell need no further dim."""
    write(tmp_path / "a.csv", "benchmark,version,time\nfft,old,1\nsort,new,2\n")
    write(tmp_path / "b.csv", "benchmark,version,time\nfft,new,3\nsort,old,4\n")
    times = perfarray.read_archive({"m": tmp_path}, dim="machine")
    assert times["time"].sizes == {"benchmark": 2, "version": 2, "machine": 1, "execution": 1}
    assert times["time"].notnull().all()


def test_machines_of_runs_and_of_files(tmp_path):
    """The coordinate lies along executions, and is the same for all of them where the file says it;
    it stays beside a dim `machine`."""
    times = archive(tmp_path / "all", [TWO_HOSTS, FOUR_HOSTS, FFT]).transpose(
        "file", "execution", ...
    )
    check(times.sel(benchmark="fft"), machine=[["h1", "h2"], ["h3", "h3"], ["unknown", "unknown"]])
    assert times["machine"].sel(benchmark="sort", file="b.json").values.tolist()[0] == "h4"
    times = archive(tmp_path / "two", [TWO_HOSTS, "benchmark,machine,time\nfft,h1,1\n"])
    assert {"h1", "h2"} <= set(times["machine_recorded"].values.ravel())
