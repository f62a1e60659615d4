"""Do executions become steady?"""

import numpy as np
import pytest
import xarray as xr
from numpy.testing import assert_allclose

import perfarray
from perfarray.diagnostics.numerics.steady import classify, without_outliers

NOISE = 1 + 0.01 * np.random.default_rng(1).normal(size=(6, 200))


def timings(levels, dims=("execution", "iteration"), **attrs):
    """Return executions that follow these levels, with a noise of 1 %."""
    values = np.asarray(levels, float)
    return xr.DataArray(
        values * NOISE[: len(values), : values.shape[-1]],
        dims=dims,
        name="time",
        attrs={"units": "s"} | attrs,
    )


PLACE = np.arange(200)
LEVELS = {
    "flat": np.ones(200),
    "warmup": np.where(PLACE < 30, 1.5, 1.0),
    "slowdown": np.where(PLACE < 60, 0.9, 1.0),
    "no_steady_state": np.where(PLACE < 180, 1.0, 1.2),
}


@pytest.mark.filterwarnings("ignore:.*no steady state:UserWarning")
def test_kinds():
    """Of simulated executions, with the place from which they are steady and their mean there."""
    steadiness = timings(list(LEVELS.values())).perf.steady_state()
    assert steadiness["kind"].values.tolist() == list(LEVELS)
    assert_allclose(steadiness["start"], [0, 30, 60, np.nan])
    assert_allclose(steadiness["steady_mean"], [1, 1, 1, np.nan], rtol=3e-3)
    assert steadiness["warmup"].sum("iteration").values.tolist() == [0, 30, 60, 0]
    assert_allclose(
        steadiness["segment_mean"].isel(execution=1, iteration=[0, 199]), [1.5, 1.0], rtol=5e-3
    )
    assert steadiness["kind_of_all"].item() == "inconsistent"


def test_more_is_better():
    """Of a rate, what rises warms up."""
    rate = timings([1 / LEVELS["warmup"], 1 / LEVELS["warmup"]], units="1/s", better="higher")
    assert rate.perf.steady_state()["kind_of_all"].item() == "warmup"
    falling = timings([1 / LEVELS["slowdown"]], units="1/s", better="higher")
    assert falling.perf.steady_state()["kind"].values.tolist() == ["slowdown"]


def test_confusion():
    """At least 38 of 40 changes of 5 % in 200 iterations are called what they are, and as many flat
    executions flat."""
    rng = np.random.default_rng(3)
    for kind, change in (("flat", 0.0), ("warmup", 0.05), ("slowdown", -0.05)):
        levels = 1 + change * (rng.integers(10, 100, (40, 1)) > PLACE)
        times = xr.DataArray(
            levels * (1 + 0.01 * rng.normal(size=(40, 200))), dims=("execution", "iteration")
        )
        assert (times.perf.steady_state()["kind"] == kind).mean() >= 0.95


def test_single_outliers_are_no_segments():
    """A collection of garbage is not a change; a slow first iteration is."""
    factors = np.ones(200)
    factors[[50, 90, 140]] = 1.4
    assert timings([factors]).perf.steady_state()["kind"].values.tolist() == ["flat"]
    factors[0] = 3.0 / NOISE[0, 0]
    steadiness = timings([factors]).perf.steady_state()
    assert (steadiness["kind"].item(), steadiness["start"].item()) == ("warmup", 1)


def test_outliers_are_clipped_to_three_ranges():
    """The range is that of 80 % of the values around; three outliers in a row, and those at the
    start, remain."""
    series = NOISE[0].copy()
    low, middle, high = np.percentile(series[:60], [10, 50, 90])
    series[[0, 30]] = middle + 5 * (high - low)
    series[140:143] = middle + 5 * (high - low)
    clipped = without_outliers(series)
    assert clipped[30] == pytest.approx(middle + 3 * (high - low), abs=high - low)
    unchanged = np.delete(np.arange(200), 30)
    assert_allclose(clipped[unchanged], series[unchanged])


@pytest.mark.parametrize(
    ("second", "kind", "start"), [(0.995, "warmup", 20), (0.98, "slowdown", 60)]
)
def test_segments_within_the_tolerance_are_steady(second, kind, start):
    """A segment that is faster by less than the tolerance belongs to the steady state; a faster one
    makes a slowdown."""
    starts, means = np.array([0, 20, 60]), np.array([1.5, second, 1.0])
    assert classify(starts, means, 200, 0.01, 0.25, higher=False) == (kind, start)


