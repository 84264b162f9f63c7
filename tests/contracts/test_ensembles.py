"""Forests, bagging and AdaBoost keep every promise, in every form."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import check_estimator

import gapless
from gapless import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from gapless._ground.threads import threads
from gapless.models.forests import growing
from gapless.models.forests.forest import Forest
from gapless.unseen.versions import more_rounds
from public_estimators import public_estimators

FORESTS = public_estimators("forests")
CLASSES = public_estimators("bagging") + FORESTS
FORMS = [
    (BaggingClassifier, {}),
    (BaggingClassifier, {"estimator": gapless.LogisticRegression(), "max_features": 2}),
    (BaggingClassifier, {"estimator": KNeighborsClassifier(3), "max_samples": 0.7}),
    (BaggingClassifier, {"estimator": gapless.LogisticRegression(), "voting": "hard"}),
    (BaggingClassifier, {"bootstrap": False, "max_samples": 0.6, "bootstrap_features": True}),
    (BaggingRegressor, {}),
    (BaggingRegressor, {"estimator": gapless.Ridge()}),
    (ExtraTreesClassifier, {}),
    (ExtraTreesClassifier, {"bootstrap": True, "criterion": "entropy"}),
    (ExtraTreesRegressor, {"min_samples_leaf": 2}),
    (RandomForestClassifier, {}),
    (RandomForestClassifier, {"class_weight": "balanced_subsample", "max_samples": 0.8}),
    (RandomForestClassifier, {"max_leaf_nodes": 6, "class_weight": {0: 3.0}}),
    (RandomForestClassifier, {"max_bins": 8}),
    (RandomForestRegressor, {}),
    (RandomForestRegressor, {"criterion": "absolute_error", "max_depth": 4}),
    (RandomForestRegressor, {"ccp_alpha": 0.05, "max_features": 2}),
]
# Their first members decide on the others: fewer or more of them may decide otherwise.
TUNED_FORMS = [
    (RandomForestClassifier, {"min_samples_leaf": "oob"}),
    (RandomForestRegressor, {"min_samples_leaf": "oob"}),
]
# Their members depend on those before: none is out of bag, and none can be added to a fit.
BOOSTED = public_estimators("adaboost")
BOOSTED_FORMS = [
    (AdaBoostClassifier, {}),
    (AdaBoostClassifier, {"learning_rate": 0.3, "n_estimators": 20}),
    (AdaBoostClassifier, {"estimator": gapless.DecisionTreeClassifier(max_depth=2)}),
    (AdaBoostClassifier, {"estimator": gapless.LogisticRegression(C=100.0)}),
    (AdaBoostRegressor, {}),
    (AdaBoostRegressor, {"loss": "square", "estimator": gapless.Ridge()}),
]


def cases(forms):
    return [
        pytest.param(
            cls, form, id=f"{cls.__name__}-{'-'.join(f'{k}={v}' for k, v in form.items())}"
        )
        for cls, form in forms
    ]


every_form = pytest.mark.parametrize("cls, form", cases(FORMS))
every_class = pytest.mark.parametrize("cls", CLASSES)
every_ensemble = pytest.mark.parametrize("cls, form", cases(FORMS + TUNED_FORMS + BOOSTED_FORMS))
every_kind = pytest.mark.parametrize("cls", CLASSES + BOOSTED)
every_forest = pytest.mark.parametrize("cls", FORESTS)
PROBES = 1.5 * np.random.default_rng(1).normal(size=(40, 3))


def make(cls, form, **more):
    """An estimator of a few members, seeded."""
    return cls(**{"n_estimators": 6, "random_state": 0} | form | more)


def make_data(cls, n=60, seed=20240607):
    """Features of different size, and classes or numbers that depend on them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 0.5, 2.0] + [0, 1, -1]
    y = np.sin(X[:, 0]) + 0.5 * X[:, 2] + 0.3 * rng.normal(size=n)
    if is_classifier(cls()):
        return X, np.digitize(y, np.quantile(y, [0.3, 0.7]))
    return X, y


