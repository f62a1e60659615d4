"""Two systems, matched by label: the labels of a dim and their baseline, or two timings objects."""

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, cast

import numpy as np
import xarray as xr

from perfarray.conventions import (
    BENCHMARK,
    CENSORED,
    COPIED,
    FORMAT,
    LEVELS,
    LOWER,
    N_FILES,
    SESSION,
    SEVERAL_SESSIONS,
    SLOT,
)
from perfarray.timings.apply import is_chunked
from perfarray.timings.censored import Bounds, ratio_bounds, stopped_note, without_limit
from perfarray.timings.chunks import chunk_lengths, evenly_chunked
from perfarray.timings.comparable import (
    align_sides,
    check_label,
    check_sides,
    check_systems,
    never_together,
)
from perfarray.timings.crossed import crossed_notes, label_name, paired_units, unit_labels
from perfarray.timings.labels import compared_labels, dim_with, find_dim, label_meant, labels_along
from perfarray.timings.notes import Note
from perfarray.timings.resolve import (
    Data,
    Timings,
    decline_zeros,
    place_units,
    resolve,
    shared_levels,
)
from perfarray.timings.units import one_process_note
from perfarray.timings.validation import listed
from perfarray.timings.validity import validity_notes
from perfarray.timings.zeros import Positive, joined_notes

# A value worse than any measurement, for ranks and medians; its square is finite
WORST = 1e150
# Ratios beyond this come from stopped runs at their worst
FAR = WORST**0.5


# The dim of the baselines where every label is one, and what stands for all of them
BASELINE, EVERY = "baseline", object()


class Pair(NamedTuple):
    """Two systems with the same labels on every dim that is not a level.

    `baselines` is the dim of the baselines where all labels of `dim` are compared with each other:
    each is then on both sides.
    """

    candidate: Timings
    baseline: Timings
    dim: str | None
    unmatched: tuple[str, ...]
    notes: tuple[Note, ...]
    attrs: Mapping[str, Hashable] = MappingProxyType({})
    baselines: str | None = None

    @property
    def itself(self) -> xr.DataArray:
        """Which candidates are their own baselines, where each label is on both sides."""
        dims = (str(self.dim), str(self.baselines))
        labels = {dims[0]: self.candidate.array[dims[0]], dims[1]: self.baseline.array[dims[1]]}
        return xr.DataArray(np.eye(labels[dims[0]].size, dtype=bool), labels, dims)

    def against(self, position: int) -> "Pair":
        """Return one of the baselines, where each label is on both sides, and the other labels."""
        array = self.candidate.array
        other_positions = np.delete(np.arange(array.sizes[self.dim]), position)
        old = self.baseline.array.isel({self.baselines: position}, drop=True)
        sides = (
            self.candidate._replace(array=array.isel({self.dim: other_positions})),
            self.baseline._replace(array=old),
        )
        return self._replace(candidate=sides[0], baseline=sides[1], baselines=None)

    @property
    def crossed(self) -> tuple[Note, ...]:
        """Notes on levels that are crossed on either side."""
        new, old = self.candidate.array, self.baseline.array
        if self.baselines:  # all labels are on both sides: each is looked at beside the next
            turned = np.roll(np.arange(new.sizes[self.dim]), 1)
            old = new.isel({self.dim: turned}).assign_coords({self.dim: new.coords[str(self.dim)]})
        return crossed_notes([new, old], self.candidate.levels)

    @property
    def unit_notes(self) -> tuple[Note, ...]:
        """What is to be said of units that are taken as independent."""
        return (*((self.candidate.selected,) if self.candidate.selected else ()), *self.crossed)

    @property
    def shared(self) -> tuple[str, ...]:
        """The levels whose units are the same for every benchmark."""
        return self.candidate.shared

    @property
    def jointly(self) -> bool:
        """Whether the benchmarks share their independent units."""
        return self.candidate.levels[0] in self.candidate.shared

    @property
    def bounded(self) -> bool:
        """Whether either side has stopped runs that count as their limits."""
        return self.candidate.bounded or self.baseline.bounded

    @property
    def bounds(self) -> Bounds:
        """Whether the ratio of means of each cell is only a bound, because runs were stopped."""
        return ratio_bounds(self.candidate.bounds, self.baseline.bounds)

    def stopped_note(self, consequence: str) -> Note | None:
        """Return the note on the stopped runs of either side and the consequence.

        None where none were stopped.
        """
        if self.baselines or not self.bounded:
            return self.candidate.stopped_note(consequence)
        numbers = {"candidate": self.candidate.n_stopped, "baseline": self.baseline.n_stopped}
        unlimited = sum(without_limit(side.array) for side in (self.candidate, self.baseline))
        return stopped_note(numbers, unlimited, self.candidate.better, consequence)


