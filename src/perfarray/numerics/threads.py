"""Work shared by threads: compiled code lets other threads go on while it runs."""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import current_thread, main_thread
from typing import TypeVar

Part = TypeVar("Part")


def in_threads(work: Callable[[Part], object], parts: Sequence[Part], threads: int) -> None:
    """Do some work on parts, begun in their order, by so many threads; what it does with one must not depend on the others.

    This thread is one of them, so that nothing waits for a thread that a busy machine does not let begin. Whoever calls from a thread of
    their own, as dask does, shares the cores already: there the work stays in that thread.
    """
    left = deque(parts)

    def take() -> None:
        while left:
            try:
                part = left.popleft()
            except IndexError:  # another thread was faster
                return
            work(part)

    others = min(threads, len(parts)) - 1 if current_thread() is main_thread() else 0
    if others < 1:
        take()
        return
    with ThreadPoolExecutor(others) as pool:
        helping = [pool.submit(take) for _ in range(others)]
        try:
            take()
        finally:
            left.clear()
    for helper in helping:
        helper.result()
