"""Every support vector machine, in every form of its objective, keeps every promise."""

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
from gapless import kernels
from gapless._ground.threads import threads
from gapless.models import svm
from gapless.models.svm import support_vectors

MACHINES = [getattr(svm, name) for name in svm.__all__]
CLASSIFIERS = [cls for cls in MACHINES if is_classifier(cls())]
FORMS = {
    "SVC": [
        {},
        {"kernel": "linear", "C": 0.3},
        {"multi_class": "ovr", "gamma": 0.2},
        {"kernel": "poly", "degree": 2, "class_weight": "balanced"},
        {"C": np.inf},
        {"multi_class": "crammer_singer", "gamma": 0.2},
        {"multi_class": "weston_watkins", "kernel": "linear", "class_weight": "balanced"},
        {"kernel": 0.5 * kernels.Linear() + kernels.Laplacian(gamma=0.1), "C": 2.0},
        {"approximation": "nystroem", "n_components": 25, "gamma": 0.2},
    ],
    "SVR": [
        {},
        {"kernel": "linear", "epsilon": 0.5},
        {"kernel": "laplacian", "epsilon": 0.0},
        {"approximation": "random_features", "n_components": 20, "gamma": 0.2},
    ],
    "NuSVC": [{"nu": 0.2}, {"nu": 0.2, "gamma": 0.1, "multi_class": "ovr"}],
    "NuSVR": [{}, {"kernel": "linear", "nu": 0.2, "C": 0.03}],
    "OneClassSVM": [{}, {"nu": 0.2, "gamma": 0.1}],
}
CASES = [
    pytest.param(cls, form, id=f"{cls.__name__}{'-' if form else ''}{_short}")
    for cls in MACHINES
    for form in FORMS[cls.__name__]
    for _short in ["-".join(f"{k}={v}" for k, v in form.items())]
]
every_form = pytest.mark.parametrize("cls, form", CASES)
every_machine = pytest.mark.parametrize("cls", MACHINES)
every_classifier = pytest.mark.parametrize("cls", CLASSIFIERS)
SEED = 20240607


def make_data(cls, n=60, d=5, classes=3, seed=SEED):
    """Features of different size, and targets or overlapping classes that depend on them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * [1.0, 0.5, 2.0, 1.0, 1.0] + [0, 1, 0, -1, 0]
    score = X @ rng.normal(size=(d, 3)) + 3.0 * rng.normal(size=(n, 3))
    if is_classifier(cls()):
        y = np.argmax(score[:, :classes] * [1.0, 1.2, 0.8][:classes], axis=1)
        return X, np.array(["apple", "pear", "quince"])[y]
    return X, score[:, 0]


def build(cls, form, **more):
    """The machine with a tolerance so small that solutions can be compared digit by digit."""
    return cls(**{"tol": 1e-10, **form, **more})


def fit(model, X, y, **more):
    """Fit; a gap that rounding keeps above the tolerance does not matter here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y, **more)


PROBES = 2.0 * np.random.default_rng(1).normal(size=(40, 5))


def assert_same_model(one, other, rtol=1e-5):
    """Scores of rows that neither has seen."""
    expected = one._scores(PROBES)
    scale = max(np.max(np.abs(expected)), 1e-3)
    np.testing.assert_allclose(other._scores(PROBES), expected, rtol=rtol, atol=rtol * scale)


def test_every_machine_is_public_and_has_its_forms():
    assert {cls.__name__ for cls in MACHINES} == set(FORMS)
    assert all(getattr(gapless, cls.__name__) is cls for cls in MACHINES)


