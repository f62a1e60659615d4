"""What several files of the same benchmarks are: runs of a harness, executions, or experiments."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import perfarray
from perfarray.cli.options import Selection
from perfarray.cli.problems import quoted
from perfarray.cli.runs import in_runs
from perfarray.conventions import SESSION

if TYPE_CHECKING:
    import xarray as xr

SESSION_LABEL: Final = "session_label"  # the coordinate with the files that are sessions

# Names of files that are runs of one harness, such as 1.txt, run-2.json or 3/results.xml
NUMBERED: Final = re.compile(
    r"((?:(?:run|round|rep|repeat|repetition|session|trial|results?|bench|benchmark|"
    r"old|new|base|baseline|head|candidate|r)[-_ ]?)?)(\d+)",
    re.IGNORECASE,
)


def merge_files(
    times: "xr.Dataset", selected: Selection, sentences: list[str], *, side: str | None = None
) -> "xr.Dataset":
    """Make of several files of the same benchmark what `files_are` says.

    `side` is the dim of the inputs that are compared, where they are several.
    """
    import numpy as np

    files_are = selected.files_are
    if (
        "file" not in times.dims
        or "{file}" in selected.reading.get("layout", "")
        or selected.dim == "file"
    ):
        if files_are is not None:
            sentences.append(
                f"--files-are {files_are} changes nothing: no two files of one side hold the "
                "same benchmark"
                + (", so that no level is a session" if files_are == SESSION else "")
            )
        return times
    if files_are is None and side and are_numbered(*_files_of_labels(times, side)):
        files_are = SESSION
    if files_are is None:
        raise ValueError(
            "several files of one side hold the same benchmarks "
            f"({quoted(times['file'].values.tolist(), 3)}). What is a file? "
            "--files-are session: a run of the whole harness, the independent repetition. "
            "--files-are execution: one of several executions of the same build. "
            "--files-are separate: each is compared with the file of the same name"
            + ("" if side else ". --dim file compares them with each other")
        )
    if files_are == "separate":
        return times
    if "session" in times.dims:
        raise ValueError(
            f"the files hold sessions: --files-are {files_are} would nest them twice. Name the "
            "dims with --layout"
        )
    times = in_runs(times)
    file_names = times["file"].values
    times = times.rename(file="session").assign_coords(session=np.arange(len(file_names)))
    if files_are == SESSION:
        # A run of the whole harness serves every benchmark. Files of one name may make a pair.
        times = times.assign_coords({SESSION_LABEL: (SESSION, file_names)})
        return times.assign_attrs(shared_levels="session")
    return cast("xr.Dataset", perfarray.merge_level(times, "session"))


def _files_of_labels(times: "xr.Dataset", dim: str) -> list[list[str]]:
    """Return the files with values of each label of a dim."""
    files: dict[str, set[str]] = {label: set() for label in times[dim].values.tolist()}
    for array in times.data_vars.values():
        if {dim, "file"} <= {*array.dims}:
            is_here = array.notnull().any(
                [name for name in array.dims if name not in (dim, "file")]
            )
            for label, found in files.items():
                found.update(times["file"].values[is_here.sel({dim: label}).values].tolist())
    return [sorted(found) for found in files.values()]


def are_numbered(*sides: Sequence[str]) -> bool:
    """Return whether the paths of files differ in one number only, which counts from 0 or 1.

    Sides may have words of their own before it, as in old-1 and new-1. Numbers with gaps, such as
    64, 128 and 256, may be settings, as may a second number.
    """
    patterns, all_numbers = set(), list[tuple[int | None, ...]]()
    for files in sides:
        words, numbers = set(), list[tuple[int | None, ...]]()
        for path in files:
            names = [part.partition(".") for part in Path(path).parts]
            found = [NUMBERED.fullmatch(stem) for stem, _, _ in names]
            patterns.add(
                tuple(
                    rest.rpartition(".")[0] if match else stem + dot + rest
                    for match, (stem, dot, rest) in zip(found, names, strict=True)
                )
            )
            words.add(tuple(match[1] if match else "" for match in found))
            numbers.append(tuple(int(match[2]) if match else None for match in found))
        if len(words) > 1 or len({*numbers}) < len(files):
            return False
        all_numbers += numbers
    if len(patterns) != 1:
        return False
    places = [{*column} - {None} for column in zip(*all_numbers, strict=True)]
    varied = [column for column in places if len(column) > 1]
    counted = varied[0] if varied else set().union(*places)
    first = min(counted, default=2)
    return len(varied) < 2 and first in (0, 1) and counted == {*range(first, first + len(counted))}
