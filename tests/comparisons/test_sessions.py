"""One session a side: a note says that what differs between sessions is not in the interval, and no
warning does."""

import itertools
import warnings

import pytest
from typer.testing import CliRunner

import perfarray
from perfarray.cli import app as cli

CODE, SENTENCE = "one_session", "Two sessions of one program can differ by more than this interval"

CALLS = {
    "compare": {},
    "ratio_interval": {},
    "score_ratio_interval": {},
    "randomization_test": {},
    "hierarchical_performance_test": {},
    "speedup_test": {},
    "prob_faster": {},
    "agreement": {"n_resamples": 99},
    "stopping": {"half_width": 0.01},
}


def write(file, factor, sessions=1):
    """Write a table of one side: two benchmarks, some sessions of four executions; of one session
    there is no column."""
    rows = itertools.product("ab", range(sessions), range(4))
    lines = [
        f"{name},{session},{execution},{factor * (10 + session + 0.1 * execution)}"
        for name, session, execution in rows
    ]
    table = "\n".join(["benchmark,session,execution,time", *lines])
    file.write_text(table if sessions > 1 else table.replace(",session", "").replace(",0,", ","))
    return file


@pytest.fixture
def sides(tmp_path):
    return [
        write(tmp_path / f"{name}.csv", factor) for name, factor in (("old", 1.0), ("new", 1.1))
    ]


def asides(result):
    """Return the codes of the notes that are kept and not warned of."""
    return [note.code for note in result.perf.notes() if note.aside]


@pytest.mark.parametrize(("method", "choices"), CALLS.items())
def test_what_compares_two_sessions_keeps_a_note(method, choices):
    """The shipped pair of sessions of one program: the note of every method that compares sides is
    in its table, and in no warning."""
    times = perfarray.load_dataset("aa_sessions")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = getattr(times.perf, method)("first", **choices)
    assert [code for code in asides(result) if code != "measured_in_sequence"] == [CODE]
    assert sum(SENTENCE in note for note in result.perf.table().attrs["notes"]) == 1
    assert not any(SENTENCE in str(warning.message) for warning in caught)


@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
def test_the_command_and_the_report_show_it(sides):
    """The command prints it below the table in every form for people, on stdout alone; the report
    has it below what changed."""
    for form in ("table", "markdown", "html"):
        answer = CliRunner().invoke(
            cli.app, ["compare", *map(str, sides), "--output", form, "--explain"]
        )
        assert SENTENCE in " ".join(answer.stdout.split())
        assert SENTENCE not in answer.stderr
    times = perfarray.read_archive({"old": sides[0], "new": sides[1]}, dim="version")
    section = (
        times.perf.report("old", format="markdown")
        .partition("## What changed")[2]
        .partition("\n## ")[0]
    )
    assert SENTENCE in section


@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
def test_sides_of_several_sessions_have_no_such_note(tmp_path, sides):
    """Sessions as a level, merged, paired or compared leave nothing to say; one session selected,
    or sessions apart, do."""
    paths_by_side = {
        side.stem: write(tmp_path / f"{side.stem}_several.csv", factor, 3)
        for side, factor in zip(sides, (1.0, 1.1), strict=True)
    }
    times = perfarray.read_archive(paths_by_side, dim="version")
    one_session = perfarray.read_archive({side.stem: side for side in sides}, dim="version")
    assert (
        asides(times.perf.compare("old"))
        == asides(times.perf.merge_level("session").perf.compare("old"))
        == []
    )
    assert asides(one_session.perf.compare("old", paired="execution")) == []
    assert asides(times.perf.compare(0, dim="session", levels="execution")) == []
    assert (
        asides(times.sel(session=0).perf.compare("old"))
        == asides(times.perf.compare("old", levels="execution"))
        == [CODE]
    )
    assert asides(times.sel(session=[0]).perf.merge_level("session").perf.compare("old")) == [CODE]
