"""Every label against every other."""

import os
from collections.abc import Hashable, Sequence
from typing import Any, cast

import numpy as np
import xarray as xr

from perfarray.comparisons.engines import CompareOptions
from perfarray.comparisons.evidence import Measured, measure
from perfarray.comparisons.medians import check_ratio_method
from perfarray.comparisons.thresholds import Threshold, varies
from perfarray.comparisons.verdicts import conclude
from perfarray.conventions import BENCHMARK, RNG_KEY
from perfarray.numerics.verdicts import Rules
from perfarray.timings.across import suite_row_for_each
from perfarray.timings.apply import Output, compute_variables, is_chunked
from perfarray.timings.notes import Note, first_of_each_code
from perfarray.timings.resampling import Resample
from perfarray.timings.resolve import Data
from perfarray.timings.streams import Rng, describe_key, key_of
from perfarray.timings.validation import listed

BASELINE, OTHER = "baseline", "_other"  # the dim of the baselines, and of the other labels while pairs are joined


@suite_row_for_each
def pairwise(
    times: Data,
    *,
    dim: str,
    levels: str | tuple[str, ...] | None = None,
    threshold: Threshold = 0.0,
    band: str = "linear",
    equivalence_risk: float | None = None,
    confidence_level: float = 0.95,
    statistic: str = "mean",
    value: str | None = None,
    method: str | None = None,
    df: str = "satterthwaite",
    resample: Resample = None,
    n_resamples: int = 1000,
    rng: Rng = None,
    correction: str | None = None,
    family: str | tuple[str, ...] | None = None,
    censored: str = "bound",
    across: str = BENCHMARK,
    prior: str | None = None,
    between: Any = None,
    shrink: bool = False,
    by: str | None = None,
    shared: str | tuple[str, ...] | None = None,
    paired: str | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Compare every label of a dim with every other.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings; dims that are not levels broadcast.
    dim : str
        The dim whose labels are compared.
    levels, threshold, band, equivalence_risk, confidence_level, statistic, value, method, df, resample, n_resamples, rng : as for `compare`
        The method and its judgement.
    correction, censored, across, prior, between, shrink, by, shared, paired, metric : as for `compare`
        Corrections, stopped runs, the suite, what is learned from it and from other sessions, its parts, shared and matched units, and
        the variable(s) of a Dataset.
    family : str or tuple of str, optional
        The dims over which verdicts are corrected together; default: every verdict of the call, each pair of labels once.
        `family="benchmark"` corrects over the benchmarks of each pair alone.

    Returns
    -------
    Dataset
        What `compare` returns, with one more dim `baseline` at the end: labels of `dim`. A label against itself is NaN and inconclusive.

    Raises
    ------
    ValueError
        As `compare`; fewer than two labels.
    MemoryError
        When the pairs of labels, in memory, would need more than the computer has.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"a": [1.0, 1.1, 0.9], "b": [2.0, 2.1, 1.9], "c": [4.0, 4.1, 3.9]})
    >>> table = times.perf.pairwise(dim="version")["estimate"].round(2)
    >>> table.sel(version="c", baseline="a").item(), table.sel(version="a", baseline="b").item()
    (4.0, 0.5)
    """
    varying = varies(threshold)
    rules = Rules(
        method=check_ratio_method(statistic, method, df, value), df=df, threshold=0.0 if varying else cast(float, threshold),
        confidence_level=confidence_level, correction=correction, band=band, equivalence_risk=equivalence_risk,
        prior=prior, shrink=bool(shrink),
    )  # fmt: skip
    options = CompareOptions(
        rules=rules, statistic=statistic, value=value, dim=dim, levels=levels, resample=resample, n_resamples=n_resamples,
        rng=str(describe_key(key_of(rng))[RNG_KEY]), family=family, censored=censored, across=across, shared=shared, paired=paired,
        metric=metric, thresholds=threshold if varying else None, between=between,
    )  # fmt: skip
    return conclude([_measure_pairs(*question) for question in options.each_metric(times, dim)], options)


def _measure_pairs(times: Data, dim: object, options: CompareOptions) -> Measured:
    if dim not in times.dims:
        raise ValueError(f"dim {dim!r} not found; the array has dims {tuple(times.dims)}")
    labels = times[dim].values.tolist()
    if len(labels) < 2:
        raise ValueError(f"nothing to compare: dim {dim!r} has the labels {listed(labels)}")
    first = measure(times, labels[0], options)
    _check_memory(first, labels, dim)
    measurements = [first, *(measure(times, label, options) for label in labels[1:])]
    last = measurements[-1]
    evidence = {name: _side_by_side([measured.evidence[name] for measured in measurements], dim) for name in last.evidence}
    baselines = xr.IndexVariable(BASELINE, np.array([str(label) if isinstance(label, str) else label for label in labels], dtype=object))
    coords = {name: label for name, label in last.labels.items() if dim not in label.dims} | {dim: times[dim].variable, BASELINE: baselines}
    attrs = {
        name: value
        for name, value in first.attrs.items()
        if all(name in measured.attrs and measured.attrs[name] == value for measured in measurements)
    }
    # Notes that differ in their counts by baseline are given once.
    notes = list[Note | None](first_of_each_code([note for measured in measurements for note in measured.notes if note]))
    return last._replace(
        evidence=evidence,
        labels=xr.Dataset(coords=coords).coords,
        attrs=attrs | {"result": "pairwise"},
        notes=notes,
        coords=times.coords,
        pairs=(str(dim), BASELINE),
    )


def _check_memory(first: Measured, labels: Sequence[object], dim: object) -> None:
    """Raise where the evidence of all baselines, each as large as that of the first, exceeds the memory of the computer."""
    needed = len(labels) * sum(piece.nbytes for piece in first.evidence.values() if not is_chunked(piece))
    if needed > (memory := _memory()):
        raise MemoryError(
            f"{len(labels)} labels of {dim!r} with each other need at least {needed / 1e9:,.0f} GB; this computer has {memory / 1e9:,.0f}: "
            "select labels, compare all with one (`compare`), or .chunk() the timings along another dim and write the answer to Zarr"
        )


def _memory() -> float:
    """Return the bytes of memory of this computer; infinite where the system does not tell."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return np.inf


def _side_by_side(pieces: Sequence[xr.Variable], dim: Hashable) -> xr.Variable:
    """Return the evidence of all baselines along `baseline`; NaN, or False, for a label against itself."""
    first = pieces[0]
    if dim not in first.dims:
        concatenated: xr.Variable = xr.Variable.concat(pieces, BASELINE)
        return concatenated
    blank, off_diagonal = False if first.dtype == bool else np.nan, ~np.eye(len(pieces), dtype=bool)

    def insert(*values: np.ndarray) -> tuple[np.ndarray]:
        joined = np.full((*values[0].shape[:-1], *off_diagonal.shape), blank, values[0].dtype)
        for position, column in enumerate(values):
            joined[..., position, off_diagonal[position]] = column
        return (joined,)

    sides = [piece.chunk({dim: -1}) if is_chunked(piece) else piece for piece in pieces]
    output, sizes = Output((BASELINE, OTHER), dtype=first.dtype), dict.fromkeys((BASELINE, OTHER), len(pieces))
    (joined,) = compute_variables(insert, *sides, core=[[str(dim)]] * len(pieces), outputs={"": output}, sizes=sizes).values()
    return xr.Variable([dim if name == OTHER else name for name in joined.dims], joined.data, first.attrs)
