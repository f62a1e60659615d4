"""What explains performance or its variation: trees, linear and mixed models of a table of machines, tested on rows they never saw."""

import re
import warnings
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from perfarray._descriptors import FLAG, LEVEL_VARIATION, MEASURED, RESPONSES, UNPARSED, machine_table
from perfarray._resampling import Rng, key_of
from perfarray._results import Result
from perfarray._timings import Data
from perfarray._validation import check_between, check_choice, check_confidence_level, check_count, check_names, listed, warn
from perfarray.conventions import LEVELS, MACHINE, UNKNOWN
from perfarray.numerics.influence import correlation_interval, influence_of, same_columns, split_rows
from perfarray.numerics.levels import Floats
from perfarray.numerics.noise_ceiling import noise_ceiling

MODELS: Final = ("boosting", "ols", "mixed")
SETS: Final = ("environment", "flags")
LEAST: Final = 6
"""Rows that a model needs at least."""

CATEGORIES: Final = 200
"""Labels of one predictor that a tree tells apart; rarer ones are one more label."""

OTHER: Final = "other"
REPEATS: Final = 5
"""How often each predictor is permuted."""

SHOWN, GRID, AVERAGED = 8, 12, 100
"""Predictors with a partial dependence, points of each, rows averaged over."""

NAMES = re.compile(r"""Q\(\s*["'](.+?)["']\s*\)|(?<![\w.])([A-Za-z_]\w*)(?!\w*\s*[(.]|\s*=(?!=))""")
"""Columns in a formula: quoted by Q, or a name that is neither called, looked into, nor a keyword."""

Rows = npt.NDArray[np.intp]
Answer = Callable[[pd.DataFrame], Floats]


class Fit(NamedTuple):
    """The fitted object, what predicts from it, and what it had to say."""

    result: Any
    answer: Answer
    note: str


class _Question(NamedTuple):
    """One call: rows that can be used, what is explained, by what, and how it is fitted."""

    rows: pd.DataFrame
    target: Floats
    predictors: list[str]
    fit: Callable[[pd.DataFrame, Floats], Fit]
    groups: npt.NDArray[Any] | None
    attrs: dict[Hashable, Any]
    notes: list[str]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class VariabilityModel(Result):
    """A model of performance or of variation: what `explain_variation` answers.

    Parameters
    ----------
    dataset : Dataset
        What `to_dataset` gives, as `explain_variation` says.
    result : object
        The object of statsmodels or scikit-learn, fitted to all rows.
    answer : callable
        What predicts the response (or its log) from a table.

    Examples
    --------
    >>> import numpy as np, pandas as pd, perfarray
    >>> mhz = np.linspace(2000, 4000, 30)
    >>> table = pd.DataFrame({"performance": 1e4 / mhz, "cpu_mhz": mhz})
    >>> model = table.perf.explain_variation(model="ols", formula="np.log(performance) ~ np.log(cpu_mhz)", rng=1)
    >>> round(model.correlation, 6), round(float(model.result.params.iloc[1]), 6)
    (1.0, -1.0)
    """

    result: Any
    answer: Answer

    @property
    def influence(self) -> pd.Series:
        """Relative influence of every predictor in percent, the largest first."""
        return self.dataset["influence"].to_series().sort_values(ascending=False, kind="stable")

    @property
    def correlation(self) -> float:
        """Correlation of measured and predicted on rows that the fit did not see."""
        return float(self.dataset["correlation"])

    def predict(self, table: pd.DataFrame) -> pd.Series:
        """Predict the response of machines.

        Parameters
        ----------
        table : pandas.DataFrame
            Columns as in the table that was given.

        Returns
        -------
        pandas.Series
            In the units of the response (a model of logs is taken back by exp, which gives a median rather than a mean); with a formula,
            whatever stands left of `~`. NaN where a predictor is missing, or a label is new, and the model cannot do without.
        """
        missing = [name for name in self.dataset["predictor"].values.tolist() if name not in table]
        if missing:
            raise ValueError(f"columns {listed(missing)} not found; the table has {listed(table.columns)}")
        found = self.answer(table)
        return pd.Series(np.exp(found) if self.dataset.attrs["log"] else found, index=table.index, name=str(self.dataset.attrs["response"]))


