"""SPEC text reports: what the name says, what the rows say, and what is not said twice."""

import warnings

import numpy as np
import pytest

import perfarray
from perfarray.readers.opening import Source
from perfarray.readers.recognising import formats, read_table, recognise
from readers.files_of_our_own import (
    NAN,
    SPEC_SYSTEM,
    check,
    reader,
    readings,
    refusals,
    spec_report,
    spec_rows,
    write,
)
from shared_material import ARCHIVES, needs_archives

TWO = [*spec_rows(), *spec_rows("502.beta_r", ("97.4", "98.1", "97.4"))]
NAME = "Some_Box-7.5_O3_001.txt"


read = reader(NAME)


def archive(tmp_path, files):
    """Return the archive of some reports, told apart by what they say themselves."""
    return perfarray.read_archive(
        [write(tmp_path / name, text) for name, text in files.items()], format="spec_text"
    )


def seconds(*benchmarks):
    """Return times of benchmarks of one machine, compiler, flags and session."""
    return [[[[[times]]]] for times in benchmarks]


TIES = {
    "500.a_r": ("10.1", "10.1", "10.1"),
    "502.b_r": ("20.1", "20.2", "20.1"),
    "503.c_r": ("1.1", "1.2"),
    "505.d_r": ("7.0",),
}
PEAK = [
    "500.alpha_r  1  100  10.0  S  1  90.5  11.0  *",
    "500.alpha_r  1  101  9.9  *  1  91.5  10.9  S",
]
FAILED = ["500.alpha_r  1  100  10.0  *", "500.alpha_r  1  --  --  RE", "548.gamma_r  NR"]
KNOWN = {
    "cpu": "Vendor Model 7",
    "cpu_mhz": 3100.5,
    "cores": 8,
    "chips": 1,
    "threads_per_core": 2,
    "memory_gb": 64.0,
    "l3_kb": NAN,
}
UNKNOWN = {
    "cpu": "unknown",
    **dict.fromkeys(("cores", "chips", "threads_per_core", "memory_gb", "cpu_mhz"), NAN),
}
MULTIPLE = (
    "\nSystem Info:\nCPU Name: Multiple\nEnabled: -1 cores, number of chips enabled chips, (?) "
    "threads/core\nMemory: \n"
)
UNNAMED = (
    "\nSystem Info:\nMemory: 1x Not Specified Not Specified 16 GB\nCPU Name: X CPU @ 2.50GHz\n"
)

test_what_is_read = readings(
    read,
    [
        (
            (
                "rows are executions of one session; the ratio is a variable of its own; "
                "attributes "
                "hold no data for joining alone"
            ),
            spec_report(*TWO),
            {
                "time.dims": ("benchmark", "machine", "compiler", "flags", "session", "execution"),
                "tuning": "base",
                "time": seconds([136, 137, 137], [97.4, 98.1, 97.4]),
                "ratio": seconds([11.71, 11.62, 11.62], [16.34, 16.23, 16.34]),
                "time.attrs": {"units": "s", "better": "lower"},
                "ratio.attrs": {"units": "1", "better": "higher"},
                "metric": "ratio",
                "format": "spec_text",
                "n_tied": 0,
                "n_partly_tied": 2,
                "n_without_system_info": 1,
            },
        ),
        (
            "selected rows repeat rows of the table",
            spec_report(*TWO, selected=[TWO[1], TWO[4]]),
            {"time": seconds([136, 137, 137], [97.4, 98.1, 97.4])},
        ),
        (
            "selected rows alone are one execution",
            spec_report(selected=[TWO[1], TWO[4]]),
            {"time": seconds([137.0], [98.1])},
        ),
        (
            "benchmarks whose runs are equal, or some of them, are counted",
            spec_report(*(row for name, ratios in TIES.items() for row in spec_rows(name, ratios))),
            {
                "n_tied": 1,
                "n_partly_tied": 1,
                "time": seconds([10.1] * 3, [20.1, 20.2, 20.1], [1.1, 1.2, NAN], [7.0, NAN, NAN]),
            },
        ),
        (
            (
                "System Info gives typed coordinates along machine; the clock is the median of the "
                "counters, without their `all`"
            ),
            spec_report(*TWO, after=SPEC_SYSTEM),
            {name: [value] for name, value in KNOWN.items()}
            | {f"{name}.dims": ("machine",) for name in KNOWN},
        ),
        (
            "`Multiple`, -1 cores and modules without a name are unknown",
            spec_report(*TWO, after=MULTIPLE),
            UNKNOWN,
        ),
        ("counters and System Info may be absent", spec_report(*TWO), UNKNOWN),
        (
            "a clock may be in the name of the processor",
            spec_report(*TWO, after=UNNAMED),
            {"memory_gb": 16.0, "cpu_mhz": 2500.0},
        ),
        (
            "peak runs stand beside the base runs and lie along `tuning`",
            spec_report(*PEAK),
            {"tuning": ["base", "peak"], "time": [[[[[[[100, 101]], [[90.5, 91.5]]]]]]]},
        ),
        (
            "a failed run is NaN and marked; a benchmark that was not run keeps its place",
            spec_report(*FAILED),
            {
                "benchmark": ["500.alpha_r", "548.gamma_r"],
                "failed": seconds([False, True], [False, False]),
                "time": seconds([100.0, NAN], [NAN, NAN]),
            },
        ),
    ],
)


