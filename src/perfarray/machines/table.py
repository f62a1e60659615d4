"""One row per machine: how fast it is, how much it varies, and what it is made of, as typed columns."""

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from perfarray.conventions import LEVELS, MACHINE, METRIC, UNKNOWN
from perfarray.machines.numerics.noise_ceiling import log_spread_noise, spread_of_redrawn
from perfarray.machines.numerics.principal_components import complete_part
from perfarray.numerics.levels import one_value_per_unit
from perfarray.numerics.nested_anova import nested_anova
from perfarray.numerics.types import Floats, Integers, Mask
from perfarray.suites.distributions import relative_variation
from perfarray.tables.descriptions.readings import READINGS, read_each, read_texts
from perfarray.tables.descriptions.software import flags
from perfarray.timings.notes import warn
from perfarray.timings.resampling import Rng
from perfarray.timings.resolve import Data, Timings, check_names, resolve
from perfarray.timings.validation import check_choice, check_count, listed

RESPONSES: Final = ("performance", "relative_variation", "variation")
LEVEL_VARIATION: Final = "_variation"
"""A response named after a level: `execution_variation` is the standard deviation between executions, relative to the mean."""

LEVEL_VARIANCE: Final = "_variance"
"""Its square as estimated without bias, which may be negative: what a model of variances needs."""

MEASURED: Final = ("n_runs", "n_benchmarks", "relative_variation_noise")
"""Columns that say how well the responses are known."""

FLAG: Final = "flag "
"""What the names of columns of flags begin with."""

UNPARSED: Final = "_unparsed"
"""What the names of columns end with that hold the texts nothing could be read from."""

NOISE: Final = "_noise"
"""Beside it, `execution_variance_noise`: what the levels below add to the variance of means of executions, and was taken off."""

ROW: Final = "row"

FLAGS: Final = ("flags", "base_flags", "peak_flags", "compiler_flags", "jvm_args")
"""Coordinates and dims that hold flags."""


def machine_table(
    times: Data,
    *,
    response: str | Sequence[str] = ("performance", "relative_variation"),
    across: str = "benchmark",
    statistic: str = "median",
    mean: str = "geometric",
    method: str = "exact",
    n_resamples: int = 500,
    n_flags: int = 100,
    levels: str | Sequence[str] | None = None,
    rng: Rng = None,
    metric: str | None = None,
) -> pd.DataFrame:
    """Make a table of machines: performance, its relative variation, and every descriptor as a typed column.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings or scores with a dim of machines; or one score per machine without repetitions, as in dumps of published results.
    response : str or tuple of str
        What is computed: `performance`, `relative_variation`, `variation` (performance x relative variation), and for each level of the
        nest what it adds to the variation, relative to the mean (`execution_variation`, `iteration_variation`), or its square as estimated
        without bias (`execution_variance`: negative where that is the estimate; `execution_variance_noise`, what the levels below add to
        the variance of the means of executions, then stands beside it).
    across : str
        The dim of the suite; without it, each row is a benchmark of its own.
    statistic, mean, method, n_resamples, rng : optional
        As for `relative_variation`.
    n_flags : int
        How many of the commonest flags become columns.
    levels : str or tuple of str, optional
        The nest from the outside in; default: the repetition dims present.
    metric : str, optional
        Variable of a Dataset.

    Returns
    -------
    pandas.DataFrame
        One row per machine that was measured. Where other dims are left (`compiler`, `file`, `binary` left out of `levels=`), one row for
        each combination that was measured, and a column that names it.

        Responses, `n_runs` (runs of the benchmark with the fewest), `n_benchmarks`, and `relative_variation_noise`: the standard deviation
        of the sampling noise of log relative variation, from which `explain_variation` computes a noise ceiling. Then descriptors: numbers,
        True or False, or categories; NaN and `unknown` are what nobody wrote down. Caches become `l1_kb` (instructions and data, as
        stated), `l1_instruction_kb`, `l1_data_kb` and `l1_per` (core, chip); memory `memory_gb`, `memory_sticks`, `memory_stick_gb`,
        `memory_speed`; dates are years (May 2012 is 2012.333); `os` and `compiler` are families, with `os_version`, `compiler_version`;
        flags are columns `flag -O3` of True and False.

        A text from which nothing could be read stays in a column `<name>_unparsed`. Attrs: `n_unparsed`, all of them, and `unparsed`, how
        many by name; `n_zero_variation`, rows whose runs are all alike (by rounding); `unmatched`, benchmarks that were left out.

    Raises
    ------
    ValueError
        Nothing measured; unknown responses, levels or dims; and what `relative_variation` raises.

    See Also
    --------
    explain_variation : what explains performance or variation

    Notes
    -----
    All rows are scores of the same suite. Where a row lacks a benchmark, the benchmark or the row with the largest share of gaps goes, and
    so on until there are none; such a row keeps its place, without responses, and is named in a warning.

    References
    ----------
    S. Irving et al., "Computer comparisons in the presence of performance variation", 2018, section 7.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"a": [9.0, 10.0, 11.0], "b": [19.0, 20.0, 21.0]}, dim="machine")
    >>> described = times.assign_coords(l1_cache=("machine", ["32 KB I + 32 KB D on chip per core", "a lot"]))
    >>> table = perfarray.machine_table(described)
    >>> table[["machine", "n_runs", "l1_kb", "l1_cache_unparsed"]].values.tolist()
    [['a', 3, 64.0, ''], ['b', 3, nan, 'a lot']]
    >>> table.attrs["unparsed"]
    'l1_cache: 1'
    """
    check_count(n_flags, "n_flags", 0)
    asked = check_names(response, "response")
    field = _field(times, metric) if levels is None else None
    data = resolve(times, metric, levels) if field is None else None
    known = (*RESPONSES, *(f"{level}{part}" for level in (data.levels if data else ()) for part in (LEVEL_VARIATION, LEVEL_VARIANCE)))
    for name in asked:
        check_choice(name, "response", known)
    array = data.array if data is not None else field
    assert array is not None  # one of the two was made
    rows, labels = _rows(array.compute(), data.levels if data else (), across)
    if data is None:
        table, notes = _scores(rows, across, mean, asked)
    else:
        options = {"statistic": statistic, "mean": mean, "method": method, "n_resamples": n_resamples, "rng": rng}
        table, notes = _responses(rows, data, across, asked, options)
    columns, unparsed = _described(rows, labels, n_flags)
    found = pd.concat([labels, table, pd.DataFrame(columns, index=table.index)], axis=1)
    found.attrs = _attrs(array, table, unparsed) | ({"unmatched": ", ".join(notes.benchmarks)} if notes.benchmarks else {})
    warn(*(data.notes if data else ()), notes.text)
    return found


