"""Irving et al. (2018): what its printed numbers say about our functions, and our functions on real
SPEC reports.

The runs behind its tables 2, 6, 8 and 14 are not public, but the t intervals are fixed by three
printed numbers, and the scores that SPEC published of the same machines are in an archive.
"""

import warnings
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats

import perfarray

BENCHMARKS = 29
"""SPEC CPU2006: 12 integer and 17 floating-point."""


def suite_of_ratios(gm: float, lower: float, benchmarks: int = BENCHMARKS) -> xr.DataArray:
    """Return one run of each benchmark on two machines whose log ratios have the mean log(gm), and
    the 95 % limit `lower` by t."""
    deviation = np.log(gm / lower) / stats.t.ppf(0.975, benchmarks - 1) * np.sqrt(benchmarks)
    shape = np.linspace(-1, 1, benchmarks)
    ratios = gm * np.exp(shape * deviation / shape.std(ddof=1))
    times = np.linspace(10, 500, benchmarks)
    dims, coords = ("version", "benchmark", "execution"), {"version": ["old", "new"]}
    return xr.DataArray(
        np.stack([times, ratios * times])[..., None],
        dims=dims,
        coords=coords,
        name="time",
        attrs={"units": "s"},
    )


def answers(gm: float, lower: float, benchmarks: int = BENCHMARKS) -> xr.Dataset:
    """Return the t interval over benchmarks at the corners of the box that rounds to the printed
    ratio and lower limit."""
    corners = [(gm + a, lower + b) for a in (-0.0005, 0, 0.0005) for b in (-0.0005, 0, 0.0005)]
    times = xr.concat([suite_of_ratios(*corner, benchmarks) for corner in corners], "corner")
    return times.perf.score_ratio_interval("old", random_benchmarks=True)


def within(printed: float, values: xr.DataArray, half: float = 0.0005) -> bool:
    """Say whether a printed number lies among what the corners give, but for its own rounding."""
    return float(values.min()) - half <= printed <= float(values.max()) + half


TABLE_6 = {
    "A": (3.339, 2.626, 4.245),
    "B": (3.495, 2.364, 5.167),
    "C": (1.698, 1.417, 2.035),
    "D": (3.259, 2.540, 4.182),
    "E": (1.984, 1.733, 2.272),
    "F": (1.675, 1.429, 1.964),
    "G": (1.27, 1.139, 1.417),
}
TABLE_8 = {
    "H": (1.122, 0.956, 1.316, 0.849),
    "I": (1.135, 0.973, 1.325, 0.896),
    "J": (1.127, 0.967, 1.314, 0.878),
    "K": (1.318, 1.037, 1.675, 0.975),
    "L": (1.11, 0.948, 1.298, 0.814),
    "M": (1.13, 0.963, 1.325, 0.872),
    "N": (1.167, 0.964, 1.413, 0.891),
}
"""Ratio of geometric means, limits of the t interval, and (table 8) its confidence."""


@pytest.mark.parametrize("pair", TABLE_6 | TABLE_8)
def test_tables_6_and_8(pair):
    """Printed ratio and lower limit give the printed upper limit by t over benchmarks on log
    ratios, and 1 - p the printed confidence."""
    gm, lower, upper, *confidence = (TABLE_6 | TABLE_8)[pair]
    intervals = answers(gm, lower)
    np.testing.assert_allclose(intervals["df"], BENCHMARKS - 1, rtol=1e-9)
    assert within(lower, intervals["lower"])
    assert within(upper, intervals["upper"])
    assert all(within(printed, 1 - intervals["pvalue"]) for printed in confidence)


def test_table_8_counts_29_benchmarks():
    """With the 12 integer benchmarks alone, no more than two of the seven confidences would come
    out."""
    hits = [
        within(confidence, 1 - answers(gm, lower, 12)["pvalue"])
        for gm, lower, _, confidence in TABLE_8.values()
    ]
    assert sum(hits) <= 2


