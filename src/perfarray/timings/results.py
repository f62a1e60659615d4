"""The base of the few results that are more than a Dataset: frozen, read by name, with a picture and a view in notebooks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CellResult(Result):
    """A result with one answer a cell, from which cells are selected; the dims that each answer has of its own stay whole.

    Parameters
    ----------
    dataset : Dataset
        What `to_dataset` gives.
    """

    WHOLE: ClassVar[tuple[str, ...]] = ()

    def sel(self, indexers: Mapping[Any, Any] | None = None, **labels: Any) -> Self:
        """Select cells by label, as `Dataset.sel` does: `mixtures.sel(benchmark="fft")`.

        Parameters
        ----------
        indexers : mapping, optional
            Labels by dim.
        **labels
            The same as keywords.

        Returns
        -------
        GaussianMixture or RepetitionPlan
            Of the cells chosen, along what dims are left.

        Raises
        ------
        ValueError
            For a dim that belongs together: the components of a mixture, the levels of a plan.
        """
        return type(self)(dataset=self.dataset.sel(self._cells(indexers, labels)))

    def isel(self, indexers: Mapping[Any, Any] | None = None, **places: Any) -> Self:
        """Select cells by place, as `Dataset.isel` does: `mixtures.isel(benchmark=0)`.

        Parameters
        ----------
        indexers : mapping, optional
            Places by dim.
        **places
            The same as keywords.

        Returns
        -------
        GaussianMixture or RepetitionPlan
            As for `sel`.

        Raises
        ------
        ValueError
            As for `sel`.
        """
        return type(self)(dataset=self.dataset.isel(self._cells(indexers, places)))

    def _cells(self, indexers: Mapping[Any, Any] | None, keywords: Mapping[str, Any]) -> dict[Any, Any]:
        """Return what is selected, if no answer is taken apart by it."""
        chosen = dict(indexers or {}) | dict(keywords)
        for dim in self.WHOLE:
            if dim in chosen:
                name = type(self).__name__
                raise ValueError(f"the {dim}s of a {name} belong together; select them in to_dataset(), not by {dim!r} here")
        return chosen
