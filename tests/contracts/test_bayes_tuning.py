"""Pseudo-counts chosen by leave-one-out: scored as refits score them, honest, and kept."""

import numpy as np
import pytest
from sklearn.base import clone

import gapless
from gapless import BernoulliNB, CategoricalNB, ComplementNB, MultinomialNB
from gapless.models.bayes import held_out

MODELS = (MultinomialNB, ComplementNB, BernoulliNB, CategoricalNB)
every_model = pytest.mark.parametrize("cls", MODELS, ids=lambda cls: cls.__name__)


def make_counts(n=60, d=12, classes=3, seed=0):
    """Counts of words, each class with its own frequencies."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    shares = rng.dirichlet(np.ones(d), classes)
    X = np.array([rng.multinomial(6, shares[k]) for k in y], dtype=float)
    # Two rows of each kind, which are left out together.
    return np.vstack([X, X[:5]]), np.concatenate([y, y[:5]])


def refitted(model, X, y):
    """Minus the log loss, or the accuracy, of rows that are predicted by fits without their x."""
    scores = []
    for x, own in zip(X, y):
        others = np.any(x != X, axis=1)
        options = {"min_categories": 10} if isinstance(model, CategoricalNB) else {}
        without = clone(model).set_params(**options).fit(X[others], y[others])
        if model._tuned_by == "accuracy":
            scores.append(without.predict(x[None])[0] == own)
        else:
            at = np.flatnonzero(without.classes_ == own)
            scores.append(without.predict_log_proba(x[None])[0, at[0]])
    return np.mean(scores)


@every_model
def test_scores_are_those_of_refits_and_the_best_wins(cls):
    X, y = make_counts()
    options = {"min_categories": 10} if cls is CategoricalNB else {}
    model = cls(alpha="loo", **options).fit(X, y)
    search = model.search_
    assert type(model.alpha_) is float
    assert model.alpha_ == search.values["alpha"][search.chosen]
    assert search.unseen[search.chosen] == search.unseen.max()
    for k in (0, len(search.unseen) - 1):
        alpha = search.values["alpha"][k]
        assert search.unseen[k] == pytest.approx(refitted(cls(alpha=alpha), X, y), abs=1e-9)
    given = cls(alpha=model.alpha_, **options).fit(X, y)
    assert np.array_equal(model.predict_proba(X), given.predict_proba(X))
    assert gapless.certify(model, X, y).kind == "exact"


@every_model
def test_weights_are_repetitions_and_the_order_of_rows_is_nothing(cls):
    X, y = make_counts(seed=1)
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 3, len(y))
    rows = rng.permutation(np.repeat(np.arange(len(y)), weights))
    options = {"min_categories": 10} if cls is CategoricalNB else {}
    one = cls(alpha="loo", **options).fit(X, y, weights)
    other = cls(alpha="loo", **options).fit(X[rows], y[rows])
    assert one.alpha_ == other.alpha_
    np.testing.assert_allclose(one.search_.unseen, other.search_.unseen, rtol=1e-12)


def test_score_of_the_winner_is_corrected_and_stays_at_chance_for_shuffled_classes():
    X, y = make_counts(n=150)
    shuffled = np.random.default_rng(3).permutation(y)
    result = MultinomialNB(alpha="loo").fit(X, shuffled).generalization_
    assert "corrected for selection among" in result.method
    assert abs(result.unseen - 1 / 3) <= 2.5 * result.standard_error
    # A later fit with a number has no choice to be corrected for.
    later = MultinomialNB(alpha="loo").fit(X, y).set_params(alpha=1.0).fit(X, y)
    assert later.generalization_.method == "loo" and not hasattr(later, "alpha_")


def test_class_of_one_row_does_not_decide():
    """Without its only row nothing is known of it, whatever is added to counts."""
    X, y = make_counts()
    rare = np.append(y, 9)
    lonely = np.vstack([X, np.full(X.shape[1], 2.0)])
    model = MultinomialNB(alpha="loo").fit(lonely, rare)
    assert np.all(model.search_.unseen > -1)
    assert np.all(model.search_.rows < len(np.unique(lonely, axis=0)))


def test_sample_of_many_rows_decides_and_says_so(monkeypatch):
    monkeypatch.setattr(held_out, "MOST_WORK", 1.0)
    monkeypatch.setattr(held_out, "LARGE_SAMPLE", 20)
    X, y = make_counts(n=200)
    model = MultinomialNB(alpha="loo").fit(X, y)
    assert np.all(model.search_.rows == 20)
    assert "not corrected for the selection of alpha" in model.generalization_.method


def test_what_cannot_be_chosen_from_is_refused_in_words():
    with pytest.raises(ValueError, match="no class has two distinct rows"):
        MultinomialNB(alpha="loo").fit([[1, 0], [0, 1]], [0, 1])
    with pytest.raises(ValueError, match="in partial_fit"):
        MultinomialNB(alpha="loo").partial_fit([[1, 0], [0, 1]], [0, 1], classes=[0, 1])


def test_time_limit_leaves_the_model_as_it_was():
    X, y = make_counts()
    model = MultinomialNB(alpha="loo").fit(X, y)
    before = model.alpha_
    with (
        gapless._ground.interrupt.time_limit(0.0),
        pytest.raises(gapless._ground.interrupt.TimeLimit),
    ):
        model.fit(X[:30], y[:30])
    assert model.alpha_ == before and len(model.predict(X)) == len(X)


def test_texts_are_classified_with_chosen_pseudo_counts(tmp_path):
    words = ["good fine nice", "bad poor sad"] * 20
    noisy = [f"{text} word{k % 7}" for k, text in enumerate(words)]
    model = gapless.TextClassifier(MultinomialNB(alpha="loo")).fit(noisy, [0, 1] * 20)
    assert model.score(noisy, [0, 1] * 20) == 1.0
    assert model.generalization_.unseen > 0.9
    X, y = make_counts()
    tuned = MultinomialNB(alpha="loo").fit(X, y)
    gapless.save(tuned, tmp_path / "model.gapless")
    again = gapless.load(tmp_path / "model.gapless")
    assert again.alpha_ == tuned.alpha_
    assert np.array_equal(again.search_.unseen, tuned.search_.unseen)
