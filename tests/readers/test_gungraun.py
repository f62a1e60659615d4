"""Summaries of Gungraun and iai-callgrind: counts without noise, versions of the format, several in
a file."""

import json

import pytest

import perfarray
from readers.files_of_our_own import reader, readings, refusals, write

pytestmark = pytest.mark.filterwarnings("ignore:.*Counts of instructions have no noise")

read = reader("summary.json")


def current(new, old):
    """Return a count as version 7 has it."""
    return {"values": {"new": new, "old": old}, "change": {"diff_pct": "0", "factor": "1"}}


def summary(name="short", instructions=56, profiles=None):
    """Return the summary of one benchmark, of version 7."""
    total = {
        "metrics": {
            "Ir": current(instructions, 99),
            "EstimatedCycles": current(184, 99),
            "L1HitRate": current(99.5, 0.5),
        }
    }
    counts = [
        {"tool": "DHAT", "data": {"total": {}}},
        {"tool": "Callgrind", "data": {"parts": [], "total": total}},
    ]
    return {
        "version": "7",
        "kind": "LibraryBenchmark",
        "benchmark_exe": "/e",
        "benchmark_file": "/b.rs",
        "function_name": "bench",
        "module_path": "file::group::bench",
        "id": name,
        "profiles": counts if profiles is None else profiles,
    }


def older(diff):
    """Return a summary whose counts are as versions before had them."""
    return {
        "tool": "Callgrind",
        "summaries": {"parts": [], "total": {"summary": {"Callgrind": {"Ir": {"metrics": diff}}}}},
    }


LABELS = {"benchmark": ["file::group::bench::short", "file::group::bench::long"]}
NOTE = "no noise: there is one of each, and a difference is exact"

test_what_is_read = readings(
    read,
    [
        (
            "the new run is read; a note says that counts have no noise",
            summary(),
            {
                "benchmark": "file::group::bench::short",
                "metrics": ["instructions", "estimated_cycles"],
                "instructions": 56,
                "estimated_cycles": 184,
                "metric": "instructions",
                "instructions.better": "lower",
                "instructions.exact": 1,
                "notes": ["no_noise"],
            },
            NOTE,
        ),
        *(
            (
                f"versions 3 to 6: {diff}",
                summary(profiles=[older(diff)]),
                {"instructions": 56},
                NOTE,
            )
            for diff in ({"Left": 56}, {"Both": [56, 99]}, {"Both": [{"Int": 56}, {"Int": 99}]})
        ),
        ("several in a list", json.dumps([summary(), summary("long")]), LABELS, NOTE),
        (
            "several that --output-format=json prints",
            "\n".join(map(json.dumps, (summary(), summary("long")))),
            LABELS,
            NOTE,
        ),
    ],
)


@pytest.mark.parametrize(("more", "verdict"), [(0, "equivalent"), (1, "slower")])
def test_instructions_are_declared_exact(tmp_path, more, verdict):
    """One run a side gives a verdict on instructions; other counts depend on addresses."""
    for side, instructions in (("old", 1000), ("new", 1000 + more)):
        write(tmp_path / f"{side}.json", summary(instructions=instructions))
    paths = {side: tmp_path / f"{side}.json" for side in ("old", "new")}
    times = perfarray.read_archive(paths, dim="version")
    assert "exact" not in times["estimated_cycles"].attrs
    result = times.perf.compare("old")
    assert result["verdict"].item() == verdict
    assert result["kind"].item() == "exact"
    with pytest.warns(perfarray.PerfarrayWarning, match="rest on one execution"):
        cycles = times.perf.compare("old", metric="estimated_cycles")
    assert cycles["verdict"].item() == "inconclusive"


def test_one_without_counts(tmp_path):
    """A benchmark that Callgrind did not count is left out and named; what it says is no number is
    missing; the others are read."""
    bare = [
        summary("dhat", profiles=[{"tool": "DHAT", "data": {}}]),
        summary("none", profiles=[older({"Left": None})]),
        summary(),
    ]
    with pytest.warns(perfarray.PerfarrayWarning) as caught:
        counts = read(tmp_path, json.dumps(bare))
    assert counts["benchmark"].values.tolist() == [
        "file::group::bench::none",
        "file::group::bench::short",
    ]
    assert counts["instructions"].values.ravel()[-1] == 56
    message = str(caught[0].message)
    assert "'file::group::bench::dhat: it has no counts of Callgrind" in message
    assert "'Ir': value 0 is null" in message


def test_a_folder_is_one_result(tmp_path):
    """A file holds one benchmark and says which; what Valgrind writes beside it is passed over."""
    for name in ("short", "long"):
        write(tmp_path / f"group/bench.{name}/summary.json", summary(name))
        write(tmp_path / f"group/bench.{name}/callgrind.bench.{name}.out", "events: Ir\n")
    counts = perfarray.read(tmp_path)
    assert (counts["instructions"].dims, counts.sizes["benchmark"]) == (
        ("benchmark", "execution", "iteration"),
        2,
    )
    assert counts.attrs["n_files_skipped"] == 0


test_what_is_wrong_is_said = refusals(
    read,
    "summary.json",
    [
        (
            summary(profiles=[{"tool": "DHAT", "data": {}}]),
            ".*none of them has a run; file::group::bench::short: it has no counts",
        ),
        (
            summary(
                profiles=[
                    {"tool": "Callgrind", "summaries": {"parts": [], "total": {"summary": {}}}}
                ]
            ),
            ".*it has no counts",
        ),
        (
            summary(instructions="x"),
            "benchmark 'file::group::bench::short': 'Ir': value 0 is 'x'; expected a number",
        ),
        (json.dumps(summary())[:-20], "is not valid JSON: .* at line 1, column"),
    ],
)
