"""Reports of SPEC on the command line: the published ratio decides, and different suites are not
compared."""

import numpy as np
import pytest

import perfarray
from cli.commands import as_json, run
from readers.files_of_our_own import SPEC_HARDWARE, spec_pair, spec_result, write
from shared_material import ARCHIVES, needs_archives

SECONDS = {"400.alpha": (100.0, 101.0, 102.0), "401.beta": (50.0, 50.5, 50.25)}


def report(path, copies, slower=1.0, score="SPECint_rate_base2006", machine="Box 1"):
    """Write a report of some copies, whose runs take `slower` times as long."""
    rows = [
        spec_pair(name, copies, slower * time, None, k)
        for name, times in SECONDS.items()
        for k, time in enumerate(times, 1)
    ]
    return write(
        path,
        spec_result(
            rows, score=score, after=SPEC_HARDWARE.replace("Box 1 (Model 7, 2.10 GHz)", machine)
        ),
    )


@pytest.mark.parametrize("machine", ["Box 1", "Box 2"])
def test_rates_are_compared_by_what_spec_publishes(tmp_path, machine):
    """24 copies in 1.2 times the time of 2 are ten times as much work: the command, a report and
    Python agree, and name the copies."""
    old = report(tmp_path / "old.csv", 2)
    new = report(tmp_path / "new.csv", 24, slower=1.2, machine=machine)
    answer = as_json("compare", old, new, code=0)
    output = run("compare", old, new).stderr
    assert "(candidate against baseline): copies 24 against 2. " in output
    assert [row["verdict"] for row in answer["benchmarks"]] == ["faster", "faster"]
    assert [row["estimate"] for row in answer["benchmarks"]] == pytest.approx([10.0, 10.0])
    assert answer["suites"][0]["estimate"] == pytest.approx(10.0)
    sides = [perfarray.read(path).squeeze("machine", drop=True) for path in (old, new)]
    with pytest.warns(perfarray.PerfarrayWarning, match="copies 24 against 2"):
        result = sides[1].perf.compare(sides[0])
    assert result["suite_estimate"].item() == pytest.approx(10.0)
    by_time = run("compare", old, new, "--metric", "time", code=1)
    assert "A time does not count copies, a rate does (--metric 'ratio'" in by_time.stderr
    run("report", old, new, "--output", "markdown", "-o", "page.md", code=0)
    assert "10.0" in (tmp_path / "page.md").read_text()


def test_different_suites_have_no_verdict(tmp_path):
    """A speed report and a rate report have no answer: exit code 2, and both are named."""
    old, new = (
        report(tmp_path / "old.csv", 1, score="SPECint_base2006"),
        report(tmp_path / "new.csv", 24),
    )
    for command in ("compare", "report"):
        output = run(command, old, new, code=2).stderr
        assert (
            "different suites are not compared: 'int2006_rate' against 'int2006_speed' in the "
            "baseline"
        ) in output


def test_a_folder_of_several_suites_is_described(tmp_path):
    """`perfarray FOLDER` names the suites and the published measure, and proposes no comparison of
    different suites."""
    report(tmp_path / "a.csv", 24)
    report(tmp_path / "b.csv", 4, score="SPECint_base2006", machine="Box 2")
    printed_text = run("about", tmp_path).stdout
    assert "  2 suites: 'int2006_rate', 'int2006_speed'" in printed_text
    assert printed_text.index("measured: ratio, higher is better") < printed_text.index(
        "measured: time in s"
    )
    assert "--dim machine" not in printed_text
    report(tmp_path / "b.csv", 4, machine="Box 2")
    assert "--dim machine --baseline" in run("about", tmp_path).stdout


