"""`gapless data`: the built-in tables, and each of them as CSV."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from ..files import check_file
from ..options import new_path
from ..printer import DONE, Printer

HELP = "list the built-in tables, or write one as CSV"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `data`."""
    parser.add_argument("name", metavar="NAME", nargs="?", help="the table to write")
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        *("-o", "--out"),
        metavar="FILE",
        type=new_path,
        help="where to write it (default: standard output)",
    )
    where.add_argument("--json", action="store_true", help="print the list, or the table, as JSON")


def run(args: argparse.Namespace, printer: Printer) -> int:
    """List the built-in tables, or write one."""
    from gapless.data import BUILTIN, load_builtin

    from ..table_files import write_frames

    if args.name is None:
        if args.out is not None:
            raise ValueError(f"name the table to write: gapless data NAME -o {args.out}.")
        sets = list(BUILTIN.values())
        if args.json:
            printer.json({"tables": [asdict(entry) for entry in sets]})
        else:
            printer.answer(listing(sets))
        return DONE
    out = args.out
    if out is not None:
        check_file(out)
    frame = load_builtin(args.name).frame
    if args.json:
        printer.json({**asdict(BUILTIN[args.name]), "data": frame.to_dicts()})
        return DONE
    write_frames([frame], "csv", out or printer.out)
    if out is not None:
        printer.answer(f"{args.name}: {frame.height:,} rows written to {out}.")
    return DONE


def listing(sets: list[Any]) -> str:
    """The built-in tables, a line each, below how to use them."""
    header = ("name", "rows", "columns", "target", "about")
    rows = [(s.name, f"{s.rows:,}", str(s.columns), s.target or "—", s.about) for s in sets]
    widths = [max(len(row[k]) for row in [header, *rows]) for k in range(4)]
    lines = [
        f"{row[0]:{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}  "
        f"{row[3]:{widths[3]}}  {row[4]}"
        for row in [header, *rows]
    ]
    first = f"{len(sets)} built-in tables; to fit one: gapless fit breast_cancer"
    return "\n".join([first, "", *lines])
