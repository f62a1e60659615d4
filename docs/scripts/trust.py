"""The evaluation of Kalibera and Jones (2012, section 8) redone: coverage and false alarms in nests
with the variances of their table VII.

    python docs/scripts/trust.py [--experiments 1000] [--study coverage] [--seed 1]

Each study writes a table of percentages to `docs/scripts/trust/<study>.csv`, from which
`docs/how-to/trust.md` draws, and prints the seconds it took on one core. The tables there were made
with --experiments 2000 (coverage, ignored), 1000 (executions, measurements), 400 (resampling), 300
(false_alarm_thresholds; Fieller's with ten times as many), 200 (all_executions) and 10000 (flat).
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

import perfarray

FOLDER = Path(__file__).parent / "trust"

TABLE_VII = {
    "FFT NA OPT": (3.4, 8.2, 1.4),
    "FFT NA": (3.4, 7.8, 1.4),
    "FFT OPT": (4.4, 8.2, 4.3),
    "FFT": (4.1, 6.7, 4.6),
    "HTTP OPT": (0.2, 0.8, 22.5),
    "HTTP": (0.2, 0.7, 21.5),
    "Rijndael OPT": (0.4, 3.8, 9.3),
    "Rijndael": (0.4, 3.5, 9.1),
    "TCP OPT": (0.6, 1.7, 41.8),
    "TCP": (0.6, 1.8, 38.6),
}
"""Relative variation of compilation, execution and measurement (S), in percent: the paper's table VII, whose S it simulates with."""

LEVELS = ("binary", "execution", "iteration")

BINARIES = [2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100]
"""Numbers of binaries of figure 6."""

FEWER = [2, 3, 5, 10, 20, 50, 100]
"""Numbers of binaries where everything is redrawn."""

GRID = [2, 3, 4, 5, 7, 10, 15, 20, 30, 40, 60]
"""Numbers of repetitions along an axis of a map."""

SHOWN = ("FFT NA OPT", "FFT", "Rijndael OPT", "TCP OPT")
"""Benchmarks of the figures that show several."""

THRESHOLDS = [
    0.0,
    0.0025,
    0.005,
    0.0075,
    0.01,
    0.0125,
    0.015,
    0.02,
    0.025,
    0.03,
    0.04,
    0.05,
    0.07,
    0.1,
    0.15,
]
"""Thresholds whose false alarms are counted."""

FIELLER = {
    "Fieller, t": {"df": "conservative"},
    "Fieller, normal": {"df": "normal"},
    "Fieller, Satterthwaite": {"df": "satterthwaite"},
}
DRAWN = {
    name: {"method": "percentile", "resample": levels}
    for name, levels in {
        "RRR": "all",
        "RRN": ("binary", "execution"),
        "RNN": ("binary",),
        "FLAT": "flat",
    }.items()
}
"""By name, what `ratio_interval` is asked."""


def variances(*names: str) -> dict[str, xr.DataArray]:
    """Return the variances of some benchmarks, as squares of their mean."""
    return {
        level: xr.DataArray(
            [(TABLE_VII[name][place] / 100) ** 2 for name in names],
            dims="benchmark",
            coords={"benchmark": list(names)},
        )
        for place, level in enumerate(LEVELS)
    }


def frame(found: xr.Dataset, name: str = "estimate") -> pd.DataFrame:
    """Return shares as a long table of percentages."""
    return (100 * found[name]).round(1).to_dataframe("percent").reset_index()


def coverage(experiments: int, rng: int) -> pd.DataFrame:
    """Figure 6 and 8.4.1, Fieller's interval: 10 executions, 10 measurements."""
    parts = []
    for name, options in FIELLER.items():
        found = perfarray.coverage(
            "ratio_interval",
            sizes={"binary": BINARIES, "execution": 10, "iteration": 10},
            variances=variances(*SHOWN),
            ratio=0.95,
            n_experiments=experiments,
            rng=rng,
            progress=True,
            **options,
        )
        parts.append(frame(found).assign(method=name))
    return pd.concat(parts)


def resampling(experiments: int, rng: int) -> pd.DataFrame:
    """Figure 6, the bootstrap: 5 executions, 5 measurements, 300 replicates."""
    parts = []
    for name, options in DRAWN.items():
        found = perfarray.coverage(
            "ratio_interval",
            sizes={"binary": FEWER, "execution": 5, "iteration": 5},
            variances=variances(*SHOWN),
            ratio=0.95,
            n_experiments=experiments,
            rng=rng,
            progress=True,
            n_resamples=300,
            **options,
        )
        parts.append(frame(found).assign(method=name))
    return pd.concat(parts)


KEPT = {"FFT NA OPT": 45, "Rijndael OPT": 45, "TCP OPT": 179}
"""Measurements of an execution that the paper kept."""


def all_executions(experiments: int, rng: int) -> pd.DataFrame:
    """Figure 6 at the paper's size: RRR, 100 executions; 8 measurements, each the mean of several
    of the paper's, 200 replicates."""
    parts = []
    for name, kept in KEPT.items():
        own = variances(name)
        found = perfarray.coverage(
            "ratio_interval",
            sizes={"binary": [3, 10, 50], "execution": 100, "iteration": 8},
            ratio=0.95,
            variances=own | {"iteration": own["iteration"] * 8 / kept},
            n_experiments=experiments,
            rng=rng,
            progress=True,
            n_resamples=200,
            **DRAWN["RRR"],
        )
        parts.append(frame(found).assign(method="RRR"))
    return pd.concat(parts)


