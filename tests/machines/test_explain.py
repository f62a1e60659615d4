"""Explaining variation: influence that was put in is found, none is found where there is none;
unusual tables; every message."""

import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats

import perfarray
from perfarray.machines import evaluation
from perfarray.machines.models import ModelChoice
from perfarray.machines.problem import by_columns
from strategies import experiments

pytest.importorskip("sklearn", reason="needs perfarray[regression] (since 2026-11)")


ROOT = Path(__file__).parents[2]


def machine_table(rows: int, rng: int, strength: float = 1.0) -> pd.DataFrame:
    """Return machines whose log variation grows with cores and depends on the system; clock and
    vendor have no influence."""
    chance = np.random.default_rng(rng)
    cores = 2.0 ** chance.integers(0, 8, rows)
    system = chance.choice(["aix", "linux", "windows"], rows)
    log = (
        strength * (0.8 * np.log(cores) + 1.2 * (system == "windows"))
        + 0.5 * chance.standard_normal(rows)
        - 6
    )
    columns = {
        "machine": [f"m{n}" for n in range(rows)],
        "relative_variation": np.exp(log),
        "cores": cores,
        "os": pd.Categorical(system),
    }
    columns |= {
        "cpu_mhz": chance.uniform(2000, 4000, rows),
        "vendor": pd.Categorical(chance.choice(list("ABCDEFGH"), rows)),
    }
    columns["memory_gb"] = np.where(
        chance.random(rows) < 0.3, np.nan, cores * chance.choice([1, 2], rows)
    )
    return pd.DataFrame(columns)


def least_squares(
    table: pd.DataFrame, formula: str | None = None, **keywords
) -> perfarray.VariabilityModel:
    """Explain the variation of a table by least squares; by cores, unless told otherwise."""
    if formula is None:
        keywords = {"predictors": ["cores"]} | keywords
    return table.perf.explain_variation(model="ols", formula=formula, **({"rng": 1} | keywords))


def timings(machines, executions, benchmarks, **coords):
    nest = {
        "sizes": {"execution": executions},
        "variances": {"execution": 0.01},
        "dims": {"machine": machines, "benchmark": benchmarks},
    }
    times = perfarray.simulate(**nest, mean=10.0, rng=1)["time"]
    return times.assign_coords(
        {
            name: ("machine", np.resize(np.array(values), machines))
            for name, values in coords.items()
        }
    )


def test_trees_find_what_was_put_in():
    """Cores and system have the influence, which sums to 100; the correlation is that of the truth;
    dependence averages predictions."""
    table = machine_table(400, 1)
    model = table.perf.explain_variation(predictors=["cores", "os", "cpu_mhz", "vendor"], rng=1)
    result = model.to_dataset()
    assert model.influence.index[:2].tolist() == ["cores", "os"]
    assert model.influence.sum() == pytest.approx(100)
    assert model.influence["cpu_mhz"] + model.influence["vendor"] < 5
    assert (result["lower"].sel(predictor=["cores", "os"]) > 0).all()
    truth = 0.8 * np.log(table["cores"]) + 1.2 * (table["os"] == "windows")
    ceiling = np.sqrt(truth.var() / (truth.var() + 0.5**2))
    # No prediction is better than the truth, whose correlation has on Fisher's scale a standard
    # error of 1 / sqrt(397).
    assert (
        np.tanh(np.arctanh(ceiling) - 4 / np.sqrt(397))
        < model.correlation
        < np.tanh(np.arctanh(ceiling) + 2 / np.sqrt(397))
    )
    dependence = result["dependence"].sel(dependent="cores").dropna("point")
    assert (dependence.diff("point") > -0.2).all()
    # The ends are means over 50 rows each, whose noise has a standard deviation of 0.5.
    assert float(dependence.max() - dependence.min()) == pytest.approx(
        0.8 * np.log(128), abs=4 * 0.5 * np.sqrt(2 / 50)
    )
    small = machine_table(100, 1)
    model = small.perf.explain_variation(predictors=["cores", "os", "cpu_mhz"], splits=1, rng=1)
    points = model.to_dataset().sel(dependent="cores").dropna("point")
    averages = [
        np.log(model.predict(small.assign(cores=float(cores)))).mean()
        for cores in points["at_value"].values
    ]
    np.testing.assert_allclose(points["dependence"], averages)