@pytest.mark.parametrize(
    ("name", "machine", "flags"),
    [
        ("Some_Box-7.5_O3_001.txt", "Some_Box-7.5", "O3"),
        ("IBM_9_3.2_GHz_O3-march=x86_64-v3_002.txt", "IBM_9_3.2_GHz", "O3-march=x86_64-v3"),
        ("Box_920_Cloud_kc2_O2-flto-lalloc_001.txt.gz", "Box_920_Cloud_kc2", "O2-flto-lalloc"),
        ("SPEC_INT_2017_Box_i9_O3_GCC_13.txt", "Box_i9", "O3-flto"),
        ("report.txt", "report", "O3-flto"),
    ],
)
def test_machine_and_flags_are_in_the_name(tmp_path, name, machine, flags):
    """The name splits at `_O3`; names of another shape leave the flags to the first line."""
    times = read(
        tmp_path,
        spec_report(*TWO, built="Built with GCC 13.2.0 from Some Linux with -O3 -flto"),
        name,
    )
    check(times, machine=[machine], flags=[flags], compiler=["GCC 13.2.0"])


@pytest.mark.parametrize(
    ("built", "compiler", "system"),
    [
        ("Built with GCC 13.2.0 from Some Linux", "GCC 13.2.0", "unknown"),
        (
            (
                "Built with Clang 15.0.4 from Tools 5.0 and Flang 20 from APT on PhoneOS NEXT 5.0 "
                "with -O3"
            ),
            "Clang 15.0.4",
            "PhoneOS NEXT 5.0",
        ),
        (
            "Built with GCC 13.2.0 from Some Linux with -O3\nRunning on Linux kernel 6.1.0",
            "GCC 13.2.0",
            "Linux",
        ),
        ("", "unknown", "unknown"),
    ],
)
def test_the_first_lines_name_compiler_and_system(tmp_path, built, compiler, system):
    times = read(tmp_path, spec_report(*TWO, built=built))
    check(times, compiler=[compiler], os=[system])
    assert times["os"].dims == ("machine",)


@pytest.mark.parametrize(
    ("score", "copies", "suite"),
    [
        ("SPECrate(R)2017_int_base", 1, "int2017_rate1"),
        ("SPECrate(R)2026_fp_base", 1, "fp2026_rate1"),
        ("SPECrate(R)2017_int_base", 8, "int2017_rate"),
        ("SPECspeed(R)2017_fp_base", 1, "fp2017_speed"),
        ("SPECompG_base2012", 1, "SPECompG_base2012"),
    ],
)
def test_the_suite_is_a_coordinate_along_benchmark(tmp_path, score, copies, suite):
    """One copy is a suite of its own; a suite that is not known keeps its name; copies are a
    coordinate where they are not one."""
    times = read(
        tmp_path,
        spec_report(
            *spec_rows(copies=copies), *spec_rows("502.beta_r", copies=copies), score=score
        ),
    )
    assert times["suite"].dims == ("benchmark",)
    check(times, suite=[suite] * 2)
    assert ("copies" in times.coords) == (copies > 1)


