"""Runs of the benchmarks, kept in files, and what became slower from one to another: by `compare`,
as for any other timings."""

import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import perfarray

Ratios = Mapping[str, Sequence[float]]
"""By row of the table: in every repetition, how many times as long the peer takes."""


def save(ratios: Ratios, path: Path) -> None:
    """Write a run."""
    path.write_text(json.dumps(ratios, indent=1) + "\n")


def against(path: Path, ratios: Ratios, threshold: float = 0.05) -> list[tuple[str, str, str]]:
    """Return what became of every row since the run in a file: its name, its change with limits,
    and the verdict."""
    recorded = json.loads(path.read_text())
    rows = [name for name in ratios if len(recorded.get(name, ())) > 1 and len(ratios[name]) > 1]
    if not rows:
        raise SystemExit(
            f"no row stands in both runs with two repetitions or more: record {path.name} with "
            "--repeat 3, and give it here too"
        )
    samples = {name: [list(recorded[name]), list(ratios[name])] for name in rows}
    times = perfarray.from_samples(
        samples, dim="benchmark", level=("version", "execution"), units="1"
    )
    times = times.assign_coords(version=["before", "now"])
    times["time"].attrs["better"] = "higher"  # how many times as long the peer takes
    with warnings.catch_warnings(action="ignore", category=perfarray.PerfarrayWarning):
        verdicts = perfarray.compare(times, "before", threshold=threshold).sel(version="now")
    cells = [verdicts.sel(benchmark=name) for name in rows]
    texts = [
        " .. ".join(f"{cell[limit].item():.2f}" for limit in ("lower", "estimate", "upper"))
        for cell in cells
    ]
    return [
        (name, text, cell["verdict"].item())
        for name, text, cell in zip(rows, texts, cells, strict=True)
    ]
