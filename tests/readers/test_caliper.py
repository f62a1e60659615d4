"""Caliper: regions of a profile, times over ranks, what is no tree, and the library that reads
it."""

import sys

import pytest

import perfarray
from readers.files_of_our_own import check, write

HEAD = """__rec=node,id=20,attr=10,data=276,parent=3
__rec=node,id=21,attr=8,data=region,parent=20
__rec=node,id=30,attr=10,data=65,parent=5
__rec=node,id=22,attr=8,data=attribute.unit,parent=3
__rec=node,id=31,attr=22,data=sec,parent=30
__rec=node,id=32,attr=8,data=max#inclusive#sum#time.duration,parent=31
__rec=node,id=33,attr=8,data=avg#inclusive#sum#time.duration,parent=31
__rec=node,id=34,attr=8,data=any#any#max#Reps,parent=30
__rec=node,id=40,attr=10,data=512,parent=3
__rec=node,id=41,attr=8,data=cluster,parent=40
__rec=node,id=50,attr=21,data=main
__rec=node,id=51,attr=21,data=solve,parent=50
"""
RECORDS = """__rec=ctx,ref=50,attr=32=33=34,data=4.5=4.0=1
__rec=ctx,ref=51,attr=32=33=34,data=2.5=2.25=7
__rec=ctx,attr=32=33,data=0.000000=0.1
__rec=globals,attr=41,data=quartz
"""


def test_regions_are_benchmarks(tmp_path):
    """The longest time over ranks is the time; counters stand beside; a time of 0 is a value."""
    pytest.importorskip("caliperreader", reason="install perfarray[io]")
    times = perfarray.read(write(tmp_path / "a.cali", HEAD + RECORDS))
    check(times, benchmark=["main", "main/solve", "(outside of regions)"])
    check(times.squeeze(), time=[4.5, 2.5, 0.0], time_avg=[4.0, 2.25, 0.1])
    assert times["Reps"].values.ravel().tolist()[:2] == [1.0, 7.0]
    assert times["machine"].item() == "quartz"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "__rec=node,id=60,attr=21,data=x,parent=60\n",
            "line 13: node '60' below '60': expected a new node below one that is there",
        ),
        ("__rec=node,id=50,attr=21,data=x,parent=51\n", "line 13: node '50' below '51'"),
        (
            "".join(f"__rec=node,id={i},attr=21,data=x,parent={i - 1}\n" for i in range(52, 400)),
            "more than 200 nodes lie one below",
        ),
        ("__rec=ctx,ref=99,attr=32,data=1\n", "is not Caliper's: KeyError"),
        ("nonsense\n", "is not Caliper's: ReaderError"),
        (
            "__rec=ctx,ref=50,attr=32,data=x\n",
            "record 0: 'max#inclusive#sum#time.duration': value 0 is 'x'; expected a number",
        ),
        (
            "__rec=ctx,ref=50,attr=32,data=-1\n",
            (
                "record 0: 'max#inclusive#sum#time.duration': value 0 is '-1'; expected a number "
                "from 0"
            ),
        ),
        ("", "holds no measurement"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, text, message):
    """A circle of nodes is refused and does not hang."""
    pytest.importorskip("caliperreader", reason="install perfarray[io]")
    with pytest.raises(ValueError, match=rf"a\.cali: .*{message}"):
        perfarray.read(write(tmp_path / "a.cali", HEAD + text))


def test_without_the_library(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "caliperreader", None)
    with pytest.raises(
        ImportError, match=r"caliper-reader, which is not installed; install perfarray\[io\]"
    ):
        perfarray.read(write(tmp_path / "a.cali", HEAD + RECORDS))
