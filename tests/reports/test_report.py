"""The report: every form says the same, no value is markup, nothing private is left, and a method
without an answer says why."""

import base64
import html
import json
import pickle
import re
import shutil
import subprocess
import time
import warnings
from importlib.util import find_spec
from itertools import product

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import perfarray
from perfarray.reports import writing
from perfarray.reports.content import content_of
from perfarray.reports.page import as_html
from perfarray.reports.redaction import Redaction
from perfarray.reports.sections import Content, Section, picture_of
from perfarray.results.rows import Places, Table

SCRIPT = "<script>alert(1)</script>|`*"


@pytest.fixture(scope="module")
def times():
    """Return timings of two benchmarks, one of an evil name, measured in two versions on a machine
    whose name is nobody's business."""
    sizes, dims = (
        {"execution": 6, "iteration": 3},
        {"benchmark": ["fft", SCRIPT], "version": ["old", "new"], "machine": ["payroll-7"]},
    )
    simulated = perfarray.simulate(
        sizes=sizes, variances=dict.fromkeys(sizes, 1e-4), dims=dims, rng=1
    )
    simulated["time"].loc[{"version": "new"}] *= 1.5
    return simulated.assign_coords(
        user="alice", compiler="gcc 13 -I/home/alice/inc on payroll-7"
    ).assign_attrs(source="/home/alice/x.json")


@pytest.fixture(scope="module")
def texts(times):
    """Return the report in every form, as it is and redacted; the questions are asked once for all
    forms without pictures."""
    reports, contents = {}, {}

    def requested(*args, pictures, **choices):
        return contents.get((redact, pictures)) or contents.setdefault(
            (redact, pictures), content_of(*args, pictures=pictures, **choices)
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "content_of", requested)
        for form, redact in product(("html", "markdown", "json"), (False, True)):
            reports[form, redact] = times.perf.report(
                "old", costs={"execution": 1}, format=form, redact=redact
            )
    return reports


def pictures(page):
    return [
        base64.b64decode(picture).decode()
        for picture in re.findall(r"data:image/svg\+xml;base64,([\w+/=]+)", page)
    ]


def section_of(report, title):
    return next(section for section in json.loads(report)["sections"] if section["title"] == title)


def test_every_question_is_answered_in_every_form(texts):
    """With its title, the call that was made, and the verdicts, which come before the counts in the
    summary and in the sections."""
    report = json.loads(texts["json", False])
    assert report["summary"][0].startswith("2 slower; all 2 together 1.5")
    assert [section["title"] for section in report["sections"]][:2] == [
        "What changed",
        "How much was measured",
    ]
    for (form, _), text in texts.items():
        for title in (
            "What changed",
            "Do the methods agree",
            "Where the variation comes from",
            "How many repetitions next time",
        ):
            assert title in text
        assert "No answer" not in text
        assert "2 slower; all 2 together 1.5" in text.replace("\\", "")
        assert (
            "times.perf.compare(&#x27;old&#x27;)" if form == "html" else "times.perf.compare('old')"
        ) in text


@pytest.mark.parametrize(
    ("shape", "dims", "requested"),
    [
        (
            (10, 10),
            ("execution", "iteration"),
            {"Do they depend on those before them", "Is there a warm-up left"},
        ),
        ((9, 9), ("execution", "iteration"), set()),
        ((8, 3), ("commit", "execution"), {"Since when"}),
        ((7, 3), ("commit", "execution"), set()),
    ],
)
def test_questions_depend_on_what_was_measured(shape, dims, requested):
    """The order of ten repetitions, a warm-up of ten iterations, and a history of eight commits are
    asked about, shorter ones are not."""
    noise = np.random.default_rng(1).normal(1, 0.01, (10, 10))
    times = xr.DataArray(noise[: shape[0], : shape[1]], dims=dims, name="time")
    sections = json.loads(times.perf.report(format="json"))["sections"]
    possible = {"Do they depend on those before them", "Is there a warm-up left", "Since when"}
    assert {section["title"] for section in sections} & possible == requested
    assert sections[-1]["about"].startswith("The cheapest experiment whose intervals are ± 1%.")
    assert "half_width=0.01" in sections[-1]["code"]


