"""Gradient boosting keeps every promise, in every form."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn._loss import loss as peers
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

import gapless
from gapless import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from gapless._ground.threads import threads
from gapless.losses import Huber, Loss
from gapless.models.boosting.losses import best_start
from gapless.models.boosting.rounds import Rounds
from public_estimators import public_estimators

CLASSES = public_estimators("boosting")
HIST = [cls for cls in CLASSES if cls.__name__.startswith("Hist")]
SMALL = {"max_iter": 8, "min_samples_leaf": 3}
FORMS = [
    (HistGradientBoostingClassifier, SMALL),
    (HistGradientBoostingClassifier, SMALL | {"loss": "hinge"}),
    (HistGradientBoostingClassifier, SMALL | {"class_weight": {0: 3.0}, "max_features": 0.5}),
    (HistGradientBoostingClassifier, SMALL | {"early_stopping": True, "max_bins": 20}),
    (HistGradientBoostingClassifier, SMALL | {"max_iter": "cv", "max_leaf_nodes": 4}),
    (HistGradientBoostingRegressor, SMALL),
    (HistGradientBoostingRegressor, SMALL | {"loss": "absolute_error"}),
    (HistGradientBoostingRegressor, SMALL | {"loss": Huber(0.3), "max_leaf_nodes": 5}),
    (HistGradientBoostingRegressor, SMALL | {"loss": "quantile", "quantile": 0.8}),
    (HistGradientBoostingRegressor, SMALL | {"monotonic_cst": [1, 0, -1], "max_depth": 3}),
    (HistGradientBoostingRegressor, SMALL | {"interaction_cst": [[0, 1], [2]]}),
    (GradientBoostingClassifier, {"n_estimators": 8}),
    (GradientBoostingClassifier, {"n_estimators": 8, "loss": "exponential", "subsample": 0.6}),
    (GradientBoostingClassifier, {"n_estimators": 8, "max_features": 2, "init": "zero"}),
    (GradientBoostingRegressor, {"n_estimators": 8}),
    (GradientBoostingRegressor, {"n_estimators": 8, "loss": "huber", "subsample": 0.7}),
    (GradientBoostingRegressor, {"n_estimators": 8, "ccp_alpha": 0.02, "n_iter_no_change": 3}),
]
CASES = [
    pytest.param(cls, form, id=f"{cls.__name__}-{'-'.join(f'{k}={v}' for k, v in form.items())}")
    for cls, form in FORMS
]
every_form = pytest.mark.parametrize("cls, form", CASES)
every_class = pytest.mark.parametrize("cls", CLASSES)
PROBES = 1.5 * np.random.default_rng(1).normal(size=(40, 3))


def make_data(cls, n=80, seed=20240607):
    """Features of different size and repeated values, and targets that depend on them."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 3)) * [1.0, 0.5, 2.0], 1)
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 2] + 0.3 * rng.normal(size=n)
    return X, (y > 0).astype(int) if is_classifier(cls()) else y


def made(cls, form):
    return cls(**{"random_state": 0} | form)


def scores(model, X):
    return model.decision_function(X) if is_classifier(model) else model.predict(X)


def assert_same_model(one, other, rtol=1e-9):
    """Scores of rows that neither has seen."""
    np.testing.assert_allclose(scores(other, PROBES), scores(one, PROBES), rtol=rtol, atol=rtol)


def test_every_class_has_its_forms():
    assert {cls for cls, _ in FORMS} == {*CLASSES}


