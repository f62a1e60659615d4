"""SPEC results in CSV: base and peak, runs not made, tables that repeat others, and what describes
the machine."""

import numpy as np
import pytest

import perfarray
from perfarray.readers.opening import FileError
from readers.files_of_our_own import (
    NAN,
    SPEC_HARDWARE,
    check,
    reader,
    readings,
    refusals,
    spec_pair,
    spec_result,
    write,
)
from shared_material import ARCHIVES, needs_archives

RATE = [
    *(
        spec_pair("400.alpha", 24, base, peak, k)
        for k, (base, peak) in enumerate([(10.5, 9.5), (11.5, 9.6), (12.5, 9.7)], 1)
    ),
    *(spec_pair("401.beta", 24, time, time, k) for k, time in enumerate([20.25, 21.25, 22.25], 1)),
]
"""Two benchmarks; the peak runs of the second are its base runs."""


read = reader("result.csv")


FLAGS = (
    '\n"Base Optimization Flags"\n400.alpha," -O3"," -ipo"\n401.beta," -O3"\n\n"Peak '
    'Optimization Flags"\n400.alpha," -O2"\n401.beta\n'
    '\n"Base Other Flags"\n400.alpha," No flags used"\n401.beta," -L/x"\n'
)
HARDWARE = {
    "machine": "Box 1 (Model 7, 2.10 GHz)",
    "vendor": "Maker Ltd",
    "cpu": "Model 7",
    "cpu_mhz": 2100.0,
    "cores": 12,
    "chips": 2,
    "cores_per_chip": 6,
    "threads_per_core": 2,
    "l2_kb": 256.0,
    "l3_kb": 15360.0,
    "memory_gb": 128.0,
    "other_cache": "None",
    "memory": "128 GB (16 x 8 GB 2Rx4, ECC, running at 1600 MHz)",
    "os": "Some Linux release 6 (Codename)",
    "cpu_max_mhz": NAN,
    "compiler": "C/C++: Version 14 of Compiler for Linux",
    "file_system": "ext4",
    "base_pointers": "unknown",
    "run_number": "007",
}
HARDWARE_2017 = (
    '"Hardware Model:",\n\nHARDWARE\n\n"CPU Name","Model 8"\n"  Max MHz.",3400\n"  Nominal",2200\n'
    'Enabled," cores, 2 chips,  threads/core"\n'
    '"Cache L1"," "\n"  L2","1 MB I+D"\n"  L3",None\n"  Other"," "\nMemory,"4 TB (128 x 32 '
    'GB)"\nStorage,"1 TB"\nOther,None\n'
    "\nSOFTWARE\n\n"
    'OS,"Some Linux"\n,6.8.0\nParallel,No\nFirmware," "\nOther," "\n'
)
EQUAL = [[10.5, 11.5, 12.5], [9.5, 9.6, 9.7]], [[20.25, 21.25, 22.25]] * 2


def runs(*benchmarks):
    """Return values of benchmarks of one machine."""
    return [[values] for values in benchmarks]