def test_least_squares_finds_the_slope():
    """The coefficient of the formula is the one put in, and the fit is to all rows."""
    table = machine_table(400, 2)
    model = least_squares(table, "np.log(relative_variation) ~ np.log(cores) + C(os)", splits=1)
    low, high = model.result.conf_int().loc["np.log(cores)"]
    assert low < 0.8 < high
    assert model.result.nobs == 400
    assert sorted(model.influence.index) == ["cores", "os"]
    prediction = model.predict(table.assign(cores=table["cores"] * np.e)) - model.predict(table)
    np.testing.assert_allclose(prediction, model.result.params["np.log(cores)"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "rows", "groups", "tables"),
    [("ols", 20, None, 40), ("ols", 60, "family", 40), ("boosting", 20, None, 16)],
)
def test_nothing_is_found_where_there_is_nothing(model, rows, groups, tables):
    """Of tables without any influence, at most 5 % (and four standard errors) are found to have
    some, by rows and by groups."""
    tables = experiments(tables)
    flagged, better = [], []
    for seed in range(tables):
        table = machine_table(rows, 1000 + seed, strength=0.0).assign(
            family=[f"f{n // 3}" for n in range(rows)]
        )
        ask = {"model": model, "predictors": ["cores", "cpu_mhz", "os"], "groups": groups}
        result = table.perf.explain_variation(**ask, splits=2, rng=seed).to_dataset()
        better.append(result.attrs["better_than_mean"])
        flagged += ((result["lower"] > 0) & (better[-1] == 1)).values.tolist()
    assert np.mean(flagged) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / (3 * tables))
    assert np.mean(better) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / tables)


def test_small_tests():
    """Five groups tell no influence from chance: its limits are NaN, and one warning names their
    number; a row alone has no influence."""
    table = machine_table(40, 12).assign(family=[f"f{n // 8}" for n in range(40)])
    with pytest.warns(
        UserWarning, match="5 groups were tested, too few to tell an influence from chance"
    ) as caught:
        result = least_squares(table, groups="family", splits=12).to_dataset()
    assert len(caught) == 1
    assert result[["lower", "upper"]].isnull().all().to_array().all()
    assert (result.attrs["n_test_units"], result["influence"].item()) == (5, pytest.approx(100))
    with pytest.warns(UserWarning, match="'cores' are the same throughout each test.*cannot be"):
        model = least_squares(machine_table(16, 25), folds=16)
    assert model.to_dataset()["permutation_influence"].isnull().all()
    assert model.correlation > 0.5


def test_folds_cover_every_row_once():
    """No group is in two folds, and folds are as equal as the groups allow."""
    groups = np.repeat(np.arange(12), np.arange(12) + 1)
    chance = np.random.default_rng(1)
    table = pd.DataFrame({"y": chance.uniform(size=78), "x": chance.uniform(size=78), "of": groups})
    problem = by_columns(table, "y", ["x"], False, ModelChoice("ols", "of", True, 0))
    folds = evaluation.draw_test_sets(problem, 0.3, 1, 4, chance)
    assert sorted(np.concatenate(folds)) == list(range(78))
    assert all(not set(groups[fold]) & set(np.delete(groups, fold)) for fold in folds)
    # The largest group left to the smallest part: 12, 11, 10, 9; 8 to the 9, 7 to the 10, 6 to the
    # 11, 5 to the 12; 4, 3, 2, 1 likewise.
    assert sorted(len(fold) for fold in folds) == [18, 19, 20, 21]


def test_rows_without_a_group_are_one_group():
    table = machine_table(40, 26).assign(family=[None] * 8 + [f"f{n // 4}" for n in range(32)])
    assert least_squares(table, groups="family", folds=3).to_dataset().attrs["n_test_units"] == 9


def test_one_split_has_fishers_interval():
    """With one split the correlation is Pearson's of measured and predicted, with Fisher's
    interval; with folds it is wider by sqrt(2)."""
    table, ask = machine_table(100, 13), {"predictors": ["cores", "os"]}
    once = least_squares(table, **ask, splits=1).to_dataset()
    correlation = np.corrcoef(once["measured"], once["predicted"])[0, 1]
    assert once["correlation"] == pytest.approx(correlation)
    assert once["correlation_lower"] == pytest.approx(
        np.tanh(np.arctanh(correlation) - 1.959963985 / np.sqrt(27))
    )
    assert once.attrs["n_test"] == 30
    assert least_squares(table, **ask, splits=8).to_dataset().attrs["n_test"] > 85
    folds = least_squares(table, **ask, folds=5).to_dataset()
    half = np.sqrt(2) * 1.959963985 / np.sqrt(97)
    assert folds["correlation_lower"] == pytest.approx(
        np.tanh(np.arctanh(folds["correlation"].item()) - half)
    )


