"""The checks on certificates are sharp: any formula behind a bound that is 1 % off breaks one.

Each mutant is one formula of a conjugate, of the dual or of a penalty, changed in place; `check`
then fails, by its first or by its second promise.
"""

import functools

import numpy as np
import pytest
from high_precision import minimise, objective
from small_problems import LOSSES, PENALTIES, make

from gapless.certificates import optimality
from gapless.certificates.certificate import certify
from gapless.problem.problem import Parameters, Problem

OFF = 1.01
TOL = 1e-6
# At the minimum of the perceptron loss everything is 0, and 1 % more or less of it, too.
NOT_ALL_ZERO = [loss for loss in LOSSES if loss != "perceptron"]


@functools.cache
def solved(loss, penalty):
    """A problem of each kind, solved by the reference before anything is changed.

    Also a dual point half a percent outside the border of R*, where there is one. (With the seed of
    "sign_mixed" some coefficient rests at its bound, so that R* is not 0.)
    """
    seed = 140 if penalty == "sign_mixed" else 11
    problem, case = make(loss, penalty, 24, 3, np.random.default_rng(seed))
    minimum = minimise(case)
    theta = problem.orthogonal(100 * minimum.theta)
    v = problem.design.transposed_times(theta)
    outside = 1.005 * min(problem.penalty.feasible_scales(v)) * v
    has_border = problem.penalty.conjugate(outside) == np.inf
    return problem, case, minimum, outside if has_border else None


def check(loss, penalty):
    """What a certificate promises, at the solution and away from it.

    First promise: no bound is above the minimum, and none comes from outside the domain. Second: at
    the solution the bound is below the minimum by no more than the tolerance.
    """
    original, case, minimum, outside = solved(loss, penalty)
    problem = fresh(original)
    # With the perceptron loss the objective is 0 without features, and so is its minimum.
    rounding = 8 * np.finfo(float).eps * float(np.sum(original.weights))
    best, slack = float(minimum.value), TOL * original.scale + rounding
    theta, lowest = minimum.theta, case.per_feature(case.lower, -np.inf)
    for w, b in ((minimum.w, minimum.b), (0.7 * minimum.w, minimum.b + 0.1)):
        w = np.maximum(w, lowest if w.ndim == 1 else lowest[:, None])
        certificate = certify(problem, Parameters(w, b, theta), tol=TOL)
        true = float(objective(case, w, b))
        assert certificate.primal == pytest.approx(true, rel=1e-9), "the objective is another"
        assert true - best <= certificate.gap, "the gap is too small"
        bound = problem.bound(theta)
        assert bound.dual <= best + slack, "the dual is above the minimum"
        natural = problem.bound(-problem.derivative(problem.predictions(w, b)))
        assert natural.dual <= best + slack, "the dual is above the minimum"
    assert outside is None or problem.penalty.conjugate(outside) == np.inf, "the border is another"
    assert bound.dual >= best - slack, "the dual stays below the minimum"
    found = certify(problem, Parameters(minimum.w, minimum.b, theta), tol=TOL)
    assert found.kind == "optimal", "a solution is not certified"


def fresh(problem):
    """The same problem with nothing remembered from before the mutation."""
    return Problem(
        problem.design,
        problem.y,
        problem.loss,
        problem.penalty,
        problem.weights,
        problem.fit_bias,
        problem.outputs,
    )


def scale_result(factor):
    def change(original):
        return lambda *arguments: scaled(original(*arguments), factor)

    return change


def scaled(result, factor):
    if isinstance(result, tuple):
        return tuple(scaled(part, factor) for part in result)
    return None if result is None else factor * result


def scale_argument(factor):
    """The last argument, u of ℓ*(y, u) or v of R*(v)."""

    def change(original):
        return lambda *arguments: original(*arguments[:-1], factor * arguments[-1])

    return change


CHANGES = {
    "result too large": scale_result(OFF),
    "result too small": scale_result(1 / OFF),
    "argument too large": scale_argument(OFF),
    "argument too small": scale_argument(1 / OFF),
}


