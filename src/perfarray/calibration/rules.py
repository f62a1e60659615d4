"""Rules that decide whether two sides differ: ours, those of other tools, and methods."""

from collections.abc import Callable, Mapping, Sequence, Set
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr

import perfarray
from perfarray.calibration.designs import EXPERIMENT
from perfarray.calibration.methods import ask, check_method, decided, with_defaults
from perfarray.calibration.numerics.splits import errors_apart, pool, pooled_t
from perfarray.numerics.types import Floats, Mask
from perfarray.speedups.numerics.rank_tests import mann_whitney
from perfarray.timings.validation import check_choice, listed

Judged = tuple[
    Mask, Mask
]  # for every comparison, whether a difference is seen, and whether there is an answer


class AlarmRule(NamedTuple):
    """A rule by name, the tools that use it, and its function of both sides of many comparisons."""

    name: str
    used_by: str
    judge: Callable[[xr.DataArray, xr.DataArray], Judged]


def _by_pvalue(pvalue: Floats, risk: float) -> Judged:
    return pvalue <= risk, ~np.isnan(pvalue)


def _by_limit(limit: float, first: Floats, second: Floats, _: float) -> Judged:
    ratio = pool(first).mean / pool(second).mean
    return np.abs(ratio - 1) > limit, ~np.isnan(ratio)


OURS: Final = "perfarray"

# Rules that ignore the nest: the tools that use each, and its function of all values of both sides
# and the risk.
RULES: Final[Mapping[str, tuple[str, Callable[[Floats, Floats, float], Judged]]]] = {
    "pooled_t": ("pyperf", lambda first, second, risk: _by_pvalue(pooled_t(first, second), risk)),
    "pooled_mannwhitney": (
        "benchstat, Google Benchmark",
        lambda first, second, risk: _by_pvalue(
            mann_whitney(first, second, "two-sided").pvalue, risk
        ),
    ),
    "errors_apart": (
        "readers of JMH's scores",
        lambda first, second, _: errors_apart(first, second, 0.999),
    ),
    "means_2_percent": ("a limit on the means", partial(_by_limit, 0.02)),
    "means_5_percent": ("a limit on the means", partial(_by_limit, 0.05)),
}


def check_rules(
    rules: Any, levels: Sequence[str], threshold: float, confidence_level: float, rng: str
) -> list[AlarmRule]:
    """Return the rules of some names, or of callables of two sides."""
    names_or_callables = (
        [rules]
        if isinstance(rules, str) or callable(rules)
        else list(rules)
        if isinstance(rules, Sequence | Set)
        else []
    )
    if not names_or_callables:
        raise ValueError(
            f"rules={rules!r}: give at least one of {listed((OURS, *RULES))}, the name of a "
            "method, or a callable"
        )
    checked: list[AlarmRule] = []
    risk = round(1 - confidence_level, 12)
    for rule in names_or_callables:
        name = (
            rule if isinstance(rule, str) else str(getattr(rule, "__name__", type(rule).__name__))
        )
        if isinstance(rule, str) and rule in RULES:
            used_by, test = RULES[rule]
            checked.append(AlarmRule(name, used_by, partial(_pooled, test, threshold, risk)))
            continue
        if isinstance(rule, str) and rule != OURS and not hasattr(perfarray, rule):
            check_choice(
                rule,
                "rules",
                (OURS, *RULES, "the name of a method, such as randomization_test", "a callable"),
            )
        method = with_defaults(
            check_method("compare" if rule == OURS else rule, {}), levels, (), confidence_level, rng
        )
        used_by = f"perfarray.{method.name}" if method.public else "the caller"
        checked.append(AlarmRule(name, used_by, partial(_by_method, method, threshold, risk)))
    names = [rule.name for rule in checked]
    if len(set(names)) < len(names):
        raise ValueError(f"rules= names something twice: {listed(names)}")
    return checked


def _pooled(
    test: Callable[[Floats, Floats, float], Judged],
    threshold: float,
    risk: float,
    first: xr.DataArray,
    second: xr.DataArray,
) -> Judged:
    """Judge by all values of a side; changes below the threshold are no alarm."""
    x, y = (side.values.reshape(side.sizes[EXPERIMENT], -1) for side in (first, second))
    significant, answered = test(x, y, risk)
    large = np.abs(pool(x).mean / pool(y).mean - 1) > threshold
    return significant & answered & large, answered


def _by_method(
    method: Any, threshold: float, risk: float, first: xr.DataArray, second: xr.DataArray
) -> Judged:
    options = {"threshold": threshold} if "threshold" in method.takes else {}
    decision = decided(method, ask(method, [first, second], **options), threshold, risk).transpose(
        EXPERIMENT
    )
    return (decision["seen"] & decision["answered"]).values, decision["answered"].values
