"""The `.perf` accessor on DataArray, Dataset and DataFrame.

It keeps the object and forwards to the functions.
"""

import inspect
from collections.abc import Callable
from functools import cache
from html import escape
from importlib import import_module
from types import MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

import pandas as pd
import xarray as xr

import perfarray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

P = ParamSpec("P")
R = TypeVar("R")


class Method(Generic[P, R]):
    """A function of the package, loaded at first use, with the object as its first argument.

    Same signature and docstring.
    """

    def __init__(self, load: Callable[[], Callable[Concatenate[Any, P], R]]) -> None:
        self._load = cache(load)

    @overload
    def __get__(self, accessor: None, owner: type) -> Callable[Concatenate[Any, P], R]: ...

    @overload
    def __get__(self, accessor: "Accessor", owner: type) -> Callable[P, R]: ...

    def __get__(self, accessor: "Accessor | None", owner: type) -> Callable[..., R]:
        function = self._load()
        return function if accessor is None else MethodType(function, accessor._object)


class Picture(Generic[P]):
    """A function whose result is drawn: its signature with `ax`; returns the Axes.

    Parameters
    ----------
    load : callable
        Returns the function.
    summary : str
        What is computed and drawn.
    runs : bool
        Whether the picture takes the timings as well.
    **choices
        What else the picture is given.
    """

    def __init__(
        self,
        load: Callable[[], Callable[Concatenate[Any, P], Any]],
        summary: str,
        *,
        runs: bool = False,
        **choices: Any,
    ) -> None:
        self._load, self._summary, self._runs, self._choices = load, summary, runs, choices

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, accessor: None, owner: type) -> "Callable[Concatenate[Any, P], Axes]": ...

    @overload
    def __get__(self, accessor: "Accessor", owner: type) -> "Callable[P, Axes]": ...

    def __get__(self, accessor: "Accessor | None", owner: type) -> "Callable[..., Axes]":
        function = self._load()

        def draw(data: Any, /, *args: Any, ax: "Axes | None" = None, **keywords: Any) -> "Axes":
            from perfarray.results.models import FittedModel

            result = function(data, *args, **keywords)
            runs = {"times": data} if self._runs else {}
            return _drawn(
                result.dataset if isinstance(result, FittedModel) else result,
                ax=ax,
                **runs,
                **self._choices,
            )

        draw.__name__ = draw.__qualname__ = self._name
        draw.__doc__ = (
            f"{self._summary}; return the Axes.\n\n    `ax` is where to draw, default: a new "
            "figure; everything else is for "
            f"`{function.__name__}`:\n\n    {function.__doc__}"
        )
        draw.__signature__ = _with_ax(function, draw)  # type: ignore[attr-defined]
        return draw if accessor is None else MethodType(draw, accessor._object)


def _drawn(
    result: Any,
    *,
    ax: "Axes | None" = None,
    row: str | None = None,
    col: str | None = None,
    col_wrap: int | None = None,
    **keywords: Any,
) -> "Axes":
    """Draw a result, or its facets; where the kind declares curves, the keywords are theirs."""
    from perfarray import plots
    from perfarray.results.kinds import KINDS
    from perfarray.results.reserved import without_foreign_names

    if isinstance(result, xr.Dataset) and "result" not in result.attrs:
        stored = [
            array for array in result.data_vars.values() if "result" in array.attrs
        ]  # an array result that came from a file
        result = stored[0] if len(stored) == 1 else result
    result = (
        without_foreign_names(result) if isinstance(result, xr.DataArray | xr.Dataset) else result
    )
    # A stored Dataset may hold a distribution besides other answers; the variable then tells which
    # curves to draw.
    variables = {str(name) for name in getattr(result, "data_vars", ())}
    name = next(
        (name for name, kind in KINDS.items() if kind.curves and name in variables),
        str(result.attrs.get("result")),
    )
    curves = KINDS[name].curves if name in KINDS else ""

    def draw(cells: Any, ax: "Axes | None") -> "Axes":
        if not curves:
            return plots.draw(cells, ax=ax, **keywords)
        module, _, function = curves.rpartition(".")
        return plots.draw(
            getattr(import_module(f"perfarray.{module}"), function)(cells, **keywords), ax=ax
        )

    return plots.facets(draw, result, ax, row=row, col=col, col_wrap=col_wrap)


