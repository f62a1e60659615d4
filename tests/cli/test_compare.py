"""`perfarray compare` and `perfarray demo`: what they print, exit codes, errors of one line."""

import json
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import perfarray
from perfarray.cli import app as cli
from perfarray.cli import grid
from perfarray.cli.compare import OPTIONS
from perfarray.cli.problems import in_line
from perfarray.results import words

OLD = (1.00, 1.01, 0.99, 1.00, 1.02, 0.98)


def run(*arguments):
    """Run the command line in this process."""
    return CliRunner().invoke(cli.app, [str(argument) for argument in arguments])


def refused(*arguments):
    """Run a command that has no answer, and return its only line of error."""
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    return line


def as_json(*arguments):
    """Return the exit code and the strict JSON of an answer."""

    def refuse(constant):
        raise AssertionError(constant)

    result = run(*arguments, "--json")
    return result.exit_code, json.loads(result.stdout, parse_constant=refuse)


def write(path, benchmarks, value="time"):
    """Write a tidy CSV: benchmark to one value per execution, or to a list of iterations per execution."""
    lines = [f"benchmark,execution,iteration,{value}"]
    for name, executions in benchmarks.items():
        for i, values in enumerate(executions):
            iterations = values if isinstance(values, list) else [values]
            lines += [f'"{name}",{i},{j},{number}' for j, number in enumerate(iterations)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return path


def write_rows(path, header, rows):
    """Write a CSV of any columns."""
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def write_sides(folder, old, new):
    """Write two files."""
    return write(folder / "old.csv", old), write(folder / "new.csv", new)


def times(factor):
    """Return the times of OLD by a factor, in another order."""
    return [round(factor * value, 6) for value in reversed(OLD)]


def jmh(path, scores):
    """Write a JMH result in throughput mode: benchmark to one list of iterations per fork."""
    entries = [
        {
            "benchmark": f"org.example.{name}", "mode": "thrpt", "threads": 1, "forks": len(forks),
            "primaryMetric": {"score": 1.0, "scoreUnit": "ops/s", "rawData": forks}, "secondaryMetrics": {},
        }
        for name, forks in scores.items()
    ]  # fmt: skip
    path.write_text(json.dumps(entries))
    return path


@pytest.fixture
def sides(tmp_path):
    """Two files: `steady` stays, `better` is 20 % faster, `worse` 20 % slower."""
    changed = {"steady": times(1.0), "better": times(0.8), "worse": times(1.2)}
    return write_sides(tmp_path, dict.fromkeys(changed, OLD), changed)


class TestDemo:
    def test_story(self):
        """It shows what was measured, where the variation is, the verdicts, the suite, and what to do next, which works."""
        result = run("demo")
        assert (result.exit_code, result.stderr) == (0, "")
        for text in (
            "fft                   15  10 (150 in all)  20 (3000 in all)",
            "matrix_product  O2      839 us       29 % (46 %)         27 % (39 %)         16 % (15 %)",
            "string_search   5.05 ms -> 4.55 ms  1.109x faster (1.098 to 1.120)                     faster",
            "(1.014x faster to 1.018x slower)     equivalent",
            "all 5",
            "n = 15 independent binaries on each side",
            "all benchmarks on the same binaries, treated jointly",
        ):
            assert text in result.stdout
        lines = result.stdout.splitlines()
        command = next(line.split()[1:] for line in lines if line.strip().startswith("perfarray compare"))
        assert run(*command).exit_code in (0, 1)
        code = [line.strip() for line in lines if line.startswith(("    import", "    times"))]
        assert len(code) == 4
        with pytest.warns(perfarray.PerfarrayWarning, match="one or two binaries carry"):
            exec("\n".join(code), {})

    def test_narrow_screen(self, monkeypatch):
        """Names, changes and intervals stay whole in 80 columns; a line names the column that is dropped."""
        monkeypatch.setenv("COLUMNS", "80")
        printed = run("demo").stdout
        assert "matrix_product  O2      839 us     29 % (46 %)   27 % (39 %)   16 % (15 %)" in printed
        assert "1.109x faster (1.098 to 1.120)                     faster" in printed
        assert "5.05 ms -> 4.55 ms" not in printed
        assert "Not shown in 80 columns: O2 -> O3." in printed
        assert max(len(line) for line in printed.partition("4. What")[0].splitlines()) <= 80


class TestExitCodes:
    def test_slower_is_1(self, sides):
        """One benchmark that is slower is enough."""
        result = run("compare", *sides, "--threshold", "2%")
        assert result.exit_code == 1
        assert "1.00 s -> 1.20 s  1.200x slower (1.178 to 1.222)" in result.stdout
        assert "3 compared: 1 slower, 1 faster, 1 equivalent, 0 inconclusive; all together 1.014x faster" in result.stdout

    def test_nothing_slower_is_0(self, tmp_path):
        """Faster, equivalent and inconclusive are not slower."""
        result = run("compare", *write_sides(tmp_path, {"a": OLD, "b": OLD}, {"a": times(0.5), "b": times(1.0)}), "--threshold", "5%")
        assert (result.exit_code, result.stderr) == (0, "")
        assert "equivalent" in result.stdout

    def test_only_the_suite_slower_is_1(self, tmp_path):
        """Many small losses that are each inconclusive add up to a suite that is slower."""
        loose = [0.9, 1.1, 0.95, 1.05, 1.0, 1.0]
        names = [f"b{i}" for i in range(40)]
        result = run(
            "compare", *write_sides(tmp_path, dict.fromkeys(names, loose), {name: [1.05 * value for value in loose] for name in names})
        )
        assert "40 compared: 0 slower, 0 faster, 0 equivalent, 40 inconclusive; all together 1.050x slower (" in result.stdout
        assert result.exit_code == 1

    def test_lower_throughput_is_slower(self, tmp_path):
        """Where higher is better, a ratio below 1 is slower, and above 1 faster."""
        forks = [[100.0, 101.0], [99.0, 100.0], [101.0, 100.0], [100.0, 99.0]]
        halved = [[value / 2 for value in fork] for fork in forks]
        old = jmh(tmp_path / "old.json", {"Suite.drops": forks, "Suite.rises": halved})
        new = jmh(tmp_path / "new.json", {"Suite.drops": halved, "Suite.rises": forks})
        result = run("compare", old, new)
        assert result.exit_code == 1
        assert "of which more is faster" in run("compare", old, new, "--explain").stdout
        rows = {line.split("[")[0].split(" ")[0]: line for line in result.stdout.splitlines()}
        assert "100.0 ops/s -> 50.0 ops/s  2.000x slower (1.980 to 2.020)" in rows["drops"]
        assert "2.000x faster (1.980 to 2.020)" in rows["rises"]
        assert "Names of benchmarks begin with org.example.Suite." in result.stdout
        assert run("compare", old, old).exit_code == 0

    def test_one_execution_is_2(self, tmp_path):
        """One execution on each side shows no spread: no answer, one warning, and what to do."""
        old = jmh(tmp_path / "old.json", {"a": [[1.0, 1.1, 0.9]], "b": [[1.0, 1.1, 0.9]]})
        new = jmh(tmp_path / "new.json", {"a": [[3.0, 3.1, 2.9]], "b": [[3.0, 3.1, 2.9]]})
        result = run("compare", old, new)
        assert result.exit_code == 2
        assert "3.00x faster (no interval)" in result.stdout
        assert "No answer: there are no intervals; each side needs at least two executions" in result.stdout
        (line,) = result.stderr.splitlines()
        assert line.startswith("warning: all 2 benchmarks rest on one execution on a side")
        assert "-f 10" in line
        assert line.endswith("--levels iteration")
        assert run("compare", old, new, "--levels", "iteration").exit_code == 0

    def test_one_execution_of_some_is_a_warning(self, tmp_path):
        """The other benchmarks still have their verdicts."""
        old = {"a": OLD, "b": OLD[:1], "c": OLD}
        result = run("compare", *write_sides(tmp_path, old, {"a": times(0.8), "b": times(1.0)[:1], "c": times(0.8)[:4]}))
        assert result.exit_code == 0
        assert "warning: 'b' rests on one execution" in result.stderr
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
    def test_unreadable_is_2(self, tmp_path, content, reason):
        """A line names the file that cannot be read, without a traceback."""
        bad = tmp_path / "bad.json"
        if content is not None:
            bad.write_text(content)
        line = refused("compare", bad, write(tmp_path / "new.csv", {"a": OLD}))
        assert line.startswith(f"error: {bad}: ")
        assert reason in line
        assert ("--on-error" in line) == (content is not None)

    @pytest.mark.parametrize(
        ("options", "text"),
        [
            (("--threshold", "2"), "percentage (2%)"),
            (("--threshold", "1"), "would be 100 %"),
            (("--threshold", "much"), "not a number"),
            (("--confidence", "95"), "percentage (95%)"),
            (("--correction", "tukey"), "holm"),
            (("--threshold", "-1%"), "--threshold -1% is out of range"),
            (("--confidence", "100%"), "--confidence 100% is out of range"),
            (("--levels", "binary"), "level 'binary' not found"),
            (("--metric", "energy"), "metric 'energy' not found"),
            (("--format", "xml"), "--format 'xml' is not known"),
            (("--shared", "session"), "--shared 'session' is not one of the levels"),
            (("--layout", "{machine}_x.csv"), "does not match --layout '{machine}_x.csv'"),
            (("--levels", "iteration,execution"), "--levels iteration,execution turns the nest inside out"),
            (("--by", "suite"), "--by 'suite' is not a coordinate along 'benchmark'"),
            (("--method", "none"), "--method 'none' is not known; choose one of 'fieller', "),
            (("--dim", "machine"), "are for the labels in one file"),
        ],
    )
    def test_wrong_options_are_2(self, sides, options, text):
        """An error names the option as it is typed, whether typer or the library refuses it."""
        result = run("compare", *sides, *options)
        assert result.exit_code == 2
        assert text in " ".join(result.stderr.replace("│", " ").split())

    def test_a_defect_is_2(self, monkeypatch, capsys):
        """An unforeseen error must not look like a slower benchmark."""
        monkeypatch.setattr(cli, "app", lambda *_, **__: 1 / 0)
        with pytest.raises(SystemExit) as left:
            cli.main()
        assert left.value.code == 2
        assert "ZeroDivisionError" in capsys.readouterr().err

    @pytest.mark.skipif(sys.platform != "linux", reason="no such device elsewhere")
    def test_a_full_device_is_2(self, tmp_path):
        """One line says that there is no room for the output."""
        path = write(tmp_path / "a.csv", {"fft": OLD})
        with open("/dev/full", "w", encoding="utf-8") as full:
            command = [sys.executable, "-m", "perfarray", "compare", path, path]
            child = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert child.returncode == 2
        assert child.stderr.splitlines()[-1].startswith("error: [Errno 28]")

    def test_a_process_without_terminal(self, sides, monkeypatch, capsys):
        """A CI job sees no escape sequences, and the exit code of the answer."""
        monkeypatch.setattr(sys, "argv", ["perfarray", "compare", *map(str, sides)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = capsys.readouterr()
        assert (ended.value.code, "\x1b" in printed.out, printed.err) == (1, False, "")

    def test_a_closed_pipe_does_not_change_the_exit_code(self, tmp_path):
        """`perfarray compare ... | head -1` is not slower for it."""
        sides = write_sides(tmp_path, *({f"benchmark{i}": values for i in range(1000)} for values in (OLD, OLD[::-1])))
        code = "from perfarray.cli.app import main; main()"
        command = [sys.executable, "-c", code, "compare", *map(str, sides), "--shared", "execution"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert "\x1b" not in process.stdout.readline()
            process.stdout.close()
            assert process.stderr.read() == ""
            assert process.wait() == 0


class TestOptions:
    @pytest.mark.parametrize("text", ["2%", "2 %", "0.02", ".02"])
    def test_a_share_is_a_percentage_or_a_fraction(self, sides, text):
        """All of these are two per cent."""
        assert as_json("compare", *sides, "--threshold", text)[1]["attrs"]["threshold"] == pytest.approx(0.02)

    def test_options_reach_the_comparison(self, sides):
        """Confidence, correction, levels and pairing are those of the result; without them the defaults of the library hold."""
        chosen = ("--confidence", "90%", "--correction", "holm", "--levels", "execution,iteration", "--paired", "execution")
        printed = run("compare", *sides, *chosen).stdout
        for text in (
            "corrected for their number (holm)",
            "the suite is at 90 %",
            "96.67 % interval",
            "n = 6 matched pairs of executions",
        ):
            assert text in printed
        attrs = as_json("compare", *sides)[1]["attrs"]
        assert (attrs["threshold"], attrs["confidence_level"], attrs["correction"]) == (0.0, 0.95, "none")
        assert "\n3 verdicts at once: a chance of up to 7 % to call something slower that is not" in run("compare", *sides).stdout

    def test_method(self, sides, tmp_path):
        """A bootstrap draws the same each time; the legend names a method that is not the default, and a warning the option."""
        few = write_sides(tmp_path / "few", *({"a": [*OLD[:5], last]} for last in (1.0, 9.0)))
        assert "or use --method 'studentized'" in run("compare", *few).stderr
        first, again = (run("compare", *sides, "--method", "studentized", "--output", "csv").stdout for _ in range(2))
        assert first == again != run("compare", *sides, "--output", "csv").stdout
        assert "95 % intervals (method studentized)" in run("compare", *sides, "--method", "studentized").stdout
        assert "(method" not in run("compare", *sides).stdout
        assert "each side needs more executions" in run("compare", *sides, "--method", "batch_means").stdout

    def test_medians(self, tmp_path):
        """`--statistic median` compares medians, says so, and names its methods where another is chosen."""
        sides = write_sides(tmp_path, {"fft": OLD}, {"fft": times(0.9)})
        answer = run("compare", *sides, "--statistic", "median")
        assert answer.exit_code == 0
        assert "95 % intervals; n = 6 independent executions on each side." in answer.output
        assert "change: of the median time, of which less is faster" in answer.output
        assert "1 compared by their medians: 0 slower, 1 faster" in answer.output
        line = refused("compare", *sides, "--statistic", "median", "--method", "fieller")
        assert "choose one of 'order_statistics', 'rank', 'percentile', 'basic', 'bca', or --statistic 'mean'" in line

    def test_by(self, tmp_path):
        """`--by` names a coordinate of the benchmarks, also where one side lacks some; without it the suites of the row are named."""
        paths = []
        for side, names in (("x", "abc"), ("y", "abcd")):
            rows = [f"{name},{'int' if name == 'a' else 'fp'},{i},{time}" for name in names for i, time in enumerate(OLD)]
            paths.append(write_rows(tmp_path / f"{side}.csv", "benchmark,suite,execution,time", rows))
        assert [row["suite"] for row in as_json("compare", *paths, "--by", "suite")[1]["suites"]] == ["int", "fp"]
        printed = " ".join(run("compare", paths[0], paths[0], "--explain").stdout.split())
        assert "the ratios over the suites int, fp (--by suite gives each a row)" in printed

    def test_notes_name_options(self, tmp_path):
        """A note that proposes an argument of the library names the option."""
        rows = [row for time in OLD for row in (f"a,{time},", f"b,,{time}")]
        path = write_rows(tmp_path / "old.csv", "benchmark,time,energy", rows)
        assert "have 'energy' (choose it with --metric)" in run("compare", path, path).stderr

    def test_version_and_help(self):
        """The version is the package's; the help states the exit codes."""
        assert run("--version").stdout == f"perfarray {perfarray.__version__}\n"
        assert "Exit code 1: a benchmark or the suite is slower" in run("compare", "--help").stdout


class TestFolders:
    def files(self, tmp_path):
        for side, factor in (("old", 1.0), ("new", 1.3)):
            for i, drift in enumerate((1.0, 1.01, 0.99)):
                write(tmp_path / side / f"day{i}.csv", {"a": times(factor * drift)[:4], "b": times(drift)[:4]})
        return tmp_path / "old", tmp_path / "new"

    @pytest.mark.parametrize(
        ("kind", "unit", "n"), [("session", "session", 3), ("execution", "execution", 12), ("separate", "execution", 4)]
    )
    def test_files_are(self, tmp_path, kind, unit, n):
        """Sessions are the unit, executions are pooled, separate files are compared by name; without the option there is no answer."""
        assert "--files-are session" in refused("compare", *self.files(tmp_path))
        code, content = as_json("compare", *self.files(tmp_path), "--files-are", kind)
        assert content["attrs"]["unit"] == unit
        assert {row["n"] for row in content["benchmarks"]} == {n}
        assert len(content["benchmarks"]) == (6 if kind == "separate" else 2)
        assert content["attrs"]["benchmarks"] == ("shared: session" if kind == "session" else "independent (assumed)")
        assert code == 1

    def test_separate_files_are_named(self, tmp_path):
        """Rows and suites say which file they compare."""
        printed = run("compare", *self.files(tmp_path), "--files-are", "separate").stdout
        rows = [line.split()[:3] for line in printed.splitlines()]
        assert ["a", "day0.csv", "0.998"] in rows
        assert ["all", "2", "day2.csv"] in rows

    def test_layout(self, tmp_path):
        """What the path says needs no option."""
        old, new = self.files(tmp_path)
        content = as_json("compare", old, f"{new}/*.csv", "--layout", "day{session}.csv")[1]
        assert {row["n_old"] for row in content["benchmarks"]} == {3}

    def test_files_are_without_need(self, sides):
        """An option that changes nothing is a warning, of two inputs and of one."""
        assert "warning: --files-are session changes nothing" in run("compare", *sides, "--files-are", "session").stderr
        programs = ("--dim", "benchmark", "--baseline", "steady", "--files-are", "session")
        assert "warning: --files-are session changes nothing" in run("compare", sides[0], *programs).stderr

    def test_other_files_are_skipped(self, tmp_path):
        """A read-me between the results is named, and harmless."""
        write(tmp_path / "old" / "a.csv", {"a": OLD})
        write(tmp_path / "new" / "a.csv", {"a": times(0.8)})
        (tmp_path / "new" / "README.txt").write_text("hello")
        result = run("compare", tmp_path / "old", tmp_path / "new")
        assert result.exit_code == 0
        assert result.stderr.startswith("warning: of 3 files, 1 ")
        assert result.stderr.endswith("'README.txt'\n")


class TestSides:
    def test_benchmarks_of_one_side(self, tmp_path):
        """They are named, of many the first ten; where no benchmark is on both sides there is no answer."""
        fresh = {f"fresh{i}": OLD for i in range(14)}
        result = run("compare", *write_sides(tmp_path, {"a": OLD, "gone, for good": OLD}, {"a": OLD} | fresh))
        assert "only in old, 1:\n    gone, for good\n" in result.stdout
        assert "only in new, 14:\n    fresh0\n" in result.stdout
        assert result.stdout.count("    fresh") == 10
        assert "    and 4 more (--output json names all)" in result.stdout
        assert result.stderr == ""
        line = refused("compare", *write_sides(tmp_path, {"a": OLD, "c": OLD}, {"b": OLD}))
        assert all(fact in line for fact in ("'time'", "old has 'a', 'c'", "new has 'b'"))

    def test_two_machines_in_two_files(self, tmp_path):
        """A label that is constant on each side does not separate the sides, and is printed."""
        paths = [
            write_rows(tmp_path / f"{side}.csv", "benchmark,machine,execution,time", [f"a,{machine},{i},{t}" for i, t in enumerate(values)])
            for side, machine, values in (("old", "m1", OLD), ("new", "m2", times(0.8)))
        ]
        result = run("compare", *paths)
        assert result.exit_code == 0
        assert "old.csv  (machine m1)" in result.stdout
        assert "1.250x faster" in result.stdout
        both = write_rows(
            tmp_path / "both.csv",
            "benchmark,machine,execution,time",
            [f"a,{name},{i},{t}" for name in ("m1", "m2") for i, t in enumerate(OLD)],
        )
        result = run("compare", both, paths[1])  # m2 is on both sides: only its times are compared
        assert "(machine" not in result.stdout
        assert [(row["machine"], row["n_old"], row["n_new"]) for row in as_json("compare", both, paths[1])[1]["benchmarks"]] == [
            ("m1", 6, 0), ("m2", 6, 6)
        ]  # fmt: skip

    def test_two_inputs_with_the_same_versions(self, tmp_path):
        """They are compared version by version."""
        paths = []
        for name, factor in (("x", 1.0), ("y", 1.5)):
            rows = [f"fft,{version},{i},{factor * value}" for version in ("1.0", "2.0") for i, value in enumerate(OLD)]
            paths.append(write_rows(tmp_path / f"{name}.csv", "benchmark,version,execution,time", rows))
        rows = as_json("compare", *paths)[1]["benchmarks"]
        assert [(row["version"], round(row["estimate"], 6)) for row in rows] == [("1.0", 1.5), ("2.0", 1.5)]

    def archive(self, tmp_path):
        """Two machines, each with another compiler, in one file."""
        machines = (("m1", "gcc", OLD), ("m2", "clang", times(1.2)))
        rows = [
            f"{name},{machine},{compiler},{i},{time}"
            for machine, compiler, values in machines
            for name in ("a", "b")
            for i, time in enumerate(values)
        ]
        return write_rows(tmp_path / "both.csv", "benchmark,machine,compiler,execution,time", rows)

    def test_labels_of_a_dim(self, tmp_path):
        """Each label beside the baseline; a compiler that each machine has for itself becomes a descriptor."""
        path = self.archive(tmp_path)
        result = run("compare", path, "--dim", "machine", "--baseline", "m1")
        assert result.exit_code == 1
        assert "m1 -> m2" in result.stdout
        assert "1.200x slower" in result.stdout
        assert result.stdout.startswith(f"{path}: every machine beside m1\n")
        assert run("compare", path, "--dim", "machine", "--baseline", "m2").exit_code == 0
        content = as_json("compare", path, "--baseline", "m1")[1]
        assert content["attrs"]["dim"] == "machine"
        assert [(row["benchmark"], row["n_old"], row["n_new"]) for row in content["benchmarks"]] == [("a", 6, 6), ("b", 6, 6)]

    @pytest.mark.parametrize(
        ("options", "text"),
        [
            ((), "choose what is compared in it: --dim machine ('m1', 'm2'); --dim compiler ('gcc', 'clang')"),
            (("--dim", "machine"), "--baseline LABEL, one of 'm1', 'm2'"),
            (("--dim", "machine", "--baseline", "m3"), "--baseline 'm3' is no machine; there is 'm1', 'm2'"),
            (("--dim", "tuning", "--baseline", "m1"), "--dim 'tuning' not found; what was read has 'benchmark', "),
            (("--baseline", "m3"), "--baseline 'm3' is no label of what was read; there is --dim machine"),
        ],
    )
    def test_labels_that_are_missing(self, tmp_path, options, text):
        """The error lists the labels that there are."""
        assert text in refused("compare", self.archive(tmp_path), *options)

    def test_programs_of_one_file(self, tmp_path):
        """The commands of one run of hyperfine are compared by name, without a suite row; an error proposes this."""
        path = write(tmp_path / "runs.csv", {"sleep 1": OLD, "sleep 2": times(2.0), "sleep 3": times(3.0)})
        code, content = as_json("compare", path, "--baseline", "sleep 1")
        assert (code, [(row["program"], row["verdict"]) for row in content["benchmarks"]]) == (
            1, [("sleep 2", "slower"), ("sleep 3", "slower")]
        )  # fmt: skip
        printed = run("compare", path, "--dim", "benchmark", "--baseline", "sleep 1").stdout
        assert "every benchmark beside sleep 1" in printed
        assert "all " not in printed.partition("95 % intervals")[0]
        assert "--dim benchmark ('sleep 1', 'sleep 2', 'sleep 3')" in refused("compare", path)
        two = write(tmp_path / "two.csv", {"sleep 1": OLD[:1], "sleep 2": OLD[:1]})
        (row,) = as_json("compare", two, "--baseline", "sleep 1")[1]["benchmarks"]
        assert row["program"] == "sleep 2"
        assert "'sleep 2' rests on one execution" in run("compare", two, "--baseline", "sleep 1").stderr
        line = refused("compare", write(tmp_path / "one.csv", {"a": OLD}))
        assert "no dim of it has two labels to compare" in line
        assert "--dim benchmark" not in line

    def test_rows_without_an_answer(self, tmp_path, monkeypatch):
        """Of many rows the first are shown, and how many more there are; CSV has all."""
        monkeypatch.setattr("perfarray.cli.compare.MOST", 3)
        path = write(tmp_path / "a.csv", {f"b{i}": OLD[:1] for i in range(9)})
        result = run("compare", path, path)
        assert result.exit_code == 2
        assert "and 6 more benchmarks without an answer" in result.stdout
        assert ("b2 " in result.stdout, "b3 " in result.stdout, "all 9" in result.stdout) == (True, False, True)
        assert run("compare", path, path, "--output", "csv").stdout.count("\nb") == 9

    def test_units_of_a_label_that_only_one_row_has(self, tmp_path):
        """Where one tuning has no answer, the table has no column of it, and shows the units of the other."""
        rows = [*(f"fft,base,{i},{9 + i / 10}" for i in range(3)), "sort,base,0,8.0", "sort,base,1,8.1"]
        old = write_rows(tmp_path / "old.csv", "benchmark,tuning,execution,time_s", rows)
        rows += ["sort,base,2,8.2", "fft,peak,0,1.0", "fft,peak,1,1.1"]
        new = write_rows(tmp_path / "new.csv", "benchmark,tuning,execution,time_s", rows)
        printed = run("compare", old, new).stdout
        assert [line.split()[-1] for line in printed.splitlines() if line.startswith(("fft  ", "sort  "))] == ["3", "3"]
        assert "2 | 3" in printed


class TestLimits:
    @pytest.mark.parametrize("limit", [True, False])
    def test_stopped_runs(self, tmp_path, limit):
        """They count and open the interval; where no limit is known there is no answer, and neither a number nor a verdict."""
        old = write(tmp_path / "old.csv", {"fft": [10.0, 10.1, 9.9, 10.2]})
        rows = [f"fft,{i},{time},{int(not time)}{',60' if limit else ''}" for i, time in enumerate((9.0, 9.1, "", ""))]
        new = write_rows(tmp_path / "new.csv", f"benchmark,execution,time,censored{',censored_at' if limit else ''}", rows)
        result = run("compare", old, new)
        assert "Left out" not in result.stdout
        assert "4 | 2" not in result.stdout
        if limit:
            assert "2 runs of the candidate were stopped" in result.stderr
            assert "fft        10.1 s -> 34.5 s  at least 3.44x (anything is possible)  inconclusive" in result.stdout
        else:
            assert (result.exit_code, "nan" in result.stdout, "faster (" in result.stdout) == (2, False, False)
            assert "2 without a limit" in result.stderr

    def test_a_limit_on_one_side(self, tmp_path):
        """Few, wild runs of the baseline leave a ratio that is at least so much: it has a verdict, and no infinity is printed."""
        result = run("compare", *write_sides(tmp_path, {"a": [0.2, 1.0, 2.4]}, {"a": [30.0, 31.0, 32.0]}))
        assert result.exit_code == 1
        assert "at least 7.8" in result.stdout
        assert "slower" in result.stdout
        assert "inf" not in result.stdout

    def test_digits_show_the_side_of_the_band(self):
        """Digits are added until a limit does not seem to lie on the edge."""
        assert words.change(0.98, 0.96, 0.99997, "bounded", "lower") == "1.02041x faster (1.00003 to 1.04167)"
        assert words.change(1.05, 1.0201, 1.08, "bounded", "lower", 0.02) == "1.0500x slower (1.0201 to 1.0800)"
        assert words.change(0.95, 0.92, 0.9801, "bounded", "lower", 0.02) == "1.0526x faster (1.0203 to 1.0870)"


class TestJson:
    def test_one_object_holds_all(self, sides):
        """Rows, suites, attrs, warnings and the reason of the exit code are on stdout, and nothing else."""
        code, content = as_json("compare", *sides, "--threshold", "2%")
        worse = next(row for row in content["benchmarks"] if row["benchmark"] == "worse")
        assert (worse["verdict"], worse["n"], worse["n_old"], worse["n_new"]) == ("slower", 6, 6, 6)
        assert worse["estimate"] == pytest.approx(1.2)
        assert content["suites"][0]["benchmarks"] == 3
        assert content["attrs"]["unit"] == "execution"
        assert (content["exit_code"], code, content["warnings"]) == (1, 1, [])
        assert "1 slower" in content["exit_reason"]
        assert content["old"] == str(sides[0])

    def test_not_a_number(self, tmp_path):
        """NaN is null; infinite limits are the texts "-inf" and "inf", and an answer."""
        content = as_json("compare", *write_sides(tmp_path, {"a": OLD[:1]}, {"a": OLD[1:2]}))[1]
        assert (content["benchmarks"][0]["lower"], content["exit_code"], len(content["warnings"])) == (None, 2, 1)
        wild = write(tmp_path / "wild.csv", {"a": [0.001, 10.0]})
        code, content = as_json("compare", wild, wild)
        (row,) = content["benchmarks"]
        assert (row["lower"], row["upper"], row["kind"], code) == ("-inf", "inf", "unbounded", 0)
        assert "any ratio is possible" in run("compare", wild, wild).stdout

    def test_warnings_stand_once(self, tmp_path):
        """They are sentences of the command line; the notes of the result are not in its attrs as well."""
        content = as_json("compare", *write_sides(tmp_path, *[{"a": OLD, "b": OLD[:1]}] * 2))[1]
        (warned,) = content["warnings"]
        assert warned.startswith("'b' rests on one execution on a side")
        assert "notes" not in content["attrs"]

    def test_an_error_is_an_object(self, tmp_path):
        """It has the keys of an answer, so that a script need not parse stderr."""
        code, content = as_json("compare", tmp_path / "none", tmp_path / "none")
        assert (code, content["exit_code"], content["attrs"]) == (2, 2, {})
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
        assert grid.common_package(names) == package

    @pytest.mark.parametrize(
        ("names", "settings", "short"),
        [
            (["a[t=1,n=2]", "b[t=1,n=3]"], ["t=1"], ["a[n=2]", "b[n=3]"]),
            (["a[t=1]", "b[t=1]"], ["t=1"], ["a", "b"]),
            (["a[cpu=x, y @ 3 GHz,n=1]", "b[cpu=x, y @ 3 GHz,n=2]"], ["cpu=x, y @ 3 GHz"], ["a[n=1]", "b[n=2]"]),
            (["a[t=1]", "b"], [], ["a[t=1]", "b"]),
            (["a[0][t=1]", "a[1][t=1]"], ["t=1"], ["a[0]", "a[1]"]),
            (["a[t=1]"], [], ["a[t=1]"]),
            (["a[1]", "b[1]"], [], ["a[1]", "b[1]"]),
        ],
    )
    def test_common_settings(self, names, settings, short):
        """Names keep the settings that distinguish them."""
        assert grid.common_settings(names) == settings
        assert [grid.without_settings(name, settings) for name in names] == short

    def test_markup_and_long_names(self, tmp_path, monkeypatch):
        """Names are text, not markup; one that is wider than the terminal loses no character."""
        path = write(tmp_path / "a.csv", {"x" * 100: OLD, "sort[red]:smile:": OLD})
        assert "sort[red]:smile:" in run("compare", path, path).stdout
        monkeypatch.setenv("COLUMNS", "70")
        printed = run("compare", path, path).stdout
        assert sum(line.count("x") for line in printed.splitlines() if set(line.split()[0] if line.split() else "") == {"x"}) >= 100

    @pytest.mark.parametrize(
        ("message", "line"),
        [
            ('times.groupby("suite") or by="suite" gives each its own', "--by suite gives each its own"),
            ("say shared='execution'; shared=() says that none does", "say --shared 'execution'; --shared '' says that none does"),
            ("levels=('execution', 'iteration') take", "--levels execution,iteration take"),
            ("threshold=-0.01 is out of range", "--threshold -1% is out of range"),
        ],
    )
    def test_options_in_messages(self, message, line):
        """Arguments are written as options are typed."""
        assert in_line(message, OPTIONS) == line


@pytest.fixture
def few_runs(tmp_path):
    """Return the places of two sides of ten benchmarks with three runs, 2 % apart, and of four earlier sessions."""
    rng = np.random.default_rng(4)

    def written(name, factor, shift):
        rows = [f"b{b},{run},{factor * (1 + shift[b]) * (b + 1) * rng.normal(1, 0.01):.6f}" for b in range(10) for run in range(3)]
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("benchmark,execution,time\n" + "\n".join(rows) + "\n")
        return tmp_path / name

    for number in range(4):
        written(f"nightly/{number}.csv", 1.0, rng.normal(0, 0.02, 10))
    return written("old.csv", 1.0, np.zeros(10)), written("new.csv", 1.02, np.zeros(10)), tmp_path / "nightly"


def test_prior_between_and_shrink(few_runs):
    """What is learned from the suite and from other sessions is in the verdicts, and said where it is asked for."""
    old, new, nightly = few_runs
    plain, learned = (
        json.loads(run("compare", old, new, *options, "--output", "json").stdout) for options in ([], ["--prior", "suite", "--shrink"])
    )
    slower = [sum(row["verdict"] == "slower" for row in answer["benchmarks"]) for answer in (plain, learned)]
    assert slower[1] > slower[0]
    assert {"prior_df", "false_sign_rate"} <= set(learned["benchmarks"][0])
    told = " ".join(run("compare", old, new, "--prior", "suite", "--between", nightly, "--explain").output.split())
    assert "Variances learned from the suite: a standard deviation near" in told
    assert "Each side is one session; intervals hold what sessions vary by" in told
    assert "within one session" in told
    stated = json.loads(run("compare", old, new, "--between", "2%,5", "--output", "json").stdout)
    assert stated["benchmarks"][0]["session_standard_deviation"] == pytest.approx(0.02)
    assert "as in 1%,5" in " ".join(run("compare", old, new, "--between", "2%,x").output.split())
