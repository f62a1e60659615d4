"""suite_score, score_ratio_interval and hierarchical_performance_test on labelled timings."""

import subprocess
import sys
import warnings
from functools import partial

import numpy as np
import pytest
import xarray as xr

import perfarray


@pytest.fixture
def suite():
    """Four benchmarks of two suites, three versions on two machines; v2 is 5 % faster, v3 5 %
    slower."""
    factor = xr.DataArray([1.0, 0.95, 1.05], dims="version", coords={"version": ["v1", "v2", "v3"]})
    times = perfarray.simulate(
        sizes={"execution": 6, "iteration": 3},
        variances={"execution": 0.005**2, "iteration": 0.01**2},
        mean=factor,
        dims={
            "benchmark": ["fft", "hash", "sort", "zip"],
            "version": ["v1", "v2", "v3"],
            "machine": ["m1", "m2"],
        },
        rng=0,
    )
    return times.assign_coords(cpu=("machine", np.array(["amd", "intel"], dtype=object)))


@pytest.fixture
def mixed(suite):
    """The same, of which a coordinate says that two benchmarks are of one suite and two of
    another."""
    return suite.assign_coords(suite=("benchmark", ["int", "int", "fp", "fp"]))


WITHOUT_BASELINE = (
    "suite_score",
    "score_distribution",
    "five_number_summary",
    "relative_variation",
    "pairwise",
    "machine_table",
    "plan_suite",
)


def ask(name, times, baseline="v1", **keywords):
    """Call a public function, with a baseline where it compares."""
    return getattr(perfarray, name)(
        times, **({} if name in WITHOUT_BASELINE else {"baseline": baseline}) | keywords
    )


CALLS = [
    ("suite_score", {}),
    ("score_ratio_interval", {"sensitivity": True}),
    ("score_ratio_interval", {"random_benchmarks": True}),
    ("score_ratio_interval", {"method": "basic", "n_resamples": 60, "rng": 1, "sensitivity": True}),
    (
        "score_ratio_interval",
        {"method": "bca", "n_resamples": 60, "rng": 1, "random_benchmarks": True},
    ),
    ("hierarchical_performance_test", {"alpha": 0.2, "confidence_level": 0.9}),
    ("randomization_test", {"n_resamples": 60, "rng": 1}),
    ("randomization_test", {"n_resamples": 60, "rng": 1, "shared": "execution"}),
    ("required_runs", {"width": 0.01}),
    ("required_runs", {"width": 0.01, "method": "percentile", "n_resamples": 60, "rng": 1}),
    ("five_number_summary", {"rng": 1}),
    ("five_number_summary", {"method": "exact"}),
    ("relative_variation", {"method": "monte_carlo", "rng": 1}),
]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("name", "keywords"), CALLS)
def test_all_paths_agree(suite, name, keywords):
    """Any order of dims, chunks, or one cell alone: numbers equal up to rounding, texts exactly;
    attrs are text and numbers."""
    result = ask(name, suite, **keywords)
    lazy = ask(name, suite.chunk({"machine": 1, "version": 1}), **keywords)
    assert lazy["n" if "n" in lazy else next(iter(lazy.data_vars))].chunks is not None
    alone = ask(
        name,
        suite.sel(machine=["m2"], version=["v3"] if name in WITHOUT_BASELINE else ["v1", "v3"]),
        **keywords,
    )
    for variant in (
        ask(name, suite.transpose(..., "benchmark"), **keywords),
        lazy.compute(),
        alone,
    ):
        for variable in result.data_vars:
            expected = (
                result[variable].sel(version=["v3"], machine=["m2"])
                if variant is alone
                else result[variable]
            )
            equal = (
                np.testing.assert_array_equal
                if expected.dtype == object
                else partial(np.testing.assert_allclose, rtol=1e-12)
            )
            equal(variant[variable].transpose(*expected.dims), expected)
    assert all(
        isinstance(value, str | int | float) and not isinstance(value, bool)
        for value in result.attrs.values()
    )
    assert result["cpu"].dims == ("machine",)
    assert result.attrs["result"] == name


def test_score_by_hand():
    """Three means of two benchmarks, four statistics of their executions; iterations are averaged
    first."""
    samples = {"fft": [[0.5, 1.5], [3.0, 5.0]], "sort": [[8.0, 8.0], [2.0, 2.0]]}
    times = perfarray.from_samples(samples, dim="benchmark", level=("execution", "iteration"))
    for statistic, (fft, sort) in {
        "mean": (2.5, 5.0),
        "median": (2.5, 5.0),
        "min": (1.0, 2.0),
        "geometric": (2.0, 4.0),
    }.items():
        scores = [
            times.perf.suite_score(mean=mean, statistic=statistic)["estimate"].item()
            for mean in ("geometric", "harmonic", "arithmetic")
        ]
        np.testing.assert_allclose(
            scores, [np.sqrt(fft * sort), 2 / (1 / fft + 1 / sort), (fft + sort) / 2]
        )
    scores = times.perf.suite_score(statistic="min", unit="iteration", mean="arithmetic")
    assert scores["estimate"].item() == 1.25
    assert scores.attrs["unit"] == "iteration"
    assert scores["estimate"].attrs["units"] == "s"


