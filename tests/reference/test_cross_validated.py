"""The classes with "CV" in their name against scikit-learn's: same strengths, scores and models."""

import numpy as np
import pytest
import sklearn.linear_model as reference
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.preprocessing import StandardScaler

import gapless

ALPHAS = np.logspace(-4, 2, 15)


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X)[::2], y[::2]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"scoring": "r2"},
        {"scoring": "neg_mean_absolute_error"},
        {"cv": 4},
        {"cv": KFold(3, shuffle=True, random_state=0), "scoring": "neg_mean_squared_error"},
        {"store_cv_results": True},
        {"store_cv_results": True, "scoring": "r2"},
        {"fit_intercept": False},
    ],
    ids=str,
)
def test_ridge_cv(diabetes, options):
    X, y = diabetes
    theirs = reference.RidgeCV(ALPHAS, **options).fit(X, y)
    ours = gapless.RidgeCV(ALPHAS, **options).fit(X, y)
    assert ours.alpha_ == theirs.alpha_
    assert ours.best_score_ == pytest.approx(theirs.best_score_, rel=1e-9)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-7, atol=1e-7)
    if "store_cv_results" in options:
        np.testing.assert_allclose(ours.cv_results_, theirs.cv_results_, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("scoring", [None, "r2"])
def test_ridge_cv_with_a_strength_for_each_target(diabetes, scoring):
    X, y = diabetes
    noise = np.random.default_rng(0).normal(size=len(y))
    Y = np.column_stack([y, noise])
    options = {"alpha_per_target": True, "scoring": scoring}
    theirs = reference.RidgeCV(ALPHAS, **options).fit(X, Y)
    ours = gapless.RidgeCV(ALPHAS, **options).fit(X, Y)
    np.testing.assert_array_equal(ours.alpha_, theirs.alpha_)
    np.testing.assert_allclose(ours.best_score_, theirs.best_score_, rtol=1e-8)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-6)


def test_ridge_cv_weighs_errors(diabetes):
    X, y = diabetes
    weights = np.random.default_rng(0).random(len(y)) + 0.1
    theirs = reference.RidgeCV(ALPHAS).fit(X, y, sample_weight=weights)
    ours = gapless.RidgeCV(ALPHAS).fit(X, y, sample_weight=weights)
    assert ours.alpha_ == theirs.alpha_
    # Theirs is the sum over the number of rows, ours over the sum of weights.
    scale = len(y) / weights.sum()
    assert ours.best_score_ == pytest.approx(theirs.best_score_ * scale, rel=1e-9)


@pytest.mark.parametrize("options", [{}, {"cv": 4}, {"class_weight": "balanced"}], ids=str)
def test_ridge_classifier_cv(cancer, options):
    X, y = cancer
    theirs = reference.RidgeClassifierCV(ALPHAS, **options).fit(X, y)
    ours = gapless.RidgeClassifierCV(ALPHAS, **options).fit(X, y)
    assert ours.alpha_ == theirs.alpha_
    np.testing.assert_allclose(ours.coef_, np.ravel(theirs.coef_), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    "name, options",
    [
        ("LassoCV", {}),
        ("LassoCV", {"cv": 3, "positive": True}),
        ("LassoCV", {"cv": ShuffleSplit(3, random_state=0)}),
        ("LassoCV", {"alphas": [0.1, 1.0, 0.01], "fit_intercept": False}),
        ("ElasticNetCV", {"l1_ratio": [0.3, 0.9]}),
        ("ElasticNetCV", {"alphas": [0.01, 0.001]}),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_lasso_cv_and_elastic_net_cv(diabetes, name, options, weighted):
    X, y = diabetes
    weights = np.random.default_rng(0).random(len(y)) + 0.2 if weighted else None
    options = {"alphas": 20, **options}
    theirs = getattr(reference, name)(tol=1e-10, max_iter=100_000, **options)
    ours = getattr(gapless, name)(**options).fit(X, y, sample_weight=weights)
    theirs.fit(X, y, **({} if weights is None else {"sample_weight": weights}))
    assert ours.alpha_ == pytest.approx(theirs.alpha_, rel=1e-9)
    np.testing.assert_allclose(ours.alphas_, theirs.alphas_, rtol=1e-9)
    np.testing.assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-6)
    scale = np.max(np.abs(theirs.coef_))
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4 * scale)
    assert getattr(ours, "l1_ratio_", None) == getattr(theirs, "l1_ratio_", None)


def test_multi_task_lasso_cv(diabetes):
    X, y = diabetes
    Y = np.column_stack([y, -y + 30 * np.random.default_rng(0).normal(size=len(y))])
    options = {"alphas": 6, "cv": 3}
    theirs = reference.MultiTaskLassoCV(tol=1e-10, max_iter=100_000, **options).fit(X, Y)
    ours = gapless.MultiTaskLassoCV(**options).fit(X, Y)
    assert ours.alpha_ == pytest.approx(theirs.alpha_, rel=1e-9)
    np.testing.assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-5)


