"""Model formulas: patsy reads them; the columns behind each term are known, new rows are predicted, what fails says why."""

import numpy as np
import pandas as pd
import pytest

import perfarray
from perfarray.machines.formulas import LOGS, arguments_of, columns_in, read_formula


@pytest.fixture
def table():
    """A response that rests on a, b, and the system; x is for curves, `flag -DN="x y"` a name that must be quoted."""
    chance = np.random.default_rng(1)
    rows = 80
    a, b, x = chance.uniform(1, 5, (3, rows))
    system = chance.choice(["aix", "linux", "windows"], rows)
    log = 0.5 * a - 0.7 * b + 0.2 * a * b + np.sin(x) + (system == "windows") + 0.05 * chance.standard_normal(rows)
    flag = chance.random(rows) < 0.5
    return pd.DataFrame(
        {
            "y": np.exp(log),
            "a": a,
            "b": b,
            "x": x,
            "os": system,
            "cpu_mhz": 1000 * a,
            "kind": 1 + np.arange(rows) % 3,
            'flag -DN="x y"': flag,
        }
    )


WORKING = {
    "np.log(y) ~ a + b + C(os, Treatment(reference='linux'))": ["a", "b", "os"],
    "np.log(y) ~ bs(x, df=4, lower_bound=0, upper_bound=6) + a": ["x", "a"],
    "np.log(y) ~ (a + b)**2": ["a", "b"],
    "np.log(y) ~ b.clip(0) + a": ["b", "a"],
    "np.log(y) ~ np.log(cpu_mhz) + C(os)": ["cpu_mhz", "os"],
    "np.log(y) ~ a*b + os": ["a", "b", "os"],
    "np.log(y) ~ a:b + I(a**2) + np.maximum(a, b)": ["a", "b"],
    "np.log(y) ~ C(kind) + standardize(a)": ["kind", "a"],
    "np.log(y) ~ Q('flag -DN=\"x y\"') + center(a)": ['flag -DN="x y"', "a"],
    "np.log(y) ~ 0 + a": ["a"],
    "np.log(y) ~ a + (os == 'windows')": ["a", "os"],
}


@pytest.mark.parametrize("formula", WORKING)
def test_every_variable_of_a_formula_is_known(table, formula):
    """Influence is of the columns that terms are computed from; new rows are predicted as statsmodels predicts them."""
    model = perfarray.explain_variation(table, model="ols", formula=formula, splits=2, rng=1)
    assert model.to_dataset()["predictor"].values.tolist() == WORKING[formula]
    assert model.to_dataset().attrs["n_unanswered"] == 0
    assert model.influence.sum() == pytest.approx(100)
    new = table.iloc[:5].assign(a=2.5)
    np.testing.assert_allclose(model.predict(new), model.result.predict(new))
    changed = [name for name in WORKING[formula] if not np.allclose(model.predict(permuted(table, name)), model.predict(table))]
    assert changed == WORKING[formula]


