"""Every tree, in every form, keeps every promise."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator

import gapless
import gapless.plots
from gapless._ground.threads import threads
from gapless.models import trees
from gapless.unseen.held_out import folds_of

CLASSES = [getattr(trees, name) for name in trees.__all__ if name in gapless.__all__]
FORMS = {
    "DecisionTreeClassifier": [
        {},
        {"criterion": "entropy", "max_depth": 3, "class_weight": "balanced"},
        {"criterion": "gain_ratio", "min_samples_leaf": 4},
        {"ccp_alpha": 0.02},
        {"ccp_alpha": "cv", "select": "1se"},
        {"prune": "reduced_error", "validation_fraction": 0.3},
        {"prune": "pre_pruning"},
        {"prune": "pessimistic"},
        {"splitter": "random", "max_features": 2, "random_state": 0},
        {"max_leaf_nodes": 6, "max_bins": 8},
    ],
    "DecisionTreeRegressor": [
        {},
        {"criterion": "absolute_error", "max_depth": 3},
        {"ccp_alpha": 0.1},
        {"ccp_alpha": "cv"},
        {"prune": "reduced_error"},
        {"monotonic_cst": [1, 0, -1, 0]},
        {"splitter": "random", "max_features": 0.5, "random_state": 3},
    ],
    "ID3Classifier": [{}, {"max_bins": 3, "max_depth": 2}, {"prune": "reduced_error"}],
    "C45Classifier": [
        {},
        {"prune": None, "min_samples_leaf": 1},
        {"prune": "reduced_error", "validation_fraction": 0.3},
    ],
}
CASES = [
    pytest.param(cls, form, id=f"{cls.__name__}-{'-'.join(f'{k}={v}' for k, v in form.items())}")
    for cls in CLASSES
    for form in FORMS[cls.__name__]
]
every_form = pytest.mark.parametrize("cls, form", CASES)
every_class = pytest.mark.parametrize("cls", CLASSES)
# Forms whose predictions are judged by the rows that they come from.
OWN_ROWS = [
    case
    for case in CASES
    if "monotonic_cst" not in case.values[1]
    and case.values[1].get("prune") not in ("pre_pruning", "reduced_error")
]
PROBES = 1.5 * np.random.default_rng(1).normal(size=(60, 4))


def make_data(cls, n=90, seed=20240607):
    """Features of different size, and targets or overlapping classes that depend on them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) * [1.0, 0.5, 2.0, 1.0]
    score = X[:, 0] - np.abs(X[:, 2]) + 0.5 * rng.normal(size=n)
    if not is_classifier(cls()):
        return X, score
    return X, np.array(["apple", "pear", "quince"])[np.digitize(score, [-1.5, 0.0])]


def answers(model, X=PROBES):
    return model.predict_proba(X) if is_classifier(model) else model.predict(X)


def assert_same_model(one, other):
    np.testing.assert_allclose(answers(other), answers(one), rtol=1e-9, atol=1e-12)
    assert other.tree_.node_count == one.tree_.node_count


def test_every_tree_is_public_and_has_its_forms():
    assert {cls.__name__ for cls in CLASSES} == set(FORMS)
    assert all(getattr(gapless, cls.__name__) is cls for cls in CLASSES)


