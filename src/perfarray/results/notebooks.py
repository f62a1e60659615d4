"""The HTML of a result in notebooks: its table, and the Dataset folded below."""

import sys

import xarray as xr

from perfarray.results.answers import first_rows
from perfarray.results.combine import as_dataset
from perfarray.results.models import FittedModel
from perfarray.timings.notes import is_lazy

# Most rows shown
MOST = 60


def view(result: xr.Dataset | FittedModel) -> str:
    """Return the HTML of a result; xarray's own for other Datasets and for lazy results."""
    data = as_dataset(result)
    html: str = data._repr_html_()
    if "result" not in data.attrs or is_lazy(data):
        return html
    table = first_rows(result, most=MOST)
    n_more = max(0, table.places.size - MOST)
    more = f"<div>at most {n_more} more rows</div>" if n_more else ""
    return f"{table._repr_html_()}{more}<details><summary>all variables</summary>{html}</details>"


def register() -> None:
    """Register the HTML of results with the running notebook, if there is one."""
    shell = sys.modules["IPython"].get_ipython()
    if shell is not None:
        for kind in (xr.Dataset, FittedModel):
            shell.display_formatter.formatters["text/html"].for_type(kind, view)
