"""One comparison under every method."""

import numpy as np
import pytest
import xarray as xr

import perfarray
from perfarray.crosscheck.methods import METHODS
from perfarray.results.words import NOTHING

NAMES = [method.name for method in METHODS]


def suite(factor: float, *, units: int = 10, benchmarks: int = 6, seed: int = 1) -> xr.DataArray:
    """Return two versions of a suite; the new one takes `factor` times as long."""
    dims = {"benchmark": benchmarks, "version": ["old", "new"]}
    times = perfarray.simulate(
        sizes={"execution": units}, variances={"execution": 1e-4}, dims=dims, rng=seed
    )["time"]
    return times.where(times["version"] == "old", factor * times).assign_attrs(times.attrs)


def test_a_clear_gain_is_seen_by_all():
    """All methods agree where there is nothing to doubt."""
    agreement = suite(0.9).perf.agreement("old", dim="version", rng=1).squeeze("version")
    assert agreement["method"].values.tolist() == NAMES
    assert agreement["suite_agree"].item()
    assert agreement["agree"].all()
    outcome = agreement["outcome"].sel({"method": "speedup_test_mean"})
    assert set(outcome.values.tolist()) == {
        "conclusive",
        "not applicable",
    }  # one sample is not normal
    suite_verdicts = agreement["suite_verdict"].to_series()
    assert set(suite_verdicts[suite_verdicts != "not asked"]) == {"faster"}
    assert agreement["suite_differences"].item() == ""
    assert all(agreement["question"].to_series())


def test_a_loss_is_seen_in_the_other_direction():
    """HPT is asked both ways; the Speedup-Test asks one way only, and its question says so."""
    agreement = suite(1.1).perf.agreement("old", dim="version", rng=1).squeeze("version")
    assert agreement["suite_verdict"].sel({"method": "hpt"}).item() == "slower"
    assert (agreement["verdict"].sel({"method": ["fieller", "randomization"]}) == "slower").all()
    assert (agreement["verdict"].sel({"method": "speedup_test_mean"}) == "inconclusive").all()
    assert "one direction" in agreement["question"].sel({"method": "speedup_test_mean"}).item()


def test_answers_are_those_of_the_methods_themselves():
    """Nothing is computed another way here."""
    times = suite(0.99)
    agreement = times.perf.agreement("old", dim="version", rng=3).squeeze("version")
    verdicts = times.perf.compare("old", dim="version").squeeze("version")
    for name in (
        "estimate",
        "lower",
        "upper",
        "pvalue",
        "verdict",
        "suite_estimate",
        "suite_lower",
        "suite_verdict",
    ):
        np.testing.assert_array_equal(
            agreement[name].sel({"method": "fieller"}).values, verdicts[name].values
        )
    exchanged = times.perf.randomization_test(
        "old", dim="version", n_resamples=1000, rng=3
    ).squeeze("version")
    assert (
        agreement["suite_pvalue"].sel({"method": "randomization"}).item()
        == exchanged["pvalue"].item()
    )
    sides = [
        times.assign_attrs(better=better).perf.hierarchical_performance_test("old", dim="version")
        for better in ("lower", "higher")
    ]
    ranks = min(side["pvalue"].item() for side in sides)
    assert agreement["suite_pvalue"].sel({"method": "hpt"}).item() == min(1.0, 2 * ranks)


def test_effects_that_cancel():
    """Where half the suite gains what the other half loses, single benchmarks differ and the suite
    does not."""
    times = suite(1.0)
    factor = xr.DataArray([0.9, 1 / 0.9] * 3, dims="benchmark")
    times = times.where(times["version"] == "old", factor * times).assign_attrs(times.attrs)
    agreement = times.perf.agreement("old", dim="version", rng=1).squeeze("version")
    assert set(agreement["verdict"].sel({"method": "fieller"}).values.tolist()) == {
        "faster",
        "slower",
    }
    assert agreement["suite_verdict"].sel({"method": "randomization"}).item() == "inconclusive"


