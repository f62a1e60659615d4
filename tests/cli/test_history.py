"""`perfarray history`: changes along commits, their order, and exit codes."""

import json
import re
from base64 import b64decode

import numpy as np
import pytest
import xarray as xr

import perfarray
from cli.commands import as_json, one_line, run, write_rows
from perfarray.tables.stores import appending
from readers.files_of_our_own import bench, suite, write
from readers.files_of_our_own import run as pyperf_run

HASHES = [f"{position * 2654435761 % 2**32:08x}{'0' * 32}" for position in range(1, 25)]
"""Commits in the order they were made, which is not that of their names."""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Results of asv: time_sort is 20 % slower from the tenth commit on, and 30 % faster from the
    eighteenth; time_fft stays."""
    folder, rng = tmp_path_factory.mktemp("asv"), np.random.default_rng(1)
    for position, commit in enumerate(HASHES):
        level = (1.2 if position >= 9 else 1.0) * (0.7 if position >= 17 else 1.0)
        mean_of_cell = {
            "time_sort": level * float(rng.normal(1, 0.01)),
            "time_fft": float(rng.normal(1, 0.01)),
        }
        date = 1700000000000 + 1000 * position
        write(
            folder / f"{commit[:8]}.json",
            {
                "commit_hash": commit,
                "date": date,
                "params": {"machine": "box"},
                "results": mean_of_cell,
            },
        )
    return folder


def history(*words, code=None):
    return as_json("history", *words, code=code)


def test_what_changed_and_when(results):
    """There is a row for each change, with commits in the order of their dates; exit code 1 says
    that something became slower."""
    slower, faster = HASHES[9][:8], HASHES[17][:8]
    printed_text = run("history", results, code=1).stdout.splitlines()
    assert [line.split()[:2] for line in printed_text[2:4]] == [
        ["time_sort", slower],
        ["time_sort", faster],
    ]
    assert printed_text[-1].startswith(
        "2 changes in 2 series of up to 24 commits: 1 slower, 1 faster"
    )
    assert f"Commits from {HASHES[0][:8]} to {HASHES[-1][:8]}, the oldest first." in "\n".join(
        printed_text
    )
    changes = history(results, code=1)["changes"]
    assert [(row["benchmark"], row["commit"], row["verdict"]) for row in changes] == [
        ("time_sort", slower, "slower"), ("time_sort", faster, "faster"),
    ]  # fmt: skip
    assert changes[0]["lower"] < 1.2 < changes[0]["upper"]
    largest_first = run("history", results, "--sort", "effect", code=1).stdout.splitlines()[2:4]
    assert [line.split()[1] for line in largest_first] == [faster, slower]


def test_a_page_has_the_picture(results, tmp_path):
    """The HTML shows the history above the table, and loads nothing."""
    pytest.importorskip("matplotlib")
    page = tmp_path / "h.html"
    run("history", results, "-o", page, code=1)
    text = page.read_text("utf-8")
    (source,) = re.findall(r'<img [^>]*src="([^"]*)"', text)
    assert source.startswith("data:image/svg+xml;base64,")
    picture = b64decode(source.partition(",")[2]).decode()
    assert "1.2" in picture
    assert "slower" in picture
    assert text.index("<img") < text.index("<table")


def test_another_host():
    """A benchmark that is slower since another host measures is a row with that cause, and no
    reason for exit code 1."""
    rng = np.random.default_rng(1)
    rows = [
        f"fft,2026-03-{day:02},{'h1' if day < 13 else 'h2'},{execution},{(1.0 if day < 13 else 1.2) * rng.normal(1, 0.005)}"
        for day in range(1, 25)
        for execution in range(2)
    ]
    answer = history(
        write_rows("nights.csv", "benchmark,date,host,execution,time", rows),
        "--dims",
        "date=date",
        code=0,
    )
    assert [(row["date"], row["verdict"], row["cause"]) for row in answer["changes"]] == [
        ("2026-03-13", "slower", "host")
    ]
    assert answer["exit_reason"].endswith(
        ": 0 slower, 0 faster, 0 equivalent, 0 inconclusive; 1 with another host"
    )


def test_since_a_commit(results):
    """Changes since a commit are shown and judged, and found from all commits. A hash may be
    abbreviated, or longer."""
    for name in (HASHES[12][:5], HASHES[12]):
        answer = history(results, "--since", name, code=0)
        assert [row["verdict"] for row in answer["changes"]] == ["faster"]
    assert "since" in answer["exit_reason"]
    assert history(results, "--since", HASHES[9], code=1)["exit_reason"].endswith(
        f" since {HASHES[9][:8]}"
    )
    assert (
        "--since ffffffff: not among the 24 commits"
        in run("history", results, "--since", "ffffffff", code=2).stderr
    )


def test_after_each_commit(results):
    """Every commit is judged by those up to it alone."""
    answer = history(results, "--online")
    assert (answer["attrs"]["false_alarms"], answer["exit_code"]) == (
        1,
        any(row["verdict"] == "slower" for row in answer["changes"]),
    )
    assert "at 1 per 1,000 commits of a stable history" in one_line(
        run("history", results, "--online").stdout
    )


def test_order_of_a_list(results, tmp_path):
    """The list begins with the newest commit, in a file or on stdin; commits that are not in it are
    named."""
    order = write(
        tmp_path / "order.txt", "\n".join(f"{commit} words" for commit in reversed(HASHES))
    )
    assert history(results, "--order", order)["changes"] == history(results)["changes"]
    write(order, "\n".join(HASHES[:22]))  # the oldest first: what was slower first is faster now
    answer = json.loads(
        run(
            "history", results, "--order", "-", "--json", answers=order.read_text(encoding="utf-8")
        ).stdout
    )
    assert [row["verdict"] for row in answer["changes"]] == ["slower", "faster"]
    assert [
        section_part in " ".join(answer["warnings"])
        for section_part in ("2 of 24 commits are not in '-'", "begins with the oldest")
    ] == [True, True]
    write(order, "0000000000")
    assert "none of the 24 commits" in run("history", results, "--order", order).stderr
    write(order, f"{HASHES[3][:7]}a\n{HASHES[3]}\n{HASHES[3][:8]}ff")
    assert "may be" in run("history", results, "--order", order).stderr


def dated_rows(name, header, labels, stored):
    """Write rows of 20 labels, slower by 10 % from the 11th on, in the order stored; return the
    path."""
    rng = np.random.default_rng(1)
    values = np.where(np.arange(20) < 10, 1.0, 1.1) * rng.normal(1, 0.005, 20)
    return write_rows(
        name, header, [f"{labels[position]},{values[position]}" for position in stored]
    )


NEWEST_FIRST = range(19, -1, -1)
MIXED = [7 * position % 20 for position in range(20)]


def test_rows_that_are_not_stored_oldest_first():
    """Dates and numbers of builds sort the rows, a column of dates the commits; the legend says the
    first, the last and what sorts them."""
    days = [f"{day:02}" for day in range(1, 21)]
    cases = {
        "date": ([f"2024-01-{day}" for day in days], "2024-01-11", ""),
        "build": ([str(95 + position) for position in range(20)], "105", ""),
        "commit,when": (
            [f"{HASHES[position][:8]},{day}.01.2024" for position, day in enumerate(days)],
            HASHES[10][:8],
            "when",
        ),
        "commit,pushed": (
            [
                f"{HASHES[position][:8]},Jan {day} 2024 09:00:00 +0100"
                for position, day in enumerate(days)
            ],
            HASHES[10][:8],
            "pushed",
        ),
    }
    for header, (labels, label, by) in cases.items():
        dim = header.split(",")[0]
        for stored in (NEWEST_FIRST, MIXED):
            path = dated_rows("rows.csv", f"{header},time_ms", labels, stored)
            assert [
                (str(row[dim]), row["verdict"]) for row in history(path, code=1)["changes"]
            ] == [(label, "slower")]
            ends = (
                f"from {labels[0].split(',')[0]} to {labels[-1].split(',')[0]}, the oldest first."
            )
            assert (ends + (f" Their order is that of {by}." if by else "")) in one_line(
                run("history", path, code=1).stdout
            )


def test_the_date_of_commits_has_any_name():
    """`--dims commit_date=COLUMN` names the dates, and `--order COLUMN` what sorts the commits."""
    labels = [
        f"{HASHES[position][:8]},2024-01-{position + 1:02},{20 - position}"
        for position in range(20)
    ]
    path = dated_rows("rows.csv", "commit,when,lane,time", labels, NEWEST_FIRST)
    for words in (
        ("--dims", "commit_date=when"),
        ("--dims", "commit=commit,commit_date=when"),
        ("--order", "when"),
        (),
    ):
        assert [
            (row["commit"], row["verdict"]) for row in history(path, *words, code=1)["changes"]
        ] == [(HASHES[10][:8], "slower")]
    assert "'when'" in one_line(run("history", path, "--order", "whenever", code=2).stderr)


def test_an_order_that_nothing_says():
    """Commits without dates are refused; `--order` says how they are stored."""
    path = dated_rows("rows.csv", "commit,time", [commit[:8] for commit in HASHES[:20]], MIXED)
    refused = run("history", path, code=2).stderr
    assert "the order of the 20 commits is not known" in one_line(refused)
    assert (refused.count("--order 'stored'"), "warning" in refused) == (1, False)
    path = dated_rows(
        "rows.csv", "commit,time", [commit[:8] for commit in HASHES[:20]], NEWEST_FIRST
    )
    assert [row["verdict"] for row in history(path, "--order", "reversed", code=1)["changes"]] == [
        "slower"
    ]
    printed_text = one_line(run("history", path, "--order", "stored", code=0).stdout)
    assert (
        "1 faster" in printed_text,
        "in the order stored" in printed_text,
        "the oldest first" in printed_text,
    ) == (
        True,
        True,
        False,
    )


def test_files_of_one_date_each(nights):
    """Along files, the date of each sorts them."""
    names = [f"{5 * night % NIGHTS:02}.json" for night in range(NIGHTS)]
    assert [
        (row["file"], row["verdict"]) for row in history(nights, "--dim", "file", code=1)["changes"]
    ] == [(names[6], "slower")]


def test_branches_in_one_history():
    """Branches that alternate are named with their means, and are series of their own once they are
    a dim."""
    rng = np.random.default_rng(1)
    rows = [
        f"2024-01-{day:02}T00:00:00+01:00,c{day:03}a,{branch},{level * rng.normal(1, 0.005)}"
        for day in range(1, 25)
        for branch, level in [("main", 10 + (day > 12)) if day % 3 else ("topic", 14)]
    ]
    path = write_rows("branches.csv", "time,commit,branch,latency_ms", rows)
    (warning,) = history(path, "--dims", "date=time,metric=latency_ms", code=0)["warnings"]
    assert warning.startswith(
        "'branch' alternates along the dates, which are one series: main (16, mean 10.5)"
    )
    assert "--dims branch=branch" in warning
    answer = history(path, "--dims", "date=time,metric=latency_ms,branch=branch", code=1)
    assert [(row["branch"], row["verdict"]) for row in answer["changes"]] == [("main", "slower")]


def test_hashes_without_dates(tmp_path):
    """The order of hashes is no order in time: there is no answer without a list. One benchmark
    that changed is named."""
    for position, commit in enumerate(HASHES[:12]):
        printed_text = [
            {"command": name, "times": [level, 1.01 * level]}
            for name, level in (("sort", 1.0 + (position >= 6)), ("fft", 1.0))
        ]
        write(tmp_path / commit[:8] / "h.json", {"results": printed_text})
    layout = ("--layout", "{commit}/h.json")
    assert "order of the 12 commits is not known" in one_line(
        run("history", tmp_path, *layout, code=2).stderr
    )
    order = write(tmp_path / "order.txt", "\n".join(reversed(HASHES)))
    result = run("history", str(tmp_path / "*" / "h.json"), "--order", order, *layout)
    assert ("hashes" in result.stderr, result.stdout.splitlines()[2].split()[:2]) == (
        False,
        ["sort", HASHES[6][:8]],
    )


def test_no_answer(results, tmp_path):
    """There is no dim of a history, or fewer commits than a change needs; no legend explains
    columns that are not there."""
    subset = write(tmp_path / "one.json", {"results": [{"command": "sleep", "times": [1.0, 1.1]}]})
    assert "Name the dim with --dim" in run("history", subset, code=2).stderr
    short = results / f"{HASHES[0][:2]}*.json"
    assert history(short, code=2)["exit_reason"].startswith("no answer:")
    assert " since " not in history(short, "--since", HASHES[0], code=2)["exit_reason"]
    assert "change: of the mean" not in run("history", short).stdout


NIGHTS = 12
"""Nights of results, each a file; something is 20 % slower from the seventh on."""


def needs_appending():
    """Skip where nothing can be appended to a store."""
    pytest.importorskip("zarr")
    if np.lib.NumpyVersion(np.__version__) < appending.NUMPY:
        pytest.skip("NumPy before 2.3 cannot join texts of any length (2026-11-24)")


@pytest.fixture
def nights(tmp_path):
    """Results of pytest-benchmark that name their commits; the names of the files are in another
    order."""
    rng = np.random.default_rng(1)
    for night in range(NIGHTS):
        data = ((1.2 if night >= 6 else 1.0) * rng.normal(1, 0.005, 3)).tolist()
        date = f"2026-03-{night + 1:02}T00:00:00+00:00"
        benchmark = {
            "name": "test_fft",
            "fullname": "t.py::test_fft",
            "stats": {"data": data},
            "params": None,
            "options": {},
        }
        content = {
            "benchmarks": [benchmark],
            "machine_info": {"node": "box"},
            "datetime": date,
            "version": "4.0.0",
        }
        write(
            tmp_path / f"{5 * night % NIGHTS:02}.json",
            content | {"commit_info": {"id": f"c{night:02}", "time": date}},
        )
    return tmp_path


def test_files_that_are_one_commit_each(nights, tmp_path):
    """Such files lie along the commits alone, at once and appended; with a second file of a commit,
    files are a dim."""
    needs_appending()
    assert [
        change["commit"] for change in history(nights, "--dims", "commit=commit", code=1)["changes"]
    ] == ["c06"]
    first, second = (nights / f"{5 * night % NIGHTS:02}.json" for night in range(2))
    run("convert", first, "history.zarr", "--dims", "commit=commit", code=0)
    run("convert", second, "history.zarr", "--dims", "commit=commit", "--append", code=0)
    with xr.open_zarr("history.zarr") as stored:
        assert set(stored["time"].dims) == {"benchmark", "commit", "execution", "iteration"}
        assert stored["commit"].values.tolist() == ["c00", "c01"]
    write(
        nights / "again.json",
        json.loads(first.read_text()) | {"datetime": "2026-04-01T00:00:00+00:00"},
    )
    assert (
        perfarray.read_archive(f"{nights}/*.json", dims={"commit": "commit"}).sizes["file"]
        == NIGHTS + 1
    )


def test_appended_commits_have_dates_of_their_own(tmp_path):
    """The date of a file with one commit lies along the commits once there are more."""
    needs_appending()
    dates = [f"2026-03-0{day} 10:00:00" for day in (1, 2, 3)]
    for night, date in enumerate(dates):
        path = write(
            tmp_path / f"c{night}.json",
            suite(bench("fft", pyperf_run(1.0, 1.1, date=date), unit="second")),
        )
        run(
            "convert",
            path,
            "history.zarr",
            *(["--append"] if night else []),
            "--layout",
            "{commit}.json",
            code=0,
        )
    with xr.open_zarr("history.zarr") as stored:
        assert (stored["date"].dims, stored["date"].values.tolist()) == (("commit",), dates)


def test_rows_are_sorted_alike_in_every_form():
    """CSV and JSON have the changes in the order of the table."""
    sizes = {"small": 1.1, "big": 1.5, "middle": 1.3}
    noise = np.random.default_rng(1).normal(0, 0.004, 20)
    rows = [
        f"{name},{day},{(size if day > 9 else 1) * (1 + noise[day])}"
        for name, size in sizes.items()
        for day in range(20)
    ]
    write_rows("sorted.csv", "benchmark,build,time", rows)
    for order, expected in (
        ("effect", ["big", "middle", "small"]),
        ("name", ["big", "middle", "small"]),
    ):
        content = as_json("history", "sorted.csv", "--sort", order, code=1)
        assert [row["benchmark"] for row in content["changes"]] == expected
    assert [row["benchmark"] for row in as_json("history", "sorted.csv", code=1)["changes"]] == [
        "small",
        "big",
        "middle",
    ]