def explain_variation(
    table_or_times: pd.DataFrame | Data,
    *,
    response: str = "relative_variation",
    predictors: str | Sequence[str] | None = None,
    model: str = "boosting",
    formula: str | None = None,
    log: bool = True,
    test_size: float = 0.3,
    folds: int | None = None,
    groups: str | None = None,
    random: str | Sequence[str] = (),
    reml: bool = True,
    confidence_level: float = 0.95,
    rng: Rng = None,
    metric: str | None = None,
) -> VariabilityModel:
    """Explain performance or its variation by descriptions of machines, and say how well on machines that the fit did not see.

    Parameters
    ----------
    table_or_times : pandas.DataFrame, DataArray or Dataset
        One row per machine, as from `machine_table`; or timings, of which that table is made.
    response : str
        The column to explain.
    predictors : "environment", "flags", or sequence of str, optional
        Columns to explain it by. Default: all that are not labels of rows, responses, or texts that could not be read. "environment" are
        those that are not flags.
    model : {"boosting", "ols", "mixed"}
        Boosted regression trees; ordinary least squares; a linear mixed model with `groups` (or `random`) as random effects.
    formula : str, optional
        A formula of statsmodels, for "ols" and "mixed", such as `"np.log(relative_variation) ~ np.log(cpu_mhz) + C(os)"`; `response`,
        `predictors` and `log` are then ignored.
    log : bool
        Explain the log of the response.
    test_size : float
        Share of the rows that are kept for the test.
    folds : int, optional
        Cross-validation instead: every row is predicted by a fit that did not see its part.
    groups : str, optional
        Column whose labels stay together in fit or test (vendor, family, year), so that near-copies do not sit on both sides; and the
        random effect of a mixed model.
    random : str or sequence of str, optional
        Random effects of a mixed model beyond a single one: columns, crossed; `machine:benchmark` for each combination of their labels.
        The table may then have a row for each run.
    reml : bool
        Restricted maximum likelihood for a mixed model, else maximum likelihood.
    confidence_level : float
        Of the intervals of the correlation and the influence.
    rng : int, numpy.random.Generator, optional
        Seed of split, trees and permutations.
    metric : str, optional
        Variable of a Dataset.

    Returns
    -------
    VariabilityModel
        `.influence`, `.correlation`, `.predict(table)`, `.result` (fitted to all rows), `.plot(kind="influence"|"predicted"|"dependence")`.
        `.to_dataset()`: along `predictor` `influence` (percent, sums to 100) and `permutation_influence` with `lower` and `upper`: what
        permuting the column adds to the squared error on the test rows, relative to the variance of the response there; along `row`
        `measured` and `predicted` of the test rows; `correlation`, `correlation_lower`, `correlation_upper`, `noise_ceiling`; along
        `dependent` and `point` the partial dependence `dependence` at `at`; of mixed models `variance` along `effect`. Attrs count and name
        what was left out.

    Raises
    ------
    ValueError
        A column that is not there (the message lists those that are); too few rows or groups; nothing left to explain by.
    ImportError
        When scikit-learn is not installed (`perfarray[regression]`) and trees are asked for.

    See Also
    --------
    machine_table : the table

    Notes
    -----
    Trees are scikit-learn's histogram gradient boosting: of its boosted trees, those take missing values and whole categories as they are.
    They keep no gain, so influence is by permutation, for all models alike: on the test rows, `influence` is each positive increase as a
    percentage of their sum. Where several predictors say the same, each can replace the other and all look unimportant: exact copies and
    constants are left out and named. Without any predictive power the percentages divide up noise: look at the limits of
    `permutation_influence` and of the correlation first. They hold for the fit at hand and its test rows.

    The correlation, its interval (Fisher's z; with `groups`, by leaving out one group at a time) and the influence come from rows that the
    fit did not see, on the scale of the model (logs). `n_test_copies` counts test rows whose predictors all occur among the rows fitted:
    if there are many, give `groups`.

    `noise_ceiling` is the largest correlation any prediction of log relative variation could have: the response is estimated from
    `n_runs` runs, and its sampling noise is not predictable. It assumes normal runs.

    Rows without a response are left out, and for a log those that are zero or negative (runs that are all alike by rounding): `n_zero`.

    References
    ----------
    S. Irving et al., "Computer comparisons in the presence of performance variation", 2018, section 7 and tables 9 to 12.

    Examples
    --------
    >>> import numpy as np, pandas as pd, perfarray
    >>> cores = np.arange(1.0, 41.0)
    >>> table = pd.DataFrame({"machine": range(40), "cores": cores, "relative_variation": 0.01 * cores**2})
    >>> found = table.perf.explain_variation(model="ols", formula="np.log(relative_variation) ~ np.log(cores)", rng=1)
    >>> round(float(found.result.params["np.log(cores)"]), 6), round(found.correlation, 6)
    (2.0, 1.0)
    """
    check_choice(model, "model", MODELS)
    check_confidence_level(confidence_level)
    share = check_between(test_size, "test_size", 0.0, 1.0, example="0.3")
    effects = check_names(random, "random") if random else ()
    if formula is not None and model == "boosting":
        raise ValueError("a formula is for model='ols' or 'mixed'; boosting takes predictors=")
    if model == "mixed" and groups is None and not effects:
        raise ValueError(
            "model='mixed' needs a random effect: name a column with groups= (vendor, machine family), or several with random="
        )
    if effects and model != "mixed":
        raise ValueError(f"random={listed(effects)} is for model='mixed'")
    table = _table(table_or_times, response, formula, metric)
    _check_columns(table, [name for effect in effects for name in effect.split(":")] + ([groups] if groups else []))
    key = np.random.default_rng(list(key_of(rng)))
    seed = int(key.integers(2**31))
    kind = _Kind(model, groups, effects, reml, seed)
    question = (
        _by_formula(table, formula, kind)
        if formula is not None
        else _by_columns(table, response, _chosen(table, predictors, kind), log, kind)
    )
    dataset, fit = _evaluate(question, share, folds, confidence_level, key)
    dataset.attrs |= {"result": "explain_variation", "model": model, "confidence_level": confidence_level} | question.attrs
    warn(*question.notes, fit.note)
    return VariabilityModel(dataset=dataset, result=fit.result, answer=fit.answer)


