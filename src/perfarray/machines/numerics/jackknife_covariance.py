"""Covariance of the coefficients of a model whose residuals have unknown and unequal variances."""

from collections.abc import Callable

import numpy as np

from perfarray.numerics.types import Floats, Integers, Mask

REFITTED = 500
"""Groups up to which a model that is not linear is fitted again without each; of more, one step tells nearly the same."""


def jackknife_covariance(
    design: Floats, residuals: Floats, groups: Integers, change: Callable[[Mask], Floats | None] | None = None
) -> Floats:
    """Return the covariance of coefficients from leaving out one group at a time: HC3, or CR3 where groups have several rows.

    One linear step from the coefficients of all rows gives what leaving out a group does: exactly for least squares, where this is
    (G - 1) / G times what other software calls HC3 or CR3 (G rows or groups). For a gamma model it is a first approximation, with which 8 %
    of the p-values of 20 exponential responses were below 0.05; `change` tells the truth.

    Parameters
    ----------
    design : array, shape (n, p)
        Columns of the model, each row divided by the standard deviation of its response: for a gamma model with a log link as they are.
    residuals : array, shape (n,)
        Measured minus fitted, divided alike: for a gamma model (measured - fitted) / fitted.
    groups : array, shape (n,)
        Rows with the same number depend on each other.
    change : callable, optional
        From which rows are kept to the coefficients of all rows minus those of these, for a model that is not linear; None where it has
        none. It is asked for up to `REFITTED` groups.

    Returns
    -------
    array, shape (p, p)
        NaN for coefficients that nothing is left to determine when some group is left out.

    References
    ----------
    J. MacKinnon, H. White, "Some heteroskedasticity-consistent covariance matrix estimators with improved finite sample properties", 1985.
    R. Bell, D. McCaffrey, "Bias reduction in standard errors for linear regression with multi-stage samples", 2002.

    Examples
    --------
    >>> import numpy as np
    >>> residuals = np.array([-1.0, 0.0, 1.0])
    >>> round(float(jackknife_covariance(np.ones((3, 1)), residuals, np.arange(3))[0, 0]), 12)  # the squared standard error of a mean
    0.333333333333
    """
    bread = np.linalg.pinv(design.T @ design)
    number = int(groups.max(initial=-1)) + 1
    changes = np.zeros((number, design.shape[1]))
    lost = np.zeros(design.shape[1], dtype=bool)
    # Groups differ in their number of rows, so that each is solved by itself.
    for group, members in enumerate(np.split(np.argsort(groups, kind="stable"), np.cumsum(np.bincount(groups))[:-1])):
        rows = design[members]
        eigenvalues, vectors = np.linalg.eigh(np.eye(len(rows)) - rows @ bread @ rows.T)
        alone = eigenvalues < 1e-9
        lost |= (np.abs(bread @ rows.T @ vectors[:, alone]) > 1e-9).any(axis=1)
        scaled = vectors[:, ~alone] / eigenvalues[~alone] @ (vectors[:, ~alone].T @ residuals[members])
        changes[group] = bread @ rows.T @ scaled
        refitted = change(groups != group) if change is not None and number <= REFITTED else None
        if refitted is not None:
            changes[group] = refitted
    covariance = (number - 1) / number * changes.T @ changes
    covariance[lost, :] = covariance[:, lost] = np.nan
    return np.asarray(covariance)
