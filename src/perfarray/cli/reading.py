"""Timings as commands read them: one archive, several that are compared, or labels in one."""

import re
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import perfarray
from perfarray.cli.options import FilesAre, Selection, fraction
from perfarray.cli.problems import quoted
from perfarray.cli.runs import in_runs
from perfarray.cli.selecting import in_families, proposed_parameters, select
from perfarray.cli.several_files import SESSION_LABEL, merge_files
from perfarray.cli.stores import STORES, stored_timings
from perfarray.conventions import (
    BENCHMARK,
    EXECUTION,
    LEVELS,
    MARKS,
    METRIC,
    N_FILES,
    SESSION,
    TIME,
    VERSION,
    plural,
    singular,
)
from perfarray.results.words import own_name

if TYPE_CHECKING:
    import xarray as xr

OLD, NEW = "old", "new"

SIDE: Final = (
    "side"  # the dim of two places that both hold several versions; of others it is the version
)
ENDING: Final = re.compile(r"\.[A-Za-z]")  # where the ending of a name begins
PROGRAM: Final = (
    "program"  # the dim of benchmarks that are compared with each other: they make no suite
)


class Sides(NamedTuple):
    """Timings, the dim compared and its baseline (None: nothing is compared), and a heading."""

    times: "xr.Dataset"
    dim: str | None = None
    baseline: str | None = None
    heading: Sequence[str] = ()


def paths_read(inputs: Sequence[str]) -> dict[str, str]:
    """Return the paths by the names that they have in JSON."""
    names = {1: ["archive"], 2: [OLD, NEW]}.get(len(inputs)) or place_names(inputs)
    return dict(zip(names, inputs, strict=True))


def place_names(inputs: Sequence[str]) -> list[str]:
    """Return the names of places without folders and endings, or whole paths if these are equal."""
    names = [Path(path).name.partition(".")[0] for path in inputs]
    return names if len(set(names)) == len(names) and all(names) else list(inputs)


def numbered_runs(inputs: Sequence[str]) -> list[str]:
    """Return patterns of files that differ by a number alone, as a shell lists those of a pattern.

    Of one version alone, and where a pattern has other files too, the inputs themselves.
    """
    groups: dict[str, set[str]] = {}
    for path in inputs:
        folder, slash, name = path.rpartition("/")
        ending = ENDING.search(name)
        stem = name[: ending.start()] if ending else name
        beginning = stem.rstrip("0123456789")
        pattern = name if stem == beginning else f"{beginning}*{name[len(stem) :]}"
        groups.setdefault(f"{folder}{slash}{pattern}", set()).add(path)
    if not 1 < len(groups) <= len(inputs) // 2 or any(
        len(group) < 2 or set(glob(pattern)) != group for pattern, group in groups.items()
    ):
        return list(inputs)
    return list(groups)


def read_one(
    archive: str,
    reading: dict[str, Any],
    files_are: FilesAre,
    sentences: list[str],
    patterns: Sequence[str] | None = None,
    families: str | None = None,
) -> "xr.Dataset":
    """Read what an archive has of some labels.

    `files_are` says what several files of it are, otherwise they are labels.
    """
    times = in_families(select(read_archive(archive, reading), patterns), families)
    return (
        times
        if files_are is None
        else merge_files(times, Selection(reading=reading, files_are=files_are), sentences)
    )


def read_archive(archive: str, reading: dict[str, Any]) -> "xr.Dataset":
    """Read an archive, or what `perfarray convert` wrote; a file that is alone is no label."""
    stored = archive.endswith(STORES)
    times = stored_timings(archive, reading) if stored else read_places(archive, reading)
    return times.isel(file=0, drop=True) if times.sizes.get("file") == 1 else times


def read_places(
    inputs: "str | dict[str, str]", reading: dict[str, Any], **options: Any
) -> "xr.Dataset":
    """Read files as `perfarray.read_archive` does.

    A column that numbers repetitions is read as such, and the command says so.
    """
    from perfarray.timings.notes import Note, emit

    try:
        return perfarray.read_archive(inputs, **options, **reading)
    except ValueError as error:
        proposed = getattr(error, "proposed_dims", {})
        labels_text = reading.get("dims") or {}
        if not proposed or not labels_text.keys().isdisjoint(proposed):
            raise
        with suppress(ValueError):
            times = read_places(inputs, reading | {"dims": {**labels_text, **proposed}}, **options)
            level, column = next(iter(proposed.items()))
            sentence = (
                f"column {column!r} numbers repetitions and is read as {level}. --dims "
                f"{column}={column} makes it a dim"
            )
            emit(Note("numbering", sentence, {"column": column, "level": level}))
            return times
        raise


