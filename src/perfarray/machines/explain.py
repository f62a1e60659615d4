"""What explains performance or its variation: a model of a table of machines."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
import xarray as xr

from perfarray.conventions import BENCHMARK, MACHINE, SUITE
from perfarray.machines.coefficients import coefficients
from perfarray.machines.columns import check_columns, computable_responses, hardware_columns
from perfarray.machines.evaluation import draw_test_sets, evaluate
from perfarray.machines.formulas import names_in, read_formula
from perfarray.machines.models import ModelChoice
from perfarray.machines.problem import MIN_ROWS, by_columns, by_formula
from perfarray.machines.sample_table import single_values
from perfarray.machines.table import machine_table
from perfarray.machines.variability import VariabilityModel
from perfarray.timings.notes import Note, collecting_notes, with_notes
from perfarray.timings.resolve import Data, resolve
from perfarray.timings.streams import Rng, key_of
from perfarray.timings.suite_labels import select_suite, several_suites_note, suites_of
from perfarray.timings.validation import (
    check_choice,
    check_confidence_level,
    check_count,
    check_share,
    listed,
)

MODELS: Final = ("boosting", "ols", "mixed")

# Random splits of a small table, and the rows of all splits together of a large one.
MAX_SPLITS, ROWS_OF_SPLITS = 5, 10_000

Tables = dict[str, tuple[pd.DataFrame, list[Note]]]


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
    reml: bool = True,
    confidence_level: float = 0.95,
    rng: Rng = None,
    progress: bool | None = None,
    shared: str | Sequence[str] | None = None,
    levels: str | Sequence[str] | None = None,
    metric: str | None = None,
) -> VariabilityModel:
    """Explain performance or its variation by what describes machines, tested on other machines.

    Parameters
    ----------
    table_or_times : pandas.DataFrame, DataArray or Dataset
        A row per machine or configuration, as from `machine_table`; or timings, of which that table
        is made (of several suites, the largest).
    response : str
        The column to explain.
    predictors : "environment", "flags", or sequence of str, optional
        Columns that explain it. Default: all descriptors; "environment": without flags.
    model : {"boosting", "ols", "mixed"}
        Boosted trees, least squares, or with a random effect of `groups`.
    formula : str, optional
        Of a linear model, as patsy writes it; instead of `response`, `predictors` and `log`.
    log : bool
        Explain the log of the response.
    test_size, splits : float; int, optional
        The share of the rows to test on, and how often it is drawn.
    folds : int, optional
        Cross-validation instead of random splits.
    groups : str or None
        Column whose labels stay together in fit or test: the machine, where rows repeat it.
    reml : bool
        Restricted maximum likelihood of a mixed model.
    confidence_level : float
        Of all limits.
    rng : int, str or numpy.random.Generator, optional
        Seed, or the `rng_key` of a result.
    progress : bool, optional
        Show a progress bar. Default: in a terminal or a notebook, after a second.
    shared, levels, metric : str or sequence of str; str, optional
        Of timings, as for `machine_table`.

    Returns
    -------
    VariabilityModel
        With `.sentences()`, `.table()`, `.influence`, `.correlation`, `.predict(table)`, `.plot()`
        and `.result`. `.to_dataset()` has by `predictor` the part `explained` of the variance, with
        limits, `influence` in percent, and coefficients; :doc:`/conventions` lists all variables.

    Raises
    ------
    ValueError
        Unknown columns; too few rows or groups; nothing to explain.
    ImportError
        Trees and folds need scikit-learn (`perfarray[regression]`).

    Notes
    -----
    Read the sentences first: without predictive power, percentages divide up noise. Near-copies of
    a machine in the fit flatter: give `groups`. See :doc:`/how-to/explain_variation`.

    References
    ----------
    S. Irving et al., "Computer comparisons in the presence of performance variation", 2018, section
    7 and tables 9 to 12.

    Examples
    --------
    >>> import numpy as np, pandas as pd, perfarray
    >>> cores = np.arange(1.0, 41.0)
    >>> table = pd.DataFrame({"machine": range(40), "cores": cores, "speed": 5 * cores**2})
    >>> model = table.perf.explain_variation(model="ols", formula="np.log(speed) ~ np.log(cores)")
    >>> round(float(model.result.params["np.log(cores)"]), 6), round(model.correlation, 6)
    (2.0, 1.0)
    """
    check_choice(model, "model", MODELS)
    check_confidence_level(confidence_level)
    check_share(test_size, "test_size", example="0.3")
    if splits is not None and folds is not None:
        raise ValueError(
            f"splits={splits} and folds={folds} were given. Rows are split at random, or into "
            "folds: give one of them."
        )
    if formula is not None and model == "boosting":
        raise ValueError("A formula needs model='ols' or 'mixed'. Boosting takes predictors=.")
    generator = np.random.default_rng(list(key_of(rng)))
    seed = int(generator.integers(2**31))
    parsed = None if formula is None else read_formula(formula)
    responses = [response] if parsed is None else names_in([parsed.response])
    columns = [predictors] if isinstance(predictors, str) else list(predictors or ())
    columns += [] if parsed is None else names_in(parsed.codes())
    of_timings = {"shared": shared, "levels": levels, "metric": metric}
    tables = _tables(table_or_times, responses, SUITE in [groups, *columns], of_timings)
    table, notes = _largest(tables, responses)
    groups, group_notes = _groups(table, groups, columns, responses)
    if model == "mixed" and groups is None:
        raise ValueError("model='mixed' needs a random effect: name a column with groups=.")
    choice = ModelChoice(model, groups, reml, seed)
    problem = (
        by_columns(table, response, predictors, log, choice)
        if parsed is None
        else by_formula(table, parsed, choice)
    )
    if splits is None:
        splits = int(np.clip(ROWS_OF_SPLITS // len(problem.rows), 1, MAX_SPLITS))
    fit = problem.fit(problem.rows, problem.target)
    test_sets = draw_test_sets(problem, test_size, check_count(splits, "splits"), folds, generator)
    variables, counts, test_notes = evaluate(
        problem, fit, test_sets, folds is not None, confidence_level, generator, progress
    )
    variables |= coefficients(fit.result, problem, confidence_level)
    attrs = {"result": "explain_variation", "model": model, "confidence_level": confidence_level}
    dataset = xr.Dataset(variables, attrs=attrs)
    dataset.attrs |= {"groups": groups or "none"} | problem.attrs | counts
    dataset = dataset.isel(predictor=np.argsort(-dataset["influence"].values, kind="stable"))
    # The notes of a table made of timings say already which rows have no response, and why.
    problem_notes = [
        note
        for note in problem.notes
        if isinstance(table_or_times, pd.DataFrame) or "missing" not in note.values
    ]
    with_notes(dataset, *notes, *group_notes, *problem_notes, *fit.notes, *test_notes)
    return VariabilityModel(dataset=dataset, result=fit.result, answer=fit.predict)


def _tables(
    data: Any, responses: list[str], all_suites: bool, of_timings: dict[str, Any]
) -> Tables:
    """Return the table of each suite, and its notes; one of all suites if so asked."""
    if isinstance(data, xr.DataArray | xr.Dataset):
        return _tables_of_timings(data, responses, all_suites, of_timings)
    for name, value in of_timings.items():
        if value is not None:
            reason = (
                "it chooses a variable of a Dataset"
                if name == "metric"
                else "it is for timings; machine_table takes it"
            )
            raise ValueError(f"{name}={value!r} was given for a table: {reason}")
    table = data.reset_index(drop=True)
    # Machines may be the index: by name, or as texts without a name.
    names = list(data.index.names)
    if names == [None] and pd.api.types.infer_dtype(data.index) == "string":
        names = [MACHINE]
    if MACHINE in names and MACHINE not in table:
        table.insert(0, MACHINE, data.index.get_level_values(names.index(MACHINE)))
    table = table.rename(columns=str)
    if not table.columns.is_unique:
        repeated = listed(table.columns[table.columns.duplicated()].unique())
        raise ValueError(f"columns {repeated} occur twice; give each a name of its own")
    if all_suites or SUITE not in table:
        return {"": (table, [])}
    suites = table[SUITE].astype(str)
    suite_names = suites[_has_responses(table, responses)].unique()
    if len(suite_names) < 2:
        return {"": (table, [])}
    return {str(name): (table[(suites == name).to_numpy()], []) for name in suite_names}


def _tables_of_timings(
    times: Data, responses: list[str], all_suites: bool, of_timings: dict[str, Any]
) -> Tables:
    """Make the table of each suite in which anything was measured."""
    metric, levels = of_timings["metric"], of_timings["levels"]
    array, nest = single_values(times, metric) if levels is None else None, tuple[str, ...]()
    if array is None:
        timings = resolve(times, metric, levels, censored="bound", with_copies=True, as_nested=True)
        array, nest = timings.array, timings.levels
    computed = [name for name in responses if name in computable_responses(nest)]
    suites: dict[str, Data] = {"": times}
    if not all_suites and several_suites_note(array, BENCHMARK):
        benchmarks = suites_of(array, SUITE, BENCHMARK)
        suites = {
            name: select_suite(times, SUITE, BENCHMARK, name, labels)
            for name, labels in benchmarks.items()
            if select_suite(array, SUITE, BENCHMARK, name, labels).notnull().any()
        }
    tables = {}
    for suite, suite_times in suites.items():
        with collecting_notes() as notes:
            columns = tuple(dict.fromkeys(["performance", *computed]))
            tables[suite] = machine_table(suite_times, response=columns, **of_timings), notes
    return tables


def _has_responses(table: pd.DataFrame, responses: Sequence[str]) -> pd.Series:
    """Return which rows have all responses that the table has."""
    return table[[name for name in responses if name in table]].notna().all(axis=1)


def _largest(tables: Tables, responses: Sequence[str]) -> tuple[pd.DataFrame, list[Note]]:
    """Return the table of the suite with most responses; raise where it is too small for a model.

    Scores of two suites are not comparable.
    """
    rows = {
        name: int(_has_responses(table, responses).sum()) for name, (table, _) in tables.items()
    }
    suites = sorted(rows, key=rows.__getitem__, reverse=True)
    table, notes = tables[suites[0]]
    with_rows, of_largest, remedy = [suite for suite in suites if rows[suite]], "", ""
    if len(with_rows) > 1:
        counts = ", ".join(f"{suite!r} ({rows[suite]} rows)" for suite in with_rows)
        text = (
            f"The table has rows of {len(with_rows)} suites: {counts}. Their scores are not "
            f"comparable, so only {suites[0]!r} is explained. "
            f"table[table[{SUITE!r}] == ...] selects another; {SUITE!r} in predictors= takes all."
        )
        values = {
            "suite": suites[0],
            "suites": with_rows,
            "rows": [rows[suite] for suite in with_rows],
        }
        notes = [*notes, Note("several_suites", text, values)]
        of_largest = f" of its largest suite, {suites[0]!r}"
        remedy = f" {SUITE!r} in predictors= takes the rows of all suites."
    if len(table) < MIN_ROWS:
        raise ValueError(
            f"the table has {len(table)} rows (machines){of_largest}. A model needs {MIN_ROWS} or "
            f"more, and says little below 30.{remedy}"
        )
    remedies = " ".join(note.message for note in notes if note.code == "single_unit")
    for name in responses:
        number = int(table[name].notna().sum()) if name in table else MIN_ROWS
        if number < MIN_ROWS and remedies:
            raise ValueError(
                f"{number} rows have a {name!r} that can be explained. A model needs {MIN_ROWS} or "
                f"more. {remedies} Give these arguments to machine_table, and its table here."
            )
    return table, notes


def _groups(
    table: pd.DataFrame, groups: str | None, predictors: Sequence[str], responses: Sequence[str]
) -> tuple[str | None, list[Note]]:
    """Return the column whose labels stay on one side of a split.

    A note says where machines may be on both sides.
    """
    if groups is None or (groups == MACHINE and MACHINE in predictors):
        return None, []
    if groups != MACHINE:
        check_columns(table, [groups])
        if MACHINE not in table:
            return groups, []
        labels = table.groupby(MACHINE, observed=True)[groups].nunique(dropna=False)
        divided = [str(name) for name in labels.index[labels > 1]]
        text = (
            f"{len(divided)} machines have rows with several labels of {groups!r}: "
            f"{listed(divided, 5)}. Machines on both sides of a split flatter the model. "
            "groups='machine' keeps each on one side."
        )
        note = Note("machines_on_both_sides", text, {"machines": divided})
        return groups, [note] if divided else []
    if MACHINE in table:
        return (MACHINE if table[MACHINE].duplicated().any() else None), []
    hardware = [name for name in hardware_columns(table) if name not in responses]
    repeated = int(table.duplicated(hardware, keep=False).sum()) if hardware else 0
    text = (
        f"{repeated} of {len(table)} rows have the hardware of another row "
        f"({listed(hardware, 5)}). "
        "If they are one machine, it may be on both sides of a split, which flatters the model. "
        "Name the column of machines with groups=, or give groups=None."
    )
    note = Note("machines_on_both_sides", text, {"rows": repeated, "columns": hardware})
    return None, [note] if repeated else []
