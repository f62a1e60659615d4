"""Many files become one Dataset: what is left out, and what differs between files."""

import gc
import json

import numpy as np
import pytest

import perfarray
from readers.files_of_our_own import bench, entry, run, small_suite, suite, write


class TestWhatIsLeftOut:
    """Files of no known format, broken files, and how they are reported."""

    @pytest.fixture
    def mixed(self, tmp_path):
        """Return a folder with one good file, some of other kinds, and one that is cut off."""
        write(tmp_path / "good.json", small_suite(1.0))
        write(tmp_path / "README.md", "# Results\n")
        write(tmp_path / "other.json", {"a": 1})
        write(tmp_path / "plot.png", b"\x89PNG\r\n\x1a\n\xff\xfe")
        write(tmp_path / "empty.json", b"")
        return tmp_path

    def test_other_files_are_counted_in_one_warning(self, mixed):
        """Binary, empty or of another kind: they are skipped."""
        with pytest.warns(UserWarning, match="of 5 files") as caught:
            times = perfarray.read_archive(mixed)
        assert [str(one.message) for one in caught] == [
            "of 5 files, 4 are of no known format and left out: 'README.md', 'empty.json', 'other.json', 'plot.png'"
        ]
        assert caught[0].filename == __file__
        assert times.attrs["n_files_skipped"] == 4

    @pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
    @pytest.mark.parametrize("enabled", [True, False])
    def test_the_collector_is_as_it_was(self, mixed, enabled):
        """The search for cyclic garbage pauses while files are read, whether that ends well or not."""
        try:
            (gc.enable if enabled else gc.disable)()
            perfarray.read_archive(mixed)
            assert gc.isenabled() == enabled
            with pytest.raises(ValueError, match="none of the 1 files"):
                perfarray.read_archive(mixed / "README.m*")
            assert gc.isenabled() == enabled
        finally:
            gc.enable()

    def test_broken_files_raise(self, mixed):
        """A file that began as a known format is named, with the place; among others, with how these can be read."""
        write(mixed / "cut.json", json.dumps(small_suite(1.0))[:-30])
        with pytest.raises(ValueError, match=r"cut\.json: is not valid JSON: the file is cut off at line 1, column \d+") as caught:
            perfarray.read_archive(mixed)
        assert caught.value.__notes__ == ['on_error="warn" leaves such files out, and names them']
        with pytest.raises(ValueError, match="is not valid JSON") as caught:
            perfarray.read_archive(mixed / "cut.json")
        assert not hasattr(caught.value, "__notes__")

    def test_broken_files_warn(self, mixed):
        """One warning has the counts and the names of both."""
        write(mixed / "cut.json", json.dumps(small_suite(1.0))[:-30])
        write(mixed / "nothing.json", suite(bench("a")))
        with pytest.warns(UserWarning, match="of 7 files") as caught:
            times = perfarray.read_archive(mixed, on_error="warn")
        assert len(caught) == 1
        message = str(caught[0].message)
        assert message.startswith("of 7 files, 2 are broken and left out: ")
        assert "cut.json: is not valid JSON" in message
        assert "nothing.json: benchmark 'a'" in message
        assert "\nof 7 files, 4 are of no known format" in message
        assert [(note.code, note.values["files"], note.values["of"]) for note in caught[0].message.notes] == [
            ("broken_files", 2, 7),
            ("unknown_format", 4, 7),
        ]
        assert times.perf.notes() == caught[0].message.notes
        assert times.attrs["n_files_broken"] == 2

    def test_broken_files_are_skipped(self, mixed):
        """Broken files are only counted; files of unknown format are named."""
        write(mixed / "cut.json", json.dumps(small_suite(1.0))[:-30])
        with pytest.warns(UserWarning, match="^of 6 files, 4 are of no known format"):
            times = perfarray.read_archive(mixed, on_error="skip")
        assert times.attrs["n_files_broken"] == 1

    def test_a_file_that_was_named_must_be_read(self, mixed):
        """`on_error` applies to every file of a list."""
        files = [mixed / "good.json", mixed / "other.json"]
        with pytest.raises(
            ValueError, match=r"other\.json: no reader recognises its content, .*; formats that are known: asv, .*jmh, .*pyperf"
        ):
            perfarray.read_archive(files)
        with pytest.warns(UserWarning, match="1 is broken and left out: "):
            assert perfarray.read_archive(files, on_error="warn").attrs["n_files"] == 1
        assert perfarray.read_archive(files, on_error="skip").attrs["n_files_broken"] == 1

    def test_nothing_readable(self, mixed):
        with pytest.raises(
            ValueError, match=r"none of the 1 files in .* could be read: 1 is of no known format.*known: asv, .*jmh, .*pyperf"
        ):
            perfarray.read_archive(str(mixed / "*.md"))
        with pytest.raises(ValueError, match=r"none of the 1 files in .* could be read: 1 is broken and left out: .*no reader recognises"):
            perfarray.read_archive([mixed / "other.json"], on_error="skip")

    def test_on_error_is_checked(self, mixed):
        with pytest.raises(ValueError, match="on_error='ignore' is not known; choose one of 'raise', 'warn', 'skip'"):
            perfarray.read_archive(mixed, on_error="ignore")

    def test_a_path_beside_the_layout_is_broken(self, mixed):
        """`on_error` applies to files whose path does not match the layout."""
        write(mixed / "a_1.json", small_suite(1.0))
        with pytest.warns(UserWarning, match=r"1 is broken and left out: .*good\.json: its path does not match layout"):
            times = perfarray.read_archive(str(mixed / "*.json"), layout="{version}_{session}.json", on_error="warn")
        assert times.attrs["n_files"] == 1

    def test_what_readers_notice_is_one_warning_too(self, tmp_path):
        """Notes of readers and files left out come in one warning."""
        for name in ("a", "b"):
            write(tmp_path / f"{name}.json", [entry(), entry()])
        write(tmp_path / "c.txt", "nothing")
        with pytest.warns(UserWarning, match=r"(?s)of 3 files, 1 is.*a\.json: 1 benchmark names.*b\.json: 1 benchmark names") as caught:
            perfarray.read_archive(tmp_path)
        assert len(caught) == 1

    def test_many_notes_are_cut_short(self, tmp_path):
        """A result keeps five notes of a kind and counts the rest."""
        for number in range(9):
            write(tmp_path / f"{number}.json", [entry(), entry()])
        with pytest.warns(UserWarning, match=r"4\.json: .*\nand 4 more of the kind 'repeated_names'$"):
            perfarray.read_archive(tmp_path)


