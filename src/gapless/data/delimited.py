"""Delimited text to columns of texts: CSV, TSV and similar formats.

Polars reads the fields. If some records are incomplete, they are located, so that a ragged one is
named by its line; and if quotes are in odd places, Python's own reader reads the fields.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import polars as pl

from .dialects import (
    COMMENT,
    Dialect,
    Guess,
    Records,
    find_records,
    guess_dialect,
    is_blank,
    is_libsvm,
    line_of,
    read_rows,
    rows_of,
    stray_quotes,
    with_single_blanks,
)
from .findings import SHOWN, TableError, counted, listed
from .headers import (
    ABOVE_REMARKS,
    BY_POSITION,
    MOST_REMARKS,
    by_position,
    distinct_names,
    looks_like_data,
    rows_above,
    without_footer,
)
from .sources import AS_FOUND, SAMPLE_BYTES, ReadingOptions

# Bytes of the longest line of names.
LONGEST_HEADER = 1 << 22
# Bytes of the longest line of a table that comes in blocks.
LONGEST_LINE = 1 << 28


def read_delimited(
    data: bytes, name: str, options: ReadingOptions = AS_FOUND
) -> tuple[pl.DataFrame, Dialect, list[str]]:
    """A text in UTF-8 as columns of texts, its dialect, and notes about what was decided."""
    data = _with_newlines(data)
    body, dialect, notes = read_header(data, name, options)
    line = line_of(data, len(data) - len(body))
    frame, dialect, more, short = _read_body(_with_single_blanks(body, dialect), dialect, line)
    frame, below = without_footer(frame, short)
    return frame, dialect, notes + more + below


def read_header(
    data: bytes, name: str, options: ReadingOptions = AS_FOUND
) -> tuple[bytes, Dialect, list[str]]:
    """The records after the header, the dialect and notes, from a text or its first block."""
    whole, header = data, options.header
    data = data.lstrip(b"\r\n ") if not header else _from_line(data, header, name)
    if not data or data.isspace():
        raise TableError(f"{name} is empty; a table needs a header line and lines of values.")
    data, announced = _announced_delimiter(data)
    sample = _first_lines(data).decode("utf-8", "ignore")
    if is_libsvm(sample):
        raise TableError(
            f"{name} is in the LIBSVM format, with pairs such as 3:0.5 and no column names; "
            "load it with sklearn.datasets.load_svmlight_file, or save it as CSV."
        )
    guess = guess_dialect(sample, options.delimiter or announced, has_titles=header is None)
    if header is not None:
        above = whole[: len(whole) - len(data)].decode("utf-8", "ignore") if header else ""
        dialect, body, notes = _with_given_names(data, sample, guess, above, has_names=header > 0)
        return body, dialect, notes
    above = sample[: guess.above]
    data = data[len(above.encode()) :].lstrip(b"\r\n ")
    sample = sample[guess.above :].lstrip("\r\n ")
    dialect, body, notes = _with_names(data, sample, guess, above)
    return body, dialect, notes


def _from_line(data: bytes, line: int, name: str) -> bytes:
    """A text from one of its lines on, counted from 1."""
    start = 0
    for _ in range(line - 1):
        start = data.find(b"\n", start) + 1
        if not start:
            raise TableError(f"{name} has no line {line:,}, which should be the header.")
    return data[start:]


def _with_given_names(
    data: bytes, sample: str, guess: Guess, above: str, *, has_names: bool
) -> tuple[Dialect, bytes, list[str]]:
    """The same as `_with_names` if the line of names is given, or that there is none."""
    first, *others = rows_of(sample, guess) or [[""]]
    names, notes = _names(first, others) if has_names else (by_position(len(first)), [])
    return (
        _dialect(guess, sample, has_names, names),
        _below(data, guess, int(has_names)),
        [
            *_note_of_lines(sum(line.strip() != "" for line in above.splitlines())),
            *notes,
        ],
    )


def _with_single_blanks(body: bytes, dialect: Dialect) -> bytes:
    return (
        with_single_blanks(body.decode("utf-8", "replace")).encode() if dialect.is_aligned else body
    )


def _first_lines(data: bytes) -> bytes:
    """Whole lines to find the dialect in: at least the first two, since names may be many."""
    if len(data) <= SAMPLE_BYTES:
        return data
    second = data.find(b"\n", data.find(b"\n", 0, LONGEST_HEADER) + 1, LONGEST_HEADER)
    end = max(data.rfind(b"\n", 0, SAMPLE_BYTES), second) + 1
    return data[: end or LONGEST_HEADER]


def _with_newlines(data: bytes) -> bytes:
    """Old Macs ended lines by a carriage return alone."""
    return data.replace(b"\r", b"\n") if b"\n" not in data else data


def _announced_delimiter(data: bytes) -> tuple[bytes, str | None]:
    """Excel may begin a text with sep=; which names its delimiter."""
    if data[:4].lower() == b"sep=" and data[5:6] in (b"\r", b"\n"):
        return data[5:].lstrip(b"\r\n"), chr(data[4])
    return data, None


def _with_names(
    data: bytes, sample: str, guess: Guess, above: str
) -> tuple[Dialect, bytes, list[str]]:
    """The dialect with names, the records below them, and notes about what was excluded."""
    rows = rows_of(sample, guess)
    titles = rows_above(rows)
    lines = len(above.splitlines())
    first, *others = rows[titles:]
    named = _commented_names(above, first, others, guess)
    has_header = named is None and not looks_like_data(first, others)
    if named is not None:
        (names, notes), lines = distinct_names(named), lines - 1
    elif has_header:
        names, notes = _names(first, others)
    else:
        names, notes = by_position(len(first)), [BY_POSITION]
    dialect = _dialect(guess, sample, has_header, names)
    left_out = _note_of_lines(lines + titles)
    return dialect, _below(data, guess, titles + has_header), left_out + notes


def _dialect(guess: Guess, sample: str, has_header: bool, names: tuple[str, ...]) -> Dialect:
    has_blanks = guess.quote is not None and f"{guess.delimiter} {guess.quote}" in sample
    return Dialect(guess.delimiter, guess.quote, has_header, names, has_blanks, guess.is_aligned)


def _note_of_lines(above: int) -> list[str]:
    return [f"skipped above the header: {counted(above, 'line')}"] if above else []


def _commented_names(
    above: str, first: list[str], others: list[list[str]], guess: Guess
) -> list[str] | None:
    """Names in the last comment above records of values; None if they are not there."""
    last = above.splitlines()[-1].strip() if above else ""
    if not last.startswith(COMMENT) or not looks_like_data(first, others):
        return None
    names = rows_of(last.lstrip("#%/ \t"), guess)
    return names[0] if names and len(names[0]) == len(first) else None


def _names(first: list[str], others: list[list[str]]) -> tuple[tuple[str, ...], list[str]]:
    """Names of the columns; if records have one more field, it is the name of a row."""
    extra = bool(others) and all(len(row) == len(first) + 1 for row in others)
    if extra and any(row[-1].strip() for row in others):
        names, notes = distinct_names(["row", *first])
        return names, [*notes, f"the first column has no name; named {names[0]!r}"]
    return distinct_names(first)


def _below(data: bytes, guess: Guess, above: int) -> bytes:
    """What follows this many records that are not blank."""
    if not above:
        return data
    records = find_records(data[:LONGEST_HEADER], guess.delimiter, guess.quote)
    full = np.flatnonzero(~is_blank(data, records))
    # If quotes are in odd places, there may be fewer records than Python's reader finds.
    return data[int(records.end[full[min(above, len(full)) - 1]]) + 1 :]


def _ragged(records: Records, dialect: Dialect) -> np.ndarray:
    return records.fields != len(dialect.names)


def _with_other_quotes(body: bytes, dialect: Dialect, records: Records) -> tuple[Dialect, Records]:
    """Treat quotes as ordinary characters if that makes fewer records ragged."""
    if dialect.quote is None:
        return dialect, records
    plain = find_records(body, dialect.delimiter, None)
    fewer = _ragged(plain, dialect).sum() < _ragged(records, dialect).sum()
    if records.is_open or fewer:
        return replace(dialect, quote=None), plain
    return dialect, records


def _read_body(
    body: bytes, dialect: Dialect, first_line: int
) -> tuple[pl.DataFrame, Dialect, list[str], int]:
    """Whole records as columns of texts, notes about short ones, and how many of these end it.

    Long ones are an error. Records are located only if some are incomplete.
    """
    parsed = _by_polars(body, dialect)
    if parsed is not None and _are_full(parsed, body, dialect):
        frame, notes = _without_names(parsed)
        return frame, dialect, notes, 0
    records = find_records(body, dialect.delimiter, dialect.quote)
    if records.is_open or _ragged(records, dialect).any():
        dialect, records = _with_other_quotes(body, dialect, records)
    blank = is_blank(body, records) if len(records) else np.zeros(0, bool)
    if len(dialect.names) == 1:
        # An empty line is a missing value if there is one column, except at the end.
        blank[: int(np.flatnonzero(~blank)[-1]) + 1 if (~blank).any() else 0] = False
    _refuse_long_records(body, dialect, records, first_line)
    frame, notes = _without_names(_fields(body, dialect, records, blank))
    is_short = records.fields < len(dialect.names)
    short = np.flatnonzero(is_short & ~blank)
    full = np.flatnonzero(~is_short[~blank])
    at_end = len(is_short) - int(blank.sum()) - (int(full[-1]) + 1 if len(full) else 0)
    notes += _note_of_short(body, records, short, first_line)
    return frame, dialect, notes, at_end


def _by_polars(body: bytes, dialect: Dialect, *, cuts: bool = False) -> pl.DataFrame | None:
    """The fields of all records, cut if there are too many; None if polars cannot read them."""
    schema = dict.fromkeys(dialect.names, pl.String)
    if dialect.has_blanks or not body:
        return None if body else pl.DataFrame(schema=schema)
    try:
        return pl.read_csv(
            body,
            has_header=False,
            separator=dialect.delimiter,
            quote_char=dialect.quote,
            schema=schema,
            truncate_ragged_lines=cuts,
        )
    except pl.exceptions.PolarsError:
        return None


def _are_full(frame: pl.DataFrame, body: bytes, dialect: Dialect) -> bool:
    """Whether all records have a field for each column, without misplaced quotes.

    Polars fills short records silently, but then the last column has gaps. Each newline and each
    delimiter of the text ends a record, separates two fields, or is quoted and found in one of
    them.
    """
    quote = dialect.quote if dialect.quote and dialect.quote.encode() in body else None
    if quote and len(stray_quotes(body, dialect.delimiter, quote)):
        return False
    rows, has_gaps = frame.height, frame.to_series(-1).null_count() > 0
    if frame.width == 1:
        # Empty lines at the end are not rows.
        return not has_gaps or frame.item(-1, 0) is not None
    marks = {"\n": rows if body.endswith(b"\n") else rows - 1}
    if has_gaps:
        marks[dialect.delimiter] = rows * (frame.width - 1)
    for character, outside in marks.items():
        quoted = body.count(character.encode()) - outside
        # A short record lacks what a quoted delimiter has too much, so 0 says little with gaps.
        if (quoted or (quote and has_gaps)) and not (quote and quoted == _count(character, frame)):
            return False
    return True


def _count(character: str, frame: pl.DataFrame) -> int:
    """How often a character occurs in the fields of a table."""
    counts = frame.select(pl.all().str.count_matches(character, literal=True).sum())
    return sum(counts.row(0))


def _without_names(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Rows without those that repeat the names of all columns, as in joined files."""
    if frame.width < 2:
        return frame, []
    # One column decides about nearly all rows.
    first = frame.columns[0]
    if not (frame[first].str.strip_chars() == first).any():
        return frame, []
    again = pl.all_horizontal(pl.col(name).str.strip_chars() == name for name in frame.columns)
    kept = frame.filter(~again.fill_null(False))
    count = frame.height - kept.height
    return kept, [f"skipped as repeats of the header: {counted(count, 'line')}"] if count else []