def read(inputs: Sequence[str], selected: Selection, sentences: list[str]) -> Sides:
    """Read two sides, or one archive.

    Of one nothing is compared unless a dim or a baseline was given.
    """
    if len(inputs) == 1 and selected.dim is None and selected.baseline is None:
        choices = selected.files_are, sentences, selected.select, selected.families
        return Sides(read_one(inputs[0], selected.reading, *choices))
    return read_sides(inputs, selected, sentences)


def read_sides(inputs: Sequence[str], selected: Selection, sentences: list[str]) -> Sides:
    """Read what is compared; labels that are constant on each side do not separate the sides."""
    if len(inputs) == 1:
        return _labels_compared(inputs[0], selected, sentences)
    if selected.dim is not None:
        raise ValueError(
            "several inputs are compared with each other; options such as --dim are for the "
            "labels in one file or folder"
        )
    labels = [OLD, NEW] if len(inputs) == 2 and selected.baseline is None else place_names(inputs)
    if twice := [label for label in dict.fromkeys(labels) if labels.count(label) > 1]:
        raise ValueError(f"{quoted(twice)} was given more than once. Give each input once")
    baseline = (
        labels[0]
        if selected.baseline is None
        else matching_label(selected.baseline, labels, "input")
    )
    places = dict(zip(labels, inputs, strict=True))
    times = select(_read_all(places, selected.reading), selected.select, sides=SIDE)
    times = in_families(times, selected.families)
    times = merge_files(times, selected, sentences, side=SIDE)
    times, constant = _without_constant_dims(
        times, SIDE, [str(dim) for dim in times.dims if dim not in (*LEVELS, BENCHMARK, SIDE)]
    )
    times, alone = _without_constant_dims(
        times, SIDE, [BENCHMARK] if BENCHMARK in times.dims else []
    )
    heading = []
    for label, path in zip(labels, inputs, strict=True):
        labels_text = ", ".join(
            f"{dim} {times[dim].sel({SIDE: label}).item()}" for dim in (*constant, *alone)
        )
        heading.append(f"{label}  {path}{f'  ({labels_text})' if labels_text else ''}")
    if selected.files_are is None and SESSION_LABEL in times.coords:
        heading.append(
            "Files of a side are numbered: each is a run of the whole harness, a session (else "
            "--files-are)."
        )
    if alone:
        heading.append("Each side has one benchmark, of another name: these are compared.")
        times = times.drop_vars(BENCHMARK)
    if VERSION in times.dims:
        return Sides(times, SIDE, baseline, heading)
    recorded = {VERSION: f"{VERSION}_recorded"} if VERSION in times.coords else {}
    return Sides(times.rename(recorded).rename({SIDE: VERSION}), VERSION, baseline, heading)


def _read_all(places: dict[str, str], reading: dict[str, Any]) -> "xr.Dataset":
    """Read the places of all sides along a dim; stored timings are joined to the others."""
    if not any(path.endswith(STORES) for path in places.values()):
        return read_places(places, reading, dim=SIDE)
    of_sides = [
        read_archive(path, {} if path.endswith(STORES) else reading).expand_dims({SIDE: [label]})
        for label, path in places.items()
    ]
    return perfarray.join(*of_sides)


def with_metrics(sides: Sides) -> tuple[Sides, dict[str, Any]]:
    """Return the sides, and the metrics of benchmarks on both of them, where they are several.

    A further metric holds only what the main one has on neither side, as the throughput of a file
    of times and throughputs.
    """
    times, dim = sides.times, str(sides.dim)
    main = next((name for name in (times.attrs.get(METRIC), TIME) if name in times.data_vars), None)
    if main is None or dim not in times[main].dims:
        return sides, {}

    def measured(name: str) -> "xr.DataArray":
        array = times[name]
        return array.notnull().any([level for level in LEVELS if level in array.dims])

    lacks_main, metrics = ~measured(main).any(dim), {}
    for name, array in times.data_vars.items():
        if (
            name == main
            or array.dtype.kind not in "iuf"
            or dim not in array.dims
            or {*LEVELS}.isdisjoint(array.dims)
        ):
            continue
        measured_cells = measured(str(name))
        on_both_sides = measured_cells.sel({dim: sides.baseline}, drop=True) & (
            measured_cells.sum(dim) > 1
        )
        if (lacks_main & on_both_sides).any():
            metrics[str(name)] = array.where(lacks_main).transpose(*array.dims)
            lacks_main = lacks_main & ~on_both_sides
    if not metrics:
        return sides, {}
    return sides._replace(times=times.assign(metrics)), {METRIC: [main, *metrics]}


