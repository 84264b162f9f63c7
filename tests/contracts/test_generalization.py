"""Every linear model's estimate for unseen rows keeps every promise."""

import copy
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, make_scorer, max_error
from test_estimators import CASES, build, fit, make_data

import gapless
from gapless._ground.threads import threads
from gapless.unseen import Judge

KINDS = ("over-fitted", "under-fitted", "balanced")
# Those that choose their own strength report the score of a choice, and have tests of their own.
FORMS = [case for case in CASES if not case.values[0].__name__.endswith("CV")]
every_form = pytest.mark.parametrize("cls, form", FORMS)
# The first form of each class, for promises that have nothing to do with the objective, and for
# verdicts, which test_verdicts holds to the truth for many objectives.
FIRST_FORM = {case.values[0]: case.values[1] for case in reversed(FORMS)}
every_class = pytest.mark.parametrize(
    "cls, form", [case for case in FORMS if FIRST_FORM[case.values[0]] is case.values[1]]
)
SEED = 20240607


def regression(n=50, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X @ np.arange(1.0, d + 1) + rng.normal(size=n)


def classification(n=60, d=3, seed=0):
    X, score = regression(n, d, seed)
    return X, (score > 0).astype(int)


def assert_same(one, other, rtol=1e-5):
    assert other.method == one.method
    for name in ("unseen", "standard_error"):
        assert getattr(other, name) == pytest.approx(getattr(one, name), rel=rtol, abs=rtol), name


def tolerance(form):
    """One-vs-rest scores of the hinge tie in some rows, and rounding decides on those."""
    return 0.05 if form.get("loss") == "hinge" else 1e-5


# ---- every model ---------------------------------------------------------------------------------


def assert_said(model, X, y):
    """Everything that is said of unseen rows is there, and fits together."""
    result = model.generalization_
    assert result.kind in KINDS
    assert str(result).startswith(result.verdict)
    assert result.metric in result.verdict
    own = getattr(model, "_own_scoring", None)  # D² of deviances and of quantiles
    assert result.metric == ("accuracy" if is_classifier(model) else "D²" if own else "R²")
    train = own(model, X, y) if own else model.score(X, y)
    assert result.train == pytest.approx(train, abs=1e-12)
    assert result.gap == result.train - result.unseen
    assert 0 < result.standard_error < 0.5
    assert -1 < result.unseen <= 1
    assert (result.disagreement is None) == (not result.method.startswith(("approx", "span")))
    if result.disagreement is not None:
        assert result.disagreement.refits >= 20
        assert 0 <= result.disagreement.mean <= result.disagreement.largest
        assert 0 <= result.disagreement.score <= result.standard_error
    assert result is model.generalization_
    assert result.to_dict()["verdict"] == result.verdict


@every_form
def test_every_model_says_it_whether_by_weights_or_by_repeats_in_any_order(cls, form, request):
    X, y = make_data(cls, SEED)
    rng = np.random.default_rng(SEED)
    weights = rng.integers(0, 4, size=len(X))
    repeated = rng.permutation(np.repeat(np.arange(len(X)), weights))
    once = fit(build(cls, form, tol=1e-9), X, y, sample_weight=weights)
    often = fit(build(cls, form, tol=1e-9), X[repeated], y[repeated])
    if form is not FIRST_FORM[cls]:
        request.getfixturevalue("no_verdict")
    assert_said(often, X[repeated], y[repeated])
    request.getfixturevalue("no_verdict")
    assert_same(once.generalization_, often.generalization_, tolerance(form))


def test_scores_of_classes_are_the_bits_that_the_model_predicts():
    """At the margin of one class −1 meets the −1 of a class without a hyperplane: a tie."""
    X, y = make_data(gapless.LinearSVC, SEED)
    model = gapless.LinearSVC(loss="hinge").fit(X, y)
    np.testing.assert_array_equal(model._fitted_to(X, y).predictions, model.decision_function(X))


@every_class
@pytest.mark.usefixtures("no_verdict")
def test_generalize_says_the_same_of_a_copy(cls, form):
    X, y = make_data(cls, SEED)
    model = fit(cls(**form), X, y)
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)):
        with pytest.raises(AttributeError, match=r"call gapless\.generalize\(model, X, y"):
            _ = twin.generalization_
        assert not hasattr(twin, "generalization_")
    again = gapless.generalize(twin, X, y)
    assert again == model.generalization_
    loaded = pickle.loads(pickle.dumps(model))
    assert loaded.generalization_ == again
    assert not hasattr(clone(loaded), "generalization_")


