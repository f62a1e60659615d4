"""Model formulas: patsy reads them; the columns behind each term are known, new rows are predicted,
errors give the reason."""

import sys

import numpy as np
import pandas as pd
import pytest

import perfarray
from perfarray.machines.formulas import LOGS, arguments_of, columns_in, read_formula


@pytest.fixture(scope="module")
def table():
    """A response that depends on a, b, and the system; x is for curves, `flag -DN="x y"` a name
    that must be quoted."""
    chance = np.random.default_rng(1)
    a, b, x = chance.uniform(1, 5, (3, 80))
    system = chance.choice(["aix", "linux", "windows"], 80)
    log = (
        0.5 * a
        - 0.7 * b
        + 0.2 * a * b
        + np.sin(x)
        + (system == "windows")
        + 0.05 * chance.standard_normal(80)
    )
    columns = {
        "y": np.exp(log),
        "a": a,
        "b": b,
        "x": x,
        "os": system,
        "cpu_mhz": 1000 * a,
        "kind": 1 + np.arange(80) % 3,
    }
    return pd.DataFrame(columns | {'flag -DN="x y"': chance.random(80) < 0.5})


def explained(table: pd.DataFrame, formula: str, **keywords) -> perfarray.VariabilityModel:
    return perfarray.explain_variation(
        table, formula=formula, rng=1, **({"model": "ols"} | keywords)
    )


WORKING = {
    "a + b + C(os, Treatment(reference='linux'))": ["a", "b", "os"],
    "bs(x, df=4, lower_bound=0, upper_bound=6) + a": ["x", "a"],
    "(a + b)**2": ["a", "b"],
    "b.clip(0) + a": ["b", "a"],
    "np.log(cpu_mhz) + C(os)": ["cpu_mhz", "os"],
    "a*b + os": ["a", "b", "os"],
    "a:b + I(a**2) + np.maximum(a, b)": ["a", "b"],
    "C(kind) + standardize(a)": ["kind", "a"],
    "Q('flag -DN=\"x y\"') + center(a)": ['flag -DN="x y"', "a"],
    "0 + a": ["a"],
    "a + (os == 'windows')": ["a", "os"],
    "I((a - a.mean()) / a.std()) + round(b)": ["a", "b"],
}


@pytest.mark.parametrize("right", WORKING)
def test_every_variable_of_a_formula_is_known(table, right):
    """Influence is of the columns that terms are computed from; new rows are predicted as
    statsmodels predicts them."""
    model = explained(table, f"np.log(y) ~ {right}", splits=2)
    assert sorted(model.to_dataset()["predictor"].values.tolist()) == sorted(WORKING[right])
    assert model.to_dataset().attrs["n_unanswered"] == 0
    assert model.influence.sum() == pytest.approx(100)
    new = table.iloc[:5].assign(b=2.5)
    np.testing.assert_allclose(model.predict(new), model.result.predict(new))
    for name in WORKING[right]:
        reversed_column = table.assign(**{name: table[name].to_numpy()[::-1]})
        assert not np.allclose(model.predict(reversed_column), model.predict(table)), name


def test_influence_is_of_all_terms_of_a_variable(table):
    """Where only a product counts, either factor has half of the influence; the terms of one of
    them alone have none."""
    rows = table.assign(
        y=np.exp((table["a"] - table["a"].mean()) * (table["b"] - table["b"].mean()))
    )
    assert explained(rows, "np.log(y) ~ (a + b)**2").influence.min() > 40


def test_the_reference_of_labels(table):
    """Coefficients are against linux; where a split lacks the reference, the message names the
    term."""
    terms = (
        explained(table, "np.log(y) ~ C(os, Treatment(reference='linux'))")
        .to_dataset()["term"]
        .values.tolist()
    )
    assert terms == ["Intercept", "os = aix", "os = windows"]
    rare = table.assign(os=["plan9", *table["os"].iloc[1:]])
    with pytest.raises(
        ValueError, match=r"the terms .*plan9.* cannot be computed of \d+ of the rows alone"
    ):
        explained(rare, "np.log(y) ~ C(os, Treatment('plan9'))", folds=5)


