"""What a timings object is: the metric it is asked about, its levels, its marked values, and the baseline beside it."""

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, ParamSpec, TypeVar, cast

import numpy as np
import xarray as xr

from perfarray.conventions import LEVELS, LOWER, MARKS, METRIC, TIME, UNKNOWN
from perfarray.timings.apply import is_chunked
from perfarray.timings.validation import check_choice, check_dim, check_label, check_levels, check_names, find_dim, listed

Data = xr.DataArray | xr.Dataset
P = ParamSpec("P")
R = TypeVar("R")


class Timings(NamedTuple):
    """One metric, ready to compute with: marked values are NaN, the nest is known."""

    array: xr.DataArray
    levels: tuple[str, ...]
    left_out: dict[str, int]
    note: str = ""
    selected: str = ""
    uncounted: tuple[str, ...] = ()

    @property
    def units(self) -> str:
        """The unit of the values."""
        return str(self.array.attrs.get("units", "1"))

    @property
    def better(self) -> str:
        """`lower` for times, `higher` for throughput and scores."""
        return str(self.array.attrs.get("better", LOWER))

    def describe(self) -> dict[str, Hashable]:
        """Attrs every result carries: the metric, the levels, the unit of the answer, what was left out."""
        attrs: dict[str, Hashable] = {
            "metric": str(self.array.name or TIME),
            "levels": " ".join(self.levels),
            "unit": self.levels[0],
        }
        attrs |= {f"n_{mark}": number for mark, number in self.left_out.items()}
        return attrs | ({"left_out": " ".join(self.uncounted)} if self.uncounted else {})


class Pair(NamedTuple):
    """Two systems with the same labels on every dim that is not a level."""

    candidate: Timings
    baseline: Timings
    dim: str | None
    unmatched: tuple[str, ...]
    notes: tuple[str, ...]

    def describe(self) -> dict[str, Hashable]:
        """Attrs of a comparison."""
        attrs = self.candidate.describe()
        for mark, number in self.baseline.left_out.items():
            attrs[f"n_{mark}"] = number + int(cast(int, attrs.get(f"n_{mark}", 0)))
        uncounted = dict.fromkeys((*self.candidate.uncounted, *self.baseline.uncounted))
        attrs |= {"left_out": " ".join(uncounted)} if uncounted else {}
        if self.dim is not None:
            attrs["dim"] = self.dim
        attrs["better"] = self.candidate.better
        if self.unmatched:
            attrs["unmatched"] = ", ".join(self.unmatched)
        return attrs


def over_metrics(function: Callable[P, R]) -> Callable[P, R]:
    """Let `metric=` name several metrics: one result each, along a dim `metric` with coordinates units and better."""

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        metric = kwargs.get(METRIC)
        if metric is None or isinstance(metric, str):
            return function(*args, **kwargs)
        names = check_names(cast(Sequence[str], metric), METRIC)
        times = args[0]
        results = []
        for name in names:
            chosen = [_only(argument, name) for argument in args]
            others = {key: _only(value, name) for key, value in kwargs.items()}
            results.append(function(*chosen, **{**others, METRIC: name}))
        return cast(R, _beside(cast(list[xr.Dataset], results), [choose_metric(cast(Data, times), name) for name in names], names))

    return wrapper


def _beside(results: list[xr.Dataset], arrays: list[xr.DataArray], names: tuple[str, ...]) -> xr.Dataset:
    """Put results along a new dim `metric`; a cell that one metric lacks is NaN, False or `unknown`."""
    blanks: dict[Hashable, Any] = {name: np.nan for result in results for name in result.variables}
    for name, variable in results[0].data_vars.items():
        if variable.dtype.kind in "Ob":
            blanks[name] = UNKNOWN if variable.dtype == object else False
    along = xr.IndexVariable(METRIC, np.array(names, dtype=object))
    joined: xr.Dataset = xr.concat(
        results, along, join="outer", fill_value=blanks, combine_attrs="drop_conflicts", coords="minimal", compat="override"
    )
    for key, default in (("units", "1"), ("better", LOWER)):
        joined = joined.assign_coords({key: (METRIC, np.array([array.attrs.get(key, default) for array in arrays], dtype=object))})
    return joined


