"""One answer in many forms: on the screen, as Markdown, CSV, JSON and HTML, on stdout or in a
file."""

import csv
import io
import json
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

import perfarray
from cli.commands import OLD, as_json, refused, run, times, write, write_sides
from perfarray.cli import console
from perfarray.cli.problems import in_line
from perfarray.results.printed import code_in_markdown, escape_markdown, grid_of


@pytest.fixture
def sides():
    """Two files of four benchmarks: one slower, one faster, two as they were; a name that would be
    markup anywhere."""
    new = {
        "steady": times(1.0),
        "worse": times(1.2),
        "better": times(0.8),
        "<b>|`x`*y*": times(1.0),
    }
    return *write_sides(dict.fromkeys(new, OLD), new), "--threshold", "2%"


def test_markdown(sides):
    """The outcome comes first, then what changed with absolute values, then what has not, folded
    and counted; no label is markup."""
    printed = run("compare", *sides, "--output", "markdown", code=1).stdout
    lines = printed.splitlines()
    assert lines[0].startswith(
        "**4 compared: 1 slower, 1 faster, 2 equivalent, 0 inconclusive; all together "
    )
    assert lines[2:4] == [
        "| benchmark | old -> new | change | verdict | n |",
        "| :-- | --: | :-- | :-- | --: |",
    ]
    assert (
        lines[4]
        == "| `better` | 1.0000 s -> 0.8000 s | 1.250x faster (1.227 to 1.273) | **faster** | 6 |"
    )
    assert lines[5].startswith("| `worse` | ")
    assert lines[6].startswith("| **all 4** |  | ")
    assert "<details><summary>No change shown: 2 equivalent</summary>" in lines
    assert any(line.startswith("| `` <b>\\|`x`*y* `` | ") for line in lines)
    assert "<sub>old " in printed
    assert printed.count("<b>") == 1


@pytest.mark.parametrize(
    ("text", "code"),
    [("a", "`a`"), ("a`b", "`` a`b ``"), ("a|b", "`a\\|b`"), ("a\nb", "`a b`"), ("", "")],
)
def test_labels_and_texts_in_markdown(text, code):
    """Labels are code, whatever is in them; texts are no markup."""
    assert code_in_markdown(text) == code
    assert escape_markdown("a_b <i> *c* [d](e) #1 -> 2") == r"a\_b \<i> \*c\* \[d\](e) \#1 -> 2"


def test_forms_for_build_servers(sides, tmp_path):
    """The slower benchmark is GitHub's error and JUnit's failure, and errors of the command are
    too."""
    annotations = run("compare", *sides, "--output", "github", code=1).stdout.splitlines()
    errors = [line for line in annotations if line.startswith("::error")]
    assert [line.split("::")[1] for line in errors] == ["error title=slower%3A worse"]
    assert annotations[-1].startswith("::notice title=perfarray::4 compared: 1 slower")
    file = tmp_path / "report.xml"
    run("compare", *sides, "-o", file, code=1)
    root = ElementTree.parse(file).getroot()
    assert (root.get("tests"), root.get("failures")) == ("5", "1")
    failed = run("compare", tmp_path / "lost.json", sides[1], "--output", "junit", code=2).stdout
    assert "no such file" in ElementTree.fromstring(failed).find(".//error").get("message")


def as_csv(*arguments):
    return list(csv.DictReader(io.StringIO(run(*arguments, "--output", "csv").stdout)))


def test_csv(sides):
    """Rows have full precision: one for each benchmark, and one of several; a variable along levels
    has a column for each."""
    rows, expected = as_csv("compare", *sides), as_json("compare", *sides)["benchmarks"]
    assert [row["benchmark"] for row in rows] == [row["benchmark"] for row in expected] + ["all 4"]
    assert [float(row["upper"]) for row in rows[:4]] == [row["upper"] for row in expected]
    assert len(as_csv("compare", *write_sides({"a": OLD}, {"a": OLD}))) == 1
    counts_read = as_csv("plan", sides[0], "--cost", "execution=1", "--budget", "1000")
    assert float(counts_read[0]["repetitions.execution"]) > 0


def test_notes_and_warnings():
    """JSON holds notes as data beside the warnings; Markdown quotes the warnings, since readers of
    a comment do not see stderr."""
    sides = write_sides(*[{"a": OLD, "b": OLD[:1]}] * 2)
    assert (
        "\n> 1 of 2 cells ('b, new') rest on one execution: "
        in run("compare", *sides, "--output", "markdown").stdout
    )
    notes = json.loads(run("compare", *sides, "--output", "json").stdout)["notes"]
    assert [
        (note["code"], note["values"].get("cells"), note.get("aside", False)) for note in notes
    ] == [("one_session", None, True), ("single_unit", 1, False)]


