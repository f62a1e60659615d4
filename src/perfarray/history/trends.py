"""The slow drift of a metric along a history, separated from its steps."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from perfarray.conventions import plural
from perfarray.history.numerics.trends import log_slopes
from perfarray.history.order import dates_along, resolve_history
from perfarray.numerics.types import Floats
from perfarray.numerics.verdicts import INCONCLUSIVE
from perfarray.timings.apply import Output, apply, outputs
from perfarray.timings.metrics import for_each_metric
from perfarray.timings.notes import Note, check, count_note, with_notes
from perfarray.timings.resolve import Data, decline_zeros
from perfarray.timings.validation import check_confidence_level, check_threshold
from perfarray.timings.zeros import Positive

SECONDS_PER_YEAR = 365.2425 * 86400

# With fewer commits, a line shows no noise.
NEEDED = 3

# With so many steps found in a series, some of them may be slope.
STEPS = 2


@for_each_metric
def trend(
    times: Data,
    *,
    dim: str = "commit",
    changes: xr.Dataset | None = None,
    order: Any = None,
    threshold: float = 0.0,
    confidence_level: float = 0.95,
    levels: str | tuple[str, ...] | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Estimate the slow drift of a metric along a history, separated from its steps.

    Parameters
    ----------
    times : DataArray or Dataset
        Positive timings; repetitions of a commit are averaged, other dims broadcast.
    dim : str
        The history: commits, builds, or dates (datetime64, or texts such as 2026-03-01).
    changes : Dataset, optional
        The result of `change_points`, whose segments have a mean each. Default: steps are estimated
        together with the slope.
    order : str or array, optional
        What sorts the labels, as in `change_points`.
    threshold : float
        A relative slope, a commit or a year, that does not matter.
    confidence_level : float
        Of limits and verdicts.
    levels, metric : str or sequence of str, optional
        The nest, outermost first (default: the levels present); the variables (default: `time`).

    Returns
    -------
    Dataset
        For each series `slope`, the factor for one label along `dim` (1.02: 2 % more), or for a
        year of dates (attr `per`); `lower`, `upper`; `pvalue` of "no slope beyond the threshold";
        `verdict`; `total`, last / first by the slope alone; `n` commits; `correlation` of
        neighbouring residuals; `stepped`, whether steps alone describe the series as well. Along
        `dim`, `segment`. All have unit 1. Series with stopped runs have no limits.

    Raises
    ------
    ValueError
        Unknown names; labels that repeat or have no order; values that are not positive.

    Notes
    -----
    With fewer than nine commits, no steps are estimated. Beside several steps, limits cover less
    than their level: see :doc:`/how-to/history`.

    References
    ----------
    A. Zellner, G. Tiao, "Bayesian analysis of the regression model with autocorrelated errors",
    JASA 59, 1964.

    Examples
    --------
    >>> import numpy as np, xarray as xr, perfarray
    >>> runs = np.random.default_rng(1).normal(10.0, 0.1, size=(40, 3))
    >>> runs[25:] *= 1.2
    >>> runs *= 1.002 ** np.arange(40)[:, None]
    >>> result = xr.DataArray(runs, dims=("commit", "execution")).perf.trend()
    >>> round(result["slope"].item(), 3), result["verdict"].item(), int(result["segment"].max())
    (1.002, 'slower', 1)
    """
    level, margin = check_confidence_level(confidence_level), check_threshold(threshold)
    data, labels, in_time = resolve_history(times, dim, metric, levels, order)
    segments = []
    if changes is not None:
        stored = data.array.isel({dim: in_time.ranks})
        segments = [_segments(changes, stored, dim).isel({dim: in_time.positions})]
    data = decline_zeros(data, Positive("a slope of logs", level=1), (dim,))
    positions, per = _positions(data.array, dim)
    kernel = partial(
        log_slopes,
        levels=len(data.levels),
        positions=positions,
        confidence_level=level,
        band=(1 - margin, 1 + margin),
        better=data.better,
    )
    result = apply(
        kernel,
        data.array,
        *segments,
        core=[[dim, *data.levels], *[[dim]] * len(segments)],
        outputs=outputs("1", slope=f"factor a {per}", lower="", upper="", pvalue="")
        | {"verdict": Output((), "", object)}
        | outputs(
            "1",
            total="last / first by the slope",
            n=f"{plural(dim)} measured",
            correlation="of neighbours",
        )
        | {"stepped": Output((), "", bool, "steps alone may explain it")}
        | {"segment": Output((dim,), "", float, "number of the segment")},
        coords={dim: labels},
        attrs=data.describe()
        | {
            "result": "trend",
            "dim": dim,
            "per": per,
            "better": data.better,
            "threshold": margin,
            "confidence_level": level,
        }
        | {"order": in_time.by, "steps": "given" if segments else "found"},
    )
    if dim not in data.array.coords:
        result = result.drop_vars(dim)
    result = result.isel({dim: in_time.ranks})
    limit_note = None
    if data.bounded:
        bounded = (data.bounds.at_least | data.bounds.at_most).any(dim)
        unknown = dict.fromkeys(("lower", "upper", "pvalue"), np.nan) | {"verdict": INCONCLUSIVE}
        for name, value in unknown.items():
            result[name] = result[name].where(~bounded, value).assign_attrs(result[name].attrs)
    if data.n_stopped:
        limit_note = data.stopped_note("Slopes of these series have no limits and no verdict")
    return with_notes(result, *data.notes, *in_time.notes, limit_note, checks=("trend",))


