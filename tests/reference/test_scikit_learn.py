"""The same coefficients as scikit-learn: changing the import line is enough."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model
import sklearn.svm
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_regression
from sklearn.preprocessing import StandardScaler

import gapless

# scikit-learn's own stopping rules leave a few digits; its strictest setting is the reference.
STRICT = {"tol": 1e-12, "max_iter": 100_000}


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return 20 * X, y


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), np.array(["setosa", "versicolor", "virginica"])[y]


@pytest.fixture(params=["plain", "weighted"])
def weights(request):
    def make(n):
        if request.param == "plain":
            return None
        return np.random.default_rng(0).integers(0, 3, size=n) + 0.5

    return make


def compare(ours, theirs, X, y, sample_weight=None, rtol=1e-5):
    """Fit both and compare coefficients relative to the largest; shapes must be equal."""
    ours.fit(X, y, sample_weight=sample_weight)
    theirs.fit(X, y, sample_weight=sample_weight)
    assert ours.coef_.shape == theirs.coef_.shape
    assert np.shape(ours.intercept_) == np.shape(theirs.intercept_)
    scale = np.max(np.abs(theirs.coef_))
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=0, atol=rtol * scale)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=rtol, atol=rtol * scale)
    np.testing.assert_allclose(
        ours.score(X, y, sample_weight), theirs.score(X, y, sample_weight), rtol=1e-4
    )
    assert ours.certificate_.kind in ("optimal", "exact")


@pytest.mark.parametrize("name", ["LinearRegression", "Ridge", "Lasso", "ElasticNet"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("positive", [True, False])
def test_regression(name, fit_intercept, positive, diabetes, weights):
    X, y = diabetes
    options = {"fit_intercept": fit_intercept, "positive": positive}
    strict = {} if name == "LinearRegression" else STRICT
    compare(
        getattr(gapless, name)(**options, tol=1e-12),
        getattr(sklearn.linear_model, name)(**options, **strict),
        X,
        y,
        weights(len(y)),
    )


@pytest.mark.parametrize(
    "name", ["LinearRegression", "Ridge", "Lasso", "ElasticNet", "MultiTaskLasso"]
)
def test_several_targets(name, weights):
    X, Y = make_regression(n_samples=80, n_features=7, n_targets=3, noise=5.0, random_state=0)
    strict = {} if name == "LinearRegression" else STRICT
    compare(
        getattr(gapless, name)(tol=1e-12),
        getattr(sklearn.linear_model, name)(**strict),
        X,
        Y,
        weights(len(Y)),
    )


def test_ridge_with_one_strength_per_target():
    X, Y = make_regression(n_samples=50, n_features=7, n_targets=3, noise=5.0, random_state=0)
    alpha = [0.1, 10.0, 1000.0]
    compare(gapless.Ridge(alpha), sklearn.linear_model.Ridge(alpha), X, Y)
    with pytest.raises(ValueError, match="do not correspond: 2 != 3"):
        gapless.Ridge([1.0, 2.0]).fit(X, Y)


@pytest.mark.parametrize("n, d", [(30, 80), (80, 30)])
def test_ridge_wide_and_long(n, d):
    X, y = make_regression(n_samples=n, n_features=d, noise=3.0, random_state=1)
    for alpha in (1e-3, 1.0, 1e3):
        compare(gapless.Ridge(alpha), sklearn.linear_model.Ridge(alpha), X, y, rtol=1e-7)


def test_linear_regression_has_minimum_norm():
    X, y = make_regression(n_samples=20, n_features=50, noise=1.0, random_state=2)
    compare(gapless.LinearRegression(), sklearn.linear_model.LinearRegression(), X, y, rtol=1e-7)


@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize("data", ["cancer", "iris"])
def test_ridge_classifier(data, class_weight, weights, request):
    X, y = request.getfixturevalue(data)
    options = {"class_weight": class_weight}
    ours = gapless.RidgeClassifier(**options)
    # "balanced" counts weighted rows here; scikit-learn's RidgeClassifier counts rows.
    weights = weights(len(y)) if class_weight is None else None
    compare(ours, sklearn.linear_model.RidgeClassifier(**options), X, y, weights)


def test_ridge_classifier_with_several_labels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4))
    Y = (X @ rng.normal(size=(4, 3)) > 0).astype(int)
    ours = gapless.RidgeClassifier().fit(X, Y)
    theirs = sklearn.linear_model.RidgeClassifier().fit(X, Y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("data", ["cancer", "iris"])
@pytest.mark.parametrize("C", [0.05, 0.5])
@pytest.mark.parametrize("l1_ratio", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_logistic_regression(data, C, l1_ratio, class_weight, request):
    X, y = request.getfixturevalue(data)
    options = {"C": C, "l1_ratio": l1_ratio, "class_weight": class_weight}
    reference = (
        {"solver": "lbfgs", "tol": 1e-10} if l1_ratio == 0 else {"solver": "saga", "tol": 1e-9}
    )
    compare(
        gapless.LogisticRegression(**options, tol=1e-10),
        sklearn.linear_model.LogisticRegression(**options, **reference, max_iter=20_000),
        X,
        y,
        rtol=1e-4,
    )


def test_logistic_regression_probabilities(iris, cancer, weights):
    for X, y in (iris, cancer):
        s = weights(len(y))
        ours = gapless.LogisticRegression().fit(X, y, sample_weight=s)
        theirs = sklearn.linear_model.LogisticRegression(tol=1e-10, max_iter=10_000)
        theirs.fit(X, y, sample_weight=s)
        np.testing.assert_array_equal(ours.classes_, theirs.classes_)
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_logistic_regression_without_penalty():
    X, y = load_diabetes(return_X_y=True)
    X, y = 20 * X, y > np.median(y)
    reference = sklearn.linear_model.LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000)
    compare(gapless.LogisticRegression(C=np.inf), reference, X, y)


@pytest.mark.parametrize(
    "loss, penalty", [("hinge", "l2"), ("squared_hinge", "l2"), ("squared_hinge", "l1")]
)
def test_linear_svc_without_bias(loss, penalty, cancer, iris):
    """The biases differ on purpose: free here, penalised in scikit-learn."""
    for X, y in (cancer, iris):
        options = {"loss": loss, "penalty": penalty, "C": 0.1, "fit_intercept": False}
        reference = {"dual": True} if loss == "hinge" else {"dual": False}
        theirs = sklearn.svm.LinearSVC(**options, **reference, tol=1e-10, max_iter=1_000_000)
        ours = gapless.LinearSVC(**options, tol=1e-10).fit(X, y)
        theirs.fit(X, y)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-4 * np.abs(theirs.coef_).max())


def test_linear_svc_with_bias_is_the_limit_of_a_large_intercept_scaling(cancer):
    X, y = cancer
    ours = gapless.LinearSVC(C=0.1, tol=1e-10).fit(X, y)
    theirs = sklearn.svm.LinearSVC(
        C=0.1, dual=False, tol=1e-12, intercept_scaling=1e4, max_iter=10_000
    )
    theirs.fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-3)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_linear_svr_without_bias(loss, diabetes):
    X, y = diabetes
    options = {"loss": loss, "epsilon": 5.0, "C": 0.1, "fit_intercept": False}
    theirs = sklearn.svm.LinearSVR(**options, dual=True, tol=1e-10, max_iter=1_000_000)
    ours = gapless.LinearSVR(**options, tol=1e-10).fit(X, y - y.mean())
    theirs.fit(X, y - y.mean())
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4 * np.abs(theirs.coef_).max())


def test_linear_svr_is_the_support_vector_machine_with_a_linear_kernel(diabetes):
    X, y = diabetes
    ours = gapless.LinearSVR(C=0.5, epsilon=3.0, tol=1e-10).fit(X, y)
    theirs = sklearn.svm.SVR(kernel="linear", C=0.5, epsilon=3.0, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_[0], rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-4)


def test_linear_svc_is_the_support_vector_machine_with_a_linear_kernel(cancer):
    X, y = cancer
    ours = gapless.LinearSVC(loss="hinge", C=0.1, tol=1e-10).fit(X, y)
    theirs = sklearn.svm.SVC(kernel="linear", C=0.1, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)


@pytest.mark.parametrize(
    "solver", ["lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga"]
)
def test_logistic_solver_names_of_scikit_learn(solver, cancer):
    X, y = cancer
    model = gapless.LogisticRegression(solver=solver).fit(X, y)
    np.testing.assert_allclose(model.coef_, gapless.LogisticRegression().fit(X, y).coef_, atol=1e-4)


@pytest.mark.parametrize(
    "solver", ["auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"]
)
def test_ridge_solver_names_of_scikit_learn(solver, diabetes):
    X, y = diabetes
    model = gapless.Ridge(solver=solver, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(model.coef_, sklearn.linear_model.Ridge().fit(X, y).coef_, rtol=1e-5)


def test_parameters_and_defaults_are_those_of_scikit_learn():
    """Same names, then our own; defaults differ only where the documentation says so."""
    stochastic = ("Perceptron", "SGDClassifier", "SGDRegressor")  # tol is not that of a gap
    for name in gapless.__all__:
        module = sklearn.svm if name.startswith("LinearSV") else sklearn.linear_model
        if not isinstance(getattr(module, name, None), type):
            continue
        theirs, ours = getattr(module, name)().get_params(), getattr(gapless, name)().get_params()
        assert set(theirs) <= set(ours)
        ours_first = {} if name in stochastic else {"tol": 1e-6, "solver": "auto"}
        for parameter, default in theirs.items():
            expected = ours_first.get(parameter, default)
            assert ours[parameter] == expected, f"{name}({parameter}=…)"


def test_gap_of_the_lasso_is_that_of_the_mean(diabetes):
    X, y = diabetes
    model = gapless.Lasso(alpha=0.5).fit(X, y)
    assert model.dual_gap_ == pytest.approx(model.certificate_.gap / len(y))
    assert isinstance(model.sparse_coef_, sp.csr_matrix)
    np.testing.assert_array_equal(model.sparse_coef_.toarray()[0], model.coef_)


def test_sparsify_and_densify(cancer):
    X, y = cancer
    model = gapless.LogisticRegression(l1_ratio=1.0, C=0.1).fit(X, y)
    scores = model.decision_function(X)
    assert sp.issparse(model.sparsify().coef_)
    np.testing.assert_allclose(model.decision_function(X), scores)
    assert isinstance(model.densify().coef_, np.ndarray)
    np.testing.assert_allclose(model.decision_function(X), scores)
