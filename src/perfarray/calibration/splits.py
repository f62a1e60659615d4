"""A/A splits: how often each rule sees a difference between halves of the same timings."""

from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from perfarray.calibration.designs import EXPERIMENT
from perfarray.calibration.numerics.splits import halves, number_of_splits
from perfarray.calibration.rules import OURS, RULES, AlarmRule, check_rules
from perfarray.calibration.thresholds import NOISE_DIMS, thresholds_from_noise
from perfarray.comparisons.compare import compare
from perfarray.conventions import LEVELS, MACHINE, plural
from perfarray.numerics.random import SPLITS, Key, Streams
from perfarray.numerics.types import Floats, Integers, Mask
from perfarray.numerics.verdicts import POWER
from perfarray.results.words import percent
from perfarray.timings.metrics import for_each_metric
from perfarray.timings.notes import Note, collecting_notes, with_notes
from perfarray.timings.resolve import Data, Timings, resolve
from perfarray.timings.streams import Rng, cell_keys, describe_key, key_of
from perfarray.timings.validation import (
    check_confidence_level,
    check_count,
    check_share,
    check_threshold,
    listed,
)
from perfarray.timings.zeros import Positive

MOST_VALUES = (
    1 << 16
)  # values of both halves that are compared at once, unless one cell has more; it changes no number
MANY = 1_000_000  # splits beyond which a note gives no number