def test_the_mark_is_respected():
    """Methods leave out what is marked, with what was marked before; units of several cells have
    their own."""
    times = timings([LEVELS["warmup"], LEVELS["flat"], LEVELS["slowdown"]])
    steadiness = times.perf.steady_state()
    marked = times.assign_coords(warmup=steadiness["warmup"])
    assert_allclose(marked.perf.mean_interval()["estimate"], 1.0, rtol=2e-3)
    first = times.assign_coords(warmup=("iteration", PLACE < 5))
    second = first.perf.steady_state()
    assert second["warmup"].sum("iteration").values.tolist() == [30, 5, 60]
    assert second["start"].values.tolist() == [30, 5, 60]
    assert marked.perf.drop_warmup().sizes["iteration"] == 200


def test_a_time_stamp_gives_the_order():
    """What was measured first is warm-up, wherever it is stored."""
    times = timings([LEVELS["warmup"]] * 2).assign_coords(
        timestamp=("iteration", PLACE * 10.0), iteration=PLACE
    )
    mixed = times.isel(iteration=np.random.default_rng(1).permutation(200))
    steadiness = mixed.perf.steady_state()
    assert (steadiness["warmup"] == (mixed["iteration"] < 30)).all()
    assert steadiness["start"].values.tolist() == [30, 30]
    assert_allclose(
        mixed.assign_coords(warmup=steadiness["warmup"]).perf.mean_interval()["estimate"],
        1.0,
        rtol=3e-3,
    )


def test_gaps_and_short_series():
    """NaN belong to no segment; fewer than ten values are not judged, and said not to be."""
    times = timings([LEVELS["warmup"], LEVELS["flat"]]).assign_coords(
        execution=[0, 1], iteration=PLACE
    )
    times = times.where(
        (times["iteration"] != 10) & ((times["execution"] == 0) | (times["iteration"] < 9))
    )
    with pytest.warns(UserWarning, match="1 of 2 series have fewer than 10 iterations"):
        steadiness = times.perf.steady_state()
    assert steadiness["kind"].values.tolist() == ["warmup", "unknown"]
    assert steadiness["start"].values[0] == 30
    assert steadiness["segment"].isel(execution=0, iteration=10).isnull()


def test_of_executions_in_order():
    """The order may be that of executions: their means are the series."""
    times = timings([LEVELS["warmup"]]).rename(iteration="execution", execution="benchmark")
    steadiness = times.expand_dims(iteration=3, axis=-1).perf.steady_state(dim="execution")
    assert (steadiness["kind"].item(), steadiness["start"].item()) == ("warmup", 30)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"dim": "run"}, "dim 'run' not found"),
        ({"share": 1.0}, "share=1.0 is out of range"),
        ({"tolerance": -0.1}, "give a share from 0 up, and a number above 0"),
        ({"penalty": 0}, "give a share from 0 up, and a number above 0"),
    ],
)
def test_bad_input(keywords, message):
    with pytest.raises(ValueError, match=message):
        timings([LEVELS["flat"]]).perf.steady_state(**keywords)


def test_constant_series_are_flat():
    """Whatever their resolution; a step by one tick of a clock is flat within the tolerance."""
    ticks = xr.DataArray(
        np.array([[1000.0] * 100, [1000.0] * 50 + [1001.0] * 50]), dims=("execution", "iteration")
    )
    assert ticks.perf.steady_state()["kind_of_all"].item() == "flat"


@pytest.mark.filterwarnings("ignore:.*no steady state:UserWarning")
def test_around_zero():
    """Differences may have a mean of zero: no number is divided by it."""
    assert (
        xr.DataArray([[1.0, -1.0] * 20], dims=("execution", "iteration")).perf.steady_state()[
            "kind"
        ]
        == "flat"
    ).all()
    xr.DataArray(
        NOISE[:1, :40] - NOISE[:1, :40].mean(), dims=("execution", "iteration")
    ).perf.steady_state()


def test_the_krun_file(shared):
    """Thirty executions of one program are of several kinds."""
    times = perfarray.read(shared("data", "archives", "krun", "ESEUR_warmup", "1602-00602.json.xz"))
    with pytest.warns(UserWarning, match="3 of 30 series reach no steady state"):
        steadiness = times.perf.steady_state()
    kinds, number = np.unique(steadiness["kind"], return_counts=True)
    assert dict(zip(kinds, number.tolist(), strict=True)) == {
        "flat": 14,
        "no_steady_state": 3,
        "slowdown": 9,
        "warmup": 4,
    }


def test_what_was_not_measured_is_not_short():
    """A benchmark that one machine lacks has no kind there, counts as nothing, and has no row in
    the table."""
    times = xr.concat(
        [timings([LEVELS["flat"]])] * 2, xr.IndexVariable("benchmark", ["fft", "sort"])
    )
    steadiness = (
        times.where(times["benchmark"] == "fft").assign_attrs(times.attrs).perf.steady_state()
    )
    assert steadiness["kind"].squeeze("execution").values.tolist() == ["flat", ""]
    assert steadiness["kind_of_all"].values.tolist() == ["flat", ""]
    assert steadiness.perf.notes() == ()
    assert len(steadiness.perf.table()) == 1
