"""The base of the few results that are more than a Dataset: frozen, read by name, with a picture and a view in notebooks."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import xarray as xr

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Result:
    """A result kept as a Dataset, with a verb of its own in the classes made from it.

    Parameters
    ----------
    dataset : Dataset
        What `to_dataset` gives.
    """

    dataset: xr.Dataset

    def to_dataset(self) -> xr.Dataset:
        """Return everything as labelled arrays, which survive netCDF and Zarr.

        Returns
        -------
        Dataset
        """
        return self.dataset

    def plot(self, **keywords: Any) -> "Axes":
        """Draw the result.

        Parameters
        ----------
        **keywords
            `ax` and what the picture takes.

        Returns
        -------
        matplotlib.axes.Axes
        """
        ax: Axes = self.dataset.perf.plot(**keywords)
        return ax

    def __repr__(self) -> str:
        return f"{type(self).__name__}\n{self.dataset!r}"

    def _repr_html_(self) -> str:
        return f"<b>{type(self).__name__}</b>{self.dataset._repr_html_()}"
