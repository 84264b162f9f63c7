"""Every public estimator goes to a file and back, to the bit; anything else is refused."""

import dataclasses
import os
import struct
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from model_file_parts import change, contents, write
from sklearn.base import BaseEstimator, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression as OfScikitLearn
from sklearn.model_selection import KFold
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    LabelEncoder,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.utils.validation import has_fit_parameter

import gapless
from gapless import kernels, losses, penalties
from gapless.choosing import TableModel
from gapless.data import describe_columns, prepare, table_of
from gapless.metrics import RecalibratedClassifier
from gapless.model_io import ModelFileError, describe
from gapless.model_io.fields import fields_of
from gapless.model_io.names import MODELS, VALUES, name_of
from public_estimators import public_estimators

PUBLIC = public_estimators()
FEW = {
    "BayesDecision": {"estimator": gapless.LogisticRegression()},
    "LogisticRegressionCV": {
        "Cs": 2,
        "l1_ratios": (0.0,),
        "scoring": "neg_log_loss",
        "use_legacy_attributes": False,
    },
    "RBFSampler": {"random_state": 0},
    "Nystroem": {"n_components": 5, "random_state": 0},
}
# Whose `generalization_` is computed before the model is saved: it is of one kind for all.
ESTIMATED = (gapless.GaussianNB, gapless.KNeighborsClassifier, gapless.Ridge, gapless.SVC)
ANSWERS = (
    "predict",
    "predict_proba",
    "decision_function",
    "transform",
    "kneighbors",
    "score_samples",
)


def make_data(model, n=40):
    """Counts, which every estimator takes, and two classes or numbers that depend on them."""
    rng = np.random.default_rng(20240607)
    X = rng.integers(0, 4, size=(n, 3)).astype(float)
    signal = X @ [1.0, -1.0, 0.5] + rng.normal(size=n)
    if isinstance(model, gapless.TextClassifier):
        words = np.where(signal > 0.5, "warm dry", "cold wet")
        return [f"{w} day {int(x)}" for w, x in zip(words, X[:, 0])], words
    if "MultiTask" in type(model).__name__:
        return X, np.stack([signal, -signal], axis=1)
    if model.__sklearn_tags__().target_tags.positive_only:
        return X, np.exp(0.3 * signal)
    return X, signal if is_regressor(model) else np.where(signal > 0.5, "yes", "no")


def make_model(cls):
    known = cls._get_param_names()
    few = {"n_estimators": 4, "max_iter": 30 if "Hist" in cls.__name__ else None}
    few = {name: value for name, value in few.items() if value and name in known}
    seed = {"random_state": 0} if "random_state" in known else {}
    return cls(**few | seed | FEW.get(cls.__name__, {}))


def fit(model, *data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*data)


def assert_same(one, other, where="model"):
    """Equal to the last bit, in all that files are to keep."""
    assert type(one) is type(other), where
    if isinstance(one, np.ndarray) and one.dtype != object:
        assert (one.dtype, one.shape) == (other.dtype, other.shape), where
        assert one.tobytes() == other.tobytes(), where
        assert other.flags.c_contiguous or one.flags.f_contiguous, where
        assert other.flags.f_contiguous or not one.flags.f_contiguous, where
    elif isinstance(one, list | tuple | np.ndarray):
        assert len(one) == len(other), where
        for i, pair in enumerate(zip(one, other)):
            assert_same(*pair, f"{where}[{i}]")
    elif isinstance(one, dict):
        assert list(one) == list(other), where
        for key in one:
            assert_same(one[key], other[key], f"{where}[{key!r}]")
    elif isinstance(one, BaseEstimator):
        own, its = ({**m.__getstate__()} for m in (one, other))
        own.pop("_stop_words_id", None)
        assert_same(dict(sorted(own.items())), dict(sorted(its.items())), where)
    elif sp.issparse(one):
        for part in ("data", "indices", "indptr"):
            assert_same(getattr(one, part), getattr(other, part), f"{where}.{part}")
    elif (cls := name_of(type(one))) in VALUES:
        for name in fields_of(type(one), cls):
            assert_same(getattr(one, name), getattr(other, name), f"{where}.{name}")
    else:
        assert repr(one) == repr(other), where