def _labels_compared(archive: str, selected: Selection, sentences: list[str]) -> Sides:
    """Read one archive, in which the labels of a dim are compared."""
    times = select(read_archive(archive, selected.reading), selected.select)
    families = in_families(times, selected.families)
    if len(added := [str(name) for name in families.dims if name not in times.dims]) == 1:
        selected = replace(selected, dim=selected.dim or added[0])
    times = merge_files(families, selected, sentences)
    dim = selected.dim or _compared_dim(times, selected.baseline)
    # Readers rename what has the name of an answer's variable.
    dim = f"data_{dim}" if dim not in times.dims and f"data_{dim}" in times.dims else dim
    _check_labels(times, dim)
    times, _ = _without_constant_dims(
        times, dim, [str(name) for name in times.dims if name not in (*LEVELS, BENCHMARK, dim)]
    )
    baseline = _baseline(times, dim, selected)
    why = (
        ""
        if selected.baseline is not None
        else "the first"
        if baseline == times[dim].values.tolist()[0]
        else "it shares the most results with others"
    )
    heading = [
        (
            f"{archive}: every {singular(own_name(dim))} beside "
            f"{baseline}{f' ({why}; --baseline names another)' if why else ''}"
        )
    ]
    return (
        Sides(times.rename({dim: PROGRAM}), PROGRAM, baseline, heading)
        if dim == BENCHMARK
        else Sides(times, dim, baseline, heading)
    )


def read_sessions(text: str, reading: dict[str, Any]) -> "xr.Dataset | tuple[float, float]":
    """Read `1%,5`, or timings of several sessions, which by default are the files."""
    deviation, comma, freedom = text.partition(",")
    if (comma or text.endswith("%")) and not Path(text).exists():
        try:
            return fraction(deviation), float(freedom)
        except ValueError:
            raise ValueError(
                f"--between {text!r}: write a place, or a standard deviation and its degrees "
                "of freedom, as in 1%,5"
            ) from None
    times = read_archive(text, reading)
    times = in_runs(times) if "file" in times.dims else times
    # Some formats number their files as executions
    files = (
        "file"
        if "file" in times.dims
        else EXECUTION
        if times.sizes.get(EXECUTION) == times.attrs.get(N_FILES, 1) > 1
        else None
    )
    return times.rename({files: SESSION}) if files and SESSION not in times.dims else times


def _compared_dim(times: "xr.Dataset", baseline: str | None) -> str:
    """Return the dim that has several labels, or the baseline's."""
    dims = [
        str(dim)
        for dim, size in times.sizes.items()
        if dim not in LEVELS and dim in times.coords and size > 1
    ]
    labels = {dim: _labels(times, dim) for dim in dims}
    if baseline is None:
        candidates = [dim for dim in dims if dim != BENCHMARK]
        # Two programs in one file are measured to be compared, and so are all commands of a
        # hyperfine file.
        is_pair = BENCHMARK in dims and (
            times.sizes[BENCHMARK] == 2 or times.attrs.get("format") == "hyperfine"
        )
        candidates = candidates or [BENCHMARK] * is_pair
    else:
        candidates = [dim for dim in dims if baseline in labels[dim]]
        candidates = candidates or [
            dim for dim in dims if any(label.startswith(baseline) for label in labels[dim])
        ]
        candidates = candidates or [dim for dim in dims if commit_of(baseline, labels[dim])]
    if len(candidates) == 1:
        return candidates[0]
    proposed = [dim for dim in dims if dim != BENCHMARK] or dims
    choices = "; ".join(f"--dim {dim} ({quoted(labels[dim], 4)})" for dim in proposed)
    if not choices:
        dims_read = quoted(list(times.sizes))
        raise ValueError(
            "only one input was given, and no dim of it has two labels to compare "
            f"({dims_read}). Give OLD and NEW{proposed_parameters(times, baseline)}"
        )
    if baseline is not None and not candidates:
        raise ValueError(
            f"--baseline {baseline!r} is no label of what was read. There is {choices}"
            f"{proposed_parameters(times, baseline)}"
        )
    raise ValueError(
        f"Only one input was given. Choose what to compare with --dim and --baseline: {choices}"
        f"{proposed_parameters(times)}"
    )


