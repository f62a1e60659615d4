"""How often `compare` proposes pairs (the note `measured_in_rounds`): of sides measured apart, and
in rounds that share what a round adds.

    python docs/scripts/rounds.py

Each side has some sessions of eight benchmarks. A session moves all benchmarks, by a law of its
own; a benchmark varies by 1 % besides. The first columns are of independent sides, where the note
is false, by the law; in the last ones session i of both sides shares 2 or 8 %. The table is that of
`docs/how-to/interleaving.md`.
"""

import numpy as np

from perfarray.comparisons.numerics.rounds import round_correlation
from perfarray.comparisons.rounds import LEAST, LEVEL

EXPERIMENTS, BENCHMARKS, NOISE = 4000, 8, 0.01
SESSIONS, LAWS = (5, 6, 10, 30), ("normal", "lognormal", "t2", "slow ones")


def effects(rng: np.random.Generator, law: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return by how much sessions move."""
    if law == "normal":
        return 0.02 * rng.standard_normal(shape)
    if law == "lognormal":
        return 0.01 * np.exp(rng.standard_normal(shape))
    return (
        0.01 * rng.standard_t(2, shape)
        if law == "t2"
        else 0.2 * (rng.random(shape) < 0.1) + 0.005 * rng.standard_normal(shape)
    )


def share_of_notes(
    rng: np.random.Generator,
    sessions: int,
    law: str,
    together: float = 0.0,
    experiments: int = EXPERIMENTS,
) -> float:
    """Return the share of experiments in which pairs are proposed, in percent; `together` is what
    the sessions of both sides share."""
    proposed = 0
    for _ in range(experiments):
        apart = effects(rng, law, (2, 1, sessions)) if law else 0.0
        common = together * rng.standard_normal((1, 1, sessions))
        new, old = np.exp(common + apart + NOISE * rng.standard_normal((2, BENCHMARKS, sessions)))
        correlation, pvalue = round_correlation(new, old)
        proposed += pvalue <= LEVEL and correlation >= LEAST
    return 100 * proposed / experiments


def main() -> None:
    """Print the table."""
    rng = np.random.default_rng(1)
    print(
        f"| sessions a side | {' | '.join(f'apart, {law}' for law in LAWS)} | rounds of 2 % | "
        "rounds of 8 % |"
    )
    print("| ---: |" + " ---: |" * (len(LAWS) + 2))
    for sessions in SESSIONS:
        shares = [share_of_notes(rng, sessions, law) for law in LAWS]
        shares += [
            share_of_notes(rng, sessions, "", together, experiments=1000)
            for together in (0.02, 0.08)
        ]
        print(f"| {sessions} | {' | '.join(f'{share:.1f}' for share in shares)} |")


if __name__ == "__main__":
    main()
