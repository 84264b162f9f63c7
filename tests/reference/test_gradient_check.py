"""gradient_check finds what is wrong, says where, and takes kinks for what they are."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone, is_classifier

import gapless
from gapless.evaluation import gradient_check, numerical_gradient
from gapless.kernels import Polynomial
from gapless.losses import Hinge, Loss, Softmax, Squared, ZeroOne


class Doubled(Loss):
    """A loss whose gradient is twice too large above 2."""

    task = "regression"

    def value(self, y, z):
        return 0.5 * (z - y) ** 2

    def gradient(self, y, z):
        return (z - y) * np.where(z > 2, 2, 1)


def test_wrong_gradient_of_a_loss_is_found_and_located():
    found = gradient_check(Doubled(), at=[0.0, 1.0, 3.0], y=[0.5, 0.5, 0.5])
    assert not found.is_right
    assert (found.claimed, found.measured) == (5.0, pytest.approx(2.5))
    assert str(found) == (
        "wrong: gradient(y=0.5, z=3.) is 5, but finite differences give 2.5 (relative error 1)."
    )
    assert gradient_check(Doubled(), at=[0.0, 1.0], y=[0.5, 0.5]).is_right


def test_wrong_hessian_of_a_loss_is_found():
    class WithoutCross(Softmax):
        def hessian_times(self, y, z, v):
            return self.curvature(y, z) * v

    found = gradient_check(WithoutCross())
    assert not found.is_right
    assert found.where.startswith("hessian_times(y=")


def test_a_gradient_that_is_nan_is_wrong():
    found = gradient_check(lambda x: x[0] ** 2, lambda x: [np.nan], at=[1.0])
    assert not found.is_right


def test_at_a_kink_every_slope_between_the_sides_is_right():
    for slope in (-1.0, 0.0, 0.7, 1.0):
        assert gradient_check(lambda x: abs(x[0]), lambda x, s=slope: [s], at=[0.0]).is_right
    assert not gradient_check(lambda x: abs(x[0]), lambda x: [1.2], at=[0.0]).is_right
    assert gradient_check(Hinge(), at=[1.0, -1.0], y=[1.0, -1.0]).is_right


def test_points_of_any_scale_and_shape():
    assert gradient_check(Squared(), at=[[1e6, 1e-6], [0.0, -3.0]], y=np.zeros((2, 2))).is_right
    W = np.arange(6.0).reshape(2, 3)
    np.testing.assert_allclose(numerical_gradient(lambda W: np.sum(W**3), W), 3 * W**2, atol=1e-8)


MODELS = {
    "squared": gapless.LinearRegression(),
    "positive": gapless.LinearRegression(positive=True),
    "huber, no bias": gapless.RiskRegressor("huber", fit_intercept=False),
    "lasso": gapless.Lasso(0.1),
    "epsilon-insensitive": gapless.LinearSVR(),
    "tuned": gapless.Ridge("loo"),
    "logistic": gapless.LogisticRegression(),
    "hinge": gapless.RiskClassifier("hinge", "l1"),
    "softmax": gapless.RiskClassifier("softmax", "group"),
    "kernel": gapless.KernelLogisticRegression(),
    "kernel ridge": gapless.KernelRidge(alpha=0.1, kernel="rbf"),
    "kernel ridge, no bias": gapless.KernelRidge(
        kernel=Polynomial(2, gamma="scale"), fit_intercept=False
    ),
    "support vectors": gapless.SVC(),
    "one against the rest": gapless.SVC(C=0.1, gamma=0.5, multi_class="ovr"),
    "tube": gapless.SVR(),
    "any kernel": gapless.RiskClassifier("squared_hinge", kernel="rbf"),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_objective_of_every_model_has_its_gradient(name, rng):
    X = rng.normal(size=(40, 3)) * [1.0, 100.0, 0.01] + [0.0, 5.0, 0.0]
    y = X @ [1.0, 0.01, 100.0] + rng.normal(size=40)
    model = clone(MODELS[name])
    if is_classifier(model):
        y = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    weights = rng.integers(0, 3, size=40)
    model.fit(X, y, sample_weight=weights)
    found = gradient_check(model, X=X, y=y, sample_weight=weights)
    assert found.is_right, str(found)


def test_a_model_with_a_wrong_loss_is_found_at_a_given_point(rng):
    X = rng.normal(size=(20, 2))
    y = 10 + X @ [1.0, 1.0]
    model = gapless.RiskRegressor(Doubled(), "none", max_iter=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its gradient leads astray
        model.fit(X, y)
    # Scores are above 2 at the first point and below it at the second.
    assert not gradient_check(model, at=[np.zeros(2), np.array(5.0)], X=X, y=y).is_right
    assert gradient_check(model, at=[np.zeros(2), np.array(0.0)], X=X, y=y).is_right


def test_lists_of_arrays_as_networks_have_them(rng):
    """A network of two layers; the gradient of the second is forgotten, and found."""
    x, W, v = rng.normal(size=(5, 3)), rng.normal(size=(3, 4)), rng.normal(size=4)

    def value(layers):
        return np.sum((np.tanh(x @ layers[0]) @ layers[1]) ** 2)

    def gradient(layers):
        hidden = np.tanh(x @ layers[0])
        out = 2 * hidden @ layers[1]
        return [x.T @ (np.outer(out, layers[1]) * (1 - hidden**2)), hidden.T @ out]

    assert gradient_check(value, gradient, at=[W, v]).is_right
    found = gradient_check(value, lambda layers: [gradient(layers)[0], 0 * v], at=[W, v])
    assert found.where.startswith("the gradient of array 1 at (")
    calls = []
    some = gradient_check(lambda at: calls.append(0) or value(at), gradient, at=[W, v], entries=3)
    assert some.is_right and len(calls) == 1 + 2 * 3
    with pytest.raises(ValueError, match="the gradient has shape"):
        gradient_check(value, lambda layers: [W], at=[W, v])


def test_the_fitted_coefficients_of_rows_have_no_slope(rng):
    """At its solution the kernel ridge is stationary, and a support vector machine at a kink."""
    X, y = rng.normal(size=(25, 2)), rng.normal(size=25)
    model = gapless.KernelRidge(alpha=0.5, kernel="rbf").fit(X, y)
    objective = model._differentiable(X, y)
    at = objective.point
    assert objective.value(at) * 25 == pytest.approx(model.certificate_.primal)
    for slopes in objective.gradient(at):
        np.testing.assert_allclose(slopes, 0.0, atol=1e-10)
    machine = gapless.SVC(C=2.0).fit(X, y > 0)
    objective = machine._differentiable(X, y > 0)
    assert objective.value(objective.point) * 25 * 2.0 == pytest.approx(machine.certificate_.primal)


def test_machines_without_a_sum_of_losses_say_so(rng):
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 2
    with pytest.raises(TypeError, match="SVC and SVR with a finite C"):
        gradient_check(gapless.NuSVC(nu=0.3).fit(X, y), X=X, y=y)


def test_misuse_says_how_to_call_it():
    with pytest.raises(TypeError, match=r"gradient_check\(model, X, y\)"):
        gradient_check(gapless.Ridge())
    with pytest.raises(TypeError, match="belong to a fitted model or a network"):
        gradient_check(Hinge(), X=[[1.0]])
    with pytest.raises(TypeError, match=r"gradient_check\(function, gradient, at=x\)"):
        gradient_check(lambda x: 0.0)
    with pytest.raises(TypeError, match=r"gradient_check\(loss, at=z, y=y\)"):
        gradient_check(Hinge(), at=[1.0])
    with pytest.raises(TypeError, match="the zero_one loss has no gradient"):
        gradient_check(ZeroOne())
    with pytest.raises(TypeError, match=r"gradient_check\(function, gradient, at=x\)"):
        gradient_check(gapless.DecisionTreeClassifier(), np.zeros((2, 1)), [0, 1])
    with pytest.raises(ValueError, match=r"has shape \(1,\), but x has shape \(2,\)"):
        gradient_check(lambda x: x[0], lambda x: [1.0], at=[0.0, 0.0])
