"""Delimiter and quotes of a text, guessed from its beginning, and the resulting records."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass

import numpy as np

from .headers import TOP_ROWS, have_numbers, looks_like_data, n_filled

# Ties go to the first.
DELIMITERS = (",", "\t", ";", "|", "^", "~", ":", " ")
# Those that hardly occur in texts.
RARE_IN_TEXTS = ("\t", ";", "|")
# Separates no fields: the text is one column.
NO_DELIMITER = "\x1f"
QUOTES = ('"', None, "'")
# Records from which the dialect is guessed.
MOST_ROWS = 200
# Characters in which a table below a title is searched.
BELOW_TITLE = 1 << 13
# The share of records with equally many fields below which a text begins with something else, and
# the one that makes a table certain.
UNSURE, SURE = 0.5, 0.9
COMMENT = ("#", "%", "//")
# A target, then positions and values of nonzero entries; times such as 10:30 are not such pairs.
LIBSVM_LINE = re.compile(
    r"[+-]?[\d.]+(?:[eE][+-]?\d+)?(?: +(?:qid|\d+):[+-]?[\d.]+(?:[eE][+-]?\d+)?)+ *"
)
LINE_OF_TIMES = re.compile(r"\S+(?: +\d{1,2}:[0-5]\d)+ *")


@dataclass(frozen=True, slots=True)
class Dialect:
    """How fields and records are separated.

    Attributes
    ----------
    delimiter : str
        The character between fields; `NO_DELIMITER` for one column.
    quote : str or None
        The quote character.
    has_header : bool
        Whether the first record holds names.
    names : tuple of str
        Names of the columns, all distinct.
    has_blanks : bool
        Whether a space follows delimiters before a quote, which only Python's reader supports.
    is_aligned : bool
        Whether fields are separated by any number of spaces, so that columns are aligned.
    """

    delimiter: str
    quote: str | None
    has_header: bool
    names: tuple[str, ...]
    has_blanks: bool = False
    is_aligned: bool = False


@dataclass(frozen=True, slots=True)
class Guess:
    """The delimiter of a text, and where its records begin.

    Attributes
    ----------
    share : float
        The share of its first records that have equally many fields.
    delimiter, quote, is_aligned
        As in `Dialect`.
    above : int
        The number of characters above the first record: titles and comments.
    """

    share: float
    delimiter: str
    quote: str | None
    is_aligned: bool = False
    above: int = 0


def guess_dialect(text: str, delimiter: str | None = None, *, has_titles: bool = True) -> Guess:
    """The dialect of a text from its first lines; titles and comments may be above it."""
    guess = _guess(text, delimiter)
    # Spaces occur in texts too, so they count as delimiters only if the numbers of fields are
    # equal.
    enough = SURE if guess.delimiter == " " else UNSURE
    if delimiter is None and guess.share < enough:
        below = _below_titles(text) if has_titles else None
        return below or Guess(guess.share, NO_DELIMITER, '"')
    return guess


def is_libsvm(text: str) -> bool:
    """Whether lines are sparse rows as in LIBSVM: a target, then positions and values."""
    lines = [line.partition("#")[0] for line in text.splitlines()[:MOST_ROWS] if line.strip()]
    return all(map(LIBSVM_LINE.fullmatch, lines)) and not all(map(LINE_OF_TIMES.fullmatch, lines))


def _below_titles(text: str) -> Guess | None:
    """The dialect of a table that begins some lines further down; None if there is none.

    Excluded are comments and blank lines, or lines above three or more columns with names, and
    numbers below them; anything else might be texts with commas or spaces in them, in one column
    whose name looks like a title. Semicolons, tabs and bars hardly occur in texts, so two columns
    of names are enough.
    """
    above, are_comments = 0, True
    for line in text[:BELOW_TITLE].splitlines(keepends=True)[:TOP_ROWS]:
        above += len(line)
        are_comments = are_comments and line.startswith((*COMMENT, "\n", "\r"))
        below = text[above : above + BELOW_TITLE]
        guess = _guess(below)
        if guess.share < SURE or (guess.quote is None and '"' in below):
            continue
        first, *others = rows_of(below, guess)
        are_names = n_filled(first) == len(first) and not looks_like_data(first, others)
        is_rare = guess.delimiter in RARE_IN_TEXTS and len(others) > 1
        is_sure = is_rare or (len(first) > 2 and have_numbers(others))
        if others and (are_comments or (are_names and is_sure)):
            return Guess(guess.share, guess.delimiter, guess.quote, guess.is_aligned, above)
    return None


def rows_of(text: str, guess: Guess) -> list[list[str]]:
    """The first records of a text that are not blank, by a guess of its dialect."""
    text = with_single_blanks(text) if guess.is_aligned else text
    return [row for row in read_rows(text, guess.delimiter, guess.quote)[:MOST_ROWS] if row]


def with_single_blanks(text: str) -> str:
    """Aligned fields with one space between them."""
    return re.sub("[ \t]+", " ", re.sub("(?m)^[ \t]+|[ \t]+(?=\r?$)", "", text))


def _guess(text: str, delimiter: str | None = None) -> Guess:
    """The delimiter and the quote by which the first records have equally many fields.

    Records must agree with the first one, the header. Among equals the order of `DELIMITERS` and
    `QUOTES` decides: a space may occur in every field without being a delimiter.
    """
    guess = _rated(text, delimiter)
    if delimiter is None and (guess.share < SURE or guess.delimiter == " "):
        aligned = _rated(with_single_blanks(text), " ")
        if aligned.share > guess.share or (aligned.share == guess.share and "  " in text):
            return Guess(aligned.share, " ", aligned.quote, is_aligned=True)
    return guess


def _rated(text: str, delimiter: str | None) -> Guess:
    rated = []
    for quote in QUOTES:
        if quote and quote not in text:
            continue
        for candidate in (delimiter,) if delimiter else DELIMITERS:
            rows = read_rows(text, candidate, quote)[:MOST_ROWS]
            first = rows[0] if quote is None and rows else []
            share = 0.0 if any(map(_is_cut, first)) else _agreement(rows)
            rated.append((share, not any(map(_is_in_quotes, first)), candidate, quote))
    share, _, best, quote = max(rated, key=lambda rating: rating[:2])
    return Guess(share, best, quote)


def _is_in_quotes(field: str) -> bool:
    return len(field) > 1 and field[0] == field[-1] == "'"


def _is_cut(field: str) -> bool:
    """Whether a field ends inside its quotes, at a false delimiter."""
    return field.startswith('"') and (len(field) == 1 or not field.endswith('"'))


def _agreement(rows: list[list[str]]) -> float:
    """The share of records with as many fields as the first, 0 if that is one."""
    rows = [row for row in rows if row]
    width = len(rows[0]) if rows else 0
    if width < 2:
        return 0.0
    same = sum(len(row) == width for row in rows)
    # Some programs write names of rows, and their column has no name.
    named = sum(len(row) == width + 1 for row in rows[1:])
    return max(same, named + 1 if named == len(rows) - 1 else 0) / len(rows)


def read_rows(text: str, delimiter: str, quote: str | None) -> list[list[str]]:
    """Records by Python's own reader, which tolerates quotes in odd places."""
    options = {"quotechar": quote} if quote else {"quoting": csv.QUOTE_NONE}
    lines = io.StringIO(text, newline="")
    with_options = csv.reader(
        lines, delimiter=delimiter, skipinitialspace=delimiter != " ", **options
    )
    old = csv.field_size_limit(1 << 30)
    try:
        return list(with_options)
    finally:
        csv.field_size_limit(old)


