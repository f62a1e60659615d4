"""Texts of a long table: a blank at either end of a label is not visible to anyone, and does not make another label."""

from collections.abc import Collection

import numpy as np
import pandas as pd


def without_blanks(frame: pd.DataFrame, values: Collection[str]) -> pd.DataFrame:
    """Return a table whose texts have no blanks at their ends, and are missing where they have nothing else; `values` are no texts."""
    columns = {name: _stripped(column) for name, column in frame.items() if name not in values}
    changed = {name: column for name, column in columns.items() if column is not None}
    if not changed:
        return frame
    frame = frame.copy(deep=False)
    for name, column in changed.items():
        frame[name] = column
    return frame


def _stripped(column: pd.Series) -> pd.Series | None:
    """Return a column of texts without blanks at their ends, None for one that has none."""
    is_text = isinstance(column.dtype, pd.CategoricalDtype) or column.dtype == object or pd.api.types.is_string_dtype(column)
    if not is_text:
        return None
    stripped = {
        label: label.strip() or None for label in column.unique() if isinstance(label, str) and (not label or label != label.strip())
    }
    texts = column.astype(object).map(lambda label: stripped.get(label, label)) if stripped else column
    if len(texts) and pd.isna(texts.iloc[0]) and texts.isna().all():  # a CSV file does not say of which type an empty column is
        return pd.Series(np.nan, index=column.index, name=column.name)
    return texts if stripped else None
