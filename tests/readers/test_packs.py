"""Tar and zip archives: read as folders of their names, in memory, with limits; and folders that
are one result."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile

import pytest

import perfarray
from readers.files_of_our_own import check, small_suite, write
from readers.test_criterion import sample


def packed(path, folder, mode="w:gz"):
    """Write a tar or zip archive of a folder."""
    if mode == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for inside in sorted(folder.rglob("*")):
                archive.write(inside, inside.relative_to(folder))
    else:
        with tarfile.open(path, mode) as archive:
            archive.add(folder, arcname=".")
    return path


def odd_tar(path, *members):
    """Write a tar archive of members that are given as TarInfo."""
    with tarfile.open(path, "w") as archive:
        for member in members:
            archive.addfile(member, io.BytesIO(bytes(min(member.size, 10))))
    return path


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz", "zip"])
def test_an_archive_is_a_folder_of_its_name(tmp_path, folder, mode):
    """The name of an archive does not matter; a layout may name folders above it, and members may
    be compressed."""
    write(folder / "old" / "m3_1.json.gz", small_suite(7.0))
    (folder / "notes.txt").write_text("nothing")
    path = packed(tmp_path / "whole", folder, mode)
    with pytest.warns(
        perfarray.PerfarrayWarning, match="1 is of no known format and left out: 'whole/notes.txt'"
    ):
        times = perfarray.read_archive(path, layout="{set}/{version}/{machine}_{session}.json")
    with pytest.warns(perfarray.PerfarrayWarning):
        expected = perfarray.read_archive(folder, layout="{version}/{machine}_{session}.json")
    check(times, set=["whole"])
    assert times.squeeze("set", drop=True).equals(expected)


def test_one_result_is_read_as_it_is(tmp_path, folder):
    """`read` takes a folder or archive of one file, or whose files state their labels."""
    sample(tmp_path / "target/sort/vec/8/new")
    sample(tmp_path / "target/sort/vec/9/new", name="sort/vec/9")
    times = perfarray.read(tmp_path / "target")
    assert times.sizes["benchmark"] == 2
    assert perfarray.read(packed(tmp_path / "target.tgz", tmp_path / "target")).equals(times)
    with pytest.raises(
        ValueError, match=r"results: holds 8 files, .*read_archive reads them along a dim"
    ):
        perfarray.read(folder)
    alone = write(tmp_path / "alone" / "a.json", small_suite(1.0))
    assert (
        perfarray.read(packed(tmp_path / "alone.tar", alone.parent, "w"))["time"].size
        == perfarray.read(alone)["time"].size
    )


def member(name, **head):
    """Return the head of a member."""
    info = tarfile.TarInfo(name)
    for key, value in head.items():
        setattr(info, key, value)
    return info


@pytest.mark.parametrize("name", ["../out.json", "/etc/out.json", "a/../../out.json"])
def test_no_name_leads_out(tmp_path, name):
    with pytest.raises(ValueError, match=r"a\.tar: has a member whose name leads out of it"):
        perfarray.read(odd_tar(tmp_path / "a.tar", member(name)))


def test_links_and_devices_are_passed_over(tmp_path):
    (tmp_path / "secret.json").write_text("{}")
    kinds = {
        "l": tarfile.SYMTYPE,
        "h": tarfile.LNKTYPE,
        "d": tarfile.CHRTYPE,
        "f": tarfile.FIFOTYPE,
    }
    odd = [
        member(name, type=kind, linkname=str(tmp_path / "secret.json"))
        for name, kind in kinds.items()
    ]
    with pytest.raises(ValueError, match="none of the 0 files"):
        perfarray.read(odd_tar(tmp_path / "a.tar", *odd))


def test_limits(tmp_path, monkeypatch):
    monkeypatch.setattr("perfarray.readers.packs.MOST_MEMBERS", 3)
    with pytest.raises(ValueError, match="has more than 3 members"):
        perfarray.read(odd_tar(tmp_path / "many.tar", *(member(f"{i}.json") for i in range(4))))
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.json", bytes(20_000_000))
    with pytest.raises(
        ValueError,
        match=r"bomb\.zip: holds more than the 16777216 bytes .* set_options\(max_unpack_ratio=",
    ):
        perfarray.read(tmp_path / "bomb.zip")
    huge = member("a.json", size=1 << 40)
    with pytest.raises(
        ValueError,
        match=r"huge\.tar: holds more than the 16777216 bytes .* set_options\(max_unpack_ratio=",
    ):
        perfarray.read(write(tmp_path / "huge.tar", huge.tobuf() + bytes(1024)))


def test_blanks_of_a_sparse_member_count(tmp_path):
    """A member of two gigabytes whose blanks are not in the archive is refused before it is read; a
    small one is read."""
    sparse = member(
        "a.csv",
        size=512,
        pax_headers={
            "GNU.sparse.major": "1",
            "GNU.sparse.minor": "0",
            "GNU.sparse.realsize": "2000000000",
        },
    )
    sparse.pax_headers |= {"GNU.sparse.name": "a.csv"}
    with tarfile.open(tmp_path / "a.tar", "w", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(sparse, io.BytesIO(b"1\n2000000000\n0\n".ljust(512, b"\0")))
    with pytest.raises(ValueError, match=r"a\.tar: holds more than the 16777216 bytes"):
        perfarray.read_archive(tmp_path / "a.tar")


TABLE = b"benchmark,execution,time_ms\n" + b"".join(
    b"fft,%d,%d\n" % (number, 10 + number % 3) for number in range(6)
)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize(("between", "behind"), [(0, 0), (4, 0), (8, 12), (200_000, 4)])
def test_all_streams_of_a_packed_file_are_read(tmp_path, pack, between, behind):
    """Bytes of 0 between and behind them are padding, as `xz -dc` and `gzip -dc` have it."""
    first, second = pack(TABLE[:60]), pack(TABLE[60:])
    path = write(tmp_path / "packed", first + bytes(between) + second + bytes(behind))
    assert perfarray.read(path)["time"].count() == 6


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("trailing", [b"x", b"not packed, and longer than a head is"])
def test_what_is_not_packed_behind_a_packed_text_is_refused(tmp_path, pack, trailing):
    """It would be lost without a word."""
    with pytest.raises(ValueError, match="packed: is cut off or damaged: the"):
        perfarray.read(write(tmp_path / "packed", pack(TABLE) + trailing))


OTHERS = {
    "zstd": (b"\x28\xb5\x2f\xfd", "zstd -d"),
    "lz4": (b"\x04\x22\x4d\x18", "lz4 -d"),
    "7z": (b"7z\xbc\xaf\x27\x1c", "7z x"),
    "rar": (b"Rar!\x1a\x07", "unrar x"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_packed_in_another_way_is_named(tmp_path, name):
    """Alone it is an error; of a folder the other files are read, and one note names it with what
    unpacks it. Its name does not matter."""
    magic, command = OTHERS[name]
    path = write(tmp_path / "b.csv", magic + bytes(range(100)))
    with pytest.raises(
        ValueError,
        match=f"b.csv: is packed with {name}, which is not read; unpack it first: {command} FILE",
    ):
        perfarray.read(path)
    write(tmp_path / "a.csv", TABLE)
    with pytest.warns(perfarray.PerfarrayWarning) as caught:
        assert perfarray.read_archive(tmp_path)["time"].count() == 6
    (note,) = caught[0].message.notes
    assert note.message == (
        "of 2 files, 1 is of no known format and left out: 'b.csv'; 'b.csv' is packed with "
        f"{name}, which is not read; "
        f"unpack it first: {command} FILE"
    )
    assert (
        perfarray.archive_table(tmp_path)["reason"].tolist()[1].startswith(f"is packed with {name}")
    )


def test_archives_inside_archives_are_named(tmp_path):
    """What is packed twice as well; a zip archive that is packed once more is read."""
    (tmp_path / "inner").mkdir()
    write(tmp_path / "inner" / "a.csv", TABLE)
    packed(tmp_path / "b.tgz", tmp_path / "inner")
    with zipfile.ZipFile(tmp_path / "outer.zip", "w") as archive:
        archive.write(tmp_path / "b.tgz", "b.tgz")
        archive.write(tmp_path / "inner" / "a.csv", "a.csv")
    for path in (
        tmp_path / "outer.zip",
        write(tmp_path / "again", gzip.compress((tmp_path / "outer.zip").read_bytes())),
    ):
        with pytest.warns(
            perfarray.PerfarrayWarning,
            match=r"/b\.tgz' is an archive inside an archive, which is not read",
        ):
            assert perfarray.read_archive(path)["time"].count() == 6
    with pytest.raises(ValueError, match="is packed twice"):
        perfarray.read(write(tmp_path / "twice", gzip.compress(gzip.compress(TABLE))))


@pytest.mark.parametrize("suffix", [".tar", ".tar.gz", ".zip"])
def test_an_archive_that_is_cut_off(tmp_path, folder, suffix):
    """An archive that is cut off is refused by name; in `read_archive`, `on_error` applies."""
    path = packed(
        tmp_path / f"a{suffix}", folder, {".zip": "zip", ".tar": "w", ".tar.gz": "w:gz"}[suffix]
    )
    path.write_bytes(
        path.read_bytes()[: 9 * path.stat().st_size // 10 if suffix != ".tar" else 700]
    )
    with pytest.raises(ValueError, match=rf"a\{suffix}: is (a damaged archive|cut off or damaged)"):
        perfarray.read(path)
    write(tmp_path / "b.json", small_suite(1.0))
    with pytest.warns(perfarray.PerfarrayWarning, match="1 is broken and left out"):
        assert (
            perfarray.read_archive([path, tmp_path / "b.json"], on_error="warn").attrs["n_files"]
            == 1
        )
