"""Benchmarks that the change cannot touch: `controls=`."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from perfarray.comparisons.methods import MEAN, Method, Options
from perfarray.comparisons.numerics.controls import compare_with_controls
from perfarray.numerics.intervals import LOG_DELTA
from perfarray.numerics.types import Mask
from perfarray.timings.across import TooFew
from perfarray.timings.apply import is_chunked, outputs
from perfarray.timings.labels import labels_along, labels_like
from perfarray.timings.notes import Note, check, count_note
from perfarray.timings.pairs import Pair
from perfarray.timings.validation import listed, number_of
from perfarray.timings.zeros import cell_names

CONTROLS = "controls"  # the check of controls
CONTROL = "control"  # the variable that says which benchmarks are controls, and their verdict
MIN_CONTROLS = 2  # their number less one are the degrees of freedom of what they vary by
MOVED = 0.01  # the rate of false notes on a control that moved by itself, of all controls together

# Labels, or patterns with * and ?
Patterns = str | Sequence[str]

OF_SUITE = outputs(
    control_estimate="geometric mean ratio of the controls",
    control_lower="",
    control_upper="",
    control_standard_deviation="relative, between the ratios of the controls",
    control_n="controls measured on both sides",
)
OF_ROWS = outputs(
    raw_estimate="candidate / baseline, not relative to the controls",
    raw_lower="",
    raw_upper="",
    control_pvalue="p-value of a control that moved as the other controls",
)


def method_with_controls(
    controls: Patterns | None, method: str | None, statistic: str, between: Any
) -> str | None:
    """Return the method of a comparison; with controls it is Student's t of log ratios."""
    if controls is None:
        return method
    if statistic != MEAN:
        raise ValueError(
            f"controls= is for ratios of means, and this is statistic={statistic!r}. Medians have "
            "no error that adds up. Leave out controls=, or choose statistic='mean'"
        )
    if method not in (None, LOG_DELTA):
        raise ValueError(
            f"controls= takes errors of log ratios, and method={method!r} has others. Leave out "
            f"method=, or choose method={LOG_DELTA!r}"
        )
    if between is not None:
        raise ValueError(
            "controls= does not go with between=: both say what ratios vary by though nothing "
            "changed. Leave out one of them"
        )
    return LOG_DELTA


def which_are_controls(pair: Pair, options: Options) -> xr.DataArray:
    """Return which labels of the suite's dim are controls; raise where they are too few or all."""
    array, across = pair.candidate.array, options.across
    if across not in array.dims:
        raise ValueError(
            f"controls= names labels along {across!r}, and the timings have no such dim. Controls "
            "are other benchmarks of the same call"
        )
    labels = labels_along(array, across)
    names = labels_like(options.controls, [*labels, *pair.unmatched], CONTROLS)
    mask = np.array([label in names for label in labels])
    present = [labels[position] for position in np.flatnonzero(mask & _on_both_sides(pair, across))]
    if len(present) < MIN_CONTROLS:
        missing = [name for name in names if name not in present]
        lacking = f" (not {listed(missing, 5)})" if missing else ""
        raise ValueError(
            f"{number_of(len(present), 'control')} measured on both sides{lacking}. What controls "
            f"vary by needs at least {MIN_CONTROLS}, better 10. Name more benchmarks that the "
            "change cannot touch"
        )
    if mask.all():
        raise TooFew(
            f"all {len(labels)} labels along {across!r} are controls, so that nothing is left to "
            "compare with them. Name those that the change cannot touch"
        )
    return xr.DataArray(mask, dims=across)


def _on_both_sides(pair: Pair, across: str) -> Mask:
    """Return for which labels anything was measured on both sides; lazy values count."""
    measured: Mask = np.ones(pair.candidate.array.sizes[across], dtype=bool)
    for side in (pair.candidate.array, pair.baseline.array):
        if across in side.dims and not is_chunked(side):
            others = [dim for dim in side.dims if dim != across]
            measured &= side.notnull().any(others).values
    return measured