@every_machine
def test_check_estimator_passes_with_no_expected_failures(cls):
    results = check_estimator(cls(), on_skip=None, on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    passed = [r for r in results if r["status"] == "passed"]
    assert failed == {}
    assert len(passed) > 40
    assert any("sample_weight_equivalence" in r["check_name"] for r in passed)


@every_form
def test_certificate_is_optimal_and_certify_agrees(cls, form):
    X, y = make_data(cls)
    model = cls(**form).fit(X, y)
    again = gapless.certify(model, X, y)
    assert model.certificate_.kind == again.kind == "optimal"
    assert again.primal == pytest.approx(model.certificate_.primal, rel=1e-9, abs=1e-9)
    assert 0 <= again.gap <= again.tolerance


@every_form
def test_the_gap_falls_with_the_tolerance(cls, form):
    X, y = make_data(cls)
    loose, sharp = cls(**form).fit(X, y), build(cls, form).fit(X, y)
    assert sharp.certificate_.gap <= 1e-8 * sharp.certificate_.scale
    rounding = min(loose.certificate_.gap, 1e-13 * sharp.certificate_.scale)
    least = sharp.certificate_.primal - sharp.certificate_.gap
    assert least <= loose.certificate_.primal + rounding
    excess = loose.certificate_.primal - sharp.certificate_.primal
    assert excess <= loose.certificate_.gap * (1 + 1e-9)


@every_form
def test_weight_two_is_the_row_repeated(cls, form):
    X, y = make_data(cls)
    weights = np.random.default_rng(SEED).integers(0, 4, size=len(X))
    repeated = np.repeat(np.arange(len(X)), weights)
    weighted = fit(build(cls, form), X, y, sample_weight=weights)
    plain = fit(build(cls, form), X[repeated], y[repeated])
    assert_same_model(plain, weighted, rtol=1e-9)
    assert weighted.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=1e-9)


@every_form
def test_weight_zero_is_the_row_removed(cls, form):
    X, y = make_data(cls)
    there = np.random.default_rng(SEED).random(len(X)) < 0.7
    X_wild = np.where(there[:, None], X, 1e6 * X)
    weighted = fit(build(cls, form), X_wild, y, sample_weight=there.astype(float))
    assert_same_model(fit(build(cls, form), X[there], y[there]), weighted, rtol=1e-9)
    assert set(weighted.kkt_status_[~there]) == {"absent"}
    assert there[weighted.support_].all()


@every_form
def test_row_order_does_not_matter(cls, form):
    X, y = make_data(cls)
    order = np.random.default_rng(SEED).permutation(len(X))
    one, other = fit(build(cls, form), X, y), fit(build(cls, form), X[order], y[order])
    np.testing.assert_allclose(other._scores(PROBES), one._scores(PROBES), rtol=1e-10, atol=1e-10)
    assert sorted(order[other.support_]) == sorted(one.support_)


@every_form
def test_multipliers_keep_to_their_bounds_also_of_equal_rows(cls, form):
    X, y = make_data(cls, n=40)
    X, y = np.vstack([X, X[:15]]), np.concatenate([y, y[:15]])
    weights = np.random.default_rng(SEED).random(len(X)) + 0.5
    model = fit(cls(**form), X, y, sample_weight=weights)
    if not np.isfinite(getattr(model, "C", 1.0)):
        return
    limit = weights * getattr(model, "C", 1.0)
    if is_classifier(model):
        limit = limit * model.class_weight_[np.searchsorted(model.classes_, y)]
    if form.get("multi_class") == "weston_watkins":
        limit = 2 * limit  # the own class has what both rivals have
    if cls is not svm.NuSVC:  # its multipliers are divided by ρ
        assert np.all(np.abs(model.dual_coef_) <= limit[model.support_] * (1 + 1e-9))
    bounded = np.any(model.kkt_status_ == "bounded")
    assert bounded == np.any(np.isclose(np.abs(model.dual_coef_), limit[model.support_])) or (
        cls is svm.NuSVC
    )


