"""What modes may go with: levels, the order of their repetitions, and what coordinates or other metrics say of them."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from perfarray.conventions import CENSORED_AT, LEVELS, MARKS, UNKNOWN, plural
from perfarray.mixtures.numerics.origins import Factor
from perfarray.timings.apply import is_chunked
from perfarray.timings.resolve import Data, Timings, check_names, choose_metric
from perfarray.timings.streams import label_hashes
from perfarray.timings.validation import listed

ORDER = "_order"
"""What follows the name of a level in the name of the order of its repetitions."""

QUARTER_LABELS = ("first quarter", "second quarter", "third quarter", "last quarter")

FEW_VALUES = 4
"""Numbers are labels where so few of them differ, and each stands for two repetitions on average."""


class Asked(NamedTuple):
    """Factors by name, the codes of each along the levels down to the runs, and all labels, those of quarters first."""

    factors: dict[str, Factor]
    codes: tuple[xr.DataArray, ...]
    labels: tuple[str, ...]


class Carried(NamedTuple):
    """What is said of runs: codes along their levels, what they stand for (None: an order), and the place of the level that carries it."""

    codes: xr.DataArray
    labels: tuple[str, ...] | None
    place: int


def nest_with(times: Data, by: str | Sequence[str] | None, metric: Any, levels: Any) -> Any:
    """Return the levels; where none are given, dims that are named as factors and are no repetitions become the outermost ones."""
    array = choose_metric(times, metric, levels)
    dims = [name for name in _named(by) if name in array.dims and name not in LEVELS]
    return (*dims, *(level for level in LEVELS if level in array.dims)) if levels is None and dims else levels


def _named(by: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the factors that are named."""
    return () if by is None else check_names(by, "by")


def factors_of(times: Data, data: Timings, place: int, by: str | Sequence[str] | None) -> Asked:
    """Return the factors asked about; default: levels with repetitions inside, their orders, and coordinates that may say something."""
    nest, sizes = data.levels[: place + 1], data.array.sizes
    blank = xr.DataArray(np.zeros([sizes[level] for level in nest]), dims=nest)
    levels = [level for level, below in pairwise(nest) if min(sizes[level], sizes[below]) > 1]
    orders = [level + ORDER for level in nest if sizes[level] > 2] or [nest[-1] + ORDER]
    said = {str(name): own for name, own in data.array.coords.items() if _says(str(name), own, data)}
    if isinstance(times, xr.Dataset):
        said |= {name: times[name] for name in _named(by) if name in times.data_vars and name != data.array.name}
    found: dict[str, Carried | None] = {}
    for name in _named(by) or [*levels, *orders, *(name for name in said if name not in orders)]:
        level = name.removesuffix(ORDER)
        if name in said:
            found[name] = _carried(said[name], nest, blank, asked=by is not None)
        elif name in nest[:-1]:
            found[name] = _units(data.array, nest, nest.index(name), blank)
        elif level in nest and level != name:
            axes = [1] * (len(nest) - nest.index(level) - 1)
            found[name] = Carried(blank + np.arange(sizes[level]).reshape(-1, *axes), None, nest.index(level))
        else:
            raise ValueError(_unknown(name, nest, [*levels, *orders, *said]))
    return _numbered({name: carried for name, carried in found.items() if carried is not None}, nest)


def _unknown(name: str, nest: tuple[str, ...], known: list[str]) -> str:
    """Say why a factor cannot be asked about, and what can."""
    if name == nest[-1]:
        return f"by={name!r}: every run is of another {name}; ask for {name + ORDER!r}, or give as value= a level inside it"
    return f"by={name!r} is nothing that runs differ in; there is {listed(dict.fromkeys(known))}"


def _says(name: str, coordinate: xr.DataArray, data: Timings) -> bool:
    """Return whether a coordinate may say something of repetitions: it lies along levels, and is neither their labels nor a mark."""
    return name not in (*data.array.dims, *MARKS, CENSORED_AT) and any(dim in data.levels for dim in coordinate.dims)


