"""REML of ragged nests against the analysis of variance of the same data, and against statsmodels'
mixed model."""

import time
import warnings
from functools import partial

import numpy as np
import pandas as pd
import xarray as xr
from interleaved import measured, print_ratio, ranked, ratio
from statsmodels.regression.mixed_linear_model import MixedLM
from threadpoolctl import threadpool_limits

from perfarray.numerics.nested_anova import nested_anova
from perfarray.variation.numerics.reml import nested_reml

LEVELS = ("binary", "execution", "iteration")


def draw(shape: tuple[int, ...], missing: float) -> np.ndarray:
    """Return nested values, a share of them missing at random."""
    rng = np.random.default_rng(0)
    values = (
        10
        + rng.normal(0, 1, shape[:1])[:, None, None]
        + rng.normal(0, 0.7, shape[:2])[..., None]
        + rng.normal(0, 1.4, shape)
    )
    return np.where(rng.random(shape) < missing, np.nan, values)


def against_anova() -> None:
    """150 x 100 x 64 values, 10 % missing: the issue allows 15 times the analysis of variance."""
    values = draw((150, 100, 64), 0.1)
    times = xr.DataArray(values, dims=LEVELS, name="time", attrs={"units": "s"})
    variants = {
        "formula, anova": lambda: nested_anova(values, 3),
        "formula, reml without limits": lambda: nested_reml(
            values, 3, nested_anova(values, 3), confidence_level=None
        ),
        "formula, reml": lambda: nested_reml(values, 3, nested_anova(values, 3)),
        "variance_components()": lambda: times.perf.variance_components(),
        'variance_components(method="reml")': lambda: times.perf.variance_components(method="reml"),
    }
    seconds = measured("150 x 100 x 64 values, 10 % missing", variants, rounds=9)
    print_ratio(
        "formula, reml", "formula, anova", ratio(seconds, "formula, reml", "formula, anova")
    )
    reml = 'variance_components(method="reml")'
    print_ratio(reml, "variance_components()", ratio(seconds, reml, "variance_components()"))


def against_mixed_model() -> None:
    """30 x 30 x 30 values, 10 % missing: the issue asks for 100 times statsmodels' speed. Both give
    the components."""
    values = draw((30, 30, 30), 0.1)
    times = xr.DataArray(values, dims=LEVELS, name="time", attrs={"units": "s"})
    measured = np.argwhere(~np.isnan(values))
    frame = pd.DataFrame(
        {"time": values[~np.isnan(values)], "binary": measured[:, 0], "execution": measured[:, 1]}
    )
    model = MixedLM.from_formula(
        "time ~ 1",
        frame,
        groups="binary",
        re_formula="1",
        vc_formula={"execution": "0 + C(execution)"},
    )

    def mixed() -> object:
        with warnings.catch_warnings(action="ignore"):
            return model.fit(reml=True)

    variants = {
        "MixedLM.fit (model built before)": mixed,
        "formula": lambda: nested_reml(values, 3, nested_anova(values, 3), confidence_level=None),
        'variance_components(method="reml"), with limits': lambda: times.perf.variance_components(
            method="reml"
        ),
    }
    ranked(
        "30 x 30 x 30 values, 10 % missing",
        variants,
        "MixedLM.fit (model built before)",
        rounds=3,
        budget=0.0,
    )


def with_threads() -> None:
    """30 x 30 x 100 values: sums that start threads of BLAS cost processor time, which a busy
    machine does not have."""
    times = xr.DataArray(draw((30, 30, 100), 0.0), dims=LEVELS, name="time", attrs={"units": "s"})

    def limited(number: int) -> object:
        with threadpool_limits(number, user_api="blas"):
            return times.perf.variance_components(method="reml")

    variants = {"two threads of BLAS": partial(limited, 2), "one thread": partial(limited, 1)}
    ranked(
        "REML of 30 x 30 x 100 values, processor time",
        variants,
        "two threads of BLAS",
        clock=time.process_time,
    )


def main() -> None:
    """Print times and ratios."""
    against_anova()
    against_mixed_model()
    with_threads()
