"""Real samples of 30 or more executions, from a folder of public archives (`research_csv/...`,
`pyperf/...`) that is not shipped.

Other scripts import `samples`; run alone, this one says what there is:

    python docs/scripts/real_samples.py ARCHIVES
"""

import argparse
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import xarray as xr

import perfarray

LEAST = 30
"""Runs a sample must have."""


def samples(archives: Path) -> dict[str, xr.DataArray]:
    """Return every sample by source, each with the dims `benchmark` (the cell's name) and
    `execution`."""
    tables = archives / "research_csv"
    columns = ["program", "compiler", "affinity", "threads"]
    found = {
        "mazouz_specomp": _table(tables / "mazouz_specomp" / "Mazouz.csv.xz", columns, "time"),
        "stabilizer": _table(
            tables / "stabilizer" / "qq_data.csv.xz", ["benchmark", "ext"], "time"
        ),
        "larres_firefox": _table(tables / "larres_firefox" / "o.csv.xz", ["program"], "result"),
        "chen_hpt": _table(tables / "chen_hpt" / "office_rsynth.gcc.basetime.csv.xz", [], "clocks"),
    }
    telco = sorted((archives / "pyperf" / "psf_pyperf").rglob("telco*.json"))
    found["telco"] = xr.concat([_one(path) for path in telco], dim="benchmark")
    return {name: array for name, array in found.items() if array.sizes["benchmark"]}


def _table(path: Path, cells: list[str], value: str) -> xr.DataArray:
    """Read one CSV whose rows are runs in the order they were taken; columns name the cell."""
    frame = pd.read_csv(path)
    names = (
        frame[cells].astype(str).agg(" ".join, axis=1)
        if cells
        else pd.Series("all", index=frame.index)
    )
    times = frame.assign(benchmark=names)[["benchmark", value]].perf.to_timings(
        value={"time": value}
    )["time"]
    return times.isel(benchmark=(times.notnull().sum("execution") >= LEAST).values)


def _one(path: Path) -> xr.DataArray:
    """Read one pyperf file: executions, their iterations averaged."""
    times = (
        perfarray.read(path).perf.drop_warmup()["time"].mean("iteration").reset_coords(drop=True)
    )
    return times.assign_coords(benchmark=[path.stem], execution=range(times.sizes["execution"]))


def describe(found: Mapping[str, xr.DataArray]) -> pd.DataFrame:
    """Count samples and runs by source."""
    runs = {name: array.notnull().sum("execution") for name, array in found.items()}
    rows = [
        (name, len(number), int(number.min()), int(number.max())) for name, number in runs.items()
    ]
    return pd.DataFrame(rows, columns=["source", "samples", "fewest runs", "most runs"]).set_index(
        "source"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("archives", type=Path)
    print(describe(samples(parser.parse_args().archives)))
