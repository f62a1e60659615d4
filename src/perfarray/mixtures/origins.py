"""Origins of modes: whether runs fall into another mode by session, binary, order, coordinate."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from perfarray.conventions import plural
from perfarray.mixtures.factors import factors_of, nest_with
from perfarray.mixtures.model import MODE
from perfarray.mixtures.numerics.fit import MOST_COMPONENTS, STOPPED, FitRequest
from perfarray.mixtures.numerics.origins import Factor, associated, modes_of_runs
from perfarray.numerics.levels import unit_means
from perfarray.numerics.random import EXCHANGES, Streams
from perfarray.numerics.types import Floats, Integers
from perfarray.numerics.verdicts import adjust
from perfarray.timings.apply import TEXT, Output, apply, outputs
from perfarray.timings.metrics import for_each_metric
from perfarray.timings.notes import Note, check, with_notes
from perfarray.timings.options import engine
from perfarray.timings.resolve import Data, resolve
from perfarray.timings.streams import Rng, cell_keys, describe_key, key_of
from perfarray.timings.units import NOT_MEASURED, cells_note, describe_value, value_depth
from perfarray.timings.validation import check_choice, check_count, check_share

FACTOR, LABEL, EXCHANGED = "factor", "label", "exchanged"

CORRECTIONS = ("holm", "bh", None)

# The share of a mode in a label's runs from which on that label is called the mode, if its share is
# at most the rest in all others.
CLEAR = 0.9

# Most labels that a finding names.
FEW_NAMED = 5


@for_each_metric
def modes_by(
    times: Data,
    *,
    by: str | Sequence[str] | None = None,
    correction: str | None = "holm",
    alpha: float = 0.05,
    n_resamples: int = 999,
    rng: Rng = None,
    value: str | None = None,
    levels: str | tuple[str, ...] | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Test what the modes go with: a binary, a session, the order of runs, a counter, a machine.

    Parameters
    ----------
    by : str or sequence of str, optional
        Factors: a level (`"binary"`), the order of its repetitions (`"binary_order"`), a coordinate
        along levels, another variable of a Dataset (a counter), or a dim such as `machine`.
        Default: all levels, orders and coordinates that can be tested.
    correction : {"holm", "bh", None}
        For the number of factors in a cell.
    alpha : float
        The risk at which a factor has a finding.
    n_resamples, rng : int; int, str or numpy.random.Generator, optional
        Exchanges of units; their seed, or the `rng_key` of a result.
    times, value, levels, metric
        As for `fit_mixture`.

    Returns
    -------
    Dataset
        For each cell `n_modes`; along `mode`, ascending, `weight` (share of the runs) and
        `location` (median, units of the data). Along `factor`: `statistic`, the share of the modes'
        variation explained (Goodman and Kruskal's tau), `pvalue`, `pvalue_adjusted`,
        `smallest_pvalue` (the least possible), `n_exchanged` units of the level `exchanged`, and
        `finding`, a sentence if significant. Along `factor`, `label` and `mode`: `share` of the
        mode in the runs of a label or quarter.

    Raises
    ------
    ValueError
        Names that are no factors; a text that differs inside a run; unknown levels, value or
        correction.

    Notes
    -----
    Units inside a parent are taken as exchangeable. An association is not a cause. See
    :doc:`/papers/worms_touati`.

    References
    ----------
    J. Worms, S. Touati, "Parametric and non-parametric statistics for program performance analysis
    and comparison", 2016, section 9. L. Goodman, W. Kruskal, "Measures of association for cross
    classifications", JASA 49, 1954.

    Examples
    --------
    Six binaries, of which the last is slow.

    >>> import numpy as np, perfarray
    >>> runs = 1 + 0.01 * np.random.default_rng(1).standard_normal((6, 8))
    >>> runs[5] += 0.2
    >>> times = perfarray.from_samples(
    ...     {"fft": runs}, dim="benchmark", level=("binary", "execution")
    ... )
    >>> origins = times.perf.modes_by(rng=1).sel(benchmark="fft")
    >>> origins["finding"].sel(factor="binary").item()
    'mode 2 is binary 5'
    """
    check_choice(correction, "correction", CORRECTIONS)
    number, key = check_count(n_resamples, "n_resamples"), key_of(rng)
    risk = check_share(alpha, "alpha", example="0.05")
    data = resolve(times, metric, nest_with(times, by, metric, levels))
    depth = value_depth(data, value)
    factors, codes, labels = factors_of(times, data, depth, by)
    nest = data.levels[: depth + 1]
    kernel = partial(
        _test_cells,
        factors=factors,
        labels=labels,
        levels=len(data.levels),
        depth=depth,
        n_resamples=number,
        key=key,
        correction=correction,
        alpha=risk,
        request=FitRequest(tolerance=STOPPED, engine=engine()),
    )
    attrs: dict[str, Hashable] = {
        "result": "modes_by",
        "correction": correction or "none",
        "alpha": risk,
        "n_resamples": number,
    }
    along = (FACTOR,)
    variables = (
        outputs(n_modes="modes of the fitted density that have runs")
        | outputs("1", (MODE,), weight="share of the runs")
        | outputs(data.units, (MODE,), location="median of the runs of the mode")
        | outputs(
            "1",
            along,
            statistic="share of the modes' variation explained",
            pvalue="",
            pvalue_adjusted="",
            smallest_pvalue="p-value of the exchange that explains most",
            n_exchanged="units that change places",
        )
        | outputs("1", (FACTOR, LABEL, MODE), share="share of a label's runs in the mode")
        | {"finding": Output(along, "", TEXT, "what modes go with")}
    )
    result = apply(
        kernel,
        data.array,
        cell_keys([data.array], data.levels),
        *codes,
        core=[data.levels, (), *[nest] * len(codes)],
        outputs=variables,
        coords={
            FACTOR: list(factors),
            LABEL: list(labels),
            MODE: range(1, MOST_COMPONENTS + 1),
        },
        attrs=describe_value(data, depth) | {"units": data.units} | attrs | describe_key(key),
    )
    exchanged = np.array([nest[factor.unit] for factor in factors.values()], dtype=object)
    return with_notes(
        result.assign({EXCHANGED: (FACTOR, exchanged)}), *data.notes, checks=("modes_by",)
    )


