"""Where the rows of a table in parts come from: arrays, files, or the collections of Dask.

A source knows its number of rows and reads any range of them. It can be sent to another process,
which then reads the rows itself.
"""

from __future__ import annotations

import importlib
import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray

# Endings of files that are read where they are; texts are first rewritten as Parquet.
PARQUET, ARROW = (".parquet", ".pq"), (".arrow", ".feather", ".ipc")
TEXT = (".csv", ".tsv", ".txt")
ENDINGS = PARQUET + ARROW + TEXT
# Beginnings of the names of types of numbers, in polars and in NumPy.
NUMBERS = ("int", "uint", "float", "decimal", "bool")


class Unreadable(OSError):
    """A part of a table that cannot be read; the message names the file and the rows."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Some consecutive rows: numbers X (n, d) in C order, and the position of the first row.

    `y` and `weights` are (n,), None where the table has none.
    """

    X: Array
    first: int
    y: Array | None = None
    weights: Array | None = None

    def __len__(self) -> int:
        return len(self.X)

    def slice(self, start: int, stop: int) -> Rows:
        """The rows from `start` to `stop`, counted from the first of these."""
        cut = slice(start, stop)
        y = None if self.y is None else self.y[cut]
        weights = None if self.weights is None else self.weights[cut]
        return Rows(np.ascontiguousarray(self.X[cut]), self.first + start, y, weights)


class Source(ABC):
    """A table of `n` rows that can be read range by range."""

    n: int
    # The names of the columns; None for arrays, whose columns have none.
    names: tuple[str, ...] | None
    # The names of their types, where they may be other than numbers.
    types: dict[str, str] | None = None
    dtype: np.dtype

    @property
    @abstractmethod
    def width(self) -> int:
        """The number of columns."""

    @abstractmethod
    def read(
        self, first: int, last: int, features: Sequence[Any], others: Sequence[Any]
    ) -> tuple[Array, list[Array]]:
        """Rows first … last − 1: the features (n, d), and each of the other columns (n,)."""

    def check_features(self, features: Sequence[Any]) -> None:
        """Refuse columns that are no numbers, with an error that names the first."""
        _check_types(self.types or {}, features)

    def read_on(self, client: Any, run: Any, span: tuple[int, int], how: tuple, task: Any) -> Any:
        """The future of run(rows, task) for a range of rows, computed by a worker of a cluster."""
        return client.submit(_read_and_run, self, run, span, how, task, pure=False)


def _read_and_run(source: Source, run: Any, span: tuple[int, int], how: tuple, task: Any) -> Any:
    features, target, weights = how
    return run(rows_of(source, *span, features, target, weights), task)


def rows_of(
    source: Source,
    first: int,
    last: int,
    features: Sequence[Any],
    target: Any = None,
    weights: Any = None,
) -> Rows:
    """Rows of a source; target and weights are names of its columns, arrays of all rows, or None.

    Arrays may also be those of Dask, or hold just these rows.
    """
    named = [each for each in (target, weights) if isinstance(each, str)]
    X, others = source.read(first, last, features, named)
    found = iter(others)
    y, s = (
        next(found) if isinstance(each, str) else _range_of(each, first, last)
        for each in (target, weights)
    )
    return Rows(X, first, y, s)


def _range_of(values: Any, first: int, last: int) -> Array | None:
    """The entries of some rows, from an array of all rows or of these alone."""
    if values is None:
        return None
    if isinstance(values, Cut):
        return values.values
    cut = values[first:last]
    return np.asarray(cut.compute(scheduler="threads") if hasattr(cut, "compute") else cut)


@dataclass(frozen=True, eq=False)
class Cut:
    """The entries of the rows that go with it to a worker."""

    values: Any


