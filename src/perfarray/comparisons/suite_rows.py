"""What a suite row does not show: a factor common to all benchmarks, and rows that differ."""

from typing import Final

import numpy as np
import xarray as xr

from perfarray.comparisons.numerics.shifts import MANY, CommonShift, common_shift
from perfarray.conventions import INTERVAL_LEVEL, OF_MACHINES
from perfarray.timings.notes import Note, check
from perfarray.timings.validation import listed

SUITE_ROW: Final = "suite_row"  # the check of both
COMMON_SHIFT: Final = "common_shift"
ROWS_DIFFER: Final = "rows_differ"
EXAMPLES: Final = 2  # controls that the note proposes


@check(SUITE_ROW)
def suite_row_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Return the notes on the rows beneath the suite rows of a comparison."""
    across = [dim for dim in result["estimate"].dims if dim not in result["suite_estimate"].dims]
    if len(across) != 1 or result.sizes[across[0]] < 2:
        return ()
    # Such a factor is the answer, or the ratios are relative to it.
    if result.attrs.get("dim") in OF_MACHINES or "control_estimate" in result.data_vars:
        return (_rows_differ_note(result),)
    return _common_shift_note(result, str(across[0])), _rows_differ_note(result)


def shifts_of(result: xr.Dataset, across: str) -> CommonShift:
    """Return the common shift of the benchmarks of every suite row, from their intervals."""
    from scipy.special import stdtrit

    names = ("estimate", "lower", "upper", "df", INTERVAL_LEVEL)
    estimate, lower, upper, df, level = (
        result.variables[name].transpose(..., across).values for name in names
    )
    df = np.where(np.isnan(df), MANY, np.minimum(df, MANY))  # of order statistics and the bootstrap
    with np.errstate(divide="ignore", invalid="ignore"):
        return common_shift(
            np.log(estimate), np.log(upper / lower) / (2 * stdtrit(df, (1 + level) / 2)), df
        )


def _common_shift_note(result: xr.Dataset, across: str) -> Note | None:
    """Return the note that most benchmarks moved by one factor.

    Of several comparisons it has the largest.
    """
    from scipy.special import stdtrit

    shifts = shifts_of(result, across)
    if not shifts.common.any():
        return None
    index = np.unravel_index(
        np.argmax(np.where(shifts.common, np.abs(shifts.shift), -1.0)), shifts.common.shape
    )
    shift, error, freedom, moved = (float(field[index]) for field in shifts[:4])
    half_width = error * stdtrit(freedom, (1 + float(result.attrs["confidence_level"])) / 2)
    factor, low, high = (
        float(np.exp(end)) for end in (shift, shift - half_width, shift + half_width)
    )
    number = int(result["estimate"].transpose(..., across).notnull().values[index].sum())
    subject = (
        f"All {number} benchmarks" if moved == number else f"{moved:.0f} of {number} benchmarks"
    )
    of = int(result["estimate"].notnull().any(across).sum())
    several = (
        f" in {int(shifts.common.sum())} of {of} comparisons, in one of them" if of > 1 else ""
    )
    text = (
        f"{subject} moved by one factor{several}: {factor:.4g} ({low:.4g} to {high:.4g}). "
        "Another machine, load or setting does this, "
        "too, and changes of a program seldom do. Measure both sides in turns."
    )
    # Which of them the change cannot touch is known to the user alone.
    names = result[across].values[shifts.alike[index]].tolist() if across in result.coords else []
    if names:
        some = listed(names[:EXAMPLES])
        text += f" Or name benchmarks that the change cannot touch, as in controls=[{some}]."
    values = {
        "factor": factor,
        "lower": low,
        "upper": high,
        "benchmarks": int(moved),
        "of": number,
        "controls": names,
    }
    return Note(COMMON_SHIFT, text, values, aside=True)


def _rows_differ_note(result: xr.Dataset) -> Note | None:
    """Return the note on benchmarks that changed beneath a suite row that is equivalent."""
    equivalent, verdicts = (
        result.variables["suite_verdict"] == "equivalent",
        result.variables["verdict"],
    )
    numbers = {
        verdict: int(((verdicts == verdict) & equivalent).sum()) for verdict in ("slower", "faster")
    }
    if not any(numbers.values()):
        return None
    counts = ", ".join(f"{number} {verdict}" for verdict, number in numbers.items() if number)
    rows = f"{int(equivalent.sum())} suite rows are" if equivalent.sum() > 1 else "The suite row is"
    text = (
        f"{rows} equivalent, with {counts} beneath. The mean over the benchmarks hides changes "
        "that cancel."
    )
    return Note(ROWS_DIFFER, text, {**numbers, "suites": int(equivalent.sum())}, aside=True)