@every_class
def test_check_estimator_passes_with_no_expected_failures(cls):
    rounds = {"max_iter" if cls in HIST else "n_estimators": 15}
    results = check_estimator(cls(**rounds), on_skip=None, on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    passed = [r for r in results if r["status"] == "passed"]
    assert failed == {}
    assert len(passed) > 40
    assert any("sample_weight_equivalence" in r["check_name"] for r in passed)


@every_form
def test_certificate_says_what_was_reached_and_that_no_bound_is_known(cls, form):
    X, y = make_data(cls)
    model = made(cls, form).fit(X, y)
    again = gapless.certify(model, X, y)
    assert model.certificate_.kind == again.kind == "none"
    assert "no bound" in str(again)
    assert model.trace_.training[-1] < model.trace_.training[0]
    assert len(model.trace_.training) == model.trace_.rounds + 1 == len(model.trees_) + 1


@every_form
def test_weight_two_is_the_row_repeated(cls, form):
    X, y = make_data(cls)
    weights = np.random.default_rng(0).integers(0, 4, size=len(X))
    repeated = np.repeat(np.arange(len(X)), weights)
    weighted = made(cls, form).fit(X, y, sample_weight=weights)
    plain = made(cls, form).fit(X[repeated], y[repeated])
    assert_same_model(plain, weighted)
    assert weighted.trace_.rounds == plain.trace_.rounds


def test_weight_two_is_the_row_repeated_on_unseen_data_too():
    X, y = make_data(HistGradientBoostingRegressor)
    weights = np.random.default_rng(0).integers(1, 4, size=len(X))
    repeated = np.repeat(np.arange(len(X)), weights)
    one = HistGradientBoostingRegressor(**SMALL).fit(X, y, weights).generalization_
    other = HistGradientBoostingRegressor(**SMALL).fit(X[repeated], y[repeated]).generalization_
    assert one.unseen == pytest.approx(other.unseen, rel=1e-6)
    assert one.verdict == other.verdict


@every_form
def test_weight_zero_is_the_row_removed(cls, form):
    X, y = make_data(cls)
    there = np.random.default_rng(0).random(len(X)) < 0.7
    X_wild = np.where(there[:, None], X, 1e6 * X)
    weighted = made(cls, form).fit(X_wild, y, sample_weight=there.astype(float))
    assert_same_model(made(cls, form).fit(X[there], y[there]), weighted, rtol=0)


@every_form
def test_row_order_does_not_matter(cls, form):
    X, y = make_data(cls)
    order = np.random.default_rng(0).permutation(len(X))
    assert_same_model(made(cls, form).fit(X, y), made(cls, form).fit(X[order], y[order]))


@every_form
def test_same_bits_for_any_number_of_threads(cls, form):
    X, y = make_data(cls, n=9000)
    models = []
    for count in (1, 3):
        with threads(count):
            models.append(made(cls, form | {"early_stopping": False} if cls in HIST else form))
            models[-1].fit(X, y)
    np.testing.assert_array_equal(*(scores(model, PROBES) for model in models))


@every_class
@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csc_array])
def test_sparse_is_dense(cls, container):
    X, y = make_data(cls)
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    one, other = cls().fit(X, y), cls().fit(container(X), y)
    np.testing.assert_array_equal(scores(other, container(X)), scores(one, X))


@every_class
def test_float32_rows_give_the_model_of_their_values(cls):
    X, y = make_data(cls)
    X32 = X.astype(np.float32)
    single, double = cls().fit(X32, y), cls().fit(X32.astype(float), y)
    np.testing.assert_array_equal(scores(single, X32), scores(double, X32.astype(float)))


@every_class
@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_tables_give_names_and_the_same_model(cls, library):
    X, y = make_data(cls)
    table = library.DataFrame({name: X[:, j] for j, name in enumerate(["age", "height", "weight"])})
    model = cls().fit(table, library.Series(y))
    assert list(model.feature_names_in_) == ["age", "height", "weight"]
    np.testing.assert_array_equal(scores(model, table), scores(cls().fit(X, y), X))
    assert not hasattr(clone(model).fit(X, y), "feature_names_in_")


@every_class
@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_categories_and_missing_values_are_taken_as_they_are(cls, library):
    rng = np.random.default_rng(0)
    kind = rng.choice(["a", "b", "c", "d"], 300)
    x = np.where(rng.random(300) < 0.3, np.nan, rng.normal(size=300))
    signal = np.isin(kind, ["a", "c"]) * 2.0 - 1.0 + np.isnan(x)
    y = (signal > 0.5).astype(int) if is_classifier(cls()) else signal
    table = library.DataFrame({"kind": kind, "x": x})
    model = cls().fit(table, y)
    assert model.score(table, y) > 0.99
    unseen = library.DataFrame({"kind": ["z", None], "x": [0.0, 0.0]})
    found = scores(model, unseen)
    assert found[0] == found[1]  # a level that was never seen is a missing value


