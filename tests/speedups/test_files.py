"""The tool's configuration in, the tool's four files out; and the same files as timings."""

import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import perfarray
from perfarray.cli.app import app

HEAD = "Name,Sample1,Sample2,ConfLevel,Coef"
OLD = [2.799, 2.046, 1.259, 1.877, 2.244]
NEW = [1.046, 0.259, 0.877, 1.244, 1.799]


def write_samples(folder, name, old, new):
    """Write two sample files and return what the configuration calls them."""
    for kind, values in (("old", old), ("new", new)):
        (folder / f"{name}.{kind}").write_text("".join(f"{value}\n" for value in values))
    return f'"{name}","{name}.old","{name}.new"'


@pytest.fixture
def config(tmp_path):
    """Two benchmarks: the paper's second, and one that is slower; levels and weights for one of
    them only."""
    rows = [
        write_samples(tmp_path, "fast", OLD, NEW) + ",NA,",
        write_samples(tmp_path, "slow", NEW, OLD) + ",0.9,2",
    ]
    path = tmp_path / "bench.cfg"
    path.write_text("\n".join([HEAD, *rows, ""]))
    return path


def cells(path):
    """Read a written table: name to cells."""
    lines = [line.split(",") for line in Path(path).read_text().splitlines()]
    return {name.strip('"'): row for name, *row in lines[1:]}


def test_the_tools_own_output(shared, tmp_path, monkeypatch):
    """On the tool's real inputs our table, report and warnings are its own, byte by byte; the
    fourth file says the same of weights."""
    folder = shared("data", "speedup_test")
    monkeypatch.chdir(folder)
    result = perfarray.speedup_report("benchmark_amd.cfg", output=tmp_path / "ours")
    for suffix in ("out", "report", "warning"):
        assert (tmp_path / f"ours.{suffix}").read_bytes() == (
            folder / f"benchmark_amd.cfg.{suffix}"
        ).read_bytes(), suffix
    status = (tmp_path / "ours.error").read_text().splitlines()
    theirs = (folder / "benchmark_amd.cfg.error").read_text().splitlines()
    assert status[:3] == [theirs[0], *theirs[2:4]]  # the second line speaks of warnings inside R
    assert len(status) == 4
    assert result["significant"].sel(statistic=["mean", "median"]).all()


def test_the_four_benchmarks_of_the_paper(golden, tmp_path):
    """Section 6.3: table, gains, proportions, the number of benchmarks, and three warnings."""
    data = golden("speedup_software_example")
    sides = {
        benchmark["name"]: (benchmark["input"]["x_initial"], benchmark["input"]["y_optimised"])
        for benchmark in data["benchmarks"]
    }
    rows = [write_samples(tmp_path, name, *samples) + ",," for name, samples in sides.items()]
    (tmp_path / "bench.cfg").write_text("\n".join([HEAD, *rows]))
    perfarray.speedup_report(tmp_path / "bench.cfg")
    assert (tmp_path / "bench.cfg.out").read_text().splitlines()[1:] == [
        '"first benchmark",1.971,1.276,FALSE,NA,1.098,TRUE,0.76,1,1,1',
        '"second benchmark",4.861,1.957,TRUE,0.98,1.956,TRUE,0.99,1,1,1',
        '"third benchmark",1.365,1.167,TRUE,0.99,1.127,TRUE,0.99,1,1,1',
        '"fourth benchmark",1.457,1.112,TRUE,0.83,1.13,TRUE,0.81,1,1,1',
    ]
    report = (tmp_path / "bench.cfg.report").read_text().splitlines()
    assert {
        "Overall gain (ExecutionTime=min) = 0.371",
        "Overall speedup (ExecutionTime=mean) = 1.216",
        "The observed proportion of accelerated benchmarks (speedup of the mean) a/b = 3/4 = 0.75",
        "Proportion confidence interval (speedup of the mean) = [0.219; 0.987]",
        "Proportion confidence interval (speedup of the median) = [0.396; 1]",
        (
            "The minimal needed number of randomly selected benchmarks is 289 (in order to have a "
            "precision r=0.05)."
        ),
    } <= set(report)
    assert sum(line.startswith("The minimal needed") for line in report) == 1  # not for 4 of 4
    small = "\tSample{} too small for applying the Student's t-test (speedup of the mean). "
    small += "Please do more than 30 observations of the executions times."
    assert (tmp_path / "bench.cfg.warning").read_text().splitlines()[1:] == [
        "first benchmark :",
        small.format(1),
        small.format(2),
        (
            "\tUnable to find a confidence level greater than 50% to guarantee the statistical "
            "significance of mean speedup."
        ),
        "3 warning(s).",
    ]


