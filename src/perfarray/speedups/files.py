"""The Speedup-Test's report, from its configuration to its four files."""

import os
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from perfarray.conventions import BENCHMARK, EXECUTION, TIME, VERSION
from perfarray.readers.opening import Source
from perfarray.readers.speedup_test import SAMPLES, ConfigLine, entries, table_of_entries
from perfarray.speedups.numerics.protocols import NO_ANSWER, UNAVAILABLE
from perfarray.speedups.observed import overall_speedup, speedup
from perfarray.speedups.proportion import accelerated_proportion, required_benchmarks
from perfarray.speedups.protocols import check_correction, corrected, tested
from perfarray.tables.build import build
from perfarray.tables.replacing import replacing
from perfarray.timings.notes import Note, collecting_notes, with_notes
from perfarray.timings.pairs import resolve_pair
from perfarray.timings.validation import check_choice, check_confidence_level, check_share, listed

STATISTICS = ("min", "mean", "median")
WEIGHTS = ("custom", "equal", "fraction")
SUFFIXES = (".out", ".report", ".warning", ".error")
DEFAULT_LEVEL = 0.95  # of the proportion

VARIABLES_OF_TESTS = (
    "significant",
    "confidence_level",
    "pvalue",
    "pvalue_adjusted",
    "test",
    "warnings",
    "prob_faster",
    "n_baseline",
    "n_candidate",
    "protocol",
)

NOT_TESTED = "not tested"

# Sentences of the original tool.
ILLEGAL_WEIGHTS = "Illegal user-defined weights, using equal weights instead."
NOT_ACCURATE = (
    "Warning: this confidence interval of the proportion may not be accurate because the "
    "validity condition {a(1-a/b)>5} is not satisfied."
)
REMARK = (
    "Remark: The computed confidence interval of the proportion is invalid if b the  "
    "experimented set of benchmarks is not randomly "
    "selected among a huge number of representative benchmarks."
)

Warned = dict[str, list[str]]  # what the tool warns of each benchmark