def _test_cells(
    values: Floats,
    cells: Integers,
    *codes: Floats,
    factors: dict[str, Factor],
    labels: tuple[str, ...],
    levels: int,
    depth: int,
    n_resamples: int,
    key: tuple[int, int],
    correction: str | None,
    alpha: float,
    request: FitRequest,
) -> tuple[Any, ...]:
    """Assign the runs of every cell to modes, and test every factor."""
    runs = unit_means(values, levels - depth)
    batch, shape = runs.shape[: runs.ndim - depth - 1], runs.shape[runs.ndim - depth - 1 :]
    flat = runs.reshape(-1, int(np.prod(shape)))
    numbers, keys, streams = (
        modes_of_runs(flat, request),
        np.broadcast_to(cells, batch).ravel(),
        Streams(key),
    )
    codes_by_cell = [
        np.broadcast_to(array, (*batch, *shape)).reshape(-1, *shape) for array in codes
    ]
    size = len(flat)
    weight, location = (np.full((size, MOST_COMPONENTS), np.nan) for _ in range(2))
    statistic, pvalue, smallest, n = np.full((4, size, len(factors)), np.nan)
    shares = np.full((size, len(factors), len(labels), MOST_COMPONENTS), np.nan)
    n_modes = np.where(
        np.isnan(numbers).all(axis=-1), 0, np.nan_to_num(numbers, nan=-1.0).max(axis=-1) + 1
    )
    # One cell after the other: each has modes and streams of its own.
    for row, modes in enumerate(n_modes.astype(int).tolist()):
        for mode in range(modes):
            weight[row, mode] = (numbers[row] == mode).sum() / (~np.isnan(numbers[row])).sum()
            location[row, mode] = np.median(flat[row, numbers[row] == mode])
        for column, factor in enumerate(factors.values() if modes else ()):
            by_label, *tested = associated(
                numbers[row].reshape(shape),
                codes_by_cell[column][row],
                factor,
                modes,
                n_labels=len(labels),
                n_resamples=n_resamples,
                generator=streams.generator(int(keys[row]), EXCHANGES + factor.stream),
            )
            shares[row, column, :, :modes] = by_label
            statistic[row, column], pvalue[row, column], smallest[row, column], n[row, column] = (
                tested
            )
    # Factors that cannot have a finding take none from the others (Tarone 1990).
    family = smallest <= alpha
    adjusted = np.where(family, adjust(np.where(family, pvalue, np.nan), correction), pvalue)
    finding = np.full(pvalue.shape, "", dtype=object)
    names = list(factors)
    for row, column in np.argwhere(adjusted <= alpha):
        finding[row, column] = _finding(
            names[column],
            factors[names[column]].ranked,
            labels,
            shares[row, column, :, : int(n_modes[row])],
            weight[row],
        )
    variables = n_modes, weight, location, statistic, pvalue, adjusted, smallest, n, shares, finding
    return tuple(variable.reshape((*batch, *variable.shape[1:])) for variable in variables)


