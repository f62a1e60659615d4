"""`perfarray compare` and `perfarray demo`: what they print, exit codes, errors of one line."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import perfarray
from cli.commands import OLD, as_json, one_line, refused, run, times, write, write_rows, write_sides
from perfarray.cli import app as cli
from perfarray.results import printed
from readers.files_of_our_own import entry


def compare(old, new, *options, code=None):
    """Compare two sides, each a dict of benchmarks to times."""
    return run("compare", *write_sides(old, new), *options, code=code)


def jmh(path, scores):
    """Write a JMH result in throughput mode: benchmark to one list of iterations per fork."""
    entries = [
        entry(f"org.example.{name}", forks, "ops/s", "thrpt") for name, forks in scores.items()
    ]
    Path(path).write_text(json.dumps(entries))
    return path


@pytest.fixture
def sides():
    """Two files: `steady` stays, `better` is 20 % faster, `worse` 20 % slower."""
    changed = {"steady": times(1.0), "better": times(0.8), "worse": times(1.2)}
    return write_sides(dict.fromkeys(changed, OLD), changed)


class TestDemo:
    def test_story(self):
        """It shows what was measured, where the variation is, the verdicts, the suite, and what to
        do next, which works."""
        result = run("demo", code=0)
        assert result.stderr == ""
        for text in (
            "fft                   15  10 (150 in all)  20 (3000 in all)",
            (
                "matrix_product  O2      839 us       29 % (46 %)         27 % (39 %)         16 % "
                "(15 %)"
            ),
            (
                "string_search   5.05 ms -> 4.55 ms  1.11x faster (1.10 to 1.12)                  "
                "faster"
            ),
            "unchanged (1.01x faster to 1.02x slower)     equivalent",
            "all 5",
            "n = 15 independent binaries on each side",
            "all benchmarks on the same binaries, treated jointly",
        ):
            assert text in result.stdout
        lines = result.stdout.splitlines()
        command = next(
            line.split()[1:] for line in lines if line.strip().startswith("perfarray compare")
        )
        assert run(*command).exit_code in (0, 1)
        code = [line.strip() for line in lines if line.startswith(("    import", "    times"))]
        assert len(code) == 4
        with pytest.warns(
            perfarray.PerfarrayWarning, match="one or two binaries cause most of the spread"
        ):
            exec("\n".join(code), {})

    def test_narrow_screen(self, monkeypatch):
        """Names, changes and intervals stay whole in 80 columns; a line names the columns that are
        dropped."""
        monkeypatch.setenv("COLUMNS", "80")
        printed = run("demo").stdout
        assert (
            "matrix_product  O2      839 us     29 % (46 %)   27 % (39 %)   16 % (15 %)" in printed
        )
        assert "1.11x faster (1.10 to 1.12)                  faster" in printed
        assert "5.05 ms -> 4.55 ms" not in printed
        assert "Not shown in 80 columns: O2 -> O3." in printed
        assert max(len(line) for line in printed.partition("4. What")[0].splitlines()) <= 80


class TestExitCodes:
    def test_slower_is_1(self, sides):
        """One benchmark that is slower is enough."""
        printed = run("compare", *sides, "--threshold", "2%", code=1).stdout
        assert "1.000 s -> 1.200 s  1.200x slower (1.178 to 1.222)" in printed
        assert (
            "3 compared: 1 slower, 1 faster, 1 equivalent, 0 inconclusive; all together 1.014x "
            "faster"
        ) in printed

    def test_nothing_slower_is_0(self):
        """Faster, equivalent and inconclusive are not slower."""
        result = compare(
            {"a": OLD, "b": OLD}, {"a": times(0.5), "b": times(1.0)}, "--threshold", "5%", code=0
        )
        assert (result.stderr, "equivalent" in result.stdout) == ("", True)

    def test_only_the_suite_slower_is_1(self):
        """Many small losses that are each inconclusive add up to a suite that is slower."""
        loose = np.array([0.9, 1.1, 0.95, 1.05, 1.0, 1.0])
        names = [f"b{i}" for i in range(40)]
        result = compare(dict.fromkeys(names, loose), dict.fromkeys(names, 1.05 * loose), code=1)
        assert (
            "40 compared: 0 slower, 0 faster, 0 equivalent, 40 inconclusive; all together "
            "1.05x slower (1.04 to 1.06)"
        ) in result.stdout

    def test_lower_throughput_is_slower(self):
        """Where higher is better, a ratio below 1 is slower, and above 1 faster."""
        forks = np.array([[100.0, 101.0], [99.0, 100.0], [101.0, 100.0], [100.0, 99.0]])
        entire, halved = forks.tolist(), (forks / 2).tolist()
        old = jmh("old.json", {"Suite.drops": entire, "Suite.rises": halved})
        new = jmh("new.json", {"Suite.drops": halved, "Suite.rises": entire})
        printed = run("compare", old, new, code=1).stdout
        assert "of which more is faster" in run("compare", old, new, "--explain").stdout
        rows = {line.split("[")[0].split(" ")[0]: line for line in printed.splitlines()}
        assert "100.00 ops/s -> 50.00 ops/s  2.000x slower (1.980 to 2.020)" in rows["drops"]
        assert "2.000x faster (1.980 to 2.020)" in rows["rises"]
        assert "Names of benchmarks begin with org.example.Suite." in printed
        run("compare", old, old, code=0)

    def test_one_execution_is_2(self):
        """One execution on each side shows no spread: no answer, one warning, and what to do."""
        old = jmh("old.json", {name: [[1.0, 1.1, 0.9]] for name in "ab"})
        new = jmh("new.json", {name: [[3.0, 3.1, 2.9]] for name in "ab"})
        result = run("compare", old, new, code=2)
        assert "3.00x faster (no interval)" in result.stdout
        assert (
            "No answer: there are no intervals. Each side needs at least two executions"
            in result.stdout
        )
        (line,) = result.stderr.splitlines()
        assert line.startswith("warning: 2 of 2 cells rest on one execution")
        printed = result.stdout.partition("For an answer")[2]
        assert printed.index("-f 10") < printed.index("--between EARLIER")
        assert "iteration" not in line + printed

    def test_what_one_execution_tells_is_shown(self):
        """The ratio, and what the iterations of both sides vary by: 10 and 3.33 %, and of the other
        sides, which have one, nothing."""
        old = jmh("old.json", {"a": [[0.9, 1.0, 1.1]], "b": [[1.0]]})
        new = jmh("new.json", {"a": [[2.9, 3.0, 3.1]], "b": [[3.0]]})
        header, _, *rows = run("compare", old, new, code=2).stdout.splitlines()[3:7]
        assert "iterations vary by  verdict" in header
        variation = 100 * np.sqrt((0.1**2 + (0.1 / 3) ** 2) / 2)
        assert f"3.00x faster (no interval) {variation:.2g} % " in one_line(rows[0])
        assert "%" not in rows[1]

    def test_one_execution_of_some_is_a_warning(self):
        """The other benchmarks still have their verdicts."""
        new = {"a": times(0.8), "b": times(1.0)[:1], "c": times(0.8)[:4]}
        result = compare({"a": OLD, "b": OLD[:1], "c": OLD}, new, code=0)
        assert "warning: 1 of 3 cells ('b, new') rest on one execution" in result.stderr
        assert "6 | 4" in result.stdout

    @pytest.mark.parametrize(
        ("content", "reason"),
        [
            (None, "there is no such file"),
            ("", "is empty"),
            ("hello\n", "no reader recognises"),
            ('[{"jmhVersion": "1.37", "benchmark": "a", "mode": "avgt"', "cut off"),
        ],
    )
    def test_unreadable_is_2(self, content, reason):
        """A line names the file that cannot be read, without a traceback."""
        if content is not None:
            Path("bad.json").write_text(content)
        line = refused("compare", "bad.json", write("new.csv", {"a": OLD}))
        assert line.startswith("error: bad.json: ")
        assert reason in line
        assert ("--on-error" in line) == (content is not None)

    @pytest.mark.parametrize(
        ("options", "text"),
        [
            ("--threshold 2", "percentage (2%)"),
            ("--threshold 1", "would be 100 %"),
            ("--threshold much", "not a number"),
            ("--confidence 95", "percentage (95%)"),
            ("--correction tukey", "holm"),
            ("--threshold -1%", "--threshold -1% is out of range"),
            ("--confidence 100%", "--confidence 100% is out of range"),
            ("--levels binary", "level 'binary' not found"),
            ("--metric energy", "metric 'energy' not found"),
            ("--format xml", "--format 'xml' is not known"),
            ("--shared session", "--shared 'session' is not one of the levels"),
            ("--layout {machine}_x.csv", "does not match --layout '{machine}_x.csv'"),
            (
                "--levels iteration,execution",
                "--levels iteration,execution is in the wrong order",
            ),
            ("--by suite", "--by 'suite' is not a coordinate along 'benchmark'"),
            ("--method none", "--method 'none' is not known; choose one of 'fieller', "),
            ("--dim machine", "are for the labels in one file"),
        ],
    )
    def test_wrong_options_are_2(self, sides, options, text):
        """An error names the option as it is typed, whether typer or the library refuses it."""
        result = run("compare", *sides, *options.split(), code=2)
        assert text in one_line(result.stderr.replace("│", " "))

    def test_a_defect_is_2(self, monkeypatch, capsys):
        """An unforeseen error must not look like a slower benchmark."""
        monkeypatch.setattr(cli, "app", lambda *_, **__: 1 / 0)
        with pytest.raises(SystemExit) as remaining:
            cli.main()
        assert remaining.value.code == 2
        assert "ZeroDivisionError" in capsys.readouterr().err

    @pytest.mark.skipif(sys.platform != "linux", reason="no such device elsewhere")
    def test_a_full_device_is_2(self):
        """One line says that there is no room for the output."""
        path = write("a.csv", {"fft": OLD})
        with open("/dev/full", "w", encoding="utf-8") as full:
            command = [sys.executable, "-m", "perfarray", "compare", path, path]
            child = subprocess.run(
                command, stdout=full, stderr=subprocess.PIPE, text=True, check=False
            )
        assert child.returncode == 2
        assert child.stderr.splitlines()[-1].startswith("error: [Errno 28]")

    def test_a_process_without_terminal(self, sides, monkeypatch, capsys):
        """A CI job sees no escape sequences, and the exit code of the answer."""
        monkeypatch.setattr(sys, "argv", ["perfarray", "compare", *map(str, sides)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = capsys.readouterr()
        assert (ended.value.code, "\x1b" in printed.out, printed.err) == (1, False, "")

    def test_a_closed_pipe_does_not_change_the_exit_code(self):
        """`perfarray compare ... | head -1` is not slower for it."""
        sides = write_sides(
            *({f"benchmark{i}": values for i in range(1000)} for values in (OLD, OLD[::-1]))
        )
        code = "from perfarray.cli.app import main; main()"
        command = [sys.executable, "-c", code, "compare", *map(str, sides), "--shared", "execution"]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            assert "\x1b" not in process.stdout.readline()
            process.stdout.close()
            assert process.stderr.read() == ""
            assert process.wait() == 0


class TestOptions:
    @pytest.mark.parametrize("text", ["2%", "2 %", "0.02", ".02"])
    def test_a_share_is_a_percentage_or_a_fraction(self, sides, text):
        assert as_json("compare", *sides, "--threshold", text)["attrs"][
            "threshold"
        ] == pytest.approx(0.02)

    def test_options_reach_the_comparison(self, sides):
        """Confidence, correction, levels and pairing are those of the result; without them the
        defaults of the library hold."""
        selection = (
            "--confidence",
            "90%",
            "--correction",
            "holm",
            "--levels",
            "execution,iteration",
            "--paired",
            "execution",
        )
        printed = run("compare", *sides, *selection).stdout
        for text in (
            "corrected for their number (holm)",
            "The suite is at 90 %",
            "96.67 % interval",
            "n = 6 matched pairs of executions",
        ):
            assert text in printed
        attrs = as_json("compare", *sides)["attrs"]
        assert (attrs["threshold"], attrs["confidence_level"], attrs["correction"]) == (
            0.0,
            0.95,
            "none",
        )
        assert (
            "\n3 verdicts at once. With up to 7 % probability one is a false 'slower'."
            in run("compare", *sides).stdout
        )

    def test_method(self, sides):
        """A bootstrap draws the same each time; the legend names a method that is not the default,
        and a warning the option."""
        first, second_run = (
            run("compare", *sides, "--method", "studentized", "--output", "csv").stdout
            for _ in range(2)
        )
        assert first == second_run != run("compare", *sides, "--output", "csv").stdout
        assert (
            "95 % intervals (method studentized)"
            in run("compare", *sides, "--method", "studentized").stdout
        )
        assert "(method" not in run("compare", *sides).stdout
        assert (
            "Each side needs more executions"
            in run("compare", *sides, "--method", "batch_means").stdout
        )
        short_values = compare({"a": [*OLD[:5], 1.0]}, {"a": [*OLD[:5], 9.0]})
        assert "or use --method 'studentized'" in short_values.stderr

    def test_medians(self):
        """`--statistic median` compares medians, says so, and names its methods where another is
        chosen."""
        answer = compare({"fft": OLD}, {"fft": times(0.9)}, "--statistic", "median", code=0)
        assert "95 % intervals; n = 6 independent executions on each side." in answer.output
        assert "change: of the median time, of which less is faster" in answer.output
        assert "1 compared by their medians: 0 slower, 1 faster" in answer.output
        line = refused(
            "compare", "old.csv", "new.csv", "--statistic", "median", "--method", "fieller"
        )
        assert (
            "choose one of 'order_statistics', 'rank', 'percentile', 'basic', 'bca', or "
            "--statistic 'mean'"
        ) in line

    def test_by(self):
        """`--by` names a coordinate of the benchmarks, also where one side lacks some; without it
        each suite has its row."""
        for side, names in (("x.csv", "abc"), ("y.csv", "abcd")):
            rows = [
                f"{name},{'int' if name == 'a' else 'fp'},{i},{time}"
                for name in names
                for i, time in enumerate(OLD)
            ]
            write_rows(side, "benchmark,suite,execution,time", rows)
        for options in (("--by", "suite"), ()):
            assert [
                row["suite"] for row in as_json("compare", "x.csv", "y.csv", *options)["suites"]
            ] == ["int", "fp"]
        assert "each suite has its own answer, as --by 'suite' gives it" in one_line(
            run("compare", "x.csv", "x.csv", "--explain").stdout
        )

    def test_notes_name_options(self):
        path = write_rows(
            "old.csv",
            "benchmark,time,energy",
            [row for time in OLD for row in (f"a,{time},", f"b,,{time}")],
        )
        assert (
            "have 'energy' (choose it with --metric)"
            in run("compare", path, path, "--metric", "time").stderr
        )

    def test_every_benchmark_is_judged_in_its_metric(self):
        """What has no time is judged by what it has on both sides; --metric chooses one, or
        several; a name may hold a comma."""
        sides = []
        for side, factor in (("old", 1.0), ("new", 1.5)):
            rows = [
                row
                for time in OLD
                for row in (f"a,{time},,", f"b,,{factor * time},", f"c,{time},{factor * time},")
            ]
            rows += [f"d,,,{time}" for time in OLD if side == "old"]
            sides.append(write_rows(f"{side}.csv", 'benchmark,time,energy,"heat, W"', rows))
        judged = json.loads(run("compare", *sides, "--output", "json", code=1).stdout)["benchmarks"]
        assert [(row["metric"], row["benchmark"]) for row in judged if row["n"] > 0] == [
            ("time", "a"),
            ("time", "c"),
            ("energy", "b"),
        ]
        assert [row["verdict"] for row in judged if row["n"] > 0][-1] == "slower"
        output_values = run("compare", *sides, code=1)
        assert "choose it with" not in output_values.stderr
        assert re.search(r"energy +b .* slower", output_values.stdout)
        assert run("compare", *sides, "--metric", "time").stdout.count("slower")
        combined = json.loads(
            run("compare", *sides, "--metric", "time,energy", "--output", "json", code=1).stdout
        )["benchmarks"]
        assert [
            row["verdict"] for row in combined if row["metric"] == "energy" and row["n"] > 0
        ] == [
            "slower",
            "slower",
        ]
        assert (
            "metric 'heat, W' not found"
            in run("compare", *sides, "--metric", '"heat, W"', code=2).stderr
        )
        assert (
            "metric 'heat' not found"
            in run("compare", *sides, "--metric", "heat,time", code=2).stderr
        )

    def test_version_and_help(self):
        """The version is the package's; the help states the exit codes."""
        assert run("--version").stdout == f"perfarray {perfarray.__version__}\n"
        assert "Exit code 1: a benchmark or the suite is slower" in run("compare", "--help").stdout