def _positions(array: xr.DataArray, dim: str) -> tuple[Floats, str]:
    """Return the positions of labels, in years where they are dates, and the unit of the slope."""
    try:
        dates = dates_along(array, dim, dim)
    except ValueError:  # of dates that can be read in two ways, order= may say the order
        dates = pd.Series([pd.NaT])
    if dates.isna().any():
        return np.arange(array.sizes[dim], dtype=float), dim
    return ((dates - dates.min()).dt.total_seconds() / SECONDS_PER_YEAR).to_numpy(), "year"


def _segments(changes: xr.Dataset, array: xr.DataArray, dim: str) -> xr.DataArray:
    if (
        not isinstance(changes, xr.Dataset)
        or "segment" not in changes
        or dim not in changes["segment"].dims
    ):
        raise ValueError(
            f"changes= has no segments along {dim!r}. Give the result of change_points(times, "
            f"dim={dim!r})."
        )
    segment = changes["segment"]
    labelled = dim in array.coords
    if segment.sizes[dim] != array.sizes[dim] or (
        labelled and not segment.indexes[dim].equals(array.indexes[dim])
    ):
        raise ValueError(
            f"changes= has other labels along {dim!r} than the timings. Find them in the same "
            "timings."
        )
    return segment.reset_coords(drop=True).astype(float)


@check("trend")
def trend_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Count series that are too short, that do not vary, or that have several steps."""
    dim, n, no_slope = str(result.attrs["dim"]), result["n"], np.isnan(result["slope"].values)
    commits = plural(dim)
    short = (
        f"{{cells}} have fewer than {NEEDED} {commits} with data. They have no slope. Measure more."
    )
    constant = (
        f"{{cells}} do not vary, or have no two {commits} in one segment. They have no slope. "
        f"Measure more {commits}."
    )
    stairs = (
        f"{{cells}} have two steps or more, found in the same {commits}, and some may be slope. "
        "Nominal 95 % limits hold the slope in 74 to 97 % of such histories. "
        "Give changes= where the steps are known, or select a stretch without steps."
    )
    stepped = (
        "In {cells} one or two steps explain as much as the slope. The limits include 1. "
        f"Measure more {commits}, or give changes= where the steps are known."
    )
    is_short, has_stairs = n.values < NEEDED, result["segment"].max(dim).values >= STEPS
    return (
        count_note("few_commits", short, is_short, "series", needed=NEEDED),
        count_note("few_commits", constant, no_slope & ~is_short, "series", needed=NEEDED),
        count_note(
            "slope_or_steps", stairs, has_stairs & (result.attrs["steps"] == "found"), "series"
        ),
        count_note("slope_or_steps", stepped, result["stepped"].values.astype(bool), "series"),
    )
