"""What leaving out rows or groups does to the coefficients of a linear model."""

import numpy as np

from perfarray.numerics.types import Floats, Integers


def jackknife(design: Floats, residuals: Floats, groups: Integers) -> tuple[Floats, Floats]:
    """Return the covariance of coefficients from leaving out one group at a time: HC3 or CR3.

    CR3 is HC3 of groups of several rows. The result is (G - 1) / G times that of other software (G
    rows or groups).

    Parameters
    ----------
    design : array, shape (n, p)
        Columns of the model.
    residuals : array, shape (n,)
        Measured minus fitted.
    groups : array, shape (n,)
        Rows with the same number depend on each other.

    Returns
    -------
    covariance : array, shape (p, p)
        NaN for coefficients that are not determined without some group.
    changes : array, shape (groups, p)
        All coefficients minus those without each group.

    References
    ----------
    J. MacKinnon, H. White, "Some heteroskedasticity-consistent covariance matrix estimators with
    improved finite sample properties", 1985. R. Bell, D. McCaffrey, "Bias reduction in standard
    errors for linear regression with multi-stage samples", 2002.

    Examples
    --------
    >>> import numpy as np
    >>> residuals = np.array([-1.0, 0.0, 1.0])
    >>> covariance, _ = jackknife(np.ones((3, 1)), residuals, np.arange(3))
    >>> round(float(covariance[0, 0]), 12)  # the squared standard error of a mean
    0.333333333333
    """
    bread = np.linalg.pinv(design.T @ design)
    number = int(groups.max(initial=-1)) + 1
    changes = np.zeros((number, design.shape[1]))
    lost = np.zeros(design.shape[1], dtype=bool)
    # Groups differ in their number of rows: each is solved alone.
    rows_of_groups = np.split(
        np.argsort(groups, kind="stable"), np.cumsum(np.bincount(groups))[:-1]
    )
    for group, members in enumerate(rows_of_groups):
        rows = design[members]
        eigenvalues, vectors = np.linalg.eigh(np.eye(len(rows)) - rows @ bread @ rows.T)
        determined = eigenvalues >= 1e-9
        lost |= (np.abs(bread @ rows.T @ vectors[:, ~determined]) > 1e-9).any(axis=1)
        vectors, eigenvalues = vectors[:, determined], eigenvalues[determined]
        changes[group] = bread @ rows.T @ (vectors / eigenvalues @ (vectors.T @ residuals[members]))
    covariance = (number - 1) / number * changes.T @ changes
    covariance[lost, :] = covariance[:, lost] = np.nan
    return np.asarray(covariance), changes


def cook_distances(design: Floats, residuals: Floats, changes: Floats) -> Floats:
    """Return how far leaving out each group moves the fitted values (Cook 1977).

    It is their summed squares over p times the residual variance. The arguments are those of
    `jackknife`, and its changes.
    """
    rows, terms = design.shape
    moved = ((design.T @ design @ changes.T) * changes.T).sum(axis=0)
    variance = (residuals**2).sum() / max(rows - terms, 1)
    return np.asarray(moved / (terms * variance)) if variance > 0 else np.full(len(changes), np.nan)
