"""Names of variables that several kinds of answers share."""

from typing import Final

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
    "default_half_width half_width_by_budget default_half_width_by_budget n advice level "
    "budget_factor baseline_repetitions "
    "baseline_already baseline_more component side binary_seconds dependence_pvalue "
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
COMPARED: Final = RATIO + JUDGED + TOGETHER + LEARNED + SESSIONS
SERIES: Final = (
    "autocorrelation pooled_autocorrelation effective_n pvalue drift drift_pvalue n pooled_n "
    "pooled_effective_n pooled_drift "
    "pooled_drift_pvalue dependence_pvalue lag "
)
STEADY: Final = "kind start steady_mean n_segments warmup segment segment_mean kind_of_all "
