"""SPEC text reports of whole results: they become the table of the result's CSV, whatever stands
around their tables."""

import numpy as np
import pytest
import xarray as xr

import perfarray
from readers.files_of_our_own import (
    NAN,
    check,
    reader,
    readings,
    refusals,
    spec_pair,
    spec_result,
    write,
)

read = reader("report.txt")

TIMES = {
    "503.alpha_r": ((400.0, 380.0), (402.0, 381.0), (401.0, 379.0)),
    "521.beta_r": ((250.0, 250.0), (252.0, 252.0), (251.0, 251.0)),
}
"""Seconds of base and peak; the peak runs of the second benchmark are its base runs."""

NAMES = "Maker Ltd\n    Rack 5 (2.25 GHz, Model 9)"
BANNER = (
    "#" * 130
    + "\n#   INVALID RUN -- INVALID RUN\n"
    + "# 'reportable' flag not set during run\n" * 120
    + "#" * 130
    + "\n"
)
FLAGS = """
                     Base Optimization Flags
                     -----------------------
Benchmarks using both Fortran and C:
     -O3

Benchmarks       Compiled with
     -O3
521.beta_r: basepeak = yes

                     General Notes
                     -------------
SPECrate2017_fp_base of this machine is higher with -O2
 SPECrate(R)2017_fp_energy_base         12.5
"""
BLOCKS = """
                                 HARDWARE
                                 --------
            CPU Name: Model 9
             Max MHz: 3500
             Nominal: 2250
             Enabled: 48 cores, 2 chips, 2 threads/core
            Cache L1: 32 KB I + 32 KB D on chip per core
               Other: None
              Memory: 256 GB (8 x 32 GB 2Rx4,
                      running at 3200)
               Other: a rack

                                 SOFTWARE
                                 --------
                  OS: Some Linux 9
                      kernel 6.1: default
            Compiler: C/C++: Version 3 of Some
                      Compiler
"""
CSV_BLOCKS = """
"Hardware Vendor:","Maker Ltd"
"Hardware Model:","Rack 5"
,"(2.25 GHz, Model 9)"
"Date tested:",May-2025
"Test sponsor:","Maker Ltd"
"Tested by:","Some Lab"
"Hardware avail:",Jan-2025
"Software avail:",Feb-2025

HARDWARE
"CPU Name","Model 9"
"  Max MHz.",3500
"  Nominal",2250
Enabled,"48 cores, 2 chips, 2 threads/core"
"Cache L1","32 KB I + 32 KB D on chip per core"
"  Other",None
Memory,"256 GB (8 x 32 GB 2Rx4,"
,"running at 3200)"
Other,"a rack"

SOFTWARE
OS,"Some Linux 9"
,"kernel 6.1: default"
Compiler,"C/C++: Version 3 of Some"
,Compiler
"""


def report(
    names=NAMES,
    title="SPEC CPU(R)2017 Floating Point Rate Result",
    banner="",
    est="",
    after=BLOCKS,
    fields=True,
):
    """Return the text report of the result."""
    dates = (
        "\n    CPU2017 License: 77                  Test date:             May-2025\n"
        "    Test sponsor: Maker Ltd              Hardware availability: Jan-2025\n"
        "    Tested by:    Some Lab               Software availability: Feb-2025\n"
    )
    rows = [
        (
            f"{name}  8  {base}  {8000 / base:.6f}  {'*' if number == 2 else 'S'}  8  {peak}  "
            f"{8000 / peak:.6f}  S\n"
        )
        for name, runs in TIMES.items()
        for number, (base, peak) in enumerate(runs)
    ]
    head = (
        "             Base     Base        Base        Peak\nBenchmarks   Copies  Run Time     "
        "Rate    Copies  Run Time     Rate\n"
    )
    score = (
        f" {est}SPECrate(R)2017_fp_base      82.2\n {est}SPECrate(R)2017_fp_peak               "
        "84.7\n"
    )
    return (
        f"{banner}          {title}\n    "
        f"{names}\n{dates if fields else ''}\n{head}{''.join(rows)}{'=' * 60}\n{score}{after}"
    )


def csv_result(est="", valid=1, after=CSV_BLOCKS):
    """Return the CSV of the same result."""
    rows = [
        spec_pair(name, 8, base, peak, k)
        for name, runs in TIMES.items()
        for k, (base, peak) in enumerate(runs, 1)
    ]
    return spec_result(rows, score="SPECrate2017_fp_base", est=est, valid=valid, after=after)


@pytest.mark.parametrize(
    ("text", "est", "valid"),
    [
        ({}, "", 1),
        ({"after": FLAGS + BLOCKS}, "", 1),
        ({"after": BLOCKS + FLAGS}, "", 1),
        ({"names": "Maker Ltd\n  Rack 5\n  (2.25 GHz, Model 9)"}, "", 1),
        ({"banner": BANNER}, "", 0),
        ({"banner": BANNER, "est": "Est. "}, "Est. ", 0),
        ({"est": "Est. "}, "Est. ", 1),
    ],
    ids=["plain", "flags", "flags_below", "three_lines", "invalid", "both", "estimated"],
)
def test_text_and_csv_of_one_result_are_one_dataset(tmp_path, text, est, valid):
    """Labels, coordinates, marks and numbers are those of the CSV, with a long banner and with
    sections of flags and notes."""
    of_text, of_csv = (
        read(tmp_path, report(**text)),
        read(tmp_path, csv_result(est, valid), "result.csv"),
    )
    xr.testing.assert_allclose(of_text, of_csv.transpose(*of_text.dims), rtol=1e-6)
    assert set(of_text.coords) == set(of_csv.coords)
    check(
        of_text,
        machine=["Rack 5"],
        valid=[valid],
        estimated=[int(bool(est))],
        suite=["fp2017_rate"] * 2,
    )


