"""The `.perf` accessor on DataArray, Dataset and DataFrame: it keeps the object and forwards; every answer is a function's."""

from collections.abc import Callable
from importlib import import_module
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

import pandas as pd
import xarray as xr

import perfarray

P = ParamSpec("P")
R = TypeVar("R")


class Method(Generic[P, R]):
    """A function of the package, loaded at first use, with the object as its first argument: same signature, same docstring."""

    def __init__(self, load: Callable[[], Callable[Concatenate[Any, P], R]]) -> None:
        self._load = load

    @overload
    def __get__(self, accessor: None, owner: type) -> Callable[Concatenate[Any, P], R]: ...

    @overload
    def __get__(self, accessor: "Accessor", owner: type) -> Callable[P, R]: ...

    def __get__(self, accessor: "Accessor | None", owner: type) -> Callable[..., R]:
        function = self._load()
        return function if accessor is None else MethodType(function, accessor._object)


class Accessor:
    """Keeps the object and nothing else; never raises when it is made."""

    def __init__(self, data: Any) -> None:
        self._object = data


@xr.register_dataset_accessor("perf")
@xr.register_dataarray_accessor("perf")
class TimingsAccessor(Accessor):
    """Statistics of program performance on labelled timings, and pictures of the results."""

    accelerated_proportion = Method(lambda: perfarray.accelerated_proportion)
    agreement = Method(lambda: perfarray.agreement)
    biplot = Method(lambda: perfarray.biplot)
    bootstrap_distribution = Method(lambda: perfarray.bootstrap_distribution)
    bootstrap_interval = Method(lambda: perfarray.bootstrap_interval)
    cluster_machines = Method(lambda: perfarray.cluster_machines)
    compare = Method(lambda: perfarray.compare)
    counts = Method(lambda: perfarray.counts)
    drop_warmup = Method(lambda: perfarray.drop_warmup)
    estimator_stability = Method(lambda: perfarray.estimator_stability)
    explain_variation = Method(lambda: perfarray.explain_variation)
    fit_mixture = Method(lambda: perfarray.fit_mixture)
    five_number_summary = Method(lambda: perfarray.five_number_summary)
    goodness_of_fit = Method(lambda: perfarray.goodness_of_fit)
    hierarchical_performance_test = Method(lambda: perfarray.hierarchical_performance_test)
    machine_table = Method(lambda: perfarray.machine_table)
    mean_difference = Method(lambda: perfarray.mean_difference)
    mean_interval = Method(lambda: perfarray.mean_interval)
    merge_level = Method(lambda: perfarray.merge_level)
    normality = Method(lambda: perfarray.normality)
    notes = Method(lambda: perfarray.notes)
    overall_speedup = Method(lambda: perfarray.overall_speedup)
    pairwise = Method(lambda: perfarray.pairwise)
    plan_repetitions = Method(lambda: perfarray.plan_repetitions)
    plan_suite = Method(lambda: perfarray.plan_suite)
    principal_components = Method(lambda: perfarray.principal_components)
    prob_faster = Method(lambda: perfarray.prob_faster)
    prob_fastest = Method(lambda: perfarray.prob_fastest)
    randomization_test = Method(lambda: perfarray.randomization_test)
    ratio_interval = Method(lambda: perfarray.ratio_interval)
    relative_variation = Method(lambda: perfarray.relative_variation)
    required_runs = Method(lambda: perfarray.required_runs)
    run_estimate = Method(lambda: perfarray.run_estimate)
    score_distribution = Method(lambda: perfarray.score_distribution)
    score_ratio_interval = Method(lambda: perfarray.score_ratio_interval)
    speedup = Method(lambda: perfarray.speedup)
    speedup_test = Method(lambda: perfarray.speedup_test)
    suite_score = Method(lambda: perfarray.suite_score)
    to_frame = Method(lambda: perfarray.to_frame)
    variability_level = Method(lambda: perfarray.variability_level)
    variance_components = Method(lambda: perfarray.variance_components)

    @property
    def plot(self) -> "PlotAccessor":
        """Draw a result (`result.perf.plot()`), or compute and draw (`times.perf.plot.variance_components()`)."""
        return PlotAccessor(self._object)


@pd.api.extensions.register_dataframe_accessor("perf")
class FrameAccessor(Accessor):
    """From a long table to labelled timings."""

    explain_variation = Method(lambda: perfarray.explain_variation)
    notes = Method(lambda: perfarray.notes)
    to_timings = Method(lambda: perfarray.to_timings)


