"""The gallery: its blocks run, draw one picture each, show every picture of the package, and the
numbers of their results."""

import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

from perfarray import plots
from picture_parts import bars, heights, histogram, points, segments, side_texts, texts

PAGE = Path(__file__).parents[2] / "docs" / "gallery" / "index.md"
BLOCKS = re.compile(r"^##+ (?P<heading>[^\n]*)$|^```python\n(?P<code>.*?)^```$", re.M | re.S)
PICTURES = sorted(set(plots.__all__) - {"PICTURES", "draw", "facets"})

pytestmark = pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")


@pytest.fixture(scope="module")
def gallery():
    """Run the page: by heading the result and the Axes, and which pictures were drawn."""
    pictures, names_drawn, space, heading = {}, set(), {}, ""
    originals = {name: getattr(plots, name) for name in PICTURES}

    def recording(name):
        return lambda *args, **keywords: (
            names_drawn.add(name),
            originals[name](*args, **keywords),
        )[1]

    with pytest.MonkeyPatch.context() as patch:
        for name in PICTURES:
            patch.setattr(plots, name, recording(name))
        for block in BLOCKS.finditer(PAGE.read_text(encoding="utf-8")):
            heading = block["heading"] or heading
            if block["code"] is None:
                continue
            exec(block["code"], space)
            if heading:
                pictures[heading] = (
                    dict(space),
                    [plt.figure(number).axes[0] for number in plt.get_fignums()],
                )
            plt.close("all")
    return pictures, names_drawn


def flat(*arrays):
    return np.concatenate([array.values.ravel() for array in arrays])


def checks_of_regions(result, ax):
    """Every outline is as many standard deviations from the score as the result says."""
    outlines = [
        path.vertices
        for path in next(
            block for block in ax.collections if "region" in block.get_label()
        ).get_paths()
    ]
    first_two = result.isel(principal_component=slice(2), principal_component_2=slice(2))
    differences = np.stack(outlines) - first_two["score"].values[:, None]
    reached = np.sqrt(
        np.einsum(
            "mpi,mij,mpj->mp",
            differences,
            np.linalg.inv(first_two["score_covariance"].values),
            differences,
        )
    )
    return [(reached, np.broadcast_to(result["region_radius"].values[:, None], reached.shape))]


def runs(array):
    """Return runs in ascending order: executions of which iterations that count are averaged."""
    return np.sort(array["time"].where(~array["warmup"]).mean("iteration").values.ravel())


def checks_of_profile(times, ax):
    """Steps lie at the times over the fastest, in ascending order, and end at the share solved."""
    seconds = times.isel(execution=0).transpose("solver", "benchmark").values
    factors = np.where(seconds > 2, np.inf, seconds) / seconds.min(axis=0)
    curves = [line for line in ax.lines if line.get_gid() != "limits"]
    ends = [line.get_ydata()[-1] for line in curves]
    return [(ends, np.isfinite(factors).mean(axis=1))] + [
        (line.get_xdata()[1:-1], np.sort(row[np.isfinite(row)]))
        for line, row in zip(curves, factors, strict=True)
    ]


def checks_of_counts(page, ax):
    result = page["result"]
    yield points(ax, "execution")[:2], flat(result["maximum"].sel(level="execution"))[:2]


def checks_of_run_sequence(page, ax):
    lines = [artist.get_ydata() for artist in ax.lines if artist.get_gid() == "values"]
    times = page["one"]["time"].values
    yield lines, times[[int(label.get_text()) for label in ax.get_xticklabels()]]


def checks_of_lag(page, ax):
    cell = page["c_suite"].isel(benchmark=0, flags=0)
    means = cell["time"].where(~cell["warmup"]).mean("iteration").values
    yield (
        np.sort(np.concatenate([block.get_offsets()[:, 1] for block in ax.collections])),
        np.sort(means[:, 1:].ravel()),
    )