def test_no_value_is_markup(texts):
    """A label is text on the page, in its pictures, and in Markdown; the page fetches nothing."""
    page = texts["html", False]
    assert ("<script>alert" in page, "&lt;script&gt;alert(1)&lt;/script&gt;" in page) == (
        False,
        True,
    )
    assert page.count("<script>") == 1  # that which sorts
    assert "default-src 'none'" in page
    assert not re.search(r"(src|href)=(?!\"data:)", page)
    assert not any("<script" in picture for picture in pictures(page))
    assert (
        as_html(Content(SCRIPT, (), {}, [], "")).count(html.escape(SCRIPT)) == 2
    )  # in the tab and above the text
    assert r"\<script>alert(1)\</script>\|\`\*" in texts["markdown", False]


def test_json_holds_all_numbers(texts, times):
    """Those of the call itself; what is not known is null."""
    section, verdicts = section_of(texts["json", False], "What changed"), times.perf.compare("old")
    estimate = section["result"]["variables"]["estimate"]
    assert estimate["dims"] == list(verdicts["estimate"].dims)
    np.testing.assert_array_equal(np.array(estimate["values"]), verdicts["estimate"].values)
    *cells, suite = section["rows"]
    assert [row["estimate"] for row in cells] == sorted(
        verdicts["estimate"].values.ravel().tolist(), reverse=True
    )
    assert (suite["benchmark"], suite["upper"]) == ("all 2", verdicts["suite_upper"].item())
    for row in section["rows"]:
        assert row["verdict"] == "slower"
        assert row["text"]["change"].startswith(str(row["estimate"])[:4])
    assert "NaN" not in texts["json", False]


@pytest.mark.parametrize("form", ["html", "markdown", "json"])
def test_redacted(texts, form):
    """Machines are numbered, users and paths gone, in pictures too; without it they are there."""
    for redact in (False, True):
        text = texts[form, redact].replace("\\", "")
        text = "\n".join(
            [re.sub(r"base64,[\w+/=]+", "", text), *(pictures(text) if form == "html" else [])]
        )
        for secret in ("payroll-7", "alice"):
            assert (secret in text) is not redact
        assert ("machine 1" in text) is redact
        assert "achine machine" not in text
        assert "gcc 13" in text


def test_a_method_without_an_answer_says_why():
    """The others stand: one run of each says what is missing; without a baseline, means are
    shown."""
    text = perfarray.from_samples({"a": [1.0, 1.1, 1.2], "b": [2.0, 2.1, 2.2]}).perf.report(
        format="markdown"
    )
    assert "No answer: costs= has no price" not in text
    assert "How long it takes" in text
    rate = (1 / perfarray.load_dataset("python_malloc")["time"]).assign_attrs(
        units="ops/s", better="higher"
    )
    text = rate.isel(benchmark=[0, 3]).perf.report("malloc")
    assert "No answer: costs= has no price for &#x27;execution&#x27;" in text
    assert "2 faster" in text


def test_an_empty_table_says_why(times):
    """A benchmark of each side alone is no comparison; where nothing varies there are no
    components."""
    one_sided = times.where((times["version"] == "old") == (times["benchmark"] == "fft"))
    report = one_sided.perf.report("old", costs={"execution": 1}, format="json")
    assert "Nothing was measured on both sides." in json.loads(report)["summary"]
    constant_times = times.isel(benchmark=[0]).copy()
    constant_times["time"][:] = 1.0
    for text, title, reason in (
        (report, "What changed", "No answer: nothing was measured on both sides."),
        (
            constant_times.perf.report(format="json"),
            "Where the variation comes from",
            "No answer: too little was measured, or nothing varies.",
        ),
    ):
        section = section_of(text, title)
        assert (section["rows"], section["notes"][-1]) == ([], reason)


def test_rows_nobody_reads_are_left_out(monkeypatch):
    """Cells that were not measured, and more rows than anybody reads; a note has their number."""
    monkeypatch.setattr("perfarray.reports.content.MOST", 7)
    times = perfarray.load_dataset("python_malloc")
    sections = json.loads(
        times.where(times["benchmark"] != "fibonacci").perf.report(format="json")
    )["sections"]
    tables = {section["title"]: section["rows"] for section in sections}
    rules = tables.pop("Can such answers be trusted")
    assert [row["rule"] for row in rules] == ["perfarray", "pooled_t", "means_5_percent"]
    for title, rows in tables.items():
        assert len(rows) == 7, title
        assert not {row["benchmark"] for row in rows} & {"fibonacci"}
    assert "3 more rows are left out of the table." in sections[0]["notes"]


