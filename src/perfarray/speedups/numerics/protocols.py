"""What the Speedup-Test did, in words: the outcome of every step, the original tool's warnings, a sentence for a paper."""

from itertools import compress
from typing import NamedTuple

import numpy as np

from perfarray.numerics.types import Floats, Mask, Texts
from perfarray.speedups.numerics.tests import CANNOT_CONCLUDE, LARGE, YES, MeanSteps, MedianSteps, Outcome, mean_pvalue

NO_ANSWER = "cannot conclude"
STUDENT, WELCH, MANN_WHITNEY = "Student t", "Welch t", "Mann-Whitney"
NOT_REACHED = "not reached"

STEPS = {"mean": ("normal_baseline", "normal_candidate", "equal_variances", "faster"), "median": ("same_shape", "faster")}
"""What is tested, in order."""

JOINT = "; "
"""What stands between warnings."""

UNAVAILABLE = "Cannot process benchmark: samples unavailable."
NOT_NORMAL = (
    "Sample{} data are not normally distributed. The indicated confidence level for speedup of the average execution time may not be "
    "accurate."
)
NOT_SHIFTED = (
    "The two samples do not fit the location shift model. The indicated confidence level for the speedup of the median execution time  "
    "may not be accurate."
)
TOO_SMALL = "Sample{} too small for applying {} (speedup of the {}). Please do more than 30 observations of the executions times."
NOT_FOUND = "Unable to find a confidence level greater than 50% to guarantee the statistical significance of {} speedup."
"""The original tool's sentences; its Sample1 is the baseline, Sample2 the candidate."""

UNTESTED = "Sample{} has fewer than 3 values, or equal values only: its normality cannot be tested."
ALL_EQUAL = "All values of both samples are equal: the test of the medians has no answer."
"""Ours, where the tool only says that it cannot conclude."""


WARNINGS = {
    "mean": (
        UNAVAILABLE,
        *(text.format(number, "the Student's t-test", "mean") for number in (1, 2) for text in (UNTESTED, TOO_SMALL, NOT_NORMAL)),
        NOT_FOUND.format("mean"),
    ),
    "median": (
        UNAVAILABLE,
        *(TOO_SMALL.format(number, "the Wilcoxon-Mann-Whitney's test", "median") for number in (1, 2)),
        NOT_SHIFTED,
        ALL_EQUAL,
        NOT_FOUND.format("median"),
    ),
}
"""What each protocol may warn of, in the order in which it does."""


class Protocol(NamedTuple):
    """The last test, its p-value, warnings and a sentence; along the steps their p-values and outcomes; which of `WARNINGS` apply."""

    test: Texts
    pvalue: Floats
    warnings: Texts
    sentence: Texts
    step_pvalue: Floats
    step_outcome: Texts
    warned: Mask


def describe_mean(steps: MeanSteps, conclusion: Outcome, slower: Mask) -> Protocol:
    """Describe the way through the protocol for the mean went; `slower` says where the candidate is."""
    risk = conclusion.described
    normality = [
        _conditions(p, n, risk, ("normal", "not normal, large sample", "not normal, small sample"))
        for p, n in ((steps.normal_x, steps.n), (steps.normal_y, steps.m))
    ]
    reached = conclusion.verdict != CANNOT_CONCLUDE
    equal = steps.equal_variances > risk
    outcomes = [
        *normality,
        np.where(reached, np.where(equal, "equal variances", "unequal variances"), NOT_REACHED),
        _last(conclusion, slower),
    ]
    pvalue = np.where(reached, mean_pvalue(steps, risk), np.nan)
    pvalues = [steps.normal_x, steps.normal_y, np.where(reached, steps.equal_variances, np.nan), pvalue]
    test = np.where(reached, np.where(equal, STUDENT, WELCH), NO_ANSWER).astype(object)
    return _protocol(steps, conclusion, (test, pvalue), _mean_warnings(steps, risk), (pvalues, outcomes))


def describe_median(steps: MedianSteps, conclusion: Outcome, slower: Mask) -> Protocol:
    """Describe the way through the protocol for the median went; `slower` says where the candidate is."""
    risk = conclusion.described
    smaller = np.minimum(steps.n, steps.m)
    shape = _conditions(steps.same_shape, smaller, risk, ("a shift", "not a shift, large samples", "not a shift, small sample"))
    reached = conclusion.verdict != CANNOT_CONCLUDE
    pvalue = np.where(reached, steps.mann_whitney, np.nan)
    test = np.where(reached, MANN_WHITNEY, NO_ANSWER).astype(object)
    outcomes = [shape, _last(conclusion, slower)]
    return _protocol(steps, conclusion, (test, pvalue), _median_warnings(steps, risk), ([steps.same_shape, pvalue], outcomes))


