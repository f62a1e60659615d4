"""Designs of simulated experiments, whose sizes, variances and ratio are numbers or maps."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr

from perfarray.calibration.numerics.experiments import Draw, Side, draw_experiments, hide_levels
from perfarray.calibration.simulation import (
    check_correlation,
    check_distribution,
    check_labels,
    check_named,
    check_span,
)
from perfarray.conventions import BENCHMARK, BETTER, LOWER, SECONDS, SIMULATED, TIME, plural
from perfarray.numerics.random import Key
from perfarray.timings.apply import LEVEL
from perfarray.timings.resolve import check_names
from perfarray.timings.streams import Rng, cell_keys
from perfarray.timings.validation import check_number, listed

EXPERIMENT = "experiment"  # the dim of the experiments that a method is given at once

# By level: a number, a list (a map along a dim named after it), or a DataArray; or all levels in
# one DataArray with a dim `level`.
Numbers = Mapping[str, Any] | xr.DataArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """The arguments that `coverage`, `false_alarm_rate` and `power` share.

    `coverage` describes them.
    """

    sizes: Numbers
    variances: Numbers
    ratio: Any
    distribution: str | Draw
    autocorrelation: Mapping[str, float] | None
    shared: Mapping[str, float] | None
    pairs: Mapping[str, float] | None
    dims: Mapping[str, int | Sequence[Any]] | None
    ignored: str | Sequence[str]
    confidence_level: float
    n_experiments: int
    batch: int | None
    rng: Rng
    progress: bool | None


class DesignPoint(NamedTuple):
    """One point of a map: the systems to draw, their true ratio and variances, and a random key."""

    sides: tuple[Side, ...]
    ratio: xr.DataArray
    variances: xr.DataArray
    key: Key


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """A checked nest by level, over the dims of the map and those of one experiment."""

    levels: tuple[str, ...]
    hidden: tuple[str, ...]
    labels: dict[str, npt.NDArray[Any]]
    systems: int
    spans: dict[str, tuple[xr.DataArray, xr.DataArray]]
    variances: dict[str, xr.DataArray]
    ratio: xr.DataArray
    draw: Draw
    autocorrelation: tuple[float, ...]
    shared: dict[str, float]
    pairs: tuple[float, ...]
    map: xr.DataArray

    @property
    def visible(self) -> tuple[str, ...]:
        """The levels that a method sees."""
        return tuple(level for level in self.levels if level not in self.hidden)

    def points(self, key: Key) -> Iterator[DesignPoint]:
        """Yield the points of the map, the last dim fastest."""
        words = cell_keys([self.map], ()).transpose(*self.map.dims).values
        for index in np.ndindex(self.map.shape):
            at = dict(zip(self.map.dims, index, strict=True))
            arrays = xr.broadcast(
                *(self.variances[level].isel(at, missing_dims="ignore") for level in self.levels)
            )
            truth = xr.DataArray([array.values for array in arrays], dims=(LEVEL, *arrays[0].dims))
            sides = tuple(self._side(side, at) for side in range(self.systems))
            yield DesignPoint(
                sides,
                self.ratio.isel(at, missing_dims="ignore"),
                truth,
                (key[0] ^ int(words[index]), key[1]),
            )

    def _side(self, side: int, at: Mapping[Hashable, int]) -> Side:
        """Return one system at a point of the map; the candidate is side 0."""

        def over_labels(array: xr.DataArray) -> Any:
            # One axis for each dim of one experiment, in their order.
            array = array.isel(at, missing_dims="ignore")
            return (
                array.expand_dims([dim for dim in self.labels if dim not in array.dims])
                .transpose(*self.labels)
                .values
            )

        ends = [
            [int(end.isel(at, missing_dims="ignore")) for end in self.spans[level]]
            for level in self.levels
        ]
        return Side(
            spans=tuple((low, high) for low, high in ends),
            scales=tuple(np.sqrt(over_labels(self.variances[level])) for level in self.levels),
            factor=over_labels(self.ratio) if side == 0 and self.systems == 2 else 1.0,
            outer=tuple(len(labels) for labels in self.labels.values()),
            common=list(self.labels).index(BENCHMARK) if self.shared else None,
            shared=tuple(self.shared.get(level, 0.0) for level in self.levels),
            autocorrelation=self.autocorrelation,
            pairs=self.pairs,
        )

    def draw_timings(self, point: DesignPoint, first: int, count: int) -> list[xr.DataArray]:
        """Draw some experiments: the timings of each system as the method gets them."""
        arrays = draw_experiments(point.sides, self.draw, point.key, first, count)
        hidden = [self.levels.index(level) for level in self.hidden]
        coords = {EXPERIMENT: np.arange(first, first + count), **self.labels}
        attrs = {"units": SECONDS, BETTER: LOWER, SIMULATED: "experiments"} | (
            {"shared_levels": " ".join(self.shared)} if self.shared else {}
        )
        dims = (EXPERIMENT, *self.labels, *self.visible)
        return [
            xr.DataArray(
                hide_levels(array, len(self.levels), hidden), coords, dims, name=TIME, attrs=attrs
            )
            for array in arrays
        ]


def check_design(study: Study, *, two: bool) -> Design:
    """Check the nest of one system or of two, and lay out the map."""
    levels = tuple(_by_level(study.sizes, "sizes"))
    hidden = check_names(study.ignored, "ignored") if study.ignored else ()
    neighbours, shared, pairs = (
        dict(study.autocorrelation or {}),
        dict(study.shared or {}),
        dict(study.pairs or {}),
    )
    check_named((*hidden, *neighbours, *shared, *pairs), levels)
    if pairs and not two:
        raise ValueError(f"pairs={listed(pairs)} is about two systems, and the method is of one")
    if levels[-1] in hidden:
        raise ValueError(
            f"ignored={listed(hidden)}: the repetitions of {levels[-1]!r}, the lowest level, "
            "cannot become those of a lower one"
        )
    labels = {name: check_labels(value, name) for name, value in (study.dims or {}).items()}
    if shared and BENCHMARK not in labels:
        raise ValueError(
            f"shared={listed(shared)} is about units that serve several benchmarks: say how "
            f"many with dims={{'benchmark': 13}}"
        )
    spans = _spans(study.sizes, hidden)
    variances = _variances(study.variances, levels)
    ratio = _as_map(study.ratio, "ratio")
    if not bool((ratio > 0).all()):
        raise ValueError(
            f"ratio={study.ratio!r}: give what the candidate's mean is of the baseline's, a "
            "number above zero such as 0.95"
        )
    arrays = [array for span in spans.values() for array in span]
    return Design(
        levels=levels,
        hidden=hidden,
        labels=labels,
        systems=1 + two,
        spans={
            level: (_labelled(low, labels), _labelled(high, labels))
            for level, (low, high) in spans.items()
        },
        variances={level: _labelled(array, labels) for level, array in variances.items()},
        ratio=_labelled(ratio, labels),
        draw=check_distribution(study.distribution),
        autocorrelation=tuple(
            check_correlation(
                neighbours.get(level, 0.0), f"autocorrelation[{level!r}]", lowest=-1.0
            )
            for level in levels
        ),
        shared={
            level: check_correlation(value, f"shared[{level!r}]") for level, value in shared.items()
        },
        pairs=tuple(
            check_correlation(pairs.get(level, 0.0), f"pairs[{level!r}]") for level in levels
        ),
        map=_map_of([*arrays, *variances.values(), ratio], labels),
    )


def _by_level(numbers: Numbers, name: str, suffix: str = "") -> dict[str, Any]:
    """Return the numbers of each level: a list becomes a map along a dim named after the level."""
    if isinstance(numbers, xr.DataArray) and LEVEL in numbers.dims:
        numbers = {
            str(level): numbers.sel({LEVEL: level}, drop=True)
            for level in numbers[LEVEL].values.tolist()
        }
    if not isinstance(numbers, Mapping) or (name == "sizes" and not numbers):
        raise ValueError(
            f"{name}={numbers!r}: give a mapping of levels to numbers, outermost first, such "
            f"as {{'execution': 30, 'iteration': 10}}"
        )
    return {
        level: _listed(value, f"{level}{suffix}") if _is_list(value) else value
        for level, value in numbers.items()
    }


def _is_list(value: Any) -> bool:
    """Return whether values are a map of their own; a tuple is a pair (fewest, most)."""
    return isinstance(value, list | range | np.ndarray)


def _listed(values: Any, dim: str) -> xr.DataArray:
    """Return values along a dim labelled with them; pairs (fewest, most) are numbered."""
    if not any(isinstance(value, tuple) for value in values):
        return xr.DataArray(np.asarray(values), {dim: np.asarray(values)}, dim)
    pairs = np.empty(len(values), dtype=object)
    pairs[:] = list(values)
    return xr.DataArray(pairs, {dim: np.arange(len(values))}, dim)


def _as_map(value: Any, dim: str) -> xr.DataArray:
    """Return numbers as an array over the dims of a map: a list along a dim of its own."""
    value = _listed(value, dim) if _is_list(value) else value
    array = value if isinstance(value, xr.DataArray) else xr.DataArray(check_number(value, dim))
    if array.dtype.kind not in "iuf" or not bool(np.isfinite(array).all()):
        raise ValueError(f"{dim}={value!r}: give finite numbers")
    return array


def _spans(numbers: Numbers, hidden: Sequence[str]) -> dict[str, tuple[xr.DataArray, xr.DataArray]]:
    """Return the fewest and most repetitions by level.

    Independent units are repeated at least twice.
    """
    sizes, spans = _by_level(numbers, "sizes"), {}
    for level, value in sizes.items():
        array = value if isinstance(value, xr.DataArray) else xr.DataArray(0)
        values = array.values.ravel().tolist() if isinstance(value, xr.DataArray) else [value]
        pairs = [check_span(size, f"sizes[{level!r}]") for size in values]
        low, high = (np.reshape([pair[end] for pair in pairs], array.shape) for end in (0, 1))
        spans[level] = (array.copy(data=low), array.copy(data=high))
    unit = next(level for level in sizes if level not in hidden)
    units = xr.DataArray(1)
    for level in list(sizes)[
        : list(sizes).index(unit) + 1
    ]:  # levels above it are hidden: their repetitions count as its own
        units = units * spans[level][0]
    if int(units.min()) < 2:
        raise ValueError(
            f"sizes leaves one {unit} in an experiment, whose spread nothing shows. Give at "
            f"least 2 {plural(unit)}, or hide the level with ignored={unit!r}"
        )
    return spans


def _variances(numbers: Numbers, levels: Sequence[str]) -> dict[str, xr.DataArray]:
    by_level = _by_level(numbers, "variances", "_variance")
    check_named(by_level, levels)
    arrays = {level: _as_map(by_level.get(level, 0.0), f"variances[{level!r}]") for level in levels}
    for level, array in arrays.items():
        if bool((array < 0).any()):
            raise ValueError(f"variances[{level!r}]={float(array.min()):g} is negative")
    return arrays


def _map_of(arrays: Sequence[xr.DataArray], labels: Mapping[str, Any]) -> xr.DataArray:
    """Return an array over the dims of the map, with their labels."""
    maps = [
        array.isel(dict.fromkeys(set(labels) & set(array.dims), 0)).reset_coords(drop=True)
        for array in arrays
    ]
    try:
        template = xr.broadcast(*xr.align(*maps, join="exact"))[0]
    except ValueError as error:
        raise ValueError(
            f"sizes, variances and ratio are maps whose labels differ: {error}"
        ) from None
    return xr.DataArray(
        np.zeros(template.shape),
        {dim: template[dim].variable for dim in template.dims if dim in template.coords},
        template.dims,
    )


def _labelled(array: xr.DataArray, labels: Mapping[str, npt.NDArray[Any]]) -> xr.DataArray:
    """Return numbers in the order of the labels of one experiment's dims, and without these."""
    for dim in set(labels) & set(array.dims):
        if dim in array.coords and set(array[dim].values.tolist()) >= set(labels[dim].tolist()):
            array = array.sel({dim: labels[dim]})
        if array.sizes[dim] != len(labels[dim]):
            raise ValueError(
                f"an array has {array.sizes[dim]} along {dim!r}, and dims={{{dim!r}: ...}} has "
                f"{len(labels[dim])}"
            )
    return array.drop_vars(list(array.coords))
