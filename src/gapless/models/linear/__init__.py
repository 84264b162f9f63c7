"""Linear models as scikit-learn classes: each says what is minimised, and `_base` does the rest.

Imports everything above: validation, problem, solvers, certificates. One file for each kind of
model: `least_squares`, `ridge`, `lasso`, `multi_task`, `support_vectors`, `logistic`, and `risk`
for any loss with any penalty; `problems` from data to what is minimised; `kernel` lets features of
a kernel stand in for X; `tasks` reads data and predicts. `selection` (leave-one-out), `fold_search`
(folds) and the files with "cv" in their name tune: `strengths` says where to look, `following`
solves there, a `Walk` is the work so far, a `Trail` what was found, a `Path` what users get.
"""

from typing import TYPE_CHECKING

from ..._ground.first_use import on_first_use

if TYPE_CHECKING:
    from ._base import SELECT
    from .kernel import AUTO, KERNEL_CONSTRAINTS, WithKernel, chosen_kind
    from .kernel_certificates import concerning, exact_certificate, features_of, of_kernel
    from .lasso import ElasticNet, Lasso
    from .lasso_cv import ElasticNetCV, LassoCV
    from .least_squares import LinearRegression
    from .logistic import LogisticRegression, logistic_loss
    from .logistic_cv import LogisticRegressionCV
    from .multi_task import MultiTaskLasso, MultiTaskLassoCV
    from .path import Path, ScoredPath
    from .path_choice import PathChoice
    from .path_following import follow
    from .problems import classification_problems, dense, unpack
    from .ridge import Ridge, RidgeClassifier
    from .ridge_cv import RidgeClassifierCV, RidgeCV
    from .risk import RiskClassifier, RiskRegressor
    from .sparse_paths import enet_path, lasso_path
    from .support_vectors import LinearSVC, LinearSVR
    from .tasks import LinearClassifier
    from .tuning import fitted_of, tune

__getattr__, __dir__, __all__ = on_first_use(__name__)
