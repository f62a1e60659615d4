"""What `compare` prints where each side is one execution: what is known, and what to run next."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import perfarray
from perfarray.cli.console import program
from perfarray.cli.options import Selection, percent, reading_options
from perfarray.cli.reading import NEW, OLD, PROGRAM, Sides, numbered_runs
from perfarray.cli.reruns import PLAIN
from perfarray.conventions import BENCHMARK, EXECUTION, HISTORY, ITERATION, LEVELS, METRIC, plural
from perfarray.timings.processes import SESSIONS, recipe

if TYPE_CHECKING:
    import xarray as xr

    from perfarray.results.rows import Table

# Formats that can hold all processes of a side
OWN: Final = "custom"  # whose files have any suffix
TABLES: Final = (OWN, "tidy_csv", "parquet", "feather")


def remedies(
    inputs: Sequence[str], sides: Sides, attrs: Mapping[Any, Any], selected: Selection
) -> list[str]:
    """Return lines with commands to copy: measure both sides in several processes, and compare.

    No lines where the tool is not known, or one place holds both sides.
    """
    compare, options = f"{program()} compare", reading_options(selected.reading)
    reading = options + "".join(f" --select {shlex.quote(text)}" for text in selected.select or ())
    families = f" --families {shlex.quote(selected.families)}" if selected.families else ""
    if (patterns := numbered_runs(inputs)) != [*inputs]:
        arguments = " ".join([*map(shlex.quote, patterns), *SESSIONS])
        return [
            "If numbered files are runs of one version:",
            "",
            f"  {compare} {arguments}{reading}{families}",
        ]
    format = str(sides.times.attrs.get("format", ""))
    folders = _folders(inputs)
    suffix = Path(inputs[0]).suffix
    is_own = format == OWN and PLAIN.fullmatch(suffix[1:])
    of_tool = recipe(format, folders, suffix if is_own else None)
    if len(inputs) == 1 or of_tool is None or attrs["unit"] not in (EXECUTION, ITERATION):
        return []
    given = " ".join(map(shlex.quote, inputs))
    measured = " ".join(of_tool.compare) or given
    lines = [
        "For an answer, measure several processes of each side. Write your own command, and your "
        f"own folders for {_listed(folders)}:",
        "",
        f"  {of_tool.measure}",
        f"  {compare} {measured}{reading}{families}",
    ]
    if format in TABLES:
        lines += ["", f"Or number the processes of a side in a column {EXECUTION} of one table."]
    if of_tool.in_turns and not options:  # `ab` has no options of reading
        command = f"  {program()} ab {' '.join(of_tool.in_turns)}"
        lines += ["", "Or both at once, until every benchmark is decided:", "", command]
    if attrs["method"] == "fieller" and not {"paired", "between"} & {*attrs}:
        lines += [
            "",
            "Or without new runs, where EARLIER is a folder of earlier runs, a file each. "
            "calibrate finds thresholds with 1 % false alarms:",
            "",
            f"  {compare} {given}{reading}{families} --between EARLIER",
        ]
        further = {str(dim) for dim, size in sides.times.sizes.items() if size > 1}
        further -= {*LEVELS, BENCHMARK, str(sides.dim)}
        if further.isdisjoint(HISTORY) and not families:  # commits are sessions
            file = "" if further else " -o thresholds.toml"
            calibrate = f"calibrate EARLIER --between EARLIER{reading}{file}"
            lines.append(f"  {program()} {calibrate}")
    return lines


def _folders(inputs: Sequence[str]) -> list[str]:
    """Return what tells the inputs apart in their paths, as names of folders."""
    paths = [(path.with_suffix("") if path.is_file() else path).parts for path in map(Path, inputs)]
    for depth in range(1, min(map(len, paths)) + 1):
        names = [parts[-depth] for parts in paths]
        if len(set(names)) == len(names) and all(map(PLAIN.fullmatch, names)):
            return names
    return [OLD, NEW] if len(inputs) == 2 else [f"v{number + 1}" for number in range(len(inputs))]


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


def with_variation(
    table: "Table", result: "xr.Dataset", sides: Sides, nest: Mapping[str, Any]
) -> "Table":
    """Return a table with what the repetitions inside a unit vary by, where they are known."""
    from perfarray.results.rows import Table
    from perfarray.timings.notes import collecting_notes

    with collecting_notes():
        try:
            parts = perfarray.variance_components(
                sides.times, **{name: nest[name] for name in ("levels", METRIC) if name in nest}
            )
        except ValueError:
            return table
    variation = parts["coefficient_of_variation"]
    levels = [
        level for level in variation["level"].values if (variation.sel(level=level) > 0).any()
    ]
    if not levels or sides.dim == PROGRAM:
        return table
    squares = variation.sel(level=levels[0], drop=True) ** 2
    shares = (squares.where(squares >= 0).mean(str(sides.dim)) ** 0.5).broadcast_like(
        result["estimate"]
    )
    values = shares.transpose(*table.places.dims).values.ravel()[table.places.positions]
    texts = [percent(float(f"{value:.2g}")) if value == value else "" for value in values.tolist()]
    frame = table.copy()
    title = f"{plural(str(levels[0]))} vary by"
    place = frame.columns.tolist().index("verdict")
    frame.insert(place, title, [*texts, *[""] * (len(table) - len(texts))])
    return Table.of_cells(frame, table.attrs, table.places)