def false_alarms(experiments: int, rng: int) -> pd.DataFrame:
    """Figures 3 and 5: false alarms by threshold and number of binaries; 5 executions, 5
    measurements."""
    parts = []
    for name, options in (FIELLER | DRAWN).items():
        more = (
            {"n_resamples": 300, "n_experiments": experiments}
            if name in DRAWN
            else {"n_experiments": 10 * experiments}
        )
        found = perfarray.false_alarm_rate(
            "ratio_interval",
            sizes={"binary": FEWER[:-1], "execution": 5, "iteration": 5},
            variances=variances(*SHOWN),
            threshold=THRESHOLDS,
            rng=rng,
            progress=True,
            **options,
            **more,
        )
        parts.append(frame(found).assign(method=name))
    return pd.concat(parts)


def thresholds(alarms: pd.DataFrame, rate: float) -> pd.DataFrame:
    """8.3.1: the least threshold with no more than a rate of false alarms (percent), between those
    tried by a straight line."""
    rows = []
    for labels, part in alarms.groupby(["method", "benchmark", "binary"], sort=False):
        tried, found = (
            part["threshold"].to_numpy(),
            np.minimum.accumulate(part["percent"].to_numpy()),
        )
        least = np.interp(-rate, -found, tried) if found[-1] <= rate else np.nan
        rows.append([*labels, 0.0 if found[0] <= rate else round(100 * least, 2)])
    return pd.DataFrame(rows, columns=["method", "benchmark", "binary", "percent"])


def false_alarm_thresholds(experiments: int, rng: int) -> pd.DataFrame:
    """The whole of `false_alarms` is too large to keep: the least thresholds for 5 and 2 %, and the
    rates without a threshold."""
    alarms = false_alarms(experiments, rng)
    parts = [thresholds(alarms, rate).assign(what=f"threshold for {rate} %") for rate in (5, 2)]
    return pd.concat(
        [
            *parts,
            alarms[alarms["threshold"] == 0].drop(columns="threshold").assign(what="false alarms"),
        ]
    )


def ignored(experiments: int, rng: int) -> pd.DataFrame:
    """Figures 4 and 8: one binary, as if compilation were deterministic."""
    parts = []
    given = {
        "sizes": {"binary": 1, "execution": [2, 3, 5, 10, 20, 50, 100], "iteration": 10},
        "ignored": "binary",
        "df": "conservative",
        "variances": variances("FFT NA OPT", "HTTP OPT", "Rijndael OPT", "TCP OPT"),
        "n_experiments": experiments,
        "rng": rng,
    }
    parts.append(
        frame(perfarray.coverage("ratio_interval", ratio=0.95, progress=True, **given)).assign(
            what="coverage", threshold=0.0
        )
    )
    alarms = perfarray.false_alarm_rate(
        "ratio_interval", threshold=[0.0, 0.01, 0.02, 0.05, 0.09], progress=True, **given
    )
    parts.append(frame(alarms).assign(what="false alarms"))
    return pd.concat(parts)


def executions(experiments: int, rng: int) -> pd.DataFrame:
    """Figure 7: coverage over binaries and executions, 10 measurements."""
    sizes = {"binary": GRID, "execution": GRID, "iteration": 10}
    found = perfarray.coverage(
        "ratio_interval",
        sizes=sizes,
        variances=variances("FFT NA OPT", "Rijndael OPT"),
        df="conservative",
        n_experiments=experiments,
        rng=rng,
        progress=True,
    )
    return frame(found)


def measurements(experiments: int, rng: int) -> pd.DataFrame:
    """Figure 9: coverage over executions and measurements, with one binary."""
    sizes = {"binary": 1, "execution": GRID, "iteration": GRID}
    found = perfarray.coverage(
        "ratio_interval",
        sizes=sizes,
        variances=variances("FFT NA", "HTTP OPT"),
        df="conservative",
        ignored="binary",
        n_experiments=experiments,
        rng=rng,
        progress=True,
    )
    return frame(found)


def flat(experiments: int, rng: int) -> pd.DataFrame:
    """8.3.2: false alarms of a single execution of a single binary, 45 measurements."""
    found = perfarray.false_alarm_rate(
        "ratio_interval",
        sizes={"binary": 1, "execution": 1, "iteration": 45},
        ignored=("binary", "execution"),
        df="conservative",
        variances=variances("FFT NA OPT", "TCP OPT"),
        threshold=[0.0, 0.2],
        n_experiments=experiments,
        rng=rng,
    )
    return frame(found)


STUDIES: dict[Callable[[int, int], pd.DataFrame], str] = {
    coverage: "binary",
    resampling: "binary",
    all_executions: "binary",
    false_alarm_thresholds: "binary",
    ignored: "execution",
    executions: "execution",
    measurements: "iteration",
    flat: "threshold",
}
"""What is made, and what its columns are."""


def write(study: Callable[[int, int], pd.DataFrame], experiments: int, seed: int) -> None:
    """Make one study and write its table: percentages, with one number of repetitions in a
    column."""
    found, across = study(experiments, seed), STUDIES[study]
    others = [name for name in found.columns if name not in ("percent", across)]
    found.pivot_table("percent", others, across, sort=False).to_csv(
        FOLDER / f"{study.__name__}.csv"
    )


def main() -> None:
    """Make the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--experiments", type=int, default=1000)
    names = {study.__name__: study for study in STUDIES}
    parser.add_argument("--study", choices=list(names), nargs="*", default=list(names))
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    for name in arguments.study:
        started = time.process_time()
        write(names[name], arguments.experiments, arguments.seed)
        print(f"{name}: {time.process_time() - started:.0f} s")


if __name__ == "__main__":
    main()
