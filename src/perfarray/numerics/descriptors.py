"""What archives write about hardware and software, as numbers: one parser for each kind of text.

A parser returns a NamedTuple; None stands for what the text does not say. A text of which nothing could be read gives None throughout.
Sizes are in kB of 1,024 bytes and in GB of 1,024 kB squared.
"""

import re
from functools import lru_cache
from typing import NamedTuple

KILOBYTES = {"K": 1.0, "M": 1024.0, "G": 1024.0**2, "T": 1024.0**3}
NOTHING = frozenset({"none", "n/a", "no"})
"""What stands where a part is not there: its size is 0."""

SIZE = r"(\d+(?:\.\d+)?)\s*([KMGT])i?B"
CACHE_PART = re.compile(rf"{SIZE}\s*(I\s*\+\s*D\b|I\b|D\b)?", re.I)
MICRO_OPS = re.compile(r"\d+\s*K\s*micro-?ops", re.I)
SHARED = re.compile(r",[^,;]*\bshared\b[^,;]*", re.I)
SCOPE = re.compile(r"\bper\s+(?:entire\s+)?(core|chip|module|system)", re.I)

TOTAL = re.compile(SIZE, re.I)
MODULES = re.compile(rf"(\d+)\s*[x*×]\s*{SIZE}", re.I)
NAMED_MODULES = re.compile(rf"^(\d+)x\s.*?{SIZE}\b(?:.*?\brank\s+(\d{{3,5}}))?", re.I)
RUNNING = re.compile(r"running at (\d{3,5})\s*MHz", re.I)
RATED = re.compile(r"\b(?:DDR|PC)(\d?)L?[- ](\d{3,5})", re.I)
PLAIN_SPEED = re.compile(r"\b(\d{3,5})\s*(?:MHz|MT/s)", re.I)
FASTEST = {"": 400, "1": 400, "2": 1066, "3": 2133, "4": 5000, "5": 10_000}
"""Transfers per second, in millions, that no module of a generation exceeds: a larger number is its bandwidth in MB/s, 8 bytes each."""

SPIN = re.compile(r"(\d{1,3}(?:\.\d+)?)\s*K\s*RPM|(\d{4,5})\s*RPM", re.I)
SOLID = re.compile(r"\b(?:SSD|NVMe|solid[- ]state|flash)\b", re.I)

CLOCK = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*([GM]Hz)?", re.I)
COUNTS = {
    "cores": re.compile(r"(\d+) cores?\b(?!/)", re.I),
    "chips": re.compile(r"(\d+) chips?\b", re.I),
    "cores_per_chip": re.compile(r"(\d+) cores?/chip", re.I),
    "threads_per_core": re.compile(r"(\d+) threads?/core", re.I),
}

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MONTH_YEAR = re.compile(r"\b([A-Za-z]{3})[a-z]*\.?[-\s,]+(?:\d{1,2}[-,\s]+)?(\d{4})\b")
ISO_DATE = re.compile(r"\b(\d{4})-(\d{1,2})(?:-\d{1,2})?\b")
SLASHED = re.compile(r"\b(\d{1,2})/(\d{1,2})/(\d{4}|\d{2})\b")

