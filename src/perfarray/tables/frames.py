"""From pandas and Python lists to timings."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from perfarray.conventions import CENSORED, CENSORED_AT, COMPARED, DIRECTIONS, ITERATION, LEVELS, MARKS, TIME, UNKNOWN, seconds_factor
from perfarray.numerics.types import Integers, Mask
from perfarray.tables.build import build
from perfarray.tables.columns import Column, Metric, Table, column_of, in_seconds, level_order, number_within, row_in_parent
from perfarray.timings.notes import Note, keeping
from perfarray.timings.resolve import Data, check_names
from perfarray.timings.validation import check_choice, listed
from perfarray.timings.values import direction_of


def to_timings(
    frame: pd.DataFrame,
    /,
    *,
    value: str | Mapping[str, str] = TIME,
    units: str | Mapping[str, str] = "s",
    better: str | Mapping[str, str] | None = None,
    level: str = "execution",
    shared: str | Sequence[str] | None = None,
    **dims: str,
) -> xr.Dataset:
    """Make labelled timings of a long table with one row per measurement.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per measurement.
    value : str or mapping
        The column with the measurements; or a mapping of metric names to columns.
    units : str or mapping
        Their unit, or one per metric. Times (ns, us, ms, s, min, h) are converted to seconds.
    better : {"lower", "higher"} or mapping, optional
        Which direction is good, or one per metric; default: higher for rates such as `ops/s`, lower for all else.
    level : str
        The level that rows are numbered along when no column tells repetitions apart.
    shared : str or sequence of str, optional
        Levels whose labels are the same unit for every benchmark (build 3 of one is build 3 of the other); default:
        `frame.attrs["shared_levels"]`. Their labels keep their place, with NaN where one is missing.
    **dims : str
        Dim names and the columns that hold their labels, as in `benchmark="program"`. Columns already named like a usual dim
        (benchmark, machine, version, compiler, flags, tuning, jvm_args, file, binary, session, execution, iteration) are taken as such.

    Returns
    -------
    Dataset
        One variable per metric. Repetition labels are renumbered from 0 within their parent; ragged runs are padded with NaN. Columns
        named `warmup`, `censored`, `failed` or `copied` become boolean coordinates, and `censored_at`, the limit at which a run was stopped
        (in the unit of the first metric), is converted as that is; other columns that are constant along a dim become its
        coordinates, the rest coordinates along all dims they vary over.

    Raises
    ------
    ValueError
        Missing columns; values that are not numbers; rows that repeat a cell while every repetition is named.

    Examples
    --------
    >>> import pandas as pd, perfarray
    >>> frame = pd.DataFrame({"program": ["fft", "fft", "sort"], "run": [7, 9, 7], "ms": [10.0, 11.0, 20.0], "lang": ["C", "C", "Go"]})
    >>> times = frame.perf.to_timings(value="ms", units="ms", benchmark="program", execution="run")
    >>> times["ms"].sel(benchmark="fft").values, times["lang"].sel(benchmark="sort").item()
    (array([0.01 , 0.011]), 'Go')
    """
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"expected a pandas DataFrame, got {type(frame).__name__}")
    if shared is None:
        shared = str(frame.attrs.get("shared_levels", "")).split()
    flat = frame.reset_index() if any(name is not None for name in frame.index.names) else frame
    table = table_of(flat, value=value, units=units, better=better, level=level, shared=shared, dims=dims)
    return keeping(build(table), *table.notes)


def table_of(
    frame: pd.DataFrame,
    *,
    value: str | Mapping[str, str],
    units: str | Mapping[str, str],
    better: str | Mapping[str, str] | None,
    level: str = "execution",
    shared: str | Sequence[str] = (),
    dims: Mapping[str, str] | None = None,
    texts_are_dims: bool = False,
) -> Table:
    """Return the columns of a long table by their roles; `texts_are_dims` takes text that nothing else explains as dims compared."""
    metrics = {value: value} if isinstance(value, str) else dict(value)
    claimed = {*metrics.values(), *(dims or {}).values()}
    named = {name: name for name in (*COMPARED, *LEVELS) if name in frame.columns and name not in claimed} | dict(dims or {})
    _check_columns(frame, [*metrics.values(), *named.values()])
    if len(frame) == 0:
        raise ValueError("the table has no rows; give one row per measurement")
    check_names(level, "level")
    common = check_names(shared, "shared") if shared else ()
    used = {*metrics.values(), *named.values(), *MARKS}
    others = {str(name): frame[name] for name in frame.columns if name not in used}
    labels = {name: _label_column(frame[column]) for name, column in named.items() if name not in LEVELS and name != level}
    repetitions = {name: frame[column] for name, column in named.items() if name in LEVELS or name == level}
    if texts_are_dims:
        compared = _unexplained_texts(others, labels, repetitions)
        labels |= {name: _label_column(others.pop(name)) for name in compared}
    levels = _number_levels(labels, repetitions, level, len(frame), common)
    found = {name: _metric(frame[column], name, units, better) for name, column in metrics.items()}
    if CENSORED_AT in others:
        factor = seconds_factor(next(iter(found.values())).units)
        others[CENSORED_AT] = pd.to_numeric(others[CENSORED_AT]) * (1.0 if factor is None else factor)
    unnamed = {name: column for name, column in others.items() if name != CENSORED_AT}
    return Table(
        labels=labels,
        levels=levels,
        metrics={name: in_seconds(metric) for name, metric in found.items()},
        marks={mark: _mark(frame[mark]) for mark in MARKS if mark in frame.columns},
        columns={name: _placed(series, labels, levels) for name, series in others.items()},
        metric=next(iter(metrics)),
        shared=tuple(name for name in common if name in levels),
        notes=(
            *_unclaimed(unnamed, labels, levels, repetitions),
            *_other_units(metrics, units),
        ),
    )


def _unclaimed(
    others: Mapping[str, pd.Series], labels: Mapping[str, Column], levels: Mapping[str, Integers], repetitions: Mapping[str, pd.Series]
) -> list[Note]:
    """Note the columns that vary among rows which were only numbered: they may say what is compared, or what is a repetition."""
    numbered = [name for name in levels if name not in repetitions]
    if not numbered or levels[numbered[0]].max(initial=0) == 0:
        return []
    cell = [*(column.codes for column in labels.values()), *(levels[name] for name in levels if name in repetitions)]
    suspects = []
    for name, series in others.items():
        codes = pd.factorize(series, use_na_sentinel=False)[0]
        whole = not pd.api.types.is_float_dtype(series) or bool((series.dropna() % 1 == 0).all())
        if whole and codes.max() < len(series) / 2 and not _depends_only_on(codes, cell):
            suspects.append(name)
    if not suspects:
        return []
    sentence = (
        f"column {listed(suspects)} varies among rows that nothing else tells apart; they are numbered as {numbered[0]}s. If it says "
        "what is compared, name it as a dim; if it numbers repetitions, as a level: rename it, or "
        f"to_timings(..., {numbered[0]}={suspects[0]!r})"
    )
    return [Note("unclaimed_column", sentence, {"columns": suspects, "level": numbered[0]})]


def _other_units(metrics: Mapping[str, str], units: str | Mapping[str, str]) -> list[Note]:
    """Note the columns whose name ends in another unit of time than the one given."""
    notes = []
    for name, column in metrics.items():
        given = units.get(name, "1") if isinstance(units, Mapping) else units
        ending = re.search(r"(?:^|[_\s(\[])(ns|us|µs|ms|s|sec|min)[)\]]?$", str(column))
        factor = seconds_factor(ending.group(1)) if ending else None
        if ending and factor is not None and isinstance(given, str) and seconds_factor(given) not in (None, factor):
            sentence = (
                f"column {column!r} is taken to be in {given!r}, as units= says; if its name is right, give units={ending.group(1)!r}"
            )
            notes.append(Note("other_unit", sentence, {"column": column, "units": given, "named": ending.group(1)}))
    return notes


def _unexplained_texts(others: Mapping[str, pd.Series], labels: Mapping[str, Column], repetitions: Mapping[str, pd.Series]) -> list[str]:
    """Return the text columns that neither a label nor the repetitions determine: what they say must be what is compared."""
    own = [column.codes for column in labels.values()]
    nest = [np.asarray(pd.factorize(series)[0]) for series in repetitions.values()]
    found = []
    for name, series in others.items():
        codes = pd.factorize(series, use_na_sentinel=False)[0]
        explained = any(_depends_only_on(codes, by) for by in ([], *([one] for one in own)))
        explained |= _depends_only_on(codes, [*own, *nest]) if nest else codes.max() >= len(series) / 2
        if not explained and not pd.api.types.is_numeric_dtype(series):
            found.append(name)
    return found


def _check_columns(frame: pd.DataFrame, columns: Sequence[str]) -> None:
    """Raise unless all columns are there; the message lists those that are."""
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise ValueError(f"column {listed(missing)} not found; the table has columns {listed(frame.columns, 30)}")


def _label_column(series: pd.Series) -> Column:
    """Code the labels of a dim by first appearance; a missing label is `unknown`."""
    codes, labels = pd.factorize(series, use_na_sentinel=False)
    names = [UNKNOWN if pd.isna(label) else label.item() if isinstance(label, np.generic) else label for label in labels]
    return Column(codes=codes.astype(np.intp), labels=names)


def _number_levels(
    labels: Mapping[str, Column], repetitions: Mapping[str, pd.Series], level: str, rows: int, shared: Sequence[str]
) -> dict[str, Integers]:
    """Number repetitions from 0 inside their parents; rows nothing tells apart are numbered along the level nobody named."""
    order = sorted(repetitions, key=level_order)
    parents = [column.codes for column in labels.values()]
    numbered: dict[str, Integers] = {}
    for name in order:
        own = _repetition_labels(repetitions[name])
        numbered[name] = _number_shared(labels, numbered, own) if name in shared else number_within([*parents, *numbered.values()], own)
    cells = row_in_parent([*parents, *numbered.values()], rows)
    unnamed = [name for name in dict.fromkeys((level, ITERATION)) if name not in numbered]
    if (cells.max(initial=0) > 0 or not numbered) and unnamed:
        numbered[unnamed[0]] = cells
    return numbered


def _number_shared(labels: Mapping[str, Column], above: Mapping[str, Integers], own: npt.NDArray[Any]) -> Integers:
    """Number a shared level so that the same label has the same place for every benchmark, and elsewhere too if that costs no room."""
    outer = list(above.values())
    everywhere = number_within(outer, own)
    others = [column.codes for name, column in labels.items() if name != "benchmark"]
    apart = number_within([*others, *outer], own)
    return everywhere if everywhere.max(initial=0) <= apart.max(initial=0) else apart


def _repetition_labels(series: pd.Series) -> npt.NDArray[Any]:
    """Return repetition labels that sort well: numbers by value, all else by first appearance."""
    if series.isna().any():
        raise ValueError(f"column {series.name!r} names repetitions but is empty in {int(series.isna().sum())} rows")
    return np.asarray(series.to_numpy() if pd.api.types.is_numeric_dtype(series) else pd.factorize(series)[0])


def _metric(series: pd.Series, name: str, units: str | Mapping[str, str], better: str | Mapping[str, str] | None) -> Metric:
    """Return a column of numbers with its unit."""
    unit = units.get(name, "1") if isinstance(units, Mapping) else units
    if not isinstance(unit, str):
        raise ValueError(f"units={units!r}: give a unit such as 's', 'ms' or 'J', or a mapping of metrics to units")
    direction = _direction(better.get(name) if isinstance(better, Mapping) else better, unit)
    numbers = pd.to_numeric(series, errors="coerce")
    wrong = numbers.isna() & series.notna()
    if wrong.any():
        first = wrong.to_numpy().argmax()
        raise ValueError(
            f"column {series.name!r} holds {int(wrong.sum())} values that are not numbers, the first {series.iloc[first]!r} in row {first}"
        )
    return Metric(values=numbers.to_numpy(dtype=float, na_value=np.nan), units=unit, better=direction)


def _direction(better: object, units: str) -> str:
    """Return which direction is good: the one given, else what the unit says."""
    if better is None:
        return direction_of(units)
    check_choice(better, "better", DIRECTIONS)
    return str(better)


def _mark(series: pd.Series) -> Mask:
    """Return a column of marks as bool: true, yes and 1 are True, whatever is missing False."""
    if series.dtype == bool:
        return series.to_numpy()
    if pd.api.types.is_numeric_dtype(series):
        return np.asarray(series.fillna(0).to_numpy(dtype=float) != 0)
    words = series.astype(object).where(series.notna(), "").map(lambda value: str(value).strip().lower())
    unknown = sorted(set(words) - {"", "true", "yes", "1", "t", "false", "no", "0", "f"})
    if unknown:
        raise ValueError(f"column {series.name!r} is a mark, true or false; it holds {listed(unknown)}")
    return words.isin(["true", "yes", "1", "t"]).to_numpy()


def _placed(series: pd.Series, labels: Mapping[str, Column], levels: Mapping[str, Integers]) -> tuple[tuple[str, ...], npt.NDArray[Any]]:
    """Find the fewest dims a column depends on: none, one, or all down to a level."""
    numeric = pd.api.types.is_numeric_dtype(series) and series.dtype != bool
    values = (
        series.to_numpy(dtype=float, na_value=np.nan)
        if numeric
        else series.astype(object).where(series.notna(), UNKNOWN).map(str).to_numpy(dtype=object)
    )
    codes = pd.factorize(series, use_na_sentinel=False)[0]
    by = {name: column.codes for name, column in labels.items()} | dict(levels)
    tries: list[tuple[str, ...]] = [(), *((name,) for name in labels)]
    nest = list(levels)
    tries += [(*labels, *nest[:depth]) for depth in range(len(nest) + 1)]
    for dims in tries:
        if _depends_only_on(codes, [by[name] for name in dims]):
            return dims, values
    return tuple(by), values


def _depends_only_on(codes: Integers, by: Sequence[Integers]) -> bool:
    """Return whether rows that agree in `by` agree in `codes`."""
    if not by:
        return bool((codes == codes[0]).all())
    order = np.lexsort(tuple(by))
    same = np.ones(len(order) - 1, dtype=bool)
    for other in by:
        same &= np.diff(other[order]) == 0
    return not bool((same & (np.diff(codes[order]) != 0)).any())


def from_samples(
    samples: Mapping[str, Any],
    *,
    dim: str = "version",
    level: str | Sequence[str] = "execution",
    units: str = "s",
    better: str | None = None,
) -> xr.Dataset:
    """Make timings of plain Python lists: one per label of the dim compared.

    Parameters
    ----------
    samples : mapping
        Label to a list of measurements, or to nested lists with one depth per level. Lists may differ in length.
    dim : str
        The dim the labels lie along.
    level : str or sequence of str
        The repetition level(s), outermost first.
    units : str
        The unit of the values; times are converted to seconds.
    better : {"lower", "higher"}, optional
        Which direction is good; default: higher for rates such as `ops/s`, lower for all else.

    Returns
    -------
    Dataset
        A variable `time` with dims `dim` and the levels.

    Raises
    ------
    ValueError
        When the lists are not as deep as there are levels, or hold what is not a number.

    Examples
    --------
    >>> import perfarray
    >>> perfarray.from_samples({"old": [12.0, 11.0], "new": [10.0]}, units="ms")["time"].values
    array([[0.012, 0.011],
           [0.01 ,   nan]])
    """
    levels = check_names(level, "level")
    if not isinstance(samples, Mapping) or not samples:
        raise ValueError(f"samples must map labels to lists of measurements, as in {{'old': [1.2, 1.3], 'new': [1.1]}}; got {samples!r}")
    names: list[Any] = []
    positions: list[tuple[int, ...]] = []
    numbers: list[float] = []
    for label, nested in samples.items():
        found = list(_leaves(nested, len(levels), f"samples[{label!r}]"))
        if not found:
            raise ValueError(f"samples[{label!r}] is empty; give at least one measurement")
        names += [label] * len(found)
        positions += [place for place, _ in found]
        numbers += [number for _, number in found]
    table = Table(
        labels={dim: column_of(names)},
        levels={name: np.array([place[i] for place in positions], dtype=np.intp) for i, name in enumerate(levels)},
        metrics={TIME: in_seconds(Metric(values=np.array(numbers, dtype=float), units=units, better=_direction(better, units)))},
        metric=TIME,
    )
    return build(table)


def _leaves(nested: Any, depth: int, place: str) -> Any:
    """Yield positions and numbers of nested lists of a given depth."""
    if isinstance(nested, str) or not hasattr(nested, "__len__"):
        raise ValueError(f"{place} is {nested!r}, where a list was expected: one depth of lists per level")
    for index, item in enumerate(nested):
        if depth > 1:
            yield from (((index, *place_below), number) for place_below, number in _leaves(item, depth - 1, f"{place}[{index}]"))
        else:
            try:
                yield (index,), float(item)
            except (TypeError, ValueError):
                raise ValueError(f"{place}[{index}] is {item!r}, where a number was expected") from None


def to_frame(times: Data) -> pd.DataFrame:
    """Return a long table: one row per measurement, a column per dim, coordinate and metric.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings.

    Returns
    -------
    pandas.DataFrame
        Rows without any measured value are not written, but for stopped runs with a limit (`censored_at`); `frame.attrs` holds how many of
        them carried a mark (`n_failed`, ...).

    Examples
    --------
    >>> import perfarray
    >>> perfarray.from_samples({"old": [1.0, 2.0], "new": [3.0]}).perf.to_frame()
      version  execution  time
    0     old          0   1.0
    1     old          1   2.0
    2     new          0   3.0
    """
    dataset = times.to_dataset(name=times.name or "time") if isinstance(times, xr.DataArray) else times
    frame = dataset.to_dataframe(dim_order=list(times.dims)).reset_index()
    metrics = [name for name in dataset.data_vars if dataset[name].dims and name != CENSORED_AT]
    empty = frame[metrics].isna().all(axis=1)
    if CENSORED in frame and CENSORED_AT in frame:
        empty &= ~(frame[CENSORED].fillna(False).astype(bool) & frame[CENSORED_AT].notna())
    lost = {f"n_{mark}": int((empty & frame[mark].fillna(False).astype(bool)).sum()) for mark in MARKS if mark in frame}
    frame = frame[~empty].reset_index(drop=True)
    frame.attrs = {name: number for name, number in lost.items() if number}
    first = list(times.dims)
    return frame[[*first, *(name for name in frame if name not in first and name not in metrics), *metrics]]
