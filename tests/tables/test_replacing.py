"""What killed programs leave beside the place they wrote to: the next write removes what is surely theirs, and nothing else."""

import os
import shutil
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from perfarray.tables import replacing as module
from perfarray.tables.replacing import replacing

pytestmark = pytest.mark.skipif(find_spec("fcntl") is None, reason="there are no locks of files that end with a program (since 2026-11)")

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
    """The folder keeps its files: one that was named instead of a file in it, and the current one, which is the path without a name."""
    (tmp_path / "data").write_text("data")
    monkeypatch.chdir(tmp_path)
    for place in (tmp_path, Path("")):
        with pytest.raises(IsADirectoryError, match="a folder is there, which no file replaces; name a file inside it"):
            put(place, "report")
    assert os.listdir(tmp_path) == ["data"]
    assert not leftovers(tmp_path)


def test_the_next_write_removes_what_a_killed_one_left(place):
    """To the same place only: a write to another one beside it leaves it alone."""
    put(place.with_name("out"), "other")
    assert len(leftovers(place)) == 1
    put(place, "new")
    assert sorted(os.listdir(place.parent)) == ["out", "out.zarr"]
    assert place.read_text() == "new"


def test_a_write_that_goes_on_is_left_alone(place):
    with replacing(place) as (first,):
        first.write_text("first")
        put(place, "second")
        assert leftovers(place) == [first.parent]
        assert place.read_text() == "second"
    assert place.read_text() == "first"
    assert not leftovers(place)


@pytest.mark.parametrize("other", ["no lock", "another machine", "another place", "a system without locks"])
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