def _conditions(pvalue: Floats, n: Floats, risk: Floats, words: tuple[str, str, str]) -> Texts:
    """Return in words whether a condition was accepted, rejected for large samples, or rejected for small ones."""
    cases = [n == 0, np.isnan(pvalue), pvalue > risk, n >= LARGE]
    return np.select(cases, [NOT_REACHED, "no answer", *words[:2]], words[2]).astype(object)


def _last(conclusion: Outcome, slower: Mask) -> Texts:
    """Return in words what the last step found."""
    words = np.where(conclusion.verdict == YES, "significant", np.where(slower, "not significant, slower", "not significant"))
    return np.where(conclusion.verdict == CANNOT_CONCLUDE, NOT_REACHED, words).astype(object)


def _mean_warnings(steps: MeanSteps, risk: Floats) -> list[Mask]:
    """Return where the warnings of the mean's tests apply."""
    sides = ((steps.normal_x, steps.n), (steps.normal_y, steps.m))
    return [where for p, n in sides for where in (np.isnan(p), (p <= risk) & (n < LARGE), (p <= risk) & (n >= LARGE))]


def _median_warnings(steps: MedianSteps, risk: Floats) -> list[Mask]:
    """Return where the warnings of the median's tests apply."""
    rejected = steps.same_shape <= risk
    small = [rejected & (n < LARGE) for n in (steps.n, steps.m)]
    return [*small, rejected & (steps.n >= LARGE) & (steps.m >= LARGE), np.isnan(steps.mann_whitney)]


def _protocol(
    steps: MeanSteps | MedianSteps,
    conclusion: Outcome,
    last: tuple[Texts, Floats],
    warned: list[Mask],
    along: tuple[list[Floats], list[Texts]],
) -> Protocol:
    """Put the words of both protocols together; a benchmark without a sample has one warning only."""
    statistic = "mean" if isinstance(steps, MeanSteps) else "median"
    absent = (steps.n == 0) | (steps.m == 0)
    applies = np.stack([absent, *(where & ~absent for where in (*warned, conclusion.not_found))], axis=-1)
    step_pvalue, step_outcome = np.stack(along[0], axis=-1), np.stack(along[1], axis=-1)
    warnings, sentences = np.empty(absent.shape, dtype=object), np.empty(absent.shape, dtype=object)
    for cell in np.ndindex(*absent.shape):  # text is written one cell at a time
        warnings[cell] = JOINT.join(compress(WARNINGS[statistic], applies[cell]))
        sizes = int(steps.n[cell]), int(steps.m[cell])
        steps_of_cell = [*zip(STEPS[statistic], step_pvalue[cell].tolist(), step_outcome[cell].tolist(), strict=True)]
        sentences[cell] = _sentence(
            sizes, (float(conclusion.risk[cell]), float(conclusion.described[cell])), steps_of_cell, str(last[0][cell])
        )
    return Protocol(*last, warnings, sentences, step_pvalue, step_outcome, applies)


TESTS = {
    "normal_baseline": "Shapiro-Wilk, baseline",
    "normal_candidate": "Shapiro-Wilk, candidate",
    "equal_variances": "F test",
    "same_shape": "Kolmogorov-Smirnov on centred samples",
}


def _sentence(sizes: tuple[int, int], risks: tuple[float, float], steps: list[tuple[str, float, str]], test: str) -> str:
    """Tell one cell's way through the protocol."""
    begin = f"n = {sizes[0]} (baseline) and {sizes[1]} (candidate)"
    if 0 in sizes:
        return f"{begin}; nothing to compare"
    risk, at = risks
    clauses = [f"{TESTS[name]}: p = {p:.3g}, {outcome}" for name, p, outcome in steps[:-1] if outcome != NOT_REACHED]
    _, p, outcome = steps[-1]
    end = f"{test}, one-sided: p = {p:.3g}, {outcome}"
    if outcome == NOT_REACHED:
        end = "The conditions of the test do not hold, no conclusion"
    searched = "; no confidence level above 50 % found" if np.isnan(risk) else ""
    return f"{begin}, risk {100 * at:.3g} %. {'. '.join(clauses)}. {end}{searched}."
