"""Write the sources of the site; files that are as they were keep their time."""

import shutil
import sys
from pathlib import Path

from . import benchmarks, pages, reference

# Made by Sphinx's extensions inside the sources, from files that they compare themselves.
MADE_BY_SPHINX = ("gallery", "api/names", "api/examples")


def main(folder: str) -> None:
    """Write all sources to a folder, and delete what is no longer one of them."""
    root = Path(folder)
    texts = {**pages.texts(), **reference.texts(), "benchmarks.md": benchmarks.text()}
    for name, text in texts.items():
        write(root / name, text.encode())
    for name, path in pages.pictures().items():
        write(root / name, path.read_bytes())
    wanted = {root / name for name in (*texts, *pages.pictures())}
    made = [root / name for name in MADE_BY_SPHINX]
    for path in [path for path in root.rglob("*") if path.is_file()]:
        if path not in wanted and not any(path.is_relative_to(other) for other in made):
            path.unlink()
    forget_names(root / "api" / "names")


def write(path: Path, data: bytes) -> None:
    """Write a file unless it has these bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_bytes() != data:
        path.write_bytes(data)


def forget_names(folder: Path) -> None:
    """Delete the pages of names if the list of names has changed; autosummary writes them anew."""
    listed = {f"{name}.rst" for name in reference.every_name()}
    if folder.exists() and {path.name for path in folder.glob("*.rst")} != listed:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
