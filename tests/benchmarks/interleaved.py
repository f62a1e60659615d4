"""Compare variants in one process: rounds in turn, so that drift of the machine hits all alike;
ratios are medians over rounds."""

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

Clock = Callable[[], float]


def seconds(call: Callable[[], object], repeat: int, clock: Clock = time.perf_counter) -> float:
    """Return the mean time of a call in a burst."""
    start = clock()
    for _ in range(repeat):
        call()
    return (clock() - start) / repeat


def interleaved(
    variants: Mapping[str, Callable[[], object]],
    rounds: int = 15,
    budget: float = 0.05,
    clock: Clock = time.perf_counter,
) -> dict[str, list[float]]:
    """Time every variant once a round, each for about `budget` seconds; return the times by round.

    The second call decides how often a variant is called in a round, because the first one imports
    and compiles. Calls of one thread are timed by `time.process_time` where other programs keep the
    cores busy.
    """
    for call in variants.values():
        call()
    repeats = {
        name: max(1, int(budget / max(seconds(call, 1), 1e-7))) for name, call in variants.items()
    }
    seconds_by_name: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(rounds):
        for name, call in variants.items():
            seconds_by_name[name].append(seconds(call, repeats[name], clock))
    return seconds_by_name


def ratio(seconds: Mapping[str, list[float]], over: str, under: str) -> float:
    """Return the median over rounds of one variant's time over another's."""
    return statistics.median(a / b for a, b in zip(seconds[over], seconds[under], strict=True))


TABLE: list[tuple[str, str, float]] = []
"""What was compared so far: what takes longer, than what, how many times as long."""


PAGE: list[tuple[str, str, str, str, str]] = []
"""The rows of the page so far: work, size, how long ours takes, its ratio to the peer's, the peer."""


def add_to_page(
    seconds: Mapping[str, list[float]], ours: str, peer: str, work: str, size: str, what: str
) -> None:
    """Keep one row of the page: of ours beside a peer that does `what`, both timed in turn."""
    median = statistics.median(seconds[ours])
    takes = f"{median:.2g} s" if median >= 0.1 else f"{median * 1e3:.2g} ms"
    compared = f"{ratio(seconds, ours, peer):.2g}" if peer else ""
    PAGE.append((work, size, takes, compared, what))


def print_ratio(over: str, under: str, value: float) -> None:
    """Print one ratio of times, and keep it for the table of the runner."""
    TABLE.append((over, under, value))
    print(f"  {over} / {under}: {value:.2f}")


def measured(
    title: str, variants: Mapping[str, Callable[[], object]], **options: Any
) -> dict[str, list[float]]:
    """Return the times of variants, as `interleaved` gives them, and print the median of each."""
    seconds_by_name = interleaved(variants, **options)
    print(title)
    for name, times in seconds_by_name.items():
        print(f"  {name:<40} {statistics.median(times) * 1e3:9.3f} ms")
    return seconds_by_name


def ranked(
    title: str,
    variants: Mapping[str, Callable[[], object]],
    over: str,
    *unders: str,
    prefix: str = "",
    **options: Any,
) -> dict[str, list[float]]:
    """Measure variants, and keep how many times as long one takes as each of others, all others by
    default; return the times of all."""
    seconds_by_name = measured(title, variants, **options)
    for under in unders or [name for name in variants if name != over]:
        print_ratio(f"{prefix}{over}", under, ratio(seconds_by_name, over, under))
    return seconds_by_name
