"""Tables of answers about repetitions and rules: dependence, steadiness, stopping, error rates."""

import math
from collections.abc import Callable

import numpy as np
import xarray as xr

from perfarray.conventions import plural
from perfarray.results.words import (
    NOTHING,
    Cell,
    Columns,
    change,
    count,
    digits_of,
    drift,
    number,
    percent,
    percent_between,
    places_of_shares,
    probability,
    quantity,
    quantity_between,
    ratio_digits,
)


def dependence(data: xr.Dataset) -> Columns:
    """Show the correlation of neighbours, the effective number of repetitions, and the drift."""
    repetitions = plural(str(data.attrs["dim"]))

    def worth(cell: Cell) -> str:
        share = cell["pooled_effective_n"]
        return NOTHING if math.isnan(share) else f"{number(share)} of {cell['pooled_n']:.0f}"

    return {
        "neighbours": lambda cell: (
            number(cell["pooled_autocorrelation"][1])
            if len(cell["pooled_autocorrelation"]) > 1
            else NOTHING
        ),
        f"worth, {repetitions}": worth,
        f"drift per {data.attrs['dim']}": lambda cell: percent(cell["pooled_drift"]),
        "p": lambda cell: probability(cell["dependence_pvalue"]),
    }


def changes(data: xr.Dataset) -> Columns:
    """Show every change and drift: its size, its range of commits, its cause."""
    better, digits = str(data.attrs["better"]), ratio_digits(data)

    def size(cell: Cell) -> str:
        if cell["cause"] == "drift":
            return drift(
                cell["estimate"],
                cell["lower"],
                cell["upper"],
                f"{cell['n_segment']:.0f} {plural(str(data.attrs['dim']))}",
            )
        return change(cell["estimate"], cell["lower"], cell["upper"], "bounded", better, digits)

    columns: Columns = {
        "change": size,
        "verdict": lambda cell: str(cell["verdict"]),
        "p": lambda cell: probability(cell["pvalue"]),
        "made by": _commits,
    }
    columns |= (
        {"cause": lambda cell: str(cell["cause"])}
        if data["cause"].isin(["host", "drift"]).any()
        else {}
    )
    return columns | (
        {"common": lambda cell: "yes" if cell["common"] else "no"} if data["common"].any() else {}
    )


def _commits(cell: Cell) -> str:
    """Write the range of commits that may have made a change."""
    first, last = _commit(cell["earliest"]), _commit(cell["latest"])
    return first if first == last else f"{first} to {last}"


def _commit(label: object) -> str:
    return f"{label:.15g}" if isinstance(label, float) else str(label)


def following(data: xr.Dataset) -> Columns:
    """Show the commit to measure next, how often, and what is known of the culprit before."""
    return {
        "measure next": lambda cell: NOTHING if math.isnan(cell["runs"]) else _commit(cell["next"]),
        "runs": lambda cell: count(cell["runs"]),
        "most likely": lambda cell: _commit(cell["culprit"]),
        "probability": lambda cell: f"{100 * cell['culprit_probability']:.3g} %",
        f"{100 * float(data.attrs['probability']):g} % set": _commits,
    }


def slopes(data: xr.Dataset) -> Columns:
    """Show the factor for each commit or year, and the total over the history."""
    better, per = str(data.attrs["better"]), str(data.attrs["per"])
    digits = digits_of(*(data[name].values for name in ("slope", "lower", "upper")), ratio=True)
    return {
        f"a {per}": lambda cell: change(
            cell["slope"], cell["lower"], cell["upper"], "bounded", better, digits
        ),
        "in all": lambda cell: NOTHING if math.isnan(cell["total"]) else f"{cell['total']:.3g}x",
        "verdict": lambda cell: str(cell["verdict"]),
        "p": lambda cell: probability(cell["pvalue"]),
        "n": lambda cell: number(cell["n"]),
    }


# The kinds of series in words
STEADY = {
    "flat": "flat",
    "warmup": "warm-up",
    "slowdown": "slowdown",
    "no_steady_state": "never steady",
    "unknown": "too short",
}


def steadiness(_: xr.Dataset) -> Columns:
    """Show the number of series of each kind, and where they become steady."""

    def many(kind: str) -> Callable[[Cell], str]:
        return lambda cell: str(int(np.sum(np.asarray(cell["kind"]) == kind)))

    def start(cell: Cell) -> str:
        starts = np.asarray(cell["start"], dtype=float)
        return NOTHING if np.isnan(starts).all() else f"{np.nanmedian(starts):g}"

    return {title: many(kind) for kind, title in STEADY.items()} | {"steady from (median)": start}


def origins(_: xr.Dataset) -> Columns:
    """Show how much of the variation between modes a factor explains, and the conclusion."""

    def exchanged(cell: Cell) -> str:
        return (
            f"{cell['n_exchanged']:.0f} {plural(str(cell['exchanged']))}"
            if cell["n_exchanged"]
            else NOTHING
        )

    return {
        "modes": lambda cell: count(cell["n_modes"]),
        "explains": lambda cell: percent(cell["statistic"]),
        "p": lambda cell: probability(cell["pvalue_adjusted"]),
        "exchanged": exchanged,
        "finding": lambda cell: str(cell["finding"]),
    }


# Components of a mixture that are shown
HEAVIEST = 3


