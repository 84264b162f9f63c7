"""The number of rounds of boosting, chosen by folds."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import gapless
from gapless import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from gapless._ground.threads import threads
from gapless.losses import Logistic, Squared
from gapless.models.boosting import number_of_rounds as boosting_folds
from gapless.models.boosting.number_of_rounds import folds_of
from gapless.models.boosting.rounds import Rounds

FORM = {"max_iter": "cv", "max_leaf_nodes": 4, "min_samples_leaf": 3, "random_state": 0}


def make_rows(n=60, seed=20240607):
    """Rows that are all different, and numbers that depend on them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 2] + 0.3 * rng.normal(size=n)


def by_hand(model, X, y, value, given):
    """Losses (n, rounds) of rows, by models that were fitted without their fold."""
    rounds = len(model.search_.unseen)
    losses = np.full((len(y), rounds), np.nan)
    for fold in folds_of(model, model._read(X, y)):
        held = np.isin(X[:, 0], fold.held.F[:, 0])
        part = type(model)(**FORM | {"max_iter": rounds}).fit(X[~held], y[~held])
        stages = getattr(part, given)(X[held])
        losses[held] = np.stack([value(y[held], z) for z in stages], axis=1)
    return losses


@pytest.mark.parametrize("cls", [HistGradientBoostingClassifier, HistGradientBoostingRegressor])
def test_scores_are_those_of_models_without_each_fold(cls):
    X, y = make_rows()
    if cls is HistGradientBoostingClassifier:
        y = (y > 0).astype(int)
        given, metric = "staged_decision_function", "neg_log_loss"

        def value(y, z):
            return Logistic().value(2.0 * y - 1, z)
    else:
        given, metric, value = "staged_predict", "neg_loss", Squared().value
    model = cls(**FORM).fit(X, y)
    losses = by_hand(model, X, y, value, given)
    search = model.search_
    np.testing.assert_allclose(search.unseen, -losses.mean(axis=0), rtol=1e-9)
    error = losses.std(axis=0, ddof=1) / np.sqrt(len(y))
    np.testing.assert_allclose(search.standard_errors, error, rtol=1e-6)
    assert search.metric == metric and np.all(search.rows == len(y))
    assert model.n_iter_ == search.values["rounds"][search.chosen] == np.argmax(search.unseen) + 1
    before, all_rounds = search.unseen[: -boosting_folds.PATIENCE], search.unseen
    little = boosting_folds.LITTLE * (all_rounds.max() - all_rounds[0])
    assert before.max() >= all_rounds.max() - little
    same = cls(**FORM | {"max_iter": model.n_iter_}).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), same.predict(X))


def test_rows_of_one_x_are_in_one_fold_and_equal_rows_are_one():
    X, y = make_rows(40)
    X, y = np.repeat(X, 3, axis=0), np.repeat(y, 3)
    y[::3] += 1.0
    model = HistGradientBoostingRegressor(**FORM)
    held = [fold.held for fold in folds_of(model, model._read(X, y))]
    for part in held:
        assert np.isin(part.F[:, 0], X[:, 0]).all() and len(np.unique(part.F, axis=0)) == 8
        assert sorted(part.weights) == [1.0] * 8 + [2.0] * 8
    assert len(np.unique(np.vstack([part.F for part in held]), axis=0)) == 40


def test_weights_order_and_threads_change_nothing():
    X, y = make_rows(50)
    weights = np.random.default_rng(3).integers(0, 3, len(y))
    model = HistGradientBoostingRegressor(**FORM).fit(X, y, sample_weight=weights)
    rows = np.random.default_rng(4).permutation(np.repeat(np.arange(len(y)), weights))
    again = HistGradientBoostingRegressor(**FORM).fit(X[rows], y[rows])
    with threads(3):
        threaded = HistGradientBoostingRegressor(**FORM).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(again.search_.unseen, model.search_.unseen, rtol=1e-12)
    np.testing.assert_allclose(
        again.search_.standard_errors, model.search_.standard_errors, rtol=1e-9
    )
    np.testing.assert_array_equal(threaded.search_.unseen, model.search_.unseen)
    np.testing.assert_array_equal(threaded.predict(X), model.predict(X))


