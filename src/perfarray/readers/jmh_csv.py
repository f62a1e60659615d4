"""JMH's CSV (`-rf csv`, `-rf scsv`): the scores, under the keys of JMH's JSON.

A score is the mean of all iterations of all forks, so each benchmark has one value. The locale of
the JVM chooses the decimal sign, and JMH groups no digits: a comma in a score is a decimal one.
"""

from math import isnan
from typing import Any

from perfarray.readers.csv_rows import csv_rows, header
from perfarray.readers.entries import SHOWN, amount_or_nan, note_means
from perfarray.readers.numbers import number, value_of
from perfarray.readers.opening import Source

COLUMNS = {"Benchmark", "Score", "Unit"}
PARAM = "Param: "  # Begins the names of columns of parameters
OF_BENCHMARK = (
    ":"  # Between a benchmark and its secondary metric: JMH writes `a.B.copy:gc.alloc.rate`
)
REMEDY = "-rf json writes every iteration"

Result = dict[str, Any]


def recognise(source: Source) -> bool:
    """Return whether the header is that of JMH."""
    return set(header(source.head)) >= COLUMNS


def results_in_csv(source: Source) -> list[Result]:
    """Return the results as in JMH's JSON: one iteration of one fork, metrics below it."""
    results: list[Result] = []
    result_by_case: dict[tuple[Any, ...], Result] = {}
    for location, row in csv_rows(source):
        name, separator, metric_name = row["Benchmark"].partition(OF_BENCHMARK)
        params = {
            key.removeprefix(PARAM): value
            for key, value in row.items()
            if key.startswith(PARAM) and value
        }
        case = (name, row.get("Mode"), row.get("Threads"), *params.items())
        if separator and case not in result_by_case:
            source.no_numbers.append(
                f"{location}: {row['Benchmark'][:SHOWN]}: its benchmark has no row"
            )
            continue
        metric = _metric(source, f"{location}: {row['Benchmark']}", row)
        if separator:
            result_by_case[case]["secondaryMetrics"][metric_name] = metric
            continue
        result = {
            "benchmark": name,
            "threads": value_of(row.get("Threads") or "1"),
            "params": params,
        }
        result |= {"mode": row["Mode"]} if "Mode" in row else {}
        results.append(result | {"primaryMetric": metric, "secondaryMetrics": {}})
        result_by_case[case] = results[-1]
    note_means(source, len(results), REMEDY)
    return results


def _metric(source: Source, name: str, row: dict[str, str]) -> Result:
    score = row["Score"].replace(",", ".")
    value = amount_or_nan(source, name, "Score", row["Score"] if number(score) is None else score)
    return {"scoreUnit": row["Unit"], "rawData": [[] if isnan(value) else [value]]}
