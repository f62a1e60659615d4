"""Options of the whole package."""

from importlib.util import find_spec
from types import TracebackType

from perfarray.timings.validation import check_choice

ENGINES = ("numpy", "numba")

_engine = "numpy"


class set_options:
    """Choose the engine for all that follows, or for a `with` block.

    Parameters
    ----------
    engine : {"numpy", "numba"}
        `numba` lets those formulas that have a compiled twin use it (extra `fast`); all others stay with NumPy, and a result's
        attr `engine` says which one made it.

    Raises
    ------
    ValueError
        For an engine that is not known.
    ImportError
        When `numba` is chosen and not installed.

    Examples
    --------
    >>> import perfarray
    >>> with perfarray.set_options(engine="numpy"):
    ...     answer = perfarray.from_samples({"a": [1.0, 2.0, 3.0]}).perf.mean_interval()
    """

    def __init__(self, *, engine: str) -> None:
        global _engine
        check_choice(engine, "engine", ENGINES)
        if engine == "numba" and find_spec("numba") is None:
            raise ImportError("engine='numba' needs numba, which is not installed; install perfarray[fast]")
        self._before = _engine
        _engine = engine

    def __enter__(self) -> "set_options":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        global _engine
        _engine = self._before


def engine() -> str:
    """Return the engine in force."""
    return _engine