def round_trip(model, X, folder):
    """Save, load, compare everything, and return the loaded model."""
    loaded = gapless.load(gapless.save(model, folder / "model.gapless"))
    assert_same(model, loaded)
    for answer in ANSWERS:
        if hasattr(model, answer):
            assert_same(getattr(model, answer)(X), getattr(loaded, answer)(X), answer)
    return loaded


# ---- what can be saved ---------------------------------------------------------------------------


@pytest.mark.parametrize("cls", PUBLIC, ids=lambda cls: cls.__name__)
def test_every_public_estimator_comes_back_to_the_bit(cls, tmp_path):
    model = make_model(cls)
    X, y = make_data(model)
    fit(model, X, y)
    if cls in ESTIMATED:
        _ = model.generalization_
    loaded = round_trip(model, X, tmp_path)
    if hasattr(model, "certificate_"):
        assert str(loaded.certificate_) == str(model.certificate_)
    if hasattr(model, "certificate_") and cls is not gapless.OneClassSVM:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = [gapless.certify(each, X, y) for each in (model, loaded)]
        assert_same(*found)
    if "generalization_" in vars(model):
        assert loaded.generalization_ == model.generalization_


OTHER_FORMS = {
    "frame": lambda X: pd.DataFrame(X.astype(np.float32), columns=["a", "b", "c"]),
    "sparse": sp.csr_matrix,
}


@pytest.mark.parametrize("form", OTHER_FORMS)
@pytest.mark.parametrize("cls", PUBLIC, ids=lambda cls: cls.__name__)
def test_every_estimator_comes_back_from_weighted_rows_of_any_form(cls, form, tmp_path):
    model = make_model(cls)
    X, y = make_data(model)
    if not isinstance(model, gapless.TextClassifier):
        X = OTHER_FORMS[form](X)
    weights = {"sample_weight": np.arange(40) % 3 + 0.5}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(X, y, **weights if has_fit_parameter(model, "sample_weight") else {})
        except TypeError as error:
            assert form == "sparse" and "sparse" in str(error).lower(), cls
            return
    round_trip(model, X, tmp_path)


def test_an_estimator_that_is_not_fitted_comes_back(tmp_path):
    model = gapless.SVC(C=3.0, kernel=2.0 * kernels.Gaussian(0.5) + kernels.Linear())
    assert repr(gapless.load(gapless.save(model, tmp_path / "m"))) == repr(model)


def table(n=40):
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "colour": pd.Categorical(rng.choice(["red", "green", "blue"], n)),
            "note": rng.choice(["warm dry day", "cold wet day", "cold night"], n),
        }
    )


