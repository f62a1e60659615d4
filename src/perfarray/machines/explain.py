"""What explains performance or its variation: trees and linear models of a table of machines, tested on rows they never saw."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
import pandas as pd
import xarray as xr

from perfarray.conventions import SUITE
from perfarray.machines.columns import check_columns
from perfarray.machines.evaluation import Holdout, evaluate
from perfarray.machines.formulas import Formula, names_in, read_formula
from perfarray.machines.models import ModelChoice, Predict, coefficients
from perfarray.machines.problem import LEAST, by_columns, by_formula
from perfarray.machines.roles import computable_responses, roles_of, variance_of
from perfarray.machines.single_values import single_values
from perfarray.machines.table import machine_table
from perfarray.results.models import FittedModel
from perfarray.timings.notes import Note, collecting, noted
from perfarray.timings.resolve import Data, check_names, resolve
from perfarray.timings.streams import Rng, key_of
from perfarray.timings.validation import check_choice, check_confidence_level, check_count, check_share, listed

MODELS: Final = ("boosting", "ols", "gamma", "mixed")
EVERY_LEVEL: Final = "levels"
"""The response that stands for the mean and the variance of every level."""

RESPONSE: Final = "response"
MOST_SPLITS, ROWS_SPLIT = 5, 10_000
"""Splits of a small table, and rows fitted and tested in all: a large one is split less often."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class VariabilityModel(FittedModel):
    """A model of performance or of variation: what `explain_variation` answers.

    Parameters
    ----------
    dataset : Dataset
        What `to_dataset` gives, as `explain_variation` says.
    result : object
        The object of statsmodels or scikit-learn, fitted to all rows; for `response="levels"` a dict of them.
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
    >>> model.predict(pd.DataFrame({"cpu_mhz": [5000.0]})).round(6).tolist()
    [0.693147]
    """

    WHOLE: ClassVar[tuple[str, ...]] = ("predictor", "row", "point", "term", "dependent")

    result: Any
    answer: Predict

    @property
    def influence(self) -> pd.Series:
        """Relative influence of every predictor in percent, the largest first (a Series by predictor)."""
        return self._single("influence")["influence"].to_series().sort_values(ascending=False, kind="stable")

    @property
    def correlation(self) -> float:
        """Correlation of measured and predicted on rows that the fit did not see."""
        return float(self._single("correlation")["correlation"])

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
            whatever stands left of `~`. NaN where a predictor is missing, a label is new, or a value lies outside of a spline, and the
            model cannot do without.

        Raises
        ------
        ValueError
            A column that the model needs is not there; a model of several responses.
        """
        predictors = self._single("predict")["predictor"].values.tolist()
        if isinstance(self.result, dict):  # one response was selected, but the fits are of all
            raise ValueError("predict is of one response: ask for one with response=")
        missing = [name for name in predictors if name not in table]
        if missing:
            raise ValueError(f"columns {listed(missing)} not found; the table has {listed(table.columns)}")
        predicted = self.answer(table)
        return pd.Series(
            np.exp(predicted) if self.dataset.attrs["log"] else predicted, index=table.index, name=str(self.dataset.attrs["response"])
        )

    def _single(self, attribute: str) -> xr.Dataset:
        """Return the dataset of a model of one response."""
        if RESPONSE in self.dataset.dims:
            raise ValueError(
                f"{attribute} is of one response, and this result has {listed(self.dataset[RESPONSE].values)}: ask for one with response="
            )
        return self.dataset


def explain_variation(
    table_or_times: pd.DataFrame | Data,
    *,
    response: str = "relative_variation",
    predictors: str | Sequence[str] | None = None,
    model: str = "boosting",
    formula: str | None = None,
    log: bool = True,
    test_size: float = 0.3,
    splits: int | None = None,
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
        The column to explain. `"levels"`, with `model="gamma"`: the mean and the variance of each level of the nest, one after the other,
        to see on which of them a predictor acts.
    predictors : "environment", "flags", or sequence of str, optional
        Columns to explain it by. Default: all that describe machines (the attr `roles` of a table says which do not: labels of rows,
        responses, texts that could not be read). "environment" are those that are not flags.
    model : {"boosting", "ols", "gamma", "mixed"}
        Boosted regression trees; ordinary least squares; a gamma model with a log link, which is the one for variances (`log` is then
        ignored, and values of zero or less are welcome); a linear mixed model with `groups` (or `random`) as random effects.
    formula : str, optional
        A formula as patsy reads it for statsmodels, for all but trees, such as `"np.log(relative_variation) ~ np.log(cpu_mhz) + C(os)"`;
        `response`, `predictors` and `log` are then ignored.
    log : bool
        Explain the log of the response.
    test_size : float
        Share of the rows that are kept for the test.
    splits : int, optional
        How often the rows are split at random into fit and test. Default: 5, and fewer above 2,000 rows (1 above 5,000); 1 is the paper's.
    folds : int, optional
        Cross-validation instead: every row is predicted by a fit that did not see its part.
    groups : str, optional
        Column whose labels stay together in fit or test (vendor, family, year), so that near-copies do not sit on both sides; and the
        random effect of a mixed model. Rows without a label are one group.
    random : str or sequence of str, optional
        Random effects of a mixed model beyond a single one: columns, crossed; `machine:benchmark` for each combination of their labels.
        The table may then have a row for each run.
    reml : bool
        Restricted maximum likelihood for a mixed model, else maximum likelihood.
    confidence_level : float
        Of all intervals.
    rng : int, str or numpy.random.Generator, optional
        Seed (or the `rng_key` of an earlier result) of split, trees and permutations.
    metric : str, optional
        Variable of a Dataset.

    Returns
    -------
    VariabilityModel
        `.influence`, `.correlation`, `.predict(table)`, `.result` (fitted to all rows), `.plot(kind="influence"|"predicted"|"dependence"|
        "coefficients")`. `.to_dataset()`: along `predictor` `influence` (percent, sums to 100) and `permutation_influence` with `lower` and
        `upper`: what permuting the column adds to the squared error on the test rows, relative to the variance of the response there; along
        `row` `measured` and `predicted` of the test rows (the mean of its predictions, where a row was tested in several splits);
        `correlation`, `correlation_lower`, `correlation_upper`, `noise_ceiling`; along `dependent` and `point` the partial dependence
        `dependence` at `at`; of all but trees along `term` `coefficient` with `coefficient_lower`, `coefficient_upper` and `pvalue`; of
        mixed models `variance` along `effect`. Attrs count and name what was left out; `n_test_units` rows or groups were tested, and
        `better_than_mean` is 1 where the whole interval of the correlation lies above 0.

        With `response="levels"` only coefficients, along `response` (`performance`, `execution_variance`, ...) and `term`, and `n`.

    Raises
    ------
    ValueError
        A column that is not there (the message lists those that are); too few rows or groups; a response that is the same in all rows;
        nothing left to explain it by; a formula that cannot be computed.
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
    constants are left out and named; in a formula, terms that are linear combinations of each other have no coefficients (NaN), and a
    warning names them. Where a predictor is the same throughout each test (folds of one row), permuting says nothing: NaN, and a warning.
    Without any predictive power the percentages divide up noise: look at `better_than_mean` and at the limits of `permutation_influence`
    first.

    Correlation and influence come from rows that the fit did not see, on the scale of the model. Their intervals take the rows (with
    `groups`, the groups) as the independent units, however often each was tested: t with one degree of freedom less than there are units
    for the influence, leaving out one unit at a time for the correlation (Fisher's z where each row was tested once). With splits or
    folds, rows are fitted and tested in turn, and the interval of the correlation is wider by sqrt(2): right where there is nothing to
    find, too wide where there is (of 30 to 100 rows it holds a correlation of 0.8 in 98 to 99 % of the tables). Fewer than 6 units give no
    limits of the influence, and a warning. The correlation is within splits. With `folds` it is across them, and a model without power
    then has one somewhat below 0. `n_test_copies` counts test rows whose predictors all occur among the rows fitted: if there are many,
    give `groups`.

    The gamma model explains the log of the expected response. An estimate of a variance component may be negative; its expectation is not,
    and nothing is clipped. Limits and p-values of least squares and gamma models are from leaving out one row (HC3) or group (CR3) at a
    time, so they hold where some machines are known less well than others; those in `result.summary()` do not. A gamma model is fitted
    again without each of them, where there are no more than 500.

    `noise_ceiling` is the largest correlation any prediction of log relative variation could have: the response is estimated from
    `n_runs` runs, and its sampling noise is not predictable. It assumes normal runs, and is NaN for other responses.

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
    chance = np.random.default_rng(list(key_of(rng)))
    choice = _choice(model, formula, groups, random, reml, int(chance.integers(2**31)))
    check_confidence_level(confidence_level)
    share = check_share(test_size, "test_size", example="0.3")
    if splits is not None and folds is not None:
        raise ValueError(f"splits={splits} and folds={folds}: rows are split at random so many times, or into folds; give one of them")
    if splits is not None:
        check_count(splits, "splits")
    stated = None if formula is None else read_formula(formula)
    responses = [response] if stated is None else names_in([stated.response])
    all_levels = responses == [EVERY_LEVEL]
    if all_levels and model != "gamma":
        raise ValueError(
            f"response='levels' needs model='gamma', which takes variances that are estimated as zero or less; model={model!r} came"
        )
    with collecting() as of_table:
        table = _table(table_or_times, responses, metric)
    effects = [name for effect in choice.effects for name in effect.split(":")] + ([groups] if groups is not None else [])
    check_columns(table, effects)
    columns = [predictors] if isinstance(predictors, str) else list(predictors or ())
    _check_rows(table, [*effects, *columns, *([] if stated is None else names_in(stated.codes()))])
    if all_levels:
        return _levels(table, predictors, stated, choice, confidence_level, of_table)
    _check_units(table, responses, of_table)
    if stated is not None:
        problem = by_formula(table, stated, choice)
    else:
        problem = by_columns(table, response, predictors, log and model != "gamma", choice)
    usual = int(np.clip(ROWS_SPLIT // len(problem.rows), 1, MOST_SPLITS))
    evaluation = evaluate(problem, Holdout(share, folds, usual if splits is None else splits), confidence_level, chance)
    variables = evaluation.variables | coefficients(evaluation.fit.result, choice, problem.groups, confidence_level)
    attrs = {"result": "explain_variation", "model": model, "confidence_level": confidence_level} | problem.attrs | evaluation.attrs
    dataset = noted(xr.Dataset(variables, attrs=attrs), *of_table, *problem.notes, *evaluation.fit.notes, *evaluation.notes)
    return VariabilityModel(dataset=dataset, result=evaluation.fit.result, answer=evaluation.fit.predict)


def _check_rows(table: pd.DataFrame, columns: Sequence[str]) -> None:
    """Raise where rows of several suites are to be explained together, the suite not being in the model, or rows are few."""
    rows = table[SUITE].value_counts(sort=False) if roles_of(table).get(SUITE) == "label" and SUITE not in columns else None
    if rows is not None and len(rows) > 1:
        text = f"the table has rows of several suites ({listed(f'{suite}: {number}' for suite, number in rows.items())}), whose scores are "
        text += f"not comparable: select one, as in table[table[{SUITE!r}] == {rows.idxmax()!r}] of table = "
        raise ValueError(f"{text}times.perf.machine_table(), or name {SUITE!r} in predictors=, groups= or the formula")
    if len(table) < LEAST:
        raise ValueError(f"the table has {len(table)} rows (machines); a model needs {LEAST} or more, and says little below 30")


def _choice(model: str, formula: str | None, groups: str | None, random: str | Sequence[str], reml: bool, seed: int) -> ModelChoice:
    """Check that the choices fit each other."""
    check_choice(model, "model", MODELS)
    effects = check_names(random, "random") if random else ()
    if formula is not None and model == "boosting":
        raise ValueError("a formula is for model='ols', 'gamma' or 'mixed'; boosting takes predictors=")
    if model == "mixed" and groups is None and not effects:
        raise ValueError(
            "model='mixed' needs a random effect: name a column with groups= (vendor, machine family), or several with random="
        )
    if effects and model != "mixed":
        raise ValueError(f"random={listed(effects)} is for model='mixed'")
    return ModelChoice(model, groups, effects, reml, seed)


def _check_units(table: pd.DataFrame, responses: list[str], notes: list[Note]) -> None:
    """Raise where timings give too few rows a response, since these rest on one unit; the notes of their table name the remedy."""
    for name in responses:
        number = int(table[name].notna().sum()) if name in table else LEAST
        remedies = [note.message for note in notes if note.code == "single_unit"]
        if number < LEAST and remedies:
            raise ValueError(
                f"{number} rows have a {name!r} that can be explained, and a model needs {LEAST} or more: {'; '.join(remedies)} (as "
                "arguments of machine_table, whose table this takes, too)"
            )


def _levels(
    table: pd.DataFrame,
    predictors: str | Sequence[str] | None,
    formula: Formula | None,
    choice: ModelChoice,
    confidence_level: float,
    of_table: list[Note],
) -> VariabilityModel:
    """Explain the mean and the variance of each level, one after the other, by the same predictors."""
    variances = [name for name, role in roles_of(table).items() if role == "variance" and table[name].notna().any()]
    if not variances:
        raise ValueError(
            "response='levels' needs timings with two or more repetitions of a level, or a table with columns such as "
            f"'execution_variance': ask for them with response= of machine_table; the table has {listed(table.columns, 40)}"
        )
    responses = [name for name in ("performance", *variances) if name in table]
    results, datasets, notes = {}, [], of_table
    for name in responses:
        try:
            if formula is not None:
                problem = by_formula(table, formula._replace(response=name), choice)
            else:
                problem = by_columns(table, name, predictors, False, choice)
            fit = problem.fit(problem.rows, problem.target)
        except ValueError as error:  # one level in trouble is none for the others
            notes.append(Note("no_model", f"{name}: {error}", {"response": name}))
            continue
        notes += [Note(note.code, f"{name}: {note.message}", {**note.values, "response": name}) for note in (*problem.notes, *fit.notes)]
        results[name] = fit.result
        variables = coefficients(fit.result, choice, problem.groups, confidence_level)
        datasets.append(xr.Dataset(variables | {"n": ((), problem.units, {"units": "1"})}).assign_coords({RESPONSE: name}))
    if not datasets:
        raise ValueError("\n".join(note.message for note in notes))
    dataset = xr.concat(datasets, RESPONSE, join="outer").reindex({RESPONSE: np.array(responses, dtype=object)})
    dataset.attrs = {
        "result": "explain_variation",
        "model": choice.model,
        "confidence_level": confidence_level,
        RESPONSE: EVERY_LEVEL,
        "log": 0,
    }
    return VariabilityModel(dataset=noted(dataset, *notes), result=results, answer=lambda rows: np.full(len(rows), np.nan))


def _table(data: Any, responses: list[str], metric: str | None) -> pd.DataFrame:
    """Return the table, made of timings where those were given."""
    if isinstance(data, pd.DataFrame):
        if metric is not None:
            raise ValueError(f"metric={metric!r} was given for a table; it chooses a variable of a Dataset")
        table = data.reset_index(drop=True).rename(columns=str)
        if not table.columns.is_unique:
            raise ValueError(
                f"columns {listed(table.columns[table.columns.duplicated()].unique())} occur twice; give each a name of its own"
            )
    elif isinstance(data, xr.DataArray | xr.Dataset):
        levels = resolve(data, metric).levels if single_values(data, metric) is None else ()
        names = map(variance_of, levels) if responses == [EVERY_LEVEL] else responses
        computed = [name for name in names if name in computable_responses(levels)]
        table = machine_table(data, response=tuple(dict.fromkeys(["performance", *computed])), metric=metric)
    else:
        raise TypeError(f"expected a table of machines or timings, got {type(data).__name__}")
    return table