def test_limits_know_groups():
    """Rows that repeat within groups say no more than one of them: the limits of a coefficient are
    as wide as those of the groups."""
    table = machine_table(30, 14)
    sixfold = pd.concat([table] * 6, ignore_index=True).assign(
        family=np.tile([f"f{n}" for n in range(30)], 6)
    )
    inputs = ((table, None), (sixfold, "family"), (sixfold, None))
    results = [least_squares(rows, groups=groups, splits=1).to_dataset() for rows, groups in inputs]
    width = [
        float(result["coefficient_upper"][1] - result["coefficient_lower"][1]) for result in results
    ]
    # The degrees of freedom are 30 rows less two coefficients, or 30 groups less one.
    assert width[0] / stats.t.ppf(0.975, 28) == pytest.approx(width[1] / stats.t.ppf(0.975, 29))
    assert width[2] < 0.5 * width[1]


class TestMachines:
    """Rows of one machine are on one side of every split, unless the caller says so."""

    @staticmethod
    def runs(seed: int, machines: int = 30, settings: int = 4) -> pd.DataFrame:
        """Return several rows a machine, with a number of each machine as the response that nothing
        explains."""
        chance = np.random.default_rng(seed)
        row = np.repeat(np.arange(machines), settings)
        columns = {
            "machine": [f"host{n}" for n in row],
            "setting": np.tile([f"s{n}" for n in range(settings)], machines),
        }
        columns |= {
            "clock": chance.uniform(1, 4, machines)[row],
            "memory": chance.uniform(8, 64, machines)[row],
        }
        return pd.DataFrame(columns | {"speed": np.exp(chance.standard_normal(machines))[row]})

    @pytest.mark.parametrize("keywords", [{}, {"folds": 6}, {"model": "ols"}, {"model": "mixed"}])
    def test_noise_of_machines_explains_nothing(self, keywords):
        """Nothing predicts a machine that the fit did not see; rows of machines on both sides say
        that all is explained."""
        tables = [self.runs(seed) for seed in range(3)]
        if keywords == {"model": "mixed"}:
            with pytest.raises(
                ValueError, match=r"model='mixed' cannot be fitted to \d+ rows \(Singular matrix\)"
            ):
                tables[0].perf.explain_variation(response="speed", rng=1, **keywords)
            chance = np.random.default_rng(9)
            tables = [
                table.assign(speed=table["speed"] * np.exp(0.01 * chance.standard_normal(120)))
                for table in tables
            ]
        results = [
            table.perf.explain_variation(response="speed", rng=1, **keywords).to_dataset()
            for table in tables
        ]
        assert [result.attrs["better_than_mean"] for result in results] == [0, 0, 0]
        assert results[0].attrs["groups"] == "machine"
        assert results[0].attrs["n_test_units"] <= 30
        by_row = tables[0].perf.explain_variation(response="speed", groups=None, rng=1).to_dataset()
        assert (by_row.attrs["better_than_mean"], by_row.attrs["groups"]) == (1, "none")

    def test_the_script_counts_tables_of_noise(self):
        """Of ten tables of `docs/scripts/machines_apart.py`, at most one is called better than the
        mean, and by rows nearly all are."""
        share_better = runpy.run_path(str(ROOT / "docs" / "scripts" / "machines_apart.py"))[
            "share_better"
        ]
        assert share_better(20, 4, 10) <= 0.1
        assert share_better(20, 4, 5, groups=None) >= 0.8

    def test_machines_in_the_index(self):
        """The index names machines by its name, also among others, or as texts without a name."""
        table = self.runs(1)
        expected = table.perf.explain_variation(response="speed", rng=1).to_dataset()
        without = table.drop(columns="machine")
        for index in (["machine"], ["machine", "setting"]):
            indexed = table.set_index(index, drop=index == ["machine"])
            xr.testing.assert_identical(
                indexed.perf.explain_variation(response="speed", rng=1).to_dataset(), expected
            )
        unnamed = without.set_axis(table["machine"].tolist())
        xr.testing.assert_identical(
            unnamed.perf.explain_variation(response="speed", rng=1).to_dataset(), expected
        )

    def test_one_row_a_machine_stands_alone(self):
        """Where no machine is repeated, or where machines explain, rows are units."""
        table = machine_table(40, 7)
        assert least_squares(table).to_dataset().attrs["groups"] == "none"
        result = self.runs(2).perf.explain_variation(
            response="speed", model="ols", predictors=["machine"], rng=1
        )
        assert (result.to_dataset().attrs["groups"], result.correlation) == (
            "none",
            pytest.approx(1),
        )

    def test_machines_that_nobody_names(self):
        """Without names of machines, rows that repeat the hardware get a note, as do machines with
        several labels of a group."""
        table = self.runs(3)
        with pytest.warns(
            perfarray.PerfarrayWarning,
            match=r"120 of 120 rows have the hardware of another row \('clock', 'memory'\)",
        ):
            table.drop(columns="machine").perf.explain_variation(response="speed", rng=1)
        with pytest.warns(
            UserWarning, match="30 machines have rows with several labels of 'setting'"
        ) as caught:
            least_squares(table, response="speed", predictors=["clock"], groups="setting")
        assert caught[0].message.notes[0].code == "machines_on_both_sides"
        table.drop(columns="machine").perf.explain_variation(response="speed", groups=None, rng=1)

    def test_too_few_machines(self):
        """A split needs two machines, a fold each one; fewer than six tested give no limits of the
        influence."""
        with pytest.raises(
            ValueError,
            match=r"'machine' has 1 label in 8 rows; a test needs 2 or more.*groups=None",
        ):
            self.runs(4, 1, 8).assign(speed=range(1, 9), n=range(8)).perf.explain_variation(
                response="speed", predictors=["n"]
            )
        with pytest.raises(
            ValueError,
            match=r"'machine' has 3 labels in 12 rows; a test needs 5 or more.*Give fewer folds=",
        ):
            least_squares(self.runs(5, 3), response="speed", predictors=["clock"], folds=5)
        with pytest.warns(UserWarning, match="4 machines were tested, too few"):
            least_squares(self.runs(6, 4), response="speed", predictors=["clock"], folds=2)


