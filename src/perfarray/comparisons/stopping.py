"""When to stop measuring: whether an interval is narrow enough after each further unit."""

from functools import partial

import numpy as np
import xarray as xr

from perfarray.comparisons.numerics.stopping import EACH, RULES, STEADY, STEIN, Path, Rule, path
from perfarray.conventions import BENCHMARK, plural
from perfarray.numerics.levels import unit_means
from perfarray.numerics.types import Floats
from perfarray.timings.across import PRIORS, apply_over_suite
from perfarray.timings.apply import apply, outputs
from perfarray.timings.dependence import dependence_note
from perfarray.timings.metrics import for_each_metric
from perfarray.timings.notes import Note, check, with_notes
from perfarray.timings.pairs import resolve_pair
from perfarray.timings.resolve import Data, resolve
from perfarray.timings.units import NOT_MEASURED, cells_note, more_units
from perfarray.timings.validation import (
    check_choice,
    check_confidence_level,
    check_count,
    check_share,
)
from perfarray.timings.zeros import Positive

RUNS = "runs"

# Rows: start, then coverage of the usual 95 % interval of a mean at a stop, for normal and
# exponential units: the least over half-widths.
COVERED = ((2, 88, 77), (3, 91, 78), (5, 92, 83), (10, 93, 86), (30, 94, 91))


