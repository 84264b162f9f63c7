"""Duality of the lectures on support vector machines, for problems written out as functions."""

import numpy as np
import pytest
from test_004 import POINTS

from gapless import SVC, duality

X, Y = POINTS[:, :2], POINTS[:, 2]


def hard_margin():
    """½‖w‖² with yᵢ(⟨w, xᵢ⟩ + b) − 1 ≥ 0, and its dual, in (w, b) of the eight points of 004."""

    def f(v):
        return 0.5 * v[:2] @ v[:2]

    def g(v):
        return Y * (X @ v[:2] + v[2]) - 1

    def dual(lam, u):
        w = (lam * Y) @ X
        return lam.sum() - 0.5 * w @ w if abs(lam @ Y) < 1e-9 else -np.inf

    model = SVC(C=np.inf, kernel="linear", tol=1e-10).fit(X, Y)
    return f, g, dual, np.append(model.coef_[0], model.intercept_[0]), model.alpha_


@pytest.mark.parametrize("is_dual_given", [False, True])
def test_the_eight_points_satisfy_every_kkt_condition_without_a_gap(is_dual_given):
    f, g, dual, v, lam = hard_margin()
    assert lam.round(4).tolist() == [65.5502] * 2 + [0] * 6
    found = duality(f, g, None, v, lam, dual=dual if is_dual_given else None)
    assert found.kind == "optimal" and found.kkt_holds
    assert found.primal == pytest.approx(65.5502, abs=1e-4)
    assert found.gap == pytest.approx(0, abs=1e-5)
    assert ("proves it" in found.verdict) == is_dual_given
    assert ("may be lower" in str(found)) != is_dual_given
    assert found.interior is not None and np.all(g(found.interior) > 0)
    names = [one.name for one in found.conditions]
    assert names == [
        "stationarity",
        "primal feasibility of g",
        "dual feasibility",
        "complementary slackness",
    ]


def test_multipliers_of_the_eight_points_follow_from_the_gradients():
    f, g, _, v, lam = hard_margin()
    found = duality(f, g, None, v)
    np.testing.assert_allclose(found.multipliers[0], lam, atol=1e-3)
    assert found.are_estimated and "estimated from the gradients" in str(found)


def test_weak_duality_for_any_multipliers():
    """d(λ) ≤ f(x) for all λ ≥ 0 and all feasible x, here with λ that are far from the best."""
    f, g, dual, v, lam = hard_margin()
    for scale in (0.0, 0.1, 0.5, 2.0):
        found = duality(f, g, None, v, scale * lam, dual=dual)
        assert found.dual == pytest.approx((scale - 0.5 * scale**2) * lam.sum(), abs=1e-4)
        assert found.dual <= found.primal and found.kind == "open"
        assert not found["stationarity"].holds
    for random_state in range(5):
        more = lam + 1e-3 * (Y > 0)
        unbalanced = duality(f, g, None, v, more, random_state=random_state)
        assert unbalanced.dual == -np.inf and "falls for ever" in unbalanced.dual_method


def test_the_soft_margin_has_two_kinds_of_multipliers():
    """λ of yf(x) ≥ 1 − ξ and μ of ξ ≥ 0 with λ + μ = C, and μξ = 0 (002)."""
    C, t, x = 1.0, np.array([1.0, 1.0, -1.0, -1.0]), np.array([2.0, -0.5, 0.3, -2.0])
    model = SVC(C=C, kernel="linear", tol=1e-10).fit(x[:, None], t)
    v = np.concatenate([model.coef_[0], model.intercept_, model.slack_])

    def f(v):
        return 0.5 * v[0] ** 2 + C * v[2:].sum()

    def g(v):
        return np.concatenate([t * (v[0] * x + v[1]) - 1 + v[2:], v[2:]])

    lam = np.concatenate([model.alpha_, C - model.alpha_])
    found = duality(f, g, None, v, lam)
    assert found.kind == "optimal" and abs(found.gap) < 1e-6
    # With another C the multipliers no longer add up.
    wrong = duality(lambda v: f(v) + v[2:].sum(), g, None, v, lam)
    assert wrong.kind == "open" and [c.name for c in wrong.conditions if not c.holds] == [
        "stationarity"
    ]
