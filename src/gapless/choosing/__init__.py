"""Choosing a model for a table: families of models, how each tunes itself, and which is chosen.

from_table is the door: splitting sets rows aside, folds hold others out, judging scores families
within a budget, ranking chooses, code writes it down. Called by `report` and `cli`; knows `data`,
`evaluation`, `metrics` and the estimators.
"""

from typing import TYPE_CHECKING

from .._ground.first_use import on_first_use

if TYPE_CHECKING:
    from . import report
    from .choice import Answers, Candidate, Choice, Progress
    from .coefficients import Coefficient, coefficients_of, feature_names, last_of
    from .facts import Facts, facts_of
    from .families import FAMILIES, Family, families_for
    from .folds import Folds
    from .from_table import choose
    from .metric import Metric
    from .null_models import MajorityClassifier, MeanRegressor
    from .ranking import model_of
    from .splitting import null_model, rows_of, set_aside
    from .table_model import TableModel, within
    from .tuning import Tuning, settings_of, tuning_of

__getattr__, __dir__, __all__ = on_first_use(__name__)
