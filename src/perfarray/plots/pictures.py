"""Which picture draws which result; a picture is loaded when it is drawn."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import xarray as xr
from matplotlib.axes import Axes

from perfarray import plots
from perfarray.results.kinds import KINDS

PICTURES: Final[Mapping[str, str]] = MappingProxyType({name: kind.picture for name, kind in sorted(KINDS.items()) if kind.picture})
"""By the kind of the result, or of its curves, the picture that draws it."""


def draw(result: xr.Dataset, ax: Axes | None = None, **keywords: Any) -> Axes:
    """Draw a result; its attr `result` says which picture.

    Parameters
    ----------
    result : Dataset
        What one of the functions in `PICTURES` returned, or a selection of it; of a result that does not carry what is drawn, its curves.
    ax : Axes, optional
        Where to draw; default: a new figure, as high as its rows need.
    **keywords
        What the picture takes. Every result with an estimate takes `kind="strip"`, with `along=` and `truth=`: intervals of many
        replications side by side.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        When the object is not a result, or is one without a picture.
    ImportError
        When matplotlib is not installed.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [10.0, 10.1, 9.9], "new": [9.0, 9.1, 8.9]})
    >>> ax = draw(times.perf.compare("old", threshold=0.02))
    >>> ax.get_title(loc="left")
    'new compared with old'
    >>> plt.close(ax.figure)
    """
    name = result.attrs.get("result")
    if not isinstance(name, str) or name not in PICTURES:
        came = "an object without the attr 'result'" if name is None else f"a result of {name!r}"
        raise ValueError(
            f"no picture for {came}; there is one for the results of {', '.join(sorted(PICTURES))}"
            " (timings are drawn by plot.run_sequence(), plot.variance_components() and plot.intervals(baseline))"
        )
    if keywords.get("kind") == "strip":
        return plots.strip(result, ax, **{key: value for key, value in keywords.items() if key != "kind"})
    picture: Callable[..., Axes] = getattr(plots, PICTURES[name])
    return picture(result, ax=ax, **keywords)
