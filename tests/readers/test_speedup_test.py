"""Two columns of times without a header, as section 6 of the Speedup-Test describes them: read when
asked for, never guessed."""

import pytest

import perfarray
from readers.files_of_our_own import check, reader, refusals, write


def read(folder, text):
    return perfarray.read(write(folder / "bzip2.csv", text), format="speedup_test")


@pytest.mark.parametrize(
    "text",
    [
        "2.8,1.1\n2.0,0.3\n1.3,0.9\n",
        "2.8;1.1\n\n2.0;0.3\n1.3;0.9",
        "2.8\t1.1\r\n2.0\t0.3\r\n1.3\t0.9\r\n",
    ],
)
def test_two_columns_are_two_samples(tmp_path, text):
    """Baseline first; commas, semicolons or tabs; the benchmark is named as the file."""
    times = read(tmp_path, text)
    check(times, benchmark=["bzip2"])
    check(
        times.sel(version=["sample1", "sample2"]).squeeze(), time=[[2.8, 2.0, 1.3], [1.1, 0.3, 0.9]]
    )


def test_samples_may_differ_in_length(tmp_path):
    """The shorter column ends in empty fields; the speedup is that of what is there."""
    times = read(tmp_path, "4,2\n6,\n8,\n")
    assert times["time"].count("execution").values.ravel().tolist() == [3, 1]
    assert times.perf.speedup("sample1")["estimate"].item() == 3.0


def test_samples_outside_are_not_read(tmp_path, monkeypatch):
    """A sample outside the folder of the configuration and the current one needs `allow_outside`; a
    level of 1 is none."""
    for name in ("out.txt", "inside/in.txt"):
        write(tmp_path / name, "1.5\n")
    config = write(
        tmp_path / "inside" / "a.cfg",
        "Name,Sample1,Sample2,ConfLevel,Coef\nfft,in.txt,../out.txt,1,2\n",
    )
    monkeypatch.chdir(config.parent)
    with pytest.warns(
        perfarray.PerfarrayWarning,
        match=r"'\.\./out\.txt' .*is outside the folder .*allow_outside=True",
    ):
        times = perfarray.read(config)
    assert (
        times["time"].count().item(),
        times["weight"].item(),
        "confidence_level" in times.coords,
    ) == (1, 2.0, False)
    with perfarray.set_options(allow_outside=True):
        assert perfarray.read(config)["time"].count().item() == 2


test_what_is_wrong_is_placed = refusals(
    read,
    "bzip2.csv",
    [
        ("2.8,1.1\n2.0\n", ".*line 2 has 1 fields, not 2: '2.0'"),
        ("2.8,1.1\n2.0,3,4\n", ".*line 2 has 3 fields, not 2"),
        ("2.8,1.1\n2.0,fast\n", ".*line 2, column 2 is 'fast'; expected a number from 0"),
        ("2.8,1.1\n\n-2.0,1\n", ".*line 3, column 1 is '-2.0'"),
        ("2.8,\n,1.0\n1,2\n", ".*line 2, column 1 is ''"),
        ("2.8,\n2.0,\n", r".*column 2 \(sample2\) is empty"),
        ("old,new\n2.8,1\n", ".*its first line must be Name,Sample1,Sample2,ConfLevel,Coef"),
    ],
)
test_two_columns_are_not_guessed = refusals(
    reader("a.csv"), "a.csv", [("2.8,1.1\n2.0,0.3\n", "no reader recognises its content")]
)