@every_form
@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csc_array, sp.lil_matrix])
def test_sparse_is_dense(cls, form, container):
    X, y = make_data(cls)
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    one, other = fit(build(cls, form), X, y), fit(build(cls, form), container(X), y)
    expected = one._scores(X)
    assert sp.issparse(other.support_vectors_)
    assert sp.issparse(other.dual_coef_)
    for rows in (container(X), X):
        np.testing.assert_allclose(other._scores(rows), expected, rtol=1e-6, atol=1e-6)
    with pytest.raises(ValueError, match=r"cannot use sparse input.*X\.toarray"):
        one._scores(container(X))
    assert gapless.certify(other, container(X), y).gap <= 1e-6 * other.certificate_.scale


@every_form
def test_float32_stays_float32(cls, form):
    X, y = make_data(cls)
    X32 = X.astype(np.float32)
    single, double = fit(cls(**form), X32, y), fit(cls(**form), X32.astype(float), y)
    assert single.support_vectors_.dtype == np.float32
    assert single._scores(X32).dtype == np.float32
    assert double._scores(X32.astype(float)).dtype == np.float64
    scale = np.abs(double._scores(X)).max()
    np.testing.assert_allclose(single._scores(X32), double._scores(X), atol=1e-2 * scale)
    assert single.certificate_.kind == "optimal"


@every_machine
@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_tables_give_names_and_the_same_model(cls, library):
    X, y = make_data(cls)
    names = ["age", "height", "weight", "income", "score"]
    table = library.DataFrame({name: X[:, j] for j, name in enumerate(names)})
    model = fit(cls(), table, library.Series(y))
    assert list(model.feature_names_in_) == names
    np.testing.assert_array_equal(fit(cls(), X, y)._scores(X), model._scores(table))
    assert not hasattr(fit(model, X, y), "feature_names_in_")


@every_form
def test_pickle_and_clone(cls, form):
    X, y = make_data(cls)
    model = fit(cls(**form), X, y)
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model._scores(X), copied._scores(X))
    assert str(copied.certificate_) == str(model.certificate_)
    np.testing.assert_array_equal(fit(clone(model), X, y)._scores(X), model._scores(X))


@every_form
def test_model_rebuilt_from_its_stored_attributes_is_the_same(cls, form):
    X, y = make_data(cls)
    model = fit(cls(**form), X, y)
    learned = {name for name in model.__getstate__() if name not in model.get_params(deep=False)}
    assert learned <= set(cls._stored)
    rebuilt = cls(**model.get_params(deep=False))
    for name in learned:
        setattr(rebuilt, name, getattr(model, name))
    np.testing.assert_array_equal(rebuilt.predict(X), model.predict(X))
    assert gapless.certify(rebuilt, X, y).gap == gapless.certify(model, X, y).gap


@every_form
def test_time_limit_keeps_an_honest_gap(cls, form):
    X, y = make_data(cls, n=150)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = cls(**form, time_limit=1e-9).fit(X, y)
        except ValueError as error:  # a hard margin that was not found in time
            assert "time" in str(error)
            return
    best = fit(build(cls, form), X, y)
    here = gapless.certify(model, X, y)
    assert here.gap >= (here.primal - best.certificate_.primal) * (1 - 1e-9)
    assert model.certificate_.gap >= (here.primal - best.certificate_.primal) * (1 - 1e-9)
    if model.certificate_.kind == "stopped":
        assert any("time_limit" in str(w.message) for w in caught)


@every_form
def test_same_bits_for_any_number_of_threads(cls, form):
    is_hard = form.get("C") == np.inf or cls is svm.NuSVC
    X, y = make_data(cls, n=150 if is_hard else 1200)
    models = []
    for count in (1, 3):
        with threads(count):
            models.append(fit(cls(**form), X, y))
    for name in ("support_", "dual_coef_", "intercept_", "kkt_violation_"):
        np.testing.assert_array_equal(getattr(models[1], name), getattr(models[0], name))
    with threads(1):
        scores = models[0]._scores(X)
    with threads(3):
        np.testing.assert_array_equal(models[0]._scores(X), scores)


@every_form
def test_error_leaves_the_model_as_it_was(cls, form):
    X, y = make_data(cls)
    model = fit(cls(**form), X, y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((len(X), 7), np.nan), y)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())


