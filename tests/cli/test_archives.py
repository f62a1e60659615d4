"""Commands about an archive of machines and suites, on a small one and on those of genuine
reports."""

import csv
import io
import json
import math
import re
import shlex

import numpy as np
import pytest
import xarray as xr

import perfarray
from cli.archives import write_archive
from cli.commands import as_json, one_line, refused, run, write_rows
from shared_material import ARCHIVES, needs_archives

FIVE = ("minimum", "q1", "median", "q3", "maximum")
BY_SUITE = ("--by", "suite")


@pytest.fixture
def path():
    return write_archive()


@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
class TestScores:
    def test_numbers(self, path):
        """A row for each configuration and suite: the score, five numbers and relative variation of
        the library, and the runs."""
        rows = as_json("scores", path, *BY_SUITE, code=0)["rows"]
        times = perfarray.read_archive(str(path)).squeeze("file")
        results = {
            "score": times.perf.suite_score(by="suite", statistic="median")["estimate"],
            "relative_variation": times.perf.relative_variation(by="suite")["relative_variation"],
            **{
                name: times.perf.five_number_summary(by="suite", method="exact")[name]
                for name in FIVE
            },
        }
        assert {row["machine"] for row in rows if row["suite"] == "int2017"} == {
            f"box-{number}" for number in range(8)
        }
        assert len({(row["suite"], row["machine"], row["compiler"]) for row in rows}) == len(rows)
        for row in rows:
            labels = {dim: row[dim] for dim in ("suite", "machine", "compiler")}
            for name, values in results.items():
                value = math.nan if row[name] is None else row[name]
                np.testing.assert_allclose(value, values.sel(labels).item(), rtol=1e-12)
            assert row["n"] == (1 if row["machine"] == "box-3" else 3)
            assert (row["relative_variation"] is None) is (row["machine"] == "box-3")

    def test_table(self, path, monkeypatch):
        """The columns of three results stand side by side; configurations that nobody measured have
        no row."""
        monkeypatch.setenv("COLUMNS", "200")
        printed = run("scores", path, *BY_SUITE, code=0).stdout
        head = next(line.split() for line in printed.splitlines() if line.startswith("suite"))
        assert head == [
            "suite",
            "machine",
            "compiler",
            "score",
            *FIVE,
            "relative",
            "variation",
            "n",
        ]
        assert [
            line.split()[1:4]
            for line in printed.splitlines()
            if "box-1" in line and line.startswith("int2017")
        ] == [["box-1", "gcc", "13"]]
        assert "scores; relative variation 0." in printed

    def test_order(self, path):
        """By size or by name inside each suite, whose scores have a scale of their own; alike in
        JSON and CSV."""
        rows = as_json("scores", path, *BY_SUITE, "--sort", "effect")["rows"]
        suites = [row["suite"] for row in rows]
        assert suites == sorted(suites, key=["int2017", "fp2017"].index)
        for suite in ("int2017", "fp2017"):
            scores = [
                row["score"] for row in rows if row["suite"] == suite and row["score"] is not None
            ]
            assert scores == sorted(scores, reverse=True)
        text = run("scores", path, *BY_SUITE, "--sort", "effect", "--output", "csv").stdout
        assert [row["machine"] for row in csv.DictReader(io.StringIO(text))] == [
            row["machine"] for row in rows
        ]
        names = [
            (row["machine"], row["compiler"])
            for row in as_json("scores", path, *BY_SUITE, "--sort", "name")["rows"]
        ]
        half = len(names) // 2
        assert names[:half] == sorted(names[:half])

    def test_selected(self, path, tmp_path):
        """`--select` restricts what is scored; one suite needs no column; -o writes, and the
        outcome is printed."""
        completed = run(
            "scores",
            path,
            "--select",
            "suite=int*",
            "--select",
            "machine=box-[45]",
            "-o",
            "scores.csv",
            code=0,
        )
        assert completed.stdout.startswith("4 scores; relative variation")
        rows = list(csv.DictReader(io.StringIO((tmp_path / "scores.csv").read_text())))
        assert [(row["machine"], row["compiler"]) for row in rows] == [
            (box, name) for box in ("box-4", "box-5") for name in ("gcc 13", "clang 18")
        ]
        assert "no such machine" in refused("scores", path, "--select", "machine=AMD*")

    def test_statistics(self, path):
        """The score is that of another statistic of the runs, too, and so is its variation."""
        select = (
            "--select",
            "machine=box-4",
            "--select",
            "suite=int2017",
            "--select",
            "compiler=gcc 13",
        )
        times = (
            perfarray.read_archive(str(path))
            .isel(file=0, benchmark=slice(4))
            .sel(machine="box-4", compiler="gcc 13")
        )
        for statistic in ("mean", "best"):
            (row,) = as_json("scores", path, *select, "--statistic", statistic)["rows"]
            assert row["score"] == pytest.approx(
                times.perf.suite_score(statistic=statistic)["estimate"].item()
            )
            variation = times.perf.relative_variation(statistic=statistic)[
                "relative_variation"
            ].item()
            assert row["relative_variation"] == pytest.approx(variation)

    def test_page(self, path, tmp_path):
        """A page has the picture of the five numbers."""
        pytest.importorskip("matplotlib")
        run("scores", path, *BY_SUITE, "--select", "machine=box-[4-7]", "-o", "scores.html", code=0)
        assert "data:image/svg" in (tmp_path / "scores.html").read_text()

    def test_nothing_is_common(self, tmp_path):
        """Two machines without a common benchmark have no score: exit code 2."""
        rows = "a,m1,0,1.0\na,m1,1,1.1\nb,m2,0,1.0\nb,m2,1,1.2\n"
        (tmp_path / "apart.csv").write_text(f"benchmark,machine,execution,time\n{rows}")
        assert "was measured in every cell" in refused("scores", "apart.csv")
        assert "scores" not in run("about", "apart.csv", code=0).stdout


