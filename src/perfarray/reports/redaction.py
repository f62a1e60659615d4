"""Redaction of reports that are sent away: machines and files are numbered; users, hosts and paths are left out."""

import re
from collections import Counter
from collections.abc import Mapping
from itertools import count
from typing import Any, Final, NamedTuple

import xarray as xr

from perfarray.conventions import MACHINE
from perfarray.reports.sections import Content

NAMES: Final = (MACHINE, "file")  # coordinates whose labels are numbered
# Coordinates and attrs that are left out.
PRIVATE: Final = re.compile(r"user|host|tester|builder|licen[cs]e|path|folder|directory|email|(^|_)ip($|_)|command", re.IGNORECASE)
# A path from the root or from home, of two parts or more: its folders, and its last part.
PATH: Final = re.compile(r"(?<![^\s'\"=:,;(\[])(-[IL])?(~|[A-Za-z]:)?((?:[/\\][\w.@+~-]++)+)([/\\][\w.@+~-]*+)")
# Mail addresses, and hosts with a domain, inside texts.
ADDRESS: Final = re.compile(
    r"(?<![\w.+-])[\w.+-]++@[\w-]++(\.[A-Za-z][\w-]*+)+|(?<![\w.-])[\w-]++(\.[\w-]++)+(?<=\.(com|org|net|edu|gov|lan))(?![\w.])"
)
LEFT_OUT: Final = "[left out]"


class Redaction(NamedTuple):
    """The aliases of hidden labels."""

    aliases: Mapping[str, str]

    @classmethod
    def of(cls, times: xr.DataArray | xr.Dataset) -> "Redaction":
        """Number the labels of machines and files."""
        aliases: dict[str, str] = {}
        for name in (name for name in NAMES if name in times.coords):
            labels = dict.fromkeys(str(label) for label in times[name].values.ravel().tolist())
            aliases |= {label: f"{name} {number}" for number, label in enumerate(labels, 1) if not label.isdigit()}
        return cls(aliases)

    def label(self, label: Any) -> Any:
        """Return the alias of a label, or the label where nothing is hidden."""
        return self.aliases.get(label, label) if isinstance(label, str) else label

    def times(self, times: xr.DataArray | xr.Dataset) -> xr.DataArray | xr.Dataset:
        """Return timings without private coordinates and attrs, with aliases in the others."""
        times = times.drop_vars([name for name in times.coords if PRIVATE.search(str(name)) and name not in times.dims])
        hidden = {}
        for name, coordinate in times.coords.items():
            if coordinate.dtype.kind in "OUT" and coordinate.ndim < 2:
                labels = [self.hide(label) for label in coordinate.values.ravel().tolist()]
                labels = _distinct(labels) if name in times.dims else labels
                hidden[name] = (coordinate.dims, labels, coordinate.attrs) if coordinate.dims else labels[0]
        times = times.assign_coords(hidden)
        times.attrs = {name: value for name, value in times.attrs.items() if not PRIVATE.search(str(name))}
        return times

    def hide(self, text: Any) -> Any:
        """Return a text with aliases and without addresses and paths; other objects stay."""
        if not isinstance(text, str):
            return text
        if text in self.aliases:
            return self.aliases[text]
        for label in sorted(self.aliases, key=len, reverse=True):
            text = re.sub(rf"(?<!\w){re.escape(label)}(?!\w)", self.aliases[label], text)
        return ADDRESS.sub(LEFT_OUT, PATH.sub(_end_of_path, text))

    def content(self, content: Content) -> Content:
        """Return a report whose sentences name nothing that is hidden."""
        sections = [
            section._replace(about=self.hide(section.about), notes=tuple(map(self.hide, section.notes))) for section in content.sections
        ]
        described = {name: self.hide(text) for name, text in content.described.items()}
        return content._replace(described=described, sections=sections, summary=tuple(map(self.hide, content.summary)))


def _end_of_path(match: re.Match[str]) -> str:
    """Return a path without its folders; of two parts the last may be a user's name, and is left out as well."""
    folders, end = match[3], match[4][1:]
    is_long = folders.count("/") + folders.count("\\") > 1
    return (match[1] or "") + LEFT_OUT + (f"/{end}" if end and is_long else "")


def _distinct(labels: list[Any]) -> list[Any]:
    """Number labels that redaction made equal."""
    frequency = Counter(labels)
    numbers = {label: count(1) for label in frequency}
    return [f"{label} ({next(numbers[label])})" if frequency[label] > 1 else label for label in labels]