def _check_labels(times: "xr.Dataset", dim: str) -> None:
    """Raise where a dim has no labels that could be compared."""
    if dim not in times.dims or dim not in times.coords:
        dims = [str(name) for name in times.sizes if name not in LEVELS and name in times.coords]
        described_dims = (
            plural(str(times[dim].dims[0]))
            if dim in times.coords and times[dim].ndim
            else "all of it"
        )
        remedy = (
            f"; {dim!r} describes {described_dims}: --dims {dim}={dim} makes it a dim"
            if dim in times.coords
            else ""
        )
        raise ValueError(f"--dim {dim!r} not found. What was read has {quoted(dims)}{remedy}")
    if times.sizes[dim] < 2:
        raise ValueError(
            f"--dim {dim} has one label, {_labels(times, dim)[0]!r}: there is nothing to "
            "compare it with"
        )


def _baseline(times: "xr.Dataset", dim: str, selected: Selection) -> Any:
    """Return the label of the baseline as the data have it.

    If it was not named: the first benchmark, or of a dim that was named the label measured in most
    cells that another label has, too.
    """
    labels = dict(zip(_labels(times, dim), times[dim].values.tolist(), strict=True))
    if selected.baseline is not None:
        return labels[matching_label(selected.baseline, list(labels), dim)]
    if dim == BENCHMARK:
        return next(iter(labels.values()))
    if selected.dim is None:
        raise ValueError(
            f"say with which {own_name(dim)} the others are compared: --baseline LABEL, one of "
            f"{quoted(list(labels))}"
        )
    array = next(
        times[name]
        for name in (times.attrs.get(METRIC), *times.data_vars)
        if name in times and dim in times[name].dims
    )
    measured = array.notnull().any([level for level in LEVELS if level in array.dims])
    return list(labels.values())[int(comparable_cells(measured, dim).values.argmax())]


def comparable_cells(measured: "xr.DataArray", dim: str) -> "xr.DataArray":
    """Return of each label how many of its cells have another label of the dim, too."""
    comparable = measured & (measured.sum(dim) > 1)
    return comparable.sum([name for name in comparable.dims if name != dim])


def matching_label(text: str, labels: Sequence[str], dim: str) -> str:
    """Return the label itself, else the only one that begins so, else that of a git commit."""
    matching = [label for label in labels if label == text] or [
        label for label in labels if label.startswith(text)
    ]
    matching = matching or commit_of(text, labels)
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise ValueError(
            f"--baseline {text!r}: {len(matching)} labels of {dim} begin so: "
            f"{quoted(matching)}; name one"
        )
    raise ValueError(f"--baseline {text!r} is no {dim}; there is {quoted(list(labels))}")


def commit_of(text: str, labels: Sequence[str]) -> list[str]:
    """Return the labels that are the commit of a git ref such as `HEAD~1` or `v1.2`."""
    hashes = [label for label in labels if re.fullmatch("[0-9a-f]{6,40}", label)]
    if not hashes or text.startswith("-"):
        return []
    command = ["git", "rev-parse", "--verify", "--quiet", f"{text}^{{commit}}"]
    try:
        commit = subprocess.run(
            command, capture_output=True, text=True, timeout=10, check=False
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return []
    # The hash itself may be longer than the label.
    commit = commit or (text if re.fullmatch("[0-9a-f]{7,40}", text) else "")
    return [label for label in hashes if commit.startswith(label)]


def _labels(times: "xr.Dataset", dim: str) -> list[str]:
    return [str(label) for label in times[dim].values.tolist()]


def _without_constant_dims(
    times: "xr.Dataset", dim: str, dims: Sequence[str]
) -> "tuple[xr.Dataset, list[str]]":
    """Remove the dims along which each label of `dim` has one label, as each version a machine.

    Such a dim becomes a descriptor; otherwise no two labels of `dim` could be compared. The names
    of these dims are returned, too.
    """
    import numpy as np
    import xarray as xr

    variables = [*times.data_vars, *(name for name in MARKS if name in times.coords)]
    measured = [times[name] if name in MARKS else times[name].notnull() for name in variables]
    indexers: dict[str, Any] = {}
    for label_dim in (name for name in dims if times.sizes[name] > 1):
        masks = [mask for mask in measured if {dim, label_dim} <= set(mask.dims)]
        cells = [
            mask.any([name for name in mask.dims if name not in (dim, label_dim)])
            .transpose(dim, label_dim)
            .values
            for mask in masks
        ]
        measured_cells = np.any(cells, axis=0) if cells else np.zeros((1, 1), dtype=bool)
        positions = measured_cells.argmax(axis=1)
        if (measured_cells.sum(axis=1) == 1).all() and len(set(positions.tolist())) > 1:
            indexers[label_dim] = xr.DataArray(positions, dims=dim)
    return (times.isel({dim: np.arange(times.sizes[dim])} | indexers) if indexers else times), list(
        indexers
    )
