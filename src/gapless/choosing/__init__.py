"""Choosing a model for a table: families of models, how each tunes itself, and which is chosen.

from_table is the door: splitting sets rows aside, folds hold others out, judging scores families
within a budget, ranking chooses, code writes it down. Called by `report` and `cli`; knows `data`,
`evaluation`, `metrics` and the estimators.
"""

from .choice import Answers, Candidate, Choice, Progress
from .facts import Facts, facts_of
from .families import FAMILIES, Family, families_for
from .folds import Folds
from .from_table import choose
from .null_models import MajorityClassifier, MeanRegressor
from .splitting import rows_of, set_aside
from .table_model import TableModel
from .tuning import Tuning, settings_of, tuning_of

__all__ = [
    "FAMILIES",
    "Answers",
    "Candidate",
    "Choice",
    "Facts",
    "Family",
    "Folds",
    "MajorityClassifier",
    "MeanRegressor",
    "Progress",
    "TableModel",
    "Tuning",
    "choose",
    "facts_of",
    "families_for",
    "rows_of",
    "set_aside",
    "settings_of",
    "tuning_of",
]
