"""The results of `fit` and `explore`: a model and a page in a folder of the table's own."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from .files import whole_files
from .printer import Printer

MODEL_FILE, REPORT_FILE = "model.gapless", "report.html"


@dataclass(frozen=True)
class Pages:
    """A report in its three forms."""

    json: str
    html: str
    text: str


def tell(printer: Printer, text: str, seconds: float, limit: float) -> None:
    """Report work that belongs to no model, like the events of a choice."""
    event = SimpleNamespace(model="", done=0, total=0, seconds=seconds, limit=limit, text=text)
    printer.progress(event)


def write_results(model: Any, pages: Pages | None, folder: Path) -> dict[str, str]:
    """Write the model, which holds the report too, and the report as a page, if there is one."""
    from gapless.model_io import save

    model.record_ = "" if pages is None else pages.json
    with whole_files(folder) as new:
        save(model, new(MODEL_FILE))
        if pages is not None:
            new(REPORT_FILE).write_text(pages.html, encoding="utf-8")
    path, report = folder / MODEL_FILE, folder / REPORT_FILE
    if pages is None:
        # A page left by an earlier run would pass for that of this model.
        report.unlink(missing_ok=True)
        return {"model": str(path)}
    return {"model": str(path), "report": str(report)}


def print_results(is_json: bool, pages: Pages, files: dict[str, str], printer: Printer) -> None:
    """Print a report, where its files are, and what to do with them."""
    if is_json:
        printer.json({**json.loads(pages.json), "files": files})
        return
    printer.answer(pages.text)
    printer.plain(
        f"\nmodel   {files['model']}\nreport  {files['report']}\n"
        f"next    gapless predict {shlex.quote(files['model'])} NEW_TABLE"
    )


# ---- folders -------------------------------------------------------------------------------------

# That of the folder that `fit` writes.
SUFFIX = ".gapless"
# Suffixes removed from the name of a table, in turn.
PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip")
TABLES = (
    *(".csv", ".tsv", ".tab", ".txt", ".dat", ".data", ".json", ".jsonl", ".ndjson"),
    *(".parquet", ".arrow", ".feather", ".ipc", ".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"),
)


def default_folder(table: str, suffix: str = SUFFIX) -> Path:
    """The folder for a table's files, in the working directory: houses.csv.gz → houses.gapless."""
    path = Path("table" if table == "-" else Path(table).name)
    for suffixes in (PACKED, TABLES):
        path = path.with_suffix("") if path.suffix.lower() in suffixes else path
    return Path(f"{path}{suffix}")


def model_file(name: str) -> Path:
    """The model file for a path to it or to the folder that `fit` or `explore` wrote."""
    path = Path(name)
    if path.is_dir():
        if not (path / MODEL_FILE).is_file():
            raise ValueError(f"{path} has no {MODEL_FILE}; name the folder that gapless fit wrote.")
        return path / MODEL_FILE
    if not path.is_file():
        what = "is not a file" if path.exists() else "does not exist"
        raise ValueError(f"{path} {what}; name a model file, or the folder that gapless fit wrote.")
    return path


def check_results(folder: Path, table: Any, kind: type) -> None:
    """Check that a folder holds no results of another table or another command.

    They belong to the same table if it has the same name, or the exact rows of the fit.

    Raises
    ------
    ValueError
        If it does, or holds an unreadable model.
    """
    from gapless.model_io import load

    path = folder / MODEL_FILE
    if not path.exists():
        return
    try:
        model = load(path)
        source = recorded(model).source if getattr(model, "record_", "") else ""
        is_same = isinstance(model, kind) and _is_of(model, source, table)
    except (ValueError, OSError):
        source, is_same = "", False
    if not is_same:
        whose = f"a model of {source}, another table" if source else "another model"
        if source == table.source:
            whose = "a model of another command"
        raise ValueError(
            f"{folder} already contains {whose}; name another folder with --out DIR, "
            "or replace it with --overwrite."
        )


def _is_of(model: Any, source: str, table: Any) -> bool:
    has_name = source == table.source != "standard input"
    return has_name or model.profile_.training_rows(table) is not None


def recorded(model: Any) -> Any:
    """The report that a model holds; ValueError if it is of another version."""
    from gapless.choosing import exploring, report

    is_map = isinstance(model, exploring.TableMap)
    return (exploring.from_json if is_map else report.from_json)(model.record_)


def recorded_report(model: Any) -> Any:
    """The report that a model holds; None if there is none, or it is of another version."""
    try:
        return recorded(model) if getattr(model, "record_", "") else None
    except ValueError:
        return None
