"""Decisions of least expected cost, around any classifier."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression as Theirs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import gapless
from gapless import BayesDecision, DecisionTreeClassifier, LogisticRegression
from gapless._ground.cost_matrices import named_costs, read_cost_matrix
from gapless.metrics import confusion_matrix, mean_cost

COSTS = np.array([[0.0, 1.0, 4.0], [2.0, -1.0, 1.0], [10.0, 3.0, 0.0]])


@pytest.fixture
def data(rng):
    X = rng.normal(size=(150, 3))
    y = np.digitize(X[:, 0] + 0.7 * rng.normal(size=150), [-0.4, 0.6])
    return X, y


class Given(ClassifierMixin, BaseEstimator):
    """Stands in for a classifier: its rows are the probabilities."""

    def __init__(self, classes=(0, 1, 2)):
        self.classes = classes

    def fit(self, X, y):
        self.classes_ = np.array(self.classes)
        return self

    def predict_proba(self, X):
        return np.asarray(X)


@pytest.mark.parametrize(
    "model",
    [
        BayesDecision(LogisticRegression()),
        BayesDecision(DecisionTreeClassifier(max_depth=3)),
        BayesDecision(LogisticRegression(), abstain_cost=9.0, abstain_label=-7),
    ],
    ids=["linear", "tree", "abstaining"],
)
def test_check_estimator_passes_with_no_expected_failures(model):
    results = check_estimator(model, on_skip=None, on_fail=None)
    assert {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"} == {}
    assert sum(r["status"] == "passed" for r in results) > 40


@pytest.mark.parametrize("cost_matrix", [None, 1 - np.eye(3), [1, 1, 1], {0: 1, 1: 1, 2: 1}])
def test_equal_costs_give_the_most_probable_class(cost_matrix, data):
    X, y = data
    model = BayesDecision(LogisticRegression(), cost_matrix).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), model.estimator_.predict(X))
    assert model.risk(X, y) == pytest.approx(1 - model.score(X, y))
    # Ties and last bits, too.
    p = np.array([[0.3, 0.3, 0.4 - 1e-17], [1 / 3, 1 / 3, 1 / 3], [0.3, 0.3 + 1e-16, 0.2]])
    given = BayesDecision(Given(), cost_matrix).fit(None, [0, 1, 2])
    np.testing.assert_array_equal(given.predict(p), np.argmax(p, axis=1))


def test_decisions_and_risks_are_those_of_the_definition(data, rng):
    X, y = data
    model = BayesDecision(LogisticRegression(), COSTS).fit(X, y)
    p = model.predict_proba(X)
    expected = np.array([[sum(row * COSTS[:, j]) for j in range(3)] for row in p])
    np.testing.assert_allclose(model.conditional_risk(X), expected, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), expected.argmin(axis=1))
    np.testing.assert_allclose(model.expected_risk(X), expected.min(axis=1))
    weights = rng.random(len(y))
    counts = confusion_matrix(y, model.predict(X), sample_weight=weights).counts
    assert model.risk(X, y, weights) == pytest.approx((counts * COSTS).sum() / counts.sum())
    found = mean_cost(y, model.predict(X), COSTS, sample_weight=weights)
    assert found.value == pytest.approx(model.risk(X, y, weights))
    assert found.low < found.value < found.high


def test_decisions_cost_less_than_the_most_probable_class(data):
    X, y = data
    plain, careful = (BayesDecision(LogisticRegression(), c).fit(X, y) for c in (None, COSTS))
    assert (
        mean_cost(y, careful.predict(X), COSTS).value < mean_cost(y, plain.predict(X), COSTS).value
    )
    # As many as the probabilities say: those of a likelihood that is maximal are right on average.
    assert careful.expected_risk(X).mean() == pytest.approx(careful.risk(X, y), abs=0.25)


def test_uncertain_rows_are_left_to_somebody_else():
    p = np.array([[0.9, 0.05, 0.05], [0.5, 0.3, 0.2], [0.0, 0.0, 1.0]])
    model = BayesDecision(Given(), abstain_cost=0.3).fit(None, [0, 1, 2])
    np.testing.assert_array_equal(model.predict(p), [0, -1, 2])
    np.testing.assert_allclose(model.expected_risk(p), [0.1, 0.3, 0.0])
    assert model.conditional_risk(p).shape == (3, 4)
    assert model.risk(p, [1, 1, 2]) == pytest.approx((1 + 0.3 + 0) / 3)
    named = BayesDecision(Given(("a", "b", "c")), abstain_cost=0.3).fit(None, list("abc"))
    assert named.predict(p).tolist() == ["a", "abstain", "c"]
    other = BayesDecision(Given(("a", "b", "c")), abstain_cost=0.3, abstain_label=None)
    assert other.set_params(abstain_label=0).fit(None, list("abc")).predict(p).tolist() == [
        "a",
        0,
        "c",
    ]
    assert float(mean_cost([1, 1, 2], model.predict(p), abstain_cost=0.3)) == pytest.approx(1.3 / 3)
    with pytest.raises(ValueError, match="'b' is a class and cannot also mean"):
        named.set_params(abstain_label="b").fit(None, list("abc"))


def test_chow_s_rule_for_two_classes(rng):
    """Errors of cost 1: abstain exactly where the larger probability is below 1 − cost."""
    p = rng.random(200)
    model = BayesDecision(Given((0, 1)), abstain_cost=0.2).fit(None, [0, 1])
    decided = model.predict(np.column_stack([1 - p, p]))
    np.testing.assert_array_equal(decided == -1, np.maximum(p, 1 - p) < 0.8)


def test_costs_may_differ_from_row_to_row(rng):
    p = rng.dirichlet([1, 1, 1], size=50)
    model = BayesDecision(Given()).fit(None, [0, 1, 2])
    tables, y = rng.random((50, 3, 3)), rng.integers(0, 3, 50)
    expected = np.einsum("ni,nij->nj", p, tables)
    np.testing.assert_array_equal(model.predict(p, tables), expected.argmin(axis=1))
    np.testing.assert_allclose(model.expected_risk(p, tables), expected.min(axis=1))
    paid = tables[np.arange(50), y, model.predict(p, tables)]
    assert model.risk(p, y, costs=tables) == pytest.approx(paid.mean())
    assert mean_cost(y, model.predict(p, tables), costs=tables).value == pytest.approx(paid.mean())
    missing = rng.random((50, 3))
    as_tables = missing[:, :, None] * (1 - np.eye(3))
    np.testing.assert_array_equal(model.predict(p, missing), model.predict(p, as_tables))


def test_both_gaps_are_those_of_the_classifier(data):
    X, y = data
    model = BayesDecision(LogisticRegression(), COSTS).fit(X, y)
    assert str(model.certificate_) == str(model.estimator_.certificate_)
    assert gapless.certify(model, X, y).kind == "optimal"
    result = model.generalization_
    assert result.metric == "−cost" and result.train == pytest.approx(-model.risk(X, y))
    refits = [
        -BayesDecision(LogisticRegression(), COSTS)
        .fit(np.delete(X, i, axis=0), np.delete(y, i))
        .risk(X[[i]], y[[i]])
        for i in range(len(y))
    ]
    assert result.unseen == pytest.approx(np.mean(refits), abs=0.02)
    plain = gapless.generalize(BayesDecision(LogisticRegression()).fit(X, y), X, y)
    alone = gapless.generalize(LogisticRegression().fit(X, y), X, y)
    assert (plain.metric, plain.unseen) == (alone.metric, alone.unseen)


def test_any_classifier_will_do(data):
    X, y = data
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    model = BayesDecision(make_pipeline(StandardScaler(), Theirs()), COSTS).fit(table, y)
    assert list(model.feature_names_in_) == ["a", "b", "c"] and model.n_features_in_ == 3
    assert model.predict(table).shape == y.shape
    with pytest.raises(AttributeError, match="is not a gapless model"):
        model.generalization_  # noqa: B018 - reading it is what fails
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(table), model.predict(table))
    rebuilt = clone(model)
    for name in BayesDecision._stored:
        if name in vars(model):
            setattr(rebuilt, name, getattr(model, name))
    np.testing.assert_array_equal(rebuilt.predict(table), model.predict(table))


def test_weights_are_repeats(data, rng):
    X, y = data
    weights = rng.integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    one = BayesDecision(LogisticRegression(), COSTS).fit(X, y, sample_weight=weights)
    other = BayesDecision(LogisticRegression(), COSTS).fit(X[rows], y[rows])
    np.testing.assert_allclose(one.conditional_risk(X), other.conditional_risk(X), rtol=1e-6)
    assert one.risk(X, y, weights) == pytest.approx(other.risk(X[rows], y[rows]))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"cost_matrix": np.eye(2)}, r"shape \(2, 2\), but there are 3 classes"),
        ({"cost_matrix": {0: 1.0, 1: 2.0}}, "2 has no cost"),
        ({"cost_matrix": {0: 1, 1: 2, 2: 3, "x": 4}}, "'x' is not a class"),
        ({"cost_matrix": [[0, np.nan, 1]] * 3}, r"nan at \(0, 1\)"),
        ({"cost_matrix": [["a", "b", "c"]] * 3}, "must be numbers"),
        ({"abstain_cost": 0.1, "abstain_label": 2}, "2 is a class"),
        ({"abstain_cost": "free"}, "abstain_cost"),
    ],
)
def test_bad_costs_are_named_and_leave_the_model_as_it_was(parameters, message, data):
    X, y = data
    model = BayesDecision(LogisticRegression()).fit(X, y)
    before = dict(vars(model))
    model.set_params(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert all(vars(model)[name] is value for name, value in before.items() if name[-1] == "_")


def test_bad_rows_are_named(data):
    X, y = data
    model = BayesDecision(LogisticRegression()).fit(X, y)
    with pytest.raises(ValueError, match="costs has shape"):
        model.predict(X, np.ones((3, 3)))
    with pytest.raises(ValueError, match="7 in row 2, which is not one of the training classes"):
        model.risk(X[:3], [0, 1, 7])


def test_costs_by_name_are_those_of_the_classes_that_rows_have():
    costs = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 4.0], [5.0, 6.0, 0.0]])
    named = named_costs(costs, np.array(["a", "b", "c"]))
    np.testing.assert_array_equal(read_cost_matrix(named, np.array(["a", "b", "c"])), costs)
    np.testing.assert_array_equal(read_cost_matrix(named, np.array(["a", "c"])), [[0, 2], [5, 0]])
    with pytest.raises(ValueError, match="'d' has no cost"):
        read_cost_matrix(named, np.array(["a", "d"]))
    del named["a"]["c"]
    with pytest.raises(ValueError, match="'c' has no cost"):
        read_cost_matrix(named, np.array(["a", "c"]))


def test_unseen_data_are_judged_around_a_model_of_probabilities_alone(rng):
    X, y = rng.normal(size=(40, 3)), np.tile(["no", "yes"], 20)
    model = gapless.GaussianNB().fit(X, y)
    estimate = BayesDecision(gapless.GaussianNB()).fit(X, y).generalization_
    assert (estimate.unseen, estimate.kind) == (
        model.generalization_.unseen,
        model.generalization_.kind,
    )


def test_a_table_by_decisions_is_the_transpose(data):
    """The course writes λ_ij for the cost of deciding i where j is true."""
    X, y = data
    table = np.array([[0.0, 1, 7], [2, 0, 1], [20, 3, 0]])
    usual = BayesDecision(LogisticRegression(), table).fit(X, y)
    by_decision = {"cost_rows": "decision"}
    course = BayesDecision(LogisticRegression(), table.T, **by_decision).fit(X, y)
    named = BayesDecision(
        LogisticRegression(), named_costs(table.T, usual.classes_), **by_decision
    ).fit(X, y)
    for other in (course, named):
        np.testing.assert_array_equal(other.costs_, usual.costs_)
        np.testing.assert_array_equal(other.predict(X), usual.predict(X))
    risks = usual.predict_proba(X) @ table  # R(c_i | x) = Σ_j λ_ij P(c_j | x)
    np.testing.assert_allclose(course.conditional_risk(X), risks)
    of_rows = np.broadcast_to(table.T, (len(X), 3, 3))
    plain = BayesDecision(LogisticRegression(), **by_decision).fit(X, y)
    np.testing.assert_array_equal(plain.predict(X, costs=of_rows), usual.predict(X))
    decided = usual.predict(X)
    expected = mean_cost(y, decided, table).value
    assert mean_cost(y, decided, table.T, cost_rows="decision").value == expected
    assert mean_cost(y, decided, costs=of_rows, cost_rows="decision").value == expected


def test_the_costs_of_missing_a_class_have_no_orientation(data):
    X, y = data
    models = [
        BayesDecision(LogisticRegression(), {0: 1, 1: 5, 2: 2}, cost_rows=rows).fit(X, y)
        for rows in ("truth", "decision")
    ]
    np.testing.assert_array_equal(models[0].costs_, models[1].costs_)


def test_an_unknown_orientation_is_refused(data):
    X, y = data
    with pytest.raises(ValueError, match="cost_rows"):
        BayesDecision(LogisticRegression(), cost_rows="columns").fit(X, y)
    with pytest.raises(ValueError, match="'truth' or 'decision'"):
        mean_cost(y, y, cost_rows="columns")
    with pytest.raises(ValueError, match="a row for each decision and a column for each true"):
        BayesDecision(LogisticRegression(), np.eye(2), cost_rows="decision").fit(X, y)
