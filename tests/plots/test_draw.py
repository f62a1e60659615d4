"""Which picture belongs to which result, and what every picture promises."""

import re
import sys
import tempfile
from functools import cache
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

import perfarray
from perfarray import plots
from perfarray.accessor import PlotAccessor
from perfarray.diagnostics.curves import against, lagged
from perfarray.plots import rows
from strategies import MANY

pytestmark = pytest.mark.filterwarnings(
    "ignore:(?s).*cells rest on (fewer than 30 units|two executions):UserWarning", "ignore:of comparisons between halves:UserWarning"
)  # few units draw faster

TIMES = xr.DataArray(
    np.array([[[[10.0, 10.2], [9.9, 10.1]], [[9.0, 9.2], [8.9, 9.3]]], [[[5.0, 5.1], [5.2, 4.9]], [[5.3, 5.2], [5.1, 5.5]]]]),
    dims=("benchmark", "version", "execution", "iteration"),
    coords={"benchmark": ["fft", "sort"], "version": ["old", "new"]},
    name="time",
    attrs={"units": "s"},
)

RUNS = perfarray.simulate(sizes={"execution": 50}, variances={"execution": 1e-4}, dims={"benchmark": 6, "version": ["old", "new"]}, rng=1)[
    "time"
]

HISTORY = xr.DataArray(
    np.exp(0.01 * np.random.default_rng(1).normal(size=(2, 20, 2)) + 0.2 * (np.arange(20)[:, None] > 9)),
    dims=("benchmark", "commit", "execution"),
)

NEST = {"sizes": {"execution": 3}, "variances": {"execution": 1e-4}, "dims": {"benchmark": 2}, "n_experiments": 9, "rng": 1}


def report_of_files():
    """The Speedup-Test's report on two benchmarks in files."""
    with tempfile.TemporaryDirectory() as folder:
        lines = ["Name,Sample1,Sample2,ConfLevel,Coef", "fft,old.txt,new.txt,,", "lu,new.txt,old.txt,,"]
        for name, text in (("bench.cfg", lines), ("old.txt", [2.0, 2.1, 1.9]), ("new.txt", [1.0, 1.1, 0.9])):
            Path(folder, name).write_text("\n".join(map(str, text)))
        return perfarray.speedup_report(Path(folder, "bench.cfg"))


