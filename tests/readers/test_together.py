"""Small tidy tables with one header are read together: each file gets what it would get alone."""

import dataclasses
import gzip
import shutil

import numpy as np
import pytest
import xarray as xr
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.strategies import examples

import perfarray
from perfarray.readers import attempts
from perfarray.readers.attempts import MOST_TOGETHER
from perfarray.readers.opening import FileOptions, Source
from perfarray.readers.together import read_together

HEADER = "benchmark,version,execution,iteration,failed,time_ms"
CELLS = {
    "benchmark": [
        "fft",
        "sort",
        " lu",
        "lu ",
        "",
        "7",
        "07",
        "1.5",
        '"a,b"',
        '"a',
        "NA",
        "é",
        "#1",
    ],
    "version": ["old", "new", "1", "2", "10", "1.0", "1e3", "true", "  ", '"x\ny"'],
    "execution": ["0", "1", "2", "7", "-1", "", "1.0", "first", "9007199254740993", "1 "],
    "iteration": ["0", "1", "2", "3", "18446744073709551615", "x"],
    "failed": ["false", "true", "", "0", "1", "yes", "maybe"],
    "time_ms": ["1.5", "2", "0.1", "", "nan", "inf", "-1", "70.5 us", "x", "1e-320", "1,5", "3,"],
    "energy_j": ["1", "2.5", "", "None", "-3"],
    "threads": ["1", "2", "many"],
    "unit": ["ms", "us"],
    "file": ["a", "b"],
    "commit": ["abc", "def"],
    "loops": ["1", "2"],
}
"""What stands in files: mostly the first two of each."""

COMMENTS = [
    "",
    "# units: ms\n",
    "# better: higher\n",
    "# shared_levels: execution\n",
    "\n",
    "# a\n",
]
ENDS = ["\n", "", "\n\n", "\n# the end\n", "\r\n", "\n,,\n"]


@st.composite
def folders(draw):
    """Return the texts of files of one or two headers: plain ones, in which a few cells, or a few
    letters of one file, are odd."""
    names = ["benchmark", "time_ms", *draw(st.sets(st.sampled_from(list(CELLS)[1:5])))]
    names += draw(st.sampled_from([[]] * 8 + [[name] for name in list(CELLS)[6:]]))
    innermost = next((name for name in ("iteration", "execution") if name in names), None)
    heads = [draw(st.permutations(names)) for _ in range(draw(st.integers(1, 2)))]
    n_files = draw(st.integers(2, 6))
    odd = draw(st.sampled_from([None, *names]))
    plain = {name: st.sampled_from(CELLS[name][:2]) for name in names}
    texts = []
    for _ in range(n_files):
        rows = [{name: draw(plain[name]) for name in names} for _ in range(draw(st.integers(1, 4)))]
        for number, row in enumerate(rows):
            if innermost and draw(st.integers(0, 9)):
                row[innermost] = str(number)
        if odd and draw(st.booleans()):
            draw(st.sampled_from(rows))[odd] = draw(st.sampled_from(CELLS[odd]))
        head = draw(st.sampled_from(heads))
        lines = [",".join(head), *(",".join(row[name] for name in head) for row in rows)]
        texts.append("\n".join(lines) + "\n")
    comment = draw(st.sampled_from(COMMENTS))
    texts = [comment + text for text in texts]
    if not draw(st.integers(0, 3)):
        text = draw(st.sampled_from(texts))
        place = draw(st.integers(0, len(text)))
        inserted = draw(st.sampled_from([",", '"', "\n", "#", " ", "\r", "é", "\0", "1,2"]))
        texts[texts.index(text)] = text[:place] + inserted + text[place:]
    texts[-1] = texts[-1].rstrip("\n") + draw(st.sampled_from(ENDS))
    newline = draw(st.sampled_from(["\n", "\n", "\r\n"]))
    return [text.replace("\n", newline) for text in texts]


def exact(value):
    """Return a value with the bytes and types of all arrays in it, to be compared."""
    if isinstance(value, np.ndarray):
        values = value.tolist() if value.dtype == object else value.tobytes()
        return str(value.dtype), value.shape, values
    if dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
        return type(value), [(field.name, exact(getattr(value, field.name))) for field in fields]
    if isinstance(value, dict):
        return [(key, exact(inner)) for key, inner in value.items()]
    if isinstance(value, list | tuple):
        return [exact(inner) for inner in value]
    return type(value), str(value) if isinstance(value, Exception) else value


def attempts_of(folder, **options):
    """Return all that is made of the files of a folder, to be compared."""
    asked = FileOptions(**options)
    return exact(list(attempts.iter_attempts(folder, None, "file", asked, progress=False)))


def files(*rows, head="benchmark,execution,time_ms", comment=""):
    """Return the texts of tables with these rows, one after another in each."""
    return [comment + "\n".join([head, *lines.split(" ")]) + "\n" for lines in rows]