class _Notes(NamedTuple):
    """Benchmarks left out of all rows, and what is to be said."""

    benchmarks: tuple[str, ...] = ()
    text: str = ""


def _field(times: Data, metric: str | None) -> xr.DataArray | None:
    """Return the variable that holds one value per machine, where there is no repetition dim; None where there is one."""
    if any(dim in LEVELS for dim in times.dims):
        return None
    if isinstance(times, xr.DataArray):
        return times if metric is None else None
    numbers = [str(name) for name, variable in times.data_vars.items() if variable.dtype.kind in "iuf"]
    wanted = metric if metric is not None else times.attrs.get(METRIC)
    if wanted is None and len(numbers) == 1:
        wanted = numbers[0]
    if wanted not in numbers:
        raise ValueError(f"which variable holds the values? Say so with metric=; the Dataset has the numbers {listed(numbers)}")
    return times[str(wanted)]


def _rows(array: xr.DataArray, levels: Sequence[str], across: str) -> tuple[xr.DataArray, pd.DataFrame]:
    """Put every combination of labels that was measured on one dim, machines first; also return its labels."""
    dims = sorted((str(dim) for dim in array.dims if dim not in levels and dim != across), key=lambda dim: (dim != MACHINE, dim))
    if not dims:
        array, dims = array.expand_dims({MACHINE: np.array([UNKNOWN], dtype=object)}), [MACHINE]
    inner = [str(dim) for dim in array.dims if dim not in dims]
    measured = array.notnull().any(inner).transpose(*dims).values
    if not measured.any():
        raise ValueError(f"nothing was measured: all {array.size} values of {array.name or 'the data'} are NaN")
    places = dict(zip(dims, (xr.DataArray(place, dims=ROW) for place in np.nonzero(measured)), strict=True))
    rows = array.isel(places)
    varying = [dim for dim in dims if dim == MACHINE or array.sizes[dim] > 1]
    labels = {dim: rows[dim].values if dim in rows.coords else places[dim].values for dim in varying}
    return rows.transpose(ROW, *inner), pd.DataFrame(labels)