def speedup_report(
    config_csv: str | PathLike[str],
    *,
    confidence_level: float | None = None,
    weights: str = "custom",
    precision: float = 0.05,
    correction: str | None = None,
    output: str | PathLike[str] | None = None,
) -> xr.Dataset:
    r"""Run the Speedup-Test on its tool's configuration, and write the tool's four files.

    Parameters
    ----------
    config_csv : path-like
        CSV with the fields Name, Sample1, Sample2, ConfLevel, Coef (the last two optional). Samples
        are text files with one time per line.
    confidence_level : float, optional
        For benchmarks without a ConfLevel; None searches, as `speedup_test`. Also of the proportion
        (else 0.95).
    weights : {"custom", "equal", "fraction"}
        The column Coef; the same for all; shares of the first program's time.
    precision : float
        The half-width for which the number of benchmarks needed is reported.
    correction : {None, "holm", "bh"}
        As for `speedup_test`, of means and of medians apart.
    output : path-like, optional
        What the names of the files begin with. Default: the path of the configuration.

    Returns
    -------
    Dataset
        Along `benchmark` and `statistic` (min, mean, median): `speedup`, `weight`, and of
        `speedup_test` `significant`, `confidence_level`, `pvalue`, `pvalue_adjusted`, `test`,
        `warnings`, `prob_faster`, `n_baseline`, `n_candidate`, `protocol`. Along `statistic`:
        `overall_speedup`, `overall_gain`; of significant speedups `accelerated_speedup`,
        `accelerated_gain`, `accelerated` (their number), `proportion` with `lower`, `upper`,
        `reliable`; `required_benchmarks`. The attr `files` is the beginning of the names of the
        files.

    Raises
    ------
    ValueError
        A configuration that cannot be read, or without a complete benchmark; arguments out of
        range.

    Notes
    -----
    The files are PREFIX.out (a row per benchmark), PREFIX.report, PREFIX.warning and PREFIX.error.
    A bad sample file is a warning for its benchmark. See :doc:`/how-to/speedup_test`.

    References
    ----------
    S. Touati, J. Worms, S. Briais, "The Speedup Test", 2010, section 6.

    Examples
    --------
    >>> import perfarray, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "old.txt").write_text("2.799\n2.046\n1.259\n1.877\n2.244")
    >>> _ = (folder / "new.txt").write_text("1.046\n0.259\n0.877\n1.244\n1.799")
    >>> _ = (folder / "bench.cfg").write_text(
    ...     'Name,Sample1,Sample2,ConfLevel,Coef\n"Second benchmark","old.txt","new.txt",NA,NA\n'
    ... )
    >>> result = perfarray.speedup_report(folder / "bench.cfg")
    >>> print((folder / "bench.cfg.out").read_text().splitlines()[1])
    "Second benchmark",4.861,1.957,TRUE,0.98,1.956,TRUE,0.99,1,1,1
    """
    began = os.times()
    check_choice(weights, "weights", WEIGHTS)
    check_share(precision, "precision", example="0.05")
    if confidence_level is not None:
        confidence_level = check_confidence_level(confidence_level)
    path = Path(config_csv)
    source = Source(path)
    benchmarks = entries(source)
    times = _timings(benchmarks, path)
    check_correction(correction, confidence_level, times)
    illegal = weights == "custom" and not (
        np.all(times["weight"] >= 0) and times["weight"].sum() > 0
    )
    with collecting_notes() as notes:
        result, warned = _analyse(
            times, confidence_level, "equal" if illegal else weights, precision, correction
        )
    displayed_path = (
        path.as_posix() if path.is_absolute() else f"{path.parent.as_posix()}/{path.name}"
    )
    ended = os.times()
    spent = (getattr(ended, name) - getattr(began, name) for name in ("user", "system", "elapsed"))
    # As R prints it.
    clock = ["> proc.time()", "   user  system elapsed ", "".join(f"{s:7.2f} " for s in spent)]
    contents = [
        _out_lines(result, benchmarks),
        _report_lines(result, displayed_path, confidence_level, precision),
        _warning_lines(warned, benchmarks, displayed_path),
        [*([ILLEGAL_WEIGHTS] if illegal else []), *clock],
    ]
    prefix = str(config_csv if output is None else output)
    with replacing(*(Path(f"{prefix}{suffix}") for suffix in SUFFIXES)) as files:
        for file, lines in zip(files, contents, strict=True):
            file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    unread = None
    if unreadable := [file for entry in benchmarks for file in entry.unreadable]:
        # Their benchmarks have a row, too: not significant, and NaN.
        texts = {"test": NO_ANSWER, "warnings": UNAVAILABLE, "protocol": UNAVAILABLE}
        names = np.array([entry.name for entry in benchmarks], dtype=object)
        result = result.reindex(
            {BENCHMARK: names}, fill_value=_blanks([result], {"significant": False} | texts)
        )
        message = (
            f"{len(unreadable)} sample files cannot be read, and their benchmarks are left out: "
            f"{listed(_complaints(*benchmarks), 3)}"
        )
        unread = Note("unreadable", message, {"files": unreadable})
    return with_notes(result.assign_attrs(files=prefix), *notes, *source.notes, unread)


def _blanks(datasets: Sequence[xr.Dataset], blanks: dict[str, Any]) -> dict[Any, Any]:
    """Return the value of each variable where it has none: NaN unless it is known."""
    return {name: blanks.get(str(name), np.nan) for data in datasets for name in data.data_vars}


def _complaints(*benchmarks: ConfigLine) -> list[str]:
    """Return what the tool says of the files that cannot be read."""
    return [f"File '{file}' is not readable" for entry in benchmarks for file in entry.unreadable]


def _timings(benchmarks: Sequence[ConfigLine], path: Path) -> xr.DataArray:
    """Return the samples as timings, of the benchmarks that have both."""
    usable = [entry for entry in benchmarks if not entry.unreadable]
    if not usable:
        raise ValueError(
            f"{path}: no benchmark has both samples: {listed(_complaints(*benchmarks), 5)}"
        )
    times: xr.DataArray = build(table_of_entries(usable))[TIME]
    levels, weights = np.array([(entry.level, entry.weight) for entry in usable], dtype=float).T
    return times.assign_coords(confidence_level=(BENCHMARK, levels), weight=(BENCHMARK, weights))


