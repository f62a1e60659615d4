"""Pictures of results and of timings; the only place that knows matplotlib.

Each takes `ax=` and returns the Axes.
"""

import lazy_loader

try:
    import matplotlib.pyplot  # noqa: F401
except ImportError as error:
    raise ImportError(
        "pictures need matplotlib, which cannot be imported: install perfarray[plots]"
    ) from error

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
