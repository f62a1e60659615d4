"""The base of fitted models: a Dataset with methods that predict."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import xarray as xr

from perfarray.timings.notes import Note, notes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class FittedModel:
    """A fitted model.

    Parameters
    ----------
    dataset : Dataset
        What `to_dataset` returns.
    """

    dataset: xr.Dataset

    # Dims that cannot be selected from
    WHOLE: ClassVar[tuple[str, ...]] = ()

    @property
    def perf(self) -> Any:
        """What every result has: `perf.table()`, `perf.notes()`, `perf.plot()`."""
        return self.dataset.perf

    def to_dataset(self) -> xr.Dataset:
        """Return the estimates as labelled arrays, which can be stored in netCDF and Zarr.

        Returns
        -------
        Dataset
        """
        return self.dataset

    def table(self, *, sort: str | None = None) -> "pd.DataFrame":
        """Return a short table for people, as `perfarray.table` does.

        Parameters
        ----------
        sort : {"effect", "name"}, optional
            The order of the rows.

        Returns
        -------
        DataFrame
        """
        frame: pd.DataFrame = self.dataset.perf.table(sort=sort)
        return frame

    def notes(self) -> tuple[Note, ...]:
        """Return the remarks on the data and the fit, as `perfarray.notes` does.

        Returns
        -------
        tuple of Note
        """
        return notes(self.dataset)

    def plot(self, **keywords: Any) -> "Axes":
        """Draw the model.

        Parameters
        ----------
        **keywords
            `ax`, and the arguments of the picture.

        Returns
        -------
        matplotlib.axes.Axes
        """
        ax: Axes = self.dataset.perf.plot(**keywords)
        return ax

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
        GaussianMixture or VariabilityModel
            The model of the selected cells.

        Raises
        ------
        ValueError
            For a dim that belongs together, such as the components of a mixture.
        """
        return replace(self, dataset=self.dataset.sel(self._checked_dims(indexers, labels)))

    def isel(self, indexers: Mapping[Any, Any] | None = None, **positions: Any) -> Self:
        """Select cells by position, as `Dataset.isel` does: `mixtures.isel(benchmark=0)`.

        Parameters
        ----------
        indexers : mapping, optional
            Positions by dim.
        **positions
            The same as keywords.

        Returns
        -------
        GaussianMixture or VariabilityModel
            As for `sel`.

        Raises
        ------
        ValueError
            As for `sel`.
        """
        return replace(self, dataset=self.dataset.isel(self._checked_dims(indexers, positions)))

    def _checked_dims(
        self, indexers: Mapping[Any, Any] | None, keywords: Mapping[str, Any]
    ) -> dict[Any, Any]:
        """Return the selection by dim; raise where it would take an estimate apart."""
        selection = {**(indexers or {}), **keywords}
        for dim in self.WHOLE:
            if dim in selection:
                name = type(self).__name__
                raise ValueError(
                    f"the {dim}s of a {name} belong together; select them in to_dataset(), not "
                    f"by {dim!r} here"
                )
        return selection

    def __repr__(self) -> str:
        return f"{type(self).__name__}\n{self.dataset!r}"

    def _repr_html_(self) -> str:
        return f"<b>{type(self).__name__}</b>{self.dataset._repr_html_()}"
