"""The linear support vector machine of the lecture on linear models, on eight points."""

import numpy as np
import pytest

from gapless._ground.design import Design
from gapless.data import load_builtin
from gapless.losses import Hinge
from gapless.penalties import L2
from gapless.problem.problem import Problem
from gapless.solvers import solve

# x1, x2, class, as printed to four digits.
POINTS = load_builtin("points").frame.to_numpy()
# Small enough for every point to keep its margin; the multipliers of ½‖w‖² are then |θ| / STRENGTH.
STRENGTH = 1e-3


@pytest.fixture(params=["dual", "interior_point", "augmented_lagrangian", "auto"])
def machine(request):
    X, y = POINTS[:, :2].copy(), POINTS[:, 2].copy()
    problem = Problem(Design(X), y, Hinge(), L2(STRENGTH), np.ones(8))
    return X, y, solve(problem, request.param, tol=1e-10).parameters


def test_two_support_vectors_have_equal_multipliers(machine):
    _, _, parameters = machine
    multipliers = np.abs(parameters.theta) / STRENGTH
    # 65.5261 in the lecture, from points with more digits than it prints.
    assert np.round(multipliers, 4).tolist() == [65.5502, 65.5502, 0, 0, 0, 0, 0, 0]


def test_the_margin_is_0_1747(machine):
    _, _, parameters = machine
    assert round(2 / np.linalg.norm(parameters.w), 4) == 0.1747


def test_support_vectors_are_on_the_margin_and_the_others_beyond(machine):
    X, y, parameters = machine
    margins = y * (X @ parameters.w + parameters.b)
    np.testing.assert_allclose(margins[:2], 1, rtol=1e-9)
    assert np.all(margins[2:] > 1)
