"""Exported models predict in onnxruntime what they predict here, up to the rounding of float32."""

import warnings

import numpy as np
import pytest
import sklearn.base
import sklearn.preprocessing as preprocessing
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

import gapless
from gapless import to_onnx

pytest.importorskip("onnx", reason='the export needs the extra "onnx"')
runtime = pytest.importorskip("onnxruntime", reason="the graphs are run by onnxruntime")

TWO, THREE = load_breast_cancer(return_X_y=True), load_wine(return_X_y=True)
NUMBERS = load_diabetes(return_X_y=True)
FEW = {"max_iter": 20, "random_state": 0}
CLASSIFIERS = [
    gapless.LogisticRegression(),
    gapless.LogisticRegression(l1_ratio=1.0, C=0.1),
    gapless.RidgeClassifier(),
    gapless.LinearSVC(),
    gapless.SGDClassifier(loss="log_loss", random_state=0),
    gapless.Perceptron(),
    gapless.RiskClassifier(loss="hinge"),
    gapless.RiskClassifier(loss="softmax"),
    gapless.RiskClassifier(loss="weston_watkins"),
    gapless.RiskClassifier(kernel="rbf"),
    gapless.LinearDiscriminantAnalysis(),
    gapless.DecisionTreeClassifier(random_state=0),
    gapless.RandomForestClassifier(20, random_state=0),
    gapless.ExtraTreesClassifier(20, random_state=0),
    gapless.HistGradientBoostingClassifier(**FEW),
    gapless.GradientBoostingClassifier(n_estimators=20, random_state=0),
    gapless.SVC(),
    gapless.SVC(kernel="poly", degree=2, coef0=1.0),
    gapless.SVC(kernel="linear", multi_class="ovr"),
    gapless.SVC(kernel="sigmoid", gamma=0.01),
    gapless.SVC(kernel="laplacian"),
    gapless.SVC(decision_function_shape="ovo"),
    gapless.SVC(approximation="nystroem", n_components=20),
    gapless.NuSVC(nu=0.2),
    gapless.KNeighborsClassifier(7),
    gapless.KNeighborsClassifier(4, weights="distance", metric="manhattan"),
    gapless.KNeighborsClassifier(4, weights="squared_distance"),
]
REGRESSORS = [
    gapless.LinearRegression(),
    gapless.Ridge(alpha="loo"),
    gapless.LassoCV(),
    gapless.QuantileRegressor(),
    gapless.HuberRegressor(),
    gapless.PoissonRegressor(),
    gapless.TweedieRegressor(power=1.5),
    gapless.LinearSVR(),
    gapless.DecisionTreeRegressor(random_state=0),
    gapless.RandomForestRegressor(20, random_state=0),
    gapless.HistGradientBoostingRegressor(**FEW),
    gapless.HistGradientBoostingRegressor(loss="poisson", **FEW),
    gapless.GradientBoostingRegressor(n_estimators=20, random_state=0),
    gapless.SVR(C=100.0),
    gapless.SVR(approximation="nystroem", n_components=20),
    gapless.KernelRidge(alpha=0.1, kernel="rbf"),
    gapless.KernelRidge(alpha=1e-9, kernel="rbf", gamma=0.001),
    gapless.KernelRidge(kernel="rbf", approximation="nystroem", n_components=20),
    gapless.RiskRegressor(loss="poisson"),
    gapless.RiskRegressor(kernel="rbf"),
    gapless.KNeighborsRegressor(5, weights="distance"),
]


def fitted(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sklearn.base.clone(model).fit(X, y)


def run(model, X):
    """The outputs of the exported graph, by name."""
    graph = to_onnx(model).SerializeToString()
    session = runtime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"X": X.astype(np.float32)})))


def scaled(X):
    """Rows that float32 holds exactly, of unit variance."""
    return preprocessing.scale(X).astype(np.float32).astype(float)


@pytest.mark.parametrize("data", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=str)
def test_classes(model, data):
    X, y = scaled(data[0]), np.array(["first", "second", "third"])[data[1]]
    model = fitted(model, X[::2], y[::2])
    found = run(model, X)
    if "probabilities" in found:
        expected = model.predict_proba(X)
        np.testing.assert_allclose(found["probabilities"], expected, rtol=0, atol=2e-5)
    else:
        expected = model.decision_function(X)
        room = 1e-4 * abs(expected).max()
        np.testing.assert_allclose(found["scores"], expected, rtol=0, atol=room)
    ordered = np.sort(expected if expected.ndim == 2 else abs(expected)[:, None] * [0, 1], axis=1)
    # Where two classes are as near as rounding, either may come first.
    clear = ordered[:, -1] - ordered[:, -2] > 1e-4
    assert clear.mean() > 0.9
    assert found["label"][clear].tolist() == model.predict(X)[clear].tolist()