@every_class
@pytest.mark.usefixtures("no_verdict")
def test_sparse_and_float32_say_the_same(cls, form):
    X, y = make_data(cls, SEED)
    X = np.where(np.abs(X) < 0.5, 0.0, X).astype(np.float32).astype(float)
    one = fit(cls(**form), X, y).generalization_
    assert_same(one, fit(cls(**form), sp.csr_matrix(X), y).generalization_, rtol=1e-3)
    single = fit(cls(**form), X.astype(np.float32), y).generalization_
    assert single.unseen == pytest.approx(one.unseen, abs=one.standard_error)


@pytest.mark.parametrize("cls", [gapless.Ridge, gapless.Lasso, gapless.LogisticRegression])
def test_same_bits_for_any_number_of_threads(cls):
    X, y = make_data(cls, SEED, n=200)
    results = []
    for count in (1, 3):
        with threads(count):
            results.append(fit(cls(), X, y).generalization_)
    assert results[0] == results[1]


# ---- the reference to the data -------------------------------------------------------------------


def test_a_model_must_be_fitted():
    with pytest.raises(NotFittedError):
        _ = gapless.Ridge().generalization_


def test_data_that_was_changed_since_the_fit_is_refused():
    X, y = regression()
    model = gapless.Ridge().fit(X, y)
    X[3] += 1
    with pytest.raises(ValueError, match="have changed since"):
        _ = model.generalization_
    X[3] -= 1
    assert model.generalization_.kind in KINDS


def test_other_data_than_that_of_the_fit_is_refused():
    X, y = regression()
    model = gapless.Ridge().fit(X, y)
    for other in ((X[::-1], y), (X, y + 1), (X, y, np.arange(len(y)))):
        with pytest.raises(ValueError, match="does not match these data"):
            gapless.generalize(model, *other)
    model.coef_ *= 1.1
    with pytest.raises(ValueError, match="does not match these data"):
        gapless.generalize(model, X, y)


def test_a_new_fit_forgets_what_was_said_of_the_old():
    X, y = regression()
    model = gapless.Ridge().fit(X, y)
    first = model.generalization_
    assert model.fit(X, -y[::-1]).generalization_.unseen != first.unseen


def test_listing_the_members_computes_nothing():
    X, y = regression()
    model = gapless.Ridge().fit(X, y)
    assert "generalization_" in dir(model)
    model._repr_html_()
    assert "generalization_" not in vars(model)
    # A copy has no data to compute it from.
    assert "generalization_" not in dir(copy.copy(model))
    _ = model.generalization_
    assert "generalization_" in dir(copy.copy(model))


def test_listing_the_members_warns_of_nothing():
    X, y = regression()
    model = gapless.SVC().fit(X, y > np.median(y))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert {"probA_", "predict_proba", "generalization_"} <= set(dir(model))
    assert not hasattr(model, "coef_") and "coef_" not in dir(model)


def test_only_models_that_say_what_they_minimise():
    from sklearn.linear_model import Ridge

    with pytest.raises(TypeError, match="cross_val_score"):
        gapless.generalize(Ridge(), *regression())


# ---- groups and time -----------------------------------------------------------------------------


@pytest.mark.parametrize("model", [gapless.Ridge(), gapless.Lasso(0.1)])
def test_groups_of_single_rows_are_rows(model):
    X, y = regression()
    model.fit(X, y)
    grouped = gapless.generalize(model, X, y, groups=np.arange(len(y)))
    assert grouped.unseen == pytest.approx(model.generalization_.unseen, abs=1e-6)
    assert grouped.standard_error == pytest.approx(model.generalization_.standard_error, abs=1e-6)


