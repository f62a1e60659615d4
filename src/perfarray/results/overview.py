"""What `times.perf` shows of itself: what the array holds, and the methods by question."""

from collections.abc import Mapping
from typing import Final

import pandas as pd
import xarray as xr

from perfarray.conventions import BETTER, LEVELS, LOWER, METRIC, plural
from perfarray.timings.resolve import metrics_of
from perfarray.timings.validation import listed

QUESTIONS: Final[Mapping[str, str]] = {
    "how much was measured?": "counts drop_warmup merge_level join to_frame",
    "where does the variation come from?": "variance_components",
    "how many repetitions?": "plan_repetitions plan_suite required_units required_runs stopping",
    "is it faster, by how much, how sure?": "compare ratio_interval mean_interval pairwise agreement bootstrap_distribution "
    "bootstrap_interval",
    "how did the suite do?": "suite_score score_ratio_interval randomization_test hierarchical_performance_test "
    "five_number_summary "
    "score_distribution relative_variation",
    "what does the Speedup-Test say?": "speedup speedup_test overall_speedup accelerated_proportion",
    "are there several modes?": (
        "fit_mixture goodness_of_fit variability_level modes_by prob_faster prob_fastest "
        "mean_difference"
    ),
    "which single number?": "run_estimate estimator_stability ordering_stability",
    "which machines behave alike, and why?": (
        "machine_ratios principal_components biplot cluster_machines machine_table "
        "explain_variation"
    ),
    "since when?": "change_points next_measurement trend",
    "can the answer be trusted?": "calibrate normality autocorrelation steady_state",
    "all of it, or a picture": "report plot",
}
OF_RESULTS: Final = "table plot notes"


def overview(data: xr.DataArray | xr.Dataset | pd.DataFrame) -> str:
    """Return what is in timings, a result or a table, and what can be asked of it."""
    if isinstance(data, pd.DataFrame):
        return (
            f"a table of {len(data)} rows: df.perf.to_timings(...) makes timings of it; its "
            f"columns: {listed(data.columns, 30)}"
        )
    if "result" in data.attrs:
        lines = [f"a result of {data.attrs['result']}", *_dims(data)]
        return "\n".join([*lines, *_columns({"its methods": OF_RESULTS})])
    return "\n".join(
        [
            *_metrics(data),
            *_dims(data),
            "What can be asked, as times.perf.compare(...):",
            *_columns(QUESTIONS),
        ]
    )


def _metrics(data: xr.DataArray | xr.Dataset) -> list[str]:
    """Write the metrics, the main one first, with units and direction."""
    arrays = [data] if isinstance(data, xr.DataArray) else [data[name] for name in metrics_of(data)]
    arrays.sort(key=lambda array: array.name != data.attrs.get(METRIC))
    if not arrays:
        return [
            (
                "no measurements: no variable of numbers has a dim of repetitions; levels= names "
                "the dims that are repetitions"
            )
        ]
    units = [str(array.attrs.get("units", "1")) for array in arrays]
    return [
        (
            f"{array.name or 'timings'}{'' if unit == '1' else f' in {unit}'}, "
            f"{array.attrs.get(BETTER, LOWER)} is better"
        )
        for array, unit in zip(arrays, units, strict=True)
    ]


def _dims(data: xr.DataArray | xr.Dataset) -> list[str]:
    """Write the dims with their labels, and the nest of repetitions."""
    dims = [str(dim) for dim in data.dims if dim not in LEVELS]
    lines = [
        f"  {data.sizes[dim]} {_noun(dim, data.sizes[dim])}: {listed(data[dim].values.tolist(), 4)}"
        for dim in dims
    ]
    nest = [
        f"{data.sizes[dim]} {_noun(dim, data.sizes[dim])}" for dim in LEVELS if dim in data.dims
    ]
    return [*lines, f"  repetitions: {' x '.join(nest)}"] if nest else lines


def _noun(dim: str, size: int) -> str:
    return dim if size == 1 else plural(dim)


def _columns(methods: Mapping[str, str]) -> list[str]:
    """Write the methods behind their questions."""
    width = max(map(len, methods))
    return [
        f"  {question:<{width}}  {', '.join(names.split())}" for question, names in methods.items()
    ]
