"""pyperf files: what is measured, what is marked, what is passed over."""

import json

import numpy as np
import pytest

import perfarray
from readers.files_of_our_own import (
    CALIBRATION,
    NAN,
    bench,
    check,
    reader,
    readings,
    refusals,
    run,
    small_suite,
    suite,
    write,
)
from shared_material import ARCHIVES, needs_archives

read = reader("file.json")


def old(version, *runs, **metadata):
    """Return a file of a version before "1.0": `common_metadata` in the benchmark up to version
    5."""
    if version == 6:
        return suite({"runs": runs}, version=6, name="telco", **metadata)
    return {
        "version": version,
        "benchmarks": [{"common_metadata": {"name": "telco"} | metadata, "runs": runs}],
    }


RECALIBRATION = run(warmups=[(4, 0.3)], recalibrate_loops=4)
REPEATED = suite(bench("a", run(1.0)), bench("a", run(2.0)), bench("a#2", run(3.0)))
OWN = bench("a", run(1.0, hostname="h2"), run(2.0), cpu_model_name="own", tags=["x", "y"])
COMMON = {"hostname": "h1", "cpu_model_name": "common", "cpu_count": 8, "python_version": "3.14"}
UNITS = suite(
    bench("a", run(1.0)), bench("b", run(4096.0), unit="byte"), bench("c", run(7), unit="integer")
)

test_what_is_read = readings(
    read,
    [
        (
            (
                "runs are executions, values iterations; warm-ups come first, are marked, and are "
                "times per loop as the values are"
            ),
            small_suite(10.0, 20.0),
            {
                "time.dims": ("benchmark", "execution", "iteration"),
                "time": [[[12.0, 10.0, 11.0], [22.0, 20.0, 21.0]]],
                "warmup": [[[True, False, False]] * 2],
                "time.attrs": {"units": "s", "better": "lower"},
                "format": "pyperf",
                "metric": "time",
                "n_calibration_runs": 1,
            },
        ),
        (
            "runs without values are counted wherever they stand",
            suite(bench("fft", CALIBRATION, RECALIBRATION, run(1.0), RECALIBRATION, run(2.0))),
            {"time": [[[1.0], [2.0]]], "n_calibration_runs": 3},
        ),
        (
            "ragged runs are padded, and the rest is not marked",
            suite(
                bench("a", run(1.0, 2.0, 3.0), run(4.0, warmups=[(1, 9.0)])), bench("b", run(5.0))
            ),
            {
                "time": [[[1.0, 2.0, 3.0], [9.0, 4.0, NAN]], [[5.0, NAN, NAN], [NAN, NAN, NAN]]],
                "warmup": [[[False] * 3, [True, False, False]], [[False] * 3] * 2],
            },
        ),
        (
            "the second of two benchmarks of one name becomes `#2`",
            REPEATED,
            {"benchmark": ["a", "a#3", "a#2"], "time": [[[1.0]], [[2.0]], [[3.0]]]},
            "1 benchmark names occur more than once",
        ),
        (
            (
                "metadata of a benchmark override those of the file, those of a run both; what a "
                "benchmark does not say is unknown"
            ),
            suite(OWN, bench("b", run(3.0), run(4.0)), **COMMON),
            {
                "cpu": ["own", "common"],
                "machine": [["h2", "h1"], ["h1", "h1"]],
                "tags": ["x, y", "unknown"],
                "logical_cores": 8,
                "python_version": "3.14",
                "cpu.dims": ("benchmark",),
                "machine.dims": ("benchmark", "execution"),
                "logical_cores.dims": (),
            },
        ),
        (
            "name and unit of a run count only where benchmark and file have none",
            suite(bench("a", run(1.0, name="b", unit="byte"), unit="second")),
            {"benchmark": ["a"], "metrics": ["time"]},
        ),
        (
            "other units are other variables",
            UNITS,
            {
                "metrics": ["time", "memory", "count"],
                "time.units": "s",
                "memory.units": "B",
                "count.units": "1",
                "memory": [[[NAN]], [[4096.0]], [[NAN]]],
                "time": [[[1.0]], [[NAN]], [[NAN]]],
                "count": [[[NAN]], [[NAN]], [[7]]],
            },
        ),
        (
            "a file of bytes has no time",
            suite(bench("a", run(4096.0)), unit="byte"),
            {"metrics": ["memory"], "metric": "memory"},
        ),
        (
            "the number of cores may be text",
            old(3, {"samples": [0.5]}, cpu_count="2"),
            {"logical_cores": 2},
        ),
        *(
            (f"what old versions wrote: {kind}", content, {"time": [[times]]})
            for kind, content, times in (
                (
                    "samples and bare warm-ups are per loop",
                    old(3, {"samples": [0.5, 0.6], "warmups": [0.7]}, loops=4, inner_loops=2),
                    [0.7, 0.5, 0.6],
                ),
                (
                    "raw samples, and bare warm-ups beside them, are times of all loops",
                    old(3, {"raw_samples": [4.0, 8.0], "warmups": [16.0]}, loops=4, inner_loops=2),
                    [2.0, 0.5, 1.0],
                ),
                (
                    "loops of a run count more than those of the benchmark",
                    old(3, {"raw_samples": [4.0], "metadata": {"loops": 2}}, loops=4),
                    [2.0],
                ),
                *(
                    (
                        f"warm-ups with loops are times of all loops in version {version}",
                        old(version, {values: [0.5], "warmups": [[4, 8.0]]}, inner_loops=2),
                        [1.0, 0.5],
                    )
                    for version, values in ((4, "samples"), (5, "samples"), (6, "values"))
                ),
                (
                    "the current version divides before it writes",
                    suite(bench("a", run(0.5, warmups=[(4, 0.7)])), inner_loops=2),
                    [0.7, 0.5],
                ),
            )
        ),
    ],
)


