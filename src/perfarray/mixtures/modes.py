"""The number of modes of run times, and how many of them the runs support."""

from collections.abc import Hashable
from dataclasses import replace
from functools import partial

import xarray as xr

from perfarray.mixtures.fit import FEW_RUNS
from perfarray.mixtures.numerics.comparison import MIXTURE
from perfarray.mixtures.numerics.metrics import numbers_of_modes, numbers_of_modes_by_level
from perfarray.mixtures.numerics.valleys import LEAST, SupportTest
from perfarray.mixtures.systems import Runs, resolve_systems
from perfarray.results.models import FittedModel
from perfarray.timings.apply import LEVEL, Output, apply, outputs
from perfarray.timings.metrics import for_each_metric
from perfarray.timings.notes import Note, check, with_notes
from perfarray.timings.resolve import Timings, resolve
from perfarray.timings.streams import Rng, cell_keys, describe_key, key_of
from perfarray.timings.units import cells_note
from perfarray.timings.validation import check_confidence_level, check_count

# Samples drawn for the test unless another number is given.
SAMPLES = 199


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
    """Count the modes of the run times: the different values around which they gather, in the density of a fitted mixture.

    A density fitted to few runs has modes that are chance. Each number comes with a test of that
    many against fewer: the valleys between the modes are compared with those that samples of a
    single mode show.

    Parameters
    ----------
    by_level : bool
        Count the modes of every level: the means of its repetitions, centred on the mean they lie
        inside (those of the outermost as they are), are fitted and tested.
    confidence_level : float
        Between 0 and 1; one minus this is the risk of the test.
    n_resamples : int, optional
        Samples of one mode drawn for the test, and (not by level) samples drawn from the fit and
        fitted again, for the stability of the number. Default: 199 for the test, none fitted again;
        0: neither.
    times, rng, value, levels, metric
        As for `mean_difference`. The modes of given mixtures are counted and not tested, which
        takes runs.

    Returns
    -------
    Dataset
        For each cell `estimate`, the modes of the fitted density; `supported`, whether the runs
        support as many (True for one); `n_supported`, the number they support; `pvalue` of the
        estimate against fewer modes (NaN for one); `lower`, `upper`, percentiles of the number over
        refitted samples, and `stability`, the share of them with the same number (NaN if none are
        refitted); `n`, units. By level: `estimate`, `supported`, `n_supported`, `pvalue` and `n`
        (values fitted) along `level`.

    Raises
    ------
    ValueError
        Unknown levels; `by_level` with a mixture.

    Notes
    -----
    The estimate alone is unreliable: BIC finds too many modes below 50 runs, and often too few from
    20 runs on where there are several. Means of few repetitions blur the modes of the level below.

    The test compares the valleys between modes with those of samples of one flat mode, whose
    valleys are deeper than those of round and skewed modes, with the same units and the same
    correlation inside units (Duembgen and Walther 2008). Modes whose valley is not deep enough are
    joined. A mode needs three runs. :doc:`/how-to/mixtures` has the risk and the power of the test.

    References
    ----------
    J. Worms, S. Touati, "Parametric and non-parametric statistics for program performance analysis
    and comparison", 2016, equation 14; L. Duembgen, G. Walther, "Multiscale inference about a
    density", The Annals of Statistics 36, 2008.

    Examples
    --------
    >>> import numpy as np, perfarray
    >>> rng = np.random.default_rng(1)
    >>> runs = np.concatenate([rng.normal(1.0, 0.01, 60), rng.normal(1.2, 0.01, 40)])
    >>> level = perfarray.from_samples({"old": runs}).perf.variability_level(rng=1).sel(version="old")
    >>> level["estimate"].item(), level["supported"].item(), level["pvalue"].item()
    (2.0, True, 0.005)
    """
    number = SAMPLES if n_resamples is None else check_count(n_resamples, "n_resamples", 0)
    key, risk = key_of(rng), 1 - check_confidence_level(confidence_level)
    attrs: dict[str, Hashable] = {"result": "variability_level", "n_resamples": number} | (
        describe_key(key) if number else {}
    )
    test = SupportTest(number, risk, key)
    if by_level:
        if isinstance(times, FittedModel):
            raise ValueError("by_level=True fits every level of timings once: give timings")
        return _modes_by_level(
            resolve(times, metric, levels, as_nested=True),
            test,
            attrs | {"confidence_level": confidence_level},
        )
    systems = resolve_systems(
        times, metric=metric, levels=levels, method=MIXTURE, confidence_level=confidence_level, n_resamples=n_resamples or 0, rng=rng,
        value=value,
    )  # fmt: skip
    variables = outputs(
        estimate="modes",
        lower="",
        upper="",
        stability="share of refitted samples with the same number of modes",
    )
    variables |= _support_outputs(()) | outputs(n="independent units")
    checks = ("modes", "run_units") if n_resamples else ("modes",)
    return systems.compute(partial(numbers_of_modes, test=test), variables, attrs, checks)


def _modes_by_level(data: Timings, test: SupportTest, attrs: dict[str, Hashable]) -> xr.Dataset:
    """Fit the means of every level, centred on the mean they lie inside."""
    along = (LEVEL,)
    variables = (
        outputs("1", along, estimate="modes")
        | _support_outputs(along)
        | outputs("1", along, n="values fitted")
    )
    kernel = partial(numbers_of_modes_by_level, levels=len(data.levels), test=test)
    result = apply(
        kernel, data.array, cell_keys([data.array], data.levels), core=[data.levels, ()], outputs=variables,
        coords={LEVEL: list(data.levels)}, attrs=data.describe() | attrs | {"method": MIXTURE},
    )  # fmt: skip
    return with_notes(result, *data.notes, checks=("modes",))


def _support_outputs(dims: tuple[str, ...]) -> dict[str, Output]:
    supported = Output(dims, "", bool, "the runs support as many modes")
    return {"supported": supported} | outputs(
        "1",
        dims,
        n_supported="modes that the runs support",
        pvalue="of as many modes against fewer",
    )


@check("modes")
def modes_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Name the cells whose modes are not supported, or were not tested."""
    several = (result["estimate"] > 1).values
    tested = result["pvalue"].notnull().values
    risk = 100 * (1 - float(result.attrs["confidence_level"]))
    text = (
        f"{{cells}} show more modes than their runs support at a risk of {risk:.3g} %: see "
        "n_supported, and measure more runs "
        f"(below {FEW_RUNS}, one mode shows as several in more than 5 % of samples)"
    )
    untested = (
        f"the modes of {{cells}} rest on fewer than {FEW_RUNS} runs and were not tested, which "
        "takes timings: they may be chance"
    )
    missing = "repetitions that could differ" if LEVEL in result.dims else "measured value"
    n, two_modes = result["n"].values, 2 * LEAST
    text_of_few = (
        f"{{cells}} rest on fewer than {two_modes} runs, in which two modes cannot be told "
        f"from one: measure at least {FEW_RUNS}"
    )
    few = cells_note("few_runs", text_of_few, result["n"], (n > 0) & (n < two_modes) & ~several)
    return (
        few and replace(few, aside=True),
        cells_note(
            "no_value", f"{{cells}} have no {missing}; their answers are NaN", result["n"], n == 0
        ),
        cells_note(
            "unsupported_modes",
            text,
            result["estimate"],
            several & tested & ~result["supported"].values,
        ),
        cells_note(
            "untested_modes", untested, result["estimate"], several & ~tested & (n < FEW_RUNS)
        ),
    )
