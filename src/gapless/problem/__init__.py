"""What is minimised: X as an operator, loss + penalty + weights on it, and its dual.

X is a `Design` (`_ground.design`), `problem` is the objective P with its derivatives and the dual
D; `dual_points` moves points into the dual's domain, `best_bias` is the best model without
features; `with_scale` estimates the scale of the errors, too; `kernel_matrix` and `kernel_features`
make a kernel machine such a problem. Knows losses, penalties and kernels, but no solver.
"""

from typing import TYPE_CHECKING

from .._ground.first_use import on_first_use

if TYPE_CHECKING:
    from .._ground.design import Design, drop_empty_columns, multiply_each
    from .best_bias import minimise_bias, minimise_biases
    from .best_subset import BestSubset, covers_every_subset
    from .dual_points import EPS, FreeColumns, column_norms, eigenvectors, joint_hessian
    from .in_parts import DualSums, Quadratic, dual_sums, quadratic_at, rounding_of
    from .kernel_features import (
        EXACT,
        FEATURES,
        NYSTROEM,
        PRECOMPUTED,
        RANDOM,
        RESIDUAL,
        UNFINISHED,
        Drawing,
        KernelFeatures,
        Tried,
        exact_features,
        factor,
        one_landmark,
        pivoted_cholesky,
        random_features,
        smallest,
        some_rows,
    )
    from .kernel_matrix import KernelMatrix
    from .problem import Bound, Parameters, Problem, bounds, predictions
    from .with_scale import WithScale

__getattr__, __dir__, __all__ = on_first_use(__name__)
