"""Which columns of a table become dims where nobody named them, and what is said of it."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest

import perfarray

CELLS = [("fft", "old"), ("fft", "new"), ("sort", "old"), ("sort", "new")]


def table(runs=4, **columns):
    """Return so many runs of two benchmarks in two versions; a column is a list for each cell, or a
    value for each row."""
    rows = [cell for cell in CELLS for _ in range(runs)]
    frame = pd.DataFrame(rows, columns=["benchmark", "version"])
    frame["time"] = np.random.default_rng(1).uniform(1, 2, len(frame))
    for name, values in columns.items():
        frame[name] = [*values] * len(CELLS) if len(values) == runs else values
    return frame


def sizes(frame, **roles):
    return dict(frame.perf.to_timings(**roles).sizes)


PLAIN = {"benchmark": 2, "version": 2, "execution": 4}

MEASURED = {
    "max_rss_kb": [2040, 2040, 2048, 2048],
    "page_faults": [7, 7, 8, 8],
    "majflt": [0, 0, 1, 1],
    "pct_cpu": [99, 99, 98, 98],
    "percent_of_cpu": [90, 90, 95, 95],
    "gpu_energy": [3, 3, 4, 4],
    "mem(KB)": [10, 10, 20, 20],
    "fan [W]": [1, 1, 2, 2],
    "temp_c": [55, 55, 56, 56],
    "uptime_ns": [11, 12, 13, 14],
    "contextSwitches": [3, 3, 4, 4],
}


@pytest.mark.parametrize("name", MEASURED)
def test_measured_quantities_and_units_are_never_dims(name):
    """Whatever their numbers: cells of equal size do not make labels of a quantity."""
    times = table(**{name: MEASURED[name]}).perf.to_timings()
    assert (dict(times.sizes), times[name].dims) == (PLAIN, times["time"].dims)
    assert [(note.code, note.values["varying"], note.aside) for note in times.perf.notes()] == [
        ("unclaimed_column", [name], True)
    ]


def test_a_measured_quantity_that_is_named_is_a_dim():
    frame = table(max_rss_kb=[2040, 2040, 2048, 2048])
    assert sizes(frame, max_rss_kb="max_rss_kb") == {
        "benchmark": 2,
        "version": 2,
        "max_rss_kb": 2,
        "execution": 2,
    }


@pytest.mark.parametrize(
    "values",
    [
        ["", None, "warm cache", ""],
        [None, None, "x", "x"],
        ["ok", "ok", "ok", "noisy neighbour"],
        ["  ", "a", "b", "a"],
    ],
)
def test_remarks_are_no_dims(values):
    """A text that is blank in some rows, or in unequal numbers of runs within a combination, stays
    beside the values; it is named."""
    with pytest.warns(
        perfarray.PerfarrayWarning,
        match=r"column 'comment' varies .* dims=\{'comment': 'comment'\}",
    ) as caught:
        times = table(comment=values).perf.to_timings()
    assert (dict(times.sizes), len(caught)) == (PLAIN, 1)
    assert {"warm cache", "x", "noisy neighbour", "a"} & set(
        times["comment"].values.ravel().tolist()
    )


def test_random_remarks_are_no_dims():
    """Two remarks that are thrown on 10 runs a cell are not the labels of an experiment."""
    remarks = np.random.default_rng(3).choice(["ok", "throttled"], 40, p=[0.7, 0.3])
    with pytest.warns(perfarray.PerfarrayWarning, match="column 'state' varies"):
        assert sizes(table(runs=10, state=remarks)) == {
            "benchmark": 2,
            "version": 2,
            "execution": 10,
        }


def test_labels_thrown_on_two_runs_are_no_design():
    """Two runs of a program often differ in a label that is thrown: such cells of one run each
    show no design."""
    thrown = ["ok", "ok", "ok", "slow", "slow", "ok", "slow", "slow"] * 3
    programs = np.repeat([f"program {number}" for number in range(12)], 2)
    frame = pd.DataFrame({"benchmark": programs, "state": thrown, "time": np.arange(24) + 1.0})
    with warnings.catch_warnings(action="ignore"):
        assert sizes(frame) == {"benchmark": 12, "execution": 2}


def test_labels_thrown_on_single_runs_are_asked_for():
    """In a design of one run each a thrown label cuts nothing, and is no dim of its own."""
    design = itertools.product(["fft", "sort"], ["old", "new"], [16, 64, 256], [1, 2])
    frame = pd.DataFrame(design, columns=["benchmark", "version", "window", "threads"])
    frame["place"] = np.random.default_rng(1).choice(["north", "east", "south"], len(frame))
    frame["time"] = np.arange(len(frame)) + 1.0
    with pytest.raises(ValueError, match="column 'place' cuts the table into unequal"):
        sizes(frame)


def test_numbers_that_hardly_recur_decide_no_text():
    """Numbers of one program are crossed with it, whatever they are: inputs of a mode stay labels
    beside them."""
    inputs = ["small"] * 4 + ["large"] * 4 + ["whole"] * 8
    frame = pd.DataFrame({"benchmark": "fft", "input": inputs, "time": np.arange(16) + 1.0})
    frame["mode"] = np.repeat(["in pieces", "at once"], 8)
    for numbers in (7, [7, *range(7, 112, 7)]):
        with warnings.catch_warnings(action="ignore"):
            assert sizes(frame.assign(collections=numbers))["input"] == 3


def test_unbalanced_labels_are_asked_for():
    """Three hosts with unequal runs, of which none is usual, are no remark: runs of unlike hosts
    are not pooled."""
    hosts = ["m1"] * 5 + ["m2"] * 4 + ["m3"] * 2
    frame = table(runs=11, host=hosts)
    with pytest.raises(
        ValueError,
        match=r"column 'host' cuts the table into unequal numbers of runs.*--dims host=host\); "
        r"if it holds remarks",
    ):
        frame.perf.to_timings()
    assert sizes(frame, host="host") == {"benchmark": 2, "version": 2, "host": 3, "execution": 5}
    with pytest.warns(perfarray.PerfarrayWarning, match="column 'comment' varies"):
        assert sizes(frame.rename(columns={"host": "comment"})) == {
            "benchmark": 2,
            "version": 2,
            "execution": 11,
        }


def test_text_comes_before_numbers():
    """A number that tells combinations of texts apart describes them, whatever the order of the
    columns."""
    frame = pd.DataFrame(
        {
            "heap": np.repeat([812, 905, 790, 880], 2).tolist() * 2,
            "benchmark": ["a"] * 8 + ["b"] * 8,
            "pkg": (["gcc"] * 4 + ["clang"] * 4) * 2,
            "mode": ["O2", "O2", "O3", "O3"] * 4,
            "stamp": np.repeat([31, 32, 33, 34], 2).tolist() * 2,
            "time": np.linspace(1, 2, 16),
        }
    )
    times = frame.perf.to_timings()
    assert dict(times.sizes) == {"benchmark": 2, "pkg": 2, "mode": 2, "execution": 2}
    assert times["heap"].dims == times["stamp"].dims == ("pkg", "mode")


def test_ragged_designs_keep_their_labels():
    """A few lost runs make no remark of a label."""
    frame = table(runs=30, mode=["a"] * 15 + ["b"] * 15)
    for lost in ([3, 50, 77, 78], range(5)):
        assert set(frame.drop(index=list(lost)).perf.to_timings().dims) == {
            "benchmark",
            "version",
            "mode",
            "execution",
        }


@pytest.mark.parametrize(
    ("columns", "dims"),
    [
        ({"threads": [1, 1, 8, 8]}, {"threads": 2}),
        ({"threads": [1, 2, 3, 4]}, {"threads": 4}),
        ({"n": [10, 10, 10, 1000]}, {"data_n": 2}),
        ({"blockSize": [10, 10, 20, 20] * 2 + [300, 300, 400, 400] * 2}, {"blockSize": 4}),
    ],
)
def test_numbers_that_cut_equally_are_dims(columns, dims):
    """Crossed or nested, with several runs a cell or one; settings by their names also where runs
    were lost."""
    sizes_by_dim = sizes(table(**columns))
    assert {name: sizes_by_dim.get(name) for name in dims} == dims


@pytest.mark.parametrize(
    ("values", "size"),
    [
        ([1024, 1024, 2048, 2048] * 2 + [10, 10, 20, 20] * 2, 4),
        ([16, 16, 64, 64], 2),
        ([16, 64, 256, 1024], 4),
    ],
)
def test_unknown_numbers_are_named(values, size):
    """Numbers that cut equally, crossed or by benchmark, may be measured as well: they are dims,
    and a warning says so."""
    frame = table(foo=values)
    with pytest.warns(
        perfarray.PerfarrayWarning, match="column 'foo' is a dim, although nobody named it"
    ):
        assert sizes(frame)["foo"] == size


AMOUNTS = {
    "cpu_pct": ["99%", "99%", "98%", "98%"],
    "rss": ["20 MB", "20 MB", "21 MB", "21 MB"],
    "cpu": ["99%", "98%", "99%", "99%"],
    "wait": ["1,5", "1,7", "1,5", "1,5"],
    "net": ["3 MB", "4 MB", "5 MB", "6 MB"],
}


@pytest.mark.parametrize("name", AMOUNTS)
def test_amounts_in_texts_are_measured(name):
    """A percentage or a number with a unit is a label only where every combination has it in as
    many runs."""
    frame = table(**{name: AMOUNTS[name]})
    if name == "net":
        frame[name] = [f"{number} MB" for number in range(16)]
    with warnings.catch_warnings(action="ignore"):
        assert sizes(frame) == PLAIN
    assert sizes(table(limit=["512 MB", "512 MB", "1 GB", "1 GB"]))["limit"] == 2


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("run", [1, 2, 3, 4]),
        ("Trial", [0, 1, 2, 3]),
        ("seed", [42, 7, 9, 11]),
        ("k", [1, 2, 3, 4]),
        ("rep_no", [5, 6, 7, 8]),
    ],
)
def test_numberings_are_asked_for(name, values):
    """A counter with one run a cell is no label, and no repetition before it is said: the message
    gives both ways."""
    frame = table(**{name: values})
    numbering = rf"column '{name}' looks like a numbering of repetitions"
    message = rf"{numbering}.*execution='{name}'.*--dims {name}={name}"
    with pytest.raises(ValueError, match=message):
        frame.perf.to_timings()
    assert sizes(frame, execution=name) == PLAIN
    assert sizes(frame, **{name: name}) == {"benchmark": 2, "version": 2, name: 4, "execution": 1}


def test_the_unnamed_level_is_asked_for():
    frame = table(execution=[0, 0, 1, 1], rep=[0, 1, 0, 1], runs=4)
    with pytest.raises(ValueError, match="iteration='rep'"):
        frame.perf.to_timings()
    assert sizes(frame, iteration="rep") == {
        "benchmark": 2,
        "version": 2,
        "execution": 2,
        "iteration": 2,
    }


@pytest.mark.parametrize("values", [[0.5, 0.7, 0.5, 0.7], [0.1, 0.2, 0.3, 0.4], [3, 3, 3, 4]])
def test_undecided_numbers_are_refused_with_both_ways(tmp_path, values):
    """Few decimals in equal cells, and whole numbers that recur in unequal ones, may be settings:
    unlike runs are not pooled."""
    frame = table(theta=values)
    with pytest.raises(
        ValueError,
        match=r"'theta' may be a setting.*theta='theta'.*value=\{..., 'theta': 'theta'\}",
    ) as error:
        frame.perf.to_timings()
    frame.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(ValueError) as file_error:  # noqa: PT011 the messages are compared
        perfarray.read(tmp_path / "t.csv")
    assert str(file_error.value).endswith(str(error.value))
    assert "theta" in perfarray.read(tmp_path / "t.csv", dims={"theta": "theta"}).dims
    for measured in (frame.perf.to_timings(value={"time": "time", "theta": "theta"}),
                     perfarray.read(tmp_path / "t.csv", dims={"theta [1]": "theta"})):  # fmt: skip
        assert (dict(measured.sizes), "theta" in measured.data_vars) == (PLAIN, True)


def test_a_sensor_that_is_mostly_zero_is_no_dim():
    frame = table(sensor=[0.0, 0.0, 0.0, 0.001])
    assert sizes(frame) == PLAIN


def test_copies_of_rows_are_left_out_and_counted():
    """Where rows are numbered an exact copy is no iteration; ties among iterations are
    measurements."""
    frame = table(execution=[0, 1, 2, 3])
    twice = pd.concat([frame, frame.iloc[:5]])
    with pytest.warns(
        perfarray.PerfarrayWarning, match="5 rows are exact copies of others and were left out"
    ):
        copied = twice.perf.to_timings()
    assert copied.drop_attrs().equals(frame.perf.to_timings().drop_attrs())
    ties = pd.DataFrame({"execution": [0, 0, 0, 1, 1, 1], "time": [1.0, 1.0, 2.0, 1.0, 2.0, 2.0]})
    assert sizes(ties) == {"execution": 2, "iteration": 3}
    assert sizes(pd.DataFrame({"time": [1.0, 1.0, 2.0]})) == {"execution": 3}


@pytest.mark.parametrize("name", ["exit_code", "Exit status", "returncode", "exitcode"])
def test_exit_codes_mark_failed_runs(name):
    with pytest.warns(
        perfarray.PerfarrayWarning, match=f"4 runs of 16 ended with another '{name}' than 0"
    ):
        times = table(**{name: [0, 0, 0, 139]}).perf.to_timings()
    assert (dict(times.sizes), int(times["failed"].sum())) == (PLAIN, 4)


def test_names_of_descriptors_make_coordinates():
    """A column that is called commit_date, cpu, os is a coordinate where other columns determine
    it, else a dim."""
    frame = table(
        commit=list("abcd"),
        when=["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"],
        cpu_name=["x"] * 16,
    )
    times = frame.perf.to_timings(commit_date="when", cpu="cpu_name")
    assert (times["commit_date"].dims, times["cpu"].dims) == (("commit",), ())
    assert sizes(table(system=["linux", "linux", "bsd", "bsd"]), os="system")["os"] == 2


def test_labels_have_no_blanks_around_them_and_stay_what_they_are():
    """A blank in front of a separator, a missing number beside whole ones, and numbers beyond 2**53
    change no label."""
    frame = pd.DataFrame({"benchmark": ["fft ", " fft", "sort"], "time": [1.0, 2.0, 3.0]})
    assert frame.perf.to_timings()["benchmark"].values.tolist() == ["fft", "sort"]
    frame = pd.DataFrame(
        {"benchmark": "fft", "size": [1, 1, None, None], "time": [1.0, 2.0, 3.0, 4.0]}
    )
    assert frame.perf.to_timings()["size"].values.tolist() == ["1", "unknown"]
    large = pd.DataFrame(
        {
            "benchmark": "fft",
            "size": pd.array([2**53 + 1, 2**53 + 1, None, None], dtype="Int64"),
            "time": 1.0,
        }
    )
    assert large.perf.to_timings()["size"].values.tolist() == [str(2**53 + 1), "unknown"]


@pytest.mark.parametrize("label", ["1.0", "1", 1, 1.0])
def test_a_number_is_found_as_the_text_it_is_written_as(label):
    frame = pd.DataFrame({"version": [1.0] * 3 + [2.0] * 3, "time": [1.0, 1.1, 1.2, 2.0, 2.1, 2.2]})
    for options in ({}, {"dim": "version"}):
        assert frame.perf.to_timings().perf.compare(label, **options)["verdict"].item() == "slower"


def test_a_variable_is_not_called_after_a_unit_that_it_is_not_in():
    frame = pd.DataFrame({"ms": [10.0, 11.0], "elapsed": [1.0, 2.0]})
    assert list(frame[["ms"]].perf.to_timings(value="ms", units="ms")) == ["time"]
    assert list(frame[["ms"]].perf.to_timings(value="ms", units={"ms": "ms"})) == ["time"]
    assert list(frame[["elapsed"]].perf.to_timings(value="elapsed", units="ms")) == ["elapsed"]


def durations(values):
    """Return tables whose values are durations, of pandas in all resolutions, NumPy and Python."""
    seconds = pd.to_timedelta(values, unit="s")
    yield from (pd.Series(seconds.astype(f"timedelta64[{unit}]")) for unit in ("ns", "us", "ms"))
    yield pd.Series(seconds.to_pytimedelta(), dtype=object)


@pytest.mark.parametrize("units", ["s", "ms"])
def test_durations_have_their_own_unit_and_moments_none(units):
    for series in durations([1.0, 1.5, 2.0]):
        times = pd.DataFrame({"time": series}).perf.to_timings(value="time", units=units)
        assert times["time"].values.tolist() == [1.0, 1.5, 2.0]
        assert times["time"].attrs == {"units": "s", "better": "lower"}
    with pytest.raises(ValueError, match="column 'start' holds moments, not durations"):
        pd.DataFrame({"start": pd.to_datetime(["2024-01-01", "2024-01-02"])}).perf.to_timings(
            value="start"
        )
    with pytest.raises(ValueError, match="where a number was expected"):
        perfarray.from_samples({"a": np.array([1, 2], dtype="timedelta64[ns]")})


def test_a_number_without_a_direction_gets_no_verdict():
    """A rate without a unit is read without `better`; a verdict needs it, and a mean does not."""
    frame = pd.DataFrame({"version": ["a"] * 3 + ["b"] * 3, "iops": [1.0, 1.1, 1.2, 2.0, 2.1, 2.2]})
    times = frame.perf.to_timings(value="iops", units="1")
    assert "better" not in times["iops"].attrs
    assert times.perf.mean_interval()["estimate"].sel(version="a").item() == pytest.approx(1.1)
    with pytest.raises(
        ValueError, match=r"'iops' does not say whether more or less .*better='higher'"
    ):
        times.perf.compare("a")
    for better, verdict in (("higher", "faster"), ("lower", "slower")):
        iops = frame.perf.to_timings(value="iops", units="1", better=better)
        assert iops.perf.compare("a")["verdict"].item() == verdict


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, "nan", "-Inf"])
def test_a_value_that_is_no_number_was_not_measured(value):
    """It leaves the others as they are, and is counted with its row unless it is NaN, as missing
    values are."""
    frame = pd.DataFrame({"benchmark": ["a", "a", "b"], "time": [1.0, value, 3.0]})
    if value != value:
        times = frame.perf.to_timings()
    else:
        with pytest.warns(
            perfarray.PerfarrayWarning,
            match=(
                "1 value of column 'time' counts as not measured, since they are no numbers; "
                "the first is in row 2"
            ),
        ) as caught:
            times = frame.perf.to_timings()
        assert caught[0].message.notes[0].code == "no_numbers"
    np.testing.assert_array_equal(times["time"], [[1.0, np.nan], [3.0, np.nan]])


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_durations_in_files(tmp_path, suffix):
    """As pandas writes them to a CSV file, and with their type in Parquet."""
    frame = pd.DataFrame({"benchmark": "fft", "time": pd.to_timedelta([1.0, 1.5], unit="s")})
    if suffix == "parquet":
        pytest.importorskip("pyarrow", reason="pip install 'perfarray[tables]'")
        frame.to_parquet(tmp_path / "t.parquet")
    else:
        frame.to_csv(tmp_path / "t.csv", index=False)
    times = perfarray.read(tmp_path / f"t.{suffix}")
    assert (times["time"].values.tolist(), times["time"].attrs["units"]) == ([[1.0, 1.5]], "s")


def test_blanks_around_names_of_columns():
    frame = pd.DataFrame({"benchmark ": ["a", "b"], " time": [1.0, 2.0]})
    assert list(frame.perf.to_timings().dims) == ["benchmark", "execution"]
    with pytest.raises(ValueError, match="the table has a column twice: 'benchmark'"):
        frame.assign(benchmark="a").perf.to_timings()


def test_runs_that_failed_may_be_kept(tmp_path):
    table(exit_code=[0, 0, 0, 1]).to_csv(tmp_path / "t.csv", index=False)
    assert "failed" not in perfarray.read(tmp_path / "t.csv", keep_failed=True).coords


def lost(frame, share):
    """Return a table that lost a share of its runs."""
    return frame[np.random.default_rng(5).random(len(frame)) >= share]


def nested(**columns):
    """Return 20 runs of each of three labels of each of four programs."""
    rows = [
        (f"p{program}", f"{label} of p{program}")
        for program in range(4)
        for label in "xyz"
        for _ in range(20)
    ]
    frame = pd.DataFrame(rows, columns=["benchmark", "input"]).assign(**columns)
    return frame.assign(time=np.linspace(1, 2, len(frame)))


def test_lost_runs_make_no_remark_of_a_label():
    """Crossed, by benchmark, or with other numbers of labels in each: the runs of cells vary far
    less than by chance."""
    partial = nested()[lambda frame: ~frame["input"].isin(["x of p1", "x of p3", "y of p3"])]
    for frame, labels in ((nested(), 12), (partial, 9), (nested(input=[*"xyz"] * 80), 3)):
        assert sizes(lost(frame, 0.12))["input"] == labels


def test_remarks_make_no_remark_of_a_label():
    """Within the runs of one remark the labels of a design are unequal, and labels all the same."""
    remarks = np.random.default_rng(2).choice(["ok", "noisy", "throttled"], 40, p=[0.7, 0.2, 0.1])
    frame = table(runs=10, governor=["performance"] * 5 + ["powersave"] * 5, state=remarks)
    for columns in (list(frame), list(frame)[::-1]):
        with pytest.warns(
            perfarray.PerfarrayWarning, match="column 'governor' is a dim.*column 'state' varies"
        ):
            assert sizes(frame[columns])["governor"] == 2


@pytest.mark.parametrize("level", ["execution", "iteration"])
def test_remarks_on_numbered_runs_are_no_dims(level):
    """Whether executions or their iterations were remarked on."""
    rng, rows = np.random.default_rng(4), 2 * 30 * 3
    frame = pd.DataFrame(
        {
            "benchmark": np.repeat(["a", "b"], 90),
            "execution": np.tile(np.repeat(range(30), 3), 2),
            "iteration": np.tile(range(3), 60),
            "time": rng.uniform(1, 2, rows),
        }
    )
    remarks = rng.choice(["ok", "throttled"], rows, p=[0.7, 0.3])
    frame["state"] = remarks if level == "iteration" else np.repeat(remarks[:60], 3)
    times = frame.perf.to_timings()
    assert (dict(times.sizes), level in times["state"].dims) == (
        {"benchmark": 2, "execution": 30, "iteration": 3},
        True,
    )


def test_benchmarks_may_have_unequal_runs():
    """What is called a program is a label, however often it ran."""
    frame = pd.DataFrame(
        {
            "program": ["fft"] * 30 + ["sort"] * 10,
            "mode": ["a", "b"] * 20,
            "time": np.linspace(1, 2, 40),
        }
    )
    assert sizes(frame) == {"program": 2, "mode": 2, "execution": 15}


def test_numbers_by_benchmark_are_dims_with_one_run_a_cell():
    """Sizes that every mode of a benchmark has, once each."""
    rows = [
        (name, mode, scale * size)
        for name, scale in (("a", 1), ("b", 10))
        for mode in "xyz"
        for size in (3, 5, 8, 13)
    ]
    frame = pd.DataFrame(rows, columns=["benchmark", "mode", "window"]).assign(
        time=np.linspace(1, 2, 24)
    )
    with pytest.warns(perfarray.PerfarrayWarning, match="'window' are dims"):
        assert sizes(frame) == {"benchmark": 2, "mode": 3, "window": 8, "execution": 1}


def test_identifiers_are_no_settings():
    """`core_id` says where a run was, and `cores` how many it had."""
    with pytest.raises(ValueError, match="'core_id' may be a setting or a measured number"):
        table(runs=10, core_id=[3, 1, 1, 0, 2, 2, 2, 1, 3, 1]).perf.to_timings()
    with pytest.raises(ValueError, match="'core_id' may be a setting or a measured number"):
        table(runs=10, core_id=np.random.default_rng(1).integers(0, 4, 40)).perf.to_timings()


def test_lost_runs_change_no_question():
    """Decimals and numberings are asked for where runs were lost, too."""
    with pytest.raises(ValueError, match="column 'theta' may be a setting"):
        lost(table(runs=20, theta=[0.1, 0.5] * 10), 0.12).perf.to_timings()
    with pytest.raises(ValueError, match="column 'k' looks like a numbering"):
        lost(table(runs=20, k=range(20)), 0.12).perf.to_timings()
