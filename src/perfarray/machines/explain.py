"""What explains performance or its variation: models of a table of machines, tested on rows that their fits did not see."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
import xarray as xr

from perfarray.conventions import BENCHMARK, MACHINE, SUITE
from perfarray.machines.coefficients import coefficients
from perfarray.machines.columns import (
    check_columns,
    computable_responses,
    hardware_columns,
    level_columns,
    roles_of,
)
from perfarray.machines.evaluation import evaluate
from perfarray.machines.formulas import names_in, read_formula
from perfarray.machines.models import ModelChoice
from perfarray.machines.problem import LEAST, Problem, by_columns, by_formula
from perfarray.machines.sample_table import single_values
from perfarray.machines.table import machine_table
from perfarray.machines.variability import RESPONSE, VariabilityModel
from perfarray.timings.across import select_suite, several_suites_note, suites_of
from perfarray.timings.notes import Note, collecting_notes, with_notes
from perfarray.timings.resolve import Data, check_names, resolve
from perfarray.timings.streams import Rng, key_of
from perfarray.timings.validation import (
    check_choice,
    check_confidence_level,
    check_count,
    check_share,
    listed,
)

MODELS: Final = ("boosting", "ols", "gamma", "mixed")

# The response that stands for the mean and the variance of every level.
EVERY_LEVEL: Final = "levels"

# Splits of a small table, and the rows of all splits together: a large table is split less often.
MOST_SPLITS, ROWS_SPLIT = 5, 10_000


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
    groups: str | None = MACHINE,
    random: str | Sequence[str] = (),
    reml: bool = True,
    confidence_level: float = 0.95,
    rng: Rng = None,
    progress: bool | None = None,
    shared: str | Sequence[str] | None = None,
    levels: str | Sequence[str] | None = None,
    metric: str | None = None,
) -> VariabilityModel:
    """Explain performance or its variation by descriptions of machines, and test the model on machines that the fit did not see.

    Parameters
    ----------
    table_or_times : pandas.DataFrame, DataArray or Dataset
        One row per machine or configuration, as from `machine_table`, or timings, from which that
        table is made. Of several suites the largest is taken, unless `suite` is among the
        predictors, groups or terms.
    response : str
        The column to explain. `"levels"`, with `model="gamma"`: the mean and the variance of each
        level, one after the other.
    predictors : "environment", "flags", or sequence of str, optional
        Columns that explain it. Default: all that describe machines (by the attr `roles`);
        "environment" are those without flags.
    model : {"boosting", "ols", "gamma", "mixed"}
        Boosted trees; least squares; a gamma model with a log link, for variances (without `log`;
        negative values are allowed); a linear mixed model.
    formula : str, optional
        For all but trees, in patsy's language: `"np.log(relative_variation) ~ np.log(cpu_mhz) +
        C(os)"`. It replaces `response`, `predictors` and `log`.
    log : bool
        Explain the log of the response.
    test_size, splits : float; int, optional
        The share of the rows to test on, and how often it is drawn. Default: 5 times, above 2,000
        rows less; 1 as in the paper.
    folds : int, optional
        Cross-validation instead of random splits.
    groups : str or None
        Column whose labels stay together in fit or test (vendor, family, year), since near-copies
        on both sides flatter; and the random effect of a mixed model. Default: the machine (column
        or index), where rows repeat it and no predictor names it. None: each row stands alone, even
        if several are of one machine.
    random : str or sequence of str, optional
        Several crossed random effects of a mixed model: columns, or `machine:benchmark` for their
        combinations.
    reml : bool
        Restricted maximum likelihood for a mixed model, else maximum likelihood.
    confidence_level : float
        Of all limits.
    rng : int, str or numpy.random.Generator, optional
        Seed (or the `rng_key` of an earlier result) of splits, trees and permutations.
    progress : bool, optional
        A progress bar over the tests. Default: after a second, in a terminal or a notebook.
    shared, levels, metric : str or sequence of str; str, optional
        Of timings, as for `machine_table`.

    Returns
    -------
    VariabilityModel
        `.sentences()`, `.table()`, `.influence`, `.correlation`, `.predict(table)`, `.result`, and
        `.plot(kind="influence"|"predicted"|
        "dependence"|"coefficients"|"standardized"|"diagnostics")`. `.to_dataset()`, by `predictor`,
        the strongest first: `explained`, its part of the variance of the response that the model
        explains in test rows (`total_explained`), both with `_lower` and `_upper` from test
        machines drawn with replacement; `influence` (percent) and `permutation_influence`, the
        squared error that permuting adds on test rows over the variance of the response, with
        `lower` and `upper`; `standardized_coefficient` with limits: by how many of its standard
        deviations the response of a linear model changes for one of the predictor (for several
        terms: that of their sum, without sign; of a gamma model: the change of the log);
        `unit_coefficient` with limits, for one unit more. By `row`: `measured`, `predicted`;
        `correlation` with `correlation_lower` and `correlation_upper`, and `noise_ceiling`; by
        `dependent` and `point`: the partial `dependence` `at` values; by `term`: `coefficient` with
        limits and `pvalue`; by `fitted_row`: `fitted`, `residual`, and `cook_distance` of its row
        or group; by `effect`: `variance` of mixed models. Attrs count what was left out;
        `better_than_mean` is 1 where `total_explained_lower` is above 0; `groups` is the column
        whose labels stay together, or `none`. `response="levels"`: coefficients and `n` by
        `response`.

    Raises
    ------
    ValueError
        Unknown columns; too few rows or groups; a constant response; no predictor left; a formula
        that cannot be computed.
    ImportError
        Trees need scikit-learn (`perfarray[regression]`).

    See Also
    --------
    machine_table : the table

    Notes
    -----
    Look at the sentences first: without predictive power, percentages divide up noise. Limits of
    `explained` contain which machines were tested, and not which were fitted. Predictors that say
    the same replace each other and look unimportant. Rows of one machine are never on both sides of
    a split, unless `groups` or `predictors` say so. Copies of predicted rows in the fit (attr
    `n_test_copies`) flatter: give `groups`. Limits take rows, or groups, as independent units;
    fewer than 6 give no limits of the influence. See docs/how-to/explain_variation.md for how they
    are computed.

    References
    ----------
    S. Irving et al., "Computer comparisons in the presence of performance variation", 2018, section
    7 and tables 9 to 12.

    Examples
    --------
    >>> import numpy as np, pandas as pd, perfarray
    >>> cores = np.arange(1.0, 41.0)
    >>> table = pd.DataFrame({"machine": range(40), "cores": cores, "relative_variation": 0.01 * cores**2})
    >>> model = table.perf.explain_variation(model="ols", formula="np.log(relative_variation) ~ np.log(cores)", rng=1)
    >>> round(float(model.result.params["np.log(cores)"]), 6), round(model.correlation, 6)
    (2.0, 1.0)
    """
    generator = np.random.default_rng(list(key_of(rng)))
    choice = _choice(model, formula, groups, random, reml, int(generator.integers(2**31)))
    check_confidence_level(confidence_level)
    check_share(test_size, "test_size", example="0.3")
    if splits is not None and folds is not None:
        raise ValueError(
            f"splits={splits} and folds={folds}: rows are split at random so many times, or "
            "into folds; give one of them"
        )
    if splits is not None:
        check_count(splits, "splits")
    parsed = None if formula is None else read_formula(formula)
    responses = [response] if parsed is None else names_in([parsed.response])
    all_levels = responses == [EVERY_LEVEL]
    if all_levels and model != "gamma":
        raise ValueError(
            "response='levels' needs model='gamma', which takes variances of zero or less; "
            f"model={model!r} came"
        )
    columns = [predictors] if isinstance(predictors, str) else list(predictors or ())
    columns += [] if parsed is None else names_in(parsed.codes())
    effects = [name for effect in choice.effects for name in effect.split(":")]
    tables = _tables(
        table_or_times,
        responses,
        SUITE in [groups, *effects, *columns],
        shared=shared,
        levels=levels,
        metric=metric,
    )
    table, table_notes = _largest(tables, responses)
    groups, group_notes = _groups(table, groups, columns, responses)
    choice = choice._replace(groups=groups)
    if model == "mixed" and groups is None and not choice.effects:
        raise ValueError(
            "model='mixed' needs a random effect: name a column with groups= (vendor, family), "
            "or several with random="
        )
    check_columns(table, effects if groups is None else [*effects, groups])

    def problem_of(name: str) -> Problem:
        if parsed is not None:
            return by_formula(
                table, parsed._replace(response=name) if all_levels else parsed, choice
            )
        return by_columns(table, name, predictors, log and model != "gamma", choice)

    attrs = {
        "result": "explain_variation",
        "model": model,
        "confidence_level": confidence_level,
        "groups": groups or "none",
    }
    table_notes += group_notes
    if all_levels:
        dataset, results = _levels(table, problem_of, confidence_level, table_notes)
        dataset.attrs = attrs | {RESPONSE: EVERY_LEVEL, "log": 0}
        return VariabilityModel(
            dataset=with_notes(dataset, *table_notes),
            result=results,
            answer=lambda rows: np.full(len(rows), np.nan),
        )
    _check_units(table, responses, table_notes)
    problem = problem_of(response)
    if splits is None:
        splits = int(np.clip(ROWS_SPLIT // len(problem.rows), 1, MOST_SPLITS))
    fit = problem.fit(problem.rows, problem.target)
    variables, counts, test_notes = evaluate(
        problem,
        fit,
        test_size=test_size,
        folds=folds,
        splits=splits,
        confidence_level=confidence_level,
        rng=generator,
        progress=progress,
    )
    variables |= coefficients(fit.result, problem, confidence_level)
    dataset = xr.Dataset(variables, attrs=attrs | problem.attrs | counts)
    dataset = dataset.isel(predictor=np.argsort(-dataset["influence"].values, kind="stable"))
    # The notes of a table made of timings say which rows have no response, and why.
    problem_notes = [
        note
        for note in problem.notes
        if note.code != "missing_response" or isinstance(table_or_times, pd.DataFrame)
    ]
    with_notes(dataset, *table_notes, *problem_notes, *fit.notes, *test_notes)
    return VariabilityModel(dataset=dataset, result=fit.result, answer=fit.predict)


def _choice(
    model: str,
    formula: str | None,
    groups: str | None,
    random: str | Sequence[str],
    reml: bool,
    seed: int,
) -> ModelChoice:
    check_choice(model, "model", MODELS)
    effects = check_names(random, "random") if random else ()
    if formula is not None and model == "boosting":
        raise ValueError(
            "a formula is for model='ols', 'gamma' or 'mixed'; boosting takes predictors="
        )
    if effects and model != "mixed":
        raise ValueError(f"random={listed(effects)} is for model='mixed'")
    return ModelChoice(model, groups, effects, reml, seed)


def _tables(
    data: Any, responses: list[str], together: bool, **choices: Any
) -> dict[str, tuple[pd.DataFrame, list[Note]]]:
    """Return the table of each suite, and its notes.

    One of all where there are not several, or where they are taken `together`.
    """
    if isinstance(data, xr.DataArray | xr.Dataset):
        return _tables_of_timings(data, responses, together, choices)
    if not isinstance(data, pd.DataFrame):
        raise TypeError(f"expected a table of machines or timings, got {type(data).__name__}")
    for name, value in choices.items():
        if value is not None:
            reason = (
                "it chooses a variable of a Dataset"
                if name == "metric"
                else "it is for timings; machine_table takes it"
            )
            raise ValueError(f"{name}={value!r} was given for a table: {reason}")
    table = _with_machines(data).rename(columns=str)
    if not table.columns.is_unique:
        repeated = listed(table.columns[table.columns.duplicated()].unique())
        raise ValueError(f"columns {repeated} occur twice; give each a name of its own")
    if together or SUITE not in table:
        return {"": (table, [])}
    suites = table[SUITE].astype(str)
    names = suites[_answered(table, responses)].unique()
    return (
        {str(name): (table[(suites == name).to_numpy()], []) for name in names}
        if len(names) > 1
        else {"": (table, [])}
    )


def _tables_of_timings(
    times: Data, responses: list[str], together: bool, choices: dict[str, Any]
) -> dict[str, tuple[pd.DataFrame, list[Note]]]:
    """Make the table of each suite in which anything was measured."""
    metric, levels = choices["metric"], choices["levels"]
    array, nest = single_values(times, metric) if levels is None else None, tuple[str, ...]()
    if array is None:
        timings = resolve(times, metric, levels, censored="bound", with_copies=True, as_nested=True)
        array, nest = timings.array, timings.levels
    names = [level_columns(level)[0] for level in nest] if responses == [EVERY_LEVEL] else responses
    computed = tuple(
        dict.fromkeys(
            ["performance", *(name for name in names if name in computable_responses(nest))]
        )
    )
    suites: dict[str, Data] = {"": times}
    if not together and several_suites_note(array, BENCHMARK):
        members = {
            name: (SUITE, BENCHMARK, name, labels)
            for name, labels in suites_of(array, SUITE, BENCHMARK).items()
        }
        suites = {
            name: select_suite(times, *which)
            for name, which in members.items()
            if select_suite(array, *which).notnull().any()
        }
    tables = {}
    for suite, suite_times in suites.items():
        with collecting_notes() as notes:
            tables[suite] = machine_table(suite_times, response=computed, **choices), notes
    return tables


def _answered(table: pd.DataFrame, responses: Sequence[str]) -> pd.Series:
    """Return which rows have all responses that the table has."""
    return table[[name for name in responses if name in table]].notna().all(axis=1)


def _with_machines(data: pd.DataFrame) -> pd.DataFrame:
    """Return a table with machines as a column, where they are its index: by name, or as texts without a name."""
    position = next(
        (number for number, name in enumerate(data.index.names) if name == MACHINE), None
    )
    if (
        position is None
        and data.index.names == [None]
        and pd.api.types.infer_dtype(data.index) == "string"
    ):
        position = 0
    table = data.reset_index(drop=True)
    if position is not None and MACHINE not in table:
        table.insert(0, MACHINE, data.index.get_level_values(position))
    return table


def _groups(
    table: pd.DataFrame, groups: str | None, predictors: Sequence[str], responses: Sequence[str]
) -> tuple[str | None, list[Note]]:
    """Return the column whose labels stay on one side of a split, and a note where machines may be on both."""
    if groups is None or (groups == MACHINE and MACHINE in predictors):
        return None, []
    if groups != MACHINE:
        if MACHINE not in table or groups not in table:
            return groups, []
        labels = table.groupby(MACHINE, observed=True)[groups].nunique(dropna=False)
        divided = [str(name) for name in labels.index[labels > 1]]
        text = (
            f"{len(divided)} machines have rows with several labels of {groups!r}: "
            f"{listed(divided, 5)}. "
            "They may be on both sides of a split, which flatters the model. groups='machine' "
            "keeps each on one"
        )
        return groups, [
            Note("machines_on_both_sides", text, {"machines": divided})
        ] if divided else []
    if MACHINE in table:
        return (MACHINE if table[MACHINE].duplicated().any() else None), []
    hardware = [name for name in hardware_columns(table) if name not in responses]
    repeated = int(table.duplicated(hardware, keep=False).sum()) if hardware else 0
    text = (
        f"{repeated} of {len(table)} rows have the hardware of another row "
        f"({listed(hardware, 5)}), and no column 'machine' says "
        "whether they are one machine. Such a machine may be on both sides of a split, which "
        "flatters the model. "
        "Name the column of machines with groups=, or give groups=None where each row is a machine"
    )
    return None, [
        Note("machines_on_both_sides", text, {"rows": repeated, "columns": hardware})
    ] if repeated else []


def _largest(
    tables: dict[str, tuple[pd.DataFrame, list[Note]]], responses: Sequence[str]
) -> tuple[pd.DataFrame, list[Note]]:
    """Return the table of the suite with most responses, since scores of two suites are not comparable, and notes."""
    rows = {suite: int(_answered(table, responses).sum()) for suite, (table, _) in tables.items()}
    order = sorted(rows, key=rows.__getitem__, reverse=True)
    table, notes = tables[order[0]]
    several, of_largest, remedy = [suite for suite in order if rows[suite]], "", ""
    if len(several) > 1:
        counted = ", ".join(f"{suite!r} ({rows[suite]} rows)" for suite in several)
        text = (
            f"The table has rows of {len(several)} suites: {counted}. The answer is that of "
            f"{order[0]!r} alone, since scores of two "
            f"suites are not comparable. Select another with table[table[{SUITE!r}] == ...], "
            f"or name {SUITE!r} in predictors="
        )
        values = {"suite": order[0], "suites": several, "rows": [rows[suite] for suite in several]}
        notes = [*notes, Note("largest_suite", text, values)]
        of_largest, remedy = (
            f" of its largest suite, {order[0]!r}",
            f"; name {SUITE!r} in predictors= to take the rows of all suites",
        )
    if len(table) < LEAST:
        text = (
            f"the table has {len(table)} rows (machines){of_largest}; a model needs {LEAST} or "
            f"more, and says little below 30{remedy}"
        )
        raise ValueError(text)
    return table, notes


def _check_units(table: pd.DataFrame, responses: list[str], notes: list[Note]) -> None:
    """Raise where most rows of timings have no response because they rest on one unit.

    Name the remedy.
    """
    remedies = "; ".join(note.message for note in notes if note.code == "single_unit")
    for name in responses:
        number = int(table[name].notna().sum()) if name in table else LEAST
        if number < LEAST and remedies:
            raise ValueError(
                f"{number} rows have a {name!r} that can be explained, and a model needs "
                f"{LEAST} or more: {remedies} (as arguments of "
                "machine_table, whose table this takes, too)"
            )


def _levels(
    table: pd.DataFrame,
    problem_of: Callable[[str], Problem],
    confidence_level: float,
    notes: list[Note],
) -> tuple[xr.Dataset, dict[str, Any]]:
    """Explain the mean and the variance of each level by the same predictors.

    Return coefficients and fits, and add to the notes.
    """
    variances = [
        name
        for name, role in roles_of(table).items()
        if role == "variance" and table[name].notna().any()
    ]
    if not variances:
        raise ValueError(
            "response='levels' needs timings with two or more repetitions of a level, or a "
            "table with columns such as "
            "'execution_variance': ask for them with response= of machine_table; the table "
            f"has {listed(table.columns, 40)}"
        )
    responses = [name for name in ("performance", *variances) if name in table]
    results, datasets = {}, []
    for name in responses:
        try:
            problem = problem_of(name)
            fit = problem.fit(problem.rows, problem.target)
        except ValueError as error:  # the other levels have an answer
            notes.append(Note("no_model", f"{name}: {error}", {"response": name}))
            continue
        notes += [
            Note(note.code, f"{name}: {note.message}", {**note.values, "response": name})
            for note in (*problem.notes, *fit.notes)
        ]
        results[name] = fit.result
        variables = coefficients(fit.result, problem, confidence_level)
        variables |= {
            "predictor": np.array(problem.predictors, dtype=object),
            "n": ((), problem.units, {"units": "1"}),
        }
        datasets.append(
            xr.Dataset(variables).drop_dims("fitted_row").assign_coords({RESPONSE: name})
        )
    if not datasets:
        raise ValueError("\n".join(note.message for note in notes))
    return xr.concat(datasets, RESPONSE, join="outer").reindex(
        {RESPONSE: np.array(responses, dtype=object)}
    ), results
