"""A model of performance or variation: what predictors explain, coefficients, residuals."""

from typing import Final

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from perfarray.plots.figure import (
    COLOURS,
    DARK,
    GREY,
    LABEL_SIZE,
    LONG,
    axes_for,
    check_choice,
    describe,
    shortened,
    write_plain,
)
from perfarray.plots.rows import INCHES, TALLEST, Row, RowFrame, extremes

# By kind, the variable that it draws
KINDS: Final = {
    "influence": "influence",
    "predicted": "predicted",
    "dependence": "dependence",
    "coefficients": "coefficient",
    "standardized": "standardized_coefficient",
    "diagnostics": "residual",
}
MOST: Final = 12  # predictors with a bar
STRONGEST: Final = 3  # predictors whose dependence is drawn side by side
NAMED: Final = 4  # machines with a colour among the residuals
FEW_TICKS: Final = 4  # values of a predictor that are all ticks
CROWD: Final = 1000  # more points are small and pale


def explained(
    result: xr.Dataset,
    ax: Axes | None = None,
    *,
    kind: str | None = None,
    predictor: str | None = None,
) -> Axes:
    """Draw what explains a response.

    Parameters
    ----------
    result : Dataset
        What `to_dataset` of a `VariabilityModel` returned.
    ax : Axes, optional
        Where to draw; default: a new figure.
    kind : str, optional
        "influence" (default): what each predictor explains, the largest first, with limits.
        "predicted": measured against predicted values of the test rows.
        "dependence": the average prediction at values of a predictor.
        "coefficients": those of a linear model with their limits.
        "standardized": standardised coefficients, which compare predictors, beside those in units.
        "diagnostics": residuals against fitted values; machines that move the fit most (Cook's
        distance) have colours.
    predictor : str, optional
        The predictor of a partial dependence. Default: the strongest three side by side, or on the
        Axes given the strongest.

    Returns
    -------
    Axes
        The first of several. A bar is grey where permuting the predictor does not cost more than
        chance might: the limits of `permutation_influence` contain 0, there are none, or those of
        `total_explained` contain 0. The title says what all explain together.

    Raises
    ------
    ValueError
        An unknown kind, or a predictor without partial dependence.

    Examples
    --------
    >>> import pandas as pd, perfarray
    >>> cores = range(1, 21)
    >>> table = pd.DataFrame({"cores": cores, "relative_variation": [0.01 * n for n in cores]})
    >>> ax = table.perf.explain_variation(model="ols", rng=1).plot()
    >>> ax.get_xlabel()
    'explains, percent of the variation of log relative_variation'
    """
    kind = "influence" if kind is None else kind
    check_choice("kind", kind, KINDS)
    if KINDS[kind] not in result:
        names = ", ".join(map(str, result.data_vars))
        raise ValueError(
            f"kind={kind!r} needs {KINDS[kind]!r}, which this result does not have; it has {names}"
        )
    if kind == "dependence":
        return _draw_dependence(result, ax, predictor)
    pictures = {
        "influence": _draw_influence,
        "predicted": _draw_predicted,
        "coefficients": _draw_coefficients,
        "standardized": _draw_standardized,
        "diagnostics": _draw_diagnostics,
    }
    return pictures[kind](result, ax)


def _draw_influence(result: xr.Dataset, ax: Axes | None) -> Axes:
    strongest = result.isel(predictor=slice(MOST))
    names, is_shown = (
        [str(name) for name in strongest["predictor"].values],
        bool(result.attrs["better_than_mean"]),
    )
    positions = np.arange(len(names))
    explained, lower, upper = (
        100 * strongest[f"explained{end}"].fillna(0.0 if not end else np.nan).values
        for end in ("", "_lower", "_upper")
    )
    ax = axes_for(ax, (6.5, 1.7 + 0.3 * len(names)))
    significant = (strongest["lower"].values > 0) & is_shown
    for mask, colour, label in (
        (significant, COLOURS[0], "more than chance"),
        (~significant, GREY, "may be chance"),
    ):
        if mask.any():
            ax.barh(positions[mask], explained[mask], color=colour, height=0.7, label=label)
    ax.hlines(positions, lower, upper, color=DARK, linewidth=1.4)
    ax.set_yticks(positions, shortened(names), fontsize=LABEL_SIZE)
    ax.invert_yaxis()
    ax.set_xlim(0.0, None if np.nanmax([*explained, *upper], initial=0.0) > 0 else 100.0)
    ax.set_xlabel(f"explains, percent of the variation of {_response(result)}")
    title = [f"What explains {_response(result)}? {_correlation(result)}"]
    if is_shown:
        total, low, high = (
            100 * float(result[f"total_explained{end}"]) for end in ("", "_lower", "_upper")
        )
        title.append(
            f"all together {total:.0f} %"
            + (f" [{low:.0f}, {high:.0f}]" if np.isfinite([low, high]).all() else "")
        )
    else:
        title.append("not shown to be better than the mean")
    n_left_out = result.sizes["predictor"] - len(names)
    return describe(
        ax, [*title, *([f"{n_left_out} weaker predictors left out"] if n_left_out else [])]
    )


