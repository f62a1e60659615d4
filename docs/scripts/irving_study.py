"""The Monte Carlo studies of Irving et al. (2018), sections 6.1 to 6.3, 8 and 10, redone on
populations of our own.

    python docs/scripts/irving_study.py {power,level,coverage,machines,runs,bigdata} [--experiments
    100] [--seed 1]

The 1,000 runs of every benchmark that the paper draws from are not public. Ours are those of
`suite_power.py` where not said otherwise: 13 benchmarks of 5 to 60 s, normal runs, standard
deviations from 0.012 to 0.91 s. The tables printed here are in `docs/papers/irving.md`.
"""

import argparse
import warnings
from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt
import xarray as xr
from suite_power import BENCHMARKS, RUNS, draw

import perfarray
from perfarray.suites.numerics.hierarchical import kept_differences, signed_rank_pvalue

MEAN, SPREAD = np.linspace(5, 60, BENCHMARKS), np.geomspace(0.012, 0.91, BENCHMARKS)
LETTERS = ["A", "B", "C", "D"]
BESIDE = (
    "pair",
    "ratio",
    "HPT",
    "bootstrap lower",
    "t lower",
    "bootstrap width",
    "t width",
    "HPT < bootstrap, %",
    "HPT < t, %",
    "none, %",
)


def timings(
    values: npt.NDArray[np.float64], labels: list[str], dim: str = "version"
) -> xr.DataArray:
    """Label (experiment, system, benchmark, execution)."""
    attrs = {"units": "s", "better": "lower"}
    return xr.DataArray(
        values,
        dims=("experiment", dim, "benchmark", "execution"),
        coords={dim: labels},
        name="time",
        attrs=attrs,
    )


def rank_pvalues(times: xr.DataArray, alpha: float = 0.05) -> npt.NDArray[np.float64]:
    """Return the two-sided p-value of HPT in every experiment; without the search for its speedup,
    which is what takes long."""
    found = []
    for old, new in zip(
        times.sel(version="old").values, times.sel(version="new").values, strict=True
    ):
        differences = kept_differences(new, old, alpha)
        found.append(
            min(1.0, 2 * min(signed_rank_pvalue(differences), signed_rank_pvalue(-differences)))
        )
    return np.array(found)


def power(experiments: int, rng: np.random.Generator) -> None:
    """Section 6.1, figure 6: percent of experiments that reject at 5 % when L of 13 benchmarks take
    1 s more."""
    heading("L", "randomization", "t, this suite", "t, benchmarks a sample", "HPT")
    for slower in range(BENCHMARKS + 1):
        times = draw(slower, experiments, rng)
        pvalues = [
            perfarray.randomization_test(times, "old", rng=rng)["pvalue"].values,
            perfarray.score_ratio_interval(times, "old")["pvalue"].values,
            perfarray.score_ratio_interval(times, "old", random_benchmarks=True)["pvalue"].values,
            rank_pvalues(times),
        ]
        row(slower, *(f"{100 * np.mean(pvalue <= 0.05):.1f}" for pvalue in pvalues))


def level(experiments: int, rng: np.random.Generator) -> None:
    """Give every test the p-value that rejects in at most 5 % of the experiments without a
    difference, and count what it then rejects."""
    tests: dict[str, Callable[[xr.DataArray], npt.NDArray[np.float64]]] = {
        "randomization": lambda times: perfarray.randomization_test(times, "old", rng=rng)[
            "pvalue"
        ].values.ravel(),
        "t, this suite": lambda times: perfarray.score_ratio_interval(times, "old")[
            "pvalue"
        ].values.ravel(),
        "t, benchmarks a sample": lambda times: perfarray.score_ratio_interval(
            times, "old", random_benchmarks=True
        )["pvalue"].values.ravel(),
        "HPT": rank_pvalues,
        "HPT, every median": lambda times: rank_pvalues(times, 1.0),
    }
    heading("L", *tests)
    critical = {}
    for slower in (0, 1, 2, 3, 4, 6, 8, 10):
        times = draw(slower, experiments, rng)
        pvalues = {name: test(times) for name, test in tests.items()}
        if not slower:
            for name, found in pvalues.items():
                usable = [p for p in np.unique(found) if np.mean(found <= p) <= 0.05]
                critical[name] = max(usable, default=0.0)
            row("p below", *(f"{critical[name]:.3f}" for name in tests))
        row(
            slower,
            *(f"{100 * np.mean(found <= critical[name]):.1f}" for name, found in pvalues.items()),
        )


