"""What values must be, for every public method that takes timings: finite, with a direction that is
one; zeros inside positive units."""

import warnings

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import perfarray
from method_calls import CALLS, OLD, VERSIONS

MOVERS = {"to_frame", "merge_level", "drop_warmup"}
"""They move values and compute nothing."""

ASKED = CALLS | {
    "compare": OLD,
    "biplot": {"samples": "version"},
    "report": {},
    "explain_variation": {"model": "ols", "splits": 1},
    "change_points": VERSIONS,
    "trend": VERSIONS,
    "plan_repetitions": {"budget": 1000.0, "costs": {"execution": 2.0}},
    "plan_suite": {
        "budget": 1000.0,
        "shared": "execution",
        "costs": {"execution": 2.0, "iteration": 1.0},
    },
}
METHODS = sorted({*ASKED} - MOVERS)
each_method = pytest.mark.parametrize("name", METHODS)


def ask(times, name):
    with warnings.catch_warnings(action="ignore"):
        return getattr(perfarray, name)(times, **ASKED[name])


def runs(*, put=(), power=0, **attrs):
    """Three benchmarks, two versions, on four machines; some values put in one after the other, all
    times a power of two."""
    values = np.random.default_rng(1).normal(10, 0.1, (3, 2, 4, 6, 2)) * 2.0**power
    for indices, value in zip(((1, 1, 2, 3, 1), (2, 0, 0, 0, 0)), put, strict=False):
        values[indices] = value
    dims = ("benchmark", "version", "machine", "execution", "iteration")
    coords = {
        "benchmark": ["fft", "hash", "sort"],
        "version": ["old", "new"],
        "machine": list("abcd"),
    }
    return xr.DataArray(values, coords, dims, "time", {"units": "s"} | attrs)


def computed(result):
    return (result if hasattr(result, "compute") else result.to_dataset()).compute()


INFINITE = runs(put=[np.inf, np.inf])
NEGATIVE = runs(put=[-1.0])
TINY, HUGE = runs(power=-530), runs(power=530)
FIRST = "benchmark=hash, version=new, machine=c, execution=3, iteration=1; "
SIZE = (
    r"^time has 288 values outside 1e-50 to 1e\+50 in size, the first \({}\) at "
    r"benchmark=fft, version=old, machine=a, exec"
)
REFUSED = {
    "infinite": (INFINITE, rf"^time has 2 infinite values, the first \(inf\) at {FIRST}"),
    "negative": (NEGATIVE, rf"time has 1 value out of range, the first \(-1\) at {FIRST}"),
    "tiny": (TINY, SIZE.format("2.8.*e-159")),
    "huge": (HUGE, SIZE.format("3.5.*e.160")),
} | {
    f"better={better}": (
        runs(better=better),
        f"better='{better}' is not known; choose one of 'lower', 'higher'",
    )
    for better in ("Lower", "more", "")
}
SCALED = ("fit_mixture", "goodness_of_fit")
"""They take values of every size."""


CASES = [
    (name, why)
    for name in METHODS
    for why in REFUSED
    if not (name in SCALED and why in ("tiny", "huge"))
]


@pytest.mark.parametrize(("name", "why"), CASES)
def test_refused(name, why):
    """By every method in the same words: what cannot have been measured, how many values there are,
    and where the first is."""
    times, sentence = REFUSED[why]
    with pytest.raises(ValueError, match=sentence):
        ask(times, name)


@each_method
@pytest.mark.parametrize(
    ("times", "sentence"),
    [
        (
            INFINITE,
            r"^time has 1 infinite value, the first \(inf\) at benchmark=(hash|sort), "
            r"version=(new|old), mach",
        ),
        (NEGATIVE, REFUSED["negative"][1]),
    ],
    ids=["infinite", "negative"],
)
def test_lazy(name, times, sentence):
    """When it is called, or when its answer is computed; the place is that of the whole array, the
    number that of the chunk."""
    with pytest.raises(ValueError, match=sentence):
        computed(ask(times.chunk({"machine": 2}), name))


@pytest.mark.parametrize(("times", "number"), [(INFINITE, 2), (NEGATIVE, 1)])
def test_marked_values_are_left_out(times, number):
    left_out = times.assign_coords(failed=np.isinf(times) | (times < 0)).perf.mean_interval(
        levels=("execution", "iteration")
    )
    assert ((left_out["estimate"] > 9) & np.isfinite(left_out["estimate"])).all()
    assert left_out.attrs["n_failed"] == number


