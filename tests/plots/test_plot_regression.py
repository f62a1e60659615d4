"""A model's pictures: bars in order, measured against predicted, partial dependence."""

import numpy as np
import pandas as pd
import pytest

import perfarray  # noqa: F401  (registers .perf)


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
    assert [text.get_text() for text in ax.get_yticklabels()] == model.influence.index.tolist()
    widths = {patch.get_y() + patch.get_height() / 2: patch.get_width() for patch in ax.patches}
    np.testing.assert_allclose([widths[place] for place in sorted(widths)], model.influence)
    assert ax.get_legend().get_texts()[0].get_text() == "more than chance"
    assert ax.get_title(loc="left") == "What explains log relative_variation"


def test_measured_against_predicted(model):
    """A point for each test row, and the correlation in the title."""
    ax = model.plot(kind="predicted")
    np.testing.assert_allclose(ax.collections[0].get_offsets()[:, 1], model.to_dataset()["measured"])
    assert f"Correlation {model.correlation:.2f}" in ax.get_title(loc="left")


def test_dependence(model):
    """A line for numbers, which rises by 0.1 for each core; labels for categories."""
    line = model.plot(kind="dependence").lines[0]
    np.testing.assert_allclose(np.diff(line.get_ydata()) / np.diff(line.get_xdata()), 0.1, atol=0.01)
    ax = model.plot(kind="dependence", predictor="os")
    assert sorted(text.get_text() for text in ax.get_yticklabels()) == ["aix", "linux"]


def test_messages(model):
    """What came and what there is."""
    with pytest.raises(ValueError, match="kind='bars' is not known"):
        model.plot(kind="bars")
    with pytest.raises(ValueError, match="'speed' has no partial dependence; there is one of"):
        model.plot(kind="dependence", predictor="speed")
