"""`perfarray convert --append`: machines are added to a store, all or none, and what was there is
kept as it was."""

import os
import shutil
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
import xarray as xr

import perfarray
from cli.commands import run
from cli.test_convert import opened
from perfarray.conventions import UNKNOWN
from perfarray.tables import replacing
from perfarray.tables.stores import appending
from perfarray.tables.stores import writing as stores
from readers.files_of_our_own import write
from strategies import MANY

zarr = pytest.importorskip("zarr")
pytest.importorskip("dask.array")

pytestmark = pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < appending.NUMPY,
    reason="NumPy before 2.3 cannot join texts of any length (2026-11-22)",
)


def test_old_numpy_is_refused(tmp_path, monkeypatch):
    """Before anything is written."""
    store = stored(simulated("ab"), tmp_path)
    monkeypatch.setattr(appending, "NUMPY", "99.0.0")
    with pytest.raises(ImportError, match=r"needs NumPy 99\.0\.0 or newer"):
        appending.append(simulated("c"), store)


def simulated(machines, executions=3, benchmarks=("fft", "sort"), **coords):
    """Return timings of some machines, with marks, and whatever else is said of them."""
    times = perfarray.simulate(
        sizes={"execution": executions},
        variances={"execution": 1e-4},
        dims={"machine": list(machines), "benchmark": list(benchmarks)},
        rng=sum(map(ord, "".join(machines))),
    )
    marks = xr.zeros_like(times["time"], dtype=bool)
    marks[{"execution": 0}] = True
    times = times.assign_coords(warmup=marks.variable, **coords).assign_attrs(
        n_files=len(machines), format="custom"
    )
    return times.assign_coords(
        {
            name: labels.astype(object)
            for name, labels in times.coords.items()
            if labels.dtype.kind == "U"
        }
    )


def stored(times, tmp_path):
    stores.write(times, tmp_path / "a.zarr")
    return tmp_path / "a.zarr"


def files(store):
    """Return what is in a folder, file by file: what it is on the disk, and its content."""
    return {
        path.relative_to(store): (path.stat().st_ino, path.read_bytes())
        for path in sorted(store.rglob("*"))
        if path.is_file()
    }


FURTHER = [
    {"executions": 2, "compiler": "gcc", "cores": ("machine", [8.0]), "turbo": ("machine", [True])},
    {
        "executions": 5,
        "benchmarks": ("walk", "sort"),
        "os": "bsd",
        "suite": ("benchmark", np.array(["other", "basic"], dtype=object)),
    },
    {
        "cpu_mhz": ("machine", np.array(["2.4 GHz"], dtype=object)),
        "loops": ("benchmark", [4, 8]),
        "day": ("machine", np.array(["2020-02-01"], dtype="M8[ns]")),
    },
]
"""What machines that come later have, and say, that others do not."""


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)][: 3 if MANY else 2], ids=str)
def test_it_is_what_join_makes_of_all(tmp_path, order):
    """Whatever one side lacks or says otherwise, and whoever comes first."""
    suite = {"suite": ("benchmark", np.array(["signal", "basic"], dtype=object))}
    pieces = [
        simulated(
            "ab",
            os="linux",
            cpu_mhz=("machine", [2.0, np.nan]),
            **suite,
            loops=(("machine", "benchmark"), [[1, 2], [3, 4]]),
        )
    ]
    pieces += [
        simulated(machine, **suite | FURTHER[number])
        for machine, number in zip("cde", order, strict=True)
    ]
    store = stored(pieces[0], tmp_path)
    for piece in pieces[1:]:
        appending.append(piece, store)
    expected = perfarray.join(*pieces)
    for result in (opened(store), xr.open_zarr(store, chunks={}).load()):
        assert set(result.variables) == set(expected.variables)
        assert result["time"].attrs == pieces[0]["time"].attrs
        assert result.attrs["n_files"] == 5
        for name in expected.variables:
            same_values(*xr.broadcast(result[name], expected[name]))


