"""What `perfarray speedup-test` prints: the report, the warnings, and which way each benchmark went."""

from pathlib import Path
from typing import Any

import xarray as xr
from rich.box import SIMPLE
from rich.table import Table

from perfarray.speedups.files import speedup_report


def run(config: str, options: dict[str, Any]) -> tuple[str, xr.Dataset]:
    """Analyse a configuration, write the four files, and return the text of the report and the result."""
    result = speedup_report(config, **options)
    return Path(f"{result.attrs['files']}.report").read_text(encoding="utf-8"), result


def benchmark_table(result: xr.Dataset) -> Table:
    """Return a row per benchmark: its speedups, and whether they are significant."""
    table = Table(box=SIMPLE, pad_edge=False)
    table.add_column("benchmark")
    for statistic in ("mean", "median"):
        table.add_column(f"speedup ({statistic})", justify="right")
        table.add_column("significant at", justify="right")
        table.add_column("by")
    for benchmark in result["benchmark"].values.tolist():
        cells = [str(benchmark)]
        for statistic in ("mean", "median"):
            one = result.sel(benchmark=benchmark, statistic=statistic)
            found = f"{100 * one['confidence_level'].item():g} %" if one["significant"].item() else "no"
            cells += [f"{one['speedup'].item():.3f}", found, str(one["test"].item())]
        table.add_row(*cells)
    return table
