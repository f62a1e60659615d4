"""What explains variation: truth that was put in is found, nothing where there is nothing; bad tables; every message."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats

import perfarray
from strategies import experiments

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


@pytest.mark.parametrize("unit", [1.0, 1e6])
def test_limits_of_a_gamma_model_are_the_jackknife_s(unit):
    """Statsmodels' fits without each row, of a column between 1 and 5, give the limits in units of any size."""
    from statsmodels.api import GLM, families

    chance = np.random.default_rng(3)
    x = chance.uniform(1, 5, 14)
    y = np.exp(0.3 * x + chance.standard_normal(14))
    design, law = np.column_stack([np.ones(14), x]), families.Gamma(families.links.Log())

    def fitted(kept):
        return GLM(y[kept], design[kept], family=law).fit(tol=1e-14, maxiter=1000).params[1]

    slope, without = fitted(np.full(14, True)), np.array([fitted(np.arange(14) != row) for row in range(14)])
    half = stats.t.ppf(0.975, 12) * np.sqrt(13 / 14 * ((without - slope) ** 2).sum())
    model = pd.DataFrame({"y": y, "x": unit * x}).perf.explain_variation(response="y", model="gamma", formula="y ~ x")
    found = model.to_dataset().sel(term="x")
    limits = [unit * found[f"coefficient{name}"].item() for name in ("_lower", "", "_upper")]
    np.testing.assert_allclose(limits, [slope - half, slope, slope + half], rtol=1e-5)


def test_trees_find_what_was_put_in():
    """Cores and system carry the influence, the rest next to none; it sums to 100; the correlation is that of the truth."""
    table = made(400, 1)
    model = table.perf.explain_variation(predictors=["cores", "os", "cpu_mhz", "vendor"], rng=1)
    found = model.to_dataset()
    assert model.influence.index[:2].tolist() == ["cores", "os"]
    assert model.influence.sum() == pytest.approx(100)
    assert model.influence["cpu_mhz"] + model.influence["vendor"] < 5
    assert (found["lower"].sel(predictor=["cores", "os"]) > 0).all()
    truth = 0.8 * np.log(table["cores"]) + 1.2 * (table["os"] == "windows")
    ceiling = np.sqrt(truth.var() / (truth.var() + 0.5**2))
    # No prediction is better than the truth, whose correlation has on Fisher's scale a standard error of 1 / sqrt(397).
    assert np.tanh(np.arctanh(ceiling) - 4 / np.sqrt(397)) < model.correlation < np.tanh(np.arctanh(ceiling) + 2 / np.sqrt(397))
    dependence = found["dependence"].sel(dependent="cores")
    assert (dependence.dropna("point").diff("point") > -0.2).all()
    # The ends are means over 50 rows each, whose noise has a standard deviation of 0.5.
    assert float(dependence.max() - dependence.min()) == pytest.approx(0.8 * np.log(128), abs=4 * 0.5 * np.sqrt(2 / 50))


def test_dependence_is_the_average_prediction():
    """At each value of a predictor, what the model predicts on average when all rows have that value and all else is as it is."""
    table = made(100, 1)
    model = table.perf.explain_variation(predictors=["cores", "os", "cpu_mhz"], splits=1, rng=1)
    own = model.to_dataset().sel(dependent="cores").dropna("point")
    expected = [np.log(model.predict(table.assign(cores=float(cores)))).mean() for cores in own["at_value"].values]
    np.testing.assert_allclose(own["dependence"], expected)


def test_least_squares_finds_the_slope():
    """The coefficient of the formula is the one put in, and the fit is to all rows."""
    table = made(400, 2)
    model = table.perf.explain_variation(model="ols", formula="np.log(relative_variation) ~ np.log(cores) + C(os)", splits=1, rng=1)
    low, high = model.result.conf_int().loc["np.log(cores)"]
    assert low < 0.8 < high
    assert model.result.nobs == 400
    assert sorted(model.influence.index) == ["cores", "os"]
    prediction = model.predict(table.assign(cores=table["cores"] * np.e)) - model.predict(table)
    np.testing.assert_allclose(prediction, model.result.params["np.log(cores)"])


