"""Calling a method on many experiments at once, and reading its answer: limits, or a verdict."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr

import perfarray
from perfarray.calibration.designs import EXPERIMENT
from perfarray.numerics.verdicts import EQUIVALENT, FASTER, INCONCLUSIVE, SLOWER
from perfarray.timings.notes import collecting_notes
from perfarray.timings.validation import listed

RATIO, MEAN, COMPONENTS = "ratio", "mean", "variances"  # the true values that limits can be about

TRUTHS: Final[Mapping[str, str]] = {
    "agreement": RATIO,
    "compare": RATIO,
    "ratio_interval": RATIO,
    "score_ratio_interval": RATIO,
    "mean_interval": MEAN,
    "variance_components": COMPONENTS,
}

# Methods whose answer is a p-value, or whether there is a difference; those that only see a better
# candidate; and those whose estimate is baseline / candidate.
TESTS: Final = ("hierarchical_performance_test", "normality", "randomization_test", "speedup_test")
ONE_SIDED: Final = ("hierarchical_performance_test",)
SPEEDUPS: Final = ("hierarchical_performance_test", "speedup_test")

# The variables of an answer that are read: variables of a Dataset, entries of a mapping, or
# attributes, as of SciPy's results.
VARIABLES: Final = (
    "lower",
    "upper",
    "kind",
    "verdict",
    "significant",
    "pvalue",
    "estimate",
    "statistic",
    "speedup",
)


class CalibratedMethod(NamedTuple):
    """A method with its arguments.

    `takes` are the names that it accepts, `truth` is what its limits are about ("" for a test).
    """

    name: str
    function: Callable[..., Any]
    two: bool
    truth: str
    options: dict[str, Any]
    takes: frozenset[str]
    public: bool


def check_method(method: str | Callable[..., Any], options: Mapping[str, Any]) -> CalibratedMethod:
    """Return the method of a public name, or a callable of timings (and a baseline)."""
    name = (
        method
        if isinstance(method, str)
        else str(getattr(method, "__name__", type(method).__name__))
    )
    public_function: Any = getattr(perfarray, name) if name in perfarray.__all__ else None
    public = isinstance(method, str) or method is public_function
    function: Callable[..., Any] | None = public_function if isinstance(method, str) else method
    parameters = inspect.signature(function).parameters if callable(function) else {}
    if function is None or not parameters or (public and next(iter(parameters)) != "times"):
        raise ValueError(
            f"method {method!r} is not known. Give a callable f(times, baseline) or f(times), or "
            f"the name of a function: {listed(sorted((*TRUTHS, *TESTS)), 20)}"
        )
    positional = [
        parameter
        for parameter in parameters.values()
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    two = ("baseline" in parameters and not public) or sum(
        parameter.default is parameter.empty for parameter in positional
    ) > 1
    truth = TRUTHS.get(name, "") if public else RATIO if two else MEAN
    takes = frozenset(parameters)
    open_ended = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    unknown = [option for option in options if option not in takes]
    if unknown and not open_ended:
        raise ValueError(
            f"{name} takes no {listed(unknown)}; what it takes is "
            f"{listed([*parameters][1 + two :], 40)}"
        )
    return CalibratedMethod(name, function, two, truth, dict(options), takes, public)


def with_defaults(
    method: CalibratedMethod,
    levels: Sequence[str],
    dims: Sequence[str],
    confidence_level: float,
    rng: str,
) -> CalibratedMethod:
    """Return the method with default arguments, where it takes them and the caller gave none."""
    defaults: dict[str, Any] = {"confidence_level": confidence_level, "rng": rng} | (
        {"levels": tuple(levels)} if method.public else {}
    )
    if method.options.get("correction") is not None and not dims:
        raise ValueError(
            "correction= is for several verdicts in one experiment; give dims=, as "
            "{'benchmark': 13}"
        )
    return method._replace(
        options={name: value for name, value in defaults.items() if name in method.takes}
        | method.options
    )


def ask(
    method: CalibratedMethod, sides: Sequence[xr.DataArray], **options: Any
) -> dict[str, xr.DataArray]:
    """Call a method on some experiments, and return the parts of its answer along `experiment`."""
    count = sides[0].sizes[EXPERIMENT]
    if method.options.get("correction") is not None and count > 1:
        # A correction is over all verdicts of a call, and each experiment is a family.
        single_answers = [
            ask(method, [side.isel({EXPERIMENT: [number]}) for side in sides], **options)
            for number in range(count)
        ]
        return {
            name: xr.concat([single_answer[name] for single_answer in single_answers], EXPERIMENT)
            for name in single_answers[0]
        }
    with collecting_notes():
        answer = method.function(*sides, **method.options | options)
    if not isinstance(answer, Mapping):
        answer = {name: getattr(answer, name, None) for name in VARIABLES}
    variables = answer.data_vars if isinstance(answer, xr.Dataset) else answer
    answers = {
        name: _along_experiments(variables[name], name, method, count)
        for name in VARIABLES
        if variables.get(name) is not None
    }
    if not answers.keys() & {"lower", "verdict", "significant", "pvalue"}:
        raise ValueError(
            f"the answer of {method.name} has neither lower and upper nor pvalue, verdict or "
            "significant"
        )
    return answers


def _along_experiments(value: Any, name: str, method: CalibratedMethod, count: int) -> xr.DataArray:
    """Return a part of an answer along `experiment`, which is the first axis of plain arrays."""
    array: xr.DataArray = value
    if not isinstance(value, xr.DataArray):
        dims = [EXPERIMENT, *(f"_{axis}" for axis in range(1, np.ndim(value)))]
        array = xr.DataArray(np.asarray(value), dims=dims[: np.ndim(value)])
    if EXPERIMENT not in array.dims and count == 1:
        array = array.expand_dims(EXPERIMENT)
    if array.sizes.get(EXPERIMENT) != count:
        raise ValueError(
            f"{name} of the answer of {method.name} has the dims {dict(array.sizes)}. It needs "
            f"{count} experiments along the dim {EXPERIMENT!r}. Let the answer keep this dim, or "
            "take batch=1"
        )
    return array.drop_vars(
        [name for name in array.coords if name not in array.dims or name == EXPERIMENT]
    )


def decided(
    method: CalibratedMethod, answer: Mapping[str, xr.DataArray], threshold: Any, risk: float
) -> xr.Dataset:
    """Return whether the method sees a difference in every experiment.

    And its direction (-1: less), and whether there is an answer.
    """
    if "verdict" in answer:
        verdict = answer["verdict"]
        direction = xr.where(verdict == FASTER, -1, xr.where(verdict == SLOWER, 1, 0))
        answered = (
            answer["lower"].notnull()
            if "lower" in answer
            else verdict.isin([FASTER, SLOWER, EQUIVALENT, INCONCLUSIVE])
        )
        return xr.Dataset({"seen": direction != 0, "direction": direction, "answered": answered})
    if "lower" in answer and method.truth == RATIO:
        lower, upper = answer["lower"], answer["upper"]
        inside = (
            (answer["kind"] != "exclusive") if "kind" in answer else xr.ones_like(lower, dtype=bool)
        )
        direction = xr.where(inside & (lower > 1 + threshold), 1, 0) - xr.where(
            inside & (upper < 1 - threshold), 1, 0
        )
        return xr.Dataset(
            {
                "seen": direction != 0,
                "direction": direction,
                "answered": lower.notnull() & upper.notnull(),
            }
        )
    if np.any(np.asarray(threshold) > 0):
        raise ValueError(
            f"threshold={threshold!r}: {method.name} tests whether there is any difference, "
            "and knows no threshold"
        )
    if "pvalue" not in answer and "significant" not in answer:
        raise ValueError(
            f"{method.name} has limits, and no verdict: there is nothing that could raise an alarm"
        )
    significant = (
        answer["significant"].astype(bool) if "significant" in answer else answer["pvalue"] <= risk
    )
    answered = answer["pvalue"].notnull() if "pvalue" in answer else xr.ones_like(significant)
    return xr.Dataset(
        {
            "seen": significant,
            "direction": _direction(method, answer, significant),
            "answered": answered,
        }
    )


def _direction(
    method: CalibratedMethod, answer: Mapping[str, xr.DataArray], significant: xr.DataArray
) -> Any:
    """Return the direction of the difference that a test sees: 0 where it gives none."""
    if method.name in ONE_SIDED:
        return -significant.astype(int)
    estimate = next(
        (answer[name] for name in ("estimate", "speedup", "statistic") if name in answer), None
    )
    if estimate is None or not (method.public and method.two):
        return xr.zeros_like(significant, dtype=int)
    return xr.where(significant, np.sign(estimate - 1) * (-1 if method.name in SPEEDUPS else 1), 0)