SYSTEMS = (
    ("SUSE", r"su\s?se|sles"),
    ("Red Hat", r"red\s?hat|rhel\b"),
    ("Ubuntu", r"ubuntu"),
    ("Debian", r"debian"),
    ("CentOS", r"centos"),
    ("Fedora", r"fedora"),
    ("Oracle Linux", r"oracle (?:enterprise )?linux"),
    ("Asianux", r"asianux"),
    ("Windows", r"windows"),
    ("Solaris", r"solaris"),
    ("AIX", r"\baix\b"),
    ("HP-UX", r"hp-?ux"),
    ("macOS", r"mac\s?os(?:\s?x)?|os x"),
    ("FreeBSD", r"freebsd"),
    ("Linux", r"linux"),
)
COMPILERS = (
    ("AOCC", r"aocc|amd optimizing c"),
    ("Open64", r"open64"),
    ("Intel", r"intel|\bicc\b|\bicx\b|\bifort\b|oneapi"),
    ("Clang", r"clang|llvm"),
    ("GCC", r"\bgcc|\bgnu\b|g\+\+|gfortran"),
    ("PGI", r"\bpgi\b|portland|nvhpc"),
    ("Sun Studio", r"(?:sun|oracle|solaris),?\s+studio|oracle solaris"),
    ("IBM XL", r"\bxl\b|xl\s?c|xlf"),
    ("PathScale", r"pathscale|qlogic"),
    ("Visual Studio", r"visual studio|visual c\+\+|msvc"),
    ("HP", r"\bhp\b|\bacc\b"),
)
FILE_SYSTEMS = re.compile(
    r"\b(ext[234]|reiserfs|reiser|ntfs|btrfs|xfs|zfs|ufs|vxfs|jfs2?|nfs(?:v\d)?|tmpfs|apfs|hfs\+?|fat32|gpfs|lustre)", re.I
)
NUMBER = re.compile(r"(\d+)(?:\.(\d+))?")
SERVICE_PACK = re.compile(r"\bsp\s?(\d)\b", re.I)
WIDTH = re.compile(r"\b(?:IA-?32|(?:Intel )?64|32)\b[- ]?(?:bit)?", re.I)
WRITTEN_VERSION = re.compile(r"\bv(?:ersion)?[\s:]*(\d+)(?:\.(\d+))?", re.I)


class Cache(NamedTuple):
    """Sizes in kB as the text states them, and what has a cache of its own: core, chip, module or system.

    `kb` is instructions and data together; None where the parts belong to different things and cannot be added.
    """

    kb: float | None = None
    instruction_kb: float | None = None
    data_kb: float | None = None
    per: str | None = None


class Memory(NamedTuple):
    """Total size in GB, modules, size of a module in GB, speed in millions of transfers per second."""

    gb: float | None = None
    sticks: float | None = None
    stick_gb: float | None = None
    speed: float | None = None


class Disk(NamedTuple):
    """Total size in GB, how many disks, turns per minute, and whether there are none because it is solid state."""

    gb: float | None = None
    disks: float | None = None
    rpm: float | None = None
    solid_state: bool | None = None


class Counts(NamedTuple):
    """Cores, chips and threads that were enabled."""

    cores: float | None = None
    chips: float | None = None
    cores_per_chip: float | None = None
    threads_per_core: float | None = None


class Product(NamedTuple):
    """A family of operating systems or compilers, and the first two parts of its version as a number (12.1.0.225 is 12.1)."""

    family: str | None = None
    version: float | None = None


@lru_cache(maxsize=8192)
def cache(text: str) -> Cache:
    """Read the size of a cache.

    Parameters
    ----------
    text : str
        As in SPEC's reports.

    Returns
    -------
    Cache

    Examples
    --------
    >>> cache("32 KB I + 32 KB D on chip per core")
    Cache(kb=64.0, instruction_kb=32.0, data_kb=32.0, per='core')
    >>> cache("12 MB I+D on chip per chip, 6 MB shared / 2 cores").kb, cache("None").kb
    (12288.0, 0.0)
    """
    if text.strip().lower() in NOTHING:
        return Cache(0.0, 0.0, 0.0, None)
    parts: dict[str, tuple[float, str | None]] = {}
    for piece in text.split(";"):
        plain = SHARED.sub("", piece)
        scope = SCOPE.search(plain)
        per = scope[1].lower() if scope else None
        for number, unit, what in CACHE_PART.findall(plain):
            kind = what.replace(" ", "").upper() or "I+D"
            parts.setdefault(kind, (float(number) * KILOBYTES[unit.upper()], per))
    scopes = {per for _, per in parts.values()}
    partly = MICRO_OPS.search(text) is not None
    total = sum(size for size, _ in parts.values()) if parts and len(scopes) == 1 and not partly else None
    return Cache(total, parts.get("I", (None,))[0], parts.get("D", (None,))[0], scopes.pop() if len(scopes) == 1 else None)


