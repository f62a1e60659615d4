"""What the columns of a table of machines are: written beside the table as data, not read from how their names end."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import pandas as pd

from perfarray.conventions import LEVELS, MACHINE
from perfarray.machines.descriptors import FLAG, UNPARSED
from perfarray.tables.descriptions.readings import READINGS

ROLES: Final = "roles"
"""The attr of a table that says what its columns are, as JSON."""

RESPONSES: Final = ("performance", "relative_variation", "variation")
COUNTS: Final = ("n_runs", "n_benchmarks")
LOG_NOISE: Final = "relative_variation_noise"


class Roles(NamedTuple):
    """Columns by what they are; a column without a role describes its machine.

    `labels` tell rows apart; `responses` are what a model explains, `variances` those of them that are variances of levels, in the order of
    the nest; `counts` are what responses rest on. `noise` has, for a variance, the column of what was taken off it, and `log_noise`, for a
    response, that of the sampling noise of its log. `unparsed` are texts from which nothing could be read, `flags` those of compilers.
    """

    labels: tuple[str, ...] = ()
    responses: tuple[str, ...] = ()
    variances: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()
    noise: Mapping[str, str] = {}
    log_noise: Mapping[str, str] = {}
    unparsed: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()

    def to_attr(self) -> str:
        """Write the roles for an attr."""
        return json.dumps(self._asdict())

    def no_descriptors(self) -> set[str]:
        """Return the columns that describe no machine."""
        return {
            *self.labels, *self.responses, *self.variances, *self.counts, *self.noise.values(), *self.log_noise.values(), *self.unparsed
        }  # fmt: skip


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


def computed_roles(responses: Sequence[str], levels: Sequence[str]) -> Roles:
    """Return the roles of the columns computed from timings with these levels, when these responses are asked for."""
    variances = tuple(name for name in map(variance_of, levels) if name in responses)
    return Roles(
        responses=tuple(responses),
        variances=variances,
        counts=COUNTS,
        noise={name: noise_of(name) for name in variances},
        log_noise={name: LOG_NOISE for name in ("relative_variation", "variation") if name in responses},
    )


def roles_of(table: pd.DataFrame) -> Roles:
    """Return the roles of the columns of a table: as written beside it, or of a table of other origin those of the documented names."""
    there = [str(name) for name in table]
    written = table.attrs.get(ROLES)
    fields: dict[str, Any] = _documented(there)._asdict() if written is None else json.loads(written)
    return Roles(**{name: _present(columns, there) for name, columns in fields.items()})


def _documented(there: list[str]) -> Roles:
    """Return the roles of the names that `machine_table` gives columns of timings with the usual levels."""
    return computed_roles(computable_responses(LEVELS), LEVELS)._replace(
        labels=(MACHINE, "file", *LEVELS),
        unparsed=tuple(f"{name}{UNPARSED}" for name in READINGS),
        flags=tuple(name for name in there if name.startswith(FLAG)),
    )


def _present(columns: Any, there: list[str]) -> Any:
    """Keep the columns that are there, of a list of them or of a mapping to them."""
    if isinstance(columns, Mapping):
        return {name: column for name, column in columns.items() if column in there}
    return tuple(column for column in columns if column in there)