def test_a_mean_is_never_taken_over_another_suite(suite):
    """Where one machine lacks `zip`, all are scored without it; one warning and an attr name the
    benchmark."""
    times = suite["time"].where(~((suite["benchmark"] == "zip") & (suite["machine"] == "m2")))
    with pytest.warns(
        UserWarning,
        match=(
            "1 of 4 labels of 'benchmark' were not measured in every cell. They are left out of all"
        ),
    ) as caught:
        scores = times.perf.suite_score()
    assert len(caught) == 1
    assert (scores.attrs["unmatched"], scores.attrs["n_benchmarks"]) == ("zip", 3)
    common = times.drop_sel(benchmark="zip").perf.suite_score()
    np.testing.assert_allclose(scores["estimate"], common["estimate"])
    assert "unmatched" not in common.attrs


@pytest.mark.parametrize("name", ["suite_score", "five_number_summary"])
def test_no_benchmark_in_common(suite, name):
    only = (suite["machine"] == "m1") == suite["benchmark"].isin(["zip", "fft"])
    with pytest.raises(ValueError, match="no label of 'benchmark' was measured in every cell"):
        ask(name, suite["time"].where(only))


def test_a_ratio_is_over_benchmarks_of_both_sides(suite):
    """What one version lacks is left out of both its scores, counted and named."""
    times = suite["time"].where(~((suite["benchmark"] == "zip") & (suite["version"] == "v2")))
    for name, keywords in (("score_ratio_interval", {}), *CALLS[1:3], *CALLS[5:7]):
        with pytest.warns(
            UserWarning,
            match=(
                "missing in some cells: 'zip'. Each ratio is over the benchmarks measured on "
                "both sides"
            ),
        ):
            result = ask(name, times, **keywords)
        assert result.attrs["unmatched"] == "zip"
        assert [
            note.values["labels"] for note in result.perf.notes() if note.code == "unmatched"
        ] == [["zip"]]
        assert result["suite_benchmarks"].sel(machine="m1").values.tolist() == [3.0, 4.0]
        if not keywords:
            matched = (
                times.drop_sel(benchmark="zip").perf.score_ratio_interval("v1").sel(version="v2")
            )
            np.testing.assert_allclose(result["lower"].sel(version="v2"), matched["lower"])


@pytest.mark.parametrize(("name", "keywords"), [CALLS[0], CALLS[1], CALLS[5], CALLS[6], CALLS[8]])
def test_a_cell_without_data_lacks_no_benchmark(suite, name, keywords):
    """No benchmark is called missing for a machine that never ran `v2`, and the other cells keep
    their answers; a comparison counts it."""
    times = (
        suite["time"]
        .where(~((suite["version"] == "v2") & (suite["machine"] == "m2")))
        .assign_attrs(suite["time"].attrs)
    )
    with warnings.catch_warnings(record=True, action="always") as caught:
        result = ask(name, times, **keywords)
    messages = (
        []
        if name in WITHOUT_BASELINE
        else ["1 of 4 cells have no benchmark measured on both sides. Their answers are NaN."]
    )
    assert [str(warning.message) for warning in caught] == messages
    assert "unmatched" not in result.attrs
    expected = ask(name, suite, **keywords)
    for variable in set(result.data_vars) & {"estimate", "statistic", "confidence", "required"}:
        assert np.isnan(result[variable].sel(version="v2", machine="m2")).all()
        np.testing.assert_allclose(
            result[variable].sel(machine="m1"), expected[variable].sel(machine="m1")
        )


def test_another_object_as_baseline(suite):
    """Benchmarks on one side only are reported; repetitions may differ in number."""
    new, old = (
        suite.sel(version="v2", drop=True),
        suite.sel(version="v1", drop=True).isel(execution=slice(4)).drop_sel(benchmark="zip"),
    )
    with pytest.warns(UserWarning, match=r"1 labels are on one side only .*zip"):
        interval = new.perf.score_ratio_interval(old)
    assert interval.attrs["unmatched"] == "zip"
    assert interval.attrs["baseline"] == "other timings"
    assert (interval["n"] == 4).all()
    candidate, baseline = new.isel(machine=0, drop=True), old.isel(machine=0, drop=True)
    candidate = candidate.sel(benchmark=baseline["benchmark"])
    assert candidate.perf.score_ratio_interval(baseline)["estimate"].dims == ()
    with pytest.warns(UserWarning, match="fewer than 5 benchmarks"):
        assert candidate.perf.hierarchical_performance_test(baseline)["confidence"].dims == ()


