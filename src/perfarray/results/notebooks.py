"""The HTML of a result in notebooks: its table, and the Dataset folded below."""

import sys

import xarray as xr

from perfarray.results.answers import select_rows
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
    table = select_rows(result, limit=MOST)
    n_left_out = table.places.n_left_out
    footer = f"<div>{n_left_out} more rows</div>" if n_left_out else ""
    return f"{table._repr_html_()}{footer}<details><summary>all variables</summary>{html}</details>"


def register() -> None:
    """Register the HTML of results with the running notebook, if there is one."""
    shell = sys.modules["IPython"].get_ipython()
    if shell is not None:
        for kind in (xr.Dataset, FittedModel):
            shell.display_formatter.formatters["text/html"].for_type(kind, view)