@pytest.mark.parametrize("cls", HIST)
def test_negative_numbers_of_categories_are_missing(cls):
    X, y = make_data(cls)
    X[:, 1] = np.arange(len(X)) % 5 - 2
    gaps = np.where(X < 0, np.nan, X)[:, 1]
    model, other = (cls(categorical_features=[1], min_samples_leaf=3) for _ in range(2))
    model.fit(X, y)
    other.fit(np.c_[X[:, 0], gaps, X[:, 2]], y)
    np.testing.assert_array_equal(scores(model, X), scores(other, X))
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    named = clone(model).set_params(categorical_features=["b"]).fit(table, y)
    np.testing.assert_array_equal(scores(named, table), scores(model, X))


@pytest.mark.parametrize("loss", ["log_loss", "exponential", "softmax", "hinge"])
def test_a_single_class_is_predicted_for_all_rows(loss):
    X, y = make_data(HistGradientBoostingRegressor)
    model = HistGradientBoostingClassifier(loss=loss, max_iter=3).fit(X, np.full(len(y), "a"))
    assert set(model.predict(PROBES)) == {"a"}
    assert all(np.all(tree.value == 0) for trees in model.trees_ for tree in trees)
    if model.loss_.has_probabilities:
        np.testing.assert_array_equal(model.predict_proba(PROBES), np.ones((len(PROBES), 1)))
        np.testing.assert_array_equal(model.predict_log_proba(PROBES), np.zeros((len(PROBES), 1)))


@pytest.mark.parametrize(
    "theirs, ours",
    [
        (peers.HalfSquaredError(), {"loss": "squared_error"}),
        (peers.AbsoluteError(), {"loss": "absolute_error"}),
        (peers.PinballLoss(quantile=0.8), {"loss": "quantile", "quantile": 0.8}),
        (peers.HuberLoss(delta=0.3), {"loss": Huber(0.3)}),
        (peers.HalfBinomialLoss(), {"loss": "log_loss"}),
    ],
)
def test_losses_of_scikit_learn_mean_the_same(theirs, ours):
    cls = HIST[0] if ours["loss"] == "log_loss" else HIST[1]
    X, y = make_data(cls)
    assert_same_model(cls(**SMALL | ours).fit(X, y), cls(loss=theirs, **SMALL).fit(X, y), rtol=0)


def test_loss_of_scikit_learn_without_counterpart_is_named():
    X, y = make_data(HistGradientBoostingRegressor)
    with pytest.raises(ValueError, match="HalfTweedieLossIdentity of scikit-learn has no counterp"):
        HistGradientBoostingRegressor(loss=peers.HalfTweedieLossIdentity()).fit(X, y)


BOOSTED_LOSSES = [
    pytest.param(cls, loss, id=f"{cls.__name__}-{name}")
    for name, loss in Loss.registry.items()
    if loss.refusal is None and loss.caution is None
    for cls in (*HIST, GradientBoostingClassifier, GradientBoostingRegressor)
    if is_classifier(cls()) or loss.task == "regression"
    if not is_classifier(cls()) or loss.targets == "real"
]


@pytest.mark.parametrize("cls, loss", BOOSTED_LOSSES)
def test_every_loss_that_makes_sense_is_boosted(cls, loss):
    """The squared loss on −1 and +1, too: the first rounds lower it, and labels are predicted."""
    X, y = make_data(cls)
    y = y if loss.targets == "real" else np.exp(y / 3)
    rounds = {"max_iter": 5} if cls in HIST else {"n_estimators": 5}
    model = cls(loss=loss(), learning_rate=0.5, **rounds).fit(X, y)
    z = model._raw_predict(X)
    own = np.searchsorted(model.classes_, y) if is_classifier(model) else y
    own = own if loss.task == "multiclass" or not is_classifier(model) else 2.0 * own - 1
    z = z if loss.task == "multiclass" else z[:, 0]
    start = best_start(model.loss_, own, np.ones(len(y)), z.shape[1] if z.ndim == 2 else 1)
    before = model.loss_.value(own, np.zeros_like(z) + (start if z.ndim == 2 else start[0])).mean()
    assert model.loss_.value(own, z).mean() < 0.99 * before
    if is_classifier(model):
        assert np.mean(model.predict(X) == y) > 0.7


