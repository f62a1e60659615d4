"""`perfarray plan`: prices given or asked for, a table, a sentence, errors of one line."""

import json

import pytest
from typer.testing import CliRunner

import perfarray
from perfarray.cli import app as cli
from perfarray.cli.prices import amount
from perfarray.results.words import duration
from readers.files_of_our_own import bench, suite, write
from readers.files_of_our_own import run as pyperf_run


@pytest.fixture(scope="module")
def pilot(tmp_path_factory):
    """A pilot of two benchmarks, 8 builds, 5 executions, 4 iterations."""
    times = perfarray.simulate(
        sizes={"binary": 8, "execution": 5, "iteration": 4},
        variances={"binary": 2e-4, "execution": 4e-4, "iteration": 9e-4},
        dims={"benchmark": ["fft", "sort"]},
        rng=1,
    )
    path = tmp_path_factory.mktemp("pilot") / "pilot.csv"
    times.perf.to_frame().to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def one(pilot, tmp_path_factory):
    """The pilot of fft alone."""
    path = tmp_path_factory.mktemp("one") / "fft.csv"
    path.write_text("\n".join(line for line in pilot.read_text().splitlines() if not line.startswith("sort")) + "\n")
    return path


def run(*arguments, answers=None):
    return CliRunner().invoke(cli.app, ["plan", *map(str, arguments)], input=answers)


PRICES = ("--cost", "execution=0.8", "--cost", "binary=95s")


