"""Penalties R(w): the cost of coefficients. Each file is one family, frozen dataclasses of NumPy.

Called by `problem` and the solvers. The scalar proximal maps of the separable ones also live in
src/core/linear/prox.hpp. Imports NumPy and `_ground`. The contract is in `_base.Penalty`.
"""

from ._base import Blocks, Coordinates, Folded, Penalty, Powers, Separable, by_name
from .box import Box
from .bridge import Bridge
from .elastic_net import ElasticNet
from .group import Group
from .l0 import L0
from .l1 import L1
from .l2 import L2, NoPenalty
from .l2_norm import L2Norm
from .mcp import MCP
from .p_norm import PNorm
from .scad import SCAD

__all__ = [
    "L0",
    "L1",
    "L2",
    "MCP",
    "SCAD",
    "Blocks",
    "Box",
    "Bridge",
    "Coordinates",
    "ElasticNet",
    "Folded",
    "Group",
    "L2Norm",
    "NoPenalty",
    "PNorm",
    "Penalty",
    "Powers",
    "Separable",
    "by_name",
]
