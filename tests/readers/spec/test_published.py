"""The numbers that SPEC's files print come out of the runs that perfarray reads, at the printed
precision.

Files are parsed here without the readers. A printed score is compared with the geometric mean of
ratios that are rounded themselves: both roundings together are what may differ.
"""

import csv
import gzip
import io
import math
import re
from collections import Counter, defaultdict
from statistics import fmean, geometric_mean, median

import numpy as np
import pytest

import perfarray
from readers.files_of_our_own import spec_pair, spec_report, spec_result, spec_rows, write
from shared_material import ARCHIVES, needs_archives

PUBLISHED = {"statistic": "slower_median", "levels": "execution"}
"""What SPEC publishes: the score of one report, of the median runs."""

NUMBER = re.compile(r"[\d.]+")
SCORE = re.compile(r"^ *(?:Est\. )?SPEC(?:rate|speed|int|fp)\S*_(base|peak)\S*\s+([\d.]+) *$", re.M)

pytestmark = pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")


def half_digit(text, digits=None):
    """Return half of the last printed digit: the last decimal, or of `digits` digits, which text
    reports and dumps have."""
    decimals = (
        len(text.partition(".")[2])
        if digits is None
        else digits - 1 - math.floor(math.log10(float(text)))
    )
    return 0.5 * 10.0**-decimals


def assert_published(score, printed, ratios, digits=None):
    """Check a score against the printed one; `ratios` are the printed ratios of the benchmarks."""
    rounding = fmean(half_digit(ratio, digits) / float(ratio) for ratio in ratios)
    assert score == pytest.approx(
        float(printed), abs=1e-9 + half_digit(printed, digits) + rounding * score
    )


# Made reports
# ------------------------------------------------------------------------------------------


def rows(seconds, score_kind="# Copies", copies=4):
    """Return rows of two benchmarks, the second of which is twice as slow."""
    pairs = [
        (name, factor * base, factor * peak)
        for name, factor in (("400.alpha", 1), ("401.beta", 2))
        for base, peak in seconds
    ]
    return [
        spec_pair(name, copies, base, peak, number)
        for number, (name, base, peak) in enumerate(pairs, 1)
    ]


@pytest.mark.parametrize(
    ("seconds", "base", "peak"),
    [
        ([(10, 5)], 10, 5),
        ([(10, 5), (11, 6)], 11, 6),  # the slower of two, as in CPU2017
        ([(10, 8), (14, 5), (11, 7)], 11, 7),
        ([(10, 8), (14, 5), (11, 7), (12, 6)], 12, 7),
    ],
)
@pytest.mark.parametrize("metric", ["ratio", "time"])
def test_spec_selects_the_median_or_the_slower_of_the_two_in_the_middle(
    tmp_path, seconds, base, peak, metric
):
    """Of rates that is the lower one, of times the higher one."""
    times = perfarray.read(write(tmp_path / "result.csv", spec_result(rows(seconds))))
    scores = times.perf.suite_score(metric=metric, **PUBLISHED)["estimate"].squeeze()
    of_second = {
        "ratio": lambda time: 4000 / time / math.sqrt(2),
        "time": lambda time: time * math.sqrt(2),
    }[metric]
    assert [scores.sel(tuning=tuning).item() for tuning in ("base", "peak")] == pytest.approx(
        [of_second(base), of_second(peak)], rel=1e-6
    )


def test_every_report_of_a_machine_has_its_own_score(tmp_path):
    """Two reports of one machine and a run that failed: a score each, along `session`."""
    failed = [
        *spec_rows(times=("136", "140", "138")),
        "502.beta_r  1  --  --  RE",
        "502.beta_r  1  100  15.0  *",
        "502.beta_r  1  90  17.0  S",
    ]
    write(
        tmp_path / "Box-1_O3_001.txt",
        spec_report(*spec_rows(), *spec_rows("502.beta_r", ("200", "190", "180"))),
    )
    write(tmp_path / "Box-1_O3_002.txt", spec_report(*failed))
    scores = perfarray.read_archive(tmp_path).perf.suite_score(**PUBLISHED)["estimate"].squeeze()
    assert scores.dims == ("session",)
    assert scores.values.tolist() == pytest.approx(
        [math.sqrt(11.62 * 8.38), math.sqrt(11.54 * 15.0)], rel=1e-3
    )


# The archives
# ------------------------------------------------------------------------------------------