Y = np.arange(40) % 3
NUMBERS = np.random.default_rng(2).normal(size=(40, 3))
SPARSE = sp.csr_matrix(np.maximum(NUMBERS, 0.0))
COLOURS = table()[["size", "colour"]]
FORMS = {
    "svc-sparse": (gapless.SVC(), SPARSE, Y),
    "svc-all-in-one": (gapless.SVC(multi_class="crammer_singer"), NUMBERS, Y),
    "svc-landmarks": (gapless.SVC(approximation="nystroem"), NUMBERS, Y),
    "svr-features": (gapless.SVR(approximation="random_features"), NUMBERS, NUMBERS[:, 0]),
    "svc-precomputed": (gapless.SVC(kernel="precomputed"), NUMBERS @ NUMBERS.T, Y),
    "svr-loo": (gapless.SVR(C="loo"), NUMBERS, NUMBERS[:, 0] ** 2),
    "ridge-loo": (gapless.Ridge(alpha="loo"), NUMBERS, NUMBERS[:, 0] ** 2),
    "ridge-folds": (gapless.RidgeCV(cv=KFold(3)), NUMBERS, NUMBERS[:, 0] ** 2),
    "ridge-float32": (gapless.Ridge(), NUMBERS.astype(np.float32), NUMBERS[:, 0] ** 2),
    "risk-group": (
        gapless.RiskRegressor(
            loss=losses.Huber(0.5), penalty=penalties.Group(1.0, groups=[0, 0, 1])
        ),
        NUMBERS,
        NUMBERS[:, 0] ** 2,
    ),
    "risk-kernel": (
        gapless.RiskRegressor(loss="huber", kernel=kernels.Matern(2.0)),
        NUMBERS,
        NUMBERS[:, 0] ** 2,
    ),
    "knn-mixed": (gapless.KNeighborsClassifier(3, metric="mixed"), COLOURS, Y),
    "knn-sparse": (gapless.KNeighborsClassifier(3), SPARSE, Y),
    "bayes-mixed": (gapless.NaiveBayes(text_features=["note"]), table(), Y),
    "tree-categories": (gapless.DecisionTreeClassifier(max_depth=3), COLOURS, Y),
    "tree-best-first": (gapless.DecisionTreeRegressor(max_leaf_nodes=5), NUMBERS, Y * 1.0),
    "tree-outputs": (gapless.DecisionTreeRegressor(max_depth=3), NUMBERS, NUMBERS[:, :2]),
    "c45-categories": (gapless.C45Classifier(), COLOURS, Y),
    "forest-categories": (gapless.RandomForestClassifier(4, random_state=0), COLOURS, Y),
    "forest-best-first": (
        gapless.ExtraTreesClassifier(4, max_leaf_nodes=5, random_state=0),
        NUMBERS,
        Y,
    ),
    "boosting-categories": (
        gapless.HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=2),
        COLOURS,
        Y,
    ),
    "bagging-neighbors": (
        gapless.BaggingClassifier(gapless.KNeighborsClassifier(3), 3, random_state=0),
        NUMBERS,
        Y,
    ),
    "recalibrated": (RecalibratedClassifier(gapless.SVC()), NUMBERS, Y),
}


@pytest.mark.parametrize("name", FORMS)
def test_forms_of_models_come_back_to_the_bit(name, tmp_path):
    model, X, y = FORMS[name]
    round_trip(fit(model, X, y), X, tmp_path)


TEXTS = table()["note"].to_list()
STRINGS = table()[["colour", "note"]].astype(object)
PREPARATIONS = {
    "StandardScaler": (StandardScaler(), NUMBERS),
    "MinMaxScaler": (MinMaxScaler(), NUMBERS),
    "RobustScaler": (RobustScaler(), NUMBERS),
    "SimpleImputer": (SimpleImputer(add_indicator=True), table()[["size"]]),
    "SimpleImputer-text": (SimpleImputer(strategy="most_frequent"), STRINGS),
    "OneHotEncoder": (
        OneHotEncoder(min_frequency=10, handle_unknown="infrequent_if_exist"),
        STRINGS,
    ),
    "OneHotEncoder-drop": (OneHotEncoder(drop="first"), STRINGS),
    "OrdinalEncoder": (OrdinalEncoder(), STRINGS),
    "TargetEncoder": (TargetEncoder(random_state=0), STRINGS),
    "PolynomialFeatures": (PolynomialFeatures(2), NUMBERS),
    "KBinsDiscretizer": (
        KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf"),
        NUMBERS,
    ),
    "SplineTransformer": (SplineTransformer(), NUMBERS),
    "Nystroem": (Nystroem(n_components=5, random_state=0), NUMBERS),
    "CountVectorizer": (CountVectorizer(stop_words="english"), TEXTS),
    "TfidfVectorizer": (TfidfVectorizer(), TEXTS),
    "TfidfTransformer": (TfidfTransformer(), abs(SPARSE)),
    "LabelEncoder": (LabelEncoder(), np.array(TEXTS)),
    "FunctionTransformer": (FunctionTransformer(), NUMBERS),
    "FeatureUnion": (FeatureUnion([("a", StandardScaler()), ("b", MinMaxScaler())]), NUMBERS),
    "ColumnTransformer": (
        ColumnTransformer(
            [
                ("a", FunctionTransformer(feature_names_out="one-to-one"), [0]),
                ("b", StandardScaler(), [1]),
            ]
        ),
        NUMBERS,
    ),
    "set_output": (StandardScaler().set_output(transform="pandas"), NUMBERS),
}