@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
def test_a_plan_of_rates_is_priced_by_their_times(tmp_path):
    """The price of an execution comes with the rate: the plan costs as much as that of times, of
    one side and of two."""
    old, new = (
        report(tmp_path / "old.csv", 24),
        report(tmp_path / "new.csv", 24, slower=1.1, machine="Box 2"),
    )
    run("plan", old, "--half-width", "1%", "--json", code=0)
    times = perfarray.read_archive([old, new])
    for baseline in ((), ("Box 1",)):
        rates, seconds = (
            times.perf.plan_repetitions(*baseline, half_width=0.01, cost_units="s", metric=metric)
            for metric in (None, "time")
        )
        assert rates.attrs["metric"] == "ratio"
        price = seconds["cost"] / seconds["repetitions"].prod("level")
        np.testing.assert_allclose(rates["cost"] / rates["repetitions"].prod("level"), price)


@needs_archives
def test_the_two_published_rate_reports():
    """35.27 with 2 copies against 416.44 with 24: 11.8 times as much, in every benchmark more."""
    folder = ARCHIVES / "spec_csv" / "EstebanMonge_speccpu2006"
    answer = as_json(
        "compare", folder / "CINT2006.001.ref.csv", folder / "cint2006-rates-example.csv"
    )
    assert {row["verdict"] for row in answer["benchmarks"] if row["tuning"] == "base"} == {"faster"}
    (row,) = (row for row in answer["suites"] if row.get("tuning", "base") == "base")
    assert row["estimate"] == pytest.approx(416.443094 / 35.27003, rel=0.005)


def with_peak(path, **options):
    """Write a result with base and peak; the peak of the second benchmark is its base."""
    pairs = {
        "400.alpha": ((50.0, 45.0), (51.0, 46.0), (52.0, 45.5)),
        "401.beta": ((20.0, 20.0), (20.5, 20.5), (20.2, 20.2)),
    }
    rows = [
        spec_pair(name, 4, base, peak, k)
        for name, runs in pairs.items()
        for k, (base, peak) in enumerate(runs, 1)
    ]
    return write(path, spec_result(rows, **options))


def test_a_peak_that_is_its_base_is_named_and_counts_in_the_suite(tmp_path):
    """It is not `measured only in base`; the suite is over both benchmarks, with 1 for the copy."""
    path = with_peak(tmp_path / "result.csv")
    printed_text = run("compare", path, "--dim", "tuning", "--baseline", "base", code=0).stdout
    assert "peak is its base (counts in the suite, not tested), 1:\n    401.beta\n" in printed_text
    assert "measured only" not in printed_text
    assert "all 2" in printed_text
    answer = as_json("compare", path, "--dim", "tuning", "--baseline", "base", code=0)
    (alpha,) = (row["estimate"] for row in answer["benchmarks"] if row["benchmark"] == "400.alpha")
    assert answer["suites"][0]["estimate"] == pytest.approx(alpha**0.5)
    assert "copied" in [note["code"] for note in answer["notes"]]


def test_a_comparison_of_copies_alone_has_no_answer(tmp_path):
    """Nothing was measured twice: exit code 2, and the reason is named."""
    rows = [spec_pair("401.beta", 4, time, time, k) for k, time in enumerate((20.0, 20.5, 20.2), 1)]
    path = write(tmp_path / "result.csv", spec_result(rows))
    output = run("compare", path, "--dim", "tuning", "--baseline", "base", code=2).stderr
    assert (
        "nothing was measured on both sides: one of them has copies of other results alone "
        "('401.beta')"
    ) in output


def test_invalid_results_are_said_to_be(tmp_path):
    """`about` says it of the file, and a comparison of its side."""
    path = with_peak(tmp_path / "result.csv", valid=0, est="Est. ")
    printed_text = run("about", path).stdout
    assert "  not valid: all" in printed_text
    assert "  estimated, not reportable: all" in printed_text
    output = run("compare", path, "--dim", "tuning", "--baseline", "base", code=0).stderr
    box = "('Box 1 (Model 7, 2.10 GHz)')"
    assert f"the candidate {box} and the baseline {box} are not valid, as the file says" in output
    assert "not valid" not in run("about", with_peak(tmp_path / "other.csv")).stdout
