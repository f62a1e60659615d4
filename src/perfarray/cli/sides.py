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
class Sources:
    """What to read and compare: the paths, options of reading, what several files are, the dim and its baseline."""

    old: str
    new: str | None
    reading: dict[str, Any]
    files_are: str | None
    dim: str | None
    baseline: str | None

    @property
    def paths(self) -> dict[str, str]:
        """The paths by name."""
        return {"archive": self.old} if self.new is None else {OLD: self.old, NEW: self.new}


class Sides(NamedTuple):
    """Timings with a dim that is compared, the baseline's label, and the lines that say what is compared."""

    times: "xr.Dataset"
    dim: str
    baseline: str
    heading: list[str]


def read_sides(sources: Sources, sentences: list[str]) -> Sides:
    """Read what is to be compared; labels that are constant on each side are no obstacle.

    Raises
    ------
    ValueError
        When it is not said what is compared, or with what.
    """
    if sources.new is None:
        times = perfarray.read_archive(sources.old, **sources.reading)
        alone = times.sizes.get("file") == 1
        times = times.isel(file=0, drop=True) if alone else explained(times, sources, sentences)
        dim = sources.dim or _dim(times, sources.baseline)
        baseline = _baseline(times, dim, sources.baseline)
        times, _ = beside(times, dim)
        heading = [f"{sources.old}: every {dim} beside {baseline}"]
        return Sides(times.rename({dim: PROGRAM}) if dim == BENCHMARK else times, PROGRAM if dim == BENCHMARK else dim, baseline, heading)
    if sources.dim is not None or sources.baseline is not None:
        raise ValueError("two places came, and they are what is compared; --dim and --baseline are for the labels in one file or folder")
    times = explained(perfarray.read_archive({OLD: sources.old, NEW: sources.new}, dim=SIDE, **sources.reading), sources, sentences)
    times, differing = beside(times, SIDE)
    texts = {label: ", ".join(f"{dim} {times[dim].sel({SIDE: label}).item()}" for dim in differing) for label in (OLD, NEW)}
    heading = [f"{label}  {path}{f'  ({texts[label]})' if differing else ''}" for label, path in sources.paths.items()]
    if VERSION in times.dims:
        return Sides(times, SIDE, OLD, heading)
    recorded = {VERSION: f"{VERSION}_recorded"} if VERSION in times.coords else {}
    return Sides(times.rename(recorded).rename({SIDE: VERSION}), VERSION, OLD, heading)


def explained(times: "xr.Dataset", sources: Sources, sentences: list[str]) -> "xr.Dataset":
    """Make of several files of the same benchmark what `files_are` says."""
    import numpy as np

    if "file" not in times.dims or "{file}" in sources.reading.get("layout", "") or sources.dim == "file":
        if sources.files_are is not None:
            sentences.append(f"--files-are {sources.files_are} changes nothing: no two files of one side hold the same benchmark")
        return times
    if sources.files_are is None:
        raise ValueError(
            f"several files of one side hold the same benchmarks ({quoted(times['file'].values.tolist(), 3)}); say what a file is: "
            "--files-are session (one run of the whole harness: the files are the independent repetitions), --files-are execution (one "
            "of several executions of the same build), or --files-are separate (compare each with the file of the same name)"
            + ("; or --dim file compares them with each other" if sources.new is None else "")
        )
    if sources.files_are == "separate":
        return times
    if "session" in times.dims:
        raise ValueError(
            f"the files hold sessions of their own: --files-are {sources.files_are} would nest them twice; name the dims with --layout"
        )
    times = times.rename(file="session").assign_coords(session=np.arange(times.sizes["file"]))
    if sources.files_are == "session":
        return times.assign_attrs(shared_levels="session")  # a run of the whole harness serves every benchmark
    return cast("xr.Dataset", perfarray.merge_level(times, "session"))


def _dim(times: "xr.Dataset", baseline: str | None) -> str:
    """Return the dim that is compared where it was not named: the one that has several labels, or the baseline's."""
    several = {
        str(dim): _labels(times, str(dim)) for dim, size in times.sizes.items() if dim not in LEVELS and dim in times.coords and size > 1
    }
    candidates = [dim for dim, labels in several.items() if (dim != BENCHMARK if baseline is None else baseline in labels)]
    if len(candidates) == 1:
        return candidates[0]
    comparable = {dim: labels for dim, labels in several.items() if dim != BENCHMARK} or several
    choices = "; ".join(f"--dim {dim} ({quoted(labels, 4)})" for dim, labels in comparable.items())
    if not choices:
        have = quoted(list(times.sizes), 9)
        raise ValueError(f"one place came, and nothing in it has two labels to compare; its dims are {have}; give OLD and NEW")
    if baseline is not None and not candidates:
        raise ValueError(f"--baseline {baseline!r} is no label of what was read; there is {choices}")
    raise ValueError(f"one place came; say what in it is compared: {choices}")


def _baseline(times: "xr.Dataset", dim: str, baseline: str | None) -> Any:
    """Return the label of the baseline as the data have it."""
    if dim not in times.dims or dim not in times.coords:
        dims_known = [str(name) for name in times.sizes if name not in LEVELS and name in times.coords]
        raise ValueError(f"--dim {dim!r} not found; what was read has {quoted(dims_known, 9)}")
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

    label_dims = [str(name) for name in times.dims if name not in (*LEVELS, BENCHMARK, dim) and times.sizes[name] > 1]
    indexers: dict[str, Any] = {}
    for other_dim in label_dims:
        masks = [times[name] if name in MARKS else times[name].notnull() for name in (*times.data_vars, *(set(MARKS) & set(times.coords)))]
        reduced = [
            mask.any([name for name in mask.dims if name not in (dim, other_dim)]) for mask in masks if {dim, other_dim} <= set(mask.dims)
        ]
        measured = np.any([mask.transpose(dim, other_dim).values for mask in reduced], axis=0) if reduced else np.zeros((1, 1), dtype=bool)
        if (measured.sum(axis=1) == 1).all() and len(set(measured.argmax(axis=1).tolist())) > 1:
            indexers[other_dim] = xr.DataArray(measured.argmax(axis=1), dims=dim)
    return (times.isel({dim: np.arange(times.sizes[dim])} | indexers) if indexers else times), list(indexers)


def absent(names: Sequence[str], label: str, most: int = 10) -> list[str]:
    """Name the benchmarks that one side alone has, the first of many."""
    if not names:
        return []
    more = [f"    and {len(names) - most} more (--output json names all)"] if len(names) > most else []
    return [f"measured only in {label}, {len(names)}:", *(f"    {name}" for name in names[:most]), *more]
