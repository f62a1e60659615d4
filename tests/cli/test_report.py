"""`perfarray report`: one page of an archive, or of two."""

import json
from pathlib import Path

import numpy as np
import pytest

from cli.archives import write_archive
from cli.commands import OLD as TIMES
from cli.commands import SHIPPED, refused, run, write_rows
from readers.files_of_our_own import bench, suite, write
from readers.files_of_our_own import run as pyperf_run

OLD, NEW = SHIPPED / "malloc.json", SHIPPED / "pymalloc.json"


def report(*arguments, path="report.json"):
    """Write a report, and return what the command says and what it wrote."""
    completed, text = run("report", *arguments, "-o", path, code=0), Path(path).read_text()
    return completed, json.loads(text) if path == "report.json" else text


def section(answer, title):
    return next(subset for subset in answer["sections"] if subset["title"] == title)


def test_two_inputs_are_compared():
    """The command prints the name of the file."""
    completed, answer = report(OLD, NEW)
    assert "report.json" in completed.output
    assert "5 faster, 1 inconclusive" in answer["summary"][0]


def test_one_input_is_described():
    """Without a baseline nothing is compared."""
    completed, text = report(OLD, path="report.md")
    assert ("How long it takes" in text, "What changed" in text, completed.stderr) == (
        True,
        False,
        "",
    )


def test_options_of_plan_and_compare():
    """Prices are in seconds and in the words of the format, as for `plan`; threshold and correction
    are those of `compare`."""
    selection = (OLD, NEW, "--cost", "process=3", "--threshold", "5%", "--correction", "holm")
    answer = report(*selection)[1]
    changed, planned = (
        section(answer, "What changed"),
        section(answer, "How many repetitions next time"),
    )
    assert "threshold=0.05, correction='holm'" in changed["code"]
    assert (
        "A change below 5 % does not matter. Verdicts are corrected for their number (holm)."
        in changed["about"]
    )
    assert "costs={'execution': 3.0}, cost_units='s'" in planned["code"]
    assert {row["text"]["cost"].split()[-1] for row in planned["rows"]} <= {"min", "s"}
    assert (
        run("report", *selection, "--output", "json").stdout
        == Path("report.json").read_text() + "\n"
    )


def test_missing_prices():
    """A warning names the prices that the data do not have; the report is written nevertheless."""
    rows = [f"a,{i},{j},{1 + i / 50 + j / 90}" for i in range(4) for j in range(2)]
    path = write_rows("runs.csv", "benchmark,execution,iteration,time", rows)
    assert (
        "what one more execution costs is not known. Say --cost execution=SECONDS"
        in report(path)[0].stderr
    )
    assert report(path, "--cost", "execution=1")[0].stderr == ""
    completed, text = report(path, "--levels", "iteration", path="report.md")
    assert ("n counts iterations" in text, completed.stderr) == (True, "")


def test_one_machine_of_an_archive():
    """Its report is one of scores, which has no plan and asks for no price."""
    completed, answer = report(write_archive(), "--select", "machine=box-4")
    assert (answer["title"], answer["sections"][1]["title"], completed.stderr) == (
        "Archive of 1 machine",
        "Scores",
        "",
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((OLD, "-o", "report.pdf"), "'.pdf' is none of .html"),
        ((OLD, NEW, "--baseline", "x", "-o", "report.md"), "--baseline 'x' is no input"),
        ((OLD, NEW, "--dim", "machine", "-o", "report.md"), "inputs are compared"),
        ((OLD, NEW, "--cost", "fork=3", "-o", "report.md"), "'fork', a word of 'jmh'"),
        ((OLD, NEW, "--threshold=-2%", "-o", "report.md"), "--threshold -2% is out of range"),
    ],
)
def test_errors(arguments, message, tmp_path):
    """An error is one line, and nothing is written."""
    assert message in run("report", *arguments, code=2).output
    assert not list(tmp_path.iterdir())


