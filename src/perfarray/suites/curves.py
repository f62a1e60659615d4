"""What the pictures of suites show: densities of scores, histograms of ratios, profiles."""

from typing import Final

import numpy as np
import xarray as xr

from perfarray.conventions import BENCHMARK, HIGHER
from perfarray.numerics.curves import histogram, kernel_density
from perfarray.numerics.suite import run_statistic, suite_units
from perfarray.numerics.types import Floats, Mask
from perfarray.suites.matching import REPLICATE, along
from perfarray.suites.numerics.profiles import performance_ratios, profile_of
from perfarray.suites.one_system import describe_one, match_cells
from perfarray.timings.across import for_each_suite
from perfarray.timings.apply import apply, outputs
from perfarray.timings.best import SUMMARIES, resolve_best
from perfarray.timings.penalties import (
    NEVER,
    PENALISED,
    number_unsolved,
    penalised,
    penalties_note,
    unsolved_as_stopped,
)
from perfarray.timings.resolve import Data, check_dim, resolve
from perfarray.timings.units import describe_unit, unit_depth
from perfarray.timings.validation import (
    check_choice,
    check_confidence_level,
    check_count,
    listed,
)
from perfarray.timings.weights import weigh
from perfarray.timings.zeros import Positive

PLACES = 400  # places at which a density is estimated
QUARTILES = (0.25, 0.5, 0.75)
BEYOND = 3.0  # how far a density reaches beyond the scores, in standard deviations of its kernel

# By the variable that holds ratios of redrawn scores, that of the observed ratio.
OBSERVED: Final = {"null_distribution": "statistic", "distribution": "estimate"}


def densities(scores: xr.DataArray) -> xr.Dataset:
    """Estimate the density of every cell's scores, and their quartiles.

    Parameters
    ----------
    scores : DataArray
        What `score_distribution` returned, or a selection of it.

    Returns
    -------
    Dataset
        Along `place`: `score` (units of the scores) and `density`, NaN where the score never
        varies: Gaussian kernels by Scott's rule. Along `quartile`: `quartiles` (units of the
        scores). Coordinates and attrs are those of the scores.
    """
    units = str(scores.attrs.get("units", "1"))
    variables = (
        outputs(units, ("place",), score="")
        | outputs("", ("place",), density="")
        | outputs(units, ("quartile",), quartiles="")
    )
    labels = {"place": range(PLACES), "quartile": QUARTILES}

    def density_and_quartiles(values: Floats) -> tuple[Floats, ...]:
        quartiles = np.moveaxis(np.quantile(values, QUARTILES, axis=-1), 0, -1)
        return *kernel_density(values, points=PLACES, beyond=BEYOND), quartiles

    return apply(
        density_and_quartiles,
        scores,
        core=[[REPLICATE]],
        outputs=variables,
        coords=labels,
        attrs=scores.attrs,
    )


def ratio_histograms(result: xr.Dataset, *, bins: int = 40) -> xr.Dataset:
    """Count the ratios of every cell in bins.

    Parameters
    ----------
    result : Dataset
        What `randomization_test` or `score_ratio_interval` returned with `distribution=True`, or a
        selection of it.
    bins : int
        Bins of a histogram.

    Returns
    -------
    Dataset
        `edges` along `edge`, `counts` along `bin` (NaN where all ratios are one value), `observed`,
        and what the result has: `pvalue`, or `lower` and `upper`. The attr `result` is the name of
        the variable that was counted.
    """
    number = check_count(bins, "bins")
    name = next(name for name in OBSERVED if name in result)
    variables = outputs("1", ("edge",), edges="") | outputs("1", ("bin",), counts="")
    labels = {"edge": range(number + 1), "bin": range(number)}
    histograms = apply(
        lambda ratios: histogram(ratios, number),
        result[name],
        core=[[REPLICATE]],
        outputs=variables,
        coords=labels,
    )
    return (
        result.drop_dims(REPLICATE)
        .rename({OBSERVED[name]: "observed"})
        .assign(histograms)
        .assign_attrs(result=name)
    )


PLACE = "place"
PROFILES = ("ratio", "time")