# ---- records -------------------------------------------------------------------------------------

Array = np.ndarray

NEWLINE, RETURN, BLANK = 10, 13, 32
# Bytes processed together, so that their state stays in the cache.
AT_A_TIME = 1 << 22


@dataclass(frozen=True, eq=False)
class Records:
    """Where the records of a text are.

    Attributes
    ----------
    start, end : ndarray of int64, shape (r,)
        Where each begins, and its newline (or the end of the text).
    fields : ndarray of int64, shape (r,)
        Its number of fields.
    is_open : bool
        Whether the text ends inside quotes.
    has_stray : bool
        Whether there are quotes that quote nothing, as in 5" pipe.
    """

    start: Array
    end: Array
    fields: Array
    is_open: bool
    has_stray: bool = False

    def __len__(self) -> int:
        return len(self.start)


def find_records(data: bytes, delimiter: str, quote: str | None) -> Records:
    """Find the records of a text; a last one without a newline counts."""
    ends, commas, is_open = [], [], False
    total = 0
    stray = stray_quotes(data, delimiter, quote)
    for begin in range(0, len(data), AT_A_TIME):
        codes = np.frombuffer(data, np.uint8, min(AT_A_TIME, len(data) - begin), begin)
        here = stray[slice(*np.searchsorted(stray, (begin, begin + AT_A_TIME)))] - begin
        free, is_open = _outside_quotes(codes, quote, is_open, here)
        is_end, is_comma = codes == NEWLINE, codes == ord(delimiter)
        if free is not None:
            is_end &= free
            is_comma &= free
        end = np.flatnonzero(is_end)
        comma = np.flatnonzero(is_comma)
        ends.append(end + begin)
        commas.append(np.searchsorted(comma, end) + total)
        total += len(comma)
    end = np.concatenate([*ends, np.zeros(0, np.int64)])
    upto = np.concatenate([*commas, np.zeros(0, np.int64)])
    if len(data) and (not len(end) or end[-1] < len(data) - 1):
        end, upto = np.append(end, len(data)), np.append(upto, total)
    start = np.concatenate([[0], end[:-1] + 1]) if len(end) else end
    return Records(start, end, np.diff(upto, prepend=0) + 1, is_open, len(stray) > 0)


