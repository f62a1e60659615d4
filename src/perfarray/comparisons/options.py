"""The arguments of `compare` and `pairwise`, checked."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from perfarray.comparisons.medians import MEDIAN
from perfarray.conventions import METRIC, RNG_KEY
from perfarray.numerics.intervals import BOOTSTRAP_METHODS
from perfarray.numerics.verdicts import Rules
from perfarray.timings.metrics import single_metric
from perfarray.timings.resampling import Resample, check_no_resampling
from perfarray.timings.resolve import Data, check_names
from perfarray.timings.streams import Rng, describe_key, key_of
from perfarray.timings.validation import check_choice, check_confidence_level, check_equivalence_risk, check_threshold


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    """The arguments of a comparison: `rules` is what formulas need, the rest is what labels and random numbers need.

    `better`, `paired` and `shared` of the rules are known when the data are resolved.
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

    def __post_init__(self) -> None:
        rules = self.rules
        check_choice(rules.correction, "correction", (None, "holm", "bh"))
        check_choice(rules.band, "band", ("linear", "log"))
        level, threshold = check_confidence_level(rules.confidence_level), check_threshold(rules.threshold)
        check_equivalence_risk(rules.equivalence_risk)
        object.__setattr__(self, "rules", rules._replace(confidence_level=level, threshold=threshold))
        if not self.drawn:
            check_no_resampling(rules.method, self.resample)

    @property
    def drawn(self) -> bool:
        """Whether the method is a bootstrap."""
        return self.rules.method in BOOTSTRAP_METHODS

    @property
    def medians(self) -> bool:
        """Whether medians are compared."""
        return self.statistic == MEDIAN

    def each_metric(self, times: Data, baseline: object) -> Iterator[tuple[Data, object, "CompareOptions"]]:
        """Yield data and options of every metric; several metrics share one key of random numbers."""
        if isinstance(self.metric, str | None):
            yield times, baseline, self
            return
        seeded = replace(self, rng=str(describe_key(key_of(self.rng))[RNG_KEY])) if self.drawn else self
        for name in check_names(self.metric, METRIC):
            yield single_metric(times, name), single_metric(baseline, name), replace(seeded, metric=name)
