"""`--select DIM=PATTERN`: the part of the timings that a command is about.

One way for every command.
"""

import re
from collections.abc import Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

import perfarray
from perfarray.cli.problems import quoted
from perfarray.conventions import BENCHMARK, MARKS, SUITE, UNKNOWN

if TYPE_CHECKING:
    import xarray as xr

FEW: Final = 9  # labels of a parameter that may be alternatives of each other
SETTINGS: Final = re.compile(r"[\[(].*|/\w+=[^/\[]*", re.S)  # what readers write behind a name
NO_PARAMETERS: Final = (
    "benchmark_name",
    "group",
    SUITE,
)  # coordinates along benchmarks that are no parameters of these


def select(
    times: "xr.Dataset", patterns_given: Sequence[str] | None, *, sides: str = ""
) -> "xr.Dataset":
    """Return the labels and cells that are like one of the patterns of each name.

    Labels without a measurement there go, except of `sides`.

    A name is a dim, or a coordinate along any dims.
    """
    import numpy as np
    import xarray as xr

    patterns: dict[str, list[str]] = {}
    for text in patterns_given or ():
        name, sign, pattern = text.partition("=")
        if not sign or name not in times.coords or name in MARKS:
            names = [
                *map(str, times.dims),
                *(str(key) for key in times.coords if key not in (*times.dims, *MARKS)),
            ]
            raise ValueError(
                f"--select {text!r}: write a dim and its label, as in benchmark=fft; "
                f"{_nearest_first(name, names)}"
            )
        patterns.setdefault(name, []).append(pattern)
    for name, patterns_of_name in patterns.items():
        coordinate = times.coords[name]
        is_date = coordinate.dtype.kind == "M"
        values = np.datetime_as_string(coordinate, unit="auto") if is_date else coordinate.values
        cells = [label_text(value) for value in values.ravel().tolist()]
        labels = list(dict.fromkeys(cells))
        matching = {
            label for pattern in patterns_of_name for label in _matching(name, pattern, labels)
        }
        mask = np.reshape([cell in matching for cell in cells], coordinate.shape)
        times = _masked(times, xr.DataArray(mask, dims=coordinate.dims))
    return _of_measured_labels(times, sides) if patterns else times


def in_families(times: "xr.Dataset", families: str | None) -> "xr.Dataset":
    """Return timings whose benchmarks are split by a pattern into families."""
    if families is None:
        return times
    try:
        return perfarray.split_labels(times, families)
    except ValueError as error:
        raise ValueError(str(error).replace("pattern=", "families=", 1)) from None


def parameters(times: "xr.Dataset") -> dict[str, list[Any]]:
    """Return the settings that distinguish groups of benchmarks, with their values."""
    # A reader renames a setting called like a variable of an answer. The file has the old name.
    values = {
        str(name).removeprefix("data_"): [
            value
            for value in dict.fromkeys(coordinate.values.tolist())
            if value == value and value != UNKNOWN
        ]  # NaN is not known, either
        for name, coordinate in times.coords.items()
        if coordinate.dims == (BENCHMARK,) and name not in (BENCHMARK, *NO_PARAMETERS)
    }
    return {
        name: labels for name, labels in values.items() if 1 < len(labels) < times.sizes[BENCHMARK]
    }


def compared_parameter(times: "xr.Dataset") -> str | None:
    """Return the parameter whose labels are compared most likely: few, and texts before numbers.

    Benchmarks of two labels must have one name but for settings.
    """
    if BENCHMARK not in times.dims:
        return None
    names = [SETTINGS.sub("", str(label)) for label in times[BENCHMARK].values.tolist()]
    candidates = []
    for name, labels in parameters(times).items():
        column = times.coords[name if name in times.coords else f"data_{name}"].values.tolist()
        if len(labels) <= FEW and len({*names}) < len({*zip(names, column, strict=True)}):
            candidates.append((not all(isinstance(label, str) for label in labels), name))
    return min(candidates, key=itemgetter(0))[1] if candidates else None