def stray_quotes(data: bytes, delimiter: str, quote: str | None) -> Array:
    """Positions of quotes that open no field, as Python's reader sees them.

    Only at the beginning of a field is a quote one; every second one is checked, and all of them in
    turn from the first that is elsewhere.
    """
    codes = np.frombuffer(data, np.uint8)
    code = ord(quote or delimiter)
    begins = range(0, len(data) if quote else 0, AT_A_TIME)
    parts = [np.flatnonzero(codes[k : k + AT_A_TIME] == code) + k for k in begins]
    where = np.concatenate([np.zeros(0, np.int64), *parts])
    before = codes[np.maximum(where[::2] - 1, 0)]
    starts = np.isin(before, [ord(delimiter), NEWLINE, code])
    odd = np.flatnonzero(~starts & (where[::2] > 0))
    if not len(odd):
        return np.zeros(0, np.int64)
    stray, is_open, closed = [], False, -2
    for place in where[2 * odd[0] :].tolist():
        if is_open:
            is_open, closed = False, place
        elif closed == place - 1 or _begins_field(data, place, delimiter):
            is_open = True
        else:
            stray.append(place)
    return np.array(stray, np.int64)


def _begins_field(data: bytes, place: int, delimiter: str) -> bool:
    """Whether only spaces are between a position and the delimiter before it."""
    ends = (ord(delimiter), NEWLINE)
    while place and data[place - 1] == BLANK and BLANK not in ends:
        place -= 1
    return not place or data[place - 1] in ends


def _outside_quotes(
    codes: Array, quote: str | None, is_open: bool, stray: Array
) -> tuple[Array | None, bool]:
    """Which characters are outside quotes, None for all; whether quotes are open afterwards."""
    if quote is None:
        return None, False
    marks = codes == ord(quote)
    marks[stray] = False
    if not marks.any():
        return (np.zeros(len(codes), bool) if is_open else None), is_open
    marks[0] ^= is_open
    inside = np.bitwise_xor.accumulate(marks)
    return ~inside, bool(inside[-1])


def is_blank(data: bytes, records: Records) -> Array:
    """Which records are empty except for a carriage return."""
    size = records.end - records.start
    codes = np.frombuffer(data, np.uint8)
    return (size == 0) | ((size == 1) & (codes[np.minimum(records.start, len(data) - 1)] == RETURN))


def line_of(data: bytes, position: int) -> int:
    """The line of a position, counted from 1 as editors do."""
    return data.count(b"\n", 0, position) + 1