def same_values(result, expected):
    """Compare numbers, marks and texts, where nothing is known too; what join holds as a float or
    text may be more narrowly typed."""
    expected = expected.reindex_like(result).transpose(*result.dims)
    if {result.dtype.kind, expected.dtype.kind} <= {*"iufb"}:
        np.testing.assert_array_equal(result.values.astype(float), expected.values.astype(float))
        return
    texts = [
        [
            UNKNOWN if text in ("nan", "NaT") else text
            for text in map(str, data.values.ravel().tolist())
        ]
        for data in (result, expected)
    ]
    assert texts[0] == texts[1]


@pytest.fixture
def small(monkeypatch):
    """Let chunks of a store be small: four machines of two benchmarks and three runs."""
    monkeypatch.setattr(stores, "LARGEST", 24)


@pytest.mark.usefixtures("small")
def test_chunks_that_stay_are_not_written_again(tmp_path):
    """They are the same files; the last chunk, which has room, is a new one."""
    store = stored(simulated("abcdefghij"), tmp_path)
    files_before = files(store)
    appending.append(simulated("k"), store)
    files_after = files(store)
    chunks = [path for path in files_before if path.parts[:2] in (("time", "c"), ("warmup", "c"))]
    unchanged = [path for path in chunks if files_before[path] == files_after[path]]
    assert len(unchanged) == len(chunks) - 2
    assert files_before[max(unchanged)][1] == files_after[max(unchanged)][1]
    assert (
        zarr.open_group(store)["time"].nchunks_initialized == zarr.open_group(store)["time"].nchunks
    )


