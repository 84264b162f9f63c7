"""Penalties R(w): what coefficients cost. Each file is one family, frozen dataclasses of vectorised NumPy.

Called by `problem` and the solvers. The scalar proximal maps of the separable ones also live in core/prox.hpp.
Imports nothing but NumPy. The contract is in `_base.Penalty`.
"""

from ._base import Blocks, Coordinates, Penalty, Separable
from .l2 import L2, NoPenalty

__all__ = ["Blocks", "Coordinates", "L2", "NoPenalty", "Penalty", "Separable"]