def null_rate(model: str, rows: int, groups: str | None, tables: int) -> tuple[float, float]:
    """Return the share of worthless predictors, and of tables, that are taken for more than chance."""
    flagged, better = [], []
    for seed in range(tables):
        table = made(rows, 1000 + seed, strength=0.0).assign(family=[f"f{n // 3}" for n in range(rows)])
        found = table.perf.explain_variation(
            model=model, predictors=["cores", "cpu_mhz", "os"], groups=groups, splits=2, rng=seed
        ).to_dataset()
        flagged += ((found["lower"] > 0) & (found.attrs["better_than_mean"] == 1)).values.tolist()
        better.append(found.attrs["better_than_mean"])
    return float(np.mean(flagged)), float(np.mean(better))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "rows", "groups", "tables"), [("ols", 20, None, 40), ("ols", 60, "family", 40), ("boosting", 20, None, 16)]
)
def test_nothing_is_found_where_there_is_nothing(model, rows, groups, tables):
    """Of tables without any influence, at most 5 % (and four standard errors) are found to have some, by rows and by groups."""
    tables = experiments(tables)
    flagged, better = null_rate(model, rows, groups, tables)
    assert flagged <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / (3 * tables))
    assert better <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / tables)


def test_a_small_test_gives_no_limits():
    """Five groups tell no influence from chance: its limits are NaN, and one warning names their number."""
    table = made(40, 12).assign(family=[f"f{n // 8}" for n in range(40)])
    with pytest.warns(UserWarning, match="5 groups were tested, too few to tell an influence from chance") as caught:
        found = table.perf.explain_variation(model="ols", predictors=["cores"], groups="family", rng=1, splits=12).to_dataset()
    assert len(caught) == 1
    assert found[["lower", "upper"]].isnull().all().to_array().all()
    assert found.attrs["n_test_units"] == 5
    assert found["influence"].item() == pytest.approx(100)


def test_one_split_is_the_old_test():
    """With one split the correlation is Pearson's of measured and predicted, with Fisher's interval; several splits test more rows."""
    table = made(100, 13)
    once = table.perf.explain_variation(model="ols", predictors=["cores", "os"], splits=1, rng=1).to_dataset()
    correlation = np.corrcoef(once["measured"], once["predicted"])[0, 1]
    assert once["correlation"] == pytest.approx(correlation)
    assert once["correlation_lower"] == pytest.approx(np.tanh(np.arctanh(correlation) - 1.959963985 / np.sqrt(27)))
    assert once.attrs["n_test"] == 30
    often = table.perf.explain_variation(model="ols", predictors=["cores", "os"], splits=8, rng=1).to_dataset()
    assert often.attrs["n_test"] > 85


def nested(machines: int, rng: int, executions: float = 0.0, iterations: float = 0.0, mean: float = 0.0) -> xr.DataArray:
    """Return timings whose relative variance between executions, within them, and whose mean grow by factors for each core."""
    chance = np.random.default_rng(rng)
    cores = chance.integers(0, 4, machines).astype(float)
    between = 0.02 * np.exp(executions * cores / 2)[:, None, None] * chance.standard_normal((machines, 10, 1))
    within = 0.03 * np.exp(iterations * cores / 2)[:, None, None] * chance.standard_normal((machines, 10, 5))
    level = (10 * np.exp(mean * cores + 0.1 * chance.standard_normal(machines)))[:, None, None]
    array = xr.DataArray(level * (1 + between + within), dims=("machine", "execution", "iteration"), name="time", attrs={"units": "s"})
    return array.assign_coords(cores=("machine", cores), clock=("machine", chance.uniform(2, 4, machines)))


