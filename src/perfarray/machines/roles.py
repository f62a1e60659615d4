"""What the columns of a table of machines are: written beside the table as data, not read from how their names end."""

import json
from collections.abc import Sequence
from typing import Final

import pandas as pd

from perfarray.conventions import LEVELS, MACHINE
from perfarray.machines.descriptors import FLAG, UNPARSED
from perfarray.tables.descriptions.readings import READINGS

ROLES: Final = "roles"
"""The attr of a table that has the role of every column but those that describe machines (JSON).

A `label` tells rows apart; a `response` is what a model explains, a `variance` one that is the variance of a level, and `noise` what was
taken off it; `log_noise` is the sampling noise of the log of relative variation, a `count` what responses rest on; `unparsed` are texts
from which nothing could be read, and a `flag` is one of a compiler.
"""

RESPONSES: Final = ("performance", "relative_variation", "variation")
COUNTS: Final = ("n_runs", "n_benchmarks")
LOG_NOISE: Final = "relative_variation_noise"
LABELS: Final = (MACHINE, "file", *LEVELS)


def variation_of(level: str) -> str:
    """Name the standard deviation between the repetitions of a level, relative to the mean."""
    return f"{level}_variation"


def variance_of(level: str) -> str:
    """Name its square as estimated without bias, which may be negative: what a model of variances needs."""
    return f"{level}_variance"


def noise_of(variance: str) -> str:
    """Name what the levels below add to the variance of a level's means, and was taken off."""
    return f"{variance}_noise"


def computable_responses(levels: Sequence[str]) -> tuple[str, ...]:
    """Return the responses that timings with these levels have."""
    return (*RESPONSES, *(name(level) for level in levels for name in (variation_of, variance_of)))


def computed_roles(responses: Sequence[str], levels: Sequence[str]) -> dict[str, str]:
    """Return the roles of the columns computed from timings with these levels, when these responses are asked for."""
    variances = [name for name in map(variance_of, levels) if name in responses]
    noise = dict.fromkeys(map(noise_of, variances), "noise")
    if "relative_variation" in responses or "variation" in responses:
        noise[LOG_NOISE] = "log_noise"
    return dict.fromkeys(responses, "response") | dict.fromkeys(variances, "variance") | dict.fromkeys(COUNTS, "count") | noise


def roles_of(table: pd.DataFrame) -> dict[str, str]:
    """Return the roles of columns: as written beside the table, or of one of other origin those of the documented names."""
    written = table.attrs.get(ROLES)
    if written is not None:
        roles = json.loads(written)
    else:
        roles = computed_roles(computable_responses(LEVELS), LEVELS) | dict.fromkeys(LABELS, "label")
        roles |= {f"{name}{UNPARSED}": "unparsed" for name in READINGS}
        roles |= {name: "flag" for name in map(str, table) if name.startswith(FLAG)}
    return {str(name): roles[name] for name in table if name in roles}