class TestAnswers:
    def test_a_table_and_a_sentence(self, one):
        """What to run, what it costs, what it promises, and what the one-level experiment would give."""
        result = run(one, *PRICES, "--budget", "1h")
        assert result.exit_code == 0
        assert "binaries" in result.stdout
        assert "one-level" in result.stdout
        assert "Run " in result.stdout
        assert " of the mean (95 %); running everything once in each binary would give " in result.stdout
        assert result.stderr == ""
        plan = perfarray.plan_repetitions(perfarray.read(one), costs={"execution": 0.8, "binary": 95.0}, budget=3600, cost_units="s")
        binaries, executions, iterations = plan["repetitions"].values.ravel()
        words = f"{binaries:.0f} binaries, each of {executions:.0f} executions, each of {iterations:.0f} iteration"
        assert words in result.stdout

    def test_several_benchmarks(self, pilot):
        """A row each, the sum of all, the widest, and a pointer to --suite."""
        result = run(pilot, *PRICES, "--half-width", "1%")
        assert result.exit_code == 0
        rows = [line.split()[0] for line in result.stdout.splitlines() if line.startswith(("fft", "sort"))]
        assert rows == ["fft", "sort"]
        assert "for 2 plans; the widest half-width is that of" in result.stdout
        assert "--suite plans them together" in result.stdout

    def test_suite(self, pilot):
        """One number of builds for all."""
        result = run(pilot, *PRICES, "--budget", "2h", "--suite")
        assert result.exit_code == 0
        assert " binaries and run every benchmark on each as the table says: " in result.stdout
        assert "of the suite's geometric mean (95 %)" in result.stdout

    def test_prices_are_asked_for(self, one):
        """What is not given is asked; units may be written."""
        asked = run(one, answers="95\n800ms\n1h\n")
        assert asked.exit_code == 0
        assert "What does making one more build cost (seconds)?" in asked.output
        assert "What does starting and warming up one more execution cost (seconds)?" in asked.output
        assert "What may the experiment cost" in asked.output
        assert asked.stdout.splitlines()[-1] == run(one, *PRICES, "--budget", "3600").stdout.splitlines()[-1]

    def test_prices_in_the_file_are_not_asked_for(self, tmp_path):
        """A pyperf file says what a process and a value take: the budget is all that is needed, and what was reckoned is told."""
        runs = [pyperf_run(1e-3 + k * 1e-5, 1e-3, warmups=[(100, 2e-3)], loops=100, duration=0.45) for k in range(8)]
        result = run(write(tmp_path / "fft.json", suite(bench("fft", *runs))), "--budget", "2min")
        assert result.exit_code == 0
        assert "What does" not in result.output
        assert "one more execution 0.2" in result.stderr

    def test_a_suite_without_builds(self, tmp_path):
        """Processes serve one benchmark each: nothing is made once for all."""
        runs = [pyperf_run(1e-3 + k * 1e-5, 1e-3, warmups=[(100, 2e-3)], loops=100, duration=0.45) for k in range(8)]
        path = write(tmp_path / "two.json", suite(bench("fft", *runs), bench("sort", *runs[::-1])))
        result = run(path, "--budget", "2min", "--suite")
        assert result.exit_code == 0
        assert "Run every benchmark as the table says: " in result.stdout
        assert "executions and run every benchmark on each" not in result.stdout

    def test_questions_stay_out_of_the_answer(self, one):
        """Questions go to stderr, to the last blank: stdout is the same as when nothing was asked."""
        assert run(one, answers="95\n800ms\n1h\n").stdout == run(one, *PRICES, "--budget", "1h").stdout

    def test_a_mistyped_answer_is_asked_for_again(self, one):
        """With what was wrong; the answers before it stand."""
        asked = run(one, answers="95\nsoon\n\n3 furlongs\n0.8\n1h\n")
        assert asked.exit_code == 0
        assert asked.stderr.count("What does starting and warming up one more execution cost (seconds)?") == 4
        assert asked.stderr.count("What does making one more build cost (seconds)?") == 1
        assert "'soon' is no amount; write a number, or one with a unit, as in 8h or 95s" in asked.stderr
        assert "'furlongs' is no unit here" in asked.stderr
        assert asked.stdout == run(one, *PRICES, "--budget", "1h").stdout

    def test_json(self, pilot):
        """One object: a plan per benchmark with everything the Dataset holds, warnings, the exit code and its reason."""
        result = run(pilot, *PRICES, "--budget", "1h", "--json")
        found = json.loads(result.stdout)
        assert result.exit_code == found["exit_code"] == 0
        plan = perfarray.plan_repetitions(perfarray.read(pilot), costs={"execution": 0.8, "binary": 95.0}, budget=3600, cost_units="s")
        assert [row["benchmark"] for row in found["plans"]] == ["fft", "sort"]
        for row in found["plans"]:
            cell = plan.sel(benchmark=row["benchmark"])
            assert row["repetitions"] == cell["repetitions"].to_series().to_dict()
            assert row["half_width"] == pytest.approx(cell["half_width"].item())
            assert row["merged"] == cell["merged"].to_series().to_dict()
        assert found["attrs"]["budget"] == 3600
        assert found["exit_reason"].startswith("Together ")

    def test_json_of_a_suite(self, pilot):
        """Counts by benchmark and level; NaN is null."""
        found = json.loads(run(pilot, *PRICES, "--budget", "2h", "--suite", "--json").stdout)
        (row,) = found["plans"]
        assert row["repetitions"]["fft"]["binary"] == row["repetitions"]["sort"]["binary"]
        assert set(row["seconds"]) == {"fft", "sort"}

    def test_json_of_an_error(self, one):
        """No plan, the reason, exit code 2; the line on stderr as well."""
        result = run(one, *PRICES, "--budget", "1min", "--json")
        found = json.loads(result.stdout)
        assert result.exit_code == found["exit_code"] == 2
        assert found["plans"] == []
        assert "the least budget is" in found["exit_reason"]
        assert "the least budget is" in result.stderr

    def test_words_of_the_format(self, tmp_path):
        """A level may be called what its format calls it; a word of another is told apart."""
        runs = [pyperf_run(1e-3 + k * 1e-5, 1e-3, warmups=[(100, 2e-3)], loops=100, duration=0.45) for k in range(8)]
        path = write(tmp_path / "fft.json", suite(bench("fft", *runs)))
        said = [run(path, "--cost", f"{name}=3", "--budget", "2min").stdout for name in ("process", "execution")]
        assert said[0] == said[1]
        wrong = run(path, "--cost", "fork=3", "--budget", "2min")
        assert "--cost names 'fork', a word of 'jmh'; what was read is 'pyperf'" in wrong.stderr
        twice = run(path, "--cost", "process=3", "--cost", "execution=3", "--budget", "2min")
        assert "--cost names 'execution' twice, once as 'execution'" in twice.stderr

    def test_assurance(self, one):
        """More repetitions, for the half-width to be reached nine times out of ten."""
        plain, sure = (json.loads(run(one, *PRICES, "--half-width", "1%", *own, "--json").stdout) for own in ((), ("--assurance", "90%")))
        assert sure["attrs"]["assurance"] == 0.9
        assert sure["plans"][0]["cost"] > plain["plans"][0]["cost"]
        assert "--assurance 190% is out of range" in run(one, *PRICES, "--half-width", "1%", "--assurance", "190%").stderr

    def test_iterations(self, one):
        """Prices and budget as counts of iterations."""
        result = run(one, "--units", "iterations", "--cost", "execution=19", "--cost", "binary=5343", "--budget", "96000")
        assert result.exit_code == 0
        assert " iterations for a half-width of " in result.stdout