class TestFormat:
    def test_unknown(self, folder):
        with pytest.raises(
            ValueError,
            match=r"format='perf' is not known; choose one of: .*jmh, .*pyperf, .*spec_csv, .*speedup_test, tidy_csv",
        ):
            perfarray.read_archive(folder, format="perf")

    def test_forced_on_a_folder(self, tmp_path):
        """A file that cannot have the format is skipped; one that can is read although it is not recognised."""
        write(tmp_path / "a.csv", "# metric: cycles\nprogram,cycles\nfft,5\n")
        write(tmp_path / "b.md", "# Results\n")
        with pytest.warns(UserWarning, match=r"of 2 files, 1 is of no known format and left out: 'b\.md'"):
            found = perfarray.read_archive(tmp_path, format="tidy_csv")
        assert list(found) == ["cycles"]

    def test_forced_on_a_file(self, tmp_path):
        with pytest.raises(ValueError, match=r"a\.json: is not as jmh writes it: the document is .*; expected a list"):
            perfarray.read_archive([write(tmp_path / "a.json", small_suite(1.0))], format="jmh")


class TestJoins:
    def test_marks_are_bool_everywhere(self, tmp_path):
        """A mark that a file lacks is False there."""
        write(tmp_path / "a.json", suite(bench("fft", run(1.0, warmups=[(1, 2.0)]))))
        write(tmp_path / "b.csv", "benchmark,failed,time\nfft,1,3\nfft,0,4\n")
        times = perfarray.read_archive(tmp_path)
        assert times["warmup"].dtype == times["failed"].dtype == bool
        assert times["warmup"].sum() == times["failed"].sum() == 1

    def test_a_benchmark_one_file_lacks_is_nan(self, tmp_path):
        write(tmp_path / "a.json", suite(bench("fft", run(1.0)), bench("sort", run(1.0))))
        write(tmp_path / "b.json", suite(bench("fft", run(1.0))))
        times = perfarray.read_archive(tmp_path)
        assert np.isnan(times["time"].sel(benchmark="sort", file="b.json")).all()

    def test_descriptors_lie_on_as_few_dims_as_they_need(self, tmp_path):
        """Missing descriptors are `unknown`."""
        write(tmp_path / "a.json", small_suite(1.0, python_version="3.13", platform="Linux", cpu_count=4))
        write(tmp_path / "b.json", small_suite(1.0, python_version="3.14", platform="Linux"))
        times = perfarray.read_archive(tmp_path)
        assert times["os"].dims == ()
        assert times["python_version"].dims == ("file",)
        np.testing.assert_array_equal(times["logical_cores"], [4.0, np.nan])
        write(tmp_path / "c.json", small_suite(1.0))
        times = perfarray.read_archive(tmp_path)
        assert times["python_version"].values.tolist() == ["3.13", "3.14", "unknown"]
        assert times["os"].values.tolist() == ["Linux", "Linux", "unknown"]

    def test_metrics_of_several_files(self, tmp_path):
        """Each file's metric is NaN in the others; time is the main one."""
        write(tmp_path / "a.json", suite(bench("fft", run(1.0))))
        write(tmp_path / "b.json", suite(bench("fft", run(4096.0)), unit="byte"))
        write(tmp_path / "c.json", [entry("fft", unit="ops/s", mode="thrpt")])
        found = perfarray.read_archive(tmp_path)
        assert set(found) == {"time", "memory", "throughput"}
        assert found.attrs["metric"] == "time"
        assert "format" not in found.attrs
        assert {name: int(variable.count()) for name, variable in found.items()} == {"time": 1, "memory": 1, "throughput": 2}

    def test_rates_of_several_units_are_per_second(self, tmp_path):
        """ops/ms in one file and ops/us in the next meet in ops/s; a single unit stays."""
        write(tmp_path / "a.json", [entry(unit="ops/ms", mode="thrpt")])
        write(tmp_path / "b.json", [entry(unit="ops/us", mode="thrpt")])
        found = perfarray.read_archive(tmp_path)["throughput"]
        assert found.attrs == {"units": "ops/s", "better": "higher"}
        np.testing.assert_allclose(found.isel(execution=0, iteration=0).values.ravel(), [1e3, 1e6])
        assert perfarray.read_archive(str(tmp_path / "a*"))["throughput"].attrs["units"] == "ops/ms"

    def test_rates_of_other_things_are_other_variables(self, tmp_path):
        """Operations and megabytes per second do not mix."""
        write(tmp_path / "a.csv", "# units: MB/s\nbenchmark,throughput\nfft,1\n")
        write(tmp_path / "b.csv", "# units: ops/ms\nbenchmark,throughput\nfft,1\n")
        found = perfarray.read_archive(tmp_path)
        assert {name: variable.attrs["units"] for name, variable in found.items()} == {"throughput_MB_s": "MB/s", "throughput": "ops/s"}
        assert found.attrs["metric"] == "throughput"

    def test_a_dim_of_one_file_that_describes_another(self, tmp_path):
        """A host name and a column `machine` are the same dim."""
        write(tmp_path / "a.json", small_suite(1.0, hostname="h1"))
        write(tmp_path / "b.json", suite(bench("fft", run(1.0))))
        write(tmp_path / "c.csv", "benchmark,machine,time\nfft,h1,1\nfft,h2,1\n")
        times = perfarray.read_archive(tmp_path)
        assert times["machine"].values.tolist() == ["h1", "unknown", "h2"]
        assert times["time"].count() == 3 + 1 + 2

    def test_a_column_named_like_a_dim_of_the_place(self, tmp_path):
        write(tmp_path / "a.csv", "benchmark,site,time\nfft,x,1\nsort,y,1\n")
        times = perfarray.read_archive(tmp_path, layout="{site}.csv")
        assert times["site"].values.tolist() == ["a"]
        assert times["site_recorded"].sel(benchmark="sort").item() == "y"

    def test_files_of_one_place_may_complete_each_other(self, tmp_path):
        """Files that share no cell need no further dim."""
        write(tmp_path / "a.csv", "benchmark,version,time\nfft,old,1\nsort,new,2\n")
        write(tmp_path / "b.csv", "benchmark,version,time\nfft,new,3\nsort,old,4\n")
        times = perfarray.read_archive({"m": tmp_path}, dim="machine")
        assert times["time"].sizes == {"benchmark": 2, "version": 2, "machine": 1, "execution": 1}
        assert times["time"].notnull().all()

    def test_a_machine_that_varies_between_runs_stays_beside_the_dim(self, tmp_path):
        """A descriptor of executions can not become a dim."""
        write(tmp_path / "a.json", suite(bench("fft", run(1.0, hostname="h1"), run(2.0, hostname="h2"))))
        write(tmp_path / "b.csv", "benchmark,machine,time\nfft,h1,1\n")
        times = perfarray.read_archive(tmp_path)
        assert times["machine"].values.tolist() == ["unknown", "h1"]
        assert {"h1", "h2"} <= set(times["machine_recorded"].values.ravel())

    def test_what_runs_say_in_one_file_and_the_file_in_another(self, tmp_path):
        """The coordinate lies along executions, and is the same for all of them where the file says it."""
        write(tmp_path / "a.json", suite(bench("fft", run(1.0, hostname="h1"), run(2.0, hostname="h2"))))
        write(tmp_path / "b.json", suite(bench("fft", run(1.0), run(2.0)), bench("sort", run(1.0), hostname="h4"), hostname="h3"))
        write(tmp_path / "c.json", suite(bench("fft", run(1.0))))
        times = perfarray.read_archive(tmp_path)
        assert times["machine"].sel(benchmark="fft").transpose("file", "execution").values.tolist() == [
            ["h1", "h2"], ["h3", "h3"], ["unknown", "unknown"],
        ]  # fmt: skip
        assert times["machine"].sel(benchmark="sort", file="b.json").values.tolist()[0] == "h4"
