"""The command line: what it prints, its exit codes, its errors of one line."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import perfarray
from perfarray.cli import app as cli
from perfarray.cli import comparison as words

OLD = (1.00, 1.01, 0.99, 1.00, 1.02, 0.98)


@pytest.fixture(autouse=True)
def _width(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERMINAL_WIDTH", "120")


def run(*arguments):
    """Run the command line in this process."""
    return CliRunner().invoke(cli.app, [str(argument) for argument in arguments])


@pytest.mark.skipif(sys.platform != "linux", reason="no such device elsewhere")
def test_no_room_for_what_is_printed(tmp_path):
    """One line says so, and the exit code is not that of a slower program."""
    path = write(tmp_path / "a.csv", {"fft": OLD})
    with open("/dev/full", "w", encoding="utf-8") as full:
        command = [sys.executable, "-m", "perfarray", "compare", path, path]
        child = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert child.returncode == 2
    assert child.stderr.splitlines()[-1].startswith("error: [Errno 28]")


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


def times(factor):
    """Return OLD's times by a factor, in an order of their own."""
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
    old = write(tmp_path / "old.csv", dict.fromkeys(("steady", "better", "worse"), OLD))
    new = write(tmp_path / "new.csv", {"steady": times(1.0), "better": times(0.8), "worse": times(1.2)})
    return old, new


class TestDemo:
    def test_it_tells_the_whole_story(self):
        """What was measured, where the variation is, the verdicts, the suite, and what to do next."""
        result = run("demo")
        assert result.exit_code == 0
        for text in (
            "binary               15   benchmark, flags",
            "iteration            20   execution                     3000",
            "matrix_product   O2        46 %        39 %        15 %      42.7 %",
            "0.902x     0.893 to 0.911   15   9.8 % faster (8.9 to 10.7 %)",
            "sort              1.002x     0.986 to 1.018   15   equivalent",
            "suite of 5",
            "n counts independent binaries on each side",
            "all benchmarks on the same binaries, treated jointly",
            "perfarray compare ",
            "times.perf.variance_components()",
        ):
            assert text in result.stdout
        assert result.stderr == ""

    def test_nothing_is_lost_in_80_columns(self, monkeypatch):
        """A narrow terminal keeps names and numbers whole; changes lose their intervals, which stand beside them as ratios."""
        monkeypatch.setenv("COLUMNS", "80")
        printed = run("demo").stdout
        assert "matrix_product   O2        46 %        39 %        15 %      42.7 %" in printed
        assert "9.8 % faster" in printed
        assert "(8.9 to 10.7 %)" not in printed
        assert max(len(line) for line in printed.partition("4. What")[0].splitlines()) <= 80

    def test_the_snippet_runs(self):
        """What the demonstration tells users to type works."""
        lines = run("demo").stdout.splitlines()
        code = [line.strip() for line in lines if line.startswith(("    import", "    times"))]
        assert len(code) == 4
        exec("\n".join(code), {})

    def test_the_command_it_names_runs(self):
        """The first of the next steps can be pasted into a shell."""
        line = next(line for line in run("demo").stdout.splitlines() if line.strip().startswith("perfarray compare"))
        assert run(*line.split()[1:]).exit_code in (0, 1)