def test_groups_show_what_rows_of_a_group_have_in_common():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(20), 5)
    X = np.eye(20)[groups] + 0.01 * rng.normal(size=(100, 20))
    y = rng.normal(size=20)[groups] + 0.1 * rng.normal(size=100)
    model = gapless.Ridge(alpha=0.1).fit(X, y)
    by_rows, by_groups = (gapless.generalize(model, X, y, groups=g) for g in (None, groups))
    assert by_rows.unseen > 0.9
    assert by_groups.unseen < 0.1
    assert by_groups.method == "loo"
    text = np.array([f"patient {g}" for g in groups])
    assert gapless.generalize(model, X, y, groups=text).unseen == pytest.approx(by_groups.unseen)


def test_time_shows_what_changes():
    rng = np.random.default_rng(0)
    time = np.arange(200)
    X = rng.normal(size=(200, 2))
    y = X[:, 0] * np.where(time < 60, 1, -1) + 0.1 * rng.normal(size=200)
    model = gapless.Ridge().fit(X, y)
    forward = gapless.generalize(model, X, y, time=time)
    assert forward.method.startswith("forward")
    assert forward.unseen < model.generalization_.unseen - 0.1
    order = rng.permutation(200)
    shuffled = gapless.Ridge().fit(X[order], y[order])
    again = gapless.generalize(shuffled, X[order], y[order], time=time[order])
    assert again.unseen == pytest.approx(forward.unseen)


@pytest.mark.parametrize("cls", [gapless.LogisticRegression, gapless.LinearSVC])
@pytest.mark.usefixtures("no_verdict")
def test_a_past_without_some_classes_does_no_harm(cls):
    X, y = make_data(cls, SEED)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    model = fit(cls(), X, y)
    result = gapless.generalize(model, X, y, time=np.arange(len(y)))
    assert 0 <= result.unseen < 0.5


@pytest.mark.parametrize("name", ["groups", "time"])
def test_labels_of_rows_that_make_no_sense_are_refused(name):
    X, y = regression()
    model = gapless.Ridge().fit(X, y)
    with pytest.raises(ValueError, match=rf"{name} has shape \(49,\), but there are 50 rows"):
        gapless.generalize(model, X, y, **{name: np.zeros(49)})
    with pytest.raises(ValueError, match=f"{name} has the same value, .*7.*, in all rows"):
        gapless.generalize(model, X, y, **{name: np.full(50, 7)})


def test_groups_and_time_are_refused_together():
    X, y = regression()
    model = gapless.Ridge().fit(X, y)
    with pytest.raises(ValueError, match="choose one"):
        gapless.generalize(model, X, y, groups=np.arange(50), time=np.arange(50))


def test_rows_that_are_all_equal_cannot_be_left_out():
    model = gapless.Ridge().fit(np.ones((5, 2)), np.ones(5))
    assert model.generalization_.verdict.startswith("unknown: all rows are equal")
    assert np.isnan(model.generalization_.unseen)


def test_two_rows_are_enough():
    model = gapless.Ridge().fit([[0.0], [1.0]], [0.0, 1.0])
    assert model.generalization_.unseen == pytest.approx(-3.0)


# ---- scores --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "scoring", ["neg_log_loss", "roc_auc", "f1", "balanced_accuracy", "neg_brier_score"]
)
@pytest.mark.usefixtures("no_verdict")
def test_any_scorer_may_be_asked_for(scoring):
    X, y = classification()
    model = gapless.LogisticRegression().fit(X, y)
    result = gapless.generalize(model, X, y, scoring=scoring)
    assert result.metric == scoring
    assert result.unseen < result.train
    assert 0 < result.standard_error < 0.2