def test_a_prompt_is_not_flooded(texts):
    """The text is a text; what a prompt shows of it is a line, what a notebook shows is the page,
    as a document of its own."""
    page, markdown, numbers = (texts[form, False] for form in ("html", "markdown", "json"))
    for text in (page, markdown, numbers):
        assert isinstance(text, str)
        assert (len(repr(text)) < 200, f"{len(text):,} characters" in repr(text)) == (True, True)
        assert type(pickle.loads(pickle.dumps(text))) is type(text)
    frame = page._repr_html_()
    assert "<script>" not in frame
    assert (
        html.unescape(
            re.fullmatch(
                r'<iframe sandbox="allow-scripts" style="[^"]*" srcdoc="([^"]*)"></iframe>', frame
            )[1]
        )
        == page
    )
    assert markdown._repr_markdown_() == markdown
    assert not hasattr(numbers, "_repr_html_")


def test_it_is_written_as_a_whole(tmp_path, times):
    """The text that is returned; an unknown form, and a baseline that is not there, write
    nothing."""
    path = tmp_path / "report.md"
    text = times.isel(benchmark=[0]).perf.report(path=path, format="markdown")
    for wrong, message in (
        ({"format": "pdf"}, "choose one of 'html', 'markdown', 'json'"),
        ({"baseline": "older"}, "No label 'older'"),
    ):
        with pytest.raises(ValueError, match=message):
            times.perf.report(path=path, **wrong)
    assert path.read_text(encoding="utf-8") == text


def test_a_bar_counts_sections(times, capsys):
    """Each section is a step, and the last one ends the bar; a script shows none."""
    sections = ["counts", "compare"]
    text = times.perf.report("old", sections=sections, format="json", progress=True)
    assert len(json.loads(text)["sections"]) == 2
    assert re.search(r"report: 100%.* 2/2 .*section", capsys.readouterr().err)
    times.perf.report("old", sections=sections, format="json")
    assert capsys.readouterr().err == ""


def test_what_is_left_out_and_what_is_not():
    """Folders, users and hosts go; names of benchmarks stay different from each other, and what
    looks like a path inside a name stays."""
    names = [
        "Sum<double>/10000/iterations:10",
        "Sum<double>/100000/iterations:10",
        "/home/alice/bin/grep foo",
        "/home/alice/bin/rg foo",
    ]
    names += ["/home/alice/", "/home/bob/", "Xeon@3.5Ghz*12", "com.example.List.sort"]
    times = perfarray.simulate(
        sizes={"execution": 2}, variances={"execution": 1e-4}, dims={"benchmark": names}, rng=1
    )
    times = times.assign_coords(
        builder_id="alice1.corp.example.com",
        linker="ld -L/home/alice/lib by bob@example.org on a.b.example.com",
    )
    times = times.assign_attrs(user="alice", format="custom")
    printed_text = Redaction.of(times).times(times)
    assert "user" in times.attrs
    assert printed_text["benchmark"].values.tolist() == [
        *names[:2],
        "[left out]/grep foo",
        "[left out]/rg foo",
        "[left out] (1)",
        "[left out] (2)",
        *names[6:],
    ]
    assert "builder_id" not in printed_text.coords
    assert ("user" in printed_text.attrs, printed_text.attrs["format"]) == (False, "custom")
    assert printed_text["linker"].item() == "ld -L[left out]/lib by [left out] on [left out]"


