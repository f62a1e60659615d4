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
    r"(?:(?:run|round|rep|repeat|repetition|session|trial|results?|bench|benchmark|"
    r"old|new|base|baseline|head|candidate|r)[-_ ]?)?(\d+)",
    re.IGNORECASE,
)


def merge_files(
    times: "xr.Dataset", selected: Selection, sentences: list[str], *, several_sides: bool = False
) -> "xr.Dataset":
    """Make of several files of the same benchmark what `files_are` says."""
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
    if files_are is None and several_sides and are_numbered(times["file"].values.tolist()):
        files_are = SESSION
    if files_are is None:
        raise ValueError(
            "several files of one side hold the same benchmarks "
            f"({quoted(times['file'].values.tolist(), 3)}). What is a file? "
            "--files-are session: a run of the whole harness, the independent repetition. "
            "--files-are execution: one of several executions of the same build. "
            "--files-are separate: each is compared with the file of the same name"
            + ("" if several_sides else ". --dim file compares them with each other")
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


def are_numbered(files: Sequence[str]) -> bool:
    """Return whether the paths of files differ only in numbers that count from 0 or 1.

    Numbers with gaps, such as 64, 128 and 256, may be settings.
    """
    patterns, numbers = set(), set[int]()
    for path in files:
        pattern = []
        for part in Path(path).parts:
            match = NUMBERED.fullmatch(part.partition(".")[0])
            numbers |= {int(match[1])} if match else set()
            pattern.append("" if match else part)
        patterns.add(tuple(pattern))
    first = min(numbers, default=2)
    counted = {*range(first, first + len(numbers))}
    return len(patterns) == 1 and first in (0, 1) and numbers == counted
