"""Which picture belongs to which result, what every picture promises, and facets: one picture for
each label of a dim."""

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
from method_calls import answer, timings, timings_for
from perfarray import plots
from perfarray.accessor import PlotAccessor
from perfarray.diagnostics.curves import against, lagged
from perfarray.plots.rows import TALLEST
from perfarray.suites.curves import profile
from picture_parts import lines, rows, simulated, texts, title
from strategies import MANY

pytestmark = pytest.mark.filterwarnings(
    "ignore::perfarray.PerfarrayWarning"
)  # few units draw faster

TIMES = xr.DataArray(
    [
        [[[10.0, 10.2], [9.9, 10.1]], [[9.0, 9.2], [8.9, 9.3]]],
        [[[5.0, 5.1], [5.2, 4.9]], [[5.3, 5.2], [5.1, 5.5]]],
    ],
    {"benchmark": ["fft", "sort"], "version": ["old", "new"]},
    ("benchmark", "version", "execution", "iteration"),
    "time",
    {"units": "s"},
)
ONE = TIMES[0, 0]
RUNS = simulated(50, benchmark=6, version=["old", "new"])
LOADED = RUNS[0, 0].assign_coords(load=("execution", np.arange(50.0)))
ORDERED = RUNS + 0.1 * (RUNS["version"] == "new")
DESCRIBED = simulated(5, machine=20, benchmark=2).assign_coords(cores=("machine", np.arange(20.0)))
STEPS = 0.01 * np.random.default_rng(1).normal(size=(2, 20, 2)) + 0.2 * (np.arange(20)[:, None] > 9)
HISTORY = xr.DataArray(np.exp(STEPS), dims=("benchmark", "commit", "execution"))
NEST = {
    "sizes": {"execution": 3},
    "variances": {"execution": 1e-4},
    "dims": {"benchmark": 2},
    "n_experiments": 9,
    "rng": 1,
}


def report_of_files():
    """The Speedup-Test's report on two benchmarks in files."""
    with tempfile.TemporaryDirectory() as folder:
        lines = [
            "Name,Sample1,Sample2,ConfLevel,Coef",
            "fft,old.txt,new.txt,,",
            "lu,new.txt,old.txt,,",
        ]
        for name, text in (
            ("bench.cfg", lines),
            ("old.txt", [2.0, 2.1, 1.9]),
            ("new.txt", [1.0, 1.1, 0.9]),
        ):
            Path(folder, name).write_text("\n".join(map(str, text)))
        return perfarray.speedup_report(Path(folder, "bench.cfg"))


MADE = {
    "against": lambda: against(LOADED, "load"),
    "autocorrelation": lambda: RUNS.perf.autocorrelation(dim="execution"),
    "change_points": lambda: HISTORY.perf.change_points(),
    "cluster_machines": lambda: timings(4).sel(version="new").perf.cluster_machines(2),
    "compare": lambda: TIMES.perf.compare("old"),
    "coverage": lambda: perfarray.coverage("ratio_interval", **NEST),
    "distribution": lambda: TIMES.perf.score_ratio_interval("old", distribution=True),
    "explain_variation": lambda: (
        DESCRIBED.perf.machine_table().perf.explain_variation(model="ols", rng=1).to_dataset()
    ),
    "false_alarm_rate": lambda: perfarray.false_alarm_rate("compare", **NEST),
    "fit_mixture": lambda: TIMES[0, 0].perf.fit_mixture(value="iteration").to_dataset(),
    "goodness_of_fit": lambda: RUNS[:2, 0].perf.goodness_of_fit(
        RUNS[:2, 0].perf.fit_mixture(n_components=1), n_resamples=2, rng=1
    ),
    "lag": lambda: lagged(TIMES[0, 0]),
    "machine_ratios": lambda: timings(4).perf.machine_ratios(),
    "mixture": lambda: perfarray.GaussianMixture.from_parameters(
        [0.5, 0.5], [1.0, 2.0], [0.1, 0.1]
    ).to_dataset(),
    "steady_state": lambda: RUNS.perf.steady_state(dim="execution"),
    "null_distance": lambda: TIMES[..., 0].perf.goodness_of_fit(
        levels="execution", n_resamples=3, distribution=True, rng=1
    ),
    "null_distribution": lambda: TIMES.perf.randomization_test(
        "old", method="exact", distribution=True
    ),
    "plan_repetitions": lambda: TIMES.perf.plan_repetitions(costs={"execution": 5}, budget=500),
    "plan_suite": lambda: TIMES.perf.plan_suite(
        costs={"execution": 5}, budget=2000, shared="execution"
    ),
    "power": lambda: perfarray.power("compare", ratio=0.9, **NEST),
    "principal_components": lambda: TIMES[..., 0, 0].perf.principal_components(samples="version"),
    "profile": lambda: profile(TIMES, dim="version"),
    "randomization_test": lambda: TIMES.perf.randomization_test("old", rng=1),
    "speedup_report": report_of_files,
    "variance_components": TIMES.perf.variance_components,
}
"""Results that no method has by itself, or that are made of other data."""