@pytest.mark.parametrize(
    ("text", "printed_text"),
    [
        ("file:///home/alice/work/bench.json", "[left out]/bench.json"),
        ("see file:///home/alice", "see [left out]"),
        ("../alice, ../../alice/work/runs.csv", "[left out], [left out]/runs.csv"),
        ("~alice and ~alice/runs", "[left out] and [left out]"),
        ("`/home/alice/work/x` and `~alice`", "`[left out]/x` and `[left out]`"),
        ("/mnt/home/alice, $HOME/alice/x, /srv/bob/../alice", "[left out], [left out], [left out]"),
        (r"C:\Users\alice \\server\share\alice", "[left out] [left out]"),
        (
            "make 2>/home/alice/log -isystem/home/alice/inc",
            "make 2>[left out]/log -isystem[left out]/inc",
        ),
        (
            "node7.local, a.internal. b.lan c.corp:80",
            "[left out], [left out]. [left out] [left out]:80",
        ),
        (
            "alice.example.de, ci.example.co.uk, n.uni.ac.at, ci.example.it",
            "[left out], [left out], [left out], [left out]",
        ),
        (
            "192.168.1.17 203.0.113.9 10.0.0.5:8080 at 8.8.8.8",
            "[left out] [left out] [left out]:8080 at [left out]",
        ),
        (
            "fe80::1ff:fe23:4567:890a [2001:db8::1]:80 ::1 fe80::1%eth0",
            "[left out] [[left out]]:80 [left out] [left out]",
        ),
        ("aa:bb:cc:dd:ee:ff", "[left out]"),
        (
            "env USER=alice HOME=/home/alice LOGNAME='alice b' ./bench",
            "env USER=[left out] HOME=[left out] LOGNAME=[left out] ./bench",
        ),
        ("https://alice:pw@ci.example/job/7 git@example.com:alice/x.git", "[left out] [left out]"),
        ("alice@node7:/home/alice/x", "[left out]"),
    ],
)
def test_what_names_people_and_places_is_left_out(text, printed_text):
    assert Redaction({}).hide(text) == printed_text


@pytest.mark.parametrize(
    "text",
    [
        "Read/block-16",
        "BM_Sort<std::vector<int>>/1000/threads:4",
        "std::sort",
        "std::vector::~vector",
        "abc::def",
        "dead::beef",
        "10:20:30",
        "2026-11-28T10:20:30",
        "1.2.3.4",
        "gcc 4.8.5.1",
        "driver 31.0.15.2",
        "5.4.0-42-generic",
        "com.example.List.sort",
        "[version=1.2.3.4]",
        "from 1.2.3.4 to 1.2.3.5",
        "Xeon@3.5Ghz*12",
        "MB/s",
        "./bench --size 5",
        "test.bench.py",
        "libm.so.6",
        "numpy.linalg.norm",
        "~5 %",
        "x ~ y",
        "[user=5]",
        "-O2 -march=native",
        "BenchmarkX/size=10-8",
        "0:00:01.5",
        "AMD EPYC 7742 @ 2.25GHz",
        "and/or",
        "group.by",
        "sort.Slice",
    ],
)
def test_what_names_nobody_stays(text):
    """Names of benchmarks, versions of four small numbers, times and units are no paths and no
    addresses."""
    assert Redaction({}).hide(text) == text


def test_long_texts_are_redacted_quickly():
    for letters in ("a.", "/a", "::", "1.", "a@", "~", "user=", "../", "-a", "a:"):
        began = time.perf_counter()
        Redaction({}).hide(letters * 5000)
        assert time.perf_counter() - began < 2


@pytest.mark.parametrize(
    "labels",
    [["/home/alice/old", "/home/alice/new"], ["file:///srv/alice/a.json", "../alice/b.json"]],
)
def test_a_baseline_may_hold_a_path(labels):
    """It is the label that the redacted timings have; labels that look alike then are numbered."""
    simulated = perfarray.simulate(
        sizes={"execution": 6},
        variances={"execution": 1e-4},
        dims={"benchmark": ["fft"], "version": labels},
        rng=1,
    )
    for label in labels:
        text = simulated.perf.report(label, redact=True, format="json")
        assert "alice" not in text
        assert "[left out]" in section_of(text, "What changed")["about"]


def test_dims_of_people_are_numbered():
    simulated = perfarray.simulate(
        sizes={"execution": 3},
        variances={"execution": 1e-4},
        dims={"user": ["alice", "bob"]},
        rng=1,
    )
    simulated = simulated.assign_coords(
        note=(("user", "execution"), np.full((2, 3), "by alice", dtype=object))
    )
    printed_text = Redaction.of(simulated).times(simulated)
    assert printed_text["user"].values.tolist() == ["user 1", "user 2"]
    assert set(printed_text["note"].values.ravel().tolist()) == {"by user 1"}


