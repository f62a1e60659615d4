"""Two columns of times without a header, as section 6 of the Speedup-Test describes them: read when asked for, never guessed."""

import pytest

import perfarray


@pytest.fixture
def written(tmp_path):
    """Return what writes a file and gives its path."""

    def write(text):
        path = tmp_path / "bzip2.csv"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize("text", ["2.8,1.1\n2.0,0.3\n1.3,0.9\n", "2.8;1.1\n\n2.0;0.3\n1.3;0.9", "2.8\t1.1\r\n2.0\t0.3\r\n1.3\t0.9\r\n"])
def test_two_columns_are_two_samples(written, text):
    """Baseline first; commas, semicolons or tabs; the benchmark is named as the file."""
    times = perfarray.read(written(text), format="speedup_test")
    assert times["benchmark"].values.tolist() == ["bzip2"]
    assert times["time"].sel(benchmark="bzip2", version="sample1").values.tolist() == [2.8, 2.0, 1.3]
    assert times["time"].sel(benchmark="bzip2", version="sample2").values.tolist() == [1.1, 0.3, 0.9]


def test_samples_may_differ_in_length(written):
    """The shorter column ends in empty fields; the speedup is that of what is there."""
    times = perfarray.read(written("4,2\n6,\n8,\n"), format="speedup_test")
    assert times["time"].count("execution").values.ravel().tolist() == [3, 1]
    assert times.perf.speedup("sample1")["estimate"].item() == 3.0


def test_samples_outside_are_not_read(tmp_path, monkeypatch):
    """A sample outside the folder of the configuration and the current one needs `allow_outside`; a level of 1 is none."""
    (tmp_path / "inside").mkdir()
    monkeypatch.chdir(tmp_path / "inside")
    for name in ("out.txt", "inside/in.txt"):
        (tmp_path / name).write_text("1.5\n")
    config = tmp_path / "inside" / "a.cfg"
    config.write_text("Name,Sample1,Sample2,ConfLevel,Coef\nfft,in.txt,../out.txt,1,2\n")
    with pytest.warns(perfarray.PerfarrayWarning, match=r"'\.\./out\.txt' .*is outside the folder .*allow_outside=True"):
        times = perfarray.read(config)
    assert (times["time"].count().item(), times["weight"].item(), "confidence_level" in times.coords) == (1, 2.0, False)
    with perfarray.set_options(allow_outside=True):
        assert perfarray.read(config)["time"].count().item() == 2


@pytest.mark.parametrize(("text", "message"), [
    ("2.8,1.1\n2.0\n", "line 2 has 1 fields, not 2: '2.0'"),
    ("2.8,1.1\n2.0,3,4\n", "line 2 has 3 fields, not 2"),
    ("2.8,1.1\n2.0,fast\n", "line 2, column 2 is 'fast'; expected a number above 0"),
    ("2.8,1.1\n\n-2.0,1\n", "line 3, column 1 is '-2.0'"),
    ("2.8,\n,1.0\n1,2\n", "line 2, column 1 is ''"),
    ("2.8,\n2.0,\n", r"column 2 \(sample2\) is empty"),
    ("old,new\n2.8,1\n", "its first line must be Name,Sample1,Sample2,ConfLevel,Coef"),
])  # fmt: skip
def test_what_is_wrong_is_placed(written, text, message):
    """The error names line, column, text and what is expected."""
    with pytest.raises(ValueError, match=f"bzip2.csv: .*{message}"):
        perfarray.read(written(text), format="speedup_test")


def test_two_columns_are_not_guessed(written):
    """Two columns of numbers may be anything: without the format's name the file is not recognised."""
    with pytest.raises(ValueError, match="no reader recognises its content"):
        perfarray.read(written("2.8,1.1\n2.0,0.3\n"))
