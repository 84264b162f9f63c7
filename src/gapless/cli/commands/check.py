"""`gapless check MODEL TABLE`: is the model optimal, and as good as expected on it?"""

from __future__ import annotations

import argparse
from typing import Any

from ..options import add_reading_arguments, reading_of
from ..printer import DONE, FINDINGS, Printer
from ..results import model_file

HELP = "recertify and score a model, and compare a table with its training rows"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `check`."""
    parser.add_argument("model", metavar="MODEL", help="a model file, or the folder of `fit`")
    parser.add_argument(
        "table",
        metavar="TABLE",
        help="the table of the fit, or another one; it is scored if it has the target",
    )
    parser.add_argument(
        "--strict", action="store_true", help="exit with 1 for notes too, not only for warnings"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON only")
    add_reading_arguments(parser, as_fitted=True)


def run(args: argparse.Namespace, printer: Printer) -> int:
    """Check a model against a table; exit with 1 if there are warnings."""
    path = model_file(args.model)
    model = _table_model(path)

    from ..checking import check

    checked = check(model, args.table, reading_of(args).over(model.reading_))
    if args.json:
        printer.json(checked.to_dict())
    else:
        printer.answer(str(checked))
    return FINDINGS if checked.warnings or (args.strict and checked.findings) else DONE


def _table_model(path: Any) -> Any:
    from gapless.choosing import TableModel
    from gapless.choosing.exploring import TableMap
    from gapless.model_io import load

    model = load(path)
    if isinstance(model, TableModel | TableMap):
        return model
    raise ValueError(
        f"{path} contains a {type(model).__name__} without columns, target and expected score, so "
        "no table can be checked against it; gapless show prints its certificate, and in Python "
        "gapless.certify(model, X, y) recomputes it."
    )
