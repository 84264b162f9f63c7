"""What a release is made from agrees: versions, kinds of changes, tools, what is shipped."""

import re
import tomllib
from pathlib import Path

import gapless

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_the_version_is_the_same_everywhere():
    version = PROJECT["project"]["version"]
    assert gapless.__version__ == version
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## {version} (" in (ROOT / "CHANGELOG.md").read_text()


def test_a_commit_is_checked_by_what_make_lint_runs():
    rules = (ROOT / "Makefile").read_text()
    lint = rules[rules.index("\nlint:") : rules.index("\nformat:")]
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    ran = {" ".join(words) for words in re.findall(r"\$\(BIN\)/(\S+)( check| format)?", lint)}
    hooked = {" ".join(words) for words in re.findall(r"\.venv/bin/(\S+)( check| format)?", hooks)}
    assert ran == hooked == {"ruff  check", "ruff  format", "clang-format ", "mypy "}


def test_wheels_are_made_for_every_python_that_is_promised():
    promised = [
        line.rpartition(" ")[2].replace(".", "")
        for line in PROJECT["project"]["classifiers"]
        if re.search(r"Python :: 3\.\d+$", line)
    ]
    built = re.findall(r"cp(\d+)-\*", PROJECT["tool"]["cibuildwheel"]["build"])
    assert built == promised
    oldest = PROJECT["project"]["requires-python"]
    assert oldest == f">={promised[0][0]}.{promised[0][1:]}"
