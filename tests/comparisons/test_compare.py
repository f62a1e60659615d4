"""compare and pairwise on labelled timings: what is in a result, and where it can go."""

import warnings
from contextlib import nullcontext

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import perfarray
from comparisons.arrays import in_seconds
from strategies import experiments


@pytest.fixture(scope="module")
def suite():
    """Three benchmarks, three versions on two machines; v2 is 5 % faster, v3 5 % slower."""
    factor = xr.DataArray([1.0, 0.95, 1.05], dims="version", coords={"version": ["v1", "v2", "v3"]})
    nest = {
        "sizes": {"execution": 6, "iteration": 3},
        "variances": {"execution": 0.005**2, "iteration": 0.01**2},
    }
    dims = {
        "benchmark": ["fft", "hash", "sort"],
        "version": ["v1", "v2", "v3"],
        "machine": ["m1", "m2"],
    }
    times = perfarray.simulate(**nest, mean=factor, dims=dims, rng=0)
    return times.assign_coords(cpu=("machine", np.array(["amd", "intel"], dtype=object)))


QUIET = pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
CALLS = [(perfarray.compare, {"baseline": "v1"}), (perfarray.pairwise, {"dim": "version"})]
STATSMODELS = {"holm": "holm", "bh": "fdr_bh"}


def warned(message):
    """Expect a warning, where there is a message."""
    return pytest.warns(perfarray.PerfarrayWarning, match=message) if message else nullcontext()


def test_verdicts_and_suite_row(suite):
    """Every variable promised, over the dims that were not consumed, in the order of the data."""
    verdicts = suite.perf.compare("v1", threshold=0.01)
    assert verdicts["estimate"].dims == ("benchmark", "version", "machine")
    assert verdicts["suite_estimate"].dims == ("version", "machine")
    assert verdicts["version"].values.tolist() == ["v2", "v3"]
    assert (verdicts["verdict"].sel(version="v2") == "faster").all()
    assert (verdicts["suite_verdict"].sel(version="v3") == "slower").all()
    assert verdicts["cpu"].dims == ("machine",)
    np.testing.assert_allclose(
        verdicts["suite_estimate"],
        np.exp(np.log(verdicts["estimate"]).mean("benchmark")),
        rtol=1e-12,
    )
    assert verdicts["verdict"].dtype == object
    assert all(
        isinstance(value, str | int | float) and not isinstance(value, bool)
        for value in verdicts.attrs.values()
    )
    assert "units" not in {k for v in ("verdict", "kind") for k in verdicts[v].attrs}
    assert verdicts["estimate"].attrs["units"] == "1"
    machines = suite.perf.compare("v1", across="machine")
    assert machines["suite_estimate"].dims == ("benchmark", "version")
    assert (machines["suite_benchmarks"] == 2).all()


def test_one_cell_is_what_the_function_gives_alone(suite):
    cell = {"benchmark": "hash", "version": "v3", "machine": "m2"}
    verdicts = suite.perf.compare("v1").sel(cell)
    alone = suite.sel(cell | {"version": ["v1", "v3"]}).perf.compare("v1").squeeze("version")
    for name in ("estimate", "lower", "upper", "pvalue", "df"):
        np.testing.assert_allclose(verdicts[name], alone[name], rtol=1e-12)
    np.testing.assert_allclose(
        verdicts["lower"], suite.perf.ratio_interval("v1").sel(cell)["lower"]
    )


@QUIET
@pytest.mark.parametrize(
    "method", ["fieller", "log_delta", "studentized", "percentile", "basic", "bca"]
)
@pytest.mark.parametrize("options", [{}, {"shared": "execution"}, {"paired": "execution"}])
def test_equal_constants_are_an_equivalent_suite(method, options):
    """The suite row says of values that never differ what the rows say, however many units there
    are a side."""
    values = np.full((3, 2, 7), 0.1)
    values[:, 0, 3:] = np.nan
    times, ask = (
        in_seconds(values, "benchmark", "version", "execution"),
        {"n_resamples": 99, "rng": 1},
    )
    verdicts = times.perf.compare("old", method=method, **ask, **options)
    assert (verdicts["verdict"] == "equivalent").all()
    assert verdicts["suite_verdict"].item() == "equivalent"
    assert [verdicts[f"suite_{name}"].item() for name in ("lower", "estimate", "upper")] == [
        1.0,
        1.0,
        1.0,
    ]
    slower = times.where(times["version"] == "old", 1.25 * times).assign_attrs(units="s")
    verdicts = slower.perf.compare("old", method=method, **ask, **options)
    assert verdicts["suite_verdict"].item() == "slower"
    assert ((verdicts["verdict"] == "slower") & (verdicts["lower"] == 1.25)).all()