COMPUTED = {
    "against": lambda ax: LOADED.perf.plot.against("load", ax=ax),
    "biplot": lambda ax: TIMES[..., 0, 0].perf.plot.biplot(samples="version", ax=ax),
    "cdf_fit": lambda ax: ONE.perf.plot.cdf_fit(value="iteration", max_components=1, ax=ax),
    "counts": lambda ax: TIMES.perf.plot.counts(ax=ax),
    "dendrogram": lambda ax: timings(4).sel(version="new").perf.plot.dendrogram(ax=ax),
    "distribution": lambda ax: TIMES.perf.plot.distribution(n_resamples=20, rng=1, ax=ax),
    "five_numbers": lambda ax: TIMES.perf.plot.five_numbers(method="exact", ax=ax),
    "heat_map": lambda ax: timings(4).perf.plot.heat_map(ax=ax),
    "history": lambda ax: HISTORY.perf.plot.history(ax=ax),
    "influence": lambda ax: DESCRIBED.perf.plot.influence(model="ols", rng=1, ax=ax),
    "intervals": lambda ax: TIMES.perf.plot.intervals("old", threshold=0.02, ax=ax),
    "lag": lambda ax: ONE.perf.plot.lag(ax=ax),
    "mixture": lambda ax: ONE.perf.plot.mixture(value="iteration", max_components=1, ax=ax),
    "ordering": lambda ax: ORDERED.perf.plot.ordering("old", group_sizes=[1, 3], ax=ax),
    "overlay": lambda ax: TIMES.perf.plot.overlay(ax=ax),
    "plan": lambda ax: TIMES.perf.plot.plan(costs={"execution": 5}, budget=500, ax=ax),
    "profile": lambda ax: TIMES.perf.plot.profile(dim="version", ax=ax),
    "pvalues": lambda ax: TIMES.perf.plot.pvalues("old", correction="holm", ax=ax),
    "relative_variation": lambda ax: TIMES.perf.plot.relative_variation(ax=ax),
    "run_sequence": lambda ax: ONE.perf.plot.run_sequence(max_lines=1, ax=ax),
    "scree": lambda ax: TIMES[..., 0, 0].perf.plot.scree(samples="version", ax=ax),
    "stability": lambda ax: RUNS[0, 0].perf.plot.stability(group_sizes=[1, 3], ax=ax),
    "variance_components": lambda ax: TIMES.perf.plot.variance_components(ax=ax),
    "violin": lambda ax: TIMES.perf.plot.violin(relative=True, ax=ax),
}


@cache
def result_of(name):
    """Return a result, computed once; that drawing leaves it as it was is tested below."""
    return MADE[name]() if name in MADE else answer(name, timings_for(name, timings(1)))


def test_every_picture_is_tried_here():
    """All that the accessor offers beside the picture of a result as text."""
    assert sorted([*COMPUTED, "png", "svg"]) == [
        name for name in dir(PlotAccessor) if not name.startswith("_")
    ]


