"""What `perfarray compare` compares: two files or folders, or the labels of one dim in one of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import perfarray
from perfarray.cli.comparison import PROGRAM
from perfarray.cli.problems import quoted
from perfarray.conventions import BENCHMARK, LEVELS, MARKS, VERSION

if TYPE_CHECKING:
    import xarray as xr

OLD, NEW = "old", "new"

SIDE = "side"
"""The dim of two places that both hold several versions; of others it is the version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is to be read and compared: the places, what is said of the files, what several files are, the dim and its baseline."""

    old: str
    new: str | None
    said: dict[str, Any]
    files_are: str | None
    dim: str | None
    baseline: str | None

    @property
    def places(self) -> dict[str, str]:
        """The places by what they are called."""
        return {"archive": self.old} if self.new is None else {OLD: self.old, NEW: self.new}


class Sides(NamedTuple):
    """Timings with a dim that is compared, the baseline's label, and the lines that say what is compared."""

    times: "xr.Dataset"
    dim: str
    baseline: str
    heading: list[str]


def read_sides(asked: Asked, sentences: list[str]) -> Sides:
    """Read what is to be compared; labels that are constant on each side are no obstacle.

    Raises
    ------
    ValueError
        When it is not said what is compared, or with what.
    """
    if asked.new is None:
        times = perfarray.read_archive(asked.old, **asked.said)
        alone = times.sizes.get("file") == 1
        times = times.isel(file=0, drop=True) if alone else explained(times, asked, sentences)
        dim = asked.dim or _dim(times, asked.baseline)
        baseline = _baseline(times, dim, asked.baseline)
        times, _ = beside(times, dim)
        heading = [f"{asked.old}: every {dim} beside {baseline}"]
        return Sides(times.rename({dim: PROGRAM}) if dim == BENCHMARK else times, PROGRAM if dim == BENCHMARK else dim, baseline, heading)
    if asked.dim is not None or asked.baseline is not None:
        raise ValueError("two places came, and they are what is compared; --dim and --baseline are for the labels in one file or folder")
    times = explained(perfarray.read_archive({OLD: asked.old, NEW: asked.new}, dim=SIDE, **asked.said), asked, sentences)
    times, apart = beside(times, SIDE)
    told = {label: ", ".join(f"{dim} {times[dim].sel({SIDE: label}).item()}" for dim in apart) for label in (OLD, NEW)}
    heading = [f"{label}  {place}{f'  ({told[label]})' if apart else ''}" for label, place in asked.places.items()]
    if VERSION in times.dims:
        return Sides(times, SIDE, OLD, heading)
    recorded = {VERSION: f"{VERSION}_recorded"} if VERSION in times.coords else {}
    return Sides(times.rename(recorded).rename({SIDE: VERSION}), VERSION, OLD, heading)


def explained(times: "xr.Dataset", asked: Asked, sentences: list[str]) -> "xr.Dataset":
    """Make of several files of the same benchmark what `files_are` says."""
    import numpy as np

    if "file" not in times.dims or "{file}" in asked.said.get("layout", "") or asked.dim == "file":
        if asked.files_are is not None:
            sentences.append(f"--files-are {asked.files_are} changes nothing: no two files of one side hold the same benchmark")
        return times
    if asked.files_are is None:
        raise ValueError(
            f"several files of one side hold the same benchmarks ({quoted(times['file'].values.tolist(), 3)}); say what a file is: "
            "--files-are session (one run of the whole harness: the files are the independent repetitions), --files-are execution (one "
            "of several executions of the same build), or --files-are separate (compare each with the file of the same name)"
            + ("; or --dim file compares them with each other" if asked.new is None else "")
        )
    if asked.files_are == "separate":
        return times
    if "session" in times.dims:
        raise ValueError(
            f"the files hold sessions of their own: --files-are {asked.files_are} would nest them twice; name the dims with --layout"
        )
    times = times.rename(file="session").assign_coords(session=np.arange(times.sizes["file"]))
    if asked.files_are == "session":
        return times.assign_attrs(shared_levels="session")  # a run of the whole harness serves every benchmark
    return cast("xr.Dataset", perfarray.merge_level(times, "session"))