@every_class
def test_check_estimator_passes_with_no_expected_failures(cls):
    results = check_estimator(cls(), on_skip=None, on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    passed = [r for r in results if r["status"] == "passed"]
    assert failed == {}
    assert len(passed) > 40
    assert any("sample_weight_equivalence" in r["check_name"] for r in passed)


# ---- certificates --------------------------------------------------------------------------------


@every_form
def test_certificate_is_optimal_and_certify_agrees(cls, form):
    X, y = make_data(cls)
    model = cls(**form).fit(X, y)
    again = gapless.certify(model, X, y)
    assert again.primal == pytest.approx(model.certificate_.primal, rel=1e-9)
    if "monotonic_cst" in form:
        assert model.certificate_.kind == again.kind == "bound"
        assert again.gap >= 0
        return
    assert model.certificate_.kind == again.kind == "optimal"
    assert 0 <= again.gap <= again.tolerance
    assert "among its subtrees" in str(again)


def changed(model):
    """The model with a leaf that says something else."""
    other = pickle.loads(pickle.dumps(model))
    leaf = int(np.flatnonzero(other.tree_.feature < 0)[0])
    value = other.tree_.value.copy()
    value[leaf] = np.roll(value[leaf], 1) if is_classifier(model) else value[leaf] + 0.5
    object.__setattr__(other.tree_, "value", value)
    vars(other.tree_).pop("shares", None)
    return other


@pytest.mark.parametrize("cls, form", OWN_ROWS)
def test_a_changed_leaf_is_found(cls, form):
    X, y = make_data(cls)
    model = cls(**form).fit(X, y)
    found = gapless.certify(changed(model), X, y)
    assert found.kind == "stopped"
    assert "fit again" in str(found)


@every_form
def test_other_data_are_found(cls, form):
    X, y = make_data(cls)
    model = cls(**form).fit(X, y)
    order = np.random.default_rng(0).permutation(len(y))
    found = gapless.certify(model, X, y[order])
    assert found.primal > model.certificate_.primal
    with pytest.raises(ValueError, match="does not match these data"):
        gapless.generalize(model, X, y[order])


# ---- weights, order, containers ------------------------------------------------------------------


@every_form
@pytest.mark.usefixtures("no_verdict")
def test_weight_two_is_the_row_repeated(cls, form):
    X, y = make_data(cls)
    weights = np.random.default_rng(0).integers(0, 4, size=len(X))
    repeated = np.repeat(np.arange(len(X)), weights)
    weighted = cls(**form).fit(X, y, sample_weight=weights)
    plain = cls(**form).fit(X[repeated], y[repeated])
    assert_same_model(plain, weighted)
    assert weighted.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=1e-9)
    one, other = weighted.generalization_, plain.generalization_
    assert one.unseen == pytest.approx(other.unseen, rel=1e-9)
    assert one.standard_error == pytest.approx(other.standard_error, rel=1e-9)


@every_form
def test_weight_zero_is_the_row_removed(cls, form):
    X, y = make_data(cls)
    there = np.random.default_rng(0).random(len(X)) < 0.8
    X_wild = np.where(there[:, None], X, 1e6 * X)
    weighted = cls(**form).fit(X_wild, y, sample_weight=there.astype(float))
    assert_same_model(cls(**form).fit(X[there], y[there]), weighted)


@every_form
def test_row_order_does_not_matter(cls, form):
    X, y = make_data(cls)
    order = np.random.default_rng(0).permutation(len(X))
    assert_same_model(cls(**form).fit(X, y), cls(**form).fit(X[order], y[order]))


@every_form
@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csc_array])
def test_sparse_is_dense(cls, form, container):
    X, y = make_data(cls)
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    one, other = cls(**form).fit(X, y), cls(**form).fit(container(X), y)
    np.testing.assert_array_equal(answers(other, container(X)), answers(one, X))


@every_form
def test_float32_has_thresholds_between_its_values(cls, form):
    X, y = make_data(cls)
    X32 = X.astype(np.float32)
    single, double = cls(**form).fit(X32, y), cls(**form).fit(X32.astype(float), y)
    np.testing.assert_array_equal(answers(single, X32), answers(double, X32.astype(float)))


@every_class
@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_tables_give_names_and_the_same_model(cls, library):
    X, y = make_data(cls)
    names = ["age", "height", "weight", "income"]
    table = library.DataFrame({name: X[:, j] for j, name in enumerate(names)})
    model = cls().fit(table, library.Series(y))
    assert list(model.feature_names_in_) == names
    np.testing.assert_array_equal(answers(cls().fit(X, y), X), answers(model, table))
    assert not hasattr(model.fit(X, y), "feature_names_in_")


@every_class
@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_categories_are_taken_as_they_are(cls, library):
    rng = np.random.default_rng(0)
    city, size = rng.choice(["Oslo", "Rome", "Bonn", "Kiev"], 80), rng.normal(size=80)
    y = np.isin(city, ["Oslo", "Kiev"]) ^ (size > 1.0)
    y = np.where(y, "yes", "no") if is_classifier(cls()) else y.astype(float)
    table = library.DataFrame({"city": city, "size": size})
    model = cls().fit(table, y)
    if cls is not trees.ID3Classifier:  # whose bins are not thresholds
        assert model.score(table, y) > 0.9
    assert "city" in model.to_text()
    new = library.DataFrame({"city": ["Paris", None], "size": [0.0, 2.0]})
    assert len(model.predict(new)) == 2
    assert gapless.certify(model, table, y).kind == "optimal"


