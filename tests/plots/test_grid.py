"""A picture for each label of a dim: what each shows, what they share, what is said once, what is refused."""

import numpy as np
import pytest
import xarray as xr

import perfarray

pytestmark = pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")

TIMES = perfarray.simulate(
    sizes={"execution": 8, "iteration": 2}, variances={"execution": 1e-4, "iteration": 1e-4},
    dims={"machine": ["m1", "m2", "m3"], "benchmark": ["fft", "sort"], "version": ["old", "new"]}, rng=1,
)["time"]  # fmt: skip
OLD = TIMES.sel(version="old", drop=True)


def estimates(ax):
    """Return the points of a forest plot, from the first row down."""
    found = {y: x for line in ax.lines if line.get_gid() == "estimates" for x, y in zip(*line.get_data(), strict=True)}
    return [found[y] for y in sorted(found)]


def titles(ax):
    """Return the titles of all facets."""
    return [own.get_title(loc="left") for own in ax.figure.axes]


def test_every_facet_shows_its_part_of_the_result():
    """Columns of machines: each its estimates and its suite, on the same stretch of axis; rows, label and title are said once."""
    found = TIMES.perf.compare("old")
    ax = found.perf.plot(col="machine")
    every = ax.figure.axes
    assert every[0] is ax
    for own, machine in zip(every, TIMES["machine"].values, strict=True):
        cell = found.sel(machine=machine)
        np.testing.assert_allclose(estimates(own), [*cell["estimate"].values.ravel(), cell["suite_estimate"].item()])
    assert titles(ax) == ["m1", "m2", "m3"]
    assert ax.figure.get_suptitle() == "new compared with old"
    assert len({own.get_xlim() for own in every}) == 1
    alone = [found.sel(machine=[machine]).perf.plot().get_xlim() for machine in TIMES["machine"].values]
    assert ax.get_xlim() == (min(low for low, _ in alone), max(high for _, high in alone))
    assert [[label.get_text() for label in own.get_yticklabels()] for own in every[1:]] == [[""] * 3] * 2
    assert [label.get_text() for label in ax.get_yticklabels()] == ["fft", "sort", "suite (geometric mean)"]


def test_rows_and_columns():
    """In reading order, named by both labels; only the lowest facets name the horizontal axis."""
    ax = TIMES.perf.compare("old").perf.plot(row="benchmark", col="machine")
    assert titles(ax) == [f"{machine}, {benchmark}"
                          for benchmark in ("fft", "sort") for machine in ("m1", "m2", "m3")]  # fmt: skip
    assert [bool(own.get_xlabel()) for own in ax.figure.axes] == [False] * 3 + [True] * 3


def test_columns_go_on_in_the_next_row():
    """Two columns of three machines leave one place, which is empty; the legend stands once."""
    ax = OLD.perf.plot.violin(col="machine", col_wrap=2)
    assert titles(ax) == ["m1", "m2", "m3"]
    assert [own.get_subplotspec().num1 for own in ax.figure.axes] == [0, 1, 2]
    assert [own.get_legend().get_visible() for own in ax.figure.axes] == [True, False, False]
    medians = [[line.get_ydata()[0] for line in own.lines] for own in ax.figure.axes]
    runs = OLD.mean("iteration").quantile(0.5, "execution", method="inverted_cdf").transpose("machine", "benchmark")
    np.testing.assert_allclose(medians, runs)


def test_versions_over_each_other_benchmark_by_benchmark():
    """Each facet has the steps of both versions of its benchmark."""
    one = TIMES.sel(machine="m1")
    ax = one.perf.plot.overlay(kind="cdf", col="benchmark")
    steps = [[line.get_xdata() for line in own.lines] for own in ax.figure.axes]
    np.testing.assert_allclose(steps, np.sort(one.mean("iteration").transpose("benchmark", "version", "execution"), axis=2))


