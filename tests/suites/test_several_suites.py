"""Timings of several suites: each suite has the answer that it has by itself."""

import warnings

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import perfarray


def archive(sizes=(4, 3), seed=0, **attrs):
    """Two versions and three machines; benchmarks of suites of some sizes."""
    number = sum(sizes)
    values = (
        np.random.default_rng(seed).lognormal(0, 0.02, (2, 3, number, 5))
        * (1 + np.arange(number))[:, None]
    )
    suite = [f"s{i}" for i, size in enumerate(sizes) for _ in range(size)]
    labels = {
        "version": ["old", "new"],
        "machine": ["m0", "m1", "m2"],
        "benchmark": [f"b{i:03d}" for i in range(number)],
    }
    times = xr.DataArray(
        values,
        labels,
        ("version", "machine", "benchmark", "execution"),
        "time",
        {"units": "s"} | attrs,
    )
    return times.assign_coords(suite=("benchmark", suite))


METHODS = {
    "suite_score": {},
    "score_distribution": {"n_resamples": 19, "rng": 1},
    "five_number_summary": {"n_resamples": 19, "rng": 1},
    "relative_variation": {},
    "relative_variation, drawn": {"method": "monte_carlo", "n_resamples": 19, "rng": 1},
    "score_ratio_interval": {"baseline": "old"},
    "score_ratio_interval, bca": {"baseline": "old", "method": "bca", "rng": 1},
    "score_ratio_interval, redrawn": {"baseline": "old", "random_benchmarks": True},
    "randomization_test": {"baseline": "old", "rng": 1},
    "hierarchical_performance_test": {"baseline": "old"},
    "required_runs": {"baseline": "old", "width": 0.02},
    "compare": {"baseline": "old"},
    "pairwise": {"dim": "version"},
    "agreement": {"baseline": "old", "rng": 1, "n_resamples": 19},
    "overall_speedup": {"baseline": "old"},
}
"""By method, what it is asked besides."""

WEIGHTED = ("suite_score", "five_number_summary", "score_ratio_interval", "randomization_test")


def ask(times, name, *baseline, **keywords):
    """Return the answer of a method of `METHODS`, and its notes."""
    method, options = name.partition(", ")[0], METHODS[name] | keywords
    if baseline:
        options = {key: value for key, value in options.items() if key != "baseline"}
    elif not {"baseline", "dim"} & set(options) and "version" in times.dims:
        times = times.sel(version="new", drop=True)
    with warnings.catch_warnings(action="ignore", category=perfarray.PerfarrayWarning):
        result = getattr(times.perf, method)(*baseline, **options)
        return (
            result.to_dataset(name="value") if isinstance(result, xr.DataArray) else result
        ).compute()


def assert_suite_alone(answer, name, times, suite, along="suite", **keywords):
    """Check that a suite has in an answer what it has by itself."""
    alone = ask(times, name, **keywords)
    for variable in alone.data_vars:
        of_suite = (
            answer[variable].sel({along: suite}, drop=True)
            if along in answer[variable].dims
            else answer[variable]
        )
        of_suite = of_suite.sel(
            {dim: alone[dim] for dim in ("benchmark", "machine") if dim in of_suite.dims}
        )
        of_suite = of_suite.transpose(*alone[variable].dims)
        if of_suite.dtype.kind == "f":
            np.testing.assert_allclose(
                of_suite.values,
                alone[variable].values,
                rtol=1e-9,
                atol=1e-15,
                err_msg=str(variable),
            )
        else:
            assert (of_suite.values == alone[variable].values).all(), variable


def gaps(*cells):
    """Return an archive without some benchmarks (of both versions): pairs of the machine and the
    benchmark."""
    times = archive()
    for machine, benchmark in cells:
        times[{"machine": machine, "benchmark": benchmark}] = np.nan
    return times