def suites_of_skewed_ratios(gm: float, lower: float) -> xr.DataArray:
    """Return suites as those of `suite_of_ratios`, 3 runs a side that vary by 0.3 %, along `shape`:
    ever more skewed, with longer tails."""
    normal = stats.norm.ppf((np.arange(BENCHMARKS) + 0.5) / BENCHMARKS)
    shape = np.stack(
        [
            np.sinh(tail * np.arcsinh(normal) + skew)
            for skew in np.linspace(-1, 4, 26)
            for tail in (0.5, 1.3, 2.5)
        ]
    )
    shape = (shape - shape.mean(axis=1, keepdims=True)) / shape.std(axis=1, ddof=1, keepdims=True)
    deviation = np.log(gm / lower) / stats.t.ppf(0.975, BENCHMARKS - 1) * np.sqrt(BENCHMARKS)
    ratios = np.stack([gm * np.exp(shape * deviation), np.ones_like(shape)])
    runs = ratios[..., None] * np.array([0.997, 1.0, 1.003])
    dims, coords = ("version", "shape", "benchmark", "execution"), {"version": ["slow", "fast"]}
    return xr.DataArray(
        runs, dims=dims, coords=coords, name="time", attrs={"units": "s", "better": "lower"}
    )


RANKS_6 = {"A": 2.64, "B": 2.24, "C": 1.39, "D": 2.45, "E": 1.76, "F": 1.546, "G": 1.15}
RANKS_8 = {
    "H": (0.732, 0.950),
    "I": (0.868, 0.928),
    "J": (0.576, 0.944),
    "L": (0.753, 0.94),
    "M": (0.804, 0.908),
    "N": (0.825, 0.932),
}
"""HPT's speedup, and in table 8 its confidence before it; pair K (0.885, 0.962) is reached by none of the suites below."""


@pytest.mark.parametrize("pair", RANKS_6)
def test_table_6_by_ranks(pair):
    """A suite with the printed ratio and t limit has the printed speedup by one-sided rank sums;
    two-sided ones of 3 runs have none."""
    times = suites_of_skewed_ratios(*TABLE_6[pair][:2])
    tests = times.perf.hierarchical_performance_test("slow", sides="one")
    assert (tests["confidence"] > 0.95).all()
    assert float(np.abs(tests["speedup"] / RANKS_6[pair] - 1).min()) < 0.01
    with pytest.warns(UserWarning, match="Measure 4 executions a side, or give sides='one'"):
        none = times.perf.hierarchical_performance_test("slow")
    assert none[["confidence", "pvalue", "speedup"]].to_dataarray().isnull().all()


@pytest.mark.parametrize("pair", RANKS_8)
def test_table_8_by_ranks(pair):
    """A suite with the printed ratio and t limit has about the printed confidence and, below 1 as
    there, about the printed speedup."""
    confidence, speedup = RANKS_8[pair]
    tests = suites_of_skewed_ratios(*TABLE_8[pair][:2]).perf.hierarchical_performance_test(
        "slow", sides="one"
    )
    np.testing.assert_array_equal(tests["speedup"] > 1, tests["confidence"] > 0.95)
    at_confidence = tests.where(np.abs(tests["confidence"] - confidence) < 0.02)
    assert float(np.abs(at_confidence["speedup"] / speedup - 1).min()) < 0.05


def test_seven_benchmarks_cannot_convince_ranks_at_one_percent():
    """Section 10: the two-sided p of HPT cannot fall below 0.01, not even when all seven benchmarks
    are clearly slower."""
    old = np.arange(1, 8)[:, None] * np.array([1.0, 1.01, 1.02, 1.03, 1.04])
    times = xr.DataArray(
        np.stack([old, 0.5 * old]),
        dims=("version", "benchmark", "execution"),
        coords={"version": ["old", "new"]},
    )
    tests = times.perf.hierarchical_performance_test("old")
    assert 2 * tests["pvalue"].item() == 2 / 2**7 > 0.01


