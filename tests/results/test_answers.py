"""Tables of results for people: every result has one, rows are cells, no text of a label becomes
markup."""

import re

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import perfarray
from method_calls import CALLS, FEW, OLD
from perfarray.results import words
from perfarray.results.answers import BATCH, select_rows
from perfarray.results.combine import as_dataset
from perfarray.results.kinds import KINDS
from perfarray.results.layouts import PLAIN
from perfarray.results.notebooks import MOST, register, view
from perfarray.results.printed import grid_of

pytestmark = pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")


@pytest.fixture(scope="module")
def times():
    """Three benchmarks on two machines, two versions; the new one takes 1.25 times as long."""
    sizes = {"session": 4, "execution": 2, "iteration": 3}
    dims = {
        "benchmark": ["fft", "sort", "<script>"],
        "machine": ["a", "b"],
        "version": ["old", "new"],
    }
    simulated = perfarray.simulate(
        sizes=sizes, variances=dict.fromkeys(sizes, 1e-4), dims=dims, rng=1
    )["time"]
    return (
        (simulated * xr.where(simulated["version"] == "new", 1.25, 1.0))
        .assign_attrs(simulated.attrs)
        .transpose(*simulated.dims)
    )


COSTS = {"session": 5.0, "execution": 2.0}
ASKED = CALLS | {
    "compare": OLD,
    "autocorrelation": {"dim": "session"},
    "steady_state": {},
    "modes_by": FEW,
    "plan_repetitions": {"costs": COSTS, "budget": 1000},
    "plan_suite": {"costs": COSTS, "budget": 1e5, "shared": None},
}
NEST = {
    "sizes": {"execution": [3, 4]},
    "variances": {"execution": 1e-4},
    "n_experiments": 9,
    "rng": 1,
}
STEP = xr.DataArray(
    np.tile([10.0, 10.1, 9.9], (2, 10, 1)), dims=("benchmark", "commit", "execution"), name="time"
)
MACHINES = (
    pd.DataFrame(
        {
            "score": [3.0, 4.0, 6.0, 5.0, 9.0, 8.0, 7.0],
            "cores": [1, 2, 4, 2, 8, 8, 4],
            "cpu_mhz": range(7),
        }
    )
    + 1
)
SIMULATED = {
    "change_points": lambda: perfarray.change_points(
        STEP * xr.where(STEP["commit"] < 5, 1, 1.2) * (1 + STEP["commit"] % 2 / 999)
    ),
    "coverage": lambda: perfarray.coverage("ratio_interval", **NEST),
    "explain_variation": lambda: perfarray.explain_variation(
        MACHINES, response="score", model="ols", rng=1
    ),
    "false_alarm_rate": lambda: perfarray.false_alarm_rate("compare", threshold=0.5, **NEST),
    "trend": lambda: perfarray.trend(STEP * (1 + STEP["commit"] % 2 / 999)),
    "next_measurement": lambda: SIMULATED["change_points"]().perf.next_measurement(),
    "power": lambda: perfarray.power("compare", ratio=0.9, **NEST),
    "thresholds": lambda: perfarray.calibrate(
        perfarray.simulate(
            sizes={"session": 20, "execution": 5},
            variances={"session": 1e-4, "execution": 1e-4},
            dims={"benchmark": 5},
            rng=1,
        ),
        rules=None,
    ),
}
TABLES = [name for name, kind in KINDS.items() if kind.layout is not PLAIN]


def test_every_kind_is_tried():
    assert set(TABLES) <= ASKED.keys() | SIMULATED.keys()


@pytest.mark.parametrize("name", TABLES)
def test_every_result_has_a_table(times, name):
    """Of texts and without gaps, few columns, one row a cell, named along `benchmark` and along
    every dim that has several labels."""
    subset = times.isel(version=0) if name in ("plan_suite", "principal_components") else times
    subset = subset.isel(machine=0) if name == "plan_suite" else subset
    result = SIMULATED[name]() if name in SIMULATED else getattr(subset.perf, name)(**ASKED[name])
    answer = perfarray.table(result)
    assert len(answer.columns) <= 11
    assert len(answer) > 0
    assert answer.map(lambda text: isinstance(text, str)).all(axis=None)
    assert not answer.isin(["nan", "None"]).any(axis=None)
    renamed = {level for level in answer.index.names if level is not None}
    assert renamed == {
        dim for dim in answer.places.dims if dim == "benchmark" or as_dataset(result).sizes[dim] > 1
    }