class InMemory(Source):
    """A table in this process, whose rows are sent to workers."""

    @abstractmethod
    def cut(self, first: int, last: int) -> Source:
        """The table of the rows first … last − 1."""

    def read_on(self, client, run, span, how, task):
        """Send the rows along: the workers do not have them."""
        first, last = span
        part, sent = self.cut(first, last), _cut(how, first, last)
        return client.submit(_run_on_part, part, run, first, sent, task, pure=False)


@dataclass(frozen=True, eq=False)
class ArraySource(InMemory):
    """An array, or a table of numbers of one type."""

    X: Array
    names: tuple[str, ...] | None = None

    @property
    def n(self) -> int:  # type: ignore[override]
        return len(self.X)

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        return np.dtype(np.float32 if self.X.dtype == np.float32 else np.float64)

    @property
    def width(self) -> int:
        return self.X.shape[1]

    def read(self, first, last, features, others):
        rows = self.X[first:last]
        is_whole = len(features) == self.width
        X = rows if is_whole else rows[:, [self._position(each) for each in features]]
        columns = [rows[:, self._position(each)] for each in others]
        return np.ascontiguousarray(X, dtype=self.dtype), columns

    def _position(self, name: Any) -> int:
        return name if self.names is None else self.names.index(name)

    def cut(self, first, last):
        """The table of the rows first … last − 1."""
        return ArraySource(np.ascontiguousarray(self.X[first:last]), self.names)


@dataclass(frozen=True, eq=False)
class FrameSource(InMemory):
    """A table of polars with columns of several types, such as numbers and texts."""

    frame: Any

    @property
    def n(self) -> int:  # type: ignore[override]
        return self.frame.height

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(self.frame.columns)

    @property
    def types(self) -> dict[str, str]:  # type: ignore[override]
        return {name: str(kind) for name, kind in self.frame.schema.items()}

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        return np.dtype(np.float64)

    @property
    def width(self) -> int:
        return self.frame.width

    def read(self, first, last, features, others):
        pl = _polars()
        rows = self.frame.slice(first, last - first)
        X = rows.select(pl.col(name).cast(pl.Float64) for name in features).to_numpy(order="c")
        return X, [rows[name].to_numpy() for name in others]

    def cut(self, first, last):
        """The table of the rows first … last − 1."""
        return FrameSource(self.frame.slice(first, last - first))


def of_frame(source: Any) -> FrameSource:
    """A table of pandas, polars or pyarrow in memory."""
    pl = _polars()
    if isinstance(source, pl.DataFrame):
        return FrameSource(source)
    return FrameSource(pl.from_pandas(source) if hasattr(source, "iloc") else pl.from_arrow(source))


def _run_on_part(part: Source, run: Any, first: int, how: tuple, task: Any) -> Any:
    features, target, weights = how
    rows = rows_of(part, 0, part.n, features, target, weights)
    return run(Rows(rows.X, first, rows.y, rows.weights), task)


def _cut(how: tuple, first: int, last: int) -> tuple:
    """The same columns, with arrays of all rows cut to those of a range."""
    features, *others = how
    return features, *(
        each if each is None or isinstance(each, str) else Cut(np.asarray(each[first:last]))
        for each in others
    )


