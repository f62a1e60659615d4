"""The command line: what it prints, its exit codes, its errors of one line."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import perfarray
from perfarray.cli import app as cli
from perfarray.cli import grid
from perfarray.cli.compare import OPTIONS
from perfarray.cli.problems import in_line
from perfarray.results import words

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
            "fft                   15  10 (150 in all)  20 (3000 in all)",
            "matrix_product  O2      839 us       29 % (46 %)         27 % (39 %)         16 % (15 %)",
            "string_search   5.05 ms -> 4.55 ms  1.109x faster (1.098 to 1.120)                     faster",
            "(1.014x faster to 1.018x slower)     equivalent",
            "all 5",
            "n = 15 independent binaries on each side",
            "all benchmarks on the same binaries, treated jointly",
            "perfarray compare ",
            "times.perf.variance_components()",
        ):
            assert text in result.stdout
        assert result.stderr == ""

    def test_nothing_is_lost_in_80_columns(self, monkeypatch):
        """A narrow terminal keeps names, changes and intervals whole; that the means are left out is said."""
        monkeypatch.setenv("COLUMNS", "80")
        printed = run("demo").stdout
        assert "matrix_product  O2      839 us     29 % (46 %)   27 % (39 %)   16 % (15 %)" in printed
        assert "1.109x faster (1.098 to 1.120)                     faster" in printed
        assert "5.05 ms -> 4.55 ms" not in printed
        assert "Not shown in 80 columns: O2 -> O3." in printed
        assert max(len(line) for line in printed.partition("4. What")[0].splitlines()) <= 80

    def test_the_snippet_runs(self):
        """What the demonstration tells users to type works."""
        lines = run("demo").stdout.splitlines()
        code = [line.strip() for line in lines if line.startswith(("    import", "    times"))]
        assert len(code) == 4
        with pytest.warns(perfarray.PerfarrayWarning, match="one or two binaries carry"):
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
        assert "1.00 s -> 1.20 s  1.200x slower (1.178 to 1.222)" in result.stdout
        assert "3 compared: 1 slower, 1 faster, 1 equivalent, 0 inconclusive; all together 1.014x faster" in result.stdout

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
        assert "of which more is faster" in result.stdout
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
        assert ("--on-error" in line) == (content is not None)

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
            (("--threshold", "-1%"), "--threshold -1% is out of range"),
            (("--confidence", "100%"), "--confidence 100% is out of range"),
            (("--levels", "binary"), "level 'binary' not found"),
            (("--metric", "energy"), "metric 'energy' not found"),
            (("--format", "xml"), "--format 'xml' is not known"),
            (("--shared", "session"), "--shared 'session' is not one of the levels"),
            (("--layout", "{machine}_x.csv"), "does not match --layout '{machine}_x.csv'"),
            (("--levels", "iteration,execution"), "--levels iteration,execution turns the nest inside out"),
        ],
    )
    def test_the_librarys_errors_are_2(self, sides, options, said):
        """What the library refuses comes out as one line, in the words of the command line."""
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
        monkeypatch.setattr(cli, "app", lambda *_, **__: 1 / 0)
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
        assert "corrected for their number (holm)" in given.stdout
        assert "the suite is at 90 %" in given.stdout
        assert "96.67 % interval" in given.stdout
        assert "n = 6 matched pairs of executions" in given.stdout
        attrs = json.loads(run("compare", *sides, "--json").stdout)["attrs"]
        assert (attrs["threshold"], attrs["confidence_level"], attrs["correction"]) == (0.0, 0.95, "none")
        assert "\n3 verdicts at once: a chance of up to 7 % to call something slower that is not" in run("compare", *sides).stdout

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
        assert content["attrs"]["benchmarks"] == ("shared: session" if kind == "session" else "independent (assumed)")
        assert result.exit_code == 1

    def test_separate_files_are_named(self, tmp_path):
        """Rows and suites say which file they compare."""
        printed = run("compare", *self.files(tmp_path), "--files-are", "separate").stdout
        rows = [line.split()[:3] for line in printed.splitlines()]
        assert ["a", "day0.csv", "0.998"] in rows
        assert ["all", "2", "day2.csv"] in rows

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
        assert "any ratio is possible" in run("compare", wild, wild).stdout

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
        assert grid.common_package(texts) == package

    @pytest.mark.parametrize(
        ("texts", "settings", "short"),
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
    def test_settings_that_all_have_are_named_once(self, texts, settings, short):
        """Names stay apart by what distinguishes them."""
        assert grid.common_settings(texts) == settings
        assert [grid.without_settings(text, settings) for text in texts] == short

    def test_a_limit_never_seems_to_lie_on_the_edge(self):
        """Digits are added until the reader sees on which side of the band a limit lies."""
        assert words.change(0.98, 0.96, 0.99997, "bounded", "lower") == "1.02041x faster (1.00003 to 1.04167)"
        assert words.change(1.05, 1.0201, 1.08, "bounded", "lower", 0.02) == "1.0500x slower (1.0201 to 1.0800)"
        assert words.change(0.95, 0.92, 0.9801, "bounded", "lower", 0.02) == "1.0526x faster (1.0203 to 1.0870)"

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


def test_a_process_exits_with_the_code_and_no_colour(sides, monkeypatch, capsys):
    """As a CI job sees it: no terminal, no escape sequences, the exit code of the answer."""
    monkeypatch.setattr(sys, "argv", ["perfarray", "compare", *map(str, sides)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    printed = capsys.readouterr()
    assert ended.value.code == 1
    assert "\x1b" not in printed.out
    assert printed.err == ""


def test_a_reader_who_leaves_does_not_change_the_exit_code(tmp_path):
    """`perfarray compare ... | head -1` is not slower for it."""
    times = {"a": OLD, "b": OLD[::-1]}
    sides = [write(tmp_path / f"{name}.csv", {f"benchmark{i}": own for i in range(1000)}) for name, own in times.items()]
    code = "from perfarray.cli.app import main; main()"
    command = [sys.executable, "-c", code, "compare", *map(str, sides), "--shared", "execution"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert "\x1b" not in process.stdout.readline()
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
    assert "fft        10.1 s -> 34.5 s  at least 3.44x (anything is possible)  inconclusive" in result.stdout


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


class TestOnePlace:
    """The labels of a dim in one file or folder."""

    def archive(self, tmp_path, factor=1.2):
        """Two machines with a compiler of their own, in one file."""
        lines = ["benchmark,machine,compiler,execution,time"]
        for machine, compiler, own in (("m1", "gcc", OLD), ("m2", "clang", times(factor))):
            lines += [f"{name},{machine},{compiler},{i},{time}" for name in ("a", "b") for i, time in enumerate(own)]
        path = tmp_path / "both.csv"
        path.write_text("\n".join(lines) + "\n")
        return path

    def test_labels_of_a_dim(self, tmp_path):
        """Each beside the baseline; a compiler that each machine has for itself is no obstacle; the exit code follows the direction."""
        path = self.archive(tmp_path)
        result = run("compare", path, "--dim", "machine", "--baseline", "m1")
        assert result.exit_code == 1
        assert "m1 -> m2" in result.stdout
        assert "1.200x slower" in result.stdout
        assert result.stdout.startswith(f"{path}: every machine beside m1\n")
        assert run("compare", path, "--dim", "machine", "--baseline", "m2").exit_code == 0
        content = json.loads(run("compare", path, "--baseline", "m1", "--json").stdout)
        assert content["attrs"]["dim"] == "machine"
        assert [(row["benchmark"], row["n_old"], row["n_new"]) for row in content["benchmarks"]] == [("a", 6, 6), ("b", 6, 6)]

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            ((), "choose what is compared in it: --dim machine ('m1', 'm2'); --dim compiler ('gcc', 'clang')"),
            (("--dim", "machine"), "--baseline LABEL, one of 'm1', 'm2'"),
            (("--dim", "machine", "--baseline", "m3"), "--baseline 'm3' is no machine; there is 'm1', 'm2'"),
            (("--dim", "tuning", "--baseline", "m1"), "--dim 'tuning' not found; what was read has 'benchmark', "),
            (("--baseline", "m3"), "--baseline 'm3' is no label of what was read; there is --dim machine"),
        ],
    )
    def test_what_is_not_said_is_asked_for(self, tmp_path, options, said):
        """With the labels that there are."""
        result = run("compare", self.archive(tmp_path), *options)
        assert result.exit_code == 2
        assert said in result.stderr

    def test_nothing_to_compare(self, tmp_path):
        """One version of everything."""
        path = write(tmp_path / "a.csv", {"a": OLD})
        assert "no dim of it has two labels to compare" in run("compare", path).stderr
        assert "--dim benchmark" not in run("compare", path).stderr
        assert "are for the labels in one file" in run("compare", path, path, "--dim", "machine").stderr


def test_two_machines_in_two_files(tmp_path):
    """A label that is constant on each side is no obstacle, and is told."""
    for side, machine, own in (("old", "m1", OLD), ("new", "m2", times(0.8))):
        rows = "".join(f"a,{machine},{i},{time}\n" for i, time in enumerate(own))
        (tmp_path / f"{side}.csv").write_text("benchmark,machine,execution,time\n" + rows)
    result = run("compare", tmp_path / "old.csv", tmp_path / "new.csv")
    assert result.exit_code == 0
    assert "old.csv  (machine m1)" in result.stdout
    assert "1.250x faster" in result.stdout


def test_many_of_one_side_are_counted(tmp_path):
    """The first ten are named."""
    old = write(tmp_path / "old.csv", {"a": OLD})
    new = write(tmp_path / "new.csv", {"a": OLD} | {f"fresh{i}": OLD for i in range(14)})
    printed = run("compare", old, new).stdout
    assert "only in new, 14:\n" in printed
    assert printed.count("    fresh") == 10
    assert "    and 4 more (--output json names all)" in printed


@pytest.mark.parametrize(
    ("said", "spoken"),
    [
        ('times.groupby("suite") or by="suite" gives each its own', "--by suite gives each its own"),
        ("say shared='execution'; shared=() says that none does", "say --shared 'execution'; --shared '' says that none does"),
        ("levels=('execution', 'iteration') take", "--levels execution,iteration take"),
        ("threshold=-0.01 is out of range", "--threshold -1% is out of range"),
    ],
)
def test_messages_speak_the_words_of_the_command_line(said, spoken):
    """Options and percentages, as they are typed."""
    assert in_line(said, OPTIONS) == spoken


def test_a_row_for_each_suite(sides, tmp_path):
    """`--by` names a coordinate of the benchmarks, also where one side lacks some; without it, what one row is taken over is said."""
    assert "--by 'suite' is not a coordinate along 'benchmark'" in run("compare", *sides, "--by", "suite").stderr
    for side, names in (("x", "abc"), ("y", "abcd")):
        rows = [f"{name},{'int' if name == 'a' else 'fp'},{i},{time}" for name in names for i, time in enumerate(OLD)]
        (tmp_path / f"{side}.csv").write_text("\n".join(["benchmark,suite,execution,time", *rows]) + "\n")
    command = ("compare", tmp_path / "x.csv", tmp_path / "y.csv")
    assert [row["suite"] for row in json.loads(run(*command, "--by", "suite", "--json").stdout)["suites"]] == ["int", "fp"]
    assert "the ratios over the suites int, fp (--by suite gives each a row)" in " ".join(run(*command[:2], command[1]).stdout.split())


def test_programs_of_one_file_are_compared_with_each_other(tmp_path):
    """As the commands of one run of hyperfine: each by its name, without a suite row; what can be compared is proposed."""
    path = write(tmp_path / "runs.csv", {"sleep 1": OLD, "sleep 2": times(2.0), "sleep 3": times(3.0)})
    result = run("compare", path, "--baseline", "sleep 1", "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert [(row["program"], row["verdict"]) for row in found["benchmarks"]] == [("sleep 2", "slower"), ("sleep 3", "slower")]
    shown = run("compare", path, "--dim", "benchmark", "--baseline", "sleep 1").stdout
    assert "every benchmark beside sleep 1" in shown
    assert "all " not in shown.partition("change:")[0]
    assert "--dim benchmark ('sleep 1', 'sleep 2', 'sleep 3')" in run("compare", path).stderr
    two = write(tmp_path / "two.csv", {"sleep 1": OLD, "sleep 2": times(2.0)})
    (row,) = json.loads(run("compare", two, "--baseline", "sleep 1", "--json").stdout)["benchmarks"]
    assert row["program"] == "sleep 2"
    once = write(tmp_path / "once.csv", {"sleep 1": OLD[:1], "sleep 2": OLD[:1]})
    assert "'sleep 2' rests on one execution" in run("compare", once, "--baseline", "sleep 1").stderr


def test_two_places_with_the_same_versions(tmp_path):
    """Are compared version by version, whatever the versions are."""
    for name, factor in (("x", 1.0), ("y", 1.5)):
        rows = [f"fft,{version},{i},{factor * value}" for version in ("1.0", "2.0") for i, value in enumerate(OLD)]
        (tmp_path / f"{name}.csv").write_text("benchmark,version,execution,time\n" + "\n".join(rows) + "\n")
    result = run("compare", tmp_path / "x.csv", tmp_path / "y.csv", "--json")
    rows = json.loads(result.stdout)["benchmarks"]
    assert [(row["version"], round(row["estimate"], 6)) for row in rows] == [("1.0", 1.5), ("2.0", 1.5)]


def test_the_method_is_chosen_as_a_warning_says(sides, tmp_path):
    """By an option of its name; a bootstrap draws the same each time, and what is printed says which it is."""
    few = [write(tmp_path / f"{name}.csv", {"a": [*OLD[:5], last]}) for name, last in (("x", 1.0), ("y", 9.0))]
    assert "or take --method 'studentized'" in run("compare", *few).stderr
    first, again = (run("compare", *sides, "--method", "studentized", "--output", "csv").stdout for _ in range(2))
    assert first == again != run("compare", *sides, "--output", "csv").stdout
    assert "95 % interval (method studentized)" in run("compare", *sides, "--method", "studentized").stdout
    assert "(method" not in run("compare", *sides).stdout
    assert "each side needs more executions" in run("compare", *sides, "--method", "batch_means").stdout
    assert "--method 'none' is not known; choose one of 'fieller', " in run("compare", *sides, "--method", "none").stderr


def test_rows_without_an_answer_are_not_all_shown(tmp_path, monkeypatch):
    """The first of many, and how many more there are; CSV has all."""
    monkeypatch.setattr("perfarray.cli.compare.MOST", 3)
    path = write(tmp_path / "a.csv", {f"b{i}": OLD[:1] for i in range(9)})
    result = run("compare", path, path)
    assert result.exit_code == 2
    assert "and 6 more benchmarks without an answer" in result.stdout
    assert ("b2 " in result.stdout, "b3 " in result.stdout, "all 9" in result.stdout) == (True, False, True)
    assert run("compare", path, path, "--output", "csv").stdout.count("\nb") == 9


def test_units_of_a_label_that_only_one_row_has(tmp_path):
    """Where one tuning has an answer and the other none, the table leaves the tuning out, and keeps the units of what was measured."""
    lines = ["benchmark,tuning,execution,time_s", *(f"fft,base,{run},{9 + run / 10}" for run in range(3))]
    old = tmp_path / "old.csv"
    old.write_text("\n".join([*lines, "sort,base,0,8.0", "sort,base,1,8.1"]))
    new = tmp_path / "new.csv"
    new.write_text("\n".join([*lines, "sort,base,0,8.0", "sort,base,1,8.1", "sort,base,2,8.2", "fft,peak,0,1.0", "fft,peak,1,1.1"]))
    shown = run("compare", old, new).stdout
    assert [line.split()[-1] for line in shown.splitlines() if line.startswith(("fft  ", "sort  "))] == ["3", "3"]
    assert "2 | 3" in shown


def test_medians_are_compared(tmp_path):
    """`--statistic median` compares medians, says so, and speaks of its options where a method has none."""
    old, new = (write(tmp_path / f"{name}.csv", {"fft": values}) for name, values in (("old", OLD), ("new", times(0.9))))
    answer = run("compare", old, new, "--statistic", "median")
    assert answer.exit_code == 0
    assert "change: of the median time, of which less is faster, with its 95 % interval; n = 6 independent executions" in answer.output
    assert "1 compared by their medians: 0 slower, 1 faster" in answer.output
    wrong = run("compare", old, new, "--statistic", "median", "--method", "fieller")
    assert "choose one of 'order_statistics', 'rank', 'percentile', 'basic', 'bca', or --statistic 'mean'" in in_line(wrong.output)
    assert wrong.exit_code == 2
