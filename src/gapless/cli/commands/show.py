"""`gapless show MODEL`: what a model minimises, how well it does so, what it uses and expects."""

from __future__ import annotations

import argparse

from ..printer import DONE, Printer
from ..results import model_file

HELP = "show what a model file contains: objective, coefficients or rules, columns, training rows"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `show`."""
    parser.add_argument("model", metavar="MODEL", help="a model file, or the folder of `fit`")
    parser.add_argument("--json", action="store_true", help="print everything as JSON only")


def run(args: argparse.Namespace, printer: Printer) -> int:
    """Show what is in a model file."""
    path = model_file(args.model)

    from ..showing import shown_of

    shown = shown_of(path)
    if args.json:
        printer.json(shown.to_dict())
    else:
        printer.answer(str(shown))
    return DONE