class TestFolders:
    @pytest.fixture(autouse=True)
    def _files(self):
        """Three files a side; `a` is 30 % slower."""
        for side, factor in (("old", 1.0), ("new", 1.3)):
            for i, drift in enumerate((1.0, 1.01, 0.99)):
                write(f"{side}/day{i}.csv", {"a": times(factor * drift)[:4], "b": times(drift)[:4]})

    @pytest.mark.parametrize(
        ("kind", "unit", "n"),
        [("session", "session", 3), ("execution", "execution", 12), ("separate", "execution", 4)],
    )
    def test_files_are(self, kind, unit, n):
        """Sessions are the unit, executions are pooled, separate files are compared by name;
        without the option there is no answer."""
        assert "--files-are session" in refused("compare", "old", "new")
        content = as_json("compare", "old", "new", "--files-are", kind, code=1)
        assert content["attrs"]["unit"] == unit
        assert {row["n"] for row in content["benchmarks"]} == {n}
        assert len(content["benchmarks"]) == (6 if kind == "separate" else 2)
        assert content["attrs"]["benchmarks"] == (
            "shared: session" if kind == "session" else "independent (assumed)"
        )

    def test_separate_files_are_named(self):
        printed = run("compare", "old", "new", "--files-are", "separate").stdout
        rows = [line.split()[:3] for line in printed.splitlines()]
        assert ["a", "day0.csv", "0.998"] in rows
        assert ["all", "2", "day2.csv"] in rows

    def test_layout(self):
        """What the path says needs no option."""
        content = as_json("compare", "old", "new/*.csv", "--layout", "day{session}.csv")
        assert {row["n_old"] for row in content["benchmarks"]} == {3}

    def test_files_are_without_need(self, sides):
        """An option that changes nothing is a warning, of two inputs and of one."""
        for positions in (sides, (sides[0], "--dim", "benchmark", "--baseline", "steady")):
            assert (
                "warning: --files-are session changes nothing"
                in run("compare", *positions, "--files-are", "session").stderr
            )

    @pytest.mark.parametrize("separator", ["-", "", "_run."])
    def test_numbered_files_are_runs(self, separator):
        """Of a pattern that the shell expands; without the option the command with it is printed.

        A number may as well be a version: then there is one input a version."""
        for side, factor in (("old", 1.0), ("new", 1.3)):
            for number, drift in enumerate((1.0, 1.01, 0.99), 9):
                write(f"{side}{separator}{number}.csv", {"a": [round(factor * drift, 4)]})
        inputs = [
            f"{side}{separator}{number}.csv" for side in ("old", "new") for number in (9, 10, 11)
        ]
        printed = run("compare", *inputs, code=2).stdout
        patterns = [f"{side}{separator}*.csv" for side in ("old", "new")]
        assert f"compare '{patterns[0]}' '{patterns[1]}' --files-are session" in printed
        content = as_json("compare", *inputs, "--files-are", "session", code=1)
        assert [content[side] for side in ("old", "new")] == patterns
        assert content == as_json("compare", *patterns, "--files-are", "session", code=1)
        assert [row["n_old"] for row in content["benchmarks"]] == [3]
        some = as_json("compare", *inputs[1:], "--files-are", "session")
        assert len(some["benchmarks"]) == 4
        assert "numbered files" not in run("compare", *inputs[:3], code=2).stdout

    def test_other_files_are_skipped(self):
        """A read-me between the results is named, and harmless."""
        write("x/a.csv", {"a": OLD})
        write("y/a.csv", {"a": times(0.8)})
        Path("y/README.txt").write_text("hello")
        result = run("compare", "x", "y", code=0)
        assert result.stderr.startswith("warning: of 3 files, 1 ")
        assert result.stderr.endswith("'README.txt'\n")


