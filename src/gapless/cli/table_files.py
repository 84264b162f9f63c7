"""Tables out, piece by piece: CSV, TSV, JSON lines and Parquet, to standard output or a file."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TextIO

import polars as pl

from gapless.data import TableError

from .files import whole_files

SEPARATORS = {"csv": ",", "tsv": "\t"}


def write_frames(frames: Iterable[pl.DataFrame], form: str, out: Path | TextIO) -> int:
    """Write frames of the same columns in turn.

    Parameters
    ----------
    frames : iterable of polars.DataFrame
        At least one.
    form : {"csv", "tsv", "jsonl", "parquet"}
        The format; Parquet needs a file.
    out : Path or TextIO
        A file, written completely or not at all, or a stream.

    Returns
    -------
    int
        The number of rows.
    """
    if not isinstance(out, Path):
        # As bytes: what the terminal cannot show is still in the table.
        return _write_texts(frames, form, lambda text: out.buffer.write(text.encode()))
    with whole_files(out.parent) as new:
        path = new(out.name)
        if form == "parquet":
            return _write_parquet(frames, path)
        with path.open("w", encoding="utf-8", newline="") as file:
            return _write_texts(frames, form, file.write)


def _write_texts(frames: Iterable[pl.DataFrame], form: str, write: Callable[[str], object]) -> int:
    rows = 0
    for k, frame in enumerate(frames):
        if form == "jsonl":
            write(frame.write_ndjson())
        else:
            write(frame.write_csv(separator=SEPARATORS[form], include_header=k == 0))
        rows += frame.height
    return rows


def _write_parquet(frames: Iterable[pl.DataFrame], path: Path) -> int:
    """Write each frame to a file of its own, then all of them to one, a row group at a time."""
    rows = 0
    schema: pl.Schema | None = None
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".parts-") as folder:
        for k, frame in enumerate(frames):
            schema = schema or frame.schema
            _check_schema(schema, frame)
            frame.write_parquet(Path(folder) / f"{k:08}.parquet")
            rows += frame.height
        pl.scan_parquet(Path(folder) / "*.parquet").sink_parquet(path, maintain_order=True)
    return rows


def _check_schema(schema: pl.Schema, frame: pl.DataFrame) -> None:
    if frame.schema != schema:
        name = next(name for name in schema if frame.schema.get(name) != schema[name])
        raise TableError(
            f"column {name!r} contains {schema[name]} at first and {frame.schema.get(name)} later, "
            "which Parquet does not allow; write CSV or JSON lines."
        )