def _finding(name: str, ranked: bool, labels: Sequence[str], shares: Floats, weight: Floats) -> str:
    """Say which labels are a mode, or in which of them a mode is most frequent."""
    rows = np.flatnonzero(~np.isnan(shares[:, 0]))
    shares, labels = shares[rows], [labels[row] for row in rows.tolist()]
    if ranked:
        mode = int(np.ptp(shares, axis=0).argmax())
        ends = sorted((int(shares[:, mode].argmin()), int(shares[:, mode].argmax())))
        quarters = (f"{100 * shares[end, mode]:.0f} % of the {labels[end]}" for end in ends)
        return f"by {name.replace('_', ' ')}, mode {mode + 1} takes {' and '.join(quarters)}"
    high = shares >= CLEAR
    clear = np.flatnonzero((high | (shares <= 1 - CLEAR)).all(axis=0) & high.any(axis=0))
    if clear.size:
        mode = int(clear[high[:, clear].sum(axis=0).argmin()])
        members = [labels[row] for row in np.flatnonzero(high[:, mode])]
        if len(members) > FEW_NAMED:
            return f"mode {mode + 1} is {len(members)} of {len(shares)} {plural(name)}"
        return (
            f"mode {mode + 1} is {plural(name) if len(members) > 1 else name} {', '.join(members)}"
        )
    row, mode = divmod(int((shares - weight[: shares.shape[1]]).argmax()), shares.shape[1])
    inside, overall = 100 * shares[row, mode], 100 * weight[mode]
    return (
        f"mode {mode + 1} takes {inside:.0f} % of {name} {labels[row]}, {overall:.0f} % of all runs"
    )


@check("modes_by")
def modes_by_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Name the cells without modes to explain, and factors with too few units to show anything."""
    modes, alpha = result["n_modes"], float(result.attrs["alpha"])
    number = int(result.attrs["n_resamples"])
    one_mode = "{cells} have one mode, and nothing to explain: statistic and p-values are NaN"
    too_few = Note(
        "few_exchanges",
        f"n_resamples={number} gives no p-value as small as alpha={alpha:g}. Give at least "
        f"{int(np.ceil(1 / alpha)) - 1}.",
        {"n_resamples": number},
    )
    # Outer levels explain only some modes.
    nothing_varies = (result["statistic"] == 0) & (result["smallest_pvalue"] == 1)
    explicable = (modes > 1) & ~nothing_varies
    stuck = explicable & ~(result["smallest_pvalue"] <= alpha)
    blind = stuck.any(FACTOR) & (stuck | ~explicable).all(FACTOR)
    return (
        cells_note("no_value", NOT_MEASURED, modes, (modes == 0).values),
        cells_note("one_mode", one_mode, modes, (modes == 1).values),
        too_few if 1 / (number + 1) > alpha else None,
        _few_exchanges(result, stuck & blind),
        _few_exchanges(result, stuck & ~blind, aside=True),
    )


def _few_exchanges(result: xr.Dataset, stuck: xr.DataArray, *, aside: bool = False) -> Note | None:
    """Name the factors whose units are too few for a small p, and the smallest possible p."""
    smallest = []
    for name in result[FACTOR].values.tolist():
        cells = stuck.sel({FACTOR: name})
        if cells.any():
            smallest_of_cells = result["smallest_pvalue"].sel({FACTOR: name}).where(cells).min()
            text = (
                f"{smallest_of_cells.item():.2g}"
                if smallest_of_cells.notnull()
                else "none, nothing differs in it"
            )
            unit = plural(result[EXCHANGED].sel({FACTOR: name}).item())
            smallest.append(f"{text} for {name} ({unit})")
    modes = result["n_modes"]
    text = (
        "{cells} have too few units that could change places, whatever their modes go with. The "
        f"smallest p is {', '.join(smallest)}."
    )
    note = cells_note("few_exchanges", text, modes, stuck.any(FACTOR).transpose(*modes.dims).values)
    return None if note is None else replace(note, aside=aside)
