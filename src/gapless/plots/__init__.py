"""Pictures: one drawing function each, from plain data; nothing is computed here.

Called by the demo and by users. Each function takes arrays and a matplotlib axes to draw on (a new
one if None), and returns the axes. Imports matplotlib and nothing of gapless.
"""

from .calibration import reliability
from .confusion import confusion
from .convergence import convergence
from .curves import precision_recall, roc
from .decision import decision
from .importances import importances
from .margins import margins
from .members import members
from .path import path
from .rounds import rounds
from .search import search
from .tree import tree

__all__ = [
    "confusion",
    "convergence",
    "decision",
    "importances",
    "margins",
    "members",
    "path",
    "precision_recall",
    "reliability",
    "roc",
    "rounds",
    "search",
    "tree",
]
