"""What tar and zip archives cost: at most twice what a folder does, in proportion to their size,
whatever their members have in common."""

import sys
import tarfile
import zipfile

import pytest

import perfarray
from perfarray.readers import repeated
from readers.files_of_our_own import write
from readers.test_criterion import sample
from readers.test_repeated import DATED, PLAIN


def work(action):
    """Return how many functions are called, those written in C as well: unlike a time, it is the
    same on every machine."""
    count = 0

    def step(_, event, __):
        nonlocal count
        count += event in ("call", "c_call")

    previous = sys.getprofile()
    sys.setprofile(step)
    try:
        action()
    finally:
        sys.setprofile(previous)
    return count


def equal(content):
    """Return a function that writes copies of one measurement."""

    def write_copies(folder, count):
        for number in range(count):
            write(folder / f"{number}.json", content)

    return write_copies


def criterion(folder, count):
    """Write the results of criterion.rs: it keeps the last run of a benchmark a second time."""
    for number in range(count // 2):
        for side in ("new", "base"):
            sample(folder / f"sort/vec/{number}/{side}", name=f"sort/vec/{number}")


def packed(path, folder):
    """Write a tar archive, as GNU tar does, or a zip archive of a folder."""
    names = [inside.relative_to(folder) for inside in sorted(folder.rglob("*.*"))]
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in names:
                archive.write(folder / name, name)
    else:
        with tarfile.open(path, "w:gz", format=tarfile.GNU_FORMAT) as archive:
            for name in names:
                archive.add(folder / name, name)
    return path


@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
@pytest.mark.parametrize("reading", [perfarray.read_archive, perfarray.archive_table])
@pytest.mark.parametrize(
    "written", [equal(DATED), equal(PLAIN), criterion], ids=["dated", "plain", "criterion"]
)
def test_work_is_in_proportion_to_size(tmp_path, written, reading):
    """Four times as many members are four times the work, as docs/security.md says, and an archive
    at most twice that of its folder."""
    written(tmp_path / "first", 4)
    reading(tmp_path / "first")  # loads what is needed
    amounts = {"folder": [], "tar": [], "zip": []}
    for count in (10, 40):
        folder = tmp_path / str(count)
        written(folder, count)
        packs = (packed(tmp_path / f"{count}{suffix}", folder) for suffix in (".tar.gz", ".zip"))
        for kind, path in zip(amounts, (folder, *packs), strict=True):
            amounts[kind].append(work(lambda path=path: reading(path)))
    for n_small, n_large in amounts.values():
        assert n_large < 4.2 * n_small
    assert max(amounts["tar"][-1], amounts["zip"][-1]) < 2 * amounts["folder"][-1]


def test_equal_members_are_unpacked_twice_and_hashed_once(tmp_path, monkeypatch):
    equal(DATED)(tmp_path / "equal", 30)
    path = packed(tmp_path / "equal.zip", tmp_path / "equal")
    opened, hashed = [], []
    open_member, digest = zipfile.ZipFile.open, repeated.blake2b
    monkeypatch.setattr(
        zipfile.ZipFile,
        "open",
        lambda self, *arguments: opened.append(arguments) or open_member(self, *arguments),
    )
    monkeypatch.setattr(
        repeated, "blake2b", lambda content: hashed.append(content) or digest(content)
    )
    with pytest.warns(perfarray.PerfarrayWarning, match="another file holds the same measurement"):
        assert perfarray.read_archive(path).attrs["n_files"] == 1
    assert (len(opened), len(hashed)) == (60, 30)
