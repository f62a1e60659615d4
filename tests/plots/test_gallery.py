"""The gallery: its blocks run, draw one picture each, show every picture of the package, and the numbers of their results."""

import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

from perfarray import plots
from picture_parts import bars, beside, heights, histogram, points, segments, texts

PAGE = Path(__file__).parents[2] / "docs" / "gallery" / "index.md"
BLOCKS = re.compile(r"^##+ (?P<heading>[^\n]*)$|^```python\n(?P<code>.*?)^```$", re.M | re.S)
PICTURES = sorted(set(plots.__all__) - {"PICTURES", "draw", "facets"})

pytestmark = pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")


@pytest.fixture(scope="module")
def gallery():
    """Run the page: by heading the result and the Axes, and which pictures were drawn."""
    found, drawn, space, heading = {}, set(), {}, ""
    originals = {name: getattr(plots, name) for name in PICTURES}

    def recording(name):
        return lambda *args, **keywords: (drawn.add(name), originals[name](*args, **keywords))[1]

    with pytest.MonkeyPatch.context() as patch:
        for name in PICTURES:
            patch.setattr(plots, name, recording(name))
        for part in BLOCKS.finditer(PAGE.read_text(encoding="utf-8")):
            heading = part["heading"] or heading
            if part["code"] is None:
                continue
            exec(part["code"], space)
            if heading:
                found[heading] = (dict(space), [plt.figure(number).axes[0] for number in plt.get_fignums()])
            plt.close("all")
    return found, drawn


def flat(*arrays):
    """Return the values of arrays one after the other."""
    return np.concatenate([array.values.ravel() for array in arrays])


def checks_of_regions(result, ax):
    """Every outline is as many standard deviations from the score as the result says."""
    outlines = [path.vertices for path in next(part for part in ax.collections if "region" in part.get_label()).get_paths()]
    two = result.isel(principal_component=slice(2), principal_component_2=slice(2))
    apart = np.stack(outlines) - two["score"].values[:, None]
    reached = np.sqrt(np.einsum("mpi,mij,mpj->mp", apart, np.linalg.inv(two["score_covariance"].values), apart))
    return [(reached, np.broadcast_to(result["region_radius"].values[:, None], reached.shape))]


def runs(array):
    """Return runs in ascending order: executions of which iterations that count are averaged."""
    return np.sort(array["time"].where(~array["warmup"]).mean("iteration").values.ravel())


def checks_of_counts(here, ax):
    result = here["result"]
    yield points(ax, "execution")[:2], flat(result["maximum"].sel(level="execution"))[:2]


def checks_of_run_sequence(here, ax):
    drawn = [own.get_ydata() for own in ax.lines if own.get_gid() == "values"]
    every = here["one"]["time"].values
    yield drawn, every[[int(label.get_text()) for label in ax.get_xticklabels()]]


def checks_of_lag(here, ax):
    cell = here["c_suite"].isel(benchmark=0, flags=0)
    means = cell["time"].where(~cell["warmup"]).mean("iteration").values
    yield np.sort(np.concatenate([part.get_offsets()[:, 1] for part in ax.collections])), np.sort(means[:, 1:].ravel())


def checks_of_violins(here, ax):
    cells = [here["malloc"].sel(version="malloc", benchmark=name) for name in here["malloc"]["benchmark"].values]
    medians = [np.quantile(runs(cell), 0.5, method="inverted_cdf") for cell in cells]
    quartiles = [np.quantile(runs(cell), [0.25, 0.75], method="inverted_cdf") for cell in cells]
    yield segments(ax, "quartiles", 1), [own / median for own, median in zip(quartiles, medians, strict=True)]


def checks_of_distributions(here, ax):
    (gap,) = ax.collections
    ((place, low), (_, high)) = gap.get_segments()[0]
    fitted, ordered = here["result"].cdf(place).item(), np.sort(flat(here["runs"]["time"]))
    yield min(abs(low - fitted), abs(high - fitted)), 0
    yield next(own.get_xdata() for own in ax.lines if own.get_label() == "runs")[1:-1], ordered