HASHES = [f"{position * 2654435761 % 2**32:08x}" for position in range(1, 25)]
"""Commits in the order they were made, which is not that of their names."""


def nightly(folder, *, dated):
    """Write a pyperf file for each commit: `sort` is 6 % slower from the tenth on, `fft` 5 % faster
    from the seventeenth."""
    rng = np.random.default_rng(1)
    for position, commit in enumerate(HASHES):
        benches = []
        for name, level in (
            ("sort", 1.06 if position >= 9 else 1.0),
            ("fft", 0.95 if position >= 16 else 1.0),
        ):
            dates = [
                {"date": f"2026-03-{position + 1:02} 02:00:{run_number:02}"} if dated else {}
                for run_number in range(4)
            ]
            runs = [
                pyperf_run(*(level * rng.normal(1, 0.004, 2)).tolist(), **date) for date in dates
            ]
            benches.append(bench(name, *runs, unit="second"))
        write(folder / f"{commit}.json", suite(*benches))
    return folder


def history_of(*arguments):
    """Return the summary of a report, and its section on the history."""
    answer = report(*arguments, "--layout", "{commit}.json")[1]
    assert "Nothing was measured on both sides" not in str(answer)
    return answer["summary"], section(answer, "Since when")


def test_a_nightly_archive_has_a_history(tmp_path):
    """Dates of the files, or a list, order the commits; summary and section agree. Without an order
    a note names the remedy."""
    lines, dated = history_of(nightly(tmp_path / "dated", dated=True))
    assert lines[0] == "Changes along the commits: 1 slower, 1 faster."
    assert [(row["commit"], row["verdict"]) for row in dated["rows"]] == [
        (HASHES[9], "slower"),
        (HASHES[16], "faster"),
    ]
    folder = nightly(tmp_path / "undated", dated=False)
    lines, undated = history_of(folder)
    assert not any("Changes" in line for line in lines)
    assert undated["notes"][0].startswith("No answer: the order of the 24 commits is not known")
    assert "--order FILE" in undated["notes"][0]
    order = write(tmp_path / "order.txt", "\n".join(reversed(HASHES)))
    assert (
        history_of(folder, "--order", order)[0][0]
        == "Changes along the commits: 1 slower, 1 faster."
    )


def test_a_stable_history_has_no_change():
    """Summary and section say so in the same words."""
    rows = [f"a,c{position:02},{1 + (position * 7919 % 31) / 1000}" for position in range(20)]
    answer = report(write_rows("t.csv", "benchmark,commit,time", rows), "--dims", "commit=commit")[
        1
    ]
    sentence = "No change in 1 series along the commits: none is larger than chance makes it."
    assert (answer["summary"][0], section(answer, "Since when")["notes"][-1]) == (
        sentence,
        sentence,
    )


def test_suites_by_a_coordinate_of_the_benchmarks():
    """`--by` gives each group its row, in JSON, too; a name that is no coordinate is an error that
    lists those that are."""
    for side, factor in (("old", 1.0), ("new", 1.3)):
        rows = [
            f"{name},{group},{i},{factor * time}"
            for name, group in zip("abcd", "xxyy", strict=True)
            for i, time in enumerate(TIMES)
        ]
        write_rows(f"{side}.csv", "benchmark,tags,execution,time", rows)
    report = json.loads(
        run("report", "old.csv", "new.csv", "--by", "tags", "--output", "json", code=0).stdout
    )
    suites = [row for row in report["sections"][0]["rows"] if "benchmarks" in row]
    assert [(row["suite"], row["benchmarks"], row["verdict"]) for row in suites] == [
        ("x", 2, "slower"),
        ("y", 2, "slower"),
    ]
    assert "times = times.assign_coords(suite=times['tags'])" in report["code"]
    assert "--by 'tag' not found; the timings have the coordinates 'benchmark'" in refused(
        "report", "old.csv", "new.csv", "--by", "tag"
    )