@every_class
def test_missing_values_go_a_way_that_was_learned(cls):
    X, y = make_data(cls)
    rng = np.random.default_rng(0)
    X[rng.random(X.shape) < 0.2] = np.nan
    model = cls().fit(X, y)
    assert gapless.certify(model, X, y).kind == "optimal"
    assert np.all(np.isfinite(answers(model, np.full((3, 4), np.nan))))


# ---- the rest ------------------------------------------------------------------------------------


@every_form
def test_pickle_and_clone(cls, form):
    X, y = make_data(cls)
    model = cls(**form).fit(X, y)
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(answers(model), answers(copied))
    assert str(copied.certificate_) == str(model.certificate_)
    np.testing.assert_array_equal(answers(clone(model).fit(X, y)), answers(model))


@every_form
def test_model_rebuilt_from_its_stored_attributes_is_the_same(cls, form):
    X, y = make_data(cls)
    model = cls(**form).fit(X, y)
    learned = {name for name in model.__getstate__() if name not in model.get_params(deep=False)}
    assert learned <= set(cls._stored)
    rebuilt = cls(**model.get_params(deep=False))
    for name in learned:
        setattr(rebuilt, name, getattr(model, name))
    np.testing.assert_array_equal(answers(rebuilt), answers(model))
    assert gapless.certify(rebuilt, X, y).gap == gapless.certify(model, X, y).gap
    assert rebuilt.to_text() == model.to_text()


@every_form
def test_time_limit_keeps_a_whole_tree_and_says_so(cls, form):
    X, y = make_data(cls)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = cls(**form, time_limit=1e-9).fit(X, y)
    assert model.certificate_.kind == "stopped"
    assert "time_limit" in str(model.certificate_)
    assert any(issubclass(w.category, ConvergenceWarning) for w in caught)
    assert np.all(np.isfinite(answers(model)))
    enough = cls(**form, time_limit=100.0).fit(X, y)
    assert_same_model(cls(**form).fit(X, y), enough)
    assert enough.certificate_.kind != "stopped"


@every_form
def test_same_bits_for_any_number_of_threads(cls, form):
    X, y = make_data(cls, n=400)
    models = []
    for count in (1, 3):
        with threads(count):
            models.append(cls(**form).fit(X, y))
    np.testing.assert_array_equal(answers(models[1]), answers(models[0]))


@every_form
def test_error_leaves_the_model_as_it_was(cls, form):
    X, y = make_data(cls)
    model = cls(**form).fit(X, y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="inf"):
        model.fit(np.full((len(X), 7), np.inf), y)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())


@every_form
def test_caller_arrays_are_not_written_to(cls, form):
    X, y = make_data(cls)
    weights = np.ones(len(X))
    for array in (X, y, weights):
        array.flags.writeable = False
    cls(**form).fit(X, y, sample_weight=weights).predict(X)


@every_class
def test_parameters_are_checked_by_name(cls):
    assert set(cls._parameter_constraints) == set(cls().get_params(deep=False))


# ---- reading -------------------------------------------------------------------------------------


@every_form
def test_rules_tell_what_the_tree_predicts(cls, form):
    """Each row meets the conditions of one rule, and gets what it says."""
    X, y = make_data(cls)
    model = cls(**form).fit(X, y)
    rules = model.rules()
    assert len(rules) == model.get_n_leaves() == len(str(rules).split("\n"))
    assert sum(rule.share for rule in rules) == pytest.approx(1.0)
    names = [f"x{j}" for j in range(4)]
    for row, said in zip(X[:20], model.predict(X[:20])):
        values = dict(zip(names, row))
        hits = [
            rule for rule in rules if all(c.low < values[c.name] <= c.high for c in rule.conditions)
        ]
        assert len(hits) == 1
        told = hits[0].prediction
        assert (
            told == said if is_classifier(model) else float(told) == pytest.approx(said, rel=1e-4)
        )