def coverage(experiments: int, rng: np.random.Generator) -> None:
    """Section 6.2, figure 7: Y takes twice as long as X; how often 95 % intervals hold 2, and where
    HPT's 0.95-speedup lies."""
    heading("runs", "method", "holds 2, %", "mean width")
    draws: dict[str, Callable[[tuple[int, ...]], npt.NDArray[np.float64]]] = {
        "normal": lambda shape: rng.normal(size=shape),
        "skewed": lambda shape: rng.exponential(size=shape) - 1,
    }
    kept = {}
    for kind, drawn in draws.items():
        values = MEAN[:, None] + SPREAD[:, None] * drawn((experiments, 2, BENCHMARKS, RUNS))
        values[:, 1] *= 2
        times = timings(values, ["old", "new"])
        for method in ("t", "percentile", "basic", "bca"):
            found = perfarray.score_ratio_interval(times, "old", method=method, rng=rng)
            row(
                kind,
                method,
                f"{100 * covers(found, 2).mean():.1f}",
                f"{(found['upper'] - found['lower']).mean().item():.4f}",
            )
        kept[kind] = times.isel(experiment=slice(100))
    print()
    heading(*BESIDE)
    for kind, some in kept.items():
        below(
            some.sel(version="new", drop=True),
            some.sel(version="old", drop=True),
            rng,
            f"Y / X, {kind}, the first 100",
        )


def covers(found: xr.Dataset, truth: float) -> xr.DataArray:
    """Say which intervals hold the true ratio."""
    return (found["lower"] <= truth) & (truth <= found["upper"])


def below(slow: xr.DataArray, fast: xr.DataArray, rng: np.random.Generator, title: str) -> None:
    """Print where HPT's 0.95-speedup of the faster system lies beside the intervals of slow / fast
    (figures 7, 8 and 14)."""
    speedup = perfarray.hierarchical_performance_test(fast, slow)["speedup"]
    bootstrap = perfarray.score_ratio_interval(slow, fast, method="percentile", rng=rng)
    t = perfarray.score_ratio_interval(slow, fast, random_benchmarks=True)
    apart = [float((found["upper"] - found["lower"]).median()) for found in (bootstrap, t)]
    shares = [100 * float((speedup < found["lower"]).mean()) for found in (bootstrap, t)]
    none = 100 * float(speedup.isnull().mean())
    middle = [
        float(part.median())
        for part in (bootstrap["estimate"], speedup, bootstrap["lower"], t["lower"])
    ]
    row(
        title,
        *(f"{number:.3f}" for number in (*middle, *apart)),
        *(f"{share:.0f}" for share in (*shares, none)),
    )


def machines(experiments: int, rng: np.random.Generator) -> None:
    """Section 6.3, table 5 and figure 8: six pairs of four machines, 100 draws of 5 runs.

    Our machines B, C and D take 0.55, 1.22 and 0.70 times as long as A, give or take a factor of
    exp(0.22 z) per benchmark.
    """
    scatter = 0.22 * rng.standard_normal((4, BENCHMARKS))
    scatter -= scatter.mean(axis=1, keepdims=True)
    factor = np.exp(np.array([0, np.log(0.55), np.log(1.22), np.log(0.70)])[:, None] + scatter)
    shape = (experiments, 4, BENCHMARKS, RUNS)
    times = timings(
        factor[..., None] * rng.normal(MEAN[:, None], SPREAD[:, None], shape), LETTERS, "machine"
    )
    heading(
        "pair",
        "HPT",
        "t, benchmarks a sample",
        "t, this suite",
        "randomization",
        "pairwise, verdicts",
    )
    pairs = [("B", "A"), ("D", "A"), ("C", "A"), ("D", "B"), ("C", "B"), ("D", "C")]
    verdicts = {
        level: times.perf.pairwise(dim="machine", confidence_level=level)["suite_verdict"]
        for level in (0.99, 0.95)
    }
    for new, old in pairs:
        two = (
            times.sel(machine=[old, new])
            .rename(machine="version")
            .assign_coords(version=["old", "new"])
        )
        pvalues = [
            rank_pvalues(two),
            perfarray.score_ratio_interval(two, "old", random_benchmarks=True)["pvalue"].values,
            perfarray.score_ratio_interval(two, "old")["pvalue"].values,
            perfarray.randomization_test(two, "old", rng=rng)["pvalue"].values,
        ]
        counts = [[int(np.sum(pvalue <= alpha)) for alpha in (0.01, 0.05)] for pvalue in pvalues]
        verdict = [
            int((found.sel(machine=new, baseline=old) != "inconclusive").sum())
            for found in verdicts.values()
        ]
        row(f"{new} vs. {old}", *(f"{first} ({second})" for first, second in (*counts, verdict)))
    print()
    heading(*BESIDE)
    for new, old in pairs:
        slow, fast = (
            (new, old)
            if factor[LETTERS.index(new)].mean() > factor[LETTERS.index(old)].mean()
            else (old, new)
        )
        sides = [times.sel(machine=name, drop=True) for name in (slow, fast)]
        below(sides[0], sides[1], rng, f"{slow} / {fast}")


