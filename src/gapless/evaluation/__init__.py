"""Evaluation: tools that judge a loss, a model or a comparison from outside, on plain arrays.

Called by people and by the report. May import anything above it; nothing of the engine imports it.
"""

from .decision_grid import DecisionGrid, decision_grid
from .gradient_check import GradientCheck, gradient_check, numerical_gradient
from .permutation import PermutationImportance, permutation_importance

__all__ = [
    "DecisionGrid",
    "GradientCheck",
    "PermutationImportance",
    "decision_grid",
    "gradient_check",
    "numerical_gradient",
    "permutation_importance",
]
