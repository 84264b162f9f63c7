"""Pictures: one drawing function each, from plain data; nothing is computed here.

Called by the demo and by users. Each function takes arrays and a matplotlib axes to draw on (a new
one if None), and returns the axes. Imports matplotlib and nothing of gapless.
"""

from .bias_variance import bias_variance
from .calibration import reliability
from .comparison import comparison
from .confusion import confusion
from .convergence import convergence
from .curves import precision_recall, roc
from .decision import decision
from .descent import descent
from .importances import importances
from .learning import learning
from .margins import margins
from .members import members
from .partial_dependence import pair_dependence, partial_dependence
from .path import path
from .rounds import rounds
from .search import search
from .splits import splits
from .tree import tree
from .validation import validation

__all__ = [
    "bias_variance",
    "comparison",
    "confusion",
    "convergence",
    "decision",
    "descent",
    "importances",
    "learning",
    "margins",
    "members",
    "pair_dependence",
    "partial_dependence",
    "path",
    "precision_recall",
    "reliability",
    "roc",
    "rounds",
    "search",
    "splits",
    "tree",
    "validation",
]