def test_a_table_without_repetitions():
    scores = runs().mean(("execution", "iteration"))
    scores[0, 0, 0] = -np.inf
    with pytest.raises(
        ValueError,
        match=r"time has 1 infinite value, the first \(-inf\) at benchmark=fft, "
        r"version=old, machine=a; mark",
    ):
        scores.perf.principal_components(samples="machine")


def test_sizes():
    """Zeros and the sizes of timings are taken; lazy data say the number of a chunk."""
    times = (runs() * 1e-45).assign_attrs(units="1")
    times[0, 0, 0, 0, 0] = 0.0
    assert np.isfinite(ask(times, "compare")["lower"]).all()
    with pytest.raises(
        ValueError, match=r"^time has 144 values outside .* version=old, machine=(a|c)"
    ):
        ask(TINY.chunk({"machine": 2, "benchmark": 3, "version": 2}), "mean_interval").compute()


class TestRange:
    """Seconds and rates are not below 0: every door refuses what cannot have been measured."""

    @pytest.mark.parametrize(
        ("name", "units", "value", "answers"),
        [
            ("time", "", 0.0, True),
            (None, "s", 0.0, True),
            ("time", "s", 0.0, True),
            (None, "s", -1.0, False),
            (None, "", -1.0, True),
            ("cpu_time", "s", 0.0, True),
            ("cpu_time", "s", -1.0, False),
            ("throughput", "ops/s", -1.0, False),
            ("gain", "1", -1.0, True),
            ("gc", "s", -1.0, False),
        ],
    )
    def test_which_quantities(self, name, units, value, answers):
        """A lone array without a name is the time if its unit is one."""
        times = runs(put=[value]).rename(name).assign_attrs(units=units, better="lower")
        if answers:
            with warnings.catch_warnings(action="ignore"):
                assert np.isfinite(times.perf.mean_interval()["estimate"]).all()
        else:
            with pytest.raises(ValueError, match="has 1 value out of range"):
                times.perf.mean_interval()

    @pytest.mark.parametrize("value", [-1.0])
    def test_lists_frames_and_files(self, tmp_path, value):
        frame = pd.DataFrame({"version": ["old", "old"], "time": [1.0, value]})
        frame.to_csv(tmp_path / "runs.csv", index=False)
        sentence = rf"time of version=old, execution=1 is {value}; expected a number from 0"
        for call in (
            lambda: perfarray.from_samples({"old": [1.0, value]}),
            frame.perf.to_timings,
            lambda: frame.rename(columns={"time": "elapsed"}).perf.to_timings(
                value={"time": "elapsed"}
            ),
        ):
            with pytest.raises(ValueError, match=sentence):
                call()
        with pytest.raises(
            ValueError, match=rf"'time', row 2 under the header, is {value}; expected a number"
        ):
            perfarray.read(tmp_path / "runs.csv")

    def test_lists_of_infinite_values(self):
        """A table has cells that were not measured (tests/tables/test_column_roles.py); a list of
        numbers has none."""
        with pytest.raises(ValueError, match="time of version=old, execution=1 is inf"):
            perfarray.from_samples({"old": [1.0, np.inf]})


class TestDirection:
    """`better` is lower or higher, and rates that say neither are noted."""

    @pytest.mark.parametrize("name", [name for name in METHODS if name not in ("biplot", "report")])
    def test_rates_without_it_are_noted(self, name):
        result = ask(runs(units="ops/s"), name)
        notes = perfarray.notes(result if hasattr(result, "attrs") else result.to_dataset())
        assert "direction" in [note.code for note in notes]

    @pytest.mark.parametrize(
        "units",
        [
            "ops/s",
            "1/s",
            "MB/s",
            "s-1",
            "MB s^-1",
            "ops/ms",
            "items per second",
            "GHz",
            "MFLOPS",
            "rps",
            "fps",
            "frames/sec",
        ],
    )
    def test_rates(self, units):
        """Constructors set it: more is better of rates."""
        assert (
            perfarray.from_samples({"a": [1.0]}, units=units)["throughput"].attrs["better"]
            == "higher"
        )
        frame = (
            perfarray.from_samples({"a": [1.0]}).perf.to_frame().rename(columns={"time": "rate"})
        )
        for direction, better in (({}, "higher"), ({"better": "lower"}, "lower")):
            assert (
                frame.perf.to_timings(value="rate", units=units, **direction)["rate"].attrs[
                    "better"
                ]
                == better
            )
        with pytest.raises(ValueError, match="better='Lower' is not known"):
            perfarray.from_samples({"a": [1.0]}, units=units, better="Lower")

    @pytest.mark.parametrize(
        "units", ["s", "ns", "J", "J/s", "ns/op", "B", "1", "", "s/iteration", "B/op", "V"]
    )
    def test_all_else(self, units):
        times = perfarray.from_samples({"a": [1.0]}, units=units)
        assert times[times.attrs["metric"]].attrs["better"] == "lower"


