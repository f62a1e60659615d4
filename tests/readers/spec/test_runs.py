"""SPEC runs, one per file: rows without a head, sums and scores among the rows, fields left
empty."""

import pytest

import perfarray
from perfarray.readers.opening import FileError, Source
from perfarray.readers.recognising import recognise
from readers.files_of_our_own import NAN, read_placed, reader, readings, refusals, write
from shared_material import ARCHIVES, needs_archives

HEADED = "benchmark,time,ratio\n500.alpha_r,344,4.63\n503.gamma_r,211,12.42\nint_rate,555,7.58\n"


read = reader("time.csv")


test_what_is_read = readings(
    read,
    [
        *(
            (
                (
                    f"rows without a head are benchmark and seconds; decimals differ; the end is "
                    f"{end!r}"
                ),
                f"400.alpha,142.991572\n410.beta,97.6\n500.gamma_r,335{end}",
                {
                    "time.dims": ("benchmark", "execution"),
                    "time": [[142.991572], [97.6], [335.0]],
                    "suite": ["int2006", "fp2006", "int2017"],
                    "time.attrs": {"units": "s", "better": "lower"},
                    "metric": "time",
                },
            )
            for end in ("", "\n", "\r\n")
        ),
        (
            "sums and scores are left out and counted",
            HEADED,
            {
                "benchmark": ["500.alpha_r", "503.gamma_r"],
                "ratio": [[4.63], [12.42]],
                "ratio.attrs": {"units": "1", "better": "higher"},
                "n_summary_rows": 1,
                "format": "spec_runs",
                "metric": "ratio",
            },
        ),
        (
            "empty fields are not measured",
            "benchmark,time,ratio\n500.alpha_r,,\n503.gamma_r,211,\nint_rate,,\n",
            {"time": [[NAN], [211]], "ratio": [[NAN], [NAN]]},
        ),
        (
            "of a benchmark that occurs twice both are kept; one of no known suite is read",
            "benchmark,time,ratio\nown,1.5,2\nown,2.5,3\n",
            {"benchmark": ["own", "own#2"], "suite": ["unknown", "unknown"]},
            "occur more than once",
        ),
    ],
)


def test_one_run_says_nothing_of_variance(tmp_path):
    """An attribute says so, and methods return NaN and a warning, never 0."""
    times = read(tmp_path, HEADED)
    assert times.attrs["runs"] == "one per file: how much runs vary cannot be told from one"
    with pytest.warns(UserWarning, match="2 of 2 cells rest on one execution"):
        components = times.perf.variance_components()
    assert not (components["coefficient_of_variation"] == 0).any()
    assert components["coefficient_of_variation"].isnull().all()


test_executions_are_in_the_path = readings(
    read_placed,
    [
        (
            "by a layout",
            (
                "{machine}-{execution}.csv",
                {"box-001.csv": HEADED, "box-002.csv": HEADED.replace("344", "350")},
            ),
            {
                "time.dims": ("benchmark", "machine", "execution"),
                "time": [[[344, 350]], [[211, 211]]],
            },
        ),
    ],
)


def test_reference_times_are_no_measurements(tmp_path):
    text = "400.alpha,9770\n401.beta,9650\n"
    for content in (text, HEADED):
        assert recognise(Source(write(tmp_path / "2006__reftime.csv", content))) is None
    with pytest.raises(FileError, match=r"reftime.csv: holds reference times, by its name"):
        read(tmp_path, text, "reftime.csv", format="spec_runs")
    assert read(tmp_path, text)["time"].count() == 2


test_broken_files = refusals(
    read,
    "time.csv",
    [
        ("400.alpha,1.5\n401.be", r"line 2 has 1 cells \('401.be'\); expected benchmark, time$"),
        ("400.alpha,1.5\n401.beta,fast\n", "line 2: 'fast' of '401.beta' is not a number above 0"),
        ("400.alpha,1.5\n401.beta,0\n", "line 2: '0' of '401.beta'"),
        (
            "benchmark,time,ratio\n500.alpha_r,344\n",
            "line 2 has 2 cells .* expected benchmark, time, ratio$",
        ),
        (
            "benchmark,time,ratio\n500.alpha_r,344,4.63\nbenchmark,time,ratio\n",
            "line 3: 'time' of 'benchmark' is not a number",
        ),
        ("benchmark,time,ratio\n500.alpha_r,,\n", "has no time of any benchmark in 2 lines"),
    ],
)


@needs_archives
def test_genuine_files():
    """Every file of runs reads; reference times and the output of other tools are left alone."""
    files = sorted((ARCHIVES / "spec_single_run_csv").rglob("*.csv"))
    read_files = [path for path in files if "reftime" not in path.name]
    assert len(files) - len(read_files) == 2
    for path in read_files:
        times = perfarray.read(path)
        assert times["time"].count() in (10, 13, 23, 29)
        assert not times["benchmark"].str.contains("rate").any()
    paths = list((ARCHIVES / "spec_single_run_csv").rglob("*.txt"))
    assert all(recognise(Source(path)) is None for path in paths)