@pytest.mark.parametrize("name", PREPARATIONS)
def test_preparations_come_back_to_the_bit(name, tmp_path):
    model, X = PREPARATIONS[name]
    fit(model, X, *(() if name == "LabelEncoder" else (Y % 2,)))
    loaded = gapless.load(gapless.save(model, tmp_path / "m"))
    one, other = (each.transform(X) for each in (model, loaded))
    if isinstance(one, pd.DataFrame):
        pd.testing.assert_frame_equal(one, other)
    else:
        assert_same(one, other)
    if hasattr(model, "get_feature_names_out"):
        assert_same(model.get_feature_names_out(), loaded.get_feature_names_out())


def pipeline():
    prepared = ColumnTransformer(
        [
            ("number", make_pipeline(SimpleImputer(), StandardScaler()), ["size"]),
            ("category", OneHotEncoder(handle_unknown="ignore"), ["colour"]),
            ("text", TfidfVectorizer(), "note"),
        ],
        remainder="passthrough",
    )
    return Pipeline([("prepared", prepared), ("model", gapless.LogisticRegression())])


def test_a_pipeline_from_table_to_probabilities_comes_back(tmp_path):
    X = table().assign(more=np.arange(40.0))
    model = fit(pipeline(), X, Y)
    loaded = gapless.load(gapless.save(model, tmp_path / "m"))
    new = X.assign(colour="violet")
    assert_same(model.predict_proba(X), loaded.predict_proba(X))
    assert_same(model.predict_proba(new), loaded.predict_proba(new))


@pytest.mark.parametrize("kind", ["numbers", "table"])
def test_what_the_tool_prepares_comes_back(kind, tmp_path):
    frame = pl.from_pandas(table().assign(colour=table()["colour"].astype(str)))
    days = pl.date_range(pl.date(2024, 1, 1), pl.date(2024, 2, 9), eager=True).alias("day")
    X = frame.with_columns(days, answer=pl.Series(Y % 2))
    columns = describe_columns(table_of(X), "answer")
    end = gapless.LogisticRegression() if kind == "numbers" else gapless.C45Classifier()
    model = fit(prepare(columns, kind, end), X, Y % 2)
    loaded = gapless.load(gapless.save(model, tmp_path / "m"))
    assert_same(model.predict_proba(X), loaded.predict_proba(X))


def test_equal_models_make_equal_files(tmp_path):
    files = [gapless.save(gapless.Ridge().fit(NUMBERS, Y), tmp_path / name) for name in ("a", "b")]
    one, other = (contents(file) for file in files)
    # What it took differs from one fit to the next.
    for manifest, _ in (one, other):
        del manifest["model"]["fitted"]["trace_"]
    assert one[0] == other[0]
    assert one[1].keys() == other[1].keys()


# ---- what cannot be saved ------------------------------------------------------------------------


def own_kernel(X, Z):
    return X @ Z.T


@dataclasses.dataclass(frozen=True)
class OwnLoss(losses.Loss):
    task = "regression"


class OwnRidge(gapless.Ridge):
    pass


@pytest.mark.parametrize(
    "model, words",
    [
        (gapless.SVC(kernel=own_kernel), "kernel is your own code .own_kernel."),
        (gapless.RiskRegressor(loss=OwnLoss()), "loss is your own code .OwnLoss."),
        (make_pipeline(FunctionTransformer(np.log1p), gapless.Ridge()), "func is your own code"),
        (make_pipeline(StandardScaler(), OfScikitLearn()), "LogisticRegression, which model files"),
        (gapless.RandomForestClassifier(random_state=np.random.RandomState(0)), "an integer"),
        (OwnRidge(), "OwnRidge cannot be saved"),
        ("a text", "str cannot be saved"),
    ],
)
def test_code_is_refused_with_what_to_do(model, words, tmp_path):
    with pytest.raises(ModelFileError, match=words):
        gapless.save(model, tmp_path / "m")
    assert os.listdir(tmp_path) == []


def test_an_attribute_that_is_not_declared_is_refused(tmp_path):
    model = gapless.Ridge().fit(NUMBERS, Y)
    model.mine_ = 1
    with pytest.raises(ModelFileError, match="'mine_'"):
        gapless.save(model, tmp_path / "m")


