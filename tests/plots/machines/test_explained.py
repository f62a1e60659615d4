"""A model's pictures: bars in order, coefficients, measured against predicted, partial
dependence."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from perfarray.plots import explained
from picture_parts import legend, rows, title


@pytest.fixture(scope="module")
def model():
    """Variation that grows with cores and not with the clock."""
    rng = np.random.default_rng(1)
    cores = rng.integers(1, 30, 120).astype(float)
    variation = np.exp(0.1 * cores + 0.1 * rng.standard_normal(120))
    descriptors = {
        "cpu_mhz": rng.uniform(2000, 4000, 120),
        "cores": cores,
        "os": pd.Categorical(["aix", "linux"] * 60),
    }
    return pd.DataFrame({"relative_variation": variation, **descriptors}).perf.explain_variation(
        model="ols", rng=1
    )


def test_bars_are_sorted(model):
    """The most influential on top, with limits; grey may be chance; the title has what all explain
    together."""
    ax = model.plot()
    assert rows(ax) == model.influence.index.tolist()
    widths = {bar.get_y() + bar.get_height() / 2: bar.get_width() for bar in ax.patches}
    result = model.to_dataset()
    np.testing.assert_allclose([widths[y] for y in sorted(widths)], 100 * result["explained"])
    limits = [segment[:, 0] for segment in ax.collections[0].get_segments()]
    np.testing.assert_allclose(
        limits, 100 * np.stack([result["explained_lower"], result["explained_upper"]], axis=1)
    )
    blue = {
        rows(ax)[round(bar.get_y() + bar.get_height() / 2)]
        for bar in ax.patches
        if to_hex(bar.get_facecolor()) == "#0072b2"
    }
    assert blue == set(result["predictor"].values[result["lower"].values > 0]) == {"cores"}
    assert legend(ax) == ["more than chance", "may be chance"]
    assert 0.99 < model.correlation < result["correlation_upper"] < 0.999
    limits = f"[{float(result['correlation_lower']):.3f}, {float(result['correlation_upper']):.3f}]"
    correlation = (
        f"Correlation {model.correlation:.3f} {limits} on {result.sizes['row']} rows not fitted"
    )
    total = ", ".join(
        f"{100 * float(result[f'total_explained_{end}']):.0f}" for end in ("lower", "upper")
    )
    together = f"all together {100 * float(result['total_explained']):.0f} % [{total}]"
    assert title(ax) == f"What explains log relative_variation? {correlation}, {together}"


def test_nothing_is_surely_more_than_chance_without_a_prediction():
    """Where the interval of the explained share contains 0, every bar is grey and the title says
    so, inside the figure."""
    rng = np.random.default_rng(8)
    table = pd.DataFrame(
        {"relative_variation": np.exp(rng.standard_normal(40)), "cores": rng.uniform(1, 9, 40)}
    )
    result = table.perf.explain_variation(model="ols", rng=1).to_dataset()
    assert result.attrs["better_than_mean"] == 0
    ax = result.assign(lower=("predictor", [0.1])).perf.plot()
    assert legend(ax) == ["may be chance"]
    assert title(ax).endswith("rows not fitted, not shown to be better than the mean")
    ax.figure.canvas.draw()
    assert ax._left_title.get_window_extent().x1 <= ax.figure.bbox.x1


def test_coefficients(model):
    """A point at each but the intercept, a line between its limits; of many the extremes."""
    result = model.to_dataset()
    ax = model.plot(kind="coefficients")
    np.testing.assert_allclose(ax.collections[1].get_offsets()[:, 0], result["coefficient"][1:])
    limits = np.stack([result["coefficient_lower"], result["coefficient_upper"]], axis=1)[1:]
    np.testing.assert_allclose(
        [segment[:, 0] for segment in ax.collections[0].get_segments()], limits
    )
    crowded = result.isel(term=[0] + [1] * 80).assign_coords(
        term=["Intercept", *(f"t{number}" for number in range(80))]
    )
    crowded["coefficient"].values[1:] = np.arange(80.0)
    ax = explained(crowded, kind="coefficients")
    assert rows(ax) == [f"t{number}" for number in (*range(25), *range(55, 80))]
    assert title(ax).endswith("50 of 80: lowest and highest coefficient")


def test_measured_against_predicted(model):
    """A point for each test row, and the correlation in the title."""
    ax = model.plot(kind="predicted")
    np.testing.assert_allclose(
        ax.collections[0].get_offsets()[:, 1], model.to_dataset()["measured"]
    )
    assert f"Correlation {model.correlation:.3f}" in title(ax)


def test_dependence(model):
    """A line for numbers, which rises by 0.1 for each core; labels for categories."""
    line = model.plot(kind="dependence").lines[0]
    slope = model.result.params["cores"]
    np.testing.assert_allclose(np.diff(line.get_ydata()) / np.diff(line.get_xdata()), slope)
    assert slope == pytest.approx(0.1, abs=0.01)
    assert sorted(rows(model.plot(kind="dependence", predictor="os"))) == ["aix", "linux"]


def test_dependence_on_the_strongest(model):
    """The three strongest stand side by side on one scale; on Axes that are given the strongest
    alone."""
    first = model.plot(kind="dependence")
    panels = first.figure.axes
    names = [
        name
        for panel in panels
        for name in (panel.get_xlabel(), panel.get_ylabel())
        if not name.startswith("predicted")
    ]
    assert names == model.influence.index.tolist()
    scales = {
        panel.get_ylim() if "predicted" in panel.get_ylabel() else panel.get_xlim()
        for panel in panels
    }
    assert len(scales) == 1
    _, (left, right) = plt.subplots(1, 2)
    assert model.plot(kind="dependence", ax=right) is right
    assert not left.has_data()


def test_numbers_that_double_have_a_logarithmic_axis():
    """From one machine to the next cores double; a predictor of few values has a tick at each."""
    cores = 2.0 ** (np.arange(60) % 7)
    table = pd.DataFrame(
        {
            "machine": range(60),
            "cores": cores,
            "chips": 1 + np.arange(60) % 3,
            "performance": cores**0.5,
        }
    )
    model = table.perf.explain_variation(
        formula="np.log(performance) ~ np.log(cores) + chips", model="ols", rng=1
    )
    assert model.plot(kind="dependence", predictor="cores").get_xscale() == "log"
    chips = model.plot(kind="dependence", predictor="chips")
    assert (chips.get_xscale(), chips.get_xticks().tolist()) == ("linear", [1, 2, 3])


def test_standardised_coefficients_stand_beside_those_in_units(model):
    """A point and its limits for each predictor, and right of it the coefficient in units."""
    result = model.to_dataset()
    ax = model.plot(kind="standardized")
    assert rows(ax) == model.influence.index.tolist()
    np.testing.assert_allclose(
        ax.collections[1].get_offsets()[:, 0], result["standardized_coefficient"]
    )
    coefficients = [text.get_text() for text in ax.texts if text.get_gid() == "beside"]
    assert coefficients == [f"{value:.3g}" for value in result["unit_coefficient"].values]


def test_residuals_against_fitted_values():
    """The rows of the machines that move the fit most have colours and their Cook's distance; all
    other rows are grey."""
    rng = np.random.default_rng(2)
    machines = np.repeat([f"m{number}" for number in range(20)], 3)
    table = pd.DataFrame({"machine": machines, "cores": np.repeat(rng.uniform(1, 9, 20), 3)})
    table["performance"] = np.exp(
        0.2 * table["cores"] + 0.1 * rng.standard_normal(60) + 2.0 * (machines == "m5")
    )
    model = table.perf.explain_variation(response="performance", model="ols", rng=1)
    result = model.to_dataset()
    ax = model.plot(kind="diagnostics")
    weak, strongest = ax.collections[0].get_offsets(), ax.collections[1].get_offsets()
    assert (len(weak), len(strongest)) == (48, 3)
    of_machine = result["fitted_row"].values == "m5"
    np.testing.assert_allclose(strongest[:, 1], result["residual"].values[of_machine])
    assert legend(ax)[0] == f"m5 ({result['cook_distance'].values[of_machine][0]:.2g})"
    with pytest.raises(
        ValueError, match="kind='diagnostics' needs 'residual', which this result does not have"
    ):
        table.perf.explain_variation(response="performance", rng=1).plot(kind="diagnostics")


def test_messages(model):
    with pytest.raises(
        ValueError,
        match=(
            "kind='bars' is not known; choose one of 'influence', 'predicted', 'dependence', "
            "'coefficients', "
        ),
    ):
        model.plot(kind="bars")
    with pytest.raises(ValueError, match="'speed' has no partial dependence; there is one of"):
        model.plot(kind="dependence", predictor="speed")
