"""What a plan says, in sentences."""

import math
from itertools import product
from typing import TYPE_CHECKING, Any

from perfarray.conventions import BENCHMARK, SECONDS, plural

if TYPE_CHECKING:
    import xarray as xr


def _cells(plan: "xr.Dataset", like: "xr.DataArray") -> "list[tuple[str, xr.Dataset]]":
    """Return the cells of a plan with their labels; `like` has the dims that make cells."""
    indices = [dict(zip(like.dims, index, strict=True)) for index in product(*map(range, like.shape))]
    return [(_label(like, index), plan.isel(index)) for index in indices]


def _label(array: "xr.DataArray", indices: dict[Any, int]) -> str:
    """Write the labels of a cell, along dims that have several."""
    return ", ".join(str(array[dim].values[i]) for dim, i in indices.items() if array.sizes[dim] > 1 or dim == BENCHMARK)


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
    large, small_number = divmod(math.floor(cost / unit), size / unit)
    return f"{large:.0f} {big} {small_number:.0f} {small}" if small_number else f"{large:.0f} {big}"


def sentences(plan: "xr.Dataset") -> list[str]:
    """Write what to run, what it costs and what it promises."""
    units, level = str(plan.attrs["cost_units"]), 100 * float(plan.attrs["confidence_level"])
    subject = f"ratio to {plan.attrs['baseline']}" if "baseline" in plan.attrs else "mean"
    if plan.attrs["result"] == "plan_suite":
        return [_suite_sentence(name, cell, units, level) for name, cell in _cells(plan, plan["cost"])]
    cells = [(name, cell) for name, cell in _cells(plan, plan["repetitions"].isel(level=0)) if math.isfinite(float(cell["cost"]))]
    if not cells:
        return ["No plan: the pilot has one unit, or shows no variation at any level."]
    if len(cells) == 1:
        ((_, cell),) = cells
        advice, outermost = str(cell["advice"].item()), plan["level"].values[0]
        sentence = (
            f"Run {_in_words(cell)}: {money(float(cell['cost']), units)} for a half-width of {_percent(float(cell['half_width']))} of the "
            f"{subject} ({level:g} %){_once(cell, f'in each {outermost}')}."
        )
        return [sentence, *([advice[0].upper() + advice[1:] + "."] if advice else [])]
    total = sum(float(cell["cost"]) for _, cell in cells)
    name, widest = max(cells, key=lambda item: float(item[1]["half_width"]))
    return [
        f"Together {money(total, units)} for {len(cells)} plans; the widest half-width is that of {name}, "
        f"{_percent(float(widest['half_width']))} of the {subject} ({level:g} %): {_in_words(widest)}.",
        *(
            ["If one build serves all benchmarks, --suite plans them together."]
            if BENCHMARK in plan.dims and "binary" in plan["level"].values
            else []
        ),
    ]


def _suite_sentence(name: str, cell: "xr.Dataset", units: str, level: float) -> str:
    """Write what one suite's plan costs and promises."""
    if math.isnan(float(cell["cost"])):
        return f"No plan{f' for {name}' if name else ''}: too few units, or no variation."
    unit = str(cell["level"].values[0])
    count = float(cell["repetitions"].isel(level=0).max())
    old = float(cell["baseline_repetitions"].isel(level=0).max()) if "baseline_repetitions" in cell else math.nan
    of_old = "" if math.isnan(old) else f" ({old:.0f} of {cell.attrs['baseline']})"
    advice = str(cell["advice"].item())
    remark = f" {advice[0].upper()}{advice[1:]}." if advice else ""
    first = f"Make {count:.0f} {plural(unit)}{of_old} and run every benchmark on each" if "shared" in cell.attrs else "Run every benchmark"
    return (
        f"{f'{name}: ' if name else ''}{first} as the table says: "
        f"{money(float(cell['cost']), units)} for a half-width of {_percent(float(cell['half_width']))} of the suite's geometric mean "
        f"({level:g} %){_once(cell, 'on each')}.{remark}"
    )


def _once(cell: "xr.Dataset", where: str) -> str:
    """Write what the experiment would give that repeats the outermost level alone; nothing where that is what is planned."""
    planned = [cell[name].isel(level=slice(1, None)) for name in ("repetitions", "baseline_repetitions") if name in cell]
    if not any((counts > 1).any() for counts in planned):
        return ""
    return f"; running everything once {where} would give {_percent(float(cell['default_half_width']))}"


def _in_words(cell: "xr.Dataset") -> str:
    """Write counts: `16 binaries, each of 29 executions, each of 4 iterations`."""
    counts = [
        f"{number:.0f} {level if number == 1 else plural(str(level))}"
        for level, number in zip(cell["level"].values, cell["repetitions"].values, strict=True)
    ]
    return ", each of ".join(counts)