def answers(model, X):
    """A model's answers for rows: probabilities, or numbers."""
    return model.predict_proba(X) if is_classifier(model) else model.predict(X)


def assert_same_model(one, other):
    """The same answers for rows that neither has seen, to the last bits."""
    np.testing.assert_allclose(answers(other, PROBES), answers(one, PROBES), rtol=1e-9, atol=1e-9)


def test_every_class_has_its_forms():
    assert {cls for cls, _ in FORMS + BOOSTED_FORMS} == {*CLASSES, *BOOSTED}


@every_kind
def test_check_estimator_passes_with_no_expected_failures(cls):
    results = check_estimator(cls(n_estimators=4), on_skip=None, on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    passed = [r for r in results if r["status"] == "passed"]
    assert failed == {}
    assert len(passed) > 40
    assert any("sample_weight_equivalence" in r["check_name"] for r in passed)


@every_form
def test_certificate_says_that_there_is_no_bound(cls, form):
    X, y = make_data(cls)
    model = make(cls, form).fit(X, y)
    assert model.certificate_.kind == "none"
    assert "no objective" in str(model.certificate_)
    assert str(gapless.certify(model, X, y)) == str(model.certificate_)


@every_ensemble
def test_weight_two_is_the_row_repeated(cls, form):
    X, y = make_data(cls)
    weights = np.random.default_rng(0).integers(0, 4, size=len(X))
    repeated = np.repeat(np.arange(len(X)), weights)
    weighted = make(cls, form).fit(X, y, sample_weight=weights)
    plain = make(cls, form).fit(X[repeated], y[repeated])
    assert_same_model(plain, weighted)


@pytest.mark.parametrize(
    "cls, form",
    [
        (RandomForestClassifier, {}),
        (BaggingRegressor, {}),
        (ExtraTreesRegressor, {}),
        (AdaBoostClassifier, {}),
    ],
)
def test_weights_are_repeats_for_the_unseen_score_too(cls, form):
    X, y = make_data(cls)
    weights = np.random.default_rng(0).integers(0, 4, size=len(X))
    repeated = np.repeat(np.arange(len(X)), weights)
    one = make(cls, form).fit(X, y, sample_weight=weights).generalization_
    other = make(cls, form).fit(X[repeated], y[repeated]).generalization_
    assert one.unseen == pytest.approx(other.unseen, rel=1e-9)
    assert one.standard_error == pytest.approx(other.standard_error, rel=1e-9)
    assert one.verdict == other.verdict


@every_ensemble
def test_weight_zero_is_the_row_removed(cls, form):
    X, y = make_data(cls)
    there = np.random.default_rng(0).random(len(X)) < 0.7
    X_wild = np.where(there[:, None], X, 1e6 * X)
    weighted = make(cls, form).fit(X_wild, y, sample_weight=there.astype(float))
    assert_same_model(make(cls, form).fit(X[there], y[there]), weighted)


@every_ensemble
def test_row_order_does_not_matter(cls, form):
    X, y = make_data(cls)
    order = np.random.default_rng(0).permutation(len(X))
    one, other = make(cls, form).fit(X, y), make(cls, form).fit(X[order], y[order])
    np.testing.assert_array_equal(answers(one, PROBES), answers(other, PROBES))


def test_any_learner_has_its_rows_in_order_of_their_content():
    """Of a learner that depends on the order of the rows, too."""
    X, y = make_data(BaggingClassifier)
    order = np.random.default_rng(0).permutation(len(X))
    form = {"estimator": SGDClassifier(shuffle=False, max_iter=5, tol=None)}
    one = make(BaggingClassifier, form).fit(X, y)
    other = make(BaggingClassifier, form).fit(X[order], y[order])
    np.testing.assert_array_equal(one.predict(PROBES), other.predict(PROBES))


@every_ensemble
def test_same_bits_for_any_number_of_threads(cls, form):
    X, y = make_data(cls, n=200)
    models = []
    for count in (1, 3):
        with threads(count):
            models.append(make(cls, form).fit(X, y))
    np.testing.assert_array_equal(*(answers(model, PROBES) for model in models))


@every_ensemble
@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csc_array])
def test_sparse_is_dense(cls, form, container):
    X, y = make_data(cls)
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    one, other = make(cls, form).fit(X, y), make(cls, form).fit(container(X), y)
    np.testing.assert_allclose(answers(other, container(X)), answers(one, X), rtol=1e-6)