def printed_text(text):
    """Return the printed ratios of every benchmark, those of the selected runs, and the scores, of
    a text report."""
    above, _, below = text.partition("\n=====")
    sides = []
    for section in (above, below):
        ratios = defaultdict(list)
        for line in section.split("\n"):
            cells = line.split()
            if len(cells) == 5 and re.fullmatch(r"\d{3}\.\w+", cells[0]):
                ratios[cells[0]].append(cells[3])
        sides.append(ratios)
    return (
        sides[0] or sides[1],
        {name: ratio for name, (ratio,) in sides[1].items()},
        dict(SCORE.findall(text)),
    )


@pytest.fixture(scope="module")
def reports():
    """The path, the file and what is printed of each text report, in the order of their names."""
    paths = sorted((ARCHIVES / "spec_txt").rglob("*_*.txt"))
    return [(path, perfarray.read(path), *printed_text(path.read_text())) for path in paths]


@needs_archives
def test_all_text_reports_print_the_medians_that_are_read(reports):
    """The selected run of every benchmark is its median, in the file and in what is read."""
    for path, times, ratios, selected, scores in reports:
        assert scores.keys() == {"base"}, path
        assert sorted(times["benchmark"].values) == sorted(ratios) == sorted(selected), path
        assert {len(runs) for runs in ratios.values()} == {1 if "harmonyos" in str(path) else 3}, (
            path
        )
        medians = times["ratio"].median("execution").squeeze()
        for name, ratio in selected.items():
            assert (
                float(ratio)
                == median(map(float, ratios[name]))
                == medians.sel(benchmark=name).item()
            ), (path, name)


@needs_archives
def test_all_text_reports_have_their_printed_score(reports):
    """One call on the archive gives the printed scores of 352 reports, 311 to the last digit and
    the others as far as ratios allow."""
    times = perfarray.read_archive(ARCHIVES / "spec_txt")
    scores = times.perf.suite_score(by="suite", **PUBLISHED)["estimate"]
    sessions = Counter()
    exact = 0
    for _, alone, _, selected, printed in sorted(reports, key=lambda report: report[0].name):
        labels = {dim: alone[dim].item() for dim in ("machine", "compiler", "flags")} | {
            "suite": alone["suite"].values[0]
        }
        score = scores.sel(labels | {"session": sessions[tuple(labels.values())]}).item()
        sessions[tuple(labels.values())] += 1
        assert_published(score, printed["base"], selected.values())
        exact += abs(score - float(printed["base"])) <= half_digit(printed["base"])
    assert (sessions.total(), int(scores.notnull().sum()), exact) == (352, 352, 311)


SPEC_CSV = {
    "EstebanMonge_speccpu2006/cint2006-example.csv": {"base": "38.121805", "peak": "42.5491"},
    "EstebanMonge_speccpu2006/cfp2006-example.csv": {"base": "66.515561", "peak": "70.685896"},
    "EstebanMonge_speccpu2006/cint2006-rates-example.csv": {
        "base": "416.443094",
        "peak": "432.086005",
    },
    "EstebanMonge_speccpu2006/CINT2006.001.ref.csv": {"base": "35.27003"},
    "bowers_speccpu2017/cint2017-speed-example.csv": {"base": "5.309293", "peak": "5.860479"},
    "bowers_speccpu2017/cint2017-rates-example.csv": {"base": "317.548604"},
    "bowers_speccpu2017/cfp2017-rates-example.csv": {"base": "315.95593"},
    # Ten benchmarks, of which nine were run: SPEC's tools print their mean, and call the run
    # invalid
    "AdityaCodeSphere123_SPEC-CPU2017/gcc__CPU2017.003.intrate.refrate.head.csv": {
        "base": "1.236422"
    },
}
PARTIAL = {
    "AdityaCodeSphere123_SPEC-CPU2017/gcc__CPU2017.003.intrate.refrate.head.csv": [
        "548.exchange2_r"
    ]
}


