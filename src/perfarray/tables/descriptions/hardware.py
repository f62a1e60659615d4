"""Parsers of hardware descriptions in archives.

A parser returns a NamedTuple; None stands for what the text does not say. A text of which nothing
could be read gives None throughout. Sizes are in kB of 1,024 bytes and in GB of 1,024 kB squared.
Digits are those of ASCII.
"""

import re
from typing import NamedTuple

KILOBYTES = {"K": 1.0, "M": 1024.0, "G": 1024.0**2, "T": 1024.0**3}
# Texts for a missing part, whose size is 0
NOTHING = frozenset({"none", "n/a", "no"})

SIZE = r"(?<![\d.])(\d{1,15}(?:\.\d+)?)\s*([KMGT])i?B"
FLAGS = re.I | re.A
CACHE_PART = re.compile(rf"{SIZE}\s*(I\s*\+\s*D\b|I\b|D\b)?", FLAGS)
MICRO_OPS = re.compile(r"\d\s*K\s*micro-?ops", FLAGS)
SHARED = re.compile(r",[^,;]*\bshared\b[^,;]*", FLAGS)
SCOPE = re.compile(r"\bper\s+(?:entire\s+)?(core|chip|module|system)", FLAGS)

TOTAL = re.compile(SIZE, FLAGS)
MODULES = re.compile(rf"(?<!\d)(\d{{1,6}})\s*[x*×]\s*{SIZE}", FLAGS)
NAMED_MODULES = re.compile(rf"^(\d{{1,6}})x\s.*?{SIZE}\b(?:.*?\brank\s+(\d{{3,5}}))?", FLAGS)
RUNNING = re.compile(r"running at (\d{3,5})\s*MHz", FLAGS)
RATED = re.compile(r"\b(?:DDR|PC)(\d?)L?[- ](\d{3,5})", FLAGS)
PLAIN_SPEED = re.compile(r"\b(\d{3,5})\s*(?:MHz|MT/s)", FLAGS)
# Highest transfer rate of each memory generation, in millions per second; larger numbers are
# bandwidths in MB/s, 8 bytes a transfer
FASTEST = {"": 400, "1": 400, "2": 1066, "3": 2133, "4": 5000, "5": 10_000}

SPIN = re.compile(r"(\d{1,3}(?:\.\d+)?)\s*K\s*RPM|(\d{4,5})\s*RPM", FLAGS)
SOLID = re.compile(r"\b(?:SSD|NVMe|solid[- ]state|flash)\b", FLAGS)

CLOCK = re.compile(r"^\s*(\d{1,15}(?:\.\d+)?)(?!\d)\s*([GM]Hz)?", FLAGS)
WHOLE = r"(-\d{1,15}|(?<![\d-])\d{1,15})"
COUNTS = {
    "cores": re.compile(rf"{WHOLE} cores?\b(?!/)", FLAGS),
    "chips": re.compile(rf"{WHOLE} chips?\b", FLAGS),
    "cores_per_chip": re.compile(rf"{WHOLE} cores?/chip", FLAGS),
    "threads_per_core": re.compile(rf"{WHOLE} threads?/core", FLAGS),
}
# More cores, chips or threads than any machine has
MOST = 2**31


class Cache(NamedTuple):
    """Sizes in kB as the text states them, and the owner: core, chip, module or system.

    `kb` is instructions and data together; None where the parts belong to different things and
    cannot be added.
    """

    kb: float | None = None
    instruction_kb: float | None = None
    data_kb: float | None = None
    per: str | None = None


class Memory(NamedTuple):
    """Total size in GB, modules, size of a module in GB, millions of transfers per second."""

    gb: float | None = None
    sticks: float | None = None
    stick_gb: float | None = None
    speed: float | None = None


class Disk(NamedTuple):
    """Total size in GB, number of disks, revolutions per minute, and whether solid state."""

    gb: float | None = None
    disks: float | None = None
    rpm: float | None = None
    solid_state: bool | None = None


class ProcessorCounts(NamedTuple):
    """Numbers of enabled cores, chips and threads."""

    cores: int | None = None
    chips: int | None = None
    cores_per_chip: int | None = None
    threads_per_core: int | None = None


def cache(text: str) -> Cache:
    """Read the size of a cache.

    Examples
    --------
    >>> cache("32 KB I + 32 KB D on chip per core")
    Cache(kb=64.0, instruction_kb=32.0, data_kb=32.0, per='core')
    >>> cache("12 MB I+D on chip per chip, 6 MB shared / 2 cores").kb, cache("None").kb
    (12288.0, 0.0)
    """
    if text.strip().lower() in NOTHING:
        return Cache(0.0, 0.0, 0.0, None)
    sizes: dict[str, tuple[float, str | None]] = {}
    for piece in text.split(";"):
        plain = SHARED.sub("", piece)
        scope = SCOPE.search(plain)
        per = scope[1].lower() if scope else None
        for number, unit, name in CACHE_PART.findall(plain):
            kind = name.replace(" ", "").upper() or "I+D"
            sizes.setdefault(kind, (float(number) * KILOBYTES[unit.upper()], per))
    scopes = {per for _, per in sizes.values()}
    partly = MICRO_OPS.search(text) is not None
    total = (
        sum(size for size, _ in sizes.values())
        if sizes and len(scopes) == 1 and not partly
        else None
    )
    return Cache(
        total,
        sizes.get("I", (None,))[0],
        sizes.get("D", (None,))[0],
        scopes.pop() if len(scopes) == 1 else None,
    )


