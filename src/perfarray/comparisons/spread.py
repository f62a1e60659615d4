"""A change of spread between two systems, which a verdict on means does not see."""

import numpy as np

from perfarray.conventions import plural
from perfarray.numerics.levels import unit_means
from perfarray.numerics.spread import spread_change
from perfarray.numerics.types import Floats
from perfarray.timings.apply import apply, is_chunked, outputs
from perfarray.timings.notes import Note
from perfarray.timings.pairs import Pair
from perfarray.timings.zeros import cell_names

# The rate of false notes in a call, of all its cells together: 1 % at most, whatever the law of the
# units
FALSE = 0.01

# Smaller ratios of spreads do not matter: long runs show them, and nobody would act on them.
MATTERS = 1.5

# Cells that a message names
EXAMPLES = 5


def spread_note(pair: Pair) -> Note | None:
    """Return a note on the cells whose units vary more, or less, than those of the baseline.

    None for lazy timings and stopped runs.
    """
    arrays, nest = (pair.candidate.array, pair.baseline.array), pair.candidate.levels
    if any(map(is_chunked, arrays)) or pair.bounded:
        return None

    def kernel(new: Floats, old: Floats) -> tuple[Floats, ...]:
        return spread_change(unit_means(new, len(nest)), unit_means(old, len(nest)))

    tests = apply(
        kernel,
        *arrays,
        core=[nest, nest],
        outputs=outputs(pvalue="", candidate_spread="", baseline_spread=""),
    )
    # If every label is a baseline, each pair of labels is tested twice.
    changed = tests["pvalue"] * np.count_nonzero(~np.isnan(tests["pvalue"])) <= FALSE
    changed &= np.abs(np.log(tests["candidate_spread"] / tests["baseline_spread"])) >= np.log(
        MATTERS
    )
    if not changed.any():
        return None
    names = cell_names(changed)
    new, old = (
        tests[f"{side}_spread"].values[changed.values] for side in ("candidate", "baseline")
    )
    spreads = [
        f"{name}: {100 * before:.2g} -> {100 * after:.2g} %".removeprefix(": ")
        for name, before, after in zip(names, old, new, strict=True)
    ]
    listing = "; ".join([*spreads[:EXAMPLES], *(["..."] if len(spreads) > EXAMPLES else [])])
    text = (
        f"the spread of {plural(nest[0])} changed in {len(names)} of {changed.size} cells "
        f"({listing}). The verdict is about the mean "
        "alone. five_number_summary() shows the distributions"
    )
    values = {
        "cells": names,
        "of": changed.size,
        "candidate_spread": new.tolist(),
        "baseline_spread": old.tolist(),
    }
    return Note("spread_changed", text, values)
