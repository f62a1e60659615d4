"""The methods of comparison: formulas of unit means, order statistics and ranks, or the bootstrap.

A method is one function of both sides and a confidence level, which gives tests and limits.
"""

from collections.abc import Callable, Hashable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import xarray as xr

from perfarray.comparisons.medians import (
    BEYOND,
    MEDIAN,
    ORDER_STATISTICS,
    SPREAD_OUTPUTS,
    of_runs,
)
from perfarray.comparisons.noise import NOISE
from perfarray.comparisons.priors import PRIOR, WITH_PRIOR, check_prior, learned_outputs
from perfarray.comparisons.sessions import Sessions, check_between, session_outputs
from perfarray.comparisons.thresholds import varies
from perfarray.conventions import RNG_KEY, SLOT
from perfarray.numerics.bootstrap_tests import compare_draws, compare_stopped_draws
from perfarray.numerics.intervals import (
    ALWAYS_VALID,
    BOOTSTRAP_METHODS,
    DF_RULES,
    PAIR_METHODS,
    RATIO_METHODS,
    STUDENTIZED,
)
from perfarray.numerics.median_tests import compare_medians
from perfarray.numerics.rank_sums import RANK
from perfarray.numerics.ratio_tests import compare_units
from perfarray.numerics.round_tests import compare_rounds
from perfarray.numerics.verdicts import RatioComparison, Rules
from perfarray.timings.apply import Output, is_chunked
from perfarray.timings.dependence import DEPENDENCE
from perfarray.timings.pairs import FAR, Pair, with_unknown_at_best, with_worst_case
from perfarray.timings.resampling import Resample, check_no_resampling, check_resampling
from perfarray.timings.streams import Rng, cell_keys, describe_key, key_of
from perfarray.timings.units import UNITS
from perfarray.timings.validation import check_choice, check_confidence_level, listed

MEAN = "mean"
MEDIAN_METHODS = (
    ORDER_STATISTICS,
    RANK,
    *(name for name in BOOTSTRAP_METHODS if name != STUDENTIZED),
)


# Arrays that a formula takes, with their core dims
Arguments = list[tuple[xr.DataArray, tuple[str, ...]]]


class Options(NamedTuple):
    """The arguments of a comparison, checked; of a bootstrap, `rng` is its key."""

    method: str
    statistic: str
    confidence_level: float
    dim: str | None
    levels: str | tuple[str, ...] | None
    value: str | None
    resample: Resample
    n_resamples: int
    rng: Rng
    censored: str
    across: str
    prior: str | None
    paired: str | None
    df: str = DF_RULES[0]
    threshold: Any = None
    correction: str | None = None
    between: Any = None
    controls: Any = None
    shared: str | tuple[str, ...] | None = None

    @property
    def drawn(self) -> bool:
        """Whether the method is a bootstrap."""
        return self.method in BOOTSTRAP_METHODS

    @property
    def medians(self) -> bool:
        """Whether medians are compared."""
        return self.statistic == MEDIAN

    @property
    def pairs_possible(self) -> bool:
        """Whether `paired=` could be given, and is not."""
        without_pairs = self.method == RANK or (self.medians and self.drawn)
        return self.paired is None and self.between is None and not without_pairs

    @property
    def attrs(self) -> dict[str, Hashable]:
        """The attrs of every result with these arguments."""
        return {
            "method": self.method,
            "confidence_level": self.confidence_level,
            **({"statistic": self.statistic} if self.medians else {}),
            **({"paired": self.paired} if self.paired else {}),
        }

    @property
    def checks(self) -> tuple[str, ...]:
        """The checks of every result with these arguments."""
        of_method = "resampling" if self.drawn else BEYOND if self.medians else NOISE
        return (UNITS, of_method, DEPENDENCE, *((PRIOR,) if self.prior else ()))

    def rules(self, better: str, *, shared: bool = False) -> Rules:
        """Return the rules of a comparison; thresholds that vary come with the arrays."""
        threshold = 0.0 if varies(self.threshold) else self.threshold
        return Rules(
            self.method,
            self.confidence_level,
            threshold,
            threshold,
            df=self.df,
            better=better,
            paired=self.paired is not None,
            shared=shared,
            prior=self.prior is not None,
        )


