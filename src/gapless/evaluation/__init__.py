"""Evaluation: tools that judge a loss, a model or a comparison from outside, on plain arrays.

Called by people and by the report. May import anything above it; nothing of the engine imports it.
"""

from typing import TYPE_CHECKING

from .._ground.first_use import on_first_use

if TYPE_CHECKING:
    from .comparison import Contender, ModelComparison, compare
    from .contours import Landscape, landscape
    from .crossing import Crossover, crossover
    from .decomposition import BiasVariance, bias_variance
    from .dependence import PairDependence, PartialDependence, partial_dependence
    from .explaining import Explanation, Reason, explain, in_words, signed
    from .gradients import GradientCheck, gradient_check, numerical_gradient
    from .grids import DecisionGrid, decision_grid
    from .held_out import HeldOut, Resampled, behind_error, corrected, is_clearly_behind
    from .interpolation import DoubleDescent, double_descent
    from .kkt_conditions import Condition, Duality, duality
    from .learning import LearningCurve, learning_curve
    from .memorising import Memorised, memorise
    from .permutation import ROWS_AT_ONCE, PermutationImportance, permutation_importance
    from .planes import (
        Plane,
        PlaneComparison,
        compare_planes,
        distances_to_plane,
        geometric_margin,
    )
    from .resampling import bootstrap, hold_out, k_fold, leave_one_out
    from .rows import Rows, Split
    from .timing import Timing, Timings, timed
    from .validation import ValidationCurve, validation_curve

__getattr__, __dir__, __all__ = on_first_use(__name__)
