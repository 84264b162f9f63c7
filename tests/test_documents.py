"""The README and the guide lead on: links, the index of pages, the map of folders, the changes.

What the pages show is run in test_docs.py.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
INDEX = ROOT / "docs" / "README.md"
GUIDE = sorted((ROOT / "docs" / "guide").glob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(([^)#:]*)(?:#([^)]*))?\)")


def name(page):
    return str(page.relative_to(ROOT))


def links(page):
    """The files that a page leads to, each with the heading, or ""."""
    found = LINK.findall(re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S))
    return [((page.parent / path).resolve() if path else page, place) for path, place in found]


def headings(page):
    """The headings of a page, as links name them."""
    lines = re.findall(r"^#+ (.*)$", page.read_text(), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in lines}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_to_files_and_to_headings_in_them(page):
    for target, place in links(page):
        assert target.exists(), target
        assert not place or place in headings(target), f"{name(target)}#{place}"


def test_every_page_of_the_guide_is_in_the_index_and_leads_to_others():
    listed = {target for target, _ in links(INDEX)}
    assert set(GUIDE) <= listed
    for page in GUIDE:
        others = {target for target, _ in links(page)} & set(GUIDE) - {page}
        assert len(others) >= 2, name(page)


def test_the_map_names_every_folder():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    folders = [path.parent.name for path in (ROOT / "src" / "gapless").glob("*/__init__.py")]
    assert [folder for folder in folders if f"`{folder}/`" not in text] == []


def test_changes_are_one_sentence_of_a_known_kind():
    for path in (ROOT / "changes").iterdir():
        if path.name == "README.md":
            continue
        assert re.fullmatch(r"\w+\.(added|changed|fixed|faster|removed)\.md", path.name), path.name
        text = path.read_text().strip()
        assert len(text.splitlines()) == 1 and text.endswith("."), path.name
        # A full stop within is that of an abbreviation, a number or a file name.
        assert not re.search(r"(?<!i\.e)(?<!e\.g)\. [A-Z]", text), path.name


FILE = r"\b(?:src|docs|tests)/[\w/]+\.(?:hpp|cpp|py|md)\b"


def test_paths_that_the_sources_name_exist():
    """Files move; what points at them follows."""
    sources = [*(ROOT / "src").rglob("*.py"), *(ROOT / "src" / "core").rglob("*.?pp")]
    named = {
        (path.relative_to(ROOT).as_posix(), found)
        for path in sources
        for found in re.findall(FILE, path.read_text())
    }
    assert named, "the sources name no file, so that nothing is tested"
    assert {pair for pair in named if not (ROOT / pair[1]).exists()} == set()