@every_kind
@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_tables_give_names_and_the_same_model(cls, library):
    X, y = make_data(cls)
    table = library.DataFrame({name: X[:, j] for j, name in enumerate(["age", "height", "weight"])})
    model = make(cls, {}).fit(table, library.Series(y))
    assert list(model.feature_names_in_) == ["age", "height", "weight"]
    np.testing.assert_allclose(answers(model, table), answers(make(cls, {}).fit(X, y), X))
    with warnings.catch_warnings():
        # A caller who passes a table gets no warning about missing names.
        warnings.filterwarnings("error", message=".*feature names")
        assert np.isfinite(model.generalization_.unseen)
    assert not hasattr(clone(model).fit(X, y), "feature_names_in_")


@every_forest
@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
@pytest.mark.usefixtures("no_verdict")
def test_categories_and_missing_values_are_taken_as_they_are(cls, library):
    X, y = make_data(cls, n=200)
    city = np.array(["Rome", "Oslo", "Lima", "Cairo"], dtype=object)[
        np.digitize(X[:, 2], [-3, 0, 2])
    ]
    age = np.where(np.arange(200) % 7 == 0, np.nan, X[:, 0])
    table = library.DataFrame({"age": age, "city": city})
    model = make(cls, {}, n_estimators=20).fit(table, y)
    assert model.score(table, y) > 0.7
    new = library.DataFrame({"age": [np.nan, 0.5], "city": ["Paris", "Oslo"]})
    assert np.all(np.isfinite(answers(model, new)))
    assert model.generalization_.unseen > 0.3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.estimators_[0].predict(table)
    assert pickle.loads(pickle.dumps(model)).predict(new).shape == (2,)


@every_ensemble
def test_pickle_and_clone(cls, form):
    X, y = make_data(cls)
    model = make(cls, form).fit(X, y)
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(answers(model, X), answers(copied, X))
    assert str(copied.certificate_) == str(model.certificate_)
    with pytest.raises(AttributeError, match=r"call gapless\.generalize\(model, X, y"):
        copied.generalization_  # noqa: B018 - reading it is what fails
    np.testing.assert_array_equal(answers(clone(model).fit(X, y), X), answers(model, X))


@every_ensemble
def test_model_rebuilt_from_its_stored_attributes_is_the_same(cls, form):
    X, y = make_data(cls)
    model = make(cls, form).fit(X, y)
    learned = model.__getstate__().keys() - vars(clone(model)).keys()
    assert learned <= set(cls._stored)
    rebuilt = cls(**model.get_params(deep=False))
    for name in learned:
        setattr(rebuilt, name, getattr(model, name))
    np.testing.assert_array_equal(answers(rebuilt, X), answers(model, X))


@every_form
def test_time_limit_keeps_what_is_grown_and_says_so(cls, form):
    X, y = make_data(cls)
    with (
        threads(1),
        pytest.warns(ConvergenceWarning, match="stopped at its time_limit=1e-09 with 1 of 6"),
    ):
        model = make(cls, form, time_limit=1e-9).fit(X, y)
    assert model.certificate_.verdict.startswith("stopped with 1 of 6 members")
    alone = make(cls, form, n_estimators=1).fit(X, y)
    np.testing.assert_array_equal(answers(model, X), answers(alone, X))


@every_form
def test_interrupt_keeps_the_members_so_far(cls, form, monkeypatch):
    X, y = make_data(cls)
    # What is called for the members of one step.
    home, name = (growing, "grow_trees") if issubclass(cls, Forest) else (cls, "_columns")
    draw, calls = getattr(home, name), []

    def interrupted(*args):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return draw(*args)

    monkeypatch.setattr(home, name, interrupted)
    model = make(cls, form, n_estimators=60)
    with threads(1), pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert 1 <= len(model) < 60
    assert "of 60 members" in str(model.certificate_)
    assert np.all(np.isfinite(answers(model, PROBES)))


