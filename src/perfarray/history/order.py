"""The order of a history in time: by the dates or numbers of its labels, or as the caller says."""

import re
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from perfarray.conventions import EXECUTION, LEVELS, plural
from perfarray.history.alternation import alternation_notes
from perfarray.history.numerics.law import LENGTHS
from perfarray.numerics.types import Integers
from perfarray.timings.dates import dates_of, earliest_dates
from perfarray.timings.notes import Note
from perfarray.timings.quantities import is_moment
from perfarray.timings.resolve import Data, Timings, check_dim, resolve
from perfarray.timings.validation import listed

# What `order=` takes beside a coordinate or values
STORED, REVERSED = "stored", "reversed"

# The order was given as values
GIVEN = "given"

# Characters of a hash as git abbreviates it by default.
FULL_HASH = 7

# Characters of the shortest hashes: names such as 2024a, base and 1000 are as long.
SHORTEST_HASH = 4

HEXADECIMAL = frozenset("0123456789abcdef")

# Versions, perhaps with a word before them: 1.2.10, v1.2rc1, jdk-21.0.1
EARLY = r"(?:dev|alpha|beta|a|b|rc|pre|preview|m|snapshot)[-._]?\d*"
BEFORE_EARLY = re.compile(rf"[-._](?={EARLY}\b)")
VERSION = re.compile(
    rf"^\D*\d+(?:\.\d+)*(?:[-._]?{EARLY})?(?:(?:[-.](?:post|p|r)?|post|p|r)\d+)?$", re.I
)

# What `git describe` adds to the last tag: the commits since, and the hash
SINCE_TAG = re.compile(r"-(\d+)-g[0-9a-f]{4,40}(?:-dirty)?$")


class Order(NamedTuple):
    """The stored position of each label, the oldest first, and the coordinate that says so.

    `by` is otherwise how the caller gave the order.
    """

    positions: Integers
    by: str
    notes: tuple[Note, ...] = ()

    @property
    def ranks(self) -> Integers:
        """The place in time of each label as stored, from 0."""
        return np.argsort(self.positions)


def resolve_history(
    times: Data,
    dim: str,
    metric: str | list[str] | None,
    levels: str | tuple[str, ...] | None,
    order: Any,
    censored: str = "bound",
) -> tuple[Timings, npt.NDArray[Any], Order]:
    """Return timings in the order of time, their labels in this order, and the order.

    A history of one value for each label needs no repetitions.
    """
    if (
        levels is None
        and isinstance(times, xr.DataArray | xr.Dataset)
        and dim in times.dims
        and set(LEVELS).isdisjoint(times.dims)
    ):
        times = times.expand_dims(EXECUTION)
    data = resolve(times, metric, levels, censored=censored)
    array = data.array
    check_dim(array, dim)
    if dim in data.levels:
        raise ValueError(
            f"dim={dim!r} is one of the levels {data.levels}. A history runs along a dim whose "
            "labels are not repetitions."
        )
    labels = array[dim].values if dim in array.coords else np.arange(array.sizes[dim])
    repeated = pd.Index(labels).duplicated()
    if repeated.any():
        names = list(dict.fromkeys(labels[repeated].tolist()))
        raise ValueError(
            f"{dim!r} holds {listed(names, 5)} more than once. Give each {dim} its own label, or "
            "put its measurements along a level such as 'session' "
            "(of a table: .perf.to_timings(level='session'))."
        )
    labels = labels.astype(object) if labels.dtype.kind in "UST" else labels
    in_time = time_order(array, dim, order)
    array = array.isel({dim: in_time.positions})
    notes = (*in_time.notes, *alternation_notes(array, dim, data.levels))
    return data._replace(array=array), labels[in_time.positions], in_time._replace(notes=notes)


