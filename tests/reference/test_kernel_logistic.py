"""Linear models on features of kernels: against other ways to the same minimum, and brute force."""

import numpy as np
import pytest
import scipy.optimize
import scipy.special
import sklearn.kernel_ridge
import sklearn.svm
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.model_selection import GridSearchCV, cross_val_score

import gapless
from gapless import KernelLogisticRegression, LogisticRegression, RiskClassifier, RiskRegressor
from gapless.kernels import Gaussian, Polynomial
from gapless.losses import Huber
from gapless.models.risk import with_kernel as on_features
from gapless.penalties import L1, L2


@pytest.fixture
def moons():
    return make_moons(80, noise=0.25, random_state=3)


def sines(n=60, seed=4):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 2))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=n)


def minimum(K, loss_and_slope, strength, outputs=1):
    """min over (α, b) of the loss at Kα + b and ½λ tr αᵀKα, by L-BFGS; its value, and Kα + b."""
    n = len(K)
    values, vectors = np.linalg.eigh(K)
    keep = values > 1e-12 * values[-1]
    root = vectors[:, keep] * np.sqrt(values[keep])

    def objective(v):
        w, b = v[:-outputs].reshape(-1, outputs), v[-outputs:]
        value, slope = loss_and_slope(root @ w + b)
        gradient = root.T @ slope + strength * w
        return (
            value + 0.5 * strength * np.sum(w**2),
            np.append(gradient.ravel(), slope.sum(axis=0)),
        )

    start = np.zeros((root.shape[1] + 1) * outputs)
    options = {"maxiter": 20_000, "maxfun": 10**6, "ftol": 1e-15, "gtol": 1e-9}
    found = scipy.optimize.minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    w, b = found.x[:-outputs].reshape(-1, outputs), found.x[-outputs:]
    return found.fun, (root @ w + b).reshape(n, outputs)


def test_two_classes_against_lbfgs(moons):
    X, y = moons
    t = 2.0 * y - 1

    def loss(z):
        margin = t[:, None] * z
        return np.sum(np.logaddexp(0, -margin)), -t[:, None] * scipy.special.expit(-margin)

    best, z = minimum(Gaussian(0.7).gram(X), loss, 1 / 5.0)
    model = KernelLogisticRegression(C=5.0, gamma=0.7, tol=1e-10).fit(X, y)
    assert model.certificate_.primal == pytest.approx(best, rel=1e-8)
    np.testing.assert_allclose(model.decision_function(X), z[:, 0], atol=1e-4)
    np.testing.assert_allclose(
        model.predict_proba(X)[:, 1], scipy.special.expit(z[:, 0]), atol=1e-4
    )


def test_three_classes_against_lbfgs():
    X, y = load_iris(return_X_y=True)
    X, y = X[::2], y[::2]
    labels = np.eye(3)[y]

    def loss(z):
        log_p = z - scipy.special.logsumexp(z, axis=1, keepdims=True)
        return -np.sum(labels * log_p), np.exp(log_p) - labels

    best, z = minimum(Polynomial(2).gram(X), loss, 1 / 0.01, outputs=3)
    model = KernelLogisticRegression(
        C=0.01, kernel="poly", degree=2, gamma=1.0, coef0=1.0, tol=1e-10
    ).fit(X, y)
    assert model.certificate_.primal == pytest.approx(best, rel=1e-8)
    np.testing.assert_allclose(model.predict_proba(X), scipy.special.softmax(z, axis=1), atol=1e-4)


def test_linear_kernel_is_logistic_regression(moons):
    X, y = moons
    weights = np.random.default_rng(0).uniform(0.5, 2, size=len(y))
    one = KernelLogisticRegression(C=2.0, kernel="linear").fit(X, y, sample_weight=weights)
    other = LogisticRegression(C=2.0).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-8)
    assert one.generalization_.unseen == pytest.approx(other.generalization_.unseen)


def test_function_is_a_sum_of_kernel_values(moons):
    X, y = moons
    model = KernelLogisticRegression(gamma=0.5).fit(X, y)
    new = np.random.default_rng(1).normal(size=(30, 2))
    by_hand = Gaussian(0.5).gram(new, model.X_fit_) @ model.dual_coef_[0] + model.intercept_
    np.testing.assert_allclose(model.decision_function(new), by_hand, atol=1e-12)
    by_features = model.features_.transform(new) @ model.coef_[0] + model.intercept_
    np.testing.assert_allclose(by_features, by_hand, atol=1e-8)