@pytest.mark.usefixtures("small")
def test_chunks_grow_with_the_store(tmp_path):
    """A store that began with one machine has chunks of several later: not as many files as
    machines."""
    store = stored(simulated("a"), tmp_path)
    for machine in "bcdefghi":
        appending.append(simulated(machine), store)
    lazy = xr.open_zarr(store, chunks={})
    assert len(lazy["time"].chunksizes["machine"]) <= 5
    assert lazy["time"].chunksizes["execution"] == (3,)
    assert "".join(lazy["machine"].values) == "abcdefghi"
    joint = xr.concat([simulated(machine) for machine in "abcdefghi"], "machine")
    np.testing.assert_array_equal(lazy["time"], joint["time"])


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("older", [False, True])
def test_descriptors_keep_the_chunks_of_the_timings(tmp_path, monkeypatch, older):
    """Whatever is added, in stores of earlier versions too, whose descriptors had chunks of their
    own; the timings stay where they are."""
    times, addition = (
        simulated(names, cores=("machine", np.arange(float(len(names)))))
        for names in ("abcdefghij", "klm")
    )
    with monkeypatch.context() as patched:
        if older:
            patched.setattr(
                stores,
                "common_chunk_sizes",
                lambda _: {"machine": 4, "benchmark": 2, "execution": 3},
            )
            zarr_encoding = stores.zarr_encoding
            patched.setattr(
                stores,
                "zarr_encoding",
                lambda *arguments: zarr_encoding(*arguments) | {"cores": {"chunks": (7,)}},
            )
        store = stored(times, tmp_path)
    length = 4 if older else 3
    files_before = files(store)
    times_added = appending.append(
        addition.assign_coords(os=("machine", np.array(["bsd", "linux", "bsd"], dtype=object))),
        store,
    )
    files_after = files(store)
    assert times_added.chunksizes["machine"] == (*[length] * (13 // length), 1)
    assert (
        sum(
            files_before[path] == files_after.get(path)
            for path in files_before
            if path.parts[:2] == ("time", "c")
        )
        == 10 // length
    )
    assert times_added["cores"].values.tolist() == [*range(10), *range(3)]


REFUSED = {
    "machines": (
        simulated("cbd"),
        r"2 machines are in the store already, and not added again: 'c', 'b'",
    ),
    "units": (
        simulated("x").assign(time=simulated("x")["time"].assign_attrs(units="ms")),
        r"'units' of 'time' is 's' in the store, and 'ms' in",
    ),
    "dims": (
        simulated("x").expand_dims(version=["new"]),
        r"no dim 'version' in what has the dims 'machine', 'benchmark', 'execution'",
    ),
    "labels": (
        simulated("x").assign_coords(benchmark=[1, 2]),
        r"labels of 'benchmark' are numbers on one side and texts on the other",
    ),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_cannot_be_added_leaves_the_store_alone(tmp_path, reason):
    times, message = REFUSED[reason]
    store = stored(simulated("abc"), tmp_path)
    contents = files(store)
    with pytest.raises(ValueError, match=message):
        appending.append(times, store)
    assert files(store) == contents
    assert os.listdir(tmp_path) == ["a.zarr"]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("step", ["first file", "links", "last file", "flush", "move"])
def test_whatever_interrupts_leaves_the_store_alone(tmp_path, monkeypatch, step):
    def fail(*_, **__):
        raise OSError("no room")

    async def failing(*_, **__):
        fail()

    store = stored(simulated("abcdefghij"), tmp_path)
    contents = files(store)
    target = {
        "first file": (zarr.storage.LocalStore, "set", failing),
        "links": (shutil, "copytree", fail),
        "last file": (appending.xr.Dataset, "load", fail),
        "flush": (os, "fsync", fail),
        "move": (os, "rename", fail),
    }[step]
    with monkeypatch.context() as patched:
        patched.setattr(*target)
        with pytest.raises(OSError, match="no room"):
            appending.append(simulated("k"), store)
    assert files(store) == contents
    assert os.listdir(tmp_path) == ["a.zarr"]
    assert appending.append(simulated("k"), store).sizes["machine"] == 11


@pytest.mark.parametrize(
    ("lost", "message"),
    [
        ("time/c/0/0/0", "1 chunk of 'time'"),
        ("time", "1 chunk of 'time'"),
        ("machine/c", "1 chunk of 'machine'"),
        ("", "5 chunks of 'benchmark', 'execution', 'machine', 'time', 'warmup'"),
    ],
)
def test_a_store_that_lost_chunks_is_refused(tmp_path, reports, lost, message):
    """A lost chunk, a lost array, lost labels: nothing is added, because they would be read as
    blanks; the store stays as it is."""
    store = stored(simulated("ab"), tmp_path)
    for path in [store / lost] if lost else list(store.glob("*/c")):
        path.unlink() if path.is_file() else shutil.rmtree(path)
    contents = files(store)
    with pytest.raises(
        ValueError, match=rf"a\.zarr: {message} cannot be found\. Nothing was added"
    ):
        appending.append(simulated("c"), store)
    assert (
        f"{message} cannot be found"
        in run(
            "convert", reports, store, "--append", "--layout", "{machine}/first.csv", code=2
        ).stderr
    )
    assert files(store) == contents


@pytest.fixture
def interrupted(tmp_path, monkeypatch):
    """Return the place of a store that was killed between the two steps in which another takes its
    place."""

    def killed(_, target, aside):
        os.rename(target, aside)
        raise KeyboardInterrupt

    store = stored(simulated("abc"), tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(replacing, "_put", killed)
        patched.setattr(replacing, "_clear", lambda _: None)
        with pytest.raises(KeyboardInterrupt):
            appending.append(simulated("d"), store)
    assert not store.exists()
    return store


def test_a_kill_between_the_two_steps_is_mended(interrupted, tmp_path):
    with pytest.warns(
        perfarray.PerfarrayWarning,
        match=r"a\.zarr: .* was interrupted; what was there before is back",
    ) as caught:
        assert "".join(appending.append(simulated("d"), interrupted)["machine"].values) == "abcd"
    assert [note.code for note in caught[0].message.notes] == ["interrupted_write"]
    assert os.listdir(tmp_path) == ["a.zarr"]


@pytest.mark.parametrize("option", ["--append", None, "--overwrite"])
def test_the_command_after_a_kill(interrupted, tmp_path, reports, option):
    result = run(
        "convert",
        reports / "xeon",
        interrupted,
        *filter(None, [option]),
        "--layout",
        "{machine}/first.csv",
    )
    assert "was interrupted; what was there before is back" in result.stderr
    assert result.exit_code == (0 if option else 2), result.output
    machines = {
        "--append": ["a", "b", "c", "xeon"],
        None: ["a", "b", "c"],
        "--overwrite": ["xeon"],
    }[option]
    assert opened(interrupted)["machine"].values.tolist() == machines
    assert sorted(os.listdir(tmp_path)) == ["a.zarr", "reports"]


def test_several_kills_are_left_to_the_user(interrupted):
    """Where two were put aside, nobody knows which is meant: both are named."""
    (leftover,) = interrupted.parent.glob(".a.zarr.*")
    shutil.copytree(leftover, leftover.with_name(f"{leftover.name[:-2]}22"))
    shutil.copytree(leftover, leftover.with_name(".a.zarr.zarr.12345678"))  # of another store
    with pytest.raises(
        OSError,
        match=r"2 writes were interrupted; .*aside', .*aside': move the one that is meant to",
    ):
        appending.append(simulated("d"), interrupted)


def test_two_at_once_lose_nothing(tmp_path, monkeypatch):
    store = stored(simulated("a"), tmp_path)
    joined = appending.joined_along

    def other_first(*arguments):
        monkeypatch.setattr(appending, "joined_along", joined)
        appending.append(simulated("b"), store)
        return joined(*arguments)

    monkeypatch.setattr(appending, "joined_along", other_first)
    with pytest.raises(OSError, match="another program has written there meanwhile"):
        appending.append(simulated("c"), store)
    assert opened(store)["machine"].values.tolist() == ["a", "b"]
    assert appending.append(simulated("c"), store)["machine"].values.tolist() == ["a", "b", "c"]


def test_without_links_files_are_copied(tmp_path, monkeypatch):
    store = stored(simulated("a"), tmp_path)
    monkeypatch.setattr(appending, "os", SimpleNamespace(link=Mock(side_effect=OSError)))
    appending.append(simulated("b"), store)
    np.testing.assert_array_equal(
        opened(store)["time"], xr.concat([simulated("a"), simulated("b")], "machine")["time"]
    )


@pytest.fixture
def reports(tmp_path):
    """Return a folder with the results of two machines, each in a folder of its own."""
    for machine in ("xeon", "epyc"):
        reported(machine).to_csv(
            write(tmp_path / "reports" / machine / "first.csv", ""), index=False
        )
    return tmp_path / "reports"


def reported(machine):
    """Return the table of a machine that does not name it."""
    return simulated([machine]).drop_vars(["machine", "warmup"]).isel(machine=0).perf.to_frame()


def test_the_command(reports, tmp_path):
    """The first call begins the store, others add to it; what is there already is an error, and the
    store is as it was."""
    store = tmp_path / "a.zarr"
    outputs = [
        run("convert", reports / name, store, "--append", "--layout", "{machine}/first.csv")
        for name in ("xeon", "epyc", "xeon")
    ]
    assert [output.exit_code for output in outputs] == [0, 0, 2], [
        output.output for output in outputs
    ]
    assert (
        outputs[1].stdout
        == f"{store}: Zarr, 1 machine added, now 2 benchmark x 2 machine x 3 execution\n"
    )
    assert "1 machine is in the store already, and not added again: 'xeon'" in outputs[2].stderr
    times = opened(store)
    assert times["machine"].values.tolist() == ["xeon", "epyc"]
    assert times.attrs["n_files"] == 2
    assert times["time"].notnull().all()


@pytest.mark.parametrize(("name", "options", "message"), [
    ("a.nc", (), "--append adds to a Zarr store, and this is none"),
    ("new.nc", (), "--append adds to a Zarr store, and this is none"),
    ("a.zarr", ("--overwrite",), "--append adds to a Zarr store, and --overwrite replaces one"),
    ("a.zarr", (), "does not say of which machine it is"),
])  # fmt: skip
def test_wrong_calls(reports, tmp_path, name, options, message):
    """Neither what has no machine, nor to another file, is anything added."""
    if name != "new.nc":
        stores.write(simulated("a"), tmp_path / name)
    contents = files(tmp_path)
    result = run("convert", reports / "xeon" / "first.csv", tmp_path / name, "--append", *options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert files(tmp_path) == contents


def test_commits_are_added_where_their_machines_are(tmp_path):
    """A history grows at its end; a commit that is there is refused, and a store of a history is
    asked again."""
    for number in range(12):
        path = write(
            tmp_path / ("later" if number == 11 else "results") / f"c{number:02d}" / "xeon.csv", ""
        )
        frame = reported("xeon")
        frame["time"] = frame["time"] * (2.0 if number > 5 else 1.0) + 0.001 * number % 0.003
        frame.to_csv(path, index=False)
    store, layout = tmp_path / "a.zarr", ("--append", "--layout", "{commit}/{machine}.csv")
    outputs = [
        run("convert", tmp_path / name, store, *layout) for name in ("results", "later", "later")
    ]
    assert [output.exit_code for output in outputs] == [0, 0, 2], [
        output.output for output in outputs
    ]
    assert outputs[1].stdout.startswith(f"{store}: Zarr, 1 commit added, now ")
    assert "1 commit is in the store already, and not added again: 'c11'" in outputs[2].stderr
    assert opened(store)["commit"].values.tolist() == [f"c{number:02d}" for number in range(12)]
    assert opened(store)["time"].notnull().all()
    result = run("history", store)
    assert (result.exit_code, "c06" in result.stdout) == (1, True), result.output


def test_a_file_for_each_machine_adds_no_files(tmp_path):
    """A store that is begun and continued with the file of a machine each has them along the
    machines, not as a dim."""
    for machine in "abc":
        write(
            tmp_path / f"{machine}.csv",
            f"benchmark,machine,execution,time_ms\nfft,{machine},0,{ord(machine)}\nfft,{machine},1,1",
        )
        run(
            "convert",
            tmp_path / f"{machine}.csv",
            tmp_path / "all.zarr",
            *(["--append"] if machine > "a" else []),
            code=0,
        )
    times = opened(tmp_path / "all.zarr")
    assert times.sizes == {"benchmark": 1, "machine": 3, "execution": 2}
    assert times["file"].dims == ("machine",)
    assert times["file"].values.tolist() == ["a.csv", "b.csv", "c.csv"]
    np.testing.assert_allclose(times["time"].sel(execution=0).squeeze(), [0.097, 0.098, 0.099])


def test_files_of_one_machine_stay_a_dim(tmp_path):
    """Two files of a machine are told apart by their dim, to which those of another machine are
    added."""
    for machine in "ab":
        for number in range(2):
            write(
                tmp_path / machine / f"{number}.csv",
                f"benchmark,machine,execution,time_ms\nfft,{machine},0,{number + 1}",
            )
        run(
            "convert",
            tmp_path / machine,
            tmp_path / "all.zarr",
            *(["--append"] if machine > "a" else []),
            code=0,
        )
    times = opened(tmp_path / "all.zarr")
    assert times.sizes == {"benchmark": 1, "machine": 2, "file": 2, "execution": 1}
    assert times["time"].squeeze().values.tolist() == [[0.001, 0.002], [0.001, 0.002]]
