"""Where a series changes: against every partition, and simulated truth."""

import itertools

import numpy as np
import pytest

from perfarray.numerics.segments import change_points


@pytest.mark.parametrize("spread", [True, False])
def test_partition_is_the_best_of_all(spread):
    """Of nine values, no other partition costs less."""
    rng = np.random.default_rng(2)
    for _ in range(20):
        series = rng.normal(size=9) + 4 * (np.arange(9) > rng.integers(9))

        def cost(starts, series=series):
            segments = np.split(series, starts[1:])
            segment_costs = [
                len(segment) * np.log(max(segment.var(), 1.0))
                if spread
                else ((segment - segment.mean()) ** 2).sum()
                for segment in segments
            ]
            return sum(segment_costs) + 3.0 * len(segments)

        partitions = [
            (0, *starts)
            for number in range(9)
            for starts in itertools.combinations(range(1, 9), number)
        ]
        changes = change_points(series, 3.0, 1.0, spread=spread)
        assert cost(changes.tolist()) == pytest.approx(min(map(cost, partitions)))


def test_changes_of_long_series_are_found_where_they_are():
    """Between the places that are tried at first, too, and no others; one value at the start is a
    segment."""
    rng = np.random.default_rng(1)
    for change in (1, 37, 777, 1998):
        series = rng.normal(10, 0.1, 2000) + 2 * (np.arange(2000) >= change)
        assert change_points(series, 10 * np.log(2000), 0.1).tolist() == [0, change]
    assert change_points(rng.normal(10, 0.1, 2000), 10 * np.log(2000), 0.1).tolist() == [0]


def test_a_change_of_variance_is_a_change():
    """Unless the standard deviation is said to be the same."""
    series = np.random.default_rng(1).normal(size=400) * np.where(np.arange(400) < 200, 1, 5)
    assert abs(change_points(series, 40.0, 1.0)[1] - 200) < 5
    assert change_points(series, 4000.0, 1.0, spread=False).tolist() == [0]


def test_no_value_and_one():
    """Nothing has no segment, a single value one."""
    assert change_points(np.array([]), 1.0, 1.0).tolist() == []
    assert change_points(np.array([3.0]), 1.0, 1.0).tolist() == [0]