def proposed_parameters(times: "xr.Dataset", label: str | None = None) -> str:
    """Write which option compares the labels of a parameter, or of the one that has a label."""
    names = [
        name
        for name, labels in parameters(times).items()
        if label is None or label in map(label_text, labels)
    ]
    name = names[0] if label is not None and names else compared_parameter(times)
    if not names or name is None:
        return ""
    noun = "Parameter" if len(names) == 1 else "Parameters"
    option = f"--dims {name}={name} --dim {name}"
    return f". {noun} of the benchmarks: {quoted(names)}. Compare labels with {option}"


def label_text(value: Any) -> str:
    """Write a label as a pattern names it: 8 cores of a column with gaps are `8`, too."""
    return f"{value:.0f}" if isinstance(value, float) and value.is_integer() else str(value)


def _matching(name: str, pattern: str, labels: list[str]) -> list[str]:
    """Return the label itself, else the only one with that end, else those of a pattern."""
    text = f"--select {f'{name}={pattern}'!r}"
    if pattern in labels:
        return [pattern]
    ends = [label for label in labels if _ends_with(label, pattern)]
    if len(ends) > 1:
        raise ValueError(
            f"{text}: {len(ends)} labels of {name} are like that: {quoted(ends)}; name one, or "
            "write * before it for all"
        )
    if matching := ends or [label for label in labels if fnmatchcase(label, pattern)]:
        return matching
    raise ValueError(f"{text}: no such {name}; {_nearest_first(pattern.strip('*?'), labels)}")


def _nearest_first(text: str, labels: list[str]) -> str:
    """Write labels: those that hold a text or are spelt like it, then the others."""
    near = [
        label for label in labels if text and text.lower() in label.lower()
    ] or get_close_matches(text, labels, n=9)
    further_labels = [label for label in labels if label not in near]
    return (
        f"near it: {quoted(near)}"
        + (f"; there is also {quoted(further_labels)}" if further_labels else "")
        if near
        else f"there is {quoted(further_labels)}"
    )


def _ends_with(name: str, end: str) -> bool:
    """Return whether a name ends with whole words: `org.copy[size=1024]` with `copy`."""
    plain = re.sub(r"\[\w+=.*\]$", "", name, flags=re.S)
    preceding = plain.removesuffix(end)[-1:]
    return bool(end) and plain.endswith(end) and not (preceding.isalnum() or preceding == "_")


def _masked(times: "xr.Dataset", mask: "xr.DataArray") -> "xr.Dataset":
    """Return timings without the labels that a mask leaves out.

    Of a mask along several dims, its cells are not measured.
    """
    for dim in mask.dims:
        positions = mask.any([name for name in mask.dims if name != dim]).values.nonzero()[0]
        times, mask = times.isel({dim: positions}), mask.isel({dim: positions})
    if mask.all():
        return times
    values = {
        name: array.where(mask)
        for name, array in times.data_vars.items()
        if {*mask.dims} <= {*array.dims}
    }
    marks = {
        name: times[name] & mask
        for name in MARKS
        if name in times.coords and {*mask.dims} <= {*times[name].dims}
    }
    return times.assign(values).assign_coords(marks)


def _of_measured_labels(times: "xr.Dataset", sides: str) -> "xr.Dataset":
    """Return timings without the labels at which nothing was measured, stopped or failed."""
    import numpy as np

    masks = [array.notnull() for array in times.data_vars.values()] + [
        times.coords[name].astype(bool) for name in MARKS if name in times.coords
    ]
    for dim in times.dims:
        along = [
            mask.any([name for name in mask.dims if name != dim]).values
            for mask in masks
            if dim in mask.dims
        ]
        if dim != sides and along and (is_measured := np.any(along, axis=0)).any():
            times = times.isel({dim: is_measured})
    return times
