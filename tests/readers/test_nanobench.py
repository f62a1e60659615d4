"""nanobench's JSON: epochs, the batch of an iteration, counters, settings in labels."""

import perfarray
from readers.files_of_our_own import read_placed, readings, refusals, write


def result(name="sort", elapsed=(1e-6, 2e-6), batch=1, size=-1, **more):
    """Return one result, of as many epochs as there are times."""
    counted = {"instructions": 50.0, "pagefaults": 0}
    measurements = [{"iterations": 10 + epoch, "elapsed": time, **counted} for epoch, time in enumerate(elapsed)]
    stated = {"title": "benchmark", "name": name, "unit": "op", "batch": batch, "complexityN": size, "median(elapsed)": 1.0}
    return stated | {"measurements": measurements} | more


def read(tmp_path, *results):
    return perfarray.read(write(tmp_path / "file.json", {"results": list(results)}))


test_what_is_read = readings(lambda folder, results: read(folder, *results), [
    ("`elapsed` is the time of an iteration, `loops` how many an epoch has; a counter that is 0 everywhere was not available", [result()],
     {"time.dims": ("benchmark", "execution", "iteration"), "time": [[[1e-6, 2e-6]]], "loops": [[[10.0, 11.0]]], "format": "nanobench",
      "metric": "time", "metrics": ["time", "instructions"], "instructions": [[[50.0, 50.0]]], "instructions.better": "lower"}),
    ("of a template of its own, a name and epochs are enough", [{"name": "sort", "measurements": [{"iterations": 3, "elapsed": 1e-6}]}],
     {"time": 1e-6, "loops": 3, "format": "nanobench"}),
    ("the time is that of an iteration, whatever its batch", [result(batch=64, unit="byte")],
     {"batch": 64, "unit": "byte", "title": "benchmark", "time": [[[1e-6, 2e-6]]], "absent": ["complexityN"]}),
    ("sizes are in labels that need them", [result(size=10), result(size=100)],
     {"benchmark": ["sort[complexityN=10]", "sort[complexityN=100]"]}),
    ("a benchmark without epochs is left out", [result(), result("skipped", elapsed=())], {"benchmark": ["sort"]}),
])  # fmt: skip


test_files_are_executions = readings(read_placed, [
    ("by a layout", ("{execution}.json", {f"{i}.json": {"results": [result(elapsed=(time,))]} for i, time in enumerate((1e-6, 3e-6))}),
     {"time": [[[1e-6], [3e-6]]]}),
])  # fmt: skip
test_what_is_wrong_is_said = refusals(read, "file.json", [
    (result(elapsed=(1e-6, 0.0)), r"results\[0\]: 'elapsed': value 1 is 0\.0; expected a number above 0"),
    (result(measurements=[{"iterations": 1}]), r"no reader .*as nanobench does, but results\[0\]\.measurements\[0\] has no 'elapsed'"),
    (result(elapsed=()), "no reader recognises its content"),
])  # fmt: skip
