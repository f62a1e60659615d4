"""What measuring in turns is worth where runs depend on those before them, the machine drifts, or
becomes slow for a while.

    python docs/scripts/interleaving.py

A program is compared with itself, and with one that is 2 % slower, at 1 % noise. All old runs are
measured before all new ones, or both in turns (old, new, new, old, ...); in turns, runs are
compared as independent ones or as pairs. The table is that of `docs/how-to/interleaving.md`.
"""

import numpy as np
import numpy.typing as npt
import xarray as xr

import perfarray

Floats = npt.NDArray[np.float64]

EXPERIMENTS, NOISE, CHANGE, RUNS = 4000, 0.01, 1.02, (10, 30)


def independent(rng: np.random.Generator, runs: int) -> Floats:
    """Draw independent noise."""
    return rng.standard_normal((EXPERIMENTS, runs))


def correlated(rng: np.random.Generator, runs: int) -> Floats:
    """Draw noise of which each run has half of the one before."""
    steps, series = independent(rng, runs), np.empty((EXPERIMENTS, runs))
    series[:, 0] = steps[:, 0]
    for number in range(1, runs):
        series[:, number] = 0.5 * series[:, number - 1] + np.sqrt(0.75) * steps[:, number]
    return series


def drifting(rng: np.random.Generator, runs: int) -> Floats:
    """Draw noise on a machine that becomes slower by two standard deviations."""
    return independent(rng, runs) + np.linspace(0, 2, runs)


def slow_for_a_while(rng: np.random.Generator, runs: int) -> Floats:
    """Draw noise on a machine that is slower by two standard deviations in a third of the runs, one
    after the other."""
    length = runs // 3
    starts = rng.integers(0, runs - length + 1, (EXPERIMENTS, 1))
    place = np.arange(runs)
    return independent(rng, runs) + 2.0 * ((place >= starts) & (place < starts + length))


def shares(series: Floats, order: Floats, paired: str | None) -> list[float]:
    """Return the shares of verdicts, of a program with itself and of a slower one; `order` says
    which runs are of the new one."""
    values = 1 + NOISE * series
    cells = []
    for change in (1.0, CHANGE):
        sides = [values[:, order == 0], change * values[:, order == 1]]
        times = xr.DataArray(
            sides,
            dims=("version", "experiment", "execution"),
            coords={"version": ["old", "new"]},
            name="time",
        )
        verdicts = perfarray.compare(times, "old", paired=paired)["verdict"]
        cells.append(100 * float((verdicts != "inconclusive").mean()))
    return cells


def main() -> None:
    """Print the table: false verdicts, and in brackets how often the change is seen."""
    rng = np.random.default_rng(1)
    print(
        "| noise | runs a side | one after the other | in turns | in turns, paired |\n| --- | "
        "---: | ---: | ---: | ---: |"
    )
    for law in (independent, correlated, drifting, slow_for_a_while):
        for runs in RUNS:
            series, after = law(rng, 2 * runs), np.repeat([0, 1], runs)
            turns = np.resize([0, 1, 1, 0], 2 * runs)
            results = [
                shares(series, order, paired)
                for order, paired in ((after, None), (turns, None), (turns, "execution"))
            ]
            print(
                f"| {law.__name__.replace('_', ' ')} | {runs} |",
                " | ".join(f"{false:.0f} ({seen:.0f})" for false, seen in results),
                "|",
            )


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    main()