def _correlation(result: xr.Dataset) -> str:
    """Write the correlation on the test rows and its limits, in digits enough to differ from 1."""
    correlation, low, high = (
        float(result[f"correlation{suffix}"]) for suffix in ("", "_lower", "_upper")
    )
    distance = 1 - np.nanmax(np.abs([correlation, low, high, 0.0]))
    digits = int(np.clip(np.ceil(-np.log10(max(distance, 1e-9))), 2, 4))
    limits = (
        f"[{low:.{digits}f}, {high:.{digits}f}]"
        if np.isfinite([low, high]).all()
        else "(no limits)"
    )
    return f"Correlation {correlation:.{digits}f} {limits} on {result.sizes['row']} rows not fitted"


def _draw_coefficients(result: xr.Dataset, ax: Axes | None) -> Axes:
    """Draw the coefficients but the intercept."""
    coefficients = result.isel(term=result["term"].values != "Intercept")
    left_out, limit = list[str](), int(TALLEST / 0.3)
    if coefficients.sizes["term"] > limit:
        low, high, left_out = extremes(coefficients["coefficient"], limit, "coefficient")
        coefficients = coefficients.isel(term=[*low, *high])
    terms = [str(name) for name in coefficients["term"].values]
    positions = np.arange(len(terms))
    ax = axes_for(ax, (6.5, 1.6 + 0.3 * len(terms)))
    ax.axvline(0.0, color=GREY, linewidth=0.8, zorder=1)
    lower, upper = (coefficients[f"coefficient_{end}"] for end in ("lower", "upper"))
    ax.hlines(positions, lower, upper, color=COLOURS[0], linewidth=1.6)
    ax.scatter(coefficients["coefficient"], positions, s=26, color=COLOURS[0], zorder=2)
    ax.set_yticks(positions, shortened(terms), fontsize=LABEL_SIZE)
    ax.set_ylim(len(terms) - 0.5, -0.5)
    ax.set_xlabel("coefficient: effect of one unit more")
    return describe(
        ax,
        [
            f"Coefficients and their {100 * float(result.attrs['confidence_level']):g} % intervals",
            *left_out,
        ],
    )


def _draw_standardized(result: xr.Dataset, ax: Axes | None) -> Axes:
    """Draw the standardised coefficient of each predictor, and the one in units beside it."""
    rows = [
        Row({"predictor": y}, text, "", float(y))
        for y, text in enumerate(shortened([str(name) for name in result["predictor"].values]))
    ]
    rows = rows[: int(TALLEST / INCHES)]
    frame = RowFrame(
        ax,
        rows,
        [f"{result.sizes['predictor'] - len(rows)} weaker left out"]
        if len(rows) < result.sizes["predictor"]
        else [],
    )
    standardized, lower, upper = (
        frame.values(result[f"standardized_{end}"]) for end in ("coefficient", "lower", "upper")
    )
    frame.ax.axvline(0.0, color=GREY, linewidth=0.8, zorder=1)
    frame.ax.hlines(frame.heights, lower, upper, color=COLOURS[0], linewidth=1.6)
    is_sum = np.isnan(frame.values(result["unit_coefficient"]))
    for mask, label, face in (
        (~is_sum, "one term", COLOURS[0]),
        (is_sum, "several terms, without sign", "white"),
    ):
        if mask.any():
            frame.ax.scatter(
                standardized[mask],
                frame.heights[mask],
                s=26,
                facecolor=face,
                edgecolor=COLOURS[0],
                label=label,
                zorder=2,
            )
    texts = [
        f"{value:.3g}" if np.isfinite(value) else ""
        for value in frame.values(result["unit_coefficient"])
    ]
    limits = f"{100 * float(result.attrs['confidence_level']):g} % intervals"
    label = f"standard deviations of {_response(result)} for one of the predictor"
    return frame.finish([f"Standardised coefficients, {limits}"], label, texts, "for one more")


def _draw_predicted(result: xr.Dataset, ax: Axes | None) -> Axes:
    ax = axes_for(ax, (6.0, 6.0))
    measured, predicted = result["measured"].values, result["predicted"].values
    values = np.concatenate([measured, predicted])
    ends = [values.min(), values.max()] if values.size else [0.0, 0.0]
    ax.plot(ends, ends, color=GREY, linewidth=0.8, zorder=1)
    size, alpha = (14, 0.7) if len(measured) <= CROWD else (5, 0.25)
    ax.scatter(predicted, measured, s=size, color=COLOURS[0], alpha=alpha, linewidths=0, zorder=2)
    ax.set(xlabel=f"predicted {_response(result)}", ylabel=f"measured {_response(result)}")
    return describe(ax, [_correlation(result)])