def test_levels_and_weights_of_the_configuration(config):
    """A benchmark's own level wins over the call's; incomplete weights are replaced by equal ones,
    and that is noted."""
    result = perfarray.speedup_report(config, confidence_level=0.95)
    table = cells(f"{config}.out")
    assert table["fast"][2:4] == ["TRUE", "0.95"]
    assert table["slow"][2:4] + table["slow"][-3:] == ["FALSE", "0.9", "1", "1", "1"]
    assert (
        Path(f"{config}.error")
        .read_text()
        .startswith("Illegal user-defined weights, using equal weights instead.\n")
    )
    assert result["confidence_level"].sel(benchmark="slow", statistic="mean").item() == 0.9
    assert result["overall_speedup"].sel(statistic="mean").item() == pytest.approx(1.0)
    assert result["accelerated_speedup"].sel(statistic="mean").item() == pytest.approx(
        sum(OLD) / sum(NEW)
    )


def test_corrected_reports(tmp_path):
    """Corrected p-values decide in files, variables and on the command line, of means and medians
    apart; without them no byte changes."""
    rng = np.random.default_rng(1)
    rows = [
        write_samples(tmp_path, f"b{number}", *(rng.normal(mean, 0.1, 10) for mean in (10, 9.93)))
        + ",,"
        for number in range(8)
    ]
    path = tmp_path / "bench.cfg"
    path.write_text("\n".join([HEAD, *rows, ""]))
    plain = perfarray.speedup_report(path, confidence_level=0.95, output=tmp_path / "plain")
    report = perfarray.speedup_report(
        path, confidence_level=0.95, correction="holm", output=tmp_path / "holm"
    )
    times, options = (
        perfarray.read(path),
        {"confidence_level": 0.95, "correction": "holm", "search": "tool"},
    )
    for statistic, column in (("mean", 2), ("median", 5)):
        tests = times.perf.speedup_test("Sample1", statistic=statistic, **options).squeeze(
            "version"
        )
        row = report.sel(statistic=statistic)
        assert row["significant"].values.tolist() == tests["significant"].values.tolist()
        np.testing.assert_allclose(row["pvalue_adjusted"], tests["pvalue_adjusted"])
        assert (
            row["accelerated"].item()
            == tests["significant"].sum().item()
            < plain["accelerated"].sel(statistic=statistic).item()
        )
        written = [cells(tmp_path / "holm.out")[name][column] for name in times["benchmark"].values]
        assert written == [
            str(is_significant).upper() for is_significant in tests["significant"].values
        ]
    first, second, *lines = (tmp_path / "holm.report").read_text().splitlines()
    assert (
        second
        == "Significance is decided by p-values adjusted for the number of benchmarks (holm)."
    )
    assert [first, *lines[:9]] == (tmp_path / "plain.report").read_text().splitlines()[
        :10
    ]  # down to the proportions
    answer = CliRunner().invoke(
        app, ["speedup-test", str(path), "--conf-level", "95%", "--correction", "holm"]
    )
    assert (
        f"Significant: {report['accelerated'].sel(statistic='mean').item():g} of 8 speedups of means"
        in answer.output
    )
    refused = CliRunner().invoke(app, ["speedup-test", str(path), "--correction", "holm"])
    assert "levels are searched for; give --conf-level" in " ".join(refused.output.split())
    with pytest.raises(ValueError, match="levels are searched for"):
        perfarray.speedup_report(path, correction="bh")


def test_custom_and_fraction_weights(config):
    """The coefficients are used as they are; shares are those of the first program's time."""
    config.write_text(config.read_text().replace(",NA,", ",NA,3"))
    custom = perfarray.speedup_report(config)
    assert [row[-3:] for row in cells(f"{config}.out").values()] == [["3"] * 3, ["2"] * 3]
    assert not Path(f"{config}.error").read_text().startswith("Illegal")
    expected = (3 * sum(OLD) + 2 * sum(NEW)) / (3 * sum(NEW) + 2 * sum(OLD))
    assert custom["overall_speedup"].sel(statistic="mean").item() == pytest.approx(expected)
    shares = perfarray.speedup_report(config, weights="fraction")["weight"].sel(statistic="mean")
    assert shares.values == pytest.approx(np.array([sum(OLD), sum(NEW)]) / (sum(OLD) + sum(NEW)))