test_a_row_that_is_none = refusals(
    lambda folder, row: read(folder, spec_report(TWO[0], row)),
    NAME,
    [
        (
            "500.alpha_r  1  100",
            "line 7 is '500.alpha_r  1  100'. Expected a benchmark and once or twice: copies, run time",
        ),
        *(
            (row, "line 7")
            for row in (
                "500.alpha_r  1  0  10.0  S",
                "500.alpha_r  1  fast  10.0  S",
                "500.alpha_r",
                "500.",
            )
        ),
        ("500.alpha_r  1  1  1  S  1  1  1  S  1  1  1  S", "line 7"),
    ],
)

WHOLE = spec_report(*TWO, selected=[TWO[1], TWO[4]], after=SPEC_SYSTEM)

test_what_is_wrong_is_said = refusals(
    read,
    NAME,
    [
        (WHOLE[: WHOLE.index(TWO[2])], "is cut off: its last line is 7, and no line of ="),
        (WHOLE[: WHOLE.index(" Est.")], "is cut off: its last line is 14, and no score"),
        (WHOLE[:60], "no reader recognises its content"),
        (spec_report(), "has no run of any benchmark"),
        (
            spec_report(*TWO) * 2,
            "holds two results, the second ends or begins at line 26; split the file",
        ),
        (
            spec_report(*TWO) + WHOLE[: WHOLE.index(TWO[2])],
            "holds two results, the second ends or begins at line 17",
        ),
    ],
)
test_told_the_format = refusals(
    lambda folder, text: read(folder, text, format="spec_text"),
    NAME,
    [
        ("hello", "is not a SPEC text report: it has no line 'Benchmarks"),
    ],
)


def test_cut_off_below_the_score(tmp_path):
    """Only descriptions are lost."""
    short = read(tmp_path, WHOLE[: WHOLE.index("Enabled")])
    check(short, cores=NAN)
    assert (short["time"].count(), short.attrs["n_without_system_info"]) == (6, 0)
    assert read(tmp_path, WHOLE[: WHOLE.index("System Info")]).attrs["n_without_system_info"] == 1


OTHER = [
    *spec_rows(times=("138", "139", "140")),
    *spec_rows("502.beta_r", ("99.1", "99.2", "99.3")),
]


def test_the_number_in_the_name_is_the_session(tmp_path):
    """Sessions are numbered from 0 inside their machine, compiler, flags and suite, whatever their
    number in the name."""
    files = {
        "A_O3_001.txt": spec_report(*TWO),
        "A_O3_003.txt": spec_report(*OTHER),
        "B_O3_002.txt": spec_report(*OTHER[:3]),
    }
    times = archive(tmp_path, files)["time"]
    assert times.sizes["session"] == 2
    sessions = times.sel(benchmark="500.alpha_r", compiler="GCC 13.2.0", flags="O3")
    np.testing.assert_array_equal(sessions.sel(machine="A"), [[136, 137, 137], [138, 139, 140]])
    np.testing.assert_array_equal(sessions.sel(machine="B"), [[138, 139, 140], [NAN] * 3])
    assert times.perf.merge_level("session").sizes["execution"] == 6


def test_suites_machines_and_compilers_are_joined(tmp_path):
    """Benchmarks of several suites, each with its name; nothing lies along `file`."""
    fp = spec_report(
        *spec_rows("503.gamma_r"),
        score="SPECrate(R)2017_fp_base",
        built="Built with GCC 14.1.0 from Some Linux with -O3",
    )
    times = archive(
        tmp_path,
        {
            "A_O3_001.txt": spec_report(*TWO),
            "f/A_O3_001.txt": fp,
            "B_O3-flto_001.txt": spec_report(*TWO[:5]),
        },
    )
    assert "file" not in times.dims
    check(times, suite=["int2017_rate1", "int2017_rate1", "fp2017_rate1"])
    assert times["time"].count() == 6 + 3 + 5
    assert times.groupby("suite")["fp2017_rate1"].sizes["benchmark"] == 1


def test_a_run_published_twice_is_marked(tmp_path):
    """The second of two reports with the same runs is `copied`, with one warning; few equal rows
    may be chance."""
    rows = {"A": TWO, "B": TWO, "C": TWO[:3], "D": TWO[:5], "E": TWO[:5]}
    with pytest.warns(
        UserWarning,
        match=r"published twice under two names are marked `copied`: 'B \(int2017_rate1, O3\) = A",
    ) as caught:
        times = archive(
            tmp_path,
            {f"{name}_O3_001.txt": spec_report(*report_rows) for name, report_rows in rows.items()},
        )
    assert len(caught) == 1
    assert [int(times["copied"].sel(machine=machine).sum()) for machine in rows] == [0, 6, 0, 0, 0]
    assert times["time"].count() == 25


