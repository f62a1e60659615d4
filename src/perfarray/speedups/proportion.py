"""The proportion of accelerated benchmarks, its limits, and how many benchmarks it takes."""

from typing import Final

import numpy as np
import xarray as xr

from perfarray.conventions import BENCHMARK
from perfarray.numerics.proportions import proportion_limits
from perfarray.numerics.types import Floats
from perfarray.speedups.numerics.proportion import benchmarks_needed
from perfarray.timings.apply import Output, apply, outputs
from perfarray.timings.notes import with_notes
from perfarray.timings.resolve import check_dim
from perfarray.timings.validation import (
    check_choice,
    check_confidence_level,
    check_number,
    check_share,
)

METHODS = ("wilson", "exact", "wald")

VALID_ABOVE: Final = 5.0  # the normal approximation is accurate where a (1 - a/b) is above this

SEARCH_RISK: Final = 0.5  # the risk up to which a search for a level goes

REMARKS: Final = {
    "remark_risk": (
        "counts rejections: without any effect, about risk x benchmarks of them are counted "
        "all the same (`by_chance`)"
    ),
    "remark_selection": (
        "holds for benchmarks drawn at random from those it is to speak of; a suite chosen by "
        "hand is not"
    ),
}


def accelerated_proportion(
    significant: xr.DataArray | xr.Dataset,
    *,
    confidence_level: float = 0.95,
    across: str = BENCHMARK,
    method: str = "wilson",
) -> xr.Dataset:
    """Estimate the proportion of programs that are accelerated.

    Parameters
    ----------
    significant : DataArray or Dataset
        Which benchmarks are accelerated, bool (or 0, 1 and NaN); or a result of `speedup_test`.
    confidence_level : float
        Of the interval.
    across : str
        The dim of the benchmarks.
    method : {"wilson", "exact", "wald"}
        Wilson's interval with continuity correction (R's `prop.test`); Clopper and Pearson's, never
        short of the level; or the plain one, short of it for few benchmarks.

    Returns
    -------
    Dataset
        `estimate` = a / b, `lower`, `upper`, `n` = b, `accelerated` = a, `reliable` (bool: a (1 -
        a/b) > 5, the paper's condition), `by_chance`, the rejections expected without any effect
        (of a result of `speedup_test`). The attrs `remark_risk` and `remark_selection` say what the
        proportion does not.

    Raises
    ------
    ValueError
        Values other than 0 and 1; unknown dims or methods.

    References
    ----------
    S. Touati, J. Worms, S. Briais, "The Speedup Test", 2010, section 5.

    Examples
    --------
    Example 3 of the paper: 17 of 30, 90 %: 0.4027157 to 0.7184049.

    >>> import perfarray, xarray
    >>> significant = xarray.DataArray([True] * 17 + [False] * 13, dims="benchmark")
    >>> result = perfarray.accelerated_proportion(significant, confidence_level=0.9)
    >>> [round(result[name].item(), 7) for name in ("lower", "upper")], result["reliable"].item()
    ([0.4027157, 0.7184049], True)
    """
    check_choice(method, "method", METHODS)
    level = check_confidence_level(confidence_level)
    flags, risk = _flags(significant)
    check_dim(flags, across)

    def kernel(values: Floats, risks: Floats) -> tuple[np.ndarray, ...]:
        has_outcome = ~np.isnan(values)
        if not np.isin(values[has_outcome], (0.0, 1.0)).all():
            raise ValueError(
                "significant holds values other than True and False (0 and 1, NaN where "
                "nothing is known)"
            )
        a, b = (
            np.where(has_outcome, values, 0.0).sum(axis=-1),
            has_outcome.sum(axis=-1).astype(float),
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            reliable = a * (1 - a / b) > VALID_ABOVE
        return (
            *proportion_limits(a, b, level, method),
            b,
            a,
            reliable,
            np.where(has_outcome, risks, 0.0).sum(axis=-1),
        )

    result = apply(
        kernel,
        flags,
        risk,
        core=[(across,), (across,)],
        outputs=outputs(
            estimate="proportion of accelerated benchmarks", lower="", upper="", n="benchmarks"
        )
        | outputs(accelerated="accelerated benchmarks")
        | {"reliable": Output((), "", bool)}
        | outputs(by_chance="rejections to be expected without any effect"),
        attrs={
            "result": "accelerated_proportion",
            "method": method,
            "confidence_level": level,
            "across": across,
        }
        | REMARKS,
    )
    return with_notes(result)


def _flags(significant: xr.DataArray | xr.Dataset) -> tuple[xr.DataArray, xr.DataArray]:
    """Return 1, 0 or NaN per benchmark, and the risk at which each was tested (NaN: not known)."""
    if isinstance(significant, xr.DataArray):
        if significant.dtype.kind not in "biuf":
            raise ValueError(f"significant holds {significant.dtype} values; give True and False")
        flags = significant.astype(float)
        return flags, xr.full_like(flags, np.nan)
    if not isinstance(significant, xr.Dataset) or not {
        "significant",
        "confidence_level",
        "searched",
        "n",
    } <= set(significant.data_vars):
        raise ValueError(
            "significant must be a DataArray of True and False, or a result of speedup_test"
        )
    measured = significant["n"] > 0
    risk = xr.where(significant["searched"], SEARCH_RISK, 1 - significant["confidence_level"])
    return significant["significant"].astype(float).where(measured), risk


def required_benchmarks(
    proportion: float, *, precision: float = 0.05, confidence_level: float = 0.95
) -> int:
    """Return how many random benchmarks give the accelerated proportion with a half-width.

    Parameters
    ----------
    proportion : float
        The proportion expected, from 0 to 1; 0.5 needs most.
    precision : float
        Half-width of the interval to be reached.
    confidence_level : float
        Between 0 and 1.

    Returns
    -------
    int
        z^2 C (1 - C) / r^2, rounded up. At a proportion of 0 or 1 the formula gives 0, which is no
        plan: the normal approximation it rests on has no width there; plan with a proportion nearer
        to 0.5.

    Raises
    ------
    ValueError
        Arguments out of range.

    References
    ----------
    S. Touati, J. Worms, S. Briais, "The Speedup Test", 2010, section 5, example 4.

    Examples
    --------
    >>> import perfarray
    >>> perfarray.required_benchmarks(17 / 30)
    378
    """
    share = check_number(proportion, "proportion")
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"proportion={proportion!r} is out of range; give a number from 0 to 1")
    half_width = check_share(precision, "precision", example="0.05")
    return benchmarks_needed(share, half_width, check_confidence_level(confidence_level))
