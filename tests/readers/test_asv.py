"""asv's results: versions of the format, parameters, failures, samples, and the folder of a
project."""

import pytest

import perfarray
from readers.files_of_our_own import NAN, check, read_placed, readings, refusals, write


def results(benchmarks, commit="0123456789abcdef", machine="box", **fields):
    params = {
        "machine": machine,
        "arch": "x86_64",
        "cpu": "A CPU",
        "os": "Linux",
        "ram": "8G",
        "python": "3.14",
        "numpy": "",
    }
    return {
        "version": 1,
        "commit_hash": commit,
        "date": 1700000000000,
        "params": params,
        "env_name": "py3.14",
        "results": benchmarks,
    } | fields


def read(tmp_path, benchmarks, name="01234567-py3.14.json", **fields):
    return perfarray.read(write(tmp_path / name, results(benchmarks, **fields)))


COMBINATIONS = {"params": [["1", "inf"], ["'x'", "None"]], "result": [1.0, 2.0, 3.0, 4.0]}
FIRST = {"a.time_sort": 0.5, "a.mem_list": 100, "a.T.time_q": COMBINATIONS}
FAILED = {
    "time_a": None,
    "time_b": NAN,
    "time_c": {"params": [["1", "2"]], "result": None},
    "time_d": {"params": [["1", "2"]], "result": [1.0, None]},
    "track_n": 7,
}
COLUMNS = [
    "result",
    "params",
    "version",
    "started_at",
    "duration",
    "stats_ci_99_a",
    "stats_number",
    "samples",
]
SECOND = {
    "a.time_sort": [[0.5], [], "hash", 1, 2.0, [0.4], [10], [[0.5, 0.6]]],
    "a.time_q": [[1.0, 2.0], [["1", "2"]], "hash"],
}


def single_runs(*values):
    """Return values of benchmarks of one machine, commit, execution and iteration."""
    return [[[[[value]]]] for value in values]


test_what_is_read = readings(
    lambda folder, content: perfarray.read(write(folder / "a.json", content)),
    [
        (
            (
                "a result is a number, or has parameters, which make a benchmark each, in "
                "row-major order"
            ),
            results(FIRST),
            {
                "time.dims": ("benchmark", "machine", "commit", "execution", "iteration"),
                "time": single_runs(0.5, NAN, 1.0, 2.0, 3.0, 4.0),
                "memory": single_runs(NAN, 100, NAN, NAN, NAN, NAN),
                "memory.attrs": {"units": "B", "better": "lower"},
                "benchmark": [
                    "a.time_sort",
                    "a.mem_list",
                    "a.T.time_q(1, 'x')",
                    "a.T.time_q(1, None)",
                    "a.T.time_q(inf, 'x')",
                    "a.T.time_q(inf, None)",
                ],
                "benchmark_name": ["a.time_sort", "a.mem_list", *["a.T.time_q"] * 4],
                "machine": "box",
                "commit": "01234567",
                "commit_date": "2023-11-14T22:13:20+00:00",
                "environment": "py3.14",
                "absent": ["numpy"],
            },
        ),
        (
            (
                "null failed and is named, NaN was not measured; one null may stand for all "
                "combinations"
            ),
            results(FAILED),
            {
                "failed": single_runs(True, False, True, True, False, True, False),
                "time": single_runs(*[NAN] * 4, 1.0, NAN, NAN),
                "track": single_runs(*[NAN] * 6, 7),
                "notes": ["failed_entries"],
            },
            (
                r"4 benchmarks have failed runs: 'time_a: its result is null', 'time_c\(1\): .*', "
                r"'time_d\(2\): .*all others are read"
            ),
        ),
        (
            "a list of one null stands for all combinations, too",
            results({"time_a": {"params": [["x", "y"], ["1"]], "result": [None]}, "time_b": 2.0}),
            {
                "benchmark": ["time_a(x, 1)", "time_a(y, 1)", "time_b"],
                "failed": single_runs(True, True, False),
                "time": single_runs(NAN, NAN, 2.0),
            },
            "2 benchmarks have failed runs",
        ),
        (
            "a time of 0 is a value",
            results({"time_a": 0, "mem_b": 0, "track_c": 0}),
            {
                "time": single_runs(0.0, NAN, NAN),
                "memory": single_runs(NAN, 0.0, NAN),
                "track": single_runs(NAN, NAN, 0.0),
                "notes": [],
            },
        ),
        (
            "a sample that is no number is missing, and named",
            results(
                {"time_a": [[0.5], [], [[0.5, None, 0.7]]]},
                version=2,
                result_columns=["result", "params", "samples"],
            ),
            {"time": [[[[[0.5, NAN, 0.7]]]]], "notes": ["no_numbers"]},
            "1 value is missing: \"'time_a': result 0: value 1 is null\"",
        ),
        (
            (
                "results of the second version are lists with the columns of the file and may end "
                "early; samples are iterations"
            ),
            results(SECOND, version=2, result_columns=COLUMNS),
            {
                "time": [[[[[0.5, 0.6]]]], [[[[1.0, NAN]]]], [[[[2.0, NAN]]]]],
                "loops": [[[10, 10]], [[NAN, NAN]], [[NAN, NAN]]],
            },
        ),
        *(
            (
                f"{value} stands where a list belongs: version {fields.get('version', 1)}",
                results({"time_a": first, "time_b": second}, **fields),
                {"time": single_runs(value, 3.0), **missing},
            )
            for value, missing in (
                (2.0, {"absent": ["failed"]}),
                (NAN, {"failed": single_runs(False, False)}),
            )
            for first, second, fields in (
                ({"result": value, "stats": {"number": 5}}, 3.0, {}),
                (
                    [value, [], {"number": 5}],
                    [3.0],
                    {"version": 2, "result_columns": ["result", "params", "stats"]},
                ),
            )
        ),
        (
            "a file may have neither parameters nor date nor environment",
            {"commit_hash": "c" * 40, "results": {"time_a": 1.0}},
            {"machine": "unknown", "commit": "cccccccc", "time": 1.0},
        ),
    ],
)