@pytest.mark.parametrize(
    ("keywords", "level"),
    [({"executions": 0.8}, "execution_variance"), ({"iterations": 0.8}, "iteration_variance"), ({"mean": 0.3}, "performance")],
)
def test_the_level_that_a_descriptor_acts_on(keywords, level):
    """Cores act on one level only: its coefficient is the one put in, and there alone is it surely not 0; the clock acts on none."""
    model = nested(80, 2, **keywords).perf.explain_variation(response="levels", model="gamma", formula="levels ~ cores + clock", rng=1)
    found = model.to_dataset()
    assert found["response"].values.tolist() == ["performance", "execution_variance", "iteration_variance"]
    own = found.sel(response=level).isel(term=found["term"].values.tolist().index("cores"))
    assert own["coefficient_lower"] < next(iter(keywords.values())) < own["coefficient_upper"]
    sure = (found["pvalue"] < 0.001).to_pandas()
    assert sure["cores"].to_dict() == {name: name == level for name in sure.index}
    assert not sure["clock"].any()
    assert found["n"].values.tolist() == [80] * 3
    assert sorted(model.result) == sorted(found["response"].values)


@pytest.mark.slow
def test_no_level_where_there_is_none():
    """Of sets of 24 machines on which cores have no effect, 5 % (within four standard errors) have a p-value below 0.05."""
    count = experiments(60)
    sets = [nested(24, seed).perf.explain_variation(response="levels", model="gamma", predictors=["cores"], rng=1) for seed in range(count)]
    rate = np.mean([(one.to_dataset()["pvalue"][:, 1] < 0.05).values for one in sets])
    assert rate == pytest.approx(0.05, abs=4 * np.sqrt(0.05 * 0.95 / (3 * count)))


def test_does_the_spread_grow_with_the_mean():
    """Where the standard deviation is the same for all, the relative variance falls with the square of the mean: a slope of -2."""
    chance = np.random.default_rng(3)
    mean = np.exp(chance.uniform(2, 4, 60))
    values = mean[:, None] + 0.1 * chance.standard_normal((60, 12))
    times = xr.DataArray(values, dims=("machine", "execution"), name="time", attrs={"units": "s"})
    model = times.perf.explain_variation(model="gamma", formula="execution_variance ~ np.log(performance)", rng=1)
    found = model.to_dataset()
    assert found["coefficient_lower"][1] < -2 < found["coefficient_upper"][1]
    assert found["coefficient_upper"][1] < -1.8


def test_a_level_without_variance_is_no_error():
    """Where executions do not differ, that level may have no coefficients; the others have, and one warning says which."""
    times = nested(30, 6)
    quiet = times.copy(data=times - times.mean("iteration") + times.mean(("execution", "iteration")))
    with pytest.warns(UserWarning, match="execution_variance: model='gamma' needs a response with a positive mean"):
        found = quiet.perf.explain_variation(response="levels", model="gamma", predictors=["cores"], rng=1).to_dataset()
    assert found["coefficient"].isnull().all("term").values.tolist() == [False, True, False]


def test_several_responses_have_no_single_influence():
    """Influence, correlation and predictions are of one response; the message names those there are."""
    model = nested(20, 7).perf.explain_variation(response="levels", model="gamma", predictors=["cores"], rng=1)
    for ask in (lambda: model.influence, lambda: model.correlation, lambda: model.predict(pd.DataFrame({"cores": [1.0]}))):
        with pytest.raises(ValueError, match="is of one response, and this result has 'performance', 'execution_variance'"):
            ask()


def test_limits_know_groups():
    """Rows that repeat within groups say no more than one of them: the limits of a coefficient are as wide as those of the groups."""
    table = made(30, 14)
    many = pd.concat([table] * 6, ignore_index=True).assign(family=np.tile([f"f{n}" for n in range(30)], 6))
    alone, grouped, naive = (
        one.perf.explain_variation(model="ols", predictors=["cores"], groups=groups, splits=1, rng=1).to_dataset()
        for one, groups in ((table, None), (many, "family"), (many, None))
    )
    width = [float(one["coefficient_upper"][1] - one["coefficient_lower"][1]) for one in (alone, grouped, naive)]
    # As many as 30 rows less two coefficients know of it, or 30 groups less one.
    assert width[0] / stats.t.ppf(0.975, 28) == pytest.approx(width[1] / stats.t.ppf(0.975, 29))
    assert width[2] < 0.5 * width[1]