def _scores(rows: xr.DataArray, across: str, mean: str, asked: tuple[str, ...]) -> tuple[pd.DataFrame, _Notes]:
    """Return performance from one value per machine (and benchmark); how it varies is not known."""
    values = rows.values.reshape(rows.sizes[ROW], -1)
    notes, benchmarks = _Notes(), 1
    if across in rows.dims:
        kept, columns, notes = _matched(~np.isnan(values), rows[across].values)
        usable = np.where(kept[:, None], values, np.nan)[:, columns]
        if mean != "arithmetic" and (usable <= 0).any():
            raise ValueError(
                f"mean={mean!r} needs positive values; {int((usable <= 0).sum())} scores are zero or negative: zeros that mean "
                "'not measured' must be NaN"
            )
        values, benchmarks = _MEANS[mean](usable)[:, None], int(columns.sum())
    columns_of = {name: values[:, 0] if name == "performance" else np.full(len(values), np.nan) for name in asked}
    counts = {"n_runs": np.ones(len(values), dtype=int), "n_benchmarks": np.full(len(values), benchmarks)}
    return pd.DataFrame(columns_of | counts), notes


_MEANS: Final = {
    "geometric": lambda values: np.exp(np.log(values).mean(axis=1)),
    "harmonic": lambda values: 1 / (1 / values).mean(axis=1),
    "arithmetic": lambda values: values.mean(axis=1),
}
"""Means over the benchmarks of each row."""


def _matched(measured: Mask, benchmarks: Any) -> tuple[Mask, Mask, _Notes]:
    """Return which rows and benchmarks are the same suite for all."""
    rows, columns = complete_part(measured)
    left_out = tuple(str(name) for name in benchmarks[~columns])
    said = []
    if left_out:
        said.append(f"{len(left_out)} of {len(columns)} benchmarks are left out, so that all rows have the same suite: {listed(left_out)}")
    if not rows.all():
        said.append(f"{int((~rows).sum())} of {len(rows)} rows lack benchmarks of the suite and have no response")
    return rows, columns, _Notes(left_out, "; ".join(said))


def _responses(
    rows: xr.DataArray, data: Timings, across: str, asked: tuple[str, ...], options: dict[str, Any]
) -> tuple[pd.DataFrame, _Notes]:
    """Return responses and how well they are known, one row each."""
    array = rows.reset_coords(drop=True)
    if across not in array.dims:
        array = array.expand_dims({across: ["all"]})
    array = array.transpose(ROW, across, *data.levels)
    kept, columns, notes = _matched(array.notnull().any(data.levels).values, array[across].values)
    suite = array.isel({ROW: np.flatnonzero(kept), across: np.flatnonzero(columns)}).assign_attrs(array.attrs)
    found = relative_variation(suite, across=across, levels=data.levels, **options)
    score, relative = found["performance"].values, found["relative_variation"].values
    runs = found["n"].values.astype(int)
    computed = {"performance": score, "relative_variation": relative, "variation": score * relative}
    computed |= _by_level(suite.values, data.levels)
    beside = [f"{name}{NOISE}" for name in asked if name.endswith(LEVEL_VARIANCE)]
    placed = {name: _placed(computed[name], kept) for name in (*asked, *beside)}
    placed |= {"n_runs": _placed(runs, kept, 0), "n_benchmarks": _placed(np.full(len(runs), int(columns.sum())), kept, 0)}
    if "relative_variation" in asked or "variation" in asked:
        placed["relative_variation_noise"] = _placed(_noise(suite.values, data.levels, runs, options["statistic"]), kept)
    return pd.DataFrame(placed), notes


def _placed(values: npt.NDArray[Any], kept: Mask, blank: float = np.nan) -> npt.NDArray[Any]:
    """Put values at the rows that have some."""
    placed = np.full(len(kept), blank, dtype=values.dtype)
    placed[kept] = values
    return placed


def _by_level(values: Floats, levels: tuple[str, ...]) -> dict[str, Floats]:
    """Return what each level adds to the variation, over benchmarks: its relative variance, the noise that was taken off, and the root."""
    found = nested_anova(values, len(levels))
    squared = found.mean[..., None] ** 2
    variance = _mean_of_known(found.variance / squared)
    noise = _mean_of_known((found.level_variance - found.variance) / squared)
    columns = {}
    for number, level in enumerate(levels):
        columns[f"{level}{LEVEL_VARIANCE}"] = variance[:, number]
        columns[f"{level}{LEVEL_VARIANCE}{NOISE}"] = noise[:, number]
        columns[f"{level}{LEVEL_VARIATION}"] = np.sqrt(np.maximum(variance[:, number], 0.0))
    return columns


