"""Zeros in comparisons: they count in means and differences, and decline only the cells of methods
that need values above 0."""

import numpy as np
import pytest
import xarray as xr

import perfarray
from perfarray.timings.notes import collecting_notes

NAN = np.nan
ROWS = {
    "same": ([5, 5, 5, 5], [5, 5, 5, 5]),
    "gone": ([3, 3, 3, 3], [0, 0, 0, 0]),
    "none": ([0] * 4, [0] * 4),
    "new": ([0] * 4, [2] * 4),
    "rising": ([0] * 4, [1, 2, 3, 2]),
    "unsure": ([0] * 4, [0, 0, 4, 4]),
    "falling": ([1, 2, 3, 2], [0] * 4),
    "half": ([4, 4, 5, 4], [2, 2, 3, 2]),
}
ABOVE = ["same", "half"]


def counts(rows=ROWS, units="1", better="lower"):
    """Counts of faults along benchmark, version and execution."""
    values = np.array(list(rows.values()), float)
    coords = {"benchmark": list(rows), "version": ["old", "new"]}
    return xr.DataArray(
        values,
        coords,
        ("benchmark", "version", "execution"),
        "faults",
        {"units": units, "better": better},
    )


def verdicts_of(times, **options):
    with collecting_notes() as notes:
        result = times.perf.compare("old", **options)
    result = result.squeeze("version") if "version" in result.dims else result
    return result, {note.code: note for note in notes}


class TestVerdicts:
    @pytest.mark.parametrize(
        ("name", "ratio", "limits", "difference", "verdict"),
        [
            ("same", 1, (1, 1), 0, "equivalent"),
            ("gone", 0, (0, 0), -3, "faster"),
            ("none", 1, (1, 1), 0, "equivalent"),
            ("new", NAN, (NAN, NAN), 2, "slower"),
            ("rising", NAN, (NAN, NAN), 2, "slower"),
            ("unsure", NAN, (-np.inf, np.inf), 2, "inconclusive"),
            ("falling", 0, (0, 0), -2, "faster"),
        ],
    )
    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"threshold": 0.02},
            {"method": "skew_adjusted"},
            {"paired": "execution"},
        ],
    )
    def test_by_the_difference(self, name, ratio, limits, difference, verdict, options):
        """A change to 0 has the ratio 0, two sides of zeros the ratio 1, and a change from 0
        none."""
        row = verdicts_of(counts(), **options)[0].sel(benchmark=name)
        np.testing.assert_equal(
            [row["estimate"].item(), row["lower"].item(), row["upper"].item()], [ratio, *limits]
        )
        assert (row["difference"].item(), row["verdict"].item()) == (difference, verdict)
        assert row["interval_agrees"]

    def test_limits_of_the_difference(self):
        """The mean 2 of 1, 2, 3, 2 has the standard error sqrt(2/3 / 4) = .408, and t of three
        degrees of freedom is 3.182."""
        row = verdicts_of(counts())[0].sel(benchmark="rising")
        np.testing.assert_allclose(
            [row["difference_lower"], row["difference_upper"]],
            [2 - 3.182446 * 6**-0.5, 2 + 3.182446 * 6**-0.5],
            rtol=1e-6,
        )
        assert row["pvalue"].item() == pytest.approx(0.01628, abs=1e-5)

    def test_where_more_is_better(self):
        verdicts = verdicts_of(counts(better="higher"))[0]["verdict"].to_series()
        assert verdicts[["gone", "none", "new"]].tolist() == ["slower", "equivalent", "faster"]

    def test_the_suite_is_over_those_above_zero(self):
        """The other benchmarks are answered as without those of zeros, which a note names; both
        were measured on both sides."""
        verdicts, notes = verdicts_of(counts())
        alone = verdicts_of(counts().sel(benchmark=ABOVE))[0]
        xr.testing.assert_identical(verdicts.sel(benchmark=ABOVE).drop_attrs(), alone.drop_attrs())
        assert verdicts["suite_benchmarks"] == 2
        assert "unmatched" not in verdicts.attrs
        assert [name.split(",")[0] for name in notes["zero_means"].values["names"]] == [
            name for name in ROWS if name not in ABOVE
        ]
        assert notes["zeros"].aside

    @pytest.mark.parametrize(
        "options", [{"shared": "execution"}, {"paired": "execution"}, {"between": (0.01, 5)}]
    )
    def test_suites_of_other_kinds(self, options):
        verdicts = verdicts_of(counts(), **options)[0]
        alone = verdicts_of(counts().sel(benchmark=ABOVE), **options)[0]
        for name in ("suite_estimate", "suite_lower", "suite_upper", "suite_benchmarks"):
            np.testing.assert_allclose(verdicts[name], alone[name], rtol=1e-12)

    def test_everything_is_zero(self):
        verdicts, notes = verdicts_of(counts() * 0)
        assert (verdicts["verdict"] == "equivalent").all()
        assert np.isnan(verdicts["suite_estimate"])
        assert len(notes["zero_means"].values["names"]) == len(ROWS)

    def test_one_run_a_side(self):
        """One run shows no spread, of zeros no more than of others."""
        verdicts = verdicts_of(counts().isel(execution=[0]))[0]
        np.testing.assert_equal(verdicts["estimate"].values[:5], [1, 0, 1, NAN, NAN])
        assert (verdicts["verdict"] == "inconclusive").all()
        assert np.isnan(verdicts["lower"].values[:4]).all()