def test_mixed_model_knows_families():
    """Where every family has the same cores, REML is nested analysis of variance of what the slope inside families leaves."""
    chance = np.random.default_rng(3)
    family = np.repeat(np.arange(60), 10)
    cores = np.tile(chance.uniform(0, 4, 10), 60)
    log = 0.5 * cores + chance.normal(0, 1.0, 60)[family] + chance.normal(0, 0.5, 600)
    table = pd.DataFrame({"relative_variation": np.exp(log), "cores": cores, "family": [f"f{n}" for n in family]})
    model = table.perf.explain_variation(model="mixed", predictors=["cores"], groups="family", rng=1)
    variances = model.to_dataset()["variance"].to_series()
    slope, intercept = np.polyfit(cores, log, 1)
    rest = (log - intercept - slope * cores).reshape(60, 10)
    inside = ((rest - rest.mean(axis=1, keepdims=True)) ** 2).sum() / (600 - 60 - 1)
    assert variances["residual"] == pytest.approx(inside, rel=1e-4)
    assert variances["groups"] == pytest.approx(rest.mean(axis=1).var(ddof=1) - inside / 10, rel=1e-4)
    assert model.result.fe_params.iloc[1] == pytest.approx(slope, rel=1e-6)
    # True: 1, 0.25 and 0.5; each within four standard errors, but for the families' variance, whose relative error is sqrt(2 / 59).
    assert inside == pytest.approx(0.25, rel=4 * np.sqrt(2 / 539))
    assert variances["groups"] == pytest.approx(1.0, rel=0.35)
    assert slope == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(600) / cores.std())


CROSSED = [
    ("(1|machine)+(1|machine:exec), balanced", "y ~ 1", ("machine", "machine:exec")),
    ("(1|machine)+(1|machine:exec), 90 of 120 rows", "y ~ 1", ("machine", "machine:exec")),
    ("bench fixed, machine and machine:bench:exec random", "y ~ bench", ("machine", "machine:bench:exec")),
    ("nlme::Machines: machine fixed, worker and worker:machine random", "y ~ 1", ("worker", "worker:machine")),
    ("lme4::Penicillin plate x sample", "y ~ 1", ("plate", "sample")),
]


@pytest.mark.parametrize(("name", "formula", "random"), CROSSED)
def test_crossed_effects_agree_with_lme4(golden, name, formula, random):
    """Fixed and random effects, nested and crossed, as lme4 has them by REML."""
    cases = golden("varcomp_crossed")["cases"]
    case = next(case for case in cases if case["name"] == name)
    table = pd.DataFrame(case["input"])
    formula = "y ~ C(machine)" if "machine fixed" in name else formula
    found = table.perf.explain_variation(model="mixed", formula=formula, random=random, splits=1, rng=1)
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
    at_random = table.perf.explain_variation(predictors=["cpu_mhz"], splits=1, rng=1)
    apart = table.perf.explain_variation(predictors=["cpu_mhz"], groups="family", folds=5, rng=1)
    assert at_random.to_dataset().attrs["n_test_copies"] == at_random.to_dataset().attrs["n_test"]
    assert apart.to_dataset().attrs["n_test_copies"] == 0
    # Between families the variance is 1, within them 0.01: no prediction is better than sqrt(1 / 1.01). A leaf holds 11 rows, of two
    # families at least: the mean of two predicts each with sqrt(1 / 2), and leaves that overlap do better.
    assert np.sqrt(1 / 2) < at_random.correlation < np.sqrt(1 / 1.01) + 0.005
    assert apart.to_dataset()["correlation_lower"] < 0.3
    assert apart.to_dataset().attrs["n_test"] == 320


def test_from_timings():
    """Timings become a table first; the noise ceiling is that of their runs."""
    times = perfarray.simulate(
        sizes={"execution": 3}, variances={"execution": 0.01}, mean=10.0, dims={"machine": 60, "benchmark": 4}, rng=1
    )["time"].assign_coords(cores=("machine", np.arange(60) % 8 + 1), os=("machine", np.array(["a", "b"] * 30, dtype=object)))
    model = times.perf.explain_variation(model="ols", splits=1, rng=1)
    table = times.perf.machine_table()
    other = table.perf.explain_variation(model="ols", splits=1, rng=1)
    xr.testing.assert_identical(model.to_dataset().drop_vars("noise_ceiling"), other.to_dataset().drop_vars("noise_ceiling"))
    noise, logs = table["relative_variation_noise"][0], np.log(table["relative_variation"])
    assert float(model.to_dataset()["noise_ceiling"]) == pytest.approx(np.sqrt(max(0, 1 - noise**2 / logs.var())))
    assert float(model.to_dataset()["noise_ceiling"]) < 0.5