def test_rows_outside_of_a_curve(table):
    """Rows beyond those that a spline was fitted to have no prediction and are counted; all other
    rows have theirs."""
    fitted = explained(table, "np.log(y) ~ bs(x, df=4) + a")
    result = fitted.to_dataset()
    tested = set(result["row"].values.tolist())
    assert result.attrs["n_unanswered"] >= 1
    assert len(tested) > 50
    assert not tested & {str(table["x"].argmin()), str(table["x"].argmax())}
    predicted = fitted.predict(table.iloc[:3].assign(x=[table["x"].mean(), 99.0, table["x"].min()]))
    assert predicted.isna().tolist() == [False, True, False]


def test_new_labels(table):
    """A label that the fit did not see has no prediction, whatever the coding; other rows have
    theirs."""
    model = explained(table, "np.log(y) ~ a + C(os, Sum) + C(kind)")
    new = table.iloc[:3].assign(os=["linux", "plan9", "aix"], kind=[1, 1, 9])
    assert model.predict(new).isna().tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("np.log(y) ~ C(os, Treatment(reference='plan9'))", "cannot be computed: .*plan9"),
        ("np.log(y) ~ bs(x, df=1)", "cannot be computed: .*df"),
        ("np.log(y) ~ (a + c)**2", "columns 'c' not found; the table has 'y', 'a'"),
        ("np.log(y) ~ c.clip(0)", "columns 'c' not found"),
        ("np.log(y) ~ a.clp(0)", "cannot be computed: .*'clp'"),
        ("log(y) ~ a", "cannot be computed: .*'log' is not defined"),
        ("np.log(y) ~ a +", "cannot be read: expected a noun"),
        ("np.log(y) ~ (a", "cannot be read: Unmatched"),
        ("np.log(y) ~ a b", "cannot be read: invalid syntax"),
        ("np.log(y) ~ a ~ b", "cannot be read: ~ can only be used once"),
        ("np.log(1) ~ a", "names no response left of '~'"),
        ("~ a", "names no response left of '~'"),
    ],
)
def test_errors_give_the_reason(table, formula, message):
    with pytest.raises(ValueError, match=message):
        explained(table, formula)


def test_terms_of_empty_columns(table):
    """Terms that are computed from a column without values are left out: here an interaction, and
    not the column that it is with."""
    with pytest.warns(perfarray.PerfarrayWarning, match="'empty' are constant or empty") as caught:
        result = explained(table.assign(empty=np.nan), "np.log(y) ~ a*empty + b").to_dataset()
    assert result.attrs["formula"] == "np.log(y) ~ a + b"
    (note,) = caught[0].message.notes
    assert (note.code, dict(note.values)) == ("predictors_left_out", {"predictors": ["empty"]})


def test_names_in_formulas():
    """A name is a column where the table has it; what is called is a function. A quoted name may
    have any characters."""
    formula = read_formula("min ~ bytes + C(C) + Q('I') + sum([t for t in a])")
    table = pd.DataFrame({name: [1.0] for name in ("min", "bytes", "C", "I", "a")})
    assert columns_in([formula.response], table) == ["min"]
    assert columns_in(formula.codes(), table) == ["bytes", "C", "I", "a"]
    assert columns_in(formula.codes(), pd.DataFrame()) == ["a"]
    formula = read_formula("np.log(Q('a ~ b')) ~ x + Q('c ~ d')")
    assert (formula.response, formula.right()) == ("np.log(Q('a ~ b'))", "x + Q('c ~ d')")


def test_logs_and_labels():
    """The arguments of logs and of C are found, and nothing that only looks like them."""
    codes = read_formula(
        "y ~ np.log(a) + np.log2(Q('b c')) + np.log1p(d) + np.log(e + 1) + C(f, Sum) + np.log(C(g))"
    ).codes()
    assert arguments_of(codes, LOGS) == {"a", "b c"}
    assert arguments_of(codes, ("C",)) == {"f", "g"}


def test_without_trees_least_squares_answer(table, monkeypatch):
    """The error names the extra, and the model that needs none; followed, it answers."""
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    choices = {"response": "a", "predictors": ["b", "x"]}
    with pytest.raises(ImportError, match=r"perfarray\[regression\], or give model='ols'"):
        perfarray.explain_variation(table, **choices)
    answer = perfarray.explain_variation(table, model="ols", **choices)
    assert sorted(answer.dataset["predictor"].values.tolist()) == ["b", "x"]
