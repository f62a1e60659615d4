"""What single runs are compared with: timings or fitted mixtures of one or more systems, matched, and how they are compared."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from perfarray.mixtures.model import COMPONENT, PARAMETERS, parameters
from perfarray.mixtures.numerics import parametric
from perfarray.mixtures.numerics.empirical import Drawing
from perfarray.numerics.levels import values_by_unit
from perfarray.numerics.types import Floats
from perfarray.timings.apply import Output, apply
from perfarray.timings.notes import Note, check, noted
from perfarray.timings.pairs import resolve_pair
from perfarray.timings.resampling import few_replicates
from perfarray.timings.resolve import Data, Timings, resolve
from perfarray.timings.results import Result
from perfarray.timings.streams import Rng, cell_keys, describe_key, key_of
from perfarray.timings.units import cells_note, describe_value, value_place
from perfarray.timings.validation import check_choice, check_confidence_level, check_count

EMPIRICAL, MIXTURE = METHODS = ("empirical", "mixture")
PARAMETER = "parameter"

FEW = 10
"""Units below which percentile limits cover clearly less than they say."""

Runs = Data | Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What every metric of single runs can be asked for; `mean_difference` says what each means."""

    method: str = EMPIRICAL
    paired: str | None = None
    confidence_level: float = 0.95
    n_resamples: int | None = None
    rng: Rng = None
    value: str | None = None
    levels: str | tuple[str, ...] | None = None
    metric: Any = None


class Comparison(NamedTuple):
    """Systems that can be computed with: their arrays, and whether runs or mixtures are compared, with what limits."""

    arrays: tuple[xr.DataArray, ...]
    data: Timings
    method: str
    place: int
    given: bool
    drawing: Drawing
    attrs: dict[str, Hashable]
    notes: tuple[Note, ...]

    def systems(self, *arrays: Floats) -> list[Any]:
        """Return what the formulas take: runs by unit, or mixtures (fitted here, unless they were given)."""
        if self.given:
            return [parametric.given(array) for array in arrays]
        runs = [values_by_unit(array, len(self.data.levels), self.place) for array in arrays]
        return [parametric.fitted(own) for own in runs] if self.method == MIXTURE else runs

    def signed(self, values: Floats, sign: float) -> Floats:
        """Turn values round where more is better; of a mixture's parameters, the means alone."""
        if sign > 0 or not self.given:
            return sign * values
        return values * np.where(np.array(parametric.PARAMETERS) == "mean", -1.0, 1.0)[:, None]

    def units(self, systems: list[Any], cells: Any) -> list[Floats]:
        """Return the number of independent units of every system."""
        mixtures = self.method == MIXTURE
        numbers = [own.n if mixtures else (~np.isnan(own)).any(axis=-1).sum(axis=-1).astype(float) for own in systems]
        return [np.broadcast_to(n, cells.shape) for n in numbers]

    def compute(
        self,
        kernel: Callable[..., Any],
        outputs: Mapping[str, Output],
        attrs: Mapping[str, Hashable],
        checks: tuple[str, ...],
        along: str = "",
    ) -> xr.Dataset:
        """Run a formula over the systems, and tell what there is to tell; `along` is the dim of the systems of one array."""
        levels, dims = self.data.levels, (along,) if along else ()
        keys = cell_keys(self.arrays, levels, apart=dims)
        core = [*[(*dims, *levels)] * len(self.arrays), ()]
        coords = {dim: self.arrays[0][dim].values.tolist() for dim in dims}
        result = apply(kernel, *self.arrays, keys, core=core, outputs=outputs, coords=coords, attrs={**self.attrs, **attrs})
        return noted(result, *self.notes, checks=checks)


def resolve_systems(times: Any, request: Request) -> Comparison:
    """Resolve the systems that lie in one object, and how they are compared."""
    given = isinstance(times, Result)
    levels = (PARAMETER, COMPONENT) if given else request.levels
    data = resolve(_parameters(times) if given else times, request.metric, levels)
    return _comparison((data.array,), data, given, request)


