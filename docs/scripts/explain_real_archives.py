"""What explains performance and its variation in two public archives that are not shipped.

    python docs/scripts/explain_real_archives.py ARCHIVES

`spec_dump` (26,238 published SPEC CPU2006 results): a model of performance, its correlation beside
the paper's, and what is left of it when near-copies may not sit on both sides. `spec_txt` (runs of
SPEC CPU2017): variation over machines, with its noise ceiling.
"""

import argparse
import warnings
from pathlib import Path

import pandas as pd

import perfarray

PAPER = {"environment": 0.982, "environment and flags": 0.992, "relative variation": 0.498}


def published(archives: Path, suite: str) -> pd.DataFrame:
    """Return a table of the base results of one suite."""
    dump = perfarray.read(archives / "spec_dump" / "ESEUR_spec" / "cpu2006-results-20140206.csv.xz")
    base = dump["score"].sel(tuning="base")
    return base.isel(machine=(base["suite"] == suite).values).perf.machine_table(
        response="performance"
    )


def line(name: str, model: "perfarray.VariabilityModel", paper: float) -> dict[str, object]:
    """Return one row of the report."""
    found = model.to_dataset()
    limits = f"[{float(found['correlation_lower']):.3f}, {float(found['correlation_upper']):.3f}]"
    first = ", ".join(f"{name} {share:.0f}" for name, share in model.influence.head(5).items())
    return {
        "model": name,
        "correlation": round(model.correlation, 3),
        "interval": limits,
        "paper": paper,
        "rows": found.attrs["n"],
        "test": found.attrs["n_test"],
        "copies": found.attrs["n_test_copies"],
        "ceiling": round(float(found["noise_ceiling"]), 2),
        "influence, percent": first,
    }


def performance(archives: Path, suite: str) -> list[dict[str, object]]:
    """Explain performance: rows at random, then whole vendors, then whole processors apart."""
    table = published(archives, suite)
    texts = [
        "system",
        "cpu_characteristics",
        "orderable",
        "license",
        "tested_by",
        "test_sponsor",
        "suite",
        "cpu",
        "vendor",
    ]
    dates = ["hardware_available", "software_available", "date_tested", "published", "updated"]
    predictors = [
        name for name in table if name not in ["machine", "performance", "n_runs", *texts, *dates]
    ]
    predictors = [name for name in predictors if not name.endswith("_unparsed")]
    rows = []
    for name, groups in (
        (f"{suite}, rows at random", None),
        (f"{suite}, vendors apart", "vendor"),
        (f"{suite}, processors apart", "cpu"),
    ):
        model = table.perf.explain_variation(
            response="performance", predictors=predictors, log=False, groups=groups, splits=1, rng=1
        )
        rows.append(line(name, model, PAPER["environment"]))
    return rows


def variation(archives: Path) -> list[dict[str, object]]:
    """Explain relative variation over machines, each machine on one side only."""
    spec = perfarray.read_archive(archives / "spec_txt", format="spec_text", on_error="warn")
    spec = spec.sel(flags="O3").perf.merge_level("session")
    table = spec.groupby("suite")["int2017_rate1"].perf.machine_table()
    with_zeros = table.attrs["n_zero_variation"]
    rows = []
    for model in ("boosting", "ols"):
        found = table.perf.explain_variation(
            model=model,
            predictors=["cpu_mhz", "cores", "chips", "compiler_version"],
            groups="machine",
            folds=10,
            rng=1,
        )
        rows.append(
            line(
                f"relative variation, {model}, machines apart ({with_zeros} zeros)",
                found,
                PAPER["relative variation"],
            )
        )
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("archives", type=Path)
    parser.add_argument("--suite", default="CINT2006")
    given = parser.parse_args()
    pd.set_option("display.width", 250, "display.max_colwidth", 120, "display.max_columns", 20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = pd.DataFrame(performance(given.archives, given.suite))
        print(report.to_string(index=False), flush=True)
        print(pd.DataFrame(variation(given.archives)).to_string(index=False))