@pytest.mark.parametrize("content", [None, "", "1.0\nfast\n", "1.0 inf"])
def test_a_sample_that_cannot_be_read(config, content):
    """A sample that is missing, empty or not numbers is a warning for its benchmark, NA in the
    table, and the others go on."""
    broken = config.parent / "slow.new"
    broken.unlink()
    if content is not None:
        broken.write_text(content)
    with pytest.warns(
        UserWarning,
        match="1 sample files cannot be read, and their benchmarks are left out: \"File 'slow.new'",
    ) as caught:
        result = perfarray.speedup_report(config)
    assert len(caught) == 1
    table = cells(f"{config}.out")
    assert table["slow"] == ["NA"] * 10
    assert table["fast"][2] == "TRUE"
    warning_lines = Path(f"{config}.warning").read_text().splitlines()
    assert warning_lines[1:] == [
        "slow :",
        "\tFile 'slow.new' is not readable",
        "\tCannot process benchmark: samples unavailable.",
        "2 warning(s).",
    ]
    assert "a/b = 1/1 = 1" in Path(f"{config}.report").read_text()
    assert result["benchmark"].values.tolist() == ["fast", "slow"]
    assert np.isnan(result["speedup"].sel(benchmark="slow")).all()
    with pytest.warns(UserWarning, match="sample file 'slow.new' is missing, empty or not numbers"):
        times = perfarray.read(config)
    assert times["time"].sel(benchmark="slow", version="Sample2").isnull().all()


def test_samples_are_looked_for_where_the_tool_does(config, tmp_path, monkeypatch):
    """They are looked for in the current folder first, then beside the configuration; a note names
    those that both have."""
    other_folder = tmp_path / "elsewhere"
    other_folder.mkdir()
    (other_folder / "fast.old").write_text("".join(f"{2 * value}\n" for value in OLD))
    monkeypatch.chdir(other_folder)
    for answer in (perfarray.speedup_report, perfarray.read):
        with pytest.warns(
            perfarray.PerfarrayWarning, match=r"are those of the current folder: 'fast\.old'"
        ) as caught:
            result = answer(config)
        assert [note.code for note in caught[0].message.notes] == ["current_folder"]
        report = (
            result["speedup"]
            if "speedup" in result
            else result.perf.speedup("Sample1", statistic="mean")["estimate"].squeeze()
        )
        report = report.sel(statistic="mean") if "statistic" in report.dims else report
        assert report.sel(benchmark="fast").item() == pytest.approx(2 * sum(OLD) / sum(NEW))


def test_samples_are_files_of_the_folder(config):
    """A configuration reads regular files alone, and nothing outside its folder unless the caller
    allows it."""
    os.mkfifo(config.parent / "pipe")
    secret = config.parent.parent / "secret"
    secret.write_text("1.5\n")
    (config.parent / "link").symlink_to(secret)
    names = ["../secret", str(secret), "link"]
    for name in [*names, "/dev/zero", "pipe", "9" * 300, "."]:
        config.write_text(f"{HEAD}\nfast,fast.old,{name},,\n")
        with pytest.warns(
            perfarray.PerfarrayWarning, match="is missing, empty or not numbers"
        ) as caught:
            times = perfarray.read(config)
        assert ("allow_outside" in str(caught[0].message)) == (name in names)
        assert times.sizes["version"] == 1
        with perfarray.set_options(allow_outside=True), warnings.catch_warnings():
            warnings.simplefilter("error" if name in names else "ignore")
            assert perfarray.read(config).sizes["version"] == (2 if name in names else 1)
    config.write_text(f"{HEAD}\nfast,fast.old,a\0b,,\n")
    with pytest.raises(ValueError, match="is not text: character 51 is NUL"):
        perfarray.read(config)


@pytest.mark.parametrize("function", [perfarray.read, perfarray.speedup_report])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD, "has a header and no benchmark"),
        (f"{HEAD}\na,b\n", "benchmark 1 has 2 fields, not 5"),
        (f"{HEAD}\na,x\0y,z,,\n", "is not text: character .* is NUL"),
        (
            f"{HEAD}\na,x,y,,\n",
            "no benchmark has both samples|none of its sample files can be read",
        ),
        (
            f"{HEAD}\na,fast.old,fast.new,,\na,fast.old,fast.new,,\n",
            "benchmark 2 is called 'a', as another one is",
        ),
    ],
)
def test_a_configuration_that_cannot_be_used(config, function, text, message):
    """The message names the file and the line."""
    config.write_text(text)
    with pytest.raises(ValueError, match=message) as caught:
        function(config)
    assert str(caught.value).startswith(str(config))