@QUIET
@pytest.mark.parametrize("method", ["fieller", "delta", "studentized", "bca"])
@pytest.mark.parametrize(
    "options", [{}, {"correction": "holm"}, {"paired": "execution"}, {"shared": "execution"}]
)
def test_one_benchmark_is_its_own_suite(method, options):
    """Row and suite row are one interval, p and verdict: without benchmarks, and in a suite of
    which one was measured on both sides."""
    noise = np.random.default_rng(3).normal(1, 0.2, (40, 3, 2, 4))
    cases = in_seconds(np.abs(noise), "case", "benchmark", "version", "execution")
    cases = cases.where((cases["benchmark"] == 1) | (cases["version"] == "old"))
    ask, alone = {"method": method, "n_resamples": 99, "rng": 1} | options, cases.isel(benchmark=1)
    for times in (cases, alone):
        verdicts = times.perf.compare("old", **ask).squeeze("version")
        row = verdicts.isel(benchmark=1) if "benchmark" in verdicts.dims else verdicts
        for name in ("estimate", "df", "n", "pvalue"):
            np.testing.assert_array_equal(row[f"suite_{name}"], row[name])
        assert (row["suite_benchmarks"] == 1).all()
    plain = alone.perf.compare("old", **ask | {"correction": None}).squeeze("version")
    for name in ("lower", "upper", "kind", "verdict"):
        np.testing.assert_array_equal(verdicts[f"suite_{name}"], plain[name])


@pytest.mark.parametrize("correction", ["holm", "bh"])
def test_a_family_is_what_is_corrected_together(suite, correction):
    """Every verdict of the call: the p-values of statsmodels, intervals at their levels."""
    from statsmodels.stats.multitest import multipletests

    three_units = suite.isel(execution=slice(0, 3))
    verdicts = three_units.perf.compare("v1", threshold=0.01, correction=correction)
    together = verdicts["pvalue"].dims
    cells = verdicts.transpose(..., *together)
    level = np.broadcast_to(
        verdicts["interval_level"].broadcast_like(cells["pvalue"]).transpose(..., *together),
        cells["pvalue"].shape,
    )
    families = int(np.prod([verdicts.sizes[dim] for dim in together]))
    for raw, adjusted in (
        ("pvalue", "pvalue_adjusted"),
        ("pvalue_equivalent", "pvalue_equivalent_adjusted"),
    ):
        for family, corrected in zip(
            cells[raw].values.reshape(-1, families),
            cells[adjusted].values.reshape(-1, families),
            strict=True,
        ):
            np.testing.assert_allclose(
                corrected, multipletests(family, method=STATSMODELS[correction])[1], rtol=1e-12
            )
    for corrected, levels in zip(
        cells["pvalue_adjusted"].values.reshape(-1, families),
        level.reshape(-1, families),
        strict=True,
    ):
        rejected = 1 if correction == "holm" else max((corrected <= 0.05).sum(), 1)
        np.testing.assert_allclose(levels, 1 - rejected * 0.05 / families)
    assert verdicts.attrs["family"] == " ".join(sorted(together))
    is_decided = verdicts["verdict"].isin(["faster", "slower"])
    assert (is_decided == (verdicts["pvalue_adjusted"] <= 0.05)).all()
    assert (
        (verdicts["verdict"] == "equivalent")
        == (verdicts["pvalue_equivalent_adjusted"] <= 0.025) & ~is_decided
    ).all()
    plain = three_units.perf.compare("v1", threshold=0.01)
    for name in ("suite_lower", "suite_upper", "suite_pvalue", "suite_verdict"):
        np.testing.assert_array_equal(verdicts[name], plain[name])


