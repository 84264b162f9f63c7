"""The site: every page is in its tree, links resolve, and what pages name exists; it is not built.

`make docs` builds it, with warnings as errors, and so does CI.
"""

import operator
import re
from pathlib import Path

import pytest
from docs.building import benchmarks, pages, reference
from docs.building.docstrings import escaped

import gapless
from public_estimators import public_estimators

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
SOURCES = pages.texts()
TOPICS = (DOCS / "topics.md").read_text()
# Pages that Sphinx or a script makes.
MADE = {"gallery/index.rst", "api/index.md", "benchmarks.md"}


def listed_below(name):
    """The pages below an index of the tree, in all depths."""
    lists = pages.entries(DOCS / name).values() if name in pages.INDEXES else ()
    found = [page for pages_listed in lists for page in pages_listed]
    return found + [page for each in found for page in listed_below(each)]


def test_every_page_is_in_the_tree_once():
    listed = listed_below("index.md")
    assert len(listed) == len(set(listed))
    assert set(listed) == {*SOURCES, *MADE} - {"index.md"}


@pytest.mark.parametrize("name", SOURCES)
def test_links_of_the_site_resolve(name):
    text = re.sub(r"^```.*?^```", "", SOURCES[name], flags=re.MULTILINE | re.DOTALL)
    for link in pages.LINK.finditer(text):
        target = (Path(name).parent / link["path"]).as_posix() if link["path"] else name
        target = Path("/", target).resolve().relative_to("/").as_posix()
        if target in MADE or target in SOURCES or target in pages.pictures():
            continue
        example = re.fullmatch(
            r"gallery/(?:images/sphx_glr_)?(plot_\w+?)(?:_001\.png|\.rst)", target
        )
        assert example, f"{name}: {target} is no page of the site"
        assert (ROOT / "examples" / f"{example[1]}.py").exists(), target


def test_a_link_to_the_repository_leads_to_the_page_in_its_place():
    text = "[a](../../examples/plot_x.py) [b](../../src/core/arrays.hpp) [c](../README.md#d)"
    found = pages.with_links(text, DOCS / "guide", "guide/x.md")
    assert found == "[a](../gallery/plot_x.rst) b [c](../README.md#d)"
    kept = "```python\n[a](../../examples)\n```"
    assert pages.outside_blocks(kept, str.upper) == kept


def test_a_paragraph_that_links_to_an_example_becomes_its_picture(monkeypatch):
    monkeypatch.delenv("GALLERY", raising=False)
    line = "[Seen](../examples/plot_x.py)"
    drawn = pages.with_links(line, DOCS, "page.md")
    assert drawn.startswith("[![Seen](gallery/images/sphx_glr_plot_x_001.png)](gallery/plot_x.rst)")
    assert "images" not in pages.with_links(f"see {line}", DOCS, "page.md")
    monkeypatch.setenv("GALLERY", "no")
    assert pages.with_links(line, DOCS, "page.md") == "[Seen](gallery/plot_x.rst)"


def test_the_reference_has_every_public_name_and_no_other():
    named = reference.every_name()
    assert len(named) == len(set(named))
    things = [operator.attrgetter(name.removeprefix("gapless."))(gapless) for name in named]
    assert [name for name, thing in zip(named, things) if not thing.__doc__] == []
    public = {name: getattr(gapless, name) for name in gapless.__all__}
    missing = [name for name, it in public.items() if callable(it) and it not in things]
    assert missing == [], "add them to docs/building/reference.py"


def test_names_that_the_topics_lead_to_exist():
    rows = re.findall(r"^\| [^|]+ \| (`[^|]+`) \| ([^|]*) \|$", TOPICS, flags=re.MULTILINE)
    assert len(rows) > 40
    for names, _ in rows:
        for name in re.findall(r"`([^`]+)`", names):
            operator.attrgetter(name)(gapless)
    assert {path for _, cell in rows for path in re.findall(r"examples/(\w+)\.py", cell)} == set(
        re.findall(r"examples/(\w+)\.py", TOPICS)
    )


def families():
    """The pages of the guide's models that describe an estimator."""
    of_models = pages.entries(DOCS / "README.md")["Models"]
    described = {f"guide/{cls._guide}.md" for cls in public_estimators()}
    return [page for page in of_models if page in described]


@pytest.mark.parametrize("page", families())
def test_a_family_has_a_formula_a_picture_its_use_and_its_cost(page):
    text = (DOCS / page).read_text()
    headings = re.findall(r"^## (.*)$", text, flags=re.MULTILINE)
    assert {"When to use it", "Cost"} <= set(headings)
    assert re.search(r"[Σ‖√]|gain =", text), "no formula"
    assert re.search(r"\.png\)|examples/plot_\w+\.py\)", text), "no picture"


def test_the_benchmarks_say_how_and_how_fast():
    text = benchmarks.text()
    for path in benchmarks.RESULTS.glob("*.csv"):
        assert path.stem == "quick" or benchmarks.section(path.stem) in text
    rows = [
        {"problem": "a", "library": "gapless", "seconds_median": "0.5", "judged": "1"},
        {"problem": "a", "library": "slow", "seconds_median": "3", "judged": "1"},
        {"problem": "a", "library": "other", "seconds_median": "1", "judged": "2"},
        {"problem": "a", "library": "endless", "seconds_median": "inf", "judged": ""},
    ]
    assert "| a | 0.5 | other | 1 | 2.0 | 1 / 2 |" in benchmarks.by_library(rows)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("ℓ*(y, u) for |u| ≤ 1", r"ℓ\*(y, u) for \|u\| ≤ 1"),
        ("the coef_ of *each* model", r"the coef\_ of *each* model"),
        ("`coef_` and `C=1` and ``x*``", "`coef_` and ``C=1`` and ``x*``"),
        ("**kwargs", r"\*\*kwargs"),
    ],
)
def test_formulas_in_docstrings_are_text(text, expected):
    assert escaped(text) == expected


def test_nothing_is_fetched_from_elsewhere():
    written = [DOCS / "conf.py", *(DOCS / "static").iterdir(), *(DOCS / "templates").rglob("*.*")]
    assert not [path for path in written if re.search(r"https?://", path.read_text())]
