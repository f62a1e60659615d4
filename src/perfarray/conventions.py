"""The vocabulary: dimension names and their nesting, mark and attribute names, units.

`docs/conventions.md` explains it.
"""

import math as _math  # no public names: the glossary has an entry for every one of this module
from typing import Any as _Any
from typing import Final

# Repetition dims, outermost first
LEVELS: Final = ("binary", "session", "execution", "iteration")

# Dims that columns of a table may be named after; they are compared or broadcast, never levels
COMPARED: Final = (
    "benchmark",
    "machine",
    "version",
    "compiler",
    "flags",
    "tuning",
    "jvm_args",
    "file",
)

# Dims along which a metric has a history
HISTORY: Final = ("commit", "date", "build")

# Coordinates that describe labels; a column that is given such a name is a dim only where nothing
# else determines it
DESCRIPTORS: Final = (
    "commit_date",
    "suite",
    "cpu",
    "cpu_mhz",
    "cpu_max_mhz",
    "cores",
    "logical_cores",
    "chips",
    "cores_per_chip",
    "threads_per_core",
    "l2_kb",
    "l3_kb",
    "memory_gb",
    "os",
    "file_system",
    "python_version",
    "python_implementation",
    "jdk_version",
    "loops",
)

BENCHMARK: Final = "benchmark"
BINARY: Final = "binary"
SESSION: Final = "session"
EXECUTION: Final = "execution"
ITERATION: Final = "iteration"
MACHINE: Final = "machine"
VERSION: Final = "version"

# Boolean coordinates; marked values are left out of every answer, and counted
MARKS: Final = ("warmup", "censored", "failed", "copied")

# Coordinate: the number of loops or iterations behind a value; measuring it costs that many times
# its time
LOOPS: Final = "loops"

# Coordinate: the place of a measurement in the order of its round, from 1
SLOT: Final = "slot"

CENSORED: Final = "censored"
FAILED: Final = "failed"
COPIED: Final = "copied"
# Coordinate (or variable): the limit at which a run was stopped, in the units of the values
CENSORED_AT: Final = "censored_at"

# An unknown descriptor (never NaN, which `groupby` drops silently)
UNKNOWN: Final = "unknown"

# Attr of timings read from files: the reader
FORMAT: Final = "format"
# Attr: the number of files of an archive
N_FILES: Final = "n_files"


def published_median(format: str) -> str:
    """Return the median as SPEC publishes it: of an even number of runs the slower middle one.

    Examples
    --------
    >>> published_median("spec_text"), published_median("pyperf")
    ('slower_median', 'median')
    """
    return "slower_median" if format.startswith("spec") else "median"


# Attr: the level that several sessions were merged into
SEVERAL_SESSIONS: Final = "several_sessions"

# Coordinate: the suite of a benchmark; sides of different suites are not compared
SUITE: Final = "suite"
# Of SPEC: the dim of base and peak; whether a result is valid, and whether its scores are
# estimates, as 1 or 0
TUNING: Final = "tuning"
VALID: Final = "valid"
ESTIMATED: Final = "estimated"

METRIC: Final = "metric"

# Attrs of timings, by the argument that they stand for (`declare`)
DECLARED: Final = {
    "levels": "declared_levels",
    "value": "declared_value",
    "unit": "declared_unit",
    "paired": "declared_paired",
    "shared": "shared_levels",
}
# Attr of results with random numbers: `rng=` takes it to reproduce them
RNG_KEY: Final = "rng_key"

TIME: Final = "time"
THROUGHPUT: Final = "throughput"
LOWER: Final = "lower"
HIGHER: Final = "higher"
# Attr: which direction is good
BETTER: Final = "better"
# Attr of a metric without noise: 1 where what is counted again is the same. And the kind of a
# comparison without an interval
EXACT: Final = "exact"
# The values of `better`
DIRECTIONS: Final = (LOWER, HIGHER)
# Variables without a unit of which higher is better
SCORES: Final = ("ratio", "score", "score_rate", "score_speed")

# Attr of simulated timings: their distribution; a normal one may go below 0, as no measured time
# could
SIMULATED: Final = "simulated"

SECONDS: Final = "s"
# Factors to seconds; after reading, times are in seconds
TIME_UNITS: Final = {
    "ns": 1e-9, "nsec": 1e-9, "nanosecond": 1e-9, "nanoseconds": 1e-9,
    "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "usec": 1e-6, "microsecond": 1e-6, "microseconds": 1e-6,
    "ms": 1e-3, "msec": 1e-3, "millisecond": 1e-3, "milliseconds": 1e-3,
    "s": 1.0, "sec": 1.0, "second": 1.0, "seconds": 1.0,
    "min": 60.0, "minute": 60.0, "minutes": 60.0,
    "h": 3600.0, "hr": 3600.0, "hour": 3600.0, "hours": 3600.0,
}  # fmt: skip


# Operations that a time may be given for, as in `ns/op`
OPERATIONS: Final = ("op", "iter", "iteration", "call", "run", "loop", "execution", "invocation")


def seconds_factor(units: str) -> float | None:
    """Return the factor that turns `units` into seconds, or None where `units` is not a time.

    Names of at least five letters may be written in capitals; `Ms` and `S` are no seconds.

    Examples
    --------
    >>> [seconds_factor(unit) for unit in ("ms", "ns/op", "Seconds", "J")]
    [0.001, 1e-09, 1.0, None]
    """
    name, of, operation = units.strip().partition("/")
    if of and operation not in OPERATIONS:
        return None
    return TIME_UNITS.get(name.lower() if len(name) > 4 else name)