def permuted(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the table with one column turned round."""
    return table.assign(**{name: table[name].to_numpy()[::-1]})


def test_influence_is_of_all_terms_of_a_variable(table):
    """Where all that counts is a product, either factor carries half of it; the terms of one of them alone carry nothing."""
    rows = table.assign(y=np.exp((table["a"] - table["a"].mean()) * (table["b"] - table["b"].mean())))
    model = perfarray.explain_variation(rows, model="ols", formula="np.log(y) ~ (a + b)**2", rng=1)
    assert model.influence.min() > 40


def test_the_reference_is_the_one_that_was_asked_for(table):
    """Coefficients of labels are against linux."""
    model = perfarray.explain_variation(table, model="ols", formula="np.log(y) ~ C(os, Treatment(reference='linux'))", rng=1)
    terms = model.to_dataset()["term"].values.tolist()
    assert terms == ["Intercept", *(f"C(os, Treatment(reference='linux'))[T.{name}]" for name in ("aix", "windows"))]


@pytest.mark.parametrize("model", ["ols", "gamma"])
def test_rows_that_a_curve_does_not_cover(table, model):
    """A spline says nothing beyond the rows it was fitted to: those have no prediction, are counted, and cost no other row its own."""
    formula = "np.log(y) ~ bs(x, df=4) + a" if model == "ols" else "y ~ bs(x, df=4) + a"
    found = perfarray.explain_variation(table, model=model, formula=formula, rng=1)
    ends = int(table["x"].argmin()), int(table["x"].argmax())
    tested = set(found.to_dataset()["row"].values.tolist())
    assert found.to_dataset().attrs["n_unanswered"] >= 1
    assert len(tested) > 50
    assert not tested & {str(end) for end in ends}
    predicted = found.predict(table.iloc[:3].assign(x=[table["x"].mean(), 99.0, table["x"].min()]))
    assert predicted.isna().tolist() == [False, True, False]


def test_labels_nobody_saw(table):
    """A label that the fit did not see has no prediction, whatever the coding; other rows have theirs."""
    model = perfarray.explain_variation(table, model="ols", formula="np.log(y) ~ a + C(os, Sum) + C(kind)", rng=1)
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
        ("a + b ~ x", "multiple columns"),
        ("np.log(y) ~ np.log(x - 3)", r"has no number for \d+ of 80 rows"),
    ],
)
def test_what_fails_says_why(table, formula, message):
    """The formula and the reason."""
    with pytest.raises(ValueError, match=message):
        perfarray.explain_variation(table, model="ols", formula=formula, rng=1)


def test_a_label_of_few_rows_as_the_reference(table):
    """Where the rows of a split lack what a term needs, the message says which term."""
    rare = table.assign(os=["plan9", *table["os"].iloc[1:]])
    with pytest.raises(ValueError, match=r"the terms .*plan9.* cannot be computed of \d+ of the rows alone"):
        perfarray.explain_variation(rare, model="ols", formula="np.log(y) ~ C(os, Treatment('plan9'))", folds=5, rng=1)


def test_terms_of_empty_columns(table):
    """Whatever is computed from a column without values is left out: here an interaction, and not the column it is with."""
    with pytest.warns(perfarray.PerfarrayWarning, match="'empty' are constant or empty") as caught:
        found = perfarray.explain_variation(table.assign(empty=np.nan), model="ols", formula="np.log(y) ~ a*empty + b", rng=1).to_dataset()
    assert found.attrs["formula"] == "np.log(y) ~ a + b"
    (note,) = caught[0].message.notes
    assert (note.code, dict(note.values)) == ("constant_terms", {"columns": ["empty"]})
    assert [one.code for one in found.perf.notes()] == ["constant_terms"]


def test_names_of_functions_may_be_columns():
    """A name is a column where the table has it; what is called is a function."""
    formula = read_formula("min ~ bytes + C(C) + Q('I') + sum([t for t in a])")
    table = pd.DataFrame({name: [1.0] for name in ("min", "bytes", "C", "I", "a")})
    assert columns_in([formula.response], table) == ["min"]
    assert columns_in(formula.codes(), table) == ["bytes", "C", "I", "a"]
    assert columns_in(formula.codes(), pd.DataFrame()) == ["a"]


def test_logs_and_labels():
    """Logs of a column, and columns taken for labels, are told from what only looks like them."""
    codes = read_formula("y ~ np.log(a) + np.log2(Q('b c')) + np.log1p(d) + np.log(e + 1) + C(f, Sum) + np.log(C(g))").codes()
    assert arguments_of(codes, LOGS) == {"a", "b c"}
    assert arguments_of(codes, ("C",)) == {"f", "g"}


def test_a_tilde_in_a_name():
    """What is quoted is a name, whatever stands in it."""
    formula = read_formula("np.log(Q('a ~ b')) ~ x + Q('c ~ d')")
    assert (formula.response, formula.right()) == ("np.log(Q('a ~ b'))", "x + Q('c ~ d')")
