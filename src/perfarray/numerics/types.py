"""Array types, by what the arrays hold."""

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.integer[Any]]
Mask = npt.NDArray[np.bool_]
Texts = npt.NDArray[np.object_]


def same_text(text: str, shape: int | tuple[int, ...]) -> Texts:
    """Return an array that holds one text everywhere, without a copy for every cell."""
    array = np.empty(shape, dtype=object)
    array[...] = text
    return array
