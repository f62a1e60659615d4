"""A suite study after Irving et al. (2018) on real SPEC reports, from a folder of public archives
that is not shipped.

    python docs/scripts/irving_real.py ARCHIVES

reads `spec_txt` (text reports: machines, compilers, flags, sessions of 3 executions) and `spec_csv`
below ARCHIVES and prints the tables in `docs/papers/irving.md`. Sessions are merged into runs: all
but a few cells have one.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import xarray as xr

import perfarray


def suite_of(spec: xr.Dataset, suite: str) -> xr.DataArray:
    """Return the ratios of one suite with plain -O3, along a dim `cell` of machine and compiler;
    only cells with data."""
    chosen = spec.isel(benchmark=(spec["suite"] == suite).values).sel(flags="O3")["ratio"]
    chosen = chosen.where(~chosen["copied"]).reset_coords(drop=True)
    cells = chosen.stack(cell=("machine", "compiler"), create_index=False)
    names = [
        f"{machine}, {compiler}"
        for machine, compiler in zip(cells["machine"].values, cells["compiler"].values, strict=True)
    ]
    attrs = spec["ratio"].attrs
    return (
        cells.drop_vars(["machine", "compiler"])
        .assign_coords(cell=names)
        .dropna("cell", how="all")
        .assign_attrs(attrs)
    )


def describe(ratios: xr.DataArray) -> tuple[list[object], str]:
    """Return counts, five numbers and relative variation of one suite as a row, and the cell that
    varies most."""
    five = ratios.perf.five_number_summary(method="exact")
    spread = ratios.perf.relative_variation()["relative_variation"]
    wide = (five["range"] / five["median"]).quantile([0.5, 1]).values
    cut = spread.quantile([0, 0.5, 1]).values
    row = [
        ratios.sizes["cell"],
        ratios.sizes["benchmark"],
        f"{five['median'].min().item():.2f} to {five['median'].max().item():.2f}",
    ]
    return [*row, *(f"{100 * part:.2f}" for part in (*wide, *cut))], str(
        spread["cell"].values[int(spread.argmax())]
    )


def compare(ratios: xr.DataArray) -> list[object]:
    """Return how many of all other cells each method sees as different from the first."""
    first = ratios["cell"].values[0]
    others = ratios.sizes["cell"] - 1
    pvalues = {
        "t": ratios.perf.score_ratio_interval(first, dim="cell")["pvalue"],
        "sample": ratios.perf.score_ratio_interval(first, dim="cell", random_benchmarks=True)[
            "pvalue"
        ],
        "randomization": ratios.perf.randomization_test(first, dim="cell", rng=1)["pvalue"],
    }
    ranks = ratios.perf.hierarchical_performance_test(first, dim="cell", sides="one")
    seen = [f"{int((pvalue <= 0.05).sum())}" for pvalue in pvalues.values()]
    plan = ratios.perf.required_runs(first, dim="cell", width=0.01)["extrapolated"]
    return [
        others,
        *seen,
        int((ranks["confidence"] >= 0.95).sum()),
        f"{plan.median().item():.0f} ({plan.max().item():.0f})",
    ]


def shape(ratios: xr.DataArray) -> list[object]:
    """Return what two principal components of the logs explain, and how many cells four clusters
    hold."""
    logs = np.log(ratios)
    explained = logs.perf.principal_components(samples="cell")["explained_variance_ratio"]
    sizes = np.unique(logs.perf.cluster_machines(4, samples="cell"), return_counts=True)[1]
    return [f"{100 * part:.1f}" for part in explained[:2].values] + [
        ", ".join(str(size) for size in sizes)
    ]


def together(ratios: xr.DataArray, rng: np.random.Generator) -> list[object]:
    """Return how much more the score varies between the three runs of a cell than it would if
    benchmarks were independent.

    The variance of the mean log over the suite, run by run, relative to what the benchmarks' own
    variances add up to: the median over cells, and for comparison the same with the runs of every
    benchmark in random order (mean and largest of 200 shuffles).
    """
    three = ratios.isel(
        cell=(ratios.notnull().sum("execution") == 3).all("benchmark").values, execution=slice(3)
    )
    logs = np.log(three.dropna("cell").transpose("cell", "benchmark", "execution").values)
    alone = logs.var(axis=-1, ddof=1).sum(axis=-1) / logs.shape[1] ** 2

    def median(values: np.ndarray) -> float:
        return float(np.median(values.mean(axis=1).var(axis=-1, ddof=1) / alone))

    shuffled = [median(rng.permuted(logs, axis=-1)) for _ in range(200)]
    return [len(logs), f"{median(logs):.2f}", f"{np.mean(shuffled):.2f}", f"{max(shuffled):.2f}"]


def tunings(results: xr.Dataset) -> list[list[object]]:
    """Return for every machine and suite of the CSV files: base's five numbers, and peak / base."""
    rows: list[list[object]] = []
    suites = sorted(set(results["suite"].values.ravel()) - {"unknown"})
    for suite, part in (
        (suite, results.where(results["suite"] == suite, drop=True)) for suite in suites
    ):
        for machine in part["machine"].values:
            ratios = part.sel(machine=machine)["ratio"].dropna("benchmark", how="all")
            if not ratios.size:
                continue
            five = ratios.sel(tuning="base").perf.five_number_summary(method="exact")
            found = ratios.perf.score_ratio_interval("base", dim="tuning").squeeze()
            numbers = [f"{five[name].item():.2f}" for name in ("minimum", "median", "maximum")]
            limits = [f"{found[name].item():.3f}" for name in ("lower", "estimate", "upper")]
            rows.append(
                [
                    suite,
                    str(machine)[:24],
                    ratios.sizes["benchmark"],
                    *numbers,
                    int(found["suite_benchmarks"]),
                    *limits,
                ]
            )
    return rows


