"""What a report that is sent away does not name: machines, files, users, hosts, paths."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import xarray as xr

from perfarray.conventions import MACHINE
from perfarray.reports.sections import Content

NAMES = (MACHINE, "file")
"""Coordinates whose labels are numbered."""

PRIVATE = re.compile(r"user|host|tester|builder|licen[cs]e|path|folder|directory|email|(^|_)ip($|_)|command", re.IGNORECASE)
"""Coordinates and attrs that are left out."""

PATH = re.compile(r"(?<![^\s'\"=:,;(\[])(-[IL])?(~|[A-Za-z]:)?((?:[/\\][\w.@+~-]++)+)([/\\][\w.@+~-]*+)")
"""A path from the root or from home, of two parts or more: its folders, and its end."""

ADDRESS = re.compile(
    r"(?<![\w.+-])[\w.+-]++@[\w-]++(\.[A-Za-z][\w-]*+)+|(?<![\w.-])[\w-]++(\.[\w-]++)+(?<=\.(com|org|net|edu|gov|lan))(?![\w.])"
)
"""Mail addresses, and hosts with a domain, inside texts."""

GONE = "[left out]"


class Redaction(NamedTuple):
    """What stands for each label that is hidden."""

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
        """Return what stands for one label."""
        return self.aliases.get(label, label) if isinstance(label, str) else label

    def times(self, times: xr.DataArray | xr.Dataset) -> xr.DataArray | xr.Dataset:
        """Return timings with what is hidden replaced in coordinates, and private ones left out."""
        times = times.drop_vars([name for name in times.coords if PRIVATE.search(str(name)) and name not in times.dims])
        hidden = {}
        for name, label in times.coords.items():
            if label.dtype.kind in "OUT" and label.ndim < 2:
                texts = [self.hide(label_text) for label_text in label.values.ravel().tolist()]
                hidden[name] = (label.dims, _apart(texts) if name in times.dims else texts, label.attrs) if label.dims else texts[0]
        public = {name: value for name, value in times.attrs.items() if not PRIVATE.search(str(name))}
        return times.assign_coords(hidden).assign_attrs(public)

    def hide(self, text: Any) -> Any:
        """Return a text without what is hidden; what is no text stays."""
        if not isinstance(text, str):
            return text
        if text in self.aliases:
            return self.aliases[text]
        for label in sorted(self.aliases, key=len, reverse=True):
            text = re.sub(rf"(?<!\w){re.escape(label)}(?!\w)", self.aliases[label], text)
        return ADDRESS.sub(GONE, PATH.sub(_end_of_path, text))

    def content(self, content: Content) -> Content:
        """Return a report in which sentences name nothing that is hidden."""
        sections = [
            section._replace(about=self.hide(section.about), notes=tuple(map(self.hide, section.notes))) for section in content.sections
        ]
        described = {name: self.hide(text) for name, text in content.described.items()}
        return content._replace(described=described, sections=sections, summary=tuple(map(self.hide, content.summary)))


def _end_of_path(match: re.Match[str]) -> str:
    """Return a path without its folders: the last part of two may be a user's name."""
    folders, end = match[3], match[4][1:]
    name_shown = end if end and folders.count("/") + folders.count("\\") > 1 else ""
    return (match[1] or "") + GONE + (f"/{name_shown}" if name_shown else "")


def _apart(labels: list[Any]) -> list[Any]:
    """Return labels that stay different where hiding made them alike."""
    counts: dict[Any, int] = {}
    for label in labels:
        counts[label] = counts.get(label, 0) + 1
    number = dict.fromkeys(counts, 0)
    distinct = []
    for label in labels:
        number[label] += 1
        distinct.append(f"{label} ({number[label]})" if counts[label] > 1 else label)
    return distinct