def test_figure_15():
    """Two features whose first component is (0.966, 0.258) and explains 95 %: loadings, shares and
    scores."""
    rng = np.random.default_rng(15)
    raw = rng.standard_normal((1000, 2))
    raw -= raw.mean(axis=0)
    white = raw @ np.linalg.inv(np.linalg.cholesky(np.cov(raw.T))).T
    axes = np.array([[0.966, 0.258], [-0.258, 0.966]]) / np.hypot(0.966, 0.258)
    points = white * np.sqrt([9.5, 0.5]) @ axes
    data = xr.DataArray(points, dims=("machine", "benchmark"), coords={"benchmark": ["X1", "X2"]})
    components = data.perf.principal_components()
    np.testing.assert_allclose(
        components["loading"].transpose("principal_component", "benchmark"), axes, atol=1e-9
    )
    np.testing.assert_allclose(components["explained_variance_ratio"], [0.95, 0.05], rtol=1e-9)
    assert (
        round(components["loading"].sel(principal_component=1, benchmark="X1").item(), 3) == 0.966
    )
    np.testing.assert_allclose(components["score"], points @ axes.T, atol=1e-9)


def two_extremes() -> xr.DataArray:
    """Return scores as in section 9: 25 of 29 benchmarks are 10 % better on "new", and "old" is far
    ahead in two."""
    rng = np.random.default_rng(9)
    old = np.linspace(20, 40, BENCHMARKS)
    new = old * np.where(np.arange(BENCHMARKS) < 25, 1.1, 0.95)
    old[-2:], new[-2:] = (400, 150), (320, 130)
    runs = np.stack([old, new])[..., None] * (1 + 0.005 * rng.standard_normal((2, BENCHMARKS, 3)))
    names = [f"b{number:02}" for number in range(BENCHMARKS - 2)] + ["libquantum", "bwaves"]
    coords = {"version": ["old", "new"], "benchmark": names}
    attrs = {"units": "1", "better": "higher"}
    return xr.DataArray(
        runs, dims=("version", "benchmark", "execution"), coords=coords, name="score", attrs=attrs
    )


@pytest.mark.parametrize("mean", ["geometric", "harmonic", "arithmetic"])
def test_table_14(mean):
    """Two extreme benchmarks turn the arithmetic mean round, and neither of the others; without
    both, all three agree."""
    scores = two_extremes()
    interval = scores.perf.score_ratio_interval("old", mean=mean, sensitivity=True).squeeze()
    starred = (
        scores.drop_sel(benchmark=["libquantum", "bwaves"])
        .perf.score_ratio_interval("old", mean=mean)
        .squeeze()
    )
    assert (interval["upper"] < 1) if mean == "arithmetic" else (interval["lower"] > 1)
    assert starred["lower"] > 1
    if mean == "arithmetic":
        distance = np.abs(interval["estimate_without"] - interval["estimate"])
        assert distance.idxmax("benchmark") == "libquantum"


def test_table_14_exchanges_do_not_see_what_the_interval_sees():
    """The paper's arithmetic means: confidence 0.492 by exchanges, though the interval [1.019,
    1.031] is far from 1."""
    scores = two_extremes()
    tests = {
        mean: scores.perf.randomization_test("old", mean=mean, rng=1)["pvalue"].item()
        for mean in ("geometric", "arithmetic")
    }
    assert tests["geometric"] < 0.01
    assert tests["arithmetic"] > 0.3


MACHINES = {
    "table 8, H": (("CELSIUS R570", "E5506"), ("CELSIUS M460", "Q9550"), (1.122, 1.122)),
    "table 8, J": (("2042G-6RF", "6136"), ("H8QI6-F", "8435"), (1.127, 1.127)),
    "table 8, K": (("RH2285", "E5645"), ("CELSIUS W380", "i5-660"), (1.318, 1.318)),
    "table 8, L": (("YR190-B8228", "4238"), ("CELSIUS W380", "i5-660"), (1.11, 1.11)),
    "table 2": (("NovaScale T860 F2", "E5645"), ("x3400 M3", "E5649"), (0.974, 0.997)),
    "table 14": (("x3500 M3", "E5530"), ("CELSIUS R570", "X5560"), (0.913, 0.920)),
}
"""System and processor of two machines, and what is printed of the first over the second: a ratio, or the limits of an interval."""


