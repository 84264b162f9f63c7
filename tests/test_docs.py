"""The pages of docs/ are true: their Python blocks run, in order, and print what the pages say.

A block of examples with ``>>>`` is run as a doctest. Any other block is a script; when a ``text``
block follows, it is what the script prints, with ``...`` for what may vary. The blocks of one page
share their names. A block marked ``python no-run`` is left alone. What rounding leaves, a number
below 1e-5, may be any other such number: its digits differ between processors.
"""

import contextlib
import doctest
import io
import re
import sys
import types
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), *ROOT.glob("README.md")]
BLOCK = re.compile(
    r"^```python *\n(?P<code>.*?)^```\n(?:\s*^```text *\n(?P<printed>.*?)^```)?",
    re.MULTILINE | re.DOTALL,
)
ADDED = [f"add_a_{part}.md" for part in ("loss", "penalty", "kernel", "solver", "model")]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
TINY = re.compile(r"\b\d+(\.\d+)?e-(0[6-9]|[1-9]\d)\b")


class Checker(doctest.OutputChecker):
    """Compares what is printed, except for the digits of tiny numbers."""

    def check_output(self, want, got, optionflags):
        return super().check_output(TINY.sub("tiny", want), TINY.sub("tiny", got), optionflags)


@contextlib.contextmanager
def module_of_page():
    """The names of a page, as a module that can be found: what it defines can be pickled."""
    sys.modules["page"] = types.ModuleType("page")
    try:
        yield vars(sys.modules["page"])
    finally:
        del sys.modules["page"]


def run_page(text, name):
    """Run the blocks of a page; an AssertionError says which line of it is not true."""
    with module_of_page() as names:
        for block in BLOCK.finditer(text):
            code = block["code"]
            line = text.count("\n", 0, block.start()) + 1
            if code.lstrip().startswith(">>>"):
                run_examples(code, names, name, line)
            else:
                run_script(code, block["printed"], names, name, line)


def run_examples(code, names, name, line):
    example = doctest.DocTestParser().get_doctest(code, names, name, name, line)
    complaints = io.StringIO()
    runner = doctest.DocTestRunner(checker=Checker(), optionflags=FLAGS)
    failed = runner.run(example, out=complaints.write, clear_globs=False).failed
    assert not failed, complaints.getvalue()
    names.update(example.globs)


def run_script(code, expected, names, name, line):
    # Empty lines in front make tracebacks show the line of the page.
    program = compile("\n" * line + code, name, "exec")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(program, names)
    if expected is not None:
        same = Checker().check_output(expected, printed.getvalue(), FLAGS)
        assert same, f"{name}, line {line} prints\n{printed.getvalue()}\nand not\n{expected}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page_runs_as_written(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    run_page(page.read_text(), str(page.relative_to(ROOT)))


@pytest.mark.parametrize("page", ADDED)
def test_the_pages_that_promise_it_are_found(page):
    assert ROOT / "docs" / page in PAGES
    assert len(BLOCK.findall((ROOT / "docs" / page).read_text())) >= 5


@pytest.mark.parametrize(
    "text",
    [
        "```python\nassert 1 == 2\n```\n",
        "```python\n>>> 1 + 1\n3\n\n```\n",
        "```python\nprint(1)\n```\n\n```text\n2\n```\n",
        "```python\nx = 1\n```\n\nwords\n\n```python\n>>> x\n2\n\n```\n",
        "```python\n>>> 1e-3\n0.002\n\n```\n",
        "```python\n>>> 1e-9\n0.001\n\n```\n",
    ],
)
def test_a_false_page_is_caught(text):
    with pytest.raises(AssertionError):
        run_page(text, "page")


def test_blocks_share_names_and_may_print_what_varies():
    run_page(
        "```python\nx = 1\n```\n"
        "```python\n>>> x + 1\n2\n\n```\n"
        "```python no-run\nassert False\n```\n"
        "```python\n>>> 1.5e-11\n2.25e-10\n\n```\n"
        "```python\nprint('gap', 3.14)\n```\n\n```text\ngap ...\n```\n",
        "page",
    )