def test_the_table_has_every_predictor_and_the_correlation_once():
    """A row a predictor, also without influence, the strongest first; a standardised coefficient
    stands beside that in units.

    The correlation and what is left out stand below.
    """
    table = machine_table(80, 33).assign(constant=1.0)
    table["flag -O3"] = table["cores"] > 8
    with pytest.warns(
        perfarray.PerfarrayWarning, match=r"1 of 5 predictors are left out: 'constant' \(constant\)"
    ):
        model = least_squares(
            table, predictors=["cores", "os", "cpu_mhz", "constant", "flag -O3"], splits=1
        )
    printed = model.table()
    assert (
        printed.index.tolist()
        == model.to_dataset()["predictor"].values.tolist()
        == model.influence.index.tolist()
    )
    assert sorted(printed.index) == ["cores", "cpu_mhz", "flag -O3", "os"]
    assert printed.columns.tolist() == [
        "explains",
        "influence",
        "standardised coefficient",
        "coefficient",
    ]
    assert repr(printed).count("correlation") == 1
    assert "left out (constant, empty, copies, or labels of rows): constant" in repr(printed)
    result = model.to_dataset()
    spread = np.log(table["relative_variation"]).std()
    scale = table["cores"].std() / spread
    for end in ("", "_lower", "_upper"):
        expected = scale * result[f"coefficient{end}"].sel(term="cores").item()
        name = f"standardized{end or '_coefficient'}"
        assert result[name].sel(predictor="cores").item() == pytest.approx(expected)
        in_units = result[f"unit{end or '_coefficient'}"].sel(predictor=["cores", "os"])
        np.testing.assert_equal(
            in_units.values, [result[f"coefficient{end}"].sel(term="cores").item(), np.nan]
        )
    systems = pd.get_dummies(table["os"])[["linux", "windows"]].to_numpy(dtype=float)
    weights = result["coefficient"].sel(term=["os = linux", "os = windows"]).values
    of_systems = result["standardized_coefficient"].sel(predictor="os").item()
    assert of_systems == pytest.approx((systems @ weights).std(ddof=1) / spread)


def test_mixed_model_knows_families():
    """Where every family has the same cores, REML is nested analysis of variance of the residuals
    from the slope inside families."""
    chance = np.random.default_rng(3)
    family = np.repeat(np.arange(60), 10)
    cores = np.tile(chance.uniform(0, 4, 10), 60)
    log = 0.5 * cores + chance.normal(0, 1.0, 60)[family] + chance.normal(0, 0.5, 600)
    table = pd.DataFrame(
        {"relative_variation": np.exp(log), "cores": cores, "family": [f"f{n}" for n in family]}
    )
    model = table.perf.explain_variation(
        model="mixed", predictors=["cores"], groups="family", rng=1
    )
    variances = model.to_dataset()["variance"].to_series()
    slope, intercept = np.polyfit(cores, log, 1)
    residuals = (log - intercept - slope * cores).reshape(60, 10)
    inside = ((residuals - residuals.mean(axis=1, keepdims=True)) ** 2).sum() / (600 - 60 - 1)
    assert variances["residual"] == pytest.approx(inside, rel=1e-4)
    assert variances["groups"] == pytest.approx(
        residuals.mean(axis=1).var(ddof=1) - inside / 10, rel=1e-4
    )
    assert model.result.fe_params.iloc[1] == pytest.approx(slope, rel=1e-6)


