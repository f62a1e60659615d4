"""What the modes go with: the units that change places, factors of every kind, what is too little
to show anything."""

import numpy as np
import pytest
import xarray as xr

from perfarray.mixtures.numerics.origins import Factor, associated
from strategies import experiments

pytestmark = pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")


def timings(slow, seed=1):
    """Return runs of which some are in a slow mode, shape (benchmark, binary, execution)."""
    noise = 0.02 * np.random.default_rng(seed).standard_normal(slow.shape) if seed else 0.0
    array = xr.DataArray(
        1 + 0.3 * slow + noise,
        dims=("benchmark", "binary", "execution"),
        name="time",
        attrs={"units": "s"},
    )
    return array.assign_coords(benchmark=[f"b{number}" for number in range(len(array))])


BINARIES = np.broadcast_to((np.arange(8) % 5 == 2)[:, None], (1, 8, 6))
"""Of eight binaries the third and the last are slow."""


def test_modes_that_are_binaries():
    """They are named; what lies inside binaries has nothing left to explain, and binaries in a row
    are no order."""
    result = timings(BINARIES).perf.modes_by(rng=1).sel(benchmark="b0")
    assert result["finding"].values.tolist() == ["mode 2 is binaries 2, 7", "", ""]
    assert result["statistic"].sel(factor="binary") == pytest.approx(1)
    assert result["pvalue"].sel(factor=["binary", "execution_order"]).values.tolist() == [0.001, 1]
    share = result["share"].sel(factor="binary", mode=2).dropna("label")
    assert share.to_series().to_dict() == {
        str(number): float(number in (2, 7)) for number in range(8)
    }
    np.testing.assert_allclose(result["location"][:2], [1.0, 1.3], atol=0.02)
    np.testing.assert_allclose(result["weight"][:2], [0.75, 0.25])
    assert result["exchanged"].values.tolist() == ["execution", "binary", "execution"]
    assert result["n_exchanged"].values.tolist() == [48, 8, 48]


def test_one_series_alone():
    """Timings without any other dim have the answer that they have as a cell of many."""
    slow = np.arange(6)[:, None] % 2
    runs = xr.DataArray(
        1 + 0.2 * slow + 0.01 * np.random.default_rng(1).standard_normal((6, 8)),
        dims=("binary", "execution"),
    )
    alone, first = (
        runs.perf.modes_by(rng=1),
        runs.expand_dims("benchmark").perf.modes_by(rng=1).isel(benchmark=0),
    )
    np.testing.assert_array_equal(alone["statistic"], first["statistic"])
    assert alone["finding"].sel(factor="binary").item() == "mode 1 is binaries 0, 2, 4"


def test_modes_that_come_in_an_order():
    """Late runs, and a stretch in the middle of which ends are alike, are both seen; binaries are
    not."""
    late, middle = np.arange(8) > 4, abs(np.arange(8) - 3.5) < 2
    result = timings(np.broadcast_to(np.stack([late, middle])[:, None], (2, 5, 8))).perf.modes_by(
        rng=1
    )
    assert (result["pvalue_adjusted"].sel(factor="execution_order") < 0.01).all()
    assert (result["pvalue"].sel(factor="binary") > 0.5).all()
    warned = result["finding"].sel(factor="execution_order", benchmark="b0").item()
    assert (
        warned
        == "by execution order, mode 1 takes 100 % of the first quarter and 0 % of the last quarter"
    )


def test_coordinates_are_tested_among_the_units_that_carry_them():
    """A compiler among binaries, a core among the executions of a binary, a counter likewise; texts
    that never repeat only where asked."""
    slow = np.broadcast_to((np.arange(10) % 2 == 1)[:, None], (1, 10, 4))
    array = timings(slow).assign_coords(
        compiler=("binary", ["gcc", "clang"] * 5),
        core=("execution", [0, 1, 0, 1]),
        path=("binary", [f"/{k}" for k in range(10)]),
        host=("binary", ["one"] * 10),
        warmup=("execution", [False] * 4),
        misses=(("binary", "execution"), slow[0] + 0.1 * np.eye(10, 4)),
    )
    result = array.perf.modes_by(rng=1).sel(benchmark="b0")
    assert result["factor"].values.tolist() == [
        "binary",
        "binary_order",
        "execution_order",
        "compiler",
        "core",
        "misses",
    ]
    assert result["exchanged"].sel(factor=["compiler", "core", "misses"]).values.tolist() == [
        "binary",
        "execution",
        "execution",
    ]
    assert result["finding"].sel(factor="compiler") == "mode 1 is compiler gcc"
    assert result["pvalue"].sel(factor="core") == 1
    by_name = array.perf.modes_by(by=["path", "host"], rng=1).sel(benchmark="b0")
    assert by_name["smallest_pvalue"].sel(factor="path") == 1
    assert by_name["pvalue"].sel(factor="host").isnull()