@pytest.mark.parametrize("correction", ["holm", "bh"])
@pytest.mark.parametrize(("function", "call"), CALLS)
@QUIET
def test_metrics_of_a_call_are_one_family(suite, correction, function, call):
    """Verdicts on several metrics are corrected together, whichever end of them is good."""
    from statsmodels.stats.multitest import multipletests

    three_units = suite.isel(execution=slice(0, 3))
    rate = (100 / three_units["time"].roll(execution=1)).assign_attrs(units="1/s", better="higher")
    two_metrics = three_units.assign(
        rate=rate.where((rate["machine"] == "m1") | (rate["benchmark"] == "fft"))
    )
    options = {"metric": ["time", "rate"], "correction": correction, "threshold": 0.01}
    together = function(two_metrics, **call, **options)
    assert set(together.attrs["family"].split()) == set(together["pvalue"].dims)
    once = together["pvalue"]
    if "dim" in call:
        once = once.where(xr.DataArray(np.tri(3, k=-1, dtype=bool), dims=("version", "baseline")))
    measured = once.notnull().values
    expected = multipletests(once.values[measured], method=STATSMODELS[correction])[1]
    np.testing.assert_allclose(
        together["pvalue_adjusted"].transpose(*once.dims).values[measured], expected, rtol=1e-9
    )
    assert (
        (together["verdict"].isin(["faster", "slower"])) == (together["pvalue_adjusted"] <= 0.05)
    ).all()


def test_suites_apart_have_rows_of_their_own(suite):
    """Suites give what each gives alone; benchmarks keep their rows and corrections, a lazy result
    its laziness, draws their key."""
    mixed = suite.assign_coords(suite=("benchmark", ["int", "fp", "int"]))
    for function, call in CALLS:
        one_suite, by_suite = (
            function(suite, **call, correction="holm"),
            function(mixed, **call, correction="holm"),
        )
        xr.testing.assert_equal(by_suite, function(mixed, **call, correction="holm", by="suite"))
        assert by_suite["suite"].values.tolist() == ["int", "fp"]
        np.testing.assert_array_equal(by_suite["benchmark_suite"], mixed["suite"])
        for label in ("int", "fp"):
            alone = function(mixed.sel(benchmark=mixed["suite"] == label), **call)
            assert "suites" not in alone.attrs
            for name in by_suite.data_vars:
                if name.startswith("suite_"):
                    np.testing.assert_array_equal(by_suite[name].sel(suite=label), alone[name])
                else:
                    np.testing.assert_array_equal(by_suite[name], one_suite[name])
    lazy = mixed.chunk({"machine": 1}).perf.compare("v1", by="suite")
    assert lazy.chunks
    xr.testing.assert_allclose(lazy.compute(), mixed.perf.compare("v1", by="suite"))
    verdicts = mixed.perf.compare("v1", by="suite", method="studentized", n_resamples=99)
    repeated = mixed.perf.compare(
        "v1", by="suite", method="studentized", n_resamples=99, rng=verdicts.attrs["rng_key"]
    )
    xr.testing.assert_identical(repeated, verdicts)
    with pytest.raises(
        ValueError, match="by='group' is not a coordinate along 'benchmark'; these are: 'suite'"
    ):
        mixed.perf.compare("v1", by="group")


def test_suites_along_other_dims_as_well():
    """A file without a benchmark leaves holes: each benchmark is of the suite that is named, and of
    several of none."""
    dims = {"benchmark": ["a", "b", "c"], "version": ["old", "new"]}
    times = perfarray.simulate(
        sizes={"execution": 5}, variances={"execution": 1e-4}, dims=dims, rng=1
    )
    suites = [["int", "unknown"], ["int", "int"], ["unknown", "fp"]]
    with_suites = times.assign_coords(
        suite=(("benchmark", "version"), np.array(suites, dtype=object))
    )
    verdicts = with_suites.perf.compare("old", by="suite")
    expected = times.assign_coords(suite=("benchmark", ["int", "int", "fp"])).perf.compare(
        "old", by="suite"
    )
    xr.testing.assert_equal(
        verdicts.drop_vars("benchmark_suite"), expected.drop_vars("benchmark_suite")
    )
    suites[0][1] = "fp"
    mixed = times.assign_coords(suite=(("benchmark", "version"), np.array(suites, dtype=object)))
    with pytest.raises(
        ValueError,
        match="different suites are not compared: 'fp' against 'int' in the baseline, of 1 cell ",
    ):
        mixed.perf.compare("old", by="suite")


