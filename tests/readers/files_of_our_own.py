"""Small files with the shapes and traps of real ones, made on the spot."""

import bz2
import gzip
import json
import lzma
import re
from contextlib import nullcontext

import numpy as np
import pytest

import perfarray
from perfarray.readers.opening import FileError

NAN = float("nan")

PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def write(path, content):
    """Write text, bytes or JSON, packed as the name says, and return the path."""
    data = (
        content
        if isinstance(content, bytes)
        else (content if isinstance(content, str) else json.dumps(content)).encode()
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(PACK.get(path.suffix, bytes)(data))
    return path


def reader(name):
    """Return a function that writes content to a file of that name in a folder, and reads it."""
    return lambda folder, content, name=name, **options: perfarray.read(
        write(folder / name, content), **options
    )


def read_placed(folder, layout_and_files):
    """Write files, given by their names after a layout, and read the folder with it."""
    layout, files = layout_and_files
    for name, content in files.items():
        write(folder / name, content)
    return perfarray.read_archive(folder, layout=layout)


def refusals(read, name, cases):
    """Return a test: what is read of each content raises, and the message begins with the path of
    the file and what is said of it."""

    @pytest.mark.parametrize(("content", "message"), cases)
    def test(tmp_path, content, message):
        with pytest.raises(FileError, match=f"^{re.escape(str(tmp_path / name))}: {message}"):
            read(tmp_path, content)

    return test


def readings(read, cases):
    """Return a test of cases of a fact, content, what `check` finds in what is read of it, and the
    one warning there is, if any."""

    @pytest.mark.parametrize(
        ("content", "expected", "warning"),
        [pytest.param(*case, *[None] * (3 - len(case)), id=fact) for fact, *case in cases],
    )
    def test(tmp_path, content, expected, warning):
        with (
            pytest.warns(perfarray.PerfarrayWarning, match=warning)
            if warning
            else nullcontext([]) as caught
        ):
            times = read(tmp_path, content)
        assert len(caught) == bool(warning)
        check(times, **expected)

    return test


def check(times, rtol=0.0, **expected):
    """Check what a Dataset holds: values of variables and coordinates, with their shape (a single
    value may have any dims of length one); attributes; `time.dims` or `time.units` of a variable;
    all `metrics`, `coords` and `sizes`; the codes of `notes`; what is `absent`.
    """
    for name, values in expected.items():
        variable, _, attribute = name.rpartition(".")
        if name in times.variables:
            variable_value, kind = (
                times[name].values if np.ndim(values) else times[name].item(),
                np.asarray(values).dtype.kind,
            )
            assert np.shape(variable_value) == np.shape(values), name
            assert times[name].dtype == {"b": bool, "U": object}.get(kind, times[name].dtype), (
                f"{name} is {times[name].dtype}"
            )
            if rtol and kind == "f":
                np.testing.assert_allclose(variable_value, values, rtol=rtol, err_msg=name)
            else:
                np.testing.assert_array_equal(variable_value, values, err_msg=name)
        elif name == "absent":
            assert not {*values} & {*times.variables}
        elif name in ("metrics", "notes", "coords", "sizes"):
            variables = {
                "metrics": list(times),
                "coords": sorted(times.coords),
                "sizes": dict(times.sizes),
            }
            assert (
                values == (variables | {"notes": [note.code for note in times.perf.notes()]})[name]
            )
        elif variable:
            assert values == (
                getattr(times[variable], attribute)
                if attribute in ("attrs", "dims")
                else times[variable].attrs[attribute]
            ), name
        else:
            assert times.attrs[name] == values, name


def run(*values, warmups=(), **metadata):
    """Return one pyperf run; without values it calibrates."""
    measured = {
        "warmups": [list(pair) if isinstance(pair, tuple) else pair for pair in warmups],
        "values": list(values),
    }
    return {key: value for key, value in measured.items() if value} | (
        {"metadata": metadata} if metadata else {}
    )


def bench(name, *runs, **metadata):
    """Return one pyperf benchmark."""
    return {"metadata": ({"name": name} if name else {}) | metadata, "runs": list(runs)}


def suite(*benchmarks, version="1.0", **metadata):
    """Return a pyperf file."""
    return {"version": version, "benchmarks": list(benchmarks), "metadata": metadata}


CALIBRATION = run(warmups=[(1, 0.5), (2, 0.4)], calibrate_loops=2)


def small_suite(*means, **metadata):
    """Return a pyperf file of one benchmark `fft`, an execution of two values per mean."""
    return suite(
        bench(
            "fft",
            CALIBRATION,
            *(run(mean, mean + 1.0, warmups=[(2, mean + 2.0)]) for mean in means),
        ),
        **metadata,
    )


def entry(name="copy", data=((1.0, 2.0),), unit="ns/op", mode="avgt", threads=1, **fields):
    """Return one JMH result."""
    primary = {"score": 1.0, "scoreError": "NaN", "scoreUnit": unit, "rawData": data}
    return {
        "jmhVersion": "1.37",
        "benchmark": name,
        "mode": mode,
        "threads": threads,
        "forks": len(data),
        "jvm": "/opt/java",
        "jvmArgs": [],
        "jdkVersion": "21",
        "vmName": "A VM",
        "primaryMetric": primary,
        "secondaryMetrics": {},
    } | fields


def secondary(unit, *forks):
    """Return one secondary metric of a JMH result."""
    return {"score": 1.0, "scoreUnit": unit, "rawData": list(forks)}


def spec_report(
    *rows,
    built="Built with GCC 13.2.0 from Some Linux with -O3",
    score="SPECrate(R)2017_int_base",
    selected=(),
    after="",
):
    """Return a SPEC text report; each row is what follows the indentation, `selected` the rows
    after the line of =====."""
    head = (
        "                 Base     Base        Base\nBenchmarks       Copies  Run Time     Rate \n"
    )
    line = "--------------- -------  ---------  ---------\n"
    body = "".join(f"{row}\n" for row in rows)
    repeated = "".join(f"{row}\n" for row in selected)
    return (
        f"{built}\n\n{head}{line}{body}{'=' * 40}\n{repeated} Est. {score}           9.62\n{after}"
    )


def spec_rows(name="500.alpha_r", times=("136", "137", "137"), copies=1):
    """Return the rows of one benchmark, the second of which is selected."""
    return [
        (
            f"{name}  {copies}  {time}  {round(copies * 1592 / float(time), 2)}  "
            f"{'*' if i == 1 else 'S'}"
        )
        for i, time in enumerate(times)
    ]


SPEC_SYSTEM = """
500.alpha_r: time (ms) = 136684
500.alpha_r: clock freq (MHz) = 3000.5
502.beta_r: clock freq (MHz) = 3200.5
all: time (ms) = 3e+05
all: clock freq (MHz) = 9999

System Info:
CPU Name: Vendor(R) Model(TM) 7 CPU @ 2.50GHz
Enabled: 8 cores, 1 chip, 2 threads/core
Memory: 4x Maker Ltd AB-32.X 16 GB 2 rank 4800
"""
"""Counters, and the block that describes the machine."""


SPEC_HARDWARE = """
"Run number:",007

"Hardware Vendor:","Maker Ltd"
"Hardware Model:","Box 1 (Model 7, 2.10 GHz)"
"Date tested:",Jul-2014

HARDWARE

"CPU Name","Model 7"
"CPU MHz",2100
"CPU(s) enabled","12 cores, 2 chips, 6 cores/chip, 2 threads/core"
"Primary Cache","32 KB I + 32 KB D on chip per core"
"Secondary Cache","256 KB I+D on chip per core"
"L3 Cache","15 MB I+D on chip per chip"
"Other Cache",None
Memory,"128 GB (16 x 8 GB 2Rx4, ECC,"
,"running at 1600 MHz)"

SOFTWARE

"Operating System","Some Linux release 6"
,(Codename)
Compiler,"C/C++: Version 14 of Compiler"
,"for Linux"
"File System",ext4
"Base Pointers",--

"Platform Notes"
Memory,"a line of the notes"
"""
"""What follows the tables of a SPEC result of 2006."""


def spec_result(
    rows,
    *,
    kind="# Copies",
    ratio="Rate",
    est="",
    valid=1,
    selected=(),
    score="SPECint_rate_base2006",
    after=SPEC_HARDWARE,
):
    """Return a SPEC result CSV of rows of cells after the benchmark; a row may have any number of
    cells."""
    sides = [
        (
            f'"{side} {kind}","{est}{side} Run Time","{est}{side} {ratio}","{side} '
            f'Selected","{side} Status"'
        )
        for side in ("Base", "Peak")
    ]
    head = f"Benchmark,{','.join(sides)},Description\n"
    tables = [
        f'"{title} Results Table"\n\n{head}' + "".join(f"{row}\n" for row in title_rows)
        for title, title_rows in (("Full", rows), ("Selected", selected))
    ]
    return f"valid,{valid}\n\n{tables[0]}\n{tables[1]}\n{score},9.6,,9.6\n{after}"


def spec_pair(name, copies, base, peak, k=1, reference=1000.0):
    """Return a row with a base and a peak run; None leaves the cells of one empty."""
    cells = [
        f"{copies},{time},{round(reference * copies / time, 6)},0,S" if time else ",,,,"
        for time in (base, peak)
    ]
    return f'{name},{",".join(cells)},"ref iteration #{k}"'
