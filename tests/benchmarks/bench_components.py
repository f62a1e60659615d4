"""Variance components against the NumPy one-liners a user would write, and the price of the
labels."""

import numpy as np
import xarray as xr
from interleaved import measured, print_ratio, ranked, ratio

from perfarray.numerics.intervals import ratio_df, ratio_limits, ratio_of
from perfarray.numerics.levels import unit_means
from perfarray.numerics.nested_anova import nested_anova

LEVELS = ("binary", "execution", "iteration")


def one_liners(values: np.ndarray) -> tuple[float, ...]:
    """Return mean, S^2, T^2 and coefficients of variation of three levels, as one writes them in a
    notebook."""
    n_binary, n_execution, n_iteration = values.shape
    mean = values.mean()
    s_iteration = values.var(axis=-1, ddof=1).mean()
    s_execution = values.mean(axis=-1).var(axis=-1, ddof=1).mean()
    s_binary = values.mean(axis=(-1, -2)).var(ddof=1)
    t_execution = s_execution - s_iteration / n_iteration
    t_binary = s_binary - s_execution / n_execution
    relative = [np.sqrt(max(t, 0.0)) / mean for t in (t_binary, t_execution, s_iteration)]
    return (
        mean,
        s_binary,
        s_execution,
        s_iteration,
        t_binary,
        t_execution,
        np.sqrt(s_binary / n_binary),
        *relative,
    )


def components() -> None:
    """150 x 100 x 64 values: the issue asks for 3 times the one-liners."""
    values = np.random.default_rng(0).normal(1, 0.01, (150, 100, 64))
    times = xr.DataArray(values, dims=LEVELS, name="time", attrs={"units": "s"})
    variants = {
        "NumPy one-liners": lambda: one_liners(values),
        "formula": lambda: nested_anova(values, 3),
        "times.perf.variance_components()": lambda: times.perf.variance_components(),
    }
    ranked("components of 150 x 100 x 64 values", variants, "NumPy one-liners")


def labels(name: str, values: np.ndarray, formula, method) -> None:
    """Print what the accessor costs above the bare formula."""
    times = xr.DataArray(values, dims=LEVELS, name="time", attrs={"units": "s"})
    title = f"{name}, {' x '.join(map(str, values.shape))}"
    seconds = measured(
        f"{title} values", {"formula": lambda: formula(values), "method": lambda: method(times)}
    )
    overhead = sorted(b - a for a, b in zip(seconds["formula"], seconds["method"], strict=True))[
        len(seconds["formula"]) // 2
    ]
    print(f"  difference {overhead * 1e3:.3f} ms")
    print_ratio(f"{title}: method", "formula", ratio(seconds, "method", "formula"))


def means(values: np.ndarray) -> object:
    """Return the bare formula of a ratio of an array to itself, each side averaged as the method
    does."""
    ratio = ratio_of(unit_means(values, 3), unit_means(values, 3), paired=False)
    df = ratio_df(ratio, "satterthwaite")
    return ratio_limits(ratio, df, 0.95, "fieller")


def main() -> None:
    """Print times and ratios."""
    components()
    rng = np.random.default_rng(0)
    for shape in ((6, 5, 4), (150, 100, 64), (600, 200, 100)):
        data = rng.normal(1, 0.01, shape)
        labels(
            "variance_components",
            data,
            lambda values: nested_anova(values, 3),
            lambda times: times.perf.variance_components(),
        )
        labels("ratio_interval", data, means, lambda times: times.perf.ratio_interval(times))
