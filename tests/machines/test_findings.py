"""What a regression on an archive says: sentences, shares with limits, notes on suites and
predictors, and how fast it is."""

import re

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats

import perfarray
from perfarray.machines.numerics.shares import explained_shares
from shared_material import ARCHIVES, needs_archives

pytest.importorskip("sklearn", reason="needs perfarray[regression] (since 2026-11)")


@pytest.fixture(scope="module")
def archive():
    """An archive: machines with two compilers, of two suites, one of them incomplete on some; one
    report with a single run."""
    chance = np.random.default_rng(1)
    machines, compilers, benchmarks = 40, ["GCC 12.2.0", "Clang 17.0.1"], ["gcc", "mcf", "lbm"]
    cores, mhz = 2.0 ** chance.integers(0, 6, machines), chance.uniform(2000, 5000, machines)
    speed = (
        (mhz / 1000) * np.exp(0.1 * chance.standard_normal(machines)) * np.array([[1.0], [1.02]])
    )
    values = speed.T[:, :, None, None] * np.exp(0.01 * chance.standard_normal((machines, 2, 3, 3)))
    values[0, :, 2] = np.nan
    values[1, :, :, 1:] = np.nan
    values[30:, :, 2] = np.nan
    coords = {
        "machine": [f"m{number}" for number in range(machines)],
        "compiler": compilers,
        "benchmark": benchmarks,
    }
    array = xr.DataArray(
        values,
        coords | {"execution": range(3)},
        name="ratio",
        attrs={"units": "1", "better": "higher"},
    )
    descriptors = {
        "cores": ("machine", cores),
        "cpu_mhz": ("machine", mhz),
        "threads": ("machine", 2 * cores),
    }
    return array.assign_coords(descriptors | {"suite": ("benchmark", ["int", "int", "fp"])})


@pytest.fixture(scope="module")
def table(archive):
    with pytest.warns(perfarray.PerfarrayWarning):
        return archive.perf.machine_table()


@pytest.fixture(scope="module")
def model(table):
    with pytest.warns(perfarray.PerfarrayWarning):
        return table.perf.explain_variation(response="performance", rng=1)


def test_a_row_is_a_configuration(table):
    """Machine, compiler and suite are columns; the compiler is also read as family and version,
    which explain instead of its label."""
    assert list(table)[:3] == ["machine", "compiler", "suite"]
    assert len(table) == 80 + 58
    compilers = table[["compiler", "compiler_family", "compiler_version"]].drop_duplicates()
    assert compilers.values.tolist() == [
        ["GCC 12.2.0", "GCC", pytest.approx(12.2)], ["Clang 17.0.1", "Clang", 17.0],
    ]  # fmt: skip
    assert table["compiler_family"].dtype == "category"
    model = table[table["suite"] == "int"].perf.explain_variation(
        response="performance", predictors=["compiler"], rng=1, splits=1
    )
    assert model.to_dataset()["predictor"].values.tolist() == ["compiler"]


def test_a_label_that_cannot_be_read_explains_itself(archive):
    """A compiler that no rule reads keeps its label as a predictor; notes name rows by their
    labels."""
    integers = archive.isel(benchmark=slice(2)).assign_coords(compiler=["my own", "yours"])
    with pytest.warns(
        perfarray.PerfarrayWarning,
        match="2 of 80 cells .'m1, my own', 'm1, yours'. rest on one execution",
    ):
        integers.perf.machine_table()
    result = integers.perf.explain_variation(response="performance", rng=1, splits=1).to_dataset()
    assert "compiler" in result["predictor"].values


def test_the_sentences_are_those_of_a_report(model):
    """They name the strongest predictors with their shares and limits, and the share of all; they
    stand below the table, too."""
    result = model.to_dataset().sel(predictor="cpu_mhz")
    numbers = [100 * float(result[f"explained{end}"]) for end in ("", "_lower", "_upper")]
    first, second = model.sentences()[:2]
    words = re.match(
        r"cpu_mhz explains (\d+) % of the variation of performance between machines "
        r"\((\d+) to (\d+)\)",
        first,
    )
    np.testing.assert_allclose([float(word) for word in words.groups()], numbers, atol=0.51)
    assert second.startswith("All 5 predictors together explain ")
    assert second.endswith(" machines that the fit did not see.")
    assert all(sentence in repr(model.table()) for sentence in model.sentences())
    assert numbers[0] > 50


def test_shares_add_up_to_what_the_model_explains(model):
    """The parts of the predictors are in proportion to their influence, and sum to 1 less the
    squared error over that of the mean."""
    result = model.to_dataset()
    assert float(result["explained"].sum()) == pytest.approx(float(result["total_explained"]))
    np.testing.assert_allclose(
        result["explained"], result["influence"] / 100 * result["total_explained"]
    )
    assert float(result["total_explained"]) == pytest.approx(model.correlation**2, abs=0.1)
    assert (result["explained_lower"] <= result["explained"]).all()
    assert (result["explained"] <= result["explained_upper"]).all()


def test_several_suites_in_one_table(table):
    """The suite with most rows is explained, and a note names it and the others; `suite` among the
    predictors takes all rows."""
    with pytest.warns(
        perfarray.PerfarrayWarning, match=r"rows of 2 suites: 'int' \(80 rows\), 'fp' \(58 rows\)"
    ) as caught:
        result = table.perf.explain_variation(response="performance", rng=1, splits=1).to_dataset()
    assert caught[0].message.notes[0].code == "several_suites"
    assert (result.attrs["n"], dict(caught[0].message.notes[0].values)["suite"]) == (80, "int")
    all_suites = table.perf.explain_variation(
        response="performance", predictors=["suite", "cpu_mhz"], rng=1, splits=1
    ).to_dataset()
    assert all_suites.attrs["n"] == 138
    two_suites = pd.DataFrame(
        {"suite": ["a"] * 20 + ["b"] * 9, "cores": range(29), "performance": np.arange(29.0) + 1}
    )
    with pytest.warns(
        perfarray.PerfarrayWarning, match="scores are not comparable, so only 'a' is explained"
    ):
        assert (
            two_suites.perf.explain_variation(response="performance", model="ols", rng=1)
            .to_dataset()
            .attrs["n"]
            == 20
        )


def test_rows_without_a_response_are_counted(table):
    """A single run has no variation; a note counts such rows."""
    integers = table[table["suite"] == "int"]
    with pytest.warns(
        perfarray.PerfarrayWarning, match="2 of 80 rows have no relative_variation and are left out"
    ):
        integers.perf.explain_variation(model="ols", predictors=["cores"], rng=1)


def test_predictors_that_say_the_same(table):
    """Copies and constants that were named are left out with the reason; those that rise together
    are named beside the answer."""
    integers = table[table["suite"] == "int"].assign(
        clock=lambda rows: rows["cpu_mhz"] + 0.01 * rows["cores"], constant=1, again=table["cores"]
    )
    with pytest.warns(perfarray.PerfarrayWarning) as caught:
        model = integers.perf.explain_variation(
            response="performance",
            predictors=["cpu_mhz", "clock", "cores", "constant", "again"],
            rng=1,
            splits=1,
        )
    (note,) = caught[0].message.notes
    assert dict(note.values) == {
        "predictors": ["constant", "again"],
        "reasons": ["constant", "a copy of cores"],
    }
    similar = {note.code: note for note in model.notes()}["similar_predictors"]
    assert similar.values["predictors"] == [["cpu_mhz", "clock"]]
    assert similar.aside


@pytest.mark.parametrize("machines", [1, 3])
def test_few_machines(machines):
    """One machine cannot be tested on another, which the error says; of three, the sentence says
    that they are too few."""
    chance = np.random.default_rng(2)
    rows = np.repeat(np.arange(machines), 6)
    table = pd.DataFrame(
        {
            "machine": [f"m{n}" for n in rows],
            "cores": 2.0**rows,
            "threads": chance.integers(1, 9, len(rows)),
        }
    )
    table["performance"] = np.exp(rows + 0.01 * chance.standard_normal(len(rows)))
    ask = {"response": "performance", "model": "ols", "rng": 1}
    if machines == 1:
        with pytest.raises(
            ValueError, match="'machine' has 1 label in 6 rows; a test needs 2 or more"
        ):
            table.perf.explain_variation(**ask)
        return
    with pytest.warns(
        perfarray.PerfarrayWarning,
        match="3 machines were tested, too few to tell an influence from chance",
    ):
        model = table.perf.explain_variation(**ask)
    assert model.to_dataset()["explained_lower"].isnull().all()


def test_a_predictor_of_any_name_is_in_the_sentence():
    """Braces and percent signs in the name of a flag are those of its name."""
    flag = "flag -D{X}=%s"
    chance = np.random.default_rng(6)
    table = pd.DataFrame({"machine": range(60), flag: chance.random(60) < 0.5})
    table["performance"] = np.exp(table[flag] + 0.3 * chance.standard_normal(60))
    model = table.perf.explain_variation(response="performance", rng=1)
    assert model.sentences()[0].startswith(f"{flag} explains ")


def test_nothing_found_is_said():
    """Where nothing explains, the sentence says so, and the table divides up no noise."""
    chance = np.random.default_rng(3)
    table = pd.DataFrame(
        {
            "machine": range(60),
            "cores": chance.random(60),
            "performance": np.exp(chance.standard_normal(60)),
        }
    )
    model = table.perf.explain_variation(response="performance", rng=1)
    (sentence,) = model.sentences()
    assert sentence.startswith(
        "No predictor explains performance: the model predicts no better than the mean for "
    )
    assert model.table()["influence"].tolist() == ["-"]


def test_one_criterion_says_that_something_is_explained():
    """The attr, the sentences, the table and the picture go by the lower limit of the whole share;
    few machines have no limits."""
    chance = np.random.default_rng(1)
    rows = np.repeat(np.arange(10), 3)
    clock = np.linspace(2, 4, 10)[rows]
    table = pd.DataFrame(
        {
            "machine": [f"m{n}" for n in rows],
            "clock": clock,
            "performance": clock * np.exp(0.1 * chance.standard_normal(30)),
        }
    )
    strongest = set()
    for seed in range(6):
        for rows_used in (table, table.assign(clock=chance.permutation(table["clock"]))):
            model = rows_used.perf.explain_variation(
                response="performance", model="ols", splits=3, rng=seed
            )
            result = model.to_dataset()
            better = bool(result["total_explained_lower"] > 0)
            assert result.attrs["better_than_mean"] == better
            assert model.sentences()[0].startswith("No predictor explains") != better
            assert (model.table()["influence"].iloc[0] == "-") != better
            strongest.add((better, bool(result["correlation_lower"] > 0)))
    assert {better for better, _ in strongest} == {True, False}
    three_machines = table[table["machine"].isin(["m0", "m4", "m9"])]
    with pytest.warns(perfarray.PerfarrayWarning, match="3 machines were tested, too few"):
        model = three_machines.perf.explain_variation(response="performance", model="ols", rng=1)
    assert model.sentences() == (
        "3 machines were tested, too few to tell what explains performance from chance.",
    )


def test_limits_of_shares_do_not_fit_again(monkeypatch, table):
    """Machines are drawn again, and the model is fitted once for each test and once to all rows."""
    from perfarray.machines import problem

    fits = []
    boosted = problem.boosted
    monkeypatch.setattr(
        problem, "boosted", lambda *arguments: fits.append(1) or boosted(*arguments)
    )
    integers = table[table["suite"] == "int"]
    integers.perf.explain_variation(response="performance", splits=2, rng=1)
    assert len(fits) == 3


def test_shares_by_hand():
    """Errors of 1 against 4 of the mean explain 3 / 4, divided as permuting adds 3 and 1; what
    lowers the error explains nothing."""
    errors, units = np.ones(8), np.arange(8)
    total, explained = explained_shares(
        errors,
        4 * errors,
        np.array([3 * errors, errors, -errors, np.nan * errors]),
        units,
        0.95,
        np.random.default_rng(1),
    )
    np.testing.assert_allclose(total, [0.75, 0.75, 0.75])
    np.testing.assert_allclose(explained[0], [0.5625, 0.1875, 0.0, np.nan])
    np.testing.assert_allclose(explained[1], explained[0])
    total, explained = explained_shares(
        errors[:5], 4 * errors[:5], np.ones((1, 5)), units[:5], 0.95, np.random.default_rng(1)
    )
    assert np.isnan([total[1], explained[1, 0]]).all()
    total, explained = explained_shares(
        2 * errors, errors, np.ones((1, 8)), units, 0.95, np.random.default_rng(1)
    )
    assert (total[0], explained[0].tolist()) == (-1.0, [0.0])


