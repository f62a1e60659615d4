"""What a timings object is: the metric it is asked about, its levels, its marked values."""

from collections.abc import Hashable, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
import xarray as xr

from perfarray.conventions import (
    BETTER,
    BINARY,
    CENSORED,
    CENSORED_AT,
    COPIED,
    FORMAT,
    ITERATION,
    LEVELS,
    LOWER,
    MARKS,
    METRIC,
    SESSION,
    TIME,
)
from perfarray.timings.apply import is_chunked
from perfarray.timings.censored import (
    CHOICES,
    Bounds,
    bounds_of,
    left_out_note,
    no_bounds,
    stopped_note,
    with_limits,
    without_limit,
)
from perfarray.timings.chunks import evenly_chunked
from perfarray.timings.crossed import by_label, crossed_notes, unit_labels
from perfarray.timings.marks import (
    all_marked_note,
    as_mark,
    cells_of_copies,
    copied_cells_note,
    hidden_cells_notes,
    number_of_marked,
    selected_unit_note,
)
from perfarray.timings.notes import Note
from perfarray.timings.repeated import units_of_cells
from perfarray.timings.validation import check_choice, listed, nearest
from perfarray.timings.values import check_direction, check_limits, direction_by_name, measurable
from perfarray.timings.zeros import ZEROS, Positive, without_zeros, zeros_note

Data = xr.DataArray | xr.Dataset


class Timings(NamedTuple):
    """One metric, ready to compute with: its marked values are NaN, and its nest is known.

    Where copies of other results count, the coordinate `copied` says which cells hold nothing else;
    it has no level.
    """

    array: xr.DataArray
    levels: tuple[str, ...]
    left_out: dict[str, int]
    notes: tuple[Note, ...] = ()
    selected: Note | None = None
    uncounted: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    bounded: bool = False
    unit_of_most: str = ""

    @property
    def unit(self) -> str:
        """The level whose units are independent; where cells differ, that of most."""
        return self.unit_of_most or self.levels[0]

    @property
    def bounds(self) -> Bounds:
        """Whether the mean of each cell is only a bound, because runs were stopped."""
        if not self.bounded:
            return no_bounds(self.array, self.levels)
        return bounds_of(self.array, self.levels, self.better)

    @property
    def n_stopped(self) -> int:
        """The number of runs that count as their limits; 0 where the mark is lazy."""
        if not self.bounded:
            return 0
        mark = self.array.coords[CENSORED]
        return 0 if is_chunked(mark) else number_of_marked(mark, self.array)

    def stopped_note(self, consequence: str) -> Note | None:
        """Return the note on stopped runs and the consequence; None where none were stopped."""
        if not self.bounded:
            return None
        runs = {"runs": self.n_stopped}
        return stopped_note(runs, without_limit(self.array), self.better, consequence)

    @property
    def crossed(self) -> tuple[Note, ...]:
        """Notes on levels that are crossed, so that the outer units are not independent."""
        return crossed_notes([self.array], self.levels)

    @property
    def unit_notes(self) -> tuple[Note, ...]:
        """Notes on units taken as independent although an outer level was selected or crossed."""
        return (*((self.selected,) if self.selected else ()), *self.crossed)

    @property
    def units(self) -> str:
        """The unit of the values."""
        return str(self.array.attrs.get("units", "1"))

    @property
    def better(self) -> str:
        """`lower` for times, `higher` for throughput and scores."""
        return str(self.array.attrs.get(BETTER, LOWER))

    def verdict_direction(self) -> str:
        """Return which direction is good; raise for a number of a table that does not say it."""
        name = self.array.name
        if (
            BETTER not in self.array.attrs
            and "units" in self.array.attrs
            and name
            and direction_by_name(self.units, str(name)) is None
        ):
            raise ValueError(
                f"{name!r} does not say whether more or less of it is good, so there is no "
                "verdict. Say so with better='higher' or "
                f"better='lower' when it is read, or set attrs['better'] of the variable"
            )
        return self.better

    def describe(self) -> dict[str, Hashable]:
        """Return the attrs of every result: the metric, the levels, the unit, values left out."""
        attrs: dict[str, Hashable] = {
            "metric": str(self.array.name or TIME),
            "levels": " ".join(self.levels),
            "unit": self.unit,
        }
        attrs |= {f"n_{mark}": number for mark, number in self.left_out.items()}
        attrs |= {FORMAT: self.array.attrs[FORMAT]} if FORMAT in self.array.attrs else {}
        if self.bounded or CENSORED in self.left_out:
            attrs[CENSORED] = "bound" if self.bounded else "drop"
        return attrs | ({"left_out": " ".join(self.uncounted)} if self.uncounted else {})


