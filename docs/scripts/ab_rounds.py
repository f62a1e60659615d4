"""What `perfarray ab` decides: false verdicts, rounds until a verdict, and runs saved.

    python docs/scripts/ab_rounds.py [experiments]

Each experiment is measured round by round with the decision of the command, which leaves decided
benchmarks out, until all are decided or there were 30 rounds. The tables are those of
`docs/how-to/ab.md`. Monte Carlo errors are 0.3 points at 5 % of 4,000 experiments.
"""

import sys
import warnings
from typing import NamedTuple

import numpy as np
import xarray as xr
from scipy import stats

from perfarray.cli.ab import compare_rounds
from perfarray.numerics.round_tests import EXPECTED
from perfarray.numerics.sequences import LOG_RISK, sequence_quantile
from perfarray.rounds.state import State

FEWEST, MOST = 3, 30
SLOT, ROUND = 0.2, 0.08  # what the second place in a round, and a round, add (relative)


class Law(NamedTuple):
    """What timings vary by: a run, its rounds, places in a round and drift over all rounds."""

    run: float
    round: float = ROUND
    slot: float = SLOT
    drift: float = 0.0
    walk: float = 0.0  # of each run to the next
    shape: str = "normal"


def effects(shape: str, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Return effects of standard deviation 1."""
    if shape == "t3":
        return rng.standard_t(3, size) / 3**0.5
    if shape == "exponential":
        return rng.exponential(size=size) - 1
    if shape == "slow runs":  # one of twenty takes ten standard deviations more
        return (10 * (rng.random(size) < 0.05) + rng.standard_normal(size) - 0.5) / 5.75**0.5
    return rng.standard_normal(size)


def experiments(
    number: int, changes: np.ndarray, law: Law, rng: np.random.Generator
) -> xr.DataArray:
    """Return 30 rounds of all benchmarks of so many experiments, in the order of the command."""
    commands = {"old": "", "new": ""}
    second = np.empty((number, MOST), dtype=int)  # the side in the second place
    for experiment, seed in enumerate(rng.integers(2**31, size=number)):
        state = State(commands=commands, commits={}, seed=int(seed))
        second[experiment] = [state.order(n + 1)[1] == "new" for n in range(MOST)]
    slots = 1 + np.stack([1 - second, second])  # version, experiment, round
    size = (2, number, len(changes), MOST)
    logs = law.run * effects(law.shape, size, rng) + law.round * rng.standard_normal(
        (1, number, 1, MOST)
    )
    time = 2 * np.arange(MOST) + slots - 1  # of the run, from 0
    steps = law.walk * rng.standard_normal((number, 2 * MOST)).cumsum(axis=-1)
    walk = np.stack([np.take_along_axis(steps, of_side, axis=-1) for of_side in time])
    logs += (np.log1p(law.slot) * (slots == 2) + law.drift * time / (2 * MOST) + walk)[:, :, None]
    logs[1] += np.log1p(changes)[:, None]
    names = [str(n) for n in range(len(changes))]
    return xr.DataArray(
        np.exp(logs),
        dims=("version", "experiment", "benchmark", "session"),
        coords={
            "version": ["old", "new"],
            "benchmark": names,
            "slot": (("version", "experiment", "session"), slots),
        },
        attrs={"units": "s"},
        name="time",
    )


def measured(times: xr.DataArray, *, stop: bool = True, **choices: object):
    """Return the verdicts of each benchmark where it is left out, and its rounds.

    Without `stop` all are measured to the end.
    """
    verdicts = np.full(times.isel(version=0, session=0).shape, "inconclusive", dtype=object)
    rounds = np.zeros(verdicts.shape, dtype=int)
    for n in range(FEWEST, MOST + 1) if stop else (MOST,):
        # A correction is made over the benchmarks of an experiment, not over experiments.
        still = verdicts == "inconclusive"
        if not still.any():
            break
        result = compare_rounds(times.isel(session=slice(n)), **choices)
        verdicts[still] = result["verdict"].isel(version=0).values[still]
        rounds[still] = n
    return verdicts, rounds


def batches(number: int, size: int = 500):
    """Yield the sizes of batches of experiments."""
    while number > 0:
        yield min(size, number)
        number -= size


def study(number: int, changes, law: Law, rng: np.random.Generator, **choices: object):
    """Return the verdicts and rounds of all experiments."""
    parts = [
        measured(experiments(batch, np.asarray(changes), law, rng), **choices)
        for batch in batches(number)
    ]
    return tuple(np.concatenate(arrays) for arrays in zip(*parts, strict=True))


def false_verdicts(number: int, rng: np.random.Generator) -> None:
    """Print how often a program differs from itself, at any of the rounds."""
    laws = {
        "rounds of 8 %, a slot of 20 %": Law(0.01),
        "and a drift of 30 %": Law(0.01, drift=0.3),
        "and a random walk of 1 % a run": Law(0.01, walk=0.01),
        "runs of t with 3 degrees of freedom": Law(0.01, shape="t3"),
        "exponential runs": Law(0.01, shape="exponential"),
        "one run of twenty slow": Law(0.01, shape="slow runs"),
    }
    print(
        "| what varies | threshold 0: false | threshold 1 %: false | rounds until decided (1 %) |"
    )
    print("| --- | ---: | ---: | ---: |")
    for name, law in laws.items():
        shares = []
        for threshold in (0.0, 0.01):
            verdicts, rounds = study(number, [0.0], law, rng, threshold=threshold)
            shares.append(100 * np.isin(verdicts, ["faster", "slower"]).mean())
        print(f"| {name} | {shares[0]:.1f} | {shares[1]:.1f} | {rounds.mean():.1f} |", flush=True)


def on_the_edge(number: int, rng: np.random.Generator) -> None:
    """Print how often a change as large as the threshold gets any verdict: all are false."""
    verdicts, _ = study(number, [0.01], Law(0.003), rng, threshold=0.01)
    shares = [f"{100 * (verdicts == word).mean():.1f} {word}" for word in ("slower", "equivalent")]
    print(f"\nA change of the threshold, in percent: {', '.join(shares)}", flush=True)


def power(number: int, rng: np.random.Generator) -> None:
    """Print by which round a change is decided where the ratio of a pair varies by 1 %."""
    print("\n| change | decided by round 6 | 8 | 10 | 15 | 30 | median round |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for change in (0.01, 0.015, 0.02, 0.03, 0.05):
        verdicts, rounds = study(number, [change], Law(0.01 / 2**0.5), rng, threshold=0.0)
        right = verdicts == "slower"
        shares = [f"{100 * (right & (rounds <= n)).mean():.0f}" for n in (6, 8, 10, 15, 30)]
        print(
            f"| {100 * change:g} % | {' | '.join(shares)} | {np.median(rounds):.0f} |", flush=True
        )


def savings(number: int, rng: np.random.Generator) -> None:
    """Print the runs of a suite of twenty, two of which changed, against 30 rounds of all."""
    print("\n| change of two | fewer runs | same verdicts | right | rounds |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    for change in (0.02, 0.03, 0.05):
        changes = np.array([change, -change, *[0.0] * 18])
        runs, same, right, last = [], [], [], []
        for batch in batches(number, 200):
            times = experiments(batch, changes, Law(0.003), rng)
            verdicts, rounds = measured(times, threshold=0.01)
            whole, _ = measured(times, stop=False, threshold=0.01)
            truth = np.array(["slower", "faster", *["equivalent"] * 18])
            runs.append(rounds.sum(axis=-1) / (MOST * len(changes)))
            same.append(verdicts == whole)
            right.append(verdicts == truth)
            last.append(rounds.max(axis=-1))
        shares = [np.concatenate(part).mean() for part in (runs, same, right, last)]
        print(
            f"| {100 * change:g} % | {100 * (1 - shares[0]):.1f} | {100 * shares[1]:.2f} | "
            f"{100 * shares[2]:.2f} | {shares[3]:.1f} |",
            flush=True,
        )


def costs(number: int, rng: np.random.Generator) -> None:
    """Print by how much intervals are wider than those of one look, and of a plan of 30 rounds.

    The plan is group-sequential: one nominal level at every round from the fifth on.
    """
    counts = np.arange(3, MOST + 1)
    units = rng.standard_normal((number, MOST))
    order = np.where(np.arange(MOST) % 2, -1.0, 1.0) * rng.choice([-1.0, 1.0], (number, 1))
    order *= np.repeat(rng.choice([-1.0, 1.0], (number, MOST // 2)), 2, axis=-1)
    pvalues = []
    for n in counts:
        design = np.stack([np.ones((number, n)), order[:, :n]], axis=-1)
        inverse = np.linalg.inv(np.swapaxes(design, 1, 2) @ design)
        effects_of_design = inverse @ (np.swapaxes(design, 1, 2) @ units[:, :n, None])
        residuals = units[:, :n] - (design @ effects_of_design)[..., 0]
        error = np.sqrt((residuals**2).sum(axis=-1) / (n - 2) * inverse[:, 0, 0])
        pvalues.append(2 * stats.t.sf(np.abs(effects_of_design[:, 0, 0] / error), n - 2))
    level = np.quantile(np.min(pvalues[2:], axis=0), 0.05)
    print(f"\nNominal level of each look of the plan: {100 * level:.2f} %")
    print("| rounds | one look | plan of 30 | always valid |\n| ---: | ---: | ---: | ---: |")
    for n in (5, 6, 8, 10, 15, 20, 30):
        worth = n - (n % 2) / n
        quantiles = (
            stats.t.isf(0.025, n - 2),
            stats.t.isf(level / 2, n - 2),
            float(sequence_quantile(np.array(worth), 0.95, EXPECTED, np.array(n - 2.0), LOG_RISK)),
        )
        print(f"| {n} | {' | '.join(f'{value / n**0.5:.2f}' for value in quantiles)} |", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    generator = np.random.default_rng(1)
    costs(size, generator)
    false_verdicts(size, generator)
    on_the_edge(size, generator)
    power(size, generator)
    savings(max(size // 4, 1), generator)
