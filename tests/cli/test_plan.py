"""`perfarray plan`: prices given or asked for, a table, a sentence, errors of one line."""

import pytest

import perfarray
from cli.commands import as_json, one_line, refused, run, write_rows
from perfarray.cli.prices import amount
from readers.files_of_our_own import bench, suite, write
from readers.files_of_our_own import run as pyperf_run

SIZES = {"binary": 8, "execution": 5, "iteration": 4}
VARIANCES = {"binary": 2e-4, "execution": 4e-4, "iteration": 9e-4}
TIMES = perfarray.simulate(
    sizes=SIZES, variances=VARIANCES, dims={"benchmark": ["fft", "sort"]}, rng=1
).perf.to_frame()


@pytest.fixture
def pilot():
    """A pilot of two benchmarks."""
    TIMES.to_csv("pilot.csv", index=False)
    return "pilot.csv"


@pytest.fixture
def subset():
    TIMES.query("benchmark == 'fft'").to_csv("one.csv", index=False)
    return "one.csv"


@pytest.fixture
def runs():
    """Processes of pyperf, which know their prices."""
    return [
        pyperf_run(1e-3 + k * 1e-5, 1e-3, warmups=[(100, 2e-3)], loops=100, duration=0.45)
        for k in range(8)
    ]


def plan(*arguments, answers=None, code=0):
    return run("plan", *arguments, answers=answers, code=code)


PRICES = ("--cost", "execution=0.8", "--cost", "binary=95s")
COSTS = {"execution": 0.8, "binary": 95.0}
ONE_HOUR = (*PRICES, "--budget", "1h")


