"""Cells of which every run is left out by a mark are named: they are not cells that nobody
measured."""

import warnings

import numpy as np
import pytest
import xarray as xr

import perfarray


def archive():
    """Three machines: all runs of one failed; of another those of benchmark a, and all but one of
    b; one benchmark was never measured."""
    values = np.random.default_rng(0).lognormal(0, 0.02, (3, 4, 2, 3))
    failed = np.zeros(values.shape, dtype=bool)
    failed[1] = failed[2, 0] = failed[2, 1, :, 1:] = True
    values[failed] = np.nan
    values[0, 3] = np.nan
    labels = {
        "machine": ["sound", "broken", "half"],
        "benchmark": list("abcd"),
        "version": ["old", "new"],
    }
    times = xr.DataArray(
        values, labels, ("machine", "benchmark", "version", "execution"), "time", {"units": "s"}
    )
    return times.assign_coords(failed=(times.dims, failed))


def note(function):
    """Return the note on cells without a run that counts, None where there is none."""
    with warnings.catch_warnings(action="ignore", category=perfarray.PerfarrayWarning):
        notes = function().perf.notes()
    return next((note for note in notes if note.code == "all_marked"), None)


CALLS = {
    "mean_interval": {},
    "compare": {"baseline": "old"},
    "ratio_interval": {"baseline": "old"},
    "suite_score": {},
    "five_number_summary": {"rng": 1, "n_resamples": 19},
    "relative_variation": {},
    "score_ratio_interval": {"baseline": "old"},
    "run_estimate": {},
    "counts": {},
    "variance_components": {},
    "machine_table": {},
}


@pytest.mark.parametrize("name", CALLS)
def test_machine_whose_runs_failed_is_named(name):
    """The machine is named by itself, and the cells of others by their benchmark; cells without
    runs are not counted."""
    times = archive().sel(version="new") if name == "machine_table" else archive()
    marked = note(lambda: getattr(times.perf, name)(**CALLS[name]))
    versions = 1 if name == "machine_table" else 2
    assert (marked.values["cells"], marked.values["of"], marked.aside) == (
        5 * versions,
        11 * versions,
        False,
    )
    assert {label.split(",")[0] for label in marked.values["names"]} == {"broken", "half"}
    assert len(marked.values["names"]) == 2 * versions
    assert "all their runs are marked as failed: 'broken" in marked.message


@pytest.mark.parametrize(("mark", "options"), [("warmup", {}), ("censored", {"censored": "drop"})])
def test_other_marks(mark, options):
    """Cells that hold only warm-up or stopped runs are named too; runs that count as their limits
    are no gaps."""
    times = archive().isel(version=0, machine=0)
    cell = {"benchmark": 1}
    times = times.drop_vars("failed").assign_coords(
        {mark: xr.zeros_like(times, dtype=bool).reset_coords(drop=True)}
    )
    times[mark][cell] = True
    marked = note(lambda: times.perf.mean_interval(**options))
    assert marked.values == {"cells": 1, "of": 3, "names": ["b"]}
    assert f"marked as {mark}: 'b'" in marked.message
    assert mark != "censored" or note(lambda: times.perf.mean_interval(censored="bound")) is None


def test_sound_cells_are_not_named():
    """Neither where some runs failed, nor where nothing was measured, nor copies of other results,
    which have their own note."""
    assert note(archive().sel(machine=["sound"]).perf.mean_interval) is None
    assert note(archive().isel(machine=[2], benchmark=[1, 2]).perf.mean_interval) is None
    copied = (
        archive()
        .sel(machine=["sound"])
        .drop_vars("failed")
        .assign_coords(copied=("benchmark", [True, False, False, False]))
    )
    assert note(copied.perf.mean_interval) is None