def _units(array: xr.DataArray, nest: tuple[str, ...], at: int, blank: xr.DataArray) -> Carried:
    """Return the units of a level, named with those they lie inside; what changes places between them are the units of the next level."""
    shape = blank.shape[: at + 1]
    codes = np.arange(np.prod(shape, dtype=int)).reshape(*shape, *[1] * (blank.ndim - at - 1))
    named = [[str(label) for label in array[level].values.tolist()] for level in nest[: at + 1]]
    labels = ("/".join(own[place] for own, place in zip(named, index, strict=True)) for index in np.ndindex(*shape))
    return Carried(blank + codes, tuple(labels), at)


def _carried(said: xr.DataArray, nest: tuple[str, ...], blank: xr.DataArray, *, asked: bool) -> Carried | None:
    """Return what a coordinate says, numbers averaged over what lies below a run; None where nobody asked and it can say nothing."""
    array = said.reset_coords(drop=True).drop_vars(said.dims, errors="ignore")
    below = [str(dim) for dim in array.dims if dim in LEVELS and dim not in nest]
    number = array.dtype.kind in "iuf"
    if below and not number:
        if asked:
            text = f"by={said.name!r} differs among the {plural(below[-1])} of a run, and is no number that could be averaged"
            raise ValueError(f"{text}; give value={below[-1]!r}, which makes every one of them a run")
        return None
    array = array.mean(below) if below else array
    if is_chunked(array) and number:  # which is not looked at
        place = max((nest.index(str(dim)) for dim in array.dims if dim in nest), default=0)
        return Carried(array.broadcast_like(blank), None, place)
    numbers, distinct = _factorized(array)
    codes = array.copy(data=np.where(numbers < 0, np.nan, numbers)).broadcast_like(blank).transpose(..., *nest)
    place = next(at for at in range(len(nest)) if not _differs(codes.values, len(nest) - at - 1))
    few = len(distinct) <= FEW_VALUES and 2 * len(distinct) <= (numbers >= 0).sum()
    if array.dtype.kind in "iufM" and not few:
        return Carried(codes, None, place)
    units = np.prod([blank.sizes[level] for level in nest[: place + 1]])
    if not asked and not 1 < len(distinct) <= units // 2:  # one label, or nearly every unit its own
        return None
    return Carried(codes, tuple(f"{label:g}" if isinstance(label, float) else str(label) for label in distinct), place)


def _factorized(array: xr.DataArray) -> tuple[Any, Any]:
    """Return the place of every value among the different ones in their order, -1 where it is not known, and these."""
    values = array.values
    if values.dtype.kind not in "iufM":
        texts = values.astype(str).astype(object)
        texts[pd.isna(values) | (texts == UNKNOWN)] = None
        values = texts
    numbers, distinct = pd.factorize(values.ravel(), sort=True)
    return numbers.reshape(values.shape), distinct


def _differs(codes: Any, below: int) -> bool:
    """Return whether codes differ over the last axes inside any unit."""
    flat = codes.reshape(*codes.shape[: codes.ndim - below], -1)
    return bool((np.fmax.reduce(flat, axis=-1) > np.fmin.reduce(flat, axis=-1)).any())


def _numbered(found: dict[str, Carried], nest: tuple[str, ...]) -> Asked:
    """Number the labels of all factors in one sequence, in which a label that several have stands once."""
    ranked = any(carried.labels is None for carried in found.values())
    labels = {label: place for place, label in enumerate(QUARTER_LABELS if ranked else ())}
    factors, codes = {}, []
    for name, (own, named, place) in found.items():
        stream = int(label_hashes(np.array([name], dtype=object))[0] & np.uint64(2**32 - 1))
        factors[name] = Factor(place + (name in nest), place, named is None, stream)
        if named is not None:
            places = np.array([labels.setdefault(label, len(labels)) for label in named], dtype=float)
            own = own.copy(data=np.where(own.isnull(), np.nan, places[own.fillna(0).astype(int)]))
        codes.append(own)
    return Asked(factors, tuple(codes), tuple(labels))