def metrics_of(times: xr.Dataset) -> list[str]:
    """Return the names of the variables that hold measurements: numbers with a repetition dim."""
    return [
        str(name)
        for name, variable in times.data_vars.items()
        if variable.dtype.kind in "iuf"
        and name != CENSORED_AT
        and any(dim in LEVELS for dim in variable.dims)
    ]


def choose_metric(
    times: Data, metric: str | Sequence[str] | None, levels: Sequence[str] | str | None = None
) -> xr.DataArray:
    """Return the array of `metric=`, else of the attr `metric`, else `time`, else the only one."""
    if isinstance(times, xr.DataArray):
        if metric is not None:
            raise ValueError(
                f"metric={metric!r} was given for a DataArray; a DataArray is one metric: give "
                "the Dataset, or leave metric= out"
            )
        return times
    if not isinstance(times, xr.Dataset):
        raise TypeError(
            f"expected a DataArray or a Dataset of timings, got {type(times).__name__}; a "
            "pandas table becomes one with .perf.to_timings()"
        )
    candidates = metrics_of(times)
    if not candidates and levels is not None:
        level_names = check_names(levels, "levels")
        candidates = [
            str(name)
            for name, variable in times.data_vars.items()
            if set(level_names) & set(variable.dims)
        ]
    if metric is None:
        default = times.attrs.get(METRIC)
        if default in times.data_vars:
            metric = str(default)
        elif TIME in candidates:
            metric = TIME
        elif len(candidates) == 1:
            metric = candidates[0]
        else:
            names = (
                listed(candidates)
                if candidates
                else "none; a variable needs one of the dims " + listed(LEVELS)
            )
            raise ValueError(
                f"which variable holds the measurements? Say so with metric=; candidates: {names}"
            )
    elif not isinstance(metric, str):
        raise ValueError(f"metric={metric!r}: give one name here")
    elif metric not in times.data_vars:
        raise ValueError(
            f"metric {metric!r} not found; the Dataset has {listed(times.data_vars)}"
            f"{nearest(metric, times.data_vars)}"
        )
    array = times[metric]
    of_dataset = {
        name: times.attrs[name] for name in ("shared_levels", FORMAT) if name in times.attrs
    }
    array = array.assign_attrs(of_dataset | array.attrs) if of_dataset else array
    return _with_limit(times, array)


def check_not_empty(times: Data) -> None:
    """Raise where a dim has no labels, as after a selection that leaves out everything."""
    empty = [str(dim) for dim, size in times.sizes.items() if not size]
    if empty:
        raise ValueError(
            f"there are no timings: {listed(empty, 5)} has no labels; was everything left out "
            "by a selection?"
        )


def _with_limit(times: xr.Dataset, array: xr.DataArray) -> xr.DataArray:
    """Return a metric with the limits at which runs were stopped.

    Only the main metric has these.
    """
    main = next(
        (name for name in (times.attrs.get(METRIC), TIME) if name in times.data_vars), array.name
    )
    if array.name != main:
        return array.drop_vars(CENSORED_AT, errors="ignore")
    return (
        array.assign_coords({CENSORED_AT: times[CENSORED_AT].variable})
        if CENSORED_AT in times.data_vars
        else array
    )


