"""Entries of a file that have no number: each is NaN in its place, and one note names them with their reasons."""

from math import isnan, nan
from typing import Any

from perfarray.readers.labels import LISTED_NAMES
from perfarray.readers.numbers import number
from perfarray.readers.opening import Source
from perfarray.readers.shapes import NUMBER

LISTED_REASONS = 5  # Entries that the sentence of a note names
SHOWN = 60  # Characters of a name or a text in a note


class Unmeasured:
    """The entries of one file that have no number, with their reasons."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._reasons: list[tuple[str, str]] = []

    def number(self, name: str, key: str, value: Any, *, lowest: float = 0.0) -> float:
        """Return a finite number from `lowest` on, or NaN with the reason."""
        parsed = parsed_number(value)
        if parsed is None or parsed < lowest:
            self.add(name, f"{key} is {repr(value)[:SHOWN]}")
            return nan
        return parsed

    def add(self, name: str, reason: str) -> None:
        """Add an entry and the reason why it has no number."""
        self._reasons.append((name, reason))

    def note(self) -> None:
        """Note the entries, if there are any."""
        if not self._reasons:
            return
        count, shown = len(self._reasons), self._reasons[:LISTED_REASONS]
        entries = ", ".join(f"{name[:SHOWN]!r} ({reason})" for name, reason in shown)
        more = f" and {count - len(shown)} more" if count > len(shown) else ""
        self._source.note(
            "not_measured",
            f"{count} {'entry has' if count == 1 else 'entries have'} no number: {entries}{more}. "
            f"{'It was' if count == 1 else 'They were'} not measured, and all others are read.",
            entries=count,
            names=[name for name, _ in self._reasons[:LISTED_NAMES]],
        )


def parsed_number(value: Any) -> float | None:
    """Return a number of JSON, or the text of one, if it is finite; else None."""
    if isinstance(value, str):
        return number(value)
    return float(value) if NUMBER.fits(value) and not isnan(value) else None
