"""Linear models as scikit-learn classes: each says what is minimised, and `_base` does the rest.

One file for each kind of model: `least_squares`, `ridge`, `lasso`, `multi_task`, `support_vectors`
(with `kkt` and `hard_margin`), `logistic`. `tasks` reads data and predicts numbers or classes,
`problems` goes from data to what is minimised. Strengths are chosen in `tuning` and the files with
"cv" in their name: `strengths` says where to look, `path_following` solves there and holds rows
out, `path` is what was found, and `path_choice` corrects the score of the winner. Tables in parts
are fitted by `in_parts`, whose tasks, proof and choice of a ridge are in files of that ending.
"""

from typing import TYPE_CHECKING

from ..._ground.first_use import on_first_use

if TYPE_CHECKING:
    from ._base import SELECT, LinearModel, Mapped
    from .concave_paths import mcp_path, scad_path
    from .deferred import changed
    from .generalized import GammaRegressor, PoissonRegressor, TweedieRegressor
    from .huber import HuberRegressor
    from .kkt import ABSENT, KKT_STATUS
    from .lasso import ElasticNet, Lasso
    from .lasso_cv import ElasticNetCV, LassoCV
    from .least_squares import LinearRegression
    from .logistic import LogisticRegression, logistic_loss
    from .logistic_cv import LogisticRegressionCV
    from .multi_task import MultiTaskLasso, MultiTaskLassoCV
    from .offsets import OFFSET, with_offset, without_offset
    from .parameters import DATA, OF_CLASSES, OF_TARGETS, ROWS, SOLVED
    from .path import Path, ScoredPath
    from .path_choice import PathChoice
    from .path_following import follow
    from .problems import (
        classification_problems,
        dense,
        fitted_of,
        pack,
        regression_problems,
        stored_coefficients,
        unpack,
    )
    from .quantile import QuantileRegressor
    from .ridge import Ridge, RidgeClassifier
    from .ridge_cv import RidgeClassifierCV, RidgeCV
    from .sparse_paths import enet_path, lasso_path
    from .summaries import Refit
    from .support_vectors import LinearSVC, LinearSVR
    from .tasks import LinearClassifier, LinearRegressor
    from .tuning import tune

__getattr__, __dir__, __all__ = on_first_use(__name__)
