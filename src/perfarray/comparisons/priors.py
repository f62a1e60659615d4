"""Variances learned over a suite: what an answer with `prior="suite"` holds, and where it learned little."""

from collections.abc import Hashable, Mapping

import xarray as xr

from perfarray.numerics.intervals import LOG_DELTA
from perfarray.timings.apply import Kernel, Output, apply, is_chunked, outputs
from perfarray.timings.notes import Note, check, count_note
from perfarray.timings.validation import check_choice, listed

PRIOR = "prior"  # the check of what was learned
SUITE = "suite"
WITH_PRIOR = ("t", "fieller", "delta", LOG_DELTA)  # methods that take errors and degrees of freedom from elsewhere
WEAK = 1.0  # degrees of freedom of a prior below which limits are almost those without

# The variables of a prior: one per suite
PRIOR_OUTPUTS = outputs(
    prior_df="degrees of freedom that the suite's variances are worth (d0)",
    prior_standard_deviation="relative standard deviation of units that the suite has in common (s0)",
)


def learned_outputs(across: str) -> dict[str, Output]:
    """Return the variables that a prior adds to a comparison, in the order of `numerics.ratio_tests.learned`."""
    errors = {"standard_error": "of the log ratio, with what the suite tells", "unmoderated_standard_error": "of the log ratio, without"}
    return PRIOR_OUTPUTS | outputs("1", (across,), **errors)


def apply_over_suite(
    kernel: Kernel, *sides: xr.DataArray, across: str, levels: tuple[str, ...], outputs: Mapping[str, Output], attrs: dict[str, Hashable]
) -> xr.Dataset:
    """Apply a formula over the benchmarks together: variables that have no dims get that of the suite, but for those of the prior."""
    variables = {name: output if name in PRIOR_OUTPUTS else output._replace(dims=(across,)) for name, output in outputs.items()}
    whole = [side.chunk({across: -1}) if is_chunked(side) else side for side in along_suite(across, *sides)]
    result = apply(kernel, *whole, core=[[across, *levels]] * len(sides), outputs=variables, attrs={**attrs, "prior": SUITE})
    labels = next((side.coords[across] for side in sides if across in side.coords), None)
    single = all(across not in side.dims for side in sides)
    return result.isel({across: 0}, drop=True) if single else result if labels is None else result.assign_coords({across: labels})


def along_suite(across: str, *arrays: xr.DataArray) -> list[xr.DataArray]:
    """Return arrays with the dim of the suite; a single benchmark gets it."""
    return [array if across in array.dims else array.expand_dims({across: 1}).assign_coords({across: [0]}) for array in arrays]


def check_prior(prior: str | None, method: str) -> None:
    """Raise for an unknown prior, and for a method that has errors of its own."""
    check_choice(prior, "prior", (None, SUITE))
    if prior and method not in WITH_PRIOR:
        raise ValueError(f"method={method!r} does not go with prior={prior!r}, which is for formulas of means: {listed(WITH_PRIOR)}")


@check(PRIOR)
def prior_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Count the suites from which little could be learned."""
    text = (
        "prior='suite' learned little in {cells}: fewer than two benchmarks have repetitions that differ, or their variances are too "
        f"unlike (prior_df below {WEAK:g}); their limits are almost those without it"
    )
    return (count_note("weak_prior", text, result.variables["prior_df"].values < WEAK, "suites"),)