@pytest.mark.parametrize(("loss", "instead"), [("zero_one", "hinge"), ("perceptron", "hinge")])
@pytest.mark.parametrize("cls", [HIST[0], GradientBoostingClassifier])
def test_losses_without_a_slope_to_follow_are_refused(cls, loss, instead):
    X, y = make_data(cls)
    with pytest.raises(ValueError, match=rf"loss='{loss}' cannot be boosted: .*{instead}"):
        cls(loss=loss).fit(X, y)


def test_losses_of_positive_numbers_are_refused_for_classes():
    X, y = make_data(GradientBoostingClassifier)
    with pytest.raises(ValueError, match="loss='poisson' is for positive numbers; use a regressor"):
        GradientBoostingClassifier(loss="poisson").fit(X, y)


def test_the_squared_loss_begins_at_the_probabilities_of_another_classifier():
    X, y = make_data(GradientBoostingClassifier)
    init = DecisionTreeClassifier(max_depth=1).fit(X, y)
    model = GradientBoostingClassifier(
        loss="squared", init=init, n_estimators=1, learning_rate=1e-9
    )
    z = model.fit(X, y).decision_function(X)
    np.testing.assert_allclose(z, 2 * init.predict_proba(X)[:, 1] - 1, atol=1e-6)


@pytest.mark.parametrize(
    "cls, loss",
    [
        (GradientBoostingRegressor, "squared_error"),
        (GradientBoostingRegressor, "absolute_error"),
        (GradientBoostingRegressor, "quantile"),
        (GradientBoostingRegressor, "huber"),
        (GradientBoostingClassifier, "log_loss"),
        (GradientBoostingClassifier, "exponential"),
        (GradientBoostingClassifier, "softmax"),
    ],
)
def test_loss_for_tools_of_scikit_learn_has_the_same_values(cls, loss):
    X, y = make_data(cls)
    model = cls(loss=loss, n_estimators=3).fit(X, y)
    z, y = scores(model, X), y.astype(float)
    own = 2 * y - 1 if model.loss_.task == "binary" else y
    value = model.loss_.value(own.astype(int) if loss == "softmax" else own, z).mean()
    assert model._loss(y, z) == pytest.approx(value)


def test_weights_count_in_the_loss_for_tools_of_scikit_learn():
    X, y = make_data(GradientBoostingClassifier)
    model = GradientBoostingClassifier(loss="hinge", n_estimators=3).fit(X, y)
    z, weights = scores(model, X), np.arange(len(y)) % 3
    repeated = model._loss(np.repeat(y, weights), np.repeat(z, weights))
    assert model._loss(y, z, weights) == pytest.approx(repeated)


@every_form
def test_pickle_and_clone(cls, form):
    X, y = make_data(cls)
    model = made(cls, form).fit(X, y)
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(scores(model, X), scores(copied, X))
    assert str(copied.certificate_) == str(model.certificate_)
    with pytest.raises(AttributeError, match=r"call gapless\.generalize\(model, X, y"):
        copied.generalization_  # noqa: B018 - reading it is what fails
    assert_same_model(model, clone(model).fit(X, y), rtol=0)


@every_form
def test_model_rebuilt_from_its_stored_attributes_is_the_same(cls, form):
    X, y = make_data(cls)
    model = made(cls, form).fit(X, y)
    learned = {name for name in model.__getstate__() if name not in model.get_params(deep=False)}
    assert learned <= set(cls._stored)
    rebuilt = cls(**model.get_params(deep=False))
    for name in cls._stored:
        if name in vars(model):
            setattr(rebuilt, name, vars(model)[name])
    np.testing.assert_array_equal(scores(rebuilt, X), scores(model, X))


@every_class
def test_time_limit_keeps_the_rounds_so_far(cls):
    X, y = make_data(cls)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = cls(time_limit=1e-9).fit(X, y)
    assert len(model.trees_) < 100
    assert "stopped after" in str(model.certificate_)
    assert any(issubclass(w.category, ConvergenceWarning) for w in caught)
    assert np.all(np.isfinite(scores(model, X)))


