"""The same comparison under every method of the package, each with the question it answers."""

from contextlib import nullcontext

import numpy as np
import xarray as xr

from perfarray.conventions import BENCHMARK, SUITE
from perfarray.crosscheck.methods import METHODS, UNANSWERED, AgreementMethod, Answer, Request
from perfarray.numerics.verdicts import EQUIVALENT, FASTER, INCONCLUSIVE, SLOWER
from perfarray.timings.across import check_across, suite_row_for_each
from perfarray.timings.censored import ONLY_WORSE
from perfarray.timings.metrics import for_each_metric
from perfarray.timings.notes import Note, collecting_notes, first_of_each_code, with_notes
from perfarray.timings.pairs import resolve_pair
from perfarray.timings.progress import progress_bar
from perfarray.timings.resolve import Data
from perfarray.timings.streams import Rng
from perfarray.timings.suite_labels import name_suites
from perfarray.timings.validation import check_confidence_level, check_count
from perfarray.timings.zeros import DECLINED, Positive

# Outcomes: a verdict; none, though one was possible; none possible with these data, whatever the
# truth
CONCLUSIVE, NO_EVIDENCE, NOT_APPLICABLE = "conclusive", "no evidence", "not applicable"

# The order in which methods that differ are grouped
KINDS = (FASTER, SLOWER, EQUIVALENT, INCONCLUSIVE, NOT_APPLICABLE)

# The variables of a method's answer, and their values where it was not asked
ANSWERS = dict.fromkeys(("estimate", "lower", "upper", "pvalue"), np.nan) | {
    "verdict": UNANSWERED,
    "outcome": UNANSWERED,
    "remark": "",
}

COUNTED = "benchmarks measured on both sides"

# Codes of notes on the units behind all methods
MOVE_TOGETHER = "move_together"
OF_UNITS = ("single_unit", "few_units", "few_skewed_units", MOVE_TOGETHER)