@pytest.mark.parametrize("name", plots.PICTURES)
def test_a_result_draws_itself(name):
    """In one new figure with one Axes, or on the Axes given and nowhere else; the result stays as
    it was, and the picture renders."""
    result = result_of(name)
    original = result.copy(deep=True)
    ax = result.perf.plot()
    xr.testing.assert_identical(result, original)
    assert (plt.get_fignums(), ax.figure.axes) == ([ax.figure.number], [ax])
    ax.figure.canvas.draw()
    plt.close(ax.figure)
    check_axes(lambda ax: result.perf.plot(ax=ax))


@pytest.mark.parametrize("name", COMPUTED)
def test_timings_compute_and_draw(name):
    """`.plot.<name>(...)` takes the function's keywords, draws on the Axes given, and returns
    it."""
    check_axes(COMPUTED[name])


def check_axes(draw):
    """Draw on the right one of two Axes: it is returned and has everything."""
    figure, (left, right) = plt.subplots(1, 2)
    assert draw(right) is right
    assert (plt.get_fignums(), figure.axes) == ([figure.number], [left, right])
    assert (left.has_data(), right.has_data()) == (False, True)


# One cell is drawn at a time, or there is one for all benchmarks.
ONE_CELL = (
    "against",
    "calibrate",
    "cluster_machines",
    "explain_variation",
    "fit_mixture",
    "lag",
    "mixture",
    "plan_suite",
    "principal_components",
)
# Every picture is held to a small sheet, which is drawn soon; and to the sheet that there is: one
# while people wait, in CI all.
# A heat map has room for eighty columns on the sheet that there is.
SHEETS = [
    *(
        (name, TALLEST)
        for name in plots.PICTURES
        if name not in (*ONE_CELL, "machine_ratios") and (MANY or name == "compare")
    ),
    *((name, 4.0) for name in plots.PICTURES if name not in ONE_CELL),
]


@pytest.mark.parametrize(("name", "tallest"), SHEETS)
def test_no_picture_is_larger_than_a_sheet(name, tallest, monkeypatch):
    """Of eighty benchmarks or versions as many rows as fit: the figure has its limit, and the title
    says what is drawn."""
    drawing = [sys.modules["perfarray.plots.rows"]]
    drawing += [
        sys.modules[getattr(plots, picture).__module__] for picture in set(plots.PICTURES.values())
    ]
    for module in [module for module in drawing if getattr(module, "TALLEST", None) == TALLEST]:
        monkeypatch.setattr(module, "TALLEST", tallest)
    result = result_of(name)
    dim = next(dim for dim in ("benchmark", "version", "machine") if dim in result.dims)
    ax = (
        result.isel({dim: [0] * 80})
        .assign_coords({dim: [f"label {number}" for number in range(80)]})
        .perf.plot()
    )
    assert max(ax.figure.get_size_inches()) < tallest + 8
    assert re.search(r"\b\d+ of \d+: ", title(ax))


@pytest.mark.parametrize(
    "dims",
    [
        ("benchmark", "version", "iteration", "execution"),
        ("iteration", "version", "execution", "benchmark"),
    ],
)
@pytest.mark.parametrize("name", ["compare", "variance_components"])
def test_order_of_dims_changes_nothing(name, dims):
    """Groups are benchmarks whichever dim comes first."""
    result = result_of(name)
    turned = result.transpose(*(dim for dim in dims if dim in result.dims), ...)
    assert rows(result.perf.plot()) == rows(turned.perf.plot())


def test_lazy_results_are_computed():
    pytest.importorskip("dask")
    assert len(rows(TIMES.chunk({"benchmark": 1}).perf.variance_components().perf.plot())) == 4