def resolve_pair(
    times: Data,
    baseline: object,
    *,
    dim: str | None,
    metric: str | Sequence[str] | None,
    levels: str | Sequence[str] | None,
    paired: str | None = None,
    shared: str | Sequence[str] | None = None,
    unit: str | None = None,
    positive: Positive | None = None,
    censored: str = "drop",
    keep: Sequence[str] = (),
    with_copies: bool = False,
    measured: bool = True,
) -> Pair:
    """Split `times` at the label `baseline`, or match it by label with other timings.

    `paired` matches the units of the outermost level; `unit` is the level whose repetitions are the
    sample, if not that. `keep` names coordinates of the baseline to keep besides its labels and the
    marks of stopped runs and of copies that count. The other arguments are those of `resolve`.
    """
    other_timings = baseline if isinstance(baseline, xr.DataArray | xr.Dataset) else None
    as_nested = paired is not None or unit is not None
    choose = partial(
        resolve,
        censored=censored,
        with_copies=with_copies,
        measured=measured,
        as_nested=as_nested or other_timings is not None,
    )
    by_cell = other_timings is not None and levels is None and not as_nested
    candidate = choose(
        times,
        metric,
        levels,
        shared=None if by_cell else shared,
        positive=None if other_timings is not None else positive,
    )
    if other_timings is not None:
        name = _same_metric(other_timings, metric, candidate)
        if by_cell:
            nested = _of_one_nest(candidate, choose(other_timings, name, levels))
            sides = place_units(*nested)
            if shared is not None:
                joint = shared_levels(sides[0], shared, nested[0].levels)
                sides[0] = sides[0]._replace(shared=joint)
        else:
            sides = [candidate, choose(other_timings, name, candidate.levels)]
        sides = sides if positive is None else [decline_zeros(side, positive) for side in sides]
        candidate, pair = sides[0], _pair_of_objects(sides[0], sides[1], dim)
    else:
        every = baseline is EVERY
        pair = _each_with_each(candidate, str(dim)) if every else _split(candidate, baseline, dim)
    marks = (SLOT, *(CENSORED,) * pair.baseline.bounded, *((COPIED,) if with_copies else ()))
    unit_names = map(label_name, pair.baseline.levels)
    array, names = pair.baseline.array, {*pair.baseline.array.dims, *keep, *marks, *unit_names}
    if dropped := [name for name in array.coords if name not in names]:
        array = array.reset_coords(dropped, drop=True)
        pair = pair._replace(baseline=pair.baseline._replace(array=array))
    paired_by: dict[str, Hashable] = {}
    if paired is not None:
        if paired != pair.candidate.levels[0]:
            raise ValueError(
                f"paired={paired!r} is not known; choose one of {listed(pair.candidate.levels[:1])}"
            )
        (new, old), partners = paired_units(pair.candidate.array, pair.baseline.array, paired)
        pair = pair._replace(
            candidate=pair.candidate._replace(array=new),
            baseline=pair.baseline._replace(array=old),
            notes=(*pair.notes, *partners),
        )
        paired_by = {"paired_by": "number" if unit_labels(new, paired) is None else "label"}
    if is_chunked(pair.candidate.array) or is_chunked(pair.baseline.array):
        pair = _evenly_chunked(pair)
    one_process = one_process_note(candidate, unit, pair.dim)
    notes = (
        *pair.notes,
        *((one_process,) if one_process else ()),
        *(_without_sessions(times, pair) if paired is None else ()),
    )
    return pair._replace(attrs=_describe(pair, baseline) | paired_by, notes=notes)


