"""What describes the data rather than the question, said once: attrs that every method reads."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import xarray as xr

from perfarray.conventions import DECLARED, EXACT, METRIC
from perfarray.timings.resolve import (
    Data,
    check_dim,
    check_levels,
    check_names,
    choose_metric,
)
from perfarray.timings.validation import listed


def declare(
    times: Data,
    *,
    levels: str | Sequence[str] | None = None,
    value: str | None = None,
    unit: str | None = None,
    shared: str | Sequence[str] | None = None,
    paired: str | None = None,
    exact: bool | None = None,
    metric: str | None = None,
) -> Data:
    """Say once what the timings are, for every later call.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings with at least one repetition level.
    levels : str or sequence of str, optional
        The nest, outermost first.
    value : str, optional
        The level whose repetitions are runs, for methods that describe the distribution of runs.
    unit : str, optional
        The level whose repetitions are independent.
    shared : str or sequence of str, optional
        Levels whose units are the same for every benchmark.
    paired : str, optional
        The level whose units match between the two systems of a comparison.
    exact : bool, optional
        Whether the metric has no noise, as counted instructions: what is counted again is the same.
        `compare` then gives verdicts without intervals, unless repeated runs differ.
    metric : str, optional
        The variable of a Dataset that methods are about.

    Returns
    -------
    DataArray or Dataset
        The timings with these attrs. An argument of a later call takes precedence.

    Raises
    ------
    ValueError
        For a level or a metric that the timings do not have.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples(
    ...     {"old": [[1.0, 1.2], [1.1, 1.3]], "new": [[1.0, 1.1], [0.9, 1.0]]},
    ...     level=("execution", "iteration"),
    ... )
    >>> times.perf.declare(levels="execution").perf.mean_interval().attrs["levels"]
    'execution'
    """
    array = choose_metric(times, metric, levels)
    attrs: dict[Hashable, Any] = {}
    nest = check_levels(array, levels)
    if levels is not None:
        attrs[DECLARED["levels"]] = " ".join(nest)
    for name, level in (("value", value), ("unit", unit), ("paired", paired)):
        if level is not None:
            attrs[DECLARED[name]] = check_dim(array, level, f"{name}=")
    if shared is not None:
        names = check_names(shared, "shared") if shared else ()
        if unknown := [name for name in names if name not in nest]:
            raise ValueError(f"shared={listed(unknown)} is not among the levels {nest}")
        attrs[DECLARED["shared"]] = " ".join(names)
    of_metric = {} if exact is None else {EXACT: int(exact)}
    if isinstance(times, xr.DataArray):
        return times.assign_attrs(attrs | of_metric)
    variables = {
        name: variable.assign_attrs(attrs | (of_metric if name == array.name else {}))
        for name, variable in times.data_vars.items()
        if {*nest}.intersection(variable.dims)
    }
    of_dataset = attrs if metric is None else attrs | {METRIC: metric}
    return times.assign(variables).assign_attrs(of_dataset)


def declared_arguments(
    data: Any, arguments: Mapping[str, Any], names: Sequence[str]
) -> dict[str, Any]:
    """Return the declared arguments, of those that a function takes, that a call does not give.

    A declared level outside the nest of the call does not count.
    """
    if not isinstance(data, xr.DataArray | xr.Dataset) or "result" in data.attrs:
        return {}
    levels = arguments.get("levels")
    nest = (levels,) if isinstance(levels, str) else levels
    texts = {name: str(data.attrs[key]) for name, key in DECLARED.items() if key in data.attrs}
    declared: dict[str, Any] = {}
    for name, text in texts.items():
        if name not in names or name == "shared" or arguments.get(name) is not None:
            continue
        if name == "levels":
            levels_in_data = tuple(level for level in text.split() if level in data.dims)
            declared |= {name: levels_in_data} if levels_in_data else {}
        elif text in data.dims and (nest is None or text in nest):
            declared[name] = text
    return declared
