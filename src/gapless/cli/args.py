"""The commands, their options, and the errors about a wrong option."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from types import ModuleType
from typing import NoReturn

from .commands import check, data, explore, fit, gallery, predict, report, show
from .words import unknown_command, unknown_option

COMMANDS: dict[str, ModuleType] = {
    "fit": fit,
    "explore": explore,
    "predict": predict,
    "check": check,
    "show": show,
    "report": report,
    "data": data,
    "gallery": gallery,
}
EXAMPLES = """\
examples:
  gapless fit houses.csv --target price        choose a model, write a report
  gapless fit iris                             the same for a built-in table
  gapless predict houses.gapless new.csv       add predictions to another table
  gapless explore houses.csv                   groups and odd rows, without a target
  gapless COMMAND --help                       the options of a command
"""


class UsageError(ValueError):
    """The command line is wrong; the message suggests what to write instead."""


class Parser(argparse.ArgumentParser):
    """argparse's parser, with errors raised instead of printed."""

    def error(self, message: str) -> NoReturn:
        """Raise what argparse would print with the usage."""
        missing = message.removeprefix("the following arguments are required: ")
        if missing != message:
            # An option that takes several words may have taken it.
            raise UsageError(f"{missing} is missing; it must come first: {self.prog} {missing} …")
        raise UsageError(f"{message}; see {self.prog} --help.")


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The options of a command line; help and version end the program by SystemExit."""
    parser, subparsers = build()
    if not argv:
        argv = ["--help"]
    if not argv[0].startswith("-") and argv[0] not in COMMANDS:
        raise UsageError(unknown_command(argv[0], COMMANDS))
    args, unknown = parser.parse_known_args(argv)
    if unknown:
        actions = subparsers[args.command]._actions
        known = [option for action in actions for option in action.option_strings]
        raise UsageError(unknown_option(unknown[0], args.command, known))
    return args


def build() -> tuple[Parser, dict[str, Parser]]:
    """The parser of all commands, and each command's own."""
    parser = Parser(
        prog="gapless",
        description="Fit a model to a table, estimate its score on unseen rows, write a report.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, help="show the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    subparsers = {}
    for name, module in COMMANDS.items():
        subparsers[name] = commands.add_parser(
            name,
            help=module.HELP,
            description=f"{module.HELP[0].upper()}{module.HELP[1:]}.",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        module.add_arguments(subparsers[name])
        _add_common(subparsers[name])
    return parser, subparsers


def _add_common(parser: Parser) -> None:
    """Options of every command."""
    said = parser.add_argument_group("output")
    level = said.add_mutually_exclusive_group()
    level.add_argument(
        *("-q", "--quiet"),
        dest="verbosity",
        action="store_const",
        const=-1,
        default=0,
        help="print only the answer, in one line",
    )
    level.add_argument(
        *("-v", "--verbose"),
        dest="verbosity",
        action="store_const",
        const=1,
        help="trace the work on standard error",
    )
    said.add_argument("--debug", action="store_true", help="show the traceback of an error")


class _Version(argparse.Action):
    """Prints the version, which is only then looked up."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None):
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *args: object) -> None:
        from importlib.metadata import version

        print(f"gapless {version('gapless')}")
        parser.exit()