def runs(experiments: int, rng: np.random.Generator) -> None:
    """Section 8, figure 12: power at L = 1, mean squared error and width of the interval against
    the number of runs."""
    heading(
        "runs",
        "power, %",
        "MSE of the ratio, 1e-6",
        "percentile width",
        "t width",
        "percentile holds, %",
        "t holds, %",
    )
    for number in (3, 5, 7, 10, 15, 20, 30, 50, 100):
        spread = rng.permuted(np.tile(SPREAD, (experiments, 1)), axis=1)
        values = rng.normal(
            MEAN[:, None], spread[:, None, :, None], (experiments, 2, BENCHMARKS, number)
        )
        place = rng.integers(BENCHMARKS, size=experiments)
        values[np.arange(experiments), 1, place] += 1
        truth = (1 + 1 / MEAN[place]) ** (1 / BENCHMARKS)
        times = timings(values, ["old", "new"])
        pvalue = perfarray.randomization_test(times, "old", rng=rng)["pvalue"].values
        found = {
            method: perfarray.score_ratio_interval(times, "old", method=method, rng=rng).squeeze()
            for method in ("percentile", "t")
        }
        error = (found["t"]["estimate"].values - truth) ** 2
        widths = [float((one["upper"] - one["lower"]).mean()) for one in found.values()]
        holds = [
            np.mean((one["lower"].values <= truth) & (truth <= one["upper"].values))
            for one in found.values()
        ]
        shares = (f"{100 * share:.0f}" for share in holds)
        row(
            number,
            f"{100 * np.mean(pvalue <= 0.05):.0f}",
            f"{1e6 * error.mean():.2f}",
            *(f"{width:.4f}" for width in widths),
            *shares,
        )


def bigdata(experiments: int, rng: np.random.Generator) -> None:
    """Section 10, figure 14: two machines, seven benchmarks that vary by 2 to 6 %."""
    factor = np.array([1.04, 1.05, 1.06, 1.07, 1.08, 1.09, 1.02])
    spread = np.array([0.02, 0.02, 0.02, 0.03, 0.03, 0.06, 0.06])
    values = rng.normal(1, spread[:, None], (experiments, 2, len(factor), RUNS))
    values[:, 1] *= factor[:, None]
    times = timings(values, ["old", "new"])
    pvalues = {
        "HPT": rank_pvalues(times),
        "t, benchmarks a sample": perfarray.score_ratio_interval(
            times, "old", random_benchmarks=True
        )["pvalue"].values,
        "t, this suite": perfarray.score_ratio_interval(times, "old")["pvalue"].values,
        "randomization": perfarray.randomization_test(times, "old", rng=rng)["pvalue"].values,
    }
    heading("not rejected, %", *pvalues)
    for alpha in (0.05, 0.01):
        row(f"at {alpha}", *(f"{100 * np.mean(pvalue > alpha):.0f}" for pvalue in pvalues.values()))
    print()
    heading(*BESIDE)
    below(
        times.sel(version="new", drop=True), times.sel(version="old", drop=True), rng, "new / old"
    )


def heading(*names: object) -> None:
    """Print the head of a table."""
    row(*names)
    row(*["---:"] * len(names))


def row(*cells: object) -> None:
    """Print a row of a table."""
    print(f"| {' | '.join(str(cell) for cell in cells)} |", flush=True)


STUDIES: dict[str, Callable[[int, np.random.Generator], None]] = {
    study.__name__: study for study in (power, level, coverage, machines, runs, bigdata)
}


def main(arguments: Iterable[str] | None = None) -> None:
    """Run one study."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("study", choices=STUDIES)
    parser.add_argument("--experiments", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    STUDIES[chosen.study](chosen.experiments, np.random.default_rng(chosen.seed))


if __name__ == "__main__":
    main()
