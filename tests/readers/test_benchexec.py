"""BenchExec's results: limits, failures, units in texts, machines; and XML that means harm."""

import numpy as np
import pytest

import perfarray
from readers.files_of_our_own import check, reader, refusals, write

DOCTYPE = (
    "<!DOCTYPE result PUBLIC '+//IDN sosy-lab.org//DTD BenchExec result 1.2//EN' 'http://www.sosy-lab.org/benchexec/result-1.2.dtd'>\n"
)
SYSTEM = '<systeminfo hostname="box"><os name="Linux"/><cpu cores="8" model="A CPU"/><ram size="17179869184B"/></systeminfo>'


def run(name, status="true", category="correct", more="", **columns):
    """Return one run; columns may be given twice, the second hidden."""
    columns = {"status": status, "category": category, "walltime": "2.5s", "cputime": "3.5s"} | columns
    cells = "".join(f'<column title="{title}" value="{value}"/>' for title, value in columns.items())
    return f'<run name="{name}" properties="p">{cells}{more}</run>'


def read(tmp_path, *runs, attributes="", systems=SYSTEM):
    head = f'<result benchmarkname="b" tool="T" version="1.0" timelimit="60 s" {attributes}>'
    columns = '<columns><column title="status"/></columns>'
    return perfarray.read(write(tmp_path / "r.xml", f'<?xml version="1.0"?>\n{DOCTYPE}{head}{columns}{systems}{"".join(runs)}</result>'))


def test_a_run_is_an_execution(tmp_path):
    """Wall-clock time is `time`; a column that comes again is read once; amounts have their units in them."""
    again = '<column hidden="true" title="cputime" value="9s"/>'
    found = read(tmp_path, run("a.c", memory="4096B", cpuenergy="1.5J", score="NaN", depth="inf", more=again))
    assert {name: (found[name].item(), found[name].attrs["units"]) for name in found} == {
        "time": (2.5, "s"), "cpu_time": (3.5, "s"), "memory": (4096.0, "B"), "energy": (1.5, "J"),
    }  # fmt: skip
    check(found, machine="box", os="Linux", cpu="A CPU", logical_cores=8, memory_gb=16, tool="T", tool_version="1.0", timelimit="60 s")


def test_the_oldest_files(tmp_path):
    found = read(tmp_path, *(run(name).replace("run", "sourcefile") for name in ("a.c", "b.c")))
    check(found.squeeze(), benchmark=["a.c", "b.c"], time=[2.5, 2.5])


def test_time_outs_are_censored_and_errors_failed(tmp_path):
    """Neither has a time; a time-out has a bound for both of its times; `unknown` is an answer."""
    found = read(
        tmp_path, run("a"), run("b", "TIMEOUT (true)", "error", cputime="60.5s", walltime="40s"), run("c", "ERROR (1)", "error"),
        run("d", "unknown", "unknown"), run("e", "", "missing", walltime="", cputime=""),
    ).squeeze()  # fmt: skip
    check(found, censored=[False, True, False, False, False], failed=[False, False, True, False, False])
    check(found, time=[2.5, np.nan, np.nan, 2.5, np.nan], censored_at=[np.nan, 40.0, np.nan, np.nan, np.nan])
    assert found["status"].values.tolist()[1:3] == ["TIMEOUT (true)", "ERROR (1)"]


def test_a_limit_counts_in_a_comparison(tmp_path):
    """A tool that was stopped is not faster than one that finished long before."""
    for name, own in (("done", run("a")), ("stopped", run("a", "TIMEOUT", "error", walltime="60s", cputime="60s"))):
        for repeat in range(5):
            text = f'<?xml version="1.0"?><result benchmarkname="b">{own.replace("2.5s", f"2.{repeat}s")}</result>'
            write(tmp_path / name / f"{repeat}.xml", text)
    found = perfarray.read_archive(tmp_path, layout="{version}/{execution}.xml")
    assert dict(found.sizes) == {"benchmark": 1, "version": 2, "execution": 5, "iteration": 1}
    with pytest.warns(perfarray.PerfarrayWarning):
        verdict = found.perf.compare("done", dim="version")["verdict"].item()
    assert verdict in ("slower", "inconclusive")


def test_hosts_and_an_aborted_result(tmp_path):
    """Several machines are told run by run; what is missing is noted."""
    with pytest.warns(perfarray.PerfarrayWarning, match="was aborted"):
        found = read(tmp_path, run("a", host="n1"), run("b", host="n2"), attributes='error="killed"', systems=SYSTEM * 2)
    check(found, machine=["n1", "n2"])


def test_one_result_packed_in_several_ways(tmp_path):
    read(tmp_path, run("a.c"), attributes='date="2015-03-03 16:13:01 CET"')
    text = (tmp_path / "r.xml").read_bytes()
    for suffix in (".gz", ".bz2"):
        write(tmp_path / f"r.xml{suffix}", text)
    with pytest.warns(perfarray.PerfarrayWarning, match=r"r\.xml\.bz2', 'r\.xml\.gz'"):
        assert perfarray.read_archive(tmp_path)["time"].size == 1


test_what_is_wrong_is_said = refusals(
    reader("r.xml"),
    "r.xml",
    ('<!DOCTYPE result [<!ENTITY a "x"><!ENTITY b "&a;&a;">]><result benchmarkname="&b;"></result>', ".*defines entities"),
    ('<!DOCTYPE result [<!ENTITY a SYSTEM "file:///etc/hostname">]><result benchmarkname="b">&a;</result>', ".*defines entities"),
    ('<result benchmarkname="b"><run>', ".*is not well-formed XML"),
    ('<other><result benchmarkname="b"/></other>', ".*its root is 'other'"),
    ('<result benchmarkname="b"></result>', ".*holds no measurement"),
    *((f'<result benchmarkname="b">{run("a", walltime=time)}</result>', f".*run 0: 'walltime' is {message}")
      for time, message in (("5 apples", "'5 apples'; expected a number in s"), ("inf", "'inf'; expected a number in s"),
                            ("0s", "'0'; expected a number above 0"))),
)  # fmt: skip
