"""Solvers as values of estimators: parameters, copies, files, warnings."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

import gapless
from gapless.solvers import (
    LBFGS,
    Adam,
    Backtracking,
    GradientDescent,
    InverseTime,
    Momentum,
    Named,
    Nesterov,
    Subgradient,
    registry,
)

rng = np.random.default_rng(7)
X = rng.normal(size=(60, 3))
y = X @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=60)

VALUES = [
    GradientDescent(step=0.3),
    GradientDescent(step=Backtracking(shrink=0.7), update=Nesterov()),
    GradientDescent(step=InverseTime(5.0, 50.0), update=Adam(decay=0.0), batch_size=8),
    GradientDescent(update=Momentum(0.5), keep_iterates=True),
    LBFGS(memory=3),
    Subgradient(),
    Named("newton"),
]


@pytest.mark.parametrize("solver", VALUES, ids=str)
def test_a_value_survives_copies_and_files(solver, tmp_path):
    model = clone(gapless.Ridge(solver=solver, tol=0.1)).fit(X, y)
    assert model.get_params()["solver"] == solver
    gapless.save(model, tmp_path / "model.gapless")
    loaded = gapless.load(tmp_path / "model.gapless")
    assert loaded.solver == solver
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_solvers_can_be_searched():
    search = GridSearchCV(
        gapless.Ridge(), {"solver": ["cholesky", GradientDescent(), LBFGS()]}, cv=2
    ).fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    np.testing.assert_allclose(scores, scores[0], atol=1e-3)


@pytest.mark.parametrize(
    ("solver", "loss"),
    [("momentum", "logistic"), ("nesterov", "softmax"), ("mini_batch", "hinge"), (LBFGS(), None)],
    ids=str,
)
def test_classifiers_of_several_classes_take_them(solver, loss):
    labels = np.digitize(y, [-1.0, 1.0])
    model = gapless.LogisticRegression(solver=solver, max_iter=100, tol=1e-3)
    if loss is not None:
        model = gapless.RiskClassifier(loss=loss, solver=solver, max_iter=100, tol=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = model.fit(X, labels).certificate_
    best = clone(model).set_params(solver="auto", tol=1e-8).fit(X, labels).certificate_
    assert -1e-9 * best.primal <= found.primal - best.primal <= found.gap * (1 + 1e-9)
    assert found.primal - best.primal <= 0.02 * best.scale


def test_steps_that_are_too_long_warn_with_the_cure_and_keep_the_best():
    model = gapless.Ridge(solver=GradientDescent(step=100.0))
    with pytest.warns(ConvergenceWarning, match="diverged: the objective grew .* leave step= out"):
        model.fit(X, y)
    assert model.certificate_.kind == "stopped" and np.all(np.isfinite(model.coef_))
    assert model.certificate_.gap > 0 and model.solver_ == "gradient_descent"


def test_a_pass_that_is_not_enough_is_called_stopped_with_its_gap():
    model = gapless.Ridge(solver="online", tol=1e-8)
    with pytest.warns(ConvergenceWarning, match="after 1 steps. Increase the number of iterations"):
        model.fit(X, y)
    assert model.certificate_.kind == "stopped" and model.n_iter_ == 1
    best = gapless.Ridge().fit(X, y).certificate_
    assert model.certificate_.primal - best.primal <= model.certificate_.gap * (1 + 1e-9)


@pytest.mark.parametrize(
    "solver", ["online", Named("online"), GradientDescent(batch_size=8, passes=1)]
)
def test_passes_hold_even_if_max_iter_allows_more(solver):
    model = gapless.LogisticRegression(solver=solver, max_iter=100)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y > np.median(y))
    assert model.n_iter_ == 1


def test_every_registered_name_is_the_name_of_what_it_stands_for():
    for name, solver in registry.items():
        assert solver.name == name


def test_what_is_not_a_solver_is_refused():
    with pytest.raises(ValueError, match="'solver' parameter of Ridge must be"):
        gapless.Ridge(solver=3).fit(X, y)


def test_ctrl_c_keeps_the_best_iterate(monkeypatch):
    """Interrupted in the third step, the model has the coefficients of the best so far."""
    taken = []
    step = Momentum._step

    def interrupted(self, *args):
        taken.append(1)
        if len(taken) == 6:  # w and b
            raise KeyboardInterrupt
        return step(self, *args)

    monkeypatch.setattr(Momentum, "_step", interrupted)
    model = gapless.Ridge(solver=GradientDescent(step=0.2, update=Momentum()))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.certificate_.kind == "stopped" and model.trace_.steps == 2
    assert model.certificate_.primal == pytest.approx(min(model.trace_.primal))


def test_every_estimator_that_counts_its_steps_has_a_trace():
    classes = [getattr(gapless, name) for name in gapless.__all__]
    counting = [c for c in classes if "n_iter_" in getattr(c, "_stored", {})]
    assert {"Ridge", "SVC", "LogisticRegressionCV"} <= {c.__name__ for c in counting}
    # Networks keep more than an objective, in `history_`; eigenvalues are not approached by one.
    kept = {"trace_", "history_"}
    lacking = [c.__name__ for c in counting if not kept & c._stored.keys()]
    assert [name for name in lacking if name != "KernelPCA"] == []