def test_any_loss_against_its_peer(moons):
    X, y = moons
    hinge = RiskClassifier("hinge", L2(0.5), kernel=Gaussian(0.8), tol=1e-10).fit(X, y)
    svc = sklearn.svm.SVC(C=2.0, gamma=0.8, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(hinge.decision_function(X), svc.decision_function(X), atol=1e-5)
    X, y = sines()
    squared = RiskRegressor("squared", L2(0.3), kernel=Gaussian(0.8), fit_intercept=False).fit(X, y)
    ridge = sklearn.kernel_ridge.KernelRidge(alpha=0.3, kernel="rbf", gamma=0.8).fit(X, y)
    np.testing.assert_allclose(squared.predict(X), ridge.predict(X), atol=1e-9)
    both = RiskRegressor("squared", L2(0.3), kernel=Gaussian(0.8)).fit(X, np.column_stack([y, -y]))
    np.testing.assert_allclose(both.predict(X)[:, 0], -both.predict(X)[:, 1], atol=1e-9)
    assert both.dual_coef_.shape == (2, len(X))


def test_precomputed_values_give_the_same_model(moons):
    X, y = moons
    K = Gaussian(0.5).gram(X)
    given = KernelLogisticRegression(kernel="precomputed").fit(K, y)
    computed = KernelLogisticRegression(gamma=0.5).fit(X, y)
    np.testing.assert_allclose(given.decision_function(K), computed.decision_function(X), atol=1e-8)
    np.testing.assert_array_equal(np.sort(given.X_fit_), np.unique(given.X_fit_))
    scores = (
        cross_val_score(KernelLogisticRegression(kernel="precomputed"), K, y, cv=3),
        cross_val_score(KernelLogisticRegression(gamma=0.5), X, y, cv=3),
    )
    np.testing.assert_array_equal(*scores)


# ---- certificates --------------------------------------------------------------------------------


def test_gap_to_the_kernel_itself_bounds_what_landmarks_cost(moons):
    X, y = moons
    exact = KernelLogisticRegression(C=10.0, gamma=2.0).fit(X, y)
    for rank in (3, 10, 30):
        few = KernelLogisticRegression(
            C=10.0, gamma=2.0, approximation="nystroem", n_components=rank
        ).fit(X, y)
        own, of_kernel = gapless.certify(few, X, y), gapless.certify(few, X, y, exact_kernel=True)
        assert own.kind == "optimal"
        assert f"{rank} landmarks in place of the kernel" in few.certificate_.verdict
        # P is the same: the model is one of the kernel's.
        assert of_kernel.primal == pytest.approx(own.primal, rel=1e-5)
        cost = few.certificate_.primal - exact.certificate_.primal
        assert 0 < cost <= of_kernel.gap * (1 + 1e-6)
        assert of_kernel.gap > own.gap


@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared_hinge", "softmax"])
def test_certificates_by_features_and_by_the_gram_matrix_agree(loss):
    X, y = load_iris(return_X_y=True)
    model = RiskClassifier(loss, L2(0.5), kernel=Gaussian(0.3)).fit(X[::3], y[::3])
    by_features = gapless.certify(model, X[::3], y[::3])
    by_matrix = gapless.certify(model, X[::3], y[::3], exact_kernel=True)
    assert by_matrix.kind == by_features.kind == "optimal"
    assert by_matrix.primal == pytest.approx(by_features.primal, rel=1e-9)
    assert by_matrix.dual == pytest.approx(by_features.dual, rel=1e-6)


def test_gap_bounds_suboptimality_away_from_the_optimum(moons):
    X, y = moons
    model = KernelLogisticRegression(gamma=0.5).fit(X, y)
    best = model.certificate_.primal
    rng = np.random.default_rng(0)
    for size in (1e-3, 0.1, 1.0):
        model.dual_coef_ = model.dual_coef_ + size * rng.normal(size=model.dual_coef_.shape)
        model.dual_ = model.dual_ * rng.uniform(0.5, 1.5, size=len(y))
        found = gapless.certify(model, X, y, exact_kernel=True)
        assert found.gap >= found.primal - best > 0


@pytest.mark.parametrize("approximation", [None, "nystroem", "random_features"])
@pytest.mark.parametrize(
    "model",
    [
        KernelLogisticRegression(10.0, gamma=0.5),
        RiskClassifier("softmax", L2(0.1), kernel=Gaussian(0.3)),
        RiskClassifier("squared_hinge", L2(0.1), kernel=Gaussian(0.3)),
        RiskRegressor(Huber(0.5), L2(0.1), kernel=Gaussian(0.3)),
    ],
)
def test_what_predicts_and_what_is_certified_are_the_same(model, approximation):
    X, y = load_iris(return_X_y=True)
    form = {"approximation": approximation, "n_components": approximation and 20}
    model = clone(model).set_params(**form).fit(X, y)
    is_random = approximation == "random_features"
    ways = [False] if is_random else [False, True]
    assert gapless.certify(model, X, y).kind == "optimal"
    for name in ("coef_",) if is_random else ("coef_", "dual_coef_", "X_fit_"):
        stored = getattr(model, name)
        setattr(model, name, 1.01 * stored)
        for exact_kernel in ways:
            found = gapless.certify(model, X, y, exact_kernel=exact_kernel)
            assert found.kind == "stopped", (name, exact_kernel)
        setattr(model, name, stored)
    model.intercept_ = model.intercept_ + 0.05 * np.arange(1, 1 + np.size(model.intercept_))
    for exact_kernel in ways:
        assert gapless.certify(model, X, y, exact_kernel=exact_kernel).kind == "stopped"


def test_models_that_are_none_of_the_kernel_say_so(moons):
    X, y = moons
    random = KernelLogisticRegression(approximation="random_features", n_components=20).fit(X, y)
    assert "20 random features in place of the kernel" in random.certificate_.verdict
    assert not hasattr(random, "dual_coef_")
    with pytest.raises(ValueError, match="random features"):
        gapless.certify(random, X, y, exact_kernel=True)
    for linear in (RiskClassifier(), LogisticRegression()):
        with pytest.raises(ValueError, match=r"exact_kernel=True.*no kernel|has none"):
            gapless.certify(linear.fit(X, y), X, y, exact_kernel=True)


# ---- unseen data and tuning ----------------------------------------------------------------------


def test_held_out_scores_are_those_of_refits(moons):
    X, y = moons
    model = KernelLogisticRegression(C=3.0, gamma=0.5)
    hits = []
    for i in range(len(y)):
        rest = np.delete(np.arange(len(y)), i)
        hits.append(model.fit(X[rest], y[rest]).predict(X[[i]])[0] == y[i])
    result = model.fit(X, y).generalization_
    assert abs(result.unseen - np.mean(hits)) <= 1.5 / len(y)
    assert result.method.startswith("approximate loo")


@pytest.mark.parametrize("approximation", [None, "nystroem"])
def test_weights_are_copies_for_unseen_scores_and_choices(moons, approximation):
    X, y = moons
    rng = np.random.default_rng(2)
    weights = rng.integers(0, 3, size=len(y))
    copies = rng.permutation(np.repeat(np.arange(len(y)), weights))
    model = KernelLogisticRegression(C="loo", gamma=0.7, approximation=approximation)
    weighted = clone(model).fit(X, y, sample_weight=weights)
    copied = clone(model).fit(X[copies], y[copies])
    assert pytest.approx(weighted.C_, rel=1e-6) == copied.C_
    np.testing.assert_allclose(copied.dual_coef_, weighted.dual_coef_, rtol=1e-3, atol=1e-4)
    one, other = weighted.generalization_, copied.generalization_
    assert (one.unseen, one.standard_error) == (
        pytest.approx(other.unseen),
        pytest.approx(other.standard_error),
    )


def test_strength_and_scale_are_chosen_together(moons):
    X, y = moons
    model = KernelLogisticRegression(C="loo", gamma="loo").fit(X, y)
    tried = model.search_
    assert pytest.approx(tried.values["C"][tried.chosen]) == model.C_
    assert model.gamma_ == tried.values["gamma"][tried.chosen]
    assert tried.unseen[tried.chosen] == np.max(tried.unseen)
    assert len(np.unique(tried.values["gamma"])) >= 5
    # No worse than the default on rows of which none was seen.
    new, labels = make_moons(1000, noise=0.25, random_state=7)
    assert (
        model.score(new, labels) >= KernelLogisticRegression().fit(X, y).score(new, labels) - 0.01
    )
    assert "corrected for selection among" in model.generalization_.method
    assert "gamma" in gapless.generalize(model, X, y).method


def test_either_can_be_chosen_alone(moons):
    X, y = moons
    by_strength = KernelLogisticRegression(C="loo", gamma=0.5).fit(X, y)
    at = by_strength.path_.chosen
    assert by_strength.path_.strengths[at] == pytest.approx(by_strength.C_)
    assert not hasattr(by_strength, "gamma_")
    by_scale = KernelLogisticRegression(C=2.0, gamma="loo").fit(X, y)
    assert np.all(by_scale.search_.values["C"] == 2.0)
    assert by_scale.gamma_ == by_scale.search_.values["gamma"][np.argmax(by_scale.search_.unseen)]


def test_parameters_of_kernels_can_be_searched():
    X, y = sines()
    model = RiskRegressor(Huber(0.5), L2(0.1), kernel="rbf")
    grid = {"kernel__gamma": [1e-3, 1.0], "penalty__strength": [0.1, 100.0]}
    search = GridSearchCV(model, grid, cv=3).fit(X, y)
    assert search.best_params_ == {"kernel__gamma": 1.0, "penalty__strength": 0.1}
    sums = RiskRegressor(kernel=Gaussian(1.0) + Polynomial(2))
    assert sums.set_params(kernel__left__gamma=0.5).kernel == Gaussian(0.5) + Polynomial(2)


def test_penalty_with_a_kernel_must_be_the_norm(moons):
    for penalty in (L1(1.0), "none", L2(1.0, weights=np.ones(2))):
        with pytest.raises(ValueError, match="with a kernel the penalty must be"):
            RiskClassifier(penalty=penalty, kernel="rbf").fit(*moons)
    with pytest.raises(ValueError, match="not positive semi-definite"):
        RiskClassifier(kernel="sigmoid").fit(*moons)


# ---- approximations ------------------------------------------------------------------------------


@pytest.fixture
def small(monkeypatch):
    """Pretend that all is large: landmarks from 100 rows on, beginning with 4."""
    monkeypatch.setattr(on_features, "FIRST_RANK", 4)
    monkeypatch.setattr(on_features.chosen_kind, "__defaults__", (100,))


def test_landmarks_stand_for_large_kernels_alone(small):
    X, y = make_moons(300, noise=0.25, random_state=0)
    few = KernelLogisticRegression(C=10.0).fit(X[:90], y[:90])
    assert few.features_.kind == "exact"
    assert "landmarks" not in few.certificate_.verdict
    many = KernelLogisticRegression(C=10.0).fit(X, y)
    assert many.features_.kind == "nystroem"
    assert KernelLogisticRegression(C=10.0, approximation=None).fit(X, y).features_.kind == "exact"


@pytest.mark.parametrize("approximation", ["nystroem", "random_features"])
def test_rank_grows_until_unseen_rows_ask_for_no_more(small, approximation):
    X, y = make_moons(400, noise=0.25, random_state=0)
    model = KernelLogisticRegression(C=10.0, approximation=approximation).fit(X, y)
    ranks, unseen, errors = np.array(model.features_.tried).T
    assert np.all(np.diff(ranks) > 0)
    assert model.features_.rank == ranks[-1] < 100
    assert model.features_.is_enough
    assert np.all(np.diff(unseen)[:-1] > 0.5 * errors[1:-1])
    assert np.diff(unseen)[-1] <= 0.5 * errors[-1]
    exact = KernelLogisticRegression(C=10.0, approximation=None).fit(X, y)
    assert model.generalization_.unseen >= exact.generalization_.unseen - 0.02


def test_rank_that_ends_too_early_is_told(small, monkeypatch):
    monkeypatch.setattr(on_features, "MOST_FEATURES", 8)
    X, y = make_moons(400, noise=0.1, random_state=0)
    model = KernelLogisticRegression(C=100.0).fit(X, y)
    assert model.features_.rank == 8
    assert "raise n_components" in model.certificate_.verdict


def test_time_limit_keeps_the_last_rank(small):
    X, y = make_moons(400, noise=0.25, random_state=0)
    with pytest.warns(gapless.models.linear._base.ConvergenceWarning):
        model = KernelLogisticRegression(time_limit=1e-6).fit(X, y)
    assert model.certificate_.kind == "stopped"
    assert "before any kernel features" in model.certificate_.verdict
    assert gapless.certify(model, X, y).gap == pytest.approx(model.certificate_.gap)


@pytest.mark.parametrize("approximation", [None, "nystroem"])
def test_unseen_data_are_those_of_what_predicts(approximation):
    X, y = make_moons(60, noise=0.3, random_state=0)
    model = KernelLogisticRegression(approximation=approximation, n_components=30).fit(X, y)
    assert gapless.generalize(model, X, y).kind != "unknown"
    model.dual_coef_ = 1.1 * model.dual_coef_
    with pytest.raises(ValueError, match="does not match these data"):
        gapless.generalize(model, X, y)


@pytest.mark.parametrize(
    "dtype, C, kind",
    [(np.float32, 1.0, "optimal"), (np.float32, 1e6, "stopped"), (np.float64, 1e6, "optimal")],
)
def test_what_the_precision_of_features_costs_is_allowed_for_or_said(dtype, C, kind):
    # Of so smooth a kernel the coefficients are large, and make much of the rounding.
    X, y = make_moons(400, noise=0.2, random_state=0)
    options = {"approximation": "nystroem", "n_components": 100, "gamma": 0.05, "C": C}
    model = KernelLogisticRegression(**options).fit(X.astype(dtype), y)
    again = gapless.certify(model, X.astype(dtype), y)
    assert model.features_.dtype == dtype
    assert (model.certificate_.kind, again.kind) == ("optimal", kind)
    is_said = "features are float32, whose rounding causes this" in again.verdict
    assert is_said == (kind == "stopped")
    assert again.gap > model.certificate_.gap
