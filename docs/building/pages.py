"""The pages of docs/, written for a code host, as sources of the site.

A link to a file outside docs/ leads to the page that the site has in its place. A paragraph that is
nothing but a link to an example of the gallery becomes its picture. In an index, the first link of
each row of a table or item of a list is a page of its own, below it in the tree of the site.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

# The pages whose lists are the tree of the site, from its root.
INDEXES = ("index.md", "README.md", "extending.md")
# What the site shows in place of a file or folder of the repository.
ELSEWHERE = {
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "README.md": "index.md",
    "examples": "gallery/index.rst",
    "benchmarks/results": "benchmarks.md",
    "src/gapless/__init__.py": "api/index.md",
}
# Of these, the pages that stand beside docs/.
BESIDE = ("CONTRIBUTING.md", "SECURITY.md")
LINK = re.compile(r"(?P<text>!?\[[^\[\]]*\])\((?P<path>[^)#:\s]*)(?P<place>#[^)\s]*)?\)")
PICTURE = re.compile(
    r"^\[(?P<text>[^\]]+)\]\((?P<page>(?P<gallery>\S*gallery/)(?P<example>plot_\w+)\.rst)\)$",
    re.MULTILINE,
)
BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
ENTRY = re.compile(r"^(?:\||-|\d\.) \[[^\]]*\]\(([^)#:]+)\)", re.MULTILINE)


def names() -> list[str]:
    """The pages of docs/, relative to it."""
    return sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


def texts() -> dict[str, str]:
    """The text of each page of the site that is a page of the repository, by its path there."""
    found = {name: as_source(DOCS / name, name) for name in names()}
    beside = {ELSEWHERE[path]: as_source(ROOT / path, ELSEWHERE[path]) for path in BESIDE}
    return {**found, **beside}


def pictures() -> dict[str, Path]:
    """The pictures that pages show."""
    return {path.relative_to(DOCS).as_posix(): path for path in DOCS.rglob("*.png")}


def as_source(path: Path, name: str) -> str:
    """A page as a source of the site, in which it is called `name`."""
    text = outside_blocks(path.read_text(), lambda part: with_links(part, path.parent, name))
    return text + tree(path, name) if name in INDEXES else text


def outside_blocks(text: str, change) -> str:
    """Change what is not within a block of code."""
    parts, end = [], 0
    for block in BLOCK.finditer(text):
        parts += [change(text[end : block.start()]), block[0]]
        end = block.end()
    return "".join([*parts, change(text[end:])])


def with_links(text: str, folder: Path, name: str) -> str:
    """Text with its links, and with pictures in place of paragraphs that link to an example."""
    text = LINK.sub(lambda link: _link(link, folder, name), text)
    if os.environ.get("GALLERY") == "no":
        return text
    return PICTURE.sub(
        lambda found: (
            f"[![{found['text']}]({found['gallery']}images/sphx_glr_{found['example']}_001.png)]"
            f"({found['page']})\n\n*[{found['text']}]({found['page']})*"
        ),
        text,
    )


def target_of(path: Path) -> str | None:
    """The source of the site that shows a file of the repository, or None."""
    if path.is_relative_to(DOCS):
        return path.relative_to(DOCS).as_posix()
    if path.parent == ROOT / "examples" and path.suffix == ".py":
        return f"gallery/{path.stem}.rst"
    return ELSEWHERE.get(path.relative_to(ROOT).as_posix())


def _link(link: re.Match[str], folder: Path, name: str) -> str:
    if not link["path"]:
        return link[0]
    target = target_of((folder / link["path"]).resolve())
    if target is None:
        return link["text"][1:-1]
    return f"{link['text']}({_relative(target, name)}{link['place'] or ''})"


def _relative(target: str, name: str) -> str:
    return os.path.relpath(target, Path(name).parent).replace(os.sep, "/")


def entries(path: Path) -> dict[str, list[str]]:
    """What an index lists: sources of the site, by the heading that they stand under."""
    found: dict[str, list[str]] = {}
    for part in re.split(r"^## ", path.read_text(), flags=re.MULTILINE):
        heading = part.partition("\n")[0].lstrip("# ")
        targets = [target_of((path.parent / link).resolve()) for link in ENTRY.findall(part)]
        found[heading] = [target for target in targets if target is not None]
    return {heading: targets for heading, targets in found.items() if targets}


def tree(path: Path, name: str) -> str:
    """The lists of an index as Sphinx reads them."""
    text = ""
    for heading, targets in entries(path).items():
        lines = [f"/{target.rpartition('.')[0]}" for target in targets]
        caption = "" if name == "index.md" else f":caption: {heading}\n"
        text += f"\n```{{toctree}}\n:hidden:\n{caption}\n" + "\n".join(lines) + "\n```\n"
    return text