class TestSides:
    def test_benchmarks_of_one_side(self):
        """They are named, of many the first ten; where no benchmark is on both sides there is no
        answer."""
        fresh = {f"fresh{i}": OLD for i in range(14)}
        result = compare({"a": OLD, "gone, for good": OLD}, {"a": OLD} | fresh)
        assert "only in old, 1:\n    gone, for good\n" in result.stdout
        assert "only in new, 14:\n    fresh0\n" in result.stdout
        assert result.stdout.count("    fresh") == 10
        assert "    and 4 more (--output json names all)" in result.stdout
        assert result.stderr == ""
        line = refused("compare", *write_sides({"a": OLD, "c": OLD}, {"b": OLD}))
        assert all(fact in line for fact in ("'time'", "old has 'a', 'c'", "new has 'b'"))
        assert "beginning" not in line

    @pytest.mark.parametrize(
        ("old", "new", "heads"),
        [
            (
                ["code/t/b.py::a", "code/t/b.py::c"],
                ["project/t/b.py::a", "project/t/b.py::c"],
                ("code/", "project/"),
            ),
            (["ci/build/t/a"], ["t/x", "home/t/a"], ("ci/build/", "home/")),
            (["ci/build/t/a"], ["t/x", "home/me/t/a"], ("ci/build/", "home/me/")),
            (["code/a", "code/b"], ["node/a", "node/c"], None),
            (["a/x", "a/z"], ["a/y", "a/w"], None),
        ],
    )
    def test_names_that_differ_by_their_beginning(self, old, new, heads):
        """A run in another folder is told as such, with the way on."""
        line = refused("compare", *write_sides(dict.fromkeys(old, OLD), dict.fromkeys(new, OLD)))
        assert ("differ by their beginning" in line) is (heads is not None)
        if heads:
            assert "{!r} and {!r}. Run both from folders of one name".format(*heads) in line
            depths = [head.count("/") for head in heads]
            pattern = "'{root}/*'" if depths == [1, 1] else "'{root}/{root_2}/*'"
            assert (f"--families {pattern}" in line) is (depths[0] == depths[1])

    def test_two_machines_in_two_files(self):
        """A label that is constant on each side does not separate the sides, and is printed."""
        for path, machines, values in (
            ("old.csv", ["m1"], OLD),
            ("new.csv", ["m2"], times(0.8)),
            ("both.csv", ["m1", "m2"], OLD),
        ):
            rows = [
                f"a,{machine},{i},{time}" for machine in machines for i, time in enumerate(values)
            ]
            write_rows(path, "benchmark,machine,execution,time", rows)
        printed = run("compare", "old.csv", "new.csv", code=0).stdout
        assert "old.csv  (machine m1)" in printed
        assert "1.25x faster" in printed
        assert (
            "(machine" not in run("compare", "both.csv", "new.csv").stdout
        )  # m2 is on both sides: only its times are compared
        rows = as_json("compare", "both.csv", "new.csv")["benchmarks"]
        assert [(row["machine"], row["n_old"], row["n_new"]) for row in rows] == [
            ("m1", 6, 0),
            ("m2", 6, 6),
        ]

    def test_two_inputs_with_the_same_versions(self):
        """They are compared version by version."""
        for path, factor in (("x.csv", 1.0), ("y.csv", 1.5)):
            rows = [
                f"fft,{version},{i},{factor * value}"
                for version in ("1.0", "2.0")
                for i, value in enumerate(OLD)
            ]
            write_rows(path, "benchmark,version,execution,time", rows)
        rows = as_json("compare", "x.csv", "y.csv")["benchmarks"]
        assert [(row["version"], round(row["estimate"], 6)) for row in rows] == [
            ("1.0", 1.5),
            ("2.0", 1.5),
        ]

    @pytest.fixture
    def archive(self):
        """Two machines, each with another compiler, in one file."""
        machines = (("m1", "gcc", OLD), ("m2", "clang", times(1.2)))
        rows = [
            f"{name},{machine},{cc},{i},{time}"
            for machine, cc, values in machines
            for name in "ab"
            for i, time in enumerate(values)
        ]
        return write_rows("both.csv", "benchmark,machine,compiler,execution,time", rows)

    def test_labels_of_a_dim(self, archive):
        """Each label beside the baseline; a compiler that each machine has for itself becomes a
        descriptor."""
        printed = run("compare", archive, "--dim", "machine", "--baseline", "m1", code=1).stdout
        assert "m1 -> m2" in printed
        assert "1.20x slower" in printed
        assert printed.startswith("both.csv: every machine beside m1\n")
        run("compare", archive, "--dim", "machine", "--baseline", "m2", code=0)
        content = as_json("compare", archive, "--baseline", "m1")
        assert content["attrs"]["dim"] == "machine"
        assert [
            (row["benchmark"], row["n_old"], row["n_new"]) for row in content["benchmarks"]
        ] == [("a", 6, 6), ("b", 6, 6)]

    @pytest.mark.parametrize(
        ("options", "text"),
        [
            (
                "",
                (
                    "Choose what to compare with --dim and --baseline: --dim machine ('m1', "
                    "'m2'); --dim compiler "
                    "('gcc', 'clang')"
                ),
            ),
            ("--dim machine --baseline m3", "--baseline 'm3' is no machine; there is 'm1', 'm2'"),
            (
                "--dim tuning --baseline m1",
                "--dim 'tuning' not found. What was read has 'benchmark', ",
            ),
            (
                "--baseline m3",
                "--baseline 'm3' is no label of what was read. There is --dim machine",
            ),
        ],
    )
    def test_labels_that_are_missing(self, archive, options, text):
        """The error lists the labels that there are."""
        assert text in refused("compare", archive, *options.split())

    def test_programs_of_one_file(self):
        """The commands of one run of hyperfine are compared by name, without a suite row; an error
        proposes this."""
        path = write("runs.csv", {"sleep 1": OLD, "sleep 2": times(2.0), "sleep 3": times(3.0)})
        rows = as_json("compare", path, "--baseline", "sleep 1", code=1)["benchmarks"]
        assert [(row["program"], row["verdict"]) for row in rows] == [
            ("sleep 2", "slower"),
            ("sleep 3", "slower"),
        ]
        printed = run("compare", path, "--dim", "benchmark", "--baseline", "sleep 1").stdout
        assert "every benchmark beside sleep 1" in printed
        assert "all " not in printed.partition("95 % intervals")[0]
        assert "--dim benchmark ('sleep 1', 'sleep 2', 'sleep 3')" in refused("compare", path)
        two = write("two.csv", {"sleep 1": OLD[:1], "sleep 2": OLD[:1]})
        assert [
            row["program"] for row in as_json("compare", two, "--baseline", "sleep 1")["benchmarks"]
        ] == ["sleep 2"]
        assert (
            "1 of 1 cells rest on one execution"
            in run("compare", two, "--baseline", "sleep 1").stderr
        )
        line = refused("compare", write("one.csv", {"a": OLD}))
        assert "no dim of it has two labels to compare" in line
        assert "--dim benchmark" not in line

    def test_rows_without_an_answer(self, monkeypatch):
        """Of many rows the first are shown, and how many more there are; CSV has all."""
        monkeypatch.setattr("perfarray.cli.compare.MOST", 3)
        path = write("a.csv", {f"b{i}": OLD[:1] for i in range(9)})
        printed = run("compare", path, path, code=2).stdout
        assert "and 6 more benchmarks without an answer" in printed
        assert ("b2 " in printed, "b3 " in printed, "all 9" in printed) == (True, False, True)
        assert run("compare", path, path, "--output", "csv").stdout.count("\nb") == 9

    def test_units_of_a_label_that_only_one_row_has(self):
        """Where one tuning has no answer, the table has no column of it, and shows the units of the
        other."""
        rows = [
            *(f"fft,base,{i},{9 + i / 10}" for i in range(3)),
            "sort,base,0,8.0",
            "sort,base,1,8.1",
        ]
        old = write_rows("old.csv", "benchmark,tuning,execution,time_s", rows)
        rows += ["sort,base,2,8.2", "fft,peak,0,1.0", "fft,peak,1,1.1"]
        printed = run(
            "compare", old, write_rows("new.csv", "benchmark,tuning,execution,time_s", rows)
        ).stdout
        assert [
            line.split()[-1]
            for line in printed.splitlines()
            if line.startswith(("fft  ", "sort  "))
        ] == ["3", "3"]
        assert "2 | 3" in printed


