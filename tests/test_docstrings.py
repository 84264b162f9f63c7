"""Docstrings: every parameter and attribute is described, with the default that it has."""

import ast
import inspect
import re

import pytest

from gapless._ground.docstrings import described, names_of, sections
from in_one_test import for_each
from public_estimators import public_estimators

every_estimator = for_each(public_estimators())

SHARED = """
depth : int
    How deep it grows.
tol : float
    When it stops.
    Two lines of it.
other : int
    A parameter of other classes.
left_, right_ : float
    Two attributes.
own_ : int
    Described by the class itself.
"""


@described(SHARED)
class Example:
    """One sentence.

    A formula.

    Parameters
    ----------
    size : int, default=3
        How large it is.

    Attributes
    ----------
    own_ : str
        Its own words.

    Notes
    -----
    A note.
    """

    def __init__(self, tol=1e-6, size=3, depth="auto"):
        pass


def test_parameters_come_in_the_order_of_the_signature_with_its_defaults():
    assert sections(Example.__doc__)["Parameters"] == [
        "tol : float, default=1e-6",
        "    When it stops.",
        "    Two lines of it.",
        "size : int, default=3",
        "    How large it is.",
        'depth : int, default="auto"',
        "    How deep it grows.",
        "",
    ]


def test_own_attributes_come_first_and_keep_their_words():
    assert sections(Example.__doc__)["Attributes"][:3] == [
        "own_ : str",
        "    Its own words.",
        "left_, right_ : float",
    ]
    assert list(names_of(sections(Example.__doc__)["Attributes"])) == ["own_", "left_", "right_"]


def test_the_first_table_that_describes_a_name_has_the_word():
    @described("\ndepth : int\n    How tall it grows.", SHARED)
    def fit(X, *, depth=2, tol=0.1):
        """Fit."""

    assert sections(fit.__doc__)["Parameters"][:3] == [
        "depth : int, default=2",
        "    How tall it grows.",
        "tol : float, default=0.1",
    ]


def test_everything_else_stays():
    assert sections(Example.__doc__)[""] == ["One sentence.", "", "A formula.", ""]
    assert sections(Example.__doc__)["Notes"] == ["A note."]
    assert list(sections(Example.__doc__)) == ["", "Parameters", "Attributes", "Notes"]


def test_sections_that_are_missing_are_made():
    @described(SHARED)
    def fit(X, *, depth=2):
        """Fit."""

    assert fit.__doc__.startswith("Fit.\n\nParameters\n----------\ndepth : int, default=2\n")


def test_the_first_table_that_describes_a_name_counts():
    @described("\ndepth : int\n    The first.", SHARED)
    def fit(depth, tol):
        """Fit."""

    assert sections(fit.__doc__)["Parameters"][:3] == [
        "depth : int",
        "    The first.",
        "tol : float",
    ]


def test_an_entry_for_several_names_serves_those_that_are_left():
    @described("\nfirst : int\n    One.", "\nfirst, second : int\n    Two.")
    def fit(first, second=2):
        """Fit."""

    lines = sections(fit.__doc__)["Parameters"]
    assert lines == ["first : int", "    One.", "second : int, default=2", "    Two."]


def test_what_is_no_parameter_is_refused():
    def fit(X):
        """Fit.

        Parameters
        ----------
        y : int
            Not there.
        """

    with pytest.raises(ValueError, match="y: described, but not a parameter"):
        described()(fit)


@every_estimator
def test_every_parameter_is_described_with_its_default(cls):
    told = names_of(sections(cls.__doc__)["Parameters"])
    parameters = inspect.signature(cls).parameters
    assert set(told) == set(parameters)
    for name, parameter in parameters.items():
        if parameter.default is not inspect.Parameter.empty:
            said = re.search(r"default=(.*)$", told[name])
            assert said, f"{cls.__name__}: {told[name]!r} does not say its default"
            assert ast.literal_eval(said[1]) == parameter.default


@every_estimator
def test_every_attribute_of_a_fit_is_described(cls):
    stored = getattr(cls, "_stored", {})
    told = names_of(sections(cls.__doc__).get("Attributes", []))
    fitted = [name for name in stored if name.endswith("_") and name[0] != "_"]
    assert [name for name in fitted if name not in told] == []