def test_noise_is_given_few_rounds_and_a_signal_many():
    X, y = make_rows(80)
    noise = np.random.default_rng(5).normal(size=len(y))
    few = HistGradientBoostingRegressor(**FORM).fit(X, noise).n_iter_
    assert few < 10 < HistGradientBoostingRegressor(**FORM).fit(X, y).n_iter_


def test_what_falls_a_little_for_ever_ends():
    X = np.repeat(np.arange(20.0), 5)[:, None] + np.linspace(0, 0.1, 100)[:, None]
    y = np.floor(X[:, 0] / 5)
    model = HistGradientBoostingRegressor(**FORM).fit(X, y)
    assert np.all(np.diff(model.search_.unseen) > 0)
    assert len(model.search_.unseen) < 200


def test_rounds_are_chosen_again_for_unseen_rows_and_intervals(monkeypatch):
    X, y = make_rows(50)
    model = HistGradientBoostingRegressor(**FORM).fit(X, y)
    choose, calls = boosting_folds.choose_rounds, []

    def counted(model, data, *rest):
        calls.append(len(data.y))
        return choose(model, data, *rest)

    monkeypatch.setattr("gapless.models.boosting.hist_gradient_boosting.choose_rounds", counted)
    assert np.isfinite(model.generalization_.unseen)
    # From the 40 other rows of each of five parts, for the model and for each version of it.
    assert calls[:5] == [40] * 5 and set(calls) == {40} and len(calls) % 5 == 0


def test_a_class_of_one_row_is_no_obstacle():
    X, y = make_rows(40)
    y = np.where(y > 0, 1, 0)
    y[7] = 2
    model = HistGradientBoostingClassifier(**FORM).fit(X, y)
    assert np.all(np.isfinite(model.search_.unseen)) and np.all(model.search_.rows == 39)
    assert model.predict_proba(X).shape == (40, 3)


@pytest.mark.parametrize("rows", [[0], [0, 0, 0], [0, 1]])
def test_too_few_rows_are_named(rows):
    X, _ = make_rows(2)
    message = f"from n_samples = {len(rows)}, .*give a number"
    with pytest.raises(ValueError, match=message):
        HistGradientBoostingClassifier(**FORM).fit(X[rows], rows)


@pytest.mark.parametrize("other", [{"warm_start": True}, {"early_stopping": True}, "X_val"])
def test_a_second_way_to_choose_rounds_is_refused(other):
    X, y = make_rows()
    params, given = (other, {}) if other != "X_val" else ({}, {"X_val": X, "y_val": y})
    with pytest.raises(
        ValueError, match=r'max_iter="cv" chooses .* contradicts (warm|early|X_val)'
    ):
        HistGradientBoostingRegressor(**FORM | params).fit(X, y, **given)


def test_a_model_goes_to_a_file_with_its_search(tmp_path):
    X, y = make_rows()
    model = HistGradientBoostingRegressor(**FORM).fit(X, y)
    gapless.save(model, tmp_path / "model.gapless")
    again = gapless.load(tmp_path / "model.gapless")
    np.testing.assert_array_equal(again.search_.unseen, model.search_.unseen)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.max_iter == "cv" and again.search_.chosen == model.search_.chosen
    assert not hasattr(model.set_params(max_iter=5).fit(X, y), "search_")


def limited(monkeypatch, count):
    """A fit whose folds have time for `count` trees, and its warnings."""
    grow, calls = Rounds.grow, []

    def some(self, *args):
        calls.append(args)
        if len(calls) == count + 1:
            raise gapless._ground.interrupt.TimeLimit
        return grow(self, *args)

    monkeypatch.setattr(Rounds, "grow", some)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = HistGradientBoostingRegressor(**FORM, time_limit=1000).fit(*make_rows())
    assert [w.category for w in caught] == [ConvergenceWarning]
    assert caught[0].filename == __file__
    return model, str(caught[0].message)