class TestLimits:
    @pytest.mark.parametrize("limit", [",60", ""])
    def test_stopped_runs(self, limit):
        """They count and open the interval; where no limit is known there is no answer, and neither
        a number nor a verdict."""
        old = write("old.csv", {"fft": [10.0, 10.1, 9.9, 10.2]})
        rows = [
            f"fft,{i},{time},{int(not time)}{limit}" for i, time in enumerate((9.0, 9.1, "", ""))
        ]
        new = write_rows(
            "new.csv", f"benchmark,execution,time,censored{',censored_at' if limit else ''}", rows
        )
        result = run("compare", old, new, code=0 if limit else 2)
        assert "Left out" not in result.stdout
        if limit:
            assert "4 | 2" not in result.stdout
            assert "2 runs of the candidate were stopped" in result.stderr
            assert (
                "fft        10.1 s -> 34.5 s  at least 3.44x (anything is possible)  inconclusive"
                in result.stdout
            )
        else:
            assert ("nan" in result.stdout, "faster (" in result.stdout) == (False, False)
            assert "2 have no limit" in result.stderr

    def test_a_limit_on_one_side(self):
        """Few, wild runs of the baseline leave a ratio that is at least so much: it has a verdict,
        and no infinity is printed."""
        printed = compare({"a": [0.2, 1.0, 2.4]}, {"a": [30.0, 31.0, 32.0]}, code=1).stdout
        assert "at least 7.8" in printed
        assert "slower" in printed
        assert "inf" not in printed