def time_order(array: xr.DataArray, dim: str, order: Any = None) -> Order:
    """Return the order of a history: the one given, else by dates, else by numbers.

    Labels that nothing sorts are taken as stored, with a note, unless they are sorted by name.
    """
    stored = np.arange(array.sizes[dim])
    dated = _by_dates(array, dim)
    if order is not None:
        in_time = _given(array, dim, order)
        first, last = in_time.positions[[0, -1]]
        if not isinstance(dated, Order) or dated.ranks[first] <= dated.ranks[last]:
            return in_time
        text = (
            f"In the order given, the dates of {dated.by!r} descend. If the dates are right, "
            "slower and faster are exchanged. A list for --order begins with the oldest."
        )
        note = Note("order_against_dates", text, {"dim": dim, "dates": dated.by})
        return in_time._replace(notes=(note,))
    if dim not in array.coords:
        return Order(stored, STORED)
    if isinstance(dated, Order):
        return dated
    labels = array[dim].values
    positions = None if dim in dated else _by_numbers(labels, is_date=is_moment(dim))
    if positions is not None:
        return Order(positions, dim)
    labels_noun, names = plural(dim), stems(labels)
    if not dated and len(names) < LENGTHS[0]:  # too few to show a change
        return Order(stored, STORED)
    by_name = "hash" if are_hashes(names) else "name"
    if is_moment(dim):
        dated.setdefault(dim, f"{str(labels[0])!r} is read as no date, write it as in 2024-01-20")
    if dated or names in (sorted(names), sorted(names, reverse=True)):
        reason = " and ".join(dated.values()) or f"they are sorted by {by_name}, not by date"
        raise ValueError(
            f"the order of the {len(names)} {labels_noun} is not known: {reason}. Say order='stored' "
            f"if the oldest is the first (times.sel({dim}=[...]); --order FILE), order='reversed' "
            f"if it is the last. Or give each its date, a coordinate {dim}_date."
        )
    text = (
        f"nothing says in which order the {len(names)} {labels_noun} came: they are taken as stored. "
        "If the oldest is not the first, slower and faster are exchanged. "
        f"Say order='stored' or order='reversed', or give dates (a coordinate {dim}_date)."
    )
    note = Note("assumed_order", text, {"dim": dim, "labels": len(names)})
    return Order(stored, STORED, (note,))


def _given(array: xr.DataArray, dim: str, order: Any) -> Order:
    """Return the order that the caller gives: as stored, reversed, or by values."""
    stored = np.arange(array.sizes[dim])
    if isinstance(order, str) and order in (STORED, REVERSED):
        return Order(stored if order == STORED else stored[::-1], order)
    along = [str(name) for name, coord in array.coords.items() if coord.dims == (dim,)]
    if isinstance(order, str) and order not in along:
        raise ValueError(
            f"order={order!r} is no coordinate along {dim!r} alone. There is "
            f"{listed((STORED, REVERSED, *along))}."
        )
    name = order if isinstance(order, str) else GIVEN
    values = np.asarray(array.coords[order].values if isinstance(order, str) else order)
    if values.shape != stored.shape:
        raise ValueError(
            f"order= has the shape {values.shape}. Give one number or date for each of the "
            f"{len(stored)} {plural(dim)}."
        )
    positions = None
    if values.dtype.kind not in "iuf":
        positions = _sorted(dates_of(values))
    positions = _by_numbers(values, is_date=False) if positions is None else positions
    if positions is None:
        raise ValueError(
            f"order={name!r} cannot be sorted: it lacks dates, numbers or versions of some "
            f"{plural(dim)}. Give one for each."
        )
    return Order(positions, name)


def _by_dates(array: xr.DataArray, dim: str) -> Order | dict[str, str]:
    """Return the order by dates of the labels or of a coordinate; else why each gives none.

    Coordinates that are called after the dim, or `date`, come first.
    """
    along = {str(name): coord.dims for name, coord in array.coords.items() if dim in coord.dims}
    names = [name for name, dims in along.items() if dims == (dim,) or is_moment(name)]
    first_names = [
        name
        for name in (dim, f"{dim}_date", "date", *(name for name in names if name.startswith(dim)))
        if name in names
    ]
    further_names = [name for name in names if name not in first_names]
    orders: dict[str, Integers] = {}
    reasons: dict[str, str] = {}
    for name in (*first_names, *further_names):
        try:
            dates = dates_along(array, name, dim)
        except ValueError as error:
            reasons[name] = f"in {name!r}, {error}"
            continue
        # One date of all is that of the measurement, and few dates are those of releases.
        if dates.nunique() < 2 or 2 * dates.count() < len(dates):
            continue
        positions = _sorted(dates)
        if positions is None:
            reasons[name] = f"{name!r} has no date for {int(dates.isna().sum())} of them"
            continue
        orders[name] = positions
        if name in first_names:
            return Order(positions, name)
    if not orders:
        return reasons
    first = next(iter(orders))
    for name in orders:
        if (orders[name] != orders[first]).any():
            return {first: f"{first!r} and {name!r} hold dates in different orders"}
    return Order(orders[first], first)


