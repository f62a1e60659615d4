"""The kinds of results: one declaration for each, by the name of the function that returns it."""

from collections.abc import Callable
from typing import Final, NamedTuple

import xarray as xr

from perfarray.conventions import LEVELS
from perfarray.results import axes, diagnoses, explanations, layouts, sentences
from perfarray.results.layouts import PLAIN, Layout
from perfarray.timings.apply import LEVEL


class Kind(NamedTuple):
    """How one kind of result is shown: as a table, as a picture, and in sentences below the table."""

    layout: Layout = PLAIN
    # The function of `perfarray.plots` that draws it; "" for a kind without a picture
    picture: str = ""
    # The function, as topic.curves.name, that computes what the picture draws, where the result
    # does not hold it
    curves: str = ""
    # Writes what the limits are, where this is more than the confidence level
    precision: Callable[[xr.Dataset], list[str]] | None = None
    # Writes what was found, in sentences for a report, which stand below the table
    findings: Callable[[xr.Dataset], list[str]] = sentences.no_remarks
    # Writes further remarks below the table
    remarks: Callable[[xr.Dataset], list[str]] = sentences.no_remarks
    # Writes the sentence of a table without rows
    empty: Callable[[xr.Dataset], str] | None = None


# By the attr `result` of an answer or of its curves
KINDS: Final = {
    "compare": Kind(
        Layout(layouts.changes_columns, ratio=True),
        picture="ratio_intervals",
        remarks=sentences.statistic_remarks,
    ),
    "pairwise": Kind(
        Layout(layouts.changes_columns, ratio=True),
        picture="ratio_intervals",
        remarks=sentences.pair_remarks,
    ),
    "ratio_interval": Kind(
        Layout(layouts.changes_columns, ratio=True),
        picture="ratio_intervals",
        remarks=sentences.statistic_remarks,
    ),
    "score_ratio_interval": Kind(
        Layout(layouts.changes_columns, ratio=True), picture="score_ratios"
    ),
    "mean_interval": Kind(Layout(layouts.intervals_columns), picture="mean_intervals"),
    "bootstrap_interval": Kind(Layout(layouts.intervals_columns), picture="mean_intervals"),
    "suite_score": Kind(Layout(layouts.intervals_columns), picture="suite_scores"),
    "run_estimate": Kind(Layout(layouts.intervals_columns)),
    "mean_difference": Kind(Layout(layouts.intervals_columns), picture="estimates"),
    "prob_faster": Kind(
        Layout(layouts.shares_columns), picture="estimates", remarks=sentences.total_remarks
    ),
    "prob_fastest": Kind(
        Layout(layouts.shares_columns), picture="estimates", remarks=sentences.total_remarks
    ),
    "variance_components": Kind(
        Layout(layouts.components_columns, "coefficient_of_variation", (LEVEL,)),
        picture="variance_components",
        precision=sentences.component_brackets,
    ),
    "counts": Kind(Layout(layouts.counts_columns, "total", (LEVEL,)), picture="counts"),
    "plan_repetitions": Kind(
        Layout(layouts.plan_columns, "repetitions", (LEVEL,)),
        picture="plan",
        curves="variation.curves.plan_curves",
    ),
    "plan_suite": Kind(
        Layout(layouts.plan_columns, "repetitions", (LEVEL,)),
        picture="plan",
        curves="variation.curves.plan_curves",
    ),
    "five_number_summary": Kind(Layout(layouts.five_columns, "median"), picture="five_numbers"),
    "relative_variation": Kind(
        Layout(layouts.variation_columns, "relative_variation"), picture="relative_variation"
    ),
    "randomization_test": Kind(
        Layout(layouts.randomization_columns, "statistic", ratio=True), picture="pvalues"
    ),
    "hierarchical_performance_test": Kind(
        Layout(layouts.hierarchical_columns, "speedup", ratio=True),
        picture="pvalues",
        precision=sentences.tested_speedups,
    ),
    "required_runs": Kind(Layout(layouts.required_columns, "required"), picture="required_runs"),
    "required_units": Kind(Layout(diagnoses.units, "required"), picture="smallest_changes"),
    "stopping": Kind(Layout(diagnoses.stops, "required", ("runs",)), picture="half_widths"),
    "speedup": Kind(
        Layout(layouts.speedups_columns, ratio=True),
        picture="estimates",
        remarks=sentences.statistic_remarks,
    ),
    "overall_speedup": Kind(Layout(layouts.speedups_columns, "speedup", ratio=True)),
    "speedup_test": Kind(Layout(layouts.tested_columns, "speedup", ratio=True), picture="protocol"),
    "autocorrelation": Kind(
        Layout(diagnoses.dependence, "pooled_effective_n", ("lag",)), picture="correlogram"
    ),
    "change_points": Kind(
        Layout(diagnoses.changes, "verdict", ratio=True, effect="estimate"),
        picture="history",
        empty=sentences.no_change,
    ),
    "next_measurement": Kind(Layout(layouts.plain_columns, "culprit_probability")),
    "trend": Kind(Layout(diagnoses.slopes, "slope", ratio=True)),
    "steady_state": Kind(
        Layout(diagnoses.steadiness, "kind_of_all", LEVELS), picture="steady_kinds"
    ),
    "agreement": Kind(
        Layout(layouts.agreement_columns, "verdict", ("method",), whole_suites=True),
        picture="agreement",
        precision=sentences.agreement_intervals,
    ),
    "variability_level": Kind(Layout(layouts.modes_columns), picture="modes"),
    "modes_by": Kind(Layout(diagnoses.origins, "statistic", zero=True), picture="mode_origins"),
    "goodness_of_fit": Kind(Layout(layouts.tests_columns, "statistic"), picture="pvalues"),
    "normality": Kind(Layout(layouts.tests_columns, "statistic"), picture="pvalues"),
    "estimator_stability": Kind(
        Layout(layouts.stability_columns, "adjusted_standard_deviation", ("group_size",)),
        picture="stability",
    ),
    "ordering_stability": Kind(
        Layout(diagnoses.orders, "right", ("group_size",)), picture="stability"
    ),
    "fit_mixture": Kind(
        Layout(diagnoses.mixtures, "mean", ("component",)),
        picture="mixture",
        curves="mixtures.curves.mixture_curves",
    ),
    "principal_components": Kind(
        Layout(axes.components, "explained_variance_ratio"), picture="principal_components"
    ),
    "cluster_machines": Kind(Layout(axes.clusters, "cluster"), picture="dendrogram"),
    "machine_ratios": Kind(
        Layout(axes.ratios, "ratio", ratio=True, effect="mean_ratio"), picture="heat_map"
    ),
    "calibrate": Kind(
        Layout(layouts.calibrated_columns, "false_alarm_rate", zero=True), picture="rates"
    ),
    "coverage": Kind(Layout(layouts.rates_columns, zero=True), picture="rates"),
    "false_alarm_rate": Kind(Layout(layouts.rates_columns, zero=True), picture="rates"),
    "power": Kind(Layout(layouts.rates_columns, zero=True), picture="rates"),
    "against": Kind(picture="against"),
    "bootstrap_distribution": Kind(picture="distribution", curves="comparisons.curves.histograms"),
    "distribution": Kind(picture="ratio_distributions", curves="suites.curves.ratio_histograms"),
    "explain_variation": Kind(
        Layout(explanations.explained, "influence", zero=True),
        picture="explained",
        findings=explanations.findings,
        remarks=explanations.explained_remarks,
    ),
    "lag": Kind(picture="lag"),
    "mixture": Kind(picture="mixture", curves="mixtures.curves.mixture_curves"),
    "null_distance": Kind(picture="distances", curves="mixtures.curves.distance_histograms"),
    "null_distribution": Kind(
        picture="ratio_distributions", curves="suites.curves.ratio_histograms"
    ),
    "score_distribution": Kind(picture="score_densities", curves="suites.curves.densities"),
    "speedup_report": Kind(picture="reported"),
}


def kind_of(data: xr.Dataset) -> Kind:
    """Return the kind of a result; the default `Kind()` where none is declared."""
    return KINDS.get(str(data.attrs.get("result")), Kind())


def layout_of(data: xr.Dataset) -> Layout:
    """Return the layout of a result's table."""
    # Principal components with confidence regions have a row for each sample instead of each
    # component.
    if "region_radius" in data.data_vars:
        return Layout(axes.places, "score", (axes.COMPONENT, f"{data.attrs['samples']}_2"))
    layout = kind_of(data).layout
    return (
        layout._replace(inner=(str(data.attrs["features"]),))
        if layout.columns is axes.ratios
        else layout
    )