@lru_cache(maxsize=8192)
def memory(text: str) -> Memory:
    """Read the size, modules and speed of a memory.

    Parameters
    ----------
    text : str
        A total, and in brackets the modules; or a number of modules, their name and the size of one.

    Returns
    -------
    Memory
        `sticks` is None where modules times size is not the total.

    Examples
    --------
    >>> memory("128 GB (16 x 8 GB 2Rx4 PC3-12800R-11, ECC)")
    Memory(gb=128.0, sticks=16.0, stick_gb=8.0, speed=1600.0)
    >>> memory("24x Vendor ABC 64 GB 2 rank 4800")
    Memory(gb=1536.0, sticks=24.0, stick_gb=64.0, speed=4800.0)
    """
    named = NAMED_MODULES.match(text.strip())
    if named:
        size = _gigabytes(named[2], named[3])
        return Memory(int(named[1]) * size, float(named[1]), size, float(named[4]) if named[4] else _memory_speed(text))
    total = TOTAL.search(text)
    if not total:
        return Memory()
    gb = _gigabytes(total[1], total[2])
    modules = MODULES.search(text)
    if modules and modules.start() <= total.start():
        stick = _gigabytes(modules[2], modules[3])
        return Memory(int(modules[1]) * stick, float(modules[1]), stick, _memory_speed(text))
    stick_gb = _gigabytes(modules[2], modules[3]) if modules else None
    counted = modules is not None and stick_gb is not None and int(modules[1]) * stick_gb == gb
    return Memory(gb, float(modules[1]) if modules and counted else None, stick_gb, _memory_speed(text))


def _memory_speed(text: str) -> float | None:
    """Return transfers per second in millions: as run, as rated, or as written."""
    running = RUNNING.search(text)
    if running:
        return float(running[1])
    for generation, number in RATED.findall(text):
        rate = float(number)
        return rate if rate <= FASTEST.get(generation, 0) else _transfers(rate)
    plain = PLAIN_SPEED.search(text)
    return float(plain[1]) if plain else None


def _transfers(bandwidth: float) -> float:
    """Return the rate behind a bandwidth in MB/s, which names round down: 10600 is 1333, 5300 is 667."""
    rate = bandwidth / 8
    usual = (200, 266, 333, 400, 533, 667, 800, 1066, 1333, 1600, 1866, 2133, 2400, 2666, 2933, 3200, 4800, 5600, 6400)
    nearest = min(usual, key=lambda known: abs(known - rate))
    return float(nearest if abs(nearest - rate) < 0.02 * rate else round(rate))


def _gigabytes(number: str, unit: str) -> float:
    """Return a size in GB."""
    return float(number) * KILOBYTES[unit.upper()] / KILOBYTES["G"]


@lru_cache(maxsize=8192)
def disk(text: str) -> Disk:
    """Read the size, number and kind of the disks.

    Parameters
    ----------
    text : str
        A number of disks and the size of one, or a size.

    Returns
    -------
    Disk

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


@lru_cache(maxsize=8192)
def clock(text: str) -> float | None:
    """Read a clock in MHz; a number without unit is in MHz if it is 100 or more, else in GHz.

    Parameters
    ----------
    text : str
        A number, with or without unit.

    Returns
    -------
    float or None

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


@lru_cache(maxsize=8192)
def counts(text: str) -> Counts:
    """Count cores, chips and threads in a text.

    Parameters
    ----------
    text : str
        As in the field `CPU(s) enabled`.

    Returns
    -------
    Counts

    Examples
    --------
    >>> counts("12 cores, 2 chips, 6 cores/chip, 2 threads/core")
    Counts(cores=12.0, chips=2.0, cores_per_chip=6.0, threads_per_core=2.0)
    """
    matches = {name: pattern.search(text) for name, pattern in COUNTS.items()}
    return Counts(**{name: float(match[1]) if match and int(match[1]) else None for name, match in matches.items()})


@lru_cache(maxsize=8192)
def year(text: str) -> float | None:
    """Read a date as a year and the twelfths of it that had passed: May 2012 is 2012.333.

    Parameters
    ----------
    text : str
        `May-2012`, `2012-05-03`, or `05/03/12`: month first as in the United States, unless the first number is no month.

    Returns
    -------
    float or None

    Examples
    --------
    >>> [round(year(text), 3) for text in ("May-2012", "2012-05-03", "05/03/12", "31/05/2012")]
    [2012.333, 2012.333, 2012.333, 2012.333]
    """
    written, iso, slashed = MONTH_YEAR.search(text), ISO_DATE.search(text), SLASHED.search(text)
    if written and written[1].lower() in MONTHS:
        return _decimal(int(written[2]), MONTHS.index(written[1].lower()) + 1)
    if iso:
        return _decimal(int(iso[1]), int(iso[2]))
    if slashed:
        first, second, last = int(slashed[1]), int(slashed[2]), int(slashed[3])
        full = last if last >= 100 else last + (1900 if last >= 70 else 2000)
        return _decimal(full, first if first <= 12 else second)
    return None


