"""`in_parts` opens anything that has rows as a table in parts."""

from __future__ import annotations

import importlib
import numbers
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._ground.tables import is_file_of_rows
from .sources import (
    ArraySource,
    DaskSource,
    Source,
    of_dask,
    of_frame,
    open_files,
    rewritten,
)

Array = np.ndarray

# A part is as many rows as make up so many bytes, a power of two between two limits, so that it
# stays in the cache while it is used; files are read some parts at a time.
PART_BYTES, FEWEST_ROWS, MOST_ROWS = 8 << 20, 256, 1 << 16
# Tables of polars and pyarrow that are not in memory.
LAZY = ("LazyFrame", "Dataset", "FileSystemDataset", "UnionDataset", "InMemoryDataset")


@dataclass(frozen=True, eq=False)
class Parts:
    """A table as a sequence of parts; made by `in_parts`, accepted as X by `fit` and `predict`.

    Attributes
    ----------
    source : Source
        Where the rows are.
    columns : tuple
        The columns that are features: names, or positions if they have none. Once `fit` knows the
        target, it is not among them.
    rows : int
        The rows of each part, but for the last.
    client : dask.distributed.Client or None
        The cluster whose workers read and sum the parts; None for this process.
    """

    source: Source
    columns: tuple[Any, ...]
    rows: int
    client: Any = None

    # Models that need all rows in memory recognise it by this.
    __in_parts__ = True

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.source.n

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.n, len(self.columns)

    def __len__(self) -> int:
        return -(-self.n // self.rows)

    def __repr__(self) -> str:
        where = "" if self.client is None else ", on a cluster"
        return (
            f"<Parts: {self.n} rows × {len(self.columns)} columns in {len(self)} parts of "
            f"{self.rows}{where}>"
        )

    def __iter__(self) -> Iterator[Array]:
        """The parts, as arrays (rows, columns)."""
        for first in range(0, self.n, self.rows):
            last = min(first + self.rows, self.n)
            yield self.source.read(first, last, self.columns, ())[0]

    def map(self, function: Callable[[Array], Any]) -> Iterator[Any]:
        """function(part) of each part, such as `model.predict`; only one is in memory at a time."""
        return map(function, self)


def in_parts(
    source: Any,
    *,
    columns: Sequence[str] | None = None,
    rows: int | None = None,
    client: Any = None,
) -> Parts:
    """Open a table that may be larger than memory, to fit models on it part by part.

    Parameters
    ----------
    source : path, list of paths, polars.LazyFrame, pyarrow dataset, Dask array or frame, or array
        The table. Parquet and Arrow files are read where they are; texts (CSV) and queries are
        written once to Parquet in a temporary folder, which disappears with the result.
    columns : sequence of str, default=None
        The columns to use, target and weights not counted; None for all.
    rows : int, default=None
        Rows of each part; None for about 8 MB. Sums are taken part by part, so results have the
        same bits wherever and however the parts are read, as long as this number is the same.
    client : dask.distributed.Client, default=None
        A cluster whose workers read and sum the parts; they must see the files under the same
        names. A Dask collection uses the client of its process, if there is one.

    Returns
    -------
    parts : Parts
        The table; pass it as X.

    Examples
    --------
    >>> import numpy as np
    >>> from gapless import LinearRegression, in_parts
    >>> X = np.arange(20.0).reshape(10, 2)
    >>> parts = in_parts(X, rows=4)
    >>> parts
    <Parts: 10 rows × 2 columns in 3 parts of 4>
    >>> LinearRegression().fit(parts, X[:, 0] + 1).predict([[2.0, 3.0]]).round(6)
    array([3.])
    """
    if isinstance(source, Parts):
        found, client = source.source, client or source.client
        columns = source.columns if columns is None else columns
        rows = source.rows if rows is None else rows
    else:
        found = _opened(source)
        if client is None and isinstance(found, DaskSource):
            client = _known_client()
    if not found.n:
        raise ValueError("the table has 0 rows; at least 1 is needed.")
    chosen = _columns(found, columns)
    if rows is None:
        fitting = PART_BYTES // (8 * max(len(chosen), 1))
        rows = 1 << max(min(fitting, MOST_ROWS), FEWEST_ROWS).bit_length() - 1
    if not isinstance(rows, numbers.Integral) or rows < 1:
        raise ValueError(f"rows must be a whole number and at least 1, got {rows!r}.")
    return Parts(found, chosen, int(rows), client)


def is_in_parts(X: Any) -> bool:
    """Whether X is a table that is read in parts: Parts, a path, a query, a Dask collection."""
    return isinstance(X, Parts) or _names_tables(X) or _is_lazy(X) or _is_dask(X)


def _names_tables(X: Any) -> bool:
    """Whether X is the path of a table, or a list of them, and not texts."""
    some = X if isinstance(X, list | tuple) and X else [X]
    return all(map(is_file_of_rows, some))


def _columns(source: Source, columns: Sequence[Any] | None) -> tuple[Any, ...]:
    names = range(source.width) if source.names is None else source.names
    if columns is None:
        return tuple(names)
    if isinstance(columns, str):
        raise ValueError(f"columns must be a list of names, got {columns!r}; pass [{columns!r}].")
    twice = next((name for k, name in enumerate(columns) if name in columns[:k]), None)
    if twice is not None:
        raise ValueError(f"columns has {twice!r} twice; leave one out.")
    missing = [name for name in columns if name not in names]
    if missing:
        raise ValueError(
            f"the table has no column {missing[0]!r}; its columns are {_listed(names)}."
        )
    return tuple(columns)


def _listed(names: Sequence[Any]) -> str:
    shown = ", ".join(repr(name) for name in list(names)[:20])
    return shown if len(names) <= 20 else f"{shown} and {len(names) - 20} more"


def _opened(source: Any) -> Source:
    if _is_path(source):
        return open_files(_files_at(source))
    if _are_paths(source):
        return open_files([file for path in source for file in _files_at(path)])
    if _is_dask(source):
        return of_dask(source)
    if _is_lazy(source):
        if hasattr(source, "sink_parquet"):
            return rewritten(source, "the query")
        return _of_dataset(source)
    return _of_memory(source)


def _is_path(source: Any) -> bool:
    return isinstance(source, str | os.PathLike)


def _are_paths(source: Any) -> bool:
    return isinstance(source, list | tuple) and bool(source) and all(map(_is_path, source))


def _is_lazy(source: Any) -> bool:
    home = type(source).__module__.partition(".")[0]
    return home in ("polars", "pyarrow") and type(source).__name__ in LAZY


def _is_dask(source: Any) -> bool:
    return hasattr(source, "__dask_graph__")


def _files_at(path: Any) -> list[str]:
    """The file, or the Parquet files of a folder in the order of their names."""
    path = Path(path)
    if not path.is_dir():
        return [str(path)]
    files = sorted(str(each) for each in path.rglob("*.parquet"))
    if not files:
        raise FileNotFoundError(f"the folder {path} has no Parquet files.")
    return files


def _of_dataset(source: Any) -> Source:
    """A pyarrow dataset: its files, or what its scan gives."""
    files = getattr(source, "files", None)
    if files and getattr(source.format, "default_extname", "") == "parquet":
        return open_files(files)
    polars = importlib.import_module("polars")
    return rewritten(polars.scan_pyarrow_dataset(source), "the dataset")


def _of_memory(source: Any) -> Source:
    if hasattr(source, "toarray"):
        raise TypeError("sparse matrices cannot be read in parts; fit them in memory.")
    names = getattr(source, "columns", None)
    X = source.to_numpy() if hasattr(source, "to_numpy") else np.asarray(source)
    if names is not None and X.dtype.kind not in "fiub":
        return of_frame(source)
    if X.ndim != 2:
        raise ValueError(f"a table in parts has rows and columns, got an array of shape {X.shape}.")
    if X.dtype.kind not in "fiub":
        raise ValueError(f"tables in parts take numbers alone, got {X.dtype}; leave the rest out.")
    return ArraySource(X, None if names is None else tuple(map(str, names)))


def _known_client() -> Any:
    """The client of this process, if it has one."""
    try:
        distributed = importlib.import_module("distributed")
    except ImportError:
        return None
    try:
        return distributed.get_client()
    except ValueError:
        return None
