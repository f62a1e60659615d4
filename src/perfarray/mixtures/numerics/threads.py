"""Work shared by threads: compiled code lets other threads go on while it runs."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import current_thread, main_thread
from typing import TypeVar

Part = TypeVar("Part")


def in_threads(work: Callable[[Part], object], parts: Sequence[Part], threads: int) -> None:
    """Do some work on parts, begun in their order, by so many threads; what it does with one must not depend on the others.

    Whoever calls from a thread of their own, as dask does, shares the cores already: there the work stays in that thread.
    """
    if min(threads, len(parts)) < 2 or current_thread() is not main_thread():
        for part in parts:
            work(part)
        return
    with ThreadPoolExecutor(min(threads, len(parts))) as pool:
        for _ in pool.map(work, parts):  # an error ends the loop, and what has not begun is cancelled
            pass