def checks_of_points(page, ax):
    for version in page["malloc"]["version"].values:
        cells = [
            page["malloc"]
            .sel(benchmark=name)
            .sel(version=[page["malloc"]["version"].values[0], version])
            for name in page["malloc"]["benchmark"].values
        ]
        pairs = [(runs(cell.isel(version=0)), runs(cell.isel(version=1))) for cell in cells]
        yield (
            np.concatenate([line.get_xdata() for line in ax.lines if line.get_label() == version]),
            np.concatenate(
                [new / np.quantile(old, 0.5, method="inverted_cdf") for old, new in pairs]
            ),
        )


def checks_of_violins(page, ax):
    cells = [
        page["malloc"].sel(version="malloc", benchmark=name)
        for name in page["malloc"]["benchmark"].values
    ]
    medians = [np.quantile(runs(cell), 0.5, method="inverted_cdf") for cell in cells]
    quartiles = [np.quantile(runs(cell), [0.25, 0.75], method="inverted_cdf") for cell in cells]
    yield (
        segments(ax, "quartiles", 1),
        [ends / median for ends, median in zip(quartiles, medians, strict=True)],
    )


def checks_of_distributions(page, ax):
    (gap,) = ax.collections
    ((position, low), (_, high)) = gap.get_segments()[0]
    fitted, ordered = page["result"].cdf(position).item(), np.sort(flat(page["runs"]["time"]))
    yield min(abs(low - fitted), abs(high - fitted)), 0
    yield (
        next(artist.get_xdata() for artist in ax.lines if artist.get_label() == "runs")[1:-1],
        ordered,
    )