class _Kind(NamedTuple):
    """Which model, with which random effects."""

    model: str
    groups: str | None
    effects: tuple[str, ...]
    reml: bool
    seed: int


def _table(given: Any, response: str, formula: str | None, metric: str | None) -> pd.DataFrame:
    """Return the table, made of timings where those were given."""
    if isinstance(given, pd.DataFrame):
        if metric is not None:
            raise ValueError(f"metric={metric!r} was given for a table; it chooses a variable of a Dataset")
        table = given.reset_index(drop=True)
    elif isinstance(given, xr.DataArray | xr.Dataset):
        named = _names(formula.partition("~")[0]) if formula is not None else [response]
        asked = [name for name in named if name in RESPONSES or name.endswith(LEVEL_VARIATION)]
        table = machine_table(given, response=tuple(dict.fromkeys(["performance", *asked])), metric=metric)
    else:
        raise TypeError(f"expected a table of machines or timings, got {type(given).__name__}")
    if len(table) < LEAST:
        raise ValueError(f"the table has {len(table)} rows (machines); a model needs {LEAST} or more, and says little below 30")
    return table


def _check_columns(table: pd.DataFrame, names: Sequence[str]) -> None:
    """Raise where a column is not there."""
    missing = [name for name in dict.fromkeys(names) if name not in table]
    if missing:
        raise ValueError(f"columns {listed(missing)} not found; the table has {listed(table.columns, 40)}")


