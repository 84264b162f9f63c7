"""Duality of problems of one's own: against solved ones, and what is said where something fails."""

import numpy as np
import pytest
from scipy.optimize import minimize

from gapless import duality


def quadratic(seed):
    """A random convex quadratic with two inequalities and an equation, solved by SciPy."""
    rng = np.random.default_rng(seed)
    A, c = rng.normal(size=(4, 4)), rng.normal(size=4)
    Q = A @ A.T + np.eye(4)
    G, H = rng.normal(size=(2, 4)), rng.normal(size=(1, 4))

    def f(x):
        return 0.5 * x @ Q @ x + c @ x

    def g(x):
        return G @ x - 0.5

    def h(x):
        return H @ x - 1

    found = minimize(
        f,
        np.zeros(4),
        method="SLSQP",
        constraints=[{"type": "ineq", "fun": g}, {"type": "eq", "fun": h}],
        options={"ftol": 1e-15},
    )

    def dual(lam, u):
        # The minimum over x of a convex quadratic, in closed form.
        x = np.linalg.solve(Q, G.T @ lam - H.T @ u - c)
        return f(x) - lam @ g(x) + u @ h(x)

    return f, g, h, found.x, dual, (lambda x: Q @ x + c, lambda x: G, lambda x: H)


@pytest.mark.parametrize("seed", range(5))
def test_a_solved_problem_is_optimal_with_estimated_multipliers(seed):
    f, g, h, x, dual, gradients = quadratic(seed)
    found = duality(f, g, h, x, tol=1e-5)
    assert found.kind == "optimal" and found.is_convex
    exact = duality(f, g, h, x, *found.multipliers, gradients=gradients, dual=dual, tol=1e-5)
    assert exact.kind == "optimal" and "proves it" in exact.verdict
    # The numerical minimum of the Lagrangian agrees with the formula, and is never below it.
    assert found.dual == pytest.approx(exact.dual, abs=1e-5)
    assert found.dual >= exact.dual - 1e-9
    assert np.all(g(found.interior) > 0) and abs(h(found.interior)[0]) < 1e-5


@pytest.mark.parametrize("seed", range(3))
def test_another_point_is_not_called_optimal(seed):
    f, g, h, x, dual, _ = quadratic(seed)
    known = duality(f, g, h, x, tol=1e-5).multipliers
    moved = duality(f, g, h, x + 0.1 * np.eye(4)[0], *known, dual=dual)
    assert moved.kind in ("infeasible", "open") and not moved.kkt_holds
    assert moved["primal feasibility of h"].residual > 0.001


def test_each_condition_is_named_with_its_residual():
    def f(x):
        return x @ x

    def g(x):
        return [x[0] - 1, 4 - x[1]]

    assert duality(f, g, None, [1.0, 0.0], [2.0, 0.0]).kind == "optimal"
    negative = duality(f, g, None, [1.0, 0.0], [2.0, -0.5])
    assert negative["dual feasibility"].residual == 0.5
    assert negative["dual feasibility"].where == "λ[1]" and negative.dual == -np.inf
    idle = duality(f, g, None, [1.0, 0.0], [2.0, 0.5])
    assert idle["complementary slackness"].residual == pytest.approx(2.0)
    assert idle["stationarity"].residual == pytest.approx(0.5)
    assert "complementary slackness  λg(x) = 0" in str(idle)
    outside = duality(f, g, None, [0.25, 0.0], [2.0, 0.0])
    assert outside.kind == "infeasible" and "g[0] violates g(x) ≥ 0" in outside.verdict
    assert outside["primal feasibility of g"].residual == 0.75
    assert "not at this x" in str(outside)


def test_functions_one_by_one_are_the_same_as_all_at_once():
    def f(x):
        return (x[0] - 3) ** 2 + x[1] ** 2

    together = duality(f, lambda x: [2 - x[0], 5 - x[1]], lambda x: x[0] - x[1], [1.5, 1.5])
    apart = duality(
        f, [lambda x: 2 - x[0], lambda x: 5 - x[1]], [lambda x: x[0] - x[1]], [1.5, 1.5]
    )
    assert together.kind == apart.kind == "optimal"
    assert str(together) == str(apart)


