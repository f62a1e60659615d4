"""The systems whose single runs are compared: timings or mixtures, matched by label.

Bounds where runs were stopped.
"""

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
from perfarray.mixtures.numerics.comparison import EMPIRICAL, METHODS, MIXTURE, Comparison
from perfarray.results.models import FittedModel
from perfarray.timings.apply import Output, apply, outputs
from perfarray.timings.censored import stopped_note
from perfarray.timings.notes import Note, check, collecting_notes, with_notes
from perfarray.timings.pairs import resolve_pair, with_unknown_at_best, with_worst_case
from perfarray.timings.resampling import few_replicates
from perfarray.timings.resolve import Data, Timings, resolve
from perfarray.timings.streams import Rng, cell_keys, describe_key, key_of, label_hashes
from perfarray.timings.units import cells_note, describe_value, more_units, value_depth
from perfarray.timings.validation import check_choice, check_confidence_level, check_count

PARAMETER = "parameter"

# The attr `limits` of answers whose limits rest on placements.
PLACEMENTS = "placements"

# Units below which percentile limits cover clearly less than their level.
FEW = 10

BOUNDED = "a probability that depends on their run times is NaN, between `at_least` and `at_most`"

UNFITTED = (
    "a mixture describes runs that ended: answers are NaN where others were stopped; "
    "method='empirical' bounds them"
)

Runs = Data | FittedModel


class Systems(NamedTuple):
    """Systems of the same labels, one in each array or along a dim of one, and how they are compared."""

    sides: tuple[Timings, ...]
    comparison: Comparison
    attrs: dict[str, Hashable]
    notes: tuple[Note, ...]

    @property
    def data(self) -> Timings:
        """Return the timings of the candidate."""
        return self.sides[0]

    @property
    def bounded(self) -> bool:
        """Return whether stopped runs count as their limits."""
        return any(side.bounded for side in self.sides)

    def compute(
        self,
        kernel: Callable[..., Any],
        variables: Mapping[str, Output],
        attrs: Mapping[str, Hashable],
        checks: tuple[str, ...],
        along: tuple[str, ...] = (),
    ) -> xr.Dataset:
        """Compare systems, and add notes; `along` is the dim of the systems of one array.

        With stopped runs, the answer lies between the bounds that they allow; mixtures are fitted
        where all runs ended.
        """
        comparison = self.comparison
        # streams are named by labels: selecting or reordering systems changes no other's numbers
        if along:
            streams = (
                label_hashes(self.data.array[along[0]].values) & np.uint64(2**32 - 1)
            ).tolist()
            comparison = replace(comparison, streams=tuple(streams))
        levels, coords = (
            self.data.levels,
            {dim: self.data.array[dim].values.tolist() for dim in along},
        )

        def evaluate(*arrays: xr.DataArray) -> xr.Dataset:
            keys = cell_keys(arrays, levels, excluded=along)
            core = [*[(*along, *levels)] * len(arrays), ()]
            run = partial(kernel, comparison=comparison)
            return apply(
                run,
                *arrays,
                keys,
                core=core,
                outputs=variables,
                coords=coords,
                attrs={**self.attrs, **attrs},
            )

        if not self.bounded:
            return with_notes(
                evaluate(*(side.array for side in self.sides)), *self.notes, checks=checks
            )
        with collecting_notes():
            if comparison.method == MIXTURE:
                result, consequence = _where_all_ended(self.sides, evaluate, along), UNFITTED
            else:
                result, consequence = _between(*_bounds(self.sides, evaluate, along)), BOUNDED
        names = ("candidate", "baseline") if len(self.sides) == 2 else ("runs",)
        numbers = {name: side.n_stopped for name, side in zip(names, self.sides, strict=True)}
        return with_notes(
            result,
            *self.notes,
            stopped_note(numbers, 0, self.data.better, consequence),
            checks=checks,
        )


def resolve_systems(
    times: Any, *, metric: Any, levels: Any, censored: str = "drop", **choices: Any
) -> Systems:
    """Resolve the systems that lie in one object; `choices` are those of `_comparison`."""
    fitted = isinstance(times, FittedModel)
    if fitted:
        times, levels, censored = _parameter_array(times), (PARAMETER, COMPONENT), "drop"
    data = resolve(times, metric, levels, censored=censored, measured=not fitted)
    comparison, attrs = _comparison(data, fitted, **choices)
    return Systems((data,), comparison, attrs, data.notes)