def _of_one_nest(*sides: Timings) -> list[Timings]:
    """Return both sides with the levels of either; a side that lacks one has one unit of it."""
    levels = tuple(level for level in LEVELS if any(level in side.levels for side in sides))
    missing = [[level for level in levels if level not in side.levels] for side in sides]
    arrays = [
        side.array.drop_vars(names, errors="ignore").expand_dims(names)
        for side, names in zip(sides, missing, strict=True)
    ]
    return [
        side._replace(array=array.assign_attrs(side.array.attrs), levels=levels)
        for side, array in zip(sides, arrays, strict=True)
    ]


def _without_sessions(times: Data, pair: Pair) -> tuple[Note, ...]:
    """Return a note where each side is one session, whose variation no interval holds.

    It concerns data read from files, and a selected session; arrays made in memory are left to
    their authors.
    """
    array, levels = pair.candidate.array, pair.candidate.levels
    if any(note.code == "one_session" for note in pair.notes):
        return ()
    sessions = SESSION in (*array.dims, *array.coords) or not {FORMAT, N_FILES}.isdisjoint(
        times.attrs
    )
    if (
        not sessions
        or SEVERAL_SESSIONS in times.attrs
        or SESSION in (*levels, pair.dim)
        or levels[0] not in LEVELS
    ):
        return ()
    text = (
        "Each side is one session. Two sessions of one program can differ by more than this "
        "interval. Measure several of both sides in turn, and name that level 'session'."
    )
    return (Note("one_session", text, {"unit": levels[0]}, aside=True),)


def _describe(pair: Pair, baseline: object) -> dict[str, Hashable]:
    """Return the attrs of a comparison that describe its two sides."""
    attrs = Timings.describe(pair.candidate)
    attrs |= {CENSORED: "bound"} if pair.bounded else {}
    for mark, number in pair.baseline.left_out.items():
        attrs[f"n_{mark}"] = number + int(cast(int, attrs.get(f"n_{mark}", 0)))
    uncounted = dict.fromkeys((*pair.candidate.uncounted, *pair.baseline.uncounted))
    attrs |= {"left_out": " ".join(uncounted)} if uncounted else {}
    attrs |= {"dim": pair.dim} if pair.dim is not None else {}
    baseline_text = (
        "other timings" if isinstance(baseline, xr.DataArray | xr.Dataset) else str(baseline)
    )
    attrs |= {"better": pair.candidate.verdict_direction()} | (
        {} if pair.baselines else {"baseline": baseline_text}
    )
    return attrs | ({"unmatched": ", ".join(pair.unmatched)} if pair.unmatched else {})


def _split(candidate: Timings, baseline: object, dim: str | None) -> Pair:
    """Separate the baseline's label from the candidates along the dim compared."""
    array, nest = candidate.array, candidate.levels
    dim, labels = (
        find_dim(array, baseline, nest) if dim is None else dim_with(array, dim, baseline, nest)
    )
    baseline = label_meant(baseline, labels)
    positions = [position for position, label in enumerate(labels) if label == baseline]
    if len(positions) > 1:
        raise ValueError(
            f"label {baseline!r} occurs {len(positions)} times along {dim!r}; labels must be unique"
        )
    if len(labels) == 1:
        raise ValueError(f"nothing to compare with: {baseline!r} is the only label along {dim!r}")
    array, aligned = align_sides(array, nest, dim)
    rest_positions = np.array(
        [position for position in range(len(labels)) if position != positions[0]]
    )
    # Where the rest is one block, it is not copied.
    block = array.dims[0] == dim and positions[0] in (0, len(labels) - 1)
    candidates = slice(rest_positions[0], rest_positions[-1] + 1) if block else rest_positions
    old, new = array.isel({dim: positions[0]}, drop=True), array.isel({dim: candidates})
    notes = (
        *check_label(array, positions[0], rest_positions, nest, dim, aligned),
        *candidate.notes,
    )
    notes = (
        *notes,
        *never_together(new, old, nest),
        *validity_notes(new, array.isel({dim: positions[0]}), dim, str(baseline)),
    )
    reference = Timings(
        old, nest, {}, bounded=candidate.bounded, unit_of_most=candidate.unit_of_most
    )
    return Pair(candidate._replace(array=new), reference, dim, (), notes)