def test_without_a_benchmark(suite):
    """The answer without each benchmark is that of a suite that never had it."""
    interval = suite.perf.score_ratio_interval("v1", sensitivity=True)
    alone = suite.drop_sel(benchmark="hash").perf.score_ratio_interval("v1")
    for name in ("estimate", "lower", "upper"):
        np.testing.assert_allclose(
            interval[f"{name}_without"].sel(benchmark="hash"), alone[name], rtol=1e-12
        )
    assert interval["estimate_without"].dims == ("benchmark", "version", "machine")
    one_benchmark = suite.sel(benchmark=["fft"]).perf.score_ratio_interval("v1", sensitivity=True)
    assert np.isnan(one_benchmark["estimate_without"]).all()


@pytest.mark.parametrize("stopped_benchmarks", [["fft"], ["fft", "zip"]])
def test_without_a_stopped_benchmark(suite, stopped_benchmarks):
    """Limits are open if another benchmark had runs that were stopped."""
    runs = (
        (suite["version"] == "v2")
        & suite["benchmark"].isin(stopped_benchmarks)
        & (suite["execution"] < 4)
        & (suite["machine"] == "m1")
    )
    times = suite["time"].where(~runs).assign_coords(censored=runs, censored_at=60.0)
    with pytest.warns(UserWarning, match="were stopped at a limit"):
        upper = times.perf.score_ratio_interval("v1", sensitivity=True)["upper_without"].sel(
            version="v2"
        )
    alone = upper["benchmark"].isin(stopped_benchmarks) & (len(stopped_benchmarks) == 1)
    np.testing.assert_array_equal(np.isinf(upper.sel(machine="m1")), ~alone)
    assert np.isfinite(upper.sel(machine="m2")).all()


def test_the_question_is_in_the_result(suite):
    """Fixed benchmarks and sampled ones are two questions; df and n are those of the answer."""
    fixed, sampled = (
        suite.perf.score_ratio_interval("v1", random_benchmarks=is_random)
        for is_random in (False, True)
    )
    assert fixed.attrs["question"] != sampled.attrs["question"]
    assert fixed.attrs["benchmarks"] == "independent (assumed)"
    assert sampled.attrs["benchmarks"] == "a sample"
    assert (sampled["df"] == 3).all()
    assert (sampled["n"] == 4).all()
    assert (
        suite.perf.score_ratio_interval("v1", shared="execution").attrs["benchmarks"]
        == "shared: execution"
    )


def test_one_run_of_each_benchmark(suite):
    """No limits for this very suite, and a warning that says why; limits for programs like
    these."""
    times = suite.isel(execution=[0])
    with pytest.warns(
        UserWarning, match="4 of 4 cells rest on one execution: their limits are NaN"
    ):
        interval = times.perf.score_ratio_interval("v1")
    assert interval["estimate"].notnull().all()
    assert interval["lower"].isnull().all()
    assert times.perf.score_ratio_interval("v1", random_benchmarks=True)["lower"].notnull().all()


def test_units_without_a_counterpart_are_left_out_and_counted(suite):
    """A shared unit that lacks a benchmark; pairs are matched by label, of executions 2 to 5 and 0
    to 3 two."""
    times = suite["time"].copy()
    times.loc[{"benchmark": "fft", "version": "v2", "machine": "m1", "execution": 2}] = np.nan
    with pytest.warns(
        UserWarning, match=r"1 shared units \(execution\) lack some benchmarks and are left out"
    ):
        interval = times.perf.score_ratio_interval("v1", shared="execution")
    assert interval.attrs["n_incomplete_units"] == 1
    assert interval["n"].sel(version="v2", machine="m1") == 5
    new, old = (
        suite.sel(version=version, drop=True).assign_coords(execution=range(6))
        for version in ("v2", "v1")
    )
    new, old = new.isel(execution=slice(2, 6)), old.isel(execution=slice(0, 4))
    with pytest.warns(UserWarning, match="4 units of one system have no partner"):
        interval = new.perf.score_ratio_interval(old, paired="execution")
    assert (interval["n"] == 2).all()
    with pytest.raises(ValueError, match="have no execution in common"):
        new.perf.score_ratio_interval(old.isel(execution=slice(0, 2)), paired="execution")


def test_better_says_which_side_is_good(suite):
    """For throughput, a larger value is a speedup: the same confidence and speedup as for times,
    inverted."""
    times = suite["time"].isel(iteration=0).rename("time")
    rates = (1 / times).rename("rate").assign_attrs(units="1/s", better="higher")
    keywords = {"alpha": 0.2, "confidence_level": 0.9}
    lower, higher = (
        times.perf.hierarchical_performance_test("v1", **keywords),
        rates.perf.hierarchical_performance_test("v1", **keywords),
    )
    assert (lower["confidence"].sel(version="v2") > 0.9).all()
    assert (lower["confidence"].sel(version="v3") < 0.1).all()
    np.testing.assert_allclose(higher["confidence"], lower["confidence"], atol=1e-12)
    np.testing.assert_allclose(
        higher["speedup"].sel(version="v2"), lower["speedup"].sel(version="v2"), rtol=1e-9
    )