SHOWN = {
    "What was counted": checks_of_counts,
    "Measurements in their order": checks_of_run_sequence,
    "Measurements against earlier ones": checks_of_lag,
    "Measurements against what else was recorded": lambda page, ax: [
        (
            np.concatenate([block.get_offsets()[:, 1] for block in ax.collections]),
            page["runs"]["time"].values[
                (~page["runs"]["warmup"] & page["runs"]["time"].notnull()).values
            ],
        )
    ],
    "Autocorrelation": lambda page, ax: [
        (ax.lines[0].get_ydata(), page["result"]["pooled_autocorrelation"][1:])
    ],
    "Becoming steady": lambda page, ax: [
        (
            [[bar.get_width() for bar in artist] for artist in ax.containers],
            [
                (page["result"]["kind"] == artist.get_label().replace(" ", "_")).sum("execution")
                for artist in ax.containers
            ],
        )
    ],
    "Runs as points": checks_of_points,
    "Runs as violins": checks_of_violins,
    "Runs over each other": lambda page, ax: [
        (
            artist.get_xdata(),
            runs(page["malloc"].sel(benchmark="sort_strings", version=artist.get_label())),
        )
        for artist in ax.lines
    ],
    "Variance components": lambda page, ax: [
        (
            sorted(bar.get_width() for bar in ax.patches),
            np.sort(100 * flat(page["result"]["share"].fillna(0))),
        )
    ],
    "A plan": lambda page, ax: [
        (
            sorted(artist.get_ydata()[0] for artist in ax.lines if len(artist.get_ydata()) == 1),
            np.sort(100 * flat(page["result"]["half_width"])),
        )
    ],
    "Stability of estimators": lambda page, ax: [
        (heights(ax, name), 100 * page["result"]["relative_standard_deviation"].sel(statistic=name))
        for name in ("mean", "median", "quartile", "min")
    ],
    "Normality": lambda page, ax: [(points(ax, "p"), flat(page["result"]["pvalue"]))],
    "How often rules are wrong": lambda page, ax: [
        (points(ax, kind="rate"), 100 * flat(page["result"]["false_alarm_rate"]))
    ],
    "Speedups": lambda page, ax: [(points(ax), flat(page["result"]["estimate"]))],
    "Performance profile": lambda page, ax: checks_of_profile(page["solvers"]["time"], ax),
    "How much scores vary": lambda page, ax: [
        (points(ax), 100 * flat(page["result"].sortby("performance")["relative_variation"]))
    ],
    "How far samples of a mixture lie from it": lambda page, ax: [
        (bars(ax), histogram(flat(page["result"]["null_distance"]))),
        (segments(ax, "data")[0][0], page["result"]["statistic"].item()),
    ],
    "What the modes are made of": lambda page, ax: [
        (
            np.add.reduce([[bar.get_width() for bar in artist] for artist in ax.containers]),
            np.ones(12),
        ),
        (
            [bar.get_width() for bar in ax.containers[1]][:8],
            flat(page["result"]["share"].sel(factor="binary", mode=2)[:, 4:]),
        ),
    ],
    "Which run is faster": lambda page, ax: [(points(ax), flat(page["result"]["estimate"]))],
    "How far apart two runs are": lambda page, ax: [
        (points(ax), flat(page["result"]["estimate"])),
        (points(ax, "two runs of the baseline"), flat(page["result"]["baseline_difference"])),
    ],
    "Scores of many machines": lambda page, ax: [
        (
            [bar.get_height() for bar in ax.patches],
            np.histogram(flat(page["result"]["estimate"]), 30)[0],
        )
    ],
    "Means": lambda page, ax: [(points(ax), flat(page["result"]["estimate"]))],
    "Ratios": lambda page, ax: [
        (points(ax), flat(page["result"]["estimate"], page["result"]["suite_estimate"]))
    ],
    "Facets": lambda page, ax: [
        (
            points(panel),
            flat(
                *(
                    page["result"][name].isel(machine=position)
                    for name in ("estimate", "suite_estimate")
                )
            ),
        )
        for position, panel in enumerate(ax.figure.axes)
    ],
    "p-values of a study": lambda page, ax: [
        # below, arrows
        (points(ax, "p"), [p for p in np.sort(flat(page["result"]["pvalue_adjusted"])) if p > 1e-6])
    ],
    "What the suite tells of the errors": lambda page, ax: [
        (ax.lines[index].get_ydata(), 100 * flat(page["result"][name]))
        for index, name in enumerate(("unmoderated_standard_error", "standard_error"))
    ],
    "Bootstrap distribution": lambda page, ax: [
        (
            bars(ax),
            histogram(
                flat(page["result"].sel(version="malloc")[0])
                / flat(page["result"].sel(version="pymalloc")[0])
            ),
        )
    ],
    "What all methods say": lambda page, ax: [
        (
            len(ax.get_xticks()) + len(ax.get_xlabel().split(", ")),
            page["result"].sizes["method"],
        )
    ],
    "The Speedup-Test": lambda page, ax: [
        (
            [float(text.partition(",")[0]) for text in side_texts(ax)],
            flat(page["result"]["speedup"]).round(3),
        )
    ],
    "Since when": lambda page, ax: [
        (
            [float(text.partition("x")[0]) for text in texts(ax, "change")],
            [float(text.partition("x")[0]) for text in page["result"].perf.table()["change"]],
        )
    ],
    "Scores": lambda page, ax: [
        (ax.lines[0].get_xdata(), np.sort(flat(page["result"]["estimate"])))
    ],
    "Scores of single runs": lambda page, ax: [
        (
            [artist.get_xdata()[0] for artist in ax.lines if artist.get_label() == "suite score"],
            page["result"]["suite_score"],
        )
    ],
    "Five numbers": lambda page, ax: [
        (np.sort(segments(ax, "median"), axis=0)[:, 0], np.sort(flat(page["result"]["median"]))),
        (
            segments(ax, "minimum to maximum"),
            np.stack(
                [flat(page["result"].sortby("median")[name]) for name in ("minimum", "maximum")], 1
            ),
        ),
    ],
    "Ratio of two scores, and without each benchmark": lambda page, ax: [
        (points(ax), flat(page["result"]["estimate"], page["result"]["estimate_without"]))
    ],
    "Intervals of many replications": lambda page, ax: [
        (heights(ax, "estimate"), flat(page["result"]["estimate"]))
    ],
    "What the limits are read off": lambda page, ax: [
        (bars(ax), histogram(page["result"]["distribution"].isel(machine=0))),
        (
            segments(ax, "95 % interval"),
            np.stack([flat(page["result"][name]) for name in ("lower", "upper")], 1),
        ),
    ],
    "Exchanges": lambda page, ax: [
        (bars(ax), histogram(page["result"]["null_distribution"].isel(machine=0))),
        ([ends[0] for ends in segments(ax, "observed")], flat(page["result"]["statistic"])),
    ],
    "Randomization test": lambda page, ax: [(points(ax, "p"), flat(page["result"]["pvalue"]))],
    "Required runs": lambda page, ax: [
        (
            next(artist.get_ydata() for artist in ax.lines if artist.get_gid() == "estimates"),
            flat(page["result"]["estimate"]),
        )
    ],
    "A mixture": lambda page, ax: [
        (
            next(artist.get_xdata() for artist in ax.lines if artist.get_marker() == "|"),
            np.sort(flat(page["runs"]["time"])),
        )
    ],
    "Two metrics together": lambda page, ax: [
        (
            [
                artist.get_xydata()[0]
                for artist in ax.lines
                if artist.get_label() == "mean of a component"
            ],
            page["result"].to_dataset()["mean"].isel(benchmark=0).dropna("component"),
        )
    ],
    "Distribution of runs and mixture": checks_of_distributions,
    "The Speedup-Test's report": lambda page, ax: [
        (
            sorted(
                value
                for artist in ax.lines
                if artist.get_marker() == "D"
                for value in artist.get_xdata()
            ),
            np.sort(
                [
                    *page["result"].sel(statistic="median")["speedup"],
                    page["result"].sel(statistic="median")["overall_speedup"],
                ]
            ),
        )
    ],
    "Units for a decision": lambda page, ax: [
        (ax.lines[0].get_ydata(), 100 * flat(page["result"]["smallest_change"]))
    ],
    "When to stop": lambda page, ax: [
        (ax.lines[0].get_ydata(), 100 * flat(page["result"]["half_width"]))
    ],
    "Modes that the runs support": lambda page, ax: [
        (points(ax, "supported by the runs"), flat(page["result"]["n_supported"]))
    ],
    "Machines relative to the median machine": lambda page, ax: [
        (
            next(block.get_array() for block in ax.collections if block.get_gid() == "cells"),
            page["result"]
            .sortby("mean_ratio")
            .sortby("spread", ascending=False)["ratio"]
            .transpose("machine", "benchmark"),
        )
    ],
    "Which machines behave alike": lambda page, ax: [
        (
            sorted(artist.get_xdata()[1] for artist in ax.lines if artist.get_gid() == "join"),
            np.sort(page["result"]["join_distance"].dropna("machine")),
        )
    ],
    "Biplot": lambda page, ax: [
        (
            next(block.get_offsets() for block in ax.collections if "score" in block.get_label()),
            page["result"]["score"][:, :2],
        )
    ],
    "Where machines may lie": lambda page, ax: checks_of_regions(page["result"], ax),
    "Variance that components explain": lambda page, ax: [
        ([bar.get_height() for bar in ax.patches], 100 * page["result"]["explained_variance_ratio"])
    ],
    "What explains the variation": lambda page, ax: [
        (
            sorted(bar.get_width() for bar in ax.patches),
            np.sort(100 * page["result"].to_dataset()["explained"].values),
        )
    ],
}
"""By the heading of its block, what a picture shows, and the numbers that it has to show."""


def test_no_picture_is_missing(gallery):
    """Every picture of the package is in the gallery, and every block of the gallery is held to
    numbers page."""
    pictures, names_drawn = gallery
    assert names_drawn == set(PICTURES)
    assert set(pictures) == set(SHOWN)


@pytest.mark.parametrize("heading", SHOWN)
def test_a_picture_shows_its_numbers(gallery, heading):
    """One figure a block, with the numbers of the result in it."""
    page, axes = gallery[0][heading]
    assert len(axes) == 1
    for coordinates, numbers in SHOWN[heading](page, axes[0]):
        np.testing.assert_allclose(coordinates, numbers, rtol=1e-9, atol=1e-12)