@pytest.mark.parametrize("labels", [[100, 200, 300], [1, 2], [0, 1], [2023, 2024], ["x", "y"]])
def test_labels_are_printed_whatever_their_steps(labels):
    """Numbers at equal steps name rows, too, as text and in notebooks."""
    runs = np.random.default_rng(1).normal(10, 0.1, (2, len(labels), 4))
    coords = {"version": ["old", "new"], "threads": labels}
    times = xr.DataArray(
        runs,
        dims=("version", "threads", "execution"),
        coords=coords,
        name="time",
        attrs={"units": "s"},
    )
    result = times.perf.compare("old")
    lines = repr(result.perf.table()).splitlines()
    assert lines[0].split()[0] == "threads" or lines[1].split() == ["threads"]
    assert [line.split()[0] for line in lines if line.split()[0] in map(str, labels)] == [
        str(label) for label in labels
    ]
    for page in (result.perf.table()._repr_html_(), view(result).partition("<details>")[0]):
        assert re.findall(r"<th scope=row[^>]*>(\w+)", page)[-len(labels) :] == [
            str(label) for label in labels
        ]


def test_the_only_row_has_its_label():
    """A row is named along every dim that has further labels, though none of them has an answer."""
    runs = np.random.default_rng(1).normal(10, 0.1, (2, 3, 4))
    runs[1, [0, 2]] = np.nan
    coords = {"version": ["old", "new"], "benchmark": ["a", "b", "c"]}
    times = xr.DataArray(
        runs,
        dims=("version", "benchmark", "execution"),
        coords=coords,
        name="time",
        attrs={"units": "s"},
    )
    assert times.perf.compare("old").perf.table().index.tolist() == ["b"]
    assert times.rename(benchmark="size").perf.compare("old").perf.table().index.tolist() == ["b"]


def test_a_comparison_in_words(times):
    """Absolute values beside the factor, the interval in words, the suite below; the most changed
    first where that is asked."""
    result = times.isel(machine=0).perf.compare("old")
    answer = result.perf.table()
    assert answer.columns.tolist() == ["old -> new", "change", "verdict", "n"]
    assert answer.index.tolist() == ["fft", "sort", "<script>", "all 3"]
    names = ("baseline_mean", "candidate_mean", "estimate", "lower", "upper")
    old, new, *ratios = (result[name].sel(benchmark="fft").item() for name in names)
    assert answer.loc["fft", "old -> new"] == f"{old:.2f} s -> {new:.2f} s"
    ratio, lower, upper = (f"{value:.2f}" for value in ratios)
    assert answer.loc["fft", "change"] == f"{ratio}x slower ({lower} to {upper})"
    assert answer.loc["all 3", "verdict"] == "slower"
    order = np.argsort(-np.abs(np.log(result["estimate"].values.ravel())))
    assert result.perf.table(sort="effect").index.tolist()[:3] == [
        ["fft", "sort", "<script>"][position] for position in order
    ]
    assert result.perf.table(sort="name").index.tolist()[:3] == ["<script>", "fft", "sort"]
    with pytest.raises(ValueError, match="sort='size'"):
        result.perf.table(sort="size")


def test_a_printed_table_is_whole(times):
    """No column is elided, and what is to be said stands below; what is made of a table is an
    ordinary one; texts are not sorted."""
    result = times.perf.agreement("old", dim="version", rng=1, n_resamples=50)
    with pytest.raises(ValueError, match="answers of agreement are texts"):
        result.perf.table(sort="effect")
    table = result.perf.table()
    lines = repr(table).splitlines()
    assert max(map(len, lines)) > 80
    assert "..." not in lines[0]
    assert lines[-1 - len(table.attrs["asides"])] == table.attrs["about"]
    assert type(table.iloc[:1]) is pd.DataFrame


def test_answers_about_the_order():
    """A row a cell, not one a lag or a series: what repetitions are worth, and how many series
    there are of each kind."""
    nest = {
        "sizes": {"execution": 12, "iteration": 40},
        "variances": {"execution": 1e-4, "iteration": 1e-4},
    }
    simulated = perfarray.simulate(**nest, dims={"benchmark": ["fft", "sort"]}, rng=1)["time"]
    simulated = (
        simulated * (1 + 0.2 * ((simulated["iteration"] < 9) & (simulated["benchmark"] == "sort")))
    ).assign_attrs(simulated.attrs)
    answer = simulated.perf.autocorrelation(dim="execution")
    table = answer.perf.table()
    assert table.index.tolist() == ["fft", "sort"]
    assert table["worth, executions"].tolist() == [
        f"{value:.3g} of 12" for value in answer["pooled_effective_n"].values
    ]
    steady = simulated.perf.steady_state()
    printed_text = steady.perf.table()
    assert printed_text["warm-up"].tolist() == [
        str(int((steady["kind"].sel(benchmark=name) == "warmup").sum())) for name in ("fft", "sort")
    ]
    assert printed_text.loc["sort", "steady from (median)"] == "9"


