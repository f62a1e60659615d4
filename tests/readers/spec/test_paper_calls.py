"""Tables and figures of Irving et al. from an archive: each call that the page lists runs, and
gives what the paper prints."""

import re
from pathlib import Path

import numpy as np
import pytest

import perfarray
from picture_parts import legend, title
from shared_material import ARCHIVES, needs_archives

PAGE = Path(__file__).parents[3] / "docs" / "papers" / "irving_archive.md"
TEXT = PAGE.read_text(encoding="utf-8")
CALLS = dict(re.findall(r"^\| ((?:Figure|Table)[^|]*?) \|[^|]*\| `(.*)` \|$", TEXT, re.M))

pytestmark = pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """The archive that the page makes: the names that its calls use."""
    pytest.importorskip("matplotlib")
    pytest.importorskip("sklearn")
    first, second = re.findall(r"^```python\n(.*?)^```$", TEXT, re.M | re.S)[:2]
    names = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("page"))
        exec(first, names)
        exec("\n".join(line[4:] for line in second.splitlines() if line.startswith(">>> ")), names)
    return names


def says_something(head, answer):
    """Return whether one of the panels of a picture has data, or a table has rows."""
    return (
        any(panel.has_data() for panel in answer.figure.axes)
        if head.startswith("Figure")
        else len(answer) > 0
    )


def test_the_page_lists_all_from_figure_9_and_table_9_on():
    """Figure 17 does not exist; tables 15 and 16 are configurations."""
    numbers = {
        kind: {
            int(number)
            for head in CALLS
            if head.startswith(kind)
            for number in re.findall(r"\d+", head)
        }
        for kind in ("Figure", "Table")
    }
    assert numbers == {"Figure": set(range(9, 17)), "Table": {*range(9, 15), 17, 18}}


@pytest.mark.parametrize("head", CALLS)
def test_each_call_gives_a_table_or_a_picture(archive, head):
    """A picture with something in it, or a table without a hole."""
    answer = eval(CALLS[head], archive)
    assert says_something(head, answer)
    if head.startswith("Table"):
        assert np.isfinite(answer.to_array() if head == "Table 14" else answer).all(axis=None)


def test_tables_have_the_rows_and_columns_of_the_paper(archive):
    """Ten predictors with their shares at most; a row for each machine and a column for each
    benchmark."""
    tables = {number: eval(CALLS[f"Table {number}"], archive) for number in (9, 10, 11, 12, 17, 18)}
    names = archive["suite"]["benchmark"].values.tolist()
    for number in (9, 10, 11, 12):
        assert list(tables[number]) == sorted(tables[number], reverse=True)
        assert ("flag -xAVX2" in tables[number].index) == (number in (10, 12))
    assert tables[9].index[0] == tables[10].index[0] == "cpu_mhz"
    assert tables[11].index[0] == tables[12].index[0] == "l3_kb"
    assert (tables[17].shape, tables[17].columns.tolist()) == ((40, 6), names)
    assert tables[18].columns.tolist() == tables[18].index.tolist() == names


def test_figures_have_the_marks_of_the_paper(archive):
    """Quartiles cut the density; every score of every suite is in a histogram."""
    assert "quartiles" in legend(eval(CALLS["Figure 9"], archive))
    for head, name in (
        ("Figure 11 (a)", "Scores of the suite"),
        ("Figure 11 (b)", "How much scores vary"),
    ):
        panels = eval(CALLS[head], archive).figure.axes
        assert name in panels[0].figure.get_suptitle() + title(panels[0])


# Files that are not ours
# ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reports():
    """The first report of each machine, and of one compiler and one set of flags."""
    times = perfarray.read_archive(ARCHIVES / "spec_txt").isel(session=0, drop=True)
    suite = times.isel(benchmark=times["suite"].values == "int2017_rate1").sel(
        compiler="GCC 12.2.0", flags="O3"
    )
    return {"perfarray": perfarray, "times": times, "suite": suite, "machine": "AMD_EPYC_7742"}


@needs_archives
@pytest.mark.parametrize("head", CALLS)
def test_each_call_runs_on_text_reports(reports, head):
    """Pictures and tables of 52 machines."""
    assert says_something(head, eval(CALLS[head], reports))


@needs_archives
def test_flags_of_text_reports_are_not_the_environment(reports):
    """Tables 10 and 12 have them, tables 9 and 11 do not; compilers are of the environment, as in
    the paper."""
    times = reports["times"]
    suite = times.isel(benchmark=times["suite"].values == "int2017_rate1")
    tables = {
        number: eval(CALLS[f"Table {number}"].replace(".head(10)", ""), {"suite": suite})
        for number in (9, 10)
    }
    flags = {"flag -flto", "flag -ljemalloc", "flag -march=native"}
    assert flags <= set(tables[10].index)
    assert not any("flag" in name for name in tables[9].index)
    assert {"compiler_family", "compiler_version", "cpu_mhz", "cores"} <= set(tables[9].index)


@needs_archives
@pytest.mark.parametrize("head", CALLS)
def test_each_call_runs_on_csv_results(head):
    """Two machines of one suite: all but a model, which needs six, and says so."""
    times = perfarray.read_archive(ARCHIVES / "spec_csv").sel(tuning="base")
    folder = ARCHIVES / "spec_csv" / "EstebanMonge_speccpu2006"
    suite = perfarray.read_archive(
        [folder / "cint2006-rates-example.csv", folder / "CINT2006.001.ref.csv"]
    ).sel(tuning="base")
    names = {
        "perfarray": perfarray,
        "times": times,
        "suite": suite,
        "machine": suite["machine"].values[0],
    }
    if "explain_variation" in CALLS[head]:
        with pytest.raises(ValueError, match="A model needs 6 or more"):
            eval(CALLS[head], names)
        return
    assert says_something(head, eval(CALLS[head], names))
