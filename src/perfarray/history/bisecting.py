"""Which commit made the change: what to measure next, and how often."""

from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from perfarray.conventions import plural
from perfarray.history.numerics.bisecting import Search, next_commits
from perfarray.timings.apply import Output, apply
from perfarray.timings.notes import Note, check, count_note, noted
from perfarray.timings.validation import check_number, check_share, listed

SERIES = ("change", "value", "segment_mean", "n_units")
"""What is taken of each commit."""


def next_measurement(
    changes: xr.Dataset,
    *,
    commits: Sequence[Hashable] | None = None,
    change: Hashable | None = None,
    probability: float = 0.95,
    commit_cost: float = 1.0,
) -> xr.Dataset:
    """Say which commit to measure next, and with how many runs, to name the one that made a change.

    Measure it, add it to the timings, and ask again, until `next` is empty: the commit is then named by `culprit`.

    Parameters
    ----------
    changes : Dataset
        What `change_points` returned.
    commits : sequence of label, optional
        All commits of the history, the oldest first, also those that were never measured. Default: those of the timings.
    change : label, optional
        The change that is looked into, by the commit that `changes` names. Default: the last one of each series.
    probability : float
        How sure the culprit has to be.
    commit_cost : float
        What measuring one more commit costs beside its runs (checking out, building), in runs: the dearer it is, the more runs of one
        commit pay.

    Returns
    -------
    Dataset
        `next`, the commit to measure (empty where there is no change, or where it is sure), and `runs` of it; `culprit`, the most likely
        commit, and `culprit_probability`; along `commits`, `posterior`, the probability that the change was made there.

    Raises
    ------
    ValueError
        No result of `change_points`; commits that do not hold those measured in their order; a change that is none.

    See Also
    --------
    change_points : the changes

    Notes
    -----
    `next` splits the posterior into halves. A measurement that contradicts those around it may be followed by one of the same commit:
    plain bisection cannot turn back. The number of runs is that which tells most for its price, from the step, the noise between commits,
    which runs of one commit do not average away, and that between them; where commits have one run each, it is one. Of commits between
    two measured ones each is as likely.

    References
    ----------
    R. Waeber, P. Frazier, S. Henderson, "Bisection search with noisy responses", SIAM Journal on Control and Optimization 51, 2013.

    Examples
    --------
    >>> import numpy as np, xarray as xr, perfarray
    >>> noise = np.random.default_rng(1).normal(0, 0.01, size=(20, 3))
    >>> slower = np.where(np.arange(20) < 12, 10.0, 11.0)[:, None]
    >>> nightly = [8 * i for i in range(20)]
    >>> times = xr.DataArray(slower * (1 + noise), dims=("commit", "execution"), coords={"commit": nightly})
    >>> asked = times.perf.change_points().perf.next_measurement(commits=range(160))
    >>> asked["next"].item(), asked["runs"].item(), round(asked["posterior"].sel(commit=92).item(), 3)
    (92.0, 1.0, 0.125)
    """
    dim = _checked(changes)
    sure, cost = check_share(probability, "probability", "0.95"), check_number(commit_cost, "commit_cost")
    if cost < 0:
        raise ValueError(f"commit_cost={commit_cost!r}: give what a commit costs in runs, 0 or more")
    measured = _labels(changes[dim].values if dim in changes.coords else np.arange(changes.sizes[dim]))
    all_commits = measured if commits is None else _labels(np.asarray(list(commits), dtype=measured.dtype))
    number = None if change is None else _position(changes, dim, measured, change)
    labels = all_commits if all_commits.dtype.kind in "OmM" else all_commits.astype(float)
    search = Search(_among(measured, all_commits, dim), len(all_commits), number, sure, cost, labels)
    kind: Any = object if labels.dtype.kind == "O" else labels.dtype
    result = apply(
        partial(next_commits, search=search),
        *(changes[name].reset_coords(drop=True) for name in SERIES),
        changes["noise"],
        changes["within"],
        core=[[dim]] * len(SERIES) + [[], []],
        outputs={
            "next": Output((), "", kind, f"{dim} to measure"),
            "runs": Output((), "1", float, "runs of it"),
            "culprit": Output((), "", kind, f"most likely {dim}"),
            "culprit_probability": Output((), "1"),
            "posterior": Output(("_commits",), "1", float, "probability that the change was made here"),
        },
        coords={"_commits": all_commits},
        attrs={"result": "next_measurement", "dim": dim, "probability": sure, "commit_cost": cost},
    ).rename({"_commits": dim})
    return noted(result, checks=("bisecting",))


def _checked(changes: xr.Dataset) -> str:
    """Return the dim of changes; refuse anything else."""
    missing = [name for name in (*SERIES, "noise", "within") if not isinstance(changes, xr.Dataset) or name not in changes]
    if missing:
        raise ValueError(f"next_measurement needs what change_points(times) returned; this has no {listed(missing)}")
    return str(changes.attrs["dim"])


def _labels(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return labels, texts as objects."""
    return values.astype(object) if values.dtype.kind in "UST" else values


def _among(measured: npt.NDArray[Any], all_commits: npt.NDArray[Any], dim: str) -> npt.NDArray[np.integer[Any]]:
    """Return where the commits of a history stand among all."""
    index_of = {label: index for index, label in enumerate(all_commits.tolist())}
    missing = [label for label in measured.tolist() if label not in index_of]
    if missing:
        raise ValueError(f"commits= does not hold {len(missing)} of the {len(measured)} {plural(dim)} of the timings: {listed(missing, 5)}")
    indices = np.array([index_of[label] for label in measured.tolist()])
    if (np.diff(indices) <= 0).any() or len(index_of) < len(all_commits):
        raise ValueError(
            f"commits= has the {plural(dim)} of the timings in another order, or some twice; give all, each once, the oldest first"
        )
    return indices


def _position(changes: xr.Dataset, dim: str, labels: npt.NDArray[Any], change: Hashable) -> int:
    """Return the place of a change among the commits measured."""
    cell_dims = [name for name in changes["change"].dims if name != dim]
    positions = np.flatnonzero(changes["change"].any(cell_dims).values)
    change_labels = labels[positions].tolist()
    if change not in change_labels:
        raise ValueError(f"change={change!r} is no change of any series; there is {listed(change_labels) if change_labels else 'none'}")
    return int(positions[change_labels.index(change)])


@check("bisecting")
def bisecting_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Count series in which there is nothing to look for."""
    text = "{cells} have no change to look into: change_points found none (or not the one that was asked for)"
    return (count_note("no_change", text, np.isnan(result["culprit_probability"].values), "series"),)
