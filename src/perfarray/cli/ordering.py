"""In which order commits lie: a list of them, as `git log --format=%H` prints it."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from perfarray.cli.problems import quoted
from perfarray.conventions import BENCHMARK, HISTORY, LEVELS, MACHINE, plural

if TYPE_CHECKING:
    import xarray as xr

STDIN = "-"

LEAST = 4
"""Characters of an abbreviated hash."""


def history_dim(times: "xr.Dataset", dim: str | None) -> str:
    """Return the dim along which there is a history: the one named, else the first of the usual ones that is there."""
    if dim is not None:
        return dim
    candidates = [name for name in HISTORY if name in times.dims]
    if candidates:
        return candidates[0]
    hint = ""
    for name in (*HISTORY, "version"):
        along = times.coords[name].dims if name in times.coords else ()
        if along:
            labels = len(along) == 1 and along[0] not in {BENCHMARK, MACHINE, *LEVELS}
            way = f"lies along {along[0]!r}: --dim {along[0]}" if labels else f"is a descriptor: --dims {name}={name} makes it a dim"
            hint = f"; {name!r} {way}"
            break
    raise ValueError(
        f"what is the history along? There is none of {quoted(list(HISTORY), 3)}, but {quoted(list(map(str, times.dims)), 9)}: --dim says "
        f'which, --layout "{{commit}}/{{machine}}.json" what paths say{hint}'
    )


def in_order(times: "xr.Dataset", dim: str, source: str | None, sentences: list[str]) -> "xr.Dataset":
    """Put commits into the order of a list, the newest first in it; those that are not in it are left out, and named."""
    if source is None:
        return times
    if dim not in times.coords:
        raise ValueError(f"--order {source}: {dim!r} has no labels to look for")
    text = sys.stdin.read() if source == STDIN else Path(source).read_text(encoding="utf-8")
    commits = [line.split()[0] for line in reversed(text.splitlines()) if line.strip()]
    labels = [str(label) for label in times[dim].values.tolist()]
    ranks = {label: _place(label, commits, source) for label in labels}
    missing = [label for label in labels if ranks[label] is None]
    if len(missing) == len(labels):
        raise ValueError(f"--order {source}: none of the {len(labels)} {plural(dim)} ({quoted(labels, 3)}) is in it")
    if missing:
        sentences.append(f"{len(missing)} of {len(labels)} {plural(dim)} are not in {source!r} and left out: {quoted(missing, 5)}")
    ranked = sorted((rank, number) for number, label in enumerate(labels) if (rank := ranks[label]) is not None)
    ordered = times.isel({dim: [number for _, number in ranked]})
    for stamp in (f"{dim}_date", "date"):
        dates = [str(date) for date in ordered[stamp].values] if stamp in ordered.coords and ordered[stamp].dims == (dim,) else []
        if dates and dates[0] > dates[-1]:
            sentences.append(
                f"{source!r} begins with the oldest, by the dates of the {plural(dim)}, and not, as git log does, with the newest: what is "
                "called slower has become faster"
            )
    return ordered


def _place(label: str, commits: Sequence[str], source: str) -> int | None:
    """Return where a commit stands in a list; either may be abbreviated."""
    if label in commits:
        return commits.index(label)
    enough = len(label) >= LEAST
    candidates = [
        index for index, name in enumerate(commits) if enough and len(name) >= LEAST and (name.startswith(label) or label.startswith(name))
    ]
    if len(candidates) > 1:
        raise ValueError(f"--order {source}: {label!r} may be {quoted([commits[index] for index in candidates], 3)}")
    return candidates[0] if candidates else None


def since(times: "xr.Dataset", dim: str, label: str) -> int:
    """Return the place of a commit, which may be abbreviated."""
    labels = [str(name) for name in times[dim].values.tolist()]
    index = _place(label, labels, "ARCHIVE")
    if index is None:
        raise ValueError(f"--since {label}: not among the {len(labels)} {plural(dim)}, from {labels[0]!r} to {labels[-1]!r}")
    return index
