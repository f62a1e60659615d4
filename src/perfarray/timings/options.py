"""Options of the whole package, local to thread and task inside a `with` block."""

from contextvars import ContextVar, Token
from importlib.util import find_spec
from types import TracebackType
from typing import Any, NamedTuple

from perfarray.timings.validation import check_choice, check_count

ENGINES = ("numpy", "numba")


class ActiveOptions(NamedTuple):
    """The options in force: the engine, and limits for files from unknown sources."""

    engine: str = "numpy"
    max_file_bytes: int = 1 << 30
    max_unpack_ratio: int = 200
    max_cells: int = 1 << 31
    max_padding: int = 1000
    max_message: int = 2000
    allow_outside: bool = False


# Plain calls in order; the last call that names an option decides
_process: list["set_options"] = []

# The options inside the innermost `with` block of this thread or task
_context: ContextVar[ActiveOptions | None] = ContextVar("perfarray_options", default=None)


class set_options:
    """Choose options, for the whole process or in a `with` block.

    What a call does not name stays as it is.

    Parameters
    ----------
    engine : {"numpy", "numba"}, optional
        `numba` (extra `fast`) fits mixtures by compiled code, and adds up what a bootstrap of means
        redraws of complete nests with more than 16 repetitions at the lowest level, with the same
        numbers. Everything else stays with NumPy, and a result's attr `engine` says which one was
        chosen for it. A lazy result keeps the engine it was built with.
    max_file_bytes : int, optional
        Bytes a file may hold, packed or not; 1 GiB at first.
    max_unpack_ratio : int, optional
        How many times its own size a packed file may unpack to (16 MiB are always allowed); 200 at
        first.
    max_cells : int, optional
        Cells of one array; 2^31 at first.
    max_padding : int, optional
        Cells of an array per measured value (16 million cells are always allowed); 1000 at first.
    max_message : int, optional
        Characters of what is said of one file; 2000 at first.
    allow_outside : bool, optional
        Whether a file may name files outside its own folder and the current one; False at first.

    Raises
    ------
    ValueError
        For an engine that is not known, or a limit that is not a whole number of at least 1.
    ImportError
        When `numba` is chosen and not installed.

    Examples
    --------
    >>> import perfarray
    >>> with perfarray.set_options(engine="numpy", max_file_bytes=10_000_000):
    ...     answer = perfarray.from_samples({"a": [1.0, 2.0, 3.0]}).perf.mean_interval()
    """

    def __init__(
        self,
        *,
        engine: str | None = None,
        max_file_bytes: int | None = None,
        max_unpack_ratio: int | None = None,
        max_cells: int | None = None,
        max_padding: int | None = None,
        max_message: int | None = None,
        allow_outside: bool | None = None,
    ) -> None:
        if engine is not None:
            check_choice(engine, "engine", ENGINES)
        if engine == "numba" and find_spec("numba") is None:
            raise ImportError(
                "engine='numba' needs numba, which is not installed; install perfarray[fast]"
            )
        limits = {
            "max_file_bytes": max_file_bytes,
            "max_unpack_ratio": max_unpack_ratio,
            "max_cells": max_cells,
            "max_padding": max_padding,
            "max_message": max_message,
        }
        self._given: dict[str, Any] = {
            name: check_count(value, name) for name, value in limits.items() if value is not None
        }
        if engine is not None:
            self._given["engine"] = engine
        if allow_outside is not None:
            check_choice(allow_outside, "allow_outside", (True, False))
            self._given["allow_outside"] = bool(allow_outside)
        self._tokens: list[Token[ActiveOptions | None]] = []
        _process.append(self)

    def __enter__(self) -> "set_options":
        if self in _process:  # a block is no plain call
            _process.remove(self)
        self._tokens.append(_context.set(options()._replace(**self._given)))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _context.reset(self._tokens.pop())


def options() -> ActiveOptions:
    """Return the options in force."""
    inside = _context.get()
    if inside is not None:
        return inside
    settings = ActiveOptions()
    for call in _process:
        settings = settings._replace(**call._given)
    return settings


def engine() -> str:
    """Return the engine in force."""
    return options().engine