class TestMachines:
    def test_an_archive_without_machines(self):
        """Its rows are those of what was compared; a second run prints the same numbers, though
        ten builds of two runs have no closed form."""
        rows = [
            f"{name},{flags},{build},{run},{(1 + (3 * build + run) % 7 / 10) * (1 + (name == 'a'))}"
            for name in "ab"
            for flags in ("O2", "O3")
            for build in range(10)
            for run in range(2)
        ]
        path = write_rows("runs.csv", "benchmark,flags,binary,execution,time", rows)
        for command in ("machines", "scores"):
            first, second = (run(command, path, code=0).stdout for _ in range(2))
            assert first == second
        assert run("machines", path).stdout.splitlines()[-1].startswith("2 rows, ")

    def test_table(self, path, tmp_path):
        """A row for each configuration, typed descriptors; the file has all columns, the screen
        scores, variation and counts."""
        completed = run("machines", path, "--select", "suite=int2017", "-o", "machines.csv", code=0)
        assert completed.stdout.startswith("15 rows of 8 machines, ")
        rows = list(csv.DictReader(io.StringIO((tmp_path / "machines.csv").read_text())))
        assert {(row["machine"], row["cpu_mhz"], row["cores"]) for row in rows} >= {
            ("box-0", "2000.0", "8.0"),
            ("box-7", "3750.0", "16.0"),
        }
        assert {row["cpu"] for row in rows} >= {"AMD Z1", "Intel X0"}
        printed = run("machines", path, "--select", "suite=int2017").stdout
        assert one_line(printed).startswith(
            "machine compiler performance relative variation runs benchmarks"
        )
        assert re.search(
            r"\d+ more columns describe machines and flags: -o machines.csv has all\.",
            one_line(printed),
        )

    def test_by_suite(self, path):
        """Each suite has its own rows."""
        rows = as_json("machines", path, *BY_SUITE)["rows"]
        assert {row["suite"] for row in rows} == {"int2017", "fp2017"}