RESULTS = {
    "against": lambda: against(RUNS[0, 0].assign_coords(load=("execution", np.arange(50.0))), "load"),
    "agreement": lambda: TIMES.perf.agreement("old", n_resamples=20, rng=1),
    "autocorrelation": lambda: RUNS.perf.autocorrelation(dim="execution"),
    "bootstrap_distribution": lambda: TIMES.perf.bootstrap_distribution(n_resamples=20, rng=1),
    "bootstrap_interval": lambda: TIMES.perf.bootstrap_interval(method="basic", rng=1),
    "calibrate": lambda: RUNS.isel(execution=slice(8)).perf.calibrate(n_splits=9, rng=1),
    "change_points": lambda: HISTORY.perf.change_points(),
    "compare": lambda: TIMES.perf.compare("old"),
    "counts": TIMES.perf.counts,
    "coverage": lambda: perfarray.coverage("ratio_interval", **NEST),
    "distribution": lambda: TIMES.perf.score_ratio_interval("old", distribution=True),
    "estimator_stability": lambda: RUNS.perf.estimator_stability(group_sizes=[1, 3]),
    "ordering_stability": lambda: (RUNS + 0.1 * (RUNS["version"] == "new")).perf.ordering_stability("old", group_sizes=[1, 3]),
    "explain_variation": lambda: (
        perfarray.simulate(sizes={"execution": 5}, variances={"execution": 1e-4}, dims={"machine": 20, "benchmark": 2}, rng=1)
        .assign_coords(cores=("machine", np.arange(20.0)))
        .perf.machine_table()
        .perf.explain_variation(model="ols", rng=1)
        .to_dataset()
    ),
    "false_alarm_rate": lambda: perfarray.false_alarm_rate("compare", **NEST),
    "fit_mixture": lambda: TIMES[0, 0].perf.fit_mixture(value="iteration").to_dataset(),
    "goodness_of_fit": lambda: RUNS[:2, 0].perf.goodness_of_fit(RUNS[:2, 0].perf.fit_mixture(n_components=1), n_resamples=2, rng=1),
    "hierarchical_performance_test": lambda: RUNS.isel(execution=slice(6)).perf.hierarchical_performance_test("old"),
    "mean_difference": lambda: RUNS[:2].perf.mean_difference("old", n_resamples=40, rng=1),
    "prob_faster": lambda: RUNS[:2].perf.prob_faster("old", n_resamples=40, rng=1),
    "prob_fastest": lambda: RUNS[:2].perf.prob_fastest(dim="version", n_resamples=40, rng=1),
    "relative_variation": TIMES.perf.relative_variation,
    "speedup": lambda: TIMES.perf.speedup("old"),
    "lag": lambda: lagged(TIMES[0, 0]),
    "mean_interval": TIMES.perf.mean_interval,
    "mixture": lambda: perfarray.GaussianMixture.from_parameters([0.5, 0.5], [1.0, 2.0], [0.1, 0.1]).to_dataset(),
    "modes_by": lambda: (RUNS[:2, 0] + (np.arange(RUNS.sizes["execution"]) > 3)).perf.modes_by(rng=1),
    "normality": RUNS.perf.normality,
    "steady_state": lambda: RUNS.perf.steady_state(dim="execution"),
    "null_distance": lambda: TIMES[..., 0].perf.goodness_of_fit(levels="execution", n_resamples=3, distribution=True, rng=1),
    "null_distribution": lambda: TIMES.perf.randomization_test("old", method="exact", distribution=True),
    "pairwise": lambda: TIMES.perf.pairwise(dim="version"),
    "plan_repetitions": lambda: TIMES.perf.plan_repetitions(costs={"execution": 5}, budget=500),
    "plan_suite": lambda: TIMES.perf.plan_suite(costs={"execution": 5}, budget=2000, shared="execution"),
    "five_number_summary": lambda: TIMES.perf.five_number_summary(rng=1),
    "power": lambda: perfarray.power("compare", ratio=0.9, **NEST),
    "principal_components": lambda: TIMES[..., 0, 0].perf.principal_components(samples="version"),
    "randomization_test": lambda: TIMES.perf.randomization_test("old", rng=1),
    "ratio_interval": lambda: TIMES.perf.ratio_interval("old"),
    "required_runs": lambda: TIMES.perf.required_runs("old", width=0.5, start=2),
    "required_units": lambda: TIMES.perf.required_units("old", assurance=0.8),
    "score_ratio_interval": lambda: TIMES.perf.score_ratio_interval("old", sensitivity=True),
    "score_distribution": lambda: TIMES.perf.score_distribution(rng=1),
    "stopping": lambda: TIMES.perf.stopping("old", half_width=0.3, start=2),
    "speedup_report": report_of_files,
    "speedup_test": lambda: TIMES.perf.speedup_test("old", confidence_level=0.9),
    "suite_score": TIMES.perf.suite_score,
    "variability_level": lambda: RUNS[:2, 0].perf.variability_level(n_resamples=0, rng=1),
    "variance_components": TIMES.perf.variance_components,
}


@cache
def made(name):
    """Return a result, computed once; that drawing leaves it as it was is tested below."""
    return RESULTS[name]()


def test_every_picture_is_tried_here():
    """The table below the tests is the table of pictures."""
    assert set(RESULTS) == set(plots.PICTURES)


@pytest.mark.parametrize("name", RESULTS)
def test_result_draws_itself_in_a_new_figure(name):
    """`result.perf.plot()` makes one figure with one Axes, returns it, leaves the result as it was, and the picture renders."""
    result = made(name)
    before = result.copy(deep=True)
    ax = result.perf.plot()
    xr.testing.assert_identical(result, before)
    assert plt.get_fignums() == [ax.figure.number]
    assert ax.figure.axes == [ax]
    ax.figure.canvas.draw()


@pytest.mark.parametrize("name", RESULTS)
def test_axes_given_are_used_and_returned(name):
    """`ax=` holds the whole picture; no other figure or Axes appears."""
    figure, (left, right) = plt.subplots(1, 2)
    assert made(name).perf.plot(ax=right) is right
    assert plt.get_fignums() == [figure.number]
    assert figure.axes == [left, right]
    assert not left.has_data()
    assert right.has_data()