def test_mixtures_of_few_runs_and_of_several_families():
    """The heaviest three components; of fewer than 50 runs they may be chance; the family where one
    was chosen."""
    times = perfarray.from_samples(
        {"steps": [at + step for at in range(1, 6) for step in (-0.01, 0.0, 0.01)]}, dim="benchmark"
    )
    row = (
        times.perf.fit_mixture(n_components=5, distribution=["normal", "lognormal"])
        .to_dataset()
        .perf.table()
        .iloc[0]
    )
    assert (row["components"], row["family"]) == ("5 (may be chance)", "normal")
    assert (row["weights and means"].count(" at "), row["weights and means"][-8:]) == (
        3,
        "; 2 more",
    )
    assert (
        times.perf.fit_mixture(n_components=1).to_dataset().perf.table()["components"].item() == "1"
    )


def test_pairs_of_labels_stand_once(times):
    """Each against those before it, never against itself."""
    three = (
        times.isel(version=0, benchmark=0, drop=True)
        .pad(machine=(0, 1), mode="edge")
        .assign_coords(machine=["a", "b", "c"])
    )
    answer = three.perf.pairwise(dim="machine").perf.table()
    assert answer.index.tolist() == [("b", "a"), ("c", "a"), ("c", "b")]


def test_what_the_numbers_rest_on_is_said(times):
    """In attrs: the label that all share, the level, what n counts, and the notes."""
    subset = times.isel(machine=0, session=[0], execution=[0])
    with pytest.warns(perfarray.PerfarrayWarning):
        answer = subset.perf.compare("old").perf.table()
    assert answer.attrs["about"] == "version new; 95 % intervals; n counts executions"
    assert "execution" in answer.attrs["notes"][0]
    assert answer.attrs["notes"][0] not in repr(answer)  # the warning told it
    whole, _, folded = answer._repr_html_().partition("<details><summary>1 note</summary>")
    assert "n counts executions" in whole
    assert answer.attrs["notes"][0] in folded.replace("&quot;", '"')
    assert answer["change"].str.endswith("(no interval)").all()


def test_rates_and_several_metrics(times):
    """What is better decides the word, metric by metric."""
    combined = xr.Dataset(
        {"time": times, "throughput": (1 / times).assign_attrs(units="ops/s", better="higher")}
    )
    answer = (
        combined.isel(machine=0, benchmark=0)
        .perf.compare("old", metric=["time", "throughput"])
        .perf.table()
    )
    assert answer["change"].str.contains("slower").all()
    assert answer["old -> new"].str.contains("s -> ").all()
    assert answer.loc["throughput", "old -> new"].endswith("ops/s")


@pytest.mark.parametrize(("label", "word"), [("new", "at least "), ("old", "at most ")])
def test_stopped_runs_leave_bounds(times, label, word):
    """A ratio that is known as a bound only is called one; without a limit nothing is said of
    it."""
    subset = times.isel(machine=0, benchmark=0, iteration=0, execution=0, drop=True)
    censored_times = subset.assign_coords(
        censored=(subset["version"] == label) & (subset["session"] == 0)
    )
    answer = censored_times.perf.compare("old").perf.table()
    assert answer["change"].item().startswith(word)
    assert f"({word}" in answer["change"].item()
    with pytest.warns(perfarray.PerfarrayWarning, match="1 has no limit"):
        result = (
            censored_times.where(~censored_times["censored"])
            .assign_attrs(subset.attrs)
            .perf.compare("old")
        )
    assert result.perf.table().drop(columns=["verdict", "n"]).eq("-").all(axis=None)


def test_no_answer_is_no_refusal(times):
    """Of a test whose conditions do not hold, nothing is said against significance."""
    short = perfarray.from_samples(
        {"old": [1.0, 1.1, 1.2, 1.0, 9.0], "new": [2.0, 2.1, 2.2, 2.0, 19.0]}
    )
    answer = short.perf.speedup_test("old").perf.table()
    assert answer[["test", "outcome"]].values.tolist() == [["cannot conclude", "no answer"]]
    with pytest.raises(ValueError, match="no result of perfarray"):
        times.to_dataset(name="time").perf.table()


