"""Texts of archives as numbers: what is read, what is not said, what cannot be read."""

import pytest

from perfarray.tables.descriptions.hardware import (
    Cache,
    Disk,
    Memory,
    ProcessorCounts,
    cache,
    clock,
    counts,
    disk,
    memory,
)
from perfarray.tables.descriptions.software import (
    Product,
    compiler,
    file_system,
    flags,
    operating_system,
    year,
    yes_or_no,
)


@pytest.mark.parametrize(
    ("parsed", "text", "expected"),
    [
        # Sizes in kB; parts of different things are not added; what is not there is 0; what cannot
        # be read is nothing.
        (cache, "32 KB I + 32 KB D on chip per core", Cache(64.0, 32.0, 32.0, "core")),
        (cache, "12 MB I+D on chip per chip", Cache(12288.0, None, None, "chip")),
        (
            cache,
            "12 MB I+D on chip per chip, 6 MB shared / 2 cores",
            Cache(12288.0, None, None, "chip"),
        ),
        (
            cache,
            "512 KB I on chip per chip, 64 KB I shared / 2 cores; 16 KB D on chip per core",
            Cache(None, 512.0, 16.0, None),
        ),
        (cache, "12 K micro-ops I + 16 KB D on chip per core", Cache(None, None, 16.0, "core")),
        (
            cache,
            "60 GB I+D off chip per entire system (see notes)",
            Cache(60 * 1024.0**2, None, None, "system"),
        ),
        (cache, "None", Cache(0.0, 0.0, 0.0, None)),
        (cache, "1.5 MiB", Cache(1536.0, None, None, None)),
        (cache, "on request", Cache()),
        # Total, modules, size and speed of a module; a bandwidth in a name becomes a rate; modules
        # that do not add up are not counted.
        (memory, "128 GB (16 x 8 GB 2Rx4 PC3-12800R-11, ECC)", Memory(128.0, 16.0, 8.0, 1600.0)),
        (
            memory,
            "96 GB (6 x 16 GB 2Rx4 PC3-12800R-11, ECC, running at 1333 MHz)",
            Memory(96.0, 6.0, 16.0, 1333.0),
        ),
        (
            memory,
            "48 GB (12 x 4GB DDR3-1333 MHz DR RDIMM, CL9, ECC)",
            Memory(48.0, 12.0, 4.0, 1333.0),
        ),
        (memory, "8 GB (4*2GB PC2-6400 CL5-5-5 FB-DIMMs)", Memory(8.0, 4.0, 2.0, 800.0)),
        (memory, "16 GB (8 x 2 GB DDR2-5300F ECC)", Memory(16.0, 8.0, 2.0, 667.0)),
        (memory, "256 GB (16 x 16 GB 2Rx4 PC4-2133P-R)", Memory(256.0, 16.0, 16.0, 2133.0)),
        (memory, "512 GB (16 x 32 GB 2Rx8 PC5-4800B-R)", Memory(512.0, 16.0, 32.0, 4800.0)),
        (memory, "24x Vendor M321 64 GB 2 rank 4800", Memory(1536.0, 24.0, 64.0, 4800.0)),
        (memory, "2 GB (2x1GB Maker DDR2-667 CL5)", Memory(2.0, 2.0, 1.0, 667.0)),
        (memory, "4 TB (8*4GB DDR2-400 DIMMS per 2 core module)", Memory(4096.0, None, 4.0, 400.0)),
        (memory, "16 x 32 GB DDR4", Memory(512.0, 16.0, 32.0, None)),
        (memory, "1x Not Specified", Memory()),
        (memory, "9" * 400 + " GB", Memory()),
        # Sizes add up; what turns is not solid state.
        (disk, "2 x 146 GB SAS, 10K RPM", Disk(292.0, 2.0, 10000.0, False)),
        (disk, "1 TB SATA III 7200 RPM", Disk(1024.0, 1.0, 7200.0, False)),
        (disk, "960 GB SSD SATA", Disk(960.0, 1.0, None, True)),
        (disk, "SAN", Disk()),
        # 0 is not a count.
        (counts, "384 cores, 16 chips, 2 threads/core", ProcessorCounts(384, 16, None, 2)),
        (counts, "1 core, 1 chip, 1 core/chip", ProcessorCounts(1, 1, 1, None)),
        (counts, "-1 cores, 0 chips, (?) threads/core", ProcessorCounts()),
        (counts, "could not determine", ProcessorCounts()),
        # Family and version; a width in bits is not a version.
        (
            operating_system,
            "SUSE Linux Enterprise Server 11 SP2 (x86_64), 3.0.13-0.27-default",
            Product("SUSE", 11.2),
        ),
        (operating_system, "SLES10 (x86_64), 2.6.16.21-0.8-smp", Product("SUSE", 10.0)),
        (
            operating_system,
            "Red Hat Enterprise Linux Server release 6.2, (Santiago), 2.6.32",
            Product("Red Hat", 6.2),
        ),
        (
            operating_system,
            "Windows Server 2003 Standard Edition (32-bit)",
            Product("Windows", 2003.0),
        ),
        (operating_system, "Windows Vista Ultimate, 64 bit Version", Product("Windows", None)),
        (operating_system, "IBM AIX V6.1 Updated to SP3", Product("AIX", 6.1)),
        (operating_system, "Linux", Product("Linux", None)),
        (operating_system, "Plan 9", Product()),
        # The first compiler and the first two parts of its version.
        (
            compiler,
            "C/C++: Version 12.1.0.225 of Intel C++ Studio XE, for Linux",
            Product("Intel", 12.1),
        ),
        (
            compiler,
            (
                "Intel C++ and Fortran Professional Compiler for, IA32 and Intel 64, Version  "
                "11.1, "
                "Build 20091130"
            ),
            Product("Intel", 11.1),
        ),
        (compiler, "GCC 12.2.0", Product("GCC", 12.2)),
        (compiler, "Clang 19.1.7", Product("Clang", 19.1)),
        (compiler, "x86 Open64 4.3.2 Compiler Suite (from AMD)", Product("Open64", 4.3)),
        (compiler, "Sun Studio 12 (see patch information below)", Product("Sun Studio", 12.0)),
        (compiler, "by hand", Product()),
        (flags, "-O3 -fno-math-errno  -O3 main.c", ("-O3", "-fno-math-errno")),
        (flags, "O3-march=native-flto", ("-O3", "-march=native", "-flto")),
        (flags, "", ()),
    ],
)
def test_what_texts_say(parsed, text, expected):
    assert parsed(text) == expected


def test_dates():
    """A month and a year, however written; the United States' order unless the first number is no
    month."""
    assert [
        year(text) for text in ("May-2012", "May 2012", "2012-05", "05/03/12", "31/05/2012")
    ] == pytest.approx([2012 + 4 / 12] * 5)
    assert year("03/01/12") == pytest.approx(2012 + 2 / 12)
    assert year("12/31/99") == pytest.approx(1999 + 11 / 12)
    assert [year(text) for text in ("soon", "31/31/2012", "Foo-2012")] == [None, None, None]


def test_clocks_and_other_words():
    """MHz whatever the unit; file systems and answers."""
    assert [clock(text) for text in ("2.4 GHz", "2400 MHz", "2400", "3.2", "0", "fast")] == [
        2400.0,
        2400.0,
        2400.0,
        3200.0,
        None,
        None,
    ]
    assert [file_system(text) for text in ("ext3", "NFSv3 IPoIB", "ReiserFS", "(see below)")] == [
        "ext3",
        "nfsv3",
        "reiserfs",
        None,
    ]
    assert [yes_or_no(text) for text in ("Yes", "NO", "maybe")] == [True, False, None]
