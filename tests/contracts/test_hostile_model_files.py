"""Files that were loaded once and then predicted nonsense, or took all time or memory to do it."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from model_file_parts import change, contents, write
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)

import gapless
from gapless.model_io import ModelFileError

rng = np.random.default_rng(4)
X = rng.normal(size=(30, 3))
Y = np.arange(30) % 3
LEVELS = rng.integers(0, 3, size=(30, 2))
FITTED, PARAMETERS = ("model", "fitted"), ("model", "parameters")


def node(manifest, place):
    for key in place:
        manifest = manifest[key]
    return manifest


def refuse(path, manifest, arrays, words):
    """Load a changed file, and see that the error says what is wrong and what to do."""
    with pytest.raises(ModelFileError, match=words) as found:
        gapless.load(write(path, manifest, arrays))
    assert "save the model again" in str(found.value)


def saved(model, folder, *data):
    path = gapless.save(model.fit(*data) if data else model, folder / "m")
    return path, *contents(path)


def new_array(manifest, arrays, place, values):
    """Put another array into a place; the old one stays where others refer to it."""
    kinds = {"f": "F64", "i": "I64", "u": "U32"}
    values = np.ascontiguousarray(values)
    arrays["new"] = kinds[values.dtype.kind], list(values.shape), values.tobytes()
    order = node(manifest, place).get("array", {}).get("order", "C")
    change(manifest, place, {"array": {"tensor": "new", "order": order}})
    leave_out_unused(manifest, arrays)


def leave_out_unused(manifest, arrays):
    """Take away the arrays that nothing refers to any more, for which alone a file is refused."""
    text = json.dumps(manifest)
    # Slices of the array "floats" are long lists, which do not name it.
    kept = {"floats"} if '"floats": [' in text else set()
    for name in [name for name in arrays if f'"tensor": "{name}"' not in text]:
        if name not in kept:
            del arrays[name]


# ---- counts --------------------------------------------------------------------------------------

CLASSIFIERS = [
    gapless.LogisticRegression(),
    gapless.LinearSVC(),
    gapless.SVC(),
    gapless.GaussianNB(),
    gapless.LinearDiscriminantAnalysis(),
    gapless.DecisionTreeClassifier(),
    gapless.C45Classifier(),
    gapless.RandomForestClassifier(3, random_state=0),
    gapless.HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=2),
    gapless.AdaBoostClassifier(n_estimators=2),
    gapless.BayesDecision(gapless.LogisticRegression()),
]


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
def test_lists_of_classes_are_as_long_as_the_scores(model, count, tmp_path):
    """Shorter ones gave wrong labels or an IndexError."""
    path, manifest, arrays = saved(model, tmp_path, X, Y)
    new_array(manifest, arrays, (*FITTED, "classes_"), np.arange(count))
    refuse(path, manifest, arrays, "")


def test_neighbours_have_classes_that_exist(tmp_path):
    path, manifest, arrays = saved(gapless.KNeighborsClassifier(3), tmp_path, X, Y)
    new_array(manifest, arrays, (*FITTED, "classes_"), np.arange(2))
    refuse(path, manifest, arrays, "_y has classes that are not in classes_")


def test_neighbours_have_no_classes_that_no_row_has(tmp_path):
    path, manifest, arrays = saved(gapless.KNeighborsClassifier(3), tmp_path, X, Y)
    new_array(manifest, arrays, (*FITTED, "classes_"), np.arange(4))
    refuse(path, manifest, arrays, "classes_ has classes that are not in _y")


@pytest.mark.parametrize("name, bad", [("n_neighbors", "x"), ("n_neighbors", 0), ("ties", "none")])
def test_neighbours_are_asked_as_a_fit_would_ask_them(name, bad, tmp_path):
    path, manifest, arrays = saved(gapless.KNeighborsRegressor(3), tmp_path, X, Y)
    change(manifest, (*PARAMETERS, name), bad)
    refuse(path, manifest, arrays, name)


@pytest.mark.parametrize(
    "model",
    [
        gapless.GradientBoostingClassifier(n_estimators=2),
        gapless.HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_boosted_classes_are_named(model, tmp_path):
    path, manifest, arrays = saved(model, tmp_path, X, Y)
    del node(manifest, FITTED)["classes_"]
    leave_out_unused(manifest, arrays)
    refuse(path, manifest, arrays, "classes_ and the task contradict each other")


# ---- numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize(
    "model, place",
    [
        (gapless.Ridge(), ("coef_",)),
        (gapless.LogisticRegression(), ("intercept_",)),
        (gapless.SVC(), ("dual_coef_",)),
        (gapless.SVC(), ("support_vectors_",)),
        (gapless.KernelRidge(), ("X_fit_",)),
        (gapless.GaussianProcessRegressor(), ("alpha_",)),
        (gapless.DecisionTreeRegressor(), ("tree_", "value", "fields", "value")),
        (gapless.C45Classifier(), ("tree_", "value", "fields", "value")),
        (
            gapless.RandomForestRegressor(2, random_state=0),
            ("trees_", "value", "fields", "packed", "value", "fields", "table"),
        ),
        (
            gapless.HistGradientBoostingRegressor(max_iter=2, min_samples_leaf=2),
            ("_packed", "value", "fields", "table"),
        ),
        (gapless.HistGradientBoostingRegressor(max_iter=2), ("start_",)),
        (gapless.GaussianNB(), ("theta_",)),
        (gapless.KNeighborsRegressor(3), ("_y",)),
    ],
    ids=lambda value: value[-1] if isinstance(value, tuple) else type(value).__name__,
)
def test_what_predictions_are_made_of_is_finite(model, place, bad, tmp_path):
    """Such files predicted NaN."""
    path, manifest, arrays = saved(model, tmp_path, X, Y)
    place = (*FITTED, *place)
    dtype, shape, data = arrays[node(manifest, place)["array"]["tensor"]]
    values = np.frombuffer(data, {"F64": "<f8", "F32": "<f4"}[dtype]).astype(float).reshape(shape)
    values.flat[0] = bad
    new_array(manifest, arrays, place, values)
    refuse(path, manifest, arrays, "NaN or infinite")


@pytest.mark.parametrize("name, bad", [("bandwidth_", 0.0), ("bandwidth_", -1.0), ("scale_", 0.0)])
def test_what_is_divided_by_is_above_zero(name, bad, tmp_path):
    """A bandwidth of 0 predicted NaN."""
    path, manifest, arrays = saved(gapless.KernelRegression(), tmp_path, X, Y)
    place = (*FITTED, name)
    if name == "scale_":
        new_array(manifest, arrays, place, np.full(X.shape[1], bad))
    else:
        change(manifest, place, bad)
    refuse(path, manifest, arrays, "above 0")


@pytest.mark.parametrize("rows", [[0, 1, 2, 3], [28, 29], [2, 4, 4, 5]])
@pytest.mark.parametrize("cls", [gapless.KNeighborsClassifier, gapless.KNeighborsRegressor])
def test_neighbours_that_are_searched_are_those_with_a_weight(cls, rows, tmp_path):
    """Rows without a weight divided by nothing, also inside of a bagged model."""
    model = cls(2).fit(X, Y, sample_weight=np.arange(30) % 2)
    path, manifest, arrays = saved(model, tmp_path)
    new_array(manifest, arrays, (*FITTED, "_kept"), np.array(rows))
    refuse(path, manifest, arrays, "_kept has rows without a weight")


# ---- members of scikit-learn's transformers ------------------------------------------------------


@pytest.mark.parametrize("other", [None, {"list": [None, None]}, "too far"])
@pytest.mark.parametrize(
    "encoder",
    [OneHotEncoder(), OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)],
)
def test_rare_levels_are_known_where_they_are_grouped(encoder, other, tmp_path):
    """Without them `transform` ended in an AttributeError."""
    levels = np.repeat([[0, 1], [1, 0], [2, 2], [3, 3]], [20, 7, 2, 1], axis=0)
    path, manifest, arrays = saved(encoder.set_params(min_frequency=5), tmp_path, levels)
    place = (*FITTED, "_infrequent_indices")
    if other == "too far":
        new_array(manifest, arrays, (*place, "list", 0), np.array([2, 4]))
    else:
        change(manifest, place, other)
        leave_out_unused(manifest, arrays)
    refuse(path, manifest, arrays, "rare categories")


@pytest.mark.parametrize("columns", [{"list": [0, 7]}, {"list": [1]}, {"slice": [0, 3, None]}, "a"])
def test_a_transformer_takes_the_columns_that_it_was_given(columns, tmp_path):
    """Columns beyond X ended in an IndexError, and others in another number of features."""
    model = ColumnTransformer([("scaled", StandardScaler(), [0, 2])])
    path, manifest, arrays = saved(model, tmp_path, X)
    change(manifest, (*FITTED, "transformers_", "list", 0, "tuple", 2), columns)
    refuse(path, manifest, arrays, "a transformer of columns other than its own")


FRAME = pd.DataFrame(X, columns=["a", "b", "c"])


@pytest.mark.parametrize(
    "columns, data",
    [
        ([-1, 0], X),
        (slice(0, 2), X),
        (np.array([True, False, True]), X),
        ([], X),
        (["c", "a"], FRAME),
        (slice("a", "b"), FRAME),
        (slice("b", None), FRAME),
        (slice(None, "b"), FRAME),
    ],
    ids=lambda value: "" if len(np.shape(value)) == 2 else str(value),
)
def test_columns_may_be_given_in_every_way_of_scikit_learn(columns, data, tmp_path):
    model = ColumnTransformer([("scaled", StandardScaler(), columns)], remainder="passthrough")
    loaded = gapless.load(gapless.save(model.fit(data), tmp_path / "m"))
    np.testing.assert_array_equal(loaded.transform(data), model.transform(data))


def test_an_imputer_that_tells_of_missing_values_can(tmp_path):
    missing = np.where(X > 1, np.nan, X)
    path, manifest, arrays = saved(SimpleImputer(add_indicator=True), tmp_path, missing)
    change(manifest, (*FITTED, "indicator_"), None)
    leave_out_unused(manifest, arrays)
    refuse(path, manifest, arrays, "where missing values are marked")


@pytest.mark.parametrize("width", [2, 4])
def test_landmarks_of_scikit_learn_have_the_columns_of_rows(width, tmp_path):
    model = Nystroem(n_components=5, random_state=0)
    path, manifest, arrays = saved(model, tmp_path, X)
    new_array(manifest, arrays, (*FITTED, "components_"), np.ones((5, width)))
    refuse(path, manifest, arrays, "components_")


def test_words_that_were_counted_are_in_the_file(tmp_path):
    path, manifest, arrays = saved(CountVectorizer(), tmp_path, ["some words", "more words"])
    del node(manifest, FITTED)["vocabulary_"]
    refuse(path, manifest, arrays, "vocabulary_ is missing")


# ---- sizes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoder", [OneHotEncoder(), OrdinalEncoder()])
def test_no_type_of_text_is_larger_than_the_file(encoder, tmp_path):
    """A column of 99,999 characters a row requested 0.4 MB for each of its cells."""
    path, manifest, arrays = saved(encoder, tmp_path, LEVELS)
    change(manifest, (*PARAMETERS, "dtype"), {"dtype": "<U99999"})
    refuse(path, manifest, arrays, "texts of 399996 bytes, more than the whole file")


def test_columns_of_levels_grow_with_the_file(tmp_path):
    """One array of 200,000 levels for each of 500 columns made 23 GiB of 3 kB compressed."""
    path, manifest, arrays = saved(OneHotEncoder(), tmp_path, LEVELS)
    new_array(manifest, arrays, (*FITTED, "categories_", "list", 0), np.arange(200_000))
    levels = node(manifest, (*FITTED, "categories_", "list"))
    levels[:] = [levels[0]] * 500
    change(manifest, (*FITTED, "_n_features_outs", "list"), [200_000] * 500)
    change(manifest, (*FITTED, "n_features_in_"), 500)
    arrays = {"new": arrays["new"]}
    refuse(path, manifest, arrays, "more than a file of this size may use")


def test_groups_of_rare_levels_are_no_more_than_levels(tmp_path):
    encoder = OneHotEncoder(min_frequency=9, handle_unknown="infrequent_if_exist")
    path, manifest, arrays = saved(encoder, tmp_path, LEVELS)
    count = len(encoder.categories_[0])
    new_array(
        manifest,
        arrays,
        (*FITTED, "_default_to_infrequent_mappings", "list", 0),
        np.array([199_999] * count),
    )
    change(manifest, (*FITTED, "_n_features_outs", "list", 0), 200_000)
    refuse(path, manifest, arrays, "groups of other categories")


def test_products_of_columns_grow_with_the_file(tmp_path):
    """Sixteen million products of 1,000 columns took 128 MB for each row."""
    path, manifest, arrays = saved(PolynomialFeatures(2), tmp_path, np.zeros((1, 4)))
    twin = PolynomialFeatures(2).fit(np.zeros((1, 1000)))
    for name in ("n_features_in_", "n_output_features_", "_n_out_full"):
        change(manifest, (*FITTED, name), int(getattr(twin, name)))
    refuse(path, manifest, arrays, "needs 501501 columns, more than a file of this size")


def test_many_transformers_together_ask_for_no_more_than_one(tmp_path):
    path, manifest, arrays = saved(PolynomialFeatures(2), tmp_path, np.zeros((1, 300)))
    one = {"model": manifest["model"]}
    steps = {"list": [{"tuple": [f"s{k}", one]} for k in range(5)]}
    manifest["model"] = {"class": "sklearn.Pipeline", "parameters": {"steps": steps}, "fitted": {}}
    refuse(path, manifest, arrays, "needs 45451 columns, more than a file of this size")


@pytest.mark.parametrize("form", ["csr", "csc"])
def test_sparse_support_vectors_are_as_long_as_said(form, tmp_path):
    model = gapless.SVC().fit(sp.csr_matrix(np.maximum(X, 0.0)), Y)
    path, manifest, arrays = saved(model, tmp_path)
    matrix = node(manifest, (*FITTED, "support_vectors_", "sparse"))
    rows, columns = matrix["shape"]
    matrix["shape"] = [rows, 2**31] if form == "csr" else [2**31, columns]
    if form == "csc":
        other = model.support_vectors_.tocsc()
        for name in ("data", "indices", "indptr"):
            values = np.asarray(getattr(other, name))
            kind = "F64" if values.dtype.kind == "f" else "I32"
            arrays[f"new {name}"] = kind, [len(values)], values.tobytes()
            matrix[name] = {"array": {"tensor": f"new {name}", "order": "C"}}
        matrix["format"] = "csc"
        text = json.dumps(manifest)
        arrays = {k: v for k, v in arrays.items() if f'"tensor": "{k}"' in text}
    refuse(path, manifest, arrays, "sparse matrix .* where")


def test_an_array_that_is_read_again_and_again_is_counted_each_time(tmp_path):
    model = gapless.BaggingRegressor(gapless.Ridge(), 2, random_state=0)
    path, manifest, arrays = saved(model, tmp_path, X, Y)
    member = node(manifest, (*FITTED, "estimators_", "list"))[0]
    new_array(manifest, arrays, (*FITTED, "_row_weights"), np.zeros(1 << 20))
    place = node(manifest, (*FITTED, "_row_weights"))
    for k in range(40):
        member["model"]["fitted"]["dual_"] = {"list": [place] * k}
    refuse(path, manifest, arrays, "bytes, more than a file of this size")


# ---- nesting and members -------------------------------------------------------------------------


def test_models_are_nested_in_few_others(tmp_path):
    """Each pipeline of one step around another made `predict` three times as slow."""
    path, manifest, arrays = saved(gapless.Ridge(), tmp_path)
    inside = {"model": manifest["model"]}
    for _ in range(12):
        steps = {"list": [{"tuple": ["a", inside]}]}
        inside = {
            "model": {"class": "sklearn.Pipeline", "parameters": {"steps": steps}, "fitted": {}}
        }
    manifest["model"] = inside["model"]
    refuse(path, manifest, arrays, "a model nested in more than 10 others")
    model = gapless.Ridge()
    for _ in range(12):
        model = Pipeline([("a", model)])
    with pytest.raises(ModelFileError, match="nest fewer"):
        gapless.save(model, path)


def test_models_of_one_file_are_limited(tmp_path, monkeypatch):
    """A million of them took 24 seconds."""
    monkeypatch.setattr("gapless.model_io.limits.MOST_MODELS", 50)
    monkeypatch.setattr("gapless.model_io.writing.MOST_MODELS", 50)
    path, manifest, arrays = saved(gapless.Ridge(), tmp_path)
    few = {"model": {"class": "linear.Ridge", "parameters": {}, "fitted": {}}}
    change(manifest, (*PARAMETERS, "alpha"), {"list": [few] * 60})
    refuse(path, manifest, arrays, "needs 1 models, more than a file of this size")
    with pytest.raises(ModelFileError, match="one model too many"):
        gapless.save(make_pipeline(*[StandardScaler() for _ in range(60)]), path)


def test_a_multiway_tree_has_no_circle(tmp_path):
    """A child that was its own parent kept `predict` going for ever."""
    path, manifest, arrays = saved(gapless.C45Classifier(), tmp_path, X, Y)
    place = (*FITTED, "tree_", "value", "fields", "parent")
    _, _, data = arrays[node(manifest, place)["array"]["tensor"]]
    parent = np.frombuffer(data, "<i8").copy()
    parent[1:] = np.arange(1, len(parent))
    new_array(manifest, arrays, place, parent)
    refuse(path, manifest, arrays, "not come after its parent")


@pytest.mark.parametrize(
    "model, place",
    [
        (gapless.BaggingRegressor(gapless.Ridge(), 2, random_state=0), ("estimators_", "list", 0)),
        (gapless.AdaBoostClassifier(n_estimators=2), ("estimators_", "list", 1)),
        (gapless.BayesDecision(gapless.LogisticRegression()), ("estimator_",)),
        (KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf"), ("_encoder",)),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else type(value).__name__,
)
@pytest.mark.parametrize("other", ["a text", None, 7, {"list": []}])
def test_a_member_is_a_fitted_model(model, place, other, tmp_path):
    path, manifest, arrays = saved(model, tmp_path, X, Y)
    change(manifest, (*FITTED, *place), other)
    text = json.dumps(manifest)
    arrays = {k: v for k, v in arrays.items() if k == "floats" or f'"tensor": "{k}"' in text}
    refuse(path, manifest, arrays, "expected")


@pytest.mark.parametrize("other", ["a text", 7, {"list": []}])
def test_a_step_of_a_pipeline_is_a_model(other, tmp_path):
    model = make_pipeline(StandardScaler(), gapless.Ridge())
    path, manifest, arrays = saved(model, tmp_path, X, Y)
    change(manifest, (*PARAMETERS, "steps", "list", 1, "tuple", 1), other)
    text = json.dumps(manifest)
    arrays = {k: v for k, v in arrays.items() if f'"tensor": "{k}"' in text}
    refuse(path, manifest, arrays, "a step that is not a model")
