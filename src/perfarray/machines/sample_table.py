"""One number for each sample and feature: repetitions are summarised, gaps are dropped."""

from collections.abc import Hashable, Sequence

import numpy as np
import xarray as xr

from perfarray.conventions import LEVELS, METRIC
from perfarray.machines.numerics.principal_components import complete_part
from perfarray.numerics.levels import one_value_per_unit
from perfarray.numerics.suite import run_statistic
from perfarray.numerics.types import Floats, Integers
from perfarray.timings.across import TooFew
from perfarray.timings.apply import Output, apply
from perfarray.timings.best import resolve_best, slow_end_note
from perfarray.timings.chunks import evenly_chunked
from perfarray.timings.notes import Note
from perfarray.timings.resolve import Data, check_names, decline_zeros, resolve
from perfarray.timings.suite_labels import suites_hint
from perfarray.timings.units import describe_unit, unit_depth
from perfarray.timings.validation import listed
from perfarray.timings.values import check_direction, measurable
from perfarray.timings.zeros import Positive


def single_values(times: Data, metric: str | None) -> xr.DataArray | None:
    """Return the variable of data without a repetition dim, such as dumps of published scores.

    None where there is such a dim.
    """
    if any(dim in LEVELS for dim in getattr(times, "dims", LEVELS)):
        return None
    if isinstance(times, xr.DataArray):
        if metric is not None:
            return None
        array = times
    else:
        numbers = [
            str(name) for name, variable in times.data_vars.items() if variable.dtype.kind in "iuf"
        ]
        name = metric if metric is not None else times.attrs.get(METRIC)
        if name not in numbers and metric is None and len(numbers) == 1:
            name = numbers[0]
        if name not in numbers:
            raise ValueError(
                "which variable holds the values? Name it with metric=; the Dataset has the "
                f"numbers {listed(numbers)}"
            )
        array = times[str(name)]
    check_direction(array)
    return measurable(evenly_chunked(array))


def sample_table(
    times: Data,
    samples: str,
    features: str,
    statistic: str,
    unit: str | None,
    levels: str | Sequence[str] | None,
    metric: str | None,
) -> tuple[xr.DataArray, tuple[Note | None, ...]]:
    """Return one number per sample and feature, and notes; lazy for lazy data."""
    if samples == features:
        raise ValueError(
            f"samples={samples!r} and features={features!r} are the same dim; name two"
        )
    scores = single_values(times, metric) if levels is None else None
    if scores is not None:
        if unit is not None:
            raise ValueError(
                f"unit={unit!r} was given for data without a repetition dim (dims "
                f"{tuple(scores.dims)})"
            )
        _check_dims(scores, samples, features)
        attrs = {key: scores.attrs[key] for key in ("units", "better") if key in scores.attrs}
        return scores.astype(float).assign_attrs({METRIC: str(scores.name or "score")} | attrs), ()
    data = resolve(times, metric, levels, as_nested=unit is not None)
    _check_dims(data.array, samples, features)
    depth_of_unit = unit_depth(data, unit)
    if statistic == "geometric":
        data = decline_zeros(data, Positive("statistic='geometric'", level=depth_of_unit))
    depth, run_statistic_name = len(data.levels), resolve_best(statistic, data.better)

    def kernel(values: Floats) -> tuple[Floats, ...]:
        return (
            run_statistic(one_value_per_unit(values, depth, depth_of_unit), run_statistic_name),
        )

    table = apply(
        kernel, data.array, core=[data.levels], outputs={"value": Output((), data.units)}
    )["value"]
    attrs = describe_unit(data, depth_of_unit) | {
        "statistic": statistic,
        "units": data.units,
        "better": data.better,
    }
    return table.drop_attrs(deep=False).assign_attrs(attrs), (
        *data.notes,
        slow_end_note([statistic], data.better),
    )


def _check_dims(array: xr.DataArray, samples: str, features: str) -> None:
    check_names((samples, features), "samples, features")
    for name, dim, marker in (("samples", samples, "points"), ("features", features, "arrows")):
        if dim not in array.dims:
            raise ValueError(
                f"{name} {dim!r} not found; the array has dims {tuple(array.dims)}. Principal "
                f"components need two dims that are no repetitions. {name}= names the one whose "
                f"labels are {marker}."
            )


def without_gaps(
    table: xr.DataArray, samples: str, features: str
) -> tuple[xr.DataArray, dict[Hashable, Integers], dict[str, Hashable], tuple[Note, ...]]:
    """Drop the samples and features that were not measured completely.

    Return the table, the positions of its labels, attrs, and notes.
    """
    finite = (table.notnull() & (abs(table) != np.inf)).transpose(samples, features).compute()
    rows, columns = complete_part(finite.values)
    if rows.sum() < 2 or not columns.any():
        raise TooFew(
            f"{rows.sum()} labels of {samples!r} and {columns.sum()} of {features!r} are left "
            f"without gaps, of {len(rows)} and {len(columns)}. Two and one are needed: measure "
            "more, select, or fill the gaps before."
        )
    indexers: dict[Hashable, Integers] = {}
    attrs: dict[str, Hashable] = {}
    notes = []
    for name, dim, is_complete in (
        ("dropped_samples", samples, rows),
        ("dropped_features", features, columns),
    ):
        if is_complete.all():
            continue
        indexers[dim] = np.flatnonzero(is_complete)
        dropped = [str(label) for label in table[dim].values[~is_complete]]
        attrs[name] = ", ".join(dropped)
        text = (
            f"{len(dropped)} of {len(is_complete)} labels of {dim!r} are left out for lack of "
            f"values: {listed(dropped)}"
        )
        text += suites_hint(table, features, by=False) if dim == features else ""
        values = {"dim": dim, "labels": dropped, "of": len(is_complete)}
        notes.append(Note("labels_left_out", text, values))
    return evenly_chunked(table.isel(indexers)), indexers, attrs, tuple(notes)