def test_the_folder_of_a_project(tmp_path):
    """Machine and commit are dims; files of asv are skipped in silence, other files with a note."""
    for machine in ("box", "cloud"):
        write(tmp_path / machine / "machine.json", {"machine": machine, "version": 1})
        for commit, value in (("b" * 40, 2.0), ("a" * 40, 1.0)):
            write(
                tmp_path / machine / f"{commit[:8]}-py3.14.json",
                results({"time_sort": value}, commit, machine),
            )
    write(tmp_path / "benchmarks.json", {"time_sort": {}})
    times = perfarray.read_archive(tmp_path)
    assert dict(times.sizes) == {
        "benchmark": 1,
        "machine": 2,
        "commit": 2,
        "execution": 1,
        "iteration": 1,
    }
    check(times.sel(commit="aaaaaaaa").squeeze(), time=[1.0, 1.0])
    write(tmp_path / "box" / "cccccccc.json", {"explanation": "valid JSON and no result"})
    write(tmp_path / "box" / "dddddddd.json", "no JSON at all")
    with pytest.warns(
        perfarray.PerfarrayWarning,
        match="2 are of no known format and left out: 'box/cccccccc.json', 'box/dddddddd.json'",
    ):
        perfarray.read_archive(tmp_path)


def test_old_files_have_the_environment_in_their_name(tmp_path):
    content = {
        key: value for key, value in results({"time_sort": 1.0}).items() if key != "env_name"
    }
    check(
        perfarray.read(write(tmp_path / "01234567-py2.7-numpy.json", content)),
        environment="py2.7-numpy",
    )


