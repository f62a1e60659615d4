"""The cells that a column cuts the combinations of other columns into, and how many runs these have."""

from typing import NamedTuple

import numpy as np

from perfarray.numerics.types import Integers, Mask

# Share of cells that must have as many runs as the others of their combination
EQUAL_CELLS = 0.9


class ColumnCells(NamedTuple):
    """The cells that a column cuts the combinations of other columns into."""

    combinations: Integers  # (cells,)
    labels: Integers  # (cells,)
    runs: Integers  # (cells,)

    @property
    def n_combinations(self) -> int:
        """The number of combinations."""
        return int(self.combinations.max(initial=-1)) + 1

    @property
    def are_equal(self) -> bool:
        """Whether 9 of 10 cells have as many runs as the others of their combination."""
        return _mostly(self.runs == self._usual_runs())

    @property
    def have_one_run(self) -> bool:
        """Whether 9 of 10 cells have a single run."""
        return _mostly(self.runs == 1)

    @property
    def are_crossed(self) -> bool:
        """Whether the labels that are not rare, two at least, occur in 9 of 10 combinations each."""
        rows, combinations = np.bincount(self.labels, weights=self.runs), np.bincount(self.labels)
        usual = rows >= rows.mean() / 2
        return bool(usual.sum() > 1 and (combinations[usual] >= EQUAL_CELLS * self.n_combinations).all())

    @property
    def mostly_recur(self) -> bool:
        """Whether most runs share their label with another run of their combination."""
        return bool(self.runs[self.runs > 1].sum() > self.runs.sum() / 2)

    def cut(self) -> "ColumnCells":
        """Return the cells of the combinations that have several."""
        several = np.bincount(self.combinations)[self.combinations] > 1
        return ColumnCells(self.combinations[several], self.labels[several], self.runs[several])

    @property
    def are_ragged(self) -> bool:
        """Whether runs were lost of a design with equal cells: few cells have less than half the runs of others, and no label has fewer."""
        usual, of_labels = self._usual_runs(), _medians(self.runs, self.labels, upper=True)
        return _mostly((2 * self.runs >= usual) & (self.runs <= 2 * usual)) and of_labels.min() >= EQUAL_CELLS * of_labels.max()

    def _usual_runs(self) -> Integers:
        """Return the median number of runs of each cell's combination; one that is not cut has that of all cells."""
        medians, sizes = _medians(self.runs, self.combinations), np.bincount(self.combinations)
        if (sizes > 1).any():
            medians[sizes == 1] = np.sort(self.runs)[(len(self.runs) - 1) // 2]
        return np.asarray(medians[self.combinations])


def _medians(values: Integers, groups: Integers, *, upper: bool = False) -> Integers:
    """Return the lower median of the values of each group, or the upper one; every group has some."""
    sizes = np.bincount(groups)
    middle = np.cumsum(sizes) - sizes + (sizes // 2 if upper else (sizes - 1) // 2)
    return np.asarray(values[np.lexsort((values, groups))][middle])


def _mostly(mask: Mask) -> bool:
    """Return whether a mask is true in 9 of 10 cells."""
    return len(mask) == 0 or bool(np.mean(mask) >= EQUAL_CELLS)
