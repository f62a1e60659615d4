"""Where answers go: pipes and closed streams, encodings without a character, names of files that
are not UTF-8."""

import base64
import json
import os
import re
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

import perfarray
from cli.commands import SHIPPED, as_json, run, write_rows

OLD, NEW = SHIPPED / "malloc.json", SHIPPED / "pymalloc.json"
needs_pipes = pytest.mark.skipif(
    not hasattr(os, "mkfifo"), reason="there are no pipes by name here (since 2026-11)"
)
ROWS = [f"fft,{number},{10 + number % 3}" for number in range(9)]


def called(*arguments, **options):
    """Run a command in a process of its own."""
    command = [sys.executable, "-m", "perfarray", *map(os.fspath, arguments)]
    return subprocess.run(command, capture_output=True, check=False, **options)


def needs_extra(file):
    """Skip a test that writes a file of a kind for which something is missing."""
    modules = {
        ".svg": ("matplotlib", "plots"),
        ".parquet": ("pyarrow", "tables"),
        ".nc": ("h5netcdf", "io"),
    }
    if Path(file).suffix in modules:
        module, extra = modules[Path(file).suffix]
        pytest.importorskip(module, reason=f"pip install 'perfarray[{extra}]'")


@needs_pipes
@pytest.mark.parametrize(
    ("command", "name", "begins"),
    [
        (("report", OLD, NEW), "out.html", b"<!DOCTYPE html>"),
        (("compare", OLD, NEW), "out.json", b"{"),
        (("plot", OLD, NEW), "out.svg", b"<?xml"),
        (("convert", OLD), "out.parquet", b"PAR1"),
    ],
)
def test_a_pipe_is_written_into_and_stays(tmp_path, command, name, begins):
    """The answer goes to the reader of the pipe, and nothing takes its place."""
    needs_extra(name)
    pipe = tmp_path / name
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        content = pool.submit(pipe.read_bytes)
        try:
            answer = run(*command, *(() if command[0] == "convert" else ("-o",)), pipe)
        finally:  # a reader that nobody has written to would wait for ever
            with suppress(OSError):
                os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
        assert content.result(60).startswith(begins), answer.output
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert os.listdir(tmp_path) == [name]


@needs_pipes
def test_a_store_does_not_replace_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "out.zarr")
    for option in ("--overwrite", "--stream"):
        assert "out.zarr" in run("convert", OLD, tmp_path / "out.zarr", option, code=2).stderr
    assert stat.S_ISFIFO((tmp_path / "out.zarr").stat().st_mode)


@pytest.mark.skipif(os.name == "nt", reason="files have no modes there (since 2026-11)")
def test_a_report_keeps_the_mode_of_the_one_before(tmp_path):
    position = tmp_path / "report.html"
    position.write_text("before")
    position.chmod(0o600)
    run("report", OLD, "-o", position, code=0)
    assert stat.S_IMODE(position.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "command", [("plot", OLD, "-o", "out.svg"), ("convert", OLD, "out.nc"), ("--version",)]
)
def test_nobody_reads_the_answer(command, tmp_path):
    """A pipe whose reader has gone changes neither the exit code nor what stands on stderr."""
    needs_extra(command[-1])
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as closed:
        call = [sys.executable, "-m", "perfarray", *map(str, command)]
        ended = subprocess.run(
            call, stdout=closed, stderr=subprocess.PIPE, text=True, check=False, cwd=tmp_path
        )
    # Old versions of matplotlib speak of what newer packages beside them deprecate.
    messages = [line for line in ended.stderr.splitlines() if "deprecated - use" not in line]
    assert (ended.returncode, messages) == (0, [])


@pytest.mark.skipif(os.name == "nt", reason="no such shell there (since 2026-11)")
def test_closed_streams(tmp_path):
    """A shell may close both streams; the exit code is that of the answer."""
    write_rows(tmp_path / "a.csv", "benchmark,execution,time_ms", ROWS)
    for streams in (">&-", "2>&-", ">&- 2>&-"):
        ended = subprocess.run(
            ["sh", "-c", f'"$0" -m perfarray files a.csv {streams}', sys.executable],
            check=False,
            cwd=tmp_path,
        )
        assert ended.returncode == 0


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_what_an_encoding_does_not_have_is_an_escape(encoding):
    """Neither help, nor an answer with other letters ends in an error; JSON means the same."""
    write_rows("a.csv", "benchmark,execution,time_ms", [row.replace("fft", "Σ→√") for row in ROWS])
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    for command in (("compare", "--help"), ("components", "a.csv"), ("about", "a.csv")):
        assert called(*command, env=environment).returncode == 0
    printed = called("components", "a.csv", "--json", env=environment)
    assert "Σ→√" in json.dumps(json.loads(printed.stdout), ensure_ascii=False)


def test_half_of_a_letter():
    """JSON may state the half of a letter, which no file can hold: it is a question mark; two
    halves are the letter."""
    times = [1, 1.1, 1.2]
    Path("runs.json").write_text(
        json.dumps(
            {
                "results": [
                    {"command": name, "times": times} for name in ("a\ud800b", "\U0001f600", "c")
                ]
            }
        )
    )
    assert perfarray.read("runs.json")["benchmark"].values.tolist() == ["a?b", "\U0001f600", "c"]
    assert [row["benchmark"] for row in as_json("components", "runs.json")["rows"]][:1] == ["a?b"]


@pytest.mark.parametrize("form", ["table", "markdown", "html", "json"])
def test_no_control_character_is_printed(form):
    """Labels may hold what moves the cursor of a terminal or turns the direction of a text;
    Markdown and HTML show it as an escape."""
    label = "a\x1b[31mb\x07\u202ec"
    write_rows(
        "a.csv",
        "benchmark,execution,time_ms",
        [*ROWS, *(row.replace("fft", label) for row in ROWS)],
    )
    printed = run("components", "a.csv", "--output", form).stdout
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", printed)
    assert "\u202e" not in printed
    if form != "json":
        assert ("a?[31mb??c" if form == "table" else r"a\x1b[31mb\x07\u202ec") in printed
    for form_of_report in ("markdown", "html"):
        text = perfarray.read("a.csv").perf.report(format=form_of_report)
        pictures = [
            base64.b64decode(picture).decode()
            for picture in re.findall(r"svg\+xml;base64,([\w+/=]+)", text)
        ]
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", "".join([text, *pictures]))


@pytest.mark.skipif(
    sys.platform != "linux", reason="names of files are texts elsewhere (since 2026-11)"
)
def test_a_name_that_is_not_utf_8():
    """It is a label with an escape, in messages and in every output."""
    write_rows(os.fsdecode(b"a\xff.csv"), "benchmark,execution,time_ms", ROWS)
    name = r"a\udcff.csv"
    times = perfarray.read_archive(".")
    assert times["file"].values.tolist() == [name]
    assert times.perf.to_frame()["file"].unique().tolist() == [name]
    assert [row["file"] for row in as_json("files", ".")["files"]] == [name]
    Path(os.fsdecode(b"b\xfe.json")).write_text("{")
    with pytest.raises(ValueError, match=r"^b\\udcfe\.json: is not valid JSON"):
        perfarray.read(os.fsdecode(b"b\xfe.json"))
    for output in ("out.json", "out.html", "out.md", os.fsdecode(b"c\xfd.json")):
        assert called("components", os.fsdecode(b"a\xff.csv"), "-o", output).returncode == 0
        Path(output).read_text(encoding="utf-8")
