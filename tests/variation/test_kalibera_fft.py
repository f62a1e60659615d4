"""Numbers of Kalibera and his co-authors: the printed bootstrap replicates, and what their FFT says
of flat resampling."""

import numpy as np
import pandas as pd
import pytest

import perfarray

OLD = [[[9, 11], [5, 6]], [[16, 13], [12, 8]], [[15, 7], [10, 14]]]
"""Table V of Kalibera and Jones (2012), the old system: binaries, executions, measurements."""

TABLE_VI = [
    (
        (1, 2, 1),
        ((1, 2), (2, 2), (1, 1)),
        [[[9, 11], [5, 5]], [[12, 8], [8, 12]], [[9, 9], [11, 9]]],
        9.0,
    ),
    (
        (3, 2, 2),
        ((2, 1), (1, 2), (2, 1)),
        [[[14, 10], [15, 7]], [[13, 13], [8, 12]], [[8, 8], [16, 13]]],
        11.4,
    ),
    (
        (3, 1, 1),
        ((1, 1), (1, 1), (1, 1)),
        [[[7, 7], [15, 15]], [[11, 11], [9, 11]], [[9, 9], [9, 9]]],
        10.2,
    ),
]
"""Table VI: the binaries and executions drawn (those of the first as the text names them, the others read off), values, grand mean."""


@pytest.mark.parametrize(("binaries", "executions", "printed", "mean"), TABLE_VI)
def test_printed_replicates(binaries, executions, printed, mean):
    """Every printed execution draws from the one it names, has the printed grand mean, and is one
    that we can draw."""
    for binary, picks, rows in zip(binaries, executions, printed, strict=True):
        for execution, row in zip(picks, rows, strict=True):
            assert set(row) <= set(OLD[binary - 1][execution - 1])
    replicate = perfarray.from_samples({"old": printed}, level=("binary", "execution", "iteration"))
    estimate = replicate.perf.mean_interval()["estimate"].item()
    assert round(estimate, 1) == mean
    times = perfarray.from_samples({"old": OLD}, level=("binary", "execution", "iteration"))
    replicates = times.perf.bootstrap_distribution(resample="all", n_resamples=5000, rng=1)
    assert np.isclose(replicates, estimate).any()


@pytest.fixture
def fft(shared):
    """Ten executions of 2,048 iterations, in seconds."""
    wide = pd.read_csv(
        shared("data", "archives", "research_csv", "kalibera_fft", "fft-10.csv.xz"),
        skipinitialspace=True,
    )
    return (
        (wide / 1000)
        .melt(var_name="run", value_name="time")
        .perf.to_timings(execution="run", level="iteration")["time"]
    )


def test_components_of_the_fft(fft):
    """1.27 % between executions, 0.04 % inside one, by every method."""
    for method in ("anova", "reml"):
        components = fft.perf.variance_components(method=method)
        assert (100 * components["coefficient_of_variation"]).round(2).values.tolist() == [
            1.27,
            0.04,
        ]


def test_iterations_of_the_fft_are_all_but_useless(fft):
    """The mean of 2,048 iterations is known to 0.9 %; 29 executions of one iteration give 0.5 %."""
    plan = fft.perf.plan_repetitions(costs={"execution": 20}, half_width=0.005)
    assert plan["repetitions"].values.tolist() == [29, 1]
    assert plan["cost"] == 609
    interval = fft.perf.mean_interval()
    assert round(100 * float(interval["upper"] / interval["estimate"] - 1), 1) == 0.9


def test_a_flat_or_ignored_level_misleads(fft):
    """No interval of one execution contains the mean of all; flat resampling tells two halves of
    one program apart, the nest does not."""
    alone = fft.perf.mean_interval(levels="iteration")
    assert not ((alone["lower"] <= fft.mean()) & (fft.mean() <= alone["upper"])).any()
    first, second = fft.isel(execution=slice(0, 5)), fft.isel(execution=slice(5, 10))
    flat = second.perf.ratio_interval(
        first, method="percentile", resample="flat", n_resamples=200, rng=1
    )
    nested = second.perf.ratio_interval(first)
    assert flat["lower"] > 1
    assert nested["lower"] < 1 < nested["upper"]