def check_options(
    *, method: str | None, statistic: str, confidence_level: float, rng: Rng, **arguments: Any
) -> Options:
    """Return the arguments of a comparison; raise where they do not go together."""
    check_choice(statistic, "statistic", (MEAN, MEDIAN))
    options = Options(
        method or (RATIO_METHODS[0] if statistic == MEAN else ORDER_STATISTICS),
        statistic,
        check_confidence_level(confidence_level),
        rng=rng,
        **arguments,
    )
    check_choice(options.df, "df", DF_RULES)
    if options.medians:
        if options.method not in MEDIAN_METHODS:
            raise ValueError(
                f"method={method!r} is not one of a ratio of medians; choose one of "
                f"{listed(MEDIAN_METHODS)}, or statistic='mean'"
            )
        if options.df != DF_RULES[0]:
            raise ValueError(
                f"df={options.df!r} is for formulas of means; a ratio of medians takes none"
            )
    else:
        if options.value is not None:
            raise ValueError(
                f"value={options.value!r} says what the runs are whose median is taken; a mean "
                "takes unit means: give levels="
            )
        check_choice(options.method, "method", RATIO_METHODS + PAIR_METHODS + BOOTSTRAP_METHODS)
        if options.method in PAIR_METHODS and options.paired is None:
            raise ValueError(
                f"method={method!r} compares pairs. Name the level whose units match, as in "
                "paired='session'"
            )
    check_choice(options.correction, "correction", (None, "holm", "bh"))
    check_no_resampling(options.method, options.resample)
    check_prior(options.prior, options.method)
    unmoderated = None if options.method in WITH_PRIOR else options.method
    check_between(options.between, method=unmoderated, paired=options.paired)
    if options.drawn:  # Several metrics, and calls at other levels, use the same draws.
        return options._replace(rng=str(describe_key(key_of(rng))[RNG_KEY]))
    return options


class Method(NamedTuple):
    """A method: its function, and the arrays that it takes besides both sides.

    `further` are the variables that only this method has. `of_units` says whether lower levels may
    be averaged before, chunk by chunk.
    """

    function: Callable[..., RatioComparison]
    attrs: dict[str, Hashable]
    inputs: tuple[tuple[xr.DataArray, tuple[str, ...]], ...] = ()
    further: Mapping[str, Output] = MappingProxyType({})
    of_units: bool = False


def choose_method(
    pair: Pair,
    options: Options,
    rules: Rules,
    depth: int,
    sessions: Sessions | None,
    across: tuple[str, ...],
) -> Method:
    """Return the method of a pair.

    `depth` is the position in the nest of the runs whose medians are compared; `across` the dim of
    the suite, if benchmarks are taken together.
    """
    if options.drawn:
        return _bootstrap(pair, options, rules, depth, across)
    if options.medians:
        return _order_statistics(pair, rules, depth, across)
    lazy = is_chunked(pair.candidate.array) or is_chunked(pair.baseline.array)
    if options.method == ALWAYS_VALID:
        return _in_rounds(pair, rules, 1 if lazy else len(pair.candidate.levels), across)
    function = partial(
        compare_units,
        levels=1 if lazy else len(pair.candidate.levels),
        sessions=sessions is not None,
        mixed=bool(sessions and sessions.lacking),
    )
    attrs: dict[str, Hashable] = {"df": rules.df} | (
        {"prior": options.prior} if rules.prior else {}
    )
    further = learned_outputs(*across) if rules.prior else {}
    if sessions is None:
        return Method(function, attrs, further=further, of_units=True)
    return Method(
        function,
        attrs | {"between": sessions.level},
        sessions.inputs(across),
        further | session_outputs(*across),
        of_units=True,
    )


