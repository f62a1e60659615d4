"""Catch2's XML: means alone, test cases, failures."""

import pytest

import perfarray
from readers.files_of_our_own import readings, refusals, write

MEAN = '<mean value="1.5e3" lowerBound="1" upperBound="2" ci="0.95"/>'


def benchmark(name="sort", content=MEAN):
    """Return what Catch2 writes of one benchmark."""
    return f'<BenchmarkResults name="{name}" samples="100" iterations="20" clockResolution="9">{content}</BenchmarkResults>'


def read(tmp_path, *test_cases, root="Catch2TestRun", name="file.xml"):
    """Read a file of some test cases, each with its benchmarks."""
    cases = "".join(f'<TestCase name="case {i}"><Section name="s">{case}</Section></TestCase>' for i, case in enumerate(test_cases))
    return perfarray.read(write(tmp_path / name, f'<?xml version="1.0"?>\n<{root} name="tests">{cases}</{root}>'))


NOTE = r"1 benchmarks have no values but their mean.*; Catch2 writes no samples: run"
MEANS = {"time": [[[1.5e-6]]], "loops": [[[2000]]], "test_case": "case 0", "time.dims": ("benchmark", "execution", "iteration")}

test_what_is_read = readings(lambda folder, cases: read(folder, *cases), [
    ("the mean is the value of an execution", [benchmark()], MEANS, NOTE),
    ("a name is that of a test case", [benchmark(), benchmark()],
     {"benchmark": ["sort[test_case=case 0]", "sort[test_case=case 1]"]}, "no values but their mean"),
    ("an exception is a failed run", [benchmark() + benchmark("throws", '<failed message="out of range"/>')],
     {"failed": [[[False]], [[True]]], "error_message": ["unknown", "out of range"]}, NOTE),
])  # fmt: skip
test_what_version_2_wrote = readings(lambda folder, cases: read(folder, *cases, root="Catch"), [("the same", [benchmark()], MEANS, NOTE)])


@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
def test_files_are_executions(tmp_path):
    """Several runs of the program say how executions vary, as the note proposes."""
    for execution in range(2):
        read(tmp_path, benchmark(), name=f"{execution}.xml")
    assert perfarray.read_archive(tmp_path, layout="{execution}.xml").sizes["execution"] == 2


test_what_is_wrong_is_said = refusals(read, "file.xml", [
    ('<OverallResult success="true"/>', "no reader recognises its content"),
    (benchmark(content=""), "benchmark 'sort' of test case 'case 0' has no mean"),
    (benchmark(content='<mean value="0"/>'), "benchmark 'sort': mean: value 0 is '0'; expected a number above 0"),
    (benchmark(content='<mean value="1">'), "is not well-formed XML"),
])  # fmt: skip