@every_form
def test_caller_arrays_are_not_written_to(cls, form):
    X, y = make_data(cls)
    weights = np.ones(len(X))
    for array in (X, y, weights):
        array.flags.writeable = False
    fit(cls(**form), X, y, sample_weight=weights).predict(X)


@every_machine
def test_parameters_are_checked_by_name(cls):
    assert set(cls._parameter_constraints) == set(cls().get_params(deep=False))


# ---- conditions of optimality --------------------------------------------------------------------


@every_form
def test_rows_are_inactive_on_the_margin_or_bounded(cls, form):
    X, y = make_data(cls, classes=2)
    model = fit(build(cls, form), X, y)
    is_support = np.isin(np.arange(len(X)), model.support_)
    np.testing.assert_array_equal(model.kkt_status_ != "inactive", is_support)
    assert model.kkt_violation_.max() <= 1e-6
    z = model._scores(X)[:, 0]
    if is_classifier(model):
        short = 1 - np.where(y == model.classes_[1], 1, -1) * z
    elif cls is svm.OneClassSVM:
        short = -z
    else:
        short = np.abs(y - z) - getattr(model, "epsilon_", getattr(model, "epsilon", 0.0))
    room = 1e-5
    assert np.all(short[model.kkt_status_ == "inactive"] <= room)
    assert np.all(np.abs(short[model.kkt_status_ == "on margin"]) <= room)
    assert np.all(short[model.kkt_status_ == "bounded"] >= -room)


@every_form
@pytest.mark.parametrize("changed", ["dual_coef_", "intercept_"])
def test_gap_bounds_what_a_changed_model_loses(cls, form, changed):
    X, y = make_data(cls, n=40)
    best = fit(build(cls, form), X, y)
    model = pickle.loads(pickle.dumps(best))
    rng = np.random.default_rng(SEED)
    values = getattr(model, changed).copy()
    values *= 1 + 0.05 * rng.normal(size=values.shape)
    setattr(model, changed, values + (0.01 if changed == "intercept_" else 0.0))
    here = gapless.certify(model, X, y)
    assert here.kind == "stopped"
    if here.gap < np.inf:  # rows on the wrong side of a hard margin
        assert here.gap >= here.primal - best.certificate_.primal - 1e-9 * abs(here.primal)
        assert here.gap > 1e-5 * here.scale


@pytest.mark.parametrize("kernel", ["sigmoid", "precomputed"])
def test_an_indefinite_kernel_has_no_bound_and_says_so(kernel):
    X, y = make_data(svm.SVC, n=80)
    K = X
    if kernel == "precomputed":
        K = np.tanh(X @ X.T - 1)
    model = svm.SVC(kernel=kernel, coef0=-1.0, gamma=1.0).fit(K, y)
    assert model.certificate_.kind == "stationary"
    assert "not positive semi-definite" in str(model.certificate_)
    assert model.kkt_violation_.max() <= 1e-3


def test_given_values_of_a_kernel_are_proved_as_the_kernel_is():
    X, y = make_data(svm.SVC)
    by_name = svm.SVC(kernel="rbf", gamma=0.1, tol=1e-9).fit(X, y)
    K = kernels.Gaussian(gamma=0.1).gram(X)
    given = svm.SVC(kernel="precomputed", tol=1e-9).fit(K, y)
    assert given.certificate_.kind == "optimal"
    np.testing.assert_allclose(given._scores(K), by_name._scores(X), atol=1e-6)
    gaussian = kernels.Gaussian(gamma=0.1)
    called = svm.SVC(kernel=lambda A, B: gaussian.gram(A, B), tol=1e-9).fit(X, y)
    assert called.certificate_.kind == "optimal"
    np.testing.assert_allclose(called._scores(X), by_name._scores(X), atol=1e-6)


# ---- classes -------------------------------------------------------------------------------------