def _only(times: Any, metric: str) -> Any:
    """Return a Dataset with one metric alone, so that cells other metrics fill are not reported as empty."""
    return times[[metric]] if isinstance(times, xr.Dataset) and metric in times else times


def metrics_of(times: xr.Dataset) -> list[str]:
    """Return the names of the variables that hold measurements: numbers with a repetition dim."""
    return [
        str(name)
        for name, variable in times.data_vars.items()
        if variable.dtype.kind in "iuf" and any(dim in LEVELS for dim in variable.dims)
    ]


def choose_metric(times: Data, metric: str | Sequence[str] | None, levels: Sequence[str] | str | None = None) -> xr.DataArray:
    """Return the array a method works on: `metric=`, else `attrs["metric"]`, else `time`, else the only candidate."""
    if isinstance(times, xr.DataArray):
        if metric is not None:
            raise ValueError(
                f"metric={metric!r} was given for a DataArray; a DataArray is one metric: give the Dataset, or leave metric= out"
            )
        return times
    if not isinstance(times, xr.Dataset):
        raise TypeError(
            f"expected a DataArray or a Dataset of timings, got {type(times).__name__}; a pandas table becomes one with .perf.to_timings()"
        )
    candidates = metrics_of(times)
    if not candidates and levels is not None:
        named = check_names(levels, "levels")
        candidates = [str(name) for name, variable in times.data_vars.items() if set(named) & set(variable.dims)]
    if metric is None:
        wanted = times.attrs.get(METRIC)
        if wanted in times.data_vars:
            metric = str(wanted)
        elif TIME in candidates:
            metric = TIME
        elif len(candidates) == 1:
            metric = candidates[0]
        else:
            found = listed(candidates) if candidates else "none; a variable needs one of the dims " + listed(LEVELS)
            raise ValueError(f"which variable holds the measurements? Say so with metric=; candidates: {found}")
    elif not isinstance(metric, str):
        raise ValueError(f"metric={metric!r}: give one name here")
    elif metric not in times.data_vars:
        raise ValueError(f"metric {metric!r} not found; the Dataset has {listed(times.data_vars)}")
    array = times[metric]
    if "shared_levels" in times.attrs and "shared_levels" not in array.attrs:
        array = array.assign_attrs(shared_levels=times.attrs["shared_levels"])
    return array


def _hidden_cells(times: xr.Dataset, array: xr.DataArray) -> str:
    """Name the cells that are empty in the chosen metric and hold values in another, if there are any."""
    others = [name for name in metrics_of(times) if name != array.name]
    levels = [dim for dim in array.dims if dim in LEVELS]
    if not others or is_chunked(array):
        return ""
    empty = ~array.notnull().any(levels)
    if not empty.any():
        return ""
    for name in others:
        hidden = empty & times[name].notnull().any([dim for dim in times[name].dims if dim in LEVELS])
        if hidden.any():
            cells = cell_names(hidden)
            return f"{len(cells)} cells have no {array.name!r} but have {name!r} (choose it with metric=): {listed(cells, 5)}"
    return ""


def cell_names(where: xr.DataArray) -> list[str]:
    """Return the labels of the True cells, each as `label` or `label, label`."""
    labels = [where[dim].values for dim in where.dims]
    return [", ".join(str(values[i]) for values, i in zip(labels, index, strict=True)) for index in np.argwhere(where.values)]