def test_others_may_read_a_file_as_they_may_any_other(tmp_path):
    (tmp_path / "other").touch()
    path = gapless.save(gapless.Ridge(), tmp_path / "m")
    assert path.stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_save_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = gapless.save(gapless.Ridge().fit(NUMBERS, Y), tmp_path / "m")
    before = path.read_bytes()

    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no space"):
        gapless.save(gapless.Lasso().fit(NUMBERS, Y), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["m"]


# ---- what cannot be loaded -----------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path):
    return gapless.save(gapless.Ridge().fit(NUMBERS, Y), tmp_path / "m")


def test_what_the_tests_write_is_a_model_file(saved):
    manifest, arrays = contents(saved)
    model = gapless.load(saved)
    assert_same(gapless.load(write(saved, manifest, arrays)), model)


FITTED = ("model", "fitted")


@pytest.mark.parametrize(
    "path, value, words",
    [
        (("version",), [2, 0], "newer than version 1"),
        (("version",), ["1", 0], "does not state its version"),
        (("format",), "another", "not a gapless model"),
        (("more",), 1, "unexpected entries"),
        (("model", "class"), "os.system", "unknown to this gapless"),
        (("model", "class"), "trees.Tree", "unknown to this gapless"),
        (("model", "parameters", "more"), 1, "its class does not have: more"),
        ((*FITTED, "__class__"), 1, "its class does not have: __class__"),
        ((*FITTED, "_training"), None, "its class does not have: _training"),
        ((*FITTED, "n_features_in_"), -1, "n_features_in_ is -1, outside"),
        ((*FITTED, "coef_"), {"array": {"tensor": "99", "order": "C"}}, "does not exist"),
        ((*FITTED, "coef_"), {"array": {"tensor": "0"}}, "entries other than"),
        ((*FITTED, "coef_"), {"pickle": "…"}, "unknown kind"),
        ((*FITTED, "coef_"), {"texts": {"tensor": "0"}}, "not an array of text"),
        (
            (*FITTED, "coef_"),
            {"objects": {"shape": [2], "items": [1]}},
            "a number of items",
        ),
        ((*FITTED, "coef_"), {"objects": {"shape": [-1], "items": [1]}}, "a number of items"),
        ((*FITTED, "coef_"), {"scalar": {"dtype": "object", "value": 1}}, "not a number"),
        ((*FITTED, "coef_"), {"scalar": {"dtype": "int8", "value": 300}}, "damaged"),
        ((*FITTED, "coef_"), {"float": "1"}, "not a number"),
        ((*FITTED, "coef_"), {"type": "numpy.void"}, "not a type"),
        ((*FITTED, "coef_"), {"dict": [[{"list": []}, 1]]}, "damaged"),
        ((*FITTED, "coef_"), {"dict": [[1, 1], [1, 2]]}, "duplicate key"),
        ((*FITTED, "coef_"), 10**400, None),
    ],
)
def test_strange_manifests_are_refused(saved, path, value, words):
    manifest, arrays = contents(saved)
    change(manifest, path, value)
    write(saved, manifest, arrays)
    with pytest.raises(ModelFileError, match=words):
        gapless.load(saved)


def test_long_lists_of_floats_are_one_array(tmp_path):
    """As text, the quantiles of wide tables were most of the file and of the time to write it."""
    floats = [1 / 3, float("inf"), -0.0, *map(float, range(20))]
    model = gapless.Ridge().fit(NUMBERS, Y)
    model.trace_ = dataclasses.replace(model.trace_, primal=floats, seconds=floats[::-1])
    path = gapless.save(model, tmp_path / "m")
    assert_same(gapless.load(path), model)
    manifest, arrays = contents(path)
    trace = manifest["model"]["fitted"]["trace_"]["value"]["fields"]
    assert trace["primal"] == {"list": {"floats": [0, 23]}}
    assert np.frombuffer(arrays["floats"][2]).tolist() == [*floats, *floats[::-1]]


def test_the_array_of_floats_counts_once(tmp_path, monkeypatch):
    """A table of thousands of columns has as many stretches of it."""
    monkeypatch.setattr("gapless.model_io.limits.FREE_BYTES", 0)
    model = gapless.Ridge().fit(NUMBERS, Y)
    many = [[float(k) for k in range(20)] for _ in range(500)]
    model.trace_ = dataclasses.replace(model.trace_, primal=many)
    assert_same(gapless.load(gapless.save(model, tmp_path / "m")), model)


@pytest.mark.parametrize(
    "stretch, words",
    [
        ([0, 23], "trace_.seconds is not a range"),
        ([22, 46], "not a range"),
        ([24, 46], "not a range"),
        ([23, 47], "not a range"),
        ([23, 22], "not a range"),
        ([23, 46.0], "not a range"),
        ([23], "not a range"),
        (None, "not a range"),
        ([23, 45], "'floats' has numbers that belong to nothing"),
    ],
)
def test_no_floats_are_read_twice_or_left(stretch, words, tmp_path):
    """Otherwise a small file could request any number of long lists."""
    model = gapless.Ridge().fit(NUMBERS, Y)
    floats = [0.5] * 23
    model.trace_ = dataclasses.replace(model.trace_, primal=floats, seconds=floats)
    manifest, arrays = contents(gapless.save(model, tmp_path / "m"))
    at = (*FITTED, "trace_", "value", "fields", "seconds", "list", "floats")
    change(manifest, at, stretch)
    with pytest.raises(ModelFileError, match=words):
        gapless.load(write(tmp_path / "m", manifest, arrays))


def test_nesting_is_bounded(saved):
    manifest, arrays = contents(saved)
    node = 1
    for _ in range(100):
        node = {"list": [node]}
    change(manifest, (*FITTED, "coef_"), node)
    with pytest.raises(ModelFileError, match="nested more than 64"):
        gapless.load(write(saved, manifest, arrays))


def test_long_names_and_equal_hashes_take_no_time(saved):
    """Files that once took for ever: a long name is copied for each item, equal hashes meet."""
    many = 20_000
    same = [[{"tuple": [-1 - (k >> bit & 1) for bit in range(15)]}, 0] for k in range(many)]
    for name, value, words in (
        ("x" * 1_000_000, {"list": [0] * many}, "its class does not have: xxx"),
        ("coef_", {"dict": same}, "neither text nor a plain number"),
        ("coef_", {"set": [k * (2**61 - 1) for k in range(many)]}, "a plain number"),
    ):
        manifest, arrays = contents(saved)
        manifest["model"]["fitted"][name] = value
        changed = write(saved.with_name("changed"), manifest, arrays)
        with pytest.raises(ModelFileError, match=words):
            gapless.load(changed)


def test_a_description_does_not_write_out_long_names(saved):
    manifest, arrays = contents(saved)
    inside = {f"a{k}": {"class": "linear.Ridge"} for k in range(2000)}
    manifest["model"]["fitted"]["x" * 1_000_000] = inside
    tracemalloc.start()
    try:
        told = describe(write(saved, manifest, arrays))
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()
    assert told.model == "linear.Ridge"


@pytest.mark.parametrize(
    "node", [{"sparse": {"shape": ["a"]}}, {"array": 1, "more": 2}, {"array": {}}]
)
def test_a_damaged_description_says_so(node, saved):
    manifest, arrays = contents(saved)
    manifest["model"]["fitted"]["support_vectors_"] = node
    with pytest.raises(ModelFileError, match="damaged manifest"):
        describe(write(saved, manifest, arrays))


@pytest.mark.parametrize("degree", [10_000, {"tuple": [0, 10_000]}, "many", None])
def test_products_that_cannot_be_counted_are_refused(degree, tmp_path):
    path = gapless.save(PolynomialFeatures(interaction_only=True).fit(NUMBERS), tmp_path / "m")
    manifest, arrays = contents(path)
    change(manifest, ("model", "parameters", "degree"), degree)
    change(manifest, (*FITTED, "n_features_in_"), 60_000)
    with pytest.raises(
        ModelFileError, match=r"degree: no whole number from 0 to 64|.degree. parameter"
    ):
        gapless.load(write(path, manifest, arrays))


@pytest.mark.parametrize("name", ["<U1000000000", "<U3,O", "<U", "V8"])
def test_strange_types_of_arrays_are_refused(name, saved):
    manifest, arrays = contents(saved)
    change(manifest, (*FITTED, "coef_"), {"dtype": name})
    with pytest.raises(ModelFileError, match="not an array type"):
        gapless.load(write(saved, manifest, arrays))


def test_an_array_that_belongs_to_nothing_is_refused(saved):
    manifest, arrays = contents(saved)
    with pytest.raises(ModelFileError, match="'more' belongs to nothing"):
        gapless.load(write(saved, manifest, arrays | {"more": ("U8", [1], b"0")}))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK\x03\x04",
        b"\x80\x04\x95 a pickle",
        struct.pack("<Q", 1 << 62) + b"{}",
        struct.pack("<Q", 2) + b"{}",
    ],
)
def test_other_files_are_refused(data, tmp_path):
    path = tmp_path / "other"
    path.write_bytes(data)
    for read in (gapless.load, describe):
        with pytest.raises(ModelFileError):
            read(path)


