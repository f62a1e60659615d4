"""The columns of the table of each kind of result: a title, and a function that writes a cell."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from perfarray.conventions import (
    BY_PVALUE,
    CENSORED,
    EXACT,
    LOWER,
    OTHER_SPREAD,
    SECONDS,
    UNKNOWN,
    plural,
)
from perfarray.results import words
from perfarray.results.words import (
    FROM_ZERO,
    NOTHING,
    Cell,
    Columns,
    change,
    column_digits,
    number,
    percent,
    probability,
    quantity,
    ratio_digits,
)
from perfarray.timings.apply import LEVEL

CHANGE, N = "change", "n"
WITHIN = "within_lower"  # the limits that lack what varies between sessions
# Columns that suite rows have, too
OF_SUITE = (CHANGE, N, "threshold", "verdict")


class Layout(NamedTuple):
    """The table of a kind of result: columns, inner dims, the variable that orders rows."""

    columns: Callable[[xr.Dataset], Columns]
    main: str = "estimate"
    inner: tuple[str, ...] = ()
    ratio: bool = False
    # Whether suite rows have all columns
    whole_suites: bool = False
    # Whether 0 is an answer, rather than the value of a cell without one
    zero: bool = False
    # The variable that orders rows by effect, where it is not the main one
    effect: str = ""


def _units(data: xr.Dataset, name: str) -> Callable[[Cell], str]:
    """Return a function from a cell to the unit of a variable."""
    common = str(data[name].attrs.get("units", "1"))
    return lambda cell: str(cell["coords"].get("units", common))


def _better(data: xr.Dataset) -> Callable[[Cell], str]:
    """Return a function from a cell to the direction of its metric."""
    return lambda cell: str(cell["coords"].get("better", data.attrs.get("better", LOWER)))


def _count(cell: Cell) -> str:
    """Write the number of independent units."""
    return words.count(cell["n"])


def changes_columns(data: xr.Dataset) -> Columns:
    """Show a comparison: both means or medians, the change with its interval in words."""
    better, digits = _better(data), ratio_digits(data)
    columns: Columns = {}
    sides = [f"{side}_{data.attrs.get('statistic', 'mean')}" for side in ("baseline", "candidate")]
    if sides[-1] in data.data_vars:
        unit = _units(data, sides[-1])
        title = f"{data.attrs.get('baseline', 'baseline')} -> {_candidate(data)}"
        columns[title] = lambda cell: _both(cell, sides, unit(cell), digits)
    bound = (
        {"at_least": "at least ", "at_most": "at most "}
        if data.attrs.get(CENSORED) == "bound"
        else {}
    )
    columns[CHANGE] = lambda cell: _change(cell, better(cell), bound, digits)
    if "threshold" in data.data_vars:
        columns["threshold"] = lambda cell: f"{100 * cell['threshold']:.3g} %"
    if WITHIN in data.data_vars and data[WITHIN].notnull().any():
        title = f"within one {data.attrs['between']}"
        columns[title] = lambda cell: words.limits_of_change(
            cell[WITHIN], cell["within_upper"], better(cell), digits
        )
    if "pvalue" in data.data_vars and "verdict" not in data.data_vars:
        columns["p"] = lambda cell: probability(cell["pvalue"])
    if "verdict" in data.data_vars:
        columns["verdict"] = lambda cell: str(cell["verdict"]).replace(UNKNOWN, NOTHING)
    return columns | {N: _count if "paired" in data.attrs else _counts_of_sides}


def _counts_of_sides(cell: Cell) -> str:
    """Write the number of units, of both sides where they differ: `10 | 9`."""
    sides = [words.count(cell[name]) for name in ("n_baseline", "n_candidate") if name in cell]
    return " | ".join(sides) if len(set(sides)) > 1 else _count(cell)


def _both(cell: Cell, sides: Sequence[str], units: str, digits: int) -> str:
    """Write both means or medians; a dash where stopped runs leave the ratio unknown."""
    if math.isnan(cell["estimate"]) and not _is_from_zero(cell):
        return NOTHING
    values, is_exact = [cell[side] for side in sides], cell.get("kind") == EXACT
    write = words.whole_numbers if is_exact else words.quantities
    return " -> ".join(write(values, units, digits))


def _change(cell: Cell, better: str, bound: Mapping[str, str], digits: int) -> str:
    """Write a change, marked where its interval does not show the verdict or spreads differ.

    A bound of the ratio where runs were stopped.
    """
    if _is_from_zero(cell):
        return FROM_ZERO
    kind = cell.get("kind", "bounded")
    agrees = cell.get("interval_agrees", True) or math.isnan(cell["estimate"])
    mark = "" if agrees else f" {BY_PVALUE}"
    mark += f" {OTHER_SPREAD}" if cell.get("spread_changed", False) else ""
    if kind in bound and not math.isnan(cell["estimate"]):
        estimate, limits = words.ratio(cell["estimate"], digits), _open(cell, digits)
        return f"{bound[kind]}{estimate} ({words.between(*limits)}){mark}"
    return change(cell["estimate"], cell["lower"], cell["upper"], kind, better, digits) + mark


def _is_from_zero(cell: Cell) -> bool:
    """Return whether there is no ratio: the baseline's mean alone is 0."""
    return math.isnan(cell["estimate"]) and cell.get("baseline_mean") == 0