@every_form
def test_warm_start_goes_on_where_the_fit_ended(cls, form):
    X, y = make_data(cls)
    rounds = "max_iter" if cls in HIST else "n_estimators"
    model = made(cls, form | {rounds: 3, "warm_start": True}).fit(X, y)
    model.set_params(**{rounds: 6}).fit(X, y)
    assert_same_model(made(cls, form | {rounds: 6}).fit(X, y), model, rtol=1e-12)


@every_form
def test_stages_end_with_the_prediction(cls, form):
    X, y = make_data(cls)
    model = made(cls, form).fit(X, y)
    stages = list(model.staged_predict(X))
    assert len(stages) == len(model.trees_)
    if is_classifier(model):
        np.testing.assert_array_equal(stages[-1], model.predict(X))
    else:
        np.testing.assert_allclose(stages[-1], model.predict(X), rtol=1e-12)


@every_class
def test_ctrl_c_keeps_the_rounds_so_far(cls, monkeypatch):
    X, y = make_data(cls)
    whole = cls(random_state=0).fit(X, y)
    grow, calls = Rounds.grow, []

    def third_is_interrupted(self, *args):
        calls.append(args)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return grow(self, *args)

    monkeypatch.setattr(Rounds, "grow", third_is_interrupted)
    model = cls(random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert len(model.trees_) == 2 and model.trace_.rounds == 2
    assert model.certificate_.verdict.startswith("stopped after 2 of 100 rounds")
    stages = list(whole.staged_predict(X))
    np.testing.assert_allclose(model.predict(X), stages[1], rtol=1e-12)
    assert vars(model).keys() == vars(whole).keys()


@every_class
def test_error_leaves_the_model_as_it_was(cls):
    X, y = make_data(cls)
    model = cls().fit(X, y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="sample_weight"):
        model.fit(np.ones((len(X), 7)), y, sample_weight=-np.ones(len(X)))
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())


@every_form
def test_caller_arrays_are_not_written_to(cls, form):
    X, y = make_data(cls)
    weights = np.ones(len(X))
    for array in (X, y, weights):
        array.flags.writeable = False
    made(cls, form).fit(X, y, sample_weight=weights).predict(X)


@every_class
def test_parameters_are_checked_by_name(cls):
    assert set(cls._parameter_constraints) == set(cls().get_params(deep=False))


@every_class
@pytest.mark.usefixtures("no_verdict")
def test_the_unseen_score_is_near_that_of_new_data(cls):
    X, y = make_data(cls, n=150)
    model = cls().fit(X, y)
    result = model.generalization_
    assert result.method.startswith("5-fold")
    assert result.train == pytest.approx(model.score(X, y))
    new = np.mean([model.score(*make_data(cls, n=150, seed=seed)) for seed in range(3)])
    assert abs(result.unseen - new) < 4 * result.standard_error


@pytest.mark.usefixtures("no_verdict")
def test_rows_of_one_x_are_unseen_together():
    # Without the one class of an x alone a model would say the other: an accuracy below 1/2.
    rng = np.random.default_rng(0)
    X = rng.integers(3, size=(200, 2)).astype(float)
    y = (rng.random(200) < np.where(X[:, 0] > 1, 0.8, 0.2)).astype(int)
    assert HistGradientBoostingClassifier(**SMALL).fit(X, y).generalization_.unseen > 0.7


@pytest.mark.parametrize("cls", HIST)
@pytest.mark.parametrize("is_apart", [False, True])
@pytest.mark.usefixtures("no_verdict")
def test_both_gaps_are_of_the_rows_that_trees_were_grown_on(cls, is_apart):
    X, y = make_data(cls)
    new = dict(zip(("X_val", "y_val"), make_data(cls, seed=1))) if is_apart else {}
    model = cls(early_stopping=True, random_state=0, **SMALL).fit(X, y, **new)
    assert gapless.certify(model, X, y).primal == pytest.approx(model.certificate_.primal)
    assert model.generalization_.train == pytest.approx(model.score(X, y))


@every_class
def test_other_data_are_refused(cls):
    X, y = make_data(cls)
    model = cls().fit(X, y)
    with pytest.raises(ValueError, match=r"does not match these data"):
        gapless.generalize(model, X, y[::-1])
