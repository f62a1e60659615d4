"""The same comparison under every method of the package, each with the question it answers."""

from collections.abc import Callable
from dataclasses import dataclass
from math import comb
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from perfarray.comparisons.compare import compare
from perfarray.conventions import BENCHMARK, LOWER, SUITE
from perfarray.numerics.verdicts import EQUIVALENT, FASTER, INCONCLUSIVE, SLOWER
from perfarray.speedups.numerics.protocols import NO_ANSWER
from perfarray.speedups.protocols import speedup_test
from perfarray.suites.hierarchical import hierarchical_performance_test
from perfarray.suites.randomization import randomization_test
from perfarray.suites.scores import score_ratio_interval
from perfarray.timings.across import check_across, name_suites, suite_row_for_each
from perfarray.timings.censored import ONLY_WORSE
from perfarray.timings.metrics import for_each_metric
from perfarray.timings.notes import collecting_notes, first_of_each_code, with_notes
from perfarray.timings.pairs import resolve_pair
from perfarray.timings.resolve import Data
from perfarray.timings.streams import Rng
from perfarray.timings.validation import check_confidence_level, check_count
from perfarray.timings.zeros import DECLINED, Positive

# The verdict where a method does not speak of the suite, or of single benchmarks
UNANSWERED = "not asked"

# A dim that no timings have, so that every benchmark is a suite of its own
OWN_SUITE = "_suite"

# Outcomes: a verdict; none, though one was possible; none possible with these data, whatever the
# truth
CONCLUSIVE, NO_EVIDENCE, NOT_APPLICABLE = "conclusive", "no evidence", "not applicable"

# The order in which methods that differ are grouped
KINDS = (FASTER, SLOWER, EQUIVALENT, INCONCLUSIVE, NOT_APPLICABLE)

# The variables of a method's answer, and their values where it was not asked
ANSWERS = dict.fromkeys(("estimate", "lower", "upper", "pvalue"), np.nan) | {
    "verdict": UNANSWERED,
    "outcome": UNANSWERED,
    "remark": "",
}

# Codes of notes on the units behind all methods
OF_UNITS = ("single_unit", "two_units", "few_skewed_units", "move_together")

TOO_FEW, NOT_MEASURED = "too few units for an interval", "not measured on both sides"
UNPAIRED = "does not use that units are paired"
STOPPED = "what stopped runs would have taken decides"


# Variables without labels, which are the same for all methods and would be aligned again and again
Answer = dict[str, xr.Variable]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One comparison, the same for all methods: two systems with the same labels, and the caller's choices."""

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
        """The risk of the tests: 0.1 for a level of 0.9, where 1 - 0.9 falls short of it by rounding."""
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


class Method(NamedTuple):
    """A method: its name, title and question, and the function that returns its answers for every benchmark and for the suite (or None).

    An answer holds `estimate`, `lower`, `upper`, `pvalue` as far as the method has them, `verdict`,
    `remark`, and `able`: whether these data could have given it a verdict at all; of a method that
    looks in one direction also `asked`: whether they point there.
    """

    name: str
    title: str
    question: str
    answer: Callable[[Request], tuple[Answer | None, Answer | None]]