def _in_rounds(pair: Pair, rules: Rules, levels: int, across: tuple[str, ...]) -> Method:
    """Compare pairs at any round, without the effect of the order where a coordinate tells it."""
    sides, unit = [pair.candidate.array, pair.baseline.array], pair.candidate.levels[0]
    ordered = all(SLOT in side.coords for side in sides)
    attrs: dict[str, Hashable] = {"df": rules.df}
    function = partial(compare_rounds, levels=levels, ordered=ordered)
    if not ordered:
        return Method(function, attrs, of_units=True)
    new, old = (side.isel(dict.fromkeys(pair.candidate.levels[1:], 0), drop=True) for side in sides)
    order = (new.coords[SLOT].variable - old.coords[SLOT].variable).astype(float)
    order = order.set_dims({**order.sizes, **old.sizes, **new.sizes})
    coords = {name: side.coords[name] for side in (old, new) for name in side.indexes}
    differences = xr.DataArray(order, coords).drop_vars(SLOT, errors="ignore")
    return Method(
        function,
        attrs | {"adjusted_for": SLOT},
        ((differences, (*across, unit)),),
        of_units=True,
    )


def along_suite(across: str, array: xr.DataArray) -> xr.DataArray:
    """Return an array with the dim of the suite in one chunk.

    A single benchmark gets it as its last dim.
    """
    if across not in array.dims:
        array = array.drop_vars(across, errors="ignore").expand_dims({across: 1}, -1)
    return array.chunk({across: -1}) if is_chunked(array) else array


def _stopped_ends(
    pair: Pair, across: tuple[str, ...]
) -> tuple[tuple[xr.DataArray, tuple[str, ...]], ...]:
    """Return both sides with stopped runs at their best and at their worst.

    Masks of the sides whose best is not known follow.
    """
    if not pair.bounded:
        return ()
    sides = (pair.candidate, pair.baseline)
    ends = [end(side).array for end in (with_unknown_at_best, with_worst_case) for side in sides]
    unlimited = [side.bounds.at_least & side.bounds.at_most for side in sides]
    return (
        *((end, (*across, *pair.candidate.levels)) for end in ends),
        *((mask, across) for mask in unlimited),
    )


def _order_statistics(pair: Pair, rules: Rules, depth: int, across: tuple[str, ...]) -> Method:
    nest, ends = pair.candidate.levels, _stopped_ends(pair, across)
    function = partial(compare_medians, levels=depth + 1, far=FAR)
    return Method(
        of_runs(function, len(nest) - depth, 4 if ends else 0),
        {"value": nest[depth]},
        ends,
        {name: output._replace(dims=across) for name, output in SPREAD_OUTPUTS.items()}
        if rules.method == RANK
        else {},
    )


def _bootstrap(
    pair: Pair, options: Options, rules: Rules, depth: int, across: tuple[str, ...]
) -> Method:
    """Compare by the bootstrap, which draws from all timings; for medians, from the runs."""
    nest, sides = pair.candidate.levels, [pair.candidate.array, pair.baseline.array]
    several = any(sides[0].sizes.get(dim, 1) > 1 for dim in across)
    if options.medians and (rules.shared or rules.paired) and several:
        raise ValueError(
            f"method={rules.method!r} of medians draws each benchmark by itself. Here benchmarks "
            f"have common units (shared= or paired=). Choose method='{ORDER_STATISTICS}', or "
            "statistic='mean'"
        )
    runs = pair.candidate._replace(levels=nest[: depth + 1]) if options.medians else pair.candidate
    plan = check_resampling(
        runs, options.resample, options.n_resamples, options.rng, joint=rules.shared or rules.paired
    )
    cells, groups = (
        cell_keys(sides[:1] if pair.baselines else sides, nest, excluded)
        for excluded in ((), across)
    )
    if pair.baselines:
        cells, groups = (keys.broadcast_like(pair.itself) for keys in (cells, groups))
    joint = next((number for number, name in enumerate(nest) if name not in pair.shared), len(nest))
    ends = _stopped_ends(pair, across) if options.medians else ()
    function: Callable[..., RatioComparison] = partial(
        compare_stopped_draws if ends else compare_draws,
        draws=plan.draws,
        joint=joint,
        flat=plan.flat,
        statistic=options.statistic,
        far=FAR,
    )
    if options.medians:
        function = of_runs(function, len(nest) - depth, len(ends[:4]))
    attrs = plan.attrs | ({"value": nest[depth]} if options.medians else {})
    return Method(function, attrs, (*ends, (cells, across), (groups, ())))