def resolve(times: Data, metric: str | Sequence[str] | None = None, levels: str | Sequence[str] | None = None) -> Timings:
    """Choose the metric and the nest, and leave out (as NaN) what is marked as warm-up, censored, failed or copied.

    The numbers of positions left out are counted by mark; marks that are lazy are left out too, and named without being counted.
    """
    array = choose_metric(times, metric, levels)
    if array.dtype.kind not in "iuf":
        raise ValueError(f"{array.name or 'the array'} holds {array.dtype} values, not numbers; timings are numbers")
    if array.dtype.kind != "f":
        array = array.astype(float)
    nest = check_levels(array, levels)
    hidden = _hidden_cells(times, array) if isinstance(times, xr.Dataset) else ""
    left_out, uncounted = {}, []
    for mark in MARKS:
        if mark in array.coords:
            marked = as_mark(array.coords[mark]).drop_vars(MARKS, errors="ignore")
            if is_chunked(marked):
                uncounted.append(mark)
                array = array.where(~marked).assign_attrs(array.attrs)
                continue
            number = int(marked.sum()) * int(np.prod([n for dim, n in array.sizes.items() if dim not in marked.dims]))
            if number:
                left_out[mark] = number
                array = array.where(~marked).assign_attrs(array.attrs)
    return Timings(array, nest, left_out, hidden, _selected_unit(array, nest) if levels is None else "", tuple(uncounted))


def _selected_unit(array: xr.DataArray, nest: tuple[str, ...]) -> str:
    """Say that one unit of an outer level was selected: what lies inside it is then taken as independent."""
    above = LEVELS[: LEVELS.index(nest[0])] if nest[0] in LEVELS else ()
    outer = [name for name in above if name in array.coords and array.coords[name].ndim == 0]
    if not outer:
        return ""
    return f"one {outer[0]} was selected, so its {nest[0]}s are taken as independent units; select with a list to keep the level"


def as_mark(coordinate: xr.DataArray) -> xr.DataArray:
    """Return a boolean coordinate as bool: a join turns it into objects or floats with NaN, which mean False."""
    if coordinate.dtype == bool:
        return coordinate
    return coordinate.notnull() & coordinate.fillna(False).astype(bool)


def resolve_pair(
    times: Data,
    baseline: object,
    *,
    dim: str | None,
    metric: str | Sequence[str] | None,
    levels: str | Sequence[str] | None,
) -> Pair:
    """Split `times` at the label `baseline`, or match it with another timings object, by label on dims that are not levels."""
    candidate = resolve(times, metric, levels)
    if isinstance(baseline, xr.DataArray | xr.Dataset):
        other = resolve(baseline, _same_metric(baseline, metric, candidate), candidate.levels)
        return _pair_of_objects(candidate, other, dim)
    array, nest, left_out, note, selected, uncounted = candidate
    if dim is None:
        dim = find_dim(array, baseline, nest)
    else:
        check_dim(array, dim)
        if dim in nest:
            raise ValueError(f"dim {dim!r} is a level of the nest {nest}; a comparison is over a dim that is not a level")
        check_label(array, dim, baseline)
    is_baseline = np.array([label == baseline for label in array[dim].values.tolist()])
    if is_baseline.sum() > 1:
        raise ValueError(f"label {baseline!r} occurs {is_baseline.sum()} times along {dim!r}; labels must be unique")
    if is_baseline.all():
        raise ValueError(f"nothing to compare with: {baseline!r} is the only label along {dim!r}")
    old = array.isel({dim: int(np.flatnonzero(is_baseline)[0])}, drop=True)
    new = array.isel({dim: np.flatnonzero(~is_baseline)})
    return Pair(Timings(new, nest, left_out, note, selected, uncounted), Timings(_bare(old), nest, {}), dim, (), (note,))


def _same_metric(baseline: Data, metric: str | Sequence[str] | None, candidate: Timings) -> str | Sequence[str] | None:
    """Return the metric to take from the baseline: the one the data were asked about, where it has it."""
    if isinstance(baseline, xr.DataArray):
        return None
    name = str(candidate.array.name)
    return metric if metric is not None else name if name in baseline.data_vars else None


