"""What `perfarray plan` reads and prints: prices and budgets, a table of counts, a sentence."""

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import typer
import xarray as xr
from rich.box import SIMPLE
from rich.table import Table

from perfarray.cli.tables import plural
from perfarray.conventions import BENCHMARK, SECONDS, seconds_factor
from perfarray.timings.validation import listed

AMOUNT = re.compile(r"\s*([0-9.]+(?:[eE][-+]?[0-9]+)?)\s*([a-zA-Zµμ]*)\s*")

DURATIONS = {"m": 60.0, "d": 86400.0, "day": 86400.0, "days": 86400.0}


def amount(text: str, units: str) -> float:
    """Read `8h`, `90 s`, `0.8` or, in iterations, `5343`."""
    found = AMOUNT.fullmatch(text)
    number = _number(found[1]) if found else math.nan
    if found is None or math.isnan(number):
        raise ValueError(f"{text!r} is no amount; write a number{', or one with a unit, as in 8h or 95s' if units == SECONDS else ''}")
    if not found[2]:
        return number
    factor = seconds_factor(found[2]) or DURATIONS.get(found[2])
    if units != SECONDS or factor is None:
        known = "ms, s, min, h, d" if units == SECONDS else "none: --units iterations counts iterations"
        raise ValueError(f"{text!r}: {found[2]!r} is no unit here; known: {known}")
    return number * factor