def test_what_files_say_lies_along_the_dims_they_differ_in(tmp_path):
    """Hash and date along the commit, packages along the environment, hardware along the machine;
    none is one file's for all."""
    for machine, cpu in (("box", "A"), ("cloud", "B")):
        for number, commit in enumerate(("c" * 40, "b" * 40, "a" * 40)):
            for numpy in ("1.8", "2.4") if commit[0] == "a" else ("1.8",):
                content = results(
                    {"time_sort": 1.0},
                    commit,
                    machine,
                    env_name=f"numpy{numpy}",
                    date=1700000000000 + 1000 * number,
                )
                content["params"] |= {"cpu": cpu, "numpy": numpy}
                write(tmp_path / machine / f"{commit[:8]}-numpy{numpy}.json", content)
    times = perfarray.read_archive(tmp_path)
    dims = {
        "commit_hash": ("commit",),
        "commit_date": ("commit",),
        "numpy": ("environment",),
        "cpu": ("machine",),
    }
    assert {name: times[name].dims for name in dims} == dims
    check(
        times.sel(commit="bbbbbbbb", environment="numpy2.4", machine="cloud"),
        commit_hash="b" * 40,
        numpy="2.4",
        cpu="B",
        os="Linux",
    )
    check(times, commit=["cccccccc", "bbbbbbbb", "aaaaaaaa"])  # of a folder, by date
    check(
        perfarray.read_archive(sorted(tmp_path.glob("*/*.json"))),
        commit=["aaaaaaaa", "bbbbbbbb", "cccccccc"],
    )


CHANGED = {f"{commit}.json": results({"time_sort": 1.0}, commit * 8) for commit in "ba"}
CHANGED["b.json"]["params"]["os"] = "Linux 6"

test_folders = readings(
    read_placed,
    [
        (
            "several environments are a dim",
            (
                None,
                {
                    f"{python}.json": results({"time_sort": value}, env_name=python)
                    for python, value in (("py3.13", 1.0), ("py3.14", 2.0))
                },
            ),
            {
                "environment": ["py3.13", "py3.14"],
                "time.dims": (
                    "benchmark",
                    "machine",
                    "commit",
                    "environment",
                    "execution",
                    "iteration",
                ),
                "time": [[[[[[1.0]], [[2.0]]]]]],
            },
        ),
        (
            "the system of a machine that changed between commits lies along them",
            (None, CHANGED),
            {
                "commit": ["aaaaaaaa", "bbbbbbbb"],
                "os.dims": ("commit",),
                "os": ["Linux", "Linux 6"],
            },
        ),
    ],
)
test_what_is_wrong_is_said = refusals(
    read,
    "01234567-py3.14.json",
    [
        ({"time_a": -1}, "'time_a': result 0: value 0 is -1; expected a number from 0"),
        (
            {"time_a": {"params": [["1", "2"]], "result": [1.0]}},
            "'time_a' has 1 results and 2 combinations",
        ),
        (
            {"time_a": {"params": [["1"] * 3000] * 3, "result": None}},
            "'time_a' has 27000000000 combinations",
        ),
        (
            {"time_a": {"params": [["1"] * 1000, ["2"] * 100], "result": None}},
            "'time_a' has 100000 combinations of parameters; 65536 are",
        ),
        ({}, "holds no measurement"),
    ],
)


def test_units_and_names_of_parameters(tmp_path):
    """They are in `benchmarks.json` above the machine's folder, or passed over; what is tracked has
    a variable for each unit."""
    descriptions = {
        "T.track_n": {"unit": "items/s", "param_names": ["size"]},
        "T.track_m": {"unit": "unit", "param_names": []},
        "version": 2,
    }
    write(tmp_path / "benchmarks.json", descriptions)
    benchmarks = {"T.track_n": {"params": [["1", "2"]], "result": [3.0, 4.0]}, "T.track_m": 5.0}
    path = write(tmp_path / "box" / "01234567-py3.14.json", results(benchmarks))
    times = perfarray.read(path)
    assert times["track_items_s"].attrs == {"units": "items/s", "better": "higher"}
    assert times["size"].values.tolist()[:2] == [1, 2]
    check(times.sel(benchmark="T.track_m"), track=5.0)
    assert (
        perfarray.read(path, dims={"size": "size"})["track_items_s"]
        .sel(benchmark="T.track_n", size="2")
        .item()
        == 4.0
    )
    for odd in ("{", {"T.track_n": {"param_names": 5, "unit": "s"}}):
        write(tmp_path / "benchmarks.json", odd)
        assert perfarray.read(path)["arg0"].values.tolist()[:2] == [1, 2]