def resolve(
    times: Data,
    metric: str | Sequence[str] | None = None,
    levels: str | Sequence[str] | None = None,
    *,
    shared: str | Sequence[str] | None = None,
    positive: Positive | None = None,
    censored: str = "drop",
    with_copies: bool = False,
    measured: bool = True,
    any_size: bool = False,
    as_nested: bool = False,
) -> Timings:
    """Choose the metric and the nest, and set marked values to NaN.

    Parameters
    ----------
    times, metric, levels, shared
        As every public method takes them.
    positive : Positive, optional
        What must be above 0 in a cell, which is declined if it is not. Default: nothing.
    censored : {"drop", "bound"}
        Whether stopped runs are left out, or count as their limits.
    with_copies : bool
        Whether copies of another result count in cells that hold nothing else: they are no
        measurements, but the score of these cells.
    measured : bool
        Whether values are measurements, which have a range, or parameters of a model, which may be
        any number.
    any_size : bool
        Whether the method scales values, so that their squares may overflow.
    as_nested : bool
        Whether the outermost level is the unit of all cells, as for components of variance.
        Default: the outermost that a cell repeats.
    """
    check_choice(censored, CENSORED, CHOICES)
    array = choose_metric(times, metric, levels)
    if array.dtype.kind not in "iuf":
        raise ValueError(
            f"{array.name or 'the array'} holds {array.dtype} values, not numbers; timings are "
            "numbers"
        )
    if array.dtype != np.float64:
        array = array.astype(float)
    nest = check_levels(array, levels)
    check_not_empty(array)
    if is_chunked(array):
        array = evenly_chunked(array)
    metric_names = metrics_of(times) if isinstance(times, xr.Dataset) else ()
    hidden = hidden_cells_notes(array, {name: times[name] for name in metric_names})
    above = LEVELS[: LEVELS.index(nest[0])] if levels is None else ()
    outer = [name for name in above if name in array.coords and array.coords[name].ndim == 0]
    selected = selected_unit_note(outer[0], nest[0]) if outer else None
    marks = [
        mark
        for mark in (CENSORED, *(mark for mark in MARKS if mark != CENSORED))
        if mark in array.coords
    ]
    timings = (
        _without_marks(array, nest, marks, censored, with_copies)
        if marks
        else Timings(array, nest, {})
    )
    if [level for level in LEVELS if level in nest] != [level for level in nest if level in LEVELS]:
        # One number is one unit in all of the levels that now lie inside it.
        timings = timings._replace(array=reduce(by_label, nest, timings.array))
    notes = (*hidden, *check_direction(array), *timings.notes)
    values = measurable(timings.array, any_size=any_size) if measured else timings.array
    notes = (*notes, *zeros_note(values, of_times=True)) if measured else notes
    timings = timings._replace(
        array=values, notes=notes, selected=selected, shared=shared_levels(timings, None)
    )
    if levels is None and not as_nested:
        (timings,) = place_units(timings)
    timings = (
        timings if shared is None else timings._replace(shared=shared_levels(timings, shared, nest))
    )
    return timings if positive is None else decline_zeros(timings, positive)


def _without_marks(
    array: xr.DataArray,
    levels: tuple[str, ...],
    marks: Sequence[str],
    censored: str,
    with_copies: bool,
) -> Timings:
    """Set marked values to NaN.

    With `censored="bound"` the limits of stopped runs replace these, unless another mark leaves
    them out.
    """
    unmarked, copies = array, None
    left_out: dict[str, int] = {}
    uncounted: list[str] = []
    at_limit: xr.DataArray | None = None
    for mark in marks:
        marked = as_mark(array.coords[mark]).drop_vars((*MARKS, CENSORED_AT), errors="ignore")
        as_limit = mark == CENSORED and censored == "bound"
        if mark == COPIED and (is_chunked(marked) or marked.any()):
            copies = cells_of_copies(array, marked, levels)
            marked = marked & ~copies if with_copies else marked
        if is_chunked(marked):
            uncounted += [] if as_limit else [mark]
        elif number := number_of_marked(marked, array):
            left_out[mark] = number
        else:
            continue
        if as_limit:
            at_limit = marked
        else:
            array = array.where(~marked).assign_attrs(array.attrs)
            at_limit = None if at_limit is None else at_limit & ~marked
    if at_limit is not None:
        if CENSORED_AT in array.coords:
            check_limits(array.coords[CENSORED_AT].reset_coords(drop=True), at_limit, array.name)
        array = with_limits(array, at_limit)
    dropped = at_limit is None and CENSORED in (*left_out, *uncounted)
    limit_notes = (left_out_note(left_out.get(CENSORED, 0)),) if dropped else ()
    note, array = None, array.drop_vars(COPIED, errors="ignore")
    if copies is not None and with_copies:
        array = array.assign_coords({COPIED: copies.variable})
    elif copies is not None and not is_chunked(copies):
        note = copied_cells_note(copies)
    notes = (
        *limit_notes,
        all_marked_note(unmarked, array, levels, [mark for mark in left_out if mark != COPIED]),
        note,
    )
    return Timings(
        array,
        levels,
        left_out,
        tuple(filter(None, notes)),
        uncounted=tuple(uncounted),
        bounded=at_limit is not None,
    )