def test_who_differs_is_said():
    """The methods are listed by verdict where they do not agree, and then those that could not
    answer."""
    old, new = [[1.0, 1.2, 0.9], [2.0, 2.1, 1.9]], [[1.1, 0.7, 0.95], [1.6, 1.7, 1.65]]
    samples = {"fft": [old[0], new[0]], "sort": [old[1], new[1]]}
    times = perfarray.from_samples(
        samples, dim="benchmark", level=("version", "execution")
    ).assign_coords(version=["old", "new"])
    agreement = (
        times.perf.agreement("old", rng=1, threshold=0.2).squeeze("version").sel(benchmark="sort")
    )
    assert not agreement["agree"].item()
    kinds = dict(
        difference.split(": ") for difference in agreement["differences"].item().split("; ")
    )
    assert kinds["not applicable"] == "randomization"
    assert "fieller" in kinds["inconclusive"]
    assert "speedup_test_median" in kinds["faster"]
    for kind, names in kinds.items():
        verdicts = agreement[["verdict", "outcome"]].sel({"method": names.split(", ")})
        assert set(verdicts["verdict"].values) == {
            kind if kind != "not applicable" else "inconclusive"
        }
        assert ((verdicts["outcome"] == "not applicable") == (kind == "not applicable")).all()


def test_a_method_that_cannot_answer_contradicts_nobody():
    """Three units a side: the randomization test of one benchmark has no p below 0.1, which is said
    and no disagreement; nor can HPT."""
    agreement = (
        suite(0.9, units=3, benchmarks=2)
        .perf.agreement("old", dim="version", rng=1)
        .squeeze("version")
    )
    exchanged = agreement.sel({"method": "randomization"}).isel(benchmark=0)
    assert exchanged[["verdict", "outcome"]].to_array().values.tolist() == [
        "inconclusive",
        "not applicable",
    ]
    assert agreement["agree"].isel(benchmark=0).item()
    assert agreement["differences"].isel(benchmark=0).item() == ""
    assert "its p cannot fall below 0.1" in exchanged["remark"].item()
    ranks = agreement.sel({"method": "hpt"})
    assert ranks["suite_outcome"].item() == "not applicable"
    assert ranks["suite_remark"].item().endswith("its p cannot fall below 1")
    four = (
        suite(0.9, units=4, benchmarks=2)
        .perf.agreement("old", dim="version", rng=1)
        .squeeze("version")
    )
    assert (
        four["suite_remark"].sel({"method": "hpt"}).item().endswith("its p cannot fall below 0.5")
    )


def test_a_method_that_found_nothing_did_answer():
    """Two systems alike, ten units: no evidence, which is not the same as no answer."""
    agreement = suite(1.0).perf.agreement("old", dim="version", rng=1).squeeze("version")
    assert agreement["suite_outcome"].sel({"method": "hpt"}).item() == "no evidence"
    assert agreement["suite_outcome"].sel({"method": "speedup_test_mean"}).item() == "not asked"
    cells = agreement.sel({"method": ["fieller", "randomization"]})
    assert ((cells["outcome"] == "no evidence") == (cells["verdict"] == "inconclusive")).all()
    assert (cells["outcome"] == "no evidence").any()


def test_without_any_answer_nobody_agrees():
    """One unit a side: no method of single benchmarks applies, and that is not agreement."""
    with pytest.warns(perfarray.PerfarrayWarning, match="6 of 6 cells rest on one execution"):
        agreement = (
            suite(0.9, units=1).perf.agreement("old", dim="version", rng=1).squeeze("version")
        )
    assert not agreement["agree"].any()
    assert set(agreement["outcome"].values.ravel()) == {"not applicable", "not asked"}
    assert agreement["differences"].values[0].startswith("not applicable: fieller, studentized")


def test_reach_is_that_of_each_benchmark():
    """One benchmark with 3 runs among others with 10: only there can the randomization test not
    answer."""
    times = suite(0.9)
    times[{"benchmark": 0, "execution": slice(3, None)}] = np.nan
    agreement = times.perf.agreement("old", dim="version", rng=1).squeeze("version")
    outcome = agreement["outcome"].sel({"method": "randomization"}).values.tolist()
    assert outcome == ["not applicable"] + ["conclusive"] * 5


def test_a_benchmark_of_one_side_is_not_measured():
    """The remark tells missing data from few."""
    times = suite(0.9)
    times[{"benchmark": 0, "version": 1}] = np.nan
    agreement = (
        times.perf.agreement("old", dim="version", rng=1).squeeze("version").isel(benchmark=0)
    )
    assert set(agreement["remark"].sel({"method": ["fieller", "randomization"]}).values) == {
        "not measured on both sides"
    }
    assert not agreement["agree"].item()