def test_without_benchmarks_the_suite_is_the_one():
    """No dim to average over: the score is the mean, the ratio that of log_delta."""
    times = perfarray.from_samples({"old": [1.0, 1.1, 0.9, 1.0], "new": [0.5, 0.55, 0.45, 0.5]})
    assert times.perf.suite_score()["estimate"].values.tolist() == pytest.approx([1.0, 0.5])
    interval, expected = (
        times.perf.score_ratio_interval("old"),
        times.perf.ratio_interval("old", method="log_delta"),
    )
    assert interval["estimate"].dims == ("version",)
    np.testing.assert_allclose(interval["lower"], expected["lower"], rtol=1e-9)


WRONG = {
    "suite_score": [
        (
            {"mean": "quadratic"},
            "mean='quadratic' is not known; choose one of 'geometric', 'harmonic', 'arithmetic'",
        ),
        ({"statistic": "max"}, "statistic='max' is not known"),
        ({"across": "execution"}, "across='execution' is a level of the nest"),
        ({"unit": "binary"}, "unit='binary' is not known; choose one of 'execution', 'iteration'"),
    ],
    "score_ratio_interval": [
        ({"statistic": "median"}, "method='t' has no standard error of a median"),
        ({"method": "studentized"}, "method='studentized' is not known"),
        ({"alternative": "both"}, "alternative='both' is not known"),
        ({"paired": "iteration"}, "paired='iteration' is not known; choose one of 'execution'"),
        (
            {"paired": "execution", "unit": "iteration"},
            "takes others as independent; give one of them",
        ),
        ({"baseline": "v9"}, "No label 'v9'"),
    ],
    "hierarchical_performance_test": [
        ({"zeros": "keep"}, "zeros='keep' is not known"),
        ({"alpha": 2}, "alpha=2 is out of range"),
    ],
    "randomization_test": [
        ({"mean": "median"}, "mean='median' is not known"),
        (
            {"method": "bootstrap"},
            "method='bootstrap' is not known; choose one of 'monte_carlo', 'exact'",
        ),
        ({"n_resamples": 0}, "n_resamples=0: give a whole number of at least 1"),
        ({"shared": "binary"}, "shared='binary' is not one of the levels"),
        ({"across": "iteration"}, "across='iteration' is a level"),
        (
            {"method": "exact", "distribution": True},
            "method='exact' would enumerate [0-9,]+ exchanges",
        ),
    ],
    "required_runs": [
        ({"width": 0}, "width=0: give a positive width of the interval"),
        ({"width": 0.1, "start": 1}, "start=1: give a whole number of at least 2"),
        (
            {"width": 0.1, "start": 13},
            r"start=13 runs, and the data have 6 units \(execution\) a side; lower start=",
        ),
        ({"width": 0.1, "statistic": "min"}, "method='t' has no standard error of a min"),
        ({"width": 0.1, "method": "fieller"}, "method='fieller' is not known"),
    ],
    "score_distribution": [
        ({"mean": "quadratic"}, "mean='quadratic' is not known"),
        ({"across": "program"}, "across 'program' not found"),
        ({"n_resamples": 1}, "n_resamples=1: give a whole number of at least 2"),
        ({"rng": -1}, "rng=-1"),
    ],
    "five_number_summary": [
        ({"method": "fast"}, "method='fast' is not known"),
        ({"value": "binary"}, "value='binary' is not known"),
        ({"across": "execution"}, "across='execution' is a level of the nest"),
    ],
    "relative_variation": [
        ({"statistic": "mode"}, "statistic='mode' is not known"),
        ({"unit": "binary"}, "unit='binary' is not known"),
        ({"shared": "binary"}, "shared='binary' is not one of the levels"),
    ],
}


@pytest.mark.parametrize(
    ("name", "keywords", "message"),
    [(name, *case) for name, cases in WRONG.items() for case in cases],
)
def test_wrong_input(suite, name, keywords, message):
    with pytest.raises(ValueError, match=message):
        ask(name, suite, **keywords)


@pytest.mark.parametrize(
    "keywords", [{}, {"mean": "harmonic"}, {"mean": "arithmetic", "statistic": "geometric"}]
)
def test_scores_that_have_no_log(suite, keywords):
    """A benchmark of zeros is left out by name; a score whose mean is above 0 counts; an arithmetic
    mean takes zeros."""
    times = suite["time"].copy().assign_attrs(units="1")
    label = times["benchmark"].values[1]
    times[1] = 0.0
    with pytest.warns(UserWarning, match=f"{label!s}.*needs values above 0"):
        score = times.perf.suite_score(**keywords)
    np.testing.assert_allclose(
        score["estimate"], times.drop_sel(benchmark=label).perf.suite_score(**keywords)["estimate"]
    )
    assert times.perf.suite_score(mean="arithmetic")["estimate"].notnull().all()
    with pytest.warns(UserWarning, match="since a ratio of suite scores needs values above 0"):
        ratio = times.perf.score_ratio_interval("v1", mean=keywords.get("mean", "geometric"))
    without = times.drop_sel(benchmark=label).perf.score_ratio_interval(
        "v1", mean=keywords.get("mean", "geometric")
    )
    np.testing.assert_allclose(ratio["estimate"], without["estimate"])


