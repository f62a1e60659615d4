"""Benchmark timings as labelled arrays: where the variation comes from, how much faster, and how sure."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from perfarray import accessor as accessor  # registers .perf

if TYPE_CHECKING:
    from perfarray._bootstrap import bootstrap_distribution, bootstrap_interval
    from perfarray._intervals import mean_interval, ratio_interval
    from perfarray._levels import counts, drop_warmup, merge_level, to_frame
    from perfarray._options import set_options
    from perfarray._repetition import plan_repetitions
    from perfarray._suite_plan import plan_suite
    from perfarray._tables import from_samples, to_timings
    from perfarray._variance_components import variance_components
    from perfarray.comparison import compare, pairwise
    from perfarray.datasets import dataset_path, load_dataset
    from perfarray.readers import read, read_archive
    from perfarray.simulate import simulate

_TOPICS = {
    "bootstrap_distribution": "_bootstrap",
    "bootstrap_interval": "_bootstrap",
    "compare": "comparison",
    "counts": "_levels",
    "dataset_path": "datasets",
    "drop_warmup": "_levels",
    "from_samples": "_tables",
    "load_dataset": "datasets",
    "mean_interval": "_intervals",
    "merge_level": "_levels",
    "pairwise": "comparison",
    "plan_repetitions": "_repetition",
    "plan_suite": "_suite_plan",
    "ratio_interval": "_intervals",
    "read": "readers",
    "read_archive": "readers",
    "set_options": "_options",
    "simulate": "simulate",
    "to_frame": "_levels",
    "to_timings": "_tables",
    "variance_components": "_variance_components",
}

__all__ = [
    "bootstrap_distribution",
    "bootstrap_interval",
    "compare",
    "counts",
    "dataset_path",
    "drop_warmup",
    "from_samples",
    "load_dataset",
    "mean_interval",
    "merge_level",
    "pairwise",
    "plan_repetitions",
    "plan_suite",
    "ratio_interval",
    "read",
    "read_archive",
    "set_options",
    "simulate",
    "to_frame",
    "to_timings",
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
