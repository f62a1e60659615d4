"""The fits of a whole study, as Worms and Touati (2016) made them: 2,438 samples, all models, each
fit tested with 200 refits.

    python docs/scripts/mixture_whole_study.py [--archives ARCHIVES] [--engine numba] [--every 10]
    [--processes 2]

Their samples of 30 to 1,000 runs are not public. Here real ones (see `real_samples.py`, where
archives are given) are filled up to 2,438 by simulated ones: as many runs as a size drawn from
those of the real samples, or from sizes like them, and one to three modes. With `--every 10` every
tenth sample is taken, and the time of all is estimated from theirs. Each process takes a part of
the samples; what is drawn for a sample hangs on its label, so that their number changes nothing.
"""

import argparse
import os
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path

import numpy as np
import xarray as xr
from real_samples import samples
from tqdm import tqdm

import perfarray

SAMPLES = 2438
PART = 20
"""Samples that a process is given at a time."""

SIZES = {30: 0.4, 35: 0.55, 100: 0.04, 1000: 0.01}
"""Sizes of simulated samples and their shares: public samples have 30 to 40 runs, a few many more."""


def real(archives: Path | None) -> list[np.ndarray]:
    """Return the runs of the real samples."""
    found = samples(archives).values() if archives else []
    return [
        cell.values[~np.isnan(cell.values)]
        for array in found
        for cell in array.transpose("benchmark", "execution")
    ]


def simulated(number: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Draw samples of one to three modes, some per cent apart."""
    found = []
    for size in rng.choice(list(SIZES), number, p=list(SIZES.values())):
        modes = rng.integers(1, 4)
        places, spreads = rng.uniform(1.0, 1.3, modes), rng.uniform(0.005, 0.03, modes)
        chosen = rng.choice(modes, size, p=rng.dirichlet(np.full(modes, 2.0)))
        found.append(rng.normal(places[chosen], spreads[chosen]))
    return found


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--archives", type=Path)
    parser.add_argument("--engine", default="numba", choices=("numpy", "numba"))
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    given = parser.parse_args()
    own = real(given.archives)
    runs = [*own, *simulated(SAMPLES - len(own), np.random.default_rng(1))][:: given.every]
    times = perfarray.from_samples(
        {f"sample {number}": one for number, one in enumerate(runs)}, dim="benchmark"
    )
    parts = [
        times.isel(benchmark=slice(first, first + PART)) for first in range(0, len(runs), PART)
    ]
    with ProcessPoolExecutor(given.processes) as pool:
        list(
            pool.map(
                study,
                [times.isel(benchmark=[0])] * 2 * given.processes,
                repeat(given.engine),
                repeat(2),
            )
        )  # compiles
        start = time.perf_counter()
        found = list(
            tqdm(pool.map(study, parts, repeat(given.engine), repeat(200)), total=len(parts))
        )
        took = time.perf_counter() - start
    fits, tests, seconds = zip(*found, strict=True)
    report(xr.concat(tests, "benchmark"), xr.concat(fits, "benchmark"))
    what = f"{given.engine}, {given.processes} processes: {len(runs)} samples"
    print(
        f"{what} fitted and refitted 200 times in {took:.0f} s ({sum(seconds):.0f} s of the "
        "processor)"
    )
    if given.every > 1:
        print(f"for all {SAMPLES}: about {took * SAMPLES / len(runs):.0f} s")


def study(times: xr.Dataset, engine: str, n_resamples: int) -> tuple[xr.Dataset, xr.Dataset, float]:
    """Fit samples and test the fits; return both, and the seconds of the processor."""
    start = time.process_time()
    with perfarray.set_options(engine=engine):
        fit = times.perf.fit_mixture(tolerance=1e-5)
        tested = times.perf.goodness_of_fit(fit, n_resamples=n_resamples, rng=1)
    return fit.to_dataset(), tested, time.process_time() - start


def report(tested: xr.Dataset, fit: xr.Dataset) -> None:
    """Print the share of samples that a mixture describes, and how many components they have."""
    pvalue = tested["pvalue"].dropna("benchmark")
    print(
        f"{float((pvalue >= 0.05).mean()):.1%} of {pvalue.size} samples are described by a "
        "mixture (p >= 5 %)"
    )
    print(
        "components:",
        fit["n_components"].to_series().astype(int).value_counts().sort_index().to_dict(),
    )


if __name__ == "__main__":
    main()