@dataclass(frozen=True, eq=False)
class FileSource(Source):
    """Parquet or Arrow files, read by polars; their rows follow each other in the order given."""

    paths: tuple[str, ...]
    counts: tuple[int, ...]
    types: dict[str, str]
    # Keeps the folder of rewritten texts while this source is used.
    folder: Any = field(default=None, repr=False)

    @property
    def n(self) -> int:  # type: ignore[override]
        return sum(self.counts)

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(self.types)

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        return np.dtype(np.float64)

    @property
    def width(self) -> int:
        return len(self.types)

    def read(self, first, last, features, others):
        pl = _polars()
        numbers = [pl.col(name).cast(pl.Float64) for name in features]
        # A column may be asked for twice, as a feature and as the weights.
        aside = [pl.col(name).alias(f"{k}:{name}") for k, name in enumerate(others)]
        try:
            lazy = scan(self.paths).slice(first, last - first).select(*numbers, *aside)
            frame = lazy.collect(engine="streaming")
        except (pl.exceptions.PolarsError, OSError) as error:
            raise self._unreadable(first, last, error) from error
        if frame.height != last - first:
            raise self._unreadable(first, last, f"it has {frame.height} of {last - first} rows")
        X = frame.select(frame.columns[: len(numbers)]).to_numpy(order="c")
        columns = [frame[name].to_numpy() for name in frame.columns[len(numbers) :]]
        return X, columns

    def _unreadable(self, first: int, last: int, error: Any) -> Unreadable:
        """An error that names the file that cannot be read, and its rows."""
        start = 0
        for path, count in zip(self.paths, self.counts):
            begin, end = max(first - start, 0), min(last - start, count)
            start += count
            if begin < end and (len(self.paths) == 1 or not _is_readable(path, begin, end)):
                return Unreadable(
                    f"{path}: rows {begin} to {end - 1} cannot be read ({_first_line(error)}); "
                    "write the file again, or leave it out."
                )
        return Unreadable(f"rows {first} to {last - 1} cannot be read ({_first_line(error)}).")


def _check_types(types: dict[str, str], features: Sequence[Any]) -> None:
    for name in features:
        if types and not types[name].lower().startswith(NUMBERS):
            raise ValueError(
                f"column {name!r} holds {types[name]}, and tables in parts take numbers alone; "
                "choose columns with in_parts(..., columns=[...]), or replace it by numbers."
            )


def _first_line(error: Any) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__


def _is_readable(path: str, begin: int, end: int) -> bool:
    try:
        scan((path,)).slice(begin, end - begin).collect(engine="streaming")
    except (_polars().exceptions.PolarsError, OSError):
        return False
    return True


def scan(paths: Sequence[str]) -> Any:
    """A lazy table of Parquet or Arrow files."""
    pl = _polars()
    read = pl.scan_ipc if paths[0].lower().endswith(ARROW) else pl.scan_parquet
    return read(list(paths), glob=False)


def open_files(paths: Sequence[str | os.PathLike]) -> FileSource:
    """Files as a source: Parquet and Arrow as they are, texts rewritten as Parquet once."""
    names = [str(path) for path in paths]
    for name in names:
        if not Path(name).exists():
            raise FileNotFoundError(f"{name} does not exist.")
    endings = {_ending(name) for name in names}
    if endings <= set(PARQUET) or endings <= set(ARROW):
        return _of_files(tuple(names))
    if endings <= set(TEXT):
        pl = _polars()
        separator = "\t" if endings == {".tsv"} else ","
        lazy = pl.scan_csv(names, infer_schema_length=None, separator=separator, glob=False)
        return rewritten(lazy, ", ".join(names))
    raise ValueError(
        f"files in parts must all be of one of the kinds {', '.join(ENDINGS)}, got "
        f"{', '.join(sorted(endings))}; pass another kind as a polars LazyFrame."
    )


def rewritten(lazy: Any, what: str) -> FileSource:
    """A query as Parquet in a temporary folder, so that it is computed once and has an order."""
    pl = _polars()
    folder = tempfile.TemporaryDirectory(prefix="gapless-parts-")
    path = str(Path(folder.name) / "rows.parquet")
    try:
        lazy.sink_parquet(path, maintain_order=True, compression="lz4")
    except (pl.exceptions.PolarsError, OSError) as error:
        folder.cleanup()
        raise Unreadable(f"{what} cannot be read ({_first_line(error)}).") from error
    source = _of_files((path,))
    return FileSource(source.paths, source.counts, source.types, folder)


