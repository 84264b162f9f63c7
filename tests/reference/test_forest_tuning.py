"""The size of leaves that a forest chooses, against fits and predictions by hand."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import gapless
from gapless import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from gapless.choosing.fitted_models import settings_of, tuning_of
from gapless.models.forests.out_of_bag import FIRST_TREES, SIZES


def make_numbers(rng, n=80, noise=0.1):
    """Rows of two columns, and numbers that depend on them."""
    X = rng.normal(size=(n, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + noise * rng.normal(size=n)


def tuned(cls=RandomForestRegressor, **parameters):
    return cls(**{"n_estimators": 30, "min_samples_leaf": "oob", "random_state": 0} | parameters)


def test_forest_is_that_of_the_chosen_size(rng):
    X, y = make_numbers(rng)
    model = tuned().fit(X, y)
    given = tuned(min_samples_leaf=model.min_samples_leaf_).fit(X, y)
    assert len(model) == 30
    assert model.min_samples_leaf_ in SIZES
    assert model[0].min_samples_leaf == model.min_samples_leaf_
    np.testing.assert_array_equal(model.predict(X), given.predict(X))


def test_scores_are_those_of_trees_that_drew_no_equal_row(rng):
    X, y = make_numbers(rng, n=40)
    # Every x of the first ten is there twice, with two targets.
    X, y = np.vstack([X, X[:10]]), np.append(y, y[:10] + 1.0)
    model = tuned().fit(X, y)
    for size, score in zip(model.search_.values["min_samples_leaf"], model.search_.unseen):
        first = tuned(n_estimators=FIRST_TREES, min_samples_leaf=int(size)).fit(X, y)
        errors = []
        for i in range(len(X)):
            equals = np.flatnonzero(np.all(X[i] == X, axis=1))
            told = [
                float(tree.predict(X[[i]])[0])
                for tree, drawn in zip(first.estimators_, first.estimators_samples_)
                if not np.isin(equals, drawn).any()
            ]
            if len(told) >= 2:
                luck = np.var(told, ddof=1) * (1 / len(told) - 1 / 30)
                errors.append((np.mean(told) - y[i]) ** 2 - luck)
        assert score == pytest.approx(-np.mean(errors))
    assert model.search_.unseen.argmax() == model.search_.chosen


def test_scores_of_few_trees_tell_the_error_of_many(rng):
    X, y = make_numbers(rng, n=400, noise=1.0)
    model = tuned(n_estimators=200, min_samples_leaf="oob").fit(X, y)
    scores = dict(zip(model.search_.values["min_samples_leaf"], model.search_.unseen))
    for size in SIZES:
        whole = tuned(n_estimators=200, min_samples_leaf=size, oob_score=True).fit(X, y)
        error = np.mean((whole.oob_prediction_ - y) ** 2)
        assert -scores[size] == pytest.approx(error, rel=0.05)


def test_small_leaves_of_clean_targets_and_large_ones_of_noise(rng):
    X, y = make_numbers(rng, n=200, noise=0.0)
    assert tuned().fit(X, y).min_samples_leaf_ == 1
    coin = rng.integers(0, 2, 200)
    assert tuned(RandomForestClassifier, n_estimators=50).fit(X, coin).min_samples_leaf_ == 10


def test_rows_learned_from_their_equals_do_not_count(rng):
    X, noise = rng.normal(size=(100, 2)), rng.normal(size=100)
    X, y = np.vstack([X, X]), np.append(noise, noise + 1e-6)
    assert tuned().fit(X, y).min_samples_leaf_ == 10


def test_unseen_score_is_corrected_for_the_choice(rng):
    X, y = make_numbers(rng, noise=1.0)
    model = tuned().fit(X, y)
    given = tuned(min_samples_leaf=model.min_samples_leaf_).fit(X, y)
    found = model.generalization_
    assert found.method.endswith("out of bag (30 members), corrected for selection among 3 models")
    assert found.train == given.generalization_.train
    assert abs(found.unseen - given.generalization_.unseen) < given.generalization_.standard_error
    assert "selection had inflated it by" in found.verdict


def test_folds_choose_for_themselves(rng):
    X, y = make_numbers(rng)
    found = tuned(n_estimators=5).fit(np.vstack([X, X]), np.append(y, y + 0.1)).generalization_
    assert "5-fold" in found.method
    assert "corrected" not in found.method


def test_a_few_x_with_all_rows_leave_nothing_to_choose_by():
    X, y = np.repeat(np.eye(3), 50, axis=0), np.arange(150) % 2
    model = tuned(RandomForestClassifier).fit(X, y)
    assert model.min_samples_leaf_ == 1
    assert tuning_of(model) is None
    assert len(model) == 30


def test_added_trees_have_the_size_that_was_chosen(rng):
    X, y = make_numbers(rng)
    grown = tuned(warm_start=True).fit(X, y)
    before = grown.search_
    grown.set_params(n_estimators=50).fit(X, y)
    assert grown.search_ is before
    given = tuned(n_estimators=50, min_samples_leaf=grown.min_samples_leaf_).fit(X, y)
    np.testing.assert_array_equal(grown.predict(X), given.predict(X))


def test_another_fit_forgets_the_choice(rng):
    X, y = make_numbers(rng)
    model = tuned().fit(X, y).set_params(min_samples_leaf=2).fit(X, y)
    assert not hasattr(model, "min_samples_leaf_")
    assert not hasattr(model, "search_")
    assert "corrected" not in model.generalization_.method


def test_no_time_to_choose_grows_a_tree_all_the_same(rng):
    X, y = make_numbers(rng)
    with pytest.warns(ConvergenceWarning, match="of 30 members"):
        model = tuned(time_limit=1e-9).fit(X, y)
    assert len(model) >= 1
    assert model.min_samples_leaf_ == 1
    assert not hasattr(model, "search_")


def test_without_a_bootstrap_no_row_is_out_of_bag(rng):
    X, y = make_numbers(rng)
    with pytest.raises(ValueError, match="bootstrap=True"):
        tuned(ExtraTreesClassifier).fit(X, y > 0)
    model = tuned(ExtraTreesClassifier, bootstrap=True).fit(X, y > 0)
    assert model.search_.metric == "neg_brier_score"


def test_several_outputs_are_judged_together(rng):
    X, y = make_numbers(rng)
    labels = np.column_stack([np.digitize(y, [-0.5, 0.5]), y > 0])
    model = tuned(RandomForestClassifier).fit(X, labels)
    shares = np.clip(-model.search_.unseen, 0, 2)
    np.testing.assert_array_equal(shares, -model.search_.unseen)


def test_choice_is_shown_and_saved(rng, tmp_path):
    X, y = make_numbers(rng)
    model = tuned().fit(X, y)
    tuning = tuning_of(model)
    assert tuning.parameter == "min_samples_leaf"
    assert tuning.values == (1.0, 3.0, 10.0)
    assert settings_of(model) == {"min_samples_leaf": model.min_samples_leaf_, "trees": 30}
    gapless.save(model, tmp_path / "forest.gapless")
    loaded = gapless.load(tmp_path / "forest.gapless")
    assert loaded.min_samples_leaf_ == model.min_samples_leaf_
    np.testing.assert_array_equal(loaded.search_.unseen, model.search_.unseen)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
