"""What the modes of a program are made of: whether its runs fall into another mode by session, binary, order, or what else is known."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from perfarray.conventions import plural
from perfarray.mixtures.factors import Asked, factors_of, nest_with
from perfarray.mixtures.model import MODE
from perfarray.mixtures.numerics.fit import MOST_COMPONENTS, STOPPED, FitRequest
from perfarray.mixtures.numerics.origins import associated, modes_of_runs, units_of
from perfarray.numerics.levels import unit_means
from perfarray.numerics.random import EXCHANGES, Streams
from perfarray.numerics.types import Floats, Integers
from perfarray.numerics.verdicts import adjust
from perfarray.timings.apply import TEXT, Output, apply, outputs
from perfarray.timings.metrics import over_metrics
from perfarray.timings.notes import Note, check, noted
from perfarray.timings.options import engine
from perfarray.timings.resolve import Data, resolve
from perfarray.timings.streams import Rng, cell_keys, describe_key, key_of
from perfarray.timings.units import cells_note, describe_value, value_place
from perfarray.timings.validation import check_choice, check_count, check_share

FACTOR, LABEL, EXCHANGED = "factor", "label", "exchanged"

CORRECTIONS = ("holm", "bh", None)

CLEAR = 0.9
"""The share of a label's runs from which on it is said to be a mode, where that mode has at most the rest of all others."""

FEW_NAMED = 5
"""Labels that are named as a mode."""


class Question(NamedTuple):
    """What is asked of every cell: factors, the number of levels and of those down to the runs, draws, their key, how p is judged."""

    asked: Asked
    levels: int
    nest: int
    n_resamples: int
    key: tuple[int, int]
    correction: str | None
    alpha: float


@over_metrics
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
    """Ask what the modes are made of: whether they go with the binary, the session, the order of the runs, a counter, a machine.

    Every run is put into a mode of its cell, and the share of the modes' variation that a factor explains is compared with what it
    explains after the units that carry the factor have changed places at random.

    Parameters
    ----------
    by : str or sequence of str, optional
        Factors: a level with repetitions inside it (`"binary"`), the order of a level's repetitions inside their parent
        (`"execution_order"`), a coordinate along levels, another variable of a Dataset (a counter). A dim that is no repetition, such as
        `machine`, becomes the outermost level, as `levels=("machine", ...)` makes it. Default: all levels, orders, and coordinates with
        labels that repeat or numbers.
    correction : {"holm", "bh", None}
        How p-values are adjusted for the number of factors, cell by cell: of those of which p could be at most `alpha` at all.
    alpha : float
        The risk at which a factor has a finding.
    n_resamples, rng : int; int, str or numpy.random.Generator, optional
        How often units change places, and the seed or the `rng_key` of an earlier result.
    times, value, levels, metric
        As for `fit_mixture`.

    Returns
    -------
    Dataset
        For each cell `n_modes`, and along `mode`, ascending, `weight` (share of the runs) and `location` (their median, in the units of
        the data), NaN behind the last. Along `factor`: `statistic`, the share of the modes' variation that it explains (0 to 1: Goodman
        and Kruskal's tau), `pvalue`, `pvalue_adjusted`, `smallest_pvalue` (that of exchanges which explain most: what these modes and
        units can show at all), `n_exchanged`, the units that change places, `exchanged`, their level, and `finding`, a sentence where
        `pvalue_adjusted` is at most alpha, else "". Along `factor`, `label` and `mode`, `share`: of the runs of every
        label; of an order and of numbers, of those in every quarter.

    Raises
    ------
    ValueError
        Names that are no factors, with those that are; a text that differs inside a run; unknown levels, value or correction.

    Notes
    -----
    A run's mode is the peak of the density of the mixture fitted to all runs of its cell (`fit_mixture`, `tolerance=1e-5`) on whose side
    of the valleys it lies. Components are not used: a skewed mode has two, which tell its tail from its middle. Runs count alike, so that
    the modes are the same wherever runs change places, which makes p exact, whatever the modes are: also modes that are chance
    (`variability_level` tests them) go with a factor in no more than 5 %.

    What changes places, and what p therefore means:

    - a level (`"binary"`): the units of the next level (sessions, executions), among the units of this one, inside the parent of these.
      Do the shares of modes differ between binaries by more than those of as many executions at random?
    - an order: the units of that level, inside their parent. A parabola in their ranks is fitted, which sees a drift, and modes that come
      in the middle.
    - a coordinate, a counter: the units of the outermost level inside which it does not vary, inside their parent; a compiler of
      binaries is compared among binaries, however many runs they have. Labels explain by means, numbers by a parabola in their ranks
      (up to four different ones, each two times on average, are labels). What differs between parents is left to the outer level.

    Whatever lies inside a unit is averaged to its shares of modes. Units inside a parent are taken as exchangeable, and no more: modes that
    last for some iterations in a row make executions differ. Numbers that are measured with the runs, such as a counter, are associated,
    which says nothing of what causes what.

    Of 3 units in each of two labels no exchange has a smaller p than 0.1, and where all runs but one are in one mode, none is small.
    :doc:`/papers/worms_touati` has how often factors are found that modes do not go with.

    References
    ----------
    J. Worms, S. Touati, "Parametric and non-parametric statistics for program performance analysis and comparison", 2016, section 9,
    which calls what modes are made of its most fruitful perspective; L. Goodman, W. Kruskal, "Measures of association for cross
    classifications", Journal of the American Statistical Association 49, 1954; R. Tarone, "A modified Bonferroni method for discrete data",
    Biometrics 46, 1990.

    Examples
    --------
    Six binaries, of which the last is slow.

    >>> import numpy as np, perfarray
    >>> runs = 1 + 0.01 * np.random.default_rng(1).standard_normal((6, 8)) + 0.2 * (np.arange(6) == 5)[:, None]
    >>> times = perfarray.from_samples({"fft": runs}, dim="benchmark", level=("binary", "execution"))
    >>> found = times.perf.modes_by(rng=1).sel(benchmark="fft")
    >>> found["finding"].sel(factor="binary").item()
    'mode 2 is binary 5'
    >>> found["pvalue"].round(3).to_series().to_dict()
    {'binary': 0.001, 'binary_order': 0.335, 'execution_order': 1.0}
    """
    check_choice(correction, "correction", CORRECTIONS)
    number, key = check_count(n_resamples, "n_resamples"), key_of(rng)
    risk = check_share(alpha, "alpha", example="0.05")
    data = resolve(times, metric, nest_with(times, by, metric, levels))
    place = value_place(data, value)
    asked = factors_of(times, data, place, by)
    runs = data.levels[: place + 1]
    question = Question(asked, len(data.levels), len(runs), number, key, correction, risk)
    kernel = partial(_of_cells, question=question, request=FitRequest(tolerance=STOPPED, engine=engine()))
    attrs: dict[str, Hashable] = {"result": "modes_by", "correction": correction or "none", "alpha": risk, "n_resamples": number}
    attrs = describe_value(data, place) | {"units": data.units} | attrs | describe_key(key)
    coords = {FACTOR: list(asked.factors), LABEL: list(asked.labels), MODE: range(1, MOST_COMPONENTS + 1)}
    result = apply(
        kernel, data.array, cell_keys([data.array], data.levels), *asked.codes, core=[data.levels, (), *[runs] * len(asked.codes)],
        outputs=_outputs(data.units), coords=coords, attrs=attrs,
    )  # fmt: skip
    exchanged = np.array([runs[factor.unit] for factor in asked.factors.values()], dtype=object)
    return noted(result.assign({EXCHANGED: (FACTOR, exchanged)}), *data.notes, checks=("modes_by",))