@pytest.mark.parametrize(
    ("name", "choices", "message"),
    [
        ("bench.cfg", {"weights": "even"}, "weights='even' is not known"),
        ("bench.cfg", {"precision": 5}, "precision=5 is out of range"),
        ("bench.cfg", {"confidence_level": 95}, "confidence_level=95 is out of range"),
        ("none.cfg", {}, r"none\.cfg: there is no such file"),
        ("fast.old", {}, "its first line must be Name,Sample1,Sample2,ConfLevel,Coef"),
    ],
)
def test_wrong_arguments(config, name, choices, message):
    with pytest.raises(ValueError, match=message):
        perfarray.speedup_report(config.parent / name, **choices)


def test_reports_are_written_whole_or_not_at_all(config, monkeypatch):
    """Where one of the four cannot be written, the four of before stay, and nothing is left beside
    them."""
    perfarray.speedup_report(config)
    contents = {path.name: path.read_bytes() for path in config.parent.iterdir()}
    write_text = Path.write_text

    def full(path, text, **how):
        if text.startswith("Warnings"):
            raise OSError(28, "No space left on device")
        return write_text(path, text, **how)

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space left"):
        perfarray.speedup_report(config, confidence_level=0.6)
    assert {path.name: path.read_bytes() for path in config.parent.iterdir()} == contents


def test_a_configuration_read_as_timings(config):
    """Samples along version, levels and weights as coordinates; the functions give what the report
    gives."""
    times = perfarray.read(config)
    assert times.attrs["format"] == "speedup_test"
    assert times["time"].sel(benchmark="fast", version="Sample1").values.tolist() == OLD
    assert times["confidence_level"].values == pytest.approx([np.nan, 0.9], nan_ok=True)
    assert times["weight"].values == pytest.approx([np.nan, 2.0], nan_ok=True)
    tests = times.perf.speedup_test("Sample1", statistic="median").squeeze()
    report = perfarray.speedup_report(config).sel(statistic="median")
    for name in ("speedup", "confidence_level", "pvalue", "warnings", "protocol"):
        assert np.array_equal(tests[name].values, report[name].values), name


def test_command_line(config, tmp_path):
    """The command prints the report, writes the files where --prefix says, and its options mean
    what they mean in Python."""
    words = [
        "speedup-test",
        str(config),
        "--conf-level",
        "95%",
        "--weight",
        "equal",
        "--prefix",
        str(tmp_path / "x"),
    ]
    answer = CliRunner().invoke(app, words)
    assert answer.exit_code == 0
    assert "Overall speedup (ExecutionTime=mean) = 1\n" in answer.stdout
    assert (
        "The confidence level for computing proportion confidence interval is 0.95."
        in answer.stdout
    )
    assert "Student t" in answer.stdout
    assert {path.suffix for path in tmp_path.glob("x.*")} == {
        ".out",
        ".report",
        ".warning",
        ".error",
    }
    answer = CliRunner().invoke(app, ["speedup-test", str(tmp_path / "none.cfg")])
    assert (answer.exit_code, answer.stderr[:7], answer.stderr.count("\n")) == (2, "error: ", 1)


@pytest.mark.parametrize(
    ("head", "row", "level", "weight"),
    [
        ("Name,Sample1,Sample2", "fast,fast.old,fast.new", None, 1.0),
        ("Name,Sample1,Sample2,Coef", "fast,fast.old,fast.new,3", None, 3.0),
        ("Name,Sample1,Sample2,ConfLevel", "fast,fast.old,fast.new,0.7", 0.7, 1.0),
        ('"Coef","Sample1","Sample2","Name"', "2.5,fast.old,fast.new,fast", None, 2.5),
    ],
)
def test_fields_that_may_be_left_out(config, head, row, level, weight):
    """ConfLevel and Coef may be absent, in any order: then levels are searched for, and weights are
    equal."""
    with_all = config.with_name("all.cfg")
    with_all.write_text(f"{HEAD}\nfast,fast.old,fast.new,{level or ''},{weight}\n")
    config.write_text(f"{head}\n{row}\n")
    with warnings.catch_warnings(action="ignore", category=perfarray.PerfarrayWarning):
        report, expected = perfarray.speedup_report(config), perfarray.speedup_report(with_all)
    for name in ("speedup", "confidence_level", "pvalue", "weight"):
        np.testing.assert_array_equal(report[name], expected[name])
