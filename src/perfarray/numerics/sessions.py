"""What varies between sessions, from other data, in intervals of two sides of one session each.

The log of the mean of a session of m runs varies by sigma^2 + w / m, with w the variance of runs
inside a session. Sessions measured elsewhere, of M runs, show s^2 = sigma^2 + w / M with their
number less one degrees of freedom; a side of m runs has then s^2 + (1 / m - 1 / M) w, of which the
first part is one estimate for both sides. A side shows its own w, but for a side of one run, which
takes that of the other sessions. Variances are relative: those of logs.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from perfarray.numerics.intervals import Ratio, df_with_prior, ratio_from
from perfarray.numerics.levels import mean_of_measured, summarise_units, unit_means
from perfarray.numerics.moderated import fit_prior, moderate
from perfarray.numerics.types import Floats, Mask

# A difference of neighbours in a history beyond so many standard deviations is a change of the
# program, and no noise.
STEP = 4.0
NORMAL = (
    0.6745  # the median of the distances of normal values from their mean, in standard deviations
)


class SessionNoise(NamedTuple):
    """Relative variances of means of sessions and of runs inside, their df, runs per session."""

    variance: Floats
    df: Floats
    within: Floats
    within_df: Floats
    runs: Floats


class SideError(NamedTuple):
    """The squared relative error of one side's mean by its own runs, their number, and df.

    The error of one run is not known.
    """

    variance: Floats
    n: Floats
    df: Floats


# Which sides of a ratio are one session each, so that their errors lack what varies between
# sessions
SingleSessions = Sequence[Mask | bool]  # by side
BOTH: SingleSessions = (True, True)

# From values and their number of levels, of which sessions are the outermost, to their noise
Noise = Callable[[Floats, int], SessionNoise]


def noise_of_sessions(values: Floats, levels: int) -> SessionNoise:
    """Return the noise of sessions, the outermost of the last `levels` axes.

    NaN for fewer than two.

    `within` is NaN, and a session has one run, where there is no level below.
    """
    runs = unit_means(values, levels - 1)
    if levels == 1:
        runs = runs[..., None]
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = summarise_units(np.log(runs))
        sessions = summarise_units(np.log(mean_of_measured(runs)))
        freedom = np.where(inside.n > 1, inside.n - 1, 0.0)
        within_df = freedom.sum(axis=-1)
        within = (
            np.where(freedom > 0, inside.variance * inside.n * freedom, 0.0).sum(axis=-1)
            / within_df
        )
        number = 1 / mean_of_measured(np.where(inside.n > 0, 1 / inside.n, np.nan))
    return SessionNoise(sessions.variance * sessions.n, sessions.n - 1, within, within_df, number)


def of_runs_further_in(noise: SessionNoise, inner: SessionNoise) -> SessionNoise:
    """Return the noise of sides that are one unit of the level below too.

    Its runs are those of the `inner` noise.

    The mean over n units of that level, which vary by w, lacks (1 - 1 / n) w of the variance of
    one.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        added = np.where(noise.runs > 1, noise.within * (1 - 1 / noise.runs), 0.0)
        variance = noise.variance + added
        terms = noise.variance**2 / noise.df + np.where(added > 0, added**2 / noise.within_df, 0.0)
        return inner._replace(
            variance=variance, df=np.where(terms > 0, variance**2 / terms, noise.df)
        )


def noise_of_components(level_variance: Floats, repetitions: Floats, depth: int) -> SessionNoise:
    """Return the noise of sessions from relative variances of means of every level (..., L).

    Beside them are the repetitions in one parent.

    `depth` is the position of the level of runs: a side is one unit of each level above.
    """
    counts = np.where(repetitions > 1, repetitions, 1.0)
    units = np.cumprod(counts, axis=-1)
    unknown = np.full(counts.shape[:-1], np.nan)

    def at(level: int) -> SessionNoise:
        inside = [unknown, unknown, np.ones_like(unknown)]
        if level < counts.shape[-1]:
            runs = counts[..., level]
            inside = [level_variance[..., level], units[..., level - 1] * (runs - 1), runs]
        return SessionNoise(level_variance[..., 0], counts[..., 0] - 1, *inside)

    noise = at(1)
    for level in range(2, depth + 1):
        noise = of_runs_further_in(noise, at(level))
    return noise