def _analyse(
    times: xr.DataArray,
    confidence_level: float | None,
    weights: str,
    precision: float,
    correction: str | None,
) -> tuple[xr.Dataset, Warned]:
    """Compute the content of the files for benchmarks with both samples, and their warnings."""
    warned: Warned = {str(name): [] for name in times[BENCHMARK].values}
    datasets = []
    for statistic in STATISTICS:
        observed = speedup(times, SAMPLES[0], dim=VERSION, statistic=statistic).squeeze(
            VERSION, drop=True
        )
        total = overall_speedup(
            times, SAMPLES[0], dim=VERSION, statistic=statistic, weights=weights
        ).squeeze(VERSION, drop=True)
        variables = {"speedup": observed["estimate"], "weight": _weight(times, weights, statistic)}
        variables |= {f"overall_{name}": total[name] for name in ("speedup", "gain")}
        if statistic != "min":
            variables |= _tested(
                times,
                statistic,
                confidence_level,
                weights,
                precision,
                correction=correction,
                warned=warned,
            )
        datasets.append(
            xr.Dataset(
                {name: values.variable for name, values in variables.items()},
                {BENCHMARK: times[BENCHMARK].variable},
            )
        )
    texts = {"test": NOT_TESTED, "warnings": "", "protocol": NOT_TESTED}
    fill = _blanks(datasets, {"significant": False, "reliable": False} | texts)
    result: xr.Dataset = xr.concat(
        datasets,
        xr.IndexVariable("statistic", np.array(STATISTICS, dtype=object)),
        fill_value=fill,
        combine_attrs="override",
        coords="minimal",
        compat="override",
        join="exact",
    )
    attrs = {"result": "speedup_report", "weights": weights} | (
        {} if correction is None else {"correction": correction}
    )
    return result.transpose(BENCHMARK, "statistic").assign_attrs(attrs), warned


def _tested(
    times: xr.DataArray,
    statistic: str,
    confidence_level: float | None,
    weights: str,
    precision: float,
    *,
    correction: str | None,
    warned: Warned,
) -> dict[str, xr.DataArray]:
    """Return the tests, the speedup of the accelerated benchmarks and their proportion.

    Add the tool's warnings to `warned`.
    """
    level = DEFAULT_LEVEL if confidence_level is None else confidence_level
    pair = resolve_pair(times, SAMPLES[0], dim=VERSION, metric=None, levels=None)
    test = tested(pair, None, statistic, confidence_level, "tool", ties="limit")
    test = test if correction is None else corrected(test, correction)
    test = with_notes(test, checks=("one_side", "single_units")).squeeze(VERSION, drop=True)
    for name, applies in zip(
        warned, test["warned"].transpose(BENCHMARK, "warning").values, strict=True
    ):
        warned[name] += test["warning"].values[applies].tolist()
    accelerated = overall_speedup(
        times,
        SAMPLES[0],
        dim=VERSION,
        statistic=statistic,
        weights=weights,
        significant=test["significant"],
    ).squeeze(VERSION, drop=True)
    share = accelerated_proportion(test, confidence_level=level)
    needed = required_benchmarks(
        share["estimate"].item(), precision=precision, confidence_level=level
    )
    return {
        **{name: test[name] for name in VARIABLES_OF_TESTS if name in test},
        **{name: accelerated[name] for name in ("accelerated_speedup", "accelerated_gain")},
        "proportion": share["estimate"],
        **{name: share[name] for name in ("accelerated", "lower", "upper", "reliable")},
        "required_benchmarks": xr.DataArray(float(needed)),
    }


def _weight(times: xr.DataArray, weights: str, statistic: str) -> xr.DataArray:
    """Return the weights as the tool shows them: 1, coefficients, shares of the first program."""
    if weights == "custom":
        return times["weight"]
    if weights == "equal":
        return xr.ones_like(times["weight"])
    spent = getattr(times.sel({VERSION: SAMPLES[0]}), statistic)(EXECUTION)
    return xr.DataArray(spent / spent.sum())