def test_reports_of_one_machine_say_the_same_of_it(tmp_path):
    """Reports complete each other; the clock is the median; contradictions are unknown, with one
    warning."""
    files = {
        "A_O3_001.txt": spec_report(*TWO, after=SPEC_SYSTEM),
        "A_O3-flto_001.txt": spec_report(*OTHER),
    }
    check(archive(tmp_path, files), cpu=["Vendor Model 7"], cores=[8])
    system_info = (
        SPEC_SYSTEM.replace("8 cores", "4 cores").replace("Model(TM)", "Kind").replace("0.5", "2.5")
    )
    with pytest.warns(
        UserWarning, match="differently is taken as unknown: cpu of 'A'; cores of 'A'$"
    ) as caught:
        times = archive(
            tmp_path, files | {"A_O3-flto_001.txt": spec_report(*OTHER, after=system_info)}
        )
    assert len(caught) == 1
    check(times, cpu=["unknown"], cores=[NAN], cpu_mhz=[3101.5], memory_gb=[64.0])


def runs_of(path):
    """Return the times of each benchmark of a report, as its lines have them."""
    head, _, tail = path.read_text().partition("\n====")
    runs = {}
    for table in (head, tail.partition("Est.")[0]):
        for line in table.split("\n"):
            cells = line.split()
            if len(cells) == 5 and cells[4] in "S*":
                runs.setdefault(cells[0], []).append(cells[2])
        if runs:
            break
    return runs


@needs_archives
def test_every_genuine_report_reads():
    """All 352, by their content; the archive holds every run once."""
    paths = sorted((ARCHIVES / "spec_txt").rglob("*_*.txt"))
    assert len(paths) == 352
    spec_text, tables = formats()["spec_text"], []
    for path in paths:
        source = Source(path)
        assert recognise(source) is spec_text
        tables.append(read_table(source, spec_text))
        assert not source.notes
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        suites = perfarray.read_archive(
            ARCHIVES / "spec_txt", format="spec_text", on_error="warn", progress=True
        )
    assert [[note.code for note in warning.message.notes] for warning in caught] == [
        ["unknown_format", "contradicted_descriptors", "marked_copies"]
    ]
    runs = [runs_of(path) for path in paths]
    assert (
        int(suites["time"].count())
        == sum(len(table) for table in tables)
        == sum(len(times) for warning in runs for times in warning.values())
    )
    assert suites.attrs["n_without_system_info"] == sum(
        "System Info:" not in path.read_text() for path in paths
    )
    assert suites.attrs["n_tied"] == sum(
        len(set(times)) == 1 < len(times) for warning in runs for times in warning.values()
    )
    assert set(suites["suite"].values) == {
        "int2017_rate1",
        "fp2017_rate1",
        "int2026_rate1",
        "fp2026_rate1",
    }
    assert set(suites.dims) == {"benchmark", "machine", "compiler", "flags", "session", "execution"}
    assert suites.sizes["session"] == suites.sizes["execution"] == 3
    assert int(suites["copied"].sum()) == 3 * (12 + 14)
    phone = suites["time"].sel(machine="Huawei_Kirin_X90_E-Core").notnull()
    assert phone.sum("execution").max() == 1

    # The second script of SCRIPTS.md as far as reading goes: flags chosen, sessions merged, suites
    # apart, machines described by numbers.
    merged = suites.sel(flags="O3").perf.merge_level("session")
    assert "session" not in merged.dims
    suites = merged.groupby("suite")["int2017_rate1"]
    assert suites.sizes["benchmark"] == 10
    median = (
        suites["time"]
        .median("execution")
        .sel(machine="Intel_Core_i9-14900K_P-Core", compiler="GCC 12.2.0")
    )
    assert median.notnull().all()
    assert all(
        suites[name].dims == ("machine",) and suites[name].dtype.kind == "f"
        for name in ("cpu_mhz", "l3_kb", "memory_gb")
    )
    assert suites["os"].dims == ("machine",)
