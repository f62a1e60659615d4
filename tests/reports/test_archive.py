"""The report of an archive of machines: scores by suite, which machines are alike, which vary most,
what explains it, what is not valid."""

import json
import re
import shutil
import subprocess
import warnings

import numpy as np
import pytest
import xarray as xr

import perfarray
from perfarray.conventions import is_archive

READ, SCORES, ALIKE, RATIOS = (
    "What was read",
    "Scores",
    "Which machines are alike",
    "Machines against the median machine",
)
VARIATION, STATED = "Which machines vary most", "Invalid and estimated results"
EXPLAINED = ["What explains the scores", "What explains the variation"]


def archive(n_machines=12):
    """Return ratios of two suites on machines with two compilers: one suite is incomplete on a
    machine, and one report has a single run.

    Performance follows the clock; the last machine is fastest and varies most.
    """
    rng = np.random.default_rng(1)
    suites = {"int2017": ["gcc", "mcf", "xz", "x264"], "fp2017": ["lbm", "wrf", "nab"]}
    mhz = np.linspace(2000, 4000, n_machines)
    dims = ("benchmark", "machine", "compiler", "execution")
    noise = 0.002 * rng.standard_normal((7, n_machines, 2, 3))
    noise[:, -1] *= 10
    ratios = mhz[:, None, None] / 1000 * np.array([1.0, 1.1])[:, None] * np.exp(noise)
    ratios[:, 1, 1] = np.nan  # not measured with the second compiler
    ratios[4, 2] = np.nan  # lbm is missing
    ratios[:, 3, :, 1:] = np.nan  # a single run
    coords = {
        "benchmark": [name for names in suites.values() for name in names],
        "machine": [f"box-{number}" for number in range(n_machines)],
        "compiler": ["gcc 13", "clang 18"],
        "suite": ("benchmark", [suite for suite, names in suites.items() for _ in names]),
        "cpu_mhz": ("machine", mhz),
        "valid": ("machine", np.where(np.arange(n_machines) == 5, 0.0, 1.0)),
        "estimated": ("machine", np.where(np.arange(n_machines) == 6, 0.0, 1.0)),
    }
    array = xr.DataArray(
        ratios, coords, dims, name="ratio", attrs={"units": "1", "better": "higher"}
    )
    notes = json.dumps(
        [
            {
                "code": "unknown_format",
                "message": "1 of 24 files is left out: 'alice/readme'",
                "values": {},
            }
        ]
    )
    return array.to_dataset().assign_attrs(
        metric="ratio", format="spec_text", n_files=23, notes=notes
    )


@pytest.fixture(scope="module")
def times():
    return archive()


@pytest.fixture(scope="module")
def report(times):
    return json.loads(times.perf.report(format="json"))


def section_of(report, title):
    return next(section for section in report["sections"] if section["title"] == title)


def test_an_archive_has_its_own_sections(report):
    """Nothing is said of modes, of a next experiment, or of how long something takes."""
    assert report["title"] == "Archive of 12 machines"
    assert [section["title"] for section in report["sections"]] == [
        READ,
        SCORES,
        ALIKE,
        RATIOS,
        VARIATION,
        *EXPLAINED,
        STATED,
    ]
    text = json.dumps(report)
    assert not re.search("How long|one mode|variability_level|plan_repetitions", text)


@pytest.mark.parametrize(
    ("sizes", "answer"),
    [
        ({"machine": 2}, True),
        ({"machine": 1}, False),
        ({"compiler": 2}, False),
        ({"machine": 2, "version": 2}, False),
        ({"machine": 2, "version": 1}, True),
        ({"machine": 2, "commit": 2}, False),
        ({"machine": 2, "benchmark": 1}, False),
    ],
)
def test_several_machines_without_versions_are_an_archive(sizes, answer):
    """A baseline is a question for a comparison, and so are several versions or commits; a single
    benchmark has no score."""
    sizes = {"benchmark": 2} | sizes
    times = xr.DataArray(np.ones((*sizes.values(), 3)), dims=(*sizes, "execution"), name="time")
    assert is_archive(times, None) is answer
    assert not is_archive(times, "a")


@pytest.mark.parametrize("position", [0, [0]])
def test_one_machine_is_an_archive(times, position):
    """Suites of one machine, or a single report, have scores and no means; a summary without labels
    has no brackets."""
    with warnings.catch_warnings(action="ignore"):
        report = json.loads(times.isel(machine=position).perf.report(format="json"))
        lone = json.loads(
            times.isel(machine=position, compiler=0, benchmark=slice(4)).perf.report(format="json")
        )
    assert report["title"] == lone["title"] == "Archive of 1 machine"
    assert [section["title"] for section in report["sections"]] == [READ, SCORES, VARIATION, STATED]
    assert re.match(
        r"int2017: 2 results, scores from 2\S* \(gcc 13\) to 2\S* \(clang 18\)\.",
        report["summary"][0],
    )
    assert re.fullmatch(r"(int2017: s|S)core 2\S*", lone["summary"][0])


