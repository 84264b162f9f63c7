"""Probabilities of support vector machines: against direct minimisation, and in agreement."""

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize, minimize_scalar
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as PeerSVC
from sklearn.svm import LinearSVC as PeerLinearSVC

import gapless
from gapless import SVC, LinearSVC
from gapless.unseen.class_probabilities import Probabilities, couple, fit_slopes, with_largest

ONE_PAIR = np.array([[1, 0]])


def all_pairs(K):
    return np.array([(i, j) for i in range(K) for j in range(i + 1, K)])


def scores_of_two_classes(rng, n=60):
    y = rng.integers(0, 2, n)
    return y, (rng.normal(size=n) + 1.5 * (2 * y - 1))[:, None]


def test_slope_is_the_likeliest(rng):
    y, held = scores_of_two_classes(rng)
    weights = rng.uniform(0.5, 3.0, len(y))
    total = np.bincount(y, weights)
    target = np.where(y == 1, (total[1] + 1) / (total[1] + 2), 1 / (total[0] + 2))

    def loss(a):
        z = a * held[:, 0]
        return weights @ (np.logaddexp(0, z) - target * z)

    expected = minimize_scalar(loss, bounds=(0, 50), method="bounded", options={"xatol": 1e-9}).x
    (found,) = fit_slopes(held, y, weights, ONE_PAIR)
    assert found == pytest.approx(expected, rel=1e-5)


def test_weight_two_is_the_row_twice_and_weight_zero_no_row(rng):
    y, held = rng.integers(0, 3, 40), rng.normal(size=(40, 3))
    counts = rng.integers(0, 3, 40).astype(float)
    twice = np.repeat(np.arange(40), counts.astype(int))
    pairs = all_pairs(3)
    one = Probabilities.fit(held, y, counts, pairs)
    other = Probabilities.fit(held[twice], y[twice], np.ones(len(twice)), pairs)
    np.testing.assert_allclose(one.slopes, other.slopes, rtol=1e-7)
    assert one.power == pytest.approx(other.power, rel=1e-7)


@pytest.mark.parametrize("held", [0.0, np.inf])
def test_scores_that_say_nothing_or_everything_still_give_a_slope(held):
    y = np.array([0, 1, 0, 1])
    z = held * np.array([-1.0, 1.0, -1.0, 1.0])[:, None] if held else np.zeros((4, 1))
    slope = fit_slopes(z, y, np.ones(4), ONE_PAIR)
    assert np.all(np.isfinite(slope)) and np.all(slope > 0)


def test_scores_that_mislead_do_not_turn_predictions_round(rng):
    y, held = scores_of_two_classes(rng)
    model = Probabilities.fit(-held, y, np.ones(len(y)), ONE_PAIR)
    chosen = (held[:, 0] > 0).astype(int)
    p = model.of(held, chosen)
    assert np.array_equal(p.argmax(axis=1), chosen)
    assert np.all(np.abs(p - 0.5) < 0.01)


def test_coupling_minimises_its_own_definition(rng):
    K = 4
    r = rng.uniform(0.05, 0.95, (K, K))
    r = np.triu(r, 1) + np.tril(1 - r.T, -1)

    def objective(p):
        return 0.5 * np.sum((r.T * p[:, None] - r * p) ** 2)

    simplex = LinearConstraint(np.ones((1, K)), 1, 1)
    options = {"ftol": 1e-14, "maxiter": 500}
    best = minimize(
        objective, np.full(K, 1 / K), constraints=simplex, bounds=[(0, 1)] * K, options=options
    )
    np.testing.assert_allclose(couple(r[None])[0], best.x, atol=1e-5)


def test_consistent_pairs_give_back_their_distribution(rng):
    p = rng.dirichlet(np.ones(5), size=50)
    with np.errstate(invalid="ignore"):
        r = p[:, :, None] / (p[:, :, None] + p[:, None, :])
    r[:, np.arange(5), np.arange(5)] = 0.0
    np.testing.assert_allclose(couple(r), p, atol=1e-9)


def test_the_nearest_distribution_with_the_chosen_class_largest(rng):
    p = rng.dirichlet(np.ones(5), size=20)
    chosen = rng.integers(0, 5, 20)
    found = with_largest(p, chosen)
    assert np.array_equal(found.argmax(axis=1), chosen)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    for row, own, q in zip(p, chosen, found):
        leads = np.eye(5)[own] - np.eye(5)
        rules = [LinearConstraint(np.ones((1, 5)), 1, 1), LinearConstraint(leads, 0, np.inf)]
        best = minimize(
            lambda v, row=row: 0.5 * np.sum((v - row) ** 2),
            np.full(5, 0.2),
            jac=lambda v, row=row: v - row,
            constraints=rules,
            bounds=[(0, 1)] * 5,
            options={"ftol": 1e-14},
        )
        np.testing.assert_allclose(q, best.x, atol=1e-5)


