"""A model of performance or variation: influence of the predictors, coefficients, measured against predicted, partial dependence."""

from typing import Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from perfarray.plots.figure import COLOURS, GREY, LABEL_SIZE, axes_for, describe, shortened
from perfarray.plots.rows import INCHES, TALLEST, extremes

KINDS: Final = {"influence": "influence", "predicted": "predicted", "dependence": "dependence", "coefficients": "coefficient"}
RESPONSE: Final = "response"
MOST: Final = 12  # predictors with a bar
CROWD: Final = 1000  # more points are small and pale


def explained(result: xr.Dataset, ax: Axes | None = None, *, kind: str | None = None, predictor: str | None = None) -> Axes:
    """Draw what explains a response.

    Parameters
    ----------
    result : Dataset
        What `to_dataset` of a `VariabilityModel` returned.
    ax : Axes, optional
        Where to draw; default: a new figure.
    kind : {"influence", "predicted", "dependence", "coefficients"}, optional
        Relative influence of the predictors, the largest first; measured against predicted values of the test rows; the average prediction
        at values of one predictor; or the coefficients of a linear model with their limits, which is the default for several responses.
    predictor : str, optional
        The predictor of a partial dependence; default: the most influential.

    Returns
    -------
    Axes
        A bar is grey where permuting the predictor does not cost more than chance might: the limits of `permutation_influence` contain 0,
        there are none, or those of the correlation contain 0. The title has the correlation on the test rows.

    Raises
    ------
    ValueError
        An unknown kind, or a predictor without partial dependence.

    Examples
    --------
    >>> import pandas as pd, perfarray
    >>> table = pd.DataFrame({"cores": range(1, 21), "relative_variation": [0.01 * n for n in range(1, 21)]})
    >>> ax = table.perf.explain_variation(model="ols", rng=1).plot()
    >>> ax.get_xlabel()
    'relative influence, percent'
    """
    kind = ("influence" if "influence" in result else "coefficients") if kind is None else kind
    if kind not in KINDS:
        raise ValueError(f"kind={kind!r} is not known; choose one of {', '.join(map(repr, KINDS))}")
    if KINDS[kind] not in result:
        names = ", ".join(map(str, result.data_vars))
        raise ValueError(f"kind={kind!r} needs {KINDS[kind]!r}, which this result does not have; it has {names}")
    if kind == "dependence":
        return _draw_dependence(result, ax, predictor)
    return {"influence": _draw_influence, "predicted": _draw_predicted, "coefficients": _draw_coefficients}[kind](result, ax)


def _draw_influence(result: xr.Dataset, ax: Axes | None) -> Axes:
    order = np.argsort(-result["influence"].values, kind="stable")[:MOST]
    chosen, positions, is_shown = result.isel(predictor=order), np.arange(len(order)), bool(result["correlation_lower"] > 0)
    ax = axes_for(ax, (7.0, 1.4 + 0.3 * len(order)))
    significant = (chosen["lower"].values > 0) & is_shown
    for mask, colour, label in ((significant, COLOURS[0], "more than chance"), (~significant, GREY, "may be chance")):
        if mask.any():
            ax.barh(positions[mask], chosen["influence"].values[mask], color=colour, height=0.7, label=label)
    ax.set_yticks(positions, shortened([str(name) for name in chosen["predictor"].values]), fontsize=LABEL_SIZE)
    ax.invert_yaxis()
    ax.set_xlabel("relative influence, percent")
    title = f"What explains {_response(result)}? {_correlation(result)}"
    return describe(ax, [title] if is_shown else [title, "not shown to be better than the mean"])


def _correlation(result: xr.Dataset) -> str:
    """Write the correlation on the test rows, with its limits, in as many digits as are needed to see that it is not 1."""
    correlation, low, high = (float(result[f"correlation{suffix}"]) for suffix in ("", "_lower", "_upper"))
    distance = 1 - np.nanmax(np.abs([correlation, low, high, 0.0]))
    digits = int(np.clip(np.ceil(-np.log10(max(distance, 1e-9))), 2, 4))
    limits = f"[{low:.{digits}f}, {high:.{digits}f}]" if np.isfinite([low, high]).all() else "(no limits)"
    return f"Correlation {correlation:.{digits}f} {limits} on {result.sizes['row']} rows not fitted"


