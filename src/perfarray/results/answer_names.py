"""The names of the variables and dims of every answer.

Labels of the data with such a name are renamed.
"""

from typing import Final

# A list, and not the names that an answer turns out to have: labels of the data are renamed before
# a method begins. A coordinate `n` and a variable `n` collide inside the method, wherever they
# first meet in one Dataset, and `dim="n"` must be translated before it is read.
# `test_names_of_answers_are_listed` calls every method and fails where an answer has a variable or
# a dim that is missing here.

LIMITS: Final = "estimate lower upper n "
TOGETHER: Final = "suite_correlation suite_correlation_pvalue "
LEARNED: Final = (
    "prior_df prior_standard_deviation prior_pvalue standard_error unmoderated_standard_error "
)
SESSIONS: Final = "session_standard_deviation session_df within_lower within_upper "
CHECKS: Final = "normality_pvalue skewness_pvalue skewness dependence_pvalue "
RATIO: Final = (
    LIMITS
    + CHECKS
    + (
        "change df kind candidate_share n_candidate n_baseline candidate_mean baseline_mean "
        "candidate_median baseline_median "
    )
)
JUDGED: Final = (
    "pvalue pvalue_adjusted pvalue_equivalent pvalue_equivalent_adjusted pvalue_not_slower "
    "interval_level verdict not_slower "
    "threshold suite_threshold smallest_change difference difference_lower difference_upper "
    "interval_agrees "
    "suite_estimate suite_lower suite_upper suite_df suite_n suite_benchmarks suite_kind "
    "suite_pvalue "
    "suite_verdict "
)
PLAN: Final = (
    "repetitions unrounded merged already more cost seconds least_budget half_width "
    "half_width_lower half_width_upper more_half_width "
    "default_half_width variance price n advice level baseline_repetitions "
    "baseline_already baseline_more baseline_variance baseline_price component side binary_seconds dependence_pvalue "
)
MIXTURE: Final = (
    "weight mean standard_deviation family n_components covariance loglik bic n n_iterations "
    "converged floored n_floored component "
    "location scale shape_parameter n_modes modes mode metric_2 n_incomplete correlation "
    "estimate lower upper probability "
)
TABLE: Final = (
    "row performance variation relative_variation relative_variation_noise n_runs n_benchmarks "
    "binary_variance session_variance "
    "execution_variance iteration_variance binary_variation session_variation "
    "execution_variation iteration_variation "
)
COMPARED: Final = RATIO + JUDGED + TOGETHER + LEARNED + SESSIONS
SERIES: Final = (
    "autocorrelation pooled_autocorrelation effective_n pvalue drift drift_pvalue n pooled_n "
    "pooled_effective_n pooled_drift "
    "pooled_drift_pvalue dependence_pvalue lag "
)
STEADY: Final = "kind start steady_mean n_segments warmup segment segment_mean kind_of_all "

