"""Variances learned over a suite: the variables of `prior="suite"`, and its notes."""

from dataclasses import replace

import xarray as xr

from perfarray.numerics.intervals import LOG_DELTA
from perfarray.numerics.moderated import FEWEST, LEFT_OUT
from perfarray.timings.across import PRIORS
from perfarray.timings.apply import Output, outputs
from perfarray.timings.notes import Note, check, count_note
from perfarray.timings.validation import check_choice, listed
from perfarray.timings.zeros import cell_names

PRIOR = "prior"  # the check of what was learned
# methods that take errors and degrees of freedom from elsewhere
WITH_PRIOR = ("t", "fieller", "delta", LOG_DELTA)
WEAK = 1.0  # Below these degrees of freedom a prior hardly changes the limits.

PVALUE = "p-value of variances that are no larger than those of the other benchmarks"

# The variables of a prior: one per suite
PRIOR_OUTPUTS = outputs(
    prior_df="degrees of freedom that the suite's variances are worth (d0)",
    prior_standard_deviation="relative standard deviation of units that the suite has in "
    "common (s0)",
)


def learned_outputs(*dims: str) -> dict[str, Output]:
    """Return the variables of a prior, in the order of `numerics.moderated.learned`."""
    errors = {
        "standard_error": "of the log ratio, with what the suite tells",
        "unmoderated_standard_error": "of the log ratio, without",
    }
    return PRIOR_OUTPUTS | outputs("1", dims, prior_pvalue=PVALUE, **errors)


def check_prior(prior: str | None, method: str) -> None:
    """Raise for an unknown prior, and for a method that has errors of its own."""
    check_choice(prior, "prior", PRIORS)
    if prior and method not in WITH_PRIOR:
        raise ValueError(
            f"method={method!r} does not go with prior={prior!r}, which is for formulas of "
            f"means: {listed(WITH_PRIOR)}"
        )


@check(PRIOR)
def prior_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Count the suites that taught little, and name the benchmarks that are left out."""
    text = (
        f"prior='suite' changes little in {{cells}}. Fewer than {FEWEST} benchmarks have "
        f"repetitions that differ, or their variances are too unlike (prior_df below {WEAK:g})."
    )
    weak = count_note("weak_prior", text, result.variables["prior_df"].values < WEAK, "suites")
    outlying = result["prior_pvalue"] < LEFT_OUT
    names = cell_names(outlying)
    text = (
        f"{{cells}} ({listed(names, 3)}) vary more than the other benchmarks. prior='suite' "
        "leaves them out: their limits are those of their own runs. Measure them more often."
    )
    left_out = count_note("left_out_of_prior", text, outlying.values, names=names)
    # Their limits hold, so there is no warning.
    return weak, left_out and replace(left_out, aside=True)
