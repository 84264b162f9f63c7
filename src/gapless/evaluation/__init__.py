"""Evaluation: tools that judge a loss, a model or a comparison from outside, on plain arrays.

Called by people and by the report. May import anything above it; nothing of the engine imports it.
"""

from .bootstrap import bootstrap
from .comparison import Contender, ModelComparison, compare
from .decision_grid import DecisionGrid, decision_grid
from .decomposition import BiasVariance, bias_variance
from .gradient_check import GradientCheck, gradient_check, numerical_gradient
from .interpolation import DoubleDescent, double_descent
from .learning import LearningCurve, learning_curve
from .partial_dependence import PartialDependence, partial_dependence
from .permutation import PermutationImportance, permutation_importance
from .resampling import Resampled, hold_out, k_fold, leave_one_out
from .validation import ValidationCurve, validation_curve

__all__ = [
    "BiasVariance",
    "Contender",
    "DecisionGrid",
    "DoubleDescent",
    "GradientCheck",
    "LearningCurve",
    "ModelComparison",
    "PartialDependence",
    "PermutationImportance",
    "Resampled",
    "ValidationCurve",
    "bias_variance",
    "bootstrap",
    "compare",
    "decision_grid",
    "double_descent",
    "gradient_check",
    "hold_out",
    "k_fold",
    "learning_curve",
    "leave_one_out",
    "numerical_gradient",
    "partial_dependence",
    "permutation_importance",
    "validation_curve",
]