@pytest.mark.parametrize("legacy", [True, False])
@pytest.mark.parametrize("refit", [True, False])
def test_logistic_regression_cv(cancer, legacy, refit):
    X, y = cancer
    options = {
        "Cs": 5,
        "l1_ratios": (0,),
        "scoring": "neg_log_loss",
        "use_legacy_attributes": legacy,
        "refit": refit,
        "cv": 3,
    }
    theirs = reference.LogisticRegressionCV(tol=1e-8, max_iter=10_000, **options).fit(X, y)
    ours = gapless.LogisticRegressionCV(tol=1e-10, **options).fit(X, y)
    np.testing.assert_array_equal(ours.C_, theirs.C_)
    np.testing.assert_array_equal(ours.l1_ratio_, theirs.l1_ratio_)
    np.testing.assert_array_equal(ours.Cs_, theirs.Cs_)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-3, atol=1e-4)
    for name in ("scores_", "coefs_paths_"):
        one, other = getattr(ours, name), getattr(theirs, name)
        if legacy:
            assert one.keys() == other.keys()
            one, other = one[1], other[1]
        assert one.shape == other.shape
        if name == "scores_":
            np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)
    assert ours.n_iter_.shape == theirs.n_iter_.shape


def test_logistic_regression_cv_with_three_classes_and_shares_of_l1():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    y = np.argmax(X[:, :3] + rng.normal(size=(90, 3)), axis=1)
    options = {
        "Cs": [1.0, 0.1],
        "l1_ratios": [0.0, 0.5, 1.0],
        "scoring": "neg_log_loss",
        "use_legacy_attributes": False,
        "cv": 3,
    }
    theirs = reference.LogisticRegressionCV(
        solver="saga", tol=1e-8, max_iter=10_000, random_state=0, **options
    ).fit(X, y)
    ours = gapless.LogisticRegressionCV(**options).fit(X, y)
    assert (ours.C_, ours.l1_ratio_) == (theirs.C_, theirs.l1_ratio_)
    np.testing.assert_allclose(ours.scores_, theirs.scores_, rtol=1e-3)
    assert ours.coefs_paths_.shape == theirs.coefs_paths_.shape


def test_leave_one_out_chooses_about_what_many_folds_choose(cancer):
    X, y = cancer
    options = {
        "Cs": 9,
        "l1_ratios": (0,),
        "scoring": "neg_log_loss",
        "use_legacy_attributes": False,
    }
    folds = gapless.LogisticRegressionCV(cv=30, **options).fit(X, y)
    loo = gapless.LogisticRegressionCV(cv="loo", **options).fit(X, y)
    assert 0.1 <= loo.C_ / folds.C_ <= 10  # neighbours on the grid at most
    assert loo.scores_.shape == (1, 1, 9)
    assert loo.scores_.max() == pytest.approx(folds.scores_.mean(axis=0).max(), rel=0.1)
    assert loo.score(X, y) == pytest.approx(folds.score(X, y), abs=0.1)


@pytest.mark.parametrize("name", ["LassoCV", "ElasticNetCV", "RidgeCV", "LogisticRegressionCV"])
def test_equal_rows_stay_together_in_a_number_of_folds(name):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 4))
    y = X[:, 0] + rng.normal(size=40)
    options = {"cv": 4}
    if name == "LogisticRegressionCV":
        y = (y > 0).astype(int)
        options |= {"l1_ratios": (0,), "scoring": "neg_log_loss", "use_legacy_attributes": False}
    weights = rng.integers(0, 3, size=40)
    rows = np.repeat(np.arange(40), weights)
    weighted = getattr(gapless, name)(**options).fit(X, y, sample_weight=weights)
    repeated = getattr(gapless, name)(**options).fit(X[rows], y[rows])
    for attribute in ("alpha_", "C_", "best_score_", "mse_path_", "scores_"):
        if hasattr(weighted, attribute):
            np.testing.assert_allclose(
                getattr(weighted, attribute), getattr(repeated, attribute), rtol=1e-5
            )


def test_sparse_data_choose_the_same(diabetes):
    import scipy.sparse as sp

    X, y = diabetes
    X = np.where(np.abs(X) < 0.03, 0.0, X)
    for make in (lambda: gapless.RidgeCV(ALPHAS), lambda: gapless.LassoCV(alphas=10)):
        dense, sparse = make().fit(X, y), make().fit(sp.csr_matrix(X), y)
        assert sparse.alpha_ == pytest.approx(dense.alpha_, rel=1e-9)