def resolve_two_systems(
    times: Any,
    baseline: object,
    dim: str | None,
    *,
    metric: Any,
    levels: Any,
    paired: str | None,
    censored: str = "drop",
    **choices: Any,
) -> Systems:
    """Resolve a candidate and a baseline; `choices` are those of `_comparison`."""
    fitted = isinstance(times, FittedModel)
    if fitted and isinstance(baseline, xr.DataArray | xr.Dataset):
        raise ValueError(
            "a mixture is compared with a mixture, and the baseline is timings; fit both, or "
            "give timings twice"
        )
    if not fitted and isinstance(baseline, FittedModel):
        raise ValueError(
            "timings are compared with timings, and the baseline is a mixture; fit both, or "
            "give timings twice"
        )
    new = _parameter_array(times) if fitted else times
    old = _parameter_array(baseline) if isinstance(baseline, FittedModel) else baseline
    if fitted:
        levels, censored = (PARAMETER, COMPONENT), "drop"
    pair = resolve_pair(
        new,
        old,
        dim=dim,
        metric=metric,
        levels=levels,
        paired=None if fitted else paired,
        censored=censored,
        measured=not fitted,
    )
    comparison, attrs = _comparison(pair.candidate, fitted, paired=paired, **choices)
    attrs |= {
        key: text for key, text in pair.attrs.items() if not (fitted and key in ("levels", "unit"))
    }
    attrs |= {"baseline": "other mixtures"} if isinstance(baseline, FittedModel) else {}
    return Systems((pair.candidate, pair.baseline), comparison, attrs, pair.notes)


def _comparison(
    data: Timings,
    fitted: bool,
    *,
    method: str,
    confidence_level: float,
    n_resamples: int | None,
    rng: Rng,
    value: str | None,
    paired: str | None = None,
) -> tuple[Comparison, dict[str, Hashable]]:
    """Check how systems are to be compared; return that and the attrs that describe it."""
    check_choice(method, "method", METHODS)
    level = check_confidence_level(confidence_level)
    method = MIXTURE if fitted else method
    number = 200 if n_resamples is None else check_count(n_resamples, "n_resamples", 0)
    if number == 1:
        raise ValueError("n_resamples=1: give 0 for no limits, or a number of at least 2")
    if paired is not None:
        if method == MIXTURE:
            raise ValueError(
                f"paired={paired!r} is for method='empirical': a mixture does not know which "
                "runs belong together"
            )
        check_choice(paired, "paired", data.levels[:1])
    if fitted and value is not None:
        raise ValueError(f"value={value!r} was given with mixtures, which are fitted already")
    comparison = Comparison(
        method=method,
        fitted=fitted,
        levels=len(data.levels),
        depth=0 if fitted else value_depth(data, value),
        sign=-1.0 if data.better == HIGHER else 1.0,
        paired=paired is not None,
        confidence_level=level,
        with_limits=number > 0,
        n_resamples=number if method == MIXTURE else 0,
        key=key_of(rng),
    )
    attrs: dict[str, Hashable] = (
        {"metric": str(data.array.name)} if fitted else describe_value(data, comparison.depth)
    )
    placed = method == EMPIRICAL and number > 0
    attrs |= {"method": method, "confidence_level": level}
    attrs |= {"limits": PLACEMENTS} if placed else {"n_resamples": number}
    attrs |= {"paired": paired} if paired else {}
    return comparison, attrs | (describe_key(comparison.key) if number and not placed else {})


def _parameter_array(fit: FittedModel) -> xr.DataArray:
    """Return a mixture's parameters on the scale of its family, the number of runs and the family, along `parameter` and `component`."""
    dataset = fit.to_dataset()
    if not set(PARAMETERS) <= set(dataset.data_vars):
        raise ValueError(f"expected timings or a GaussianMixture, got {type(fit).__name__}")
    weights = dataset["weight"]
    n = dataset["n"] if "n" in dataset else xr.full_like(weights, np.nan)
    parameters = parameters_of(dataset)

    def kernel(*values: Any) -> tuple[Any, ...]:
        scaled = scaled_mixture(*values)
        return *scaled.mixture, np.asarray(scaled.family, float)

    variables = outputs("1", (COMPONENT,), weight="", mean="", deviation="") | outputs(
        "1", family=""
    )
    *columns, family = apply(
        kernel, *parameters, core=parameter_dims(parameters), outputs=variables
    ).data_vars.values()
    rows = [array.broadcast_like(parameters[0]) for array in (*columns, n, family)]
    array = xr.concat(rows, dim=PARAMETER, coords="minimal", compat="override")
    units = str(dataset.attrs.get("units", dataset["mean"].attrs.get("units", "s")))
    better = {"better": dataset.attrs["better"]} if "better" in dataset.attrs else {}
    return array.rename(str(dataset.attrs.get("metric", "time"))).assign_attrs(
        units=units, **better
    )