def test_near_copies_inflate_the_correlation():
    """Machines of a family share a variation of their own: rows at random find it, whole families
    apart do not."""
    chance = np.random.default_rng(4)
    family = np.repeat(np.arange(40), 8)
    variation = np.exp(chance.standard_normal(40)[family] + 0.1 * chance.standard_normal(320))
    clocks = chance.uniform(2000, 4000, 40)[family]
    table = pd.DataFrame(
        {"relative_variation": variation, "cpu_mhz": clocks, "family": [f"f{n}" for n in family]}
    )
    at_random = table.perf.explain_variation(predictors=["cpu_mhz"], groups=None, splits=1, rng=1)
    by_family = table.perf.explain_variation(
        predictors=["cpu_mhz"], groups="family", folds=5, rng=1
    ).to_dataset()
    assert at_random.to_dataset().attrs["n_test_copies"] == at_random.to_dataset().attrs["n_test"]
    # Between families the variance is 1, within them 0.01: no prediction is better than sqrt(1 /
    # 1.01). A leaf holds 11 rows, of two families at least: the mean of two predicts each with
    # sqrt(1 / 2), and leaves that overlap do better.
    assert np.sqrt(1 / 2) < at_random.correlation < np.sqrt(1 / 1.01) + 0.005
    assert by_family["correlation_lower"] < 0.3
    assert (by_family.attrs["n_test_copies"], by_family.attrs["n_test"]) == (0, 320)


def test_from_timings():
    """Timings become a table first; the noise ceiling is that of their runs."""
    times = timings(60, 3, 4, cores=np.arange(8) + 1, os=["a", "b"])
    table = times.perf.machine_table()
    first, second = (
        least_squares(data, predictors=None, splits=1).to_dataset() for data in (times, table)
    )
    xr.testing.assert_identical(first.drop_vars("noise_ceiling"), second.drop_vars("noise_ceiling"))
    noise, logs = table["relative_variation_noise"][0], np.log(table["relative_variation"])
    assert float(first["noise_ceiling"]) == pytest.approx(
        np.sqrt(max(0, 1 - noise**2 / logs.var()))
    )
    assert float(first["noise_ceiling"]) < 0.5


def test_the_ceiling_does_not_depend_on_the_base():
    """The noise ceiling of a log is the same to every base; a response that is no log has none."""
    table, logs = (
        machine_table(60, 22).assign(relative_variation_noise=0.3),
        ("np.log", "np.log10", "np.log2", ""),
    )
    models = [least_squares(table, f"{log}(relative_variation) ~ cores", splits=1) for log in logs]
    expected = np.sqrt(1 - 0.3**2 / np.log(table["relative_variation"]).var())
    np.testing.assert_allclose(
        [model.to_dataset()["noise_ceiling"] for model in models],
        [*[expected] * 3, np.nan],
        rtol=1e-6,
    )


def test_zeros_are_named():
    """A variation of 0 has no log: such machines are left out, counted and named."""
    table = machine_table(60, 5)
    table.loc[[3, 7], "relative_variation"] = 0.0
    with pytest.warns(
        UserWarning, match="2 rows have a relative_variation of zero or less.*'m3', 'm7'"
    ):
        result = least_squares(table, splits=1).to_dataset()
    assert (result.attrs["n_zero"], result.attrs["zero"], result.attrs["n"]) == (2, "m3, m7", 58)
    assert least_squares(table, log=False, splits=1).to_dataset().attrs["n"] == 60


def test_the_log_of_a_column_is_not_its_name():
    """A column called log_variation, or logical_cores, is no log: rows at or below zero stay."""
    table = machine_table(60, 21).assign(logical_cores=lambda t: t["cores"] - 1)
    table["log_variation"] = np.log(table["relative_variation"])
    zero = int((table["logical_cores"] == 0).sum())
    assert (
        least_squares(table, "log_variation ~ logical_cores", splits=1).to_dataset().attrs["n"]
        == 60
    )
    with pytest.warns(
        UserWarning, match=rf"{zero} of 60 rows lack a predictor.*'logical_cores' \({zero} of 60\)"
    ):
        attrs = (
            least_squares(table, "log_variation ~ np.log(logical_cores)", splits=1)
            .to_dataset()
            .attrs
        )
    assert (attrs["n"], attrs["n_incomplete"]) == (60 - zero, zero)