def _pair_of_objects(candidate: Timings, baseline: Timings, dim: str | None) -> Pair:
    """Match two objects by label; what is on one side only is left out and named."""
    if candidate.units != baseline.units:
        raise ValueError(f"units differ: the data are in {candidate.units!r}, the baseline in {baseline.units!r}; convert one of them")
    if candidate.better != baseline.better:
        raise ValueError(f"better differs: {candidate.better!r} in the data, {baseline.better!r} in the baseline")
    new, old = candidate.array, _bare(baseline.array)
    unmatched: list[str] = []
    for name in [name for name in new.dims if name in old.dims and name not in candidate.levels]:
        here, there = new[name].values.tolist(), old[name].values.tolist()
        known, present = set(there), set(here)
        both = [label for label in here if label in known]
        if not both:
            raise ValueError(f"the data and the baseline have no label in common along {name!r}: {listed(here)} against {listed(there)}")
        missing = [f"{label} (no baseline)" for label in here if label not in known]
        missing += [f"{label} (baseline only)" for label in there if label not in present]
        if missing:
            unmatched += missing
            new, old = new.sel({name: both}), old.sel({name: both})
        elif here != there:
            old = old.sel({name: here})
    missing_labels = f"{len(unmatched)} labels are on one side only and are left out: {listed(unmatched)}" if unmatched else ""
    names = tuple(text.rpartition(" (")[0] for text in unmatched)
    return Pair(candidate._replace(array=new), baseline._replace(array=old), dim, names, (candidate.note, baseline.note, missing_labels))


def _bare(array: xr.DataArray) -> xr.DataArray:
    """Drop the coordinates that are not labels: those of the baseline do not describe the answer."""
    return array.reset_coords([name for name in array.coords if name not in array.dims], drop=True)


def match_units(pair: Pair, paired: str) -> Pair:
    """Bring the outermost units of both systems side by side: by label where both have labels, else by position."""
    check_choice(paired, "paired", pair.candidate.levels[:1])
    new, old = pair.candidate.array, pair.baseline.array
    here, there = new[paired].values.tolist(), old[paired].values.tolist()
    if here != there:
        known = set(there)
        both = [label for label in here if label in known]
        if not both:
            raise ValueError(f"paired={paired!r}: the two systems have no {paired} in common")
        alone = len(here) + len(there) - 2 * len(both)
        note = f"paired={paired!r}: {alone} units of one system have no partner and are left out" if alone else ""
        new, old = new.sel({paired: both}), old.sel({paired: both})
        pair = pair._replace(notes=(*pair.notes, note))
    return pair._replace(candidate=pair.candidate._replace(array=new), baseline=pair.baseline._replace(array=old))


def baseline_name(baseline: object) -> str:
    """Return what the attrs say of the baseline."""
    return "other timings" if isinstance(baseline, xr.DataArray | xr.Dataset) else str(baseline)


def shared_levels(times: Timings, shared: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the levels whose units are the same for every benchmark: `shared=`, else what the data say, else none."""
    if shared is None:
        said = str(times.array.attrs.get("shared_levels", "")).split()
        return tuple(level for level in said if level in times.levels)
    if shared == () or shared == "":
        return ()
    names = check_names(shared, "shared")
    for name in names:
        if name not in times.levels:
            raise ValueError(f"shared={name!r} is not one of the levels {times.levels}")
    if times.levels[0] not in names:
        raise ValueError(
            f"shared={listed(names)} leaves out the outermost level {times.levels[0]!r}: units inside it cannot be the same for every "
            f"benchmark unless it is; name it too, or choose levels= that start at {names[0]!r}"
        )
    return names


def check_positive_values(times: Timings, needs: str) -> None:
    """Raise where a value is zero or negative and `needs` (a log, a ratio) takes positive ones; the message names the first."""
    array = times.array
    if is_chunked(array):
        return
    values = array.values
    bad = (values <= 0) | (values == np.inf)
    if not bad.any():
        return
    where = np.argwhere(bad)[0]
    place = ", ".join(f"{dim}={array[dim].values[i]!s}" for dim, i in zip(array.dims, where, strict=True))
    raise ValueError(
        f"{needs} needs positive values; {array.name or 'the data'} has {int(bad.sum())} that are zero, negative or infinite, the first "
        f"({float(values[tuple(where)]):g}) at {place}; mark failed runs as failed, or remove them"
    )
