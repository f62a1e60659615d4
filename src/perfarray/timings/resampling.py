"""Arguments of the bootstrap: the levels drawn, the number of replicates, the random numbers."""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from perfarray.conventions import EXECUTION
from perfarray.numerics.bootstrap import COMPILED, Draws
from perfarray.numerics.intervals import BOOTSTRAP_METHODS
from perfarray.timings.apply import is_chunked
from perfarray.timings.notes import Note, check, count_note
from perfarray.timings.options import engine
from perfarray.timings.resolve import Timings, check_names
from perfarray.timings.streams import Rng, describe_key, key_of
from perfarray.timings.validation import check_count, listed

# Units below which percentile and BCa intervals are too narrow
FEW = 30

Resample = str | tuple[str, ...] | None


class Resampling(NamedTuple):
    """A bootstrap: which levels are drawn with replacement, how often, from which key.

    Or all values of a cell, flat.
    """

    levels: tuple[str, ...]
    draws: Draws
    flat: bool

    @property
    def attrs(self) -> dict[str, Hashable]:
        """The attrs of a result made from replicates."""
        resampled = [
            level
            for level, is_drawn in zip(self.levels, self.draws.resampled, strict=False)
            if is_drawn
        ]
        attrs: dict[str, Hashable] = {"resample": "flat" if self.flat else " ".join(resampled)}
        if self.flat:
            attrs["unit"] = self.levels[-1]
        return (
            attrs
            | {"n_resamples": self.draws.n_resamples, "engine": self.draws.engine}
            | describe_key(self.draws.key)
        )


def check_resampling(
    data: Timings,
    resample: Resample | Sequence[str],
    n_resamples: int,
    rng: Rng,
    *,
    joint: bool = False,
) -> Resampling:
    """Check the levels to draw.

    Shared or paired units must be drawn, and a flat draw has no units.
    """
    levels = data.levels
    resampled: tuple[bool, ...]
    number = check_count(n_resamples, "n_resamples", 2)
    if isinstance(resample, str) and resample == "flat":
        if joint:
            raise ValueError(
                "resample='flat' ignores the nest, so units cannot be shared or paired; name "
                "the levels to draw"
            )
        resampled, flat = (True,), True
    else:
        names = (
            levels[:1]
            if resample is None
            else levels
            if resample == "all"
            else check_names(resample, "resample")
        )
        unknown = [name for name in names if name not in levels]
        if unknown:
            raise ValueError(
                f"resample={listed(unknown)}: not among the levels {levels}; name those to "
                "draw, or give 'all', 'flat' or None"
            )
        resampled, flat = tuple(level in names for level in levels), False
    if joint and not resampled[0]:
        raise ValueError(
            f"resample={resample!r} leaves out {levels[0]!r}, whose units are shared or "
            "paired; name it too"
        )
    # Sums of redrawn repetitions can be compiled.
    nested = len(resampled) > 1 and resampled[-1] and data.array.sizes[levels[-1]] in COMPILED
    return Resampling(
        levels, Draws(resampled, number, key_of(rng), engine() if nested else "numpy"), flat
    )


def check_no_resampling(method: str, resample: object) -> None:
    """Raise where `resample` is given for a method that draws nothing."""
    if resample is not None and method not in BOOTSTRAP_METHODS:
        raise ValueError(
            f"resample={resample!r} was given with method={method!r}, which draws nothing; "
            f"choose one of {listed(BOOTSTRAP_METHODS)}"
        )


@check("resampling")
def resampling_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Return notes on too few units for the method, or too few replicates."""
    attrs = result.attrs
    method, unit = (
        str(attrs["method"]),
        "values" if attrs.get("resample") == "flat" else f"units ({attrs.get('unit', EXECUTION)})",
    )
    level = (
        float(result["interval_level"].max())
        if "interval_level" in result.data_vars
        else float(attrs["confidence_level"])
    )
    mean = attrs.get("statistic", "mean") == "mean"
    remedy = {"remedy": "studentized"} if mean else {}
    if not mean and attrs.get("result") in ("ratio_interval", "compare", "pairwise"):
        remedy = {"remedy": "order_statistics", "covered": "82 to 93"}
    return few_units(result.variables["n"], method, unit, **remedy), few_replicates(
        int(attrs["n_resamples"]), method, level
    )


def few_replicates(number: int, method: str, level: float) -> Note | None:
    """Return a note where the limits at a level would be the extreme replicates."""
    tail = 1 - level if method == "studentized" else (1 - level) / 2
    needed = int(np.ceil(1 / tail - 1e-9)) - 1
    if number >= needed:
        return None
    limits = f"limits at {100 * level:.4g} %"
    text = (
        f"n_resamples={number} is too few for {limits}: they are the extreme replicates; "
        f"{needed} or more are needed"
    )
    return Note("few_replicates", text, {"n_resamples": number, "needed": needed})


def few_units(
    n: xr.Variable, method: str, units: str, *, remedy: str = "", covered: str = "66 to 85"
) -> Note | None:
    """Return a note on the cells with too few units for a method.

    `remedy` names a method that needs fewer.
    """
    if is_chunked(n):
        return None
    # Arithmetic of labelled arrays costs a hundred times as much where they are small.
    number = n.values
    if method == "studentized":
        return count_note(
            "few_units",
            f"{{cells}} rest on two {units}, but method='studentized' needs three. Their limits "
            "are NaN.",
            number == 2,
        )
    text = (
        f"{{cells}} rest on fewer than {FEW} {units}. Their {method} limits are too narrow: "
        f"nominal 95 % limits of 5 units cover {covered} %."
    )
    return count_note(
        "few_units",
        text + (f" Use method={remedy!r}." if remedy else ""),
        (number > 1) & (number < FEW),
    )
