"""How often a rule sees a difference between a program and itself.

    python docs/scripts/false_alarms.py [--experiments 10000] [--share 0.37] [--distribution normal]
    [--seed 1]

Both sides of every experiment are drawn from the same nest of executions and iterations, so each
"faster" or "slower" is a false alarm, and a rule that is said to err in 5 % of such comparisons
should raise it in 5 %. The table printed here is the one in `README.md` and `docs/why.md`;
`tests/test_false_alarms.py` holds it.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import xarray as xr
from scipy import stats

import perfarray

DESIGNS = ((20, 3), (10, 10), (5, 20), (3, 100))
"""Executions a side, iterations in each."""

SHARE = 0.37
"""Part of the variance of a single measurement that lies between executions."""

SPREAD = 0.02
"""Standard deviation of a single measurement, as a fraction of the mean. No rule here depends on it."""

Samples = npt.NDArray[np.float64]
Alarms = npt.NDArray[np.bool_]


def pooled_t(old: Samples, new: Samples) -> Alarms:
    """Student's two-sample t test of all values, 5 %: `pyperf compare_to` (2.x: `pyperf/_utils.py`,
    `is_significant`)."""
    return stats.ttest_ind(_pool(old), _pool(new), axis=1).pvalue < 0.05


def pooled_mann_whitney(old: Samples, new: Samples) -> Alarms:
    """Mann and Whitney's U test of all values, 5 %.

    benchstat's default (golang.org/x/perf, `benchmath/anone.go`), and Google Benchmark's
    `compare.py` (`tools/gbench/report.py`).
    """
    return _mann_whitney(old, new) < 0.05


def strict_mann_whitney(old: Samples, new: Samples) -> Alarms:
    """Mann and Whitney's U test of all values, 0.2 %: the statistical half of `asv compare`
    (`asv/statistics.py`, `is_different`).

    asv then also asks for a change by a factor of 1.1 (its default), which this column leaves out:
    it depends on the noise alone.
    """
    return _mann_whitney(old, new) < 0.002


def jmh_error(old: Samples, new: Samples) -> Alarms:
    """The 99.9 % intervals of two merged scores do not overlap.

    JMH prints "score +- error" over all iterations of all forks (`Result.getScoreError`, Student's
    t, 99.9 %); it compares nothing itself, and two scores whose errors do not overlap are what its
    readers take for different.
    """
    apart = 0.0
    for values in (_pool(old), _pool(new)):
        apart = apart + stats.t.ppf(0.9995, values.shape[1] - 1) * stats.sem(values, axis=1)
    return np.abs(_pool(old).mean(axis=1) - _pool(new).mean(axis=1)) > apart


def ours(old: Samples, new: Samples) -> Alarms:
    """`perfarray.compare`, 95 %, no threshold: the verdict is `faster` or `slower`."""
    times = xr.DataArray(
        np.stack([old, new]),
        dims=("version", "benchmark", "execution", "iteration"),
        coords={"version": ["old", "new"]},
        name="time",
        attrs={"units": "s", "better": "lower"},
    )
    verdict = perfarray.compare(times, "old", dim="version")["verdict"].sel(version="new")
    return np.isin(verdict.values, ["faster", "slower"])


RULES: Mapping[str, Callable[[Samples, Samples], Alarms]] = {
    "pooled t (pyperf)": pooled_t,
    "pooled Mann-Whitney (benchstat, Google Benchmark)": pooled_mann_whitney,
    "pooled Mann-Whitney, 0.2 % (asv, without its factor)": strict_mann_whitney,
    "99.9 % errors apart (JMH)": jmh_error,
    "perfarray": ours,
}


def _pool(values: Samples) -> Samples:
    """Throw the nest away: (experiments, executions, iterations) to (experiments, values)."""
    return values.reshape(len(values), -1)


def _mann_whitney(old: Samples, new: Samples) -> Samples:
    """Return two-sided p-values, by the normal approximation that such samples of 60 and more call
    for."""
    return stats.mannwhitneyu(_pool(old), _pool(new), axis=1, method="asymptotic").pvalue


def false_alarms(
    designs: Sequence[tuple[int, int]] = DESIGNS,
    *,
    rules: Sequence[str] = tuple(RULES),
    experiments: int = 10_000,
    share: float = SHARE,
    distribution: str = "normal",
    rng: int | np.random.Generator | None = None,
) -> xr.DataArray:
    """Return the fraction of experiments in which a rule sees a difference where there is none:
    (design, rule)."""
    generator = np.random.default_rng(rng)
    variances = {"execution": share * SPREAD**2, "iteration": (1 - share) * SPREAD**2}
    rates = []
    for executions, iterations in designs:
        times = perfarray.simulate(
            sizes={"execution": executions, "iteration": iterations},
            variances=variances,
            distribution=distribution,
            dims={"version": ["old", "new"], "experiment": experiments},
            rng=generator,
        )["time"]
        old, new = times.values
        rates.append([RULES[rule](old, new).mean() for rule in rules])
    labels = [f"{executions} x {iterations}" for executions, iterations in designs]
    return xr.DataArray(
        rates,
        dims=("design", "rule"),
        coords={"design": labels, "rule": list(rules)},
        attrs={"experiments": experiments},
    )


def standard_error(rates: xr.DataArray) -> xr.DataArray:
    """Return the Monte Carlo error of each rate."""
    return np.sqrt(rates * (1 - rates) / rates.attrs["experiments"])


def markdown(rates: xr.DataArray) -> str:
    """Write the rates as a table, in percent, with their Monte Carlo error."""
    error = standard_error(rates)
    head = ["executions x iterations", *rates["rule"].values.tolist()]
    lines = [head, ["---", *["---:"] * (len(head) - 1)]]
    for design in rates["design"].values.tolist():
        cells = zip(rates.sel(design=design).values, error.sel(design=design).values, strict=True)
        lines.append([design, *(f"{100 * rate:.1f} ± {100 * one:.1f}" for rate, one in cells)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--experiments", type=int, default=10_000)
    parser.add_argument("--share", type=float, default=SHARE)
    parser.add_argument("--distribution", default="normal")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    print(
        markdown(
            false_alarms(
                experiments=arguments.experiments,
                share=arguments.share,
                distribution=arguments.distribution,
                rng=arguments.seed,
            )
        )
    )


if __name__ == "__main__":
    main()