def test_zeros_are_named():
    """A variation of 0 has no log: such machines are left out, counted and named."""
    table = made(60, 5)
    table.loc[[3, 7], "relative_variation"] = 0.0
    with pytest.warns(UserWarning, match="2 rows have a relative_variation of zero or less.*'m3', 'm7'"):
        found = table.perf.explain_variation(model="ols", predictors=["cores"], splits=1, rng=1).to_dataset()
    assert (found.attrs["n_zero"], found.attrs["zero"], found.attrs["n"]) == (2, "m3, m7", 58)
    assert table.perf.explain_variation(model="ols", predictors=["cores"], log=False, splits=1, rng=1).to_dataset().attrs["n"] == 60


def test_columns_that_say_nothing_are_left_out():
    """Constant, empty, copied and collinear columns are left out and named; for trees only those that are copies."""
    table = made(80, 6).assign(constant=1.0, empty=np.nan, copied=lambda t: t["cores"], half=lambda t: t["cores"] / 2)
    table["flag -a"] = table["cores"] > 8
    table["flag -b"] = table["cores"] <= 8
    linear = table.perf.explain_variation(model="ols", splits=1, rng=1)
    assert set(linear.to_dataset().attrs["left_out"].split(", ")) >= {"constant", "empty", "copied", "half", "flag -b"}
    trees = table.perf.explain_variation(splits=1, rng=1)
    assert set(trees.to_dataset().attrs["left_out"].split(", ")) == {"constant", "empty", "copied"}


def test_environment_alone():
    """Flags are told from the environment by their names."""
    table = made(80, 7).assign(**{"flag -a": np.arange(80) % 2 == 0})
    assert "flag -a" not in table.perf.explain_variation(model="ols", predictors="environment", splits=1, rng=1).influence
    assert table.perf.explain_variation(model="ols", predictors="flags", splits=1, rng=1).influence.index.tolist() == ["flag -a"]


def test_same_seed_same_numbers():
    """The seed decides; the result survives netCDF."""
    table = made(60, 8)
    first, second = (table.perf.explain_variation(splits=2, rng=5).to_dataset() for _ in range(2))
    xr.testing.assert_identical(first, second)
    assert all(isinstance(value, str | int | float) for value in first.attrs.values())


def test_predictions_come_back_in_units():
    """A model of logs predicts variation; labels it never saw have no prediction in a linear one."""
    table = made(200, 9)
    model = table.perf.explain_variation(model="ols", predictors=["cores", "os"], splits=1, rng=1)
    predicted = model.predict(table)
    np.testing.assert_allclose(np.log(predicted), model.result.fittedvalues)
    assert model.predict(table.assign(os="plan9")).isna().all()
    with pytest.raises(ValueError, match="columns 'os' not found"):
        model.predict(table.drop(columns="os"))