def with_controls(method: Method, controls: xr.DataArray, pair: Pair, across: str) -> Method:
    """Return a method whose ratios are relative to those of the controls."""
    lazy = any(is_chunked(side.array) for side in (pair.candidate, pair.baseline))
    function = partial(
        compare_with_controls,
        compared=method.function,
        levels=1 if lazy else len(pair.candidate.levels),
    )
    rows = {name: output._replace(dims=(across,)) for name, output in OF_ROWS.items()}
    return method._replace(
        function=function,
        inputs=((controls, (across,)), *method.inputs),
        further={**method.further, **rows, **OF_SUITE},
    )


def mark_controls(result: xr.Dataset, controls: xr.DataArray) -> xr.Dataset:
    """Return a comparison that says which rows are controls, which have no verdict."""
    verdict = result["verdict"].where(~controls, CONTROL).transpose(*result["verdict"].dims)
    agrees = (result["interval_agrees"] | controls).transpose(*result["verdict"].dims)
    return result.assign({"verdict": verdict, "interval_agrees": agrees, CONTROL: controls})


@check(CONTROLS)
def controls_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """State what the ratios are relative to, and name controls that are missing or stand out."""
    measured = result[CONTROL] & result["raw_estimate"].notnull()
    measured = measured.any([dim for dim in measured.dims if dim not in result[CONTROL].dims])
    names, single = cell_names(measured), result["control_estimate"].size == 1
    shift = ""
    if single and result["control_n"].notnull().all():
        factor, low, high = (
            result[f"control_{name}"].item() for name in ("estimate", "lower", "upper")
        )
        deviation = 100 * result["control_standard_deviation"].item()
        shift = (
            f" They moved by {factor:.4g} ({low:.4g} to {high:.4g}), and vary by {deviation:.2g} %."
        )
    text = (
        f"Ratios are relative to {number_of(len(names), 'control')}: {listed(names, 3)}.{shift} "
        "What they vary by is in every interval."
    )
    return (
        Note(CONTROLS, text, {"labels": names}, aside=True),
        _few_note(result),
        _missing_note(result),
        _moved_note(result),
    )


def _few_note(result: xr.Dataset) -> Note | None:
    text = (
        "{cells} have fewer than two controls measured on both sides. Their rows have no "
        "intervals. Measure the controls there, too."
    )
    return count_note("few_controls", text, result["control_n"].isnull().values, "comparisons")


def _missing_note(result: xr.Dataset) -> Note | None:
    """Name the controls without a ratio where others have one."""
    result = _without_single_labels(result)
    lacks = result["raw_estimate"].isnull() & result[CONTROL] & result["control_n"].notnull()
    names = cell_names(lacks)
    text = (
        f"{number_of(len(names), 'control')} not measured on both sides: {listed(names, 5)}. The "
        "others stand for them."
    )
    return Note("missing_controls", text, {"labels": names}) if names else None


def _without_single_labels(result: xr.Dataset) -> xr.Dataset:
    """Return a result without the dims of one label, which names of cells need not say."""
    return result.isel({dim: 0 for dim, size in result.sizes.items() if size == 1}, drop=True)


def _moved_note(result: xr.Dataset) -> Note | None:
    """Name the controls that moved by themselves."""
    result = _without_single_labels(result)
    pvalue = result["control_pvalue"]
    moved = pvalue * int(pvalue.notnull().sum()) <= MOVED
    names = cell_names(moved)
    if not names:
        return None
    ratios = result["raw_estimate"].values[moved.values].tolist()
    shown = "; ".join(
        f"{name} by {ratio:.4g}" for name, ratio in zip(names[:5], ratios, strict=False)
    )
    text = (
        f"{number_of(len(names), 'control')} moved unlike the others ({shown}). Every interval is "
        "wider for it. Leave out what the change touches."
    )
    return Note("control_moved", text, {"labels": names, "ratios": ratios})
