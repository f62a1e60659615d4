"""Principal components of tables in chunks: three passes over the data, no more than a chunk of it in memory."""

from typing import Any

import numpy as np

from perfarray.machines.numerics.principal_components import Components, axes_of, correlations


def streamed_axes(table: Any, *, scale: bool) -> Components:
    """Return the principal components of a table, with lazy scores.

    The triangle R of the QR decomposition of a centred table, made chunk by chunk, has the table's own principal axes.

    Parameters
    ----------
    table : dask array, shape (samples, features)
        Without gaps.
    scale : bool
        Whether features are divided by their standard deviation.
    """
    from dask.array.linalg import tsqr
    from dask.base import compute

    table = table.rechunk({1: -1})
    samples, features = table.shape
    moments = (table.mean(axis=0), *([table.std(axis=0, ddof=1)] if scale else []))
    centres, divisors = (*compute(*moments), np.ones(features))[:2]  # type: ignore[no-untyped-call]
    scaled = (table - centres) / divisors
    triangle = tsqr(scaled)[1].compute()  # type: ignore[no-untyped-call]
    axes = axes_of(triangle, samples)
    return Components(scaled @ axes.loadings, *axes, centres, divisors, correlations(triangle))