class PlotAccessor(Accessor):
    """Pictures: each computes with the topic's own keywords, draws, and returns the Axes."""

    def __call__(self, **keywords: Any) -> Any:
        """Draw a result; its attr `result` says what it is.

        Parameters
        ----------
        **keywords
            `ax` and what the picture takes.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ValueError
            When the object is not a result with a picture.
        """
        return import_module("perfarray.plots").draw(self._object, **keywords)

    def biplot(self, *, ax: Any = None, **keywords: Any) -> Any:
        """Draw machines and benchmarks in the plane of the first two principal components; keywords are those of `biplot`."""
        return TimingsAccessor(self._object).biplot(ax=ax, **keywords)

    def cdf_fit(self, *, ax: Any = None, **keywords: Any) -> Any:
        """Fit a mixture to one cell and draw its distribution over that of the runs; keywords are those of `fit_mixture`."""
        return self._fitted("cdf_fit", ax, keywords)

    def distribution(self, *, ax: Any = None, **keywords: Any) -> Any:
        """Redraw the experiment and draw the replicates' distribution; keywords are those of `bootstrap_distribution`."""
        return PlotAccessor(TimingsAccessor(self._object).bootstrap_distribution(**keywords))(ax=ax)

    def five_numbers(self, *, ax: Any = None, **keywords: Any) -> Any:
        """Draw box plots of the suite's score; keywords are those of `five_number_summary`."""
        return PlotAccessor(TimingsAccessor(self._object).five_number_summary(**keywords))(ax=ax)

    def influence(self, *, ax: Any = None, **keywords: Any) -> Any:
        """Explain the variation and draw what each predictor contributes; keywords are those of `explain_variation`."""
        return TimingsAccessor(self._object).explain_variation(**keywords).plot(ax=ax)

    def intervals(self, baseline: object, *, ax: Any = None, **keywords: Any) -> Any:
        """Compare with a baseline and draw the forest plot of ratios; keywords are those of `compare`."""
        return PlotAccessor(TimingsAccessor(self._object).compare(baseline, **keywords))(ax=ax)

    def mixture(self, *, ax: Any = None, **keywords: Any) -> Any:
        """Fit a mixture to one cell and draw it over its runs; keywords are those of `fit_mixture`."""
        return self._fitted("mixture", ax, keywords)

    def plan(self, baseline: object = None, *, ax: Any = None, **keywords: Any) -> Any:
        """Plan the repetitions and draw half-width against cost; keywords are those of `plan_repetitions`."""
        return TimingsAccessor(self._object).plan_repetitions(baseline, **keywords).plot(ax=ax)

    def run_sequence(self, *, ax: Any = None, metric: str | None = None, **keywords: Any) -> Any:
        """Draw measurements in the order they were taken, one line per execution; warm-up is marked."""
        array = import_module("perfarray.timings.resolve").choose_metric(self._object, metric)
        return import_module("perfarray.plots").run_sequence(array, ax=ax, **keywords)

    def scree(self, *, ax: Any = None, **keywords: Any) -> Any:
        """Draw the share of variance each principal component explains; keywords are those of `principal_components`."""
        return TimingsAccessor(self._object).principal_components(**keywords).plot(ax=ax, kind="scree")

    def variance_components(self, *, ax: Any = None, **keywords: Any) -> Any:
        """Estimate the variance components and draw each level's share; keywords are those of `variance_components`."""
        return PlotAccessor(TimingsAccessor(self._object).variance_components(**keywords))(ax=ax)

    def violin(self, *, ax: Any = None, metric: str | None = None, relative: bool | None = None) -> Any:
        """Draw a violin of the runs of every cell, side by side; `relative` ones are divided by their median."""
        array = import_module("perfarray.timings.resolve").resolve(self._object, metric).array
        return import_module("perfarray.plots").violin(array, ax=ax, relative=relative)

    def _fitted(self, picture: str, ax: Any, keywords: dict[str, Any]) -> Any:
        """Fit a mixture and draw it with the runs it was fitted to."""
        fit = TimingsAccessor(self._object).fit_mixture(**keywords).to_dataset()
        data = import_module("perfarray.timings.resolve").resolve(self._object, keywords.get("metric"), keywords.get("levels"))
        return getattr(import_module("perfarray.plots"), picture)(fit, times=data.array, ax=ax)