def _open(cell: Cell, digits: int) -> tuple[str, str]:
    """Write the limits of a set that is open on one side."""
    lower, upper = (number(cell[name], digits) for name in ("lower", "upper"))
    return "-infinite" if cell["lower"] <= 0 else lower, upper


def _candidate(data: xr.Dataset) -> str:
    """Return the label of the only candidate, else "candidate".

    Combined with other results, the baseline has a row without an answer.
    """
    dim = str(data.attrs.get("dim", ""))
    if dim not in data["estimate"].dims or dim not in data.coords:
        return "candidate"
    labels = data["estimate"].dropna(dim, how="all")[dim] if data.sizes[dim] > 1 else data[dim]
    return str(labels.values[0]) if labels.size == 1 else "candidate"


def intervals_columns(data: xr.Dataset) -> Columns:
    """Show a value in its unit with its interval."""
    unit, digits = _units(data, "estimate"), column_digits(data, "estimate", "lower", "upper")
    columns: Columns = {
        "estimate": lambda cell: words.quantity_between(
            cell["estimate"],
            cell.get("lower", math.nan),
            cell.get("upper", math.nan),
            unit(cell),
            digits,
        )
    }
    return columns | ({N: _count} if "n" in data.data_vars else {})


def shares_columns(data: xr.Dataset) -> Columns:
    """Show a probability with its interval."""
    places = words.places_of_shares(data["lower"].values, data["upper"].values)
    return {
        "probability": lambda cell: words.percent_between(
            cell["estimate"], cell["lower"], cell["upper"], places=places
        ),
        N: _count,
    }


def _levels(data: xr.Dataset) -> list[str]:
    """Return the levels of a nest."""
    return [str(level) for level in data[LEVEL].values.tolist()]


def components_columns(data: xr.Dataset) -> Columns:
    """Show the relative standard deviation of each level, and its share of the variance.

    Limits that were asked for by name stand there instead.
    """
    unit, limits = _units(data, "mean"), data.attrs.get("limits") == "jackknife"

    def column(position: int) -> Callable[[Cell], str]:
        def text(cell: Cell) -> str:
            added = cell["coefficient_of_variation"]
            if math.isnan(added[position]):
                return NOTHING
            if limits:
                ends = (
                    percent(math.sqrt(cell[name][position]) / cell["mean"])
                    for name in ("lower", "upper")
                )
                return f"{percent(added[position])} ({words.between(*ends)})"
            return percent(added[position]) + (
                "" if np.isnan(added).any() else f" ({percent(cell['share'][position])})"
            )

        return text

    columns: Columns = {"mean": lambda cell: quantity(cell["mean"], unit(cell))}
    return columns | {
        f"between {plural(level)}": column(position) for position, level in enumerate(_levels(data))
    }


def counts_columns(data: xr.Dataset) -> Columns:
    """Show the number of repetitions inside one parent and in all."""

    def column(position: int) -> Callable[[Cell], str]:
        def text(cell: Cell) -> str:
            minimum, maximum, total = (
                f"{cell[name][position]:.0f}" for name in ("minimum", "maximum", "total")
            )
            return (
                f"{minimum if minimum == maximum else f'{minimum} to {maximum}'} ({total} in all)"
                if position
                else minimum
            )

        return text

    return {plural(level): column(position) for position, level in enumerate(_levels(data))}