def test_without_a_score_means_are_shown():
    """Two machines without a common benchmark have no scores."""
    ratios = xr.DataArray(
        [[[1.0, 1.1]], [[np.nan] * 2]], dims=("benchmark", "machine", "execution"), name="time"
    )
    ratios = xr.concat(
        [ratios, ratios[::-1].assign_coords(benchmark=ratios["benchmark"])], "machine"
    )
    with warnings.catch_warnings(action="ignore"):
        titles = [
            section["title"]
            for section in json.loads(ratios.perf.report(format="json"))["sections"]
        ]
    assert titles[0] == "How long it takes"


def test_a_report_with_a_baseline_stays(times):
    """Machines that are compared with one of them have the report of a comparison."""
    titles = [
        section["title"]
        for section in json.loads(times.perf.report("box-0", format="json"))["sections"]
    ]
    assert (titles[0], "Scores" in titles) == ("What changed", False)


def test_what_was_read(report):
    """Files, and for each suite its results with what they were measured with; an incomplete result
    is none."""
    section = section_of(report, READ)
    assert "7 benchmarks, 12 machines, 2 compilers" in section["about"]
    assert "Read as spec_text, files: 23." in section["about"]
    assert section["notes"] == ["1 of 24 files is left out: 'alice/readme'"]
    rows = [row["text"] for row in section["rows"]]
    assert rows == [
        {"results": "23", "machines": "12", "compilers": "2", "invalid": "2", "estimated": "21"},
        {"results": "21", "machines": "11", "compilers": "2", "invalid": "2", "estimated": "19"},
    ]


def test_scores_are_sorted_suite_by_suite(times, report):
    """The highest first, as SPEC publishes them, with their five numbers; JSON has all rows."""
    section = section_of(report, SCORES)
    with warnings.catch_warnings(action="ignore"):
        expected = times.perf.suite_score(statistic="slower_median")["estimate"]
    for suite in ("int2017", "fp2017"):
        scores = [row["score"] for row in section["rows"] if row["suite"] == suite]
        values = expected.sel(suite=suite).values.ravel()
        assert scores == sorted(values[~np.isnan(values)], reverse=True)
    assert [row["suite"] for row in section["rows"]] == ["int2017"] * 23 + ["fp2017"] * 21
    assert re.match(
        r"int2017: 23 results, scores from 2\S* \(box-0, gcc 13\) to 4\.\S* \(box-11, clang 18\)\.",
        report["summary"][0],
    )


def test_a_long_table_shows_its_extremes(times):
    """The best and the worst scores of each suite, and the largest variations; a sentence says how
    to have all."""
    pieces = {
        section_part.partition("\n")[0]: section_part
        for section_part in times.perf.report(format="markdown").split("\n## ")
    }
    assert pieces[SCORES].count("| `int2017` |") == 6
    assert (
        "The table shows 12 of 44 rows, the 3 best and the 3 worst of each suite. This report "
        "as JSON has all."
    ) in pieces[SCORES]
    assert "The table shows 10 of 12 rows, the 5 best and the 5 worst." in pieces[RATIOS]
    assert re.findall(r"\| `(box-\d+)` \|", pieces[VARIATION])[:4] == ["box-11"] * 4
    assert "The table shows 10 of 44 rows, the 10 largest." in pieces[VARIATION]


def test_the_best_stand_first():
    """Of times, these are the least."""
    times = archive()["ratio"] ** -1
    report = json.loads(
        times.rename("time").assign_attrs(units="s", better="lower").perf.report(format="json")
    )
    scores = [
        row["score"] for row in section_of(report, SCORES)["rows"] if row["suite"] == "int2017"
    ]
    assert scores == sorted(scores)


def test_machines_are_placed_by_what_most_of_them_ran(times, report):
    """The suite and the compiler with which most machines have a result, and machines with a hole
    are named."""
    section = section_of(report, ALIKE)
    assert section["about"].startswith(
        "Of int2017, gcc 13, with which most machines were measured."
    )
    source = "times['ratio'].sel(compiler='gcc 13').where(times['suite'] == 'int2017', drop=True)"
    assert section["code"].startswith(f"{source}.perf.principal_components(")
    with warnings.catch_warnings(action="ignore"):
        expected = eval(
            section["code"], {"times": times, "np": np}
        )  # the call that is shown gives the answer
    np.testing.assert_array_equal(
        section["result"]["variables"]["score"]["values"], expected["score"].values
    )


