"""Catch2's XML: means alone, test cases, failures."""

import pytest

import perfarray
from readers.files_of_our_own import write

MEAN = '<mean value="1.5e3" lowerBound="1" upperBound="2" ci="0.95"/>'


def benchmark(name="sort", content=MEAN):
    """Return what Catch2 writes of one benchmark."""
    return (
        f'<BenchmarkResults name="{name}" samples="100" resamples="100000" iterations="20" clockResolution="9">{content}</BenchmarkResults>'
    )


def read(tmp_path, *test_cases, root="Catch2TestRun"):
    """Read a file of some test cases, each with its benchmarks."""
    cases = "".join(
        f'<TestCase name="case {number}"><Section name="s">{case}</Section></TestCase>' for number, case in enumerate(test_cases)
    )
    return perfarray.read(write(tmp_path / "file.xml", f'<?xml version="1.0"?>\n<{root} name="tests">{cases}</{root}>'))


@pytest.mark.parametrize("root", ["Catch2TestRun", "Catch"])
def test_the_mean_is_the_value_of_an_execution(tmp_path, root):
    """In versions 2 and 3; the note says how there are more."""
    with pytest.warns(perfarray.PerfarrayWarning, match=r"1 benchmarks have no values but their mean.*; Catch2 writes no samples: run"):
        times = read(tmp_path, benchmark(), root=root)
    assert dict(times.sizes) == {"benchmark": 1, "execution": 1, "iteration": 1}
    assert (times["time"].item(), times["loops"].item(), times["test_case"].item()) == (1.5e-6, 2000, "case 0")


@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
def test_a_name_is_that_of_a_test_case(tmp_path):
    times = read(tmp_path, benchmark(), benchmark())
    assert times["benchmark"].values.tolist() == ["sort[test_case=case 0]", "sort[test_case=case 1]"]


@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
def test_an_exception_is_a_failed_run(tmp_path):
    times = read(tmp_path, benchmark() + benchmark("throws", '<failed message="out of range"/>'))
    assert times["failed"].values.ravel().tolist() == [False, True]
    assert times["error_message"].values.tolist() == ["unknown", "out of range"]


@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
def test_files_are_executions(tmp_path):
    """Several runs of the program say how executions vary, as the note proposes."""
    for execution in range(2):
        read(tmp_path, benchmark())
        (tmp_path / "file.xml").rename(tmp_path / f"{execution}.xml")
    assert perfarray.read_archive(tmp_path, layout="{execution}.xml").sizes["execution"] == 2


def test_tests_without_benchmarks_are_no_results(tmp_path):
    with pytest.raises(ValueError, match="no reader recognises its content"):
        read(tmp_path, '<OverallResult success="true"/>')


@pytest.mark.parametrize(("content", "message"), [
    ("", "benchmark 'sort' of test case 'case 0' has no mean"),
    ('<mean value="0"/>', "benchmark 'sort': mean: value 0 is '0'; expected a number above 0"),
    ('<mean value="1">', "is not well-formed XML"),
])  # fmt: skip
def test_what_is_wrong_is_said(tmp_path, content, message):
    with pytest.raises(ValueError, match=rf"file\.xml: {message}"):
        read(tmp_path, benchmark(content=content))