def test_the_first_run_dates_the_file(tmp_path):
    """Commits of a folder are sorted by their dates."""
    for commit, day in (("aa", 2), ("bb", 1)):
        runs = [run(1.0, date=f"2026-03-0{day} 02:00:0{second}") for second in (1, 0)]
        write(tmp_path / f"{commit}.json", suite(bench("fft", *runs)))
    times = perfarray.read_archive(tmp_path, layout="{commit}.json")
    assert times["date"].dims == ("commit",)
    check(times, commit=["bb", "aa"], date=["2026-03-01 02:00:00", "2026-03-02 02:00:00"])


def test_metadata_of_runs_become_a_dim(tmp_path):
    times = read(tmp_path, suite(OWN, **COMMON), dims={"host": "machine"})
    check(times, host=["h2", "h1"])
    assert times["time"].sel(host="h1").squeeze().item() == 2.0


@pytest.mark.parametrize(
    ("duration", "iteration", "execution"), [(3.5, NAN, 6.5 + 1.5), (4.0, 4 / 3, 6.0 + 4 / 3)]
)
def test_costs(tmp_path, duration, iteration, execution):
    """The gap between runs is the start of a process; a run that takes more than 1.25 times its
    loops sets up each value."""
    metadata = [
        {"date": f"2026-01-01 00:00:{second:02}", "duration": duration, "loops": 1}
        for second in (0, 10, 20, 30)
    ]
    times = read(
        tmp_path,
        suite(bench("fft", *(run(1.0, 1.0, warmups=[(2, 1.0)], **costs) for costs in metadata))),
    )
    np.testing.assert_allclose(times["execution_seconds"], execution)
    assert ("iteration_seconds" in times.coords) == (duration == 4.0)
    np.testing.assert_allclose(times.coords.get("iteration_seconds", NAN), iteration)


@pytest.mark.parametrize("level", ["file", "benchmark", "run", "none"])
def test_name_is_found_at_every_level(tmp_path, level):
    """The name is in the metadata of the benchmark, of the file, or of the runs; a benchmark nobody
    named is called like its file."""
    content = suite({"runs": [run(1.0)]})
    levels = {
        "file": content,
        "benchmark": content["benchmarks"][0],
        "run": content["benchmarks"][0]["runs"][0],
        "none": {},
    }
    levels[level]["metadata"] = {"name": "telco"}
    check(
        read(tmp_path, content, "sorting.v2.json"),
        benchmark=["sorting" if level == "none" else "telco"],
    )


RAW = [{"raw_samples": [0.0, 2.0, None], "warmups": [[1, None]]}]

