"""Every evaluation takes any model with scikit-learn's methods, and data as they come."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from gapless.evaluation import bootstrap, compare, hold_out, k_fold, learning_curve

N = 60
draw = np.random.default_rng(11)
X = draw.normal(size=(N, 3))
NUMBERS = X @ [1.0, -1.0, 0.5] + 0.5 * draw.normal(size=N)
CLASSES = np.where(NUMBERS > 0.5, "high", np.where(NUMBERS > -0.5, "middle", "low"))
FRAME = pd.DataFrame(X, columns=list("abc")).assign(colour=draw.choice(["red", "blue", None], N))
PREPARED = make_column_transformer(
    (StandardScaler(), list("abc")), (OneHotEncoder(handle_unknown="ignore"), ["colour"])
)
TEXTS = [f"{word} day {k}" for k, word in enumerate(CLASSES)]
LABELLED = pd.Series(pd.Categorical(CLASSES), index=np.arange(N) + 100)
CASES = {
    "a table with words and gaps": (make_pipeline(PREPARED, LogisticRegression()), FRAME, LABELLED),
    "a frame of polars": (Ridge(), pl.DataFrame(X, schema=list("abc")), pl.Series(NUMBERS)),
    "sparse rows": (LinearSVC(), sp.csr_array(np.maximum(X, 0.0)), CLASSES),
    "lists": (LogisticRegression(), X.tolist(), CLASSES.tolist()),
    "texts": (make_pipeline(TfidfVectorizer(), LogisticRegression()), TEXTS, CLASSES),
    "several targets": (MultiOutputRegressor(Ridge()), X, np.column_stack([NUMBERS, X[:, 0]])),
    "a search": (GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 3]}, cv=3), X, CLASSES),
    "areas": (SVC(), X, NUMBERS > 0, {"scoring": "roc_auc"}),
    "weights": (
        make_pipeline(StandardScaler(), Ridge()),
        X,
        NUMBERS,
        {"sample_weight": np.arange(N) % 3},
    ),
    "groups": (SVC(), X, CLASSES, {"groups": [f"patient {k % 11}" for k in range(N)]}),
    "the past": (
        GridSearchCV(
            Ridge(),
            {"alpha": [0.1, 3.0]},
            cv=TimeSeriesSplit(2),
            scoring="neg_mean_absolute_error",
        ),
        X,
        NUMBERS,
        {"time": pd.date_range("2024", periods=N)},
    ),
}
WAYS = {
    "hold_out": hold_out,
    "k_fold": k_fold,
    "bootstrap": lambda *data, **options: bootstrap(*data, refits=3, **options),
    "learning_curve": lambda *data, **options: learning_curve(*data, sizes=[0.6, 1.0], **options),
    "compare": lambda model, *data, **options: compare([model, model], *data, **options),
}


@pytest.mark.parametrize("name", CASES)
def test_any_model_is_judged_on_data_as_they_come(name):
    model, rows, targets, *options = CASES[name]
    # Three of the five in turn, so that each judges more than half of the cases.
    first = list(CASES).index(name) % len(WAYS)
    for way in (list(WAYS) * 2)[first : first + 3]:
        judge, given = WAYS[way], dict(*options)
        if way == "bootstrap" and given.pop("time", None) is not None:
            continue
        found = judge(model, rows, targets, **given)
        plain = json.loads(json.dumps(found.to_dict()))
        unseen = plain["contenders"][0]["unseen"] if way == "compare" else plain["unseen"]
        assert np.all(np.isfinite(unseen)) and str(found), way
    assert not hasattr(model, "classes_") and not hasattr(model, "coef_"), "copies are fitted"
