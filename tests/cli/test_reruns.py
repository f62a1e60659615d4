"""`--plan FILE` of `compare` and `stop`: what to run again, how often, as lines for a shell."""

import json
import re
import shlex
import shutil
import subprocess

import numpy as np
import pytest

import perfarray
from cli.commands import as_json, refused, run, write
from perfarray.readers.recognising import formats
from perfarray.timings.processes import RERUNS, any_of, rerun_command

NAMES = (
    "copy",
    "BM_sort<int>/1024",
    "a(b)[c]{2}.*$x",
    'it\'s;`id` "$HOME" \\d|e',
    "-v",
    "\u00fcn\u00ef",
)


def sides(tmp_path, changes, noise=0.01, runs=8):
    """Write tidy timings of two versions, each benchmark with its change."""
    rng = np.random.default_rng(1)
    return [
        write(
            tmp_path / f"{side}.csv",
            {
                name: [
                    float(x) for x in (change if side == "new" else 1) * rng.normal(1, noise, runs)
                ]
                for name, change in changes.items()
            },
        )
        for side in ("old", "new")
    ]


def rows_of(path):
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    return {name: int(number) for name, number in (line.split("\t") for line in lines)}


def test_inconclusive_benchmarks_and_no_others(tmp_path):
    """With as many units, `required_units` sees the change that was estimated, or of twice the
    threshold if that is more, with 90 % power."""
    old, new = sides(tmp_path, {"same": 1.0, "slower": 1.3, "near": 1.012, "equal": 1.001})
    plan = tmp_path / "plan.txt"
    for threshold in (0.0, 0.002):
        words = ("compare", old, new, "--plan", plan, "--threshold", str(threshold))
        answer = as_json(*words, code=1)
        open_rows = {
            row["benchmark"]: row
            for row in answer["benchmarks"]
            if row["verdict"] == "inconclusive"
        }
        further = rows_of(plan)
        names = re.findall("Too many to measure: (.*)", plan.read_text())
        unknown = set(", ".join(names).split(", ")) - {""}
        assert set(further) | unknown == set(open_rows)
        assert "slower" not in further
        assert further
        times = perfarray.read_archive({"old": str(old), "new": str(new)})
        for name, number in further.items():
            factor = np.exp(abs(np.log(open_rows[name]["estimate"])))
            change = max(factor - 1, 2 * threshold)
            required = times.sel(benchmark=name).perf.required_units(
                "old", change=change, threshold=threshold, power=0.9
            )
            exact = required["required"].item()
            # Numbers are those of `units`, the next of which is 3/2 or less.
            assert 0.98 * exact <= number + 8 <= max(1.6 * exact, exact + 2)


def test_the_answer_stays(tmp_path):
    """A plan is a file and a line more; the exit code and the rows are those without it."""
    old, new = sides(tmp_path, {"near": 1.003, "slower": 1.3})
    words = ("compare", old, new)
    with_plan = as_json(*words, "--plan", tmp_path / "p", code=1)
    assert with_plan == as_json(*words, code=1)
    assert "p: 1 benchmark to run again" in run(*words, "--plan", tmp_path / "p").stdout


def test_enough_units_and_nothing_to_do(tmp_path):
    """A change at the threshold needs another threshold, not more units; decided ones need none."""
    old, new = sides(tmp_path, {"edge": 1.05, "slower": 1.5}, noise=0.02, runs=40)
    plan = tmp_path / "plan.txt"
    run("compare", old, new, "--threshold", "5%", "--plan", plan, code=1)
    assert "near the threshold: edge\n" in plan.read_text()
    assert plan.read_text().endswith("# Nothing to run again.\n")
    run("compare", old, new, "--threshold", "1%", "--plan", plan, code=1)
    assert [line[0] for line in plan.read_text().splitlines()] == ["#", "#"]


