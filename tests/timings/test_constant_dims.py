"""Dims along which labels never meet."""

import numpy as np
import xarray as xr

from perfarray.timings.comparable import constant_dims


def measured(cells):
    return xr.DataArray(
        np.array(cells, dtype=bool),
        {"version": ["old", "new"], "machine": ["a", "b"]},
        ("version", "machine"),
    )


def test_labels_at_one_position_each_never_meet():
    """Each label has the position at which it was measured."""
    indexers = constant_dims(measured([[1, 0], [0, 1]]), "version", ["machine"])
    assert indexers["machine"].values.tolist() == [0, 1]


def test_labels_at_the_same_position_meet():
    """Where all were measured at one position, the dim stays: selecting from it would drop a label
    that tells nothing apart."""
    assert constant_dims(measured([[1, 0], [1, 0]]), "version", ["machine"]) == {}


def test_a_label_at_two_positions_keeps_the_dim():
    assert constant_dims(measured([[1, 1], [0, 1]]), "version", ["machine"]) == {}
