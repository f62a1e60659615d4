"""Coverage, false alarms and power of a method, counted on simulated experiments."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from perfarray.calibration.designs import EXPERIMENT, DesignPoint, Numbers, Study
from perfarray.calibration.experiments import simulated
from perfarray.calibration.methods import (
    COMPONENTS,
    MEAN,
    RATIO,
    TRUTHS,
    CalibratedMethod,
    ask,
    check_method,
    decided,
)
from perfarray.calibration.numerics.experiments import Draw
from perfarray.conventions import BENCHMARK, plural
from perfarray.timings.notes import Note, check, count_note
from perfarray.timings.streams import Rng
from perfarray.timings.validation import check_threshold, listed


def coverage(
    method: str | Callable[..., Any],
    /,
    *,
    sizes: Numbers,
    variances: Numbers,
    ratio: Any = 0.95,
    distribution: str | Draw = "normal",
    autocorrelation: Mapping[str, float] | None = None,
    shared: Mapping[str, float] | None = None,
    pairs: Mapping[str, float] | None = None,
    dims: Mapping[str, int | Sequence[Any]] | None = None,
    ignored: str | Sequence[str] = (),
    confidence_level: float = 0.95,
    n_experiments: int = 1000,
    batch: int | None = None,
    rng: Rng = None,
    progress: bool | None = None,
    **options: Any,
) -> xr.Dataset:
    """Count how often the interval of a method contains the truth, over simulated experiments.

    Parameters
    ----------
    method : str or callable
        The public name of a method with `lower` and `upper`; or f(times, baseline), or f(times) for
        a mean. It gets many experiments at once, along a dim `experiment`.
    sizes, variances : mapping of levels, or DataArray with a dim `level`
        Repetitions per level, outermost first (a pair: ragged), and the variance of each level,
        relative to the squared mean. Each a number, a list (a map along the level's name, or
        `<level>_variance`), or a DataArray.
    ratio : float, list or DataArray
        The candidate's mean over the baseline's; spread scales alike.
    distribution : {"normal", "lognormal", "exponential", "bimodal"} or callable
        Of the effects of every level, as for `simulate`.
    autocorrelation, shared : mapping, optional
        By level, the correlation of neighbours in order, and of benchmarks, as for `simulate`.
    pairs : mapping, optional
        By level, the correlation between units of the same number of both systems.
    dims : mapping, optional
        Dims of one experiment, as `{"benchmark": 13}`.
    ignored : str or tuple of str
        Levels that are hidden: their repetitions become those of the level below.
    confidence_level : float
        Of the intervals.
    n_experiments : int
        For each point of the map.
    batch : int, optional
        How many experiments are computed at once; it changes no number. A callable without a dim
        `experiment` needs 1.
    rng : int, str or numpy.random.Generator, optional
        Seed.
    progress : bool, optional
        Show a progress bar. Default: in a terminal or a notebook, after a second.
    **options
        For the method, as `df="normal"`.

    Returns
    -------
    Dataset
        Over the dims of the map, and those of the answer, of unit 1: `estimate`, the share of
        intervals that contain the truth, with its Monte Carlo standard error `error`; `below` and
        `above`, the shares that lie wholly below and above it; `unbounded`, with an infinite end;
        `width`, the median, relative to the truth; `unanswered`, the share of experiments without
        an answer, which do not count.

    Raises
    ------
    ValueError
        A method without an interval whose truth is known; numbers out of range; a single
        independent unit.

    Notes
    -----
    Where `error` is 0, a rate of up to 3 / n remains possible.

    References
    ----------
    T. Kalibera, R. Jones, "Quantifying performance changes with effect size confidence intervals",
    2012, section 8.4, and figures 6 to 9.

    Examples
    --------
    The normal instead of Student's t, with three binaries: too narrow.

    >>> import perfarray
    >>> nest = {"sizes": {"binary": 3}, "variances": {"binary": 4e-4}, "rng": 1}
    >>> normal = perfarray.coverage("ratio_interval", df="normal", **nest)
    >>> normal["estimate"].item() < 0.91
    True
    """
    study = Study(
        sizes=sizes,
        variances=variances,
        ratio=ratio,
        distribution=distribution,
        autocorrelation=autocorrelation,
        shared=shared,
        pairs=pairs,
        dims=dims,
        ignored=ignored,
        confidence_level=confidence_level,
        n_experiments=n_experiments,
        batch=batch,
        rng=rng,
        progress=progress,
    )
    checked = check_method(method, options)
    if not checked.truth:
        raise ValueError(
            f"{checked.name} has no interval whose truth is known from sizes, variances and "
            f"ratio. {listed(TRUTHS)} have one"
        )
    if checked.truth == COMPONENTS and ignored:
        raise ValueError(
            f"ignored={ignored!r}: the components of levels that are pooled are not those in "
            "variances="
        )
    return simulated(
        checked,
        study,
        _judge_interval,
        _covered_shares,
        "coverage",
        "share of intervals that hold the truth",
    )


def _judge_interval(
    method: CalibratedMethod, sides: list[xr.DataArray], point: DesignPoint
) -> xr.Dataset:
    answer = ask(method, sides)
    if "lower" not in answer or "upper" not in answer:
        raise ValueError(
            f"the answer of {method.name} has no lower and upper: coverage is about intervals"
        )
    truth = {RATIO: point.ratio, MEAN: xr.DataArray(1.0), COMPONENTS: point.variances}[method.truth]
    if lost := set(truth.dims) - set(answer["lower"].dims):  # the answer is about a suite
        if lost != {BENCHMARK} or method.options.get("mean", "geometric") != "geometric":
            raise ValueError(
                f"ratio= differs along {listed(sorted(map(str, lost)))}, which the answer of "
                f"{method.name} does not have"
            )
        truth = xr.DataArray(np.exp(xr.DataArray(np.log(truth)).mean(BENCHMARK)))
    lower, upper = answer["lower"], answer["upper"]
    outside = (
        answer["kind"] == "exclusive" if "kind" in answer else xr.zeros_like(lower, dtype=bool)
    )
    infinite = outside | np.isinf(lower) | np.isinf(upper)
    variables = {
        "covered": xr.where(
            outside, (truth <= lower) | (truth >= upper), (lower <= truth) & (truth <= upper)
        ),
        "below": (upper < truth) & ~outside,
        "above": (lower > truth) & ~outside,
        "answered": lower.notnull() & upper.notnull(),
        "unbounded": infinite,
        "width": (upper - lower).where(~infinite, np.inf) / truth,
    }
    return xr.Dataset(variables)


def _covered_shares(experiments: xr.Dataset) -> xr.Dataset:
    answered = experiments["answered"]
    n = answered.sum(EXPERIMENT)

    def share(name: str) -> xr.DataArray:
        return experiments[name].where(answered).mean(EXPERIMENT)

    estimate = share("covered")
    variables = {
        "estimate": estimate,
        "error": np.sqrt(estimate * (1 - estimate) / n),
        **{name: share(name) for name in ("below", "above", "unbounded")},
        "unanswered": 1 - answered.mean(EXPERIMENT),
        "width": experiments["width"].where(answered).median(EXPERIMENT),
    }
    return xr.Dataset(variables)


def false_alarm_rate(
    method: str | Callable[..., Any],
    /,
    *,
    sizes: Numbers,
    variances: Numbers,
    threshold: Any = 0.0,
    distribution: str | Draw = "normal",
    autocorrelation: Mapping[str, float] | None = None,
    shared: Mapping[str, float] | None = None,
    pairs: Mapping[str, float] | None = None,
    dims: Mapping[str, int | Sequence[Any]] | None = None,
    ignored: str | Sequence[str] = (),
    confidence_level: float = 0.95,
    n_experiments: int = 1000,
    batch: int | None = None,
    rng: Rng = None,
    progress: bool | None = None,
    **options: Any,
) -> xr.Dataset:
    """Count how often a method sees a difference between a program and itself.

    Parameters
    ----------
    method : str or callable
        The public name of a method that comes to a decision, such as `compare` or `speedup_test`;
        or f(times, baseline), or f(times), which returns `verdict`, `lower` and `upper`,
        `significant` or `pvalue`. It gets many experiments at once, along a dim `experiment`.
    threshold : float or list
        A relative change that does not matter, for intervals; a list is a map along `threshold`.
    sizes, variances, distribution, autocorrelation
        As for `coverage`.
    shared, pairs, dims, ignored, n_experiments, batch, rng, progress, **options
        As for `coverage`.
    confidence_level : float
        Of intervals; 1 less the risk of tests.

    Returns
    -------
    Dataset
        Over the dims of the map, and those of the answer, of unit 1: `estimate`, the share of
        experiments with an alarm, with its Monte Carlo standard error `error`; `unanswered`, the
        share without an answer.

    Raises
    ------
    ValueError
        As for `coverage`; a threshold that is negative, or given to a test.

    References
    ----------
    T. Kalibera, R. Jones, "Quantifying performance changes with effect size confidence intervals",
    2012, section 8.3, and figures 3 to 5.

    Examples
    --------
    Builds differ by 2 %, and only one is made of each version: more executions make it worse.

    >>> import perfarray
    >>> nest = {"variances": {"binary": 4e-4, "execution": 4e-4}, "ignored": "binary", "rng": 1}
    >>> nest["sizes"] = {"binary": 1, "execution": [5, 50]}
    >>> rates = perfarray.false_alarm_rate("compare", **nest)["estimate"]
    >>> rates.sel(execution=5).item() < 0.6 < rates.sel(execution=50).item()
    True
    """
    study = Study(
        sizes=sizes,
        variances=variances,
        ratio=1.0,
        distribution=distribution,
        autocorrelation=autocorrelation,
        shared=shared,
        pairs=pairs,
        dims=dims,
        ignored=ignored,
        confidence_level=confidence_level,
        n_experiments=n_experiments,
        batch=batch,
        rng=rng,
        progress=progress,
    )
    result = _count_decisions(
        method,
        options,
        study,
        threshold,
        "false_alarm_rate",
        "share of experiments with a false alarm",
    )
    return result.drop_vars("opposite")


def power(
    method: str | Callable[..., Any],
    /,
    *,
    ratio: Any,
    sizes: Numbers,
    variances: Numbers,
    threshold: Any = 0.0,
    distribution: str | Draw = "normal",
    autocorrelation: Mapping[str, float] | None = None,
    shared: Mapping[str, float] | None = None,
    pairs: Mapping[str, float] | None = None,
    dims: Mapping[str, int | Sequence[Any]] | None = None,
    ignored: str | Sequence[str] = (),
    confidence_level: float = 0.95,
    n_experiments: int = 1000,
    batch: int | None = None,
    rng: Rng = None,
    progress: bool | None = None,
    **options: Any,
) -> xr.Dataset:
    """Count how often a method sees a true difference, over simulated experiments.

    Parameters
    ----------
    method, threshold, confidence_level
        As for `false_alarm_rate`.
    ratio : float, list or DataArray
        The candidate's mean over the baseline's: 0.95 is 5 % less. A list is a map along `ratio`.
        Methods of one system ignore it: their alternative is the distribution or the
        autocorrelation.
    sizes, variances, distribution, autocorrelation
        As for `coverage`.
    shared, pairs, dims, ignored, n_experiments, batch, rng, progress, **options
        As for `coverage`.

    Returns
    -------
    Dataset
        Over the dims of the map, and those of the answer: `estimate`, the share of experiments in
        which the difference is seen, with its Monte Carlo standard error `error`; `opposite`, the
        share in which one of the wrong sign is seen; `unanswered`, the share without an answer,
        which counts as seeing none. Where the ratio is 1, or the method gives no direction, any
        difference counts.

    Raises
    ------
    ValueError
        As for `false_alarm_rate`.

    Examples
    --------
    >>> import perfarray
    >>> nest = {"sizes": {"execution": 10}, "variances": {"execution": 1.2e-4}}
    >>> seen = perfarray.power("compare", ratio=[0.99, 0.98], **nest, rng=1)["estimate"]
    >>> seen.sel(ratio=0.99).item() < 0.7, seen.sel(ratio=0.98).item() > 0.9
    (True, True)
    """
    study = Study(
        sizes=sizes,
        variances=variances,
        ratio=ratio,
        distribution=distribution,
        autocorrelation=autocorrelation,
        shared=shared,
        pairs=pairs,
        dims=dims,
        ignored=ignored,
        confidence_level=confidence_level,
        n_experiments=n_experiments,
        batch=batch,
        rng=rng,
        progress=progress,
    )
    return _count_decisions(
        method,
        options,
        study,
        threshold,
        "power",
        "share of experiments in which the difference is seen",
    )


def _count_decisions(
    method: str | Callable[..., Any],
    options: Mapping[str, Any],
    study: Study,
    threshold: Any,
    result: str,
    description: str,
) -> xr.Dataset:
    """Simulate, and count decisions at a threshold, or at several along a dim `threshold`."""
    if isinstance(threshold, list | range | np.ndarray | xr.DataArray):
        values = np.array(
            [check_threshold(value) for value in np.asarray(threshold).ravel().tolist()]
        )
        thresholds = xr.DataArray(values, dims="threshold", coords={"threshold": values})
    else:
        thresholds = xr.DataArray(check_threshold(threshold))
    judge = partial(
        _judge_decision, threshold=thresholds, risk=round(1 - study.confidence_level, 12)
    )
    return simulated(
        check_method(method, options), study, judge, _decision_shares, result, description
    )


def _judge_decision(
    method: CalibratedMethod,
    sides: list[xr.DataArray],
    point: DesignPoint,
    *,
    threshold: xr.DataArray,
    risk: float,
) -> xr.Dataset:
    if "threshold" in method.takes:  # A method with its own threshold is called once per threshold.
        decisions = [
            decided(method, ask(method, sides, threshold=value), value, risk)
            for value in threshold.values.ravel().tolist()
        ]
        decision = (
            xr.concat(decisions, threshold["threshold"], coords="minimal")
            if threshold.ndim
            else decisions[0]
        )
    else:
        decision = decided(method, ask(method, sides), threshold, risk)
    truth = xr.DataArray(np.log(point.ratio))
    truth = truth.mean(
        [dim for dim in truth.dims if dim not in decision["seen"].dims]
    )  # For an answer of the suite, take that of the suite.
    opposite = decision["seen"] & (decision["direction"] * truth < 0)
    return xr.Dataset(
        {
            "seen": decision["seen"] & decision["answered"],
            "opposite": opposite,
            "answered": decision["answered"],
        }
    )


def _decision_shares(experiments: xr.Dataset) -> xr.Dataset:
    """Return the shares at one point; a difference of the wrong sign is not seen."""
    estimate = (experiments["seen"] & ~experiments["opposite"]).mean(EXPERIMENT)
    variables = {
        "estimate": estimate,
        "error": np.sqrt(estimate * (1 - estimate) / experiments.sizes[EXPERIMENT]),
        "opposite": experiments["opposite"].mean(EXPERIMENT),
        "unanswered": 1 - experiments["answered"].mean(EXPERIMENT),
    }
    return xr.Dataset(variables)


@check("experiments")
def experiments_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Count the cells in which some experiments have no answer."""
    share, units = result["unanswered"], plural(str(result.attrs["unit"]))
    consequence = (
        "are left out of the other shares"
        if result.attrs["result"] == "coverage"
        else "count as seeing nothing"
    )
    text = (
        f"In {{cells}} up to {100 * float(share.max()):.3g} % of the experiments have no answer. "
        f"They {consequence}. More {units} would give them one."
    )
    return (count_note("unanswered", text, (share > 0).values),)