class TestErrors:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("--budget", "1h"), "no answer to: What does making one more build cost"),
            (("--cost", "execution=1..2"), "'1..2' is no amount"),
            (("--cost", "execution"), "--cost 'execution': write level=price"),
            (("--cost", "execution=soon"), "'soon' is no amount"),
            (("--cost", "execution=3 furlongs"), "'furlongs' is no unit here; known: ms, s, min, h, d"),
            (("--units", "iterations", "--cost", "execution=3s"), "'s' is no unit here; known: none"),
            ((*PRICES, "--cost", "build=3", "--budget", "1h"), "--cost names 'build'"),
            ((*PRICES, "--budget", "1min"), "or lower --min-units (at least 2)"),
            ((*PRICES, "--budget", "1h", "--half-width", "1%"), "both of --budget and --half-width came"),
            ((*PRICES, "--budget", "1h", "--min-units", "1"), "--min-units 1: give a whole number"),
            (
                ("--units", "iterations", "--cost", "execution=3", "--cost", "binary=3", "--budget", "900", "--suite"),
                "--suite plans in seconds",
            ),
        ],
    )
    def test_one_line_and_exit_code_2(self, one, arguments, message):
        """No traceback."""
        result = run(one, *arguments)
        assert result.exit_code == 2
        assert message in result.stderr
        assert len([line for line in result.stderr.splitlines() if line.startswith("error")]) == 1

    def test_a_single_unit_is_no_answer(self, tmp_path):
        """Exit code 2, no table of dashes, the reason on stderr."""
        path = tmp_path / "single.csv"
        path.write_text("benchmark,execution,iteration,time\nfft,0,0,1.0\nfft,0,1,1.1\n")
        result = run(path, "--cost", "execution=1", "--budget", "100")
        assert result.exit_code == 2
        assert "rest on one execution" in result.stderr
        assert "name the levels inside it with --levels\n" in result.stderr
        assert result.stdout.startswith("No plan: the pilot has one unit")

    def test_nothing_is_asked_where_there_is_no_plan(self, tmp_path):
        """One execution gives no plan, whatever it costs."""
        path = tmp_path / "single.csv"
        path.write_text("benchmark,execution,iteration,time\nfft,0,0,1.0\nfft,0,1,1.1\n")
        result = run(path)
        assert result.exit_code == 2
        assert "What does" not in result.stderr
        assert "error: no plan: the pilot has one execution of each" in result.stderr

    def test_what_files_are(self, tmp_path):
        """Several files of the same benchmarks are sessions, or executions of one."""
        for name, factor in (("a", 1.0), ("b", 1.02), ("c", 0.99)):
            (tmp_path / f"{name}.csv").write_text("benchmark,iteration,time\n" + "".join(f"fft,{i},{factor + i / 100}\n" for i in range(3)))
        price = ("--cost", "session=1", "--cost", "execution=1", "--half-width", "1%")
        assert "--files-are session" in run(tmp_path, *price).stderr
        assert "repetitions.session," in run(tmp_path, *price, "--files-are", "session", "--output", "csv").stdout
        result = run(tmp_path, "--cost", "execution=1", "--half-width", "1%", "--files-are", "execution", "--assurance", "80%")
        assert result.exit_code == 0, result.output
        assert "80 % of such experiments reach the half-width; one-level: its half-width" in " ".join(result.stdout.split())
        assert "executions" in result.stdout

    def test_one_iteration_says_nothing_of_more(self, tmp_path):
        """What a pilot of one iteration per execution cannot have seen is not said to be missing, nor compared with itself."""
        path = tmp_path / "one_iteration.csv"
        rows = [f"fft,{i},0,{1 + 0.01 * (i * 3 % 7)}" for i in range(8)]
        path.write_text("\n".join(["benchmark,execution,iteration,time", *rows]) + "\n")
        for option in ((), ("--suite",)):
            result = run(path, "--cost", "execution=1", "--budget", "100", *option)
            assert result.exit_code == 0
            assert "a pilot with one cannot say: measure two or more" in result.stdout
            assert "no variation of its own" not in result.stdout
            assert "running everything once" not in result.stdout

    def test_names_and_amounts_are_read_before_the_files(self, tmp_path):
        """A wrong one is told at once, whatever there is to read."""
        for option, said in (
            (
                ("--cost", "build=3"),
                "which is no level; the levels are binary, session, execution, iteration; formats call them fork (jmh)",
            ),
            (("--cost", "execution=3", "--cost", "execution=4"), "--cost names 'execution' twice"),
            (("--budget", "soon"), "'soon' is no amount"),
        ):
            result = run(tmp_path / "none.csv", *option)
            assert result.exit_code == 2
            assert said in result.stderr
        assert "no such file" in run(tmp_path / "none.csv", "--cost", "day=3", "--levels", "day,execution", "--budget", "1h").stderr

    def test_a_missing_file(self, tmp_path):
        """As everywhere."""
        assert run(tmp_path / "none.csv", *PRICES, "--budget", "1h").exit_code == 2


@pytest.mark.parametrize(
    ("text", "seconds"), [("8h", 28800), ("1.5 min", 90), ("95", 95), ("0.8s", 0.8), ("250ms", 0.25), ("2d", 172800), ("1e3", 1000)]
)
def test_amounts(text, seconds):
    """Numbers with and without a unit."""
    assert amount(text, "s") == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("cost", "text"), [(28799.5, "7 h 59 min"), (3600, "1 h"), (200, "3 min 20 s"), (12.34, "12.3 s"), (0.5, "500 ms"), (float("nan"), "-")]
)
def test_prices_in_words(cost, text):
    """Rounded down to the smaller unit."""
    assert duration(cost) == text