def _draw_diagnostics(result: xr.Dataset, ax: Axes | None) -> Axes:
    """Draw residuals against fitted values; machines that move the fit most have colours."""
    fitted, residuals, names = (
        result[name].values for name in ("fitted", "residual", "fitted_row")
    )
    distances = (
        result["cook_distance"].fillna(0.0).values
        if "cook_distance" in result
        else np.zeros(len(fitted))
    )
    moving = [
        names[index] for index in np.argsort(-distances, kind="stable") if distances[index] > 0
    ]
    strongest = list(dict.fromkeys(moving))[:NAMED]
    ax = axes_for(ax, (6.5, 4.6))
    ax.axhline(0.0, color=GREY, linewidth=0.8, zorder=1)
    size, alpha = (14, 0.5) if len(fitted) <= CROWD else (5, 0.25)
    is_weak = ~np.isin(names, strongest)
    ax.scatter(
        fitted[is_weak], residuals[is_weak], s=size, color=GREY, alpha=alpha, linewidths=0, zorder=2
    )
    for name, label, colour in zip(
        strongest, shortened([str(name) for name in strongest]), COLOURS, strict=False
    ):
        rows = names == name
        label = f"{label} ({distances[rows].max():.2g})"
        ax.scatter(
            fitted[rows], residuals[rows], s=26, color=colour, linewidths=0, label=label, zorder=3
        )
    ax.set(xlabel=f"fitted {_response(result)}", ylabel="residual")
    return describe(
        ax,
        [
            "Residuals of the rows fitted",
            *(["in colours the machines with the largest Cook's distance"] if strongest else []),
        ],
    )


def _draw_dependence(result: xr.Dataset, ax: Axes | None, predictor: str | None) -> Axes:
    names = [str(name) for name in result["dependent"].values]
    if not names or predictor not in (None, *names):
        raise ValueError(
            f"predictor {predictor!r} has no partial dependence; there is one of "
            f"{', '.join(map(repr, names)) or 'none'}"
        )
    title = "average prediction, all else as it is"
    if predictor is not None or ax is not None or len(names) == 1:
        name = predictor or names[0]
        return describe(_draw_curve(result, ax, name), [f"{name}: {title}"])
    names = names[:STRONGEST]
    figure, panels = plt.subplots(
        1, len(names), figsize=(4.2 * len(names), 4.2), layout="constrained"
    )
    averages = result["dependence"].sel(dependent=names)
    room = 0.05 * float(averages.max() - averages.min())
    limits = float(averages.min()) - room, float(averages.max()) + room
    for panel, name in zip(panels, names, strict=True):
        describe(_draw_curve(result, panel, name), [])
        # One scale shows which predictor moves the prediction most.
        if room > 0:
            panel.set(**{"ylim" if panel.get_xlabel() == name else "xlim": limits})
    figure.suptitle(
        f"{title[0].upper()}{title[1:]}", x=0.01, ha="left", fontsize=panels[0].title.get_fontsize()
    )
    first: Axes = panels[0]
    return first


def _draw_curve(result: xr.Dataset, ax: Axes | None, name: str) -> Axes:
    """Draw the average prediction by one predictor: a line for numbers, points for labels."""
    curve = result.sel(dependent=name)
    finite = np.isfinite(curve["dependence"].values)
    values, predictions = curve["at_value"].values[finite], curve["dependence"].values[finite]
    is_numeric, prediction_label = np.isfinite(values).all(), f"predicted {_response(result)}"
    ax = axes_for(
        ax,
        (6.5, 4.5 if is_numeric else float(np.clip(1.5 + INCHES * len(predictions), 4.5, TALLEST))),
    )
    if is_numeric:
        ax.plot(values, predictions, color=COLOURS[0], marker="o", markersize=3.5)
        ax.set(xlabel=name, ylabel=prediction_label)
        if len(values) <= FEW_TICKS:
            ax.set_xticks(values)
        # Cores and caches double from one machine to the next.
        elif values.min() > 0 and values.max() > LONG * values.min():
            ax.set_xscale("log")
            write_plain(ax.xaxis)
    else:
        positions = np.arange(len(predictions))
        ax.scatter(predictions, positions, s=26, color=COLOURS[0])
        ax.set_yticks(
            positions,
            shortened([str(text) for text in curve["at"].values[finite]]),
            fontsize=LABEL_SIZE,
        )
        ax.invert_yaxis()
        ax.set(xlabel=prediction_label, ylabel=name)
    return ax


def _response(result: xr.Dataset) -> str:
    """Write what is explained, with the log where it is one."""
    if formula := str(result.attrs.get("formula", "")):
        return formula.partition("~")[0].strip()
    return (
        f"log {result.attrs['response']}" if result.attrs["log"] else str(result.attrs["response"])
    )
