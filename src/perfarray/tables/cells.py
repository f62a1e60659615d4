"""The cells that a column cuts combinations of other columns into, and their numbers of runs."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from perfarray.numerics.types import Integers, Mask
from perfarray.tables.columns import joint_codes

# Share of cells that must have as many runs as the others of their combination
EQUAL_CELLS = 0.9

# Variance of runs among cells, as a share of that of labels thrown at random: it is the share of
# runs that a design lost
MAX_DISPERSION = 0.25

DECIMALS = 9  # of a dispersion


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
        return _mostly(self.runs == _medians(self.runs, self.combinations)[self.combinations])

    @property
    def have_one_run(self) -> bool:
        """Whether 9 of 10 cells have a single run."""
        return _mostly(self.runs == 1)

    @property
    def are_crossed(self) -> bool:
        """Whether two or more labels that are not rare occur in 9 of 10 combinations each."""
        usual, combinations = self._usual_labels(), np.bincount(self.labels)
        return bool(
            usual.sum() > 1 and (combinations[usual] >= EQUAL_CELLS * self.n_combinations).all()
        )

    @property
    def mostly_recur(self) -> bool:
        """Whether most runs share their label with another run of their combination."""
        return bool(self.runs[self.runs > 1].sum() > self.runs.sum() / 2)

    def cut(self) -> "ColumnCells":
        """Return the cells of the combinations that have several."""
        is_repeated = np.bincount(self.combinations)[self.combinations] > 1
        return ColumnCells(
            self.combinations[is_repeated], self.labels[is_repeated], self.runs[is_repeated]
        )

    @property
    def are_ragged(self) -> bool:
        """Whether runs were lost of a design with equal cells.

        Their numbers vary far less than where labels are thrown at random.
        """
        cut = self.cut()
        # Cells of a single run say nothing: labels that are thrown on two runs often differ.
        has_repeats = cut.runs.sum() >= 2 * len(cut.runs)
        nested = has_repeats and _dispersion(cut.combinations, cut.runs) <= MAX_DISPERSION
        return nested or self._crossed_dispersion() <= MAX_DISPERSION

    @property
    def are_equally_cut(self) -> bool:
        """Whether combinations of several cells have equal ones.

        Where each has a single run, only if labels are crossed.
        """
        cut = self.cut()
        return cut.are_equal and (not cut.have_one_run or self.are_crossed)

    @property
    def are_designed(self) -> bool:
        """Whether combinations are cut equally, but for runs that were lost."""
        return self.are_equally_cut or self.are_ragged

    @property
    def are_local(self) -> bool:
        """Whether combinations that share a label share all, with equal numbers of runs.

        So do those whose labels are their own. Where no combination has several, each label must
        have its own.
        """
        cut = self.cut()
        if not len(cut.runs):
            return _mostly(np.bincount(self.labels)[self.labels] == 1)
        # Sets of labels are told apart by sums of random numbers, one for each label.
        numbers = np.random.default_rng(1).integers(1 << 40, size=self.labels.max(initial=-1) + 1)
        sums = np.zeros(self.n_combinations, dtype=np.int64)
        np.add.at(sums, self.combinations, numbers[self.labels])
        sets, of_label = sums[self.combinations], np.zeros_like(numbers)
        of_label[self.labels] = sets
        is_shared_alike = np.ones(len(numbers), dtype=bool)
        is_shared_alike[self.labels[of_label[self.labels] != sets]] = False
        return _mostly(is_shared_alike[self.labels]) and cut.are_equal

    @property
    def n_labels(self) -> int:
        """The most labels of a combination."""
        return int(np.bincount(self.combinations).max(initial=0))

    def _crossed_dispersion(self) -> float:
        """Return the dispersion of runs where labels that are not rare are in all combinations."""
        usual = self._usual_labels()
        selected = usual[self.labels]
        return _dispersion(
            self.combinations[selected], self.runs[selected], n_cells=int(usual.sum())
        )

    def _usual_labels(self) -> Mask:
        """Return which labels are not rare."""
        rows = np.bincount(self.labels, weights=self.runs)
        return np.asarray(rows >= rows.mean() / 2)


def cut_into_cells(
    codes: Integers, other_codes: Sequence[Integers], units: Integers | None = None
) -> ColumnCells:
    """Return the cells that codes cut the combinations of other columns into.

    Their runs are rows, or `units`.
    """
    combinations = (
        pd.factorize(joint_codes(other_codes)[0])[0]
        if other_codes
        else np.zeros(len(codes), dtype=np.intp)
    )
    width = int(codes.max(initial=-1)) + 1
    cell_of_row = combinations.astype(np.int64) * width + codes
    if units is not None:
        cell_of_row = (
            pd.DataFrame({"cell": cell_of_row, "unit": units}).drop_duplicates()["cell"].to_numpy()
        )
    cells, runs = np.unique(cell_of_row, return_counts=True)
    return ColumnCells(cells // width, cells % width, runs)


def _medians(values: Integers, groups: Integers) -> Integers:
    """Return the lower median of the values of each group; every group has some."""
    sizes = np.bincount(groups)
    middle = np.cumsum(sizes) - sizes + (sizes - 1) // 2
    return np.asarray(values[np.lexsort((values, groups))][middle])


def _dispersion(groups: Integers, runs: Integers, *, n_cells: int | None = None) -> float:
    """Return the variance of runs among a group's cells, as a share of that by chance.

    Chance throws equally probable labels on the runs of the group.

    With `n_cells`, a group has so many; those that are not among `runs` have none. Infinite where
    no group has two.
    """
    totals, sizes = np.bincount(groups, weights=runs), np.bincount(groups)
    cells = np.maximum(sizes if n_cells is None else n_cells, 1)
    expected = (totals * (1 - 1 / cells)).sum()
    squares = (runs.astype(float) ** 2).sum() - (totals**2 / cells).sum()
    # Shares of few runs meet the limit exactly: rounding of sums must not decide.
    return round(float(squares / expected), DECIMALS) if expected > 0 else float("inf")


def _mostly(mask: Mask) -> bool:
    """Return whether a mask is true in 9 of 10 cells."""
    return len(mask) == 0 or bool(np.mean(mask) >= EQUAL_CELLS)
