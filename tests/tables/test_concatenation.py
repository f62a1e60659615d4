"""Tables under one another: what each knows stays with its labels; nothing depends on which objects
tables share."""

from dataclasses import replace

import numpy as np
import pytest

from perfarray.tables.build import build
from perfarray.tables.columns import Column, Descriptor, Metric, Table, column_of, constant_column
from perfarray.tables.concatenation import join_tables
from perfarray.timings.notes import Note
from readers.files_of_our_own import check


def table(*benchmarks, machine="a", values=None, **fields):
    """Return a table with one row per benchmark, in seconds."""
    n = len(benchmarks)
    labels = {"benchmark": column_of(benchmarks), "machine": constant_column(machine, n)}
    times = Metric(values=np.arange(1.0, n + 1) if values is None else np.array(values))
    return Table(
        labels=labels,
        levels={"execution": np.zeros(n, dtype=np.intp)},
        metrics={"time": times},
        metric="time",
        **fields,
    )


def of_machine(machine, value):
    """Return what is known of one machine."""
    return Descriptor(dims=("machine",), values={(machine,): value}, keep=("machine",))


def of_everything(**values):
    """Return what is known of a whole table."""
    return {name: Descriptor(dims=(), values={(): value}) for name, value in values.items()}


def joined(*tables):
    """Return the array of tables whose places say nothing."""
    return build(join_tables(tables, [{}] * len(tables), [{}] * len(tables)))


def test_labels_in_order_of_first_appearance():
    times = joined(table("fft", "sort"), table("sort", "hash", machine="b")).squeeze()
    check(times, benchmark=["fft", "sort", "hash"], time=[[1, np.nan], [2, 1], [np.nan, 2]])


def test_shared_and_equal_columns_are_the_same():
    """Tables that share a column and tables with equal columns of their own give the same array."""
    first = table("fft", "sort", descriptors={"cpu": of_machine("a", "X")})
    column = Column(codes=first.labels["benchmark"].codes.copy(), labels=["fft", "sort"])
    for benchmarks in (first.labels["benchmark"], column):
        second = replace(
            table("fft", "sort", machine="b"),
            labels={"benchmark": benchmarks, "machine": constant_column("b", 2)},
        )
        times = joined(first, replace(second, descriptors={"cpu": of_machine("b", "Y")})).squeeze()
        check(times, cpu=["X", "Y"], time=[[1, 1], [2, 2]])


def test_tables_that_say_different_things():
    """What they say lies along the labels that tell them apart; what one leaves open is unknown
    there, whatever their order."""
    first, descriptors = (
        table("fft", descriptors=of_everything(os="Linux 6", why="x", ram=8)),
        of_everything(os="Linux 7", ram=8),
    )
    same_machine, other_machine = (
        table("sort", descriptors=descriptors),
        table("fft", machine="b", descriptors=descriptors),
    )
    for second, dim, labels in (
        (same_machine, "benchmark", ("fft", "sort")),
        (other_machine, "machine", ("a", "b")),
    ):
        for tables in ((first, second), (second, first)):
            times = joined(*tables).sel({dim: list(labels)})
            assert (times["os"].dims, times["why"].dims, times["ram"].dims) == ((dim,), (dim,), ())
            check(times, os=["Linux 6", "Linux 7"], why=["x", "unknown"], ram=8)


def test_a_contradiction_is_resolved_by_what_each_table_has_one_of():
    """A descriptor lies along the machine alone where each table is of one machine, though the
    tables have several benchmarks too."""
    tables = [
        table("fft", "sort", machine=machine, descriptors=of_everything(os=system))
        for machine, system in (("a", "Linux 6"), ("b", "Linux 7"))
    ]
    assert joined(*tables)["os"].dims == ("machine",)


def test_tables_that_contradict_each_other_where_nothing_tells_them_apart():
    """Neither is believed."""
    labels = {"benchmark": column_of(("fft", "sort"))}
    first, second = (
        replace(
            table("fft", "sort", descriptors=of_everything(os=value)),
            labels=labels | {"version": column_of(versions)},
        )
        for value, versions in (("A", ("1", "2")), ("B", ("2", "1")))
    )
    assert joined(first, second)["os"].item() == "unknown"


def test_what_a_table_does_not_know():
    """A descriptor is `unknown` for the labels of a table without it, a mark is False, a metric
    NaN."""
    energy = {
        "time": Metric(values=np.array([5.0])),
        "energy": Metric(values=np.array([7.0]), units="J"),
    }
    first = table(
        "fft", descriptors={"cpu": of_machine("a", "X")}, marks={"failed": np.array([True])}
    )
    times = joined(first, replace(table("fft", machine="b"), metrics=energy)).squeeze()
    check(times, cpu=["X", "unknown"], failed=[True, False], energy=[np.nan, 7.0])


def test_what_is_known_of_the_whole():
    """Counts add up, attrs stay where all say the same, notes are all kept; nothing else becomes an
    attr."""
    note = Note("odd", "something is odd")
    fields = {
        "attrs": {"runs": "one"},
        "level_names": {"session": "001"},
        "parts": {"benchmark": ["fft"]},
        "format": "x",
    }
    first = table("fft", counts={"n_tied": 2}, **fields)
    second = replace(
        first,
        labels={"benchmark": column_of(["sort"]), "machine": constant_column("a", 1)},
        counts={"n_tied": 3},
        notes=(note,),
    )
    joint = join_tables([first, second], [{}, {}], [{}, {}])
    assert joint.notes == (note,)
    assert build(joint).attrs == {"format": "x", "metric": "time", "n_tied": 5, "runs": "one"}
    mixed = join_tables(
        [first, replace(second, format="y", attrs={"runs": "two"})], [{}, {}], [{}, {}]
    )
    assert build(mixed).attrs == {"metric": "time", "n_tied": 5}


def test_one_name_for_two_things():
    energy = replace(table("sort"), metrics={"time": Metric(values=np.array([1.0]), units="J")})
    with pytest.raises(ValueError, match="'time' means different things in different files"):
        joined(table("fft"), energy)


def test_a_text_of_one_dim_stays_along_it():
    """Where all tables say the same of a label; where they do not, it lies on all dims."""

    def suites(*names):
        return {"suite": (("benchmark",), np.array(names, dtype=object))}

    first = table("fft", "sort", columns=suites("int", "fp"))
    times = joined(first, table("sort", "hash", machine="b", columns=suites("fp", "int")))
    assert times["suite"].dims == ("benchmark",)
    check(times, suite=["int", "fp", "int"])
    contradicting = joined(first, table("sort", machine="b", columns=suites("int")))
    assert contradicting["suite"].dims == ("benchmark", "machine", "execution")
    check(contradicting.sel(benchmark="sort").squeeze(), suite=["fp", "int"])
