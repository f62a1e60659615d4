"""Prices as people type them: amounts with units, names of levels in the words of a format, and questions where they are missing."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import typer

from perfarray.cli.problems import quoted
from perfarray.conventions import EXECUTION, ITERATION, LEVELS, SECONDS, price_of, seconds_factor

if TYPE_CHECKING:
    import xarray as xr

AMOUNT = re.compile(r"([0-9.]+(?:[eE][-+]?[0-9]+)?)\s*([a-zA-Zµμ]*)")

DURATIONS = {"m": 60.0, "d": 86400.0, "day": 86400.0, "days": 86400.0}

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
"""What formats call a level, where they do not call it as it is called here."""


def named_levels(
    levels: Sequence[str] | None, dims: Mapping[str, object] | None, layout: str | None, pattern: str | None
) -> tuple[str, ...]:
    """Return what other options call a level, perhaps: names in --levels, --dims, --layout and --pattern."""
    return (*(levels or ()), *(dims or ()), *re.findall(r"\{(\w+)\}", f"{layout} {pattern}"))


def given_costs(texts: Iterable[str], units: str, names_of_levels: Sequence[str] = ()) -> dict[str, float]:
    """Read `execution=0.8`, `binary=95s` and `fork=3`; the names are those of levels, of `further` ones, or words of a format.

    Raises
    ------
    ValueError
        When a name is none of these, or a price is no amount: before anything is read.
    """
    words = {word: format for format, words_of_format in WORDS.items() for word in words_of_format}
    costs = {}
    for text in texts:
        name, sign, price = (field.strip() for field in text.partition("="))
        if not sign:
            raise ValueError(f"--cost {text!r}: write level=price, as in --cost execution=0.8")
        if name not in (*LEVELS, *names_of_levels, *words):
            word_list = ", ".join(f"{word} ({format})" for word, format in sorted(words.items()))
            raise ValueError(f"--cost names {name!r}, which is no level; the levels are {', '.join(LEVELS)}; formats call them {word_list}")
        if name in costs:
            raise ValueError(f"--cost names {name!r} twice")
        costs[name] = amount(price, units)
    return costs


def without_price(times: "xr.Dataset", levels: Sequence[str] | None = None) -> list[str]:
    """Return the levels whose prices, in seconds, timings do not say."""
    *nest, lowest = levels or [dim for dim in LEVELS if dim in times.dims] or [""]
    timed = not lowest or any(metric.attrs.get("units") == SECONDS for metric in times.data_vars.values())
    return [level for level in (nest if timed else [*nest, lowest]) if price_of(level) not in times.coords]


def by_level(costs: Mapping[str, float], format: str) -> dict[str, float]:
    """Return prices by level: words of the format that was read stand for its levels.

    Raises
    ------
    ValueError
        When a word is one of another format, or names a level that has its price already.
    """
    own_words = WORDS.get(format, {}) if format else {word: level for words in WORDS.values() for word, level in words.items()}
    foreign = {word for words in WORDS.values() for word in words} - own_words.keys()
    prices: dict[str, float] = {}
    for name, price in costs.items():
        level = own_words.get(name, name)
        if name in foreign:
            owners = quoted([format_name for format_name, words in WORDS.items() if name in words], 3)
            raise ValueError(
                f"--cost names {name!r}, a word of {owners}; what was read is {format!r}: name {quoted([*LEVELS, *own_words], 9)}"
            )
        if level in prices:
            raise ValueError(f"--cost names {level!r} twice, once as {name!r}")
        prices[level] = price
    return prices


def asked_costs(costs: dict[str, float], levels: Sequence[str], units: str) -> dict[str, float]:
    """Ask for the prices of levels that were not given."""
    actions = {
        "binary": "making one more build",
        "session": "starting one more session",
        "execution": "starting and warming up one more execution",
    }
    prices = dict(costs)
    for level in levels:
        if level not in prices:
            doing = actions.get(level, f"starting one more {level}")
            prices[level] = ask(f"What does {doing} cost ({'seconds' if units == SECONDS else units})?", units)
    return prices


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


def amount(text: str, units: str) -> float:
    """Read `8h`, `90 s`, `0.8` or, in iterations, `5343`."""
    match = AMOUNT.fullmatch(text.strip())
    number = _number(match[1]) if match else math.nan
    if match is None or math.isnan(number):
        raise ValueError(f"{text!r} is no amount; write a number{', or one with a unit, as in 8h or 95s' if units == SECONDS else ''}")
    if not match[2]:
        return number
    factor = seconds_factor(match[2]) or DURATIONS.get(match[2])
    if units != SECONDS or factor is None:
        units_known = "ms, s, min, h, d" if units == SECONDS else "none: --units iterations counts iterations"
        raise ValueError(f"{text!r}: {match[2]!r} is no unit here; known: {units_known}")
    return number * factor


def _number(text: str) -> float:
    """Return a number, NaN where it is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan
