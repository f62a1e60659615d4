"""What explains variation: truth that was put in is found, nothing where there is nothing; bad tables; every message."""

import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import perfarray

pytest.importorskip("sklearn", reason="needs perfarray[regression] (since 2026-11)")


def made(rows: int, rng: int, strength: float = 1.0) -> pd.DataFrame:
    """Return machines whose log variation grows with cores and depends on the system; clock and vendor have no influence."""
    chance = np.random.default_rng(rng)
    cores = 2.0 ** chance.integers(0, 8, rows)
    system = chance.choice(["aix", "linux", "windows"], rows)
    log = strength * (0.8 * np.log(cores) + 1.2 * (system == "windows")) + 0.5 * chance.standard_normal(rows) - 6
    return pd.DataFrame(
        {
            "machine": [f"m{n}" for n in range(rows)],
            "relative_variation": np.exp(log),
            "cores": cores,
            "os": pd.Categorical(system),
            "cpu_mhz": chance.uniform(2000, 4000, rows),
            "vendor": pd.Categorical(chance.choice(list("ABCDEFGH"), rows)),
            "memory_gb": np.where(chance.random(rows) < 0.3, np.nan, cores * chance.choice([1, 2], rows)),
        }
    )


def test_trees_find_what_was_put_in():
    """Cores and system carry the influence, the rest next to none; it sums to 100; the correlation is that of the truth."""
    table = made(400, 1)
    model = table.perf.explain_variation(predictors=["cores", "os", "cpu_mhz", "vendor"], rng=1)
    found = model.to_dataset()
    assert model.influence.index[:2].tolist() == ["cores", "os"]
    assert model.influence.sum() == pytest.approx(100)
    assert model.influence["cpu_mhz"] + model.influence["vendor"] < 5
    assert (found["lower"].sel(predictor=["cores", "os"]) > 0).all()
    best = np.corrcoef(np.log(table["relative_variation"]), 0.8 * np.log(table["cores"]) + 1.2 * (table["os"] == "windows"))[0, 1]
    assert best - 0.06 < model.correlation < best + 0.03
    dependence = found["dependence"].sel(dependent="cores")
    assert (dependence.dropna("point").diff("point") > -0.2).all()
    assert float(dependence.max() - dependence.min()) == pytest.approx(0.8 * np.log(128), rel=0.2)


def test_least_squares_finds_the_slope():
    """The coefficient of the formula is the one put in, and the fit is to all rows."""
    table = made(400, 2)
    model = table.perf.explain_variation(model="ols", formula="np.log(relative_variation) ~ np.log(cores) + C(os)", rng=1)
    low, high = model.result.conf_int().loc["np.log(cores)"]
    assert low < 0.8 < high
    assert model.result.nobs == 400
    assert sorted(model.influence.index) == ["cores", "os"]
    prediction = model.predict(table.assign(cores=table["cores"] * np.e)) - model.predict(table)
    np.testing.assert_allclose(prediction, model.result.params["np.log(cores)"])


@pytest.mark.slow
def test_nothing_is_found_where_there_is_nothing():
    """Of 15 tables without any influence, few have a correlation whose 95 % interval leaves out 0."""
    wrong = lower = 0
    for seed in range(15):
        table = made(80, 1000 + seed, strength=0.0)
        found = table.perf.explain_variation(model="ols", predictors=["cores", "cpu_mhz", "os"], rng=seed).to_dataset()
        wrong += not found["correlation_lower"] <= 0 <= found["correlation_upper"]
        lower += int((found["lower"] > 0).sum())
    assert wrong <= 3
    assert lower <= 0.1 * 3 * 15


def test_mixed_model_knows_families():
    """The variance of the families that was put in is found, and the slope with it."""
    chance = np.random.default_rng(3)
    family = np.repeat(np.arange(60), 10)
    cores = chance.uniform(0, 4, 600)
    log = 0.5 * cores + chance.normal(0, 1.0, 60)[family] + chance.normal(0, 0.5, 600)
    table = pd.DataFrame({"relative_variation": np.exp(log), "cores": cores, "family": [f"f{n}" for n in family]})
    model = table.perf.explain_variation(model="mixed", predictors=["cores"], groups="family", rng=1)
    variances = model.to_dataset()["variance"].to_series()
    assert variances["groups"] == pytest.approx(1.0, rel=0.35)
    assert variances["residual"] == pytest.approx(0.25, rel=0.15)
    assert model.result.fe_params.iloc[1] == pytest.approx(0.5, abs=0.06)


CROSSED = [
    ("(1|machine)+(1|machine:exec), balanced", "y ~ 1", ("machine", "machine:exec")),
    ("(1|machine)+(1|machine:exec), 90 of 120 rows", "y ~ 1", ("machine", "machine:exec")),
    ("bench fixed, machine and machine:bench:exec random", "y ~ bench", ("machine", "machine:bench:exec")),
    ("nlme::Machines: machine fixed, worker and worker:machine random", "y ~ 1", ("worker", "worker:machine")),
    ("lme4::Penicillin plate x sample", "y ~ 1", ("plate", "sample")),
]


@pytest.mark.parametrize(("name", "formula", "random"), CROSSED)
def test_crossed_effects_agree_with_lme4(shared, name, formula, random):
    """Fixed and random effects, nested and crossed, as lme4 has them by REML."""
    cases = json.loads(shared("oracle", "03_varcomp_crossed.json").read_text())["cases"]
    case = next(case for case in cases if case["name"] == name)
    table = pd.DataFrame(case["input"])
    formula = "y ~ C(machine)" if "machine fixed" in name else formula
    found = table.perf.explain_variation(model="mixed", formula=formula, random=random, rng=1)
    expected = case["output"]["lme4_REML"]
    variances = found.to_dataset()["variance"].to_series()
    wanted = {effect: expected["variances"][effect] for effect in random} | {"residual": expected["variances"]["Residual"]}
    for effect, variance in wanted.items():
        assert variances[effect] == pytest.approx(variance, rel=1e-4)
    assert -2 * found.result.llf == pytest.approx(expected["criterion"], abs=1e-6)
    assert found.result.fe_params.iloc[0] == pytest.approx(expected["intercept"], rel=1e-5)


def test_near_copies_inflate_the_correlation():
    """Machines of a family share a variation of their own: rows at random find it, whole families apart do not."""
    chance = np.random.default_rng(4)
    family = np.repeat(np.arange(40), 8)
    table = pd.DataFrame(
        {
            "relative_variation": np.exp(chance.standard_normal(40)[family] + 0.1 * chance.standard_normal(320)),
            "cpu_mhz": chance.uniform(2000, 4000, 40)[family],
            "family": [f"f{n}" for n in family],
        }
    )
    at_random = table.perf.explain_variation(predictors=["cpu_mhz"], rng=1)
    apart = table.perf.explain_variation(predictors=["cpu_mhz"], groups="family", folds=5, rng=1)
    assert at_random.to_dataset().attrs["n_test_copies"] == at_random.to_dataset().attrs["n_test"]
    assert apart.to_dataset().attrs["n_test_copies"] == 0
    assert at_random.correlation > 0.9
    assert apart.to_dataset()["correlation_lower"] < 0.3
    assert apart.to_dataset().attrs["n_test"] == 320


def test_from_timings():
    """Timings become a table first; the noise ceiling is that of their runs."""
    times = perfarray.simulate(
        sizes={"execution": 3}, variances={"execution": 0.01}, mean=10.0, dims={"machine": 60, "benchmark": 4}, rng=1
    )["time"].assign_coords(cores=("machine", np.arange(60) % 8 + 1), os=("machine", np.array(["a", "b"] * 30, dtype=object)))
    model = times.perf.explain_variation(model="ols", rng=1)
    table = times.perf.machine_table()
    other = table.perf.explain_variation(model="ols", rng=1)
    xr.testing.assert_identical(model.to_dataset().drop_vars("noise_ceiling"), other.to_dataset().drop_vars("noise_ceiling"))
    noise, logs = table["relative_variation_noise"][0], np.log(table["relative_variation"])
    assert float(model.to_dataset()["noise_ceiling"]) == pytest.approx(np.sqrt(max(0, 1 - noise**2 / logs.var())))
    assert float(model.to_dataset()["noise_ceiling"]) < 0.5


def test_zeros_are_named():
    """A variation of 0 has no log: such machines are left out, counted and named."""
    table = made(60, 5)
    table.loc[[3, 7], "relative_variation"] = 0.0
    with pytest.warns(UserWarning, match="2 rows have a relative_variation of zero or less.*'m3', 'm7'"):
        found = table.perf.explain_variation(model="ols", predictors=["cores"], rng=1).to_dataset()
    assert (found.attrs["n_zero"], found.attrs["zero"], found.attrs["n"]) == (2, "m3, m7", 58)
    assert table.perf.explain_variation(model="ols", predictors=["cores"], log=False, rng=1).to_dataset().attrs["n"] == 60


def test_columns_that_say_nothing_are_left_out():
    """Constant, empty, copied and collinear columns are left out and named; for trees only those that are copies."""
    table = made(80, 6).assign(constant=1.0, empty=np.nan, copied=lambda t: t["cores"], half=lambda t: t["cores"] / 2)
    table["flag -a"] = table["cores"] > 8
    table["flag -b"] = table["cores"] <= 8
    linear = table.perf.explain_variation(model="ols", rng=1)
    assert set(linear.to_dataset().attrs["left_out"].split(", ")) >= {"constant", "empty", "copied", "half", "flag -b"}
    trees = table.perf.explain_variation(rng=1)
    assert set(trees.to_dataset().attrs["left_out"].split(", ")) == {"constant", "empty", "copied"}


def test_environment_alone():
    """Flags are told from the environment by their names."""
    table = made(80, 7).assign(**{"flag -a": np.arange(80) % 2 == 0})
    assert "flag -a" not in table.perf.explain_variation(model="ols", predictors="environment", rng=1).influence
    assert table.perf.explain_variation(model="ols", predictors="flags", rng=1).influence.index.tolist() == ["flag -a"]


def test_same_seed_same_numbers():
    """The seed decides; the result survives netCDF."""
    table = made(60, 8)
    first, second = (table.perf.explain_variation(rng=5).to_dataset() for _ in range(2))
    xr.testing.assert_identical(first, second)
    assert all(isinstance(value, str | int | float) for value in first.attrs.values())


def test_predictions_come_back_in_units():
    """A model of logs predicts variation; labels it never saw have no prediction in a linear one."""
    table = made(200, 9)
    model = table.perf.explain_variation(model="ols", predictors=["cores", "os"], rng=1)
    predicted = model.predict(table)
    assert np.corrcoef(np.log(predicted), np.log(table["relative_variation"]))[0, 1] > 0.8
    assert model.predict(table.assign(os="plan9")).isna().all()
    with pytest.raises(ValueError, match="columns 'os' not found"):
        model.predict(table.drop(columns="os"))


def test_a_formula_of_an_empty_column():
    """Terms of columns without any value are left out, with a warning."""
    table = made(60, 10).assign(l3_kb=np.nan)
    with pytest.warns(UserWarning, match="'l3_kb' are constant or empty"):
        model = table.perf.explain_variation(model="ols", formula="np.log(relative_variation) ~ np.log(cores) + np.log(l3_kb)", rng=1)
    assert model.influence.index.tolist() == ["cores"]


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"model": "forest"}, "model='forest' is not known"),
        ({"response": "speed"}, "columns 'speed' not found; the table has 'machine', 'relative_variation'"),
        ({"predictors": ["cores", "l3"]}, "columns 'l3' not found; the table has"),
        ({"model": "ols", "formula": "relative_variation ~ np.log(l3) + C(os)"}, "columns 'l3' not found; the table has"),
        ({"model": "ols", "formula": "cores"}, "has no '~'"),
        ({"formula": "relative_variation ~ cores"}, "a formula is for model='ols' or 'mixed'"),
        ({"model": "mixed"}, "needs a random effect"),
        ({"random": "vendor"}, "is for model='mixed'"),
        ({"groups": "family"}, "columns 'family' not found"),
        ({"test_size": 1.5}, "test_size=1.5 is out of range"),
        ({"response": "os"}, "holds category values, not numbers"),
        ({"predictors": ["machine"]}, "nothing is left to explain"),
        ({"groups": "vendor", "folds": 20, "predictors": ["cores"], "model": "ols"}, "a test needs 20 or more"),
        ({"metric": "time"}, "it chooses a variable of a Dataset"),
    ],
)
def test_messages(keywords, message):
    """What came and what there is."""
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        made(40, 11).perf.explain_variation(rng=1, **keywords)


def test_one_machine():
    """A table of one row says nothing."""
    with pytest.raises(ValueError, match="the table has 1 rows"):
        made(1, 1).perf.explain_variation()
    with pytest.raises(TypeError, match="expected a table of machines or timings, got list"):
        perfarray.explain_variation([1, 2])
