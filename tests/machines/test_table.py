"""A table of machines: rows, responses, typed columns, what could not be read."""

import json
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import perfarray


@pytest.fixture(scope="module")
def times():
    """Four machines, three benchmarks, five executions of two iterations; texts as archives write
    them."""
    nest = {
        "sizes": {"execution": 5, "iteration": 2},
        "variances": {"execution": 0.01, "iteration": 0.04},
    }
    dims = {"machine": ["w", "x", "y", "z"], "benchmark": ["fft", "lu", "sort"]}
    texts = {
        "l2_cache": ["256 KB I+D on chip per core", "1 MB I+D on chip per core", "much", "unknown"],
        "memory": ["8 GB (2 x 4 GB DDR3-1333)"] * 3 + ["unknown"],
        "auto_parallel": ["Yes", "No", "Yes", "No"],
        "hardware_available": ["May-2012", "03/01/12", "Jan-2013", "unknown"],
        "vendor": ["A", "A", "B", "unknown"],
        "base_flags": ["-O3 -flto", "-O3", "-O2 -flto", "unknown"],
    }
    with_descriptors = {
        name: ("machine", np.array(values, dtype=object)) for name, values in texts.items()
    }
    return perfarray.simulate(**nest, mean=10.0, dims=dims, rng=1)["time"].assign_coords(
        with_descriptors | {"cores": ("machine", [1, 2, 4, 8])}
    )


def test_responses_are_those_of_relative_variation(times):
    """One row per machine, in order; performance and variation as `relative_variation` says,
    variation their product."""
    table = perfarray.machine_table(
        times, response=("performance", "relative_variation", "variation")
    )
    expected = times.perf.relative_variation()
    assert table["machine"].tolist() == ["w", "x", "y", "z"]
    for name, values in (
        ("performance", "performance"),
        ("relative_variation",) * 2,
        ("variation", "standard_deviation"),
    ):
        np.testing.assert_allclose(table[name], expected[values])
    assert table["n_runs"].tolist() == [5] * 4
    assert table.attrs["n_zero_variation"] == 0
    assert (
        perfarray.from_samples({"a": [1.0] * 3, "b": [1.0, 1.1, 1.2]}, dim="machine")
        .perf.machine_table()
        .attrs["n_zero_variation"]
        == 1
    )
    assert table["n_benchmarks"].tolist() == [3] * 4


def test_several_suites(times):
    """Without being asked there are rows of each suite, with the responses each has alone, and a
    label that tells them apart."""
    mixed = times.assign_coords(suite=("benchmark", ["int", "int", "fp"]))
    mixed = mixed.where((mixed["machine"] != "z") | (mixed["suite"] == "int")).assign_attrs(
        times.attrs
    )
    table = mixed.perf.machine_table()
    assert [
        note.values["suites"] for note in table.perf.notes() if note.code == "suites_apart"
    ] == [["int", "fp"]]
    pd.testing.assert_frame_equal(table, mixed.perf.machine_table(by="suite"))
    assert table["suite"].tolist() == ["int"] * 4 + ["fp"] * 3
    assert table["machine"].tolist() == [*"wxyz", *"wxy"]
    assert json.loads(table.attrs["roles"])["suite"] == "label"
    for name, machines in (("int", 4), ("fp", 3)):
        alone = mixed.isel(
            benchmark=mixed["suite"].values == name, machine=slice(machines)
        ).perf.machine_table()
        rows = table[table["suite"] == name].reset_index(drop=True)
        for column in (
            "performance",
            "relative_variation",
            "n_benchmarks",
            "relative_variation_noise",
            "l2_kb",
            "cores",
        ):
            np.testing.assert_array_equal(rows[column], alone[column])


@pytest.mark.parametrize("limit", [None, 60.0])
def test_stopped_runs_do_not_flatter(times, limit):
    """They count as their limit, as in `suite_score`; how such a machine varies is not known, and
    others keep their rows."""
    is_stopped = xr.zeros_like(times, dtype=bool).reset_coords(drop=True)
    is_stopped[{"machine": 2, "benchmark": 1, "execution": slice(3)}] = True
    marked = (
        times.where(~is_stopped, 60.0 if limit is None else np.nan)
        .assign_attrs(times.attrs)
        .assign_coords(censored=is_stopped)
    )
    marked = marked if limit is None else marked.assign_coords(censored_at=limit)
    names = ("performance", "relative_variation", "execution_variance")
    with pytest.warns(
        perfarray.PerfarrayWarning,
        match="stopped at a limit and count as at least that. Their score is a bound",
    ):
        table = perfarray.machine_table(marked, response=names)
    with warnings.catch_warnings(action="ignore"):
        score = marked.perf.suite_score(statistic="median")["estimate"]
    np.testing.assert_allclose(table["performance"], score)
    complete = perfarray.machine_table(times, response=names)
    for name in names:
        np.testing.assert_allclose(table[name].drop(2), complete[name].drop(2))
    assert table.loc[2, ["relative_variation", "execution_variance"]].isna().all()
    assert table["performance"][2] > complete["performance"][2]