class TestJson:
    def test_one_object_holds_all(self, sides):
        """Rows, suites, attrs, warnings and the reason of the exit code are on stdout, and nothing
        else."""
        content = as_json("compare", *sides, "--threshold", "2%", code=1)
        worse = next(row for row in content["benchmarks"] if row["benchmark"] == "worse")
        assert (worse["verdict"], worse["n"], worse["n_old"], worse["n_new"]) == ("slower", 6, 6, 6)
        assert worse["estimate"] == pytest.approx(1.2)
        assert content["suites"][0]["benchmarks"] == 3
        assert content["attrs"]["unit"] == "execution"
        assert (content["exit_code"], content["warnings"], content["old"]) == (1, [], str(sides[0]))
        assert "1 slower" in content["exit_reason"]

    def test_not_a_number(self):
        """NaN is null; infinite limits are the texts "-inf" and "inf", and an answer."""
        content = as_json("compare", *write_sides({"a": OLD[:1]}, {"a": OLD[1:2]}), code=2)
        assert (
            content["benchmarks"][0]["lower"],
            content["exit_code"],
            len(content["warnings"]),
        ) == (None, 2, 1)
        wild = write("wild.csv", {"a": [0.001, 10.0]})
        (row,) = as_json("compare", wild, wild, code=0)["benchmarks"]
        assert (row["lower"], row["upper"], row["kind"]) == ("-inf", "inf", "unbounded")
        assert "any ratio is possible" in run("compare", wild, wild).stdout

    def test_warnings_stand_once(self):
        """They are sentences of the command line; the notes of the result are not in its attrs as
        well."""
        content = as_json("compare", *write_sides(*[{"a": OLD, "b": OLD[:1]}] * 2))
        (warned,) = content["warnings"]
        assert warned.startswith("1 of 2 cells ('b, new') rest on one execution")
        assert "notes" not in content["attrs"]

    def test_an_error_is_an_object(self):
        """It has the keys of an answer, so that a script need not parse stderr."""
        content = as_json("compare", "none", "none", code=2)
        assert (content["exit_code"], content["attrs"]) == (2, {})
        assert content["exit_reason"].startswith("error: ")
        assert content["benchmarks"] == content["suites"] == content["notes"] == []


