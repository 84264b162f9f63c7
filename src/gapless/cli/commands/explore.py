"""`gapless explore TABLE`: what is in a table without a target, on a page and as a model."""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import replace
from typing import Any

from ..files import check_folder
from ..options import add_reading_arguments, count_or_auto, new_path, reading_of, seconds, seed
from ..printer import DONE, FINDINGS, Printer
from ..results import Pages, check_results, default_folder, print_results, write_results
from ..results import tell as tell_of_work

HELP = "find components, groups, odd rows and copies in a table without a target"
SUFFIX = ".explore"
# The part of the time limit for the page and the files.
FOR_PAGES = 0.1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `explore`."""
    parser.add_argument(
        "table",
        metavar="TABLE",
        help="a file in any format that `fit` reads, - for standard input, or a built-in table",
    )
    what = parser.add_argument_group("exploring")
    what.add_argument(
        "--clusters",
        type=count_or_auto,
        default="auto",
        metavar="K",
        help="the number of groups (default: those with gaps between them, if there are any)",
    )
    what.add_argument(
        "--components",
        type=count_or_auto,
        default="auto",
        metavar="K",
        help="the number of components (default: those that predict held-out entries best)",
    )
    what.add_argument(
        *("--drop",),
        metavar="COL",
        nargs="+",
        action="extend",
        default=[],
        help="columns to ignore",
    )
    what.add_argument("--seed", type=seed, default=0, metavar="N", help="seed of all random draws")
    what.add_argument(
        "--time-limit",
        type=seconds,
        default=60.0,
        metavar="SECONDS",
        help="for everything after reading the table, and for a pipe to end (default: 60)",
    )
    add_reading_arguments(parser)
    out = parser.add_argument_group("results")
    out.add_argument(
        "--out",
        metavar="DIR",
        type=new_path,
        help="folder for the files (default: TABLE.explore)",
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
        help="exit with 1 if the table has warnings, e.g. of a row of totals",
    )


def run(args: argparse.Namespace, printer: Printer) -> int:
    """Explore a table, write the map and its page, and print what was found."""
    folder = args.out or default_folder(args.table, SUFFIX)
    check_folder(folder)

    tell_of_work(printer, "loading models", 0.0, math.inf)
    from gapless._ground.progress import without_lines
    from gapless.choosing.exploring import TableMap, page
    from gapless.data import read_table

    page()
    tell_of_work(printer, f"reading {args.table}", 0.0, math.inf)
    table = read_table(args.table, **reading_of(args).given(), time_limit=args.time_limit)
    printer.detail(str(table))
    for note in table.notes:
        printer.detail(f"  {note}")
    if not args.overwrite:
        check_results(folder, table, TableMap)
    began = time.monotonic()
    with without_lines():
        found = _explored(args, table, began, printer)
    tell_of_work(printer, "writing the files", time.monotonic() - began, args.time_limit)
    from gapless.choosing.report import to_json

    pages = Pages(to_json(found.report), found.to_html(), str(found))
    files = write_results(found.model, pages, folder)
    print_results(args.json, pages, files, printer)
    warned = any(one.severity == "warning" for one in found.report.data.findings)
    return FINDINGS if args.strict and warned else DONE


def _explored(args: argparse.Namespace, table: Any, began: float, printer: Printer) -> Any:
    """What was found, within its part of the time limit."""
    from gapless.choosing import Progress
    from gapless.choosing.exploring import explore

    def tell(event: Progress) -> None:
        spent = time.monotonic() - began
        printer.progress(replace(event, seconds=spent, limit=args.time_limit))

    return explore(
        table,
        clusters=args.clusters,
        components=args.components,
        drop=args.drop,
        time_limit=(1 - FOR_PAGES) * args.time_limit,
        seed=args.seed,
        on_progress=tell,
    )