def caught(monkeypatch, owner, name, change, loss, penalty):
    """Change one formula, and see the check fail."""
    solved(loss, penalty)
    monkeypatch.setattr(owner, name, change(getattr(owner, name)))
    with pytest.raises(AssertionError):
        check(loss, penalty)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_the_check_passes_as_long_as_nothing_is_changed(loss, penalty):
    check(loss, penalty)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_the_check_passes_for_every_penalty(penalty):
    check("squared", penalty)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("loss", NOT_ALL_ZERO)
def test_a_conjugate_of_a_loss_one_percent_off_is_caught(monkeypatch, loss, change):
    owner = type(LOSSES[loss])
    caught(monkeypatch, owner, "conjugate", CHANGES[change], loss, "l2")


@pytest.mark.parametrize("change", ["result too large", "result too small"])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_loss_one_percent_off_is_caught(monkeypatch, loss, change):
    """Wherever a certificate takes it from: alone, or with its derivatives."""
    owner, factor = type(LOSSES[loss]), OFF if change.endswith("large") else 1 / OFF
    solved(loss, "l2")
    derivatives = owner.derivatives

    def changed(self, y, z):
        value, *others = derivatives(self, y, z)
        return factor * value, *others

    monkeypatch.setattr(owner, "derivatives", changed)
    caught(monkeypatch, owner, "value", CHANGES[change], loss, "l2")


@pytest.mark.parametrize("loss", ["hinge", "epsilon_insensitive", "huber"])
def test_a_dual_domain_one_percent_too_small_is_caught(monkeypatch, loss):
    owner = type(LOSSES[loss])
    caught(monkeypatch, owner, "dual_domain", CHANGES["result too small"], loss, "l2")


def penalty_changes():
    """R* of a norm is 0 or ∞, and so is 1.01 times that: there the border may be off."""
    for penalty in PENALTIES:
        if penalty in ("none", "sign"):
            continue  # R* is 0 where it is not ∞, and its border is at 0
        is_norm = penalty.startswith(("l1", "group"))
        for change in CHANGES:
            if change.startswith("argument") or not is_norm:
                yield pytest.param(penalty, change, id=f"{penalty}-{change}")


@pytest.mark.parametrize(("penalty", "change"), list(penalty_changes()))
def test_a_conjugate_of_a_penalty_one_percent_off_is_caught(monkeypatch, penalty, change):
    owner = type(solved("squared", penalty)[0].penalty)
    caught(monkeypatch, owner, "conjugate", CHANGES[change], "squared", penalty)


@pytest.mark.parametrize("penalty", ["l1", "l1_free", "group", "box_l1", "elastic_net"])
def test_a_border_of_a_penalty_one_percent_off_is_caught(monkeypatch, penalty):
    """Scales that put Xᵀθ 1 % inside the border of R*, or 1 % outside it."""
    owner = type(solved("squared", penalty)[0].penalty)
    for change in ("result too large", "result too small"):
        with monkeypatch.context() as patch:
            caught(patch, owner, "feasible_scales", CHANGES[change], "squared", penalty)


@pytest.mark.parametrize("change", ["result too large", "result too small"])
@pytest.mark.parametrize("penalty", ["l2", "l1", "elastic_net", "group", "box_l1", "sign_l2"])
def test_a_penalty_one_percent_off_is_caught(monkeypatch, penalty, change):
    owner = type(solved("squared", penalty)[0].penalty)
    caught(monkeypatch, owner, "value", CHANGES[change], "squared", penalty)


@pytest.mark.parametrize("change", ["result too large", "result too small"])
@pytest.mark.parametrize("loss", NOT_ALL_ZERO)
@pytest.mark.parametrize("name", ["dual", "_negative_slopes"])
def test_a_dual_one_percent_off_is_caught(monkeypatch, name, loss, change):
    caught(monkeypatch, Problem, name, CHANGES[change], loss, "l2")


@pytest.mark.parametrize("change", ["result too large", "result too small"])
@pytest.mark.parametrize("loss", NOT_ALL_ZERO)
def test_the_certificates_own_dual_one_percent_off_is_caught(monkeypatch, loss, change):
    caught(monkeypatch, optimality, "_slopes", CHANGES[change], loss, "l2")


@pytest.mark.parametrize("change", ["result too large", "result too small"])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_sum_one_percent_off_is_caught(monkeypatch, loss, change):
    caught(monkeypatch, Problem, "weighted_sum", CHANGES[change], loss, "l2")
