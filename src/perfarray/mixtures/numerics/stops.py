"""Where EM stops, in NumPy and compiled: its thresholds, and what it is asked for."""

from typing import NamedTuple

import numpy as np

FLOOR = 1e-12
"""Least variance of a component, as a share of the sample's: a component there has collapsed on ties or on one value."""

CALM = 1e-7
"""Relative change of the log-likelihood at which plain EM gives way to accelerated EM: earlier, it may leap to another maximum."""

SETTLED = 1e-7
"""Estimated distance from the maximum, in standard deviations of a component, at which accelerated EM stops."""

GAIN = 1e-12
"""Log-likelihood that is estimated to be still to gain, at which accelerated EM stops: on a ridge the maximum is far and no better."""

MOST_STEPS = 20_000
"""Most steps of EM."""

LONG = 300
"""Steps of accelerated EM after which Newton's method goes on: one fit in fifty. Of EM's own way, fewer would leave too much to it."""

TINY = 1e-280
"""Densities below this are computed again, relative to the nearest component."""

MOVED = float(np.sqrt(np.finfo(float).eps))
"""Squared distance of the weights from those of the next step, above which mclust takes that step for the fit it selects."""

LOG_2PI = float(np.log(2 * np.pi))


class Task(NamedTuple):
    """What plain EM is asked for: where to stop, whether fits at the floor go on, mclust's last step."""

    limit: float
    forced: bool
    last: bool
