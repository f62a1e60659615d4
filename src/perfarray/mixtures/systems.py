"""What single runs are compared with: timings or fitted mixtures of one or more systems, matched, and how they are compared."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from perfarray.conventions import HIGHER, plural
from perfarray.mixtures.model import COMPONENT, PARAMETERS, coded, parameters
from perfarray.mixtures.numerics.empirical import Drawing
from perfarray.mixtures.numerics.metrics import EMPIRICAL, METHODS, MIXTURE, Comparison
from perfarray.results.models import FittedModel
from perfarray.timings.apply import Output, apply, outputs
from perfarray.timings.notes import Note, check, noted
from perfarray.timings.pairs import resolve_pair
from perfarray.timings.resampling import few_replicates
from perfarray.timings.resolve import Data, Timings, resolve
from perfarray.timings.streams import Rng, cell_keys, describe_key, key_of, label_hashes
from perfarray.timings.units import cells_note, describe_value, more_units, value_place
from perfarray.timings.validation import check_choice, check_confidence_level, check_count

PARAMETER = "parameter"

FEW = 10
"""Units below which percentile limits cover clearly less than they say."""

Runs = Data | FittedModel


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
    censored: str = "drop"


class Systems(NamedTuple):
    """Systems of the same labels, one in each array or along a dim of one, and how they are compared."""

    arrays: tuple[xr.DataArray, ...]
    data: Timings
    comparison: Comparison
    attrs: dict[str, Hashable]
    notes: tuple[Note, ...]
    sides: tuple[Timings, ...] = ()

    def along(self, dim: str) -> "Systems":
        """Name the streams of systems along a dim by their labels: selecting or reordering them changes no other's numbers."""
        streams = (label_hashes(self.data.array[dim].values) & np.uint64(2**32 - 1)).tolist()
        drawing = self.comparison.drawing._replace(streams=tuple(streams))
        return self._replace(comparison=replace(self.comparison, drawing=drawing))

    def compute(
        self,
        kernel: Callable[..., Any],
        named: Mapping[str, Output],
        attrs: Mapping[str, Hashable],
        checks: tuple[str, ...],
        along: tuple[str, ...] = (),
    ) -> xr.Dataset:
        """Run a formula over the systems, and tell what there is to tell; `along` is the dim of the systems of one array."""
        levels = self.data.levels
        keys = cell_keys(self.arrays, levels, excluded=along)
        core = [*[(*along, *levels)] * len(self.arrays), ()]
        coords = {dim: self.data.array[dim].values.tolist() for dim in along}
        result = apply(
            partial(kernel, comparison=self.comparison), *self.arrays, keys, core=core, outputs=named, coords=coords,
            attrs={**self.attrs, **attrs},
        )  # fmt: skip
        return noted(result, *self.notes, checks=checks)


def resolve_systems(times: Any, request: Request) -> Systems:
    """Resolve the systems that lie in one object, and how they are compared."""
    given = isinstance(times, FittedModel)
    levels = (PARAMETER, COMPONENT) if given else request.levels
    array, censored = (_parameters(times), "drop") if given else (times, request.censored)
    data = resolve(array, request.metric, levels, censored=censored, measured=not given)
    return _systems((data.array,), data, given, request)._replace(sides=(data,))


def resolve_two_systems(times: Any, baseline: object, dim: str | None, request: Request) -> Systems:
    """Resolve two systems, a candidate and a baseline, and how they are compared."""
    given = isinstance(times, FittedModel)
    if given and isinstance(baseline, xr.DataArray | xr.Dataset):
        raise ValueError("a mixture is compared with a mixture, and the baseline is timings; fit both, or give timings twice")
    if not given and isinstance(baseline, FittedModel):
        raise ValueError("timings are compared with timings, and the baseline is a mixture; fit both, or give timings twice")
    new = _parameters(times) if given else times
    old = _parameters(baseline) if isinstance(baseline, FittedModel) else baseline
    levels = (PARAMETER, COMPONENT) if given else request.levels
    paired, censored = (None, "drop") if given else (request.paired, request.censored)
    pair = resolve_pair(new, old, dim=dim, metric=request.metric, levels=levels, paired=paired, censored=censored, measured=not given)
    found = _systems((pair.candidate.array, pair.baseline.array), pair.candidate, given, request)
    described = {key: text for key, text in pair.attrs.items() if not (given and key in ("levels", "unit"))}
    described |= {"baseline": "other mixtures"} if isinstance(baseline, FittedModel) else {}
    return found._replace(attrs=found.attrs | described, notes=pair.notes, sides=(pair.candidate, pair.baseline))


