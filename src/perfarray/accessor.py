"""The `.perf` accessor on DataArray, Dataset and DataFrame: it keeps the object and forwards; every answer is a function's."""

from importlib import import_module
from types import MethodType
from typing import Any

import pandas as pd
import xarray as xr


class forward:
    """A method that is a function of the package with the object as its first argument: same signature, same docstring."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, accessor: Any, owner: type) -> Any:
        function = getattr(import_module(f"perfarray.{self.module}"), self.name)
        return function if accessor is None else MethodType(function, accessor._object)


class Accessor:
    """Keeps the object and nothing else; never raises when it is made."""

    def __init__(self, data: Any) -> None:
        self._object = data


@xr.register_dataset_accessor("perf")
@xr.register_dataarray_accessor("perf")
class TimingsAccessor(Accessor):
    """Statistics of program performance on labelled timings, and pictures of the results."""

    accelerated_proportion = forward("_proportion")
    agreement = forward("_agreement")
    biplot = forward("_principal_components")
    bootstrap_distribution = forward("_bootstrap")
    bootstrap_interval = forward("_bootstrap")
    cluster_machines = forward("_principal_components")
    compare = forward("comparison")
    counts = forward("_levels")
    drop_warmup = forward("_levels")
    estimator_stability = forward("_estimators")
    explain_variation = forward("_regression")
    fit_mixture = forward("_mixture")
    five_number_summary = forward("_score_distribution")
    goodness_of_fit = forward("_goodness_of_fit")
    hierarchical_performance_test = forward("_suite")
    machine_table = forward("_descriptors")
    mean_difference = forward("_mixture_metrics")
    mean_interval = forward("_intervals")
    merge_level = forward("_levels")
    normality = forward("_diagnostics")
    overall_speedup = forward("_speedup_test")
    pairwise = forward("comparison")
    plan_repetitions = forward("_repetition")
    plan_suite = forward("_suite_plan")
    principal_components = forward("_principal_components")
    prob_faster = forward("_mixture_metrics")
    prob_fastest = forward("_mixture_metrics")
    randomization_test = forward("_randomization")
    ratio_interval = forward("_intervals")
    relative_variation = forward("_score_distribution")
    required_runs = forward("_required_runs")
    run_estimate = forward("_estimators")
    score_distribution = forward("_score_distribution")
    score_ratio_interval = forward("_suite")
    speedup = forward("_speedup_test")
    speedup_test = forward("_speedup_test")
    suite_score = forward("_suite")
    to_frame = forward("_levels")
    variability_level = forward("_mixture_metrics")
    variance_components = forward("_variance_components")

    @property
    def plot(self) -> "PlotAccessor":
        """Draw a result (`result.perf.plot()`), or compute and draw (`times.perf.plot.variance_components()`)."""
        return PlotAccessor(self._object)


@pd.api.extensions.register_dataframe_accessor("perf")
class FrameAccessor(Accessor):
    """From a long table to labelled timings."""

    explain_variation = forward("_regression")
    to_timings = forward("_tables")


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
        array = import_module("perfarray._timings").choose_metric(self._object, metric)
        return import_module("perfarray.plots").run_sequence(array, ax=ax, **keywords)

    def scree(self, *, ax: Any = None, **keywords: Any) -> Any:
        """Draw the share of variance each principal component explains; keywords are those of `principal_components`."""
        return TimingsAccessor(self._object).principal_components(**keywords).plot(ax=ax, kind="scree")

    def variance_components(self, *, ax: Any = None, **keywords: Any) -> Any:
        """Estimate the variance components and draw each level's share; keywords are those of `variance_components`."""
        return PlotAccessor(TimingsAccessor(self._object).variance_components(**keywords))(ax=ax)

    def violin(self, *, ax: Any = None, metric: str | None = None, relative: bool | None = None) -> Any:
        """Draw a violin of the runs of every cell, side by side; `relative` ones are divided by their median."""
        array = import_module("perfarray._timings").resolve(self._object, metric).array
        return import_module("perfarray.plots").violin(array, ax=ax, relative=relative)

    def _fitted(self, picture: str, ax: Any, keywords: dict[str, Any]) -> Any:
        """Fit a mixture and draw it with the runs it was fitted to."""
        fit = TimingsAccessor(self._object).fit_mixture(**keywords).to_dataset()
        data = import_module("perfarray._timings").resolve(self._object, keywords.get("metric"), keywords.get("levels"))
        return getattr(import_module("perfarray.plots"), picture)(fit, times=data.array, ax=ax)