def test_units_inside_sessions(times):
    """One machine with two sessions has these as units, and the others their executions, as a note
    says; `unit=` pools the sessions."""
    values = np.full((4, 3, 2, 5, 2), np.nan)
    values[:, :, 0], values[0, :, 1] = times.values, times.values[0] * 1.01
    dims = ("machine", "benchmark", "session", "execution", "iteration")
    sessions = xr.DataArray(
        values, dims=dims, coords={"machine": times["machine"]}, name="time", attrs=times.attrs
    )
    with pytest.warns(
        UserWarning,
        match="9 of 12 cells were measured in one session: the units are executions there",
    ):
        table = perfarray.machine_table(sessions)
    assert table["relative_variation"].notna().all()
    assert table["n_runs"].tolist() == [2, 5, 5, 5]
    pooled = perfarray.machine_table(sessions, unit="execution")
    assert pooled["n_runs"].tolist() == [10, 5, 5, 5]
    expected = perfarray.machine_table(times.reset_coords(drop=True).isel(machine=slice(1, None)))
    for name in ("performance", "relative_variation", "relative_variation_noise"):
        np.testing.assert_allclose(pooled[name][1:], expected[name], rtol=1e-12)
    with pytest.raises(
        ValueError, match="unit='execution' was given for scores without repetitions"
    ):
        perfarray.machine_table(
            xr.DataArray([1.0, 2.0], dims="machine", coords={"machine": ["a", "b"]}),
            unit="execution",
        )


def test_shared_units():
    """Executions that move together are noted; `shared=` is that of `relative_variation`, and draws
    them together."""
    rng = np.random.default_rng(2)
    values = 10 + rng.normal(size=(3, 6, 7)) + 2 * rng.normal(size=(3, 1, 7))
    coords = {"machine": list("xyz"), "benchmark": list("abcdef")}
    times = xr.DataArray(
        values,
        dims=("machine", "benchmark", "execution"),
        coords=coords,
        name="time",
        attrs={"units": "s"},
    )
    with pytest.warns(UserWarning, match="say shared='execution'"):
        separate = times.perf.machine_table()
    together = times.perf.machine_table(shared="execution")
    expected = times.perf.relative_variation(shared="execution")["relative_variation"]
    np.testing.assert_allclose(together["relative_variation"], expected, rtol=1e-12)
    assert (together["relative_variation"] > 1.2 * separate["relative_variation"]).all()


def test_columns_are_typed(times, monkeypatch):
    """Numbers, True and False, categories, the most frequent flags; texts that cannot be read stay,
    and are counted."""
    table = times.perf.machine_table()
    np.testing.assert_equal(table["l2_kb"].tolist(), [256.0, 1024.0, np.nan, np.nan])
    np.testing.assert_equal(table["memory_speed"].tolist(), [1333.0] * 3 + [np.nan])
    np.testing.assert_allclose(
        table["hardware_available"], [2012 + 4 / 12, 2012 + 2 / 12, 2013.0, np.nan]
    )
    assert table["auto_parallel"].tolist() == [True, False, True, False]
    assert table["vendor"].dtype == "category"
    assert table["vendor"].tolist() == ["A", "A", "B", "unknown"]
    assert table["l2_cache_unparsed"].tolist() == ["", "", "much", ""]
    assert (table.attrs["n_unparsed"], table.attrs["unparsed"]) == (1, "l2_cache: 1")
    assert table["cores"].tolist() == [1, 2, 4, 8]
    assert [name for name in table if name.startswith("flag ")] == [
        "flag -O3",
        "flag -flto",
        "flag -O2",
    ]
    assert table["flag -flto"].tolist() == [True, False, True, False]
    monkeypatch.setattr("perfarray.machines.descriptors.MAX_FLAGS", 1)
    assert [name for name in times.perf.machine_table() if name.startswith("flag ")] == ["flag -O3"]


def test_rows(times):
    """Orders of dims and chunks change nothing; a further dim makes a row for each combination that
    was measured, and a column."""
    assert times.perf.machine_table().equals(
        times.transpose(*reversed(times.dims)).chunk({"machine": 1}).perf.machine_table()
    )
    two = xr.concat(
        [times, times * 2], dim=xr.IndexVariable("version", np.array(["old", "new"], dtype=object))
    )
    table = (
        two.where((two["version"] == "old") | (two["machine"] == "x"))
        .assign_attrs(two.attrs)
        .perf.machine_table()
    )
    assert table[["machine", "version"]].values.tolist() == [
        ["w", "old"],
        ["x", "old"],
        ["x", "new"],
        ["y", "old"],
        ["z", "old"],
    ]
    assert table["performance"][2] == pytest.approx(2 * table["performance"][1])


