"""What explains changes: another host, a common change of many benchmarks, or a drift that is no step."""

from itertools import pairwise

import numpy as np
from scipy.special import pdtrc

from perfarray.numerics.types import Floats, Integers, Mask

# The smallest number of benchmarks that change together.
FEWEST = 3

# The chance, at any commit of a history, that as many sets of commits overlap by chance.
CHANCE = 0.01


def hosts_changed(hosts: Integers, starts: Integers, first: Integers, last: Integers) -> Mask:
    """Return which changes coincide with another host: it measured most of the segment, and came within the set of commits.

    `hosts` (n,) is the host of every commit; segments begin at `starts`, and `first` and `last` are the ends of the sets.
    """
    ends = [0, *starts, len(hosts)]
    usual = [np.bincount(hosts[low:high], minlength=1).argmax() for low, high in pairwise(ends)]
    came = np.flatnonzero(np.diff(hosts)) + 1
    within = [bool(np.any((came >= low) & (came <= high))) for low, high in zip(first, last, strict=True)]
    return np.asarray(np.asarray(within, dtype=bool) & (np.diff(usual) != 0))


def common_changes(changes: Mask, first: Integers, last: Integers) -> tuple[Mask, Integers]:
    """Return which changes of many series are common, and their number at each commit.

    Changes are common where so many sets of commits share one commit that chance hardly explains it.

    `changes` (..., series, n) are the starts of segments; there, `first` and `last` are the ends of the set of commits.
    """
    common, numbers = np.zeros(changes.shape, dtype=bool), np.zeros((*changes.shape[:-2], changes.shape[-1]), dtype=int)
    n = changes.shape[-1]
    for cell in np.ndindex(changes.shape[:-2]):  # machines
        rows, columns = np.nonzero(changes[cell])
        low, high = first[cell][rows, columns], last[cell][rows, columns]
        remaining = np.ones(len(rows), dtype=bool)
        while remaining.any():
            ends = np.zeros(n + 1)
            np.add.at(ends, low[remaining], 1)
            np.add.at(ends, high[remaining] + 1, -1)
            counts = np.cumsum(ends[:-1])
            most = round(counts.max())
            shared = np.flatnonzero(counts == counts.max())
            expected = float(np.sum(high[remaining] - low[remaining] + 1)) / n
            if most < FEWEST or n * pdtrc(most - 1, expected) > CHANCE:
                break
            best = shared[np.argmax([np.sum(remaining & (columns == column)) for column in shared])]
            members = remaining & (low <= best) & (high >= best)
            common[cell][rows[members], columns[members]] = True
            numbers[cell][best] = most
            remaining &= ~members
    return common, numbers


def is_drift(values: Floats, levels: Floats, errors: Floats, steps: int) -> bool:
    """Return whether a straight line describes a series better than its steps, by BIC with residuals clipped at 3 standard errors."""
    if not errors.min() > 0:
        return False
    weights = 1.0 / errors**2
    positions = np.arange(len(values)) - np.average(np.arange(len(values)), weights=weights)
    line = np.average(values, weights=weights) + positions * np.sum(weights * positions * values) / np.sum(weights * positions**2)
    stairs, straight = (float(np.sum(np.minimum(np.abs(values - fitted) / errors, 3.0) ** 2)) for fitted in (levels, line))
    return bool(straight + 2 * np.log(len(values)) < stairs + (2 * steps + 1) * np.log(len(values)))