def test_rows_that_agree_already_stay_as_they_are(rng):
    p = rng.dirichlet(np.ones(3), size=30)
    assert with_largest(p, p.argmax(axis=1)) is p


@pytest.mark.parametrize("K", [2, 3, 7])
def test_the_largest_probability_is_what_is_predicted_whatever_the_scores(rng, K):
    pairs = all_pairs(K) if K > 2 else ONE_PAIR
    y, held = rng.integers(0, K, 80), rng.normal(size=(80, len(pairs)))
    model = Probabilities.fit(held, y, np.ones(80), pairs)
    decisions = 100 * rng.normal(size=(500, len(pairs))) ** 3
    chosen = (decisions[:, 0] > 0).astype(int) if K == 2 else rng.integers(0, K, 500)
    p = model.of(decisions, chosen)
    assert np.array_equal(p.argmax(axis=1), chosen)
    assert np.all(p >= 0)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


def test_scores_of_classes_become_a_softmax(rng):
    y = rng.integers(0, 3, 200)
    held = rng.normal(size=(200, 3)) + 2 * np.eye(3)[y]
    model = Probabilities.fit(held, y, np.ones(200))
    p = model.of(held, held.argmax(axis=1))
    scaled = np.exp(model.slopes[0] * held)
    np.testing.assert_allclose(p, scaled / scaled.sum(axis=1, keepdims=True))
    assert 1 < model.slopes[0] < 3  # these scores are likelihoods, up to a factor of about 2


# ---- of fitted machines --------------------------------------------------------------------------


@pytest.mark.parametrize("machine, peer_of_it", [(SVC, PeerSVC), (LinearSVC, PeerLinearSVC)])
@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_digits])
def test_log_loss_is_no_worse_than_of_a_second_fit_in_folds(load, machine, peer_of_it):
    X, y = load(return_X_y=True)
    ours, theirs = [], []
    for seed in range(3 if len(X) < 500 else 1):
        part = train_test_split(X, y, train_size=0.4, random_state=seed, stratify=y)
        scaler = StandardScaler().fit(part[0])
        seen, unseen, y_seen, y_unseen = *(scaler.transform(x) for x in part[:2]), *part[2:]
        model = machine().fit(seen, y_seen)
        ours.append(log_loss(y_unseen, model.predict_proba(unseen)))
        peer = CalibratedClassifierCV(peer_of_it(), ensemble=False).fit(seen, y_seen)
        theirs.append(log_loss(y_unseen, peer.predict_proba(unseen)))
    assert np.mean(ours) <= 1.05 * np.mean(theirs)


@pytest.mark.parametrize("parameters", [{}, {"multi_class": "ovr"}, {"break_ties": False}])
def test_probabilities_predictions_and_decisions_agree_on_every_row(parameters):
    X, y = load_digits(return_X_y=True)
    model = SVC(C=0.05, **parameters).fit(X[:400], y[:400])
    p = model.predict_proba(X)
    assert np.array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
    if "break_ties" not in parameters:
        assert np.array_equal(model.decision_function(X).argmax(axis=1), p.argmax(axis=1))


@pytest.mark.parametrize("machine", [SVC, LinearSVC])
def test_two_classes_are_even_where_the_decision_is_zero(machine):
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = machine().fit(X, y)
    p, decision = model.predict_proba(X)[:, 1], model.decision_function(X)
    assert np.array_equal(p > 0.5, decision > 0)
    order = np.argsort(decision)
    assert np.all(np.diff(p[order]) >= 0)


@pytest.mark.parametrize("form", [{}, {"loss": "hinge"}, {"multi_class": "crammer_singer"}])
def test_linear_machines_have_probabilities_that_agree_with_predictions(form, tmp_path):
    X, y = (part[::3] for part in load_wine(return_X_y=True))
    X = StandardScaler().fit_transform(X)
    model = LinearSVC(C=0.05, **form).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert np.array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), p)
    # A model of few rows is saved with them, computed if they have not been.
    fresh = LinearSVC(C=0.05, **form).fit(X, y)
    gapless.save(fresh, tmp_path / "model.gapless")
    np.testing.assert_array_equal(gapless.load(tmp_path / "model.gapless").predict_proba(X), p)


def test_linear_machines_of_many_rows_compute_probabilities_while_they_have_their_data(
    monkeypatch, tmp_path
):
    monkeypatch.setattr("gapless.models.linear.support_vectors.KEPT_ROWS", 50)
    X, y = load_iris(return_X_y=True)
    model = LinearSVC().fit(X, y)
    gapless.save(model, tmp_path / "model.gapless")
    late = gapless.load(tmp_path / "model.gapless")
    with pytest.raises(AttributeError, match="predict_proba once before"):
        late.predict_proba(X)
    assert model.predict_proba(X).shape == (150, 3)
