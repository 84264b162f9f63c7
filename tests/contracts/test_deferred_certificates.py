"""Fits that leave their certificate to its first reader keep every promise about it."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import gapless

MODELS = [
    gapless.PoissonRegressor(alpha=0.01),
    gapless.GammaRegressor(alpha=0.01),
    gapless.TweedieRegressor(power=1.5, alpha=0.01),
    gapless.TweedieRegressor(alpha=0.01),
    gapless.HuberRegressor(alpha=0.01),
    gapless.LogisticRegression(),
    gapless.LogisticRegression(fit_intercept=False, class_weight="balanced"),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=str)


def make_data(model, rng, n=80):
    X = rng.normal(size=(n, 3))
    y = np.exp(X @ [0.3, -0.2, 0.1] + 0.3 * rng.normal(size=n))
    return X, (y > 1) + (y > 1.3) if isinstance(model, gapless.LogisticRegression) else y


@pytest.fixture
def waiting(model, rng):
    """A fitted model whose certificate nobody has read, and its data."""
    X, y = make_data(model, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = copy.deepcopy(model).fit(X, y)
    assert "certificate_" not in vars(fitted)
    return fitted, X, y


@every_model
def test_a_certificate_is_computed_when_it_is_read(waiting):
    model, X, y = waiting
    assert "certificate_" in dir(model)
    assert "certificate_" not in vars(model)
    # Later parameters are those of the next fit, and later coefficients nobody's.
    expected = gapless.certify(model, X, y)
    model.set_params(tol=1e-300)
    model.coef_ += 1.0
    found = model.certificate_
    assert found is model.certificate_
    assert found.primal == pytest.approx(expected.primal, rel=1e-12)
    assert 0 <= found.gap <= found.tolerance
    assert found.kind in ("optimal", "exact")


@every_model
def test_copies_and_files_take_the_certificate_along(waiting, tmp_path):
    model, X, y = waiting
    shallow = copy.copy(model)
    assert "certificate_" not in vars(model) and "certificate_" not in vars(shallow)
    gapless.save(model, tmp_path / "model.gapless")
    others = [
        shallow,
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(shallow),
        gapless.load(tmp_path / "model.gapless"),
    ]
    del X, y
    for other in others:
        assert str(other.certificate_) == str(model.certificate_)


@every_model
def test_data_that_have_changed_are_not_certified(waiting):
    model, X, _ = waiting
    twin = copy.copy(model)
    X *= 2
    for other in (model, twin):
        with pytest.raises(ValueError, match="does not match these data"):
            _ = other.certificate_
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copied.coef_, model.coef_)
    assert copied.certificate_.kind == "none"
    assert "had changed" in copied.certificate_.verdict


@every_model
def test_what_is_read_is_of_the_last_fit(waiting, rng):
    model, *_ = waiting
    X, y = make_data(model, rng)
    first = model.certificate_.primal
    model.fit(2 * X, y)
    second = model.certificate_.primal
    assert second != first
    assert second == pytest.approx(gapless.certify(model, 2 * X, y).primal, rel=1e-12)


@every_model
def test_a_model_that_is_not_fitted_has_no_certificate(model):
    assert not hasattr(model, "certificate_")
    assert "certificate_" not in dir(model)


@every_model
def test_no_fit_waits_with_something_to_say(model, rng):
    X, y = make_data(model, rng)

    def is_judged(X, **parameters):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted = copy.deepcopy(model).set_params(**parameters).fit(X, y)
        return "certificate_" in vars(fitted)

    assert is_judged(X, time_limit=100.0)
    assert is_judged(X.astype(np.float32))
    assert is_judged(X + 1e11)
    free = {"C": np.inf} if isinstance(model, gapless.LogisticRegression) else {"alpha": 0.0}
    assert is_judged(X, **free)
    if type(model) is not gapless.TweedieRegressor or model.power:  # which has a closed form
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            copy.deepcopy(model).set_params(max_iter=0).fit(X, y)


def test_counts_that_are_all_zero_are_said_to_have_no_minimiser(rng):
    X = rng.normal(size=(50, 3))
    with pytest.warns(ConvergenceWarning):
        model = gapless.PoissonRegressor().fit(X, np.zeros(50))
    assert model.certificate_.no_minimiser == "all zeros"


@every_model
def test_an_interrupted_certificate_is_computed_when_it_is_read_again(waiting, monkeypatch):
    model, *_ = waiting

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("gapless.models.linear.deferred.certify_all", interrupted)
    with pytest.raises(KeyboardInterrupt):
        _ = model.certificate_
    monkeypatch.undo()
    assert model.certificate_.kind in ("optimal", "exact")


@every_model
def test_the_score_on_unseen_rows_needs_no_certificate_first(waiting):
    model, X, y = waiting
    assert model.generalization_.unseen == pytest.approx(
        gapless.generalize(model, X, y).unseen, rel=1e-9
    )


def test_no_fit_waits_if_a_weak_penalty_makes_much_of_rounding():
    """‖Xᵀθ − λw‖²/2λ is far above the tolerance, though all scores are exact enough."""
    rng = np.random.default_rng(4)
    X = 10 * rng.normal(size=(95, 23))
    y = 1e-5 * (X @ rng.normal(size=23) / 50 + rng.standard_t(2, 95))
    weights = 10.0 ** rng.uniform(-8, 8, 95)
    X += 1e6 * (np.arange(23) % 2)
    with pytest.warns(ConvergenceWarning):
        model = gapless.HuberRegressor(alpha=1.6e-6, epsilon=2.3).fit(X, y, sample_weight=weights)
    assert model.certificate_.kind == "stopped"