def test_a_formula_of_an_empty_column():
    """Terms of columns without any value are left out, with a warning."""
    table = made(60, 10).assign(l3_kb=np.nan)
    with pytest.warns(UserWarning, match="'l3_kb' are constant or empty"):
        model = table.perf.explain_variation(
            model="ols", formula="np.log(relative_variation) ~ np.log(cores) + np.log(l3_kb)", splits=1, rng=1
        )
    assert model.influence.index.tolist() == ["cores"]


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"model": "forest"}, "model='forest' is not known"),
        ({"response": "speed"}, "columns 'speed' not found; the table has 'machine', 'relative_variation'"),
        ({"predictors": ["cores", "l3"]}, "columns 'l3' not found; the table has"),
        ({"model": "ols", "formula": "relative_variation ~ np.log(l3) + C(os)"}, "columns 'l3' not found; the table has"),
        ({"model": "ols", "formula": "cores"}, "has no '~'"),
        ({"formula": "relative_variation ~ cores"}, "a formula is for model='ols', 'gamma' or 'mixed'"),
        ({"model": "mixed"}, "needs a random effect"),
        ({"random": "vendor"}, "is for model='mixed'"),
        ({"groups": "family"}, "columns 'family' not found"),
        ({"test_size": 1.5}, "test_size=1.5 is out of range"),
        ({"response": "os"}, "holds category values, not numbers"),
        ({"predictors": ["machine"]}, "nothing is left to explain"),
        ({"groups": "vendor", "folds": 20, "predictors": ["cores"], "model": "ols"}, "a test needs 20 or more"),
        ({"metric": "time"}, "it chooses a variable of a Dataset"),
        ({"splits": 3, "folds": 4}, "splits=3 and folds=4"),
        ({"splits": 0}, "splits=0: give a whole number of at least 1"),
        ({"response": "levels"}, "response='levels' needs model='gamma'"),
        ({"response": "levels", "model": "gamma"}, "a table with columns such as 'execution_variance'"),
    ],
)
def test_messages(keywords, message):
    """What came and what there is."""
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        made(40, 11).perf.explain_variation(rng=1, **keywords)


def test_the_log_of_a_column_is_not_its_name():
    """A column called log_variation, or logical_cores, is no log: rows at or below zero stay."""
    table = made(60, 21).assign(logical_cores=lambda t: t["cores"] - 1)
    table["log_variation"] = np.log(table["relative_variation"])
    found = table.perf.explain_variation(model="ols", formula="log_variation ~ logical_cores", splits=1, rng=1)
    assert (table["log_variation"] < 0).all()
    assert (table["logical_cores"] == 0).any()
    assert found.to_dataset().attrs["n"] == 60
    with_log = table.perf.explain_variation(model="ols", formula="log_variation ~ np.log(logical_cores)", splits=1, rng=1).to_dataset()
    assert with_log.attrs["n"] == (table["logical_cores"] > 0).sum()
    assert with_log.attrs["n_incomplete"] == (table["logical_cores"] == 0).sum()


def test_the_ceiling_does_not_know_bases():
    """The noise ceiling of a log is the same to every base; what is no log has none."""
    table = made(60, 22).assign(relative_variation_noise=0.3)
    ceilings = {
        left: float(table.perf.explain_variation(model="ols", formula=f"{left} ~ cores", splits=1, rng=1).to_dataset()["noise_ceiling"])
        for left in ("np.log(relative_variation)", "np.log10(relative_variation)", "np.log2(relative_variation)", "relative_variation")
    }
    natural, ten, two, none = ceilings.values()
    assert natural == pytest.approx(np.sqrt(1 - 0.3**2 / np.log(table["relative_variation"]).var()))
    assert ten == pytest.approx(natural)
    assert two == pytest.approx(natural)
    assert np.isnan(none)


@pytest.mark.parametrize("formula", [None, "np.log(relative_variation) ~ cores + C(kind)"])
def test_a_label_in_the_test_only(formula):
    """A label, in text or number, that one row has: no prediction there, and the influence of all else as if it were not there."""
    kind = np.r_[np.arange(59) % 2, 2]
    table = made(60, 23).assign(kind=kind if formula else np.array(["even", "odd", "rare"])[kind])
    found = table.perf.explain_variation(model="ols", predictors=["cores", "kind"], formula=formula, splits=8, rng=1)
    assert found.to_dataset().attrs["n_unanswered"] == 1
    assert np.isfinite(found.to_dataset()["permutation_influence"]).all()
    assert "m59" not in found.to_dataset()["row"]
    assert found.influence.sum() == pytest.approx(100)
    assert found.influence["cores"] > 90


