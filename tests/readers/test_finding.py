"""Which files of a folder or pattern are looked at, what cannot be looked into, and links that lead
in circles."""

import glob
import os

import pytest

import perfarray
from perfarray.readers import finding
from readers.files_of_our_own import check, small_suite, write


@pytest.fixture
def circles(tmp_path):
    """Return a folder of two files with links in circles: two to a folder above themselves, one to
    itself, and one to nothing."""
    folder = tmp_path / "circles"
    write(folder / "a.json", small_suite(1.0))
    write(folder / "inside" / "b.json", small_suite(2.0))
    for name, target in {
        "up": ".",
        "inside/again": "..",
        "self.json": "self.json",
        "lost.json": "nowhere.json",
    }.items():
        (folder / name).symlink_to(target)
    return folder


@pytest.mark.parametrize("pattern", ["", "**/*.json", "**", "**/**/*"])
def test_on_error_decides_about_links_in_circles(circles, pattern):
    """A link that leads to itself is broken; links to folders are not followed, by patterns
    neither."""
    paths = circles if not pattern else str(circles / pattern)
    with pytest.raises(
        ValueError, match=r"self\.json: cannot be opened: Too many levels of symbolic links"
    ) as caught:
        perfarray.read_archive(paths)
    assert caught.value.__notes__ == ['on_error="warn" leaves such files out, and names them']
    with pytest.warns(
        perfarray.PerfarrayWarning,
        match=r"of 3 files, 1 is broken and left out: '.*self\.json: cannot be opened",
    ):
        times = perfarray.read_archive(paths, on_error="warn")
    check(times, file=["a.json", "inside/b.json"])
    assert perfarray.read_archive(paths, on_error="skip").attrs["n_files_broken"] == 1
    assert perfarray.archive_table(paths)["status"].tolist() == ["read", "read", "broken"]


@pytest.mark.parametrize("pattern", ["", "**/*.json"])
@pytest.mark.parametrize("inner", ["locked", "open/locked"])
def test_on_error_decides_about_folders_that_cannot_be_looked_into(
    tmp_path, monkeypatch, pattern, inner
):
    """Such a folder is named, with the reason; the files beside it are read."""
    write(tmp_path / "a.json", small_suite(1.0))
    write(tmp_path / inner / "b.json", small_suite(2.0))
    scandir = os.scandir

    def refusing(folder):
        if os.fspath(folder).endswith("locked"):
            raise PermissionError(13, "Permission denied", folder)
        return scandir(folder)

    monkeypatch.setattr(finding, "scandir", refusing)
    paths = str(tmp_path / pattern) if pattern else tmp_path
    with pytest.raises(ValueError, match="locked: cannot be opened: Permission denied"):
        perfarray.read_archive(paths)
    with pytest.warns(
        perfarray.PerfarrayWarning,
        match=r"of 2 files, 1 is broken and left out: '.*locked: cannot be opened: Perm",
    ):
        check(perfarray.read_archive(paths, on_error="warn"), file=["a.json"])
    with pytest.raises(
        ValueError,
        match=(
            r"none of the 1 files in .* could be read: 1 is broken and left out: .*locked: cannot "
            r"be opened"
        ),
    ):
        perfarray.read_archive(tmp_path / inner, on_error="skip")


@pytest.mark.parametrize(
    "pattern",
    [
        "**",
        "**/*",
        "**/*.json",
        "a/**/*.json",
        "*/**/c.json",
        "**/a/*.json",
        "**/.h/*",
        ".h/**",
        "**/.x*",
        "**/[cd].*",
        "./**/**/*",
        "*/**",
    ],
)
def test_patterns_are_those_of_glob(tmp_path, monkeypatch, pattern):
    """Patterns match what `glob` matches, but for links to folders; hidden names need a dot in the
    pattern."""
    for name in (
        "c.json",
        "a/c.json",
        "a/b/d.csv",
        "a/b/a/c.json",
        ".h/c.json",
        "a/.h/b/c.json",
        "b/.x.json",
        "b/a/.x.json",
    ):
        write(tmp_path / name, "x")
    monkeypatch.chdir(tmp_path)
    for above in ("", f"{tmp_path}/"):
        expected = {
            os.path.normpath(path)
            for path in glob.glob(above + pattern, recursive=True)
            if os.path.isfile(path)
        }
        assert {
            str(file.path) for file in finding.find_files(above + pattern, "file", None)
        } == expected