def _rounded(value: float) -> str:
    """Write a number as the tool does: three decimals, no zeros at the end, NA for none."""
    return "NA" if np.isnan(value) else f"{round(value, 3):.15g}"


def _out_lines(result: xr.Dataset, benchmarks: Sequence[ConfigLine]) -> list[str]:
    """Return the table: a row per benchmark, in the order of the configuration."""
    titles = ["Name", "SpeedupMin"]
    titles += [
        title.format(name)
        for name in ("Mean", "Median")
        for title in ("Speedup{}", "Is{}Significant", "{}ConfLevel")
    ]
    titles += ["CoefMin", "CoefMean", "CoefMedian"]
    lines = [",".join(f'"{title}"' for title in titles)]
    for entry in benchmarks:
        cells = ['"' + entry.name.replace('"', '""') + '"']
        if entry.unreadable:
            lines.append(",".join([*cells, *["NA"] * (len(titles) - 1)]))
            continue
        row = result.sel({BENCHMARK: entry.name})
        cells.append(_rounded(row["speedup"].sel(statistic="min").item()))
        for statistic in ("mean", "median"):
            test = row.sel(statistic=statistic)
            cells += [
                _rounded(test["speedup"].item()),
                str(bool(test["significant"])).upper(),
                _rounded(test["confidence_level"].item()),
            ]
        weights = row["weight"].sel(statistic=list(STATISTICS)).values
        lines.append(",".join([*cells, *(f"{weight:.15g}" for weight in weights)]))
    return lines


def _report_lines(
    result: xr.Dataset, displayed_path: str, confidence_level: float | None, precision: float
) -> list[str]:
    """Return the report: overall gains and speedups, and proportions of accelerated benchmarks."""
    lines = [f"Analysis report of  {displayed_path}"]
    if "correction" in result.attrs:
        lines.append(
            "Significance is decided by p-values adjusted for the number of benchmarks "
            f"({result.attrs['correction']})."
        )
    for statistic in STATISTICS:
        row = result.sel(statistic=statistic)
        lines += [
            "",
            f"Overall gain (ExecutionTime={statistic}) = {_rounded(row['overall_gain'].item())}",
            (
                f"Overall speedup (ExecutionTime={statistic}) = "
                f"{_rounded(row['overall_speedup'].item())}"
            ),
        ]
    level = DEFAULT_LEVEL if confidence_level is None else confidence_level
    for statistic in ("mean", "median"):
        row = result.sel(statistic=statistic)
        share, lower, upper = (
            _rounded(row[name].item()) for name in ("proportion", "lower", "upper")
        )
        counts = f"{row['accelerated'].item():g}/{result.sizes[BENCHMARK]}"
        lines += [
            "",
            (
                f"The observed proportion of accelerated benchmarks (speedup of the {statistic}) "
                f"a/b = {counts} = {share}"
            ),
            f"The confidence level for computing proportion confidence interval is {level:.15g}.",
            f"Proportion confidence interval (speedup of the {statistic}) = [{lower}; {upper}]",
        ]
        lines += [] if row["reliable"].item() else [NOT_ACCURATE]
        if (needed := int(row["required_benchmarks"].item())) > 0:
            needed_for = f"(in order to have a precision r={precision:.15g})"
            lines.append(
                f"The minimal needed number of randomly selected benchmarks is {needed} "
                f"{needed_for}."
            )
        lines.append(REMARK)
    return lines


def _warning_lines(
    warned: Warned, benchmarks: Sequence[ConfigLine], displayed_path: str
) -> list[str]:
    """Return the warnings of every benchmark that has some, and their number."""
    lines = [f"Warnings regarding analysis of {displayed_path} "]
    number = 0
    for entry in benchmarks:
        texts = [*_complaints(entry), UNAVAILABLE] if entry.unreadable else warned[entry.name]
        lines += [f"{entry.name} :", *(f"\t{text}" for text in texts)] if texts else []
        number += len(texts)
    return [*lines, f"{number} warning(s)."]
