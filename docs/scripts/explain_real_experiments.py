"""Where the variation comes from in six public experiments that are not shipped, with the nesting
kept.

    python docs/scripts/explain_real_experiments.py ARCHIVES [spec_omp datamill kokkos cloud mlperf
    flags]

SPEC OMP under compilers, affinities and threads (Mazouz and others); seven machines under build and
environment factors (DataMill); Kokkos on the computers of a CI service (Google Benchmark); cloud
instances (Phoronix); training runs (MLPerf); SPEC CPU2017 with and without flags. Every line says
how many independent units it rests on.
"""

import argparse
import json
import re
import tarfile
import warnings
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd

import perfarray


def print_coefficients(title: str, model: "perfarray.VariabilityModel") -> None:
    """Print coefficients with their limits, and the number of units tested."""
    result = model.to_dataset()
    print(f"\n{title}")
    columns = ["coefficient", "coefficient_lower", "coefficient_upper", "pvalue"]
    print(result[columns].to_dataframe()[columns].drop("Intercept").round(4).to_string())
    print("units:", result.attrs["n_test_units"])


def print_influences(title: str, model: "perfarray.VariabilityModel") -> None:
    """Print the correlation on groups not fitted, and the influences."""
    found = model.to_dataset()
    limits = f"[{float(found['correlation_lower']):.2f}, {float(found['correlation_upper']):.2f}]"
    shares = ", ".join(f"{name} {share:.0f}" for name, share in model.influence.head(5).items())
    print(
        f"{title}: correlation {model.correlation:.2f} {limits}, ceiling "
        f"{float(found['noise_ceiling']):.2f}, "
        f"{found.attrs['n']} rows, {found.attrs['n_test_units']} units tested; {shares}"
    )


def spec_omp(archives: Path) -> None:
    """Compiler, affinity and threads: 35 runs of each of 72 settings of 4 programs."""
    frame = pd.read_csv(archives / "research_csv" / "mazouz_specomp" / "Mazouz.csv.xz")
    times = frame.perf.to_timings(
        value="time",
        units="s",
        benchmark="program",
        affinity="affinity",
        threads="threads",
        level="execution",
    )
    parts = []
    for program in times["benchmark"].values:
        one = times["time"].sel(benchmark=[program])
        parts.append(one.perf.machine_table().assign(program=program))
    table = pd.concat(parts, ignore_index=True)
    table["threads"] = table["threads"].astype(float)
    terms = "np.log(threads) + C(compiler) + C(affinity, Treatment('no affinity')) + C(program)"
    for response in ("performance", "relative_variation"):
        for units, groups in (("settings", None), ("programs", "program")):
            model = table.perf.explain_variation(
                model="ols", formula=f"np.log({response}) ~ {terms}", groups=groups, rng=1
            )
            print_coefficients(f"SPEC OMP, {response}, {units} as units", model)
    print_influences(
        "SPEC OMP, relative variation, trees, programs apart",
        table.perf.explain_variation(
            predictors=["threads", "compiler", "affinity"], groups="program", folds=4, rng=1
        ),
    )
    print(
        table.pivot_table(
            index="affinity",
            columns="threads",
            values="relative_variation",
            aggfunc="median",
            observed=True,
        ).round(5)
    )


def datamill(archives: Path) -> None:
    """Seven machines; address randomization, link order, optimisation; each machine is one unit."""
    frame = pd.read_csv(
        archives / "research_csv" / "datamill_icpe13" / "icpe13_datamill_xy.csv.xz",
        low_memory=False,
    )
    factors = ["address_randomization", "link_order", "opt_flag"]
    kept = frame[["hostname", "type", "real", *factors]]
    parts = []
    for program, rows in kept[kept["type"] == "bzip2"].groupby("type"):
        times = rows.drop(columns="type").perf.to_timings(
            value="real",
            units="s",
            machine="hostname",
            level="execution",
            **{name: name for name in factors},
        )
        name = next(iter(times.data_vars))
        parts.append(times[name].perf.machine_table().assign(program=program))
    table = pd.concat(parts, ignore_index=True)
    terms = "C(address_randomization) + C(link_order) + C(opt_flag) + C(machine)"
    for response in ("performance", "relative_variation"):
        model = table.perf.explain_variation(
            model="ols", formula=f"np.log({response}) ~ {terms}", groups="machine", rng=1
        )
        print_coefficients(f"DataMill bzip2, {response}, machines as units", model)
    print_influences(
        "DataMill, relative variation, trees, machines apart",
        table.perf.explain_variation(predictors=factors, groups="machine", folds=7, rng=1),
    )