class Reader(HTMLParser):
    """Gathers the cells of a page, and what it loads."""

    def __init__(self):
        super().__init__()
        self.cells, self.tags, self.loads = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.loads += [value for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data):
        if self.tags and self.tags[-1] in ("td", "th") and data.strip():
            self.cells.append(data.strip())


def test_html_is_one_page(sides):
    """It loads nothing, and no label is markup."""
    page = Reader()
    page.feed(run("compare", *sides, "--output", "html").stdout)
    assert page.loads == []
    assert "<b>|`x`*y*" in page.cells
    assert "b" not in page.tags
    assert page.cells[:4] == ["benchmark", "old -> new", "change", "verdict"]


@pytest.mark.parametrize("name", ["a.md", "a.csv", "a.json", "a.html", "a.txt"])
def test_a_file_has_the_form_of_its_name(sides, tmp_path, name):
    """The file holds the answer, replaced as a whole; the command prints the outcome."""
    file = tmp_path / "out" / name
    file.parent.mkdir()
    file.write_text("before")
    kind = {"a.md": "markdown", "a.txt": "table"}.get(name, name[2:])
    output = run("compare", *sides, "-o", file, code=1).stdout
    assert output.splitlines()[-1] == f"{file}: {kind}"
    assert output.startswith("4 compared: 1 slower")
    printed = run("compare", *sides, "--output", kind).stdout
    assert [line.rstrip() for line in file.read_text().splitlines()] == [
        line.rstrip() for line in printed.splitlines()
    ]
    assert [path.name for path in file.parent.iterdir()] == [name]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("-o .", "this is a folder. Name a file"),
        ("-o markdown", "-o markdown names a file. --output markdown says the form"),
        ("-o no/a.md", "there is no folder"),
        ("-o a.SVG", "-o a.SVG: this answer is no picture. `perfarray plot` draws one"),
        ("--json --output csv", "ask for two forms"),
    ],
)
def test_files_that_cannot_be_written(options, message):
    """Wrong outputs are errors before anything is read."""
    assert message in refused("compare", "nothing", "nowhere", *options.split())


def test_inputs_and_failures_leave_files(sides, tmp_path):
    """An input is not overwritten. Where a call fails, forms for programs have the error, and a file
    of another form stays as it was."""
    previous = sides[1].read_text()
    assert "this is what would be read. Give another name" in refused(
        "compare", *sides, "-o", sides[1]
    )
    assert sides[1].read_text() == previous
    for kind in ("json", "github", "junit", "markdown", "csv", "html", "table"):
        file = tmp_path / f"answer.{kind}"
        for command in ("compare", "stop"):
            file.write_text("before")
            error = refused(command, "no.csv", "no.csv", "-o", file, "--output", kind)
            if kind in ("json", "github", "junit"):
                assert error.removeprefix("error: ")[:20] in file.read_text()
            else:
                assert file.read_text() == "before"


@pytest.mark.parametrize("command", ["report no.csv", "plot no.csv", "calibrate no.csv"])
def test_pages_pictures_and_thresholds_of_calls_that_fail(command, tmp_path):
    """What stood there stays."""
    for suffix in (".html", ".svg", ".toml", ".txt"):
        file = tmp_path / f"answer{suffix}"
        file.write_text("before")
        refused(*command.split(), "-o", file)
        assert file.read_text() == "before"


@pytest.mark.parametrize("command", ["compare", "scores", "components"])
def test_the_suite_of_junit_is_the_command(sides, command):
    """With an answer and without."""
    for inputs in (sides[: 2 if command == "compare" else 1], ("no.csv",)):
        text = run(command, *inputs, "--output", "junit").stdout
        suite = ElementTree.fromstring(text).find("testsuite")
        assert {suite.get("name"), *(case.get("classname") for case in suite)} - {None} == {command}


def test_markdown_of_many_rows_is_short_enough_for_a_comment():
    """It has the first rows and the number of the others; what has not changed is one folded
    table."""
    sides = write_sides(*({f"b{i}": values for i in range(230)} for values in (OLD, times(1.0))))
    text = run(
        "compare", *sides, "--threshold", "50%", "--shared", "execution", "--output", "markdown"
    ).stdout
    assert text.count("| `b") == 200
    assert "and 30 more (`--output csv` has all)" in text
    assert "No change shown: 230 equivalent" in text
    assert text.index("| **all 230** |") < text.index("<details>")


def test_order_and_only_changes(sides):
    """They are alike in every form; the outcome still counts all."""
    content = as_json("compare", *sides, "--sort", "name", "--only-changes", code=1)
    assert [row["benchmark"] for row in content["benchmarks"]] == ["better", "worse"]
    printed = run("compare", *sides, "--sort", "effect", "--only-changes").stdout
    assert [
        line.split()[0] for line in printed.splitlines() if " -> 0.8" in line or " -> 1.2" in line
    ] == ["better", "worse"]
    assert "steady" not in printed
    assert "2 equivalent" in printed
    all_rows = as_json("compare", *sides, "--sort", "name")["benchmarks"]
    assert [row["benchmark"] for row in all_rows] == ["<b>|`x`*y*", "better", "steady", "worse"]