def test_what_is_not_convex_is_a_kkt_point_at_best():
    found = duality(lambda x: x[0] ** 4 - x[0] ** 2, None, None, [0.0])
    assert found.kind == "KKT point" and "f is not convex" in found.verdict
    # The gap shows that there is something better.
    assert found.dual == pytest.approx(-0.25, abs=1e-6)
    ring = duality(lambda x: x[0], None, lambda x: x @ x - 1, [-1.0, 0.0])
    assert ring.kind == "KKT point" and "h is not affine" in ring.convexity
    hole = duality(lambda x: x[0], lambda x: x @ x - 1, None, [1.0, 0.0], [0.5])
    assert hole.kind == "KKT point" and "−g is not convex" in hole.convexity
    stated = duality(lambda x: x[0] ** 2, None, None, [0.0], is_convex=True)
    assert stated.convexity == "stated to be convex" and stated.kind == "optimal"


def test_slaters_condition_can_fail():
    """min x with −x² ≥ 0: the only feasible point is 0, and no multiplier makes it stationary."""
    found = duality(lambda x: x[0], lambda x: -(x[0] ** 2), None, [0.0], [3.0])
    assert found.interior is None and "not prove" in found.slater
    assert found.kind == "open" and not found["stationarity"].holds
    given = duality(lambda x: x[0], lambda x: x[0], None, [0.0], [1.0], interior=[2.0])
    assert given.slater == "holds at the given point, where g ≥ 2"
    on_border = duality(lambda x: x[0], lambda x: x[0], None, [0.0], [1.0], interior=[0.0])
    assert "not strictly feasible" in on_border.slater


def test_a_wrong_dual_function_is_noticed():
    found = duality(lambda x: x @ x, lambda x: x - 1, None, [1.0], [2.0], dual=lambda lam, u: 1.5)
    assert found.kind == "open" and "the dual function is wrong" in found.verdict


def test_results_are_plain_data():
    found = duality(lambda x: x @ x, lambda x: x - 1, None, [1.0], [2.0])
    plain = found.to_dict()
    assert plain["kind"] == "optimal" and plain["multipliers"] == [[2.0], []]
    assert plain["conditions"][0]["name"] == "stationarity" and plain["conditions"][0]["holds"]
    assert repr(found).startswith("<Duality: optimal")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: duality(3, None, None, [1.0]), "f must be a function of x"),
        (lambda: duality(lambda x: x, None, None, [1.0, 2.0]), r"f\(x\) must be a number"),
        (lambda: duality(lambda x: x @ x, None, None, [np.nan]), "finite numbers"),
        (lambda: duality(lambda x: x @ x, None, None, 1.0), "x must be a vector"),
        (lambda: duality(lambda x: np.log(-1 - x @ x), None, None, [1.0]), r"f\(x\) is nan"),
        (lambda: duality(lambda x: x @ x, lambda x: x, None, [1.0], [1, 2]), "one for each entry"),
        (
            lambda: duality(
                lambda x: x @ x, None, None, [1.0], gradients=(lambda x: [1, 2], None, None)
            ),
            "the gradient of f has shape",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_bad_input_is_named(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()


def test_a_narrow_maximum_or_saddle_is_a_kkt_point_and_not_called_optimal():
    """f″(0) = 2 − 20 along the first axis: the bowl hides a bump from pairs of distant points."""

    def bump(x):
        return x @ x + 1e-3 * np.exp(-((x[0] / 0.01) ** 2))

    for start in ([0.0], [0.0, 0.0]):
        found = duality(bump, None, None, start)
        assert found.kkt_holds and found.kind == "KKT point" and not found.is_convex
        assert "not known to be convex" in found.verdict