def resolve_two_systems(times: Any, baseline: object, dim: str | None, request: Request) -> Comparison:
    """Resolve two systems, a candidate and a baseline, and how they are compared."""
    given = isinstance(times, Result)
    if given and isinstance(baseline, xr.DataArray | xr.Dataset):
        raise ValueError("a mixture is compared with a mixture, and the baseline is timings; fit both, or give timings twice")
    if not given and isinstance(baseline, Result):
        raise ValueError("timings are compared with timings, and the baseline is a mixture; fit both, or give timings twice")
    new = _parameters(times) if given else times
    old = _parameters(baseline) if isinstance(baseline, Result) else baseline
    levels = (PARAMETER, COMPONENT) if given else request.levels
    pair = resolve_pair(new, old, dim=dim, metric=request.metric, levels=levels, paired=None if given else request.paired)
    found = _comparison((pair.candidate.array, pair.baseline.array), pair.candidate, given, request)
    described = {key: text for key, text in pair.describe().items() if not (given and key in ("levels", "unit"))}
    described |= {"baseline": "other mixtures"} if isinstance(baseline, Result) else {}
    return found._replace(attrs=found.attrs | described, notes=pair.notes)


def _comparison(arrays: tuple[xr.DataArray, ...], data: Timings, given: bool, request: Request) -> Comparison:
    """Check how systems are to be compared."""
    check_choice(request.method, "method", METHODS)
    level = check_confidence_level(request.confidence_level)
    method, n_resamples, paired = MIXTURE if given else request.method, request.n_resamples, request.paired
    number = (1000 if method == EMPIRICAL else 200) if n_resamples is None else check_count(n_resamples, "n_resamples", 0)
    if number == 1:
        raise ValueError("n_resamples=1: give 0 for no limits, or a number of at least 2")
    if paired is not None:
        if method == MIXTURE:
            raise ValueError(f"paired={paired!r} is for method='empirical': a mixture does not know which runs belong together")
        check_choice(paired, "paired", data.levels[:1])
    if given and request.value is not None:
        raise ValueError(f"value={request.value!r} was given with mixtures, which are fitted already")
    place, key = 0 if given else value_place(data, request.value), key_of(request.rng)
    attrs: dict[str, Hashable] = {"metric": str(data.array.name)} if given else describe_value(data, place)
    attrs |= {"method": method, "confidence_level": level, "n_resamples": number} | ({"paired": paired} if paired else {})
    attrs |= describe_key(key) if number else {}
    return Comparison(arrays, data, method, place, given, Drawing(number, key, paired is not None, level), attrs, data.notes)


def _parameters(fit: Result) -> xr.DataArray:
    """Return a mixture's parameters as an array along `parameter` and `component`, with the runs behind it and its scale beside them."""
    dataset = fit.to_dataset()
    if not set(PARAMETERS) <= set(dataset.data_vars):
        raise ValueError(f"expected timings or a GaussianMixture, got {type(fit).__name__}")
    n = dataset["n"] if "n" in dataset else xr.full_like(dataset["weight"], np.nan)
    *parts, log = parameters(dataset)
    parts += [n, log.astype(float)]
    array = xr.concat([part.broadcast_like(dataset["weight"]) for part in parts], dim=PARAMETER, coords="minimal", compat="override")
    units = str(dataset.attrs.get("units", dataset["mean"].attrs.get("units", "s")))
    kept = {key: dataset.attrs[key] for key in ("better",) if key in dataset.attrs}
    return array.rename(str(dataset.attrs.get("metric", "time"))).assign_attrs(units=units, **kept)


@check("run_units")
def unit_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Name the cells whose limits are missing: no units, or one; and limits that are the extreme replicates."""
    n, drawn = result["n"].values, int(result.attrs["n_resamples"])
    text = f"{{cells}} rest on one {result.attrs.get('unit', 'run')}: their limits are NaN, since one unit shows no spread"
    return (
        cells_note("no_value", "{cells} have no measured value on one side; their answers are NaN", result["n"], n == 0),
        cells_note("single_unit", text, result["n"], n == 1) if drawn else None,
        few_replicates(drawn, "percentile", float(result.attrs["confidence_level"])) if drawn else None,
    )


@check("run_percentiles")
def percentile_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Name the cells whose percentile limits rest on few units."""
    n = result["n"].values
    text = f"{{cells}} rest on fewer than {FEW} units ({result.attrs.get('unit', 'run')}): their limits are too narrow"
    return (cells_note("few_units", text, result["n"], (n > 1) & (n < FEW)) if int(result.attrs["n_resamples"]) else None,)