def _dim(times: "xr.Dataset", baseline: str | None) -> str:
    """Return the dim that is compared where it was not named: the one that has several labels, or the baseline's."""
    several = {
        str(dim): _labels(times, str(dim)) for dim, size in times.sizes.items() if dim not in LEVELS and dim in times.coords and size > 1
    }
    found = [dim for dim, labels in several.items() if (dim != BENCHMARK if baseline is None else baseline in labels)]
    if len(found) == 1:
        return found[0]
    others = {dim: labels for dim, labels in several.items() if dim != BENCHMARK} or several
    shown = "; ".join(f"--dim {dim} ({quoted(labels, 4)})" for dim, labels in others.items())
    if not shown:
        have = quoted(list(times.sizes), 9)
        raise ValueError(f"one place came, and nothing in it has two labels to compare; its dims are {have}; give OLD and NEW")
    if baseline is not None and not found:
        raise ValueError(f"--baseline {baseline!r} is no label of what was read; there is {shown}")
    raise ValueError(f"one place came; say what in it is compared: {shown}")


def _baseline(times: "xr.Dataset", dim: str, baseline: str | None) -> Any:
    """Return the label of the baseline as the data have it."""
    if dim not in times.dims or dim not in times.coords:
        known = [str(own) for own in times.sizes if own not in LEVELS and own in times.coords]
        raise ValueError(f"--dim {dim!r} not found; what was read has {quoted(known, 9)}")
    labels = dict(zip(_labels(times, dim), times[dim].values.tolist(), strict=True))
    if len(labels) < 2:
        raise ValueError(f"--dim {dim} has one label, {next(iter(labels))!r}: there is nothing to compare it with")
    if baseline is None:
        raise ValueError(f"say with which {dim} the others are compared: --baseline LABEL, one of {quoted(list(labels), 9)}")
    if baseline not in labels:
        raise ValueError(f"--baseline {baseline!r} is no {dim}; there is {quoted(list(labels), 9)}")
    return labels[baseline]


def _labels(times: "xr.Dataset", dim: str) -> list[str]:
    """Return the labels of a dim as they are typed."""
    return [str(label) for label in times[dim].values.tolist()]


def beside(times: "xr.Dataset", dim: str) -> "tuple[xr.Dataset, list[str]]":
    """Put systems that differ in further labels beside each other: where each has one of its own, that label becomes a descriptor.

    Parameters
    ----------
    times : Dataset
    dim : str
        What is compared. A dim along which each of its labels was measured at one label alone (each version on a machine of its own) keeps
        them from being compared.

    Returns
    -------
    Dataset
        Without such dims.
    list of str
        Which these were.
    """
    import numpy as np
    import xarray as xr

    others = [str(other) for other in times.dims if other not in (*LEVELS, BENCHMARK, dim) and times.sizes[other] > 1]
    own: dict[str, Any] = {}
    for other in others:
        parts = [times[name] if name in MARKS else times[name].notnull() for name in (*times.data_vars, *(set(MARKS) & set(times.coords)))]
        seen = [part.any([name for name in part.dims if name not in (dim, other)]) for part in parts if {dim, other} <= set(part.dims)]
        measured = np.any([part.transpose(dim, other).values for part in seen], axis=0) if seen else np.zeros((1, 1), dtype=bool)
        if (measured.sum(axis=1) == 1).all() and len(set(measured.argmax(axis=1).tolist())) > 1:
            own[other] = xr.DataArray(measured.argmax(axis=1), dims=dim)
    return (times.isel({dim: np.arange(times.sizes[dim])} | own) if own else times), list(own)


def absent(names: Sequence[str], label: str, most: int = 10) -> list[str]:
    """Name the benchmarks that one side alone has, the first of many."""
    if not names:
        return []
    more = [f"    and {len(names) - most} more (--output json names all)"] if len(names) > most else []
    return [f"measured only in {label}, {len(names)}:", *(f"    {name}" for name in names[:most]), *more]
