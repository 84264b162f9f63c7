"""The forms in which X may come, and what no model takes: dates, complex numbers, equal names.

Arrays, sparse matrices, lists, and tables of pandas and polars are read as they are. All other
tables that support Arrow, such as pyarrow's, become polars tables.
"""

from __future__ import annotations

import importlib
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Set
from typing import Any

import numpy as np
import scipy.sparse as sp

# Beginnings of the names of time types in pandas, polars and NumPy.
DATES = ("date", "time", "duration", "period")
# Methods that compute lazy tables.
COMPUTED_BY = ("collect", "compute")
ARROW = "__arrow_c_stream__"
# Endings of files with rows.
FILES = (".parquet", ".pq", ".arrow", ".feather", ".ipc", ".csv", ".tsv", ".txt")
# What to do about a table that does not fit into memory.
IN_PARTS = (
    "or a sample of the rows; linear models, PCA, KMeans, GaussianNB and other models with sums "
    "over rows can be fitted to tables in parts"
)


def readable(X: Any, takes_sparse: Callable[[], bool] = lambda: False, *, name: str = "X") -> Any:
    """X in a form that all parts know, or an error that says how to convert it.

    Parameters
    ----------
    X : array-like, sparse matrix, or table
        The caller's rows.
    takes_sparse : callable, default=lambda: False
        Called for pandas tables with sparse columns: whether the reader takes a sparse matrix in
        place of such a table. If not, the columns become dense.
    name : str, default="X"
        Its name in errors: "y" for targets.
    """
    if name == "X":
        refuse_parts(X)
    if isinstance(X, np.ma.MaskedArray):
        return _filled(X)
    if isinstance(X, np.ndarray) or sp.issparse(X):
        _refuse_fields(X, name)
        return X
    if is_pandas(X):
        return _of_usual_columns(X, takes_sparse)
    if hasattr(X, "get_columns") or isinstance(X, list | tuple):
        return X
    if isinstance(X, Mapping | Set | Iterator) or X is None:
        what = "None" if X is None else f"a {type(X).__name__}"
        raise TypeError(f"{name} is {what}, which has no rows; pass an array, a table or a list.")
    if hasattr(type(X), "columns"):
        _refuse_plans(X, name)
    # Single columns support Arrow too, but are arrays.
    if hasattr(X, ARROW) and (hasattr(X, "column_names") or not hasattr(X, "__array__")):
        return _of_arrow(X, name)
    return X


def refuse_parts(X: Any) -> None:
    """Raise an error if X is a table that is not in memory."""
    if isinstance(X, str | os.PathLike):
        if not is_file_of_rows(X):
            return
        what, cure = f"the path {os.fspath(X)!r}", "read it, e.g. with polars"
    elif getattr(X, "__in_parts__", False):
        what, cure = "a table in parts", "pass an array"
    elif hasattr(X, "__dask_graph__"):
        what, cure = f"a Dask {type(X).__name__}", "call .compute() first"
    else:
        return
    raise TypeError(f"X is {what}, and this needs all rows in memory; {cure}, {IN_PARTS}.")


def is_file_of_rows(X: Any) -> bool:
    """Whether X is a path, or a text that ends as the names of tables do."""
    return isinstance(X, os.PathLike) or (isinstance(X, str) and X.lower().endswith(FILES))


def is_pandas(X: Any) -> bool:
    """Whether X is a table of pandas, or of a similar library."""
    return hasattr(X, "iloc") and hasattr(X, "columns")


def _filled(X: np.ma.MaskedArray) -> np.ndarray:
    """Replace masked entries by missing values."""
    if not np.ma.is_masked(X):
        return np.asarray(X)
    return np.ma.filled(X.astype(np.result_type(X.dtype, np.float32)), np.nan)


def _refuse_fields(X: Any, name: str) -> None:
    """Raise an error if the entries of an array are records, whose fields would be columns."""
    if X.dtype.kind == "V":
        raise TypeError(
            f"{name} is an array of records ({X.dtype}), not numbers; pass a table, e.g. "
            f"pandas.DataFrame({name})."
        )


