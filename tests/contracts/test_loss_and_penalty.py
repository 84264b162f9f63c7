"""Every loss with every penalty: it runs, and says how far it is from the best that is possible.

Both registries are read, so a new loss or penalty is held to this at once. docs/guide/penalties.md
shows the same table with times.
"""

import numpy as np
import pytest
from test_solvers import make

from gapless.certificates import certify
from gapless.losses import Loss
from gapless.penalties import Penalty, by_name
from gapless.solvers import choose, registry, solve

# The others, such as the 0-1 loss, only judge predictions.
FITTED = {name: cls for name, cls in Loss.registry.items() if cls.refusal is None}


@pytest.mark.parametrize("penalty", sorted(Penalty.registry))
@pytest.mark.parametrize("loss", sorted(FITTED))
def test_every_cell_is_solved_and_certified(loss, penalty):
    problem = make(FITTED[loss], by_name(penalty), np.random.default_rng(1))
    solution = solve(problem)
    certificate = certify(problem, solution.parameters)
    assert choose(problem) in registry and solution.solver in registry
    counted = solution.solver == "branch_and_bound"
    if problem.penalty.is_convex or counted:
        assert certificate.kind in ("optimal", "exact"), certificate
        assert certificate.gap <= certificate.tolerance
    else:
        assert certificate.kind == "stationary", certificate
        assert "not convex" in certificate.verdict
