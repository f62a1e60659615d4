"""A model of performance or variation: influence of the predictors, coefficients, measured against predicted, partial dependence."""

from typing import Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from perfarray.plots.figure import COLOURS, GREY, LABEL_SIZE, axes_for, describe, shortened
from perfarray.plots.rows import INCHES, TALLEST, extremes

KINDS: Final = ("influence", "predicted", "dependence", "coefficients")
RESPONSE: Final = "response"
MOST: Final = 12
"""Predictors with a bar."""

CROWD: Final = 1000
"""Points above which they are small and pale, so that one sees where most of them are."""


def explained(result: xr.Dataset, ax: Axes | None = None, *, kind: str | None = None, predictor: str | None = None) -> Axes:
    """Draw what explains a response.

    Parameters
    ----------
    result : Dataset
        What `to_dataset` of a `VariabilityModel` gave.
    ax : Axes, optional
        Where to draw; default: a new figure.
    kind : {"influence", "predicted", "dependence", "coefficients"}, optional
        Relative influence of the predictors, the largest first; measured against predicted values of the test rows; the average prediction
        at values of one predictor; or the coefficients of a linear model with their limits, which is the default for several responses.
    predictor : str, optional
        Whose partial dependence; default: the most influential.

    Returns
    -------
    Axes
        A bar is grey where permuting the predictor does not cost more than chance might: the limits of `permutation_influence` hold 0,
        there are none, or those of the correlation hold 0. The title has the correlation on the rows tested.

    Raises
    ------
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
    kind = ("influence" if "influence" in result else "coefficients") if kind is None else kind
    if kind not in KINDS:
        raise ValueError(f"kind={kind!r} is not known; choose one of 'influence', 'predicted', 'dependence', 'coefficients'")
    needed = {"influence": "influence", "predicted": "predicted", "dependence": "dependence", "coefficients": "coefficient"}[kind]
    if needed not in result:
        raise ValueError(f"kind={kind!r} needs {needed!r}, which this result does not have; it has {', '.join(map(str, result.data_vars))}")
    if kind == "dependence":
        return _dependence(result, ax, predictor)
    return {"influence": _influence, "predicted": _predicted, "coefficients": _coefficients}[kind](result, ax)


def _influence(result: xr.Dataset, ax: Axes | None) -> Axes:
    """Draw a bar for each predictor."""
    order = np.argsort(-result["influence"].values, kind="stable")[:MOST]
    chosen = result.isel(predictor=order)
    ax = axes_for(ax, (7.0, 1.4 + 0.3 * len(order)))
    positions = np.arange(len(order))
    significant = (chosen["lower"].values > 0) & bool(result["correlation_lower"] > 0)
    for mask, colour, label in ((significant, COLOURS[0], "more than chance"), (~significant, GREY, "may be chance")):
        if mask.any():
            ax.barh(positions[mask], chosen["influence"].values[mask], color=colour, height=0.7, label=label)
    ax.set_yticks(positions, shortened([str(name) for name in chosen["predictor"].values]), fontsize=LABEL_SIZE)
    ax.invert_yaxis()
    ax.set_xlabel("relative influence, percent")
    title = f"What explains {_response(result)}? {_found(result)}"
    describe(ax, title if bool(result["correlation_lower"] > 0) else f"{title}, not shown to be better than the mean")
    return ax


def _found(result: xr.Dataset) -> str:
    """Write the correlation on the rows tested, with its limits, in as many digits as tell them from 1."""
    correlation, low, high = (float(result[f"correlation{suffix}"]) for suffix in ("", "_lower", "_upper"))
    distance = 1 - np.nanmax(np.abs([correlation, low, high, 0.0]))
    digits = int(np.clip(np.ceil(-np.log10(max(distance, 1e-9))), 2, 4))
    limits = f"[{low:.{digits}f}, {high:.{digits}f}]" if np.isfinite([low, high]).all() else "(no limits)"
    return f"Correlation {correlation:.{digits}f} {limits} on {result.sizes['row']} rows not fitted"


def _coefficients(result: xr.Dataset, ax: Axes | None) -> Axes:
    """Draw the coefficients but the intercept, each response in its colour."""
    coefficients = result.isel(term=result["term"].values != "Intercept").expand_dims(() if RESPONSE in result.dims else RESPONSE)
    size, left_out, limit = coefficients["coefficient"].isel({RESPONSE: 0}), list[str](), int(TALLEST / 0.3 / coefficients.sizes[RESPONSE])
    if size.size > limit:
        low, high, left_out = extremes(size, limit, "coefficient")
        coefficients = coefficients.isel(term=[*low, *high])
    terms, count = [str(name) for name in coefficients["term"].values], coefficients.sizes[RESPONSE]
    names = [str(name) for name in coefficients[RESPONSE].values] if RESPONSE in coefficients.coords else [_response(result)]
    ax = axes_for(ax, (7.0, 1.6 + 0.3 * len(terms) * count))
    ax.axvline(0.0, color=GREY, linewidth=0.8, zorder=1)
    for number, name in enumerate(names):
        response = coefficients.isel({RESPONSE: number})
        positions = np.arange(len(terms)) + 0.6 * ((number + 0.5) / count - 0.5)
        colour = COLOURS[number % len(COLOURS)]
        ax.hlines(positions, response["coefficient_lower"], response["coefficient_upper"], color=colour, linewidth=1.6)
        ax.scatter(response["coefficient"], positions, s=26, color=colour, label=name, zorder=2)
    ax.set_yticks(np.arange(len(terms)), shortened(terms), fontsize=LABEL_SIZE)
    ax.set_ylim(len(terms) - 0.5, -0.5)
    ax.set_xlabel("coefficient: change of the log for one more" if result.attrs["model"] == "gamma" else "coefficient: change for one more")
    describe(ax, ", ".join([f"Coefficients and their {100 * float(result.attrs['confidence_level']):g} % intervals", *left_out]))
    return ax


def _predicted(result: xr.Dataset, ax: Axes | None) -> Axes:
    """Draw measured against predicted values, and the line on which they are equal."""
    ax = axes_for(ax, (6.0, 6.0))
    measured, predicted = result["measured"].values, result["predicted"].values
    limits = np.array([min(measured.min(), predicted.min()), max(measured.max(), predicted.max())]) if len(measured) else np.zeros(2)
    ax.plot(limits, limits, color=GREY, linewidth=0.8, zorder=1)
    size, alpha = (14, 0.7) if len(measured) <= CROWD else (5, 0.25)
    ax.scatter(predicted, measured, s=size, color=COLOURS[0], alpha=alpha, linewidths=0, zorder=2)
    ax.set_xlabel(f"predicted {_response(result)}")
    ax.set_ylabel(f"measured {_response(result)}")
    describe(ax, _found(result))
    return ax


def _dependence(result: xr.Dataset, ax: Axes | None, predictor: str | None) -> Axes:
    """Draw the average prediction at values of one predictor."""
    names = [str(name) for name in result["dependent"].values]
    name = names[0] if predictor is None and names else predictor
    if name not in names:
        raise ValueError(f"predictor {predictor!r} has no partial dependence; there is one of {', '.join(map(repr, names)) or 'none'}")
    curve = result.sel(dependent=name)
    finite = np.isfinite(curve["dependence"].values)
    value, predictions = curve["at_value"].values[finite], curve["dependence"].values[finite]
    ax = axes_for(ax, (6.5, 4.5 if np.isfinite(value).all() else float(np.clip(1.5 + INCHES * len(predictions), 4.5, TALLEST))))
    if np.isfinite(value).all():
        ax.plot(value, predictions, color=COLOURS[0], marker="o", markersize=3.5)
        ax.set_xlabel(name)
        ax.set_ylabel(f"predicted {_response(result)}")
    else:
        ax.scatter(predictions, np.arange(len(predictions)), s=26, color=COLOURS[0])
        ax.set_yticks(np.arange(len(predictions)), shortened([str(text) for text in curve["at"].values[finite]]), fontsize=LABEL_SIZE)
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