class TestExplain:
    @pytest.fixture
    def large_archive(self):
        pytest.importorskip("sklearn")
        return write_archive("many.csv", n_machines=30)

    def test_sentences(self, large_archive):
        """The outcome is what a report says: the clock explains performance; every predictor has a
        row, the strongest first."""
        command = (
            "explain",
            large_archive,
            "--select",
            "suite=int2017",
            "--response",
            "performance",
            "--predictors",
            "cpu_mhz, cores",
        )
        answer = as_json(*command, code=0)
        assert [row["predictor"] for row in answer["rows"]] == ["cpu_mhz", "cores"]
        assert answer["findings"][0].startswith("cpu_mhz explains ")
        assert answer["attrs"]["response"] == "performance"
        assert 0.5 < answer["model"]["correlation"] <= 1
        printed = run(*command).stdout
        assert printed.splitlines()[-1].startswith("cpu_mhz explains ")
        assert "Both predictors together explain" in one_line(printed)

    def test_models(self, large_archive, tmp_path):
        """Least squares has coefficients; a page has a picture."""
        pytest.importorskip("matplotlib")
        command = (
            "explain",
            large_archive,
            "--select",
            "suite=int2017",
            "--response",
            "performance",
            "--predictors",
            "cpu_mhz",
            "--model",
            "ols",
        )
        assert "standardised coefficient" in run(*command).stdout
        run(*command, "-o", "explained.html", code=0)
        assert "data:image/svg" in (tmp_path / "explained.html").read_text()

    def test_errors(self, path):
        """A column that is not there is named beside those that are; few machines have no model."""
        assert "columns 'speed' not found; the table has 'machine'" in refused(
            "explain", path, "--response", "speed"
        )
        short = (
            "explain",
            path,
            "--select",
            "machine=box-[01]",
            "--select",
            "suite=int2017",
            "--response",
            "performance",
        )
        assert "A model needs 6 or more" in refused(*short)

    def test_one_machine(self, tmp_path):
        """One machine in many settings has no model: the error proposes what the command can do."""
        pytest.importorskip("sklearn")
        benchmark = [
            f"{name},m1,{flags},{run},{1 + flags + 0.01 * run}"
            for name in "ab"
            for flags in range(8)
            for run in range(3)
        ]
        (tmp_path / "one.csv").write_text(
            "benchmark,machine,threads,execution,time\n" + "\n".join(benchmark) + "\n"
        )
        error = refused(
            "explain", "one.csv", "--response", "performance", "--predictors", "threads"
        )
        assert "'machine' has 1 label in 8 rows" in error
        assert "Select more: limits take 6" in error
        assert "groups=" not in error

    def test_notes_are_of_the_answer(self, large_archive):
        """Of several suites the notes are those of the suite that is explained; of performance,
        none about variation."""
        output = run(
            "explain", large_archive, "--response", "performance", "--predictors", "cpu_mhz", code=0
        ).stderr
        assert "only 'int2017' is explained" in output
        assert "fp2017:" not in output
        assert "no score" not in output
        assert "variation is NaN" not in output

    def test_the_other_explain_is_named(self):
        """The helps of the command and of `compare --explain` name each other."""
        assert "`perfarray compare --explain`" in one_line(run("explain", "--help").stdout).replace(
            "│ ", ""
        )
        assert "`perfarray explain`" in one_line(run("compare", "--help").stdout)