@pytest.mark.parametrize(
    ("name", "variable"), [("suite_score", "estimate"), ("five_number_summary", "median")]
)
def test_several_metrics(suite, name, variable):
    """One result each, along `metric`."""
    two_metrics = suite.assign(energy=(2 * suite["time"]).assign_attrs(units="J", better="lower"))
    result = getattr(two_metrics.perf, name)(
        metric=["time", "energy"], **({} if name == "suite_score" else {"method": "exact"})
    )[variable]
    np.testing.assert_allclose(result.sel(metric="energy"), 2 * result.sel(metric="time"))


KEYWORDS = {
    "suite_score": {},
    "score_ratio_interval": {},
    "hierarchical_performance_test": {"confidence_level": 0.7},
    "randomization_test": {"rng": 1, "n_resamples": 20},
    "required_runs": {"width": 1.0},
    "score_distribution": {"rng": 1},
    "five_number_summary": {"rng": 1},
    "relative_variation": {},
    "agreement": {"rng": 1, "n_resamples": 50},
    "overall_speedup": {},
}
"""Functions of a suite, each with the least that it has to be told."""


def functions(*without):
    """Run a test of every function of a suite but some."""
    return pytest.mark.parametrize("name", [name for name in KEYWORDS if name not in without])


@pytest.mark.filterwarnings("ignore:.*fewer than 10 and not normal:perfarray.PerfarrayWarning")
@functions()
def test_each_suite_has_its_own_answer(mixed, name):
    """Without being asked, and a note that is no warning says so; one suite alone, however chosen,
    has no dim."""
    call, mixed = partial(ask, name, **KEYWORDS[name]), mixed.isel(machine=0)
    result = call(mixed)
    assert result["suite"].values.tolist() == ["int", "fp"]
    (note,) = [note for note in result.perf.notes() if note.code == "suites_apart"]
    assert note.values["suites"] == ["int", "fp"]
    xr.testing.assert_equal(result, call(mixed, by="suite"))
    for one_suite in (
        mixed.sel(benchmark=mixed["suite"] == "int"),
        mixed.drop_vars("suite"),
        mixed.where(mixed["suite"] == "int"),
    ):
        assert "suite" not in call(one_suite).dims
    assert "suite" not in mixed.groupby("suite").map(call).attrs


@pytest.mark.filterwarnings("ignore:.*benchmarks with enough runs")
@functions("agreement")
def test_by_suite_is_each_suite_alone(mixed, name):
    """`by="suite"` is what `groupby` gives, along a dim of that name, in the order of the data; one
    system may be an object of its own."""
    call = partial(ask, name, **KEYWORDS[name])
    result = call(mixed, by="suite")
    assert result["suite"].values.tolist() == ["int", "fp"]
    for label in ("int", "fp"):
        alone = call(mixed.isel(benchmark=mixed["suite"].values == label))
        row = result.sel(suite=label, drop=True)
        for variable in alone.data_vars if hasattr(alone, "data_vars") else [None]:
            values, expected = (
                (row, alone) if variable is None else (row[variable], alone[variable])
            )
            values = values.sel(
                {dim: expected[dim] for dim in expected.dims if dim in expected.coords}
            )
            np.testing.assert_array_equal(values.transpose(*expected.dims), expected)
    if name not in WITHOUT_BASELINE:
        new, old = (
            mixed["time"].sel(version=version, drop=True).drop_vars("suite")
            for version in ("v2", "v1")
        )
        two = call(new.assign_coords(suite=mixed["suite"]), baseline=old, by="suite")
        variable = next(iter(two.data_vars))
        np.testing.assert_array_equal(
            two[variable].transpose("suite", ...),
            result[variable].sel(version="v2").transpose("suite", ...),
        )


def test_notes_of_each_suite_name_it(mixed):
    """What one suite lacks is told of it; a coordinate that is not there lists those that are;
    sensitivity keeps its benchmarks."""
    holes = mixed.where((mixed["benchmark"] != "zip") | (mixed["machine"] != "m1"))
    with pytest.warns(
        UserWarning,
        match=r"^fp: 3 of 6 cells lack benchmarks of their suite and have no score: v1, m1 \(no 'zip'\)",
    ) as caught:
        score = holes.perf.suite_score()["estimate"]
    assert caught[0].message.notes[0].values["suite"] == "fp"
    xr.testing.assert_equal(
        score.sel(machine="m2"), mixed.perf.suite_score()["estimate"].sel(machine="m2")
    )
    assert score.sel(machine="m1").isnull().any("version").sel(
        suite=["int", "fp"]
    ).values.tolist() == [False, True]
    nowhere = mixed.where(
        (mixed["benchmark"] == "sort") == (mixed["machine"] == "m1"), other=np.nan
    )
    with pytest.raises(ValueError, match="no label of 'benchmark' was measured in every cell"):
        nowhere.sel(benchmark=["sort", "zip"]).perf.suite_score()
    with pytest.raises(
        ValueError, match="by='group' is not a coordinate along 'benchmark'; these are: 'suite'"
    ):
        mixed.perf.suite_score(by="group")
    interval = mixed.perf.score_ratio_interval("v1", by="suite", sensitivity=True)
    assert interval["estimate_without"].sel(suite="fp").notnull().all(
        ["version", "machine"]
    ).values.tolist() == [
        mixed["suite"].sel(benchmark=label) == "fp" for label in interval["benchmark"].values
    ]