def mixtures(data: xr.Dataset) -> Columns:
    """Show the heaviest components of a mixture, and whether they may be chance."""
    common, few_runs = str(data["mean"].attrs.get("units", "1")), data.attrs.get("few_runs", 0)

    def many(cell: Cell) -> str:
        number = count(cell["n_components"])
        return (
            f"{number} (may be chance)"
            if cell["n_components"] > 1 and cell["n"] < few_runs
            else number
        )

    def parts(cell: Cell) -> str:
        order = [
            position
            for position in np.argsort(-np.nan_to_num(cell["weight"]))
            if cell["weight"][position] > 0
        ]
        remainder = [f"{len(order) - HEAVIEST} more"] if len(order) > HEAVIEST else []
        return "; ".join(
            [
                _component(cell, k, str(cell["coords"].get("units", common)))
                for k in order[:HEAVIEST]
            ]
            + remainder
        )

    family: Columns = (
        {"family": lambda cell: str(cell["family"])}
        if " " in str(data.attrs.get("distribution", ""))
        else {}
    )
    return (
        {"components": many}
        | family
        | {"weights and means": parts, "n": lambda cell: count(cell["n"])}
    )


def _component(cell: Cell, position: int, units: str) -> str:
    """Write one component of a mixture."""
    mean, deviation = (
        quantity(cell[name][position], units) for name in ("mean", "standard_deviation")
    )
    return f"{percent(cell['weight'][position])} at {mean} (sd {deviation})"


def stops(data: xr.Dataset) -> Columns:
    """Show how many units are enough, and the interval at the stop."""
    names = [f"{name}_at_stop" for name in ("estimate", "lower", "upper")]
    unit, digits = str(data[names[0]].attrs["units"]), digits_of(*(data[n].values for n in names))

    def enough(cell: Cell) -> str:
        if math.isnan(cell["required"]) and math.isnan(cell["extrapolated"]):
            return NOTHING
        bound_text = (
            "more than ten million"
            if math.isinf(cell["extrapolated"])
            else f"{count(cell['extrapolated'])}?"
        )
        return bound_text if math.isnan(cell["required"]) else count(cell["required"])

    def interval(cell: Cell) -> str:
        value, lower, upper = (cell[name] for name in names)
        return quantity_between(value, lower, upper, unit, digits)

    def more(cell: Cell) -> str:
        number = cell["remaining"]
        return (
            NOTHING
            if math.isnan(number)
            else f"{number:,.0f}"
            if math.isfinite(number)
            else "no end"
        )

    half_width = 100 * float(data.attrs["half_width_wanted"])
    return {
        f"{plural(str(data.attrs['unit']))} for ±{half_width:g} %": enough,
        "there are": lambda cell: count(cell["n"]),
        "then": interval,
        "still to run": more,
    }


def orders(data: xr.Dataset) -> Columns:
    """Show how many runs a statistic needs to order two programs, and how often it is right."""

    def right(position: int) -> Callable[[Cell], str]:
        return lambda cell: percent(cell["right"][position])

    columns: Columns = {
        f"runs for {percent(float(data.attrs['share']))}": lambda cell: count(cell["required"])
    }
    sizes = data["group_size"].values.tolist()
    positions = sorted({round(share * (len(sizes) - 1)) for share in (0, 1 / 3, 2 / 3, 1)})
    return columns | {f"right, of {sizes[position]}": right(position) for position in positions}


def units(data: xr.Dataset) -> Columns:
    """Show how many units a side a decision needs, and what the pilot can detect."""
    unit_noun = plural(str(data.attrs["unit"]))
    return {
        f"{unit_noun} a side": lambda cell: (
            "more than ten million" if math.isinf(cell["required"]) else count(cell["required"])
        ),
        "of the pilot": lambda cell: count(cell["n"]),
        "power with those": lambda cell: percent(cell["power"]),
    }


def thresholds(data: xr.Dataset) -> Columns:
    """Show least thresholds with their limits, and the changes then seen."""
    places = places_of_shares(data["threshold_lower"].values, data["threshold_upper"].values)
    return {
        "threshold": lambda cell: percent_between(
            cell["threshold"], cell["threshold_lower"], cell["threshold_upper"], places=places
        ),
        "change seen": lambda cell: percent(cell["detectable_change"]),
        "sessions vary by": lambda cell: percent(cell["session_standard_deviation"]),
        "sessions": lambda cell: count(cell["n_sessions"]),
    }


def rates_columns(data: xr.Dataset) -> Columns:
    """Show shares of simulated experiments, with their Monte Carlo error."""
    title = str(data.attrs["result"]).replace("_", " ")
    columns: Columns = {
        title: lambda cell: f"{percent(cell['estimate'])} ± {percent(cell['error'])}"
    }
    return columns | {
        name: _share(name)
        for name in ("below", "above", "opposite", "unanswered")
        if name in data.data_vars
    }


def calibrated_columns(_: xr.Dataset) -> Columns:
    """Show the false alarm rates of rules between halves of the same timings."""

    def alarms(cell: Cell) -> str:
        error = "" if math.isnan(cell["error"]) else f" ± {percent(cell['error'])}"
        return f"{percent(cell['false_alarm_rate'])}{error}"

    columns: Columns = {"false alarms": alarms}
    return columns | {
        "no answer": _share("unanswered"),
        "used by": lambda cell: str(cell["used_by"]),
    }


def _share(name: str) -> Callable[[Cell], str]:
    """Return a function that writes a share in percent."""
    return lambda cell: percent(cell[name])