def test_a_family_names_dims_of_the_answer_alone(suite):
    """A level is none, and a single benchmark without a dim is not in the family."""
    attrs = suite.perf.compare("v1", correction="holm").attrs
    assert attrs["family"] == "benchmark machine version"
    times = perfarray.simulate(
        sizes={"execution": 5},
        variances={"execution": 1e-4},
        dims={"version": ["a", "b", "c"]},
        rng=1,
    )
    assert (
        times.perf.pairwise(dim="version", correction="holm").attrs["family"] == "baseline version"
    )
    assert times.perf.compare("a", correction="holm").attrs["family"] == "version"
    assert times.isel(version=[0, 1]).squeeze().perf.compare("a", correction="bh")[
        "interval_level"
    ].item() == pytest.approx(0.95)


def test_pairs_of_a_family_count_once(suite):
    """Of 3 versions there are 3 pairs, of which each and its reverse has the same corrected p."""
    four_units, call = suite.isel(execution=slice(0, 4)), {"dim": "version", "correction": "holm"}
    verdicts = four_units.perf.pairwise(**call)
    np.testing.assert_allclose(
        verdicts["interval_level"].where(verdicts["pvalue"].notnull()).max(), 1 - 0.05 / (3 * 3 * 2)
    )
    for name in ("pvalue", "pvalue_adjusted"):
        mirrored = verdicts[name].values.swapaxes(
            verdicts[name].dims.index("version"), verdicts[name].dims.index("baseline")
        )
        np.testing.assert_allclose(verdicts[name].values, mirrored, rtol=1e-9)


def test_pairwise_is_compare_against_every_label(suite):
    """Along `baseline`, with NaN where a label meets itself."""
    verdicts = suite.perf.pairwise(dim="version", threshold=0.01)
    assert verdicts["estimate"].dims == ("benchmark", "version", "machine", "baseline")
    for label in ("v1", "v2", "v3"):
        expected = suite.perf.compare(label, threshold=0.01)
        against_label = verdicts.sel(baseline=label).sel(version=expected["version"])
        np.testing.assert_allclose(against_label["upper"], expected["upper"])
        assert (against_label["verdict"] == expected["verdict"]).all()
        assert np.isnan(verdicts["estimate"].sel(baseline=label, version=label)).all()
        assert (verdicts["verdict"].sel(baseline=label, version=label) == "inconclusive").all()
    with pytest.raises(ValueError, match="nothing to compare: dim 'version' has the labels 'v1'"):
        suite.sel(version=["v1"]).perf.pairwise(dim="version")
    with pytest.warns(UserWarning, match="rest on one execution") as caught:
        suite.isel(execution=[0]).perf.pairwise(dim="version")
    assert len(caught) == 1


def test_pairwise_keeps_what_is_known_of_its_labels(suite):
    """Of every label, the first too, and by benchmark and label; a dim `baseline` of the data is
    refused."""
    build, flags = (
        np.array(values, dtype=object) for values in (["a", "b", "c"], [["x", "y", "z"]] * 3)
    )
    with_descriptors = suite.assign_coords(
        build=("version", build), flags=(("benchmark", "version"), flags)
    )
    pairs, alone = (
        times.perf.pairwise(dim="version")
        for times in (with_descriptors, with_descriptors.sel(benchmark="fft", drop=True))
    )
    assert pairs["build"].values.tolist() == alone["build"].values.tolist() == ["a", "b", "c"]
    assert pairs["flags"].sel(benchmark="fft").values.tolist() == ["x", "y", "z"]
    with pytest.raises(ValueError, match=r"rename\({'baseline': 'data_baseline'}\)"):
        suite.rename(version="baseline").perf.pairwise(dim="baseline")


