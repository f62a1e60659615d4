"""`perfarray next`: which commit to measure next, until every change is traced to one."""

import numpy as np
import pytest

import perfarray
from cli.commands import as_json, one_line, refused, run, write_rows

HASHES = [f"{position * 2654435761 % 2**32:08x}{'0' * 32}" for position in range(1, 161)]
CULPRITS = {"fft": 92, "sort": 52}


def level(name, position):
    return 1.1 if name in CULPRITS and position >= CULPRITS[name] else 1.0


def rows_of(position, rng):
    """Return three runs of each benchmark at a commit, which is dated by its position."""
    date = np.datetime64("2024-01-01") + position
    return [
        f"{name},{HASHES[position][:8]},{date},{execution},{level(name, position) * rng.normal(1, 0.005)}"
        for name in (*CULPRITS, "copy")
        for execution in range(3)
    ]


@pytest.fixture
def archive(tmp_path):
    """Return an archive with every eighth commit."""
    rng = np.random.default_rng(1)
    rows = [row for position in range(0, 160, 8) for row in rows_of(position, rng)]
    return write_rows(tmp_path / "h.csv", "benchmark,commit,commit_date,execution,time", rows)


@pytest.fixture
def order(tmp_path):
    path = tmp_path / "order.txt"
    path.write_text("\n".join(reversed(HASHES)))
    return path


def test_every_change_has_its_next_commit(archive, order):
    """A row is a change: what `next_measurement` says of it, with the commits of the list."""
    answer = as_json("next", archive, "--order", order, code=0)
    labels = [commit[:8] for commit in HASHES]
    changes = perfarray.read(archive).perf.change_points(dim="commit")
    for row, (name, culprit) in zip(answer["next"], CULPRITS.items(), strict=True):
        start = labels[-(-culprit // 8) * 8]
        expected = changes.sel(benchmark=name).perf.next_measurement(commits=labels, change=start)
        assert (row["benchmark"], row["change"]) == (name, start)
        assert row["next"] == expected["next"].item()
        assert row["runs"] == expected["runs"].item() == 1
        assert (row["earliest"], row["latest"]) == (labels[labels.index(start) - 7], start)
        assert row["culprit_probability"] == pytest.approx(1 / 8)
    assert (
        f"measure {answer['next'][0]['next']} next (1 run), and 1 commit more"
        in (answer["exit_reason"])
    )


def test_the_search_ends_at_the_culprits(archive, order):
    """Measuring what it says leads to the commits that made the changes; then nothing is left."""
    rng = np.random.default_rng(2)
    for _ in range(12):
        answer = as_json("next", archive, "--order", order, code=0)
        following = {row["next"] for row in answer["next"] if row["runs"]}
        if not following:
            break
        with archive.open("a") as file:
            for position, commit in enumerate(HASHES):
                if commit[:8] in following:
                    file.write("\n".join(rows_of(position, rng)) + "\n")
    assert answer["exit_reason"] == "nothing more to measure: 2 changes, each made by one commit"
    assert {row["benchmark"]: row["culprit"] for row in answer["next"]} == {
        name: HASHES[position][:8] for name, position in CULPRITS.items()
    }


def test_without_a_list_the_commits_of_the_archive_are_searched(archive):
    """A line says how to add the others."""
    text = one_line(run("next", archive, code=0).stdout)
    assert "Only commits in the archive are considered. --order FILE" in text
    assert "Nothing more to measure: 2 changes, each made by one commit" in text


def test_without_a_change_there_is_nothing_to_look_into(archive):
    """That is an answer."""
    result = run("next", archive, "--select", "benchmark=copy", code=0)
    assert result.stdout.splitlines()[-1] == (
        "Nothing to look into: no change in 1 series of up to 20 commits"
    )
    assert result.stderr == ""


@pytest.mark.parametrize("form", ["table", "markdown", "csv", "html", "github", "junit"])
def test_all_forms(archive, order, form):
    """Each names the commit to measure."""
    pytest.importorskip("matplotlib")
    answer = as_json("next", archive, "--order", order)
    result = run("next", archive, "--order", order, "--output", form, code=0)
    assert answer["next"][0]["next"] in result.stdout


def test_no_answer(archive, tmp_path):
    """Exit code 2: too few commits, no history, an unknown order, a wrong probability."""
    rows = [f"a,c{day},2024-01-0{day},1.{day}" for day in (1, 2)]
    short = write_rows(tmp_path / "short.csv", "benchmark,commit,commit_date,time", rows)
    assert "too few commits" in run("next", short, code=2).stdout.lower()
    assert "--probability" in refused("next", archive, "--probability", "0")
    plain = write_rows(tmp_path / "plain.csv", "benchmark,execution,time", ["a,0,1", "a,1,1.1"])
    assert "Name the dim with --dim" in refused("next", plain)