def test_columns_without_information_are_left_out():
    """Constant, empty, copied and collinear columns are left out and named; for trees only the
    copies. Flags are no environment."""
    table = machine_table(80, 6).assign(
        constant=1.0, empty=np.nan, copied=lambda t: t["cores"], half=lambda t: t["cores"] / 2
    )
    table["flag -a"] = table["cores"] > 8
    table["flag -b"] = table["cores"] <= 8
    with pytest.warns(UserWarning, match="rows lack a predictor.*'memory_gb'"):
        linear = least_squares(table, predictors=None, splits=1).to_dataset()
    assert set(linear.attrs["left_out"].split(", ")) >= {
        "constant",
        "empty",
        "copied",
        "half",
        "flag -b",
    }
    trees = table.perf.explain_variation(splits=1, rng=1).to_dataset()
    assert set(trees.attrs["left_out"].split(", ")) == {"constant", "empty", "copied"}
    with pytest.warns(UserWarning, match="rows lack a predictor.*'memory_gb'"):
        assert "flag -a" not in least_squares(table, predictors="environment", splits=1).influence
    assert least_squares(table, predictors="flags", splits=1).influence.index.tolist() == [
        "flag -a"
    ]


def test_gaps_are_considered_before_copies():
    """A column that is constant in the rows without gaps is left out, as it is from a table of
    these rows."""
    table = machine_table(40, 28).assign(
        half=lambda t: np.where(np.arange(40) < 25, t["cpu_mhz"], np.nan)
    )
    table["late"] = np.where(np.arange(40) < 25, 1.0, 2.0)
    with pytest.warns(perfarray.PerfarrayWarning) as caught:
        result = least_squares(table, predictors=["half", "late"], splits=1).to_dataset()
    note, left_out = caught[0].message.notes
    values = {"rows": 15, "of": 40, "predictors": ["half"], "lacking": [15]}
    assert (note.code, dict(note.values)) == ("rows_left_out", values)
    assert (left_out.code, dict(left_out.values)) == (
        "predictors_left_out",
        {"predictors": ["late"], "reasons": ["constant"]},
    )
    assert result["predictor"].values.tolist() == ["half"]
    assert (result.attrs["left_out"], result.attrs["n"]) == ("late", 25)


def test_same_seed_same_numbers():
    """The seed decides; attrs survive netCDF."""
    table = machine_table(60, 8)
    first, second = (table.perf.explain_variation(splits=2, rng=5).to_dataset() for _ in range(2))
    xr.testing.assert_identical(first, second)
    assert all(isinstance(value, str | int | float) for value in first.attrs.values())


def test_predictions_come_back_in_units():
    """A model of logs predicts variation; labels it never saw have no prediction in a linear
    one."""
    table = machine_table(200, 9)
    model = least_squares(table, predictors=["cores", "os"], splits=1)
    np.testing.assert_allclose(np.log(model.predict(table)), model.result.fittedvalues)
    assert model.predict(table.assign(os="plan9")).isna().all()
    with pytest.raises(ValueError, match="columns 'os' not found"):
        model.predict(table.drop(columns="os"))


@pytest.mark.parametrize("formula", [None, "np.log(relative_variation) ~ cores + C(kind)"])
def test_a_label_in_the_test_only(formula):
    """A label, in text or number, of one row has no prediction there; the influence of all else is
    as if the row were not there."""
    kind = np.r_[np.arange(59) % 2, 2]
    table = machine_table(60, 23).assign(
        kind=kind if formula else np.array(["even", "odd", "rare"])[kind]
    )
    model = least_squares(
        table, formula, splits=8, **({} if formula else {"predictors": ["cores", "kind"]})
    )
    result = model.to_dataset()
    assert result.attrs["n_unanswered"] == 1
    assert np.isfinite(result["permutation_influence"]).all()
    assert "m59" not in result["row"]
    assert model.influence.sum() == pytest.approx(100)
    assert model.influence["cores"] > 90