def test_a_picture_is_text():
    """As SVG, the same each time; no figure stays open."""
    text = result_of("compare").perf.plot.svg()
    assert text == result_of("compare").perf.plot.svg()
    assert ("</svg>" in text, plt.get_fignums()) == (True, [])


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (
            lambda: plots.draw(xr.Dataset(attrs={"result": "formats"})),
            "no picture for a result of 'formats'; there is one for .*compare",
        ),
        (
            lambda: xr.Dataset().perf.plot.svg(),
            "no picture for an object without the attr 'result'",
        ),
        (
            lambda: TIMES[..., 0, 0].perf.plot(),
            r"no picture for an object without the attr 'result'.*run_sequence",
        ),
        (
            lambda: result_of("variance_components").isel(benchmark=[]).perf.plot(),
            r"no cell to draw: its dims are \{'benchmark': 0",
        ),
    ],
)
def test_what_has_no_picture_says_so(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()


@pytest.mark.parametrize("name", ["compare", "score_distribution"])
def test_missing_matplotlib_says_what_to_install(name, monkeypatch):
    """Without matplotlib the message names it and the extra, of a result with and without curves
    and of timings."""
    result = result_of(name)
    for loaded in [module for module in sys.modules if module.startswith("perfarray.plots")]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.delattr(perfarray, "plots", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for draw in (result.perf.plot, ONE.perf.plot.run_sequence):
        with pytest.raises(ImportError, match=r"need matplotlib.*install perfarray\[plots\]"):
            draw()


def test_shipped_data_are_drawn():
    """The suite that comes with the package, whole."""
    ax = perfarray.load_dataset("c_suite").perf.compare("O2", threshold=0.02).perf.plot()
    assert rows(ax)[-2:] == ["string_search", "suite (geometric mean)"]
    assert title(ax) == "O3 compared with O2"


MACHINES = simulated(
    8, 2, machine=["m1", "m2", "m3"], benchmark=["fft", "sort"], version=["old", "new"]
)
OLD = MACHINES.sel(version="old", drop=True)
MEANS = OLD.perf.mean_interval()


def titles(ax):
    return [title(panel) for panel in ax.figure.axes]


def test_facets_share_what_is_alike():
    """Columns of machines: the same limits, and rows, label and title once."""
    result = MACHINES.perf.compare("old")
    ax = result.perf.plot(col="machine")
    panels = ax.figure.axes
    assert panels[0] is ax
    assert (titles(ax), ax.figure.get_suptitle()) == (["m1", "m2", "m3"], "new compared with old")
    alone = [
        result.sel(machine=[machine]).perf.plot().get_xlim()
        for machine in MACHINES["machine"].values
    ]
    assert {panel.get_xlim() for panel in panels} == {
        (min(low for low, _ in alone), max(high for _, high in alone))
    }
    assert [rows(panel) for panel in panels] == [
        ["fft", "sort", "suite (geometric mean)"],
        [""] * 3,
        [""] * 3,
    ]
    ax = result.perf.plot(row="benchmark", col="machine")
    assert titles(ax) == ["m1, fft", "m2, fft", "m3, fft", "m1, sort", "m2, sort", "m3, sort"]
    assert [bool(panel.get_xlabel()) for panel in ax.figure.axes] == [False] * 3 + [True] * 3


def test_columns_go_on_in_the_next_row():
    """Two columns of three machines leave one place, which is empty; the legend stands once; each
    has its own medians."""
    ax = OLD.perf.plot.violin(col="machine", col_wrap=2)
    assert titles(ax) == ["m1", "m2", "m3"]
    assert [panel.get_subplotspec().num1 for panel in ax.figure.axes] == [0, 1, 2]
    assert [panel.get_legend().get_visible() for panel in ax.figure.axes] == [True, False, False]
    medians = [[line.get_ydata()[0] for line in panel.lines] for panel in ax.figure.axes]
    runs = (
        OLD.mean("iteration")
        .quantile(0.5, "execution", method="inverted_cdf")
        .transpose("machine", "benchmark")
    )
    np.testing.assert_allclose(medians, runs)


def test_pictures_of_timings_and_of_one_cell_have_facets():
    """Runs over each other, mixtures over their runs, measurements in order, lines of group sizes,
    and histograms of an array."""
    means = MACHINES.mean("iteration")
    panels = MACHINES.sel(machine="m1").perf.plot.overlay(kind="cdf", col="benchmark").figure.axes
    expected = np.sort(
        means.sel(machine="m1").transpose("benchmark", "version", "execution"), axis=2
    )
    np.testing.assert_allclose(
        [[line.get_xdata() for line in panel.lines] for panel in panels], expected
    )
    one_benchmark = OLD.sel(benchmark="fft")
    panels = (
        one_benchmark.perf.fit_mixture(n_components=1)
        .plot(times=one_benchmark, col="machine")
        .figure.axes
    )
    ticks = [
        next(line for line in panel.lines if line.get_marker() == "|").get_xdata()
        for panel in panels
    ]
    np.testing.assert_allclose(
        ticks, np.sort(one_benchmark.mean("iteration").transpose("machine", "execution"), axis=1)
    )
    panels = one_benchmark.perf.plot.run_sequence(row="machine").figure.axes
    values = [
        np.concatenate([line.get_ydata() for line in lines(panel, "values")]) for panel in panels
    ]
    np.testing.assert_allclose(
        values, one_benchmark.transpose("machine", "execution", "iteration").values.reshape(3, -1)
    )
    panels = (
        OLD.perf.estimator_stability(group_sizes=[1, 3], statistics="mean")
        .perf.plot(row="benchmark", col="machine")
        .figure.axes
    )
    assert [panel.get_ylabel() for panel in panels] == [
        "standard deviation,\npercent of the estimate",
        "",
        "",
    ] * 2
    panels = (
        OLD.perf.bootstrap_distribution(n_resamples=40, rng=1)
        .perf.plot(col="machine", bins=5)
        .figure.axes
    )
    assert [[len(patch.get_data()[0]) for patch in panel.patches] for panel in panels] == [
        [5, 5]
    ] * 3


def test_axes_that_differ_are_not_shared():
    """Runs of 4 % around their means have axes of their own where one benchmark takes twice as
    long."""
    different_scales = (OLD * xr.DataArray([1.0, 2.0], dims="benchmark")).assign_attrs(OLD.attrs)
    limits = [
        panel.get_ylim()
        for panel in different_scales.isel(machine=0)
        .perf.plot.run_sequence(col="benchmark")
        .figure.axes
    ]
    assert limits[0][1] < limits[1][0]


RATIOS = MACHINES.perf.ratio_interval("old").transpose("machine", "benchmark", "version")
TWENTY = MEANS.isel(machine=[0] * 20).assign_coords(machine=range(20))


@pytest.mark.parametrize(
    ("result", "keywords", "message"),
    [
        (
            RATIOS,
            {"col": "compiler"},
            r"row=None, col='compiler': give different dims .*; "
            r"there are machine, benchmark, version",
        ),
        (RATIOS, {"col": "machine", "row": "machine"}, "give different dims"),
        (RATIOS, {"col_wrap": 2}, "col_wrap=2 is for col alone"),
        (
            RATIOS,
            {"col": "machine", "col_wrap": 0},
            "col_wrap=0 is for col alone, a number of columns of at least 1",
        ),
        (
            RATIOS,
            {"col": "machine", "row": "benchmark", "col_wrap": 2},
            "col_wrap=2 is for col alone",
        ),
        # levels inside a picture, all machines in one, Axes given, more than there is room for
        (
            OLD.perf.variance_components().transpose("machine", "benchmark", "level"),
            {"col": "level"},
            "there are machine, benchmark",
        ),
        (
            OLD.perf.principal_components(),
            {"col": "machine"},
            "shows all cells together, without facets",
        ),
        (MEANS, {"col": "machine", "ax": True}, "facets have a figure of their own"),
        (
            TWENTY,
            {"col": "machine"},
            r"20 pictures of .* in 20 columns do not fit.* Give col_wrap=4, or select fewer",
        ),
    ],
)
def test_what_has_no_facets(result, keywords, message):
    if "ax" in keywords:
        keywords = keywords | {"ax": MEANS.perf.plot()}
    with pytest.raises(ValueError, match=message):
        result.perf.plot(**keywords)


def test_a_label_without_anything_has_an_empty_facet():
    """The others keep their row labels, on the left of the first that is drawn."""
    empty, panel, _ = (
        MACHINES.where(MACHINES["machine"] != "m1")
        .perf.compare("old", dim="version")
        .perf.plot(col="machine")
        .figure.axes
    )
    assert texts(empty) == ["nothing to draw"]
    assert rows(panel)[:2] == ["fft", "sort"]
