"""The columns of a table of machines: what each is, and which of them a model can use."""

import json
from collections.abc import Sequence
from keyword import iskeyword
from typing import Final

import numpy as np
import pandas as pd

from perfarray.conventions import COMPARED, DESCRIPTORS, LEVELS, MACHINE, UNKNOWN
from perfarray.machines.descriptors import FLAG, UNPARSED
from perfarray.tables.descriptions import software
from perfarray.tables.descriptions.readings import READINGS
from perfarray.timings.resolve import check_names
from perfarray.timings.validation import listed

# The attr of a table with the role of every column that does not describe machines (JSON). A
# `label` distinguishes rows; a `response` is what a model explains; a `variance` is the variance of
# a level, and `noise` what was subtracted from it; `log_noise` is the sampling noise of the log of
# relative variation; a `count` is what responses rest on; `unparsed` are texts that could not be
# read; a `flag` is one of a compiler.
ROLES: Final = "roles"

RESPONSES: Final = ("performance", "relative_variation", "variation")
COUNTS: Final = ("n_runs", "n_benchmarks")
LOG_NOISE: Final = "relative_variation_noise"
LABELS: Final = (MACHINE, "file", *LEVELS)

# Sets of predictors, and the roles of their columns.
SETS: Final = {"environment": (None,), "flags": ("flag",)}

# Descriptors that are not of hardware
SOFTWARE: Final = (
    "commit_date",
    "suite",
    "python_version",
    "python_implementation",
    "jdk_version",
    "loops",
)

# Names with another meaning in a formula.
RESERVED: Final = frozenset({"C", "I", "Q", "np"})


def level_columns(level: str) -> tuple[str, str, str]:
    """Return the names of the variance of a level, its noise (from the levels below), and its root.

    All are relative to the mean. The variance is estimated without bias, and may be negative.
    """
    return f"{level}_variance", f"{level}_variance_noise", f"{level}_variation"


def computable_responses(levels: Sequence[str]) -> tuple[str, ...]:
    """Return the responses of timings with these levels."""
    return (*RESPONSES, *(name for level in levels for name in level_columns(level)[::-2]))


def computed_roles(responses: Sequence[str], levels: Sequence[str]) -> dict[str, str]:
    """Return the roles of the columns that are computed for these responses."""
    roles = dict.fromkeys(responses, "response")
    names_of_levels = [names for names in map(level_columns, levels) if names[0] in responses]
    roles |= {variance: "variance" for variance, _, _ in names_of_levels}
    roles |= dict.fromkeys(COUNTS, "count")
    roles |= {noise: "noise" for _, noise, _ in names_of_levels}
    if "relative_variation" in responses or "variation" in responses:
        roles[LOG_NOISE] = "log_noise"
    return roles


def roles_of(table: pd.DataFrame) -> dict[str, str]:
    """Return the roles of columns: from the attr, else by the documented names."""
    if ROLES in table.attrs:
        roles = json.loads(table.attrs[ROLES])
    else:
        roles = computed_roles(computable_responses(LEVELS), LEVELS)
        roles |= dict.fromkeys(LABELS, "label")
        roles |= {f"{name}{UNPARSED}": "unparsed" for name in READINGS}
        roles |= {name: "flag" for name in map(str, table) if name.startswith(FLAG)}
    return {str(name): roles[name] for name in table if name in roles}


def hardware_columns(table: pd.DataFrame) -> list[str]:
    """Return the columns with numbers and texts about hardware.

    Flags, software, dates and what is compared are not hardware.
    """
    of_software = {
        name for name, reading in READINGS.items() if reading.parse.__module__ == software.__name__
    }
    versions = {f"{name}_version" for name in of_software}
    not_hardware = {*of_software, *versions, *COMPARED, *SOFTWARE, *roles_of(table)}
    return [
        str(name)
        for name in table
        if name not in not_hardware and (name in DESCRIPTORS or is_number(table[name]))
    ]


