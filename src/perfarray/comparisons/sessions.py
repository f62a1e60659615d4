"""The variation between sessions, from other timings, where each side is one session."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from perfarray.conventions import HISTORY, LEVELS, SESSION, plural
from perfarray.numerics.sessions import (
    SessionNoise,
    noise_of_components,
    noise_of_history,
    noise_of_sessions,
    noise_of_suite,
    runs_of_suite,
)
from perfarray.timings.across import apply_over_suite
from perfarray.timings.apply import LEVEL, Output, outputs
from perfarray.timings.notes import Note
from perfarray.timings.pairs import Pair
from perfarray.timings.resolve import Data, resolve
from perfarray.timings.validation import listed, number_of
from perfarray.timings.zeros import Positive

LIKE_SESSIONS = (
    "binary",
    SESSION,
    *HISTORY,
)  # dims whose labels differ by more than their runs do, outermost first
NOISE = SessionNoise._fields
FEW = 2.0  # degrees of freedom below which sessions are too few for the limits to hold
LARGEST = 1e9  # degrees of freedom of a variance that is exactly known


class Sessions(NamedTuple):
    """The noise of sessions of benchmarks and of their mean, by the names of `SessionNoise`.

    `lacking` says which cells of both sides are one session, where others have several.
    """

    rows: xr.Dataset
    suite: xr.Dataset
    level: str
    notes: tuple[Note, ...] = ()
    lacking: tuple[xr.DataArray, ...] = ()

    def inputs(self, across: tuple[str, ...]) -> tuple[tuple[xr.DataArray, tuple[str, ...]], ...]:
        """Return the arrays that a formula takes: of benchmarks, of the suite, of both sides."""
        return (
            *((self.rows[name], across) for name in NOISE),
            *((self.suite[name], ()) for name in NOISE),
            *((mask, across) for mask in self.lacking),
        )


def session_outputs(*across: str) -> dict[str, Output]:
    """Return the variables that sessions from elsewhere add to a comparison."""
    return outputs(
        "1",
        across,
        session_standard_deviation="relative standard deviation between sessions, with that of "
        "their runs",
        session_df="degrees of freedom of session_standard_deviation",
        within_lower="limit without what varies between sessions",
        within_upper="limit without what varies between sessions",
    )


def check_between(between: Any, **arguments: Any) -> None:
    """Raise where other arguments do not go with noise of sessions from elsewhere."""
    given = [f"{name}={value!r}" for name, value in arguments.items() if value]
    if between is not None and given:
        raise ValueError(
            f"{', '.join(given)} does not go with between=, which is for formulas of means of "
            "two independent sides"
        )


def single_session(times: Data, between: Any, levels: Any = None) -> Data:
    """Return timings without the dims of sessions and builds of which every cell has one."""
    level = _level_of(between)
    several = [name for name in ("binary", SESSION, level) if times.sizes.get(name, 1) > 1]
    if level in several and (
        len({*several}) > 1 or level not in LEVELS or times.chunksizes or levels is not None
    ):
        raise ValueError(_for_one(level, times.sizes[level]))
    return times.isel({name: 0 for name in LIKE_SESSIONS if times.sizes.get(name) == 1}, drop=True)


def cells_of_one(pair: Pair, level: str) -> tuple[list[xr.DataArray], Note]:
    """Return which cells of both sides of a pair are one session, and a note on their number.

    Where all that was measured has several, `between=` has nothing to add.
    """
    arrays = [
        side.array.notnull().any([name for name in side.levels if name != level])
        for side in (pair.candidate, pair.baseline)
    ]
    counts = [array.sum(level).reset_coords(drop=True) for array in arrays]
    single, measured = (
        sum(int(cells.sum()) for cells in masks)
        for masks in ((n == 1 for n in counts), (n > 0 for n in counts))
    )
    if not single:
        raise ValueError(_for_one(level, int(max(count.max() for count in counts))))
    text = (
        f"between= adds what {plural(level)} vary by where a side is one: {single} of "
        f"{measured} cells. The others show it themselves."
    )
    return [count < 2 for count in counts], Note(
        "one_session", text, {"cells": single, "of": measured, "level": level}, aside=True
    )


def _for_one(level: str, number: int) -> str:
    """Write that `between=` is for sides of one session each."""
    return (
        f"between= is for sides that are one {level} each, and these timings have {number}. "
        f"Leave it out, and the {plural(level)} are the units, or select one."
    )


def _level_of(between: Any) -> str:
    """Return the dim whose labels are sessions."""
    if isinstance(between, xr.Dataset) and LEVEL in between.dims:
        return str(between[LEVEL].values[0])
    if not isinstance(between, xr.Dataset | xr.DataArray):
        return SESSION
    dims = [str(name) for name in LIKE_SESSIONS if name in between.dims and between.sizes[name] > 1]
    if not dims:
        raise ValueError(
            f"between= needs timings of two sessions or more: one of {listed(LIKE_SESSIONS)}; "
            f"its dims are {tuple(between.dims)}"
        )
    return dims[0]


def noise_between(between: Any, pair: Pair, metric: Any, across: str, *, learn: bool) -> Sessions:
    """Return the noise of sessions along the benchmarks of a comparison.

    `between` is other timings, components with that level outermost, or a relative standard
    deviation with its degrees of freedom. If the benchmarks `learn` from each other, what sessions
    of timings vary by is moderated.
    """
    if isinstance(between, xr.Dataset | xr.DataArray) and LEVEL not in between.dims:
        rows, suite, level = _of_timings(between, pair, metric, across, learn=learn)
    else:
        rows, suite, level = _stated(between, pair, across)
    rows, notes = _at_labels(rows, pair, across, level)
    suite, _ = _at_labels(suite, pair, across, level)
    rows = (
        rows
        if across in rows.dims
        else rows.expand_dims({across: pair.candidate.array.sizes.get(across, 1)})
    )
    rows = rows.drop_vars(across, errors="ignore").transpose(..., across)
    if bool((suite["df"] < FEW).any()):
        text = (
            f"between= has two {plural(level)}. These 95 % intervals may hold the truth only 90 % "
            "of the time. Measure three or more."
        )
        notes.append(Note("few_units", text, {"sessions": 2}))
    return Sessions(rows, suite, level, tuple(notes))


def _stated(between: Any, pair: Pair, across: str) -> tuple[xr.Dataset, xr.Dataset, str]:
    """Return the noise of components, or of a relative standard deviation.

    Sessions are taken to move all benchmarks together.
    """
    if isinstance(between, xr.Dataset):
        noise = _of_components(between, pair)
    else:
        try:
            deviation, freedom = between
            deviation, df = (xr.DataArray(number).astype(float) for number in (deviation, freedom))
        except (TypeError, ValueError):
            raise ValueError(
                f"between={between!r} has no noise of sessions. Give timings of several "
                "sessions, or variance components with that level outermost. A relative "
                "standard deviation with its degrees of freedom works too, as in (0.01, 5)"
            ) from None
        if not bool(((deviation > 0) & (df >= 1)).all()):
            raise ValueError(
                f"between={between!r}: a relative standard deviation is above 0, and its "
                "degrees of freedom are 1 or more"
            )
        noise = xr.Dataset({"variance": deviation**2, "df": df.clip(max=LARGEST)}).assign(
            within=np.nan, within_df=np.nan, runs=np.inf
        )
    noise = noise.reset_coords(drop=True)
    noise = xr.Dataset(
        dict(zip(NOISE, xr.broadcast(*(noise[name] for name in NOISE)), strict=True))
    )
    if across not in noise.dims:
        return noise, noise, _level_of(between)
    suite = _pooled(noise, across, across)
    runs = runs_of_suite(
        SessionNoise(*(noise[name].transpose(..., across).values for name in NOISE))
    )
    return (
        noise,
        suite.assign(
            {name: suite["df"].copy(data=values) for name, values in runs._asdict().items()}
        ),
        _level_of(between),
    )


def _depth_of_runs(levels: Sequence[str], pair: Pair) -> int:
    """Return the position of the runs of a side in a nest whose outermost level is the session."""
    unit = pair.candidate.levels[0]
    return levels.index(unit) if unit in levels[1:] else 1


def _of_components(components: xr.Dataset, pair: Pair) -> xr.Dataset:
    """Return the noise of the outermost level of variance components, and of the runs inside.

    Of components that were estimated, the variances of means S^2 on their own degrees of freedom: a
    component T^2, the difference of two of these, has fewer, and one below zero does not say that
    sessions agree.
    """
    names = [str(name) for name in components[LEVEL].values]
    square, depth = components["mean"] ** 2, _depth_of_runs(names, pair)
    variance = components["variance"] / square
    if "level_variance" not in components:
        levels = [variance.isel({LEVEL: i}, drop=True) for i in range(len(names))]
        sizes = np.cumprod(
            [1, *(pair.candidate.array.sizes.get(name, 1) for name in names[depth + 1 :])]
        )
        inside = [level / size for level, size in zip(levels[depth:], sizes, strict=False)]
        noise = xr.Dataset(
            {"variance": sum(levels[:depth]), "within": sum(inside) if inside else np.nan}
        )
        return noise.assign(df=LARGEST, within_df=LARGEST, runs=np.inf)
    if "merged" in components and bool(components["merged"].any()):
        raise ValueError(
            "between= has components of merged levels, which do not show how runs vary: use "
            "variance_components(negative='keep')"
        )
    squares = components["level_variance"] / square
    if "repetitions" in components:
        counts = components["repetitions"]
    else:  # In pooled pilots, S_i^2 - T_i^2 = S_(i-1)^2 / n gives the repetitions.
        counts = (squares / (squares - variance).shift({LEVEL: 1})).where(
            squares[LEVEL] != names[0], components["df"] + 1
        )
    squares, counts = (array.transpose(..., LEVEL) for array in xr.broadcast(squares, counts))
    like = squares.isel({LEVEL: 0}, drop=True)
    fields = noise_of_components(squares.values, counts.values, depth)
    return xr.Dataset({name: like.copy(data=values) for name, values in fields._asdict().items()})


def _of_timings(
    between: Data, pair: Pair, metric: Any, across: str, *, learn: bool
) -> tuple[xr.Dataset, xr.Dataset, str]:
    """Return the noise of sessions, builds or commits of other timings."""
    level = _level_of(between)
    name = metric if isinstance(between, xr.Dataset) else None
    if (
        name is None
        and isinstance(between, xr.Dataset)
        and pair.candidate.array.name in between.data_vars
    ):
        name = str(pair.candidate.array.name)
    between = between.isel(
        {dim: 0 for dim in LIKE_SESSIONS if between.sizes.get(dim) == 1}, drop=True
    )
    lower = [dim for dim in LEVELS if dim in between.dims and dim != level]
    data = resolve(
        between, name, (level, *lower), positive=Positive("the log of a mean (between=)", level=-1)
    )
    array, labels = data.array, pair.candidate.array.coords.get(across)
    if labels is not None and across in array.indexes:
        positions = array.indexes[across].get_indexer(pd.Index(np.atleast_1d(labels.values)))
        if (positions < 0).all():
            raise ValueError(
                "between= has none of the benchmarks compared; it has "
                f"{listed(array.indexes[across].tolist())}"
            )
        array = array.isel({across: positions[positions >= 0]})
    noise_of, levels = noise_of_history if level in HISTORY else noise_of_sessions, data.levels
    depth = _depth_of_runs(levels, pair)
    suites = [f"suite_{name}" for name in NOISE]
    variables = {f"row_{name}": Output() for name in NOISE} | {name: Output() for name in suites}
    noise = apply_over_suite(
        lambda values: [
            noise
            for part in noise_of_suite(values, len(levels), noise_of, depth=depth, learn=learn)
            for noise in part
        ],
        array,
        across=across,
        core=[data.levels],
        outputs=variables,
        whole=suites,
    ).compute()
    noise = noise.reset_coords(drop=True)
    rows, suite = (
        xr.Dataset({name: noise[f"{kind}_{name}"] for name in NOISE}) for kind in ("row", "suite")
    )
    return rows, suite, level


def _at_labels(
    noise: xr.Dataset, pair: Pair, across: str, level: str
) -> tuple[xr.Dataset, list[Note]]:
    """Return the noise at the labels of the pair, averaged over the dims that it lacks or compares.

    A label without sessions takes the mean of the others, with a note.
    """
    candidate, notes = pair.candidate.array, []
    for dim in map(str, noise.dims):
        labels = candidate.coords.get(dim)
        if dim == pair.dim or (labels is None and dim not in candidate.dims):
            noise = _pooled(noise, dim, across)
        elif labels is not None and labels.dims in ((), (dim,)) and dim in noise.indexes:
            placed = noise.reindex({dim: np.atleast_1d(labels.values)})
            empty = placed["variance"].isnull()
            missing = placed[dim].values[
                empty.all([name for name in empty.dims if name != dim]).values
            ]
            notes += [_missing_note(missing.tolist(), level, dim)] if len(missing) else []
            noise = placed.where(~empty, _pooled(noise, dim, across))
            noise = noise if labels.ndim else noise.isel({dim: 0}, drop=True)
    return noise, notes


def _pooled(noise: xr.Dataset, dim: str, across: str) -> xr.Dataset:
    """Average variances, weighted by their df.

    The df add up, but not along benchmarks, whose sessions are the same.
    """
    df = noise["df"]
    total = df.where(df >= 1).min(dim) if dim == across else df.sum(dim)
    return noise.mean(dim).assign(
        variance=(noise["variance"] * df).sum(dim) / df.sum(dim), df=total
    )


def _missing_note(missing: list[Any], level: str, dim: str) -> Note:
    """Return the note that some labels of a dim have the mean of the others."""
    text = (
        f"{number_of(len(missing), dim)} ({listed(missing, 4)}). They have the mean of the others."
    )
    return Note("unmatched", f"between= has no {plural(level)} of {text}", {plural(dim): missing})
