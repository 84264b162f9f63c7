"""`gapless gallery [NAME …]`: pictures of what the models do, made here and now."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..files import check_folder, whole_files
from ..options import new_path
from ..printer import DONE, Printer
from ..words import unknown_script

HELP = "draw the pictures of the gallery, and a page with them"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `gallery`."""
    parser.add_argument(
        "names", metavar="NAME", nargs="*", help="which pictures to draw (default: all of them)"
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        *("-o", "--out"),
        metavar="DIR",
        type=new_path,
        default=Path("gallery"),
        help="the folder to write to (default: gallery)",
    )
    what.add_argument("--list", action="store_true", help="list the pictures and draw none")
    parser.add_argument("--json", action="store_true", help="print what was written as JSON")


def run(args: argparse.Namespace, printer: Printer) -> int:
    """Draw some or all pictures of the gallery, or list them."""
    from gapless.plots.gallery import scripts

    known = scripts()
    for name in args.names:
        if name not in known:
            raise ValueError(unknown_script(name, known))
    chosen = [known[name] for name in args.names] or list(known.values())
    if args.list:
        _list(chosen, args.json, printer)
        return DONE
    check_folder(args.out)
    index = args.out / "index.html"
    if index.exists() and "gapless gallery" not in index.read_text("utf-8", "replace"):
        raise ValueError(
            f"{index} is not a page of the gallery, and would be replaced; name another folder "
            "with --out."
        )
    drawn = _draw(chosen, args.out, printer)
    if args.json:
        pictures = {one.script.name: [str(path) for path in one.pictures] for one in drawn}
        printer.json({"page": str(index), "pictures": pictures})
    else:
        count = sum(len(one.pictures) for one in drawn)
        printer.answer(f"{count} {'picture' if count == 1 else 'pictures'}: open {index}.")
    return DONE


def _list(chosen: list[Any], as_json: bool, printer: Printer) -> None:
    if as_json:
        printer.json({"pictures": {script.name: script.title for script in chosen}})
        return
    width = max(len(script.name) for script in chosen)
    lines = [f"{script.name:{width}}  {script.title}" for script in chosen]
    first = f"{len(chosen)} pictures; to draw one: gapless gallery {chosen[0].name}"
    printer.answer("\n".join([first, "", *lines]))


def _draw(chosen: list[Any], folder: Path, printer: Printer) -> list[Any]:
    """Each picture as it is done; the page when all are."""
    from gapless.plots.gallery import draw, index_page

    drawn = []
    folder.mkdir(parents=True, exist_ok=True)
    for number, script in enumerate(chosen, start=1):
        drawn.append(draw(script, folder))
        took = f"{drawn[-1].seconds:.1f} s"
        printer.note(f"{number} of {len(chosen)}: {script.name} ({took})")
    with whole_files(folder) as new:
        new("index.html").write_text(index_page(drawn), encoding="utf-8")
    return drawn
