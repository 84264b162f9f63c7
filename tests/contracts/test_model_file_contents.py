"""Whatever entry of a file is changed: load refuses it, or the model still predicts as one does.

Every estimator, every declared attribute: other counts, types and shapes, NaN, places that do not
exist, members that are none. A run takes some of the many changes, GAPLESS_TEST_SEED=fresh others.
"""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from model_file_changes import changes
from model_file_parts import contents, write
from sklearn.base import is_regressor
from test_model_files import FORMS, PREPARATIONS, PUBLIC, Y, make_data, make_model

import gapless
from gapless.model_io import ModelFileError

SOME = 14
ANSWERS = ("predict", "predict_proba", "decision_function", "transform", "kneighbors")
# Errors that say that X is not what the model was fitted to, which is what the changed file says.
OF_X = (
    "feature names should match",
    "features as input",
    "columns, but the model has",
    "Found unknown categories",
    "previously unseen labels",
    "not valid for sparse input",
    # Whether the columns that transformers make are sparse depends on X, too.
    "blocks must be 2-D",
    # The number of neighbours may be changed after a fit.
    "Expected n_neighbors <= n_samples_fit",
    # Probabilities of a machine of many rows are computed on first use.
    "no longer holds its training data",
    # All that a fit leaves was taken away.
    "is not fitted yet",
)


def cases():
    """Names with models and data: all estimators, with two classes and with three, and forms."""
    found = {}
    for cls in PUBLIC:
        X, y = make_data(make_model(cls))
        found[cls.__name__] = make_model(cls), X, y
        if not is_regressor(make_model(cls)) and hasattr(cls, "predict"):
            three = np.where(np.arange(len(y)) % 7 == 0, "maybe", y)
            found[f"{cls.__name__}, three classes"] = make_model(cls), X, three
        if "max_iter" in cls._get_param_names() and "Hist" in cls.__name__:
            for model, *_ in found.values():
                if type(model) is cls:
                    model.set_params(max_iter=3, min_samples_leaf=2)
    found |= FORMS
    return found | {name: (model, X, Y % 2) for name, (model, X) in PREPARATIONS.items()}


CASES = cases()


def arrays_of(answer):
    """What a model says, as arrays."""
    if isinstance(answer, list | tuple):
        return [array for part in answer for array in arrays_of(part)]
    return [answer.toarray() if sp.issparse(answer) else np.asarray(answer)]


def answers(model, X):
    return {name: getattr(model, name)(X) for name in ANSWERS if hasattr(model, name)}


def fault(name, before, now, classes):
    """What is wrong with an answer of the model of a changed file; None if nothing is."""
    for old, new in zip(arrays_of(before), arrays_of(now), strict=True):
        # A transformer may have lost a column, or an output of one have become a column.
        shapes = [np.squeeze(array).shape for array in (old, new)]
        if shapes[0] != shapes[1] and (name != "transform" or len(old) != len(new)):
            return f"{name} has the shape {new.shape}, not {old.shape}"
        if name == "transform" or new.dtype.kind != "f":
            continue
        if np.isnan(new).any() or (name == "predict" and not np.isfinite(new).all()):
            return f"{name} is not finite"
    if name == "predict" and isinstance(classes, np.ndarray):
        strange = set(np.ravel(now).tolist()) - set(classes.tolist())
        return f"predict says {strange}" if strange else None
    return None


def judged(model, X, before):
    """What is wrong with a model of a changed file; None if nothing is."""
    for name, answer in before.items():
        try:
            now = getattr(model, name)(X)
        except Exception as error:
            if any(words in str(error) for words in OF_X):
                continue
            return f"{name} raises {error!r}"
        found = fault(name, answer, now, getattr(model, "classes_", None))
        if found is not None:
            return found
    return None


@pytest.mark.parametrize("name", CASES)
def test_a_changed_file_is_refused_or_its_model_still_predicts(name, tmp_path, rng):
    model, X, y = CASES[name]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        path = gapless.save(
            model.fit(X) if name == "LabelEncoder" else model.fit(X, y), tmp_path / "m"
        )
        rows = X[:5]
        before = answers(gapless.load(path), rows)
        manifest, arrays = contents(path)
        for what, changed, tensors in changes(manifest, arrays, rng, SOME):
            write(path, changed, tensors)
            try:
                loaded = gapless.load(path)
            except ModelFileError as error:
                assert "save the model again" in str(error)
                continue
            assert judged(loaded, rows, before) is None, what
