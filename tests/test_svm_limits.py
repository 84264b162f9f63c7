"""Support vector machines within limits: stopped by Ctrl-C, or with little memory."""

import dataclasses

import numpy as np
import pytest

import gapless
from gapless.models.svm import machine as solving


def make_data(n=200):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    return X, (X[:, 0] + np.sin(3 * X[:, 1]) > 0.3).astype(int)


@pytest.fixture
def interrupted(monkeypatch):
    """Let the solver stop after a few steps, as it does on Ctrl-C."""
    solve_box = solving.solve_box

    def stopping(matrix, problems, **options):
        solutions = solve_box(matrix, problems, **{**options, "max_iter": 5})
        return [dataclasses.replace(one, status="interrupted") for one in solutions]

    monkeypatch.setattr(solving, "solve_box", stopping)


def test_ctrl_c_keeps_the_best_solution_with_its_gap(interrupted):
    X, y = make_data()
    model = gapless.SVC()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.certificate_.kind == "stopped"
    assert model.certificate_.gap == pytest.approx(gapless.certify(model, X, y).gap, rel=1e-9)
    assert model.predict(X).shape == y.shape


def test_ctrl_c_before_a_margin_is_found_leaves_the_model_as_it_was(interrupted):
    X, y = make_data()
    model = gapless.SVC(C=np.inf)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert set(vars(model)) == set(model.get_params())


@pytest.mark.parametrize("cls", [gapless.SVC, gapless.SVR, gapless.NuSVR, gapless.OneClassSVM])
def test_a_small_cache_gives_the_same_model(cls):
    X, y = make_data(1500)
    whole, little = cls(tol=1e-6).fit(X, y), cls(tol=1e-6, cache_size=1.0).fit(X, y)
    np.testing.assert_allclose(little._scores(X), whole._scores(X), atol=1e-4)
    assert little.certificate_.kind == "optimal"
