"""The level of an interval is one fact, and a verdict that its interval does not show is marked,
wherever they are read."""

import re

import numpy as np
import pytest
from typer.testing import CliRunner

import perfarray
from perfarray.cli import app as cli
from perfarray.conventions import level_of_intervals

RATIOS = (1.2, 1.2, 1.2, 1.0125, 1.0)
"""Holm calls the fourth slower after three that are clear.

Bonferroni's interval of it reaches across 1.
"""


@pytest.fixture
def times():
    spread = np.array([-1.5, -0.8, -0.2, 0.3, 0.9, 1.3]) / 130
    sides = np.array([[10.0 * (1 + spread), 10.0 * ratio * (1 + spread[::-1])] for ratio in RATIOS])
    samples = perfarray.from_samples(
        dict(zip("abcde", sides.tolist(), strict=True)),
        dim="benchmark",
        level=("version", "execution"),
    )
    return samples.assign_coords(version=["old", "new"])


def texts_of_level(times, tmp_path, **choices):
    """Return what the table, the picture, the command and the report say, and the comparison."""
    result = times.perf.compare("old", **choices)
    files = [tmp_path / f"{side}.csv" for side in ("old", "new")]
    for side, file in zip(("old", "new"), files, strict=True):
        file.write_text(times["time"].sel(version=side, drop=True).to_dataframe().to_csv())
    options = [f"--correction={choices['correction']}"] if choices.get("correction") else []
    command = CliRunner().invoke(
        cli.app,
        ["compare", *map(str, files), f"--confidence={choices['confidence_level']}", *options],
    )
    picture = result.perf.plot()
    texts = {
        "table": str(result.perf.table()),
        "picture": " ".join([picture.get_xlabel(), *(text.get_text() for text in picture.texts)]),
        "command": command.stdout,
    }
    if choices["confidence_level"] == 0.95:  # the report has no other
        texts["report"] = times.perf.report(
            "old", format="markdown", **{name: choices[name] for name in options and ["correction"]}
        )
    return result, {name: re.sub(r"\s+", " ", text) for name, text in texts.items()}


@pytest.mark.parametrize("level", [0.95, 0.9])
@pytest.mark.parametrize("correction", [None, "holm", "bh"])
@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
def test_the_level_is_the_same_everywhere(times, tmp_path, correction, level):
    """Table, picture, command and report give the level that the limits have, and no other, but for
    the suite's."""
    result, texts = texts_of_level(times, tmp_path, correction=correction, confidence_level=level)
    share = {None: 1, "holm": 1 / 5, "bh": 4 / 5}[correction]
    np.testing.assert_allclose(result["interval_level"], 1 - share * (1 - level))
    expected = f"{100 * (1 - share * (1 - level)):g} %"
    for text in texts.values():
        assert re.search(rf"(?<![\d.]){re.escape(expected)} (confidence )?interval", text), text
        levels = set(
            re.findall(
                r"([\d.]+) % (?:confidence )?interval", text.partition("Do the methods agree")[0]
            )
        )
        assert levels == {expected.removesuffix(" %")}
        assert correction is None or f"suite {100 * level:g} %" in re.sub(r"'s| is at", "", text)


@pytest.mark.parametrize("correction", [None, "holm", "bh"])
@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
def test_verdicts_that_intervals_do_not_show_are_marked(times, tmp_path, correction):
    """Holm rejects more than Bonferroni's intervals show: such a row has a mark, and a sentence
    says why; no other row has one."""
    result, texts = texts_of_level(times, tmp_path, correction=correction, confidence_level=0.95)
    disagree = correction == "holm"
    assert result["verdict"].sel(version="new").values.tolist() == ["slower"] * 4 + ["inconclusive"]
    assert (result["lower"].sel(benchmark="d").item() < 1) == disagree
    assert result["interval_agrees"].sel(version="new").values.tolist() == [True] * 3 + [
        not disagree,
        True,
    ]
    marks = {
        name: text.count(" *") - text.count(", marked *") - text.count("; *")
        for name, text in texts.items()
    }
    assert marks["table"] == marks["command"] == marks["picture"] == disagree
    for name in ("table", "command", "report"):
        sentence = (
            "1 of 5 cells, marked *, have a verdict that the interval does not show. Holm's "
            "p-values decide"
        )
        assert (sentence in texts[name].replace("\\", "")) == disagree
    assert ("* the p-value decides" in texts["picture"]) == disagree
    assert [note.code for note in result.perf.notes() if note.aside] == ["by_pvalue"] * disagree


def test_a_selection_without_its_levels_states_none(times):
    """Limits of a correction are not called limits of the level asked for."""
    result = times.perf.compare("old", correction="holm", shared=())[["estimate", "lower", "upper"]]
    assert level_of_intervals(result) == ""
    assert result.perf.plot().get_xlabel().splitlines()[1].startswith("intervals, corrected")


@pytest.mark.parametrize(
    "method",
    ["fieller", "delta", "log_delta", "skew_adjusted", "percentile", "basic", "bca", "studentized"],
)
@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
def test_without_a_correction_every_interval_shows_its_verdict(method):
    """The p-value inverts the limits, whichever method makes them, of means and of medians."""
    times = perfarray.simulate(
        sizes={"execution": 12},
        variances={"execution": 4e-4},
        dims={"benchmark": 60, "version": ["old", "new"]},
        rng=3,
    )
    choices = {"threshold": 0.01, "n_resamples": 199, "rng": 1}
    result = times.perf.compare("old", method=method, **choices)
    assert result["interval_agrees"].all()
    if method in ("percentile", "basic", "bca"):
        assert times.perf.compare("old", method=method, statistic="median", **choices)[
            "interval_agrees"
        ].all()
    if method == "fieller":
        assert times.perf.compare("old", statistic="median", threshold=0.01)[
            "interval_agrees"
        ].all()