ARCHIVES = {
    "whole": archive(),
    "a suite of one benchmark": archive((4, 1)),
    "incomplete": gaps((0, 1), (2, 5)),
    "every cell incomplete": gaps((0, 0), (1, 1), (2, 2)),
    "one complete": gaps((0, 0), (2, 2)),
    "no suite on one machine": gaps(*((1, i) for i in range(4))),
    "one unknown": archive((4, 3, 2)).assign_coords(
        suite=("benchmark", ["a"] * 4 + ["unknown"] * 3 + ["b"] * 2)
    ),
    "rates": (1 / archive()).assign_attrs(units="1/s", better="higher"),
}


CASES = [
    (kind, name)
    for kind in ARCHIVES
    for name in METHODS
    if (kind, name) != ("rates", "overall_speedup")
]  # rates do not add up


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_each_suite_has_the_answer_that_it_has_alone(kind, name):
    """Seeded numbers too: whether a suite is selected, or found by itself."""
    times = ARCHIVES[kind]
    answer = ask(times, name)
    suites = list(dict.fromkeys(times["suite"].values.tolist()))
    assert answer["suite"].values.tolist() == suites
    for suite in suites:
        assert_suite_alone(
            answer, name, times.isel(benchmark=times["suite"].values == suite), suite
        )


@pytest.mark.parametrize(
    "name",
    [name for name in METHODS if name not in ("required_runs", "agreement", "overall_speedup")],
)
def test_lazy_suites(name):
    """Lazy timings have the same numbers."""
    pytest.importorskip("dask.array")
    answer, lazy = ask(archive(), name), ask(archive().chunk(machine=1), name)
    xr.testing.assert_allclose(lazy.drop_attrs(), answer.drop_attrs(), rtol=1e-9)


def test_hundred_benchmarks():
    """Two suites of a hundred benchmarks have the scores that formulas give."""
    times = archive((100, 60)).sel(version="new", drop=True)
    scores = ask(times, "suite_score")["estimate"]
    means = times.mean("execution")
    for suite in ("s0", "s1"):
        expected = np.exp(
            np.log(means.isel(benchmark=times["suite"].values == suite)).mean("benchmark")
        )
        np.testing.assert_allclose(scores.sel(suite=suite), expected)


def test_tags_name_several_groups():
    """A benchmark of two tags counts in the answers of both, also where suites are stated."""
    tags = ["x", "x, y", "y", "x, y", "x", "y", "y"]
    for times in (archive().drop_vars("suite"), archive()):
        times = times.assign_coords(tags=("benchmark", tags))
        for name in (
            "suite_score",
            "five_number_summary",
            "score_ratio_interval",
            "compare",
            "randomization_test",
        ):
            answer = ask(times, name, by="tags")
            for tag in ("x", "y"):
                members = times.isel(benchmark=[tag in row for row in tags]).drop_vars(
                    ["tags", "suite"], errors="ignore"
                )
                assert_suite_alone(answer, name, members, tag, "tags")


@pytest.mark.parametrize("name", WEIGHTED)
@pytest.mark.parametrize("kind", [dict, pd.Series, list, np.array, xr.DataArray])
def test_weights_of_benchmarks_of_several_suites(name, kind):
    """Weights by label and in the order of all benchmarks are those of each suite."""
    times = archive()
    labels, numbers = times["benchmark"].values.tolist(), np.arange(1.0, 8.0)
    by_label = dict(zip(labels, numbers, strict=True))
    makers = {
        dict: by_label,
        pd.Series: pd.Series(by_label),
        list: numbers.tolist(),
        np.array: numbers,
    }
    weights = makers.get(kind, xr.DataArray(numbers, {"benchmark": labels}, "benchmark"))
    answer = ask(times, name, weights=weights)
    for suite in ("s0", "s1"):
        members = times.isel(benchmark=times["suite"].values == suite)
        assert_suite_alone(
            answer,
            name,
            members,
            suite,
            weights={label: by_label[label] for label in members["benchmark"].values},
        )


@pytest.mark.parametrize("weights", [{"b000": 1.0}, [1.0, 2.0]])
def test_weights_are_for_all(weights):
    """A weight that is missing is an error that names it, or counts them."""
    with pytest.raises(ValueError, match=r"missing or negative for 'b001'|2 numbers for 7 labels"):
        ask(archive(), "suite_score", weights=weights)


