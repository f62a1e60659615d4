"""The public functions and their results: one declaration for each."""

from collections.abc import Collection
from typing import Final

import xarray as xr

from perfarray.conventions import LEVELS
from perfarray.results import axes, diagnoses, explanations, layouts, sentences
from perfarray.results.kind import (
    CHANGES,
    DATA,
    FASTER,
    HISTORY,
    INTERVALS,
    MACHINES,
    MODES,
    NUMBER,
    PEOPLE,
    RATES,
    REPETITIONS,
    SPEEDUP_TEST,
    SUITE,
    TESTS,
    TRUST,
    VARIATION,
    Kind,
)
from perfarray.results.layouts import Layout
from perfarray.results.variables import (
    AGREEMENT,
    CHANGE_POINTS,
    CHECKS,
    CLUSTERS,
    COMPARED,
    COMPONENTS,
    EXPLAINED,
    LEARNED,
    LIMITS,
    MACHINE,
    MIXTURE,
    PLAN,
    PRINCIPAL_COMPONENTS,
    RATIO,
    SERIES,
    STEADY,
    TOGETHER,
)
from perfarray.timings.apply import LEVEL

# Every public function by its name, and by the attr `result` what only pictures draw
KINDS: Final[dict[str, Kind]] = {
    "read": Kind(DATA),
    "read_archive": Kind(DATA),
    "from_samples": Kind(DATA),
    "to_timings": Kind(DATA),
    "join": Kind(DATA),
    "split_labels": Kind(DATA),
    "declare": Kind(DATA),
    "counts": Kind(
        DATA,
        names="minimum maximum total balanced level",
        example="",
        layout=Layout(layouts.counts_columns, "total", (LEVEL,)),
        picture="counts",
    ),
    "drop_warmup": Kind(DATA, example=""),
    "merge_level": Kind(DATA, example='level="execution"'),
    "to_frame": Kind(DATA, example=""),
    **dict.fromkeys(("convert_table", "archive_table", "formats"), Kind(DATA)),
    **dict.fromkeys(("load_dataset", "dataset_path", "set_options"), Kind(DATA)),
    "measure_rounds": Kind(DATA),
    "variance_components": Kind(
        VARIATION,
        names=COMPONENTS,
        example="",
        layout=Layout(layouts.components_columns, "coefficient_of_variation", (LEVEL,)),
        picture="variance_components",
        precision=sentences.component_brackets,
    ),
    "plan_repetitions": Kind(
        REPETITIONS,
        names=PLAN,
        example="half_width=0.02",
        layout=Layout(layouts.plan_columns, "repetitions", (LEVEL,)),
        picture="plan",
        curves="variation.curves.plan_curves",
    ),
    "plan_suite": Kind(
        REPETITIONS,
        names=PLAN + TOGETHER + "suite_benchmarks",
        example="half_width=0.02",
        layout=Layout(layouts.plan_columns, "repetitions", (LEVEL,)),
        picture="plan",
        curves="variation.curves.plan_curves",
    ),
    "from_components": Kind(REPETITIONS),
    "required_units": Kind(
        REPETITIONS,
        names=COMPARED + "required power pilot_change units",
        example='"old"',
        layout=Layout(diagnoses.units, "required"),
        picture="smallest_changes",
    ),
    "required_runs": Kind(
        REPETITIONS,
        names=LIMITS
        + TOGETHER
        + "required extrapolated width n_candidate n_baseline remark runs suite_benchmarks",
        example='"old", width=0.02',
        layout=Layout(layouts.required_columns, "required"),
        picture="required_runs",
    ),
    "stopping": Kind(
        REPETITIONS,
        names=LIMITS
        + (
            "half_width required extrapolated estimate_at_stop lower_at_stop upper_at_stop "
            "remaining runs dependence_pvalue"
        ),
        example='"old", half_width=0.02',
        layout=Layout(diagnoses.stops, "required", ("runs",)),
        picture="half_widths",
    ),
    "compare": Kind(
        FASTER,
        names=COMPARED,
        example='"old", statistic="median"',
        layout=CHANGES,
        picture="ratio_intervals",
        remarks=sentences.statistic_remarks,
    ),
    "ratio_interval": Kind(
        FASTER,
        names=RATIO + LEARNED,
        example='"old"',
        layout=CHANGES,
        picture="ratio_intervals",
        remarks=sentences.statistic_remarks,
    ),
    "mean_interval": Kind(
        FASTER,
        names=LIMITS + CHECKS + LEARNED + "df",
        example="",
        layout=INTERVALS,
        picture="mean_intervals",
    ),
    "pairwise": Kind(
        FASTER,
        names=COMPARED + "baseline",
        example='dim="version"',
        layout=CHANGES,
        picture="ratio_intervals",
        remarks=sentences.pair_remarks,
    ),
    "agreement": Kind(
        FASTER,
        names=AGREEMENT,
        example='"old", rng=1',
        layout=Layout(layouts.agreement_columns, "verdict", ("method",), whole_suites=True),
        picture="agreement",
        precision=sentences.agreement_intervals,
    ),
    "bootstrap_distribution": Kind(
        FASTER,
        names="replicate observed n",
        example="n_resamples=19, rng=1",
        picture="distribution",
        curves="comparisons.curves.histograms",
    ),
    "bootstrap_interval": Kind(
        FASTER,
        names=LIMITS + "standard_error",
        example="n_resamples=19, rng=1",
        layout=INTERVALS,
        picture="mean_intervals",
    ),
    "suite_score": Kind(
        SUITE, names="estimate", example="", layout=INTERVALS, picture="suite_scores"
    ),
    "score_ratio_interval": Kind(
        SUITE,
        names=LIMITS
        + TOGETHER
        + (
            "change standard_error df pvalue suite_benchmarks estimate_without lower_without "
            "upper_without distribution replicate"
        ),
        example='"old", sensitivity=True',
        layout=CHANGES,
        picture="score_ratios",
    ),
    "randomization_test": Kind(
        SUITE,
        names=LIMITS
        + TOGETHER
        + (
            "change statistic pvalue smallest_pvalue n_exchanges suite_benchmarks "
            "null_distribution replicate"
        ),
        example='"old", rng=1, distribution=True',
        layout=Layout(layouts.randomization_columns, "statistic", ratio=True),
        picture="pvalues",
    ),
    "hierarchical_performance_test": Kind(
        SUITE,
        names="confidence pvalue speedup better_benchmarks worse_benchmarks n suite_benchmarks",
        example='"old"',
        layout=Layout(layouts.hierarchical_columns, "speedup", ratio=True),
        picture="pvalues",
        precision=sentences.tested_speedups,
    ),
    "five_number_summary": Kind(
        SUITE,
        names=TOGETHER
        + (
            "minimum q1 median q3 maximum range interquartile_range standard_deviation n "
            "number q1_lower q1_upper median_lower median_upper q3_lower q3_upper"
        ),
        example="n_resamples=19, rng=1",
        layout=Layout(layouts.five_columns, "median"),
        picture="five_numbers",
    ),
    "score_distribution": Kind(
        SUITE,
        names="replicate suite_score suite_correlation suite_correlation_pvalue score",
        example="n_resamples=19, rng=1",
        picture="score_densities",
        curves="suites.curves.densities",
    ),
    "relative_variation": Kind(
        SUITE,
        names=TOGETHER
        + "performance standard_deviation relative_variation monte_carlo_error n drawn",
        example="",
        layout=Layout(layouts.variation_columns, "relative_variation"),
        picture="relative_variation",
    ),
    "speedup": Kind(
        SPEEDUP_TEST,
        names=RATIO + "baseline candidate",
        example='"old", confidence_level=0.9',
        layout=Layout(layouts.speedups_columns, ratio=True),
        picture="estimates",
        remarks=sentences.statistic_remarks,
    ),
    "speedup_test": Kind(
        SPEEDUP_TEST,
        names="speedup significant confidence_level pvalue pvalue_adjusted test warnings "
        "n_baseline n_candidate n searched judged_level protocol step_pvalue step_outcome "
        "required step",
        example='"old", correction="holm", confidence_level=0.9',
        layout=Layout(layouts.tested_columns, "speedup", ratio=True),
        picture="protocol",
    ),
    "overall_speedup": Kind(
        SPEEDUP_TEST,
        names=LIMITS
        + "speedup gain accelerated_speedup accelerated_gain n_accelerated baseline candidate",
        example='"old"',
        layout=Layout(layouts.speedups_columns, "speedup", ratio=True),
    ),
    **dict.fromkeys(("accelerated_proportion", "required_benchmarks"), Kind(SPEEDUP_TEST)),
    "speedup_report": Kind(SPEEDUP_TEST, picture="reported"),
    "fit_mixture": Kind(
        MODES,
        names=MIXTURE,
        example="n_components=1",
        layout=Layout(diagnoses.mixtures, "mean", ("component",)),
        picture="mixture",
        curves="mixtures.curves.mixture_curves",
    ),
    "goodness_of_fit": Kind(
        MODES,
        names=MIXTURE
        + "statistic critical_value pvalue pvalue_error resolution null_distance replicate",
        example="n_resamples=19, rng=1, distribution=True",
        layout=TESTS,
        picture="pvalues",
    ),
    "variability_level": Kind(
        MODES,
        names=LIMITS + "stability supported n_supported pvalue level",
        example="n_resamples=0",
        layout=Layout(layouts.modes_columns),
        picture="modes",
    ),
    "modes_by": Kind(
        MODES,
        names="n_modes weight location statistic pvalue pvalue_adjusted smallest_pvalue "
        "n_exchanged share finding exchanged factor label mode n",
        example='by="execution_order", n_resamples=19, rng=1',
        layout=Layout(diagnoses.origins, "statistic", zero=True),
        picture="mode_origins",
    ),
    "prob_faster": Kind(
        MODES,
        names=LIMITS + "tied",
        example='"old", n_resamples=19, rng=1',
        layout=Layout(layouts.shares_columns),
        picture="estimates",
        remarks=sentences.total_remarks,
    ),
    "prob_fastest": Kind(
        MODES,
        names=LIMITS + "tied",
        example='dim="version", n_resamples=19, rng=1',
        layout=Layout(layouts.shares_columns),
        picture="estimates",
        remarks=sentences.total_remarks,
    ),
    "mean_difference": Kind(
        MODES,
        names=LIMITS + "baseline_difference",
        example='"old", n_resamples=19, rng=1',
        layout=INTERVALS,
        picture="estimates",
    ),
    "run_estimate": Kind(NUMBER, names=LIMITS, example="", layout=INTERVALS),
    "estimator_stability": Kind(
        NUMBER,
        names="estimate relative_standard_deviation adjusted_standard_deviation "
        "required_group_size n group_size statistic",
        example="",
        layout=Layout(layouts.stability_columns, "adjusted_standard_deviation", ("group_size",)),
        picture="stability",
    ),
    "ordering_stability": Kind(
        NUMBER,
        names="right required ratio pvalue n group_size statistic",
        example='"old"',
        layout=Layout(diagnoses.orders, "right", ("group_size",)),
        picture="stability",
    ),
    "machine_ratios": Kind(
        MACHINES,
        names="ratio mean_ratio spread reference reach value",
        example="",
        layout=Layout(axes.ratios, "ratio", ratio=True, effect="mean_ratio"),
        picture="heat_map",
    ),
    "principal_components": Kind(
        MACHINES,
        names=PRINCIPAL_COMPONENTS,
        example="n_resamples=29, rng=1",
        layout=Layout(axes.components, "explained_variance_ratio"),
        picture="principal_components",
    ),
    "biplot": Kind(MACHINES),
    "cluster_machines": Kind(
        MACHINES,
        names=CLUSTERS,
        example="n_clusters=2",
        layout=Layout(axes.clusters, "cluster"),
        picture="dendrogram",
    ),
    "machine_table": Kind(MACHINES, names=MACHINE, example=""),
    "explain_variation": Kind(
        MACHINES,
        names=EXPLAINED,
        example="rng=1, splits=2",
        layout=Layout(explanations.explained, "influence", zero=True),
        picture="explained",
        findings=explanations.findings,
        remarks=explanations.explained_remarks,
    ),
    "change_points": Kind(
        HISTORY,
        names=CHANGE_POINTS,
        example='dim="machine"',
        layout=Layout(diagnoses.changes, "verdict", ratio=True, effect="estimate"),
        picture="history",
        empty=sentences.no_change,
    ),
    "next_measurement": Kind(HISTORY, layout=Layout(diagnoses.following, "culprit_probability")),
    "trend": Kind(
        HISTORY,
        names="slope lower upper pvalue verdict total n correlation stepped segment",
        example='dim="machine"',
        layout=Layout(diagnoses.slopes, "slope", ratio=True),
    ),
    "calibrate": Kind(
        TRUST,
        names=COMPARED
        + (
            "false_alarm_rate error unanswered used_by cell_rate noise_floor n_splits rule "
            "split half threshold_lower threshold_upper detectable_change n_sessions"
        ),
        example="n_splits=20, rng=1",
        layout=Layout(diagnoses.calibrated_columns, "false_alarm_rate", zero=True),
        picture="rates",
    ),
    "thresholds": Kind(layout=Layout(diagnoses.thresholds, "threshold")),
    "coverage": Kind(TRUST, layout=RATES, picture="rates"),
    "false_alarm_rate": Kind(TRUST, layout=RATES, picture="rates"),
    "power": Kind(TRUST, layout=RATES, picture="rates"),
    "simulate": Kind(TRUST),
    "normality": Kind(
        TRUST,
        names="statistic pvalue rejected n share_rejected group_size",
        example="",
        layout=TESTS,
        picture="pvalues",
    ),
    "autocorrelation": Kind(
        TRUST,
        names=SERIES,
        example='dim="execution"',
        layout=Layout(diagnoses.dependence, "pooled_effective_n", ("lag",)),
        picture="correlogram",
    ),
    "steady_state": Kind(
        TRUST,
        names=STEADY,
        example='dim="execution"',
        layout=Layout(diagnoses.steadiness, "kind_of_all", LEVELS),
        picture="steady_kinds",
    ),
    **dict.fromkeys(("table", "notes", "combine"), Kind(PEOPLE)),
    "report": Kind(PEOPLE, names=COMPARED + PLAN),
    # What pictures draw, and no public function returns
    "against": Kind(names="value beside", picture="against"),
    "distribution": Kind(picture="ratio_distributions", curves="suites.curves.ratio_histograms"),
    "lag": Kind(names=SERIES + "value earlier correlation", picture="lag"),
    "mixture": Kind(picture="mixture", curves="mixtures.curves.mixture_curves"),
    "null_distance": Kind(picture="distances", curves="mixtures.curves.distance_histograms"),
    "null_distribution": Kind(
        picture="ratio_distributions", curves="suites.curves.ratio_histograms"
    ),
    "overlaid": Kind(names="place x density q1 median q3 run reached"),
    "profile": Kind(names="place value share lower upper solved n", picture="profile"),
    "sequence": Kind(names=STEADY + "value counted mean"),
    "violins": Kind(names="place x density q1 median q3"),
}


def functions_by_question(names: Collection[str] = KINDS) -> dict[str, list[str]]:
    """Return the public functions, or those of some names, by the question they answer."""
    questions: dict[str, list[str]] = {}
    for name, kind in KINDS.items():
        if kind.question and name in names:
            questions.setdefault(kind.question, []).append(name)
    return questions


def kind_of(data: xr.DataArray | xr.Dataset) -> Kind:
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
