"""How many modes a program has, and how many of them its runs support."""

from collections.abc import Hashable
from functools import partial

import xarray as xr

from perfarray.mixtures.fit import FEW_RUNS
from perfarray.mixtures.numerics.metrics import MIXTURE, numbers_of_modes, numbers_of_modes_by_level
from perfarray.mixtures.numerics.valleys import SupportTest
from perfarray.mixtures.systems import Request, Runs, resolve_systems
from perfarray.results.models import FittedModel
from perfarray.timings.apply import LEVEL, Output, apply, outputs
from perfarray.timings.metrics import over_metrics
from perfarray.timings.notes import Note, check, noted
from perfarray.timings.resolve import Timings, resolve
from perfarray.timings.streams import Rng, cell_keys, describe_key, key_of
from perfarray.timings.units import cells_note
from perfarray.timings.validation import check_confidence_level, check_count

DRAWN = 199
"""Samples drawn for the test unless another number is asked for."""


@over_metrics
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

    A density fitted to few runs has modes that are chance. Each number comes with a test of that many against fewer: the valleys between
    the modes are compared with those that samples of a single mode show.

    Parameters
    ----------
    by_level : bool
        Ask where the modes live: for every level, the means of its repetitions, centred on the mean they lie inside (those of the
        outermost as they are), are fitted and tested on their own.
    confidence_level : float
        Between 0 and 1; modes are supported at a risk of one minus this.
    n_resamples : int, optional
        Samples of one mode drawn for the test, and (not by level) samples drawn from the fit and fitted again, to see how stable the
        number is. Default: 199 for the test, none fitted again; 0: neither.
    times, rng, value, levels, metric
        As for `mean_difference`. The modes of given mixtures are counted and not tested: a mixture does not know its runs.

    Returns
    -------
    Dataset
        For each cell `estimate`, the modes of the fitted density; `supported`, whether the runs support as many (True where it is 1);
        `n_supported`, how many they do support; `pvalue` of the test of that many against fewer (NaN where there is one mode);
        `lower`, `upper`, percentiles of the number over refitted samples, and `stability`, the share of them with the same number (NaN
        where none are refitted); `n`, units. By level: `estimate`, `supported`, `n_supported`, `pvalue` and `n` (values fitted) along
        `level`.

    Raises
    ------
    ValueError
        Unknown levels; `by_level` with a mixture.

    Notes
    -----
    The estimate is no finding. From 20 runs on it tends to be too small where there are several modes: BIC prefers fewer components
    (section 6.5.6: exact in 45.5 % of samples of 30 runs and 63.9 % of 200). Below 50 runs it is too large: of samples of one normal mode
    more than 5 % show several, 70 % at 8 runs and 10 % at 30. By level, means of few repetitions blur what lies below.

    A valley counts for as much as it has too few runs for a density that only falls from one side of it to the other, on both sides, over
    all widths (Duembgen and Walther 2008). It is compared with the deepest of samples of one flat mode, which shows deeper ones than round
    and skewed modes, with the same units, whose runs resemble each other inside a unit as much as those measured do, so that builds that
    differ are not taken for modes. Modes whose valley is not deep enough are joined. A mode needs three runs, and six runs in all are the
    fewest that can support two.

    Of samples of a flat mode 5 % support more than one, of normal ones 3 % at 10 runs and fewer with more (standard error 0.5 %);
    :doc:`/how-to/mixtures` has more, and what the test sees.

    References
    ----------
    J. Worms, S. Touati, "Parametric and non-parametric statistics for program performance analysis and comparison", 2016, equation 14;
    L. Duembgen, G. Walther, "Multiscale inference about a density", The Annals of Statistics 36, 2008.

    Examples
    --------
    >>> import numpy as np, perfarray
    >>> rng = np.random.default_rng(1)
    >>> runs = np.concatenate([rng.normal(1.0, 0.01, 60), rng.normal(1.2, 0.01, 40)])
    >>> found = perfarray.from_samples({"old": runs}).perf.variability_level(rng=1).sel(version="old")
    >>> found["estimate"].item(), found["supported"].item(), found["pvalue"].item()
    (2.0, True, 0.005)
    """
    number = DRAWN if n_resamples is None else check_count(n_resamples, "n_resamples", 0)
    key, risk = key_of(rng), 1 - check_confidence_level(confidence_level)
    attrs: dict[str, Hashable] = {"result": "variability_level", "n_resamples": number} | (describe_key(key) if number else {})
    testing = SupportTest(number, risk, key)
    if by_level:
        if isinstance(times, FittedModel):
            raise ValueError("by_level=True fits every level of timings once: give timings")
        return _modes_by_level(resolve(times, metric, levels), testing, attrs | {"confidence_level": confidence_level})
    request = Request(
        method=MIXTURE, confidence_level=confidence_level, n_resamples=n_resamples or 0, rng=rng, value=value, levels=levels, metric=metric
    )
    systems = resolve_systems(times, request)
    named = outputs(estimate="modes", lower="", upper="", stability="share of refitted samples with the same number of modes")
    named |= _tested(()) | outputs(n="independent units")
    checks = ("modes", "run_units", "run_percentiles") if n_resamples else ("modes",)
    return systems.compute(partial(numbers_of_modes, testing=testing), named, attrs, checks)


def _modes_by_level(data: Timings, testing: SupportTest, attrs: dict[str, Hashable]) -> xr.Dataset:
    """Fit the means of every level, centred on the mean they lie inside."""
    along = (LEVEL,)
    named = outputs("1", along, estimate="modes") | _tested(along) | outputs("1", along, n="values fitted")
    kernel = partial(numbers_of_modes_by_level, levels=len(data.levels), testing=testing)
    result = apply(
        kernel, data.array, cell_keys([data.array], data.levels), core=[data.levels, ()], outputs=named,
        coords={LEVEL: list(data.levels)}, attrs=data.describe() | attrs | {"method": MIXTURE},
    )  # fmt: skip
    return noted(result, *data.notes, checks=("modes",))


def _tested(dims: tuple[str, ...]) -> dict[str, Output]:
    """Return the variables that say what the runs support."""
    supported = Output(dims, "", bool, "the runs support as many modes")
    return {"supported": supported} | outputs("1", dims, n_supported="modes that the runs support", pvalue="of as many modes against fewer")


@check("modes")
def modes_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Name the cells whose modes are not supported, or were not tested."""
    several = (result["estimate"] > 1).values
    tested = result["pvalue"].notnull().values
    risk = 100 * (1 - float(result.attrs["confidence_level"]))
    text = (
        f"{{cells}} show more modes than their runs support at a risk of {risk:.3g} %: see n_supported, and measure more runs "
        f"(below {FEW_RUNS}, one mode shows as several in more than 5 % of samples)"
    )
    untested = f"the modes of {{cells}} rest on fewer than {FEW_RUNS} runs and were not tested, which takes timings: they may be chance"
    missing = "repetitions that could differ" if LEVEL in result.dims else "measured value"
    return (
        cells_note("no_value", f"{{cells}} have no {missing}; their answers are NaN", result["n"], (result["n"] == 0).values),
        cells_note("unsupported_modes", text, result["estimate"], several & tested & ~result["supported"].values),
        cells_note("untested_modes", untested, result["estimate"], several & ~tested & (result["n"].values < FEW_RUNS)),
    )
