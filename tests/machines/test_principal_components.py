"""Principal components of machines by benchmarks: the paper's tables, R, gaps, repetitions,
clusters, bad input."""

import numpy as np
import pytest
import xarray as xr

TABLE_17 = [
    [12746, 53600, 14182, 12785, 14473, 13292, 19774],
    [7265, 53581, 9157, 7427, 9154, 7718, 14602],
    [10945, 44492, 12101, 10894, 12379, 11184, 16028],
    [11499, 47084, 12318, 11205, 13062, 11444, 16997],
    [18429, 92291, 18867, 16448, 18915, 17429, 29271],
]
"""Irving et al. (2018), table 17: medians of five machines (rows) on seven benchmarks."""

TABLE_18 = [
    [1.00, 0.82, 1.00, 0.99, 1.00, 1.00, 0.96],
    [0.82, 1.00, 0.83, 0.76, 0.80, 0.78, 0.94],
    [1.00, 0.83, 1.00, 0.99, 1.00, 1.00, 0.97],
    [0.99, 0.76, 0.99, 1.00, 1.00, 1.00, 0.93],
    [1.00, 0.80, 1.00, 1.00, 1.00, 1.00, 0.95],
    [1.00, 0.78, 1.00, 1.00, 1.00, 1.00, 0.95],
    [0.96, 0.94, 0.97, 0.93, 0.95, 0.95, 1.00],
]
"""Table 18: correlations between the benchmarks."""


@pytest.fixture(scope="module")
def medians():
    labels = {"machine": ["1", "2", "3", "4", "5"], "benchmark": list("abcdefg")}
    return xr.DataArray(
        np.array(TABLE_17, float),
        dims=("machine", "benchmark"),
        coords=labels,
        name="time",
        attrs={"units": "s"},
    )


def same_components(result, expected):
    """Compare scores and loadings of the components that have variance."""
    xr.testing.assert_allclose(
        *(
            result[["score", "loading"]].isel(principal_component=slice(4))
            for result in (result, expected)
        )
    )


def test_table_18(medians):
    result = medians.perf.principal_components()["correlation"]
    np.testing.assert_array_equal(result.round(2), TABLE_18)


def test_section_11(medians):
    """Printed: loading 0.91 of b on the first component; two explain over 99.7 %; machines 5 and 2
    stand at the ends."""
    result = medians.perf.principal_components()
    first = result.isel(principal_component=0)
    assert round(first["loading"].sel(benchmark="b").item(), 3) == 0.908
    assert result["explained_variance_ratio"][:2].sum() > 0.997
    assert first["score"].idxmax("machine") == "5"
    assert result["score"].isel(principal_component=1).idxmin("machine") == "2"


