"""Bootstrap of a ratio of means, every level of 30 x 30 x 30 redrawn, against its peers: time per
replicate, as ratios.

`ours` draw 10,000 replicates and peers fewer, since they are slow: what is compared is the time of
one replicate. hierarch is measured where it is installed.
"""

import importlib.util
import statistics
import time
from collections.abc import Callable

import numpy as np
import xarray as xr
from interleaved import print_ratio
from scipy import stats

import perfarray  # noqa: F401 registers .perf

SIZES = (30, 30, 30)
REPLICATES = 10_000


def samples() -> tuple[np.ndarray, np.ndarray]:
    """Return nested timings of two systems."""
    rng = np.random.default_rng(0)
    effects = [rng.normal(0, 0.1, (2, *SIZES[:depth])) for depth in (1, 2, 3)]
    new, old = 10 + effects[0][..., None, None] + effects[1][..., None] + effects[2]
    return new, old


def ours(new: xr.DataArray, old: xr.DataArray) -> int:
    """Draw the replicates of the ratio and the percentile limits."""
    new.perf.ratio_interval(old, method="percentile", resample="all", n_resamples=REPLICATES, rng=1)
    return REPLICATES


def nested_loops(new: np.ndarray, old: np.ndarray) -> int:
    """Figure 2 of the paper, as it stands, on plain lists."""
    rng = np.random.default_rng(1)
    means = []
    for values in (new.tolist(), old.tolist()):
        total = 0.0
        for _ in range(SIZES[0]):
            binary = values[int(rng.random() * SIZES[0])]
            for _ in range(SIZES[1]):
                execution = binary[int(rng.random() * SIZES[1])]
                for _ in range(SIZES[2]):
                    total += execution[int(rng.random() * SIZES[2])]
        means.append(total / np.prod(SIZES))
    assert means[0] / means[1] > 0
    return 1


def index_arrays(new: np.ndarray, old: np.ndarray, number: int = 20) -> int:
    """One replicate at a time, its three levels of indices drawn as arrays."""
    rng = np.random.default_rng(1)
    a, b, c = SIZES
    for _ in range(number):
        means = []
        for values in (new, old):
            picks = rng.integers(0, a, a), rng.integers(0, b, (a, b)), rng.integers(0, c, (a, b, c))
            means.append(values[picks[0][:, None, None], picks[1][:, :, None], picks[2]].mean())
        assert means[0] / means[1] > 0
    return number


def one_level_scipy(new: np.ndarray, old: np.ndarray, number: int = 40) -> int:
    """SciPy's bootstrap of the same statistic on as many values, without a nest."""

    def ratio(x, y, axis):
        return x.mean(axis=axis) / y.mean(axis=axis)

    stats.bootstrap(
        (new.ravel(), old.ravel()),
        ratio,
        n_resamples=number,
        batch=10,
        method="percentile",
        vectorized=True,
        rng=np.random.default_rng(1),
    )
    return number


def hierarch(new: np.ndarray, old: np.ndarray, number: int = 20) -> int:
    """Weights of hierarch's batched hierarchical bootstrap, and the means they give."""
    from hierarch.resampling import bootstrap_plan, draw_bootstrap_weights_batch

    design = np.stack(
        [np.zeros(new.size), *(indices.ravel() for indices in np.indices(SIZES))], axis=1
    )
    plan = bootstrap_plan(design)
    rng = np.random.default_rng(1)
    means = [
        draw_bootstrap_weights_batch(plan, rng, 0, "weights", number) @ values.ravel() / values.size
        for values in (new, old)
    ]
    assert (means[0] / means[1] > 0).all()
    return number


def per_replicate(call: Callable[[], int]) -> float:
    """Return the seconds of one replicate."""
    start = time.perf_counter()
    number = call()
    return (time.perf_counter() - start) / number


def main(rounds: int = 5) -> None:
    """Measure in turn, and print medians of ratios."""
    new, old = samples()
    peers = {
        "nested loops": nested_loops,
        "index arrays": index_arrays,
        "scipy, one level": one_level_scipy,
    }
    if importlib.util.find_spec("hierarch"):
        peers["hierarch"] = hierarch
    timings = [
        xr.DataArray(side, dims=("binary", "execution", "iteration"), attrs={"units": "s"})
        for side in (new, old)
    ]
    variants = {"ours": lambda: ours(*timings)} | {
        name: (lambda peer=peer: peer(new, old)) for name, peer in peers.items()
    }
    for call in variants.values():
        call()
    passes = [{name: per_replicate(call) for name, call in variants.items()} for _ in range(rounds)]
    for name in variants:
        print(
            f"{name:<20} {1e6 * statistics.median(times[name] for times in passes):10.1f} us a "
            "replicate"
        )
    for peer in peers:
        print_ratio(
            peer,
            "ours",
            statistics.median(times[peer] / times["ours"] for times in passes),
        )
