"""Files of reruns: which benchmarks to measure again and how often, as lines for a shell."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, cast

import typer

import perfarray
from perfarray.cli.forms import Form
from perfarray.cli.options import Selection, percent
from perfarray.cli.problems import counted, reporting
from perfarray.cli.reading import NEW, OLD, PROGRAM, Sides
from perfarray.conventions import BENCHMARK, METRIC, plural
from perfarray.timings.processes import rerun_command

if TYPE_CHECKING:
    import xarray as xr

POWER: Final = 0.9  # of verdicts on the changes that reruns are planned for
MAX_NAMES: Final = 8  # names in a comment
PLAIN: Final = re.compile(r"\w[\w.-]*", re.ASCII)  # what a shell takes as it is
MAX_BATCH: Final = 200  # names in a command: its length is limited

PlanFile = Annotated[
    Path | None,
    typer.Option(
        "--plan",
        metavar="FILE",
        help=(
            "Write to FILE which benchmarks to run again and how often, as lines for the tool's "
            "own filter (Go, Google Benchmark, pytest, JMH, criterion, hyperfine), else as a table."
        ),
    ),
]


class Reruns(NamedTuple):
    """Further units by benchmark, what a unit is, how many there are, and what the others are for.

    NaN: no number is known; infinite: too many to measure; 0: there are enough, but the change lies
    near the threshold.
    """

    units: Mapping[str, float]
    unit: str
    measured: int
    reason: str


def check_file(file: Path | None, target: Form, paths: Sequence[str]) -> None:
    """Raise where a plan cannot be written, or would replace what is read or the answer."""
    if file is None:
        return
    if not file.parent.is_dir() or file.is_dir():
        raise ValueError(f"--plan {file}: this is a folder, or lies in none. Name a file")
    Form("table", file).refuse(*paths)
    if target.file is not None and file.absolute() == target.file.absolute():
        raise ValueError(f"--plan {file}: -o writes the answer to it. Give another name")


def undecided(result: "xr.Dataset", sides: Sides, nest: Mapping[str, Any]) -> Reruns:
    """Return how many more units a side the inconclusive benchmarks of a comparison need.

    It is the number with which `required_units` sees a change as large as the estimate, but at
    least twice the threshold, with a power of 90 %.
    """
    from perfarray.timings.notes import collecting_notes

    attrs = result.attrs
    if attrs.get("statistic", "mean") != "mean" or "between" in attrs:
        raise ValueError(
            "--plan forecasts a comparison of means, without other sessions. Leave out "
            "--statistic median and --between"
        )
    with collecting_notes():  # what is to be said of the data is said of the comparison
        seen = perfarray.required_units(
            sides.times,
            sides.baseline,
            dim=sides.dim,
            power=POWER,
            confidence_level=attrs["confidence_level"],
            correction=None if attrs["correction"] == "none" else "holm",
            paired=attrs.get("paired"),
            prior=attrs.get("prior"),
            **{name: nest[name] for name in ("levels", METRIC) if name in nest},
        )["smallest_change"]
    threshold = result.get("threshold", attrs["threshold"])
    units = seen["units"].where(seen <= _beyond(threshold, result["estimate"])).min("units")
    # Beyond the last number of units, the number is as good as infinite.
    units = units.where(units.notnull() | seen.isnull().all("units"), math.inf)
    further = (units - result["n"]).clip(0)
    is_open = (result["verdict"] == "inconclusive") & (result["n"] > 0)
    units_by_name = _largest(further, is_open)
    if units_by_name and sides.dim == PROGRAM:  # the baseline is one of the benchmarks
        units_by_name[str(sides.baseline)] = max(units_by_name.values())
    has_threshold = attrs["threshold"] > 0 or "threshold" in result
    twice = ", or of twice the threshold if that is more," if has_threshold else ""
    size = f"as large as estimated{twice}"
    reason = f"A change {size} then has a verdict in {100 * POWER:.0f} % of experiments."
    if not has_threshold:
        reason += " A second look raises false verdicts from 5 to 8 %: a --threshold prevents that."
    return Reruns(units_by_name, str(attrs["unit"]), int(result["n"].max()), reason)


def _beyond(threshold: "xr.DataArray | float", estimate: "xr.DataArray") -> "xr.DataArray":
    """Return how far beyond the threshold a change lies, as a relative change.

    It is the estimated change, or one of twice the threshold if that is more.
    """
    import numpy as np

    change = np.log(estimate)
    edge = abs(np.log1p(np.sign(change) * threshold))
    least = np.log1p(2 * threshold) - np.log1p(threshold)
    return cast("xr.DataArray", np.expm1(np.maximum(abs(change) - edge, least)))


def unfinished(result: "xr.Dataset") -> Reruns:
    """Return how many more units benchmarks need where `stopping` says to go on."""
    remaining = result["remaining"]
    width = percent(result.attrs["half_width_wanted"])
    reason = f"They are for intervals within ±{width}. Ask again after them."
    units_by_name = _largest(remaining, remaining != 0)
    return Reruns(units_by_name, str(result.attrs["unit"]), int(result["n"].max()), reason)


def _largest(further: "xr.DataArray", selected: "xr.DataArray") -> dict[str, float]:
    """Return the largest number of the selected cells by benchmark, NaN where none is known."""
    import xarray as xr

    dim = next((name for name in (BENCHMARK, PROGRAM) if name in further.coords), None)
    if dim is None:
        raise ValueError("--plan names benchmarks, and what was read has no names of benchmarks")
    numbers, names, mask = (
        array.values.ravel().tolist()
        for array in xr.broadcast(further, further[dim].astype(str), selected)
    )
    units: dict[str, float] = {}
    for name, number, is_selected in zip(names, numbers, mask, strict=True):
        if is_selected:
            before = units.get(name, math.nan)
            units[name] = number if math.isnan(before) else max(before, number)
    return units


def write_plan(
    file: Path | None, reruns: Reruns | None, sides: Sides, selected: Selection
) -> list[str]:
    """Write a plan, if one is asked for, and return a line that says what is in it."""
    from perfarray.tables.replacing import write_text

    if file is None or reruns is None:
        return []
    # The tool does not know the names of families.
    format = "" if selected.families else str(sides.times.attrs.get("format", ""))
    sizes = {str(dim): size for dim, size in sides.times.sizes.items()}
    labels = [] if sides.dim in (None, PROGRAM) else sides.times[sides.dim].values.tolist()
    lines = _lines(reruns, format, sizes, list(map(str, labels)))
    with reporting():
        write_text(file, "\n".join(lines) + "\n")
    number = sum(0 < units < math.inf for units in reruns.units.values())
    rest = len(reruns.units) - number
    return [
        f"{file}: {counted(number, BENCHMARK)} to run again"
        f"{f', {rest} without a number' if rest else ''}"
    ]


def _lines(
    reruns: Reruns, format: str, sizes: Mapping[str, int], sides: Sequence[str]
) -> list[str]:
    """Return comments, then lines for a shell, or a table where the tool has no filter."""
    units = f"{plural(reruns.unit)}{' of each side' if sides else ''}"
    by_number: dict[int, list[str]] = {}
    for name, number in reruns.units.items():
        # A terminal takes what is pasted for typed: names with control characters stay out.
        if 0 < number < math.inf and name.isprintable():
            by_number.setdefault(int(number), []).append(name)
    batches = [
        (number, names[start : start + MAX_BATCH])
        for number, names in sorted(by_number.items())
        for start in range(0, len(names), MAX_BATCH)
    ]
    comments = _comments(reruns, units)
    if not batches:
        return [*comments, "# Nothing to run again."]
    # Files of later plans have other names, and both sides the same.
    place = f"{'$side' if sides else 'more'}/after-{reruns.measured}"
    start = _start(sides)
    for position, (number, names) in enumerate(batches, 1):
        file = f"{place}-{position}"
        line = rerun_command(format, names, number, unit=reruns.unit, sizes=sizes, file=file)
        if line is None:
            rows = [f"{name}\t{number}" for number, names in batches for name in names]
            return [*comments, f"# benchmark, tab, further {units}", *rows]
        start += [f"# {number} more {units}: {_listed(names)}", line]
    return [*comments, *start]


def _start(sides: Sequence[str]) -> list[str]:
    """Return the lines before the commands, with the folder of one side."""
    if not sides:
        return ["mkdir -p more"]
    labels = sides if all(PLAIN.fullmatch(label) for label in sides) else (OLD, NEW)
    return [
        f"# Run all lines for each side, where it is: {', '.join(f'side={x}' for x in labels)}.",
        "# A drift between the sides looks like a change: perfarray ab measures in turns.",
        f"side={labels[-1]}; mkdir -p $side",
    ]


def _comments(reruns: Reruns, units: str) -> list[str]:
    """Write what the numbers are for, and which benchmarks have none."""
    groups: dict[str, Callable[[float], bool]] = {
        "There are enough, but the change lies near the threshold": lambda number: number == 0,
        "Too many to measure": math.isinf,
        "No number is known; begin with a few more": math.isnan,
    }
    lines = [f"# Further {units}, by perfarray. {reruns.reason}"]
    for text, is_in in groups.items():
        names = [name for name, number in reruns.units.items() if is_in(number)]
        lines += [f"# {text}: {_listed(names)}"] if names else []
    odd = sum(not name.isprintable() for name in reruns.units)
    return lines + ([f"# Left out, with control characters in their names: {odd}"] if odd else [])


def _listed(names: Sequence[str]) -> str:
    """Write the first names, in one line."""
    shown = [name if name.isprintable() else ascii(name) for name in names[:MAX_NAMES]]
    more = len(names) - MAX_NAMES
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")
