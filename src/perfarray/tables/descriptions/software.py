"""Parsers of software descriptions: dates, systems, compilers, file systems, yes or no, flags.

As in `hardware`, None stands for what a text does not say.
"""

import re
from typing import NamedTuple

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MONTH_YEAR = re.compile(r"\b([A-Za-z]{3})[a-z]*\.?[-\s,]+(?:\d{1,2}[-,\s]+)?(\d{4})\b", re.A)
ISO_DATE = re.compile(r"\b(\d{4})-(\d{1,2})(?:-\d{1,2})?\b", re.A)
SLASHED = re.compile(r"\b(\d{1,2})/(\d{1,2})/(\d{4}|\d{2})\b", re.A)

SYSTEMS = (
    ("SUSE", re.compile(r"su\s?se|sles", re.I)),
    ("Red Hat", re.compile(r"red\s?hat|rhel\b", re.I)),
    ("Ubuntu", re.compile(r"ubuntu", re.I)),
    ("Debian", re.compile(r"debian", re.I)),
    ("CentOS", re.compile(r"centos", re.I)),
    ("Fedora", re.compile(r"fedora", re.I)),
    ("Oracle Linux", re.compile(r"oracle (?:enterprise )?linux", re.I)),
    ("Asianux", re.compile(r"asianux", re.I)),
    ("Windows", re.compile(r"windows", re.I)),
    ("Solaris", re.compile(r"solaris", re.I)),
    ("AIX", re.compile(r"\baix\b", re.I)),
    ("HP-UX", re.compile(r"hp-?ux", re.I)),
    ("macOS", re.compile(r"mac\s?os(?:\s?x)?|os x", re.I)),
    ("FreeBSD", re.compile(r"freebsd", re.I)),
    ("Linux", re.compile(r"linux", re.I)),
)
COMPILERS = (
    ("AOCC", re.compile(r"aocc|amd optimizing c", re.I)),
    ("Open64", re.compile(r"open64", re.I)),
    ("Intel", re.compile(r"intel|\bicc\b|\bicx\b|\bifort\b|oneapi", re.I)),
    ("Clang", re.compile(r"clang|llvm", re.I)),
    ("GCC", re.compile(r"\bgcc|\bgnu\b|g\+\+|gfortran", re.I)),
    ("PGI", re.compile(r"\bpgi\b|portland|nvhpc", re.I)),
    ("Sun Studio", re.compile(r"(?:sun|oracle|solaris),?\s+studio|oracle solaris", re.I)),
    ("IBM XL", re.compile(r"\bxl\b|xl\s?c|xlf", re.I)),
    ("PathScale", re.compile(r"pathscale|qlogic", re.I)),
    ("Visual Studio", re.compile(r"visual studio|visual c\+\+|msvc", re.I)),
    ("HP", re.compile(r"\bhp\b|\bacc\b", re.I)),
)
FILE_SYSTEMS = re.compile(
    r"\b(ext[234]|reiserfs|reiser|ntfs|btrfs|xfs|zfs|ufs|vxfs|jfs2?|nfs(?:v\d)?|tmpfs|apfs|hfs\+?|fat32|gpfs|lustre)",
    re.I,
)
NUMBER = re.compile(r"(\d+)(?:\.(\d+))?", re.A)
SERVICE_PACK = re.compile(r"\bsp\s?(\d)\b", re.I)
WIDTH = re.compile(r"\b(?:IA-?32|(?:Intel )?64|32)\b[- ]?(?:bit)?", re.I)
WRITTEN_VERSION = re.compile(r"\bv(?:ersion)?[\s:]*(\d+)(?:\.(\d+))?", re.I | re.A)


class Product(NamedTuple):
    """A family of operating systems or compilers, and its version as a number.

    The first two parts count: 12.1.0.225 is 12.1.
    """

    family: str | None = None
    version: float | None = None


def year(text: str) -> float | None:
    """Parse a date as a year with the elapsed months as twelfths: May 2012 is 2012.333.

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
    """Return a year with its elapsed months as twelfths."""
    return full + (month - 1) / 12 if 1 <= month <= 12 else None


def operating_system(text: str) -> Product:
    """Parse the family and version of an operating system.

    A service pack counts as the second part of the version.

    Examples
    --------
    >>> operating_system("SUSE Linux Enterprise Server 11 SP2 (x86_64), 3.0.13-0.27-default")
    Product(family='SUSE', version=11.2)
    """
    match = _family(text, SYSTEMS)
    if match is None:
        return Product()
    family, remainder = match
    if re.match(r"[^\d]*\(?x86_64\)?,?\s*(?:kernel)?\s*\d", remainder, re.I) or family == "Linux":
        return Product(family)
    pack = SERVICE_PACK.search(remainder)
    number = NUMBER.search(WIDTH.sub("", remainder))
    if family == "SUSE" and number and pack and not number[2]:
        return Product(family, float(f"{number[1]}.{pack[1]}"))
    return Product(family, _version(number))


def compiler(text: str) -> Product:
    """Parse the family and version of the first compiler that a text names.

    Examples
    --------
    >>> intel = compiler("C/C++: Version 12.1.0.225 of Intel C++ Studio XE, for Linux")
    >>> intel, compiler("GCC 12.2.0")
    (Product(family='Intel', version=12.1), Product(family='GCC', version=12.2))
    """
    match = _family(text, COMPILERS)
    if match is None:
        return Product()
    family, remainder = match
    return Product(
        family, _version(WRITTEN_VERSION.search(text) or NUMBER.search(WIDTH.sub("", remainder)))
    )


def _family(text: str, patterns: tuple[tuple[str, re.Pattern[str]], ...]) -> tuple[str, str] | None:
    """Return the first family that a text names, and the text after its name."""
    for family, pattern in patterns:
        match = pattern.search(text)
        if match:
            return family, text[match.end() :]
    return None


def _version(match: re.Match[str] | None) -> float | None:
    """Return the first two parts of a version as a number."""
    return float(f"{match[1]}.{match[2] or 0}") if match else None


def file_system(text: str) -> str | None:
    """Parse the name of the first file system that a text names, in lower case.

    Examples
    --------
    >>> file_system("OS on zfs, Benchmark on ufs"), file_system("NTFS"), file_system("local")
    ('zfs', 'ntfs', None)
    """
    match = FILE_SYSTEMS.search(text)
    return match[1].lower() if match else None


def yes_or_no(text: str) -> bool | None:
    """Parse yes or no, on or off, true or false.

    Examples
    --------
    >>> yes_or_no("Yes"), yes_or_no("no"), yes_or_no("perhaps")
    (True, False, None)
    """
    return {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}.get(
        text.strip().lower()
    )


def flags(text: str) -> tuple[str, ...]:
    """Split compiler options into distinct flags, in order.

    A label without blanks is split at `-O`, `-f`, `-m` and `-l`.

    Examples
    --------
    >>> flags("-O3 -march=native -flto"), flags("O3-march=native-flto")
    (('-O3', '-march=native', '-flto'), ('-O3', '-march=native', '-flto'))
    """
    words = text.split()
    if len(words) == 1 and not text.strip().startswith(("-", "/")):
        words = [f"-{word}" for word in re.split(r"-(?=[Ofml])", words[0])]
    return tuple(
        dict.fromkeys(word for word in words if word.startswith(("-", "/")) and len(word) > 1)
    )
