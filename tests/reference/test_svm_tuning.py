"""Choosing C, gamma and epsilon: what is tried, what is chosen, and what is said of it."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as PeerSVC

import gapless
from gapless.models.svm import SVC, SVR, tuning, tuning_scores
from gapless.models.svm.training_rows import TrainingRows


def rings(n=150, seed=0):
    """Two classes, one around the other, with some noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, (np.sum(X**2, axis=1) + 0.4 * rng.normal(size=n) > 1.4).astype(int)


def curve(n=80, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(n, 1))
    return X, np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=n)


def held_out_accuracy(model, X, y):
    return gapless.generalize(model.fit(X, y), X, y).unseen


# ---- what is chosen ------------------------------------------------------------------------------


def test_of_a_grid_the_best_by_leave_one_out_is_chosen():
    X, y = rings(80)
    model = SVC(C=[0.1, 1.0, 10.0], gamma=[0.01, 0.3, 10.0], tol=1e-6).fit(X, y)
    search = model.search_
    assert len(search.unseen) == 9
    assert search.unseen[search.chosen] >= search.unseen.max() - 1e-12
    for C, gamma, found in zip(*search.values.values(), search.unseen):
        exact = held_out_accuracy(SVC(C=C, gamma=gamma, tol=1e-6), X, y)
        # Where all multipliers are at their bounds the span rule has no answer, and guesses.
        assert found == pytest.approx(exact, abs=0.03 if exact > 0.7 else 0.2)
    best = held_out_accuracy(SVC(C=model.C_, gamma=model.gamma_), X, y)
    assert best >= search.unseen.max() - 0.03


@pytest.mark.parametrize("load", [load_iris, load_digits])
def test_no_worse_on_new_rows_than_a_grid_with_folds(load):
    X, y = load(return_X_y=True)
    X, y = X[:800], y[:800]
    X, Xn, y, yn = train_test_split(X, y, train_size=0.5, random_state=0, stratify=y)
    scaler = StandardScaler().fit(X)
    X, Xn = scaler.transform(X), scaler.transform(Xn)
    grid = {"C": [1.0, 10.0, 100.0], "gamma": np.array([0.1, 1.0, 10.0]) / X.shape[1]}
    peer = GridSearchCV(PeerSVC(), grid, cv=3).fit(X, y)
    ours = SVC(C="loo", gamma="loo").fit(X, y)
    assert ours.score(Xn, yn) >= peer.score(Xn, yn) - 0.02


def test_regression_finds_the_noise():
    X, y = curve(200)
    model = SVR(C="loo", gamma="loo", epsilon="loo").fit(X, y)
    assert set(model.search_.values) == {"C", "gamma", "epsilon"}
    assert model.search_.metric == "R²"
    assert model.search_.unseen[model.search_.chosen] > 0.85
    Xn, yn = curve(500, seed=1)
    assert model.score(Xn, yn) > 0.85


def test_parameters_that_are_given_stay():
    X, y = rings()
    model = SVC(C="loo", gamma=0.7).fit(X, y)
    assert list(model.search_.values) == ["C"]
    assert model.kernel_.gamma == 0.7
    assert not hasattr(model, "gamma_")
    other = SVC(C=5.0, gamma="loo", kernel="poly", degree=2, coef0=1.0).fit(X, y)
    assert list(other.search_.values) == ["gamma"]
    assert other.kernel_.gamma == other.gamma_


def test_the_fit_is_that_of_the_chosen_values():
    X, y = load_iris(return_X_y=True)
    model = SVC(C="loo", gamma="loo").fit(X, y)
    plain = SVC(C=model.C_, gamma=model.gamma_).fit(X, y)
    np.testing.assert_array_equal(model.dual_coef_, plain.dual_coef_)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    assert clone(model).C == "loo"


def test_one_standard_error_is_simpler_and_within_it():
    X, y = rings(200)
    best = SVC(C="loo", gamma="loo").fit(X, y)
    simple = SVC(C="loo", gamma="loo", select="1se").fit(X, y)
    found, chosen = simple.search_, simple.search_.chosen
    assert found.unseen[chosen] >= found.unseen.max() - 2 * found.standard_errors[chosen]
    assert np.sum(simple.kkt_status_ == "on margin") <= np.sum(best.kkt_status_ == "on margin")