def plan_columns(data: xr.Dataset) -> Columns:
    """Show the repetitions to run, their cost, and the expected half-width."""
    units = str(data.attrs["cost_units"])

    def price(cell: Cell) -> str:
        cost = cell["seconds"] if "seconds" in cell else cell["cost"]
        return (
            words.duration(cost)
            if units == SECONDS
            else f"{number(cost)} {units}"
            if not math.isnan(cost)
            else NOTHING
        )

    def repetitions(name: str, position: int) -> Callable[[Cell], str]:
        return lambda cell: words.count(cell[name][position])

    columns: Columns = {
        plural(level): repetitions("repetitions", position)
        for position, level in enumerate(_levels(data))
    }
    if "baseline_repetitions" in data.data_vars:
        baseline = str(data.attrs["baseline"])
        columns |= {
            f"{baseline}: {plural(level)}": repetitions("baseline_repetitions", position)
            for position, level in enumerate(_levels(data))
        }
    columns["cost"] = price
    columns["half-width"] = lambda cell: percent(cell["half_width"])
    if (
        "default_half_width" in data.data_vars
        and LEVEL not in data["cost"].dims
        and data["default_half_width"].dims == data["cost"].dims
    ):
        columns["one-level"] = lambda cell: percent(cell["default_half_width"])
    return columns


def five_columns(data: xr.Dataset) -> Columns:
    """Show the five numbers in one unit, with the digits that tell the extremes from the median."""
    unit, digits = _units(data, "median"), column_digits(data, "median", "minimum", "maximum")
    names = ("minimum", "q1", "median", "q3", "maximum")

    def part(position: int) -> Callable[[Cell], str]:
        return lambda cell: words.quantities([cell[name] for name in names], unit(cell), digits)[
            position
        ]

    return {name: part(position) for position, name in enumerate(names)} | {N: _count}


def variation_columns(data: xr.Dataset) -> Columns:
    """Show a score and its relative variation."""
    unit = _units(data, "performance")
    return {
        "performance": lambda cell: quantity(cell["performance"], unit(cell)),
        "relative variation": lambda cell: percent(cell["relative_variation"]),
        N: _count,
    }


def randomization_columns(data: xr.Dataset) -> Columns:
    """Show the observed ratio of scores, and its p-value."""
    better = _better(data)
    return {
        CHANGE: lambda cell: words.change_alone(
            cell["statistic"], math.nan, math.nan, better(cell)
        ),
        "p": lambda cell: probability(cell["pvalue"]),
        N: _count,
    }


def hierarchical_columns(_: xr.Dataset) -> Columns:
    """Show the confidence, the speedup, and the numbers of better and worse benchmarks."""

    def confidence(cell: Cell) -> str:
        return (
            "none differs"
            if cell["better_benchmarks"] == cell["worse_benchmarks"] == 0
            else percent(cell["confidence"])
        )

    return {
        "confidence": confidence,
        "speedup": lambda cell: words.ratio(cell["speedup"]),
        "better": lambda cell: words.count(cell["better_benchmarks"]),
        "worse": lambda cell: words.count(cell["worse_benchmarks"]),
        "benchmarks": lambda cell: words.count(cell["suite_benchmarks"]),
    }


def required_columns(data: xr.Dataset) -> Columns:
    """Show the runs needed, with a question mark where the number is extrapolated."""

    def runs(cell: Cell) -> str:
        return (
            f"{words.count(cell['extrapolated'])}?"
            if math.isnan(cell["required"])
            else words.count(cell["required"])
        )

    return {
        f"runs for a width of {float(data.attrs['width']):g}": runs,
        "remark": lambda cell: str(cell["remark"]),
    }


def speedups_columns(data: xr.Dataset) -> Columns:
    """Show observed speedups."""
    name = "estimate" if "estimate" in data.data_vars else "speedup"
    digits = column_digits(data, name, "lower", "upper", ratio=True)
    limits = "lower" in data.data_vars
    columns: Columns = {
        "speedup": lambda cell: (
            words.ratio(cell[name], digits)
            + (f" ({words.between(*_open(cell, digits))})" if limits else "")
        )
    }
    return (
        columns
        | ({"gain": lambda cell: percent(cell["gain"])} if "gain" in data.data_vars else {})
        | {N: _count}
    )