def _chosen(table: pd.DataFrame, predictors: str | Sequence[str] | None, kind: _Kind) -> list[str]:
    """Return the columns that may explain."""
    if predictors is not None and not (isinstance(predictors, str) and predictors in SETS):
        names = list(check_names(predictors, "predictors")) if len(predictors) else []
        _check_columns(table, names)
        return names
    levels = [name for name in table if name in LEVELS]
    labels = {MACHINE, "file", *levels, *RESPONSES, *MEASURED, *kind.effects} | ({kind.groups} if kind.model == "mixed" else set())
    names = [str(name) for name in table if name not in labels and not str(name).endswith((UNPARSED, LEVEL_VARIATION))]
    if predictors is None:
        return names
    return [name for name in names if name.startswith(FLAG) == (predictors == "flags")]


def _by_columns(table: pd.DataFrame, response: str, chosen: list[str], log: bool, kind: _Kind) -> _Question:
    """Ask by columns."""
    _check_columns(table, [response])
    if response in chosen:
        chosen = [name for name in chosen if name != response]
    if not _is_number(table[response]):
        raise ValueError(f"response {response!r} holds {table[response].dtype} values, not numbers")
    values = table[response].to_numpy(dtype=float, na_value=np.nan)
    usable, attrs, notes = _usable(table, response, values, log)
    rows = table[usable].reset_index(drop=True)
    kept, left_out = _useful(rows, chosen, kind.model)
    attrs.update(response=response, log=int(log), left_out=", ".join(left_out))
    if not kept and not kind.effects:
        raise ValueError(f"nothing is left to explain {response!r} by: {listed(left_out)} are constant, empty, copies, or labels of rows")
    target = np.log(values[usable]) if log else values[usable]
    if kind.model == "boosting":
        fit = lambda part, wanted: _boosted(part, wanted, kept, kind.seed)  # noqa: E731
    else:
        right = " + ".join(_term(rows, name) for name in kept) or "1"
        complete = rows[kept].notna().all(axis=1).to_numpy() if kept else np.ones(len(rows), dtype=bool)
        attrs["n_incomplete"] = int((~complete).sum())
        rows, target = rows[complete].reset_index(drop=True), target[complete]
        fit = lambda part, wanted: _linear(part.assign(_response=wanted), f"_response ~ {right}", kept, kind)  # noqa: E731
    return _Question(_enough(rows), target, kept, fit, _labels(rows, kind.groups), attrs, notes)


def _by_formula(table: pd.DataFrame, formula: str, kind: _Kind) -> _Question:
    """Ask by a formula, from which terms of empty columns are left out."""
    left, tilde, right = formula.partition("~")
    if not tilde:
        raise ValueError(f"formula={formula!r} has no '~'; write response ~ predictors")
    _check_columns(table, [*_names(left), *_names(right)])
    if not _names(left):
        raise ValueError(f"formula={formula!r} names no response left of '~'")
    terms = _terms(right)
    empty = [name for name in dict.fromkeys(_names(right)) if _stated(table[name]).dropna().nunique() < 2]
    kept = [term for term in terms if not set(_names(term)) & set(empty)]
    if not kept and not kind.effects:
        raise ValueError(f"no term is left of {right.strip()!r}: {listed(empty)} are constant or empty")
    notes = [f"{listed(empty)} are constant or empty: terms with them are left out of the formula"] if empty else []
    usable = np.ones(len(table), dtype=bool)
    for term in kept:
        for name in _names(term):
            column = table[name]
            usable &= column.notna().to_numpy()
            if "log" in term and _is_number(column):
                usable &= column.to_numpy(dtype=float, na_value=np.nan) > 0
    response = _names(left)[0]
    measured, attrs, said = _usable(table, response, table[response].to_numpy(dtype=float, na_value=np.nan), "log" in left)
    attrs |= {"n_incomplete": int((measured & ~usable).sum()), "formula": f"{left.strip()} ~ {' + '.join(kept) or '1'}"}
    attrs.update(response=response, log=0, left_out=", ".join(empty))
    rows = _enough(table[measured & usable].reset_index(drop=True))
    target = np.asarray(import_module("statsmodels.formula.api").ols(f"{left} ~ 1", rows).endog, dtype=float)
    predictors = list(dict.fromkeys(name for term in kept for name in _names(term)))
    fit = lambda part, _: _linear(part, str(attrs["formula"]), predictors, kind)  # noqa: E731
    return _Question(rows, target, predictors, fit, _labels(rows, kind.groups), attrs, notes + said)


