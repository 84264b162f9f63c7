"""Looking at a fitted model, as editors, notebooks and `help` do, computes and warns of nothing."""

import inspect
import pydoc
import warnings

import numpy as np
import pytest
from sklearn.base import is_classifier

import gapless
from gapless.unseen import Remembering
from public_estimators import public_estimators

TEXTS = ["a red apple", "a green tree", "red apples", "green trees"]
# What some constructors need.
ARGUMENTS = {"BayesDecision": (gapless.GaussianNB(),)}


def fitted(cls):
    """A small fitted model; its features are positive, and targets are as the class needs them."""
    rng = np.random.default_rng(0)
    X = rng.random((30, 3))
    y = X @ [1.0, 2.0, 0.5] + 0.1 * rng.random(30)
    if cls is gapless.TextClassifier:
        return cls().fit(TEXTS, [0, 1, 0, 1])
    model = cls(*ARGUMENTS.get(cls.__name__, ()))
    if is_classifier(model):
        y = (y > np.median(y)).astype(int)
    elif cls.__name__.startswith("MultiTask"):
        y = np.column_stack([y, -y])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def look_at(model):
    """What editors, notebooks and `help` do with an object; returns the names it lists."""
    names = dir(model)
    inspect.getmembers_static(model)
    pydoc.render_doc(model)
    repr(model)
    if hasattr(model, "_repr_html_"):
        model._repr_html_()
    return names


@pytest.mark.parametrize("cls", public_estimators(base=Remembering), ids=lambda cls: cls.__name__)
def test_looking_at_a_model_computes_and_warns_of_nothing(cls):
    model = fitted(cls)
    before = set(vars(model))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        names = look_at(model)
    assert set(vars(model)) == before
    assert "generalization_" in names
    for late in model._computed:
        assert late in names and hasattr(model, late)


@pytest.mark.parametrize(
    "name", ["RandomForestClassifier", "GradientBoostingRegressor", "BaggingRegressor"]
)
def test_late_attributes_are_listed_unread(name, monkeypatch):
    model = fitted(getattr(gapless, name))

    def refuse(self):
        raise AssertionError("read")

    for late in model._computed:
        monkeypatch.setattr(type(model), late, property(refuse))
    assert set(model._computed) <= set(dir(model))
    assert not set(model._computed) & set(dir(getattr(gapless, name)()))
