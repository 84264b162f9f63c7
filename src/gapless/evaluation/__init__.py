"""Evaluation: tools that judge a loss, a model or a comparison from outside, on plain arrays.

Called by people and by the report. May import anything above it; nothing of the engine imports it.
"""

from typing import TYPE_CHECKING

from .._first_use import on_first_use

if TYPE_CHECKING:
    from .bootstrapping import bootstrap
    from .comparison import Contender, ModelComparison, compare
    from .decomposition import BiasVariance, bias_variance
    from .dependence import PairDependence, PartialDependence, partial_dependence
    from .gradients import GradientCheck, gradient_check, numerical_gradient
    from .grids import DecisionGrid, decision_grid
    from .interpolation import DoubleDescent, double_descent
    from .learning import LearningCurve, learning_curve
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
    "PairDependence",
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

# Each name, and the file it lives in.
_HOMES = {
    "BiasVariance": "decomposition",
    "Contender": "comparison",
    "DecisionGrid": "grids",
    "DoubleDescent": "interpolation",
    "GradientCheck": "gradients",
    "LearningCurve": "learning",
    "ModelComparison": "comparison",
    "PairDependence": "dependence",
    "PartialDependence": "dependence",
    "PermutationImportance": "permutation",
    "Resampled": "resampling",
    "ValidationCurve": "validation",
    "bias_variance": "decomposition",
    "bootstrap": "bootstrapping",
    "compare": "comparison",
    "decision_grid": "grids",
    "double_descent": "interpolation",
    "gradient_check": "gradients",
    "hold_out": "resampling",
    "k_fold": "resampling",
    "learning_curve": "learning",
    "leave_one_out": "resampling",
    "numerical_gradient": "gradients",
    "partial_dependence": "dependence",
    "permutation_importance": "permutation",
    "validation_curve": "validation",
}
__getattr__, __dir__ = on_first_use(__name__, _HOMES)