def test_lazy_results(times):
    pytest.importorskip("dask.array")
    lazy = times.chunk(machine=1).perf.mean_interval()
    assert lazy.perf.table().equals(times.perf.mean_interval().perf.table())


def test_long_tables_are_made_in_pieces():
    """Which is not seen: the table of a result has the rows of the tables of its parts, in their
    order or by effect."""
    long_series = xr.DataArray(
        np.arange(1.0, 2 * BATCH + 2)[:, None] * [1.0, 1.01],
        dims=("benchmark", "execution"),
        name="time",
    )
    result = long_series.assign_coords(benchmark=range(len(long_series))).perf.mean_interval()
    answer, pieces = (
        result.perf.table(),
        [
            result.isel(benchmark=section_part).perf.table()
            for section_part in (slice(700), slice(700, None))
        ],
    )
    pd.testing.assert_frame_equal(pd.DataFrame(answer), pd.concat(pieces))
    assert result.perf.table(sort="effect").index.tolist() == list(range(len(long_series)))[::-1]


class TestNotebooks:
    """What is shown there is the table; the Dataset is folded below."""

    def test_a_result(self, times):
        """Labels are text, never markup; notes stand below; of long results the number of rows that
        are left out is said."""
        printed_text = view(times.isel(machine=0).perf.compare("old"))
        assert all(fact in printed_text for fact in ("1.2", "&lt;script&gt;", "all variables"))
        assert "<script>" not in printed_text
        long_series = xr.DataArray(
            np.ones((100, 3)), dims=("benchmark", "execution"), name="time", attrs={"units": "s"}
        )
        assert f"{100 - MOST} more rows" in view(long_series.perf.mean_interval())

    def test_anything_else_is_as_before(self, times):
        """Timings look as xarray has them."""
        data = times.to_dataset(name="time")
        assert "all variables" not in view(data)
        assert len(view(data)) == len(data._repr_html_())

    def test_in_ipython(self, times):
        """The formatter of the running shell knows results; without one nothing is changed."""
        testing = pytest.importorskip(
            "IPython.core.interactiveshell", reason="IPython is not installed (2026-11-22)"
        )
        shell = testing.InteractiveShell.instance()
        try:
            register()
            formats, _ = shell.display_formatter.format(
                times.isel(machine=0).perf.plan_repetitions(costs=COSTS, budget=1000)
            )
            assert "half-width" in formats["text/html"]
        finally:
            testing.InteractiveShell.clear_instance()


def test_machines_with_regions_have_rows():
    """Where each lies, with limits, and from which others its runs cannot tell it apart; without
    regions a row for each component."""
    rng = np.random.default_rng(0)
    position = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.5, 1.0, 2.0], [1.0, 2.0, 1.0]])[
        ..., None
    ]
    coords = {"machine": list("uvwx"), "benchmark": list("abc")}
    times = xr.DataArray(
        position + 0.01 * rng.standard_normal((4, 3, 5)),
        coords | {"execution": range(5)},
        name="time",
        attrs={"units": "s"},
    )
    result = times.perf.principal_components(n_resamples=49, rng=1)
    answer = perfarray.table(result)
    shares = result["explained_variance_ratio"].values
    assert answer.columns.tolist() == [
        *(f"component {n + 1} ({100 * shares[n]:.0f} %)" for n in (0, 1)),
        "not apart from",
    ]
    assert answer["not apart from"].to_dict() == {"u": "v", "v": "u", "w": "none", "x": "none"}
    printed_text = [
        float(section_part) for section_part in re.findall(r"-?[\d.]+", answer.iloc[2, 0])
    ]
    score = [
        result[name].sel(machine="w", principal_component=1).item()
        for name in ("score", "score_lower", "score_upper")
    ]
    assert printed_text == pytest.approx(
        [1000 * value if "ms" in answer.iloc[2, 0] else value for value in score], rel=0.01
    )
    sentence = (
        "95 % intervals; not apart from: by a test of each pair at 5 %, which is not corrected "
        "for their number"
    )
    assert answer.attrs["about"] == sentence
    assert perfarray.table(times.perf.principal_components()).columns.tolist() == [
        "explains",
        "so far",
    ]


def test_effects_are_sorted_in_both_directions():
    """Half the time is a larger effect than 1.9 times, and that is larger than 1.2 times."""
    means = xr.DataArray(
        [[10.0, 12.0], [10.0, 5.0], [10.0, 19.0]],
        {"benchmark": list("abc"), "version": ["old", "new"]},
    )
    times = (means * xr.DataArray([0.99, 1.0, 1.01], dims="execution")).rename("time")
    assert times.perf.compare("old").perf.table(sort="effect").index.tolist()[:3] == ["b", "c", "a"]