@pytest.mark.parametrize("case", [0, 1, 2])
@pytest.mark.parametrize("scale", [False, True])
def test_oracle(golden, case, scale):
    """R's prcomp, up to the sign of a component; components without variance have no direction."""
    table_case = golden("pca")["cases"][case]
    output = table_case["output"]["scaled" if scale else "unscaled"]
    table = xr.DataArray(np.array(table_case["input"]["X"], float), dims=("machine", "benchmark"))
    result = table.assign_coords(
        {dim: range(size) for dim, size in table.sizes.items()}
    ).perf.principal_components(scale=scale)
    np.testing.assert_allclose(
        result["explained_variance_ratio"], output["explained"], rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(
        result["cumulative_variance_ratio"], np.cumsum(output["explained"]), rtol=1e-9
    )
    np.testing.assert_allclose(result["center"], output["center"], rtol=1e-12)
    real = np.array(output["explained"]) > 1e-12
    for name, key in (("loading", "loadings_variables_by_pc"), ("score", "scores_rows_by_pc")):
        expected = np.array(output[key])[:, real]
        loadings = np.array(output["loadings_variables_by_pc"])[:, real]
        signs = np.sign(loadings[np.abs(loadings).argmax(axis=0), np.arange(real.sum())])
        np.testing.assert_allclose(
            result[name].values[:, real],
            expected * signs,
            rtol=1e-9,
            atol=1e-9 * np.abs(expected).max(),
        )


def test_repetitions_are_summarised(medians):
    """Medians of executions whose iterations are averaged; `unit=` takes iterations one by one."""
    noise = xr.DataArray([[-1.0, 3.0], [0.0, 0.0], [7.0, 1.0]], dims=("execution", "iteration"))
    times = (medians + noise).assign_attrs(medians.attrs)
    for keywords, shift in (
        ({}, 1.0),
        ({"unit": "iteration"}, 0.5),
        ({"statistic": "mean"}, 10 / 6),
        ({"statistic": "min"}, 0.0),
    ):
        result = times.perf.principal_components(**keywords)
        np.testing.assert_allclose(result["center"], medians.mean("machine") + shift)
        assert result.attrs["unit"] == keywords.get("unit", "execution")


@pytest.mark.parametrize("chunked", [False, True])
def test_order_of_dims_and_chunks_change_nothing(medians, chunked):
    """The answer is the same, with the dims promised; scores of chunked machines are lazy."""
    pytest.importorskip("dask")
    result = (medians.T.chunk({"machine": 2}) if chunked else medians.T).perf.principal_components()
    assert result["score"].dims == ("machine", "principal_component")
    assert result["loading"].dims == ("benchmark", "principal_component")
    assert (result["score"].chunks is not None) == chunked
    same_components(result, medians.perf.principal_components())


def test_gaps(medians):
    """A benchmark that one machine lacks is dropped; an attr and one warning name it."""
    holes = medians.where((medians["machine"] != "3") | (medians["benchmark"] != "d"))
    with pytest.warns(
        UserWarning, match=r"1 of 7 labels of 'benchmark' are left out for lack of values: 'd'"
    ):
        result = holes.perf.principal_components()
    assert result.attrs["dropped_features"] == "d"
    same_components(result, medians.drop_sel(benchmark="d").perf.principal_components())
    with pytest.raises(TypeError, match=r"no argument 'impute' any more\. fill the gaps"):
        holes.perf.principal_components(impute="mean")


def test_dumps_without_repetitions_are_accepted(medians):
    """A Dataset with one number per machine and benchmark, the metric named where there are
    several."""
    dump = xr.Dataset({"score": medians, "cores": ("machine", np.arange(5.0))})
    with pytest.raises(ValueError, match="metric="):
        dump.perf.principal_components()
    assert dump.perf.principal_components(metric="score").attrs["metric"] == "score"


def test_clusters_of_the_paper(medians):
    """Remark 5: machines 1, 3 and 4 are alike, 2 and 5 each alone; descriptors along machine stay
    on scores and clusters."""
    with_cpus = medians.assign_coords(cpu=("machine", ["a", "b", "b", "c", "d"]))
    clusters = with_cpus.perf.cluster_machines(3)
    assert clusters.values.tolist() == [1, 2, 1, 1, 3]
    assert clusters["cpu"].dims == ("machine",)
    assert with_cpus.perf.principal_components()["cpu"].values.tolist() == ["a", "b", "b", "c", "d"]


def test_the_number_of_clusters_is_chosen_and_named(medians):
    """The largest mean silhouette decides; the answer has the number, the silhouette and the
    criterion, and a note below its table."""
    clusters = medians.perf.cluster_machines()
    assert (clusters["n_clusters"].item(), clusters.attrs["criterion"]) == (
        2,
        "largest mean silhouette",
    )
    silhouettes = [
        medians.perf.cluster_machines(number)["silhouette"].item() for number in (2, 3, 4)
    ]
    assert clusters["silhouette"].item() == max(silhouettes) == silhouettes[0]
    (note,) = clusters.perf.notes()
    assert (note.code, note.values["n_clusters"]) == ("n_clusters", [2])
    assert note.message == (
        f"2 clusters: the largest mean silhouette of 2 to 10, {silhouettes[0]:.2f}. "
        "n_clusters= gives another number."
    )
    assert note.message in clusters.perf.table().attrs["notes"]
    assert (clusters.attrs["n_clusters"], medians.perf.cluster_machines(2).attrs["criterion"]) == (
        2,
        "given",
    )


def test_machines_without_groups_are_said_to_have_none():
    """Silhouettes of machines around one place are small: the note on the number becomes a
    warning."""
    machines = xr.DataArray(
        np.random.default_rng(0).normal(size=(40, 8)), dims=("machine", "benchmark")
    )
    with pytest.warns(
        UserWarning,
        match=(
            r"clusters: the largest mean silhouette of 2 to 10, 0\.[01]\d\. "
            r"Below 0\.25 the machines form no"
        ),
    ):
        machines.perf.cluster_machines()


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        (
            {"samples": "computer"},
            (
                r"samples 'computer' not found.*are no repetitions\. samples= names the one whose "
                "labels are points"
            ),
        ),
        ({"features": "machine"}, "are the same dim"),
        ({"statistic": "mode"}, "statistic='mode' is not known"),
        ({"n_components": 6}, "n_components=6: there are 5"),
        ({"unit": "execution"}, "data without a repetition dim"),
    ],
)
def test_bad_input(medians, keywords, message):
    with pytest.raises(ValueError, match=message):
        medians.perf.principal_components(**keywords)


