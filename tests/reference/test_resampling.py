"""Scores of unseen rows by hold-out, folds, leaving out, bootstrap: laws and other libraries."""

import copy
import pickle

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression as Theirs
from sklearn.linear_model import Ridge as TheirRidge
from sklearn.metrics import log_loss, r2_score, roc_auc_score
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gapless
from gapless import LogisticRegression, Ridge, evaluation
from gapless.evaluation import bootstrap, hold_out, k_fold, leave_one_out
from gapless.evaluation.rows import Rows
from gapless.unseen.stand_in import Part, StandIn

WAYS = {"hold-out": hold_out, "folds": k_fold, "each": leave_one_out, "bootstrap": bootstrap}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


def numbers(rng, n=40, d=3):
    X = rng.normal(size=(n, d))
    return X, X @ np.arange(1.0, d + 1) + rng.normal(size=n)


def test_folds_score_what_models_of_the_other_rows_predict(rng):
    X, y = numbers(rng, 60)
    rows = Rows.read(X, y)
    folds = rows.folds(TheirRidge(), 6)
    z = np.empty(60)
    for train, test in folds:
        assert not set(train) & set(test) and len(train) + len(test) == 60
        z[test] = TheirRidge().fit(X[train], y[train]).predict(X[test])
    result = k_fold(TheirRidge(), X, y, k=6)
    assert result.unseen == pytest.approx(r2_score(y, z))
    assert result.of_splits == pytest.approx([r2_score(y[t], z[t]) for _, t in folds])


def test_each_row_left_out_is_scikit_learns_leave_one_out(rng):
    X, y = numbers(rng, 25)
    z = cross_val_predict(TheirRidge(), X, y, cv=LeaveOneOut())
    theirs = leave_one_out(TheirRidge(), X, y)
    ours = leave_one_out(Ridge(), X, y)
    assert theirs.unseen == pytest.approx(r2_score(y, z))
    assert ours.unseen == pytest.approx(r2_score(y, z))
    assert ours.method == "loo" and theirs.method.startswith("refits")


@every_way
def test_weights_are_repeated_rows_and_the_order_does_not_matter(rng, way):
    X, y = numbers(rng)
    weights = rng.integers(0, 3, 40)
    order = rng.permutation(np.repeat(np.arange(40), weights))
    one = way(TheirRidge(), X, y, sample_weight=weights)
    other = way(TheirRidge(), X[order], y[order])
    assert one.unseen == pytest.approx(other.unseen)
    assert one.standard_error == pytest.approx(other.standard_error)
    assert one.train == pytest.approx(other.train)


@every_way
def test_groups_are_never_split(rng, way):
    X = np.repeat(rng.normal(size=(30, 2)), 4, axis=0) + 1e-6 * rng.normal(size=(120, 2))
    y = np.repeat(rng.integers(0, 2, 30), 4)
    model = KNeighborsClassifier(1)
    assert way(model, X, y).unseen > 0.9
    assert way(model, X, y, groups=np.repeat(np.arange(30), 4)).unseen < 0.8


@pytest.mark.parametrize("way", [hold_out, k_fold], ids=["hold-out", "folds"])
def test_rows_are_predicted_from_their_past(rng, way):
    time = np.arange(200)
    X = time[:, None] / 200.0
    y = np.sign(np.sin(time / 7.0)) + 0.01 * rng.normal(size=200)
    seen = []

    class Recorder(TheirRidge):
        def fit(self, X, y):
            seen.append(X.max())
            return super().fit(X, y)

        def predict(self, X):
            assert np.all(seen[-1] < X) or X.max() <= seen[-1]
            return super().predict(X)

    result = way(Recorder(), X, y, time=time)
    assert np.isfinite(result.unseen)
    assert max(seen) < X.max()
    with pytest.raises(ValueError, match="both"):
        way(Recorder(), X, y, time=time, groups=time)


