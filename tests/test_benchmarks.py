"""What the runner of the benchmarks says of two runs."""

import pytest

from benchmarks import peak_memory, recorded


def test_a_row_that_became_slower_is_named(tmp_path):
    """The peer takes 10 times as long, then 5 times: ours is slower. Rows of one run alone are
    passed over; none at all is said."""
    recorded.save(
        {"scores: scipy / ours": [10.0, 10.1, 9.9], "gone": [1.0, 1.0], "same": [3.0, 3.1, 2.9]},
        tmp_path / "before.json",
    )
    rows = recorded.against(
        tmp_path / "before.json",
        {"scores: scipy / ours": [5.0, 5.1, 4.9], "same": [3.0, 3.05, 2.95], "new": [2.0, 2.0]},
    )
    assert [(name, verdict) for name, _, verdict in rows] == [
        ("scores: scipy / ours", "slower"),
        ("same", "inconclusive"),
    ]
    with pytest.raises(SystemExit, match="no row stands in both runs"):
        recorded.against(tmp_path / "before.json", {"scores: scipy / ours": [5.0]})


def test_memory_is_measured_of_every_public_function():
    """What is not measured is named, with the reason."""
    assert peak_memory.unmeasured() == set()