def test_groupby_map(suite):
    grouped = suite.groupby("cpu").map(lambda group: group.perf.compare("v1"))["estimate"]
    intel = (
        grouped.where(grouped["cpu"] == "intel", drop=True)
        .squeeze()
        .transpose("benchmark", "version")
    )
    np.testing.assert_allclose(intel, suite.perf.compare("v1")["estimate"].sel(machine="m2"))


@pytest.mark.parametrize("chunked", [False, True])
def test_single_precision_is_widened_first(chunked):
    """Values stored as float32 give what the same values give as float64, in memory and lazily: p,
    limits and verdict agree."""
    noise = np.random.default_rng(0).normal(size=(50, 2, 10))
    narrow = in_seconds(np.float32(0.25 * (1 + 2e-4 * noise)), "benchmark", "version", "execution")
    wide = narrow.astype(float)
    if chunked:
        pytest.importorskip("dask.array")
        narrow = narrow.chunk(benchmark=10)
    for name, keywords in (
        ("mean_interval", {}),
        ("ratio_interval", {"baseline": "old"}),
        ("compare", {"baseline": "old"}),
    ):
        verdicts, expected = (
            getattr(times.perf, name)(**keywords).compute() for times in (narrow, wide)
        )
        xr.testing.assert_identical(verdicts.drop_attrs(), expected.drop_attrs())
        assert (verdicts["upper"] > verdicts["lower"]).all()
    assert ((verdicts["pvalue"] <= 0.05) == (verdicts["verdict"] != "inconclusive")).all()


def suite_of_builds(correlation, seed=4, **dims):
    """Return timings of a suite whose builds move together, without saying that they are shared."""
    nest = {
        "sizes": {"binary": 6, "execution": 2},
        "variances": {"binary": 4e-4, "execution": 1e-6},
        "shared": {"binary": correlation},
    }
    times = perfarray.simulate(
        **nest, dims={"benchmark": 12, "version": ["old", "new"], **dims}, rng=seed
    )
    return times["time"].drop_attrs().assign_attrs(units="s", better="lower")


@pytest.mark.parametrize("lazy", [False, True])
def test_correlated_benchmarks_are_noted(lazy):
    """One note names `shared=` and the correlation, also of pairs of labels and of all methods;
    declared units and pairs need none."""
    times = suite_of_builds(0.5)
    if lazy:
        pytest.importorskip("dask.array")
    with warned(None if lazy else "shared='binary'"):
        verdicts = (times.chunk(version=1) if lazy else times).perf.compare("old").compute()
    (note,) = verdicts.perf.notes()
    assert note.code == "move_together"
    assert note.values["correlation"] == pytest.approx(verdicts["suite_correlation"].item())
    assert 0.0 < note.values["correlation"] < 1.0
    for options in ({"shared": "binary"}, {"shared": ()}, {"paired": "binary"}):
        assert not times.perf.compare("old", **options).perf.notes()
    assert not times.isel(benchmark=slice(0, 1)).perf.compare("old").perf.notes()
    with warned("shared='binary'"):
        for result in (
            times.perf.pairwise(dim="version"),
            times.perf.agreement("old", n_resamples=50, rng=1),
        ):
            assert [note.code for note in result.perf.notes()] == ["move_together"]


def test_independent_benchmarks_are_not_noted():
    """Of 400 suites with independent benchmarks at most 5 % have a small p-value, and none after
    correction."""
    times = suite_of_builds(0.0, case=400)
    pvalue = times.perf.compare("old", shared=())["suite_correlation_pvalue"]
    assert (pvalue <= 0.05).mean() < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 400)
    assert pvalue.min() * pvalue.size > 0.05