@pytest.mark.parametrize("count", [1, 9, 100])
@pytest.mark.parametrize("width", ["80", "200"])
def test_any_number_of_benchmarks(monkeypatch, count, width):
    """Rows fit the screen, one line each where names are short enough, and one benchmark has its
    name, too."""
    monkeypatch.setenv("COLUMNS", width)
    path = write("a.csv", {f"benchmark_{i:03d}": OLD for i in range(count)})
    printed = run("compare", path, path, "--all").stdout
    table = printed.partition("\n95 % intervals")[0].splitlines()[2:]
    assert max(map(len, table)) <= int(width)
    assert sum("benchmark_" in line and "unchanged (" in line for line in table) == count


def test_a_screen_that_is_too_narrow(monkeypatch):
    """Numbers fold where they leave no room for the labels."""
    monkeypatch.setenv("COLUMNS", "40")
    path = write("a.csv", {"fft": OLD, "sort": OLD})
    lines = run("compare", path, path).stdout.splitlines()
    assert {line.split()[0] for line in lines if line.startswith(("fft ", "sort ", "all 2 "))} == {
        "fft",
        "sort",
        "all",
    }
    assert max(len(line) for line in lines if line.startswith(("fft ", "sort ", "---"))) <= 40


def test_a_grid_of_a_result_without_labels():
    times = perfarray.from_samples({"old": [10.0, 10.2, 9.9], "new": [9.0, 9.1, 8.9]})
    grid = grid_of(times.perf.compare("old").perf.table())
    assert (grid.n_labels, len(grid.rows), grid.titles[0]) == (0, 1, "old -> new")


def test_a_label_commands_no_terminal(monkeypatch, capsys):
    """Control characters of a file are shown as `?`; the colours of the command stay."""
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    console.show(
        [
            console.styled("slower\x1b[2J", fg="red", bold=True),
            "\x1b]0;evil\x07 \x1b[2J\tfft\x9b1m",
        ]
    )
    output = capsys.readouterr().out
    assert output == "\x1b[31m\x1b[1mslower?[2J\x1b[0m\n?]0;evil? ?[2J\tfft?1m\n"
    assert in_line("a\x1b[2J\nb") == "a?[2J b"


@pytest.mark.parametrize(
    ("message", "options", "line"),
    [
        # what is quoted is a label; what is not is an argument, for which the command has an option
        (
            (
                "only in new: 'Encode/format=json', \"B/threshold=5\"; the file's metric='time' "
                "and threshold=0.02 aren't, say metric="
            ),
            ("metric", "format", "threshold"),
            (
                "only in new: 'Encode/format=json', \"B/threshold=5\"; the file's --metric 'time' "
                "and --threshold 2% aren't, say --metric"
            ),
        ),
        (  # of the ways that a message names, the one that is an option
            "merge_level(\"session\") or levels=('execution',) take the repetitions inside it",
            ("levels",),
            "--levels execution takes the repetitions inside it",
        ),
        (
            "autocorrelation(dim='execution') shows how far",
            ("dim",),
            "perfarray plot run-sequence shows how far",
        ),
        (
            'of two suites; times.groupby("suite") or by="suite" gives each its own',
            ("by",),
            "of two suites; --by suite gives each its own",
        ),
        (
            'of two suites; times.groupby("suite") or by="suite" gives each its own',
            ("metric",),
            "of two suites",
        ),
        (
            "as in .sel(benchmark='a b', version='old')",
            ("select",),
            "as in --select 'benchmark=a b' --select 'version=old'",
        ),
        (
            (
                "times.where(times['suite'] == 'int') selects one. Select another with "
                "table[table['suite'] == ...], or name 'suite'"
            ),
            ("select",),
            (
                "--select 'suite=int' selects one. Select another with --select 'suite=...', or "
                "name 'suite'"
            ),
        ),
        (
            "has its own answer, as by='suite' gives it ('int', 'fp')",
            ("select",),
            "has its own answer ('int', 'fp')",
        ),
        (
            "has its own answer, as by='suite' gives it ('int')",
            ("by",),
            "has its own answer, as --by 'suite' gives it ('int')",
        ),
        (
            "say shared='a'; else shared=().",
            ("shared",),
            "say --shared 'a'; else --shared ''.",
        ),
        (
            "levels=('execution', 'iteration') take",
            ("levels",),
            "--levels execution,iteration take",
        ),
        ("threshold=-0.01 is out of range", ("threshold",), "--threshold -1% is out of range"),
    ],
)
def test_messages_name_options(message, options, line):
    """Functions and arguments of the library are none of the command line."""
    assert in_line(message, {name: f"--{name}" for name in options}) == line
