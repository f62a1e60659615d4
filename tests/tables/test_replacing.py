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


def leftovers(target):
    """Return the hidden folders beside a place."""
    return sorted(target.parent.glob(f".{target.name}.*"))


def put(target, text):
    with replacing(target) as (fresh,):
        fresh.write_text(text)


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """Return a folder in which a program was killed while it wrote."""
    target = tmp_path_factory.mktemp("killed") / "out.zarr"
    program = subprocess.run([sys.executable, "-c", KILLED, str(target)], check=False)
    assert program.returncode == -signal.SIGKILL
    assert [sorted(os.listdir(room)) for room in leftovers(target)] == [["0.zarr", module.LOCK]]
    return target.parent


@pytest.fixture
def target(killed, tmp_path):
    """Return a place to which a program wrote that was killed."""
    return shutil.copytree(killed, tmp_path / "copy") / "out.zarr"


def test_a_file_does_not_replace_a_folder(tmp_path, monkeypatch):
    """The folder keeps its files: one that was named instead of a file in it, and the current one,
    which is the path without a name."""
    (tmp_path / "data").write_text("data")
    monkeypatch.chdir(tmp_path)
    for target in (tmp_path, Path("")):
        with pytest.raises(
            IsADirectoryError,
            match="a folder is there, which no file replaces; name a file inside it",
        ):
            put(target, "report")
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
    pipe, target = tmp_path / "pipe.md", tmp_path / "link.md"
    os.mkfifo(pipe)
    target = Path(os.symlink(pipe, target) or target) if linked else pipe
    names = sorted(os.listdir(tmp_path))
    with ThreadPoolExecutor(1) as pool:
        content = pool.submit(pipe.read_text)
        try:
            put(target, "report")
        finally:  # a reader that nobody has written to would wait for ever
            with suppress(OSError):
                os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
        assert content.result(60) == "report"
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert target.is_symlink() is linked
    assert sorted(os.listdir(tmp_path)) == names
    with (
        pytest.raises(NotADirectoryError, match="which no folder replaces"),
        replacing(target) as (fresh,),
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
    target, link, usual = tmp_path / "out.html", tmp_path / "link.html", tmp_path / "usual"
    usual.write_text("")
    put(target, "first")
    assert target.stat().st_mode == usual.stat().st_mode
    target.chmod(0o600)
    link.symlink_to(target)
    put(link, "second")
    assert (link.is_symlink(), target.read_text(), stat.S_IMODE(target.stat().st_mode)) == (
        True,
        "second",
        0o600,
    )


@needs_locks
def test_the_next_workspace_removes_that_of_a_killed_program(target):
    """`convert --stream` has its large file there."""
    assert len(leftovers(target)) == 1
    with workspace(target) as room:
        assert leftovers(target) == [room]
    assert not leftovers(target)


@needs_locks
def test_the_next_write_removes_what_a_killed_one_left(target):
    """To the same place only: a write to another one beside it leaves it alone."""
    put(target.with_name("out"), "other")
    assert len(leftovers(target)) == 1
    put(target, "new")
    assert sorted(os.listdir(target.parent)) == ["out", "out.zarr"]
    assert target.read_text() == "new"


@needs_locks
def test_a_write_that_goes_on_is_left_alone(target):
    with replacing(target) as (first,):
        first.write_text("first")
        put(target, "second")
        assert leftovers(target) == [first.parent]
        assert target.read_text() == "second"
    assert target.read_text() == "first"
    assert not leftovers(target)


@needs_locks
@pytest.mark.parametrize(
    "reason", ["no lock", "another machine", "another place", "a system without locks"]
)
def test_what_is_not_surely_ours_stays(target, monkeypatch, reason):
    (room,) = leftovers(target)
    if reason == "no lock":
        (room / module.LOCK).unlink()
    elif reason == "another machine":
        monkeypatch.setattr(module.platform, "node", lambda: "elsewhere")
    elif reason == "another place":
        (room / module.LOCK).write_text(module._signature(Path("in.zarr")))
    else:
        monkeypatch.setattr(module, "_lock", lambda _: False)
    put(target, "new")
    assert leftovers(target) == [room]
    assert target.read_text() == "new"