def test_machines_with_other_suites_have_their_own_answers(mixed):
    """No benchmark in common, or few: each suite has its answer, for the machines that ran it."""
    different_suites = mixed.where((mixed["suite"] == "int") == (mixed["machine"] == "m1"))
    for times in (
        different_suites,
        mixed.where((mixed["suite"] == "int") | (mixed["machine"] == "m1")),
    ):
        assert set(times.perf.suite_score()["suite"].values) == {"int", "fp"}
    scores = different_suites.perf.suite_score()["estimate"].isel(version=0)
    assert scores.notnull().transpose("suite", "machine").values.tolist() == [
        [True, False],
        [False, True],
    ]


def test_a_side_of_one_session_has_its_executions():
    """A baseline with one session has its executions as units beside the candidate's sessions;
    every method says so."""
    values = 10 + np.random.default_rng(8).normal(size=(2, 6, 2, 4)) * 0.1
    values[1, :, 1] = np.nan
    coords = {"version": ["new", "old"]}
    times = xr.DataArray(
        values,
        dims=("version", "benchmark", "session", "execution"),
        coords=coords,
        name="time",
        attrs={"units": "s"},
    )
    new, old = (
        times.isel(version=0).mean("execution", keep_attrs=True),
        times.isel(version=1, session=0, drop=True),
    )
    assert old.sizes["execution"] == 4
    message = "6 of 12 cells were measured in one session: the units are executions there"
    with pytest.warns(UserWarning, match=message):
        interval = times.perf.score_ratio_interval("old")
    expected = new.rename(session="execution").perf.score_ratio_interval(old)
    for name in ("estimate", "lower", "upper", "n"):
        np.testing.assert_allclose(interval[name].item(), expected[name].item(), rtol=1e-12)
    for method, keywords in (
        ("hierarchical_performance_test", {}),
        ("speedup_test", {"confidence_level": 0.95}),
    ):
        with pytest.warns(UserWarning, match=message):
            getattr(times.perf, method)("old", **keywords)


ACROSS = {name: {} for name in KEYWORDS} | {
    "required_runs": {"width": 0.1},
    "compare": {},
    "pairwise": {"dim": "version"},
    "machine_table": {},
    "plan_suite": {"costs": {"execution": 1.0}, "budget": 1e6, "shared": "execution"},
}


@pytest.mark.parametrize("name", ACROSS)
def test_a_misspelt_suite_is_refused(suite, name):
    """A dim that is not there is no suite of one benchmark: the message lists the dims."""
    with pytest.raises(ValueError, match=r"'benchmrk' not found; .*'benchmark'"):
        ask(name, suite, across="benchmrk", **ACROSS[name])
    if name not in WITHOUT_BASELINE:
        with pytest.raises(ValueError, match="across='version' is the dim compared"):
            ask(name, suite, across="version", **ACROSS[name])


def together(correlation: float, cells: int = 1) -> xr.DataArray:
    """Return two equal versions of 13 benchmarks in 5 sessions, whose effects correlate between
    benchmarks."""
    rng = np.random.default_rng(14)
    shape = (2, cells, 13, 5)
    effects = np.sqrt(correlation) * rng.normal(size=(2, cells, 1, 5)) + np.sqrt(
        1 - correlation
    ) * rng.normal(size=shape)
    dims, coords = (
        ("version", "cell", "benchmark", "session"),
        {"version": ["new", "old"], "session": range(5)},
    )
    return xr.DataArray(
        1 + 0.02 * effects,
        dims=dims,
        coords=coords,
        name="time",
        attrs={"units": "s", "better": "lower"},
    )


@functions("suite_score", "hierarchical_performance_test", "agreement", "overall_speedup")
def test_benchmarks_that_move_together_are_said(name):
    """Sessions that serve all benchmarks and are not declared: a note names `shared=`; none where
    it was said, or they do not."""
    call, times = partial(ask, name, baseline="old", **KEYWORDS[name]), together(0.8)
    with pytest.warns(
        UserWarning, match="sessions of the benchmarks move together.*shared='session'"
    ) as caught:
        result = call(times)
    assert [note.code for note in caught[0].message.notes] == ["move_together"]
    declared = [call(times, shared=shared) for shared in ("session", ())]
    alone = call(together(0.0))
    if name != "score_distribution":
        np.testing.assert_allclose(result["suite_correlation"], 0.8, atol=0.25)
        assert [answer["suite_correlation"].isnull().all().item() for answer in declared] == [
            True,
            False,
        ]
        assert (alone["suite_correlation_pvalue"] > 0.05).all()


