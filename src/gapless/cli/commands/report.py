"""`gapless report MODEL|DIR`: what was found when the model was fitted, from its file alone."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from ..files import check_file, whole_files
from ..options import new_path
from ..printer import DONE, Printer
from ..results import model_file, recorded

HELP = "show the report of a fitted model, or write it to a file"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `report`."""
    parser.add_argument("model", metavar="MODEL|DIR", help="a model file, or the folder of `fit`")
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        *("-o", "--out"),
        metavar="FILE",
        type=new_path,
        help="write it to a file: .html, .json or .txt",
    )
    where.add_argument("--json", action="store_true", help="print the report as JSON only")


def run(args: argparse.Namespace, printer: Printer) -> int:
    """Print the report that a model file holds, or write it."""
    path = model_file(args.model)
    out = args.out
    if out is not None:
        _check_out(out)
    report = _report_of(path)

    from gapless.choosing import exploring
    from gapless.choosing import report as fitting
    from gapless.choosing.report import to_json

    is_map = isinstance(report, exploring.MapReport)
    to_html: Any = exploring.to_html if is_map else fitting.to_html
    to_text: Any = exploring.to_text if is_map else fitting.to_text
    if out is not None:
        render = {".html": to_html, ".htm": to_html, ".json": to_json, ".txt": to_text}[out.suffix]
        with whole_files(out.parent) as new:
            new(out.name).write_text(render(report), encoding="utf-8")
        printer.answer(f"The report is in {out}.")
    elif args.json:
        printer.json(json.loads(to_json(report)))
    else:
        printer.answer(to_text(report))
    return DONE


def _check_out(out: Path) -> None:
    if out.suffix not in (".html", ".htm", ".json", ".txt"):
        raise ValueError(f"{out} must end in .html, .json or .txt, which sets the format.")
    check_file(out)


def _report_of(path: Path) -> Any:
    from gapless.model_io import load

    model = load(path)
    if not getattr(model, "record_", ""):
        raise ValueError(
            f"{path} contains no report: it was not written by gapless fit or explore, or the "
            f"report failed; gapless show {path} shows what is known about the model."
        )
    return recorded(model)