@for_each_metric
def stopping(
    times: Data,
    baseline: object = None,
    *,
    dim: str | None = None,
    half_width: float,
    rule: str = STEIN,
    start: int = 10,
    levels: str | tuple[str, ...] | None = None,
    paired: str | None = None,
    confidence_level: float = 0.95,
    across: str = BENCHMARK,
    prior: str | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    r"""Find after which unit the interval is narrow enough to stop, and the interval there.

    Units of the outermost level are taken in the order of the array.

    Parameters
    ----------
    times : DataArray or Dataset
        The timings so far; dims that are not levels broadcast.
    baseline, dim : label, DataArray or Dataset; str, optional
        For a ratio: a label of `dim` (default: the dim that holds it), or other timings, matched by
        label.
    half_width : float
        The relative half-width to reach: 0.01 for ±1 % of the mean, or of the ratio.
    rule : {"stein", "t", "always_valid", "cv"}
        `stein`: the first `start` units determine how many are needed. `t`: the usual interval
        after every unit. `always_valid`: a confidence sequence, which may be stopped for any
        reason. `cv`: the last `start` units vary by `half_width` or less.
    start : int
        Units to begin with, at least 2.
    levels, metric : str or sequence of str, optional
        The nest, outermost first (default: the levels present); the variables (default: `time`).
    paired : str, optional
        The outermost level, if its units match between the two systems.
    confidence_level : float
        Of the intervals.
    across, prior : str; {None, "suite"}
        "suite" shrinks the standard deviations of `stein` (dim `across`) as in `compare`.

    Returns
    -------
    Dataset
        Along `runs`, the units taken (a side): `estimate`, `lower`, `upper`, and the relative
        `half_width` reached. Per cell: `required`, where the rule stops (NaN where the data do not
        suffice); `extrapolated`, the same if further units vary alike (infinite beyond ten
        million); `estimate_at_stop`, `lower_at_stop`, `upper_at_stop`; `n`, the units there are;
        `remaining`, those still to be measured (NaN if unknown). Means and their limits are in the
        units of the data.

    Raises
    ------
    ValueError
        Unknown names; a half-width that is not between 0 and 1.

    Notes
    -----
    `stein` and `always_valid` keep their level for normal units, `t` and `cv` do not. No rule
    allows for units that depend on those before them. See :doc:`/how-to/stopping`.

    References
    ----------
    C. Stein, "A two-sample test for a linear hypothesis whose power is independent of the
    variance", 1945. H. Wang, A. Ramdas, "Anytime-valid t-tests and confidence sequences for
    Gaussian means with unknown variance", 2024.

    Examples
    --------
    Four units have a standard deviation of 0.1155 around 10, and t is 3.182:
    (3.182 * 0.1155 / 0.1)^2 = 13.5, so 14 are needed.

    >>> import warnings, perfarray
    >>> times = perfarray.from_samples({"fft": [9.9, 10.1, 10.1, 9.9, 10.0]}, dim="benchmark")
    >>> with warnings.catch_warnings(action="ignore"):
    ...     result = times.perf.stopping(half_width=0.01, start=4)
    >>> result["required"].item(), result["extrapolated"].item()
    (nan, 14.0)
    """
    check_choice(rule, "rule", RULES)
    level = check_confidence_level(confidence_level)
    share = check_share(half_width, "half_width", "0.01")
    check_choice(prior, "prior", PRIORS)
    if prior and rule != STEIN:
        raise ValueError(
            f"rule={rule!r} does not go with prior={prior!r}, which is for rule={STEIN!r}"
        )
    settings = Rule(rule, check_count(start, "start", 2), share, level, learn=prior is not None)
    positive = Positive("the log of a mean (prior='suite')") if prior else None
    if baseline is None:
        for name, value in (("dim", dim), ("paired", paired)):
            if value is not None:
                raise ValueError(f"{name}={value!r} is about two systems. Name the baseline too")
        new = resolve(times, metric, levels, positive=positive)
        sides, attrs, notes, units = [new], new.describe(), (*new.notes, *new.unit_notes), new.units
    else:
        pair = resolve_pair(
            times, baseline, dim=dim, metric=metric, levels=levels, paired=paired, positive=positive
        )
        sides, attrs, units = [pair.candidate, pair.baseline], dict(pair.attrs), "1"
        notes = (*pair.notes, *pair.unit_notes)
    nest = sides[0].levels

    def kernel(*values: Floats) -> Path:
        new_units, *old_units = (unit_means(side, len(nest)) for side in values)
        return path(new_units, old_units[0] if old_units else None, paired is not None, settings)

    attrs |= {name: text for name, text in (("paired", paired), ("prior", prior)) if text}
    attrs |= {"result": "stopping", "rule": rule, "start": settings.start}
    attrs |= {"half_width_wanted": share, "confidence_level": level}
    variables = outputs(units, (RUNS,), estimate="", lower="", upper="")
    variables |= outputs("1", (RUNS,), half_width="half of upper - lower, relative to the estimate")
    variables |= outputs(
        required="units at which the rule stops",
        extrapolated="the same, extrapolated where the data do not suffice",
    )
    variables |= outputs(units, estimate_at_stop="", lower_at_stop="", upper_at_stop="")
    variables |= outputs(
        n="independent units that there are",
        remaining="units still to be measured: those to begin with where there are fewer",
    )
    coords = {RUNS: range(1, min(side.array.sizes[nest[0]] for side in sides) + 1)}
    run = partial(apply_over_suite, across=across) if prior else apply
    result = run(
        kernel,
        *(side.array for side in sides),
        core=[nest] * len(sides),
        outputs=variables,
        coords=coords,
        attrs=attrs,
    )
    dependence = dependence_note(sides, paired is not None)
    return with_notes(result, *notes, dependence, checks=("stopping",))


@check("stopping")
def stopping_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Note what the rule covers, and the cells where it does not stop yet."""
    names = ("n", "required", "extrapolated", "lower_at_stop", "upper_at_stop")
    n, required, extrapolated, lower, upper = (result.variables[name].values for name in names)
    start, rule, like = int(result.attrs["start"]), str(result.attrs["rule"]), result["n"]
    unit, width = str(result.attrs["unit"]), f"{100 * float(result.attrs['half_width_wanted']):g} %"
    units, short, wide = plural(unit), (n > 1) & (n < start), (n >= start) & np.isnan(required)
    missing = f"{{cells}} are not within ±{width} yet. {_enough_units(extrapolated[wide], units)}"
    if rule == STEADY:
        missing = (
            f"{{cells}} have no {start} {units} in a row that vary by {width} or less. More "
            f"{units} may not change that. Use rule={STEIN!r}."
        )
    constant = (
        f"{{cells}} stop at {units} that show no spread. A coarse clock may hide it. Begin with "
        "more (start=)."
    )
    return (
        _coverage_note(rule, start),
        cells_note("no_value", NOT_MEASURED, like, n == 0),
        cells_note(
            "single_unit",
            f"{{cells}} rest on one {unit}, which shows no spread. {more_units(result.attrs)}",
            like,
            n == 1,
        ),
        cells_note(
            "few_units",
            f"{{cells}} have fewer than start={start} {units}. Measure more, or lower start=.",
            like,
            short,
        ),
        cells_note("no_goal", missing, like, wide),
        cells_note("no_spread", constant, like, lower == upper),
    )


def _coverage_note(rule: str, start: int) -> Note | None:
    """Return the note on the coverage of rules that do not keep their level."""
    if rule == STEADY:
        text = (
            "Units that vary little by chance stop too early. 95 % intervals then cover 67 to "
            f"92 % of normal units. rule={STEIN!r} keeps its level."
        )
        return Note("optional_stopping", text, {"start": start, "normal": 67})
    if rule != EACH:
        return None
    normal, skewed = next(row[1:] for row in reversed(COVERED) if row[0] <= start)
    text = (
        f"This rule looks after every unit from start={start} on, and so stops too early. Its 95 "
        f"% intervals cover {normal} % or more of normal units, {skewed} % or more of "
        f"exponential. rule={STEIN!r} keeps its level if units are normal."
    )
    return Note(
        "optional_stopping", text, {"start": start, "normal": normal, "exponential": skewed}
    )


def _enough_units(extrapolated: Floats, units: str) -> str:
    finite = extrapolated[np.isfinite(extrapolated)]
    if not finite.size:
        return f"Even ten million {units} would not suffice."
    low, high = int(finite.min()), int(finite.max())
    many = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    return f"{many} {units} suffice if further ones vary as these."