def _where_all_ended(
    sides: tuple[Timings, ...], evaluate: Callable[..., xr.Dataset], along: tuple[str, ...]
) -> xr.Dataset:
    """Compare the runs that ended; NaN where others did not."""
    marks = [side.array.coords[CENSORED].reset_coords(drop=True) for side in sides if side.bounded]
    result = evaluate(
        *(
            side.array.where(~side.array.coords[CENSORED]) if side.bounded else side.array
            for side in sides
        )
    )
    any_stopped = reduce(
        or_,
        (
            mark.any([dim for dim in (*along, *sides[0].levels) if dim in mark.dims])
            for mark in marks
        ),
    )
    names = ("estimate", "lower", "upper", "tied")
    return result.assign(
        {name: result[name].where(~any_stopped).assign_attrs(result[name].attrs) for name in names}
    )


def _bounds(
    sides: tuple[Timings, ...], evaluate: Callable[..., xr.Dataset], along: tuple[str, ...]
) -> list[xr.Dataset]:
    """Compare with a system's stopped runs at their worst and the others' at their best, and the other way round."""
    worst, best = (
        [at_limit(side).array for side in sides]
        for at_limit in (with_worst_case, with_unknown_at_best)
    )
    if not along:
        return [evaluate(worst[0], best[1]), evaluate(best[0], worst[1])]
    (dim,), bounds = along, []
    for of_system, of_others in ((worst[0], best[0]), (best[0], worst[0])):
        rows = []
        for index in range(of_system.sizes[dim]):
            system = xr.DataArray(np.arange(of_system.sizes[dim]) == index, dims=dim)
            array = (
                of_system.where(system, of_others)
                .transpose(*of_system.dims)
                .assign_attrs(of_system.attrs)
            )
            rows.append(evaluate(array).isel({dim: [index]}))
        bound = xr.concat(
            rows,
            dim,
            data_vars="all",
            coords="minimal",
            compat="override",
            combine_attrs="override",
        )
        first = bound["tied"].isel({dim: 0}, drop=True)
        bounds.append(
            bound.assign(
                tied=first.where((bound["tied"] == first).all(dim))
                if of_system is worst[0]
                else first
            )
        )
    return bounds


def _between(least: xr.Dataset, most: xr.Dataset) -> xr.Dataset:
    """Return the limits of both bounds, and an estimate where they agree."""
    variables = {
        "estimate": least["estimate"].where(least["estimate"] == most["estimate"]),
        "upper": most["upper"],
        "tied": least["tied"].where(least["tied"] == most["tied"]),
        "at_least": least["estimate"],
        "at_most": most["estimate"],
    }
    result = least.assign(
        {
            name: variable.assign_attrs(least["estimate"].attrs)
            for name, variable in variables.items()
        }
    )
    result["tied"].attrs = most["tied"].attrs
    return result


@check("run_units")
def unit_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Name the cells without limits, of no unit or one.

    And limits that are the extreme replicates.
    """
    n, number, placed = (
        result["n"].values,
        int(result.attrs.get("n_resamples", 0)),
        "limits" in result.attrs,
    )
    text = (
        f"{{cells}} rest on one {result.attrs.get('unit', 'run')}: their limits are NaN, since "
        "one unit shows no spread"
    )
    text += f". {more_units(result.attrs)}" if "levels" in result.attrs else ""
    return (
        cells_note(
            "no_value",
            "{cells} have no measured value on one side; their answers are NaN",
            result["n"],
            n == 0,
        ),
        cells_note("single_unit", text, result["n"], n == 1) if number or placed else None,
        few_replicates(number, "percentile", float(result.attrs["confidence_level"]))
        if number
        else None,
    )


@check("run_percentiles")
def percentile_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Name the cells whose limits by percentiles, or by Student's t of placements, rest on few units."""
    n, placed = result["n"].values, "limits" in result.attrs
    text = (
        f"{{cells}} rest on fewer than {FEW} units ({result.attrs.get('unit', 'run')}): their "
        "limits are too narrow"
    )
    text += " if runs are skewed" if placed else ""
    return (
        cells_note("few_units", text, result["n"], (n > 1) & (n < FEW))
        if placed or int(result.attrs["n_resamples"])
        else None,
    )


@check("run_totals")
def totals_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Name the cells with totals of more runs than they have units."""
    n, runs, unit = (
        result["n"].values,
        int(result.attrs["runs"]),
        str(result.attrs.get("unit", "run")),
    )
    text = (
        f"{{cells}} have fewer {plural(unit)} than the {runs} runs of a total. Nominal 95 % limits "
        "may then cover only 70 to 90 %. Measure more, choose fewer runs, or compare means "
        "(ratio_interval)."
    )
    return (
        cells_note("few_units_for_total", text, result["n"], (n > 1) & (n < runs))
        if "limits" in result.attrs or int(result.attrs["n_resamples"])
        else None,
    )
