"""The null law of the largest rank statistic of a series, the same for every noise.

docs/scripts/history_law.py simulates it.
"""

from math import comb

import numpy as np

from perfarray.numerics.types import Floats

# What is added to the statistics of bumps: about half of the false alarms are then steps, the
# others bumps.
BUMPS = 1.7

# Probabilities with which a series without a change reaches the limits below.
CHANCES = (
    *(0.5, 0.3, 0.2, 0.14, 0.1, 0.07, 0.05, 0.035, 0.025, 0.0175),
    *(0.0125, 0.009, 0.006, 0.004, 0.0025, 0.0015, 0.0008, 0.0004, 0.0002, 0.0001),
)

# Two lines for each length of a series: the length, then the limits, which are infinite where no
# order of so few values reaches them.
_ROWS = """
     8 1.719 1.992 2.254 2.254 2.337 2.394 2.394 2.394 inf inf
       inf inf inf inf inf inf inf inf inf inf
     9 1.710 1.942 2.202 2.297 2.314 2.421 2.517 2.517 inf inf
       inf inf inf inf inf inf inf inf inf inf
    10 1.696 2.029 2.238 2.269 2.360 2.473 2.516 2.617 2.617 2.656
       2.656 2.656 inf inf inf inf inf inf inf inf
    11 1.751 2.039 2.253 2.339 2.365 2.444 2.578 2.611 2.611 2.770
       2.770 2.770 inf inf inf inf inf inf inf inf
    12 1.800 2.061 2.266 2.337 2.434 2.478 2.617 2.629 2.724 2.757
       2.866 2.866 2.894 2.894 2.894 inf inf inf inf inf
    14 1.840 2.152 2.297 2.403 2.482 2.543 2.648 2.709 2.763 2.866
       2.897 2.904 2.982 3.006 3.092 3.114 3.114 inf inf inf
    16 1.881 2.168 2.315 2.458 2.521 2.630 2.704 2.785 2.824 2.912
       2.961 3.003 3.052 3.120 3.152 3.212 3.301 3.319 3.319 inf
    18 1.920 2.192 2.345 2.491 2.553 2.653 2.746 2.841 2.880 2.966
       3.025 3.077 3.138 3.195 3.257 3.294 3.374 3.423 3.496 3.511
    20 1.942 2.209 2.372 2.517 2.590 2.693 2.781 2.866 2.933 3.008
       3.066 3.123 3.182 3.254 3.321 3.371 3.443 3.508 3.557 3.618
    25 1.985 2.253 2.428 2.553 2.652 2.751 2.839 2.932 3.014 3.084
       3.153 3.222 3.296 3.362 3.437 3.508 3.592 3.674 3.742 3.816
    30 2.023 2.288 2.456 2.585 2.704 2.792 2.888 2.981 3.064 3.149
       3.214 3.283 3.364 3.438 3.516 3.600 3.695 3.798 3.875 3.952
    40 2.073 2.342 2.513 2.648 2.759 2.861 2.959 3.058 3.143 3.231
       3.311 3.379 3.464 3.545 3.638 3.729 3.834 3.950 4.048 4.148
    50 2.122 2.389 2.567 2.696 2.810 2.929 3.021 3.120 3.211 3.301
       3.382 3.455 3.547 3.633 3.728 3.824 3.941 4.059 4.166 4.286
    70 2.173 2.443 2.617 2.751 2.868 2.984 3.091 3.187 3.280 3.374
       3.461 3.539 3.631 3.725 3.825 3.934 4.054 4.181 4.298 4.406
   100 2.234 2.504 2.679 2.817 2.933 3.051 3.156 3.263 3.357 3.455
       3.539 3.623 3.721 3.812 3.917 4.031 4.156 4.289 4.427 4.561
   150 2.292 2.560 2.735 2.873 2.994 3.112 3.217 3.323 3.421 3.517
       3.606 3.689 3.790 3.890 3.995 4.108 4.244 4.379 4.505 4.619
   200 2.330 2.598 2.772 2.910 3.031 3.150 3.257 3.366 3.460 3.560
       3.649 3.734 3.835 3.936 4.048 4.173 4.311 4.448 4.589 4.723
   300 2.382 2.648 2.821 2.961 3.081 3.200 3.310 3.415 3.512 3.614
       3.704 3.787 3.884 3.984 4.088 4.211 4.344 4.473 4.644 4.783
   500 2.431 2.690 2.862 2.997 3.117 3.237 3.343 3.447 3.550 3.649
       3.738 3.825 3.931 4.022 4.139 4.255 4.403 4.544 4.710 4.871
  1000 2.498 2.755 2.925 3.061 3.180 3.300 3.405 3.516 3.615 3.716
       3.802 3.888 3.987 4.089 4.212 4.326 4.464 4.658 4.812 4.931
  2000 2.555 2.807 2.975 3.108 3.223 3.342 3.446 3.555 3.654 3.755
       3.846 3.934 4.030 4.130 4.244 4.357 4.511 4.668 4.788 4.914
"""
_NUMBERS = np.array(_ROWS.split(), dtype=float).reshape(-1, 1 + len(CHANCES))
LENGTHS, TABLE = _NUMBERS[:, 0].astype(int), _NUMBERS[:, 1:]

# Shorter series have few possible statistics: the limits are those of the next longer length, not
# interpolated.
DISCRETE = 20

# The limits above are rounded up by at most this much.
ROUNDED = 6e-4


def chance(statistics: Floats, n: int) -> Floats:
    """Return the probability that a series of n values without a change reaches each statistic.

    A normal tail, which is longer, follows the last limit; series longer than the table have the
    limits of its last row.
    """
    if n < LENGTHS[0]:
        return np.ones_like(statistics)
    row = min(int(np.searchsorted(LENGTHS, n)), len(LENGTHS) - 1)
    limits = TABLE[row]
    if n < DISCRETE or np.isinf(limits[-1]):
        return np.append(1.0, CHANCES)[np.searchsorted(limits - ROUNDED, statistics, side="right")]
    if n < LENGTHS[row]:
        share = np.log(n / LENGTHS[row - 1]) / np.log(LENGTHS[row] / LENGTHS[row - 1])
        limits = np.where(
            np.isinf(TABLE[row - 1]), limits, TABLE[row - 1] + share * (limits - TABLE[row - 1])
        )
    chances = np.where(
        statistics < limits[0], 1.0, np.exp(np.interp(statistics, limits, np.log(CHANCES)))
    )
    return np.where(
        statistics < limits[-1],
        chances,
        CHANCES[-1] * np.exp((limits[-1] ** 2 - statistics**2) / 2),
    )


def fewest(level: float) -> int:
    """Return the length of the shortest series that can show a change at a level.

    0 where 60 values are too few.
    """
    # The largest statistic separates two halves completely; 2 of all orders of the values do.
    lengths = [
        n
        for n in range(LENGTHS[0], 61)
        if max(chance(np.array([1e3]), n)[0], 2 / comb(n, n // 2)) <= level
    ]
    return lengths[0] if lengths else 0
