"""What small calls cost: 10 benchmarks of 5 runs, against the lines of NumPy and SciPy that one
would write for the same limits.

The lines know no labels, gaps, units or notes; SciPy's p-values are found and corrected, without
limits. Five numbers are of 500 scores of 29 benchmarks of 5 runs.
"""

import time
from functools import partial

import numpy as np
import pandas as pd
import xarray as xr
from interleaved import add_to_page, ranked
from scipy import stats

import perfarray  # noqa: F401  (registers .perf)

BENCHMARKS, RUNS, REPLICATES = 10, 5, 1000
OF_FIVE = "10 benchmarks of 5 runs"
PAGE_ROWS = {
    "mean_interval": (OF_FIVE, "the same limits in NumPy and SciPy"),
    "ratio_interval": (OF_FIVE, "Fieller's limits in NumPy and SciPy"),
    "compare": (OF_FIVE, "Welch's test by hand"),
    "variance_components": ("10 benchmarks of 5 x 4 runs", "mean squares by hand"),
    "plan_repetitions": ("10 benchmarks of 5 x 4 runs", "equation 14, rounded"),
    "five_number_summary": ("29 benchmarks of 5 runs", "500 draws by hand"),
}
"""The size and the peer of every call on the page."""


def mean_lines(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return limits of means by Student's t."""
    return stats.t.interval(
        0.95, RUNS - 1, values.mean(axis=-1), values.std(axis=-1, ddof=1) / np.sqrt(RUNS)
    )


def fieller_lines(new: np.ndarray, old: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return Fieller's limits of ratios of means, with Welch and Satterthwaite's degrees of
    freedom."""
    new_means, old_means = new.mean(axis=-1), old.mean(axis=-1)
    first, second = new.var(axis=-1, ddof=1) / RUNS, old.var(axis=-1, ddof=1) / RUNS
    variances = first, (new_means / old_means) ** 2 * second
    squared = (
        stats.t.ppf(
            0.975,
            (variances[0] + variances[1]) ** 2
            * (RUNS - 1)
            / (variances[0] ** 2 + variances[1] ** 2),
        )
        ** 2
    )
    a, c = old_means**2 - squared * second, new_means**2 - squared * first
    half = np.sqrt((new_means * old_means) ** 2 - a * c)
    return (new_means * old_means - half) / a, (new_means * old_means + half) / a


def percentile_lines(new: np.ndarray, old: np.ndarray) -> np.ndarray:
    """Return percentile limits of ratios of means."""
    rng = np.random.default_rng(1)
    picks = rng.integers(0, RUNS, (2, REPLICATES, BENCHMARKS, RUNS))
    replicates = [
        np.take_along_axis(side[None], rows, axis=-1).mean(axis=-1)
        for side, rows in zip((new, old), picks, strict=True)
    ]
    return np.quantile(replicates[0] / replicates[1], [0.025, 0.975], axis=0)


def compare_lines(new: np.ndarray, old: np.ndarray) -> np.ndarray:
    """Return p-values of Welch's test, corrected over the benchmarks."""
    return stats.false_discovery_control(stats.ttest_ind(new, old, axis=-1, equal_var=False).pvalue)


def component_lines(values: np.ndarray) -> list[tuple[np.ndarray, ...]]:
    """Return variances of executions and of iterations, of benchmarks (benchmarks, executions,
    iterations), with chi-square limits."""
    _, executions, iterations = values.shape
    within, means = values.var(axis=-1, ddof=1).mean(axis=-1), values.mean(axis=-1)
    between, df = means.var(axis=-1, ddof=1), (executions - 1, executions * (iterations - 1))
    variances = between - within / iterations, within
    # Satterthwaite's degrees of freedom of a difference.
    of_upper = variances[0] ** 2 / (between**2 / df[0] + (within / iterations) ** 2 / df[1])
    return [
        (
            variance,
            *(
                df_of_level * variance / stats.chi2.ppf(share, df_of_level)
                for share in (0.975, 0.025)
            ),
        )
        for variance, df_of_level in zip(variances, (of_upper, df[1]), strict=True)
    ]


def plan_lines(values: np.ndarray, price: float, budget: float) -> tuple[np.ndarray, ...]:
    """Return iterations by equation 14 of Kalibera and Jones, executions that a budget buys, and
    relative half-widths."""
    (outer, *_), (inner, *_) = component_lines(values)
    iterations = np.maximum(np.round(np.sqrt(price * inner / np.maximum(outer, 0.01 * inner))), 1)
    executions = np.maximum(np.floor(budget / (price + iterations)), 2)
    error = np.sqrt((np.maximum(outer, 0) + inner / iterations) / executions)
    return (
        iterations,
        executions,
        stats.t.ppf(0.975, executions - 1) * error / values.mean(axis=(1, 2)),
    )


def five_lines(values: np.ndarray) -> tuple[np.ndarray, float]:
    """Return five numbers and the standard deviation of scores, each of one run of every
    benchmark."""
    picks = np.random.default_rng(1).integers(0, values.shape[1], (500, len(values)))
    scores = np.exp(np.log(values)[np.arange(len(values)), picks].mean(axis=-1))
    return np.quantile(scores, [0, 0.25, 0.5, 0.75, 1]), scores.std(ddof=1)


def pairwise_lines(versions: np.ndarray) -> tuple[object, ...]:
    """Return corrected p-values of Welch's test, and Fieller's limits, of every version against
    every other."""
    pvalues = stats.ttest_ind(versions[:, None], versions[None], axis=-1, equal_var=False).pvalue
    off_diagonal = ~np.eye(len(versions), dtype=bool)
    return stats.false_discovery_control(pvalues[off_diagonal]), fieller_lines(
        versions[:, None], versions[None]
    )


def table_lines(verdicts: xr.Dataset) -> pd.DataFrame:
    """Return the variables of every benchmark as columns."""
    index = pd.MultiIndex.from_product(
        [verdicts[dim].values for dim in verdicts["verdict"].dims], names=verdicts["verdict"].dims
    )
    columns = {
        name: variable.values.ravel()
        for name, variable in verdicts.data_vars.items()
        if variable.dims == verdicts["verdict"].dims
    }
    return pd.DataFrame(columns, index=index)


def main() -> None:
    """Print times and ratios."""
    values = np.random.default_rng(1).normal(10, 1, (2, BENCHMARKS, RUNS))
    labels = {
        "version": ["old", "new"],
        "benchmark": [f"b{number}" for number in range(BENCHMARKS)],
    }
    times = xr.DataArray(
        values,
        labels,
        dims=("version", "benchmark", "execution"),
        name="time",
        attrs={"units": "s"},
    )
    old, times_of_one = values[0], times[0]
    nested, suite = (
        np.random.default_rng(3).normal(10, 1, shape)
        for shape in ((BENCHMARKS, RUNS, 4), (29, RUNS))
    )
    nest = xr.DataArray(nested, dims=("benchmark", "execution", "iteration"), attrs={"units": "s"})
    runs = xr.DataArray(suite, dims=("benchmark", "execution"), attrs={"units": "s"})
    calls = {
        "mean_interval": (lambda: times_of_one.perf.mean_interval(), lambda: mean_lines(old)),
        "ratio_interval": (
            lambda: times.perf.ratio_interval("old"),
            lambda: fieller_lines(values[1], old),
        ),
        "ratio_interval, percentile": (
            lambda: times.perf.ratio_interval(
                "old", method="percentile", n_resamples=REPLICATES, rng=1
            ),
            lambda: percentile_lines(values[1], old),
        ),
        "compare": (lambda: times.perf.compare("old"), lambda: compare_lines(values[1], old)),
        "variance_components": (nest.perf.variance_components, lambda: component_lines(nested)),
        "plan_repetitions": (
            partial(
                nest.perf.plan_repetitions, costs={"execution": 5}, budget=100.0, assurance=None
            ),
            lambda: plan_lines(nested, 5, 100),
        ),
        "five_number_summary": (
            lambda: runs.perf.five_number_summary(rng=1),
            lambda: five_lines(suite),
        ),
    }
    verdicts = times.perf.compare("old")
    calls["to_frame of a comparison"] = (verdicts.perf.to_frame, lambda: table_lines(verdicts))
    for number in (10, 150):
        versions = xr.DataArray(
            np.random.default_rng(2).normal(10, 1, (number, RUNS)),
            dims=("version", "execution"),
            attrs={"units": "s"},
        )
        calls[f"pairwise, {number} versions"] = (
            partial(versions.perf.pairwise, dim="version", correction="bh"),
            partial(pairwise_lines, versions.values),
        )
    for name, (ours, lines) in calls.items():
        seconds = ranked(
            f"{BENCHMARKS} benchmarks of {RUNS} runs, time of the processor",
            {name: ours, f"{name}: lines": lines},
            name,
            clock=time.process_time,
        )
        if name in PAGE_ROWS:
            size, peer = PAGE_ROWS[name]
            add_to_page(seconds, name, f"{name}: lines", f"`{name}`", size, peer)