def test_a_header_beyond_the_limit_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.write(struct.pack("<Q", 65 << 20) + b"{")
        file.truncate(80 << 20)
    with pytest.raises(ModelFileError, match="header of 65 MB"):
        gapless.load(path)


def test_a_file_that_is_not_there_is_said_to_be_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        gapless.load(tmp_path / "nothing")


# ---- what could lead the core astray -------------------------------------------------------------


def ints(values, dtype="<i8"):
    return np.asarray(values).astype(dtype).tobytes()


def replaced(path, where, change_array):
    """The file with one array changed, which is found by its place in the manifest."""
    manifest, arrays = contents(path)
    node = manifest
    for name in where:
        node = node[name]
    tensor = node["array"]["tensor"]
    dtype, shape, data = arrays[tensor]
    known = {"I64": "<i8", "U32": "<u4", "F64": "<f8", "I32": "<i4"}[dtype]
    array = np.frombuffer(data, dtype=known).reshape(shape).copy()
    change_array(array)
    arrays[tensor] = dtype, shape, array.tobytes()
    return write(path, manifest, arrays)


TREE = (*FITTED, "tree_", "value", "fields")
PACKED = (*FITTED, "trees_", "value", "fields", "packed", "value", "fields")


def set_to(place, value):
    def change_array(array):
        array[place] = value

    return change_array


