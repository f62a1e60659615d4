"""Catch2's XML: means alone, test cases, sections, failures."""

import warnings

import pytest

import perfarray
from perfarray.readers import catch2
from perfarray.readers.opening import Source
from readers.files_of_our_own import NAN, check, readings, refusals, write

MEAN = '<mean value="1.5e3" lowerBound="1" upperBound="2" ci="0.95"/>'


def benchmark(name="sort", content=MEAN):
    """Return what Catch2 writes of one benchmark."""
    return (
        f'<BenchmarkResults name="{name}" samples="100" iterations="20" '
        f'clockResolution="9">{content}</BenchmarkResults>'
    )


def read(tmp_path, *test_cases, root="Catch2TestRun", name="file.xml"):
    """Read a file of some test cases, each with its benchmarks."""
    cases = "".join(
        f'<TestCase name="case {i}"><Section name="s">{case}</Section></TestCase>'
        for i, case in enumerate(test_cases)
    )
    return perfarray.read(
        write(tmp_path / name, f'<?xml version="1.0"?>\n<{root} name="tests">{cases}</{root}>')
    )


NOTE = r"1 benchmarks have no values but their mean.*unknown. Catch2 writes no samples: run"
MEANS = {
    "time": [[[1.5e-6]]],
    "loops": [[[2000]]],
    "test_case": "case 0",
    "time.dims": ("benchmark", "execution", "iteration"),
}

test_what_is_read = readings(
    lambda folder, cases: read(folder, *cases),
    [
        ("the mean is the value of an execution", [benchmark()], MEANS, NOTE),
        (
            "a name is that of a test case",
            [benchmark(), benchmark()],
            {"benchmark": ["sort[test_case=case 0,section=s]", "sort[test_case=case 1,section=s]"]},
            "no values but their mean",
        ),
        (
            "an exception is a failed run",
            [benchmark() + benchmark("throws", '<failed message="out of range"/>')],
            {"failed": [[[False]], [[True]]], "error_message": ["unknown", "out of range"]},
            NOTE,
        ),
        (
            "a mean that is no number is a failed run; the others are read",
            [benchmark("a", '<mean value="-nan"/>') + benchmark("b")],
            {
                "time": [[[NAN]], [[1.5e-6]]],
                "failed": [[[True]], [[False]]],
                "notes": ["means_only", "no_numbers"],
            },
            "1 value is missing: \"benchmark 'a': mean is -nan\"",
        ),
    ],
)
test_what_version_2_wrote = readings(
    lambda folder, cases: read(folder, *cases, root="Catch"),
    [("the same", [benchmark()], MEANS, NOTE)],
)


@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
def test_files_are_executions(tmp_path):
    """Several runs of the program say how executions vary, as the note proposes."""
    for execution in range(2):
        read(tmp_path, benchmark(), name=f"{execution}.xml")
    assert perfarray.read_archive(tmp_path, layout="{execution}.xml").sizes["execution"] == 2


test_what_is_wrong_is_said = refusals(
    read,
    "file.xml",
    [
        ('<OverallResult success="true"/>', "no reader recognises its content"),
        (benchmark(content=""), "benchmark 'sort' of test case 'case 0' has no mean"),
        (
            benchmark(content='<mean value="-1"/>'),
            r"benchmark 'sort': mean is '-1'; expected a number from 0",
        ),
        (
            benchmark(content='<mean value="fast"/>'),
            "benchmark 'sort': mean is 'fast'; expected a number",
        ),
        (benchmark(content='<mean value="1">'), "is not well-formed XML"),
    ],
)


def in_section(name, *content):
    return f'<Section name="{name}">{"".join(content)}</Section>'


def run(*content, root="Catch2TestRun"):
    """Return the XML of one test case."""
    return (
        f'<?xml version="1.0"?>\n<{root} name="tests"><TestCase '
        f'name="case">{"".join(content)}</TestCase></{root}>\n'
    )


@pytest.fixture
def read_xml(tmp_path):
    """Return a function that reads XML in silence."""

    def read_silently(content, name="file.xml"):
        with warnings.catch_warnings(action="ignore"):
            return perfarray.read(write(tmp_path / name, content))

    return read_silently


def test_a_section_is_part_of_the_label(read_xml):
    """One name in several sections is as many benchmarks; the label of one does not depend on the
    others of its file."""
    times = read_xml(
        run(in_section("up", benchmark()), in_section("down", benchmark()), benchmark())
    )
    check(times, benchmark=["sort[section=up]", "sort[section=down]", "sort"])
    check(read_xml(run(in_section("down", benchmark()))), benchmark=["sort[section=down]"])
    nested = run(
        in_section(
            "int",
            in_section("few", benchmark()),
            in_section("many", benchmark(), benchmark("find")),
        )
    )
    check(
        read_xml(nested),
        benchmark=["sort[section=int/few]", "sort[section=int/many]", "find[section=int/many]"],
    )


def test_a_section_can_be_a_dim(tmp_path):
    """`dims=` takes sections out of the labels."""
    path = write(
        tmp_path / "file.xml", run(in_section("up", benchmark()), in_section("down", benchmark()))
    )
    with pytest.warns(perfarray.PerfarrayWarning, match="no values but their mean"):
        check(
            perfarray.read(path, dims={"order": "section"}),
            benchmark=["sort"],
            order=["up", "down"],
        )


@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
def test_a_section_that_is_gone_shifts_no_other(tmp_path):
    """By hand: `down` takes 900 ns on both sides, whatever else the files hold."""
    sections = {"up": 100, "down": 900, "same": 500}
    for side, names in (("old", ("up", "down")), ("new", ("same", "down"))):
        for number in range(3):
            means = {name: f'<mean value="{sections[name] + number}"/>' for name in names}
            write(
                tmp_path / side / f"{number}.xml",
                run(*(in_section(name, benchmark(content=mean)) for name, mean in means.items())),
            )
    times = perfarray.read_archive(tmp_path, layout="{version}/{execution}.xml")
    ratio = times.perf.ratio_interval("old", dim="version")["estimate"].sel(version="new")
    assert ratio.sel(benchmark="sort[section=down]").item() == 1
    assert ratio.sel(benchmark=["sort[section=up]", "sort[section=same]"]).isnull().all()


@pytest.mark.parametrize("root", ["Catch2TestRun", "Catch"])
@pytest.mark.parametrize("around", ["", "Seed: 42\n", "[info] loading <data>", "x" * 5000 + "\n"])
def test_what_the_program_prints_around_the_xml(read_xml, around, root):
    """Text before and after the XML is passed over, of any length and with or without a line's
    end."""
    check(read_xml(around + run(benchmark(), root=root) + around), time=1.5e-6, format="catch2")


def test_a_mean_of_0_is_a_time_below_the_clock(tmp_path):
    """Zero is a value."""
    source = Source(write(tmp_path / "file.xml", run(benchmark(content='<mean value="0"/>'))))
    assert catch2.read(source).metrics["time"].values.tolist() == [0.0]
