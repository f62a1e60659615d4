"""Genuine files of public archives: ours are read, those of other formats are left alone."""

import warnings
from contextlib import suppress

import numpy as np
import pytest

import perfarray
from perfarray.readers.opening import FileError, Source
from perfarray.readers.recognising import formats, recognise
from shared_material import ARCHIVES, needs_archives

pytestmark = needs_archives

OURS = ("pyperf", "jmh")

TRULY_TIDY = {"research_csv/mazouz_specomp/Mazouz.csv.xz", "research_csv/stabilizer/qq_data.csv.xz"}
"""Tables of other folders that are what `tidy_csv` says it reads."""

CONTRADICTIONS = {"jmh/bencher_tool_output/latency.json"}
"""Files whose mode and unit contradict each other."""


def files_of(*folders):
    """Return the data files of some folders, by their path in the archive."""
    paths = [path for folder in folders for path in sorted((ARCHIVES / folder).rglob("*"))]
    return [
        path.relative_to(ARCHIVES).as_posix()
        for path in paths
        if path.is_file() and path.name != "PROVENANCE.txt"
    ]


READ = {
    "google_benchmark": "google_benchmark",
    "hyperfine": "hyperfine",
    "pytest_benchmark": "pytest_benchmark",
    "go_bench": "go",
    "criterion_rs": "criterion",
    "benchmarkdotnet": "benchmarkdotnet",
    "asv": "asv",
    "rebench": "rebench",
    "krun": "krun",
    "renaissance": "renaissance",
    "benchexec": "benchexec",
    "phoronix": "phoronix",
    "conbench": "conbench",
    "mlperf": "mlperf",
    "caliper_rajaperf": "caliper",
}
"""Other folders that are read, and the names of their formats."""

REFUSED = {
    "google_benchmark/google_benchmark/test4_run.json": "holds no measurement",
    "google_benchmark/google_benchmark/test4_run0.json": "holds no measurement",
    "rebench/smarr_ReBenchDB/profile-payload.json": "holds no measurement",
    "pytest_benchmark/bencher_tool_output/two.json": (
        r"benchmarks\[0\]: 'data': value 4 is "
        r"'\.\.\. omitted"
    ),
}
"""Files of theirs that hold nothing that can be read, and what is said of them."""

BESIDE = {"benchmark.json", "benchmarks.json", "estimates.json", "machine.json", "tukey.json"}
UNREAD = {
    "asv/airspeed-velocity_asv/cheetah/bbbbbbbb-py2.7-Cython-numpy1.8.json",
    "conbench/conbench/GET_conbench_runs_some_contender.json",
    "conbench/conbench/outlier_A.csv",
    "conbench/conbench/outlier_C.csv",
    "conbench/conbench/outlier_D.csv",
    "criterion_rs/bencher_tool_output/dogfood.txt",
    "criterion_rs/bencher_tool_output/failed.txt",
    "rebench/smarr_ReBench/issue_32_jmh.data",
}
"""Files of no format in the same folders: companions, texts for people, broken files."""

SPEC = ("spec_csv", "spec_dump", "spec_single_run_csv", "spec_txt")
"""Folders whose files have tests of their own."""


FOLDERS = (
    sorted(path.name for path in ARCHIVES.iterdir() if path.is_dir()) if ARCHIVES.is_dir() else []
)


@pytest.mark.parametrize("name", files_of(*OURS) or ["none"])
def test_every_file_of_ours_reads(name):
    """It has times or rates and the format of its folder, and only contradictions are warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        times = perfarray.read(ARCHIVES / name)
    assert len(caught) == (name in CONTRADICTIONS)
    assert times.attrs["format"] == name.split("/")[0]
    main = times[times.attrs["metric"]]
    assert main.dims[-2:] == ("execution", "iteration")
    assert main.count() > 0
    assert "time" not in times or times["time"].attrs == {"units": "s", "better": "lower"}
    assert "throughput" not in times or times["throughput"].attrs["better"] == "higher"
    assert (main.notnull().any(("execution", "iteration"))).all() or len(times) > 1


@pytest.mark.parametrize(
    "folder", sorted({name.rpartition("/")[0] for name in files_of(*OURS)}) or ["none"]
)
def test_every_folder_of_ours_reads(folder):
    """The archive holds every measurement of its files; a copy of another file is left out, and
    named."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        times = perfarray.read_archive(ARCHIVES / folder)
        copies = [
            name
            for note in times.perf.notes()
            if note.code == "repeated_files"
            for name in note.values["names"]
        ]
        alone = [
            perfarray.read(ARCHIVES / name)
            for name in files_of(folder)
            if name.removeprefix(f"{folder}/") not in copies
        ]
    for metric in ("time", "throughput", "memory"):
        assert sum(
            int(file_times[metric].count()) for file_times in alone if metric in file_times
        ) == (int(times[metric].count()) if metric in times else 0)
    assert sum(
        int(file_times["warmup"].sum()) for file_times in alone if "warmup" in file_times
    ) == (int(times["warmup"].sum()) if "warmup" in times else 0)


@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
@pytest.mark.parametrize("folder", READ)
def test_every_file_is_read_or_refused_by_name(folder):
    """Its format is its folder's; what cannot be read is known, and the message says where and
    why."""
    for name in files_of(folder):
        refused = REFUSED.get(name) or (
            "no reader recognises" if name in UNREAD or name.rpartition("/")[2] in BESIDE else None
        )
        if refused is not None:
            with pytest.raises(FileError, match=refused):
                perfarray.read(ARCHIVES / name)
        else:
            times = perfarray.read(ARCHIVES / name)
            assert times.attrs["format"] == READ[folder]
            assert times[times.attrs["metric"]].dims[-2:] == ("execution", "iteration")
            assert int(times[times.attrs["metric"]].count()) > 0 or times["failed"].all()


@pytest.mark.parametrize(
    "folder", [name for name in FOLDERS if name not in (*OURS, *SPEC, *READ)] or ["none"]
)
def test_files_of_other_formats_are_not_taken(folder):
    """No reader recognises them, and recognising raises nothing but FileError."""
    recognised = set()
    for name in files_of(folder):
        source = Source(ARCHIVES / name)
        with suppress(FileError):
            if (
                any(format.recognise(source) for format in formats().values())
                or recognise(source) is not None
            ):
                recognised.add(name)
    assert recognised <= TRULY_TIDY


def test_known_traps():
    pyperf, jmh = ARCHIVES / "pyperf", ARCHIVES / "jmh"
    assert (
        perfarray.read(pyperf / "moreati_counter-top/pypy.json").attrs["n_calibration_runs"] == 26
    )
    assert (
        perfarray.read(pyperf / "moreati_counter-top/py38.json")["python_version"]
        .item()
        .startswith("3.6.8")
    )
    assert (
        perfarray.read(pyperf / "python_pyperformance/performance__mem1.json")["memory"].attrs[
            "units"
        ]
        == "B"
    )
    golden = perfarray.read(jmh / "openjdk_jmh/output-golden.json").isel(benchmark=0)
    np.testing.assert_array_equal(golden["throughput"].count("iteration"), [2, 2, 2, 2, 1, 3, 2])
    assert golden["forks"] == 828
    tools = perfarray.read_archive(
        pyperf / "awolverp_cachebox-benchmark/2024-04-13-a46012e", layout="{library}.json"
    )
    measured = tools["time"].notnull().any(("execution", "iteration")).sum("benchmark")
    assert set(tools["library"].values[measured == 3]) == {
        "cacheing.VTTLCache",
        "cacheout.TTLCache",
    }