def noise_of_history(values: Floats, levels: int) -> SessionNoise:
    """Return the same of a history, whose neighbours differ by noise but for a few changes.

    The variance is half the mean square of the differences of neighbours, without those that are
    changes; n of them are worth 2 n / 3 degrees of freedom.
    """
    noise = noise_of_sessions(values, levels)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(mean_of_measured(unit_means(values, levels - 1)) if levels > 1 else values)
    # Differences of neighbours that were measured: gaps go to the end.
    order = np.argsort(np.isnan(logs), axis=-1, kind="stable")
    differences = np.diff(np.take_along_axis(logs, order, axis=-1), axis=-1)
    measured = ~np.isnan(differences)
    sizes = np.where(measured.any(axis=-1, keepdims=True), np.abs(differences), 0.0)
    deviation = (
        np.nanmedian(sizes, axis=-1, keepdims=True) / NORMAL
        if sizes.shape[-1]
        else np.zeros((*logs.shape[:-1], 1))
    )
    included = measured & ((np.abs(differences) <= STEP * deviation) | (deviation == 0))
    number = included.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.where(included, differences, 0.0) ** 2
        return noise._replace(
            variance=variance.sum(axis=-1) / (2 * number), df=np.maximum(2 * number / 3, 1.0)
        )


def noise_of_suite(
    values: Floats, levels: int, noise_of: Noise, *, depth: int, learn: bool
) -> tuple[SessionNoise, SessionNoise]:
    """Return the noise of each benchmark, and of their mean, of values (..., benchmarks, levels).

    The runs of a side are those of the level at the position `depth`: a side is one unit of each
    level above.

    If benchmarks `learn` from each other, what is left of sessions without their mean over the
    benchmarks is moderated; that mean, which moves all benchmarks together, is one estimate for all
    and keeps its degrees of freedom.
    """
    rows = noise_of(values, levels)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(unit_means(values, levels))
        centred = logs - mean_of_measured(logs)[..., None]
        # Sessions that have all benchmarks that any session has
        has_logs = ~np.isnan(logs).all(axis=-1, keepdims=True)
        number = has_logs.sum(axis=-2).astype(float)
        mean = np.where(has_logs, centred, 0.0).sum(axis=-2) / number
        suite = noise_of(np.exp(mean), 1)._replace(**runs_of_suite(rows)._asdict())
        if learn:
            residual = noise_of(np.exp(centred - mean[..., None, :]), 1)
            variance = residual.variance * number / (number - 1)
            prior = fit_prior((variance, residual.df))
            moderated = moderate(variance, residual.df, prior)
            common = np.maximum(
                suite.variance[..., None] - np.nanmean(variance, axis=-1, keepdims=True) / number,
                0.0,
            )
            terms = common**2 / suite.df[..., None] + moderated**2 / (
                residual.df + prior.cautious_df[..., None]
            )
            total = common + moderated
            rows = rows._replace(variance=total, df=np.where(terms > 0, total**2 / terms, rows.df))
    for _ in range(depth - 1):
        values = values.reshape(
            *values.shape[: values.ndim - levels], -1, *values.shape[values.ndim - levels + 2 :]
        )
        levels -= 1
        rows = of_runs_further_in(rows, noise_of_sessions(values, levels))
        suite = of_runs_further_in(suite, suite._replace(**runs_of_suite(rows)._asdict()))
    return rows, suite


class RunsOfSuite(NamedTuple):
    """The fields of `SessionNoise` that describe the runs of the mean over the benchmarks."""

    within: Floats
    within_df: Floats
    runs: Floats


def runs_of_suite(rows: SessionNoise) -> RunsOfSuite:
    """Return what runs inside sessions add to the mean over independent benchmarks (last axis)."""
    measured = ~np.isnan(rows.variance)
    number = measured.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        within = np.where(measured, rows.within, 0.0)
        total = within.sum(axis=-1)
        df = total**2 / np.where(measured & (within > 0), within**2 / rows.within_df, 0.0).sum(
            axis=-1
        )
        weights = np.where(np.isnan(total)[..., None] | (total == 0)[..., None], measured, within)
        runs = weights.sum(axis=-1) / np.where(measured, weights / rows.runs, 0.0).sum(axis=-1)
        return RunsOfSuite(total / number**2, df, runs)