class TestExitCodes:
    def test_slower_is_1(self, sides):
        """One benchmark that is slower is enough."""
        result = run("compare", *sides, "--threshold", "2%")
        assert result.exit_code == 1
        assert "1.200x" in result.stdout
        assert "20 % slower (18 to 22 %)" in result.stdout
        assert "3 compared: 1 slower, 1 faster, 1 equivalent, 0 inconclusive" in result.stdout

    def test_nothing_slower_is_0(self, tmp_path):
        """Faster and equivalent are no reason to complain; inconclusive is not slower."""
        old = write(tmp_path / "old.csv", {"a": OLD, "b": OLD})
        new = write(tmp_path / "new.csv", {"a": times(0.5), "b": times(1.0)})
        result = run("compare", old, new, "--threshold", "5%")
        assert result.exit_code == 0
        assert "equivalent" in result.stdout
        assert result.stderr == ""

    def test_only_the_suite_slower_is_1(self, tmp_path):
        """Many small losses that are each inconclusive can add up to a suite that is slower."""
        loose = [0.9, 1.1, 0.95, 1.05, 1.0, 1.0]
        old = write(tmp_path / "old.csv", {f"b{i}": loose for i in range(40)})
        new = write(tmp_path / "new.csv", {f"b{i}": [1.05 * value for value in loose] for i in range(40)})
        result = run("compare", old, new)
        assert "40 compared: 0 slower, 0 faster, 0 equivalent, 40 inconclusive; suite: 1.050x, 5" in result.stdout
        assert result.exit_code == 1

    def test_lower_throughput_is_slower(self, tmp_path):
        """Where higher is better, a ratio below 1 is slower, and above 1 faster."""
        forks = [[100.0, 101.0], [99.0, 100.0], [101.0, 100.0], [100.0, 99.0]]
        halved = [[value / 2 for value in fork] for fork in forks]
        old = jmh(tmp_path / "old.json", {"Suite.drops": forks, "Suite.rises": halved})
        new = jmh(tmp_path / "new.json", {"Suite.drops": halved, "Suite.rises": forks})
        result = run("compare", old, new)
        assert result.exit_code == 1
        assert "above 1 is faster" in result.stdout
        rows = {line.split("[")[0].split(" ")[0]: line for line in result.stdout.splitlines()}
        assert "0.500x" in rows["drops"]
        assert "50.0 % slower" in rows["drops"]
        assert "100.0 % faster" in rows["rises"]
        assert "Names of benchmarks begin with org.example.Suite." in result.stdout
        assert run("compare", old, old).exit_code == 0

    def test_one_execution_is_2(self, tmp_path):
        """One execution on each side shows no spread: no answer, one warning, and what to do."""
        old = jmh(tmp_path / "old.json", {"a": [[1.0, 1.1, 0.9]], "b": [[1.0, 1.1, 0.9]]})
        new = jmh(tmp_path / "new.json", {"a": [[3.0, 3.1, 2.9]], "b": [[3.0, 3.1, 2.9]]})
        result = run("compare", old, new)
        assert result.exit_code == 2
        assert "3.000x" in result.stdout
        assert "No answer: nothing has an interval" in result.stdout
        (line,) = result.stderr.splitlines()
        assert line.startswith("warning: all 2 benchmarks rest on one execution on a side")
        assert "-f 10" in line
        assert line.endswith("--levels iteration")
        assert run("compare", old, new, "--levels", "iteration").exit_code == 0

    def test_one_execution_of_some_is_a_warning(self, tmp_path):
        """The other benchmarks still have their verdicts."""
        old = write(tmp_path / "old.csv", {"a": OLD, "b": OLD[:1], "c": OLD})
        new = write(tmp_path / "new.csv", {"a": times(0.8), "b": times(1.0)[:1], "c": times(0.8)[:4]})
        result = run("compare", old, new)
        assert result.exit_code == 0
        assert "warning: 'b' rests on one execution" in result.stderr
        assert "6 | 4" in result.stdout

    def test_no_overlap_is_2(self, tmp_path):
        """The error says what is on either side."""
        result = run("compare", write(tmp_path / "old.csv", {"a": OLD}), write(tmp_path / "new.csv", {"b": OLD}))
        assert result.exit_code == 2
        assert result.stderr.startswith("error: ")
        assert all(fact in result.stderr for fact in ("'time'", "old has 'a'", "new has 'b'"))
        assert result.stdout == ""

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (None, "there is no such file"),
            ("", "is empty"),
            ("hello\n", "no reader recognises"),
            ('[{"jmhVersion": "1.37", "benchmark": "a", "mode": "avgt"', "cut off"),
        ],
    )
    def test_unreadable_is_2(self, tmp_path, content, said):
        """A file that cannot be read is named in one line, without a traceback."""
        bad = tmp_path / "bad.json"
        if content is not None:
            bad.write_text(content)
        result = run("compare", bad, write(tmp_path / "new.csv", {"a": OLD}))
        assert result.exit_code == 2
        (line,) = result.stderr.splitlines()
        assert line.startswith(f"error: {bad}: ")
        assert said in line

    @pytest.mark.parametrize(
        ("option", "value", "said"),
        [
            ("--threshold", "2", "percentage (2%)"),
            ("--threshold", "much", "not a number"),
            ("--confidence", "95", "percentage (95%)"),
            ("--correction", "tukey", "holm"),
        ],
    )
    def test_usage_is_2(self, sides, option, value, said):
        """An option that cannot be read is explained."""
        result = run("compare", *sides, option, value)
        assert result.exit_code == 2
        assert said in " ".join(result.stderr.replace("│", " ").split())

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (("--threshold", "-1%"), "--threshold -0.01 is out of range"),
            (("--confidence", "100%"), "--confidence 1.0 is out of range"),
            (("--levels", "binary"), "level 'binary' not found"),
            (("--metric", "energy"), "metric 'energy' not found"),
            (("--format", "xml"), "--format 'xml' is not known"),
            (("--shared", "session"), "--shared 'session' is not one of the levels"),
            (("--layout", "{machine}_x.csv"), "does not match --layout '{machine}_x.csv'"),
            (("--levels", "iteration,execution"), "--levels iteration,execution turns the nest inside out"),
        ],
    )
    def test_the_librarys_errors_are_2(self, sides, options, said):
        """What the library refuses comes out as one line."""
        result = run("compare", *sides, *options)
        assert result.exit_code == 2
        (line,) = result.stderr.splitlines()
        assert line.startswith("error: ")
        assert said in line

    def test_notes_name_options(self, tmp_path):
        """What the library asks for in Python is asked for in words of the command."""
        rows = "".join(f"a,{time},\nb,,{time}\n" for time in OLD)
        sides = [tmp_path / "old.csv", tmp_path / "new.csv"]
        for side in sides:
            side.write_text(f"benchmark,time,energy\n{rows}")
        assert "have 'energy' (choose it with --metric)" in run("compare", *sides).stderr

    def test_a_defect_is_2(self, monkeypatch, capsys):
        """An error nobody foresaw must not look like a slower benchmark."""
        monkeypatch.setattr(cli, "app", lambda **_: 1 / 0)
        with pytest.raises(SystemExit) as left:
            cli.main()
        assert left.value.code == 2
        assert "ZeroDivisionError" in capsys.readouterr().err