class TestAnswers:
    def test_a_table_and_a_sentence(self, subset):
        """The sentence says what to run, what it costs, what it reaches, and what the one-level
        experiment would reach."""
        result = plan(subset, *ONE_HOUR)
        assert "one-level" in result.stdout
        assert (
            " of the mean (95 %); running everything once in each binary would give "
            in result.stdout
        )
        assert result.stderr == ""
        expected = perfarray.plan_repetitions(
            perfarray.read(subset), costs=COSTS, budget=3600, cost_units="s"
        )
        binaries, executions, iterations = expected["repetitions"].values.ravel()
        assert (
            f"Run {binaries:.0f} binaries, each of {executions:.0f} executions, each of "
            f"{iterations:.0f} iteration"
        ) in result.stdout

    def test_several_benchmarks(self, pilot):
        """There is a row for each, the sum of all, the widest, and a pointer to --suite."""
        result = plan(pilot, *PRICES, "--half-width", "1%")
        rows = [
            line.split()[0]
            for line in result.stdout.splitlines()
            if line.startswith(("fft", "sort"))
        ]
        assert rows == ["fft", "sort"]
        assert "for 2 plans. The widest half-width is that of" in result.stdout
        assert "--suite plans them together" in result.stdout

    def test_suite(self, pilot, tmp_path, runs):
        """All benchmarks share the builds; processes serve one benchmark each."""
        printed = plan(pilot, *PRICES, "--budget", "2h", "--suite").stdout
        assert " binaries and run every benchmark on each as the table says: " in printed
        assert "of the suite's geometric mean (95 %)" in printed
        (row,) = as_json("plan", pilot, *PRICES, "--budget", "2h", "--suite")["plans"]
        assert row["repetitions"]["fft"]["binary"] == row["repetitions"]["sort"]["binary"]
        assert set(row["seconds"]) == {"fft", "sort"}
        path = write(tmp_path / "two.json", suite(bench("fft", *runs), bench("sort", *runs[::-1])))
        printed = plan(path, "--budget", "2min", "--suite").stdout
        assert "Run every benchmark as the table says: " in printed
        assert "executions and run every benchmark on each" not in printed

    def test_questions(self, subset):
        """Prices that are missing are asked for on stderr, again after a mistyped answer; stdout is
        as if nothing had been asked."""
        expected = plan(subset, *ONE_HOUR).stdout
        requested = plan(subset, answers="95\n800ms\n1h\n")
        assert "What does making one more build cost (seconds)?" in requested.stderr
        assert "What may the experiment cost" in requested.stderr
        second_run = plan(subset, answers="95\nsoon\n\n3 furlongs\n0.8\n1h\n")
        assert (
            second_run.stderr.count(
                "What does starting and warming up one more execution cost (seconds)?"
            )
            == 4
        )
        assert second_run.stderr.count("What does making one more build cost (seconds)?") == 1
        assert (
            "'soon' is no amount. Write a number, or one with a unit, as in 8h or 95s"
            in second_run.stderr
        )
        assert "'furlongs' is no unit here" in second_run.stderr
        assert requested.stdout == second_run.stdout == expected

    def test_prices_and_words_of_a_format(self, tmp_path, runs):
        """A pyperf file knows what a process takes, and what its format calls a level; a word of
        another format is an error."""
        path = write(tmp_path / "fft.json", suite(bench("fft", *runs)))
        result = plan(path, "--budget", "2min")
        assert "What does" not in result.output
        assert "one more execution 0.2" in result.stderr
        process, execution = (
            plan(path, "--cost", f"{name}=3", "--budget", "2min").stdout
            for name in ("process", "execution")
        )
        assert process == execution
        wrong = plan(path, "--cost", "fork=3", "--budget", "2min", code=2)
        assert "--cost names 'fork', a word of 'jmh'; what was read is 'pyperf'" in wrong.stderr
        twice = plan(
            path, "--cost", "process=3", "--cost", "execution=3", "--budget", "2min", code=2
        )
        assert "--cost names 'execution' twice, once as 'execution'" in twice.stderr

    def test_json(self, pilot, subset):
        """One object holds the variables of each plan, or, without a plan, the reason, which is on
        stderr as well."""
        content = as_json("plan", pilot, *ONE_HOUR)
        expected = perfarray.plan_repetitions(
            perfarray.read(pilot), costs=COSTS, budget=3600, cost_units="s"
        )
        assert [row["benchmark"] for row in content["plans"]] == ["fft", "sort"]
        for row in content["plans"]:
            cell = expected.sel(benchmark=row["benchmark"])
            assert row["repetitions"] == cell["repetitions"].to_series().to_dict()
            assert row["half_width"] == pytest.approx(cell["half_width"].item())
            assert row["merged"] == cell["merged"].to_series().to_dict()
        assert (content["attrs"]["budget"], content["exit_code"]) == (3600, 0)
        assert content["exit_reason"].startswith("Together ")
        command = ("plan", subset, *PRICES, "--budget", "1min", "--json")
        content = as_json(*command, code=2)
        assert content["plans"] == []
        assert "the least budget is" in content["exit_reason"]
        assert "the least budget is" in run(*command).stderr

    def test_assurance(self, subset):
        """More repetitions reach the half-width nine times out of ten."""
        command = ("plan", subset, *PRICES, "--half-width", "1%")
        plain, assured = as_json(*command), as_json(*command, "--assurance", "90%")
        assert assured["attrs"]["assurance"] == 0.9
        assert assured["plans"][0]["cost"] > plain["plans"][0]["cost"]

    def test_iterations(self, subset):
        """Prices and budget may be counts of iterations."""
        prices = ("--cost", "execution=19", "--cost", "binary=5343")
        assert (
            " iterations for a half-width of "
            in plan(subset, "--units", "iterations", *prices, "--budget", "96000").stdout
        )

    @pytest.mark.parametrize("option", [(), ("--suite",)])
    def test_one_iteration(self, option):
        """A pilot of one iteration per execution knows nothing of more, and no experiment is
        compared with itself."""
        rows = [f"fft,{i},0,{1 + 0.01 * (i * 3 % 7)}" for i in range(8)]
        path = write_rows("one_iteration.csv", "benchmark,execution,iteration,time", rows)
        printed = plan(path, "--cost", "execution=1", "--budget", "100", *option).stdout
        assert "a pilot with one cannot say: measure two or more" in printed
        assert "no variation of its own" not in printed
        assert "running everything once" not in printed

    def test_files_are(self, tmp_path):
        """Several files of the same benchmarks are sessions, or executions of one."""
        for name, factor in (("a", 1.0), ("b", 1.02), ("c", 0.99)):
            write_rows(
                f"{name}.csv",
                "benchmark,iteration,time",
                [f"fft,{i},{factor + i / 100}" for i in range(3)],
            )
        price = ("--cost", "session=1", "--cost", "execution=1", "--half-width", "1%")
        assert "--files-are session" in plan(tmp_path, *price, code=2).stderr
        assert (
            "repetitions.session,"
            in plan(tmp_path, *price, "--files-are", "session", "--output", "csv").stdout
        )
        printed = plan(
            tmp_path, *price[2:], "--files-are", "execution", "--assurance", "80%"
        ).stdout
        assert (
            "80 % of such experiments reach the half-width; one-level: its half-width"
            in one_line(printed)
        )