def test_findings_of_labels_that_are_not_clear():
    """A mode with 80 % of one label's runs and 20 % of the other's is not that label; numbers that
    never repeat are an order."""
    slow = (np.arange(10) < np.where(np.arange(10) % 2, 2, 8)[:, None])[None]
    array = timings(slow).assign_coords(
        compiler=("binary", ["gcc", "clang"] * 5), size=("binary", np.arange(10.0))
    )
    result = array.perf.modes_by(by=["compiler", "size"], rng=1).sel(benchmark="b0")
    assert result["finding"].values.tolist() == [
        "mode 1 takes 80 % of compiler clang, 50 % of all runs",
        "",
    ]
    four = array.isel(binary=slice(4)).perf.modes_by(by="size", n_resamples=9, rng=1)
    assert four["label"].values.tolist() == [
        "first quarter",
        "second quarter",
        "third quarter",
        "last quarter",
    ]


def test_a_counter_of_the_data_and_a_machine():
    """Another variable is a factor where it is named; a machine becomes the outermost level."""
    slow = np.random.default_rng(2).random((1, 4, 20)) < 0.4
    time = timings(slow).rename(binary="machine").assign_coords(machine=["a", "b", "c", "d"])
    data = xr.Dataset({"time": time, "misses": time.copy(data=100 * slow + 1.0 * np.arange(20))})
    result = data.perf.modes_by(by=("machine", "misses"), rng=1).sel(benchmark="b0")
    assert result.attrs["levels"] == "machine execution"
    assert result["exchanged"].values.tolist() == ["execution", "execution"]
    assert result["pvalue_adjusted"].sel(factor="misses") == pytest.approx(0.002)
    assert result["pvalue"].sel(factor="machine") > 0.05


def test_false_alarms():
    """Modes that are chance go with each factor in at most 5 % of experiments, and so do
    findings."""
    count = experiments(160)
    rng = np.random.default_rng(3)
    array = timings(rng.random((count, 6, 5)) < 0.4).assign_coords(
        misses=(("benchmark", "binary", "execution"), rng.random((count, 6, 5)))
    )
    result = array.perf.modes_by(n_resamples=39, rng=1)
    limit = 0.05 + 3 * np.sqrt(0.05 * 0.95 / count)
    assert ((result["pvalue"] <= 0.05).mean("benchmark") < limit).all()
    assert (result["finding"] != "").any("factor").mean() < limit


@pytest.mark.parametrize("correction", ["holm", None])
def test_a_finding_at_the_risk(correction):
    """The smallest p of 19 exchanges is the risk of 0.05, and that is enough."""
    result = timings(BINARIES).perf.modes_by(
        by="binary", n_resamples=19, alpha=0.05, correction=correction, rng=1
    )
    assert result["pvalue_adjusted"].item() == result["smallest_pvalue"].item() == 0.05
    assert result["finding"].item() == "mode 2 is binaries 2, 7"


def test_worked_by_hand():
    """Two labels of two units, one mode each: 1 of 3 partitions explains all; three units in an
    order: 1 of 3 places is the last."""
    factor = Factor(0, 0, ranked=False, stream=0)
    halves = np.array([[0.0], [0], [1], [1]])
    _, statistic, pvalue, smallest, n = associated(
        halves,
        halves,
        factor,
        2,
        n_labels=2,
        n_resamples=3000,
        generator=np.random.default_rng(1),
    )
    assert (statistic, n) == (1.0, 4.0)
    assert pvalue == smallest == pytest.approx(1 / 3, abs=0.03)
    # Shares 1, 1/2, 0 and labels 0, 0, 1: the variation is 2 (1/4 + 0 + 1/4), between labels 2 (2
    # (1/4)^2 + (1/2)^2).
    numbers, codes = (
        np.array([[0.0, 0, 0, 0], [0, 1, 0, 1], [1, 1, 1, 1]]),
        np.array([[0.0], [0], [1]]),
    )
    shares, statistic, *_ = associated(
        numbers,
        np.broadcast_to(codes, numbers.shape),
        factor,
        2,
        n_labels=2,
        n_resamples=1,
        generator=np.random.default_rng(1),
    )
    assert statistic == pytest.approx(0.75)
    np.testing.assert_allclose(shares, [[0.75, 0.25], [0, 1]])