def _with_ax(function: Callable[..., Any], draw: "Callable[..., Axes]") -> inspect.Signature:
    """Return the signature of a function with `ax` after its keywords, returning the Axes."""
    signature, drawing = inspect.signature(function), inspect.signature(draw)
    parameters = list(signature.parameters.values())
    place = len(parameters) - (parameters[-1].kind is inspect.Parameter.VAR_KEYWORD)
    parameters.insert(place, drawing.parameters["ax"])
    return signature.replace(parameters=parameters, return_annotation=drawing.return_annotation)


def _curves(topic: str, name: str) -> Callable[..., xr.Dataset]:
    """Return a topic's function that computes what a picture draws, with the check of arguments."""
    from perfarray.results.public import public

    return public(getattr(import_module(f"perfarray.{topic}.curves"), name))


class Accessor:
    """Keeps the object and nothing else; its constructor never raises."""

    def __init__(self, data: Any) -> None:
        self._object = data

    def __repr__(self) -> str:
        """Write what the object holds, and the methods by question."""
        from perfarray.results.overview import overview

        return overview(self._object, dir(self))

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


@xr.register_dataset_accessor("perf")
@xr.register_dataarray_accessor("perf")
class TimingsAccessor(Accessor):
    """Statistics of program performance on labelled timings, and pictures of the results."""

    accelerated_proportion = Method(lambda: perfarray.accelerated_proportion)
    agreement = Method(lambda: perfarray.agreement)
    autocorrelation = Method(lambda: perfarray.autocorrelation)
    biplot = Method(lambda: perfarray.biplot)
    bootstrap_distribution = Method(lambda: perfarray.bootstrap_distribution)
    bootstrap_interval = Method(lambda: perfarray.bootstrap_interval)
    calibrate = Method(lambda: perfarray.calibrate)
    change_points = Method(lambda: perfarray.change_points)
    cluster_machines = Method(lambda: perfarray.cluster_machines)
    compare = Method(lambda: perfarray.compare)
    counts = Method(lambda: perfarray.counts)
    declare = Method(lambda: perfarray.declare)
    drop_warmup = Method(lambda: perfarray.drop_warmup)
    estimator_stability = Method(lambda: perfarray.estimator_stability)
    ordering_stability = Method(lambda: perfarray.ordering_stability)
    explain_variation = Method(lambda: perfarray.explain_variation)
    fit_mixture = Method(lambda: perfarray.fit_mixture)
    five_number_summary = Method(lambda: perfarray.five_number_summary)
    goodness_of_fit = Method(lambda: perfarray.goodness_of_fit)
    hierarchical_performance_test = Method(lambda: perfarray.hierarchical_performance_test)
    join = Method(lambda: perfarray.join)
    machine_ratios = Method(lambda: perfarray.machine_ratios)
    machine_table = Method(lambda: perfarray.machine_table)
    mean_difference = Method(lambda: perfarray.mean_difference)
    mean_interval = Method(lambda: perfarray.mean_interval)
    merge_level = Method(lambda: perfarray.merge_level)
    modes_by = Method(lambda: perfarray.modes_by)
    next_measurement = Method(lambda: perfarray.next_measurement)
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
    report = Method(lambda: perfarray.report)
    required_runs = Method(lambda: perfarray.required_runs)
    required_units = Method(lambda: perfarray.required_units)
    run_estimate = Method(lambda: perfarray.run_estimate)
    score_distribution = Method(lambda: perfarray.score_distribution)
    score_ratio_interval = Method(lambda: perfarray.score_ratio_interval)
    speedup = Method(lambda: perfarray.speedup)
    speedup_test = Method(lambda: perfarray.speedup_test)
    split_labels = Method(lambda: perfarray.split_labels)
    steady_state = Method(lambda: perfarray.steady_state)
    stopping = Method(lambda: perfarray.stopping)
    suite_score = Method(lambda: perfarray.suite_score)
    table = Method(lambda: perfarray.table)
    to_frame = Method(lambda: perfarray.to_frame)
    trend = Method(lambda: perfarray.trend)
    variability_level = Method(lambda: perfarray.variability_level)
    variance_components = Method(lambda: perfarray.variance_components)

    @property
    def plot(self) -> "PlotAccessor":
        """Draw a result (`result.perf.plot()`), or compute and draw it."""
        return PlotAccessor(self._object)

    def __dir__(self) -> list[str]:
        """List the methods; `table` and `notes` are those of results."""
        names = set(super().__dir__())
        return sorted(names if "result" in self._object.attrs else names - {"table", "notes"})


