"""Whether two sides can be compared: different suites raise.

Machines and settings in which sides differ give notes.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import xarray as xr

from perfarray.conventions import BENCHMARK, CENSORED, OF_MACHINES, SUITE
from perfarray.timings.apply import is_chunked
from perfarray.timings.notes import Note
from perfarray.timings.settings import (
    differences,
    differing_cells,
    notes_on,
    settings_along,
    values_of,
)
from perfarray.timings.validation import listed
from perfarray.timings.zeros import cell_names


def check_sides(
    new: xr.DataArray,
    old: xr.DataArray,
    levels: Sequence[str],
    dim: str | None,
    aligned: Sequence[str] = (),
) -> tuple[Note, ...]:
    """Raise where compared cells are of different suites.

    Return notes on machines and settings that differ, and on `aligned` dims.

    Both sides have the same labels on every dim but the levels and the dim compared, which only the
    new side has. What one side does not state differs from nothing, and neither do cells that are
    not measured on both sides; lazy ones are taken as measured.
    """
    suites = None if dim == SUITE else differing_cells(SUITE, new, old, levels)
    if suites is not None:
        raise ValueError(_refusal(new, old, suites, dim))
    names = dict.fromkeys(
        (
            *(name for name in aligned if not {dim, name} <= {*OF_MACHINES}),
            *settings_along(new, dim),
        )
    )
    return notes_on(differences(new, old, levels, dim, list(names)), new, old)


def check_label(
    array: xr.DataArray,
    position: int,
    candidates: Iterable[int],
    levels: Sequence[str],
    dim: str,
    aligned: Sequence[str] = (),
) -> tuple[Note, ...]:
    """Check candidates and baseline, given by positions along a dim, as `check_sides` does."""
    names = (SUITE, *aligned, *settings_along(array, dim))
    if not any(
        dim in array.coords[name].dims for name in names if name in array.coords and name != dim
    ):
        return ()
    return check_sides(
        array.isel({dim: np.asarray(list(candidates))}),
        array.isel({dim: position}),
        levels,
        dim,
        aligned,
    )


def never_together(new: xr.DataArray, old: xr.DataArray, levels: Sequence[str]) -> tuple[Note, ...]:
    """Return a note on the benchmarks that both sides have, but never at the same labels."""
    names = [
        str(name)
        for name in old.dims
        if name not in (*levels, BENCHMARK) and name in new.dims and old.sizes[name] > 1
    ]
    if (
        BENCHMARK not in new.dims
        or BENCHMARK not in old.dims
        or not names
        or is_chunked(new)
        or is_chunked(old)
    ):
        return ()
    candidate, baseline = (
        side.variable.notnull().any([level for level in levels if level in side.dims])
        for side in (new, old)
    )
    measured_on_both = candidate.any(names) & baseline.any(names)
    disjoint = measured_on_both & ~(candidate & baseline).any(names)
    other_dims = [dim for dim in disjoint.dims if dim != BENCHMARK]
    # Labels compared that meet the baseline nowhere.
    never = disjoint.any(BENCHMARK) & ~(measured_on_both & ~disjoint).any(BENCHMARK)
    never_there, labels, text = f"never at one label of {listed(names)}", list[str](), ""
    if len(other_dims) == 1 and never.any() and not never.all() and other_dims[0] in new.coords:
        labels = [str(label) for label in new[other_dims[0]].values[never.values].tolist()]
        text = (
            f"{len(labels)} of {never.size} labels of {other_dims[0]!r} and the baseline were "
            f"{never_there}: {listed(labels, 5)}. "
        )
        measured_on_both, disjoint = measured_on_both & ~never, disjoint & ~never
    benchmarks = (disjoint.any(other_dims) & ~(measured_on_both & ~disjoint).any(other_dims)).values
    if benchmarks.any():
        of_benchmarks = [str(label) for label in new[BENCHMARK].values[benchmarks].tolist()]
        labels += of_benchmarks
        text += (
            f"{len(of_benchmarks)} of {new.sizes[BENCHMARK]} benchmarks were measured on both "
            f"sides, but {never_there}: "
        )
        text += f"{listed(of_benchmarks, 5)}. "
    if not text:
        return ()
    text += (
        "They have no ratio. Measure both sides at one label, or select a label for each side "
        "and compare these."
    )
    return (Note("never_together", text, {"labels": labels, "dims": names}),)


def check_systems(
    array: xr.DataArray, levels: Sequence[str], dim: str, aligned: Sequence[str] = ()
) -> tuple[Note, ...]:
    """Check all labels of a dim as `check_sides` does."""
    notes = [
        check_label(array, position, range(position), levels, dim, aligned)
        for position in range(1, array.sizes[dim])
    ]
    return next((of_label for of_label in notes if of_label), ())


def align_sides(
    array: xr.DataArray, levels: Sequence[str], dim: str
) -> tuple[xr.DataArray, list[str]]:
    """Remove the dims along which labels of `dim` never meet, such as machines; name them.

    Their labels remain as descriptors along `dim`. Lazy arrays are returned as they are: where they
    were measured is not known.
    """
    names = [
        str(name)
        for name in array.dims
        if name not in (*levels, dim, BENCHMARK) and array.sizes[name] > 1
    ]
    if not names or is_chunked(array):
        return array, []
    measured = (
        array.notnull() | array.coords[CENSORED] if CENSORED in array.coords else array.notnull()
    )
    indexers = constant_dims(measured, dim, names)
    labelled = array.assign_coords(
        {name: np.arange(array.sizes[name]) for name in indexers if name not in array.coords}
    )
    return (
        labelled.isel({dim: np.arange(array.sizes[dim])} | indexers) if indexers else array
    ), list(indexers)


def constant_dims(
    measured: xr.DataArray, dim: str, names: Iterable[str]
) -> dict[str, xr.DataArray]:
    """Return the dims along which each label of `dim` was measured at one position alone."""
    indexers = {}
    for name in names:
        cells = (
            measured.any(
                [reduced_dim for reduced_dim in measured.dims if reduced_dim not in (dim, name)]
            )
            .transpose(dim, name)
            .values
        )
        positions = cells.argmax(axis=1)
        if (cells.sum(axis=1) == 1).all() and (positions != positions[0]).any():
            indexers[name] = xr.DataArray(positions, dims=dim)
    return indexers


def _refusal(new: xr.DataArray, old: xr.DataArray, cells: xr.DataArray, dim: str | None) -> str:
    """Write both suites, the cells, and what to compare instead."""
    suites, baseline_suites = (
        listed(values, 3) for values in values_of(SUITE, new, old, cells, ())
    )
    text = (
        f"different suites are not compared: {suites} against {baseline_suites} in the "
        f"baseline, of {_count(cells)} "
    )
    text += f"({listed(cell_names(cells), 3)}); "
    remedy = "give sides of one suite"
    if dim is not None and dim in cells.dims:
        differs = cells.any([name for name in cells.dims if name != dim])
        together = (new.notnull() & old.notnull()).any([name for name in new.dims if name != dim])
        comparable = cells[dim].values[~differs.values & together.values].tolist()
        remedy += (
            (
                f": times.sel({dim}=[...]) with the baseline and {listed(comparable, 5)}, which "
                "have its suite"
            )
            if comparable
            else ""
        )
    return (
        f'{text}{remedy}; if these are names of one suite, times.drop_vars("{SUITE}") compares them'
    )


def _count(cells: xr.DataArray) -> str:
    """Write the number of some cells."""
    number = int(cells.sum())
    return f"{number} cell{'s' if number > 1 else ''}"
