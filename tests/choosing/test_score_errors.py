"""Standard errors of scores: honest also where all rows, or none, are predicted right."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom

from gapless.choosing import choose
from gapless.choosing.metric import Metric
from gapless.choosing.score_errors import ScoreErrors
from gapless.evaluation.held_out import HeldOut
from gapless.evaluation.rows import Rows
from gapless.unseen.selection_bias import Corrected


class Says:
    """A classifier that predicts its first column."""

    _estimator_type = "classifier"

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return X[:, 0]

    def predict_proba(self, X):
        return np.column_stack([1 - X[:, 0], X[:, 0]])

    def __sklearn_clone__(self):
        return Says()

    def __sklearn_tags__(self):
        return SimpleNamespace(estimator_type="classifier")


def held_out(said, y, name="accuracy", costs=None):
    """What is held out of rows whose classes are said so, and the errors of its scores."""
    y, said = np.asarray(y), np.asarray(said, dtype=float)
    # A second column, so that all rows are different.
    rows = Rows.read(np.column_stack([said, np.arange(len(y))]), y)
    metric = Metric(name, np.array([0, 1]), costs)
    everything = np.arange(len(y))
    return HeldOut(Says(), rows, [(everything, everything)], metric), ScoreErrors(rows, metric)


def error_of(right, n):
    y = np.arange(n) % 2
    return np.where(np.arange(n) < right, y, 1 - y), y


def test_the_error_of_a_share_reaches_the_far_end_of_wilsons_interval():
    for right, n in ((58, 58), (0, 20), (15, 20)):
        held, errors = held_out(*error_of(right, n))
        p = right / n
        half = np.sqrt(n * p * (1 - p) + 0.25) / (n + 1)
        reach = abs(p - (n * p + 0.5) / (n + 1)) + half
        assert reach * 0.999 <= errors.of(held) <= 1.1 * reach


@pytest.mark.parametrize("n", [20, 58])
def test_one_standard_error_covers_what_it_should_also_near_1(n):
    counts = np.arange(n + 1)
    share = counts / n
    plain = np.sqrt(share * (1 - share) / (n - 1))
    held = [held_out(*error_of(right, n)) for right in counts]
    honest = np.array([errors.of(one) for one, errors in held])

    def covered(error):
        truths = 1 - np.linspace(0.5, 4, 15) / n
        return np.array([binom.pmf(counts, n, p)[abs(share - p) <= error].sum() for p in truths])

    assert covered(plain).min() < 0.35
    assert covered(honest).min() > 0.55
    assert 0.65 < covered(honest).mean() < 0.85


def test_a_difference_of_one_row_is_not_more_than_its_error():
    best, errors = held_out(*error_of(58, 58))
    other, _ = held_out(*error_of(57, 58))
    assert best.unseen - other.unseen < errors.behind(other, best)
    assert errors.behind(best, best) == 0.0


def test_what_is_expected_has_an_error_too():
    held, errors = held_out(*error_of(58, 58))
    exact = Corrected(0, 1.0, 0.0, 0.0)
    assert errors.expected(exact, held) == pytest.approx(np.sqrt(3) / 59)


def test_scores_of_classes_are_known_as_well_as_the_rows_of_these_classes():
    y = np.repeat([0, 1], [90, 10])
    in_each = {"roc_auc": [10], "recall": [10], "balanced_accuracy": [10, 90]}
    for name, counts in in_each.items():
        held, errors = held_out(y, y, name)
        one_more = np.linalg.norm([1 / (count + 1) for count in counts]) / len(counts)
        assert errors.of(held) == pytest.approx(one_more)
        swapped, errors = held_out(1 - y, 1 - y, name)
        if name == "recall":
            one_more = 1 / 91
        assert errors.of(swapped) == pytest.approx(one_more)
    held, errors = held_out(y, y, "mean_cost", np.array([[0.0, 1.0], [8.0, 0.0]]))
    assert errors.of(held) == pytest.approx(8 / 101)


def test_a_rare_class_does_not_hide_what_is_known_of_the_others():
    """One more row of the class of 3 changes the mean over 3 classes by a third of its recall."""
    y = np.repeat([0, 1, 2], [60, 60, 3])
    metric = Metric("balanced_accuracy", np.arange(3))
    rows = Rows.read(np.column_stack([y, np.arange(len(y))]), y)
    held = HeldOut(Says(), rows, [(np.arange(len(y)), np.arange(len(y)))], metric)
    assert 1 / 12 < ScoreErrors(rows, metric).of(held) < 0.09
    x = np.random.default_rng(0).normal(size=120)
    table = {"x": x, "y": np.where(np.arange(120) < 3, "rare", np.where(x > 0, "a", "b"))}
    choice = choose(table, "y", models="naive Bayes", metric="balanced_accuracy", time_limit=None)
    assert choice.chosen == "naive Bayes"


def test_equal_rows_are_no_more_evidence():
    rows = Rows.read(np.arange(30)[:, None] % 2, np.arange(30) % 2)
    errors = ScoreErrors(rows, Metric("accuracy", np.array([0, 1])))
    held = SimpleNamespace(tested=np.arange(30), standard_error=0.0)
    assert errors.of(held) == pytest.approx(1 / 3)


def test_errors_of_numbers_are_their_own():
    rows = Rows.read(np.arange(9.0)[:, None], np.arange(9.0))
    held = SimpleNamespace(tested=np.arange(9), standard_error=0.125)
    assert ScoreErrors(rows, Metric("r2")).of(held) == 0.125


def test_a_table_without_mistakes_is_not_certain():
    x = np.arange(60.0)
    choice = choose(
        {"x": x, "y": np.where(x < 30, "a", "b")}, "y", models="pruned tree", time_limit=None
    )
    assert choice["pruned tree"].standard_error >= 1 / 49
    assert choice.expected_error > 0.01