def test_two_reports_of_one_archive_are_one(texts, times):
    """Chance has a seed; descriptors in which the systems differ are described, and values of
    warm-up are counted separately."""
    assert times.perf.report("old", costs={"execution": 1}, format="json") == texts["json", False]
    descriptors = times.assign_coords(python=("version", ["3.6", "3.7"])).perf.report(
        "old", dim="version", format="json"
    )
    assert json.loads(descriptors)["described"]["python"] == "old: 3.6, new: 3.7"
    assert (
        "perfarray.read_archive({'old': '...', 'new': '...'}, dim='version')"
        in json.loads(descriptors)["code"]
    )
    summary = json.loads(perfarray.load_dataset("python_malloc").perf.report(format="json"))[
        "summary"
    ]
    assert summary[0].endswith("at most 3 iterations of 20 executions.")
    assert "Values of warm-up left out: 240." in summary


def test_a_warning_of_what_draws_takes_no_picture_away(times, monkeypatch):
    """Only that there is no room does: an import that warns must not end half-way."""
    for output, picture in (
        ("of something else", "data:image/svg+xml;base64,PHN2Zz4="),
        ("constrained_layout not applied", None),
    ):
        monkeypatch.setattr(
            "perfarray.accessor.PlotAccessor.svg",
            lambda _, output=output: warnings.warn(output, stacklevel=2) or "<svg>",
        )
        with warnings.catch_warnings(action="ignore"):
            assert picture_of(times.isel(benchmark=[0]).perf.counts()) == picture


def test_a_page_of_a_hundred_benchmarks_is_small():
    """Below 1 MB; counts that are alike are not drawn; a history of thousands of points is PNG."""
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(1)
    labels = {
        "benchmark": [f"benchmark_{number}" for number in range(100)],
        "version": ["old", "new"],
    }
    times = xr.DataArray(
        rng.lognormal(0, 0.01, (100, 2, 5)),
        labels,
        ("benchmark", "version", "execution"),
        "time",
        {"units": "s"},
    )
    page = times.perf.report("old")
    assert len(page) < 1e6
    assert ('alt="What changed' in page, 'alt="How much was measured' in page) == (True, False)
    ragged = times[:2].where((times["execution"] < 4) | (times["benchmark"] == "benchmark_1"))
    assert 'alt="How much was measured' in ragged.perf.report("old")
    history = xr.DataArray(
        rng.lognormal(0, 0.01, (30, 300, 2)), dims=("benchmark", "commit", "execution"), name="time"
    )
    assert picture_of(history.perf.change_points()).startswith("data:image/png;base64,")


def test_history_has_the_order_given():
    """Commits lie in the order of the data, in the table and in the picture."""
    order = [
        f"{hash_:07x}"
        for hash_ in np.random.default_rng(1).choice(16**7, 20, replace=False, shuffle=True)
    ]
    steps = np.where(np.arange(20) < 12, 1.0, 1.2)[:, None] * (
        1 + 0.01 * np.random.default_rng(2).normal(size=(20, 5))
    )
    times = xr.DataArray(steps, {"commit": order}, ("commit", "execution"), "time", {"units": "s"})
    section = section_of(times.perf.report(format="json"), "Since when")
    assert section["result"]["coords"]["commit"]["values"] == order
    assert [row["text"]["made by"] for row in section["rows"]] == [order[12]]
    summary = "Changes along the commits{}: 1 {}."
    assert summary.format(", if the first is the oldest", "slower") in times.perf.report(
        format="markdown"
    )
    assert summary.format("", "faster") in times.perf.report(format="markdown", order="reversed")


def test_without_matplotlib_it_is_said(times, monkeypatch):
    """A page without pictures says why, once; other forms have none anyway."""
    monkeypatch.setattr("perfarray.reports.content.find_spec", lambda _: None)
    monkeypatch.setattr("perfarray.reports.sections.picture_of", lambda _: None)
    subset = times.isel(benchmark=[0])
    assert subset.perf.report().count("install perfarray[plots]") == 1
    assert "install perfarray" not in subset.perf.report(format="markdown")