def _mean_of_known(shares: Floats) -> Floats:
    """Return means over the benchmarks, axis 1, of what is not NaN."""
    known = (~np.isnan(shares)).sum(axis=1)
    return np.asarray(np.where(known > 0, np.nansum(shares, axis=1) / np.maximum(known, 1), np.nan))


def _noise(values: Floats, levels: tuple[str, ...], runs: Integers, statistic: str) -> Floats:
    """Return the noise of log relative variation, the same for all rows with equally many runs."""
    sample = one_value_per_unit(values, len(levels), 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = spread_of_redrawn(np.log(sample), statistic)
    noise = np.full(len(runs), np.nan)
    for number in np.unique(runs[runs > 1]).tolist():
        noise[runs == number] = log_spread_noise(spread[runs == number], number, statistic)
    return noise


def _described(rows: xr.DataArray, labels: pd.DataFrame, n_flags: int) -> tuple[dict[str, Any], Counter[str]]:
    """Return descriptors as typed columns, and how many texts of each could not be read."""
    columns: dict[str, Any] = {}
    unparsed: Counter[str] = Counter()
    described = {str(name): coord.values for name, coord in rows.coords.items() if coord.dims == (ROW,)}
    for name, values in described.items():
        if name in FLAGS:
            columns |= _flag_columns(values, n_flags)
        elif name in READINGS and values.dtype.kind in "OUS":
            read, failed = read_texts(name, values.tolist())
            typed = {key: _typed(np.array(own, dtype=object)) for key, own in read.items() if key not in labels}
            columns |= {key: _filled(column, described.get(key)) for key, column in typed.items()}
            if any(failed):
                columns[f"{name}{UNPARSED}"] = failed
                unparsed[name] = sum(1 for text in failed if text)
        elif name not in labels:
            columns.setdefault(name, _typed(values))
    return columns, unparsed


def _filled(column: Any, stated: Any) -> Any:
    """Return numbers as they are stated, with their gaps filled by a column that was read; the column where no numbers are stated."""
    if not isinstance(stated, np.ndarray) or stated.dtype.kind not in "iuf":
        return column
    known = stated.astype(float)
    return np.where(np.isnan(known), column, known) if isinstance(column, np.ndarray) and column.dtype.kind == "f" else known


def _typed(values: npt.NDArray[Any]) -> Any:
    """Return numbers as float, answers as True and False where all are known, all else as categories with `unknown`."""
    if values.dtype.kind in "iufb":
        return values
    stated = [value for value in values.tolist() if value is not None and value != UNKNOWN and value == value]
    if stated and all(isinstance(value, bool) for value in stated):
        if len(stated) == len(values):
            return values.astype(bool)
        return pd.Categorical([UNKNOWN if value is None else {True: "yes", False: "no"}.get(value, UNKNOWN) for value in values.tolist()])
    if stated and all(isinstance(value, int | float) for value in stated):
        return np.array([float(value) if isinstance(value, int | float) else np.nan for value in values.tolist()])
    return pd.Categorical([UNKNOWN if value is None or value != value else str(value) for value in values.tolist()])


def _flag_columns(values: npt.NDArray[Any], n_flags: int) -> dict[str, Mask]:
    """Return the commonest flags, in order of how often they occur, as True and False."""
    given = [own or () for own in read_each(flags, values.tolist())]
    number = Counter(flag for own in given for flag in own)
    chosen = sorted(number, key=lambda flag: (-number[flag], flag))[:n_flags]
    return {f"{FLAG}{flag}": np.array([flag in own for own in given]) for flag in chosen}


def _attrs(array: xr.DataArray, table: pd.DataFrame, unparsed: Counter[str]) -> dict[Hashable, Any]:
    """Return the attrs of the table."""
    attrs: dict[Hashable, Any] = {
        "result": "machine_table",
        METRIC: str(array.name or "time"),
        "units": str(array.attrs.get("units", "1")),
        "better": str(array.attrs.get("better", "lower")),
        "n_unparsed": sum(unparsed.values()),
        "unparsed": ", ".join(f"{name}: {count}" for name, count in sorted(unparsed.items())),
    }
    if "relative_variation" in table:
        attrs["n_zero_variation"] = int((table["relative_variation"] == 0).sum())
    return attrs
