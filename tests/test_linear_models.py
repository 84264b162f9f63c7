"""What linear models promise besides the contracts: bounds, starts, probabilities, warnings."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import log_expit
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning

import gapless
from gapless._ground.design import Design
from gapless.losses import Logistic, Softmax, ZeroOne
from gapless.penalties import L2, Box
from gapless.problem import Problem

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
y = X @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=40)
CLASSES = np.where(y > 0, "yes", "no")


@pytest.mark.parametrize("penalty", [Box(-0.1, 0.1), Box(-0.3, 0.7, L2(0.1)), Box(lower=0.1)])
def test_float32_coefficients_stay_in_their_box(penalty):
    """0.1 rounds up in float32, out of an upper bound of 0.1."""
    model = gapless.RiskRegressor("squared", penalty).fit(X.astype(np.float32), y)
    assert model.coef_.dtype == np.float32
    assert np.isfinite(penalty.value(model.coef_.astype(float)))
    assert model.certificate_.kind in ("optimal", "exact")


def test_a_warm_start_from_nan_is_an_error():
    model = gapless.Ridge(warm_start=True).fit(X, y)
    model.coef_[1] = np.nan
    with pytest.raises(ValueError, match="coef_ has entries that are not finite"):
        model.fit(X, y)


def test_classes_with_hardly_a_chance_still_separate():
    """The objective falls for ever, and one row is pulled at by no more than 1e-5 on the way."""
    draw = np.random.default_rng(116)
    rows, labels = draw.normal(size=(16, 3)), draw.integers(0, 5, 16)
    model = gapless.LogisticRegression(C=np.inf, tol=1e-8).fit(rows, labels)
    assert "no minimiser exists" in model.certificate_.verdict


def test_log_probabilities_are_precise_where_probabilities_round_to_one():
    model = gapless.LogisticRegression(C=1e4).fit(X, CLASSES)
    far = 1e4 * X[:5]
    scores = model.decision_function(far)
    assert np.all(np.abs(scores) > 800)
    expected = np.stack([log_expit(-scores), log_expit(scores)], axis=1)
    np.testing.assert_allclose(model.predict_log_proba(far), expected, rtol=1e-13)
    middle = X * 60 / np.abs(model.decision_function(X)).max()
    log_p, p = model.predict_log_proba(middle), model.predict_proba(middle)
    assert p.min() < 1e-20
    np.testing.assert_allclose(np.log(p), log_p, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("loss", ["softmax", "logistic"])
def test_log_probabilities_of_several_classes_are_finite_far_out(loss):
    labels = np.digitize(y, [-1, 1])
    model = gapless.RiskClassifier(loss, L2(0.01)).fit(X, labels)
    far = 1e5 * X
    log_p = model.predict_log_proba(far)
    assert np.all(np.isfinite(log_p))
    np.testing.assert_allclose(np.exp(log_p).sum(axis=1), 1.0)
    best = np.take_along_axis(log_p, model.predict(far)[:, None], axis=1)[:, 0]
    np.testing.assert_array_equal(best, log_p.max(axis=1))


def test_a_loss_without_its_own_log_probabilities_takes_the_logarithm():
    class Plain(Logistic):
        """The logistic loss, less its formula for log-probabilities."""

        log_probabilities = gapless.losses.Loss.log_probabilities

    z = np.linspace(-5, 5, 11)
    found = Plain().log_probabilities(z)
    np.testing.assert_allclose(found, Logistic(base2=True).log_probabilities(z), rtol=1e-12)
    both = np.stack([np.zeros_like(z), z], axis=1)
    np.testing.assert_allclose(found, Softmax().log_probabilities(both), rtol=1e-12)


@pytest.mark.parametrize("cls", [gapless.Lasso, gapless.ElasticNet])
def test_a_gram_matrix_must_be_that_of_the_data(cls):
    centred = X - X.mean(axis=0)
    model = cls(alpha=0.1, precompute=centred.T @ centred).fit(centred, y)
    np.testing.assert_allclose(model.coef_, cls(alpha=0.1).fit(centred, y).coef_)
    with pytest.warns(UserWarning, match="X was centered to fit intercept"):
        cls(alpha=0.1, precompute=X.T @ X).fit(X, y)
    with pytest.raises(ValueError, match=r"Gram matrix .* did not pass validation: .* feature 2"):
        cls(alpha=0.1, precompute=(centred.T @ centred) * [1, 1, 2]).fit(centred, y)
    with pytest.raises(ValueError, match=r"precompute must have the shape \(3, 3\)"):
        cls(alpha=0.1, precompute=np.eye(2)).fit(centred, y)


def test_a_gram_matrix_of_weighted_rows_has_weights_of_mean_one():
    weights = np.random.default_rng(1).random(40) + 0.5
    s = weights / weights.mean()
    gram = (X * s[:, None]).T @ X
    model = gapless.Lasso(alpha=0.1, precompute=gram, fit_intercept=False)
    assert model.fit(X, y, sample_weight=weights).certificate_.kind == "optimal"


def test_without_a_penalty_the_closed_form_is_advised():
    with pytest.warns(UserWarning, match="use the LinearRegression estimator"):
        model = gapless.Lasso(alpha=0).fit(X, y)
    np.testing.assert_allclose(model.coef_, gapless.LinearRegression().fit(X, y).coef_, rtol=1e-6)


def test_conjugate_gradients_end_where_rounding_leaves_nothing_of_the_gradient():
    """Classes that separate in part, features of different size: once a division by zero."""
    draw = np.random.default_rng(427)
    draw.integers(3, 6), draw.integers(1, 5), draw.integers(10, 60)
    rows = draw.normal(size=(29, 3)) * [1, 100, 100]
    draw.integers(0, 3, size=(29, 3)), draw.random((29, 3)), draw.integers(3)
    draw.integers(-2, 3, size=3)
    labels = np.concatenate([np.arange(5), draw.integers(0, 5, 24)])
    above = rows[:, 1] > np.median(rows[:, 1])
    labels[above & (labels % 2 == 0)] = (labels[above & (labels % 2 == 0)] + 1) % 5
    with pytest.warns(ConvergenceWarning, match="no minimiser exists"):
        model = gapless.LogisticRegression(C=np.inf, solver="newton-cg").fit(rows, labels)
    assert "no minimiser exists" in model.certificate_.verdict


def test_weights_of_a_penalty_may_change_between_fits():
    """What a penalty caches for its formulas is recomputed by every fit."""
    X, y = np.eye(4), np.arange(1.0, 5.0)
    weights = np.ones(4)
    model = gapless.RiskRegressor(penalty=L2(weights=weights), fit_intercept=False).fit(X, y)
    weights[:] = 3.0
    np.testing.assert_allclose(model.fit(X, y).coef_, y / 4)


def test_a_fit_without_a_minimiser_warns_once_with_the_cure():
    rows, labels = np.arange(6.0)[:, None], np.arange(6) > 2
    with pytest.warns(ConvergenceWarning, match=r"no minimiser exists.*add a penalty") as caught:
        model = gapless.LogisticRegression(C=np.inf).fit(rows, labels)
    assert len(caught) == 1 and model.certificate_.kind == "none"


@pytest.mark.parametrize(
    ("model", "ran"),
    [
        (gapless.Ridge(), "cholesky"),
        (gapless.Ridge(solver="closed_form"), "cholesky"),
        (gapless.Ridge(solver="svd"), "svd"),
        (gapless.Ridge(solver="eigen"), "eigen"),
        (gapless.Ridge(solver="cg"), "cg"),
        (gapless.RidgeClassifier(solver="lsqr"), "cholesky"),
        (gapless.LogisticRegression(), "newton"),
        (gapless.LogisticRegression(solver="newton-cg"), "newton_cg"),
        (gapless.LogisticRegression(solver="newton-cholesky"), "newton_cholesky"),
        (gapless.LogisticRegression(solver="lbfgs"), "lbfgs"),
        (gapless.LogisticRegression(solver="saga"), "newton"),
        (gapless.Lasso(), "prox_newton"),
        (gapless.Lasso(solver="coordinate_descent"), "coordinate_descent"),
        (gapless.LinearSVC(loss="hinge", solver="smo"), "smo"),
        (gapless.LinearSVC(loss="hinge", solver="coordinate_descent"), "dual"),
    ],
    ids=repr,
)
def test_solver_attribute_says_which_solver_ran_whatever_was_requested(model, ran):
    target = y > 0 if is_classifier(model) else y
    assert model.fit(X, target).solver_ == ran


@pytest.mark.parametrize(
    "model",
    [
        gapless.Lasso(solver="liblinear"),
        gapless.LinearRegression(solver="lsqr"),
        gapless.Ridge(solver="liblinear"),
        gapless.LinearSVR(solver="saga"),
        gapless.RiskRegressor(solver="sag"),
    ],
    ids=repr,
)
def test_solvers_of_other_classes_of_scikit_learn_are_not_known(model):
    with pytest.raises(ValueError, match=r"is not known; use .* closed_form, .* prox_newton"):
        model.fit(X, y)


# ---- columns without entries ---------------------------------------------------------------------

FEW_ENTRIES = [
    gapless.LinearRegression(),
    gapless.Ridge(),
    gapless.Lasso(0.05),
    gapless.LogisticRegression(),
    gapless.LinearSVC(),
]


def wide_and_narrow(rng, storage, d):
    """30 rows of 12 columns with entries, and the same among d columns."""
    X = rng.normal(size=(30, 12))
    filled = np.sort(rng.choice(d, 12, replace=False))
    rows, columns = np.nonzero(X)
    wide = sp.coo_array((X[rows, columns], (rows, filled[columns])), shape=(30, d))
    return wide.asformat(storage), sp.csr_array(X), filled


@pytest.mark.parametrize("storage", ["csr", "csc"])
@pytest.mark.parametrize("model", FEW_ENTRIES, ids=lambda model: type(model).__name__)
@pytest.mark.usefixtures("no_verdict")
def test_columns_without_entries_get_coefficients_of_zero(rng, model, storage):
    wide, narrow, filled = wide_and_narrow(rng, storage, 1000)
    y = np.arange(30) % 2 if is_classifier(model) else rng.normal(size=30)
    found, expected = clone(model).fit(wide, y), clone(model).fit(narrow, y)
    assert found.n_features_in_ == 1000
    assert np.count_nonzero(found.coef_) == np.count_nonzero(expected.coef_)
    np.testing.assert_allclose(found.coef_[..., filled], expected.coef_, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found.predict(wide), expected.predict(narrow), rtol=1e-12)
    assert found.certificate_.primal == pytest.approx(expected.certificate_.primal)
    assert gapless.certify(found, wide, y).gap == pytest.approx(found.certificate_.gap, abs=1e-9)
    assert found.generalization_.unseen == pytest.approx(expected.generalization_.unseen)
    again = found.set_params(warm_start=True) if hasattr(found, "warm_start") else found
    again.fit(wide, y)
    np.testing.assert_allclose(again.coef_[..., filled], expected.coef_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("model", FEW_ENTRIES[:3], ids=lambda model: type(model).__name__)
def test_columns_without_entries_take_no_memory_but_their_coefficients(rng, model):
    wide, _, _ = wide_and_narrow(rng, "csr", 1_000_000)
    y = rng.normal(size=30)
    tracemalloc.start()
    clone(model).fit(wide, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # The coefficients, and twice as much to find and to place those of the others.
    assert peak < 3.5 * 8 * 1_000_000


def test_a_coefficient_of_an_empty_column_that_was_changed_is_noticed(rng):
    wide, _, filled = wide_and_narrow(rng, "csr", 1000)
    y = rng.normal(size=30)
    model = gapless.Ridge().fit(wide, y)
    model.coef_[np.setdiff1d(np.arange(1000), filled)[0]] = 5.0
    assert gapless.certify(model, wide, y).gap > 10 * model.certificate_.tolerance


def test_a_penalty_with_a_weight_for_each_column_keeps_them_all(rng):
    wide, narrow, filled = wide_and_narrow(rng, "csr", 1000)
    y, weights = rng.normal(size=30), rng.uniform(0.5, 2, 1000)
    found = gapless.RiskRegressor(penalty=L2(1.0, weights)).fit(wide, y)
    expected = gapless.RiskRegressor(penalty=L2(1.0, weights[filled])).fit(narrow, y)
    np.testing.assert_allclose(found.coef_[filled], expected.coef_, rtol=1e-6, atol=1e-9)


def test_a_closed_form_and_its_certificate_share_their_products_with_the_data(rng, monkeypatch):
    products = []
    for name in ("times", "transposed_times"):
        plain = getattr(Design, name)

        def counted(self, *args, plain=plain):
            products.append(args)
            return plain(self, *args)

        monkeypatch.setattr(Design, name, counted)
    X = rng.normal(size=(50, 3)) + 5.0
    gapless.Ridge().fit(X, X @ [1.0, 2.0, 3.0] + rng.normal(size=50))
    # The mean, a first solution, its residual, the correction; of the result the scores and the
    # gradient, which the certificate does not compute again.
    assert len(products) == 6


def test_a_fit_keeps_no_product_with_data_that_its_owner_may_change(rng):
    X = rng.normal(size=(50, 3))
    model = gapless.Ridge().fit(X, X @ [1.0, 2.0, 3.0] + rng.normal(size=50))
    X[:, 0] += 1.0
    with pytest.raises(ValueError, match="does not match these data"):
        model.generalization_  # noqa: B018


def test_the_zero_one_loss_is_refused_with_what_to_use():
    with pytest.raises(ValueError, match=r"zero-one loss can only be evaluated: .*hinge or Logist"):
        gapless.RiskClassifier("zero_one").fit(X, CLASSES)
    labels = np.where(CLASSES == "yes", 1.0, -1.0)
    problem = Problem(Design(X), labels, ZeroOne(), L2(1.0), np.ones(len(X)))
    with pytest.raises(ValueError, match="zero-one loss can only be evaluated"):
        gapless.solve(problem, "proximal_gradient")


@pytest.mark.parametrize("penalty", ["l2", "l1", "none"])
def test_the_perceptron_loss_is_least_at_zero_and_says_so(penalty):
    with pytest.warns(UserWarning, match="w = 0, and no coefficients have a smaller objective"):
        model = gapless.RiskClassifier("perceptron", penalty).fit(X, CLASSES)
    np.testing.assert_array_equal(model.coef_, 0.0)
    assert model.certificate_.kind == "optimal" and model.certificate_.primal == 0
    assert gapless.certify(model, X, CLASSES).kind == "optimal"
    model.coef_ = np.ones((1, 3))
    assert gapless.certify(model, X, CLASSES).gap >= model.certificate_.gap + 0.1