def test_a_callable_scores_too():
    X, y = regression()
    weights = np.resize([1.0, 2.0], len(y))

    def within_one(model, X, y, sample_weight=None):
        return np.average(np.abs(model.predict(X) - y) < 1, weights=sample_weight)

    model = gapless.Ridge().fit(X, y, weights)
    result = gapless.generalize(model, X, y, weights, scoring=within_one)
    assert result.metric == "within_one"
    assert result.train == within_one(model, X, y, weights)


def test_scorers_that_do_not_fit_are_named():
    X, y = regression()
    model = gapless.Ridge().fit(X, y)
    with pytest.raises(ValueError, match="roc_auc cannot score Ridge"):
        gapless.generalize(model, X, y, scoring="roc_auc")
    with pytest.raises(ValueError, match="no_such_score"):
        gapless.generalize(model, X, y, scoring="no_such_score")
    ridge = gapless.RidgeClassifier().fit(*classification())
    with pytest.raises(ValueError, match="neg_log_loss cannot score RidgeClassifier"):
        gapless.generalize(ridge, *classification(), scoring="neg_log_loss")
    weights = np.resize([1.0, 2.0], len(y))
    model = gapless.Ridge().fit(X, y, weights)
    for scoring in (make_scorer(max_error), lambda model, X, y: 0.0):
        with pytest.raises(ValueError, match="takes no sample_weight"):
            gapless.generalize(model, X, y, weights, scoring=scoring)


def test_the_standard_error_of_a_mean_is_the_textbook_one():
    X, y = classification(200)
    model = gapless.LogisticRegression().fit(X, y)
    result = model.generalization_
    p = result.unseen
    assert result.standard_error == pytest.approx(np.sqrt(p * (1 - p) / 199))


def judge_of(model, X, y, scoring=None, weights=None):
    fitted = model._fitted_to(X, y, weights)
    return Judge(model, fitted.y, fitted.weights, scoring), fitted


@pytest.mark.parametrize("scoring", ["neg_log_loss", "accuracy"])
def test_the_jackknife_is_near_the_standard_error_of_a_mean(scoring):
    X, y = classification(400)
    judge, fitted = judge_of(gapless.LogisticRegression().fit(X, y), X, y, scoring)
    units = np.arange(len(y))
    exact = judge.standard_error(fitted.predictions, units)
    by_blocks = judge._jackknife(fitted.predictions, units, units)
    assert by_blocks == pytest.approx(exact, rel=0.3)


@pytest.mark.parametrize("outputs", [None, 2])
def test_the_standard_error_of_r2_is_that_of_a_jackknife_over_rows(outputs, monkeypatch):
    monkeypatch.setattr("gapless.unseen.scores.BLOCKS", 1000)
    X, y = regression(300)
    y = y if outputs is None else np.stack([y, np.roll(y, 1)], axis=1)
    weights = np.random.default_rng(1).uniform(0.5, 2, len(y))
    judge, fitted = judge_of(gapless.Ridge().fit(X, y, weights), X, y, None, weights)
    units = np.arange(len(y))
    exact = judge.standard_error(fitted.predictions, units)
    assert judge._jackknife(fitted.predictions, units, units) == pytest.approx(exact, rel=0.05)


def test_accuracy_by_another_name_is_accuracy():
    X, y = classification()
    model = gapless.LogisticRegression().fit(X, y)
    named = gapless.generalize(model, X, y, scoring="accuracy")
    made = gapless.generalize(model, X, y, scoring=make_scorer(accuracy_score))
    assert made.metric == "accuracy_score"
    assert made.unseen == named.unseen == model.generalization_.unseen


def test_class_weights_are_no_part_of_the_score():
    X, y = classification()
    model = gapless.LogisticRegression(class_weight={0: 1.0, 1: 5.0}).fit(X, y)
    assert model.generalization_.train == model.score(X, y)


def test_several_labels_per_row():
    X, y = classification(80)
    labels = np.stack([y, 1 - y, X[:, 0] > 0], axis=1).astype(int)
    result = gapless.RidgeClassifier().fit(X, labels).generalization_
    assert result.metric == "accuracy" and 0.5 < result.unseen <= result.train