class TestErrors:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("--budget", "1h"), "no answer to: What does making one more build cost"),
            (("--cost", "execution=1..2"), "'1..2' is no amount"),
            (("--cost", "execution"), "--cost 'execution': write level=price"),
            (("--cost", "execution=soon"), "'soon' is no amount"),
            (
                ("--cost", "execution=3 furlongs"),
                "'furlongs' is no unit here. Known: ms, s, min, h, d",
            ),
            (
                ("--units", "iterations", "--cost", "execution=3s"),
                "'s' is no unit here. Known: none",
            ),
            ((*PRICES, "--cost", "build=3", "--budget", "1h"), "--cost names 'build'"),
            ((*PRICES, "--budget", "1min"), "or lower --min-units (at least 2)"),
            (
                (*ONE_HOUR, "--half-width", "1%"),
                "Give either --budget, what may be spent, or --half-width",
            ),
            ((*ONE_HOUR, "--min-units", "1"), "--min-units 1: give a whole number"),
            (
                (*PRICES, "--half-width", "1%", "--assurance", "190%"),
                "--assurance 190% is out of range",
            ),
            (
                (
                    "--units",
                    "iterations",
                    "--cost",
                    "execution=3",
                    "--cost",
                    "binary=3",
                    "--budget=900",
                    "--suite",
                ),
                "--suite plans in seconds",
            ),
        ],
    )
    def test_one_line(self, subset, arguments, message):
        assert message in refused("plan", subset, *arguments)

    def test_a_single_unit(self):
        """There is no plan, no table of dashes, and no question."""
        rows = [f"fft,{i},{j},{1 + j / 10}" for i in range(2) for j in range(2)]
        path = write_rows("single.csv", "benchmark,execution,iteration,time", rows[:2])
        result = plan(path, "--cost", "execution=1", "--budget", "100", code=2)
        assert "rest on one execution" in result.stderr
        assert "Run several processes: `" in result.stderr
        assert "--levels" not in result.stderr
        assert result.stdout.startswith("No plan: the pilot has one unit")
        requested = plan(path, code=2).stderr
        assert "What does" not in requested
        assert "error: no plan from this pilot. One execution of each shows no spread" in requested
        write_rows(path, "benchmark,execution,iteration,time", rows)
        assert (
            "no answer to: What does starting and warming up one more execution cost"
            in plan(path, code=2).stderr
        )

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (
                "--cost build=3",
                (
                    "which is no level. The levels are binary, session, execution, iteration; "
                    "formats call them fork (jmh)"
                ),
            ),
            ("--cost execution=3 --cost execution=4", "--cost names 'execution' twice"),
            ("--budget soon", "'soon' is no amount"),
            ("--cost day=3 --levels day,execution --budget 1h", "no such file"),
            ("--cost day=3 --layout {day}.csv --budget 1h", "no such file"),
            ("--cost day=3 --dims day=start --budget 1h", "no such file"),
        ],
    )
    def test_options_are_read_before_files(self, options, message):
        """A wrong name or amount is an error whatever there is to read; other options may name
        levels."""
        assert message in plan("none.csv", *options.split(), code=2).stderr


AMOUNTS = {
    "8h": 28800,
    "1.5 min": 90,
    "95": 95,
    "0.8s": 0.8,
    "250ms": 0.25,
    "2d": 172800,
    "1 day": 86400,
    "2 days": 172800,
    "1e3": 1000,
}


@pytest.mark.parametrize(("text", "seconds"), AMOUNTS.items())
def test_amounts(text, seconds):
    """Numbers have a unit or none."""
    assert amount(text, "s") == pytest.approx(seconds)


def test_order_of_measuring_in_turns():
    """Pairs, each of which begins with what ended the last; as many as the plan has executions."""
    rows = [
        f"{version},{run},{1 + run / 100 + (version == 'new') / 50}"
        for version in ("old", "new")
        for run in range(6)
    ]
    pilot = write_rows("pilot.csv", "version,execution,time", rows)
    options = ("--interleave", "--cost", "execution=1", "--half-width", "2%")
    order = as_json("plan", pilot, "--baseline", "old", *options)["order"]
    assert order[:6] == ["old", "new", "new", "old", "old", "new"]
    assert order.count("old") == order.count("new") >= 5
    assert "--baseline LABEL" in one_line(plan(pilot, *options, code=2).output)