@lru_cache(maxsize=1)
def published_scores(file: Path) -> pd.DataFrame:
    """Return the table of all results that SPEC published."""
    return pd.read_csv(file, low_memory=False)


@pytest.mark.parametrize("pair", MACHINES)
def test_published_scores_give_the_printed_ratios(shared, tmp_path, pair):
    """Base scores that SPEC published of the paper's machines give its ratios over 29 benchmarks,
    within the rounding of the scores."""
    table = published_scores(
        shared("data", "archives", "spec_dump", "ESEUR_spec", "cpu2006-results-20140206.csv.xz")
    )
    *machines, (lowest, highest) = MACHINES[pair]
    tables = []
    for system, processor in machines:
        rows = table["System"].str.contains(system, regex=False) & table["Processor"].str.contains(
            processor, regex=False
        )
        tables.append(table[rows & table["Benchmark"].isin(["CINT2006", "CFP2006"])])
    assert [len(rows) for rows in tables] == [2, 2]
    pd.concat(tables).to_csv(tmp_path / "scores.csv", index=False)
    dump = perfarray.read(tmp_path / "scores.csv", format="spec_dump").sel(tuning="base")
    logs, slack = 0.0, 0.0
    for rows, sign in zip(tables, (1, -1), strict=True):
        reports_of_rows = dump.isel(machine=np.isin(dump["system"].values, rows["System"]))
        weight = xr.where(reports_of_rows["suite"] == "CINT2006", 12, 17) / BENCHMARKS
        logs += sign * float((weight * np.log(reports_of_rows["score"])).sum())
        slack += float((weight * 0.05 / reports_of_rows["score"]).sum())
    low, high = np.exp(logs - slack), np.exp(logs + slack)
    assert low - 0.0005 <= highest
    assert lowest <= high + 0.0005