test_what_is_read = readings(
    read,
    [
        (
            (
                "base and peak lie along tuning, iterations of the suite are executions; "
                "selected runs "
                "repeat rows of the full table"
            ),
            spec_result(RATE, selected=[RATE[1], RATE[4]]),
            {
                "time.dims": ("benchmark", "machine", "tuning", "execution"),
                "time": runs(*EQUAL),
                "copies": 24,
                "metric": "ratio",
                "time.attrs": {"units": "s", "better": "lower"},
                "ratio.attrs": {"units": "1", "better": "higher"},
                "format": "spec_csv",
                "ratio": [
                    [[[24000 / time for time in times] for times in sides]] for sides in EQUAL
                ],
                "valid": [1],
                "estimated": [0],
                "rtol": 1e-6,
            },
        ),
        (
            "peak runs copied from base were not measured again, and are marked",
            spec_result(RATE),
            {"copied": runs([[False] * 3] * 2, [[False] * 3, [True] * 3])},
        ),
        (
            "a single equal run may be chance",
            spec_result(
                [
                    spec_pair("400.alpha", 1, 10.5, 10.5, 1),
                    spec_pair("400.alpha", 1, 11.5, 11.25, 2),
                ]
            ),
            {"copied": runs([[False, False]] * 2)},
        ),
        (
            "flags lie along benchmark and tuning; an empty list means no flags",
            spec_result(RATE) + FLAGS,
            {
                "optimization_flags.dims": ("benchmark", "tuning"),
                "optimization_flags": [["-O3 -ipo", "-O2"], ["-O3", "none"]],
                "other_flags": ["none", "-L/x"],
                "absent": ["portability_flags"],
            },
        ),
        (
            "empty peak cells are no peak",
            spec_result(
                [spec_pair("400.alpha", 2, 10.5, None), spec_pair("401.beta", 2, 20.5, None)]
            ),
            {"tuning": ["base"], "time": runs([[10.5]], [[20.5]])},
        ),
        (
            "rows that were not run end early: the benchmark keeps its place, without a time",
            spec_result(
                [spec_pair("500.alpha_r", 1, 10.5, None), "548.beta_r,,,,,NR,,,,,NR"],
                est="Est. ",
                valid=0,
            ),
            {
                "benchmark": ["500.alpha_r", "548.beta_r"],
                "time": runs([[10.5]], [[NAN]]),
                "failed": runs([[False]], [[False]]),
                "ref_time": [1000.0, NAN],
            },
        ),
        (
            "any other status than S says how a run failed",
            spec_result(
                [
                    spec_pair("400.alpha", 1, 10.5, None),
                    '400.alpha,1,7.5,9.0,0,VE,,,,,,"ref iteration #2"',
                ]
            ),
            {"time": runs([[10.5, NAN]]), "failed": runs([[False, True]])},
        ),
        *(
            (
                f"reference times are whole seconds but for rounding: {reference}",
                spec_result([spec_pair("400.alpha", 2, 10.5, 9.5, reference=reference)]),
                {"ref_time": expected, "rtol": 1e-6},
            )
            for reference, expected in ((1000.01, 1000.0), (1000.5, 1000.5))
        ),
        (
            "a file may state that it is valid although its runs are estimated",
            spec_result(RATE, est="Est. ", valid=1),
            {"valid": [1], "estimated": [1], "time": runs(*EQUAL)},
        ),
        (
            (
                "texts of hardware and software become numbers, those of several rows are "
                "joined, and "
                "missing fields are unknown"
            ),
            spec_result(RATE),
            {name: [value] for name, value in HARDWARE.items()}
            | {f"{name}.dims": ("machine",) for name in HARDWARE},
        ),
        (
            (
                "of 2017, fields of the third level are indented, blanks say nothing, and a "
                "machine "
                "without a name is unknown"
            ),
            spec_result(RATE, after=HARDWARE_2017),
            {
                "cpu_max_mhz": 3400.0,
                "cpu_mhz": 2200.0,
                "chips": 2,
                "l2_kb": 1024.0,
                "l3_kb": 0.0,
                "memory_gb": 4096.0,
                "cores": NAN,
                "threads_per_core": NAN,
                "machine": "unknown",
                "l1_cache": "unknown",
                "firmware": "unknown",
                "os": "Some Linux 6.8.0",
                "storage": "1 TB",
            },
        ),
    ],
)


def test_the_published_ratio_is_the_main_metric(tmp_path):
    """The ratio, higher is better, is the main metric; the time is if no run has a ratio, or one
    file of the archive has none."""
    means = read(tmp_path, spec_result(RATE)).sel(tuning="base").perf.mean_interval()
    assert (means.attrs["metric"], means["estimate"].attrs["units"]) == ("ratio", "1")
    np.testing.assert_allclose(
        means["estimate"].sel(benchmark="400.alpha"),
        24e3 * np.mean(1 / np.array([10.5, 11.5, 12.5])),
    )
    without = spec_result(["400.alpha,24,10.5,,0,S,,,,,", "400.alpha,24,11.5,,0,S,,,,,"])
    alone = read(tmp_path, without, "without.csv")
    assert (alone.attrs["metric"], alone.perf.mean_interval()["estimate"].item()) == ("time", 11.0)
    archive = perfarray.read_archive(
        {"a": tmp_path / "result.csv", "b": tmp_path / "without.csv"}, dim="version"
    )
    assert archive.attrs["metric"] == "time"


@pytest.mark.parametrize(
    ("kind", "ratio", "score", "suite", "setting"),
    [
        ("Ref Time", "Ratio", "SPECint_base2006", "int2006_speed", None),
        ("# Copies", "Rate", "SPECfp_rate_base2006", "fp2006_rate", "copies"),
        ("# Threads", "Ratio", "SPECspeed2017_int_base", "int2017_speed", "threads"),
        ("# Copies", "Rate", "SPECrate2017_fp_base", "fp2017_rate", "copies"),
        ("# Threads", "Ratio", "SPEComp_base2012", "SPEComp_base2012", "threads"),
    ],
)
def test_kinds_of_results(tmp_path, kind, ratio, score, suite, setting):
    """Speed and rate, 2006 and 2017: the reference time is stated, or ratio x time / copies; other
    suites keep their name."""
    copies = {"copies": 8}.get(setting, 1)
    first = {"Ref Time": 1000, "# Threads": 8, "# Copies": 8}[kind]
    row = f"400.alpha,{first},10.5,{1000 * copies / 10.5:.6f},0,S,,,,,"
    times = read(tmp_path, spec_result([row], kind=kind, ratio=ratio, score=score))
    assert times["ref_time"].dims == times["suite"].dims == ("benchmark",)
    check(times, ref_time=[1000.0], suite=[suite])
    assert {name: times[name].item() for name in ("copies", "threads") if name in times.coords} == (
        {setting: 8} if setting else {}
    )


