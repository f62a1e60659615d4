"""Simulated experiments, point by point of a map and batch by batch.

The size of a batch changes no number.
"""

from collections.abc import Callable, Hashable
from contextlib import nullcontext

import xarray as xr

from perfarray.calibration.designs import EXPERIMENT, DesignPoint, Study, check_design
from perfarray.calibration.methods import CalibratedMethod, with_defaults
from perfarray.timings.notes import with_notes
from perfarray.timings.progress import progress_bar
from perfarray.timings.streams import describe_key, key_of
from perfarray.timings.validation import check_confidence_level, check_count

MOST_VALUES = (
    1 << 21
)  # values of all systems that are drawn at once, unless one experiment has more: 16 MiB
COST = 500  # the cost of an experiment beside its values, in values, for the progress bar
UPDATES, LEAST = (
    40,
    1 << 19,
)  # steps of the progress bar, and the least cost of one: a call costs more than few experiments

Judge = Callable[
    [CalibratedMethod, list[xr.DataArray], DesignPoint], xr.Dataset
]  # the outcome of each experiment, by method and timings


def simulated(
    method: CalibratedMethod,
    study: Study,
    judge: Judge,
    summary: Callable[[xr.Dataset], xr.Dataset],
    result: str,
    description: str,
) -> xr.Dataset:
    """Draw the experiments of every point of a map, judge each, and summarise the outcomes."""
    count = check_count(study.n_experiments, "n_experiments", 2)
    check_confidence_level(study.confidence_level)
    batch = None if study.batch is None else check_count(study.batch, "batch")
    design = check_design(study, two=method.two)
    key = key_of(study.rng)
    points = list(design.points(key))
    costs = [count * (COST + sum(side.n_values for side in point.sides)) for point in points]
    summaries = []
    doing, bar_format = result.replace("_", " "), "{l_bar}{bar}| {elapsed}, {remaining} left"
    with (
        progress_bar(sum(costs), doing, "value", show=study.progress, bar_format=bar_format)
        or nullcontext() as bar
    ):
        for point, cost in zip(points, costs, strict=True):
            rng = str(next(iter(describe_key(point.key).values())))
            method_here = with_defaults(
                method, design.visible, list(design.labels), study.confidence_level, rng
            )
            at_once = batch or max(1, MOST_VALUES // sum(side.n_values for side in point.sides))
            if bar is not None and not batch:
                at_once = min(at_once, max(1, max(sum(costs) // UPDATES, LEAST) * count // cost))
            batches = []
            for first in range(0, count, at_once):
                n_batch = min(at_once, count - first)
                batches.append(
                    judge(method_here, design.draw_timings(point, first, n_batch), point)
                )
                if bar is not None:
                    bar.update(cost * n_batch // count)
            summaries.append(
                summary(xr.concat(batches, EXPERIMENT, coords="minimal", compat="override"))
            )
    shares = _on_map(summaries, design.map)
    shares["estimate"].attrs["long_name"] = description
    shares["error"].attrs["long_name"] = "Monte Carlo standard error"
    law = study.distribution
    attrs: dict[str, Hashable] = {
        "result": result,
        "method": method.name,
        "levels": " ".join(design.visible),
        "unit": design.visible[0],
        "confidence_level": study.confidence_level,
        "distribution": law if isinstance(law, str) else str(getattr(law, "__name__", "callable")),
        "n_experiments": study.n_experiments,
    }
    attrs |= {"ignored": " ".join(design.hidden)} if design.hidden else {}
    attrs |= {
        f"{name}_of_method": value
        for name, value in method.options.items()
        if type(value) in (str, int, float)
    }
    return with_notes(shares.assign_attrs(attrs | describe_key(key)), checks=("experiments",))


def _on_map(summaries: list[xr.Dataset], template: xr.DataArray) -> xr.Dataset:
    """Join the summaries of all points, the last dim fastest, and describe them."""
    for dim, size in reversed(list(template.sizes.items())):
        groups = (summaries[first : first + size] for first in range(0, len(summaries), size))
        summaries = [xr.concat(group, dim, coords="minimal", compat="override") for group in groups]
    joined = summaries[0].drop_vars(
        [name for name in summaries[0].coords if name not in summaries[0].dims]
    )
    for variable in joined.variables.values():
        variable.attrs = {"units": "1"} if variable.dtype.kind == "f" else {}
    return joined.assign_coords({dim: coord.variable for dim, coord in template.coords.items()})
