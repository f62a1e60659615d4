"""Phoronix' composite files: runs behind means, units, systems."""

import numpy as np

import perfarray
from readers.files_of_our_own import check, refusals, write


def result(title="Sort", description="Size: 1", scale="Seconds", proportion="LIB", arguments="-1", **entries):
    """Return one result; an entry is the text of its runs, one after another for a list."""
    every = [(name, raw) for name, raws in entries.items() for raw in ([raws] if isinstance(raws, str) else raws)]
    data = "".join(f"<Entry><Identifier>{name}</Identifier><Value>9</Value><RawString>{raw}</RawString></Entry>" for name, raw in every)
    parts = {"Title": title, "Description": description, "Scale": scale, "Proportion": proportion, "Arguments": arguments}
    return f"<Result>{''.join(f'<{tag}>{text}</{tag}>' for tag, text in parts.items())}<Data>{data}</Data></Result>"


def system(name, cpu="A CPU, 4 cores"):
    hardware, software = f"Processor: {cpu}, Motherboard: M, Memory: 8GB", "OS: Linux, Compiler: GCC 13, File-System: ext4"
    return f"<System><Identifier>{name}</Identifier><Hardware>{hardware}</Hardware><Software>{software}</Software></System>"


def read(tmp_path, *parts):
    content = f'<?xml version="1.0"?><PhoronixTestSuite>{"".join(parts)}</PhoronixTestSuite>'
    return perfarray.read(write(tmp_path / "composite.xml", content))


def test_runs_are_executions_and_systems_a_dim(tmp_path):
    """The mean is not read; how many runs there are may differ; what describes a system lies along it."""
    found = read(tmp_path, system("old"), system("new", "B CPU"), result(old="1.5:2.5", new="1.0:2.0:3.0"))
    assert found["time"].dims == ("benchmark", "system", "execution", "iteration")
    check(found.squeeze(), time=[[1.5, 2.5, np.nan], [1.0, 2.0, 3.0]], cpu=["A CPU, 4 cores", "B CPU"])
    check(found, memory="8GB", compiler="GCC 13", file_system="ext4", benchmark="Sort: Size: 1")


def test_units_and_directions(tmp_path):
    """Each unit is a variable; a unit that is better in both directions is two, no unit is a score."""
    found = read(
        tmp_path, result("A", a="5", scale="ms"), result("B", a="6", scale="MB/s", proportion="HIB"), result("C", a="7", scale="MB/s"),
        result("D", a="8", scale="", proportion="HIB"),
    )  # fmt: skip
    attrs = {name: (found[name].attrs["units"], found[name].attrs["better"]) for name in found}
    assert attrs == {"time": ("s", "lower"), "MB_s": ("MB/s", "higher"), "MB_s (lower)": ("MB/s", "lower"), "score": ("1", "higher")}
    check(found.sel(benchmark="A: Size: 1"), rtol=1e-15, time=0.005)


def test_what_has_no_runs_is_counted(tmp_path):
    """Time and size of an installation are no measurements of the program."""
    found = read(tmp_path, result(a="1.5"), result(description="Test Install Time", a="133"), result("B", a=["", ""]))
    assert (found.sizes["benchmark"], found.attrs["n_without_runs"]) == (1, 3)


def test_one_test_with_several_arguments(tmp_path):
    """They are in the label; one system that occurs twice has more runs."""
    found = read(tmp_path, result(a="1.5"), result(a=["2.5", "3.5"], arguments="-2"))
    check(found.squeeze(), benchmark=["Sort: Size: 1[arguments=-1]", "Sort: Size: 1[arguments=-2]"], time=[[1.5, np.nan], [2.5, 3.5]])


test_what_is_wrong_is_said = refusals(
    read,
    "composite.xml",
    (result(a=""), "holds no measurement"),
    (result(a="1.5:0"), r"Result 0 \('Sort: Size: 1'\): run 1 is '0'; expected a number above 0"),
)
