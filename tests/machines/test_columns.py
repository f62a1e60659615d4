"""Which columns a model can use: by their roles, which are data beside the table, and by what they
say."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import perfarray
from perfarray.machines.columns import columns_left_out, roles_of


def test_copies_are_found():
    """Equal numbers, or labels that occur together in whatever order, are copies; a monotone
    function is not."""
    x = np.array([1.0, 2.0, 4.0, 1.0])
    labels = {"letters": list("abba"), "others": list("yxxy"), "own": list("abab")}
    rows = pd.DataFrame({"x": x, "log": np.log(x), "again": x, **labels})
    assert columns_left_out(rows, list(rows), trees=True) == {
        "again": "a copy of x",
        "others": "a copy of letters",
    }


@pytest.fixture(scope="module")
def times():
    """Machines with descriptors that end like the columns computed here, and a level of another
    name."""
    chance = np.random.default_rng(1)
    values = 10 + chance.standard_normal((30, 4, 1)) + chance.standard_normal((30, 4, 3))
    array = xr.DataArray(
        values, dims=("machine", "boot", "iteration"), name="time", attrs={"units": "s"}
    )
    descriptors = {
        name: chance.uniform(0, 1, 30)
        for name in ("clock_variation", "supply_noise", "load_variance")
    }
    descriptors["os"] = np.array(["Ubuntu 24.04", "of my own", "Debian 12"] * 10, dtype=object)
    return array.assign_coords({name: ("machine", values) for name, values in descriptors.items()})


def test_names_decide_nothing(times):
    """Of a table made of timings, what was computed is no predictor, whatever its level is called;
    descriptors are, however they end."""
    table = perfarray.machine_table(
        times,
        levels=("boot", "iteration"),
        response=("performance", "boot_variance", "boot_variation"),
    )
    assert roles_of(table) == {
        "machine": "label",
        "performance": "response",
        "boot_variance": "variance",
        "boot_variation": "response",
        "boot_variance_noise": "noise",
        "n_runs": "count",
        "n_benchmarks": "count",
        "os_unparsed": "unparsed",
    }
    result = perfarray.explain_variation(
        table, response="boot_variance", model="ols", log=False, splits=1, rng=1
    ).to_dataset()
    assert sorted(result["predictor"].values.tolist()) == [
        "clock_variation",
        "load_variance",
        "os",
        "supply_noise",
    ]


def test_a_table_of_other_origin(times):
    """Without roles, columns of the names in the documentation have theirs; any other column
    describes machines."""
    table = perfarray.machine_table(
        times.rename(boot="execution"), response=("performance", "execution_variance")
    )
    plain = pd.DataFrame(table.to_dict("list"))
    assert plain.attrs == {}
    assert roles_of(plain) == roles_of(table)
    assert roles_of(pd.DataFrame({"clock_variation": [1.0], "flag -O3": [True]})) == {
        "flag -O3": "flag"
    }


def test_roles_follow_the_table(times):
    """A column taken out has no role, one that is added describes machines, and the table's roles
    survive a file of JSON."""
    table = perfarray.machine_table(
        times, levels=("boot", "iteration"), response=("performance", "boot_variance")
    )
    changed = table.drop(columns="boot_variance_noise").assign(boot_noise=1.0)
    assert set(roles_of(table)) - set(roles_of(changed)) == {"boot_variance_noise"}
    assert "boot_noise" not in roles_of(changed)
    assert all(isinstance(value, str | int | float) for value in table.attrs.values())