class TestCoarseClock:
    """Ticks of 1 ms, of times of .6 and .3 ms: 239 and 111 of 400 runs last one tick, the others
    none."""

    @pytest.fixture
    def times(self):
        runs = np.zeros((2, 400))
        runs[0, :239] = runs[1, :111] = 1e-3
        return xr.DataArray(
            runs,
            {"version": ["old", "new"]},
            ("version", "execution"),
            "time",
            {"units": "s", "better": "lower"},
        )

    def test_means_are_those_of_all_runs(self, times):
        verdict, notes = verdicts_of(times)
        np.testing.assert_allclose(
            [verdict["baseline_mean"], verdict["candidate_mean"]], [0.5975e-3, 0.2775e-3]
        )
        np.testing.assert_allclose(
            [verdict["estimate"], verdict["lower"], verdict["upper"]],
            [0.464, 0.384, 0.551],
            atol=6e-4,
        )
        assert verdict["verdict"] == "faster"
        assert (notes["zeros"].values["values"], notes["zeros"].values["of"]) == (450, 800)
        assert (
            "450 of 800 values of time are 0, below the clock's resolution"
            in notes["zeros"].message
        )
        assert not notes["zeros"].aside

    def test_two_objects_have_one_note(self, times):
        with collecting_notes() as notes:
            times.sel(version="new").perf.compare(times.sel(version="old"))
        assert [note.values["values"] for note in notes if note.code == "zeros"] == [450]

    def test_a_median_of_zeros_is_declined(self, times):
        verdict, notes = verdicts_of(times, statistic="median")
        assert np.isnan(verdict["estimate"])
        assert verdict["verdict"] == "inconclusive"
        assert notes["declined"].values["names"] == ["new"]

    def test_a_median_next_to_zeros(self):
        """Its limit is 0, and its log has no standard error: the suite row is over the others, and
        a note says so."""
        times = counts(
            {
                "few": ([10] * 100, [0] * 49 + [1] * 51),
                "fft": ([4, 4, 5, 4] * 25, [2, 2, 3, 2] * 25),
            }
        )
        verdicts, notes = verdicts_of(times, statistic="median")
        row = verdicts.sel(benchmark="few")
        assert (row["estimate"], row["lower"], row["verdict"]) == (0.1, 0, "faster")
        assert verdicts["suite_benchmarks"] == 1
        assert verdicts["suite_estimate"] == verdicts["estimate"].sel(benchmark="fft")
        assert notes["zero_means"].message.startswith(
            "The suite row leaves out 1 ratio of medians next to runs of 0."
        )

    @pytest.mark.parametrize("statistic", ["mean", "median"])
    def test_speedups(self, times, statistic):
        with collecting_notes():
            speedup = times.perf.speedup("old", statistic=statistic)["estimate"].item()
        np.testing.assert_allclose(speedup, 0.5975 / 0.2775 if statistic == "mean" else NAN)


DECLINING = [
    {"method": "delta"},
    {"method": "log_delta"},
    {"prior": "suite"},
    {"method": "percentile", "rng": 1, "n_resamples": 99},
    {"method": "studentized", "rng": 1, "n_resamples": 99},
    {"statistic": "median"},
    {"statistic": "median", "method": "rank"},
]


@pytest.mark.parametrize("options", DECLINING)
@pytest.mark.parametrize("lazy", [False, True])
def test_cells_without_a_log_are_declined(options, lazy):
    """They have no limits and no verdict and are named; all others are answered as if those were
    not measured."""
    times = counts()
    if lazy:
        pytest.importorskip("dask")
        times = times.chunk({"benchmark": 3})
    verdicts, notes = verdicts_of(times, **options)
    with collecting_notes():
        verdicts = verdicts.compute()
    declined = verdicts.drop_sel(benchmark=ABOVE)
    assert declined["lower"].isnull().all()
    assert (declined["verdict"] == "inconclusive").all()
    assert lazy or {name.split(",")[0] for name in notes["declined"].values["names"]} == {*ROWS} - {
        *ABOVE
    }
    without = verdicts_of(
        counts().where((counts() > 0).all("execution")).assign_attrs(counts().attrs), **options
    )[0]
    for name in ("estimate", "lower", "upper", "pvalue", "suite_estimate", "suite_lower"):
        expected, answers = (
            answer[name].sel(benchmark=ABOVE) if "benchmark" in answer[name].dims else answer[name]
            for answer in (without, verdicts)
        )
        np.testing.assert_array_equal(answers, expected)


