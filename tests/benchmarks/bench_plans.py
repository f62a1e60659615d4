"""Plans of many benchmarks, and the picture of one, as ratios of CPU times in one run.

1,000 pilots of 2 executions of 3 iterations. The peer of a plan is `variance_components` of the
same pilots, which it starts from; that of the picture draws the same lines and words on
matplotlib's Axes, without a layout and with one.
"""

import io
import time
from collections.abc import Callable

import matplotlib.pyplot as plt
import xarray as xr
from interleaved import measured, print_ratio, ratio

import perfarray
from perfarray.variation.curves import plan_curves


def draw_plan(plan: xr.Dataset, layout: str | None) -> None:
    """Draw the half-width by cost by hand."""
    plan = plan_curves(plan)
    _, ax = plt.subplots(figsize=(6.5, 4.5), layout=layout)
    ax.plot(
        plan["cost"].values * plan["budget_factor"],
        100 * plan["half_width_by_budget"].squeeze(),
        "o-",
        label="optimal experiments",
    )
    ax.set(
        xscale="log",
        yscale="log",
        xlabel="cost, iterations",
        ylabel="half-width, percent of the mean",
        title="Plan of repetitions",
    )
    ax.legend()
    save(ax)


def save(ax: plt.Axes) -> None:
    """Write a figure as PNG."""
    ax.figure.savefig(io.BytesIO(), format="png")
    plt.close(ax.figure)


def main() -> None:
    """Measure in turn, and print ratios: ours beside the peer."""
    nest = {
        "sizes": {"execution": 2, "iteration": 3},
        "variances": {"execution": 1e-4, "iteration": 1e-4},
        "rng": 1,
    }
    times, wish = (
        perfarray.simulate(**nest, dims={"benchmark": 1000}),
        {"half_width": 0.02, "costs": {"execution": 5}},
    )
    variants: dict[str, Callable[[], object]] = {
        "plans": lambda: times.perf.plan_repetitions(**wish),
        "plans without assurance": lambda: times.perf.plan_repetitions(assurance=None, **wish),
        "components": times.perf.variance_components,
    }
    seconds = measured("1,000 pilots", variants, rounds=5, clock=time.process_time)
    for name in list(variants)[:2]:
        print_ratio(f"1,000 pilots, {name}", "components", ratio(seconds, name, "components"))
    plan = times.isel(benchmark=0).perf.plan_repetitions(**wish)
    pictures: dict[str, Callable[[], object]] = {
        "picture": lambda: save(plan.perf.plot()),
        "by hand": lambda: draw_plan(plan, None),
        "by hand, layout": lambda: draw_plan(plan, "constrained"),
    }
    seconds = measured("a plan to PNG", pictures, rounds=9, clock=time.process_time)
    for name in list(pictures)[1:]:
        print_ratio("a plan to PNG", name, ratio(seconds, "picture", name))