class TestComparisons:
    def test_largest_changes(self, path):
        """Of more than 60 rows 20 are printed, the suites, and how to have all; JSON and CSV have
        all, and the exit code is that of all."""
        wide = write_archive("wide.csv", n_machines=12)
        command = ("compare", wide, "--dim", "compiler", "--baseline", "clang 18")
        answer = as_json(*command, code=1)
        n_rows = sum(row["n"] > 0 for row in answer["benchmarks"])
        assert n_rows > 60
        printed = run(*command, code=1).stdout
        rows = [
            line.split() for line in printed.splitlines() if "slower" in line and " -> " in line
        ]
        assert len(rows) == 20
        assert f"The 20 largest of {n_rows} changes. --all, json and csv have every row." in printed
        largest = sorted(
            (row for row in answer["benchmarks"] if row["n"] > 0),
            key=lambda row: -abs(math.log(row["estimate"])),
        )[:20]
        assert [(row[0], row[1]) for row in rows] == [
            (row["benchmark"], row["machine"]) for row in largest
        ]
        assert printed.count("\nall ") == 2 * 11
        by_name = run(*command, "--sort", "name").stdout
        renamed = [
            line.split()[0] for line in by_name.splitlines() if "slower" in line and " -> " in line
        ]
        assert len(renamed) == 20
        assert renamed == sorted(renamed)
        everything = run(*command, "--all").stdout
        assert sum(" -> " in line and "box-" in line for line in everything.splitlines()) == n_rows
        assert "largest of" not in everything
        assert (
            len(
                run(
                    "compare", path, "--dim", "compiler", "--baseline", "gcc 13"
                ).stdout.splitlines()
            )
            > 50
        )

    def test_only_what_both_sides_have(self, tmp_path):
        """Of several candidates, one line says how many results have no other side; no row and no
        name of these is printed."""
        rows = [
            f"{name},{machine},{compiler},{run},{1 + run / 50}"
            for name in ("fft", "sort")
            for machine, compilers in (("m1", "ab"), ("m2", "bc"), ("m3", "a"))
            for compiler in compilers
            for run in range(3)
        ]
        (tmp_path / "sparse.csv").write_text(
            "\n".join(["benchmark,machine,compiler,execution,time", *rows])
        )
        completed = run("compare", "sparse.csv", "--dim", "compiler", code=0)
        assert completed.stdout.startswith(
            "sparse.csv: every compiler beside b (it shares the most results with others; "
            "--baseline names another)\n"
        )
        assert (
            "Results without the other side: 2 of another compiler (--output json names all).\n"
            in completed.stdout
        )
        assert "m3" not in completed.stdout
        rows = as_json("compare", "sparse.csv", "--dim", "compiler")["benchmarks"]
        assert all(row["n_old"] > 0 or row["n_new"] > 0 for row in rows)

    def test_rows_in_full(self, path):
        """CSV and JSON have a row for what each candidate has, one for what the baseline has alone,
        and verdicts of both sides alone."""
        pytest.importorskip("h5netcdf")
        times = perfarray.read_archive(str(path))
        group = [
            times.assign_coords(compiler=["gcc 13", "clang 18"]),
            times.isel(compiler=[0]).assign_coords(compiler=["icc"]),
        ]
        joint = xr.concat([group[0], group[1].where(group[1]["machine"] == "box-4")], "compiler")
        joint.where((joint["machine"] != "box-5") | (joint["compiler"] == "gcc 13")).to_netcdf(
            "three.nc"
        )
        command = ("compare", "three.nc", "--dim", "compiler", "--baseline", "gcc 13")
        answer = as_json(*command)
        rows = answer["benchmarks"]
        alone = {"box-1", "box-5"}
        assert {
            (row["machine"], row["compiler"], row["n_new"])
            for row in rows
            if row["machine"] in alone
        } == {(machine, "gcc 13", 0) for machine in alone}
        assert sum(row["machine"] in alone for row in rows) == 14
        assert all((row["verdict"] == "") is (row["n"] == 0) for row in rows)
        assert answer["exit_reason"].startswith(
            f"{sum(row['verdict'] != '' for row in rows)} compared: "
        )
        lines = list(csv.DictReader(io.StringIO(run(*command, "--output", "csv").stdout)))
        assert [line["verdict"] for line in lines[: len(rows)]] == [row["verdict"] for row in rows]

    def test_flags_are_sets(self):
        """A name that is a plural has a singular."""
        rows = [
            f"fft,{machine},{flags},{run},{1 + run / 50}"
            for machine, flags in ("xa", "xb", "yb", "yc")
            for run in range(3)
        ]
        path = write_rows("flags.csv", "benchmark,machine,flags,execution,time", rows)
        printed = run("compare", path, "--dim", "flags", "--baseline", "a").stdout
        assert printed.startswith("flags.csv: every set of flags beside a\n")
        assert "2 of another set of flags" in printed