def _number(text: str) -> float:
    """Return a number, NaN where it is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def given_costs(texts: Iterable[str], units: str) -> dict[str, float]:
    """Read `execution=0.8` and `binary=95s`."""
    costs = {}
    for text in texts:
        name, sign, price = text.partition("=")
        if not sign:
            raise ValueError(f"--cost {text!r}: write level=price, as in --cost execution=0.8")
        costs[name.strip()] = amount(price, units)
    return costs


def asked_costs(costs: dict[str, float], levels: Sequence[str], units: str) -> dict[str, float]:
    """Ask for the prices that were not given; the lowest level needs none."""
    what = {
        "binary": "making one more build",
        "session": "starting one more session",
        "execution": "starting and warming up one more execution",
    }
    found = dict(costs)
    for level in levels[:-1]:
        if level not in found:
            doing = what.get(level, f"starting one more {level}")
            found[level] = ask(f"What does {doing} cost ({'seconds' if units == SECONDS else units})?", units)
    return found


def ask(question: str, units: str) -> float:
    """Ask on the terminal for an amount, again until the answer is one; where nobody answers, say what option would have.

    The question goes to stderr, whole: stdout holds the answer of the command and nothing else.
    """
    while True:
        typer.echo(f"{question} ", nl=False, err=True)
        try:
            return amount(input(), units)
        except EOFError:
            typer.echo(err=True)
            raise ValueError(f"no answer to: {question} (options: --cost LEVEL=PRICE, --budget, --half-width)") from None
        except ValueError as error:
            typer.echo(f"{error}", err=True)


def plan_rows(plan: xr.Dataset) -> list[dict[str, Any]]:
    """Return one mapping per plan: its labels, and every variable, those along `level` or benchmarks as mappings of labels to numbers."""
    cost = plan["cost"]
    rows = []
    for index in np.ndindex(*cost.shape):
        place = dict(zip(cost.dims, index, strict=True))
        labels = {str(dim): cost[dim].values[i] for dim, i in place.items()}
        rows.append(labels | {str(name): _nested(variable) for name, variable in plan.isel(place).data_vars.items()})
    return rows


def _nested(array: xr.DataArray) -> Any:
    """Return a number, or a mapping of labels to what lies there."""
    if not array.ndim:
        return array.values.item()
    dim = array.dims[0]
    return {str(label): _nested(array.isel({dim: i})) for i, label in enumerate(array[dim].values.tolist())}


def plan_table(plan: xr.Dataset) -> Table:
    """Return one row per cell: the counts of every level, the price, the half-width, and that of the one-level experiment."""
    table = Table(box=SIMPLE, pad_edge=False, show_edge=False)
    cells = _cells(plan)
    levels = [str(level) for level in plan["level"].values]
    suite = plan.attrs["result"] == "plan_suite"
    baseline = "baseline_repetitions" in plan
    table.add_column("benchmark" if suite or BENCHMARK in plan.dims else "", overflow="fold")
    for level in levels:
        table.add_column(plural(level), justify="right")
    if baseline:
        for level in levels:
            table.add_column(f"{plan.attrs['baseline']}: {plural(level)}", justify="right")
    for name in ("cost",) if suite else ("cost", "half-width", "one-level"):
        table.add_column(name, justify="right")
    for name, cell in cells:
        counts = [_count(number) for number in cell["repetitions"].values]
        counts += [_count(number) for number in cell["baseline_repetitions"].values] if baseline else []
        numbers = [money(float(cell["seconds" if suite else "cost"]), str(plan.attrs["cost_units"]))]
        numbers += [] if suite else [_percent(float(cell[which])) for which in ("half_width", "default_half_width")]
        table.add_row(name, *counts, *numbers)
    return table


def _cells(plan: xr.Dataset) -> list[tuple[str, xr.Dataset]]:
    """Return the cells of a plan with their labels."""
    counts = plan["repetitions"].isel(level=0)
    found = []
    for index in np.ndindex(*counts.shape):
        place = dict(zip(counts.dims, index, strict=True))
        found.append((_label(counts, place), plan.isel(place)))
    return found


def _label(array: xr.DataArray, place: dict[Any, int]) -> str:
    """Write the labels of a cell, along dims that have several."""
    return ", ".join(str(array[dim].values[i]) for dim, i in place.items() if array.sizes[dim] > 1 or dim == BENCHMARK)


def _count(number: float) -> str:
    """Write a count, or a dash where there is no plan."""
    return "-" if math.isnan(number) else f"{number:.0f}"


def _builds_serve(plan: "xr.Dataset") -> bool:
    """Say whether builds could be shared: there are some, and several benchmarks."""
    return BENCHMARK in plan.dims and "binary" in plan["level"].values


def _percent(share: float) -> str:
    """Write a relative half-width."""
    return "-" if math.isnan(share) else f"{100 * share:.2g} %" if share < 0.995 else f"{100 * share:.0f} %"


def money(cost: float, units: str) -> str:
    """Write a price: `7 h 58 min`, `3 min 20 s`, `5340 iterations`."""
    if math.isnan(cost):
        return "-"
    if units != SECONDS:
        return f"{cost:.0f} {units}"
    if cost < 60:
        return f"{cost:.2g} s"
    big, small, size, unit = ("h", "min", 3600.0, 60.0) if cost >= 3600 else ("min", "s", 60.0, 1.0)
    whole, rest = divmod(math.floor(cost / unit), size / unit)
    return f"{whole:.0f} {big} {rest:.0f} {small}" if rest else f"{whole:.0f} {big}"


def sentences(plan: xr.Dataset) -> list[str]:
    """Say in words what to run, what it costs and what it promises."""
    units, level = str(plan.attrs["cost_units"]), 100 * float(plan.attrs["confidence_level"])
    whose = f"ratio to {plan.attrs['baseline']}" if "baseline" in plan.attrs else "mean"
    if plan.attrs["result"] == "plan_suite":
        return [_suite_sentence(name, cell, units, level) for name, cell in _suites(plan)]
    cells = [(name, cell) for name, cell in _cells(plan) if np.isfinite(float(cell["cost"]))]
    if not cells:
        return ["No plan: nothing shows any spread between units."]
    if len(cells) == 1:
        ((_, cell),) = cells
        advice = str(cell["advice"].item())
        known = (
            f"Run {_in_words(cell)}: {money(float(cell['cost']), units)} for a half-width of {_percent(float(cell['half_width']))} of the "
            f"{whose} ({level:g} %); running everything once in each {plan['level'].values[0]} would give "
            f"{_percent(float(cell['default_half_width']))}."
        )
        return [known, *([advice[0].upper() + advice[1:] + "."] if advice else [])]
    total = sum(float(cell["cost"]) for _, cell in cells)
    name, widest = max(cells, key=lambda item: float(item[1]["half_width"]))
    return [
        f"Together {money(total, units)} for {len(cells)} plans; the widest half-width is that of {name}, "
        f"{_percent(float(widest['half_width']))} of the {whose} ({level:g} %): {_in_words(widest)}.",
        *(["If one build serves all benchmarks, --suite plans them together."] if _builds_serve(plan) else []),
    ]


def _suites(plan: xr.Dataset) -> list[tuple[str, xr.Dataset]]:
    """Return each suite with its labels."""
    cost = plan["cost"]
    found = []
    for index in np.ndindex(*cost.shape):
        place = dict(zip(cost.dims, index, strict=True))
        found.append((_label(cost, place), plan.isel(place)))
    return found


def _suite_sentence(name: str, cell: xr.Dataset, units: str, level: float) -> str:
    """Say what one suite's plan costs and promises."""
    if math.isnan(float(cell["cost"])):
        return f"No plan{f' for {name}' if name else ''}: too few units, or no variation."
    unit = str(cell["level"].values[0])
    count = float(cell["repetitions"].isel(level=0).max())
    old = float(cell["baseline_repetitions"].isel(level=0).max()) if "baseline_repetitions" in cell else math.nan
    other = "" if math.isnan(old) else f" ({old:.0f} of {cell.attrs['baseline']})"
    advice = str(cell["advice"].item())
    said = f" {advice[0].upper()}{advice[1:]}." if advice else ""
    return (
        f"{f'{name}: ' if name else ''}Make {count:.0f} {plural(unit)}{other} and run every benchmark on each as the table says: "
        f"{money(float(cell['cost']), units)} for a half-width of {_percent(float(cell['half_width']))} of the suite's geometric mean "
        f"({level:g} %); running everything once on each would give {_percent(float(cell['default_half_width']))}.{said}"
    )


def _in_words(cell: xr.Dataset) -> str:
    """Write counts: `16 binaries, each of 29 executions, each of 4 iterations`."""
    counts = [
        f"{number:.0f} {level if number == 1 else plural(str(level))}"
        for level, number in zip(cell["level"].values, cell["repetitions"].values, strict=True)
    ]
    return ", each of ".join(counts)


def check_planned(times: Any, baseline: str | None) -> None:
    """Raise where files hold what cannot be planned without saying more."""
    if "file" in times.dims and times.sizes["file"] > 1 and baseline is None:
        raise ValueError(
            f"several files hold the same benchmarks ({listed(times['file'].values.tolist(), 3)}); say with --layout what a file is, as in "
            '--layout "{session}.json"'
        )
