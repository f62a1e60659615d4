"""What crosses benchmarks: the dim of a suite, and the suites that one mean is taken over."""

import numpy as np
import xarray as xr

from perfarray.conventions import BENCHMARK
from perfarray.timings.apply import is_chunked
from perfarray.timings.notes import Note, check
from perfarray.timings.resolve import Timings, check_dim
from perfarray.timings.validation import listed

UNMATCHED = "unmatched"
"""The attr that names benchmarks which not everybody has, for people; as data they travel in the note of that code."""

SUITE = "suite"
"""The coordinate of the readers that says which suite a benchmark belongs to."""


def check_across(across: str, array: xr.DataArray, nest: tuple[str, ...], compared: str | None = None) -> None:
    """Raise where a suite would average over a level, the dim compared, or one that is not there: only `benchmark` may be missing."""
    if across in nest:
        raise ValueError(f"across={across!r} is a level of the nest {nest}; a suite averages over a dim that is not")
    if across == compared:
        raise ValueError(f"across={across!r} is the dim compared; a suite averages over another")
    if across != BENCHMARK and across not in array.coords:
        check_dim(array, across, "across")


def name_suites(result: xr.Dataset | xr.DataArray, data: Timings, counted: xr.DataArray, across: str) -> Note | None:
    """Name in the attrs, and in the note that is returned, the suites that one mean is taken over, where they are several.

    `counted` says which benchmarks count, in every cell or in all; where it is lazy, all do.
    """
    suite = data.array.coords.get(SUITE)
    if suite is None or suite.dims != (across,):
        return None
    labels = np.array([str(label) for label in suite.values], dtype=object)
    mask = np.ones((1, len(labels)), dtype=bool)
    if not is_chunked(counted):
        mask = np.moveaxis(counted.values, counted.get_axis_num(across), -1).reshape(-1, len(labels))
    names = list(dict.fromkeys(labels))
    has = np.array([mask[:, labels == name].any(axis=1) for name in names])
    several = has.sum(axis=0) > 1
    mixed = [name for name, own in zip(names, has, strict=True) if (own & several).any()]
    if not mixed:
        return None
    result.attrs["suites"] = ", ".join(mixed)
    text = f'one mean is taken over the benchmarks of {len(mixed)} suites ({listed(mixed)}); times.groupby("suite") gives each its own'
    return Note("several_suites", text, {"suites": mixed})


MOVEMENT = "movement"
"""The check of benchmarks that are taken for independent."""


@check(MOVEMENT)
def movement_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Name `shared=` where the units of different benchmarks move together, in any suite of a result at an error rate of 5 % in all."""
    pvalue, correlation = result["suite_correlation_pvalue"], result["suite_correlation"]
    tested = int(pvalue.notnull().sum())
    if not tested or float(pvalue.min()) * tested > 0.05:
        return ()
    place = int(np.nanargmin(pvalue.values))
    mean, least = float(correlation.values.ravel()[place]), float(pvalue.values.ravel()[place])
    unit = str(result.attrs["unit"])
    text = (
        f"benchmarks are taken for independent, and their {unit}s move together (mean correlation {mean:.2g}, p {least:.2g}): what is said "
        f"of the suite is too sure; if one {unit} serves all benchmarks, say shared={unit!r}; shared=() says that none does"
    )
    return (Note("move_together", text, {"correlation": mean, "pvalue": least, "suites": tested, "unit": unit}),)
