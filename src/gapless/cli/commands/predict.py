"""`gapless predict MODEL TABLE`: the table with predictions and reasons, however long it is."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..files import check_file
from ..options import add_reading_arguments, new_path, reading_of, share
from ..printer import DONE, Printer
from ..results import model_file

HELP = "add predictions to a table, with probabilities or intervals; or groups and coordinates"
SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".json": "jsonl",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
FORMATS = ("csv", "tsv", "jsonl", "parquet")
COVERAGE = 0.9
# How many reasons are added, and the word for the contributions of all columns.
REASONS, ALL = 3, "all"
# Formats with the texts of the table unchanged; other formats have types.
TEXTS = ("csv", "tsv")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `predict`."""
    parser.add_argument("model", metavar="MODEL", help="a model file, or the folder of `fit`")
    parser.add_argument(
        "table",
        metavar="TABLE",
        help="a file in any format that `fit` reads, - for standard input, or a built-in table",
    )
    parser.add_argument(
        *("-o", "--out"),
        metavar="OUT",
        type=new_path,
        help="a file for the result: .csv, .tsv, .jsonl or .parquet (default: CSV to standard "
        "output)",
    )
    parser.add_argument(
        "--format", choices=FORMATS, help="the format of OUT, if its name does not show it"
    )
    parser.add_argument(
        "--coverage",
        type=share,
        metavar="SHARE",
        help="for regression, the share of targets between lower and upper (default: 0.9)",
    )
    parser.add_argument(
        "--proba",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="for classification, add probabilities (default: if the model has them)",
    )
    parser.add_argument(
        "--explain",
        type=_reasons,
        nargs="?",
        const=REASONS,
        metavar="N",
        help="add the N strongest reasons of each prediction (default: 3), or with `all` the "
        "contribution of every column",
    )
    parser.add_argument(
        "--missing-columns",
        choices=("error", "fill"),
        default="error",
        help="stop if the table lacks columns, or treat them as missing in all rows",
    )
    add_reading_arguments(parser, as_fitted=True)


def _reasons(text: str) -> int:
    """How many reasons were asked for; 0 for the contributions of all columns."""
    if text == ALL:
        return 0
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"needs a number from 1 on, or {ALL}; got {text!r}")
    return int(text)


def run(args: argparse.Namespace, printer: Printer) -> int:
    """Add predictions to each row of a table."""
    path = model_file(args.model)
    out = args.out
    form = _format_of(args.format, out)

    from gapless.model_io import load

    from ..predicting import Noticed, predictions, predictor_of
    from ..table_files import write_frames

    predictor, noticed = predictor_of(load(path)), Noticed()
    wanted = _wanted(args, predictor, form, printer)
    options = reading_of(args).over(predictor.reading)
    frames = predictions(predictor, args.table, wanted, noticed, options)
    rows = write_frames(frames, form, printer.out if out is None else out)
    for sentence in noticed.sentences():
        printer.note(sentence)
    if out is not None:
        what = "row" if predictor.is_map else "prediction"
        printer.answer(f"{rows:,} {what}{'' if rows == 1 else 's'} in {out}")
    return DONE


def _format_of(asked: str | None, out: Path | None) -> str:
    """The requested format, or that of the file name."""
    if out is None:
        if asked == "parquet":
            raise ValueError("Parquet needs a file; name it with -o OUT.parquet.")
        return asked or "csv"
    if asked is None and out.suffix.lower() not in SUFFIXES:
        raise ValueError(
            f"{out} should end in {', '.join(SUFFIXES)}; or add --format {{{','.join(FORMATS)}}}."
        )
    check_file(out)
    return asked or SUFFIXES[out.suffix.lower()]


def _wanted(args: argparse.Namespace, predictor: Any, form: str, printer: Printer) -> Any:
    from ..predicting import Wanted

    if predictor.is_map:
        if args.proba or args.coverage is not None or args.explain is not None:
            raise ValueError(
                "this model places rows on a map and predicts no target; drop --proba, --coverage "
                "and --explain."
            )
        fills = args.missing_columns == "fill"
        return Wanted(probabilities=False, coverage=None, fills=fills, typed=form not in TEXTS)
    if args.proba and not predictor.has_probabilities:
        what = "numbers" if predictor.classes is None else "classes without probabilities"
        raise ValueError(f"this model predicts {what}; drop --proba.")
    if args.coverage is not None and predictor.classes is not None:
        raise ValueError("this model predicts classes; --coverage applies to regression only.")
    if predictor.classes is None and not predictor.has_intervals:
        printer.note("no intervals: the errors of this model on unseen rows are unknown")
    return Wanted(
        probabilities=predictor.has_probabilities if args.proba is None else args.proba,
        coverage=(args.coverage or COVERAGE) if predictor.has_intervals else None,
        fills=args.missing_columns == "fill",
        typed=form not in TEXTS,
        reasons=args.explain,
    )