@for_each_suite
def profile(
    times: Data,
    *,
    dim: str | None = None,
    kind: str = "ratio",
    limit: float | None = None,
    statistic: str = "mean",
    confidence_level: float = 0.95,
    across: str = BENCHMARK,
    by: str | None = None,
    levels: str | tuple[str, ...] | None = None,
    metric: str | None = None,
) -> xr.Dataset:
    """Return the performance profile of every system, with pointwise limits.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings of several systems along `dim`. Runs that were stopped or failed are not solved, at
        any time.
    dim : str, optional
        The systems; default: the one dim with several labels that is no level and not `across`.
    kind : {"ratio", "time"}
        The share of the benchmarks that a system solves within a factor of the fastest system of
        each; or within a time (a cactus plot with its axes exchanged).
    limit : float, optional
        Time from which on a run counts as not solved, in the units of the data.
    statistic : {"mean", "median", "min", "best", "geometric"}
        Of the runs of one benchmark. A mean is solved if all runs are, a minimum if one is.
    confidence_level : float
        Between 0 and 1.
    across, by, levels, metric
        As for `suite_score`.

    Returns
    -------
    Dataset
        Along `place`, from 0 to the number of benchmarks: `value` (a factor, or a time), and
        `share` that is solved up to there, with `lower` and `upper`; NaN past the last that is
        solved. `solved` and `n` are numbers of benchmarks.

    Raises
    ------
    ValueError
        Unknown dims or choices; several dims and no `dim`; rates.

    Notes
    -----
    The limits are Wilson's, with continuity correction: the benchmarks are taken as a sample of
    programs like these. They hold at each place, not for the whole curve, and the curves of
    systems on the same benchmarks rise together, so that bands that overlap may differ. A factor
    depends on which other systems are there (Gould and Scott, 2016): use `kind="time"`, or two
    systems, to rank them.

    References
    ----------
    E. D. Dolan and J. J. More, "Benchmarking optimization software with performance profiles",
    Mathematical Programming 91, 2002. N. Gould and J. Scott, "A note on performance profiles for
    benchmarking software", ACM Transactions on Mathematical Software 43(2), 2016.
    """
    check_choice(kind, "kind", PROFILES)
    check_choice(statistic, "statistic", SUMMARIES)
    level = check_confidence_level(confidence_level)
    is_ratio = kind == "ratio"
    marked = resolve(
        unsolved_as_stopped(times, metric, limit=limit, placeholder=1.0),
        metric,
        levels,
        censored="bound",
        positive=Positive("a ratio of times", "min") if is_ratio else None,
    )
    if marked.better == HIGHER:
        raise ValueError("a profile is of times, and higher is better here; choose another metric=")
    data, weighing = penalised(marked, NEVER), weigh(times, across, None)
    unit_index, depth = unit_depth(data, None), len(data.levels)
    system = match_cells(data, across, weighing)
    array = along(system.data, across)
    dim = _dim_of_systems(array, (across, *data.levels), dim, is_ratio=is_ratio)
    # Times of one system stand alone.
    array = array if dim in array.dims else array.expand_dims(dim)
    number, statistic_of_runs = array.sizes[across], resolve_best(statistic, data.better)

    def kernel(values: Floats, complete: Mask) -> tuple[Floats, ...]:
        values = values.compress(complete.reshape(-1), axis=-depth - 1)
        units = suite_units(values, values.shape[: -depth - 1], depth, unit_index)
        solutions = run_statistic(units, statistic_of_runs).reshape(values.shape[:-depth])
        solutions = performance_ratios(solutions) if is_ratio else solutions
        return tuple(profile_of(solutions, float(is_ratio), number + 1, level))

    variables = (
        outputs("1" if is_ratio else data.units, (dim, PLACE), value="")
        | outputs("1", (dim, PLACE), share="", lower="", upper="")
        | outputs("1", (dim,), solved="", n="")
    )
    core = [[dim, across, *data.levels], [across]]
    names = {PLACE: range(number + 1)} | ({dim: array[dim].values} if dim in array.coords else {})
    result = apply(kernel, array, system.complete, core=core, outputs=variables, coords=names)
    attrs = describe_unit(data, unit_index) | {"result": "profile", "kind": kind, "dim": dim}
    attrs |= {"statistic": statistic, "confidence_level": level, "censored": PENALISED}
    runs, is_lazy = number_unsolved(marked)
    return describe_one(result, system, attrs, penalties_note(runs, NEVER, lazy=is_lazy))


def _dim_of_systems(
    array: xr.DataArray, other_dims: tuple[str, ...], dim: str | None, *, is_ratio: bool
) -> str:
    """Return the dim of the systems; raise where it is not known, and a ratio needs it."""
    candidates = [str(name) for name in array.dims if name not in other_dims]
    if dim is not None:
        if check_dim(array, dim) not in candidates:
            raise ValueError(f"dim={dim!r} is not one of the systems'; choose one of {candidates}")
        return dim
    several = [name for name in candidates if array.sizes[name] > 1] or candidates[:1]
    if is_ratio and len(several) != 1:
        raise ValueError(
            f"which systems compete? Give dim=, one of {listed(several)}"
            if several
            else "a ratio needs several systems along a dim; use kind='time' for one alone"
        )
    return several[0] if several else "system"
