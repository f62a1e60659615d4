"""Dumps of published SPEC results: one row per result, zeros that are none, heads of many hands."""

import pytest

import perfarray
from perfarray.readers.opening import FileError
from readers.files_of_our_own import NAN, check, readings, refusals, write
from shared_material import ARCHIVES, needs_archives

HEAD = (
    'Benchmark,"Hardware Vendor",System,Result,Baseline,"Cores","Processor MHz","1st Level '
    'Cache",Memory,"HW Avail"'
)
ROWS = [
    (
        'CINT2006,Maker,"Box 1 (CPU, 2 GHz)",35.8,32.8,12,2000,"32 KB I + 32 KB D on chip per '
        'core","96 GB (6 x 16 GB, ECC)",May-2012'
    ),
    'CFP2006,Maker,"Box 1 (CPU, 2 GHz)",0,30.5,12,0,None,"96 GB",03/01/12',
    'CFP2006,Maker,"Box 1 (CPU, 2 GHz)",0,0,8,2500,,"96 GB",--',
]


def read(tmp_path, *rows, head=HEAD, name="dump.csv", **options):
    return perfarray.read(write(tmp_path / name, "\n".join([head, *rows]) + "\n"), **options)


BOX = "Maker | Box 1 (CPU, 2 GHz) | "


def test_several_results_of_one_system(tmp_path):
    """A second result of one suite, vendor and system gets `

    A score of 0 is NaN and counted, and so is a clock of 0; a column of numbers becomes numbers,
    any other is text, empty is unknown.
    """
    with pytest.warns(
        UserWarning,
        match="1 systems have several results; all are kept, the second as 'Maker .*CFP2006#2'",
    ) as caught:
        scores = read(tmp_path, *ROWS)
    assert len(caught) == 1
    check(
        scores,
        machine=[f"{BOX}CINT2006", f"{BOX}CFP2006", f"{BOX}CFP2006#2"],
        suite=["CINT2006", "CFP2006", "CFP2006"],
    )
    check(scores.sel(tuning=["peak", "base"]), score=[[35.8, 32.8], [NAN, 30.5], [NAN, NAN]])
    assert scores.attrs["n_not_measured"] == 3
    check(
        scores,
        cpu_mhz=[2000, NAN, 2500],
        l1_cache=["32 KB I + 32 KB D on chip per core", "None", "unknown"],
    )
    check(
        scores,
        memory=["96 GB (6 x 16 GB, ECC)", "96 GB", "96 GB"],
        hardware_available=["May-2012", "03/01/12", "unknown"],
    )
    assert scores["cores"].dtype.kind == "i"
    assert all(scores[name].dims == ("machine",) for name in ("cores", "memory", "suite"))


HEADS = [
    (
        "Benchmark,Hardware Vendor\t,System,# Cores,# Chips ,Processor ,3rd Level "
        "Cache,Result,Baseline"
    ),
    'Benchmark,"HardwareVendor     ",System,#Cores,#Chips,Processor,3rdLevelCache,Result,Baseline',
    "Benchmark,Hardware.Vendor,System,X..Cores,X..Chips,Processor,X3rd.Level.Cache,Result,Baseline",
]
"""Names of columns with trailing blanks, without blanks, and as R writes them."""

TWICE = "Processor,Benchmark,HardwareVendor,System,Processor,400Peak,400Base,Result,Baseline,Price"
RATES = (
    ",Hardware Vendor\t,System,Peak Speed Result,Base Speed Result,Peak Rate Result,Base Rate "
    "Result,Published"
)