def printed_csv(text):
    """Return the ratios in the table of selected runs by tuning and benchmark, and the scores by
    tuning, of a CSV."""
    table, ratios, scores = False, {"base": {}, "peak": {}}, {}
    for cells in csv.reader(io.StringIO(text)):
        table = cells == ["Selected Results Table"] or (table and cells != ["HARDWARE"])
        if (
            table
            and cells
            and (match := re.fullmatch(r"SPEC(?!.*energy)\w+", cells[0]))
            and NUMBER.fullmatch(cells[1])
        ):
            scores["base" if "_base" in match[0] else "peak"] = cells[1]
        elif table and cells and re.match(r"\d{3}\.", cells[0]):
            ratios["base"][cells[0]], ratios["peak"][cells[0]] = (
                cells[3],
                cells[8] if len(cells) > 8 else "",
            )
    return {
        tuning: {name: text for name, text in side.items() if NUMBER.fullmatch(text)}
        for tuning, side in ratios.items()
    }, scores


@needs_archives
@pytest.mark.parametrize("name", SPEC_CSV)
def test_all_csv_results_have_their_printed_scores(name):
    """Base and peak of rates and speeds, with peaks that reuse their base, at six decimals; medians
    of every benchmark, too."""
    path = ARCHIVES / "spec_csv" / name
    times, (ratios, scores) = perfarray.read(path), printed_csv(path.read_text())
    assert scores == SPEC_CSV[name]
    unmeasured = (
        times["ratio"].isnull().all([dim for dim in times["ratio"].dims if dim != "benchmark"])
    )
    assert times["benchmark"].values[unmeasured].tolist() == PARTIAL.get(name, [])
    times = times.isel(benchmark=~unmeasured.values)
    computed = times.perf.suite_score(**PUBLISHED)["estimate"].squeeze("machine")
    medians = times["ratio"].median("execution")
    assert times["tuning"].values.tolist() == list(scores)
    for tuning, printed in scores.items():
        assert_published(computed.sel(tuning=tuning).item(), printed, ratios[tuning].values())
        assert medians.sel(tuning=tuning).squeeze().to_series().to_dict() == {
            name: float(text) for name, text in ratios[tuning].items()
        }


@needs_archives
def test_no_csv_result_is_missed():
    """The list above is the archive, and one call on the archive gives all scores of complete
    suites."""
    folder = ARCHIVES / "spec_csv"
    assert {str(path.relative_to(folder)) for path in folder.rglob("*.csv")} == SPEC_CSV.keys()
    scores = (
        perfarray.read_archive(folder).perf.suite_score(by="suite", **PUBLISHED)["estimate"].values
    )
    for name, printed in SPEC_CSV.items():
        for score in () if name in PARTIAL else printed.values():
            assert np.isclose(scores, float(score), rtol=1e-6).sum() == 1, name


@needs_archives
def test_all_files_of_single_runs_have_their_printed_score():
    """The sum that is a row of the file is the score of the others; files of cyyself print none."""
    n_files = 0
    for path in sorted((ARCHIVES / "spec_single_run_csv").rglob("*.csv")):
        lines = [line.split(",") for line in path.read_text().split("\n") if line]
        for score in [cells for cells in lines if re.fullmatch("(int|fp)_rate", cells[0])]:
            times = perfarray.read(path)
            times = times.isel(
                benchmark=[
                    name.startswith(score[0].partition("_")[0]) for name in times["suite"].values
                ]
            )
            ratios = [cells[2] for cells in lines[1:] if cells[0] in times["benchmark"].values]
            assert_published(
                times.perf.suite_score(**PUBLISHED)["estimate"].item(), score[2], ratios
            )
            n_files += 1
    assert n_files == 12


@needs_archives
def test_all_rows_of_a_dump_have_the_score_of_their_medians():
    """A dump prints the medians of twelve benchmarks beside the score: 5,833 scores of base and
    peak, three digits each."""
    path = ARCHIVES / "spec_dump" / "karlarao_specint_cpu_explorer" / "specprice.txt.gz"
    lines = list(
        csv.DictReader(io.StringIO(gzip.decompress(path.read_bytes()).decode(errors="replace")))
    )
    dump, n_scores = perfarray.read(path), 0
    for tuning, column in (("base", "Baseline"), ("peak", "Result")):
        names = [name for name in lines[0] if re.fullmatch(rf"\d{{3}}{tuning.title()}", name)]
        for line, score in zip(lines, dump["score"].sel(tuning=tuning).values, strict=True):
            assert score == float(line[column]) if float(line[column] or 0) else math.isnan(score)
            medians = [line[name] for name in names]
            if not math.isnan(score) and all(float(text or 0) for text in medians):
                assert_published(
                    geometric_mean(map(float, medians)), line[column], medians, digits=3
                )
                n_scores += 1
    assert n_scores == 5_833