def test_rows_have_the_same_suite(times):
    """A benchmark that several machines lack is left out of all; a machine that lacks most has no
    response, and both are said."""
    gaps = times.where(
        ~((times["benchmark"] == "lu") & times["machine"].isin(["y", "z"]))
    ).assign_attrs(times.attrs)
    with pytest.warns(UserWarning, match="1 of 3 benchmarks are left out.*'lu'"):
        table = gaps.perf.machine_table()
    assert table.attrs["unmatched"] == "lu"
    np.testing.assert_allclose(
        table["performance"],
        times.sel(benchmark=["fft", "sort"]).perf.relative_variation()["performance"],
    )
    incomplete = times.where((times["benchmark"] == "lu") | (times["machine"] != "y")).assign_attrs(
        times.attrs
    )
    with pytest.warns(UserWarning, match="1 of 4 rows lack benchmarks"):
        table = incomplete.perf.machine_table()
    assert table["performance"].isna().tolist() == [False, False, True, False]


def test_what_each_level_adds():
    """The variation of a level is that of its variance component, relative to the mean: here 3 %
    and 4 %."""
    nest = {
        "sizes": {"execution": 400, "iteration": 10},
        "variances": {"execution": 0.09, "iteration": 0.16},
    }
    timings = perfarray.simulate(**nest, mean=10.0, dims={"machine": 20}, rng=1)
    table = timings.perf.machine_table(
        response=(
            "execution_variation",
            "iteration_variation",
            "execution_variance",
            "iteration_variance",
        )
    )
    np.testing.assert_allclose(table["execution_variance_noise"], table["iteration_variance"] / 10)
    np.testing.assert_allclose(table["execution_variance"], table["execution_variation"] ** 2)
    assert (table["iteration_variance_noise"] == 0).all()
    # One machine's has a standard error of 4 %: sqrt(2 / 399) (0.09 + 0.016) / 0.09 / 2; the mean
    # of twenty one of 1 %.
    assert table["execution_variation"].mean() == pytest.approx(0.03, rel=0.03)
    assert table["iteration_variation"].mean() == pytest.approx(0.04, rel=0.01)


def test_scores_without_runs():
    """A score has a performance and no variation, by benchmark or other dims; zeros have no
    geometric mean."""
    coords = {"machine": ["x", "y"], "benchmark": ["p", "q"]}
    scores = xr.DataArray(
        [[1.0, 4.0], [9.0, 4.0]], dims=("machine", "benchmark"), coords=coords, attrs={"units": "1"}
    )
    table = scores.perf.machine_table()
    assert table["performance"].tolist() == pytest.approx([2.0, 6.0])
    assert table["n_benchmarks"].tolist() == [2, 2]
    with pytest.raises(
        ValueError, match="mean='geometric' needs positive values, and 1 scores are zero or"
    ):
        scores.where(scores != 9.0, 0.0).perf.machine_table()
    dump = xr.Dataset(
        {
            "score": scores.rename(benchmark="tuning").where(scores.values != 4.0),
            "name": ("machine", ["a", "b"]),
        }
    )
    table = dump.perf.machine_table()
    assert table[["machine", "tuning", "performance"]].values.tolist() == [
        ["x", "p", 1.0],
        ["y", "p", 9.0],
    ]
    assert table["relative_variation"].isna().all()
    assert table["n_runs"].tolist() == [1, 1]


def test_noise_of_relative_variation():
    """The log of the spread of one benchmark with three runs has a standard deviation of .64, of
    twelve alike .15."""
    for benchmarks, expected in ((1, 0.65), (12, 0.15)):
        dims = {"machine": 400, "benchmark": benchmarks}
        table = perfarray.simulate(
            sizes={"execution": 3}, variances={"execution": 1e-4}, dims=dims, rng=1
        ).perf.machine_table()
        assert table["relative_variation_noise"][0] == pytest.approx(expected, abs=0.02)
        assert np.log(table["relative_variation"]).std() == pytest.approx(expected, abs=0.03)


def test_bad_input(times):
    with pytest.raises(ValueError, match="nothing was measured"):
        (times * np.nan).perf.machine_table()
    with pytest.raises(
        ValueError,
        match=r"response='speed' is not known; choose one of 'performance'.*'execution_variation'",
    ):
        times.perf.machine_table(response="speed")
    with pytest.raises(TypeError, match=r"no argument 'n_flags' any more\. drop columns"):
        times.perf.machine_table(n_flags=-1)
    scores = xr.Dataset({"a": ("machine", [1.0]), "b": ("machine", [2.0])})
    with pytest.raises(ValueError, match="which variable"):
        perfarray.machine_table(scores)