test_what_is_read = readings(
    lambda folder, lines: read(folder, *lines[1:], head=lines[0]).sel(tuning=["peak", "base"]),
    [
        (
            "Result is peak, Baseline is base; there is no repetition; scores are better high",
            [HEAD, ROWS[0]],
            {
                "score.dims": ("machine", "tuning"),
                "score": [[35.8, 32.8]],
                "score.attrs": {"units": "1", "better": "higher"},
                "metric": "score",
                "format": "spec_dump",
                "n_not_measured": 0,
            },
        ),
        *(
            (
                f"heads of many hands: {head}",
                [head, "CINT2006,Maker,Box,4,1,CPU 7,8 MB,20,10"],
                {
                    "cores": 4,
                    "chips": 1,
                    "vendor": "Maker",
                    "system": "Box",
                    "cpu": "CPU 7",
                    "l3_cache": "8 MB",
                    "suite": "CINT2006",
                    "coords": [
                        "chips",
                        "cores",
                        "cpu",
                        "l3_cache",
                        "machine",
                        "suite",
                        "system",
                        "tuning",
                        "vendor",
                    ],
                },
            )
            for head in HEADS
        ),
        (
            (
                "the first of two columns of one name counts; a median of 0 is missing, a price "
                "of 0 is not"
            ),
            [TWICE, "A,CINT2006rate,Maker,Box,B,50.5,0,20,10,0"],
            {"cpu": "A", "peak_400": 50.5, "base_400": NAN, "price": 0},
        ),
        (
            (
                "speed and rate are two variables; a column without a name is left out; 0.0 was "
                "not measured"
            ),
            [RATES, "0,Maker,Box,21.5,20.7,0.0,96.7,May-2025"],
            {
                "metrics": ["score_speed", "score_rate"],
                "score_speed": [[21.5, 20.7]],
                "score_rate": [[NAN, 96.7]],
                "vendor": "Maker",
                "system": "Box",
                "published": "May-2025",
                "coords": ["machine", "published", "system", "tuning", "vendor"],
            },
        ),
    ],
)


test_broken_dumps = refusals(
    lambda folder, rows: read(folder, *rows),
    "dump.csv",
    [
        ((), "has a head and no rows"),
        ((ROWS[0], "CINT2006,Maker,Box,35"), "is cut off: row 2, its last, has 4 cells of 10"),
        (
            (ROWS[0].replace("35.8", "fast"),),
            "line 2, column 'Result': 'fast' is no score; expected a number, or 0 for none",
        ),
        ((ROWS[0].replace("35.8", "-1"),), "line 2, column 'Result': '-1' is no score"),
        ((ROWS[0], ROWS[1] + ",x,y,z"), "is not a table"),
    ],
)


def test_a_table_that_is_no_dump(tmp_path):
    """With the format given, the error names the missing columns."""
    with pytest.raises(
        FileError,
        match=(
            r"has no columns of results \('Result', .* of a 'System': its columns are 'Kind', "
            r"'v4.0'"
        ),
    ):
        read(tmp_path, "Bench,10", head="Kind,v4.0", format="spec_dump")


@needs_archives
@pytest.mark.parametrize(
    ("name", "rows", "missing"),
    [
        ("ESEUR_spec/cpu2006-results-20140206.csv.xz", 26_238, {"score": 837 + 138}),
        ("karlarao_specint_cpu_explorer/specprice.txt.gz", 2_941, None),
        ("blue-plum-cloud_cpu2017data/test.csv.gz", 10_873, None),
    ],
)
@pytest.mark.filterwarnings("ignore:.*several results")
def test_genuine_dumps(name, rows, missing):
    scores = perfarray.read(ARCHIVES / "spec_dump" / name)
    assert dict(scores.sizes) == {"machine": rows, "tuning": 2}
    assert scores.indexes["machine"].is_unique
    assert all(
        (variable > 0).sum() + variable.isnull().sum() == variable.size
        for variable in scores.values()
    )
    assert (
        missing is None
        or {name: int(variable.isnull().sum()) for name, variable in scores.items()} == missing
    )
    if name.startswith("blue"):
        assert int(scores["score_rate"].sel(tuning="peak").isnull().sum()) >= 3_315


@needs_archives
@pytest.mark.parametrize("name", ["gcc-opt-int2k-64.csv.xz", "cpu2006-memory.csv.xz"])
def test_genuine_tables_that_are_no_dumps(name):
    with pytest.raises(FileError, match="has no columns of results"):
        perfarray.read(ARCHIVES / "spec_dump/ESEUR_spec" / name, format="spec_dump")