@suite_row_for_each
@for_each_metric
def agreement(
    times: Data,
    baseline: object,
    *,
    dim: str | None = None,
    threshold: float = 0.0,
    confidence_level: float = 0.95,
    n_resamples: int = 1000,
    across: str = BENCHMARK,
    by: str | None = None,
    levels: str | tuple[str, ...] | None = None,
    shared: str | tuple[str, ...] | None = None,
    paired: str | None = None,
    rng: Rng = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Compare two systems by every method of the package, side by side, and name where the methods differ.

    Methods differ because they answer different questions; and some cannot answer at all with few
    units. The result tells the two apart: a method that could not answer contradicts nobody. Choose
    the method by its question, before looking at the answers.

    Parameters
    ----------
    times, baseline, dim, levels, metric : as for `compare`
        Timings (lazy ones are computed), what they are compared with, the nest, and the variable(s)
        of a Dataset.
    threshold : float
        A relative change that does not matter, for the methods that know one (`fieller`,
        `studentized`).
    confidence_level : float
        Of intervals, and 1 minus the risk of the tests.
    n_resamples, rng : int; int, str or numpy.random.Generator, optional
        Bootstrap replicates and random exchanges (where there are no more exchanges than that, all
        are counted), and their seed.
    across, by, shared, paired : as for `compare`
        The dim of the suite, suites apart, shared levels, matched units; methods that cannot use
        them say so in their remark.

    Returns
    -------
    Dataset
        Along `method`: for every benchmark `estimate` (candidate / baseline), `lower`, `upper`,
        `pvalue`, `verdict` ("faster", "slower", "equivalent", "inconclusive", or "not asked"),
        `outcome` ("conclusive"; "no evidence": it could have seen a difference, and did not; "not
        applicable": with these data it cannot come to a verdict, whatever the truth; "not asked":
        also of a test that looks for gains alone where the data show none), `remark` (why a method
        is not applicable, or what it left aside; "" otherwise); for the suite the same with
        `suite_` before, and `suite_benchmarks`, how many were measured on both sides; `question`,
        and `title`, what people call the method. `agree` and `suite_agree` say whether all methods
        that apply give the same verdict (False where none applies), `differences` and
        `suite_differences` which methods say what where they do not, and which do not apply.

    Raises
    ------
    ValueError
        Unknown dims, levels or labels; units that differ; values that are negative.

    Notes
    -----
    The verdict of a method that is not applicable is "inconclusive". A test is not applicable where
    its smallest possible p lies above 1 - `confidence_level`: the randomization test of 3 runs
    against 3 has no p below 0.1.

    `sel` has an argument called `method` of its own: select with `result.sel({"method": "hpt"})`.

    References
    ----------
    S. Irving et al., "Computer comparisons in the presence of performance variation", 2018, section
    6, compares three of them so.

    Examples
    --------
    >>> import perfarray
    >>> dims = {"benchmark": 6, "version": ["old", "new"]}
    >>> times = perfarray.simulate(sizes={"execution": 10}, variances={"execution": 1e-4}, dims=dims, rng=1)
    >>> new = times["time"].where(times["version"] == "old", 0.95 * times["time"])
    >>> found = new.perf.agreement("old", dim="version", rng=1).squeeze("version")
    >>> found["suite_verdict"].to_series().to_dict()["fieller"], found["suite_agree"].item()
    ('faster', True)
    """
    zeros = Positive("a comparison", "")
    pair = resolve_pair(
        times,
        baseline,
        dim=dim,
        metric=metric,
        levels=levels,
        shared=shared,
        positive=zeros,
        censored="bound",
    )
    check_across(across, pair.candidate.array, pair.candidate.levels, pair.dim)
    # Methods of suites answer for the benchmarks given, of whichever suites.
    sides = [
        side.array.compute().drop_vars(SUITE, errors="ignore")
        for side in (pair.candidate, pair.baseline)
    ]
    request = Request(
        times=sides[0],
        baseline=sides[1],
        better=pair.candidate.better,
        levels=pair.candidate.levels,
        across=across,
        shared=pair.shared,
        declared=shared,
        paired=paired,
        threshold=threshold,
        confidence_level=check_confidence_level(confidence_level),
        n_resamples=check_count(n_resamples, "n_resamples", 2),
        rng=rng,
    )
    # The remarks of methods are in their answers; what the comparison says of the units is said
    # once below.
    with collecting_notes() as of_units:
        answers = {METHODS[0].name: _answers(METHODS[0], request)}
    with collecting_notes() as method_notes:
        answers |= {method.name: _answers(method, request) for method in METHODS[1:]}
    result = _side_by_side(answers, request.cells)
    suite = pair.candidate.array.coords.get(SUITE)
    if suite is not None and {*suite.dims} <= {*result.dims}:
        result = result.assign_coords({SUITE: suite.variable})
    counted = request.times.notnull().any(request.levels) & request.baseline.notnull().any(
        request.levels
    )  # on both sides
    measured = counted.sum(across) if across in counted.dims else counted.astype(int)
    result["suite_benchmarks"] = measured.assign_attrs(
        units="1", long_name="benchmarks measured on both sides"
    )
    attrs = {
        **pair.attrs,
        "result": "agreement",
        "across": across,
        "confidence_level": request.confidence_level,
    }
    attrs |= {
        "benchmarks": f"shared: {' '.join(request.shared)}"
        if request.joint
        else "independent (assumed)"
    }
    result = result.assign_attrs(attrs | {"threshold": threshold})
    suites = (
        name_suites(result, pair.candidate.array, counted, across, by=True)
        if across in result.dims
        else None
    )
    remarks = first_of_each_code(
        [note for note in of_units if note.code in OF_UNITS]
        + [note for note in method_notes if note.code in (OF_UNITS[-1], DECLINED)]
    )
    return with_notes(
        result, *pair.notes, *pair.unit_notes, pair.stopped_note(ONLY_WORSE), suites, *remarks
    )


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
        single, suite = (
            {name: result.variables[prefix + name] for name in names} for prefix in ("", "suite_")
        )
        return _with_limits(single, TOO_FEW), _with_limits(suite, TOO_FEW)

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
        few = "too few benchmarks for an interval" if random_benchmarks else TOO_FEW
        limits = {name: result.variables[name] for name in ("estimate", "lower", "upper", "pvalue")}
        return None, _with_limits(_with_verdict(limits, request), few)

    return answer


def _with_limits(answer: Answer, few: str) -> Answer:
    """Add whether there is an interval, and a remark where there is none."""
    able = answer["lower"].notnull()
    return answer | {
        "able": able,
        "remark": xr.where(able, "", xr.where(answer["estimate"].isnull(), NOT_MEASURED, few)),
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
    """Return the number of exchanges of the units of every benchmark: 1 where a side has none, infinite beyond 1,000 units."""
    sides = [
        side.variable.notnull().any(request.levels[1:]).sum(request.levels[0])
        for side in (request.times, request.baseline)
    ]
    total, fewest = sides[0] + sides[1], np.minimum(*sides)
    pairs = zip(total.values.ravel(), fewest.values.ravel(), strict=True)
    ways = [
        np.inf if of > 1000 else 2.0**least if paired else float(comb(of, least))
        for of, least in pairs
    ]
    return xr.Variable(total.dims, np.reshape(ways, total.shape))


def _within_reach(answer: Answer, least: xr.Variable, request: Request, why: str) -> Answer:
    """Add whether the smallest possible p-value allows a verdict, and a remark where it does not."""
    unable = least > request.alpha
    texts = [
        f"with {why} its p cannot fall below {min(value, 1.0):.2g}"
        for value in least.values.ravel()
    ]
    beyond = least.copy(data=np.array(texts, dtype=object).reshape(least.shape))
    missing = answer["pvalue"].isnull()
    return answer | {
        "able": ~unable & ~missing,
        "remark": xr.where(missing, NOT_MEASURED, xr.where(unable, beyond, "")),
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
        least = (
            1 / _exchanges(request) if statistic == "median" else xr.zeros_like(ratio)
        )  # t has no smallest p
        answer = _within_reach(
            {"estimate": ratio, "pvalue": variables["pvalue"], "verdict": verdict},
            least,
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
    sure = 1 - (1 - request.confidence_level) / 2
    verdict = xr.where(
        better["confidence"] >= sure,
        FASTER,
        xr.where(worse["confidence"] >= sure, SLOWER, INCONCLUSIVE),
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
    Method(
        "fieller",
        "means, t",
        "by how much do the mean times of these programs differ",
        _by_ratio("fieller"),
    ),
    Method(
        "studentized",
        "means, bootstrap",
        "the same, without assuming that unit means are normal",
        _by_ratio("studentized"),
    ),
    Method(
        "percentile",
        "scores, percentiles",
        "the same for the suite, by the paper's bootstrap: too narrow",
        _by_score("percentile", False),
    ),
    Method(
        "t_benchmarks",
        "benchmarks as sample",
        "by how much would programs like these differ",
        _by_score("t", True),
    ),
    Method(
        "randomization",
        "randomization",
        "do the runs come from the same distribution; effects that cancel are not seen",
        _by_exchange,
    ),
    Method(
        "speedup_test_mean",
        "Speedup-Test mean",
        "is the mean faster, one direction; normality tested first",
        _by_protocol("mean"),
    ),
    Method(
        "speedup_test_median",
        "Speedup-Test median",
        "is the median faster, one direction; a shift assumed",
        _by_protocol("median"),
    ),
    Method(
        "hpt",
        "HPT",
        "is the candidate better in most benchmarks, by ranks, however little",
        _by_ranks,
    ),
)


def _with_verdict(answer: Answer, request: Request) -> Answer:
    """Add the verdict of a two-sided p-value and the direction of the estimate."""
    improved = (answer["estimate"] < 1) if request.better == LOWER else (answer["estimate"] > 1)
    sure = answer["pvalue"] <= request.alpha
    return answer | {"verdict": xr.where(sure, xr.where(improved, FASTER, SLOWER), INCONCLUSIVE)}


def _answers(method: Method, request: Request) -> Answer:
    """Return the answers of one method under their names; NaN or "not asked" where it has none."""
    single, suite = method.answer(request)
    cells = request.cells.sizes
    suite_sizes = {dim: size for dim, size in cells.items() if dim != request.across}
    variables: Answer = {}
    for prefix, answer, sizes in (("", single, cells), ("suite_", suite, suite_sizes)):
        answered = {} if answer is None else _with_outcome(answer)
        for name, nothing in ANSWERS.items():
            variable = answered.get(name, xr.Variable((), nothing))
            variables[f"{prefix}{name}"] = variable.astype(
                object if isinstance(nothing, str) else float
            ).set_dims(sizes)
    return variables


def _with_outcome(answer: Answer) -> Answer:
    """Add the outcome: a verdict, no evidence, or not applicable."""
    verdict = xr.where(answer["able"], answer["verdict"], INCONCLUSIVE)
    outcome = xr.where(
        answer["able"], xr.where(verdict == INCONCLUSIVE, NO_EVIDENCE, CONCLUSIVE), NOT_APPLICABLE
    )
    return answer | {
        "verdict": verdict,
        "outcome": xr.where(answer.get("asked", True), outcome, UNANSWERED),
    }


def _side_by_side(answers: dict[str, Answer], cells: xr.DataArray) -> xr.Dataset:
    """Return the answers along `method`, with their questions and differences."""
    names = np.array(list(answers), dtype=object)
    variables = {
        name: xr.Variable.concat([answer[name] for answer in answers.values()], "method")
        for name in answers[names[0]]
    }
    for variable in variables.values():
        variable.attrs = {} if variable.dtype == object else {"units": "1"}
    for name in ("title", "question"):
        variables[name] = xr.Variable(
            "method", np.array([getattr(method, name) for method in METHODS], dtype=object)
        )
    for prefix in ("", "suite_"):
        variables |= _differences(
            prefix, names.tolist(), variables[f"{prefix}verdict"], variables[f"{prefix}outcome"]
        )
    labels = {dim: cells.coords[dim].variable for dim in cells.dims if dim in cells.coords}
    return xr.Dataset(variables, labels | {"method": names})


def _differences(
    prefix: str, names: list[str], verdict: xr.Variable, outcome: xr.Variable
) -> Answer:
    """Return whether all methods that apply give the same verdict, and which give what where they do not."""
    kind = np.where(
        outcome == NOT_APPLICABLE,
        NOT_APPLICABLE,
        np.where(outcome == UNANSWERED, UNANSWERED, verdict),
    )
    agree, texts = [], []
    # The groups of methods are text, so this loops over cells.
    for row in kind.reshape(len(names), -1).T.tolist():
        groups = {
            kind: [name for name, label in zip(names, row, strict=True) if label == kind]
            for kind in KINDS
            if kind in row
        }
        agree.append(len(groups.keys() - {NOT_APPLICABLE}) == 1)
        texts.append(
            ""
            if agree[-1]
            else "; ".join(f"{kind}: {', '.join(group)}" for kind, group in groups.items())
        )
    arrays = {"agree": np.array(agree, dtype=bool), "differences": np.array(texts, dtype=object)}
    return {
        f"{prefix}{name}": xr.Variable(verdict.dims[1:], array.reshape(verdict.shape[1:]))
        for name, array in arrays.items()
    }
