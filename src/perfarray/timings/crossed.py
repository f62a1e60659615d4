"""The labels that a file gives to units: units that recur in outer units or on both sides.

Repetitions are numbered from 0 inside their parent. The file's own labels stand beside these
numbers, in a coordinate.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from perfarray.conventions import ITERATION, plural
from perfarray.numerics.crossed import combined_pvalue, label_effect
from perfarray.numerics.levels import mean_of_measured, unit_means
from perfarray.numerics.types import Floats, Integers
from perfarray.timings.apply import is_chunked
from perfarray.timings.labels import labels_along
from perfarray.timings.notes import Note

# The p-value of the note on crossed levels, of all benchmarks and both sides together
CROSSED = 0.008

# By how much limits must be too narrow for a note: nominal 95 % then covers 92.5
MATTERS = 0.1

# An F as good as any larger
FAR = 1e9

# The p-value from which on an outer level is said to vary besides
VARIES = 0.05


def label_name(level: str) -> str:
    """Return the name of the coordinate with the labels of a level's units."""
    return f"{level}_label"


def unit_labels(array: xr.DataArray | xr.Dataset, level: str) -> xr.DataArray | None:
    """Return the labels that the file or the caller gives to the units of a level.

    None where units are only numbered.

    Whole numbers along the dim are positions, which `perfarray` makes itself and a selection keeps.
    """
    name = label_name(level)
    if name in array.coords and level in array.coords[name].dims:
        return array[name]
    numbered = level not in array.coords or array.coords[level].dtype.kind in "iu"
    return None if numbered else array[level]


def by_label(array: xr.DataArray, level: str) -> xr.DataArray:
    """Return timings with the labels of a level along its dim, so that one label has one position.

    As they are where there are none.
    """
    labels = unit_labels(array, level)
    if labels is None or labels.name == level:
        return array
    array = array.drop_vars(str(labels.name))
    if labels.dims == (level,):
        return array.assign_coords({level: labels.values})
    other_dims = [dim for dim in labels.dims if dim != level]
    values = labels.transpose(*other_dims, level).values
    codes, distinct = pd.factorize(values.ravel())
    by_parent = codes.reshape(-1, values.shape[-1])
    positions: Integers = np.full((len(by_parent), len(distinct)), -1)
    for position in range(values.shape[-1])[
        ::-1
    ]:  # of a label that occurs twice the first counts: padding has one label
        rows = np.flatnonzero(by_parent[:, position] >= 0)
        positions[rows, by_parent[rows, position]] = position
    indexer = xr.DataArray(positions.reshape(*values.shape[:-1], -1), dims=(*other_dims, level))
    indexers = {
        dim: xr.DataArray(np.arange(array.sizes[dim]), dims=(dim,)) for dim in other_dims
    } | {level: indexer}
    aligned = array.isel(indexers).where(indexer >= 0).assign_coords({level: distinct})
    return aligned.transpose(*array.dims).assign_attrs(array.attrs)


def paired_units(
    new: xr.DataArray, old: xr.DataArray, level: str
) -> tuple[tuple[xr.DataArray, xr.DataArray], tuple[Note, ...]]:
    """Return the units of a level that both systems have, in one order, and a note on the others.

    They are matched by the labels that the data give them, or by number where no side has labels.
    """
    labelled = [unit_labels(side, level) is not None for side in (new, old)]
    if any(labelled) and not all(labelled):
        raise ValueError(
            f"paired={level!r}: only one system has labels of its {plural(level)}, so no pair is "
            f"known. Give both the coordinate {label_name(level)!r}"
        )
    new, old = (by_label(side, level) for side in (new, old))
    labels = [_positions_by_label(side, level) for side in (new, old)]
    # Numbered units are padded with NaN: one that a side lacks has no label of its own.
    measured = (
        [measured_labels(side, level) for side in (new, old)]
        if all(labelled)
        else [[*names] for names in labels]
    )
    notes: tuple[Note, ...] = ()
    if [*labels[0]] != [*labels[1]] or measured[0] != measured[1]:
        in_old = set(measured[1])
        common = [label for label in measured[0] if label in in_old]
        if not common:
            raise ValueError(f"paired={level!r}: the two systems have no {level} in common")
        alone = len(measured[0]) + len(measured[1]) - 2 * len(common)
        new, old = (
            side.isel({level: [positions[label] for label in common]})
            for side, positions in zip((new, old), labels, strict=True)
        )
        if alone:
            remark = (
                "1 unit of one system has no partner and is left out."
                if alone == 1
                else f"{alone} units of one system have no partner and are left out."
            )
            text = f"paired={level!r}: {remark}"
            notes = (Note("no_partner", text, {"level": level, "units": alone}),)
    return (new, old), notes


def measured_labels(side: xr.DataArray, level: str) -> list[Any]:
    """Return the labels of the units of a level that were measured, as `by_label` gives them.

    All of them where values are lazy, or where nothing was measured.
    """
    labels = _positions_by_label(side, level)
    if is_chunked(side):
        return [*labels]
    measured = side.notnull().any([dim for dim in side.dims if dim != level]).values
    return [label for label, position in labels.items() if measured[position]] or [*labels]


