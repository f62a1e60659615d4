"""Newton's method ends where EM does, sooner: for long ways, of every law, with one spread and
several."""

import numpy as np
import pytest

from perfarray.mixtures.numerics import em
from perfarray.mixtures.numerics.fit import FitRequest, fit_mixtures
from perfarray.mixtures.numerics.laws import GUMBEL, LOG_GAMMA, NORMAL
from perfarray.mixtures.numerics.newton import climb
from perfarray.mixtures.numerics.pool import Theta


@pytest.mark.parametrize(
    ("seed", "number", "model"), [(83, 2, "unequal"), (32, 3, "equal"), (299, 3, "unequal")]
)
def test_long_ways_end_where_em_does(monkeypatch, seed, number, model):
    """A fit for which accelerated EM alone takes hundreds of steps has the same maximum in
    fewer."""
    rng = np.random.default_rng(seed)
    sample = rng.normal(np.where(rng.random(35) < 0.5, 1.0, 1.1), 0.05)
    request = FitRequest(numbers=[number], models=[model])
    ours = fit_mixtures(sample[None], None, request)
    monkeypatch.setattr(em, "LONG", em.MOST_STEPS)
    theirs = fit_mixtures(sample[None], None, request)
    assert ours.converged[0]
    assert theirs.n_iterations[0] > ours.n_iterations[0]
    assert ours.loglik[0] == pytest.approx(theirs.loglik[0], abs=1e-9)
    for one, other in zip(ours[:3], theirs[:3], strict=True):
        assert np.allclose(one, other, rtol=1e-3)


@pytest.mark.parametrize("law", [NORMAL, GUMBEL, LOG_GAMMA])
@pytest.mark.parametrize("equal", [True, False])
def test_it_climbs_to_the_modes(equal, law):
    """Two wide components between two modes: the way goes up to these, and the slope at its end is
    none."""
    rng = np.random.default_rng(1)
    values = np.sort(rng.normal(np.repeat([-1.0, 1.0], 100), 0.3))
    counts = rng.uniform(0.5, 1.5, 200)
    end = climb(
        values,
        counts,
        0.1,
        law,
        Theta(np.full(2, 0.5), np.array([-0.6, 0.6]), np.full(2, values.var())),
        equal,
    )
    assert end.converged
    assert end.n_steps < 80
    assert np.allclose(end.theta.means, [-1, 1], atol=0.2)
    weights, means, variances = (part[:, None] for part in end.theta)

    def loglik(means, variances):
        """Return the log-likelihood of parameters, up to a constant."""
        densities = np.exp(law.log_density(0.1 * (values - means), 0.1 * np.sqrt(variances)))
        return counts @ np.log((weights * densities).sum(axis=0))

    best = loglik(means, variances)
    for move in (-1e-3, 1e-3):
        assert loglik(means + np.array([[move], [0]]), variances) < best
        assert loglik(means, variances * (1 + move)) < best


def test_where_components_coincide_no_maximum_is_claimed():
    """One component written as two has no slope and no curvature to tell a maximum from a
    saddle."""
    values = np.linspace(-1, 1, 40)
    same = Theta(np.array([0.4, 0.6]), np.zeros(2), np.full(2, values.var()))
    assert not climb(values, np.ones(40), 1.0, NORMAL, same, True).converged
