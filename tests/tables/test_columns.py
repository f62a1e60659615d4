"""Codes and positions of rows: the same numbers however they are worked out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from perfarray.tables import columns
from perfarray.tables.columns import joint_codes, number_within, row_in_parent

CODES = st.tuples(st.integers(1, 3), st.integers(1, 30)).flatmap(
    lambda shape: arrays(np.intp, shape, elements=st.integers(0, 4))
)


@given(codes=CODES, few=st.booleans())
def test_rows_are_numbered_inside_their_parent(codes, few):
    """By the labels, in their order; and in the order they come: as a count of what came before
    says."""
    *parents, labels = codes
    with pytest.MonkeyPatch.context() as patch:
        if few:
            patch.setattr(columns, "_most_codes", lambda _: 1)
        by_label, by_row = (
            number_within(parents, labels * 10 - 7),
            row_in_parent(parents, len(labels)),
        )
    for row, label in enumerate(labels):
        same = (
            np.all([parent == parent[row] for parent in parents], axis=0)
            if parents
            else np.ones(len(labels), dtype=bool)
        )
        assert by_label[row] == len(set(labels[same & (labels < label)].tolist()))
        assert by_row[row] == np.count_nonzero(same[:row])


@pytest.mark.parametrize("labels", [
    np.array([127, -128, 127, 5], dtype=np.int8),
    np.array([2**64 - 1, 3, 2**64 - 1, 4], dtype=np.uint64),
    np.array([2**63 - 1, -(2**63), 2**63 - 1, 0]),
    np.array([0.5, -1.5, 0.5, 0.0]),
    np.array([True, False, True, False]),
])  # fmt: skip
@pytest.mark.parametrize("parents", [[], [np.array([0, 0, 1, 1])]])
def test_labels_of_any_range_are_numbered(labels, parents):
    inside = [
        [other for other in range(4) if not parents or parents[0][other] == parents[0][row]]
        for row in range(4)
    ]
    expected = [
        sorted(set(labels[rows].tolist())).index(labels[row].item())
        for row, rows in enumerate(inside)
    ]
    assert number_within(parents, labels).tolist() == expected


@given(codes=CODES)
def test_joint_codes_are_the_same_for_the_same_rows(codes):
    """Two rows have one code where all their codes agree, and it is below the number that comes
    with it."""
    joint, count = joint_codes(list(codes))
    assert (
        (joint[:, None] == joint[None, :]) == (codes[:, :, None] == codes[:, None, :]).all(axis=0)
    ).all()
    assert 0 <= joint.min() <= joint.max() < count
