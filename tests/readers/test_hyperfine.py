"""hyperfine's JSON: times are processes, parameters settings, exit codes say what failed."""

from readers.files_of_our_own import NAN, read_placed, reader, readings, refusals

read = reader("file.json")


def command(name="sort", times=(1.0, 2.0), **fields):
    """Return the result of a command."""
    return {"command": name, "times": list(times)} | fields


def scan(*sizes, name="sort"):
    """Return results of one command with several sizes."""
    return [command(name.format(n), [1.0], parameters={"n": n, "f": "x"}) for n in sizes]


SIZES = ("10", "20")

test_what_is_read = readings(
    lambda folder, results: read(folder, {"results": results}),
    [
        (
            (
                "every time is that of a process of its own, with memory beside it where the "
                "version "
                "writes it"
            ),
            [command(mean=1.5, memory_usage_byte=[4096, 8192], exit_codes=[0, 0])],
            {
                "time.dims": ("benchmark", "execution", "iteration"),
                "time": [[[1.0], [2.0]]],
                "memory": [[[4096.0], [8192.0]]],
                "memory.units": "B",
                "format": "hyperfine",
                "metric": "time",
            },
        ),
        (
            (
                "a run with another exit code than 0, or none, failed and has no time; the "
                "note says "
                "how many, and how they ended"
            ),
            [command(times=[1.0, 2.0, 0.0], exit_codes=[0, 1, None])],
            {
                "time": [[[1.0], [NAN], [NAN]]],
                "failed": [[[False], [True], [True]]],
                "notes": ["failed_entries"],
            },
            (
                r"1 benchmark has failed runs: 'sort: 2 of 3 runs failed, exit code 1, ended by a "
                r"signal'\. Failed runs have no time; .*keep_failed"
            ),
        ),
        (
            "a command whose runs all failed is named with the label that it has",
            [*scan(*SIZES), command(exit_codes=[139, 1], parameters={"n": "30"})],
            {"benchmark": ["sort[n=10,f=x]", "sort[n=20,f=x]", "sort[n=30]"]},
            r"'sort\[n=30\]: 2 of 2 runs failed, exit codes 139, 1'",
        ),
        (
            "parameters are coordinates, and in the labels of commands that share a name",
            [*scan(*SIZES), command("ls", [1.0])],
            {
                "benchmark": ["sort[n=10]", "sort[n=20]", "ls"],
                "n": [10, 20, NAN],
                "f": ["x", "x", "unknown"],
            },
        ),
        (
            "parameters are not in labels whose command says them",
            scan(*SIZES, name="sort -n {}"),
            {"benchmark": ["sort -n 10", "sort -n 20"]},
        ),
        (
            "a command that repeats stays",
            [command(), command()],
            {"benchmark": ["sort", "sort#2"]},
            "occur more than once",
        ),
        (
            "a mean alone is one value",
            [{"command": "sort", "mean": 1.5}],
            {"time": 1.5},
            "no values but their mean",
        ),
        *(
            (
                (
                    "a time of 0 is that of a process no longer than the shell, and counts in "
                    "the mean: "
                    f"{kind}"
                ),
                [command("true", [3e-4, 0.0], **fields)],
                {"time": [[[3e-4], [0.0]]], "failed": [[[False]] * 2], "notes": []},
            )
            for kind, fields in (
                ("with exit codes", {"exit_codes": [0, 0]}),
                ("without", {}),
                ("with memory", {"memory_usage_byte": [1, 2]}),
            )
        ),
        (
            "a time that is no number is missing, and named; the others are read",
            [command("a", [1.0, None, NAN]), command("b", [3.0])],
            {
                "time": [[[1.0], [NAN], [NAN]], [[3.0], [NAN], [NAN]]],
                "failed": [[[False]] * 3] * 2,
                "notes": ["no_numbers"],
            },
            (
                r"2 values are missing: 'a: results\[0\]: value 1 is null', 'a: results\[0\]: "
                r"value 2 is nan'\. All others are read"
            ),
        ),
    ],
)


test_failed_runs_can_be_kept = readings(
    lambda folder, results: read(folder, {"results": results}, keep_failed=True),
    [
        (
            "with their times, unmarked, and a note",
            [command("grep", exit_codes=[1, 1]), command("rg", exit_codes=[0, 0])],
            {"time": [[[1.0], [2.0]]] * 2, "failed": [[[False]] * 2] * 2, "notes": ["kept_failed"]},
            (
                r"'grep: 2 of 2 runs failed, exit code 1'\. Their times are kept, as "
                r"keep_failed=True says"
            ),
        ),
        (
            "where none failed nothing is said",
            [command(exit_codes=[0, 0])],
            {"time": [[[1.0], [2.0]]], "notes": []},
        ),
    ],
)
test_labels_agree_between_files = readings(
    read_placed,
    [
        (
            "a setting that one file needs in its labels is in the labels of all",
            (
                "{version}.json",
                {"old.json": {"results": scan(*SIZES)}, "new.json": {"results": scan(*SIZES[:1])}},
            ),
            {
                "version": ["new", "old"],
                "benchmark": ["sort[n=10]", "sort[n=20]"],
                "time": [[[[1.0]], [[1.0]]], [[[NAN]], [[1.0]]]],
            },
        ),
    ],
)
test_what_is_wrong_is_said = refusals(
    lambda folder, result: read(folder, {"results": [result]}),
    "file.json",
    [
        (
            command(times=[1.0, 0.0, -1.0]),
            r"results\[0\]: value 2 is -1\.0; expected a number from 0",
        ),
        (
            command(times=[1.0, 2.0, "x"], exit_codes=[1, 0, 0]),
            r"results\[0\]: value 2 is 'x'; expected a number from 0",
        ),
        (command(exit_codes=[0]), r"results\[0\]: 2 times, 1 exit codes"),
    ],
)
