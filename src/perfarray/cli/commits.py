"""The order of commits, and the dim along which they lie."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import perfarray
from perfarray.cli.problems import quoted
from perfarray.conventions import BENCHMARK, HISTORY, LEVELS, MACHINE, plural

if TYPE_CHECKING:
    import xarray as xr

STORED = "stored"  # what sorts commits that lie in the order of time
SHORTEST_HASH = 4  # characters of an abbreviated hash


class Ordered(NamedTuple):
    """Timings in order, what sorts them, and of a list all its commits, the oldest first.

    Commits that were measured have the labels of the timings.
    """

    times: "xr.Dataset"
    by: str | None
    commits: list[Any] | None = None


def changes_in_order(
    archive: str,
    times: "xr.Dataset",
    dim: str,
    order: str | None,
    sentences: list[str],
    **choices: Any,
) -> "tuple[xr.Dataset, list[Any] | None]":
    """Find the changes of a history whose order is known, and all commits of a list.

    The changes lie along the commits in their order.
    """
    ordered = in_order(times, dim, order, sentences)
    changes = perfarray.change_points(ordered.times, dim=dim, order=ordered.by, **choices)
    if any(note.code == "assumed_order" for note in perfarray.notes(changes)):
        # The order of rows and files is weaker evidence than the order of an array in memory.
        raise ValueError(
            f"the order of the {ordered.times.sizes[dim]} {plural(dim)} is not known: nothing "
            f"in {archive!r} dates them. Say order='stored' if the oldest is the first, or "
            "order='reversed' if it is the last. A list such as that of git log is given "
            "with --order FILE"
        )
    return changes.sortby("position"), ordered.commits


def history_dim(times: "xr.Dataset", dim: str | None) -> str:
    """Return the dim of the history: the one named, else the first of the usual ones."""
    if dim is not None:
        return dim
    history_dims = [name for name in HISTORY if name in times.dims]
    if history_dims:
        return history_dims[0]
    hint = ""
    descriptors = [
        name for name in (*HISTORY, "version") if name in times.coords and times.coords[name].dims
    ]
    if descriptors:
        name, along = descriptors[0], [str(label) for label in times.coords[descriptors[0]].dims]
        is_label = len(along) == 1 and along[0] not in {BENCHMARK, MACHINE, *LEVELS}
        remedy = (
            f"lies along {along[0]!r}: --dim {along[0]}"
            if is_label
            else f"is a descriptor: --dims {name}={name} makes it a dim"
        )
        hint = f". {name!r} {remedy}"
    raise ValueError(
        f"no dim of a history found. The dims are {quoted(list(map(str, times.dims)))}, and none "
        f"is one of {quoted(list(HISTORY))}. Name the dim with --dim, or say what paths mean "
        f'with --layout "{{commit}}/{{machine}}.json"{hint}'
    )


def in_order(times: "xr.Dataset", dim: str, order: str | None, sentences: list[str]) -> Ordered:
    """Sort commits: `stored`, `reversed`, by a coordinate, or by a list of commits.

    A list (a file, - for stdin) begins with the newest.

    Commits that are not in the list are left out, and named.
    """
    along = [str(name) for name, coord in times.coords.items() if coord.dims == (dim,)]
    if order is None or order in (STORED, "reversed", *along):
        return Ordered(times, order)
    if order != "-" and not Path(order).exists():
        raise ValueError(
            f"--order {order}: there is no such file, and no coordinate along {dim!r} of that "
            f"name ({quoted(along)})"
        )
    if dim not in times.coords:
        raise ValueError(f"--order {order}: {dim!r} has no labels to look for")
    text = sys.stdin.read() if order == "-" else Path(order).read_text(encoding="utf-8")
    commits = [line.split()[0] for line in reversed(text.splitlines()) if line.strip()]
    labels = [str(label) for label in times[dim].values.tolist()]
    ranks = [_index(label, commits, f"--order {order}") for label in labels]
    missing = [label for label, rank in zip(labels, ranks, strict=True) if rank is None]
    if len(missing) == len(labels):
        raise ValueError(
            f"--order {order}: none of the {len(labels)} {plural(dim)} ({quoted(labels, 3)}) "
            "is in it"
        )
    if missing:
        sentences.append(
            f"{len(missing)} of {len(labels)} {plural(dim)} are not in {order!r} and left out: "
            f"{quoted(missing, 5)}"
        )
    ranked = sorted((rank, position) for position, rank in enumerate(ranks) if rank is not None)
    names: list[Any] = _abbreviated(commits, {len(labels[position]) for _, position in ranked})
    for rank, position in ranked:
        names[rank] = times[dim].values.tolist()[position]
    return Ordered(times.isel({dim: [position for _, position in ranked]}), STORED, names)


def _abbreviated(commits: list[str], lengths: set[int]) -> list[str]:
    """Return commits as short as the labels of those measured, if that tells them apart."""
    short = [commit[: max(lengths)] for commit in commits]
    return short if len(set(short)) == len(commits) else commits


def in_words(changes: "xr.Dataset", dim: str) -> str:
    """Write by what the labels of a history are ordered."""
    by = str(changes.attrs["order"])
    ends = f"{plural(dim).capitalize()} from {changes[dim].values[0]} to {changes[dim].values[-1]}"
    if by in (STORED, "reversed"):
        return (
            f"{ends}, in the order "
            f"{'stored or given' if by == STORED else 'opposite to that stored'}."
        )
    return f"{ends}, the oldest first." + ("" if by == dim else f" Their order is that of {by}.")


def commit_index(times: "xr.Dataset", dim: str, commit: str) -> int:
    """Return the index of a commit, which may be abbreviated."""
    labels = [str(name) for name in times[dim].values.tolist()]
    index = _index(commit, labels, "--since")
    if index is None:
        raise ValueError(
            f"--since {commit}: not among the {len(labels)} {plural(dim)}, from {labels[0]!r} "
            f"to {labels[-1]!r}"
        )
    return index


def _index(label: str, commits: Sequence[str], option: str) -> int | None:
    """Return the index of a commit in a list; either may be abbreviated."""
    if label in commits:
        return commits.index(label)
    hashes = {
        index: name
        for index, name in enumerate(commits)
        if min(len(label), len(name)) >= SHORTEST_HASH
    }
    candidates = [
        index for index, name in hashes.items() if name.startswith(label) or label.startswith(name)
    ]
    if len(candidates) > 1:
        raise ValueError(
            f"{option}: {label!r} may be {quoted([commits[index] for index in candidates], 3)}"
        )
    return candidates[0] if candidates else None