@every_form
def test_text_and_path_end_in_the_prediction(cls, form):
    X, y = make_data(cls)
    model = cls(**form).fit(X, y)
    assert len(model.to_text().split("\n")) >= model.get_n_leaves()
    lines = model.path_of(X[0]).split("\n")
    assert len(lines) <= model.get_depth() + 1
    said = model.predict(X[:1])[0]
    assert lines[-1].startswith(f"predict {said if is_classifier(model) else f'{said:.5g}'}")


@every_class
def test_picture_has_a_box_for_each_node_that_is_shown(cls):
    X, y = make_data(cls)
    model = cls(max_depth=3).fit(X, y)
    shown = gapless.plots.tree(model).texts
    assert len(shown) == model.tree_.node_count
    assert str(model.outline().condition[1]) in shown[1].get_text().replace("\n", " ")
    places = [text.get_position() for text in shown]
    assert len(set(places)) == len(places)
    few = gapless.plots.tree(model, max_depth=1).texts
    assert len(few) == 1 + len(model.outline().children[0])


@every_class
def test_predictions_are_constant_in_a_leaf(cls):
    X, y = make_data(cls)
    model = cls(max_depth=3).fit(X, y)
    leaf, said = model.apply(PROBES), model.predict(PROBES)
    assert all(len(set(said[leaf == k])) == 1 for k in set(leaf))


@every_class
@pytest.mark.usefixtures("no_verdict")
def test_unseen_scores_are_worse_than_those_of_an_overgrown_tree(cls):
    X, y = make_data(cls)
    found = cls().fit(X, y).generalization_
    assert found.unseen < found.train
    assert found.standard_error > 0
    assert "fold" in found.method


@pytest.mark.usefixtures("no_verdict")
def test_shuffled_classes_are_told_at_chance_by_a_chosen_price():
    """The choice of ccp_alpha is made again without the rows that judge it."""
    X, _ = make_data(trees.DecisionTreeClassifier, n=120)
    y = np.random.default_rng(3).integers(0, 2, size=120)
    found = gapless.DecisionTreeClassifier(ccp_alpha="cv").fit(X, y).generalization_
    assert abs(found.unseen - 0.5) < 3 * found.standard_error


def make_table(n=200, seed=5):
    """Few levels, some of them rare, so that most rows have equals in x of another class."""
    rng = np.random.default_rng(seed)
    town = rng.choice(["Bonn", "Oslo", "Rome", *"abcdef"], n, p=[0.3, 0.3, 0.34, *6 * [0.01]])
    size = rng.choice([1.0, 2.0, np.nan], n)
    is_yes = rng.random(n) < np.where(town == "Oslo", 0.2, 0.8)
    return pd.DataFrame({"town": town, "size": size}), np.where(is_yes, "yes", "no")


CLASSIFIERS = [cls for cls in CLASSES if is_classifier(cls())]


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_refits_are_what_fits_without_the_rows_say(cls):
    X, y = make_table()
    fitted = cls().fit(X, y)._fitted_to(X, y)
    folds, _ = folds_of(fitted, fitted.distinct, "row")
    for train, test in folds:
        real = cls().fit(X.iloc[train], y[train]).predict_proba(X.iloc[test])
        again = fitted.predict(fitted.fit_to(train), test)
        np.testing.assert_allclose(again, real, atol=1e-12)


@pytest.mark.parametrize("cls", CLASSIFIERS)
@pytest.mark.usefixtures("no_verdict")
def test_rows_of_one_x_are_unseen_together(cls):
    # Without the one class of an x alone a tree would say the other: an accuracy far below 0.8.
    X, y = make_table()
    assert cls().fit(X, y).generalization_.unseen > 0.7
    units = cls().fit(X, y)._fitted_to(X, y).units
    assert units.max() + 1 == len(X.drop_duplicates())


def test_rows_in_the_same_bins_are_different_rows():
    X, y = make_data(gapless.ID3Classifier)
    units = gapless.ID3Classifier(max_bins=2).fit(X, y)._fitted_to(X, y).units
    assert units.max() + 1 == len(X)
