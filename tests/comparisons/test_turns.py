"""Sides that were measured one after the other are noted, by the dates in their files."""

import numpy as np
import pytest

from comparisons.arrays import in_seconds

MORNING, NOON = "2026-11-26T08:00:00", "2026-11-26T12:00:00"


def timings(**coords):
    return in_seconds(
        np.random.default_rng(1).normal(1, 0.01, (2, 3, 5)),
        "version",
        "benchmark",
        "execution",
        **coords,
    )


def stamps(*starts):
    """Return dates of five executions a side, a second apart."""
    return ("version", "execution"), [
        [f"{start[:-2]}{second:02d}" for second in range(5)] for start in starts
    ]


def note_of(result):
    return [note for note in result.perf.notes() if note.code == "measured_in_sequence"]


@pytest.mark.parametrize(
    ("coords", "first"),
    [
        ({"date": ("version", [MORNING, NOON])}, "baseline"),
        ({"date": ("version", [NOON, MORNING])}, "candidate"),
        ({"date": stamps(MORNING, NOON)}, "baseline"),
    ],
    ids=["files", "reversed", "executions"],
)
def test_one_after_the_other(coords, first, recwarn):
    (note,) = note_of(timings(**coords).perf.compare("old"))
    assert note.values["first"] == first
    assert note.message.startswith(f"By their dates, all runs of the {first} came before")
    assert not [warning for warning in recwarn if "before" in str(warning.message)]


@pytest.mark.parametrize(
    "coords",
    [
        {},
        {"date": ("version", [MORNING, "2026-11-26T08:00:01"])},
        {"date": stamps(MORNING, MORNING)},
        {"date": ("version", ["unknown", NOON])},
        {"date": ("benchmark", [MORNING, NOON, NOON])},
    ],
    ids=["no dates", "begun together", "in turns", "not known", "of benchmarks"],
)
def test_nothing_says_so(coords):
    assert not note_of(timings(**coords).perf.compare("old"))


def test_pairs_and_two_objects():
    times = timings(date=("version", [MORNING, NOON]))
    assert not note_of(times.perf.compare("old", paired="execution"))
    old, new = (times.sel(version=label) for label in ("old", "new"))
    assert note_of(new.drop_vars("version").perf.compare(old.drop_vars("version")))
