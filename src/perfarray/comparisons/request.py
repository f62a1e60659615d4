"""What is asked of a comparison, in one frozen object that travels where the timings go."""

from dataclasses import dataclass

from perfarray.comparisons.medians import MEDIAN
from perfarray.numerics.intervals import BOOTSTRAP_METHODS
from perfarray.timings.resampling import Resample, check_no_resampling
from perfarray.timings.streams import Rng
from perfarray.timings.validation import check_choice, check_confidence_level, check_equivalence_risk, check_threshold


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The arguments of `compare`, checked; the method by `check_ratio_method`.

    Raises
    ------
    ValueError
        When a choice is unknown or out of range.
    """

    dim: str | None
    levels: str | tuple[str, ...] | None
    threshold: float
    band: str
    equivalence_risk: float | None
    confidence_level: float
    statistic: str
    value: str | None
    method: str
    df: str
    resample: Resample
    n_resamples: int
    rng: Rng
    correction: str | None
    family: str | tuple[str, ...] | None
    censored: str
    across: str
    shared: str | tuple[str, ...] | None
    paired: str | None
    metric: str | list[str] | None

    def __post_init__(self) -> None:
        check_choice(self.correction, "correction", (None, "holm", "bh"))
        check_choice(self.band, "band", ("linear", "log"))
        object.__setattr__(self, "confidence_level", check_confidence_level(self.confidence_level))
        object.__setattr__(self, "threshold", check_threshold(self.threshold))
        check_equivalence_risk(self.equivalence_risk)
        if not self.draws:
            check_no_resampling(self.method, self.resample)

    @property
    def draws(self) -> bool:
        """Whether the method redraws the timings."""
        return self.method in BOOTSTRAP_METHODS

    @property
    def medians(self) -> bool:
        """Whether it is medians that are compared."""
        return self.statistic == MEDIAN