def test_metrics_and_suites():
    """Several metrics of several suites have both dims."""
    times = archive()
    two_metrics = xr.Dataset({"time": times, "energy": (2 * times).assign_attrs(units="J")})
    for name in ("suite_score", "five_number_summary", "score_ratio_interval", "compare"):
        answer = ask(two_metrics, name, metric=["time", "energy"])
        energy = ask(two_metrics["energy"], name)
        for variable in energy.data_vars:
            of_metric = (
                answer[variable].sel(metric="energy", drop=True).transpose(*energy[variable].dims)
            )
            assert of_metric.equals(energy[variable].drop_attrs()) or np.allclose(
                of_metric, energy[variable], equal_nan=True
            )


class TestOtherTimings:
    """The baseline is another object."""

    NEW, OLD = archive().sel(version="new", drop=True), archive().sel(version="old", drop=True)
    NAMES = ("score_ratio_interval", "hierarchical_performance_test", "compare", "overall_speedup")

    @pytest.mark.parametrize("name", NAMES)
    def test_its_suites_and_order_do_not_matter(self, name):
        """Suites are those of the data; benchmarks are matched by label."""
        labelled = ask(archive(), name).isel(version=0, drop=True)
        for old in (
            self.OLD,
            self.OLD.drop_vars("suite"),
            self.OLD.isel(benchmark=slice(None, None, -1)),
        ):
            answer = ask(self.NEW, name, old)
            for variable in (
                ("suite_estimate", "suite_lower")
                if name == "compare"
                else list(answer.data_vars)[:2]
            ):
                np.testing.assert_allclose(
                    answer[variable].values,
                    labelled[variable].transpose(*answer[variable].dims).values,
                )

    @pytest.mark.parametrize("name", NAMES)
    def test_benchmarks_of_one_side_are_named(self, name):
        """A benchmark that only the baseline has is in no suite of the data, and is said to be left
        out."""
        old = xr.concat(
            [self.OLD, self.OLD.isel(benchmark=[0]).assign_coords(benchmark=["extra"])], "benchmark"
        )
        notes = [note for note in ask(self.NEW, name, old).perf.notes() if note.code == "unmatched"]
        assert [note.values["labels"] for note in notes] == [["extra"]]

    @pytest.mark.parametrize("name", NAMES)
    def test_a_suite_of_one_side_has_no_answer(self, name):
        """The other suite has its own; the missing one is named."""
        answer = ask(self.NEW, name, self.OLD.isel(benchmark=slice(0, 4)))
        assert answer["suite"].values.tolist() == ["s0"]
        messages = [
            note.message for note in answer.perf.notes() if note.code in ("unmatched", "unanswered")
        ]
        assert any("b004" in message or "'s1'" in message for message in messages)


