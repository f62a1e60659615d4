"""The arguments of `compare` and `pairwise`, checked."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from perfarray.comparisons.medians import MEDIAN, check_ratio_method
from perfarray.conventions import LOWER, METRIC, RNG_KEY
from perfarray.numerics.intervals import BOOTSTRAP_METHODS
from perfarray.numerics.verdicts import Rules
from perfarray.timings.metrics import only
from perfarray.timings.resampling import Resample, check_no_resampling
from perfarray.timings.resolve import Data, check_names
from perfarray.timings.streams import Rng, describe_key, key_of
from perfarray.timings.validation import check_choice, check_confidence_level, check_equivalence_risk, check_threshold


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    """The arguments of a comparison: `rules` is what formulas need, the rest is what labels and random numbers need."""

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
        if not self.drawn:
            check_no_resampling(self.rules.method, self.resample)

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
            yield only(times, name), only(baseline, name), replace(seeded, metric=name)


def check_rules(
    *,
    statistic: str,
    value: str | None,
    method: str | None,
    df: str,
    threshold: float,
    band: str,
    equivalence_risk: float | None,
    confidence_level: float,
    correction: str | None,
) -> Rules:
    """Return the rules of a comparison; `better`, `paired` and `shared` are known when the data are resolved."""
    checked_method = check_ratio_method(statistic, method, df, value)
    check_choice(correction, "correction", (None, "holm", "bh"))
    check_choice(band, "band", ("linear", "log"))
    level, limit = check_confidence_level(confidence_level), check_threshold(threshold)
    check_equivalence_risk(equivalence_risk)
    return Rules(
        checked_method, df, limit, level, correction, LOWER, paired=False, shared=False, band=band, equivalence_risk=equivalence_risk
    )