def _refuse_long_records(body: bytes, dialect: Dialect, records: Records, first_line: int) -> None:
    """Name the lines with more fields than names; extra ones at the end may be empty."""
    width = len(dialect.names)
    long = []
    for k in np.flatnonzero(records.fields > width).tolist():
        text = body[records.start[k] : records.end[k]].rstrip(b"\r")
        spare = len(text) - len(text.rstrip(dialect.delimiter.encode()))
        if records.fields[k] - spare > width:
            long.append((line_of(body, int(records.start[k])) + first_line - 1, records.fields[k]))
    if long:
        line, fields = long[0]
        more = [line for line, _ in long[1:]]
        others = f"; also too long: {counted(len(more), 'line')} ({listed(more)})" if more else ""
        raise TableError(
            f"line {line:,} has {fields} fields, but there are {width} columns{others}. "
            f"Put fields that contain {dialect.delimiter!r} in quotes, or delete the extra ones."
        )


def _note_of_short(body: bytes, records: Records, short: np.ndarray, first_line: int) -> list[str]:
    if not len(short):
        return []
    lines = [line_of(body, int(records.start[k])) + first_line - 1 for k in short[:SHOWN]]
    more = f" and {len(short) - SHOWN:,} more" if len(short) > SHOWN else ""
    return [f"lines with too few fields, filled with missing values: {listed(lines)}{more}"]