def test_collinear_terms_have_no_coefficients():
    """Terms that are multiples of each other have NaN and are named; the others keep their coefficients."""
    table = made(60, 24).assign(twice=lambda t: 2 * t["cores"])
    with pytest.warns(UserWarning, match="the terms 'cores', 'twice' are linear combinations of each other"):
        found = table.perf.explain_variation(model="ols", formula="np.log(relative_variation) ~ cores + twice + cpu_mhz", splits=1, rng=1)
    alone = table.perf.explain_variation(model="ols", formula="np.log(relative_variation) ~ cores + cpu_mhz", splits=1, rng=1).to_dataset()
    together = found.to_dataset()
    term = together["term"].values.tolist()
    assert np.isnan(together["coefficient"].values[[term.index("cores"), term.index("twice")]]).all()
    own = alone["term"].values.tolist().index("cpu_mhz")
    assert together["coefficient"].values[term.index("cpu_mhz")] == pytest.approx(alone["coefficient"].values[own])
    half = [(one["coefficient"] - one["coefficient_lower"]).values[at] for one, at in ((together, term.index("cpu_mhz")), (alone, own))]
    assert half[0] / stats.t.ppf(0.975, 56) == pytest.approx(half[1] / stats.t.ppf(0.975, 57))


def test_leaving_one_out_has_no_influence():
    """A test of one row leaves nothing to permute: the influence is not known, which is said, and the correlation is."""
    with pytest.warns(UserWarning, match="'cores' are the same throughout each test"):
        found = made(16, 25).perf.explain_variation(model="ols", predictors=["cores"], folds=16, rng=1)
    assert found.to_dataset()["permutation_influence"].isnull().all()
    assert found.correlation > 0.5


def test_rows_without_a_group():
    """Rows whose group nobody wrote down are a group of their own."""
    table = made(40, 26).assign(family=[None] * 8 + [f"f{n // 4}" for n in range(32)])
    found = table.perf.explain_variation(model="ols", predictors=["cores"], groups="family", folds=3, rng=1).to_dataset()
    assert found.attrs["n_test_units"] == 9


def test_terms_are_written_as_one_would():
    """A column is a term by its name, whatever stands in that name."""
    table = made(40, 27).rename(columns={"cpu_mhz": 'flag -DN="x y"'})
    found = table.perf.explain_variation(model="ols", predictors=["cores", "os", 'flag -DN="x y"'], splits=1, rng=1)
    assert found.to_dataset()["term"].values.tolist()[:4] == ["Intercept", "C(os)[T.linux]", "C(os)[T.windows]", "cores"]
    assert 'flag -DN="x y"' in found.influence


def test_gaps_are_looked_at_before_copies():
    """A column that is constant in the rows without gaps is left out, as it is from a table of these rows."""
    table = made(40, 28).assign(half=lambda t: np.where(np.arange(40) < 25, t["cpu_mhz"], np.nan))
    table["late"] = np.where(np.arange(40) < 25, 1.0, 2.0)
    found = table.perf.explain_variation(model="ols", predictors=["half", "late"], splits=1, rng=1).to_dataset()
    assert found["predictor"].values.tolist() == ["half"]
    assert (found.attrs["left_out"], found.attrs["n"]) == ("late", 25)


@pytest.mark.parametrize("model", ["boosting", "ols", "gamma"])
def test_a_constant_response(model):
    """What is the same in all rows cannot be explained, to rounding."""
    table = made(40, 29).assign(relative_variation=lambda t: 1.0 + 1e-15 * t["cores"])
    with pytest.raises(ValueError, match="'relative_variation' is the same in all 40 rows"):
        table.perf.explain_variation(model=model, predictors=["cores"], rng=1)


@pytest.mark.parametrize(
    ("change", "keywords", "message"),
    [
        ({}, {"formula": "np.lg(relative_variation) ~ cores"}, "cannot be computed: .*has no attribute 'lg'"),
        ({}, {"formula": "np.log(relative_variation) ~ np.log(cores - 1)"}, "has no number for [1-9] of 40 rows"),
        ({}, {"formula": "np.log(cores - 1) ~ cpu_mhz"}, "has no number for [1-9] of 40 rows"),
        ({}, {"formula": "cores + cpu_mhz ~ memory_gb"}, "multiple columns"),
        ({}, {"formula": "os ~ cores"}, "response 'os' holds category values"),
        ({}, {"predictors": ["cores"], "folds": 41}, "folds=41 of 40 rows"),
        ({}, {"predictors": ["relative_variation"]}, "no predictor was given"),
        ({"relative_variation": -1.0}, {"predictors": ["cores"]}, "0 rows have a 'relative_variation' that can be explained"),
        (
            {"cpu_mhz": [1.0] * 3 + [2.0] * 2 + [np.nan] * 35, "cores": [np.nan] * 3 + [1.0, 2.0] * 18 + [1.0]},
            {"formula": "relative_variation ~ cpu_mhz + cores"},
            r"leave out predictors with gaps, 'cpu_mhz' \(35 of 40\), 'cores' \(3 of 40\)",
        ),
    ],
)
def test_what_a_linear_model_cannot_use(change, keywords, message):
    """The message says what came, and which column is to blame."""
    with pytest.raises(ValueError, match=message):
        made(40, 30).assign(**change).perf.explain_variation(model="ols", rng=1, **keywords)


