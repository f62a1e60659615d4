"""Sides of different machines or settings on the command line: the heading, the warning, and
`--same-machine`."""

import pytest

from cli.commands import as_json, run, write_rows

VALUES = [3.0, 3.03, 2.97, 3.01, 2.99]


def write_side(path, factor=1.0, **settings):
    """Write a table of two benchmarks whose columns beside the times are constant."""
    names, cells = ",".join(settings), ",".join(settings.values())
    rows = [
        f"{name},{position},{factor * value},{cells}"
        for name in ("scan", "load")
        for position, value in enumerate(VALUES)
    ]
    write_rows(path, f"benchmark,execution,time,{names}", rows)
    return path


def test_the_heading_names_settings_with_both_values():
    """A warning comes first, the heading has both values, JSON has the note."""
    old = write_side("old.csv", cpu="Quick 9", kernel="6.1")
    new = write_side("new.csv", 0.8, cpu="Slow 3", kernel="6.8")
    answer = run("compare", old, new, code=0)
    assert answer.stderr.startswith(
        "warning: The sides were measured on different machines (candidate against baseline): "
        "cpu Slow 3 against"
    )
    assert "The sides differ in cpu Quick 9 -> Slow 3; kernel 6.1 -> 6.8." in answer.stdout
    notes = as_json("compare", old, new)["notes"]
    assert [note["code"] for note in notes[:2]] == ["different_machines", "settings_differ"]


def test_same_machine_gives_no_verdict():
    """With the option other machines are exit code 2, by the reason; one machine and another kernel
    are no reason."""
    old = write_side("old.csv", host="n1", kernel="6.1")
    another, constant_times = (
        write_side("other.csv", host="n2", kernel="6.1"),
        write_side("same.csv", 0.5, host="n1", kernel="6.8"),
    )
    output = run("compare", old, another, "--same-machine", code=2).stderr
    assert (
        "error: no verdict: the sides are of different machines (host n1 -> n2), and "
        "--same-machine was given"
    ) in output
    assert "no verdict" in as_json("compare", old, another, "--same-machine", code=2)["exit_reason"]
    assert "2 faster" in run("compare", old, constant_times, "--same-machine", code=0).stdout


def test_machines_that_are_compared_are_no_reason():
    """Who compares machines asks for them."""
    rows = [
        f"scan,{machine},{cpu},{position},{value}"
        for machine, cpu in (("m1", "A"), ("m2", "B"))
        for position, value in enumerate(VALUES)
    ]
    write_rows("both.csv", "benchmark,machine,cpu,execution,time", rows)
    answer = run(
        "compare", "both.csv", "--dim", "machine", "--baseline", "m1", "--same-machine", code=0
    )
    assert "different machines" not in answer.stderr


@pytest.mark.parametrize("form", ["table", "markdown", "html"])
def test_what_the_suite_row_does_not_show_stands_below_the_table(form):
    """Rows that cancel under an equivalent suite row are counted in every form, without
    --explain."""
    for path, factors in (
        ("old.csv", [1.0] * 12),
        ("new.csv", [1.2, 1.2, 1 / 1.2, 1 / 1.2] + [1.0] * 8),
    ):
        rows = [
            f"b{position},{k},{factor * value}"
            for position, factor in enumerate(factors)
            for k, value in enumerate(VALUES)
        ]
        write_rows(path, "benchmark,execution,time", rows)
    answer = run("compare", "old.csv", "new.csv", "--threshold", "5%", "--output", form, code=1)
    assert "The suite row is equivalent, with 2 slower, 2 faster beneath." in answer.stdout


def test_machines_that_are_not_recorded_are_said_not_to_be_compared():
    """`--same-machine` says that it saw nothing, and the answer stays."""
    for path, factor in (("old.csv", 1.0), ("new.csv", 1.2)):
        write_rows(
            path, "benchmark,execution,time", [f"a,{n},{factor * (1 + n / 100)}" for n in range(5)]
        )
    assert (
        "do not say on which machine"
        in run("compare", "old.csv", "new.csv", "--same-machine", code=1).stderr
    )
