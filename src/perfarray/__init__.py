"""Benchmark timings as labelled arrays: where the variation is, how much faster, how sure."""

import sys
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any

import lazy_loader

__version__ = "0.1.0"

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    """Return a public name, loaded at first use; `.perf` is there from then on at the latest."""
    if name not in __all__:
        return _load(name)
    import_module("perfarray.accessor")
    from perfarray.results.public import public

    value = _load(name)
    globals()[name] = value = public(value) if isinstance(value, FunctionType) else value
    return value


def _is_command() -> bool:
    """Return whether this process is the command line, whose help needs no xarray."""
    if sys.argv[:1] == ["-m"]:
        return (
            "perfarray" in sys.orig_argv[sys.orig_argv.index("-m") + 1 :][:1]
            if "-m" in sys.orig_argv
            else False
        )
    return bool(sys.argv[:1]) and Path(sys.argv[0]).stem == "perfarray"


if not _is_command():
    from perfarray import accessor as accessor  # registers .perf; it needs the names above

if "IPython" in sys.modules:
    from perfarray.results.notebooks import register as _register

    _register()
