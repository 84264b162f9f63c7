"""What a reader was told about a table, where its bytes do not say enough."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from .findings import TableError

DECIMALS = (".", ",")


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """How a table is to be read; None for all that is found from its bytes.

    Attributes
    ----------
    delimiter : str or None
        What stands between the fields of a text: one character.
    encoding : str or None
        The encoding of a text.
    header : int or None
        The line of a text, or the row of a sheet, that has the names of columns, counted from 1;
        0 if none has.
    sheet : str, int or None
        The sheet of a workbook: its name, or its place counted from 1.
    decimal : {".", ","} or None
        The decimal mark of all numbers.

    Raises
    ------
    TableError
        When a table cannot be read so.
    """

    delimiter: str | None = None
    encoding: str | None = None
    header: int | None = None
    sheet: str | int | None = None
    decimal: str | None = None

    def __post_init__(self) -> None:
        # Options may come from a file.
        one = self.delimiter
        if one is not None and not (
            isinstance(one, str) and len(one) == 1 and one not in "\r\n\"'"
        ):
            raise TableError(f"the delimiter must be one character such as ';', got {one!r}.")
        if one is not None and not one.isascii():
            raise TableError(f"the delimiter must be an ASCII character such as ';', got {one!r}.")
        if not isinstance(self.encoding, str | None):
            raise TableError(f"the encoding must be a name such as utf-8, got {self.encoding!r}.")
        row = self.header
        if row is not None and (not isinstance(row, int) or isinstance(row, bool) or row < 0):
            raise TableError(
                "the header must be a row number, counted from 1, or 0 if there is no header; "
                f"got {row!r}."
            )
        if not isinstance(self.sheet, str | int | None) or self.sheet == "":
            raise TableError(
                f"the sheet must be a name or a number counted from 1, got {self.sheet!r}."
            )
        if self.decimal not in (None, *DECIMALS):
            raise TableError(f"the decimal mark must be '.' or ',', got {self.decimal!r}.")

    def told(self) -> dict[str, Any]:
        """Those that are not None, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def over(self, others: ReadingOptions) -> ReadingOptions:
        """These, and for what they leave open others."""
        return replace(others, **self.told())


AS_FOUND = ReadingOptions()
