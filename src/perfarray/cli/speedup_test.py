"""`perfarray speedup-test`: run the Speedup-Test on its tool's files.

Print its report, and the test of each benchmark.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

import perfarray
from perfarray.cli import options
from perfarray.cli.forms import Answer, Printed, answering, described, give
from perfarray.cli.problems import NOTHING_SLOWER, WITHOUT_ANSWER
from perfarray.conventions import BENCHMARK

if TYPE_CHECKING:
    import xarray as xr

OPTIONS = options.spoken(
    "precision correction", confidence_level="--conf-level", weights="--weight", output="--prefix"
)

STATISTICS = {
    "mean": "means",
    "median": "medians",
}  # those that are tested: there is no test of the least time


def speedup_test(
    config: Annotated[
        str,
        typer.Argument(
            help="Read this configuration: CSV with Name,Sample1,Sample2,ConfLevel,Coef.",
            show_default=False,
        ),
    ],
    *,
    conf_level: Annotated[
        float | None,
        options.share(
            "Set the confidence level of benchmarks without one. Default: the highest that is "
            "significant."
        ),
    ] = None,
    weight: Annotated[
        Literal["custom", "equal", "fraction"],
        typer.Option(
            help=(
                "Choose the weights of the benchmarks. Default: custom, those of the configuration."
            )
        ),
    ] = "custom",
    precision: Annotated[
        float | None,
        options.share(
            "Plan the number of benchmarks for this precision of the proportion. Default: 5%."
        ),
    ] = None,
    correction: options.Correction = None,
    prefix: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--prefix",
            help="Begin the names of the four output files with this. Default: CONFIG.",
        ),
    ] = None,
    sort: options.Sort = None,
    target: Printed,
) -> None:
    """Run the Speedup-Test on its tool's files, to see which speedups are significant.

    The command writes PREFIX.out, PREFIX.report, PREFIX.warning and PREFIX.error.

    Exit code 0: there is a report.
    Exit code 2: no report: the configuration cannot be read, no benchmark has both samples, or an
    option is wrong.
    """
    from perfarray.results.rows import records

    choices = options.given(
        confidence_level=conf_level,
        weights=weight,
        precision=precision,
        correction=correction,
        output=prefix,
    )
    keys = ("rows", "suites", "attrs", "notes")
    with answering(
        target,
        {"config": config},
        *keys,
        own_words=("single_unit", *WITHOUT_ANSWER),
        options=OPTIONS,
    ) as warned:
        if prefix is not None and not Path(prefix).parent.is_dir():
            raise ValueError(
                f"--prefix {prefix}: there is no folder {str(Path(prefix).parent)!r} to write to"
            )
        result = perfarray.speedup_report(config, **choices)
        text = Path(f"{result.attrs['files']}.report").read_text(encoding="utf-8")
    tested = result.sel(statistic=list(STATISTICS)).assign_attrs(result="speedup_test")
    of_benchmarks = [name for name, array in result.items() if BENCHMARK in array.dims]
    rows = records(tested[of_benchmarks], [BENCHMARK, "statistic"])
    suites = records(result.drop_vars(of_benchmarks), ["statistic"])
    answer = Answer(
        table=perfarray.table(tested, sort=sort),
        rows=rows,
        content={"config": config, "rows": rows, "suites": suites, **described(result)},
        outcome=_outcome(tested),
        code=NOTHING_SLOWER,
        heading=text.rstrip().splitlines(),
    )
    give(answer, target, warned)


def _outcome(tested: "xr.Dataset") -> str:
    counts = tested["significant"].sum(BENCHMARK)
    clauses = [
        f"{int(counts.sel(statistic=statistic))} of {tested.sizes[BENCHMARK]} speedups of {many}"
        for statistic, many in STATISTICS.items()
    ]
    return f"significant: {', '.join(clauses)}"