def shared_levels(
    times: Timings, shared: str | Sequence[str] | None, nest: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the levels whose units are the same for every benchmark.

    Where units of cells were placed, names are those of the `nest` before: what cells have as units
    stands for the outermost level.
    """
    if shared is None:
        shared_in_data = str(times.array.attrs.get("shared_levels", "")).split()
        return tuple(level for level in shared_in_data if level in times.levels)
    if shared == () or shared == "":
        return ()
    names, nest = check_names(shared, "shared"), nest or times.levels
    for name in names:
        if name not in nest:
            raise ValueError(f"shared={name!r} is not one of the levels {tuple(nest)}")
    outer = nest[: nest.index(times.levels[0])]
    if {times.unit, *outer} & {*names}:
        return tuple(level for level in times.levels if level in (times.levels[0], *names))
    if times.levels[0] not in names:
        raise ValueError(
            f"shared={listed(names)} leaves out the outermost level {times.levels[0]!r}, so its "
            f"units cannot be shared. Name it too, or choose levels= that start at {names[0]!r}"
        )
    return names


def place_units(*sides: Timings) -> list[Timings]:
    """Return timings with the units of each cell along the outermost level that repeats."""
    nest, with_stopped = sides[0].levels, any(side.bounded for side in sides)
    units = units_of_cells([side.array for side in sides], nest, with_stopped=with_stopped)
    notes, unit = (
        (units.note,) if units.note else (),
        "" if units.unit == units.levels[0] else units.unit,
    )

    def shared(side: Timings) -> tuple[str, ...]:
        # Runs of one session that all benchmarks share may move together as sessions do.
        replacement = units.levels[:1] if nest[0] in side.shared else ()
        return tuple(level for level in units.levels if level in (*side.shared, *replacement))

    return [
        side._replace(
            array=array,
            levels=units.levels,
            notes=(*side.notes, *notes),
            unit_of_most=unit,
            shared=shared(side),
        )
        for side, array in zip(sides, units.arrays, strict=True)
    ]


def decline_zeros(times: Timings, positive: Positive, along: tuple[str, ...] = ()) -> Timings:
    """Return timings without the cells in which what a method needs is not above 0.

    Dims `along` which values are taken together, as the commits of a history, belong to a cell.
    """
    is_noted = any(note.code == ZEROS for note in times.notes)
    array, notes = without_zeros(times.array, (*along, *times.levels), positive)
    zeros = () if is_noted else zeros_note(times.array)
    return times._replace(array=array, notes=(*times.notes, *zeros, *notes))


def check_levels(
    array: xr.DataArray | xr.Dataset, levels: str | Sequence[str] | None
) -> tuple[str, ...]:
    """Return the nest, outermost first: the levels requested, or those of the data."""
    if levels is None:
        levels_in_data = tuple(level for level in LEVELS if level in array.dims)
        if not levels_in_data:
            raise ValueError(
                f"no repetition level: none of the dims {tuple(array.dims)} is one of {LEVELS}. "
                "Name the dims whose values are repetitions with levels="
            )
        return levels_in_data
    names = check_names(levels, "levels")
    for level in names:
        check_dim(array, level, "level")
    usual: list[str] = [level for level in LEVELS if level in names]
    # Levels that are crossed may lie inside each other: sessions and binaries, and those whose
    # units have labels.
    crossed = [
        level
        for level in usual
        if level != ITERATION
        and (level in (BINARY, SESSION) or unit_labels(array, level) is not None)
    ]
    ranks = [0 if level in crossed else usual.index(level) for level in names if level in LEVELS]
    if ranks != sorted(ranks):
        raise ValueError(
            f"levels={names} is in the wrong order. levels= must go from the outermost to the "
            f"innermost: {tuple(usual)}"
        )
    return names


def check_dim(array: xr.DataArray | xr.Dataset, dim: object, role: str = "dim") -> str:
    """Return `dim`; raise with the dims of the array unless it is one of these."""
    if not isinstance(dim, str) or dim not in array.dims:
        renamed = f". {dim!r} is called 'data_{dim}' here" if f"data_{dim}" in array.dims else ""
        raise ValueError(
            f"{role} {dim!r} not found; the array has dims {tuple(array.dims)}"
            f"{renamed or nearest(dim, array.dims)}"
        )
    return dim


def check_names(names: str | Sequence[str], argument: str) -> tuple[str, ...]:
    """Return one name or several as a tuple without repeats."""
    name_tuple = (names,) if isinstance(names, str) else tuple(names)
    if not name_tuple or not all(isinstance(name, str) for name in name_tuple):
        raise ValueError(f"{argument}={names!r}: give a name or a tuple of names")
    if len(set(name_tuple)) != len(name_tuple):
        raise ValueError(f"{argument}={names!r} names something twice")
    return name_tuple