class TestZeros:
    """A zero inside a unit stops nobody, and is counted; a unit of zeros declines the cells of
    methods that need values above 0."""

    POSITIVE = (
        "compare",
        "pairwise",
        "agreement",
        "suite_score",
        "score_distribution",
        "five_number_summary",
        "relative_variation",
        "score_ratio_interval",
        "randomization_test",
        "required_runs",
    )

    @staticmethod
    def with_zeros(zeros):
        """A thousand iterations, some of them without a miss."""
        times = runs().isel(machine=0, iteration=np.zeros(1000, int)).drop_vars("machine")
        times[1, 1, 2, :zeros] = 0.0
        return times.rename("misses").assign_attrs(units="1")

    @pytest.mark.parametrize("name", POSITIVE)
    def test_one_among_a_thousand(self, name):
        result = ask(self.with_zeros(1), name)
        assert "zeros" in [note.code for note in result.perf.notes()]
        answers_with_zeros = {
            "compare": "estimate",
            "suite_score": "estimate",
            "score_ratio_interval": "estimate",
            "five_number_summary": "median",
        }
        if name in answers_with_zeros:
            np.testing.assert_allclose(
                result[answers_with_zeros[name]],
                ask(self.with_zeros(0), name)[answers_with_zeros[name]],
                rtol=2e-3,
            )

    @pytest.mark.parametrize("name", POSITIVE)
    def test_a_whole_unit(self, name):
        """Means take it; what draws units, or takes the log of each, declines the cell by name."""
        notes = {note.code: note for note in ask(self.with_zeros(1000), name).perf.notes()}
        declines = name in (
            "agreement",
            "score_distribution",
            "five_number_summary",
            "relative_variation",
            "randomization_test",
            "required_runs",
        )
        assert notes["zeros"].values["values"] == 1000
        assert ("declined" in notes) == declines
        if declines:
            assert notes["declined"].values["names"] == ["hash, new"]

    @each_method
    @pytest.mark.parametrize(
        "indices", [(1, 1, 2, 3), 1, slice(None)], ids=["an execution", "a benchmark", "everything"]
    )
    def test_one_keeps_nobody_from_an_answer(self, name, indices):
        """No method refuses timings for their zeros, and none divides by them; two need values that
        differ."""
        times = runs()
        times[indices] = 0.0
        if name in ("biplot", "explain_variation", "machine_ratios") and not times.any():
            with pytest.raises(
                ValueError, match=r"principal components|can be explained|a median machine"
            ):
                ask(times, name)
            return
        with warnings.catch_warnings(action="error"):
            warnings.simplefilter("ignore", perfarray.PerfarrayWarning)
            getattr(perfarray, name)(times, **ASKED[name])

    @pytest.mark.parametrize("name", POSITIVE)
    def test_negative_values_are_refused(self, name):
        times = self.with_zeros(0)
        times[1, 1, 2, 0] = -1.0
        with pytest.raises(
            ValueError,
            match=r"needs positive values; misses has 1 value that is negative, the first "
            r"\(-1\) at benchmark=hash",
        ):
            ask(times, name)

    def test_where_iterations_are_drawn(self):
        """Nothing is averaged, and a ratio of zeros may be drawn."""
        times = self.with_zeros(1).isel(iteration=slice(20))
        with pytest.warns(
            perfarray.PerfarrayWarning,
            match=r"1 cell has zeros and no answer: 'hash, new'. .* a comparison with method='perc",
        ):
            verdicts = times.perf.compare(
                "old", method="percentile", resample="all", n_resamples=20, rng=1
            )
        assert verdicts["estimate"].sel(benchmark="hash").isnull().all()
        assert verdicts["estimate"].sel(benchmark=["fft", "sort"]).notnull().all()


class TestStopped:
    """A method that meets stopped runs says what became of them."""

    @pytest.mark.parametrize(
        "name", [name for name in METHODS if name not in ("biplot", "counts", "report")]
    )
    @pytest.mark.parametrize("limit", [60.0, None])
    def test_it_is_said(self, name, limit):
        times = runs()
        marks = xr.zeros_like(times, dtype=bool).reset_coords(drop=True)
        marks[:, 1, :2, 5] = True  # two of eight rows of a machine table
        times = times.where(~marks).assign_attrs(times.attrs).assign_coords(censored=marks)
        result = ask(times if limit is None else times.assign_coords(censored_at=limit), name)
        notes = perfarray.notes(result if hasattr(result, "attrs") else result.to_dataset())
        assert "censored" in [note.code for note in notes]
