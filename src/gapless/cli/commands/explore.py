"""`gapless explore TABLE`: what is in a table without a target, on a page and as a model."""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import replace
from typing import Any

from ..files import check_folder
from ..options import (
    add_drop_argument,
    add_reading_arguments,
    add_result_arguments,
    add_run_arguments,
    add_table_argument,
    count_or_auto,
    reading_of,
)
from ..printer import DONE, FINDINGS, Printer
from ..results import Pages, check_results, default_folder, print_results, write_results
from ..results import tell as tell_of_work

HELP = "find components, groups, odd rows and copies in a table without a target"
SUFFIX = ".explore"
# The part of the time limit for the page and the files.
FOR_PAGES = 0.1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `explore`."""
    add_table_argument(parser)
    what = parser.add_argument_group("exploring")
    what.add_argument(
        "--clusters",
        type=count_or_auto,
        default="auto",
        metavar="K",
        help="the number of groups, at most 100 (default: those with gaps between them, if any)",
    )
    what.add_argument(
        "--components",
        type=count_or_auto,
        default="auto",
        metavar="K",
        help="the number of components (default: those that predict held-out entries best)",
    )
    add_drop_argument(what)
    add_run_arguments(what)
    add_reading_arguments(parser)
    add_result_arguments(parser, SUFFIX, "a row of totals")


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