def test_a_plan_of_a_suite_has_the_price_of_each_benchmark(times):
    """The rows are the benchmarks, whose prices differ, and the dearest is not the cost of the
    whole."""
    plan = times.isel(machine=0, version=0).perf.plan_suite(costs=COSTS, budget=1e5, shared=None)
    minutes = plan.perf.table()["cost"].tolist()
    assert minutes == [words.duration(seconds) for seconds in plan["seconds"].values]
    assert words.duration(plan["cost"].item()) not in minutes


def test_corrected_intervals_name_the_level_of_the_suite(times):
    """With a correction, intervals of rows and of the suite have other levels, and both are
    said."""
    corrected = times.perf.compare("old", correction="holm").perf.table().attrs["about"]
    assert re.search(r"9\d\.\d+ % .*intervals, of the suite 95 %", corrected), corrected
    assert "of the suite" not in times.perf.compare("old").perf.table().attrs["about"]


class TestForPapers:
    """A table as Markdown and LaTeX."""

    def test_markdown_needs_no_other_package(self, times, tmp_path):
        """Rows, suites in bold, and below them what the numbers rest on with every note."""
        with pytest.warns(perfarray.PerfarrayWarning):
            result = times.isel(machine=0, session=[0], execution=[0]).perf.compare("old")
        answer = result.perf.table()
        lines = answer.to_markdown().splitlines()
        assert lines[0].startswith("| benchmark | old -> new | change |")
        assert f"> {answer.attrs['about']}" in lines
        assert lines[-len(answer.attrs["notes"]) :][0].startswith("> ")
        assert sum(line.startswith("| **all ") for line in lines) == answer.attrs["suites"]
        try:  # of pandas and tabulate, with their arguments
            plain = pd.DataFrame(answer).to_markdown(tablefmt="html")
        except ImportError:
            with pytest.raises(ImportError, match="tabulate"):
                answer.to_markdown(tablefmt="html")
        else:
            assert answer.to_markdown(tablefmt="html") == plain
        answer.to_markdown(tmp_path / "table.md")
        with (tmp_path / "again.md").open("w", encoding="utf-8") as file:
            answer.to_markdown(file)
        texts = {path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
        assert texts == {answer.to_markdown()}

    def test_latex_is_escaped(self, times):
        """Percent signs, and underscores of labels, unless the caller says otherwise."""
        pytest.importorskip("jinja2")
        renamed = times.isel(machine=0).assign_coords(benchmark=["a_b", "c", "d"])
        answer = renamed.perf.variance_components().perf.table()
        page = answer.to_latex()
        assert r"a\_b" in page
        assert re.search(r"(?<!\\)%", page) is None
        assert r"\%" in page
        assert "a_b" in answer.to_latex(escape=False)


def test_a_dim_has_the_name_that_its_user_gave_it():
    """A dim `n` makes room for the number of units in the array, and is printed as `n`."""
    times = perfarray.from_samples({10: [1.0, 1.1], 20: [2.0, 2.1], 40: [4.0, 4.2]}, dim="n")
    assert "data_n" in times.dims
    table = times.perf.compare(10).perf.table()
    assert table.index.name == "data_n"
    for text in (repr(table), table._repr_html_(), grid_of(table).titles[0]):
        assert "data_n" not in text
    assert grid_of(table).titles[0] == "n"
    single = times.isel(data_n=[0, 1]).perf.compare(10).perf.table()
    assert single.attrs["about"].startswith("n 20; 95 % intervals")
    assert "n (3 labels): 10, 20, 40" in repr(times.perf)


def test_n_is_shown_beside_some_of_the_rows():
    """A table of some rows shows `n`, whether that of the others is the same or not."""
    values = np.ones((2, 2, 5)) + 0.001 * np.arange(5)
    values[1, 0] *= 1.2
    values[:, 1, 4] = np.nan
    coords = {"version": ["old", "new"], "machine": ["m1", "m2"]}
    times = xr.DataArray(values, coords, ("version", "machine", "execution"), name="time")
    changed = select_rows(times.perf.compare("old"), only_changes=True)
    assert changed["n"].tolist() == ["5"]
    alike = times.isel(execution=slice(4)).perf.compare("old")
    assert select_rows(alike, only_changes=True)["n"].tolist() == ["4"]