def _outputs(units: str) -> dict[str, Output]:
    """Return the variables of the result."""
    along = (FACTOR,)
    named = outputs(n_modes="modes of the fitted density that have runs") | outputs("1", (MODE,), weight="share of the runs")
    named |= outputs(units, (MODE,), location="median of the runs of the mode")
    named |= outputs("1", along, statistic="share of the modes' variation explained", pvalue="", pvalue_adjusted="")
    named |= outputs("1", along, smallest_pvalue="p-value of the exchange that explains most", n_exchanged="units that change places")
    named |= outputs("1", (FACTOR, LABEL, MODE), share="share of a label's runs in the mode")
    return named | {"finding": Output(along, "", TEXT, "what modes go with")}


def _of_cells(values: Floats, cells: Integers, *codes: Floats, question: Question, request: FitRequest) -> tuple[Any, ...]:
    """Put the runs of every cell into modes, and test every factor."""
    asked, levels, nest, number, key, correction, alpha = question
    runs = unit_means(values, levels - nest + 1)
    batch, shape = runs.shape[: runs.ndim - nest], runs.shape[runs.ndim - nest :]
    flat = runs.reshape(-1, int(np.prod(shape)))
    own, keys, streams = modes_of_runs(flat, request), np.broadcast_to(cells, batch).ravel(), Streams(key)
    every = [np.broadcast_to(part, (*batch, *shape)).reshape(-1, *shape) for part in codes]
    size, factors, labels = len(flat), list(asked.factors.values()), len(asked.labels)
    weight, location = (np.full((size, MOST_COMPONENTS), np.nan) for _ in range(2))
    tested = np.full((4, size, len(factors)), np.nan)
    shares = np.full((size, len(factors), labels, MOST_COMPONENTS), np.nan)
    n_modes = np.where(np.isnan(own).all(axis=-1), 0, np.nan_to_num(own, nan=-1.0).max(axis=-1) + 1)
    for row, most in enumerate(n_modes.astype(int).tolist()):  # one after the other: each has modes and streams of its own
        for mode in range(most):
            weight[row, mode] = (own[row] == mode).sum() / (~np.isnan(own[row])).sum()
            location[row, mode] = np.median(flat[row, own[row] == mode])
        for place, factor in enumerate(factors if most else ()):
            units = units_of(own[row].reshape(shape), every[place][row], factor, most)
            generator = streams.generator(int(keys[row]), EXCHANGES + factor.stream)
            found = associated(units, factor, labels, number if most > 1 else 0, generator)
            tested[:, row, place] = found.statistic, found.pvalue, found.smallest, found.n
            shares[row, place, :, :most] = found.shares
    tested[:3, n_modes < 2] = np.nan
    statistic, pvalue, smallest, n = tested
    family = smallest <= alpha  # what can have no finding takes none from the others (Tarone 1990)
    adjusted = np.where(family, adjust(np.where(family, pvalue, np.nan), correction), pvalue)
    finding = np.full(pvalue.shape, "", dtype=object)
    for row, place in np.argwhere(adjusted <= alpha):
        finding[row, place] = _finding(asked, place, shares[row, place, :, : int(n_modes[row])], weight[row])
    parts = n_modes, weight, location, statistic, pvalue, adjusted, smallest, n, shares, finding
    return tuple(part.reshape((*batch, *part.shape[1:])) for part in parts)


