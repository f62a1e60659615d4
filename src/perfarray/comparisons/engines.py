"""The arguments of `compare` and `pairwise`, and the engine they choose: formulas of unit means, order statistics, or the bootstrap."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from types import MappingProxyType
from typing import Any, NamedTuple

import xarray as xr

from perfarray.comparisons.medians import MEDIAN, ORDER_STATISTICS, SPREAD_OUTPUTS, of_runs
from perfarray.comparisons.priors import WITH_PRIOR, check_prior, learned_outputs
from perfarray.comparisons.sessions import Sessions, check_between, session_outputs
from perfarray.conventions import METRIC, RNG_KEY
from perfarray.numerics import bootstrap_tests, median_tests, ratio_tests
from perfarray.numerics.intervals import BOOTSTRAP_METHODS, FIELLER
from perfarray.numerics.rank_sums import RANK
from perfarray.numerics.verdicts import Limits, Rules
from perfarray.timings.apply import Labels, Output, is_chunked
from perfarray.timings.metrics import single_metric
from perfarray.timings.pairs import FAR, Pair, with_unknown_at_best, with_worst_case
from perfarray.timings.resampling import Resample, check_no_resampling, check_resampling
from perfarray.timings.resolve import Data, check_names
from perfarray.timings.streams import Rng, cell_keys, describe_key, key_of
from perfarray.timings.validation import (
    check_choice,
    check_confidence_level,
    check_equivalence_risk,
    check_threshold,
)
from perfarray.timings.zeros import Positive

PART, REPLICATE, SIDE = "_part", "_replicate", "_side"  # dims of evidence that no result has


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    """The arguments of a comparison: `rules` is what formulas need, the rest is what labels and random numbers need.

    `better`, `paired` and `shared` of the rules are known when the data are resolved. `thresholds`
    is a mapping or an array where the threshold differs between verdicts, else None; `between` says
    what sessions vary by.
    """

    rules: Rules
    statistic: str
    value: str | None
    dim: str | None
    levels: str | tuple[str, ...] | None
    resample: Resample
    n_resamples: int
    rng: Rng
    family: str | tuple[str, ...] | None
    censored: str
    across: str
    shared: str | tuple[str, ...] | None
    paired: str | None
    metric: str | list[str] | None
    thresholds: Any = None
    between: Any = None

    def __post_init__(self) -> None:
        rules = self.rules
        check_choice(rules.correction, "correction", (None, "holm", "bh"))
        check_choice(rules.band, "band", ("linear", "log"))
        level, threshold = (
            check_confidence_level(rules.confidence_level),
            check_threshold(rules.threshold),
        )
        check_equivalence_risk(rules.equivalence_risk)
        object.__setattr__(
            self, "rules", rules._replace(confidence_level=level, threshold=threshold)
        )
        check_no_resampling(rules.method, self.resample)
        check_prior(rules.prior, rules.method)
        method = None if rules.method in WITH_PRIOR else rules.method
        check_between(self.between, method=method, paired=self.paired)

    @property
    def drawn(self) -> bool:
        """Whether the method is a bootstrap."""
        return self.rules.method in BOOTSTRAP_METHODS

    @property
    def medians(self) -> bool:
        """Whether medians are compared."""
        return self.statistic == MEDIAN

    @property
    def positive(self) -> Positive:
        """What must be above 0 in a cell. Fieller's theorem takes zeros.

        Ratios that are drawn, and logs, do not.
        """
        rules = self.rules
        if self.medians:
            return Positive("a ratio of medians", "")  # `check_runs` knows the runs
        if rules.prior:
            return Positive(f"a comparison with prior={rules.prior!r}")
        if rules.method in FIELLER:
            return Positive("a comparison", "")
        needs = f"a comparison with method={rules.method!r}"
        return (
            Positive(needs, level=0 if self.resample is None else -1)
            if self.drawn
            else Positive(needs, "mean")
        )

    def seeded(self) -> "CompareOptions":
        """Return the options with a key of random numbers, so that several calls draw the same."""
        return (
            replace(self, rng=str(describe_key(key_of(self.rng))[RNG_KEY])) if self.drawn else self
        )

    def each_metric(
        self, times: Data, baseline: object
    ) -> Iterator[tuple[Data, object, "CompareOptions"]]:
        """Yield data and options of every metric.

        Several metrics share one key of random numbers.
        """
        if isinstance(self.metric, str | None):
            yield times, baseline, self
            return
        seeded = self.seeded()
        for name in check_names(self.metric, METRIC):
            yield (
                single_metric(times, name),
                single_metric(baseline, name),
                replace(seeded, metric=name),
            )


class Engine(NamedTuple):
    """A formula that gives evidence, the formula of its limits, and the arrays that both need.

    `material` are the variables that limits are made from, with dims whose labels are in `coords`;
    `inputs` the arrays between the timings and their bounds, with their `core` dims; `further` what
    the formula returns after the material, variables of the result; `of_units` says whether the
    formula takes unit means instead of timings.
    """

    evidence: Callable[..., Sequence[Any]]
    limits: Limits
    material: dict[str, tuple[str, ...]]
    coords: dict[str, range]
    attrs: dict[str, Hashable]
    inputs: tuple[xr.DataArray, ...] = ()
    core: tuple[list[str], ...] = ()
    further: Mapping[str, Output] = MappingProxyType({})
    of_units: bool = False


def choose_engine(
    pair: Pair, options: CompareOptions, rules: Rules, depth: int, sessions: Sessions | None
) -> Engine:
    """Return the engine of a method.

    `depth` is the position in the nest of the runs whose medians are compared.
    """
    if options.drawn:
        return _bootstrap(pair, options, rules, depth)
    return (
        _order_statistics(pair, options, rules, depth)
        if options.medians
        else _formulas(rules, options.across, sessions)
    )


def along_suite(across: str, *arrays: xr.DataArray) -> list[xr.DataArray]:
    """Return arrays with the dim of the suite; a single benchmark gets it as the last."""

    def expanded(array: xr.DataArray) -> xr.DataArray:
        labels = Labels(
            {name: label for name, label in array.coords.variables.items() if name != across},
            dict(array.xindexes),
        )
        return labels.array(
            xr.Variable((*array.dims, across), array.data[..., None], array.attrs), array.name
        )

    return [array if across in array.dims else expanded(array) for array in arrays]


def _formulas(rules: Rules, across: str, sessions: Sessions | None) -> Engine:
    further = (learned_outputs(across) if rules.prior else {}) | (
        session_outputs(across) if sessions else {}
    )
    return Engine(
        evidence=partial(
            ratio_tests.evidence_of_units, rules=rules, mixed=bool(sessions and sessions.lacking)
        ),
        limits=partial(ratio_tests.limits_of_units, rules=rules),
        material={"_limits": (PART,)},
        coords={PART: range(ratio_tests.MATERIAL)},
        attrs={
            "df": rules.df,
            **({"prior": rules.prior} if rules.prior else {}),
            **({"between": sessions.level} if sessions else {}),
        },
        inputs=sessions.inputs if sessions else (),
        core=sessions.core(across) if sessions else (),
        further=further,
        of_units=True,
    )


def _stopped_ends(pair: Pair, across: str) -> tuple[list[xr.DataArray], list[xr.DataArray]]:
    """Return both sides with stopped runs at their best and at their worst, and where the best of each is not known."""
    if not pair.bounded:
        return [], []
    sides = (pair.candidate, pair.baseline)
    ends = [end(side).array for end in (with_unknown_at_best, with_worst_case) for side in sides]
    unlimited = [side.bounds.at_least & side.bounds.at_most for side in sides]
    arrays = [
        array.chunk({across: -1}) if is_chunked(array) else array
        for array in along_suite(across, *ends, *unlimited)
    ]
    return arrays[: len(ends)], arrays[len(ends) :]


def _order_statistics(pair: Pair, options: CompareOptions, rules: Rules, depth: int) -> Engine:
    """Compare medians by the order of runs.

    Stopped runs are taken at their best and at their worst.
    """
    across, nest, sides = options.across, pair.candidate.levels, (pair.candidate, pair.baseline)
    ends, unlimited = _stopped_ends(pair, across)
    most = max(prod(side.array.sizes[level] for level in nest[: depth + 1]) for side in sides)
    evidence = partial(median_tests.evidence_of_medians, rules=rules, levels=depth + 1, far=FAR)
    return Engine(
        evidence=of_runs(evidence, len(nest) - depth, 2 + len(ends)),
        limits=partial(median_tests.limits_of_medians, far=FAR, ranked=rules.method == RANK),
        material={"_limits": (SIDE, PART)},
        coords={SIDE: range(4 if ends else 2), PART: range(median_tests.NUMBERS + 2 * most)},
        attrs={"value": nest[depth]},
        inputs=(*ends, *unlimited),
        further={name: output._replace(dims=(across,)) for name, output in SPREAD_OUTPUTS.items()}
        if rules.method == RANK
        else {},
        core=(*([across, *nest] for _ in ends), *([across] for _ in unlimited)),
    )


def _bootstrap(pair: Pair, options: CompareOptions, rules: Rules, depth: int) -> Engine:
    """Compare by the bootstrap, which draws from all timings; for medians, from the runs."""
    across, nest = options.across, pair.candidate.levels
    if (
        options.medians
        and (rules.shared or rules.paired)
        and pair.candidate.array.sizes.get(across, 1) > 1
    ):
        raise ValueError(
            f"method={rules.method!r} draws each benchmark alone where medians are compared, "
            "and these have common units (shared= or "
            f"paired=); choose method='{ORDER_STATISTICS}', or statistic='mean'"
        )
    runs = pair.candidate._replace(levels=nest[: depth + 1]) if options.medians else pair.candidate
    plan = check_resampling(
        runs, options.resample, options.n_resamples, options.rng, joint=rules.shared or rules.paired
    )
    arrays = [
        side.array
        for side in ((pair.candidate,) if pair.baselines else (pair.candidate, pair.baseline))
    ]
    cells, groups = (cell_keys(arrays, nest, excluded) for excluded in (None, across))
    if pair.baselines:
        cells, groups = (keys.broadcast_like(pair.itself) for keys in (cells, groups))
    cells = cells if across in cells.dims else cells.expand_dims({across: 1})
    joint = next((number for number, name in enumerate(nest) if name not in pair.shared), len(nest))
    ends, unlimited = _stopped_ends(pair, across) if options.medians else ([], [])
    formula = (
        bootstrap_tests.evidence_of_stopped_draws if ends else bootstrap_tests.evidence_of_draws
    )
    evidence = partial(
        formula,
        rules=rules,
        draws=plan.draws,
        joint=joint,
        flat=plan.flat,
        statistic=options.statistic,
    )
    return Engine(
        evidence=of_runs(evidence, len(nest) - depth, 2 + len(ends))
        if options.medians
        else evidence,
        limits=partial(
            bootstrap_tests.limits_of_draws, rules=rules, medians=options.medians, far=FAR
        ),
        material={"_replicates": (SIDE, REPLICATE), "_limits": (SIDE, PART)},
        coords={
            SIDE: range(3 if ends else 1),
            REPLICATE: range(plan.draws.n_resamples),
            PART: range(bootstrap_tests.MATERIAL),
        },
        attrs=plan.attrs | ({"value": nest[depth]} if options.medians else {}),
        inputs=(
            *ends,
            *unlimited,
            cells.chunk({across: -1}) if is_chunked(cells) else cells,
            groups,
        ),
        core=(*([across, *nest] for _ in ends), *([across] for _ in unlimited), [across], []),
    )
