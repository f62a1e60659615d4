"""Files of thresholds: what `perfarray calibrate` writes and `perfarray compare` reads, in TOML."""

import math
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from perfarray.cli.problems import quoted
from perfarray.conventions import BENCHMARK

if TYPE_CHECKING:
    import xarray as xr

FALSE_ALARMS, CONFIDENCE_LEVEL, SUITE, THRESHOLDS = (
    "false_alarms",
    "confidence_level",
    "suite_threshold",
    "thresholds",
)
SHARES: Final = (FALSE_ALARMS, CONFIDENCE_LEVEL, SUITE)
# How compare was called for them, and the runs of a side
TEXTS: Final = ("statistic", "method", "prior")
RUNS: Final = "runs"
KEYS: Final = (*SHARES, *TEXTS, RUNS, THRESHOLDS)

MAX_BYTES: Final = 2**24  # of a file of thresholds: some 200,000 benchmarks

# What a basic string of TOML writes shorter than by its number
ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "\t": "\\t", "\n": "\\n", "\r": "\\r"}


def text_of_thresholds(result: "xr.Dataset") -> str:
    """Write the thresholds that `calibrate` returned; comments say how sure they are."""
    dims = [str(dim) for dim in result["threshold"].dims if dim != BENCHMARK]
    result = result.squeeze([dim for dim in dims if result.sizes[dim] == 1], drop=True)
    if further := [dim for dim in dims if dim in result.dims]:
        dim = further[0]
        raise ValueError(
            f"a file holds one threshold a benchmark, and these differ by {dim} "
            f"({quoted(result[dim].values.tolist(), 4)}). Choose with --select {dim}=LABEL"
        )
    suite, attrs = float(result[SUITE]), result.attrs
    lines = [
        "# Least thresholds of perfarray compare --thresholds, by perfarray calibrate.",
        f"# Behind each: its {100 * attrs[CONFIDENCE_LEVEL]:.4g} % limits, and the slowdown then "
        "seen with 80 % power.",
        f"{FALSE_ALARMS} = {attrs[FALSE_ALARMS]!r}",
        f"{CONFIDENCE_LEVEL} = {attrs[CONFIDENCE_LEVEL]!r}",
        *([] if math.isnan(suite) else [f"{SUITE} = {suite:.4g}"]),
        *(f"{name} = {quoted_key(str(attrs[name]))}" for name in TEXTS),
        *([] if math.isnan(attrs[RUNS]) else [f"{RUNS} = {attrs[RUNS]:.4g}"]),
        "",
        f"[{THRESHOLDS}]",
    ]
    names = ("threshold", "threshold_lower", "threshold_upper", "detectable_change")
    columns = [result[name].values.tolist() for name in names]
    for label, value, lower, upper, change in zip(
        result[BENCHMARK].values.tolist(), *columns, strict=True
    ):
        if math.isnan(value):
            lines.append(f"# {quoted_key(str(label))}: too few sessions")
        else:
            limits = f"{_short(lower)} to {_short(upper)}; {_short(change)} is seen"
            lines.append(f"{quoted_key(str(label))} = {value:.4g}  # {limits}")
    return "\n".join(lines) + "\n"


def _short(share: float) -> str:
    return f"{100 * share:.2g} %"


def quoted_key(label: str) -> str:
    """Write a label as a quoted key of TOML."""
    return f'"{"".join(map(_escaped, label))}"'


def _escaped(character: str) -> str:
    if character in ESCAPES:
        return ESCAPES[character]
    return character if character.isprintable() else f"\\U{ord(character):08x}"


def read_thresholds(path: str) -> "xr.Dataset":
    """Read a file of thresholds; what it should not hold is refused by name."""
    import xarray as xr

    file = Path(path)
    if not file.is_file():
        raise ValueError(
            f"--thresholds {path}: there is no such file. perfarray calibrate makes it"
        )
    if file.stat().st_size > MAX_BYTES:
        raise ValueError(f"--thresholds {path}: the file has more than {MAX_BYTES >> 20} MB")
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"--thresholds {path}: this is no TOML ({error})") from None
    _check_keys(path, content)
    shares = {name: _share(path, name, content[name]) for name in SHARES if name in content}
    thresholds = {
        label: _share(path, f"{THRESHOLDS}.{quoted_key(label)}", value)
        for label, value in content[THRESHOLDS].items()
    }
    variables: dict[str, Any] = {"threshold": (BENCHMARK, list(thresholds.values()))}
    if SUITE in shares:
        variables[SUITE] = ((), shares[SUITE])
    attrs: dict[str, Any] = {
        name: shares[name] for name in (FALSE_ALARMS, CONFIDENCE_LEVEL) if name in shares
    }
    attrs |= {name: content[name] for name in (*TEXTS, RUNS) if name in content}
    return xr.Dataset(variables, {BENCHMARK: (BENCHMARK, list(thresholds))}, attrs)


def _check_keys(path: str, content: Mapping[str, Any]) -> None:
    if unknown := [name for name in content if name not in KEYS]:
        raise ValueError(
            f"--thresholds {path}: unknown key {quoted(unknown, 3)}. The keys are "
            f"{', '.join(KEYS)}; benchmarks stand below [{THRESHOLDS}]"
        )
    if not_texts := [name for name in TEXTS if not isinstance(content.get(name, ""), str)]:
        raise ValueError(f"--thresholds {path}: {not_texts[0]} is no text in quotes")
    runs = content.get(RUNS, 1)
    if isinstance(runs, bool) or not isinstance(runs, int | float) or not 1 <= runs < math.inf:
        raise ValueError(f"--thresholds {path}: {RUNS} is no number of 1 or more")
    if not isinstance(content.get(THRESHOLDS), dict) or not content[THRESHOLDS]:
        raise ValueError(f"--thresholds {path}: there is no threshold below [{THRESHOLDS}]")


def _share(path: str, name: str, value: Any) -> float:
    """Return a number from 0 up to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
        shown = value if isinstance(value, bool | int | float | str) else type(value).__name__
        raise ValueError(
            f"--thresholds {path}: {name} = {shown!r} is no fraction from 0 up to 1 (0.02 is 2 %)"
        )
    return float(value)


def benchmarks_of(times: "xr.Dataset") -> list[Any]:
    """Return the labels that thresholds are for."""
    return list(times[BENCHMARK].values.reshape(-1).tolist()) if BENCHMARK in times.coords else []


def with_given(
    thresholds: "xr.Dataset", given: "float | Mapping[Any, float] | None", labels: Sequence[Any]
) -> "xr.Dataset":
    """Return thresholds in which those of --threshold stand before the file's.

    One for all benchmarks is for those that the file lacks.
    """
    import xarray as xr

    named = dict(given) if isinstance(given, Mapping) else {} if given is None else {...: given}
    rest = named.pop(..., None)
    numbers = dict(
        zip(thresholds[BENCHMARK].values.tolist(), thresholds["threshold"].values, strict=True)
    )
    if unknown := [name for name in named if name not in {*numbers, *labels}]:
        raise ValueError(f"--threshold {unknown[0]}=...: no benchmark {unknown[0]!r} was read")
    if rest is not None:
        numbers = dict.fromkeys(labels, rest) | numbers
    numbers |= named
    return xr.Dataset(
        {"threshold": (BENCHMARK, [float(number) for number in numbers.values()])},
        {BENCHMARK: (BENCHMARK, list(numbers))},
        thresholds.attrs,
    ).assign({name: thresholds[name] for name in (SUITE,) if name in thresholds})