ONE_CELL = ("against", "calibrate", "explain_variation", "fit_mixture", "lag", "mixture", "plan_suite", "principal_components")
"""Results of which one cell is drawn at a time, or that have one for all benchmarks."""


SHEETS = [
    *((name, rows.TALLEST) for name in RESULTS if name not in ONE_CELL and (MANY or name == "compare")),
    *((name, 4.0) for name in RESULTS if name not in ONE_CELL),
]
"""Every picture is held to a small sheet, which is drawn soon; and to the sheet that there is: one while people wait, in CI all."""


@pytest.mark.parametrize(("name", "tallest"), SHEETS)
def test_no_picture_is_larger_than_a_sheet(name, tallest, monkeypatch):
    """Of eighty benchmarks or versions as many rows as fit: the figure has its limit, and the title says what is drawn."""
    drawing = [rows, *(sys.modules[getattr(plots, picture).__module__] for picture in set(plots.PICTURES.values()))]
    for module in [module for module in drawing if getattr(module, "TALLEST", None) == rows.TALLEST]:
        monkeypatch.setattr(module, "TALLEST", tallest)
    result = made(name)
    dim = next(dim for dim in ("benchmark", "version") if dim in result.dims)
    many = result.isel({dim: [0] * 80}).assign_coords({dim: [f"label {number}" for number in range(80)]})
    ax = many.perf.plot()
    assert max(ax.figure.get_size_inches()) < tallest + 8
    assert re.search(r"\b\d+ of \d+: ", ax.get_title(loc="left").replace("\n", " "))


@pytest.mark.parametrize("dims", [("benchmark", "version", "iteration", "execution"), ("iteration", "version", "execution", "benchmark")])
@pytest.mark.parametrize("name", ["compare", "variance_components"])
def test_order_of_dims_changes_nothing(name, dims):
    """Groups are benchmarks whichever dim comes first."""
    result = made(name)
    turned = result.transpose(*(dim for dim in dims if dim in result.dims), ...)
    labels = [[text.get_text() for text in drawn.perf.plot().get_yticklabels()] for drawn in (result, turned)]
    assert labels[0] == labels[1]


def test_lazy_results_are_computed():
    """A result of dask arrays is drawn like any other."""
    pytest.importorskip("dask")
    ax = TIMES.chunk({"benchmark": 1}).perf.variance_components().perf.plot()
    assert len(ax.get_yticks()) == 4


ONE = TIMES[0, 0]
COMPUTED = {
    "against": lambda ax: RUNS[0, 0].assign_coords(load=("execution", np.arange(50.0))).perf.plot.against("load", ax=ax),
    "biplot": lambda ax: TIMES[..., 0, 0].perf.plot.biplot(samples="version", ax=ax),
    "cdf_fit": lambda ax: ONE.perf.plot.cdf_fit(value="iteration", max_components=1, ax=ax),
    "counts": lambda ax: TIMES.perf.plot.counts(ax=ax),
    "distribution": lambda ax: TIMES.perf.plot.distribution(n_resamples=20, rng=1, ax=ax),
    "five_numbers": lambda ax: TIMES.perf.plot.five_numbers(method="exact", ax=ax),
    "history": lambda ax: HISTORY.perf.plot.history(ax=ax),
    "influence": lambda ax: (
        perfarray.simulate(sizes={"execution": 5}, variances={"execution": 1e-4}, dims={"machine": 20, "benchmark": 2}, rng=1)
        .assign_coords(cores=("machine", np.arange(20.0)))
        .perf.plot.influence(model="ols", rng=1, ax=ax)
    ),
    "intervals": lambda ax: TIMES.perf.plot.intervals("old", threshold=0.02, ax=ax),
    "lag": lambda ax: ONE.perf.plot.lag(ax=ax),
    "mixture": lambda ax: ONE.perf.plot.mixture(value="iteration", max_components=1, ax=ax),
    "ordering": lambda ax: (RUNS + 0.1 * (RUNS["version"] == "new")).perf.plot.ordering("old", group_sizes=[1, 3], ax=ax),
    "overlay": lambda ax: TIMES.perf.plot.overlay(ax=ax),
    "plan": lambda ax: TIMES.perf.plot.plan(costs={"execution": 5}, budget=500, ax=ax),
    "pvalues": lambda ax: TIMES.perf.plot.pvalues("old", correction="holm", ax=ax),
    "run_sequence": lambda ax: ONE.perf.plot.run_sequence(max_lines=1, ax=ax),
    "scree": lambda ax: TIMES[..., 0, 0].perf.plot.scree(samples="version", ax=ax),
    "stability": lambda ax: RUNS[0, 0].perf.plot.stability(group_sizes=[1, 3], ax=ax),
    "variance_components": lambda ax: TIMES.perf.plot.variance_components(ax=ax),
    "violin": lambda ax: TIMES.perf.plot.violin(relative=True, ax=ax),
}