@pytest.mark.parametrize(
    "name, place, value, words",
    [
        ("children_left", 0, 0, "not come after its parent"),
        ("children_right", 0, 10**9, "not come after its parent"),
        ("children_right", 0, 2, "exactly one parent|not behind"),
        ("children_right", -1, 1, "a leaf with a child"),
        ("children_left", -1, 1, "not come after its parent"),
        ("feature", 0, 3, "column that does not exist"),
        ("threshold", 0, np.nan, "threshold that is NaN"),
        ("category_start", -1, 5, "offsets"),
        ("n_classes", 0, 10**6, "class counts"),
    ],
)
def test_a_tree_that_is_none_is_refused(name, place, value, words, tmp_path):
    model = gapless.DecisionTreeClassifier(max_depth=3).fit(NUMBERS, Y)
    path = gapless.save(model, tmp_path / "m")
    with pytest.raises(ModelFileError, match=words):
        gapless.load(replaced(path, (*TREE, name), set_to(place, value)))


@pytest.mark.parametrize(
    "where, place, value, words",
    [
        (("nodes",), (0, 1), 1, "right child"),
        (("nodes",), (0, 1), 10**9, "right child"),
        (("nodes",), (0, 1), 0xFFFFFFFF, "not form a tree"),
        (("nodes",), (-1, 1), 0x80000000, "leaf without a value"),
        (("nodes",), (0, 0), 0xFFFFFFFF, "without a column"),
        (("start",), 1, 10**9, "offsets"),
        (("asked", "value", "fields", "feature"), 0, 99, "column that does not exist"),
        (("asked", "value", "fields", "first"), -1, 10**6, "offsets"),
        (("asked", "value", "fields", "content"), 0, np.nan, "NaN"),
    ],
)
def test_a_forest_that_is_none_is_refused(where, place, value, words, tmp_path):
    model = gapless.RandomForestClassifier(3, random_state=0).fit(NUMBERS, Y)
    path = gapless.save(model, tmp_path / "m")
    with pytest.raises(ModelFileError, match=words):
        gapless.load(replaced(path, (*PACKED, *where), set_to(place, value)))


