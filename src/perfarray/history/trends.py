"""Slow drift along a history, apart from its steps."""

from functools import partial

import numpy as np
import pandas as pd
import xarray as xr

from perfarray.conventions import plural
from perfarray.history.numerics.trends import Question, log_slopes
from perfarray.history.order import history_labels
from perfarray.numerics.types import Floats
from perfarray.numerics.verdicts import INCONCLUSIVE
from perfarray.timings.apply import Output, apply, outputs
from perfarray.timings.metrics import over_metrics
from perfarray.timings.notes import Note, check, count_note, noted
from perfarray.timings.resolve import Data, resolve
from perfarray.timings.validation import check_confidence_level, check_threshold

SECONDS = 365.2425 * 86400
"""Of a year."""

DAY = r"\d{4}-\d{2}-\d{2}"
"""How labels begin that are dates."""

NEEDED = 3
"""Commits without which a line shows no noise."""

STEPS = 2
"""Steps found in a series from which on some of them may be slope."""


@over_metrics
def trend(
    times: Data,
    *,
    dim: str = "commit",
    changes: xr.Dataset | None = None,
    threshold: float = 0.0,
    confidence_level: float = 0.95,
    levels: str | tuple[str, ...] | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Estimate the slow drift of a metric along a history, apart from its steps: by what every commit, or a year, multiplies it.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings, positive ones. What was measured of one commit is averaged; every other dim broadcasts.
    dim : str
        What runs along a history, in the order stored: commits, builds, or dates (of kind datetime64, or texts such as 2026-03-01).
    changes : Dataset, optional
        What `change_points` found in the same timings: the slope is that inside its segments, of which each has a height of its own.
        Default: steps are looked for beside the slope.
    threshold : float
        A slope that does not matter, a step or a year: 0.001 for 0.1 %.
    confidence_level : float
        Of the limits, and 1 minus the error rate of the verdict.
    levels, metric : str or sequence of str, optional
        The nest inside one commit, outermost first (default: the repetition dims present); the variable(s) of a Dataset (default: its
        `time`).

    Returns
    -------
    Dataset
        `slope`, by what one step along `dim` multiplies the metric (1.02: 2 % more), a year where `dim` holds dates: the attr `per` says
        which; `lower`, `upper`; `pvalue` of "no slope beyond the threshold"; `verdict`, in the sense of `better`; `total`, last / first
        by the slope alone; `n`, the commits measured; `correlation`, how alike the residuals make neighbours; along `dim`, `segment`.
        A commit that was not measured keeps its place. With runs stopped at a limit, which count as that, there are no limits.

    Raises
    ------
    ValueError
        Unknown dims or levels, labels that repeat or have no order, values that are not positive; changes of other commits.

    See Also
    --------
    change_points : the steps

    Notes
    -----
    Commits count by how well each is known and by their own spread, outlying ones less. What neighbours have in common is not known and
    averaged over. Where one more step nearly pays, limits hold the slopes with and without it. Nominal 95 % limits cover 90 to 99 % of
    slopes of 10, 30 and 100 commits without a step or with one, and 89 to 99 % beside three steps of both directions (74 to 96 % where the
    spread changes as well): docs/how-to/history.md. Fewer than nine commits are taken to have no step.

    References
    ----------
    A. Zellner, G. Tiao, "Bayesian analysis of the regression model with autocorrelated errors", JASA 59, 1964.

    Examples
    --------
    >>> import numpy as np, xarray as xr, perfarray
    >>> noise = np.random.default_rng(1).normal(0, 0.01, size=(40, 3))
    >>> slower = 10 * 1.002 ** np.arange(40) * np.where(np.arange(40) < 25, 1.0, 1.2)
    >>> times = xr.DataArray(slower[:, None] * (1 + noise), dims=("commit", "execution"))
    >>> found = times.perf.trend()
    >>> round(found["slope"].item(), 3), found["verdict"].item(), int(found["segment"].max())
    (1.002, 'slower', 1)
    """
    level, margin = check_confidence_level(confidence_level), check_threshold(threshold)
    data = resolve(times, metric, levels, positive="a slope of logs", positive_at=-1, censored="bound")
    labels = history_labels(data.array, dim, data.levels)
    positions, per = _places(data.array, dim)
    question = Question(len(data.levels), positions, level, (1 - margin, 1 + margin), data.better)
    segments = [] if changes is None else [_segments(changes, data.array, dim)]
    result = apply(
        partial(log_slopes, question=question),
        data.array,
        *segments,
        core=[[dim, *data.levels], *[[dim]] * len(segments)],
        outputs=outputs("1", slope=f"factor a {per}", lower="", upper="", pvalue="")
        | {"verdict": Output((), "", object)}
        | outputs("1", total="last / first by the slope", n=f"{plural(dim)} measured", correlation="of neighbours")
        | {"segment": Output((dim,), "", float, "number of the segment")},
        coords={dim: labels},
        attrs=data.describe()
        | {"result": "trend", "dim": dim, "per": per, "better": data.better, "threshold": margin, "confidence_level": level}
        | {"steps": "given" if segments else "found"},
    )
    result = result if dim in data.array.coords else result.drop_vars(dim)
    if data.bounded:
        result = _without_limits(result, (data.bounds.at_least | data.bounds.at_most).any(dim))
    limit_note = data.stopped_note("slopes of these series have no limits and no verdict") if data.n_stopped else None
    return noted(result, *data.notes, limit_note, checks=("trend",))


def _places(array: xr.DataArray, dim: str) -> tuple[Floats, str]:
    """Return where the labels of a dim lie, in years where they are dates, else in steps, and what that is called."""
    labels = array[dim].values if dim in array.coords else np.arange(array.sizes[dim])
    if labels.dtype.kind in "OUT" and labels.size and pd.Series(labels.astype(str)).str.match(DAY).all():
        labels = pd.to_datetime(pd.Series(labels.astype(str)), utc=True, format="ISO8601").dt.tz_localize(None).to_numpy()
    if labels.dtype.kind != "M":
        return np.arange(array.sizes[dim], dtype=float), dim
    seconds = labels.astype("datetime64[ms]").astype(np.int64) / 1000
    return np.asarray((seconds - seconds.min(initial=np.inf)) / SECONDS), "year"


def _segments(changes: xr.Dataset, array: xr.DataArray, dim: str) -> xr.DataArray:
    """Return the segments of what was found in the same commits."""
    if not isinstance(changes, xr.Dataset) or "segment" not in changes or dim not in changes["segment"].dims:
        raise ValueError(f"changes= has no segments along {dim!r}; give what change_points(times, dim={dim!r}) returned")
    segment = changes["segment"]
    same_labels = segment.sizes[dim] == array.sizes[dim] and (
        dim not in array.coords or segment[dim].equals(array[dim].reset_coords(drop=True))
    )
    if not same_labels:
        raise ValueError(f"changes= has other labels along {dim!r} than the timings; find them in the same timings")
    return segment.reset_coords(drop=True).astype(float)


def _without_limits(result: xr.Dataset, uncertain: xr.DataArray) -> xr.Dataset:
    """Leave out limits and verdicts of some series: stopped runs hide a part of the slope."""
    for name in ("lower", "upper", "pvalue"):
        result[name] = result[name].where(~uncertain).assign_attrs(result[name].attrs)
    result["verdict"] = result["verdict"].where(~uncertain, INCONCLUSIVE)
    return result


@check("trend")
def trend_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Count series that are too short for a slope, that do not vary, or whose slope several steps may hide."""
    dim, n, unknown = str(result.attrs["dim"]), result["n"].values, np.isnan(result["slope"].values)
    many = plural(dim)
    short = f"{{cells}} have fewer than {NEEDED} {many} with data: a line through two shows no noise; measure more {many}, or compare two"
    constant = f"{{cells}} do not vary, or have no two {many} in one segment: they show no slope and no noise"
    steps = (
        f"{{cells}} have two steps or more, found in the same {many}, among which some may be slope: nominal 95 % limits hold 88 to 97 % "
        "of such slopes, 74 to 96 where the spread changes as well; ask of a stretch without steps, or give changes= if they are known"
    )
    stairs = result["segment"].max(dim).values >= STEPS if result.attrs["steps"] == "found" else np.zeros(n.shape, dtype=bool)
    return (
        count_note("few_commits", short, n < NEEDED, "series", needed=NEEDED),
        count_note("no_spread", constant, unknown & (n >= NEEDED), "series"),
        count_note("steps", steps, stairs, "series"),
    )