def price_of(level: str) -> str:
    """Return the name of the coordinate with the price of one more repetition, in seconds.

    Examples
    --------
    >>> price_of("execution")
    'execution_seconds'
    """
    return f"{level}_seconds"


def mean_title(mean: str) -> str:
    """Return the name of a mean over a suite for people.

    Examples
    --------
    >>> [mean_title(mean) for mean in ("geometric", "shifted_geometric", "par2")]
    ['geometric mean', 'shifted geometric mean', 'PAR2']
    """
    return mean.upper() if mean.startswith("par") else f"{mean.replace('_', ' ')} mean"


def square_units(units: str) -> str:
    """Return the unit of a variance: `s` gives `s2`, a dimensionless `1` stays.

    Examples
    --------
    >>> square_units("s"), square_units("1"), square_units("ops/s")
    ('s2', '1', '(ops/s)2')
    """
    if units in ("1", ""):
        return units
    return f"{units}2" if units.isalpha() else f"({units})2"


# Variable of comparisons: the confidence level of each interval; other results have the attr
# `confidence_level`
INTERVAL_LEVEL: Final = "interval_level"


# Marks a change whose p-value gives a verdict that its interval does not show (`interval_agrees`)
BY_PVALUE: Final = "*"

# Marks a change beside which the spread of the units changed (`spread_changed`)
OTHER_SPREAD: Final = "~"


def is_archive(times: _Any, baseline: object = None) -> bool:
    """Return whether timings are an archive of suites or machines, without versions.

    Examples
    --------
    >>> import numpy as np, xarray as xr
    >>> is_archive(xr.DataArray(np.ones((2, 2)), dims=("benchmark", "machine")))
    True
    """
    is_one_state = all(times.sizes.get(dim, 1) == 1 for dim in (VERSION, *HISTORY))
    has_machines = times.sizes.get(MACHINE, 1) > 1 or {SUITE, MACHINE} <= {*times.coords}
    return baseline is None and is_one_state and has_machines and times.sizes.get(BENCHMARK, 1) > 1


def level_of_intervals(result: _Any) -> str:
    """Return the confidence level of the intervals of a result as text.

    Examples
    --------
    >>> import xarray as xr
    >>> level_of_intervals(xr.Dataset(attrs={"confidence_level": 0.95}))
    '95 %'
    """
    if INTERVAL_LEVEL in result:
        levels = result[INTERVAL_LEVEL]
        answered = levels.where(result["lower"].notnull())
        levels = answered if bool(answered.notnull().any()) else levels
        ends = [float(levels.min()), float(levels.max())]
    else:  # some variables of a corrected comparison alone do not know their level
        ends = (
            [float(result.attrs.get("confidence_level", _math.nan))]
            if result.attrs.get("correction", "none") == "none"
            else []
        )
    texts = dict.fromkeys(percentage(end) for end in ends if not _math.isnan(end))
    return f"{' to '.join(texts)} %" if texts else ""


def percentage(level: float) -> str:
    """Return a confidence level in percent, with three digits of its risk.

    Examples
    --------
    >>> percentage(0.95), percentage(1 - 0.05 / 30)
    ('95', '99.833')
    """
    digits = max(1, 2 - _math.floor(_math.log10(100 * (1 - level)))) if level < 1 else 1
    return f"{100 * level:.{digits}f}".rstrip("0").rstrip(".")


def plural(name: str) -> str:
    """Return the plural of a level or a dim; `flags` and `jvm_args` are plurals.

    Examples
    --------
    >>> plural("execution"), plural("binary"), plural("process"), plural("flags")
    ('executions', 'binaries', 'processes', 'flags')
    """
    if name.endswith("s") and not name.endswith("ss"):
        return name
    return (
        f"{name[:-1]}ies"
        if name.endswith("y")
        else f"{name}{'es' if name.endswith(('s', 'x')) else 's'}"
    )


def singular(name: str) -> str:
    """Return what one label of a dim is called; `flags` and `jvm_args` are plurals.

    Examples
    --------
    >>> singular("compiler"), singular("flags")
    ('compiler', 'set of flags')
    """
    return f"set of {name}" if name in COMPARED and plural(name) == name else name


# Names of coordinates that say which machine it was, the decisive first: its model, how much it
# has, how fast its clock is, its name
MODELS: Final = (
    "cpu",
    "cpu_model",
    "cpu_model_name",
    "cpu_name",
    "cpu_brand",
    "processor",
    "processor_name",
    "gpu",
    "accelerator",
    "instance_type",
    "hardware",
    "system_type",
    "architecture",
    "goarch",
    "motherboard",
)
COUNTS: Final = (
    "cores",
    "physical_cores",
    "logical_cores",
    "cpus",
    "num_cpus",
    "cpu_count",
    "chips",
    "sockets",
    "cores_per_chip",
    "threads_per_core",
    "nodes",
    "accelerators",
    "l1_data_kb",
    "l1_instruction_kb",
    "l2_kb",
    "l3_kb",
    "memory",
    "memory_gb",
    "ram",
)
CLOCKS: Final = (
    "cpu_mhz",
    "cpu_max_mhz",
    "cpu_speed",
    "cpu_freq",
    "mhz",
    "mhz_per_cpu",
    "clock_mhz",
)
HOSTS: Final = (
    "machine",
    "host",
    "hostname",
    "host_name",
    "node",
    "runner",
    "computer",
    "server",
    "system",
)
OF_MACHINES: Final = (*MODELS, *COUNTS, *CLOCKS, *HOSTS)
