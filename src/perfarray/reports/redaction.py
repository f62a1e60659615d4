"""Redaction of reports that are sent away: machines and files are numbered.

Users, hosts and paths are left out.
"""

import re
from collections import Counter
from collections.abc import Mapping
from ipaddress import ip_address
from itertools import count
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr

from perfarray.conventions import MACHINE
from perfarray.reports.sections import Content
from perfarray.timings.notes import NOTES

NAMES: Final = (MACHINE, "file")  # coordinates whose labels are numbered
PEOPLE: Final = re.compile(
    r"user|host|tester|builder|email", re.IGNORECASE
)  # and dims whose labels are
# Coordinates and attrs that are left out.
PRIVATE: Final = re.compile(
    r"user|host|tester|builder|licen[cs]e|path|folder|directory|email|(^|_)ip($|_)|command",
    re.IGNORECASE,
)
LEFT_OUT: Final = "[left out]"

# A variable of the environment, before its value; a number is no name.
VARIABLE: Final = re.compile(
    r"""\b((?:user(?:name|profile)?|logname|home|pwd|host(?:name)?)=)(?!\d+\b)(?:"[^"]*"|'[^']*'|[^\s'"`,;)\]]+)""",
    re.IGNORECASE,
)
# Also what `git` and `scp` take: a name at a host, and a path. No scheme has more than 64 letters;
# without a limit the time of a search would grow with the square of the text.
URL: Final = re.compile(
    r"""\b(?!file:)[a-z][\w+.-]{0,63}://[^\s'"`<>)\]]+|(?<![\w.+-])[\w.+-]++@[\w.-]++:[\w./~][^\s'"`<>)\]]*""",
    re.IGNORECASE,
)
# what may stand before a path; after `::` a destructor may follow
BEFORE: Final = r"""(?<![^\s'"`=:,;(\[{<@])(?<!::)"""
PART: Final = r"[/\\]{1,2}[\w.@+~%$-]++"
# Behind an option or `file:`, a path of two parts or more from the root, or of one or more from a
# user's home or the folder above.
PATH: Final = re.compile(
    rf"{BEFORE}(-\w{{1,9}}|\d?>{{1,2}})?((?i:file:(?://[\w.-]*)?)?(?:(?:~|[A-Za-z]:|\$\{{?\w+\}}?)?(?:{PART}){{2,}}|(?:~[\w.-]+|\.\.)(?:{PART})+)[/\\]*)"
)
HOMES: Final = (
    "home",
    "homes",
    "people",
    "staff",
    "u",
    "user",
    "users",
)  # folders whose folders are named like users
USER: Final = re.compile(rf"{BEFORE}~[A-Za-z_][\w.-]+")
# Domains that are no words and no suffixes of files; the others need three parts, none of them a
# word of a package's name.
DOMAINS: Final = (
    "com|org|net|edu|gov|mil|lan|local|localdomain|internal|intranet|intra|corp|arpa|au|bg|br|ca|ch|cl|cn|cz|de|dk|ee|eu|fi|fr|gr|hk|hr|"
    "hu|ie|il|ir|jp|ke|kr|kz|lv|mx|nl|nz|ph|pk|pt|ro|ru|sg|sk|tw|ua|uk|uy|vn|za"
)
DOUBTFUL: Final = (
    "ae|am|ar|at|be|by|co|es|id|in|io|is|it|lt|lu|ma|me|my|no|pe|pl|sa|se|si|th|to|tr|tv|us|ve"
)
SECOND: Final = "ac|co|com|edu|gov|net|org"
HOST: Final = (
    rf"[\w-]++(?:\.[\w-]++)*?\.(?:{DOMAINS}|(?:{SECOND})\.[a-z]{{2}})|"
    rf"(?!(?:{SECOND}|io|java|javax|jdk|scala)\.)[a-z0-9-]++(?:\.[a-z0-9-]++)+?\.(?:{DOUBTFUL})"
)
# Mail addresses, and hosts with a domain, inside texts.
ADDRESS: Final = re.compile(
    rf"(?<![\w.+-])[\w.+-]++@[\w-]++(?:\.[A-Za-z][\w-]*+)+|(?<![\w.-])(?:{HOST})(?!\w|[.-]\w)"
)
DIGITS: Final = re.compile(
    r"(?<![\w.-])(?:\d{1,3}\.){3}\d{1,3}(?!\w|[.-]\w)|(?<![\w:.])[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*[0-9A-Fa-f:](?:%\w+)?(?![\w:])"
)
FIRST_OF_VERSIONS: Final = 32  # Four numbers that begin with a smaller one are a version
# Before them stands what says that they are an address nevertheless
AT: Final = re.compile(r"(?:\b(?:addr|address|at|host|ip|on|server|via)|@)[\s:=]*$", re.IGNORECASE)