def test_lazy_data_have_the_same_answers():
    pytest.importorskip("dask")
    computed = counts().chunk({"benchmark": 3}).perf.compare("old").compute()
    in_memory, notes = verdicts_of(counts())
    xr.testing.assert_equal(computed.squeeze("version"), in_memory)
    assert [note.message for note in computed.perf.notes() if note.code == "zero_means"] == [
        notes["zero_means"].message
    ]


def test_data_without_names_and_of_two_metrics():
    plain = verdicts_of(counts().rename(None))[0]
    xr.testing.assert_equal(plain, verdicts_of(counts())[0])
    two_metrics = xr.Dataset({"faults": counts(), "misses": counts() + 1})
    with collecting_notes() as notes:
        verdicts = two_metrics.perf.compare("old", metric=["faults", "misses"]).squeeze("version")
    xr.testing.assert_equal(verdicts["estimate"].sel(metric="faults", drop=True), plain["estimate"])
    assert verdicts["suite_benchmarks"].values.tolist() == [2, 8]
    assert [note.code for note in notes].count("zero_means") == 1


def test_pairs_of_all_versions():
    """From old to new the ratio is 0, and back there is none."""
    with collecting_notes():
        pairs = counts().perf.pairwise(dim="version")
    forth = pairs.sel(benchmark="gone", version="new", baseline="old")
    back = pairs.sel(benchmark="gone", version="old", baseline="new")
    assert (forth["estimate"], forth["verdict"], back["verdict"]) == (0, "faster", "slower")
    assert np.isnan(back["estimate"])


@pytest.mark.parametrize("method", ["fieller", "delta", "skew_adjusted"])
def test_intervals_of_ratios(method):
    with collecting_notes():
        ratios = counts().perf.ratio_interval("old", method=method).squeeze("version")
    np.testing.assert_array_equal(ratios["estimate"].values[:4], [1, 0, 1, NAN])


def test_intervals_of_means():
    """Zeros count: 0, 0, 4 and 4 have the mean 2 and the standard error sqrt(16/3 / 4)."""
    with collecting_notes():
        mean = counts().perf.mean_interval().sel(benchmark="unsure", version="new")
    np.testing.assert_allclose([mean["estimate"], mean["standard_error"]], [2, (16 / 12) ** 0.5])


def test_tables_and_pictures():
    """A change to 0 and one from 0 are in words; the largest change comes first."""
    pytest.importorskip("matplotlib")
    verdicts = verdicts_of(counts())[0]
    table = perfarray.table(verdicts, sort="effect")
    assert table["change"].iloc[0] == "to 0"
    assert table["change"]["new"] == "from 0"
    assert table["change"]["none"].startswith("unchanged")
    texts = [text.get_text() for text in verdicts.perf.plot().texts]
    assert texts.count("from 0") == 2
    assert not any("not measured" in text for text in texts)


def test_pictures_of_zeros_alone():
    """Data that are all 0 have pictures without a warning."""
    pytest.importorskip("matplotlib")
    with collecting_notes():
        for result in ((counts() * 0).perf.compare("old"), (counts() * 0).perf.mean_interval()):
            assert result.perf.plot() is not None


def test_negative_values_are_refused():
    times = counts()
    times[0, 0, 0] = -1.0
    with pytest.raises(
        ValueError,
        match=r"a comparison needs positive values; "
        r"faults has 1 value that is negative, the first \(-1\) at ben",
    ):
        times.perf.compare("old")


def test_rounds_of_zeros_are_decided():
    """A rule that holds after every round gives zeros the verdicts of a fixed number of rounds."""
    rows = {name: (old * 3, new * 3) for name, (old, new) in ROWS.items() if name != "unsure"}
    order = [[1, 2] * 6, [2, 1] * 6]
    times = counts(rows).assign_coords(slot=(("version", "execution"), order))
    paired = {"paired": "execution", "threshold": 0.01}
    fixed, _ = verdicts_of(times, **paired)
    result, _ = verdicts_of(times, method="always_valid", **paired)
    assert result["verdict"].values.tolist() == fixed["verdict"].values.tolist()
    zeros = result.sel(benchmark="none")
    assert (zeros["lower"].item(), zeros["upper"].item()) == (1, 1)
    few, _ = verdicts_of(times.isel(execution=slice(3)), method="always_valid", **paired)
    assert set(few["verdict"].values.tolist()) == {"inconclusive"}