def test_unequal_numbers_of_runs_reach_smaller_p():
    """3 runs against 10 can be exchanged in 286 ways: enough for 5 %, and nothing is remarked."""
    new = [0.5 + 0.01 * run for run in range(10)]
    times = perfarray.from_samples({"old": [1.0, 1.1, 1.2], "new": new})
    agreement = times.perf.agreement("old", rng=1, n_resamples=5000).sel(
        {"method": "randomization"}
    )
    assert agreement["remark"].item() == ""
    assert agreement["pvalue"].item() < 0.05


def test_one_benchmark_without_a_dim():
    """A single program is a suite of one."""
    times = perfarray.from_samples(
        {"old": [1.0, 1.01, 0.99, 1.0, 1.02], "new": [0.8, 0.81, 0.79, 0.8, 0.82]}
    )
    agreement = times.perf.agreement("old", rng=1).squeeze("version")
    assert agreement["verdict"].dims == ("method",)
    assert agreement["verdict"].sel({"method": "fieller"}).item() == "faster"


def test_a_baseline_with_a_dim_more():
    """One candidate against the same baseline on two machines: the answer of one machine, twice."""
    new, old = (suite(0.9).sel(version=version, drop=True) for version in ("new", "old"))
    agreement = new.perf.agreement(old.expand_dims(machine=["a", "b"]), n_resamples=20, rng=1)
    alone = new.perf.agreement(old, n_resamples=20, rng=1)
    for machine in ("a", "b"):
        of_machine = agreement.sel(machine=machine, drop=True).transpose("method", ...)
        xr.testing.assert_allclose(
            of_machine[["estimate", "suite_estimate"]], alone[["estimate", "suite_estimate"]]
        )


def test_what_ignores_pairs_keeps_its_reach():
    """Five pairs can be swapped in 32 ways: too few for the randomization test; the Speedup-Test
    and HPT, which do not pair, have 252."""
    agreement = (
        suite(0.9, units=5)
        .perf.agreement("old", dim="version", paired="execution", rng=1)
        .squeeze("version")
    )
    exchanged = agreement.sel({"method": "randomization"})
    assert set(exchanged["outcome"].values) == {"not applicable"}
    np.testing.assert_allclose(exchanged["pvalue"], 2 / 32)
    for prefix, method in (("", "speedup_test_median"), ("suite_", "hpt")):
        method_rows = agreement.sel({"method": method})
        assert set(method_rows[f"{prefix}verdict"].values.ravel()) == {"faster"}
        assert set(method_rows[f"{prefix}outcome"].values.ravel()) == {"conclusive"}
        assert set(method_rows[f"{prefix}remark"].values.ravel()) == {
            "does not use that units are paired"
        }


def test_few_exchanges_are_all_counted():
    """3 runs against 3: twice 1 of 20 exchanges, without chance, which is a verdict at a level of
    0.9 and not applicable at 0.95."""
    for level, outcome in ((0.9, "conclusive"), (0.95, "not applicable")):
        agreement = (
            suite(0.9, units=3)
            .perf.agreement("old", dim="version", confidence_level=level, rng=1)
            .squeeze("version")
        )
        exchanged = agreement.sel({"method": "randomization"})
        np.testing.assert_allclose(exchanged["pvalue"], 0.1)
        assert set(exchanged["outcome"].values) == {outcome}
        not_applicable = agreement["outcome"].values == "not applicable"
        assert set(agreement["verdict"].values[not_applicable]) <= {"inconclusive"}


def test_more_exchanges_than_numbers():
    """Of 600 runs a side there are 10^360 ways to exchange them, which no float holds: no p is out
    of reach."""
    old = np.random.default_rng(1).normal(10.0, 0.1, 600)
    answer = (
        perfarray.from_samples({"old": old, "new": 0.9 * old[::-1]})
        .perf.agreement("old", n_resamples=99, rng=1)
        .sel(version="new")
    )
    assert answer["verdict"].sel({"method": "randomization"}).item() == "faster"


def test_shared_units_reach_as_far_as_the_fewest():
    """With 3 sessions of one benchmark and 10 of the others, 3 can change hands for the whole
    suite: 20 ways."""
    times = suite(0.9)
    times[{"benchmark": 0, "execution": slice(3, None)}] = np.nan
    agreement = times.perf.agreement("old", dim="version", shared="execution", rng=1).squeeze(
        "version"
    )
    exchanged = agreement.sel({"method": "randomization"})
    assert exchanged["suite_pvalue"].item() == pytest.approx(0.1)
    assert exchanged["suite_outcome"].item() == "not applicable"


