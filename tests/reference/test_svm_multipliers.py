"""Multipliers, slacks and conditions of every training row, against a programme to 15 digits."""

import pickle

import high_precision
import numpy as np
import pytest
from sklearn.datasets import load_iris

import gapless
from gapless import SVC, LinearSVC, NuSVC
from gapless.kernels import Gaussian

HINGE = {"loss": "hinge", "tol": 1e-10}


def make_data(n=14, seed=0, classes=2):
    """Few rows whose classes overlap, with weights of which some are 0 and some repeat a row."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.digitize(X[:, 0] + 0.7 * rng.normal(size=n), [0.0, 0.8][: classes - 1])
    return X, y, rng.integers(0, 4, size=n).astype(float)


def exact(X, t, weights, C, loss="hinge"):
    """α, ξ and yz of the best machine, by an interior point in long double."""
    case = high_precision.Case(X, t, weights, loss, l2=np.full(X.shape[1], 1 / C))
    found = high_precision.minimise(case)
    z = X @ found.w.ravel().astype(float) + float(found.b.ravel()[0])
    alpha = C * np.abs(np.ravel(found.theta).astype(float))
    return alpha, np.where(weights > 0, np.maximum(1 - t * z, 0), 0), t * z


def machines(C):
    return [
        pytest.param(SVC(kernel="linear", C=C, tol=1e-10), id=f"SVC-{C}"),
        pytest.param(LinearSVC(C=C, **HINGE), id=f"LinearSVC-{C}"),
    ]


every_machine = pytest.mark.parametrize("model", [m for C in (0.6, 2.0, 50.0) for m in machines(C)])


@every_machine
@pytest.mark.parametrize("seed", range(3))
def test_every_row_stands_as_the_exact_solution_says(model, seed):
    X, y, weights = make_data(seed=seed)
    t, C = 2.0 * y - 1, model.C
    alpha, slack, margin = exact(X, t, weights, C)
    model.fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(model.slack_, slack, atol=1e-7)
    # Where some rows share a place on the margin, α is unique only together.
    np.testing.assert_allclose(model.alpha_ @ (t[:, None] * X), (alpha * t) @ X, atol=1e-6 * C)
    assert model.alpha_.sum() == pytest.approx(alpha.sum(), rel=1e-6)
    status = model.kkt_status_
    assert np.array_equal(status == "absent", weights == 0)
    assert np.all(model.alpha_[(status == "inactive") | (status == "absent")] == 0)
    assert np.all(margin[status == "inactive"] >= 1 - 1e-6)
    on_margin = status == "on margin"
    assert on_margin.any()
    assert np.all((model.alpha_ > 0)[on_margin] & (model.alpha_ < C * weights)[on_margin])
    np.testing.assert_allclose(margin[on_margin], 1, atol=1e-6)
    bounded = status == "bounded"
    np.testing.assert_allclose(model.alpha_[bounded], (C * weights)[bounded], rtol=1e-8)
    assert np.all(margin[bounded] <= 1 + 1e-6)
    assert np.max(model.kkt_violation_) < 1e-6
    assert sorted(model.support_) == np.flatnonzero(model.alpha_).tolist()
    assert model.margin_ == pytest.approx(2 / np.linalg.norm(model.coef_))


@pytest.mark.parametrize("seed", range(3))
def test_the_squared_hinge_has_multipliers_in_proportion_to_slacks(seed):
    X, y, weights = make_data(seed=seed)
    model = LinearSVC(C=2.0, tol=1e-12).fit(X, y, sample_weight=weights)
    alpha, slack, _ = exact(X, 2.0 * y - 1, weights, 2.0, "squared_hinge")
    np.testing.assert_allclose(model.alpha_, alpha, atol=1e-6)
    np.testing.assert_allclose(model.slack_, slack, atol=1e-6)
    np.testing.assert_allclose(model.alpha_, 2 * 2.0 * weights * model.slack_, atol=1e-6)
    assert set(model.kkt_status_) <= {"inactive", "active", "absent"}
    np.testing.assert_array_equal(model.kkt_status_ == "active", model.alpha_ > 0)
    assert np.max(model.kkt_violation_) < 1e-6


@every_machine
def test_a_wrong_score_is_a_violation(model):
    X, y, _ = make_data()
    model.fit(X, y)
    if isinstance(model, LinearSVC):
        model.intercept_ = model.intercept_ + 0.25
        on_margin = model.alpha_ > 0
        assert np.max(model.kkt_violation_[on_margin]) == pytest.approx(0.25, rel=1e-5)


@every_machine
def test_a_row_of_weight_two_has_the_multipliers_of_both_copies(model):
    X, y, weights = make_data()
    weighted = model.fit(X, y, sample_weight=weights)
    of_rows, slack, status = weighted.alpha_, weighted.slack_, weighted.kkt_status_
    again = np.repeat(np.arange(len(y)), weights.astype(int))
    repeated = model.fit(X[again], y[again])
    np.testing.assert_allclose(np.bincount(again, repeated.alpha_, len(y)), of_rows, atol=1e-6)
    np.testing.assert_allclose(repeated.slack_, slack[again], atol=1e-7)
    assert np.array_equal(repeated.kkt_status_, status[again])


# ---- the bias by any row on the margin -----------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", Gaussian(sigma=1.2)])
@pytest.mark.parametrize("C", [1.0, 30.0])
def test_every_free_row_gives_the_same_bias(kernel, C):
    """b = y_k − Σᵢ αᵢyᵢK(xₖ, xᵢ) for any k with 0 < αₖ < C (003)."""
    X, y, _ = make_data(60, seed=3)
    t = 2.0 * y - 1
    model = SVC(kernel=kernel, C=C, tol=1e-10).fit(X, y)
    free = np.flatnonzero(model.kkt_status_ == "on margin")
    assert len(free) >= 2
    biases = t[free] - model.kernel_.gram(X[free], X) @ (model.alpha_ * t)
    np.testing.assert_allclose(biases, model.intercept_[0], atol=1e-7)


# ---- several classes -----------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [SVC, NuSVC])
@pytest.mark.parametrize("arrangement", ["ovo", "ovr"])
def test_columns_are_problems(cls, arrangement):
    X, y, _ = make_data(60, classes=3)
    form = {"C": 2.0} if cls is SVC else {"nu": 0.6}
    model = cls(kernel="linear", multi_class=arrangement, tol=1e-9, **form).fit(X, y)
    assert model.alpha_.shape == model.slack_.shape == (60, 3)
    sides = [(0, 1), (0, 2), (1, 2)] if arrangement == "ovo" else [(0,), (1,), (2,)]
    for k, side in enumerate(sides):
        t = np.where(y == side[0], 1.0, -1.0)
        if arrangement == "ovo":
            t[~np.isin(y, side)] = 0
        # w = Σ αᵢtᵢxᵢ and Σ αᵢtᵢ = 0 in each problem.
        np.testing.assert_allclose((model.alpha_[:, k] * t) @ X, model.coef_[k], atol=1e-9)
        assert abs(model.alpha_[:, k] @ t) < 1e-8
        z = X @ model.coef_[k] + model.intercept_[k]
        expected = np.where(t == 0, 0, np.maximum(1 - t * z, 0))
        np.testing.assert_allclose(model.slack_[:, k], expected, atol=1e-9)
        assert np.all(model.alpha_[t == 0, k] == 0)


@pytest.mark.parametrize("name", ["crammer_singer", "weston_watkins"])
def test_one_hinge_has_multipliers_of_rivals_and_its_loss_as_slack(name):
    X, y, _ = make_data(45, classes=3)
    model = SVC(kernel="linear", multi_class=name, margin=1.5, C=2.0, tol=1e-9).fit(X, y)
    alpha, rows = model.alpha_, np.arange(len(y))
    assert alpha.shape == (45, 3) and np.all(alpha[rows, y] == 0) and np.all(alpha >= 0)
    most = alpha.sum(axis=1) if name == "crammer_singer" else alpha.max(axis=1)
    assert np.max(most) == pytest.approx(2.0, rel=1e-6)
    # wₖ = Σ over own rows of their αs minus those that rows of others have for k.
    theta = -alpha
    theta[rows, y] = alpha.sum(axis=1)
    np.testing.assert_allclose(theta.T @ X, model.coef_, atol=1e-6)
    z = X @ model.coef_.T + model.intercept_
    short = np.maximum(1.5 + z - z[rows, y][:, None], 0)
    short[rows, y] = 0
    expected = short.max(axis=1) if name == "crammer_singer" else short.sum(axis=1)
    np.testing.assert_allclose(model.slack_, expected, atol=1e-9)


@pytest.mark.parametrize("name", ["crammer_singer", "weston_watkins"])
@pytest.mark.parametrize("margin", [0.01, 3.0])
def test_a_margin_scales_the_scores_of_one_hinge(name, margin):
    X, y, _ = make_data(45, classes=3)
    plain = SVC(multi_class=name, C=2.0, tol=1e-9).fit(X, y)
    wide = SVC(multi_class=name, C=2.0 * margin, margin=margin, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(wide._scores(X), margin * plain._scores(X), atol=1e-5 * margin)
    primal = margin**2 * plain.certificate_.primal
    assert wide.certificate_.primal == pytest.approx(primal, rel=1e-7)
    assert gapless.certify(wide, X, y).kind == "optimal"
    assert wide._formula().numbers["Δ"] == margin


def test_a_margin_needs_one_problem_for_all_classes():
    X, y, _ = make_data(45, classes=3)
    with pytest.raises(ValueError, match=r'margin=2 concerns.*there is multi_class="ovo"'):
        SVC(margin=2.0).fit(X, y)
    with pytest.raises(ValueError, match=r"margin=2 concerns.*there is two classes"):
        SVC(margin=2.0, multi_class="crammer_singer").fit(X, y > 0)
    with pytest.raises(ValueError, match="margin"):
        SVC(margin=0.0, multi_class="crammer_singer").fit(X, y)


def test_linear_machines_of_several_classes_have_columns():
    X, y, _ = make_data(45, classes=3)
    model = LinearSVC(C=2.0, **HINGE).fit(X, y)
    assert model.alpha_.shape == model.slack_.shape == (45, 3) and model.margin_.shape == (3,)
    signs = np.where(y[:, None] == np.arange(3), 1, -1)
    np.testing.assert_allclose((model.alpha_ * signs).T @ X, model.coef_, atol=1e-6)
    one = LinearSVC(C=2.0, multi_class="crammer_singer", **HINGE).fit(X, y)
    assert one.alpha_.shape == (45, 3) and one.slack_.shape == (45,)
    assert np.all(one.alpha_[np.arange(45), y] == 0)
    theta = -one.alpha_
    theta[np.arange(45), y] = one.alpha_.sum(axis=1)
    np.testing.assert_allclose(theta.T @ X, one.coef_, atol=1e-6)
    assert np.max(one.kkt_violation_) < 1e-6


# ---- C = ∞ ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_linear_hard_margin_is_that_of_the_kernel_machine(loss):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < 2], y[y < 2]
    expected = SVC(kernel="linear", C=np.inf, tol=1e-9).fit(X, y)
    model = LinearSVC(C=np.inf, loss=loss).fit(X, y)
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, expected.intercept_, atol=1e-6)
    np.testing.assert_allclose(model.alpha_, expected.alpha_, atol=1e-6)
    assert model.margin_ == pytest.approx(expected.margin_, rel=1e-7)
    assert np.max(model.slack_) < 1e-6
    assert model.certificate_.kind == gapless.certify(model, X, y).kind == "optimal"
    assert model.alpha_.max() < model.C_
    assert "≥ 1" in model._formula().text
    assert model.generalization_.unseen > 0.9


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_linear_hard_margin_of_columns_of_different_size(offset):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3)) * [1, 30, 1000]
    y = X[:, 0] > 0
    model = LinearSVC(C=np.inf).fit(X + offset, y)
    assert model.certificate_.kind == "optimal" and model.score(X + offset, y) == 1.0
    expected = SVC(kernel="linear", C=np.inf).fit(X, y)
    assert model.margin_ == pytest.approx(expected.margin_, rel=1e-4)
    with_l1 = LinearSVC(C=np.inf, penalty="l1").fit(X, y)
    assert np.abs(with_l1.coef_).sum() <= np.abs(model.coef_).sum() * (1 + 1e-4)


def test_linear_hard_margin_names_classes_that_overlap():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    with pytest.raises(ValueError, match=r"no plane separates class 'versicolor'.*finite C"):
        LinearSVC(C=np.inf).fit(X, names)
    with pytest.raises(ValueError, match=r"not separable.*set a finite C"):
        LinearSVC(C=np.inf).fit(X[50:], names[50:])
    with pytest.raises(ValueError, match=r"not available.*crammer_singer"):
        LinearSVC(C=np.inf, multi_class="crammer_singer").fit(X, y)
    model = LinearSVC(C=np.inf, time_limit=1e-9)
    with pytest.raises(ValueError, match="raise time_limit"):
        model.fit(X[:100], y[:100])
    assert not hasattr(model, "coef_")


# ---- copies and files ----------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [SVC, LinearSVC])
def test_copies_know_multipliers_and_what_was_computed(cls, tmp_path):
    X, y, _ = make_data(40)
    model = cls().fit(X, y)
    assert "slack_" in dir(model)
    bare = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(bare.alpha_, model.alpha_)
    np.testing.assert_array_equal(bare.support_, model.support_)
    assert bare.margin_ == model.margin_ and "slack_" not in dir(bare)
    with pytest.raises(AttributeError, match=r"no longer holds its training data; slacks are max"):
        bare.slack_  # noqa: B018
    slack = model.slack_
    gapless.save(model, tmp_path / "model.gapless")
    loaded = gapless.load(tmp_path / "model.gapless")
    np.testing.assert_array_equal(loaded.slack_, slack)
    np.testing.assert_array_equal(loaded.alpha_, model.alpha_)
    model.fit(X[:30], y[:30])
    assert model.slack_.shape == (30,)