def _fields(body: bytes, dialect: Dialect, records: Records, blank: np.ndarray) -> pl.DataFrame:
    """One row for each record that is not blank, with empty fields for those that it lacks."""
    if not records.has_stray:
        frame = _by_polars(body, dialect, cuts=True)
        if frame is not None and frame.height == len(records):
            return frame.filter(pl.Series(~blank)) if blank.any() else frame
    # Quotes in odd places: Python's reader tolerates them.
    return _by_python(body, dialect)


def _by_python(body: bytes, dialect: Dialect) -> pl.DataFrame:
    """The same by Python's reader, which may find other records if quotes are odd."""
    width = len(dialect.names)
    text = body.decode("utf-8", "replace")
    rows = [row for row in read_rows(text, dialect.delimiter, dialect.quote) if row]
    for k, row in enumerate(rows, 1):
        if any(row[width:]):
            raise TableError(
                f"row {k:,} has {len(row)} fields, but there are {width} columns; its quotes are "
                "misplaced."
            )
    padded = [(row + [None] * width)[:width] for row in rows]
    return pl.DataFrame(padded, schema=dict.fromkeys(dialect.names, pl.String), orient="row")


def delimited_blocks(
    blocks: Iterator[tuple[bytes, bool]], name: str, options: ReadingOptions = AS_FOUND
) -> Iterator[pl.DataFrame]:
    """A text that comes in blocks as frames of texts; records are never cut.

    The first frame comes even if it has no rows, for its names.
    """
    dialect: Dialect | None = None
    left, line = b"", 1
    for text, is_last in _whole_lines(blocks, name):
        is_first = dialect is None
        if dialect is None:
            body, dialect, _ = read_header(text, name, options)
            line += line_of(text, len(text) - len(body)) - 1
            text = body
        text = left + _with_single_blanks(text, dialect)
        cut = len(text) if is_last else _end_of_complete(text, dialect)
        if cut or is_first:
            frame, _, _, short = _read_body(text[:cut], dialect, line)
            frame = without_footer(frame, short)[0] if is_last else frame
            line += text.count(b"\n", 0, cut)
            yield frame
        left = text[cut:]
        _refuse_long_line(left, name, line)


