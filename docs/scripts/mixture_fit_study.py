"""Does the test of a fit keep its risk, and what does it see: section 5.2 of Worms and Touati
(2016) redone.

    python docs/scripts/mixture_fit_study.py --experiments 1000 --figure p-values.png

Samples are drawn from mixtures of normal distributions chosen at random (number of components 1 +
Poisson(3.5), weights uniform on the simplex, means uniform on 10 to 60, standard deviations 0.3 + c
Beta(3, 2) with c = 2, 4, 6), where p-values should be uniform, and from mixtures of shifted
exponentials, where they should be small: shifts as the means, scales as the standard deviations at
c = 2. The report does not say how it chose the latter. The tables printed here are those in
`docs/papers/worms_touati.md`.
"""

import argparse

import numpy as np
import pandas as pd
import xarray as xr
from scipy import stats

import perfarray

SIZES = (30, 100, 500)
SETTINGS = {"well separated": 2.0, "mildly separated": 4.0, "overlapping": 6.0}
CELLS = 10
"""Cells of the chi-square test of uniformity, as in the report."""


def sample(n: int, spread: float, exponential: bool, rng: np.random.Generator) -> np.ndarray:
    """Draw one sample of a mixture chosen at random."""
    number = 1 + rng.poisson(3.5)
    weights, places = rng.dirichlet(np.ones(number)), rng.uniform(10, 60, number)
    scales = 0.3 + spread * rng.beta(3, 2, number)
    chosen = rng.choice(number, n, p=weights)
    noise = rng.exponential(size=n) if exponential else rng.standard_normal(n)
    return places[chosen] + scales[chosen] * noise


def pvalues(
    n: int, experiments: int, spread: float, undersample: float, *, exponential: bool = False
) -> np.ndarray:
    """Return the p-values of many samples; those of both sizes of draws are of the same samples."""
    rng = np.random.default_rng([n, int(spread), int(exponential)])
    values = np.stack([sample(n, spread, exponential, rng) for _ in range(experiments)])
    times = xr.DataArray(
        values, dims=("benchmark", "execution"), coords={"benchmark": np.arange(experiments)}
    )
    return times.perf.goodness_of_fit(n_resamples=200, undersample=undersample, rng=1)[
        "pvalue"
    ].values


def uniformity(found: np.ndarray) -> float:
    """Return the p-value of the chi-square test of uniformity."""
    counts = np.histogram(np.clip(found, 0, 1 - 1e-9), bins=CELLS, range=(0, 1))[0]
    return float(stats.chisquare(counts).pvalue)


def study(experiments: dict[int, int]) -> tuple[pd.DataFrame, dict[str, np.ndarray]]:
    """Return the table of all settings, and the p-values behind it."""
    rows, kept = [], {}
    cases = [(n, name, spread, False) for n in SIZES for name, spread in SETTINGS.items()]
    cases += [(n, "shifted exponentials", 2.0, True) for n in SIZES]
    for n, name, spread, exponential in cases:
        row = {"n": n, "samples from": name, "experiments": experiments[n]}
        for undersample in (1.0, 0.9):
            found = pvalues(n, experiments[n], spread, undersample, exponential=exponential)
            kept[f"{name}, n = {n}, draws of {undersample:g} n"] = found
            row |= {
                f"p < 0.05, {undersample:g}": (found < 0.05).mean(),
                f"uniform, {undersample:g}": uniformity(found),
            }
        rows.append(row)
        print(pd.Series(row).to_dict(), flush=True)
    return pd.DataFrame(rows), kept


def draw(kept: dict[str, np.ndarray], path: str) -> None:
    """Draw a histogram and a quantile plot of the p-values of every setting."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(
        len(kept), 2, figsize=(7, 2.2 * len(kept)), layout="constrained", squeeze=False
    )
    for (title, found), (left, right) in zip(kept.items(), axes, strict=True):
        left.hist(found, bins=20, range=(0, 1), density=True)
        left.axhline(1, color="black", linewidth=0.8)
        left.set_title(title, fontsize=8)
        right.plot((np.arange(len(found)) + 0.5) / len(found), np.sort(found), ".", markersize=3)
        right.plot([0, 1], [0, 1], color="black", linewidth=0.8)
        right.set_xlabel("uniform quantile")
        right.set_ylabel("p-value")
    figure.savefig(path, dpi=120)


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--experiments",
        type=int,
        nargs="+",
        default=[1000],
        help="samples of each kind: one number, or one for each size",
    )
    parser.add_argument("--engine", default="numba", choices=("numpy", "numba"))
    parser.add_argument("--figure", help="where to write histograms and quantile plots")
    given = parser.parse_args()
    numbers = given.experiments if len(given.experiments) > 1 else given.experiments * len(SIZES)
    with perfarray.set_options(engine=given.engine):
        table, kept = study(dict(zip(SIZES, numbers, strict=True)))
    print(table.round(3).to_string(index=False))
    if given.figure:
        draw(kept, given.figure)


if __name__ == "__main__":
    main()
