"""What is replaced and what is written into; and what killed programs leave beside a place: the
next write removes it, and nothing else."""

import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest

from perfarray.tables import replacing as module
from perfarray.tables.replacing import replacing, workspace

needs_locks = pytest.mark.skipif(
    find_spec("fcntl") is None,
    reason="there are no locks of files that end with a program (since 2026-11)",
)

KILLED = """
import os, signal, sys
from pathlib import Path
from perfarray.tables.replacing import replacing
with replacing(Path(sys.argv[1])) as (fresh,):
    fresh.mkdir()
    (fresh / "half").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def leftovers(place):
    """Return the hidden folders beside a place."""
    return sorted(place.parent.glob(f".{place.name}.*"))


def put(place, text):
    with replacing(place) as (fresh,):
        fresh.write_text(text)


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """Return a folder in which a program was killed while it wrote."""
    place = tmp_path_factory.mktemp("killed") / "out.zarr"
    program = subprocess.run([sys.executable, "-c", KILLED, str(place)], check=False)
    assert program.returncode == -signal.SIGKILL
    assert [sorted(os.listdir(room)) for room in leftovers(place)] == [["0.zarr", module.LOCK]]
    return place.parent


@pytest.fixture
def place(killed, tmp_path):
    """Return a place to which a program wrote that was killed."""
    return shutil.copytree(killed, tmp_path / "copy") / "out.zarr"


def test_a_file_does_not_replace_a_folder(tmp_path, monkeypatch):
    """The folder keeps its files: one that was named instead of a file in it, and the current one,
    which is the path without a name."""
    (tmp_path / "data").write_text("data")
    monkeypatch.chdir(tmp_path)
    for place in (tmp_path, Path("")):
        with pytest.raises(
            IsADirectoryError,
            match="a folder is there, which no file replaces; name a file inside it",
        ):
            put(place, "report")
    assert os.listdir(tmp_path) == ["data"]
    assert not leftovers(tmp_path)


def test_a_folder_does_not_replace_a_file(tmp_path):
    (tmp_path / "out.zarr").write_text("data")
    with (
        pytest.raises(NotADirectoryError, match="a file is there, which no folder replaces"),
        replacing(tmp_path / "out.zarr") as (fresh,),
    ):
        fresh.mkdir()
    assert (tmp_path / "out.zarr").read_text() == "data"
    assert os.listdir(tmp_path) == ["out.zarr"]


@pytest.mark.skipif(
    not hasattr(os, "mkfifo"), reason="there are no pipes by name here (since 2026-11)"
)
@pytest.mark.parametrize("linked", [False, True])
def test_a_pipe_is_written_into(tmp_path, linked):
    """It stays a pipe, also behind a link, and nothing is left beside it."""
    pipe, place = tmp_path / "pipe.md", tmp_path / "link.md"
    os.mkfifo(pipe)
    place = Path(os.symlink(pipe, place) or place) if linked else pipe
    names = sorted(os.listdir(tmp_path))
    with ThreadPoolExecutor(1) as pool:
        content = pool.submit(pipe.read_text)
        try:
            put(place, "report")
        finally:  # a reader that nobody has written to would wait for ever
            with suppress(OSError):
                os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
        assert content.result(60) == "report"
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert place.is_symlink() is linked
    assert sorted(os.listdir(tmp_path)) == names
    with (
        pytest.raises(NotADirectoryError, match="which no folder replaces"),
        replacing(place) as (fresh,),
    ):
        fresh.mkdir()
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.skipif(
    not hasattr(os, "pipe") or not os.path.exists("/dev/fd"),
    reason="there are no open files by name here (since 2026-11)",
)
def test_an_open_file_without_a_name_is_written_into(tmp_path):
    """A shell hands over `>(command)` as the number of a pipe."""
    reader, writer = os.pipe()
    put(Path(f"/dev/fd/{writer}"), "report")
    os.close(writer)
    with open(reader, encoding="utf-8") as content:
        assert content.read() == "report"


@pytest.mark.skipif(
    not hasattr(socket, "AF_UNIX"), reason="there are no sockets by name here (since 2026-11)"
)
def test_a_socket_stays(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # names of sockets are short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("out.json")
        with pytest.raises(OSError, match=r"out\.json"):
            put(Path("out.json"), "report")
    assert stat.S_ISSOCK(os.stat("out.json").st_mode)
    assert os.listdir() == ["out.json"]


@pytest.mark.skipif(os.name == "nt", reason="files have no modes there (since 2026-11)")
def test_what_is_replaced_keeps_its_mode(tmp_path):
    """A file that only its owner may read stays so, behind a link as well; a new one gets the usual
    mode."""
    place, link, usual = tmp_path / "out.html", tmp_path / "link.html", tmp_path / "usual"
    usual.write_text("")
    put(place, "first")
    assert place.stat().st_mode == usual.stat().st_mode
    place.chmod(0o600)
    link.symlink_to(place)
    put(link, "second")
    assert (link.is_symlink(), place.read_text(), stat.S_IMODE(place.stat().st_mode)) == (
        True,
        "second",
        0o600,
    )


@needs_locks
def test_the_next_workspace_removes_that_of_a_killed_program(place):
    """`convert --stream` has its large file there."""
    assert len(leftovers(place)) == 1
    with workspace(place) as room:
        assert leftovers(place) == [room]
    assert not leftovers(place)


@needs_locks
def test_the_next_write_removes_what_a_killed_one_left(place):
    """To the same place only: a write to another one beside it leaves it alone."""
    put(place.with_name("out"), "other")
    assert len(leftovers(place)) == 1
    put(place, "new")
    assert sorted(os.listdir(place.parent)) == ["out", "out.zarr"]
    assert place.read_text() == "new"


@needs_locks
def test_a_write_that_goes_on_is_left_alone(place):
    with replacing(place) as (first,):
        first.write_text("first")
        put(place, "second")
        assert leftovers(place) == [first.parent]
        assert place.read_text() == "second"
    assert place.read_text() == "first"
    assert not leftovers(place)


@needs_locks
@pytest.mark.parametrize(
    "other", ["no lock", "another machine", "another place", "a system without locks"]
)
def test_what_is_not_surely_ours_stays(place, monkeypatch, other):
    (room,) = leftovers(place)
    if other == "no lock":
        (room / module.LOCK).unlink()
    elif other == "another machine":
        monkeypatch.setattr(module.platform, "node", lambda: "elsewhere")
    elif other == "another place":
        (room / module.LOCK).write_text(module._signature(Path("in.zarr")))
    else:
        monkeypatch.setattr(module, "_lock", lambda _: False)
    put(place, "new")
    assert leftovers(place) == [room]
    assert place.read_text() == "new"