class TestOptions:
    @pytest.mark.parametrize("text", ["2%", "2 %", "0.02", ".02"])
    def test_a_share_is_a_percentage_or_a_fraction(self, sides, text):
        """All of these are two per cent."""
        result = run("compare", *sides, "--threshold", text, "--json")
        assert json.loads(result.stdout)["attrs"]["threshold"] == pytest.approx(0.02)

    def test_options_reach_the_comparison(self, sides):
        """Confidence, correction, levels and pairing are those of the result; without them the library's own defaults hold."""
        given = run(
            "compare", *sides, "--confidence", "90%", "--correction", "holm", "--levels", "execution,iteration", "--paired", "execution"
        )
        assert "corrected for the number of benchmarks (holm)" in given.stdout
        assert "the suite is at 90 %" in given.stdout
        assert "96.67 % interval" in given.stdout
        assert "n counts matched pairs of executions" in given.stdout
        attrs = json.loads(run("compare", *sides, "--json").stdout)["attrs"]
        assert (attrs["threshold"], attrs["confidence_level"], attrs["correction"]) == (0.0, 0.95, "none")

    def test_version(self):
        """The version is the package's."""
        assert run("--version").stdout == f"perfarray {perfarray.__version__}\n"

    def test_help_states_the_exit_codes(self):
        """Who writes a CI job finds them where they look."""
        assert "Exit code 1: a benchmark or the suite is slower" in run("compare", "--help").stdout


class TestFolders:
    def files(self, tmp_path):
        for side, factor in (("old", 1.0), ("new", 1.3)):
            for i, drift in enumerate((1.0, 1.01, 0.99)):
                write(tmp_path / side / f"day{i}.csv", {"a": times(factor * drift)[:4], "b": times(drift)[:4]})
        return tmp_path / "old", tmp_path / "new"

    def test_files_of_one_cell_must_be_explained(self, tmp_path):
        """Several files with the same benchmarks may be sessions, executions or separate: the user says which."""
        result = run("compare", *self.files(tmp_path))
        assert result.exit_code == 2
        assert "--files-are session" in result.stderr

    @pytest.mark.parametrize(
        ("kind", "unit", "n"), [("session", "session", 3), ("execution", "execution", 12), ("separate", "execution", 4)]
    )
    def test_files_are(self, tmp_path, kind, unit, n):
        """Sessions are the unit, executions are pooled, separate files are compared with their namesakes."""
        result = run("compare", *self.files(tmp_path), "--files-are", kind, "--json")
        content = json.loads(result.stdout)
        assert content["attrs"]["unit"] == unit
        assert {row["n"] for row in content["benchmarks"]} == {n}
        assert len(content["benchmarks"]) == (6 if kind == "separate" else 2)
        assert result.exit_code == 1

    def test_separate_files_are_named(self, tmp_path):
        """Rows and suites say which file they compare."""
        printed = run("compare", *self.files(tmp_path), "--files-are", "separate").stdout
        assert "a [file=day0.csv]" in printed
        assert "suite of 2 [file=day2.csv]" in printed

    def test_a_layout_names_the_level(self, tmp_path):
        """What the path says needs no question."""
        old, new = self.files(tmp_path)
        content = json.loads(run("compare", old, f"{new}/*.csv", "--layout", "day{session}.csv", "--json").stdout)
        assert {row["n_old"] for row in content["benchmarks"]} == {3}

    def test_files_are_without_need_is_said(self, sides):
        """An option that changes nothing does not pass in silence."""
        assert "warning: --files-are session changes nothing" in run("compare", *sides, "--files-are", "session").stderr

    def test_other_files_are_skipped_with_a_warning(self, tmp_path):
        """A read-me between the results is named, and harmless."""
        write(tmp_path / "old" / "a.csv", {"a": OLD})
        write(tmp_path / "new" / "a.csv", {"a": times(0.8)})
        (tmp_path / "new" / "README.txt").write_text("hello")
        result = run("compare", tmp_path / "old", tmp_path / "new")
        assert result.exit_code == 0
        assert result.stderr.startswith("warning: of 3 files, 1 ")
        assert result.stderr.endswith("'README.txt'\n")

    def test_benchmarks_of_one_side_are_named(self, tmp_path):
        """Nothing disappears without a word."""
        old = write(tmp_path / "old.csv", {"a": OLD, "gone, for good": OLD})
        new = write(tmp_path / "new.csv", {"a": OLD, "fresh": OLD})
        result = run("compare", old, new)
        assert "only in old, 1:\n    gone, for good\n" in result.stdout
        assert "only in new, 1:\n    fresh\n" in result.stdout
        assert result.stderr == ""