@example(files("fft,0,1 fft,0,1", "fft,0,1 fft,0,2"), {})  # the first has copies
@example(files("fft,0,1", "fft,0,1 fft,0,2"), {})  # the second has iterations
@example(files("é,0,1", "b,0,1 é,0,2"), {})
@example(files("fft,b,1 fft,a,2", "fft,a,1 fft,b,2"), {})
@example(files("fft,0,1 fft,1,1 fft,2,1", "fft,1,1", comment="# shared_levels: execution\n"), {})
@example(files("unknown,0,1", '"\t",0,1'), {})
@example(files("a,5,1 b,7,1", "b,1,1 a,2,1"), {})
@settings(max_examples=examples(400), deadline=None)
@given(
    folders(),
    st.sampled_from([{}, {}, {"format": "tidy_csv"}, {"units": "us"}, {"keep_failed": True}]),
)
def test_together_is_as_alone(tmp_path_factory, texts, options):
    """Tables, notes, errors and reasons are those of each file alone, to the bit."""
    folder = tmp_path_factory.mktemp("files")
    for number, text in enumerate(texts):
        (folder / f"run-{number}.csv").write_bytes(text.encode(errors="replace"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attempts, "read_together", lambda sources: [None] * len(sources))
        alone = attempts_of(folder, **options)
    assert attempts_of(folder, **options) == alone


def tables_of(folder):
    """Return the tables that are read together."""
    return read_together([Source(path) for path in sorted(folder.iterdir())])


def plain(number, label="fft"):
    """Return a plain table of two runs."""
    return f"benchmark,execution,time_ms\n{label},0,{number}.5\n{label},1,{number}\n"


@pytest.fixture
def folder(tmp_path):
    """Return a folder of more files than are read together at once."""
    for number in range(MOST_TOGETHER + 6):
        (tmp_path / f"run-{number:05}.csv").write_text(plain(number))
    return tmp_path


def test_plain_files_are_read_together(folder):
    """What holds them is what each holds: labels, numbers of runs, and seconds."""
    tables = tables_of(folder)
    assert None not in tables
    assert tables[3].metrics["time"].values.tolist() == [0.0035, 0.003]
    times = perfarray.read_archive(folder, layout="run-{version}.csv")["time"]
    assert times.sizes == {"benchmark": 1, "version": len(tables), "execution": 2}
    assert times.sel(version="00069").values.tolist() == [[0.0695, 0.069]]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(plain(1, "7"), id="a label that is a number among words"),
        pytest.param("benchmark,execution,time_ms\nfft,0,1\nfft,,2\n", id="no number of a run"),
        pytest.param('benchmark,execution,time_ms\n"a\nb",0,1\n', id="a label of two lines"),
        pytest.param('benchmark,execution,time_ms\nfft,0,1\n"fft,1,2\n', id="an open quote"),
        pytest.param("benchmark,execution,time_ms\nfft,0,1\nfft,0,1\n", id="a copied row"),
        pytest.param("benchmark,execution,time_ms\nfft,0,1,5\n", id="a cell too many"),
        pytest.param("benchmark,execution,time_ms\n", id="no rows"),
    ],
)
def test_an_odd_file_is_read_alone(folder, text):
    """So are those that were to be read together with it."""
    (folder / "run-00005.csv").write_text(text)
    assert tables_of(folder) == [None] * (MOST_TOGETHER + 6)


def test_the_damaged_file_is_named(folder):
    """With its place, and no other file is left out."""
    (folder / "run-00065.csv").write_text("benchmark,execution,time_ms\nfft,0,1.5\nfft,1,x\n")
    place = r"run-00065\.csv: column 'time_ms', row 2 under the header, is 'x'"
    with pytest.raises(ValueError, match=place):
        perfarray.read_archive(folder)
    with pytest.warns(perfarray.PerfarrayWarning, match=place):
        times = perfarray.read_archive(folder, on_error="warn")
    assert times.sizes["file"] == MOST_TOGETHER + 5


def test_texts_are_read_together_however_they_are_written(tmp_path):
    """Line feeds of other systems, letters beyond ASCII, a mark of the encoding, compression."""
    (tmp_path / "a.csv").write_bytes(plain(1).replace("\n", "\r\n").encode())
    (tmp_path / "b.csv").write_text(plain(2, "größe"), encoding="utf-8-sig")
    (tmp_path / "c.csv.gz").write_bytes(gzip.compress(plain(3).encode()))
    tables = tables_of(tmp_path)
    assert [table.labels["benchmark"].labels for table in tables] == [["fft"], ["größe"], ["fft"]]


def test_limits_hold_for_each_file(folder):
    """Together small files may hold more than one may."""
    size = (folder / "run-00065.csv").stat().st_size
    with perfarray.set_options(max_file_bytes=size):
        assert perfarray.read_archive(folder).sizes["file"] == MOST_TOGETHER + 6
    with (
        perfarray.set_options(max_file_bytes=size - 1),
        pytest.raises(ValueError, match=r"run-00010\.csv: holds more than"),
    ):
        perfarray.read_archive(folder)


def test_members_of_an_archive_are_read_as_files(folder, tmp_path_factory):
    """A zip of the folder holds the same."""
    packed = shutil.make_archive(str(tmp_path_factory.mktemp("pack") / "runs"), "zip", folder)
    expected = perfarray.read_archive(folder, layout="run-{version}.csv")
    xr.testing.assert_identical(
        perfarray.read_archive(packed, layout="run-{version}.csv"), expected
    )