def test_pairs_average_over_the_benchmarks_first():
    """Paired by session, whose effects the benchmarks share: 95 % cover (3 standard errors of 2,000
    experiments); once 45 % did."""
    interval = together(0.8, 2000).perf.score_ratio_interval("old", paired="session")
    covered = ((interval["lower"] <= 1) & (interval["upper"] >= 1)).mean().item()
    assert covered == pytest.approx(0.95, abs=3 * np.sqrt(0.05 * 0.95 / 2000))
    assert (interval["df"] == 4).all()


def test_ranks_that_cannot_say_anything(suite):
    """3 runs a side: no answer by two-sided rank sums, and the way out; fewer than 5 benchmarks: a
    confidence, and no speedup."""
    three = suite.isel(execution=slice(3), machine=0)
    with pytest.warns(
        UserWarning,
        match=(
            "2 of 2 cells have no benchmark with enough runs.*Measure 4 executions a side, or "
            "give sides='one': 3 do"
        ),
    ) as caught:
        tests = three.perf.hierarchical_performance_test("v1")
    assert tests[["confidence", "pvalue", "speedup"]].to_dataarray().isnull().all()
    assert [note.code for note in caught[0].message.notes] == ["few_runs"]
    with pytest.warns(UserWarning, match="2 of 2 cells have fewer than 5 benchmarks"):
        tests = three.perf.hierarchical_performance_test("v1", sides="one")
    assert tests["confidence"].notnull().all()
    assert tests["speedup"].isnull().all()
    with pytest.raises(ValueError, match=r"sides='both'.*'two', 'one'"):
        three.perf.hierarchical_performance_test("v1", sides="both")


def test_ranks_say_what_was_tested_and_whether_anything_differs():
    """Of equal, slower and faster programs: a confidence of 0 is that of no difference, or of the
    other direction; counts tell which."""
    constant = perfarray.simulate(
        sizes={"execution": 5},
        variances={"execution": 1e-4},
        dims={"benchmark": 6, "version": ["old", "new"]},
        rng=3,
    )
    old, new = (
        constant["time"].sel(version=[version]).assign_coords(version=["x"])
        for version in ("old", "new")
    )
    new = xr.concat([ratio * new for ratio in (1.0, 1.2, 0.8)], dim="version").assign_coords(
        version=["equal", "slower", "faster"]
    )
    new = new.assign_attrs(old.attrs)
    tests = new.perf.hierarchical_performance_test(old.sel(version="x", drop=True))
    assert tests["better_benchmarks"].values.tolist() == [0, 0, 6]
    assert tests["worse_benchmarks"].values.tolist() == [0, 6, 0]
    assert tests["confidence"].values.tolist() == [0, 0, 1 - 2.0**-6]
    table = tests.perf.table()
    assert table["confidence"].to_dict() == {
        "equal": "none differs",
        "slower": "0 %",
        "faster": "98 %",
    }
    assert "tested: the candidate is better" in table.attrs["about"]
    assert [note.code for note in tests.perf.notes()] == ["no_difference", "other_direction"]
    assert table.attrs["notes"][0].startswith(
        "1 of 3 cells have no benchmark that differs by its own rank-sum test at 0.05"
    )


def test_a_lazy_result_says_its_notes_after_computing(suite, tmp_path):
    """Notes on what can be seen in it: computed, or written and read by a process that has not
    loaded the suites."""
    pytest.importorskip("dask")
    lazy = suite.isel(execution=[0]).chunk({"machine": 1}).perf.score_ratio_interval("v1")
    assert lazy.perf.notes() == ()
    assert [(note.code, note.values["cells"]) for note in lazy.compute().perf.notes()] == [
        ("single_unit", 4)
    ]
    lazy.reset_coords(drop=True).to_netcdf(tmp_path / "result.nc", engine="scipy")
    code = (
        "import perfarray, xarray, sys; print([note.code for note in "
        "xarray.load_dataset(sys.argv[1]).perf.notes()])"
    )
    completed = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "result.nc")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert completed.stdout.strip() == "['single_unit']"


@pytest.mark.parametrize(
    "name",
    [
        "score_ratio_interval",
        "randomization_test",
        "hierarchical_performance_test",
        "required_runs",
    ],
)
def test_suites_without_a_benchmark_in_common(mixed, name):
    """Each machine ran a suite of its own: no mean goes over both, and what no machine ran is no
    cell."""
    times = (
        mixed["time"]
        .where((mixed["machine"] == "m1") == (mixed["suite"] == "int"))
        .assign_attrs(mixed["time"].attrs)
    )
    with warnings.catch_warnings(action="ignore"):
        result = ask(name, times, **KEYWORDS[name])
    assert result["suite"].values.tolist() == ["int", "fp"]
    assert "no_value" not in [note.code for note in result.perf.notes()]


