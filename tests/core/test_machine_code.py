"""The core's loops use vectors as wide as those of their instruction set.

A compiler that cannot split a vector takes it apart into scalars, silently; the results are the
same and the time is not. So the machine code itself is inspected, also that of levels which this
processor cannot run.
"""

import re
import shutil
import subprocess
from collections import Counter
from functools import lru_cache
from pathlib import Path

import pytest

from gapless._ground import core

FILES = {
    path.name.split(".")[0]: path for folder in core.__path__ for path in Path(folder).glob("v*.so")
}
WIDEST = {"v1": "xmm", "v3": "ymm", "v4": "zmm"}
pytestmark = [
    pytest.mark.skipif(shutil.which("objdump") is None, reason="objdump is not installed"),
    pytest.mark.skipif(not FILES, reason="the levels are those of x86-64"),
]
# Written with vectors: hardly anything in them is done number by number.
WRITTEN_WITH_VECTORS = [
    "gapless::(anonymous namespace)::move(gapless::(anonymous namespace)::Slopes",
    "gapless::(anonymous namespace)::partner(",
    "gapless::find_bounds(",
]
# Loops that the compiler turns into vectors; what is left over at their ends is scalar.
LOOPS = [
    "gapless::dot(",
    "gapless::axpy(",
    "gapless::add_times(",
    "gapless::reduced(",
    "gapless::(anonymous namespace)::finish(",
    "gapless::(anonymous namespace)::ends(",
    "gapless::(anonymous namespace)::largest_gain(",
    "gapless::(anonymous namespace)::measure_along(",
    "gapless::measure_leaf(",
    "gapless::bound_children(",
    "gapless::(anonymous namespace)::may_improve_gini(",
    "gapless::(anonymous namespace)::may_improve_accuracy(",
]
# Arithmetic of floats (ps, pd: a whole vector; ss, sd: one number) and the registers it is done in.
ARITHMETIC = re.compile(
    r"\tv?(?:add|sub|mul|div|min|max|sqrt|fn?m(?:add|sub)\d+)([sp])[sd]\s.*?%([xyz]mm)"
)


@lru_cache(1)
def functions(level):
    """The text of each function of a level, by its name."""
    text = subprocess.run(
        ["objdump", "--disassemble", "--demangle", "--no-show-raw-insn", FILES[level]],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    heads = re.compile(r"^[0-9a-f]+ <(.*)>:\n((?:.+\n)*)", re.MULTILINE)
    return [(name, body) for name, body in heads.findall(text) if not name.endswith(".cold]")]


def arithmetic_in(level, name):
    """For each function of a name, how often ("s" or "p", register) occurs in it."""
    found = [
        Counter(ARITHMETIC.findall(body))
        for each, body in functions(level)
        if each.startswith(name)
    ]
    assert found, f"{name}…) is not in {FILES[level].name}: was it renamed or inlined?"
    return found


# One test per level: taking a file apart takes seconds, and each process would do it again.
@pytest.mark.parametrize("level", FILES)
def test_loops_use_the_widest_vectors_and_none_is_taken_apart(level):
    for name in WRITTEN_WITH_VECTORS:
        for count in arithmetic_in(level, name):
            widest = count["p", WIDEST[level]]
            assert widest >= 4 * max(count["s", "xmm"], 1), (name, dict(count))
    for name in LOOPS:
        for count in arithmetic_in(level, name):
            assert count["p", WIDEST[level]] > 0, (name, dict(count))
    # A cell is a pair of whole numbers, which a register of any level holds.
    name = "void gapless::fill_histogram<long __vector(2)>"
    (body,) = [body for each, body in functions(level) if each.startswith(name)]
    assert len(re.findall(r"\tv?paddq\s.*%xmm", body)) >= 8
