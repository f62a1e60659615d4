"""The report: questions asked of timings in turn, and written in one of three forms."""

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any, Final

import xarray as xr

from perfarray.reports.page import as_html
from perfarray.reports.redaction import Redaction
from perfarray.reports.sections import gathered
from perfarray.reports.text import as_json, as_markdown
from perfarray.timings.writing import replacing

FORMATS: Final = {"html": as_html, "markdown": as_markdown, "json": as_json}


class Text(str):
    """A long text: a prompt that shows what a call returned is not flooded by it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<report of {len(self):,} characters, which print() shows and report(path=...) writes; it begins {self[:15]!r}>"


class Page(Text):
    """A page, shown by notebooks inside a frame of its own."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return f'<iframe sandbox="allow-scripts" style="width: 100%; height: 40em; border: 0" srcdoc="{escape(self)}"></iframe>'


class Markdown(Text):
    """Markdown, shown by notebooks as what it means."""

    __slots__ = ()

    def _repr_markdown_(self) -> str:
        return str(self)


SHOWN: Final[Mapping[str, type[Text]]] = {"html": Page, "markdown": Markdown}


def report(
    times: xr.DataArray | xr.Dataset,
    baseline: object = None,
    *,
    dim: str | None = None,
    levels: str | tuple[str, ...] | None = None,
    metric: str | None = None,
    threshold: float | None = None,
    correction: str | None = None,
    costs: Mapping[str, float] | None = None,
    cost_units: str | None = None,
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
    levels : str or tuple of str, optional
        The nest, outermost first; default: the repetition dims present.
    metric : str, optional
        Variable of a Dataset; default: `time`, or the only one.
    threshold : float, optional
        A relative change that does not matter, as for `compare`.
    correction : {"holm", "bh"}, optional
        Of the verdicts on many benchmarks, as for `compare`.
    costs : mapping of str to float, optional
        What starting one more repetition of a level costs, as for `plan_repetitions`; default: what the data say.
    cost_units : {"iterations", "s"}, optional
        The unit of prices and of what is planned; default: that of `plan_repetitions`.
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
        The text; a prompt shows in a line what it is, and a notebook the page.

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
    content = gathered(
        hidden.times(times) if hidden else times,
        label,
        nest=_given(levels=levels, metric=metric),
        judged=_given(threshold=threshold, correction=correction),
        priced=_given(costs=None if costs is None else dict(costs), cost_units=cost_units),
        dim=dim,
        pictures=format == "html",
    )
    text = SHOWN.get(format, Text)(FORMATS[format](hidden.content(content) if hidden else content))
    if path is not None:
        with replacing(Path(path)) as (fresh,):
            fresh.write_text(text, encoding="utf-8")
    return text


def _given(**choices: Any) -> dict[str, Any]:
    """Return the choices that were made: for the others the methods' own defaults hold."""
    return {name: value for name, value in choices.items() if value is not None}
