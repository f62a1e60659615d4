"""The systems whose single runs are compared: timings or mixtures, matched by label."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from functools import partial, reduce
from operator import or_
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from perfarray.conventions import CENSORED, HIGHER, plural
from perfarray.mixtures.joint import COMPONENT
from perfarray.mixtures.model import PARAMETERS, parameter_dims, parameters_of, scaled_mixture
from perfarray.mixtures.numerics.comparison import EMPIRICAL, METHODS, MIXTURE, MetricComparison
from perfarray.results.models import FittedModel
from perfarray.timings.apply import Output, apply, outputs
from perfarray.timings.censored import stopped_note
from perfarray.timings.notes import Note, check, collecting_notes, with_notes
from perfarray.timings.pairs import resolve_pair, with_unknown_at_best, with_worst_case
from perfarray.timings.resampling import few_replicates
from perfarray.timings.resolve import Data, Timings, resolve
from perfarray.timings.streams import Rng, cell_keys, describe_key, key_of, label_hashes
from perfarray.timings.units import (
    NOT_MEASURED,
    cells_note,
    describe_value,
    more_units,
    value_depth,
)
from perfarray.timings.validation import check_choice, check_confidence_level, check_count

PARAMETER = "parameter"

# The attr `limits` of answers whose limits rest on placements.
PLACEMENTS = "placements"

# Units below which limits of mixtures and of mean differences cover clearly less than their level.
FEW = 10

BOUNDED = "A probability that depends on their run times is NaN, between `at_least` and `at_most`"

UNFITTED = (
    "A mixture describes runs that ended, so cells with stopped runs are NaN. "
    "method='empirical' bounds them"
)

ALIKE = "fit both, or give timings twice"

Runs = Data | FittedModel
Evaluate = Callable[..., xr.Dataset]


class FittedSystems(NamedTuple):
    """Systems of the same labels, one in each array or along a dim of one."""

    sides: tuple[Timings, ...]
    comparison: MetricComparison
    attrs: dict[str, Hashable]
    notes: tuple[Note, ...]

    @property
    def data(self) -> Timings:
        """Return the timings of the candidate."""
        return self.sides[0]

    def compute(
        self,
        kernel: Callable[..., Any],
        variables: Mapping[str, Output],
        attrs: Mapping[str, Hashable],
        checks: tuple[str, ...] = ("run_units",),
        *,
        along: str | None = None,
    ) -> xr.Dataset:
        """Compare systems, and add notes; `along` is the dim of the systems of one array.

        With stopped runs, the answer lies between the bounds that they allow; mixtures are fitted
        where all runs ended.
        """
        comparison, levels = self.comparison, self.data.levels
        core, coords = levels, {}
        if along is not None:
            labels = self.data.array[along].values
            # Streams are named by labels: selecting systems changes no other's numbers.
            streams = (label_hashes(labels) & np.uint64(2**32 - 1)).tolist()
            comparison = replace(comparison, streams=tuple(streams))
            core, coords = (along, *levels), {along: labels.tolist()}

        def evaluate(*arrays: xr.DataArray) -> xr.Dataset:
            keys = cell_keys(arrays, levels, excluded=core[: len(core) - len(levels)])
            return apply(
                partial(kernel, comparison=comparison),
                *arrays,
                keys,
                core=[*[core] * len(arrays), ()],
                outputs=variables,
                coords=coords,
                attrs={**self.attrs, **attrs},
            )

        if not any(side.bounded for side in self.sides):
            result = evaluate(*(side.array for side in self.sides))
            return with_notes(result, *self.notes, checks=checks)
        with collecting_notes():
            if comparison.method == MIXTURE:
                result, consequence = _where_all_ended(self.sides, evaluate, along), UNFITTED
            else:
                result, consequence = _between(*_bounds(self.sides, evaluate, along)), BOUNDED
        names = ("candidate", "baseline") if len(self.sides) == 2 else ("runs",)
        numbers = {name: side.n_stopped for name, side in zip(names, self.sides, strict=True)}
        note_on_stopped = stopped_note(numbers, 0, self.data.better, consequence)
        return with_notes(result, *self.notes, note_on_stopped, checks=checks)


def resolve_systems(
    times: Any,
    baseline: object = None,
    dim: str | None = None,
    *,
    metric: Any,
    levels: Any,
    method: str,
    confidence_level: float,
    n_resamples: int | None,
    rng: Rng,
    value: str | None,
    paired: str | None = None,
    censored: str = "drop",
) -> FittedSystems:
    """Resolve a candidate and a baseline, or without one the systems that lie in one object."""
    fitted = isinstance(times, FittedModel)
    sides: tuple[Any, ...] = tuple(
        _parameter_array(side) if isinstance(side, FittedModel) else side
        for side in (times, baseline)
    )
    if fitted:
        if isinstance(baseline, xr.DataArray | xr.Dataset):
            raise ValueError(f"the baseline is timings, and the candidate a mixture; {ALIKE}")
        if value is not None:
            raise ValueError(f"value={value!r} was given with mixtures, which are fitted already")
        levels, censored, method = (PARAMETER, COMPONENT), "drop", MIXTURE
    elif isinstance(baseline, FittedModel):
        raise ValueError(f"the baseline is a mixture, and the candidate timings; {ALIKE}")
    check_choice(method, "method", METHODS)
    if paired is not None and method == MIXTURE:
        raise ValueError(
            f"paired={paired!r} is for method='empirical': mixtures have no pairs of runs"
        )
    number = 200 if n_resamples is None else check_count(n_resamples, "n_resamples", 0)
    if number == 1:
        raise ValueError("n_resamples=1: give 0 for no limits, or a number of at least 2")
    options = {"metric": metric, "levels": levels, "censored": censored, "measured": not fitted}
    if baseline is None:
        data, attrs = resolve(sides[0], **options), dict[str, Hashable]()
        sides, notes = (data,), data.notes
        if paired is not None:
            check_choice(paired, "paired", data.levels[:1])
    else:
        pair = resolve_pair(*sides, dim=dim, paired=paired, **options)
        data, sides, notes = pair.candidate, (pair.candidate, pair.baseline), pair.notes
        attrs = dict(pair.attrs)
        for name in ("levels", "unit") if fitted else ():
            attrs.pop(name, None)
        attrs |= {"baseline": "other mixtures"} if isinstance(baseline, FittedModel) else {}
    comparison = MetricComparison(
        method=method,
        fitted=fitted,
        levels=len(data.levels),
        depth=0 if fitted else value_depth(data, value),
        sign=-1.0 if data.better == HIGHER else 1.0,
        paired=paired is not None,
        confidence_level=check_confidence_level(confidence_level),
        with_limits=number > 0,
        n_resamples=number if method == MIXTURE else 0,
        key=key_of(rng),
    )
    value_attrs = (
        {"metric": str(data.array.name)} if fitted else describe_value(data, comparison.depth)
    )
    placed = method == EMPIRICAL and number > 0
    attrs = {
        **value_attrs,
        "method": method,
        "confidence_level": comparison.confidence_level,
        **({"limits": PLACEMENTS} if placed else {"n_resamples": number}),
        **({"paired": paired} if paired else {}),
        **(describe_key(comparison.key) if comparison.n_resamples else {}),
        **attrs,
    }
    return FittedSystems(sides, comparison, attrs, notes)


def _parameter_array(fit: FittedModel) -> xr.DataArray:
    """Return a mixture's parameters on the scale of its family, the number of runs and the family.

    Along `parameter` and `component`.
    """
    dataset = fit.to_dataset()
    if not set(PARAMETERS) <= set(dataset.data_vars):
        raise ValueError(f"expected timings or a GaussianMixture, got {type(fit).__name__}")
    weights = dataset["weight"]
    n = dataset["n"] if "n" in dataset else xr.full_like(weights, np.nan)
    parameters = parameters_of(dataset)

    def kernel(*values: Any) -> tuple[Any, ...]:
        scaled = scaled_mixture(*values)
        return *scaled.mixture, np.asarray(scaled.family, float)

    variables = outputs("1", (COMPONENT,), weight="", mean="", deviation="") | outputs(family="")
    columns = apply(kernel, *parameters, core=parameter_dims(parameters), outputs=variables)
    arrays = [columns[name] for name in ("weight", "mean", "deviation")]
    rows = [array.broadcast_like(parameters[0]) for array in (*arrays, n, columns["family"])]
    array = xr.concat(rows, dim=PARAMETER, coords="minimal", compat="override")
    attrs = {"units": dataset.attrs.get("units", dataset["mean"].attrs.get("units", "s"))}
    attrs |= {"better": dataset.attrs["better"]} if "better" in dataset.attrs else {}
    return array.rename(str(dataset.attrs.get("metric", "time"))).assign_attrs(attrs)


def _where_all_ended(
    sides: tuple[Timings, ...], evaluate: Evaluate, along: str | None
) -> xr.Dataset:
    """Compare the runs that ended; NaN where others did not."""
    marks = [side.array.coords[CENSORED].reset_coords(drop=True) for side in sides if side.bounded]
    result = evaluate(
        *(
            side.array.where(~side.array.coords[CENSORED]) if side.bounded else side.array
            for side in sides
        )
    )
    over = (along, *sides[0].levels)
    any_stopped = reduce(
        or_, (mark.any([dim for dim in over if dim in mark.dims]) for mark in marks)
    )
    names = ("estimate", "lower", "upper", "tied")
    return result.assign(
        {name: result[name].where(~any_stopped).assign_attrs(result[name].attrs) for name in names}
    )


def _bounds(sides: tuple[Timings, ...], evaluate: Evaluate, along: str | None) -> list[xr.Dataset]:
    """Compare with a system's stopped runs at their worst and the others' at their best.

    And the other way round.
    """
    worst, best = (
        [at_limit(side).array for side in sides]
        for at_limit in (with_worst_case, with_unknown_at_best)
    )
    if along is None:
        return [evaluate(worst[0], best[1]), evaluate(best[0], worst[1])]
    bounds = []
    for of_system, of_others in ((worst[0], best[0]), (best[0], worst[0])):
        rows = []
        for index in range(of_system.sizes[along]):
            system = xr.DataArray(np.arange(of_system.sizes[along]) == index, dims=along)
            array = of_system.where(system, of_others).transpose(*of_system.dims)
            rows.append(evaluate(array.assign_attrs(of_system.attrs)).isel({along: [index]}))
        bound = xr.concat(
            rows,
            along,
            data_vars="all",
            coords="minimal",
            compat="override",
            combine_attrs="override",
        )
        tied = bound["tied"].isel({along: 0}, drop=True)
        if of_system is worst[0]:
            tied = tied.where((bound["tied"] == tied).all(along))
        bounds.append(bound.assign(tied=tied))
    return bounds


def _between(lower_bound: xr.Dataset, upper_bound: xr.Dataset) -> xr.Dataset:
    """Return the limits of both bounds, and an estimate where they agree."""
    variables = {
        "estimate": lower_bound["estimate"].where(
            lower_bound["estimate"] == upper_bound["estimate"]
        ),
        "upper": upper_bound["upper"],
        "tied": lower_bound["tied"].where(lower_bound["tied"] == upper_bound["tied"]),
        "at_least": lower_bound["estimate"],
        "at_most": upper_bound["estimate"],
    }
    attrs = lower_bound["estimate"].attrs
    result = lower_bound.assign(
        {name: array.assign_attrs(attrs) for name, array in variables.items()}
    )
    result["tied"].attrs = upper_bound["tied"].attrs
    return result


@check("run_units")
def run_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Name the cells without limits, and those whose limits rest on few units."""
    attrs, n = result.attrs, result["n"].values
    number, unit = int(attrs.get("n_resamples", 0)), str(attrs.get("unit", "run"))
    missing = cells_note("no_value", NOT_MEASURED, result["n"], n == 0)
    if not number and "limits" not in attrs:
        return (missing,)
    text_of_single = (
        f"{{cells}} rest on one {unit}: their limits are NaN, since one unit shows no spread."
    )
    text_of_single += f" {more_units(attrs)}" if "levels" in attrs else ""
    text_of_few = (
        f"{{cells}} rest on fewer than {FEW} units ({unit}). Their limits are too narrow"
        f"{' if runs are skewed' if 'limits' in attrs else ''}. Measure more."
    )
    few_for_total = (
        f"{{cells}} have fewer {plural(unit)} than the {attrs.get('runs')} runs of a total. "
        "Nominal 95 % limits may then cover only 70 to 90 %. Measure more, choose fewer runs, or "
        "compare means (ratio_interval)."
    )
    scored = attrs["result"] != "mean_difference" and attrs["method"] == EMPIRICAL
    return (
        missing,
        cells_note("single_unit", text_of_single, result["n"], n == 1),
        few_replicates(number, "percentile", float(attrs["confidence_level"])) if number else None,
        cells_note("few_units", few_for_total, result["n"], (n > 1) & (n < attrs.get("runs", 1))),
        None if scored else cells_note("few_units", text_of_few, result["n"], (n > 1) & (n < FEW)),
    )
