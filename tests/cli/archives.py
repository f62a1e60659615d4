"""A small archive in the shape of SPEC's: two suites on machines with two compilers."""

from pathlib import Path

import numpy as np

from cli.commands import write_rows

SUITES = {"int2017": ("gcc", "mcf", "xz", "x264"), "fp2017": ("lbm", "wrf", "nab")}
COMPILERS = {"gcc 13": 1.0, "clang 18": 1.1}


def write_archive(path="archive.csv", n_machines=8) -> Path:
    """Write throughputs of three runs each: `box-1` has one compiler, `box-2` lacks a benchmark of
    `fp2017`, `box-3` has one run of each.

    Performance follows the clock, and clang is 10 % faster; half of the machines are of AMD.
    """
    chance = np.random.default_rng(1)
    rows = []
    for number in range(n_machines):
        mhz = 2000 + 250 * number
        machine = f"box-{number},{'AMD Z' if number % 2 else 'Intel X'}{number},{mhz},{8 if number < 3 else 16},2017-0{1 + number % 9}-01"
        for compiler, faster in COMPILERS.items():
            for suite, names in SUITES.items():
                for name in names:
                    if (number, compiler) == (1, "clang 18") or (number, name) == (2, "nab"):
                        continue
                    ratios = (
                        mhz
                        / 1000
                        * faster
                        * np.exp(0.002 * chance.standard_normal(1 if number == 3 else 3))
                    )
                    rows += [
                        f"{name},{suite},{machine},{compiler},{run},{ratio:.6f}"
                        for run, ratio in enumerate(ratios)
                    ]
    return write_rows(
        path,
        "benchmark,suite,machine,cpu,cpu_mhz,cores,date_tested,compiler,execution,throughput",
        rows,
    )