def test_collinear_terms_have_no_coefficients():
    """Terms that are multiples of each other have NaN and are named; the others keep their
    coefficients."""
    table = machine_table(60, 24).assign(twice=lambda t: 2 * t["cores"])
    with pytest.warns(
        UserWarning, match="The terms 'cores', 'twice' are linear combinations of each other"
    ):
        aliased = least_squares(
            table, "np.log(relative_variation) ~ cores + twice + cpu_mhz", splits=1
        ).to_dataset()
    without_copy = least_squares(
        table, "np.log(relative_variation) ~ cores + cpu_mhz", splits=1
    ).to_dataset()
    assert np.isnan(aliased["coefficient"].sel(term=["cores", "twice"])).all()
    terms = [result.sel(term="cpu_mhz") for result in (aliased, without_copy)]
    assert terms[0]["coefficient"] == pytest.approx(terms[1]["coefficient"].item())
    half = [float(term["coefficient"] - term["coefficient_lower"]) for term in terms]
    assert half[0] / stats.t.ppf(0.975, 56) == pytest.approx(half[1] / stats.t.ppf(0.975, 57))


def test_terms_are_written_by_the_names_of_columns():
    """A term is the name of its column, with a label beside it; not the code of the formula."""
    table = machine_table(40, 27).rename(columns={"cpu_mhz": 'flag -DN="x y"'})
    model = least_squares(table, predictors=["cores", "os", 'flag -DN="x y"'], splits=1)
    assert model.to_dataset()["term"].values.tolist()[:4] == [
        "Intercept",
        "os = linux",
        "os = windows",
        "cores",
    ]
    assert 'flag -DN="x y"' in model.influence


OLS = {"model": "ols"}


@pytest.mark.parametrize(
    ("change", "keywords", "message"),
    [
        ({}, {"model": "forest"}, "model='forest' is not known"),
        (
            {},
            {"response": "speed"},
            "columns 'speed' not found; the table has 'machine', 'relative_variation'",
        ),
        ({}, {"predictors": ["cores", "l3"]}, "columns 'l3' not found; the table has"),
        ({}, OLS | {"formula": "cores"}, "has no '~'"),
        (
            {},
            {"formula": "relative_variation ~ cores"},
            "A formula needs model='ols' or 'mixed'",
        ),
        ({}, {"model": "mixed"}, "needs a random effect"),
        ({}, {"groups": "family"}, "columns 'family' not found"),
        ({}, {"test_size": 1.5}, "test_size=1.5 is out of range"),
        ({}, {"response": "os"}, "holds category values, not numbers"),
        ({}, {"predictors": ["machine"]}, "nothing is left to explain"),
        (
            {},
            OLS | {"groups": "vendor", "folds": 20, "predictors": ["cores"]},
            "a test needs 20 or more",
        ),
        ({}, {"metric": "time"}, "it chooses a variable of a Dataset"),
        ({}, {"splits": 3, "folds": 4}, "splits=3 and folds=4 were given"),
        ({}, {"splits": 0}, "splits=0: give a whole number of at least 1"),
        ({}, {"model": "gamma"}, "model='gamma' is not known"),
        (
            {},
            OLS | {"formula": "np.log(relative_variation) ~ np.log(cores - 1)"},
            "has no number for [1-9] of 40 rows",
        ),
        (
            {},
            OLS | {"formula": "np.log(cores - 1) ~ cpu_mhz"},
            "has no number for [1-9] of 40 rows",
        ),
        ({}, OLS | {"formula": "cores + cpu_mhz ~ memory_gb"}, "multiple columns"),
        ({}, OLS | {"formula": "os ~ cores"}, "response 'os' holds category values"),
        ({"l3": np.nan}, OLS | {"formula": "relative_variation ~ l3"}, "no term is left of 'l3'"),
        ({}, OLS | {"predictors": ["cores"], "folds": 41}, "folds=41 of 40 rows"),
        ({}, OLS | {"predictors": ["relative_variation"]}, "no predictor was given"),
        (
            {"relative_variation": -1.0},
            OLS,
            "0 rows have a 'relative_variation' that can be explained",
        ),
        (
            {"relative_variation": lambda t: 1.0 + 1e-15 * t["cores"]},
            {},
            "'relative_variation' is the same in all 40 rows",
        ),
        (
            {"relative_variation": lambda t: 1.0 + 1e-15 * t["cores"]},
            OLS,
            "'relative_variation' is the same in all 2. rows",
        ),
        (
            {
                "cpu_mhz": [1.0] * 3 + [2.0] * 2 + [np.nan] * 35,
                "cores": [np.nan] * 3 + [1.0, 2.0] * 18 + [1.0],
            },
            OLS | {"formula": "relative_variation ~ cpu_mhz + cores"},
            r"leave out predictors with gaps, 'cpu_mhz' \(35 of 40\), 'cores' \(3 of 40\)",
        ),
    ],
)
def test_bad_input(change, keywords, message):
    with pytest.raises(ValueError, match=message):
        machine_table(40, 11).assign(**change).perf.explain_variation(rng=1, **keywords)


