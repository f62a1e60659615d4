"""Pictures of results and of timings; the only place that knows matplotlib. Each takes `ax=` and returns the Axes."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
