"""The report in three forms: HTML, Markdown and JSON."""

from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, Final

import xarray as xr

from perfarray.reports.content import content_of
from perfarray.reports.page import as_html
from perfarray.reports.redaction import Redaction
from perfarray.reports.sections import Content, SectionOptions
from perfarray.reports.text import as_json, as_markdown
from perfarray.tables.replacing import write_text


class Text(str):
    """A long text that a prompt shows in one line."""

    __slots__ = ()

    def __repr__(self) -> str:
        return (
            f"<report of {len(self):,} characters, which print() shows and report(path=...) "
            f"writes; it begins {self[:15]!r}>"
        )


class Page(Text):
    """A page that notebooks show inside a frame."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return (
            '<iframe sandbox="allow-scripts" style="width: 100%; height: 40em; border: 0" '
            f'srcdoc="{escape(self)}"></iframe>'
        )


class Markdown(Text):
    """Markdown that notebooks render."""

    __slots__ = ()

    def _repr_markdown_(self) -> str:
        return str(self)


FORMATS: Final[Mapping[str, tuple[Callable[[Content], str], type[Text]]]] = {
    "html": (as_html, Page),
    "markdown": (as_markdown, Markdown),
    "json": (as_json, Text),
}


def report(
    times: xr.DataArray | xr.Dataset,
    baseline: object = None,
    *,
    dim: str | None = None,
    levels: str | tuple[str, ...] | None = None,
    metric: str | None = None,
    threshold: float | None = None,
    correction: str | None = None,
    order: Any = None,
    by: str | None = None,
    sections: str | Sequence[str] | None = None,
    costs: Mapping[str, float] | None = None,
    cost_units: str | None = None,
    path: str | Path | None = None,
    format: str = "html",
    redact: bool = False,
    progress: bool | None = None,
) -> str:
    """Write one page about timings: what changed, how sure that is, what varies, what to run next.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings.
    baseline : label, optional
        The label that the others are compared with.
    dim : str, optional
        The dim of the baseline. Default: the dim that holds it.
    levels : str or tuple of str, optional
        The nest, outermost first. Default: the levels present.
    metric : str, optional
        Variable of a Dataset. Default: `time`, or the only one.
    threshold : float, optional
        The largest relative change that does not matter, as for `compare`.
    correction : {"holm", "bh"}, optional
        Correction of the verdicts on many benchmarks, as for `compare`.
    order : str or array, optional
        What sorts the commits of a history, as for `change_points`.
    by : str, optional
        A coordinate of the benchmarks whose values are suites.
    sections : str or sequence of str, optional
        The methods whose sections are written. Default: all; an error lists them.
    costs : mapping of str to float, optional
        The price of one more repetition of a level, as for `plan_repetitions`.
    cost_units : {"iterations", "s"}, optional
        The unit of the costs and of the plan.
    path : path-like, optional
        A file to write as well.
    format : {"html", "markdown", "json"}
        A self-contained page for browsers, with pictures where matplotlib is installed; Markdown;
        or texts and all numbers as JSON.
    redact : bool
        Number machines and files instead of naming them, and leave out users, hosts and paths.
    progress : bool, optional
        Show a progress bar. Default: in a terminal or a notebook, after a second.

    Returns
    -------
    str
        The text; a prompt shows it in one line, and a notebook renders it.

    Raises
    ------
    ValueError
        An unknown format, section or coordinate; a baseline that is not there.
    OSError
        Where the file cannot be written.

    Notes
    -----
    Without a baseline, timings of several machines are an archive: its report has the scores of the
    suites, which machines are alike, which vary most, and what explains it. Long tables of an
    archive show the extremes; JSON has all rows. A section whose method has no answer says why.

    Examples
    --------
    >>> import perfarray
    >>> runs = {"old": [10.0, 10.2, 9.9, 10.1], "new": [9.0, 9.1, 8.9, 9.2]}
    >>> times = perfarray.from_samples(runs)
    >>> print(times.perf.report("old", format="markdown")[:16])
    # Timings report
    """
    if format not in FORMATS:
        raise ValueError(
            f"format={format!r} is not known; choose one of {', '.join(map(repr, FORMATS))}"
        )
    redaction = Redaction.of(times) if redact else None
    visible = redaction.times(times) if redaction else times
    content = content_of(
        visible,
        redaction.label(baseline, times, visible)
        if redaction and baseline is not None
        else baseline,
        SectionOptions(
            nest=_given(levels=levels, metric=metric),
            judged=_given(threshold=threshold, correction=correction),
            priced=_given(costs=None if costs is None else dict(costs), cost_units=cost_units),
            order=_given(order=order),
            dim=dim,
            by=by,
            sections=None
            if sections is None
            else (sections,)
            if isinstance(sections, str)
            else tuple(sections),
        ),
        pictures=format == "html",
        progress=progress,
    )
    write, form = FORMATS[format]
    text = form(write(redaction.content(content) if redaction else content))
    if path is not None:
        write_text(Path(path), text)
    return text


def _given(**options: Any) -> dict[str, Any]:
    """Return the options that were given: for the others the defaults of the methods hold."""
    return {name: value for name, value in options.items() if value is not None}