class TestNames:
    @pytest.mark.parametrize(
        ("names", "package"),
        [
            (["org.a.One.x", "org.a.Two.y[size=1.5]"], "org.a."),
            (["org.a.One.x"], ""),
            (["json_dumps", "json_loads"], ""),
            (["1.5 x", "1.5 y"], ""),
        ],
    )
    def test_common_package(self, names, package):
        """Only a package is taken off the names."""
        assert printed.common_package(names) == package

    @pytest.mark.parametrize(
        ("names", "settings", "short"),
        [
            (["a[t=1,n=2]", "b[t=1,n=3]"], ["t=1"], ["a[n=2]", "b[n=3]"]),
            (["a[t=1]", "b[t=1]"], ["t=1"], ["a", "b"]),
            (
                ["a[cpu=x, y @ 3 GHz,n=1]", "b[cpu=x, y @ 3 GHz,n=2]"],
                ["cpu=x, y @ 3 GHz"],
                ["a[n=1]", "b[n=2]"],
            ),
            (["a[t=1]", "b"], [], ["a[t=1]", "b"]),
            (["a[0][t=1]", "a[1][t=1]"], ["t=1"], ["a[0]", "a[1]"]),
            (["a[t=1]"], [], ["a[t=1]"]),
            (["a[1]", "b[1]"], [], ["a[1]", "b[1]"]),
        ],
    )
    def test_common_settings(self, names, settings, short):
        """Names keep the settings that distinguish them."""
        assert printed.common_settings(names) == settings
        assert [printed.without_settings(name, settings) for name in names] == short

    def test_markup_and_long_names(self, monkeypatch):
        """Names are text, not markup; one that is wider than the terminal loses no character."""
        path = write("a.csv", {"x" * 100: OLD, "sort[red]:smile:": OLD})
        assert "sort[red]:smile:" in run("compare", path, path).stdout
        monkeypatch.setenv("COLUMNS", "70")
        printed = run("compare", path, path).stdout
        assert (
            sum(
                line.count("x")
                for line in printed.splitlines()
                if set(line.split()[0] if line.split() else "") == {"x"}
            )
            >= 100
        )


