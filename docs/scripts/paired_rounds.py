"""What pairs are worth where both sides are measured in rounds, and what a fixed order does.

    python docs/scripts/paired_rounds.py

A round holds one run of each side, and changes both by one factor; runs vary by 0.5 % besides. A
program is compared with itself, and with one that is 1 or 5 % slower, as independent sessions and in
pairs. In the second table the second run of a round is 5 % slower (a warm machine, a full cache),
and the old program is first in all rounds, or in every other one. The tables are those of
`docs/how-to/interleaving.md`.
"""

import numpy as np
import xarray as xr

import perfarray

EXPERIMENTS, RUNS = 4000, 0.005
ROUNDS, ROUND_NOISE, CHANGES, SLOT = (3, 5, 6, 10), (0.0, 0.01, 0.08), (1.0, 1.01, 1.05), 1.05


def verdict_share(
    rng: np.random.Generator,
    rounds: int,
    *,
    paired: bool,
    noise: float = 0.08,
    change: float = 1.0,
    slot: float = 1.0,
    alternate: bool = True,
    experiments: int = EXPERIMENTS,
) -> float:
    """Return in how many percent of experiments something is called slower or faster.

    `noise` is what rounds vary by, `change` that of the new program, `slot` how much slower the
    second run of a round is.
    """
    shape = (experiments, rounds)
    factor = np.exp(noise * rng.standard_normal(shape))
    old, new = factor * np.exp(RUNS * rng.standard_normal((2, *shape)))
    new_is_first = (np.arange(rounds) % 2 == 1) & alternate
    times = xr.DataArray(
        [old * np.where(new_is_first, slot, 1.0), new * change * np.where(new_is_first, 1.0, slot)],
        dims=("version", "experiment", "session"),
        coords={"version": ["old", "new"]},
        name="time",
    )
    verdicts = perfarray.compare(times, "old", paired="session" if paired else None)["verdict"]
    return 100 * float(verdicts.isin(["slower", "faster"]).mean())


def main() -> None:
    """Print both tables."""
    rng = np.random.default_rng(1)
    columns = [f"{name}, {of}" for of in ("apart", "in pairs") for name in ("equal", "1 %", "5 %")]
    print(f"| rounds vary by | rounds | {' | '.join(columns)} |")
    print("| ---: |" + " ---: |" * (len(columns) + 1))
    for noise in ROUND_NOISE:
        for rounds in ROUNDS:
            shares = [
                verdict_share(rng, rounds, paired=paired, noise=noise, change=change)
                for paired in (False, True)
                for change in CHANGES
            ]
            cells = " | ".join(f"{share:.1f}" for share in shares)
            print(f"| {100 * noise:g} % | {rounds} | {cells} |")
    columns = [f"{name}, {of}" for of in ("fixed", "alternating") for name in ("equal", "5 %")]
    print(f"\n| rounds | compared | {' | '.join(columns)} |")
    print("| ---: | --- |" + " ---: |" * len(columns))
    for rounds in ROUNDS:
        for paired in (False, True):
            shares = [
                verdict_share(
                    rng, rounds, paired=paired, change=change, slot=SLOT, alternate=alternate
                )
                for alternate in (False, True)
                for change in (1.0, 1.05)
            ]
            cells = " | ".join(f"{share:.1f}" for share in shares)
            print(f"| {rounds} | {'in pairs' if paired else 'apart'} | {cells} |")


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    main()