def _names(part: str) -> list[str]:
    """Return the columns that a part of a formula names."""
    return [quoted or plain for quoted, plain in NAMES.findall(re.sub(r"(?<!Q\()(['\"]).*?\1", "", part))]


def _terms(right: str) -> list[str]:
    """Split the right side of a formula at the plus signs outside brackets."""
    terms, depth = [""], 0
    for sign in right:
        depth += (sign in "([") - (sign in ")]")
        if sign == "+" and not depth:
            terms.append("")
        else:
            terms[-1] += sign
    return [term.strip() for term in terms if term.strip()]


def _usable(table: pd.DataFrame, response: str, values: Floats, log: bool) -> tuple[npt.NDArray[np.bool_], dict[Hashable, Any], list[str]]:
    """Return the rows with a response that can be explained; those without are counted, zeros named."""
    finite = np.isfinite(values)
    zero = finite & (values <= 0) if log else np.zeros(len(values), dtype=bool)
    attrs: dict[Hashable, Any] = {"n_missing_response": int((~finite).sum()), "n_zero": int(zero.sum())}
    if not zero.any():
        return finite, attrs, []
    labels = table[MACHINE].to_numpy() if MACHINE in table else np.arange(len(table))
    names = [str(name) for name in labels[zero]]
    attrs["zero"] = ", ".join(names)
    note = f"{int(zero.sum())} rows have a {response} of zero or less, which has no log, and are left out: {listed(names)}"
    return finite & ~zero, attrs, [note]


def _useful(rows: pd.DataFrame, names: list[str], model: str) -> tuple[list[str], list[str]]:
    """Leave out columns that say nothing: constant, empty, a label for nearly every row, a copy of another."""
    kept = []
    for name in names:
        stated = _stated(rows[name]).dropna()
        distinct = stated.nunique()
        sparse = model != "boosting" and _is_number(rows[name]) and len(stated) < len(rows) / 2
        if distinct >= 2 and not sparse and (_is_number(rows[name]) or distinct <= len(rows) / 2):
            kept.append(name)
    first = same_columns([rows[name].to_numpy() if _is_number(rows[name]) else rows[name].astype(str).to_numpy() for name in kept])
    unique = [name for number, name in enumerate(kept) if first[number] == number]
    if model != "boosting":
        unique = _independent(rows, unique)
    return unique, [name for name in names if name not in unique]


def _independent(rows: pd.DataFrame, names: list[str]) -> list[str]:
    """Leave out columns that are linear combinations of an intercept and those before them."""
    basis = np.ones((len(rows), 1)) / np.sqrt(len(rows))
    kept = []
    for name in names:
        column = rows[name]
        if _is_number(column):
            filled = column.astype(float)
            block = filled.fillna(filled.mean()).to_numpy()[:, None]
        else:
            block = pd.get_dummies(column.astype(str), drop_first=True).to_numpy(dtype=float)
        own = block / np.where(np.linalg.norm(block, axis=0) > 0, np.linalg.norm(block, axis=0), 1.0)
        rest = own - basis @ (basis.T @ own)
        rest -= basis @ (basis.T @ rest)
        values, size, _ = np.linalg.svd(rest, full_matrices=False)
        if (size > 1e-8).all():
            kept.append(name)
            basis = np.hstack([basis, values])
    return kept