def test_what_one_comparison_says_beside_the_verdict():
    """Means in the units of the data; the smallest change; whether a slowdown beyond the threshold
    is ruled out."""
    new, old = np.array([9.0, 9.2, 8.9, 9.1]), np.array([10.0, 10.3, 9.9, 10.1])
    times = perfarray.from_samples({"old": old.tolist(), "new": new.tolist()})
    verdicts = times.perf.compare("old", threshold=0.02).squeeze()
    assert (verdicts["candidate_mean"].item(), verdicts["baseline_mean"].item()) == pytest.approx(
        (new.mean(), old.mean()), rel=1e-12
    )
    assert verdicts["candidate_mean"].attrs["units"] == "s"
    error = np.hypot(stats.sem(new) / new.mean(), stats.sem(old) / old.mean())
    quantiles = stats.t.ppf([0.975, 0.8], verdicts["df"].item()).sum()
    assert verdicts["smallest_change"].item() == pytest.approx(1.02 * np.exp(quantiles * error) - 1)
    assert verdicts["not_slower"].item()
    assert verdicts["pvalue_not_slower"].item() <= 0.025
    slow = xr.concat([times.sel(version=["old"]), times.sel(version=["new"]) * (10 / 9)], "version")
    slow = slow.assign(time=slow["time"].assign_attrs(units="s", better="lower"))
    upper = slow.perf.compare("old")["upper"].item()
    assert slow.perf.compare("old", threshold=upper - 1 + 1e-9)["not_slower"].item()
    assert not slow.perf.compare("old", threshold=upper - 1 - 1e-9)["not_slower"].item()


def test_intervals_of_equivalents_lie_inside_the_band():
    """With Benjamini and Hochberg's correction too: every verdict counts for the level of the
    intervals."""
    values = np.random.default_rng(22).normal(1, 0.01, (2, 40, 8))
    values[1, :2] *= 1.5
    new, old = (in_seconds(side, "benchmark", "execution") for side in values[::-1])
    verdicts = new.perf.compare(old, threshold=0.015, correction="bh")
    equivalent = verdicts["verdict"] == "equivalent"
    assert equivalent.sum() == 13
    assert (
        ((verdicts["lower"] > 0.985) & (verdicts["upper"] < 1.015)).values[equivalent.values].all()
    )
    assert (verdicts["interval_level"] == 1 - 15 * 0.05 / 40).all()


@pytest.mark.slow
def test_the_smallest_change_is_seen_with_80_percent_power():
    """A candidate slower by the mean smallest change is called slower in 77, 79 and 80 % of
    comparisons at 5, 10 and 30 units a side."""
    rng, count = np.random.default_rng(3), experiments(10_000)
    for units, expected in ((5, 0.77), (10, 0.785), (30, 0.80)):
        old, candidate = (
            in_seconds(rng.normal(1, 0.02, (count, units)), "case", "execution") for _ in range(2)
        )
        change = float(candidate.perf.compare(old)["smallest_change"].mean())
        power = float(
            (
                ((1 + change) * candidate).assign_attrs(units="s").perf.compare(old)["verdict"]
                == "slower"
            ).mean()
        )
        assert power == pytest.approx(expected, abs=4 * np.sqrt(0.8 * 0.2 / count))


@pytest.mark.parametrize("name", ["compare", "ratio_interval"])
@pytest.mark.parametrize("lazy", [False, True])
def test_few_units_on_a_side_are_noted(name, lazy):
    """Two on a side; a noisier side, or a mean, that is not normal; not where the other side has
    the error, or in pairs."""
    steady, modes = [10.0, 10.1, 9.9, 10.05, 9.95], [9.0, 9.01, 8.99, 9.02, 13.0]
    mean = perfarray.from_samples({"old": steady, "new": modes}).rename(version="benchmark")
    with warned(None if lazy else "1 of 2 cells rest on fewer than 10"):
        interval = (mean.chunk(benchmark=1) if lazy else mean).perf.mean_interval().compute()
    assert [note.code for note in interval.perf.notes()] == ["few_skewed_units"]
    assert (interval["normality_pvalue"] <= 0.025).to_series().to_dict() == {
        "old": False,
        "new": True,
    }
    assert not mean.perf.mean_interval(method="studentized", rng=1).perf.notes()

    def codes(new, old, **options):
        times = perfarray.from_samples({"old": old, "new": new})
        times = times.chunk(version=1) if lazy else times
        return [
            note.code for note in getattr(times.perf, name)("old", **options).compute().perf.notes()
        ]

    with warned(None if lazy else "rest on two executions on a side"):
        assert codes(modes[:2], steady) == ["few_units"]
    with warned(None if lazy else "the candidate in 1, the baseline in 0"):
        assert codes(modes, steady) == ["few_skewed_units"]
    with warned(None if lazy else "the candidate in 0, the baseline in 1"):
        assert codes(steady, modes) == ["few_skewed_units"]
    assert not codes(steady, modes[:4])
    assert not codes(modes, modes)
    assert not codes(modes, steady, paired="execution")