# By function, public ones and those that compute the curves of a picture
ANSWER_NAMES: Final = {
    "against": "value beside",
    "agreement": COMPARED + "_suite better_benchmarks worse_benchmarks "
    "outcome remark suite_outcome suite_remark title question agree differences suite_agree "
    "suite_differences "
    "method speedup significant confidence_level confidence test warnings n_baseline "
    "n_candidate searched judged_level protocol "
    "statistic standard_error smallest_pvalue n_exchanges step_outcome step_pvalue required",
    "autocorrelation": SERIES,
    "bootstrap_distribution": "replicate observed n",
    "bootstrap_interval": LIMITS + "standard_error",
    "calibrate": COMPARED + (
            "false_alarm_rate error unanswered used_by cell_rate noise_floor n_splits rule split "
            "half"
        ),
    "change_points": LIMITS +
        "change segment pvalue verdict cause earliest latest probability value value_lower "
        "value_upper "
    "segment_mean n_segment n_units noise relative_noise within correlation drifting "
    "pvalue_any common n_common alarm position code level",
    "cluster_machines": "cluster leaf join_step join_distance n_clusters silhouette score loading "
    "explained_variance explained_variance_ratio cumulative_variance_ratio center divisor "
    "correlation principal_component value",
    "compare": COMPARED,
    "counts": "minimum maximum total balanced level",
    "estimator_stability":
        "estimate relative_standard_deviation adjusted_standard_deviation required_group_size "
        "n group_size statistic "
    "load",
    "explain_variation": TABLE +
        "explained explained_lower explained_upper total_explained total_explained_lower "
        "total_explained_upper "
    "unit_coefficient unit_lower unit_upper fitted residual cook_distance fitted_row "
    "influence permutation_influence lower upper measured predicted correlation correlation_lower "
    "correlation_upper noise_ceiling at at_value dependence dependent predictor n point effect "
    "coefficient coefficient_lower "
    "coefficient_upper standardized_coefficient standardized_lower standardized_upper "
    "better_than_mean pvalue term "
    "response n_test_units variance",
    "fit_mixture": MIXTURE,
    "five_number_summary": TOGETHER +
        "minimum q1 median q3 maximum range interquartile_range standard_deviation n number "
        "q1_lower "
    "q1_upper median_lower median_upper q3_lower q3_upper",
    "goodness_of_fit": MIXTURE + "statistic critical_value pvalue pvalue_error resolution null_distance replicate",
    "hierarchical_performance_test": "confidence pvalue speedup better_benchmarks worse_benchmarks n suite_benchmarks",
    "lagged": SERIES + "value earlier correlation",
    "machine_ratios": "ratio mean_ratio spread reference reach value",
    "machine_table": TABLE,
    "mean_difference": LIMITS + "baseline_difference",
    "mean_interval": LIMITS + CHECKS + LEARNED + "df",
    "modes_by":
        "n_modes weight location statistic pvalue pvalue_adjusted smallest_pvalue n_exchanged "
        "share finding exchanged factor "
    "label mode n",
    "normality": "statistic pvalue rejected n share_rejected group_size",
    "ordering_stability": "right required ratio pvalue n group_size statistic load",
    "overall_speedup": LIMITS + "speedup gain accelerated_speedup accelerated_gain n_accelerated baseline candidate",
    "overlaid": "place x density q1 median q3 run reached",
    "pairwise": COMPARED + "baseline",
    "plan_repetitions": PLAN,
    "plan_suite": PLAN + TOGETHER + "suite_benchmarks",
    "principal_components":
        "score loading explained_variance explained_variance_ratio cumulative_variance_ratio "
        "center divisor "
    "correlation principal_component apart_pvalue distance loading_lower loading_upper "
    "region_radius score_covariance score_lower "
    "score_upper n_imputed value benchmark_2 machine_2 principal_component_2",
    "prob_faster": LIMITS + "tied",
    "prob_fastest": LIMITS + "tied",
    "randomization_test": LIMITS + TOGETHER
    + (
            "change statistic pvalue smallest_pvalue n_exchanges suite_benchmarks "
            "null_distribution replicate"
        ),
    "ratio_interval": RATIO + LEARNED,
    "relative_variation": TOGETHER + "performance standard_deviation relative_variation monte_carlo_error n drawn",
    "report": COMPARED + PLAN,
    "required_runs": LIMITS + TOGETHER + "required extrapolated width n_candidate n_baseline remark runs suite_benchmarks",
    "required_units": COMPARED + "required power pilot_change units",
    "run_estimate": LIMITS,
    "score_distribution": "replicate suite_score suite_correlation suite_correlation_pvalue score",
    "score_ratio_interval": LIMITS + TOGETHER
    +
        "change standard_error df pvalue suite_benchmarks estimate_without lower_without "
        "upper_without "
    "distribution replicate",
    "sequence": STEADY + "value counted mean",
    "speedup": RATIO + "baseline candidate",
    "speedup_test":
        "speedup significant confidence_level pvalue pvalue_adjusted test warnings n_baseline "
        "n_candidate n searched "
    "judged_level protocol step_pvalue step_outcome required step",
    "steady_state": STEADY,
    "stopping": LIMITS + (
            "half_width required extrapolated estimate_at_stop lower_at_stop upper_at_stop "
            "remaining runs dependence_pvalue"
        ),
    "suite_score": "estimate",
    "trend": "slope lower upper pvalue verdict total n correlation stepped segment",
    "variability_level": LIMITS + "stability supported n_supported pvalue level",
    "variance_components": LIMITS + "variance variance_standard_error level_variance share coefficient_of_variation "
    "level_coefficient_of_variation repetitions merged mean standard_error "
    "total_coefficient_of_variation df unevenness level criterion "
    "carried_by carried_share carried_pvalue",
    "violins": "place x density q1 median q3",
}  # fmt: skip