def test_limits_of_few_units_are_those_of_t():
    """What is left of 1 is the mean of twelve errors: its limits are Student's, wider than the
    percentiles of means drawn with replacement."""
    errors, ones = 0.5 + 0.1 * stats.norm.ppf((np.arange(12) + 0.5) / 12), np.ones(12)
    totals = [
        explained_shares(
            errors, ones, ones[None], np.arange(12), 0.95, np.random.default_rng(seed)
        )[0]
        for seed in range(20)
    ]
    half = stats.t.ppf(0.975, 11) * errors.std(ddof=1) / np.sqrt(12)
    assert np.ptp(totals, axis=1).mean() / 2 == pytest.approx(half, rel=0.025)


def test_many_units_are_drawn_in_batches():
    """Of 20,000 units the limits are those of the normal law, in memory for batches."""
    chance = np.random.default_rng(4)
    errors, baseline = chance.chisquare(1, (2, 20_000))
    total, _ = explained_shares(
        errors, 4 * baseline, np.ones((1, 20_000)), np.arange(20_000), 0.95, chance
    )
    # The ratio of two means of chi-square values has a relative standard error of sqrt(2 x 2 /
    # 20,000).
    half = 1.96 * 0.25 * np.sqrt(4 / 20_000)
    assert (total[2] - total[1]) / 2 == pytest.approx(half, rel=0.1)


def test_residuals_and_machines_that_move_the_fit():
    """A linear model keeps its residuals, and by machine Cook's distance, which is that of
    statsmodels where rows stand alone."""
    chance = np.random.default_rng(5)
    table = pd.DataFrame(
        {"machine": [f"m{n}" for n in range(40)], "cores": chance.uniform(1, 9, 40)}
    )
    table["performance"] = np.exp(0.2 * table["cores"] + 0.1 * chance.standard_normal(40))
    table.loc[7, "performance"] *= 5
    model = table.perf.explain_variation(response="performance", model="ols", rng=1)
    result = model.to_dataset()
    np.testing.assert_allclose(result["residual"], model.result.resid)
    np.testing.assert_allclose(result["fitted"], model.result.fittedvalues)
    np.testing.assert_allclose(
        result["cook_distance"], model.result.get_influence().cooks_distance[0]
    )
    assert result["fitted_row"].values[int(np.argmax(result["cook_distance"].values))] == "m7"
    # Ten copies of each machine move the fit as their machine does.
    tenfold = pd.concat([table] * 10, ignore_index=True)
    copies = tenfold.perf.explain_variation(
        response="performance", model="ols", rng=1
    ).to_dataset()["cook_distance"]
    np.testing.assert_allclose(
        copies[:40] / copies[0], result["cook_distance"] / result["cook_distance"][0]
    )


def test_a_bar_counts_fits_and_predictors(capsys, table):
    """`progress=True` shows one step for each test and predictor."""
    integers = table[table["suite"] == "int"]
    integers.perf.explain_variation(
        response="performance", predictors=["cpu_mhz", "cores"], splits=2, rng=1, progress=True
    )
    assert "6/6" in capsys.readouterr().err


@needs_archives
@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
def test_an_archive_of_reports():
    """Of the 52 machines of `spec_txt` the clock explains most of the performance; machines stay
    together; texts are typed."""
    table = perfarray.read(ARCHIVES / "spec_txt").perf.machine_table(levels=("execution",))
    assert set(table["suite"]) == {"fp2017_rate1", "int2017_rate1", "int2026_rate1", "fp2026_rate1"}
    assert {"machine", "compiler", "flags", "compiler_family", "compiler_version"} <= set(table)
    model = table.perf.explain_variation(response="performance", rng=1)
    assert model.influence.index[0] == "cpu_mhz"
    assert model.to_dataset().attrs["groups"] == "machine"
    assert "of the variation of performance between machines" in model.sentences()[0]
