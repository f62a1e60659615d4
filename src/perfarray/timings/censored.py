"""Runs that were stopped at a limit count as at least that limit.

The limit stands in place of the run, and the coordinate `censored` of a resolved array says where.
Whatever rises as values rise (a mean, a rank, a quantile) is then a bound of what it would have
been: E[min(X, limit)] is at most E[X], so that a test of the former is a test of the latter,
one-sided, at its own level.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import xarray as xr

from perfarray.conventions import CENSORED, CENSORED_AT, LOWER
from perfarray.numerics.intervals import AT_LEAST, AT_MOST, BOUNDED, ONE_PIECE, UNBOUNDED
from perfarray.timings.apply import is_chunked
from perfarray.timings.notes import Note
from perfarray.timings.validation import number_of

# What to do with stopped runs: count them as their limit, or leave them out
CHOICES = ("bound", "drop")


def with_limits(array: xr.DataArray, mask: xr.DataArray) -> xr.DataArray:
    """Return the array with its limit in place of every stopped run, and marks of these.

    The limit is the coordinate `censored_at`, else the value that the run has; where neither is,
    the place is NaN and its mark stays.
    """
    limit = array.coords.get(CENSORED_AT)
    array = array.drop_vars(CENSORED_AT, errors="ignore")
    bounds = array if limit is None else limit.reset_coords(drop=True).astype(float).fillna(array)
    filled = array.where(~mask, bounds).transpose(*array.dims).assign_attrs(array.attrs)
    return filled.assign_coords({CENSORED: mask.variable})


# The consequence for a ratio of means
ONLY_WORSE = (
    "The stopped side is never called better or equivalent. The limit towards what is not known "
    "is open. Nothing is concluded where both sides were stopped"
)


class Bounds(NamedTuple):
    """Whether the value of each cell is only a bound, because of stopped runs."""

    at_least: xr.DataArray
    at_most: xr.DataArray

    @property
    def words(self) -> xr.DataArray:
        """The kind of each estimate: `exact`, `at_least`, `at_most` or `unknown`."""
        bound: xr.DataArray = xr.where(
            self.at_least, AT_LEAST, xr.where(self.at_most, AT_MOST, "exact")
        )
        return bound.where(~(self.at_least & self.at_most), "unknown").astype(object)

    def over(self, dim: str) -> "Bounds":
        """Return the bounds of a mean along a dim."""
        return Bounds(*(side.any(dim) if dim in side.dims else side for side in self))


def bounds_of(array: xr.DataArray, levels: tuple[str, ...], better: str) -> Bounds:
    """Return the bounds that stopped runs leave of the means of an array's cells.

    A stopped time is at least its limit, a rate of a stopped run at most; of a run without a limit
    nothing is known.
    """
    at_limit = array.coords[CENSORED].reset_coords(drop=True)
    missing = (at_limit & array.isnull()).reset_coords(drop=True)
    at_limit, missing = (
        mask.any([dim for dim in levels if dim in mask.dims]) for mask in (at_limit, missing)
    )
    return Bounds(at_limit, missing) if better == LOWER else Bounds(missing, at_limit)


def no_bounds(array: xr.DataArray, levels: tuple[str, ...]) -> Bounds:
    """Return the bounds of an array without stopped runs."""
    like = xr.zeros_like(
        array.isel(dict.fromkeys(levels, 0), drop=True).reset_coords(drop=True), dtype=bool
    )
    return Bounds(like, like)


def ratio_bounds(new: Bounds, old: Bounds) -> Bounds:
    """Return the bounds of the ratio of two means."""
    return Bounds(new.at_least | old.at_most, new.at_most | old.at_least)


def bound_interval(
    result: xr.Dataset,
    bounds: Bounds,
    *,
    lowest: float | xr.DataArray = -np.inf,
    null: float | None = None,
    alternative: str = "two-sided",
) -> xr.Dataset:
    """Open the limits of an interval towards unknown values.

    An estimate that is not a bound becomes NaN.

    Parameters
    ----------
    result : Dataset
        With `estimate` and what there is of `lower`, `upper`, `kind` and `pvalue`.
    bounds : Bounds
        Of its cells.
    lowest : float or DataArray
        The least value there is, of all cells or of each.
    null : float, optional
        The value that `pvalue` tests: of a side that is not known it is 1.
    alternative : str
        What `pvalue` tests it against.
    """
    bound = (bounds.at_least | bounds.at_most) & result["estimate"].notnull()
    kind = result.data_vars.get("kind", xr.full_like(result["estimate"], BOUNDED, dtype=object))
    broken = ~kind.isin(ONE_PIECE)
    below = bound & (bounds.at_most | broken | (kind == AT_MOST))
    above = bound & (bounds.at_least | broken | (kind == AT_LEAST))
    changed = {"estimate": result["estimate"].where(~(bounds.at_least & bounds.at_most))}
    if "lower" in result.data_vars:
        changed["lower"] = result["lower"].where(~below | result["lower"].isnull(), lowest)
        changed["upper"] = result["upper"].where(~above | result["upper"].isnull(), np.inf)
    if "kind" in result.data_vars:
        # Of too few units there is no set.
        below, above = (side & result["lower"].notnull() for side in (below, above))
        changed["kind"] = xr.where(
            below & above, UNBOUNDED, xr.where(below, AT_MOST, xr.where(above, AT_LEAST, kind))
        )
    if null is not None:
        two_sided = xr.where(result["estimate"] > null, below, above)
        wrong = {"less": above, "greater": below}.get(alternative, two_sided) | (below & above)
        changed["pvalue"] = result["pvalue"].where(~wrong | result["pvalue"].isnull(), 1.0)
    order = {
        name: variable.transpose(*result[name].dims).astype(result[name].dtype)
        for name, variable in changed.items()
    }
    return result.assign(
        {name: variable.assign_attrs(result[name].attrs) for name, variable in order.items()}
    )


def left_out_note(number: int) -> Note:
    """Return the note that stopped runs are left out, and whom that favours."""
    runs, are = (
        ("1 run that was", "is")
        if number == 1
        else (f"{number or ''} runs that were".lstrip(), "are")
    )
    text = (
        f"{runs} stopped at a limit (censored) {are} left out. The answer is of runs that ended, "
        "and is too good."
    )
    return Note("censored", text, {"runs": number})


def without_limit(array: xr.DataArray) -> int:
    """Return the number of stopped runs without a limit; 0 for lazy data."""
    if CENSORED not in array.coords or is_chunked(array) or is_chunked(array.coords[CENSORED]):
        return 0
    return int((array.isnull() & array.coords[CENSORED]).sum())


def stopped_note(numbers: Mapping[str, int], unlimited: int, better: str, consequence: str) -> Note:
    """Return the note on how many runs were stopped, what they count as, and the consequence.

    Lazy marks are not counted.

    Of means that rest on runs whose limit is not known, some `unlimited` ones, nothing is known at
    all.
    """
    sides = [
        f"{number_of(number, 'run')}{'' if name == 'runs' else f' of the {name}'}"
        for name, number in numbers.items()
        if number
    ]
    is_one_run = sum(numbers.values()) == 1
    text = (
        f"{' and '.join(sides) or 'runs'} {'was' if is_one_run else 'were'} stopped at a limit and "
        f"count{'s' if is_one_run else ''} as "
    )
    text += f"{'at least' if better == LOWER else 'at most'} that. "
    if unlimited:
        text += (
            f"{unlimited} {'has' if unlimited == 1 else 'have'} no limit ({CENSORED_AT}, or the "
            "value of the run): nothing is known of their means. "
        )
    return Note(
        "censored",
        f"{text}{consequence}.",
        {**numbers, "unlimited": unlimited} if unlimited else dict(numbers),
    )