@every_form
@pytest.mark.usefixtures("no_verdict")
def test_warm_start_adds_members(cls, form):
    X, y = make_data(cls)
    grown = make(cls, form, n_estimators=3, warm_start=True).fit(X, y)
    grown.set_params(n_estimators=7).fit(X, y)
    at_once = make(cls, form, n_estimators=7).fit(X, y)
    np.testing.assert_array_equal(answers(grown, PROBES), answers(at_once, PROBES))
    assert grown.generalization_.unseen == at_once.generalization_.unseen


@pytest.mark.parametrize("other", [lambda y: y + 1, lambda y: np.arange(len(y)) % 5])
def test_warm_start_refuses_other_classes(other):
    X, y = make_data(gapless.RandomForestClassifier)
    _, y = np.unique(y, return_inverse=True)
    for target in (y, np.column_stack([y, y])):
        grown = gapless.RandomForestClassifier(3, warm_start=True).fit(X, target)
        new = other(y) if target.ndim == 1 else np.column_stack([y, other(y)])
        with pytest.raises(ValueError, match="fitted with other features"):
            grown.set_params(n_estimators=5).fit(X, new)
        assert len(grown) == 3
    bagged = gapless.BaggingClassifier(n_estimators=3, warm_start=True).fit(X, y)
    for changed in ((X, other(y)), (X[:, 1:], y)):
        with pytest.raises(ValueError, match="fitted with other features"):
            bagged.set_params(n_estimators=5).fit(*changed)


@every_ensemble
def test_error_leaves_the_model_as_it_was(cls, form):
    X, y = make_data(cls)
    model = make(cls, form).fit(X, y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="inf"):
        model.fit(np.full((len(X), 7), np.inf), y)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())


@every_ensemble
def test_caller_arrays_are_not_written_to(cls, form):
    X, y = make_data(cls)
    weights = np.ones(len(X))
    for array in (X, y, weights):
        array.flags.writeable = False
    answers(make(cls, form).fit(X, y, sample_weight=weights), X)


@every_kind
def test_parameters_are_checked_by_name(cls):
    assert set(cls._parameter_constraints) == set(cls().get_params(deep=False))


# ---- unseen data ---------------------------------------------------------------------------------


@every_form
@pytest.mark.usefixtures("no_verdict")
def test_the_unseen_score_is_near_that_of_new_data(cls, form):
    X, y = make_data(cls, n=150)
    model = make(cls, form, n_estimators=20).fit(X, y)
    result = model.generalization_
    is_drawn = model.bootstrap
    assert result.method.startswith("out of bag" if is_drawn else "5-fold")
    assert result.train == pytest.approx(model.score(X, y))
    new = np.mean([model.score(*make_data(cls, n=300, seed=seed)) for seed in range(3)])
    assert abs(result.unseen - new) < 4 * result.standard_error + 0.02


REPEATING = [
    (BaggingClassifier, {"oob_score": True}),
    (RandomForestClassifier, {"oob_score": True}),
    (ExtraTreesClassifier, {}),
    (AdaBoostClassifier, {}),
]


@pytest.mark.parametrize(("cls", "form"), cases(REPEATING))
@pytest.mark.usefixtures("no_verdict")
def test_rows_that_repeat_with_both_classes_are_not_held_against_a_model(cls, form):
    # No model gets more than 80 % right. Without all equals of a row only those that contradict
    # it would be left, and nothing would be.
    rng = np.random.default_rng(0)
    X = rng.integers(0, 12, size=(600, 1)).astype(float)
    y = np.where(rng.random(600) < 0.8, X[:, 0] < 6, X[:, 0] >= 6).astype(int)
    model = cls(n_estimators=8, random_state=0, **form).fit(X, y)
    assert 0.7 < model.generalization_.unseen < 0.85
    assert 0.7 < getattr(model, "oob_score_", 0.75) < 0.85


