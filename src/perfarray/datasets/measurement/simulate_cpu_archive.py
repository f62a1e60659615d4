"""An archive like published CPU results: 80 simulated reports in the CSV of SPEC CPU2017.

    python simulate_cpu_archive.py cpu_archive.zip

Forty machines of three makers ran two suites, three runs each. No machine, maker or number in it
exists. What is true of them:

- performance is proportional to clock x L3 cache ** 0.25, 1.06 times that with -flto; the memory
  moves with the cache and does nothing;
- benchmarks that wait for memory are 35 % faster on machines of Birch, and those that vectorise 30
  % faster on Cedar's;
- runs vary by 0.3 % x (cores / 8) ** 0.4 around the performance of a benchmark on a machine, and by
  4 % on Cedar 07;
- 657.xz_s failed on Aspen 04, and Birch 09 has one run: their results are not valid. Those of Cedar
  02 are estimates.
"""

import sys
import zipfile
from collections.abc import Iterator

import numpy as np

MAKERS = {"Aspen": 14, "Birch": 13, "Cedar": 13}
# What a benchmark does, by the position of the maker who is good at it: 1 waits for memory, 2
# vectorises
FASTER = (1.0, 1.35, 1.3)
# By title, the name of the score, and what each benchmark does
SUITES = {
    "Integer Speed": (
        "SPECspeed2017_int_base",
        {
            "600.perlbench_s": 0,
            "602.gcc_s": 1,
            "605.mcf_s": 1,
            "620.omnetpp_s": 1,
            "623.xalancbmk_s": 1,
            "625.x264_s": 2,
            "631.deepsjeng_s": 0,
            "641.leela_s": 0,
            "648.exchange2_s": 0,
            "657.xz_s": 1,
        },
    ),
    "Floating Point Speed": (
        "SPECspeed2017_fp_base",
        {
            "603.bwaves_s": 1,
            "607.cactuBSSN_s": 1,
            "619.lbm_s": 1,
            "621.wrf_s": 2,
            "627.cam4_s": 0,
            "628.pop2_s": 0,
            "638.imagick_s": 2,
            "644.nab_s": 2,
            "649.fotonik3d_s": 1,
            "654.roms_s": 1,
        },
    ),
}
SECONDS = 1800.0  # the reference time of all benchmarks


def reports() -> Iterator[tuple[str, str]]:
    """Yield the names and texts of the reports."""
    generator = np.random.default_rng(2024)
    for position, (maker, models) in enumerate(MAKERS.items()):
        for model in range(1, models + 1):
            mhz, cores = (
                int(generator.choice(np.arange(2100, 4000, 100))),
                int(generator.choice([8, 16, 32, 64])),
            )
            cache, flto = (
                int(generator.choice([8, 16, 32, 64, 128])),
                bool(generator.random() < 0.5),
            )
            memory = int(cache * generator.choice([4, 8]))
            file_system = str(generator.choice(["ext4", "xfs"]))
            name = f"{maker} {model:02}"
            for title, (score, benchmarks) in SUITES.items():
                rows = []
                for benchmark, kind in benchmarks.items():
                    speed = (
                        0.004
                        * mhz
                        * cache**0.25
                        * (1.06 if flto else 1.0)
                        * FASTER[kind * (kind == position)]
                    )
                    speed *= np.exp(0.04 * generator.standard_normal())
                    spread = 0.04 if name == "Cedar 07" else 0.003 * (cores / 8) ** 0.4
                    ratios = (speed * np.exp(spread * generator.standard_normal(3)))[
                        : 1 if name == "Birch 09" else 3
                    ]
                    failed = name == "Aspen 04" and benchmark == "657.xz_s"
                    rows += [
                        f"{benchmark},{cores},,,0,RE"
                        if failed
                        else f"{benchmark},{cores},{SECONDS / ratio:.2f},{ratio:.3f},0,S"
                        for ratio in ratios
                    ]
                est = "Est. " if name == "Cedar 02" else ""
                lines = [
                    f"valid,{int(name not in ('Aspen 04', 'Birch 09'))}",
                    "",
                    f"SPEC CPU2017 {title} Result",
                    "",
                    "Full Results Table",
                    "",
                    (
                        f"Benchmark,Base # Threads,{est}Base Run Time,{est}Base Ratio,Base "
                        "Selected,Base Status"
                    ),
                    *rows,
                    "",
                    "Selected Results Table",
                    "",
                    f"{score},--",
                    "",
                    f"Hardware Vendor:,{maker}",
                    f"Hardware Model:,{name}",
                    "",
                    "HARDWARE",
                    "",
                    f"CPU Name,{maker} CPU {model}",
                    f"  Nominal,{mhz}",
                    f'Enabled,"{cores} cores, 1 chip"',
                    f"  L3,{cache} MB I+D on chip per chip",
                    f"Memory,{memory} GB",
                    "",
                    "SOFTWARE",
                    "",
                    f"OS,SUSE Linux Enterprise Server {12 + model % 4}",
                    f"File System,{file_system}",
                    "",
                    "Base Optimization Flags",
                    *(f"{benchmark},-O3{' -flto' * flto}" for benchmark in benchmarks),
                    "",
                ]
                yield f"{maker}-{model:02}-{score.split('_')[1]}.csv", "\n".join(lines)


if __name__ == "__main__":
    with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED) as archive:
        for file, text in reports():
            archive.writestr(
                zipfile.ZipInfo(file, (2026, 1, 1, 0, 0, 0)), text, zipfile.ZIP_DEFLATED, 9
            )