def _each_with_each(candidate: Timings, dim: str) -> Pair:
    """Put every label of a dim on both sides: candidates along it, baselines along another."""
    nest, labels = candidate.levels, compared_labels(candidate.array, dim, candidate.levels)
    if len(labels) < 2:
        raise ValueError(f"nothing to compare: dim {dim!r} has the labels {listed(labels)}")
    array, aligned = align_sides(candidate.array, nest, dim)
    array = array if dim in array.coords else array.assign_coords({dim: labels})
    names = np.array(
        [str(label) if isinstance(label, str) else label for label in labels], dtype=object
    )
    old = array.rename({dim: BASELINE}).assign_coords({BASELINE: names})
    notes = (
        *check_systems(array, nest, dim, aligned),
        *candidate.notes,
        *validity_notes(array, array, dim),
    )
    return Pair(
        candidate._replace(array=array),
        Timings(old, nest, {}, bounded=candidate.bounded),
        dim,
        (),
        notes,
        baselines=BASELINE,
    )


def _same_metric(
    baseline: Data, metric: str | Sequence[str] | None, candidate: Timings
) -> str | Sequence[str] | None:
    """Return the metric of the baseline: that of the candidate, where the baseline has it."""
    if isinstance(baseline, xr.DataArray):
        return None
    name = str(candidate.array.name)
    return metric if metric is not None else name if name in baseline.data_vars else None


def _pair_of_objects(candidate: Timings, baseline: Timings, dim: str | None) -> Pair:
    """Match two objects by label; labels of one side only are left out and named."""
    if candidate.units != baseline.units:
        raise ValueError(
            f"units differ: the data are in {candidate.units!r}, the baseline in "
            f"{baseline.units!r}; convert one of them"
        )
    if candidate.better != baseline.better:
        raise ValueError(
            f"better differs: {candidate.better!r} in the data, {baseline.better!r} in the baseline"
        )
    new, old = candidate.array, baseline.array
    for name in [name for name in old.dims if name in new.coords and name not in new.dims]:
        baseline_labels, label = listed(labels_along(old, name)), new.coords[name].values
        selection = (
            f"of one of them ({label.item()!r})"
            if label.ndim == 0
            else f"named by it along {listed(new.coords[name].dims)}"
        )
        raise ValueError(
            f"the baseline has the labels {baseline_labels} along {name!r} and the data are "
            f"{selection}; select one of the baseline's"
        )
    new, old, aligned = _of_one_label_each(new, old, candidate.levels)
    unmatched: list[tuple[str, str]] = []
    for name in [name for name in new.dims if name in old.dims and name not in candidate.levels]:
        new_labels, old_labels = labels_along(new, name), labels_along(old, name)
        old_set, new_set = set(old_labels), set(new_labels)
        common = [label for label in new_labels if label in old_set]
        if not common:
            raise ValueError(
                f"the data and the baseline have no label in common along {name!r}: "
                f"{listed(new_labels)} against {listed(old_labels)}"
            )
        missing = [(str(label), "no baseline") for label in new_labels if label not in old_set]
        missing += [(str(label), "baseline only") for label in old_labels if label not in new_set]
        if missing:
            unmatched += missing
            new, old = new.sel({name: common}), old.sel({name: common})
        elif new_labels != old_labels:
            old = old.sel({name: new_labels})
    differing = check_sides(new, old, candidate.levels, dim, aligned)
    differing = (*differing, *never_together(new, old, candidate.levels))
    notes = (
        *differing,
        *joined_notes(candidate.notes, baseline.notes),
        *validity_notes(new, old, dim),
    )
    if unmatched:
        names_with_side = listed(f"{label} ({side})" for label, side in unmatched)
        text = f"{len(unmatched)} labels are on one side only and are left out: {names_with_side}"
        notes = (*notes, Note("unmatched", text, {"labels": [label for label, _ in unmatched]}))
    names = tuple(label for label, _ in unmatched)
    return Pair(candidate._replace(array=new), baseline._replace(array=old), dim, names, notes)


