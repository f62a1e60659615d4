"""Names of variables that several kinds of answers share."""

from typing import Final

LIMITS: Final = "estimate lower upper n "
TOGETHER: Final = "suite_correlation suite_correlation_pvalue "
LEARNED: Final = (
    "prior_df prior_standard_deviation prior_pvalue standard_error unmoderated_standard_error "
)
SESSIONS: Final = "session_standard_deviation session_df within_lower within_upper "
CONTROLS: Final = (
    "control control_pvalue control_estimate control_lower control_upper "
    "control_standard_deviation control_n raw_estimate raw_lower raw_upper "
)
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
    "spread_ratio spread_lower spread_upper spread_pvalue spread_changed "
    "candidate_spread baseline_spread "
)
PLAN: Final = (
    "repetitions unrounded merged already more cost seconds least_budget half_width "
    "half_width_lower half_width_upper more_half_width "
    "default_half_width variance level_cost n advice level baseline_repetitions "
    "baseline_already baseline_more baseline_variance baseline_level_cost component "
    "side binary_seconds dependence_pvalue "
)
MIXTURE: Final = (
    "weight mean standard_deviation family n_components covariance loglik bic n n_iterations "
    "converged floored n_floored component "
    "location scale shape_parameter n_modes modes mode metric_2 n_incomplete correlation "
    "estimate lower upper probability "
)
MACHINE: Final = (
    "row performance variation relative_variation relative_variation_noise n_runs n_benchmarks "
    "binary_variance session_variance "
    "execution_variance iteration_variance binary_variation session_variation "
    "execution_variation iteration_variation "
)
COMPARED: Final = RATIO + JUDGED + TOGETHER + LEARNED + SESSIONS + CONTROLS
SERIES: Final = (
    "autocorrelation pooled_autocorrelation effective_n pvalue drift drift_pvalue n pooled_n "
    "pooled_effective_n pooled_drift "
    "pooled_drift_pvalue dependence_pvalue lag "
)
STEADY: Final = "kind start steady_mean n_segments warmup segment segment_mean kind_of_all "
COMPONENTS: Final = LIMITS + (
    "variance variance_standard_error level_variance share coefficient_of_variation "
    "level_coefficient_of_variation repetitions merged mean standard_error "
    "total_coefficient_of_variation df unevenness level criterion carried_by "
    "carried_share carried_pvalue"
)
AGREEMENT: Final = COMPARED + (
    "_suite better_benchmarks worse_benchmarks outcome remark suite_outcome "
    "suite_remark title question agree differences suite_agree suite_differences "
    "method speedup significant confidence_level confidence test warnings n_baseline "
    "n_candidate searched judged_level protocol statistic standard_error "
    "smallest_pvalue n_exchanges step_outcome step_pvalue required"
)
PRINCIPAL_COMPONENTS: Final = (
    "score loading explained_variance explained_variance_ratio "
    "cumulative_variance_ratio center divisor correlation principal_component "
    "apart_pvalue distance loading_lower loading_upper region_radius score_covariance "
    "score_lower score_upper value benchmark_2 machine_2 "
    "principal_component_2"
)
CLUSTERS: Final = (
    "cluster leaf join_step join_distance n_clusters silhouette score loading "
    "explained_variance explained_variance_ratio cumulative_variance_ratio center "
    "divisor correlation principal_component value"
)
EXPLAINED: Final = MACHINE + (
    "explained explained_lower explained_upper total_explained total_explained_lower "
    "total_explained_upper unit_coefficient unit_lower unit_upper fitted residual "
    "cook_distance fitted_row influence permutation_influence lower upper measured "
    "predicted correlation correlation_lower correlation_upper noise_ceiling at "
    "at_value dependence dependent predictor n point effect coefficient "
    "coefficient_lower coefficient_upper standardized_coefficient standardized_lower "
    "standardized_upper better_than_mean pvalue term response n_test_units variance"
)
CHANGE_POINTS: Final = LIMITS + (
    "change segment pvalue verdict cause earliest latest probability value value_lower "
    "value_upper segment_mean n_segment n_units noise relative_noise within "
    "correlation drifting pvalue_any common n_common alarm position code level"
)
