"""The labels of a history, and whether they are in the order of time."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from perfarray.conventions import plural
from perfarray.history.numerics.law import LENGTHS
from perfarray.timings.dates import earliest_dates
from perfarray.timings.resolve import check_dim
from perfarray.timings.validation import listed

# Characters of a hash as git abbreviates it by default.
LEAST = 7

# Characters of the shortest hashes: names such as 2024a, base and 1000 are as long.
SHORTEST = 4

HEXADECIMAL = frozenset("0123456789abcdef")


def history_labels(array: xr.DataArray, dim: str, levels: tuple[str, ...]) -> npt.NDArray[Any]:
    """Return the labels of a history; raise where labels repeat or where their order is unknown."""
    check_dim(array, dim)
    if dim in levels:
        raise ValueError(f"dim={dim!r} is one of the levels {levels}; a history runs along a dim whose labels are not repetitions")
    labels = array[dim].values if dim in array.coords else np.arange(array.sizes[dim])
    repeated = pd.Index(labels).duplicated()
    if repeated.any():
        names = list(dict.fromkeys(labels[repeated].tolist()))
        raise ValueError(
            f"{dim!r} holds {listed(names, 5)} more than once; measurements of one {dim} are repetitions of it: put them along a level "
            f"such as 'session' (in a table: .perf.to_timings(level='session')), or give each its own label"
        )
    if not _has_order(array, dim):
        raise ValueError(
            f"the order of the {len(labels)} {plural(dim)} is not known: they are sorted by hash, not by date. Put them in the order "
            f"of git log, the oldest first (times.sel({dim}=[...]); --order FILE of the command line), or give each its date, a "
            f"coordinate {dim}_date or date along {dim!r}, and sort by it (times.sortby)"
        )
    return np.asarray(labels.astype(object) if labels.dtype.kind in "UST" else labels)


def _has_order(array: xr.DataArray, dim: str) -> bool:
    """Return whether a history has an order: sorted hashes have none, unless their dates ascend."""
    if dim not in array.coords:
        return True
    labels = [str(label) for label in array[dim].values.tolist()]
    # Fewer hashes may be sorted by chance, and cannot show a change.
    if len(labels) < LENGTHS[0] or labels != sorted(labels) or not are_hashes([Path(label).stem for label in labels]):
        return True
    return any(stamp in array.coords and earliest_dates(array[stamp], dim).is_monotonic_increasing for stamp in (f"{dim}_date", "date"))


def are_hashes(labels: list[str]) -> bool:
    """Return whether labels are hashes; of short ones, most must mix digits and letters, and not all may begin with the same kind."""
    shortest = min(map(len, labels))
    if shortest < SHORTEST or not HEXADECIMAL.issuperset("".join(labels)) or all(map(str.isdigit, labels)):
        return False
    mixed = [not label.isdigit() and not label.isalpha() for label in labels]
    return shortest >= LEAST or (2 * sum(mixed) > len(labels) and len({label[0].isdigit() for label in labels}) == 2)