def table(head: str, rows: list[list[object]]) -> None:
    """Print a table."""
    names = head.split(" | ")
    print(
        "\n".join(
            f"| {' | '.join(map(str, cells))} |" for cells in [names, ["---"] * len(names), *rows]
        ),
        end="\n\n",
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("archives", type=Path)
    archives = parser.parse_args().archives
    warnings.simplefilter("ignore")
    started = time.perf_counter()
    spec = perfarray.read_archive(archives / "spec_txt", format="spec_text", on_error="warn")
    sessions = spec["time"].notnull().any("execution").sum("session").groupby("suite").max()
    print(
        f"{spec.attrs['n_files']} reports of {spec.sizes['machine']} machines, read in "
        f"{time.perf_counter() - started:.0f} s;"
    )
    print(
        f"benchmarks whose runs are all equal: {spec.attrs['n_tied']}; cells with 2 or 3 "
        f"sessions: {int((sessions > 1).sum())}\n"
    )
    merged = spec.perf.merge_level("session")
    suites = {str(name): suite_of(merged, str(name)) for name in np.unique(spec["suite"])}
    described = {name: describe(ratios) for name, ratios in suites.items()}
    head = (
        "suite | cells | benchmarks | medians | range, median % | most | variation, least % | "
        "median | most"
    )
    table(head, [[name, *row] for name, (row, _) in described.items()])
    print(
        "varies most:",
        "; ".join(f"{name}: {cell}" for name, (_, cell) in described.items()),
        end="\n\n",
    )
    head = (
        "suite | compared | t, this suite | t, benchmarks a sample | randomization | HPT "
        "one-sided | runs for width 0.01, median (most)"
    )
    table(head, [[name, *compare(ratios)] for name, ratios in suites.items()])
    table(
        "suite | component 1, % | component 2, % | cells of four clusters",
        [[name, *shape(one)] for name, one in suites.items()],
    )
    rng = np.random.default_rng(1)
    table(
        "suite | cells | together | shuffled | most of 200",
        [[name, *together(one, rng)] for name, one in suites.items()],
    )
    pair = suites["int2017_rate1"].sel(
        cell=["Intel_Core_i9-10980XE, GCC 12.2.0", "Loongson_3C5000, GCC 14.2.0"]
    )
    for shared in (None, "execution"):
        spread = pair.perf.relative_variation(shared=shared)["relative_variation"].values[1]
        found = pair.perf.score_ratio_interval(
            pair["cell"].values[0], dim="cell", shared=shared
        ).squeeze()
        print(
            f"Loongson, shared={shared}: {100 * spread:.1f} %, {found['lower']:.3f} to "
            f"{found['upper']:.3f}"
        )
    results = perfarray.read_archive(archives / "spec_csv", format="spec_csv", on_error="warn")
    table(
        "suite | machine | benchmarks | minimum | median | maximum | compared | lower | peak / "
        "base | upper",
        tunings(results),
    )


if __name__ == "__main__":
    main()
