"""The methods that compare two systems: their questions, and their answers in one form."""

from collections.abc import Callable
from dataclasses import dataclass
from math import comb
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from perfarray.comparisons.compare import compare
from perfarray.conventions import LOWER
from perfarray.numerics.verdicts import FASTER, INCONCLUSIVE, SLOWER
from perfarray.speedups.numerics.protocols import NO_ANSWER
from perfarray.speedups.protocols import speedup_test
from perfarray.suites.hierarchical import hierarchical_performance_test
from perfarray.suites.randomization import randomization_test
from perfarray.suites.scores import score_ratio_interval
from perfarray.timings.streams import Rng

# The verdict where a method does not speak of the suite, or of single benchmarks
UNANSWERED = "not asked"


# A dim that no timings have, so that every benchmark is a suite of its own
OWN_SUITE = "_suite"


TOO_FEW = "too few units for an interval"
NOT_MEASURED = "not measured on both sides"
UNPAIRED = "does not use that units are paired"
STOPPED = "what stopped runs would have taken decides"


# Variables without labels, which are the same for all methods and would be aligned again and again
Answer = dict[str, xr.Variable]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One comparison for all methods: two systems, and the choices of the caller."""

    times: xr.DataArray
    baseline: xr.DataArray
    better: str
    levels: tuple[str, ...]
    across: str
    shared: tuple[str, ...]
    declared: str | tuple[str, ...] | None
    paired: str | None
    threshold: float
    confidence_level: float
    n_resamples: int
    rng: Rng

    @property
    def alpha(self) -> float:
        """The risk of the tests, without the rounding of 1 - confidence_level."""
        return round(1 - self.confidence_level, 12)

    @property
    def cells(self) -> xr.DataArray:
        """An array with the labels of the cells that methods answer about."""
        return xr.broadcast(
            *(
                side.isel(dict.fromkeys(self.levels, 0), drop=True)
                for side in (self.times, self.baseline)
            )
        )[0]

    @property
    def joint(self) -> bool:
        """Whether benchmarks share their independent units."""
        return self.levels[0] in self.shared

    @property
    def units(self) -> dict[str, Any]:
        """Keywords of the methods that know shared and paired units."""
        return {
            "levels": self.levels,
            "shared": self.shared or self.declared,
            "paired": self.paired,
        }

    @property
    def drawing(self) -> dict[str, Any]:
        """Keywords of the methods that draw."""
        return {"n_resamples": self.n_resamples, "rng": self.rng}


class AgreementMethod(NamedTuple):
    """A method: its name, title and question, and the function that answers.

    An answer holds `estimate`, `lower`, `upper`, `pvalue` as far as the method has them, `verdict`,
    `remark`, and `able`: whether these data could have given it a verdict at all; of a method that
    looks in one direction also `asked`: whether they point there.
    """

    name: str
    title: str
    question: str
    answer: Callable[[Request], tuple[Answer | None, Answer | None]]


def _by_ratio(method: str) -> Callable[[Request], tuple[Answer, Answer]]:
    """Return a function that answers by `compare` with one method."""

    def answer(request: Request) -> tuple[Answer, Answer]:
        options: dict[str, Any] = {
            "threshold": request.threshold,
            "confidence_level": request.confidence_level,
            "across": request.across,
        }
        options |= request.units | (request.drawing if method == "studentized" else {})
        result = compare(request.times, request.baseline, method=method, **options)
        names = ("estimate", "lower", "upper", "pvalue", "verdict")
        cell_answer, suite = (
            {name: result.variables[prefix + name] for name in names} for prefix in ("", "suite_")
        )
        return _with_limits(cell_answer, TOO_FEW), _with_limits(suite, TOO_FEW)

    return answer


def _by_score(method: str, random_benchmarks: bool) -> Callable[[Request], tuple[None, Answer]]:
    """Return a function that answers by the interval of the ratio of two scores."""

    def answer(request: Request) -> tuple[None, Answer]:
        options: dict[str, Any] = (
            {"confidence_level": request.confidence_level, "across": request.across}
            | request.units
            | request.drawing
        )
        result = score_ratio_interval(
            request.times,
            request.baseline,
            method=method,
            random_benchmarks=random_benchmarks,
            **options,
        )
        remark = "too few benchmarks for an interval" if random_benchmarks else TOO_FEW
        limits = {name: result.variables[name] for name in ("estimate", "lower", "upper", "pvalue")}
        return None, _with_limits(_with_verdict(limits, request), remark)

    return answer


def _with_limits(answer: Answer, remark: str) -> Answer:
    """Add whether there is an interval, and a remark where there is none."""
    has_limits = answer["lower"].notnull()
    return answer | {
        "able": has_limits,
        "remark": xr.where(
            has_limits, "", xr.where(answer["estimate"].isnull(), NOT_MEASURED, remark)
        ),
    }


def _by_exchange(request: Request) -> tuple[Answer, Answer]:
    """Answer by the randomization test, for every benchmark and for the suite.

    Exactly where that takes no more exchanges.
    """
    answers = []
    for across in (OWN_SUITE, request.across):
        ways: Any = _exchanges(request, paired=request.paired is not None)
        if across in ways.dims:
            # Shared units are exchanged for all benchmarks at once, as many as the benchmark with
            # the fewest has.
            product = np.minimum(ways.copy(data=np.log2(ways.values)).sum(across), 1000)
            ways = (
                ways.where(ways > 1).min(across).fillna(1)
                if request.joint
                else (2.0**product).round()
            )
        drawing = (
            {"method": "exact"} if bool((ways <= request.n_resamples).all()) else request.drawing
        )
        sides = [
            side.expand_dims(OWN_SUITE) if across == OWN_SUITE else side
            for side in (request.times, request.baseline)
        ]
        result = randomization_test(
            sides[0], sides[1], across=across, **request.units, **drawing
        ).variables
        answer = _with_verdict(
            {"estimate": result["statistic"], "pvalue": result["pvalue"]}, request
        )
        answers.append(
            _within_reach(
                answer,
                result["smallest_pvalue"],
                request,
                f"so few units and {request.n_resamples} exchanges",
            )
        )
    return answers[0], answers[1]


def _exchanges(request: Request, *, paired: bool = False) -> xr.Variable:
    """Return the number of exchanges of the units of every benchmark; inf beyond 1,000 units."""
    sides = [
        side.variable.notnull().any(request.levels[1:]).sum(request.levels[0])
        for side in (request.times, request.baseline)
    ]
    total, smaller_side = sides[0] + sides[1], np.minimum(*sides)
    pairs = zip(total.values.ravel(), smaller_side.values.ravel(), strict=True)
    ways = [
        np.inf if of > 1000 else 2.0**smaller if paired else float(comb(of, smaller))
        for of, smaller in pairs
    ]
    return xr.Variable(total.dims, np.reshape(ways, total.shape))


def _within_reach(
    answer: Answer, smallest_pvalue: xr.Variable, request: Request, why: str
) -> Answer:
    """Add whether the smallest possible p-value allows a verdict, with a remark if not."""
    out_of_reach = smallest_pvalue > request.alpha
    texts = [
        f"with {why} its p cannot fall below {min(value, 1.0):.2g}"
        for value in smallest_pvalue.values.ravel()
    ]
    beyond = smallest_pvalue.copy(data=np.array(texts, dtype=object).reshape(smallest_pvalue.shape))
    missing = answer["pvalue"].isnull()
    return answer | {
        "able": ~out_of_reach & ~missing,
        "remark": xr.where(missing, NOT_MEASURED, xr.where(out_of_reach, beyond, "")),
    }


def _by_protocol(statistic: str) -> Callable[[Request], tuple[Answer, None]]:
    """Return a function that answers by the Speedup-Test, which is one-sided."""

    def answer(request: Request) -> tuple[Answer, None]:
        options: dict[str, Any] = {
            "levels": request.levels,
            "confidence_level": request.confidence_level,
        }
        variables = speedup_test(
            request.times, request.baseline, statistic=statistic, **options
        ).variables
        lower_is_better = request.better == LOWER
        ratio = 1 / variables["speedup"] if lower_is_better else variables["speedup"]
        verdict = xr.where(variables["significant"], FASTER, INCONCLUSIVE)
        smallest_pvalue = (
            1 / _exchanges(request) if statistic == "median" else xr.zeros_like(ratio)
        )  # t has no smallest p
        answer = _within_reach(
            {"estimate": ratio, "pvalue": variables["pvalue"], "verdict": verdict},
            smallest_pvalue,
            request,
            "so few units",
        )
        without_answer, text = variables["test"] == NO_ANSWER, variables["warnings"]
        undecided = without_answer & ratio.isnull() & (variables["n"] > 0)
        answer["able"] = answer["able"] & ~without_answer
        answer["remark"] = xr.where(
            undecided, STOPPED, xr.where(text != "", text, answer["remark"])
        )
        answer["asked"] = (ratio <= 1 if lower_is_better else ratio >= 1) | undecided
        return _add_remark(answer, UNPAIRED if request.paired else ""), None

    return answer


def _add_remark(answer: Answer, text: str) -> Answer:
    """Append a text to the remarks of every cell."""
    remark = answer["remark"].astype(object)
    return (
        answer | {"remark": xr.where(remark == "", text, remark + f"; {text}")} if text else answer
    )


def _by_ranks(request: Request) -> tuple[None, Answer]:
    """Answer by the hierarchical performance test in both directions."""
    options: dict[str, Any] = {
        "levels": request.levels,
        "across": request.across,
        "confidence_level": request.confidence_level,
    }
    result = hierarchical_performance_test(request.times, request.baseline, **options)
    better, worse = (
        result.variables,
        hierarchical_performance_test(request.baseline, request.times, **options).variables,
    )
    required_confidence = 1 - (1 - request.confidence_level) / 2
    verdict = xr.where(
        better["confidence"] >= required_confidence,
        FASTER,
        xr.where(worse["confidence"] >= required_confidence, SLOWER, INCONCLUSIVE),
    )
    pvalue = np.minimum(1.0, 2 * np.minimum(better["pvalue"], worse["pvalue"]))
    pvalue = xr.where(better["suite_benchmarks"] > 0, pvalue.fillna(1.0), np.nan)
    testable = (
        2 / _exchanges(request) <= result.attrs["alpha"]
    )  # where a rank-sum test can reject at all
    number = (
        testable.sum(request.across) if request.across in testable.dims else testable.astype(int)
    )
    why = "so few benchmarks that have enough units for a rank-sum test"
    answer = _add_remark(
        _within_reach({"pvalue": pvalue, "verdict": verdict}, 2.0 ** (1 - number), request, why),
        UNPAIRED if request.paired else "",
    )
    return None, _add_remark(answer, "takes benchmarks for independent" if request.joint else "")


METHODS = (
    AgreementMethod(
        "fieller",
        "means, t",
        "by how much do the mean times of these programs differ",
        _by_ratio("fieller"),
    ),
    AgreementMethod(
        "studentized",
        "means, bootstrap",
        "the same, without assuming that unit means are normal",
        _by_ratio("studentized"),
    ),
    AgreementMethod(
        "percentile",
        "scores, percentiles",
        "the same for the suite, by the paper's bootstrap: too narrow",
        _by_score("percentile", False),
    ),
    AgreementMethod(
        "t_benchmarks",
        "benchmarks as sample",
        "by how much would programs like these differ",
        _by_score("t", True),
    ),
    AgreementMethod(
        "randomization",
        "randomization",
        "do the runs come from the same distribution; effects that cancel are not seen",
        _by_exchange,
    ),
    AgreementMethod(
        "speedup_test_mean",
        "Speedup-Test mean",
        "is the mean faster, one direction; normality tested first",
        _by_protocol("mean"),
    ),
    AgreementMethod(
        "speedup_test_median",
        "Speedup-Test median",
        "is the median faster, one direction; a shift assumed",
        _by_protocol("median"),
    ),
    AgreementMethod(
        "hpt",
        "HPT",
        "is the candidate better in most benchmarks, by ranks, however little",
        _by_ranks,
    ),
)


def _with_verdict(answer: Answer, request: Request) -> Answer:
    """Add the verdict of a two-sided p-value and the direction of the estimate."""
    improved = (answer["estimate"] < 1) if request.better == LOWER else (answer["estimate"] > 1)
    is_significant = answer["pvalue"] <= request.alpha
    return answer | {
        "verdict": xr.where(is_significant, xr.where(improved, FASTER, SLOWER), INCONCLUSIVE)
    }