# ---- the laws ------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [SVC(C="loo", gamma="loo"), SVR(C="loo", gamma="loo")])
def test_weight_two_is_the_row_twice_and_weight_zero_no_row(rng, model):
    X, y = rings() if isinstance(model, SVC) else curve()
    counts = rng.integers(0, 3, len(y))
    twice = rng.permutation(np.repeat(np.arange(len(y)), counts))
    one = clone(model).fit(X, y, counts.astype(float))
    other = clone(model).fit(X[twice], y[twice])
    assert one.C_ == other.C_
    assert one.gamma_ == pytest.approx(other.gamma_, rel=1e-9)
    np.testing.assert_allclose(one.search_.unseen, other.search_.unseen, atol=1e-6)
    assert one.generalization_.unseen == pytest.approx(other.generalization_.unseen, abs=1e-6)


def test_a_large_search_is_on_a_sample(monkeypatch):
    monkeypatch.setattr(tuning, "FIRST_ROWS", 40)
    monkeypatch.setattr(tuning, "MOST_ROWS", 100)
    X, y = rings(200)
    model = SVC(C="loo", gamma="loo").fit(X, y)
    assert set(model.search_.rows) == {40, 100}
    assert "on 100 rows" in model.generalization_.method
    order = np.random.default_rng(1).permutation(200)
    other = SVC(C="loo", gamma="loo").fit(X[order], y[order])
    assert (model.C_, model.gamma_) == pytest.approx((other.C_, other.gamma_))


# ---- what is said of it --------------------------------------------------------------------------


def test_with_shuffled_labels_the_score_stays_at_chance():
    scores, errors = [], []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(80, 3)), np.arange(80) % 2
        result = SVC(C="loo", gamma="loo").fit(X, y).generalization_
        scores.append(result.unseen)
        errors.append(result.standard_error)
    assert np.mean(scores) < 0.5 + 2 * np.mean(errors) / np.sqrt(5)


def test_the_result_says_that_it_is_corrected():
    X, y = rings()
    model = SVC(C="loo", gamma="loo").fit(X, y)
    result = model.generalization_
    count = len(model.search_.unseen)
    assert f"corrected for selection among {count} models" in result.method
    assert "selection had inflated it by" in result.verdict
    plain = gapless.generalize(model, X, y)
    assert "not corrected for the selection of C and gamma" in plain.method
    assert result.unseen <= plain.unseen


def test_a_search_prints_what_it_found():
    X, y = rings()
    search = SVC(C="loo", gamma="loo").fit(X, y).search_
    assert repr(search).startswith(f"<Search of {len(search.unseen)} models: C=")


# ---- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"C": [1.0, -1.0]}, "values of C to try must be finite and > 0"),
        ({"C": []}, "values of C"),
        ({"gamma": [0.1, np.nan]}, "values of gamma to try must be finite and ≥ 0"),
        ({"gamma": "loo", "kernel": "linear"}, "does not use the gamma"),
        ({"C": "best"}, "C"),
    ],
)
def test_what_cannot_be_tried_is_refused(parameters, message):
    X, y = rings(30)
    with pytest.raises(ValueError, match=message):
        SVC(**parameters).fit(X, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seconds", [1e-6, 0.02])
def test_a_time_limit_keeps_the_best_of_what_was_tried(seconds):
    X, y = rings(300)
    model = SVC(C="loo", gamma="loo", time_limit=seconds).fit(X, y)
    assert np.isfinite([model.C_, model.gamma_]).all()


# ---- machines side by side -----------------------------------------------------------------------


def test_a_batch_has_the_solutions_of_single_machines():
    X, y = load_iris(return_X_y=True)
    model = SVC(C=3.0, gamma=0.5)
    data = model._read(X, y, None)
    machine = model._machine(data, TrainingRows.read(data))
    batch = tuning_scores.Batch(machine, np.arange(machine.matrix.n)).on(machine.matrix.whole())
    for C in (30.0, 3.0):  # a smaller C begins at a solution that has to shrink
        batch.move_to(C)
    solved = machine.solve(1e-6)
    for k, theta in enumerate(np.split(batch.theta, batch.start[1:-1])):
        assert abs(theta.sum()) < 1e-9
        assert np.all(np.abs(theta) <= 3.0)
        gradient = batch.gradient[batch.part == k]
        dual = -0.5 * theta @ (gradient + batch.linear[batch.part == k])
        assert dual == pytest.approx(solved[k].judgement.dual, rel=1e-2)
    np.testing.assert_allclose(batch.biases(), [one.point.b for one in solved], atol=0.05)
