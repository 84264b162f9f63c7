"""The door for texts: a list of strings, or an error that names the row."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils._missing import is_pandas_na, is_scalar_nan

from ..._ground.tables import readable


def read_texts(X: Any) -> list[str]:
    """The texts of a list, an array, a series or a table of one column."""
    if isinstance(X, str | bytes):
        raise ValueError("X is a single text, but a list of texts is needed; pass [text].")
    texts = _column(X)
    if not texts:
        raise ValueError(
            "Found array with 0 sample(s) (shape=(0,)) while a minimum of 1 is required: X has no "
            "texts."
        )
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            shown = text.item() if isinstance(text, np.generic) else text
            raise ValueError(f"X has {shown!r} in row {row}, which is not text; {_cure(text)}.")
    return texts


def _column(X: Any) -> list[Any]:
    """The only column of X."""
    X = readable(X) if hasattr(type(X), "columns") else X
    shape = getattr(X, "shape", None)
    has_no_order = isinstance(X, Mapping | Set)
    if sp.issparse(X) or shape == () or has_no_order or not hasattr(X, "__iter__"):
        raise ValueError(
            f"X is a {type(X).__name__}, but texts are needed: a list or a column of strings."
        )
    if shape is None or len(shape) == 1:
        return list(X)
    if len(shape) != 2 or shape[1] != 1:
        raise ValueError(
            f"X has the shape {tuple(shape)}, but texts are one column; select one column, such "
            'as X["text"], or join the columns into one text for each row.'
        )
    return list(X[X.columns[0]] if hasattr(X, "columns") else X[:, 0])


def _cure(value: Any) -> str:
    """What to do about an entry that is no string."""
    if isinstance(value, bytes):
        return 'decode it, e.g. with value.decode("utf-8")'
    if isinstance(value, list | tuple | np.ndarray):
        return "give one string for each row, such as its words joined by spaces"
    if value is None or is_pandas_na(value) or is_scalar_nan(value):
        return 'fill missing texts, e.g. with "", or drop the row'
    return "give strings, e.g. by str(value), or use a model for numbers"
