"""Write the files of this version: `python tests/model_files/make.py`.

Files that are there are never written again: what one version of gapless has saved, all later ones
of the same first number load, with the same answers. New ones are added for new kinds of models.
"""

import json
import warnings
from pathlib import Path

import numpy as np
import polars as pl
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import gapless
from gapless import kernels, losses, penalties
from gapless.choosing import MajorityClassifier, MeanRegressor, TableModel
from gapless.choosing.exploring import TableMap
from gapless.data import describe_columns, prepare, table_of

HERE = Path(__file__).parent
rng = np.random.default_rng(7)
# Few digits, so that rows are the same after they were text.
X = rng.integers(0, 4, size=(24, 3)) + rng.integers(0, 8, size=(24, 3)) / 8
NUMBERS = X @ [1.0, -1.0, 0.5]
Y = np.where(NUMBERS > 0.6, "yes", "no")
COUNTS = np.floor(X)
TEXTS = [f"day {int(row[0])} was {'warm' if y == 'yes' else 'cold'}" for row, y in zip(X, Y)]
PREPARED = ColumnTransformer(
    [
        ("number", make_pipeline(SimpleImputer(), StandardScaler()), [0, 1]),
        ("category", OneHotEncoder(handle_unknown="ignore"), [2]),
    ]
)
# As it comes from a file: with missing values, dates and texts.
TABLE = pl.DataFrame(
    {
        "size": [None, *X[1:, 0].tolist()],
        "city": [("Rome", "Oslo", "Bern", None)[k % 4] for k in range(24)],
        "day": [f"2024-{k % 12 + 1:02}-17" for k in range(24)],
        "note": [f"{text}, and number {k} was long" for k, text in enumerate(TEXTS)],
        "price": NUMBERS.tolist(),
        "kind": Y.tolist(),
    }
)


def of_table(target, kind, end):
    """A model of the table."""
    columns = describe_columns(table_of(TABLE), target)
    return TableModel(prepare(columns, kind, end), target), TABLE, None


def of_map():
    """A map of the table, with groups along its second component."""
    pipeline = prepare(describe_columns(table_of(TABLE.drop("note"))), "factors", gapless.PCA(3))
    return TableMap(pipeline, gapless.KMeans(2, random_state=0), [1]), TABLE, None


MODELS = {
    "ridge": (gapless.Ridge(alpha="loo"), X, NUMBERS),
    "risk": (gapless.RiskRegressor(losses.Huber(0.5), penalties.L1(0.1)), X, NUMBERS),
    "logistic": (gapless.LogisticRegression(), X, Y),
    "svc": (gapless.SVC(kernel=0.5 * kernels.Gaussian(0.5) + kernels.Linear()), X, Y),
    "kernel_ridge": (gapless.KernelRidge(approximation="nystroem", n_components=4), X, NUMBERS),
    "gaussian_process": (gapless.GaussianProcessRegressor(kernels.Matern(1.0)), X, NUMBERS),
    "tree": (gapless.DecisionTreeClassifier(max_depth=3, categorical_features=[0]), COUNTS, Y),
    "c45": (gapless.C45Classifier(categorical_features=[0]), COUNTS, Y),
    "forest": (gapless.RandomForestRegressor(3, random_state=0), X, NUMBERS),
    "bagging": (gapless.BaggingClassifier(gapless.GaussianNB(), 2, random_state=0), X, Y),
    "adaboost": (gapless.AdaBoostClassifier(n_estimators=3), X, Y),
    "boosting": (
        gapless.HistGradientBoostingClassifier(
            max_iter=2, max_depth=2, min_samples_leaf=2, categorical_features=[0]
        ),
        COUNTS,
        Y,
    ),
    "neighbors": (gapless.KNeighborsClassifier(3), X, Y),
    "naive_bayes": (gapless.NaiveBayes(numbers="kernel"), X, Y),
    "text": (gapless.TextClassifier(), TEXTS, Y),
    "pipeline": (make_pipeline(PREPARED, gapless.LinearSVC()), COUNTS, Y),
    "majority": (MajorityClassifier(), X, Y),
    "mean": (MeanRegressor(), X, NUMBERS),
    "table_classes": of_table("kind", "table", gapless.RandomForestClassifier(3, random_state=0)),
    "table_numbers": of_table("price", "numbers", gapless.Ridge(alpha="loo")),
    # Long lists of floats are one array, since 1.1.
    "table_boosting": of_table(
        "price", "table", gapless.HistGradientBoostingRegressor(max_iter=20, min_samples_leaf=4)
    ),
    "map": of_map(),
}
ANSWERS = ("predict", "predict_proba", "decision_function", "transform")


def plain(rows):
    """Rows as JSON has them: tables by columns."""
    return rows.to_dict(as_series=False) if hasattr(rows, "columns") else np.asarray(rows).tolist()


def rows_of(kept):
    """Rows from JSON again."""
    if isinstance(kept, dict):
        return pl.DataFrame(kept)
    return kept if isinstance(kept[0], str) else np.array(kept)


def answers(model, rows):
    """A model's answers for rows, as in JSON."""
    found = {name: getattr(model, name)(rows) for name in ANSWERS if hasattr(model, name)}
    return {name: np.asarray(said).tolist() for name, said in found.items()}


def main():
    for name, (model, rows, y) in MODELS.items():
        path = HERE / f"{name}_1.gapless"
        if path.exists():
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            gapless.save(model.fit(rows, y), path)
        said = {"rows": plain(rows), "answers": answers(model, rows)}
        path.with_suffix(".json").write_text(json.dumps(said) + "\n")


if __name__ == "__main__":
    main()