def test_without_time_the_best_so_far_is_taken(monkeypatch):
    model, words = limited(monkeypatch, 5 * boosting_folds.PATIENCE)
    assert "before the folds that choose the number of rounds had finished" in words
    assert len(model.search_.unseen) == boosting_folds.PATIENCE
    assert model.n_iter_ == np.argmax(model.search_.unseen) + 1


def test_without_any_time_for_folds_the_usual_number_is_taken(monkeypatch):
    model, _ = limited(monkeypatch, boosting_folds.PATIENCE)
    assert len(model.search_.unseen) == 0
    assert model.n_iter_ == boosting_folds.UNTRIED_ROUNDS


def test_a_fit_without_time_for_its_rounds_says_how_to_go_on(monkeypatch):
    X, y = make_rows()
    tried = len(HistGradientBoostingRegressor(**FORM).fit(X, y).search_.unseen)
    model, words = limited(monkeypatch, 5 * tried + 4)
    chosen = model.search_.values["rounds"][model.search_.chosen]
    assert model.n_iter_ == 4 and f"after 4 of {chosen} rounds" in words
    assert f"continue with warm_start=True and max_iter={chosen}." in words
    monkeypatch.undo()
    model.set_params(warm_start=True, max_iter=int(chosen)).fit(X, y)
    whole = HistGradientBoostingRegressor(**FORM).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), whole.predict(X))


def test_ctrl_c_in_a_fold_leaves_the_model_as_it_was(monkeypatch):
    X, y = make_rows()
    model = HistGradientBoostingRegressor(**FORM | {"max_iter": 3}).fit(X, y)
    before = dict(vars(model.set_params(max_iter="cv")))
    grow, calls = Rounds.grow, []

    def third_is_interrupted(self, *args):
        calls.append(args)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return grow(self, *args)

    monkeypatch.setattr(Rounds, "grow", third_is_interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert vars(model) == before


def test_a_picture_shows_what_was_tried():
    X, y = make_rows()
    model = HistGradientBoostingRegressor(**FORM).fit(X, y)
    axes = model.search_.plot()
    assert axes.get_xlabel() == "rounds"
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), model.search_.unseen)


@pytest.mark.parametrize("classes", [2, 3])
def test_rounds_can_be_judged_by_squared_errors_of_probabilities(classes):
    X, y = make_rows(90)
    y = np.digitize(y, np.quantile(y, np.arange(1, classes) / classes))
    form = FORM | {"scoring": "neg_brier_score"}
    model = HistGradientBoostingClassifier(**form).fit(X, y)

    def value(y, p):
        squares = np.sum((p - np.eye(classes)[y]) ** 2, axis=1)
        return squares / 2 if classes == 2 else squares

    losses = by_hand(model, X, y, value, "staged_predict_proba")
    np.testing.assert_allclose(model.search_.unseen, -losses.mean(axis=0), rtol=1e-9)
    assert model.search_.metric == "neg_brier_score"
    given = HistGradientBoostingClassifier(**FORM | {"max_iter": model.n_iter_}).fit(X, y)
    assert np.array_equal(model.predict_proba(X), given.predict_proba(X))


def test_scores_that_are_no_means_over_rows_are_refused_in_words():
    X, y = make_rows()
    is_large = y > 0
    with pytest.raises(ValueError, match="scoring='loss' or 'neg_brier_score', got 'roc_auc'"):
        HistGradientBoostingClassifier(**FORM, scoring="roc_auc").fit(X, is_large)
    with pytest.raises(ValueError, match="scoring='loss', got 'neg_brier_score'"):
        HistGradientBoostingRegressor(**FORM, scoring="neg_brier_score").fit(X, y)
    hinge = HistGradientBoostingClassifier(loss="hinge", **FORM, scoring="neg_brier_score")
    with pytest.raises(ValueError, match="needs probabilities"):
        hinge.fit(X, is_large)
