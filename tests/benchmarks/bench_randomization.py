"""The randomization test of 29 benchmarks x 5 runs, 10,000 exchanges, against its peers, as ratios
of times in one run.

`permuted` shuffles the pooled runs of every benchmark and exchange with one call of
`Generator.permuted` on the whole array and reduces them. `scipy` is `scipy.stats.permutation_test`
with a vectorised statistic of all 145 + 145 runs: it cannot exchange within benchmarks, so its
p-value is another one, and only its time is compared. All use the geometric mean of all runs.
"""

import numpy as np
from interleaved import measured, print_ratio, ratio
from scipy import stats

import perfarray
from perfarray.numerics.bootstrap import Draws
from perfarray.numerics.suite import match_sides
from perfarray.suites.numerics.randomization import randomization
from perfarray.suites.numerics.redrawn_scores import Score

BENCHMARKS, RUNS, EXCHANGES = 29, 5, 10_000


def main() -> None:
    """Print times and ratios."""
    rng = np.random.default_rng(1)
    level = rng.uniform(1, 100, (BENCHMARKS, 1))
    new, old = (level * factor * rng.normal(1, 0.02, (BENCHMARKS, RUNS)) for factor in (0.998, 1.0))
    logs = np.log(np.concatenate([new, old], axis=1))
    observed = logs[:, :RUNS].mean() - logs[:, RUNS:].mean()
    times = perfarray.from_samples(
        {f"b{i}": [a, b] for i, (a, b) in enumerate(zip(old.tolist(), new.tolist(), strict=True))},
        dim="benchmark", level=("version", "execution"),
    ).assign_coords(version=["old", "new"])  # fmt: skip

    def ours() -> float:
        sides = match_sides(new[None], old[None], shared=False, paired=False)
        draws = Draws((True,), EXCHANGES, (1, 2))
        how = Score("geometric", "geometric")
        return float(randomization(sides, np.array([0]), how, draws, True)[1][0])

    def labelled() -> float:
        return float(
            times.perf.randomization_test("old", n_resamples=EXCHANGES, rng=1)["pvalue"].item()
        )

    def permuted() -> float:
        exchanged = rng.permuted(np.broadcast_to(logs, (EXCHANGES, *logs.shape)), axis=2)
        differences = exchanged[..., :RUNS].mean(axis=(1, 2)) - exchanged[..., RUNS:].mean(
            axis=(1, 2)
        )
        return float(2 * min((differences >= observed).mean(), (differences <= observed).mean()))

    def scipy_test() -> float:
        def statistic(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
            return x.mean(axis=axis) - y.mean(axis=axis)

        sides = (logs[:, :RUNS].ravel(), logs[:, RUNS:].ravel())
        return float(
            stats.permutation_test(
                sides, statistic, vectorized=True, n_resamples=EXCHANGES, rng=rng
            ).pvalue
        )

    variants = {"ours": ours, "ours, labelled": labelled, "permuted": permuted, "scipy": scipy_test}
    print({name: round(call(), 3) for name, call in variants.items()})
    seconds = measured(
        f"{BENCHMARKS} benchmarks x {RUNS} runs, {EXCHANGES} exchanges", variants, rounds=7
    )
    for peer in ("permuted", "scipy"):
        for variant in ("ours", "ours, labelled"):
            print_ratio(peer, variant, ratio(seconds, peer, variant))
