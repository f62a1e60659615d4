"""Benchmark timings as labelled arrays: where the variation comes from, how much faster, and how sure."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from perfarray import accessor as accessor  # registers .perf

if TYPE_CHECKING:
    from perfarray._agreement import agreement
    from perfarray._bootstrap import bootstrap_distribution, bootstrap_interval
    from perfarray._descriptors import machine_table
    from perfarray._diagnostics import normality
    from perfarray._estimators import estimator_stability, run_estimate
    from perfarray._goodness_of_fit import goodness_of_fit
    from perfarray._intervals import mean_interval, ratio_interval
    from perfarray._levels import counts, drop_warmup, merge_level, to_frame
    from perfarray._mixture import GaussianMixture, fit_mixture
    from perfarray._mixture_metrics import mean_difference, prob_faster, prob_fastest, variability_level
    from perfarray._options import set_options
    from perfarray._principal_components import Biplot, biplot, cluster_machines, principal_components
    from perfarray._proportion import accelerated_proportion, required_benchmarks
    from perfarray._randomization import randomization_test
    from perfarray._regression import VariabilityModel, explain_variation
    from perfarray._repetition import plan_repetitions
    from perfarray._required_runs import required_runs
    from perfarray._results import RepetitionPlan
    from perfarray._score_distribution import five_number_summary, relative_variation, score_distribution
    from perfarray._speedup_test import overall_speedup, speedup, speedup_test
    from perfarray._suite import hierarchical_performance_test, score_ratio_interval, suite_score
    from perfarray._suite_plan import plan_suite
    from perfarray._tables import from_samples, to_timings
    from perfarray._variance_components import variance_components
    from perfarray.comparison import compare, pairwise
    from perfarray.datasets import dataset_path, load_dataset
    from perfarray.readers import read, read_archive
    from perfarray.report import speedup_report
    from perfarray.simulate import simulate

_TOPICS = {
    "Biplot": "_principal_components",
    "GaussianMixture": "_mixture",
    "RepetitionPlan": "_results",
    "VariabilityModel": "_regression",
    "accelerated_proportion": "_proportion",
    "agreement": "_agreement",
    "biplot": "_principal_components",
    "bootstrap_distribution": "_bootstrap",
    "bootstrap_interval": "_bootstrap",
    "cluster_machines": "_principal_components",
    "compare": "comparison",
    "counts": "_levels",
    "dataset_path": "datasets",
    "drop_warmup": "_levels",
    "estimator_stability": "_estimators",
    "explain_variation": "_regression",
    "fit_mixture": "_mixture",
    "five_number_summary": "_score_distribution",
    "from_samples": "_tables",
    "goodness_of_fit": "_goodness_of_fit",
    "hierarchical_performance_test": "_suite",
    "load_dataset": "datasets",
    "machine_table": "_descriptors",
    "mean_difference": "_mixture_metrics",
    "mean_interval": "_intervals",
    "merge_level": "_levels",
    "normality": "_diagnostics",
    "overall_speedup": "_speedup_test",
    "pairwise": "comparison",
    "plan_repetitions": "_repetition",
    "plan_suite": "_suite_plan",
    "principal_components": "_principal_components",
    "prob_faster": "_mixture_metrics",
    "prob_fastest": "_mixture_metrics",
    "randomization_test": "_randomization",
    "ratio_interval": "_intervals",
    "read": "readers",
    "read_archive": "readers",
    "relative_variation": "_score_distribution",
    "required_benchmarks": "_proportion",
    "required_runs": "_required_runs",
    "run_estimate": "_estimators",
    "score_distribution": "_score_distribution",
    "score_ratio_interval": "_suite",
    "set_options": "_options",
    "simulate": "simulate",
    "speedup": "_speedup_test",
    "speedup_report": "report",
    "speedup_test": "_speedup_test",
    "suite_score": "_suite",
    "to_frame": "_levels",
    "to_timings": "_tables",
    "variability_level": "_mixture_metrics",
    "variance_components": "_variance_components",
}

__all__ = [
    "Biplot",
    "GaussianMixture",
    "RepetitionPlan",
    "VariabilityModel",
    "accelerated_proportion",
    "agreement",
    "biplot",
    "bootstrap_distribution",
    "bootstrap_interval",
    "cluster_machines",
    "compare",
    "counts",
    "dataset_path",
    "drop_warmup",
    "estimator_stability",
    "explain_variation",
    "fit_mixture",
    "five_number_summary",
    "from_samples",
    "goodness_of_fit",
    "hierarchical_performance_test",
    "load_dataset",
    "machine_table",
    "mean_difference",
    "mean_interval",
    "merge_level",
    "normality",
    "overall_speedup",
    "pairwise",
    "plan_repetitions",
    "plan_suite",
    "principal_components",
    "prob_faster",
    "prob_fastest",
    "randomization_test",
    "ratio_interval",
    "read",
    "read_archive",
    "relative_variation",
    "required_benchmarks",
    "required_runs",
    "run_estimate",
    "score_distribution",
    "score_ratio_interval",
    "set_options",
    "simulate",
    "speedup",
    "speedup_report",
    "speedup_test",
    "suite_score",
    "to_frame",
    "to_timings",
    "variability_level",
    "variance_components",
]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name in _TOPICS:
        value = getattr(import_module(f"perfarray.{_TOPICS[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'perfarray' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