@every_classifier
def test_class_without_weight_does_not_exist(cls):
    X, y = make_data(cls)
    weights = (y != "pear").astype(float)
    model = fit(build(cls, {}), X, y, sample_weight=weights)
    assert list(model.classes_) == ["apple", "quince"]
    assert_same_model(fit(build(cls, {}), X[weights > 0], y[weights > 0]), model)


@every_classifier
def test_balanced_classes_weigh_the_same(cls):
    X, y = make_data(cls)
    weights = np.random.default_rng(SEED).random(len(X)) + 0.5
    totals = {label: weights[y == label].sum() for label in set(y)}
    by_hand = weights * weights.sum() / (3 * np.array([totals[label] for label in y]))
    # γ is that of the weights of rows, without those of classes.
    balanced = build(cls, {"class_weight": "balanced", "gamma": 0.1})
    fit(balanced, X, y, sample_weight=weights)
    assert_same_model(fit(build(cls, {"gamma": 0.1}), X, y, sample_weight=by_hand), balanced)


@every_classifier
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("arrangement", ["ovo", "ovr", "crammer_singer"])
def test_scores_probabilities_and_classes_agree(cls, classes, arrangement):
    if arrangement == "crammer_singer" and cls is not svm.SVC:
        pytest.skip("one hinge for all classes is SVC's alone")
    X, y = make_data(cls, classes=classes)
    model = cls(multi_class=arrangement, **FORMS[cls.__name__][0]).fit(X, y)
    scores = model.decision_function(PROBES)
    assert scores.shape == ((len(PROBES),) if classes == 2 else (len(PROBES), classes))
    position = (scores > 0).astype(int) if classes == 2 else scores.argmax(axis=1)
    np.testing.assert_array_equal(model.predict(PROBES), model.classes_[position])
    p = model.predict_proba(PROBES)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(PROBES))
    np.testing.assert_allclose(np.exp(model.predict_log_proba(PROBES)), p)
    # A copy has them, too, whether or not they were computed before.
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(PROBES), p)
    fresh = pickle.loads(pickle.dumps(clone(model).fit(X, y)))
    np.testing.assert_array_equal(fresh.predict_proba(PROBES), p)


# ---- unseen data ---------------------------------------------------------------------------------


@every_form
def test_every_machine_says_how_it_will_do(cls, form, request):
    X, y = make_data(cls)
    if form != FORMS[cls.__name__][0]:
        request.getfixturevalue("no_verdict")
    model = fit(cls(**form), X, y)
    result = model.generalization_
    assert result.kind in ("over-fitted", "under-fitted", "balanced")
    assert result.unseen <= result.train + 0.1
    request.getfixturevalue("no_verdict")
    again = gapless.generalize(model, X, y)
    # Near a border the last digit of a solution decides.
    assert again.unseen == pytest.approx(result.unseen, abs=1e-6 if cls is not svm.NuSVC else 0.05)
    with pytest.raises(ValueError, match="does not match these data"):
        gapless.generalize(model, 1.1 * X, y)
    if form.get("C") != np.inf:  # whose margin is the same for all weights
        with pytest.raises(ValueError, match="does not match these data"):
            gapless.generalize(model, X, y, np.linspace(0.5, 1.5, len(y)))
    copied = pickle.loads(pickle.dumps(model))
    assert copied.generalization_ == result


@pytest.mark.parametrize("cls", [svm.SVR, svm.NuSVR])
def test_intervals_hold_the_targets_of_most_rows(cls):
    X, y = make_data(cls, n=300)
    model = cls(C=3.0).fit(X[:150], y[:150])
    prediction, lower, upper = model.predict(X[150:], interval=0.8)
    np.testing.assert_array_equal(prediction, model.predict(X[150:]))
    assert 0.7 <= np.mean((lower <= y[150:]) & (y[150:] <= upper)) <= 0.95
    again = gapless.intervals(model, X[:150], y[:150], X[150:], coverage=0.8)
    np.testing.assert_allclose(again.lower, lower, atol=1e-2)


