"""What support vector machines say and do where data or limits are not as they should be."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import gapless
from gapless import SVC, NuSVC, OneClassSVM
from gapless.models.svm import free_set
from gapless.models.svm.tuning_scores import Candidates


def make_data(n=60, classes=3):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    return X, np.digitize(X[:, 0] + 0.3 * rng.normal(size=n), [-0.5, 0.5][: classes - 1])


# ---- limits --------------------------------------------------------------------------------------


def test_a_search_without_any_trial_says_so():
    X, y = make_data()
    with pytest.warns(ConvergenceWarning, match=r"chose nothing.*Increase the time_limit"):
        model = SVC(C="loo", gamma="loo", time_limit=1e-9).fit(X, y)
    assert model.C_ == 10.0


def test_ctrl_c_in_a_search_keeps_the_best_values_so_far(monkeypatch):
    X, y = make_data()
    new, tried = Candidates._new, []

    def stopping(self, values):
        if len(tried) == 3:
            raise KeyboardInterrupt
        tried.append(new(self, values))
        return tried[-1]

    monkeypatch.setattr(Candidates, "_new", stopping)
    model = SVC(C="loo", gamma="loo")
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    best = max(tried, key=lambda trial: trial.merit)
    assert {"C": model.C_, "gamma": model.gamma_} == best.values
    assert len(model.search_.unseen) == 3
    assert model.predict(X).shape == y.shape


def test_a_limit_that_nobody_set_is_not_called_max_iter(monkeypatch):
    X, y = make_data()
    monkeypatch.setattr(free_set, "PATIENCE", 1)
    monkeypatch.setattr(free_set, "MORE", 0)
    monkeypatch.setattr(free_set, "TURNS", 1)
    with pytest.warns(ConvergenceWarning, match=r"stopped at relative gap.*tol") as caught:
        model = SVC(C=1e3, tol=1e-9).fit(X[:, :1], y)
    assert not any("max_iter" in str(w.message) for w in caught)
    assert model.certificate_.kind == "stopped" and model.fit_status_ == 1


@pytest.mark.parametrize("max_iter", [1, 30, 200, 1000])
def test_a_warning_comes_exactly_with_a_gap(max_iter):
    X, y = make_data(classes=2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = SVC(max_iter=max_iter).fit(X, y)
    assert (model.certificate_.kind == "stopped") == bool(caught) == bool(model.fit_status_)


# ---- data ----------------------------------------------------------------------------------------


def test_kernel_values_that_are_no_numbers_are_named():
    X, y = make_data()
    with pytest.raises(ValueError, match="values that are not finite"):
        SVC(kernel=lambda a, b: np.full((len(a), len(b)), np.nan)).fit(X, y)


def test_a_class_of_weight_zero_is_not_there():
    X, y = make_data()
    model = SVC(class_weight={0: 0}).fit(X, y)
    np.testing.assert_array_equal(model.classes_, [1, 2])
    np.testing.assert_array_equal(model.class_weight_, [1.0, 1.0])
    expected = SVC(gamma=model._gamma).fit(X[y > 0], y[y > 0])
    np.testing.assert_allclose(model._scores(X), expected._scores(X), atol=1e-2)


def test_an_asymmetric_matrix_is_named():
    rng = np.random.default_rng(0)
    K = rng.normal(size=(60, 60))
    model = SVC(kernel="precomputed").fit(K, np.arange(60) % 2)
    assert "not symmetric" in str(model.certificate_)


def test_certify_takes_other_targets_for_what_they_are():
    X, y = make_data()
    model = SVC().fit(X, y)
    assert "not the training data, or" in gapless.certify(model, X, np.roll(y, 7)).verdict


def test_the_certificate_of_a_region_needs_no_targets():
    X, _ = make_data()
    model = OneClassSVM(nu=0.3).fit(X)
    assert gapless.certify(model, X).gap == pytest.approx(model.certificate_.gap, rel=1e-6)


@pytest.mark.parametrize("form", [{}, {"C": 100.0}, {"multi_class": "ovr"}], ids=str)
@pytest.mark.parametrize("others", [1, 2])
def test_the_only_row_of_a_class_counts_as_wrong(form, others):
    X, _ = make_data(45)
    y = np.where(np.arange(45) == 0, 9, np.arange(45) % others)
    model = SVC(**form).fit(X, y)
    found = model._fitted_to(X, y).held_out(None)
    assert np.isfinite(found).all()
    assert model.classes_[model._positions(found[:1])[0]] != 9
    assert model.generalization_.unseen <= 44 / 45 + 1e-12


# ---- predictions ---------------------------------------------------------------------------------


def test_predictions_are_those_of_the_fit_whatever_the_parameters_are_by_now():
    X, y = make_data()
    model = SVC(multi_class="ovr").fit(X, y)
    labels, scores = model.predict(X), model.decision_function(X)
    model.set_params(multi_class="ovo")
    np.testing.assert_array_equal(model.predict(X), labels)
    np.testing.assert_array_equal(model.decision_function(X), scores)


def test_probabilities_in_single_precision_agree_with_predictions_at_ties():
    X = np.array([[-1.0], [1.0]], dtype=np.float32)
    model = SVC(kernel="linear").fit(X, [0, 1])
    near = np.array([[1e-8], [-1e-8]], dtype=np.float32)
    p = model.predict_proba(near)
    assert p.dtype == np.float32
    np.testing.assert_array_equal(p.argmax(axis=1), model.predict(near))


def test_logarithms_of_small_probabilities_come_without_a_warning():
    X, y = make_data(classes=2)
    model = SVC(kernel="linear", C=100.0).fit(X.astype(np.float32), y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.all(model.predict_log_proba(1e4 * X.astype(np.float32)) <= 0)


# ---- what scikit-learn's users expect ------------------------------------------------------------


def test_rows_of_negative_weight_are_left_out_with_a_warning_that_names_one():
    X, y = make_data()
    weights = np.ones(len(X))
    weights[[3, 8]] = -0.5, -2
    with pytest.warns(UserWarning, match=r"row 3 has weight -0\.5; give such rows weight 0"):
        model = SVC().fit(X, y, sample_weight=weights)
    without = SVC().fit(X, y, sample_weight=np.maximum(weights, 0))
    np.testing.assert_array_equal(model.dual_coef_, without.dual_coef_)
    assert model.kkt_status_[3] == "absent"


@pytest.mark.filterwarnings("ignore:The `probability`:FutureWarning")
def test_probability_false_hides_predict_proba_and_nothing_else():
    X, y = make_data()
    model = SVC(probability=False).fit(X, y)
    assert not hasattr(model, "predict_proba") and not hasattr(model, "predict_log_proba")
    assert hasattr(SVC(), "predict_proba")
    assert model.generalization_.metric == SVC().fit(X, y).generalization_.metric
    assert model.predict_set(X[:5]).shape == (5, 3)


def test_the_sigmoids_of_pairs_are_there_as_libsvm_has_them():
    X, y = make_data(classes=2)
    model = SVC().fit(X, y)
    with pytest.warns(FutureWarning, match="call predict_proba"):
        slope, shift = model.probA_, model.probB_
    expected = 1 / (1 + np.exp(slope * model.decision_function(X) + shift))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, rtol=1e-12)


def test_attributes_of_libsvm_have_its_sign_for_two_classes_alone():
    X, y = make_data(classes=2)
    two, three = SVC().fit(X, y), SVC().fit(*make_data())
    np.testing.assert_array_equal(two._dual_coef_, -two.dual_coef_)
    np.testing.assert_array_equal(two._intercept_, -two.intercept_)
    np.testing.assert_array_equal(three._dual_coef_, three.dual_coef_)
    np.testing.assert_array_equal(three._intercept_, three.intercept_)


def test_values_that_overflow_are_named_beside_the_words_of_scikit_learn():
    X, y = make_data(classes=2)
    X[4, 1] = 1e300
    with pytest.raises(ValueError, match=r"intercepts are not finite.*row 4, column 1; rescale"):
        SVC().fit(X, y)


def test_a_function_as_kernel_is_asked_about_all_rows_of_the_fit():
    X, y = make_data(classes=2)
    asked = []

    def kernel(A, B):
        asked.append((len(A), len(B)))
        return A @ B.T

    model, linear = SVC(kernel=kernel).fit(X, y), SVC(kernel="linear").fit(X, y)
    asked.clear()
    np.testing.assert_allclose(model.decision_function(X[:7]), linear.decision_function(X[:7]))
    assert asked == [(7, len(X))]


def test_a_pair_of_classes_without_margin_is_a_warning_beside_others_that_have_one():
    # Classes 0 and 1 are the same rows, class 2 is far away.
    X = np.concatenate([np.arange(6.0), np.arange(6.0), np.arange(20.0, 24.0)])[:, None]
    y = np.repeat([0, 1, 2], [6, 6, 4])
    with pytest.warns(ConvergenceWarning, match="margin ρ is 0.*raise nu.*pairs of classes"):
        model = NuSVC(nu=0.3, kernel="linear").fit(X, y)
    assert model.certificate_.kind == gapless.certify(model, X, y).kind == "stopped"
    assert np.isinf(model.margin_[0]) and np.all(np.isfinite(model.margin_[1:]))
    np.testing.assert_array_equal(model.predict(X) == 2, y == 2)
    with pytest.raises(ValueError, match="margin ρ is 0"):
        NuSVC(nu=0.3, kernel="linear").fit(X[:12], y[:12])


# ---- parameters that were changed after the fit --------------------------------------------------


@pytest.mark.parametrize("name", ["ovo", "ovr", "crammer_singer"])
def test_what_is_said_of_a_fit_is_said_of_the_arrangement_that_it_had(name):
    X, y = make_data()
    model = SVC(multi_class=name).fit(X, y)
    scores, unseen = model.decision_function(X), gapless.generalize(model, X, y)
    model.set_params(multi_class="ovr" if name == "ovo" else "ovo")
    np.testing.assert_array_equal(model.decision_function(X), scores)
    assert gapless.certify(model, X, y).kind == "optimal"
    assert gapless.generalize(model, X, y) == unseen
    assert model.fit(X, y).multi_class_ == model.multi_class
