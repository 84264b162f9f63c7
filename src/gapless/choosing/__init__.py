"""Choosing a model for a table: families of models, how each tunes itself, and which is chosen.

from_table is the door: splitting sets rows aside, folds hold others out, judging scores families
within a budget, ranking chooses, code writes it down. Called by `report` and `cli`; knows `data`,
`evaluation`, `metrics` and the estimators.
"""

from typing import TYPE_CHECKING

from .._first_use import on_first_use

if TYPE_CHECKING:
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

# Each name, and the file it lives in.
_HOMES = {
    "Answers": "choice",
    "Candidate": "choice",
    "Choice": "choice",
    "FAMILIES": "families",
    "Facts": "facts",
    "Family": "families",
    "Folds": "folds",
    "MajorityClassifier": "null_models",
    "MeanRegressor": "null_models",
    "Progress": "choice",
    "TableModel": "table_model",
    "Tuning": "tuning",
    "choose": "from_table",
    "facts_of": "facts",
    "families_for": "families",
    "rows_of": "splitting",
    "set_aside": "splitting",
    "settings_of": "tuning",
    "tuning_of": "tuning",
}
__getattr__, __dir__ = on_first_use(__name__, _HOMES)