def _refuse_plans(X: Any, name: str) -> None:
    """Raise an error if a table is lazy, such as a query: its rows have no order yet."""
    for method in COMPUTED_BY:
        if callable(getattr(type(X), method, None)):
            raise TypeError(
                f"{name} is a {type(X).__name__}, whose rows are not computed yet; call "
                f".{method}() first{f', {IN_PARTS}' if name == 'X' else ''}."
            )


def _of_arrow(X: Any, name: str) -> Any:
    """A table that supports Arrow as one of polars, which shares its memory."""
    _refuse_twice(list(getattr(X, "column_names", ())))
    # Imported here, since few have such tables, and polars takes a tenth of a second.
    polars = importlib.import_module("polars")
    try:
        return polars.DataFrame(X)
    except Exception as error:
        raise TypeError(
            f"{name} is a {type(X).__name__} that cannot be read as a table ({error}); pass a "
            "pandas or polars table, or an array."
        ) from error


def _of_usual_columns(X: Any, takes_sparse: Callable[[], bool]) -> Any:
    """A pandas table with its sparse columns made dense, unless all of it is a sparse matrix."""
    sparse = [kind for kind in X.dtypes if hasattr(kind, "fill_value")]
    if not sparse:
        return X
    is_matrix = len(sparse) == X.shape[1] and all(kind.fill_value == 0 for kind in sparse)
    if is_matrix and takes_sparse():
        return X
    refuse_equal_names(X)
    kinds = {name: kind.subtype for name, kind in X.dtypes.items() if hasattr(kind, "fill_value")}
    return X.astype(kinds)


def refuse_equal_names(X: Any) -> None:
    """Raise an error that names equal columns of a pandas table; other tables cannot have any."""
    if is_pandas(X) and not X.columns.is_unique:
        _refuse_twice(X.columns.tolist())


def _refuse_twice(names: list[Any]) -> None:
    for name, count in Counter(names).most_common(1):
        if count > 1:
            raise ValueError(
                f"X has {count} columns called {name!r}, so none of them can be named; rename "
                "them, or drop all but one."
            )


def refuse_complex(labels: Any, *, name: str) -> None:
    """Raise an error if an array holds complex numbers, which have no order."""
    kind = getattr(labels, "dtype", None)
    if isinstance(kind, np.dtype) and kind.kind == "c":
        raise complex_error(name, kind)


def refuse_no_numbers(X: Any, *, name: str = "X") -> None:
    """Raise an error that names the column or array with dates, durations or complex numbers."""
    columns = getattr(X, "columns", None)
    if columns is not None and hasattr(X, "dtypes"):
        for column, kind in zip(columns, X.dtypes):
            _refuse_kind(f"column {str(column)!r} of {name}", kind)
    elif hasattr(X, "dtype"):
        _refuse_kind(name, X.dtype)


def _refuse_kind(what: str, kind: Any) -> None:
    # Types of pandas and polars are recognised by their names.
    is_plain = isinstance(kind, np.dtype)
    if kind.kind in "mM" if is_plain else str(kind).lower().startswith(DATES):
        raise dates_error(what, kind)
    if is_plain and kind.kind == "c":
        raise complex_error(what, kind)


def dates_error(what: str, kind: Any) -> ValueError:
    """An error that says where dates are, and what to do."""
    return ValueError(
        f"{what} holds dates ({kind}); turn them into numbers, e.g. days since the first, or "
        f"drop {'the column' if ' ' in what else 'them'}."
    )


def complex_error(what: str, kind: Any) -> ValueError:
    """An error that says where complex numbers are, and what to do."""
    return ValueError(
        f"Complex data not supported: {what} holds complex numbers ({kind}); pass real numbers, "
        "e.g. the real and the imaginary parts as two columns."
    )
