"""Verdicts on metrics without noise, which a reader or `declare` says are exact."""

from functools import partial

import numpy as np
import xarray as xr

from perfarray.comparisons.methods import Options
from perfarray.comparisons.noise import NOISE_OUTPUTS
from perfarray.comparisons.rounds import DATED_ROUNDS, FIXED_ORDER, UNDATED_ROUNDS
from perfarray.comparisons.systems import Systems
from perfarray.comparisons.thresholds import SUITE_THRESHOLD, THRESHOLD
from perfarray.comparisons.turns import IN_SEQUENCE
from perfarray.conventions import EXACT
from perfarray.numerics.verdicts import EQUIVALENT, FASTER, SLOWER
from perfarray.timings.apply import is_chunked
from perfarray.timings.notes import Note, check
from perfarray.timings.resolve import Timings
from perfarray.timings.units import ONE_PROCESS
from perfarray.timings.validation import listed, number_of
from perfarray.timings.zeros import cell_names

# Variables that say how sure an answer is; of exact values they are NaN
OF_NOISE = (
    "lower",
    "upper",
    "df",
    "pvalue",
    "pvalue_adjusted",
    "pvalue_equivalent",
    "pvalue_equivalent_adjusted",
    "pvalue_not_slower",
    "difference_lower",
    "difference_upper",
    *NOISE_OUTPUTS,
)
OF_SUITE_NOISE = tuple(f"suite_{name}" for name in OF_NOISE[:4])

# Notes on what differs between sessions and rounds
ON_NOISE = ("one_session", ONE_PROCESS, FIXED_ORDER, DATED_ROUNDS, UNDATED_ROUNDS, IN_SEQUENCE)

# How far apart ratios are by rounding
ROUNDING = 1e-12


def is_declared_exact(systems: Systems, options: Options) -> bool:
    """Return whether both sides are declared exact, and nothing else varies their ratios."""
    sides = (systems.pair.candidate, systems.pair.baseline)
    varied = options.between is not None or systems.controls is not None or systems.pair.bounded
    return not varied and all(side.array.attrs.get(EXACT) for side in sides)


def judged_exactly(result: xr.Dataset, systems: Systems, options: Options) -> xr.Dataset:
    """Return a comparison in which any difference beyond the threshold is a change.

    One benchmark whose repeated runs differ refutes the declaration for all beside it. `kind` says
    where it holds.
    """
    pair, better = systems.pair, systems.rules.better
    refuted = _runs_differ(pair.candidate, options) | _runs_differ(pair.baseline, options)
    threshold = result.get(THRESHOLD, systems.rules.threshold)
    suite_threshold = result.get(SUITE_THRESHOLD, systems.rules.threshold)
    # The runs themselves: means of unlike numbers of equal runs differ by rounding.
    new, old = (_without_coords(side).max(side.levels) for side in (pair.candidate, pair.baseline))
    exact, in_suite = ~refuted & (result["n"] > 0), ~refuted & (result["suite_n"] > 0)
    # Of a mean of 0 there is no ratio, and the difference decides.
    least = threshold * old * (1 + ROUNDING)
    above, below = new - old > least, old - new > least
    ratio = result["suite_estimate"]
    suite_above = ratio > (1 + suite_threshold) * (1 + ROUNDING)
    suite_below = ratio < (1 - suite_threshold) * (1 - ROUNDING)
    rows, suites = partial(_replaced, exact), partial(_replaced, in_suite)
    slower = above if better == "lower" else below
    return result.assign(
        {name: rows(result[name], np.nan) for name in OF_NOISE if name in result}
        | {name: suites(result[name], np.nan) for name in OF_SUITE_NOISE}
        | {
            "estimate": rows(result["estimate"], result["estimate"].where(new != old, 1.0)),
            "difference": rows(result["difference"], new - old),
            "kind": rows(result["kind"], EXACT),
            "verdict": rows(result["verdict"], _words(result["verdict"], above, below, better)),
            "interval_agrees": rows(result["interval_agrees"], True),
            "not_slower": rows(result["not_slower"], ~slower),
            "smallest_change": rows(result["smallest_change"], threshold),
            "suite_estimate": suites(ratio, ratio.where(abs(ratio - 1) > ROUNDING, 1.0)),
            "suite_kind": suites(result["suite_kind"], EXACT),
            "suite_verdict": suites(
                result["suite_verdict"],
                _words(result["suite_verdict"], suite_above, suite_below, better),
            ),
        }
    )


def _runs_differ(side: Timings, options: Options) -> xr.DataArray:
    """Return where any benchmark of a comparison has repeated runs that differ."""
    array = _without_coords(side)
    differ = array.max(side.levels) > array.min(side.levels)
    return differ.any([dim for dim in differ.dims if dim == options.across])


def _without_coords(side: Timings) -> xr.DataArray:
    return side.array.drop_vars([*side.array.coords]).astype(float)


def _words(
    verdicts: xr.DataArray, above: xr.DataArray, below: xr.DataArray, better: str
) -> xr.DataArray:
    larger, smaller = (SLOWER, FASTER) if better == "lower" else (FASTER, SLOWER)
    equivalent = xr.full_like(verdicts, EQUIVALENT)
    return equivalent.where(~above, larger).where(~below, smaller)


def _replaced(where: xr.DataArray, values: xr.DataArray, replacement: object) -> xr.DataArray:
    """Return values with others in some places, which may be fewer dims."""
    return values.where(~where, replacement).transpose(*values.dims).astype(values.dtype)


def notes_on_noise_left_out(result: xr.Dataset, notes: list[Note]) -> list[Note]:
    """Return notes without those on sessions and their order, which change no exact value."""
    if is_chunked(result["kind"]) or not ((result["kind"] == EXACT) | (result["n"] == 0)).all():
        return notes
    return [note for note in notes if note.code not in ON_NOISE]


@check(EXACT)
def exact_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Say that no interval belongs to a metric, or that its repeated runs contradict it."""
    exact, metric = result["kind"] == EXACT, result.attrs.get("metric", "a metric")
    refuted = ~exact & (result["n"] > 0)
    notes: list[Note | None] = []
    if exact.any():
        text = (
            f"{metric} is declared exact: what is counted again is the same. Any difference beyond "
            "the threshold is a change, without an interval."
        )
        notes.append(Note(EXACT, text, {"cells": int(exact.sum())}, aside=True))
    if refuted.any():
        differ = (result["lower"] < result["upper"]) & refuted
        single = {dim: 0 for dim, size in differ.sizes.items() if size == 1}
        names = cell_names(differ.isel(single, drop=True)) if differ.any() else []
        which = f" of {listed(names, 3)}" if names else ""
        text = (
            f"{metric} is declared exact, but repeated runs{which} differ. The declaration is not "
            f"used for {number_of(int(refuted.sum()), 'ratio')}, which have intervals."
        )
        notes.append(Note("not_exact", text, {"cells": int(refuted.sum()), "names": names}))
    return tuple(notes)