@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss", "roc_auc", "f1"])
@pytest.mark.parametrize("way", [hold_out, k_fold, bootstrap])
def test_any_scorer_judges(way, scoring):
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), Theirs())
    options = {"refits": 5} if way is bootstrap else {}
    result = way(model, X, y, scoring=scoring, **options)
    assert result.metric == scoring
    assert 0 < result.standard_error < 0.05
    assert abs(result.train - result.unseen) < 0.1


def test_scores_of_all_held_out_rows_are_taken_together():
    X, y = load_breast_cancer(return_X_y=True)
    rows, model = Rows.read(X, y), make_pipeline(StandardScaler(), Theirs())
    p = np.empty(len(y))
    for train, test in rows.folds(model, 5):
        p[test] = model.fit(X[train], y[train]).predict_proba(X[test])[:, 1]
    assert k_fold(model, X, y, scoring="neg_log_loss").unseen == pytest.approx(-log_loss(y, p))
    assert k_fold(model, X, y, scoring="roc_auc").unseen == pytest.approx(roc_auc_score(y, p), 1e-3)


def test_tables_are_handed_to_models_as_they_are():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = LogisticRegression()
    expected = k_fold(model, X.to_numpy(), y).unseen
    assert k_fold(model, X, y).unseen == expected
    assert k_fold(model, pl.DataFrame(X.to_dict("list")), y).unseen == expected


def test_equal_rows_of_tables_with_words_and_gaps_stay_together():
    table = pl.DataFrame({"a": ["x", "y", "x", None, None], "b": [1.0, None, 1.0, 2.0, 2.0]})
    units = Rows.read(table, np.arange(5)).units
    assert units[0] == units[2] and units[3] == units[4] and len(set(units)) == 3


def test_classes_that_a_fold_lacks_have_no_probability(rng):
    X = rng.normal(size=(12, 1))
    y = np.array(["a"] * 6 + ["b"] * 5 + ["c"])
    result = k_fold(Theirs(), X, y, k=3, scoring="neg_log_loss")
    assert np.isfinite(result.unseen) and result.unseen < -1
    with pytest.raises(ValueError, match="decision_function"):
        k_fold(Theirs(), X, y, k=3, scoring=_first_decision)


def _first_decision(model, X, y):
    return model.decision_function(X).ravel()[0]


def test_the_bootstrap_promises_nothing_of_noise(rng):
    """A nearest neighbour knows its training rows by heart: .632 alone would say 0.68."""
    found = []
    for _ in range(12):
        X, y = rng.normal(size=(60, 5)), rng.integers(0, 2, 60)
        found.append(bootstrap(KNeighborsClassifier(1), X, y, refits=20).unseen)
    assert abs(np.mean(found) - 0.5) < 0.08


@every_way
def test_intervals_cover_the_score_of_new_rows(rng, way):
    """Of 12 estimates ± 2 standard errors at least 10 hold the score of a large test set."""
    held = 0
    for _ in range(12):
        X, y = numbers(rng, 50)
        new, target = numbers(rng, 2000)
        options = {"refits": 10} if way is bootstrap else {}
        result = way(TheirRidge(), X, y, **options)
        truth = r2_score(target, TheirRidge().fit(X, y).predict(new))
        held += abs(result.unseen - truth) <= 2 * result.standard_error + 0.005
    assert held >= 10


def test_what_cannot_be_done_is_said(rng):
    X, y = numbers(rng, 10)
    with pytest.raises(ValueError, match="lower k"):
        k_fold(Ridge(), X, y, k=11)
    with pytest.raises(ValueError, match="test_size"):
        hold_out(Ridge(), X, y, test_size=1.0)
    with pytest.raises(ValueError, match="two distinct rows"):
        k_fold(Ridge(), np.ones((5, 2)), np.arange(5))
    with pytest.raises(ValueError, match="y has shape"):
        k_fold(Ridge(), X, y[:5])
    with pytest.raises(ValueError, match="sample_weight must be"):
        k_fold(Ridge(), X, y, sample_weight=-np.ones(10))
    with pytest.raises(ValueError, match="same time"):
        k_fold(Ridge(), X, y, time=np.zeros(10))
    with pytest.raises(ValueError, match="refits"):
        bootstrap(Ridge(), X, y, refits=1)


