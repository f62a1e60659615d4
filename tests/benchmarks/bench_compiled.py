"""What compiled code costs before it is there, beside an import of numba, and what a second thread
brings: as ratios.

A first call compiles into an empty folder, in a new process. Two threads need two idle cores: where
others keep them busy, the ratio says what that takes away, and not more.
"""

import os
import subprocess
import sys
from functools import partial
from tempfile import TemporaryDirectory

import numba
import numpy as np
from interleaved import measured, print_ratio, ratio

import perfarray

NOTHING = "import numba, perfarray"
SETUP = """
import warnings, numba, numpy, perfarray, xarray
warnings.simplefilter("ignore")
perfarray.set_options(engine="numba")
runs = xarray.DataArray(numpy.random.default_rng(1).normal(9, 1, (4, 35)), dims=("benchmark", "execution"))
"""
FIRST = {
    "fit_mixture": "runs.perf.fit_mixture()",
    "mean_interval": (
        "runs.expand_dims(binary=3).perf.mean_interval(method='percentile', resample='all', rng=1)"
    ),
}


def first_call(code: str) -> None:
    """Run code in a new process that finds nothing compiled."""
    with TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        subprocess.run([sys.executable, "-c", code], check=True, env=environment)


def with_threads(number: int, call) -> None:
    """Do some work in so many threads."""
    n_threads, numba.config.NUMBA_NUM_THREADS = numba.config.NUMBA_NUM_THREADS, number
    try:
        call()
    finally:
        numba.config.NUMBA_NUM_THREADS = n_threads


def main() -> None:
    """Print times and ratios."""
    calls = {NOTHING: partial(first_call, NOTHING)} | {
        name: partial(first_call, SETUP + code) for name, code in FIRST.items()
    }
    seconds = measured("compiled at the first call", calls, rounds=3, budget=0.0)
    for name in FIRST:
        print_ratio(f"first compiled {name}", NOTHING, ratio(seconds, name, NOTHING))
    for name, work in shared_work().items():
        with perfarray.set_options(engine="numba"):
            seconds = measured(
                name,
                {f"{number} threads": partial(with_threads, number, work) for number in (1, 2)},
                rounds=9,
                budget=0.0,
            )
        print_ratio(f"two threads, {name}", "one", ratio(seconds, "2 threads", "1 threads"))


def shared_work():
    """Return calls whose work threads share."""
    rng = np.random.default_rng(1)
    samples = perfarray.from_samples(
        {f"b{number}": rng.lognormal(0, 0.2, 35) for number in range(200)}, dim="benchmark"
    )
    return {"fit_mixture of 200 samples": partial(perfarray.fit_mixture, samples)}
