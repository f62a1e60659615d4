"""A model's pictures: bars in order, measured against predicted, partial dependence."""

import numpy as np
import pandas as pd
import pytest

import perfarray
from perfarray.plots import explained
from picture_parts import legend, rows, title


@pytest.fixture
def model():
    """Variation that grows with cores and not with the clock."""
    chance = np.random.default_rng(1)
    cores = chance.integers(1, 30, 120).astype(float)
    noise = 0.1 * chance.standard_normal(120)
    table = pd.DataFrame(
        {
            "relative_variation": np.exp(0.1 * cores + noise),
            "cpu_mhz": chance.uniform(2000, 4000, 120),
            "cores": cores,
            "os": pd.Categorical(["aix", "linux"] * 60),
        }
    )
    return table.perf.explain_variation(model="ols", rng=1)


def test_bars_are_sorted(model):
    """The most influential on top; grey is what may be chance."""
    ax = model.plot()
    assert rows(ax) == model.influence.index.tolist()
    widths = {patch.get_y() + patch.get_height() / 2: patch.get_width() for patch in ax.patches}
    np.testing.assert_allclose([widths[place] for place in sorted(widths)], model.influence)
    assert ax.get_legend().get_texts()[0].get_text() == "more than chance"
    first, second = " ".join(title(ax).splitlines()).split("? ")
    assert first == "What explains log relative_variation"
    found = model.to_dataset()
    assert 0.99 < model.correlation < found["correlation_upper"] < 0.999  # three digits tell it from 1
    limits = f"[{float(found['correlation_lower']):.3f}, {float(found['correlation_upper']):.3f}]"
    assert second == f"Correlation {model.correlation:.3f} {limits} on {found.sizes['row']} rows not fitted"


def test_nothing_is_surely_more_than_chance_without_a_prediction():
    """Where the interval of the correlation holds 0, every bar is grey and the title says so."""
    chance = np.random.default_rng(8)
    table = pd.DataFrame({"relative_variation": np.exp(chance.standard_normal(40)), "cores": chance.uniform(1, 9, 40)})
    model = table.perf.explain_variation(model="ols", rng=1)
    assert model.to_dataset().attrs["better_than_mean"] == 0
    forced = model.to_dataset().assign(lower=("predictor", [0.1]))
    ax = forced.perf.plot()
    assert legend(ax) == ["may be chance"]
    assert " ".join(title(ax).splitlines()).endswith("rows not fitted, not shown to be better than the mean")
    figure = ax.get_figure()
    figure.canvas.draw()
    assert ax._left_title.get_window_extent().x1 <= figure.bbox.x1


def test_coefficients(model):
    """A point at each coefficient but the intercept, a line between its limits; several responses have a colour each."""
    found = model.to_dataset()
    ax = model.plot(kind="coefficients")
    np.testing.assert_allclose(ax.collections[1].get_offsets()[:, 0], found["coefficient"][1:])
    ends = np.array([segment[:, 0] for segment in ax.collections[0].get_segments()])
    np.testing.assert_allclose(ends, np.stack([found["coefficient_lower"], found["coefficient_upper"]], axis=1)[1:])
    times = perfarray.simulate(
        sizes={"execution": 4, "iteration": 3}, variances={"execution": 0.1, "iteration": 0.1}, mean=10.0, dims={"machine": 20}, rng=1
    )["time"].assign_coords(cores=("machine", np.arange(20.0)))
    every = times.perf.explain_variation(response="levels", model="gamma", rng=1)
    ax = every.plot()
    places = [float(points.get_offsets()[0, 1]) for points in ax.collections[1::2]]
    assert ax.get_ylim() == (0.5, -0.5)
    assert all(-0.4 < place < 0.4 for place in places)  # none on the frame
    assert legend(ax) == ["performance", "execution_variance", "iteration_variance"]
    with pytest.raises(ValueError, match="kind='influence' needs 'influence'"):
        every.plot(kind="influence")


def test_of_many_coefficients_the_extremes_are_drawn(model):
    """A figure is no higher than a sheet: the lowest and the highest coefficients, and the title says how many there are."""
    result = model.to_dataset()
    many = result.isel(term=[0] + [1] * 80).assign_coords(term=["Intercept", *(f"t{number}" for number in range(80))])
    many["coefficient"].values[1:] = np.arange(80.0)
    ax = explained(many, kind="coefficients")
    assert rows(ax) == [f"t{number}" for number in (*range(25), *range(55, 80))]
    assert title(ax).endswith("50 of 80: lowest and highest coefficient")


def test_measured_against_predicted(model):
    """A point for each test row, and the correlation in the title."""
    ax = model.plot(kind="predicted")
    np.testing.assert_allclose(ax.collections[0].get_offsets()[:, 1], model.to_dataset()["measured"])
    assert f"Correlation {model.correlation:.3f}" in title(ax)


def test_dependence(model):
    """A line for numbers, which rises by 0.1 for each core; labels for categories."""
    line = model.plot(kind="dependence").lines[0]
    slope = model.result.params["cores"]
    np.testing.assert_allclose(np.diff(line.get_ydata()) / np.diff(line.get_xdata()), slope)
    assert slope == pytest.approx(0.1, abs=0.01)
    ax = model.plot(kind="dependence", predictor="os")
    assert sorted(text.get_text() for text in ax.get_yticklabels()) == ["aix", "linux"]


def test_messages(model):
    """What came and what there is."""
    with pytest.raises(ValueError, match="kind='bars' is not known"):
        model.plot(kind="bars")
    with pytest.raises(ValueError, match="'speed' has no partial dependence; there is one of"):
        model.plot(kind="dependence", predictor="speed")