def _stated(column: pd.Series) -> pd.Series:
    """Return a column whose `unknown` is missing."""
    return column if _is_number(column) else column.astype(object).where(column.astype(object) != UNKNOWN)


def _is_number(column: pd.Series) -> bool:
    """Say whether a column holds numbers, or True and False."""
    return bool(pd.api.types.is_numeric_dtype(column))


def _enough(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows if there are enough of them."""
    if len(rows) < LEAST:
        raise ValueError(
            f"{len(rows)} rows have a response and all that the model needs; it needs {LEAST} or more: leave out predictors with gaps"
        )
    return rows


def _labels(rows: pd.DataFrame, groups: str | None) -> npt.NDArray[Any] | None:
    """Return the labels of groups."""
    return None if groups is None else rows[groups].astype(str).to_numpy()


def _term(rows: pd.DataFrame, name: str) -> str:
    """Write a column as a term."""
    return f'Q("{name}")' if _is_number(rows[name]) else f'C(Q("{name}"))'


def _boosted(rows: pd.DataFrame, target: Floats, predictors: list[str], seed: int) -> Fit:
    """Fit boosted trees: missing values and categories as they are."""
    try:
        ensemble = import_module("sklearn.ensemble")
    except ImportError as error:
        raise ImportError("model='boosting' needs scikit-learn, which cannot be imported: install perfarray[regression]") from error
    categories = {}
    for name in predictors:
        if not _is_number(rows[name]):
            categories[name] = rows[name].astype(str).value_counts().index[:CATEGORIES].sort_values()

    def prepared(table: pd.DataFrame) -> pd.DataFrame:
        columns: dict[str, Any] = {}
        for name in predictors:
            if name in categories:
                text = table[name].astype(str)
                known = [*categories[name].tolist(), OTHER]
                columns[name] = pd.Categorical(text.where(text.isin(categories[name]), OTHER), categories=list(dict.fromkeys(known)))
            else:
                columns[name] = table[name].to_numpy(dtype=float, na_value=np.nan)
        return pd.DataFrame(columns)

    trees = ensemble.HistGradientBoostingRegressor(
        learning_rate=0.05, max_iter=300, max_leaf_nodes=16, min_samples_leaf=int(np.clip(len(rows) // 20, 3, 20)),
        l2_regularization=1.0, categorical_features="from_dtype", early_stopping=False, random_state=seed,
    )  # fmt: skip
    # One thread: trees of a few thousand rows gain nothing from more, and lose a hundredfold where others use the processors.
    limited = import_module("threadpoolctl").ThreadpoolController().limit
    with limited(limits=1, user_api="openmp"):
        trees.fit(prepared(rows), target)

    def answer(table: pd.DataFrame) -> Floats:
        with limited(limits=1, user_api="openmp"):
            return np.asarray(trees.predict(prepared(table)), dtype=float)

    return Fit(trees, answer, "")


def _linear(rows: pd.DataFrame, formula: str, predictors: list[str], kind: _Kind) -> Fit:
    """Fit a linear or mixed model; rows with labels the fit did not see have no prediction."""
    models = import_module("statsmodels.formula.api")
    labels = {name: set(rows[name].astype(str)) for name in predictors if not _is_number(rows[name])}
    rows = rows.assign(**{name: rows[name].astype(str) for name in labels})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if kind.model == "ols":
            result = models.ols(formula, rows).fit()
        else:
            result = _mixed(models, formula, rows, kind).fit(reml=kind.reml, method=["bfgs", "lbfgs"], maxiter=500, gtol=1e-8)
    note = f"statsmodels says: {caught[-1].message}" if kind.model == "mixed" and not result.converged and caught else ""

    def answer(table: pd.DataFrame) -> Floats:
        ready = table[predictors].assign(**{name: table[name].astype(str) for name in labels}).reset_index(drop=True)
        known = ready.notna().all(axis=1).to_numpy(copy=True)
        for name, seen in labels.items():
            known &= ready[name].isin(seen).to_numpy()
        found = np.full(len(ready), np.nan)
        if known.any():
            with np.errstate(invalid="ignore", divide="ignore"):
                found[known] = np.asarray(result.predict(ready[known]), dtype=float)
        return found

    return Fit(result, answer, note)


def _mixed(models: Any, formula: str, rows: pd.DataFrame, kind: _Kind) -> Any:
    """Return a mixed model: one random effect, or several crossed ones as variance components of a single group."""
    if not kind.effects:
        return models.mixedlm(formula, rows, groups=rows[kind.groups].astype(str))
    joined = {f"_effect_{n}": _joined(rows, effect) for n, effect in enumerate(kind.effects)}
    parts = {effect: f"0 + C({name})" for effect, name in zip(kind.effects, joined, strict=True)}
    return models.mixedlm(formula, rows.assign(**joined), groups=np.ones(len(rows)), re_formula="0", vc_formula=parts)


def _joined(rows: pd.DataFrame, effect: str) -> pd.Series:
    """Return a label for each combination of an effect's columns."""
    return rows[effect.split(":")].astype(str).agg(":".join, axis=1)


def _evaluate(
    question: _Question, share: float, folds: int | None, confidence_level: float, rng: np.random.Generator
) -> tuple[xr.Dataset, Fit]:
    """Fit without the test rows and look at those; then fit to all."""
    rows, target, predictors, groups = question.rows, question.target, question.predictors, question.groups
    if folds is not None:
        check_count(folds, "folds", 2)
    if groups is not None and len(np.unique(groups)) < (folds or 2):
        raise ValueError(f"groups= has {len(np.unique(groups))} labels in {len(rows)} rows; a test needs {folds or 2} or more")
    fit = question.fit(rows, target)
    parts = split_rows(len(rows), groups, share, folds, rng) if predictors else []
    predicted = np.full(len(rows), np.nan)
    losses = np.zeros((len(predictors), len(rows)))
    copies = 0
    for test in parts:
        seen = np.setdiff1d(np.arange(len(rows)), test)
        trained = question.fit(rows.iloc[seen].reset_index(drop=True), target[seen])
        part = rows.iloc[test].reset_index(drop=True)
        predicted[test] = trained.answer(part)
        losses[:, test] = _permuted(trained.answer, part, target[test], predicted[test], predictors, rng)
        copies += _copies(rows[predictors], test, seen)
    tested = np.sort(np.concatenate(parts)) if parts else np.empty(0, dtype=np.intp)
    answered = tested[np.isfinite(predicted[tested])]
    question.attrs.update({"n": len(rows), "n_test": len(answered), "n_unanswered": len(tested) - len(answered), "n_test_copies": copies})
    own = None if groups is None else groups[answered]
    correlation = correlation_interval(target[answered], predicted[answered], own, confidence_level)
    variance = float(target[answered].var()) if len(answered) else np.nan
    influence = influence_of(losses[:, answered], variance, own, confidence_level)
    variables: dict[str, Any] = {
        "influence": ("predictor", influence.percent, {"units": "percent"}),
        "permutation_influence": ("predictor", influence.increase, {"units": "1"}),
        "lower": ("predictor", influence.lower, {"units": "1"}),
        "upper": ("predictor", influence.upper, {"units": "1"}),
        "measured": ("row", target[answered]),
        "predicted": ("row", predicted[answered]),
        "correlation": ((), correlation.estimate, {"units": "1"}),
        "correlation_lower": ((), correlation.lower, {"units": "1"}),
        "correlation_upper": ((), correlation.upper, {"units": "1"}),
        "noise_ceiling": ((), _ceiling(question), {"units": "1"}),
    }
    variables |= _dependence(fit.answer, rows, [predictors[n] for n in np.argsort(-influence.percent, kind="stable")[:SHOWN]])
    variables |= _variances(fit.result)
    names = rows[MACHINE].astype(str).to_numpy()[answered] if MACHINE in rows else answered.astype(str)
    labels = {"predictor": np.array(predictors, dtype=object), "row": names.astype(object)}
    return xr.Dataset(variables, labels), fit


def _permuted(
    answer: Answer, part: pd.DataFrame, measured: Floats, predicted: Floats, predictors: list[str], rng: np.random.Generator
) -> Floats:
    """Return what permuting each predictor adds to the squared error of each row."""
    before = (measured - predicted) ** 2
    order = np.concatenate([rng.permutation(len(part)) for _ in range(REPEATS)])
    repeated = part.iloc[np.tile(np.arange(len(part)), REPEATS)].reset_index(drop=True)
    found = np.empty((len(predictors), len(part)))
    for number, name in enumerate(predictors):
        after = answer(repeated.assign(**{name: part[name].iloc[order].array})).reshape(REPEATS, len(part))
        found[number] = ((measured - after) ** 2).mean(axis=0) - before
    return found


def _copies(described: pd.DataFrame, test: Rows, seen: Rows) -> int:
    """Count test rows whose predictors all occur in one of the rows fitted."""
    marks = pd.util.hash_pandas_object(described.astype(str), index=False).to_numpy()
    return int(np.isin(marks[test], marks[seen]).sum())


def _ceiling(question: _Question) -> float:
    """Return the noise ceiling of a log of relative variation."""
    explained = str(question.attrs.get("formula", "")).partition("~")[0] if "formula" in question.attrs else question.attrs["response"]
    logs = "log" in explained if "formula" in question.attrs else bool(question.attrs["log"])
    if not logs or question.attrs["response"] not in ("relative_variation", "variation") or MEASURED[-1] not in question.rows:
        return float("nan")
    return noise_ceiling(question.target, question.rows[MEASURED[-1]].to_numpy(dtype=float))


def _dependence(answer: Answer, rows: pd.DataFrame, names: list[str]) -> dict[str, Any]:
    """Return the average prediction at values of the most influential predictors, all else as it is in the rows."""
    some = rows.iloc[np.unique(np.linspace(0, len(rows) - 1, min(AVERAGED, len(rows))).astype(int))].reset_index(drop=True)
    at = np.full((len(names), GRID), "", dtype=object)
    value, found = np.full((2, len(names), GRID), np.nan)
    for number, name in enumerate(names):
        column = rows[name]
        if _is_number(column):
            stated = column.dropna().to_numpy(dtype=float)
            points: Any = np.unique(np.quantile(stated, np.linspace(0, 1, GRID), method="inverted_cdf"))
            value[number, : len(points)] = points
            points = points.astype(bool) if column.dtype == bool else points
        else:
            points = column.astype(str).value_counts().index[:GRID].tolist()
        at[number, : len(points)] = [str(point) if isinstance(point, str | np.bool_) else f"{float(point):g}" for point in points]
        repeated = some.iloc[np.tile(np.arange(len(some)), len(points))].reset_index(drop=True)
        answers = answer(repeated.assign(**{name: np.repeat(points, len(some))})).reshape(len(points), len(some))
        known = np.isfinite(answers).any(axis=1)
        found[number, np.flatnonzero(known)] = np.nanmean(answers[known], axis=1)
    return {
        "dependent": ("dependent", np.array(names, dtype=object)),
        "at": (("dependent", "point"), at),
        "at_value": (("dependent", "point"), value),
        "dependence": (("dependent", "point"), found),
    }


def _variances(result: Any) -> dict[str, Any]:
    """Return the variances of a mixed model's effects, the residual last."""
    if not hasattr(result, "vcomp"):
        return {}
    names = list(result.model.exog_vc.names) if len(result.vcomp) else ["groups"]
    values = list(result.vcomp) if len(result.vcomp) else [float(np.asarray(result.cov_re)[0, 0])]
    order = [names.index(name) for name in names]
    return {
        "effect": ("effect", np.array([*names, "residual"], dtype=object)),
        "variance": ("effect", np.array([*(values[n] for n in order), float(result.scale)])),
    }