def memory(text: str) -> Memory:
    """Read the size, modules and speed of a memory.

    Examples
    --------
    >>> memory("128 GB (16 x 8 GB 2Rx4 PC3-12800R-11, ECC)")
    Memory(gb=128.0, sticks=16.0, stick_gb=8.0, speed=1600.0)
    >>> memory("24x Vendor ABC 64 GB 2 rank 4800")
    Memory(gb=1536.0, sticks=24.0, stick_gb=64.0, speed=4800.0)
    """
    module_match = NAMED_MODULES.match(text.strip())
    if module_match:
        size = _gigabytes(module_match[2], module_match[3])
        return Memory(
            int(module_match[1]) * size,
            float(module_match[1]),
            size,
            float(module_match[4]) if module_match[4] else _memory_speed(text),
        )
    total = TOTAL.search(text)
    if not total:
        return Memory()
    gb = _gigabytes(total[1], total[2])
    modules = MODULES.search(text)
    if modules and modules.start() <= total.start():
        stick = _gigabytes(modules[2], modules[3])
        return Memory(int(modules[1]) * stick, float(modules[1]), stick, _memory_speed(text))
    stick_gb = _gigabytes(modules[2], modules[3]) if modules else None
    is_consistent = (
        modules is not None and stick_gb is not None and int(modules[1]) * stick_gb == gb
    )
    return Memory(
        gb, float(modules[1]) if modules and is_consistent else None, stick_gb, _memory_speed(text)
    )


def _memory_speed(text: str) -> float | None:
    """Return millions of transfers per second: as run, as rated, or as written."""
    running = RUNNING.search(text)
    if running:
        return float(running[1])
    for generation, number in RATED.findall(text):
        rate = float(number)
        return rate if rate <= FASTEST.get(generation, 0) else _transfers(rate)
    plain = PLAIN_SPEED.search(text)
    return float(plain[1]) if plain else None


def _transfers(bandwidth: float) -> float:
    """Return the transfer rate of a bandwidth in MB/s, which names round down: 5300 is 667."""
    rate = bandwidth / 8
    usual = (
        200,
        266,
        333,
        400,
        533,
        667,
        800,
        1066,
        1333,
        1600,
        1866,
        2133,
        2400,
        2666,
        2933,
        3200,
        4800,
        5600,
        6400,
    )
    nearest = min(usual, key=lambda speed: abs(speed - rate))
    return float(nearest if abs(nearest - rate) < 0.02 * rate else round(rate))


def _gigabytes(number: str, unit: str) -> float:
    """Return a size in GB."""
    return float(number) * KILOBYTES[unit.upper()] / KILOBYTES["G"]


def disk(text: str) -> Disk:
    """Read the size, number and kind of the disks.

    Examples
    --------
    >>> disk("2 x 146 GB SAS, 10K RPM")
    Disk(gb=292.0, disks=2.0, rpm=10000.0, solid_state=False)
    """
    total = TOTAL.search(text)
    if not total:
        return Disk()
    modules = MODULES.search(text)
    count = float(modules[1]) if modules else 1.0
    size = _gigabytes(modules[2], modules[3]) if modules else _gigabytes(total[1], total[2])
    spin = SPIN.search(text)
    rpm = None if spin is None else float(spin[1]) * 1000 if spin[1] else float(spin[2])
    solid = True if SOLID.search(text) else None
    return Disk(count * size, count, rpm, False if rpm else solid)


def clock(text: str) -> float | None:
    """Read a clock in MHz; a number without unit is in MHz if it is 100 or more, else in GHz.

    Examples
    --------
    >>> clock("2.4 GHz"), clock("2400"), clock("fast")
    (2400.0, 2400.0, None)
    """
    match = CLOCK.match(text)
    if not match or not float(match[1]):
        return None
    number = float(match[1])
    gigahertz = match[2].lower() == "ghz" if match[2] else number < 100
    return number * 1000 if gigahertz else number


def counts(text: str) -> ProcessorCounts:
    """Parse numbers of cores, chips and threads; 0, -1 and question marks are not counts.

    Examples
    --------
    >>> counts("12 cores, 2 chips, 6 cores/chip, 2 threads/core")
    ProcessorCounts(cores=12, chips=2, cores_per_chip=6, threads_per_core=2)
    """
    matches = ((name, pattern.search(text)) for name, pattern in COUNTS.items())
    return ProcessorCounts(
        **{name: int(match[1]) for name, match in matches if match and 0 < float(match[1]) < MOST}
    )