def _of_files(paths: tuple[str, ...]) -> FileSource:
    pl = _polars()
    counts, types = [], None
    for path in paths:
        try:
            lazy = scan((path,))
            found = {name: str(kind) for name, kind in lazy.collect_schema().items()}
            counts.append(int(lazy.select(pl.len()).collect().item()))
        except (pl.exceptions.PolarsError, OSError) as error:
            raise Unreadable(f"{path} cannot be read ({_first_line(error)}).") from error
        if types is not None and found != types:
            other = next(iter(set(found.items()) ^ set(types.items())))[0]
            raise ValueError(
                f"{path} and {paths[0]} differ in column {other!r}; give the files the same "
                "columns, of the same types."
            )
        types = found
    return FileSource(paths, tuple(counts), types or {})


def _ending(name: str) -> str:
    return Path(name).suffix.lower()


def _polars() -> Any:
    # Imported when a file is opened: arrays in parts do without.
    return importlib.import_module("polars")


@dataclass(frozen=True, eq=False)
class DaskSource(Source):
    """A Dask array (n, d), or a Dask frame; a worker that holds the chunks computes on them."""

    collection: Any
    n: int
    # The name of each column and of its type; None for arrays.
    types: dict[str, str] | None = None
    # Rows of each partition of a frame.
    lengths: tuple[int, ...] = ()
    # Arrays of columns of a frame, made once.
    known: dict[Any, Any] = field(default_factory=dict, repr=False)

    @property
    def names(self) -> tuple[str, ...] | None:  # type: ignore[override]
        return None if self.types is None else tuple(self.types)

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        is_single = self.types is None and self.collection.dtype == np.float32
        return np.dtype(np.float32 if is_single else np.float64)

    @property
    def width(self) -> int:
        return int(self.collection.shape[1]) if self.types is None else len(self.types)

    def column(self, name: str) -> Any:
        """A column of a frame, as an array of Dask."""
        if name not in self.known:
            self.known[name] = self.collection[name].to_dask_array(lengths=self.lengths)
        return self.known[name]

    def matrix(self, features: Sequence[Any]) -> Any:
        """Some columns as an array (n, d) of Dask."""
        if self.types is None:
            is_whole = len(features) == self.width
            return self.collection if is_whole else self.collection[:, list(features)]
        key = tuple(features)
        if key not in self.known:
            frame = self.collection[list(features)].astype(float)
            self.known[key] = frame.to_dask_array(lengths=self.lengths)
        return self.known[key]

    def read(self, first, last, features, others):
        picked = self.matrix(features)[first:last].compute(scheduler="threads")
        columns = [self.column(name)[first:last].compute(scheduler="threads") for name in others]
        return np.ascontiguousarray(picked, dtype=self.dtype), [np.asarray(c) for c in columns]

    def read_on(self, client, run, span, how, task):
        dask = importlib.import_module("dask")
        first, last = span
        features, *others = how
        arrays = [self.column(each) if isinstance(each, str) else each for each in others]
        values = [None if each is None else each[first:last] for each in arrays]
        call = dask.delayed(_run_on_arrays, pure=False)
        sent = dask.delayed(task, traverse=False)
        return client.compute(call(run, self.matrix(features)[first:last], first, *values, sent))


def of_dask(source: Any) -> DaskSource:
    """A Dask array or frame, with known numbers of rows."""
    if not hasattr(source, "divisions"):
        if source.ndim != 2:
            raise ValueError(f"a table has rows and columns, got an array of shape {source.shape}.")
        if any(np.isnan(size) for size in source.shape):
            source = source.compute_chunk_sizes()
        return DaskSource(source, int(source.shape[0]))
    types = {str(name): str(kind) for name, kind in source.dtypes.items()}
    lengths = tuple(int(length) for length in source.map_partitions(len).compute())
    return DaskSource(source, sum(lengths), types, lengths)


def _run_on_arrays(run: Any, X: Any, first: int, y: Any, weights: Any, task: Any) -> Any:
    numbers = np.float32 if X.dtype == np.float32 else np.float64
    y = None if y is None else np.asarray(y)
    return run(Rows(np.ascontiguousarray(X, dtype=numbers), first, y, weights), task)