SHOWN = {
    "What was counted": checks_of_counts,
    "Measurements in their order": checks_of_run_sequence,
    "Measurements against earlier ones": checks_of_lag,
    "Measurements against what else was recorded": lambda here, ax: [
        (np.concatenate([part.get_offsets()[:, 1] for part in ax.collections]),
         here["runs"]["time"].values[(~here["runs"]["warmup"] & here["runs"]["time"].notnull()).values])],
    "Autocorrelation": lambda here, ax: [(ax.lines[0].get_ydata(), here["result"]["pooled_autocorrelation"][1:])],
    "Becoming steady": lambda here, ax: [
        ([[bar.get_width() for bar in own] for own in ax.containers],
         [(here["result"]["kind"] == own.get_label().replace(" ", "_")).sum("execution") for own in ax.containers])],
    "Runs as violins": checks_of_violins,
    "Runs over each other": lambda here, ax: [
        (own.get_xdata(), runs(here["malloc"].sel(benchmark="sort_strings", version=own.get_label()))) for own in ax.lines],
    "Variance components": lambda here, ax: [
        (sorted(bar.get_width() for bar in ax.patches), np.sort(100 * flat(here["result"]["share"].fillna(0))))],
    "A plan": lambda here, ax: [
        (sorted(own.get_ydata()[0] for own in ax.lines if len(own.get_ydata()) == 1),
         np.sort(100 * flat(here["result"]["half_width"])))],
    "Stability of estimators": lambda here, ax: [
        (heights(ax, name), 100 * here["result"]["relative_standard_deviation"].sel(statistic=name))
        for name in ("mean", "median", "quartile", "min")],
    "Normality": lambda here, ax: [(points(ax, "p"), flat(here["result"]["pvalue"]))],
    "How often rules are wrong": lambda here, ax: [(points(ax, kind="rate"), 100 * flat(here["result"]["false_alarm_rate"]))],
    "Speedups": lambda here, ax: [(points(ax), flat(here["result"]["estimate"]))],
    "How much scores vary": lambda here, ax: [(points(ax), flat(here["result"]["relative_variation"]))],
    "How far samples of a mixture lie from it": lambda here, ax: [
        (bars(ax), histogram(flat(here["result"]["null_distance"]))),
        (segments(ax, "data")[0][0], here["result"]["statistic"].item())],
    "What the modes are made of": lambda here, ax: [
        (np.add.reduce([[bar.get_width() for bar in own] for own in ax.containers]), np.ones(12)),
        ([bar.get_width() for bar in ax.containers[1]][:8], flat(here["result"]["share"].sel(factor="binary", mode=2)[:, 4:]))],
    "Which run is faster": lambda here, ax: [(points(ax), flat(here["result"]["estimate"]))],
    "How far apart two runs are": lambda here, ax: [
        (points(ax), flat(here["result"]["estimate"])),
        (points(ax, "two runs of the baseline"), flat(here["result"]["baseline_difference"]))],
    "Means": lambda here, ax: [(points(ax), flat(here["result"]["estimate"]))],
    "Ratios": lambda here, ax: [(points(ax), flat(here["result"]["estimate"], here["result"]["suite_estimate"]))],
    "Facets": lambda here, ax: [
        (points(own), flat(*(here["result"][name].isel(machine=place) for name in ("estimate", "suite_estimate"))))
        for place, own in enumerate(ax.figure.axes)],
    "p-values of a study": lambda here, ax: [
        (points(ax, "p"), [p for p in np.sort(flat(here["result"]["pvalue_adjusted"])) if p > 1e-6])],  # below, arrows
    "Bootstrap distribution": lambda here, ax: [(
        bars(ax), histogram(flat(here["result"].sel(version="malloc")[0]) / flat(here["result"].sel(version="pymalloc")[0])))],
    "What all methods say": lambda here, ax: [(len(ax.get_xticks()), here["result"].sizes["method"])],
    "The Speedup-Test": lambda here, ax: [(
        [float(text.partition(",")[0]) for text in beside(ax)],
        flat(here["result"]["speedup"]).round(3))],
    "Since when": lambda here, ax: [(
        [float(text[:-1]) for text in texts(ax, "change")],
        here["result"]["estimate"].values[here["result"]["change"].values].round(2))],
    "Scores": lambda here, ax: [(ax.lines[0].get_xdata(), flat(here["result"]["estimate"]))],
    "Scores of single runs": lambda here, ax: [
        ([own.get_xdata()[0] for own in ax.lines if own.get_label() == "suite score"], here["result"]["suite_score"])],
    "Five numbers": lambda here, ax: [
        (np.sort(segments(ax, "median"), axis=0)[:, 0], np.sort(flat(here["result"]["median"]))),
        (segments(ax, "minimum to maximum"), np.stack([flat(here["result"][name]) for name in ("minimum", "maximum")], 1))],
    "Ratio of two scores, and without each benchmark": lambda here, ax: [
        (points(ax), flat(here["result"]["estimate"], here["result"]["estimate_without"]))],
    "Intervals of many replications": lambda here, ax: [
        (heights(ax, "estimate"), flat(here["result"]["estimate"]))],
    "What the limits are read off": lambda here, ax: [
        (bars(ax), histogram(here["result"]["distribution"].isel(machine=0))),
        (segments(ax, "95 % interval"), np.stack([flat(here["result"][name]) for name in ("lower", "upper")], 1))],
    "Exchanges": lambda here, ax: [
        (bars(ax), histogram(here["result"]["null_distribution"].isel(machine=0))),
        ([ends[0] for ends in segments(ax, "observed")], flat(here["result"]["statistic"]))],
    "Randomization test": lambda here, ax: [(points(ax, "p"), flat(here["result"]["pvalue"]))],
    "Required runs": lambda here, ax: [
        (next(own.get_ydata() for own in ax.lines if own.get_gid() == "estimates"), flat(here["result"]["estimate"]))],
    "A mixture": lambda here, ax: [
        (next(own.get_xdata() for own in ax.lines if own.get_marker() == "|"), np.sort(flat(here["runs"]["time"])))],
    "Two metrics together": lambda here, ax: [
        ([own.get_xydata()[0] for own in ax.lines if own.get_label() == "mean of a component"],
         here["result"].to_dataset()["mean"].isel(benchmark=0).dropna("component"))],
    "Distribution of runs and mixture": checks_of_distributions,
    "The Speedup-Test's report": lambda here, ax: [
        (sorted(value for own in ax.lines if own.get_marker() == "D" for value in own.get_xdata()),
         np.sort([*here["result"].sel(statistic="median")["speedup"], here["result"].sel(statistic="median")["overall_speedup"]]))],
    "Units for a decision": lambda here, ax: [(ax.lines[0].get_ydata(), 100 * flat(here["result"]["smallest_change"]))],
    "When to stop": lambda here, ax: [(ax.lines[0].get_ydata(), 100 * flat(here["result"]["half_width"]))],
    "Modes that the runs support": lambda here, ax: [(points(ax, "supported by the runs"), flat(here["result"]["n_supported"]))],
    "Biplot": lambda here, ax: [
        (next(part.get_offsets() for part in ax.collections if "score" in part.get_label()), here["result"]["score"][:, :2])],
    "Where machines may lie": lambda here, ax: checks_of_regions(here["result"], ax),
    "Variance that components explain": lambda here, ax: [
        ([bar.get_height() for bar in ax.patches], 100 * here["result"]["explained_variance_ratio"])],
    "What explains the variation": lambda here, ax: [
        (sorted(bar.get_width() for bar in ax.patches), np.sort(here["result"].influence))],
}  # fmt: skip
"""By the heading of its block, what a picture shows, and the numbers that it has to show."""


def test_no_picture_is_missing(gallery):
    """Every picture of the package is in the gallery, and every block of the gallery is held to numbers here."""
    found, drawn = gallery
    assert drawn == set(PICTURES)
    assert set(found) == set(SHOWN)


@pytest.mark.parametrize("heading", SHOWN)
def test_a_picture_shows_its_numbers(gallery, heading):
    """One figure a block, with the numbers of the result in it."""
    here, axes = gallery[0][heading]
    assert len(axes) == 1
    for shown, numbers in SHOWN[heading](here, axes[0]):
        np.testing.assert_allclose(shown, numbers, rtol=1e-9, atol=1e-12)