class TestJson:
    def strict(self, text):
        def refuse(constant):
            raise AssertionError(constant)

        return json.loads(text, parse_constant=refuse)

    def test_one_object_holds_all(self, sides):
        """Rows, suites, attrs, warnings and the reason of the exit code, on stdout, and nothing else."""
        result = run("compare", *sides, "--threshold", "2%", "--json")
        content = self.strict(result.stdout)
        rows = {row["benchmark"]: row for row in content["benchmarks"]}
        assert rows["worse"]["verdict"] == "slower"
        assert rows["worse"]["estimate"] == pytest.approx(1.2)
        assert (rows["worse"]["n"], rows["worse"]["n_old"], rows["worse"]["n_new"]) == (6, 6, 6)
        assert content["suites"][0]["benchmarks"] == 3
        assert content["attrs"]["unit"] == "execution"
        assert (content["exit_code"], result.exit_code, content["warnings"]) == (1, 1, [])
        assert "1 slower" in content["exit_reason"]
        assert content["old"] == str(sides[0])

    def test_no_interval_is_null(self, tmp_path):
        """NaN is not JSON."""
        path = write(tmp_path / "one.csv", {"a": OLD[:1]})
        other = write(tmp_path / "other.csv", {"a": OLD[1:2]})
        content = self.strict(run("compare", path, other, "--json").stdout)
        assert content["benchmarks"][0]["lower"] is None
        assert content["exit_code"] == 2
        assert len(content["warnings"]) == 1

    def test_warnings_are_said_once(self, tmp_path):
        """As sentences of the command line: the notes of the result are not in its attrs as well."""
        old, new = (write(tmp_path / f"{side}.csv", {"a": OLD, "b": OLD[:1]}) for side in ("old", "new"))
        content = self.strict(run("compare", old, new, "--json").stdout)
        (warned,) = content["warnings"]
        assert warned.startswith("'b' rests on one execution on a side")
        assert "notes" not in content["attrs"]

    def test_unbounded_sets_are_texts(self, tmp_path):
        """Infinite limits are written "-inf" and "inf"; they are limits, so there is an answer, if a weak one."""
        wild = write(tmp_path / "wild.csv", {"a": [0.001, 10.0]})
        result = run("compare", wild, wild, "--json")
        (row,) = self.strict(result.stdout)["benchmarks"]
        assert (row["lower"], row["upper"], row["kind"]) == ("-inf", "inf", "unbounded")
        assert result.exit_code == 0
        assert "unbounded" in run("compare", wild, wild).stdout

    def test_an_error_is_an_object_too(self, tmp_path):
        """A script need not parse stderr."""
        result = run("compare", tmp_path / "none", tmp_path / "none", "--json")
        content = self.strict(result.stdout)
        assert content["exit_code"] == 2
        assert content["exit_reason"].startswith("error: ")
        assert content["benchmarks"] == []