def is_number(column: pd.Series) -> bool:
    """Return whether a column holds numbers, or True and False."""
    return bool(pd.api.types.is_numeric_dtype(column))


def is_text(column: pd.Series) -> bool:
    """Return whether a column holds labels: neither numbers nor dates."""
    return not is_number(column) and not pd.api.types.is_datetime64_any_dtype(column)


def check_columns(table: pd.DataFrame, names: Sequence[str]) -> None:
    """Raise where a column does not exist."""
    missing = [name for name in dict.fromkeys(names) if name not in table]
    if missing:
        raise ValueError(
            f"columns {listed(missing)} not found; the table has {listed(table.columns, 40)}"
        )


def predictor_columns(
    table: pd.DataFrame, predictors: str | Sequence[str] | None, excluded: set[str]
) -> list[str]:
    """Return the predictors by name, or those of a set without the `excluded` ones."""
    if predictors is not None and not (isinstance(predictors, str) and predictors in SETS):
        names = list(check_names(predictors, "predictors")) if len(predictors) else []
        check_columns(table, names)
        return names
    roles = roles_of(table)
    usable = (None, "flag") if predictors is None else SETS[str(predictors)]
    return [str(name) for name in table if roles.get(str(name)) in usable and name not in excluded]


def columns_left_out(rows: pd.DataFrame, names: Sequence[str], *, trees: bool) -> dict[str, str]:
    """Return the columns without information, and why each is left out."""
    reasons: dict[str, str] = {}
    by_content: dict[bytes, str] = {}
    for name in names:
        column, values = rows[name], known_values(rows[name]).dropna()
        n_distinct = values.nunique()
        content = (
            column.to_numpy(dtype=float, na_value=np.nan).tobytes()
            if is_number(column)
            else b"labels" + pd.factorize(column.astype(str))[0].astype(np.int32).tobytes()
        )
        if n_distinct < 2:
            reasons[name] = "empty" if values.empty else "constant"
        elif not is_number(column) and n_distinct > len(rows) / 2:
            reasons[name] = "a label of nearly every row"
        elif content in by_content:
            reasons[name] = f"a copy of {by_content[content]}"
        elif not trees and is_number(column) and len(values) < len(rows) / 2:
            reasons[name] = "mostly missing"
        else:
            by_content[content] = name
    if not trees:
        distinct = list(by_content.values())
        combined = set(distinct).difference(_independent(rows, distinct))
        reasons |= {name: "a combination of others" for name in distinct if name in combined}
    return reasons


def _independent(rows: pd.DataFrame, names: list[str]) -> list[str]:
    """Drop columns that are linear combinations of an intercept and the columns before them."""
    basis = np.ones((len(rows), 1)) / np.sqrt(len(rows))
    independent = []
    for name in names:
        column = rows[name]
        if is_number(column):
            filled = column.astype(float)
            block = filled.fillna(filled.mean()).to_numpy()[:, None]
        else:
            block = pd.get_dummies(column.astype(str), drop_first=True).to_numpy(dtype=float)
        lengths = np.linalg.norm(block, axis=0)
        scaled = block / np.where(lengths > 0, lengths, 1.0)
        residual = scaled - basis @ (basis.T @ scaled)
        residual -= basis @ (basis.T @ residual)
        values, singular, _ = np.linalg.svd(residual, full_matrices=False)
        if (singular > 1e-8).all():
            independent.append(name)
            basis = np.hstack([basis, values])
    return independent


def known_values(column: pd.Series) -> pd.Series:
    """Return a column in which `unknown` is missing."""
    return (
        column
        if is_number(column)
        else column.astype(object).where(column.astype(object) != UNKNOWN)
    )


def term_of(rows: pd.DataFrame, name: str) -> str:
    """Return a column as a term of a formula."""
    plain = name.isidentifier() and not iskeyword(name) and name not in RESERVED
    term = name if plain else f"Q({name!r})"
    return term if is_number(rows[name]) else f"C({term})"
