"""BenchExec's results: limits, failures, units in texts, machines; and XML that means harm."""

import pytest

import perfarray
from perfarray.suites.curves import profile
from readers.files_of_our_own import NAN, check, reader, readings, refusals, write

DOCTYPE = (
    "<!DOCTYPE result PUBLIC '+//IDN sosy-lab.org//DTD BenchExec result 1.2//EN' "
    "'http://www.sosy-lab.org/benchexec/result-1.2.dtd'>\n"
)
SYSTEM = (
    '<systeminfo hostname="box"><os name="Linux"/><cpu cores="8" model="A CPU"/><ram '
    'size="17179869184B"/></systeminfo>'
)


def run(name, status="true", category="correct", extra="", **columns):
    """Return one run; columns may be given twice, the second hidden."""
    columns = {
        "status": status,
        "category": category,
        "walltime": "2.5s",
        "cputime": "3.5s",
    } | columns
    cells = "".join(
        f'<column title="{title}" value="{value}"/>' for title, value in columns.items()
    )
    return f'<run name="{name}" properties="p">{cells}{extra}</run>'


def read(tmp_path, *runs, attributes="", systems=SYSTEM):
    head = f'<result benchmarkname="b" tool="T" version="1.0" timelimit="60 s" {attributes}>'
    columns = '<columns><column title="status"/></columns>'
    return perfarray.read(
        write(
            tmp_path / "r.xml",
            f'<?xml version="1.0"?>\n{DOCTYPE}{head}{columns}{systems}{"".join(runs)}</result>',
        )
    )


AGAIN = '<column hidden="true" title="cputime" value="9s"/>'
STOPPED = [
    run("a"),
    run("b", "TIMEOUT (true)", "error", cputime="60.5s", walltime="40s"),
    run("c", "ERROR (1)", "error"),
    run("d", "unknown", "unknown"),
    run("e", "", "missing", walltime="", cputime=""),
]

test_what_is_read = readings(
    lambda folder, runs: read(folder, *runs),
    [
        (
            (
                "wall-clock time is `time`; a column that comes again is read once; amounts "
                "have their "
                "units in them"
            ),
            [
                run(
                    "a.c",
                    memory="4096B",
                    cpuenergy="1.5J",
                    score="NaN",
                    depth="inf",
                    extra=AGAIN,
                )
            ],
            {
                "metrics": ["time", "cpu_time", "memory", "energy"],
                "time": 2.5,
                "cpu_time": 3.5,
                "memory": 4096.0,
                "energy": 1.5,
                "time.units": "s",
                "cpu_time.units": "s",
                "memory.units": "B",
                "energy.units": "J",
                "machine": "box",
                "os": "Linux",
                "cpu": "A CPU",
                "logical_cores": 8,
                "memory_gb": 16,
                "tool": "T",
                "tool_version": "1.0",
                "timelimit": "60 s",
            },
        ),
        (
            "the oldest files have other tags",
            [run(name).replace("run", "sourcefile") for name in ("a.c", "b.c")],
            {"benchmark": ["a.c", "b.c"], "time": [[[2.5]], [[2.5]]]},
        ),
        (
            (
                "time-outs, which have a bound for both of their times, and errors have no time; "
                "`unknown` is an answer"
            ),
            STOPPED,
            {
                "censored": [[[value]] for value in (False, True, False, False, False)],
                "failed": [[[value]] for value in (False, False, True, False, False)],
                "time": [[[value]] for value in (2.5, NAN, NAN, 2.5, NAN)],
                "censored_at": [[[value]] for value in (NAN, 40.0, NAN, NAN, NAN)],
                "status": ["true", "TIMEOUT (true)", "ERROR (1)", "unknown", "unknown"],
            },
        ),
    ],
)


def test_a_wrong_answer_is_not_solved(tmp_path):
    """It has a time like any other; of PAR2 and profiles it is a run without an answer."""
    stopped = run("c", "TIMEOUT", "error", walltime="60s", cputime="60s")
    times = read(tmp_path, run("a"), run("b", "false", "wrong", walltime="0.1s"), stopped)
    check(times, time=[[[2.5]], [[0.1]], [[NAN]]])
    score = times.perf.suite_score(mean="par2", limit=60)
    assert score["estimate"].item() == pytest.approx((2.5 + 120 + 120) / 3)
    assert [note.values["runs"] for note in score.perf.notes() if note.code == "censored"] == [2]
    with pytest.raises(ValueError, match="1 run that did not end has no limit"):
        times.perf.suite_score(mean="par2")
    assert profile(times, kind="time")["solved"].item() == 1
    assert profile(read(tmp_path, run("a"), run("b", "x")), kind="time")["solved"].item() == 2


