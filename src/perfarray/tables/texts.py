"""Texts of a long table: a blank at an end of a label does not make another label."""

from collections.abc import Collection, Iterable

import numpy as np
import pandas as pd


def without_blanks(frame: pd.DataFrame, values: Collection[str]) -> pd.DataFrame:
    """Return a table whose texts have no blanks at their ends, or are missing if empty.

    `values` are no texts.

    Raises
    ------
    ValueError
        For a column of lists, records or complex numbers.
    """
    labels = {name: _labels(column) for name, column in frame.items()}
    columns = {
        name: _stripped(column, labels[name])
        for name, column in frame.items()
        if name not in values
    }
    changed = {name: column for name, column in columns.items() if column is not None}
    if not changed:
        return frame
    frame = frame.copy(deep=False)
    for name, column in changed.items():
        frame[name] = column
    return frame


def _labels(column: pd.Series) -> Iterable[object]:
    """Return the distinct objects of a column; none for one of numbers or moments."""
    try:
        if column.dtype.kind == "c":
            raise TypeError
        return column.unique() if column.dtype.kind == "O" else ()
    except (TypeError, NotImplementedError):  # pandas and Arrow compare no lists and no records
        text = (
            f"column {column.name!r} holds {column.iloc[0]!s:.40}, which is neither a number "
            "nor a label. Write it as text, or drop it"
        )
        raise ValueError(text) from None


def _stripped(column: pd.Series, labels: Iterable[object]) -> pd.Series | None:
    """Return a column of texts without blanks at their ends, None for one that has none."""
    if column.dtype.kind != "O":
        return None
    stripped = {
        label: label.strip() or None
        for label in labels
        if isinstance(label, str) and (not label or label != label.strip())
    }
    texts = (
        column.astype(object).map(lambda label: stripped.get(label, label)) if stripped else column
    )
    # A CSV file does not say of which type an empty column is.
    if len(texts) and pd.isna(texts.iloc[0]) and texts.isna().all():
        return pd.Series(np.nan, index=column.index, name=column.name)
    return texts if stripped else None
