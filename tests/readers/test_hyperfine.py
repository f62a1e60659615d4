"""hyperfine's JSON: times are processes, parameters settings, exit codes say what failed."""

from readers.files_of_our_own import NAN, read_placed, reader, readings, refusals

read = reader("file.json")


def command(name="sort", times=(1.0, 2.0), **more):
    """Return the result of a command."""
    return {"command": name, "times": list(times)} | more


def scan(*sizes, name="sort"):
    """Return results of one command with several sizes."""
    return [command(name.format(n), [1.0], parameters={"n": n, "f": "x"}) for n in sizes]


SIZES = ("10", "20")

test_what_is_read = readings(lambda folder, results: read(folder, {"results": results}), [
    ("every time is that of a process of its own, with memory beside it where the version writes it",
     [command(mean=1.5, memory_usage_byte=[4096, 8192], exit_codes=[0, 0])],
     {"time.dims": ("benchmark", "execution", "iteration"), "time": [[[1.0], [2.0]]], "memory": [[[4096.0], [8192.0]]],
      "memory.units": "B", "format": "hyperfine", "metric": "time"}),
    ("a run with another exit code than 0, or none, failed and has no time", [command(times=[1.0, 2.0, 0.0], exit_codes=[0, 1, None])],
     {"time": [[[1.0], [NAN], [NAN]]], "failed": [[[False], [True], [True]]]}),
    ("parameters are coordinates, and in the labels of commands that share a name", [*scan(*SIZES), command("ls", [1.0])],
     {"benchmark": ["sort[n=10]", "sort[n=20]", "ls"], "n": [10, 20, NAN], "f": ["x", "x", "unknown"]}),
    ("parameters are not in labels whose command says them", scan(*SIZES, name="sort -n {}"), {"benchmark": ["sort -n 10", "sort -n 20"]}),
    ("a command that repeats stays", [command(), command()], {"benchmark": ["sort", "sort#2"]}, "occur more than once"),
    ("a mean alone is one value", [{"command": "sort", "mean": 1.5}], {"time": 1.5}, "no values but their mean"),
    ("without exit codes, a time of 0 makes all times of its command NaN, and no other", [command(), command("true", [9e-6, 0.0])],
     {"time": [[[1.0], [2.0]], [[NAN], [NAN]]], "failed": [[[False], [False]]] * 2, "n_below_resolution": 1, "notes": ["below_resolution"]},
     r"1 of 2 commands have times of 0, .*: results\[1\] 'true'$"),
    ("with exit codes, a time of 0 is NaN alone", [command("true", [3e-4, 0.0, 5e-4], exit_codes=[0, 0, 0])],
     {"time": [[[3e-4], [NAN], [5e-4]]], "failed": [[[False]] * 3], "n_below_resolution": 1}, "1 times are 0, too short to be seen"),
])  # fmt: skip


test_labels_agree_between_files = readings(read_placed, [
    ("a setting that one file needs in its labels is in the labels of all",
     ("{version}.json", {"old.json": {"results": scan(*SIZES)}, "new.json": {"results": scan(*SIZES[:1])}}),
     {"version": ["new", "old"], "benchmark": ["sort[n=10]", "sort[n=20]"], "time": [[[[1.0]], [[1.0]]], [[[NAN]], [[1.0]]]]}),
])  # fmt: skip
test_what_is_wrong_is_said = refusals(lambda folder, result: read(folder, {"results": [result]}), "file.json", [
    (command(times=[1.0, 0.0]), r"results\[0\]: value 1 is 0\.0, .* 'sort' failed; take its result out"),
    (command(times=[1.0, 0.0, -1.0]), r"results\[0\]: value 2 is -1\.0; expected a number above 0"),
    (command(exit_codes=[0]), r"results\[0\]: 2 times, 1 exit codes"),
])  # fmt: skip