def test_a_limit_counts_in_a_comparison(tmp_path):
    """A tool that was stopped is not faster than one that finished long before."""
    for name, run_element in (
        ("done", run("a")),
        ("stopped", run("a", "TIMEOUT", "error", walltime="60s", cputime="60s")),
    ):
        for repeat in range(5):
            text = (
                '<?xml version="1.0"?><result '
                f'benchmarkname="b">{run_element.replace("2.5s", f"2.{repeat}s")}</result>'
            )
            write(tmp_path / name / f"{repeat}.xml", text)
    times = perfarray.read_archive(tmp_path, layout="{version}/{execution}.xml")
    assert dict(times.sizes) == {"benchmark": 1, "version": 2, "execution": 5, "iteration": 1}
    with pytest.warns(perfarray.PerfarrayWarning):
        verdict = times.perf.compare("done", dim="version")["verdict"].item()
    assert verdict in ("slower", "inconclusive")


def test_hosts_and_an_aborted_result(tmp_path):
    """Several machines are told run by run; what is missing is noted."""
    with pytest.warns(perfarray.PerfarrayWarning, match="was aborted"):
        times = read(
            tmp_path,
            run("a", host="n1"),
            run("b", host="n2"),
            attributes='error="killed"',
            systems=SYSTEM * 2,
        )
    check(times, machine=["n1", "n2"])


def test_zeros_and_what_is_no_number(tmp_path):
    """A time of 0 is a value; one that is no number is missing, and named."""
    with pytest.warns(
        perfarray.PerfarrayWarning, match="1 value is missing: \"b: run 1: 'walltime' is inf\""
    ):
        check(
            read(tmp_path, run("a", walltime="0s"), run("b", walltime="inf")),
            time=[[[0.0]], [[NAN]]],
        )


def test_failed_runs_can_be_kept(tmp_path):
    """With `keep_failed` they have their times, and no mark."""
    failed = run("a", walltime="2.5s", category="error", status="KILLED")
    check(read(tmp_path, failed), time=[[[NAN]]], failed=[[[True]]])
    times = perfarray.read(next(tmp_path.glob("*.xml")), keep_failed=True)
    check(times, time=[[[2.5]]], absent=["failed"])


test_what_is_wrong_is_said = refusals(
    reader("r.xml"),
    "r.xml",
    [
        (
            (
                '<!DOCTYPE result [<!ENTITY a "x"><!ENTITY b "&a;&a;">]><result '
                'benchmarkname="&b;"></result>'
            ),
            ".*defines entities",
        ),
        (
            (
                '<!DOCTYPE result [<!ENTITY a SYSTEM "file:///etc/hostname">]><result '
                'benchmarkname="b">&a;</result>'
            ),
            ".*defines entities",
        ),
        ('<result benchmarkname="b"><run>', ".*is not well-formed XML"),
        ('<other><result benchmarkname="b"/></other>', ".*its root is 'other'"),
        ('<result benchmarkname="b"></result>', ".*holds no measurement"),
        *(
            (
                f'<result benchmarkname="b">{run("a", walltime=time)}</result>',
                f".*run 0: 'walltime' is {message}",
            )
            for time, message in (
                ("5 apples", "'5 apples'; expected a number in s"),
                ("-1s", "'-1'; expected a number from 0"),
            )
        ),
    ],
)


def test_par2_of_a_file(tmp_path):
    """Time-outs and errors count as twice the nominal limit, and other answers if they are marked.

    The task that is missing was not measured.
    """
    times = read(tmp_path, *STOPPED)
    score = times.perf.suite_score(mean="par2", limit=60, metric="cpu_time")["estimate"]
    assert score.item() == pytest.approx((3.5 + 120 + 120 + 3.5) / 4)
    marked = times.assign_coords(
        failed=times["failed"] | ~times["category"].isin(["correct", "missing"])
    )
    score = marked.perf.suite_score(mean="par2", limit=60, metric="cpu_time")["estimate"]
    assert score.item() == pytest.approx((3.5 + 3 * 120) / 4)
    with pytest.raises(ValueError, match=r"1 run that did not end has no limit"):
        times.perf.suite_score(mean="par2")
