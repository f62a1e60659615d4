"""The number of modes of run times, and how many of them the runs support."""

from collections.abc import Hashable
from dataclasses import replace
from functools import partial

import xarray as xr

from perfarray.mixtures.fit import FEW_RUNS
from perfarray.mixtures.numerics.comparison import MIXTURE
from perfarray.mixtures.numerics.metrics import numbers_of_modes, numbers_of_modes_by_level
from perfarray.mixtures.numerics.valleys import LEAST, supported_modes
from perfarray.mixtures.systems import Runs, resolve_systems
from perfarray.results.models import FittedModel
from perfarray.timings.apply import LEVEL, Output, apply, outputs
from perfarray.timings.metrics import for_each_metric
from perfarray.timings.notes import Note, check, with_notes
from perfarray.timings.resolve import resolve
from perfarray.timings.streams import Rng, cell_keys, describe_key, key_of
from perfarray.timings.units import NOT_MEASURED, cells_note
from perfarray.timings.validation import check_confidence_level, check_count

# Samples drawn for the test unless another number is given.
SAMPLES = 199

NOT_REPEATED = "{cells} have no repetitions that could differ. Their answers are NaN."


@for_each_metric
def variability_level(
    times: Runs,
    *,
    by_level: bool = False,
    confidence_level: float = 0.95,
    n_resamples: int | None = None,
    rng: Rng = None,
    value: str | None = None,
    levels: str | tuple[str, ...] | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Count the modes of the run times, and test that many modes against fewer.

    Parameters
    ----------
    by_level : bool
        Count the modes of every level, in the means of its repetitions.
    confidence_level : float
        One minus this is the risk of the test.
    n_resamples : int, optional
        Samples for the test, and for the stability of the number. Default: 199 for the test; 0:
        neither.
    times, rng, value, levels, metric
        As for `mean_difference`. Modes of given mixtures are not tested.

    Returns
    -------
    Dataset
        For each cell `estimate`, the modes of the fitted density; `supported`, whether the runs
        support as many; `n_supported`, the number they support; `pvalue` against fewer modes;
        `lower`, `upper` and `stability` over refitted samples; `n`, units. By level the first four
        and `n` along `level`.

    Raises
    ------
    ValueError
        Unknown levels; `by_level` with a mixture.

    Notes
    -----
    Below 50 runs, chance makes modes. See :doc:`/how-to/mixtures`.

    References
    ----------
    J. Worms, S. Touati, "Parametric and non-parametric statistics for program performance analysis
    and comparison", 2016, equation 14. L. Duembgen, G. Walther, "Multiscale inference about a
    density", The Annals of Statistics 36, 2008.

    Examples
    --------
    >>> import numpy as np, perfarray
    >>> rng = np.random.default_rng(1)
    >>> runs = np.concatenate([rng.normal(1.0, 0.01, 60), rng.normal(1.2, 0.01, 40)])
    >>> times = perfarray.from_samples({"old": runs})
    >>> level = times.perf.variability_level(rng=1).sel(version="old")
    >>> level["estimate"].item(), level["supported"].item(), level["pvalue"].item()
    (2.0, True, 0.005)
    """
    number = SAMPLES if n_resamples is None else check_count(n_resamples, "n_resamples", 0)
    key = key_of(rng)
    attrs: dict[str, Hashable] = {"result": "variability_level", "n_resamples": number}
    attrs |= describe_key(key) if number else {}
    risk = 1 - check_confidence_level(confidence_level)
    test = partial(supported_modes, n_samples=number, alpha=risk, key=key)
    along = (LEVEL,) if by_level else ()
    variables = outputs("1", along, estimate="modes")
    supported = {"supported": Output(along, "", bool, "the runs support as many modes")} | outputs(
        "1",
        along,
        n_supported="modes that the runs support",
        pvalue="of as many modes against fewer",
    )
    if by_level:
        if isinstance(times, FittedModel):
            raise ValueError("by_level=True fits every level of timings once: give timings")
        data = resolve(times, metric, levels, as_nested=True)
        result = apply(
            partial(numbers_of_modes_by_level, levels=len(data.levels), test=test),
            data.array,
            cell_keys([data.array], data.levels),
            core=[data.levels, ()],
            outputs=variables | supported | outputs("1", along, n="values fitted"),
            coords={LEVEL: list(data.levels)},
            attrs=data.describe()
            | attrs
            | {"confidence_level": confidence_level, "method": MIXTURE},
        )
        return with_notes(result, *data.notes, checks=("modes",))
    systems = resolve_systems(
        times,
        metric=metric,
        levels=levels,
        method=MIXTURE,
        confidence_level=confidence_level,
        n_resamples=n_resamples or 0,
        rng=rng,
        value=value,
    )
    variables |= outputs(
        lower="", upper="", stability="share of refitted samples with the same number of modes"
    )
    checks = ("modes", "run_units") if n_resamples else ("modes",)
    return systems.compute(
        partial(numbers_of_modes, test=test),
        variables | supported | outputs(n="independent units"),
        attrs,
        checks,
    )


@check("modes")
def modes_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Name the cells whose modes are not supported, or were not tested."""
    n, multimodal = result["n"].values, (result["estimate"] > 1).values
    tested, unsupported = result["pvalue"].notnull().values, ~result["supported"].values
    risk = 100 * (1 - float(result.attrs["confidence_level"]))
    text_of_unsupported = (
        f"{{cells}} show more modes than their runs support at a risk of {risk:.3g} %. Report "
        f"n_supported, or measure {FEW_RUNS} runs and more."
    )
    untested = (
        f"The modes of {{cells}} rest on fewer than {FEW_RUNS} runs and may be chance. Give "
        "timings to have them tested."
    )
    blurred = (
        f"{{cells}} rest on fewer than {2 * LEAST} runs, in which two modes cannot be told from "
        f"one. Measure at least {FEW_RUNS}."
    )
    few_runs_note = cells_note(
        "few_runs", blurred, result["n"], (n > 0) & (n < 2 * LEAST) & ~multimodal
    )
    cases = (
        ("no_value", NOT_REPEATED if LEVEL in result.dims else NOT_MEASURED, n == 0),
        ("unsupported_modes", text_of_unsupported, multimodal & tested & unsupported),
        ("few_runs", untested, multimodal & ~tested & (n < FEW_RUNS)),
    )
    notes = (cells_note(code, text, result["n"], where) for code, text, where in cases)
    return few_runs_note and replace(few_runs_note, aside=True), *notes
