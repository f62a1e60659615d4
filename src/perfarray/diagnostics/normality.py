"""Whether runs, or means of runs, are normal."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from perfarray.numerics.dependence import measured_first
from perfarray.numerics.levels import one_value_per_unit
from perfarray.numerics.normality import LEAST, shapiro_wilk
from perfarray.numerics.types import Floats
from perfarray.timings.apply import Output, apply, outputs
from perfarray.timings.metrics import for_each_metric
from perfarray.timings.notes import Note, check, count_note, with_notes
from perfarray.timings.resolve import Data, resolve
from perfarray.timings.units import describe_unit, unit_depth
from perfarray.timings.validation import check_choice, check_count, check_share

STATISTICS = ("mean", "median")


@for_each_metric
def normality(
    times: Data,
    *,
    alpha: float = 0.05,
    group_sizes: Sequence[int] = (1,),
    statistic: str = "mean",
    unit: str | None = None,
    levels: str | tuple[str, ...] | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Test whether run times, or means of groups of runs, are normal.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings; dims that are not levels broadcast.
    alpha : float
        The risk of rejecting a normal sample.
    group_sizes : sequence of int
        Consecutive runs in a group, whose means or medians are tested; 1 tests the runs.
    statistic : {"mean", "median"}
        Of each group.
    unit : str, optional
        The level whose repetitions are the sample; lower ones are averaged. Default: the outermost.
    levels, metric : str or sequence of str, optional
        The nest, outermost first (default: the levels present); the variables (default: `time`).

    Returns
    -------
    Dataset
        Along `group_size`, for every cell: `statistic` (W of Shapiro and Wilk), `pvalue`,
        `rejected`, and `n`, the groups tested; over all cells `share_rejected`. Fewer than 3
        groups, and equal groups, give NaN.

    Raises
    ------
    ValueError
        Unknown names; an alpha outside 0 to 1; group sizes that are not whole numbers.

    Notes
    -----
    Large samples are nearly always rejected, for departures of no consequence: look at the picture.

    References
    ----------
    S. Touati, J. Worms, S. Briais, "The Speedup-Test", 2010, appendix C, tables 3 to 6.

    Examples
    --------
    >>> import numpy as np, perfarray
    >>> skewed = np.random.default_rng(1).exponential(size=1000)
    >>> times = perfarray.from_samples({"fft": skewed}, dim="benchmark")
    >>> tests = times.perf.normality(group_sizes=(1, 5, 50))
    >>> tests["rejected"].sel(benchmark="fft").to_series().to_dict()
    {1: True, 5: True, 50: False}
    """
    risk = check_share(alpha, "alpha", example="0.05")
    check_choice(statistic, "statistic", STATISTICS)
    sizes = sorted({check_count(size, "group_sizes") for size in group_sizes})
    data = resolve(times, metric, levels, as_nested=unit is not None)
    depth, mean = unit_depth(data, unit), statistic == "mean"

    def kernel(values: Floats) -> tuple[np.ndarray, ...]:
        runs = one_value_per_unit(values, len(data.levels), depth)
        in_order, _ = measured_first(runs)
        groups = []
        for size in sizes:
            number = runs.shape[-1] // size
            of_size = in_order[..., : number * size].reshape(*runs.shape[:-1], number, size)
            groups.append(np.mean(of_size, axis=-1) if mean else np.median(of_size, axis=-1))
        tests = [shapiro_wilk(sample) for sample in groups]
        pvalue = np.stack([test.pvalue for test in tests], axis=-1)
        n = np.stack([(~np.isnan(sample)).sum(axis=-1) for sample in groups], axis=-1).astype(float)
        return np.stack([test.statistic for test in tests], axis=-1), pvalue, pvalue <= risk, n

    along = ("group_size",)
    result = apply(
        kernel,
        data.array,
        core=[data.levels],
        outputs={
            **outputs("1", along, statistic="W of Shapiro and Wilk", pvalue=""),
            "rejected": Output(along, "", bool, f"not normal at {risk:.3g}"),
            **outputs("1", along, n="groups tested"),
        },
        coords={"group_size": sizes},
        attrs=describe_unit(data, depth)
        | {"result": "normality", "alpha": risk, "of_groups": statistic},
    )
    cells = [dim for dim in result["pvalue"].dims if dim != "group_size"]
    share = result["rejected"].where(result["pvalue"].notnull()).mean(cells)
    result["share_rejected"] = share.assign_attrs(
        units="1", long_name="share of the samples that were tested"
    )
    return with_notes(result, *data.notes, checks=("untested",))


@check("untested")
def untested_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Count the cells that were not tested at any size."""
    unit, levels = str(result.attrs["unit"]), str(result.attrs["levels"]).split()
    inner = levels[levels.index(unit) + 1 :]
    text = f"{{cells}} were not tested: they have fewer than {LEAST} values, or equal ones."
    if inner:
        text += f" Values are {unit} means; unit={inner[0]!r} takes each {inner[0]} as a value."
    untested = result["pvalue"].isnull().all("group_size")
    return (count_note("not_tested", text, untested, least=LEAST),)
