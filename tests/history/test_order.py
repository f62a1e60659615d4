"""Histories run in the order of time, whatever the order stored; the answer keeps labels as
stored."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import perfarray
from perfarray import PerfarrayWarning
from perfarray.history.order import time_order

N = 20
HASHES = [f"{index * 2654435761 % 2**32:08x}" for index in range(N)]
DAYS = pd.date_range("2024-01-05", periods=N)
SHUFFLED = np.random.default_rng(4).permutation(N)
STORED = {"newest first": np.arange(N)[::-1], "shuffled": SHUFFLED}


def history(labels=HASHES, dim="commit", **coords):
    """Return timings that are 10 % slower from the 11th label on, and another benchmark that is
    not."""
    rng = np.random.default_rng(1)
    levels = np.stack([np.where(np.arange(N) < 10, 1.0, 1.1), np.ones(N)])
    values = levels[..., None] * (1 + 0.005 * rng.normal(size=(2, N, 2)))
    along = {name: (dim, np.asarray(value)) for name, value in coords.items()}
    coords = {"benchmark": ["slower", "same"], dim: np.asarray(labels)} | along
    return xr.DataArray(
        values,
        dims=("benchmark", dim, "execution"),
        coords=coords,
        name="time",
        attrs={"units": "s"},
    )


LABELED = {
    "dates": history(DAYS.strftime("%Y-%m-%d"), "date"),
    "datetime64": history(DAYS.to_numpy(), "date"),
    "days first": history(DAYS.strftime("%d.%m.%Y"), "date"),
    "seconds": history(1704067200 + 86400 * np.arange(N), "date"),
    "builds": history(np.arange(95, 95 + N), "build"),
    "texts of builds": history([f"build-{number}" for number in range(95, 95 + N)], "build"),
    "versions": history(
        [*(f"v1.{number}" for number in range(2, 18)), "v2.0rc1", "v2.0rc2", "v2.0", "v2.0.1"],
        "version",
    ),
    "files": history([f"night{number}.json" for number in range(N)], "file"),
    "files called after days": history(
        [f"run-{day}.csv" for day in DAYS.strftime("%d.%m.%Y")], "file"
    ),
    "commit_date": history(commit_date=DAYS.strftime("%a %b %d %H:%M:%S %Y +0100")),
    "date": history(date=DAYS.to_numpy()),
    "another name": history(when=DAYS.strftime("%m/%d/%Y")),
    "numbers of another name": history(author_time=1704067200000.0 + 86400000 * np.arange(N)),
    "dates before names": history(
        [f"run-{N - number:02}" for number in range(N)], "file", date=DAYS.strftime("%Y-%m-%d")
    ),
}


@pytest.mark.parametrize("stored", STORED.values(), ids=STORED)
@pytest.mark.parametrize("times", LABELED.values(), ids=LABELED)
def test_the_stored_order_does_not_matter(times, stored):
    """Every variable is that of the history stored oldest first, label by label; `position` is the
    place in time."""
    dim = times.dims[1]
    in_time = times.perf.change_points(dim=dim)
    assert (
        in_time["verdict"].sel(benchmark="slower").values.tolist()
        == [""] * 10 + ["slower"] + [""] * 9
    )
    assert in_time["position"].values.tolist() == [*range(N)]
    moved = times.isel({dim: stored})
    xr.testing.assert_equal(moved.perf.change_points(dim=dim), in_time.isel({dim: stored}))
    xr.testing.assert_equal(
        moved.perf.trend(dim=dim), times.perf.trend(dim=dim).isel({dim: stored})
    )


def test_what_follows_from_changes_runs_in_time():
    """The last commit is the newest; advice, pictures and trends with given segments walk from the
    oldest to the newest."""
    times = history(commit_date=DAYS.to_numpy())
    moved = times.isel(commit=SHUFFLED)
    watched = times.perf.change_points(online=True, false_alarms=15)
    assert watched["alarm"].any()
    xr.testing.assert_equal(
        moved.perf.change_points(online=True, false_alarms=15), watched.isel(commit=SHUFFLED)
    )
    changes, in_time = moved.perf.change_points(), times.perf.change_points()
    xr.testing.assert_equal(
        *(result.sel(benchmark="slower").perf.next_measurement() for result in (changes, in_time))
    )
    slopes = (
        moved.perf.trend(changes=moved.perf.change_points()),
        times.perf.trend(changes=times.perf.change_points()),
    )
    xr.testing.assert_equal(slopes[0].sel(commit=times["commit"].values), slopes[1])
    pytest.importorskip("matplotlib")
    values = [
        [line.get_ydata().tolist() for line in result.perf.plot().lines]
        for result in (changes, in_time)
    ]
    assert values[0] == values[1]


def test_the_order_may_be_given():
    """As stored, reversed, by a coordinate (dates, numbers or versions), or by values; the attr
    `order` says which."""
    times = history(
        rank=np.arange(N)[::-1],
        release=[f"1.{number}" for number in range(N)],
        word=list("abcdefghijklmnopqrst"),
    )
    slower = times.perf.change_points(order="stored")
    for order in (
        "release",
        np.arange(N),
        DAYS.to_numpy(),
        DAYS.strftime("%d.%m.%Y").tolist(),
        xr.DataArray(np.arange(N), dims="commit"),
    ):
        ordered_result = times.perf.change_points(order=order)
        assert ordered_result.attrs["order"] == (order if isinstance(order, str) else "given")
        xr.testing.assert_equal(ordered_result, slower)
    for order in ("reversed", "rank"):
        faster = times.perf.change_points(order=order)
        assert (
            faster["verdict"].sel(benchmark="slower").values.tolist()
            == [""] * 9 + ["faster"] + [""] * 10
        )
        assert faster["position"].values.tolist() == [*range(N)][::-1]
    assert times.perf.trend(order="rank")["slope"].values == pytest.approx(
        1 / times.perf.trend(order="stored")["slope"].values, rel=1e-6
    )
    for order, message in (
        ("ranks", "There is 'stored', 'reversed', .*'rank'"),
        ("word", "cannot be sorted"),
        ([1, 2], r"shape \(2,\)"),
    ):
        with pytest.raises(ValueError, match=message):
            times.perf.change_points(order=order)


def test_dates_against_the_order_given():
    """An order that runs against the dates is followed, with a warning."""
    times = history(date=DAYS.to_numpy())
    with pytest.warns(PerfarrayWarning, match="the dates of 'date' descend"):
        assert times.perf.change_points(order="reversed").attrs["order"] == "reversed"


REFUSED = {
    "sorted hashes": (sorted(HASHES), {}, "they are sorted by hash"),
    "hashes sorted the other way": (sorted(HASHES)[::-1], {}, "they are sorted by hash"),
    "sorted names": (
        [f"{letter}x" for letter in "abcdefghijklmnopqrst"],
        {},
        "they are sorted by name",
    ),
    "dates read in two ways": (
        HASHES,
        {"date": [f"{1 + number % 12:02}/{1 + number // 12:02}/2024" for number in range(N)]},
        "may be the day",
    ),
    "a missing date": (
        HASHES,
        {"when": ["unknown", *DAYS.strftime("%Y-%m-%d")[SHUFFLED[1:]]]},
        "'when' has no date for 1 of them",
    ),
    "two orders": (
        HASHES,
        {"created": DAYS.to_numpy(), "measured": DAYS.to_numpy()[::-1]},
        "'created' and 'measured' hold dates in different",
    ),
}


@pytest.mark.parametrize(("labels", "coords", "reason"), REFUSED.values(), ids=REFUSED)
def test_an_order_that_cannot_be_known(labels, coords, reason):
    """It is refused with the reason; `order=` gives one."""
    times = history(labels, **coords)
    for method in (times.perf.change_points, times.perf.trend):
        with pytest.raises(
            ValueError,
            match=rf"order of the 20 commits is not known: .*{reason}.* Say order='stored'",
        ):
            method()
    assert (
        times.perf.change_points(order="stored")["verdict"].values[0].tolist()
        == [""] * 10 + ["slower"] + [""] * 9
    )


def test_dates_that_are_no_dates_are_refused():
    """Labels of a dim `date` are dates or numbers."""
    with pytest.raises(ValueError, match=r"'20\.1\.24' is read as no date"):
        history([f"{20 - number}.1.24" for number in range(N)], "date").perf.change_points(
            dim="date"
        )


def test_an_assumed_order_is_said():
    """Labels that nothing sorts are taken as stored, with a warning that `order="stored"`
    answers."""
    for labels in (
        HASHES,
        [f"c{number * 2088 % 9967:05}" for number in range(N)],
        [f"{letter}x" for letter in "qwertyuiopasdfghjklz"],
    ):
        times = history(labels)
        with pytest.warns(
            PerfarrayWarning,
            match="nothing says in which order the 20 commits came: they are taken as stored",
        ):
            assumed = times.perf.change_points()
        xr.testing.assert_equal(assumed, times.perf.change_points(order="stored"))


def test_which_of_several_dates_counts():
    """The dates that are called after the dim come first, then `date`, then all others; a few
    dates, of releases, sort nothing."""
    newest_first, days = DAYS.to_numpy()[::-1], DAYS.strftime("%Y-%m-%d").to_numpy()
    for name in ("commit_date", "committer_date", "date"):
        changes = history(
            authored=newest_first, measured_at=days, **{name: days}
        ).perf.change_points()
        assert changes.attrs["order"] == name
    released = np.where(np.arange(N) % 6 == 0, days[::-1], "unknown")
    assert history(range(N), released=released).perf.change_points().attrs["order"] == "commit"


def test_some_dates_say_the_order():
    """Where dates of some labels ascend or descend as stored, the others lie between them."""
    when = DAYS.strftime("%Y-%m-%d").to_numpy().astype(object)
    when[[3, 11]] = "unknown"
    times = history(when=when)
    assert (
        times.isel(commit=slice(None, None, -1)).perf.change_points()["position"].values.tolist()
        == [*range(N)][::-1]
    )


ORDERS = {
    "c9 c10 c11 c12": "c9 c10 c11 c12",
    "c000a c0009 c0008 c0007": "c0007 c0008 c0009 c000a",
    "1.2.9 1.10 1.2.10 1.3": "1.2.9 1.2.10 1.3 1.10",
    "v1.3 v1.3-rc.2 v1.3-rc.1 v1.2": "v1.2 v1.3-rc.1 v1.3-rc.2 v1.3",
    "v1.2.1 v1.2-14-gabc1234 v1.2 v1.1-3-g1234abc": "v1.1-3-g1234abc v1.2 v1.2-14-gabc1234 v1.2.1",
    "2024b 2024a 2023c": "2023c 2024a 2024b",
    "2024-W10 2024-W9 2024-W11": "2024-W9 2024-W10 2024-W11",
    "go1.21 go1.9": "go1.9 go1.21",
}


@pytest.mark.parametrize(("labels", "expected"), ORDERS.items())
def test_numbers_and_versions(labels, expected):
    """Labels that differ in numbers are in the order of these; candidates come before a release,
    commits since a tag after it."""
    names = labels.split()
    times = xr.DataArray(np.ones(len(names)), dims="commit", coords={"commit": names})
    assert [
        names[position] for position in time_order(times, "commit").positions
    ] == expected.split()


def test_dates_of_one_day_stay_as_they_are():
    """Several commits of a day keep their order, which is the opposite in a history that is stored
    newest first."""
    days = DAYS.to_numpy()[np.arange(N) // 2]
    times = history(date=days)
    in_time = times.perf.change_points()
    xr.testing.assert_equal(
        times.isel(commit=slice(None, None, -1))
        .perf.change_points()
        .isel(commit=slice(None, None, -1)),
        in_time,
    )


def test_one_value_a_commit_needs_no_execution():
    """An array or Dataset along the commits alone is a history."""
    times = history(range(N)).isel(execution=0)
    expected = times.expand_dims("execution", axis=-1)
    for single_values in (times, times.to_dataset(), times.sel(benchmark="slower")):
        cells = {} if "benchmark" in single_values.dims else {"benchmark": "slower"}
        xr.testing.assert_allclose(
            single_values.perf.trend()["slope"], expected.perf.trend()["slope"].sel(cells)
        )
        assert (single_values.perf.change_points()["n_units"] == 1).all()
    assert (
        times.perf.change_points()["verdict"].sel(benchmark="slower").values.tolist()[10]
        == "slower"
    )
    with pytest.raises(ValueError, match="no repetition level"):
        times.perf.change_points(dim="build")


MAIN = np.where(np.arange(N) % 3 == 0, "feature", "main")


def test_labels_that_alternate_are_named():
    """Branches that come in turns are one series: a warning names them with their means. One that
    follows another is a change."""
    for name in ("branch", "runner", "compiler"):
        times = history(range(N), **{name: MAIN})
        mixed = times.where(times[name] == "main", 1.4 * times)
        for method in (mixed.perf.change_points, mixed.perf.trend):
            with pytest.warns(
                PerfarrayWarning,
                match=rf"'{name}' alternates along the commits, which are one series: "
                r"main \(13\), feature \(7\)",
            ):
                result = method()
            assert [note.code for note in result.perf.notes()].count("mixed_series") == 1
        with pytest.warns(
            PerfarrayWarning, match=r"main \(13, mean 1\.0\d+\), feature \(7, mean 1\.4\d*\)"
        ):
            mixed.sel(benchmark="slower").perf.change_points()
    upgraded = history(range(N), runner=["old"] * 10 + ["new"] * 10).perf.change_points()
    assert not upgraded.perf.notes()


def test_labels_without_an_effect_are_an_aside():
    """Authors alternate too: where their commits take equally long, the note is no warning."""
    (note,) = history(range(N), author=MAIN).perf.change_points().perf.notes()
    assert (note.code, note.aside) == ("mixed_series", True)
    assert perfarray.change_points(history(range(N), number=np.arange(N) % 2)).perf.notes() == ()


def test_a_year_behind_another_number_sorts_nothing():
    """Quarters before their years are no versions: their order is not known."""
    quarters = [f"Q{quarter} {year}" for year in range(2020, 2025) for quarter in range(1, 5)]
    with pytest.warns(PerfarrayWarning, match="nothing says in which order"):
        assert (
            history(quarters, "version").perf.change_points(dim="version").attrs["order"]
            == "stored"
        )


def test_labels_that_follow_each_other_are_named():
    """Where a compiler gives way to another, no series has the step between them; where both are
    measured, nothing is said."""
    times = (
        history(DAYS.to_numpy(), "date")
        .expand_dims(compiler=["old", "new"])
        .transpose("benchmark", "compiler", "date", "execution")
    )
    succeeding = times.where((times["compiler"] == "old") == (times["date"] < DAYS[10]))
    with pytest.warns(
        PerfarrayWarning, match="'compiler' follow each other along the dates: 'old', 'new'"
    ):
        notes = succeeding.perf.change_points(dim="date").perf.notes()
    assert "mixed_series" in [note.code for note in notes]
    assert "mixed_series" not in [
        note.code for note in times.perf.change_points(dim="date").perf.notes()
    ]