def tested_columns(data: xr.Dataset) -> Columns:
    """Show speedups and whether they are significant."""

    def outcome(cell: Cell) -> str:
        if cell["test"] == "cannot conclude":
            return "no answer"
        level = (
            f" at {percent(cell['confidence_level'])}"
            if not math.isnan(cell["confidence_level"])
            else ""
        )
        return f"{'significant' if cell['significant'] else 'not significant'}{level}"

    columns: Columns = {
        "speedup": lambda cell: words.ratio(cell["speedup"]),
        "outcome": outcome,
        "p": lambda cell: probability(cell["pvalue"]),
        "test": lambda cell: str(cell["test"]),
    }
    has_required = "required" in data.data_vars and bool(data["required"].notnull().any())
    return (
        columns
        | ({N: _count} if "n" in data.data_vars else {})
        | ({"runs needed": lambda cell: words.count(cell["required"])} if has_required else {})
    )


def agreement_columns(data: xr.Dataset) -> Columns:
    """Show the verdict of every method, and whether those that apply agree."""
    silent = {"not asked": NOTHING, "not applicable": "n/a", "no evidence": "no evidence"}

    def word(position: int) -> Callable[[Cell], str]:
        return lambda cell: silent.get(cell["outcome"][position], str(cell["verdict"][position]))

    def agree(cell: Cell) -> str:
        return (
            "yes"
            if cell["agree"]
            else "no"
            if set(cell["outcome"]) - {"not asked", "not applicable"}
            else NOTHING
        )

    with_outcome = [
        (data[name] != "not asked").any([dim for dim in data[name].dims if dim != "method"])
        for name in ("outcome", "suite_outcome")
    ]
    # A suite of one benchmark has no row of its own.
    methods = (
        with_outcome[0] | with_outcome[1]
        if bool((data["suite_benchmarks"] > 1).any())
        else with_outcome[0]
    )
    titles = data["title"].values.tolist()
    return {
        str(titles[position]): word(position)
        for position in np.flatnonzero(methods.values).tolist()
    } | {"agree": agree}


def modes_columns(_: xr.Dataset) -> Columns:
    """Show the number of modes, and whether chance may explain it."""

    def words(cell: Cell) -> str:
        number = NOTHING if math.isnan(cell["estimate"]) else f"{cell['estimate']:.0f}"
        return (
            number if cell["supported"] or number in (NOTHING, "1") else f"{number} (may be chance)"
        )

    return {"modes": words, "p": lambda cell: probability(cell["pvalue"]), N: _count}


def tests_columns(_: xr.Dataset) -> Columns:
    """Show a test statistic and its p-value."""
    return {
        "statistic": lambda cell: number(cell["statistic"]),
        "p": lambda cell: probability(cell["pvalue"]),
        N: _count,
    }


def stability_columns(data: xr.Dataset) -> Columns:
    """Show how many runs make a statistic stable, and its deviation in groups of each size."""
    sizes = data["group_size"].values.tolist()

    def column(position: int) -> Callable[[Cell], str]:
        return lambda cell: percent(cell["adjusted_standard_deviation"][position])

    columns: Columns = (
        {"required": lambda cell: words.count(cell["required_group_size"])}
        if "required_group_size" in data.data_vars
        else {}
    )
    return columns | {f"of {size}": column(position) for position, size in enumerate(sizes)}


def plain_columns(data: xr.Dataset) -> Columns:
    """Show every number of a result without a layout of its own."""

    def text(name: str) -> Callable[[Cell], str]:
        if data[name].dtype.kind in "iu":
            return lambda cell: words.count(cell[name])
        unit = _units(data, name)
        return lambda cell: (
            quantity(float(cell[name]), unit(cell))
            if isinstance(cell[name], int | float)
            else str(cell[name])
        )

    main = next(iter(data.data_vars.values()))
    return {
        str(name): text(str(name))
        for name, array in data.data_vars.items()
        if set(array.dims) <= set(main.dims)
    }


PLAIN = Layout(plain_columns)