def test_pictures_of_one_cell_have_facets():
    """A mixture for each machine over its own runs; measurements in order; size of groups as lines."""
    one = OLD.sel(benchmark="fft")
    ax = one.perf.fit_mixture(n_components=1).plot(times=one, col="machine")
    ticks = [next(line for line in own.lines if line.get_marker() == "|").get_xdata() for own in ax.figure.axes]
    np.testing.assert_allclose(ticks, np.sort(one.mean("iteration").transpose("machine", "execution"), axis=1))
    ax = one.perf.plot.run_sequence(row="machine")
    values = [np.concatenate([line.get_ydata() for line in own.lines if line.get_gid() == "values"]) for own in ax.figure.axes]
    np.testing.assert_allclose(values, one.transpose("machine", "execution", "iteration").values.reshape(3, -1))
    ax = OLD.perf.estimator_stability(group_sizes=[1, 3], statistics="mean").perf.plot(row="benchmark", col="machine")
    assert len(ax.figure.axes) == 6
    assert {own.get_ylabel() for own in ax.figure.axes} == {"", "standard deviation, percent of the estimate"}


def test_axes_that_differ_are_not_shared():
    """A benchmark a thousand times as long has an axis of its own."""
    apart = (OLD * xr.DataArray([1.0, 1000.0], dims="benchmark")).assign_attrs(OLD.attrs)
    limits = [own.get_ylim() for own in apart.isel(machine=0).perf.plot.run_sequence(col="benchmark").figure.axes]
    assert limits[0][1] < limits[1][0]


def test_arrays_and_their_files_have_facets():
    """A bootstrap distribution is no Dataset; its keywords go to every facet."""
    ax = OLD.perf.bootstrap_distribution(n_resamples=40, rng=1).perf.plot(col="machine", bins=5)
    assert [[len(part.get_data()[0]) for part in own.patches] for own in ax.figure.axes] == [[5, 5]] * 3


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        (
            {"col": "compiler"},
            r"row=None, col='compiler': give different dims with a picture for each label; there are machine, benchmark, version",
        ),
        ({"col": "machine", "row": "machine"}, "give different dims"),
        ({"col_wrap": 2}, "col_wrap=2 is for col alone"),
        ({"col": "machine", "col_wrap": 0}, "col_wrap=0 is for col alone, a number of columns of at least 1"),
        ({"col": "machine", "row": "benchmark", "col_wrap": 2}, "col_wrap=2 is for col alone"),
    ],
)
def test_wrong_dims(keywords, message):
    """What came, and what there is."""
    found = TIMES.perf.ratio_interval("old").transpose("machine", "benchmark", "version")
    with pytest.raises(ValueError, match=message):
        found.perf.plot(**keywords)


def test_what_has_no_facets():
    """Levels inside a picture, all machines in one, an Axes given, more than there is room for."""
    with pytest.raises(ValueError, match="there are machine, benchmark"):
        OLD.perf.variance_components().transpose("machine", "benchmark", "level").perf.plot(col="level")
    with pytest.raises(ValueError, match="shows all cells together and has no facets"):
        OLD.perf.principal_components().perf.plot(col="machine")
    with pytest.raises(ValueError, match="facets have a figure of their own"):
        OLD.perf.mean_interval().perf.plot(col="machine", ax=OLD.perf.mean_interval().perf.plot())
    many = xr.concat([OLD.isel(machine=0)] * 20, "machine").assign_coords(machine=range(20))
    with pytest.raises(ValueError, match=r"20 pictures of .* in 20 columns do not fit .* give col_wrap=4, or select fewer"):
        many.perf.mean_interval().perf.plot(col="machine")


def test_a_label_without_anything_has_an_empty_facet():
    """The others keep their row labels, on the left of the first that is drawn; where nothing can be drawn the picture says why."""
    times = perfarray.simulate(
        sizes={"execution": 3},
        variances={"execution": 1e-4},
        dims={"benchmark": 2, "machine": ["a", "b"], "version": ["old", "new"]},
        rng=1,
    )["time"]
    one = times.where(times["machine"] == "b").assign_attrs(times.attrs)
    with pytest.warns(perfarray.PerfarrayWarning, match="no measured value"):
        result = one.perf.compare("old", dim="version")
    first = result.perf.plot(col="machine")
    empty, drawn = first.figure.axes
    assert [text.get_text() for text in empty.texts] == ["nothing to draw"]
    assert [label.get_text() for label in drawn.get_yticklabels()][:2] == ["benchmark0", "benchmark1"]
    first.figure.clear()