def _systems(arrays: tuple[xr.DataArray, ...], data: Timings, given: bool, request: Request) -> Systems:
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
    comparison = Comparison(
        method=method,
        given=given,
        levels=len(data.levels),
        place=0 if given else value_place(data, request.value),
        drawing=Drawing(number, key_of(request.rng), paired is not None, level),
        sign=-1.0 if data.better == HIGHER else 1.0,
    )
    attrs: dict[str, Hashable] = {"metric": str(data.array.name)} if given else describe_value(data, comparison.place)
    attrs |= {"method": method, "confidence_level": level, "n_resamples": number} | ({"paired": paired} if paired else {})
    attrs |= describe_key(comparison.drawing.key) if number else {}
    return Systems(arrays, data, comparison, attrs, data.notes)


def _parameters(fit: FittedModel) -> xr.DataArray:
    """Return a mixture's parameters as an array along `parameter` and `component`, with the runs behind it and its scale beside them."""
    dataset = fit.to_dataset()
    if not set(PARAMETERS) <= set(dataset.data_vars):
        raise ValueError(f"expected timings or a GaussianMixture, got {type(fit).__name__}")
    n = dataset["n"] if "n" in dataset else xr.full_like(dataset["weight"], np.nan)
    *own, family = _on_scale(dataset)
    parts = [part.broadcast_like(dataset["weight"]) for part in (*own, n, family)]
    array = xr.concat(parts, dim=PARAMETER, coords="minimal", compat="override")
    units = str(dataset.attrs.get("units", dataset["mean"].attrs.get("units", "s")))
    kept = {key: dataset.attrs[key] for key in ("better",) if key in dataset.attrs}
    return array.rename(str(dataset.attrs.get("metric", "time"))).assign_attrs(units=units, **kept)


def _on_scale(dataset: xr.Dataset) -> list[xr.DataArray]:
    """Return weights, places and spreads on the scale of the family, and its code."""
    given = parameters(dataset)
    if len(given) == len(PARAMETERS) + 1:  # normal components
        return [*given[:-1], xr.zeros_like(given[0])]
    core = [(COMPONENT,) if COMPONENT in part.dims else () for part in given]
    named = outputs("1", (COMPONENT,), weight="", place="", spread="") | outputs("1", code="")

    def kernel(*values: Any) -> tuple[Any, ...]:
        own = coded(*values)
        return *own.mixture, np.asarray(own.family, float)

    found = apply(kernel, *given, core=core, outputs=named)
    return [found[name] for name in named]


@check("run_units")
def unit_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Name the cells whose limits are missing: no units, or one; and limits that are the extreme replicates."""
    n, drawn = result["n"].values, int(result.attrs["n_resamples"])
    text = f"{{cells}} rest on one {result.attrs.get('unit', 'run')}: their limits are NaN, since one unit shows no spread"
    text += f"; {more_units(result.attrs)}" if "levels" in result.attrs else ""
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


@check("run_totals")
def totals_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Name the cells that were asked about totals of more runs than they have units."""
    n, runs, unit = result["n"].values, int(result.attrs["runs"]), str(result.attrs.get("unit", "run"))
    text = (
        f"{{cells}} have fewer {plural(unit)} than the {runs} runs of a total: of 95 %, limits then cover about 80; measure more, or ask "
        "about fewer runs, or compare means (ratio_interval)"
    )
    return (cells_note("few_units_for_total", text, result["n"], (n > 1) & (n < runs)) if int(result.attrs["n_resamples"]) else None,)
