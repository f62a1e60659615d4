"""Every method's word on one comparison: where marks stand, and what crosses and gaps mean."""

import numpy as np
import pytest

import perfarray
from perfarray.plots import agreement
from picture_parts import beside, columns, rows, title


@pytest.fixture(scope="module")
def result():
    """Three runs a side of two benchmarks, a clear gain: too few for some methods."""
    times = perfarray.simulate(
        sizes={"execution": 3}, variances={"execution": 1e-4}, dims={"benchmark": ["fft", "sort"], "version": ["old", "new"]}, rng=1
    )["time"]
    faster = times.where(times["version"] == "old", 0.8 * times).assign_attrs(times.attrs)
    return faster.perf.agreement("old", dim="version", rng=1)


def test_marks_stand_where_methods_answer(result):
    """A mark for every verdict, a cross for every method that cannot answer, nothing where it was not asked."""
    ax = agreement(result)
    marks = {line.get_label(): len(line.get_xdata()) for line in ax.lines if line.get_linestyle() == "None"}
    outcomes = np.concatenate([result[name].values.ravel() for name in ("outcome", "suite_outcome")])
    assert marks.pop("not applicable") == (outcomes == "not applicable").sum()
    assert sum(marks.values()) == np.isin(outcomes, ["conclusive", "no evidence"]).sum()
    crosses = next(line for line in ax.lines if line.get_label() == "not applicable")
    assert columns(ax) == result["title"].values.tolist()
    names = result["method"].values.tolist()
    assert {names[int(x)] for x in crosses.get_xdata()} == {"randomization", "hpt"} | set(
        result["method"].values[(result["outcome"] == "not applicable").any(["benchmark", "version"]).values]
    )


def test_rows_are_benchmarks_and_the_suite(result):
    """The suite stands last; right of the rows stands whether methods agree."""
    ax = agreement(result)
    assert rows(ax) == ["fft", "sort", "suite"]
    told = beside(ax)
    assert told == ["yes" if same else "no" for same in [*result["agree"].values.ravel(), *result["suite_agree"].values.ravel()]]
    assert title(ax) == "new compared with old, by method"


def test_without_any_answer_there_is_nothing_to_agree_on():
    """One run a side: crosses, and a dash."""
    times = perfarray.from_samples({"old": [1.0], "new": [0.9]})
    with pytest.warns(perfarray.PerfarrayWarning, match="rest on one execution"):
        ax = times.perf.agreement("old", rng=1).perf.plot()
    assert beside(ax) == ["–"]