def test_places_of_a_sparse_matrix_beyond_it_are_refused(tmp_path):
    path = gapless.save(gapless.SVC().fit(SPARSE, Y), tmp_path / "m")
    indices = (*FITTED, "support_vectors_", "sparse", "indices")
    with pytest.raises(ModelFileError, match="beyond the matrix"):
        gapless.load(replaced(path, indices, set_to(0, 10**6)))


def test_rows_to_search_must_be_finite(tmp_path):
    path = gapless.save(gapless.KNeighborsClassifier(3).fit(NUMBERS, Y), tmp_path / "m")
    with pytest.raises(ModelFileError, match="NaN or infinite"):
        gapless.load(replaced(path, (*FITTED, "_fit_X"), set_to((0, 0), np.nan)))


def test_words_have_places_of_their_own(tmp_path):
    path = gapless.save(CountVectorizer().fit(TEXTS), tmp_path / "m")
    manifest, arrays = contents(path)
    manifest["model"]["fitted"]["vocabulary_"]["dict"][0][1] = 10**6
    with pytest.raises(ModelFileError, match="places"):
        gapless.load(write(path, manifest, arrays))


@pytest.fixture(scope="module")
def table_model(tmp_path_factory):
    frame = pl.from_pandas(table()[["size"]]).with_columns(answer=pl.Series(Y % 2))
    columns = describe_columns(table_of(frame), "answer")
    model = TableModel(prepare(columns, "numbers", gapless.LogisticRegression()), "answer")
    return gapless.save(fit(model, frame, None), tmp_path_factory.mktemp("table") / "m")


PROFILED = ("profile_", "value", "fields", "columns", "tuple", 0, "value", "fields")


@pytest.mark.parametrize(
    "place, value",
    [
        (("pipeline_",), 1),
        (("task_",), "both"),
        (("task_",), "regression"),
        (("classes_",), None),
        (("columns_",), {"tuple": [1]}),
        (("residuals_",), {"list": []}),
        (("profile_",), None),
        (("record_",), None),
        ((*PROFILED, "rows"), "many"),
        ((*PROFILED, "counts"), {"tuple": [1.5]}),
        ((*PROFILED, "column", "value", "fields", "name"), 7),
    ],
)
def test_a_model_of_a_table_that_is_none_is_refused(place, value, table_model, tmp_path):
    manifest, arrays = contents(table_model)
    change(manifest, (*FITTED, *place), value)
    with pytest.raises(ModelFileError, match="damaged"):
        gapless.load(write(tmp_path / "m", manifest, arrays))


# ---- what a file says of itself ------------------------------------------------------------------


@pytest.mark.parametrize(
    "model, kind",
    [
        (gapless.SVC(), "support vectors"),
        (gapless.KNeighborsClassifier(3), "training rows"),
        (gapless.Nystroem(n_components=5, random_state=0), "landmarks"),
        (gapless.KernelRidge(), "training rows"),
        (gapless.Ridge(), None),
    ],
)
def test_training_rows_in_a_file_are_named(model, kind, tmp_path):
    told = describe(gapless.save(fit(model, NUMBERS, Y), tmp_path / "m"))
    assert told.model == name_of(type(model))
    assert MODELS[told.model] is type(model)
    if kind is None:
        assert told.training_rows == () and "no training rows" in str(told)
    else:
        found = told.training_rows[0]
        assert found.kind == kind
        assert found.rows == {"landmarks": 5, "training rows": 40}.get(kind, found.rows)
        assert f"{found.rows} {kind}" in str(told)
    if kind == "support vectors":
        assert told.training_rows[0].rows == len(model.support_)


def test_the_convergence_of_a_stopped_fit_is_kept(tmp_path):
    with pytest.warns(ConvergenceWarning):
        model = gapless.Lasso(0.01, max_iter=1, tol=1e-14).fit(NUMBERS**3, NUMBERS[:, 0])
    loaded = gapless.load(gapless.save(model, tmp_path / "m"))
    assert loaded.certificate_ == model.certificate_