def _of_one_label_each(
    new: xr.DataArray, old: xr.DataArray, levels: Sequence[str]
) -> tuple[xr.DataArray, xr.DataArray, list[str]]:
    """Remove the dims of which each side has one label, another one; name them."""
    names = [
        str(name) for name in new.dims if name in old.dims and name not in (*levels, BENCHMARK)
    ]
    names = [
        name
        for name in names
        if new.sizes[name] == old.sizes[name] == 1
        and labels_along(new, name) != labels_along(old, name)
    ]
    first = dict.fromkeys(names, 0)
    return new.isel(first), old.isel(first), names


def _evenly_chunked(pair: Pair) -> Pair:
    """Return the pair in even chunks, of the same length on both sides."""
    new, old = evenly_chunked(pair.candidate.array), pair.baseline.array
    lengths = {
        dim: length
        for dim, length in chunk_lengths(new).items()
        if dim in old.dims and dim not in pair.candidate.levels
    }
    return pair._replace(
        candidate=pair.candidate._replace(array=new),
        baseline=pair.baseline._replace(array=evenly_chunked(old, lengths)),
    )


def without_zeros_of_both(pair: Pair, positive: Positive) -> Pair:
    """Return the pair without cells that are not above 0 on a side, with a note on them."""
    candidate, baseline = (
        decline_zeros(side._replace(notes=()), positive) for side in (pair.candidate, pair.baseline)
    )
    codes = [note.code for note in pair.notes]
    notes = [
        note for note in joined_notes(candidate.notes, baseline.notes) if note.code not in codes
    ]
    return pair._replace(candidate=candidate, baseline=baseline, notes=(*pair.notes, *notes))


def worst_case(pair: Pair) -> Pair:
    """Return the pair with the candidate's stopped runs at their worst, the baseline's at best.

    An advantage of the candidate is then certain. The best of a stopped run is its limit, or
    anything where the limit is not known.
    """
    return pair._replace(
        candidate=with_worst_case(pair.candidate), baseline=with_unknown_at_best(pair.baseline)
    )


def with_worst_case(side: Timings) -> Timings:
    """Return timings with stopped runs at their worst possible values."""
    return _with_stopped(side, False, WORST) if side.bounded else side


def with_unknown_at_best(side: Timings) -> Timings:
    """Return timings with the stopped runs without a limit at their best possible values."""
    return _with_stopped(side, side.array.notnull(), 1 / WORST) if side.bounded else side


def statistic_bounds(side: Timings, limits: xr.DataArray, worst: xr.DataArray) -> Bounds:
    """Return the bounds of a statistic, given at the limits of stopped runs and at their worst.

    Where both agree it is exact.
    """
    hangs = ((limits != worst) & limits.notnull()).reset_coords(drop=True)
    nothing = hangs & side.bounds.at_least & side.bounds.at_most
    return Bounds(hangs, nothing) if side.better == LOWER else Bounds(nothing, hangs)


def _with_stopped(side: Timings, with_value: Any, value: float) -> Timings:
    """Return timings with a value in place of the stopped runs that have no value `with_value`."""
    array = side.array
    filled = array.where(
        ~array.coords[CENSORED] | with_value, value if side.better == LOWER else 1 / value
    )
    return side._replace(array=filled.transpose(*array.dims).assign_attrs(array.attrs))