def _whole_lines(blocks: Iterator[tuple[bytes, bool]], name: str) -> Iterator[tuple[bytes, bool]]:
    """Blocks that end at the end of a line: a partial line waits until it is whole."""
    left, line = b"", 1
    ends_by_return: bool | None = None
    for block, is_last in blocks:
        text = left + block
        if ends_by_return is None and (b"\n" in text or b"\r" in text[:-1]):
            ends_by_return = b"\n" not in text
        if ends_by_return:
            text = text.replace(b"\r", b"\n")
        cut = len(text) if is_last else text.rfind(b"\n") + 1
        left = text[cut:]
        _refuse_long_line(left, name, line)
        if cut or is_last:
            line += text.count(b"\n", 0, cut)
            yield text[:cut], is_last


def _end_of_complete(text: bytes, dialect: Dialect) -> int:
    """Where those records of whole lines end that later lines cannot change.

    The last ones may be remarks below the table, or be in quotes that are still open.
    """
    held = MOST_REMARKS + ABOVE_REMARKS
    if len(dialect.names) > 1 and not len(stray_quotes(text, dialect.delimiter, dialect.quote)):
        return _end_before(text, dialect.quote, held)
    records = find_records(text, dialect.delimiter, dialect.quote)
    count = len(records) - records.is_open
    if len(dialect.names) == 1:
        # Empty lines are missing values, unless they are the last ones.
        full = np.flatnonzero(~is_blank(text, records)[:count])
        count = int(full[-1]) + 1 if len(full) else 0
    return min(int(records.end[count - held - 1]) + 1, len(text)) if count > held else 0


def _end_before(text: bytes, quote: str | None, held: int) -> int:
    """Where the record ends that `held` whole ones follow: at a newline outside quotes."""
    mark = (quote or "").encode()
    end, is_open, count = len(text), quote is not None and text.count(mark) % 2 == 1, 0
    while (place := text.rfind(b"\n", 0, end)) >= 0:
        is_open ^= quote is not None and text.count(mark, place, end) % 2 == 1
        count += not is_open
        if count > held:
            return place + 1
        end = place
    return 0


def _refuse_long_line(text: bytes, name: str, line: int) -> None:
    if len(text) > LONGEST_LINE:
        raise TableError(
            f"line {line:,} of {name} is longer than {LONGEST_LINE >> 20:,} MB; a table has one "
            "line for each row, and every quote is closed."
        )