def _draw_coefficients(result: xr.Dataset, ax: Axes | None) -> Axes:
    """Draw the coefficients but the intercept, each response in its colour."""
    coefficients = result.isel(term=result["term"].values != "Intercept").expand_dims(() if RESPONSE in result.dims else RESPONSE)
    count = coefficients.sizes[RESPONSE]
    first, left_out, limit = coefficients["coefficient"].isel({RESPONSE: 0}), list[str](), int(TALLEST / 0.3 / count)
    if first.size > limit:
        low, high, left_out = extremes(first, limit, "coefficient")
        coefficients = coefficients.isel(term=[*low, *high])
    terms = [str(name) for name in coefficients["term"].values]
    names = [str(name) for name in coefficients[RESPONSE].values] if RESPONSE in coefficients.coords else [_response(result)]
    ax = axes_for(ax, (7.0, 1.6 + 0.3 * len(terms) * count))
    ax.axvline(0.0, color=GREY, linewidth=0.8, zorder=1)
    for number, name in enumerate(names):
        response, colour = coefficients.isel({RESPONSE: number}), COLOURS[number % len(COLOURS)]
        positions = np.arange(len(terms)) + 0.6 * ((number + 0.5) / count - 0.5)
        ax.hlines(positions, response["coefficient_lower"], response["coefficient_upper"], color=colour, linewidth=1.6)
        ax.scatter(response["coefficient"], positions, s=26, color=colour, label=name, zorder=2)
    ax.set_yticks(np.arange(len(terms)), shortened(terms), fontsize=LABEL_SIZE)
    ax.set_ylim(len(terms) - 0.5, -0.5)
    ax.set_xlabel(f"coefficient: change {'of the log ' if result.attrs['model'] == 'gamma' else ''}for one more")
    return describe(ax, [f"Coefficients and their {100 * float(result.attrs['confidence_level']):g} % intervals", *left_out])


def _draw_predicted(result: xr.Dataset, ax: Axes | None) -> Axes:
    ax = axes_for(ax, (6.0, 6.0))
    measured, predicted = result["measured"].values, result["predicted"].values
    both = np.concatenate([measured, predicted])
    ends = [both.min(), both.max()] if both.size else [0.0, 0.0]
    ax.plot(ends, ends, color=GREY, linewidth=0.8, zorder=1)
    size, alpha = (14, 0.7) if len(measured) <= CROWD else (5, 0.25)
    ax.scatter(predicted, measured, s=size, color=COLOURS[0], alpha=alpha, linewidths=0, zorder=2)
    ax.set(xlabel=f"predicted {_response(result)}", ylabel=f"measured {_response(result)}")
    return describe(ax, [_correlation(result)])


def _draw_dependence(result: xr.Dataset, ax: Axes | None, predictor: str | None) -> Axes:
    names = [str(name) for name in result["dependent"].values]
    name = names[0] if predictor is None and names else predictor
    if name not in names:
        raise ValueError(f"predictor {predictor!r} has no partial dependence; there is one of {', '.join(map(repr, names)) or 'none'}")
    curve = result.sel(dependent=name)
    finite = np.isfinite(curve["dependence"].values)
    values, predictions = curve["at_value"].values[finite], curve["dependence"].values[finite]
    is_numeric, prediction_label = np.isfinite(values).all(), f"predicted {_response(result)}"
    ax = axes_for(ax, (6.5, 4.5 if is_numeric else float(np.clip(1.5 + INCHES * len(predictions), 4.5, TALLEST))))
    if is_numeric:
        ax.plot(values, predictions, color=COLOURS[0], marker="o", markersize=3.5)
        ax.set(xlabel=name, ylabel=prediction_label)
    else:
        positions = np.arange(len(predictions))
        ax.scatter(predictions, positions, s=26, color=COLOURS[0])
        ax.set_yticks(positions, shortened([str(text) for text in curve["at"].values[finite]]), fontsize=LABEL_SIZE)
        ax.invert_yaxis()
        ax.set(xlabel=prediction_label, ylabel=name)
    return describe(ax, [f"{name}: average prediction, all else as it is"])


def _response(result: xr.Dataset) -> str:
    """Write what is explained, with the log where it is one."""
    if formula := str(result.attrs.get("formula", "")):
        return formula.partition("~")[0].strip()
    return f"log {result.attrs['response']}" if result.attrs["log"] else str(result.attrs["response"])
