"""Penalties R(w): the cost of coefficients. Each file is one family, frozen dataclasses of NumPy.

Called by `problem` and the solvers. The scalar proximal maps of the separable ones also live in
src/core/linear/prox.hpp. Imports NumPy and `_ground`. The contract is in `_base.Penalty`.
"""

from ._base import Blocks, Coordinates, Penalty, Separable, by_name
from .box import Box
from .elastic_net import ElasticNet
from .group import Group
from .l1 import L1
from .l2 import L2, NoPenalty

__all__ = [
    "L1",
    "L2",
    "Blocks",
    "Box",
    "Coordinates",
    "ElasticNet",
    "Group",
    "NoPenalty",
    "Penalty",
    "Separable",
    "by_name",
]