def test_columns_that_occur_twice():
    """Two columns of one name are two answers to one question."""
    table = made(40, 31)
    with pytest.raises(ValueError, match="columns 'cores' occur twice"):
        pd.concat([table, table[["cores"]]], axis=1).perf.explain_variation(rng=1)


def test_many_rows_are_permuted_once(monkeypatch):
    """Where many rows are tested, a predictor is permuted once, and the model asked in parts: a large table takes the time of its fit."""
    asked = []
    evaluation = pytest.importorskip("perfarray.machines.evaluation")
    permuted = evaluation._permuted
    monkeypatch.setattr(evaluation, "_permuted", lambda *given: asked.append((len(given[1]), given[5])) or permuted(*given))
    monkeypatch.setattr(evaluation, "ROWS_PERMUTED", 1_000)
    for rows, splits in ((100, 1), (1_200, 1), (1_200, 5)):
        made(rows, 32).perf.explain_variation(model="ols", predictors=["cores"], splits=splits, rng=1)
    assert asked == [(30, 5), (360, 2)] + [(360, 1)] * 5


def test_one_machine():
    """A table of one row says nothing."""
    with pytest.raises(ValueError, match="the table has 1 rows"):
        made(1, 1).perf.explain_variation()
    with pytest.raises(TypeError, match="expected a table of machines or timings, got list"):
        perfarray.explain_variation([1, 2])


def test_one_warning_says_it_all():
    """What there is to say of the table and of the test comes as one warning, and stays with the result as data."""
    times = perfarray.simulate(
        sizes={"execution": 4}, variances={"execution": 0.01}, mean=10.0, dims={"machine": 20, "benchmark": 3}, rng=1
    )["time"].assign_coords(cores=("machine", np.arange(20) % 7 + 1.0), family=("machine", np.array(list("abcd") * 5, dtype=object)))
    times = times.where((times["machine"] != times["machine"][3]) | (times["benchmark"] == times["benchmark"][0]))
    with pytest.warns(perfarray.PerfarrayWarning) as caught:
        found = times.perf.explain_variation(model="ols", predictors=["cores"], groups="family", rng=1).to_dataset()
    assert [[note.code for note in one.message.notes] for one in caught] == [["incomplete_rows", "few_test_units"]]
    assert found.perf.notes() == caught[0].message.notes
    assert dict(found.perf.notes()[1].values) == {"units": found.attrs["n_test_units"], "needed": 6}


def test_an_error_names_what_gives_a_response():
    """Timings of one session a machine have no relative variation: the error says why and what to do, and that works."""
    nest = {"sizes": {"session": 1, "execution": 6}, "variances": {"session": 1e-4, "execution": 1e-4}}
    times = perfarray.simulate(**nest, dims={"benchmark": 3, "machine": 12}, rng=1).assign_coords(
        cores=("machine", np.arange(12) % 7 + 1.0)
    )
    for options in ({}, {"model": "ols", "formula": "relative_variation ~ cores"}):
        with pytest.raises(ValueError, match=r"0 rows have a 'relative_variation'.*rest on one session.*merge_level\(\"session\"\)"):
            times.perf.explain_variation(**options)
    for remedy in (times.perf.merge_level("session"), times.perf.machine_table(unit="execution")):
        assert remedy.perf.explain_variation(model="ols").dataset.attrs["n_missing_response"] == 0
