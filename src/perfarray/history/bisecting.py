"""Which commit to measure next, and how often, to find the one that made a change."""

from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from perfarray.conventions import plural
from perfarray.history.numerics.bisecting import next_commits
from perfarray.timings.apply import Output, apply
from perfarray.timings.notes import Note, check, count_note, with_notes
from perfarray.timings.validation import check_share, listed

# The variables along the commits that are used.
SERIES = ("change", "value", "segment_mean", "n_units")


def next_measurement(
    changes: xr.Dataset,
    *,
    commits: Sequence[Hashable] | None = None,
    change: Hashable | None = None,
    probability: float = 0.95,
) -> xr.Dataset:
    """Return the commit to measure next, and its runs, to find the one that made a change.

    Parameters
    ----------
    changes : Dataset
        The result of `change_points`.
    commits : sequence of label, optional
        All commits, the oldest first, measured or not. Default: those of the timings.
    change : label, optional
        The change in question, by its commit. Default: the last of each series.
    probability : float
        The probability at which the search ends.

    Returns
    -------
    Dataset
        For each series `next`, the commit to measure (empty at the end of the search), and `runs`,
        their number; `culprit`, the most likely commit, and `culprit_probability`; `earliest` and
        `latest`, the ends of the set that holds it with `probability`. Along the commits,
        `posterior`, the probability of each.

    Raises
    ------
    ValueError
        Changes of another function; `commits` that lack measured ones or have another order.

    Notes
    -----
    Measure it, join it to the timings, and call this again until `next` is empty:
    :doc:`/how-to/history`.

    References
    ----------
    R. Waeber, P. Frazier, S. Henderson, "Bisection search with noisy responses", SIAM Journal on
    Control and Optimization 51, 2013.

    Examples
    --------
    Each of the eight commits between two measured ones may be the culprit.

    >>> import numpy as np, xarray as xr, perfarray
    >>> runs = np.random.default_rng(1).normal(10.0, 0.1, size=(20, 3))
    >>> runs[12:] += 1.0
    >>> times = xr.DataArray(runs, {"commit": range(0, 160, 8)}, ("commit", "execution"))
    >>> result = times.perf.change_points().perf.next_measurement(commits=range(160))
    >>> result["next"].item(), result["posterior"].sel(commit=92).round(3).item()
    (92.0, 0.125)
    """
    missing = [
        name
        for name in (*SERIES, "noise", "within", "position")
        if not isinstance(changes, xr.Dataset) or name not in changes
    ]
    if missing:
        raise ValueError(
            "next_measurement needs the result of change_points. The input has no "
            f"{listed(missing)}."
        )
    dim, changes = str(changes.attrs["dim"]), changes.sortby("position")
    threshold = check_share(probability, "probability", "0.95")
    measured = changes[dim].values if dim in changes.coords else np.arange(changes.sizes[dim])
    measured = measured.astype(object) if measured.dtype.kind in "UST" else measured
    all_commits = measured if commits is None else np.asarray(list(commits), dtype=measured.dtype)
    labels = all_commits if all_commits.dtype.kind in "OmM" else all_commits.astype(float)
    kernel = partial(
        next_commits,
        positions=_positions(measured, all_commits, dim),
        labels=labels,
        number=None if change is None else _position(changes, dim, measured, change),
        probability=threshold,
    )
    dtype: Any = object if labels.dtype.kind == "O" else labels.dtype
    result = apply(
        kernel,
        *(changes[name].reset_coords(drop=True) for name in SERIES),
        changes["noise"],
        changes["within"],
        core=[[dim]] * len(SERIES) + [[], []],
        outputs={
            "next": Output((), "", dtype, f"{dim} to measure"),
            "runs": Output((), "1", float, "runs of it"),
            "culprit": Output((), "", dtype, f"most likely {dim}"),
            "culprit_probability": Output((), "1"),
            "earliest": Output((), "", dtype, f"first {dim} that may have made it"),
            "latest": Output((), "", dtype, f"last {dim} that may have made it"),
            "posterior": Output(
                ("_commits",), "1", float, "probability that the change was made here"
            ),
        },
        coords={"_commits": all_commits},
        attrs={"result": "next_measurement", "dim": dim, "probability": threshold},
    ).rename({"_commits": dim})
    return with_notes(result, checks=("bisecting",))


def _positions(
    measured: npt.NDArray[Any], all_commits: npt.NDArray[Any], dim: str
) -> npt.NDArray[np.integer[Any]]:
    index = pd.Index(all_commits)
    missing = measured[~pd.Index(measured).isin(index)].tolist()
    if missing:
        raise ValueError(
            f"commits= does not hold {len(missing)} of the {len(measured)} {plural(dim)} of the "
            f"timings: {listed(missing, 5)}. Add them."
        )
    if not index.is_unique or (np.diff(indices := index.get_indexer(measured)) <= 0).any():
        raise ValueError(
            f"commits= has the {plural(dim)} of the timings in another order, or repeats some. "
            "Give each once, the oldest first."
        )
    return np.asarray(indices)


def _position(changes: xr.Dataset, dim: str, labels: npt.NDArray[Any], change: Hashable) -> int:
    cell_dims = [name for name in changes["change"].dims if name != dim]
    positions = np.flatnonzero(changes["change"].any(cell_dims).values)
    change_labels = labels[positions].tolist()
    if change not in change_labels:
        raise ValueError(
            f"change={change!r} is no change of any series. There is "
            f"{listed(change_labels) if change_labels else 'none'}."
        )
    return int(positions[change_labels.index(change)])


@check("bisecting")
def bisecting_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Count series without a change."""
    text = "{cells} have no change to look into. Their `next` is empty."
    no_change = np.isnan(result["culprit_probability"].values)
    return (count_note("no_value", text, no_change, "series"),)