def test_crossed_effects_are_gone():
    with pytest.raises(TypeError, match=r"no argument 'random' any more\. .*groups="):
        machine_table(40, 11).perf.explain_variation(model="mixed", random="vendor")


def test_tables_that_cannot_be_used():
    """One row; two columns of one name; something else than a table."""
    table = machine_table(40, 31)
    with pytest.raises(ValueError, match="the table has 1 rows"):
        table[:1].perf.explain_variation()
    with pytest.raises(ValueError, match="columns 'cores' occur twice"):
        pd.concat([table, table[["cores"]]], axis=1).perf.explain_variation(rng=1)
    with pytest.raises(TypeError, match="expected a table of machines or timings, got list"):
        perfarray.explain_variation([1, 2])


def test_many_rows_are_permuted_once(monkeypatch):
    """With many rows tested, a predictor is permuted once, so that a large table takes the time of
    its fit."""
    calls = []
    permuted = evaluation._permuted
    monkeypatch.setattr(
        evaluation,
        "_permuted",
        lambda *arguments: calls.append((len(arguments[1]), arguments[4])) or permuted(*arguments),
    )
    monkeypatch.setattr(evaluation, "ROWS_PERMUTED", 1_000)
    for rows, splits in ((100, 1), (1_200, 1), (1_200, 5)):
        least_squares(machine_table(rows, 32), splits=splits)
    assert calls == [(30, 5), (360, 2)] + [(360, 1)] * 5


def test_one_warning_for_the_table_and_the_test():
    """Notes on the table and on the test come as one warning, and stay with the result as data."""
    times = timings(20, 4, 3, cores=np.arange(7) + 1.0, family=list("abcd"))
    times = times.where(
        (times["machine"] != times["machine"][3]) | (times["benchmark"] == times["benchmark"][0])
    )
    with pytest.warns(perfarray.PerfarrayWarning) as caught:
        result = least_squares(times, groups="family").to_dataset()
    assert [[note.code for note in warning.message.notes] for warning in caught] == [
        ["rows_left_out", "untested_influence"]
    ]
    assert result.perf.notes() == caught[0].message.notes
    assert dict(result.perf.notes()[1].values) == {
        "units": result.attrs["n_test_units"],
        "needed": 6,
    }


def test_an_error_names_what_gives_a_response():
    """Timings of one execution a machine have no relative variation: the error gives the reason,
    and more executions give one."""
    nest = {
        "sizes": {"session": 1, "execution": 6},
        "variances": {"session": 1e-4, "execution": 1e-4},
    }
    times = perfarray.simulate(**nest, dims={"benchmark": 3, "machine": 12}, rng=1)
    times = times.assign_coords(cores=("machine", np.arange(12) % 7 + 1.0))
    for options in ({}, OLS | {"formula": "relative_variation ~ cores"}):
        with pytest.raises(
            ValueError,
            match=r"0 rows have a 'relative_variation'.*rest on one execution.*Measure several",
        ):
            times.isel(execution=[0]).perf.explain_variation(**options)
    for remedy in (times, times.perf.machine_table()):
        assert remedy.perf.explain_variation(model="ols").dataset.attrs["n_missing_response"] == 0


@pytest.mark.parametrize(
    ("operation", "undefined"), [("cores // threads", np.inf), ("cores % threads", np.nan)]
)
def test_integers_divided_by_zero_are_those_of_columns(operation, undefined):
    """No row that is fitted divides by zero, and one that is predicted does: arrays of NumPy would
    make it 0."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {"machine": range(60), "cores": rng.integers(1, 65, 60), "threads": rng.integers(1, 5, 60)}
    )
    table["relative_variation"] = (
        0.01 * (1 + table["cores"] // table["threads"]) * np.exp(0.1 * rng.normal(size=60))
    )
    model = perfarray.explain_variation(
        table, formula=f"np.log(relative_variation) ~ I({operation})", model="ols", rng=1
    )
    predicted = np.asarray(model.predict(pd.DataFrame({"cores": [8, 8], "threads": [2, 0]})))
    assert np.isfinite(predicted[0])
    np.testing.assert_equal(abs(predicted[1]), undefined)