def test_results_print_draw_and_turn_into_plain_data(rng):
    import matplotlib.pyplot as plt

    X, y = numbers(rng)
    result = k_fold(Ridge(), X, y)
    assert "on unseen rows" in str(result) and "5-fold" in repr(result)
    assert result.to_dict()["unseen"] == result.unseen
    axes = result.plot()
    assert len(axes.get_lines()[-1].get_xdata()) == 5
    plt.close("all")


# ---- what callers bring --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 2.5}, "k must be a whole number"),
        ({"groups": [None, *"abcdef" * 3, "a"]}, "groups is missing in row 0"),
        ({"time": np.append(np.arange(19.0), np.nan)}, "time is missing in row 19"),
    ],
)
def test_what_is_wrong_with_the_rows_is_named(options, message, rng):
    X = rng.normal(size=(20, 2))
    with pytest.raises(ValueError, match=message):
        evaluation.k_fold(gapless.Ridge(), X, X[:, 0], **options)


def test_models_without_weights_are_named(rng):
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 2
    with pytest.raises(
        ValueError, match="KNeighborsClassifier does not accept sample_weight"
    ) as caught:
        evaluation.compare({"near": KNeighborsClassifier()}, X, y, sample_weight=1 + y)
    assert "near" in caught.value.__notes__[0]


def test_different_scores_are_not_compared(rng):
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 2
    with pytest.raises(ValueError, match="set scoring"):
        evaluation.compare([gapless.GaussianNB(), gapless.Ridge()], X, y)


def test_a_column_of_targets_is_as_good_as_a_list(rng):
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    one, other = (evaluation.k_fold(gapless.GaussianNB(), X, part) for part in (y, y[:, None]))
    assert one == other


def test_weights_are_repeats_where_the_latest_rows_are_held_out(rng):
    X, weights = rng.normal(size=(40, 2)), np.where(np.arange(40) < 20, 3, 1)
    y, time = X[:, 0] + rng.normal(size=40), np.arange(40)
    again = np.repeat(time, weights)
    one = evaluation.hold_out(gapless.Ridge(), X, y, sample_weight=weights, time=time)
    other = evaluation.hold_out(gapless.Ridge(), X[again], y[again], time=time[again])
    assert one.unseen == pytest.approx(other.unseen) and one.train == pytest.approx(other.train)


@pytest.mark.parametrize("scoring", [None, "roc_auc"])
def test_weights_are_repeats_for_importances(scoring, rng):
    X, y, weights = rng.normal(size=(40, 2)), np.arange(40) % 2, rng.integers(0, 3, 40)
    model, again = gapless.GaussianNB().fit(X, y), np.repeat(np.arange(40), weights)
    one = evaluation.permutation_importance(model, X, y, sample_weight=weights, scoring=scoring)
    turned = rng.permutation(again)
    other = evaluation.permutation_importance(model, X[turned], y[turned], scoring=scoring)
    np.testing.assert_allclose(one.repeats, other.repeats, atol=1e-12)
    np.testing.assert_allclose(one.standard_errors, other.standard_errors, atol=1e-12)


def test_answers_are_copied_like_any_object(rng):
    X, y = numbers(rng, 10)
    model, rows = Ridge().fit(X, y), np.arange(10)
    answers = StandIn([Part(model, X, rows)], 10)
    for made in (copy.copy, copy.deepcopy, lambda a: pickle.loads(pickle.dumps(a))):
        np.testing.assert_array_equal(made(answers).predict(rows[:, None]), model.predict(X))
    with pytest.raises(AttributeError, match="__sklearn_clone__"):
        answers.__sklearn_clone__()