# A browser is asked this of unchanged pages, each inside a frame as wide as a phone.
ASKING = """
const answers = {};
for (const frame of document.querySelectorAll("iframe")) frame.addEventListener("load", () => {
  const inside = frame.contentDocument, room = inside.documentElement.clientWidth;
  const every = selector => [...inside.querySelectorAll(selector)];
  const wide = every("body *").filter(one => !one.closest(".wide, pre") && one.getBoundingClientRect().right > room);
  answers[frame.id] = {
    beyond: inside.documentElement.scrollWidth - room, wide: wide.map(one => one.outerHTML.slice(0, 99)), scripts: every("script").length,
    pictures: every("img").filter(one => one.complete && one.naturalWidth > 100).length,
    columns: Object.fromEntries(every("table.sortable thead th").map((head, place) => {
      const texts = () => [...head.closest("table").tBodies[0].rows].map(row => row.cells[head.cellIndex].textContent);
      const clicked = () => { head.querySelector("button").click(); return [head.getAttribute("aria-sort"), ...texts()] };
      return [head.textContent, [clicked(), clicked()]];
    })),
  };
  if (Object.keys(answers).length === 2) document.body.textContent = JSON.stringify(answers);
});
"""
# Texts of tables in the order in which they are sorted; those that are not known are last.
COLUMNS = {
    "benchmark": [SCRIPT, "a" * 99, "b", "D"],
    "mean": ["900 ns (1 to 2)", "1.2 us", "-", "70 ms -> 1 s"],
    "change": [
        "1.50x faster (1.2 to 2)",
        "unchanged (1.01x faster to 1.01x slower)",
        "1.02x slower",
        "3.0x slower (at least 2)",
    ],
    "p": ["< 0.0001", "0.00058", "", "0.5"],
    "cost": ["58 s", "58 min 8 s", "7 h 21 min", "8 h"],
}


def test_in_a_browser(texts, tmp_path):
    """No errors, pictures are there, a phone shows all of it; a click sorts by what texts mean,
    suites and what is not known last."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("needs Debian's chromium, which is not installed (since 2026-11)")
    order = [2, 0, 3, 1]
    table = pd.DataFrame(
        {
            title: [column[position] for position in order] + [f"all of {title}"]
            for title, column in COLUMNS.items()
        }
    )
    table = Table.of_cells(table, {"suites": 1}, Places([], np.arange(len(order)), len(order)))
    simulated = Content(
        "T" * 99,
        ("s" * 99,),
        {"flags": "-f" * 99},
        [Section("Q" * 99, "a" * 99, "c" * 99, table, ("n" * 99,))],
        "c" * 99,
    )
    pages = {"real": texts["html", False], "made": as_html(simulated)}
    frames = [
        (
            f'<iframe id="{name}" width=390 height=800 style="border: 0" '
            f'srcdoc="{html.escape(page)}"></iframe>'
        )
        for name, page in pages.items()
    ]
    asking = tmp_path / "asking.html"
    asking.write_text(
        f"<!DOCTYPE html><meta charset=utf-8>{''.join(frames)}<script>{ASKING}</script>",
        encoding="utf-8",
    )
    flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--enable-logging=stderr",
        f"--user-data-dir={tmp_path / 'profile'}",
    ]
    completed = subprocess.run(
        [chromium, *flags, "--dump-dom", asking.as_uri()],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert re.findall(r"CONSOLE.*", completed.stderr) == []
    answers = json.loads(html.unescape(re.search(r"<body>(.*)</body>", completed.stdout)[1]))
    for name, page in pages.items():
        assert (answers[name]["beyond"], answers[name]["wide"], answers[name]["scripts"]) == (
            0,
            [],
            1,
        ), name
        assert answers[name]["pictures"] == page.count("<img "), name
    assert (answers["real"]["pictures"] > 4) is (find_spec("matplotlib") is not None)
    for title, (up, down) in answers["made"]["columns"].items():
        sorted_known = [text for text in COLUMNS[title] if text not in ("", "-")]
        last = [text for text in COLUMNS[title] if text in ("", "-")] + [f"all of {title}"]
        assert up == ["ascending", *sorted_known, *last]
        assert down == ["descending", *sorted_known[::-1], *last]