@pd.api.extensions.register_dataframe_accessor("perf")
class FrameAccessor(Accessor):
    """From a long table to labelled timings."""

    explain_variation = Method(lambda: perfarray.explain_variation)
    notes = Method(lambda: perfarray.notes)
    to_timings = Method(lambda: perfarray.to_timings)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Say that a method of timings needs `to_timings` first."""
            remedy = (
                f"; it is a method of timings: df.perf.to_timings().perf.{name}"
                if hasattr(TimingsAccessor, name)
                else ""
            )
            raise AttributeError(f"the .perf of a pandas table has no {name!r}{remedy}")


class PlotAccessor(Accessor):
    """Pictures: calling the accessor draws a result.

    Each method computes, draws, and returns the Axes.
    """

    against = Picture(lambda: _curves("diagnostics", "against"), "Draw values against a coordinate")
    biplot = Method(lambda: perfarray.biplot)
    cdf_fit = Picture(lambda: perfarray.fit_mixture, "Draw fit and runs", runs=True, kind="cdf")
    counts = Picture(lambda: perfarray.counts, "Draw the repetitions of every level")
    dendrogram = Picture(lambda: perfarray.cluster_machines, "Draw how machines are joined")
    five_numbers = Picture(lambda: perfarray.five_number_summary, "Draw boxes of suite scores")
    heat_map = Picture(lambda: perfarray.machine_ratios, "Draw machines against the median machine")
    history = Picture(
        lambda: perfarray.change_points, "Draw a metric over commits, with its changes"
    )
    influence = Picture(lambda: perfarray.explain_variation, "Draw what each predictor contributes")
    intervals = Picture(lambda: perfarray.compare, "Draw ratios with their intervals")
    lag = Picture(lambda: _curves("diagnostics", "lagged"), "Draw values against earlier ones")
    mixture = Picture(lambda: perfarray.fit_mixture, "Draw a mixture over its runs", runs=True)
    ordering = Picture(lambda: perfarray.ordering_stability, "Draw how often orders are right")
    plan = Picture(lambda: perfarray.plan_repetitions, "Draw half-width against cost")
    profile = Picture(
        lambda: _curves("suites", "profile"), "Draw which share each system solves within a factor"
    )
    pvalues = Picture(lambda: perfarray.compare, "Draw p-values, smallest first", kind="pvalues")
    relative_variation = Picture(lambda: perfarray.relative_variation, "Draw how much scores vary")
    scree = Picture(lambda: perfarray.principal_components, "Draw the variances", kind="scree")
    stability = Picture(lambda: perfarray.estimator_stability, "Draw how much estimators vary")
    variance_components = Picture(lambda: perfarray.variance_components, "Draw shares of variance")

    def __call__(
        self,
        *,
        ax: "Axes | None" = None,
        row: str | None = None,
        col: str | None = None,
        col_wrap: int | None = None,
        **keywords: Any,
    ) -> "Axes":
        """Draw a result, as its attr `result` says, or the runs of timings, as `distribution` does.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; default: a new figure.
        row, col : str, optional
            A picture for each label of these dims; the first Axes is returned, `ax.figure.axes` has
            all.
        col_wrap : int, optional
            How many columns there are, with `col` alone.
        **keywords
            What the picture takes.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ValueError
            When the object is neither timings nor a result with a picture; for a dim that has no
            facets.
        """
        from perfarray.timings.metrics import are_measurements

        if are_measurements(self._object):
            return self.distribution(ax=ax, row=row, col=col, col_wrap=col_wrap, **keywords)
        return _drawn(self._object, ax=ax, row=row, col=col, col_wrap=col_wrap, **keywords)

    def svg(self, **keywords: Any) -> str:
        """Draw a result, or the runs of timings, and return the picture as SVG."""
        from perfarray.plots.figure import svg

        return svg(self(**keywords))

    def png(self, **keywords: Any) -> bytes:
        """Draw a result, or the runs of timings, and return the picture as PNG."""
        from perfarray.plots.figure import png

        return png(self(**keywords))

    def distribution(
        self,
        *,
        value: str | None = None,
        metric: str | None = None,
        relative: bool | None = None,
        ax: "Axes | None" = None,
        row: str | None = None,
        col: str | None = None,
        col_wrap: int | None = None,
        **replicates: Any,
    ) -> "Axes":
        """Draw every run as a point, with a colour for each version.

        Parameters
        ----------
        value : str, optional
            The level whose repetitions are runs; default: `execution`, else the lowest.
        metric : str, optional
            Variable of a Dataset.
        relative : bool, optional
            Whether runs are divided by the first version's median; default: where scales differ.
        ax, row, col, col_wrap : Axes, str, str, int, optional
            As for `result.perf.plot()`.
        **replicates
            With any argument of `bootstrap_distribution`, replicates are drawn instead of runs.
        """
        from perfarray import plots

        if replicates:
            result = perfarray.bootstrap_distribution(self._object, metric=metric, **replicates)
            return _drawn(result, ax=ax, row=row, col=col, col_wrap=col_wrap)
        overlaid = _curves("mixtures", "overlaid")

        def draw(cells: Any, ax: "Axes | None") -> "Axes":
            runs = overlaid(cells, kind="cdf", value=value, metric=metric)
            return plots.runs(runs, ax, relative=relative)

        return plots.facets(draw, self._object, ax, row=row, col=col, col_wrap=col_wrap)

    def overlay(
        self,
        *,
        kind: str = "density",
        value: str | None = None,
        metric: str | None = None,
        ax: "Axes | None" = None,
        row: str | None = None,
        col: str | None = None,
        col_wrap: int | None = None,
    ) -> "Axes":
        """Draw the runs of every cell on common axes, one colour each.

        Parameters
        ----------
        kind : {"density", "cdf"}
            Densities, or the share of the runs up to each place.
        value : str, optional
            The level whose repetitions are runs; default: `execution`, else the lowest.
        metric : str, optional
            Variable of a Dataset.
        ax, row, col, col_wrap : Axes, str, str, int, optional
            As for `result.perf.plot()`.
        """
        from perfarray import plots

        overlaid = _curves("mixtures", "overlaid")

        def draw(cells: Any, ax: "Axes | None") -> "Axes":
            return plots.overlay(overlaid(cells, kind=kind, value=value, metric=metric), ax=ax)

        return plots.facets(draw, self._object, ax, row=row, col=col, col_wrap=col_wrap)

    def run_sequence(
        self,
        *,
        metric: str | None = None,
        max_lines: int = 20,
        steady: bool = False,
        ax: "Axes | None" = None,
        row: str | None = None,
        col: str | None = None,
        col_wrap: int | None = None,
    ) -> "Axes":
        """Draw measurements in their order, a line for each execution, with warm-up marked.

        Parameters
        ----------
        metric : str, optional
            Variable of a Dataset.
        max_lines : int
            The most executions that are drawn.
        steady : bool
            Whether to draw the segments of `steady_state`, and mark what comes before as warm-up.
        ax, row, col, col_wrap : Axes, str, str, int, optional
            As for `result.perf.plot()`.
        """
        from perfarray import plots

        sequence = _curves("diagnostics", "sequence")

        def draw(cells: Any, ax: "Axes | None") -> "Axes":
            series = sequence(cells, metric=metric, steady=steady)
            return plots.run_sequence(series, ax, max_lines=max_lines)

        return plots.facets(draw, self._object, ax, row=row, col=col, col_wrap=col_wrap)

    def violin(
        self,
        *,
        value: str | None = None,
        metric: str | None = None,
        relative: bool | None = None,
        ax: "Axes | None" = None,
        row: str | None = None,
        col: str | None = None,
        col_wrap: int | None = None,
    ) -> "Axes":
        """Draw a violin of the runs of every cell.

        Parameters
        ----------
        value : str, optional
            The level whose repetitions are runs; default: `execution`, else the lowest.
        metric : str, optional
            Variable of a Dataset.
        relative : bool, optional
            Whether runs are divided by the first version's median; default: where scales differ.
        ax, row, col, col_wrap : Axes, str, str, int, optional
            As for `result.perf.plot()`.
        """
        from perfarray import plots

        violins = _curves("mixtures", "violins")

        def draw(cells: Any, ax: "Axes | None") -> "Axes":
            return plots.violin(violins(cells, value=value, metric=metric), ax, relative)

        return plots.facets(draw, self._object, ax, row=row, col=col, col_wrap=col_wrap)