def _positions_by_label(side: xr.DataArray, level: str) -> dict[Any, int]:
    """Return where along a level each label is, of one that occurs twice the first."""
    positions: dict[Any, int] = {}
    for position, label in enumerate(labels_along(side, level)):
        positions.setdefault(label, position)
    return positions


def crossed_notes(sides: Sequence[xr.DataArray], nest: Sequence[str]) -> tuple[Note, ...]:
    """Return a note on each inner level whose labels mean one unit in all outer units.

    Of two sides, whose ratio is the answer, it is an aside where both have the same units, whose
    effects cancel in the ratio.
    """
    if any(map(is_chunked, sides)):
        return ()
    inner = [position for position in range(1, len(nest)) if nest[position] != ITERATION]
    labelled = [
        position
        for position in inner
        if all(unit_labels(side, nest[position]) is not None for side in sides)
    ]
    notes = []
    for position in labelled:
        means = [_means_by_label(by_label(side, nest[position]), nest, position) for side in sides]
        correlation, pvalue, varies = _crossing(means)
        if not pvalue <= CROSSED / len(labelled):
            continue
        cancels = (
            len(sides) == 2 and not _crossing(_differences(sides, nest, position))[1] <= VARIES
        )
        numbers = {
            "level": nest[position],
            "outer": nest[position - 1],
            "correlation": correlation,
            "pvalue": pvalue,
        }
        text = _sentence(nest, position, correlation, varies=varies, cancels=cancels)
        notes.append(
            Note(
                "crossed_levels",
                text,
                numbers | {"outer_varies": int(varies), "cancels": int(cancels)},
                aside=cancels,
            )
        )
    return tuple(notes)


def _crossing(means: Sequence[Floats]) -> tuple[float, float, bool]:
    """Return the correlation of the means of one label, and its p-value.

    The p-value is 1 where the effects of labels are too small to matter.
    """
    (pvalue, ratio), (pvalue_outer, ratio_outer) = (
        _pooled([np.swapaxes(side, *axes) for side in means]) for axes in ((-2, -2), (-1, -2))
    )
    # The mean square of the outer units lacks what the labels add to the variance of the mean.
    with np.errstate(divide="ignore", invalid="ignore"):
        too_narrow = np.sqrt(1 + max(ratio - 1, 0) / np.float64(ratio_outer)) - 1
    n_outer = max((side.shape[-2] for side in means), default=1)
    return (
        (ratio - 1) / (ratio - 1 + n_outer),
        1.0 if too_narrow <= MATTERS else pvalue,
        pvalue_outer <= VARIES,
    )


def _pooled(means: Sequence[Floats]) -> tuple[float, float]:
    """Return one p-value of the effects of labels in all cells, and the mean F."""
    if not means:
        return 1.0, np.nan
    pvalues, ratios = (
        np.concatenate(field, axis=None) for field in zip(*map(label_effect, means), strict=True)
    )
    # Without a residual F is infinite.
    return combined_pvalue(pvalues), float(np.nanmean(np.minimum(ratios, FAR))) if not np.isnan(
        ratios
    ).all() else np.nan


def _means_by_label(array: xr.DataArray, nest: Sequence[str], position: int) -> Floats:
    """Return the means of the units of a level, (..., units around it, labels)."""
    means = unit_means(array.transpose(..., *nest).values, len(nest) - position)
    return means.reshape(*means.shape[: -position - 1], -1, means.shape[-1])


def _differences(sides: Sequence[xr.DataArray], nest: Sequence[str], position: int) -> list[Floats]:
    """Return the differences of the relative means of both sides by label."""
    level = nest[position]
    labels = [set(measured_labels(by_label(side, level), level)) for side in sides]
    if labels[0] != labels[1]:
        return [_means_by_label(by_label(side, level), nest, position) for side in sides]
    pair = xr.broadcast(*paired_units(sides[0], sides[1], level)[0], exclude=nest)
    new, old = (_means_by_label(side, nest, position) for side in pair)
    n = min(new.shape[-2], old.shape[-2])
    new, old = (
        side[..., :n, :] / mean_of_measured(side[..., :n, :])[..., None] for side in (new, old)
    )
    return [new - old]


def _sentence(
    nest: Sequence[str], position: int, correlation: float, *, varies: bool, cancels: bool
) -> str:
    """Write that a level is crossed with the one around it, and what gives right limits."""
    level, outer = nest[position], nest[position - 1]
    order = [level, *(name for name in nest if name != level)]
    text = (
        f"{plural(level)} with the same label move together in all {plural(outer)} (mean "
        f"correlation {correlation:.2g}). These levels are crossed, not nested. "
    )
    if cancels:
        return text + (
            f"Their effects cancel in the ratio. paired={level!r} and levels={tuple(order)} give "
            "narrower limits."
        )
    text += "The limits are too narrow. "
    if varies:
        return text + (
            f"{plural(outer)} vary as well, so no order of levels gives right limits. Measure "
            f"each {outer} in {plural(level)} of its own. levels={tuple(order)} gives limits for "
            f"these {plural(outer)} alone."
        )
    return text + (
        f"Average over the {plural(outer)}, and take each {level} as a unit: levels={tuple(order)}"
    )
