"""A public estimator is complete: its class says what it must, and every list has its name.

Its import lines (in the `__init__` of its family and of gapless) make it public. Everything else
that a new estimator needs is checked here, each with a sentence that says what to do.
"""

import re
from pathlib import Path

from gapless._ground.about import Example
from gapless.cli.demo import DATA
from gapless.model_io.names import MODELS, name_of
from in_one_test import for_each
from public_estimators import public_estimators

ROOT = Path(__file__).resolve().parents[1]
GUIDE = ROOT / "docs" / "guide"
README = (ROOT / "README.md").read_text()
FROZEN = (ROOT / "tests" / "model_files" / "names.txt").read_text().split()
# The tests that hold an estimator to what scikit-learn expects of every one.
CONTRACTS = [
    text
    for path in sorted((ROOT / "tests").rglob("test_*.py"))
    for text in [path.read_text()]
    if "check_estimator(" in text
]

# A class of ours and those it descends from; more is a hierarchy that was cut by length.
MOST_CLASSES = 5

every_estimator = for_each(public_estimators())


def names(text, cls):
    return re.search(rf"\b{cls.__name__}\b", text) is not None


@every_estimator
def test_it_says_what_it_minimises(cls):
    formula = getattr(cls, "_formula", None)
    what_to_do = (
        f"{cls.__name__} has no formula: give it a method `_formula` that returns a `Formula`, or "
        "None and the reason in the docstring (gapless/_ground/about.py)"
    )
    assert callable(formula), what_to_do
    assert formula.__annotations__.get("return") != "None" or formula.__doc__, what_to_do


@every_estimator
def test_it_says_what_the_demo_shows(cls):
    examples = getattr(cls, "_examples", None)
    assert isinstance(examples, tuple), (
        f"{cls.__name__} has no examples: set `_examples` to `(Example(data, parameters),)`, with "
        "data of gapless/cli/demo.py, or to () if it has no score to show"
    )
    assert all(isinstance(each, Example) for each in examples)
    for each in examples:
        assert each.data in DATA, f"{cls.__name__}: {each.data!r} is none of {', '.join(DATA)}"
        cls(**each.parameters)
    assert examples or not hasattr(cls, "score"), (
        f"{cls.__name__} has a score, so the demo can show it: name an `Example`"
    )


@every_estimator
def test_a_page_of_the_guide_describes_it(cls):
    page = getattr(cls, "_guide", None)
    assert page, f"{cls.__name__}: set `_guide` to its page of docs/guide, as in `_guide = 'trees'`"
    path = GUIDE / f"{page}.md"
    assert path.exists(), f"{cls.__name__}: there is no docs/guide/{page}.md; write it"
    is_named = names(path.read_text(), cls)
    assert is_named, f"docs/guide/{page}.md does not mention {cls.__name__}; describe it there"


@every_estimator
def test_the_readme_names_it(cls):
    is_named = names(README[README.index("## What is in it") :], cls)
    assert is_named, f"add `{cls.__name__}` to the table “What is in it” of README.md"


@every_estimator
def test_model_files_have_a_name_for_it(cls):
    found = name_of(cls)
    assert found, f"add {cls.__name__} to MODELS in gapless/model_io/names.py: files name it so"
    assert MODELS[found] is cls
    assert found in FROZEN, f"add {found} to tests/model_files/names.txt; it is for ever"


@every_estimator
def test_it_declares_what_it_stores(cls):
    assert getattr(cls, "_stored", None), (
        f"{cls.__name__} does not say what a fit leaves in it: declare `_stored` "
        "(gapless/_ground/stored.py), so that it can be saved"
    )


@every_estimator
def test_a_contract_holds_it(cls):
    is_held = any(names(text, cls) for text in CONTRACTS)
    assert is_held, (
        f"no contract tests {cls.__name__}: add it, in all forms of its objective, to the file of "
        "its family in tests/contracts, where `check_estimator` is called"
    )


@every_estimator
def test_it_descends_from_few_classes(cls):
    ours = [base.__name__ for base in cls.__mro__ if base.__module__.startswith("gapless")]
    assert len(ours) <= MOST_CLASSES, (
        f"{cls.__name__} descends from {len(ours)} classes of ours ({', '.join(ours)}); join those "
        "of one idea, or use functions and objects in place of some"
    )