def notes(result):
    """Return the codes of the notes."""
    return {note.code for note in result.perf.notes()}


def test_too_little_to_show_anything():
    """Of three binaries of one slow run, of one unit and of one mode nothing follows, and it is
    said."""
    array = timings(np.arange(3).reshape(1, 3, 1) == 2)
    small = array.perf.modes_by(rng=1)
    assert "few_exchanges" in notes(small)
    assert (small["smallest_pvalue"] > 0.05).all()
    assert (small["finding"] == "").all()
    assert "one_mode" in notes(timings(0 * BINARIES, 0).perf.modes_by(rng=1))
    alone = array.isel(binary=[0]).perf.modes_by(rng=1)
    assert "one_mode" in notes(alone)
    assert alone["factor"].values.tolist() == ["execution_order"]
    unmeasured = (array * np.nan).perf.modes_by(rng=1)
    assert "no_value" in notes(unmeasured)
    samples = [
        {text.get_text() for text in result.perf.plot().texts} for result in (unmeasured, small)
    ]
    assert ["not measured" in texts for texts in samples] == [True, False]
    assert "few_exchanges" in notes(timings(BINARIES).perf.modes_by(n_resamples=9, rng=1))
    assert notes(timings(BINARIES).perf.modes_by(by="binary", rng=1)) == set()


def test_what_does_not_change_the_answer():
    """The order of dims and cells, a rate, single precision, runs that are missing; chunks, in
    test_dask."""
    slow = np.random.default_rng(5).random((2, 8, 6)) < np.linspace(0.1, 0.8, 8)[:, None]
    array = timings(slow)
    result = array.perf.modes_by(rng=1)
    xr.testing.assert_identical(
        array.transpose("execution", "benchmark", "binary").perf.modes_by(rng=1), result
    )
    xr.testing.assert_identical(array[[1]].perf.modes_by(rng=1)["pvalue"], result["pvalue"][[1]])
    xr.testing.assert_equal(
        array.astype(np.float32).perf.modes_by(rng=1)["pvalue"], result["pvalue"]
    )
    rate = (1 / array).assign_attrs(units="1/s", better="higher").perf.modes_by(rng=1)
    xr.testing.assert_equal(rate["pvalue"], result["pvalue"])
    ragged = array.where((array["binary"] != 0) | (array["execution"] < 3)).perf.modes_by(rng=1)
    assert ragged["n_exchanged"].sel(factor="binary").values.tolist() == [45, 45]
    censored = array.assign_coords(censored=array > 2.0)
    xr.testing.assert_equal(censored.perf.modes_by(rng=1)["pvalue"], result["pvalue"])


def test_bad_input():
    """Names that are no factors, texts that differ inside a run, corrections that are unknown."""
    array = timings(BINARIES)
    for keywords, message in (
        (
            {"by": "nothing"},
            "is nothing that runs differ in; there is 'binary', 'binary_order', 'execution_order'",
        ),
        ({"by": "execution"}, "every run is of another execution; ask for 'execution_order'"),
        ({"correction": "bonferroni"}, "correction='bonferroni'"),
    ):
        with pytest.raises(ValueError, match=message):
            array.perf.modes_by(**keywords)
    inside = (
        array.expand_dims(iteration=2)
        .transpose(..., "iteration")
        .assign_coords(core=("iteration", ["x", "y"]))
    )
    with pytest.raises(
        ValueError, match=r"by='core' differs among the iterations of a run.*give value='iteration'"
    ):
        inside.perf.modes_by(by="core")
    assert "core" not in inside.perf.modes_by(rng=1, n_resamples=1)["factor"]