def _decimal(full: int, month: int) -> float | None:
    """Return a year with its months as twelfths."""
    return full + (month - 1) / 12 if 1 <= month <= 12 else None


@lru_cache(maxsize=8192)
def operating_system(text: str) -> Product:
    """Read the family and version of an operating system; a service pack counts as the second part of the version.

    Parameters
    ----------
    text : str
        As testers write it.

    Returns
    -------
    Product

    Examples
    --------
    >>> operating_system("SUSE Linux Enterprise Server 11 SP2 (x86_64), 3.0.13-0.27-default")
    Product(family='SUSE', version=11.2)
    """
    found = _family(text, SYSTEMS)
    if found is None:
        return Product()
    family, rest = found
    if re.match(r"[^\d]*\(?x86_64\)?,?\s*(?:kernel)?\s*\d", rest, re.I) or family == "Linux":
        return Product(family)
    pack = SERVICE_PACK.search(rest)
    number = NUMBER.search(WIDTH.sub("", rest))
    if family == "SUSE" and number and pack and not number[2]:
        return Product(family, float(f"{number[1]}.{pack[1]}"))
    return Product(family, _version(number))


@lru_cache(maxsize=8192)
def compiler(text: str) -> Product:
    """Read the family and version of the first compiler that a text names.

    Parameters
    ----------
    text : str
        As testers write it.

    Returns
    -------
    Product

    Examples
    --------
    >>> compiler("C/C++: Version 12.1.0.225 of Intel C++ Studio XE, for Linux"), compiler("GCC 12.2.0")
    (Product(family='Intel', version=12.1), Product(family='GCC', version=12.2))
    """
    found = _family(text, COMPILERS)
    if found is None:
        return Product()
    family, rest = found
    return Product(family, _version(WRITTEN_VERSION.search(text) or NUMBER.search(WIDTH.sub("", rest))))


def _family(text: str, known: tuple[tuple[str, str], ...]) -> tuple[str, str] | None:
    """Return the first family of a list that a text names, and what follows its name."""
    for family, pattern in known:
        match = re.search(pattern, text, re.I)
        if match:
            return family, text[match.end() :]
    return None


def _version(match: re.Match[str] | None) -> float | None:
    """Return the first two parts of a version as a number."""
    return float(f"{match[1]}.{match[2] or 0}") if match else None


@lru_cache(maxsize=8192)
def file_system(text: str) -> str | None:
    """Read the name of a file system, in small letters; the first if several are named.

    Parameters
    ----------
    text : str
        As testers write it.

    Returns
    -------
    str or None

    Examples
    --------
    >>> file_system("OS on zfs, Benchmark on ufs"), file_system("NTFS"), file_system("local")
    ('zfs', 'ntfs', None)
    """
    match = FILE_SYSTEMS.search(text)
    return match[1].lower() if match else None


def yes_or_no(text: str) -> bool | None:
    """Read an answer.

    Parameters
    ----------
    text : str
        Yes or no, on or off, true or false.

    Returns
    -------
    bool or None

    Examples
    --------
    >>> yes_or_no("Yes"), yes_or_no("no"), yes_or_no("perhaps")
    (True, False, None)
    """
    return {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}.get(text.strip().lower())


@lru_cache(maxsize=8192)
def flags(text: str) -> tuple[str, ...]:
    """Split what was given to a compiler into flags, each once, in the order given.

    Parameters
    ----------
    text : str
        A command line's options; or a label without blanks and leading dash, whose flags are told apart by `-O`, `-f`, `-m` and `-l`.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> flags("-O3 -march=native -flto"), flags("O3-march=native-flto")
    (('-O3', '-march=native', '-flto'), ('-O3', '-march=native', '-flto'))
    """
    words = text.split()
    if len(words) == 1 and not text.strip().startswith(("-", "/")):
        words = [f"-{word}" for word in re.split(r"-(?=[Ofml])", words[0])]
    return tuple(dict.fromkeys(word for word in words if word.startswith(("-", "/")) and len(word) > 1))