class TestNotes:
    """A note of several suites is one note."""

    def test_an_incomplete_suite_is_named_once(self):
        """The cells of both suites, the benchmarks that they lack; cells of which nothing was
        measured are not counted."""
        times = gaps((0, 1), (2, 5), *((1, i) for i in range(4)))
        notes = ask(times, "suite_score").perf.notes()
        assert [note.code for note in notes] == ["incomplete_suite", "suites_apart"]
        assert (
            "s0: 1 of 2 cells lack benchmarks of their suite and have no score: m0 (no 'b001')"
            in notes[0].message
        )
        assert (
            "s1: 1 of 3 cells lack benchmarks of their suite and have no score: m2 (no 'b005')"
            in notes[0].message
        )

    def test_cells_are_counted_over_the_suites(self):
        """A sentence that only counts is said once, with the sum."""
        times = archive().expand_dims(session=2).copy()
        times[{"session": 1, "machine": 0}] = np.nan
        notes = {note.code: note for note in ask(times, "suite_score").perf.notes()}
        assert (notes["one_session"].values["cells"], notes["one_session"].values["of"]) == (7, 21)

    def test_a_warning_of_one_suite_is_a_warning(self):
        """A note is an aside where it is one for all suites."""
        times = archive().expand_dims(session=2).copy()
        times[{"session": 1, "benchmark": slice(0, 4)}] = times[{"session": 1, "machine": 0}] = (
            np.nan
        )
        notes = {note.code: note for note in ask(times, "suite_score").perf.notes()}
        assert not notes["one_session"].aside
        times[{"session": 1}] = np.nan
        notes = {note.code: note for note in ask(times, "suite_score").perf.notes()}
        assert notes["one_session"].aside

    def test_suites_without_a_measurement_are_none(self):
        """A selection that has nothing of a suite has no answer of it, and no note on its cells."""
        times = archive((4, 3, 2)).copy()
        times[{"machine": 1, "benchmark": slice(0, 4)}] = np.nan
        answer = ask(times.sel(machine=["m1"]), "suite_score")
        assert answer["suite"].values.tolist() == ["s1", "s2"]
        assert [note.code for note in answer.perf.notes()] == ["suites_apart"]

    def test_executions_that_move_together_are_said_of_their_cell(self):
        """The note counts and names the cells of which it is true."""
        times = archive((6, 6)).sel(version=["new"]).copy()
        times[{"machine": 2, "benchmark": slice(0, 6)}] += (
            0.3 * times[{"machine": 2, "benchmark": slice(0, 6)}] * np.array([0, 1, 2, 3, 4])
        )
        (note,) = (
            note
            for note in ask(times, "relative_variation").perf.notes()
            if note.code == "move_together"
        )
        assert (
            "s0: executions of the benchmarks move together in 1 of 3 cells ('m2')"
        ) in note.message


class TestReports:
    """A configuration with several reports (sessions) among others with one."""

    def times(self):
        times = archive((4,)).sel(version="new", drop=True).expand_dims(session=2).copy()
        times[{"session": 1}] *= np.array([1.1, 0.9, 1.05, 0.95])[:, None]
        times[{"session": 1, "machine": slice(1, None)}] = np.nan
        return times.drop_vars("suite")

    def test_their_score_lies_between_those_of_the_reports(self):
        """The slower median is a rule for the runs of one report; of the reports each benchmark has
        the median."""
        times = self.times()
        score = ask(times, "suite_score", statistic="slower_median")["estimate"]
        separate = ask(times, "suite_score", statistic="slower_median", levels="execution")[
            "estimate"
        ]
        means = times.sel(machine="m0").mean("execution").mean("session")
        assert score.sel(machine="m0").item() == pytest.approx(np.exp(np.log(means).mean()))
        np.testing.assert_allclose(
            score.sel(machine=["m1", "m2"]), separate.sel(machine=["m1", "m2"]).isel(session=0)
        )

    @pytest.mark.parametrize("session", [False, True])
    def test_iterations_leave_runs_what_they_are(self, session):
        """Of an even number of runs of several iterations the slower median counts, in one session
        as without one."""
        times = self.times().isel(session=0, execution=slice(4), drop=True)
        inside = times.expand_dims(iteration=3, axis=-1).copy()
        inside = (
            inside.expand_dims(session=2).where(xr.DataArray([True, False], dims="session"))
            if session
            else inside
        )
        score = ask(inside.assign_attrs(times.attrs), "suite_score", statistic="slower_median")[
            "estimate"
        ]
        np.testing.assert_allclose(
            score, ask(times, "suite_score", statistic="slower_median")["estimate"]
        )
        assert (score != ask(times, "suite_score", statistic="median")["estimate"]).all()

    @pytest.mark.parametrize("shared", ["execution", "session", ("session", "execution")])
    def test_what_all_benchmarks_share_may_be_called_by_either_level(self, shared):
        """The unit of most cells stands for the outermost level, as notes propose it."""
        answer = ask(self.times(), "relative_variation", shared=shared)
        np.testing.assert_allclose(
            answer["relative_variation"],
            ask(self.times(), "relative_variation", shared="session")["relative_variation"],
        )
        one_session = self.times().isel(session=[0])
        assert (
            ask(one_session, "relative_variation", shared=shared)
            .attrs["benchmarks"]
            .startswith("shared: execution")
        )