def test_too_few_data(medians):
    """One machine; constant benchmarks that are to be scaled; more clusters than machines."""
    with pytest.raises(ValueError, match="1 labels of 'machine' and 7 of 'benchmark' are left"):
        medians.isel(machine=[0]).perf.principal_components()
    with pytest.raises(ValueError, match="which is 0 for 'a' of 'benchmark'"):
        medians.where(medians["benchmark"] != "a", 1.0).perf.principal_components(scale=True)
    with pytest.raises(ValueError, match="n_clusters=6: there are 5"):
        medians.perf.cluster_machines(6)


def test_machines_that_are_all_alike():
    """As many clusters as were asked for, without SciPy's warning that a square table of zeros
    looks like distances."""
    equal_machines = xr.DataArray(np.ones((3, 3)), dims=("machine", "benchmark"))
    assert equal_machines.perf.cluster_machines(2).values.tolist() in (
        [1, 1, 2],
        [1, 2, 2],
        [1, 2, 1],
    )


class TestFurtherDims:
    """Dims that are neither samples nor features: each of their cells is analysed alone."""

    @staticmethod
    def table() -> xr.DataArray:
        rng = np.random.default_rng(1)
        coords = {
            "compiler": ["a", "b", "c"],
            "machine": list("zyxw"),
            "benchmark": ["fft", "sort", "hash"],
        }
        table = xr.DataArray(
            rng.normal(9, 1, (3, 4, 3)), dims=tuple(coords), coords=coords, name="score"
        )
        table[1, 2, 1:] = table[2, 1:] = np.nan
        return table

    def test_each_cell_has_its_own_samples(self):
        """The answer of a cell is that of the cell alone; a sample it lacks is NaN, a cell with too
        little data too, in one warning."""
        table = self.table()
        message = (
            "1 of 3 cells along 'compiler' have too little data and are NaN\n1 cells leave out "
            ".*: b: 'x'$"
        )
        with pytest.warns(UserWarning, match=message) as caught:
            result = table.perf.principal_components()
        assert len(caught) == 1
        assert result["machine"].values.tolist() == list("zyxw")
        with pytest.warns(UserWarning, match="left out for lack of values"):
            alone = table.sel(compiler="b").perf.principal_components()
        for name in ("score", "loading", "explained_variance_ratio"):
            of_cell = result[name].sel(compiler="b").transpose(*alone[name].dims)
            np.testing.assert_allclose(
                of_cell.dropna("machine") if "machine" in of_cell.dims else of_cell, alone[name]
            )
        assert all(
            result["score"].sel(cell).isnull().all()
            for cell in ({"compiler": "c"}, {"compiler": "b", "machine": "x"})
        )

    def test_what_nobody_measured_has_no_hole(self):
        """A machine without any value under a compiler is not named; a compiler without any value
        is not counted."""
        table = self.table()
        table[1, 2] = np.nan
        assert not table[:2].perf.principal_components().perf.notes()
        assert not table.where(table["compiler"] == "a").perf.principal_components().perf.notes()

    @pytest.mark.filterwarnings("ignore:.*too little data")
    def test_clusters(self):
        """Labels are integers in every analysis; a sample that an analysis lacks is in cluster 0,
        and no row of the table."""
        clusters = self.table().perf.cluster_machines(2)
        assert clusters.dtype == int
        assert (clusters.sel(compiler="a") > 0).all()
        assert (clusters.sel(compiler="b") == 0).values.tolist() == [False, False, True, False]
        assert (clusters.sel(compiler="c") == 0).all()
        assert clusters["n_clusters"].values.tolist() == [2, 2, 0]
        assert len(clusters.perf.table()) == 7

    @pytest.mark.filterwarnings("ignore:.*too little data")
    def test_an_analysis_of_fewer_machines_than_clusters_is_counted(self):
        """It has no clusters; where no analysis has enough machines, that is an error."""
        with pytest.warns(
            UserWarning, match="1 of 2 cells have fewer than 4 labels of 'machine' and no clusters"
        ):
            clusters = self.table().perf.cluster_machines(4)
        assert clusters.sel(compiler="a").values.tolist() == [1, 2, 3, 4]
        assert not clusters.sel(compiler="b").any()
        with pytest.raises(ValueError, match="n_clusters=5: there are 4"):
            self.table().perf.cluster_machines(5)

    def test_no_cell_with_enough_data(self):
        with pytest.raises(
            ValueError,
            match=(
                "none of 3 cells along 'compiler' has enough data; in the last, 1 labels of "
                "'machine'"
            ),
        ):
            self.table().isel(machine=[0]).perf.principal_components()
