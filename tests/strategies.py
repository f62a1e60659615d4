"""Timings of any shape for property tests, and how many examples are drawn."""

import os

import numpy as np
import xarray as xr
from hypothesis import strategies as st

from perfarray.conventions import LEVELS

MANY = os.environ.get("PERFARRAY_EXAMPLES", "few") == "many"
"""Whether many examples are drawn: `.ci/run` asks for them, people who wait do not."""


def examples(number):
    """Return how many examples a test of so many draws: an eighth while people wait, twice as many
    where PERFARRAY_EXAMPLES=many."""
    return 2 * number if MANY else max(5, number // 8)


def experiments(number):
    """Return how many experiments a simulation makes: a quarter while people wait; what it may be
    off by follows from their number."""
    return number if MANY else number // 4


@st.composite
def timings(draw, compared=True, ragged=True, max_size=5):
    """Draw positive timings with one to three levels, perhaps ragged, perhaps over benchmarks and
    two versions."""
    levels = draw(
        st.lists(st.sampled_from(LEVELS), min_size=1, max_size=3, unique=True).map(
            lambda names: sorted(names, key=LEVELS.index)
        )
    )
    sizes = {"benchmark": draw(st.integers(1, 3)), "version": 2} if compared else {}
    sizes |= {level: draw(st.integers(2, max_size)) for level in levels}
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = tuple(sizes.values())
    values = np.full(shape, 10.0 ** draw(st.integers(-6, 3)))
    for axis, name in enumerate(sizes):
        effect = rng.normal(1.0, 0.05, shape[: axis + 1])
        if name in levels:
            values = values * effect.reshape(effect.shape + (1,) * (len(shape) - axis - 1))
    if ragged and draw(st.booleans()):
        values = np.where(rng.random(shape) < 0.15, np.nan, values)
    labels = (
        {"benchmark": [f"b{i}" for i in range(sizes["benchmark"])], "version": ["old", "new"]}
        if compared
        else {}
    )
    return xr.DataArray(
        values,
        dims=tuple(sizes),
        coords=labels,
        name="time",
        attrs={"units": "s", "better": "lower"},
    )
