"""Exchanges of the compiled engine are those of the NumPy engine."""

import numpy as np
import pytest
import xarray as xr

import perfarray
from perfarray.numerics.bootstrap import Draws
from perfarray.numerics.suite import match_sides
from perfarray.suites.numerics.exchanges import Exchange
from perfarray.suites.numerics.randomization import randomization

numba = pytest.importorskip("numba")
compiled = pytest.importorskip("perfarray.suites.numerics.compiled_exchanges")


def both(new, old, how, number=40):
    """Return what the engines find: ratios, p-values, smallest p-values, exchanges and the ratio after every one."""
    sides, cells = match_sides(new, old, shared=how.shared, paired=how.paired), np.arange(3, 3 + len(new))
    draws = [Draws((True,), number, (1, 2), engine) for engine in ("numpy", "numba")]
    return [randomization(sides, cells, how, "two-sided", own, True, length=number) for own in draws]


@pytest.mark.parametrize("weights", [None, np.array([1.0, 2.5, 0.5])])
@pytest.mark.parametrize(("shared", "paired"), [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize(("mean", "statistic"), [("geometric", "geometric"), ("harmonic", "mean"), ("geometric", "median")])
@pytest.mark.parametrize("runs", [(9, 9), (16, 5), (3, 2), (1, 1)])
def test_engines_agree(runs, mean, statistic, shared, paired, weights):
    """Tabulated and beyond, with gaps and unequal runs, together or not, weighted: the same p-values, and ratios but for rounding."""
    runs = (max(runs), max(runs)) if paired else runs
    rng = np.random.default_rng(sum(runs))
    new, old = (rng.lognormal(0, 0.1, (4, 3, number)) for number in runs)
    new[0, 1, -1] = old[2, 0, 0] = new[3] = np.nan
    plain, fast = both(new, old, Exchange(mean, statistic, shared, paired, weights))
    for some, same in zip(plain[:-1], fast[:-1], strict=True):
        np.testing.assert_array_equal(some, same)
    np.testing.assert_allclose(fast[-1], plain[-1], rtol=1e-14)


def test_ties_count_alike():
    """Runs of few values, or of one: exchanges that give the same ratio are as large and as small, whatever the order of a sum."""
    new, old = np.random.default_rng(1).choice([1.0, 1.1, 1.7], (2, 3, 2, 12))
    new[0] = old[0] = 1.1
    plain, fast = both(new, old, Exchange("geometric", "mean", False, False), 300)
    np.testing.assert_array_equal(fast[1], plain[1])
    assert plain[1][0] == 1.0
    assert (np.diff(np.sort(plain[-1][1:])) < 1e-13).mean() > 0.3


def test_threads_change_no_exchange(monkeypatch):
    """A few experiments at a time by two threads: the numbers of one."""
    new, old = np.random.default_rng(2).lognormal(0, 0.1, (2, 2, 3, 10))
    old = old[..., 1:]  # 57 words an experiment: blocks begin anywhere among four
    how = Exchange("geometric", "geometric", False, False)
    whole = both(new, old, how)[1]
    monkeypatch.setattr(compiled, "WORDS", 200)
    monkeypatch.setattr(compiled, "LEAST", 500)
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 2)
    np.testing.assert_array_equal(both(new, old, how)[1][-1], whole[-1])


@pytest.mark.parametrize("chosen", [1, 7, 29])
@pytest.mark.parametrize("power", [1, 6, 30, 1 / 30])
def test_the_smallest_words_are_found_wherever_they_lie(power, chosen):
    """Words that crowd at one end, as hardly any random ones do: as many are chosen as are wanted, and those are the smallest."""
    words = np.random.default_rng(3).permutation(
        (np.linspace(0, 1, 30) ** power * (2.0**64 - 4096)).astype(np.uint64) + np.arange(30, dtype=np.uint64)
    )
    below = words <= np.uint64(compiled._limit(words, chosen))
    assert sorted(np.flatnonzero(below)) == sorted(words.argsort()[:chosen])


def test_the_engine_in_force_exchanges():
    """Single precision and a lazy array: the p-values of NumPy, and an attr that tells the engine that was in force at the call."""
    values = np.random.default_rng(4).lognormal(0, 0.1, (2, 3, 2, 9)).astype(np.float32)
    times = xr.DataArray(values, {"version": ["old", "new"]}, ("version", "machine", "benchmark", "execution"), attrs={"units": "s"})
    plain = times.perf.randomization_test("old", n_resamples=50, rng=1)
    with perfarray.set_options(engine="numba"):
        fast, lazy = (some.perf.randomization_test("old", n_resamples=50, rng=1) for some in (times, times.chunk(machine=2)))
    assert [plain.attrs["engine"], fast.attrs["engine"], lazy.attrs["engine"]] == ["numpy", "numba", "numba"]
    np.testing.assert_array_equal(fast["pvalue"], plain["pvalue"])
    np.testing.assert_array_equal(lazy["pvalue"], plain["pvalue"])
