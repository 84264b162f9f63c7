"""The classes with "CV" in their name against scikit-learn's: same strengths, scores and models."""

import numpy as np
import pytest
import sklearn.linear_model as reference
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, make_regression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, cross_val_predict
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
    X, y = cancer[0][:, :4], cancer[1]
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
    X = rng.normal(size=(60, 3))
    y = np.argmax(X + rng.normal(size=(60, 3)), axis=1)
    options = {
        "Cs": [1.0, 0.1],
        "l1_ratios": [0.0, 0.5],
        "scoring": "neg_log_loss",
        "use_legacy_attributes": False,
        "cv": 3,
    }
    theirs = reference.LogisticRegressionCV(
        solver="saga", tol=1e-6, max_iter=10_000, random_state=0, **options
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


# ---- unseen data ---------------------------------------------------------------------------------

LOGISTIC = {"l1_ratios": (0,), "scoring": "neg_log_loss", "use_legacy_attributes": False}


def test_groups_that_were_kept_together_stay_together():
    """Row by row, the other rows of a group would give its target away."""
    rng = np.random.default_rng(1)
    group = np.repeat(np.arange(30), 5)
    X = rng.normal(size=(30, 20))[group] + 0.01 * rng.normal(size=(150, 20))
    y = rng.normal(size=30)[group] + 0.1 * rng.normal(size=150)
    folds = list(GroupKFold(5).split(X, y, group))
    result = gapless.RidgeCV(ALPHAS, cv=folds).fit(X, y).generalization_
    assert result.unseen < 0.1
    assert result.kind == "balanced"
    assert result.method.startswith("5-fold")


@pytest.mark.parametrize("alphas", [ALPHAS, ALPHAS[::-1]], ids=["weakest first", "strongest first"])
@pytest.mark.parametrize("scoring", [None, "neg_mean_absolute_error", "neg_median_absolute_error"])
@pytest.mark.usefixtures("no_verdict")
def test_the_score_is_that_of_the_simplest_within_a_standard_error(diabetes, alphas, scoring):
    X, y = diabetes
    model = gapless.RidgeCV(alphas, select="1se", scoring=scoring).fit(X, y)
    plain = gapless.Ridge(model.alpha_).fit(X, y).generalization_
    result = model.generalization_
    assert model.alpha_ > gapless.RidgeCV(alphas, scoring=scoring).fit(X, y).alpha_
    assert result.train == pytest.approx(plain.train, rel=1e-12)  # by two factorisations
    assert abs(result.unseen - plain.unseen) < result.standard_error / 4


def test_the_score_is_that_of_the_simplest_for_its_share_of_l1(diabetes):
    X, y = diabetes
    options = {"alphas": 20, "l1_ratio": [0.2, 0.9], "cv": 5}
    model = gapless.ElasticNetCV(select="1se", **options).fit(X, y)
    best = gapless.ElasticNetCV(**options).fit(X, y)
    plain = gapless.ElasticNet(model.alpha_, l1_ratio=model.l1_ratio_)
    z = cross_val_predict(plain, X, y, cv=KFold(5))
    expected = 1 - np.mean((y - z) ** 2) / np.var(y)
    result = model.generalization_
    assert abs(result.unseen - expected) < result.standard_error / 4
    assert result.unseen < best.generalization_.unseen


def test_the_scorer_that_chose_is_the_one_that_is_corrected_for(cancer):
    """By accuracy the best C differs from that by log loss; the score is of the chosen one."""
    X, y = cancer
    model = gapless.LogisticRegressionCV(
        Cs=[1e-3, 1e-1, 1e2], cv=KFold(5), **LOGISTIC | {"scoring": "accuracy"}
    ).fit(X, y)
    plain = gapless.LogisticRegression(C=model.C_, tol=1e-10)
    expected = accuracy_score(y, cross_val_predict(plain, X, y, cv=KFold(5)))
    result = model.generalization_
    assert result.unseen <= expected
    assert result.unseen == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("cv", [3, "loo"])
@pytest.mark.usefixtures("no_verdict")
def test_unseen_and_train_are_of_the_same_metric(cancer, cv):
    X, y = cancer
    model = gapless.LogisticRegressionCV(Cs=3, cv=cv, **LOGISTIC).fit(X, y)
    result = model.generalization_
    assert result.metric == "accuracy"
    assert result.train == accuracy_score(y, model.predict(X))
    assert 0.9 < result.unseen < 1
    other = gapless.generalize(model, X, y, scoring="neg_log_loss")
    assert other.train == pytest.approx(model.score(X, y))


@pytest.mark.parametrize("name", ["LassoCV", "RidgeCV", "LogisticRegressionCV"])
@pytest.mark.usefixtures("no_verdict")
def test_rows_without_weight_are_no_rows_for_the_corrected_score(diabetes, name):
    X, y = diabetes
    options = {"cv": 4}
    if name == "LogisticRegressionCV":
        y, options = y > np.median(y), options | LOGISTIC | {"Cs": 3}
    weights = np.ones(len(y))
    weights[::7] = 0
    kept = weights > 0
    one = getattr(gapless, name)(**options).fit(X, y, sample_weight=weights).generalization_
    other = getattr(gapless, name)(**options).fit(X[kept], y[kept]).generalization_
    assert one.method == other.method
    assert "corrected for selection among" in one.method
    for attribute in ("train", "unseen", "standard_error"):
        assert getattr(one, attribute) == pytest.approx(getattr(other, attribute), rel=1e-5)


@pytest.mark.parametrize(
    ("model", "names"),
    [
        (gapless.Ridge("loo"), "alpha"),
        (gapless.LassoCV(alphas=5), "alpha"),
        (gapless.ElasticNetCV(alphas=5), "alpha and l1_ratio"),
        (gapless.RidgeCV(cv=ShuffleSplit(3, random_state=0)), "alpha"),
    ],
    ids=repr,
)
@pytest.mark.usefixtures("no_verdict")
def test_what_is_not_corrected_says_so(diabetes, model, names):
    X, y = diabetes
    assert f"; not corrected for the selection of {names}" in (
        gapless.generalize(model.fit(X, y), X, y).method
    )
    is_corrected = "corrected for selection among" in model.generalization_.method
    assert is_corrected == (not isinstance(getattr(model, "cv", None), ShuffleSplit))


def test_a_strength_for_each_target_is_not_corrected_for(diabetes):
    X, y = diabetes
    model = gapless.RidgeCV(ALPHAS, alpha_per_target=True).fit(X, np.column_stack([y, y[::-1]]))
    assert "not corrected for the selection of alpha" in model.generalization_.method


def test_the_same_c_twice(cancer):
    X, y = cancer
    options = {"cv": "loo"} | LOGISTIC
    twice = gapless.LogisticRegressionCV(Cs=[1, 1, 10], **options).fit(X, y)
    once = gapless.LogisticRegressionCV(Cs=[1, 10], **options).fit(X, y)
    np.testing.assert_allclose(twice.scores_[0, 0], once.scores_[0, 0][[0, 0, 1]], rtol=1e-5)
    assert np.isfinite(twice.generalization_.unseen)


@pytest.mark.parametrize("name", ["LassoCV", "ElasticNetCV", "MultiTaskLassoCV", "RidgeCV"])
def test_groups_are_routed_to_the_splitter(name):
    X, y = make_regression(60, 5, n_targets=2, noise=5.0, random_state=0)
    y = y if name.startswith("Multi") else y[:, 0]
    groups = np.arange(60) % 6
    with config_context(enable_metadata_routing=True):
        model = getattr(gapless, name)(cv=GroupKFold(3)).fit(X, y, groups=groups)
    folds = list(GroupKFold(3).split(X, y, groups))
    assert model.alpha_ == getattr(gapless, name)(cv=folds).fit(X, y).alpha_


@pytest.mark.parametrize("model", [gapless.Ridge(), gapless.Ridge("loo"), gapless.LassoCV()])
def test_nothing_is_known_of_a_target_that_does_not_vary(diabetes, model):
    X, y = diabetes
    result = model.fit(X, np.full_like(y, 3.0)).generalization_
    assert result.kind == "unknown"
    assert np.isnan(result.unseen)


def test_constant_columns_ask_for_no_strength():
    y = np.random.default_rng(0).normal(size=30)
    model = gapless.Ridge("loo").fit(np.full((30, 3), 0.1), y)
    assert model.path_.strengths[0] == 1.0


@pytest.mark.parametrize("model", [gapless.LassoCV(), gapless.RidgeCV(ALPHAS)], ids=str)
def test_a_test_without_weight_is_no_test(diabetes, model):
    X, y = (part[:60] for part in diabetes)
    weights = np.repeat([0.0, 1.0], [12, 48])
    found = clone(model).set_params(cv=KFold(5)).fit(X, y, sample_weight=weights)
    folds = [(train[train >= 12] - 12, test - 12) for train, test in KFold(5).split(X)][1:]
    expected = clone(model).set_params(cv=folds).fit(X[12:], y[12:])
    assert found.alpha_ == pytest.approx(expected.alpha_, rel=1e-12)
    assert found.coef_ == pytest.approx(expected.coef_, rel=1e-6)
    with pytest.raises(ValueError, match="no fold of cv tests a row"):
        model.set_params(cv=[(np.arange(12, 60), np.arange(12))]).fit(X, y, sample_weight=weights)


@pytest.mark.parametrize(
    "model",
    [
        gapless.RidgeCV(ALPHAS),
        gapless.LassoCV(alphas=5),
        gapless.LogisticRegressionCV(
            Cs=3, l1_ratios=(0.0,), scoring="accuracy", use_legacy_attributes=False
        ),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_single_fold_tells_no_standard_error(model):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 2)), rng.integers(0, 2, 30).astype(float)
    folds = [(np.arange(20), np.arange(20, 30))]
    found = clone(model).set_params(cv=folds).fit(X, y).path_
    assert np.all(np.isfinite(found.unseen)) and np.all(np.isnan(found.standard_errors))