def test_prior_and_between():
    """What is learned from the suite and from other sessions is in the verdicts, and said where it
    is asked for."""
    rng = np.random.default_rng(7)
    shifts = {f"nightly/{number}.csv": rng.normal(0, 0.02, 10) for number in range(4)}
    for name, shift in (shifts | {"old.csv": np.zeros(10), "new.csv": np.full(10, 0.02)}).items():
        write(name, {f"b{b}": (1 + shift[b]) * (b + 1) * rng.normal(1, 0.01, 3) for b in range(10)})
    plain, learned = (
        as_json("compare", "old.csv", "new.csv", *words)["benchmarks"]
        for words in ([], ["--prior", "suite"])
    )
    slower = [sum(row["verdict"] == "slower" for row in rows) for rows in (plain, learned)]
    assert slower[1] > slower[0]
    assert "prior_df" in learned[0]
    output_values = one_line(
        run(
            "compare", "old.csv", "new.csv", "--prior", "suite", "--between", "nightly", "--explain"
        ).output
    )
    assert "Variances learned from the suite: a standard deviation near" in output_values
    assert "Each side is one session. Intervals hold what sessions vary by" in output_values
    assert "within one session" in output_values
    stated_values = as_json("compare", "old.csv", "new.csv", "--between", "2%,5")["benchmarks"]
    assert stated_values[0]["session_standard_deviation"] == pytest.approx(0.02)
    for noise in ("2%,x", "2%"):
        answer = run("compare", "old.csv", "new.csv", "--between", noise, code=2)
        assert "as in 1%,5" in one_line(answer.output)