@for_each_metric
def calibrate(
    times: Data,
    *,
    rules: Any = (OURS, *RULES),
    threshold: float = 0.0,
    n_splits: int = 200,
    confidence_level: float = 0.95,
    levels: str | tuple[str, ...] | None = None,
    rng: Rng = None,
    false_alarms: float = 0.01,
    statistic: str = "mean",
    method: str | None = None,
    prior: str | None = None,
    between: Any = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Count false alarms of each rule: how often random halves of the same timings seem different.

    Parameters
    ----------
    times, levels, metric
        Timings, their nest, and the variables; every label of other dims is a cell.
    rules : str, callable or sequence of them
        "perfarray" (`compare`); rules that pool all values of a side: "pooled_t" (pyperf),
        "pooled_mannwhitney" (benchstat, Google Benchmark), "errors_apart" (JMH), "means_2_percent",
        "means_5_percent"; the name of another method; or a callable. None: thresholds alone.
    threshold : float
        A relative change that does not matter: 0.02 means 2 %.
    n_splits : int
        The most splits of a cell.
    confidence_level : float
        1 less the risk of the rules; also of `noise_floor`.
    rng : int, str or numpy.random.Generator, optional
        Seed of the splits.
    false_alarms : float
        The rate of false alarms of the least thresholds.
    statistic, method, prior, between
        Of `compare` as it will be used with them.

    Returns
    -------
    Dataset
        Along `rule`: `false_alarm_rate`, the mean over cells; `error`, its standard error between
        cells; `unanswered`, the share of splits without an answer; `used_by`. Along `rule` and the
        cells' dims: `cell_rate`. For every cell: `noise_floor`, the relative change that 95 % of
        comparisons stay below though nothing changed; `smallest_change`, the one seen with 80 %
        power; `n_splits`; `n`, the units. Where there are sessions or a history, along
        `benchmark`: `threshold`, the least one with `false_alarms` between two sessions, with
        `threshold_lower` and `threshold_upper`; `detectable_change`, the slowdown then seen with
        80 % power; `session_standard_deviation` with `session_df`; `n_sessions`;
        `suite_threshold` (:doc:`/how-to/thresholds`).

    Raises
    ------
    ValueError
        Unknown rules, levels or metrics; a threshold below zero.

    Notes
    -----
    Rates are those of comparisons with half of the units. What is the same for all units (one
    session, one machine) raises no alarm. See :doc:`/how-to/trust`.

    Examples
    --------
    >>> import warnings, perfarray
    >>> times = perfarray.simulate(
    ...     sizes={"execution": 10, "iteration": 20},
    ...     variances={"execution": 1e-4, "iteration": 1e-4},
    ...     dims={"benchmark": 20},
    ...     rng=1,
    ... )
    >>> with warnings.catch_warnings(action="ignore"):
    ...     rates = times.perf.calibrate(rules=("perfarray", "pooled_t"), n_splits=50, rng=1)
    >>> (rates["false_alarm_rate"] < 0.1).to_series().to_dict()
    {'perfarray': True, 'pooled_t': False}
    """
    level, tau, max_splits = (
        check_confidence_level(confidence_level),
        check_threshold(threshold),
        check_count(n_splits, "n_splits"),
    )
    risk = check_share(false_alarms, "false_alarms", "0.01")
    data = resolve(times, metric, levels, positive=Positive("the log of a ratio of halves"))
    asked = {"statistic": statistic, "method": method, "prior": prior, "between": between}
    asked |= {"confidence_level": level, "rng": None if method is None else rng}
    thresholds, notes = thresholds_from_noise(data, risk, asked)
    if rules is None:
        return _thresholds_alone(thresholds, notes, data, level, risk)
    cells = [str(dim) for dim in data.array.dims if dim not in data.levels]
    array = data.array.compute().transpose(*cells, *data.levels)
    key = key_of(rng)
    checked = check_rules(rules, data.levels, tau, level, str(describe_key(key)["rng_key"]))
    bare = array.drop_vars(list(array.coords))
    with collecting_notes():  # a second set of units without any difference
        comparison = compare(bare, bare, levels=data.levels, threshold=tau, confidence_level=level)
    numbers = cell_keys([array], data.levels).transpose(*cells).values.ravel()
    counts = _count_alarms(
        array.values.reshape(-1, *array.shape[len(cells) :]),
        numbers,
        data,
        checked,
        max_splits,
        level,
        key,
    )
    result = _result(counts, checked, cells, array.shape[: len(cells)])
    result = result.assign_coords(
        {dim: array[dim].variable for dim in cells if dim in array.coords}
    )
    result["smallest_change"] = (
        tuple(cells),
        comparison["smallest_change"].transpose(*cells).values,
        {"units": "1"},
    )
    result.attrs = (
        data.describe()
        | {"result": "calibrate", "confidence_level": level, "threshold": tau, "power": POWER}
        | describe_key(key)
    )
    if thresholds.data_vars:
        attrs = thresholds.attrs | {"false_alarms": risk}
        result = result.merge(thresholds, compat="override").assign_attrs(attrs)
    return with_notes(result, *data.notes, *data.unit_notes, *_notes(result, data), *notes)


def _thresholds_alone(
    thresholds: xr.Dataset, notes: list[Note], data: Timings, level: float, risk: float
) -> xr.Dataset:
    """Return the answer without rules."""
    if not thresholds.data_vars:
        raise ValueError(
            "Thresholds need two sessions or more. The timings have none of the dims "
            f"{listed(NOISE_DIMS)}; they have {listed(data.array.dims)}"
        )
    attrs = {"result": "thresholds", "confidence_level": level, "false_alarms": risk}
    return with_notes(thresholds.assign_attrs(data.describe() | attrs), *data.notes, *notes)


def _count_alarms(
    values: Floats,
    numbers: npt.NDArray[np.uint64],
    data: Timings,
    rules: list[AlarmRule],
    max_splits: int,
    level: float,
    key: Key,
) -> dict[str, Floats]:
    """Split and compare the cells, those with the same number of units at once.

    Return by rule and cell the shares of splits with an alarm and without an answer; by cell the
    noise floor, the splits and the units.
    """
    measured = ~np.isnan(values).all(axis=tuple(range(2, values.ndim)))
    n = measured.sum(axis=1)
    order = np.argsort(~measured, axis=1, kind="stable")
    values = np.take_along_axis(
        values, order.reshape(order.shape + (1,) * (values.ndim - 2)), axis=1
    )
    rate, unanswered = np.full((2, len(rules), len(values)), np.nan)
    noise_floor, splits = np.full(len(values), np.nan), np.zeros(len(values))
    for units in sorted({int(count) for count in n if count > 1}):
        sides = halves(units, max_splits, Streams(key).generator(units, SPLITS))
        cells, size = np.flatnonzero(n == units), units * int(np.prod(values.shape[2:]))
        at_once = max(1, MOST_VALUES // (len(sides[0]) * size))
        for first in range(0, len(cells), at_once):
            rows = cells[first : first + at_once]
            alarms, answered, change = _judged(
                _trimmed(values[rows]), numbers[rows], sides, data, rules
            )
            rate[:, rows], unanswered[:, rows] = alarms.mean(axis=-1), 1 - answered.mean(axis=-1)
            reached = np.quantile(change, level, axis=-1, method="inverted_cdf")
            noise_floor[rows], splits[rows] = np.expm1(reached / np.sqrt(2)), len(sides[0])
    return {
        "cell_rate": rate,
        "unanswered": unanswered,
        "noise_floor": noise_floor,
        "n_splits": splits,
        "n": n.astype(float),
    }


def _trimmed(values: Floats) -> Floats:
    """Leave out the padding of ragged data: repetitions that no unit of these cells has."""
    for axis in range(2, values.ndim):
        other_axes = tuple(other_axis for other_axis in range(values.ndim) if other_axis != axis)
        values = np.compress(~np.isnan(values).all(axis=other_axes), values, axis)
    return values


def _judged(
    values: Floats,
    numbers: npt.NDArray[np.uint64],
    sides: tuple[Integers, Integers],
    data: Timings,
    rules: list[AlarmRule],
) -> tuple[Mask, Mask, Floats]:
    """Return alarms and answers (rule, cell, split), and absolute log ratios of means."""
    splits, units = len(sides[0]), sides[0].shape[1] + sides[1].shape[1]
    at_once = max(1, MOST_VALUES // (units * int(np.prod(values.shape[2:])) * len(values)))
    alarms, answered = np.zeros((2, len(rules), len(values), splits), dtype=bool)
    change = np.zeros((len(values), splits))
    for first in range(0, splits, at_once):
        block = slice(first, first + at_once)
        labels = numbers[:, None] + np.arange(splits, dtype=np.uint64)[block]
        pair = [_as_timings(values[:, side[block]], labels, data) for side in sides]
        for index, rule in enumerate(rules):
            alarms[index, :, block], answered[index, :, block] = (
                by_split.reshape(labels.shape) for by_split in rule.judge(*pair)
            )
        change[:, block] = np.abs(np.log(_mean(pair[0]) / _mean(pair[1]))).reshape(labels.shape)
    return alarms, answered, change


def _as_timings(values: Floats, labels: npt.NDArray[np.uint64], data: Timings) -> xr.DataArray:
    """Return one side of some splits of some cells as timings along `experiment`."""
    coords = {EXPERIMENT: labels.ravel().view(np.int64)}
    attrs = {"units": data.units, "better": data.better}
    return xr.DataArray(
        values.reshape(-1, *values.shape[2:]),
        coords,
        (EXPERIMENT, *data.levels),
        name=data.array.name,
        attrs=attrs,
    )


def _mean(side: xr.DataArray) -> npt.NDArray[Any]:
    """Return the unweighted mean of the units, inside which the lower levels are averaged."""
    for level in reversed(list(map(str, side.dims))[1:]):
        side = side.mean(level)
    return side.values


def _result(
    counts: dict[str, Floats], rules: list[AlarmRule], cells: list[str], shape: tuple[int, ...]
) -> xr.Dataset:
    """Label the counts of all cells, and average them over those that were split."""
    split = ~np.isnan(counts["noise_floor"])
    rate, unanswered, number = (
        counts["cell_rate"][:, split],
        counts.pop("unanswered")[:, split],
        int(split.sum()),
    )
    mean, error, silent_share = np.full((3, len(rules)), np.nan)
    if number:
        mean, silent_share = rate.mean(axis=1), unanswered.mean(axis=1)
    if number > 1:
        error = rate.std(axis=1, ddof=1) / np.sqrt(number)
    silent = (unanswered == 1).all(axis=1)  # A rule that never answers has no rate.
    unit = {"units": "1"}
    variables: dict[str, Any] = {
        "false_alarm_rate": (
            "rule",
            np.where(silent, np.nan, mean),
            unit | {"long_name": "mean share of splits with a false alarm"},
        ),
        "error": (
            "rule",
            np.where(silent, np.nan, error),
            unit | {"long_name": "standard error between cells"},
        ),
        "unanswered": ("rule", silent_share, unit),
        "used_by": ("rule", np.array([rule.used_by for rule in rules], dtype=object)),
    }
    for name, values in counts.items():
        by_rule = ("rule",) if values.ndim > 1 else ()
        variables[name] = ((*by_rule, *cells), values.reshape((*values.shape[:-1], *shape)), unit)
    result = xr.Dataset(variables, {"rule": np.array([rule.name for rule in rules], dtype=object)})
    result["n"].attrs["long_name"] = "independent units"
    return result


def _notes(result: xr.Dataset, data: Timings) -> list[Note]:
    n, unit = result["n"].values[result["n"].values > 0], data.levels[0]
    cells, without, n_few = len(n), int((n == 1).sum()), int(((n > 1) & (n < 4)).sum())
    notes = [_summary(result), _caveats(result, data)] if without < cells else []
    n_few = n_few if OURS in result["rule"].values else 0
    sentences = []
    if without or not cells:
        lower = f", or name a lower level with levels={data.levels[1:]}" if data.levels[1:] else ""
        sentences.append(
            f"{without} of {cells} cells have one {unit}, which cannot be split. "
            f"Measure more{lower}."
        )
    if n_few:
        sentences.append(
            f"{n_few} of {cells} cells have fewer than 4 {plural(unit)}. With one in a half, "
            f"{OURS} has no answer and raises no alarm."
        )
    if sentences:
        numbers = {"one": without, "fewer_than_four": n_few, "of": cells}
        notes.append(Note("few_units", " ".join(sentences), numbers))
    return notes


def _summary(result: xr.Dataset) -> Note:
    rates = dict(
        zip(result["rule"].values.tolist(), result["false_alarm_rate"].values.tolist(), strict=True)
    )
    change = float(result["smallest_change"].median())
    risk = round(1 - float(result.attrs["confidence_level"]), 12)
    (first, rate), *further_rules = rates.items()
    clauses = [
        f"{first} gives no answer" if rate != rate else f"{first} calls {percent(rate)} different"
    ]
    clauses += [f"{name} {percent(rate)}" for name, rate in further_rules]
    text = (
        f"Of comparisons between halves of the same timings, {', '.join(clauses)}, where "
        f"{percent(risk)} were meant."
    )
    if change == change:
        text += (
            f" Changes below {percent(change)} (median of the cells) are not seen with "
            f"{percent(POWER)} power."
        )
    return Note("calibration", text, rates | {"smallest_change": change})


def _caveats(result: xr.Dataset, data: Timings) -> Note:
    """Describe the splits behind the rates and their errors."""
    unit, n = data.levels[0], result["n"].values
    units, n_units, split_cells = plural(unit), int(n.max()), int((n > 1).sum())
    above = LEVELS[: LEVELS.index(unit)] if unit in LEVELS else ()
    differences = " or ".join(map(plural, (*above, MACHINE)))
    text = (
        f"The rates are those of halves, {n_units // 2} of {n_units} {units} a side. "
        f"This check does not see differences between {differences}."
    )
    values: dict[str, int] = {"units": n_units}
    if split_cells == 1:
        splits, distinct = int(result["n_splits"].max()), number_of_splits(n_units)
        n_distinct = f"{distinct:,}" if distinct <= MANY else "more than a million"
        values |= {"splits": splits, "distinct": distinct}
        text += (
            f" There is one cell, {splits} of {n_distinct} distinct splits, and so no standard "
            "error. More benchmarks give one."
        )
    elif unit in data.shared:
        text += f" The cells share their {units}, so that the error is too small."
    return Note("halves", text, values)