def test_shared_builds_are_said():
    """HPT takes benchmarks for independent, and says so where they are not."""
    dims = {"benchmark": 6, "version": ["old", "new"]}
    times = perfarray.simulate(
        sizes={"binary": 6, "execution": 2},
        variances={"binary": 1e-4},
        dims=dims,
        shared={"binary": 0.5},
        rng=2,
    )
    agreement = times.perf.agreement("old", dim="version", rng=1).squeeze("version")
    assert agreement.attrs["benchmarks"] == "shared: binary"
    assert (
        "takes benchmarks for independent"
        in agreement["suite_remark"].sel({"method": "hpt"}).item()
    )


def test_few_units_are_noted():
    """What a comparison notes of the units it rests on holds for all methods, and is said once."""
    with pytest.warns(perfarray.PerfarrayWarning) as caught:
        suite(0.9, units=2, benchmarks=2).perf.agreement(
            "old", dim="version", rng=1, n_resamples=99
        )
    assert [note.code for note in caught[0].message.notes] == ["few_units"]


def test_suites_apart_are_what_each_is_alone(monkeypatch):
    """Every suite has its own row under every method, and says nothing of several suites;
    benchmarks keep theirs."""
    monkeypatch.setattr("perfarray.crosscheck.agreement.METHODS", METHODS[:3])
    mixed = suite(0.97, units=4).assign_coords(
        suite=("benchmark", ["int", "int", "fp", "fp", "int", "fp"])
    )
    one_suite = mixed.drop_vars("suite").perf.agreement("old", dim="version", rng=1, n_resamples=99)
    agreement = mixed.perf.agreement("old", dim="version", rng=1, n_resamples=99)
    xr.testing.assert_equal(
        agreement, mixed.perf.agreement("old", dim="version", rng=1, n_resamples=99, by="suite")
    )
    alone = mixed.sel(benchmark=mixed["suite"] == "fp").perf.agreement(
        "old", dim="version", rng=1, n_resamples=99
    )
    for name in agreement.data_vars:
        suites = name.startswith("suite_")
        expected = alone if suites else one_suite
        np.testing.assert_array_equal(
            agreement[name].sel(suite="fp") if suites else agreement[name], expected[name]
        )


def test_same_seed_same_numbers():
    """Chance enters by `rng` alone, and chunks do not matter."""
    pytest.importorskip("dask")
    times = suite(0.99)
    first = times.perf.agreement("old", dim="version", rng=5)
    xr.testing.assert_identical(
        first, times.chunk({"benchmark": 2}).perf.agreement("old", dim="version", rng=5)
    )


def test_bad_input():
    """The message says what came and what is needed."""
    with pytest.raises(ValueError, match="label 'older' not found"):
        suite(1.0).perf.agreement("older", dim="version")
    with pytest.raises(ValueError, match="confidence_level=95 is out of range"):
        suite(1.0).perf.agreement("old", dim="version", confidence_level=95)


def test_the_table_says_what_the_picture_says():
    """A column a method by its title, the suite as last row, and what is not applicable is not
    called inconclusive."""
    agreement = suite(0.9, units=3).perf.agreement("old", dim="version", rng=1)
    table = agreement.perf.table()
    assert [*table.columns] == [*agreement["title"].values.tolist(), "agree"]
    assert table.index.tolist() == [*agreement["benchmark"].values.tolist(), "all 6"]
    outcomes = np.vstack(
        [
            agreement["outcome"].squeeze("version").transpose("benchmark", "method"),
            agreement["suite_outcome"].squeeze("version"),
        ]
    )
    words = table.drop(columns="agree").to_numpy()
    assert (words == "n/a").tolist() == (outcomes == "not applicable").tolist()
    assert (words == NOTHING).tolist() == (outcomes == "not asked").tolist()
    assert (
        table.loc["all 6", "agree"] == {True: "yes", False: "no"}[agreement["suite_agree"].item()]
    )
    alone = suite(0.9, benchmarks=1).perf.agreement("old", dim="version", rng=1).perf.table()
    assert "HPT" not in alone.columns
    assert len(alone) == 1
    one_benchmark = agreement.isel(benchmark=[0]).perf.table()
    assert one_benchmark.index.tolist() == [agreement["benchmark"].values[0], "all 6"]