@lru_cache(maxsize=1)
def read_reports(folder: Path) -> xr.DataArray:
    """Return ratios of a folder of reports, plain -O3; all sessions of a machine are runs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says which hardware descriptions disagree
        spec = perfarray.read_archive(folder, format="spec_text")
    ratios = spec.perf.merge_level("session").sel(flags="O3", compiler="GCC 12.2.0")["ratio"]
    return ratios.reset_coords(drop=True).dropna("machine", how="all")


@pytest.fixture
def reports(shared):
    """The integer suite of 2017 on 33 machines."""
    return read_reports(
        shared(
            "data", "archives", "spec_txt", "jiegec_blog-source", "data-bookworm", "int2017_rate1"
        )
    )


def test_real_machines_have_the_five_numbers_of_numpy(reports):
    """Minimum, maximum and median of the score of 33 machines by plain NumPy; quartiles in
    order."""
    with pytest.warns(
        perfarray.PerfarrayWarning, match="executions of the benchmarks move together"
    ):  # on some machine a run is slow in all benchmarks
        five = reports.perf.five_number_summary(method="exact")
    values = reports.transpose("machine", "benchmark", "execution").values
    assert len(values) == 33
    np.testing.assert_allclose(
        five["minimum"], np.exp(np.log(np.nanmin(values, axis=-1)).mean(axis=-1)), rtol=1e-12
    )
    np.testing.assert_allclose(
        five["maximum"], np.exp(np.log(np.nanmax(values, axis=-1)).mean(axis=-1)), rtol=1e-12
    )
    log_runs = [np.log(runs[np.isfinite(runs)]) for runs in values[0]]
    sums = np.zeros(1)
    for logs in log_runs:
        sums = (sums[:, None] + logs).ravel()
    scores = np.sort(np.exp(sums / len(log_runs)))
    for name, share in (("q1", 0.25), ("median", 0.5), ("q3", 0.75)):
        assert five[name].values[0] == pytest.approx(
            scores[int(np.ceil(share * len(scores))) - 1], rel=1e-12
        )


def test_real_machines_vary_as_the_closed_form_says(reports):
    """Relative variation of every machine with three runs, from the weights 7/27, 13/27 and 7/27 of
    the bootstrap median."""
    with pytest.warns(
        perfarray.PerfarrayWarning, match="executions of the benchmarks move together"
    ):
        variation = reports.perf.relative_variation()
    three = reports.isel(machine=(reports.notnull().sum("execution") == 3).all("benchmark").values)
    assert three.sizes["machine"] >= 25
    ordered = np.sort(three.transpose("machine", "benchmark", "execution").values, axis=-1)[..., :3]
    weights, number = np.array([7, 13, 7]) / 27, ordered.shape[1]
    first, second = (
        (weights * ordered ** (power / number)).sum(axis=-1).prod(axis=-1) for power in (1, 2)
    )
    expected = np.sqrt(second - first**2) / np.exp(np.log(ordered[..., 1]).mean(axis=-1))
    np.testing.assert_allclose(
        variation["relative_variation"].sel(machine=three["machine"]), expected, rtol=1e-6
    )


@pytest.mark.filterwarnings(
    "ignore:executions of the benchmarks move together:UserWarning"
)  # they do move together a little
def test_real_machines_differ_by_the_interval_of_numpy(reports):
    """Limits of every machine against the first: Welch and Satterthwaite on the log scale, by plain
    NumPy and SciPy's t."""
    name = reports["machine"].values[0]
    with pytest.warns(
        UserWarning, match="executions of the benchmarks move together"
    ):  # on some machine a run is slow in all benchmarks
        interval = reports.perf.score_ratio_interval(name, dim="machine")
    values = reports.transpose("machine", "benchmark", "execution").values
    runs, mean = np.isfinite(values).sum(axis=-1), np.nanmean(values, axis=-1)
    squared_errors = np.nanvar(values, axis=-1, ddof=1) / runs / mean**2
    for index, machine in enumerate(reports["machine"].values[1:4], start=1):
        variances = np.concatenate([squared_errors[index], squared_errors[0]])
        df = (
            variances.sum() ** 2
            / (variances**2 / (np.concatenate([runs[index], runs[0]]) - 1)).sum()
        )
        half = stats.t.ppf(0.975, df) * np.sqrt(variances.sum()) / values.shape[1]
        log = np.log(mean[index] / mean[0]).mean()
        row = interval.sel(machine=machine)
        np.testing.assert_allclose(
            [row["lower"], row["estimate"], row["upper"]],
            np.exp([log - half, log, log + half]),
            rtol=1e-12,
        )


@pytest.mark.filterwarnings("ignore:executions of the benchmarks move together:UserWarning")
def test_real_machines_under_every_method(reports):
    """Test, ranks, plan, components and clusters answer for every machine, and p-values and shares
    are shares."""
    name = reports["machine"].values[0]
    exchanged = reports.perf.randomization_test(name, dim="machine", rng=1, shared=())
    with pytest.warns(UserWarning, match="29 of 32 cells have no benchmark with enough runs"):
        two = reports.perf.hierarchical_performance_test(name, dim="machine")
    ranked = reports.perf.hierarchical_performance_test(name, dim="machine", sides="one")
    with pytest.warns(
        UserWarning, match=r"in \d+ of \d+ cells \d+ runs are not used"
    ):  # sessions of three runs, and of more
        plan = reports.perf.required_runs(name, dim="machine", width=0.05)
    logs = np.log(reports)
    components = logs.perf.principal_components()
    clusters = logs.perf.cluster_machines(4)
    assert ((exchanged["pvalue"] > 0) & (exchanged["pvalue"] <= 1)).all()
    assert int(two["confidence"].notnull().sum()) == 3
    assert ((ranked["confidence"] >= 0) & (ranked["confidence"] < 1)).all()
    assert (plan["extrapolated"] >= 3).all()
    assert components["explained_variance_ratio"].sum() == pytest.approx(1)
    assert sorted(np.unique(clusters)) == [1, 2, 3, 4]