@suite_row_for_each
@for_each_metric
def agreement(
    times: Data,
    baseline: object,
    *,
    dim: str | None = None,
    threshold: float = 0.0,
    confidence_level: float = 0.95,
    n_resamples: int = 1000,
    across: str = BENCHMARK,
    by: str | None = None,
    levels: str | tuple[str, ...] | None = None,
    shared: str | tuple[str, ...] | None = None,
    paired: str | None = None,
    rng: Rng = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Compare two systems by every method of the package, and name where the methods differ.

    Methods answer different questions, and with few units some cannot answer at all. Choose the
    method by its question, before you look at the answers.

    Parameters
    ----------
    times, baseline, dim, levels, metric : as for `compare`
        Lazy timings are computed.
    threshold : float
        A relative change that does not matter, for `fieller` and `studentized`.
    confidence_level : float
        Of intervals, and 1 minus the risk of the tests.
    n_resamples, rng : int; int, str or numpy.random.Generator, optional
        Bootstrap replicates and random exchanges; their seed.
    across, by, shared, paired : as for `compare`
        Methods that cannot use them say so in their remark.

    Returns
    -------
    Dataset
        Along `method`: for every benchmark `estimate` (candidate / baseline), `lower`, `upper`,
        `pvalue`, `verdict` ("faster", "slower", "equivalent", "inconclusive" or "not asked");
        `outcome`: "conclusive", "no evidence" (it could have seen a difference, and did not), "not
        applicable" (it cannot come to a verdict with these data) or "not asked"; `remark`, why. For
        the suite the same with `suite_` before, and `suite_benchmarks`, measured on both sides;
        `question` and `title` of the method. `agree` and `suite_agree`: whether all methods that
        apply give one verdict (False where none applies); `differences` and `suite_differences`,
        which methods say what.

    Raises
    ------
    ValueError
        Unknown names; units that differ; negative values.

    Notes
    -----
    A test is not applicable where its smallest possible p lies above 1 - `confidence_level`: the
    randomization test of 3 runs against 3 has no p below 0.1. Select a method with
    `result.sel({"method": "hpt"})`.

    References
    ----------
    S. Irving et al., "Computer comparisons in the presence of performance variation", 2018, section
    6, compares three of them so.

    Examples
    --------
    >>> import perfarray
    >>> dims = {"benchmark": 6, "version": ["old", "new"]}
    >>> nest = {"sizes": {"execution": 10}, "variances": {"execution": 1e-4}}
    >>> times = perfarray.simulate(**nest, dims=dims, rng=1)
    >>> new = times["time"].where(times["version"] == "old", 0.95 * times["time"])
    >>> new.perf.agreement("old", dim="version", rng=1)["suite_agree"].item()
    True
    """
    pair = resolve_pair(
        times,
        baseline,
        dim=dim,
        metric=metric,
        levels=levels,
        shared=shared,
        positive=Positive("a comparison", ""),
        censored="bound",
    )
    check_across(across, pair.candidate.array, pair.candidate.levels, pair.dim)
    sides = [
        side.array.compute().drop_vars(SUITE, errors="ignore")
        for side in (pair.candidate, pair.baseline)
    ]
    request = Request(
        times=sides[0],
        baseline=sides[1],
        better=pair.candidate.better,
        levels=pair.candidate.levels,
        across=across,
        shared=pair.shared,
        declared=shared,
        paired=paired,
        threshold=threshold,
        confidence_level=check_confidence_level(confidence_level),
        n_resamples=check_count(n_resamples, "n_resamples", 2),
        rng=rng,
    )
    # Remarks of methods are in their answers. What is to be said of the units is said once.
    answers, notes = dict[str, Answer](), list[Note]()
    with progress_bar(len(METHODS), "comparing", "method", show=None) or nullcontext() as bar:
        for method in METHODS:
            with collecting_notes() as of_method:
                answers[method.name] = _answers(method, request)
            of_units = OF_UNITS if method is METHODS[0] else (MOVE_TOGETHER, DECLINED)
            notes += [note for note in of_method if note.code in of_units]
            if bar is not None:
                bar.update()
    result = _side_by_side(answers, request.cells)
    suite = pair.candidate.array.coords.get(SUITE)
    if suite is not None and {*suite.dims} <= {*result.dims}:
        result = result.assign_coords({SUITE: suite.variable})
    complete = request.times.notnull().any(request.levels)
    complete = complete & request.baseline.notnull().any(request.levels)
    measured = complete.sum(across) if across in complete.dims else complete.astype(int)
    result["suite_benchmarks"] = measured.assign_attrs(units="1", long_name=COUNTED)
    shared_text = f"shared: {' '.join(request.shared)}"
    result = result.assign_attrs(
        **pair.attrs,
        result="agreement",
        across=across,
        confidence_level=request.confidence_level,
        benchmarks=shared_text if request.joint else "independent (assumed)",
        threshold=threshold,
    )
    remarks = [*pair.notes, *pair.unit_notes, pair.stopped_note(ONLY_WORSE)]
    if across in result.dims:
        remarks.append(name_suites(result, pair.candidate.array, complete, across, by=True))
    return with_notes(result, *remarks, *first_of_each_code(notes))


def _answers(method: AgreementMethod, request: Request) -> Answer:
    """Return the answers of one method under their names; NaN or "not asked" where it has none."""
    cell_answer, suite = method.answer(request)
    cells = request.cells.sizes
    suite_sizes = {dim: size for dim, size in cells.items() if dim != request.across}
    variables: Answer = {}
    for prefix, answer, sizes in (("", cell_answer, cells), ("suite_", suite, suite_sizes)):
        answered = {} if answer is None else _with_outcome(answer)
        for name, nothing in ANSWERS.items():
            variable = answered.get(name, xr.Variable((), nothing))
            variables[f"{prefix}{name}"] = variable.astype(
                object if isinstance(nothing, str) else float
            ).set_dims(sizes)
    return variables


def _with_outcome(answer: Answer) -> Answer:
    """Add the outcome: a verdict, no evidence, or not applicable."""
    verdict = xr.where(answer["able"], answer["verdict"], INCONCLUSIVE)
    outcome = xr.where(
        answer["able"], xr.where(verdict == INCONCLUSIVE, NO_EVIDENCE, CONCLUSIVE), NOT_APPLICABLE
    )
    return answer | {
        "verdict": verdict,
        "outcome": xr.where(answer.get("asked", True), outcome, UNANSWERED),
    }


def _side_by_side(answers: dict[str, Answer], cells: xr.DataArray) -> xr.Dataset:
    """Return the answers along `method`, with their questions and differences."""
    names = np.array(list(answers), dtype=object)
    variables = {
        name: xr.Variable.concat([answer[name] for answer in answers.values()], "method")
        for name in answers[names[0]]
    }
    for variable in variables.values():
        variable.attrs = {} if variable.dtype == object else {"units": "1"}
    for name in ("title", "question"):
        variables[name] = xr.Variable(
            "method", np.array([getattr(method, name) for method in METHODS], dtype=object)
        )
    for prefix in ("", "suite_"):
        variables |= _differences(
            prefix, names.tolist(), variables[f"{prefix}verdict"], variables[f"{prefix}outcome"]
        )
    labels = {dim: cells.coords[dim].variable for dim in cells.dims if dim in cells.coords}
    return xr.Dataset(variables, labels | {"method": names})


def _differences(
    prefix: str, names: list[str], verdict: xr.Variable, outcome: xr.Variable
) -> Answer:
    """Return whether all methods that apply give the same verdict, and how they differ."""
    kind = np.where(
        outcome == NOT_APPLICABLE,
        NOT_APPLICABLE,
        np.where(outcome == UNANSWERED, UNANSWERED, verdict),
    )
    agree, texts = [], []
    # The groups of methods are text, so this loops over cells.
    for row in kind.reshape(len(names), -1).T.tolist():
        groups = {
            kind: [name for name, label in zip(names, row, strict=True) if label == kind]
            for kind in KINDS
            if kind in row
        }
        agree.append(len(groups.keys() - {NOT_APPLICABLE}) == 1)
        texts.append(
            ""
            if agree[-1]
            else "; ".join(f"{kind}: {', '.join(group)}" for kind, group in groups.items())
        )
    arrays = {"agree": np.array(agree, dtype=bool), "differences": np.array(texts, dtype=object)}
    return {
        f"{prefix}{name}": xr.Variable(verdict.dims[1:], array.reshape(verdict.shape[1:]))
        for name, array in arrays.items()
    }
