"""EM against mclust, brute force and laws; nothing that comes in makes it fail."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfarray.mixtures.numerics import fit as mixture
from perfarray.mixtures.numerics import pool
from perfarray.mixtures.numerics.fit import FitRequest, weighted_samples
from perfarray.mixtures.numerics.pool import FLOOR
from perfarray.mixtures.numerics.start import quantile_classes
from strategies import MANY, examples

BOTH = ("equal", "unequal")
NAMES = {"E": "equal", "V": "unequal", "X": "equal"}


@pytest.fixture
def mclust(golden):
    """Return the cases fitted by mclust."""
    return golden("mclust")["cases"]


def fit_mixtures(values, weights, numbers, models, **options):
    """Fit mixtures."""
    return mixture.fit_mixtures(
        values, weights, FitRequest(numbers=numbers, models=models, **options)
    )


def fit(sample, number, model, **options):
    """Fit one mixture to one sample."""
    return fit_mixtures(np.array(sample, float)[None], None, [number], [model], **options)


def two_modes(n=200, seed=1):
    """Return a sample of two modes."""
    rng = np.random.default_rng(seed)
    return rng.normal(np.where(rng.random(n) < 0.4, 1.0, 1.5), 0.1)


def test_every_mclust_fit_is_reproduced(mclust):
    """At mclust's tolerance the log-likelihood, the BIC, the number of steps and the parameters are
    its own; where it fails, so does EM."""
    n_compared = 0
    for case in mclust:
        for theirs in case["output"]["default_fits"][:: 1 if case["output"]["n"] < 300 else 4]:
            ours = fit(case["input"]["x"], theirs["G"], NAMES[theirs["model"]], tolerance=1e-5)
            if theirs["loglik"] is None:
                assert np.isnan(ours.loglik[0])
                assert ours.n_floored[0] == 1
                continue
            assert ours.loglik[0] == pytest.approx(theirs["loglik"], rel=1e-9, abs=1e-9)
            assert ours.bic[0] == pytest.approx(theirs["bic_mclust"], rel=1e-9, abs=1e-9)
            assert ours.n_iterations[0] == theirs["iterations"]
            # Components of the same mean have no order: as triples they are compared.
            sd = np.broadcast_to(theirs["sd"], len(theirs["mean"]))
            expected = sorted(zip(np.round(theirs["mean"], 9), theirs["pro"], sd, strict=True))
            result = sorted(
                zip(np.round(ours.means[0], 9), ours.weights[0], ours.deviations[0], strict=True)
            )
            assert np.allclose(result, expected, rtol=1e-7, atol=1e-12)
            n_compared += 1
    assert n_compared > 180


@pytest.mark.slow
def test_to_the_maximum_no_fit_is_below_mclust(mclust):
    """Accelerated EM ends nowhere below plain EM that mclust ran to 1e-13; of more than three
    components where many examples are drawn."""
    max_components = 5 if MANY else 3
    for case in mclust:
        if case["output"]["n"] > 100:
            continue
        for theirs in case["output"]["converged_fits"]:
            if theirs["loglik"] is not None and theirs["G"] <= max_components:
                ours = fit(case["input"]["x"], theirs["G"], NAMES[theirs["model"]])
                assert ours.loglik[0] >= theirs["loglik"] - 1e-7


def test_selected_fits_to_the_maximum_are_mclusts(mclust):
    """With BIC choosing, number, model, likelihood and parameters are those of mclust run to
    convergence."""
    for case in mclust:
        if case["output"]["n"] > 300:
            continue
        theirs = case["output"]["converged"]
        number = theirs["G"]
        ours = fit_mixtures(
            np.array(case["input"]["x"], float)[None], None, range(1, number + 2), BOTH
        )
        assert ours.n_components[0] == number
        assert ours.equal[0] == (theirs["model"] == "E")
        assert ours.converged[0]
        assert ours.loglik[0] == pytest.approx(theirs["loglik"], abs=1e-7)
        order = np.argsort(theirs["mean"])
        for column, name in ((ours.weights, "pro"), (ours.deviations, "sd")):
            expected = np.broadcast_to(theirs[name], number)[order]
            assert np.allclose(column[0, :number], expected, rtol=2e-4)
        assert np.allclose(
            ours.means[0, :number],
            np.array(theirs["mean"])[order],
            atol=1e-4 * np.std(case["input"]["x"]),
        )


def test_the_maximum_is_one():
    """Where EM says it has converged, no parameter can be moved for a larger likelihood."""
    sample = two_modes()
    ours = fit(sample, 2, "unequal")
    theta = np.concatenate([ours.weights[0, :1], ours.means[0], ours.deviations[0]])

    def loglik(theta):
        weights, means, deviations = np.array([theta[0], 1 - theta[0]]), theta[1:3], theta[3:5]
        bells = np.exp(-0.5 * ((sample[:, None] - means) / deviations) ** 2) / (
            deviations * np.sqrt(2 * np.pi)
        )
        return np.log(bells @ weights).sum()

    assert loglik(theta) == pytest.approx(ours.loglik[0], abs=1e-9)
    for index in range(5):
        for move in (-1e-3, 1e-3):
            assert loglik(theta + move * (np.arange(5) == index)) < ours.loglik[0]


def test_one_component_is_mean_and_deviation():
    """A mixture of one is the mean and the standard deviation with divisor n."""
    sample = two_modes(50)
    ours = fit(sample, 1, "equal")
    assert ours.means[0, 0] == pytest.approx(sample.mean())
    assert ours.deviations[0, 0] == pytest.approx(sample.std())
    expected = -0.5 * 50 * (np.log(2 * np.pi * sample.var()) + 1)
    assert ours.loglik[0] == pytest.approx(expected)
    assert ours.bic[0] == pytest.approx(2 * expected - 2 * np.log(50))


def test_whole_weights_are_repeats():
    """A value of weight 2 counts as two values: the likelihood of what was found is that of the
    repeated sample."""
    sample = two_modes(60)
    weights = np.where(np.arange(60) % 3 == 0, 2.0, 1.0)
    first = fit_mixtures(sample[None], weights[None], [2], ["unequal"])
    second = fit(np.repeat(sample, weights.astype(int)), 2, "unequal")
    assert first.loglik[0] == pytest.approx(second.loglik[0], abs=1e-7)
    assert np.allclose(first.means, second.means, rtol=1e-5)


def test_a_batch_is_its_samples():
    """Fitting samples together changes nothing."""
    rows = np.full((3, 120), np.nan)
    for row, n in enumerate((40, 120, 75)):
        rows[row, :n] = two_modes(n, seed=row)
    together = fit_mixtures(rows, None, range(1, 5), BOTH)
    for row in range(3):
        alone = fit_mixtures(rows[row : row + 1], None, range(1, 5), BOTH)
        assert np.allclose(alone.loglik, together.loglik[row], rtol=1e-12)
        assert np.allclose(alone.means[0], together.means[row], rtol=1e-9, equal_nan=True)


def test_units_do_not_matter():
    """Times a thousand gives means times a thousand, the same number of components and a likelihood
    shifted by n log 1000."""
    sample = two_modes()[None]
    first, second = (
        fit_mixtures(factor * sample, None, range(1, 5), BOTH) for factor in (1.0, 1000.0)
    )
    assert np.allclose(1000 * first.means, second.means, equal_nan=True)
    assert first.n_components == second.n_components
    assert second.loglik[0] == pytest.approx(first.loglik[0] - 200 * np.log(1000))


def test_numba_runs_the_same_steps():
    """The compiled engine gives the same fits, with weights and without, at a tolerance and at the
    maximum."""
    pytest.importorskip("numba")
    rows = np.stack([two_modes(90, seed) for seed in range(4)])
    weights = np.random.default_rng(1).uniform(0.5, 1.5, rows.shape)
    weights *= 90 / weights.sum(axis=-1, keepdims=True)
    for values in (None, weights):
        for tolerance in (1e-5, None):
            first, second = (
                fit_mixtures(rows, values, range(1, 5), BOTH, tolerance=tolerance, engine=name)
                for name in ("numpy", "numba")
            )
            assert np.allclose(first.loglik, second.loglik, rtol=1e-10)
            assert (first.equal == second.equal).all()
            assert np.allclose(first.means, second.means, rtol=1e-7, equal_nan=True)
            assert np.allclose(first.deviations, second.deviations, rtol=1e-6, equal_nan=True)
    large = two_modes(1300, 1)[None]
    first, second = (
        fit_mixtures(large, None, [3], BOTH, tolerance=1e-5, engine=name, grouped=True)
        for name in ("numpy", "numba")
    )
    assert np.allclose(first.loglik, second.loglik, rtol=1e-12)


def test_threads_change_no_fit(monkeypatch):
    """Three threads that take a few fits at a time give what one gives, to the bit."""
    numba = pytest.importorskip("numba")
    from perfarray.mixtures.numerics import compiled

    rows = np.stack([two_modes(90, seed) for seed in range(4)])
    result = []
    for threads, block in ((1, compiled.BLOCK), (3, 500)):
        monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", threads)
        monkeypatch.setattr(compiled, "BLOCK", block)
        result.append(fit_mixtures(rows, None, range(1, 5), BOTH, engine="numba"))
    for first, second in zip(*result, strict=True):
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_far_values_do_not_underflow(engine):
    """A value a thousand deviations away from all others has a density, and a component of its own
    does not compete."""
    if engine == "numba":
        pytest.importorskip("numba")
    sample = np.append(np.random.default_rng(1).normal(0.0, 1e-4, 300), 1.0)[None]
    ours = fit_mixtures(sample, None, range(1, 4), BOTH, engine=engine)
    assert np.isfinite(ours.loglik[0])
    assert not ours.floored[0]
    forced = fit_mixtures(sample, None, [2], ["unequal"], forced=True, engine=engine)
    assert forced.floored[0]
    assert np.isfinite(forced.loglik[0])
    assert forced.deviations[0, 1] == pytest.approx(np.sqrt(FLOOR) * sample.std(), rel=1e-6)


@pytest.mark.parametrize("engine", ["numpy", "numba"])
@settings(max_examples=examples(40), deadline=None)
@given(
    values=st.lists(st.sampled_from([0.0, 1.0, 1.0 + 1e-9, 2.0, 5.0, 1e6]), min_size=1, max_size=8),
    number=st.integers(1, 4),
    forced=st.booleans(),
)
def test_nothing_breaks_it(engine, values, number, forced):
    """Ties, constants, spikes and tiny samples give a mixture without NaN, whatever is asked
    for."""
    if engine == "numba":
        pytest.importorskip("numba")
    numbers = [number] if forced else range(1, number + 1)
    ours = fit_mixtures(np.array(values)[None], None, numbers, BOTH, forced=forced, engine=engine)
    n_kept = int(ours.n_components[0])
    assert n_kept <= min(number, len(set(values)))
    assert ours.weights[0, :n_kept].sum() == pytest.approx(1)
    assert (ours.weights[0, n_kept:] == 0).all()
    assert np.isfinite(ours.means[0, :n_kept]).all()
    assert (np.diff(ours.means[0, :n_kept]) >= 0).all()
    assert (ours.deviations[0, :n_kept] > 0).all() or len(set(values)) == 1
    assert not np.isnan(ours.loglik[0])
    assert not np.isnan(ours.bic[0])


def test_a_cell_without_values_is_nan():
    ours = fit_mixtures(np.full((1, 4), np.nan), None, [1, 2], BOTH)
    assert np.isnan([ours.loglik[0], ours.n_components[0], *ours.weights.ravel()]).all()


def test_classes_are_between_quantiles():
    """Of ten values three classes begin at the type-7 quantiles 1/3 and 2/3; where a quantile is
    tied, each has a value of its own."""
    assert quantile_classes(np.arange(10.0)[None], np.array([10]), 3).tolist() == [[0, 3, 6, 10]]
    starts = quantile_classes(np.array([[1.0, 1.0, 1.0, 1.0, 2.0, 3.0]]), np.array([6]), 3)
    assert (np.diff(starts) > 0).all()


def test_units_count_alike():
    """A unit with two runs and one with a single run have half the weight each; even units need no
    weights."""
    ragged = np.array([[[1.0, 2.0], [3.0, np.nan]]])
    sample, weights = weighted_samples(ragged)
    assert weights[0].tolist() == [0.75, 0.75, 1.5, 0.0]
    assert sample.shape == (1, 4)
    assert weighted_samples(np.ones((1, 2, 2)))[1] is None


def test_only_fits_that_may_win_go_on(monkeypatch):
    """Bringing every fit to its maximum, and not only those near the best BIC, chooses the same
    fits."""
    rows = np.stack([two_modes(60, seed) for seed in range(6)])
    subset = fit_mixtures(rows, None, range(1, 5), BOTH)
    monkeypatch.setattr(mixture, "MARGIN", np.inf)
    everything = fit_mixtures(rows, None, range(1, 5), BOTH)
    assert (subset.n_components == everything.n_components).all()
    assert (subset.loglik == everything.loglik).all()


def test_how_many_fits_go_on_together_does_not_matter(monkeypatch):
    """One fit at a time, all at once or some that are replaced when they end: the same steps, the
    same maxima."""
    rows = np.stack([two_modes(60, seed) for seed in range(3)])
    for tolerance in (1e-5, None):
        result = []
        for active in (1, 2_000, 1 << 30):
            monkeypatch.setattr(pool, "ACTIVE", active)
            result.append(fit_mixtures(rows, None, range(1, 4), BOTH, tolerance=tolerance))
        for second in result[1:]:
            assert (second.n_iterations == result[0].n_iterations).all()
            assert np.allclose(second.loglik, result[0].loglik, rtol=1e-12)
            assert np.allclose(second.means, result[0].means, rtol=1e-9, equal_nan=True)


def test_the_compiled_exponential_has_all_digits():
    """Where sums may be taken in any order, as in a step of EM, the exponential keeps its own: it
    is right to 4e-16 from -690 to 0."""
    numba = pytest.importorskip("numba")
    from perfarray.mixtures.numerics.compiled import _exp

    @numba.njit(fastmath={"reassoc", "contract", "nsz"})
    def exponentials(x):
        result = np.empty_like(x)
        for index in range(len(x)):
            result[index] = _exp(x[index])
        return result

    x = -np.concatenate([np.linspace(0, 1, 10_001), np.linspace(0, 690, 100_001)])
    exact = np.exp(x.astype(np.longdouble))
    if np.finfo(np.longdouble).eps > 1e-18:
        pytest.skip("long doubles of this machine are doubles")
    assert np.abs(exponentials(x) / exact - 1).max() < 4e-16


@pytest.mark.parametrize(
    ("seed", "number", "model"), [(83, 2, "unequal"), (32, 3, "equal"), (299, 3, "unequal")]
)
def test_slow_fits_reach_the_maximum_of_plain_em(seed, number, model):
    """Where components nearly coincide, accelerated EM converges at no lower a likelihood than
    plain EM, in less than half of its steps."""
    rng = np.random.default_rng(seed)
    sample = rng.normal(np.where(rng.random(35) < 0.5, 1.0, 1.1), 0.05)
    accelerated = fit(sample, number, model)
    plain = fit(sample, number, model, tolerance=1e-14)
    assert accelerated.converged[0]
    assert accelerated.loglik[0] >= plain.loglik[0] - 1e-9
    assert accelerated.n_iterations[0] < plain.n_iterations[0] / 2
