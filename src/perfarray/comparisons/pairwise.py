"""Every label against every other."""

import re
import warnings
from collections.abc import Hashable
from typing import Any

import numpy as np
import xarray as xr

from perfarray.comparisons.compare import compare
from perfarray.conventions import BENCHMARK
from perfarray.numerics.verdicts import INCONCLUSIVE
from perfarray.timings.resampling import Resample, Rng
from perfarray.timings.resolve import Data, over_metrics, resolve
from perfarray.timings.validation import ALSO, check_dim, listed, warn


@over_metrics
def pairwise(
    times: Data,
    *,
    dim: str,
    levels: str | tuple[str, ...] | None = None,
    threshold: float = 0.0,
    band: str = "linear",
    confidence_level: float = 0.95,
    method: str = "fieller",
    df: str = "satterthwaite",
    resample: Resample = None,
    n_resamples: int = 1000,
    rng: Rng = None,
    correction: str | None = None,
    across: str = BENCHMARK,
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
    levels, threshold, band, confidence_level, method, df, resample, n_resamples, rng, correction, across, shared, paired, metric
        As for `compare`; a correction's family is the benchmarks of one pair.

    Returns
    -------
    Dataset
        What `compare` returns, with one more dim `baseline` at the end: labels of `dim`. A label against itself is NaN and inconclusive.

    Raises
    ------
    ValueError
        As `compare`; fewer than two labels.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"a": [1.0, 1.1, 0.9], "b": [2.0, 2.1, 1.9], "c": [4.0, 4.1, 3.9]})
    >>> table = times.perf.pairwise(dim="version")["estimate"].round(2)
    >>> table.sel(version="c", baseline="a").item(), table.sel(version="a", baseline="b").item()
    (4.0, 0.5)
    """
    array = resolve(times, metric, levels).array
    check_dim(array, dim)
    labels = array[dim].values.tolist()
    if len(labels) < 2:
        raise ValueError(f"nothing to compare: dim {dim!r} has the labels {listed(labels)}")
    keywords: dict[str, Any] = {
        "levels": levels,
        "threshold": threshold,
        "band": band,
        "confidence_level": confidence_level,
        "method": method,
        "df": df,
    }
    if isinstance(rng, int | np.integer):
        rng = np.random.default_rng(rng)
    keywords |= {"resample": resample, "n_resamples": n_resamples, "rng": rng}
    keywords |= {"correction": correction, "across": across, "shared": shared, "paired": paired, "metric": metric}
    results: list[xr.Dataset] = []
    messages: dict[str, str] = {}
    for label in labels:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            answer = compare(times, label, dim=dim, **keywords)
        # The same sentence with other counts, one per baseline, is said once, as it was said first.
        parts = [part for warning in caught for part in str(warning.message).split(ALSO)]
        messages = {re.sub(r"\d+", "#", part): part for part in parts} | messages
        results.append(answer.reindex({dim: array[dim].values}, fill_value=_blanks(answer)))
    warn(*messages.values())
    along = xr.IndexVariable("baseline", np.array([str(label) if isinstance(label, str) else label for label in labels], dtype=object))
    joined = xr.concat(results, along, combine_attrs="drop_conflicts", coords="minimal", compat="override", join="exact")
    attrs: dict[str, Hashable] = {**joined.attrs, "result": "pairwise"}
    return joined.assign_attrs(attrs).transpose(..., "baseline")


def _blanks(answer: xr.Dataset) -> dict[str, object]:
    """Return what stands where a label meets itself."""
    text = {"kind": "bounded", "verdict": INCONCLUSIVE, "suite_verdict": INCONCLUSIVE}
    return {str(name): text.get(str(name), np.nan) for name in answer.variables if name not in answer.dims}