def test_what_explains_the_scores(times, report):
    """The sentence stands in the outcome, too; where nothing explains a response, the sentence is
    the section."""
    section = section_of(report, EXPLAINED[0])
    with warnings.catch_warnings(action="ignore"):
        model = eval(section["code"], {"times": times})
    findings = model.table().attrs["findings"]
    assert section["about"].startswith(
        " ".join(["Of int2017, the suite with most results.", *findings])
    )
    assert {f"int2017: {finding}" for finding in findings} < {*report["summary"]}
    assert section["code"] == (
        "times.where(times['suite'] == 'int2017', "
        "drop=True).perf.explain_variation(response='performance', rng=1)"
    )
    markdown = times.perf.report(format="markdown")
    section_part = markdown.partition(f"## {EXPLAINED[1]}")[2].partition("\n## ")[0]
    assert re.fullmatch(
        r"\s*Of int2017, the suite with most results\. No predictor explains relative variation: [^|>]*",
        section_part,
    )
    assert section_of(report, EXPLAINED[1])["rows"]


def test_what_is_not_valid_is_named(report):
    """Invalid results, and of estimates and the others the fewer."""
    section = section_of(report, STATED)
    assert section["about"].startswith(
        "4 of 44 results are invalid, as their files say; 40 of 44 results are estimated, as "
        "their files say."
    )
    stated_values = {(row["machine"], row["stated"]) for row in section["rows"]}
    assert stated_values == {("box-5", "invalid"), ("box-6", "not estimated")}


def test_where_all_are_estimates_none_is_named(times):
    """The sentence says it."""
    text = (
        times.drop_vars("valid")
        .assign_coords(estimated=1)
        .perf.report(sections="relative_variation", format="markdown")
    )
    assert "44 of 44 results are estimated, as their files say." in text
    assert "stated" not in text


def test_sections_without_data_are_left_out(times):
    """Two machines are no map, and no regression; without marks of validity nothing is said of
    it."""
    short = times.isel(machine=[0, 4]).drop_vars(["valid", "estimated"])
    titles = [
        section["title"] for section in json.loads(short.perf.report(format="json"))["sections"]
    ]
    assert titles == [READ, SCORES, VARIATION]
    lone = times.isel(execution=[0], machine=[0, 4]).drop_vars(["valid", "estimated"])
    assert "No answer" not in lone.perf.report(format="markdown")


def test_sections_may_be_asked_for(times):
    """By the names of methods, those of other reports too; prices ask for a plan."""
    requested = json.loads(
        times.perf.report(sections=("relative_variation", "variability_level"), format="json")
    )
    assert [section["title"] for section in requested["sections"]] == [
        READ,
        VARIATION,
        STATED,
        "Is there more than one mode",
    ]
    assert "How many repetitions next time" in times.perf.report(
        costs={"execution": 5}, format="markdown"
    )
    with pytest.raises(
        ValueError,
        match=r"sections='modes' is no section of this report. Choose from 'five_number_summary', ",
    ):
        times.perf.report(sections="modes")
    subset = perfarray.from_samples({"a": [1.0, 1.1, 1.2]}).perf.report(
        sections="counts", format="json"
    )
    assert [section["title"] for section in json.loads(subset)["sections"]] == [
        "How much was measured"
    ]


def test_names_of_machines_may_be_hidden(times):
    """In tables, sentences and calls; what reading said of files is left out."""
    for form in ("markdown", "json", "html"):
        text = times.perf.report(format=form, redact=True)
        assert ("box-" in text, "alice" in text) == (False, False)
        assert "machine 12" in text


def test_words_follow_the_metric(times):
    """A ratio is not how long something takes."""
    subset = times.isel(machine=0, drop=True)
    assert "## The mean ratio" in subset.perf.report(format="markdown")
    assert "How long" not in subset.perf.report(format="markdown")


@pytest.fixture(scope="module", params=["spec_csv", "spec_txt"])
def page(request, shared):
    """Return the page of a real archive."""
    pytest.importorskip("matplotlib")
    with warnings.catch_warnings(action="ignore"):
        return perfarray.read_archive(shared("data", "archives", request.param)).perf.report()


def test_the_page_of_a_real_archive_is_small(page):
    """Below 1 MB; no section is without an answer, and no table is long."""
    assert len(page) < 1e6
    assert "No answer" not in page
    assert page.count("<tr") < 120


def test_the_page_of_a_real_archive_is_short(page, tmp_path):
    """Below 8,000 px on a screen."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("needs Debian's chromium, which is not installed (since 2026-11)")
    script = (
        "addEventListener('load', () => { document.body.textContent = "
        "document.documentElement.scrollHeight })"
    )
    path = tmp_path / "page.html"
    path.write_text(page.replace("</body>", f"<script>{script}</script></body>"), encoding="utf-8")
    flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--window-size=1280,900",
        f"--user-data-dir={tmp_path / 'profile'}",
    ]
    completed = subprocess.run(
        [chromium, *flags, "--dump-dom", path.as_uri()],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert 1000 < int(re.search(r"<body>(\d+)</body>", completed.stdout)[1]) < 8000
