"""The report: questions asked of timings in turn, and written in one of three forms."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import xarray as xr

from perfarray.reports.page import as_html
from perfarray.reports.redaction import Redaction
from perfarray.reports.sections import gathered
from perfarray.reports.text import as_json, as_markdown
from perfarray.timings.writing import replacing

FORMATS: Final = {"html": as_html, "markdown": as_markdown, "json": as_json}


def report(
    times: xr.DataArray | xr.Dataset,
    baseline: object = None,
    *,
    dim: str | None = None,
    metric: str | None = None,
    costs: Mapping[str, float] | None = None,
    path: str | Path | None = None,
    format: str = "html",
    redact: bool = False,
) -> str:
    """Write one page about timings: what was measured, where it varies, what changed, how sure that is, what to run next.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings.
    baseline : label, optional
        What the others are compared with; default: nothing is compared, and means are shown.
    dim : str, optional
        Where the baseline lies; default: the one dim that holds it.
    metric : str, optional
        Variable of a Dataset; default: `time`, or the only one.
    costs : mapping of str to float, optional
        What starting one more repetition of a level costs, in iterations, as for `plan_repetitions`; default: what the data say.
    path : path-like, optional
        Where to write it as well; the file is replaced as a whole.
    format : {"html", "markdown", "json"}
        A page for browsers that needs nothing else (pictures inside where matplotlib is installed; tables sort by a click where scripts
        run); Markdown; or the texts and all numbers as JSON.
    redact : bool
        Whether machines and files are numbered instead of named, and users, hosts and paths left out.

    Returns
    -------
    str
        The text.

    Raises
    ------
    ValueError
        An unknown format; a baseline that is not there.
    OSError
        Where the file cannot be written.

    Notes
    -----
    A section whose method cannot answer says why, and the others stand. Every section shows the call that made it.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [10.0, 10.2, 9.9, 10.1], "new": [9.0, 9.1, 8.9, 9.2]})
    >>> print(times.perf.report("old", format="markdown")[:16])
    # Timings report
    """
    if format not in FORMATS:
        raise ValueError(f"format={format!r} is not known; choose one of {', '.join(map(repr, FORMATS))}")
    hidden = Redaction.of(times) if redact else None
    label = hidden.label(baseline) if hidden else baseline
    content = gathered(hidden.times(times) if hidden else times, label, dim=dim, metric=metric, costs=costs, drawn=format == "html")
    text = FORMATS[format](hidden.content(content) if hidden else content)
    if path is not None:
        with replacing(Path(path)) as (fresh,):
            fresh.write_text(text, encoding="utf-8")
    return text
