"""Choosing a model for a table: families of models, how each tunes itself, and which is chosen.

Called by `report` and `cli`; knows `data`, `evaluation`, `metrics` and the estimators.
"""

from .choice import Answers, Candidate, Choice
from .facts import Facts, facts_of
from .families import FAMILIES, Family, families_for
from .null_models import MajorityClassifier, MeanRegressor
from .table_model import TableModel
from .tuning import Tuning, settings_of, tuning_of

__all__ = [
    "FAMILIES",
    "Answers",
    "Candidate",
    "Choice",
    "Facts",
    "Family",
    "MajorityClassifier",
    "MeanRegressor",
    "TableModel",
    "Tuning",
    "facts_of",
    "families_for",
    "settings_of",
    "tuning_of",
]