def kokkos(archives: Path) -> None:
    """CI runs of one suite, one process each: does the clock of the computer that happened to serve
    explain the time?"""
    folder = archives / "google_benchmark" / "kokkos_benchmark-results" / "ubuntu_latest-g++-OPENMP"
    runs = []
    for path in sorted(folder.glob("Kokkos_PerformanceTest_Reduction_*.json")):
        data = json.loads(path.read_text())
        times = {
            one["name"]: one["real_time"]
            for one in data["benchmarks"]
            if one.get("run_type", "iteration") == "iteration"
        }
        stamp = pd.Timestamp(data["context"]["date"])
        runs.append(
            {
                "machine": path.stem,
                "cpu_mhz": float(data["context"]["mhz_per_cpu"]),
                "year": stamp.year + stamp.dayofyear / 366,
                **times,
            }
        )
    table = pd.DataFrame(runs)
    names = [
        name
        for name in table
        if name not in ("machine", "cpu_mhz", "year") and table[name].notna().all()
    ]
    table = table[["machine", "cpu_mhz", "year"]].assign(
        performance=np.exp(np.log(table[names]).mean(axis=1))
    )
    spread = np.log(table["performance"]).std()
    print(
        f"{len(table)} CI runs, {table['cpu_mhz'].nunique()} clocks, {len(names)} benchmarks, "
        f"SD of log {spread:.3f}"
    )
    for model in ("boosting", "ols"):
        print_influences(
            f"Kokkos, {model}",
            table.perf.explain_variation(
                response="performance", predictors=["cpu_mhz", "year"], model=model, rng=1
            ),
        )


def cloud(archives: Path) -> None:
    """Instance types: ten runs of the suite on each, some trials in each; the number of trials
    grows with their variation."""
    found = []
    for path in sorted((archives / "phoronix" / "laertispappas_aws-ec2").glob("*__composite.xml")):
        size, benchmark, _ = path.stem.split("__")
        for result in ElementTree.parse(path).getroot().iter("Result"):
            for number, entry in enumerate(result.iter("Entry")):
                trials = [
                    float(text) for text in (entry.findtext("RawString") or "").split(":") if text
                ]
                label = f"{benchmark} {result.findtext('Description') or ''}".strip()
                found += [
                    {"benchmark": label, "machine": size, "session": number, "time": value}
                    for value in trials
                ]
    frame = pd.DataFrame(found)
    for benchmark, rows in frame.groupby("benchmark"):
        if rows.groupby("machine")["session"].nunique().min() < 5:
            continue
        times = rows.perf.to_timings(value="time", units="s", level="execution")["time"]
        parts = times.perf.variance_components()["coefficient_of_variation"].squeeze("benchmark")
        runs = times.perf.counts()["maximum"].sel(level="session").max().item()
        for machine in parts["machine"].values:
            print(
                f"{benchmark} {machine}: {runs:g} runs,",
                parts.sel(machine=machine).to_series().round(4).to_dict(),
            )


def mlperf(archives: Path) -> None:
    """Training runs, failed ones left out: how much the time to train varies, and whether the task
    or the system explains it."""
    rows = []
    for path in sorted((archives / "mlperf").rglob("*.tar.gz")):
        *_, entry, system, task = path.name.removesuffix(".tar.gz").split("__")
        system = entry if system == "tpu" else system
        with tarfile.open(path) as archive:
            for member in archive:
                stream = (
                    archive.extractfile(member)
                    if "result_" in member.name and member.name.endswith(".txt")
                    else None
                )
                text = stream.read().decode(errors="replace") if stream else ""
                start, stop = (
                    re.findall(rf":::MLPv0\.5\.0 \S+ ([\d.]+) .*?{event}\b(.*)", text)
                    for event in ("run_start", "run_stop")
                )
                if start and stop:
                    failed = "false" in stop[-1][1].lower()
                    rows.append(
                        {
                            "system": system,
                            "task": task,
                            "time": float(stop[-1][0]) - float(start[0][0]),
                            "failed": failed,
                        }
                    )
    frame = pd.DataFrame(rows)
    good = frame[~frame["failed"]].groupby(["task", "system"])["time"]
    table = good.agg(runs="size", mean="mean", relative=lambda x: x.std() / x.mean()).query(
        "runs > 2"
    )
    table["failed"] = frame.groupby(["task", "system"])["failed"].sum()
    print(table.round(3).to_string())


def flags(archives: Path) -> None:
    """SPEC CPU2017 under four sets of flags: environment alone, flags alone, both; machines
    whole."""
    spec = perfarray.read_archive(
        archives / "spec_txt", format="spec_text", on_error="warn"
    ).perf.merge_level("session")
    table = spec.groupby("suite")["int2017_rate1"].perf.machine_table(
        response=("performance", "relative_variation")
    )
    print("\nSPEC flags:", [name for name in table if name.startswith("flag ")])
    hardware = [name for name in ("cpu_mhz", "cores", "chips") if name in table]
    both = [*hardware, *[name for name in table if name.startswith("flag ")]]
    for response in ("performance", "relative_variation"):
        for title, chosen in (("environment", hardware), ("flags", "flags"), ("both", both)):
            model = table.perf.explain_variation(
                response=response, predictors=chosen, groups="machine", rng=1
            )
            print_influences(f"SPEC CPU2017 {response} by {title}", model)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("archives", type=Path)
    parser.add_argument("only", nargs="*")
    given = parser.parse_args()
    for study in (spec_omp, datamill, kokkos, cloud, mlperf, flags):
        if given.only and study.__name__ not in given.only:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            print(f"\n== {study.__name__}", flush=True)
            study(given.archives)