def test_every_picture_of_timings_is_tried_here():
    """The table above is what the accessor offers, beside the picture of a result as text."""
    assert sorted([*COMPUTED, "svg"]) == [name for name in dir(PlotAccessor) if not name.startswith("_")]


def test_a_picture_is_text():
    """As SVG, the same each time; no figure stays open."""
    result = perfarray.from_samples({"old": [10.0, 10.1, 9.9], "new": [9.0, 9.1, 8.9]}).perf.compare("old")
    before = plt.get_fignums()
    text = result.perf.plot.svg()
    assert text == result.perf.plot.svg()
    assert "</svg>" in text
    assert plt.get_fignums() == before
    with pytest.raises(ValueError, match="no picture for"):
        xr.Dataset().perf.plot.svg()


@pytest.mark.parametrize("name", COMPUTED)
def test_accessor_pictures_compute_and_draw(name):
    """`.plot.<name>(...)` takes the function's keywords, draws on the Axes given, and returns it."""
    figure, (left, right) = plt.subplots(1, 2)
    assert COMPUTED[name](right) is right
    assert figure.axes == [left, right]
    assert right.has_data()
    assert not left.has_data()


def test_accessor_pictures_show_what_was_computed():
    """The comparison with the baseline that was named; the cell that was selected."""
    assert TIMES.perf.plot.intervals("old", threshold=0.02).get_title(loc="left") == "new compared with old"
    assert TIMES.sel(benchmark="fft", version="old").perf.plot.run_sequence().get_title(loc="left") == "fft, old"


def test_unknown_result_is_named_with_the_pictures_there_are():
    """A result without a picture says which results have one."""
    named = ", ".join(sorted(plots.PICTURES))
    with pytest.raises(ValueError, match=rf"no picture for a result of 'formats'; there is one for the results of {named}"):
        plots.draw(xr.Dataset(attrs={"result": "formats"}))


def test_timings_are_not_a_result():
    """Timings say how they are drawn."""
    with pytest.raises(ValueError, match=r"no picture for an object without the attr 'result'.*run_sequence"):
        TIMES.perf.plot()


def test_empty_result_is_said():
    """A selection that left nothing is not an IndexError."""
    with pytest.raises(ValueError, match=r"no cell to draw: its dims are \{'benchmark': 0"):
        TIMES.perf.variance_components().isel(benchmark=[]).perf.plot()


@pytest.mark.parametrize("name", RESULTS)
def test_missing_matplotlib_says_what_to_install(name, monkeypatch):
    """Without matplotlib the message names it and the extra."""
    result = made(name)
    for loaded in [module for module in sys.modules if module.startswith("perfarray.plots")]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.delattr(perfarray, "plots", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"need matplotlib.*install perfarray\[plots\]"):
        result.perf.plot()
    with pytest.raises(ImportError, match=r"need matplotlib.*install perfarray\[plots\]"):
        TIMES.isel(benchmark=0, version=0).perf.plot.run_sequence()


def test_shipped_data_are_drawn():
    """The suite that comes with the package, whole."""
    times = perfarray.load_dataset("c_suite")
    ax = times.perf.compare("O2", threshold=0.02).perf.plot()
    assert [text.get_text() for text in ax.get_yticklabels()][-2:] == ["string_search", "suite (geometric mean)"]
    assert ax.get_title(loc="left") == "O3 compared with O2"