def test_other_answers_over_several_suites(mixed):
    """A plan for one geometric mean names `groupby`; components go suite by suite, and name those
    with too few machines."""
    times = mixed["time"].sel(version="v1", drop=True)
    with pytest.warns(
        perfarray.PerfarrayWarning,
        match=r'2 suites \(.int., .fp.\). times.groupby\("suite"\) gives each its own',
    ):
        times.isel(machine=0).perf.plan_suite(costs={"execution": 1.0}, budget=100.0)
    three = times.isel(machine=[0, 1, 1]).assign_coords(machine=["m1", "m2", "m3"])
    three = three.where((three["machine"] == "m1") == (three["suite"] == "int"))
    with pytest.warns(
        perfarray.PerfarrayWarning, match=r"1 of 2 along 'suite' have too little data \('int'\)"
    ):
        assert three.perf.principal_components()["suite"].values.tolist() == ["fp"]


@pytest.mark.parametrize("method", ["t", "percentile", "basic", "bca"])
@pytest.mark.parametrize("random_benchmarks", [False, True])
@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
def test_what_limits_are_read_off_can_be_kept(method, random_benchmarks):
    """Limits are percentiles of what is kept (mirrored for "basic"); nothing else changes, of lazy
    timings either; one unit has none."""
    times = perfarray.simulate(
        sizes={"execution": 9},
        variances={"execution": 1e-4},
        dims={"benchmark": 6, "version": ["old", "new"], "machine": 3},
        rng=1,
    )["time"]
    times[{"machine": 2, "execution": slice(1, None)}] = np.nan
    options = {
        "method": method,
        "random_benchmarks": random_benchmarks,
        "rng": 1,
        "n_resamples": 2000,
    }
    plain = times.perf.score_ratio_interval("old", **options)
    interval = times.perf.score_ratio_interval("old", distribution=True, **options)
    assert interval.drop_dims("replicate").identical(plain)
    ratios = interval["distribution"].squeeze("version").transpose("machine", "replicate")
    assert np.isnan(ratios[2]).all() or random_benchmarks
    low, high = np.quantile(ratios[:2], [0.025, 0.975], axis=1, method="weibull")
    mean = interval["estimate"].squeeze("version").values[:2]
    low, high = (2 * mean - high, 2 * mean - low) if method == "basic" else (low, high)
    slack = {"t": 2e-4, "bca": 0.01}.get(
        method, 1e-5
    )  # equally probable places end before the outermost; bca shifts percentiles
    np.testing.assert_allclose(interval["lower"].squeeze("version")[:2], low, rtol=slack)
    np.testing.assert_allclose(interval["upper"].squeeze("version")[:2], high, rtol=slack)
    lazy = times.chunk({"machine": 1}).perf.score_ratio_interval(
        "old", distribution=True, **options
    )
    np.testing.assert_allclose(
        lazy["distribution"].transpose(*interval["distribution"].dims),
        interval["distribution"],
        rtol=1e-14,
    )


@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
def test_seeds_keep_their_numbers():
    """Every way to draw, from equal and from unequal numbers of runs: the numbers that earlier
    versions drew."""
    runs = np.arange(1.0, 25.0).reshape(2, 3, 4) + 100 * (1 + np.arange(3)[:, None])
    coords = {"version": ["old", "new"], "benchmark": list("abc")}
    times = xr.DataArray(runs, dims=("version", "benchmark", "execution"), coords=coords)
    suites = times, times.where((times["benchmark"] != "b") | (times["execution"] > 0))
    scores = [times.perf.score_distribution(rng=1)[0, 0].item() for times in suites]
    scores.append(times.perf.score_distribution(rng=1, shared="execution")[0, 0].item())
    np.testing.assert_allclose(
        scores, [186.65436072503357, 188.3728829846037, 188.98054165454246], rtol=1e-12
    )
    monte_carlo = {"method": "monte_carlo", "rng": 1}
    spreads = [
        times.perf.relative_variation(statistic=name, **monte_carlo)["standard_deviation"][0]
        for name in ("median", "mean")
        for times in suites
    ]
    np.testing.assert_allclose(
        spreads,
        [0.5366612875757939, 0.5330140368354651, 0.40775904196349244, 0.3873822582488502],
        rtol=1e-12,
    )
    kinds = {}, {"shared": "execution"}, {"paired": "execution"}
    lower = [
        times.perf.score_ratio_interval("old", method="percentile", rng=1, **kind)["lower"].item()
        for times in suites
        for kind in kinds
    ]
    expected = [
        1.0652647656676482,
        1.0614826390867178,
        1.0702652646156896,
        1.0649069926309263,
        1.062362509919782,
        1.0700189538544915,
    ]
    np.testing.assert_allclose(lower, expected, rtol=1e-12)
    sampled = [
        times.perf.score_ratio_interval("old", method="percentile", rng=1, random_benchmarks=True)[
            "lower"
        ].item()
        for times in suites
    ]
    np.testing.assert_allclose(sampled, [1.042731573003372, 1.0423024649846313], rtol=1e-12)
    pvalues = [
        times.perf.randomization_test("old", rng=1, **kind)["pvalue"].item()
        for times in suites
        for kind in kinds
    ]
    np.testing.assert_allclose(np.multiply(pvalues, 501), [2, 18, 64, 2, 50, 112])