test_entries_without_a_number = readings(
    read,
    [
        (
            "a benchmark without values failed, and is named",
            suite(bench("fft", run(1.0, 2.0)), bench("sort", CALIBRATION, run())),
            {
                "time": [[[1.0, 2.0]], [[NAN, NAN]]],
                "failed": [[[False, False]], [[True, False]]],
                "n_calibration_runs": 2,
                "notes": ["failed_entries"],
            },
            "1 benchmark has failed runs: 'sort: it has 2 runs and no values in any of them'",
        ),
        (
            "a time of 0 is a value; one that is no number is missing, and named",
            suite(bench("a", run(0.0, None)), bench("b", run(1.0, NAN))),
            {"time": [[[0.0, NAN]], [[1.0, NAN]]], "notes": ["no_numbers"]},
            (
                '2 values are missing: "value 1 of execution 0 of \'a\' is null", "value 1 of '
                "execution "
                "0 of 'b' is nan\""
            ),
        ),
        (
            "so are raw samples, and warm-ups",
            suite({"runs": RAW, "metadata": {"name": "a", "loops": 2}}, version=4),
            {"time": [[[NAN, 0.0, 1.0, NAN]]], "warmup": [[[True, False, False, False]]]},
            "2 values are missing",
        ),
    ],
)
test_what_is_wrong_is_said = refusals(
    read,
    "file.json",
    [
        ({"version": "1.0", "benchmarks": []}, "'benchmarks' is an empty list"),
        (
            suite(bench("sort", CALIBRATION), bench("fft")),
            r"benchmark 'sort' \(benchmarks\[0\]\) has 1 runs and no values in any of them",
        ),
        (
            suite(bench("a", run(True))),
            "value 0 of execution 0 of 'a' is True; expected a number from 0",
        ),
        (suite(bench("a", run(1.0)), unit="furlong"), ".*unit 'furlong' is not one pyperf knows"),
        (
            suite(bench("a", {"values": 3.0})),
            (
                r"is not as pyperf writes it: benchmarks\[0\]\.runs\[0\]\.values is 3\.0; "
                r"expected a list$"
            ),
        ),
        (
            suite(bench("a", run(1.0)), cpu_count="many"),
            r".*metadata\.cpu_count is 'many'; expected a number from 1$",
        ),
        (
            suite({"runs": [{"raw_samples": [1.0]}]}, loops=0),
            r".*metadata\.loops is 0; expected a number from 1$",
        ),
        (
            json.dumps(small_suite(1.0), indent=1)[:150],
            r"is not valid JSON: the file is cut off at line \d+, column \d+",
        ),
        *(
            (
                suite(bench("a", run(1.0)), version=version),
                r"has version .* that can be read are 3, 4, 5, 6, '1\.0'",
            )
            for version in (2, "2.0", None, True, [1])
        ),
    ],
)
test_a_forced_format_must_fit = refusals(
    lambda folder, content: read(folder, content, format="pyperf"),
    "file.json",
    [
        ([], r"is not as pyperf writes it: the document is \[\]; expected an object$"),
        (
            {"version": "1.0", "benchmarks": 3},
            "is not as pyperf writes it: benchmarks is 3; expected a list$",
        ),
    ],
)


def test_the_file_name_may_lie(tmp_path):
    """The metadata tell the interpreter, not the name of the file."""
    files = {
        name: write(tmp_path / f"{name}.json", small_suite(1.0, python_version="3.6.8"))
        for name in ("py36", "py38")
    }
    check(
        perfarray.read_archive(files, dim="version"),
        version=["py36", "py38"],
        python_version="3.6.8",
    )


@needs_archives
@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("telco.json", "telco.2016-10-21.2348d9d.json"),
        ("outliers.json.gz", "outliers.2017-03-16.fd790ce.json"),
    ],
)
def test_versions_of_one_file_agree(new, old):
    """The same measurements written by an old and a new version are the same numbers."""
    folder = ARCHIVES / "pyperf" / "psf_pyperf"
    first, second = perfarray.read(folder / new), perfarray.read(folder / "old" / old)
    np.testing.assert_allclose(first["time"], second["time"], rtol=1e-9)
    np.testing.assert_array_equal(first["warmup"], second["warmup"])


@needs_archives
@pytest.mark.parametrize(
    "name",
    [
        "moreati_counter-top/pypy.json",
        "psf_pyperf/outliers.json.gz",
        "psf_pyperf/old/outliers.2017-03-16.fd790ce.json",
    ],
)
def test_pyperf_reads_the_same(name):
    pyperf = pytest.importorskip("pyperf")
    path = ARCHIVES / "pyperf" / name
    times = perfarray.read(path)
    for theirs in pyperf.BenchmarkSuite.load(str(path)).get_benchmarks():
        ours = times.sel(benchmark=theirs.get_name())
        warmup, values = ours["warmup"].values, ours["time"].values
        np.testing.assert_allclose(
            values[~warmup & ~np.isnan(values)], theirs.get_values(), rtol=1e-12
        )
        warm = [value for run in theirs.get_runs() if run.values for _, value in run.warmups]
        np.testing.assert_allclose(values[warmup], warm, rtol=1e-12)
