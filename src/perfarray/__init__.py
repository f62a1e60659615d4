"""Benchmark timings as labelled arrays: where the variation comes from, how much faster, and how sure."""

import sys

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

from perfarray import accessor as accessor  # noqa: E402  (registers .perf; it needs the names above)

if "IPython" in sys.modules:
    from perfarray.tables.notebooks import register as _register

    _register()
