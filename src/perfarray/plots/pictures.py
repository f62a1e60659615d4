"""Which picture draws which result; a picture is loaded when it is drawn."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import xarray as xr
from matplotlib.axes import Axes

from perfarray import plots

PICTURES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "against": "against",
        "agreement": "agreement",
        "autocorrelation": "correlogram",
        "bootstrap_distribution": "distribution",
        "bootstrap_interval": "mean_intervals",
        "calibrate": "rates",
        "change_points": "history",
        "compare": "ratio_intervals",
        "counts": "counts",
        "coverage": "rates",
        "distribution": "ratio_distributions",
        "estimator_stability": "stability",
        "explain_variation": "explained",
        "five_number_summary": "five_numbers",
        "false_alarm_rate": "rates",
        "fit_mixture": "mixture",
        "goodness_of_fit": "pvalues",
        "hierarchical_performance_test": "pvalues",
        "mean_difference": "estimates",
        "lag": "lag",
        "mean_interval": "mean_intervals",
        "mixture": "mixture",
        "modes_by": "mode_origins",
        "normality": "pvalues",
        "null_distance": "distances",
        "null_distribution": "ratio_distributions",
        "ordering_stability": "stability",
        "pairwise": "ratio_intervals",
        "plan_repetitions": "plan",
        "plan_suite": "plan",
        "power": "rates",
        "principal_components": "principal_components",
        "prob_faster": "estimates",
        "prob_fastest": "estimates",
        "randomization_test": "pvalues",
        "ratio_interval": "ratio_intervals",
        "relative_variation": "estimates",
        "required_runs": "required_runs",
        "required_units": "smallest_changes",
        "score_distribution": "score_densities",
        "score_ratio_interval": "score_ratios",
        "speedup": "estimates",
        "speedup_report": "reported",
        "speedup_test": "protocol",
        "steady_state": "steady_kinds",
        "stopping": "half_widths",
        "suite_score": "suite_scores",
        "variability_level": "modes",
        "variance_components": "variance_components",
    }
)
"""By the function whose result it is, or by the variable whose curves were made, the picture that draws it."""


def draw(result: xr.Dataset, ax: Axes | None = None, **keywords: Any) -> Axes:
    """Draw a result; its attr `result` says which picture.

    Parameters
    ----------
    result : Dataset
        What one of the functions in `PICTURES` returned, or a selection of it; of a result that does not carry what is drawn, its curves.
    ax : Axes, optional
        Where to draw; default: a new figure, as high as its rows need.
    **keywords
        What the picture takes. Every result with an estimate takes `kind="strip"`, with `along=` and `truth=`: intervals of many
        replications side by side.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        When the object is not a result, or is one without a picture.
    ImportError
        When matplotlib is not installed.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [10.0, 10.1, 9.9], "new": [9.0, 9.1, 8.9]})
    >>> ax = draw(times.perf.compare("old", threshold=0.02))
    >>> ax.get_title(loc="left")
    'new compared with old'
    >>> plt.close(ax.figure)
    """
    name = result.attrs.get("result")
    if not isinstance(name, str) or name not in PICTURES:
        came = "an object without the attr 'result'" if name is None else f"a result of {name!r}"
        raise ValueError(
            f"no picture for {came}; there is one for the results of {', '.join(sorted(PICTURES))}"
            " (timings are drawn by plot.run_sequence(), plot.variance_components() and plot.intervals(baseline))"
        )
    if keywords.get("kind") == "strip":
        return plots.strip(result, ax, **{key: value for key, value in keywords.items() if key != "kind"})
    picture: Callable[..., Axes] = getattr(plots, PICTURES[name])
    return picture(result, ax=ax, **keywords)