class TestAbout:
    def test_content_and_commands(self, path):
        """The scores of each suite and the descriptors are named; each proposed command has an
        answer on this very path."""
        pytest.importorskip("sklearn")
        pytest.importorskip("matplotlib")
        printed = run("about", path, code=0).stdout
        assert "2 suites: 'int2017', 'fp2017'" in printed
        assert "scores (each machine with its compiler): int2017 15, fp2017 1" in printed
        assert "descriptors of machines: cpu, cpu_mhz, cores, date_tested" in printed
        commands = [
            shlex.split(line) for line in re.findall(r"^  perfarray (.*?)  ", printed, re.M)
        ]
        assert [words[0] for words in commands][:5] == [
            "scores",
            "plot",
            "plot",
            "machines",
            "explain",
        ]
        assert commands[2][1:] == [
            "biplot",
            path.name,
            "--select",
            "suite=int2017",
            "--select",
            "compiler=gcc 13",
            "-o",
            "biplot.svg",
        ]
        for words in commands[:5]:
            run(*words, code=0)
        assert {"plan", "components"}.isdisjoint(words[0] for words in commands)

    def test_unknown_descriptors_are_left_out(self, path):
        """What no machine says describes none."""
        pytest.importorskip("h5netcdf")
        times = perfarray.read_archive(str(path)).squeeze("file", drop=True)
        times.assign_coords(
            l3_kb=("machine", [math.nan] * 8), os=("machine", ["unknown"] * 8)
        ).to_netcdf("nothing.nc")
        assert (
            "descriptors of machines: cpu, cpu_mhz, cores, date_tested\n"
            in run("about", "nothing.nc", code=0).stdout
        )

    def test_one_suite_of_one_machine(self, tmp_path):
        """It has scores, and neither a biplot nor a table of machines."""
        rows = [f"{name},int,{run},{1 + run / 50}" for name in ("fft", "sort") for run in range(3)]
        (tmp_path / "suite.csv").write_text("\n".join(["benchmark,suite,execution,time", *rows]))
        printed = run("about", "suite.csv", code=0).stdout
        assert ("  perfarray scores " in printed, "biplot" in printed, "explain" in printed) == (
            True,
            False,
            False,
        )


@needs_archives
class TestGenuineArchives:
    @pytest.mark.parametrize(("name", "n_scores"), [("spec_csv", 12), ("spec_txt", 342)])
    def test_scores(self, name, n_scores):
        """Every configuration of every suite has its row."""
        answer = json.loads(
            run(
                "scores", ARCHIVES / name, *BY_SUITE, "--levels", "execution", "--json", code=0
            ).stdout
        )
        rows = answer["rows"]
        assert n_scores <= len(rows) <= n_scores * 1.05
        assert all(row["score"] is not None for row in rows)

    def test_published_scores(self):
        """SPEC prints 416 and 432, 35.3, 317 and 1.24 for these."""
        rows = as_json("scores", ARCHIVES / "spec_csv", *BY_SUITE, code=0)["rows"]
        scores = {(row["suite"], row["machine"][:6], row["tuning"]): row["score"] for row in rows}
        assert scores["int2006_rate", "ACTINA", "base"] == pytest.approx(416.443094, rel=5e-3)
        assert scores["int2006_rate", "standa", "base"] == pytest.approx(35.27003, rel=5e-3)

    def test_a_comparison_fits_a_screen_or_two(self):
        """It printed 1,503 lines."""
        printed = run(
            "compare", ARCHIVES / "spec_txt", "--dim", "compiler", "--levels", "execution", code=1
        ).stdout
        assert len(printed.splitlines()) < 200
        assert "--all, json and csv have every row" in printed
        assert "no ratio on either side" not in printed
