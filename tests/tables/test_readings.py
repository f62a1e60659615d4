"""One parser of descriptions: what a SPEC reader says of a machine is what a machine table says of
the same text, in any order."""

import itertools

import numpy as np
import pandas as pd
import pytest

import perfarray
from perfarray.tables.descriptions.readings import machine_numbers, read_texts
from readers.files_of_our_own import spec_pair, spec_result, write

TEXTS = {
    "l1_cache": "32 KB I + 32 KB D on chip per core",
    "l2_cache": "256 KB I+D on chip per core",
    "l3_cache": "12 MB I+D on chip per chip, 6 MB shared / 2 cores",
    "memory": "16 x 32 GB DDR4",
    "enabled": "12 cores, 2 chips, 6 cores/chip, 2 threads/core",
    "cpu_mhz": "2.4 GHz",
}

NUMBERS = {
    "l1_kb": 64.0,
    "l1_instruction_kb": 32.0,
    "l1_data_kb": 32.0,
    "l2_kb": 256.0,
    "l3_kb": 12288.0,
    "memory_gb": 512.0,
    "cores": 12,
    "chips": 2,
    "cores_per_chip": 6,
    "threads_per_core": 2,
    "cpu_mhz": 2400.0,
}


def result(texts):
    """Return a SPEC result whose blocks hold these texts."""
    fields = {
        "l1_cache": "Primary Cache",
        "l2_cache": "Secondary Cache",
        "l3_cache": "L3 Cache",
        "memory": "Memory",
        "enabled": "CPU(s) enabled",
        "cpu_mhz": "CPU MHz",
    }
    block = "".join(f'"{fields[name]}","{text}"\n' for name, text in texts.items())
    return spec_result(
        [spec_pair("400.alpha", 1, 10.5, None)],
        after=f'"Hardware Model:",Box\n\nHARDWARE\n{block}\nSOFTWARE\nOS,Linux\n',
    )


def table_of(texts):
    """Return the machine table of one machine described by texts alone."""
    times = perfarray.from_samples({"Box": [1.0, 2.0, 4.0]}, dim="machine")
    return perfarray.machine_table(
        times.assign_coords({name: ("machine", [text]) for name, text in texts.items()})
    )


def test_numbers_of_a_machine():
    """Modules are multiplied, caches told apart by part, clocks in MHz; digits of other scripts
    than ASCII are letters here."""
    assert machine_numbers(TEXTS) == NUMBERS
    assert machine_numbers(
        {"memory": "1x Not Specified", "l2_cache": None, "enabled": "-1 cores, 1 chip"}
    ) == {
        "memory_gb": None,
        "l2_kb": None,
        "cores": None,
        "chips": 1,
        "cores_per_chip": None,
        "threads_per_core": None,
    }
    assert machine_numbers(
        {"memory": "\u0661\u0666 GB", "cpu_mhz": "\u0662\u0664\u0660\u0660"}
    ) == {"memory_gb": None, "cpu_mhz": None}


@pytest.mark.parametrize(
    "texts",
    [
        TEXTS,
        TEXTS
        | {"memory": "4 TB (128 x 32 GB 2Rx4)", "l1_cache": "64 KB I + 32 KB D on chip per core"},
        TEXTS | {"memory": "24x Vendor ABC 64 GB 2 rank 4800", "l2_cache": "None"},
        TEXTS
        | {
            "memory": "fast",
            "l1_cache": "512 KB I on chip per chip, 64 KB I shared / 2 cores; 16 KB D on "
            "chip per core",
        },
        TEXTS
        | {
            "enabled": "-1 cores, 2 chips",
            "memory": "2 GB (2x1GB Maker DDR2-667 CL5)",
            "cpu_mhz": "3100",
        },
    ],
)
def test_reader_and_machine_table_agree(tmp_path, texts):
    read, table = perfarray.read(write(tmp_path / "result.csv", result(texts))), table_of(texts)
    numbers = machine_numbers(texts)
    assert set(numbers) <= set(read.coords)
    for name, number in numbers.items():
        expected = np.nan if number is None else number
        np.testing.assert_equal(float(read[name].item()), float(expected), err_msg=name)
        reading = pd.to_numeric(table[name], errors="coerce").item() if name in table else np.nan
        np.testing.assert_equal(float(reading), float(expected), err_msg=name)


def test_the_order_of_coordinates_does_not_matter():
    """A number that was given stays, whatever the text beside it says and wherever it stands; a gap
    is filled from the text."""
    times = perfarray.from_samples({"a": [1.0, 2.0, 4.0], "b": [1.0, 2.0, 5.0]}, dim="machine")
    coords = {
        "memory": ["16 x 32 GB DDR4", "8 GB"],
        "memory_gb": [500.0, np.nan],
        "cores": [4, 6],
        "enabled": ["12 cores"] * 2,
    }
    for order in itertools.permutations(coords):
        table = perfarray.machine_table(
            times.assign_coords({name: ("machine", coords[name]) for name in order})
        )
        assert table["memory_gb"].tolist() == [500.0, 8.0]
        assert table["cores"].tolist() == [4.0, 6.0]


def test_texts_of_many_machines_are_read_once_each():
    """Equal texts give equal answers; what nothing could be read from is returned as it stands."""
    columns, unparsed = read_texts("memory", ["8 GB", None, "a lot", "8 GB"])
    assert columns["memory_gb"] == [8.0, None, None, 8.0]
    assert unparsed == ["", "", "a lot", ""]
