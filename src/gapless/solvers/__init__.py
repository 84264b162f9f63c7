"""Solvers: how an objective is minimised. Each file is one generator function, or a small family.

`solve(problem, solver="auto")` is the one entrance; estimators call it. A solver knows `Problem`
and the compiled core, never estimators or certificates. All stop by the same rule, gap ≤ tol·P₀,
and end with the active-set polish. The contract is in `_base`.
"""

# Importing a solver's file registers it under its name.
from . import (
    augmented_lagrangian,
    branch_and_bound,
    closed_form,
    coordinate_descent,
    dual,
    interior_point,
    local_linear,
    newton,
    pairs,
    prox_newton,
    proximal_gradient,
    stepwise,
)
from ._base import Diverged, Named, Point, Solution, Solver, registry, solver
from .auto import choose
from .cholesky_in_blocks import blocked_cholesky
from .closed_form import SingularValues
from .descent import GradientDescent, Subgradient
from .entrance import solve, solve_many
from .fold_models import Fold, FoldModels
from .lbfgs import LBFGS
from .newton_along_path import Curved, Station, is_for, newton_path, settled
from .newton_with_scale import solve_with_scale
from .newton_without import predict_without
from .on_sums import Descent, minimised, newton_on_sums
from .path import ENDS, PathSolution, solve_folds, solve_in_turn, solve_path, solve_path_and_folds
from .positive_definite import EPS, Cholesky, drop_constants, orthonormal, unit_diagonal, without
from .row_slopes import RowSlopes
from .row_space import thin_qr
from .smo import STATUS, BoxProblem, BoxSolution, solve_box
from .trace import Trace
from .updates import (
    Adam,
    AveragedMomentum,
    Backtracking,
    Constant,
    Cosine,
    InverseTime,
    Memory,
    Momentum,
    Nesterov,
    Plain,
    StepDecay,
    StepSize,
    Update,
    as_step_size,
    clipped,
)

__all__ = [
    "ENDS",
    "EPS",
    "LBFGS",
    "STATUS",
    "Adam",
    "AveragedMomentum",
    "Backtracking",
    "BoxProblem",
    "BoxSolution",
    "Cholesky",
    "Constant",
    "Cosine",
    "Curved",
    "Descent",
    "Diverged",
    "Fold",
    "FoldModels",
    "GradientDescent",
    "InverseTime",
    "Memory",
    "Momentum",
    "Named",
    "Nesterov",
    "PathSolution",
    "Plain",
    "Point",
    "RowSlopes",
    "SingularValues",
    "Solution",
    "Solver",
    "Station",
    "StepDecay",
    "StepSize",
    "Subgradient",
    "Trace",
    "Update",
    "as_step_size",
    "blocked_cholesky",
    "choose",
    "clipped",
    "drop_constants",
    "is_for",
    "minimised",
    "newton_on_sums",
    "newton_path",
    "orthonormal",
    "predict_without",
    "registry",
    "settled",
    "solve",
    "solve_box",
    "solve_folds",
    "solve_in_turn",
    "solve_many",
    "solve_path",
    "solve_path_and_folds",
    "solve_with_scale",
    "solver",
    "thin_qr",
    "unit_diagonal",
    "without",
]