def test_the_only_answered_row_carries_its_own_name():
    """Where one benchmark is on both sides it is named, also if it is not the first, in every form
    of output."""
    rows = "".join(
        f"{name},{execution},{time}\n"
        for name, time in (("absent", 5), ("sort", 10))
        for execution in range(3)
    )
    Path("old.csv").write_text(f"benchmark,execution,time\n{rows}")
    Path("new.csv").write_text("benchmark,execution,time\nsort,0,20\nsort,1,20.5\nsort,2,21\n")
    for form in ("table", "markdown", "html", "csv", "json"):
        output = run("compare", "old.csv", "new.csv", "--output", form, code=1).stdout
        rows = [
            line
            for line in output.splitlines()
            if "slower" in line and ("sort" in line or "absent" in line)
        ]
        assert form in ("html", "json") or ("sort" in rows[0] and "absent" not in rows[0])
        assert "sort" in output


def test_the_only_answered_program_is_named_and_its_units_are_shown():
    """Of three commands one failed: the row says which one it is, and the legend how many runs each
    side has."""
    commands = {
        "first": ([1.0, 1.1, 1.2], [0, 0, 0]),
        "second": ([2.0, 2.1, 2.2], [0, 0, 0]),
        "broken": ([3.0, 3.1, 3.2], [139] * 3),
    }
    results = [
        {"command": name, "times": times, "exit_codes": codes}
        for name, (times, codes) in commands.items()
    ]
    Path("h.json").write_text(json.dumps({"results": results}))
    answer = run("compare", "h.json", code=1)
    assert one_line(answer.stdout).count("second 1.10 s -> 2.10 s") == 1
    assert "n = 3 independent executions on each side" in answer.stdout
    assert "'broken: 3 of 3 runs failed, exit code 139'" in answer.stderr
    results[1]["exit_codes"] = [0, 1, 0]
    Path("h.json").write_text(json.dumps({"results": results}))
    assert "n = 3 and 2 independent executions" in run("compare", "h.json", code=1).stdout


def test_counts_of_instructions_decide_without_intervals():
    """One run a side of an exact metric has a verdict, an exit code and no interval."""

    def counted(path, instructions):
        counts = {"Ir": {"metrics": {"Left": {"Int": instructions}}}}
        total = {"summary": {"Callgrind": counts}}
        profile = {"tool": "Callgrind", "summaries": {"parts": [], "total": total}}
        keys = {"kind": "LibraryBenchmark", "benchmark_exe": "/e", "benchmark_file": "/b.rs"}
        content = keys | {"module_path": "bench", "id": "short", "profiles": [profile]}
        Path(path).write_text(json.dumps(content))
        return path

    old, new = counted("old.json", 1_000_000), counted("new.json", 1_001_000)
    result = run("compare", old, new, code=1)
    assert "1000000 -> 1001000  1.001x slower (exact)  slower" in result.stdout
    assert "exact, without intervals; n = 1 independent execution on each side." in result.stdout
    assert "1 compared: 1 slower, 0 faster, 0 equivalent, 0 inconclusive" in result.stdout
    explained = run("compare", old, new, "--explain", "--threshold", "1%", code=0).stdout
    assert "faster, slower: it differs beyond 1 %" in explained
    assert "instructions is declared exact" in explained
