"""The HTML of a result in notebooks: its table, and the Dataset folded below."""

import sys

import xarray as xr

from perfarray.results.answers import first_rows
from perfarray.results.combine import as_dataset
from perfarray.results.models import FittedModel
from perfarray.results.rows import escape_html
from perfarray.timings.notes import is_lazy

# Most rows shown
MOST = 60


def view(result: xr.Dataset | FittedModel) -> str:
    """Return the HTML of a result; xarray's own for other Datasets and for lazy results."""
    data = as_dataset(result)
    html: str = data._repr_html_()
    if "result" not in data.attrs or is_lazy(data):
        return html
    frame, n_more = first_rows(data, MOST)
    lines = [frame.attrs["about"], *frame.attrs["notes"], f"at most {n_more} more rows" if n_more else ""]
    below = "".join(f"<div>{escape_html(line)}</div>" for line in lines if line)
    return f"{frame.to_html(border=0)}{below}<details><summary>all variables</summary>{html}</details>"


def register() -> None:
    """Register the HTML of results with the running notebook, if there is one."""
    shell = sys.modules["IPython"].get_ipython()
    if shell is not None:
        for kind in (xr.Dataset, FittedModel):
            shell.display_formatter.formatters["text/html"].for_type(kind, view)
