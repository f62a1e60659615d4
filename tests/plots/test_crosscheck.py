"""The verdict of every method on one comparison: where marks stand, and what crosses and gaps
mean."""

import numpy as np
import pytest
import xarray as xr

import perfarray
from perfarray.plots import agreement
from picture_parts import columns, rows, side_texts, simulated, title


def marks(ax):
    """Return (column, height) of all marks, by their entry of the legend."""
    return {
        line.get_label(): line.get_xydata().tolist()
        for line in ax.lines
        if line.get_linestyle() == "None"
    }


def test_marks_stand_where_methods_answer():
    """A mark for every verdict, a cross for what cannot answer, nothing where it was not asked; the
    suite stands last. A method without any answer has no column."""
    times = simulated(3, benchmark=["fft", "sort"], version=["old", "new"])
    faster = times.where(times["version"] == "old", 0.8 * times).assign_attrs(times.attrs)
    result = faster.perf.agreement("old", dim="version", rng=1)
    ax = agreement(result)
    methods = result["title"].values.tolist()
    assert (rows(ax), columns(ax)) == (["fft", "sort", "suite"], methods[:-1])
    assert (methods[-1], ax.get_xlabel()) == ("HPT", "without an answer: HPT")
    result = result.isel(method=slice(-1))
    cells, suite = result.squeeze("version").transpose("benchmark", ...), result.squeeze("version")
    outcomes, verdicts, agree = (
        np.array([*cells[name].values, suite[f"suite_{name}"].values])
        for name in ("outcome", "verdict", "agree")
    )
    assert side_texts(ax) == ["yes" if is_unanimous else "no" for is_unanimous in agree]
    answered = np.isin(outcomes, ["conclusive", "no evidence"])
    expected = {
        "not applicable": outcomes == "not applicable",
        "faster": answered & (verdicts == "faster"),
    }
    expected["no evidence"] = answered & (verdicts == "inconclusive")
    assert expected["not applicable"].any()
    for label, mask in expected.items():
        assert marks(ax).get(label, []) == [
            [column, ax.get_yticks()[row]] for row, column in zip(*np.nonzero(mask), strict=True)
        ]
    assert title(ax) == "new compared with old, by method"


def test_a_method_that_was_not_asked_has_no_mark():
    """Whatever verdict stands there; without any answer there is a dash, of one that differs a
    "no"."""
    outcomes = [
        ["conclusive", "not asked"],
        ["not applicable", "not asked"],
        ["conclusive", "no evidence"],
    ]
    verdicts = [["faster", "faster"], ["inconclusive"] * 2, ["faster", "inconclusive"]]
    dims, labels = (
        ("benchmark", "method"),
        {"benchmark": ["fft", "sort", "zip"], "method": ["t", "hpt"]},
    )
    variables = {
        "outcome": (dims, outcomes),
        "verdict": (dims, verdicts),
        "agree": ("benchmark", [True, False, False]),
    }
    result = xr.Dataset(variables | {"title": ("method", ["means, t", "HPT"])}, labels)
    ax = agreement(result.assign_attrs(result="agreement", baseline="old"))
    assert marks(ax) == {
        "faster": [[0, 0], [0, 2]],
        "no evidence": [[1, 2]],
        "not applicable": [[0, 1]],
    }
    assert side_texts(ax) == ["yes", "–", "no"]
    assert title(ax) == "Compared with old, by method"


def test_one_run_a_side_has_no_answer():
    times = perfarray.from_samples({"old": [1.0], "new": [0.9]})
    with pytest.warns(perfarray.PerfarrayWarning, match="rest on one execution"):
        ax = times.perf.agreement("old", rng=1).perf.plot()
    assert side_texts(ax) == ["–"]