class Redaction(NamedTuple):
    """The aliases of hidden labels."""

    aliases: Mapping[str, str]

    @classmethod
    def of(cls, times: xr.DataArray | xr.Dataset) -> "Redaction":
        """Number the labels of machines and files."""
        aliases: dict[str, str] = {}
        people = [str(dim) for dim in times.dims if PEOPLE.search(str(dim))]
        for name in (name for name in (*NAMES, *people) if name in times.coords):
            labels = dict.fromkeys(str(label) for label in times[name].values.ravel().tolist())
            aliases |= {
                label: f"{name} {number}"
                for number, label in enumerate(labels, 1)
                if label and not label.isdigit()
            }
        return cls(aliases)

    def label(
        self, label: Any, times: xr.DataArray | xr.Dataset, redacted: xr.DataArray | xr.Dataset
    ) -> Any:
        """Return what a label of timings is in the redacted ones."""
        for dim in [str(dim) for dim in times.dims if dim in times.coords]:
            labels = times.coords[dim].values.tolist()
            if label in labels:
                return redacted.coords[dim].values.tolist()[labels.index(label)]
        return self.hide(label)

    def times(self, times: xr.DataArray | xr.Dataset) -> xr.DataArray | xr.Dataset:
        """Return timings without private coordinates and attrs, with aliases in the others."""
        times = times.drop_vars(
            [name for name in times.coords if PRIVATE.search(str(name)) and name not in times.dims]
        )
        hidden = {}
        for name, coordinate in times.coords.items():
            if coordinate.dtype.kind in "OUT":
                labels = [self.hide(label) for label in coordinate.values.ravel().tolist()]
                labels = _distinct(labels) if name in times.dims else labels
                values = np.fromiter(labels, dtype=object, count=coordinate.size).reshape(
                    coordinate.shape
                )
                hidden[name] = (coordinate.dims, values, coordinate.attrs)
        times = times.assign_coords(hidden)
        # Notes of reading name files and folders.
        times.attrs = {
            name: value
            for name, value in times.attrs.items()
            if name != NOTES and not PRIVATE.search(str(name))
        }
        return times

    def hide(self, text: Any) -> Any:
        """Return a text with aliases and without addresses and paths; other objects stay."""
        if not isinstance(text, str):
            return text
        if text in self.aliases:
            return self.aliases[text]
        for label in sorted(self.aliases, key=len, reverse=True):
            text = re.sub(rf"(?<!\w){re.escape(label)}(?!\w)", self.aliases[label], text)
        text = URL.sub(LEFT_OUT, VARIABLE.sub(rf"\1{LEFT_OUT}", text))
        text = USER.sub(LEFT_OUT, PATH.sub(_end_of_path, text))
        return DIGITS.sub(_numeric_address, ADDRESS.sub(LEFT_OUT, text))

    def content(self, content: Content) -> Content:
        """Return a report whose sentences name nothing that is hidden."""
        sections = [
            section._replace(
                explanation=self.hide(section.explanation),
                notes=tuple(map(self.hide, section.notes)),
            )
            for section in content.sections
        ]
        descriptors = {name: self.hide(text) for name, text in content.described.items()}
        return content._replace(
            described=descriptors, sections=sections, summary=tuple(map(self.hide, content.summary))
        )


def _end_of_path(match: re.Match[str]) -> str:
    """Return a path without its folders.

    Of two parts, or in a folder of homes, the last may be a user's name, and is left out, too.
    """
    option, path = match.groups(default="")
    folders = re.split(r"[/\\]+", re.sub(r"(?i)^file:(//[\w.-]*)?", "", path))
    n_above = len(folders) - folders[::-1].index("..") if ".." in folders else 0
    names = [
        name for name in folders[n_above:] if name and not re.fullmatch(r"~|[A-Za-z]:|\$.*", name)
    ]
    names = names[1:] if re.match(r"(//|\\\\)", path) else names  # a server
    is_named = folders[-1] and len(names) > 2 and names[-2].lower() not in HOMES
    return option + LEFT_OUT + (f"/{names[-1]}" if is_named else "")


def _numeric_address(match: re.Match[str]) -> str:
    """Return what stands for an address of numbers; versions, times and C++ names stay."""
    numbers = match[0]
    if re.fullmatch(r"(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}", numbers):  # of a network card
        return LEFT_OUT
    try:
        address = ip_address(numbers)
    except ValueError:
        return numbers
    if address.version == 4:
        is_stated = (
            address.is_private
            or int(numbers.partition(".")[0]) >= FIRST_OF_VERSIONS
            or AT.search(match.string[: match.start()])
        )
    else:
        is_stated = re.match(
            r"::\d|::[fF]{4}:|[23][0-9A-Fa-f]{3}:|[fF][cCdDeE][0-9A-Fa-f]{2}:", numbers
        )
    return LEFT_OUT if is_stated else numbers


def _distinct(labels: list[Any]) -> list[Any]:
    """Number labels that redaction made equal."""
    frequency = Counter(labels)
    numbers = {label: count(1) for label in frequency}
    return [
        f"{label} ({next(numbers[label])})" if frequency[label] > 1 else label for label in labels
    ]
