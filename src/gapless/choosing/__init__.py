"""Choosing a model for a table: families of models, how each tunes itself, and which is chosen.

from_table is the entry point: splitting sets test rows aside and holds others out in folds, judging
scores families (family, families) by a metric, in the order of a schedule and within a budget,
ranking chooses one, and gap_verdicts says how well each generalises; table_model is the result, and
code reproduces it. Called by `report` and `cli`; knows `data`, `evaluation`, `metrics` and the
estimators.
"""

from typing import TYPE_CHECKING

from .._ground.first_use import on_first_use

if TYPE_CHECKING:
    from . import exploring, report
    from .baselines import MajorityClassifier, MeanRegressor
    from .choice import Answers, Candidate, Choice, Progress
    from .code import reading_code
    from .families import FAMILIES, Family, families_for
    from .family import Facts, facts_of
    from .fitted_models import (
        Coefficient,
        Tuning,
        coefficients_of,
        feature_names,
        last_of,
        settings_of,
        tuning_of,
    )
    from .from_table import choose
    from .metric import Metric
    from .ranking import model_of
    from .splitting import Folds, baseline_model, rows_of, set_aside
    from .table_model import TableModel, within

__getattr__, __dir__, __all__ = on_first_use(__name__)
