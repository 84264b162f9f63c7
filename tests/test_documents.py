"""What the README and the guide show is what one gets: their examples run, their links lead on."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
WITH_EXAMPLES = [page for page in PAGES if ">>>" in page.read_text()]


class Checker(doctest.OutputChecker):
    """Compares what is printed up to the digits of gaps; tiny ones are rounding and vary."""

    GAP = re.compile(r"((?:at most|gap|tolerance) )([\d.]+(?:e[+-]\d+)?)")
    TINY = 1e-5

    def check_output(self, want, got, flags):
        wanted, found = ([float(n) for _, n in self.GAP.findall(text)] for text in (want, got))
        if len(wanted) != len(found) or not all(map(self.is_alike, wanted, found)):
            return False
        want, got = (self.GAP.sub(r"\1(a gap)", text) for text in (want, got))
        return super().check_output(want, got, flags)

    def is_alike(self, one, other):
        return max(one, other) < self.TINY or 0.5 < one / max(other, self.TINY) < 2


def name(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=name)
def test_examples_print_what_the_page_says(page):
    text = page.read_text()
    examples = doctest.DocTestParser().get_doctest(text, {}, name(page), str(page), 0)
    runner = doctest.DocTestRunner(Checker(), optionflags=doctest.ELLIPSIS)
    results = runner.run(examples)
    assert results.attempted > 0
    assert results.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_to_files(page):
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_changes_are_one_sentence_of_a_known_kind():
    fragments = [path for path in (ROOT / "changes").iterdir() if path.name != "README.md"]
    for path in fragments:
        assert re.fullmatch(r"\w+\.(added|changed|fixed|faster|removed)\.md", path.name), path.name
        assert len(path.read_text().strip().splitlines()) == 1, path.name