test_heads = readings(
    read,
    [
        (
            "the head and the blocks give coordinates along machine",
            report(),
            {
                "machine": ["Rack 5"],
                "vendor": ["Maker Ltd"],
                "cpu": ["Model 9"],
                "cores": [48],
                "chips": [2],
                "memory_gb": [256.0],
                "cpu_mhz": [2250.0],
                "os": ["Some Linux 9 kernel 6.1: default"],
                "compiler": ["C/C++: Version 3 of Some Compiler"],
                "tested_by": ["Some Lab"],
                "date_tested": ["May-2025"],
                "other_cache": ["None"],
                "cpu.dims": ("machine",),
            },
        ),
        (
            "a peak that is its base is marked",
            report(),
            {"copied": [[[[False] * 3, [False] * 3]], [[[False] * 3, [True] * 3]]]},
        ),
        (
            "what the head does not say is unknown",
            report("", after="", fields=False),
            {"machine": ["unknown"], "cores": [NAN], "memory_gb": [NAN], "valid": [1]},
        ),
        (
            "a head without fields ends at its first empty line",
            report(fields=False),
            {"machine": ["Rack 5"], "vendor": ["Maker Ltd"]},
        ),
        (
            "a name alone that is the sponsor's is the vendor",
            report("Maker Ltd"),
            {"machine": ["unknown"], "vendor": ["Maker Ltd"]},
        ),
        (
            "reports of 2006 have vendor and model in one line, above the date of the report",
            report("Maker Ltd Rack 5\n  Fri May  9 12:43:41 2014", title="SPEC(R) CFP2006 Summary"),
            {"machine": ["Rack 5"], "vendor": ["Maker Ltd"]},
        ),
        (
            "a name in brackets stays part of the model",
            report("Maker Ltd\n  Rack 5 (Model 9, 2.25 GHz)"),
            {"machine": ["Rack 5 (Model 9, 2.25 GHz)"]},
        ),
        (
            "SPEC withdraws results that do not comply",
            report(banner="#\n# This result is not in compliance with the rules\n#\n"),
            {"valid": [0]},
        ),
        (
            "fields need no alignment",
            report(
                after=(
                    "HARDWARE\n---\nCPU Name: Model 9\nEnabled: 4 cores\n\nSOFTWARE\n---\nOS: "
                    "Some\n"
                )
            ),
            {"cpu": ["Model 9"], "cores": [4], "os": ["Some"]},
        ),
    ],
)

test_two_results = refusals(
    read,
    "report.txt",
    [
        (
            report() + report(),
            "holds two results, the second ends or begins at line 56; split the file",
        ),
    ],
)


def test_fragments_do_not_say_whether_they_are_valid(tmp_path):
    """A table below a line of the compiler may be an estimate; only the head of a report says that
    it is valid."""
    fragment = (
        "Built with GCC 13.2.0 from Some Linux with -O3\n"
        + report(banner="").partition("Feb-2025\n")[2]
    )
    check(read(tmp_path, fragment), valid=[NAN], estimated=[0])
    check(
        read(tmp_path, fragment.replace(" SPECrate", " Est. SPECrate")), valid=[NAN], estimated=[1]
    )
    check(read(tmp_path, BANNER + fragment), valid=[0], estimated=[0])
    assert int(read(tmp_path, fragment)["copied"].sum()) == 3


@pytest.mark.parametrize(("text", "suffix"), [(report(), "txt"), (csv_result(), "csv")])
def test_machines_of_one_model_are_told_apart_by_their_cpus(tmp_path, text, suffix):
    """In an archive the CPU becomes part of the label where results of one model state several."""
    files = {"a": text, "b": text.replace("Model 9", "Model 8")}
    times = perfarray.read_archive(
        [write(tmp_path / f"{name}.{suffix}", content) for name, content in files.items()]
    )
    check(times, machine=["Rack 5 (Model 9)", "Rack 5 (Model 8)"])


def test_reports_of_one_machine_may_differ_in_validity(tmp_path):
    """Validity is of the run: it lies along more than the machine where its reports differ."""
    row = (
        "Benchmarks   Copies  Run Time     Rate\n500.alpha_r  1  100  10.0  S\n=====\n "
        "SPECrate(R)2017_int_base    10.0\n"
    )
    paths = [
        write(tmp_path / "Box_O2_001.txt", row),
        write(tmp_path / "Box_O3_001.txt", row.replace(" SPEC", " Est. SPEC")),
    ]
    times = perfarray.read_archive(paths)
    assert times["estimated"].sel(flags=["O2", "O3"]).values.ravel().tolist() == [0, 1]


def test_reports_of_both_kinds_are_joined(tmp_path):
    """Fragments, whose names hold machine and session, and whole results lie in one archive."""
    fragment = (
        "Built with GCC 13.2.0 from Some Linux with -O3\n" + report().partition("Feb-2025\n")[2]
    )
    paths = [write(tmp_path / "Box_O3_001.txt", fragment), write(tmp_path / "rack.txt", report())]
    times = perfarray.read_archive(paths)
    check(times, machine=["Box", "Rack 5"])
    np.testing.assert_array_equal(
        times["time"].count([dim for dim in times["time"].dims if dim != "machine"]), [12, 12]
    )
