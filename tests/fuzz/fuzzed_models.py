"""Small models of every part, and how one that was loaded from any file is used."""

import contextlib
import itertools
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

import gapless
from gapless.choosing import TableModel
from gapless.data import describe_columns, find_drift, prepare, table_of
from gapless.model_io import ModelFileError, describe

rng = np.random.default_rng(3)
X = rng.normal(size=(16, 3))
COUNTS = rng.integers(0, 3, size=(16, 3)).astype(float)
Y = np.arange(16) % 3
TEXTS = [f"day {k % 4} cold" for k in range(16)]
TABLE = table_of(
    {
        "size": [None, *X[1:, 0]],
        "city": [*["Rome", "Oslo", None] * 5, "Bern"],
        "price": X[:, 1],
        "day": [f"2024-01-{k + 1:02}" for k in range(16)],
        "note": [f"day {k} was long and {'cold' if k % 3 else 'warm'}" for k in range(16)],
        "kind": ["new", "old"] * 8,
    }
)


def table_model(target, kind, end):
    """A model of the table: numbers, categories, dates, texts, and missing values."""
    return TableModel(prepare(describe_columns(TABLE, target), kind, end), target)


MODELS = {
    "ridge": (gapless.Ridge(), X),
    "svc": (gapless.SVC(), X),
    "svc_sparse": (gapless.SVC(), sp.csr_matrix(np.maximum(X, 0.0))),
    "landmarks": (gapless.KernelRidge(approximation="nystroem", n_components=4), X),
    "neighbors": (gapless.KNeighborsClassifier(2), X),
    "tree": (
        gapless.DecisionTreeClassifier(max_depth=3, categorical_features=[0]),
        COUNTS,
    ),
    "forest": (
        gapless.RandomForestClassifier(3, max_depth=3, categorical_features=[0], random_state=0),
        COUNTS,
    ),
    "best_first": (gapless.ExtraTreesClassifier(2, max_leaf_nodes=4, random_state=0), X),
    "boosting": (
        gapless.HistGradientBoostingClassifier(
            max_iter=2, max_depth=2, min_samples_leaf=1, categorical_features=[0]
        ),
        COUNTS,
    ),
    "multiway": (gapless.C45Classifier(categorical_features=[0]), COUNTS),
    "bayes": (gapless.GaussianNB(), X),
    "text": (gapless.TextClassifier(), TEXTS),
    "pipeline": (
        make_pipeline(StandardScaler(), PolynomialFeatures(2), gapless.LogisticRegression()),
        X,
    ),
    "encoded": (make_pipeline(OneHotEncoder(), gapless.LogisticRegression()), COUNTS.astype(int)),
    "table_of_numbers": (table_model("price", "numbers", gapless.Ridge()), TABLE.frame),
    "table_of_classes": (
        table_model("kind", "table", gapless.RandomForestClassifier(3, random_state=0)),
        TABLE.frame,
    ),
    "words": (make_pipeline(TfidfVectorizer(), gapless.LogisticRegression()), TEXTS),
}
ANSWERS = (
    *("predict", "predict_proba", "predict_interval", "decision_function"),
    *("apply", "kneighbors", "score", "drift"),
)


def save_all(folder):
    """The files of all models, and the rows that each predicts."""
    saved = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, (model, rows) in MODELS.items():
            path = gapless.save(model.fit(rows, Y), folder / f"{name}.gapless")
            saved[name] = path.read_bytes(), rows
    return saved


def use(path, *tables):
    """Load a file and predict tables with the model; True if there was one.

    Only errors of Python may come out.
    """
    with contextlib.suppress(ModelFileError):
        str(describe(path))
    try:
        model = gapless.load(path)
    except ModelFileError:
        return False
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for rows, answer in itertools.product(tables, ANSWERS):
            try:
                if answer == "drift":
                    find_drift(model.profile_, rows)
                    model.profile_.training_rows(rows)
                else:
                    getattr(model, answer)(rows)
            # A model of wrong numbers may fail in any way, as long as it is an exception.
            except Exception:
                continue
    return True