def dates_along(array: xr.DataArray, name: str, dim: str) -> "pd.Series[Any]":
    """Return the date of each label of a dim by a coordinate, which may be its labels.

    NaT where it has none.
    """
    coord = array.coords[name] if name in array.coords else array[dim]
    if name == dim and coord.dtype.kind in "OUT":
        # Files and folders are called after a date with a word before it and an ending behind it:
        # run-25.01.2024.csv.
        names = stems(coord.values)
        begins = {
            begin[0] if begin else ""
            for begin in (re.match(r"[^\W\d_]+[-_ ](?=\d)", text) for text in names)
        }
        begin = begins.pop() if len(begins) == 1 else ""
        coord = coord.copy(
            data=np.array([text.removeprefix(begin) for text in names], dtype=object)
        )
    is_number = coord.dtype.kind in "iuf" or str(coord.values.flat[0]).isdigit()
    # Numbers that are not called dates count something else.
    return (
        pd.Series(pd.NaT, index=range(array.sizes[dim]))
        if is_number and not is_moment(name)
        else earliest_dates(coord, dim)
    )


def _sorted(dates: "pd.Series[Any]") -> Integers | None:
    """Return the positions of dates from the earliest on.

    None where some are missing, and the further_names do not say the order.
    """
    stored, dated = np.arange(len(dates)), dates.dropna()
    if dated.is_monotonic_increasing and len(dated):
        return stored
    if dated.is_monotonic_decreasing and len(dated):
        return stored[::-1]  # and not sorted: labels of one day stay in order, too
    return None if len(dated) < len(dates) else np.argsort(dates.to_numpy(), kind="stable")


def _by_numbers(labels: npt.NDArray[Any], *, is_date: bool) -> Integers | None:
    """Return the ascending positions of numbers, versions, or texts that differ in numbers.

    None for other labels.
    """
    if labels.dtype.kind in "iuf":
        return None if np.isnan(labels).any() else np.argsort(labels, kind="stable")
    names = [SINCE_TAG.sub(r"-\1", name) for name in stems(labels)]
    begins = {re.match(r"\D*", name)[0] for name in names if re.search(r"\d", name)}  # type: ignore[index]
    numbered = len(begins) == 1 and all(re.search(r"\d", name) for name in names)
    # Where a year follows another number, the label is a date with the day, the month or the
    # quarter first.
    numbered = numbered and not all(re.search(r"\d\D+(?:19|20)\d\d(?!\d)", name) for name in names)
    if not numbered or (is_date and not all(re.match(r"\d{4}", name) for name in names)):
        return None
    from natsort import natsort_keygen  # it takes as long to load as two small files to read

    keys = [*map(natsort_keygen(key=_comparable), names)]
    positions = np.array(sorted(range(len(names)), key=keys.__getitem__), dtype=int)
    have_one_form = (
        all(map(VERSION.fullmatch, names))
        or len({re.sub(r"\d+", "0", name) for name in names}) == 1
    )
    if have_one_form and not (
        HEXADECIMAL.issuperset("".join(names)) and not all(map(str.isdigit, names))
    ):
        return positions
    # Names such as c12, c0a and 2024b may be hashes, or number commits if they are sorted already.
    by_name = (
        np.argsort(np.array(names), kind="stable") if len({*map(len, names)}) == 1 else positions
    )
    for ascending in (positions, by_name):
        if not are_hashes(names) and (np.abs(np.diff(ascending)) == 1).all():
            return ascending
    return None


def stems(labels: npt.NDArray[Any]) -> list[str]:
    """Return labels as texts, without the ending of a file's name that all have."""
    names = [str(label) for label in labels.tolist()]
    ending = re.search(r"\.[a-z]\w*$", names[0], re.I)
    return (
        [name.removesuffix(ending[0]) for name in names]
        if ending and all(name.endswith(ending[0]) for name in names)
        else names
    )


def _comparable(name: str) -> str:
    """Return a key of a version: 1.2rc1, 1.2, 1.2-3 (three commits later), 1.2.1 ascend."""
    early = BEFORE_EARLY.sub("", name.lower())
    return re.sub(r"-(?=\d)", "z", early).replace(".", "~") + "z"


def are_hashes(labels: list[str]) -> bool:
    """Return whether labels are hashes.

    Of short ones, most must mix digits and letters, and not all may begin with the same kind.
    """
    shortest = min(map(len, labels))
    if (
        shortest < SHORTEST_HASH
        or not HEXADECIMAL.issuperset("".join(labels))
        or all(map(str.isdigit, labels))
    ):
        return False
    mixed = [not label.isdigit() and not label.isalpha() for label in labels]
    return shortest >= FULL_HASH or (
        2 * sum(mixed) > len(labels) and len({label[0].isdigit() for label in labels}) == 2
    )
