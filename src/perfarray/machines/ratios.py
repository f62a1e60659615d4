"""How machines compare with the median machine, benchmark by benchmark."""

from collections.abc import Sequence

import xarray as xr

from perfarray.machines.numerics.ratios import ratios_to_median
from perfarray.machines.principal_components import VALUE_ATTRS, coordinates_along
from perfarray.machines.sample_table import sample_table
from perfarray.timings.across import TooFew, for_each_suite
from perfarray.timings.best import SUMMARIES
from perfarray.timings.notes import Note, count_note, with_notes
from perfarray.timings.resolve import Data
from perfarray.timings.validation import check_choice, listed, number_of


@for_each_suite
def machine_ratios(
    times: Data,
    *,
    samples: str = "machine",
    features: str = "benchmark",
    by: str | None = None,
    statistic: str = "median",
    unit: str | None = None,
    levels: str | Sequence[str] | None = None,
    metric: str | None = None,
) -> xr.Dataset:
    """Compare every machine with the median machine, benchmark by benchmark.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings or scores, with or without repetitions. Each label of the other dims is a
        configuration of its machine.
    samples, features : str
        The dims of the rows and the columns of a heat map.
    by, statistic, unit, levels, metric
        As for `principal_components`.

    Returns
    -------
    Dataset
        `ratio` (samples, further dims, features), value over that of the median machine, NaN for a
        hole; `mean_ratio` (samples, further dims), its geometric mean; `spread` (features), the
        geometric standard deviation of the ratios; `reference` (features), the value of the median
        machine, in units; `reach`, the factor from 1 within which 98 % of the ratios lie.

    Raises
    ------
    ValueError
        Unknown dims, statistics or levels; fewer than two samples with a value.

    Notes
    -----
    The median machine has, on each feature, the median over samples of the median over their
    configurations. The ratios have no limits; `score_ratio_interval` compares two machines.

    Examples
    --------
    >>> import xarray as xr, perfarray
    >>> coords = {"machine": ["x", "y", "z"], "benchmark": ["fft", "sort"]}
    >>> table = xr.DataArray([[1.0, 8.0], [2.0, 4.0], [4.0, 2.0]], coords, list(coords))
    >>> result = table.perf.machine_ratios()
    >>> result["ratio"].values.tolist(), result["reference"].values.tolist()
    ([[0.5, 2.0], [1.0, 1.0], [2.0, 0.5]], [2.0, 4.0])
    """
    check_choice(statistic, "statistic", SUMMARIES)
    table, notes = sample_table(times, samples, features, statistic, unit, levels, metric)
    table = table.compute()
    zeros = count_note(
        "holes",
        "{cells} are 0 or negative: they have no ratio and are holes.",
        (table <= 0).values,
    )
    # Samples and features that nobody measured are no part of the answer.
    table = (
        table.where(table > 0)
        .dropna(samples, how="all")
        .dropna(features, how="all")
        .transpose(samples, ..., features)
    )
    if table.sizes[samples] < 2:
        raise TooFew(
            f"{table.sizes[samples]} labels of {samples!r} have a positive value: a median "
            "machine needs two"
        )
    is_row = table.notnull().any(features)
    is_hole = table.isnull() & is_row
    n_holes, holes = int(is_hole.sum()), None
    if n_holes:
        n_cells = int(is_row.sum()) * table.sizes[features]
        with_holes = is_hole.any([dim for dim in table.dims if dim != samples]).values
        names = [str(label) for label in table[samples].values[with_holes]]
        text = (
            f"{n_holes} of {n_cells} values are holes, of {number_of(len(names), 'label')} of "
            f"{samples!r}: {listed(names)}."
        )
        values = {"values": n_holes, "of": n_cells, "labels": names}
        holes = Note("holes", text, values, aside=True)
    shape, units = table.shape, str(table.attrs.get("units", "1"))
    ratios, means, spreads, reference, reach = ratios_to_median(
        table.values.reshape(shape[0], -1, shape[-1])
    )
    variables = {
        "ratio": (table.dims, ratios.reshape(shape), "1", "ratio to the median machine"),
        "mean_ratio": (
            table.dims[:-1],
            means.reshape(shape[:-1]),
            "1",
            "geometric mean of the ratios",
        ),
        "spread": ((features,), spreads, "1", "geometric standard deviation of the ratios"),
        "reach": ((), reach, "1", "factor within which 98 % of the ratios lie"),
        "reference": ((features,), reference, units, "value of the median machine"),
    }
    result = xr.Dataset(
        {
            name: (dims, values, {"units": unit_of, "long_name": text})
            for name, (dims, values, unit_of, text) in variables.items()
        },
        attrs={name: value for name, value in table.attrs.items() if name not in VALUE_ATTRS},
    )
    for dim in table.dims:
        result = result.assign_coords(coordinates_along(table, str(dim)))
    attrs = {"result": "machine_ratios", "samples": samples, "features": features}
    return with_notes(result.assign_attrs(attrs), *notes, zeros, holes)