WHOLE = spec_result(RATE, selected=[RATE[1]])

test_what_is_wrong_is_said = refusals(
    read,
    "result.csv",
    [
        (WHOLE[:12], "no reader recognises its content"),
        (
            WHOLE[: WHOLE.index("401.beta") + 20],
            "is cut off in its 'Full Results Table': its last line is 9, and no 'Selected",
        ),
        (spec_result([]), "has no time of any benchmark"),
        (
            spec_result([RATE[0], "400.alpha,24,11.5,2086.0"]),
            "line 7: the base run of '400.alpha' has no status; the row has 4 cells and is cut off",
        ),
        (
            spec_result([RATE[0], "400.alpha,24,fast,2086.0,0,S,,,,,"]),
            "line 7: the time of the base run of '400.alpha' is 'fast'; expected a number above 0",
        ),
        (
            spec_result([RATE[0], "400.alpha,24,,2086.0,0,S,,,,,"]),
            "line 7: the time of the base run of '400.alpha' is ''; expected a number",
        ),
        (
            spec_result([RATE[0], "400.alpha,24,11.5,high,0,S,,,,,"]),
            "line 7: the ratio of the base run of '400.alpha' is 'high'; expected a",
        ),
        (spec_result(RATE) * 2, "holds two results, the second from line 50 on; split it"),
        (
            spec_result(RATE).replace("Run Time", "Duration"),
            "line 5: the head of the table needs run time, ratio or rate, and status",
        ),
    ],
)


def test_cut_off_below_the_tables(tmp_path):
    for marker, missing in (
        ('"Hardware Vendor', "HARDWARE and SOFTWARE"),
        ("SOFTWARE", "SOFTWARE"),
    ):
        with pytest.warns(
            UserWarning,
            match=rf"is cut off at line \d+, before {missing}; what they say is unknown",
        ):
            assert read(tmp_path, WHOLE[: WHOLE.index(marker)])["time"].count() == 12
    with pytest.raises(
        FileError, match="cut off before its table: no line 'Full Results Table' in 1 lines"
    ):
        read(tmp_path, WHOLE[:9], format="spec_csv")


def test_suites_of_one_machine_are_joined(tmp_path):
    """Files lie along machine and benchmark; what differs between the suites of a machine lies
    along both."""
    rows, hardware = (
        [spec_pair("410.gamma", 24, 30.5, None)],
        SPEC_HARDWARE.replace("Version 14", "Version 15"),
    )
    fp = spec_result(rows, score="SPECfp_rate_base2006", after=hardware)
    times = perfarray.read_archive(
        [write(tmp_path / "a.csv", spec_result(RATE)), write(tmp_path / "b.csv", fp)]
    )
    assert set(times.dims) == {"benchmark", "machine", "tuning", "execution"}
    check(times, suite=["int2006_rate", "int2006_rate", "fp2006_rate"])
    assert times["time"].count() == 13
    assert (times["cpu"].dims, set(times["compiler"].dims)) == (
        ("machine",),
        {"benchmark", "machine"},
    )
    assert (
        times["compiler"].sel(benchmark="410.gamma").item()
        == "C/C++: Version 15 of Compiler for Linux"
    )


@needs_archives
@pytest.mark.parametrize(
    ("name", "times", "copied"),
    [
        ("EstebanMonge_speccpu2006/cint2006-example.csv", 72, 9),
        ("EstebanMonge_speccpu2006/cfp2006-example.csv", 102, 27),
        ("EstebanMonge_speccpu2006/cint2006-rates-example.csv", 72, 12),
        ("EstebanMonge_speccpu2006/CINT2006.001.ref.csv", 36, 0),
        ("bowers_speccpu2017/cint2017-speed-example.csv", 60, 0),
        ("bowers_speccpu2017/cint2017-rates-example.csv", 30, 0),
        ("bowers_speccpu2017/cfp2017-rates-example.csv", 39, 0),
        ("AdityaCodeSphere123_SPEC-CPU2017/gcc__CPU2017.003.intrate.refrate.head.csv", 9, 0),
    ],
)
def test_genuine_results(name, times, copied):
    """Every run is read once, copied peak runs are marked, and the median of the ratios is the
    published one."""
    dataset = perfarray.read(ARCHIVES / "spec_csv" / name)
    assert (int(dataset["time"].count()), int(dataset["copied"].sum())) == (times, copied)
    assert (
        dataset["time"] * dataset["ratio"] / dataset["ref_time"] / dataset.coords.get("copies", 1)
    ).max().item() == pytest.approx(1, abs=1e-3)
    published = {
        "cint2006-example.csv": 38.121805,
        "cint2006-rates-example.csv": 416.443094,
        "cfp2017-rates-example.csv": 315.95593,
    }
    if name.rpartition("/")[2] in published:
        medians = dataset["ratio"].sel(tuning="base").median("execution")
        assert float(np.exp(np.log(medians).mean())) == pytest.approx(
            published[name.rpartition("/")[2]], abs=1e-5
        )