def add_sessions(
    ratio: Ratio, noise: SessionNoise, df_rule: str, one_session: SingleSessions = BOTH
) -> tuple[Ratio, Floats]:
    """Return a ratio with the noise of sessions in errors of sides of one session, and its df."""
    sides = (ratio.numerator, ratio.denominator)
    with np.errstate(divide="ignore", invalid="ignore"):
        freedoms = dfs_of_sides(ratio, df_rule)
        errors = [
            SideError(side.variance / side.mean**2, side.n, df)
            for side, df in zip(sides, freedoms, strict=True)
        ]
    variances, df = variances_of_sides(errors, noise, one_session)
    moved = [
        side._replace(variance=np.where(side.n > 0, variance * side.mean**2, np.nan))
        for side, variance in zip(sides, variances, strict=True)
    ]
    return ratio_from(*moved), df


def dfs_of_sides(ratio: Ratio, rule: str) -> list[Floats]:
    """Return the degrees of freedom of the error of each side, as `ratio_df` counts them."""
    sides = (ratio.numerator, ratio.denominator)
    if rule == "normal":
        return [np.full(side.n.shape, np.inf) for side in sides]
    numbers = [
        np.where(ratio.n > 1, ratio.n, 2.0) - 1 if rule == "conservative" else side.n - 1
        for side in sides
    ]
    if ratio.prior_df is None:
        return numbers
    shares = ratio.prior_shares
    return [
        df_with_prior([np.ones(share.shape)], [share], [df], ratio.prior_df)
        for share, df in zip(shares, numbers, strict=True)
    ]


def variances_of_sides(
    errors: Sequence[SideError], noise: SessionNoise, one_session: SingleSessions = BOTH
) -> tuple[Floats, Floats]:
    """Return the variances of both sides (first axis), and the degrees of freedom of their sum.

    A side that is not `one_session` has several, and the error that these show.
    A side differs from the other sessions by a change, and has no less than what its runs show.
    Where it has more runs than those sessions, and what their runs add is not known well enough to
    be subtracted, nothing is: limits are wider than they need be. A side of one run whose spread
    nothing tells has NaN.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        # A baseline of several candidates has one row for all.
        variance, n, df = (
            np.stack(np.broadcast_arrays(*fields)) for fields in zip(*errors, strict=True)
        )
        without = np.stack(np.broadcast_arrays(*one_session, variance[0]))[:2].astype(bool)
        one_run, sessions = (n == 1) & without, np.where(without, noise.variance, 0.0)
        within = np.where(one_run, noise.within, variance * n)
        # Runs as many as those of the other sessions are in their variance already.
        same_runs = n == noise.runs
        inside, change = (
            np.where(same_runs & one_run, 0.0, within / n),
            np.where(same_runs, 0.0, within / n - within / noise.runs),
        )
        inside, change = (
            np.where(without, side_variance, variance) for side_variance in (inside, change)
        )
        # What sessions vary by has few degrees of freedom, and what a single run does has many:
        # where the first comes out small by chance, Satterthwaite's formula has far too many (7.5 %
        # false with three sessions). The mean of both, weighted, has not (Cochran, Cox).
        power = np.where(one_run.any(axis=0), 1, 2)

        def joint(change: Floats) -> tuple[Floats, Floats]:
            variances = np.maximum(sessions + change, inside)
            terms = sessions.sum(axis=0) ** power / noise.df
            terms = terms + np.where(one_run, 0.0, np.abs(change) ** power / df).sum(axis=0)
            borrowed = np.where(one_run, change, 0.0).sum(axis=0)
            terms = terms + np.where(borrowed > 0, borrowed**power / noise.within_df, 0.0)
            return variances, np.where(terms > 0, variances.sum(axis=0) ** power / terms, noise.df)

        (variances, exact), (wide, cautious) = joint(change), joint(np.maximum(change, 0.0))
    vague = exact < noise.df
    return np.where(vague, wide, variances), np.asarray(np.where(vague, cautious, exact))
