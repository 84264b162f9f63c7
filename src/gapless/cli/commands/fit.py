"""`gapless fit TABLE --target COL`: compare models, keep one, write it with a report."""

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
    reading_of,
    share,
)
from ..printer import DONE, FINDINGS, Printer
from ..results import SUFFIX, Pages, check_results, default_folder, print_results, write_results
from ..results import tell as tell_of_work

HELP = "compare models on a table, keep the simplest good one, and write it with a report"
# Parts of the time limit for the choice and for everything except writing; the report gets the
# rest.
FOR_CHOOSING, FOR_ALL = 0.8, 0.96
# Seconds for the shortest report and its pages, and per column of a model file. However long they
# take, LEAST of the limit is for choosing.
PAGES, FILES_PER_COLUMN, LEAST = 0.4, 1e-4, 0.2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `fit`."""
    add_table_argument(parser)
    parser.add_argument("--target", metavar="COL", help="the column to predict")
    what = parser.add_argument_group("fitting")
    what.add_argument(
        "--task",
        choices=("auto", "classification", "regression"),
        default="auto",
        help="whether to predict classes or a number (default: detected)",
    )
    what.add_argument(
        "--models",
        metavar="NAME",
        nargs="+",
        action="extend",
        help="only these families, e.g. 'boosted trees' lasso (default: all suitable ones)",
    )
    what.add_argument(
        "--metric", default="auto", help="what to compare by, e.g. accuracy, roc_auc, r2, mae"
    )
    what.add_argument(
        "--costs",
        metavar="FILE",
        help="a table with the cost of each decision (column) for each true class (row)",
    )
    add_drop_argument(what)
    how = parser.add_argument_group("judging")
    how.add_argument(
        "--test",
        type=share,
        default=0.2,
        metavar="SHARE",
        help="share of the rows to set aside and use once, at the end (default: 0.2)",
    )
    how.add_argument(
        "--group", metavar="COL", help="keep rows with the same value on one side of each split"
    )
    how.add_argument("--time", metavar="COL", help="learn from earlier rows and test on later ones")
    add_run_arguments(how)
    add_reading_arguments(parser)
    add_result_arguments(parser, SUFFIX, "leakage")


def run(args: argparse.Namespace, printer: Printer) -> int:
    """Choose a model for a table, write it and its report, and print the result."""
    folder = args.out or default_folder(args.table)
    check_folder(folder)

    tell_of_work(printer, "loading models", 0.0, math.inf)
    _load()
    from gapless._ground.progress import without_lines
    from gapless.choosing import TableModel
    from gapless.data import read_table

    tell_of_work(printer, f"reading {args.table}", 0.0, math.inf)
    table = read_table(args.table, **reading_of(args).given(), time_limit=args.time_limit)
    target = _target_of(table) if args.target is None else args.target
    printer.detail(str(table))
    for note in table.notes:
        printer.detail(f"  {note}")
    if not args.overwrite:
        check_results(folder, table, TableModel)
    began = time.monotonic()
    with without_lines():
        choice = _chosen(args, table, target, began, printer)
        try:
            pages = _pages(choice, table, args.time_limit, began, printer)
        except Exception:
            # The model is kept; the error is reported like any other.
            files = write_results(choice.model, None, folder)
            _say_without_report(args, choice, files, printer)
            raise
    tell_of_work(printer, "writing the files", time.monotonic() - began, args.time_limit)
    files = write_results(choice.model, pages, folder)
    print_results(args.json, pages, files, printer)
    warned = any(finding.severity == "warning" for finding in choice.findings)
    return FINDINGS if args.strict and warned else DONE


def _load() -> None:
    """Import everything needed before the table is read: the limit is for what comes after."""
    import gapless.choosing
    import gapless.model_io  # noqa: F401
    from gapless.choosing.report import page

    page()


def _chosen(
    args: argparse.Namespace, table: Any, target: str, began: float, printer: Printer
) -> Any:
    """The choice, within its part of the time limit."""
    from gapless.choosing import Progress, choose

    # Pages and files name every column.
    spent = PAGES + FILES_PER_COLUMN * table.frame.width

    def tell(event: Progress) -> None:
        seconds = time.monotonic() - began
        printer.progress(replace(event, seconds=seconds, limit=args.time_limit))

    return choose(
        table,
        target,
        task=args.task,
        models=args.models and [name for word in args.models for name in word.split(",")],
        metric=args.metric,
        time_limit=max(FOR_CHOOSING * args.time_limit - spent, LEAST * args.time_limit),
        test=args.test,
        group=args.group,
        time=args.time,
        drop=args.drop,
        costs=args.costs,
        seed=args.seed,
        on_progress=tell,
    )


def _pages(choice: Any, table: Any, limit: float, began: float, printer: Printer) -> Pages:
    """The report of a choice, within the rest of the time limit."""
    from gapless.choosing.report import summarize, to_html, to_json, to_text

    def tell(part: str) -> None:
        tell_of_work(printer, f"report: {part}", time.monotonic() - began, limit)

    left = FOR_ALL * limit - PAGES - (time.monotonic() - began)
    report = summarize(choice, table, time_limit=max(left, 0.0), on_progress=tell)
    tell("pages")
    return Pages(to_json(report), to_html(report), to_text(report))


def _say_without_report(
    args: argparse.Namespace, choice: Any, files: dict[str, str], printer: Printer
) -> None:
    """Print what is known about a model whose report failed."""
    if args.json:
        printer.json({"answer": str(choice).partition("\n")[0], "files": files})
    else:
        printer.answer(f"{choice}\n\nmodel   {files['model']}")
    printer.note("The model was saved, but its report could not be written:")


def _target_of(table: Any) -> str:
    """The target of a built-in table; for others it must be given."""
    from gapless.data import BUILTIN, listed

    if table.format == "built-in" and (target := BUILTIN[table.source].target) is not None:
        return target
    names = listed(table.frame.columns, 20)
    raise ValueError(f"name the column to predict with --target COL. The columns are {names}.")
