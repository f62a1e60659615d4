"""The order of commits, and the dim along which they lie."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from perfarray.cli.problems import quoted
from perfarray.conventions import BENCHMARK, HISTORY, LEVELS, MACHINE, plural

if TYPE_CHECKING:
    import xarray as xr

SHORTEST_HASH = 4  # characters of an abbreviated hash


def history_dim(times: "xr.Dataset", dim: str | None) -> str:
    """Return the dim along which there is a history: the one named, else the first of the usual ones."""
    if dim is not None:
        return dim
    present = [name for name in HISTORY if name in times.dims]
    if present:
        return present[0]
    hint = ""
    descriptors = [name for name in (*HISTORY, "version") if name in times.coords and times.coords[name].dims]
    if descriptors:
        name, along = descriptors[0], [str(label) for label in times.coords[descriptors[0]].dims]
        is_label = len(along) == 1 and along[0] not in {BENCHMARK, MACHINE, *LEVELS}
        remedy = f"lies along {along[0]!r}: --dim {along[0]}" if is_label else f"is a descriptor: --dims {name}={name} makes it a dim"
        hint = f"; {name!r} {remedy}"
    raise ValueError(
        f"no dim of a history found: there is none of {quoted(list(HISTORY))}, but {quoted(list(map(str, times.dims)))}; name it "
        f'with --dim, or say what paths say with --layout "{{commit}}/{{machine}}.json"{hint}'
    )


def in_order(times: "xr.Dataset", dim: str, order: str | None, sentences: list[str]) -> "xr.Dataset":
    """Order commits by a list (a file, or - for stdin) that begins with the newest; those that are not in it are left out, and named."""
    if order is None:
        return times
    if dim not in times.coords:
        raise ValueError(f"--order {order}: {dim!r} has no labels to look for")
    text = sys.stdin.read() if order == "-" else Path(order).read_text(encoding="utf-8")
    commits = [line.split()[0] for line in reversed(text.splitlines()) if line.strip()]
    labels = [str(label) for label in times[dim].values.tolist()]
    ranks = [_index(label, commits, f"--order {order}") for label in labels]
    missing = [label for label, rank in zip(labels, ranks, strict=True) if rank is None]
    if len(missing) == len(labels):
        raise ValueError(f"--order {order}: none of the {len(labels)} {plural(dim)} ({quoted(labels, 3)}) is in it")
    if missing:
        sentences.append(f"{len(missing)} of {len(labels)} {plural(dim)} are not in {order!r} and left out: {quoted(missing, 5)}")
    ranked = sorted((rank, position) for position, rank in enumerate(ranks) if rank is not None)
    ordered = times.isel({dim: [position for _, position in ranked]})
    for stamp in (f"{dim}_date", "date"):
        dates = [str(date) for date in ordered[stamp].values] if stamp in ordered.coords and ordered[stamp].dims == (dim,) else []
        if dates and dates[0] > dates[-1]:
            sentences.append(
                f"{order!r} begins with the oldest, by the dates of the {plural(dim)}, and not, as git log does, with the newest: what is "
                "called slower has become faster"
            )
    return ordered


def commit_index(times: "xr.Dataset", dim: str, commit: str) -> int:
    """Return the index of a commit, which may be abbreviated."""
    labels = [str(name) for name in times[dim].values.tolist()]
    index = _index(commit, labels, "--since")
    if index is None:
        raise ValueError(f"--since {commit}: not among the {len(labels)} {plural(dim)}, from {labels[0]!r} to {labels[-1]!r}")
    return index


def _index(label: str, commits: Sequence[str], option: str) -> int | None:
    """Return the index of a commit in a list; either may be abbreviated."""
    if label in commits:
        return commits.index(label)
    hashes = {index: name for index, name in enumerate(commits) if min(len(label), len(name)) >= SHORTEST_HASH}
    candidates = [index for index, name in hashes.items() if name.startswith(label) or label.startswith(name)]
    if len(candidates) > 1:
        raise ValueError(f"{option}: {label!r} may be {quoted([commits[index] for index in candidates], 3)}")
    return candidates[0] if candidates else None
