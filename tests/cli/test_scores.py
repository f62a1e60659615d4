"""`perfarray scores --mean`: means that solvers are judged by, and what is shown beside them."""

import pytest

import perfarray
from cli.commands import as_json, refused, run, write_rows

RUNS = ("a,x,1,False", "a,y,60,True", "b,x,2,False", "b,y,8,False")


@pytest.fixture
def file(tmp_path):
    return write_rows(tmp_path / "runs.csv", "machine,benchmark,time_s,censored", RUNS)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--mean", "par2"), [(1 + 120) / 2, 5]),
        (("--mean", "par2", "--limit", "50"), [(1 + 100) / 2, 5]),
        (("--mean", "par10"), [(1 + 600) / 2, 5]),
        (("--mean", "shifted_geometric"), [(2 * 61) ** 0.5 - 1, 27**0.5 - 1]),
    ],
)
def test_means_of_solvers(file, options, expected):
    """The score stands alone: of penalised times no passes are described."""
    answer = as_json("scores", file, *options, code=0)
    assert [row["score"] for row in answer["rows"]] == pytest.approx(expected)
    assert {*answer["rows"][0]} == {"machine", "score"}
    assert "minimum" not in run("scores", file, *options).stdout


@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
def test_other_means_have_passes(file):
    """Five numbers and the variation are those of the mean that was asked for."""
    answer = as_json("scores", file, "--mean", "arithmetic", "--select", "machine=b", code=0)
    five = perfarray.read(file).perf.five_number_summary(mean="arithmetic", method="exact")
    (row,) = answer["rows"]
    assert (row["score"], row["q1"]) == (5, five["q1"].sel(machine="b").item())
    assert "score: the arithmetic mean over" in run("scores", file, "--mean", "arithmetic").stdout


def test_a_limit_is_for_penalties(file):
    """The message names the options."""
    assert "--limit 5.0 is for --mean 'par2'" in refused("scores", file, "--limit", "5")
