"""What the Speedup-Test did, in words: outcomes of steps, warnings, a sentence for a paper."""

from itertools import compress

import numpy as np

from perfarray.numerics.types import Floats, Mask, Texts
from perfarray.speedups.numerics.tests import (
    CANNOT_CONCLUDE,
    LARGE,
    YES,
    MeanSteps,
    MedianSteps,
    Outcome,
    mean_pvalue,
)

NO_ANSWER = "cannot conclude"
STUDENT, WELCH, MANN_WHITNEY = "Student t", "Welch t", "Mann-Whitney"
NOT_REACHED = "not reached"

STEPS = {
    "mean": ("normal_baseline", "normal_candidate", "equal_variances", "faster"),
    "median": ("same_shape", "faster"),
}

# The original tool's sentences; its Sample1 is the baseline, Sample2 the candidate.
UNAVAILABLE = "Cannot process benchmark: samples unavailable."
NOT_NORMAL = (
    "Sample{} data are not normally distributed. The indicated confidence level for speedup of "
    "the average execution time may not be "
    "accurate."
)
NOT_SHIFTED = (
    "The two samples do not fit the location shift model. The indicated confidence level for "
    "the speedup of the median execution time  "
    "may not be accurate."
)
TOO_SMALL = (
    "Sample{} too small for applying {} (speedup of the {}). Please do more than 30 "
    "observations of the executions times."
)
NOT_FOUND = (
    "Unable to find a confidence level greater than 50% to guarantee the statistical "
    "significance of {} speedup."
)

# Ours, where the tool only says that it cannot conclude.
UNTESTED = "Sample{} has fewer than 3 values, or equal values only: its normality cannot be tested."
ALL_EQUAL = "All values of both samples are equal: the test of the medians has no answer."

WARNINGS = {  # in the order in which the tool prints them
    "mean": (
        UNAVAILABLE,
        *(
            text.format(number, "the Student's t-test", "mean")
            for number in (1, 2)
            for text in (UNTESTED, TOO_SMALL, NOT_NORMAL)
        ),
        NOT_FOUND.format("mean"),
    ),
    "median": (
        UNAVAILABLE,
        *(
            TOO_SMALL.format(number, "the Wilcoxon-Mann-Whitney's test", "median")
            for number in (1, 2)
        ),
        NOT_SHIFTED,
        ALL_EQUAL,
        NOT_FOUND.format("median"),
    ),
}

TESTS = {
    "normal_baseline": "Shapiro-Wilk, baseline",
    "normal_candidate": "Shapiro-Wilk, candidate",
    "equal_variances": "F test",
    "same_shape": "Kolmogorov-Smirnov on centred samples",
}


def describe(
    steps: MeanSteps | MedianSteps, conclusion: Outcome, slower: Mask
) -> dict[str, Floats | Texts | Mask]:
    """Return the last test and its p-value, warnings and the protocol in words.

    `step_pvalue` and `step_outcome` lie along `STEPS` on a last axis, and `warned` along
    `WARNINGS`: which of them apply. `slower` is where the candidate is.
    """
    risk, n, m = conclusion.described_risk, steps.n, steps.m
    reached = conclusion.verdict != CANNOT_CONCLUDE
    if isinstance(steps, MeanSteps):
        statistic, equal = "mean", steps.equal_variances > risk
        test, pvalue = np.where(equal, STUDENT, WELCH), mean_pvalue(steps, risk)
        sides = ((steps.normal_x, n), (steps.normal_y, m))
        words = ("normal", "not normal, large sample", "not normal, small sample")
        variances = np.where(equal, "equal variances", "unequal variances")
        outcomes = [_condition(p, size, risk, words) for p, size in sides]
        outcomes.append(np.where(reached, variances, NOT_REACHED))
        conditions = [
            steps.normal_x,
            steps.normal_y,
            np.where(reached, steps.equal_variances, np.nan),
        ]
        warned = [
            mask
            for p, size in sides
            for mask in (np.isnan(p), (p <= risk) & (size < LARGE), (p <= risk) & (size >= LARGE))
        ]
    else:
        statistic, smaller, rejected = "median", np.minimum(n, m), steps.same_shape <= risk
        test, pvalue = np.full(n.shape, MANN_WHITNEY, dtype=object), steps.mann_whitney
        words = ("a shift", "not a shift, large samples", "not a shift, small sample")
        outcomes = [_condition(steps.same_shape, smaller, risk, words)]
        conditions = [steps.same_shape]
        warned = [rejected & (n < LARGE), rejected & (m < LARGE), rejected & (smaller >= LARGE)]
        warned.append(np.isnan(pvalue))
    test = np.where(reached, test, NO_ANSWER).astype(object)
    pvalue = np.where(reached, pvalue, np.nan)
    verdict = np.where(slower, "not significant, slower", "not significant")
    verdict = np.where(conclusion.verdict == YES, "significant", verdict)
    outcomes.append(np.where(reached, verdict, NOT_REACHED))
    step_outcome = np.stack(outcomes, axis=-1).astype(object)
    step_pvalue = np.stack([*conditions, pvalue], axis=-1)
    empty = (n == 0) | (m == 0)  # such a benchmark has one warning only
    warned = [empty, *(mask & ~empty for mask in (*warned, conclusion.not_found))]
    applies = np.stack(warned, axis=-1)
    warnings, protocol = np.empty(empty.shape, dtype=object), np.empty(empty.shape, dtype=object)
    for cell in np.ndindex(*empty.shape):  # text is written one cell at a time
        warnings[cell] = "; ".join(compress(WARNINGS[statistic], applies[cell]))
        cell_steps = list(
            zip(STEPS[statistic], step_pvalue[cell].tolist(), step_outcome[cell], strict=True)
        )
        risks = float(conclusion.risk[cell]), float(risk[cell])
        protocol[cell] = _sentence((int(n[cell]), int(m[cell])), risks, cell_steps, str(test[cell]))
    return {
        "test": test,
        "pvalue": pvalue,
        "warnings": warnings,
        "protocol": protocol,
        "step_pvalue": step_pvalue,
        "step_outcome": step_outcome,
        "warned": applies,
    }


def _condition(pvalue: Floats, n: Floats, risk: Floats, words: tuple[str, str, str]) -> Texts:
    """Return in words whether a condition holds, or fails for large or for small samples."""
    cases = [n == 0, np.isnan(pvalue), pvalue > risk, n >= LARGE]
    return np.select(cases, [NOT_REACHED, "no answer", *words[:2]], words[2]).astype(object)


def _sentence(
    sizes: tuple[int, int],
    risks: tuple[float, float],
    steps: list[tuple[str, float, str]],
    test: str,
) -> str:
    """Describe the protocol of one cell."""
    begin = f"n = {sizes[0]} (baseline) and {sizes[1]} (candidate)"
    if 0 in sizes:
        return f"{begin}; nothing to compare"
    risk_found, risk_judged = risks
    clauses = [
        f"{TESTS[name]}: p = {p:.3g}, {outcome}"
        for name, p, outcome in steps[:-1]
        if outcome != NOT_REACHED
    ]
    _, p, outcome = steps[-1]
    end = f"{test}, one-sided: p = {p:.3g}, {outcome}"
    if outcome == NOT_REACHED:
        end = "The conditions of the test do not hold, no conclusion"
    searched = "; no confidence level above 50 % found" if np.isnan(risk_found) else ""
    return f"{begin}, risk {100 * risk_judged:.3g} %. {'. '.join(clauses)}. {end}{searched}."