@pytest.mark.parametrize("units", [3, 5, 9])
def test_rounded_values_are_not_called_skewed(units):
    """Normal values rounded to their standard deviation: among 2,000 cells no p is small enough to
    name one."""
    noisy = in_seconds(
        np.random.default_rng(3).normal(100, 1, (2000, units)).round(), "case", "execution"
    )
    steady = xr.full_like(noisy, 100.0) + xr.DataArray(
        np.linspace(-0.1, 0.1, units), dims="execution"
    )
    with warnings.catch_warnings(action="ignore"):
        results = [
            noisy.perf.mean_interval(),
            noisy.perf.ratio_interval(steady.assign_attrs(units="s")),
        ]
    for verdicts in results:
        assert float((verdicts["normality_pvalue"] <= 0.05).mean()) < 0.05
        assert {note.code for note in verdicts.perf.notes()} <= {"no_spread"}


@pytest.mark.slow
def test_few_noisy_units_are_noted_where_limits_fail():
    """Of two modes in five runs a note is given in most comparisons, of normal runs in 5 % at most
    (one cell a call)."""
    rng, count = np.random.default_rng(5), 4000
    rates = {}
    for law in ("normal", "two modes"):
        noise = rng.normal(size=(count, 5)) + (
            20 * (rng.random((count, 5)) < 0.2) if law == "two modes" else 0
        )
        sides = ((0.02, noise), (0.004, rng.normal(size=(count, 5))))
        new, old = (in_seconds(1 + spread * noise, "case", "execution") for spread, noise in sides)
        with warnings.catch_warnings(action="ignore"):
            interval = new.perf.ratio_interval(old)
        rates[law] = float((interval["normality_pvalue"] <= 0.05).mean())
    assert rates["normal"] < 0.05 + 4 * np.sqrt(0.05 * 0.95 / count)
    assert rates["two modes"] > 0.6


def test_many_pairs_say_what_nothing_corrects(suite):
    """Of p pairs alike, each told apart in 5 %: the table gives 1 - 0.95^p, and none of a corrected
    call or of a single pair."""
    five_units = suite.isel(execution=slice(0, 5), machine=0, drop=True)
    verdicts = five_units.perf.pairwise(dim="version", shared=())
    sentence = (
        "9 verdicts at once: up to 37 % probability of a false difference "
        "(correction='holm' bounds it)"
    )
    assert sentence in verdicts.perf.table().attrs["about"].split("; ")
    assert (
        "3 verdicts at once: up to 14 % probability"
        in verdicts.sel(benchmark="fft").perf.table().attrs["about"]
    )
    assert "6 verdicts at once" in verdicts.sel(baseline="v1").perf.table().attrs["about"]
    for correction in ("holm", "bh"):
        assert (
            "at once"
            not in five_units.perf.pairwise(dim="version", shared=(), correction=correction)
            .perf.table()
            .attrs["about"]
        )
    assert (
        "at once"
        not in five_units.isel(benchmark=0, version=[0, 1])
        .perf.pairwise(dim="version")
        .perf.table()
        .attrs["about"]
    )


def test_answers_beyond_memory_are_an_error_beforehand(monkeypatch):
    """The message gives what they would take; as many pairs of labels as fit are compared."""
    monkeypatch.setattr("perfarray.timings.apply.MANY", 1)
    times = perfarray.from_samples(
        {"a": [1.0, 1.1, 0.9], "b": [2.0, 2.1, 1.9], "c": [4.0, 4.1, 3.9]}
    )
    monkeypatch.setattr("perfarray.timings.apply._memory", lambda: 1000.0)
    with pytest.raises(MemoryError, match=r"at least .*e-06 GB.*isel.*chunk.*Zarr"):
        times.perf.pairwise(dim="version")
    monkeypatch.setattr("perfarray.timings.apply._memory", lambda: 1e6)
    assert times.perf.pairwise(dim="version").sizes == {"version": 3, "baseline": 3}