@pytest.mark.parametrize("model", REGRESSORS, ids=str)
def test_numbers(model):
    X, y = scaled(NUMBERS[0]), NUMBERS[1]
    model = fitted(model, X[::2], y[::2])
    expected = model.predict(X)
    np.testing.assert_allclose(
        run(model, X)["prediction"], expected, rtol=1e-4, atol=1e-4 * y.max()
    )


def test_several_targets():
    X = scaled(NUMBERS[0])
    model = fitted(gapless.Ridge(), X, np.stack([NUMBERS[1], X[:, 0]], axis=1))
    np.testing.assert_allclose(run(model, X)["prediction"], model.predict(X), rtol=1e-4, atol=1e-3)


def test_votes_that_tie():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3)).astype(np.float32).astype(float)
    model = gapless.SVC(break_ties=False).fit(X, rng.integers(0, 4, size=120))
    predicted = model.predict(X)
    assert np.any(predicted != model.decision_function(X).argmax(axis=1))
    assert run(model, X)["label"].tolist() == predicted.tolist()


def test_neighbours_at_equal_distances():
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, size=(120, 3)).astype(float)
    for metric in ("euclidean", "manhattan"):
        model = gapless.KNeighborsClassifier(3, metric=metric).fit(X, rng.integers(0, 3, size=120))
        np.testing.assert_allclose(
            run(model, X)["probabilities"], model.predict_proba(X), atol=1e-6
        )


def test_rows_on_a_threshold_and_missing_ones_go_the_same_way():
    rng = np.random.default_rng(0)
    X = rng.choice([0.1, 0.2, 0.3, 0.7], size=(300, 3)).astype(np.float32).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    y = np.nansum(X, axis=1) > 0.6
    for model in (gapless.DecisionTreeClassifier(), gapless.HistGradientBoostingClassifier(**FEW)):
        model = fitted(model, X, y)
        found = run(model, X)
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), atol=1e-5)
        assert found["label"].tolist() == model.predict(X).tolist()


STEPS = [
    preprocessing.StandardScaler(),
    preprocessing.StandardScaler(with_mean=False),
    preprocessing.RobustScaler(),
    preprocessing.MaxAbsScaler(),
    preprocessing.MinMaxScaler((-1, 1), clip=True),
    "passthrough",
    gapless.PCA(5, whiten=True),
    gapless.TruncatedSVD(5),
]


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_pipelines(step):
    X, y = NUMBERS[0].astype(np.float32).astype(float) + 1, NUMBERS[1]
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    model = make_pipeline(SimpleImputer(), step, gapless.Ridge(0.1)).fit(holes, y)
    np.testing.assert_allclose(run(model, holes)["prediction"], model.predict(holes), rtol=1e-3)


def test_steps_alone_and_pipelines_within():
    X, y = NUMBERS[0].astype(np.float32).astype(float) + 1, NUMBERS[1]
    scaler = preprocessing.StandardScaler().fit(X)
    np.testing.assert_allclose(run(scaler, X)["transformed"], scaler.transform(X), atol=1e-4)
    steps = make_pipeline(preprocessing.StandardScaler(), gapless.PCA(3)).fit(X)
    np.testing.assert_allclose(run(steps, X)["transformed"], steps.transform(X), atol=1e-4)
    model = make_pipeline(steps, make_pipeline("passthrough", gapless.Ridge())).fit(X, y)
    np.testing.assert_allclose(run(model, X)["prediction"], model.predict(X), rtol=1e-3)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (gapless.KMeans(2), "KMeans cannot be exported"),
        (sklearn.base.clone(gapless.SVC(kernel=lambda A, B: A @ B.T)), "a kernel of your own"),
        (gapless.SVC(kernel="chi2"), "the kernel .* cannot be exported"),
        (gapless.KNeighborsClassifier(metric="chebyshev"), "the metric 'chebyshev'"),
        (gapless.KNeighborsClassifier(ties="nearest"), "ties='first' alone"),
        (gapless.KNeighborsClassifier(metric_params={"w": [1.0, 9.0]}), "with metric_params"),
        (gapless.SVC(approximation="random_features", n_components=9), "random features"),
        (gapless.KernelRidge(kernel="rbf", approximation="random_features"), "random features"),
        (
            gapless.DecisionTreeClassifier(categorical_features=[0]),
            "splits on categories cannot be exported",
        ),
        (make_pipeline(preprocessing.PolynomialFeatures(), gapless.Ridge()), "PolynomialFeatures"),
    ],
    ids=lambda given: None if isinstance(given, str) else type(given).__name__,
)
def test_what_cannot_be_exported_says_why(model, message):
    rng = np.random.default_rng(0)
    X = np.abs(rng.integers(0, 4, size=(60, 2)).astype(float))
    y = (X[:, 0] % 2).astype(int)
    with pytest.raises(ValueError, match=message):
        to_onnx(model.fit(X, y))


def test_without_the_package_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(ImportError, match=r'pip install "gapless\[onnx\]"'):
        to_onnx(gapless.Ridge().fit([[0.0], [1.0]], [0.0, 1.0]))
