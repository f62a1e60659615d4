"""A model of performance or variation: influence of the predictors, measured against predicted, partial dependence."""

from typing import TYPE_CHECKING, Final

import numpy as np
import xarray as xr

from perfarray.plots._figure import COLOURS, GREY, LABEL_SIZE, axes_for, check_matplotlib, describe, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS: Final = ("influence", "predicted", "dependence")
MOST: Final = 12
"""Predictors with a bar."""


def explained(result: xr.Dataset, ax: "Axes | None" = None, *, kind: str = "influence", predictor: str | None = None) -> "Axes":
    """Draw what explains a response.

    Parameters
    ----------
    result : Dataset
        What `to_dataset` of a `VariabilityModel` gave.
    ax : Axes, optional
        Where to draw; default: a new figure.
    kind : {"influence", "predicted", "dependence"}
        Relative influence of the predictors, the largest first; measured against predicted values of the test rows; or the average
        prediction at values of one predictor.
    predictor : str, optional
        Whose partial dependence; default: the most influential.

    Returns
    -------
    Axes
        A bar is grey where permuting the predictor does not cost more than chance might: the limits of `permutation_influence` hold 0.

    Raises
    ------
    ImportError
        When matplotlib is not installed.
    ValueError
        An unknown kind, or a predictor without partial dependence.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import pandas as pd, perfarray
    >>> table = pd.DataFrame({"cores": range(1, 21), "relative_variation": [0.01 * n for n in range(1, 21)]})
    >>> ax = table.perf.explain_variation(model="ols", rng=1).plot()
    >>> ax.get_xlabel()
    'relative influence, percent'
    >>> plt.close(ax.figure)
    """
    check_matplotlib()
    if kind not in KINDS:
        raise ValueError(f"kind={kind!r} is not known; choose one of 'influence', 'predicted', 'dependence'")
    if kind == "influence":
        return _influence(result, ax)
    return _predicted(result, ax) if kind == "predicted" else _dependence(result, ax, predictor)


def _influence(result: xr.Dataset, ax: "Axes | None") -> "Axes":
    """Draw a bar for each predictor."""
    order = np.argsort(-result["influence"].values, kind="stable")[:MOST]
    chosen = result.isel(predictor=order)
    ax = axes_for(ax, (7.0, 1.4 + 0.3 * len(order)))
    places = np.arange(len(order))
    sure = chosen["lower"].values > 0
    for which, colour, label in ((sure, COLOURS[0], "more than chance"), (~sure, GREY, "may be chance")):
        if which.any():
            ax.barh(places[which], chosen["influence"].values[which], color=colour, height=0.7, label=label)
    ax.set_yticks(places, shortened([str(name) for name in chosen["predictor"].values]), fontsize=LABEL_SIZE)
    ax.invert_yaxis()
    ax.set_xlabel("relative influence, percent")
    describe(ax, f"What explains {_response(result)}")
    return ax


def _predicted(result: xr.Dataset, ax: "Axes | None") -> "Axes":
    """Draw measured against predicted values, and the line on which they are equal."""
    ax = axes_for(ax, (6.0, 6.0))
    measured, predicted = result["measured"].values, result["predicted"].values
    ends = np.array([min(measured.min(), predicted.min()), max(measured.max(), predicted.max())]) if len(measured) else np.zeros(2)
    ax.plot(ends, ends, color=GREY, linewidth=0.8, zorder=1)
    ax.scatter(predicted, measured, s=14, color=COLOURS[0], alpha=0.7, zorder=2)
    ax.set_xlabel(f"predicted {_response(result)}")
    ax.set_ylabel(f"measured {_response(result)}")
    low, high = float(result["correlation_lower"]), float(result["correlation_upper"])
    describe(ax, f"Correlation {float(result['correlation']):.2f} [{low:.2f}, {high:.2f}] on {len(measured)} rows not fitted")
    return ax


def _dependence(result: xr.Dataset, ax: "Axes | None", predictor: str | None) -> "Axes":
    """Draw the average prediction at values of one predictor."""
    there = [str(name) for name in result["dependent"].values]
    name = there[0] if predictor is None and there else predictor
    if name not in there:
        raise ValueError(f"predictor {predictor!r} has no partial dependence; there is one of {', '.join(map(repr, there)) or 'none'}")
    one = result.sel(dependent=name)
    known = np.isfinite(one["dependence"].values)
    value, found = one["at_value"].values[known], one["dependence"].values[known]
    ax = axes_for(ax, (6.5, 4.5))
    if np.isfinite(value).all():
        ax.plot(value, found, color=COLOURS[0], marker="o", markersize=3.5)
        ax.set_xlabel(name)
        ax.set_ylabel(f"predicted {_response(result)}")
    else:
        ax.scatter(found, np.arange(len(found)), s=26, color=COLOURS[0])
        ax.set_yticks(np.arange(len(found)), shortened([str(text) for text in one["at"].values[known]]), fontsize=LABEL_SIZE)
        ax.invert_yaxis()
        ax.set_xlabel(f"predicted {_response(result)}")
        ax.set_ylabel(name)
    describe(ax, f"{name}: average prediction, all else as it is")
    return ax


def _response(result: xr.Dataset) -> str:
    """Write what is explained, with the log where it is one."""
    formula = str(result.attrs.get("formula", ""))
    if formula:
        return formula.partition("~")[0].strip()
    return f"log {result.attrs['response']}" if result.attrs["log"] else str(result.attrs["response"])
