"""What single runs are compared with: timings or fitted mixtures of one or two systems, resolved and matched, and how they are compared."""

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from perfarray.mixtures.model import COMPONENT, PARAMETERS, scales
from perfarray.mixtures.numerics import metrics as mixture
from perfarray.mixtures.numerics.empirical import Drawing
from perfarray.numerics.levels import values_by_unit
from perfarray.numerics.types import Floats
from perfarray.timings.pairs import Pair, resolve_pair
from perfarray.timings.resampling import Rng, key_of
from perfarray.timings.resolve import Timings, resolve
from perfarray.timings.results import Result
from perfarray.timings.units import describe_value, value_place
from perfarray.timings.validation import check_choice, check_confidence_level, check_count

METHODS = ("empirical", "mixture")
PARAMETER = "parameter"


class Plan(NamedTuple):
    """How a metric is computed: from runs or from mixtures, of what values, with what limits."""

    method: str
    levels: tuple[str, ...]
    place: int
    given: bool
    drawing: Drawing
    attrs: dict[str, Hashable]

    def systems(self, *arrays: Floats) -> list[Any]:
        """Return what the formulas take: runs by unit, or mixtures (fitted here, unless they were given)."""
        if self.given:
            return [mixture.given(array) for array in arrays]
        runs = [values_by_unit(array, len(self.levels), self.place) for array in arrays]
        return [mixture.fitted(own) for own in runs] if self.method == "mixture" else runs

    def signed(self, values: Floats, sign: float) -> Floats:
        """Turn values round where more is better; of a mixture's parameters, the means alone."""
        if sign > 0 or not self.given:
            return sign * values
        return values * np.where(np.array(mixture.PARAMETERS) == "mean", -1.0, 1.0)[:, None]

    def units(self, system: Any, cells: Any) -> Floats:
        """Return the number of independent units of a system."""
        n = system.n if self.method == "mixture" else (~np.isnan(system)).any(axis=-1).sum(axis=-1).astype(float)
        return np.broadcast_to(n, cells.shape)


def of_pair(
    times: Any,
    baseline: object,
    dim: str | None,
    method: str,
    paired: str | None,
    confidence_level: float,
    n_resamples: int | None,
    rng: Rng,
    value: str | None,
    levels: str | tuple[str, ...] | None,
    metric: Any,
) -> tuple[Pair, Plan]:
    """Resolve two systems, and how they are to be compared."""
    if isinstance(times, Result):
        if isinstance(baseline, xr.DataArray | xr.Dataset):
            raise ValueError("a mixture is compared with a mixture, and the baseline is timings; fit both, or give timings twice")
        other = _parameters(baseline) if isinstance(baseline, Result) else baseline
        pair = resolve_pair(_parameters(times), other, dim=dim, metric=metric, levels=(PARAMETER, COMPONENT))
    elif isinstance(baseline, Result):
        raise ValueError("timings are compared with timings, and the baseline is a mixture; fit both, or give timings twice")
    else:
        pair = resolve_pair(times, baseline, dim=dim, metric=metric, levels=levels, paired=paired)
    plan = _plan(pair.candidate, isinstance(times, Result), method, paired, confidence_level, n_resamples, rng, value)
    described = {
        key: text for key, text in pair.describe().items() if key not in plan.attrs and not (plan.given and key in ("levels", "unit"))
    }
    return pair, plan._replace(attrs=plan.attrs | described)


def of_one(
    times: Any,
    method: str,
    paired: str | None,
    confidence_level: float,
    n_resamples: int | None,
    rng: Rng,
    value: str | None,
    levels: str | tuple[str, ...] | None,
    metric: Any,
) -> tuple[Timings, Plan]:
    """Resolve systems along a dim, and how they are to be compared."""
    given = isinstance(times, Result)
    data = resolve(_parameters(times), metric, (PARAMETER, COMPONENT)) if given else resolve(times, metric, levels)
    return data, _plan(data, given, method, paired, confidence_level, n_resamples, rng, value)


def _plan(
    data: Timings,
    given: bool,
    method: str,
    paired: str | None,
    confidence_level: float,
    n_resamples: int | None,
    rng: Rng,
    value: str | None,
) -> Plan:
    """Check how a metric is to be computed."""
    check_choice(method, "method", METHODS)
    level = check_confidence_level(confidence_level)
    method = "mixture" if given else method
    number = (1000 if method == "empirical" else 200) if n_resamples is None else check_count(n_resamples, "n_resamples", 0)
    if number == 1:
        raise ValueError("n_resamples=1: give 0 for no limits, or a number of at least 2")
    if paired is not None:
        if method == "mixture":
            raise ValueError(f"paired={paired!r} is for method='empirical': a mixture does not know which runs belong together")
        check_choice(paired, "paired", data.levels[:1])
    if given and value is not None:
        raise ValueError(f"value={value!r} was given with mixtures, which are fitted already")
    place = 0 if given else value_place(data, value)
    attrs = {"metric": str(data.array.name)} if given else describe_value(data, place)
    attrs |= {"method": method, "confidence_level": level, "n_resamples": number} | ({"paired": paired} if paired else {})
    return Plan(method, data.levels, place, given, Drawing(number, key_of(rng), paired is not None, level), attrs)


def _parameters(fit: Result) -> xr.DataArray:
    """Return a mixture's parameters as an array along `parameter` and `component`, with the runs behind it and its scale beside them."""
    dataset = fit.to_dataset()
    if not set(PARAMETERS) <= set(dataset.data_vars):
        raise ValueError(f"expected timings or a GaussianMixture, got {type(fit).__name__}")
    n = dataset["n"] if "n" in dataset else xr.full_like(dataset["weight"], np.nan)
    parts = [*(dataset[name] for name in PARAMETERS), n, scales(dataset).astype(float)]
    array = xr.concat([part.broadcast_like(dataset["weight"]) for part in parts], dim=PARAMETER, coords="minimal", compat="override")
    units = str(dataset.attrs.get("units", dataset["mean"].attrs.get("units", "s")))
    kept = {key: dataset.attrs[key] for key in ("better",) if key in dataset.attrs}
    return array.rename(str(dataset.attrs.get("metric", "time"))).assign_attrs(units=units, **kept)
