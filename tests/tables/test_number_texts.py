"""Numbers with decimal commas, separators of thousands and units: read where the column agrees,
else refused with the remedy."""

import pandas as pd
import pytest

import perfarray
from perfarray.tables.number_texts import parse_numbers


@pytest.mark.parametrize(("cells", "values", "unit"), [
    (["1,010.1", "900", "901"], [1010.1, 900.0, 901.0], ""),
    (["1,234,567", "12"], [1234567.0, 12.0], ""),
    (["10,2", "9,85"], [10.2, 9.85], ""),
    (["1,234", "1,23"], [1.234, 1.23], ""),
    (["1.010,5", "3,2"], [1010.5, 3.2], ""),
    (["1 010.1", "2"], [1010.1, 2.0], ""),
    (["1\u00a0010,5", "2"], [1010.5, 2.0], ""),
    (["1\u2019010.5", "2"], [1010.5, 2.0], ""),
    (["-0,5", "+1,25e-3"], [-0.5, 0.00125], ""),
    (["70.55us", "2.01ms"], [70.55e-6, 2.01e-3], "s"),
    (["10,33 ms", "9,5 ms", ""], [10.33, 9.5, float("nan")], "ms"),
    (["12 MB", "13 MB"], [12.0, 13.0], "MB"),
    (["10%", "20%"], [10.0, 20.0], "%"),
])  # fmt: skip
def test_what_is_read(cells, values, unit):
    numbers = parse_numbers(pd.Series(cells))
    assert numbers.values.tolist() == pytest.approx(values, nan_ok=True)
    assert numbers.unit == unit


@pytest.mark.parametrize(
    "cells",
    [
        ["abc", "1"],
        ["v1.2", "1"],
        ["O2", "O3"],
        ["5d3f", "12ab"],
        ["1.2.3", "1"],
        ["1_000", "2"],
        ["\u0661\u0662"],
        ["", ""],
        ["1,5", "2.5"],
        ["0x10"],
        ["12,34.5"],
    ],
)
def test_what_is_no_number(cells):
    assert parse_numbers(pd.Series(cells)) is None


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (
            ["1,234", "2,345"],
            "column 'x' holds '1,234', whose comma may separate thousands or decimals",
        ),
        (["900", "12,345"], "column 'x' holds '12,345', whose comma"),
        (
            ["12 MB", "13 ms"],
            "column 'x' has cells in 'MB', 'ms', which cannot be brought to one unit",
        ),
        (["12", "13 ms"], "column 'x' has cells in 'ms', 'no unit'"),
    ],
)
def test_what_is_refused(cells, message):
    with pytest.raises(ValueError, match=message):
        parse_numbers(pd.Series(cells, name="x"))


@pytest.mark.parametrize(
    ("text", "options", "values"),
    [
        (
            'benchmark\tversion\ttime_ms\nparse\told\t"1,010.1"\nparse\tnew\t900\n',
            {},
            [1.0101, 0.9],
        ),
        ("benchmark;time_ms\na;10,2\nb;9,8\n", {}, [0.0102, 0.0098]),
        (
            "name,engine,median\nen,re2,70.55us\nru,re2,2.01ms\n",
            {"dims": {"benchmark": "name", "time": "median"}},
            [70.55e-6, 2.01e-3],
        ),
        ("benchmark,time\na,1.5 s\nb,300 ms\n", {}, [1.5, 0.3]),
    ],
)
def test_files(tmp_path, text, options, values):
    (tmp_path / "runs.csv").write_text(text)
    times = perfarray.read(tmp_path / "runs.csv", **options)
    assert times["time"].stack(row=[...]).dropna("row").values.tolist() == pytest.approx(values)
    assert times["time"].attrs["units"] == "s"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "benchmark\ttime_ms\na\t1,234\nb\t2,345\n",
            "runs.csv: column 'time_ms' holds '1,234', whose comma",
        ),
        (
            "benchmark,time_ms\na,70us\nb,80us\n",
            "runs.csv: column 'time_ms' is in 'ms', and its cells are in 'us'",
        ),
        (
            "benchmark;time_ms\na;1,5\nb;2.5\n",
            "runs.csv: column 'time_ms', row 1 under the header, is '1,5'; expected a number",
        ),
    ],
)
def test_files_that_are_refused(tmp_path, text, message):
    (tmp_path / "runs.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        perfarray.read(tmp_path / "runs.csv")


@pytest.mark.parametrize(
    "header",
    [
        'benchmark,"time_ms","note, free"',
        '"benchmark",time_ms,"a ""b"", c"',
        'benchmark,time_ms,"two\nlines, x"',
    ],
)
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_header_in_quotes_may_hold_the_separator(tmp_path, header, separator):
    """RFC 4180: also a doubled quote and the end of a line."""
    head = header.replace(", ", "\0").replace(",", separator).replace("\0", f"{separator} ")
    rows = [["fft", "5.5", '"x"'], ["sort", "6.5", '"y"']]
    (tmp_path / "runs.csv").write_text(
        "\n".join([head, *(separator.join(row) for row in rows)]) + "\n"
    )
    times = perfarray.read(tmp_path / "runs.csv")
    assert times["time"].values.ravel().tolist() == pytest.approx([0.0055, 0.0065])
    by_name = perfarray.read(
        tmp_path / "runs.csv", dims={"benchmark": "benchmark", "time_ms": "time_ms"}
    )
    assert by_name["time"].values.ravel().tolist() == pytest.approx([0.0055, 0.0065])


@pytest.mark.parametrize("name", ["energy [J]", "memory (MB)", "power [W]"])
def test_a_quantity_with_a_unit_in_brackets_is_measured(tmp_path, name):
    """As a column's name, and as what the caller calls a column."""
    quantity, unit = name.split()[0], name.split()[1].strip("[]()")
    (tmp_path / "a.csv").write_text(
        f"benchmark,version,{name}\nfft,old,10\nfft,old,10.5\nfft,new,9\nfft,new,9.1\n"
    )
    (tmp_path / "b.csv").write_text("fft;62.4;3497\nfft;62.3;3324\nsort;30.1;1200\n")
    read = perfarray.read(tmp_path / "a.csv")
    assert (dict(read.sizes), read[quantity].attrs["units"]) == (
        {"benchmark": 1, "version": 2, "execution": 2},
        unit,
    )
    times = perfarray.read(tmp_path / "b.csv", dims={"benchmark": 0, name: 1, "time_ms": 2})
    assert (sorted(times), dict(times.sizes)) == (
        sorted([quantity, "time"]),
        {"benchmark": 2, "execution": 2},
    )


def test_a_caller_may_give_any_quantity_a_unit(tmp_path):
    (tmp_path / "a.csv").write_text("program,fan\nfft,1000\nfft,1010\n")
    times = perfarray.read(
        tmp_path / "a.csv", dims={"benchmark": "program", "speed [1/min]": "fan"}
    )
    assert times["speed"].attrs == {"units": "1/min", "better": "higher"}
