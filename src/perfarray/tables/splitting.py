"""Labels of benchmarks split into dims: `BM_{version}_sort/*`."""

import re

import numpy as np
import xarray as xr

from perfarray.conventions import BENCHMARK, LEVELS, TIME
from perfarray.results.reserved import settle_dims
from perfarray.tables.joining import join
from perfarray.timings.labels import expression_of, expression_with_dims
from perfarray.timings.notes import Note, add_notes
from perfarray.timings.resolve import Data, check_dim
from perfarray.timings.validation import listed

EXAMPLE = "BM_{version}_sort/*"


def split_labels(times: Data, pattern: str, *, dim: str = BENCHMARK) -> xr.Dataset:
    """Split the labels of a dim by a pattern, whose names in braces become dims.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings of which a part of the labels is what is compared, as the benchmarks `BM_std_sort/8`
        and `BM_mine_sort/8` of one file.
    pattern : str
        What the labels are like: a name in braces is a dim whose labels stand there (without `/`),
        `*` is any text and `?` any letter, as in `BM_{version}_sort/*`.
    dim : str
        The dim whose labels are split.

    Returns
    -------
    Dataset
        With a dim for each name in braces. Labels of `dim` keep the name in its place:
        `BM_{version}_sort/8`. NaN where a label does not exist. Coordinates along `dim` lie on the
        dims they vary over; one called as a new dim is `<name>_recorded`. Labels that are not like
        the pattern are left out, with a note.

    Raises
    ------
    ValueError
        Where no label is like the pattern, braces are missing, or a name is a dim of the timings.

    Notes
    -----
    Works in memory, as `join` does.

    Examples
    --------
    >>> import perfarray
    >>> runs = {"BM_std_sort/8": [8.0, 8.2, 8.1], "BM_mine_sort/8": [4.0, 4.1, 4.0]}
    >>> times = perfarray.from_samples(runs, dim="benchmark")
    >>> families = perfarray.split_labels(times, "BM_{version}_sort/*")
    >>> families.perf.compare("std")["estimate"].round(2).item()
    0.5
    """
    expression = expression_with_dims(pattern, expression_of, "pattern", EXAMPLE)
    check_dim(times, dim, "dim")
    names = list(expression.groupindex)
    if taken := [name for name in names if name in times.dims or name in LEVELS]:
        raise ValueError(
            f"pattern={pattern!r} names {listed(taken)}, and the timings have such a dim or level. "
            "Write another name in braces, or * for any text"
        )
    labels = [str(label) for label in times[dim].values.tolist()]
    matches = [expression.fullmatch(label) for label in labels]
    families: dict[tuple[str, ...], dict[int, str]] = {}
    for position, match in enumerate(matches):
        if match:
            families.setdefault(match.groups(), {})[position] = _with_names(match)
    if not families:
        raise ValueError(
            f"pattern={pattern!r}: no label along {dim!r} is like it. The labels are "
            f"{listed(labels)}"
        )
    times = times.to_dataset(name=times.name or TIME) if isinstance(times, xr.DataArray) else times
    recorded = {name: f"{name}_recorded" for name in names if name in times.coords}
    parts = []
    for values, family in families.items():
        part = times.rename(recorded).isel({dim: [*family]})
        part = part.assign_coords({dim: np.array([*family.values()], dtype=object)})
        fields = zip(names, values, strict=True)
        parts.append(part.expand_dims({name: [value] for name, value in fields}))
    result = join(*parts) if len(parts) > 1 else settle_dims(parts[0])
    left_out = [label for label, match in zip(labels, matches, strict=True) if not match]
    text = (
        f"{len(left_out)} of {len(labels)} labels along {dim!r} are not like {pattern!r} and are "
        f"left out: {listed(left_out, 5)}."
    )
    note = Note("not_in_families", text, {"labels": left_out}) if left_out else None
    return add_notes(result, note)


def _with_names(match: "re.Match[str]") -> str:
    """Return a label with the names of dims in the places of their labels."""
    label = match.string
    for name in reversed(list(match.re.groupindex)):  # from the end, so that places stay
        label = f"{label[: match.start(name)]}{{{name}}}{label[match.end(name) :]}"
    return label
