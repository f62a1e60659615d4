"""The least thresholds of benchmarks, from sessions or commits between which nothing changed."""

from collections.abc import Mapping
from math import ceil
from typing import Any

import numpy as np
import xarray as xr

import perfarray
from perfarray.calibration.numerics.thresholds import (
    Deviations,
    LeastThreshold,
    deviations_in_segments,
    least_thresholds,
)
from perfarray.comparisons.compare import compare
from perfarray.comparisons.thresholds import median_runs
from perfarray.conventions import (
    BENCHMARK,
    EXECUTION,
    HISTORY,
    LEVELS,
    SESSION,
    plural,
)
from perfarray.numerics.levels import unit_means
from perfarray.numerics.suite import run_statistic
from perfarray.numerics.types import Floats, Integers
from perfarray.results.words import percent
from perfarray.timings.apply import apply, outputs
from perfarray.timings.notes import Note, collecting_notes
from perfarray.timings.resolve import Timings
from perfarray.timings.validation import number_of

PAIR = "_pair"  # the dim of comparisons of neighbours

# Dims whose labels may differ by noise alone; of several the first is taken
NOISE_DIMS = (*HISTORY, SESSION, LEVELS[0])

# Sessions whose t quantile is at most 1.25 times that of infinitely many
ENOUGH = 11

OUTPUTS = outputs(
    "1",
    (BENCHMARK,),
    threshold="least threshold with the rate of false alarms",
    threshold_lower="limit of 95 %",
    threshold_upper="limit of 95 %",
    detectable_change="slowdown seen at this threshold with 80 % power",
    session_standard_deviation="relative standard deviation between sessions",
    session_df="degrees of freedom of session_standard_deviation",
    n_sessions="sessions measured",
)


def noise_dim(array: xr.DataArray) -> str | None:
    """Return the dim of sessions, builds or commits that nothing but noise tells apart."""
    return next((name for name in NOISE_DIMS if array.sizes.get(name, 1) > 1), None)


def thresholds_from_noise(
    data: Timings, risk: float, options: Mapping[str, Any]
) -> tuple[xr.Dataset, list[Note]]:
    """Return the least thresholds along the benchmarks and other dims, with notes.

    Nothing where the data have neither sessions nor a history.
    """
    dim = noise_dim(data.array)
    if dim is None:
        return xr.Dataset(), []
    array, levels = data.array.compute(), [name for name in data.levels if name != dim]
    if not levels:
        array, levels = array.expand_dims({EXECUTION: 1}, -1), [EXECUTION]
    array = array.drop_vars(
        [name for name, coord in array.coords.items() if name not in coord.dims]
    )
    array = array if BENCHMARK in array.dims else array.expand_dims(BENCHMARK)
    notes: list[Note] = []
    segments = xr.zeros_like(array.isel(dict.fromkeys(levels, 0), drop=True), dtype=float)
    if dim in HISTORY:
        with collecting_notes() as gathered:
            changes = perfarray.change_points(array, dim=dim, levels=tuple(levels))
        notes += [note for note in gathered if note.code == "assumed_order"]
        in_time = np.argsort(changes["position"].values, kind="stable")
        array, segments = array.isel({dim: in_time}), changes["segment"].isel({dim: in_time})
    pairs = _neighbours(array, dim, levels, options)
    values = _log_values(array, levels, str(options["statistic"]))
    result = apply(
        lambda *arrays: _per_suite(*arrays, risk=risk, learn=options["prior"] is not None),
        values,
        segments.drop_vars(dim, errors="ignore"),
        *(pairs[name] for name in ("above", "below", "suite_above", "suite_below")),
        core=[
            (BENCHMARK, dim),
            (BENCHMARK, dim),
            *[(BENCHMARK, PAIR)] * 2,
            *[(PAIR,)] * 2,
        ],
        outputs=OUTPUTS | outputs("1", suite_threshold="least threshold of the suite row"),
    )
    result.attrs |= pairs.attrs
    labels = {name: array[name] for name in result.dims if name in array.coords}
    result = result.assign_coords(labels)
    if BENCHMARK not in data.array.dims:
        result = result.isel({BENCHMARK: 0}, drop=True)
    return result, [
        *notes,
        *_notes(result, dim, risk, has_intervals=bool(pairs["above"].notnull().any())),
    ]


def _neighbours(
    array: xr.DataArray,
    dim: str,
    levels: list[str],
    options: Mapping[str, Any],
) -> xr.Dataset:
    """Return how far the limits of comparisons of neighbours lie from the log ratio.

    The attrs are how they were compared, and the median of their runs.
    """
    array = array.drop_vars(dim, errors="ignore").rename({dim: PAIR})
    new, old = array.isel({PAIR: slice(1, None)}), array.isel({PAIR: slice(None, -1)})
    with collecting_notes():
        verdicts = compare(
            new,
            old,
            levels=tuple(levels),
            **options,
        )
    pairs: dict[str, xr.DataArray] = {}
    for suite in ("", "suite_"):
        limits = [verdicts[f"{suite}{name}"] for name in ("estimate", "lower", "upper")]
        reach = apply(_reach, *limits, core=[(), (), ()], outputs=outputs(above="", below=""))
        pairs |= {f"{suite}{name}": array for name, array in reach.data_vars.items()}
    attrs: dict[str, Any] = {name: str(options[name] or "none") for name in ("statistic", "prior")}
    attrs |= {"method": verdicts.attrs["method"], "runs": median_runs(verdicts)}
    return xr.Dataset(
        {name: pair.drop_vars([*pair.coords]) for name, pair in pairs.items()}, attrs=attrs
    )