@pytest.mark.usefixtures("no_verdict")
def test_rows_that_repeat_are_no_fewer_for_having_little_weight():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 50, size=(200, 1)).astype(float), rng.integers(0, 2, size=200)
    model = RandomForestClassifier(5, random_state=0).fit(X, y, sample_weight=np.full(200, 0.1))
    assert model.generalization_.method.startswith("5-fold")


@pytest.mark.parametrize(("cls", "form"), cases(REPEATING))
@pytest.mark.usefixtures("no_verdict")
def test_rows_without_weight_change_no_unseen_score(cls, form):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 12, size=(60, 1)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    y, weights = rng.integers(0, 2, size=60), rng.integers(0, 2, size=60).astype(float)
    weighted = cls(n_estimators=3, random_state=0, **form).fit(X, y, sample_weight=weights)
    alone = cls(n_estimators=3, random_state=0, **form).fit(X[weights > 0], y[weights > 0])
    assert weighted.generalization_.unseen == alone.generalization_.unseen
    assert getattr(weighted, "oob_score_", 0) == getattr(alone, "oob_score_", 0)


@pytest.mark.parametrize("cls", [BaggingClassifier, RandomForestRegressor])
def test_weights_that_are_shares_are_warned_of(cls):
    X, y = make_data(cls)
    with pytest.warns(UserWarning, match="only 1 of 60 rows are drawn .* a mean of 1"):
        make(cls, {}).fit(X, y, sample_weight=np.full(60, 1 / 60))


def test_intervals_of_more_rows_than_calibrate(monkeypatch):
    monkeypatch.setattr("gapless.unseen.conformal.MOST_ROWS", 30)
    X, y = make_data(RandomForestRegressor, n=80)
    found = RandomForestRegressor(5, random_state=0).fit(X, y).predict(X[:4], interval=0.8)
    assert np.all(found.lower <= found.upper)


@pytest.mark.parametrize("cls", [BaggingRegressor, RandomForestClassifier, RandomForestRegressor])
def test_out_of_bag_is_the_mean_of_members_that_did_not_see_the_row(cls):
    X, y = make_data(cls)
    model = make(cls, {}, n_estimators=12, oob_score=True).fit(X, y)
    found = model.oob_decision_function_ if is_classifier(model) else model.oob_prediction_
    for i in range(0, len(X), 7):
        free = [
            answers(member, X[[i]])[0]
            for member, rows in zip(model.estimators_, model.estimators_samples_)
            if i not in rows
        ]
        np.testing.assert_allclose(found[i], np.mean(free, axis=0))


@every_ensemble
def test_other_data_are_refused(cls, form):
    X, y = make_data(cls)
    model = make(cls, form).fit(X, y)
    with pytest.raises(ValueError, match="not the training data"):
        gapless.generalize(model, X, y[::-1])


@every_kind
@pytest.mark.usefixtures("no_verdict")
def test_pure_noise_is_not_oversold(cls):
    X, y = make_data(cls, n=80)
    y = np.random.default_rng(3).permutation(y)
    result = make(cls, {}, n_estimators=20).fit(X, y).generalization_
    chance = 0.4 if is_classifier(cls()) else 0.0
    assert result.unseen < chance + 0.05 + 2 * result.standard_error


@every_kind
@pytest.mark.usefixtures("no_verdict")
def test_groups_are_left_out_as_a_whole(cls):
    X, y = make_data(cls)
    model = make(cls, {}).fit(X, y)
    result = gapless.generalize(model, X, y, groups=np.arange(60) // 15)
    assert result.method.startswith("refits (each group left out)")


@every_class
def test_few_members_say_that_rows_have_no_score(cls):
    X, y = make_data(cls)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="do not have OOB scores"):
            make(cls, {}, n_estimators=1, bootstrap=True, oob_score=True).fit(X, y)


def test_no_version_of_a_verdict_is_boosted_without_end():
    few, many = more_rounds("n_estimators", 8), more_rounds("n_estimators", 800)
    assert few(3) == {"n_estimators": 216} and few(4) is None
    # Of many rounds there is still one step to more.
    assert many(1) == {"n_estimators": 2400} and many(2) is None
