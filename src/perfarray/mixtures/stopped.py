"""Probabilities of data with stopped runs: what they are at least and at most, whatever those runs would have taken."""

from collections.abc import Callable, Hashable, Mapping
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from perfarray.conventions import CENSORED, LOWER
from perfarray.mixtures.numerics.metrics import MIXTURE
from perfarray.mixtures.systems import Systems
from perfarray.timings.apply import Output
from perfarray.timings.censored import stopped_note
from perfarray.timings.notes import collecting, noted
from perfarray.timings.pairs import WORST
from perfarray.timings.resolve import Timings

CONSEQUENCE = "a probability that hangs on what they would have taken is NaN, between `at_least` and `at_most`"


UNFITTED = "a mixture is of runs that ended, so that its answers are NaN where others were stopped; method='empirical' bounds them"


class Formula(NamedTuple):
    """What is asked of systems: the arguments of `Systems.compute`."""

    kernel: Callable[..., Any]
    outputs: Mapping[str, Output]
    attrs: Mapping[str, Hashable]
    checks: tuple[str, ...]
    along: tuple[str, ...] = ()


def of_stopped(systems: Systems, formula: Formula) -> xr.Dataset:
    """Compare systems of which runs were stopped: between the bounds that runs allow; mixtures are compared where there are none."""
    if systems.comparison.method == MIXTURE:
        return _where_all_ended(systems, formula)
    return _fastest_within(systems, formula) if formula.along else _faster_within(systems, formula)


def _where_all_ended(systems: Systems, formula: Formula) -> xr.Dataset:
    """Compare the mixtures of the runs that ended; NaN where others did not."""
    stopped = [side.array.coords[CENSORED].reset_coords(drop=True) for side in systems.sides if side.bounded]
    arrays = [side.array.where(~side.array.coords[CENSORED]) if side.bounded else side.array for side in systems.sides]
    result = _asked(systems, formula, tuple(arrays))
    some = reduce(or_, (mask.any([dim for dim in (*formula.along, *systems.data.levels) if dim in mask.dims]) for mask in stopped))
    names = ("estimate", "lower", "upper", "tied")
    masked = {name: result[name].where(~some).assign_attrs(result[name].attrs) for name in names}
    return _told(result.assign(masked), systems, formula, UNFITTED)


def _faster_within(systems: Systems, formula: Formula) -> xr.Dataset:
    """Compare with the candidate's stopped runs at their worst and the baseline's at their best, and the other way round."""
    new, old = systems.sides
    least, most = (
        _asked(systems, formula, (_placed(new, worst), _placed(old, not worst)))  # one after the other, in the memory of one
        for worst in (True, False)
    )
    return _between(least, most, systems, formula)


def _fastest_within(systems: Systems, formula: Formula) -> xr.Dataset:
    """Compare, for each system, with its own stopped runs at their worst and all others at their best, and the other way round."""
    (dim,), side = formula.along, systems.data
    found = []
    for worst in (True, False):
        rows = []
        for place in range(side.array.sizes[dim]):
            own = xr.DataArray(np.arange(side.array.sizes[dim]) == place, dims=dim)
            answer = _asked(systems, formula, (_placed(side, own if worst else ~own),))
            rows.append(answer.isel({dim: [place]}))
        found.append(xr.concat(rows, dim, data_vars="all", coords="minimal", compat="override", combine_attrs="override"))
    least, most = (part.assign(tied=part["tied"].isel({dim: 0}, drop=True)) for part in found)
    same = (found[0]["tied"] == least["tied"]).all(dim)
    return _between(least.assign(tied=least["tied"].where(same)), most, systems, formula)


def _placed(side: Timings, worst: Any) -> xr.DataArray:
    """Return timings with stopped runs at their worst where asked for; elsewhere at their limit, or at the best there is without one."""
    array = side.array
    if not side.bounded:
        return array
    far, near = (WORST, 1 / WORST) if side.better == LOWER else (1 / WORST, WORST)
    stopped = array.coords[CENSORED].reset_coords(drop=True)
    missing = stopped & array.isnull().reset_coords(drop=True)
    placed = array.where(~missing, near).where(~(stopped & worst), far)
    return placed.transpose(*array.dims).assign_attrs(array.attrs)


def _asked(systems: Systems, formula: Formula, arrays: tuple[xr.DataArray, ...]) -> xr.Dataset:
    """Compute with other arrays; what there is to say is said once, at the end."""
    with collecting():
        return systems._replace(arrays=arrays).compute(formula.kernel, formula.outputs, formula.attrs, (), formula.along)


def _between(least: xr.Dataset, most: xr.Dataset, systems: Systems, formula: Formula) -> xr.Dataset:
    """Return the limits of both bounds, and an estimate where they agree."""
    known = least["estimate"] == most["estimate"]
    changed = {
        "estimate": least["estimate"].where(known),
        "upper": most["upper"],
        "tied": least["tied"].where(least["tied"] == most["tied"]),
        "at_least": least["estimate"],
        "at_most": most["estimate"],
    }
    result = least.assign({name: variable.assign_attrs(least["estimate"].attrs) for name, variable in changed.items()})
    result["tied"].attrs = most["tied"].attrs
    return _told(result, systems, formula, CONSEQUENCE)


def _told(result: xr.Dataset, systems: Systems, formula: Formula, consequence: str) -> xr.Dataset:
    """Say how many runs were stopped, and what follows."""
    names = ("candidate", "baseline") if len(systems.sides) == 2 else ("runs",)
    numbers = {name: side.n_stopped for name, side in zip(names, systems.sides, strict=True)}
    return noted(result, *systems.notes, stopped_note(numbers, 0, systems.data.better, consequence), checks=formula.checks)