def _reach(estimate: Floats, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """Return the distances of the log limits from the log ratio; NaN for limits not above 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = [np.log(np.where(side > 0, side, np.nan)) for side in (estimate, lower, upper)]
        return logs[2] - logs[0], logs[0] - logs[1]


def _log_values(array: xr.DataArray, levels: list[str], statistic: str) -> xr.DataArray:
    """Return the logs of the mean or median of every session."""

    def kernel(values: Floats) -> tuple[Floats]:
        if statistic == "median":
            flat = values.reshape(*values.shape[: values.ndim - len(levels)], -1)
            centre = run_statistic(flat, "median")
        else:
            units = unit_means(values, len(levels))
            with np.errstate(invalid="ignore"):
                number = (~np.isnan(units)).sum(axis=-1)
                centre = np.where(
                    number > 0, np.nansum(units, axis=-1) / np.maximum(number, 1), np.nan
                )
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(centre)
        return (np.where(np.isfinite(logs), logs, np.nan),)

    result = apply(kernel, array, core=[tuple(levels)], outputs=outputs(value=""))
    return result["value"].drop_vars([*array.coords], errors="ignore")


def _per_suite(
    values: Floats,
    segments: Floats,
    above: Floats,
    below: Floats,
    suite_above: Floats,
    suite_below: Floats,
    *,
    risk: float,
    learn: bool,
) -> tuple[Floats, ...]:
    """Return the thresholds of each suite: benchmarks and sessions are the last two axes."""
    arrays = (values, np.where(np.isnan(segments), -1.0, segments), above, below)
    batch = np.broadcast_shapes(*(each.shape[:-2] for each in arrays))
    arrays_2d = [
        np.broadcast_to(each, (*batch, *each.shape[-2:])).reshape(-1, *each.shape[-2:])
        for each in arrays
    ]
    of_suites = [
        np.broadcast_to(each, (*batch, each.shape[-1])).reshape(-1, each.shape[-1])
        for each in (suite_above, suite_below)
    ]
    rows: list[LeastThreshold] = []
    suites: list[Floats] = []
    for logs, numbers, up, down, suite_up, suite_down in zip(*arrays_2d, *of_suites, strict=True):
        sessions = deviations_in_segments(logs, numbers.astype(np.int64))
        rows.append(least_thresholds(sessions, up, down, risk, learn=learn))
        together = least_thresholds(_together(sessions), suite_up[None], suite_down[None], risk)
        suites.append(together.threshold[0])
    fields = [np.array([getattr(row, name) for row in rows]) for name in LeastThreshold._fields]
    return (
        *(field.reshape(*batch, values.shape[-2]) for field in fields),
        np.array(suites).reshape(batch),
    )


def _together(sessions: Deviations) -> Deviations:
    """Return the deviations of the mean over the benchmarks, in sessions that have all of them."""
    complete = ~np.isnan(sessions.values).any(axis=0)
    mean = np.where(complete, np.nan_to_num(sessions.values).mean(axis=0), np.nan)
    size = int(complete.sum())
    segments: Integers = np.where(complete, 0, -1)
    df = np.array([size - 1.0 - (sessions.segments.max(initial=0))])
    return Deviations(mean[None], segments[None], np.where(complete, size, 0)[None], df)


def _notes(result: xr.Dataset, dim: str, risk: float, *, has_intervals: bool) -> list[Note]:
    units, n = plural(dim), result["n_sessions"].values
    threshold, df = result["threshold"].values, result["session_df"].values
    measured = n > 0
    notes = []
    without = measured & np.isnan(threshold)
    if without.any():
        reason = (
            f"Their {units} are too few or vary too much. Measure {ENOUGH} or more."
            if has_intervals
            else f"compare gives no interval for one run a {dim}. Calibrate with between=, and "
            "compare with it."
        )
        number = int(without.sum())
        have = "has" if number == 1 else "have"
        text = f"{number_of(number, BENCHMARK)} {have} no threshold below 100 %. {reason}"
        notes.append(Note("no_threshold", text, {"cells": number, "needed": ENOUGH}))
    few = measured & ~np.isnan(threshold) & (df < ENOUGH - 1)
    if few.any():
        least = float(df[few].min())
        more, wider = ceil(ENOUGH - 1 - least), _wider(least, risk)
        text = (
            f"The thresholds of {number_of(int(few.sum()), BENCHMARK)} rest on few {units}: they "
            f"are up to {wider:.2g} times as large as those of many. {more} more bring them within "
            "1.25 times."
        )
        values = {"cells": int(few.sum()), "more": more, "wider": wider}
        notes.append(Note("few_sessions", text, values))
    if np.isfinite(threshold).any():
        finite = threshold[np.isfinite(threshold)]
        change = float(np.nanmedian(result["detectable_change"].values))
        ends = [percent(float(end)) for end in (finite.min(), finite.max())]
        band = f"a threshold of {ends[0]}"
        if ends[0] != ends[1]:
            band = f"thresholds from {ends[0]} to {ends[1]}"
        text = (
            f"{percent(risk)} of comparisons of one {dim} a side are false alarms at {band}. "
            f"A change of {percent(change)} (median) is seen with 80 % power."
        )
        values = {"lowest": float(finite.min()), "highest": float(finite.max()), "change": change}
        notes.append(Note("least_thresholds", text, values, aside=True))
    return notes


def _wider(df: float, risk: float) -> float:
    """Return how much wider few degrees of freedom make a threshold."""
    from scipy.special import ndtri, stdtrit

    return float(stdtrit(df, 1 - risk / 2) / -ndtri(risk / 2))
