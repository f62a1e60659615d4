"""Options of the whole package, local to thread and task inside a `with` block."""

from contextvars import ContextVar, Token
from importlib.util import find_spec
from types import TracebackType

from perfarray.timings.validation import check_choice

ENGINES = ("numpy", "numba")

_process: list["set_options"] = []
"""Plain calls in their order; the last one is in force."""

_context: ContextVar["set_options | None"] = ContextVar("perfarray_options", default=None)
"""The innermost `with` block of this thread or task."""


class set_options:
    """Choose the engine: a plain call for the whole process, a `with` block for itself, in its own thread or task.

    Parameters
    ----------
    engine : {"numpy", "numba"}
        `numba` lets those formulas that have a compiled twin use it (extra `fast`); all others stay with NumPy, and a result's
        attr `engine` says which one made it. A lazy result keeps the engine it was built with.

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
        check_choice(engine, "engine", ENGINES)
        if engine == "numba" and find_spec("numba") is None:
            raise ImportError("engine='numba' needs numba, which is not installed; install perfarray[fast]")
        self._engine = engine
        self._tokens: list[Token[set_options | None]] = []
        _process.append(self)

    def __enter__(self) -> "set_options":
        if self in _process:  # a block is no plain call
            _process.remove(self)
        self._tokens.append(_context.set(self))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        _context.reset(self._tokens.pop())


def engine() -> str:
    """Return the engine in force."""
    chosen = _context.get() or (_process[-1] if _process else None)
    return chosen._engine if chosen else "numpy"