@every_classifier
def test_sets_hold_the_classes_of_most_rows(cls):
    X, y = make_data(cls, n=300)
    model = cls(**FORMS[cls.__name__][0]).fit(X[:150], y[:150])
    sets = model.predict_set(X[150:], coverage=0.8)
    assert np.mean(sets[y[150:][:, None] == model.classes_]) >= 0.7
    assert np.all(sets[model.predict(X[150:])[:, None] == model.classes_])


# ---- hard margins, limits, texts -----------------------------------------------------------------


def test_a_hard_margin_needs_separable_classes():
    X, y = make_data(svm.SVC, classes=2)
    with pytest.raises(
        ValueError, match=r"not separable, .* C=inf has no solution; set a finite C"
    ):
        svm.SVC(C=np.inf, kernel="linear").fit(X, y)


def test_nu_must_leave_a_margin():
    X, y = make_data(svm.NuSVC, classes=2)
    with pytest.raises(ValueError, match="the margin ρ is 0 at this nu; raise nu"):
        svm.NuSVC(nu=0.05, kernel="linear").fit(X, y)


def test_a_tube_without_errors_may_not_exist():
    X, y = make_data(svm.SVR)
    with pytest.raises(ValueError, match="no function keeps all targets within epsilon"):
        svm.SVR(C=np.inf, kernel="linear", epsilon=0.01).fit(X, y)


@every_machine
def test_max_iter_warns_as_scikit_learn_does(cls):
    X, y = make_data(cls, n=200)
    with pytest.warns(ConvergenceWarning, match=r"Solver terminated early \(max_iter=3\)"):
        model = cls(max_iter=3, gamma=0.1).fit(X, y)
    assert model.fit_status_ == 1
    assert np.max(model.n_iter_) == 3
    assert model.certificate_.kind == "stopped"


def test_an_unbalanced_nu_is_lowered_with_a_warning():
    X, y = make_data(svm.NuSVC, classes=2)
    keep = np.concatenate([np.flatnonzero(y == "apple")[:5], np.flatnonzero(y == "pear")])
    with pytest.warns(UserWarning, match="specified nu is infeasible: nu=0.9 is more than"):
        model = svm.NuSVC(nu=0.9).fit(X[keep], y[keep])
    assert model.certificate_.kind == "optimal"


def test_texts_go_to_the_kernel():
    texts = ["anna", "banana", "ananas", "kiwi", "wiki", "kiwis"]
    y = [0, 0, 0, 1, 1, 1]
    model = svm.SVC(kernel=kernels.Spectrum(2)).fit(texts, y)
    assert list(model.predict(["bananas", "a kiwi"])) == [0, 1]
    assert gapless.certify(model, texts, y).kind == "optimal"


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_few_rows_and_many_have_the_same_scores(rng, monkeypatch, dtype):
    """Of few rows the kernel values are kept for all classes, and support vectors stay ready."""
    X, y = rng.standard_normal((60, 3)).astype(dtype), np.arange(60) % 4
    model = gapless.SVC(decision_function_shape="ovo").fit(X, y)
    few = np.vstack([model.decision_function(X[i : i + 1]) for i in range(len(X))])
    monkeypatch.setattr(support_vectors, "FEW_VALUES", 0)
    # |score| ≤ Σ|θ| + |b|, for sums of 60 products.
    size = np.abs(model.dual_coef_).sum() + np.abs(model.intercept_).max()
    rounding = 64 * np.finfo(dtype).eps * size
    np.testing.assert_allclose(few, model.decision_function(X), rtol=0, atol=rounding)


def test_support_vectors_that_somebody_changes_are_read_again(rng):
    X, y = rng.standard_normal((40, 2)), np.arange(40) % 2
    model = gapless.SVC().fit(X, y)
    before = model.decision_function(X)
    model.support_vectors_ += 1.0
    np.testing.assert_allclose(model.decision_function(X + 1.0), before, rtol=1e-10)
    twin = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(twin.decision_function(X), model.decision_function(X))
