"""Prices as users type them: amounts with units, levels in the words of a format.

Questions where prices are missing.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import typer

from perfarray.cli.problems import quoted
from perfarray.conventions import EXECUTION, ITERATION, LEVELS, SECONDS, price_of, seconds_factor

if TYPE_CHECKING:
    import xarray as xr

AMOUNT: Final = re.compile(r"((?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)\s*([a-zA-Zµμ]*)", re.ASCII)

DURATIONS: Final = {
    "m": 60.0,
    "d": 86400.0,
    "day": 86400.0,
    "days": 86400.0,
}  # besides the units of times

# What formats call a level, where they have another name for it.
WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "benchexec": {"run": EXECUTION},
    "benchmarkdotnet": {"launch": EXECUTION},
    "criterion": {"sample": ITERATION},
    "go": {"process": EXECUTION},
    "google_benchmark": {"repetition": ITERATION},
    "hyperfine": {"run": EXECUTION},
    "jmh": {"fork": EXECUTION},
    "krun": {"process": EXECUTION},
    "phoronix": {"trial": EXECUTION},
    "pyperf": {"process": EXECUTION, "run": EXECUTION, "value": ITERATION},
    "pytest_benchmark": {"round": ITERATION},
    "rebench": {"invocation": EXECUTION},
    "renaissance": {"jvm": EXECUTION, "repetition": ITERATION},
}


def named_levels(levels: Sequence[str] | None, reading: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names that other options may have given to levels."""
    placeholders = re.findall(r"\{(\w+)\}", f"{reading.get('layout')} {reading.get('pattern')}")
    return (*(levels or ()), *reading.get("dims", ()), *placeholders)


def given_costs(
    texts: Iterable[str], units: str, further_levels: Sequence[str] = ()
) -> dict[str, float]:
    """Read `execution=0.8`, `binary=95s` and `fork=3`, by name of a level or word of a format.

    Errors arise before anything is read.
    """
    words = {word: format for format, levels in WORDS.items() for word in levels}
    costs = {}
    for text in texts:
        name, sign, price = (field.strip() for field in text.partition("="))
        if not sign:
            raise ValueError(f"--cost {text!r}: write level=price, as in --cost execution=0.8")
        if name not in (*LEVELS, *further_levels, *words):
            listed = ", ".join(f"{word} ({format})" for word, format in sorted(words.items()))
            raise ValueError(
                f"--cost names {name!r}, which is no level. The levels are "
                f"{', '.join(LEVELS)}; formats call them {listed}"
            )
        if name in costs:
            raise ValueError(f"--cost names {name!r} twice")
        costs[name] = amount(price, units)
    return costs


def without_price(times: "xr.Dataset", levels: Sequence[str] | None = None) -> list[str]:
    """Return the levels whose prices in seconds are not known from the timings."""
    *nest, lowest = levels or [dim for dim in LEVELS if dim in times.dims] or [""]
    timed = not lowest or any(
        metric.attrs.get("units") == SECONDS for metric in times.data_vars.values()
    )
    return [
        level
        for level in (nest if timed else [*nest, lowest])
        if price_of(level) not in times.coords
    ]


def costs_by_level(costs: Mapping[str, float], format: str) -> dict[str, float]:
    """Return prices by level: words of the format that was read stand for its levels.

    A word of another format is an error.
    """
    words = (
        WORDS.get(format, {})
        if format
        else {word: level for levels in WORDS.values() for word, level in levels.items()}
    )
    foreign = {word for levels in WORDS.values() for word in levels} - words.keys()
    prices: dict[str, float] = {}
    for name, price in costs.items():
        if name in foreign:
            owners = quoted([owner for owner, levels in WORDS.items() if name in levels], 3)
            raise ValueError(
                f"--cost names {name!r}, a word of {owners}; what was read is {format!r}: name "
                f"{quoted([*LEVELS, *words])}"
            )
        level = words.get(name, name)
        if level in prices:
            raise ValueError(f"--cost names {level!r} twice, once as {name!r}")
        prices[level] = price
    return prices


def with_answers(costs: dict[str, float], levels: Sequence[str], units: str) -> dict[str, float]:
    """Add the prices of levels that were not given: ask for them."""
    actions = {
        "binary": "making one more build",
        "session": "starting one more session",
        "execution": "starting and warming up one more execution",
    }
    prices = dict(costs)
    for level in levels:
        if level not in prices:
            action = actions.get(level, f"starting one more {level}")
            prices[level] = ask(
                f"What does {action} cost ({'seconds' if units == SECONDS else units})?", units
            )
    return prices


def ask(question: str, units: str) -> float:
    """Ask on the terminal for an amount, until the answer is one.

    At the end of the input, raise with the options that would answer.

    The question goes to stderr: stdout holds the answer of the command and nothing else.
    """
    while True:
        typer.echo(f"{question} ", nl=False, err=True)
        try:
            return amount(input(), units)
        except EOFError:
            typer.echo(err=True)
            raise ValueError(
                f"no answer to: {question} (options: --cost LEVEL=PRICE, --budget, --half-width)"
            ) from None
        except ValueError as error:
            typer.echo(f"{error}", err=True)


def amount(text: str, units: str) -> float:
    """Read `8h`, `90 s`, `0.8` or, in iterations, `5343`."""
    match = AMOUNT.fullmatch(text.strip())
    if match is None:
        raise ValueError(
            f"{text!r} is no amount. Write a "
            f"number{', or one with a unit, as in 8h or 95s' if units == SECONDS else ''}"
        )
    number, unit = float(match[1]), match[2]
    if not unit:
        return number
    factor = seconds_factor(unit) or DURATIONS.get(unit)
    if units != SECONDS or factor is None:
        units_known = (
            "ms, s, min, h, d" if units == SECONDS else "none: --units iterations counts iterations"
        )
        raise ValueError(f"{text!r}: {unit!r} is no unit here. Known: {units_known}")
    return number * factor