class TestText:
    @pytest.mark.parametrize(
        ("texts", "package"),
        [
            (["org.a.One.x", "org.a.Two.y[size=1.5]"], "org.a."),
            (["org.a.One.x"], ""),
            (["json_dumps", "json_loads"], ""),
            (["1.5 x", "1.5 y"], ""),
        ],
    )
    def test_packages_are_named_once(self, texts, package):
        """Only what is a package is taken off the names."""
        assert words.package_of(texts) == package

    def test_a_limit_never_seems_to_lie_on_the_edge(self):
        """Digits are added until the reader sees on which side of the band a limit lies."""
        row = {"estimate": 0.98, "lower": 0.96, "upper": 0.99997, "verdict": "faster", "kind": "bounded"}
        assert words.sentence(row, {"threshold": 0.0}).startswith("0.98000x, 2.0 % faster")
        assert "0.99997" in words.sentence(row | {"verdict": "inconclusive"}, {"threshold": 0.0})

    def test_exclusive_sets_are_written_as_such(self):
        """Everything outside two limits."""
        row = {"estimate": 1.0, "lower": 0.5, "upper": 0.7, "verdict": "inconclusive", "kind": "exclusive"}
        said = words.sentence(row, {"threshold": 0.0})
        assert all(fact in said for fact in ("1.000x", "outside 0.500 to 0.700", "inconclusive"))

    def test_brackets_and_colons_in_names_survive(self, tmp_path):
        """Names are text, not markup."""
        path = write(tmp_path / "a.csv", {"sort[red]:smile:": OLD, "b": OLD})
        assert "sort[red]:smile:" in run("compare", path, path).stdout

    def test_long_names_are_folded(self, tmp_path, monkeypatch):
        """A name longer than the terminal is wide loses no character."""
        monkeypatch.setenv("COLUMNS", "70")
        name = "x" * 100
        path = write(tmp_path / "a.csv", {name: OLD, "b": OLD})
        printed = run("compare", path, path).stdout
        assert sum(line.count("x") for line in printed.splitlines() if set(line.split()[0] if line.split() else "") == {"x"}) >= 100


def test_a_process_exits_with_the_code_and_no_colour(sides):
    """As a CI job sees it: a pipe, no escape sequences, the exit code of the answer."""
    code = "from perfarray.cli.app import main; main()"
    process = subprocess.run([sys.executable, "-c", code, "compare", *map(str, sides)], capture_output=True, text=True, check=False)
    assert process.returncode == 1
    assert "\x1b" not in process.stdout
    assert process.stderr == ""


def test_a_reader_who_leaves_does_not_change_the_exit_code(tmp_path):
    """`perfarray compare ... | head -1` is not slower for it."""
    times = {"a": OLD, "b": OLD[::-1]}
    sides = [write(tmp_path / f"{name}.csv", {f"benchmark{i}": own for i in range(2000)}) for name, own in times.items()]
    code = "from perfarray.cli.app import main; main()"
    command = [sys.executable, "-c", code, "compare", *map(str, sides), "--shared", "execution"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait() == 0


def test_stopped_runs(tmp_path):
    """They count, nothing says that they were left out, and the interval is open."""
    old = write(tmp_path / "old.csv", {"fft": [10.0, 10.1, 9.9, 10.2]})
    rows = "".join(f"fft,{i},{time},{int(not time)},60\n" for i, time in enumerate((9.0, 9.1, "", "")))
    (tmp_path / "new.csv").write_text("benchmark,execution,time,censored,censored_at\n" + rows)
    result = run("compare", old, tmp_path / "new.csv")
    assert "at least" in result.stdout
    assert "Left out" not in result.stdout
    assert "4 | 2" not in result.stdout
    assert "faster (" not in result.stdout
    assert "2 runs of the candidate were stopped" in result.stderr
    assert ">= " in result.stdout


def test_stopped_runs_without_a_limit(tmp_path):
    """Nothing is known of the ratio: that is no answer, and neither a number nor a verdict is printed for it."""
    old = write(tmp_path / "old.csv", {"fft": [10.0, 10.1, 9.9, 10.2]})
    rows = "".join(f"fft,{i},{time},{int(not time)}\n" for i, time in enumerate((9.0, 9.1, "", "")))
    (tmp_path / "new.csv").write_text("benchmark,execution,time,censored\n" + rows)
    result = run("compare", old, tmp_path / "new.csv")
    assert result.exit_code == 2
    assert "nan" not in result.stdout
    assert "2 without a limit" in result.stderr


def test_a_set_that_ends_on_one_side_is_written_as_such(tmp_path):
    """Few, wild runs of the baseline leave a ratio that is at least so much: it decides, and no infinity is written."""
    wild, steady = write(tmp_path / "wild.csv", {"a": [0.2, 1.0, 2.4]}), write(tmp_path / "steady.csv", {"a": [30.0, 31.0, 32.0]})
    result = run("compare", wild, steady)
    assert result.exit_code == 1
    assert "at least 7.8" in result.stdout
    assert "slower" in result.stdout
    assert "inf" not in result.stdout
