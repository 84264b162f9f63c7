"""Options that several commands share: how a table is read, names of files, and numbers."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

# Names for characters that are hard to type.
NAMED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " ", "pipe": "|"}


def add_table_argument(parser: argparse.ArgumentParser) -> None:
    """The table of `fit` and `explore`."""
    parser.add_argument(
        "table",
        metavar="TABLE",
        help="a file (any kind of CSV, Parquet, Arrow, JSON lines, Excel; compressed or not), "
        "- for standard input, or a built-in table (see gapless data)",
    )


def add_drop_argument(group: Any) -> None:
    """Columns that `fit` and `explore` leave out."""
    group.add_argument(
        "--drop",
        metavar="COL",
        nargs="+",
        action="extend",
        default=[],
        help="columns to ignore",
    )


def add_run_arguments(group: Any) -> None:
    """The draws of `fit` and `explore`, and how long they take."""
    group.add_argument("--seed", type=seed, default=0, metavar="N", help="seed of all random draws")
    group.add_argument(
        "--time-limit",
        type=seconds,
        default=60.0,
        metavar="SECONDS",
        help="for everything after reading the table, and for a pipe to end (default: 60)",
    )


def add_result_arguments(parser: argparse.ArgumentParser, suffix: str, example: str) -> None:
    """Where results of `fit` and `explore` go, and what warnings of the table do.

    `suffix` is that of the folder, and `example` something that warnings are about.
    """
    out = parser.add_argument_group("results")
    out.add_argument(
        "--out",
        metavar="DIR",
        type=new_path,
        help=f"folder for the files (default: TABLE{suffix})",
    )
    out.add_argument(
        "--overwrite",
        action="store_true",
        help="replace results even if they belong to another table",
    )
    out.add_argument("--json", action="store_true", help="print the result as JSON only")
    out.add_argument(
        "--strict",
        action="store_true",
        help=f"exit with 1 if the table has warnings, e.g. of {example}",
    )


def add_reading_arguments(parser: argparse.ArgumentParser, *, as_fitted: bool = False) -> None:
    """The options; a command with a model reads like its fit unless told otherwise."""
    otherwise = "as for the fit" if as_fitted else "detected"
    reading = parser.add_argument_group(f"how the table is read (default: {otherwise})")
    reading.add_argument(
        "--delimiter", type=_character, metavar="CHAR", help="what separates fields: ';', tab"
    )
    reading.add_argument(
        "--header",
        type=_row,
        metavar="ROW",
        help="the line or row of column names, counted from 1; 0 if there is none",
    )
    reading.add_argument(
        "--sheet", metavar="NAME", help="the sheet of a workbook: its name, or 1, 2, …"
    )
    reading.add_argument(
        "--decimal", type=_mark, metavar="MARK", help="the decimal mark of numbers: . or ,"
    )
    reading.add_argument(
        "--encoding", metavar="NAME", help="the encoding of a text file, e.g. utf-8 or latin-1"
    )


def reading_of(args: argparse.Namespace) -> Any:
    """The given options, as ReadingOptions."""
    from gapless.data import ReadingOptions

    return ReadingOptions(
        delimiter=args.delimiter,
        encoding=args.encoding,
        header=args.header,
        sheet=args.sheet,
        decimal=args.decimal,
    )


def _character(text: str) -> str:
    character = NAMED.get(text.lower(), text)
    if len(character) != 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a single character, such as ';' or tab")
    return character


def _row(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a row number (counted from 1; 0 for none)"
        )
    return int(text)


def _mark(text: str) -> str:
    mark = {"point": ".", "comma": ","}.get(text.lower(), text)
    if mark not in (".", ","):
        raise argparse.ArgumentTypeError(f"{text!r} is not a decimal mark; use . or ,")
    return mark


def new_path(text: str) -> Path:
    """The name of something to write, as an option of the command line."""
    if not text.strip():
        raise argparse.ArgumentTypeError("the name is empty")
    if any(letter < " " or letter == "\x7f" for letter in text):
        raise argparse.ArgumentTypeError(f"{text!r} contains a control character")
    return Path(text)


def _number(text: str, words: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not {words}") from None


def share(text: str) -> float:
    """A share, as an option of the command line."""
    words = "a share between 0 and 1, such as 0.2"
    value = _number(text, words)
    if not 0.0 < value < 1.0:
        raise argparse.ArgumentTypeError(f"{text!r} is not {words}")
    return value


def seconds(text: str) -> float:
    """A number of seconds, as an option of the command line."""
    words = "a number of seconds above 0"
    value = _number(text, words)
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not {words}")
    return value


def seed(text: str) -> int:
    """A seed, as an option of the command line."""
    if not text.isdecimal() or int(text) >= 2**32:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 4294967295")
    return int(text)


def count_or_auto(text: str) -> int | str:
    """A number from 1 on, or "auto", as an option of the command line."""
    if text == "auto":
        return text
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 on, or auto")
    return int(text)