def _finding(asked: Asked, place: int, shares: Floats, weight: Floats) -> str:
    """Say which labels are a mode, or in which of them a mode is most frequent."""
    name, factor = list(asked.factors.items())[place]
    known = np.flatnonzero(~np.isnan(shares[:, 0]))
    own = shares[known]
    if factor.ranked:
        mode = int(np.ptp(own, axis=0).argmax())
        ends = sorted((int(own[:, mode].argmin()), int(own[:, mode].argmax())))
        parts = (f"{100 * own[end, mode]:.0f} % of the {asked.labels[known[end]]}" for end in ends)
        return f"by {name.replace('_', ' ')}, mode {mode + 1} takes {' and '.join(parts)}"
    high = own >= CLEAR
    clear = np.flatnonzero((high | (own <= 1 - CLEAR)).all(axis=0) & high.any(axis=0))
    if clear.size:
        mode = int(clear[high[:, clear].sum(axis=0).argmin()])
        labels = [asked.labels[known[label]] for label in np.flatnonzero(high[:, mode])]
        if len(labels) > FEW_NAMED:
            return f"mode {mode + 1} is {len(labels)} of {len(own)} {plural(name)}"
        return f"mode {mode + 1} is {plural(name) if len(labels) > 1 else name} {', '.join(labels)}"
    label, mode = divmod(int((own - weight[: own.shape[1]]).argmax()), own.shape[1])
    whole, part = (100 * share for share in (weight[mode], own[label, mode]))
    return f"mode {mode + 1} takes {part:.0f} % of {name} {asked.labels[known[label]]}, {whole:.0f} % of all runs"


@check("modes_by")
def modes_by_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Name the cells without modes to explain, and the factors whose units are too few to show anything."""
    modes, alpha, drawn = result["n_modes"], float(result.attrs["alpha"]), int(result.attrs["n_resamples"])
    one = "{cells} have one mode, and nothing to explain: statistic and p-values are NaN"
    few = f"n_resamples={drawn} gives no p-value as small as alpha={alpha:g}: give at least {int(np.ceil(1 / alpha)) - 1}"
    explicable = (modes > 1) & ~((result["statistic"] == 0) & (result["smallest_pvalue"] == 1))  # outer levels left some of them
    stuck = explicable & ~(result["smallest_pvalue"] <= alpha)
    blind = stuck.any(FACTOR) & (stuck | ~explicable).all(FACTOR)
    return (
        cells_note("no_value", "{cells} have no measured value; their answers are NaN", modes, (modes == 0).values),
        cells_note("one_mode", one, modes, (modes == 1).values),
        Note("few_resamples", few, {"n_resamples": drawn}) if 1 / (drawn + 1) > alpha else None,
        _few_exchanges(result, stuck & blind),
        _few_exchanges(result, stuck & ~blind, aside=True),
    )


def _few_exchanges(result: xr.Dataset, stuck: xr.DataArray, *, aside: bool = False) -> Note | None:
    """Name the factors whose units are too few for a small p, and the smallest there is."""
    modes = result["n_modes"]
    named = [_reached(result, stuck, name) for name in result[FACTOR].values.tolist() if bool(stuck.sel({FACTOR: name}).any())]
    text = f"{{cells}} have too few units that could change places, whatever their modes go with: the smallest p is {', '.join(named)}"
    note = cells_note("few_exchanges", text, modes, stuck.any(FACTOR).transpose(*modes.dims).values)
    return None if note is None else replace(note, aside=aside)


def _reached(result: xr.Dataset, stuck: xr.DataArray, name: str) -> str:
    """Write the smallest p-value that a factor can show where that is too large."""
    own = result.sel({FACTOR: name})
    least = own["smallest_pvalue"].where(stuck.sel({FACTOR: name})).min()
    reached = f"{least.item():.2g}" if least.notnull() else "none, nothing differs in it"
    return f"{reached} for {name} ({plural(own[EXCHANGED].item())})"