def test_stop_plans_what_it_says(tmp_path):
    """The numbers are those of the column `still to run`."""
    old, _ = sides(tmp_path, {"a": 1.0, "b": 1.0}, noise=0.03, runs=12)
    plan = tmp_path / "plan.txt"
    answer = as_json("stop", old, "--half-width", "1%", "--plan", plan, code=1)
    more = {row["benchmark"]: row["more"] for row in answer["rows"] if row["more"]}
    assert rows_of(plan) == more
    assert more
    run("stop", old, "--half-width", "50%", "--plan", plan, code=0)
    assert rows_of(plan) == {}


@pytest.mark.skipif(
    shutil.which("bash") is None, reason="the commands are of a shell (since 2026-11)"
)
@pytest.mark.parametrize("unit", ["session", "execution", "iteration"])
@pytest.mark.parametrize("name", sorted(RERUNS))
def test_a_shell_hands_on_every_name(tmp_path, name, unit):
    """The tool gets the names as they are or as a regular expression of them, whatever they hold;
    nothing in them is carried out."""
    command = rerun_command(
        name, NAMES, 2, unit=unit, sizes={"execution": 3, "iteration": 4}, file="more/1"
    )
    if command is None:
        assert unit == "iteration"
        return
    tool = re.match(r"(?:\w+=\S+ )?([\w./]+)", RERUNS[name].command)[1]
    program = tmp_path / "tool"
    program.write_text(
        '#!/bin/sh\nfor word in "$@"; do printf "%s\\n" "$word" >> words; done\necho END >> words\n'
    )
    program.chmod(0o755)
    (tmp_path / "more").mkdir()
    command = command.replace(f"{tool} ", f"{program} ", 1)
    subprocess.run(["bash", "-euc", command], check=True, cwd=tmp_path)
    text = (tmp_path / "words").read_text()
    calls = [call.split("\n") for call in text.removesuffix("END\n").split("END\n")]
    by_option = RERUNS[name].level == unit
    assert len(calls) == (1 if by_option else 2)
    if name in ("pytest_benchmark", "hyperfine"):
        assert set(NAMES) <= {word.removeprefix("--command-name=") for word in calls[0]}
    elif name != "pyperf":
        (pattern,) = (word for word in calls[0] if "sort" in word)
        if name == "go":
            assert any(part == "^1024$" for part in pattern.split("/"))
        else:
            expression = re.compile(pattern.partition("=")[2] if "=" in pattern else pattern)
            assert all(expression.search(label) for label in NAMES if name != "jmh")
            assert not expression.search("copy2")
    assert {
        word for word in calls[0] if re.search(r"(-f|--runs|--processes|-count|repetitions)", word)
    } or not RERUNS[name].option


def test_formats_with_a_filter_are_formats():
    """And a name of a template is filled in."""
    assert set(RERUNS) <= set(formats())
    assert any_of(["a.b", "c|d"]) == r"^(a\.b|c\|d)$"


def test_names_of_each_tool():
    """Go splits expressions at slashes; JMH's and Go's labels end with settings that are no name;
    pytest takes an expression of bare names, and node ids otherwise."""
    words = {"unit": "session", "sizes": {}, "file": "x"}
    assert "'^(BenchmarkA|BenchmarkB)$|^BenchmarkC$/^n=1$' > x-$i.txt" in rerun_command(
        "go", ["A[pkg=p]", "B", "C/n=1[pkg=q]", "A"], 2, **words
    )
    labels = ["org.b.copy[n=1,mode=avgt]", "org.b.copy[n=8 k,mode=avgt]"]
    assert r"'^(org\.b\.copy)$' -p 'n=1,8 k' -rf" in rerun_command("jmh", labels, 2, **words)
    labels = ["org.b.copy[n=1,2]"]  # one param, n = "1,2"
    assert r"'^(org\.b\.copy)$' -rf" in rerun_command("jmh", labels, 2, **words)
    assert "pytest --benchmark-json=x-$i.json -k 'a or b';" in rerun_command(
        "pytest_benchmark", ["a", "b"], 2, **words
    )
    assert "-- 't.py::a[1]' t.py::b;" in rerun_command(
        "pytest_benchmark", ["t.py::a[1]", "t.py::b"], 2, **words
    )
    assert rerun_command("nanobench", ["a"], 2, **words) is None