def test_flags_of_single_benchmarks_are_columns(monkeypatch):
    """SPEC lists flags benchmark by benchmark: a machine has those of any of them; what has none,
    or is not said, has no flag."""
    values = np.array([[[1.0, 1.1], [2.0, 2.1]], [[1.0, 1.2], [2.0, 2.2]]])
    labels = {"machine": ["a", "b"], "benchmark": ["fft", "sort"]}
    times = xr.DataArray(values, dims=("machine", "benchmark", "execution"), coords=labels)
    optimised = np.array([["-O3 -ipo", "-O2"], ["-O3", "unknown"]], dtype=object)
    portable = ("benchmark", np.array(["none", "-DLINUX"], dtype=object))
    with_descriptors = times.assign_coords(
        optimization_flags=(("machine", "benchmark"), optimised), portability_flags=portable
    )
    table = with_descriptors.perf.machine_table()
    columns = {name: table[name].tolist() for name in table if name.startswith("flag ")}
    assert columns == {
        "flag -DLINUX": [True, True],
        "flag -O3": [True, True],
        "flag -O2": [True, False],
        "flag -ipo": [True, False],
    }
    assert json.loads(table.attrs["roles"])["flag -ipo"] == "flag"
    same_flags = with_descriptors.assign_coords(
        optimization_flags=("machine", optimised[:, 0])
    ).perf.machine_table()
    without_o2 = {name: values for name, values in columns.items() if name != "flag -O2"}
    assert {name: same_flags[name].tolist() for name in same_flags if "flag" in name} == without_o2
    sets = xr.concat(
        [with_descriptors.drop_vars(["optimization_flags", "portability_flags"])] * 2, "flags"
    ).assign_coords(flags=["-O2", "-O3"])
    roles = json.loads(sets.perf.machine_table().attrs["roles"])
    assert (roles["flags"], roles["flag -O2"]) == ("label", "flag")
    with monkeypatch.context() as context:
        context.setattr("perfarray.machines.descriptors.MAX_FLAGS", 0)
        assert "flags" not in json.loads(sets.perf.machine_table().attrs["roles"])
    complete = with_descriptors.assign_coords(
        flags=("machine", np.array(["-O0", "-O0"], dtype=object))
    ).perf.machine_table()
    assert [name for name in complete if name.startswith("flag ")] == ["flag -O0"]


def many_machines(number, chunks):
    """Return one score of each machine, and what describes them, as stores hold it: lazy texts of
    any length."""
    pytest.importorskip("dask.array")
    positions = np.arange(number)
    texts = {
        name: [
            f"{name} {code % 50}: as written in a report, and longer than a number"
            for code in positions
        ]
        for name in "abcdef"
    }
    texts |= {
        "memory": [f"{1 << code % 4} GB" for code in positions],
        "os": ["a lot" if code % 3 else "Ubuntu 22.04" for code in positions],
    }
    flags = [f"-O{code % 4} -flto" if code % 5 else "unknown" for code in positions]
    with_descriptors = {
        name: ("machine", np.array(values, dtype=object))
        for name, values in (texts | {"flags": flags}).items()
    }
    times = xr.DataArray(
        1.0 + positions % 7,
        dims="machine",
        coords={"machine": positions, **with_descriptors},
        name="score",
    )
    stored = {
        name: times[name].variable.astype(np.dtypes.StringDType()).chunk(machine=chunks)
        for name in with_descriptors
    }
    return times, times.assign_coords(stored)


def test_texts_of_a_store(monkeypatch):
    """They are read as those in memory are, with the same columns and categories; each row
    counts."""
    times, stored = many_machines(300, 70)
    monkeypatch.setattr("perfarray.machines.descriptors.MAX_FLAGS", 3)
    expected, table = (perfarray.machine_table(timings) for timings in (times, stored))
    pd.testing.assert_frame_equal(table, expected)
    assert table.attrs == expected.attrs
    assert table.attrs["unparsed"] == "os: 200"
    assert table["memory_gb"].tolist()[:5] == [1.0, 2.0, 4.0, 8.0, 1.0]
    assert table.filter(like="flag ").sum().to_dict() == {
        "flag -flto": 240,
        "flag -O0": 60,
        "flag -O1": 60,
    }


def test_memory_of_descriptors():
    """One descriptor at a time is looked at, and of it the distinct texts: beyond the table, no
    more than a block of one is in memory."""
    _, stored = many_machines(60_000, 6_000)
    perfarray.machine_table(stored[:100])
    tracemalloc.start()
    table = perfarray.machine_table(stored)
    memory_after, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(table) == 60_000
    assert peak - memory_after < 25e6