def google_benchmark(path, rng, names, factor=1.0):
    """Write a file with two repetitions of each benchmark."""
    rows = [
        {
            "name": name,
            "run_name": name,
            "run_type": "iteration",
            "repetitions": 2,
            "repetition_index": repetition,
            "threads": 1,
            "iterations": 10,
            "real_time": 100 * factor * rng.normal(1, 0.02),
            "cpu_time": 1.0,
            "time_unit": "ns",
        }
        for name in names
        for repetition in range(2)
    ]
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"context": {}, "benchmarks": rows}))


def test_lines_of_a_tool_can_be_pasted(tmp_path):
    """The file is a script; a second plan writes to other files."""
    rng = np.random.default_rng(1)
    names = ["BM_a/8", "BM_b<int>", "BM_c\x1b[201~;id\n"]
    for number in range(6):
        for side in ("old", "new"):
            google_benchmark(tmp_path / side / f"{number}.json", rng, names)
    plan = tmp_path / "plan.sh"
    words = (
        "compare",
        tmp_path / "old",
        tmp_path / "new",
        "--files-are",
        "session",
        "--plan",
        plan,
    )
    run(*words, "--threshold", "1%")
    text = plan.read_text()
    assert text.startswith("# Further sessions of each side, by perfarray. A change as large as ")
    assert "\x1b" not in text
    assert "# Left out, with control characters in their names: 1" in text
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert lines[0] == "side=new; mkdir -p $side"
    assert len(lines) > 1
    for line in lines[1:]:
        assert re.match(r"for i in \$\(seq \d+\); do \./bench --benchmark_filter='\^\(BM_", line)
        assert "--benchmark_repetitions=2 --benchmark_out=$side/after-6-" in line
        assert shlex.split(line)
    for side in ("old", "new"):
        google_benchmark(tmp_path / side / "after.json", rng, names)
    run(*words, "--threshold", "1%")
    assert "after-7-" in plan.read_text()


def test_what_is_refused(tmp_path):
    """A plan does not replace what is read, or the answer; medians and --between have no forecast."""
    old, new = sides(tmp_path, {"same": 1.0})
    words = ("compare", old, new)
    assert "this is what would be read" in refused(*words, "--plan", old)
    assert "Name a file" in refused(*words, "--plan", tmp_path)
    assert "Name a file" in refused(*words, "--plan", tmp_path / "none" / "p")
    assert "another name" in refused(*words, "--plan", tmp_path / "p", "-o", tmp_path / "p")
    plan = ("--plan", tmp_path / "p")
    assert "--statistic median" in refused(*words, "--statistic", "median", *plan)
    assert "--between" in refused(*words, "--between", "1%,5", *plan)
    assert not (tmp_path / "p").exists()


def test_families_have_no_names_in_the_tool(tmp_path):
    """Their plan is a table."""
    rng = np.random.default_rng(1)
    names = [f"BM_{side}_sort/{size}" for side in ("std", "mine") for size in (8, 64)]
    for number in range(4):
        google_benchmark(tmp_path / "r" / f"{number}.json", rng, names)
    plan = tmp_path / "plan"
    run(
        "compare", tmp_path / "r", "--families", "BM_{version}_sort/*", "--baseline", "std",
        "--files-are", "session", "--plan", plan,
    )  # fmt: skip
    assert "./bench" not in plan.read_text()
    assert rows_of(plan)


def test_what_a_side_lacks_is_not_planned(tmp_path):
    """Of several candidates, a benchmark is run again for those that have it; one unit a side has
    no forecast, which the file says."""
    old, new = sides(tmp_path, {"near": 1.004, "once": 1.1, "slower": 1.3})
    other = write(tmp_path / "other.csv", {"near": (1.0, 1.1, 0.9), "third": (1.0, 1.1)})
    rows = [line for line in new.read_text().splitlines() if not line.startswith('"once",')]
    new.write_text("\n".join([*rows, '"once",0,0,1.1']) + "\n")
    plan = tmp_path / "plan"
    run("compare", old, new, other, "--plan", plan)
    text = plan.read_text()
    assert "third" not in text
    assert "slower" not in text
    assert "No number is known; begin with a few more: once\n" in text
    assert "near" in text
